//! Compares the same work on one processor and on all, and on the processor that takes interrupts and on another.

use halfpower_analyse::ExperimentCell;
use halfpower_spec::{Affinity, Workload};

use super::answer::{AffinityComparison, ProcessorsAnswer};
use super::rows::{ProcessorRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::ratio_finding::RatioFinding;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, ProcessorsAnswer) {
    let seats = AffinityCells::of(data);
    let on_one = |work: &Workload| seats.compare(work, Affinity::One, Affinity::All);
    let on_interrupt = |work: &Workload| seats.compare(work, Affinity::Interrupt, Affinity::Other);
    let work = seats.work();
    let answer = ProcessorsAnswer {
        one: work.iter().filter_map(on_one).collect(),
        interrupt: work.iter().find_map(on_interrupt),
    };
    (Rows { processors: seats.cells.iter().map(|cell| row(cell)).collect() }, answer)
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
        latency_ns_p50: finding.latency_ns.p50.unwrap_or_default(),
        charged_us: finding.charged_us.unwrap_or_default(),
        soaker_us: finding.soaker_us,
    }
}

/// The cells, by kind of work and set of processors.
pub(super) struct AffinityCells<'a> {
    scale: Scale,
    /// The scatter of charged time.
    charges: Scale,
    cells: Vec<&'a ExperimentCell<'a>>,
}

/// The workload without its affinity.
fn without_seat(workload: &Workload) -> Workload {
    let mut work = *workload;
    work.options.affinity = Affinity::All;
    work
}

impl<'a> AffinityCells<'a> {
    pub fn of(data: &'a ExperimentData) -> Self {
        let mut cells: Vec<&ExperimentCell> = data.sound().collect();
        cells.sort_by_key(|cell| {
            let Workload { cache, threads, options, .. } = cell.workload;
            (!cache.direct(), threads, options.affinity)
        });
        let charges = Scale::of_means(cells.iter().map(|cell| cell.finding.run_charged_us.as_slice()));
        Self { scale: Scale::of(cells.iter().copied()), charges, cells }
    }

    /// The kinds of work, sorted.
    pub fn work(&self) -> Vec<Workload> {
        let mut work = Vec::new();
        for kind in self.cells.iter().map(|cell| without_seat(&cell.workload)) {
            if !work.contains(&kind) {
                work.push(kind);
            }
        }
        work
    }

    pub fn on(&self, work: &Workload, affinity: Affinity) -> Option<&'a ExperimentCell<'a>> {
        let fits = |cell: &&&ExperimentCell| {
            without_seat(&cell.workload) == *work && cell.workload.options.affinity == affinity
        };
        self.cells.iter().find(fits).copied()
    }

    /// Rate of a kind of work on one set of processors over that on another; `None` unless both were measured.
    pub fn rate(&self, work: &Workload, on: Affinity, beside: Affinity) -> Option<RatioFinding> {
        self.scale.times(&[self.on(work, on)?], &[self.on(work, beside)?])
    }

    /// Compares rate and charged time of a kind of work on two sets of processors.
    fn compare(&self, work: &Workload, on: Affinity, beside: Affinity) -> Option<AffinityComparison> {
        let rate = self.rate(work, on, beside)?;
        let (on, beside) = (self.on(work, on)?, self.on(work, beside)?);
        let [here, there] = [on, beside].map(|cell| cell.finding.run_charged_us.as_slice());
        Some(AffinityComparison {
            pattern: work.rw.pattern(),
            cache: work.cache,
            bs_bytes: work.bs.0,
            threads: work.threads,
            iops: on.finding.iops,
            other_iops: beside.finding.iops,
            rate,
            charge: self.charges.times_means(here, there),
        })
    }
}
