//! What is one path of a target, and what may be done with it? A folder, a file or a device enters; what halfpower did
//! not create is written to only where that was allowed aloud, and a mounted device never.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use os::{Alignment, DataFile, Kind};
use spec::{Bytes, EngineName, Nanos};

use crate::MeasureError;
use crate::layout;
use crate::page_cache;
use crate::real::Wanted;

/// What a folder is given where no size is asked for.
pub(crate) const USUAL_BYTES: u64 = 1 << 30;

/// A member of a target; of a single path the only one.
pub(crate) struct Member {
    /// What requests reach.
    pub data: DataFile,
    pub kind: Kind,
    /// Whether the data is our own file, to be laid out.
    pub ours: bool,
    /// Where a scratch file may be made.
    pub scratch: PathBuf,
    /// What direct requests must be multiples of; `None` where there is no direct I/O.
    pub alignment: Option<Alignment>,
    /// Bytes of it that are used.
    pub span_bytes: u64,
    /// Bytes a second at which our own file was laid out.
    pub layout_rate: Option<f64>,
}

impl Member {
    /// A folder, a file or a block device. Nothing of any size is written yet.
    ///
    /// # Errors
    /// Where it is none of these, may not be used so, or holds data that nobody gave up.
    pub fn open(path: &Path, wanted: &Wanted) -> Result<Self, MeasureError> {
        let kind = os::data_file::kind(path)?;
        let ours = kind == Kind::Folder;
        let data = if ours { DataFile::unnamed_in(path)? } else { open_foreign(path, kind, wanted)? };
        let span_bytes = if ours { room_for(path, wanted)? } else { part_of(path, &data, wanted)? };
        let scratch = scratch_beside(path, kind);
        Ok(Self { kind, ours, scratch, alignment: data.direct_alignment()?, data, span_bytes, layout_rate: None })
    }

    /// Lays out our own file with `asked` bytes, or looks at what is there; gives what is to be said of it.
    ///
    /// # Errors
    /// Where there is no room, or [`MeasureError::Interrupted`] when `stop` was set.
    pub fn make_ready(
        &mut self,
        asked: u64,
        wanted: &Wanted,
        limit: Nanos,
        stop: &AtomicBool,
    ) -> Result<Option<String>, MeasureError> {
        if !self.ours {
            let unwritten = self.data.unwritten_bytes(0..self.span_bytes).ok().flatten().filter(|bytes| *bytes > 0);
            return Ok(unwritten.map(|unwritten| {
                format!(
                    "{unwritten} of {} bytes were never written: reading them measures the file system, not the medium",
                    self.span_bytes
                )
            }));
        }
        let mode = layout::mode(self.alignment.is_some());
        let open = || {
            let file = self.data.reopen(mode)?;
            let block = Bytes(layout::BLOCK_BYTES);
            Ok(engine::open(Some(file), EngineName::Auto, layout::DEPTH, block, wanted.seed)?)
        };
        self.data.allocate(asked)?;
        let began = Instant::now();
        self.span_bytes = layout::lay_out(self.data.path(), asked, wanted.seed, limit, stop, open)?;
        self.layout_rate = Some(self.span_bytes as f64 / began.elapsed().as_secs_f64());
        let (got, asked) = (self.span_bytes, asked);
        Ok(if got < asked {
            let (got, asked) = (Bytes(got), Bytes(asked));
            Some(format!("the file ends at {got} instead of {asked}: writing more would have taken too long"))
        } else if wanted.size.is_none() && asked < USUAL_BYTES {
            let (asked, usual) = (Bytes(asked), Bytes(USUAL_BYTES));
            Some(format!("the file has {asked} instead of {usual}, so that a quarter of the free space remains"))
        } else {
            None
        })
    }

    /// Empties the page cache of the first `bytes` where it holds any, and says what it still holds.
    ///
    /// # Errors
    /// Where dirty pages cannot be written back.
    pub fn empty_page_cache(&self, bytes: u64) -> Result<Option<u64>, MeasureError> {
        page_cache::empty(&self.data, bytes, &self.scratch)
    }

    /// Fills the page cache with this part, and says what it holds of it.
    ///
    /// # Errors
    /// Where the target cannot be read.
    pub fn fill_page_cache(&self, part: &Range<u64>) -> Result<Option<u64>, MeasureError> {
        page_cache::fill(&self.data, part)
    }
}

/// A path that is named twice would be two members on one and the same data.
pub(crate) fn refuse_twice(paths: &[PathBuf]) -> Result<(), MeasureError> {
    for (at, path) in paths.iter().enumerate() {
        let whole = |path: &PathBuf| path.canonicalize().ok().filter(|path| !path.is_dir());
        if whole(path).is_some() && paths[..at].iter().any(|other| whole(other) == whole(path)) {
            let what = "is named twice, and its members would write over each other: name another one".to_string();
            return Err(MeasureError::Target { path: path.clone(), what });
        }
    }
    Ok(())
}

/// A folder for a scratch file: the target itself, its own, or for a device the system's.
fn scratch_beside(path: &Path, kind: Kind) -> PathBuf {
    match (kind, path.parent()) {
        (Kind::Folder, _) => path.to_path_buf(),
        (Kind::Regular, Some(parent)) if parent != Path::new("") => parent.to_path_buf(),
        (Kind::Regular, _) => PathBuf::from("."),
        _ => std::env::temp_dir(),
    }
}

/// A file or device that was there before us: written to only where that was allowed aloud.
fn open_foreign(path: &Path, kind: Kind, wanted: &Wanted) -> Result<DataFile, MeasureError> {
    let refuse = |what: String| Err(MeasureError::Target { path: path.to_path_buf(), what });
    if wanted.writes && !wanted.overwrite && kind != Kind::Other {
        return refuse(
            "holds data that halfpower did not create: writing would lose it, so add --overwrite if it may be lost"
                .to_string(),
        );
    }
    let data = DataFile::open(path, wanted.writes)?;
    if wanted.writes
        && kind == Kind::Block
        && let Some(point) = os::mounts::mounted_at(data.device()?)
    {
        return refuse(format!("is mounted at {} and is never written to: name another device", point.display()));
    }
    Ok(data)
}

/// Bytes to lay out in a folder: what was asked, or the usual as far as a quarter of the free space remains.
fn room_for(folder: &Path, wanted: &Wanted) -> Result<u64, MeasureError> {
    let free = os::data_file::free_bytes(folder)?;
    let most = free - free / 4;
    let bytes = wanted.size.map_or(USUAL_BYTES.min(most), |size| size.0) & !(layout::BLOCK_BYTES - 1);
    let what = match wanted.size {
        Some(size) if size.0 > free => format!("has {} free and --size {size} is more: ask for less", Bytes(free)),
        Some(size) if size.0 < layout::LEAST_BYTES => {
            format!("--size {size} is too little to be laid out in it: ask for {} or more", Bytes(layout::LEAST_BYTES))
        }
        _ if bytes < layout::LEAST_BYTES => format!(
            "has no room for a file of {} ({free} bytes are free): free some, or name another folder",
            Bytes(layout::LEAST_BYTES)
        ),
        _ => return Ok(bytes),
    };
    Err(MeasureError::Target { path: folder.to_path_buf(), what })
}

/// Bytes to use of a file or device: what was asked, or all of it.
fn part_of(path: &Path, data: &DataFile, wanted: &Wanted) -> Result<u64, MeasureError> {
    let all = data.size_bytes()?;
    let what = match wanted.size {
        _ if all == 0 => "is empty: name a file that holds data, or a folder".to_string(),
        Some(size) if size.0 > all => format!("holds {} and --size {size} is more: ask for less", Bytes(all)),
        Some(size) => return Ok(size.0),
        None => return Ok(all),
    };
    Err(MeasureError::Target { path: path.to_path_buf(), what })
}
