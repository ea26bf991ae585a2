//! Measures `scaling`: the throughput that each further member adds.
//!
//! The plan: one member, two and more, driven separately and as a stripe.

mod analysis;
pub(crate) mod words;

use halfpower_spec::{Bytes, Direction, Pattern, VolumeLayout, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell, several_members};

pub use analysis::ScalingAnswer as Answer;
pub use analysis::*;

/// Sequential block size of both papers, and the stripe's chunk.
const SEQUENTIAL_BLOCK: Bytes = Bytes(64 << 10);
/// Random block size of both papers.
const RANDOM_BLOCK: Bytes = Bytes(8 << 10);
/// Requests outstanding per member, enough to keep all members of a stripe busy nearly all the time.
const SEQUENTIAL_DEPTH: u32 = 8;
const RANDOM_DEPTH: u32 = 16;
/// Every count of members up to this one is measured; above it, powers of two and all members.
const ONE_BY_ONE: u32 = 6;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    several_members(ask, "nothing can be added to a single member")?;
    let members = ask.capabilities().members;
    let counts = (1..=members).filter(|n| *n <= ONE_BY_ONE || n.is_power_of_two() || *n == members);
    let mut cells = Vec::new();
    for n in counts {
        let ways: &[Option<VolumeLayout>] =
            if n == 1 { &[None] } else { &[Some(VolumeLayout::Each), Some(VolumeLayout::Stripe)] };
        for (volume_layout, direction) in
            ways.iter().flat_map(|volume_layout| Direction::ALL.iter().map(|direction| (*volume_layout, *direction)))
        {
            for (pattern, bs, depth) in [
                (Pattern::Sequential, SEQUENTIAL_BLOCK, SEQUENTIAL_DEPTH),
                (Pattern::Random, RANDOM_BLOCK, RANDOM_DEPTH),
            ] {
                // Separate lanes have a depth each; a stripe is one target, as deep as all of them together.
                let iodepth = if volume_layout == Some(VolumeLayout::Stripe) { depth * n } else { depth };
                let options = WorkloadOptions { members: n, volume_layout, ..WorkloadOptions::default() };
                cells.push(PlannedCell::plain(Workload { options, ..ask.workload(pattern, direction, bs, iodepth) }));
            }
        }
    }
    Ok(Plan::of(cells))
}
