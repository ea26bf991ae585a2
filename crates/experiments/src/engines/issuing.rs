//! Measures the effect of each part of issuing from pairs of cells that differ only in that part.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{EngineName, Issuing, Pattern, Workload};

use super::answer::{IssuingChange, IssuingPart};
use crate::data::ExperimentData;
use crate::ratio::Scale;

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
    changes
        .sort_by_key(|found| (found.rw, found.pattern != Pattern::Random, found.bs_bytes, found.iodepth, found.change));
    changes
}

/// The part of issuing that a workload changes, and the workload without the change; `None` if it changes nothing.
fn without(workload: &Workload, usual: Issuing) -> Option<(IssuingPart, Workload)> {
    let (issuing, usual) = (workload.issuing?, usual.by(workload.engine));
    let issued_as = |issuing| Workload { issuing: Some(issuing), ..*workload };
    let same_memory = Issuing { iodepth_batch: issuing.iodepth_batch, ..usual };
    let same_batch = Issuing { iomem: issuing.iomem, ..usual };
    match issuing {
        _ if issuing == usual && workload.engine == EngineName::IoUring => {
            Some((IssuingPart::Registration, Workload { engine: EngineName::Plain, ..*workload }))
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
        let (iops, mbps) = (cell.finding.iops, cell.finding.mbps);
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
