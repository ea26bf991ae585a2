//! Describes where a study was measured: machine, file system, device, and what each level of the path advertises.
//!
//! Comparing the identities of two places gives a phrase for each part that differs. A part that either does not know
//! never differs.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_spec::{Bytes, Direction, Experiment, JsonSchema, Rate, Workload};
use serde::{Deserialize, Serialize};

use crate::{Ability, Diagnosis, FarEndMachine, HostPlace, ImportedFile, LayerPlace, Machine, StripePlace};

/// Everything about the place that a reader needs to judge the numbers. Unknown values are `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The computer.
    pub machine: Machine,
    /// The machine at the far end of the path, if a witness there reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_end: Option<FarEndMachine>,
    /// The processes that measure together, in the order of their ranks; empty for a single process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPlace>,
    /// The file system under the target, if there is one.
    pub filesystem: Option<FileSystem>,
    /// The block device under the target, if there is one.
    pub device: Option<Device>,
    /// The path from the application to the medium, in that order.
    pub levels: Vec<Level>,
    /// What was unavailable or differs from what was asked, a sentence each (io_uring forbidden, a smaller file).
    pub notes: Vec<String>,
    /// What experiments can use here.
    #[serde(default, alias = "surroundings")]
    pub capabilities: Capabilities,
    /// What identifies the place, so that a study is resumed where it began.
    #[serde(default, skip_serializing_if = "PlaceIdentity::is_unknown")]
    pub place: PlaceIdentity,
    /// Experiments that were asked for but cannot be run here.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// What the checks of settings found, one for each folder, file or device of the target; empty if nobody looked, which
    /// does not mean that all is fine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnoses: Vec<Diagnosis>,
    /// Files of other tools that the results come from; empty if halfpower measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<ImportedFile>,
}

impl Environment {
    /// The computers that measure together, each once; a process without a host's name counts as a computer of its own.
    pub fn computers(&self) -> Vec<&Machine> {
        let mut known = BTreeSet::new();
        let mut is_new = |machine: &&Machine| machine.hostname.as_ref().is_none_or(|name| known.insert(name.clone()));
        match self.hosts.is_empty() {
            true => vec![&self.machine],
            false => self.hosts.iter().map(|place| &place.machine).filter(|machine| is_new(machine)).collect(),
        }
    }
}

/// What experiments can use at a place: their plans depend on this and on the question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// What the target is.
    pub kind: TargetKind,
    /// Bytes that offsets are drawn from.
    pub span: Bytes,
    /// Bytes of the target over which the span is spread in pieces; `None` if the span is contiguous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Bytes>,
    /// Members of the target; 1 is a single path, 0 means unknown.
    pub members: u32,
    /// Bytes that a stripe puts on one member before the next; `None` for a single path.
    #[serde(default)]
    pub chunk: Option<Bytes>,
    /// Unit that direct requests must be multiples of; `None` without direct I/O.
    pub direct_unit: Option<Bytes>,
    /// Block devices beneath the target that hold its bytes, each beneath the one before; empty if none is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerPlace>,
    /// Why nothing is known of what lies beneath these, a sentence without full stop; `None` if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers_end: Option<String>,
    /// Full stripes of the array with parity that the target lies on; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe: Option<StripePlace>,
    /// Abilities missing here, by the word that plans use, each with the reason, a sentence without full stop.
    #[serde(alias = "cannot")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub unavailable: BTreeMap<Ability, String>,
}

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A folder in which halfpower creates its own files.
    Folder,
    /// An existing file.
    File,
    /// A block device.
    Device,
    /// A folder on a file server, in which halfpower creates its own files.
    Share,
    /// A simulated system.
    Simulated,
    /// The target of another tool whose results were imported.
    Imported,
    /// Nothing (`null:`), or the target of an early release, which did not record it.
    #[default]
    Nothing,
}

impl TargetKind {
    /// Whether real hardware answers, so that other load and limits can interfere: neither a model nor `null:`.
    pub fn is_hardware(self) -> bool {
        matches!(self, Self::Folder | Self::File | Self::Device | Self::Share)
    }
}

/// An experiment, or a setting of one, that could not be run, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The experiment.
    pub experiment: Experiment,
    /// The setting; `None` if the whole experiment is left out, or a part known before planning.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// The reason, a sentence without full stop.
    pub why: String,
}

impl Capabilities {
    /// Checks that `ability` is available here.
    ///
    /// # Errors
    /// The reason why not, a sentence without full stop.
    pub fn can(&self, ability: &Ability) -> Result<(), String> {
        self.unavailable.get(ability).map_or(Ok(()), |why| Err(why.clone()))
    }
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// Its kind, such as ext4.
    pub kind: String,
    /// Its mount options.
    pub options: String,
    /// Its block size.
    pub block: Bytes,
}

impl FileSystem {
    /// Whether its files are read ahead by a backing device (bdi) of its own, whatever the queue of the block device says
    /// (`super_setup_bdi`).
    pub fn has_own_backing_device(&self) -> bool {
        ["btrfs", "bcachefs", "fuseblk", "zfs"].contains(&self.kind.as_str())
    }
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Its kernel name, such as nvme0n1 (the whole device, even if the target is a partition).
    pub name: String,
    /// Kernel names of the other devices that the file system spans, of which nothing more is told; empty for studies of
    /// earlier releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Its model, if known.
    pub model: Option<String>,
    /// Revision of its firmware; of a volume, those of the disks under it, each once, joined by commas. `None` if the disks do
    /// not tell, and for studies of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// How it is attached: nvme, sata, virtio, loop, ...
    pub transport: Option<String>,
    /// Whether it rotates.
    pub rotational: Option<bool>,
    /// Its capacity.
    pub size: Bytes,
    /// Smallest unit it addresses.
    pub logical_block: Bytes,
    /// Smallest unit it writes without reading first.
    pub physical_block: Bytes,
    /// Its write cache: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Read-ahead of buffered reads.
    pub read_ahead: Option<Bytes>,
    /// The file system's own backing device, below /sys/class/bdi, that holds the read-ahead (btrfs); `None` if the queue of the
    /// block device does, or if it is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_device: Option<String>,
    /// Requests that one of its queues holds at once; further ones wait before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_requests: Option<u32>,
    /// Number of these queues; each processor uses one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
    /// Memory node (NUMA) that it is at; of a volume, that of all disks under it. `None` where the machine has a single node
    /// with processors, where the kernel does not tell, and for studies of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_node: Option<u32>,
}

impl Device {
    /// Whether the file system lies on it alone, so that its facts and counters are those of all that lies beneath.
    pub fn is_alone(&self) -> bool {
        self.others.is_empty()
    }

    /// Read-ahead of buffered reads of files of this file system; `None` if unknown. Earlier releases took the queue's for that of
    /// a file system that has its own.
    pub fn read_ahead_of(&self, filesystem: Option<&FileSystem>) -> Option<Bytes> {
        let is_of_queue = !filesystem.is_some_and(FileSystem::has_own_backing_device);
        self.read_ahead.filter(|_| is_of_queue || self.backing_device.is_some())
    }

    /// Its capacity in GB; `None` if unknown, or if other devices add theirs.
    pub fn capacity_gb(&self) -> Option<f64> {
        Some(self.size.0 as f64 / 1e9).filter(|gb| *gb > 0.0 && self.is_alone())
    }
}

/// The name, or its beginning, of the level of a control group's limits.
pub const CGROUP_LIMIT: &str = "cgroup limit";

/// A part of the path that has a peak advertised performance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Its name: memory, processor, cgroup limit, link, device, ...
    pub name: String,
    /// Peak advertised performance, if known.
    pub pap: Option<Rate>,
    /// Highest attainable rate, if its set-up and protocol are known: at most `pap`. Results are compared with this
    /// limit.
    #[serde(default)]
    pub attainable: Option<Rate>,
    /// Limit on requests a second, if known.
    pub pap_iops: Option<f64>,
    /// Peak of each parallel member; `pap` is their sum. Empty for a single member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub member_paps: Vec<Rate>,
    /// The same in requests a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub member_pap_iops: Vec<f64>,
    /// The direction it applies to, if reads and writes have separate limits; `None` is both.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// Whether reads and writes share it, as on a half-duplex link; otherwise each of them may have all of it. Absent in studies
    /// of earlier releases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub half_duplex: bool,
    /// Source of the figure, or the reason why there is none.
    pub source: String,
}

impl Level {
    /// Its name, with its direction if it applies to one only.
    pub fn full_name(&self) -> String {
        match self.direction {
            Some(direction) if !self.name.contains(direction.word()) => format!("{} ({direction})", self.name),
            _ => self.name.clone(),
        }
    }
}

/// The identity of a place; unknown parts are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlaceIdentity {
    /// The machine, as a checksum of its machine id.
    pub machine: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// The members of the target, in their order.
    pub members: Vec<MemberIdentity>,
}

/// The identity of a member of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemberIdentity {
    /// Its path, absolute and without links.
    pub path: String,
    /// The devices under it: serial numbers, or sizes if there are none.
    pub device: Option<String>,
    /// The UUID of its file system.
    pub filesystem: Option<String>,
}

impl PlaceIdentity {
    /// Whether nothing is known, as for a simulated target.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// Such as `the file system of /data is A there and B here`, joined by commas; `None` if no known part differs.
    pub fn difference(&self, here: &Self) -> Option<String> {
        let both = |what: &str, there: &Option<String>, here: &Option<String>| match (there, here) {
            (Some(there), Some(here)) if there != here => Some(format!("{what} is {there} there and {here} here")),
            _ => None,
        };
        let mut phrases =
            vec![both("the machine", &self.machine, &here.machine), both("the kernel", &self.kernel, &here.kernel)];
        for (there, here) in self.members.iter().zip(&here.members) {
            let path = &here.path;
            phrases.push((there.path != *path).then(|| format!("the path is {} there and {path} here", there.path)));
            phrases.push(both(&format!("the device of {path}"), &there.device, &here.device));
            phrases.push(both(&format!("the file system of {path}"), &there.filesystem, &here.filesystem));
        }
        let phrases: Vec<String> = phrases.into_iter().flatten().collect();
        (!phrases.is_empty()).then(|| phrases.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(device: Option<&str>, filesystem: &str) -> PlaceIdentity {
        let member = MemberIdentity {
            path: "/data".to_string(),
            device: device.map(str::to_string),
            filesystem: Some(filesystem.to_string()),
        };
        PlaceIdentity { machine: Some("m".to_string()), kernel: Some("6.1".to_string()), members: vec![member] }
    }

    #[test]
    fn processes_of_one_computer_count_it_once() {
        let place = |rank, name: Option<&str>| HostPlace {
            rank,
            machine: Machine { hostname: name.map(str::to_string), cpus: rank + 1, ..Machine::default() },
            ..HostPlace::default()
        };
        let cpus = |hosts: Vec<HostPlace>| {
            let environment = Environment { hosts, ..Environment::default() };
            environment.computers().iter().map(|machine| machine.cpus).collect::<Vec<u32>>()
        };
        assert_eq!(cpus(Vec::new()), [0], "the machine itself");
        let places = [(0, Some("a")), (1, Some("a")), (2, Some("b")), (3, None), (4, None)];
        assert_eq!(cpus(places.map(|(rank, name)| place(rank, name)).to_vec()), [1, 3, 4, 5]);
    }

    #[test]
    fn each_part_that_differs_is_named_and_what_is_not_known_is_no_difference() {
        let there = place(Some("S1"), "A");
        assert_eq!(there.difference(&there), None);
        assert_eq!(there.difference(&place(None, "A")), None);
        assert_eq!(PlaceIdentity::default().difference(&there), None);
        assert_eq!(
            there.difference(&place(Some("S2"), "B")).unwrap(),
            "the device of /data is S1 there and S2 here, the file system of /data is A there and B here"
        );
        let elsewhere =
            PlaceIdentity { machine: Some("n".to_string()), kernel: Some("6.2".to_string()), ..there.clone() };
        assert_eq!(
            there.difference(&elsewhere).unwrap(),
            "the machine is m there and n here, the kernel is 6.1 there and 6.2 here"
        );
    }
}
