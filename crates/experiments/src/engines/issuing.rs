//! Measures the effect of each part of issuing from pairs of cells that differ only in that part.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Direction, EngineName, InOrder, IoMem, Issuing, JsonSchema, Pattern, Workload};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

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
    }
}
