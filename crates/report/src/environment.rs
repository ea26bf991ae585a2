//! Prints the environment of a measurement: the machine and the levels of the path, with what checks of settings found there.

use std::io::{self, Write};

use halfpower_record::{CheckFinding, CheckResult, Environment, Level, PathPart, Severity};
use halfpower_spec::format::{iops, mbps, size, thousands};
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
    let memory = machine.memory.0 as f64;
    let memory = if memory > 0.0 { format!(", {}", size(memory)) } else { String::new() };
    let virtualised = machine.virtualised.as_ref().map_or(String::new(), |by| format!(", in a {by}"));
    writeln!(out, "Machine      {}, {} processors{memory}{virtualised}", machine.cpu_model, machine.cpus)?;
    writeln!(out, "Kernel       {}", machine.kernel)?;
    if let Some(filesystem) = &environment.filesystem {
        writeln!(out, "File system  {} ({}), blocks of {}", filesystem.kind, filesystem.options, filesystem.block)?;
        findings(&taken(&mut found, |part, _| part == PathPart::FileSystem), out)?;
    }
    if let Some(device) = &environment.device {
        let firmware = device.firmware.as_ref().map(|firmware| format!("firmware {firmware}"));
        let known = [&device.model, &firmware, &device.transport, &device.write_cache, &device.scheduler];
        let known: Vec<&str> = known.into_iter().flatten().map(String::as_str).collect();
        let named = [device.name.clone()].into_iter().chain(sold_size(device.size.0));
        writeln!(out, "Device       {}: {}", named.collect::<Vec<_>>().join(", "), known.join(", "))?;
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

/// A size as devices are sold, such as `500 GB` or `64 MB`; `None` if it is not known.
fn sold_size(bytes: u64) -> Option<String> {
    (bytes > 0).then(|| match bytes as f64 {
        bytes if bytes >= 9.95e9 => format!("{} GB", thousands(bytes / 1e9)),
        bytes if bytes >= 9.995e8 => format!("{:.1} GB", bytes / 1e9),
        bytes => format!("{:.0} MB", bytes / 1e6),
    })
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
        (Some(rate), Some(requests)) => format!("{}, {}", mbps(rate.mbps()), iops(requests)),
        (Some(rate), None) => mbps(rate.mbps()),
        (None, Some(requests)) => iops(requests),
        (None, None) => "unknown".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Device, Machine};
    use halfpower_spec::{Bytes, Rate};

    use super::*;

    /// A small virtual machine with a small disk behind a low limit has none of them at 0.
    #[test]
    fn what_is_small_is_not_shown_as_nothing() {
        let shown = |environment: &Environment| {
            let mut out = Vec::new();
            environment_text(environment, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let limit = Level { name: "cgroup limit".into(), pap: Some(Rate(4e5)), ..Level::default() };
        let small = Environment {
            machine: Machine { memory: Bytes(512 << 20), cpus: 1, ..Machine::default() },
            device: Some(Device { name: "vda".into(), size: Bytes(64_000_000), ..Device::default() }),
            levels: vec![limit],
            ..Environment::default()
        };
        let text = shown(&small);
        assert!(text.contains("1 processors, 512 MiB\n") && text.contains("vda, 64 MB: "), "{text}");
        assert!(text.contains(" 0.40 MB/s"), "{text}");
        let device = Some(Device { name: "vda".into(), ..Device::default() });
        let unknown = shown(&Environment { device, machine: Machine::default(), ..small });
        assert!(unknown.contains("0 processors\n") && unknown.contains("vda: "), "{unknown}");
    }
}
