//! Reads back blocks that a run has written, and checks whether a workload can be verified.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use halfpower_engine::{Engine, Ledger, MOST_UNDER_WAY, Operation, Request, UNIT_BYTES};
use halfpower_spec::{Bytes, Workload};

use crate::MeasureError;

/// Ledgers may take one part in this many of the machine's memory.
const MEMORY_PART: u64 = 4;

/// Checks that `workload` can be verified on `lanes` lanes of `span_bytes` each.
///
/// # Errors
/// Why not.
pub(crate) fn admit(workload: &Workload, lanes: usize, span_bytes: u64, memory_bytes: u64) -> Result<(), String> {
    let unit = UNIT_BYTES as u64;
    let off = [workload.bs.0, workload.options.misalign.0, workload.options.region.map_or(0, |region| region.from.0)];
    let needed = Ledger::memory_bytes(span_bytes).saturating_mul(lanes as u64);
    if off.iter().any(|bytes| !bytes.is_multiple_of(unit)) {
        Err(format!("--verify checks blocks of {unit} bytes: let --bs, --misalign and --region be multiples of that"))
    } else if workload.total_depth() > MOST_UNDER_WAY {
        Err(format!("--verify follows {MOST_UNDER_WAY} requests at once: ask for less depth or fewer threads"))
    } else if needed > memory_bytes / MEMORY_PART {
        Err(format!("--verify remembers each block of {} in memory: choose a smaller --size", Bytes(span_bytes)))
    } else {
        Ok(())
    }
}

/// Reads back every block of `bs` bytes in `from..end` that was written since it was last read back. Returns the number
/// of bad blocks, by kind of error.
///
/// # Errors
/// If the engine cannot go on, or `stop` was set.
pub(crate) fn read_back(
    engine: &mut dyn Engine,
    ledger: &Ledger,
    (from, bs, end): (u64, u32, u64),
    depth: u32,
    stop: &AtomicBool,
) -> Result<BTreeMap<String, u64>, MeasureError> {
    let mut wrong = BTreeMap::new();
    let starts = (from..).step_by(bs as usize).take_while(|start| start + u64::from(bs) <= end);
    let mut blocks = starts.filter(|start| ledger.is_unread(*start..start + u64::from(bs)));
    let mut free: Vec<u32> = (0..depth).collect();
    let mut batch = Vec::new();
    let mut done = Vec::with_capacity(depth as usize);
    loop {
        batch.clear();
        let has_time = !stop.load(Ordering::Relaxed);
        while let Some(slot) = free.pop() {
            let Some(offset) = blocks.next().filter(|_| has_time) else {
                free.push(slot);
                break;
            };
            batch.push(Request { slot, operation: Operation::Read, offset, length: bs });
        }
        engine.submit(&batch)?;
        if free.len() == depth as usize {
            return if has_time { Ok(wrong) } else { Err(MeasureError::Interrupted) };
        }
        done.clear();
        engine.reap(1, &mut done)?;
        for completion in &done {
            free.push(completion.slot);
            let name = match completion.result {
                Ok(moved) if moved == bs => continue,
                Ok(_) => "short".to_string(),
                Err(errno) => errno.name().into_owned(),
            };
            *wrong.entry(name).or_default() += 1;
        }
    }
}
