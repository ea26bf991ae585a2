//! Lays out our own file: writes all of it before any of it is read.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use halfpower_engine::{EngineSettings, Errno, Opened};
use halfpower_os::Mode;
use halfpower_spec::{Bytes, Direction, EngineName, Nanos, Pattern, Rw, Workload};

use super::memory_budget::MemoryBudget;
use crate::MeasureError;
use crate::offsets::Offsets;
use crate::target_backend::ClosingFlush;
use crate::window::{Pauses, Terms, Window};

/// Request size while laying out; the file size is a multiple of it.
pub(crate) const BLOCK_BYTES: u64 = 1 << 20;
/// Smallest file that is laid out without a given size; this much is written however long it takes. It holds the
/// deepest large requests of a study twice.
pub(crate) const LEAST_BYTES: u64 = 64 << 20;
/// Most requests in flight while laying out.
pub(crate) const DEPTH: u32 = 8;

/// Settings of the engine that lays out: the fastest that fits in memory, whatever engine the run uses.
pub(super) fn settings(seed: u64, budget: MemoryBudget) -> EngineSettings {
    let memory = budget.of_lane(1);
    EngineSettings { memory, ..EngineSettings::new(EngineName::Auto, depth(budget), Bytes(BLOCK_BYTES), seed) }
}

/// Requests in flight: fewer than [`DEPTH`] if the buffers of all would not fit in memory.
fn depth(budget: MemoryBudget) -> u32 {
    let Some(most) = budget.most_bytes() else { return DEPTH };
    let of_slots = most.saturating_sub(budget.of_lane(1).payload_of(0, 0)) / BLOCK_BYTES;
    of_slots.clamp(1, DEPTH.into()) as u32
}

/// The mode in which a file is opened to be laid out.
pub(crate) fn mode(direct: bool) -> Mode {
    Mode { direct, write: true, ..Mode::default() }
}

/// Writes the first `bytes` through the engine that `open` returns, or fewer if that would take longer than `limit`.
/// Returns the number of bytes written. Errors name `path`.
///
/// # Errors
/// If a write fails, or `stop` was set.
pub(crate) fn lay_out(
    path: &Path,
    bytes: u64,
    settings: EngineSettings,
    limit: Nanos,
    stop: &AtomicBool,
    open: impl Fn() -> Result<Opened, MeasureError>,
) -> Result<u64, MeasureError> {
    // First the minimum, without a limit; then the rest within the limit; last what is less than a block.
    let no_limit = Nanos(u64::MAX / 2);
    let iodepth = settings.depth;
    let seed = settings.seed;
    let block_bytes = settings.bs.0;
    let mut written = 0;
    for (end, runtime) in [(LEAST_BYTES.max(block_bytes).min(bytes), no_limit), (bytes, limit), (bytes, Nanos(0))] {
        let is_tail = end - written.min(end) < block_bytes;
        if written >= end || (runtime == Nanos(0) && !is_tail) {
            continue;
        }
        let runtime = if is_tail { no_limit } else { runtime };
        let bs = Bytes(block_bytes.min(end - written));
        let rw = Rw::of(Pattern::Sequential, Direction::Write);
        let workload = Workload { rw, bs, iodepth, ..Workload::default() };
        let mut opened = open()?;
        let offsets = Offsets::new(&workload, &(written..end), true, seed);
        let terms = Terms { runtime, flush: ClosingFlush::Counts, pauses: Pauses::default(), ramp: Nanos(0) };
        let tally = Window::new(opened.engine.as_mut(), offsets, iodepth, terms, stop).run()?;
        if stop.load(Ordering::Relaxed) {
            return Err(MeasureError::Interrupted);
        }
        if let Some((errno, count)) = tally.errors.first() {
            let what = format!("{count} writes failed with {} while it was laid out: {}", errno.name(), remedy(*errno));
            return Err(MeasureError::Target { path: path.to_path_buf(), what });
        }
        written += tally.bytes;
    }
    Ok(written)
}

/// What the user can do about an error while laying out.
fn remedy(errno: Errno) -> &'static str {
    match errno {
        Errno::CANCELED => {
            "the kernel could start no thread for io_uring, so allow more processes (`ulimit -u`), or add --engine sync"
        }
        Errno::TOO_LARGE => "the limit on file sizes (`ulimit -f`) ends it, so raise that, or ask for a smaller --size",
        Errno::BUSY => "the server has too much to do, also when it was asked again; try later",
        _ => "name another place",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_keeps_within_a_small_limit() {
        let depth = |mib: u64| depth(MemoryBudget { usable_bytes: mib << 20, locked_bytes: None });
        assert_eq!([0, 1024, 16, 4].map(depth), [DEPTH, DEPTH, 4, 1]);
    }

    #[test]
    fn limits_of_the_process_are_not_blamed_on_the_place() {
        assert!(remedy(Errno::CANCELED).contains("ulimit -u"));
        assert!(remedy(Errno::TOO_LARGE).contains("ulimit -f"));
        assert!(remedy(Errno::BUSY).contains("try later"));
        assert!(remedy(Errno(5)).contains("another place"));
    }
}
