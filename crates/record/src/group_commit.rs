//! Tells commits that several lanes of a capture share: one syncs, and others, who waited, are durable with it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::{AwaitedSync, Captured, CapturedOperation, OperationKind};

/// Longest time between the writes of a file, and until the sync of it, that are one commit, in nanoseconds.
pub const TOGETHER_NS: u64 = 200_000;
/// Fewest commits that others made durable for a file to count.
const FEWEST: usize = 5;
/// Share of the commits of a file that may begin before the one before has ended.
const MOST_AT_ONCE: f64 = 0.05;
/// Who begins a commit of its own within this time after the sync of another one was only let through by that, in nanoseconds.
const GOES_ON_NS: u64 = 1_000_000;
/// Share of the commits that others seem to have made durable of which this may be so.
const MOST_LET_THROUGH: f64 = 0.5;

/// Writes of a file and the sync that ends them, of one lane; or a write that is durable by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCommit {
    /// Its slice.
    pub slice: u32,
    /// Its lane.
    pub lane: u32,
    /// Its file.
    pub file: u32,
    /// Indices of its operations, which follow each other in their lane; the last is the sync.
    pub operations: Vec<usize>,
    /// When the first began, in nanoseconds after the slice.
    pub began_ns: u64,
    /// When the sync ended, likewise.
    pub ended_ns: u64,
}

/// Files whose commits are shared, each with its log: the first of those that are committed by turns.
pub type Logs = BTreeMap<u32, u32>;

/// Files that may be one log.
#[derive(Debug, Default)]
struct Log {
    files: BTreeSet<u32>,
    lanes: BTreeSet<u32>,
    /// Commits that others made durable.
    shared: usize,
    /// Those among them after which the lane began one of its own at once.
    let_through: usize,
}

impl Log {
    /// Whether no two commits of these files, of all that are listed by their ends, are made at once.
    fn is_by_turns(&self, made: &[MadeCommit]) -> bool {
        let own: Vec<&MadeCommit> = made.iter().filter(|commit| self.files.contains(&commit.file)).collect();
        let overlaps = |pair: &&[&MadeCommit]| pair[0].slice == pair[1].slice && pair[1].began_ns < pair[0].ended_ns;
        own.windows(2).filter(overlaps).count() as f64 <= MOST_AT_ONCE * own.len() as f64
    }

    /// Whether enough commits of these files were made durable by others, and not only let through.
    fn is_shared(&self) -> bool {
        self.shared >= FEWEST && self.let_through as f64 <= MOST_LET_THROUGH * self.shared as f64
    }

    fn with(&self, other: &Self) -> Self {
        Self {
            files: self.files.union(&other.files).copied().collect(),
            lanes: self.lanes.union(&other.lanes).copied().collect(),
            shared: self.shared + other.shared,
            let_through: self.let_through + other.let_through,
        }
    }
}

impl Captured {
    /// The files whose commits are shared: enough were made durable by others, and no two are made at once. A log that goes on
    /// in another file is one: the same lanes commit both, and never at once.
    pub fn logs_of_group_commits(&self) -> Logs {
        let mut of_files: BTreeMap<u32, Log> = BTreeMap::new();
        for wait in self.awaited.iter().filter(|wait| wait.shared) {
            let log = of_files.entry(wait.file).or_default();
            log.lanes.insert(wait.lane);
            log.shared += 1;
        }
        if of_files.is_empty() {
            return Logs::new();
        }
        let files = of_files.keys().map(|file| (*file, *file)).collect();
        let made = self.commits_made(&files);
        for commit in &made {
            of_files.entry(commit.file).or_default().lanes.insert(commit.lane);
        }
        for (file, count) in self.let_through(&made) {
            of_files.entry(file).or_default().let_through = count;
        }
        let mut logs: Vec<Log> = Vec::new();
        for (file, mut log) in of_files {
            log.files.insert(file);
            let goes_on = logs.iter_mut().find_map(|other| {
                let both = other.with(&log);
                (!other.lanes.is_disjoint(&log.lanes) && both.is_by_turns(&made)).then_some((other, both))
            });
            match goes_on {
                Some((other, both)) => *other = both,
                None => logs.push(log),
            }
        }
        let counts = |log: &&Log| log.is_shared() && log.is_by_turns(&made);
        let first = |log: &Log| log.files.first().copied().unwrap_or(0);
        logs.iter().filter(counts).flat_map(|log| log.files.iter().map(move |file| (*file, first(log)))).collect()
    }

    /// How many of the commits of each file that others seem to have made durable are followed at once by one that the lane makes
    /// itself: it had waited for a lock, and syncs what it writes then.
    fn let_through(&self, made: &[MadeCommit]) -> BTreeMap<u32, usize> {
        let begin_commits: BTreeSet<usize> = made.iter().map(|commit| commit.operations[0]).collect();
        // When each operation and each wait of a lane begins.
        let mut of_lanes: BTreeMap<u32, Vec<(u32, u64, Option<usize>)>> = BTreeMap::new();
        for (index, one) in self.operations.iter().enumerate() {
            of_lanes.entry(one.lane).or_default().push((one.slice, one.at_ns, Some(index)));
        }
        for wait in &self.awaited {
            of_lanes.entry(wait.lane).or_default().push((wait.slice, wait.at_ns, None));
        }
        of_lanes.values_mut().for_each(|of_lane| of_lane.sort_unstable());
        let mut found: BTreeMap<u32, usize> = BTreeMap::new();
        for wait in self.awaited.iter().filter(|wait| wait.shared) {
            let ended_ns = wait.at_ns + wait.took_ns;
            let of_lane = &of_lanes[&wait.lane];
            let next = of_lane.partition_point(|(slice, at_ns, _)| (*slice, *at_ns) < (wait.slice, ended_ns));
            let Some((slice, at_ns, Some(index))) = of_lane.get(next).copied() else { continue };
            let is_at_once = slice == wait.slice && at_ns - ended_ns <= GOES_ON_NS;
            if is_at_once && self.operations[index].file == wait.file && begin_commits.contains(&index) {
                *found.entry(wait.file).or_default() += 1;
            }
        }
        found
    }

    /// The commits that lanes make themselves on these files, in the order of their ends.
    pub fn commits_made(&self, files: &Logs) -> Vec<MadeCommit> {
        let mut made = Vec::new();
        // Of each lane, what it has written last and not synced.
        let mut open: BTreeMap<u32, MadeCommit> = BTreeMap::new();
        for (index, operation) in self.operations.iter().enumerate() {
            let CapturedOperation { slice, lane, at_ns, took_ns, kind, file, .. } = *operation;
            let before = open.remove(&lane);
            if !files.contains_key(&file) || !kind.ends_a_commit() && kind != OperationKind::Write {
                continue;
            }
            let goes_on = before.filter(|before| {
                (before.slice, before.file) == (slice, file) && at_ns.saturating_sub(before.ended_ns) <= TOGETHER_NS
            });
            let empty = || MadeCommit { slice, lane, file, operations: Vec::new(), began_ns: at_ns, ended_ns: at_ns };
            let mut commit = goes_on.unwrap_or_else(empty);
            commit.operations.push(index);
            commit.ended_ns = at_ns + took_ns;
            if kind.ends_a_commit() {
                made.push(commit);
            } else {
                open.insert(lane, commit);
            }
        }
        made.sort_by_key(|commit| (commit.slice, commit.ended_ns));
        made
    }

    /// The same with each commit of these files as one operation, as the application meets it: from when it began to wait or to
    /// write until it is durable. It has the kind and the bytes of the operation that ends it; where that was another lane's, none.
    /// No wait is left.
    pub fn with_whole_commits(&self, files: &Logs) -> Cow<'_, Self> {
        if files.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut whole = Self { awaited: Vec::new(), ..self.clone() };
        let mut kinds = BTreeMap::new();
        let mut is_part = vec![false; self.operations.len()];
        let made = self.commits_made(files);
        let turns = self.turns(&made);
        for commit in made {
            let Some((last, writes)) = commit.operations.split_last() else { continue };
            writes.iter().for_each(|index| is_part[*index] = true);
            let began_ns = turns.get(&commit.operations[0]).map_or(commit.began_ns, |wait| wait.at_ns);
            let operation = &mut whole.operations[*last];
            kinds.insert(commit.file, operation.kind);
            operation.at_ns = began_ns;
            operation.took_ns = commit.ended_ns - began_ns;
        }
        let mut parts = is_part.into_iter();
        whole.operations.retain(|_| !parts.next().unwrap_or(false));
        let shared = self.awaited.iter().filter(|wait| wait.shared && files.contains_key(&wait.file)).map(|wait| {
            let AwaitedSync { slice, lane, at_ns, took_ns, file, .. } = *wait;
            let kind = kinds.get(&file).copied().unwrap_or(OperationKind::Fdatasync);
            CapturedOperation { slice, lane, at_ns, took_ns, kind, file, offset: 0, bytes: 0, cached: false }
        });
        whole.operations.extend(shared);
        whole.operations.sort_by_key(|operation| (operation.slice, operation.at_ns));
        Cow::Owned(whole)
    }

    /// The waits for their turn of lanes that then made one of these commits, by the index of its first operation: the last such
    /// wait after the operation before.
    pub fn turns(&self, made: &[MadeCommit]) -> BTreeMap<usize, AwaitedSync> {
        let mut waits: BTreeMap<u32, Vec<&AwaitedSync>> = BTreeMap::new();
        for wait in self.awaited.iter().filter(|wait| !wait.shared) {
            waits.entry(wait.lane).or_default().push(wait);
        }
        // When each lane was done before each operation.
        let mut done: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
        let before = self.operations.iter().map(|operation| {
            let ended = (operation.slice, operation.at_ns + operation.took_ns);
            done.insert(operation.lane, ended).unwrap_or_default()
        });
        let before: Vec<(u32, u64)> = before.collect();
        let mut turns = BTreeMap::new();
        for commit in made {
            let first = commit.operations[0];
            let Some(own) = waits.get(&commit.lane) else { continue };
            let until = (commit.slice, commit.began_ns);
            let over = own.partition_point(|wait| (wait.slice, wait.at_ns + wait.took_ns) <= until);
            let last = own[..over].last().filter(|wait| {
                (wait.slice, wait.file) == (commit.slice, commit.file) && (wait.slice, wait.at_ns) >= before[first]
            });
            if let Some(wait) = last {
                turns.insert(first, **wait);
            }
        }
        turns
    }

    /// Commits of these files for each sync of them; `None` if there is none.
    pub fn commits_of_a_sync(&self, files: &Logs) -> Option<f64> {
        let made = self.commits_made(files).len();
        let shared = self.awaited.iter().filter(|wait| wait.shared && files.contains_key(&wait.file)).count();
        (made > 0).then(|| 1.0 + shared as f64 / made as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CapturedFile;

    const US: u64 = 1000;

    /// Two lanes that commit by turns in 1 ms, while a third one shares each of their commits.
    fn captured() -> Captured {
        let mut operations = Vec::new();
        let mut awaited = Vec::new();
        for turn in 0..10 {
            let lane = (turn % 2) as u32;
            let at_ns = turn * 1100 * US;
            let operation = |at_ns, took_ns, kind, bytes| CapturedOperation {
                slice: 0,
                lane,
                at_ns,
                took_ns,
                kind,
                file: 0,
                offset: 0,
                bytes,
                cached: bytes > 0,
            };
            operations.push(operation(at_ns, 50 * US, OperationKind::Write, 8192));
            operations.push(operation(at_ns + 60 * US, 940 * US, OperationKind::Fdatasync, 0));
            let wait = |lane, from_ns, to_ns, shared| AwaitedSync {
                slice: 0,
                lane,
                at_ns: from_ns,
                took_ns: to_ns - from_ns,
                file: 0,
                shared,
            };
            if turn > 0 {
                awaited.push(wait(lane, at_ns - 300 * US, at_ns - 90 * US, false));
                awaited.push(wait(2, at_ns - 20 * US, at_ns + 1010 * US, true));
            }
        }
        awaited.sort_by_key(|wait| (wait.slice, wait.at_ns));
        let files = vec![CapturedFile { bytes: 1 << 20, ..CapturedFile::default() }];
        Captured { slices: vec![11_000 * US], files, lanes: 3, operations, awaited, ..Captured::default() }
    }

    #[test]
    fn a_commit_is_one_operation_from_when_its_lane_began_to_wait() {
        let captured = captured();
        let files = captured.logs_of_group_commits();
        assert_eq!(files, Logs::from([(0, 0)]));
        assert_eq!(captured.commits_of_a_sync(&files), Some(1.9));
        let made = captured.commits_made(&files);
        let whole_times =
            made.iter().all(|commit| commit.operations.len() == 2 && commit.ended_ns - commit.began_ns == 1000 * US);
        assert!(made.len() == 10 && whole_times, "{made:?}");
        let whole = captured.with_whole_commits(&files);
        assert_eq!((whole.operations.len(), whole.awaited.len()), (19, 0));
        let [own, shared] = [1, 2].map(|lane| {
            let of_lane = whole.operations.iter().filter(move |one| one.lane == lane);
            of_lane.map(|one| (one.at_ns / US, one.took_ns / US, one.kind, one.bytes)).next_back().unwrap()
        });
        assert_eq!(own, (9600, 1300, OperationKind::Fdatasync, 0));
        assert_eq!(shared, (9880, 1030, OperationKind::Fdatasync, 0));
        assert!(whole.operations.is_sorted_by_key(|one| (one.slice, one.at_ns)));
    }

    #[test]
    fn what_few_share_or_many_make_at_once_is_no_group_commit() {
        let mut few = captured();
        few.awaited.truncate(8);
        assert!(few.logs_of_group_commits().is_empty());
        assert!(matches!(few.with_whole_commits(&Logs::new()), Cow::Borrowed(_)));
        let mut at_once = captured();
        let others: Vec<CapturedOperation> = at_once
            .operations
            .iter()
            .map(|one| CapturedOperation { lane: 2, at_ns: one.at_ns + 100 * US, ..*one })
            .collect();
        at_once.operations.extend(others);
        at_once.operations.sort_by_key(|one| one.at_ns);
        assert!(at_once.logs_of_group_commits().is_empty());
    }

    #[test]
    fn who_gets_a_lock_and_syncs_for_itself_shares_no_commit() {
        let mut behind_a_lock = captured();
        // Each slept already when the one before it began to write, and writes 90 us after it was let through.
        let wait = |turn: u64| AwaitedSync {
            slice: 0,
            lane: (turn % 2) as u32,
            at_ns: ((turn - 2) * 1100 + 1050) * US,
            took_ns: 1060 * US,
            file: 0,
            shared: true,
        };
        behind_a_lock.awaited = (2..10).map(wait).collect();
        assert!(behind_a_lock.logs_of_group_commits().is_empty());
        // Those that think before the next one were durable.
        for one in &mut behind_a_lock.awaited[..4] {
            one.took_ns -= 1000 * US;
        }
        assert_eq!(behind_a_lock.logs_of_group_commits(), Logs::from([(0, 0)]));
    }

    #[test]
    fn a_log_that_goes_on_in_another_file_is_one() {
        let mut two = captured();
        two.files.push(CapturedFile::default());
        let later = |at_ns: u64| u32::from(at_ns >= 7700 * US);
        two.operations.iter_mut().for_each(|one| one.file = later(one.at_ns));
        two.awaited.iter_mut().for_each(|one| one.file = later(one.at_ns + one.took_ns));
        assert_eq!(two.logs_of_group_commits(), Logs::from([(0, 0), (1, 0)]));
        // Writes that are durable by themselves are synced so.
        let mut durable = captured();
        durable.operations.retain(|one| one.kind == OperationKind::Write);
        durable.operations.iter_mut().for_each(|one| {
            one.kind = OperationKind::DurableWrite;
            one.took_ns = 1000 * US;
        });
        assert_eq!(durable.commits_of_a_sync(&durable.logs_of_group_commits()), Some(1.9));
        // Others, who write at the same time, have a log of their own.
        let mut others = captured();
        others.operations.iter_mut().for_each(|one| (one.file, one.lane) = (2, one.lane + 3));
        others.awaited.iter_mut().for_each(|one| (one.file, one.lane) = (2, one.lane + 3));
        two.operations.extend(others.operations);
        two.operations.sort_by_key(|one| one.at_ns);
        two.awaited.extend(others.awaited);
        two.awaited.sort_by_key(|one| one.at_ns);
        assert_eq!(two.logs_of_group_commits(), Logs::from([(0, 0), (1, 0), (2, 2)]));
    }

    #[test]
    fn writes_long_before_a_sync_and_in_another_slice_are_not_of_its_commit() {
        let mut captured = captured();
        let files = Logs::from([(0, 0)]);
        captured.operations[0].took_ns = 1;
        captured.operations[1].at_ns = TOGETHER_NS + 2;
        assert_eq!(captured.commits_made(&files)[0].operations, [1]);
        captured.operations[1].at_ns = TOGETHER_NS + 1;
        assert_eq!(captured.commits_made(&files)[0].operations, [0, 1]);
        captured.operations[1..].iter_mut().for_each(|one| one.slice = 1);
        assert_eq!(captured.commits_made(&files)[0].operations, [1]);
    }
}
