//! Holds how much memory a run may use, and divides it among lanes, buffers and files in memory.

use halfpower_engine::LaneMemory;
use halfpower_os::locked_memory;
use halfpower_probe::Root;
use halfpower_spec::{Bytes, Workload};

use crate::MeasureError;

/// Share of the usable memory that the buffers of a run may take; the same for a file that lies in memory.
const SHARE: f64 = 0.5;

/// Memory that this process may use and lock, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryBudget {
    /// The machine's memory, or what a control group allows; 0 if unknown.
    pub usable_bytes: u64,
    /// Limit of locked memory; `None` without a limit. Buffers that io_uring registers are locked.
    pub locked_bytes: Option<u64>,
}

impl MemoryBudget {
    pub fn of_this_process() -> Self {
        let usable_bytes = halfpower_probe::probe_machine(&Root::live()).usable_memory().0;
        halfpower_os::page_arena::keep_within(usable_bytes);
        Self { usable_bytes, locked_bytes: locked_memory::limit_bytes() }
    }

    /// Memory that one of `lanes` lanes may use besides the buffers of its slots.
    pub fn of_lane(&self, lanes: u64) -> LaneMemory {
        LaneMemory::shared_by(lanes, self.locked_bytes, self.usable_bytes)
    }

    /// Limit for buffers, or for a file that lies in memory; `None` if the memory is unknown.
    pub fn most_bytes(&self) -> Option<u64> {
        (self.usable_bytes > 0).then_some((self.usable_bytes as f64 * SHARE) as u64)
    }

    /// Checks that the buffers of all lanes fit in memory, before they are allocated.
    ///
    /// # Errors
    /// How much they need and how much there is.
    pub fn admits(&self, workload: &Workload, volumes: u64) -> Result<(), MeasureError> {
        let Workload { bs, iodepth, threads, .. } = *workload;
        let lanes = u64::from(threads).saturating_mul(volumes.max(1));
        let slots = bs.0.saturating_mul(u64::from(iodepth));
        // The payload of writes is kept in addition to the buffers of the slots.
        let payload = if workload.rw.writes() { self.of_lane(lanes).payload_of(iodepth, bs.0) } else { 0 };
        let needed = slots.saturating_add(payload).saturating_mul(lanes);
        let Some(most) = self.most_bytes().filter(|most| needed > *most) else { return Ok(()) };
        let needed = Bytes(needed);
        let memory = Bytes(self.usable_bytes);
        let most = Bytes(most);
        Err(MeasureError::Unfit {
            what: format!(
                "{iodepth} requests of {bs} in each of {lanes} lanes take {needed} for buffers, and of the {memory} that \
                 may be used here at most {most} may go into them: take less depth, a smaller block size or fewer threads"
            ),
        })
    }

    /// The note for runs in which io_uring could not register its buffers.
    pub fn note_of_unregistered(&self) -> String {
        let why = match self.locked_bytes {
            Some(limit) => format!(
                "all that a run has together is more than the {} that may be locked (ulimit -l); raise that limit, or \
                 take less depth or fewer threads",
                Bytes(limit)
            ),
            None => "there are more than 16,384 of them, or the kernel refused".to_string(),
        };
        format!(
            "in some runs the buffers of io_uring were not registered, so that requests of every thread cost more: {why}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_spec::Rw;

    const MIB: u64 = 1 << 20;

    fn budget(usable_mib: u64) -> MemoryBudget {
        MemoryBudget { usable_bytes: usable_mib * MIB, locked_bytes: None }
    }

    fn workload(rw: Rw, mib: u64, iodepth: u32, threads: u32) -> Workload {
        Workload { rw, bs: Bytes(mib * MIB), iodepth, threads, ..Workload::default() }
    }

    #[test]
    fn buffers_above_half_of_the_memory_are_refused() {
        let admits = |rw, mib, iodepth, threads| budget(1024).admits(&workload(rw, mib, iodepth, threads), 1);
        assert!(admits(Rw::Read, 4, 32, 4).is_ok(), "half of it");
        let refused = admits(Rw::Read, 4, 32, 5).unwrap_err().to_string();
        assert!(
            refused.contains("take 640MiB") && refused.contains("at most 512MiB") && refused.contains("less depth")
        );
        assert!(admits(Rw::Write, 4, 32, 2).is_err(), "and as much again of payload");
        assert!(budget(0).admits(&workload(Rw::Read, 1024, 32, 64), 1).is_ok(), "nobody knows");
    }

    #[test]
    fn what_writes_carry_counts_also_where_requests_are_small() {
        let small = |threads| Workload { rw: Rw::Write, bs: Bytes(4096), threads, ..Workload::default() };
        assert!(budget(1024).admits(&small(100), 1).is_ok(), "4 MiB of payload in each lane");
        assert!(budget(1024).admits(&small(200), 1).is_err());
    }
}
