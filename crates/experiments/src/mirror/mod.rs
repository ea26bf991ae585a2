//! Measures `mirror`: two copies compared with a stripe and with one member.
//!
//! The plan: reads and writes of two copies, of a stripe of the same two members, and of one of them.

mod analysis;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{Bytes, Direction, Pattern, VolumeLayout, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell, several_members};

pub use analysis::MirrorAnswer as Answer;
pub use analysis::*;

const SEQUENTIAL_BLOCK: Bytes = Bytes(64 << 10);
const RANDOM_BLOCK: Bytes = Bytes(8 << 10);
/// 64 KiB to 1 MiB outstanding: the rule by which a mirror picks a member changes at 256 KiB.
const SEQUENTIAL_DEPTHS: [u32; 5] = [1, 2, 4, 8, 16];
const RANDOM_DEPTHS: [u32; 4] = [1, 2, 8, 32];
/// Depth of writes.
const WRITE_DEPTH: u32 = 8;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    several_members(ask, "two copies need two members")?;
    ask.capabilities().can(&Ability::Copies)?;
    let one = WorkloadOptions { members: 1, ..WorkloadOptions::default() };
    let two = |volume_layout| WorkloadOptions {
        members: 2,
        volume_layout: Some(volume_layout),
        ..WorkloadOptions::default()
    };
    let mut cells = Vec::new();
    for options in [one, two(VolumeLayout::Stripe), two(VolumeLayout::Mirror)] {
        let mut add = |pattern, direction, bs, depth| {
            cells.push(PlannedCell::plain(Workload { options, ..ask.workload(pattern, direction, bs, depth) }));
        };
        for depth in SEQUENTIAL_DEPTHS {
            add(Pattern::Sequential, Direction::Read, SEQUENTIAL_BLOCK, depth);
        }
        for depth in RANDOM_DEPTHS {
            add(Pattern::Random, Direction::Read, RANDOM_BLOCK, depth);
        }
        add(Pattern::Sequential, Direction::Write, SEQUENTIAL_BLOCK, WRITE_DEPTH);
        add(Pattern::Random, Direction::Write, RANDOM_BLOCK, WRITE_DEPTH);
    }
    if ask.capabilities().kind != TargetKind::Simulated {
        let writing = ask.workload(Pattern::Random, Direction::Write, RANDOM_BLOCK, WRITE_DEPTH);
        let options = WorkloadOptions { verify: true, ..two(VolumeLayout::Mirror) };
        cells.push(PlannedCell { repeats: Some(1), ..PlannedCell::plain(Workload { options, ..writing }) });
    }
    Ok(Plan::of(cells))
}
