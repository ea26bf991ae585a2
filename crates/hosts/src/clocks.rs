//! Compares the clock of each process with that of process 0, by the round trips of messages.

use halfpower_witness::ClockOffset;
use std::time::Instant;

use crate::tree::{above, below};
use crate::{HostsError, Ranks};

/// Number of round trips to try; the shortest one counts.
const ROUND_TRIPS: usize = 4;

/// How far the clock of process 0 is ahead of this process's.
///
/// Each process compares its clock with that of its parent in the tree and adds the parent's offset. The uncertainties
/// add up too.
///
/// # Errors
/// If a process is gone.
pub(crate) fn compare(ranks: &dyn Ranks) -> Result<ClockOffset, HostsError> {
    let own = match above(ranks.rank()) {
        Some(above) => compare_with(ranks, above)?,
        None => ClockOffset { offset_ns: 0, reach_ns: 0 },
    };
    for below in below(ranks.rank(), ranks.size()) {
        for _ in 0..ROUND_TRIPS {
            ranks.receive(below)?;
            ranks.send(below, &ranks.clock_unix_ns().to_le_bytes())?;
        }
        ranks.send(below, &[own.offset_ns.to_le_bytes(), own.reach_ns.to_le_bytes()].concat())?;
    }
    Ok(own)
}

fn compare_with(ranks: &dyn Ranks, above: u32) -> Result<ClockOffset, HostsError> {
    let mut shortest: Option<ClockOffset> = None;
    for _ in 0..ROUND_TRIPS {
        let ours = ranks.clock_unix_ns();
        let began = Instant::now();
        ranks.send(above, &[])?;
        let theirs = i64::from_le_bytes(number(above, &ranks.receive(above)?)?);
        let trip = ClockOffset::of_round_trip(ours.max(0) as u64, theirs.max(0) as u64, began.elapsed());
        shortest = Some(shortest.map_or(trip, |known| known.better(trip)));
    }
    let step = shortest.expect("there is a round trip");
    let further = ranks.receive(above)?;
    let (offset, reach) = further.split_at(further.len() / 2);
    Ok(ClockOffset {
        offset_ns: step.offset_ns.saturating_add(i64::from_le_bytes(number(above, offset)?)),
        reach_ns: step.reach_ns.saturating_add(u64::from_le_bytes(number(above, reach)?)),
    })
}

fn number(rank: u32, bytes: &[u8]) -> Result<[u8; 8], HostsError> {
    bytes.try_into().map_err(|_| HostsError::Unread { rank, why: "it is no time".to_string() })
}
