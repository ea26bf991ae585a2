//! Defines what an application asked of its files, operation by operation, so that it can be asked again elsewhere.
//!
//! It holds no data and, unless asked for, no names of files. Times are of the traced slices: what happened between them is
//! not known, and whoever asks again ([`Captured::scripts`]) takes one slice after the other as if nothing lay between.

use halfpower_spec::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AwaitedSync, CapturedProcessors, OperationKind};

/// What an application asked of its files over a time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Captured {
    /// The program that asked, without its arguments.
    pub subject: String,
    /// Where this comes from.
    pub source: CaptureSource,
    /// When it began, in milliseconds of Unix time.
    pub started_unix_ms: u64,
    /// Length of each slice that was seen whole, in nanoseconds, in order of time.
    pub slices: Vec<u64>,
    /// Operations that are not here, because there are too many, or because their file or place was not known.
    pub left_out: u64,
    /// Operations here that were in progress when their slice ended: one stands in for how long each took.
    #[serde(default)]
    pub cut: u64,
    /// The files that were used.
    pub files: Vec<CapturedFile>,
    /// Number of lanes: whoever has one operation in progress at a time, such as a thread that waits for each of its calls.
    /// A thread with several in progress at once has as many lanes.
    pub lanes: u32,
    /// The operations, by slice and then by their beginning.
    pub operations: Vec<CapturedOperation>,
    /// The pauses, or parts of them, in which a lane waited for a sync by another one, likewise; empty if that was not seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<AwaitedSync>,
    /// Threads that asked; 0 if that is not known.
    #[serde(default)]
    pub threads: u32,
    /// What processors did meanwhile; `None` if that was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<CapturedProcessors>,
}

/// Where a capture comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaptureSource {
    /// `halfpower watch`.
    #[default]
    Watch,
    /// The output of `strace`.
    Strace,
    /// The output of `blkparse`: requests of the block layer, beneath the page cache and the file system.
    Blkparse,
    /// Logs of fio.
    FioLog,
    /// A capture that was asked again on a real target.
    Replay,
    /// A capture that was asked again of a model, in virtual time.
    Prediction,
}

/// A file, or a device, that operations go to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CapturedFile {
    /// Its size in bytes when its first operation began, as far as known: at least up to where it was read.
    pub bytes: u64,
    /// Whether operations pass the page cache by (`O_DIRECT`).
    pub direct: bool,
    /// Its name, if names were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub struct CapturedOperation {
    /// The slice that it began in.
    pub slice: u32,
    /// Whose it is, below [`Captured::lanes`].
    pub lane: u32,
    /// When it began, in nanoseconds after its slice.
    pub at_ns: u64,
    /// How long it took, in nanoseconds; of one that its slice cut, how long another like it took that was not over then.
    pub took_ns: u64,
    /// What it does.
    pub kind: OperationKind,
    /// Index of its file.
    pub file: u32,
    /// Where it begins in its file, in bytes; 0 for a sync.
    pub offset: u64,
    /// Bytes that it moves; 0 for a sync.
    pub bytes: u64,
    /// Whether it needed no disk: found in, or left in, the page cache.
    pub cached: bool,
}

/// An operation as its numbers, which take a quarter of the room that names would.
type Row = (u32, u32, u64, u64, OperationKind, u32, u64, u64, bool);

impl From<Row> for CapturedOperation {
    fn from((slice, lane, at_ns, took_ns, kind, file, offset, bytes, cached): Row) -> Self {
        Self { slice, lane, at_ns, took_ns, kind, file, offset, bytes, cached }
    }
}

impl From<CapturedOperation> for Row {
    fn from(operation: CapturedOperation) -> Self {
        let CapturedOperation { slice, lane, at_ns, took_ns, kind, file, offset, bytes, cached } = operation;
        (slice, lane, at_ns, took_ns, kind, file, offset, bytes, cached)
    }
}

/// What one lane does, one after the other; after its last step it begins again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// The steps.
    pub steps: Vec<ScriptStep>,
    /// Time from the end of the last step to the end of the last slice, in nanoseconds.
    pub then_ns: u64,
}

/// A pause and an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptStep {
    /// When it began, in nanoseconds after the first slice, as if the slices followed each other.
    pub due_ns: u64,
    /// Time that its lane had no operation in progress before it, in nanoseconds: it computed, waited for others, or for work.
    pub think_ns: u64,
    /// Index into [`Captured::operations`].
    pub operation: usize,
}

impl Captured {
    /// Time that was seen, in nanoseconds: the slices together.
    pub fn span_ns(&self) -> u64 {
        self.slices.iter().sum()
    }

    /// When each slice begins as if they followed each other, in nanoseconds after the first.
    pub fn begins_ns(&self) -> Vec<u64> {
        let begins = self.slices.iter().scan(0_u64, |whole, slice| {
            *whole += slice;
            Some(*whole - slice)
        });
        begins.collect()
    }

    /// Whether it writes anything.
    pub fn writes(&self) -> bool {
        let writes = |kind| matches!(kind, OperationKind::Write | OperationKind::DurableWrite);
        self.operations.iter().any(|operation| writes(operation.kind))
    }

    /// What each lane does, with the slices one after the other. A lane that did nothing has no steps.
    pub fn scripts(&self) -> Vec<Script> {
        let begins = self.begins_ns();
        let whole = self.span_ns();
        let mut scripts = vec![Script::default(); self.lanes as usize];
        let mut free_ns = vec![0_u64; self.lanes as usize];
        for (index, operation) in self.operations.iter().enumerate() {
            let due_ns = begins[operation.slice as usize] + operation.at_ns;
            let lane = operation.lane as usize;
            let think_ns = due_ns.saturating_sub(free_ns[lane]);
            scripts[lane].steps.push(ScriptStep { due_ns, think_ns, operation: index });
            free_ns[lane] = free_ns[lane].max(due_ns + operation.took_ns);
        }
        for (script, free_ns) in scripts.iter_mut().zip(free_ns) {
            script.then_ns = whole.saturating_sub(free_ns);
        }
        scripts
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two lanes over two slices of a millisecond.
    pub(crate) fn captured() -> Captured {
        let operation = |slice, lane, at_ns, took_ns, kind, offset, bytes| CapturedOperation {
            slice,
            lane,
            at_ns,
            took_ns,
            kind,
            file: 0,
            offset,
            bytes,
            cached: false,
        };
        Captured {
            subject: "postgres".to_string(),
            slices: vec![1_000_000, 1_000_000],
            files: vec![CapturedFile { bytes: 1 << 20, direct: false, name: None }],
            lanes: 2,
            operations: vec![
                operation(0, 0, 100_000, 200_000, OperationKind::Write, 8192, 8192),
                operation(0, 0, 300_000, 400_000, OperationKind::Fdatasync, 0, 0),
                operation(0, 1, 500_000, 50_000, OperationKind::Read, 0, 4096),
                operation(1, 0, 250_000, 100_000, OperationKind::Write, 16384, 8192),
            ],
            ..Captured::default()
        }
    }

    #[test]
    fn slices_follow_each_other_in_a_script() {
        let scripts = captured().scripts();
        let thinks = |lane: usize| scripts[lane].steps.iter().map(|step| step.think_ns).collect::<Vec<_>>();
        // The last write begins 300 us after the flush's end in its own slice, and 250 us after the next one's beginning.
        assert_eq!(thinks(0), [100_000, 0, 550_000]);
        assert_eq!(scripts[0].then_ns, 650_000);
        assert_eq!(thinks(1), [500_000]);
        assert_eq!(scripts[1].then_ns, 1_450_000);
        assert_eq!(scripts[0].steps[2].due_ns, 1_250_000);
    }
}
