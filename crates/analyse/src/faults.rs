//! Finds what went wrong in a study: failed requests, short transfers and wrong data, in every experiment.

use std::collections::BTreeMap;

use halfpower_record::{Record, is_wrong_data};
use halfpower_spec::{Experiment, InOrder, JsonSchema};
use serde::Serialize;

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// A read returned unexpected bytes.
    WrongData,
    /// A request failed.
    Failed,
    /// A request moved fewer bytes than asked.
    Short,
}

/// One kind of fault in one experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FaultFinding {
    /// What kind it is.
    pub kind: FaultKind,
    /// The name of the error, such as `EIO`; `short` for short transfers.
    pub error: String,
    /// The experiment; `null` for runs that belong to none.
    pub experiment: Option<Experiment>,
    /// Affected requests.
    pub requests: u64,
    /// Affected runs.
    pub runs: usize,
    /// Runs of the experiment.
    pub of_runs: usize,
    /// The first affected workload.
    pub workload: String,
}

/// All faults in `records`: wrong data first, then by the number of requests.
pub fn faults(records: &[Record]) -> Vec<FaultFinding> {
    let mut found: BTreeMap<(Option<&str>, FaultKind, &str), FaultFinding> = BTreeMap::new();
    let of =
        |experiment: Option<Experiment>| records.iter().filter(|record| record.run.experiment == experiment).count();
    for record in records {
        let experiment = record.run.experiment;
        let errors = record.all_errors().into_iter().map(|(name, requests)| {
            (if is_wrong_data(name) { FaultKind::WrongData } else { FaultKind::Failed }, name, requests)
        });
        let short = Some(record.all_short_transfers()).filter(|requests| *requests > 0);
        for (kind, name, requests) in errors.chain(short.map(|requests| (FaultKind::Short, "short", requests))) {
            let key = (experiment.map(Experiment::word), kind, name);
            let fault = found.entry(key).or_insert_with(|| FaultFinding {
                kind,
                error: name.to_string(),
                experiment,
                requests: 0,
                runs: 0,
                of_runs: of(experiment),
                workload: record.run.workload.to_string(),
            });
            fault.requests = fault.requests.saturating_add(requests);
            fault.runs += 1;
        }
    }
    let mut faults: Vec<FaultFinding> = found.into_values().collect();
    faults.order_by_key(|fault| (fault.kind, std::cmp::Reverse(fault.requests)));
    faults
}
