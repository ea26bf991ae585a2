//! Plans `scaling`: one member, two and more, each on its own and as a stripe.

use halfpower_spec::{Bytes, Direction, Pattern, VolumeLayout, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell, several_members};

/// Both studies' unit: what a stripe lays on one member.
const SEQUENTIAL_BLOCK: Bytes = Bytes(64 << 10);
/// Both studies' random request.
const RANDOM_BLOCK: Bytes = Bytes(8 << 10);
/// Requests outstanding for each member: enough for all members of a stripe to be busy nearly all the time.
const SEQUENTIAL_DEPTH: u32 = 8;
const RANDOM_DEPTH: u32 = 16;
/// Counts of members that are measured one by one; beyond it each second power of two, and all.
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
                // Lanes of their own have a depth of their own; a stripe is one target, as deep as all of them.
                let iodepth = if volume_layout == Some(VolumeLayout::Stripe) { depth * n } else { depth };
                let options = WorkloadOptions { members: n, volume_layout, ..WorkloadOptions::default() };
                cells.push(PlannedCell::plain(Workload { options, ..ask.workload(pattern, direction, bs, iodepth) }));
            }
        }
    }
    Ok(Plan::of(cells))
}
