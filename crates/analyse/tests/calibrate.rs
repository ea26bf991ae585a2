//! Checks that a calibration returns the constants behind the records, and predicts cells that it was not fitted to.

use crate::built::{disk, question, study};
use halfpower_analyse::{
    CalibrateError, Calibration, Ceilings, CellFinding, Findings, Interval, MeasuredCeilings, NotFitted, Remark,
    Unfittable, analyse, calibrate, check,
};
use halfpower_model::PathConstants;
use halfpower_record::Environment;
use halfpower_spec::{Bytes, Cache, Direction, Pattern, Question};

const SPAN: Bytes = Bytes(1 << 30);
const SEQUENTIAL_READS: (Pattern, Cache, Direction) = (Pattern::Sequential, Cache::Device, Direction::Read);

fn findings(constants: &str, question: &Question) -> Findings {
    analyse(question, &Environment::default(), &study(&disk(constants), question), &MeasuredCeilings::default())
}

fn passage(calibration: &Calibration) -> PathConstants {
    *calibration.fitted.passage(Pattern::Sequential, Cache::Device, Direction::Read).unwrap()
}

#[track_caller]
fn near(what: &str, found: f64, truth: f64, share: f64) {
    assert!((found / truth - 1.0).abs() <= share, "{what}: {found} instead of {truth}");
}

/// Constants of paths, and whether the cells show the number in parallel, the ceiling in bytes and the one in requests.
const SYSTEMS: [(&str, bool, bool, bool); 7] = [
    ("fixed=80us,rate=500MB/s", true, false, false),
    ("fixed=80us,rate=500MB/s,disks=4", true, false, false),
    ("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s", true, true, false),
    ("fixed=80us,rate=500MB/s,shared=300MB/s", true, true, false),
    ("fixed=8ms,rate=150MB/s", true, false, false),
    ("fixed=200us,rate=400MB/s,disks=16,iops=20000", true, false, true),
    ("fixed=300us,rate=400MB/s,disks=8,shared=600MB/s,iops=8000", false, true, true),
];

/// Every other cell, with the halves of `check`.
fn half(findings: &Findings, question: &Question, colour: usize) -> Findings {
    let mut half = findings.clone();
    let rank = |cell: &halfpower_analyse::CellFinding| {
        let size = question.bs.iter().position(|bs| bs.0 == cell.bs_bytes).unwrap();
        let depth = question.iodepth.iter().position(|depth| *depth == cell.iodepth).unwrap();
        (size + depth) % 2
    };
    half.cells.retain(|cell| rank(cell) == colour);
    half
}

#[test]
fn half_of_the_cells_give_the_constants_and_predict_the_others() {
    for (constants, side_by_side, bytes, requests) in SYSTEMS {
        let truth = disk(constants);
        let question = question();
        let all = findings(constants, &question);
        for colour in [0, 1] {
            let calibration =
                calibrate(&half(&all, &question, colour), &MeasuredCeilings::default(), SPAN, Ceilings::Device)
                    .unwrap();
            let found = passage(&calibration);
            near("fixed", found.fixed_us, truth.fixed.0 as f64 / 1e3, 0.02);
            near("a KiB", found.us_per_kib, 1024.0 / truth.rate.mbps(), 0.02);
            near("charged", found.charged_us, 5.0 * 0.75, 0.02);
            near("charged a KiB", found.charged_us_per_kib, 0.05 * 0.75, 0.02);
            assert_eq!(found.wait_us, 0.0);
            near("unseen", found.unseen_us, 5.0 * 0.25, 0.02);
            if side_by_side {
                near("side by side", found.side_by_side.unwrap(), f64::from(truth.disks), 0.02);
            }
            assert_eq!(found.ceiling_mbps.is_some(), bytes, "{constants}: {found:?}");
            assert_eq!(found.ceiling_iops.is_some(), requests, "{constants}: {found:?}");
            bytes.then(|| near("ceiling", found.ceiling_mbps.unwrap(), truth.shared.unwrap().mbps(), 0.02));
            requests.then(|| near("requests", found.ceiling_iops.unwrap(), truth.iops.unwrap(), 0.02));
        }
        let held_out = check(&all).unwrap();
        assert_eq!(held_out.cells, all.cells.len(), "{constants}");
        assert!(held_out.half_within < 0.02 && held_out.most_within < 0.05, "{constants}: {held_out:?}");
    }
}

#[test]
fn noise_and_a_few_spoilt_cells_bend_little() {
    let question = question();
    let mut all = findings("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s,noise=8%", &question);
    // Others used the disk during all runs of every seventh cell.
    all.cells.iter_mut().step_by(7).for_each(|cell| spoil(cell, usize::MAX, 2.0));
    let found = passage(&calibrate(&all, &MeasuredCeilings::default(), SPAN, Ceilings::Device).unwrap());
    near("fixed", found.fixed_us, 80.0, 0.1);
    near("ceiling", found.ceiling_mbps.unwrap(), 1200.0, 0.1);
    let held_out = check(&all).unwrap();
    assert!(held_out.half_within < 0.1, "{held_out:?}");
    assert!(held_out.runs_apart.unwrap() > 0.03, "{held_out:?}");
}

/// Makes the first of a cell's runs slower by a factor.
fn spoil(cell: &mut CellFinding, runs: usize, factor: f64) {
    cell.run_mbps.iter_mut().take(runs).for_each(|mbps| *mbps /= factor);
    cell.mbps = Interval::of_means(&cell.run_mbps);
}

#[test]
fn a_run_that_stalled_in_every_cell_bends_nothing() {
    let question = question();
    let constants = "fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s";
    let mut all = findings(constants, &question);
    assert!(all.cells.iter().all(|cell| cell.run_mbps.len() > 2));
    all.cells.iter_mut().for_each(|cell| spoil(cell, 1, 30.0));
    let found = passage(&calibrate(&all, &MeasuredCeilings::default(), SPAN, Ceilings::Device).unwrap());
    near("fixed", found.fixed_us, 80.0, 0.02);
    near("ceiling", found.ceiling_mbps.unwrap(), 1200.0, 0.02);
    let held_out = check(&all).unwrap();
    assert!(held_out.most_within < 0.05, "{held_out:?}");
}

#[test]
fn one_device_predicts_four_behind_what_they_share() {
    // One device reaches the shared limit only with its largest requests; four devices reach it with most sizes.
    let one = "fixed=200us,rate=400MB/s,shared=300MB/s";
    let four = "fixed=200us,rate=400MB/s,shared=300MB/s,disks=4";
    let question = Question { iodepth: vec![1, 2, 4], ..question() };
    let calibration =
        calibrate(&findings(one, &question), &MeasuredCeilings::default(), SPAN, Ceilings::Shared).unwrap();
    near("shared", calibration.fitted.shared.read_mbps.unwrap(), 300.0, 0.02);
    assert_eq!(passage(&calibration).ceiling_mbps, None);
    let truth = disk(four);
    for bs in &question.bs {
        let expected = halfpower_model::throughput(&truth, *bs, 4).mbps();
        let found = calibration.fitted.throughput(SEQUENTIAL_READS, *bs, 1, 4).unwrap().mbps();
        near(&format!("four at {bs}"), found, expected, 0.02);
    }
    // Taken as the device's own, the same ceiling grows with the devices.
    let own = calibrate(&findings(one, &question), &MeasuredCeilings::default(), SPAN, Ceilings::Device).unwrap();
    assert_eq!(own.fitted.shared.read_mbps, None);
    let found = own.fitted.throughput(SEQUENTIAL_READS, Bytes(1 << 20), 1, 4).unwrap().mbps();
    near("four with a ceiling each", found, 1200.0, 0.02);
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let question = question();
    let all = findings("fixed=80us,rate=500MB/s,disks=64", &question);
    let calibration = calibrate(&all, &MeasuredCeilings::default(), SPAN, Ceilings::Device).unwrap();
    // A depth of 32 never filled 64: only the deepest measured depth is promised.
    assert_eq!(passage(&calibration).side_by_side, Some(32.0));
    let is_depth = |one: &NotFitted| matches!(one, NotFitted::SideBySide { paths } if paths.len() == 1);
    assert!(calibration.not_fitted.iter().any(is_depth), "{:?}", calibration.not_fitted);
    let remark = &calibration.remarks["path.sequential-direct-read.side_by_side"];
    assert_eq!(*remark, Remark::SideBySide { cells: None });
    let constants = calibration.paths[0].constants;
    assert_eq!((constants.ceiling_mbps, constants.ceiling_iops), (None, None));

    let one_size = Question { bs: vec![Bytes(4096)], ..question.clone() };
    let said = calibrate(&findings("", &one_size), &MeasuredCeilings::default(), SPAN, Ceilings::Device).unwrap_err();
    let why = Unfittable::OneSize { bs_bytes: 4096 };
    assert!(
        matches!(&said, CalibrateError::TooLittle(all) if matches!(all[0], NotFitted::Path { why: found, .. } if found == why)),
        "{said:?}"
    );
    let mut none = all.clone();
    none.cells.clear();
    assert_eq!(
        calibrate(&none, &MeasuredCeilings::default(), SPAN, Ceilings::Device).unwrap_err(),
        CalibrateError::NoWalks
    );
    assert_eq!(check(&none).unwrap_err(), CalibrateError::NoWalks);
    let mut few = all;
    few.cells.truncate(4);
    assert_eq!(check(&few).unwrap_err(), CalibrateError::HalvesTooSmall);
}
