//! Defines the input and the output of an experiment's plan.
//!
//! These plans are fixed before anything is measured, so `halfpower plan` can print them. The walks `sequential` and
//! `random` have no fixed plan: their planner decides from run to run.

use halfpower_record::{Ability, Capabilities, Environment};
use halfpower_spec::{Bytes, Cache, Direction, Pass, Pattern, Question, Rw, Workload};

/// The input of a plan.
pub struct PlanRequest<'a> {
    pub question: &'a Question,
    pub environment: &'a Environment,
}

/// The cells that an experiment measures here.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub cells: Vec<PlannedCell>,
    /// Reasons why some parts cannot be measured here, although others can.
    pub missing: Vec<String>,
}

impl Plan {
    /// A plan with nothing missing.
    pub fn of(cells: impl IntoIterator<Item = PlannedCell>) -> Self {
        Self { cells: cells.into_iter().collect(), missing: Vec::new() }
    }
}

/// Runs beside the soaker. The soaker's error is a share of the whole time, so more runs add little.
const SOAKER_RUNS: u32 = 2;

/// A cell of a fixed plan, and the passes in which it is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedCell {
    pub workload: Workload,
    pub passes: &'static [Pass],
    /// Runs of each pass; `None` means as many as the question asks for.
    pub repeats: Option<u32>,
    /// Length of a run in usual windows; with more than one, the run lasts as long as the budget allows.
    pub windows: u32,
}

impl PlannedCell {
    /// A cell with plain runs only.
    pub fn plain(workload: Workload) -> Self {
        Self { workload, passes: &[Pass::Plain], repeats: None, windows: 1 }
    }

    /// The same cell with runs beside the soaker only.
    pub fn beside_soaker(self) -> Self {
        Self { passes: &[Pass::Soaker], repeats: Some(SOAKER_RUNS), ..self }
    }
}

impl PlanRequest<'_> {
    /// What the target offers.
    pub fn capabilities(&self) -> &Capabilities {
        &self.environment.capabilities
    }

    /// The cache setting that bypasses the page cache; the plain setting if the target cannot bypass it.
    pub fn straight(&self) -> Cache {
        if self.capabilities().direct_unit.is_some() { Cache::Device } else { Cache::Both }
    }

    /// A workload with the question's engine and threads, past the page cache if possible.
    pub fn workload(&self, pattern: Pattern, direction: Direction, bs: Bytes, iodepth: u32) -> Workload {
        let Question { threads, engine, issuing, .. } = *self.question;
        let rw = Rw::of(pattern, direction);
        let options = self.question.options();
        Workload { rw, bs, iodepth, threads, engine, issuing, options, cache: self.straight(), ..Workload::default() }
    }

    /// Checks that requests to the target can go through a page cache.
    ///
    /// # Errors
    /// Why they cannot.
    pub fn page_cache(&self) -> Result<(), String> {
        self.capabilities().can(&Ability::PageCache)
    }
}

/// Checks that the target has several members; `why` says what a single member lacks.
///
/// # Errors
/// `why`, and which targets to name instead.
pub(crate) fn several_members(ask: &PlanRequest, why: &str) -> Result<(), String> {
    match ask.capabilities().members {
        0 | 1 => Err(format!("{why}: name several paths, as in stripe:A,B or each:A,B (sim: takes disks=2)")),
        _ => Ok(()),
    }
}
