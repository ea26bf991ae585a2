//! Maps the memory of buffers, in ordinary or huge pages, and finds how the kernel has placed it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::{io, slice};

use memmap2::{Advice, MmapMut};

use crate::page_arena::{Pages, advised};

/// Size of a huge page on most machines. On others the advice helps less, and nothing breaks.
const HUGE_PAGE: usize = 2 << 20;
/// Under [`BufferMemory::HugeFromFar`], mappings from this size on ask for huge pages.
const HUGE_FROM: usize = 256 << 10;

/// The kind of pages that buffers lie in. A request in one huge page reaches a device in one piece; in ordinary pages
/// it may have as many pieces as pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BufferMemory {
    /// Huge pages for mappings of 256 KiB and more, if the kernel gives any; the behaviour of the first releases.
    #[default]
    HugeFromFar,
    /// Ordinary pages, even if the kernel would give huge ones by itself.
    Pages,
    /// Huge pages, whatever the size.
    Huge,
}

/// Anonymous memory of one kind.
pub(crate) struct Mapped {
    base: NonNull<u8>,
    memory: BufferMemory,
    bytes: usize,
    _held: Held,
}

/// What keeps the memory valid.
enum Held {
    /// A separate mapping.
    Mapping { _mapping: MmapMut },
    /// Pages from the process's arena.
    Pages { _pages: Pages },
}

// SAFETY: the pointer leads into what is held, which moves along; the rules of references guard its bytes.
unsafe impl Send for Mapped {}
// SAFETY: as above; nothing changes behind a shared reference.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps `bytes` bytes. Ordinary pages come from the arena that the process keeps ([`Pages`]), others are allocated
    /// on first touch.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn new(memory: BufferMemory, bytes: usize) -> io::Result<Self> {
        if memory == BufferMemory::Pages
            && let Some(pages) = Pages::take(bytes)
        {
            return Ok(Self { base: pages.base(), memory, bytes, _held: Held::Pages { _pages: pages } });
        }
        let mut mapping = match memory {
            BufferMemory::HugeFromFar if bytes < HUGE_FROM => MmapMut::map_anon(bytes)?,
            BufferMemory::HugeFromFar => advised(bytes.next_multiple_of(HUGE_PAGE), Advice::HugePage)?,
            BufferMemory::Pages => advised(bytes, Advice::NoHugePage)?,
            BufferMemory::Huge => advised(bytes.next_multiple_of(HUGE_PAGE) + HUGE_PAGE, Advice::HugePage)?,
        };
        // Older kernels may begin a mapping at any page, but a huge page begins at a multiple of its size.
        let first = if memory == BufferMemory::Huge { mapping.as_ptr().align_offset(HUGE_PAGE) } else { 0 };
        let base = NonNull::from(&mut mapping[first..first + bytes]).cast();
        Ok(Self { base, memory, bytes, _held: Held::Mapping { _mapping: mapping } })
    }

    /// The memory.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes are held from there on, are initialised, and are borrowed as `self` is, alone.
        unsafe { slice::from_raw_parts_mut(self.base.as_ptr(), self.bytes) }
    }

    /// The start of the memory.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The kind of memory requested.
    pub fn memory(&self) -> BufferMemory {
        self.memory
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether the kernel gave the requested pages; call it after the memory was touched.
    pub fn is_as_asked(&self) -> bool {
        self.memory != BufferMemory::Huge || self.lies_in_huge_pages()
    }

    /// Whether /proc/self/smaps shows huge pages; true if it cannot be read.
    pub fn lies_in_huge_pages(&self) -> bool {
        let Ok(account) = fs::read_to_string("/proc/self/smaps") else { return true };
        let range_of = |line: &str| {
            let (from, to) = line.split_once(' ')?.0.split_once('-')?;
            Some(usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?)
        };
        let address = self.base.addr().get();
        let mut lines = account.lines().skip_while(|line| !range_of(line).is_some_and(|at| at.contains(&address)));
        let huge = lines.find_map(|line| line.strip_prefix("AnonHugePages:"));
        huge.is_none_or(|size| size.trim() != "0 kB")
    }
}

/// Main memory of the machine in bytes.
pub(crate) fn memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    (info.totalram as u64).saturating_mul(u64::from(info.mem_unit))
}

/// The frame number in an entry of `/proc/self/pagemap`.
const FRAME: u64 = (1 << 55) - 1;
/// Most buffers that are examined; of more buffers, this many are sampled evenly.
const MOST: usize = 128;
/// The page is in memory.
const PRESENT: u64 = 1 << 63;

/// Number of segments that each of `count` buffers, `stride` bytes apart, lies in, on average; physically adjacent
/// pages form one segment. `None` if the kernel does not say; it tells only administrators.
pub(crate) fn mean_segments(base: NonNull<u8>, count: usize, stride: usize, bytes_each: usize) -> Option<f64> {
    let pagemap = File::open("/proc/self/pagemap").ok()?;
    let page = rustix::param::page_size();
    let mut segments = 0;
    let step = count.div_ceil(MOST).max(1);
    for index in (0..count).step_by(step) {
        let from = base.addr().get() + index * stride;
        let pages = from / page..(from + bytes_each).div_ceil(page);
        let mut entries = vec![0; pages.len() * size_of::<u64>()];
        pagemap.read_exact_at(&mut entries, (pages.start * size_of::<u64>()) as u64).ok()?;
        let mut last = None;
        for entry in entries.chunks_exact(size_of::<u64>()) {
            let entry = u64::from_ne_bytes(entry.try_into().ok()?);
            let frame = Some(entry & FRAME).filter(|frame| *frame != 0 && entry & PRESENT != 0)?;
            segments += usize::from(last != Some(frame - 1));
            last = Some(frame);
        }
    }
    let looked_at = count.div_ceil(step);
    (looked_at > 0).then(|| segments as f64 / looked_at as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BufferMemory, Buffers};

    #[test]
    fn memory_lies_in_the_pages_that_were_asked_for() {
        let touched = |memory, bytes| {
            let mut mapped = Mapped::new(memory, bytes).unwrap();
            mapped.bytes_mut().fill(1);
            mapped
        };
        assert!(!touched(BufferMemory::Pages, 4 << 20).lies_in_huge_pages());
        let huge = touched(BufferMemory::Huge, 4096);
        assert_eq!((huge.base().addr().get() % HUGE_PAGE, huge.len()), (0, 4096));
        if !huge.is_as_asked() {
            crate::skip("this kernel gives no huge pages");
        }
    }

    #[test]
    fn a_buffer_in_a_huge_page_lies_in_one_piece_and_never_in_more_than_it_has_pages() {
        let segments = |memory, bytes| Buffers::in_memory(memory, 2, bytes, 1).ok()?.segments();
        let Some(ordinary) = segments(BufferMemory::Pages, 65536) else {
            return crate::skip("the kernel does not tell where pages lie");
        };
        assert!((1.0..=16.0).contains(&ordinary), "{ordinary}");
        assert_eq!(segments(BufferMemory::Pages, 4096), Some(1.0));
        assert!(segments(BufferMemory::Huge, 65536).is_none_or(|segments| segments == 1.0));
    }
}
