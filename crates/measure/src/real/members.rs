//! Holds the members of a target: what they are, how they make one volume, and what can be done with them.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use halfpower_os::Kind;
use halfpower_probe::Root;
use halfpower_record::{Capabilities, Environment, TargetKind};
use halfpower_spec::{Bytes, Nanos, PageCache, WorkloadOptions};

use super::member::{Member, USUAL_BYTES, refuse_twice};
use super::options::RealTargetOptions;
use super::run_volume::{RunLayout, RunVolume, VolumeMembers, environment_of};
use super::{apply_options, engines, page_cache};
use crate::MeasureError;

/// The members of a target; none for `null:`.
pub(super) struct Members {
    pub each: Vec<Member>,
    volume: VolumeMembers,
    /// Kernel name of the device under each member.
    pub devices: Vec<Option<String>>,
    /// Bytes of each member that are used.
    pub span_bytes: u64,
}

impl Members {
    /// Those of `null:`.
    pub fn none(size: Option<Bytes>) -> Self {
        let span_bytes = size.map_or(USUAL_BYTES, |size| size.0);
        Self { each: Vec::new(), volume: VolumeMembers::single(0), devices: Vec::new(), span_bytes }
    }

    /// Opens these paths and looks at what surrounds them. Nothing of any size is written yet.
    ///
    /// # Errors
    /// As [`Member::open`] for any of them; and where one is named twice.
    pub fn open(
        paths: &[PathBuf],
        volume: VolumeMembers,
        wanted: &RealTargetOptions,
    ) -> Result<(Self, Environment), MeasureError> {
        refuse_twice(paths, wanted.force_in_use)?;
        let each = paths.iter().map(|path| Member::open(path, wanted)).collect::<Result<Vec<_>, _>>()?;
        let mut probed = paths.iter().map(|path| probe(path)).collect::<Result<Vec<_>, _>>()?;
        let devices = probed.iter().map(|backend| backend.device.as_ref().map(|device| device.name.clone())).collect();
        let mut environment = if probed.len() == 1 { probed.remove(0) } else { environment_of(paths, probed) };
        let mut members = Self { each, volume, devices, span_bytes: 0 };
        members.span_bytes = members.common_bytes();
        environment.capabilities = members.capabilities();
        Ok((members, environment))
    }

    /// Lays out our own files, or looks at what is there; gives what is to be said of it.
    ///
    /// # Errors
    /// Where there is no room, or [`MeasureError::Interrupted`] when `stop` was set.
    pub fn make_ready(
        &mut self,
        span: Option<Bytes>,
        wanted: &RealTargetOptions,
        stop: &AtomicBool,
    ) -> Result<Vec<String>, MeasureError> {
        let limit = Nanos(match span {
            Some(_) => u64::MAX / 2,
            None => wanted.layout_limit.0 / self.each.len().max(1) as u64,
        });
        let mut notes = Vec::new();
        for member in &mut self.each {
            let asked = span.map_or(member.span_bytes, |span| span.0);
            notes.extend(member.make_ready(asked, wanted, limit, stop)?);
        }
        self.span_bytes = self.common_bytes();
        Ok(notes)
    }

    /// Bytes that every member has, without what is left of the last chunk.
    fn common_bytes(&self) -> u64 {
        self.volume.whole(self.each.iter().map(|member| member.span_bytes).min().unwrap_or(self.span_bytes))
    }

    /// What experiments can do here.
    fn capabilities(&self) -> Capabilities {
        let all = |kind| self.each.iter().all(|member| member.kind == kind);
        let kind = match () {
            () if all(Kind::Folder) => TargetKind::Folder,
            () if all(Kind::Block) => TargetKind::Device,
            () => TargetKind::File,
        };
        let (span, members) = (Bytes(self.span_bytes), self.each.len() as u32);
        let mut unavailable = apply_options::unavailable(&self.distinct_devices(self.each.len()));
        unavailable.extend(engines::missing(self.each.iter().map(|member| &member.data)));
        Capabilities { kind, span, members, chunk: self.volume.chunk(), direct_unit: self.direct_unit(), unavailable }
    }

    /// What direct requests must be multiples of; `None` where some member takes none.
    pub fn direct_unit(&self) -> Option<Bytes> {
        let units = self.each.iter().map(|member| Some(u64::from(member.alignment?.offset_bytes)));
        units.collect::<Option<Vec<u64>>>().map(|units| Bytes(units.into_iter().max().unwrap_or(1)))
    }

    /// How an error calls the target.
    pub fn path(&self) -> PathBuf {
        self.each.first().map_or_else(|| PathBuf::from("null:"), |member| member.data.path().to_path_buf())
    }

    /// Refuses what is asked of the target, in a sentence that begins with its path.
    ///
    /// # Errors
    /// Always.
    pub fn refuse<T>(&self, what: String) -> Result<T, MeasureError> {
        Err(MeasureError::Target { path: self.path(), what })
    }

    /// How a run uses the members.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn run_volume(&self, options: &WorkloadOptions) -> Result<RunVolume, MeasureError> {
        self.volume.arrange(options).or_else(|what| self.refuse(what))
    }

    /// The devices under the first so many members, each once.
    pub fn distinct_devices(&self, members: usize) -> Vec<String> {
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
    ///
    /// # Errors
    /// Where dirty pages cannot be written back, or the rights for `drop_caches` are missing.
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
        // A part of a stripe is a part of every member.
        let used: Range<u64> = match volume.layout {
            RunLayout::Stripe(_) => 0..self.span_bytes,
            RunLayout::Each | RunLayout::Mirror => options.used(self.span_bytes),
        };
        let mut most = None;
        for member in &self.each[..volume.members] {
            let held = if warm { member.fill_page_cache(&used)? } else { member.empty_page_cache(self.span_bytes)? };
            most = most.max(held);
        }
        Ok(most)
    }
}

fn probe(path: &Path) -> Result<Environment, MeasureError> {
    halfpower_probe::probe_path(&Root::live(), path).map_err(|error| MeasureError::Target {
        path: path.to_path_buf(),
        what: format!("cannot be looked up: {error}"),
    })
}
