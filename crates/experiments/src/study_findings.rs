//! Assembles the findings of a study: the experiments' sections and rows, and the findings of the walks.

use std::ops::Deref;

use halfpower_analyse::{
    FaultFinding, Findings, MeasuredCeilings, SharedCeiling, StudyState, experiment_cells, faults, first_session,
    levels,
};
use halfpower_record::{Diagnosis, Environment, Record};
use halfpower_spec::{Direction, Experiment, LatencyBound, Question};

use crate::data::ExperimentData;
use crate::engines::issuing::{IssuingChange, advise_memory, changes};
use crate::section::{ExperimentSection, sections};
use crate::table::ExperimentRows;
use crate::{burst, credit, hosts, memory, scaling};

/// All findings of one study.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyFindings {
    /// The findings of the walks of block size and depth.
    pub findings: Findings,
    /// Whether the question asks for walks of block size and depth.
    pub walked: bool,
    /// One section for each experiment except the walks.
    pub experiments: Vec<ExperimentSection>,
    /// The rows of the experiments.
    pub rows: ExperimentRows,
    /// Effect and cost of each part of issuing. The cells are those that `engines` plans, or in a study with walks
    /// only, those that decide.
    pub issuing: Vec<IssuingChange>,
    /// Faults in all experiments.
    pub faults: Vec<FaultFinding>,
    /// The ceilings that the experiments measured, as used by `findings`.
    pub measured: MeasuredCeilings,
    /// The bound on latency under which the most load was asked for.
    pub latency_bound: Option<LatencyBound>,
}

impl StudyFindings {
    /// The same findings, marked as a study that was cut short after this share of its budget (0 to 1). A study of which
    /// nothing can run was not cut short.
    pub fn cut_short(mut self, share: f64) -> Self {
        if self.findings.summary.state != StudyState::NotRun {
            self.findings.summary.state = StudyState::Unfinished { share };
        }
        self
    }

    /// The same findings, with what the checks of settings found after the last run.
    pub fn checked_again(mut self, after: &[Diagnosis]) -> Self {
        if let Some(checks) = &mut self.findings.checks {
            checks.look_again(after);
        }
        self
    }
}

impl Deref for StudyFindings {
    type Target = Findings;

    fn deref(&self) -> &Findings {
        &self.findings
    }
}

impl From<Findings> for StudyFindings {
    /// The findings of a study without experiments.
    fn from(findings: Findings) -> Self {
        let experiments = Vec::new();
        let rows = ExperimentRows::default();
        let measured = MeasuredCeilings::default();
        let issuing = Vec::new();
        let faults = Vec::new();
        Self { findings, walked: true, experiments, rows, issuing, faults, measured, latency_bound: None }
    }
}

/// Analyses `records`, which were measured in `environment` to answer `question`: first each experiment, then the whole
/// path with the ceilings that the experiments measured. Further sessions measure cells of the walks alone.
pub fn analyse(question: &Question, environment: &Environment, records: &[Record]) -> StudyFindings {
    let first = first_session(records);
    let (experiments, rows) = sections(question, environment, &first);
    let measured = measured_ceilings(&rows);
    let mut findings = halfpower_analyse::analyse(question, environment, records, &measured);
    let walked = question.patterns().next().is_some();
    let is_left_out = |section: &ExperimentSection| {
        !section.ran && environment.left_out.iter().any(|left| left.experiment == section.experiment)
    };
    if !walked && findings.runs == 0 && !experiments.is_empty() && experiments.iter().all(is_left_out) {
        findings.summary.state = StudyState::NotRun;
    }
    let cells = experiment_cells(&levels(question, environment), Experiment::Engines, &first);
    let issuing = changes(&ExperimentData { question, environment, cells });
    advise_memory(&mut findings.summary.what_to_set, &findings.advice, &issuing);
    let latency_bound = question.latency_bound;
    StudyFindings { findings, walked, experiments, rows, issuing, faults: faults(records), measured, latency_bound }
}

/// The path's ceilings that the experiments measured.
fn measured_ceilings(rows: &ExperimentRows) -> MeasuredCeilings {
    let shared = |rw: &Direction| -> Option<SharedCeiling> {
        let of_hosts = || hosts::shared_ceiling(&rows.hosts.hosts, *rw);
        scaling::shared_ceiling(&rows.scaling.scaling, *rw).or_else(of_hosts)
    };
    MeasuredCeilings {
        memory: memory::measured_copy(&rows.memory.memory),
        link: burst::measured_link(&rows.burst.burst),
        shared: Direction::ALL.iter().filter_map(shared).collect(),
        sustained: credit::sustained(&rows.credit.credit),
    }
}
