//! Counts what other processes wrote to files, which the kernel carries to the disks later and in its own name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use halfpower_os::tasks::{Task, task};
use halfpower_record::{Latency, OtherUser};

use super::subject::{Followed, all_processes};

/// Bytes below which what a process wrote is not told.
const LEAST_BYTES: u64 = 64 << 10;

/// Name under which the fold counts the kernel's workers, which write back what is in the page cache.
const WRITER: &str = "kworker";
/// Prefixes of the names of the kernel's threads that write what is a file system's own, and no pages of files.
const OF_FILE_SYSTEMS: [&str; 3] = ["jbd2/", "xfsaild/", "btrfs-transacti"];
/// Parents are followed up to this height.
const HIGHEST: u32 = 32;

/// What a process wrote.
#[derive(Debug)]
struct Written {
    name: String,
    cgroup: String,
    /// The process that started it, or that took it over.
    parent: u32,
    before: u64,
    last: u64,
    /// By how much it grew between the last two looks.
    grew: u64,
    has_ended: bool,
}

/// The other processes.
#[derive(Debug)]
pub(crate) struct Neighbours {
    root: PathBuf,
    written: BTreeMap<u32, Written>,
    has_begun: bool,
}

impl Neighbours {
    pub(crate) fn new(root: &Path, followed: &Followed) -> Self {
        let mut neighbours = Self { root: root.to_path_buf(), written: BTreeMap::new(), has_begun: false };
        neighbours.scan(followed);
        neighbours.has_begun = true;
        neighbours
    }

    /// Reads their counters now.
    pub(crate) fn scan(&mut self, followed: &Followed) {
        let own = std::process::id();
        let mut there = BTreeSet::new();
        for pid in all_processes(&self.root).into_iter().filter(|pid| *pid != own && !followed.has(*pid)) {
            let Some(now) = task(&self.root, pid, pid) else { continue };
            there.insert(pid);
            let is_it = |known: &&mut Written| !known.has_ended && known.last <= now.write_bytes;
            if let Some(known) = self.written.get_mut(&pid).filter(is_it) {
                known.grew = now.write_bytes - known.last;
                known.last = now.write_bytes;
                known.parent = now.parent;
                continue;
            }
            // Of a process that came later all counts.
            let before = if self.has_begun { 0 } else { now.write_bytes };
            let Task { name, cgroup, parent, write_bytes: last, .. } = now;
            self.written.insert(pid, Written { name, cgroup, parent, before, last, grew: 0, has_ended: false });
        }
        self.let_go(&there);
    }

    /// What a process wrote that has ended, the kernel has added to the counters of whoever waited for it: there it counts no
    /// more.
    fn let_go(&mut self, there: &BTreeSet<u32>) {
        let ended = self.written.iter().filter(|(pid, one)| !one.has_ended && !there.contains(*pid));
        let ended: Vec<u32> = ended.map(|(pid, _)| *pid).collect();
        for pid in ended {
            let heir = self.heir(pid, there);
            let Some(one) = self.written.get_mut(&pid) else { continue };
            one.has_ended = true;
            let bytes = one.last;
            if let Some(heir) = heir.and_then(|heir| self.written.get_mut(&heir)) {
                let inherited = bytes.min(heir.grew);
                heir.grew -= inherited;
                heir.before += inherited;
            }
        }
    }

    /// The first of the processes above one that is still there.
    fn heir(&self, pid: u32, there: &BTreeSet<u32>) -> Option<u32> {
        let mut above = self.written.get(&pid)?.parent;
        for _ in 0..HIGHEST {
            if there.contains(&above) {
                return Some(above);
            }
            above = self.written.get(&above)?.parent;
        }
        None
    }

    /// What each process wrote over a part of the watch beyond what was traced of it. All together it is no more than `room`:
    /// they may have written to other disks, or what only memory has yet.
    fn buffered(&self, others: &[OtherUser], part: f64, room: Option<u64>) -> Vec<(u32, u64)> {
        let beyond = |(pid, written): (&u32, &Written)| {
            let bytes = (written.last.saturating_sub(written.before) as f64 * part) as u64;
            let traced = others.iter().find(|other| other.pid == *pid).map_or(0, |other| other.written_bytes);
            (*pid, bytes.saturating_sub(traced))
        };
        let mut all: Vec<(u32, u64)> = self.written.iter().map(beyond).collect();
        let sum: f64 = all.iter().map(|(_, bytes)| *bytes as f64).sum();
        if let Some(room) = room.filter(|room| sum > *room as f64) {
            all.iter_mut().for_each(|(_, bytes)| *bytes = (*bytes as f64 * (room as f64 / sum)) as u64);
        }
        all.retain(|(_, bytes)| *bytes >= LEAST_BYTES);
        all
    }

    /// Adds to what was traced of others what they wrote to the page cache, over a part of the watch, as far as it reached the
    /// disks: of all bytes that were written back there, which `written_back` gives where nothing was traced, what the subject's
    /// own (`own_bytes`) leave. As latencies during their writes count those during the kernel's writing back. What the kernel
    /// wrote for them, and for the subject, is no longer the kernel's.
    pub(crate) fn add_to(
        &self,
        others: &mut Vec<OtherUser>,
        part: f64,
        own_bytes: u64,
        written_back: impl FnOnce(&[OtherUser]) -> Option<u64>,
    ) {
        let kernels = |other: &&OtherUser| other.pid == 0 && other.name == WRITER;
        let writeback = others.iter().find(kernels).map(|other| (other.own_during.clone(), other.own_without.clone()));
        let all = others.first().map(|other| {
            let mut all = other.own_during.clone();
            all.merge(&other.own_without);
            all
        });
        let (during, without) = writeback.unwrap_or_else(|| (Latency::default(), all.unwrap_or_default()));
        let room = written_back(others).map(|bytes| bytes.saturating_sub(own_bytes));
        let mut carried = own_bytes;
        for (pid, buffered) in self.buffered(others, part, room) {
            let Some(written) = self.written.get(&pid) else { continue };
            carried += buffered;
            match others.iter_mut().find(|other| other.pid == pid) {
                // What it wrote by itself is the smaller part.
                Some(other) if other.written_bytes < buffered => {
                    other.written_bytes += buffered;
                    other.own_during = during.clone();
                    other.own_without = without.clone();
                }
                Some(other) => other.written_bytes += buffered,
                None => others.push(OtherUser {
                    name: written.name.clone(),
                    pid,
                    cgroup: written.cgroup.clone(),
                    read_bytes: 0,
                    written_bytes: buffered,
                    requests: 0,
                    syncs: 0,
                    own_during: during.clone(),
                    own_without: without.clone(),
                }),
            }
        }
        for kernel in others.iter_mut().filter(|other| other.pid == 0 && other.name == WRITER) {
            kernel.written_bytes = kernel.written_bytes.saturating_sub(carried);
        }
        others.retain(|other| {
            other.pid != 0 || other.name != WRITER || other.read_bytes + other.written_bytes >= LEAST_BYTES
        });
        others.sort_by_key(|other| std::cmp::Reverse(other.read_bytes + other.written_bytes));
    }
}

/// Bytes that the kernel was seen to write back.
pub(crate) fn written_back(others: &[OtherUser]) -> u64 {
    let is_of_files =
        |other: &&OtherUser| other.pid == 0 && !OF_FILE_SYSTEMS.iter().any(|prefix| other.name.starts_with(prefix));
    others.iter().filter(is_of_files).map(|other| other.written_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::subject::Asked;

    fn other(name: &str, pid: u32, written_bytes: u64, during: &[u64]) -> OtherUser {
        let mut own_during = Latency::default();
        during.iter().for_each(|ns| own_during.add(*ns));
        OtherUser {
            name: name.into(),
            pid,
            cgroup: String::new(),
            read_bytes: 0,
            written_bytes,
            requests: 1,
            syncs: 0,
            own_during,
            own_without: Latency::default(),
        }
    }

    fn wrote(name: &str, before: u64, last: u64) -> Written {
        let cgroup = "/backup".to_string();
        Written { name: name.into(), cgroup, parent: 1, before, last, grew: 0, has_ended: false }
    }

    fn told(others: &[OtherUser]) -> Vec<(&str, u64)> {
        others.iter().map(|other| (other.name.as_str(), other.written_bytes)).collect()
    }

    #[test]
    fn what_reached_no_disk_of_the_subject_is_no_neighbours() {
        const MIB: u64 = 1 << 20;
        let written = [(70, wrote("rsync", 0, 768 * MIB)), (80, wrote("cp", 0, 256 * MIB))];
        let neighbours = Neighbours { root: PathBuf::new(), written: written.into(), has_begun: true };
        let add_to = |mut others: Vec<OtherUser>, traced: Option<u64>| {
            neighbours.add_to(&mut others, 1.0, 20 * MIB, |others| traced.or(Some(written_back(others))));
            others
        };
        let journal = || other("jbd2/vda-8", 0, 50 * MIB, &[]);
        // The kernel wrote back nothing here but the subject's own.
        let elsewhere = add_to(vec![other(WRITER, 0, 20 * MIB, &[900]), journal()], None);
        assert_eq!(told(&elsewhere), [("jbd2/vda-8", 50 * MIB)]);
        // A sixteenth of what they wrote can have come here.
        let here = add_to(vec![other(WRITER, 0, 84 * MIB, &[900]), journal()], None);
        assert_eq!(told(&here), [("jbd2/vda-8", 50 * MIB), ("rsync", 48 * MIB), ("cp", 16 * MIB)]);
        assert_eq!(told(&add_to(Vec::new(), Some(52 * MIB))), [("rsync", 24 * MIB), ("cp", 8 * MIB)]);
    }

    #[test]
    fn what_a_process_wrote_that_has_ended_is_not_its_parents_too() {
        let folder = tempfile::tempdir().unwrap();
        let lay = |pid: u32, parent: u32, bytes: u64| {
            let process = folder.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&process).unwrap();
            std::fs::write(process.join("stat"), format!("{pid} (p{pid}) S {parent}{}\n", " 0".repeat(48))).unwrap();
            std::fs::write(process.join("io"), format!("read_bytes: 0\nwrite_bytes: {bytes}\n")).unwrap();
        };
        let asked = Asked::Processes { asked: "nobody".into(), pids: Vec::new(), with_children: false };
        let followed = Followed::new(folder.path(), &asked);
        lay(9_000_001, 1, 5_000);
        let mut neighbours = Neighbours::new(folder.path(), &followed);
        let written = |neighbours: &Neighbours, pid: u32| {
            let one = &neighbours.written[&pid];
            one.last - one.before
        };
        lay(9_000_002, 9_000_001, 0);
        lay(9_000_003, 9_000_002, 70_000);
        neighbours.scan(&followed);
        lay(9_000_003, 9_000_002, 90_000);
        neighbours.scan(&followed);
        // Both end: the one that is left has what they wrote, and what the last look did not see.
        for pid in [9_000_002, 9_000_003] {
            std::fs::remove_dir_all(folder.path().join(format!("proc/{pid}"))).unwrap();
        }
        lay(9_000_001, 1, 5_000 + 91_000 + 300);
        neighbours.scan(&followed);
        assert_eq!([9_000_001, 9_000_002, 9_000_003].map(|pid| written(&neighbours, pid)), [1_300, 0, 90_000]);
        lay(9_000_001, 1, 5_000 + 91_000 + 400);
        neighbours.scan(&followed);
        assert_eq!(written(&neighbours, 9_000_001), 1_400);
    }

    #[test]
    fn what_the_kernel_writes_back_belongs_to_those_who_wrote_it() {
        const MIB: u64 = 1 << 20;
        let written =
            [(70, wrote("rsync", 5 * MIB, 105 * MIB)), (80, wrote("dd", 0, 40 * MIB)), (90, wrote("idle", 7, 7))];
        let neighbours = Neighbours { root: PathBuf::new(), written: written.into(), has_begun: true };
        let mut others = vec![other(WRITER, 0, 130 * MIB, &[900, 900]), other("dd", 80, 40 * MIB, &[500])];
        neighbours.add_to(&mut others, 1.0, 10 * MIB, |others| Some(written_back(others)));
        let told: Vec<(&str, u64, u64)> =
            others.iter().map(|other| (other.name.as_str(), other.written_bytes, other.own_during.count())).collect();
        assert_eq!(told, [("rsync", 100 * MIB, 2), ("dd", 40 * MIB, 1), (WRITER, 20 * MIB, 2)]);
        // What is all the subject's own is nobody else's.
        let mut alone = vec![other(WRITER, 0, 10 * MIB, &[900])];
        let nobody = Neighbours { root: PathBuf::new(), written: BTreeMap::new(), has_begun: true };
        nobody.add_to(&mut alone, 0.5, 12 * MIB, |others| Some(written_back(others)));
        assert!(alone.is_empty(), "{alone:?}");
    }
}
