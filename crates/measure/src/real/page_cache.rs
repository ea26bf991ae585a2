//! Empties the page cache of a target before a run, or fills it.
//!
//! First it asks the kernel to drop the target's pages. If more than a little remains (pages that were just written or
//! are in use), it fills the cache with other pages: it reads a scratch file as large as the free memory. That file has
//! no blocks, so reading it takes memory but no I/O. Where no such file can be made, the pages stay.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use halfpower_os::{DataFile, OsError};
use halfpower_record::Environment;

use crate::MeasureError;

/// One part in this many of the span may stay cached: too little to change a result, and the record says how much.
const LITTLE: u64 = 1_000;
/// Bytes to read at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Whether `held` bytes of `parts` may stay cached.
pub(crate) fn is_little(held: u64, parts: &[Range<u64>]) -> bool {
    held <= length_of(parts) / LITTLE
}

fn length_of(parts: &[Range<u64>]) -> u64 {
    parts.iter().map(|part| part.end - part.start).sum()
}

/// Share of a direct run's bytes in the page cache from which it went through it.
const THROUGH_CACHE: f64 = 0.25;
/// Bytes in the page cache below which nothing is concluded: others may have looked at labels and tables.
const FEW_BYTES: u64 = 4 << 20;

/// Whether a direct run went through the page cache, which held `before` bytes of the target when the run began, holds
/// `now`, and would hold `most` more if it kept all.
pub(crate) fn took_direct(before: u64, now: u64, most: u64) -> bool {
    let grown = now.saturating_sub(before);
    grown >= FEW_BYTES && grown as f64 >= THROUGH_CACHE * most as f64
}

/// The note about such runs on this file system.
pub(crate) fn note_of_direct(environment: &Environment) -> String {
    let kind = environment.filesystem.as_ref().map(|filesystem| format!(" on {}", filesystem.kind));
    format!(
        "direct requests{} went through the page cache, which held them after the run: rates and costs marked direct are \
         those of buffered requests (btrfs with checksums and some FUSE and overlay file systems do so); or another \
         program read the target meanwhile",
        kind.unwrap_or_default()
    )
}

/// Bytes of `parts` in the page cache; `None` if unknown.
pub(crate) fn held(data: &DataFile, parts: &[Range<u64>]) -> Option<u64> {
    parts.iter().map(|part| data.cached_bytes(part.clone()).ok()).sum()
}

/// Drops `parts` of `data` from the page cache; reads other pages for at most `sweep_limit`, where a scratch file can be
/// made. Returns the bytes still cached, `None` if unknown.
///
/// # Errors
/// If a system call on the target fails, or the user asked to stop.
pub(crate) fn empty(
    data: &DataFile,
    parts: &[Range<u64>],
    scratch: &Path,
    sweep_limit: Duration,
) -> Result<Option<u64>, MeasureError> {
    // Drop what lies between the parts too: the kernel keeps a large folio that is only partly in the dropped range.
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Ok(Some(0)) };
    let drop_all_parts = || but_for_lost_writes(data.drop_cached(first.start..last.end));
    // Asking may take a while, so ask again only after something was done.
    let holds_more = |left: Option<u64>| left.is_some_and(|bytes| !is_little(bytes, parts));
    // Drop before asking: on some file systems the kernel counts other pages than the data's.
    drop_all_parts()?;
    let mut left = held(data, parts);
    if holds_more(left) {
        // Pages that were under write-back the first time are clean after a sync.
        but_for_lost_writes(data.sync())?;
        drop_all_parts()?;
        left = held(data, parts);
    }
    if holds_more(left) {
        let swept = sweep(scratch, free_memory_bytes().unwrap_or(0), sweep_limit);
        // It only helps: a run that reads needs no place to write to, and the record says what the cache still holds.
        if let Err(MeasureError::Interrupted) = swept {
            return Err(MeasureError::Interrupted);
        }
        left = held(data, parts);
    }
    Ok(left)
}

/// Ignores pages that could not be written back: the run that wrote them has recorded the error of its closing flush,
/// and the next run should show that the device fails.
fn but_for_lost_writes(done: Result<(), OsError>) -> Result<(), OsError> {
    match done {
        Err(error) if error.is_lost_write() => Ok(()),
        other => other,
    }
}

/// Reads these parts of `data` into the page cache, as far as memory allows; returns the bytes cached, if known.
///
/// # Errors
/// If the target cannot be read.
pub(crate) fn fill(data: &DataFile, parts: &[Range<u64>]) -> Result<Option<u64>, MeasureError> {
    if held(data, parts) != Some(length_of(parts)) {
        parts.iter().try_for_each(|part| read_through(data, part.clone(), None))?;
    }
    Ok(held(data, parts))
}

/// Makes the kernel drop every clean page of the machine, including those of other processes.
///
/// # Errors
/// If the process lacks root rights.
pub(crate) fn drop_all() -> Result<(), MeasureError> {
    let switch = Path::new("/proc/sys/vm/drop_caches");
    std::fs::write(switch, "3").map_err(|error| MeasureError::Target {
        path: switch.to_path_buf(),
        what: format!("the page caches cannot be dropped: {error}; run as root, or leave --drop-caches out"),
    })
}

/// Reads a scratch file of `bytes` in `folder` through the page cache until `limit`; the file has no name and leaves
/// nothing behind.
fn sweep(folder: &Path, bytes: u64, limit: Duration) -> Result<(), MeasureError> {
    let scratch = DataFile::unnamed_in(folder)?;
    scratch.set_size(bytes)?;
    read_through(&scratch, 0..bytes, Some(Instant::now() + limit))
}

fn read_through(data: &DataFile, part: Range<u64>, until: Option<Instant>) -> Result<(), MeasureError> {
    let mut block = vec![0; BLOCK_BYTES];
    let mut offset = part.start;
    while offset < part.end && until.is_none_or(|until| Instant::now() < until) {
        match data.read_at(&mut block, offset)? {
            0 => break,
            read => offset += read as u64,
        }
    }
    Ok(())
}

/// The kernel's estimate of the memory available without swapping.
fn free_memory_bytes() -> Option<u64> {
    available_bytes(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use halfpower_os::Mode;
    use halfpower_os::mapping::Mapping;

    use super::*;

    const MIB: u64 = 1 << 20;
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_sweep_ends_with_its_time() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let scratch = DataFile::unnamed_in(folder.path()).unwrap();
        scratch.set_size(1 << 40).unwrap();
        // A tebibyte would take minutes, and all memory.
        read_through(&scratch, 0..1 << 40, Some(Instant::now())).unwrap();
        sweep(folder.path(), 1 << 40, Duration::from_millis(10)).unwrap();
    }

    #[test]
    fn a_sweep_fills_the_cache_and_leaves_nothing() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        sweep(folder.path(), 8 << 20, LONG).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_was_written_is_forgotten() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let data = DataFile::unnamed_in(folder.path()).unwrap();
        data.write_all_at(&vec![1; 4 << 20], 0).unwrap();
        if data.cached_bytes(0..4 << 20).ok() == Some(4 << 20) && data.direct_alignment().unwrap().is_some() {
            let all = 0..4 << 20;
            let all = std::slice::from_ref(&all);
            let left = empty(&data, all, folder.path(), LONG).unwrap().expect("it is known");
            assert!(is_little(left, all), "{left} bytes stay");
        }
    }

    #[test]
    fn where_no_scratch_file_can_be_made_what_stays_is_told() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let data = DataFile::unnamed_in(folder.path()).unwrap();
        let all = 0..4 * MIB;
        data.write_all_at(&vec![1; all.end as usize], 0).unwrap();
        // The kernel keeps pages that somebody has mapped.
        let mapped = Mapping::new(data.reopen(Mode::default()).unwrap()).unwrap();
        let is_told = |_: u32| {
            mapped.read_at(&mut vec![0; all.end as usize], 0).unwrap();
            let nowhere = folder.path().join("nowhere");
            empty(&data, std::slice::from_ref(&all), &nowhere, LONG).unwrap() == Some(all.end)
        };
        mapped.read_at(&mut vec![0; all.end as usize], 0).unwrap();
        if data.cached_bytes(all.clone()).ok() == Some(all.end) {
            // Where others need the memory, the kernel takes pages that are mapped, too.
            assert!((0..50).any(is_told), "{:?}", held(&data, std::slice::from_ref(&all)));
        }
    }

    #[test]
    fn what_was_forgotten_is_held_again() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let data = DataFile::unnamed_in(folder.path()).unwrap();
        let span_bytes = (3 << 20) + 4096;
        data.write_all_at(&vec![1; span_bytes as usize], 0).unwrap();
        let parts = [0..MIB, 2 * MIB..span_bytes];
        if empty(&data, &parts, folder.path(), LONG).unwrap() == Some(0) {
            // Where others need the memory, the kernel takes some of it again before it is counted.
            let is_whole = || fill(&data, &parts).unwrap() == Some(span_bytes - MIB);
            assert!((0..50).any(|_| is_whole()), "{:?}", held(&data, &parts));
        }
    }

    #[test]
    fn a_direct_run_that_filled_the_cache_went_through_it() {
        assert!(took_direct(0, 60 * MIB, 64 * MIB) && took_direct(MIB, 64 * MIB, 200 * MIB));
        assert!(!took_direct(0, 2 * MIB, 2 * MIB), "a little may be anybody's");
        assert!(!took_direct(60 * MIB, 62 * MIB, 10 * MIB), "it was there before");
        assert!(!took_direct(0, 8 * MIB, 64 * MIB), "read-ahead of others");
    }

    #[test]
    fn free_memory_is_read_in_kib() {
        assert_eq!(available_bytes("MemTotal: 9 kB\nMemAvailable:   12 kB\n"), Some(12 * 1024));
        assert_eq!(available_bytes("nothing"), None);
    }
}
