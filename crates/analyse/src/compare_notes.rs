//! What should a reader know before believing a comparison? Two studies enter; their facts and sentences on how they
//! differ besides their figures leave.

use std::collections::BTreeSet;

use record::Machine;
use spec::EngineName;

use crate::compare::Study;
use crate::compare_findings::{Comparison, StudyFacts};
use crate::compare_spread::median;
use crate::format::{size, two_digits};

/// What is known of one study as a whole.
pub(crate) fn facts(study: &Study<'_>) -> StudyFacts {
    let findings = study.findings;
    let engines: BTreeSet<EngineName> = study.records.iter().map(|record| record.engine).collect();
    let measured: Vec<f64> = study.records.iter().filter_map(|record| record.noise.cpu_mhz).collect();
    let cpu_mhz = if measured.is_empty() { findings.machine.cpu_mhz } else { Some(median(measured)) };
    StudyFacts {
        name: study.name.to_string(),
        target: findings.target.clone(),
        machine: findings.machine.clone(),
        filesystem: findings.filesystem.clone(),
        device: findings.device.clone(),
        engines: engines.into_iter().collect(),
        runs: findings.runs,
        seconds: findings.seconds,
        started_unix_ms: findings.started_unix_ms,
        cpu_mhz: cpu_mhz.filter(|mhz| mhz.is_finite() && *mhz > 0.0),
    }
}

/// What differs besides the figures, and what could not be compared.
pub(crate) fn notes(comparison: &Comparison, a: &Study<'_>, b: &Study<'_>) -> Vec<String> {
    let mut notes = places(&comparison.a, &comparison.b);
    let span = |study: &Study<'_>| study.records.iter().map(|record| record.span_bytes).max().unwrap_or(0);
    if span(a) != span(b) {
        let [of_a, of_b] = [span(a), span(b)].map(|bytes| size(bytes as f64));
        notes.push(format!("The part of the target that was used differs: {of_a} in A, {of_b} in B."));
    }
    notes.extend(coverage(comparison));
    notes.extend(noise(comparison));
    notes
}

fn places(a: &StudyFacts, b: &StudyFacts) -> Vec<String> {
    let mut notes = Vec::new();
    let mut differ = |what: &str, of_a: String, of_b: String| {
        if of_a != of_b {
            notes.push(format!("The {what} differ: {of_a} in A, {of_b} in B."));
        }
    };
    let (target_a, target_b) = what_differs(&a.target, &b.target);
    differ("targets", target_a, target_b);
    let computer = |machine: &Machine| format!("{} x {}", machine.cpus, machine.cpu_model);
    differ("processors", computer(&a.machine), computer(&b.machine));
    differ("kernels", a.machine.kernel.clone(), b.machine.kernel.clone());
    let system = |facts: &StudyFacts| facts.filesystem.as_ref().map_or("none".to_string(), |fs| fs.kind.clone());
    differ("file systems", system(a), system(b));
    let device = |facts: &StudyFacts| match &facts.device {
        Some(device) => device.model.clone().unwrap_or_else(|| device.name.clone()),
        None => "unknown".to_string(),
    };
    differ("devices", device(a), device(b));
    let engines = |facts: &StudyFacts| facts.engines.iter().map(|e| e.word()).collect::<Vec<_>>().join(" and ");
    differ("engines", engines(a), engines(b));
    notes
}

/// Two targets without what simulated ones have in common: each has a dozen constants.
fn what_differs(a: &str, b: &str) -> (String, String) {
    let constants = |text: &str| text.strip_prefix("sim:").map(|rest| rest.split(',').map(str::to_string).collect());
    let (Some(of_a), Some(of_b)): (Option<Vec<String>>, Option<Vec<String>>) = (constants(a), constants(b)) else {
        return (a.to_string(), b.to_string());
    };
    let own = |of: &[String], other: &[String]| {
        let own: Vec<&str> = of.iter().filter(|one| !other.contains(one)).map(String::as_str).collect();
        format!("sim:{}", own.join(","))
    };
    (own(&of_a, &of_b), own(&of_b, &of_a))
}

fn coverage(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let common = comparison.cells.len();
    let once = comparison.cells.iter().filter(|cell| cell.runs_a < 2 || cell.runs_b < 2).count();
    if once > 0 {
        notes.push(format!(
            "{once} of {common} common cells were run once in A or in B: they have no interval, and no difference is \
             claimed for them."
        ));
    }
    let unsteady = comparison.cells.iter().filter(|cell| !cell.steady).count();
    if unsteady > 0 {
        notes.push(format!(
            "{unsteady} of {common} common cells were not steady within their runs in A or in B, so that a mean says \
             little of them."
        ));
    }
    let alone: Vec<String> = [("A", comparison.only_a.len()), ("B", comparison.only_b.len())]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(study, count)| format!("{count} {} in {study} alone", plural(count, "cell is", "cells are")))
        .collect();
    if !alone.is_empty() {
        notes.push(format!("{} and not compared.", alone.join(", ")));
    }
    if let Some(first) = comparison.left_out.first() {
        let count = comparison.left_out.len();
        let (why, verb) = (&first.why, plural(count, "cell is", "cells are"));
        let others = if comparison.left_out.iter().all(|one| one.why == *why) { "" } else { ", and the like" };
        notes.push(format!("{count} common {verb} left out: {why}{others}."));
    }
    notes
}

fn noise(comparison: &Comparison) -> Vec<String> {
    let figures = [
        ("throughput", &comparison.practical.throughput),
        ("p99 latency", &comparison.practical.p99),
        ("cost", &comparison.practical.cost),
    ];
    let noisy: Vec<String> = figures
        .iter()
        .filter(|(_, floor)| floor.noise_percent.is_some_and(|noise| noise >= floor.threshold_percent))
        .map(|(figure, floor)| format!("{}% in {figure}", two_digits(floor.threshold_percent)))
        .collect();
    if noisy.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "The runs vary so much that a single cell has to differ by {} to count; more runs would tell smaller differences.",
        noisy.join(", ")
    )]
}

fn plural<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}
