//! Builds the report's section on an experiment: question, answer, pictures, and what the papers saw.

use halfpower_analyse::{experiment_cells, levels};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Experiment, Question};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::Picture;
use crate::table::{ExperimentAnswer, ExperimentRows, Found, found, texts};
use crate::words::{above_known, notes};

/// One experiment as the report shows it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExperimentSection {
    /// Name of the experiment.
    pub experiment: Experiment,
    /// The question that the experiment answers, in one line.
    pub asks: String,
    /// Whether any of its cells was measured.
    pub ran: bool,
    /// The answer as numbers and codes; `null` if the experiment was not run.
    pub found: Option<ExperimentAnswer>,
    /// The answer in sentences; empty if the experiment was not run.
    pub answer: String,
    /// The answer in short; `null` if `answer` is short itself, or the experiment was not run.
    pub short: Option<ShortAnswer>,
    /// The sentences of `answer`, if there is a short form of it.
    #[serde(skip)]
    pub details: Vec<String>,
    /// The data behind the answer.
    pub pictures: Vec<Picture>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
    /// What the studies of 1998 and 2000 saw.
    pub papers: String,
}

impl ExperimentSection {
    /// The answer in short: figure and sentence, or all of it if it is short.
    pub fn brief(&self) -> String {
        match &self.short {
            Some(ShortAnswer { figure, sentence }) => format!("{figure}. {sentence}"),
            None => self.answer.clone(),
        }
    }
}

/// Builds a section for each requested experiment except the walks, and the rows of all of them.
pub fn sections(
    question: &Question,
    environment: &Environment,
    records: &[Record],
) -> (Vec<ExperimentSection>, ExperimentRows) {
    let mut rows = ExperimentRows::default();
    let mut sections = Vec::new();
    let levels = levels(question, environment);
    for experiment in question.experiments.iter().copied() {
        let Some((asks, papers)) = texts(experiment) else { continue };
        let cells = experiment_cells(&levels, experiment, records);
        let data = ExperimentData { question, environment, cells };
        let found = if data.cells.is_empty() { None } else { found(experiment, &data, &mut rows) };
        let mut notes = notes(environment.left_out.iter().filter(|left| left.experiment == experiment));
        notes.extend(above_known(&data));
        if found.is_none() && notes.is_empty() {
            notes.push("The time ended before it: give the study a larger budget.".to_string());
        }
        let mut section = ExperimentSection {
            experiment,
            asks: asks.to_string(),
            ran: found.is_some(),
            found: None,
            answer: String::new(),
            short: None,
            details: Vec::new(),
            pictures: Vec::new(),
            notes,
            papers: papers.to_string(),
        };
        if let Some(Found { found, told: Told { short, sentences }, pictures }) = found {
            section.answer = sentences.join(" ");
            section.details = if short.is_some() { sentences } else { Vec::new() };
            (section.found, section.short, section.pictures) = (Some(found), short, pictures);
        }
        sections.push(section);
    }
    (sections, rows)
}
