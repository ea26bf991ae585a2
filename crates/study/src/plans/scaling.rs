//! `scaling`: what does each added member bring, driven on its own and as a part of a stripe?

use spec::{Bytes, Direction, Join, Pattern, Twist, Workload};

use super::{Ask, Cell, several_members};

/// Both studies' unit: what a stripe lays on one member.
const SEQUENTIAL_BLOCK: Bytes = Bytes(64 << 10);
/// Both studies' random request.
const RANDOM_BLOCK: Bytes = Bytes(8 << 10);
/// Requests outstanding for each member: enough for all members of a stripe to be busy nearly all the time.
const SEQUENTIAL_DEPTH: u32 = 8;
const RANDOM_DEPTH: u32 = 16;
/// Counts of members that are measured one by one; beyond it each second power of two, and all.
const ONE_BY_ONE: u32 = 6;

pub(super) fn plan(ask: &Ask) -> Result<Vec<Cell>, String> {
    several_members(ask, "nothing can be added to a single member")?;
    let members = ask.surroundings().members;
    let counts = (1..=members).filter(|n| *n <= ONE_BY_ONE || n.is_power_of_two() || *n == members);
    let mut cells = Vec::new();
    for n in counts {
        let ways: &[Option<Join>] = if n == 1 { &[None] } else { &[Some(Join::Each), Some(Join::Stripe)] };
        for (join, direction) in ways.iter().flat_map(|join| Direction::ALL.iter().map(|direction| (*join, *direction)))
        {
            for (pattern, bs, depth) in [
                (Pattern::Sequential, SEQUENTIAL_BLOCK, SEQUENTIAL_DEPTH),
                (Pattern::Random, RANDOM_BLOCK, RANDOM_DEPTH),
            ] {
                // Lanes of their own have a depth of their own; a stripe is one target, as deep as all of them.
                let iodepth = if join == Some(Join::Stripe) { depth * n } else { depth };
                let twist = Twist { members: n, join, ..Twist::default() };
                cells.push(Cell::plain(Workload { twist, ..ask.workload(pattern, direction, bs, iodepth) }));
            }
        }
    }
    Ok(cells)
}
