//! Checks whether a limit on the address space (`ulimit -v`) leaves room for threads, and names the limit that leaves none
//! for buffers.

use std::fs;

use rustix::process::{Resource, getrlimit};

use crate::OsError;
use crate::buffer_memory::memory_bytes;

/// Address space of a thread: its stack, the guard pages, and what it allocates before its window opens.
const OF_A_THREAD: u64 = 4 << 20;
/// Address space that the rest of the program may still need.
const RESERVE: u64 = 32 << 20;

/// Checks that the address space has room for `threads` more threads; without a limit it always has.
///
/// A process that runs out of address space ends without a message, so check this before starting threads.
///
/// # Errors
/// A sentence without its full stop that says what is missing.
pub fn admits_threads(threads: usize) -> Result<(), String> {
    let Some(limit) = getrlimit(Resource::As).current else { return Ok(()) };
    share_one_arena();
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = pages.split(' ').next().and_then(|pages| pages.parse().ok()).unwrap_or(0);
    let left = limit.saturating_sub(pages.saturating_mul(rustix::param::page_size() as u64));
    let needed = RESERVE + OF_A_THREAD.saturating_mul(threads as u64);
    if needed <= left {
        return Ok(());
    }
    let mib = |bytes: u64| bytes >> 20;
    Err(format!(
        "cannot be started: all {threads} need {} MiB of address space, and {} MiB are left; raise the limit (`ulimit -v`), or ask for fewer \
         --threads",
        mib(needed),
        mib(left)
    ))
}

/// The error for buffers that the kernel refuses or that are too large: names the limit of this process that they exceed, or
/// else the machine's memory.
pub(crate) fn no_room(count: u32, bytes_each: usize) -> OsError {
    let memory_bytes = memory_bytes();
    let needed = (bytes_each as u64).saturating_mul(count.into());
    let limits = [(Resource::As, "ulimit -v"), (Resource::Data, "ulimit -d")];
    let set = limits.into_iter().filter_map(|(kind, limit)| Some((limit, getrlimit(kind).current?)));
    match set.min_by_key(|(_, limit_bytes)| *limit_bytes) {
        Some((limit, limit_bytes)) if limit_bytes < memory_bytes && needed <= memory_bytes / 2 => {
            OsError::Limited { count, bytes_each, limit, limit_bytes }
        }
        _ => OsError::Memory { count, bytes_each, memory_bytes },
    }
}

/// Keeps the allocator from reserving an arena of 64 MiB for each thread.
fn share_one_arena() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it only sets a parameter of the allocator, which guards it with a lock of its own.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_limit_everything_fits() {
        if getrlimit(Resource::As).current.is_none() {
            assert_eq!(admits_threads(usize::MAX), Ok(()));
        }
    }
}
