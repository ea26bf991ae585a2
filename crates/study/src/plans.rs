//! What does each experiment measure? A question and what the place offers enter; the experiment's cells leave, or the
//! reason why it cannot be run here.
//!
//! One file an experiment, of the same name as its analysis in `analyse/src/experiments`. The plans are fixed: unlike
//! `sequential` and `random`, whose planner decides from run to run, they are known before anything is measured, so
//! that `halfpower plan` can print them.

mod alignment;
mod allocation;
mod anatomy;
mod buffered;
mod burst;
mod durability;
mod engines;
mod memory;
mod mirror;
mod price;
mod processors;
mod scaling;
mod streams;
mod zones;

use record::{Environment, LeftOut, Surroundings, TargetKind};
use spec::{Bytes, Cache, Direction, Experiment, Pass, Pattern, Question, Rw, Workload};

/// What a plan depends on.
pub(crate) struct Ask<'a> {
    pub question: &'a Question,
    pub environment: &'a Environment,
}

/// A cell of a fixed plan, and the passes that it is measured in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub workload: Workload,
    pub passes: &'static [Pass],
    /// Runs of each pass; `None` is what the question asks for.
    pub repeats: Option<u32>,
}

/// The cells of an experiment with a fixed plan.
///
/// # Errors
/// Why it cannot be run here, in a sentence without its full stop.
pub(crate) fn plan(experiment: Experiment, ask: &Ask) -> Result<Vec<Cell>, String> {
    let cells = match experiment {
        Experiment::Sequential | Experiment::Random => return Ok(Vec::new()),
        Experiment::Engines => engines::plan(ask)?,
        Experiment::Memory => memory::plan(ask)?,
        Experiment::Scaling => scaling::plan(ask)?,
        Experiment::Mirror => mirror::plan(ask)?,
        Experiment::Allocation => allocation::plan(ask)?,
        Experiment::Buffered => buffered::plan(ask)?,
        Experiment::Processors => processors::plan(ask)?,
        Experiment::Durability => durability::plan(ask)?,
        Experiment::Streams => streams::plan(ask)?,
        Experiment::Zones => zones::plan(ask)?,
        Experiment::Alignment => alignment::plan(ask)?,
        Experiment::Burst => burst::plan(ask)?,
        Experiment::Anatomy => anatomy::plan(ask)?,
        Experiment::Price => price::plan(ask)?,
    };
    let mut cells: Vec<Cell> = cells;
    cells.retain(|cell| !cell.workload.rw.writes() || ask.question.directions.contains(&Direction::Write));
    if cells.is_empty() {
        Err("all that it measures are writes, and only reads were asked for".to_string())
    } else {
        Ok(cells)
    }
}

/// The experiments of a question, and the parts of them, that cannot be run in this environment.
pub fn left_out(question: &Question, environment: &Environment) -> Vec<LeftOut> {
    let ask = Ask { question, environment };
    let whys = |experiment: &Experiment| match (plan(*experiment, &ask), experiment) {
        (Err(why), _) => vec![why],
        (Ok(_), Experiment::Engines) => engines::missing(&ask),
        (Ok(_), Experiment::Buffered) => buffered::missing(&ask),
        (Ok(_), Experiment::Processors) => processors::missing(&ask),
        (Ok(_), Experiment::Durability) => durability::missing(&ask),
        (Ok(_), Experiment::Alignment) => alignment::missing(&ask),
        (Ok(_), _) => Vec::new(),
    };
    let left_out = |experiment: &Experiment| {
        let experiment = *experiment;
        whys(&experiment).into_iter().map(move |why| LeftOut { experiment, workload: None, why })
    };
    question.experiments.iter().flat_map(left_out).collect()
}

impl Cell {
    /// A cell of plain runs alone.
    pub fn plain(workload: Workload) -> Self {
        Self { workload, passes: &[Pass::Plain], repeats: None }
    }
}

impl Ask<'_> {
    /// What the place offers.
    pub fn surroundings(&self) -> &Surroundings {
        &self.environment.surroundings
    }

    /// The cache setting that bypasses the page cache, or where there is none, the plain one.
    pub fn straight(&self) -> Cache {
        if self.surroundings().direct_unit.is_some() { Cache::Device } else { Cache::Both }
    }

    /// A workload of the question's engine and threads, past the page cache where that can be had.
    pub fn workload(&self, pattern: Pattern, direction: Direction, bs: Bytes, iodepth: u32) -> Workload {
        let Question { threads, engine, .. } = *self.question;
        let rw = Rw::of(pattern, direction);
        Workload { rw, bs, iodepth, threads, engine, cache: self.straight(), ..Workload::default() }
    }

    /// That there is a page cache before the target.
    ///
    /// # Errors
    /// Why there is none.
    pub fn page_cache(&self) -> Result<(), String> {
        match self.surroundings().kind {
            TargetKind::Folder | TargetKind::File | TargetKind::Device => Ok(()),
            TargetKind::Simulated | TargetKind::Nothing => self.surroundings().can("page cache"),
        }
    }
}

/// That the target has several members; `why` says what a single one lacks.
///
/// # Errors
/// That sentence, and what to name instead.
fn several_members(ask: &Ask, why: &str) -> Result<(), String> {
    match ask.surroundings().members {
        0 | 1 => Err(format!("{why}: name several paths, as in stripe:A,B or each:A,B (sim: takes disks=2)")),
        _ => Ok(()),
    }
}
