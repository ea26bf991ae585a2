//! Prints the environment of a measurement: the machine and the levels of the path.

use std::io::{self, Write};

use halfpower_record::{Environment, Level};

/// Prints the machine, the file system, the device, and each level with its advertised performance.
///
/// # Errors
/// Those of `out`.
pub fn environment_text(environment: &Environment, out: &mut impl Write) -> io::Result<()> {
    let machine = &environment.machine;
    let memory_gib = machine.memory.0 as f64 / (1u64 << 30) as f64;
    let virtualised = machine.virtualised.as_ref().map_or(String::new(), |by| format!(", in a {by}"));
    writeln!(out, "Machine      {}, {} processors, {memory_gib:.0} GiB{virtualised}", machine.cpu_model, machine.cpus)?;
    writeln!(out, "Kernel       {}", machine.kernel)?;
    if let Some(filesystem) = &environment.filesystem {
        writeln!(out, "File system  {} ({}), blocks of {}", filesystem.kind, filesystem.options, filesystem.block)?;
    }
    if let Some(device) = &environment.device {
        let known = [&device.model, &device.transport, &device.write_cache, &device.scheduler];
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
    }
    for note in &environment.notes {
        writeln!(out, "Note: {note}.")?;
    }
    Ok(())
}

fn advertised(level: &Level) -> String {
    match (level.pap, level.pap_iops) {
        (Some(rate), Some(iops)) => format!("{:.0} MB/s, {iops:.0} IOPS", rate.mbps()),
        (Some(rate), None) => format!("{:.0} MB/s", rate.mbps()),
        (None, Some(iops)) => format!("{iops:.0} IOPS"),
        (None, None) => "unknown".to_string(),
    }
}
