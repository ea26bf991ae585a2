//! Compares the same work on one processor and on all, on the processor that takes interrupts and on another, and on one of
//! the device's memory node and of another node.

use halfpower_analyse::ExperimentCell;
use halfpower_spec::{Affinity, Cache, InOrder, JsonSchema, Pattern, Workload};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The same work on one processor and on all, on the interrupts' processor and on another, and near the device and far
    /// from it.
    pub processors: Vec<ProcessorRow>,
}

/// One kind of work on one set of processors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ProcessorRow {
    /// Which processors the submitting threads may use.
    pub affinity: Affinity,
    /// Submitting threads.
    pub threads: u32,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Depth of each thread.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Requests a second.
    pub iops: f64,
    /// Median latency in nanoseconds; `None` if not known.
    pub latency_ns_p50: Option<u64>,
    /// Processor time per request charged to the process, in microseconds.
    pub charged_us: f64,
    /// Processor time per request by the soaker, which includes interrupts and kernel threads; `null` without a soaker
    /// pass.
    pub soaker_us: Option<f64>,
}

/// The same work on different processors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ProcessorsAnswer {
    /// Each kind of work on one processor, compared with all.
    pub one: Vec<AffinityComparison>,
    /// Work on the processor that takes the interrupts, compared with another.
    pub interrupt: Option<AffinityComparison>,
    /// Work on a processor of the device's memory node (NUMA), compared with one of the node farthest from it; `null` where
    /// the machine has a single node, or the kernel does not tell the device's.
    pub near: Option<AffinityComparison>,
    /// The device's memory node, if that comparison was made.
    pub memory_node: Option<u32>,
}

impl ProcessorsAnswer {
    /// The memory node that an application should be held to, and what that brings, where it is certainly better there.
    pub fn better_node(&self) -> Option<(u32, &AffinityComparison)> {
        let sure = |ratio: &RatioFinding| !ratio.is_alike() && !ratio.is_undecided();
        let is_better = |near: &&AffinityComparison| {
            let is_cheaper = near.charge.is_some_and(|charge| sure(&charge) && charge.is_less());
            sure(&near.rate) && near.rate.is_more() || near.rate.is_alike() && is_cheaper
        };
        Some((self.memory_node?, self.near.as_ref().filter(is_better)?))
    }
}

/// The same reads on two sets of processors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AffinityComparison {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Block size.
    pub bs_bytes: u64,
    /// Submitting threads.
    pub threads: u32,
    /// Requests a second on the first set.
    pub iops: f64,
    /// Requests a second on the other set.
    pub other_iops: f64,
    /// Rate on the first set over that on the other.
    pub rate: RatioFinding,
    /// Charged processor time per request over that on the other set; `null` if not known.
    pub charge: Option<RatioFinding>,
}

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, ProcessorsAnswer) {
    let seats = AffinityCells::of(data);
    let on_one = |work: &Workload| seats.compare(work, Affinity::One, Affinity::All);
    let on_interrupt = |work: &Workload| seats.compare(work, Affinity::Interrupt, Affinity::Other);
    let near = |work: &Workload| seats.compare(work, Affinity::Near, Affinity::Far);
    let work = seats.work();
    let near = work.iter().find_map(near);
    let node = data.environment.device.as_ref().and_then(|device| device.memory_node);
    let answer = ProcessorsAnswer {
        one: work.iter().filter_map(on_one).collect(),
        interrupt: work.iter().find_map(on_interrupt),
        memory_node: node.filter(|_| near.is_some()),
        near,
    };
    (Rows { processors: seats.cells.iter().map(|cell| row(cell)).collect() }, answer)
}

fn row(cell: &ExperimentCell) -> ProcessorRow {
    let workload = &cell.workload;
    let finding = &cell.finding;
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
        latency_ns_p50: finding.latency_ns.p50,
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
        cells.order_by_key(|cell| {
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
        let on = self.on(work, on)?;
        let beside = self.on(work, beside)?;
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

#[cfg(test)]
mod tests {
    use halfpower_record::{Device, Environment, Record};
    use halfpower_spec::{Affinity, Bytes, Cache, Experiment, Pass, Question, Rw, Workload, WorkloadOptions};

    use crate::ExperimentAnswer;
    use crate::built::{disk, record_at};
    use crate::study_findings::{StudyFindings, analyse};

    const ALL_MBPS: f64 = 400.0;
    const CHARGED_NS: f64 = 4_000.0;

    /// Three runs on one set of processors: rate and charge are shares of those on all processors, with a relative
    /// deviation of `chance`.
    fn runs(affinity: Affinity, threads: u32, rate: f64, charge: f64, chance: f64) -> Vec<Record> {
        let options = WorkloadOptions { affinity, ..WorkloadOptions::default() };
        let rw = Rw::Randread;
        let cache = Cache::Device;
        let bs = Bytes(4096);
        let workload = Workload { rw, cache, bs, iodepth: 32 / threads, threads, options, ..Workload::default() };
        let run = |repeat: u32| {
            // A deviation that differs between affinities, so that a round has none in common.
            let turn = (repeat + threads + affinity as u32) % 3;
            let off = 1.0 + chance * (f64::from(turn) - 1.0);
            let rate = ALL_MBPS * 1e6 * rate * off;
            let mut record = record_at(&disk("fixed=80us,rate=500MB/s"), workload, repeat, Pass::Plain, rate);
            record.run.experiment = Some(Experiment::Processors);
            record.cpu.user_ns = 0;
            record.cpu.system_ns = (record.ios as f64 * CHARGED_NS * charge * off) as u64;
            record
        };
        (0..3).map(run).collect()
    }

    fn findings(records: &[Vec<Record>]) -> StudyFindings {
        let question = Question { experiments: vec![Experiment::Processors], ..Question::about("d") };
        analyse(&question, &Environment::default(), &records.concat())
    }

    #[test]
    fn rate_and_charge_of_each_seat_come_back() {
        let reported = findings(&[
            runs(Affinity::All, 1, 1.0, 1.0, 0.01),
            runs(Affinity::One, 1, 1.0, 1.0, 0.01),
            runs(Affinity::Interrupt, 1, 0.8, 0.75, 0.01),
            runs(Affinity::Other, 1, 1.0, 1.0, 0.01),
            runs(Affinity::All, 2, 1.5, 1.0, 0.01),
            runs(Affinity::One, 2, 0.75, 0.9, 0.01),
        ]);
        let row = |affinity, threads| {
            let fits = |row: &&super::ProcessorRow| (row.affinity, row.threads) == (affinity, threads);
            *reported.rows.processors.processors.iter().find(fits).expect("no such row")
        };
        assert!((row(Affinity::Interrupt, 1).mbps / (0.8 * ALL_MBPS) - 1.0).abs() < 0.001);
        assert!((row(Affinity::One, 2).charged_us / 3.6 - 1.0).abs() < 0.001);
        let answer = &reported.experiments[0].answer;
        assert!(
            answer.contains(
                "random direct reads of 4 KiB by one thread keep their rate (97,656 IOPS) at the same charge"
            ),
            "{answer}"
        );
        assert!(answer.contains("by 2 threads get 50% (49% to 51%) of the 146,484 IOPS on all"), "{answer}");
        assert!(answer.contains("IOPS on all at 90% (88% to 92%) of the charge"), "{answer}");
        let interrupt =
            answer.split(". ").find(|sentence| sentence.starts_with("Submitted on")).expect("no such sentence");
        assert!(interrupt.contains("get 80%") && interrupt.contains("IOPS on another at 75%"), "{interrupt}");
    }

    #[test]
    fn a_memory_node_is_named_where_it_is_surely_better() {
        let told = |rate: f64, charge: f64, chance: f64| {
            let question = Question { experiments: vec![Experiment::Processors], ..Question::about("d") };
            let device = Some(Device { memory_node: Some(1), ..Device::default() });
            let environment = Environment { device, ..Environment::default() };
            let near = runs(Affinity::Near, 1, rate, charge, chance);
            let records = [near, runs(Affinity::Far, 1, 1.0, 1.0, chance)].concat();
            let reported = analyse(&question, &environment, &records);
            let section = &reported.experiments[0];
            let Some(ExperimentAnswer::Processors(found)) = &section.found else { panic!("no answer") };
            (found.better_node().map(|(node, _)| node), section.answer.clone())
        };
        let (node, answer) = told(1.2, 1.0, 0.01);
        assert_eq!(node, Some(1));
        let starts = "Submitted from the device's memory node, 1, random direct reads of 4 KiB by one thread get 120%";
        assert!(answer.contains(starts) && answer.contains("IOPS on the farthest other node"), "{answer}");
        assert_eq!(told(1.0, 0.8, 0.0).0, Some(1), "as fast, and cheaper");
        assert_eq!(told(0.8, 0.8, 0.01).0, None, "slower");
        let (node, answer) = told(1.0, 1.0, 0.0);
        assert_eq!(node, None, "alike");
        assert!(answer.contains("keep their rate (97,656 IOPS) at the same charge"), "{answer}");
        assert_eq!(told(1.2, 0.9, 0.3).0, None, "too uncertain");
    }

    #[test]
    fn what_is_alike_is_not_given_as_a_share() {
        let reported = findings(&[runs(Affinity::All, 1, 1.0, 1.0, 0.0), runs(Affinity::One, 1, 0.998, 1.002, 0.0)]);
        let answer = &reported.experiments[0].answer;
        assert!(answer.contains("keep their rate") && answer.contains("at the same charge"), "{answer}");
    }

    #[test]
    fn what_the_runs_do_not_carry_is_not_claimed() {
        let reported = findings(&[runs(Affinity::All, 1, 1.0, 1.0, 0.3), runs(Affinity::One, 1, 0.8, 0.9, 0.3)]);
        let answer = &reported.experiments[0].answer;
        assert!(answer.contains("show no sure difference"), "{answer}");
        assert!(!answer.contains("charge"), "{answer}");
        assert!(!answer.contains("Submitted on"), "{answer}");
    }
}
