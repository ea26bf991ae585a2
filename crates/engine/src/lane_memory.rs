//! Limits the memory that an engine takes besides its slots, so that all engines of a run fit into the machine.

use halfpower_os::{Payload, locked_memory};

/// The payloads of all lanes together take at most the memory divided by this.
const PAYLOAD_PART: u64 = 8;

/// The memory that one of several engines may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneMemory {
    /// Bytes of random payload for writes, unless its slots need more.
    pub payload_bytes: usize,
    /// Bytes that the engine may lock; `None` means no limit. Buffers larger than this are not registered.
    pub locked_bytes: Option<u64>,
}

impl LaneMemory {
    /// The share of one of `lanes` lanes in a process that may lock `locked_bytes` (`None`: no limit) and use
    /// `memory_bytes` (0: unknown).
    pub fn shared_by(lanes: u64, locked_bytes: Option<u64>, memory_bytes: u64) -> Self {
        let lanes = lanes.max(1);
        let locked_bytes = locked_bytes.map(|bytes| bytes / lanes);
        let of_memory = (memory_bytes > 0).then_some(memory_bytes / PAYLOAD_PART / lanes);
        // Half of the lockable memory is left to the slots.
        let most = locked_bytes.map(|bytes| bytes / 2).into_iter().chain(of_memory).min().unwrap_or(u64::MAX);
        let payload_bytes = most.clamp(Payload::LEAST_BYTES as u64, Payload::USUAL_BYTES as u64) as usize;
        Self { payload_bytes, locked_bytes }
    }

    /// Bytes of the payload for `depth` slots of `bs` bytes.
    pub fn payload_of(&self, depth: u32, bs: u64) -> u64 {
        (self.payload_bytes as u64).max(bs.saturating_mul(u64::from(depth) + 1))
    }
}

/// The limits of this process for a single engine.
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
