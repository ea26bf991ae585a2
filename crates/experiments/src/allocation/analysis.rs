//! `allocation`: what does a write cost that does not find its blocks there, and does depth help it?

use halfpower_spec::{Cache, Layout};

use super::rows::{AllocationRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::{Ratio, Scale};
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_text::cache_word;
use halfpower_text::format;

/// The ways in which a file grows.
const GROWING: [Layout; 4] = [Layout::New, Layout::Append, Layout::LastFirst, Layout::Truncated];
/// Those of them that go from front to back.
const IN_ORDER: [Layout; 3] = [Layout::New, Layout::Append, Layout::Truncated];

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let mut cells: Vec<&ExperimentCell> = evidence.sound().collect();
    cells.sort_by_key(|cell| (!cell.workload.cache.direct(), cell.workload.iodepth, cell.workload.options.layout));
    for cell in &cells {
        let (workload, mbps) = (cell.workload, cell.finding.mbps);
        rows.allocation.push(AllocationRow {
            case: workload.options.layout,
            cache: workload.cache,
            iodepth: workload.iodepth,
            mbps: mbps.value,
            low: mbps.low,
            high: mbps.high,
        });
    }
    let cases = Cases { scale: Scale::of(cells.iter().copied()), cells };
    Told { answer: cases.answer(), pictures: vec![cases.picture()] }
}

struct Cases<'a> {
    scale: Scale,
    /// By cache setting, depth and layout.
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

    fn answer(&self) -> String {
        let clauses: Vec<String> =
            [self.extending(true), self.jumping(), self.deepening(), self.reserving(), self.extending(false)]
                .into_iter()
                .flatten()
                .collect();
        if clauses.is_empty() {
            "No case could be set beside a file whose blocks were written before.".to_string()
        } else {
            crate::section::sentence(&clauses.join("; "))
        }
    }

    /// What growing files get of what written blocks get, deep where direct: there the device is not the limit.
    fn extending(&self, direct: bool) -> Option<String> {
        let depth = direct.then_some(self.depths().1);
        let written = self.of(direct, depth, &[Layout::Written]);
        let ratio = self.scale.times(&self.of(direct, depth, &IN_ORDER), &written)?;
        let rate = format::mbps(written.iter().map(|cell| cell.finding.mbps.value).sum::<f64>() / written.len() as f64);
        let kind = cache_word(written[0].workload.cache);
        let where_at = depth.map_or(kind.to_string(), |depth| format!("{kind} and {depth} deep"));
        let share = ratio.share();
        Some(match ratio {
            _ if ratio.is_one() => {
                format!("{where_at}, growing costs next to nothing: {share} of the {rate} of written blocks")
            }
            _ if ratio.is_less() => {
                format!("{where_at}, a growing file gets {share} of the {rate} that written blocks get")
            }
            _ if ratio.is_more() => {
                format!("{where_at}, a growing file gets more than written blocks, {share} of {rate}")
            }
            _ => format!(
                "{where_at}, these runs cannot tell what growing costs: {share} of the {rate} of written blocks"
            ),
        })
    }

    /// What a file gets whose last block is written first, where that is less than growing in order gives.
    fn jumping(&self) -> Option<String> {
        let deep = Some(self.depths().1);
        let last_first = self.of(true, deep, &[Layout::LastFirst]);
        let beside = self.scale.times(&last_first, &self.of(true, deep, &IN_ORDER))?;
        let ratio = self.scale.times(&last_first, &self.of(true, deep, &[Layout::Written]))?;
        let less = beside.is_less() && !beside.is_one();
        less.then(|| format!("one whose last block was written first gets {} of it", ratio.share()))
    }

    /// What depth brings to growing files and to written blocks.
    fn deepening(&self) -> Option<String> {
        let (shallow, deep) = self.depths();
        let gain = |layouts: &[Layout]| {
            self.scale.times(&self.of(true, Some(deep), layouts), &self.of(true, Some(shallow), layouts))
        };
        let (written, growing) = (gain(&[Layout::Written])?, gain(&GROWING)?);
        let gains = format!(
            "{deep} requests at once bring {} to written blocks and {} to growing files",
            written.times(),
            growing.times()
        );
        Some(gains + deduction(&written, &growing))
    }

    /// What blocks that were reserved and never written get of what written ones get.
    fn reserving(&self) -> Option<String> {
        let deep = Some(self.depths().1);
        let fallocated = self.of(true, deep, &[Layout::Fallocated]);
        let ratio = self.scale.times(&fallocated, &self.of(true, deep, &[Layout::Written]))?;
        let growing = self.scale.times(&fallocated, &self.of(true, deep, &GROWING));
        let better = if growing.is_some_and(|ratio| ratio.is_more()) { ", so that fallocate helps" } else { "" };
        Some(format!("blocks that fallocate reserved get {} of written ones{better}", ratio.share()))
    }

    /// Bars by case, a colour for each cache setting and depth.
    fn picture(&self) -> Picture {
        let mut groups: Vec<(Cache, u32)> =
            self.cells.iter().map(|cell| (cell.workload.cache, cell.workload.iodepth)).collect();
        groups.dedup();
        let line = |(cache, depth): &(Cache, u32)| {
            let cells = self.of(cache.direct(), Some(*depth), Layout::ALL);
            let point = |cell: &&ExperimentCell| Point::named(cell.workload.options.layout.word(), cell.finding.mbps);
            let points = cells.iter().map(point).collect();
            Line { name: format!("{}, {depth} deep", cache_word(*cache)), points }
        };
        Picture {
            title: "Sequential writes of 64 KiB by how the file is there".to_string(),
            kind: PictureKind::Bars,
            x: Axis::even("How the file is there when they begin"),
            y: Axis::even("MB/s"),
            lines: groups.iter().map(line).collect(),
        }
    }
}

/// What follows from the gains of depth.
fn deduction(written: &Ratio, growing: &Ratio) -> &'static str {
    let brings = |ratio: &Ratio| ratio.is_more() && !ratio.is_one();
    if !brings(written) && !brings(growing) {
        ", which tells nothing of whether they are carried out side by side"
    } else if !written.over(growing).is_more() {
        if growing.is_more() { ", so both are carried out side by side" } else { ", too uncertain to tell more" }
    } else if growing.is_more() {
        ", so extension lets only some of them go side by side"
    } else {
        ", so extension takes one write at a time"
    }
}
