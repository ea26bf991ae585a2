//! Says how much memory an engine may take beside its slots, so that all of a run together keep within what there is.

use halfpower_os::{Payload, locked_memory};

/// Part of the memory that the payloads of all lanes together may take: one in so many.
const PAYLOAD_PART: u64 = 8;

/// What one of several engines may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneMemory {
    /// Bytes of random payload for writes, where its slots need no more.
    pub payload_bytes: usize,
    /// Bytes that it may lock; `None` without a limit. Buffers that are more are not registered.
    pub locked_bytes: Option<u64>,
}

impl LaneMemory {
    /// The part of one of `lanes` of a process that may lock `locked_bytes` (`None`: any number) and use `memory_bytes`
    /// (0: not known).
    pub fn shared_by(lanes: u64, locked_bytes: Option<u64>, memory_bytes: u64) -> Self {
        let lanes = lanes.max(1);
        let locked_bytes = locked_bytes.map(|bytes| bytes / lanes);
        let of_memory = (memory_bytes > 0).then_some(memory_bytes / PAYLOAD_PART / lanes);
        // Half of what may be locked is left to the slots.
        let most = locked_bytes.map(|bytes| bytes / 2).into_iter().chain(of_memory).min().unwrap_or(u64::MAX);
        let payload_bytes = most.clamp(Payload::LEAST_BYTES as u64, Payload::USUAL_BYTES as u64) as usize;
        Self { payload_bytes, locked_bytes }
    }

    /// Bytes of the payload of writes with so many slots of so many bytes.
    pub fn payload_of(&self, depth: u32, bs: u64) -> u64 {
        (self.payload_bytes as u64).max(bs.saturating_mul(u64::from(depth) + 1))
    }
}

/// All that this process may lock, for a single engine.
impl Default for LaneMemory {
    fn default() -> Self {
        Self::shared_by(1, locked_memory::limit_bytes(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn lanes_share_what_may_be_locked_and_used() {
        let payload_mib = |memory: LaneMemory| memory.payload_bytes as u64 / MIB;
        let free = LaneMemory::shared_by(4, None, 0);
        assert_eq!((payload_mib(free), free.locked_bytes), (16, None));
        let locked = LaneMemory::shared_by(4, Some(64 * MIB), 1 << 40);
        assert_eq!((payload_mib(locked), locked.locked_bytes), (8, Some(16 * MIB)));
        assert_eq!(payload_mib(LaneMemory::shared_by(16, None, 1024 * MIB)), 8, "a limit on memory");
        assert_eq!(
            payload_mib(LaneMemory::shared_by(1000, Some(MIB), MIB)),
            4,
            "the least that does not repeat at once"
        );
        assert_eq!(free.payload_of(32, MIB), 33 * MIB);
    }
}
