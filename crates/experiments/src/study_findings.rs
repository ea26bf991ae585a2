//! Puts the findings of a study together: the experiments' sections and rows beside what the walks say.

use std::ops::Deref;

use halfpower_analyse::{FaultFinding, Findings, MeasuredCeilings, StudyState, experiment_cells, faults, levels};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Experiment, Question};

use crate::data::ExperimentData;
use crate::engines::{self, answer::IssuingChange};
use crate::measured::measured_ceilings;
use crate::section::{ExperimentSection, sections};
use crate::table::ExperimentRows;

/// Everything that is found in one study.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyFindings {
    /// What the walks of block size and depth say.
    pub findings: Findings,
    /// Whether the question asks for walks of block size and depth.
    pub walked: bool,
    /// The experiments beside the walks, a section each.
    pub experiments: Vec<ExperimentSection>,
    /// Their figures, a list each.
    pub rows: ExperimentRows,
    /// What each part of issuing brings and costs, from the cells of `engines`: those that it plans, or in a study of the
    /// walks alone, those that decide.
    pub issuing: Vec<IssuingChange>,
    /// What went wrong, in all experiments.
    pub faults: Vec<FaultFinding>,
    /// The ceilings that they measured, as the findings took them in.
    pub measured: MeasuredCeilings,
}

impl StudyFindings {
    /// The same findings of a study that was cut short after this share of its budget, in 0 to 1.
    pub fn cut_short(mut self, share: f64) -> Self {
        self.findings.summary.state = StudyState::Unfinished { share };
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
        let (experiments, rows, measured) = (Vec::new(), ExperimentRows::default(), MeasuredCeilings::default());
        Self { findings, walked: true, experiments, rows, issuing: Vec::new(), faults: Vec::new(), measured }
    }
}

/// Everything that `records`, taken in `environment` to answer `question`, have to say: first each experiment, then the
/// whole path with the ceilings that the experiments measured.
pub fn analyse(question: &Question, environment: &Environment, records: &[Record]) -> StudyFindings {
    let (experiments, rows) = sections(question, environment, records);
    let measured = measured_ceilings(&rows);
    let findings = halfpower_analyse::analyse(question, environment, records, &measured);
    let walked = question.patterns().next().is_some();
    let cells = experiment_cells(&levels(question, environment), Experiment::Engines, records);
    let issuing = engines::issuing::changes(&ExperimentData { question, environment, cells });
    StudyFindings { findings, walked, experiments, rows, issuing, faults: faults(records), measured }
}
