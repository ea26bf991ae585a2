//! Lets processes agree on whether something went well on all of them, and open their windows together.

use std::rc::Rc;
use std::time::Duration;

use halfpower_measure::MeasureError;

use crate::failures::Failures;
use crate::tree::{bring_together, depth, tell};
use crate::{HostsError, Ranks, clocks};

/// Time from the agreement to the opening of the windows, and what each level of the tree adds: so long may the word take.
const LEAD_NS: i64 = 2_000_000;
const LEAD_NS_A_LEVEL: i64 = 500_000;

/// The processes as they know each other.
pub(crate) struct Crew {
    pub ranks: Rc<dyn Ranks>,
    /// For each process, the first one of the same computer.
    pub computers: Vec<u32>,
    /// What this process's computer is called.
    pub host: String,
}

/// When this process's window opened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Opened {
    /// On the clock of process 0, in nanoseconds of Unix time.
    pub unix_ns: i64,
    /// That is known to this, plus or minus.
    pub reach_ns: u64,
}

impl Crew {
    /// Whether all went well, from whether it did here.
    ///
    /// # Errors
    /// A sentence that names who failed and why, the same on all.
    pub fn agree(&self, own: Result<(), &MeasureError>) -> Result<(), MeasureError> {
        agree(self.ranks.as_ref(), &self.host, own)
    }

    /// This process's clock against that of process 0, once all are here.
    pub fn compare_clocks(&self) -> Result<halfpower_witness::ClockOffset, HostsError> {
        clocks::compare(self.ranks.as_ref())
    }

    /// Waits until all have come here, and then for an instant that all know; gives that of this process.
    ///
    /// # Errors
    /// Where a process is gone.
    pub fn open(&self, clock: halfpower_witness::ClockOffset) -> Result<Opened, HostsError> {
        let ranks = self.ranks.as_ref();
        let lead_ns = LEAD_NS + LEAD_NS_A_LEVEL * i64::from(depth(ranks.size()));
        let all = bring_together(ranks, (), |(), ()| ())?;
        let opening_ns: i64 = tell(ranks, all.map(|()| ranks.clock_unix_ns() + lead_ns))?;
        let here_ns = opening_ns.saturating_sub(clock.offset_ns);
        let left_ns = here_ns.saturating_sub(ranks.clock_unix_ns());
        // A clock that was set meanwhile must not stop the run.
        std::thread::sleep(Duration::from_nanos(left_ns.clamp(0, 2 * lead_ns) as u64));
        Ok(Opened { unix_ns: ranks.clock_unix_ns().saturating_add(clock.offset_ns), reach_ns: clock.reach_ns })
    }

    /// Whether this process is the first one of its computer among these.
    pub fn is_first_of_computer(&self, among: std::ops::Range<u32>) -> bool {
        let rank = self.ranks.rank();
        let own = self.computers[rank as usize];
        (among.start..rank).all(|other| self.computers[other as usize] != own)
    }
}

/// As [`Crew::agree`], among processes that do not know each other yet.
pub(crate) fn agree(ranks: &dyn Ranks, host: &str, own: Result<(), &MeasureError>) -> Result<(), MeasureError> {
    let own = own.err().map_or_else(Failures::default, |error| Failures::of(ranks.rank(), host, error));
    let all = bring_together(ranks, own, Failures::with)?;
    tell(ranks, all)?.outcome()
}
