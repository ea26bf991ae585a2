//! Groups the records of an experiment into its cells.

use std::collections::BTreeMap;

use halfpower_record::Record;
use halfpower_spec::{EngineName, Experiment, Pass, Workload};

use crate::CellFinding;
use crate::cells::{cell_of, counts};
use crate::paced::{keep_whole_waves, paced};

/// All runs of one workload of an experiment.
pub struct ExperimentCell<'a> {
    /// What was asked for.
    pub workload: Workload,
    /// What its runs say together.
    pub finding: CellFinding,
    /// The runs, by pass and repeat.
    pub records: Vec<&'a Record>,
}

impl ExperimentCell<'_> {
    /// Its plain runs that moved anything: the round and the logarithm of the rate of each.
    pub fn log_rates_by_round(&self) -> Vec<(u32, f64)> {
        let counted = self.records.iter().filter(|record| record.run.pass == Pass::Plain && counts(record));
        counted.zip(&self.finding.run_mbps).map(|(record, mbps)| (record.run.repeat, mbps.ln())).collect()
    }
}

/// The cells of one experiment, by workload and engine.
pub fn experiment_cells(experiment: Experiment, records: &[Record]) -> Vec<ExperimentCell<'_>> {
    let mut groups: BTreeMap<(Workload, EngineName), Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.run.experiment == Some(experiment)) {
        groups.entry((record.run.workload, record.engine)).or_default().push(record);
    }
    let limits = paced(records.iter().filter(|record| record.run.experiment == Some(experiment)));
    let mut cells = Vec::new();
    for ((workload, engine), mut records) in groups {
        keep_whole_waves(&limits, &mut records);
        records.sort_by_key(|record| (record.run.pass, record.run.repeat));
        if let Some(finding) = cell_of(&workload, engine, &records) {
            cells.push(ExperimentCell { workload, finding, records });
        }
    }
    cells
}
