//! Asks again what an application asked, of files that are laid out in a folder: a thread for each lane, round after round.
//!
//! A lane that has done its script does it again until all have: what others ask goes on, as it did. Then the round ends,
//! its files become what they were at the beginning, and the next one begins. A pause that is a wait for another lane's sync
//! ([`crate::waits`]) lasts until that sync has ended here, and commits that lanes share ([`crate::commits`]) are shared as
//! the syncs here allow.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use halfpower_os::{BufferMemory, Buffers, Clock, FlushCall, RunFile};
use halfpower_record::{CaptureSource, Captured, CapturedOperation, OperationKind, Script};

use crate::commits::{Commits, Section};
use crate::ended::Ended;
use crate::files::{self, FileHere, LaidOut, ReplayPlace, is_durable};
use crate::lane::{Awaited, Call, Lane, Round, SharedCommit, Step};
use crate::touched::{Needs, needs};
use crate::turns::Turns;
use crate::waits::{Waits, waits};
use crate::{Pace, ReplayError};

/// How long a replay takes at least and at most, unless the user says so, and when a round that is under way is cut off.
const USUAL_TIME_NS: u64 = 10_000_000_000;
const MOST_USUAL_TIME_NS: u64 = 60_000_000_000;
const CUT_OFF_NS: u64 = 90_000_000_000;
/// Most rounds: short scripts are done several times in each.
const ROUNDS: u64 = 12;
/// Most rounds where each has to begin anew.
const MOST_ROUNDS: usize = 200;
/// Least time that is left for another round.
const LEAST_TIME_NS: u64 = 1_000_000;
/// Most lanes, each of which is a thread.
const MOST_LANES: usize = 1024;
/// Most operations that are kept of all rounds.
const MOST_OPERATIONS: usize = 4_000_000;
/// Memory for the requests of all lanes.
const BUFFERS_BYTES: u64 = 512 << 20;
/// Bounds of a lane's part of it.
const LEAST_BUFFER_BYTES: u64 = 128 << 10;
const MOST_BUFFER_BYTES: u64 = 16 << 20;
/// Longest pause.
const MOST_PAUSE_NS: u64 = 1 << 60;
/// Until all threads are started.
const HEAD_START_NS: u64 = 2_000_000;
const HEAD_START_OF_A_LANE_NS: u64 = 50_000;

/// How a capture is asked again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplaySettings {
    /// How long; `None` takes the capture's own time, but from 10 s to 60 s, and lets a round that is under way end.
    pub time: Option<Duration>,
    /// After pauses or at set times, and how many times as fast.
    pub pace: Pace,
    /// Seed of what is written.
    pub seed: u64,
}

/// What came of a capture that was asked again on a real target.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replayed {
    /// A capture for each round, in order.
    pub rounds: Vec<Captured>,
    /// How many of them are whole: the last one may have been cut off.
    pub whole_rounds: usize,
    /// Bytes that were laid out before.
    pub laid_out_bytes: u64,
    /// Requests that failed, by the system's words. They are in no round.
    pub failed: BTreeMap<String, u64>,
    /// Reads that got less than they asked for, because the file ended.
    pub short: u64,
    /// Files whose requests passed the page cache by when they were captured, and could not here.
    pub not_direct: usize,
    /// Operations of the capture whose place or size was not what direct requests need here, and was widened to it.
    pub widened: u64,
    /// Whether it ended early because no more operations are kept.
    pub full: bool,
    /// Pauses of the capture that last until another lane's sync has ended, here too; 0 in an open loop.
    pub waits: u64,
}

impl Replayed {
    /// Time of all rounds, in nanoseconds.
    pub fn span_ns(&self) -> u64 {
        self.rounds.iter().map(Captured::span_ns).sum()
    }

    /// The capture of the last whole round, or of the part that there is.
    pub fn last(&self) -> Option<&Captured> {
        let last_whole = self.whole_rounds.checked_sub(1);
        self.rounds.get(last_whole.unwrap_or(0))
    }
}

/// Bytes that a replay of `captured` lays out before its first round.
pub fn laid_out_bytes(captured: &Captured) -> u64 {
    needs(captured).iter().fold(0_u64, |sum, needs| sum.saturating_add(needs.laid_out_bytes()))
}

/// Asks `captured` again, of files of our own in a folder, or of a file or device that is there. Ends early if `stop` is set.
///
/// # Errors
/// A sentence if its files cannot be laid out, it does not fit what is there, or its threads cannot be started.
pub fn replay<'a>(
    captured: &Captured,
    place: impl Into<ReplayPlace<'a>>,
    settings: &ReplaySettings,
    stop: &AtomicBool,
) -> Result<Replayed, ReplayError> {
    let scripts = captured.scripts();
    let is_bound = !settings.pace.open && settings.pace.has_pauses();
    let commits = if is_bound { Commits::of(captured, &scripts) } else { Commits::default() };
    let waits = if is_bound { waits(captured, &scripts, &commits) } else { Waits::default() };
    let scripts = Scripted::all(&scripts, &commits, settings.pace);
    if scripts.is_empty() {
        return Err(ReplayError::Nothing);
    }
    if scripts.len() > MOST_LANES {
        return Err(ReplayError::TooManyLanes { lanes: scripts.len(), most: MOST_LANES });
    }
    let needs = needs(captured);
    let cuts = cuts(captured, &needs);
    let files = files::at(place.into(), captured, needs, settings.seed, stop)?;
    let mut replayed = Replayed {
        laid_out_bytes: files.bytes,
        not_direct: files.not_direct,
        widened: widened(captured, &files),
        ..Replayed::default()
    };
    let mut handles = Handles { files: &files, shared: BTreeMap::new() };
    let mut lanes = Vec::with_capacity(scripts.len());
    for scripted in &scripts {
        let script = &scripted.script;
        let mut made = made(captured, script, scripts.len(), settings, &files)?;
        handles.give(&mut made, captured, script)?;
        made.cuts = cuts.iter().filter(|(_, of)| *of == scripted.lane).map(|(file, _)| *file).collect();
        made.number = scripted.lane;
        made.scripted = scripted.steps;
        made.commits.clone_from(&scripted.commits);
        lanes.push(made);
    }
    bind(&mut lanes, &scripts, &waits, settings.pace);
    replayed.waits = waits.count();
    go_rounds(captured, &mut lanes, (&files, &commits.logs()), settings, &mut replayed, stop)?;
    for lane in lanes {
        replayed.short += lane.short;
        for (words, count) in lane.failed {
            *replayed.failed.entry(words).or_default() += count;
        }
    }
    Ok(replayed)
}

/// What a lane does.
struct Scripted {
    lane: u32,
    /// Its script, with steps of others behind, that it does in their place where it comes first to commit.
    script: Script,
    /// How many steps are its own.
    steps: usize,
    /// Its commits that are shared, by the step before which they come, or which they begin with.
    commits: BTreeMap<usize, Vec<SharedCommit>>,
}

impl Scripted {
    /// What each lane does that does anything.
    fn all(scripts: &[Script], commits: &Commits, pace: Pace) -> Vec<Self> {
        let busy = (0..).zip(scripts).filter(|(_, script)| !script.steps.is_empty());
        busy.map(|(lane, script)| Self::of(lane, script, scripts, commits, pace)).collect()
    }

    fn of(lane: u32, own: &Script, scripts: &[Script], commits: &Commits, pace: Pace) -> Self {
        let steps = own.steps.len();
        let mut scripted = Self { lane, script: own.clone(), steps, commits: BTreeMap::new() };
        let script = &mut scripted.script;
        let scaled = |ns: u64| pace.shortened_ns(ns).min(MOST_PAUSE_NS);
        let mut of_others: BTreeMap<(u32, usize), Range<usize>> = BTreeMap::new();
        for step in 0..=steps {
            let mut here = Vec::new();
            for commit in commits.before(lane, step) {
                let Section { lane: of, first, last } = commit.section;
                let steps = if of == lane {
                    first..last + 1
                } else {
                    let copied = of_others.entry((of, first)).or_insert_with(|| {
                        let begin = script.steps.len();
                        script.steps.extend_from_slice(&scripts[of as usize].steps[first..=last]);
                        begin..script.steps.len()
                    });
                    copied.clone()
                };
                let [think_ns, handed_ns] = [commit.think_ns, commits.handed_ns(commit.log)].map(scaled);
                here.push(SharedCommit { file: commit.file, log: commit.log, think_ns, handed_ns, steps });
            }
            if let Some(rest_ns) = commits.rest_ns(lane, step) {
                if step < steps {
                    script.steps[step].think_ns = rest_ns;
                } else {
                    script.then_ns = rest_ns;
                }
            }
            if !here.is_empty() {
                scripted.commits.insert(step, here);
            }
        }
        scripted
    }
}

/// Lets steps wait for the syncs of other lanes.
fn bind(lanes: &mut [Lane], scripts: &[Scripted], waits: &Waits, pace: Pace) {
    let indices: BTreeMap<u32, usize> =
        scripts.iter().enumerate().map(|(index, scripted)| (scripted.lane, index)).collect();
    for (index, scripted) in scripts.iter().enumerate() {
        lanes[index].index = index;
        for step in 0..scripted.steps {
            let Some(wait) = waits.at(scripted.lane, step) else { continue };
            let other = indices[&wait.lane];
            lanes[other].steps[wait.step].is_awaited = true;
            lanes[index].steps[step].wait = Some(Awaited {
                lane: other,
                steps: wait.step as u64 + 1,
                steps_of_pass: lanes[other].scripted as u64,
                think_ns: pace.shortened_ns(wait.think_ns).min(MOST_PAUSE_NS),
                after_ns: pace.shortened_ns(wait.after_ns).min(MOST_PAUSE_NS),
            });
        }
    }
}

/// The files that grow, each with the lane that cuts it before it does its script again: the first that writes beyond it.
fn cuts(captured: &Captured, needs: &[Needs]) -> Vec<(usize, u32)> {
    let grows = |file: usize| needs[file].written_to > captured.files[file].bytes;
    let mut first: BTreeMap<usize, u32> = BTreeMap::new();
    for operation in &captured.operations {
        let file = operation.file as usize;
        let writes = matches!(operation.kind, OperationKind::Write | OperationKind::DurableWrite);
        if writes && grows(file) && operation.offset + operation.bytes > captured.files[file].bytes {
            first.entry(file).and_modify(|lane| *lane = operation.lane.min(*lane)).or_insert(operation.lane);
        }
    }
    first.into_iter().collect()
}

/// Where an operation goes here, and its bytes: what it moves is widened to what direct requests need.
fn placed(operation: &CapturedOperation, files: &LaidOut) -> (u64, u64) {
    let alignment = files.files[operation.file as usize].as_ref().map_or(1, |file| file.alignment);
    let offset = operation.offset / alignment * alignment;
    let bytes = (operation.offset + operation.bytes).next_multiple_of(alignment) - offset;
    (offset, if operation.bytes > 0 { bytes } else { 0 })
}

/// Operations that are widened. A commit that several lanes may have to do is one.
fn widened(captured: &Captured, files: &LaidOut) -> u64 {
    captured.operations.iter().filter(|operation| placed(operation, files).1 != operation.bytes).count() as u64
}

/// A lane without its handles.
fn made(
    captured: &Captured,
    script: &Script,
    lanes: usize,
    settings: &ReplaySettings,
    files: &LaidOut,
) -> Result<Lane, ReplayError> {
    let scaled = |ns: u64| settings.pace.shortened_ns(ns).min(MOST_PAUSE_NS);
    let mut longest = 1;
    let mut steps = Vec::with_capacity(script.steps.len());
    for step in &script.steps {
        let operation = &captured.operations[step.operation];
        let (offset, bytes) = placed(operation, files);
        longest = longest.max(bytes);
        steps.push(Step {
            think_ns: scaled(step.think_ns),
            due_ns: scaled(step.due_ns),
            call: call_of(operation.kind),
            handle: 0,
            offset,
            bytes,
            operation: step.operation,
            wait: None,
            is_awaited: false,
        });
    }
    let most = (BUFFERS_BYTES / lanes as u64).clamp(LEAST_BUFFER_BYTES, MOST_BUFFER_BYTES);
    // A multiple of what any direct request needs.
    let buffer_bytes = longest.min(most).next_multiple_of(LEAST_BUFFER_BYTES);
    let seed = settings.seed ^ script.steps[0].operation as u64;
    let buffers = Buffers::in_memory(BufferMemory::Pages, 1, buffer_bytes as usize, seed)?;
    let share = MOST_OPERATIONS as u128 * steps.len() as u128 / captured.operations.len() as u128;
    let room = (share as usize).max(1);
    Ok(Lane::new(steps, scaled(script.then_ns), buffers, room))
}

/// The call that does what an operation did. A page fault reads a page.
fn call_of(kind: OperationKind) -> Call {
    match kind {
        OperationKind::Read | OperationKind::FaultRead => Call::Read,
        OperationKind::Write | OperationKind::DurableWrite => Call::Write,
        OperationKind::Fdatasync => Call::Flush(FlushCall::Fdatasync),
        OperationKind::Fsync => Call::Flush(FlushCall::Fsync),
        OperationKind::OtherSync => Call::Flush(FlushCall::SyncFileRange),
    }
}

/// Opens files for lanes.
struct Handles<'a> {
    files: &'a LaidOut,
    /// Those that all lanes share, if there are too many for each to have its own.
    shared: BTreeMap<(u32, bool), Arc<RunFile>>,
}

impl Handles<'_> {
    /// Gives a lane the handles that its steps need.
    fn give(&mut self, lane: &mut Lane, captured: &Captured, script: &Script) -> Result<(), ReplayError> {
        let mut own: BTreeMap<(u32, bool), usize> = BTreeMap::new();
        for (step, scripted) in lane.steps.iter_mut().zip(&script.steps) {
            let operation = &captured.operations[scripted.operation];
            let key = (operation.file, is_durable(operation.kind));
            let handle = match own.get(&key) {
                Some(handle) => *handle,
                None => {
                    let next = lane.handles.len();
                    lane.handles.push(self.opened(key)?);
                    own.insert(key, next);
                    next
                }
            };
            step.handle = handle;
        }
        Ok(())
    }

    fn opened(&mut self, key: (u32, bool)) -> Result<Arc<RunFile>, ReplayError> {
        if let Some(handle) = self.shared.get(&key) {
            return Ok(Arc::clone(handle));
        }
        let file = self.files.files[key.0 as usize].as_ref().expect("a file that an operation is on is laid out");
        let handle = Arc::new(file.open(key.1)?);
        if !self.files.own_handles {
            self.shared.insert(key, Arc::clone(&handle));
        }
        Ok(handle)
    }
}

/// Goes round after round until the time is over.
fn go_rounds(
    captured: &Captured,
    lanes: &mut [Lane],
    (files, logs): (&LaidOut, &BTreeSet<u32>),
    settings: &ReplaySettings,
    replayed: &mut Replayed,
    stop: &AtomicBool,
) -> Result<(), ReplayError> {
    let pass_ns = settings.pace.shortened_ns(captured.span_ns()).clamp(1, MOST_PAUSE_NS);
    let asked_ns = settings.time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(MOST_PAUSE_NS));
    let wanted_ns = asked_ns.unwrap_or(pass_ns.clamp(USUAL_TIME_NS, MOST_USUAL_TIME_NS));
    let most_ns = asked_ns.unwrap_or(CUT_OFF_NS);
    // What left the cache is back after a pass.
    let is_cooled = files.files.iter().flatten().any(FileHere::is_cooled);
    let passes = if is_cooled || !settings.pace.has_pauses() { 1 } else { (wanted_ns / ROUNDS / pass_ns).max(1) };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let clock = Clock::new();
    let mut spent_ns = 0;
    let mut kept = 0;
    while spent_ns + LEAST_TIME_NS <= wanted_ns && !stop.load(Ordering::Relaxed) {
        files.files.iter().flatten().for_each(FileHere::begin_round);
        let began_ns = clock.now_ns() + HEAD_START_NS + HEAD_START_OF_A_LANE_NS * lanes.len() as u64;
        let round = Round {
            files,
            began_ns,
            until_ns: began_ns.saturating_add(most_ns - spent_ns),
            passes,
            open_pass_ns: settings.pace.open.then_some(pass_ns),
            lanes_left: AtomicUsize::new(lanes.len()),
            over: AtomicBool::new(false),
            ended_ns: AtomicU64::new(0),
            full: AtomicBool::new(false),
            ended: lanes.iter().map(|_| Ended::default()).collect(),
            turns: logs.iter().map(|log| (*log, Turns::default())).collect(),
            stop,
            has_processors: lanes.len() < processors,
        };
        let started_unix_ms = unix_ms();
        let_all_go(lanes, &round)?;
        let whole_ns = round.ended_ns.load(Ordering::Relaxed);
        let ended_ns = if whole_ns > 0 { whole_ns } else { clock.now_ns().min(round.until_ns) };
        let span_ns = ended_ns.saturating_sub(began_ns);
        let came = gathered(captured, lanes, span_ns, started_unix_ms);
        kept += came.operations.len();
        spent_ns += span_ns.max(1);
        if !came.operations.is_empty() {
            replayed.whole_rounds += usize::from(whole_ns > 0);
            replayed.rounds.push(came);
        }
        replayed.full = round.full.load(Ordering::Relaxed) || kept >= MOST_OPERATIONS;
        if whole_ns == 0 || replayed.full || replayed.rounds.len() >= MOST_ROUNDS {
            break;
        }
    }
    Ok(())
}

/// Starts a thread for each lane, and waits until the round is over.
fn let_all_go(lanes: &mut [Lane], round: &Round<'_>) -> Result<(), ReplayError> {
    std::thread::scope(|scope| {
        for lane in lanes {
            let started = std::thread::Builder::new().spawn_scoped(scope, move || lane.go(round));
            if let Err(error) = started {
                round.over.store(true, Ordering::Relaxed);
                return Err(ReplayError::Thread(error));
            }
        }
        Ok(())
    })
}

/// What the lanes did in a round, as a capture of one slice. An operation that began before the round ended belongs to it.
fn gathered(captured: &Captured, lanes: &mut [Lane], span_ns: u64, started_unix_ms: u64) -> Captured {
    let mut operations = Vec::with_capacity(lanes.iter().map(|lane| lane.log.len()).sum());
    let mut awaited = Vec::new();
    for lane in lanes {
        awaited.append(&mut lane.awaited);
        let number = lane.number;
        operations.extend(lane.log.drain(..).map(|done| CapturedOperation {
            slice: 0,
            lane: number,
            at_ns: done.at_ns,
            took_ns: done.took_ns,
            ..captured.operations[done.operation]
        }));
    }
    operations.sort_by_key(|operation| operation.at_ns);
    awaited.sort_by_key(|wait| wait.at_ns);
    // A wait may be for a sync that failed, and is not here.
    let waits = awaited.iter().map(|wait| wait.at_ns + wait.took_ns);
    let ended_ns = operations.iter().map(|operation| operation.at_ns + operation.took_ns).chain(waits).max();
    Captured {
        subject: captured.subject.clone(),
        source: CaptureSource::Replay,
        started_unix_ms,
        slices: vec![span_ns.max(ended_ns.unwrap_or(0))],
        files: captured.files.clone(),
        lanes: captured.lanes,
        operations,
        awaited,
        ..Captured::default()
    }
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
