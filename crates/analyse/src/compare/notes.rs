//! Finds the differences between two studies besides their figures.

use std::collections::BTreeSet;

use halfpower_spec::EngineName;

use super::comparison::{CellComparison, Change, Comparison, Floor, LeftOut, Note, StudyFacts, StudyRecords};
use crate::mean::median;
use crate::surroundings::{neighbours_compared, surroundings_compared};
use crate::{Neighbours, Surroundings};

/// The facts of one study as a whole.
pub(crate) fn facts(study: &StudyRecords<'_>, letter: String) -> StudyFacts {
    let findings = study.findings;
    let engines: BTreeSet<EngineName> = study.records.iter().map(|record| record.engine).collect();
    let measured: Vec<f64> = study.records.iter().filter_map(|record| record.noise.cpu_mhz).collect();
    let cpu_mhz = if measured.is_empty() { findings.machine.cpu_mhz } else { Some(median(measured)) };
    StudyFacts {
        letter,
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

/// The differences besides the figures, and what could not be compared.
pub(crate) fn notes(comparison: &Comparison, a: &StudyRecords<'_>, b: &StudyRecords<'_>) -> Vec<Note> {
    let is_other = !same_target(&comparison.a.target, &comparison.b.target);
    let mut notes: Vec<Note> = is_other.then_some(Note::TargetsDiffer).into_iter().collect();
    let of = |study: &StudyRecords<'_>| Surroundings::of(study.findings, study.environment);
    let mut differ = surroundings_compared(&of(a), &of(b));
    differ.extend(neighbours_compared(&Neighbours::of(a.records), &Neighbours::of(b.records)));
    notes.extend(differ.into_iter().map(Note::SurroundingsDiffer));
    let spread = |study: &StudyRecords<'_>| study.records.iter().filter_map(|record| record.spread_bytes).max();
    let a_bytes = spread(a);
    let b_bytes = spread(b);
    if a_bytes != b_bytes {
        notes.push(Note::SpreadDiffers { a_bytes, b_bytes });
    }
    notes.extend(beside_others(comparison));
    notes.extend(coverage(comparison));
    notes.extend(noise(comparison));
    notes
}

/// Whether two targets are the same; for simulated ones the constants are compared, in any order.
fn same_target(a: &str, b: &str) -> bool {
    let constants = |text: &'_ str| -> Option<BTreeSet<String>> {
        text.strip_prefix("sim:").map(|rest| rest.split(',').map(str::to_string).collect())
    };
    match (constants(a), constants(b)) {
        (Some(of_a), Some(of_b)) => of_a == of_b,
        _ => a == b,
    }
}

/// Cells that would be called different if nobody else had used the disk.
fn beside_others(comparison: &Comparison) -> Option<Note> {
    let practical = &comparison.practical;
    let excused = |cell: &CellComparison| {
        let tested = [(Some(cell.mbps), practical.throughput), (cell.latency_ns_p99, practical.p99)];
        let excused = |(change, floor): (Option<Change>, Floor)| {
            change.is_some_and(|change| change.others_used_the_disk && change.stands_out(floor.threshold_percent))
        };
        tested.into_iter().any(excused)
    };
    let cells = comparison.cells.iter().filter(|cell| excused(cell)).count();
    (cells > 0).then_some(Note::OthersUsedTheDisk { cells })
}

fn coverage(comparison: &Comparison) -> Vec<Note> {
    let mut notes = Vec::new();
    let of_cells = comparison.cells.len();
    let once = comparison.cells.iter().filter(|cell| cell.runs_a < 2 || cell.runs_b < 2).count();
    if once > 0 {
        notes.push(Note::RunOnce { cells: once, of_cells });
    }
    let unsteady = comparison.cells.iter().filter(|cell| !cell.steady).count();
    if unsteady > 0 {
        notes.push(Note::NotSteady { cells: unsteady, of_cells });
    }
    let a = comparison.only_a.len();
    let b = comparison.only_b.len();
    if a + b > 0 {
        notes.push(Note::InOneAlone { a, b });
    }
    if let Some(first) = comparison.left_out.first() {
        let alike = |one: &LeftOut| (one.study, one.flaw) == (first.study, first.flaw);
        notes.push(Note::CellsLeftOut {
            cells: comparison.left_out.len(),
            study: first.study,
            flaw: first.flaw,
            all_alike: comparison.left_out.iter().all(alike),
        });
    }
    notes
}

fn noise(comparison: &Comparison) -> Option<Note> {
    let noisy = |floor: &Floor| {
        let is_noisy = floor.noise_percent.is_some_and(|noise| noise >= floor.threshold_percent);
        is_noisy.then_some(floor.threshold_percent)
    };
    let practical = &comparison.practical;
    let [throughput_percent, p99_percent, cost_percent] =
        [&practical.throughput, &practical.p99, &practical.cost].map(noisy);
    let any = [throughput_percent, p99_percent, cost_percent].iter().any(Option::is_some);
    any.then_some(Note::Noise { throughput_percent, p99_percent, cost_percent })
}
