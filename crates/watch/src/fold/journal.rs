//! Follows the commits of journals, and the syncs that shared each.

use std::collections::VecDeque;

use halfpower_os::trace::CommitStep;
use halfpower_record::Wait;

use super::operations::Stretch;
use super::spans::Span;

/// Commits of a journal that are remembered: more than pass while one operation waits.
const REMEMBERED: usize = 64;

/// A commit that was seen.
#[derive(Debug, Default)]
pub(crate) struct CommitSeen {
    from_ns: u64,
    /// `None` while it goes on.
    to_ns: Option<u64>,
    /// Its own requests.
    pub(crate) own: Vec<Stretch>,
    /// The syncs that it made durable: index of their group, and how many.
    synced: Vec<(usize, u64)>,
}

impl CommitSeen {
    /// Its time so far.
    pub(crate) fn span(&self) -> Span {
        Span::new(self.from_ns, self.to_ns.unwrap_or(u64::MAX))
    }
}

/// A journal: one of a file system.
#[derive(Debug)]
struct Journal {
    /// The file system's device, as events encode it.
    device: u64,
    /// The kernel's thread that commits.
    thread: u32,
    commits: VecDeque<CommitSeen>,
}

/// All journals that committed.
#[derive(Debug, Default)]
pub(crate) struct Journals {
    all: Vec<Journal>,
}

impl Journals {
    /// Records a step of a commit.
    pub(crate) fn step(&mut self, at_ns: u64, thread: u32, device: u64, step: CommitStep) {
        let known = self.all.iter().position(|journal| journal.device == device);
        let index = known.unwrap_or_else(|| {
            self.all.push(Journal { device, thread, commits: VecDeque::new() });
            self.all.len() - 1
        });
        let journal = &mut self.all[index];
        journal.thread = thread;
        let goes_on = journal.commits.back().is_some_and(|commit| commit.to_ns.is_none());
        let begins = matches!(step, CommitStep::Started);
        let ends = matches!(step, CommitStep::Ended);
        if let Some(last) = journal.commits.back_mut().filter(|_| goes_on && (begins || ends)) {
            last.to_ns = Some(at_ns);
        }
        // A commit whose beginning was not seen counts from its first step on.
        if begins || !goes_on && !ends {
            let mut next = match journal.commits.len() >= REMEMBERED {
                true => journal.commits.pop_front().unwrap_or_default(),
                false => CommitSeen::default(),
            };
            next.from_ns = at_ns;
            next.to_ns = None;
            next.own.clear();
            next.synced.clear();
            journal.commits.push_back(next);
        }
    }

    /// The journal whose thread this is.
    pub(crate) fn of_thread(&self, thread: u32) -> Option<usize> {
        self.all.iter().position(|journal| journal.thread == thread)
    }

    /// Adds a stretch of a request that a journal's thread sent.
    pub(crate) fn add(&mut self, journal: usize, wait: Wait, from_ns: u64, to_ns: u64) {
        let commits = self.all.get_mut(journal).map(|journal| &mut journal.commits);
        if let Some(last) = commits.and_then(VecDeque::back_mut) {
            last.own.push(Stretch { wait, span: Span::new(from_ns, to_ns) });
        }
    }

    /// The commits of a device's journal that overlap a time.
    pub(crate) fn during(&self, device: u64, time: Span) -> impl Iterator<Item = &CommitSeen> {
        let commits = self.all.iter().filter(move |journal| journal.device == device).flat_map(|one| &one.commits);
        commits.filter(move |commit| {
            let span = commit.span();
            span.from_ns < time.to_ns && span.to_ns > time.from_ns
        })
    }

    /// Adds a sync to the last commit that ended during it, and calls `shared` for the groups of all syncs in the commit so
    /// far, with what each group shares more by it. False if no commit ended during it.
    pub(crate) fn sync(&mut self, device: u64, time: Span, group: usize, mut shared: impl FnMut(usize, u64)) -> bool {
        let Some(journal) = self.all.iter_mut().find(|journal| journal.device == device) else { return false };
        let within = |commit: &&mut CommitSeen| {
            commit.to_ns.is_some_and(|ended_ns| ended_ns > time.from_ns && ended_ns <= time.to_ns)
        };
        let Some(commit) = journal.commits.iter_mut().rev().find(within) else { return false };
        for (other, count) in &commit.synced {
            shared(*other, *count);
            shared(group, *count);
        }
        match commit.synced.iter_mut().find(|(other, _)| *other == group) {
            Some((_, count)) => *count += 1,
            None => commit.synced.push((group, 1)),
        }
        true
    }

    /// Forgets the commits: what follows is not what went before.
    pub(crate) fn cut(&mut self) {
        for journal in &mut self.all {
            journal.commits.clear();
        }
    }
}
