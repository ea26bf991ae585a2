//! Describes a workload and a run of it, and writes the identity from which seeds and the key in a study file derive.

use std::fmt::{self, Display, Formatter};

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Arrivals, Beside, BlockSizes, Bytes, Cache, Direction, EngineName, Experiment, Issuing, Nanos, Pass, Rw, Sealing,
    WorkloadOptions,
};

/// One combination of settings; measured several times, it is a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Access pattern.
    pub rw: Rw,
    /// Share of reads in percent; only meaningful if `rw` is mixed.
    pub rwmixread: u8,
    /// Bytes per request (SQLIO's request size); the largest if the options name several sizes.
    pub bs: Bytes,
    /// Requests kept outstanding by each thread.
    pub iodepth: u32,
    /// Submitting threads.
    pub threads: u32,
    /// The caches in use.
    pub cache: Cache,
    /// How requests are issued.
    pub engine: EngineName,
    /// How requests are handed to the kernel; `None` if no kernel is involved, as in virtual time, and for runs of the
    /// first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuing: Option<Issuing>,
    /// Request rate of each thread, whether or not earlier requests are done (open loop); `None` issues a request as
    /// soon as another is done (closed loop).
    #[serde(default)]
    pub rate: Option<Arrival>,
    /// Further options.
    #[serde(default, alias = "twist", skip_serializing_if = "WorkloadOptions::is_default")]
    pub options: WorkloadOptions,
}

/// The arrival of requests in an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Arrival {
    /// Mean requests a second.
    pub iops: u64,
    /// Spacing of the requests.
    pub arrivals: Arrivals,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            rw: Rw::Read,
            rwmixread: 50,
            bs: Bytes(64 * 1024),
            iodepth: 8,
            threads: 1,
            cache: Cache::Device,
            engine: EngineName::Auto,
            issuing: None,
            rate: None,
            options: WorkloadOptions::default(),
        }
    }
}

impl Workload {
    /// Requests outstanding over all threads.
    pub fn total_depth(&self) -> u32 {
        self.iodepth * self.threads
    }

    /// Sizes of its requests.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> {
        let one = if self.options.bssplit.is_none() { Some(self.bs) } else { None };
        self.options.bssplit.into_iter().flat_map(BlockSizes::sizes).chain(one)
    }

    /// The same workload with the sizes of its own directions alone, of which `bs` is the largest.
    #[must_use]
    pub fn with_sizes_in_use(self) -> Self {
        let Some(sizes) = self.options.bssplit.map(|sizes| sizes.in_use(self.rw)) else { return self };
        Self { bs: sizes.largest(), options: WorkloadOptions { bssplit: Some(sizes), ..self.options }, ..self }
    }

    /// Random requests begin at multiples of this: their size, unless the options say otherwise, and as in fio the smallest
    /// of several. Where those of reads and of writes differ, it is that of both.
    pub fn alignment(&self) -> Bytes {
        match self.options.blockalign {
            Bytes(0) => self.options.bssplit.map_or(self.bs, BlockSizes::smallest),
            asked => asked,
        }
    }

    /// Mean bytes that a request asks for.
    pub fn mean_bytes(&self) -> f64 {
        let read_share = match self.rw.direction() {
            Some(Direction::Read) => 1.0,
            Some(Direction::Write) => 0.0,
            None => f64::from(self.rwmixread) / 100.0,
        };
        self.options.bssplit.map_or(self.bs.0 as f64, |sizes| sizes.mean_bytes(read_share))
    }

    /// Whether it, or the load beside it, may write to the target.
    pub fn writes(&self) -> bool {
        self.rw.writes() || self.options.beside.is_some_and(|load| load.rw.writes())
    }

    /// This workload as a load beside another.
    ///
    /// # Errors
    /// What of it cannot go on beside another, without full stop.
    pub fn as_load(&self) -> Result<Beside, &'static str> {
        let Self { rw, rwmixread, bs, iodepth, threads, cache, engine, rate, options, .. } = *self;
        let WorkloadOptions { fdatasync, flush_by, thinktime, connections, sealing, .. } = options;
        let kept =
            WorkloadOptions { fdatasync, flush_by, thinktime, connections, sealing, ..WorkloadOptions::default() };
        if rate.is_some() || options != kept {
            return Err(
                "a load beside another sets --rw, --rwmixread, --bs, --iodepth, --threads, --cache, --engine, \
                 --fdatasync, --flush-by and --thinktime alone",
            );
        }
        let load = Beside { rw, rwmixread, bs, iodepth, threads, cache, engine, fdatasync, flush_by, thinktime };
        load.misfit().map_or(Ok(load), Err)
    }

    /// The load beside this workload, as the workload of the threads that issue it; `None` without one.
    pub fn load_beside(&self) -> Option<Self> {
        let Beside { rw, rwmixread, bs, iodepth, threads, cache, engine, fdatasync, flush_by, thinktime } =
            self.options.beside?;
        let region = self.options.region;
        let options = WorkloadOptions { region, fdatasync, flush_by, thinktime, ..WorkloadOptions::default() };
        Some(Self { rw, rwmixread, bs, iodepth, threads, cache, engine, options, ..Self::default() })
    }

    /// The same workload without a load beside it.
    pub fn alone(self) -> Self {
        Self { options: WorkloadOptions { beside: None, ..self.options }, ..self }
    }

    /// The same workload, issued as its engine can: see [`Issuing::by`].
    pub fn issued_by_engine(self) -> Self {
        Self { issuing: self.issuing.map(|issuing| issuing.by(self.engine)), ..self }
    }
}

/// The workload as the flags of `halfpower run`; equal workloads have equal text.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--rw {} ", self.rw)?;
        if self.rw.direction().is_none() {
            write!(f, "--rwmixread {} ", self.rwmixread)?;
        }
        write!(f, "--bs {} --iodepth {} --threads {} ", self.bs, self.iodepth, self.threads)?;
        write!(f, "--cache {} --engine {}", self.cache, self.engine)?;
        self.issuing.iter().try_for_each(|issuing| write!(f, " {issuing}"))?;
        if let Some(Arrival { iops, arrivals }) = self.rate {
            write!(f, " --rate-iops {iops} --arrivals {arrivals}")?;
        }
        write!(f, "{}", self.options)
    }
}

/// One run: a workload of an experiment, measured once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The experiment it belongs to; `None` for `halfpower run`.
    pub experiment: Option<Experiment>,
    /// The workload.
    pub workload: Workload,
    /// Which repetition of its cell and pass this is, from 0.
    pub repeat: u32,
    /// Its purpose.
    pub pass: Pass,
    /// Length of the window.
    pub runtime: Nanos,
    /// Seed of its offsets and of its payload.
    pub seed: u64,
}

impl Run {
    /// Whether it belongs to the walks of block size and depth (`sequential`, `random`, or no experiment) and sets no
    /// options except connections and sealing, which all walks of a study share.
    pub fn walks(&self) -> bool {
        let options = WorkloadOptions { connections: 1, sealing: Sealing::AsAsked, ..self.workload.options };
        self.experiment.is_none_or(|experiment| experiment.pattern().is_some()) && options.is_default()
    }
}

/// A workload as text that is the same in every release; equal workloads have equal identities.
///
/// The letters must never change: they are those of the first study files, so that a study begun then resumes with the
/// same seeds. Renamed flags and fields keep their letters. A new setting writes nothing at its default, so that
/// workloads of earlier studies keep their identity.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a>(pub &'a Workload);

impl Workload {
    /// The text that identifies this workload in study files and seeds.
    pub fn identity(&self) -> Identity<'_> {
        Identity(self)
    }
}

impl Display for Identity<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Workload { rw, rwmixread, bs, iodepth, threads, cache, engine, issuing, rate, options } = self.0;
        write!(f, "--rw {rw} ")?;
        if rw.direction().is_none() {
            write!(f, "--rwmixread {rwmixread} ")?;
        }
        write!(f, "--bs {bs} --iodepth {iodepth} --threads {threads} --cache {cache} --engine {engine}")?;
        if let Some(Issuing { iomem, iodepth_batch }) = issuing {
            write!(f, " --iomem {iomem} --iodepth-batch {iodepth_batch}")?;
        }
        if let Some(Arrival { iops, arrivals }) = rate {
            write!(f, " --rate {iops} --arrivals {arrivals}")?;
        }
        options.given().try_for_each(|(row, value)| row.write(f, row.pinned, &value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Layout, Rw, Sealing, Switch, VolumeLayout, Way, WorkloadOptions};

    #[test]
    fn a_workload_is_written_as_flags() {
        let workload = Workload { rw: Rw::Randmixed, ..Workload::default() };
        assert_eq!(
            workload.to_string(),
            "--rw randrw --rwmixread 50 --bs 64KiB --iodepth 8 --threads 1 --cache device --engine auto"
        );
    }

    #[test]
    fn the_letters_of_the_first_study_files_stay() {
        let options = WorkloadOptions {
            layout: Layout::Append,
            misalign: Bytes(512),
            random_readers: 3,
            write_cache: Some(Switch::Off),
            members: 2,
            volume_layout: Some(VolumeLayout::Stripe),
            connections: 4,
            sealing: Sealing::Signed,
            way: Way::Local,
            verify: true,
            ..WorkloadOptions::default()
        };
        let workload = Workload { rw: Rw::Randmixed, options, ..Workload::default() };
        assert_eq!(
            workload.identity().to_string(),
            "--rw randrw --rwmixread 50 --bs 64KiB --iodepth 8 --threads 1 --cache device --engine auto \
             --layout append --shift 512 --randoms 3 --wce off --members 2 --join stripe --connections 4 \
             --sealing signed --way local --verify"
        );
    }
}
