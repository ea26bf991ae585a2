//! Prints the environment of a measurement: the machine and the levels of the path, with what checks of settings found there.

use std::io::{self, Write};

use halfpower_record::{CheckFinding, CheckResult, Environment, Level, PathPart, Severity};
use halfpower_spec::shell_operand;

use crate::words::checks::{all_findings, line_without_change};

/// Prints the machine, the file system, the device, and each level with its advertised performance. Below each stands what
/// checks of settings found there, without notes.
///
/// # Errors
/// Those of `out`.
pub fn environment_text(environment: &Environment, out: &mut dyn Write) -> io::Result<()> {
    let machine = &environment.machine;
    let mut found = all_findings(&environment.diagnoses);
    found.retain(|(_, finding)| finding.severity > Severity::Note);
    let memory_gib = machine.memory.0 as f64 / (1u64 << 30) as f64;
    let virtualised = machine.virtualised.as_ref().map_or(String::new(), |by| format!(", in a {by}"));
    writeln!(out, "Machine      {}, {} processors, {memory_gib:.0} GiB{virtualised}", machine.cpu_model, machine.cpus)?;
    writeln!(out, "Kernel       {}", machine.kernel)?;
    if let Some(filesystem) = &environment.filesystem {
        writeln!(out, "File system  {} ({}), blocks of {}", filesystem.kind, filesystem.options, filesystem.block)?;
        findings(&taken(&mut found, |part, _| part == PathPart::FileSystem), out)?;
    }
    if let Some(device) = &environment.device {
        let firmware = device.firmware.as_ref().map(|firmware| format!("firmware {firmware}"));
        let known = [&device.model, &firmware, &device.transport, &device.write_cache, &device.scheduler];
        let known: Vec<&str> = known.into_iter().flatten().map(String::as_str).collect();
        let size_gb = device.size.0 as f64 / 1e9;
        writeln!(out, "Device       {}, {size_gb:.0} GB: {}", device.name, known.join(", "))?;
    }
    writeln!(
        out,
        "\nThe path, from the application to the medium, with the peak advertised performance of each level:"
    )?;
    for level in &environment.levels {
        writeln!(out, "  {:<24} {:>14}  {}", level.full_name(), advertised(level), level.source)?;
        findings(&taken(&mut found, |part, finding| part.is_level(&level.name, &finding.subject)), out)?;
    }
    let elsewhere: Vec<&CheckFinding> = found.iter().map(|(_, finding)| *finding).collect();
    if !elsewhere.is_empty() {
        writeln!(out, "Found elsewhere on the path:")?;
        findings(&elsewhere, out)?;
    }
    for diagnosis in environment.diagnoses.iter().filter(|diagnosis| is_worth_a_look(&diagnosis.checks)) {
        let target = shell_operand(&diagnosis.target);
        writeln!(out, "What is marked with ! costs or may cost; how it is changed: halfpower doctor {target}")?;
    }
    for note in &environment.notes {
        writeln!(out, "Note: {note}.")?;
    }
    Ok(())
}

/// A finding with the check that made it.
type Found<'a> = (&'a CheckResult, &'a CheckFinding);

/// Takes the findings of a part of the path.
fn taken<'a>(found: &mut Vec<Found<'a>>, is_there: impl Fn(PathPart, &CheckFinding) -> bool) -> Vec<&'a CheckFinding> {
    let is_it = |(check, finding): &Found<'a>| check.part.is_some_and(|part| is_there(part, finding));
    let (there, others): (Vec<Found<'a>>, Vec<Found<'a>>) = std::mem::take(found).into_iter().partition(is_it);
    *found = others;
    there.into_iter().map(|(_, finding)| finding).collect()
}

fn findings(found: &[&CheckFinding], out: &mut dyn Write) -> io::Result<()> {
    found.iter().try_for_each(|finding| writeln!(out, "    ! {}", line_without_change(finding)))
}

fn is_worth_a_look(checks: &[CheckResult]) -> bool {
    checks.iter().flat_map(|check| &check.findings).any(|finding| finding.severity > Severity::Note)
}

fn advertised(level: &Level) -> String {
    match (level.pap, level.pap_iops) {
        (Some(rate), Some(iops)) => format!("{:.0} MB/s, {iops:.0} IOPS", rate.mbps()),
        (Some(rate), None) => format!("{:.0} MB/s", rate.mbps()),
        (None, Some(iops)) => format!("{iops:.0} IOPS"),
        (None, None) => "unknown".to_string(),
    }
}
