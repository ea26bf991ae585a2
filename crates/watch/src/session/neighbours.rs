//! Counts what other processes wrote to files, which the kernel carries to the disks later and in its own name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use halfpower_os::tasks::task;
use halfpower_record::{Latency, OtherUser};

use super::subject::{Followed, all_processes};

/// Bytes below which what a process wrote is not told.
const LEAST_BYTES: u64 = 64 << 10;

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

    /// Adds to what was traced of others what they wrote to the page cache: bytes over a part of the watch, and as latencies
    /// during their writes those during the kernel's writing back.
    pub(crate) fn add_to(&self, others: &mut Vec<OtherUser>, part: f64) {
        let kernels = |other: &&OtherUser| other.pid == 0 && other.name == "kworker";
        let writeback = others.iter().find(kernels).map(|other| (other.own_during.clone(), other.own_without.clone()));
        let all = others.first().map(|other| {
            let mut all = other.own_during.clone();
            all.merge(&other.own_without);
            all
        });
        let (during, without) = writeback.unwrap_or_else(|| (Latency::default(), all.unwrap_or_default()));
        for (pid, written) in &self.written {
            let bytes = ((written.last - written.before) as f64 * part) as u64;
            if bytes < LEAST_BYTES {
                continue;
            }
            match others.iter_mut().find(|other| other.pid == *pid) {
                Some(other) if other.written_bytes >= bytes / 2 => {}
                Some(other) => {
                    other.written_bytes = bytes;
                    other.own_during = during.clone();
                    other.own_without = without.clone();
                }
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
        others.sort_by_key(|other| std::cmp::Reverse(other.read_bytes + other.written_bytes));
    }
}
