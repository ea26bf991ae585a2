//! Compares writes into growing files with writes into blocks that are already written.

use halfpower_analyse::ExperimentCell;
use halfpower_spec::Layout;

use super::answer::{AllocationAnswer, DepthGain, Extension, GrowingFiles, ReservedBlocks};
use super::rows::{AllocationRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::{Ratio, Scale};
use crate::ratio_finding::RatioFinding;

/// Layouts in which the file grows.
const GROWING: [Layout; 4] = [Layout::New, Layout::Append, Layout::LastFirst, Layout::Truncated];
/// Layouts in which the file grows from front to back.
const IN_ORDER: [Layout; 3] = [Layout::New, Layout::Append, Layout::Truncated];

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, AllocationAnswer) {
    let mut cells: Vec<&ExperimentCell> = data.sound().collect();
    cells.sort_by_key(|cell| (!cell.workload.cache.direct(), cell.workload.iodepth, cell.workload.options.layout));
    let rows = Rows { allocation: cells.iter().map(|cell| row(cell)).collect() };
    let cases = Cases { scale: Scale::of(cells.iter().copied()), cells };
    let answer = AllocationAnswer {
        direct: cases.extending(true),
        last_first_of_written: cases.jumping(),
        deepening: cases.deepening(),
        fallocated: cases.reserving(),
        buffered: cases.extending(false),
    };
    (rows, answer)
}

fn row(cell: &ExperimentCell) -> AllocationRow {
    let (workload, mbps) = (cell.workload, cell.finding.mbps);
    AllocationRow {
        case: workload.options.layout,
        cache: workload.cache,
        iodepth: workload.iodepth,
        mbps: mbps.value,
        low: mbps.low,
        high: mbps.high,
    }
}

struct Cases<'a> {
    scale: Scale,
    /// Sorted by cache setting, depth and layout.
    cells: Vec<&'a ExperimentCell<'a>>,
}

impl<'a> Cases<'a> {
    fn of(&self, direct: bool, depth: Option<u32>, layouts: &[Layout]) -> Vec<&'a ExperimentCell<'a>> {
        let fits = |cell: &&&ExperimentCell| {
            let workload = cell.workload;
            workload.cache.direct() == direct
                && depth.is_none_or(|depth| workload.iodepth == depth)
                && layouts.contains(&workload.options.layout)
        };
        self.cells.iter().filter(fits).copied().collect()
    }

    fn depths(&self) -> (u32, u32) {
        let depths = || self.cells.iter().map(|cell| cell.workload.iodepth);
        (depths().min().unwrap_or(1), depths().max().unwrap_or(1))
    }

    /// Compares growing files with written blocks. Direct writes count at the largest depth only, where the device is
    /// not the limit.
    fn extending(&self, direct: bool) -> Option<GrowingFiles> {
        let iodepth = direct.then_some(self.depths().1);
        let written = self.of(direct, iodepth, &[Layout::Written]);
        let of_written = self.scale.times(&self.of(direct, iodepth, &IN_ORDER), &written)?;
        let written_mbps = written.iter().map(|cell| cell.finding.mbps.value).sum::<f64>() / written.len() as f64;
        Some(GrowingFiles { cache: written[0].workload.cache, iodepth, of_written, written_mbps })
    }

    /// The share of written blocks' throughput that a file gets if its last block is written first; `None` if that is
    /// not slower than growing in order.
    fn jumping(&self) -> Option<RatioFinding> {
        let deep = Some(self.depths().1);
        let last_first = self.of(true, deep, &[Layout::LastFirst]);
        let beside = self.scale.times(&last_first, &self.of(true, deep, &IN_ORDER))?;
        let ratio = self.scale.times(&last_first, &self.of(true, deep, &[Layout::Written]))?;
        (beside.is_less() && !beside.is_alike()).then_some(ratio)
    }

    /// The gain from depth for growing files and for written blocks.
    fn deepening(&self) -> Option<DepthGain> {
        let (shallow, deep) = self.depths();
        let gain = |layouts: &[Layout]| {
            self.scale.ratio_of(&self.of(true, Some(deep), layouts), &self.of(true, Some(shallow), layouts))
        };
        let (written, growing) = (gain(&[Layout::Written])?, gain(&GROWING)?);
        let extension = extension(&written, &growing);
        Some(DepthGain { iodepth: deep, written: written.finding(), growing: growing.finding(), extension })
    }

    /// Compares reserved but never written blocks with written ones.
    fn reserving(&self) -> Option<ReservedBlocks> {
        let deep = Some(self.depths().1);
        let fallocated = self.of(true, deep, &[Layout::Fallocated]);
        let of_written = self.scale.times(&fallocated, &self.of(true, deep, &[Layout::Written]))?;
        let growing = self.scale.times(&fallocated, &self.of(true, deep, &GROWING));
        Some(ReservedBlocks { of_written, helps: growing.is_some_and(|ratio| ratio.is_more()) })
    }
}

/// Concludes from the gains of depth how files are extended.
fn extension(written: &Ratio, growing: &Ratio) -> Extension {
    let brings = |ratio: &Ratio| ratio.finding().is_more() && !ratio.finding().is_alike();
    let (is_less, gains) = (written.over(growing).finding().is_more(), growing.finding().is_more());
    match (is_less, gains) {
        _ if !brings(written) && !brings(growing) => Extension::NotShown,
        (false, true) => Extension::SideBySide,
        (false, false) => Extension::Unclear,
        (true, true) => Extension::Partly,
        (true, false) => Extension::OneAtATime,
    }
}
