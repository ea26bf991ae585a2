//! Implements the target backend of all processes together.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use halfpower_measure::{Account, MeasureError, Spent, TargetBackend, forwards};
use halfpower_record::{DiscardReason, DiscardedWindow, LEAST_OVERLAP, Record, overlap};
use halfpower_spec::{Bytes, Hosts, Pass, Run, Workload};
use serde_json::Value;

use crate::crew::{Crew, Opened};
use crate::lead::Order;
use crate::meeting::{Opening, meet};
use crate::notes::Notes;
use crate::part::Part;
use crate::tree::{bring_together, tell};
use crate::{HostsError, Lead};

/// How many times a run is repeated if its windows were not open together.
const AGAIN: usize = 2;

/// The target as one process sees it, connected with those of the others.
pub struct HostsTarget {
    own: Box<dyn TargetBackend>,
    crew: Rc<Crew>,
    state: Rc<RefCell<State>>,
    /// Discarded windows of the run in progress, which were not open together, and the time they took.
    discarded: Vec<DiscardedWindow>,
    discarded_ns: u64,
    /// Number of this process's notes that process 0 has already.
    reported_notes: usize,
}

/// Progress of the current run.
#[derive(Default)]
struct State {
    beginning: Beginning,
    /// Whether windows open at one instant everywhere.
    in_step: bool,
    opened: Opened,
}

/// Whether the run has begun on all processes.
#[derive(Default)]
enum Beginning {
    /// This process has not said yet whether it can begin.
    #[default]
    Open,
    /// The run has begun everywhere.
    Together,
    /// A process could not begin, for this reason.
    Failed(MeasureError),
}

impl HostsTarget {
    /// Meets the other processes, and opens the target as `asked` on all. Called on process 0.
    ///
    /// # Errors
    /// If a process runs another version or cannot open the target, in a sentence that names it.
    pub fn meet(lead: &Lead, program: &str, asked: &Value, open: &mut Opening<'_>) -> Result<Self, MeasureError> {
        tell(lead.ranks().as_ref(), Some(Order::Meet(asked.clone())))?;
        let (crew, opened, places) = meet(lead.ranks(), program, asked, open)?;
        let mut target = Self::of(crew, opened.target);
        let environment = target.own.environment_mut();
        environment.levels = halfpower_measure::levels_of_hosts(&places);
        environment.hosts = places.into_iter().map(|(place, _)| place).collect();
        // The same study may go on with other hosts: they share the target, not the machine.
        (environment.place.machine, environment.place.kernel) = (None, None);
        Ok(target)
    }

    pub(crate) fn of(crew: Crew, own: Box<dyn TargetBackend>) -> Self {
        let state = Rc::new(RefCell::new(State::default()));
        Self { own, crew: Rc::new(crew), state, discarded: Vec::new(), discarded_ns: 0, reported_notes: 0 }
    }

    fn rank(&self) -> u32 {
        self.crew.ranks.rank()
    }

    fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// The processes that take part in this workload, which must end together.
    fn taking_part(&self, workload: &Workload) -> Result<Hosts, MeasureError> {
        let size = self.crew.ranks.size();
        let hosts = workload.options.hosts.unwrap_or(Hosts::first(size));
        if hosts.ranks().end > size || hosts.count == 0 {
            let what = format!(
                "--hosts {hosts}: there are {size} processes, 0 to {}; name some of these",
                size.saturating_sub(1)
            );
            return Err(MeasureError::Unfit { what });
        }
        if let Some(state) = workload.options.steady_state.filter(|_| hosts.count > 1) {
            let what = format!(
                "--steady-state {state}: each of the {} processes would end at a time of its own, and leave the others the path: \
                 leave it out, or start one process",
                hosts.count
            );
            return Err(MeasureError::Unfit { what });
        }
        Ok(hosts)
    }

    /// This process's part of a run, with its own seed. Only the first process of a computer runs the soaker, and only
    /// the first process of the run traces.
    fn own_run(&self, run: &Run, hosts: Hosts) -> Run {
        let rank = self.rank();
        let looks = match run.pass {
            Pass::Plain | Pass::Confirm => true,
            Pass::Soaker => self.crew.is_first_of_computer(hosts.ranks()),
            Pass::Traced => rank == hosts.from,
        };
        let seed = run.seed.wrapping_add(u64::from(rank).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut own = Run { seed, pass: if looks { run.pass } else { Pass::Plain }, ..*run };
        own.workload.options.hosts = None;
        own
    }

    /// Begins a run that process 0 ordered; `None` if this process takes no part.
    pub(crate) fn begin_run(&mut self, run: &Run, in_step: bool) -> Result<Option<Run>, MeasureError> {
        *self.state.borrow_mut() = State { in_step, ..State::default() };
        let hosts = self.taking_part(&run.workload)?;
        if hosts.ranks().contains(&self.rank()) {
            return Ok(Some(self.own_run(run, hosts)));
        }
        // It still passes every gate, because the others wait there for all processes.
        let begun = begin_together(&self.crew, &self.state, || Ok(()));
        // `give_part` reports why the run did not begin.
        begun.or_else(|error| if self.has_begun_or_failed() { Ok(()) } else { Err(error) })?;
        Ok(None)
    }

    fn has_begun_or_failed(&self) -> bool {
        !matches!(self.state.borrow().beginning, Beginning::Open)
    }

    /// Sends this process's part of a run towards process 0; returns the merged parts there, `None` elsewhere.
    pub(crate) fn give_part(
        &mut self,
        run: &Run,
        made: Option<Result<Record, MeasureError>>,
        stop: &AtomicBool,
    ) -> Result<Option<Part>, MeasureError> {
        let State { beginning, opened, .. } = self.state.take();
        match (beginning, &made) {
            (Beginning::Failed(error), _) => return Err(error),
            (Beginning::Together, _) => {}
            // The others still wait for this one to begin: tell them that it cannot.
            (Beginning::Open, Some(Err(error))) => {
                self.crew.agree(Err(error))?;
                unreachable!("one that failed is no agreement");
            }
            (Beginning::Open, _) => unreachable!("a run that was made has begun"),
        }
        let hosts = self.taking_part(&run.workload)?;
        let tells = self.crew.is_first_of_computer(hosts.ranks());
        let part = match made {
            None => Part::default(),
            Some(Ok(record)) => Part::of(self.rank(), record, opened, tells),
            Some(Err(error)) => Part::failed(self.rank(), &self.crew.host, &error),
        };
        let part = part.interrupted(stop.load(Ordering::Relaxed)).noted(self.new_notes());
        Ok(bring_together(self.crew.ranks.as_ref(), part, Part::with)?)
    }

    /// This process's notes since the last call; none on process 0, which has its own already.
    fn new_notes(&mut self) -> Notes {
        if self.leads() {
            return Notes::default();
        }
        let all = &self.own.environment().notes;
        let new = Notes::of(self.rank(), &self.crew.host, all.get(self.reported_notes..).unwrap_or_default());
        self.reported_notes = all.len();
        new
    }

    /// Lays out what runs need here; succeeds if all processes succeed.
    pub(crate) fn make_ready_here(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        let own = self.own.make_ready(span, stop);
        self.crew.agree(own.as_ref().copied())
    }

    /// Passes all further requests to kernel workers here. Returns on process 0 whether that changes anything on any
    /// process, elsewhere `None`.
    pub(crate) fn hand_to_workers_here(&mut self) -> Result<Option<bool>, HostsError> {
        let changes = self.own.hand_to_workers();
        bring_together(self.crew.ranks.as_ref(), changes, |own, other| own || other)
    }

    /// The record; `None` if its windows were not open together and the run must be repeated.
    fn judged(&mut self, record: Record) -> Option<Record> {
        let together = overlap(&record.hosts).unwrap_or(1.0);
        if together < LEAST_OVERLAP && self.discarded.len() < AGAIN {
            self.discarded.push(record.discarded_for(DiscardReason::NotTogether));
            self.discarded_ns += record.spent_ns;
            return None;
        }
        if together < LEAST_OVERLAP {
            self.note(&format!(
                "runs whose hosts measured together for less than {:.0}% of their windows were kept after {} times",
                100.0 * LEAST_OVERLAP,
                AGAIN + 1
            ));
        }
        let mut record = record;
        record.discarded.append(&mut self.discarded);
        record.spent_ns += std::mem::take(&mut self.discarded_ns);
        Some(record)
    }
}

/// Begins together with the others; fails if a process cannot.
fn begin_together(
    crew: &Crew,
    state: &RefCell<State>,
    begin: impl FnOnce() -> Result<(), MeasureError>,
) -> Result<(), MeasureError> {
    if !matches!(state.borrow().beginning, Beginning::Open) {
        return Err(MeasureError::Elsewhere { what: "a run that others have begun cannot be begun again".to_string() });
    }
    if let Err(error) = crew.agree(Ok(())) {
        let same = MeasureError::Elsewhere { what: error.to_string() };
        let same = if matches!(error, MeasureError::Interrupted) { MeasureError::Interrupted } else { same };
        state.borrow_mut().beginning = Beginning::Failed(same);
        return Err(error);
    }
    state.borrow_mut().beginning = Beginning::Together;
    let in_step = state.borrow().in_step;
    if !in_step {
        return begin();
    }
    let clock = crew.compare_clocks()?;
    begin()?;
    state.borrow_mut().opened = crew.open(clock)?;
    Ok(())
}

impl TargetBackend for HostsTarget {
    forwards!(own: environment environment_mut predicted span_bytes prepare check_direct cached_after read_back
        harness_ns_per_io client_ns_per_io clock_ns unix_ms);

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        self.taking_part(workload)?;
        let mut own = *workload;
        own.options.hosts = None;
        self.own.admits(&own)
    }

    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        tell(self.crew.ranks.as_ref(), Some(Order::MakeReady { span }))?;
        self.make_ready_here(span, stop)
    }

    // Requests may be given back on any process. One that is gone is heard of in the next window.
    fn hand_to_workers(&mut self) -> bool {
        let told = tell(self.crew.ranks.as_ref(), Some(Order::HandToWorkers));
        told.and_then(|_| self.hand_to_workers_here()).is_ok_and(|changes| changes == Some(true))
    }

    fn share_out(&mut self, run: &Run) -> Result<Option<Run>, MeasureError> {
        assert!(self.leads(), "process 0 shares out");
        self.taking_part(&run.workload)?;
        let in_step = self.own.unix_ms() > 0;
        tell(self.crew.ranks.as_ref(), Some(Order::Run { run: Box::new(*run), in_step }))?;
        self.begin_run(run, in_step)
    }

    fn put_together(
        &mut self,
        run: &Run,
        made: Option<Result<Record, MeasureError>>,
        stop: &AtomicBool,
    ) -> Result<Option<Record>, MeasureError> {
        let discarded = std::mem::take(&mut self.discarded);
        let discarded_ns = std::mem::take(&mut self.discarded_ns);
        let part = self.give_part(run, made, stop)?.expect("process 0 puts together");
        for note in part.notes.clone().sentences(&self.environment().notes) {
            self.note(&note);
        }
        let interrupted = part.interrupted;
        let record = part.whole(run)?;
        if stop.load(Ordering::Relaxed) {
            // The user stopped the run: a part of it is still of use.
            return Ok(Some(record));
        }
        if interrupted {
            return Err(MeasureError::Interrupted);
        }
        (self.discarded, self.discarded_ns) = (discarded, discarded_ns);
        Ok(self.judged(record))
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let near = self.own.account(pass)?;
        Ok(Box::new(Together { near, crew: Rc::clone(&self.crew), state: Rc::clone(&self.state) }))
    }
}

/// The account of this process, which begins when all processes do.
struct Together {
    near: Box<dyn Account>,
    crew: Rc<Crew>,
    state: Rc<RefCell<State>>,
}

impl Account for Together {
    fn begin(&mut self) -> Result<(), MeasureError> {
        let near = &mut self.near;
        begin_together(&self.crew, &self.state, || near.begin())
    }

    fn end(&mut self) -> Spent {
        self.near.end()
    }
}
