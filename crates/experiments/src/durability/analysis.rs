//! `durability`: what does it cost to have writes on the medium, and how many can share that cost?

use halfpower_spec::{Cache, Pass, Switch, Workload, WorkloadOptions};

use super::rows::{DurabilityRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::{Ratio, Scale};
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::Interval;
use halfpower_text::cache_word;
use halfpower_text::format;

/// The half-power point: what is worth having is at least half of what could be had.
const HALF: f64 = 0.5;

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let mut cells: Vec<&ExperimentCell> = evidence.sound().collect();
    cells.sort_by_key(|cell| {
        let Workload { cache, bs, iodepth, options, .. } = cell.workload;
        (bs, iodepth, !cache.direct(), options.write_cache, cache, options.fdatasync)
    });
    let writes = Writes { scale: Scale::of(cells.iter().copied()), cells };
    rows.durability = writes.cells.iter().map(|cell| writes.row(cell)).collect();
    let clauses = [writes.one_at_a_time(), writes.at_once(), writes.sharing(), writes.without_write_cache()];
    let answer = crate::section::answer(clauses, "No durable write could be set beside a plain one.");
    Told { answer, pictures: writes.pictures() }
}

/// The cells, plain ones before durable ones.
struct Writes<'a> {
    scale: Scale,
    cells: Vec<&'a ExperimentCell<'a>>,
}

impl<'a> Writes<'a> {
    fn of(&self, workload: &Workload) -> Option<&'a ExperimentCell<'a>> {
        self.cells.iter().find(|cell| cell.workload == *workload).copied()
    }

    /// The cell without the promise: plain writes through the same caches.
    fn plain(&self, cell: &ExperimentCell) -> Option<&'a ExperimentCell<'a>> {
        let Workload { cache, options, .. } = cell.workload;
        let same = |cache, options| self.of(&Workload { cache, options, ..cell.workload });
        match (cache, options.write_cache) {
            (Cache::None, _) => same(Cache::Device, options),
            (Cache::Os, _) => same(Cache::Both, options),
            (_, Some(Switch::Off)) => same(cache, WorkloadOptions { write_cache: Some(Switch::On), ..options }),
            _ if options.fdatasync > 0 => same(cache, WorkloadOptions { fdatasync: 0, ..options }),
            _ => None,
        }
    }

    /// What a cell gives of its plain one.
    fn of_plain(&self, cell: &'a ExperimentCell<'a>) -> Option<Ratio> {
        self.scale.times(&[cell], &[self.plain(cell)?])
    }

    fn row(&self, cell: &'a ExperimentCell<'a>) -> DurabilityRow {
        let (workload, finding) = (&cell.workload, &cell.finding);
        let sync_us = |quantile: f64| syncs_us(cell, quantile).map(|runs| Interval::of_means(&runs).value);
        DurabilityRow {
            cache: workload.cache,
            fdatasync: workload.options.fdatasync,
            write_cache: workload.options.write_cache,
            iodepth: workload.iodepth,
            bs_bytes: workload.bs.0,
            mbps: finding.mbps.value,
            low: finding.mbps.low,
            high: finding.mbps.high,
            iops: finding.iops,
            p50_us: finding.latency_ns.p50 as f64 / 1e3,
            p99_us: finding.latency_ns.p99 as f64 / 1e3,
            sync_p50_us: sync_us(0.5),
            sync_p99_us: sync_us(0.99),
            of_plain: self.of_plain(cell).map(|ratio| ratio.interval()),
        }
    }

    /// The smallest blocks of all, where they were written one at a time with nothing else turned.
    fn small(&self, cache: Cache) -> Option<&'a ExperimentCell<'a>> {
        let least = self.cells.first()?.workload.bs;
        let is_it = |cell: &&&ExperimentCell| {
            let workload = &cell.workload;
            (workload.bs, workload.iodepth, workload.cache) == (least, 1, cache) && workload.options.is_default()
        };
        self.cells.iter().find(is_it).copied()
    }

    /// How many times as long a small durable write takes as a plain one.
    fn one_at_a_time(&self) -> Option<String> {
        let clause = |cache: Cache| {
            let durable = self.small(cache)?;
            let plain = self.plain(durable)?;
            let slower = self.scale.times(&[plain], &[durable])?;
            let (rate, word) = (format::iops(durable.finding.iops), cache_word(plain.workload.cache));
            let plain_rate = format::iops(plain.finding.iops);
            Some(match slower {
                _ if slower.is_more() || !slower.is_known() && slower.interval().value > 1.0 => {
                    format!("{word}, {} slower than plain ones ({rate} against {plain_rate})", slower.times())
                }
                _ if slower.is_one() => format!("{word}, as fast as plain ones ({rate})"),
                _ => format!("{word}, no slower that these runs could tell ({rate} against {plain_rate})"),
            })
        };
        let clauses: Vec<String> = [Cache::None, Cache::Os].into_iter().filter_map(clause).collect();
        let size = format::size(self.cells.first()?.workload.bs.0 as f64);
        let what = format!("writes of {size} that are durable one by one are, ");
        (!clauses.is_empty()).then(|| what + &clauses.join("; "))
    }

    /// Whether durable writes at once go faster than one by one.
    fn at_once(&self) -> Option<String> {
        let one = self.small(Cache::None)?;
        let deep = self.cells.iter().filter(|cell| {
            let Workload { cache, bs, iodepth, options, .. } = cell.workload;
            (cache, bs) == (Cache::None, one.workload.bs) && iodepth > 1 && options.is_default()
        });
        let deep = *deep.max_by_key(|cell| cell.workload.iodepth)?;
        let gain = self.scale.times(&[deep], &[one])?;
        let depth = deep.workload.iodepth;
        Some(match gain {
            _ if gain.is_more() || !gain.is_known() => format!("{depth} at once are {} as fast", gain.times()),
            _ => format!("{depth} at once bring nothing that these runs show"),
        })
    }

    /// From how many writes a flush on they get at least half of what they get without flushes.
    fn sharing(&self) -> Option<String> {
        let clause = |cache: Cache| {
            let mut flushed: Vec<&ExperimentCell> = self.flushed(cache);
            flushed.sort_by_key(|cell| cell.workload.options.fdatasync);
            let enough = |cell: &&&'a ExperimentCell<'a>| {
                self.of_plain(cell).is_some_and(|share| share.is_known() && share.interval().low >= HALF)
            };
            let word = cache_word(cache);
            let most = flushed.last()?;
            let share = self.of_plain(most)?;
            Some(match flushed.iter().rev().take_while(enough).last() {
                Some(cell) => {
                    let (writes, share) = (cell.workload.options.fdatasync, self.of_plain(cell)?.share());
                    format!("{word} ones get at least half of the plain rate from {writes} a flush on: {share}")
                }
                None => {
                    let (writes, is_known, share) = (most.workload.options.fdatasync, share.is_known(), share.share());
                    match is_known {
                        true => format!(
                            "{word} ones do not surely get half of the plain rate even with {writes} a flush: {share}"
                        ),
                        false => format!("{word} ones get {share} of the plain rate with {writes} a flush"),
                    }
                }
            })
        };
        let clauses: Vec<String> = [Cache::Device, Cache::Both].into_iter().filter_map(clause).collect();
        (!clauses.is_empty()).then(|| format!("with fdatasync, {}{}", clauses.join("; "), self.flush_time()))
    }

    /// The cells that flush every so many writes.
    fn flushed(&self, cache: Cache) -> Vec<&'a ExperimentCell<'a>> {
        let fits = |cell: &&&ExperimentCell| cell.workload.cache == cache && cell.workload.options.fdatasync > 0;
        self.cells.iter().filter(fits).copied().collect()
    }

    /// What a flush after a single write takes.
    fn flush_time(&self) -> String {
        let single = |cell: &&&ExperimentCell| cell.workload.options.fdatasync == 1;
        let cell =
            [Cache::Device, Cache::Both].into_iter().find_map(|cache| self.flushed(cache).iter().find(single).copied());
        let at = |share: f64| cell.and_then(|cell| syncs_us(cell, share));
        let Some((median, late)) = at(0.5).zip(at(0.99)) else { return String::new() };
        let (least, most) =
            median.iter().fold((f64::INFINITY, 0f64), |(least, most), us| (least.min(*us), most.max(*us)));
        let range = match most > 1.5 * least {
            true => format!(" ({} to {} in the runs)", format::time_us(least), format::time_us(most)),
            false => String::new(),
        };
        let [median, late] = [median, late].map(|runs| format::time_us(Interval::of_means(&runs).value));
        format!("; a flush of a single write takes {median} in the median{range}, one in a hundred {late} or more")
    }

    /// What writes keep without the device's write cache.
    fn without_write_cache(&self) -> Option<String> {
        let off = self.cells.iter().filter(|cell| cell.workload.options.write_cache == Some(Switch::Off));
        let clause = |cell: &&'a ExperimentCell<'a>| {
            let share = self.of_plain(cell)?;
            let (size, word) = (format::size(cell.workload.bs.0 as f64), cache_word(cell.workload.cache));
            let kept = match share {
                _ if share.is_less() || !share.is_known() => share.share(),
                _ => "as much, as far as these runs tell".to_string(),
            };
            Some(format!("{word} writes of {size} get {kept}"))
        };
        let clauses: Vec<String> = off.filter_map(clause).collect();
        (!clauses.is_empty()).then(|| format!("without the device's write cache, {}", clauses.join(", ")))
    }

    fn pictures(&self) -> Vec<Picture> {
        [self.settings(), self.by_interval(), self.flushes(), self.switched()].into_iter().flatten().collect()
    }

    /// The four settings, one at a time.
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

    /// Bars a colour for each block size.
    fn bars(
        &self,
        title: &str,
        across: &str,
        shown: &dyn Fn(&&&ExperimentCell) -> bool,
        label: &dyn Fn(&Workload) -> String,
    ) -> Option<Picture> {
        let cells: Vec<&ExperimentCell> = self.cells.iter().filter(|cell| shown(cell)).copied().collect();
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
        let median = |cell: &ExperimentCell| syncs_us(cell, 0.5).map(|runs| Interval::of_means(&runs));
        self.lines("Median time of an fdatasync", Axis::log("µs"), &median)
    }

    fn lines(&self, title: &str, y: Axis, value: &dyn Fn(&ExperimentCell) -> Option<Interval>) -> Option<Picture> {
        let line = |cache: Cache| {
            let mut cells = self.flushed(cache);
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

/// This quantile of what flushes between writes took in each plain run, in microseconds; `None` where there was none.
fn syncs_us(cell: &ExperimentCell, quantile: f64) -> Option<Vec<f64>> {
    let flushed = cell.records.iter().filter(|record| record.run.pass == Pass::Plain && record.syncs.count() > 0);
    let each: Vec<f64> = flushed.map(|record| record.syncs.quantile_ns(quantile) as f64 / 1e3).collect();
    (!each.is_empty()).then_some(each)
}
