//! Builds the report's section on an experiment: question, answer, pictures, and what the papers saw.

use halfpower_analyse::{experiment_cells, levels};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Experiment, JsonSchema, Question};
use serde::Serialize;

use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::Picture;
use crate::table::{ExperimentAnswer, ExperimentRows, Found, found, texts};
use crate::words::{above_known, notes};

/// What is noted of an experiment that had no run.
pub const NOT_RUN_YET: &str = "The time ended before it: give the study a larger budget.";

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
    /// The answer in short; `null` if the experiment was not run.
    pub short: Option<ShortAnswer>,
    /// The sentences of `answer`; empty if the short form says all of it.
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
    /// The answer in short: figure and sentence; all of it where there is no short form.
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
            notes.push(NOT_RUN_YET.to_string());
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
            let is_all = sentences == [short.sentence.as_str()];
            section.details = if is_all { Vec::new() } else { sentences };
            (section.found, section.short, section.pictures) = (Some(found), Some(short), pictures);
        }
        sections.push(section);
    }
    (sections, rows)
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, HostPlace, LatencyCounter, LayerPlace, Machine, StripePlace, TargetKind};
    use halfpower_spec::{Application, Bytes, LatencyBound, Nanos, Percentile, Region};

    use super::*;
    use crate::answer::NOT_KNOWN;
    use crate::built::{disk, record_at};
    use crate::built_study::lines;
    use crate::plan::PlanRequest;
    use crate::study_findings::analyse;
    use crate::table::plan;
    use crate::words::NOT_DECIDED;

    /// A question of one experiment, and a machine where it can run.
    fn asked(experiment: Experiment) -> (Question, Environment) {
        let question = Question {
            experiments: vec![experiment],
            price: Some(209.0),
            sustain_bytes: Some(Bytes(20 << 30)),
            application: Application::built_in("postgres"),
            latency_bound: Some(LatencyBound { percentile: Percentile::P99, most: Nanos(1_000_000) }),
            ..Question::about("d")
        };
        let has_members = matches!(experiment, Experiment::Scaling | Experiment::Mirror);
        let part = Some(Region { from: Bytes(0), bytes: Bytes(1 << 30) });
        let stripe = StripePlace { chunk: Bytes(64 << 10), full: Bytes(192 << 10), part, ..StripePlace::default() };
        let capabilities = Capabilities {
            kind: if experiment == Experiment::Network { TargetKind::Share } else { TargetKind::Folder },
            span: Bytes(1 << 30),
            members: if has_members { 4 } else { 1 },
            direct_unit: Some(Bytes(512)),
            layers: vec![LayerPlace { name: "vda".to_string(), side_by_side: 1, ..LayerPlace::default() }],
            stripe: Some(stripe),
            ..Capabilities::default()
        };
        let machine = Machine { cpus: 4, ..Machine::default() };
        let hosts = if experiment == Experiment::Hosts { 4 } else { 0 };
        let hosts = (0..hosts).map(|rank| HostPlace { rank, ..HostPlace::default() }).collect();
        (question, Environment { machine, capabilities, hosts, ..Environment::default() })
    }

    /// The experiment from three runs of each planned cell; `factor` gives the speed of a run by its cell and repeat.
    fn studied(experiment: Experiment, factor: fn(usize, u32) -> f64) -> ExperimentSection {
        let (question, environment) = asked(experiment);
        let request = PlanRequest { question: &question, environment: &environment };
        let cells = plan(experiment, &request).unwrap_or_else(|why| panic!("{}: {why}", experiment.word()));
        let mut records: Vec<Record> = Vec::new();
        for (place, cell) in cells.iter().enumerate() {
            for (pass, repeat) in cell.passes.iter().flat_map(|pass| (0..3).map(move |repeat| (*pass, repeat))) {
                let rate = 200e6 * factor(place, repeat);
                let mut record = record_at(&disk(""), cell.workload, repeat, pass, rate);
                record.run.experiment = Some(experiment);
                if cell.workload.options.fdatasync > 0 {
                    let mut times = LatencyCounter::default();
                    times.add(1_000_000, record.ios);
                    (record.commits, record.syncs) = (times.latency(), times.latency());
                }
                records.push(record);
            }
        }
        analyse(&question, &environment, &records).experiments.remove(0)
    }

    /// All experiments that have a section.
    fn all() -> impl Iterator<Item = Experiment> {
        Experiment::ALL.iter().copied().filter(|experiment| texts(*experiment).is_some())
    }

    #[test]
    fn each_experiment_answers_with_a_figure_and_within_three_lines() {
        for experiment in all() {
            let section = studied(experiment, |place, repeat| 1.0 + 0.01 * f64::from((place as u32 + repeat) % 3));
            let short = section.short.as_ref().unwrap_or_else(|| panic!("{} has no short answer", experiment.word()));
            println!("{}: {}", experiment.word(), section.brief());
            // These runs were not traced, and nothing else tells where the time of a request goes.
            let is_known = experiment != Experiment::Anatomy;
            assert_eq!(short.figure != NOT_KNOWN, is_known, "{}: {}", experiment.word(), section.brief());
            assert!(!short.figure.is_empty() && short.sentence.ends_with('.'), "{}", section.brief());
            assert!(lines(&section) <= 3, "{}: {}", experiment.word(), section.brief());
            let told = section.details.join(" ");
            assert!(told.is_empty() || told == section.answer, "nothing is lost: {told}");
        }
    }

    /// Runs of each cell differ by a factor of 150, and all rounds are alike.
    #[test]
    fn a_figure_of_any_kind_is_not_decided_if_its_interval_spans_a_factor_of_four() {
        let differ = |place: usize, repeat: u32| {
            let run = [1.0, 12.0, 0.08][(place + repeat as usize) % 3];
            run * (1 + place % 5) as f64
        };
        // Zones averages its many places, credit takes the faster runs for a credit: their words have tests of their own.
        let others = [Experiment::Anatomy, Experiment::Zones, Experiment::Credit];
        for experiment in all().filter(|experiment| !others.contains(experiment)) {
            let section = studied(experiment, differ);
            let short = section.short.as_ref().unwrap();
            assert!(short.figure.starts_with(NOT_DECIDED), "{}: {}", experiment.word(), section.brief());
            assert!(lines(&section) <= 3, "{}: {}", experiment.word(), section.brief());
            // Their sentences tell the same figure as the short form.
            let same = [Experiment::Memory, Experiment::Network, Experiment::Commits, Experiment::Files];
            let is_told = section.answer.contains(NOT_DECIDED) || !same.contains(&experiment);
            assert!(is_told, "{}: {}", experiment.word(), section.answer);
        }
    }
}
