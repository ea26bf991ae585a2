//! Holds what a plan depends on and what it consists of.
//!
//! The plans are fixed: unlike the walks of `sequential` and `random`, whose planner decides from run to run, they are
//! known before anything is measured, so that `halfpower plan` can print them.

use halfpower_record::{Capabilities, Environment, TargetKind};
use halfpower_spec::{Bytes, Cache, Direction, Pass, Pattern, Question, Rw, Workload};

/// What a plan depends on.
pub struct PlanRequest<'a> {
    pub question: &'a Question,
    pub environment: &'a Environment,
}

/// What an experiment measures here.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub cells: Vec<PlannedCell>,
    /// Why parts of it cannot be measured here, although others can.
    pub missing: Vec<String>,
}

impl Plan {
    /// A plan of which nothing is missing.
    pub fn of(cells: impl IntoIterator<Item = PlannedCell>) -> Self {
        Self { cells: cells.into_iter().collect(), missing: Vec::new() }
    }
}

/// A cell of a fixed plan, and the passes that it is measured in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedCell {
    pub workload: Workload,
    pub passes: &'static [Pass],
    /// Runs of each pass; `None` is what the question asks for.
    pub repeats: Option<u32>,
    /// Usual windows that a run of it lasts; more than one makes it as long as the budget lets it be.
    pub windows: u32,
}

impl PlannedCell {
    /// A cell of plain runs alone.
    pub fn plain(workload: Workload) -> Self {
        Self { workload, passes: &[Pass::Plain], repeats: None, windows: 1 }
    }
}

impl PlanRequest<'_> {
    /// What the place offers.
    pub fn capabilities(&self) -> &Capabilities {
        &self.environment.capabilities
    }

    /// The cache setting that bypasses the page cache, or where there is none, the plain one.
    pub fn straight(&self) -> Cache {
        if self.capabilities().direct_unit.is_some() { Cache::Device } else { Cache::Both }
    }

    /// A workload of the question's engine and threads, past the page cache where that can be had.
    pub fn workload(&self, pattern: Pattern, direction: Direction, bs: Bytes, iodepth: u32) -> Workload {
        let Question { threads, engine, issuing, .. } = *self.question;
        let rw = Rw::of(pattern, direction);
        let options = self.question.options();
        Workload { rw, bs, iodepth, threads, engine, issuing, options, cache: self.straight(), ..Workload::default() }
    }

    /// That there is a page cache before the target.
    ///
    /// # Errors
    /// Why there is none.
    pub fn page_cache(&self) -> Result<(), String> {
        match self.capabilities().kind {
            TargetKind::Folder | TargetKind::File | TargetKind::Device => Ok(()),
            TargetKind::Share | TargetKind::Simulated | TargetKind::Nothing | TargetKind::Imported => {
                self.capabilities().can("page cache")
            }
        }
    }
}

/// That the target has several members; `why` says what a single one lacks.
///
/// # Errors
/// That sentence, and what to name instead.
pub(crate) fn several_members(ask: &PlanRequest, why: &str) -> Result<(), String> {
    match ask.capabilities().members {
        0 | 1 => Err(format!("{why}: name several paths, as in stripe:A,B or each:A,B (sim: takes disks=2)")),
        _ => Ok(()),
    }
}
