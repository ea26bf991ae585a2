//! Verifies what a target holds: lays out blocks with ledgers, and reads back what a run has written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use halfpower_spec::{Nanos, Run};

use super::lanes::Reached;
use super::layout;
use super::ledgers::Ledgers;
use crate::MeasureError;
use crate::read_back::read_back;

/// Writes verifiable blocks over the whole span of `reached` and returns their ledgers; ignores the ledgers in
/// `reached`.
///
/// # Errors
/// If a write fails, or `stop` was set.
pub(super) fn lay_out(reached: Reached<'_>, stop: &AtomicBool) -> Result<Ledgers, MeasureError> {
    let span = reached.span_bytes();
    let ledgers = Ledgers::new(reached.volume, span);
    let mode = layout::mode(reached.members.direct_unit().is_some());
    let settings = layout::settings(reached.seed, reached.members.budget);
    let entered = Reached { ledgers: Some(&ledgers), ..reached };
    for lane in 0..reached.volume.lanes().len() {
        let open = || {
            let volume = entered.volume_of(lane, reached.volume.address_map(), mode)?;
            Ok(halfpower_engine::open_volume(volume, settings)?)
        };
        let no_limit = Nanos(u64::MAX / 2);
        layout::lay_out(&reached.members.path(), span, settings, no_limit, stop, open)?;
    }
    // With a single copy, the run's own reads verify what was laid out. Reads of a mirror see only one copy, so both
    // copies are read back with the run.
    if reached.volume.copies().len() == 1 {
        ledgers.each.iter().for_each(|ledger| ledger.was_read_back(0..span));
    }
    Ok(ledgers)
}

/// Reads back what `run` has written, from every copy; returns the number of bad blocks, by kind of error.
///
/// # Errors
/// If an engine cannot go on, or `stop` was set.
pub(super) fn read_back_run(
    reached: Reached<'_>,
    run: &Run,
    stop: &AtomicBool,
) -> Result<BTreeMap<String, u64>, MeasureError> {
    let Range { start, end } = run.workload.options.reached(reached.span_bytes());
    let blocks = (start, run.workload.bs.0 as u32, end);
    let mut wrong = BTreeMap::new();
    for (lane, ledger) in reached.ledgers.iter().flat_map(|ledgers| ledgers.each.iter().enumerate()) {
        for address_map in reached.volume.copies() {
            let mut opened = reached.open_lane(&run.workload, (lane, run.seed), address_map)?;
            let depth = opened.most_in_flight;
            for (kind, count) in read_back(opened.engine.as_mut(), ledger, blocks, depth, stop)? {
                *wrong.entry(kind).or_default() += count;
            }
        }
        ledger.was_read_back(start..end);
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests;
