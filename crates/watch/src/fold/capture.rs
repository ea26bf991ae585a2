//! Keeps each operation of the subject, so that it can be asked again elsewhere.
//!
//! A slice of the capture is a slice of the fold: operations that began within. Where events were lost, a slice ends with what was
//! seen whole before, and the next one begins after. What needs more than the first events of an operation,
//! such as its lane and the size of its file, is found when the capture is asked for.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use halfpower_os::trace::Call;
use halfpower_record::{
    AwaitedSync, CaptureSource, Captured, CapturedFile, CapturedOperation, IssuedBy, Lanes, OperationKind,
};

use super::aims::{Aim, Aims, Place};
use super::descriptors::Opened;
use super::files::Files;
use super::group_commits::GroupCommits;
use super::operations::Op;
use super::sectors::{self, Ranks, Reached};
use super::spans::Span;

/// Operations, and waits for syncs of others, that a capture holds; with them its last slice ends.
const MOST_OPERATIONS: usize = 400_000;
/// Threads that have lanes of their own; if there are more, those that follow each other in time share one.
const MOST_THREADS: usize = 1024;
/// Longest file of a capture, in bytes.
const MOST_BYTES: u64 = 1 << 46;

/// What is kept of an application's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recording {
    /// Whether the names of files are kept.
    pub names: bool,
}

/// The slice that goes on.
#[derive(Debug, Clone, Copy)]
struct OpenSlice {
    begin_ns: u64,
    /// Up to here everything was seen.
    whole_to_ns: u64,
    /// Index of its first operation.
    first: usize,
}

/// A slice that is over.
#[derive(Debug, Clone, Copy)]
struct PastSlice {
    begin_ns: u64,
    length_ns: u64,
}

/// An operation that is kept. Its lane, its file's index and its offset are found at the end.
#[derive(Debug, Clone, Copy)]
struct Kept {
    operation: CapturedOperation,
    thread: u32,
    aim: Aim,
    /// Its first place on a disk, as [`sectors::place`] counts it.
    on_disk: Option<u64>,
    /// Whether it was in progress when its slice ended.
    cut: bool,
}

impl Kept {
    fn end_ns(&self) -> u64 {
        self.operation.at_ns.saturating_add(self.operation.took_ns)
    }

    fn writes(&self) -> bool {
        matches!(self.operation.kind, OperationKind::Write | OperationKind::DurableWrite)
    }
}

/// The operations that were kept so far.
#[derive(Debug)]
pub(crate) struct Capture {
    aims: Aims,
    /// Those of past slices in their order, then those of the open slice.
    kept: Vec<Kept>,
    open: Option<OpenSlice>,
    past: Vec<PastSlice>,
    left_out: u64,
    most: usize,
    groups: GroupCommits,
}

impl Capture {
    /// Keeps nothing until a slice begins.
    pub(crate) fn new(recording: Recording) -> Self {
        Self {
            aims: Aims::new(recording.names),
            kept: Vec::new(),
            open: None,
            past: Vec::new(),
            left_out: 0,
            most: MOST_OPERATIONS,
            groups: GroupCommits::default(),
        }
    }

    /// The same with a bound of its own on the number of operations.
    #[cfg(test)]
    pub(crate) fn up_to(recording: Recording, most: usize) -> Self {
        Self { most, ..Self::new(recording) }
    }

    fn is_full(&self) -> bool {
        self.kept.len() + self.groups.count() >= self.most
    }

    /// Tracing begins.
    pub(crate) fn begin_slice(&mut self, at_ns: u64) {
        if !self.is_full() {
            self.open = Some(OpenSlice { begin_ns: at_ns, whole_to_ns: at_ns, first: self.kept.len() });
            self.groups.begin_slice(self.past.len() as u32, at_ns);
        }
    }

    /// Everything was seen until now.
    pub(crate) fn reach(&mut self, at_ns: u64) {
        if let Some(open) = &mut self.open {
            open.whole_to_ns = open.whole_to_ns.max(at_ns);
        }
    }

    /// Events were lost between the last time that everything had been seen and now.
    pub(crate) fn lost(&mut self, at_ns: u64) {
        let Some(open) = self.open else { return };
        self.end_slice(open.whole_to_ns);
        self.begin_slice(at_ns);
    }

    /// Tracing ends. Gives the longest time for which somebody waited for a sync of another in this slice, in nanoseconds.
    pub(crate) fn end_slice(&mut self, at_ns: u64) -> u64 {
        let Some(open) = self.open.take() else { return 0 };
        let length_ns = at_ns.saturating_sub(open.begin_ns);
        let mut own = self.kept.split_off(open.first);
        let seen = own.len();
        own.retain(|kept| {
            length_ns > 0 && (kept.cut || kept.end_ns() <= length_ns) && kept.operation.at_ns < length_ns
        });
        for cut in own.iter_mut().filter(|kept| kept.cut) {
            cut.operation.took_ns = length_ns - cut.operation.at_ns;
        }
        self.left_out += (seen - own.len()) as u64;
        let longest_ns = self.groups.end_slice(length_ns);
        if length_ns > 0 {
            own.sort_by_key(|kept| kept.operation.at_ns);
            self.kept.append(&mut own);
            self.past.push(PastSlice { begin_ns: open.begin_ns, length_ns });
        }
        longest_ns
    }

    /// Where an operation on an open file is to go; a descriptor is one of a process.
    pub(crate) fn opened(
        &mut self,
        descriptor: (u32, u32),
        opened: &Opened,
        place: Place,
        files: &mut dyn Files,
    ) -> Option<Aim> {
        // What cannot be kept need not be looked at.
        if self.is_full() { None } else { self.aims.opened(descriptor, opened, place, files) }
    }

    /// Where a page fault of a mapped file goes.
    pub(crate) fn mapped(&mut self, device: u64, inode: u64) -> Option<Aim> {
        if self.is_full() { None } else { self.aims.mapped(device, inode) }
    }

    /// An operation has ended.
    pub(crate) fn ended(&mut self, op: &Op, at_ns: u64, bytes: u64, cached: bool) {
        if !self.keep(op, at_ns, bytes, cached, false) {
            self.left_out += 1;
        }
        if let Some(open) = self.open.filter(|_| self.is_full()) {
            let last_ns = self.kept[open.first..].iter().map(Kept::end_ns).max();
            self.end_slice(open.begin_ns + last_ns.unwrap_or(0));
        }
    }

    /// An operation is in progress when tracing ends.
    pub(crate) fn cut(&mut self, op: &Op, at_ns: u64) {
        if !self.is_full() {
            self.keep(op, at_ns, op.begun.asked.unwrap_or(op.sent), false, true);
        }
    }

    /// Keeps an operation; false if it cannot be asked again.
    fn keep(&mut self, op: &Op, ended_ns: u64, bytes: u64, cached: bool, cut: bool) -> bool {
        let begun = &op.begun;
        let Some(open) = self.open else { return false };
        let Some(at_ns) = begun.at_ns.checked_sub(open.begin_ns) else { return false };
        let Some(aim) = self.aim(op, bytes) else { return false };
        let kind = match (begun.kind, begun.call) {
            (OperationKind::FaultRead, _) => OperationKind::Read,
            // It makes the file durable, which `sync_file_range` does not.
            (_, Some(Call::Syncfs)) => OperationKind::Fsync,
            (kind, _) => kind,
        };
        let writes = matches!(kind, OperationKind::Write | OperationKind::DurableWrite);
        let moves = writes || kind == OperationKind::Read;
        let bytes = if moves { bytes } else { 0 };
        let on_disk = op.disk.zip(op.sector).filter(|_| moves).map(|(disk, sector)| sectors::place(disk, sector));
        let offset = if moves { self.aims.went(aim, writes, bytes, on_disk) } else { 0 };
        if offset.saturating_add(bytes) > MOST_BYTES {
            return false;
        }
        let operation = CapturedOperation {
            slice: self.past.len() as u32,
            lane: 0,
            at_ns,
            took_ns: ended_ns.saturating_sub(begun.at_ns),
            kind,
            file: aim.file,
            offset,
            bytes,
            cached,
        };
        self.kept.push(Kept { operation, thread: begun.thread, aim, on_disk, cut });
        if cut {
            return true;
        }
        self.groups.ended(begun.thread, aim.file, kind, Span::new(begun.at_ns, ended_ns.max(begun.at_ns)));
        true
    }

    /// When the open slice began, if that is later.
    pub(crate) fn slice_after(&self, at_ns: u64) -> Option<u64> {
        self.open.map(|open| open.begin_ns).filter(|begin_ns| *begin_ns > at_ns)
    }

    /// A thread gets a processor.
    pub(crate) fn runs(&mut self, thread: u32, at_ns: u64) {
        self.groups.runs(thread, at_ns);
    }

    /// A thread goes to sleep.
    pub(crate) fn sleeps(&mut self, thread: u32) {
        self.groups.sleeps(thread);
    }

    /// A thread, which has run since the time that stands beside it, wakes another one, which has slept likewise.
    pub(crate) fn wakes(&mut self, waker: (u32, u64), at_ns: u64, woken: (u32, u64)) {
        if self.open.is_some() {
            self.groups.wakes(waker, at_ns, woken);
        }
    }

    /// Where an operation that has ended went; `None` if its file is not known.
    fn aim(&mut self, op: &Op, bytes: u64) -> Option<Aim> {
        let begun = &op.begun;
        if begun.aim.is_some() || begun.file.is_some() {
            return begun.aim;
        }
        match (begun.by, begun.kind) {
            (IssuedBy::Calls | IssuedBy::Mapping, _) => None,
            // It syncs what was written likewise.
            (_, OperationKind::Fsync | OperationKind::Fdatasync | OperationKind::OtherSync) => {
                self.aims.written(begun.process, op.disk, op.sent == bytes)
            }
            // What passes the page cache by sends what it moves, and no more.
            (_, kind) => {
                let aim = self.aims.disk(op.disk?, begun.direct.unwrap_or(op.sent == bytes));
                let writes = matches!(kind, OperationKind::Write | OperationKind::DurableWrite);
                if let Some((aim, disk)) = aim.zip(op.disk).filter(|_| writes) {
                    self.aims.wrote(begun.process, disk, aim.file);
                }
                aim
            }
        }
    }

    /// What was kept of past slices; the fold names disks by their index in this list.
    pub(crate) fn captured(&self, disks: &[String]) -> Captured {
        let settled = self.open.map_or(self.kept.len(), |open| open.first);
        let kept = &self.kept[..settled];
        let like = Like::of(kept, |one| self.aims.files()[one.aim.file as usize].direct);
        let mut cut = 0;
        let mut places = Places { ranks: self.ranks(kept), last: BTreeMap::new() };
        let whos = whos(kept, &self.past, self.groups.past());
        let mut lanes = Lanes::new();
        let mut files = Sizes::default();
        let mut operations = Vec::with_capacity(kept.len());
        let mut writers = BTreeMap::new();
        for one in kept {
            let CapturedOperation { slice, at_ns, took_ns, bytes, .. } = one.operation;
            let offset = self.offset(one, &mut places).min(MOST_BYTES - bytes);
            let begin_ns = self.past[slice as usize].begin_ns + at_ns;
            let who = whos.get(&one.thread).copied().unwrap_or(u64::from(one.thread));
            let lane = lanes.lane(who, begin_ns, begin_ns + took_ns);
            let aimed = &self.aims.files()[one.aim.file as usize];
            let file = files.add(one.aim.file, aimed.bytes, one.writes(), offset + bytes);
            let mut operation = CapturedOperation { lane, file, offset, ..one.operation };
            if one.cut {
                like.stand_in(&mut operation, aimed.direct, cut);
                cut += 1;
            }
            operations.push(operation);
            if one.writes() || one.operation.kind.is_durable() {
                writers.entry((one.thread, one.aim.file)).or_insert((lane, file));
            }
        }
        let awaited = self.groups.awaited(&writers);
        let threads: BTreeSet<u32> = kept.iter().map(|one| one.thread).collect();
        Captured {
            source: CaptureSource::Watch,
            slices: self.past.iter().map(|slice| slice.length_ns).collect(),
            left_out: self.left_out,
            cut,
            files: files.used.iter().map(|size| self.file(size, disks)).collect(),
            lanes: lanes.count(),
            operations,
            awaited,
            threads: threads.len() as u32,
            ..Captured::default()
        }
    }

    fn file(&self, size: &Size, disks: &[String]) -> CapturedFile {
        let aimed = &self.aims.files()[size.file as usize];
        let of_disk = || aimed.disk.and_then(|disk| disks.get(disk)).filter(|_| self.aims.has_names()).cloned();
        CapturedFile { bytes: size.bytes, direct: aimed.direct, name: aimed.name.clone().or_else(of_disk) }
    }

    /// Where an operation went.
    fn offset(&self, kept: &Kept, places: &mut Places) -> u64 {
        let CapturedOperation { offset, bytes, .. } = kept.operation;
        // A sync has no place.
        if bytes == 0 {
            return 0;
        }
        let file = kept.aim.file;
        let by_sector = self.aims.is_by_sector(kept.aim);
        match kept.on_disk.filter(|_| by_sector) {
            Some(place) => {
                let offset = places.ranks.offset(file, place);
                places.last.insert(file, (offset, bytes));
                offset
            }
            None => match places.last.get(&file) {
                // What was in memory was read before, such as this.
                Some((last, room)) if by_sector && !kept.writes() && bytes <= *room => *last,
                _ => self.aims.settled(kept.aim, kept.writes(), offset, bytes),
            },
        }
    }

    fn ranks(&self, kept: &[Kept]) -> Ranks {
        let by_sector = kept.iter().filter(|kept| self.aims.is_by_sector(kept.aim));
        let places = by_sector.filter_map(|kept| Some((kept.aim.file, kept.on_disk?, kept.operation.bytes)));
        Reached::of(places).ranks()
    }
}

/// How long whole operations of a kind took, those past the page cache apart, and whether they needed no disk; shortest first.
#[derive(Debug, Default)]
struct Like(BTreeMap<(OperationKind, bool), Vec<(u64, bool)>>);

impl Like {
    fn of(kept: &[Kept], is_direct: impl Fn(&Kept) -> bool) -> Self {
        let mut like = Self::default();
        for one in kept.iter().filter(|one| !one.cut) {
            let CapturedOperation { kind, took_ns, cached, .. } = one.operation;
            like.0.entry((kind, is_direct(one))).or_default().push((took_ns, cached));
        }
        like.0.values_mut().for_each(|alike| alike.sort_unstable());
        like
    }

    /// Lets one that was cut, the n-th of all, take as long as one like it that was not over either after so long. So each of
    /// these stands in as often, and what a capture holds is what slices without ends would have seen. If there is none, it
    /// stays as it was seen.
    fn stand_in(&self, cut: &mut CapturedOperation, is_direct: bool, number: u64) {
        // Multiples of the golden ratio's fraction are spread evenly, however many there are.
        const GOLDEN: f64 = 0.618_033_988_749_895;
        let Some(alike) = self.0.get(&(cut.kind, is_direct)) else { return };
        let longer = &alike[alike.partition_point(|(took_ns, _)| *took_ns <= cut.took_ns)..];
        let at = (number as f64 * GOLDEN).fract() * longer.len() as f64;
        if let Some((took_ns, cached)) = longer.get(at as usize) {
            cut.took_ns = *took_ns;
            cut.cached = *cached;
        }
    }
}

/// Where operations went that only sectors place.
#[derive(Debug)]
struct Places {
    ranks: Ranks,
    /// The last one in each file, and its bytes.
    last: BTreeMap<u32, (u64, u64)>,
}

/// A file that is used, and its size.
#[derive(Debug)]
struct Size {
    /// Its index among all that were seen.
    file: u32,
    bytes: u64,
    /// Up to where it was written.
    written: u64,
}

/// The files that are used, in the order of their first use.
#[derive(Debug, Default)]
struct Sizes {
    used: Vec<Size>,
    index: BTreeMap<u32, u32>,
}

impl Sizes {
    /// An operation ends at `end` in a file; its index among those that are used. What was there before is as large as what
    /// was known of it, and as what was read of it; a device is as large as what was reached.
    fn add(&mut self, file: u32, known: Option<u64>, writes: bool, end: u64) -> u32 {
        let used = &mut self.used;
        let index = *self.index.entry(file).or_insert_with(|| {
            used.push(Size { file, bytes: known.unwrap_or(0).min(MOST_BYTES), written: 0 });
            used.len() as u32 - 1
        });
        let size = &mut self.used[index as usize];
        if writes && known.is_some() {
            size.written = size.written.max(end);
        } else if end > size.bytes.max(size.written) {
            size.bytes = end;
        }
        index
    }
}

/// Who stands for each thread, if there are so many that those which followed each other share lanes: a program that starts a
/// process for each piece of work has as many as worked at once.
fn whos(kept: &[Kept], past: &[PastSlice], waits: impl Iterator<Item = (u32, AwaitedSync)>) -> BTreeMap<u32, u64> {
    let mut lives = BTreeMap::<u32, (u64, u64)>::new();
    for one in kept {
        let begin_ns = past[one.operation.slice as usize].begin_ns;
        let from_ns = begin_ns + one.operation.at_ns;
        let to_ns = begin_ns + one.end_ns();
        let life = lives.entry(one.thread).or_insert((from_ns, to_ns));
        *life = (life.0.min(from_ns), life.1.max(to_ns));
    }
    if lives.len() <= MOST_THREADS {
        return BTreeMap::new();
    }
    // While it waits for a sync of another one, nobody follows it.
    for (thread, wait) in waits {
        let from_ns = past[wait.slice as usize].begin_ns + wait.at_ns;
        if let Some(life) = lives.get_mut(&thread) {
            *life = (life.0.min(from_ns), life.1.max(from_ns + wait.took_ns));
        }
    }
    let mut by_beginning: Vec<(u64, u64, u32)> =
        lives.into_iter().map(|(thread, (from_ns, to_ns))| (from_ns, to_ns, thread)).collect();
    by_beginning.sort_unstable();
    let mut ends = BinaryHeap::<Reverse<(u64, u64)>>::new();
    let mut whos = BTreeMap::new();
    for (from_ns, to_ns, thread) in by_beginning {
        let is_over = ends.peek().is_some_and(|earliest| earliest.0.0 <= from_ns);
        let who = if is_over { ends.pop().map(|earliest| earliest.0.1) } else { None };
        let who = who.unwrap_or(u64::from(thread));
        ends.push(Reverse((to_ns, who)));
        whos.insert(thread, who);
    }
    whos
}
