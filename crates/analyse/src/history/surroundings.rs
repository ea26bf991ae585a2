//! Finds what differs between the surroundings of two studies of one target.

use std::collections::BTreeSet;

use halfpower_record::{CheckFinding, MemberIdentity, Severity};
use halfpower_spec::Bytes;

use super::digest::Surroundings;
use super::found::{SurroundingAspect, SurroundingChange};
use crate::checks::{StudyChecks, checks_compared};
use crate::{CheckChange, CheckDifference};

/// What differs, except the checks of settings. What one of them does not know is no difference.
pub(crate) fn surroundings_compared(before: &Surroundings, after: &Surroundings) -> Vec<SurroundingChange> {
    let mut all = Vec::new();
    for (aspect, of) in ASPECTS {
        let values = of(before).zip(of(after)).filter(|(before, after)| before != after);
        all.extend(values.map(|(before, after)| SurroundingChange { aspect, before, after }));
    }
    all.extend(mount_options(before, after));
    all
}

/// What checks of settings found differently, without notes that merely count on, such as an age or a temperature.
pub(crate) fn checks_differ(before: &Surroundings, after: &Surroundings) -> Vec<CheckDifference> {
    let checks = |one: &Surroundings| StudyChecks::of(&one.diagnoses);
    let compared = checks_compared(checks(before).as_ref(), checks(after).as_ref());
    let counts_on = |difference: &CheckDifference| {
        let is_note =
            |finding: &Option<CheckFinding>| finding.as_ref().is_none_or(|finding| finding.severity == Severity::Note);
        difference.change == CheckChange::Changed && is_note(&difference.a) && is_note(&difference.b)
    };
    compared.map_or_else(Vec::new, |compared| {
        compared.differ.into_iter().filter(|difference| !counts_on(difference)).collect()
    })
}

/// Gets one part of the surroundings as text; `None` if it is not known.
type Aspect = fn(&Surroundings) -> Option<String>;

const ASPECTS: [(SurroundingAspect, Aspect); 15] = [
    (SurroundingAspect::Kernel, |one| some(&one.machine.kernel)),
    (SurroundingAspect::Processors, processors),
    (SurroundingAspect::Memory, |one| bytes(one.machine.usable_memory())),
    (SurroundingAspect::ProcessorQuota, quota),
    (SurroundingAspect::Virtualised, |one| one.machine.virtualised.clone()),
    (SurroundingAspect::FileSystem, |one| some(&one.filesystem.as_ref()?.kind)),
    (SurroundingAspect::FileSystemMade, |one| members(one, |member| member.filesystem.clone())),
    (SurroundingAspect::Device, |one| {
        let device = one.device.as_ref()?;
        Some(device.model.clone().unwrap_or_else(|| device.name.clone()))
    }),
    (SurroundingAspect::DeviceIdentity, |one| members(one, |member| member.device.clone())),
    (SurroundingAspect::Scheduler, |one| one.device.as_ref()?.scheduler.clone()),
    (SurroundingAspect::WriteCache, |one| one.device.as_ref()?.write_cache.clone()),
    (SurroundingAspect::ReadAhead, |one| Some(one.device.as_ref()?.read_ahead?.to_string())),
    (SurroundingAspect::QueueRequests, |one| Some(one.device.as_ref()?.queue_requests?.to_string())),
    (SurroundingAspect::Span, |one| bytes(Bytes(one.span_bytes))),
    (SurroundingAspect::Engines, |one| {
        let words: Vec<&str> = one.engines.iter().map(|engine| engine.word()).collect();
        some(&words.join(", "))
    }),
];

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

fn bytes(bytes: Bytes) -> Option<String> {
    (bytes.0 > 0).then(|| bytes.to_string())
}

fn processors(one: &Surroundings) -> Option<String> {
    let machine = &one.machine;
    (!machine.cpu_model.is_empty()).then(|| format!("{} x {}", machine.cpus, machine.cpu_model))
}

/// Without a limit of a control group, all processors are allowed; a study of another tool knows no processors.
fn quota(one: &Surroundings) -> Option<String> {
    processors(one)?;
    Some(one.machine.cpu_quota.map_or_else(|| "none".to_string(), |quota| quota.to_string()))
}

/// A part of the identity of each member; `None` unless all have it.
fn members(one: &Surroundings, of: fn(&MemberIdentity) -> Option<String>) -> Option<String> {
    let all: Vec<String> = one.place.members.iter().map(of).collect::<Option<_>>()?;
    some(&all.join(", "))
}

/// The mount options that went and came; a dozen others stay.
fn mount_options(before: &Surroundings, after: &Surroundings) -> Option<SurroundingChange> {
    let options = |one: &Surroundings| -> Option<BTreeSet<String>> {
        let text = &one.filesystem.as_ref()?.options;
        Some(text.split(',').filter(|option| !option.is_empty()).map(str::to_string).collect())
    };
    let before = options(before)?;
    let after = options(after)?;
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| -> String {
        one.difference(other).map(String::as_str).collect::<Vec<_>>().join(",")
    };
    let aspect = SurroundingAspect::MountOptions;
    let is_known = !before.is_empty() && !after.is_empty() && before != after;
    is_known.then(|| SurroundingChange { aspect, before: only(&before, &after), after: only(&after, &before) })
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Device, FileSystem, Machine};

    use super::*;

    fn surroundings() -> Surroundings {
        Surroundings {
            machine: Machine {
                kernel: "6.1".to_string(),
                cpus: 2,
                cpu_model: "EPYC".to_string(),
                ..Machine::default()
            },
            filesystem: Some(FileSystem {
                kind: "ext4".to_string(),
                options: "rw,noatime,discard".to_string(),
                ..FileSystem::default()
            }),
            device: Some(Device { scheduler: Some("none".to_string()), ..Device::default() }),
            ..Surroundings::default()
        }
    }

    #[test]
    fn each_part_that_differs_is_found() {
        let mut after = surroundings();
        assert!(surroundings_compared(&surroundings(), &after).is_empty());
        after.machine.kernel = "6.12".to_string();
        after.machine.cpu_quota = Some(1.5);
        after.filesystem.as_mut().unwrap().options = "rw,relatime,discard".to_string();
        after.device.as_mut().unwrap().scheduler = Some("bfq".to_string());
        let found = surroundings_compared(&surroundings(), &after);
        let texts: Vec<(SurroundingAspect, &str, &str)> =
            found.iter().map(|one| (one.aspect, one.before.as_str(), one.after.as_str())).collect();
        assert_eq!(
            texts,
            [
                (SurroundingAspect::Kernel, "6.1", "6.12"),
                (SurroundingAspect::ProcessorQuota, "none", "1.5"),
                (SurroundingAspect::Scheduler, "none", "bfq"),
                (SurroundingAspect::MountOptions, "noatime", "relatime"),
            ]
        );
    }

    #[test]
    fn what_is_not_known_is_no_difference() {
        assert!(surroundings_compared(&Surroundings::default(), &surroundings()).is_empty());
        assert!(checks_differ(&Surroundings::default(), &surroundings()).is_empty());
    }
}
