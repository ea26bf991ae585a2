//! Names the files of a capture, and follows where operations go whose place no call tells.
//!
//! Calls that name an offset go there. Those that go on at the position of their descriptor are a stream: each begins where
//! the one before it ended, from the position that a look at the descriptor told. A look comes after the calls that were
//! queued until then, so a stream may be ahead by these; a position that is behind the stream was set back by the
//! application, and begins a new one. Where the application sets it between its calls, no look can follow; the sectors of
//! its requests tell that, as they do not go on as the stream does.

use super::descriptors::Opened;
use super::files::{FileSeen, Files};
use super::keys::ByNumber;

/// Files that a capture may have; operations on more are left out.
const MOST_FILES: usize = 1 << 14;
/// Descriptors whose streams are followed at once.
const MOST_DESCRIPTORS: usize = 1 << 16;
/// Requests of a stream that are at other sectors than the stream tells, before these are trusted more.
const LEAST_DIFFERS: u64 = 4;
/// Places that are put into a file stay aligned to this.
const PAGE_BYTES: u64 = 4096;

/// Where an operation is asked to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// To this offset; a sync goes to 0.
    At(u64),
    /// To the end of the file.
    End,
    /// On from the position of its descriptor.
    Position,
    /// No event tells.
    Unknown,
}

/// Where an operation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aim {
    /// Index of its file.
    pub(crate) file: u32,
    pub(crate) at: Aimed,
}

/// Where in its file an operation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aimed {
    /// To this offset.
    Offset(u64),
    /// To the end of the file.
    End,
    /// To where this stream goes on.
    Stream(u32),
    /// Nothing tells but its first sector, if it needs the disk.
    Unknown,
}

/// What tells one file from another. A file that is open with and without direct I/O is two, and so are a removed one and the one
/// that got its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum FileKey {
    /// A file, or a block device that is open.
    File { device: u64, inode: u64, born_ns: u64, direct: bool },
    /// Whatever of a disk is reached by asynchronous operations whose files no event names.
    Disk { disk: usize, direct: bool },
}

/// A file that operations go to.
#[derive(Debug)]
pub(crate) struct AimedFile {
    pub(crate) direct: bool,
    pub(crate) name: Option<String>,
    /// The disk that it stands for, if it is not one file.
    pub(crate) disk: Option<usize>,
    /// Its length when it was first looked at; `None` if not known, and for devices.
    pub(crate) bytes: Option<u64>,
    /// Its largest length of all looks.
    longest: u64,
    /// Where what is appended goes.
    end: u64,
    /// Where the last operation of unknown place ended, by direction: reads, writes.
    ends: [u64; 2],
}

impl AimedFile {
    fn look(&mut self, bytes: Option<u64>) {
        let Some(bytes) = bytes else { return };
        if self.bytes.is_none() {
            self.bytes = Some(bytes);
            self.end = self.end.max(bytes);
        }
        self.longest = self.longest.max(bytes);
    }
}

/// The stream of a descriptor.
#[derive(Debug)]
struct Held {
    looked_ns: u64,
    file: u32,
    stream: u32,
}

/// Calls that go on at the position of their descriptor.
#[derive(Debug)]
struct Stream {
    position: u64,
    /// Bytes since the last look.
    moved: u64,
    /// From the last place in the file to that on the disk, and how often that was the same as before, and how often not.
    distance: Option<u64>,
    agrees: u64,
    differs: u64,
}

impl Stream {
    fn new(position: u64) -> Self {
        Self { position, moved: 0, distance: None, agrees: 0, differs: 0 }
    }

    /// Moves on by an operation that has ended; where it began.
    fn went(&mut self, bytes: u64, on_disk: Option<u64>) -> u64 {
        let offset = self.position;
        self.position = offset.saturating_add(bytes);
        self.moved = self.moved.saturating_add(bytes);
        if let Some(place) = on_disk {
            let distance = place.wrapping_sub(offset);
            match self.distance.replace(distance) {
                Some(before) if before == distance => self.agrees += 1,
                Some(_) => self.differs += 1,
                None => {}
            }
        }
        offset
    }

    /// Whether the application sets its position between the calls.
    fn jumps(&self) -> bool {
        self.differs >= LEAST_DIFFERS && self.differs > self.agrees
    }
}

/// The files and the streams of a capture.
#[derive(Debug)]
pub(crate) struct Aims {
    has_names: bool,
    files: Vec<AimedFile>,
    index: ByNumber<FileKey, u32>,
    /// When the file that has an inode of a device now was made.
    born_ns: ByNumber<(u64, u64), u64>,
    held: ByNumber<(u32, u32), Held>,
    streams: Vec<Stream>,
    /// The disk and the file of each process's last write whose file no event named.
    unnamed: ByNumber<u32, (usize, u32)>,
}

impl Aims {
    /// Knows no file yet; names are asked for only if they are to be kept.
    pub(crate) fn new(has_names: bool) -> Self {
        Self {
            has_names,
            files: Vec::new(),
            index: ByNumber::default(),
            born_ns: ByNumber::default(),
            held: ByNumber::default(),
            streams: Vec::new(),
            unnamed: ByNumber::default(),
        }
    }

    /// Whether names are kept.
    pub(crate) fn has_names(&self) -> bool {
        self.has_names
    }

    /// All files, by their index.
    pub(crate) fn files(&self) -> &[AimedFile] {
        &self.files
    }

    /// Where an operation on an open file goes; `None` if there are too many files. A descriptor is one of a process.
    pub(crate) fn opened(
        &mut self,
        descriptor: (u32, u32),
        opened: &Opened,
        place: Place,
        files: &mut dyn Files,
    ) -> Option<Aim> {
        let seen = &opened.seen;
        let FileSeen { device, inode, born_ns, direct, .. } = *seen;
        self.born_ns.insert((device, inode), born_ns);
        let file = self.file(FileKey::File { device, inode, born_ns, direct })?;
        let known = &mut self.files[file as usize];
        known.look(seen.bytes);
        if self.has_names && known.name.is_none() {
            let (process, fd) = descriptor;
            known.name = files.name(process, fd);
        }
        let at = match place {
            Place::At(offset) => Aimed::Offset(offset),
            Place::End => Aimed::End,
            Place::Position => Aimed::Stream(self.stream(descriptor, file, opened)),
            Place::Unknown => Aimed::Unknown,
        };
        Some(Aim { file, at })
    }

    /// Where a page fault of a mapped file goes.
    pub(crate) fn mapped(&mut self, device: u64, inode: u64) -> Option<Aim> {
        let born_ns = self.born_ns.get(&(device, inode)).copied().unwrap_or(0);
        let file = self.file(FileKey::File { device, inode, born_ns, direct: false })?;
        Some(Aim { file, at: Aimed::Unknown })
    }

    /// Where an asynchronous operation goes of which nothing but its disk is known.
    pub(crate) fn disk(&mut self, disk: usize, direct: bool) -> Option<Aim> {
        let file = self.file(FileKey::Disk { disk, direct })?;
        Some(Aim { file, at: Aimed::Unknown })
    }

    /// A process wrote to such a file.
    pub(crate) fn wrote(&mut self, process: u32, disk: usize, file: u32) {
        self.unnamed.insert(process, (disk, file));
    }

    /// Where an asynchronous sync goes whose file no event names: to where its process wrote last likewise, on this disk if it
    /// is known; else to all of that disk, with or without direct I/O.
    pub(crate) fn written(&mut self, process: u32, disk: Option<usize>, direct: bool) -> Option<Aim> {
        let wrote = self.unnamed.get(&process).copied();
        match (wrote, disk) {
            (Some((wrote_to, file)), disk) if disk.is_none_or(|disk| disk == wrote_to) => {
                Some(Aim { file, at: Aimed::Offset(0) })
            }
            (_, Some(disk)) => self.disk(disk, direct),
            (_, None) => None,
        }
    }

    fn file(&mut self, key: FileKey) -> Option<u32> {
        if let Some(known) = self.index.get(&key) {
            return Some(*known);
        }
        if self.files.len() >= MOST_FILES {
            return None;
        }
        let (direct, disk) = match key {
            FileKey::File { direct, .. } => (direct, None),
            FileKey::Disk { disk, direct } => (direct, Some(disk)),
        };
        let file = self.files.len() as u32;
        self.files.push(AimedFile { direct, name: None, disk, bytes: None, longest: 0, end: 0, ends: [0; 2] });
        self.index.insert(key, file);
        Some(file)
    }

    /// The stream of a descriptor that is on this file.
    fn stream(&mut self, descriptor: (u32, u32), file: u32, opened: &Opened) -> u32 {
        let position = opened.seen.position;
        if let Some(held) = self.held.get_mut(&descriptor).filter(|held| held.file == file) {
            if held.looked_ns == opened.looked_ns {
                return held.stream;
            }
            held.looked_ns = opened.looked_ns;
            let stream = &mut self.streams[held.stream as usize];
            let moved = std::mem::take(&mut stream.moved);
            if position.saturating_add(moved / 2) >= stream.position {
                return held.stream;
            }
        }
        if self.held.len() >= MOST_DESCRIPTORS {
            self.held.clear();
        }
        let stream = self.streams.len() as u32;
        self.streams.push(Stream::new(position));
        self.held.insert(descriptor, Held { looked_ns: opened.looked_ns, file, stream });
        stream
    }

    /// Where an operation that has ended went, as far as it is known now, given its first place on a disk; what follows it goes
    /// on from there.
    pub(crate) fn went(&mut self, aim: Aim, writes: bool, bytes: u64, on_disk: Option<u64>) -> u64 {
        let file = &mut self.files[aim.file as usize];
        match aim.at {
            Aimed::Offset(offset) => {
                if writes {
                    file.end = file.end.max(offset.saturating_add(bytes));
                }
                offset
            }
            Aimed::End => {
                let offset = file.end;
                file.end = offset.saturating_add(bytes);
                offset
            }
            Aimed::Stream(stream) => self.streams[stream as usize].went(bytes, on_disk),
            Aimed::Unknown => {
                let end = &mut file.ends[usize::from(writes)];
                let offset = *end;
                *end = offset.saturating_add(bytes);
                offset
            }
        }
    }

    /// Whether its first sector tells better where an operation went than what was followed.
    pub(crate) fn is_by_sector(&self, aim: Aim) -> bool {
        match aim.at {
            Aimed::Offset(_) | Aimed::End => false,
            Aimed::Stream(stream) => self.streams[stream as usize].jumps(),
            Aimed::Unknown => true,
        }
    }

    /// Where an operation went, from what is known at the end: nothing that was followed goes beyond what its file has.
    pub(crate) fn settled(&self, aim: Aim, writes: bool, offset: u64, bytes: u64) -> u64 {
        let file = &self.files[aim.file as usize];
        let Some(first) = file.bytes else { return offset };
        let size = first.max(file.longest).max(file.end);
        match aim.at {
            Aimed::Offset(_) | Aimed::End => offset,
            // What was written before the last look is no longer than the file was then.
            Aimed::Stream(stream) if writes => {
                within(offset, bytes, size.saturating_add(self.streams[stream as usize].moved))
            }
            Aimed::Stream(_) | Aimed::Unknown => within(offset, bytes, size),
        }
    }
}

/// A place for so many bytes in a file of this size: this offset, or where it comes to if the file begins again at its end.
fn within(offset: u64, bytes: u64, size: u64) -> u64 {
    if offset.saturating_add(bytes) <= size {
        return offset;
    }
    let places = size.saturating_sub(bytes) / PAGE_BYTES + 1;
    offset / PAGE_BYTES % places * PAGE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_beyond_a_file_begins_again_in_it() {
        assert_eq!(within(8192, 4096, 12_288), 8192);
        assert_eq!([0, 1, 2, 3, 4].map(|block| within(12_288 + block * 4096, 4096, 12_288)), [0, 4096, 8192, 0, 4096]);
        assert_eq!(within(1 << 40, 8192, 12_288), 0);
        assert_eq!(within(5000, 8192, 4096), 0);
        assert_eq!(within(u64::MAX, u64::MAX, 0), 0);
    }
}
