//! Finds the commits of a capture that one sync makes durable for several lanes: group commit, as databases have it.
//!
//! The lanes of a log that is committed so take turns: whoever comes while none is at work writes and syncs; whoever comes
//! meanwhile waits; and when that sync has ended, the first of them writes and syncs for all who wait. How many share a sync
//! follows from how long it takes, so it is another number on another disk.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{Captured, Logs, Script};

/// Writes of a file and the sync that ends them: steps of a lane's script, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section {
    pub lane: u32,
    pub first: usize,
    pub last: usize,
}

/// A commit of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Commit {
    /// The file that it goes to, and the log that this is of, named by the first file of that.
    pub file: u32,
    pub log: u32,
    /// Pause before it, after the operation or the commit before it, in nanoseconds.
    pub think_ns: u64,
    /// What the lane does if it has to do it itself: its own steps, or those of the lane that did it for this one.
    pub section: Section,
}

/// The commits of one lane.
#[derive(Debug, Clone, Default)]
struct OfLane {
    /// Those in the pause before each step, and the one that begins with that step.
    before: BTreeMap<usize, Vec<Commit>>,
    /// What is left of that pause after them, where the step belongs to none.
    rest_ns: BTreeMap<usize, u64>,
}

/// The commits of a capture in groups.
#[derive(Debug, Clone, Default)]
pub(crate) struct Commits {
    of_lanes: Vec<OfLane>,
    files: Logs,
    /// Of each log, the time from the end of a sync until the next lane begins, in nanoseconds.
    handed_ns: BTreeMap<u32, u64>,
}

impl Commits {
    /// The commits of a capture of which these are the scripts.
    pub(crate) fn of(captured: &Captured, scripts: &[Script]) -> Self {
        let mut found = Self::default();
        let files = captured.logs_of_group_commits();
        if files.is_empty() {
            return found;
        }
        let begins_ns = captured.begins_ns();
        let steps = steps(captured, scripts);
        let mut made: BTreeMap<u32, Vec<Made>> = BTreeMap::new();
        let all = captured.commits_made(&files);
        for commit in &all {
            let [first, last] = [commit.operations.first(), commit.operations.last()]
                .map(|operation| operation.map_or(0, |operation| steps[*operation]));
            let ended_ns = begins_ns[commit.slice as usize] + commit.ended_ns;
            let section = Section { lane: commit.lane, first, last };
            made.entry(commit.file).or_default().push(Made { section, operation: commit.operations[0], ended_ns });
        }
        let turns = captured.turns(&all);
        let mut handed_ns: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (operation, turn) in &turns {
            let began_ns = captured.operations[*operation].at_ns;
            handed_ns.entry(files[&turn.file]).or_default().push(began_ns - (turn.at_ns + turn.took_ns));
        }
        for (lane, script) in (0..).zip(scripts) {
            let shared = captured.awaited.iter().filter(|wait| wait.lane == lane && wait.shared);
            let shared = shared.map(|wait| Shared {
                slice: wait.slice,
                file: wait.file,
                at_ns: begins_ns[wait.slice as usize] + wait.at_ns,
                took_ns: wait.took_ns,
            });
            let came = turns.iter().map(|(operation, turn)| (*operation, begins_ns[turn.slice as usize] + turn.at_ns));
            let came: BTreeMap<usize, u64> = came.collect();
            found.of_lanes.push(of_lane(captured, (lane, script), &files, &made, shared, &came));
        }
        found.handed_ns = handed_ns.into_iter().map(|(log, ns)| (log, median(ns))).collect();
        found.files = files;
        found
    }

    /// Whether a file is committed in groups.
    pub(crate) fn has(&self, file: u32) -> bool {
        self.files.contains_key(&file)
    }

    /// Time from the end of a sync of a log until the next lane begins, in nanoseconds.
    pub(crate) fn handed_ns(&self, log: u32) -> u64 {
        self.handed_ns.get(&log).copied().unwrap_or(0)
    }

    /// The logs that are committed in groups.
    pub(crate) fn logs(&self) -> BTreeSet<u32> {
        self.files.values().copied().collect()
    }

    /// The commits of a lane in the pause before a step of its script, and the one that begins with that step.
    pub(crate) fn before(&self, lane: u32, step: usize) -> &[Commit] {
        self.of_lanes.get(lane as usize).and_then(|of_lane| of_lane.before.get(&step)).map_or(&[], Vec::as_slice)
    }

    /// The commit that a lane comes to next, before a step of its script, after so many others in the same pause.
    pub(crate) fn next(&self, lane: u32, step: usize, done: usize) -> Option<Commit> {
        self.before(lane, step).get(done).copied()
    }

    /// What is left of the pause before a step after the commits in it.
    pub(crate) fn rest_ns(&self, lane: u32, step: usize) -> Option<u64> {
        self.of_lanes.get(lane as usize)?.rest_ns.get(&step).copied()
    }
}

/// A commit that a lane makes itself, by its times as if the slices followed each other.
#[derive(Debug, Clone, Copy)]
struct Made {
    section: Section,
    /// Index of its first operation.
    operation: usize,
    ended_ns: u64,
}

/// A commit that another lane's sync made durable, likewise.
#[derive(Debug, Clone, Copy)]
struct Shared {
    slice: u32,
    file: u32,
    at_ns: u64,
    took_ns: u64,
}

/// The step of each operation in the script of its lane.
fn steps(captured: &Captured, scripts: &[Script]) -> Vec<usize> {
    let mut steps = vec![0; captured.operations.len()];
    for script in scripts {
        script.steps.iter().enumerate().for_each(|(step, scripted)| steps[scripted.operation] = step);
    }
    steps
}

/// The commits of a lane: those that it makes, of which `came` has when it began to wait for its turn by their first operation,
/// and those that it shares.
fn of_lane(
    captured: &Captured,
    (lane, script): (u32, &Script),
    files: &Logs,
    made: &BTreeMap<u32, Vec<Made>>,
    shared: impl Iterator<Item = Shared>,
    came: &BTreeMap<usize, u64>,
) -> OfLane {
    let own = made_by(lane, made);
    let mut found = OfLane::default();
    let mut shared = shared.peekable();
    let mut paused = Paused::default();
    let mut free_ns = 0;
    // The step after the last commit.
    let mut committed = 0;
    for step in 0..=script.steps.len() {
        let scripted = script.steps.get(step);
        let due_ns = scripted.map_or(free_ns + script.then_ns, |scripted| scripted.due_ns);
        let operation = scripted.map(|scripted| &captured.operations[scripted.operation]);
        let mut from_ns = free_ns;
        let mut commits = Vec::new();
        while let Some(one) = shared.next_if(|one| one.at_ns + one.took_ns <= due_ns) {
            let Shared { file, at_ns, took_ns, .. } = one;
            let led = made.get(&file).and_then(|made| led_by(lane, made, at_ns + took_ns));
            if let Some(section) = led.filter(|_| at_ns >= from_ns) {
                let think_ns = at_ns - from_ns;
                let ends = paused.ends_until(one.slice);
                paused.before_commits.add((step, commits.len()), think_ns, ends);
                commits.push(Commit { file, log: files[&file], think_ns, section });
                from_ns = at_ns + took_ns;
            }
        }
        let ends = operation.map_or(0, |one| paused.ends_until(one.slice));
        if let Some((file, made)) = own.get(&step) {
            let came_ns = came.get(&made.operation).copied().unwrap_or(due_ns);
            let think_ns = came_ns.saturating_sub(from_ns);
            paused.before_commits.add((step, commits.len()), think_ns, ends);
            commits.push(Commit { file: *file, log: files[file], think_ns, section: made.section });
            committed = made.section.last + 1;
        } else if step >= committed {
            let rest_ns = due_ns.saturating_sub(from_ns);
            if operation.is_some() {
                paused.before_steps.add((step, 0), rest_ns, ends);
            }
            if !commits.is_empty() {
                found.rest_ns.insert(step, rest_ns);
            }
        }
        if !commits.is_empty() {
            found.before.insert(step, commits);
        }
        free_ns = free_ns.max(due_ns + operation.map_or(0, |operation| operation.took_ns));
    }
    if !found.before.is_empty() {
        paused.settle(&mut found, captured.slices.len(), script.steps.len());
    }
    found
}

/// The commits that a lane makes, with their files, by their first step.
fn made_by(lane: u32, made: &BTreeMap<u32, Vec<Made>>) -> BTreeMap<usize, (u32, &Made)> {
    let all = made.iter().flat_map(|(file, made)| made.iter().map(move |made| (*file, made)));
    let own = all.filter(|(_, made)| made.section.lane == lane);
    own.map(|(file, made)| (made.section.first, (file, made))).collect()
}

/// The pauses of a lane before its commits, and before its other steps.
#[derive(Debug, Default)]
struct Paused {
    before_commits: Pauses,
    before_steps: Pauses,
    /// Slices up to and with that of what it did last.
    slices: u32,
}

impl Paused {
    /// It does something in this slice. Gives how many have ended since it did something before.
    fn ends_until(&mut self, slice: u32) -> u32 {
        slice + 1 - std::mem::replace(&mut self.slices, slice + 1).min(slice + 1)
    }

    /// Lets pauses across the end of a slice be as long as they usually are, where that is told.
    fn settle(self, found: &mut OfLane, slices: usize, steps: usize) {
        // The pause at the end goes on in the first one.
        if self.before_commits.tells() && self.slices as usize == slices {
            found.rest_ns.insert(steps, 0);
        }
        for ((step, index), ns) in self.before_commits.usual() {
            if let Some(commit) = found.before.get_mut(&step).and_then(|commits| commits.get_mut(index)) {
                commit.think_ns = ns;
            }
        }
        found.rest_ns.extend(self.before_steps.usual().map(|((step, _), ns)| (step, ns)));
    }
}

/// Pauses within a slice, and those that lie across the end of one, where a wait or a commit that was cut seems to be a part of
/// the pause.
#[derive(Debug, Default)]
struct Pauses {
    within_ns: Vec<u64>,
    /// The step that follows, and how many commits come before it in the same pause.
    across: Vec<(usize, usize)>,
}

impl Pauses {
    /// Adds a pause in which so many slices ended. A lane that does nothing in a whole slice does pause.
    fn add(&mut self, before: (usize, usize), pause_ns: u64, ends: u32) {
        match ends {
            0 => self.within_ns.push(pause_ns),
            1 => self.across.push(before),
            _ => {}
        }
    }

    /// Whether most are within a slice, so that they tell how long one is.
    fn tells(&self) -> bool {
        self.within_ns.len() > self.across.len()
    }

    /// What those across the end of a slice usually take, if that is told.
    fn usual(self) -> impl Iterator<Item = ((usize, usize), u64)> {
        let tells = self.tells();
        let usual_ns = median(self.within_ns);
        self.across.into_iter().filter(move |_| tells).map(move |before| (before, usual_ns))
    }
}

/// The last commit that another lane had made by then.
fn led_by(lane: u32, made: &[Made], by_ns: u64) -> Option<Section> {
    let ended = made.partition_point(|made| made.ended_ns <= by_ns);
    made[..ended].iter().rev().map(|made| made.section).find(|section| section.lane != lane)
}

fn median(mut ns: Vec<u64>) -> u64 {
    ns.sort_unstable();
    ns.get(ns.len() / 2).copied().unwrap_or(0)
}

/// Who is at work on a log that is committed in groups, and who waits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    leader: Option<u32>,
    /// Those whom the leader's sync makes durable, too.
    riders: Vec<u32>,
    /// Those who came after it had begun.
    queue: Vec<u32>,
}

/// What follows from the end of a leader's sync.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Led {
    /// Those who are durable with it.
    pub riders: Vec<u32>,
    /// Who leads now.
    pub next: Option<u32>,
}

impl Group {
    /// A lane comes to commit; whether it leads.
    pub(crate) fn come(&mut self, lane: u32) -> bool {
        if self.leader.is_some() {
            self.queue.push(lane);
            return false;
        }
        self.leader = Some(lane);
        true
    }

    /// How many came after the leader had begun.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The leader has synced.
    pub(crate) fn synced(&mut self) -> Led {
        let mut waiting = std::mem::take(&mut self.queue).into_iter();
        self.leader = waiting.next();
        Led { riders: std::mem::replace(&mut self.riders, waiting.collect()), next: self.leader }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_while_one_syncs_shares_the_next_sync() {
        let mut group = Group::default();
        assert!(group.come(3));
        assert!(!group.come(5) && !group.come(1) && !group.come(2));
        assert_eq!(group.synced(), Led { riders: vec![], next: Some(5) });
        assert!(!group.come(3));
        assert_eq!(group.synced(), Led { riders: vec![1, 2], next: Some(3) });
        assert_eq!(group.synced(), Led { riders: vec![], next: None });
        assert!(group.come(5));
    }
}
