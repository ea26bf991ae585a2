//! Follows the processes and threads that are watched, and what the kernel counts of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use halfpower_os::tasks::{Task, descendants, processes_of_group, task, threads};
use halfpower_record::{Subject, WatchedProcessors};

/// The process under which all threads of the kernel are.
const KERNEL: u32 = 2;

/// Whom a watch looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Processes.
    Processes {
        /// What was asked for, for people.
        asked: String,
        /// Their IDs.
        pids: Vec<u32>,
        /// Whether the processes that they start belong to them.
        with_children: bool,
    },
    /// All processes of a control group and of the groups in it.
    Group {
        /// What was asked for, for people.
        asked: String,
        /// The group's folder.
        folder: PathBuf,
    },
    /// Everybody who uses a disk.
    Disk {
        /// What was asked for, for people.
        asked: String,
        /// Its kernel name.
        device: String,
    },
}

impl Asked {
    /// What was asked for, for people.
    pub fn asked(&self) -> &str {
        match self {
            Self::Processes { asked, .. } | Self::Group { asked, .. } | Self::Disk { asked, .. } => asked,
        }
    }
}

/// What is known of a process by its number alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) name: String,
    pub(crate) pid: u32,
    pub(crate) parent: u32,
}

impl Status {
    /// Of a process or a thread; `None` if it is gone.
    pub(crate) fn of(root: &Path, thread: u32) -> Option<Self> {
        let text = fs::read_to_string(root.join(format!("proc/{thread}/status"))).ok()?;
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        Some(Self {
            name: value("Name:")?.to_string(),
            pid: value("Tgid:")?.parse().ok()?,
            parent: value("PPid:")?.parse().ok()?,
        })
    }

    /// Whether the kernel runs it.
    pub(crate) fn is_kernel(&self) -> bool {
        self.pid == KERNEL || self.parent == KERNEL
    }
}

/// A thread that was seen.
#[derive(Debug)]
struct Counted {
    /// What had been counted of it when the watch began; nothing for a thread that came later.
    before: Option<Task>,
    last: Task,
    /// Whether its process has ended, and the kernel has added what it counted of it to the parent, which is watched too.
    is_in_parent: bool,
}

impl Counted {
    /// What a counter has grown by; of one that was added to the parent's it is what was counted before the watch began, which
    /// the parent's has grown by too much.
    fn grown(&self, of: impl Fn(&Task) -> u64) -> i128 {
        let before = self.before.as_ref().map_or(0, |before| i128::from(of(before)));
        let last = if self.is_in_parent { 0 } else { i128::from(of(&self.last)) };
        last - before
    }
}

/// A sum of counters; what was read at different moments may make it negative.
fn sum(grown: impl Iterator<Item = i128>) -> u64 {
    grown.sum::<i128>().max(0).try_into().unwrap_or(u64::MAX)
}

/// The processes and threads that are watched.
#[derive(Debug)]
pub(crate) struct Followed {
    root: PathBuf,
    asked: Asked,
    processes: BTreeSet<u32>,
    /// Those that have ended, and that their parents may not have waited for.
    ending: BTreeSet<u32>,
    /// All processes that were ever seen.
    ever: BTreeSet<u32>,
    /// The process of each thread that is there.
    live: BTreeMap<u32, u32>,
    counted: BTreeMap<u32, Counted>,
    has_begun: bool,
}

impl Followed {
    pub(crate) fn new(root: &Path, asked: &Asked) -> Self {
        let mut followed = Self {
            root: root.to_path_buf(),
            asked: asked.clone(),
            processes: BTreeSet::new(),
            ending: BTreeSet::new(),
            ever: BTreeSet::new(),
            live: BTreeMap::new(),
            counted: BTreeMap::new(),
            has_begun: false,
        };
        followed.scan();
        followed.has_begun = true;
        followed
    }

    /// Looks which processes and threads are there now, and reads their counters.
    pub(crate) fn scan(&mut self) {
        let found = self.found();
        self.let_go(&found);
        self.processes = found;
        self.ever.extend(&self.processes);
        self.live.clear();
        for pid in &self.processes {
            for thread in threads(&self.root, *pid) {
                self.live.insert(thread, *pid);
                let Some(task) = task(&self.root, *pid, thread) else { continue };
                if let Some(counted) = self.counted.get_mut(&thread).filter(|counted| counted.last.pid == *pid) {
                    counted.last = task;
                } else {
                    let before = (!self.has_begun).then(|| task.clone());
                    self.counted.insert(thread, Counted { before, last: task, is_in_parent: false });
                }
            }
        }
    }

    /// Counts what processes that have ended still tell, until their parents have waited for them; from then on the parents'
    /// counters hold it.
    fn let_go(&mut self, found: &BTreeSet<u32>) {
        self.ending.extend(self.processes.difference(found));
        for pid in self.ending.clone() {
            let Some(counted) = self.counted.get_mut(&pid) else {
                self.ending.remove(&pid);
                continue;
            };
            if let Some(last) = task(&self.root, pid, pid).filter(|task| !task.exists) {
                counted.last = last;
                continue;
            }
            let parent = counted.last.parent;
            let is_in_parent = self.counted.contains_key(&parent);
            let of_it = self.counted.values_mut().filter(|counted| counted.last.pid == pid);
            of_it.for_each(|counted| counted.is_in_parent = is_in_parent);
            self.ending.remove(&pid);
        }
    }

    fn found(&self) -> BTreeSet<u32> {
        let mut found: BTreeSet<u32> = match &self.asked {
            Asked::Processes { pids, with_children, .. } => {
                let mut found: BTreeSet<u32> = pids.iter().copied().collect();
                if *with_children {
                    // A child whose parent has ended is still of the subject.
                    found.extend(&self.processes);
                    let roots: Vec<u32> = found.iter().copied().collect();
                    found.extend(roots.into_iter().flat_map(|pid| descendants(&self.root, pid)));
                }
                found
            }
            Asked::Group { folder, .. } => processes_of_group(&self.root, folder).into_iter().collect(),
            Asked::Disk { .. } => {
                let kernel: BTreeSet<u32> = descendants(&self.root, KERNEL).into_iter().collect();
                let all = all_processes(&self.root).into_iter();
                all.filter(|pid| *pid != KERNEL && !kernel.contains(pid)).collect()
            }
        };
        found.remove(&std::process::id());
        found.retain(|pid| task(&self.root, *pid, *pid).is_some_and(|task| task.exists));
        found
    }

    /// The root of its machine.
    pub(crate) fn folder(&self) -> &Path {
        &self.root
    }

    /// The threads that are there.
    pub(crate) fn threads(&self) -> Vec<u32> {
        self.live.keys().copied().collect()
    }

    /// The processes that are there.
    pub(crate) fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        self.processes.iter().copied()
    }

    /// Whether a process is watched.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.processes.contains(&pid)
    }

    /// Whether there is still somebody to watch, or may be again.
    pub(crate) fn lives(&self) -> bool {
        match &self.asked {
            Asked::Processes { .. } => !self.processes.is_empty(),
            Asked::Group { folder, .. } => folder.is_dir(),
            Asked::Disk { .. } => true,
        }
    }

    /// The process of a thread that is watched, also of one that began since the last look.
    pub(crate) fn process_of(&mut self, thread: u32) -> Option<u32> {
        if let Some(pid) = self.live.get(&thread) {
            return Some(*pid);
        }
        let status = Status::of(&self.root, thread)?;
        let is_own = self.processes.contains(&status.pid) || self.is_new_own(&status);
        if !is_own {
            return None;
        }
        self.processes.insert(status.pid);
        self.ever.insert(status.pid);
        self.live.insert(thread, status.pid);
        Some(status.pid)
    }

    fn is_new_own(&self, status: &Status) -> bool {
        if status.pid == std::process::id() || status.is_kernel() {
            return false;
        }
        match &self.asked {
            Asked::Processes { with_children, .. } => *with_children && self.processes.contains(&status.parent),
            Asked::Disk { .. } => true,
            Asked::Group { folder, .. } => {
                let text = fs::read_to_string(self.root.join(format!("proc/{}/cgroup", status.pid)));
                let text = text.unwrap_or_default();
                let paths = text.lines().filter_map(|line| Some(line.splitn(3, ':').nth(2)?.trim_start_matches('/')));
                paths
                    .flat_map(|path| Path::new(path).ancestors())
                    .any(|path| !path.as_os_str().is_empty() && folder.ends_with(path))
            }
        }
    }

    /// Processors that its threads may run on, all together; 0 if nothing tells.
    pub(crate) fn processors_allowed(&self) -> u32 {
        let mut allowed = BTreeSet::new();
        for (thread, pid) in &self.live {
            let path = self.root.join(format!("proc/{pid}/task/{thread}/status"));
            let text = fs::read_to_string(path).unwrap_or_default();
            let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            allowed.extend(list.into_iter().flat_map(|list| listed(list.trim())));
        }
        allowed.len() as u32
    }

    /// Who is watched.
    pub(crate) fn subject(&self) -> Subject {
        let mut names = BTreeMap::<&str, u64>::new();
        let mut groups = BTreeSet::new();
        for (thread, counted) in &self.counted {
            if *thread == counted.last.pid {
                *names.entry(&counted.last.name).or_default() += 1;
                groups.insert(counted.last.cgroup.as_str());
            }
        }
        let name = names.iter().max_by_key(|(_, count)| **count).map_or("", |(name, _)| *name);
        let one_group = groups.first().filter(|_| groups.len() == 1);
        Subject {
            asked: self.asked.asked().to_string(),
            name: name.to_string(),
            processes: self.ever.len() as u64,
            threads: self.counted.len() as u64,
            cgroup: one_group.map_or(String::new(), |group| (*group).to_string()),
            ended: (!self.lives()).then(|| "all its processes have ended".to_string()),
        }
    }

    /// Bytes that its processes gave to be written to disks since the watch began.
    pub(crate) fn written(&self) -> u64 {
        sum(self.counted.values().map(|counted| counted.grown(|task| task.write_bytes)))
    }

    /// Bytes that its processes made disks read, or gave to be written, since the watch began; `None` if some may not be asked.
    pub(crate) fn moved(&self) -> Option<u64> {
        let of = |task: &Task| task.read_bytes.saturating_add(task.write_bytes);
        let all_tell = self.counted.values().all(|counted| counted.last.tells_bytes);
        all_tell.then(|| sum(self.counted.values().map(|counted| counted.grown(of))))
    }

    /// Processor time and waits of its threads since the watch began; of the machine nothing.
    pub(crate) fn processors(&self) -> WatchedProcessors {
        let mut all = WatchedProcessors { run_queue_ns: Some(0), block_io_ns: Some(0), ..WatchedProcessors::default() };
        let grown = |now: Option<u64>, before: Option<Option<u64>>| {
            Some(now?.saturating_sub(before.map_or(Some(0), |before| before)?))
        };
        let more = |all: Option<u64>, more: Option<u64>| Some(all? + more?);
        all.own_ns = sum(self
            .counted
            .values()
            .map(|counted| counted.grown(|task| task.processor_ns.saturating_add(task.children_ns))));
        for Counted { before, last, .. } in self.counted.values() {
            let before = before.as_ref();
            let own_ns = last.processor_ns.saturating_sub(before.map_or(0, |before| before.processor_ns));
            all.busiest_thread_ns = all.busiest_thread_ns.max(own_ns);
            let ready_ns = grown(last.run_queue_ns, before.map(|before| before.run_queue_ns.or(Some(0))));
            // A thread that never ran has no counters yet.
            all.run_queue_ns = more(all.run_queue_ns, ready_ns.or((last.processor_ns == 0).then_some(0)));
            all.block_io_ns = more(all.block_io_ns, grown(last.block_io_ns, before.map(|before| before.block_io_ns)));
        }
        if self.counted.is_empty() {
            all.run_queue_ns = None;
            all.block_io_ns = None;
        }
        all
    }
}

/// The numbers of a list such as `0-3,8`.
fn listed(list: &str) -> impl Iterator<Item = u32> + '_ {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    list.split(',').filter_map(range).flatten()
}

/// All processes that can be seen.
pub(crate) fn all_processes(root: &Path) -> Vec<u32> {
    let entries = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_that_any_of_its_threads_may_run_on_are_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let lay = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let asked = Asked::Processes { asked: "pid 9000100".into(), pids: vec![9_000_100], with_children: false };
        for (thread, list) in [(9_000_100, "0-1"), (9_000_101, "1,4-5"), (9_000_102, "4")] {
            let stat = format!("{thread} (scylla) S 1{} 0\n", " 0".repeat(47));
            lay(&format!("proc/9000100/task/{thread}/stat"), &stat);
            lay(&format!("proc/9000100/task/{thread}/status"), &format!("Name:\tscylla\nCpus_allowed_list:\t{list}\n"));
        }
        assert_eq!(Followed::new(folder.path(), &asked).processors_allowed(), 4);
        fs::remove_dir_all(folder.path().join("proc/9000100/task/9000101")).unwrap();
        assert_eq!(Followed::new(folder.path(), &asked).processors_allowed(), 3);
        assert_eq!(listed("").count() + listed("x-3").count(), 0);
    }
}
