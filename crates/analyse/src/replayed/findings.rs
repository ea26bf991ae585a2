//! Holds what the comparison of a capture with what was asked again says.

use halfpower_record::OperationKind;
use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::Interval;

/// What an application got when it was captured, and what it gets when it is asked again.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReplayFindings {
    /// Rounds, or draws, that were compared.
    pub rounds: usize,
    /// Whether no lane's script was done to its end: the same first part of the capture is compared then.
    pub part: bool,
    /// Commits that share a sync, of the files where they do (group commit), when captured and when they are asked again: each
    /// commit is one operation then, from when its lane began to wait or to write until it is durable. `null` if none does.
    pub commits_of_a_sync: Option<[f64; 2]>,
    /// All operations together.
    pub whole: ReplayRow,
    /// Each kind of operation with at least 1% of the operations or of their time when captured, most time first.
    pub rows: Vec<ReplayRow>,
}

impl ReplayFindings {
    /// The operations that make data durable and take the most of the time; `None` if there are none that count.
    pub fn commits(&self) -> Option<&ReplayRow> {
        let durable = self.rows.iter().filter(|row| row.kind.is_some_and(OperationKind::is_durable));
        durable.max_by(|one, other| one.before.depth.value.total_cmp(&other.before.depth.value))
    }
}

/// Operations of one kind, when they were captured and when they are asked again.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReplayRow {
    /// What they do; `null` for all operations together.
    pub kind: Option<OperationKind>,
    /// Whether they pass the page cache by (`O_DIRECT`); `null` for all operations together.
    pub direct: Option<bool>,
    /// Median of their sizes in bytes when captured; 0 for syncs.
    pub bytes: u64,
    /// When they were captured.
    pub before: ReplaySide,
    /// When they are asked again.
    pub after: ReplaySide,
    /// Operations a second: after divided by before.
    pub rate: ReplayChange,
    /// Mean number in progress: after divided by before.
    pub depth: ReplayChange,
    /// Median latency: after divided by before.
    pub p50: ReplayChange,
    /// 99th percentile of latency: after divided by before.
    pub p99: ReplayChange,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReplaySide {
    /// Operations, of all rounds together.
    pub operations: u64,
    /// Operations a second.
    pub per_second: Interval,
    /// Bytes a second.
    pub bytes_per_second: Interval,
    /// Mean number in progress.
    pub depth: Interval,
    /// Median latency in nanoseconds; 0 without operations.
    pub p50_ns: Interval,
    /// 99th percentile of latency in nanoseconds; 0 without operations.
    pub p99_ns: Interval,
}

/// A quotient of a figure, after divided by before, and what it says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ReplayChange {
    /// After divided by before, with its 95% interval; `null` if either is 0, or if there are too few operations: five must
    /// lie beyond a percentile.
    pub ratio: Option<Interval>,
    /// What its interval says.
    pub verdict: ReplayVerdict,
}

/// What a quotient and its interval say. A higher rate is faster; a longer latency is slower; the depth is judged as a
/// latency is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayVerdict {
    /// It is the same within 5%: so is its whole interval.
    Same,
    /// It is slower: the interval lies on that side of 1, and the quotient itself is further away than 5%.
    Slower,
    /// It is faster likewise.
    Faster,
    /// The interval is too wide to say.
    NotDecided,
}
