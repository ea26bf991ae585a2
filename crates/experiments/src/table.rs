//! Lists the experiments and dispatches to the plan, analysis and words of each.

use halfpower_record::{Environment, LeftOut};
use halfpower_spec::{Direction, Experiment, JsonSchema, Question};
use serde::Serialize;

use crate::answer::Told;
use crate::data::ExperimentData;
use crate::picture::Picture;
use crate::plan::{Plan, PlanRequest, PlannedCell};

/// Generates the code that differs per experiment from a table of experiments. Each folder has three files:
///
/// - `mod.rs` says what the experiment is about; its `plan` turns the question and the target's capabilities into a
///   [`Plan`], or returns why the experiment cannot run here, in a sentence without a full stop;
/// - `analysis.rs` defines `Rows` and `Answer`, numbers and codes; its `analyse` turns cells into them;
/// - `words.rs` has the `QUESTION` in one line, what the `PAPERS` of 1998 and 2000 saw, the `answer` in short and in all
///   its sentences (a [`Told`]), and the `pictures`, which it draws from cells and rows.
macro_rules! experiments {
    ($($name:ident in $folder:ident),+ $(,)?) => {
        /// The rows of all experiments. Each list is a key of the findings, and is empty if its experiment was not run.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
        pub struct ExperimentRows {
            $(
                #[doc = concat!("Rows of `", stringify!($folder), "`.")]
                #[serde(flatten)]
                pub $folder: crate::$folder::Rows,
            )+
        }

        /// The answer of one experiment.
        #[allow(clippy::large_enum_variant, reason = "a report has one of each, and moves it once")]
        #[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
        #[serde(untagged)]
        pub enum ExperimentAnswer {
            $(
                #[doc = concat!("Answer of `", stringify!($folder), "`.")]
                $name(crate::$folder::Answer),
            )+
        }

        /// The question, and what the papers saw; `None` for the walks.
        pub(crate) fn texts(experiment: Experiment) -> Option<(&'static str, &'static str)> {
            match experiment {
                $(Experiment::$name => Some((crate::$folder::words::QUESTION, crate::$folder::words::PAPERS)),)+
                Experiment::Sequential | Experiment::Random => None,
            }
        }

        /// The plan of an experiment; `None` for the walks, whose runs the planner decides one by one.
        fn fixed_plan(experiment: Experiment, request: &PlanRequest) -> Option<Result<Plan, String>> {
            match experiment {
                $(Experiment::$name => Some(crate::$folder::plan(request)),)+
                Experiment::Sequential | Experiment::Random => None,
            }
        }

        /// Analyses the cells and stores the rows in `rows`; `None` for the walks, which the findings report.
        pub(crate) fn found(experiment: Experiment, data: &ExperimentData, rows: &mut ExperimentRows) -> Option<Found> {
            match experiment {
                $(Experiment::$name => {
                    let (own, found) = crate::$folder::analyse(data);
                    let told: Told = crate::$folder::words::answer(&found);
                    let pictures = crate::$folder::words::pictures(data, &own);
                    rows.$folder = own;
                    Some(Found { found: ExperimentAnswer::$name(found), told, pictures })
                })+
                Experiment::Sequential | Experiment::Random => None,
            }
        }
    };
}

experiments! {
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
    Credit in credit,
    Hosts in hosts,
    Network in network,
    Commits in commits,
    Application in application,
    Sustain in sustain,
    Load in load,
    Files in files,
    Layers in layers,
    Stripes in stripes,
}

/// The answer of an experiment as numbers and in words, and its pictures.
pub(crate) struct Found {
    pub found: ExperimentAnswer,
    pub told: Told,
    pub pictures: Vec<Picture>,
}

/// The cells of an experiment's fixed plan; empty for the walks, whose planner decides from run to run.
///
/// # Errors
/// Why the experiment cannot run here, in a sentence without a full stop.
pub fn plan(experiment: Experiment, request: &PlanRequest) -> Result<Vec<PlannedCell>, String> {
    Ok(plan_of(experiment, request)?.cells)
}

fn plan_of(experiment: Experiment, request: &PlanRequest) -> Result<Plan, String> {
    let Some(plan) = fixed_plan(experiment, request) else { return Ok(Plan::of([])) };
    let Plan { mut cells, missing } = plan?;
    cells.iter_mut().for_each(|cell| cell.workload = cell.workload.issued_by_engine());
    cells.retain(|cell| !cell.workload.writes() || request.question.directions.contains(&Direction::Write));
    if cells.is_empty() {
        Err("all that it measures are writes, and only reads were asked for".to_string())
    } else {
        Ok(Plan { cells, missing })
    }
}

/// The experiments of a question, and parts of them, that cannot be run in this environment.
pub fn left_out(question: &Question, environment: &Environment) -> Vec<LeftOut> {
    let request = PlanRequest { question, environment };
    let left_out = |experiment: &Experiment| {
        let experiment = *experiment;
        let whys = plan_of(experiment, &request).map_or_else(|why| vec![why], |plan| plan.missing);
        whys.into_iter().map(move |why| LeftOut { experiment, workload: None, why })
    };
    question.experiments.iter().flat_map(left_out).collect()
}
