//! Opens one path of a target and refuses what must not be done with it.

use std::cell::Cell;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use halfpower_engine::{Opened, SpreadOver};
use halfpower_os::in_use::BackingRange;
use halfpower_os::{Alignment, DataFile, DeviceNumber, Kind, OsError, SharedFile};
use halfpower_record::StudyFile;
use halfpower_spec::{Bytes, Nanos, Spread};

use super::commands::CommandPath;
use super::host_part::HostPart;
use super::memory_budget::MemoryBudget;
use super::options::RealTargetOptions;
use super::{layout, page_cache};
use crate::MeasureError;

/// Size of the file in a folder if the user asks for none.
pub(super) const USUAL_BYTES: u64 = 1 << 30;

/// Time limit of filling the page cache with other data before a run.
const SWEEP_LIMIT: Duration = Duration::from_secs(2);

/// A member of a target; a single path has one member.
pub(super) struct Member {
    /// The file or device that requests go to.
    pub data: DataFile,
    pub kind: Kind,
    /// Whether it is our own file, which we lay out.
    pub ours: bool,
    /// The name by which other processes open our own file; dropping it removes the name.
    _name: Option<SharedFile>,
    /// The file of the next process, if the current run reads it.
    next: Option<DataFile>,
    /// The folder for scratch files.
    pub scratch: PathBuf,
    /// How it takes NVMe commands past the block layer.
    pub commands: CommandPath,
    /// What direct requests must be multiples of; `None` without direct I/O.
    pub alignment: Option<Alignment>,
    /// Bytes that are used.
    pub span_bytes: u64,
    /// Bytes of each process's part, if processes share it: `span_bytes`, or more.
    pub part_bytes: u64,
    /// Bytes that it holds: `span_bytes`, or more if only a part is used.
    pub whole_bytes: u64,
    /// Bytes per second at which our own file was laid out.
    pub layout_rate: Option<f64>,
    /// Memory that laying out may use.
    pub budget: MemoryBudget,
    /// Whether the page cache may be emptied by filling it with other data.
    sweeps: Cell<bool>,
}

impl Member {
    /// Opens a folder, a file or a block device. Writes no data yet.
    ///
    /// # Errors
    /// If it is none of these, may not be used like this, or holds data that the user has not allowed to overwrite.
    pub fn open(path: &Path, wanted: &RealTargetOptions, budget: MemoryBudget) -> Result<Self, MeasureError> {
        let kind = halfpower_os::data_file::kind(path)?;
        let ours = kind == Kind::Folder;
        if ours && halfpower_os::data_file::holds_devices(path) {
            let what = "holds devices, and no file is laid out among them: name a device, or a folder elsewhere";
            return Err(MeasureError::Target { path: path.to_path_buf(), what: what.to_string() });
        }
        let (data, name) = match ours {
            true => own_file(path, wanted)?,
            false => (open_foreign(path, kind, wanted)?, None),
        };
        let span_bytes = if ours { room_for(path, wanted, budget)? } else { part_of(path, &data, wanted)? };
        let whole_bytes = if ours { span_bytes } else { data.size_bytes()? };
        if wanted.spread {
            refuse_spread(path, ours, span_bytes, whole_bytes)?;
        }
        let scratch = scratch_beside(path, kind);
        Ok(Self {
            kind,
            ours,
            scratch,
            commands: CommandPath::of(&data, false),
            alignment: data.direct_alignment()?,
            data,
            span_bytes,
            part_bytes: span_bytes,
            whole_bytes,
            layout_rate: None,
            budget,
            sweeps: Cell::new(true),
            _name: name,
            next: None,
        })
    }

    /// The file that the current run uses.
    pub fn reached(&self) -> &DataFile {
        self.next.as_ref().unwrap_or(&self.data)
    }

    /// Switches to the file of the next process, if `part` is given, or back to our own.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn turn(&mut self, part: Option<&HostPart>) -> Result<(), MeasureError> {
        match part {
            Some(_) if self.next.is_some() => {}
            Some(part) => self.next = part.next_file_in(&self.scratch)?,
            None => self.next = None,
        }
        Ok(())
    }

    /// Lays out our own file with `asked` bytes, or checks what a foreign one holds; may return a note for the report.
    ///
    /// # Errors
    /// If there is no room, or [`MeasureError::Interrupted`] if `stop` was set.
    pub fn make_ready(
        &mut self,
        asked: u64,
        wanted: &RealTargetOptions,
        limit: Nanos,
        stop: &AtomicBool,
    ) -> Result<Option<String>, MeasureError> {
        if !self.ours {
            return self.fill_where_unwritten(wanted, stop);
        }
        let shared = wanted.host_part.as_ref().filter(|part| part.is_shared());
        self.data.allocate(shared.map_or(asked, |part| asked * u64::from(part.of)))?;
        self.part_bytes = asked;
        let began = Instant::now();
        self.span_bytes = self.lay_out(asked, wanted, limit, stop)?;
        self.layout_rate = Some(self.span_bytes as f64 / began.elapsed().as_secs_f64());
        Ok(note_of_size(self.span_bytes, asked, wanted.size))
    }

    /// Makes sure that reads reach the medium: holes, and extents that were reserved and never written, read as zeros
    /// without it. Returns a note for the report, if any.
    ///
    /// # Errors
    /// If there are unwritten parts and the file may not be overwritten.
    fn fill_where_unwritten(
        &mut self,
        wanted: &RealTargetOptions,
        stop: &AtomicBool,
    ) -> Result<Option<String>, MeasureError> {
        // Spread pieces lie all over the target, so all of it must be written.
        let reached = if wanted.spread { self.whole_bytes } else { self.span_bytes };
        let unwritten = self.data.unwritten_bytes(0..reached).ok().flatten().filter(|bytes| *bytes > 0);
        let Some(unwritten) = unwritten else { return Ok(None) };
        let lacking = Bytes(unwritten);
        let all = Bytes(reached);
        if !wanted.overwrite {
            let what = format!(
                "{lacking} of {all} were never written, and reading them measures the file system, not the medium: \
                 write the file whole, name another, or add --overwrite to have it filled"
            );
            return Err(MeasureError::Target { path: self.data.path().to_path_buf(), what });
        }
        self.lay_out(reached, wanted, Nanos(u64::MAX / 2), stop)?;
        Ok(Some(format!("the file was filled: {lacking} of {all} had never been written")))
    }

    /// Refuses trims on a device that does not support discard.
    ///
    /// # Errors
    /// If it does not.
    pub fn admits_trims(&self) -> Result<(), MeasureError> {
        if self.kind == Kind::Block && self.data.device()?.discards() == Some(false) {
            let what = "discards nothing (its queue/discard_max_bytes is 0), so that it cannot be trimmed: name another \
                        device, or a file";
            return Err(MeasureError::Target { path: self.data.path().to_path_buf(), what: what.to_string() });
        }
        Ok(())
    }

    /// Whether trimmed blocks must be written again before they are read or trimmed once more. A file needs that; a
    /// device can discard the same blocks again and again.
    pub fn has_holes_after_trims(&self) -> bool {
        self.kind != Kind::Block
    }

    /// Writes a file again after a run that trimmed blocks of it.
    ///
    /// # Errors
    /// As [`Self::make_ready`].
    pub fn write_again(&self, wanted: &RealTargetOptions, stop: &AtomicBool) -> Result<(), MeasureError> {
        if !self.has_holes_after_trims() {
            return Ok(());
        }
        let bytes = if wanted.spread { self.whole_bytes } else { self.span_bytes };
        self.lay_out(bytes, wanted, Nanos(u64::MAX / 2), stop).map(|_| ())
    }

    /// Writes the first `bytes`, or fewer if that would take longer than `limit`; returns the number of bytes written.
    fn lay_out(
        &self,
        bytes: u64,
        wanted: &RealTargetOptions,
        limit: Nanos,
        stop: &AtomicBool,
    ) -> Result<u64, MeasureError> {
        // A file may end in less than the unit of direct I/O.
        let is_direct = self.alignment.is_some_and(|alignment| bytes.is_multiple_of(alignment.offset_bytes.into()));
        let mode = layout::mode(is_direct);
        // In a file that all processes share, this one writes only its part.
        let spread =
            wanted.host_part.as_ref().filter(|_| self.ours).and_then(|part| part.spread(self.part_bytes, false));
        let settings = layout::settings(wanted.seed, self.budget);
        let open = || {
            let volume = halfpower_engine::Volume::of(Some(self.data.reopen(mode)?));
            let opened = halfpower_engine::open_volume(volume, settings)?;
            Ok(match spread {
                Some(spread) => {
                    let engine = Box::new(SpreadOver::new(opened.engine, spread, settings.depth));
                    Opened { engine, ..opened }
                }
                None => opened,
            })
        };
        layout::lay_out(self.data.path(), bytes, settings, limit, stop, open)
    }

    /// Empties the page cache of these parts; returns the bytes that it still holds, `None` if unknown.
    ///
    /// # Errors
    /// If dirty pages cannot be written back.
    pub fn empty_page_cache(&self, parts: &[Range<u64>]) -> Result<Option<u64>, MeasureError> {
        let limit = if self.sweeps.get() { SWEEP_LIMIT } else { Duration::ZERO };
        let held = page_cache::empty(self.reached(), parts, &self.scratch, limit)?;
        // If one sweep did not help, another will not: the record says what the cache still holds.
        self.sweeps.set(self.sweeps.get() && held.is_none_or(|held| page_cache::is_little(held, parts)));
        Ok(held)
    }

    /// Bytes of these parts in the page cache; `None` if unknown.
    pub fn cached_bytes(&self, parts: &[Range<u64>]) -> Option<u64> {
        page_cache::held(self.reached(), parts)
    }

    /// Fills the page cache with these parts; returns the bytes that it holds, `None` if unknown.
    ///
    /// # Errors
    /// If the target cannot be read.
    pub fn fill_page_cache(&self, parts: &[Range<u64>]) -> Result<Option<u64>, MeasureError> {
        page_cache::fill(self.reached(), parts)
    }
}

/// Refuses members that are the same data under different names: they would overwrite each other.
pub(super) fn refuse_twice(paths: &[PathBuf], force_in_use: bool) -> Result<(), MeasureError> {
    let substances: Vec<Option<BackingRange>> = paths.iter().map(|path| BackingRange::of(path)).collect();
    for (at, path) in paths.iter().enumerate() {
        let refuse = |what: String| Err(MeasureError::Target { path: path.clone(), what });
        let whole = |path: &PathBuf| path.canonicalize().ok().filter(|path| !path.is_dir());
        if whole(path).is_some() && paths[..at].iter().any(|other| whole(other) == whole(path)) {
            return refuse("is named twice, and its members would write over each other: name another one".to_string());
        }
        let same = |other: &usize| {
            let both = substances[at].as_ref().zip(substances[*other].as_ref());
            both.is_some_and(|(own, other)| own.overlaps(other))
        };
        if let Some(other) = (0..at).find(same).filter(|_| !force_in_use) {
            let other = paths[other].display();
            return refuse(format!(
                "is the same data as {other}, and these members would write over each other: name another one, or add \
                 --force-in-use"
            ));
        }
    }
    Ok(())
}

/// The folder for scratch files: the target itself, a file's folder, or for a device the system's temporary folder.
fn scratch_beside(path: &Path, kind: Kind) -> PathBuf {
    match (kind, path.parent()) {
        (Kind::Folder, _) => path.to_path_buf(),
        (Kind::Regular, Some(parent)) if parent != Path::new("") => parent.to_path_buf(),
        (Kind::Regular, _) => PathBuf::from("."),
        _ => std::env::temp_dir(),
    }
}

/// Makes our own file in a folder, with a name if other processes open it. Removes what killed processes left there.
fn own_file(folder: &Path, wanted: &RealTargetOptions) -> Result<(DataFile, Option<SharedFile>), MeasureError> {
    if wanted.host_part.as_ref().is_none_or(|part| part.rank == 0) {
        halfpower_os::sweep_shared(folder);
        halfpower_os::sweep_files(folder);
    }
    let shared = wanted.host_part.as_ref().map_or(Ok(None), |part| part.file_in(folder))?;
    shared.map_or_else(|| Ok((DataFile::unnamed_in(folder)?, None)), Ok)
}

/// Opens a file or device that is there for requests of somebody else than a run, under the rules of runs: for writing only if
/// `wanted` allows it.
///
/// # Errors
/// If it is none of these, or may not be used like this.
pub fn open_existing(path: &Path, wanted: &RealTargetOptions) -> Result<DataFile, MeasureError> {
    open_foreign(path, halfpower_os::data_file::kind(path)?, wanted)
}

/// Opens a file or device that existed before, for writing only if the user explicitly allowed it.
fn open_foreign(path: &Path, kind: Kind, wanted: &RealTargetOptions) -> Result<DataFile, MeasureError> {
    let refuse = |what: String| Err(MeasureError::Target { path: path.to_path_buf(), what });
    if wanted.writes && !wanted.overwrite && kind != Kind::Other {
        return refuse(
            "holds data that halfpower did not create: writing would lose it, so add --overwrite if it may be lost"
                .to_string(),
        );
    }
    let seen = halfpower_os::data_file::identity(path)?;
    // A file that may be overwritten may have to be filled first, even if runs only read it.
    let writes = wanted.writes || wanted.overwrite && kind == Kind::Regular;
    if wanted.writes && kind == Kind::Block {
        refuse_read_only(path)?;
    }
    if writes && !wanted.force_in_use {
        refuse_used(path)?;
    }
    let data = DataFile::open(path, writes)?;
    data.is_still(seen)?;
    if data.kind() != kind {
        return Err(OsError::Replaced { path: path.to_path_buf() }.into());
    }
    if wanted.writes
        && kind == Kind::Block
        && let Some(point) = halfpower_os::mounts::mounted_at(data.device()?)
    {
        return refuse(format!("is mounted at {} and is never written to: name another device", point.display()));
    }
    if wanted.writes && kind == Kind::Block && data.device()?.is_zoned() {
        return refuse(
            "is a zoned device (host-managed), which takes writes at the end of each zone's data alone: read it, or \
             name a folder of a file system on it"
                .to_string(),
        );
    }
    if wanted.writes && kind == Kind::Block && !wanted.force_in_use {
        refuse_member(path, &data)?;
    }
    if wanted.writes && kind == Kind::Block && !wanted.force_content {
        refuse_content(path, &data)?;
    }
    Ok(data)
}

/// Refuses a device that the kernel lets nobody write to.
fn refuse_read_only(path: &Path) -> Result<(), MeasureError> {
    let number = path.metadata().map(|metadata| DeviceNumber::of(metadata.rdev()));
    match number.ok().filter(|number| number.is_read_only()) {
        None => Ok(()),
        Some(number) => Err(MeasureError::Target {
            path: path.to_path_buf(),
            what: format!(
                "is read-only for the kernel (/sys/dev/block/{number}/ro), so nothing can be written to it: name \
                 another device, or allow it (`blockdev --setrw`; a loop device without --read-only)"
            ),
        }),
    }
}

/// Refuses a device whose content belongs to somebody: a file system, a swap area or a partition table that nobody uses
/// now.
fn refuse_content(path: &Path, data: &DataFile) -> Result<(), MeasureError> {
    match halfpower_os::content_mark::content_of(data) {
        Ok(Some(what)) => {
            let size = Bytes(data.size_bytes()?);
            Err(MeasureError::Target {
                path: path.to_path_buf(),
                what: format!(
                    "is a device of {size} that holds {what}: writing would destroy it, so name another one, or add \
                     --force-content if it may be lost"
                ),
            })
        }
        // A read error will show in the run.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Refuses a device that belongs to an inactive volume: the kernel does not report it as in use, but writing to it
/// would destroy the volume.
fn refuse_member(path: &Path, data: &DataFile) -> Result<(), MeasureError> {
    match halfpower_os::member_mark::member_of(data) {
        Ok(Some(what)) => Err(MeasureError::Target {
            path: path.to_path_buf(),
            what: format!(
                "belongs to {what}, which is not active: writing would lose that too, so name another device, or add \
                 --force-in-use if it may be lost"
            ),
        }),
        // A read error will show in the run.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Refuses a file or a device that something else uses.
fn refuse_used(path: &Path) -> Result<(), MeasureError> {
    let refuse = |what: String| Err(MeasureError::Target { path: path.to_path_buf(), what });
    if StudyFile::is_at(path) {
        return refuse("is a study file of halfpower: name another file, or add --force-in-use to lose it".to_string());
    }
    match halfpower_os::in_use::used_by(path) {
        Ok(Some(used)) => {
            refuse(format!("{used}: let go of it, name another one, or add --force-in-use if that may lose its data"))
        }
        // If the check fails, opening fails too, with a better message.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Bytes to lay out in a folder: what the user asked for, or the usual size, if a quarter of the free space remains. If
/// the folder lies in memory, at most half of the usable memory.
fn room_for(folder: &Path, wanted: &RealTargetOptions, budget: MemoryBudget) -> Result<u64, MeasureError> {
    let whole = wanted.size.map_or(USUAL_BYTES, |size| size.0);
    let free = halfpower_os::data_file::free_bytes_of(folder, whole.saturating_add(whole / 3))?;
    let in_memory = budget.most_bytes().filter(|_| halfpower_os::filesystem::is_in_memory(folder));
    let refuse = |what| MeasureError::Target { path: folder.to_path_buf(), what };
    // Other processes may lay out as much in the same place; only a size that the user gave is taken as it is.
    let sharing = wanted.host_part.as_ref().filter(|_| wanted.size.is_none()).map_or(1, |part| u64::from(part.of));
    let free = free / sharing;
    let in_memory = in_memory.map(|most| most / sharing);
    match (wanted.size, in_memory) {
        (Some(size), Some(most)) if size.0 <= free && size.0 > most => {
            let memory = Bytes(budget.usable_bytes);
            let most = Bytes(most);
            Err(refuse(format!(
                "lies in memory, and of the {memory} that may be used here at most {most} may go into a file, not \
                 {size}: ask for less"
            )))
        }
        _ => room(wanted.size, free, in_memory.unwrap_or(u64::MAX)).map_err(refuse),
    }
}

/// Bytes to lay out if `free` bytes are free and at most `most` may be used: the given size, or the usual one, less if
/// otherwise no quarter of the free space would remain.
///
/// # Errors
/// Why there is not enough room.
pub(super) fn room(size: Option<Bytes>, free: u64, most: u64) -> Result<u64, String> {
    let most = most.min(free - free / 4);
    let bytes = size.map_or(USUAL_BYTES.min(most), |size| size.0) & !(layout::BLOCK_BYTES - 1);
    Err(match size {
        Some(size) if size.0 > free => format!("has {} free and --size {size} is more: ask for less", Bytes(free)),
        Some(size) if size.0 < layout::BLOCK_BYTES => {
            format!("--size {size} is too little to be laid out in it: ask for {} or more", Bytes(layout::BLOCK_BYTES))
        }
        None if bytes < layout::LEAST_BYTES => format!(
            "has no room for a file of {} ({free} bytes are free): free some, or name another folder",
            Bytes(layout::LEAST_BYTES)
        ),
        _ => return Ok(bytes),
    })
}

/// The note on a file that became smaller than asked or than usual.
pub(super) fn note_of_size(got: u64, asked: u64, size: Option<Bytes>) -> Option<String> {
    if got < asked {
        let got = Bytes(got);
        let asked = Bytes(asked);
        Some(format!("the file ends at {got} instead of {asked}: writing more would have taken too long"))
    } else if size.is_none() && asked < USUAL_BYTES {
        let asked = Bytes(asked);
        let usual = Bytes(USUAL_BYTES);
        Some(format!("the file has {asked} instead of {usual}, so that a quarter of the free space remains"))
    } else {
        None
    }
}

/// Refuses `--spread` on targets that cannot be spread over.
fn refuse_spread(path: &Path, ours: bool, span_bytes: u64, whole_bytes: u64) -> Result<(), MeasureError> {
    let refuse = |what: String| Err(MeasureError::Target { path: path.to_path_buf(), what });
    if ours {
        return refuse(
            "is a folder, and a file that is laid out in it holds no more than --size: name the device, or a large file \
             that is there, to --spread it over"
                .to_string(),
        );
    }
    Spread::over(span_bytes, whole_bytes).map(drop).or_else(refuse)
}

/// Bytes to use of a file or device: what the user asked for, or all of it.
fn part_of(path: &Path, data: &DataFile, wanted: &RealTargetOptions) -> Result<u64, MeasureError> {
    let whole = data.size_bytes()?;
    let all = wanted.host_part.as_ref().filter(|part| part.is_shared()).map_or(whole, |part| part.of_all(whole));
    let what = match wanted.size {
        _ if all == 0 && whole > 0 => "is too small to be shared out: name a larger one".to_string(),
        _ if all == 0 => "is empty: name a file that holds data, or a folder".to_string(),
        Some(size) if size.0 > all => format!("holds {} and --size {size} is more: ask for less", Bytes(all)),
        Some(size) => return Ok(size.0),
        None => return Ok(all),
    };
    Err(MeasureError::Target { path: path.to_path_buf(), what })
}
