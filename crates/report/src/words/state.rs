//! Writes what a study measured, and its state: its word, and the sentence that explains it.

use halfpower_analyse::{Findings, NoisySign, StudyState};
use halfpower_spec::format::{number, percent, thousands};

/// The word at the top, such as `QUIET` or `UNFINISHED 30%`.
pub(crate) fn word(state: &StudyState) -> String {
    match state {
        StudyState::Unfinished { share } => format!("UNFINISHED {:.0}%", 100.0 * share),
        StudyState::NotRun => "NOT RUN".to_string(),
        StudyState::Failed => "FAILED".to_string(),
        StudyState::Imported => "IMPORTED".to_string(),
        StudyState::Simulated => "SIMULATED".to_string(),
        StudyState::Memory => "MEMORY".to_string(),
        StudyState::Cached => "CACHED".to_string(),
        StudyState::Noisy { .. } => "NOISY".to_string(),
        StudyState::Buffered => "BUFFERED".to_string(),
        StudyState::Quiet => "QUIET".to_string(),
    }
}

/// What the word means for a reader, as a sentence.
pub(crate) fn sentence(state: &StudyState) -> String {
    format!("{}.", meaning(state))
}

/// The same without a full stop.
pub(crate) fn meaning(state: &StudyState) -> String {
    match state {
        StudyState::Unfinished { share } if *share <= 0.0 => {
            "No run is finished yet; the same command goes on".to_string()
        }
        StudyState::Unfinished { share } => {
            format!("The study was cut short after {} of its time; the same command goes on", percent(*share))
        }
        StudyState::NotRun => "Nothing was measured: this target cannot show what was asked".to_string(),
        StudyState::Failed => "No run moved bytes without errors, so nothing was measured".to_string(),
        StudyState::Imported => {
            "Another tool measured it: whether it was steady and who else used the disk is not known".to_string()
        }
        StudyState::Simulated => "Time was virtual: this tells of a model, not of a device".to_string(),
        StudyState::Memory => "The file system lies in main memory: this tells of memory, not of a device".to_string(),
        StudyState::Cached => "A cache answered: this tells of its memory, not of the medium".to_string(),
        StudyState::Noisy { by } => format!("{}: repeat when idle", noisy(*by)),
        StudyState::Buffered => "Every request went through the page cache".to_string(),
        StudyState::Quiet => "Nothing disturbed it: runs agree, and no other use of the disk was seen".to_string(),
    }
}

fn noisy(sign: NoisySign) -> &'static str {
    match sign {
        NoisySign::OthersUsedTheDisk => "Others used the disk while many cells were measured",
        NoisySign::HypervisorTookTime => "The hypervisor took much of the processors' time",
        NoisySign::NotSteady => "Many cells were not steady within their runs",
        NoisySign::RunsDiffer => "The runs that the answer rests on differ much",
        NoisySign::RepeatsDiffer => "Repeated runs of the experiments differ much",
    }
}

/// The place, such as `ext4 on vda (virtio)`, or `btrfs on sda and 2 more`.
pub(crate) fn place(findings: &Findings, with_transport: bool) -> String {
    let filesystem = findings.filesystem.as_ref().map(|filesystem| filesystem.kind.clone());
    let device = findings.device.as_ref().map(|device| {
        if !device.is_alone() {
            return format!("{} and {} more", device.name, device.others.len());
        }
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
