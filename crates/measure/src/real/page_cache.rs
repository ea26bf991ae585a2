//! Empties the page cache of a target before a run, or fills it.
//!
//! First the kernel is asked to forget the target alone. Where it keeps more than a little of it (pages that were
//! just written, or that somebody holds), the cache is filled with something else: a scratch file as large as the
//! free memory is read through. It has no blocks, so reading it costs memory and no I/O.

use std::ops::Range;
use std::path::Path;

use halfpower_os::DataFile;

use crate::MeasureError;

/// A share of the span that may stay: it is recorded, and cannot change what is found.
const LITTLE: u64 = 1_000;
/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Makes the page cache forget the first `span_bytes` of `data`; gives what it holds in the end, where that can be
/// told.
///
/// # Errors
/// Where dirty pages cannot be written back, or the scratch file cannot be made.
pub(crate) fn empty(data: &DataFile, span_bytes: u64, scratch: &Path) -> Result<Option<u64>, MeasureError> {
    let span = 0..span_bytes;
    let held = |data: &DataFile| data.cached_bytes(span.clone()).ok();
    if held(data) == Some(0) {
        return Ok(Some(0));
    }
    data.drop_cached(span.clone())?;
    if held(data).is_some_and(|bytes| bytes > span_bytes / LITTLE) {
        // What was under write-back at the first time has been written by now.
        data.sync()?;
        data.drop_cached(span.clone())?;
    }
    if held(data).is_some_and(|bytes| bytes > span_bytes / LITTLE) {
        sweep(scratch, free_memory_bytes().unwrap_or(0))?;
    }
    Ok(held(data))
}

/// Makes the page cache hold this part of `data`, as far as there is memory; gives what it holds of it in the end, where
/// that can be told.
///
/// # Errors
/// Where the target cannot be read.
pub(crate) fn fill(data: &DataFile, part: &Range<u64>) -> Result<Option<u64>, MeasureError> {
    let held = |data: &DataFile| data.cached_bytes(part.clone()).ok();
    if held(data) != Some(part.end - part.start) {
        read_through(data, part.clone())?;
    }
    Ok(held(data))
}

/// Makes the kernel drop every clean page of the machine, also those of others.
///
/// # Errors
/// Where the rights are missing.
pub(crate) fn drop_all() -> Result<(), MeasureError> {
    let switch = Path::new("/proc/sys/vm/drop_caches");
    std::fs::write(switch, "3").map_err(|error| MeasureError::Target {
        path: switch.to_path_buf(),
        what: format!("the page caches cannot be dropped: {error}; run as root, or leave --drop-caches out"),
    })
}

/// Reads a scratch file of `bytes` in `folder` through the page cache; it has no name and leaves nothing.
fn sweep(folder: &Path, bytes: u64) -> Result<(), MeasureError> {
    let scratch = DataFile::unnamed_in(folder)?;
    scratch.set_size(bytes)?;
    read_through(&scratch, 0..bytes)
}

fn read_through(data: &DataFile, part: Range<u64>) -> Result<(), MeasureError> {
    let mut block = vec![0; BLOCK_BYTES];
    let mut offset = part.start;
    while offset < part.end {
        match data.read_at(&mut block, offset)? {
            0 => break,
            read => offset += read as u64,
        }
    }
    Ok(())
}

/// Memory that could be had without swapping, as the kernel reckons.
fn free_memory_bytes() -> Option<u64> {
    available_bytes(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_fills_the_cache_and_leaves_nothing() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        sweep(folder.path(), 8 << 20).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_was_written_is_forgotten() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let data = DataFile::unnamed_in(folder.path()).unwrap();
        data.write_all_at(&vec![1; 4 << 20], 0).unwrap();
        if data.cached_bytes(0..4 << 20).ok() == Some(4 << 20) && data.direct_alignment().unwrap().is_some() {
            assert_eq!(empty(&data, 4 << 20, folder.path()).unwrap(), Some(0));
        }
    }

    #[test]
    fn what_was_forgotten_is_held_again() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let data = DataFile::unnamed_in(folder.path()).unwrap();
        let span_bytes = (3 << 20) + 4096;
        data.write_all_at(&vec![1; span_bytes as usize], 0).unwrap();
        if empty(&data, span_bytes, folder.path()).unwrap() == Some(0) {
            assert_eq!(fill(&data, &(0..span_bytes)).unwrap(), Some(span_bytes));
        }
    }

    #[test]
    fn free_memory_is_read_in_kib() {
        assert_eq!(available_bytes("MemTotal: 9 kB\nMemAvailable:   12 kB\n"), Some(12 * 1024));
        assert_eq!(available_bytes("nothing"), None);
    }
}
