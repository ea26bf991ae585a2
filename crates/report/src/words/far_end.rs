//! Writes what each end of a path spent.

use halfpower_analyse::{Accounting, EndsCost};
use halfpower_record::FarEndMachine;
use halfpower_spec::cache_word;

use super::settings::{count, short_pattern};

/// A short path name, such as `seq. direct read`, so that both ends fit beside it in 80 columns.
pub(crate) fn path(cost: &EndsCost) -> String {
    format!("{} {} {}", short_pattern(cost.path.pattern), cache_word(cost.path.cache), cost.path.rw)
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
    let processors = count(machine.machine.cpus as usize, "processor");
    let here = if machine.is_this_machine { "; the same machine, so each bill holds both" } else { "" };
    format!("{name} ({system}{processors}{here})")
}
