//! Holds the members of a target: what they are, how they make one volume, and which engines and experiments they allow.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use halfpower_os::{DataFile, Kind, Mode, OsError};
use halfpower_probe::Root;
use halfpower_record::{Ability, Capabilities, Environment, StripePlace, TargetKind};
use halfpower_spec::{Bytes, Cache, EngineName, Nanos, PageCache, Spread, Workload, WorkloadOptions};

use super::host_part::HostPart;
use super::member::{Member, USUAL_BYTES, refuse_twice};
use super::memory_budget::MemoryBudget;
use super::options::RealTargetOptions;
use super::run_volume::{RunLayout, RunVolume, VolumeMembers, environment_of};
use super::{apply_options, commands, layers, page_cache, request_flags};
use crate::MeasureError;
use crate::admission::note_of_spread;

/// The members of a target; none for `null:`.
pub(super) struct Members {
    pub each: Vec<Member>,
    volume: VolumeMembers,
    /// Kernel name of the device under each member; `None` where none is known, and where there are several: the counters
    /// and switches of one of them are not those of the member.
    pub devices: Vec<Option<String>>,
    /// Used bytes of each member.
    pub span_bytes: u64,
    /// Memory that runs may use.
    pub budget: MemoryBudget,
    /// Bytes that each member holds, if the used bytes are spread over them in pieces; `None` if they are contiguous.
    pub spread_bytes: Option<u64>,
    /// The part of this process, if several measure the target together.
    host_part: Option<HostPart>,
    /// Whether the current run uses the part of the next process.
    turned: bool,
}

impl Members {
    /// The members of `null:`: none.
    pub fn none(size: Option<Bytes>) -> Self {
        let span_bytes = size.map_or(USUAL_BYTES, |size| size.0);
        let budget = MemoryBudget::of_this_process();
        Self {
            budget,
            each: Vec::new(),
            volume: VolumeMembers::single(0),
            devices: Vec::new(),
            span_bytes,
            spread_bytes: None,
            host_part: None,
            turned: false,
        }
    }

    /// Opens these paths and probes their environment. Writes no data yet.
    ///
    /// # Errors
    /// As [`Member::open`] for any of them, and if one is named twice.
    pub fn open(
        paths: &[PathBuf],
        volume: VolumeMembers,
        wanted: &RealTargetOptions,
    ) -> Result<(Self, Environment), MeasureError> {
        let budget = MemoryBudget::of_this_process();
        let places = paths.iter().map(|path| commands::place(path)).collect::<Result<Vec<_>, _>>()?;
        let paths: Vec<PathBuf> = places.iter().map(|(path, _)| path.clone()).collect();
        let paths = paths.as_slice();
        refuse_twice(paths, wanted.force_in_use)?;
        let mut each = paths.iter().map(|path| Member::open(path, wanted, budget)).collect::<Result<Vec<_>, _>>()?;
        for (member, (_, is_generic)) in each.iter_mut().zip(&places) {
            member.commands.is_generic = *is_generic;
        }
        let mut probed = paths.iter().map(|path| probe(path)).collect::<Result<Vec<_>, _>>()?;
        each.iter_mut().zip(&mut probed).for_each(|(member, environment)| call_direct_what_is(member, environment));
        let devices = probed.iter().map(lone_device).collect();
        let mut environment = if probed.len() == 1 { probed.remove(0) } else { environment_of(paths, probed) };
        let host_part = wanted.host_part.clone();
        let mut members =
            Self { budget, each, volume, devices, span_bytes: 0, spread_bytes: None, host_part, turned: false };
        members.check_host_part(wanted)?;
        members.span_bytes = members.common_bytes();
        let fewest = members.each.iter().map(|member| member.whole_bytes).min();
        members.spread_bytes = fewest.filter(|_| wanted.spread).map(|bytes| members.volume.whole(bytes));
        environment.capabilities = members.capabilities(wanted.engine);
        Ok((members, environment))
    }

    /// Lays out our own files, or checks what foreign ones hold; returns notes for the report.
    ///
    /// # Errors
    /// If there is no room, or [`MeasureError::Interrupted`] if `stop` was set.
    pub fn make_ready(
        &mut self,
        span: Option<Bytes>,
        wanted: &RealTargetOptions,
        stop: &AtomicBool,
    ) -> Result<Vec<String>, MeasureError> {
        let limit = Nanos(match span {
            Some(_) => u64::MAX / 2,
            // Another process will read this file, so it must have its full size.
            None if self.host_part.as_ref().is_some_and(|part| part.reorder) => u64::MAX / 2,
            None => wanted.layout_limit.0 / self.each.len().max(1) as u64,
        });
        let mut notes = Vec::new();
        for member in &mut self.each {
            let asked = span.map_or(member.span_bytes, |span| span.0);
            notes.extend(member.make_ready(asked, wanted, limit, stop)?);
        }
        self.span_bytes = self.common_bytes();
        if let Some(whole) = self.spread_bytes {
            notes.push(note_of_spread(self.span_bytes, whole));
        }
        Ok(notes)
    }

    /// Refuses targets and settings that several processes cannot share.
    fn check_host_part(&self, wanted: &RealTargetOptions) -> Result<(), MeasureError> {
        let Some(part) = &self.host_part else { return Ok(()) };
        part.check()?;
        if part.is_shared() && (self.each.len() > 1 || wanted.spread) {
            return self.refuse(
                "is shared out among processes, and neither several members nor --spread are: name one \
                                target, or take --host-layout file-per-process"
                    .to_string(),
            );
        }
        let foreign = self.each.iter().any(|member| !member.ours);
        if part.reorder && !part.is_shared() && (foreign || self.each.len() > 1) {
            return self.refuse(
                "holds no file of each process that the next one could read: name a folder, or leave \
                                --reorder out"
                    .to_string(),
            );
        }
        Ok(())
    }

    /// Whether reads go to the part that another process wrote.
    pub fn reorders(&self) -> bool {
        self.host_part.as_ref().is_some_and(|part| part.reorder)
    }

    /// Selects the part that a run of `workload` uses: with `--reorder`, reads use the next process's part.
    ///
    /// # Errors
    /// If the next process's file cannot be opened.
    pub fn turn(&mut self, workload: &Workload) -> Result<(), MeasureError> {
        let Some(part) = &self.host_part else { return Ok(()) };
        self.turned = part.reorder && !workload.rw.writes();
        let turned = self.turned;
        self.each.iter_mut().try_for_each(|member| member.turn(turned.then_some(part)))
    }

    /// Bytes that every member has, in whole chunks.
    fn common_bytes(&self) -> u64 {
        self.volume.whole(self.each.iter().map(|member| member.span_bytes).min().unwrap_or(self.span_bytes))
    }

    /// How each member takes NVMe commands.
    pub fn command_paths(&self) -> impl Iterator<Item = &commands::CommandPath> {
        self.each.iter().map(|member| &member.commands)
    }

    /// What experiments can do on these members, through `engine` unless they say another one.
    fn capabilities(&self, engine: EngineName) -> Capabilities {
        let all = |kind| self.each.iter().all(|member| member.kind == kind);
        let kind = match () {
            () if all(Kind::Folder) => TargetKind::Folder,
            () if all(Kind::Block) => TargetKind::Device,
            () => TargetKind::File,
        };
        let span = Bytes(self.span_bytes);
        let spread = self.spread_bytes.map(Bytes);
        let members = self.each.len() as u32;
        let mut unavailable = apply_options::unavailable(&self.distinct_devices(self.each.len()));
        let files = self.each.iter().map(|member| &member.data);
        unavailable.extend(missing(files.clone()));
        unavailable.extend(request_flags::unavailable(files));
        unavailable.extend(commands::unavailable(self.command_paths(), engine));
        let chunk = self.volume.chunk();
        let direct_unit = self.direct_unit();
        let stripe = self.stripe();
        let mut capabilities = Capabilities {
            kind,
            span,
            spread,
            members,
            chunk,
            direct_unit,
            unavailable,
            stripe,
            ..Capabilities::default()
        };
        layers::add_to(&mut capabilities, &self.each);
        capabilities
    }

    /// Full stripes of the array with parity under a single member; where they begin is known once its bytes have their place.
    pub fn stripe(&self) -> Option<StripePlace> {
        match self.each.as_slice() {
            [member] => layers::stripe(member),
            _ => None,
        }
    }

    /// What direct requests must be multiples of; `None` if a member does not support direct I/O.
    pub fn direct_unit(&self) -> Option<Bytes> {
        let units = self.each.iter().map(|member| Some(u64::from(member.alignment?.offset_bytes)));
        units.collect::<Option<Vec<u64>>>().map(|units| Bytes(units.into_iter().max().unwrap_or(1)))
    }

    /// The path that errors name: the first member's.
    pub fn path(&self) -> PathBuf {
        self.each.first().map_or_else(|| PathBuf::from("null:"), |member| member.data.path().to_path_buf())
    }

    /// Returns an error that begins with the target's path.
    ///
    /// # Errors
    /// Always, with `what` after the path.
    pub fn refuse<T>(&self, what: String) -> Result<T, MeasureError> {
        Err(MeasureError::Target { path: self.path(), what })
    }

    /// How a run with these options uses the members.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn run_volume(&self, options: &WorkloadOptions) -> Result<RunVolume, MeasureError> {
        self.volume.arrange(options).or_else(|what| self.refuse(what))
    }

    /// Where the pieces that a lane reaches lie; `None` if it reaches one contiguous part.
    ///
    /// # Errors
    /// Why the span cannot be spread.
    pub fn spread(&self, volume: RunVolume) -> Result<Option<Spread>, MeasureError> {
        if let (Some(part), Some(member)) = (&self.host_part, self.each.first())
            && let Some(spread) = part.spread(member.part_bytes, self.turned)
        {
            return Ok(Some(spread));
        }
        let of_volume = |whole| Spread::over(volume.span_bytes(self.span_bytes), volume.span_bytes(whole));
        self.spread_bytes.map(of_volume).transpose().or_else(|what| self.refuse(what))
    }

    /// The devices under the first `members` members, each once.
    pub fn distinct_devices(&self, members: usize) -> Vec<String> {
        let mut distinct: Vec<String> = Vec::new();
        for device in self.devices[..members].iter().flatten() {
            if !distinct.contains(device) {
                distinct.push(device.clone());
            }
        }
        distinct
    }

    /// The parts of each member that hold the range `used` of a lane.
    fn parts(&self, used: Range<u64>, volume: RunVolume) -> Result<Vec<Range<u64>>, MeasureError> {
        Ok(match (volume.layout, self.spread(volume)?) {
            // A stripe spreads every range over all members.
            (RunLayout::Stripe(_), None) => std::iter::once(0..self.span_bytes).collect(),
            (RunLayout::Stripe(chunk), Some(spread)) => {
                let row = chunk.0 * volume.members as u64;
                let of_member = |part: Range<u64>| part.start / row * chunk.0..part.end.div_ceil(row) * chunk.0;
                spread.places(&(0..volume.span_bytes(self.span_bytes))).map(of_member).collect()
            }
            (_, None) => std::iter::once(used).collect(),
            (_, Some(spread)) => spread.places(&used).collect(),
        })
    }

    /// Bytes of the span in the page cache, of the member that has most; `None` if unknown.
    pub fn cached_bytes(&self, options: &WorkloadOptions) -> Option<u64> {
        let volume = self.run_volume(options).ok()?;
        let parts = self.parts(0..self.span_bytes, volume).ok()?;
        self.each[..volume.members].iter().filter_map(|member| member.cached_bytes(&parts)).max()
    }

    /// Empties the page cache of the members that take part, or fills it with what a run uses. Returns the bytes cached
    /// afterwards, of the member that has most; `None` if unknown.
    ///
    /// # Errors
    /// If dirty pages cannot be written back, or the rights for `drop_caches` are missing.
    pub fn set_page_cache(
        &self,
        options: &WorkloadOptions,
        volume: RunVolume,
        drop_caches: bool,
    ) -> Result<Option<u64>, MeasureError> {
        let warm = options.page_cache == PageCache::Warm;
        if drop_caches && !warm && volume.members > 0 {
            page_cache::drop_all()?;
        }
        let parts = self.parts(if warm { options.used(self.span_bytes) } else { 0..self.span_bytes }, volume)?;
        let mut most = None;
        for member in &self.each[..volume.members] {
            let held = if warm { member.fill_page_cache(&parts)? } else { member.empty_page_cache(&parts)? };
            most = most.max(held);
        }
        Ok(most)
    }
}

/// Disables direct I/O on file systems that serve it from memory, and adds a note.
fn call_direct_what_is(member: &mut Member, environment: &mut Environment) {
    let kind = environment.filesystem.as_ref().map_or("", |filesystem| filesystem.kind.as_str());
    if let Some(why) = halfpower_probe::not_direct(&Root::live(), kind) {
        member.alignment = None;
        environment.notes.push(why);
    }
}

/// Kernel name of the device beneath a member, if it lies on a single one.
fn lone_device(environment: &Environment) -> Option<String> {
    environment.device.as_ref().filter(|device| device.is_alone()).map(|device| device.name.clone())
}

fn probe(path: &Path) -> Result<Environment, MeasureError> {
    halfpower_probe::probe_path(&Root::live(), path).map_err(|error| MeasureError::Target {
        path: path.to_path_buf(),
        what: format!("cannot be looked up: {error}"),
    })
}

/// The cache mode to test each engine with: direct, or buffered for an engine that supports nothing else.
fn usual_cache(name: EngineName) -> Cache {
    if name == EngineName::Mmap { Cache::Both } else { Cache::Device }
}

/// Engines that cannot drive `files`, with the reason.
fn missing<'a>(files: impl Iterator<Item = &'a DataFile> + Clone) -> BTreeMap<Ability, String> {
    let for_storage = EngineName::ALL.iter().copied().filter(|name| name.is_for_storage());
    let why = |name: EngineName| {
        let commands = name.sends_commands();
        let mode = Mode { direct: usual_cache(name).direct(), commands, ..Mode::default() };
        let asked = files.clone().try_for_each(|file| match file.reopen(mode) {
            Ok(run_file) => halfpower_engine::available(name, Some(&run_file)),
            Err(OsError::NoCommands { why, .. }) => Err(why),
            // Without direct I/O, ask at least whether the kernel has the engine.
            Err(_) => halfpower_engine::available(name, None),
        });
        asked.err().map(|why| (Ability::Engine(name), why))
    };
    for_storage.filter_map(why).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use halfpower_record::Device;

    use super::super::run_volume::witnessed;
    use super::*;

    #[test]
    fn the_counter_of_one_of_several_devices_is_no_witness() {
        let member = |others: &[&str]| {
            let others = others.iter().map(|name| (*name).to_string()).collect();
            let device = Device { name: "sda".to_string(), others, ..Device::default() };
            lone_device(&Environment { device: Some(device), ..Environment::default() })
        };
        assert_eq!((member(&[]).as_deref(), member(&["sdb"])), (Some("sda"), None));
        let alone = VolumeMembers::single(1).arrange(&WorkloadOptions::default()).unwrap();
        assert_eq!(witnessed(alone, &[member(&[])]), ["sda"]);
        assert!(witnessed(alone, &[member(&["sdb"])]).is_empty());
    }

    #[test]
    fn what_is_missing_is_what_the_engine_itself_refuses() {
        let file = DataFile::unnamed_in(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let missing = missing(std::iter::once(&file));
        for name in [EngineName::Sync, EngineName::Mmap] {
            assert!(!missing.contains_key(&Ability::Engine(name)), "{missing:?}");
        }
        for name in [EngineName::IoUring, EngineName::Sqpoll, EngineName::Libaio] {
            assert_eq!(missing.get(&Ability::Engine(name)).cloned(), halfpower_engine::available(name, None).err());
        }
    }
}
