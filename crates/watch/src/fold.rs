//! Folds what was seen of threads and disks to what an application did, where it waited, and who else was at work.
//!
//! It is pure: events and answers about files come in, counts and times go out. An operation is a call from its beginning
//! to its end, a request of io_uring, a request of the kernel's older asynchronous I/O from the block layer's queue to its
//! completion (of io_uring too, where the kernel does not tell when its requests end), or a page fault that had to read. It counts if tracing saw its beginning; what it saw to the end stands for what a
//! slice's end cut (`cut.rs`).

mod aims;
mod blocks;
mod calls;
mod capture;
mod cut;
mod depth;
mod descriptors;
mod disk_totals;
mod files;
mod group_commits;
mod journal;
mod keys;
mod operations;
mod others;
mod requests;
mod seconds;
mod sectors;
mod sizes;
mod spans;
mod state;
mod streams;
mod threads;
mod totals;
mod waits;
mod writeback;

#[cfg(test)]
mod tests;

pub use capture::Recording;
pub use files::{FileSeen, Files, Who};

use halfpower_os::trace::{Happening, Seen};
use halfpower_record::{Captured, Latency, Watched};

use capture::Capture;
use state::FoldState;

/// What of the kernel's events is there, and what holds for the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sources {
    /// Whether threads are seen to leave and to get processors.
    pub scheduler: bool,
    /// Whether page faults of mapped files are seen.
    pub faults: bool,
    /// Whether requests of io_uring are seen to begin and to end.
    pub rings: bool,
}

impl Default for Sources {
    fn default() -> Self {
        Self { scheduler: true, faults: true, rings: true }
    }
}

/// Takes events, and tells at any time what they come to.
#[derive(Debug)]
pub struct Fold {
    state: FoldState,
    /// Names of all disks that events ever named.
    disks: Vec<String>,
    /// The index in `disks` of each disk that events name now.
    named: Vec<usize>,
    is_traced: bool,
    /// Up to here the traced time is counted.
    counted_to_ns: u64,
    traced_ns: u64,
    slices: u64,
}

impl Fold {
    /// Begins at this time of the monotonic clock; nothing is traced yet.
    pub fn new(began_ns: u64, sources: Sources) -> Self {
        Self {
            state: FoldState::new(began_ns, sources.scheduler, sources.faults, sources.rings),
            disks: Vec::new(),
            named: Vec::new(),
            is_traced: false,
            counted_to_ns: began_ns,
            traced_ns: 0,
            slices: 0,
        }
    }

    /// The disks that events name from now on, in their order. Bits of [`FileSeen::disks`], and [`Files::place_on`], count
    /// them as [`Fold::disk_names`] does.
    pub fn disks(&mut self, names: &[String]) {
        self.named.clear();
        for name in names {
            let known = self.disks.iter().position(|known| known == name);
            self.named.push(known.unwrap_or_else(|| {
                self.disks.push(name.clone());
                self.disks.len() - 1
            }));
        }
    }

    /// All disks that events named so far; a disk keeps its index.
    pub fn disk_names(&self) -> &[String] {
        &self.disks
    }

    /// What of the kernel's events is there from now on.
    pub fn sources(&mut self, sources: Sources) {
        self.state.has_scheduler = sources.scheduler;
        self.state.has_faults = sources.faults;
        self.state.has_rings = sources.rings;
    }

    /// Whether a control group limits the subject's requests: requests that a worker of the kernel queues for it were held
    /// back by that limit then, and by the block layer otherwise.
    pub fn limited(&mut self, limited: bool) {
        self.state.is_limited = limited;
    }

    /// Keeps the operations themselves from the next slice on, for [`Fold::captured`].
    pub fn record(&mut self, recording: Recording) {
        self.state.capture = Some(Capture::new(recording));
    }

    /// Tracing begins.
    pub fn begin_slice(&mut self, at_ns: u64) {
        self.counted_to_ns = at_ns;
        self.is_traced = true;
        self.slices += 1;
        self.state.descriptors.were_unseen();
        if let Some(capture) = &mut self.state.capture {
            capture.begin_slice(at_ns);
        }
    }

    /// Tracing goes on until now at least.
    pub fn reach(&mut self, at_ns: u64) {
        if self.is_traced && at_ns > self.counted_to_ns {
            self.traced_ns += at_ns - self.counted_to_ns;
            self.state.seconds.traced(self.counted_to_ns, at_ns);
            self.counted_to_ns = at_ns;
            if let Some(capture) = &mut self.state.capture {
                capture.reach(at_ns);
            }
        }
    }

    /// Tracing has ended, and all that it saw was taken. Of what was in progress only the beginning is known. Gives for how
    /// long the longest of that had been in progress, or the longest wait of a capture for another's sync if that is longer, in
    /// nanoseconds; 0 if nothing was.
    pub fn end_slice(&mut self, at_ns: u64) -> u64 {
        self.reach(at_ns);
        self.is_traced = false;
        let longest_ns = self.state.cut(at_ns);
        let waited_ns = self.state.capture.as_mut().map_or(0, |capture| capture.end_slice(at_ns));
        longest_ns.max(waited_ns)
    }

    /// Events were lost since tracing was known to go on ([`Fold::reach`]): what is in progress cannot be followed further.
    pub fn lost(&mut self, at_ns: u64) {
        self.state.cut(at_ns);
        self.state.descriptors.were_unseen();
        if let Some(capture) = &mut self.state.capture {
            capture.lost(at_ns);
        }
    }

    /// Takes events, in order of time, that follow those taken before.
    pub fn take(&mut self, events: &[Seen], files: &mut dyn Files) {
        for seen in events {
            self.one(seen, files);
        }
        if let Some(last) = events.last() {
            self.state.settle(last.at_ns);
        }
    }

    fn one(&mut self, seen: &Seen, files: &mut dyn Files) {
        let Self { state, named, .. } = self;
        let at_ns = seen.at_ns;
        let disk_of = |disk: usize| named.get(disk).copied().unwrap_or(disk);
        match &seen.what {
            Happening::CallBegan { call, args } => state.call_began(seen, *call, args, files),
            Happening::CallEnded { call, result } => state.call_ended(seen, *call, *result),
            Happening::Closes { fd } => state.closes(seen, *fd, files),
            Happening::RingBegan { request, opcode, .. } => state.ring_began(seen, *request, *opcode, files),
            Happening::RingFile { request, fd } => state.ring_file(seen, *request, *fd, files),
            Happening::RingEnded { request, result } => state.ring_ended(at_ns, *request, *result),
            Happening::SwitchedOut { thread, state: reason } => state.switched_out(at_ns, *thread, *reason),
            Happening::SwitchedIn { thread } => state.switched_in(at_ns, *thread),
            Happening::Woken { thread } => state.woken(at_ns, *thread),
            Happening::Wakes { thread } => state.wakes(seen, *thread),
            Happening::Block { step, disk, sectors, rwbs, name } => {
                let asked = blocks::BlockEvent { step: *step, disk: disk_of(*disk), sectors, rwbs: *rwbs, name };
                state.block(seen, &asked, files);
            }
            Happening::Split { disk, from, at } => state.split(at_ns, disk_of(*disk), *from, *at),
            Happening::SyncBegan { device, data_only, .. } => state.sync_began(seen, *device, *data_only, files),
            Happening::SyncEnded { .. } => state.sync_ended(seen, files),
            Happening::Commit { device, step, .. } => state.journals.step(at_ns, seen.thread, *device, *step),
            Happening::Throttled { pause_ms } => state.throttled(seen, *pause_ms),
            Happening::Fault { device, inode } => state.faulted(seen, *device, *inode, files),
            Happening::ReadAhead { .. } => {}
        }
    }

    /// So many bytes were moved by the subject and by others, as counters tell where there are no events.
    pub(crate) fn counted(&mut self, at_ns: u64, own: u64, others: u64) {
        self.state.seconds.moved(at_ns, true, own);
        self.state.seconds.moved(at_ns, false, others);
    }

    /// What was seen so far: the operations, the disks' requests, the others and the seconds, as of this time. All else of a
    /// watch is left empty; `operations` name places by the index that [`Files`] gave.
    pub fn watched(&self, now_ns: u64) -> Watched {
        Watched {
            traced_ns: self.traced_ns,
            slices: self.slices,
            operations: self.state.totals.listed(self.traced_ns),
            requests: self.state.disk_totals.listed(&self.disks, self.traced_ns),
            others: self.state.others.listed(),
            seconds: self.state.seconds.listed(now_ns),
            ..Watched::default()
        }
    }

    /// Latencies of the subject's reads, and of its syncs and durable writes, that ended in a second of the watch.
    pub fn latencies_of(&self, second: u64) -> [Latency; 2] {
        let [reads, _, syncs] = self.state.seconds.latencies(second as usize);
        [reads, syncs]
    }

    /// The operations of all slices that are over, if [`Fold::record`] was called; whose they are is left empty.
    pub fn captured(&self) -> Option<Captured> {
        self.state.capture.as_ref().map(|capture| capture.captured(&self.disks))
    }
}
