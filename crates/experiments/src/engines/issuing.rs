//! Measures the effect of each part of issuing from pairs of cells that differ only in that part.

use halfpower_analyse::{Advice, CellSettings, ExperimentCell, Interval, Sureness, Use, UseAdvice, UseRate, WhatToSet};
use halfpower_spec::{Cache, Direction, EngineName, InOrder, IoMem, Issuing, JsonSchema, Pattern, Workload};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, RatioVerdict, Scale};

/// Smallest factor by which another memory of the buffers is worth a word on the first screen.
pub const MUCH: f64 = 1.1;

/// One changed part of issuing, compared with the usual way at the same work and engine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct IssuingChange {
    /// The part that is changed.
    pub change: IssuingPart,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
    /// The engine.
    pub engine: EngineName,
    /// Depth.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Rate with the change over the rate without it.
    pub times: Option<RatioFinding>,
    /// Throughput without the change, in MB/s.
    pub without_mbps: Interval,
    /// Throughput with the change, in MB/s.
    pub with_mbps: Interval,
    /// Requests a second without the change.
    pub without_iops: Interval,
    /// Requests a second with the change.
    pub with_iops: Interval,
    /// Processor time per request without the change, in microseconds: charged, and by the soaker.
    pub without_us: (f64, Option<f64>),
    /// The same with the change.
    pub with_us: (f64, Option<f64>),
    /// Mean number of physical memory segments per request buffer without the change; `null` if the kernel does not
    /// tell.
    pub without_segments: Option<f64>,
    /// The same with the change.
    pub with_segments: Option<f64>,
    /// Submitting threads.
    pub threads: u32,
}

impl IssuingChange {
    /// The memory that it changes to, and the gain as a factor; `None` if another part is changed, or if the gain may be
    /// chance.
    pub fn gain_from_memory(&self) -> Option<(IoMem, f64)> {
        let iomem = match self.change {
            IssuingPart::HugePages => IoMem::Huge,
            IssuingPart::OrdinaryPages => IoMem::Pages,
            _ => return None,
        };
        let times = self.times.as_ref().filter(|times| times.verdict == RatioVerdict::More)?;
        Some((iomem, times.interval.value))
    }

    /// What its requests gave with the change, as advice has it.
    fn rate(&self) -> UseRate {
        let (charged_us, _) = self.with_us;
        UseRate {
            mbps: self.with_mbps.value,
            iops: self.with_iops.value,
            sureness: Sureness::Within { share: self.with_mbps.relative_reach() },
            share_of_best: 1.0,
            latency_ns_p99: None,
            cpu_s_per_gb: Some(charged_us * 1e3 / self.bs_bytes as f64).filter(|seconds| *seconds > 0.0),
        }
    }

    /// The settings of its requests as those of a cell.
    fn cell(&self) -> CellSettings {
        let Self { pattern, rw, iodepth, bs_bytes, threads, .. } = *self;
        CellSettings { pattern, rw, cache: Cache::Device, iodepth, bs_bytes, threads }
    }
}

/// The change of memory that brings the direct requests of a direction most; `None` if none brings much.
pub fn other_pages(found: &[IssuingChange], rw: Direction) -> Option<&IssuingChange> {
    let gain = |row: &&IssuingChange| row.gain_from_memory().map_or(0.0, |(_, gain)| gain);
    found.iter().filter(|row| row.rw == rw && gain(row) >= MUCH).max_by(|one, other| gain(one).total_cmp(&gain(other)))
}

/// Where direct requests from other memory give much more than what is advised for the same order and direction, they are
/// what is advised: a path has one best. Copies are advised them also where nothing else would be, if they give much more than the
/// fastest requests in order, which `advice` has.
pub(crate) fn advise_memory(set: &mut WhatToSet, advice: &[Advice], found: &[IssuingChange]) {
    let WhatToSet { uses, no_use, .. } = set;
    for use_advice in uses.iter_mut() {
        let Some(measured) = use_advice.measured else { continue };
        if let Some(better) = from_memory(found, use_advice.of, measured.mbps, |cell| use_advice.may_be(cell)) {
            *use_advice = better;
        }
    }
    for in_order in advice.iter().filter(|advice| advice.pattern == Pattern::Sequential) {
        let of = Use::of_copies(in_order.rw);
        if uses.iter().all(|use_advice| use_advice.of != of) {
            uses.extend(from_memory(found, of, in_order.best.mbps, |cell| of.is_served_by(cell)));
        }
    }
    uses.sort_by_key(|use_advice| use_advice.of);
    *no_use = no_use.filter(|_| uses.is_empty());
}

/// The settings that gave the most from other memory, of those that serve a use, if that is much more than this rate.
fn from_memory(
    found: &[IssuingChange],
    of: Use,
    mbps: f64,
    serves: impl Fn(&CellSettings) -> bool,
) -> Option<UseAdvice> {
    let better = found.iter().filter(|row| serves(&row.cell()) && row.with_mbps.value >= MUCH * mbps);
    let gains = better.filter_map(|row| Some((row.gain_from_memory()?.0, row)));
    let (iomem, row) = gains.max_by(|(_, one), (_, other)| one.with_mbps.value.total_cmp(&other.with_mbps.value))?;
    Some(UseAdvice { of, cell: row.cell(), iomem: Some(iomem), measured: Some(row.rate()), side_by_side: None })
}

/// The changed part of issuing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IssuingPart {
    /// Buffers in huge pages.
    HugePages,
    /// Buffers in ordinary pages, if the study uses huge pages.
    OrdinaryPages,
    /// Most requests per call; 0 means all that can be submitted.
    Batch(u32),
    /// File and buffers registered with the ring.
    Registration,
    /// NVMe commands past the block layer, compared with io_uring that has nothing registered: in both the kernel maps the
    /// buffers for each request.
    Passthrough,
    /// A rest before the device is polled, compared with polling all the time.
    RestBeforePolling,
}

impl IssuingPart {
    /// The change to buffers in this memory.
    fn memory(iomem: IoMem) -> Self {
        match iomem {
            IoMem::Pages => Self::OrdinaryPages,
            IoMem::Huge => Self::HugePages,
        }
    }
}

/// The effect of each part of issuing on direct requests that were measured with and without it, by kind of work; empty
/// if no kernel handles the requests.
pub(crate) fn changes(data: &ExperimentData) -> Vec<IssuingChange> {
    let Some(usual) = data.question.issuing else { return Vec::new() };
    let scale = Scale::of(data.sound());
    let direct = || data.sound().filter(|cell| cell.workload.cache.direct() && cell.workload.rw.direction().is_some());
    let mut changes: Vec<IssuingChange> = Vec::new();
    for cell in direct() {
        let Some((change, without)) = without(&cell.workload, usual) else { continue };
        let Some(without) = direct().find(|other| other.workload == without) else { continue };
        changes.push(IssuingChange { times: scale.times(&[cell], &[without]), ..reported(change, cell, without) });
    }
    changes.order_by_key(|found| {
        (found.rw, found.pattern != Pattern::Random, found.bs_bytes, found.iodepth, found.change)
    });
    changes
}

/// The part of issuing that a workload changes, and the workload without the change; `None` if it changes nothing.
fn without(workload: &Workload, usual: Issuing) -> Option<(IssuingPart, Workload)> {
    let issuing = workload.issuing?;
    let usual = usual.by(workload.engine);
    let issued_as = |issuing| Workload { issuing: Some(issuing), ..*workload };
    let same_memory = Issuing { iodepth_batch: issuing.iodepth_batch, ..usual };
    let same_batch = Issuing { iomem: issuing.iomem, ..usual };
    match issuing {
        _ if issuing == usual && workload.engine == EngineName::IoUring => {
            Some((IssuingPart::Registration, Workload { engine: EngineName::Plain, ..*workload }))
        }
        _ if issuing == usual && workload.engine == EngineName::Commands => {
            Some((IssuingPart::Passthrough, Workload { engine: EngineName::Plain, ..*workload }))
        }
        _ if issuing == usual && workload.engine == EngineName::Hybrid => {
            Some((IssuingPart::RestBeforePolling, Workload { engine: EngineName::Iopoll, ..*workload }))
        }
        _ if issuing == usual => None,
        _ if issuing == same_batch => Some((IssuingPart::memory(issuing.iomem), issued_as(usual))),
        _ if issuing == same_memory => Some((IssuingPart::Batch(issuing.iodepth_batch), issued_as(usual))),
        _ => None,
    }
}

fn reported(change: IssuingPart, with: &ExperimentCell, without: &ExperimentCell) -> IssuingChange {
    let Workload { rw, bs, iodepth, engine, .. } = with.workload;
    let cost = |cell: &ExperimentCell| (cell.finding.charged_us.unwrap_or_default(), cell.finding.soaker_us);
    let iops = |cell: &ExperimentCell| -> Interval {
        let iops = cell.finding.iops;
        let mbps = cell.finding.mbps;
        let [low, high] = [mbps.low, mbps.high].map(|end| end * iops / mbps.value);
        Interval { value: iops, low, high }
    };
    IssuingChange {
        change,
        pattern: rw.pattern(),
        rw: with.finding.rw,
        engine,
        iodepth,
        bs_bytes: bs.0,
        times: None,
        without_mbps: without.finding.mbps,
        with_mbps: with.finding.mbps,
        without_iops: iops(without),
        with_iops: iops(with),
        without_us: cost(without),
        with_us: cost(with),
        without_segments: without.finding.buffer_segments,
        with_segments: with.finding.buffer_segments,
        threads: with.workload.threads,
    }
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::{FastestCell, NoUse};

    use super::*;

    fn exactly(value: f64) -> Interval {
        Interval { value, low: value, high: value }
    }

    fn change(pattern: Pattern, bs_bytes: u64, with_mbps: f64) -> IssuingChange {
        IssuingChange {
            change: IssuingPart::HugePages,
            pattern,
            rw: Direction::Read,
            engine: EngineName::IoUring,
            iodepth: 8,
            bs_bytes,
            times: Some(RatioFinding { interval: exactly(with_mbps / 1100.0), verdict: RatioVerdict::More }),
            without_mbps: exactly(1100.0),
            with_mbps: exactly(with_mbps),
            without_iops: exactly(1100.0 * 1e6 / bs_bytes as f64),
            with_iops: exactly(with_mbps * 1e6 / bs_bytes as f64),
            without_us: (60.0, None),
            with_us: (16.0, None),
            without_segments: None,
            with_segments: None,
            threads: 1,
        }
    }

    /// What copies are advised that read 2,400 MB/s through the page cache, beside these changes.
    fn advised(found: &[IssuingChange]) -> UseAdvice {
        let rate = UseRate {
            mbps: 2400.0,
            iops: 2400.0 * 1e6 / f64::from(1 << 20),
            sureness: Sureness::Within { share: 0.01 },
            share_of_best: 1.0,
            latency_ns_p99: Some(1),
            cpu_s_per_gb: Some(0.3),
        };
        let cell = CellSettings { cache: Cache::Both, ..change(Pattern::Sequential, 1 << 20, 1.0).cell() };
        let advice = UseAdvice { of: Use::BulkRead, cell, iomem: None, measured: Some(rate), side_by_side: Some(4.0) };
        let mut set = WhatToSet { uses: vec![advice], ..WhatToSet::default() };
        advise_memory(&mut set, &[], found);
        set.uses.pop().expect("it stays")
    }

    #[test]
    fn what_another_memory_gives_is_advised_where_it_is_the_best_of_the_path() {
        let better = change(Pattern::Sequential, 256 << 10, 3400.0);
        let advice = advised(&[change(Pattern::Sequential, 1 << 20, 3000.0), better]);
        assert_eq!((advice.iomem, advice.cell), (Some(IoMem::Huge), better.cell()));
        let gave = advice.measured.expect("it was measured");
        assert_eq!((gave.mbps, gave.latency_ns_p99, gave.cpu_s_per_gb), (3400.0, None, Some(16.0 * 1e3 / 262_144.0)));
        assert_eq!(advice.side_by_side, None, "the depth rests on what was measured");
    }

    /// The advice for reads in order whose fastest ones gave this many MB/s, in requests of 32 KiB through the page cache.
    fn small_in_order(mbps: f64) -> Advice {
        let read = CellSettings { cache: Cache::Both, ..change(Pattern::Sequential, 32 << 10, 1.0).cell() };
        Advice {
            rw: read.rw,
            pattern: read.pattern,
            settings: Workload::default(),
            mbps,
            share_of_peak: 1.0,
            cpu_ms_per_mb: None,
            latency_ns_p99: None,
            best: FastestCell { cell: read, mbps },
            is_best: true,
        }
    }

    #[test]
    fn copies_are_advised_the_memory_that_gives_most_also_where_the_fastest_cells_are_too_small_for_them() {
        let found = [change(Pattern::Sequential, 256 << 10, 3400.0), change(Pattern::Random, 256 << 10, 9000.0)];
        for (fastest_mbps, advised) in [(2400.0, true), (3300.0, false)] {
            let mut set = WhatToSet { no_use: Some(NoUse::NotMeasured), ..WhatToSet::default() };
            advise_memory(&mut set, &[small_in_order(fastest_mbps)], &found);
            assert_eq!(set.no_use.is_none(), advised, "there is a reason where there is no advice, and only there");
            let uses: Vec<_> = set.uses.iter().map(|one| (one.of, one.iomem, one.cell)).collect();
            let expected = (Use::BulkRead, Some(IoMem::Huge), found[0].cell());
            assert_eq!(uses, Vec::from_iter(advised.then_some(expected)), "{fastest_mbps}");
        }
    }

    #[test]
    fn what_brings_less_or_serves_another_use_is_not_advised() {
        let unsure = |mut found: IssuingChange| {
            found.times.iter_mut().for_each(|times| times.verdict = RatioVerdict::Unclear);
            found
        };
        for (other, why) in [
            (change(Pattern::Sequential, 256 << 10, 2500.0), "it brings little more"),
            (change(Pattern::Random, 1 << 20, 9000.0), "a copy reads in order"),
            (change(Pattern::Sequential, 4 << 10, 9000.0), "a copy takes large blocks"),
            (
                IssuingChange { rw: Direction::Write, ..change(Pattern::Sequential, 1 << 20, 9000.0) },
                "writes are no reads",
            ),
            (
                IssuingChange { change: IssuingPart::Batch(8), ..change(Pattern::Sequential, 1 << 20, 9000.0) },
                "no memory",
            ),
            (unsure(change(Pattern::Sequential, 1 << 20, 9000.0)), "it may be chance"),
        ] {
            let advice = advised(&[other]);
            assert_eq!((advice.iomem, advice.measured.map(|rate| rate.mbps)), (None, Some(2400.0)), "{why}");
        }
    }
}
