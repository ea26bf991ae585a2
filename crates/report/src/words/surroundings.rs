//! Writes what differs between the surroundings of two studies: before and after a change, or in two studies compared.

use halfpower_analyse::{SurroundingAspect, SurroundingChange};

use super::compare::joined;

/// What changed in time, as a phrase: `kernel: 6.1, then 6.12`.
pub(crate) fn change(change: &SurroundingChange) -> String {
    let SurroundingChange { aspect, before, after } = change;
    let (what, _) = words(*aspect);
    match aspect {
        SurroundingAspect::MountOptions => {
            let went = (!before.is_empty()).then(|| format!("without {before}"));
            let came = (!after.is_empty()).then(|| format!("with {after}"));
            format!("{what}: now {}", joined(&went.into_iter().chain(came).collect::<Vec<_>>()))
        }
        _ => format!("{what}: {before}, then {after}"),
    }
}

/// What differs between two studies, as a sentence: `The kernel differs: 6.1 in A, 6.12 in B.`
pub(crate) fn difference(change: &SurroundingChange, letters: [&str; 2]) -> String {
    let SurroundingChange { aspect, before, after } = change;
    let (what, verb) = words(*aspect);
    let place = if *aspect == SurroundingAspect::MountOptions { " alone" } else { "" };
    let values = [before, after].into_iter().zip(letters).filter(|(value, _)| !value.is_empty());
    let values: Vec<String> = values.map(|(value, letter)| format!("{value} in {letter}{place}")).collect();
    format!("The {what} {verb}: {}.", values.join(", "))
}

/// What an aspect is called, and the verb that goes with it.
fn words(aspect: SurroundingAspect) -> (&'static str, &'static str) {
    const ONE: &str = "differs";
    const SEVERAL: &str = "differ";
    match aspect {
        SurroundingAspect::Kernel => ("kernel", ONE),
        SurroundingAspect::Processors => ("processors", SEVERAL),
        SurroundingAspect::Memory => ("memory", ONE),
        SurroundingAspect::ProcessorQuota => ("quota of processors", ONE),
        SurroundingAspect::Virtualised => ("hypervisor or container", ONE),
        SurroundingAspect::FileSystem => ("file system", ONE),
        SurroundingAspect::FileSystemMade => ("file system's UUID", ONE),
        SurroundingAspect::MountOptions => ("mount options", SEVERAL),
        SurroundingAspect::Device => ("device", ONE),
        SurroundingAspect::DeviceIdentity => ("device's identity", ONE),
        SurroundingAspect::Firmware => ("device's firmware", ONE),
        SurroundingAspect::Scheduler => ("scheduler", ONE),
        SurroundingAspect::WriteCache => ("write cache", ONE),
        SurroundingAspect::ReadAhead => ("read-ahead", ONE),
        SurroundingAspect::QueueRequests => ("requests of a queue", SEVERAL),
        SurroundingAspect::Span => ("part of the target that was used", ONE),
        SurroundingAspect::Engines => ("engines", SEVERAL),
        SurroundingAspect::OthersOnDevice => ("use of the device by others", ONE),
        SurroundingAspect::OthersOnProcessors => ("number of processors that others kept busy", ONE),
        SurroundingAspect::Steal => ("processor time that the hypervisor took", ONE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(aspect: SurroundingAspect, before: &str, after: &str) -> SurroundingChange {
        SurroundingChange { aspect, before: before.to_string(), after: after.to_string() }
    }

    #[test]
    fn what_changed_is_a_phrase() {
        assert_eq!(change(&of(SurroundingAspect::Kernel, "6.1", "6.12")), "kernel: 6.1, then 6.12");
        let options = |before, after| change(&of(SurroundingAspect::MountOptions, before, after));
        assert_eq!(options("noatime", "relatime"), "mount options: now without noatime and with relatime");
        assert_eq!(options("", "discard"), "mount options: now with discard");
    }

    #[test]
    fn what_differs_is_a_sentence() {
        let said = |aspect, before, after| difference(&of(aspect, before, after), ["A", "C"]);
        assert_eq!(
            said(SurroundingAspect::Firmware, "4B2QGXA7", "5B2QGXA7"),
            "The device's firmware differs: 4B2QGXA7 in A, 5B2QGXA7 in C."
        );
        assert_eq!(
            said(SurroundingAspect::MountOptions, "", "discard"),
            "The mount options differ: discard in C alone."
        );
    }
}
