//! Groups the records of an experiment into its cells.

use std::collections::BTreeMap;

use halfpower_record::{Record, Unknown};
use halfpower_spec::{Direction, EngineName, Experiment, Hosts, InOrder, Pass, Way, Workload};

use crate::cells::{cell_of, counts};
use crate::ladder::{known_limit, medium};
use crate::waves::{keep_whole_waves, paced, paced_cell};
use crate::{CellFinding, LevelKind, PathLevel};

/// Ratio to a known limit above which an experiment's cell is marked. Windows of experiments last nine slices of a
/// limit and may catch one slice too many.
const ABOVE_LIMIT: f64 = 1.0 + 1.0 / 9.0;

/// All runs of one workload of an experiment.
pub struct ExperimentCell<'a> {
    /// What was asked for.
    pub workload: Workload,
    /// Findings of its runs together.
    pub finding: CellFinding,
    /// The runs, by pass and repeat.
    pub records: Vec<&'a Record>,
    /// The known limit of the path in MB/s; `None` if nothing is known, or if the experiment intentionally exceeds the
    /// path. A finding above it is `cached`: the rate is not the path's.
    pub known_mbps: Option<f64>,
}

impl ExperimentCell<'_> {
    /// Round and logarithm of the rate of each plain run that moved anything.
    pub fn log_rates_by_round(&self) -> Vec<(u32, f64)> {
        let counted = self.records.iter().filter(|record| record.run.pass == Pass::Plain && counts(record));
        counted.zip(&self.finding.run_mbps).map(|(record, mbps)| (record.run.repeat, mbps.ln())).collect()
    }
}

/// The known limit in MB/s of a path of these levels, for a workload of an experiment.
///
/// Some experiments exceed the path by design: `memory` uses no path, `buffered` measures the page cache, `burst` what
/// is faster than the medium, `credit` the credit of a limit, whose sustained rate it finds itself, `sustain` what takes
/// writes before the medium does, and `files` moves few bytes of the files that it counts.
pub fn experiment_limit(levels: &[PathLevel], experiment: Experiment, workload: &Workload) -> Option<f64> {
    let medium = medium(levels, Direction::Read);
    let is_medium = |level: &PathLevel| level.id == medium || level.id.kind == LevelKind::DataSheet;
    let levels: Vec<PathLevel> = match experiment {
        Experiment::Memory | Experiment::Credit | Experiment::Sustain | Experiment::Files => return None,
        // The levels describe the whole path, and a device beneath the target is reached by less of it.
        Experiment::Layers if workload.options.layer > 0 => return None,
        // The levels describe this machine's path, but the run was made at the far end.
        _ if workload.options.way != Way::Wire => return None,
        Experiment::Buffered if !workload.cache.direct() => return None,
        Experiment::Burst => levels.iter().filter(|level| !is_medium(level)).cloned().collect(),
        _ => levels.to_vec(),
    };
    let members = workload.options.hosts.map_or(0..workload.options.members, Hosts::ranks);
    let limit = |rw| known_limit(&levels, rw, workload.bs.0, &members);
    match workload.rw.direction() {
        Some(rw) => limit(rw),
        // A mixed workload can use the limits of both directions at once.
        None => Some(limit(Direction::Read)? + limit(Direction::Write)?),
    }
}

/// The cells of one experiment on a path of these levels, by workload and engine.
pub fn experiment_cells<'a>(
    levels: &[PathLevel],
    experiment: Experiment,
    records: &'a [Record],
) -> Vec<ExperimentCell<'a>> {
    let mut groups: BTreeMap<(Workload, EngineName), Vec<&Record>> = BTreeMap::new();
    // A SQLIO trace names the experiment but not the settings that make its cells.
    let belongs = |record: &&Record| record.run.experiment == Some(experiment) && record.knows(Unknown::Settings);
    for record in records.iter().filter(belongs) {
        groups.entry((record.run.workload, record.engine)).or_default().push(record);
    }
    // What limits a direction limits all of the study; what the experiment's own runs show of it goes first.
    let mut limits = paced(records.iter().filter(|record| record.knows(Unknown::Settings)));
    limits.extend(paced(records.iter().filter(belongs)));
    let mut cells = Vec::new();
    for ((workload, engine), mut records) in groups {
        keep_whole_waves(&limits, &mut records);
        records.order_by_key(|record| (record.run.pass, record.run.repeat));
        if let Some(finding) = cell_of(&workload, engine, &records, paced_cell(&limits, &records)) {
            let known_mbps = experiment_limit(levels, experiment, &workload);
            let cached = known_mbps.is_some_and(|known| finding.mbps.value > ABOVE_LIMIT * known);
            cells.push(ExperimentCell { workload, finding: CellFinding { cached, ..finding }, records, known_mbps });
        }
    }
    cells
}
