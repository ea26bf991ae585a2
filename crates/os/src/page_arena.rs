//! Hands out ordinary pages that this process keeps.
//!
//! A request reaches a device in as many pieces as its buffer has pages that do not lie one after the other in the
//! machine's memory, and the kernel places fresh pages differently from one minute to the next. Buffers that came fresh
//! with each run would make their rates drift with what the machine does. So, as an application's pool does, they come from
//! memory that is taken once, small ones and large ones from the same, so that both are told of the same pages. Each has
//! its place in it by chance, so that no run has the same again and again.

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

/// Bytes that are taken at once: 32 requests of 1 MiB, twice as writes need them, and some room. Where there is little memory
/// it is a part of that, as [`keep_within`] says.
const ARENA: usize = 96 << 20;
/// The kernel gives the worst pages first. Parts of this size are touched in no order, so that they lie everywhere: small
/// enough that the buffers of most runs meet several of them, large enough that a request of 1 MiB meets five at most.
const TOUCHED_AT_ONCE: usize = 256 << 10;
/// What is more than one part in so many of an arena lies where it is free, so that several such find room.
const LARGE: usize = 8;
const LEAST_ARENA: usize = 1 << 20;
/// One part in so many of the memory that may be used.
const PART: u64 = 32;

static ARENAS: Mutex<Vec<Arena>> = Mutex::new(Vec::new());
static ARENA_BYTES: AtomicUsize = AtomicUsize::new(ARENA);
/// How often pages were handed out.
static HANDED_OUT: AtomicU64 = AtomicU64::new(0);

/// Lets what is kept be no more at once than a part of `usable_bytes`, the memory that this process may use (0: not known).
pub fn keep_within(usable_bytes: u64) {
    let part = usize::try_from(usable_bytes / PART).unwrap_or(ARENA).clamp(LEAST_ARENA, ARENA);
    ARENA_BYTES.store(if usable_bytes == 0 { ARENA } else { part }, Ordering::Relaxed);
}

/// Memory that stays.
struct Arena {
    /// Never reached through: a reference to it would span what the kernel is writing to.
    _mapping: MmapMut,
    base: NonNull<u8>,
    bytes: usize,
    /// Node of the processor that touched it first, near which it lies.
    node: u32,
    /// What is handed out, in its order.
    taken: Vec<Range<usize>>,
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

/// A mapping of so many bytes, with advice on its pages.
///
/// # Errors
/// As the kernel refuses the mapping.
pub(crate) fn advised(bytes: usize, advice: Advice) -> io::Result<MmapMut> {
    let mapping = MmapMut::map_anon(bytes)?;
    // Advice alone: a kernel that has no huge pages knows none of it, and serves ordinary ones.
    let _ = mapping.advise(advice);
    Ok(mapping)
}

impl Pages {
    /// So many bytes; `None` where nothing should be kept: they are too many, or the process has little room for addresses
    /// (`ulimit -v`), or there is no memory for more than is asked for.
    pub fn take(bytes: usize) -> Option<Self> {
        let arena_bytes = ARENA_BYTES.load(Ordering::Relaxed);
        let bytes = bytes.next_multiple_of(rustix::param::page_size());
        if bytes > arena_bytes || getrlimit(Resource::As).current.is_some() {
            return None;
        }
        let (mut arenas, here) = (locked(), own_node());
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

/// A number that looks like chance, the same for the same `number`.
fn scattered(number: u64) -> u64 {
    SplitMix64::seed_from_u64(number).next_u64()
}

/// The node of the processor that this thread is on; 0 where the kernel does not tell.
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

    /// So many bytes, from where `chance` points or the next place that is free.
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
