//! Runs on a real target: makes it ready, opens the engines of each run, and keeps the account.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use halfpower_os::Kind;
use halfpower_probe::Root;
use halfpower_record::Environment;
use halfpower_spec::{
    Bytes, Direction, EngineName, FileOperation, Jump, Nanos, PageCache, Pass, Run, Rw, Several, Workload,
    WorkloadOptions,
};

use super::account::machine_account;
use super::admits::{self, Rights};
use super::instruments::Instruments;
use super::lanes::{OpenedLanes, Reached};
use super::layers::{self, OpenedLayer};
use super::ledgers::Ledgers;
use super::member::Member;
use super::members::Members;
use super::options::RealTargetOptions;
use super::run_volume::{RunVolume, VolumeMembers, witnessed};
use super::scratch_file::ScratchFile;
use super::write_cache::WriteCache;
use super::{apply_options, commands, file_lanes, memory_lanes, page_cache, verification};
use crate::MeasureError;
use crate::silence::{Silence, WriteBack};
use crate::target_backend::{Account, ClosingFlush, Prepared, TargetBackend};
use crate::window::is_flushed;

/// File systems that keep data on the device that is named for them alone, and not on several; XFS without `rtdev`.
const ON_ONE_DEVICE: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "vfat", "exfat"];

/// A real target.
pub struct RealTarget {
    wanted: RealTargetOptions,
    /// The paths that requests go to; none for `null:`.
    members: Members,
    /// Devices of the current run whose own byte counts can be compared with it.
    witnessed: Vec<String>,
    /// The scratch files of the current run.
    scratch: Vec<ScratchFile>,
    /// Ledgers of what was laid out for verification, until something else is written.
    ledgers: Option<Ledgers>,
    /// Whether blocks were trimmed and have not been written again.
    trimmed: bool,
    /// Whether the kernel returned requests with EAGAIN, so that its workers now carry all requests.
    by_workers: bool,
    environment: Environment,
    instruments: Instruments,
    /// Write caches that the current run has switched.
    switched: Vec<WriteCache>,
    /// The device beneath the target that the current run reads in place of it.
    layer: Option<OpenedLayer>,
}

impl RealTarget {
    /// The target `null:`, which accepts every request and does nothing.
    ///
    /// # Errors
    /// If its bytes should be spread: it has none.
    pub fn null(wanted: &RealTargetOptions) -> Result<Self, MeasureError> {
        if wanted.spread {
            return Err(MeasureError::Unfit { what: "--spread: null: holds nothing; leave it out".to_string() });
        }
        let machine = halfpower_probe::probe_machine(&Root::live());
        Ok(Self::of(Members::none(wanted.size), Environment { machine, ..Environment::default() }, wanted))
    }

    /// Opens a folder, a file or a block device. Writes no data yet.
    ///
    /// # Errors
    /// If it is none of these, may not be used like this, or holds data that the user has not allowed to overwrite.
    pub fn open(path: &Path, wanted: &RealTargetOptions) -> Result<Self, MeasureError> {
        let (members, environment) = Members::open(&[path.to_path_buf()], VolumeMembers::single(1), wanted)?;
        Ok(Self::of(members, environment, wanted).with_note_on_engine())
    }

    /// Opens several of these as one target.
    ///
    /// # Errors
    /// As [`Self::open`] for any of them, and if one is named twice.
    pub fn open_several(several: &Several, wanted: &RealTargetOptions) -> Result<Self, MeasureError> {
        let (members, environment) = Members::open(&several.members, VolumeMembers::of(several), wanted)?;
        Ok(Self::of(members, environment, wanted).with_note_on_engine())
    }

    fn of(members: Members, environment: Environment, wanted: &RealTargetOptions) -> Self {
        Self {
            wanted: wanted.clone(),
            members,
            witnessed: Vec::new(),
            scratch: Vec::new(),
            ledgers: None,
            trimmed: false,
            by_workers: false,
            environment,
            instruments: Instruments::new(),
            switched: Vec::new(),
            layer: None,
        }
    }

    fn with_note_on_engine(mut self) -> Self {
        if self.wanted.engine == EngineName::Auto
            && let Err(why) = halfpower_engine::io_uring_available()
        {
            self.environment
                .notes
                .push(format!("Requests go out through a pool of threads, since io_uring cannot be used: {why}"));
        }
        self
    }

    fn reached(&self, volume: RunVolume) -> Reached<'_> {
        let scratch = self.scratch.first();
        let own_files = if self.scratch.len() > 1 { self.scratch.as_slice() } else { &[] };
        let ledgers = self.ledgers.as_ref();
        let by_workers = self.by_workers;
        let RealTargetOptions { seed, payload, .. } = self.wanted;
        let layer = self.layer.as_ref();
        Reached { members: &self.members, layer, scratch, own_files, ledgers, volume, seed, payload, by_workers }
    }

    /// Lays out verifiable blocks if the run verifies and there are none; drops the ledgers if the run overwrites such
    /// blocks.
    fn keep_ledgers(&mut self, workload: &Workload, volume: RunVolume, stop: &AtomicBool) -> Result<(), MeasureError> {
        let kept = self.ledgers.take();
        self.ledgers = if !workload.options.verify {
            kept.filter(|_| !workload.writes())
        } else if kept.as_ref().is_some_and(|ledgers| ledgers.volume == volume) {
            kept
        } else {
            Some(verification::lay_out(self.reached(volume), stop)?)
        };
        Ok(())
    }
}

impl RealTarget {
    /// Devices whose own byte counts can be compared with a run: they do not count trims as bytes moved, and commands only
    /// where they are set to.
    fn counting(&self, workload: &Workload, volume: RunVolume) -> Vec<String> {
        let devices = witnessed(volume, &self.members.devices);
        let sends_commands = commands::settled(workload, self.members.command_paths()).engine.sends_commands();
        let counts = !sends_commands || devices.iter().all(|device| commands::are_counted(device));
        if counts && !workload.rw.trims() { devices } else { Vec::new() }
    }

    /// Opens the device that the run reads in place of the target, if any, and names the devices whose byte counts tell of it.
    fn open_layer(&mut self, workload: &Workload, volume: RunVolume) -> Result<(), MeasureError> {
        self.layer = layers::opened(&self.members.each, workload)?;
        self.witnessed = match &self.layer {
            Some(layer) => layer.disk.iter().cloned().collect(),
            None => self.counting(workload, volume),
        };
        Ok(())
    }

    /// How long the target may be silent after a run, which may flush at its end.
    fn silence(&self, workload: &Workload, volume: RunVolume, flushes: bool) -> Silence {
        let leaves_pages = flushes || workload.load_beside().is_some_and(|load| is_flushed(&load));
        let write_back = WriteBack::of(leaves_pages, &self.written_devices(volume.members));
        Silence { longest: self.wanted.silence, write_back }
    }

    /// The devices to which the page cache writes what a run leaves in the first `members` members; `None` stands for one that
    /// is not known.
    fn written_devices(&self, members: usize) -> Vec<Option<String>> {
        let is_on_one = self.environment.filesystem.as_ref().is_some_and(|filesystem| {
            ON_ONE_DEVICE.contains(&filesystem.kind.as_str()) && !filesystem.options.contains("rtdev=")
        });
        let each = self.members.each.iter().zip(&self.members.devices).take(members).enumerate();
        let known = |(at, (member, device)): (usize, (&Member, &Option<String>))| {
            // Scratch files of a device lie elsewhere. What is known of the file system is the first member's.
            let is_its_own = if member.kind == Kind::Block { self.scratch.is_empty() } else { at == 0 && is_on_one };
            device.clone().filter(|_| is_its_own)
        };
        each.map(known).collect()
    }

    /// Prepares a run of operations on small files, which share the file system with the target and not its blocks.
    fn prepare_files(&mut self, workload: &Workload, operation: FileOperation) -> Result<Prepared, MeasureError> {
        self.witnessed.clear();
        self.scratch.clear();
        let folder = self.members.each.first().map_or_else(std::env::temp_dir, |member| member.scratch.clone());
        let write_back = WriteBack::of(operation.changes(), &self.written_devices(1));
        let silence = Silence { longest: self.wanted.silence, write_back };
        let prepared = file_lanes::prepare(workload, operation, &folder, silence)?;
        self.note(file_lanes::NOTE);
        Ok(prepared)
    }
}

impl TargetBackend for RealTarget {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn environment_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }

    fn span_bytes(&self) -> u64 {
        self.members.span_bytes
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        let rights = Rights { writes: self.wanted.writes };
        admits::admits(&self.members, workload, rights)
    }

    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        let notes = self.members.make_ready(span, &self.wanted, stop)?;
        self.environment.notes.extend(notes);
        self.environment.capabilities.span = Bytes(self.members.span_bytes);
        self.environment.capabilities.stripe = self.members.stripe();
        Ok(())
    }

    fn prepare(&mut self, run: &Run, stop: &AtomicBool) -> Result<Prepared, MeasureError> {
        // Restore first what the last run switched, whatever this one is.
        self.switched.clear();
        if run.workload.engine == EngineName::Memory {
            self.witnessed.clear();
            let folder = self.members.each.first().map_or_else(std::env::temp_dir, |member| member.scratch.clone());
            return memory_lanes::prepare(&run.workload, &folder);
        }
        let Workload { rw, cache, rate, options, .. } = run.workload;
        if let Some(operation) = options.file_operation {
            return self.prepare_files(&run.workload, operation);
        }
        let volume = self.members.run_volume(&options)?;
        self.members.turn(&run.workload)?;
        self.scratch.clear();
        if self.trimmed {
            self.members.each.iter().try_for_each(|member| member.write_again(&self.wanted, stop))?;
        }
        // Not before: what could not be written again is left to the next run.
        self.trimmed = rw.trims();
        self.keep_ledgers(&run.workload, volume, stop)?;
        let first = self.members.each.first();
        self.scratch = first.map_or(Ok(Vec::new()), |member| ScratchFile::of(run, member, self.wanted.seed, stop))?;
        self.switched = apply_options::switched(&options, &self.members.distinct_devices(volume.members))?;
        let cached_bytes = self.members.set_page_cache(&options, volume, self.wanted.drop_caches)?;
        self.open_layer(&run.workload, volume)?;
        let buffered = !cache.direct() && !self.members.each.is_empty();
        let reads = rw.direction() != Some(Direction::Write);
        // Use each block of a cold buffered run once: a second visit would find it in the page cache.
        let cold = buffered && (reads || options.region.is_some()) && options.page_cache == PageCache::Empty;
        // A skewed distribution needs blocks to come again, and so do orders in which requests jump, overlap or meet.
        let is_even = !options.random_distribution.is_skewed()
            && options.jump == Jump::default()
            && options.blockalign == Bytes(0)
            && !options.same_blocks;
        // In a file, a trimmed block is a hole and cannot be trimmed again.
        let holes = rw.trims() && self.members.each.iter().any(Member::has_holes_after_trims);
        let extends = self.scratch.iter().any(|file| !file.is_written());
        let once = cold && is_even || extends || holes && rw != Rw::Trimwrite;
        let OpenedLanes { lanes, engine, buffers } = self.reached(volume).open_lanes(run, once)?;
        if buffers.unregistered {
            self.note(&self.members.budget.note_of_unregistered());
        }
        let flush = (buffered && rw.writes()) || options.fdatasync > 0 || options.end_flush;
        // With blocks used once, an end by bytes, a closing flush or a trace, the window must cover all requests, so
        // there is no warm-up.
        let is_whole = once || options.io_size.is_some() || flush || run.pass == Pass::Traced;
        let warms_up = !is_whole && rate.is_none() && options.thinktime == Nanos(0);
        Ok(Prepared {
            lanes,
            engine,
            span_bytes: self.layer.as_ref().map_or(self.members.span_bytes, |layer| layer.places.span_bytes()),
            spread_bytes: self.members.spread_bytes.filter(|_| self.scratch.is_empty()),
            cached_bytes,
            buffer_segments: buffers.segments.filter(|_| cache.direct()),
            warms_up: warms_up.then_some(Nanos(0)),
            flush: ClosingFlush::counts_if(flush),
            silence: Some(self.silence(&run.workload, volume, flush)),
        })
    }

    fn check_direct(&mut self, run: &Run, cached_before: Option<u64>, bytes: u64) {
        let options = &run.workload.options;
        // A scratch file is not the members' data, and trims move no bytes.
        let is_elsewhere = !self.scratch.is_empty() || self.layer.is_some();
        let tells = !is_elsewhere && !run.workload.rw.trims() && !self.members.each.is_empty();
        let Some(before) = cached_before.filter(|_| tells) else { return };
        let most = (bytes / self.members.each.len() as u64).min(self.members.span_bytes);
        if self.members.cached_bytes(options).is_some_and(|now| page_cache::took_direct(before, now, most)) {
            self.note(&page_cache::note_of_direct(&self.environment));
        }
    }

    fn cached_after(&self, run: &Run) -> Option<u64> {
        let options = &run.workload.options;
        // Scratch files and small files are not the members' data, and a memory kernel touches none.
        let is_elsewhere = options.file_operation.is_some() || run.workload.engine == EngineName::Memory;
        let tells = self.scratch.is_empty() && !self.members.each.is_empty() && !is_elsewhere;
        if tells { self.members.cached_bytes(options) } else { None }
    }

    fn read_back(&mut self, run: &Run, stop: &AtomicBool) -> Result<BTreeMap<String, u64>, MeasureError> {
        let Workload { rw, options, .. } = run.workload;
        if !options.verify || !rw.writes() {
            return Ok(BTreeMap::new());
        }
        let volume = self.members.run_volume(&options)?;
        let empty = WorkloadOptions { page_cache: PageCache::Empty, ..options };
        self.members.set_page_cache(&empty, volume, self.wanted.drop_caches)?;
        verification::read_back_run(self.reached(volume), run, stop)
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let devices: Vec<&str> = self.members.devices.iter().flatten().map(String::as_str).collect();
        let (account, note) = machine_account(pass, &self.witnessed, &devices)?;
        note.iter().for_each(|note| self.note(note));
        Ok(Box::new(account))
    }

    fn hand_to_workers(&mut self) -> bool {
        !std::mem::replace(&mut self.by_workers, true)
    }

    fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
        self.instruments.harness_ns_per_io(depth)
    }

    fn clock_ns(&self) -> u64 {
        self.instruments.clock_ns()
    }

    fn unix_ms(&self) -> u64 {
        self.instruments.unix_ms()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use halfpower_spec::{Cache, Kernel, Switch};

    use super::*;

    const HERE: &str = env!("CARGO_MANIFEST_DIR");

    fn target(folder: &Path) -> RealTarget {
        let wanted = RealTargetOptions { size: Some(Bytes(8 << 20)), writes: true, ..RealTargetOptions::default() };
        let mut target = RealTarget::open(folder, &wanted).unwrap();
        target.make_ready(None, &AtomicBool::new(false)).unwrap();
        target
    }

    fn prepared(target: &mut RealTarget, workload: Workload) -> Prepared {
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(1_000_000), seed: 1 };
        target.prepare(&run, &AtomicBool::new(false)).unwrap()
    }

    fn of_files(operation: FileOperation) -> Workload {
        let options = WorkloadOptions { file_operation: Some(operation), file_count: 2, ..WorkloadOptions::default() };
        Workload { rw: Rw::Write, cache: Cache::Both, options, ..Workload::default() }
    }

    #[test]
    fn a_switched_write_cache_is_put_back_before_a_run_of_any_kind() {
        let folder = tempfile::tempdir_in(HERE).unwrap();
        let mut target = target(folder.path());
        let kernel = WorkloadOptions { kernel: Some(Kernel::Read), ..WorkloadOptions::default() };
        let of_memory = Workload { engine: EngineName::Memory, options: kernel, ..Workload::default() };
        let buffered = Workload { cache: Cache::Both, ..Workload::default() };
        for workload in [of_files(FileOperation::Create), of_memory, buffered] {
            let laid_out = tempfile::tempdir().unwrap();
            let block = laid_out.path().join("block");
            let setting = block.join("sda/cache_type");
            fs::create_dir_all(block.join("sda")).unwrap();
            fs::write(&setting, "write back").unwrap();
            let notes = laid_out.path().join("notes");
            let devices = ["sda".to_string()];
            target.switched = WriteCache::set_all_under(&block, Some(&notes), &devices, Switch::Off).unwrap();
            assert_eq!(fs::read_to_string(&setting).unwrap(), "write through");
            prepared(&mut target, workload);
            assert_eq!(fs::read_to_string(&setting).unwrap(), "write back", "{workload}");
        }
    }

    #[test]
    fn what_the_machine_writes_back_is_no_sign_of_life_of_a_target_that_is_read() {
        let folder = tempfile::tempdir_in(HERE).unwrap();
        let mut target = target(folder.path());
        let mut looks = |workload| prepared(&mut target, workload).silence.unwrap().write_back != WriteBack::Nothing;
        let read = Workload { cache: Cache::Both, ..Workload::default() };
        let write = Workload { rw: Rw::Write, ..read };
        let beside = |workload: Workload| {
            let options = WorkloadOptions { beside: Some(workload.as_load().unwrap()), ..WorkloadOptions::default() };
            Workload { options, ..read }
        };
        let small = |rw: Rw| {
            let cache = if rw.writes() { Cache::Both } else { Cache::Device };
            Workload { rw, cache, bs: Bytes(4096), ..read }
        };
        assert!(!looks(read) && looks(write));
        assert!(!looks(beside(small(Rw::Randread))) && looks(beside(small(Rw::Randwrite))));
        assert!(!looks(of_files(FileOperation::Stat)) && looks(of_files(FileOperation::Create)));
    }
}
