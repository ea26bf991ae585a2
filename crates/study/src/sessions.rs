//! Plans the further sessions of a study: the cells of its answer again, with a fresh layout and in a process of its own.
//!
//! The first session is the ordinary study. Each further one measures what the first screen reports: the rows of how fast,
//! the best cells, and the cells of what to set. It does so in rounds, all cells in each, within its share of the budget.
//! The records alone tell which session is due and which run is next.

use std::collections::BTreeSet;

use halfpower_analyse::{CellSettings, UseAdvice, first_session};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Cache, InOrder, Nanos, Pass, Question, Run};

use crate::planner::Step;
use crate::seeds::seeded;

/// Rounds of a further session. Runs of one session tell little beside those of another, so there are few.
const ROUNDS: u32 = 3;
/// Part of the study's budget that each further session may take.
const PART: u64 = 4;
/// Repeats of a session count from this number times the session, so that a longer first session keeps its own.
const REPEATS: u32 = 10_000;

/// A further session.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Its number; the first session is 0.
    pub number: u32,
    /// Its share of the budget.
    budget: Nanos,
    /// Its runs that are not made yet, each with its round, in their order.
    open: Vec<(u32, Run)>,
    made: u64,
    spent_ns: u64,
}

impl Session {
    /// The session that is due once the first has ended: the newest, or the next where it is complete. `None` if all are
    /// complete, and if the first has no cell to measure again.
    pub fn due(question: &Question, environment: &Environment, records: &[Record]) -> Option<Self> {
        if question.sessions < 2 {
            return None;
        }
        let cells = cells(question, environment, &first_session(records));
        let newest = records.iter().map(|record| record.session).max().unwrap_or(0);
        let of = |number: u32| Some(Self::of(question, &cells, number, records)).filter(|own| own.run().is_some());
        let begun = if newest > 0 { of(newest) } else { None };
        begun.or_else(|| of(newest.checked_add(1).filter(|next| *next < question.sessions)?))
    }

    /// The session of this number, after the records so far. `cells` holds a run of each cell.
    fn of(question: &Question, cells: &[Run], number: u32, records: &[Record]) -> Self {
        let run = |round: u32, cell: &Run| {
            let repeat = number.saturating_mul(REPEATS).saturating_add(round);
            let pass = Pass::Plain;
            let seed = seeded(question.seed, &cell.workload, pass, repeat);
            (round, Run { repeat, pass, seed, ..*cell })
        };
        let mut open: Vec<(u32, Run)> =
            (0..ROUNDS).flat_map(|round| cells.iter().map(move |cell| run(round, cell))).collect();
        open.order_by_key(|(round, run)| (*round, run.seed));
        let budget = Nanos(question.budget.0 / PART);
        let mut session = Self { number, budget, open, made: 0, spent_ns: 0 };
        records.iter().filter(|record| record.session == number).for_each(|record| session.observe(record));
        session
    }

    /// Records one of its runs.
    pub fn observe(&mut self, record: &Record) {
        let is_it = |run: &Run| (run.workload, run.repeat) == (record.run.workload, record.run.repeat);
        self.open.retain(|(_, run)| !is_it(run));
        self.made += 1;
        self.spent_ns = self.spent_ns.saturating_add(record.of_budget_ns());
    }

    /// The next run. Every cell is measured once, and further rounds are made as far as its share of the budget allows.
    fn run(&self) -> Option<Run> {
        let (round, run) = self.open.first()?;
        let expected_ns = self.spent_ns.checked_div(self.made).unwrap_or(0);
        let fits = self.spent_ns.saturating_add(expected_ns) <= self.budget.0;
        (*round == 0 || fits).then_some(*run)
    }

    /// The next step.
    pub fn next(&self) -> Step {
        match self.run() {
            Some(run) => Step::Run(run),
            None if self.open.is_empty() => Step::Answered,
            None => Step::BudgetSpent,
        }
    }

    /// Most time that it will still take, but for cells that it has to measure once.
    pub fn left(&self) -> Nanos {
        if self.run().is_none() { Nanos(0) } else { Nanos(self.budget.0.saturating_sub(self.spent_ns)) }
    }
}

/// A run of each cell that further sessions measure, by the records of the first session.
fn cells(question: &Question, environment: &Environment, first: &[Record]) -> Vec<Run> {
    let findings = halfpower_experiments::analyse(question, environment, first);
    let rows = findings.summary.how_fast.iter().flat_map(|row| {
        let durable = row.durable.map(|_| CellSettings { cache: Cache::None, ..row.cell });
        std::iter::once(row.cell).chain(durable)
    });
    let best = findings.headline.iter().map(|headline| headline.cell);
    // Runs with other memory of the buffers are those of an experiment, which one session has.
    let is_of_walks = |advice: &&UseAdvice| advice.measured.is_some() && advice.iomem.is_none();
    let advised = findings.summary.what_to_set.uses.iter().filter(is_of_walks);
    let cells: BTreeSet<CellSettings> = rows.chain(best).chain(advised.map(|advice| advice.cell)).collect();
    cells.iter().filter_map(|cell| shortest(cell, first)).collect()
}

/// The shortest of the runs that a cell is reported by. Others may be too short for the slices of a limit.
fn shortest(cell: &CellSettings, first: &[Record]) -> Option<Run> {
    cell.reported_runs(first).into_iter().map(|record| record.run).min_by_key(|run| run.runtime)
}

#[cfg(test)]
mod tests {
    use halfpower_record::Series;
    use halfpower_spec::{Bytes, Workload};

    use super::*;
    use crate::built::{disk, question, record_at, workloads};

    /// Bytes that a limit lets pass in each tenth of a second.
    const SLICE: u64 = 4_194_304;

    /// A run behind this limit, whose slices complete at once, in a window of so many milliseconds.
    fn behind_limit(workload: Workload, pass: Pass, repeat: u32, window_ms: u64) -> Record {
        let made = record_at(&disk("fixed=1ms,rate=42MB/s"), workload, repeat, pass, 10.0 * SLICE as f64);
        let step_ms = window_ms / 100;
        let mut steps: Vec<u64> = vec![0; 100];
        (0..window_ms).step_by(100).for_each(|at_ms| steps[(at_ms / step_ms) as usize] += SLICE);
        let elapsed_ns = window_ms * 1_000_000;
        let bytes: u64 = steps.iter().sum();
        let series = Series { step_ns: step_ms * 1_000_000, bytes: steps };
        Record { run: Run { runtime: Nanos(elapsed_ns), ..made.run }, elapsed_ns, bytes, series, ..made }
    }

    /// Two cells behind the limit, each measured in a window of two slices before it was known, then in longer ones.
    fn first(question: &Question) -> Vec<Record> {
        let of_cell = |workload: Workload| {
            let windows_ms = (0..).zip([200, 1000, 1000]);
            windows_ms.map(move |(repeat, window_ms)| behind_limit(workload, Pass::Plain, repeat, window_ms))
        };
        workloads(question).into_iter().flat_map(of_cell).collect()
    }

    fn asked() -> Question {
        Question { bs: vec![Bytes(65_536), Bytes(262_144)], iodepth: vec![8], sessions: 2, ..question() }
    }

    #[test]
    fn no_further_session_has_windows_that_cut_the_slices_of_a_limit() {
        let session = Session::due(&asked(), &Environment::default(), &first(&asked())).unwrap();
        let windows: Vec<Nanos> = session.open.iter().map(|(_, run)| run.runtime).collect();
        assert!(!windows.is_empty(), "the best cell is measured again");
        assert!(windows.iter().all(|window| *window == Nanos(1_000_000_000)), "{windows:?}");
    }

    #[test]
    fn the_window_of_a_confirmed_cell_is_that_of_its_whole_confirming_runs() {
        let mut records = first(&asked());
        let workload = records[0].run.workload;
        let confirming = (0..).zip([3000, 1500, 1500, 200]);
        records.extend(confirming.map(|(repeat, ms)| behind_limit(workload, Pass::Confirm, repeat, ms)));
        let cell = CellSettings::of_workload(&workload).unwrap();
        assert_eq!(shortest(&cell, &records).map(|run| run.runtime), Some(Nanos(1_500_000_000)));
    }
}
