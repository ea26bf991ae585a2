//! `processors`: what do several processors bring, and does it matter on which one requests are submitted?

use halfpower_spec::{Affinity, Workload};

use super::rows::{ProcessorRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::Interval;
use halfpower_text::cache_word;
use halfpower_text::format;

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let mut cells: Vec<&ExperimentCell> = evidence.sound().collect();
    cells.sort_by_key(|cell| {
        let Workload { cache, threads, options, .. } = cell.workload;
        (!cache.direct(), threads, options.affinity)
    });
    rows.processors = cells.iter().map(|cell| row(cell)).collect();
    let charges = Scale::of_means(cells.iter().map(|cell| cell.finding.run_charged_us.as_slice()));
    let seats = Seats { scale: Scale::of(cells.iter().copied()), charges, cells };
    let interrupt =
        seats.work().into_iter().find_map(|work| seats.compare(&work, Affinity::Interrupt, Affinity::Other));
    let interrupt = interrupt.map(|told| format!("submitted on the processor that takes the interrupts, {told}"));
    let answer = crate::section::answer([seats.one(), interrupt], "No work could be set on one processor and on all.");
    Told { answer, pictures: seats.pictures() }
}

fn row(cell: &ExperimentCell) -> ProcessorRow {
    let (workload, finding) = (&cell.workload, &cell.finding);
    ProcessorRow {
        affinity: workload.options.affinity,
        threads: workload.threads,
        pattern: finding.pattern,
        cache: workload.cache,
        iodepth: workload.iodepth,
        bs_bytes: workload.bs.0,
        mbps: finding.mbps.value,
        low: finding.mbps.low,
        high: finding.mbps.high,
        iops: finding.iops,
        p50_us: finding.latency_ns.p50 as f64 / 1e3,
        charged_us: finding.charged_us,
        soaker_us: finding.soaker_us,
    }
}

/// The cells: each kind of work on each seat.
struct Seats<'a> {
    scale: Scale,
    /// The same of charged time.
    charges: Scale,
    cells: Vec<&'a ExperimentCell<'a>>,
}

/// A workload whatever its seat.
fn without_seat(workload: &Workload) -> Workload {
    let mut work = *workload;
    work.options.affinity = Affinity::All;
    work
}

fn words(work: &Workload) -> String {
    let Workload { rw, cache, bs, threads, .. } = *work;
    let by = if threads == 1 { "one thread".to_string() } else { format!("{threads} threads") };
    format!("{} {} reads of {} by {by}", rw.pattern(), cache_word(cache), format::size(bs.0 as f64))
}

impl<'a> Seats<'a> {
    /// The kinds of work, in order.
    fn work(&self) -> Vec<Workload> {
        let mut work = Vec::new();
        for kind in self.cells.iter().map(|cell| without_seat(&cell.workload)) {
            if !work.contains(&kind) {
                work.push(kind);
            }
        }
        work
    }

    fn on(&self, work: &Workload, affinity: Affinity) -> Option<&'a ExperimentCell<'a>> {
        let fits = |cell: &&&ExperimentCell| {
            without_seat(&cell.workload) == *work && cell.workload.options.affinity == affinity
        };
        self.cells.iter().find(fits).copied()
    }

    /// What every kind of work gets on one processor.
    fn one(&self) -> Option<String> {
        let told = self.work().into_iter().filter_map(|work| self.compare(&work, Affinity::One, Affinity::All));
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| format!("held to one processor, {}", told.join("; ")))
    }

    /// Rate and charged time of a kind of work on one seat, beside another.
    fn compare(&self, work: &Workload, on: Affinity, beside: Affinity) -> Option<String> {
        let (on, against) = (self.on(work, on)?, self.on(work, beside)?);
        let ratio = self.scale.times(&[on], &[against])?;
        let other = if beside == Affinity::All { "all" } else { "another" };
        let rates = [against, on].map(|cell| format::iops(cell.finding.iops));
        let rate = match ratio {
            _ if ratio.is_one() => format!("keep their rate ({})", rates[0]),
            _ if ratio.is_less() || ratio.is_more() => {
                format!("get {} of the {} on {other}", ratio.share(), rates[0])
            }
            _ => format!("show no sure difference ({} on {other}, {})", rates[0], rates[1]),
        };
        Some(format!("{} {rate}{}", words(work), self.charge(on, against)))
    }

    /// What a request is charged on one seat beside another, where the runs tell.
    fn charge(&self, on: &ExperimentCell, against: &ExperimentCell) -> String {
        let [here, there] = [on, against].map(|cell| cell.finding.run_charged_us.as_slice());
        match self.charges.times_means(here, there) {
            Some(ratio) if ratio.is_one() => " at the same charge".to_string(),
            Some(ratio) if ratio.is_less() || ratio.is_more() => format!(" at {} of the charge", ratio.share()),
            _ => String::new(),
        }
    }

    fn pictures(&self) -> Vec<Picture> {
        let rate = |work: &Workload, cell: &ExperimentCell| {
            let ratio = self.scale.times(&[cell], &[self.on(work, Affinity::All)?])?;
            let Interval { value, low, high } = ratio.interval();
            let [value, low, high] = [value, low, high].map(|share| share * 100.0);
            // What it is a share of has no error against itself.
            let is_all = cell.workload.options.affinity == Affinity::All;
            Some(if is_all { Interval::exact(100.0) } else { Interval { value, low, high } })
        };
        let charged = |_: &Workload, cell: &ExperimentCell| Some(Interval::of_means(&cell.finding.run_charged_us));
        let soaker = |_: &Workload, cell: &ExperimentCell| cell.finding.soaker_us.map(Interval::exact);
        let pictures = [
            self.bars("Rate by where requests are submitted", "% of the rate on all", &rate),
            self.bars("Processor time a request, charged", "µs", &charged),
            self.bars("Processor time a request, by the soaker", "µs", &soaker),
        ];
        pictures.into_iter().flatten().collect()
    }

    /// Bars by seat, a colour for each kind of work.
    fn bars(
        &self,
        title: &str,
        unit: &str,
        value: &dyn Fn(&Workload, &ExperimentCell) -> Option<Interval>,
    ) -> Option<Picture> {
        let line = |work: &Workload| {
            let point = |seat: &Affinity| Some(Point::named(seat.word(), value(work, self.on(work, *seat)?)?));
            let points: Vec<Point> = Affinity::ALL.iter().filter_map(point).collect();
            (!points.is_empty()).then(|| Line { name: words(work), points })
        };
        let lines: Vec<Line> = self.work().iter().filter_map(line).collect();
        let (x, y) = (Axis::even("Processors that submit"), Axis::even(unit));
        (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Bars, x, y, lines })
    }
}
