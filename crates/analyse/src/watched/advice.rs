//! Makes of a verdict what to set, and one experiment whose result would refute it.

use halfpower_spec::JsonSchema;
use serde::Serialize;

use super::parts::{OperationGroup, WatchUse};
use super::stop::{WatchStop, WatchUnknown};
use super::thresholds::MOSTLY;
use crate::Interval;

/// Commits in one flush that advice speaks of.
const TOGETHER: f64 = 4.0;
/// Part of a factor that is expected which an experiment must show: the rest is left to chance.
const MUST_SHOW: f64 = 0.8;
/// Least factor of an experiment: less could not be told from chance.
const LEAST_FACTOR: f64 = 1.1;

/// What to set, or to do.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum WatchAdvice {
    /// More requests in flight.
    Depth {
        /// So many; `null` if only a study tells.
        iodepth: Option<u32>,
        /// Factor that they bring; `null` if only a study tells.
        gain: Option<Interval>,
    },
    /// Fewer and larger requests, or a faster device.
    LessOfDevice,
    /// A higher limit in this file.
    RaiseLimit {
        /// The file.
        file: String,
    },
    /// A higher processor quota in this file.
    RaiseQuota {
        /// The file.
        file: String,
    },
    /// The work on more threads.
    MoreThreads,
    /// More processors, or less beside it.
    MoreProcessors,
    /// Several commits in one flush.
    GroupCommit {
        /// So many.
        together: f64,
        /// Factor that they bring at most.
        gain: f64,
    },
    /// A device with a write cache that survives a loss of power.
    FasterFlush,
    /// The journal on another device, or files that are laid out in advance.
    JournalElsewhere,
    /// Writing back that begins earlier.
    EarlierWriteback,
    /// A limit or the idle class for a neighbour.
    LimitNeighbour {
        /// Name of its program.
        name: String,
        /// Its control group.
        cgroup: String,
    },
    /// More memory.
    MoreMemory {
        /// File of the limit on it, if there is one.
        file: Option<String>,
    },
    /// Another host, or fewer virtual machines on this one.
    OtherHost,
    /// A study of the path, whose findings are given to the watch.
    Study,
    /// The watch as root.
    AsRoot,
    /// A longer watch.
    WatchLonger,
}

/// What to set for this stop.
pub(super) fn advice(stop: &WatchStop) -> Vec<WatchAdvice> {
    match stop {
        WatchStop::OwnDepth { best_iodepth, gain, .. } => {
            let mut all = vec![WatchAdvice::Depth { iodepth: *best_iodepth, gain: *gain }];
            if gain.is_none() {
                all.push(WatchAdvice::Study);
            }
            all
        }
        WatchStop::Device { .. } => vec![WatchAdvice::LessOfDevice],
        WatchStop::GroupLimit { file, .. } => vec![WatchAdvice::RaiseLimit { file: file.clone() }],
        WatchStop::ProcessorQuota { file, .. } => vec![WatchAdvice::RaiseQuota { file: file.clone() }],
        WatchStop::OneProcessor { .. } => vec![WatchAdvice::MoreThreads],
        WatchStop::Processors { .. } => vec![WatchAdvice::MoreProcessors],
        WatchStop::Flush { share, gain_of_four, .. } => {
            let mut all = vec![WatchAdvice::GroupCommit { together: TOGETHER, gain: *gain_of_four }];
            // Without the flush the write is left, and the time of the application.
            if *share >= MOSTLY {
                all.push(WatchAdvice::FasterFlush);
            }
            all
        }
        WatchStop::Journal { .. } => vec![WatchAdvice::JournalElsewhere],
        WatchStop::Writeback { .. } | WatchStop::DirtyPages { .. } => vec![WatchAdvice::EarlierWriteback],
        WatchStop::Neighbour { name, cgroup, .. } | WatchStop::SharedDevice { name, cgroup, .. } => {
            vec![WatchAdvice::LimitNeighbour { name: name.clone(), cgroup: cgroup.clone() }]
        }
        WatchStop::Memory { file, .. } => vec![WatchAdvice::MoreMemory { file: file.clone() }],
        WatchStop::Steal { .. } => vec![WatchAdvice::OtherHost],
        WatchStop::Itself { .. } | WatchStop::PageCache { .. } => Vec::new(),
        WatchStop::NotKnown { why } => match why {
            WatchUnknown::NeedsStudy { .. } | WatchUnknown::StudyTooWide { .. } => vec![WatchAdvice::Study],
            WatchUnknown::NotTraced { .. } => vec![WatchAdvice::AsRoot],
            WatchUnknown::TooFew { .. } | WatchUnknown::Nothing => vec![WatchAdvice::WatchLonger],
            WatchUnknown::LostEvents { .. }
            | WatchUnknown::NoOneCause { .. }
            | WatchUnknown::Unseen { .. }
            | WatchUnknown::SlowerThanStudy { .. }
            | WatchUnknown::Queue { .. }
            | WatchUnknown::Throttle { .. }
            | WatchUnknown::RunQueue { .. } => Vec::new(),
        },
    }
}

/// An experiment, and the result that would refute the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WatchTest {
    /// Which group it is about.
    pub group: OperationGroup,
    /// What to change.
    pub change: TestChange,
    /// Factor by which the group's rate changes.
    pub factor: f64,
    /// Whether a smaller factor refutes the verdict; otherwise a larger one does.
    pub at_least: bool,
}

/// What an experiment changes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum TestChange {
    /// Raise the depth to this.
    Depth {
        /// Requests in flight.
        iodepth: u32,
    },
    /// Raise this limit to twice its value.
    TwiceTheLimit {
        /// File that sets it.
        file: String,
    },
    /// Spread the work of the busiest thread over two.
    TwoThreads,
    /// Stop what else uses the processors.
    ProcessorsFree,
    /// Commit to a place whose flush takes no time, such as memory.
    NoFlush,
    /// Put the journal, or the files, on another file system.
    OtherFileSystem,
    /// Stop what is written back meanwhile.
    NoWriteback,
    /// Stop this neighbour for a minute.
    WithoutNeighbour {
        /// Name of its program.
        name: String,
    },
    /// Give it twice the memory.
    TwiceTheMemory,
    /// Run it on another host.
    OtherHost,
    /// Put its data into memory.
    DataInMemory,
}

/// The experiment that would refute this stop of a group; `None` if no limit is known.
pub(super) fn test(group: OperationGroup, stop: &WatchStop, uses: Option<&WatchUse>) -> Option<WatchTest> {
    let of = |change: TestChange, factor: f64, at_least: bool| Some(WatchTest { group, change, factor, at_least });
    // Without this share of its time, an operation would be so many times as fast.
    let without = |share: f64| must_show(1.0 / (1.0 - share.clamp(0.0, 0.9)));
    match stop {
        WatchStop::OwnDepth { depth, gain, .. } => match uses.filter(|_| gain.is_some()) {
            Some(uses) => of(TestChange::Depth { iodepth: uses.test_iodepth }, must_show(uses.test_gain.low), true),
            None => {
                let iodepth = twice(*depth);
                of(TestChange::Depth { iodepth }, must_show(f64::from(iodepth) / depth.max(1.0)), true)
            }
        },
        WatchStop::Device { depth, .. } => of(TestChange::Depth { iodepth: twice(*depth) }, 1.25, false),
        WatchStop::GroupLimit { file, .. } => of(TestChange::TwiceTheLimit { file: file.clone() }, LEAST_FACTOR, true),
        WatchStop::ProcessorQuota { file, held_share, .. } => {
            let factor = held_share.map_or(LEAST_FACTOR, without).min(2.0 * MUST_SHOW);
            of(TestChange::TwiceTheLimit { file: file.clone() }, factor, true)
        }
        WatchStop::OneProcessor { .. } => of(TestChange::TwoThreads, 2.0 * MUST_SHOW, true),
        WatchStop::Processors { waited_share, .. } => of(TestChange::ProcessorsFree, without(*waited_share), true),
        WatchStop::Flush { share, .. } => of(TestChange::NoFlush, without(*share), true),
        WatchStop::Journal { share, .. } => of(TestChange::OtherFileSystem, without(*share / 2.0), true),
        WatchStop::Writeback { share, .. } | WatchStop::DirtyPages { share, .. } => {
            of(TestChange::NoWriteback, without(*share), true)
        }
        WatchStop::Neighbour { name, excess_share, slowdown, .. } => {
            let factor = excess_share.map(without).or(slowdown.map(|ratio| must_show(ratio.low)));
            of(TestChange::WithoutNeighbour { name: name.clone() }, factor.unwrap_or(LEAST_FACTOR), true)
        }
        // What is too much of its time goes with the others, so this one's part of it with its part of the bytes.
        WatchStop::SharedDevice { name, times, bytes_share, .. } => {
            let excess = (1.0 - 1.0 / times.low.max(1.0)) * bytes_share;
            of(TestChange::WithoutNeighbour { name: name.clone() }, without(excess), true)
        }
        WatchStop::Memory { .. } => of(TestChange::TwiceTheMemory, LEAST_FACTOR, true),
        WatchStop::Steal { share } => of(TestChange::OtherHost, without(*share), true),
        WatchStop::Itself { most_gain, .. } => of(TestChange::DataInMemory, *most_gain, false),
        WatchStop::PageCache { .. } => of(TestChange::DataInMemory, 1.25, false),
        WatchStop::NotKnown { .. } => None,
    }
}

/// The factor that an experiment must show at least, if this one is expected.
fn must_show(expected: f64) -> f64 {
    (expected * MUST_SHOW).max(LEAST_FACTOR)
}

/// About twice this depth.
fn twice(depth: f64) -> u32 {
    (2.0 * depth.max(1.0)).ceil() as u32
}
