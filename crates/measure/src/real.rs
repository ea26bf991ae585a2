//! Runs on a real target, in real time.
//!
//! A folder, a file or a device enters, or several of them that make one target; the place checks what may be done with
//! each, lays out its own file where there is none, empties (or fills) the page cache before each run, and opens
//! engines.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use engine::{Joint, Opened, Volume};
use os::{Kind, Mode};
use probe::Root;
use record::{Environment, LaneRole, Surroundings, TargetKind};
use spec::{Bytes, Direction, EngineName, Nanos, PageCache, Pass, Pattern, Run, Several, Twist, Workload};

use crate::MeasureError;
use crate::account::MachineAccount;
use crate::admission::{coherent, fits_direct};
use crate::aside;
use crate::engines;
use crate::fresh::{self, Fresh};
use crate::harness::Harness;
use crate::joined::{Arrangement, Joined, Way, environment_of, witnessed};
use crate::layout;
use crate::ledgers::{self, Ledgers};
use crate::member::{Member, USUAL_BYTES, refuse_twice};
use crate::memory;
use crate::page_cache;
use crate::place::{Account, Lane, Place, Prepared};
use crate::seat::seat;
use crate::turned;
use crate::write_cache::WriteCache;

/// What is wanted of a real target.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Bytes to use.
    pub size: Option<Bytes>,
    /// Whether anything will be written.
    pub writes: bool,
    /// Whether a file or device that is not ours may be written.
    pub overwrite: bool,
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
    /// What requests reach; none for `null:`.
    members: Vec<Member>,
    joined: Joined,
    /// Kernel name of the device under each member.
    devices: Vec<Option<String>>,
    /// Devices that take part in the run in progress, as far as their own count can be held against it.
    witnessed: Vec<String>,
    /// Bytes of each member that are used.
    span_bytes: u64,
    /// The file that the run in progress has for itself.
    fresh: Option<Fresh>,
    /// What was written to be verified, as long as nothing else was written.
    ledgers: Option<Ledgers>,
    environment: Environment,
    harness: Harness,
    /// The devices' write caches, where the run in progress has them otherwise than they were.
    switched: Vec<WriteCache>,
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
            members: Vec::new(),
            joined: Joined::single(0),
            devices: Vec::new(),
            witnessed: Vec::new(),
            span_bytes: wanted.size.map_or(USUAL_BYTES, |size| size.0),
            fresh: None,
            ledgers: None,
            environment,
            harness: Harness::default(),
            switched: Vec::new(),
            began: Instant::now(),
        })
    }

    /// A folder, a file or a block device. Nothing of any size is written yet.
    ///
    /// # Errors
    /// Where it is none of these, may not be used so, or holds data that nobody gave up.
    pub fn open(path: &Path, wanted: &Wanted) -> Result<Self, MeasureError> {
        Self::over(&[path.to_path_buf()], Joined::single(1), wanted)
    }

    /// Several of these as one target.
    ///
    /// # Errors
    /// As [`Self::open`], for any of them; and where one is named twice.
    pub fn open_several(several: &Several, wanted: &Wanted) -> Result<Self, MeasureError> {
        Self::over(&several.members, Joined::of(several), wanted)
    }

    fn over(paths: &[PathBuf], joined: Joined, wanted: &Wanted) -> Result<Self, MeasureError> {
        refuse_twice(paths)?;
        let members = paths.iter().map(|path| Member::open(path, wanted)).collect::<Result<Vec<_>, _>>()?;
        let probed = paths.iter().map(|path| {
            probe::probe_path(&Root::live(), path).map_err(|error| MeasureError::Target {
                path: path.clone(),
                what: format!("cannot be looked up: {error}"),
            })
        });
        let mut probed = probed.collect::<Result<Vec<Environment>, _>>()?;
        let devices = probed.iter().map(|place| place.device.as_ref().map(|device| device.name.clone())).collect();
        let environment = if probed.len() == 1 { probed.remove(0) } else { environment_of(paths, probed) };
        let mut place = Self {
            wanted: wanted.clone(),
            members,
            joined,
            devices,
            witnessed: Vec::new(),
            span_bytes: 0,
            fresh: None,
            ledgers: None,
            environment,
            harness: Harness::default(),
            switched: Vec::new(),
            began: Instant::now(),
        };
        place.span_bytes = place.common_bytes();
        place.note_engine();
        place.environment.surroundings = place.surroundings();
        Ok(place)
    }

    /// Bytes that every member has, without what is left of the last chunk.
    fn common_bytes(&self) -> u64 {
        self.joined.whole(self.members.iter().map(|member| member.span_bytes).min().unwrap_or(self.span_bytes))
    }

    /// What experiments can do here.
    fn surroundings(&self) -> Surroundings {
        let all = |kind| self.members.iter().all(|member| member.kind == kind);
        let kind = match () {
            () if all(Kind::Folder) => TargetKind::Folder,
            () if all(Kind::Block) => TargetKind::Device,
            () => TargetKind::File,
        };
        let (span, members) = (Bytes(self.span_bytes), self.members.len() as u32);
        let mut cannot = turned::cannot(&self.distinct_devices(self.members.len()));
        cannot.extend(engines::missing(self.members.iter().map(|member| &member.data)));
        Surroundings { kind, span, members, chunk: self.joined.chunk(), direct_unit: self.direct_unit(), cannot }
    }

    /// What direct requests must be multiples of; `None` where some member takes none.
    fn direct_unit(&self) -> Option<Bytes> {
        let units = self.members.iter().map(|member| Some(u64::from(member.alignment?.offset_bytes)));
        units.collect::<Option<Vec<u64>>>().map(|units| Bytes(units.into_iter().max().unwrap_or(1)))
    }

    fn note_engine(&mut self) {
        if self.wanted.engine == EngineName::Auto
            && let Err(why) = engine::io_uring_available()
        {
            self.environment.notes.push(format!("{why}; requests go out through a pool of threads instead"));
        }
    }

    fn path(&self) -> PathBuf {
        self.members.first().map_or_else(|| PathBuf::from("null:"), |member| member.data.path().to_path_buf())
    }

    fn refuse<T>(&self, what: String) -> Result<T, MeasureError> {
        Err(MeasureError::Target { path: self.path(), what })
    }

    fn arrange(&self, workload: &Workload) -> Result<Arrangement, MeasureError> {
        self.joined.arrange(&workload.twist).or_else(|what| self.refuse(what))
    }

    /// The devices under the first so many members, each once.
    fn distinct_devices(&self, members: usize) -> Vec<String> {
        let mut distinct: Vec<String> = Vec::new();
        for device in self.devices[..members].iter().flatten() {
            if !distinct.contains(device) {
                distinct.push(device.clone());
            }
        }
        distinct
    }

    /// Empties the page cache of the members that take part, or fills it with what a run uses; gives what it holds then
    /// of the one of which it holds most.
    fn set_page_cache(&self, twist: &Twist, arrangement: Arrangement) -> Result<Option<u64>, MeasureError> {
        let warm = twist.page_cache == PageCache::Warm;
        if self.wanted.drop_caches && !warm && arrangement.members > 0 {
            page_cache::drop_all()?;
        }
        // A part of a stripe is a part of every member.
        let used = match arrangement.way {
            Way::Stripe(_) => 0..self.span_bytes,
            Way::Each | Way::Mirror => twist.used(self.span_bytes),
        };
        let mut most = None;
        for member in &self.members[..arrangement.members] {
            let held = if warm { member.fill_page_cache(&used)? } else { member.empty_page_cache(self.span_bytes)? };
            most = most.max(held);
        }
        Ok(most)
    }

    /// The members' files of one lane as a volume.
    fn volume(&self, lane: usize, arrangement: Arrangement, joint: Joint, mode: Mode) -> Result<Volume, MeasureError> {
        let members = &arrangement.lanes()[lane];
        let files = members.iter().map(|member| match &self.fresh {
            Some(fresh) => fresh.reopen(mode),
            None => self.members[*member].data.reopen(mode),
        });
        let ledger = self.ledgers.as_ref().and_then(|ledgers| ledgers.each.get(lane).map(Arc::clone));
        Ok(Volume { files: files.collect::<Result<_, _>>()?, joint, ledger })
    }

    /// Sees to it that what a run reads can be verified, or forgets what was written so once other bytes are written.
    fn keep_ledgers(&mut self, workload: &Workload, arrangement: Arrangement) -> Result<(), MeasureError> {
        if !workload.twist.verify {
            self.ledgers = self.ledgers.take().filter(|_| !workload.rw.writes());
            return Ok(());
        }
        if self.ledgers.as_ref().is_some_and(|ledgers| ledgers.arrangement == arrangement) {
            return Ok(());
        }
        let span = arrangement.span_bytes(self.span_bytes);
        self.ledgers = Some(Ledgers::new(arrangement, span, self.wanted.seed));
        let mode = layout::mode(self.direct_unit().is_some());
        for lane in 0..arrangement.lanes().len() {
            let open = || {
                let volume = self.volume(lane, arrangement, arrangement.joint(), mode)?;
                let block = Bytes(layout::BLOCK_BYTES);
                Ok(engine::open_volume(volume, EngineName::Auto, layout::DEPTH, block, self.wanted.seed)?)
            };
            let (never, no_limit) = (AtomicBool::new(false), Nanos(u64::MAX / 2));
            layout::lay_out(&self.path(), span, self.wanted.seed, no_limit, &never, open)?;
        }
        self.ledgers.iter().flat_map(|all| &all.each).for_each(|ledger| ledger.was_read_back(0..span));
        Ok(())
    }

    /// The engine of one lane of `workload`.
    fn open_lane(
        &self,
        workload: &Workload,
        (lane, seed): (usize, u64),
        arrangement: Arrangement,
        joint: Joint,
    ) -> Result<Opened, MeasureError> {
        let Workload { rw, bs, iodepth, cache, engine, twist, .. } = *workload;
        let mode = Mode { direct: cache.direct(), durable: cache.durable(), write: rw.writes() };
        let volume = self.volume(lane, arrangement, joint, mode)?;
        turned::advise(twist.fadvise, &volume.files)?;
        let ledger = volume.ledger.filter(|_| twist.verify);
        Ok(engine::open_volume(Volume { ledger, ..volume }, engine, iodepth, bs, self.wanted.seed ^ seed)?)
    }

    /// All lanes of a run, the workload's first, and the engine that carries those.
    fn open_lanes(&self, run: &Run, arrangement: Arrangement) -> Result<(Vec<Lane>, EngineName), MeasureError> {
        let Workload { bs, threads, twist, .. } = run.workload;
        let span = self.fresh.as_ref().map_or(arrangement.span_bytes(self.span_bytes), |fresh| fresh.bytes);
        let used = twist.reached(span);
        let share = (used.end - used.start) / u64::from(threads);
        let share = share - share % bs.0;
        let part = |thread: u64| used.start + share * thread..used.start + share * (thread + 1);
        let cpu = seat(twist.affinity, self.devices.first().and_then(Option::as_deref)).unwrap_or(None);
        let (reader, volumes) = (aside::reader(&run.workload), arrangement.lanes().len());
        let own = (0..volumes).flat_map(|volume| (0..threads).map(move |thread| (volume, Some(thread))));
        let beside = (0..twist.randoms as usize).map(|reader| (reader % volumes, None));
        let (mut lanes, mut name) = (Vec::new(), run.workload.engine);
        for (volume, thread) in own.chain(beside) {
            let role = if thread.is_some() { LaneRole::Own } else { LaneRole::Random };
            let workload = if thread.is_some() { &run.workload } else { &reader };
            let seed = run.seed.rotate_left(lanes.len() as u32);
            let open = || self.open_lane(workload, (volume, seed), arrangement, arrangement.joint());
            let opened = turned::open_on(cpu, open)?;
            if role == LaneRole::Own {
                name = opened.name;
            }
            let range = match workload.rw.pattern() {
                Pattern::Sequential => part(thread.unwrap_or(0).into()),
                Pattern::Random => used.clone(),
            };
            // A sync engine holds one request at a time; slots that only wait would show as depth.
            lanes.push(Lane { engine: opened.engine, depth: opened.most_in_flight, range, role, cpu });
        }
        Ok((lanes, name))
    }
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
        coherent(workload)?;
        if memory::is_memory(workload)? {
            return Ok(());
        }
        let bs = workload.bs;
        let arrangement = self.arrange(workload)?;
        fresh::admit(workload, &self.members[..arrangement.members])?;
        let devices = self.distinct_devices(arrangement.members);
        turned::admit(workload, &devices, self.members.is_empty(), self.direct_unit())?;
        if workload.cache.direct() {
            let Some(unit) = self.direct_unit() else {
                return Err(os::OsError::NoDirect { path: self.path() }.into());
            };
            fits_direct(workload, unit)?;
            if let Way::Stripe(chunk) = arrangement.way
                && !chunk.0.is_multiple_of(unit.0)
            {
                return self.refuse(format!("takes direct I/O in multiples of {unit}: let chunk be one, not {chunk}"));
            }
        }
        let span = arrangement.span_bytes(self.span_bytes);
        let streams = u64::from(workload.threads).saturating_mul(u64::from(workload.twist.streams));
        let needed = Bytes(bs.0.saturating_mul(streams));
        let used = workload.twist.reached(span);
        if needed.0 > used.end - used.start || bs.0 > u64::from(u32::MAX / 2) {
            let span = Bytes(used.end - used.start);
            return Err(MeasureError::TooSmall { workload: Box::new(*workload), needed, span });
        }
        if workload.twist.verify {
            if self.members.is_empty() {
                return self.refuse("holds nothing that could be verified: leave --verify out".to_string());
            }
            if self.members.iter().any(|member| !member.ours) && !self.wanted.writes {
                return self
                    .refuse("is only read, and --verify checks what it has written: add --overwrite".to_string());
            }
            let memory = self.environment.machine.memory.0;
            ledgers::admit(workload, arrangement.lanes().len(), span, memory).or_else(|what| self.refuse(what))?;
        }
        Ok(())
    }

    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        let limit = Nanos(match span {
            Some(_) => u64::MAX / 2,
            None => self.wanted.layout_limit.0 / self.members.len().max(1) as u64,
        });
        for member in &mut self.members {
            let asked = span.map_or(member.span_bytes, |span| span.0);
            let note = member.make_ready(asked, &self.wanted, limit, stop)?;
            self.environment.notes.extend(note);
        }
        self.span_bytes = self.common_bytes();
        self.environment.surroundings.span = Bytes(self.span_bytes);
        Ok(())
    }

    fn prepare(&mut self, run: &Run) -> Result<Prepared, MeasureError> {
        if run.workload.engine == EngineName::Memory {
            self.witnessed.clear();
            let folder = self.members.first().map_or_else(std::env::temp_dir, |member| member.scratch.clone());
            return memory::prepare(&run.workload, &folder);
        }
        let Workload { rw, cache, twist, .. } = run.workload;
        let arrangement = self.arrange(&run.workload)?;
        self.fresh = None;
        self.keep_ledgers(&run.workload, arrangement)?;
        self.fresh = self.members.first().map_or(Ok(None), |member| Fresh::of(run, member, self.wanted.seed))?;
        // What the run before had switched is put back first.
        self.switched.clear();
        self.switched = turned::switched(&twist, &self.distinct_devices(arrangement.members))?;
        let cached_bytes = self.set_page_cache(&twist, arrangement)?;
        self.witnessed = witnessed(arrangement, &self.devices);
        let (lanes, engine) = self.open_lanes(run, arrangement)?;
        let buffered = !cache.direct() && !self.members.is_empty();
        let reads = rw.direction() != Some(Direction::Write);
        // What is small and buffered is gone through once: from the second time on it would be found in the page cache.
        let cold = buffered && (reads || twist.region.is_some()) && twist.page_cache == PageCache::Empty;
        let once = cold || self.fresh.is_some();
        let flush = (buffered && rw.writes()) || twist.fdatasync > 0;
        Ok(Prepared { lanes, engine, cached_bytes, once, flush, readers: None })
    }

    fn read_back(&mut self, run: &Run, stop: &AtomicBool) -> Result<BTreeMap<String, u64>, MeasureError> {
        let Workload { rw, bs, twist, .. } = run.workload;
        let mut wrong = BTreeMap::new();
        if !twist.verify || !rw.writes() {
            return Ok(wrong);
        }
        let arrangement = self.arrange(&run.workload)?;
        self.set_page_cache(&Twist { page_cache: PageCache::Empty, ..twist }, arrangement)?;
        let Range { start, end } = twist.reached(arrangement.span_bytes(self.span_bytes));
        let blocks = (start, bs.0 as u32, end);
        let Some(ledgers) = &self.ledgers else { return Ok(wrong) };
        for (lane, ledger) in ledgers.each.iter().enumerate() {
            for joint in arrangement.copies() {
                let mut opened = self.open_lane(&run.workload, (lane, run.seed), arrangement, joint)?;
                let depth = opened.most_in_flight;
                for (kind, count) in ledgers::read_back(opened.engine.as_mut(), ledger, blocks, depth, stop)? {
                    *wrong.entry(kind).or_default() += count;
                }
            }
            ledger.was_read_back(start..end);
        }
        Ok(wrong)
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let devices = self.devices.iter().flatten().map(String::as_str);
        Ok(Box::new(MachineAccount::new(pass, &self.witnessed, devices)?))
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
