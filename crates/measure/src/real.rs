//! Runs on a real target, in real time.
//!
//! A folder, a file or a device enters; the place checks what may be done with it, lays out its own file where
//! there is none, empties (or fills) the page cache before each run, and opens engines.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use os::{Alignment, DataFile, Kind, Mode};
use probe::Root;
use record::{Environment, Surroundings, TargetKind};
use spec::{Bytes, Direction, EngineName, Nanos, PageCache, Pass, Pattern, Run, Workload};

use crate::MeasureError;
use crate::account::MachineAccount;
use crate::harness::Harness;
use crate::layout;
use crate::noise::Witness;
use crate::page_cache;
use crate::place::{Account, Lane, Place, Prepared};

/// What a folder is given where no size is asked for.
const USUAL_BYTES: u64 = 1 << 30;

/// What is wanted of a real target.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Bytes to use.
    pub size: Option<Bytes>,
    /// Whether anything will be written.
    pub writes: bool,
    /// Whether a file or device that is not ours may be written.
    pub overwrite: bool,
    /// What the page cache holds of the target when a buffered run begins.
    pub page_cache: PageCache,
    /// Whether all page caches of the machine are dropped before each run, which takes root.
    pub drop_caches: bool,
    /// How requests are to be issued.
    pub engine: EngineName,
    /// Seed of the payload.
    pub seed: u64,
    /// How long laying out a file may take; it ends up smaller then.
    pub layout_limit: Nanos,
}

/// A real target.
pub struct RealPlace {
    wanted: Wanted,
    /// What requests reach; `None` for `null:`.
    data: Option<DataFile>,
    /// Whether the data is our own file, to be laid out.
    ours: bool,
    /// Where a scratch file may be made.
    scratch: PathBuf,
    /// What direct requests must be multiples of; `None` where there is no direct I/O.
    alignment: Option<Alignment>,
    span_bytes: u64,
    environment: Environment,
    harness: Harness,
    began: Instant,
}

impl RealPlace {
    /// The target `null:`, which takes every request and does nothing.
    ///
    /// # Errors
    /// None today; a place is always opened the same way.
    pub fn null(wanted: &Wanted) -> Result<Self, MeasureError> {
        let machine = probe::probe_machine(&Root::live());
        let environment = Environment { machine, ..Environment::default() };
        Ok(Self {
            wanted: wanted.clone(),
            data: None,
            ours: false,
            scratch: PathBuf::new(),
            alignment: Some(Alignment { memory_bytes: 1, offset_bytes: 1 }),
            span_bytes: wanted.size.map_or(USUAL_BYTES, |size| size.0),
            environment,
            harness: Harness::default(),
            began: Instant::now(),
        })
    }

    /// A folder, a file or a block device. Nothing of any size is written yet.
    ///
    /// # Errors
    /// Where it is none of these, may not be used so, or holds data that nobody gave up.
    pub fn open(path: &Path, wanted: &Wanted) -> Result<Self, MeasureError> {
        let kind = os::data_file::kind(path)?;
        let ours = kind == Kind::Folder;
        let data = if ours { DataFile::unnamed_in(path)? } else { open_foreign(path, kind, wanted)? };
        let span_bytes = if ours { room_for(path, wanted)? } else { part_of(path, &data, wanted)? };
        let environment = probe::probe_path(&Root::live(), path).map_err(|error| MeasureError::Target {
            path: path.to_path_buf(),
            what: format!("cannot be looked up: {error}"),
        })?;
        let mut place = Self {
            wanted: wanted.clone(),
            ours,
            scratch: scratch_beside(path, kind),
            alignment: data.direct_alignment()?,
            data: Some(data),
            span_bytes,
            environment,
            harness: Harness::default(),
            began: Instant::now(),
        };
        place.note_engine();
        place.environment.surroundings = place.surroundings(kind);
        Ok(place)
    }

    /// What experiments can do here.
    fn surroundings(&self, kind: Kind) -> Surroundings {
        let kind = match kind {
            Kind::Folder => TargetKind::Folder,
            Kind::Block => TargetKind::Device,
            Kind::Regular | Kind::Other => TargetKind::File,
        };
        let direct_unit = self.alignment.map(|alignment| Bytes(u64::from(alignment.offset_bytes)));
        Surroundings { kind, span: Bytes(self.span_bytes), members: 1, direct_unit, cannot: BTreeMap::new() }
    }

    fn note_engine(&mut self) {
        if self.wanted.engine == EngineName::Auto
            && let Err(why) = engine::io_uring_available()
        {
            self.environment.notes.push(format!("{why}; requests go out through a pool of threads instead"));
        }
    }

    fn path(&self) -> PathBuf {
        self.data.as_ref().map_or_else(|| PathBuf::from("null:"), |data| data.path().to_path_buf())
    }

    /// Empties the page cache of the span where it holds any, and says what it still holds.
    fn empty_page_cache(&self) -> Result<Option<u64>, MeasureError> {
        let Some(data) = &self.data else { return Ok(None) };
        if self.wanted.drop_caches {
            page_cache::drop_all()?;
        }
        page_cache::empty(data, self.span_bytes, &self.scratch)
    }

    /// Fills the page cache with the span, and says what it holds of it.
    fn fill_page_cache(&self) -> Result<Option<u64>, MeasureError> {
        self.data.as_ref().map_or(Ok(None), |data| page_cache::fill(data, self.span_bytes))
    }
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

impl Place for RealPlace {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn environment_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }

    fn span_bytes(&self) -> u64 {
        self.span_bytes
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        let bs = workload.bs;
        if workload.cache.direct() {
            let Some(alignment) = self.alignment else {
                return Err(os::OsError::NoDirect { path: self.path() }.into());
            };
            let unit = Bytes(u64::from(alignment.offset_bytes));
            if !bs.0.is_multiple_of(unit.0) {
                return Err(MeasureError::Unaligned { bs, unit });
            }
        }
        let needed = Bytes(bs.0.saturating_mul(u64::from(workload.threads)));
        let used = workload.twist.used(self.span_bytes);
        if needed.0 > used.end - used.start || bs.0 > u64::from(u32::MAX / 2) {
            let span = Bytes(used.end - used.start);
            return Err(MeasureError::TooSmall { workload: Box::new(*workload), needed, span });
        }
        Ok(())
    }

    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        let Some(data) = &self.data else {
            return Ok(());
        };
        if self.ours {
            let asked = span.map_or(self.span_bytes, |span| span.0);
            let limit = if span.is_some() { Nanos(u64::MAX / 2) } else { self.wanted.layout_limit };
            self.span_bytes = layout::lay_out(data, asked, self.alignment.is_some(), &self.wanted, limit, stop)?;
            self.environment.surroundings.span = Bytes(self.span_bytes);
            if self.span_bytes < asked {
                let (got, asked) = (Bytes(self.span_bytes), Bytes(asked));
                self.environment
                    .notes
                    .push(format!("the file ends at {got} instead of {asked}: writing more would have taken too long"));
            } else if self.wanted.size.is_none() && asked < USUAL_BYTES {
                self.environment.notes.push(format!(
                    "the file has {} instead of {}, so that a quarter of the free space remains",
                    Bytes(asked),
                    Bytes(USUAL_BYTES)
                ));
            }
        } else if let Ok(Some(unwritten @ 1..)) = data.unwritten_bytes(0..self.span_bytes) {
            self.environment.notes.push(format!(
                "{} of {} bytes were never written: reading them measures the file system, not the medium",
                unwritten, self.span_bytes
            ));
        }
        Ok(())
    }

    fn prepare(&mut self, run: &Run) -> Result<Prepared, MeasureError> {
        let Workload { rw, bs, iodepth, threads, cache, engine, .. } = run.workload;
        let warm = self.wanted.page_cache == PageCache::Warm && !cache.direct();
        let cached_bytes = if warm { self.fill_page_cache()? } else { self.empty_page_cache()? };
        let mode = Mode { direct: cache.direct(), durable: cache.durable(), write: rw.writes() };
        let Range { start: from, end } = run.workload.twist.used(self.span_bytes);
        let used = end - from;
        let share = used / u64::from(threads);
        let share = share - share % bs.0;
        let mut name = engine;
        let lanes = (0..threads)
            .map(|index| {
                let file = self.data.as_ref().map(|data| data.reopen(mode)).transpose()?;
                let seed = self.wanted.seed ^ run.seed.rotate_left(index);
                let opened = engine::open(file, engine, iodepth, bs, seed)?;
                name = opened.name;
                let range = match rw.pattern() {
                    Pattern::Sequential => from + share * u64::from(index)..from + share * (u64::from(index) + 1),
                    Pattern::Random => from..from + used,
                };
                Ok(Lane {
                    engine: opened.engine,
                    // A sync engine holds one request at a time; slots that only wait would show as depth.
                    depth: opened.most_in_flight,
                    range,
                })
            })
            .collect::<Result<Vec<_>, MeasureError>>()?;
        let buffered = !cache.direct() && self.data.is_some();
        let reads = rw.direction() != Some(Direction::Write);
        let once = buffered && reads && !warm;
        Ok(Prepared { lanes, engine: name, cached_bytes, once, flush: buffered && rw.writes() })
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let device = self.environment.device.as_ref().map(|device| device.name.as_str());
        Ok(Box::new(MachineAccount::new(pass, Witness::of(device)).map_err(MeasureError::Account)?))
    }

    fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
        self.harness.ns_per_io(depth)
    }

    fn clock_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn unix_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
    }
}
