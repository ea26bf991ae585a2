//! Watches a subject: attaches to it, takes what happens in slices of time, and reads counters beside.

mod clock;
mod counters;
mod neighbours;
mod places;
mod probe;
mod settings;
mod slices;
mod subject;
mod tracing;

pub use settings::Settings;
pub use subject::Asked;

use std::path::{Path, PathBuf};
use std::time::Duration;

use halfpower_os::processor;
use halfpower_record::{
    Captured, CapturedProcessors, DeviceUse, OtherUser, Unseen, WatchCost, Watched, WatchedProcessors,
};

use crate::WatchError;
use clock::{monotonic_ns, unix_ms};
use counters::{Counters, one_of_each_group};
use neighbours::Neighbours;
use places::{Answers, Places};
use probe::Probe;
use subject::Followed;
use tracing::{Tracing, unseen_of};

/// Waits and looks in between are never longer than this: a full buffer loses events.
const LONGEST: Duration = Duration::from_millis(100);
/// Time between two looks at processes and threads, in nanoseconds.
const SCAN_NS: u64 = 1_000_000_000;
/// Time between two looks at what others write.
const NEIGHBOURS_NS: u64 = 5_000_000_000;
/// Size of a sector in the counters of disks, whatever the device's own sector size is.
const SECTOR_BYTES: u64 = 512;
/// A look may cost one part in so many of the time until the next.
const SCAN_PART: u64 = 400;

/// Looks that are repeated, less often if they take long.
#[derive(Debug)]
struct Pace {
    least_ns: u64,
    due_ns: u64,
}

impl Pace {
    fn new(least_ns: u64, now_ns: u64) -> Self {
        Self { least_ns, due_ns: now_ns + least_ns }
    }

    /// A look began at this time and took so much processor time.
    fn looked(&mut self, at_ns: u64, spent_ns: u64) {
        self.due_ns = at_ns + self.least_ns.max(spent_ns.saturating_mul(SCAN_PART));
    }
}

/// A watch that goes on.
#[derive(Debug)]
pub struct Session {
    folder: PathBuf,
    asked: Asked,
    followed: Followed,
    places: Places,
    counters: Counters,
    neighbours: Neighbours,
    tracing: Tracing,
    probe: Option<Probe>,
    scans: Pace,
    others: Pace,
    began_ns: u64,
    started_unix_ms: u64,
    charged_before_ns: u64,
    lives: bool,
    /// Whether bytes are counted by counters: no events told them from the beginning.
    counts_bytes: bool,
    /// Bytes that were counted so, the subject's, and those of others on its disks.
    counted_bytes: [u64; 2],
    /// Whether the subject's could not be read.
    bytes_unseen: bool,
    /// Processors that the subject may run on, when it was looked at last; 0 if that is not known, or nobody asks.
    processors_allowed: u32,
    asks_processors: bool,
}

impl Session {
    /// Begins to watch. `root` is `/`; tests lay out `/proc` and `/sys` elsewhere.
    ///
    /// # Errors
    /// If there is nothing to watch. That the kernel's events cannot be taken is no error: see [`Watched::unseen`].
    pub fn begin(asked: &Asked, settings: &Settings, root: &Path) -> Result<Self, WatchError> {
        let charged_before_ns = charged_ns();
        let mut places = Places::new(root);
        if let Asked::Disk { asked, device } = asked {
            let disks = places.beneath(device);
            if disks.is_empty() {
                return Err(WatchError::NoDisk { asked: asked.clone() });
            }
            places.watch_only(disks);
        }
        let followed = Followed::new(root, asked);
        if !followed.lives() {
            let name = asked.asked().to_string();
            return Err(match asked {
                Asked::Group { .. } => WatchError::NoGroup { asked: name },
                Asked::Processes { .. } | Asked::Disk { .. } => WatchError::NoProcess { asked: name },
            });
        }
        if !matches!(asked, Asked::Disk { .. }) {
            followed.processes().for_each(|pid| places.look_at(pid));
        }
        let now_ns = monotonic_ns();
        let (whose, group) = match asked {
            Asked::Disk { .. } => (Vec::new(), None),
            Asked::Processes { .. } => (one_of_each_group(root, followed.processes()), None),
            Asked::Group { folder, .. } => (one_of_each_group(root, followed.processes()), Some(folder.as_path())),
        };
        let counters = Counters::begin(root, &places, whose, group, now_ns);
        let mut session = Self {
            folder: root.to_path_buf(),
            asked: asked.clone(),
            neighbours: Neighbours::new(root, &followed),
            followed,
            places,
            counters,
            tracing: Tracing::new(settings, now_ns),
            probe: settings.probe.then(|| Probe::new(now_ns)),
            scans: Pace::new(SCAN_NS, now_ns),
            others: Pace::new(NEIGHBOURS_NS, now_ns),
            began_ns: now_ns,
            started_unix_ms: unix_ms(),
            charged_before_ns,
            lives: true,
            counts_bytes: false,
            counted_bytes: [0; 2],
            bytes_unseen: false,
            processors_allowed: 0,
            // Everybody on a disk may run everywhere.
            asks_processors: settings.record.is_some() && !matches!(asked, Asked::Disk { .. }),
        };
        session.look_at_processors();
        session.tracing.limited(session.counters.limits_disks());
        if settings.trace {
            session.tracing.attach(&mut session.places, &session.followed);
        }
        session.counts_bytes = !session.tracing.is_available();
        Ok(session)
    }

    /// Waits at most this long, takes what happened; false once the subject has ended.
    ///
    /// # Errors
    /// If what the kernel recorded can no longer be read.
    pub fn step(&mut self, longest: Duration) -> Result<bool, WatchError> {
        let now_ns = monotonic_ns();
        let wait = longest.min(LONGEST);
        let wait = self.tracing.turns_in(now_ns).map_or(wait, |turn| turn.min(wait));
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
        self.take(false)?;
        if let Some(probe) = &mut self.probe {
            probe.step(&self.tracing, &self.folder, &self.followed, &mut self.places);
        }
        let now_ns = monotonic_ns();
        if now_ns >= self.scans.due_ns {
            self.scan(now_ns)?;
        }
        if now_ns >= self.others.due_ns {
            let before_ns = processor::charged_to_this_thread_ns();
            if !matches!(self.asked, Asked::Disk { .. }) {
                self.neighbours.scan(&self.followed);
            }
            self.others.looked(now_ns, processor::charged_to_this_thread_ns().saturating_sub(before_ns));
        }
        Ok(self.lives)
    }

    fn take(&mut self, is_last: bool) -> Result<(), WatchError> {
        let Self { folder, followed, places, tracing, asked, .. } = self;
        let mut answers = Answers { folder: folder.as_path(), followed, places };
        let taken = tracing.take(&mut answers, is_last);
        taken.map_err(|error| WatchError::Trace { asked: asked.asked().to_string(), error })
    }

    /// Looks at processes and threads anew, and at disks that they have come to.
    fn scan(&mut self, now_ns: u64) -> Result<(), WatchError> {
        let before_ns = processor::charged_to_this_thread_ns();
        self.followed.scan();
        self.lives = self.followed.lives();
        // Requests of io_uring may name no file that can be looked up: their disks are those of what is open.
        if self.places.disks().is_empty() {
            self.followed.processes().for_each(|pid| self.places.look_at(pid));
        }
        self.counters.watch_disks(&self.places.disks(), now_ns);
        self.counters.look_at_limits(&self.places, now_ns);
        self.look_at_processors();
        self.count_bytes(now_ns);
        let followed = self.tracing.follow(&mut self.places, &mut self.followed);
        self.scans.looked(now_ns, processor::charged_to_this_thread_ns().saturating_sub(before_ns));
        followed.map_err(|error| WatchError::Trace { asked: self.asked.asked().to_string(), error })
    }

    /// Looks which processors the subject may run on; once it has ended, nothing tells.
    fn look_at_processors(&mut self) {
        let allowed = if self.asks_processors { self.followed.processors_allowed() } else { 0 };
        if allowed > 0 {
            self.processors_allowed = allowed;
        }
    }

    /// Counts who moved how many bytes since the last look, where no events tell it.
    fn count_bytes(&mut self, now_ns: u64) {
        if !self.counts_bytes {
            return;
        }
        let everybody = self.counters.disks(now_ns).iter().map(DeviceUse::bytes).fold(0, u64::saturating_add);
        let own = match &self.asked {
            Asked::Disk { .. } => Some(everybody).filter(|_| self.counters.uncounted(now_ns).is_empty()),
            Asked::Processes { .. } | Asked::Group { .. } => self.followed.moved(),
        };
        let Some(own) = own else {
            self.bytes_unseen = true;
            return;
        };
        // The disks get later what the page cache takes.
        let others = everybody.saturating_sub(own).max(self.counted_bytes[1]);
        let [own_before, others_before] = std::mem::replace(&mut self.counted_bytes, [own, others]);
        self.tracing.counted(now_ns, own.saturating_sub(own_before), others - others_before);
    }

    /// Bytes that all wrote to the subject's disks, by their counters; `None` if some are not counted.
    fn written(&self, now_ns: u64) -> Option<u64> {
        let of_disk = |disk: &DeviceUse| disk.writes.sectors.saturating_mul(SECTOR_BYTES);
        let all = self.counters.disks(now_ns).iter().map(of_disk).fold(0, u64::saturating_add);
        Some(all).filter(|_| self.counters.uncounted(now_ns).is_empty())
    }

    /// What was seen so far, as if the watch ended now.
    pub fn so_far(&self) -> Watched {
        let now_ns = monotonic_ns();
        let span_ns = now_ns.saturating_sub(self.began_ns);
        let traced = self.tracing.watched(now_ns);
        let mut others = traced.others;
        if !matches!(self.asked, Asked::Disk { .. }) {
            let part = if traced.traced_ns == 0 { 1.0 } else { traced.traced_ns as f64 / span_ns.max(1) as f64 };
            let part = part.min(1.0);
            let own = traced.requests.iter().filter(|one| one.own == Some(true) && one.writes);
            let own_direct: u64 = own.map(|one| one.bytes).sum();
            let own_written = (self.followed.written() as f64 * part) as u64;
            let written_back = |others: &[OtherUser]| match traced.traced_ns {
                0 => self.written(now_ns),
                _ => Some(neighbours::written_back(others)),
            };
            self.neighbours.add_to(&mut others, part, own_written.saturating_sub(own_direct), written_back);
        }
        if self.probe.is_some() {
            others.retain(|other| other.pid != std::process::id());
        }
        let processors = self.followed.processors();
        Watched {
            subject: self.followed.subject(),
            started_unix_ms: self.started_unix_ms,
            span_ns,
            traced_ns: traced.traced_ns.min(span_ns),
            cost: WatchCost {
                processor_ns: charged_ns().saturating_sub(self.charged_before_ns),
                ..self.tracing.cost()
            },
            unseen: self.unseen(&processors),
            bytes_unseen: self.bytes_unseen,
            places: self.places.all().to_vec(),
            pressure: self.counters.pressure(),
            group_limits: self.counters.limits(&self.places, now_ns),
            disks: self.counters.disks(now_ns),
            processors: WatchedProcessors { machine: self.counters.machine(), ..processors },
            others,
            slices: traced.slices,
            operations: traced.operations,
            requests: traced.requests,
            seconds: traced.seconds,
            probe: self.probe.as_ref().and_then(Probe::result),
        }
    }

    /// Ends the watch: what was seen, and the operations themselves if they were to be kept.
    ///
    /// # Errors
    /// If what the kernel recorded last cannot be read.
    pub fn finish(mut self) -> Result<(Watched, Option<Captured>), WatchError> {
        self.take(true)?;
        self.followed.scan();
        self.look_at_processors();
        self.count_bytes(monotonic_ns());
        let watched = self.so_far();
        let subject = match &self.asked {
            Asked::Disk { device, .. } => format!("everybody on {device}"),
            Asked::Processes { .. } | Asked::Group { .. } => watched.subject.name.clone(),
        };
        let processors = CapturedProcessors::of(&watched).map(|seen| seen.confined_to(self.processors_allowed));
        let started_unix_ms = self.started_unix_ms;
        let captured = self.tracing.captured();
        let captured = captured.map(|captured| Captured { subject, started_unix_ms, processors, ..captured });
        Ok((watched, captured))
    }

    fn unseen(&self, processors: &WatchedProcessors) -> Vec<Unseen> {
        let mut unseen = self.tracing.unseen();
        unseen.extend(self.probe.as_ref().and_then(|probe| probe.unseen(self.tracing.is_available())));
        let mut add = |source: &str, why: &str, without: &str| {
            unseen.push(unseen_of(source, why, without));
        };
        if processors.block_io_ns.is_none() {
            let has_switch = self.folder.join("proc/sys/kernel/task_delayacct").exists();
            add(
                "delay accounting of tasks",
                match has_switch {
                    true => "it is off (`sysctl kernel.task_delayacct=1` switches it on)",
                    false => "this kernel was built or started without it",
                },
                "how long threads waited for block I/O, as the kernel counts it",
            );
        }
        let uncounted = self.counters.uncounted(monotonic_ns());
        if !uncounted.is_empty() {
            add(
                &format!("the counters of {}", uncounted.join(", ")),
                "they are switched off (`queue/iostats`), or do not move",
                "how busy the disk is, and what all move on it",
            );
        }
        if self.bytes_unseen && !matches!(self.asked, Asked::Disk { .. }) {
            add("/proc/PID/io", "it is read by the owner of the process and by root alone", "how many bytes it moved");
        }
        if processors.run_queue_ns.is_none() {
            add("/proc/PID/schedstat", "the kernel does not count it", "how long threads waited for a processor");
        }
        if !self.folder.join("proc/pressure/io").exists() {
            add(
                "/proc/pressure",
                "this kernel was built or started without it",
                "how long tasks of the machine waited",
            );
        }
        unseen
    }
}

fn charged_ns() -> u64 {
    let charged = processor::charged();
    charged.user_ns + charged.system_ns
}
