//! Writes what a study measured: the place, the machine, and the amount.

use halfpower_analyse::Findings;
use halfpower_spec::format::{number, thousands};

/// The place, such as `ext4 on vda (virtio)`.
pub(crate) fn place(findings: &Findings, with_transport: bool) -> String {
    let filesystem = findings.filesystem.as_ref().map(|filesystem| filesystem.kind.clone());
    let device = findings.device.as_ref().map(|device| {
        let transport = device.transport.as_ref().filter(|kind| with_transport && !device.name.starts_with(*kind));
        transport.map_or(device.name.clone(), |kind| format!("{} ({kind})", device.name))
    });
    match (filesystem, device) {
        (Some(filesystem), Some(device)) => format!("{filesystem} on {device}"),
        (one, other) => one.or(other).unwrap_or_default(),
    }
}

/// The machine, such as `2 x AMD EPYC 9R14`, without meaningless words.
pub(crate) fn machine(findings: &Findings) -> String {
    let machine = &findings.machine;
    let model = machine.cpu_model.split('@').next().unwrap_or_default();
    let empty = ["(R)", "(TM)", "(r)", "(tm)", "Processor", "CPU"];
    let model = empty.iter().fold(model.to_string(), |model, word| model.replace(word, " "));
    let model = model.split_whitespace().collect::<Vec<_>>().join(" ");
    if model.is_empty() { String::new() } else { format!("{} x {model}", machine.cpus) }
}

/// The amount, such as `120 s, 533 runs`.
pub(crate) fn amount(findings: &Findings) -> String {
    let runs = if findings.runs == 1 { "run" } else { "runs" };
    format!("{} s, {} {runs}", number(findings.seconds), thousands(findings.runs as f64))
}
