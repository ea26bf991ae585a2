//! Sums up runs that belong to no cell: mixed reads and writes, and single runs with settings that no cell has.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{Latency, Record, Unknown};
use halfpower_spec::{Direction, EngineName, JsonSchema, Pass, Workload};
use serde::Serialize;

use crate::Interval;
use crate::cells::counts;

/// All runs of one load that belongs to no cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BesideRow {
    /// The load.
    pub workload: Workload,
    /// Another tool's settings that a workload cannot express, as written there.
    pub settings: Vec<String>,
    /// Settings of the workload that the other tool does not tell: what stands there means nothing.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unknown: BTreeSet<Unknown>,
    /// Runs that moved bytes.
    pub runs: usize,
    /// Throughput over run means in MB/s.
    pub mbps: Interval,
    /// Requests a second, the mean over runs.
    pub iops: f64,
    /// The reads and the writes among these, if both are known.
    pub iops_apart: Option<[f64; 2]>,
    /// Median latency in nanoseconds; `None` if not known.
    pub latency_ns_p50: Option<u64>,
    /// 99th percentile of latency in nanoseconds; `None` if not known.
    pub latency_ns_p99: Option<u64>,
}

/// What makes two runs the same load: the workload, its engine, what else another tool was asked for, and the number of a
/// record that is no repeat of another.
type Load<'a> = (Workload, EngineName, &'a [String], Option<usize>);

/// A row for each load, in the order of its settings.
pub fn beside(records: &[Record]) -> Vec<BesideRow> {
    let mut groups: BTreeMap<Load<'_>, Vec<&Record>> = BTreeMap::new();
    for (number, record) in records.iter().enumerate().filter(|(_, record)| stands_beside(record)) {
        let settings = record.origin.as_ref().map_or(&[][..], |origin| &origin.settings);
        let alone = (!record.may_repeat()).then_some(number);
        groups.entry((record.run.workload, record.engine, settings, alone)).or_default().push(record);
    }
    groups.into_iter().map(|((workload, _, settings, _), runs)| row(workload, settings, &runs)).collect()
}

/// Settings of a workload that other tools may not tell and that have no word of their own for it.
const SETTINGS: [Unknown; 3] = [Unknown::BlockSize, Unknown::Depth, Unknown::Cache];

/// Settings that only experiments vary are reported in the sections of those experiments.
fn stands_beside(record: &Record) -> bool {
    let both_ways = record.walks() && record.run.workload.rw.direction().is_none();
    let special = !record.walks() && (record.origin.is_some() || record.run.experiment.is_none());
    record.run.pass == Pass::Plain && counts(record) && (both_ways || special)
}

fn row(workload: Workload, settings: &[String], runs: &[&Record]) -> BesideRow {
    let mean = |of: &dyn Fn(&Record) -> f64| Interval::of_means(&runs.iter().map(|run| of(run)).collect::<Vec<_>>());
    let side = |direction| {
        let reported: Option<Vec<f64>> =
            runs.iter().map(|run| run.side(direction).filter(|_| run.knows_mix()).map(|side| side.iops())).collect();
        reported.map(|reported| Interval::of_means(&reported).value)
    };
    let mut latency = Latency::default();
    runs.iter().for_each(|run| latency.merge(&run.latency));
    let at = |quantile| runs.iter().all(|run| run.knows_latency_at(quantile)).then(|| latency.quantile_ns(quantile));
    BesideRow {
        workload,
        settings: settings.to_vec(),
        unknown: SETTINGS.into_iter().filter(|setting| !runs.iter().all(|run| run.knows(*setting))).collect(),
        runs: runs.len(),
        mbps: mean(&Record::mbps),
        iops: mean(&Record::iops).value,
        iops_apart: side(Direction::Read).zip(side(Direction::Write)).map(|(read, write)| [read, write]),
        latency_ns_p50: at(0.5),
        latency_ns_p99: at(0.99),
    }
}
