//! Lists the experiments, and asks each for its plan or its analysis.

use halfpower_analyse::experiment_cells;
use halfpower_record::{Environment, LeftOut, Record};
use halfpower_spec::{Direction, Experiment, Question};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::definition::Definition;
use crate::plan::{PlanRequest, PlannedCell};
use crate::section::{ExperimentSection, Told, notes};

/// Makes of a table of experiments what differs from one to the next.
macro_rules! experiments {
    ($($name:ident in $folder:ident),+ $(,)?) => {
        /// The figures of all experiments: lists of rows, each list a key of the findings, empty where it was not run.
        #[derive(Debug, Clone, PartialEq, Default, Serialize)]
        pub struct ExperimentRows {
            $(
                #[doc = concat!("Those of `", stringify!($folder), "`.")]
                #[serde(flatten)]
                pub $folder: crate::$folder::Rows,
            )+
        }

        fn question_of(experiment: Experiment) -> &'static str {
            match experiment { $(Experiment::$name => crate::$folder::$name::QUESTION),+ }
        }

        fn papers_of(experiment: Experiment) -> &'static str {
            match experiment { $(Experiment::$name => crate::$folder::$name::PAPERS),+ }
        }

        fn plan_of(experiment: Experiment, request: &PlanRequest) -> Result<Vec<PlannedCell>, String> {
            match experiment { $(Experiment::$name => crate::$folder::$name::plan(request)),+ }
        }

        fn missing_of(experiment: Experiment, request: &PlanRequest) -> Vec<String> {
            match experiment { $(Experiment::$name => crate::$folder::$name::missing(request)),+ }
        }

        fn tell(experiment: Experiment, data: &ExperimentData, rows: &mut ExperimentRows) -> Told {
            match experiment { $(Experiment::$name => crate::$folder::$name::tell(data, &mut rows.$folder)),+ }
        }
    };
}

experiments! {
    Sequential in sequential,
    Random in random,
    Buffered in buffered,
    Allocation in allocation,
    Alignment in alignment,
    Scaling in scaling,
    Mirror in mirror,
    Zones in zones,
    Burst in burst,
    Memory in memory,
    Durability in durability,
    Engines in engines,
    Processors in processors,
    Streams in streams,
    Anatomy in anatomy,
    Price in price,
}

/// The cells of an experiment with a fixed plan; none for the walks, whose planner decides from run to run.
///
/// # Errors
/// Why it cannot be run here, in a sentence without its full stop.
pub fn plan(experiment: Experiment, request: &PlanRequest) -> Result<Vec<PlannedCell>, String> {
    if experiment.pattern().is_some() {
        return Ok(Vec::new());
    }
    let mut cells = plan_of(experiment, request)?;
    cells.iter_mut().for_each(|cell| cell.workload = cell.workload.issued_by_engine());
    cells.retain(|cell| !cell.workload.rw.writes() || request.question.directions.contains(&Direction::Write));
    if cells.is_empty() {
        Err("all that it measures are writes, and only reads were asked for".to_string())
    } else {
        Ok(cells)
    }
}

/// The experiments of a question, and the parts of them, that cannot be run in this environment.
pub fn left_out(question: &Question, environment: &Environment) -> Vec<LeftOut> {
    let request = PlanRequest { question, environment };
    let whys = |experiment: Experiment| match plan(experiment, &request) {
        Err(why) => vec![why],
        Ok(_) => missing_of(experiment, &request),
    };
    let left_out = |experiment: &Experiment| {
        let experiment = *experiment;
        whys(experiment).into_iter().map(move |why| LeftOut { experiment, workload: None, why })
    };
    question.experiments.iter().flat_map(left_out).collect()
}

/// A section for each experiment that was asked for beside the walks, and all their rows.
pub fn sections(
    question: &Question,
    environment: &Environment,
    records: &[Record],
) -> (Vec<ExperimentSection>, ExperimentRows) {
    let mut rows = ExperimentRows::default();
    let mut sections = Vec::new();
    for experiment in question.experiments.iter().copied().filter(|experiment| experiment.pattern().is_none()) {
        let data = ExperimentData { question, environment, cells: experiment_cells(experiment, records) };
        let told = (!data.cells.is_empty()).then(|| tell(experiment, &data, &mut rows));
        let mut notes = notes(environment.left_out.iter().filter(|left| left.experiment == experiment));
        if told.is_none() && notes.is_empty() {
            notes.push("The time ended before it: give the study a larger budget.".to_string());
        }
        let ran = told.is_some();
        let Told { answer, pictures } = told.unwrap_or(Told { answer: String::new(), pictures: Vec::new() });
        let (asks, papers) = (question_of(experiment).to_string(), papers_of(experiment).to_string());
        sections.push(ExperimentSection { experiment, asks, ran, answer, pictures, notes, papers });
    }
    (sections, rows)
}
