//! Traces what some threads do, and what some disks do for anybody.
//!
//! Two instances of tracefs share the work. One records events of the watched threads alone, and the kernel follows their
//! children. The other records the block layer, the journals and the syncs of files on the watched disks for all threads: a
//! filter by threads would hide completions, which happen in interrupts, and what others do.
//!
//! The buffers are read while the kernel goes on writing them, one after the other. So that events come in order of time all
//! the same, what happened after the reading began, or shortly before, waits for the next reading.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::disks::{DisksUnder, filter_of};
use super::event_cost::{EventCost, call_ns};
use super::format::WantedEvent;
use super::happening::{
    FILE_SYSTEM_EVENTS, Happening, Seen, SeenDecoder, SeenKind, THREAD_EVENTS, WAKES, block_events, call_events,
};
use super::instance::{BufferSize, Instance, Pipe, unreadable};
use super::page::PageLayout;
use crate::clock::system_ns;
use crate::{OsError, open_files};

/// For each instance: what is written until the next reading, some 100 ms later.
const BUFFERS: BufferSize = BufferSize { all_kib: 32 << 10, least_kib: 512, most_kib: 4 << 10 };
/// Files that stay open for reading: at most one of so many that this process may open, in each instance.
const KEPT_OPEN_PART: u64 = 4;
/// Longest time from an event's time stamp until the event can be read, even where a hypervisor stops a processor meanwhile.
const LATEST_NS: u64 = 2_000_000;

/// Traces what some threads do, and what some disks do for anybody, until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    of_threads: Recorder,
    of_disks: Recorder,
    page: PageLayout,
    decoder: SeenDecoder,
    disks: Vec<String>,
    missing: Vec<MissingEvent>,
    event_cost: EventCost,
    /// The threads that were asked for last.
    followed: BTreeSet<u32>,
    /// Those that were asked for before, still live, and are no longer: the kernel goes on recording them.
    let_go: BTreeSet<u32>,
    /// Whether the probes are in the kernel, with its list of threads.
    is_armed: bool,
    is_on: AtomicBool,
    /// Read, but too young to be handed out.
    held: Vec<Seen>,
}

/// What was seen since the buffers were read before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchedEvents {
    /// In order of time; none is earlier than those of the readings before.
    pub events: Vec<Seen>,
    /// Events that others overwrote before they were read; at least so many.
    pub lost: u64,
}

/// An event that this kernel does not offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingEvent {
    /// Its name in tracefs.
    pub event: &'static str,
    /// Why.
    pub why: String,
}

/// An instance and the files from which its buffers are read. They are closed first: an instance in use is not removed.
#[derive(Debug)]
struct Recorder {
    pipes: Vec<Pipe>,
    instance: Instance,
}

impl Recorder {
    fn new() -> Result<(Self, PageLayout), OsError> {
        let (instance, page) = Instance::ready(BUFFERS)?;
        let mut pipes: Vec<Pipe> = instance.cpus().into_iter().map(|cpu| instance.pipe(cpu)).collect();
        let kept = usize::try_from(open_files::most() / KEPT_OPEN_PART).unwrap_or(usize::MAX);
        for pipe in pipes.iter_mut().take(kept) {
            pipe.keep_open().map_err(|error| unreadable(pipe.cpu, &error))?;
        }
        Ok((Self { pipes, instance }, page))
    }
}

impl Watcher {
    /// Prepares to watch these threads and the disks under these block devices (kernel names). Nothing is traced before
    /// [`Watcher::switch`], and of threads nothing while none is watched. Without disks only threads are watched.
    ///
    /// # Errors
    /// [`OsError::Tracing`] if tracefs cannot be used, or the kernel lacks events without which nothing is understood; other
    /// events that it lacks are [`Watcher::missing`].
    pub fn new(disks: &[&str], threads: &[u32]) -> Result<Self, OsError> {
        let under = DisksUnder::here(disks.iter().copied());
        let (of_threads, page) = Recorder::new()?;
        let (of_disks, _) = Recorder::new()?;
        let mut watcher = Self {
            of_threads,
            of_disks,
            page,
            decoder: SeenDecoder::new(&under.numbers),
            disks: under.names,
            missing: Vec::new(),
            event_cost: EventCost::USUAL,
            followed: BTreeSet::new(),
            let_go: BTreeSet::new(),
            is_armed: true,
            is_on: AtomicBool::new(false),
            held: Vec::new(),
        };
        watcher.of_threads.instance.set("options/event-fork", "1")?;
        let bare_ns = call_ns();
        watcher.enable_threads()?;
        watcher.measure_events(bare_ns)?;
        watcher.follow(threads)?;
        if !watcher.disks.is_empty() {
            watcher.enable_disks(under.numbers.iter().flatten(), &under.on_the_way)?;
        }
        Ok(watcher)
    }

    fn enable_threads(&mut self) -> Result<(), OsError> {
        let Self { of_threads, decoder, missing, .. } = self;
        let instance = &mut of_threads.instance;
        // Kernels since 6.19 would copy what is written; older ones have no such setting.
        let _ = instance.set("syscall_user_buf_size", "0");
        let mut calls = 0;
        for wanted in call_events() {
            calls += usize::from(switched_on(instance, wanted, None, decoder, missing));
        }
        if calls == 0 {
            let why = "this kernel has no events of system calls (CONFIG_FTRACE_SYSCALLS)".to_string();
            return Err(OsError::Tracing { why });
        }
        for wanted in THREAD_EVENTS {
            let filter = (wanted.kind == SeenKind::Throttled).then_some("pause > 0");
            switched_on(instance, wanted, filter, decoder, missing);
        }
        Ok(())
    }

    /// Records from now on who wakes whom, too ([`Happening::Wakes`]).
    pub fn record_wakers(&mut self) {
        let Self { of_threads, decoder, missing, .. } = self;
        // What wakes by an interrupt of an idle processor has done nothing itself.
        switched_on(&mut of_threads.instance, WAKES, Some("common_pid != 0"), decoder, missing);
    }

    fn enable_disks<'a>(
        &mut self,
        numbers: impl IntoIterator<Item = &'a u64>,
        on_the_way: &[u64],
    ) -> Result<(), OsError> {
        let Self { of_disks, decoder, missing, .. } = self;
        let instance = &mut of_disks.instance;
        let filter = filter_of(numbers);
        for wanted in block_events() {
            if !switched_on(instance, wanted, Some(&filter), decoder, missing) && wanted.needed {
                let why = missing.pop().map_or(String::new(), |missing| missing.why);
                return Err(OsError::Tracing { why: format!("{}: {why}", wanted.name) });
            }
        }
        // These name the device of the file system, which may be a volume.
        let filter = filter_of(on_the_way);
        for wanted in FILE_SYSTEM_EVENTS {
            switched_on(instance, wanted, Some(&filter), decoder, missing);
        }
        Ok(())
    }

    /// Measures on this thread, alone on the list, what an event costs: `bare_ns` is the time of a call without probes. What it
    /// cannot tell stays as it usually is.
    fn measure_events(&mut self, bare_ns: Option<u64>) -> Result<(), OsError> {
        let this = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let threads = &self.of_threads.instance;
        let failed = |error: io::Error| OsError::Tracing { why: format!("it cannot be tried on halfpower ({error})") };
        self.add_to_the_list([this].iter())?;
        let probed_ns = call_ns();
        threads.switch(true).map_err(failed)?;
        let recorded_ns = call_ns();
        threads.switch(false).map_err(failed)?;
        threads.empty("set_event_pid").map_err(failed)?;
        self.drain()?;
        let measured = bare_ns.zip(probed_ns).zip(recorded_ns);
        let cost = measured
            .and_then(|((bare_ns, probed_ns), recorded_ns)| EventCost::between(bare_ns, probed_ns, recorded_ns));
        self.event_cost = cost.unwrap_or(EventCost::USUAL);
        Ok(())
    }

    /// Watches these threads from now on, and no others. The kernel adds the threads and processes that they start.
    ///
    /// # Errors
    /// [`OsError::Tracing`] if the kernel refuses them.
    pub fn follow(&mut self, threads: &[u32]) -> Result<(), OsError> {
        let wanted: BTreeSet<u32> = threads.iter().copied().collect();
        if !self.is_armed {
            self.followed = wanted;
            return Ok(());
        }
        self.add_to_the_list(wanted.difference(&self.followed))?;
        // The kernel's list can be emptied but not shortened, and while it is empty all threads of the machine count.
        let before = std::mem::replace(&mut self.followed, wanted);
        self.let_go.extend(before);
        let Self { followed, let_go, .. } = self;
        let_go.retain(|thread| !followed.contains(thread) && Path::new(&format!("/proc/{thread}")).exists());
        if self.is_on.load(Ordering::Relaxed) {
            let switched = self.of_threads.instance.switch(!self.followed.is_empty());
            switched.map_err(|error| OsError::Tracing { why: format!("tracing_on cannot be set ({error})") })?;
        }
        Ok(())
    }

    /// Adds threads to those whose events the kernel records.
    fn add_to_the_list<'a>(&self, threads: impl Iterator<Item = &'a u32>) -> Result<(), OsError> {
        let threads: Vec<String> = threads.map(u32::to_string).collect();
        if threads.is_empty() {
            return Ok(());
        }
        self.of_threads.instance.set("set_event_pid", &threads.join(" "))
    }

    /// Starts or stops tracing. After stopping, [`Watcher::drain`] hands out all that is left.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn switch(&self, on: bool) -> io::Result<()> {
        self.is_on.store(on, Ordering::Relaxed);
        self.of_threads.instance.switch(on && !self.followed.is_empty())?;
        self.of_disks.instance.switch(on)
    }

    /// Takes the probes of all events out of the kernel, or puts them back, as they are when the watcher is new. While
    /// tracing is off they record nothing, and still take time of all who come by: this takes some milliseconds once. The
    /// kernel's list of threads goes, too: while there is one, each switch of threads and each wake-up looks into it.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn arm(&mut self, armed: bool) -> io::Result<()> {
        if armed == self.is_armed {
            return Ok(());
        }
        let threads = &self.of_threads.instance;
        if armed {
            // First the list: where it is empty, all threads of the machine are recorded.
            self.add_to_the_list(self.followed.iter()).map_err(io::Error::other)?;
            threads.arm(true)?;
        } else {
            threads.arm(false)?;
            threads.empty("set_event_pid")?;
            self.let_go.clear();
        }
        self.is_armed = armed;
        self.of_disks.instance.arm(armed)
    }

    /// Whether the probes are in the kernel.
    pub fn is_armed(&self) -> bool {
        self.is_armed
    }

    /// What was recorded since the last call, without the last 2 ms while tracing is on; empties the buffers.
    ///
    /// # Errors
    /// [`OsError::Tracing`] if a buffer cannot be read.
    pub fn drain(&mut self) -> Result<WatchedEvents, OsError> {
        let Self { of_threads, of_disks, page, decoder, held, .. } = self;
        let began_ns = system_ns();
        let mut lost = 0;
        let mut bytes = vec![0u8; page.bytes];
        for pipe in of_threads.pipes.iter().chain(&of_disks.pipes) {
            let read = pipe.drain(&mut bytes, |bytes| {
                lost += page.lost_before(bytes);
                page.read(bytes, |at_ns, payload| held.extend(decoder.decode(at_ns, pipe.cpu, payload)));
                // Of a thread that writes faster than this one reads, the rest is read next time.
                page.first_ns(bytes).is_none_or(|first_ns| first_ns <= began_ns)
            });
            read.map_err(|error| unreadable(pipe.cpu, &error))?;
        }
        let until_ns = match self.is_on.load(Ordering::Relaxed) {
            true => began_ns.saturating_sub(LATEST_NS),
            false => u64::MAX,
        };
        let events = self.taken(until_ns);
        Ok(WatchedEvents { events, lost })
    }

    /// Takes the events up to a time from those that are held, in order, without those of threads that were let go.
    fn taken(&mut self, until_ns: u64) -> Vec<Seen> {
        let Self { held, let_go, .. } = self;
        if !let_go.is_empty() {
            held.retain(|seen| doer(seen).is_none_or(|thread| !let_go.contains(&thread)));
        }
        held.sort_by_key(|seen| seen.at_ns);
        let later = held.split_off(held.partition_point(|seen| seen.at_ns <= until_ns));
        std::mem::replace(held, later)
    }

    /// What an event costs the thread that it is of, measured when the watcher was made.
    pub fn event_cost(&self) -> EventCost {
        self.event_cost
    }

    /// Events that this kernel does not offer.
    pub fn missing(&self) -> &[MissingEvent] {
        &self.missing
    }

    /// The watched disks by their kernel names, in the order in which events count them: of volumes, the disks beneath.
    pub fn disks(&self) -> &[String] {
        &self.disks
    }
}

/// Switches an event on; `false`, with the reason in `missing`, if that cannot be.
fn switched_on(
    instance: &mut Instance,
    wanted: WantedEvent<SeenKind>,
    filter: Option<&str>,
    decoder: &mut SeenDecoder,
    missing: &mut Vec<MissingEvent>,
) -> bool {
    let why = match instance.enable(wanted, filter, &mut decoder.layouts) {
        Ok(true) => return true,
        Ok(false) => "this kernel has no such event of the usual form, or has not loaded the module that has it".into(),
        Err(OsError::Tracing { why }) => why,
        Err(error) => error.to_string(),
    };
    missing.push(MissingEvent { event: wanted.name, why });
    false
}

/// The watched thread that an event is of; `None` if it is of a disk.
fn doer(seen: &Seen) -> Option<u32> {
    match seen.what {
        // Who was let go may sync still, as one of the others; workers of the kernel sync for those who are watched.
        Happening::Block { .. }
        | Happening::Split { .. }
        | Happening::Commit { .. }
        | Happening::SyncBegan { .. }
        | Happening::SyncEnded { .. } => None,
        Happening::SwitchedOut { thread, .. } | Happening::SwitchedIn { thread } | Happening::Woken { thread } => {
            Some(thread)
        }
        _ => Some(seen.thread),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use super::super::block::Step;
    use super::super::call::Call;
    use super::super::tests::traceable_file;
    use super::*;

    const BLOCK: u64 = 4096;

    /// What this thread and the disk did for one direct read at `offset`, and the watcher that saw it.
    fn watched_read(file: &File, disk: &str, offset: u64) -> (Watcher, Vec<Seen>) {
        // What others do on the disk may fill the buffers before they are read.
        let mut watched = (0..50).map(|_| watched_once(file, disk, offset));
        let (watcher, seen) = watched.find(|(_, seen)| seen.lost == 0).expect("one of 50 watches loses nothing");
        (watcher, seen.events)
    }

    fn watched_once(file: &File, disk: &str, offset: u64) -> (Watcher, WatchedEvents) {
        let this = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let mut watcher = Watcher::new(&[disk], &[this]).unwrap();
        let mut buffers = crate::Buffers::new(1, BLOCK as usize, 1).unwrap();
        assert_eq!(watcher.drain().unwrap(), WatchedEvents::default(), "nothing before it is switched on");
        assert!(watcher.event_cost().recorded_ns > watcher.event_cost().probed_ns, "{:?}", watcher.event_cost());
        watcher.switch(true).unwrap();
        assert_eq!(file.read_at(buffers.slot_mut(0), offset).unwrap(), BLOCK as usize);
        watcher.switch(false).unwrap();
        let seen = watcher.drain().unwrap();
        (watcher, seen)
    }

    #[test]
    fn without_its_probes_a_watcher_sees_nothing_and_with_them_all_again() {
        let Some((_folder, file, disk)) = traceable_file() else { return };
        let this = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let mut watcher = Watcher::new(&[disk.as_str()], &[this]).unwrap();
        let mut buffers = crate::Buffers::new(1, BLOCK as usize, 1).unwrap();
        let mut calls_seen = |armed: bool| {
            watcher.arm(armed).unwrap();
            watcher.switch(true).unwrap();
            file.read_at(buffers.slot_mut(0), 0).unwrap();
            watcher.switch(false).unwrap();
            let events = watcher.drain().unwrap().events;
            events.iter().filter(|seen| matches!(seen.what, Happening::CallBegan { call: Call::Pread, .. })).count()
        };
        assert_eq!([true, false, true].map(&mut calls_seen), [1, 0, 1]);
        let mut listed = |armed: bool| {
            watcher.arm(armed).unwrap();
            std::fs::read_to_string(watcher.of_threads.instance.folder().join("set_event_pid")).unwrap()
        };
        assert_eq!([false, true].map(&mut listed), [String::new(), format!("{this}\n")]);
    }

    #[test]
    fn a_direct_read_is_seen_from_its_call_through_the_disk_to_its_end() {
        let Some((_folder, file, disk)) = traceable_file() else { return };
        let this = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let (watcher, events) = watched_read(&file, &disk, 2 * BLOCK);
        assert!(events.is_sorted_by_key(|seen| seen.at_ns));
        let after = |from: usize, is_it: &dyn Fn(&Seen) -> bool| {
            from + events[from..].iter().position(is_it).unwrap_or_else(|| panic!("after {from}: {events:#?}"))
        };
        let fd = file.as_raw_fd() as u32;
        let began = after(0, &|seen| {
            let is_it = |args: &[u64; 6]| args[0] as u32 == fd && args[2..4] == [BLOCK, 2 * BLOCK];
            seen.thread == this && matches!(&seen.what, Happening::CallBegan { call: Call::Pread, args } if is_it(args))
        });
        let queued = after(began, &|seen| {
            seen.thread == this
                && matches!(&seen.what, Happening::Block { step: Step::Queued, disk: 0, sectors, rwbs, .. }
                    if sectors.end - sectors.start == 8 && rwbs.reads && !rwbs.writes)
        });
        let Happening::Block { sectors: read, name, .. } = &events[queued].what else { unreachable!() };
        assert_ne!(name, &[0; 16]);
        let is_step = |seen: &Seen, wanted: Step| {
            matches!(&seen.what, Happening::Block { step, disk: 0, sectors, .. }
                if *step == wanted && sectors == read)
        };
        let issued = after(queued, &|seen| is_step(seen, Step::Issued));
        let completed = after(issued, &|seen| is_step(seen, Step::Completed));
        after(completed, &|seen| {
            seen.thread == this && seen.what == Happening::CallEnded { call: Call::Pread, result: BLOCK as i64 }
        });
        assert_eq!(watcher.disks().len(), 1);
        let needed = ["block_rq_issue", "sys_enter_pread64", "sys_exit_pread64"];
        assert!(watcher.missing().iter().all(|missing| !needed.contains(&missing.event)), "{:?}", watcher.missing());
        let folders = [&watcher.of_threads, &watcher.of_disks].map(|buffers| buffers.instance.folder().to_path_buf());
        assert!(folders.iter().all(|folder| folder.is_dir()));
        drop(watcher);
        assert!(folders.iter().all(|folder| !folder.exists()), "{folders:?}");
    }

    #[test]
    fn threads_are_watched_only_while_they_are_asked_for() {
        let Some((_folder, file, disk)) = traceable_file() else { return };
        let this = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let mut watcher = Watcher::new(&[disk.as_str()], &[]).unwrap();
        let mut buffers = crate::Buffers::new(1, BLOCK as usize, 1).unwrap();
        watcher.switch(true).unwrap();
        let mut calls = |watcher: &mut Watcher| {
            file.read_at(buffers.slot_mut(0), 0).unwrap();
            watcher.switch(false).unwrap();
            let events = watcher.drain().unwrap().events;
            watcher.switch(true).unwrap();
            let is_call = |seen: &&Seen| matches!(seen.what, Happening::CallBegan { call: Call::Pread, .. });
            events.iter().filter(is_call).filter(|seen| seen.thread == this).count()
        };
        assert_eq!(calls(&mut watcher), 0);
        watcher.follow(&[this]).unwrap();
        assert_eq!(calls(&mut watcher), 1);
        watcher.follow(&[]).unwrap();
        assert_eq!(calls(&mut watcher), 0);
        watcher.follow(&[this]).unwrap();
        assert_eq!(calls(&mut watcher), 1);
    }

    #[test]
    fn who_wakes_whom_is_seen_if_it_is_asked_for() {
        let Some((_folder, _file, disk)) = traceable_file() else { return };
        let this = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let mut watcher = Watcher::new(&[disk.as_str()], &[this]).unwrap();
        let mut woken = |wakers: bool| {
            if wakers {
                watcher.record_wakers();
            }
            let (told, tells) = std::sync::mpsc::channel();
            let thread = std::thread::spawn(move || {
                told.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
                std::thread::park();
            });
            let sleeper: u32 = tells.recv().unwrap();
            // Until it sleeps, nobody has to wake it.
            let stat = || std::fs::read_to_string(format!("/proc/self/task/{sleeper}/stat")).unwrap();
            while !stat().contains(") S ") {
                std::thread::yield_now();
            }
            watcher.switch(true).unwrap();
            thread.thread().unpark();
            thread.join().unwrap();
            watcher.switch(false).unwrap();
            let events = watcher.drain().unwrap().events;
            events.iter().any(|seen| seen.thread == this && seen.what == Happening::Wakes { thread: sleeper })
        };
        assert_eq!([woken(false), woken(true)], [false, true]);
        assert!(watcher.missing().iter().all(|missing| missing.event != "sched_waking"));
    }

    #[test]
    fn the_doer_of_an_event_is_its_thread_and_a_disk_has_none() {
        let seen = |what| Seen { at_ns: 0, cpu: 0, thread: 7, in_interrupt: true, what };
        assert_eq!(doer(&seen(Happening::Woken { thread: 3 })), Some(3));
        assert_eq!(doer(&seen(Happening::Throttled { pause_ms: 3 })), Some(7));
        assert_eq!(doer(&seen(Happening::Split { disk: 0, from: 0, at: 8 })), None);
        assert_eq!(doer(&seen(Happening::SyncBegan { device: 7, inode: 2, data_only: true })), None);
    }
}
