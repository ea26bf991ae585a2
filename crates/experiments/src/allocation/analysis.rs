//! Compares writes into growing files with writes into blocks that are already written.

use halfpower_analyse::ExperimentCell;
use halfpower_spec::{Cache, InOrder, JsonSchema, Layout};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{Ratio, RatioFinding, Scale};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Sequential writes into files with different layouts.
    pub allocation: Vec<AllocationRow>,
}

/// Writes into a file with one layout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AllocationRow {
    /// Layout of the file when the writes begin.
    pub case: Layout,
    /// Cache setting.
    pub cache: Cache,
    /// Depth asked for.
    pub iodepth: u32,
    /// Mean throughput in MB/s; includes the closing flush if buffered.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How growing files and reserved blocks compare with written blocks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct AllocationAnswer {
    /// Files that grow from front to back, by direct writes at the largest depth.
    pub direct: Option<GrowingFiles>,
    /// Throughput of a file whose last block was written first, as a share of written blocks, measured as `direct`;
    /// `null` if it is not slower beyond chance than growing in order.
    pub last_first_of_written: Option<RatioFinding>,
    /// The gain from depth.
    pub deepening: Option<DepthGain>,
    /// Blocks that fallocate reserved, measured as `direct`.
    pub fallocated: Option<ReservedBlocks>,
    /// Files that grow from front to back, by buffered writes.
    pub buffered: Option<GrowingFiles>,
}

/// Throughput of growing files.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GrowingFiles {
    /// Cache setting.
    pub cache: Cache,
    /// Depth; `null` if the figure includes all depths.
    pub iodepth: Option<u32>,
    /// Throughput as a share of that of written blocks.
    pub of_written: RatioFinding,
    /// The throughput of written blocks in MB/s.
    pub written_mbps: f64,
}

/// The gain from depth for written blocks and for growing files.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DepthGain {
    /// The largest depth, compared with the smallest.
    pub iodepth: u32,
    /// How many times as fast written blocks are at that depth.
    pub written: RatioFinding,
    /// How many times as fast growing files are at that depth.
    pub growing: RatioFinding,
    /// The conclusion from both gains.
    pub extension: Extension,
}

/// How a file system extends a file when several writes need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extension {
    /// Depth brings no gain to either, so nothing follows.
    NotShown,
    /// Growing files gain as much from depth: writes are carried out in parallel.
    SideBySide,
    /// The runs are too uncertain to tell.
    Unclear,
    /// Growing files gain from depth, but less: some writes are carried out in parallel.
    Partly,
    /// Growing files gain nothing from depth: one write at a time.
    OneAtATime,
}

/// Throughput of blocks that were reserved and never written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ReservedBlocks {
    /// Throughput as a share of that of written blocks.
    pub of_written: RatioFinding,
    /// Whether they are faster than growing files beyond chance.
    pub helps: bool,
}

/// Layouts in which the file grows.
const GROWING: [Layout; 4] = [Layout::New, Layout::Append, Layout::LastFirst, Layout::Truncated];
/// Layouts in which the file grows from front to back.
const IN_ORDER: [Layout; 3] = [Layout::New, Layout::Append, Layout::Truncated];

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, AllocationAnswer) {
    let mut cells: Vec<&ExperimentCell> = data.sound().collect();
    cells.order_by_key(|cell| (!cell.workload.cache.direct(), cell.workload.iodepth, cell.workload.options.layout));
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
    let workload = cell.workload;
    let mbps = cell.finding.mbps;
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
        let written = gain(&[Layout::Written])?;
        let growing = gain(&GROWING)?;
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
    let is_less = written.over(growing).finding().is_more();
    let gains = growing.finding().is_more();
    match (is_less, gains) {
        _ if !brings(written) && !brings(growing) => Extension::NotShown,
        (false, true) => Extension::SideBySide,
        (false, false) => Extension::Unclear,
        (true, true) => Extension::Partly,
        (true, false) => Extension::OneAtATime,
    }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Bytes, Cache, Experiment, Layout, Rw, Workload, WorkloadOptions};

    use crate::built_study::{answer, reported};

    /// All layouts, depths and cache settings; `rate` gives MB/s by layout, depth, and whether requests are direct.
    fn allocation(rate: impl Fn(Layout, u32, bool) -> f64) -> Vec<(Workload, f64)> {
        let mut cells = Vec::new();
        for cache in [Cache::Device, Cache::Both] {
            for iodepth in [1, 8] {
                for layout in Layout::ALL {
                    let options = WorkloadOptions { layout: *layout, ..WorkloadOptions::default() };
                    let bs = Bytes(64 << 10);
                    let workload = Workload { rw: Rw::Write, bs, iodepth, cache, options, ..Workload::default() };
                    cells.push((workload, rate(*layout, iodepth, cache.direct())));
                }
            }
        }
        cells
    }

    fn grows(layout: Layout) -> bool {
        !matches!(layout, Layout::Written | Layout::Fallocated)
    }

    #[test]
    fn extension_that_takes_one_write_at_a_time_is_recognised() {
        let serial = |layout, iodepth, direct| match (direct, iodepth) {
            (false, _) => 300.0,
            (true, 8) if !grows(layout) => 500.0,
            (true, _) => 100.0,
        };
        let findings = reported(Experiment::Allocation, &allocation(serial), 0.03);
        let rows = &findings.rows.allocation.allocation;
        assert_eq!(rows.len(), 24);
        let new =
            rows.iter().find(|row| (row.case, row.cache, row.iodepth) == (Layout::New, Cache::Device, 8)).unwrap();
        assert!(new.low < 100.0 && new.high > 100.0 && (new.mbps - 100.0).abs() < 10.0, "{new:?}");
        let answer = answer(&findings);
        for part in [
            "Direct and 8 deep, a growing file gets 2",
            "extension takes one write at a time",
            "blocks that fallocate reserved get",
            "fallocate helps",
            "buffered, growing costs next to nothing",
        ] {
            assert!(answer.contains(part), "{part}: {answer}");
        }
        assert_eq!(findings.experiments[0].pictures[0].lines.len(), 4);
        let found = serde_json::to_value(&findings.experiments[0].found).unwrap();
        let code = |path: &str| found.pointer(path).and_then(serde_json::Value::as_str);
        assert_eq!(code("/deepening/extension"), Some("one_at_a_time"), "{found}");
        assert_eq!(code("/direct/of_written/verdict"), Some("less"), "{found}");
        assert_eq!(code("/buffered/of_written/verdict"), Some("alike"), "{found}");
        assert!(found["direct"]["of_written"]["value"].as_f64().is_some_and(|share| share < 0.3), "{found}");
    }

    #[test]
    fn extension_that_goes_side_by_side_is_not_called_serial() {
        let even = |layout, iodepth: u32, direct| match direct {
            true => f64::from(iodepth) * if grows(layout) { 50.0 } else { 60.0 },
            false => 300.0,
        };
        let answer = answer(&reported(Experiment::Allocation, &allocation(even), 0.02)).to_string();
        assert!(answer.contains("both are carried out side by side") && !answer.contains("at a time"), "{answer}");
        assert!(answer.contains("a growing file gets 8"), "{answer}");
        let alike = answer_of_noise();
        assert!(alike.contains("cannot tell what growing costs"), "{alike}");
        assert!(!alike.contains("a growing file gets"), "{alike}");
    }

    /// The answer for equal rates with 30% noise between runs.
    fn answer_of_noise() -> String {
        answer(&reported(Experiment::Allocation, &allocation(|_, _, _| 200.0), 0.3)).to_string()
    }
}
