//! Finds which pauses of a capture are waits for a sync of another lane, as in a group commit: such a lane goes on when that
//! sync has ended, however long it takes.
//!
//! A pause may be one if it began before a sync ended that another lane made of a file which this lane writes too, and if it
//! ended shortly after. Pauses end there by chance as well, so those of a lane and a file count only if so many do that
//! chance alone gives that once in a million at most, and if four times as many do as chance gives.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{Captured, OperationKind, Script};

use crate::commits::Commits;

/// Times from a sync's end to the end of a pause that are tried as short, in nanoseconds.
const WINDOWS_NS: [u64; 7] = [10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000];
/// A time is short if so many of it go into the syncs' median, unless it is the first.
const WINDOWS_OF_A_SYNC: u64 = 8;
/// Fewest pauses of a lane that end shortly after syncs of a file.
const FEWEST: usize = 5;
/// How many times as often as by chance they do.
const LEAST_TIMES: f64 = 4.0;
/// Logarithm of how rarely chance gives so many: once in a million.
const LEAST_SURPRISE: f64 = 13.8;
/// A pause that ends there by chance more often than this says nothing.
const MOST_CHANCE: f64 = 0.5;
/// Most files of a lane that are looked at, those with the most syncs.
const MOST_FILES: usize = 8;

/// A pause that lasts until a sync of another lane has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The lane that syncs.
    pub lane: u32,
    /// The step of its script.
    pub step: usize,
    /// Time from the end of the operation before the pause until the first of the syncs began that followed each other
    /// without a gap up to this one: before that, nothing was there to wait for.
    pub think_ns: u64,
    /// Time from the sync's end to the end of the pause.
    pub after_ns: u64,
}

/// The waits of a capture.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits {
    /// By lane and by the step after the pause; empty for a lane without any.
    by_lane: Vec<Vec<Option<Wait>>>,
}

impl Waits {
    /// What the pause before a step of a lane waits for.
    pub(crate) fn at(&self, lane: u32, step: usize) -> Option<Wait> {
        *self.by_lane.get(lane as usize)?.get(step)?
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.by_lane.iter().flatten().flatten().count() as u64
    }
}

/// A sync, by its times as if the slices followed each other.
#[derive(Debug, Clone, Copy)]
struct Synced {
    lane: u32,
    step: usize,
    began_ns: u64,
    ended_ns: u64,
}

/// A pause of a lane, likewise.
#[derive(Debug, Clone, Copy)]
struct Pause {
    /// The step after it.
    step: usize,
    began_ns: u64,
    /// From here on it was seen: its slice may have begun later.
    seen_from_ns: u64,
    ended_ns: u64,
}

/// A pause, and the last sync of another lane that ended within it.
#[derive(Debug, Clone, Copy)]
struct Near {
    pause: Pause,
    sync: usize,
    /// Time from the beginning of the pause to the sync's end.
    lead_ns: u64,
    /// Time from the sync's end to the end of the pause.
    lag_ns: u64,
}

/// The waits of a capture, of which these are the scripts, but for files whose commits are known.
pub(crate) fn waits(captured: &Captured, scripts: &[Script], commits: &Commits) -> Waits {
    let mut syncs = syncs(captured, scripts);
    syncs.retain(|file, _| !commits.has(*file));
    let written = written(captured, scripts);
    let mut found = Waits { by_lane: vec![Vec::new(); scripts.len()] };
    for ((lane, script), files) in (0_u32..).zip(scripts).zip(&written) {
        let of_others = |file: &u32| syncs.get(file).is_some_and(|syncs| syncs.iter().any(|sync| sync.lane != lane));
        let mut files: Vec<u32> = files.iter().copied().filter(of_others).collect();
        if files.is_empty() {
            continue;
        }
        files.sort_by_key(|file| std::cmp::Reverse(syncs[file].len()));
        let pauses = pauses(captured, script);
        for file in files.iter().take(MOST_FILES) {
            let own = &mut found.by_lane[lane as usize];
            own.resize(script.steps.len(), None);
            of_file(lane, &pauses, &syncs[file], captured.span_ns(), own);
        }
    }
    found
}

/// The syncs of each file, in the order in which they ended.
fn syncs(captured: &Captured, scripts: &[Script]) -> BTreeMap<u32, Vec<Synced>> {
    let mut syncs: BTreeMap<u32, Vec<Synced>> = BTreeMap::new();
    for (lane, script) in (0_u32..).zip(scripts) {
        for (step, scripted) in script.steps.iter().enumerate() {
            let operation = &captured.operations[scripted.operation];
            if operation.kind.is_durable() && !operation.cached {
                let began_ns = scripted.due_ns;
                let ended_ns = began_ns + operation.took_ns;
                syncs.entry(operation.file).or_default().push(Synced { lane, step, began_ns, ended_ns });
            }
        }
    }
    for of_file in syncs.values_mut() {
        of_file.sort_by_key(|sync| (sync.ended_ns, sync.lane));
    }
    syncs
}

/// The files that each lane writes or syncs.
fn written(captured: &Captured, scripts: &[Script]) -> Vec<BTreeSet<u32>> {
    let writes = |kind: OperationKind| kind == OperationKind::Write || kind.is_durable();
    let of = |script: &Script| {
        let operations = script.steps.iter().map(|step| &captured.operations[step.operation]);
        operations.filter(|operation| writes(operation.kind)).map(|operation| operation.file).collect()
    };
    scripts.iter().map(of).collect()
}

fn pauses(captured: &Captured, script: &Script) -> Vec<Pause> {
    let mut pauses = Vec::new();
    let mut free_ns = 0;
    for (step, scripted) in script.steps.iter().enumerate() {
        let operation = &captured.operations[scripted.operation];
        let slice_from_ns = scripted.due_ns - operation.at_ns;
        let seen_from_ns = slice_from_ns.max(free_ns);
        if scripted.due_ns > seen_from_ns {
            pauses.push(Pause { step, began_ns: free_ns, seen_from_ns, ended_ns: scripted.due_ns });
        }
        free_ns = free_ns.max(scripted.due_ns + operation.took_ns);
    }
    pauses
}

/// Notes which pauses of a lane wait for syncs of a file, by the step after each.
fn of_file(lane: u32, pauses: &[Pause], syncs: &[Synced], span_ns: u64, own: &mut [Option<Wait>]) {
    let near: Vec<Near> = pauses.iter().filter_map(|pause| near(lane, pause, syncs)).collect();
    let Some(window_ns) = window_ns(&near, syncs, span_ns) else { return };
    let covered = covered(syncs, window_ns, span_ns);
    let chains = chains(syncs, window_ns);
    for one in near.iter().filter(|one| one.lag_ns <= window_ns && one.chance(window_ns, covered).is_some()) {
        let Near { pause, sync, lag_ns, .. } = *one;
        let think_ns = chains[sync].max(pause.seen_from_ns) - pause.began_ns;
        let wait = Wait { lane: syncs[sync].lane, step: syncs[sync].step, think_ns, after_ns: lag_ns };
        let noted = &mut own[pause.step];
        if noted.is_none_or(|other| other.after_ns > lag_ns) {
            *noted = Some(wait);
        }
    }
}

/// The last sync of another lane that ended within a pause, and began before its end.
fn near(lane: u32, pause: &Pause, syncs: &[Synced]) -> Option<Near> {
    let ended = syncs.partition_point(|sync| sync.ended_ns <= pause.ended_ns);
    let mut within = syncs[..ended].iter().enumerate().rev().take_while(|(_, sync)| sync.ended_ns > pause.seen_from_ns);
    let (index, sync) = within.find(|(_, sync)| sync.lane != lane && sync.began_ns < pause.ended_ns)?;
    Some(Near {
        pause: *pause,
        sync: index,
        lead_ns: sync.ended_ns - pause.seen_from_ns,
        lag_ns: pause.ended_ns - sync.ended_ns,
    })
}

impl Near {
    /// How likely it is by chance that the pause ends within this time after the sync, where it could begin and end at any
    /// time; `None` if it says nothing. `covered` is the share of all time that is so near after a sync.
    fn chance(&self, window_ns: u64, covered: f64) -> Option<f64> {
        let free_ns = (self.lead_ns + self.lag_ns).checked_sub(window_ns).filter(|_| self.lead_ns >= window_ns)?;
        let chance = covered.max(window_ns as f64 / (free_ns as f64).max(1.0));
        (chance <= MOST_CHANCE).then_some(chance)
    }
}

/// The time that counts as short, with which the most pauses are told apart from chance; `None` if there is none.
fn window_ns(near: &[Near], syncs: &[Synced], span_ns: u64) -> Option<u64> {
    let mut took_ns: Vec<u64> = syncs.iter().map(|sync| sync.ended_ns - sync.began_ns).collect();
    took_ns.sort_unstable();
    let longest_ns = (took_ns.get(took_ns.len() / 2)? / WINDOWS_OF_A_SYNC).max(WINDOWS_NS[0]);
    let mut best: Option<(f64, u64)> = None;
    for window_ns in WINDOWS_NS.into_iter().filter(|window_ns| *window_ns <= longest_ns) {
        let covered = covered(syncs, window_ns, span_ns);
        let tells: Vec<(f64, bool)> =
            near.iter().filter_map(|one| Some((one.chance(window_ns, covered)?, one.lag_ns <= window_ns))).collect();
        let hits = tells.iter().filter(|(_, hit)| *hit).count();
        let expected: f64 = tells.iter().map(|(chance, _)| chance).sum();
        let excess = hits as f64 - expected;
        let counts = hits >= FEWEST
            && expected * LEAST_TIMES <= hits as f64
            && surprise(hits, tells.len(), expected) >= LEAST_SURPRISE;
        if counts && best.is_none_or(|(most, _)| excess > most) {
            best = Some((excess, window_ns));
        }
    }
    best.map(|(_, window_ns)| window_ns)
}

/// The share of the time that lies within this time after the end of a sync.
fn covered(syncs: &[Synced], window_ns: u64, span_ns: u64) -> f64 {
    let between = syncs.windows(2).map(|pair| (pair[1].ended_ns - pair[0].ended_ns).min(window_ns));
    let covered_ns = between.sum::<u64>() + window_ns;
    covered_ns as f64 / span_ns.max(1) as f64
}

/// Logarithm of how rarely independent trials have so many hits or more, at most, where so many are expected.
///
/// Source: W. Hoeffding, Probability Inequalities for Sums of Bounded Random Variables, JASA 58 (1963), theorem 1.
fn surprise(hits: usize, trials: usize, expected: f64) -> f64 {
    let share = hits as f64 / trials as f64;
    let chance = expected / trials as f64;
    let others = if share < 1.0 { (1.0 - share) * ((1.0 - share) / (1.0 - chance)).ln() } else { 0.0 };
    trials as f64 * (share * (share / chance).ln() + others)
}

/// For each sync, when the first of those began that followed each other up to it with no gap longer than this.
fn chains(syncs: &[Synced], gap_ns: u64) -> Vec<u64> {
    let mut reach_ns = 0_u64;
    let mut from_ns = u64::MAX;
    let mut chains = Vec::with_capacity(syncs.len());
    for sync in syncs {
        let goes_on = sync.began_ns <= reach_ns.saturating_add(gap_ns);
        from_ns = if goes_on { from_ns.min(sync.began_ns) } else { sync.began_ns };
        reach_ns = reach_ns.max(sync.ended_ns);
        chains.push(from_ns);
    }
    chains
}

#[cfg(test)]
mod tests {
    use halfpower_record::{CapturedFile, CapturedOperation};

    use super::*;

    const MS: u64 = 1_000_000;

    fn sync(lane: u32, file: u32, at_ns: u64, took_ns: u64) -> CapturedOperation {
        let kind = OperationKind::Fdatasync;
        CapturedOperation { slice: 0, lane, at_ns, took_ns, kind, file, offset: 0, bytes: 0, cached: false }
    }

    fn captured(lanes: u32, mut operations: Vec<CapturedOperation>) -> Captured {
        operations.sort_by_key(|operation| (operation.at_ns, operation.lane));
        let span_ns = operations.iter().map(|operation| operation.at_ns + operation.took_ns).max().unwrap_or(0);
        let file = CapturedFile { bytes: 1 << 20, direct: false, name: None };
        Captured { slices: vec![span_ns], files: vec![file; 4], lanes, operations, ..Captured::default() }
    }

    fn found(captured: &Captured) -> Waits {
        waits(captured, &captured.scripts(), &Commits::default())
    }

    /// Pseudo-random numbers below a bound.
    fn draws(mut state: u64) -> impl FnMut(u64) -> u64 {
        move |bound| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        }
    }

    #[test]
    fn who_syncs_when_another_has_ended_waits_for_it() {
        // Four lanes behind a lock: each syncs 5 us after the one before it has ended.
        let turn = |turn: u64| sync((turn % 4) as u32, 0, turn * 1_005_000, MS);
        let captured = captured(4, (0..160).map(turn).collect());
        let waits = found(&captured);
        // All but the very first.
        assert_eq!(waits.count(), 159);
        assert_eq!(waits.at(0, 0), None);
        // The lock was held from the beginning of the pause on.
        assert_eq!(waits.at(2, 5), Some(Wait { lane: 1, step: 5, think_ns: 0, after_ns: 5_000 }));
        assert_eq!(waits.at(0, 5), Some(Wait { lane: 3, step: 4, think_ns: 0, after_ns: 5_000 }));
    }

    #[test]
    fn what_was_thought_before_there_was_a_sync_is_kept() {
        // A leader syncs once in 10 ms, and a follower that thinks for 8 ms and longer writes when it has.
        let mut draw = draws(7);
        let mut operations = Vec::new();
        for turn in 0..50 {
            let at_ns = turn * 10 * MS + draw(2 * MS);
            operations.push(sync(0, 0, at_ns, 2 * MS));
            let write =
                CapturedOperation { kind: OperationKind::Write, bytes: 4096, cached: true, ..sync(1, 0, 0, 1_000) };
            operations.push(CapturedOperation { at_ns: at_ns + 2 * MS + 8_000, ..write });
        }
        let captured = captured(2, operations);
        let waits = found(&captured);
        assert!(waits.count() >= 49, "{}", waits.count());
        let scripts = captured.scripts();
        let wait = waits.at(1, 20).unwrap();
        assert_eq!((wait.lane, wait.step, wait.after_ns), (0, 20, 8_000));
        // The rest of the pause is the sync.
        assert_eq!(wait.think_ns + 2 * MS + 8_000, scripts[1].steps[20].think_ns);
        assert!((0..50).all(|step| waits.at(0, step).is_none()), "the leader waits for nobody");
    }

    #[test]
    fn independent_lanes_are_not_bound_to_each_other() {
        for seed in 0..20 {
            let mut draw = draws(seed);
            let mut operations = Vec::new();
            for lane in 0..4 {
                let mut at_ns = 0;
                for _ in 0..100 {
                    at_ns += 500_000 + draw(4 * MS);
                    let took_ns = 900_000 + draw(200_000);
                    operations.push(sync(lane, 0, at_ns, took_ns));
                    at_ns += took_ns;
                }
            }
            assert_eq!(found(&captured(4, operations)).count(), 0, "seed {seed}");
        }
    }

    #[test]
    fn syncs_of_another_file_and_readers_bind_nobody() {
        let own_files = |turn: u64| sync((turn % 4) as u32, (turn % 4) as u32, turn * 1_005_000, MS);
        assert_eq!(found(&captured(4, (0..160).map(own_files).collect())).count(), 0);
        let reads = |turn: u64| {
            let one = sync((turn % 2) as u32, 0, turn * 1_005_000, MS);
            if turn.is_multiple_of(2) {
                one
            } else {
                CapturedOperation { kind: OperationKind::Read, bytes: 4096, ..one }
            }
        };
        assert_eq!(found(&captured(2, (0..160).map(reads).collect())).count(), 0);
    }

    #[test]
    fn who_was_woken_with_another_and_thinks_shortly_is_not_bound() {
        // Both are in one commit of a journal, whose end one of them sees 6 us later.
        let mut operations = Vec::new();
        for turn in 0..100 {
            let at_ns = turn * 1_020_000;
            operations.push(sync(0, 0, at_ns, MS));
            operations.push(sync(1, 0, at_ns, MS + 6_000));
        }
        assert_eq!(found(&captured(2, operations)).count(), 0);
    }

    #[test]
    fn few_say_nothing_and_many_against_chance_do() {
        assert!(surprise(5, 5, 0.25) > LEAST_SURPRISE && surprise(5, 100, 1.0) < LEAST_SURPRISE);
        let turn = |turn: u64| sync((turn % 2) as u32, 0, turn * 1_005_000, MS);
        assert_eq!(found(&captured(2, (0..8).map(turn).collect())).count(), 0);
        assert_eq!(found(&Captured::default()).count(), 0);
    }
}
