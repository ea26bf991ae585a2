//! Draws what `durability` measured: cache settings, writes per flush, and the device's write cache.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Cache, Switch, Workload, cache_word, format};

use super::analysis::{Writes, syncs_ns};
use super::rows::Rows;
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(data: &ExperimentData, _: &Rows) -> Vec<Picture> {
    let writes = Drawn(Writes::of(data));
    [writes.settings(), writes.by_interval(), writes.flushes(), writes.switched()].into_iter().flatten().collect()
}

/// The writes that are drawn.
struct Drawn<'a>(Writes<'a>);

impl Drawn<'_> {
    /// The four cache settings at depth 1.
    fn settings(&self) -> Option<Picture> {
        let usual = |cell: &&&ExperimentCell| cell.workload.options.is_default() && cell.workload.iodepth == 1;
        self.bars("The four cache settings, one write at a time", "Cache setting", &usual, &|workload| {
            format!("{} ({})", workload.cache, workload.cache.sqlio_letter())
        })
    }

    fn switched(&self) -> Option<Picture> {
        let switched = |cell: &&&ExperimentCell| cell.workload.options.write_cache.is_some();
        self.bars("The device's write cache on and off", "Writes and write cache", &switched, &|workload| {
            let write_cache = workload.options.write_cache.map_or("", Switch::word);
            format!("{}, {write_cache}", cache_word(workload.cache))
        })
    }

    /// Bars, one colour per block size.
    fn bars(
        &self,
        title: &str,
        across: &str,
        shown: &dyn Fn(&&&ExperimentCell) -> bool,
        label: &dyn Fn(&Workload) -> String,
    ) -> Option<Picture> {
        let cells: Vec<&ExperimentCell> = self.0.cells.iter().filter(|cell| shown(cell)).copied().collect();
        let mut sizes: Vec<u64> = cells.iter().map(|cell| cell.workload.bs.0).collect();
        sizes.dedup();
        let line = |bytes: &u64| {
            let mut same: Vec<&ExperimentCell> =
                cells.iter().filter(|cell| cell.workload.bs.0 == *bytes).copied().collect();
            same.sort_by_key(|cell| (cell.workload.cache, cell.workload.options.write_cache));
            let point = |cell: &&ExperimentCell| Point::named(label(&cell.workload), cell.finding.mbps);
            Line { name: format::size(*bytes as f64), points: same.iter().map(point).collect() }
        };
        let lines: Vec<Line> = sizes.iter().map(line).collect();
        let (x, y) = (Axis::even(across), Axis::log("MB/s"));
        (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Bars, x, y, lines })
    }

    fn by_interval(&self) -> Option<Picture> {
        let value = |cell: &ExperimentCell| Some(cell.finding.mbps);
        self.lines("Writes with fdatasync after every so many", Axis::log("MB/s"), &value)
    }

    fn flushes(&self) -> Option<Picture> {
        let median = |cell: &ExperimentCell| {
            let us = |ns: Vec<f64>| ns.iter().map(|ns| ns / 1e3).collect::<Vec<f64>>();
            syncs_ns(cell, 0.5).map(|runs| Interval::of_means(&us(runs)))
        };
        self.lines("Median time of an fdatasync", Axis::log("µs"), &median)
    }

    fn lines(&self, title: &str, y: Axis, value: &dyn Fn(&ExperimentCell) -> Option<Interval>) -> Option<Picture> {
        let line = |cache: Cache| {
            let mut cells = self.0.flushed(cache);
            cells.sort_by_key(|cell| cell.workload.options.fdatasync);
            let point = |cell: &&ExperimentCell| {
                let writes = cell.workload.options.fdatasync;
                Some(Point::at(writes.into(), writes.to_string(), value(cell)?))
            };
            let points: Vec<Point> = cells.iter().filter_map(point).collect();
            (!points.is_empty()).then(|| Line { name: cache_word(cache).to_string(), points })
        };
        let lines: Vec<Line> = [Cache::Device, Cache::Both].into_iter().filter_map(line).collect();
        let x = Axis::log("Writes for each fdatasync");
        (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Lines, x, y, lines })
    }
}
