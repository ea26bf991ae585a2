//! Measures `streams`: concurrent sequential streams, and one among random readers.

mod analysis;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{Bytes, Cache, Direction, Pattern, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::StreamsAnswer as Answer;
pub use analysis::*;

/// Block size of a stream.
const BLOCK: Bytes = Bytes(64 << 10);
/// Counts of concurrent streams.
const STREAMS: [u32; 5] = [1, 2, 4, 8, 16];
/// Direct requests in flight over all streams together, so that only their offsets differ.
const DEPTH: u32 = 16;
/// Counts of random readers beside one stream.
const READERS: [u32; 3] = [0, 1, 4];
/// Requests that the stream among random readers keeps in flight.
const DEPTH_AMONG_READERS: u32 = 4;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    ask.capabilities().can(&Ability::Streams)?;
    if ask.capabilities().kind == TargetKind::Nothing {
        return Err("there is no storage here that streams could share".to_string());
    }
    let most = u64::from(STREAMS[STREAMS.len() - 1]);
    let span = ask.capabilities().span;
    let needed = most * BLOCK.0;
    if span.0 < needed {
        return Err(format!("the target holds {span}, and {most} streams take {}", Bytes(needed)));
    }
    let reading = |cache: Cache, iodepth: u32, options: WorkloadOptions| {
        let usual = ask.workload(Pattern::Sequential, Direction::Read, BLOCK, iodepth);
        PlannedCell::plain(Workload { threads: 1, cache, options, ..usual })
    };
    let streams = |streams| WorkloadOptions { streams, ..WorkloadOptions::default() };
    let readers = |random_readers| WorkloadOptions { random_readers, ..WorkloadOptions::default() };
    let mut cells = Vec::new();
    if ask.capabilities().direct_unit.is_some() {
        cells.extend(STREAMS.map(|count| reading(Cache::Device, DEPTH, streams(count))));
        cells.extend(READERS.map(|count| reading(Cache::Device, DEPTH_AMONG_READERS, readers(count))));
    }
    if ask.page_cache().is_ok() {
        // At depth 1, as programs read: read-ahead is left to the kernel.
        cells.extend(STREAMS.map(|count| reading(Cache::Both, 1, streams(count))));
        cells.extend(READERS[1..].iter().map(|count| reading(Cache::Both, 1, readers(*count))));
    }
    Ok(Plan::of(cells))
}
