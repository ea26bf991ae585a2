//! Counts what other processes wrote to files, which the kernel carries to the disks later and in its own name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use halfpower_os::tasks::task;
use halfpower_record::{Latency, OtherUser};

use super::subject::{Followed, all_processes};

/// Bytes below which what a process wrote is not told.
const LEAST_BYTES: u64 = 64 << 10;

/// Name under which the fold counts the kernel's workers, which write back what is in the page cache.
const WRITER: &str = "kworker";

/// What a process wrote.
#[derive(Debug)]
struct Written {
    name: String,
    cgroup: String,
    before: u64,
    last: u64,
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
        for pid in all_processes(&self.root).into_iter().filter(|pid| *pid != own && !followed.has(*pid)) {
            let Some(now) = task(&self.root, pid, pid) else { continue };
            if let Some(known) = self.written.get_mut(&pid).filter(|known| known.last <= now.write_bytes) {
                known.last = now.write_bytes;
                continue;
            }
            // Of a process that came later all counts.
            let before = if self.has_begun { 0 } else { now.write_bytes };
            self.written.insert(pid, Written { name: now.name, cgroup: now.cgroup, before, last: now.write_bytes });
        }
    }

    /// Adds to what was traced of others what they wrote to the page cache, over a part of the watch; as latencies during
    /// their writes those during the kernel's writing back. What the kernel wrote for them, and for the subject, is no longer
    /// the kernel's.
    pub(crate) fn add_to(&self, others: &mut Vec<OtherUser>, part: f64, own_bytes: u64) {
        let kernels = |other: &&OtherUser| other.pid == 0 && other.name == WRITER;
        let writeback = others.iter().find(kernels).map(|other| (other.own_during.clone(), other.own_without.clone()));
        let all = others.first().map(|other| {
            let mut all = other.own_during.clone();
            all.merge(&other.own_without);
            all
        });
        let (during, without) = writeback.unwrap_or_else(|| (Latency::default(), all.unwrap_or_default()));
        let mut carried = own_bytes;
        for (pid, written) in &self.written {
            let bytes = ((written.last - written.before) as f64 * part) as u64;
            let traced = others.iter_mut().find(|other| other.pid == *pid);
            let buffered = bytes.saturating_sub(traced.as_ref().map_or(0, |other| other.written_bytes));
            if buffered < LEAST_BYTES {
                continue;
            }
            carried += buffered;
            match traced {
                // What it wrote by itself is the smaller part.
                Some(other) if other.written_bytes < buffered => {
                    other.written_bytes = bytes;
                    other.own_during = during.clone();
                    other.own_without = without.clone();
                }
                Some(other) => other.written_bytes = bytes,
                None => others.push(OtherUser {
                    name: written.name.clone(),
                    pid: *pid,
                    cgroup: written.cgroup.clone(),
                    read_bytes: 0,
                    written_bytes: bytes,
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

#[cfg(test)]
mod tests {
    use super::*;

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
        Written { name: name.into(), cgroup: "/backup".into(), before, last }
    }

    #[test]
    fn what_the_kernel_writes_back_belongs_to_those_who_wrote_it() {
        const MIB: u64 = 1 << 20;
        let written =
            [(70, wrote("rsync", 5 * MIB, 105 * MIB)), (80, wrote("dd", 0, 40 * MIB)), (90, wrote("idle", 7, 7))];
        let neighbours = Neighbours { root: PathBuf::new(), written: written.into(), has_begun: true };
        let mut others = vec![other(WRITER, 0, 130 * MIB, &[900, 900]), other("dd", 80, 40 * MIB, &[500])];
        neighbours.add_to(&mut others, 1.0, 10 * MIB);
        let told: Vec<(&str, u64, u64)> =
            others.iter().map(|other| (other.name.as_str(), other.written_bytes, other.own_during.count())).collect();
        assert_eq!(told, [("rsync", 100 * MIB, 2), ("dd", 40 * MIB, 1), (WRITER, 20 * MIB, 2)]);
        // What is all the subject's own is nobody else's.
        let mut alone = vec![other(WRITER, 0, 10 * MIB, &[900])];
        let nobody = Neighbours { root: PathBuf::new(), written: BTreeMap::new(), has_begun: true };
        nobody.add_to(&mut alone, 0.5, 12 * MIB);
        assert!(alone.is_empty(), "{alone:?}");
    }
}
