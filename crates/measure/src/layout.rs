//! Our own file: written whole before anything of it is read, so that no unwritten extent is measured.

use std::sync::atomic::{AtomicBool, Ordering};

use os::{DataFile, Mode};
use spec::{Bytes, Direction, EngineName, Nanos, Pattern, Rw, Workload};

use crate::MeasureError;
use crate::offsets::Offsets;
use crate::real::Wanted;
use crate::window::{Terms, Window};

/// Bytes of a request while laying out; the file is a multiple of it.
pub(crate) const BLOCK_BYTES: u64 = 1 << 20;
/// Smallest file that is laid out: the deepest large requests of a study fit into it twice.
pub(crate) const LEAST_BYTES: u64 = 64 << 20;
/// Requests in flight while laying out.
const DEPTH: u32 = 8;

/// Writes `bytes` of `data`, or fewer where that would take longer than `limit`; gives what was written.
///
/// # Errors
/// Where there is no room, a write fails, or `stop` was set.
pub(crate) fn lay_out(
    data: &DataFile,
    bytes: u64,
    direct: bool,
    wanted: &Wanted,
    limit: Nanos,
    stop: &AtomicBool,
) -> Result<u64, MeasureError> {
    data.allocate(bytes)?;
    // The least is written whatever it takes; the limit is for the rest.
    let mut written = 0;
    for (end, limit) in [(LEAST_BYTES.min(bytes), Nanos(u64::MAX / 2)), (bytes, limit)] {
        if written < end {
            written += write_range(data, written..end, direct, wanted, limit, stop)?;
        }
    }
    Ok(written)
}

fn write_range(
    data: &DataFile,
    range: std::ops::Range<u64>,
    direct: bool,
    wanted: &Wanted,
    runtime: Nanos,
    stop: &AtomicBool,
) -> Result<u64, MeasureError> {
    let file = data.reopen(Mode { direct, durable: false, write: true })?;
    let workload = Workload {
        rw: Rw::of(Pattern::Sequential, Direction::Write),
        bs: Bytes(BLOCK_BYTES),
        iodepth: DEPTH,
        ..Workload::default()
    };
    let mut opened = engine::open(Some(file), EngineName::Auto, DEPTH, workload.bs, wanted.seed)?;
    let offsets = Offsets::new(&workload, &range, true, wanted.seed);
    let terms = Terms { runtime, flush: true };
    let tally = Window::new(opened.engine.as_mut(), offsets, DEPTH, terms, stop).run()?;
    if stop.load(Ordering::Relaxed) {
        return Err(MeasureError::Interrupted);
    }
    if let Some((errno, count)) = tally.errors.first() {
        let what =
            format!("{count} writes failed with {} while its file was laid out: name another place", errno.name());
        return Err(MeasureError::Target { path: data.path().to_path_buf(), what });
    }
    Ok(tally.bytes)
}
