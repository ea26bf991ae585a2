//! Analyses `load`: latency by the rate of an open loop, and the highest rate below the bound on latency.

use std::collections::BTreeMap;

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_record::{Latency, Record};
use halfpower_spec::{Bytes, InOrder, JsonSchema, LatencyBound, Nanos, Pass, Percentile, Rw, Workload};
use serde::Serialize;

use super::asked;
use super::knee::{FoundKnee, Knee, LoadSeen, RateVerdict};
use crate::data::ExperimentData;
use crate::plan::PlanRequest;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Requests at one rate, whether or not earlier ones are done.
    pub load: Vec<LoadRow>,
}

/// Requests at one rate, whether or not earlier ones are done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LoadRow {
    /// Reads or writes; reads if writes go beside them.
    pub rw: Rw,
    /// Block size.
    pub bs_bytes: u64,
    /// Share of writes beside the reads, in percent; 0 if all requests are of one kind.
    pub write_percent: u8,
    /// Requests a second that were asked for.
    pub asked_iops: u64,
    /// Requests a second that were done, the mean over runs.
    pub iops: f64,
    /// The percentile of the question in nanoseconds, over runs; of the reads alone if writes go beside them.
    pub latency_ns: Interval,
    /// Median latency of all runs together, likewise.
    pub latency_ns_p50: u64,
    /// Their 99th percentile.
    pub latency_ns_p99: u64,
    /// Their 99.9th percentile.
    pub latency_ns_p999: u64,
    /// Whether most runs kept up with the rate.
    pub keeps_up: bool,
    /// Where the percentile lies.
    pub verdict: RateVerdict,
    /// Runs behind it.
    pub runs: usize,
}

/// The most load under a latency.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LoadAnswer {
    /// The bound.
    pub bound: LatencyBound,
    /// What was found for each kind and size of requests that was asked for.
    pub found: Vec<MostLoad>,
}

/// The most load of one kind and size of requests.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MostLoad {
    /// Reads or writes.
    pub rw: Rw,
    /// Block size.
    pub bs_bytes: u64,
    /// Whether there is such a rate.
    pub verdict: LoadVerdict,
    /// Why that is not known; `null` if it is.
    pub unknown: Option<LoadUnknown>,
    /// The highest rate below the bound, in requests a second; `null` if there is none. The ends are rates that are
    /// surely below the bound, and surely above it.
    pub iops: Option<Interval>,
    /// Whether repeated runs decided on both ends.
    pub decided: bool,
    /// Requests a second that the target takes at full depth in a closed loop, the mean over the time of all runs; 0 without
    /// one.
    pub takes_iops: f64,
    /// The percentile where it tells most: at half of the highest rate, at the lowest rate that was tried if no rate is
    /// below the bound, at the highest one if none is above it; `null` if no run has such a rate.
    pub at: Option<LoadPoint>,
    /// The percentile of the reads at half of the highest rate, by the share of writes beside them.
    pub beside_writes: Vec<BesideWrites>,
    /// Whether the target began faster than it went on while it was asked for all that it gives: a credit was spent or a
    /// cache was full.
    pub began_faster: bool,
}

/// Whether there is a highest rate below the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadVerdict {
    /// There is.
    Knee,
    /// No rate is below it.
    NeverBelow,
    /// All rates that the target takes are.
    NotLimited,
    /// The runs do not tell.
    Unknown,
}

/// Why the most load is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadUnknown {
    /// The time ended before its first run.
    NotRun,
    /// Requests failed.
    Failed,
    /// A run was faster than the path is known to let through: a cache or a credit answered.
    AboveKnown,
    /// The runs do not tell.
    Undecided,
}

/// The percentile at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LoadPoint {
    /// Requests a second.
    pub iops: u64,
    /// The percentile in nanoseconds.
    pub latency_ns: Interval,
}

/// Reads with writes beside them, at the same rate of all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BesideWrites {
    /// Share of writes, in percent.
    pub write_percent: u8,
    /// Requests a second, reads and writes together.
    pub iops: u64,
    /// The percentile of the reads in nanoseconds.
    pub latency_ns: Interval,
    /// Whether most runs kept up with the rate.
    pub keeps_up: bool,
}

/// Share of what the target takes from which the bound does not limit it.
const ALL: f64 = 0.95;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, LoadAnswer) {
    // Only records without their question lack the bound.
    let unknown = LatencyBound { percentile: Percentile::P99, most: Nanos(0) };
    let bound = data.question.latency_bound.unwrap_or(unknown);
    let mut kinds: BTreeMap<(Rw, Bytes), Kind> = BTreeMap::new();
    for cell in data.sound() {
        kinds.entry(kind_of(&cell.workload)).or_insert_with(|| Kind::new(bound)).add(cell, bound);
    }
    // The time may have ended before the first run of what was asked for.
    let planned = asked::plan(&PlanRequest { question: data.question, environment: data.environment });
    for cell in planned.map_or_else(|_| Vec::new(), |plan| plan.cells) {
        kinds.entry(kind_of(&cell.workload)).or_insert_with(|| Kind::new(bound));
    }
    kinds.values_mut().for_each(Kind::judge);
    let found = kinds.iter().map(|(of, kind)| kind.most_load(*of, why_unknown(data, *of))).collect();
    (Rows { load: kinds.into_values().flat_map(|kind| kind.rows).collect() }, LoadAnswer { bound, found })
}

/// The search that a run belongs to: reads with writes beside them belong to the reads.
fn kind_of(workload: &Workload) -> (Rw, Bytes) {
    let rw = if workload.rw.direction().is_none() { Rw::Randread } else { workload.rw };
    (rw, workload.bs)
}

/// Why the most load of this kind and size is not known, if it is not.
fn why_unknown(data: &ExperimentData, of: (Rw, Bytes)) -> LoadUnknown {
    let cells: Vec<&ExperimentCell> = data.cells.iter().filter(|cell| kind_of(&cell.workload) == of).collect();
    if cells.is_empty() {
        LoadUnknown::NotRun
    } else if cells.iter().any(|cell| cell.finding.errors > 0) {
        LoadUnknown::Failed
    } else if cells.iter().any(|cell| cell.finding.cached) {
        LoadUnknown::AboveKnown
    } else {
        LoadUnknown::Undecided
    }
}

/// All that was seen of one kind and size of requests.
struct Kind {
    knee: Knee,
    rows: Vec<LoadRow>,
    began_faster: bool,
}

impl Kind {
    fn new(bound: LatencyBound) -> Self {
        Self { knee: Knee::new(bound), rows: Vec::new(), began_faster: false }
    }

    /// Adds the runs of one rate, or those that were asked for all that the target gives.
    fn add(&mut self, cell: &ExperimentCell, bound: LatencyBound) {
        let runs: Vec<&Record> =
            cell.records.iter().copied().filter(|run| run.run.pass == Pass::Plain && run.ios > 0).collect();
        let is_mixed = cell.workload.rw.direction().is_none();
        let Some(arrival) = cell.workload.rate else {
            runs.iter().for_each(|run| self.knee.add_closed(run));
            self.began_faster |= cell.finding.burst_mbps.is_some();
            return;
        };
        if runs.is_empty() {
            return;
        }
        let seen: Vec<LoadSeen> = runs.iter().map(|run| LoadSeen::of(run, bound.percentile)).collect();
        let mut of_rate = Knee::new(bound);
        let searched = if is_mixed { &mut of_rate } else { &mut self.knee };
        for seen in &seen {
            searched.add(arrival.iops, *seen);
        }
        let latencies: Vec<f64> = seen.iter().map(|seen| seen.latency_ns as f64).collect();
        let mut all = Latency::default();
        runs.iter().for_each(|run| all.merge(latency(run)));
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| all.quantile_ns(share));
        let (rw, bs) = kind_of(&cell.workload);
        self.rows.push(LoadRow {
            rw,
            bs_bytes: bs.0,
            write_percent: if is_mixed { 100 - cell.workload.rwmixread.min(100) } else { 0 },
            asked_iops: arrival.iops,
            iops: runs.iter().map(|run| run.iops()).sum::<f64>() / runs.len() as f64,
            latency_ns: Interval::of_means(&latencies),
            latency_ns_p50: p50,
            latency_ns_p99: p99,
            latency_ns_p999: p999,
            keeps_up: seen.iter().filter(|seen| seen.keeps_up).count() * 2 > seen.len(),
            // Told once all rates are known.
            verdict: if is_mixed { of_rate.verdict(arrival.iops) } else { RateVerdict::Undecided },
            runs: runs.len(),
        });
    }

    /// Tells where each rate lies, once all are known.
    fn judge(&mut self) {
        for row in self.rows.iter_mut().filter(|row| row.write_percent == 0) {
            row.verdict = self.knee.verdict(row.asked_iops);
        }
        self.rows.order_by_key(|row| (row.write_percent, row.asked_iops));
    }

    fn most_load(&self, (rw, bs): (Rw, Bytes), why_unknown: LoadUnknown) -> MostLoad {
        let plain = || self.rows.iter().filter(|row| row.write_percent == 0);
        let point_at = |iops: u64| plain().find(|row| row.asked_iops == iops).map(point);
        let highest = |most: f64| plain().rfind(|row| row.asked_iops as f64 <= most).map(point);
        let knee = self.knee.found();
        let takes_iops = self.knee.takes_iops().unwrap_or(0.0);
        let half = self.knee.half();
        let least = self.knee.rates().next();
        let (verdict, at) = match (knee, least.map(|least| self.knee.verdict(least))) {
            (Some(FoundKnee { iops, .. }), _) if iops.value >= ALL * takes_iops => {
                (LoadVerdict::NotLimited, highest(iops.value))
            }
            (Some(_), _) => (LoadVerdict::Knee, half.and_then(point_at)),
            (None, Some(RateVerdict::Above)) => (LoadVerdict::NeverBelow, least.and_then(point_at)),
            (None, _) if self.is_below_everywhere() => (LoadVerdict::NotLimited, highest(f64::INFINITY)),
            (None, _) => (LoadVerdict::Unknown, None),
        };
        let of_half = self.rows.iter().filter(|row| verdict == LoadVerdict::Knee && Some(row.asked_iops) == half);
        let mut beside_writes: Vec<BesideWrites> = of_half.map(beside).collect();
        if beside_writes.iter().all(|beside| beside.write_percent == 0) {
            beside_writes.clear();
        }
        MostLoad {
            rw,
            bs_bytes: bs.0,
            verdict,
            unknown: (verdict == LoadVerdict::Unknown).then_some(why_unknown),
            iops: knee.map(|knee| knee.iops),
            decided: knee.is_some_and(|knee| knee.decided),
            takes_iops,
            at,
            beside_writes,
            began_faster: self.began_faster,
        }
    }

    /// Whether the highest rate that was tried is surely below the bound.
    fn is_below_everywhere(&self) -> bool {
        self.knee.rates().last().is_some_and(|highest| self.knee.verdict(highest) == RateVerdict::Below)
    }
}

fn point(row: &LoadRow) -> LoadPoint {
    LoadPoint { iops: row.asked_iops, latency_ns: row.latency_ns }
}

fn beside(row: &LoadRow) -> BesideWrites {
    let LoadRow { write_percent, asked_iops, latency_ns, keeps_up, .. } = *row;
    BesideWrites { write_percent, iops: asked_iops, latency_ns, keeps_up }
}

/// The latencies of a run that the percentile is of.
fn latency(run: &Record) -> &Latency {
    let of_reads = run.by_direction.as_ref().filter(|_| run.run.workload.rw.direction().is_none());
    of_reads.map_or(&run.latency, |both| &both.read_latency)
}

#[cfg(test)]
mod tests {
    use halfpower_record::Environment;
    use halfpower_spec::{Experiment, Question};

    use super::*;
    use crate::built::{disk, record_at};
    use crate::built_study::folder_without;
    use crate::study_findings::analyse;
    use crate::table::ExperimentAnswer;

    /// Two sizes were asked for, and one run was made, in which so many requests failed.
    fn unknown(failed: u64) -> Vec<(u64, Option<LoadUnknown>)> {
        let question = Question {
            experiments: vec![Experiment::Load],
            bs: vec![Bytes(4 << 10), Bytes(64 << 10)],
            latency_bound: Some(LatencyBound { percentile: Percentile::P99, most: Nanos(1_000_000) }),
            ..Question::about("d")
        };
        let capabilities = folder_without(Some(Bytes(512)), &[], "");
        let environment = Environment { capabilities, ..Environment::default() };
        let ask = PlanRequest { question: &question, environment: &environment };
        let first = asked::plan(&ask).unwrap().cells[0].workload;
        let mut record = record_at(&disk(""), first, 0, Pass::Plain, 200e6);
        record.run.experiment = Some(Experiment::Load);
        if failed > 0 {
            record.errors.insert("EIO".to_string(), failed);
        }
        let study = analyse(&question, &environment, &[record]);
        let Some(ExperimentAnswer::Load(answer)) = &study.experiments[0].found else { panic!("it ran") };
        assert!(answer.found.iter().all(|most| most.verdict == LoadVerdict::Unknown), "{answer:?}");
        answer.found.iter().map(|most| (most.bs_bytes, most.unknown)).collect()
    }

    #[test]
    fn what_was_asked_for_and_is_not_known_is_listed_with_the_reason() {
        let of_second = (64 << 10, Some(LoadUnknown::NotRun));
        assert_eq!(unknown(0), [(4 << 10, Some(LoadUnknown::Undecided)), of_second]);
        assert_eq!(unknown(3), [(4 << 10, Some(LoadUnknown::Failed)), of_second]);
    }
}
