//! Describes what surrounded a study, and finds what differs between the surroundings of two: settings, hardware, neighbours.
//!
//! A history holds the studies around a change against each other in this way, and a comparison its two studies.

use std::collections::BTreeSet;

use halfpower_record::{
    CheckFinding, Device, Diagnosis, Environment, FileSystem, Machine, MemberIdentity, PlaceIdentity, Record, Severity,
};
use halfpower_spec::JsonSchema;
use halfpower_spec::format::{mbps, percent, size, two_digits};
use halfpower_spec::{Bytes, EngineName, Pass};
use serde::{Deserialize, Serialize};

use crate::cells::noise;
use crate::checks::{StudyChecks, checks_compared};
use crate::mean::median;
use crate::{CheckChange, CheckDifference, Findings};

/// Difference in what others moved on the device, as a share of what the study moved itself, from which it is told.
const OTHERS_ON_DEVICE: f64 = 0.05;
/// Difference in processors kept busy by others from which it is told.
const OTHERS_PROCESSORS: f64 = 0.25;
/// Difference in the share of the processors' time that a hypervisor took from which it is told.
const STEAL: f64 = 0.02;

/// What is known of the machine and the path while a study was made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// The computer, without the frequency of the moment.
    pub machine: Machine,
    /// The file system under the target.
    pub filesystem: Option<FileSystem>,
    /// The device under the target.
    pub device: Option<Device>,
    /// The identity of the place.
    pub place: PlaceIdentity,
    /// Bytes that offsets are drawn from.
    pub span_bytes: u64,
    /// Engines that carried the runs.
    pub engines: Vec<EngineName>,
    /// What the checks of settings found.
    pub diagnoses: Vec<Diagnosis>,
}

/// What others did on the machine and on the device while a study was made; `None` where nobody counted.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Neighbours {
    /// What the device moved beyond the study's own bytes, in MB/s; known of direct I/O alone.
    pub device_mbps: Option<f64>,
    /// The same as a share of the study's own bytes.
    pub device_share: Option<f64>,
    /// Processors that others kept busy in user mode.
    pub processors: Option<f64>,
    /// Share of the processors' time that the hypervisor took.
    pub steal_share: Option<f64>,
}

/// A part of the surroundings of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SurroundingAspect {
    /// Kernel release.
    Kernel,
    /// Number and model of the processors.
    Processors,
    /// Main memory, or what a control group allows of it.
    Memory,
    /// Processors' worth of time that a control group allows.
    ProcessorQuota,
    /// The hypervisor or container.
    Virtualised,
    /// Kind of the file system.
    FileSystem,
    /// The UUID of the file system: it was made anew, or is another.
    FileSystemMade,
    /// Mount options.
    MountOptions,
    /// Model or name of the device.
    Device,
    /// Serial number of the device, or what stands for it.
    DeviceIdentity,
    /// Revision of the firmware of the device, or of the disks under a volume.
    Firmware,
    /// I/O scheduler of the device.
    Scheduler,
    /// Write cache of the device.
    WriteCache,
    /// Read-ahead of the device.
    ReadAhead,
    /// Requests that a queue of the device holds.
    QueueRequests,
    /// Bytes of the target that were used.
    Span,
    /// Engines that carried the runs.
    Engines,
    /// What others moved on the device meanwhile.
    OthersOnDevice,
    /// Processors that others kept busy in user mode meanwhile.
    OthersOnProcessors,
    /// Share of the processors' time that the hypervisor took.
    Steal,
}

/// A part of the surroundings that differs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SurroundingChange {
    /// The part.
    pub aspect: SurroundingAspect,
    /// What it was before, or in A; of mount options, those that only this one has.
    pub before: String,
    /// What it is after, or in B; of mount options, those that only this one has.
    pub after: String,
}

impl Surroundings {
    /// The surroundings of a study that began in `environment`.
    pub fn of(findings: &Findings, environment: &Environment) -> Self {
        let mut engines: Vec<EngineName> = findings.cells.iter().map(|cell| cell.engine).collect();
        engines.sort_unstable();
        engines.dedup();
        Self {
            // The frequency differs from one moment to the next.
            machine: Machine { cpu_mhz: None, ..environment.machine.clone() },
            filesystem: environment.filesystem.clone(),
            device: environment.device.clone(),
            place: environment.place.clone(),
            span_bytes: environment.capabilities.span.0,
            engines,
            diagnoses: environment.diagnoses.clone(),
        }
    }
}

impl Neighbours {
    /// What the records of a study tell of others.
    pub fn of(records: &[Record]) -> Self {
        let is_plain = |record: &&Record| matches!(record.run.pass, Pass::Plain | Pass::Confirm);
        let plain: Vec<&Record> = records.iter().filter(is_plain).collect();
        let device = sums(&plain, |record| {
            let others = record.foreign_bytes()?.max(0) as f64;
            Some([others, record.submitted_bytes(), record.cpu.span_ns as f64])
        });
        let processors = sums(&plain, |record| {
            let cpu = &record.cpu;
            // Several hosts, or the tools of others, do not tell whose time it was.
            let is_told = !cpu.machine.is_empty() && record.hosts.is_empty() && record.origin.is_none();
            let of_machine = cpu.machine_ns(|times| times.user_ns);
            is_told.then_some([of_machine as f64, cpu.user_ns as f64, cpu.span_ns as f64])
        });
        Self {
            device_mbps: device.and_then(|[others, _, ns]| share(others * 1e3, ns)),
            device_share: device.and_then(|[others, own, _]| share(others, own)),
            processors: processors.and_then(|[all, own, ns]| share((all - own).max(0.0), ns)),
            steal_share: noise(&plain).steal_share,
        }
    }

    /// The median of each figure over studies.
    pub(crate) fn median_of(all: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> Option<f64>| {
            let known: Vec<f64> = all.iter().filter_map(figure).collect();
            (!known.is_empty()).then(|| median(known))
        };
        Self {
            device_mbps: of(|one| one.device_mbps),
            device_share: of(|one| one.device_share),
            processors: of(|one| one.processors),
            steal_share: of(|one| one.steal_share),
        }
    }

    /// Whether every figure is a number that is not below 0, as those that were counted are.
    pub(crate) fn is_sound(&self) -> bool {
        let Self { device_mbps, device_share, processors, steal_share } = *self;
        let is_counted = |figure: Option<f64>| figure.is_none_or(|figure| figure.is_finite() && figure >= 0.0);
        [device_mbps, device_share, processors, steal_share].into_iter().all(is_counted)
    }
}

/// The sums of what the records tell; `None` if none tells anything.
fn sums(records: &[&Record], of: impl Fn(&Record) -> Option<[f64; 3]>) -> Option<[f64; 3]> {
    let add = |sum: [f64; 3], one: [f64; 3]| std::array::from_fn(|at| sum[at] + one[at]);
    records.iter().filter_map(|record| of(record)).reduce(add)
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// What differs, except the checks of settings. What one of them does not know is no difference.
pub(crate) fn surroundings_compared(before: &Surroundings, after: &Surroundings) -> Vec<SurroundingChange> {
    let mut all = Vec::new();
    for (aspect, of) in ASPECTS {
        let values = of(before).zip(of(after)).filter(|(before, after)| before != after);
        all.extend(values.map(|(before, after)| SurroundingChange { aspect, before, after }));
    }
    all.extend(mount_options(before, after));
    let machines = [&before.place.machine, &after.place.machine];
    let is_elsewhere = machines.iter().all(|machine| machine.is_some()) && machines[0] != machines[1];
    let differs: Vec<SurroundingAspect> = all.iter().map(|one| one.aspect).collect();
    // Another machine, file system or model has other numbers of its own.
    all.retain(|one| match one.aspect {
        SurroundingAspect::FileSystemMade => !is_elsewhere && !differs.contains(&SurroundingAspect::FileSystem),
        SurroundingAspect::DeviceIdentity => !is_elsewhere && !differs.contains(&SurroundingAspect::Device),
        _ => true,
    });
    all
}

/// What differs in what others did. What nobody counted in one of them is no difference.
pub(crate) fn neighbours_compared(before: &Neighbours, after: &Neighbours) -> Vec<SurroundingChange> {
    let change =
        |aspect, least: f64, decides: fn(&Neighbours) -> Option<f64>, text: fn(&Neighbours) -> Option<String>| {
            let is_told = (decides(before)? - decides(after)?).abs() >= least;
            Some(SurroundingChange { aspect, before: text(before)?, after: text(after)? }).filter(|_| is_told)
        };
    let found = [
        change(
            SurroundingAspect::OthersOnDevice,
            OTHERS_ON_DEVICE,
            |one| one.device_share,
            |one| one.device_mbps.map(mbps),
        ),
        change(
            SurroundingAspect::OthersOnProcessors,
            OTHERS_PROCESSORS,
            |one| one.processors,
            |one| one.processors.map(two_digits),
        ),
        change(SurroundingAspect::Steal, STEAL, |one| one.steal_share, |one| one.steal_share.map(percent)),
    ];
    found.into_iter().flatten().collect()
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

const ASPECTS: [(SurroundingAspect, Aspect); 16] = [
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
    (SurroundingAspect::Firmware, |one| one.device.as_ref()?.firmware.clone()),
    (SurroundingAspect::Scheduler, |one| one.device.as_ref()?.scheduler.clone()),
    (SurroundingAspect::WriteCache, |one| one.device.as_ref()?.write_cache.clone()),
    (SurroundingAspect::ReadAhead, |one| {
        let read_ahead = one.device.as_ref()?.read_ahead_of(one.filesystem.as_ref())?;
        Some(size(read_ahead.0 as f64))
    }),
    (SurroundingAspect::QueueRequests, |one| Some(one.device.as_ref()?.queue_requests?.to_string())),
    (SurroundingAspect::Span, |one| bytes(Bytes(one.span_bytes))),
    (SurroundingAspect::Engines, |one| {
        let words: Vec<&str> = one.engines.iter().map(|engine| engine.word()).collect();
        some(&words.join(" and ")).filter(|_| !one.engines.contains(&EngineName::Unknown))
    }),
];

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

fn bytes(bytes: Bytes) -> Option<String> {
    (bytes.0 > 0).then(|| size(bytes.0 as f64))
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
    fn the_read_ahead_of_the_queue_is_none_of_btrfs() {
        let btrfs = |read_ahead: u64, backing_device: Option<&str>| {
            let mut one = surroundings();
            one.filesystem.as_mut().unwrap().kind = "btrfs".to_string();
            let device = one.device.as_mut().unwrap();
            device.read_ahead = Some(Bytes(read_ahead));
            device.backing_device = backing_device.map(str::to_string);
            one
        };
        let own = || btrfs(4 << 20, Some("btrfs-1"));
        assert!(surroundings_compared(&btrfs(128 << 10, None), &own()).is_empty(), "as earlier releases recorded it");
        let changed = surroundings_compared(&own(), &btrfs(8 << 20, Some("btrfs-1")));
        assert_eq!(changed.iter().map(|one| one.aspect).collect::<Vec<_>>(), [SurroundingAspect::ReadAhead]);
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
    fn a_drive_with_other_firmware_is_told_and_another_drives_number_is_implied_by_its_model() {
        let drive = |model: &str, firmware: &str, serial: &str| {
            let member = MemberIdentity { device: Some(serial.to_string()), ..MemberIdentity::default() };
            let mut one = surroundings();
            one.device.as_mut().unwrap().model = Some(model.to_string());
            one.device.as_mut().unwrap().firmware = Some(firmware.to_string());
            one.place.members = vec![member];
            one
        };
        let aspects = |after: &Surroundings| {
            let found = surroundings_compared(&drive("990", "4B2Q", "S1"), after);
            found.iter().map(|one| one.aspect).collect::<Vec<_>>()
        };
        assert_eq!(aspects(&drive("990", "5B2Q", "S1")), [SurroundingAspect::Firmware]);
        assert_eq!(aspects(&drive("990", "4B2Q", "S2")), [SurroundingAspect::DeviceIdentity]);
        assert_eq!(aspects(&drive("980", "3B2Q", "S2")), [SurroundingAspect::Device, SurroundingAspect::Firmware]);
    }

    #[test]
    fn neighbours_differ_by_what_can_disturb_a_study() {
        let of = |share, processors, steal| Neighbours {
            device_mbps: Some(200.0 * share),
            device_share: Some(share),
            processors: Some(processors),
            steal_share: Some(steal),
        };
        let told = |after: &Neighbours| {
            let found = neighbours_compared(&of(0.01, 0.1, 0.0), after);
            found.into_iter().map(|one| (one.aspect, one.before, one.after)).collect::<Vec<_>>()
        };
        assert!(told(&of(0.02, 0.2, 0.01)).is_empty());
        assert!(told(&Neighbours::default()).is_empty(), "nobody counted");
        let text = |aspect, before: &str, after: &str| (aspect, before.to_string(), after.to_string());
        assert_eq!(
            told(&of(0.4, 1.25, 0.1)),
            [
                text(SurroundingAspect::OthersOnDevice, "2.00 MB/s", "80.0 MB/s"),
                text(SurroundingAspect::OthersOnProcessors, "0.10", "1.2"),
                text(SurroundingAspect::Steal, "0%", "10%"),
            ]
        );
    }

    #[test]
    fn what_is_not_known_is_no_difference() {
        assert!(surroundings_compared(&Surroundings::default(), &surroundings()).is_empty());
        assert!(checks_differ(&Surroundings::default(), &surroundings()).is_empty());
    }
}
