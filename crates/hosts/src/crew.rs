//! Lets processes agree on whether a step succeeded on all of them, compare their clocks, and open their windows
//! together.

use std::rc::Rc;
use std::time::{Duration, Instant};

use halfpower_measure::MeasureError;
use halfpower_witness::ClockOffset;

use crate::failures::Failures;
use crate::tree::{above, below, bring_together, depth, tell};
use crate::{HostsError, Ranks};

/// Time from the agreement to the opening of the windows, and what each level of the tree adds, so that the message
/// with the opening time reaches all processes before it.
const LEAD_NS: i64 = 2_000_000;
const LEAD_NS_A_LEVEL: i64 = 500_000;
/// Number of round trips to try; the shortest one counts.
const ROUND_TRIPS: usize = 4;

/// The processes of the study, as one of them sees them.
pub(crate) struct Crew {
    pub ranks: Rc<dyn Ranks>,
    /// For each process, the lowest rank on the same computer.
    pub computers: Vec<u32>,
    /// The host name of this process's computer.
    pub host: String,
}

/// When this process's window opened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Opened {
    /// On the clock of process 0, in nanoseconds of Unix time.
    pub unix_ns: i64,
    /// Uncertainty of that time, plus or minus, in nanoseconds.
    pub reach_ns: u64,
}

impl Crew {
    /// Succeeds if the step succeeded on all processes; `own` is the outcome here.
    ///
    /// # Errors
    /// A sentence that names which processes failed and why, the same on all.
    pub fn agree(&self, own: Result<(), &MeasureError>) -> Result<(), MeasureError> {
        agree(self.ranks.as_ref(), &self.host, own)
    }

    /// Compares this process's clock with that of process 0; waits until all processes take part.
    pub fn compare_clocks(&self) -> Result<ClockOffset, HostsError> {
        compare(self.ranks.as_ref())
    }

    /// Waits for all processes, then until an instant that they agreed on; returns when this process's window opened.
    ///
    /// # Errors
    /// If a process is gone.
    pub fn open(&self, clock: ClockOffset) -> Result<Opened, HostsError> {
        let ranks = self.ranks.as_ref();
        let lead_ns = LEAD_NS + LEAD_NS_A_LEVEL * i64::from(depth(ranks.size()));
        let all = bring_together(ranks, (), |(), ()| ())?;
        let opening_ns: i64 = tell(ranks, all.map(|()| ranks.clock_unix_ns() + lead_ns))?;
        let here_ns = opening_ns.saturating_sub(clock.offset_ns);
        let left_ns = here_ns.saturating_sub(ranks.clock_unix_ns());
        // If somebody set the clock meanwhile, the wait must still end.
        std::thread::sleep(Duration::from_nanos(left_ns.clamp(0, 2 * lead_ns) as u64));
        Ok(Opened { unix_ns: ranks.clock_unix_ns().saturating_add(clock.offset_ns), reach_ns: clock.reach_ns })
    }

    /// Whether this process has the lowest rank of its computer among these ranks.
    pub fn is_first_of_computer(&self, among: std::ops::Range<u32>) -> bool {
        let rank = self.ranks.rank();
        let own = self.computers[rank as usize];
        (among.start..rank).all(|other| self.computers[other as usize] != own)
    }
}

/// Like [`Crew::agree`], for processes that have not met yet.
pub(crate) fn agree(ranks: &dyn Ranks, host: &str, own: Result<(), &MeasureError>) -> Result<(), MeasureError> {
    let own = own.err().map_or_else(Failures::default, |error| Failures::of(ranks.rank(), host, error));
    let all = bring_together(ranks, own, Failures::with)?;
    tell(ranks, all)?.outcome()
}

/// How far the clock of process 0 is ahead of this process's.
///
/// Each process compares its clock with that of its parent in the tree and adds the parent's offset. The uncertainties
/// add up too.
///
/// # Errors
/// If a process is gone.
fn compare(ranks: &dyn Ranks) -> Result<ClockOffset, HostsError> {
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
