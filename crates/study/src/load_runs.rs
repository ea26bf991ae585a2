//! Plans the runs of `load`: what the target gives, then rates of an open loop around the bound on latency, then half of the
//! highest rate below it, with and without writes beside the reads.
//!
//! Each kind and size of requests is a search of its own, one after the other; what one leaves of its share of the time
//! goes to the next. Low rates have longer windows, so that a run holds enough requests for the percentile. These runs
//! come after the walks and the fixed plans, and before sustained writes.

use std::collections::BTreeMap;

use halfpower_experiments::load::{self, Knee, LoadRate, LoadSeen, SearchTerms};
use halfpower_experiments::{PlanRequest, plan};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Arrival, Arrivals, Direction, Experiment, LatencyBound, Nanos, Pass, Question, Run, Workload};

use crate::own_runs::OwnRuns;
use crate::planner::Step;
use crate::seeds::seeded;

/// Share of the budget where the study has other experiments, and beside sustained writes alone.
const SHARE: f64 = 0.3;
const SHARE_BESIDE_SUSTAIN: f64 = 0.5;
/// Runs of a search, roughly.
const RUNS: f64 = 32.0;
/// Shortest and longest usual window, and the unit of windows, in nanoseconds.
const WINDOW_NS: (f64, f64) = (250e6, 10e9);
const UNIT_NS: f64 = 1e6;
/// Largest share of a search's time for the window of a low rate.
const LONGEST: f64 = 0.125;
/// Requests that a run should hold beyond its percentile, and requests of any run.
const BEYOND: f64 = 3.0;
const FEWEST: f64 = 30.0;
/// Largest share of what the target gives that counts as the lowest rate.
const LEAST_SHARE: f64 = 0.5;
/// Assumed time of a run beyond its window, as a share of it, until one was seen.
const PREPARING: f64 = 0.2;

/// The runs of `load` in one study.
#[derive(Debug, Clone)]
pub(crate) struct LoadRuns {
    searches: Vec<Search>,
    seed: u64,
    /// Runs of each rate that decides.
    repeats: usize,
    /// Length of every window, if the question sets it.
    runtime: Option<Nanos>,
    /// Requests that a run should hold.
    wanted_ios: f64,
    budget: Nanos,
    spent_ns: u64,
    /// Runs so far, and their time beyond their windows.
    done: u64,
    preparing_ns: u64,
}

/// The search for one kind and size of requests.
#[derive(Debug, Clone)]
struct Search {
    /// The run at full depth, in a closed loop.
    base: Workload,
    bound: LatencyBound,
    knee: Knee,
    /// Whether writes go beside the reads once the knee is known.
    is_mixed_later: bool,
    /// Runs of each workload with writes beside the reads.
    mixed: BTreeMap<Workload, usize>,
    is_given_up: bool,
}

impl LoadRuns {
    /// The runs of a study about `question`, with `whole` for all experiments but commits; none if it does not ask for them,
    /// or the target cannot have them.
    pub fn new(question: &Question, environment: &Environment, whole: Nanos) -> Self {
        let bound = question.latency_bound.filter(|_| question.experiments.contains(&Experiment::Load));
        let cells = bound.map(|bound| (bound, plan(Experiment::Load, &PlanRequest { question, environment })));
        let is_mixed_later = question.directions.contains(&Direction::Write);
        let searches: Vec<Search> = match cells {
            Some((bound, Ok(cells))) => {
                cells.iter().map(|cell| Search::new(cell.workload, bound, is_mixed_later)).collect()
            }
            Some((_, Err(_))) | None => Vec::new(),
        };
        let has_others = question.experiments.iter().any(|experiment| !experiment.has_own_runs());
        let share = match (has_others, question.experiments.contains(&Experiment::Sustain)) {
            (true, _) => SHARE,
            (false, true) => SHARE_BESIDE_SUSTAIN,
            (false, false) => 1.0,
        };
        let late_share = bound.map_or(1.0, |bound| 1.0 - bound.percentile.share());
        Self {
            budget: if searches.is_empty() { Nanos(0) } else { Nanos((whole.0 as f64 * share) as u64) },
            searches,
            seed: question.seed,
            repeats: question.repeats.max(2) as usize,
            runtime: question.runtime,
            wanted_ios: (BEYOND / late_share).max(FEWEST),
            spent_ns: 0,
            done: 0,
            preparing_ns: 0,
        }
    }

    /// The runs that are known before anything is measured.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.searches.iter().map(|search| self.run(search, search.base))
    }

    /// When the search with this index should have ended, in time spent by all.
    fn until_ns(&self, index: usize) -> u64 {
        (self.budget.0 as f64 * (index + 1) as f64 / self.searches.len() as f64) as u64
    }

    /// The time that a run will take, from the preparation of those before it.
    fn expected_ns(&self, run: &Run) -> u64 {
        let unseen_ns = (run.runtime.0 as f64 * PREPARING) as u64;
        run.runtime.0 + self.preparing_ns.checked_div(self.done).unwrap_or(unseen_ns)
    }

    /// Time of one search.
    fn share_ns(&self) -> f64 {
        self.budget.0 as f64 / self.searches.len().max(1) as f64
    }

    /// The usual window and the longest one, in nanoseconds.
    fn windows_ns(&self) -> (f64, f64) {
        if let Some(runtime) = self.runtime {
            return (runtime.0 as f64, runtime.0 as f64);
        }
        let usual = (self.share_ns() / RUNS).clamp(WINDOW_NS.0, WINDOW_NS.1);
        (usual, (self.share_ns() * LONGEST).max(usual))
    }

    /// What limits a search: the lowest rate is that of which the longest window holds enough requests.
    fn terms_of(&self, search: &Search) -> SearchTerms {
        let (_, longest_ns) = self.windows_ns();
        let takes_iops = search.knee.takes_iops().unwrap_or(0.0);
        let least = (self.wanted_ios * 1e9 / longest_ns).min(LEAST_SHARE * takes_iops);
        SearchTerms { least_iops: (least.ceil() as u64).max(1), repeats: self.repeats }
    }

    fn run(&self, search: &Search, workload: Workload) -> Run {
        let (usual_ns, longest_ns) = self.windows_ns();
        let holds_ns = match workload.rate {
            Some(rate) => self.wanted_ios * 1e9 / rate.iops.max(1) as f64,
            // What the target takes is measured again where it decides.
            None if search.knee.closed_runs() > 0 => longest_ns,
            None => 0.0,
        };
        let window_ns = holds_ns.clamp(usual_ns, longest_ns);
        let runtime = self.runtime.unwrap_or(Nanos(((window_ns / UNIT_NS).round() * UNIT_NS) as u64));
        let repeat = search.runs(&workload) as u32;
        let pass = Pass::Plain;
        let seed = seeded(self.seed, &workload, pass, repeat);
        Run { experiment: Some(Experiment::Load), workload, repeat, pass, runtime, seed }
    }
}

impl OwnRuns for LoadRuns {
    fn experiment(&self) -> Experiment {
        Experiment::Load
    }

    fn budget(&self) -> Nanos {
        self.budget
    }

    fn known(&self) -> Vec<Run> {
        self.runs().collect()
    }

    fn observe(&mut self, record: &Record) {
        self.done += 1;
        self.spent_ns += record.of_budget_ns();
        self.preparing_ns += record.of_budget_ns().saturating_sub(record.run.runtime.0);
        if let Some(search) = self.searches.iter_mut().find(|search| search.holds(&record.run.workload)) {
            search.observe(record);
        }
    }

    fn give_up(&mut self, workload: &Workload) {
        if let Some(search) = self.searches.iter_mut().find(|search| search.holds(workload)) {
            if search.is_of_base(workload) { search.is_given_up = true } else { search.is_mixed_later = false }
        }
    }

    fn next(&self) -> Step {
        let mut end = Step::Answered;
        for (index, search) in self.searches.iter().enumerate() {
            let Some(workload) = search.wanted(&self.terms_of(search)) else { continue };
            let run = self.run(search, workload);
            if self.spent_ns == 0 || self.spent_ns + self.expected_ns(&run) <= self.until_ns(index) {
                return Step::Run(run);
            }
            end = Step::BudgetSpent;
        }
        end
    }

    fn left(&self) -> Nanos {
        match self.next() {
            Step::Run(_) => Nanos(self.budget.0.saturating_sub(self.spent_ns)),
            Step::Answered | Step::BudgetSpent => Nanos(0),
        }
    }
}

impl Search {
    fn new(base: Workload, bound: LatencyBound, writes_are_asked_for: bool) -> Self {
        let is_mixed_later = writes_are_asked_for && base.rw.direction() == Some(Direction::Read);
        Self { base, bound, knee: Knee::new(bound), is_mixed_later, mixed: BTreeMap::new(), is_given_up: false }
    }

    /// Whether a workload is of the same kind and size, with no writes beside it.
    fn is_of_base(&self, workload: &Workload) -> bool {
        (workload.rw, workload.bs) == (self.base.rw, self.base.bs)
    }

    /// Whether a workload belongs to this search.
    fn holds(&self, workload: &Workload) -> bool {
        let is_mixed = workload.rw.direction().is_none() && self.base.rw.direction() == Some(Direction::Read);
        self.is_of_base(workload) || (is_mixed && workload.bs == self.base.bs)
    }

    fn observe(&mut self, record: &Record) {
        let workload = record.run.workload;
        if !self.is_of_base(&workload) {
            *self.mixed.entry(workload).or_default() += 1;
            return;
        }
        // Where requests fail, a percentile of the others tells nothing.
        if record.ios == 0 || record.error_count() > 0 {
            self.is_given_up = true;
            return;
        }
        match workload.rate {
            Some(arrival) => self.knee.add(arrival.iops, LoadSeen::of(record, self.bound.percentile)),
            None => self.knee.add_closed(record),
        }
    }

    /// Runs of a workload so far.
    fn runs(&self, workload: &Workload) -> usize {
        match workload.rate {
            _ if !self.is_of_base(workload) => self.mixed.get(workload).copied().unwrap_or(0),
            Some(arrival) => self.knee.runs(arrival.iops),
            None => self.knee.closed_runs(),
        }
    }

    /// What the next run should measure; `None` if all is known.
    fn wanted(&self, terms: &SearchTerms) -> Option<Workload> {
        if self.is_given_up {
            return None;
        }
        let at = |iops: u64| Workload { rate: Some(Arrival { iops, arrivals: Arrivals::Poisson }), ..self.base };
        match self.knee.wanted(terms) {
            Some(LoadRate::Closed) => return Some(self.base),
            Some(LoadRate::Open(iops)) => return Some(at(iops)),
            None => {}
        }
        let half = at(self.knee.half()?);
        let shares = load::WRITE_PERCENTS.iter().filter(|_| self.is_mixed_later);
        let mixed = shares.map(|percent| load::with_writes(&half, *percent));
        let least_runs = std::iter::once(half).chain(mixed).min_by_key(|workload| self.runs(workload))?;
        (self.runs(&least_runs) < terms.repeats).then_some(least_runs)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use halfpower_experiments::load::{LoadVerdict, MostLoad};
    use halfpower_experiments::{ExperimentAnswer, analyse};
    use halfpower_measure::{SimulatedTarget, TargetBackend, measure};
    use halfpower_spec::{Bytes, Percentile, Rw};

    use super::*;
    use crate::built::disk;
    use crate::own_runs::tests::records;

    fn question(bound_us: u64) -> Question {
        Question {
            experiments: vec![Experiment::Load],
            directions: vec![Direction::Read],
            latency_bound: Some(LatencyBound { percentile: Percentile::P99, most: Nanos(bound_us * 1_000) }),
            budget: Nanos(300_000_000_000),
            ..Question::about("sim:")
        }
    }

    fn found(constants: &str, question: &Question) -> Vec<MostLoad> {
        let (environment, records) = records(constants, question);
        let spent_ns: u64 = records.iter().map(Record::of_budget_ns).sum();
        assert!(spent_ns <= question.budget.0 + 1_000_000_000, "{spent_ns}");
        let findings = analyse(question, &environment, &records);
        println!("{constants}, {} runs: {}", records.len(), findings.experiments[0].answer);
        let Some(ExperimentAnswer::Load(found)) = &findings.experiments[0].found else { panic!("{constants}") };
        found.found.clone()
    }

    /// The share of requests that wait at most `wait` for a server of M/D/1 with this service time, in the same unit as
    /// `wait` and 1 / `rate` (A. K. Erlang, The theory of probabilities and telephone conversations, 1909).
    fn share_that_waits_at_most(wait: f64, rate: f64, service: f64) -> f64 {
        let mut sum = 0.0;
        let mut factorial = 1.0;
        for served in 0..=(wait / service) as u32 {
            factorial *= f64::from(served.max(1));
            let behind = rate * (f64::from(served) * service - wait);
            sum += behind.powi(served as i32) / factorial * (-behind).exp();
        }
        (1.0 - rate * service) * sum
    }

    /// The rate in requests a millisecond at which a share of 99% waits at most `wait`, with a service time of 1 ms.
    fn knee_of_one_server(wait: f64) -> f64 {
        let mut low = 0.001;
        let mut high = 0.999;
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if share_that_waits_at_most(wait, middle, 1.0) > 0.99 { low = middle } else { high = middle }
        }
        low
    }

    /// Poisson arrivals at one server of fixed service time are M/D/1. Four seeds: the interval may miss once.
    #[test]
    fn the_knee_of_one_server_is_that_of_queueing_theory() {
        let truth = 1_000.0 * knee_of_one_server(4.0);
        assert!((truth - 560.8).abs() < 0.1, "{truth}: p99 of 5 ms is a wait of four services");
        let mut missed = 0;
        for seed in 1..=4 {
            let found = found("fixed=1ms,rate=100GB/s", &Question { seed, ..question(5_000) });
            let most = &found[0];
            let iops = most.iops.unwrap();
            assert_eq!((found.len(), most.verdict, most.decided), (1, LoadVerdict::Knee, true), "{most:?}");
            assert!((iops.value / truth - 1.0).abs() < 0.12, "{truth}: {most:?}");
            missed += usize::from(iops.low > truth || truth > iops.high);
            let half = most.at.unwrap();
            assert!((half.iops as f64 / iops.value - 0.5).abs() < 0.01, "{most:?}");
            // Half of the knee's rate is 0.28 of the server.
            assert!((1.5e6..3.5e6).contains(&half.latency_ns.value), "{half:?}");
        }
        assert!(missed <= 1, "{missed} of 4");
    }

    /// A limiter lets requests through in slices of a tenth of a second, as the kernel's control groups do. The bound is one
    /// slice: a rate just above the limit exceeds it after several windows only.
    #[test]
    fn a_limit_in_slices_is_never_exceeded() {
        for seed in 1..=6 {
            let question = Question { seed, budget: Nanos(100_000_000_000), ..question(100_000) };
            let most = found("fixed=50us,rate=100GB/s,disks=8,iops=1000,slice=100ms", &question).remove(0);
            assert!((0.88..=1.01).contains(&(most.iops.unwrap().value / 1_000.0)), "{most:?}");
        }
    }

    /// No closed form is at hand for several servers: the knee of a fine sweep in virtual time stands for it.
    #[test]
    fn the_knee_of_several_servers_is_that_of_a_fine_sweep() {
        let constants = "fixed=4ms,rate=100GB/s,disks=4";
        let question = question(12_000);
        let most = found(constants, &question).remove(0);
        let mut backend = SimulatedTarget::new(disk(constants));
        let environment = backend.environment().clone();
        let base = LoadRuns::new(&question, &environment, question.budget).searches[0].base;
        let mut p99 = |iops: u64| {
            let workload = Workload { rate: Some(Arrival { iops, arrivals: Arrivals::Poisson }), ..base };
            let runtime = Nanos(60_000_000_000);
            let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: iops };
            LoadSeen::of(&measure(&mut backend, &run, &AtomicBool::new(false)).unwrap(), Percentile::P99).latency_ns
        };
        let below: Vec<u64> = (35..50).map(|step| 20 * step).take_while(|iops| p99(*iops) < 12_000_000).collect();
        let knee = *below.last().unwrap() as f64 + 10.0;
        let iops = most.iops.unwrap();
        assert!((iops.value / knee - 1.0).abs() < 0.06, "{knee}: {most:?}");
        assert!(iops.low <= knee + 20.0 && knee - 20.0 <= iops.high, "{knee}: {most:?}");
    }

    #[test]
    fn a_bound_below_the_service_time_is_never_kept_and_a_wide_one_limits_nothing() {
        let never = found("fixed=1ms,rate=100GB/s", &question(500)).remove(0);
        assert_eq!((never.verdict, never.iops), (LoadVerdict::NeverBelow, None));
        let at = never.at.unwrap();
        assert!(at.iops <= 20 && at.latency_ns.value >= 1e6, "{at:?}");
        let all = found("fixed=1ms,rate=100GB/s", &question(1_000_000)).remove(0);
        assert_eq!(all.verdict, LoadVerdict::NotLimited, "{all:?}");
        assert!(all.at.unwrap().iops > 900 && (all.takes_iops / 1_000.0 - 1.0).abs() < 0.02, "{all:?}");
    }

    #[test]
    fn reads_beside_writes_have_the_percentile_of_reads_alone_where_both_take_as_long() {
        let directions = vec![Direction::Read, Direction::Write];
        let most = found("fixed=1ms,rate=100GB/s", &Question { directions, ..question(5_000) }).remove(0);
        let shares: Vec<u8> = most.beside_writes.iter().map(|beside| beside.write_percent).collect();
        assert_eq!(shares, [0, 10, 30, 50], "{most:?}");
        let alone_ns = most.beside_writes[0].latency_ns.value;
        for beside in &most.beside_writes {
            assert!(beside.keeps_up && (beside.latency_ns.value / alone_ns - 1.0).abs() < 0.4, "{most:?}");
        }
    }

    #[test]
    fn each_size_has_its_search_and_a_search_that_was_cut_goes_on_as_it_would_have() {
        let question = Question { bs: vec![Bytes(4096), Bytes(65_536)], repeats: 2, ..question(5_000) };
        let (environment, records) = records("fixed=1ms,rate=200MB/s", &question);
        let sizes: Vec<u64> = records.iter().map(|record| record.run.workload.bs.0).collect();
        assert!(sizes.is_sorted() && sizes.contains(&4096) && sizes.contains(&65_536), "{sizes:?}");
        let mut resumed = LoadRuns::new(&question, &environment, question.budget);
        for record in &records {
            assert_eq!(resumed.next(), Step::Run(record.run));
            resumed.observe(record);
        }
        assert!(!matches!(resumed.next(), Step::Run(_)));
    }

    #[test]
    fn they_come_after_the_fixed_plans_and_before_sustained_writes_or_not_at_all() {
        let experiments = vec![Experiment::Zones, Experiment::Sustain, Experiment::Load];
        let asked = Question {
            experiments,
            directions: vec![Direction::Read, Direction::Write],
            sustain_bytes: Some(Bytes(1 << 30)),
            ..question(5_000)
        };
        let (_, all) = records("fixed=1ms,rate=1GB/s", &asked);
        let first = all.iter().position(|record| record.run.experiment == Some(Experiment::Load)).unwrap();
        let last = all.iter().rposition(|record| record.run.experiment == Some(Experiment::Load)).unwrap();
        assert!(first > 0 && all[first..=last].iter().all(|record| record.run.experiment == Some(Experiment::Load)));
        assert!(
            all[last + 1..].iter().all(|record| record.run.experiment == Some(Experiment::Sustain))
                && last + 1 < all.len()
        );
        let spent_ns: u64 = all[first..=last].iter().map(Record::of_budget_ns).sum();
        assert!(spent_ns as f64 <= SHARE * asked.budget.0 as f64 + 1e9, "{spent_ns}");
        let unbound = Question { latency_bound: None, ..asked };
        let (_, all) = records("fixed=1ms,rate=1GB/s", &unbound);
        assert!(all.iter().all(|record| record.run.experiment != Some(Experiment::Load)));
    }

    #[test]
    fn what_cannot_be_measured_is_asked_for_no_more() {
        let backend = SimulatedTarget::new(disk("fixed=1ms,rate=1GB/s"));
        let mut runs = LoadRuns::new(&question(5_000), backend.environment(), Nanos(60_000_000_000));
        let Step::Run(first) = runs.next() else { panic!("nothing to do") };
        assert_eq!((runs.runs().next(), first.workload.rw, first.workload.rate), (Some(first), Rw::Randread, None));
        runs.give_up(&first.workload);
        assert_eq!((runs.next(), runs.left()), (Step::Answered, Nanos(0)));
    }
}
