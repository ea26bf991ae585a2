//! Describes the levels of a path: their kinds, their peaks, what got through them, and the ceilings that experiments
//! measured.

use std::ops::Range;

use halfpower_record::Level;
use halfpower_spec::{Direction, JsonSchema, Kernel, Pattern, Rate};
use serde::Serialize;

/// Which level of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LevelKind {
    /// Main memory.
    Memory,
    /// The processors.
    Processor,
    /// The kernel's page cache.
    PageCache,
    /// The block device, or the medium if the path has no block device.
    Device,
    /// The figure that the user gave, if no level could take it.
    DataSheet,
    /// Controller and link, known from the rate of repeated reads of the same few blocks.
    ControllerAndLink,
    /// What parallel members share.
    SharedPath,
    /// A limit that holds once its credit is spent.
    SustainedLimit,
    /// A limit that appears only in the results.
    UnnamedCeiling,
    /// Any other part of the path, named by the environment.
    Part,
    /// A file server that is reached without a mount, or the way to it; named by the environment. This kind and those
    /// below are parts for readers of JSON.
    #[serde(rename = "part")]
    #[schemars(skip)]
    FileServer,
    /// The wire to a file server, or the server's link to it.
    #[serde(rename = "part")]
    #[schemars(skip)]
    Wire,
    /// Our own client of a file server; `name` is its protocol.
    #[serde(rename = "part")]
    #[schemars(skip)]
    OurClient,
    /// The network's round trip.
    #[serde(rename = "part")]
    #[schemars(skip)]
    RoundTrip,
    /// The processors of the far end.
    #[serde(rename = "part")]
    #[schemars(skip)]
    FarProcessors,
    /// A disk of the far end.
    #[serde(rename = "part")]
    #[schemars(skip)]
    FarDisk,
}

/// One level of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LevelId {
    /// Which.
    pub kind: LevelKind,
    /// The environment's name for a [`LevelKind::Part`] or [`LevelKind::FileServer`], or the protocol of our client.
    pub name: Option<String>,
    /// The only direction that it holds for; `None` means both.
    pub direction: Option<Direction>,
}

/// Where a level's advertised figure comes from, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum LevelSource {
    /// The environment; its words.
    Environment(String),
    /// The user gave it.
    DataSheet,
    /// No figure is known.
    Unadvertised,
    /// It appears only in the results.
    SeenInResults,
    /// The experiment `memory` measured it.
    MemoryCopy(MemoryCopy),
    /// The experiment `burst` measured it, with repeated reads of the same few blocks.
    SameBlocks {
        /// What was measured.
        link: LinkCeiling,
        /// The level whose known limit was nearly reached, and the share of that limit in 0 to 1.
        limited_by: Option<(LevelId, f64)>,
    },
    /// The experiment `scaling` measured it, with members together.
    Members(SharedCeiling),
    /// The experiment `credit` measured it: the sustained rate.
    Sustained(SustainedLimit),
}

/// A level and its known limits.
#[derive(Debug, Clone, PartialEq)]
pub struct PathLevel {
    /// Which.
    pub id: LevelId,
    /// Peak advertised performance.
    pub pap: Option<Rate>,
    /// Best throughput that gets through it, if known: no more than `pap`, and the limit that results are compared
    /// with.
    pub attainable: Option<Rate>,
    /// Requests a second that it allows.
    pub pap_iops: Option<f64>,
    /// For parallel members: the peak of each; `pap` is their sum.
    pub member_paps: Vec<Rate>,
    /// The same in requests a second.
    pub member_pap_iops: Vec<f64>,
    /// Where the figure comes from.
    pub source: LevelSource,
}

/// One level: what it advertises and what got through it.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelFinding {
    /// Which.
    pub id: LevelId,
    /// Peak advertised performance in MB/s.
    pub pap_mbps: Option<f64>,
    /// Requests a second that it allows.
    pub pap_iops: Option<f64>,
    /// Real application performance in MB/s: the best measured through it.
    pub rap_mbps: Option<f64>,
    /// Where the advertised figure comes from, or why there is none.
    pub source: LevelSource,
    /// Whether this is the narrowest.
    pub narrowest: bool,
}

/// The environment's names of the levels that the analysis treats specially: the only place that tells kinds by names.
const NAMES: [(&str, LevelKind); 9] = [
    ("memory", LevelKind::Memory),
    ("processor", LevelKind::Processor),
    ("page cache", LevelKind::PageCache),
    ("device", LevelKind::Device),
    ("data sheet", LevelKind::DataSheet),
    ("controller and link", LevelKind::ControllerAndLink),
    ("shared path", LevelKind::SharedPath),
    ("file server", LevelKind::FileServer),
    ("network or file server", LevelKind::FileServer),
];

impl LevelKind {
    /// Whether the level belongs to the host, so that its peak limits no device and direct transfers do not pass it.
    pub fn is_of_the_host(self) -> bool {
        matches!(self, Self::Memory | Self::Processor | Self::PageCache)
    }
}

impl LevelId {
    /// A level of this kind, for both directions.
    pub fn of(kind: LevelKind) -> Self {
        Self { kind, name: None, direction: None }
    }

    /// The level that the environment gives this name.
    pub fn named(name: &str, direction: Option<Direction>) -> Self {
        let kind = NAMES.iter().find(|(known, _)| *known == name).map_or(LevelKind::Part, |(_, kind)| *kind);
        let is_named = matches!(kind, LevelKind::Part | LevelKind::FileServer);
        Self { kind, name: is_named.then(|| name.to_string()), direction }
    }

    /// Whether it limits requests of this direction.
    pub fn holds_for(&self, rw: Direction) -> bool {
        self.direction.is_none_or(|direction| direction == rw)
    }
}

impl PathLevel {
    /// A level as the environment describes it.
    pub fn of(level: &Level) -> Self {
        Self {
            id: LevelId::named(&level.name, level.direction),
            pap: level.pap,
            attainable: level.attainable,
            pap_iops: level.pap_iops,
            member_paps: level.member_paps.clone(),
            member_pap_iops: level.member_pap_iops.clone(),
            source: LevelSource::Environment(level.source.clone()),
        }
    }

    /// A level without a known limit.
    pub fn unlimited(id: LevelId, source: LevelSource) -> Self {
        let member_paps = Vec::new();
        let member_pap_iops = Vec::new();
        Self { id, pap: None, attainable: None, pap_iops: None, member_paps, member_pap_iops, source }
    }

    /// Peak advertised performance in MB/s, if it holds for `rw` and is a number.
    pub fn pap_mbps(&self, rw: Direction) -> Option<f64> {
        let holds = self.id.holds_for(rw);
        self.pap.map(|pap| pap.mbps()).filter(|pap| holds && pap.is_finite() && *pap > 0.0)
    }

    /// The most that requests of `bs_bytes` can move through it in MB/s, by bytes and by requests a second, if only
    /// these `members`, or hosts, are active; an empty range means all.
    pub fn most_mbps(&self, rw: Direction, bs_bytes: u64, members: &Range<u32>) -> Option<f64> {
        let of_members = |peaks: &mut dyn Iterator<Item = f64>, all: Option<f64>| {
            let peaks = peaks.skip(members.start as usize).take(members.len());
            let some = Some(peaks.sum::<f64>()).filter(|sum| *sum > 0.0);
            // Members may share a limit that counts once for all of them.
            some.map(|some| all.map_or(some, |all| some.min(all))).or(all)
        };
        let bytes = of_members(&mut self.member_paps.iter().map(|pap| pap.mbps()), self.pap_mbps(rw));
        let ios = of_members(&mut self.member_pap_iops.iter().copied(), self.pap_iops);
        let limits = [bytes, ios.map(|ios| ios * bs_bytes as f64 / 1e6)];
        let is_limit = |mbps: &f64| self.id.holds_for(rw) && mbps.is_finite() && *mbps > 0.0;
        limits.into_iter().flatten().filter(is_limit).reduce(f64::min)
    }

    /// The limit in MB/s that a result of `rw` is compared with: what gets through the level, otherwise what it
    /// advertises.
    pub fn limit_mbps(&self, rw: Direction) -> Option<f64> {
        let attainable = self.attainable.map(|rate| rate.mbps()).filter(|mbps| mbps.is_finite() && *mbps > 0.0);
        if self.id.holds_for(rw) { attainable.or_else(|| self.pap_mbps(rw)) } else { None }
    }
}

/// Ceilings of the path that experiments measured; all empty if no experiment was run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredCeilings {
    /// How fast memory is copied.
    pub memory: Option<MemoryCopy>,
    /// How fast repeated reads of the same few blocks are.
    pub link: Option<LinkCeiling>,
    /// What parallel members share; one for each direction in which they were seen to share it.
    pub shared: Vec<SharedCeiling>,
    /// Sustained rates of limits; one for each direction in which one was seen.
    pub sustained: Vec<SustainedLimit>,
}

/// Sustained rate of a limit once its credit is spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SustainedLimit {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Throughput in MB/s, if bytes are limited.
    pub mbps: Option<f64>,
    /// Requests a second, if they are limited.
    pub iops: Option<f64>,
}

/// The fastest copy of memory by the most threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryCopy {
    /// The loop that copied.
    pub kernel: Kernel,
    /// Threads that ran it at once.
    pub threads: u32,
    /// Throughput of all of them together.
    pub mbps: f64,
}

/// The fastest reads of the same few blocks by the most members: what got through controller and link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkCeiling {
    /// Members that read them at once.
    pub members: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests kept outstanding by each member.
    pub iodepth: u32,
    /// Throughput of all of them together.
    pub mbps: f64,
    /// Whether something before the medium answered, so that this is the limit of controller and link.
    pub answered: bool,
}

/// The parties that share a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedBy {
    /// Members of a target, as `scaling` measures them.
    Members,
    /// Hosts, as `hosts` measures them.
    Hosts,
}

/// The most that got through a path that members of a target, or hosts, share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedCeiling {
    /// Who shares it.
    pub by: SharedBy,
    /// Which way the bytes went.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Members active together.
    pub members: u32,
    /// Throughput of all of them together.
    pub mbps: f64,
    /// Throughput of a single one alone.
    pub alone_mbps: f64,
}
