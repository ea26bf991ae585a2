//! Plans `burst`: reads of the same few blocks, which no medium has to give, beside reads of new ones.

use halfpower_spec::{Bytes, Direction, Nanos, Pattern, Region, VolumeLayout, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

/// Block sizes and depths at which the same few blocks are read: the 2000 study's two, and a deeper one, since two
/// requests may be too few for the links of today.
const SHAPES: [(Bytes, u32); 3] = [(Bytes(64 << 10), 2), (Bytes(1 << 20), 2), (Bytes(1 << 20), 8)];
/// What is read again and again: so little that any cache holds it.
const FEW: Bytes = Bytes(128 << 10);
/// Block sizes at which a request's fixed time is told from the time of its bytes.
const SIZES: [Bytes; 5] = [Bytes(4 << 10), Bytes(8 << 10), Bytes(16 << 10), Bytes(32 << 10), Bytes(64 << 10)];
/// Block sizes of requests after a pause.
const AFTER_A_PAUSE: [Bytes; 2] = [Bytes(8 << 10), Bytes(64 << 10)];
/// Long enough for a drive to have read ahead.
const PAUSE: Nanos = Nanos(10_000_000);
/// Counts of members that are measured one by one; beyond it the powers of two, and all.
const ONE_BY_ONE: u32 = 4;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.capabilities().direct_unit.is_none() {
        return Err("without direct I/O it is the page cache that would answer, and neither controller nor link".into());
    }
    ask.capabilities().can("same blocks")?;
    let (span, needed) = (ask.capabilities().span, Bytes(1 << 20));
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
            // What the medium gives in the same way, for comparison.
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

/// The first `n` of `all` members, each on its own.
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
