//! Has the files of a capture in a folder, our own, without names, gone with the process; or in one that is there.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use halfpower_os::data_file::{free_bytes_of, kind};
use halfpower_os::interrupt::resumed;
use halfpower_os::{Buffers, DataFile, Kind, Mode, RunFile, open_files};
use halfpower_record::{Captured, CapturedFile, CapturedOperation, OperationKind};

use crate::ReplayError;
use crate::touched::{Needs, PIECE_BYTES};

/// Bytes with which a folder is asked whether it takes direct requests.
const TRIED_BYTES: usize = 64 << 10;
/// Files that this process has open besides.
const OTHER_FILES: u64 = 64;

/// The files of a capture, as they are here.
pub(crate) struct LaidOut {
    /// By index into the capture's files; `None` for those that no operation is on.
    pub files: Vec<Option<FileHere>>,
    /// Bytes that were written to lay them out.
    pub bytes: u64,
    /// Files whose requests passed the page cache by when they were captured, and cannot here.
    pub not_direct: usize,
    /// Whether each lane has handles of its own.
    pub own_handles: bool,
}

/// Where a capture is asked again.
#[derive(Debug)]
pub enum ReplayPlace<'a> {
    /// Of files of our own in this folder.
    Folder(&'a Path),
    /// Of this file or block device that is there, which is the capture's only file; open for writing if the capture writes.
    There(DataFile),
}

impl<'a> From<&'a Path> for ReplayPlace<'a> {
    fn from(folder: &'a Path) -> Self {
        Self::Folder(folder)
    }
}

impl From<DataFile> for ReplayPlace<'_> {
    fn from(data: DataFile) -> Self {
        Self::There(data)
    }
}

/// A file of a capture, as it is here.
pub(crate) struct FileHere {
    data: DataFile,
    /// Whether it is opened for writing.
    is_writable: bool,
    direct: bool,
    /// Offsets and lengths must be multiples of this.
    pub alignment: u64,
    bytes: u64,
    /// Whether writes go beyond its end.
    pub grows: bool,
    cold: Vec<Range<u64>>,
}

/// The files of a capture in a place: laid out in a folder, or the one that is there.
///
/// # Errors
/// As [`lay_out`] and [`there`].
pub(crate) fn at(
    place: ReplayPlace<'_>,
    captured: &Captured,
    needs: Vec<Needs>,
    seed: u64,
    stop: &AtomicBool,
) -> Result<LaidOut, ReplayError> {
    match place {
        ReplayPlace::Folder(folder) => lay_out(folder, captured, needs, seed, stop),
        ReplayPlace::There(data) => there(data, captured, needs),
    }
}

/// Refuses a capture of several files for one file or device at `path`.
///
/// # Errors
/// [`ReplayError::SeveralFiles`].
pub fn has_one_file(captured: &Captured, path: &Path) -> Result<(), ReplayError> {
    let files = captured.operations.iter().map(|operation| operation.file).collect::<BTreeSet<_>>().len();
    if files <= 1 { Ok(()) } else { Err(ReplayError::SeveralFiles { path: path.to_path_buf(), files }) }
}

/// A file or device that is there, as the only file of a capture.
///
/// # Errors
/// A sentence if the capture has several files, or reaches beyond the end of this one.
fn there(data: DataFile, captured: &Captured, needs: Vec<Needs>) -> Result<LaidOut, ReplayError> {
    has_one_file(captured, data.path())?;
    let own_handles = has_own_handles(captured, &needs)?;
    let operations = &captured.operations;
    let reached_bytes = operations.iter().map(|one| one.offset.saturating_add(one.bytes)).max().unwrap_or(0);
    let bytes = data.size_bytes()?;
    let wants_direct = captured.files.iter().zip(&needs).any(|(file, needs)| file.direct && needs.is_used);
    let alignment = if wants_direct { unit_of(&data)? } else { None };
    // What is written is widened to whole blocks, and must not make the file longer.
    let written_bytes = needs.iter().map(|needs| needs.written_to).max().unwrap_or(0);
    let reached_bytes = reached_bytes.max(written_bytes.next_multiple_of(alignment.unwrap_or(1)));
    if reached_bytes > bytes {
        return Err(ReplayError::BeyondTheEnd { path: data.path().to_path_buf(), reached_bytes, bytes });
    }
    let direct = alignment.is_some();
    let not_direct = usize::from(wants_direct && !direct);
    let is_writable = captured.writes();
    let mut data = Some(data);
    let mut here = |needs: Needs| {
        let cold = if direct { Vec::new() } else { needs.cold };
        let data = data.take()?;
        Some(FileHere { data, is_writable, direct, alignment: alignment.unwrap_or(1), bytes, grows: false, cold })
    };
    let files = needs.into_iter().map(|needs| if needs.is_used { here(needs) } else { None }).collect();
    Ok(LaidOut { files, bytes: 0, not_direct, own_handles })
}

/// What direct requests to a file must be multiples of; `None` if there are none.
fn unit_of(data: &DataFile) -> Result<Option<u64>, ReplayError> {
    Ok(data.direct_alignment()?.map(|found| u64::from(found.offset_bytes.max(found.memory_bytes).max(1))))
}

/// Lays out all files of a capture in `folder`.
///
/// # Errors
/// A sentence if the folder is none, has no room, or cannot be written to, or if the user wishes to stop.
fn lay_out(
    folder: &Path,
    captured: &Captured,
    needs: Vec<Needs>,
    seed: u64,
    stop: &AtomicBool,
) -> Result<LaidOut, ReplayError> {
    if kind(folder)? != Kind::Folder {
        return Err(ReplayError::NotAFolder { path: folder.to_path_buf() });
    }
    let own_handles = has_own_handles(captured, &needs)?;
    has_room(folder, captured, &needs)?;
    let wants_direct = captured.files.iter().zip(&needs).any(|(file, needs)| file.direct && needs.is_used);
    let alignment = if wants_direct { direct_alignment(folder)? } else { None };
    let mut source = Source { buffers: Buffers::new(1, PIECE_BYTES as usize, seed)?, serial: 0 };
    let mut laid_out = LaidOut { files: Vec::new(), bytes: 0, not_direct: 0, own_handles };
    for (file, needs) in captured.files.iter().zip(needs) {
        if !needs.is_used {
            laid_out.files.push(None);
            continue;
        }
        laid_out.bytes += needs.laid_out_bytes();
        laid_out.not_direct += usize::from(file.direct && alignment.is_none());
        laid_out.files.push(Some(one(folder, file, needs, alignment, &mut source, stop)?));
    }
    Ok(laid_out)
}

/// Whether each lane can open each of its files by itself, as programs mostly do: read-ahead then follows each lane.
fn has_own_handles(captured: &Captured, needs: &[Needs]) -> Result<bool, ReplayError> {
    let handles = |by_lane: bool| {
        let key = |one: &CapturedOperation| (if by_lane { one.lane } else { 0 }, one.file, is_durable(one.kind));
        captured.operations.iter().map(key).collect::<BTreeSet<_>>().len() as u64
    };
    let files = needs.iter().filter(|needs| needs.is_used).count() as u64 + OTHER_FILES;
    let most = open_files::most();
    if files + handles(true) <= most {
        return Ok(true);
    }
    if files + handles(false) <= most {
        return Ok(false);
    }
    Err(ReplayError::TooManyFiles { files: files + handles(false), most })
}

/// Whether an operation needs a handle whose writes are durable.
pub(crate) fn is_durable(kind: OperationKind) -> bool {
    kind == OperationKind::DurableWrite
}

/// Refuses files that do not fit, before anything is written.
fn has_room(folder: &Path, captured: &Captured, needs: &[Needs]) -> Result<(), ReplayError> {
    let grown = captured
        .files
        .iter()
        .zip(needs)
        .map(|(file, needs)| needs.laid_out_bytes().saturating_add(needs.written_to.saturating_sub(file.bytes)));
    let wanted_bytes = grown.fold(0_u64, u64::saturating_add);
    let free_bytes = free_bytes_of(folder, wanted_bytes)?;
    if wanted_bytes <= free_bytes {
        return Ok(());
    }
    Err(ReplayError::NoRoom { path: folder.to_path_buf(), wanted_bytes, free_bytes })
}

/// What direct requests to files in `folder` must be multiples of; `None` if there are none.
fn direct_alignment(folder: &Path) -> Result<Option<u64>, ReplayError> {
    let tried = DataFile::unnamed_in(folder)?;
    tried.write_all_at(&[1; TRIED_BYTES], 0)?;
    tried.sync()?;
    unit_of(&tried)
}

/// Where the bytes of files come from: no two blocks are alike.
struct Source {
    buffers: Buffers,
    serial: u64,
}

impl Source {
    /// Writes one piece.
    fn write(&mut self, to: &RunFile, piece: Range<u64>) -> std::io::Result<()> {
        let length = (piece.end - piece.start) as usize;
        self.serial += 1;
        self.buffers.stamp(0, piece.start, length, self.serial);
        let bytes = &self.buffers.slot(0)[..length];
        let mut written = 0;
        while written < length {
            match resumed(|| to.write_at(&bytes[written..], piece.start + written as u64))? {
                0 => return Err(std::io::ErrorKind::WriteZero.into()),
                more => written += more,
            }
        }
        Ok(())
    }
}

/// Lays out one file. What was never written would be read without the disk, so all that is read is written first.
fn one(
    folder: &Path,
    file: &CapturedFile,
    needs: Needs,
    direct_alignment: Option<u64>,
    source: &mut Source,
    stop: &AtomicBool,
) -> Result<FileHere, ReplayError> {
    let direct = file.direct && direct_alignment.is_some();
    let alignment = direct_alignment.filter(|_| direct).unwrap_or(1);
    let bytes = file.bytes.next_multiple_of(alignment);
    let data = DataFile::unnamed_in(folder)?;
    data.set_size(bytes)?;
    let run = data.reopen(Mode { direct, write: true, ..Mode::default() })?;
    for piece in &needs.pieces {
        let end = piece.end.next_multiple_of(alignment).min(bytes);
        for start in (piece.start..end).step_by(PIECE_BYTES as usize) {
            if stop.load(Ordering::Relaxed) {
                return Err(ReplayError::Interrupted);
            }
            let written = source.write(&run, start..end.min(start + PIECE_BYTES));
            written.map_err(|error| ReplayError::LayOut { path: folder.to_path_buf(), error })?;
        }
    }
    data.sync()?;
    let cold = if direct { Vec::new() } else { needs.cold };
    Ok(FileHere { data, is_writable: true, direct, alignment, bytes, grows: needs.written_to > bytes, cold })
}

impl FileHere {
    /// Opens it for a lane.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn open(&self, durable: bool) -> Result<RunFile, ReplayError> {
        Ok(self.data.reopen(Mode { direct: self.direct, durable, write: self.is_writable, ..Mode::default() })?)
    }

    /// Whether some of it has to leave the page cache before each round.
    pub(crate) fn is_cooled(&self) -> bool {
        !self.cold.is_empty()
    }

    /// Brings it back to its size at the capture's beginning. What cannot be cut stays, and is written over.
    pub(crate) fn cut(&self) {
        if self.grows {
            let _ = self.data.set_size(self.bytes);
        }
    }

    /// Makes it what it was when the capture began: its size, and what the page cache holds of it. What cannot be dropped
    /// stays cached.
    pub(crate) fn begin_round(&self) {
        self.cut();
        self.cold.iter().for_each(|range| drop(self.data.drop_cached(range.clone())));
    }
}
