//! Takes the events of the block layer: whose each request is, why it is there, and what waits for it.

use std::ops::Range;

use halfpower_os::trace::{Rwbs, Seen, Step};
use halfpower_record::{Cause, IssuedBy, OperationKind, Wait};

use super::files::{Files, Who};
use super::operations::{Begun, Op, OpKey};
use super::requests::{Done, Origin, SECTOR_BYTES};
use super::state::{FoldState, Owed};
use super::streams::Streams;
use super::threads::{Fault, State};

/// Reads of the page cache come in whole pages.
const PAGE_BYTES: u64 = 4096;
/// A fault sends its request within this time.
const LONGEST_FAULT_NS: u64 = 1_000_000;
/// A ring names the file of a request within this time.
const NAMED_WITHIN_NS: u64 = 20_000;
/// A worker of the kernel begins a sync that was handed over within this time.
const BEGUN_WITHIN_NS: u64 = 100_000_000;
/// Prefixes of the names of kernel threads, for those that have ended before they are looked up.
const KERNELS: [&str; 6] = ["kworker/", "jbd2/", "kswapd", "xfsaild/", "btrfs-", "dmcrypt_write"];
/// Prefixes of the names of threads that commit a journal.
const COMMITTERS: [&str; 3] = ["jbd2/", "xfsaild/", "btrfs-transacti"];
/// Prefix of the names of kernel workers, which carry out deferred work.
const WORKER: &str = "kworker/";
/// Prefix of the names of threads that write what dm-crypt has encrypted.
const ENCRYPTS: &str = "dmcrypt_write";
/// Prefix, and a part, of the names of the threads of md's mirrors and arrays with parity, such as `md0_raid5`.
const ARRAY: [&str; 2] = ["md", "_raid"];

/// Prefix of the names of the threads of a process that work for its rings.
const RING: &str = "iou-";

/// An event of the block layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockEvent<'a> {
    pub(crate) step: Step,
    /// Index of the disk in the fold's list.
    pub(crate) disk: usize,
    pub(crate) sectors: &'a Range<u64>,
    pub(crate) rwbs: Rwbs,
    /// Name of the running thread; zeros if the event has none.
    pub(crate) name: &'a [u8; 16],
}

impl BlockEvent<'_> {
    /// Bytes that it moves. Discards and zeroing name sectors, and move nothing.
    fn bytes(&self) -> u64 {
        if !self.moves() {
            return 0;
        }
        self.sectors.end.saturating_sub(self.sectors.start).saturating_mul(SECTOR_BYTES)
    }

    fn writes(&self) -> bool {
        !self.rwbs.reads
    }

    fn moves(&self) -> bool {
        self.rwbs.reads || self.rwbs.writes
    }

    fn name(&self) -> &str {
        let end = self.name.iter().position(|byte| *byte == 0).unwrap_or(self.name.len());
        std::str::from_utf8(&self.name[..end]).unwrap_or_default()
    }
}

/// Whether a disk is among those of a bit each.
fn is_among(disks: u64, disk: usize) -> bool {
    disk >= 64 || disks >> disk & 1 == 1
}

/// Whether threads of this name carry on what others queued on an encrypted volume or an array.
fn is_of_volume(name: &str) -> bool {
    let [begins, holds] = ARRAY;
    name.starts_with(ENCRYPTS) || name.starts_with(begins) && name.contains(holds)
}

/// Whether threads of this name carry on what others queued, workers of the kernel included.
fn carries_on(name: &str) -> bool {
    name.starts_with(WORKER) || is_of_volume(name)
}

/// Whether a part on this disk may be this operation's. A ring names the file of a request some moments after the request.
fn may_reach(op: &Op, event: &BlockEvent, at_ns: u64) -> bool {
    let begun = &op.begun;
    let may_be_named = begun.by == IssuedBy::IoUring && begun.file.is_none();
    is_among(begun.disks, event.disk) && !(may_be_named && at_ns < begun.at_ns.saturating_add(NAMED_WITHIN_NS))
}

impl FoldState {
    pub(crate) fn block(&mut self, seen: &Seen, event: &BlockEvent, files: &mut dyn Files) {
        let at_ns = seen.at_ns;
        if matches!(event.step, Step::Queued) {
            self.queued(seen, event, files);
            return;
        }
        let known = self.requests.step(at_ns, event.step, event.disk, event.sectors, event.rwbs);
        if !known && matches!(event.step, Step::Issued) {
            let origin = self.origin(seen, event, files);
            self.requests.appear(at_ns, event.disk, event.sectors, origin);
            self.count_queued(event, &origin, event.bytes(), at_ns);
        }
        if !self.requests.done.is_empty() {
            let mut done = std::mem::take(&mut self.requests.done);
            for one in &done {
                self.done(one);
            }
            done.clear();
            self.requests.done = done;
        }
    }

    /// A part, a flush, or both enter the block layer.
    fn queued(&mut self, seen: &Seen, event: &BlockEvent, files: &mut dyn Files) {
        let origin = self.origin(seen, event, files);
        if event.rwbs.flush {
            self.requests.queue_flush(seen.at_ns, event.disk, origin);
            self.count_flush(seen, &origin);
        }
        if !event.sectors.is_empty() {
            self.requests.queue(seen.at_ns, event.disk, event.sectors, origin);
            self.count_queued(event, &origin, event.bytes(), seen.at_ns);
        }
    }

    fn count_queued(&mut self, event: &BlockEvent, origin: &Origin, bytes: u64, at_ns: u64) {
        if let Some(user) = origin.user {
            self.others.queued(user, origin.writes, bytes);
        }
        if origin.cause == Cause::Writeback {
            self.writeback.began(event.disk, at_ns);
        }
    }

    fn count_flush(&mut self, seen: &Seen, origin: &Origin) {
        if let Some(user) = origin.user {
            self.others.queued(user, true, 0);
            if !self.others.is_kernel(user) {
                self.others.flushed(user, seen.thread);
            }
        }
        if let Some(op) = origin.owner.and_then(|owner| self.slots.get_mut(owner)) {
            op.open += 1;
        }
    }

    /// Whose a part is that enters the block layer, and why it is there. Its operation gets it.
    fn origin(&mut self, seen: &Seen, event: &BlockEvent, files: &mut dyn Files) -> Origin {
        // In an interrupt, the running thread is any.
        let process = match seen.in_interrupt {
            true => None,
            false => self.process_of(seen.thread, seen.at_ns, files),
        };
        let own = match process {
            Some(process) => self.owner(seen, event, process),
            None => self.of_worker(seen),
        };
        let held = match process {
            None if own.is_none() && (seen.in_interrupt || carries_on(event.name())) => self.held_back(seen, event),
            _ => None,
        };
        let mut origin = Origin {
            owner: own.or(held),
            thread: seen.thread,
            journal: None,
            cause: Cause::Other,
            own: Some(true),
            user: None,
            writes: event.writes(),
            moves: event.moves(),
            fua: event.rwbs.fua,
        };
        if let Some(key) = origin.owner {
            origin.cause = self.cause_of_own(key, event);
            self.give(key, seen.at_ns, event, held.is_some(), files);
        } else if process.is_some() {
            origin.cause = if event.moves() { Cause::Operation } else { Cause::Other };
        } else {
            self.of_other(seen, event, &mut origin, files);
        }
        origin
    }

    /// The operation of the subject's thread that queues a part.
    fn owner(&mut self, seen: &Seen, event: &BlockEvent, process: u32) -> Option<OpKey> {
        let writes = event.writes();
        let thread = self.threads.get_mut(&seen.thread)?;
        // Between two requests of a ring its thread may read what is its own, such as pages of the program, from another disk.
        let ring =
            thread.ring.filter(|key| self.slots.get(*key).is_some_and(|op| is_among(op.begun.disks, event.disk)));
        let current = [thread.op, ring].into_iter().flatten().find(|key| self.slots.get(*key).is_some());
        if current.is_some() {
            return current;
        }
        let has_data = !event.sectors.is_empty() && event.moves();
        let kind = if writes { OperationKind::Write } else { OperationKind::Read };
        if let Some(submitting) = thread.submitting.as_mut().filter(|_| has_data) {
            submitting.owed = submitting.owed.saturating_sub(1);
            let begun = Begun::unnamed(seen.at_ns, seen.thread, process, kind, submitting.by);
            return Some(self.slots.open(begun));
        }
        if !self.has_rings && has_data && !event.rwbs.meta && event.name().starts_with(RING) {
            let begun = Begun::unnamed(seen.at_ns, seen.thread, process, kind, IssuedBy::IoUring);
            return Some(self.slots.open(begun));
        }
        // A worker of a ring carries out a request that could not be done at once.
        let waits_for_worker = |op: &Op| {
            let is_sync = op.begun.kind.is_durable() && op.begun.kind != OperationKind::DurableWrite;
            op.begun.by == IssuedBy::IoUring
                && op.begun.process == process
                && may_reach(op, event, seen.at_ns)
                && (op.parts == 0 || is_sync)
                && op.may_send(writes)
        };
        if let Some(worker) = self.slots.oldest(waits_for_worker) {
            return Some(worker);
        }
        // File systems read what is their own, such as folders, in calls that are not followed.
        if writes || !has_data || event.rwbs.meta {
            return None;
        }
        // A fault of a file that needed no disk is over by now.
        let is_recent =
            |fault: &Fault| fault.at_ns >= thread.since_ns && seen.at_ns.saturating_sub(fault.at_ns) < LONGEST_FAULT_NS;
        let fault = thread.fault.filter(is_recent);
        thread.fault = None;
        let began_ns = fault.map_or(seen.at_ns, |fault| fault.at_ns);
        let mut begun = Begun::unnamed(began_ns, seen.thread, process, OperationKind::FaultRead, IssuedBy::Mapping);
        begun.device = fault.map(|fault| fault.device);
        begun.direct = Some(false);
        begun.aim =
            fault.zip(self.capture.as_mut()).and_then(|(fault, capture)| capture.mapped(fault.device, fault.inode));
        let key = self.slots.open(begun);
        thread.op = Some(key);
        thread.state = State::Running;
        thread.since_ns = began_ns;
        Some(key)
    }

    /// The operation that waits for a part which a worker of the kernel queues, or a thread of a volume: it was held back by a
    /// limit, or on its way through the layers.
    fn held_back(&mut self, seen: &Seen, event: &BlockEvent) -> Option<OpKey> {
        let of_volume = is_of_volume(event.name());
        // What an array reads by itself it needs for writes.
        if event.sectors.is_empty() || !event.moves() || of_volume && !event.writes() {
            return None;
        }
        let bytes = event.bytes();
        let limited = self.is_limited;
        // Blocks of a journal are its own, whoever waits for them.
        let of_sync = event.rwbs.sync && (limited || of_volume && !event.rwbs.meta);
        let waits = |op: &Op, exact: bool| {
            let begun = &op.begun;
            let more = limited && begun.asked.is_some_and(|asked| op.sent < asked);
            let may = (op.parts == 0 || more) && op.may_send(event.writes()) && may_reach(op, event, seen.at_ns);
            may && match begun.kind {
                OperationKind::Read | OperationKind::FaultRead => !exact || begun.asked == Some(bytes),
                OperationKind::Write | OperationKind::DurableWrite if begun.direct == Some(true) => {
                    begun.asked.is_none_or(|asked| asked == bytes || !exact && more && bytes < asked)
                }
                OperationKind::Write => false,
                _ => !exact && of_sync,
            }
        };
        let found = self.slots.oldest(|op| waits(op, true)).or_else(|| self.slots.oldest(|op| waits(op, false)));
        if found.is_some() {
            return found;
        }
        // What the kernel writes back by itself nobody waits for.
        if event.writes() && !event.rwbs.sync {
            return None;
        }
        let owed = self.owed.front_mut()?;
        let kind = if event.writes() { OperationKind::Write } else { OperationKind::Read };
        let begun = Begun::unnamed(owed.at_ns.min(seen.at_ns), owed.thread, owed.process, kind, IssuedBy::Aio);
        owed.count = owed.count.saturating_sub(1);
        if owed.count == 0 {
            self.owed.pop_front();
        }
        Some(self.slots.open(begun))
    }

    /// Gives a part to its operation.
    fn give(&mut self, key: OpKey, at_ns: u64, event: &BlockEvent, was_held: bool, files: &mut dyn Files) {
        let limited = self.is_limited;
        let Some(op) = self.slots.get_mut(key) else { return };
        let began_ns = op.begun.at_ns;
        let is_waited_for = matches!(op.begun.by, IssuedBy::Calls | IssuedBy::Mapping);
        if was_held {
            op.add(if limited { Wait::Throttle } else { Wait::BlockQueue }, began_ns, at_ns);
        } else if !is_waited_for && op.parts == 0 {
            op.add(Wait::Processor, began_ns, at_ns);
        }
        if op.begun.file.is_none() && !op.begun.kind.is_durable() && op.parts == 0 {
            op.begun.place = files.place_on(event.disk);
            op.begun.disks = if event.disk < 64 { 1 << event.disk } else { 0 };
            // The older asynchronous I/O waits for nothing but direct requests.
            if op.begun.by == IssuedBy::Aio {
                op.begun.direct = Some(true);
            }
        }
        if (!is_waited_for || op.begun.elsewhere) && !event.sectors.is_empty() {
            if self.disk_streams.len() <= event.disk {
                self.disk_streams.resize(event.disk + 1, Streams::default());
            }
            let continues = self.disk_streams[event.disk].step(event.sectors.start, event.sectors.end);
            if op.parts == 0 {
                op.begun.sequential = continues;
            }
        }
        if !event.sectors.is_empty() {
            op.open += 1;
            op.sector = op.sector.or(Some(event.sectors.start));
        }
        op.disk = op.disk.or(Some(event.disk));
        op.parts += 1;
        op.sent = op.sent.saturating_add(event.bytes());
    }

    /// Why an operation of the subject sends a part.
    fn cause_of_own(&self, key: OpKey, event: &BlockEvent) -> Cause {
        let Some(op) = self.slots.get(key) else { return Cause::Other };
        if !event.moves() {
            return Cause::Other;
        }
        let whole = |asked: u64| asked.saturating_add(PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        match op.begun.kind {
            // What goes beyond what was asked for is read ahead.
            OperationKind::Read if event.rwbs.ahead && op.begun.asked.is_some_and(|asked| op.sent >= whole(asked)) => {
                Cause::ReadAhead
            }
            // Where faults of files are seen, one without is of a page that was taken from the process.
            OperationKind::FaultRead if self.has_faults && op.begun.device.is_none() => Cause::Paging,
            OperationKind::DurableWrite if op.begun.direct != Some(true) => Cause::Sync,
            OperationKind::Fsync | OperationKind::Fdatasync | OperationKind::OtherSync if event.writes() => Cause::Sync,
            _ => Cause::Operation,
        }
    }

    /// Tells of a part that is not the subject's whose it is and why it is there.
    fn of_other(&mut self, seen: &Seen, event: &BlockEvent, origin: &mut Origin, files: &mut dyn Files) {
        let thread = if seen.in_interrupt { 0 } else { seen.thread };
        let user = match self.others.known(thread) {
            Some(user) => user,
            None => self.others.add(thread, who(thread, event.name(), files)),
        };
        origin.user = Some(user);
        origin.journal = self.journals.of_thread(thread).filter(|_| thread != 0);
        if !self.others.is_kernel(user) {
            origin.own = Some(false);
            origin.cause = match (event.moves(), event.rwbs.ahead && event.rwbs.reads) {
                (false, _) => Cause::Other,
                (true, true) => Cause::ReadAhead,
                (true, false) => Cause::Operation,
            };
            return;
        }
        let name = event.name();
        let commits = COMMITTERS.iter().any(|prefix| name.starts_with(prefix));
        // The log of XFS is written by a worker; above a volume any journal is written by the volume's thread.
        let logs = carries_on(name) && (event.rwbs.flush || event.rwbs.fua)
            || is_of_volume(name) && event.rwbs.sync && event.rwbs.meta;
        // What somebody waits for is not written back by the kernel itself, and an array's parity does not tell.
        let is_of_somebody = is_of_volume(name) && (event.rwbs.sync || !name.starts_with(ENCRYPTS));
        origin.own = None;
        origin.cause = if !event.moves() {
            Cause::Other
        } else if origin.journal.is_some() || commits || logs {
            Cause::Journal
        } else if event.rwbs.writes && !is_of_somebody {
            Cause::Writeback
        } else {
            Cause::Other
        };
    }

    /// A part, or a flush, is done.
    fn done(&mut self, done: &Done) {
        let origin = &done.origin;
        let wait = if done.is_flush { Wait::Flush } else { Wait::Device };
        let mut cause = origin.cause;
        let mut ended = None;
        let (has_scheduler, has_rings) = (self.has_scheduler, self.has_rings);
        let is_owned = origin.owner.is_some_and(|owner| self.slots.get(owner).is_some());
        // A read may wait for what a read of its thread before it sent ahead.
        let waiting = match origin.owner {
            Some(owner) if is_owned => Some(owner),
            Some(_) if !origin.writes => self.threads.get(&origin.thread).and_then(|thread| thread.op),
            _ => None,
        };
        if let Some(op) = waiting.and_then(|waiting| self.slots.get_mut(waiting)) {
            if is_owned || op.begun.kind == OperationKind::Read {
                op.add(Wait::BlockQueue, done.queued_ns, done.issued_ns);
                op.add(wait, done.issued_ns, done.at_ns);
            }
            if is_owned {
                op.open = op.open.saturating_sub(1);
                op.flushed_with = op.flushed_with.max(done.flushed_with);
                let ends_here = match op.begun.by {
                    // A sync ends when its worker has done it.
                    IssuedBy::Aio => !op.begun.kind.is_durable(),
                    IssuedBy::IoUring => !has_rings && !op.begun.kind.is_durable(),
                    IssuedBy::Mapping => !has_scheduler,
                    IssuedBy::Calls => false,
                };
                ended = (ends_here && op.open == 0).then_some(op.sent);
            }
        }
        if origin.owner.is_some() && !is_owned && !origin.writes && cause == Cause::Operation {
            cause = Cause::ReadAhead;
        }
        if let Some(journal) = origin.journal {
            self.journals.add(journal, wait, done.issued_ns, done.at_ns);
        }
        if let Some(user) = origin.user {
            self.others.done(user, done.at_ns);
        }
        if cause == Cause::Writeback && done.is_whole {
            self.writeback.ended(done.disk, done.at_ns);
        }
        self.seconds.moved(done.at_ns, origin.own == Some(true), done.bytes);
        self.disk_totals.add(done, cause);
        if let Some((owner, bytes)) = origin.owner.zip(ended) {
            self.finish(owner, done.at_ns, bytes);
        }
    }

    pub(crate) fn split(&mut self, at_ns: u64, disk: usize, from: u64, at: u64) {
        let Some(origin) = self.requests.split(disk, from, at) else { return };
        if let Some(op) = origin.owner.and_then(|owner| self.slots.get_mut(owner)) {
            op.open += 1;
        }
        if let Some(user) = origin.user {
            self.others.begin(user);
        }
        if origin.cause == Cause::Writeback {
            self.writeback.began(disk, at_ns);
        }
    }

    /// A file is synced; by somebody else, it is counted for them.
    pub(crate) fn sync_began(&mut self, seen: &Seen, device: u64, data_only: bool, files: &mut dyn Files) {
        if let Some(process) = self.process_of(seen.thread, seen.at_ns, files) {
            self.tell_ring_sync(seen, process, device, data_only);
        } else if let Some(key) = self.begin_workers_sync(seen, device, data_only, files) {
            if let Some(unended) = self.workers.insert(seen.thread, key) {
                self.slots.close(unended);
            }
        } else {
            self.others.sync_began(seen.thread);
        }
    }

    /// A file was synced.
    pub(crate) fn sync_ended(&mut self, seen: &Seen, files: &mut dyn Files) {
        self.others.sync_ended(seen.thread, seen.at_ns);
        let Some(key) = self.workers.remove(&seen.thread) else { return };
        if let Some(op) = self.slots.get_mut(key) {
            op.begun.place = op.disk.and_then(|disk| files.place_on(disk));
        }
        self.finish(key, seen.at_ns, 0);
    }

    /// The sync that a worker of the kernel carries out for the subject.
    fn of_worker(&self, seen: &Seen) -> Option<OpKey> {
        let key = self.workers.get(&seen.thread).copied().filter(|_| !seen.in_interrupt)?;
        self.slots.get(key).map(|_| key)
    }

    /// Tells the oldest sync of a ring which file system it is on, and whether it syncs data alone: the ring's event has
    /// neither. A thread in a call syncs by that call.
    fn tell_ring_sync(&mut self, seen: &Seen, process: u32, device: u64, data_only: bool) {
        if self.threads.get(&seen.thread).is_some_and(|thread| thread.op.is_some()) {
            return;
        }
        let may_be = |op: &Op| {
            op.begun.by == IssuedBy::IoUring
                && op.begun.kind == OperationKind::Fsync
                && op.begun.process == process
                && op.begun.device.is_none_or(|known| known == device)
        };
        let found = self.slots.oldest(may_be);
        if let Some(op) = found.and_then(|key| self.slots.get_mut(key)) {
            op.begun.device = Some(device);
            if data_only {
                op.begun.kind = OperationKind::Fdatasync;
            }
        }
    }

    /// Begins the sync that a worker of the kernel carries out, if the subject handed it one (libaio's `IO_CMD_FSYNC`):
    /// nothing else that asynchronous calls ask for is done by syncing a file. It is the last one that was handed over, since
    /// writes into the page cache have sent nothing either.
    fn begin_workers_sync(
        &mut self,
        seen: &Seen,
        device: u64,
        data_only: bool,
        files: &mut dyn Files,
    ) -> Option<OpKey> {
        let is_late = |owed: &Owed| seen.at_ns > owed.at_ns.saturating_add(BEGUN_WITHIN_NS);
        while self.unsent.front().is_some_and(is_late) {
            self.unsent.pop_front();
        }
        let owed = self.unsent.back().copied()?;
        let is_worker = match self.others.known(seen.thread) {
            Some(user) => self.others.is_kernel(user),
            None => files.who(seen.thread).is_some_and(|who| who.pid == 0),
        };
        if !is_worker {
            return None;
        }
        if owed.count <= 1 {
            self.unsent.pop_back();
        } else if let Some(last) = self.unsent.back_mut() {
            last.count -= 1;
        }
        self.is_no_longer_owed(owed);
        let kind = if data_only { OperationKind::Fdatasync } else { OperationKind::Fsync };
        let mut begun = Begun::unnamed(owed.at_ns, owed.thread, owed.process, kind, IssuedBy::Aio);
        begun.device = Some(device);
        Some(self.slots.open(begun))
    }

    /// What a worker carries out was none of the requests that a limit holds back.
    fn is_no_longer_owed(&mut self, owed: Owed) {
        let is_it = |one: &Owed| (one.thread, one.at_ns) == (owed.thread, owed.at_ns);
        let Some(at) = self.owed.iter().position(is_it) else { return };
        self.owed[at].count = self.owed[at].count.saturating_sub(1);
        if self.owed[at].count == 0 {
            self.owed.remove(at);
        }
    }
}

/// Who a thread is that is not the subject's. All workers of the kernel and all threads of volumes are one.
fn who(thread: u32, name: &str, files: &mut dyn Files) -> Who {
    let is_kernel = thread == 0 || KERNELS.iter().any(|prefix| name.starts_with(prefix));
    let gone = || Who { name: name.to_string(), pid: if is_kernel { 0 } else { thread }, cgroup: String::new() };
    let who = if thread == 0 { None } else { files.who(thread) };
    let who = who.unwrap_or_else(gone);
    match who.pid {
        0 if carries_on(&who.name) => Who { name: WORKER.trim_end_matches('/').to_string(), ..who },
        0 if who.name.is_empty() => Who { name: "kernel".to_string(), ..who },
        _ => who,
    }
}
