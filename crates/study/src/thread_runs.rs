//! Plans runs with more threads: if one thread fills its core, the same cell is measured with 2, 4 and more.
//!
//! One core cannot issue several million requests a second. The deepest small requests and the fastest cells show that
//! first. A thread that waits for a processor in use by others counts as busy. If no core is full, none of these runs
//! is made, and they take nothing of the budget.

use std::collections::BTreeMap;

use halfpower_analyse::policy::{FULL_CORE, MORE_THREADS_GAIN, NEAR_BEST, database_bs};
use halfpower_record::{Environment, Record};
use halfpower_spec::{
    Bytes, Decides, Direction, EngineName, Experiment, Nanos, Pass, Pattern, Question, Run, Workload,
};

use crate::phase::Phase;
use crate::planner::Planner;
use crate::seeds::seeded;

/// Runs of each number of threads, and additional runs of the chosen number.
const RUNS: usize = 3;
const CONFIRMING_RUNS: usize = 3;
/// Largest share of the budget for these runs.
const SHARE: f64 = 0.2;
/// Most bytes in flight over all threads.
const MOST_QUEUE_BYTES: u64 = 256 << 20;

/// The runs with more threads of one study.
#[derive(Debug, Clone)]
pub(crate) struct ThreadRuns {
    seed: u64,
    /// Threads of the walks, and the most threads with one processor each.
    threads: u32,
    cpus: u32,
    budget_ns: u64,
    spent_ns: u64,
    /// Whether the engine issues only from its submitting threads.
    counts: bool,
    /// Small requests whose deepest cells are candidates.
    small: Vec<(Pattern, Direction, Bytes)>,
    deepest: u32,
    /// Results of the walks' own runs.
    shown: BTreeMap<Workload, Shown>,
    tasks: Vec<Task>,
}

/// Results of runs of one workload.
#[derive(Debug, Clone, Default)]
struct Shown {
    mbps: Vec<f64>,
    cores: Vec<f64>,
    confirming: usize,
    /// Number of plain runs, including those that moved nothing.
    runs: usize,
}

/// A cell to measure with more threads.
#[derive(Debug, Clone)]
struct Task {
    experiment: Experiment,
    workload: Workload,
    runtime: Nanos,
    /// Results by number of threads, beginning with that of the walks.
    steps: BTreeMap<u32, Shown>,
    given_up: bool,
}

impl ThreadRuns {
    /// The runs with more threads of a study about `question`.
    pub fn new(question: &Question, environment: &Environment) -> Self {
        let is_direct = question.cache.iter().any(|cache| cache.direct());
        let counts = !question.engine.is_in_turn() && question.engine != EngineName::Pool && is_direct;
        Self {
            seed: question.seed,
            threads: question.threads,
            cpus: environment.machine.usable_cpus().ceil() as u32,
            budget_ns: (question.budget.0 as f64 * SHARE) as u64,
            spent_ns: 0,
            counts,
            small: small(question),
            deepest: question.iodepth.last().copied().unwrap_or(1),
            shown: BTreeMap::new(),
            tasks: Vec::new(),
        }
    }

    /// Records a run of the walks; a small deep cell that fills its core is then measured with more threads.
    fn observe_walk(&mut self, record: &Record) {
        let Run { workload, pass, .. } = record.run;
        let Some(direction) = workload.rw.direction().filter(|_| self.counts && workload.cache.direct()) else {
            return;
        };
        if pass != Pass::Plain {
            return;
        }
        self.shown.entry(workload).or_default().add(record);
        let kind = (workload.rw.pattern(), direction, workload.bs);
        if workload.iodepth == self.deepest && self.small.contains(&kind) {
            self.go_on(&workload, record.run.experiment, record.run.runtime);
        }
    }

    /// Plans more threads for a cell of the walks if its core is full.
    fn go_on(&mut self, workload: &Workload, experiment: Option<Experiment>, runtime: Nanos) {
        let Some((shown, experiment)) = self.shown.get(workload).zip(experiment) else { return };
        let begun = self.tasks.iter().any(|task| task.workload == *workload);
        if begun || shown.mbps.is_empty() || shown.cores() < FULL_CORE * f64::from(self.threads) {
            return;
        }
        let steps = BTreeMap::from([(self.threads, shown.clone())]);
        self.tasks.push(Task { experiment, workload: *workload, runtime, steps, given_up: false });
    }

    /// The next run; `None` if none is needed or their share of the budget is spent.
    fn run(&self) -> Option<Run> {
        let task = |task: &Task| {
            let (threads, pass, repeat) = task.next(self.cpus)?;
            let workload = Workload { threads, ..task.workload };
            let seed = seeded(self.seed, &workload, pass, repeat);
            Some(Run { experiment: Some(task.experiment), workload, repeat, pass, runtime: task.runtime, seed })
        };
        let run = self.tasks.iter().find_map(task)?;
        (self.spent_ns + run.runtime.0 <= self.budget_ns).then_some(run)
    }
}

impl Phase for ThreadRuns {
    fn owns(&self, run: &Run) -> bool {
        run.walks() && run.workload.threads != self.threads
    }

    fn decides(&self) -> Decides {
        Decides::Threads
    }

    fn observe(&mut self, record: &Record) -> Nanos {
        let workload = record.run.workload;
        let of = |task: &&mut Task| Workload { threads: workload.threads, ..task.workload } == workload;
        if let Some(task) = self.tasks.iter_mut().find(of) {
            task.steps.entry(workload.threads).or_default().add(record);
        }
        self.spent_ns += record.spent_ns;
        Nanos(record.spent_ns)
    }

    fn follow(&mut self, record: &Record, walks: &Planner) {
        self.observe_walk(record);
        for (experiment, workload, runtime) in walks.peaks() {
            self.go_on(&workload, Some(experiment), runtime);
        }
    }

    fn next(&self, _walks: &Planner) -> Option<Run> {
        self.run()
    }

    /// Cancels the remaining runs of this cell.
    fn give_up(&mut self, run: &Run) {
        let of = |task: &&mut Task| Workload { threads: run.workload.threads, ..task.workload } == run.workload;
        self.tasks.iter_mut().filter(of).for_each(|task| task.given_up = true);
    }
}

/// The small requests of each direction: the smallest block, and for random reads also a database's.
fn small(question: &Question) -> Vec<(Pattern, Direction, Bytes)> {
    let database = database_bs(question.bs.iter().copied());
    let pattern = question.patterns().max_by_key(|pattern| *pattern == Pattern::Random);
    let Some((pattern, least)) = pattern.zip(question.bs.first().copied()) else { return Vec::new() };
    let of_direction = question.directions.iter().map(|direction| (pattern, *direction, least));
    let pages = database.filter(|bs| *bs != least && pattern == Pattern::Random);
    of_direction.chain(pages.map(|bs| (pattern, Direction::Read, bs))).collect()
}

impl Shown {
    fn add(&mut self, record: &Record) {
        if record.run.pass == Pass::Confirm {
            self.confirming += 1;
            return;
        }
        self.runs += 1;
        let mbps = halfpower_analyse::run_mbps(record);
        if mbps > 0.0 && record.errors.is_empty() {
            self.mbps.push(mbps);
            self.cores.push(record.cpu.wanted_ns() as f64 / record.charged_span_ns().max(1) as f64);
        }
    }

    fn mean_mbps(&self) -> f64 {
        halfpower_analyse::mean(&self.mbps)
    }

    fn cores(&self) -> f64 {
        halfpower_analyse::mean(&self.cores)
    }
}

impl Task {
    /// Threads, pass and repeat of the next run.
    fn next(&self, cpus: u32) -> Option<(u32, Pass, u32)> {
        let mut steps = self.steps.iter().rev();
        let ((threads, last), before) = (steps.next()?, steps.next());
        if self.given_up {
            return None;
        }
        let Some((_, before)) = before else { return self.more(*threads, cpus) };
        if last.runs < RUNS {
            return Some((*threads, Pass::Plain, last.runs as u32));
        }
        let gains = last.mean_mbps() >= MORE_THREADS_GAIN * before.mean_mbps();
        let is_full = last.cores() >= FULL_CORE * f64::from((*threads).min(cpus));
        let more = if gains && is_full { self.more(*threads, cpus) } else { None };
        more.or_else(|| self.confirm())
    }

    /// Twice as many threads, if there are enough processors, and memory for their requests.
    fn more(&self, threads: u32, cpus: u32) -> Option<(u32, Pass, u32)> {
        let more = (threads * 2).min(cpus);
        let queue_bytes = u64::from(more) * u64::from(self.workload.iodepth) * self.workload.bs.0;
        (more > threads && queue_bytes <= MOST_QUEUE_BYTES).then_some((more, Pass::Plain, 0))
    }

    /// A confirming run of the chosen number of threads, the fewest that come near the best.
    fn confirm(&self) -> Option<(u32, Pass, u32)> {
        let best = self.steps.values().map(Shown::mean_mbps).fold(0.0, f64::max);
        let (threads, chosen) = self.steps.iter().find(|(_, shown)| shown.mean_mbps() >= NEAR_BEST * best)?;
        let is_more = *threads > self.workload.threads && chosen.confirming < CONFIRMING_RUNS;
        is_more.then_some((*threads, Pass::Confirm, chosen.confirming as u32))
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Cpu, Machine};

    use super::*;

    /// A record of the deepest small reads, whose thread was charged and waited for these shares of the time.
    fn record(charged: f64, waited: f64) -> Record {
        let rw = halfpower_spec::Rw::Randread;
        let workload = Workload { rw, bs: Bytes(4096), iodepth: 32, ..Workload::default() };
        let made = crate::built::record(&crate::built::disk("fixed=80us"), workload, 0, Pass::Plain, 1.0);
        let ns = |share: f64| (share * made.cpu.span_ns as f64) as u64;
        let times = Cpu { user_ns: ns(charged), system_ns: 0, waited_ns: ns(waited), ..made.cpu.clone() };
        Record { cpu: times, ..made }
    }

    #[test]
    fn a_thread_without_time_to_spare_goes_on_with_more_also_where_others_have_its_processor() {
        let machine = Machine { cpus: 4, ..Machine::default() };
        let environment = Environment { machine, ..Environment::default() };
        let next = |charged, waited| {
            let mut runs = ThreadRuns::new(&Question::about("d"), &environment);
            runs.observe_walk(&record(charged, waited));
            runs.run().map(|run| run.workload.threads)
        };
        assert_eq!(next(0.95, 0.0), Some(2));
        assert_eq!(next(0.5, 0.45), Some(2), "others have it for the other half");
        assert_eq!(next(0.5, 0.0), None, "it sleeps for the other half");
    }
}
