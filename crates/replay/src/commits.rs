//! Finds the commits of a capture that one sync makes durable for several lanes: group commit, as databases have it.
//!
//! The lanes of a file that is committed so take turns: whoever comes while none is at work writes and syncs; whoever comes
//! meanwhile waits; and when that sync has ended, the first of them writes and syncs for all who wait. How many share a sync
//! follows from how long it takes, so it is another number on another disk.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{AwaitedSync, Captured, OperationKind, Script, TOGETHER_NS};

/// Fewest commits that others made durable for a file to count.
const FEWEST: usize = 5;
/// Share of the syncs of a file that may begin before the one before has ended.
const MOST_AT_ONCE: f64 = 0.05;

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
    pub file: u32,
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
    /// The files, each with the time from the end of a sync until the next lane begins, in nanoseconds.
    files: BTreeMap<u32, u64>,
}

impl Commits {
    /// The commits of a capture of which these are the scripts.
    pub(crate) fn of(captured: &Captured, scripts: &[Script]) -> Self {
        let mut found = Self::default();
        let begins_ns = captured.begins_ns();
        let all = sections(captured, scripts, &shared_files(captured));
        let exclusive = |ends: &[Ended]| {
            let at_once = ends.windows(2).filter(|pair| pair[1].began_ns < pair[0].ended_ns).count();
            at_once as f64 <= MOST_AT_ONCE * ends.len() as f64
        };
        let all: BTreeMap<u32, Vec<Ended>> = all.into_iter().filter(|(_, ends)| exclusive(ends)).collect();
        if all.is_empty() {
            return found;
        }
        let mut handed_ns: BTreeMap<u32, Vec<u64>> = all.keys().map(|file| (*file, Vec::new())).collect();
        for (lane, script) in (0..).zip(scripts) {
            let waits = captured.awaited.iter().filter(|wait| wait.lane == lane && all.contains_key(&wait.file));
            let waits = waits.map(|wait| (begins_ns[wait.slice as usize] + wait.at_ns, wait));
            found.of_lanes.push(of_lane(captured, (lane, script), &all, waits, &mut handed_ns));
        }
        found.files = handed_ns.into_iter().map(|(file, ns)| (file, median(ns))).collect();
        found
    }

    /// Whether a file is committed in groups.
    pub(crate) fn has(&self, file: u32) -> bool {
        self.files.contains_key(&file)
    }

    /// Time from the end of a sync of a file until the next lane begins, in nanoseconds.
    pub(crate) fn handed_ns(&self, file: u32) -> u64 {
        self.files.get(&file).copied().unwrap_or(0)
    }

    /// The commit that a lane comes to next, before a step of its script, after so many others in the same pause.
    pub(crate) fn next(&self, lane: u32, step: usize, done: usize) -> Option<Commit> {
        self.of_lanes.get(lane as usize)?.before.get(&step)?.get(done).copied()
    }

    /// What is left of the pause before a step after the commits in it.
    pub(crate) fn rest_ns(&self, lane: u32, step: usize) -> Option<u64> {
        self.of_lanes.get(lane as usize)?.rest_ns.get(&step).copied()
    }
}

/// Files of which enough commits were made durable by others.
fn shared_files(captured: &Captured) -> BTreeSet<u32> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for wait in captured.awaited.iter().filter(|wait| wait.shared) {
        *counts.entry(wait.file).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count >= FEWEST).map(|(file, _)| file).collect()
}

/// A section, by its times as if the slices followed each other.
#[derive(Debug, Clone, Copy)]
struct Ended {
    section: Section,
    began_ns: u64,
    ended_ns: u64,
}

/// The sections of these files, in the order in which they ended.
fn sections(captured: &Captured, scripts: &[Script], files: &BTreeSet<u32>) -> BTreeMap<u32, Vec<Ended>> {
    let mut found: BTreeMap<u32, Vec<Ended>> = BTreeMap::new();
    for (lane, script) in (0..).zip(scripts) {
        // The writes since the last sync, and their file.
        let mut open: Option<(u32, Ended)> = None;
        for (step, scripted) in script.steps.iter().enumerate() {
            let operation = &captured.operations[scripted.operation];
            let own = Ended {
                section: Section { lane, first: step, last: step },
                began_ns: scripted.due_ns,
                ended_ns: scripted.due_ns + operation.took_ns,
            };
            let goes_on = open.take().filter(|(file, before)| {
                *file == operation.file && own.began_ns.saturating_sub(before.ended_ns) <= TOGETHER_NS
            });
            let whole = match goes_on {
                Some((_, Ended { section, began_ns, .. })) => {
                    Ended { section: Section { last: step, ..section }, began_ns, ..own }
                }
                None => own,
            };
            match operation.kind {
                _ if !files.contains(&operation.file) => {}
                OperationKind::Write => open = Some((operation.file, whole)),
                OperationKind::Fdatasync | OperationKind::Fsync => found.entry(operation.file).or_default().push(whole),
                _ => {}
            }
        }
    }
    found.values_mut().for_each(|ends| ends.sort_by_key(|ended| ended.ended_ns));
    found
}

/// The commits of a lane with its waits, each of which has its beginning beside it; notes how long after each wait for its
/// turn the lane began.
fn of_lane<'a>(
    captured: &Captured,
    (lane, script): (u32, &Script),
    all: &BTreeMap<u32, Vec<Ended>>,
    waits: impl Iterator<Item = (u64, &'a AwaitedSync)>,
    handed_ns: &mut BTreeMap<u32, Vec<u64>>,
) -> OfLane {
    let own = all.iter().flat_map(|(file, ends)| ends.iter().map(move |ended| (*file, ended.section)));
    let own: BTreeMap<usize, (u32, Section)> = own
        .filter(|(_, section)| section.lane == lane)
        .map(|(file, section)| (section.first, (file, section)))
        .collect();
    let mut found = OfLane::default();
    let mut waits = waits.peekable();
    let mut free_ns = 0;
    for step in 0..=script.steps.len() {
        let scripted = script.steps.get(step);
        let due_ns = scripted.map_or(free_ns + script.then_ns, |scripted| scripted.due_ns);
        let mut from_ns = free_ns;
        let mut commits = Vec::new();
        let mut turn = None;
        while let Some((at_ns, wait)) = waits.next_if(|(at_ns, wait)| at_ns + wait.took_ns <= due_ns) {
            let ended_ns = at_ns + wait.took_ns;
            if at_ns < from_ns {
                continue;
            }
            if !wait.shared {
                turn = Some((wait.file, at_ns, ended_ns));
            } else if let Some(section) = led_by(lane, &all[&wait.file], ended_ns) {
                commits.push(Commit { file: wait.file, think_ns: at_ns - from_ns, section });
                from_ns = ended_ns;
            }
        }
        match own.get(&step) {
            Some((file, section)) => {
                let turn = turn.filter(|(of, at_ns, _)| of == file && *at_ns >= from_ns);
                let came_ns = turn.map_or(due_ns, |(_, at_ns, _)| at_ns);
                if let Some((_, _, ended_ns)) = turn {
                    handed_ns.entry(*file).or_default().push(due_ns - ended_ns);
                }
                let think_ns = came_ns.saturating_sub(from_ns);
                commits.push(Commit { file: *file, think_ns, section: *section });
            }
            None if !commits.is_empty() => {
                found.rest_ns.insert(step, due_ns.saturating_sub(from_ns));
            }
            None => {}
        }
        if !commits.is_empty() {
            found.before.insert(step, commits);
        }
        let took_ns = scripted.map_or(0, |scripted| captured.operations[scripted.operation].took_ns);
        free_ns = free_ns.max(due_ns + took_ns);
    }
    found
}

/// The last section of another lane that had ended by then.
fn led_by(lane: u32, ends: &[Ended], by_ns: u64) -> Option<Section> {
    let ended = ends.partition_point(|ended| ended.ended_ns <= by_ns);
    ends[..ended].iter().rev().map(|ended| ended.section).find(|section| section.lane != lane)
}

fn median(mut ns: Vec<u64>) -> u64 {
    ns.sort_unstable();
    ns.get(ns.len() / 2).copied().unwrap_or(0)
}

/// Who is at work on a file that is committed in groups, and who waits.
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
