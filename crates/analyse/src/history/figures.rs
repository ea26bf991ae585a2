//! Chooses the main figures of a history, each of one cell in all studies, and reads them from the studies' digests.
//!
//! A cell is chosen by how many studies have it, and then by its mean over all of them: the best cell of each study would be
//! the luckiest one.

use std::collections::BTreeMap;

use super::digest::{CellDigest, Measured, StudyDigest};
use super::found::{FigurePoint, HistoryFigure};
use crate::CellSettings;
use crate::mean::median;

/// Share of the studies of the best known cell that a chosen cell has at least.
const KNOWN: f64 = 0.9;
/// Cells that make a typical one, or all if there are fewer.
const CELLS_OF_TYPICAL: usize = 3;

/// A figure over the studies that have it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    pub figure: HistoryFigure,
    pub cell: Option<CellSettings>,
    pub points: Vec<FigurePoint>,
}

/// The figures that at least one study has.
pub(crate) fn all_series(digests: &[&StudyDigest]) -> Vec<Series> {
    let series = HistoryFigure::ALL.iter().filter_map(|figure| match figure {
        HistoryFigure::TypicalCell => typical(digests),
        HistoryFigure::Commits => commits(digests),
        figure => of_cell(*figure, digests),
    });
    series.filter(|series| !series.points.is_empty()).collect()
}

fn point(study: usize, measured: Measured) -> FigurePoint {
    let Measured { value, low, high } = measured;
    let is_wide = low < high;
    FigurePoint { study, value, low: is_wide.then_some(low), high: is_wide.then_some(high) }
}

fn commits(digests: &[&StudyDigest]) -> Option<Series> {
    let known = digests.iter().enumerate().filter_map(|(study, digest)| Some(point(study, digest.commits?)));
    Some(Series { figure: HistoryFigure::Commits, cell: None, points: known.collect() })
}

/// The value of a cell in the unit of the figure.
fn value(cell: &CellDigest, figure: HistoryFigure) -> Option<Measured> {
    match figure {
        HistoryFigure::RandomReadP99 => cell.latency_ns_p99.map(|value| Measured { value, low: value, high: value }),
        HistoryFigure::RandomReadIops | HistoryFigure::RandomWriteIops => {
            Some(cell.mbps.times(1e6 / cell.settings.bs_bytes as f64))
        }
        HistoryFigure::TypicalCell
        | HistoryFigure::SequentialReadMbps
        | HistoryFigure::SequentialWriteMbps
        | HistoryFigure::Commits => Some(cell.mbps),
    }
}

fn of_cell(figure: HistoryFigure, digests: &[&StudyDigest]) -> Option<Series> {
    let chosen = chosen(figure, digests)?;
    let in_study = |digest: &StudyDigest| value(digest.cells.iter().find(|cell| cell.settings == chosen)?, figure);
    let known = digests.iter().enumerate().filter_map(|(study, digest)| Some(point(study, in_study(digest)?)));
    Some(Series { figure, cell: Some(chosen), points: known.collect() })
}

/// The cell of a figure: past the page cache where that was measured; for rates the fastest, for latency the shallowest with
/// the smallest blocks.
fn chosen(figure: HistoryFigure, digests: &[&StudyDigest]) -> Option<CellSettings> {
    let access = figure.access()?;
    let mut known: BTreeMap<CellSettings, Vec<f64>> = BTreeMap::new();
    for cell in digests.iter().flat_map(|digest| &digest.cells) {
        if (cell.settings.pattern, cell.settings.rw) == access {
            let value = value(cell, figure).filter(|_| cell.settings.bs_bytes > 0);
            known.entry(cell.settings).or_default().extend(value.map(|measured| measured.value.ln()));
        }
    }
    let most = |is_direct: bool| {
        let own = known.iter().filter(|(settings, _)| settings.cache.direct() || !is_direct);
        own.map(|(_, logs)| logs.len()).max().unwrap_or(0)
    };
    let is_direct = 2 * most(true) >= most(false);
    let least = KNOWN * most(is_direct) as f64;
    let candidates = known.iter().filter(|(settings, logs)| {
        (settings.cache.direct() || !is_direct) && !logs.is_empty() && logs.len() as f64 >= least
    });
    let rank = |settings: &CellSettings, logs: &[f64]| {
        let depth = u64::from(settings.iodepth) * u64::from(settings.threads);
        match figure {
            HistoryFigure::RandomReadP99 => -((depth as f64).log2() * 64.0 + (settings.bs_bytes as f64).log2()),
            _ => logs.iter().sum::<f64>() / logs.len() as f64,
        }
    };
    let ranked = candidates.map(|(settings, logs)| (rank(settings, logs), *settings));
    ranked.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, settings)| settings)
}

/// Throughput of the typical cell: each study's median over its cells, of their distance from their own usual value. Studies
/// need not have the same cells.
fn typical(digests: &[&StudyDigest]) -> Option<Series> {
    let mut of_cells: BTreeMap<CellSettings, Vec<(usize, f64)>> = BTreeMap::new();
    for (study, digest) in digests.iter().enumerate() {
        for cell in &digest.cells {
            of_cells.entry(cell.settings).or_default().push((study, cell.mbps.value.ln()));
        }
    }
    of_cells.retain(|_, values| 2 * values.len() >= digests.len());
    let least = CELLS_OF_TYPICAL.min(of_cells.len()).max(1);
    let mut levels: Vec<Option<f64>> = vec![Some(0.0); digests.len()];
    // A cell that only slow studies have would seem slow at first; the second pass knows their levels.
    for _ in 0..2 {
        let mut distances: Vec<Vec<f64>> = vec![Vec::new(); digests.len()];
        for values in of_cells.values() {
            let own = values.iter().filter_map(|(study, log)| Some(log - levels[*study]?));
            let usual = median(own.collect());
            values.iter().for_each(|(study, log)| distances[*study].push(log - usual));
        }
        let level = |distances: Vec<f64>| (distances.len() >= least).then(|| median(distances));
        levels = distances.into_iter().map(level).collect();
    }
    let middle = median(levels.iter().flatten().copied().collect());
    let points = levels.iter().enumerate().filter_map(|(study, level)| {
        let value = 100.0 * ((*level)? - middle).exp();
        Some(FigurePoint { study, value, low: None, high: None })
    });
    Some(Series { figure: HistoryFigure::TypicalCell, cell: None, points: points.collect() })
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Cache, Direction, Pattern};

    use super::*;

    fn cell(iodepth: u32, bs_bytes: u64, mbps: f64) -> CellDigest {
        CellDigest {
            settings: CellSettings {
                pattern: Pattern::Random,
                rw: Direction::Read,
                cache: Cache::Device,
                iodepth,
                bs_bytes,
                threads: 1,
            },
            mbps: Measured { value: mbps, low: mbps, high: mbps },
            latency_ns_p50: None,
            latency_ns_p99: Some(1e6),
            charged_us: None,
        }
    }

    fn digest(cells: Vec<CellDigest>) -> StudyDigest {
        StudyDigest {
            target: "/data".to_string(),
            identity: "/data".to_string(),
            started_unix_ms: 1,
            runs: cells.len(),
            cells,
            commits: None,
            neighbours: crate::Neighbours::default(),
        }
    }

    fn of(figure: HistoryFigure, series: &[Series]) -> &Series {
        series.iter().find(|series| series.figure == figure).unwrap()
    }

    #[test]
    fn one_cell_in_all_studies_makes_a_figure() {
        // The luckiest cell of the first study is another than that of the second.
        let studies = [
            digest(vec![cell(1, 4096, 50.0), cell(32, 4096, 400.0), cell(16, 4096, 380.0), cell(64, 4096, 900.0)]),
            digest(vec![cell(1, 4096, 51.0), cell(32, 4096, 390.0), cell(16, 4096, 395.0)]),
        ];
        let digests: Vec<&StudyDigest> = studies.iter().collect();
        let series = all_series(&digests);
        let iops = of(HistoryFigure::RandomReadIops, &series);
        assert_eq!(iops.cell.unwrap().iodepth, 32);
        let values: Vec<f64> = iops.points.iter().map(|point| point.value.round()).collect();
        assert_eq!(values, [97656.0, 95215.0]);
        assert_eq!(of(HistoryFigure::RandomReadP99, &series).cell.unwrap().iodepth, 1);
        assert!(series.iter().all(|series| series.figure != HistoryFigure::SequentialReadMbps));
    }

    #[test]
    fn the_typical_cell_does_not_depend_on_which_cells_a_study_has() {
        let sizes = [4096, 8192, 16384, 32768, 65536];
        let study = |slower: f64, without: usize| {
            let cells = sizes.iter().enumerate().filter(|(at, _)| *at != without);
            digest(cells.map(|(at, size)| cell(1, *size, slower * 100.0 * (at + 1) as f64)).collect())
        };
        let studies: Vec<StudyDigest> = (0..10).map(|at| study(if at < 5 { 1.0 } else { 0.8 }, at % 6)).collect();
        let digests: Vec<&StudyDigest> = studies.iter().collect();
        let series = all_series(&digests);
        let typical = &of(HistoryFigure::TypicalCell, &series).points;
        assert!((typical[7].value / typical[1].value - 0.8).abs() < 0.01, "{typical:?}");
    }
}
