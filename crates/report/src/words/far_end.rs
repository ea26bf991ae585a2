//! Writes what happened at the far end, and what stops a path there.

use halfpower_analyse::{Accounting, EndsCost, StoppedBy};
use halfpower_record::FarEndMachine;
use halfpower_spec::{format, path_words};

/// What stops a path at the far end, in a few words; empty if something else stops it.
pub(crate) fn brief(stopped_by: &StoppedBy) -> String {
    match stopped_by {
        StoppedBy::FarProcessors { processors: 1, of_processors, share, .. } if *of_processors > 1 => {
            format!("one of the far end's {of_processors} processors: {} busy", format::percent(*share))
        }
        StoppedBy::FarProcessors { share, steal_share, .. } => {
            let all = format!("the far end's processors: {} busy", format::percent(*share));
            format!("{all}{}", stolen(*steal_share))
        }
        StoppedBy::FarDisk { disk, share } => {
            format!("the far end's disk {disk}: requests in flight {} of the time", format::percent(*share))
        }
        StoppedBy::FarDiskLimit { disk, limit_mbps, share, .. } => {
            let (share, mbps) = (format::percent(*share), format::mbps(*limit_mbps));
            format!("the far end's disk {disk}: {share} of the {mbps} that a control group there lets through")
        }
        _ => String::new(),
    }
}

/// The same as an observation, to follow `while`.
pub(crate) fn evidence(stopped_by: &StoppedBy) -> String {
    match stopped_by {
        StoppedBy::FarProcessors { processors: 1, of_processors, share, .. } if *of_processors > 1 => {
            format!("one of the {of_processors} processors of the far end is busy {}", format::percent(*share))
        }
        StoppedBy::FarProcessors { processors, share, steal_share, .. } => {
            let whose =
                if *processors == 1 { "the one processor".to_string() } else { format!("all {processors} processors") };
            format!("{whose} of the far end are busy {}{}", format::percent(*share), stolen(*steal_share))
        }
        StoppedBy::FarDisk { disk, share } => {
            format!("{disk} at the far end has requests in flight {} of the time", format::percent(*share))
        }
        StoppedBy::FarDiskLimit { disk, mbps, limit_mbps, share, group } => format!(
            "{disk} at the far end moves {}, {} of the {} that {group} lets through",
            format::mbps(*mbps),
            format::percent(*share),
            format::mbps(*limit_mbps)
        ),
        _ => String::new(),
    }
}

fn stolen(share: f64) -> String {
    if share >= 0.01 { format!(", and {} taken by its hypervisor", format::percent(share)) } else { String::new() }
}

/// A short path name, such as `seq. direct read`, so that both ends fit beside it in 80 columns.
pub(crate) fn path(cost: &EndsCost) -> String {
    path_words(cost.pattern, cost.cache, cost.rw).replace("sequential", "seq.")
}

/// How time is accounted for, such as `charged; there to smbd`.
pub(crate) fn accounting(by: Accounting, machine: &FarEndMachine) -> String {
    match by {
        Accounting::Charged if machine.processes.is_empty() => "charged".to_string(),
        Accounting::Charged => format!("charged; there to {}", machine.processes.join(", ")),
        Accounting::Machine => "machine".to_string(),
        Accounting::Soaker => "soaker".to_string(),
    }
}

/// Describes the far end's machine: `server (Linux 6.1, 4 processors)`.
pub(crate) fn whose(machine: &FarEndMachine) -> String {
    let name = machine.machine.hostname.as_deref().unwrap_or("the far end");
    let system = machine.machine.system().map_or(String::new(), |system| format!("{system}, "));
    let processors = super::settings::count(machine.machine.cpus as usize, "processor");
    let here = if machine.is_this_machine { "; the same machine, so each bill holds both" } else { "" };
    format!("{name} ({system}{processors}{here})")
}
