//! Holds all findings on an application that was watched together.

use halfpower_spec::JsonSchema;
use serde::Serialize;

use super::advice::{WatchAdvice, WatchTest};
use super::parts::{
    OperationGroup, WaitPart, WatchActivity, WatchAlone, WatchCounters, WatchDisk, WatchOther, WatchProbe, WatchUse,
};
use super::stop::WatchStop;
use crate::Interval;

/// Everything that the analysis says about an application that was watched.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WatchFindings {
    /// Whether its operations were traced. Without that, only counters tell.
    pub traced: bool,
    /// Share of the time with at least one operation in progress, at most: kinds of operations count as if they never
    /// overlapped. `null` if nothing was traced.
    pub busy_share: Option<f64>,
    /// What it does: a row for each kind of operation, most time first.
    pub activities: Vec<WatchActivity>,
    /// Where it waits and what stops it: reads, writes and commits, most time first; one group for all of it if nothing
    /// was traced.
    pub groups: Vec<WatchGroup>,
    /// Who else used the same disks, most bytes first.
    pub others: Vec<WatchOther>,
    /// Share of the bytes that others moved on the same disks; `null` if not known.
    pub others_bytes_share: Option<f64>,
    /// The disks as a whole.
    pub disks: Vec<WatchDisk>,
    /// What counters tell of the whole watch.
    pub counters: WatchCounters,
    /// Whether the findings of a study of this path were given.
    pub has_study: bool,
    /// Single requests that the watch sent itself; `null` if it sent none.
    pub probe: Option<WatchProbe>,
}

/// A group of operations: where it waits, what it uses, what stops it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WatchGroup {
    /// Which operations.
    pub group: OperationGroup,
    /// Operations.
    pub count: u64,
    /// Operations a second, with its interval over the seconds; `null` if nothing was traced.
    pub rate: Option<Interval>,
    /// Its share of the time of all operations, with its interval over the seconds; `null` if nothing was traced.
    pub time_share: Option<Interval>,
    /// Mean number in progress while at least one was; `null` if nothing was traced.
    pub depth_while_busy: Option<f64>,
    /// Share of the time with at least one in progress; `null` if nothing was traced.
    pub busy_share: Option<f64>,
    /// What the time of an operation was spent on, most first.
    pub waits: Vec<WaitPart>,
    /// What it uses of what a study of this path found; `null` without such cells.
    pub uses: Option<WatchUse>,
    /// Its reads against single requests of the watch (`--probe`); `null` without them, or where a study tells more.
    pub alone: Option<WatchAlone>,
    /// What stops it.
    pub stop: WatchStop,
    /// What to set.
    pub advice: Vec<WatchAdvice>,
    /// An experiment whose result would refute that; `null` if no limit is known.
    pub falsified_by: Option<WatchTest>,
}
