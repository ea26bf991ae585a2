//! Analyses `sustain`: the size of the fast part, the rate after it, and what comes back while nothing is written.

use halfpower_analyse::{Interval, Requests, has_settings};
use halfpower_record::{Record, total};
use halfpower_spec::{Direction, InOrder, JsonSchema, Nanos, Pass};
use serde::Serialize;

use super::cliff::{FastSeen, WriteRates, write_rates};
use crate::data::ExperimentData;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Writes without a pause, in the order in which they were made.
    pub sustain: Vec<SustainRow>,
}

/// Writes without a pause: one run, or runs of which one went on where the other ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SustainRow {
    /// Its requests.
    #[serde(flatten)]
    pub requests: Requests,
    /// Time without writes before it, in seconds.
    pub rest_s: f64,
    /// Bytes written.
    pub bytes: u64,
    /// How long that took, in seconds.
    pub seconds: f64,
    /// Times that the writes went through the bytes in use.
    pub passes: f64,
    /// The faster beginning; `null` if the rate did not fall.
    pub fast: Option<FastPart>,
    /// Throughput after it, or of all, in MB/s.
    pub mbps: Interval,
    /// Whether that rate went on without further changes.
    pub settled: bool,
    /// Whether enough was written to tell a fast part from chance.
    pub conclusive: bool,
}

/// Writes that went faster than those after them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FastPart {
    /// Bytes until the rate fell.
    pub bytes: Interval,
    /// Throughput until then, in MB/s.
    pub mbps: Interval,
    /// Time until then, in seconds.
    pub lasts_s: f64,
}

/// What writes without a pause get.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SustainAnswer {
    /// Whether the rate fell.
    pub verdict: SustainVerdict,
    /// The fast part; `null` without a cliff.
    pub fast: Option<FastPart>,
    /// Sustained throughput in MB/s: after the cliff, or of all writes.
    pub mbps: Interval,
    /// Whether that rate went on without further changes.
    pub settled: bool,
    /// Bytes that were written in one go after a rest. A fast part that is larger would not have shown.
    pub bytes: u64,
    /// That rest, in seconds.
    pub rest_s: f64,
    /// Times that these writes went through the bytes in use. What can hold these bytes hides the medium.
    pub passes: f64,
    /// Bytes that all runs wrote.
    pub written_bytes: u64,
    /// What each further rest brought back, by its length.
    pub recovery: Vec<Recovery>,
    /// Rate at which the fast part comes back, in MB/s; `null` if no rest told it.
    pub comes_back_mbps: Option<Interval>,
}

/// Whether the rate of writes fell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SustainVerdict {
    /// It fell where the fast part was full.
    Cliff,
    /// It did not.
    NoCliff,
    /// Too little was written to tell.
    TooShort,
}

/// What a rest brought back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Recovery {
    /// Time without writes, in seconds.
    pub rest_s: f64,
    /// Bytes that were fast again.
    pub bytes: Interval,
    /// The same as a share of the fast part.
    pub of_fast: f64,
    /// Whether the writes ended before the rate fell, so that it is at least that much.
    pub at_least: bool,
}

/// Share of a run's bytes below which a fast part may not show.
const UNSEEN: f64 = 0.05;
/// Share of the fast part from which it counts as whole again.
const WHOLE: f64 = 0.9;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, SustainAnswer) {
    let rows: Vec<SustainRow> = in_one_go(&runs(data)).map(row).collect();
    let answer = answer(&rows);
    (Rows { sustain: rows }, answer)
}

/// All runs that count, in the order in which they were made.
pub(super) fn runs<'a>(data: &'a ExperimentData<'_>) -> Vec<&'a Record> {
    let mut runs: Vec<&Record> = data.sound().flat_map(|cell| cell.records.iter().copied()).collect();
    runs.retain(|run| run.run.pass == Pass::Plain && run.bytes > 0);
    runs.order_by_key(|run| run.run.repeat);
    runs
}

/// The runs, together with those that went on where they ended.
pub(super) fn in_one_go<'a>(runs: &'a [&'a Record]) -> impl Iterator<Item = &'a [&'a Record]> {
    runs.chunk_by(|_, next| next.run.workload.options.rest == Nanos(0))
}

fn row(runs: &[&Record]) -> SustainRow {
    let first = runs[0];
    let workload = first.run.workload;
    let bytes = total(runs.iter().map(|run| run.bytes));
    let seconds: f64 = runs.iter().map(|run| run.seconds()).sum();
    let seen = write_rates(runs);
    let of_all = Interval::exact(bytes as f64 / 1e6 / seconds.max(f64::MIN_POSITIVE));
    let WriteRates { fast, mbps, settled } = seen.unwrap_or(WriteRates { fast: None, mbps: of_all, settled: false });
    let fast = fast.map(|FastSeen { bytes, mbps, lasts_s }| {
        // Something may have come back before the next run, but what the first run wrote without a fall was fast.
        let low = if bytes.value > first.bytes as f64 { bytes.low.min(first.bytes as f64) } else { bytes.low };
        FastPart { bytes: Interval { low, ..bytes }, mbps, lasts_s }
    });
    SustainRow {
        requests: Requests { rw: Direction::Write, bs_bytes: workload.bs.0, iodepth: workload.iodepth },
        rest_s: idle_s(first),
        bytes,
        seconds,
        passes: bytes as f64 / first.span_bytes.max(1) as f64,
        fast,
        mbps,
        settled,
        conclusive: seen.is_some(),
    }
}

/// Time before a run in which nothing was written: the rest that was asked for, and but for the first run, before which the
/// file was laid out, the preparation.
fn idle_s(run: &Record) -> f64 {
    let rest = run.run.workload.options.rest.seconds();
    let is_known = run.run.repeat > 0 && run.discarded.is_empty();
    let prepared_ns = run.of_budget_ns().saturating_sub(run.elapsed_ns);
    if is_known { rest.max(prepared_ns as f64 / 1e9) } else { rest }
}

fn answer(rows: &[SustainRow]) -> SustainAnswer {
    let written_bytes = total(rows.iter().map(|row| row.bytes));
    let Some((first, after)) = rows.split_first() else {
        return SustainAnswer {
            verdict: SustainVerdict::TooShort,
            fast: None,
            mbps: Interval::exact(0.0),
            settled: false,
            bytes: 0,
            rest_s: 0.0,
            passes: 0.0,
            written_bytes,
            recovery: Vec::new(),
            comes_back_mbps: None,
        };
    };
    let mut recovery: Vec<Recovery> = match &first.fast {
        Some(fast) => after.iter().filter_map(|row| recovered(row, fast, first.mbps)).collect(),
        None => Vec::new(),
    };
    recovery.order_by(|one, other| one.rest_s.total_cmp(&other.rest_s));
    SustainAnswer {
        verdict: match (first.conclusive, first.fast) {
            (false, _) => SustainVerdict::TooShort,
            (true, Some(_)) => SustainVerdict::Cliff,
            (true, None) => SustainVerdict::NoCliff,
        },
        fast: first.fast,
        mbps: first.mbps,
        settled: first.settled,
        bytes: first.bytes,
        rest_s: first.rest_s,
        passes: first.passes,
        written_bytes,
        comes_back_mbps: comes_back(&recovery),
        recovery,
    }
}

/// What was fast again in a run after a rest; `None` if it wrote too little to tell.
fn recovered(row: &SustainRow, fast: &FastPart, sustained: Interval) -> Option<Recovery> {
    if !row.conclusive {
        return None;
    }
    // Between the two rates, in the middle of their logarithms.
    let is_fast = row.mbps.value > (fast.mbps.value * sustained.value).sqrt();
    let (bytes, at_least) = match row.fast {
        Some(again) => (again.bytes, false),
        None if is_fast => (Interval::exact(row.bytes as f64), true),
        None => (Interval { value: 0.0, low: 0.0, high: UNSEEN * row.bytes as f64 }, false),
    };
    Some(Recovery { rest_s: row.rest_s, bytes, of_fast: bytes.value / fast.bytes.value.max(1.0), at_least })
}

/// The rate at which it comes back: of the longest rest that did not bring back all of it.
fn comes_back(recovery: &[Recovery]) -> Option<Interval> {
    let tells = |one: &&Recovery| !one.at_least && one.of_fast < WHOLE && one.bytes.value > 0.0 && one.rest_s > 0.0;
    let Recovery { rest_s, bytes, .. } = *recovery.iter().rev().find(tells)?;
    let mbps = |bytes: f64| bytes / 1e6 / rest_s;
    Some(Interval { value: mbps(bytes.value), low: mbps(bytes.low), high: mbps(bytes.high) })
}

has_settings!(SustainRow, requests: Requests);

#[cfg(test)]
mod tests {
    use halfpower_record::Environment;
    use halfpower_spec::{Bytes, Cache, Experiment, IoSize, Question, Rw, WorkloadOptions};

    use super::*;
    use crate::built::{disk, run, workload};
    use crate::built_study::{answer as text, lines};
    use crate::study_findings::{StudyFindings, analyse};
    use crate::table::ExperimentAnswer;

    /// A run of this number, this long, on a disk whose fast part holds so much, after a rest.
    fn written(repeat: u32, fast_mb: u64, seconds: u64, rest: Nanos) -> Record {
        let constants = format!("fixed=0us,rate=1GB/s,fast_part={fast_mb}MB,sustained=200MB/s");
        let mut record =
            run(&disk(&constants), workload(Rw::Write, Cache::Device, 1024, 8), seconds * 1_000_000_000, 1, &|_| 1.0);
        let io_size = Some(IoSize::Bytes(Bytes(record.bytes)));
        record.run.workload.options = WorkloadOptions { rest, io_size, ..WorkloadOptions::default() };
        (record.run.experiment, record.run.repeat) = (Some(Experiment::Sustain), repeat);
        record.spent_ns = record.elapsed_ns + rest.0;
        record.span_bytes = 1 << 30;
        record
    }

    fn found(records: &[Record]) -> (SustainAnswer, StudyFindings) {
        let question = Question { experiments: vec![Experiment::Sustain], ..Question::about("d") };
        let findings = analyse(&question, &Environment::default(), records);
        println!("{}", text(&findings));
        let Some(ExperimentAnswer::Sustain(found)) = &findings.experiments[0].found else { panic!() };
        (found.clone(), findings)
    }

    const SECOND: Nanos = Nanos(1_000_000_000);

    #[test]
    fn the_fast_part_the_rate_after_it_and_what_comes_back_are_told() {
        let records = [
            written(0, 1500, 6, Nanos(12_000_000_000)),
            written(1, 300, 3, SECOND),
            written(2, 1200, 3, Nanos(4_000_000_000)),
            written(3, 1500, 1, Nanos(16_000_000_000)),
        ];
        let (answer, findings) = found(&records);
        let fast = answer.fast.unwrap();
        assert_eq!((answer.verdict, answer.settled), (SustainVerdict::Cliff, true));
        assert!(fast.bytes.low <= 1.5e9 && 1.5e9 <= fast.bytes.high, "{fast:?}");
        assert!((answer.mbps.value / 200.0 - 1.0).abs() < 0.02 && (answer.rest_s - 12.0).abs() < 1e-9, "{answer:?}");
        let known: Vec<(f64, bool)> = answer.recovery.iter().map(|one| (one.rest_s.round(), one.at_least)).collect();
        assert_eq!(known, [(1.0, false), (4.0, false), (16.0, true)]);
        let back = answer.comes_back_mbps.unwrap();
        assert!(back.low <= 300.0 && 300.0 <= back.high, "{back:?}");
        let said = text(&findings);
        for part in ["The first 1.", "go on at 200 MB/s", "After a rest of", "at least"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let short = findings.experiments[0].short.as_ref().unwrap();
        assert!(short.figure.starts_with("200 MB/s") && short.sentence.contains("after the first 1."), "{short:?}");
        assert!(lines(&findings.experiments[0]) <= 3, "{short:?}");
        let pictures = &findings.experiments[0].pictures;
        assert_eq!((pictures.len(), pictures[0].lines.len()), (1, 4));
    }

    #[test]
    fn without_a_cliff_it_says_how_far_it_looked() {
        let (answer, findings) = found(&[written(0, 9000, 2, SECOND), written(1, 9000, 2, Nanos(0))]);
        assert_eq!((answer.verdict, answer.fast), (SustainVerdict::NoCliff, None));
        assert!(answer.bytes > 3_900_000_000 && answer.bytes == answer.written_bytes, "{answer:?}");
        assert_eq!(findings.rows.sustain.sustain.len(), 1, "both runs are one go");
        let said = text(&findings);
        assert!(said.contains("No cliff up to 3.") && said.contains("times over"), "{said}");
    }

    #[test]
    fn a_cliff_in_the_run_that_went_on_leaves_open_what_came_back_between_them() {
        let further = written(1, 500, 4, Nanos(0));
        let (answer, _) = found(&[written(0, 9000, 2, SECOND), further]);
        let fast = answer.fast.unwrap();
        assert!(fast.bytes.low <= 2.01e9 && fast.bytes.high >= 2.5e9, "{fast:?}");
    }

    #[test]
    fn few_writes_tell_nothing() {
        let mut short = written(0, 9000, 1, SECOND);
        short.series.bytes.truncate(10);
        let (answer, findings) = found(&[short]);
        assert_eq!(answer.verdict, SustainVerdict::TooShort);
        assert!(text(&findings).contains("--sustain-bytes"), "{}", text(&findings));
    }
}
