//! Measures `burst`: rereads of the same few blocks, which need no medium.
//!
//! The plan: the same few blocks again and again, and reads of new blocks.

mod analysis;
pub(crate) mod words;

use halfpower_record::Ability;
use halfpower_spec::{Bytes, Direction, Nanos, Pattern, Region, VolumeLayout, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::BurstAnswer as Answer;
pub use analysis::*;

/// Block sizes and depths of the rereads: two of the 2000 study, and a deeper one because two requests may be too few
/// for today's links.
const SHAPES: [(Bytes, u32); 3] = [(Bytes(64 << 10), 2), (Bytes(1 << 20), 2), (Bytes(1 << 20), 8)];
/// Bytes that are reread: few enough for any cache.
const FEW: Bytes = Bytes(128 << 10);
/// Block sizes that separate a request's fixed time from its time per byte.
const SIZES: [Bytes; 5] = [Bytes(4 << 10), Bytes(8 << 10), Bytes(16 << 10), Bytes(32 << 10), Bytes(64 << 10)];
/// Block sizes of requests after a pause.
const AFTER_A_PAUSE: [Bytes; 2] = [Bytes(8 << 10), Bytes(64 << 10)];
/// Pause long enough for a drive to read ahead.
const PAUSE: Nanos = Nanos(10_000_000);
/// Every count of members up to this one is measured; above it, powers of two and all members.
const ONE_BY_ONE: u32 = 4;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.capabilities().direct_unit.is_none() {
        return Err("without direct I/O it is the page cache that would answer, and neither controller nor link".into());
    }
    ask.capabilities().can(&Ability::SameBlocks)?;
    let span = ask.capabilities().span;
    let needed = Bytes(1 << 20);
    if span.0 < needed.0 {
        return Err(format!("the target holds {span}, and blocks of {needed} are wanted"));
    }
    let all = ask.capabilities().members.max(1);
    let mut cells = Vec::new();
    let mut add = |pattern, (bs, iodepth): (Bytes, u32), options: WorkloadOptions| {
        cells.push(PlannedCell::plain(Workload {
            threads: 1,
            options,
            ..ask.workload(pattern, Direction::Read, bs, iodepth)
        }));
    };
    for n in (1..=all).filter(|n| *n <= ONE_BY_ONE || n.is_power_of_two() || *n == all) {
        for shape in SHAPES {
            let options = together(n, all);
            add(Pattern::Sequential, shape, WorkloadOptions { region: few(shape.0), ..options });
            // The medium's rate with the same settings, for comparison.
            if n == 1 || n == all {
                add(Pattern::Sequential, shape, options);
            }
        }
    }
    let one = together(1, all);
    for bs in SIZES {
        add(Pattern::Sequential, (bs, 1), WorkloadOptions { region: block(bs), ..one });
    }
    for bs in AFTER_A_PAUSE {
        let pausing = WorkloadOptions { thinktime: PAUSE, ..one };
        add(Pattern::Sequential, (bs, 1), WorkloadOptions { region: block(bs), ..pausing });
        add(Pattern::Sequential, (bs, 1), pausing);
        add(Pattern::Random, (bs, 1), pausing);
    }
    Ok(Plan::of(cells))
}

/// The first `n` of `all` members, each driven separately.
fn together(n: u32, all: u32) -> WorkloadOptions {
    let members = if all == 1 { 0 } else { n };
    WorkloadOptions { members, volume_layout: (n > 1).then_some(VolumeLayout::Each), ..WorkloadOptions::default() }
}

fn few(bs: Bytes) -> Option<Region> {
    block(Bytes(bs.0.max(FEW.0)))
}

fn block(bytes: Bytes) -> Option<Region> {
    Some(Region { from: Bytes(0), bytes })
}
