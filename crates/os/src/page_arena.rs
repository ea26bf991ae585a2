//! Hands out ordinary pages that this process keeps.
//!
//! A request reaches a device in as many pieces as its buffer has pages that do not lie one after the other in the
//! machine's memory, and the kernel places fresh pages differently from one minute to the next. Buffers that came fresh
//! with each run would make the rate of each a draw of its own. So, as an application's pool does, they come from
//! memory that is taken once. Each takes its turn further on in it, so that no run has the same place again and again.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use memmap2::{Advice, MmapMut};

/// Least bytes that are taken at once.
const ARENA: usize = 8 << 20;
/// What is larger than this is nobody's to keep.
const MOST_KEPT: usize = 64 << 20;

static ARENAS: Mutex<Vec<Arena>> = Mutex::new(Vec::new());

/// Memory that stays.
struct Arena {
    /// Never reached through: a reference to it would span what the kernel is writing to.
    _mapping: MmapMut,
    base: NonNull<u8>,
    bytes: usize,
    /// Node of the processor that touched it first, near which it lies.
    node: Option<u32>,
    /// What is handed out, in its order.
    taken: Vec<Range<usize>>,
    /// Where the search for the next begins.
    next: usize,
}

// SAFETY: the pointer leads into the mapping that moves along, and nothing is reached by it here.
unsafe impl Send for Arena {}

/// A part of it that is nobody else's, until it is dropped.
pub(crate) struct Pages {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the part is its holder's alone, and what it lies in stays.
unsafe impl Send for Pages {}
// SAFETY: as above; nothing changes behind a shared reference.
unsafe impl Sync for Pages {}

/// So many bytes of ordinary pages.
///
/// # Errors
/// As the kernel refuses them.
pub(crate) fn mapped(bytes: usize) -> io::Result<MmapMut> {
    let mapping = MmapMut::map_anon(bytes)?;
    // Advice alone: a kernel that has no huge pages knows none of it.
    let _ = mapping.advise(Advice::NoHugePage);
    Ok(mapping)
}

impl Pages {
    /// So many bytes; `None` where they are so many that they should not be kept.
    ///
    /// # Errors
    /// As the kernel refuses them.
    pub fn take(bytes: usize) -> io::Result<Option<Self>> {
        if bytes > MOST_KEPT {
            return Ok(None);
        }
        let bytes = bytes.next_multiple_of(rustix::param::page_size());
        let (mut arenas, here) = (locked(), own_node());
        // The largest first: what small buffers say of the memory is then of the same memory as what large ones do.
        arenas.sort_by_key(|arena| std::cmp::Reverse(arena.bytes));
        let mut near = arenas.iter_mut().filter(|arena| arena.node == here);
        if let Some(base) = near.find_map(|arena| arena.take(bytes)) {
            return Ok(Some(Self { base, bytes }));
        }
        // A larger one takes the place of those that nobody uses.
        arenas.retain(|arena| arena.node != here || !arena.taken.is_empty());
        let mut arena = Arena::new(bytes.max(ARENA), here)?;
        let base = arena.take(bytes);
        arenas.push(arena);
        Ok(base.map(|base| Self { base, bytes }))
    }

    /// Where they begin.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        for arena in locked().iter_mut() {
            let from = self.base.addr().get().wrapping_sub(arena.base.addr().get());
            arena.taken.retain(|range| *range != (from..from.wrapping_add(self.bytes)));
        }
    }
}

fn locked() -> MutexGuard<'static, Vec<Arena>> {
    ARENAS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The node of the processor that this thread is on; `None` where the kernel does not tell.
fn own_node() -> Option<u32> {
    let cpu = rustix::thread::sched_getcpu();
    let entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    entries.flatten().find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
}

impl Arena {
    fn new(bytes: usize, node: Option<u32>) -> io::Result<Self> {
        let mut mapping = mapped(bytes)?;
        mapping.fill(0);
        let base = NonNull::from(&mut mapping[..]).cast();
        Ok(Self { _mapping: mapping, base, bytes, node, taken: Vec::new(), next: 0 })
    }

    fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let from = self.free_from(self.next, bytes).or_else(|| self.free_from(0, bytes))?;
        let at = self.taken.partition_point(|range| range.start < from);
        self.taken.insert(at, from..from + bytes);
        self.next = from + bytes;
        // SAFETY: the place lies inside the mapping.
        Some(unsafe { self.base.add(from) })
    }

    /// The first place from `start` on that has so many bytes free.
    fn free_from(&self, start: usize, bytes: usize) -> Option<usize> {
        let mut from = start;
        for range in self.taken.iter().filter(|range| range.end > start) {
            if from + bytes <= range.start {
                return Some(from);
            }
            from = range.end;
        }
        (from + bytes <= self.bytes).then_some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_apart_and_each_takes_its_turn_further_on() {
        let mut arena = Arena::new(10 * 4096, None).unwrap();
        let base = arena.base.addr().get();
        let mut take = |bytes: usize| arena.take(bytes).map(|at| (at.addr().get() - base) / 4096);
        assert_eq!([take(3 * 4096), take(4 * 4096)], [Some(0), Some(3)]);
        assert_eq!(take(4 * 4096), None, "three pages are left");
        arena.taken.remove(0);
        let mut take = |bytes: usize| arena.take(bytes).map(|at| (at.addr().get() - base) / 4096);
        assert_eq!(take(2 * 4096), Some(7), "behind the last, though the first are free");
        assert_eq!([take(2 * 4096), take(4096), take(4096)], [Some(0), Some(2), Some(9)], "then from the beginning");
        assert_eq!(take(4096), None);
    }

    #[test]
    fn pages_that_are_given_back_are_handed_out_again_and_large_ones_are_not_kept() {
        let held: Vec<Pages> = (0..40).map(|_| Pages::take(1 << 20).unwrap().unwrap()).collect();
        let mut bases: Vec<usize> = held.iter().map(|pages| pages.base().addr().get()).collect();
        bases.sort_unstable();
        assert!(bases.windows(2).all(|two| two[0] + (1 << 20) <= two[1]), "no two share a byte");
        drop(held);
        let mut again: Vec<usize> =
            (0..40).map(|_| Pages::take(1 << 20).unwrap().unwrap().base().addr().get()).collect();
        again.sort_unstable();
        again.dedup();
        assert!(again.iter().any(|base| bases.contains(base)), "some of the same come again");
        assert!(Pages::take(MOST_KEPT + 1).unwrap().is_none());
    }
}
