//! Does what one lane of a capture does: waits, asks, and notes when each operation began and how long it took.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use halfpower_os::interrupt::resumed;
use halfpower_os::{Buffers, Clock, FlushCall, RunFile, clock};
use halfpower_record::AwaitedSync;

use crate::ended::Ended;
use crate::files::LaidOut;
use crate::turns::{Turn, Turns};

/// Longest sleep before a lane looks whether the round is over.
const NAP_NS: u64 = 10_000_000;
/// A thread that sleeps wakes late by some tens of microseconds: so much of a pause is spent awake, if there is a processor
/// for each lane.
const AWAKE_NS: u64 = 50_000;
/// The same where lanes share processors.
const SHARED_AWAKE_NS: u64 = 5_000;
/// Most that a lane's own late waking shortens later pauses by.
const MOST_CARRIED_NS: u64 = 1_000_000;

/// What a step asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Read,
    Write,
    Flush(FlushCall),
}

/// A pause and a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Length of the pause, at the speed that was asked for, in nanoseconds.
    pub think_ns: u64,
    /// When an open loop asks, after the beginning of the pass, likewise.
    pub due_ns: u64,
    pub call: Call,
    /// Index into the lane's handles.
    pub handle: usize,
    pub offset: u64,
    pub bytes: u64,
    /// Index into the capture's operations.
    pub operation: usize,
    /// What its pause waits for instead, in a closed loop.
    pub wait: Option<Awaited>,
    /// Whether another lane waits for it.
    pub is_awaited: bool,
}

/// A sync of another lane that a pause lasts until.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Awaited {
    /// Index of the lane.
    pub lane: usize,
    /// Steps that it does up to and with the sync in its first pass, and in each pass.
    pub steps: u64,
    pub steps_of_pass: u64,
    /// Time that the pause takes at least before, at the speed that was asked for, in nanoseconds.
    pub think_ns: u64,
    /// Time that it takes after, likewise.
    pub after_ns: u64,
}

/// A commit that others may share, or that this lane shares.
#[derive(Debug, Clone)]
pub(crate) struct SharedCommit {
    /// The file that it goes to, and the log that this is of, named by the first file of that.
    pub file: u32,
    pub log: u32,
    /// Pause before it, at the speed that was asked for, in nanoseconds.
    pub think_ns: u64,
    /// Time from the end of another one's sync until this lane begins, likewise.
    pub handed_ns: u64,
    /// The steps that make it durable.
    pub steps: Range<usize>,
}

/// An operation that was done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    /// When it began, or was due in an open loop, after the round's beginning, in nanoseconds.
    pub at_ns: u64,
    pub took_ns: u64,
    /// Index into the capture's operations.
    pub operation: usize,
}

/// What all lanes of a round go by.
pub(crate) struct Round<'a> {
    pub files: &'a LaidOut,
    /// When it begins, by the clock.
    pub began_ns: u64,
    /// When the whole time is over, by the clock.
    pub until_ns: u64,
    /// How often each lane does its script before the round may end.
    pub passes: u64,
    /// Length of a pass of an open loop; `None` for a closed loop.
    pub open_pass_ns: Option<u64>,
    /// Lanes that have not done their passes.
    pub lanes_left: AtomicUsize,
    /// Whether lanes have to end.
    pub over: AtomicBool,
    /// When the last lane had done its passes, by the clock; 0 until then.
    pub ended_ns: AtomicU64,
    /// Whether some lane can keep no more.
    pub full: AtomicBool,
    /// How far each lane has come, for those that wait for it.
    pub ended: Vec<Ended>,
    /// Whose turn it is to commit each log that is committed in groups.
    pub turns: BTreeMap<u32, Turns>,
    /// The user's wish to stop.
    pub stop: &'a AtomicBool,
    /// Whether each lane may have a processor of its own.
    pub has_processors: bool,
}

impl Round<'_> {
    fn is_over(&self, now_ns: u64) -> bool {
        self.over.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed) || now_ns >= self.until_ns
    }

    /// Tells that one lane has done its passes; the last one ends the round.
    fn end_one(&self, now_ns: u64) {
        if self.lanes_left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.ended_ns.store(now_ns, Ordering::Relaxed);
            self.over.store(true, Ordering::Relaxed);
        }
    }

    /// Waits until `due_ns` by the clock; whether the round still goes on then.
    fn wait_until(&self, due_ns: u64, clock: &Clock) -> bool {
        let awake_ns = if self.has_processors { AWAKE_NS } else { SHARED_AWAKE_NS };
        loop {
            let now_ns = clock.now_ns();
            if self.is_over(now_ns) {
                return false;
            }
            let Some(left_ns) = due_ns.checked_sub(now_ns).filter(|left| *left > 0) else { return true };
            match left_ns.checked_sub(awake_ns) {
                Some(rest_ns) if rest_ns > 0 => std::thread::sleep(Duration::from_nanos(rest_ns.min(NAP_NS))),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

/// When a step is due.
#[derive(Debug, Clone, Copy)]
struct Due {
    /// What the thread is late by does not make it due before this, by the clock.
    earliest_ns: u64,
    at_ns: u64,
}

/// A lane, ready to go.
pub(crate) struct Lane {
    /// Its index among the lanes, and its number in the capture.
    pub index: usize,
    pub number: u32,
    /// Those of its script, and after them those that it does in place of other lanes.
    pub steps: Vec<Step>,
    /// How many are of its script.
    pub scripted: usize,
    /// Commits that are shared, by the step before which they come, or which they begin with.
    pub commits: BTreeMap<usize, Vec<SharedCommit>>,
    /// Pause after the last step, at the speed that was asked for.
    pub then_ns: u64,
    pub handles: Vec<Arc<RunFile>>,
    /// Indices of the files that this lane cuts before it does its script again.
    pub cuts: Vec<usize>,
    /// One slot: requests that are longer go in several.
    pub buffers: Buffers,
    pub clock: Clock,
    /// What it has done in this round; its room is all that there is.
    pub log: Vec<Done>,
    /// Its waits for the syncs of others in this round.
    pub awaited: Vec<AwaitedSync>,
    /// Requests that failed, by the system's words.
    pub failed: BTreeMap<String, u64>,
    /// Reads that got less than they asked for.
    pub short: u64,
    serial: u64,
}

impl Lane {
    pub(crate) fn new(steps: Vec<Step>, then_ns: u64, buffers: Buffers, room: usize) -> Self {
        Self {
            index: 0,
            number: 0,
            scripted: steps.len(),
            steps,
            commits: BTreeMap::new(),
            then_ns,
            handles: Vec::new(),
            cuts: Vec::new(),
            buffers,
            clock: Clock::new(),
            log: Vec::with_capacity(room),
            awaited: Vec::new(),
            failed: BTreeMap::new(),
            short: 0,
            serial: 0,
        }
    }

    /// Does its script again and again until the round is over.
    pub(crate) fn go(&mut self, round: &Round<'_>) {
        clock::wake_promptly();
        let mut free_ns = round.began_ns;
        let mut carried_ns = 0;
        for pass in 0.. {
            if pass > 0 {
                self.cuts.iter().filter_map(|file| round.files.files[*file].as_ref()).for_each(|file| file.cut());
            }
            let open_from_ns = round.open_pass_ns.map(|pass_ns| round.began_ns + pass * pass_ns);
            let Some(ended_ns) = self.script(pass, open_from_ns, free_ns, &mut carried_ns, round) else { return };
            free_ns = ended_ns;
            free_ns = match open_from_ns.zip(round.open_pass_ns) {
                Some((from_ns, pass_ns)) => free_ns.max(from_ns + pass_ns),
                None => free_ns + self.then_ns,
            };
            if !round.wait_until(free_ns, &self.clock) {
                return;
            }
            if pass + 1 == round.passes {
                round.end_one(self.clock.now_ns());
            }
        }
    }

    /// Does its script once; when its last operation ended, or `None` if the round is over.
    fn script(
        &mut self,
        pass: u64,
        open_from_ns: Option<u64>,
        mut free_ns: u64,
        carried_ns: &mut u64,
        round: &Round<'_>,
    ) -> Option<u64> {
        let mut at = 0;
        let mut committed = 0;
        loop {
            if let Some(commit) = self.commits.get(&at).and_then(|commits| commits.get(committed)).cloned() {
                free_ns = self.commit(&commit, free_ns, carried_ns, round)?;
                (at, committed) =
                    if commit.steps.end <= self.scripted { (commit.steps.end, 0) } else { (at, committed + 1) };
                continue;
            }
            if at >= self.scripted {
                return Some(free_ns);
            }
            let step = self.steps[at];
            let due = match open_from_ns {
                Some(from_ns) => Due { earliest_ns: from_ns + step.due_ns, at_ns: from_ns + step.due_ns },
                None => self.due(&step, free_ns, pass, round)?,
            };
            free_ns = self.take(&step, due, carried_ns, round)?;
            at += 1;
            committed = 0;
            if step.is_awaited {
                round.ended[self.index].tell(pass * self.scripted as u64 + at as u64, free_ns);
            }
        }
    }

    /// Makes a commit that others may share, or waits until another lane's sync has made it durable; when that ended, or
    /// `None` if the round is over.
    fn commit(&mut self, commit: &SharedCommit, free_ns: u64, carried_ns: &mut u64, round: &Round<'_>) -> Option<u64> {
        let due = Due { earliest_ns: free_ns, at_ns: free_ns + commit.think_ns };
        let came_ns = self.rest(due, carried_ns, round)?;
        let turns = &round.turns[&commit.log];
        let turn = turns.come(self.number, || round.is_over(self.clock.now_ns()))?;
        let mut waited = |until_ns: u64, shared: bool| {
            let (at_ns, file) = (came_ns - round.began_ns, commit.file);
            let took_ns = until_ns.saturating_sub(came_ns);
            self.awaited.push(AwaitedSync { slice: 0, lane: self.number, at_ns, took_ns, file, shared });
        };
        let mut due_ns = match turn {
            Turn::First => came_ns,
            Turn::Next(ended_ns) => {
                waited(ended_ns, false);
                ended_ns.max(came_ns) + commit.handed_ns
            }
            Turn::Durable(ended_ns) => {
                waited(ended_ns, true);
                return Some(ended_ns.max(came_ns));
            }
        };
        for (number, at) in commit.steps.clone().enumerate() {
            let step = self.steps[at];
            let think_ns = if number > 0 { step.think_ns } else { 0 };
            let due = Due { earliest_ns: due_ns, at_ns: due_ns + think_ns };
            due_ns = self.take(&step, due, carried_ns, round)?;
        }
        turns.synced(due_ns);
        Some(due_ns)
    }

    /// When a step of a closed loop is due after the one before it ended: after its pause, or when the sync has ended that
    /// its pause waits for. `None` if the round is over.
    fn due(&self, step: &Step, free_ns: u64, pass: u64, round: &Round<'_>) -> Option<Due> {
        let Some(wait) = step.wait else {
            return Some(Due { earliest_ns: free_ns, at_ns: free_ns + step.think_ns });
        };
        let steps = pass * wait.steps_of_pass + wait.steps;
        let ended_ns = round.ended[wait.lane].wait(steps, || round.is_over(self.clock.now_ns()))?;
        let earliest_ns = ended_ns.max(free_ns + wait.think_ns);
        Some(Due { earliest_ns, at_ns: earliest_ns + wait.after_ns })
    }

    /// Waits until something is due; when that is over, or `None` if the round is. What this thread woke late before shortens
    /// the pause, so that pauses are as long as asked for in the mean; what the target was late by never does.
    fn rest(&self, due: Due, carried_ns: &mut u64, round: &Round<'_>) -> Option<u64> {
        let early_ns = due.at_ns.saturating_sub(*carried_ns).max(due.earliest_ns);
        if !round.wait_until(early_ns, &self.clock) {
            return None;
        }
        let now_ns = self.clock.now_ns();
        *carried_ns = (*carried_ns + now_ns).saturating_sub(due.at_ns).min(MOST_CARRIED_NS);
        Some(now_ns)
    }

    /// Waits and does one step; when it ended, or `None` if the round is over.
    fn take(&mut self, step: &Step, due: Due, carried_ns: &mut u64, round: &Round<'_>) -> Option<u64> {
        if step.call == Call::Write {
            self.serial += 1;
            let length = (step.bytes as usize).min(self.buffers.bytes_each());
            self.buffers.stamp(0, step.offset, length, self.serial);
        }
        let began_ns = self.rest(due, carried_ns, round)?;
        let done = call(&mut self.buffers, &self.handles[step.handle], step);
        let ended_ns = self.clock.now_ns();
        match done {
            Ok(moved) => {
                self.short += u64::from(moved < step.bytes);
                // In an open loop it waits from when it was due, whether or not its lane was free.
                let from_ns = if round.open_pass_ns.is_some() { due.at_ns.min(began_ns) } else { began_ns };
                let at_ns = from_ns.saturating_sub(round.began_ns);
                self.log.push(Done { at_ns, took_ns: ended_ns - from_ns, operation: step.operation });
            }
            Err(error) => *self.failed.entry(error.to_string()).or_default() += 1,
        }
        if self.log.len() == self.log.capacity() {
            round.full.store(true, Ordering::Relaxed);
            round.over.store(true, Ordering::Relaxed);
        }
        Some(ended_ns)
    }
}

/// Makes a request; the bytes that it moved.
fn call(buffers: &mut Buffers, file: &RunFile, step: &Step) -> io::Result<u64> {
    let most = buffers.bytes_each() as u64;
    let mut moved = 0;
    if let Call::Flush(by) = step.call {
        file.flush_by(by)?;
        return Ok(step.bytes);
    }
    while moved < step.bytes {
        let length = (step.bytes - moved).min(most) as usize;
        let offset = step.offset + moved;
        let more = match step.call {
            Call::Read => resumed(|| file.read_at(&mut buffers.slot_mut(0)[..length], offset))?,
            _ => resumed(|| file.write_at(&buffers.slot(0)[..length], offset))?,
        };
        moved += more as u64;
        match step.call {
            // The file ends there.
            Call::Read if more < length => break,
            // Of a write that a full disk cut short, the next one says why.
            Call::Write if more == 0 => return Err(io::ErrorKind::WriteZero.into()),
            _ => {}
        }
    }
    Ok(moved)
}
