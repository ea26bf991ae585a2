//! Drives all lanes of a run, each on its own thread, and gives up on lanes that hang.
//!
//! No lane can hang the run. If a lane cannot start, fails or panics, the run ends with an error. If the target stops
//! answering, the lane and its engine are abandoned and its requests are counted as unanswered.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use halfpower_engine::{EngineError, Errno};
use halfpower_os::clock::since_boot;
use halfpower_os::processor;
use halfpower_record::{LaneLatencies, LaneRecord, LaneRole, LaneSide, Latency};
use halfpower_spec::{Nanos, Run, Workload, WorkloadOptions};

use crate::offsets::Offsets;
use crate::schedule::Schedule;
use crate::silence::{Silence, Watch};
use crate::steady_end::{SteadyEnd, Teller, Told};
use crate::target_backend::{Account, Lane, Prepared, Spent};
use crate::window::{Tally, Terms, Window};
use crate::{MeasureError, background};

/// How often to check whether the user wants to stop and whether the target is silent.
const LOOK: Duration = Duration::from_millis(50);
/// How much later than asked the watching thread must wake for the process to have been stopped, as by SIGSTOP or by a
/// machine that was suspended: a busy machine lets it wait for less.
const STOPPED: Duration = Duration::from_millis(500);
/// How long lanes may take to end after the user asked to stop.
const AFTER_STOP: Duration = Duration::from_secs(10);

/// The outcome of a lane.
pub(crate) struct LaneOutcome {
    pub role: LaneRole,
    pub cpu: Option<usize>,
    /// Whether it trimmed blocks, which counts neither as reading nor as writing.
    pub trims: bool,
    pub tally: Tally,
    /// Whether its target stopped answering.
    pub is_lost: bool,
}

impl LaneOutcome {
    /// The lane's part of the record.
    pub(crate) fn record(&self) -> LaneRecord {
        let Self { role, cpu, tally, trims, .. } = self;
        let trims = *trims && *role == LaneRole::Own;
        LaneRecord {
            role: *role,
            cpu: cpu.map(|cpu| cpu as u32),
            elapsed_ns: tally.end.0 - tally.start.0,
            bytes: tally.bytes,
            ios: tally.ios,
            reads: (!trims).then(|| side(tally.read_bytes, &tally.read_latency.latency())),
            writes: (!trims).then(|| side(tally.bytes - tally.read_bytes, &tally.write_latency.latency())),
        }
    }

    /// The lane's latencies.
    pub(crate) fn latencies(&self) -> LaneLatencies {
        let Tally { read_latency, write_latency, .. } = &self.tally;
        LaneLatencies { reads: read_latency.latency(), writes: write_latency.latency() }
    }
}

fn side(bytes: u64, latency: &Latency) -> LaneSide {
    LaneSide {
        ios: latency.count(),
        bytes,
        latency_ns_mean: latency.mean_ns(),
        latency_ns_deviation: latency.deviation_ns(),
    }
}

/// How a lane ended; it hands its engine back, so that closing the engine is not accounted.
type Ended = (Option<Lane>, Result<Tally, MeasureError>);

/// Whether the windows may open.
#[derive(Clone, Copy, PartialEq)]
enum Gate {
    Closed,
    Open,
    /// They never open: the run is cancelled.
    Locked,
}

/// What the lanes share with the thread that watches them.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Ends the workload's lanes.
    stop: AtomicBool,
    /// Ends the lanes beside the workload.
    over: AtomicBool,
    own_lanes: AtomicUsize,
    /// Threads that each of these stands for: in virtual time one lane has the requests of all.
    threads_of_lane: u32,
    /// Own lanes whose queue has not turned over yet; `None` if windows open with empty queues.
    cold_lanes: Option<AtomicUsize>,
    /// The least time that it takes.
    turnover: Nanos,
    /// Grows whenever a lane gets completions.
    progress: AtomicU64,
    /// Where own lanes tell what they counted, if the run ends when it is steady.
    seconds: Option<SyncSender<Told>>,
}

struct State {
    gate: Gate,
    ready: usize,
    ended: Vec<Option<Ended>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_gate(&self, gate: Gate) {
        self.state().gate = gate;
        self.changed.notify_all();
    }

    /// Reports a lane as ready and waits; returns whether its window may open.
    fn wait_for_gate(&self) -> bool {
        let mut state = self.state();
        state.ready += 1;
        self.changed.notify_all();
        let state = self.changed.wait_while(state, |state| state.gate == Gate::Closed);
        state.unwrap_or_else(PoisonError::into_inner).gate == Gate::Open
    }

    fn end(&self, index: usize, role: LaneRole, ended: Ended) {
        let failed = ended.1.is_err();
        if failed {
            self.stop.store(true, Ordering::Relaxed);
        }
        if failed || role == LaneRole::Own && self.own_lanes.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.over.store(true, Ordering::Relaxed);
        }
        self.state().ended[index] = Some(ended);
        self.changed.notify_all();
    }

    /// Waits until `done`; asks `give_up` every [`LOOK`] and returns early if it says so. Gives the time for which the
    /// process was stopped meanwhile.
    fn wait(&self, done: impl Fn(&State) -> bool, mut give_up: impl FnMut() -> bool) -> Duration {
        let mut stopped = Duration::ZERO;
        let mut state = self.state();
        while !done(&state) {
            let asleep = since_boot();
            let waited = self.changed.wait_timeout(state, LOOK);
            stopped += stopped_between(asleep, since_boot());
            let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = next;
            if timeout.timed_out() && give_up() {
                break;
            }
        }
        stopped
    }
}

/// For how long the process did not run between two readings of the time since the machine started, of which it wanted to
/// sleep for [`LOOK`]. That time runs on while the machine is suspended, as CLOCK_MONOTONIC does not.
fn stopped_between(asleep: Duration, awake: Duration) -> Duration {
    let late = awake.saturating_sub(asleep).saturating_sub(LOOK);
    if late > STOPPED { late } else { Duration::ZERO }
}

/// Opens all windows at once and closes the account when the last window has closed.
///
/// # Errors
/// If a thread cannot start, a lane fails or panics, or the user stops a lane that does not come back.
pub(crate) fn drive(
    prepared: Prepared,
    run: &Run,
    account: &mut dyn Account,
    stop: &AtomicBool,
) -> Result<(Vec<LaneOutcome>, Spent), MeasureError> {
    let Prepared { lanes, flush, silence, warms_up, .. } = prepared;
    let terms = Terms::of(run, flush);
    let is_judged = run.workload.options.steady_state.is_some();
    let ends_early = is_judged || lanes.iter().any(|lane| lane.most_bytes.is_some());
    let identities: Vec<_> = lanes.iter().map(|lane| (lane.role, lane.cpu, lane.depth)).collect();
    let own_lanes = lanes.iter().filter(|lane| lane.role == LaneRole::Own).count();
    let own = (0..lanes.len()).filter(|lane| lanes[*lane].role == LaneRole::Own);
    let (seconds, mut steady) = run.workload.options.steady_state.map(|asked| SteadyEnd::new(asked, own)).unzip();
    let shared = Arc::new(Shared {
        state: Mutex::new(State { gate: Gate::Closed, ready: 0, ended: lanes.iter().map(|_| None).collect() }),
        changed: Condvar::new(),
        stop: AtomicBool::new(stop.load(Ordering::Relaxed)),
        over: AtomicBool::new(false),
        // Lanes beside the workload are not counted: they go on until the workload's lanes end.
        own_lanes: AtomicUsize::new(own_lanes),
        threads_of_lane: (run.workload.threads / (own_lanes as u32).max(1)).max(1),
        cold_lanes: warms_up.map(|_| AtomicUsize::new(own_lanes)),
        turnover: warms_up.unwrap_or_default(),
        progress: AtomicU64::new(0),
        seconds,
    });
    start(&shared, lanes, run, terms)?;
    let count = identities.len();
    let has_ended = |state: &State| state.ended.iter().flatten().count();
    let mut stopping = Stopping::new(&shared, stop);
    shared.wait(|state| state.ready + has_ended(state) >= count, || stopping.is_overdue());
    if shared.state().ready < count {
        // Hold one lock throughout: a lane that the locked gate turns away must not report before the one that failed.
        let mut state = shared.state();
        state.gate = Gate::Locked;
        let failed = state.ended.iter_mut().filter_map(Option::take).find_map(|(_, outcome)| outcome.err());
        drop(state);
        shared.changed.notify_all();
        return Err(failed.unwrap_or(MeasureError::Interrupted));
    }
    if let Err(error) = account.begin() {
        shared.set_gate(Gate::Locked);
        return Err(error);
    }
    shared.set_gate(Gate::Open);
    // A run that ends by its bytes may have all the time that they take, so that answers must come from the beginning on.
    let window = if ends_early { Nanos(0) } else { run.runtime };
    let opened = Instant::now();
    let mut watch = silence.map(|Silence { longest, write_back }| {
        Watch::new(&shared.progress, window, longest, move || write_back.so_far())
    });
    let all_ended = |state: &State| has_ended(state) == count;
    let stopped = shared.wait(all_ended, || {
        steady.iter_mut().for_each(|steady| steady.look(&shared.stop));
        stopping.is_overdue() || watch.as_mut().is_some_and(|watch| watch.is_silent(Instant::now()))
    });
    let mut spent = Spent { stopped_ns: stopped.as_nanos() as u64, ..account.end() };
    spent.notes.extend(steady.iter().map(SteadyEnd::note));
    shared.stop.store(true, Ordering::Relaxed);
    shared.over.store(true, Ordering::Relaxed);
    let trims = run.workload.rw.trims();
    let ended: Vec<Option<Ended>> = shared.state().ended.iter_mut().map(Option::take).collect();
    let lost_after = if ends_early { run.runtime.min(Nanos(opened.elapsed().as_nanos() as u64)) } else { run.runtime };
    let driven = identities.into_iter().zip(ended).map(|((role, cpu, depth), ended)| match ended {
        Some((_, outcome)) => Ok(LaneOutcome { role, cpu, trims, tally: outcome?, is_lost: false }),
        None => Ok(LaneOutcome { role, cpu, trims, tally: unanswered(lost_after, depth), is_lost: true }),
    });
    Ok((begun_together(driven.collect::<Result<Vec<_>, MeasureError>>()?), spent))
}

/// Starts a thread for each lane; if one cannot start, those before it end.
fn start(shared: &Arc<Shared>, lanes: Vec<Lane>, run: &Run, terms: Terms) -> Result<(), MeasureError> {
    let count = lanes.len();
    halfpower_os::address_space::admits_threads(count).map_err(|what| MeasureError::Thread { what })?;
    for (index, mut lane) in lanes.into_iter().enumerate() {
        let shared_here = Arc::clone(shared);
        let run = *run;
        let work = move || {
            let role = lane.role;
            let outcome = catch_unwind(AssertUnwindSafe(|| drive_lane(&mut lane, index, &run, terms, &shared_here)));
            let ended = match outcome {
                Ok(outcome) => (Some(lane), outcome),
                // After a panic the engine may be in a state that cannot be closed.
                Err(panic) => {
                    std::mem::forget(lane);
                    (None, Err(MeasureError::Thread { what: format!("panicked: {}", panic_message(&*panic)) }))
                }
            };
            shared_here.end(index, role, ended);
        };
        if let Err(error) = Builder::new().name(format!("lane {index}")).spawn(work) {
            shared.set_gate(Gate::Locked);
            let what = format!(
                "could not be started ({error}; {index} of {count} were): allow more processes or memory (`ulimit -u`, \
                 `ulimit -v`), or ask for fewer --threads"
            );
            return Err(MeasureError::Thread { what });
        }
    }
    Ok(())
}

/// Drives one lane, from the start of its thread to the end of its window.
fn drive_lane(lane: &mut Lane, index: usize, run: &Run, terms: Terms, shared: &Shared) -> Result<Tally, MeasureError> {
    let (workload, terms, stop): (Workload, Terms, &AtomicBool) = match lane.role {
        LaneRole::Own => (run.workload, terms, &shared.stop),
        LaneRole::Random => (background::reader(&run.workload), terms.of_reader(), &shared.over),
        LaneRole::Beside => {
            let load = run.workload.load_beside().expect("such a lane is opened for the load of its run");
            (load, terms.of_load(&load), &shared.over)
        }
    };
    let WorkloadOptions { fdatasync, flushing_threads, .. } = workload.options;
    let flushers = if flushing_threads == 0 { workload.threads } else { flushing_threads };
    // In virtual time one lane has the slots of all threads.
    let stands_for_threads = workload.threads > 1 && lane.depth == workload.total_depth();
    let flushes =
        lane.role == LaneRole::Beside || stands_for_threads || (index as u32) % run.workload.threads.max(1) < flushers;
    let terms = if flushes { terms } else { terms.without_flushes() };
    let pauses = if stands_for_threads { terms.pauses.of_threads(workload.threads) } else { terms.pauses };
    let terms = Terms { pauses, ..terms };
    let seed = run.seed.wrapping_add(index as u64);
    let pinned = lane.cpu.map_or(Ok(()), processor::pin_this_thread);
    pinned.map_err(|error| EngineError::Call { call: "sched_setaffinity", error })?;
    if let Some(priority) = workload.options.io_priority {
        let set = halfpower_os::io_priority::set_for_this_thread(priority.bits());
        set.map_err(|error| EngineError::Call { call: "ioprio_set", error })?;
    }
    lane.engine.settle()?;
    // Allocate here, in this thread's memory: lanes that share cache lines slow each other down.
    let offsets = Offsets::new(&workload, &lane.range, lane.once, seed);
    let schedule = workload.rate.map(|arrival| Schedule::new(arrival, seed).of_threads(shared.threads_of_lane));
    if schedule.is_some() || terms.pauses.thinktime > Nanos(0) {
        halfpower_os::clock::wake_promptly();
    }
    let window = Window::new(lane.engine.as_mut(), offsets, lane.depth, terms, stop).open_loop(schedule);
    let cold_lanes = shared.cold_lanes.as_ref().filter(|_| lane.role == LaneRole::Own);
    let teller = shared.seconds.as_ref().filter(|_| lane.role == LaneRole::Own).map(|to| Teller::of(to, index));
    let window = window
        .watched(&shared.progress)
        .told_by(teller)
        .warmed_up(cold_lanes, shared.turnover)
        .ends_after(lane.most_bytes);
    let mut window = window.each_slot_commits((stands_for_threads && fdatasync > 0).then_some(flushers));
    if lane.role == LaneRole::Own && !window.rests(run.workload.options.rest)? {
        return Err(MeasureError::Interrupted);
    }
    let waited_ns = processor::waited_by_this_thread_ns();
    if !shared.wait_for_gate() {
        return Err(MeasureError::Interrupted);
    }
    let tally = window.run()?;
    Ok(Tally { waited_ns: processor::waited_by_this_thread_ns().saturating_sub(waited_ns), ..tally })
}

/// The message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a word".to_string())
}

/// Lets lanes that hang begin with the first of the workload's lanes that ended: when they began is not known, and the
/// time from zero on would make the run as long as the process is old.
fn begun_together(mut driven: Vec<LaneOutcome>) -> Vec<LaneOutcome> {
    let ended = driven.iter().filter(|lane| !lane.is_lost && lane.role == LaneRole::Own);
    let Some(start) = ended.map(|lane| lane.tally.start).min() else { return driven };
    for tally in driven.iter_mut().filter(|lane| lane.is_lost).map(|lane| &mut lane.tally) {
        tally.end = Nanos(start.0.saturating_add(tally.end.0 - tally.start.0));
        tally.start = start;
    }
    driven
}

/// The tally of a lane that hangs: all its requests in flight count as unanswered, the rest is unknown.
fn unanswered(runtime: Nanos, depth: u32) -> Tally {
    Tally { end: runtime, errors: vec![(Errno::UNANSWERED, u64::from(depth))], step_ns: 1_000_000, ..Tally::default() }
}

/// Passes the user's wish to stop on to the lanes.
struct Stopping<'a> {
    shared: &'a Shared,
    stop: &'a AtomicBool,
    since: Option<Instant>,
}

impl<'a> Stopping<'a> {
    fn new(shared: &'a Shared, stop: &'a AtomicBool) -> Self {
        Self { shared, stop, since: None }
    }

    /// Passes the wish on; whether lanes have since had enough time to end.
    fn is_overdue(&mut self) -> bool {
        if !self.stop.load(Ordering::Relaxed) {
            return false;
        }
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.over.store(true, Ordering::Relaxed);
        self.since.get_or_insert_with(Instant::now).elapsed() > AFTER_STOP
    }
}

#[cfg(test)]
mod tests {
    use halfpower_engine::{Completion, Engine, Request};
    use halfpower_spec::{EngineName, Pass};

    use super::*;
    use crate::silence::WriteBack;
    use crate::target_backend::ClosingFlush;

    struct NoAccount;

    impl Account for NoAccount {
        fn begin(&mut self) -> Result<(), MeasureError> {
            Ok(())
        }

        fn end(&mut self) -> Spent {
            Spent::default()
        }
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Manner {
        Answers,
        Panics,
        PanicsAsItSettles,
        Fails,
        NeverAnswers,
    }

    /// What the clock of an engine shows at first: that of a process that has run for an hour.
    const AGE_NS: u64 = 3_600_000_000_000;

    /// An engine in real time with one kind of misbehaviour.
    struct Mannered(Manner, Instant, Vec<Completion>);

    impl Engine for Mannered {
        fn now(&self) -> Nanos {
            Nanos(AGE_NS + self.1.elapsed().as_nanos() as u64)
        }

        fn settle(&mut self) -> Result<(), EngineError> {
            assert!(self.0 != Manner::PanicsAsItSettles, "it cannot settle");
            Ok(())
        }

        fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
            self.2.extend(batch.iter().map(|request| Completion { slot: request.slot, result: Ok(request.length) }));
            Ok(())
        }

        fn reap(&mut self, _: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
            match self.0 {
                Manner::Panics => panic!("a lane of the test"),
                Manner::Fails => Err(EngineError::Unavailable { engine: "test", why: "it fails".to_string() }),
                Manner::NeverAnswers => loop {
                    std::thread::park();
                },
                Manner::Answers | Manner::PanicsAsItSettles => {
                    done.append(&mut self.2);
                    Ok(())
                }
            }
        }
    }

    fn driven(manners: &[Manner]) -> Result<Vec<LaneOutcome>, MeasureError> {
        driven_in(manners, Nanos(100_000_000))
    }

    /// Drives lanes of which some never answer, with so much silence that none is given up that only runs late.
    fn driven_late(manners: &[Manner]) -> Vec<LaneOutcome> {
        let answers = manners.iter().filter(|manner| **manner == Manner::Answers).count();
        let mut longest = Nanos(100_000_000);
        loop {
            let lanes = driven_in(manners, longest).unwrap();
            if lanes.iter().filter(|lane| !lane.is_lost).count() >= answers || longest.0 > 30_000_000_000 {
                return lanes;
            }
            longest.0 *= 5;
        }
    }

    fn driven_in(manners: &[Manner], longest: Nanos) -> Result<Vec<LaneOutcome>, MeasureError> {
        let lane = |manner: &Manner| Lane {
            engine: Box::new(Mannered(*manner, Instant::now(), Vec::new())),
            depth: 3,
            range: 0..1 << 20,
            once: false,
            most_bytes: None,
            role: LaneRole::Own,
            cpu: None,
        };
        let lanes = manners.iter().map(lane).collect();
        let silence = Some(Silence { longest, write_back: WriteBack::Nothing });
        let prepared = Prepared {
            lanes,
            engine: EngineName::Null,
            span_bytes: 1 << 20,
            spread_bytes: None,
            cached_bytes: None,
            buffer_segments: None,
            warms_up: None,
            flush: ClosingFlush::None,
            silence,
        };
        // A long window, so that a lane that should end the run does so before its end, however late its thread runs.
        let is_short = manners.iter().all(|manner| matches!(manner, Manner::Answers | Manner::NeverAnswers));
        let runtime = Nanos(if is_short { 20_000_000 } else { 60_000_000_000 });
        let workload = Workload::default();
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 1 };
        drive(prepared, &run, &mut NoAccount, &AtomicBool::new(false)).map(|(driven, _)| driven)
    }

    #[test]
    fn a_process_that_wakes_much_too_late_was_stopped_or_the_machine_was_suspended() {
        let asleep = Duration::from_secs(100);
        for (later, stopped) in [
            (LOOK, Duration::ZERO),
            (LOOK + STOPPED, Duration::ZERO),
            (LOOK + Duration::from_secs(5), Duration::from_secs(5)),
            (LOOK + Duration::from_secs(8 * 3600), Duration::from_secs(8 * 3600)),
        ] {
            assert_eq!(stopped_between(asleep, asleep + later), stopped, "{later:?}");
        }
        assert_eq!(stopped_between(asleep, Duration::ZERO), Duration::ZERO, "a clock that goes back");
    }

    #[test]
    fn a_panic_in_any_lane_ends_the_run_with_a_message() {
        for (manner, said) in [(Manner::Panics, "a lane of the test"), (Manner::PanicsAsItSettles, "it cannot settle")]
        {
            let error = driven(&[Manner::Answers, manner, Manner::Answers]).err().expect("it is an error").to_string();
            assert!(error.contains("panicked") && error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_lane_that_fails_ends_the_others() {
        let error = driven(&[Manner::Answers, Manner::Fails]).err().expect("it is an error").to_string();
        assert!(error.contains("it fails"), "{error}");
    }

    #[test]
    fn a_target_that_never_answers_is_recorded_and_left_behind() {
        let lanes = driven_late(&[Manner::Answers, Manner::NeverAnswers]);
        assert!(!lanes[0].is_lost && lanes[0].tally.ios > 0);
        assert!(lanes[1].is_lost);
        assert_eq!(lanes[1].tally.errors, [(Errno::UNANSWERED, 3)]);
    }

    #[test]
    fn a_lane_that_never_answers_does_not_make_the_run_as_long_as_the_process_is_old() {
        for manners in [[Manner::Answers, Manner::NeverAnswers], [Manner::NeverAnswers, Manner::Answers]] {
            let lanes = driven_late(&manners);
            let (lost, ended): (Vec<_>, Vec<_>) = lanes.iter().partition(|lane| lane.is_lost);
            let start = ended[0].tally.start;
            assert!(start.0 >= AGE_NS);
            assert_eq!((lost[0].tally.start, lost[0].record().elapsed_ns), (start, 20_000_000));
        }
        let alone = driven(&[Manner::NeverAnswers]).unwrap();
        assert_eq!((alone[0].is_lost, alone[0].record().elapsed_ns), (true, 20_000_000));
    }
}
