//! Keeps what is known of the subject's descriptors and of the files behind them.

use super::files::{FileSeen, Files};
use super::keys::ByNumber;
use super::streams::Streams;

/// A descriptor may be closed, and opened on another file: it is looked up again after this time, and sooner where files are
/// written by it, such as the parts of a log.
const LOOK_AGAIN_NS: u64 = 1_000_000_000;
/// Files that are remembered.
const REMEMBERED: usize = 1 << 16;
/// Calls without an offset between two looks that show whether the position moved as far as the bytes did.
const CALLS_TO_JUDGE: u64 = 8;

/// A file that operations went to.
#[derive(Debug, Default)]
struct FileState {
    /// By direction: reads, writes.
    streams: [Streams; 2],
    /// Its length as far as known.
    bytes: Option<u64>,
}

/// A descriptor of a process.
#[derive(Debug, Default)]
struct Descriptor {
    looked_ns: u64,
    seen: Option<(u32, FileSeen)>,
    /// Calls without an offset, and the bytes that they asked for, since the look.
    calls: u64,
    moved: u64,
    /// Whether there was a call without an offset before.
    used: bool,
    /// Whether its position jumps between the calls.
    seeks: bool,
    /// Whether something was written or synced by it.
    writes: bool,
    /// Whether it was closed since the look, or may have been while nothing was traced.
    may_be_another: bool,
}

/// What a call's descriptor is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opened {
    /// Index of the file.
    pub(crate) file: u32,
    pub(crate) seen: FileSeen,
    /// Whether its position is at the end of the file.
    pub(crate) at_end: bool,
    /// When it was looked at.
    pub(crate) looked_ns: u64,
}

/// All descriptors and files of the subject.
#[derive(Debug, Default)]
pub(crate) struct Descriptors {
    known: ByNumber<(u32, u32), Descriptor>,
    files: Vec<FileState>,
    /// Index of each file, by device and inode.
    index: ByNumber<(u64, u64), u32>,
}

impl Descriptors {
    /// The file behind a descriptor; `None` if it is none that holds data.
    pub(crate) fn find(&mut self, process: u32, fd: u32, at_ns: u64, files: &mut dyn Files) -> Option<Opened> {
        let is_fresh = |known: &Descriptor| !known.may_be_another && !known.is_due(at_ns);
        if !self.known.get(&(process, fd)).is_some_and(is_fresh) {
            let seen = files.file(process, fd).map(|seen| (self.file_of(&seen), seen));
            self.known.entry((process, fd)).or_default().look(at_ns, seen);
        }
        let known = self.known.get(&(process, fd))?;
        let (file, seen) = known.seen?;
        let at_end = seen.bytes.is_some_and(|bytes| seen.position >= bytes);
        Some(Opened { file, seen, at_end, looked_ns: known.looked_ns })
    }

    /// Something is written or synced by a descriptor.
    pub(crate) fn writes(&mut self, process: u32, fd: u32) {
        if let Some(known) = self.known.get_mut(&(process, fd)) {
            known.writes = true;
        }
    }

    /// A descriptor is closed: what comes by this number later goes on where nothing was before.
    pub(crate) fn closes(&mut self, process: u32, fd: u32) {
        if let Some(known) = self.known.get_mut(&(process, fd)) {
            known.may_be_another |= known.writes;
            known.used = false;
        }
    }

    /// For some time nothing was seen.
    pub(crate) fn were_unseen(&mut self) {
        self.known.values_mut().for_each(|known| known.may_be_another |= known.writes);
    }

    fn file_of(&mut self, seen: &FileSeen) -> u32 {
        if self.files.len() >= REMEMBERED {
            self.files.clear();
            self.index.clear();
            self.known.clear();
        }
        let files = &mut self.files;
        let index = *self.index.entry((seen.device, seen.inode)).or_insert_with(|| {
            files.push(FileState { bytes: seen.bytes, ..FileState::default() });
            files.len() as u32 - 1
        });
        // It grows by what is seen to be written; that it was cut short only a look tells.
        if let Some(file) = self.files.get_mut(index as usize) {
            file.bytes = file.bytes.zip(seen.bytes).map(|(known, now)| known.min(now));
        }
        index
    }

    /// Whether a call with an offset continues where one before on the same file ended. A call whose size is not known
    /// ends where [`Self::ended`] says.
    pub(crate) fn at_offset(&mut self, file: u32, offset: u64, asked: Option<u64>, writes: bool) -> bool {
        let Some(file) = self.files.get_mut(file as usize) else { return false };
        file.streams[usize::from(writes)].step(offset, offset.saturating_add(asked.unwrap_or(0)))
    }

    /// Whether a call without an offset continues where the one before on the same descriptor ended.
    pub(crate) fn at_position(&mut self, process: u32, fd: u32, asked: Option<u64>) -> bool {
        let Some(known) = self.known.get_mut(&(process, fd)) else { return false };
        let continues = known.used && !known.seeks;
        known.used = true;
        known.calls += 1;
        known.moved += asked.unwrap_or(0);
        continues
    }

    /// Whether a call that leaves the position alone, at an offset that no event tells, comes after another one on the same
    /// descriptor: so it goes on, as long as its requests do not tell otherwise.
    pub(crate) fn elsewhere(&mut self, process: u32, fd: u32) -> bool {
        self.known.get_mut(&(process, fd)).is_some_and(|known| std::mem::replace(&mut known.used, true))
    }

    /// Where a call with an offset ended whose size was not known before.
    pub(crate) fn ended(&mut self, file: u32, offset: u64, bytes: u64, writes: bool) {
        if let Some(file) = self.files.get_mut(file as usize) {
            file.streams[usize::from(writes)].lengthen(offset, offset.saturating_add(bytes));
        }
    }

    /// Whether a write that ended there made its file longer.
    pub(crate) fn grew(&mut self, file: u32, end: u64) -> bool {
        let known = self.files.get_mut(file as usize).and_then(|file| file.bytes.as_mut());
        match known {
            Some(bytes) if end > *bytes => {
                *bytes = end;
                true
            }
            _ => false,
        }
    }
}

impl Descriptor {
    /// Whether it is to be looked at, whatever was seen of it.
    fn is_due(&self, at_ns: u64) -> bool {
        at_ns >= self.looked_ns.saturating_add(LOOK_AGAIN_NS)
    }

    /// Takes what a new look showed.
    fn look(&mut self, at_ns: u64, seen: Option<(u32, FileSeen)>) {
        // A look comes after the call, and what is gone by then was a file: the one before is as good as any.
        if std::mem::take(&mut self.may_be_another) && seen.is_none() && !self.is_due(at_ns) {
            return;
        }
        self.looked_ns = at_ns;
        let before = self.seen.zip(seen).filter(|((before, _), (now, _))| before == now);
        match before {
            Some(((_, before), (_, now))) if self.calls >= CALLS_TO_JUDGE && self.moved > 0 => {
                let went = now.position.abs_diff(before.position);
                self.seeks = went > self.moved.saturating_mul(2) || went < self.moved / 2;
            }
            Some(_) => {}
            None => *self = Self { looked_ns: at_ns, ..Self::default() },
        }
        self.seen = seen;
        self.calls = 0;
        self.moved = 0;
    }
}
