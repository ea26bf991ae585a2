//! Follows what the descriptors of processes lead to: who opened what, who shares it, and where its stream stands.

use std::collections::{HashMap, VecDeque};

/// Most descriptors that are copied for new processes; what is forked after that shares its parent's.
const MOST_COPIED: usize = 4_000_000;

/// What a descriptor leads to; duplicates of a descriptor lead to the same.
#[derive(Debug, Default)]
pub(crate) struct Open {
    /// The file; `None` if it is a socket, a pipe, a terminal or another thing that is no file.
    pub file: Option<u32>,
    /// Its path, or what else names it.
    pub name: String,
    /// The thread that opened it; `None` if it was open before the trace.
    pub opener: Option<u64>,
    /// Where the next read or write without an offset begins.
    pub position: u64,
    /// Whether writes are durable when they return.
    pub is_durable: bool,
    /// Whether writes go to the end.
    pub appends: bool,
}

/// The descriptors of all processes. A thread of which nobody told whose child it is shares the first one's.
#[derive(Debug)]
pub(crate) struct Descriptors {
    /// By descriptor, the index in `open`. Threads of a process share one table.
    tables: Vec<HashMap<u32, usize>>,
    table_of: HashMap<u64, usize>,
    /// Calls that make a process or a thread, and have not returned: the caller, and whether the child shares its table.
    expected: VecDeque<(u64, bool)>,
    copied: usize,
    open: Vec<Open>,
}

impl Descriptors {
    /// No process yet.
    pub fn new() -> Self {
        Self {
            tables: vec![HashMap::new()],
            table_of: HashMap::new(),
            expected: VecDeque::new(),
            copied: 0,
            open: Vec::new(),
        }
    }

    /// What a descriptor of this thread leads to, if that is known.
    pub fn find(&mut self, who: u64, descriptor: u32) -> Option<usize> {
        self.table(who).get(&descriptor).copied()
    }

    /// What was found.
    pub fn at(&mut self, index: usize) -> &mut Open {
        &mut self.open[index]
    }

    /// Notes what a descriptor leads to from now on.
    pub fn open(&mut self, who: u64, descriptor: u32, open: Open) -> usize {
        self.open.push(open);
        let index = self.open.len() - 1;
        self.table(who).insert(descriptor, index);
        index
    }

    /// Notes that `to` leads where `from` leads.
    pub fn duplicate(&mut self, who: u64, from: u32, to: u32) {
        let table = self.table(who);
        match table.get(&from).copied() {
            Some(index) => table.insert(to, index),
            None => table.remove(&to),
        };
    }

    /// Notes that descriptors from `first` to `last` are closed.
    pub fn close(&mut self, who: u64, first: u32, last: u32) {
        let table = self.table(who);
        if first == last {
            table.remove(&first);
        } else {
            table.retain(|descriptor, _| !(first..=last).contains(descriptor));
        }
    }

    /// Notes that a call which makes a process or a thread has begun.
    pub fn expect_child(&mut self, parent: u64, shares: bool) {
        self.expected.push_back((parent, shares));
    }

    /// Notes that a call which made the process or thread `child` has returned.
    pub fn child(&mut self, parent: u64, child: u64, shares: bool) {
        if self.table_of.contains_key(&child) {
            return;
        }
        if let Some(at) = self.expected.iter().position(|(expecting, _)| *expecting == parent) {
            self.expected.remove(at);
        }
        let table = self.table_of_child(parent, shares);
        self.table_of.insert(child, table);
    }

    /// Whether this thread has the first process's table.
    pub fn is_of_first(&mut self, who: u64) -> bool {
        self.table_index(who) == 0
    }

    fn table(&mut self, who: u64) -> &mut HashMap<u32, usize> {
        let index = self.table_index(who);
        &mut self.tables[index]
    }

    fn table_index(&mut self, who: u64) -> usize {
        if let Some(table) = self.table_of.get(&who) {
            return *table;
        }
        // A child may run before the call that made it returns.
        let table = match self.expected.pop_front() {
            Some((parent, shares)) => self.table_of_child(parent, shares),
            None => 0,
        };
        self.table_of.insert(who, table);
        table
    }

    fn table_of_child(&mut self, parent: u64, shares: bool) -> usize {
        let of_parent = self.table_of.get(&parent).copied().unwrap_or(0);
        self.copied += if shares { 0 } else { self.tables[of_parent].len() };
        if shares || self.copied > MOST_COPIED {
            return of_parent;
        }
        let copy = self.tables[of_parent].clone();
        self.tables.push(copy);
        self.tables.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(file: u32) -> Open {
        Open { file: Some(file), ..Open::default() }
    }

    #[test]
    fn threads_share_what_is_open_and_processes_have_copies() {
        let mut descriptors = Descriptors::new();
        let first = descriptors.open(1, 3, file(0));
        descriptors.expect_child(1, true);
        assert_eq!(descriptors.find(2, 3), Some(first), "a thread that runs before its maker returns");
        descriptors.child(1, 2, true);
        descriptors.child(1, 4, false);
        let second = descriptors.open(2, 5, file(1));
        assert_eq!((descriptors.find(1, 5), descriptors.find(4, 5)), (Some(second), None));
        descriptors.close(1, 3, 3);
        assert_eq!((descriptors.find(2, 3), descriptors.find(4, 3)), (None, Some(first)));
        descriptors.duplicate(4, 3, 1);
        descriptors.close(4, 3, u32::MAX);
        assert_eq!((descriptors.find(4, 3), descriptors.find(4, 1)), (None, Some(first)));
        assert!(descriptors.is_of_first(9) && !descriptors.is_of_first(4));
    }
}
