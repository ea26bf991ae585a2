//! Computes the price-performance table of two studies.
//!
//! Columns of Chung, Gray, Worthington, Horst (2000), Table 10: accesses to kilobytes (KAPS) and to megabytes (MAPS) a
//! second, and each per unit of money. What a study did not measure is listed as missing.

use halfpower_record::{Device, Record};
use halfpower_spec::{Direction, Experiment, Pattern};

use super::comparison::{Accesses, InStudy, MissingFigure, PriceRow, PriceTable, StudyRecords};
use crate::CellFinding;
use crate::experiment_cells::experiment_cells;
use crate::ladder::levels;

/// The size of an access to kilobytes: the paper's random reads are of 8 KiB.
pub const KILOBYTES: u64 = 8 << 10;
/// The size of an access to megabytes.
pub const MEGABYTES: u64 = 1 << 20;

/// The table for these prices, both above 0.
pub fn price(a: &StudyRecords<'_>, b: &StudyRecords<'_>, prices: [f64; 2]) -> PriceTable {
    let mut of_a = Vec::new();
    let mut of_b = Vec::new();
    let a = row(a, prices[0], &mut of_a);
    let b = row(b, prices[1], &mut of_b);
    let missing = of_either(&of_a, &of_b);
    PriceTable { a, b, missing }
}

/// Uses the cells of the walks and those of the experiment `price`. With several members, `price` measures a single
/// one, so its cells are used only if the walks have none.
fn row(study: &StudyRecords<'_>, price: f64, missing: &mut Vec<MissingFigure>) -> PriceRow {
    let findings = study.findings;
    let gb = findings.device.as_ref().and_then(Device::capacity_gb);
    let measured = experiment_cells(&levels(study.question, study.environment), Experiment::Price, study.records);
    let of_one =
        |record: &Record| record.run.experiment == Some(Experiment::Price) && record.run.workload.options.members > 0;
    let mut cells: Vec<&CellFinding> = findings.cells.iter().collect();
    if !study.records.iter().any(of_one) || reads(&cells, KILOBYTES).chain(reads(&cells, MEGABYTES)).next().is_none() {
        cells.extend(measured.iter().map(|cell| &cell.finding).filter(|cell| !cell.cached));
    }
    if gb.is_none() {
        missing.push(MissingFigure::Capacity);
    }
    for bs_bytes in [KILOBYTES, MEGABYTES] {
        let depths: Vec<u32> = reads(&cells, bs_bytes).map(CellFinding::total_depth).collect();
        if depths.is_empty() {
            missing.push(MissingFigure::RandomReads { bs_bytes });
        } else if !depths.contains(&1) {
            missing.push(MissingFigure::RandomReadsOneDeep { bs_bytes });
        }
    }
    price_row(&cells, price, gb)
}

impl PriceRow {
    /// Whether any access that it buys was measured.
    pub fn buys_accesses(&self) -> bool {
        self.best.kaps.is_some() || self.best.maps.is_some()
    }
}

/// What `price` buys: the accesses among these cells, and `gb` gigabytes.
pub fn price_row(cells: &[&CellFinding], price: f64, gb: Option<f64>) -> PriceRow {
    PriceRow {
        price,
        gb,
        gb_per_price: gb.map(|gb| gb / price),
        one_deep: accesses(cells, price, |cell| cell.total_depth() == 1),
        best: accesses(cells, price, |_| true),
    }
}

/// What both studies lack, then what each lacks alone.
fn of_either(of_a: &[MissingFigure], of_b: &[MissingFigure]) -> Vec<(InStudy, MissingFigure)> {
    let in_both = of_a.iter().filter(|one| of_b.contains(one)).map(|one| (InStudy::Both, *one));
    let only_a = of_a.iter().filter(|one| !of_b.contains(one)).map(|one| (InStudy::A, *one));
    let only_b = of_b.iter().filter(|one| !of_a.contains(one)).map(|one| (InStudy::B, *one));
    in_both.chain(only_a).chain(only_b).collect()
}

fn reads<'a>(cells: &[&'a CellFinding], bytes: u64) -> impl Iterator<Item = &'a CellFinding> {
    let wanted = move |cell: &&'a CellFinding| {
        (cell.pattern, cell.rw, cell.bs_bytes) == (Pattern::Random, Direction::Read, bytes)
            && cell.cache.direct()
            && cell.usable()
    };
    cells.iter().copied().filter(wanted)
}

fn accesses(cells: &[&CellFinding], price: f64, admitted: impl Fn(&CellFinding) -> bool) -> Accesses {
    let most = |bytes| {
        let admitted = reads(cells, bytes).filter(|cell| admitted(cell));
        admitted.max_by(|one, other| one.iops.total_cmp(&other.iops))
    };
    let small = most(KILOBYTES);
    let large = most(MEGABYTES);
    Accesses {
        kaps: small.map(|cell| cell.iops),
        kaps_iodepth: small.map(CellFinding::total_depth),
        maps: large.map(|cell| cell.iops),
        maps_iodepth: large.map(CellFinding::total_depth),
        kaps_per_price: small.map(|cell| cell.iops / price),
        maps_per_price: large.map(|cell| cell.iops / price),
    }
}
