//! Finds what a probe reads: a large file that the application has open where it reads most, or else the disk beneath.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use halfpower_os::lone_reads::LoneReads;
use halfpower_os::tasks::open_file;
use halfpower_record::{OperationKind, Operations};

use crate::session::places::Places;
use crate::session::subject::Followed;

/// A smaller file is not read: a device would soon have all of it in its cache.
const LEAST_BYTES: u64 = 16 << 20;
/// Size of a request that is always sent.
const SMALL: u64 = 4096;
/// Largest request.
const MOST_BYTES: u64 = 256 << 10;
/// Descriptors that are looked at, and files that are tried.
const MOST_LOOKED_AT: usize = 4096;
const MOST_TRIED: usize = 4;

/// What is read.
pub(crate) struct Target {
    pub(crate) reads: LoneReads,
    /// The files that tell how many requests each disk beneath has in progress.
    pub(crate) disks: Vec<PathBuf>,
    /// Index of its place.
    pub(crate) place: usize,
    pub(crate) of_own_file: bool,
    /// Sizes of requests in bytes.
    pub(crate) sizes: Vec<u64>,
}

impl Target {
    /// What is read for an application that does this, or why there is nothing.
    pub(crate) fn find(
        folder: &Path,
        followed: &Followed,
        places: &mut Places,
        operations: &[Operations],
    ) -> Result<Self, String> {
        let main = main_of(operations).ok_or("it is not known where its operations go")?;
        let place = main.place.ok_or("it is not known where its operations go")?;
        let found = places.all().get(place).cloned().unwrap_or_default();
        let names = &found.disks;
        let disks: Vec<PathBuf> =
            names.iter().map(|disk| folder.join(format!("sys/class/block/{disk}/inflight"))).collect();
        if disks.is_empty() || !disks.iter().all(|disk| disk.is_file()) {
            return Err(format!("no disk beneath {} tells how many requests it has", found.path));
        }
        let sizes = sizes_of(main);
        let longest = sizes.iter().max().copied().unwrap_or(SMALL) as usize;
        let mut why = format!("it has no file of {} MiB or more open there", LEAST_BYTES >> 20);
        for path in files(folder, followed, places, place) {
            match LoneReads::open(&path, longest) {
                Ok(reads) => return Ok(Self { reads, disks, place, of_own_file: true, sizes }),
                Err(error) => why = error.to_string(),
            }
        }
        let [disk] = names.as_slice() else { return Err(why) };
        match LoneReads::open(&folder.join("dev").join(disk.replace('!', "/")), longest) {
            Ok(reads) if reads.size_bytes() >= LEAST_BYTES => {
                Ok(Self { reads, disks, place, of_own_file: false, sizes })
            }
            Ok(_) => Err(why),
            Err(error) => Err(format!("{why}; {error}")),
        }
    }
}

/// What the application does most: reads, or else anything whose place is known.
fn main_of(operations: &[Operations]) -> Option<&Operations> {
    let known = operations.iter().filter(|one| one.place.is_some());
    known.max_by_key(|one| (is_read(one), one.latency.sum_ns()))
}

fn is_read(one: &Operations) -> bool {
    matches!(one.kind, OperationKind::Read | OperationKind::FaultRead)
}

/// Sizes of requests: a small one, and that of most of these operations if it can be read past the page cache.
fn sizes_of(main: &Operations) -> Vec<u64> {
    let most = main.sizes.iter().filter(|(size, _)| *size > 0).max_by_key(|(_, count)| *count);
    let own =
        most.map(|(size, _)| *size).filter(|size| is_read(main) && size.is_multiple_of(SMALL) && *size <= MOST_BYTES);
    let own = own.filter(|size| *size != SMALL);
    std::iter::once(SMALL).chain(own).collect()
}

/// Links to the files on a place that the application has open, the largest first.
fn files(folder: &Path, followed: &Followed, places: &mut Places, place: usize) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    let mut left = MOST_LOOKED_AT;
    for pid in followed.processes() {
        let entries = fs::read_dir(folder.join(format!("proc/{pid}/fd"))).into_iter().flatten().flatten();
        let numbers: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).take(left).collect();
        left -= numbers.len();
        for fd in numbers {
            let Some(file) = open_file(folder, pid, fd) else { continue };
            let is_there = places.of_file(pid, &file) == Some(place);
            if !is_there || !seen.insert((file.device.major, file.device.minor, file.inode)) {
                continue;
            }
            let link = folder.join(format!("proc/{pid}/fd/{fd}"));
            // A device that it has open is as large as any.
            let bytes = if file.is_block_device { u64::MAX } else { fs::metadata(&link).map_or(0, |seen| seen.len()) };
            if bytes >= LEAST_BYTES {
                found.push((bytes, link));
            }
        }
    }
    found.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    found.into_iter().take(MOST_TRIED).map(|(_, link)| link).collect()
}

#[cfg(test)]
mod tests {
    use halfpower_record::{IssuedBy, Latency};

    use super::*;

    fn of(kind: OperationKind, place: Option<usize>, size: u64, took_ns: u64) -> Operations {
        let mut latency = Latency::default();
        latency.add(took_ns);
        Operations {
            place,
            kind,
            by: IssuedBy::Calls,
            direct: None,
            count: 1,
            unended: 0,
            bytes: size,
            sizes: vec![(0, 9), (size, 5), (512, 1)],
            sequential: 0,
            appends: 0,
            cached: 0,
            latency,
            waits: Vec::new(),
            threads: 1,
            depth_while_busy: 1.0,
            depth: 0.1,
            deepest: 1,
            shared_flushes: 0,
        }
    }

    #[test]
    fn the_place_with_most_time_in_reads_is_probed_at_their_size() {
        let all = [
            of(OperationKind::Fdatasync, Some(2), 0, 900),
            of(OperationKind::Read, None, 16384, 800),
            of(OperationKind::Read, Some(1), 8192, 500),
            of(OperationKind::Read, Some(0), 65536, 300),
        ];
        let main = main_of(&all).unwrap();
        assert_eq!((main.place, sizes_of(main)), (Some(1), vec![SMALL, 8192]));
        assert_eq!(main_of(&all[..1]).and_then(|one| one.place), Some(2));
        assert!(main_of(&all[1..2]).is_none());
        for (size, expected) in [(4096, vec![SMALL]), (5000, vec![SMALL]), (1 << 20, vec![SMALL])] {
            assert_eq!(sizes_of(&of(OperationKind::Read, Some(0), size, 1)), expected, "{size}");
        }
        assert_eq!(sizes_of(&of(OperationKind::Write, Some(0), 8192, 1)), vec![SMALL]);
    }
}
