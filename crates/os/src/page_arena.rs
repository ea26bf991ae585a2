//! Hands out ordinary pages from an arena that this process keeps.
//!
//! A request reaches a device in as many pieces as its buffer has physically separate runs of pages, and the kernel
//! places fresh pages differently from minute to minute. With fresh buffers in each run, rates would drift with the
//! machine's other activity. So buffers come from memory that is allocated once, as from an application's pool, and
//! small and large buffers share it and see the same pages. Each buffer gets a random place, so that runs do not all
//! use the same pages.

use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::{Advice, MmapMut};
use rand::Rng;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::SeedableRng;
use rustix::process::{Resource, getrlimit};

/// Bytes allocated at once: 32 requests of 1 MiB, doubled for writes, and some room. Machines with little memory use a
/// fraction of their memory, see [`keep_within`].
const ARENA: usize = 96 << 20;
/// The kernel hands out its most fragmented pages first. Touching blocks of this size in random order spreads those
/// pages over the arena. The size is small enough that the buffers of most runs span several blocks, and large enough
/// that a request of 1 MiB meets at most five.
const TOUCHED_AT_ONCE: usize = 256 << 10;
/// A buffer larger than the arena divided by this takes the first free place, so that several large buffers fit.
const LARGE: usize = 8;
const LEAST_ARENA: usize = 1 << 20;
/// The arena takes at most the usable memory divided by this.
const PART: u64 = 32;

static ARENAS: Mutex<Vec<Arena>> = Mutex::new(Vec::new());
static ARENA_BYTES: AtomicUsize = AtomicUsize::new(ARENA);
/// Number of times that pages were handed out.
static HANDED_OUT: AtomicU64 = AtomicU64::new(0);

/// Limits the size of an arena to a fraction of `usable_bytes`, the memory that this process may use (0: unknown).
pub fn keep_within(usable_bytes: u64) {
    let part = usize::try_from(usable_bytes / PART).unwrap_or(ARENA).clamp(LEAST_ARENA, ARENA);
    ARENA_BYTES.store(if usable_bytes == 0 { ARENA } else { part }, Ordering::Relaxed);
}

/// Memory that the process keeps.
struct Arena {
    /// Never accessed: a reference to it would span bytes that the kernel is writing to.
    _mapping: MmapMut,
    base: NonNull<u8>,
    bytes: usize,
    /// NUMA node of the processor that touched it first, which holds its pages.
    node: u32,
    /// The ranges in use, in order.
    taken: Vec<Range<usize>>,
}

// SAFETY: the pointer leads into the mapping that moves along, and nothing is reached by it here.
unsafe impl Send for Arena {}

/// A part of an arena that belongs to its holder until it is dropped.
pub(crate) struct Pages {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the part is its holder's alone, and what it lies in stays.
unsafe impl Send for Pages {}
// SAFETY: as above; nothing changes behind a shared reference.
unsafe impl Sync for Pages {}

/// Maps `bytes` bytes and advises the kernel on the pages.
///
/// # Errors
/// If the kernel refuses the mapping.
pub(crate) fn advised(bytes: usize, advice: Advice) -> io::Result<MmapMut> {
    let mapping = MmapMut::map_anon(bytes)?;
    // Only advice: a kernel without huge pages rejects it and uses ordinary ones.
    let _ = mapping.advise(advice);
    Ok(mapping)
}

impl Pages {
    /// Takes `bytes` bytes; `None` if nothing should be kept: the request is too large, the address space is limited
    /// (`ulimit -v`), or memory is short.
    pub fn take(bytes: usize) -> Option<Self> {
        let arena_bytes = ARENA_BYTES.load(Ordering::Relaxed);
        let bytes = bytes.next_multiple_of(rustix::param::page_size());
        if bytes > arena_bytes || getrlimit(Resource::As).current.is_some() {
            return None;
        }
        let mut arenas = locked();
        let here = own_node();
        let chance = scattered(HANDED_OUT.fetch_add(1, Ordering::Relaxed));
        let mut near = arenas.iter_mut().filter(|arena| arena.node == here);
        if let Some(base) = near.find_map(|arena| arena.take(bytes, chance)) {
            return Some(Self { base, bytes });
        }
        let mut arena = Arena::new(arena_bytes, here).ok()?;
        let base = arena.take(bytes, chance);
        arenas.push(arena);
        base.map(|base| Self { base, bytes })
    }

    /// The start of the pages.
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

/// A pseudo-random number, always the same for the same `number`.
fn scattered(number: u64) -> u64 {
    SplitMix64::seed_from_u64(number).next_u64()
}

/// The NUMA node of the processor that this thread runs on; 0 if the kernel does not say.
fn own_node() -> u32 {
    let mut node = 0_u32;
    // SAFETY: the kernel writes the node there, and nothing where the other pointers are null (getcpu(2)).
    unsafe { libc::syscall(libc::SYS_getcpu, ptr::null_mut::<u32>(), &raw mut node, ptr::null_mut::<u8>()) };
    node
}

impl Arena {
    fn new(bytes: usize, node: u32) -> io::Result<Self> {
        let mut mapping = advised(bytes, Advice::NoHugePage)?;
        let mut parts: Vec<&mut [u8]> = mapping.chunks_mut(TOUCHED_AT_ONCE).collect();
        parts.sort_by_cached_key(|part| scattered(part.as_ptr().addr() as u64));
        parts.into_iter().for_each(|part| part.fill(0));
        let base = NonNull::from(&mut mapping[..]).cast();
        Ok(Self { _mapping: mapping, base, bytes, node, taken: Vec::new() })
    }

    /// Takes `bytes` bytes at the place that `chance` selects, or at the next free place.
    fn take(&mut self, bytes: usize, chance: u64) -> Option<NonNull<u8>> {
        let page = rustix::param::page_size();
        let places = self.bytes.checked_sub(bytes)? / page + 1;
        let start = if bytes > self.bytes / LARGE { 0 } else { (chance % places as u64) as usize * page };
        let from = self.free_from(start, bytes).or_else(|| self.free_from(0, bytes))?;
        let at = self.taken.partition_point(|range| range.start < from);
        self.taken.insert(at, from..from + bytes);
        // SAFETY: the place lies inside the mapping.
        Some(unsafe { self.base.add(from) })
    }

    /// The first place from `start` on with `bytes` free bytes.
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
    fn parts_lie_apart_and_where_chance_says_or_next_to_it() {
        let mut arena = Arena::new(32 * 4096, 0).unwrap();
        let base = arena.base.addr().get();
        let mut take = |pages: usize, chance: u64| {
            let taken = arena.take(pages * 4096, chance);
            taken.map(|at| (at.addr().get() - base) / 4096)
        };
        assert_eq!([take(3, 2), take(2, 3)], [Some(2), Some(5)], "what is taken is passed by");
        assert_eq!([take(20, 9), take(6, 9)], [Some(7), None], "what is large lies where it is free");
        assert_eq!([take(4, 28), take(2, 30), take(1, 7)], [Some(28), Some(0), Some(27)]);
        assert_eq!(take(1, 3), None, "all is taken");
    }

    #[test]
    fn chance_reaches_all_of_it() {
        let mut places: Vec<u64> = (0..1000).map(|number| scattered(number) % 16).collect();
        places.sort_unstable();
        assert!(places.chunk_by(|one, other| one == other).all(|same| (30..100).contains(&same.len())), "{places:?}");
    }

    #[test]
    fn pages_are_given_back_and_the_largest_are_not_kept() {
        let held: Vec<Pages> = (0..40).map(|_| Pages::take(1 << 20).unwrap()).collect();
        let mut bases: Vec<usize> = held.iter().map(|pages| pages.base().addr().get()).collect();
        bases.sort_unstable();
        assert!(bases.windows(2).all(|two| two[0] + (1 << 20) <= two[1]), "no two share a byte");
        drop(held);
        let taken = |base: &usize| {
            let offset = |arena: &Arena| base.wrapping_sub(arena.base.addr().get());
            let is_it = |arena: &Arena| arena.taken.contains(&(offset(arena)..offset(arena).wrapping_add(1 << 20)));
            locked().iter().any(is_it)
        };
        assert!(!bases.iter().any(taken), "what was given back may be handed out again");
        assert!(Pages::take(ARENA + 1).is_none());
    }
}
