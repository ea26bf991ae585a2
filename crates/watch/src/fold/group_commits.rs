//! Finds who waits for the syncs of others, as in a group commit: a thread that has synced a file wakes those that waited for
//! it, at once and one after the other.
//!
//! Whoever slept already when the other one began to write and sync has what it wanted when that sync ends. Whoever came
//! later was only let through: it syncs next, or waits again for one that does, or another one has synced before it gets a
//! processor.

use std::collections::BTreeMap;

use halfpower_record::{AwaitedSync, OperationKind, TOGETHER_NS};

use super::spans::Span;

/// Longest time for which a thread runs from the end of a sync to the first whom it wakes, and from one to the next: this, or a
/// part of the sync. To wake a processor that rests takes some 50 us by itself where a hypervisor has to interrupt it, and after a
/// long sync caches are cold.
const AT_ONCE_NS: u64 = 100_000;
const AT_ONCE_OF_A_SYNC: u64 = 64;
/// Who was let through, and goes on later than this after it got a processor, to sync or to sleep again, waited for something
/// else.
const GOES_ON_NS: u64 = 1_000_000;

/// A time that a thread spends on a file.
#[derive(Debug, Clone, Copy)]
struct OnFile {
    /// The file's index among all that were seen.
    file: u32,
    span: Span,
}

#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    /// What it has written and not synced.
    writes: Option<OnFile>,
    /// Its last operation, if that was a sync, with the writes before.
    synced: Option<OnFile>,
    /// When that ended, or it woke somebody since.
    woke_ns: u64,
    /// Its wait for syncs of others, up to when it was let through.
    waiting: Option<OnFile>,
    /// When it got a processor after that.
    runs_ns: Option<u64>,
    /// When another one had synced before that.
    covered_ns: Option<u64>,
}

impl Thread {
    /// Whether what it does at this time follows from having been let through at the end of a wait.
    fn goes_on(&self, waiting: &OnFile, at_ns: u64) -> bool {
        let from_ns = self.runs_ns.unwrap_or(waiting.span.to_ns);
        at_ns.saturating_sub(from_ns) <= GOES_ON_NS
    }

    /// This wait up to the sync that made it durable before it got a processor; `None` if there was none.
    fn covered(&self, waiting: &OnFile) -> Option<OnFile> {
        Some(OnFile { file: waiting.file, span: Span::new(waiting.span.from_ns, self.covered_ns?) })
    }
}

/// A wait that is over. Its lane, and the index of its file among those that are used, are found at the end.
#[derive(Debug, Clone, Copy)]
struct Over {
    thread: u32,
    wait: AwaitedSync,
}

/// The waits for syncs of others.
#[derive(Debug, Default)]
pub(crate) struct GroupCommits {
    threads: BTreeMap<u32, Thread>,
    /// The last sync of each file, with the writes before.
    synced: BTreeMap<u32, Span>,
    over: Vec<Over>,
    /// The slice that goes on, when it began, and the first of its waits.
    slice: u32,
    begin_ns: u64,
    first: usize,
}

impl GroupCommits {
    /// Waits that are kept.
    pub(crate) fn count(&self) -> usize {
        self.over.len()
    }

    /// Tracing begins.
    pub(crate) fn begin_slice(&mut self, slice: u32, at_ns: u64) {
        self.threads.clear();
        self.synced.clear();
        self.slice = slice;
        self.begin_ns = at_ns;
        self.first = self.over.len();
    }

    /// Tracing has ended after this time of the slice; 0 if there is no such slice. Gives the longest wait in it, in nanoseconds.
    pub(crate) fn end_slice(&mut self, length_ns: u64) -> u64 {
        let mut own = self.over.split_off(self.first);
        own.retain(|Over { wait, .. }| length_ns > 0 && wait.at_ns + wait.took_ns <= length_ns);
        own.sort_by_key(|over| over.wait.at_ns);
        let longest_ns = own.iter().map(|over| over.wait.took_ns).max().unwrap_or(0);
        self.over.append(&mut own);
        self.first = self.over.len();
        self.threads.clear();
        longest_ns
    }

    /// An operation of a thread has ended.
    pub(crate) fn ended(&mut self, thread: u32, file: u32, kind: OperationKind, span: Span) {
        let known = self.threads.entry(thread).or_default();
        let waiting = known.waiting.take();
        let turn = waiting.filter(|waiting| {
            waiting.file == file && span.from_ns >= waiting.span.to_ns && known.goes_on(waiting, span.from_ns)
        });
        let covered = waiting.and_then(|waiting| known.covered(&waiting));
        let writes = known
            .writes
            .take()
            .filter(|run| run.file == file && span.from_ns.saturating_sub(run.span.to_ns) <= TOGETHER_NS);
        known.synced = None;
        let from_ns = writes.map_or(span.from_ns, |run| run.span.from_ns);
        let run = OnFile { file, span: Span::new(from_ns, span.to_ns) };
        let is_part = match kind {
            kind if kind.ends_a_commit() => {
                known.synced = Some(run);
                known.woke_ns = span.to_ns;
                self.synced.insert(file, run.span);
                true
            }
            OperationKind::Write => {
                known.writes = Some(run);
                true
            }
            _ => false,
        };
        if let Some(OnFile { file, span }) = turn.filter(|_| is_part) {
            self.keep(thread, file, span, false);
        } else if let Some(OnFile { file, span }) = covered {
            self.keep(thread, file, span, true);
        }
    }

    /// A thread goes to sleep: whom it wakes after that does not wait for what it synced before.
    pub(crate) fn sleeps(&mut self, thread: u32) {
        if let Some(known) = self.threads.get_mut(&thread) {
            known.synced = None;
        }
    }

    /// A thread gets a processor. Where many compute, who was let through may wait for one for longer than a sync takes: another
    /// one may have synced meanwhile what it had written before it slept. Whether it was so, its next operation tells.
    pub(crate) fn runs(&mut self, thread: u32, at_ns: u64) {
        let Some(known) = self.threads.get_mut(&thread) else { return };
        let Some(OnFile { file, span }) = known.waiting.filter(|_| known.runs_ns.is_none()) else { return };
        let covers = |synced: &&Span| synced.from_ns >= span.from_ns && synced.to_ns > span.to_ns;
        known.runs_ns = Some(at_ns);
        known.covered_ns = self.synced.get(&file).filter(covers).map(|synced| synced.to_ns);
    }

    /// A thread, which has run since the time that stands beside it, wakes another one, which has slept likewise.
    pub(crate) fn wakes(&mut self, (waker, runs_from_ns): (u32, u64), at_ns: u64, (thread, since_ns): (u32, u64)) {
        let Some(known) = self.threads.get_mut(&waker) else { return };
        let Some(OnFile { file, span: synced }) = known.synced else { return };
        let at_once_ns = AT_ONCE_NS.max(synced.length_ns() / AT_ONCE_OF_A_SYNC);
        if at_ns.saturating_sub(known.woke_ns.max(runs_from_ns)) > at_once_ns {
            known.synced = None;
            return;
        }
        known.woke_ns = at_ns;
        let woken = self.threads.entry(thread).or_default();
        let again = woken.waiting.filter(|waiting| waiting.file == file && woken.goes_on(waiting, since_ns));
        let covered = woken.waiting.filter(|_| again.is_none()).and_then(|waiting| woken.covered(&waiting));
        let from_ns = again.map_or(since_ns, |waiting| waiting.span.from_ns);
        let span = Span::new(from_ns, at_ns);
        // What it had written and not synced, it waits for.
        woken.writes = None;
        woken.synced = None;
        if from_ns <= synced.from_ns {
            woken.waiting = None;
            self.keep(thread, file, span, true);
        } else {
            woken.waiting = Some(OnFile { file, span });
            woken.runs_ns = None;
            woken.covered_ns = None;
        }
        if let Some(OnFile { file, span }) = covered {
            self.keep(thread, file, span, true);
        }
    }

    fn keep(&mut self, thread: u32, file: u32, span: Span, shared: bool) {
        // A commit counts in the slice in which it is durable.
        let at_ns = span.from_ns.saturating_sub(self.begin_ns);
        let took_ns = span.to_ns.saturating_sub(self.begin_ns + at_ns);
        let wait = AwaitedSync { slice: self.slice, lane: 0, at_ns, took_ns, file, shared };
        self.over.push(Over { thread, wait });
    }

    /// The waits of past slices, with their threads.
    pub(crate) fn past(&self) -> impl Iterator<Item = (u32, AwaitedSync)> {
        self.over[..self.first].iter().map(|Over { thread, wait }| (*thread, *wait))
    }

    /// The waits of past slices for files that those who waited write or sync themselves: `writers` has the lane and the
    /// file's index for such a thread and file.
    pub(crate) fn awaited(&self, writers: &BTreeMap<(u32, u32), (u32, u32)>) -> Vec<AwaitedSync> {
        let listed = self.past().filter_map(|(thread, wait)| {
            let (lane, file) = *writers.get(&(thread, wait.file))?;
            Some(AwaitedSync { lane, file, ..wait })
        });
        listed.collect()
    }
}
