//! Finds how the kernel has placed pages in physical memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

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
    use crate::{BufferMemory, Buffers};

    #[test]
    fn a_buffer_in_a_huge_page_lies_in_one_piece_and_never_in_more_than_it_has_pages() {
        let segments = |memory, bytes| Buffers::in_memory(memory, 2, bytes, 1).ok()?.segments();
        let Some(ordinary) = segments(BufferMemory::Pages, 65536) else {
            return crate::skip::skip("the kernel does not tell where pages lie");
        };
        assert!((1.0..=16.0).contains(&ordinary), "{ordinary}");
        assert_eq!(segments(BufferMemory::Pages, 4096), Some(1.0));
        assert!(segments(BufferMemory::Huge, 65536).is_none_or(|segments| segments == 1.0));
    }
}
