//! Compares requests that begin off the boundaries of chunks, pages and blocks with the same requests aligned.

use halfpower_analyse::{ExperimentCell, Interval, Requests, has_settings};
use halfpower_spec::{Bytes, Cache, InOrder, JsonSchema, Pattern, Workload, WorkloadOptions};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Requests that begin off the boundaries of blocks and chunks.
    pub alignment: Vec<AlignmentRow>,
}

/// Requests of one kind with one shift.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AlignmentRow {
    /// Its requests.
    #[serde(flatten)]
    pub requests: Requests,
    /// Bytes by which each request begins later than a multiple of its size.
    pub shift_bytes: u64,
    /// Cache setting.
    pub cache: Cache,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Requests a second.
    pub iops: f64,
    /// Throughput as a share of the same requests without a shift; `null` for the unshifted requests.
    pub of_aligned: Option<Interval>,
}

/// The share of the aligned rate that shifted requests keep, by kind of request. For each kind, the worst shift counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct AlignmentAnswer {
    /// Kinds of requests that could be compared with aligned ones.
    pub kinds: usize,
    /// Kinds that lose more than 10% beyond chance, worst first.
    pub lose: Vec<ShiftedKind>,
    /// Kinds within 10% of aligned ones.
    pub alike: usize,
    /// Kinds that are faster than aligned ones.
    pub faster: usize,
    /// Kinds for which the runs cannot tell.
    pub unclear: usize,
}

/// A kind of request at its worst shift.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ShiftedKind {
    /// Its requests.
    #[serde(flatten)]
    pub requests: Requests,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Bytes by which each request begins later than a multiple of its size.
    pub shift_bytes: u64,
    /// Throughput as a share of the same requests without a shift.
    pub of_aligned: RatioFinding,
}

/// A shifted cell, and its rate as a share of the aligned cell's.
struct Shifted<'a> {
    cell: &'a ExperimentCell<'a>,
    of_aligned: RatioFinding,
}

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, AlignmentAnswer) {
    let scale = Scale::of(data.sound());
    let mut cells: Vec<&ExperimentCell> = data.sound().collect();
    // Direct requests before buffered ones, then smallest first, each kind sorted by shift.
    cells.order_by_key(|cell| (!cell.workload.cache.direct(), cell.workload.bs, cell.workload));
    let ratio = |cell: &ExperimentCell| {
        let aligned = cells.iter().find(|other| other.workload == aligned(&cell.workload))?;
        (shift(cell) > 0).then(|| scale.times(&[cell], &[aligned]))?
    };
    let rows = Rows { alignment: cells.iter().map(|cell| row(cell, ratio(cell))).collect() };
    let shifted: Vec<Shifted> =
        cells.iter().filter_map(|cell| Some(Shifted { cell, of_aligned: ratio(cell)? })).collect();
    (rows, answer(&shifted))
}

fn shift(cell: &ExperimentCell) -> u64 {
    cell.workload.options.misalign.0
}

fn aligned(workload: &Workload) -> Workload {
    Workload { options: WorkloadOptions { misalign: Bytes(0), ..workload.options }, ..*workload }
}

fn row(cell: &ExperimentCell, of_aligned: Option<RatioFinding>) -> AlignmentRow {
    let Interval { value, low, high } = cell.finding.mbps;
    AlignmentRow {
        shift_bytes: shift(cell),
        requests: cell.finding.requests(),
        cache: cell.finding.cache,
        pattern: cell.finding.pattern,
        mbps: value,
        low,
        high,
        iops: cell.finding.iops,
        of_aligned: of_aligned.map(|ratio| ratio.interval),
    }
}

fn answer(shifted: &[Shifted]) -> AlignmentAnswer {
    let kinds = worst_of_each_kind(shifted);
    let count = |is_so: fn(&RatioFinding) -> bool| kinds.iter().filter(|one| is_so(&one.of_aligned)).count();
    let is_lossy = |one: &&&Shifted| one.of_aligned.is_less() && !one.of_aligned.is_alike();
    let mut lose: Vec<ShiftedKind> = kinds.iter().filter(is_lossy).map(|one| kind(one)).collect();
    lose.order_by(|one, other| one.of_aligned.interval.value.total_cmp(&other.of_aligned.interval.value));
    let alike = count(RatioFinding::is_alike);
    let faster = count(|ratio| ratio.is_more() && !ratio.is_alike());
    let unclear = kinds.len() - lose.len() - alike - faster;
    AlignmentAnswer { kinds: kinds.len(), lose, alike, faster, unclear }
}

/// For each kind of request, the shift that keeps the smallest share of the rate.
fn worst_of_each_kind<'a>(shifted: &'a [Shifted<'a>]) -> Vec<&'a Shifted<'a>> {
    let same = |one: &Shifted, other: &Shifted| aligned(&one.cell.workload) == aligned(&other.cell.workload);
    let kept = |one: &Shifted| one.of_aligned.interval.value;
    let is_worst = |one: &&Shifted| shifted.iter().all(|other| !same(one, other) || kept(one) <= kept(other));
    let mut worst: Vec<&Shifted> = shifted.iter().filter(is_worst).collect();
    worst.dedup_by(|one, other| same(one, other));
    worst
}

fn kind(one: &Shifted) -> ShiftedKind {
    let finding = &one.cell.finding;
    ShiftedKind {
        requests: finding.requests(),
        pattern: finding.pattern,
        cache: finding.cache,
        shift_bytes: shift(one.cell),
        of_aligned: one.of_aligned,
    }
}

has_settings!(ShiftedKind, requests: Requests);
has_settings!(AlignmentRow, requests: Requests);

#[cfg(test)]
mod tests {
    use halfpower_record::{Environment, Record};
    use halfpower_spec::{Bytes, Cache, Experiment, Pass, Question, Run, Rw, Workload, WorkloadOptions};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use crate::built::{disk, normal, record_at};
    use crate::study_findings::{StudyFindings, analyse};

    /// Runs of one kind: access pattern, cache setting, KiB, depth, shift, and the share that shifted requests keep.
    type Kind = (Rw, Cache, u64, u32, u64, f64);

    fn findings(kinds: &[Kind], scatter: f64) -> StudyFindings {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut records: Vec<Record> = Vec::new();
        for (rw, cache, kib, iodepth, shift, keeps) in kinds {
            for (shift, factor) in [(0, 1.0), (*shift, *keeps)] {
                let options = WorkloadOptions { misalign: Bytes(shift), ..WorkloadOptions::default() };
                let workload = Workload { options, ..crate::built::workload(*rw, *cache, *kib, *iodepth) };
                for repeat in 0..3 {
                    let rate = 200e6 * factor * (1.0 + scatter * normal(&mut random));
                    let record = record_at(&disk(""), workload, repeat, Pass::Plain, rate);
                    let run = Run { experiment: Some(Experiment::Alignment), ..record.run };
                    records.push(Record { run, ..record });
                }
            }
        }
        let question = Question { experiments: vec![Experiment::Alignment], ..Question::about("d") };
        analyse(&question, &Environment::default(), &records)
    }

    const LOSING: Kind = (Rw::Randwrite, Cache::Device, 4, 8, 512, 0.4);
    const KEEPING: Kind = (Rw::Randread, Cache::Device, 64, 8, 4096, 1.0);

    #[test]
    fn what_shifted_requests_keep_comes_back_with_its_interval() {
        let findings = findings(&[LOSING, KEEPING, (Rw::Read, Cache::Both, 4, 1, 512, 0.97)], 0.01);
        let rows = &findings.rows.alignment.alignment;
        assert_eq!(rows.len(), 6);
        let of = |bs: u64, shift: u64, cache: Cache| {
            rows.iter().find(|row| (row.bs_bytes, row.shift_bytes, row.cache) == (bs, shift, cache)).unwrap()
        };
        let loses = of(4096, 512, Cache::Device).of_aligned.unwrap();
        assert!(loses.low <= 0.4 && 0.4 <= loses.high && loses.high / loses.low < 1.1, "{loses:?}");
        assert_eq!(of(4096, 0, Cache::Device).of_aligned, None, "aligned ones are their own measure");
        let row = of(65536, 4096, Cache::Device);
        assert!((row.iops * 65536.0 / 1e6 / row.mbps - 1.0).abs() < 0.01, "{row:?}");
        let answer = &findings.experiments[0].answer;
        assert!(answer.starts_with("Random direct writes of 4 KiB, 8 deep, keep 40%"), "{answer}");
        assert!(
            answer.contains("when they begin 512 B later")
                && answer.contains("2 of 3 kinds of shifted requests come within 10%"),
            "{answer}"
        );
    }

    #[test]
    fn what_runs_do_not_carry_is_not_said() {
        let answer = |kinds: &[Kind], scatter| findings(kinds, scatter).experiments[0].answer.clone();
        let unsure = answer(&[(Rw::Randread, Cache::Device, 4, 8, 512, 0.9), KEEPING], 0.3);
        assert!(
            unsure.contains("hese runs cannot tell whether any of 2 kinds of shifted requests loses")
                && !unsure.contains("keep"),
            "{unsure}"
        );
        let alike = answer(&[KEEPING], 0.01);
        assert_eq!(alike, "1 of 1 kinds of shifted requests come within 10% of aligned ones.");
    }

    #[test]
    fn kinds_that_shifting_makes_faster_are_not_among_those_that_runs_cannot_tell() {
        let reported = findings(&[(Rw::Randwrite, Cache::Device, 4, 8, 512, 1.5), KEEPING], 0.01);
        let answer = &reported.experiments[0].answer;
        assert!(
            answer.starts_with("1 of 2 kinds of shifted requests are faster") && !answer.contains("cannot tell"),
            "{answer}"
        );
    }

    #[test]
    fn of_several_shifts_the_worst_is_named_once() {
        let kinds =
            [512u64, 1024, 2048].map(|shift| (Rw::Randwrite, Cache::Device, 4, 8, shift, 1.0 - shift as f64 / 4096.0));
        let findings = findings(&kinds, 0.01);
        let answer = &findings.experiments[0].answer;
        assert_eq!(answer.matches("keep").count(), 1, "{answer}");
        assert!(answer.contains("keep 50%") && answer.contains("begin 2 KiB later"), "{answer}");
    }
}
