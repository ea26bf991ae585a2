//! Sends a few single requests beside the application, if that was asked for, and ends that as soon as it disturbs.
//!
//! Every other second is without them, so that there is always something to compare with. None is sent while the application
//! is not traced: nobody would see what it does to the application.

mod requests;
mod rise;
mod sender;
mod target;

use std::path::Path;

use halfpower_record::{SafeProbe, Unseen};

use super::clock::monotonic_ns;
use super::places::Places;
use super::subject::Followed;
use super::tracing::{Tracing, unseen_of};
use requests::Requests;
use rise::Rise;
use sender::Sender;
use target::Target;

const SECOND_NS: u64 = 1_000_000_000;
/// A second is added up so long after its end: events are taken later than they happen.
const TAKEN_NS: u64 = 500_000_000;
/// The last request of a second is sent so long before its end at the latest.
const MARGIN_NS: u64 = 50_000_000;

/// What the probe reads, and the thread that does it.
#[derive(Debug)]
struct Begun {
    sender: Sender,
    place: usize,
    of_own_file: bool,
}

/// The probe of a watch.
#[derive(Debug)]
pub(crate) struct Probe {
    began_ns: u64,
    begun: Option<Begun>,
    /// Why it did not begin.
    why_not: Option<String>,
    rise: Rise,
    /// Seconds that were added up.
    added: u64,
    /// Seconds in which requests were sent, of those that were not added up yet.
    probed: Vec<u64>,
}

impl Probe {
    /// A probe of a watch that began at this time.
    pub(crate) fn new(began_ns: u64) -> Self {
        Self { began_ns, begun: None, why_not: None, rise: Rise::default(), added: 0, probed: Vec::new() }
    }

    /// Looks what became of it, and lets it go on for a while or ends it.
    pub(crate) fn step(&mut self, tracing: &Tracing, folder: &Path, followed: &Followed, places: &mut Places) {
        let now_ns = monotonic_ns();
        if self.why_not.is_some() || self.begun.as_ref().is_some_and(|begun| begun.sender.is_over()) {
            return;
        }
        let second = now_ns.saturating_sub(self.began_ns) / SECOND_NS;
        self.note(second);
        self.add_up(now_ns, tracing);
        let turn_ends_ns = self.began_ns + (second + 1) * SECOND_NS - MARGIN_NS;
        let Some(traced_ns) = tracing.goes_on_until().filter(|_| second % 2 == 1 && self.rise.is_known()) else {
            return;
        };
        if self.begun.is_none() {
            match Target::find(folder, followed, places, &tracing.watched(now_ns).operations) {
                Ok(target) => self.begun = Some(begun(target, now_ns)),
                Err(why) => self.why_not = Some(why),
            }
        }
        let Some(begun) = &self.begun else { return };
        match self.rise.stop(&self.so_far(second, tracing)) {
            Some(why) => begun.sender.stop(why),
            None => begun.sender.send_until(turn_ends_ns.min(traced_ns)),
        }
    }

    /// Notes in which second requests were sent. One is sent in the second of the step that let it, which has a margin.
    fn note(&mut self, second: u64) {
        let has_sent = self.begun.as_ref().is_some_and(|begun| begun.sender.has_sent());
        // Steps are shorter than a second, and the seconds of turns are odd.
        let of = if second % 2 == 1 { second } else { second.saturating_sub(1) };
        if has_sent && !self.probed.contains(&of) {
            self.probed.push(of);
        }
    }

    /// Adds up the seconds that are over, and of which all was taken.
    fn add_up(&mut self, now_ns: u64, tracing: &Tracing) {
        while self.began_ns + (self.added + 1) * SECOND_NS + TAKEN_NS <= now_ns {
            let second = self.added;
            let probed = self.probed.contains(&second);
            self.probed.retain(|probed| *probed > second);
            self.rise.add(probed, &tracing.latencies_of(second));
            self.added += 1;
        }
    }

    /// What probed seconds have that were not added up yet.
    fn so_far(&self, second: u64, tracing: &Tracing) -> rise::Seen {
        let mut all = rise::Seen::default();
        for probed in self.probed.iter().filter(|probed| **probed <= second) {
            all.iter_mut().zip(&tracing.latencies_of(*probed)).for_each(|(all, more)| all.merge(more));
        }
        all
    }

    /// What it gave so far; `None` if it did not begin.
    pub(crate) fn result(&self) -> Option<SafeProbe> {
        let Begun { sender, place, of_own_file } = self.begun.as_ref()?;
        let (requests, latency, stopped) = sender.told();
        Some(SafeProbe { place: *place, of_own_file: *of_own_file, requests, latency, stopped })
    }

    /// Why it did not begin; `None` if it did.
    pub(crate) fn unseen(&self, is_traced: bool) -> Option<Unseen> {
        if self.begun.is_some() {
            return None;
        }
        let why = match &self.why_not {
            Some(why) => why.as_str(),
            None if is_traced => "too few of its reads or syncs were seen for a rise of their latency to show",
            None => "operations are not traced, so a rise of their latency would not be seen",
        };
        Some(unseen_of("the probe (--probe)", why, "what one request alone takes"))
    }
}

fn begun(target: Target, now_ns: u64) -> Begun {
    let Target { reads, disks, place, of_own_file, sizes } = target;
    let requests = Requests::new(&sizes, reads.size_bytes(), now_ns);
    Begun { sender: Sender::start(reads, disks, requests), place, of_own_file }
}
