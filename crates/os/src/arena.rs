//! Provides an arena larger than the processor caches for the loops over memory.
//!
//! An [`Arena`] is a mapping that nobody has touched yet, so its pages will lie near the processor that fills it. This
//! file also measures the caches, which decide how large an arena must be.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::slice;

use memmap2::{Advice, MmapMut};

use crate::OsError;
use crate::buffer_memory::memory_bytes;
use crate::loops::Turn;

/// Where the kernel describes the processors.
const PROCESSORS: &str = "/sys/devices/system/cpu";
/// Assumed size of a last-level cache if the kernel does not report it.
const USUAL_CACHE_BYTES: u64 = 32 << 20;

/// Memory for loops, in whole turns.
pub struct Arena {
    mapping: MmapMut,
}

impl Arena {
    /// Maps `bytes` bytes, rounded up to whole turns.
    ///
    /// # Errors
    /// [`OsError::Memory`] if it would take more than half of the machine's memory, or the kernel refuses.
    pub fn new(bytes: usize) -> Result<Self, OsError> {
        let memory_bytes = memory_bytes();
        let refused = || OsError::Memory { count: 1, bytes_each: bytes, memory_bytes };
        if bytes as u64 > memory_bytes / 2 {
            return Err(refused());
        }
        let length = bytes.max(1).next_multiple_of(size_of::<Turn>());
        let mapping = MmapMut::map_anon(length).map_err(|_| refused())?;
        // This is only advice: kernels without huge pages use small ones.
        let _ = mapping.advise(Advice::HugePage);
        Ok(Self { mapping })
    }

    /// Places every page and gives every word a different value. No word is 0, because some processors and hypervisors
    /// store zeros at less cost.
    pub fn fill(&mut self) {
        let words = self.mapping.chunks_exact_mut(8).zip(1u64..);
        words
            .for_each(|(word, index)| word.copy_from_slice(&(index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes()));
    }

    /// The memory, for reading.
    pub fn turns(&self) -> &[Turn] {
        // SAFETY: a mapping begins at a page, so it is aligned for turns; its length is whole turns, which are bytes.
        unsafe { slice::from_raw_parts(self.mapping.as_ptr().cast(), self.mapping.len() / size_of::<Turn>()) }
    }

    /// The memory, for writing.
    pub fn turns_mut(&mut self) -> &mut [Turn] {
        // SAFETY: as in `turns`, and `self` is borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.mapping.as_mut_ptr().cast(), self.mapping.len() / size_of::<Turn>()) }
    }
}

/// Bytes of the last-level caches that `threads` threads can reach together: the sum of the `threads` largest.
pub fn reachable_cache_bytes(threads: u32) -> u64 {
    let mut caches = last_level_caches(Path::new(PROCESSORS));
    if caches.is_empty() {
        caches.push(USUAL_CACHE_BYTES);
    }
    caches.sort_unstable_by(|one, other| other.cmp(one));
    caches.iter().take(threads.max(1) as usize).sum()
}

/// Main memory of the machine in bytes.
pub fn machine_memory_bytes() -> u64 {
    memory_bytes()
}

/// The size of each last-level cache in bytes; a cache shared by processors counts once.
fn last_level_caches(processors: &Path) -> Vec<u64> {
    let entries = fs::read_dir(processors).into_iter().flatten().flatten();
    let caches: BTreeMap<String, u64> = entries.filter_map(|entry| last_level_of(&entry.path())).collect();
    caches.into_values().collect()
}

/// The processors that share a processor's last-level cache, and its size.
fn last_level_of(processor: &Path) -> Option<(String, u64)> {
    let entries = fs::read_dir(processor.join("cache")).ok()?.flatten();
    let levels = entries.filter_map(|entry| {
        let read = |file: &str| fs::read_to_string(entry.path().join(file)).ok();
        let level: u32 = read("level")?.trim().parse().ok()?;
        let holds_data = read("type")?.trim() != "Instruction";
        holds_data.then_some((level, read("shared_cpu_list")?, kibibytes(&read("size")?)?))
    });
    let (_, shared_by, bytes) = levels.max_by_key(|(level, ..)| *level)?;
    Some((shared_by, bytes))
}

/// Converts a text such as `36608K` to bytes.
fn kibibytes(text: &str) -> Option<u64> {
    text.trim().strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_is_aligned_and_never_zero() {
        let mut arena = Arena::new((3 << 20) + 1).unwrap();
        arena.fill();
        assert_eq!(arena.turns().len(), (3 << 20) / size_of::<Turn>() + 1);
        assert!(arena.turns().as_ptr().is_aligned());
        let words = arena.mapping.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        assert!(words.clone().all(|word| word != 0));
        assert_eq!(words.collect::<std::collections::HashSet<_>>().len(), arena.mapping.len() / 8);
    }

    #[test]
    fn an_arena_beyond_the_memory_is_refused() {
        assert!(matches!(Arena::new(usize::MAX / 4), Err(OsError::Memory { .. })));
    }

    #[test]
    fn caches_that_processors_share_count_once() {
        let tree = tempfile::tempdir().unwrap();
        let lay = |processor: u32, index: u32, [level, kind, size, shared]: [&str; 4]| {
            let folder = tree.path().join(format!("cpu{processor}/cache/index{index}"));
            fs::create_dir_all(&folder).unwrap();
            for (file, text) in [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)] {
                fs::write(folder.join(file), format!("{text}\n")).unwrap();
            }
        };
        for (processor, shared) in [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")] {
            lay(processor, 0, ["1", "Data", "32K", &processor.to_string()]);
            lay(processor, 1, ["3", "Unified", if processor < 2 { "36608K" } else { "1024K" }, shared]);
            lay(processor, 2, ["4", "Instruction", "99999K", "0-3"]);
        }
        fs::create_dir_all(tree.path().join("cpufreq")).unwrap();
        let mut caches = last_level_caches(tree.path());
        caches.sort_unstable();
        assert_eq!(caches, [1024 << 10, 36608 << 10]);
        assert_eq!(last_level_caches(&tree.path().join("nowhere")), [0u64; 0]);
    }

    #[test]
    fn more_threads_reach_no_less() {
        let one = reachable_cache_bytes(1);
        assert!(one > 0 && reachable_cache_bytes(u32::MAX) >= one);
    }
}
