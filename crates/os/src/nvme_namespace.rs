//! Says how an NVMe namespace takes commands: in which blocks, and how much at once.

use crate::DeviceNumber;
use crate::nvme::IDENTITY_BYTES;

/// A buffer of ordinary memory lies in pieces of this size, a page of NVMe, of which the queue takes a number.
const PIECE_BYTES: u64 = 4096;
/// Most blocks of a read or a write: its number, less one, has 16 bits.
const MOST_BLOCKS: u64 = 1 << 16;

/// A namespace that takes commands through its generic device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespace {
    /// Its number (NSID).
    pub(crate) number: u32,
    /// The logarithm of the bytes of a block.
    pub(crate) block_shift: u8,
    /// Most bytes that a command moves.
    pub most_bytes: u64,
    /// The block device beside the generic device.
    pub(crate) disk: DeviceNumber,
}

impl Namespace {
    /// Bytes of a block: requests begin and end at multiples of it.
    pub fn block_bytes(&self) -> u64 {
        1 << self.block_shift
    }

    /// Whether one command can carry a request of `length` bytes from `offset` on.
    pub fn takes(&self, offset: u64, length: u32) -> bool {
        let length = u64::from(length);
        let is_whole = (offset | length) & (self.block_bytes() - 1) == 0;
        is_whole && length > 0 && length <= self.most_bytes
    }

    /// What Identify Namespace (`page`) and the queue's limits say of it.
    ///
    /// # Errors
    /// Why it takes no commands from here.
    pub(crate) fn of(number: u32, disk: DeviceNumber, page: &[u8], queue: QueueLimits) -> Result<Self, String> {
        let Format { block_shift, metadata_bytes } =
            Format::of(page).ok_or("its controller says nothing of its format")?;
        if metadata_bytes > 0 {
            return Err(format!(
                "its blocks carry {metadata_bytes} bytes of metadata each, which halfpower does not send; take --engine \
                 io_uring"
            ));
        }
        let block_bytes = 1_u64 << block_shift;
        let most = queue.most_bytes.min(queue.most_pieces.saturating_mul(PIECE_BYTES)).min(MOST_BLOCKS * block_bytes);
        Ok(Self { number, block_shift, most_bytes: most - most % block_bytes, disk })
    }
}

/// The format of a namespace's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Format {
    block_shift: u8,
    metadata_bytes: u16,
}

impl Format {
    /// The format in use, by Identify Namespace: byte 26 is its index, and the formats begin at byte 128.
    fn of(page: &[u8]) -> Option<Self> {
        if page.len() < IDENTITY_BYTES {
            return None;
        }
        let index = usize::from(page[26] & 0xf) | usize::from((page[26] >> 5) & 0b11) << 4;
        let format = &page[128 + 4 * index..][..4];
        // From 512 bytes to 1 MiB: what is beyond that is no format.
        let is_one = (9..=20).contains(&format[2]);
        is_one.then(|| Self { block_shift: format[2], metadata_bytes: u16::from_le_bytes([format[0], format[1]]) })
    }
}

/// What a queue takes at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    most_bytes: u64,
    most_pieces: u64,
}

impl QueueLimits {
    /// Those of a disk; `None` if the kernel does not say.
    pub fn of(disk: DeviceNumber) -> Option<Self> {
        let number = |name: &str| disk.queue_setting(name)?.parse::<u64>().ok();
        Some(Self { most_bytes: number("max_hw_sectors_kb")? << 10, most_pieces: number("max_segments")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: DeviceNumber = DeviceNumber { major: 259, minor: 0 };

    /// Identify's answer of a namespace whose formats are these (metadata, logarithm of the block's bytes).
    fn page(in_use: u8, formats: &[(u16, u8)]) -> Vec<u8> {
        let mut page = vec![0; IDENTITY_BYTES];
        page[26] = in_use;
        for (index, (metadata_bytes, shift)) in formats.iter().enumerate() {
            page[128 + 4 * index..][..2].copy_from_slice(&metadata_bytes.to_le_bytes());
            page[128 + 4 * index + 2] = *shift;
        }
        page
    }

    #[test]
    fn the_format_in_use_is_told_and_metadata_are_refused() {
        let formats = [(0, 9), (8, 9), (0, 12)];
        let queue = QueueLimits { most_bytes: 512 << 10, most_pieces: 127 };
        let of = |in_use| Namespace::of(1, DISK, &page(in_use, &formats), queue);
        assert_eq!(of(0).map(|found| (found.block_bytes(), found.most_bytes)), Ok((512, 127 * 4096)));
        assert_eq!(of(2).map(|found| found.block_bytes()), Ok(4096));
        assert!(of(1).unwrap_err().contains("8 bytes of metadata"));
        assert!(of(3).unwrap_err().contains("format"), "a format of no bytes is none");
        assert!(Namespace::of(1, DISK, &[0; 512], queue).is_err(), "a short answer is none");
        // Bits 5 and 6 continue the index (NVMe 2.0).
        let many: Vec<(u16, u8)> = (0..20).map(|index| if index == 18 { (0, 12) } else { (0, 9) }).collect();
        assert_eq!(Format::of(&page(0b10_0010, &many)).map(|format| format.block_shift), Some(12));
    }

    #[test]
    fn a_command_moves_whole_blocks_and_no_more_than_the_queue_takes() {
        let queue = QueueLimits { most_bytes: 128 << 10, most_pieces: 127 };
        let namespace = Namespace::of(1, DISK, &page(0, &[(0, 9)]), queue).unwrap();
        assert_eq!(namespace.most_bytes, 128 << 10);
        assert!(namespace.takes(512, 512) && namespace.takes(0, 128 << 10));
        assert!(!namespace.takes(0, 0), "no blocks would be read as all that a command can name");
        assert!(!namespace.takes(256, 512) && !namespace.takes(0, 513) && !namespace.takes(0, (128 << 10) + 512));
        let endless = QueueLimits { most_bytes: u64::MAX, most_pieces: u64::MAX };
        let most = Namespace::of(1, DISK, &page(0, &[(0, 9)]), endless).unwrap().most_bytes;
        assert_eq!(most, 65536 * 512, "a command has 16 bits for its blocks");
    }
}
