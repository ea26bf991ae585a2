//! Reads, writes and copies memory with the processor's own instructions, over an arena larger than its caches.
//!
//! Memory is passed in whole turns; a turn is what a loop moves between two checks of its counter. Loads and ordinary
//! stores are volatile, so the compiler cannot drop, merge or replace them by memset. The available vector instructions
//! are detected once, at run time.
//!
//! An [`Arena`] is a mapping that nobody has touched yet, so its pages will lie near the processor that fills it. This
//! file also measures the caches, which decide how large an arena must be.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::slice;

use memmap2::{Advice, MmapMut};

use crate::OsError;
use crate::address_space::no_room;
use crate::buffer_memory::memory_bytes;

/// Bytes that a loop moves in one turn: eight cache lines, so that the cost of counting is negligible.
pub const TURN_BYTES: usize = 512;

/// The bytes that a loop moves in one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(512))]
pub struct Turn([u8; TURN_BYTES]);

/// Runs only the loop, once for each turn in `turns`, and touches no memory.
pub fn turn_only(turns: &[Turn]) {
    turns.iter().for_each(|turn| {
        black_box(std::ptr::from_ref(turn));
    });
}

/// Reads 64 bits at a time.
pub fn read_words(from: &[Turn]) {
    each_read::<u64>(from);
}

/// Writes 64 bits at a time, the same value everywhere.
pub fn write_words(to: &mut [Turn]) {
    each_written(to, black_box(WORD));
}

/// Copies with the C library's memcpy, in one call.
///
/// # Panics
/// If the lengths differ.
pub fn copy(to: &mut [Turn], from: &[Turn]) {
    to.copy_from_slice(from);
    black_box(to.as_ptr());
}

/// The value written; not zero, because some processors store zeros at less cost.
const WORD: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn each_read<V>(from: &[Turn]) {
    for turn in from {
        let vectors = std::ptr::from_ref(turn).cast::<V>();
        for index in 0..TURN_BYTES / size_of::<V>() {
            // SAFETY: a turn is that many vectors long and at least as aligned; all bits are a vector.
            unsafe { vectors.add(index).read_volatile() };
        }
    }
}

#[inline(always)]
fn each_written<V: Copy>(to: &mut [Turn], value: V) {
    for turn in to {
        let vectors = std::ptr::from_mut(turn).cast::<V>();
        for index in 0..TURN_BYTES / size_of::<V>() {
            // SAFETY: as in `each_read`, and the turn is borrowed alone; vectors have no padding, so bytes stay bytes.
            unsafe { vectors.add(index).write_volatile(value) };
        }
    }
}

#[inline(always)]
fn each_copied<V>(to: &mut [Turn], from: &[Turn]) {
    for (to, from) in to.iter_mut().zip(from) {
        let to = std::ptr::from_mut(to).cast::<V>();
        let from = std::ptr::from_ref(from).cast::<V>();
        for index in 0..TURN_BYTES / size_of::<V>() {
            // SAFETY: as in `each_read` and `each_written`.
            unsafe { to.add(index).write_volatile(from.add(index).read_volatile()) };
        }
    }
}

/// The loops over the widest vectors that this processor has.
#[derive(Debug, Clone, Copy)]
pub struct Vectors(&'static Set);

/// Loops with stores that bypass the caches.
#[derive(Debug, Clone, Copy)]
pub struct Streams(&'static StreamSet);

/// The loops over one width of vectors, for processors that have them.
#[derive(Debug)]
struct Set {
    read: unsafe fn(&[Turn]),
    write: unsafe fn(&mut [Turn]),
    /// Uses ordinary stores of at most 256 bits, as compilers do: wider ones were no faster where both were tried.
    copy: unsafe fn(&mut [Turn], &[Turn]),
    streams: Option<StreamSet>,
}

#[derive(Debug)]
struct StreamSet {
    write: unsafe fn(&mut [Turn]),
    copy: unsafe fn(&mut [Turn], &[Turn]),
}

impl Vectors {
    /// The widest vectors of this processor.
    pub fn widest() -> Self {
        Self::all_here().next().expect("the portable ones are everywhere")
    }

    /// All vector widths of this processor, widest first.
    fn all_here() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let known = [
            (&avx512::SET, is_x86_feature_detected!("avx512f")),
            (&avx2::SET, is_x86_feature_detected!("avx2")),
            (&sse2::SET, true),
            (&PORTABLE, true),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let known = [(&PORTABLE, true)];
        known.into_iter().filter(|(_, here)| *here).map(|(set, _)| Self(set))
    }

    /// Reads a vector at a time.
    pub fn read(self, from: &[Turn]) {
        // SAFETY: `all_here` gives only what the processor was asked for.
        unsafe { (self.0.read)(from) }
    }

    /// Writes a vector at a time, the same value everywhere.
    pub fn write(self, to: &mut [Turn]) {
        // SAFETY: as in `read`.
        unsafe { (self.0.write)(to) }
    }

    /// Copies a vector at a time with ordinary stores.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn copy(self, to: &mut [Turn], from: &[Turn]) {
        assert_eq!(to.len(), from.len(), "a copy is as long as what it is of");
        // SAFETY: as in `read`.
        unsafe { (self.0.copy)(to, from) }
    }

    /// The loops with stores that bypass the caches; `None` if the program has none for this processor.
    pub fn streams(self) -> Option<Streams> {
        self.0.streams.as_ref().map(Streams)
    }
}

impl Streams {
    /// Writes a vector at a time, the same value everywhere, and orders the stores before all later ones.
    pub fn write(self, to: &mut [Turn]) {
        // SAFETY: a stream comes from a set that the processor was asked for.
        unsafe { (self.0.write)(to) }
    }

    /// Copies a vector at a time, and orders the stores before all later ones.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn copy(self, to: &mut [Turn], from: &[Turn]) {
        assert_eq!(to.len(), from.len(), "a copy is as long as what it is of");
        // SAFETY: as in `write`.
        unsafe { (self.0.copy)(to, from) }
    }
}

/// Fallback: loops that the compiler vectorises with the instructions that every processor of the architecture has.
static PORTABLE: Set = Set { read: read_portably, write: write_portably, copy: each_copied::<u64>, streams: None };

fn read_portably(from: &[Turn]) {
    let mut lanes = [0u64; 8];
    for turn in from {
        for line in turn.0.chunks_exact(64) {
            for (lane, word) in lanes.iter_mut().zip(line.chunks_exact(8)) {
                *lane ^= u64::from_ne_bytes(word.try_into().expect("eight bytes"));
            }
        }
    }
    black_box(lanes);
}

fn write_portably(to: &mut [Turn]) {
    let mut turn = Turn([0; TURN_BYTES]);
    turn.0.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&WORD.to_ne_bytes()));
    to.fill(black_box(turn));
    black_box(to.as_ptr());
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn copy_128(to: &mut [Turn], from: &[Turn]) {
    each_copied::<std::arch::x86_64::__m128i>(to, from);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn copy_256(to: &mut [Turn], from: &[Turn]) {
    each_copied::<std::arch::x86_64::__m256i>(to, from);
}

/// Orders streamed stores before all that follow.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "the intrinsic is unsafe in the oldest Rust that builds this")]
fn fence_of_stores() {
    // SAFETY: every x86-64 processor has SFENCE.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// The loops over one width of vectors.
#[cfg(target_arch = "x86_64")]
macro_rules! loops {
    ($width:ident, $feature:literal, $vector:ident, $fill:ident, $stream:ident, $copy:ident, $($line:literal),+) => {
        mod $width {
            use std::arch::x86_64::{$fill, $stream, $vector};
            use std::hint::black_box;

            use super::{Set, StreamSet, TURN_BYTES, Turn, WORD, each_read, each_written, fence_of_stores};

            const EACH: usize = TURN_BYTES / size_of::<$vector>();
            pub(super) static SET: Set = Set {
                read,
                write,
                copy: super::$copy,
                streams: Some(StreamSet { write: write_stream, copy: copy_stream }),
            };

            #[target_feature(enable = $feature)]
            fn read(from: &[Turn]) {
                each_read::<$vector>(from);
            }

            #[target_feature(enable = $feature)]
            fn write(to: &mut [Turn]) {
                each_written(to, $fill(black_box(WORD) as i64));
            }

            #[target_feature(enable = $feature)]
            fn write_stream(to: &mut [Turn]) {
                let value = $fill(black_box(WORD) as i64);
                for turn in to {
                    let vectors = std::ptr::from_mut(turn).cast::<$vector>();
                    for index in 0..EACH {
                        // SAFETY: a turn is that many vectors long, at least as aligned, and borrowed alone.
                        unsafe { $stream(vectors.add(index), value) };
                    }
                }
                fence_of_stores();
            }

            #[target_feature(enable = $feature)]
            fn copy_stream(to: &mut [Turn], from: &[Turn]) {
                // One cache line in each round, written in assembly so that no compiler unrolls it: loads that run
                // further ahead take line buffers from the stores, and the copy loses an eighth of its speed.
                let bytes = size_of_val(from).min(size_of_val(to));
                if bytes > 0 {
                    // SAFETY: both slices hold that many bytes, in whole lines and aligned for any vector; `to` is
                    // borrowed alone, and no other register is touched.
                    unsafe {
                        std::arch::asm!(
                            "2:", $($line,)+ "add {at}, 64", "cmp {at}, {bytes}", "jb 2b",
                            at = inout(reg) 0usize => _, bytes = in(reg) bytes,
                            to = in(reg) to.as_mut_ptr(), from = in(reg) from.as_ptr(),
                            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, options(nostack),
                        );
                    }
                }
                fence_of_stores();
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
loops!(
    sse2,
    "sse2",
    __m128i,
    _mm_set1_epi64x,
    _mm_stream_si128,
    copy_128,
    "movaps xmm0, [{from} + {at}]",
    "movaps xmm1, [{from} + {at} + 16]",
    "movaps xmm2, [{from} + {at} + 32]",
    "movaps xmm3, [{from} + {at} + 48]",
    "movntps [{to} + {at}], xmm0",
    "movntps [{to} + {at} + 16], xmm1",
    "movntps [{to} + {at} + 32], xmm2",
    "movntps [{to} + {at} + 48], xmm3"
);
#[cfg(target_arch = "x86_64")]
loops!(
    avx2,
    "avx2",
    __m256i,
    _mm256_set1_epi64x,
    _mm256_stream_si256,
    copy_256,
    "vmovaps ymm0, [{from} + {at}]",
    "vmovaps ymm1, [{from} + {at} + 32]",
    "vmovntps [{to} + {at}], ymm0",
    "vmovntps [{to} + {at} + 32], ymm1"
);
#[cfg(target_arch = "x86_64")]
loops!(
    avx512,
    "avx512f",
    __m512i,
    _mm512_set1_epi64,
    _mm512_stream_si512,
    copy_256,
    "vmovaps zmm0, [{from} + {at}]",
    "vmovntps [{to} + {at}], zmm0"
);

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
    /// [`OsError::Memory`] if it would take more than half of the machine's memory or the kernel refuses,
    /// [`OsError::Limited`] if a limit of this process leaves no room.
    pub fn new(bytes: usize) -> Result<Self, OsError> {
        let memory_bytes = memory_bytes();
        let refused = || no_room(1, bytes);
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

    fn turns(count: usize, seed: u8) -> Vec<Turn> {
        let byte = |turn: usize, at: usize| (turn * 31 + at * 7) as u8 ^ seed;
        (0..count).map(|turn| Turn(std::array::from_fn(|at| byte(turn, at)))).collect()
    }

    fn is_written(turn: &Turn) -> bool {
        turn.0.chunks(8).all(|word| word == WORD.to_ne_bytes())
    }

    /// Runs a loop over the middle of some turns and returns it; the turns before and after must not change.
    fn in_the_middle(work: impl Fn(&mut [Turn])) -> Vec<Turn> {
        let before = turns(9, 1);
        let mut after = turns(9, 1);
        work(&mut after[2..7]);
        assert_eq!((&after[..2], &after[7..]), (&before[..2], &before[7..]), "memory beside it was touched");
        after[2..7].to_vec()
    }

    #[test]
    fn writes_reach_every_word_and_nothing_beside() {
        assert!(in_the_middle(write_words).iter().all(is_written));
        for vectors in Vectors::all_here() {
            assert!(in_the_middle(|to| vectors.write(to)).iter().all(is_written), "{vectors:?}");
            if let Some(streams) = vectors.streams() {
                assert!(in_the_middle(|to| streams.write(to)).iter().all(is_written), "{streams:?}");
            }
        }
    }

    #[test]
    fn copies_are_what_they_are_of() {
        let from = turns(5, 77);
        assert_eq!(in_the_middle(|to| copy(to, &from)), from);
        for vectors in Vectors::all_here() {
            assert_eq!(in_the_middle(|to| vectors.copy(to, &from)), from, "{vectors:?}");
        }
        for streams in Vectors::all_here().filter_map(Vectors::streams) {
            assert_eq!(in_the_middle(|to| streams.copy(to, &from)), from, "{streams:?}");
        }
    }

    #[test]
    fn reads_and_the_loop_alone_change_nothing() {
        let untouched = turns(9, 1)[2..7].to_vec();
        assert_eq!(in_the_middle(|turns| turn_only(turns)), untouched);
        assert_eq!(in_the_middle(|turns| read_words(turns)), untouched);
        for vectors in Vectors::all_here() {
            assert_eq!(in_the_middle(|turns| vectors.read(turns)), untouched, "{vectors:?}");
        }
    }

    #[test]
    fn every_processor_of_this_kind_has_vectors_that_pass_the_caches_by() {
        assert_eq!(Vectors::widest().streams().is_some(), cfg!(target_arch = "x86_64"));
    }

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
