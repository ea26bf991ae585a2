//! `mirror`: what do two copies give, against a stripe of the same two members and against one of them?

use record::TargetKind;
use spec::{Bytes, Direction, Join, Pattern, Twist, Workload};

use super::{Ask, Cell, several_members};

const SEQUENTIAL_BLOCK: Bytes = Bytes(64 << 10);
const RANDOM_BLOCK: Bytes = Bytes(8 << 10);
/// 64 KiB to 1 MiB outstanding: the mirror's rule turns at 256 KiB.
const SEQUENTIAL_DEPTHS: [u32; 5] = [1, 2, 4, 8, 16];
const RANDOM_DEPTHS: [u32; 4] = [1, 2, 8, 32];
/// Requests outstanding of writes.
const WRITE_DEPTH: u32 = 8;

pub(super) fn plan(ask: &Ask) -> Result<Vec<Cell>, String> {
    several_members(ask, "two copies need two members")?;
    ask.surroundings().can("copies")?;
    let one = Twist { members: 1, ..Twist::default() };
    let two = |join| Twist { members: 2, join: Some(join), ..Twist::default() };
    let mut cells = Vec::new();
    for twist in [one, two(Join::Stripe), two(Join::Mirror)] {
        let mut add = |pattern, direction, bs, depth| {
            cells.push(Cell::plain(Workload { twist, ..ask.workload(pattern, direction, bs, depth) }));
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
    if ask.surroundings().kind != TargetKind::Simulated {
        let writing = ask.workload(Pattern::Random, Direction::Write, RANDOM_BLOCK, WRITE_DEPTH);
        let twist = Twist { verify: true, ..two(Join::Mirror) };
        cells.push(Cell { repeats: Some(1), ..Cell::plain(Workload { twist, ..writing }) });
    }
    Ok(cells)
}
