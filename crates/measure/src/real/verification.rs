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
    // A file may end in less than the unit of direct I/O.
    let is_direct = reached.members.direct_unit().is_some_and(|unit| span.is_multiple_of(unit.0));
    let mode = layout::mode(is_direct);
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
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use halfpower_engine::Errno;
    use halfpower_spec::{Bytes, Pass, Rw, Several, VolumeLayout, Workload, WorkloadOptions};

    use super::*;
    use crate::real::members::Members;
    use crate::real::options::RealTargetOptions;
    use crate::real::run_volume::VolumeMembers;

    const SPAN_BYTES: u64 = 8 << 20;
    const SEED: u64 = 1;

    /// A mirror of two files.
    fn mirror(folder: &Path) -> ([PathBuf; 2], Members) {
        let paths = ["a", "b"].map(|name| folder.join(name));
        paths.iter().for_each(|path| fs::write(path, vec![0; SPAN_BYTES as usize]).unwrap());
        let wanted = RealTargetOptions { writes: true, overwrite: true, seed: SEED, ..RealTargetOptions::default() };
        let several =
            Several { volume_layout: VolumeLayout::Mirror, members: paths.to_vec(), chunk: Several::USUAL_CHUNK };
        let members = Members::open(&paths, VolumeMembers::of(&several), &wanted).unwrap().0;
        (paths, members)
    }

    fn wrong(members: &Members, ledgers: &Ledgers) -> BTreeMap<String, u64> {
        let volume = members.run_volume(&WorkloadOptions::default()).unwrap();
        let reached = Reached {
            members,
            layer: None,
            scratch: None,
            own_files: &[],
            ledgers: Some(ledgers),
            volume,
            seed: SEED,
            payload: None,
            by_workers: false,
        };
        let options = WorkloadOptions { verify: true, ..WorkloadOptions::default() };
        let cache = halfpower_spec::Cache::Both;
        let workload = Workload { rw: Rw::Randwrite, bs: Bytes(1 << 20), cache, options, ..Workload::default() };
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(1), seed: SEED };
        read_back_run(reached, &run, &AtomicBool::new(false)).unwrap()
    }

    fn laid_out(members: &Members) -> Ledgers {
        let volume = members.run_volume(&WorkloadOptions::default()).unwrap();
        lay_out(
            Reached {
                members,
                layer: None,
                scratch: None,
                own_files: &[],
                ledgers: None,
                volume,
                seed: SEED,
                payload: None,
                by_workers: false,
            },
            &AtomicBool::new(false),
        )
        .unwrap()
    }

    #[test]
    fn a_second_layout_does_not_trust_the_first_under_the_same_seed() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let ([first, _], members) = mirror(folder.path());
        laid_out(&members);
        let before = fs::read(&first).unwrap();
        let ledgers = laid_out(&members);
        assert_eq!(wrong(&members, &ledgers), BTreeMap::new());
        let again = laid_out(&members);
        // On one copy, all writes of the last layout are lost.
        fs::write(&first, before).unwrap();
        let lost = Errno::LOST.name().into_owned();
        assert_eq!(wrong(&members, &again), BTreeMap::from([(lost, SPAN_BYTES >> 20)]));
    }

    #[test]
    fn both_copies_are_read_back_whole_though_the_run_wrote_little() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let ([_, second], members) = mirror(folder.path());
        let ledgers = laid_out(&members);
        let mut bytes = fs::read(&second).unwrap();
        bytes[5 << 20] ^= 1;
        fs::write(&second, bytes).unwrap();
        let corrupt = Errno::CORRUPT.name().into_owned();
        assert_eq!(wrong(&members, &ledgers), BTreeMap::from([(corrupt, 1)]), "no run wrote that block");
    }
}
