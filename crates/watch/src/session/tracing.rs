//! Takes the kernel's events in slices of time, and folds them.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use halfpower_os::OsError;
use halfpower_os::processor::charged_to_this_thread_ns;
use halfpower_os::trace::{EventCost, MissingEvent, WatchedEvents, Watcher};
use halfpower_record::{Captured, Latency, Unseen, WatchCost, Watched};

use super::clock::monotonic_ns;
use super::places::{Answers, Places};
use super::settings::Settings;
use super::slices::Slices;
use super::subject::Followed;
use crate::fold::{Fold, Sources};

/// A part of the kernel's events: the prefixes of their names, and what is unknown without them.
const PARTS: [(&str, &[&str], &str); 9] = [
    ("events of system calls", &["sys_"], "operations by these calls"),
    ("events of wake-ups", &["sched_waking"], "in a capture, which commits share a sync"),
    (
        "events of the scheduler",
        &["sched_switch", "sched_wakeup"],
        "how long operations ran, and waited for a processor",
    ),
    ("events of io_uring", &["io_uring_"], "which files io_uring reaches, its syncs, and what memory answers it"),
    ("events of the block layer", &["block_"], "some steps of requests: merges, splits, the scheduler's queue"),
    ("events of jbd2", &["jbd2_"], "how long syncs waited for the journal"),
    ("events of ext4", &["ext4_"], "syncs of files by others"),
    ("events of writeback", &["balance_"], "how long writers were throttled"),
    ("events of page faults and read-ahead", &["mm_", "page_"], "which reads of mappings are of files"),
];

/// Processor time that it takes to take all probes away and put them back, before it was measured.
const ARMING_NS: u64 = 6_000_000;

/// The kernel's events of a watch.
#[derive(Debug)]
pub(crate) struct Tracing {
    watcher: Option<Watcher>,
    /// Why there is none.
    why_not: Option<String>,
    missing: Vec<MissingEvent>,
    fold: Fold,
    /// Whether the operations themselves are kept.
    records: bool,
    slices: Slices,
    is_on: bool,
    /// Processor time that it took last to take them away, and to put them back.
    arming_ns: [u64; 2],
    /// When the present slice began, and its events.
    slice_began_ns: u64,
    slice_events: u64,
    /// What recording events cost others, and what probes did in pauses.
    recording_ns: u64,
    threads: BTreeSet<u32>,
    /// The disks and volumes that were asked for.
    asked: BTreeSet<String>,
    /// Up to when events were taken.
    taken_to_ns: u64,
    events: u64,
    lost: u64,
}

impl Tracing {
    pub(crate) fn new(settings: &Settings, now_ns: u64) -> Self {
        let mut fold = Fold::new(now_ns, Sources::default());
        if let Some(recording) = settings.record {
            fold.record(recording);
        }
        Self {
            watcher: None,
            why_not: (!settings.trace).then(|| "it was not asked for".to_string()),
            missing: Vec::new(),
            fold,
            records: settings.record.is_some(),
            slices: Slices::new(settings.most_cost, now_ns),
            is_on: false,
            arming_ns: [ARMING_NS / 2; 2],
            slice_began_ns: now_ns,
            slice_events: 0,
            recording_ns: 0,
            threads: BTreeSet::new(),
            asked: BTreeSet::new(),
            taken_to_ns: now_ns,
            events: 0,
            lost: 0,
        }
    }

    /// Whether a control group limits the subject's requests.
    pub(crate) fn limited(&mut self, limited: bool) {
        self.fold.limited(limited);
    }

    /// Attaches to the subject's threads and disks; if that cannot be, it is told by [`Self::unseen`].
    pub(crate) fn attach(&mut self, places: &mut Places, followed: &Followed) {
        let devices = places.devices();
        let names: Vec<&str> = devices.iter().map(String::as_str).collect();
        let threads = followed.threads();
        match Watcher::new(&names, &threads) {
            Ok(mut watcher) => {
                if self.records {
                    watcher.record_wakers();
                }
                self.missing = watcher.missing().to_vec();
                self.fold.disks(watcher.disks());
                places.name(self.fold.disk_names());
                let has = |event: &str| self.missing.iter().all(|missing| missing.event != event);
                let sources = Sources {
                    scheduler: has("sched_switch"),
                    faults: has("mm_filemap_fault"),
                    rings: has("io_uring_submit_req") && has("io_uring_complete"),
                };
                self.fold.sources(sources);
                self.watcher = Some(watcher);
                self.switch_on();
            }
            Err(error) => self.why_not = Some(error.to_string()),
        }
        self.threads = threads.into_iter().collect();
        self.asked = devices.into_iter().collect();
    }

    /// Follows the threads that are there now; disks that are new take a new beginning.
    pub(crate) fn follow(&mut self, places: &mut Places, followed: &mut Followed) -> Result<(), OsError> {
        if self.watcher.is_none() {
            return Ok(());
        }
        if places.devices().iter().any(|device| !self.asked.contains(device)) {
            let folder = followed.folder().to_path_buf();
            let mut answers = Answers { folder: &folder, followed: &mut *followed, places: &mut *places };
            self.take(&mut answers, true)?;
            self.watcher = None;
            self.attach(places, followed);
            return Ok(());
        }
        self.follow_threads(followed)
    }

    fn follow_threads(&mut self, followed: &Followed) -> Result<(), OsError> {
        let threads: BTreeSet<u32> = followed.threads().into_iter().collect();
        if let Some(watcher) = self.watcher.as_mut().filter(|_| threads != self.threads) {
            let listed: Vec<u32> = threads.iter().copied().collect();
            watcher.follow(&listed)?;
            self.threads = threads;
        }
        Ok(())
    }

    fn event_cost(&self) -> EventCost {
        self.watcher.as_ref().map_or(EventCost::USUAL, Watcher::event_cost)
    }

    /// A pause has ended. While the kernel has no list of threads it adds none that they start, so they are looked for.
    fn resume(&mut self, followed: &mut Followed) -> Result<(), OsError> {
        let before_ns = charged_to_this_thread_ns();
        let were_away = self.watcher.as_ref().is_some_and(|watcher| !watcher.is_armed());
        if were_away {
            followed.scan();
            self.follow_threads(followed)?;
        }
        self.switch_on();
        if were_away {
            self.arming_ns[1] = charged_to_this_thread_ns().saturating_sub(before_ns);
        }
        Ok(())
    }

    fn switch_on(&mut self) {
        let armed = self.arm(true);
        let Some(watcher) = &self.watcher else { return };
        if let Err(error) = armed.and_then(|()| watcher.switch(true)) {
            self.why_not = Some(format!("tracing cannot be switched on ({error})"));
            self.watcher = None;
            return;
        }
        let now_ns = monotonic_ns();
        self.fold.begin_slice(now_ns);
        self.slices.begins(now_ns);
        self.taken_to_ns = now_ns;
        self.slice_began_ns = now_ns;
        self.slice_events = 0;
        self.is_on = true;
    }

    /// Takes the probes of all events away, or puts them back where they are not; measures what that takes.
    fn arm(&mut self, armed: bool) -> io::Result<()> {
        let Some(watcher) = self.watcher.as_mut().filter(|watcher| watcher.is_armed() != armed) else { return Ok(()) };
        let before_ns = charged_to_this_thread_ns();
        watcher.arm(armed)?;
        self.arming_ns[usize::from(armed)] = charged_to_this_thread_ns().saturating_sub(before_ns);
        Ok(())
    }

    /// A pause has begun: either the probes go until it ends, or they stay and take time of others, whichever is less.
    /// Gives what that costs.
    ///
    /// # Errors
    /// If the probes cannot be taken away.
    fn pause(&mut self, now_ns: u64) -> Result<u64, OsError> {
        let slice_ns = now_ns.saturating_sub(self.slice_began_ns);
        // As many events as the slice had, for as much longer as the pause is.
        let of_the_slice_ns = (self.slice_events * self.event_cost().probed_ns) as f64;
        let probed_ns = (of_the_slice_ns * self.slices.pause_ns() as f64 / slice_ns.max(1) as f64) as u64;
        let arming_ns = self.arming_ns.iter().sum();
        if probed_ns <= arming_ns {
            self.recording_ns += probed_ns;
            return Ok(probed_ns);
        }
        let disarmed = self.arm(false);
        disarmed.map_err(|error| OsError::Tracing { why: format!("its events cannot be switched off ({error})") })?;
        Ok(arming_ns)
    }

    /// How long until tracing is switched on or off; `None` if it stays as it is.
    pub(crate) fn turns_in(&self, now_ns: u64) -> Option<Duration> {
        self.watcher.as_ref()?;
        let turn_ns = if self.is_on { self.slices.ends_ns()? } else { self.slices.begins_ns() };
        Some(Duration::from_nanos(turn_ns.saturating_sub(now_ns)))
    }

    /// Whether operations are traced at all.
    pub(crate) fn is_available(&self) -> bool {
        self.watcher.is_some()
    }

    /// Until when tracing goes on; `None` if it is off.
    pub(crate) fn goes_on_until(&self) -> Option<u64> {
        self.is_on.then(|| self.slices.ends_ns().unwrap_or(u64::MAX))
    }

    /// Latencies of the reads, and of the syncs, that ended in a second of the watch.
    pub(crate) fn latencies_of(&self, second: u64) -> [Latency; 2] {
        self.fold.latencies_of(second)
    }

    /// So many bytes were moved by the subject and by others, as counters tell.
    pub(crate) fn counted(&mut self, at_ns: u64, own: u64, others: u64) {
        self.fold.counted(at_ns, own, others);
    }

    /// Takes what happened since the last time, and switches tracing on or off where it is time for that.
    ///
    /// # Errors
    /// If a buffer cannot be read.
    pub(crate) fn take(&mut self, answers: &mut Answers, is_last: bool) -> Result<(), OsError> {
        let now_ns = monotonic_ns();
        let ends = is_last || self.slices.ends_ns().is_some_and(|ends_ns| now_ns >= ends_ns);
        if !self.is_on {
            if !is_last && now_ns >= self.slices.begins_ns() {
                self.resume(answers.followed)?;
            }
            return Ok(());
        }
        let Some(watcher) = self.watcher.as_mut() else { return Ok(()) };
        let before_ns = charged_to_this_thread_ns();
        if ends {
            let switched = watcher.switch(false);
            switched.map_err(|error| OsError::Tracing { why: format!("it cannot be switched off ({error})") })?;
        }
        let now_ns = monotonic_ns();
        let WatchedEvents { events, lost } = watcher.drain()?;
        self.fold.take(&events, answers);
        if lost > 0 {
            self.fold.lost(now_ns);
        }
        self.fold.reach(now_ns);
        if ends {
            let cut_ns = self.fold.end_slice(now_ns);
            self.slices.pauses(now_ns, cut_ns);
            self.is_on = false;
        }
        let count = events.len() as u64;
        let recording_ns = count * self.event_cost().recorded_ns;
        self.slice_events += count;
        self.recording_ns += recording_ns;
        let mut spent_ns = charged_to_this_thread_ns().saturating_sub(before_ns) + recording_ns;
        if ends && !is_last {
            spent_ns += self.pause(now_ns)?;
        }
        self.slices.spent(now_ns.saturating_sub(self.taken_to_ns), spent_ns);
        self.taken_to_ns = now_ns;
        self.events += count;
        self.lost += lost;
        Ok(())
    }

    /// What events came to so far.
    pub(crate) fn watched(&self, now_ns: u64) -> Watched {
        self.fold.watched(now_ns)
    }

    /// The operations themselves, if they were to be kept.
    pub(crate) fn captured(&self) -> Option<Captured> {
        self.fold.captured()
    }

    /// What taking them cost others, and how many were lost.
    pub(crate) fn cost(&self) -> WatchCost {
        WatchCost { processor_ns: 0, events: self.events, recording_ns: self.recording_ns, lost_events: self.lost }
    }

    /// What of the kernel's events could not be taken.
    pub(crate) fn unseen(&self) -> Vec<Unseen> {
        if let Some(why) = &self.why_not {
            let without = "operations, their latencies, and where they wait: counters alone are told";
            return vec![unseen_of("the kernel's events", why, without)];
        }
        let of_part = |(source, prefixes, without): &(&str, &[&str], &str)| {
            let is_of_it = |missing: &&MissingEvent| prefixes.iter().any(|prefix| missing.event.starts_with(prefix));
            let missing: Vec<&MissingEvent> = self.missing.iter().filter(is_of_it).collect();
            let first = missing.first()?;
            let names: Vec<&str> = missing.iter().map(|missing| missing.event).collect();
            Some(unseen_of(&format!("{source} ({})", names.join(", ")), &first.why, without))
        };
        PARTS.iter().filter_map(of_part).collect()
    }
}

/// A source that could not be used.
pub(crate) fn unseen_of(source: &str, why: &str, without: &str) -> Unseen {
    Unseen { source: source.to_string(), why: why.to_string(), without: without.to_string() }
}
