//! Watches whether a target still answers, and says how long it may be silent before its run is given up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use halfpower_os::page_cache::written_back_pages;
use halfpower_spec::Nanos;
use halfpower_witness::DeviceCounters;

/// How long a target may be silent after the window before the run is given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// The longest that it may be.
    pub longest: Nanos,
    /// What shows that it answers, beside its completions.
    pub write_back: WriteBack,
}

/// Where it shows that the kernel writes back what a run has left in the page cache: a flush may be long, and is one request
/// with one completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteBack {
    /// Nowhere: the run leaves nothing that is written back.
    Nothing,
    /// In the sectors that devices of these kernel names have written. The rest of the machine may go on writing while they
    /// hang.
    Devices(Vec<String>),
    /// In the pages that the machine has written back: no device is known, or it counts nothing.
    Machine,
}

impl WriteBack {
    /// Where it shows of a run that `leaves_pages` for these devices; `None` stands for one that is not known.
    pub(crate) fn of(leaves_pages: bool, devices: &[Option<String>]) -> Self {
        if !leaves_pages {
            return Self::Nothing;
        }
        let known: Option<Vec<String>> = devices.iter().cloned().collect();
        let are_told = |devices: &Vec<String>| !devices.is_empty() && DeviceCounters::are_told(devices);
        known.filter(are_told).map_or(Self::Machine, Self::Devices)
    }

    /// What has been written back so far; it grows with that, in a unit of its own.
    pub(crate) fn so_far(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Devices(devices) => DeviceCounters::of(devices).written_sectors(),
            Self::Machine => written_back_pages(),
        }
    }
}

/// Watches a target from the end of the window on.
pub(crate) struct Watch<'a, W> {
    /// Grows whenever a lane gets completions.
    completions: &'a AtomicU64,
    longest: Duration,
    /// Gives what has been written back so far.
    written_back: W,
    /// The time of the last progress, but never before the window's end.
    last: Instant,
    seen: (u64, u64),
}

impl<'a, W: Fn() -> u64> Watch<'a, W> {
    /// Watches a target whose window of this length has just opened.
    pub(crate) fn new(completions: &'a AtomicU64, window: Nanos, longest: Nanos, written_back: W) -> Self {
        let in_days = Duration::from_secs(365 * 86_400);
        let window = Duration::from_nanos(window.0).min(in_days);
        let longest = Duration::from_nanos(longest.0);
        Self { completions, longest, written_back, last: Instant::now() + window, seen: (0, 0) }
    }

    /// Whether it has been silent for too long now.
    pub(crate) fn is_silent(&mut self, now: Instant) -> bool {
        if now < self.last {
            return false;
        }
        let seen = (self.completions.load(Ordering::Relaxed), (self.written_back)());
        if seen != self.seen {
            (self.seen, self.last) = (seen, now);
        }
        now - self.last > self.longest
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const LONGEST: Nanos = Nanos(3_000_000_000);

    /// After how many seconds a target is given up that completes nothing; `None` if not within a minute.
    fn given_up(written_back: impl Fn() -> u64) -> Option<u32> {
        let completions = AtomicU64::new(7);
        let mut watch = Watch::new(&completions, Nanos(0), LONGEST, written_back);
        let begun = Instant::now() + SECOND;
        (0..60).find(|seconds| watch.is_silent(begun + *seconds * SECOND))
    }

    #[test]
    fn a_target_that_completes_nothing_is_given_up_unless_it_is_written_to() {
        let pages = Cell::new(0);
        let growing = || {
            pages.set(pages.get() + 1);
            pages.get()
        };
        assert_eq!(given_up(growing), None, "a flush goes on");
        assert_eq!(given_up(|| 5), Some(4));
        let nothing = WriteBack::Nothing;
        assert_eq!(given_up(|| nothing.so_far()), Some(4));
        let gone = WriteBack::Devices(vec!["no-such-device".to_string()]);
        assert_eq!(given_up(|| gone.so_far()), Some(4), "others may go on writing");
    }

    #[test]
    fn completions_begin_the_silence_anew_and_none_begins_within_the_window() {
        let completions = AtomicU64::new(0);
        let opened = Instant::now();
        let mut watch = Watch::new(&completions, Nanos(20_000_000_000), LONGEST, || 0);
        assert!(!watch.is_silent(opened + 19 * SECOND));
        completions.store(1, Ordering::Relaxed);
        assert!(!watch.is_silent(opened + 30 * SECOND) && !watch.is_silent(opened + 33 * SECOND));
        completions.store(2, Ordering::Relaxed);
        assert!(!watch.is_silent(opened + 34 * SECOND) && !watch.is_silent(opened + 37 * SECOND));
        assert!(watch.is_silent(opened + 38 * SECOND));
    }

    #[test]
    fn what_is_written_back_is_looked_for_only_where_something_is() {
        let known = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let known = known
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .find(|name| DeviceCounters::are_told(std::slice::from_ref(name)));
        for devices in [vec![], vec![None], vec![known.clone(), None], vec![Some("no-such-device".to_string())]] {
            assert_eq!(WriteBack::of(false, &devices), WriteBack::Nothing);
            assert_eq!(WriteBack::of(true, &devices), WriteBack::Machine, "{devices:?}");
        }
        if let Some(known) = known {
            assert_eq!(WriteBack::of(true, &[Some(known.clone())]), WriteBack::Devices(vec![known]));
        }
    }
}
