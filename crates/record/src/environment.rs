//! Describes where a study was measured: machine, file system, device, and what each level of the path advertises.

use std::collections::BTreeMap;

use halfpower_spec::{Bytes, Direction, Experiment, Rate, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{FarEndMachine, HostPlace, ImportedFile, Machine, PlaceIdentity};

/// Everything about the place that a reader needs to believe the numbers. What is not known is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The computer.
    pub machine: Machine,
    /// The machine at the far end of the path, where a witness there tells of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_end: Option<FarEndMachine>,
    /// The processes that measure together, in the order of their ranks; none where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPlace>,
    /// The file system under the target, where there is one.
    pub filesystem: Option<FileSystem>,
    /// The block device under the target, where there is one.
    pub device: Option<Device>,
    /// The path from the application to the medium, in that order.
    pub levels: Vec<Level>,
    /// What could not be had or is other than asked, a sentence each (io_uring forbidden, a smaller file).
    pub notes: Vec<String>,
    /// What the place offers to experiments.
    #[serde(default, alias = "surroundings")]
    pub capabilities: Capabilities,
    /// What the place is known by, so that a study is resumed where it began.
    #[serde(default, skip_serializing_if = "PlaceIdentity::is_unknown")]
    pub place: PlaceIdentity,
    /// Experiments that were asked for and cannot be run here.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Files of other tools that the results come from; none where halfpower measured them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<ImportedFile>,
}

/// What a place offers to experiments: what their plans depend on beside the question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// What the target is.
    pub kind: TargetKind,
    /// Bytes that offsets are drawn from.
    pub span: Bytes,
    /// Bytes of the target over which these lie in pieces; `None` where they are one part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Bytes>,
    /// Members of the target; 1 is a single path, 0 is not known.
    pub members: u32,
    /// Bytes that a stripe of the members lays on one before it goes on to the next; `None` of a single path.
    #[serde(default)]
    pub chunk: Option<Bytes>,
    /// What direct requests must be multiples of; `None` where there is no direct I/O.
    pub direct_unit: Option<Bytes>,
    /// What cannot be done here, by the word that plans ask with, and why, in a sentence without its full stop.
    #[serde(alias = "cannot")]
    pub unavailable: BTreeMap<String, String>,
}

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A folder, in which halfpower makes files of its own.
    Folder,
    /// A file that was there.
    File,
    /// A block device.
    Device,
    /// A folder on a file server, in which halfpower makes files of its own.
    Share,
    /// A simulated system.
    Simulated,
    /// Another tool's, whose results were imported.
    Imported,
    /// Nothing, `null:`; or a study of an earlier release, which did not say.
    #[default]
    Nothing,
}

impl TargetKind {
    /// Whether somebody's hardware answers, where others and limits may be in the way: not a model, and not nothing.
    pub fn is_hardware(self) -> bool {
        matches!(self, Self::Folder | Self::File | Self::Device | Self::Share)
    }
}

/// An experiment, or a setting of one, that could not be run, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Which.
    pub experiment: Experiment,
    /// The setting; `None` where it is the experiment, or a part of it that is known before.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// Why, in a sentence without its full stop.
    pub why: String,
}

impl Capabilities {
    /// Whether `ability` is to be had here.
    ///
    /// # Errors
    /// Why not, in a sentence without its full stop.
    pub fn can(&self, ability: &str) -> Result<(), String> {
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

/// A block device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Its kernel name, such as nvme0n1 (the whole device, also where the target is a partition of it).
    pub name: String,
    /// Its model, where it has one.
    pub model: Option<String>,
    /// How it is attached: nvme, sata, virtio, loop, ...
    pub transport: Option<String>,
    /// Whether it turns.
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
}

/// A part of the path that has a peak advertised performance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Its name: memory, processor, cgroup limit, link, device, ...
    pub name: String,
    /// Peak advertised performance, where it is known.
    pub pap: Option<Rate>,
    /// What gets through it at best, where its set-up and protocol are known: no more than `pap`, and the limit that
    /// results are held against.
    #[serde(default)]
    pub attainable: Option<Rate>,
    /// Requests a second that it admits, where such a limit is known.
    pub pap_iops: Option<f64>,
    /// Of members side by side: the peak of each, whose sum `pap` is. Empty for a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub member_paps: Vec<Rate>,
    /// The same in requests a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub member_pap_iops: Vec<f64>,
    /// The only direction that it holds for, where reads and writes have limits of their own; `None` is both.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// Where the figure comes from, or why there is none.
    pub source: String,
}

impl Level {
    /// Its name, with its direction where it holds for one alone.
    pub fn full_name(&self) -> String {
        match self.direction {
            Some(direction) if !self.name.contains(direction.word()) => format!("{} ({direction})", self.name),
            _ => self.name.clone(),
        }
    }
}
