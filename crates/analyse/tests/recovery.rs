//! Checks that the analysis returns the constants of the system behind the records.

use crate::built::{disk, normal, question, study};
use halfpower_analyse::{Bound, Findings, Interval, Limits, MeasuredCeilings, analyse};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Bytes, Cache, Direction, Experiment, Pass, Pattern, Question, SimulatedDisk};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn findings(constants: &str, question: &Question) -> (SimulatedDisk, Findings) {
    let disk = disk(constants);
    let records = study(&disk, question);
    let findings = analyse(question, &Environment::default(), &records, &MeasuredCeilings::default());
    (disk, findings)
}

#[track_caller]
fn near(what: &str, found: f64, truth: f64, share: f64) {
    assert!((found / truth - 1.0).abs() <= share, "{what}: {found} instead of {truth}");
}

#[track_caller]
fn found(what: &str, interval: Option<Interval>, truth: f64, share: f64) {
    let interval = interval.unwrap_or_else(|| panic!("{what} was not found"));
    near(what, interval.value, truth, share);
}

/// Disks alone and behind limits: constants, and whether a ceiling in bytes and one in requests must be found.
const SYSTEMS: [(&str, bool, bool); 9] = [
    ("fixed=80us,rate=500MB/s", false, false),
    ("fixed=80us,rate=500MB/s,disks=4", false, false),
    ("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s", true, false),
    ("fixed=80us,rate=500MB/s,disks=8,shared=700MB/s", true, false),
    ("fixed=80us,rate=500MB/s,shared=300MB/s", true, false),
    ("fixed=8ms,rate=150MB/s", false, false),
    ("fixed=10us,rate=3GB/s,disks=32,shared=7GB/s", true, false),
    ("fixed=200us,rate=400MB/s,disks=16,iops=20000", false, true),
    ("fixed=300us,rate=400MB/s,disks=8,shared=600MB/s,iops=8000", true, true),
];

#[test]
fn limits_are_the_constants_of_the_disk() {
    for (constants, bytes, requests) in SYSTEMS {
        let (disk, findings) = findings(constants, &question());
        let limits: &Limits = &findings.limits[0];
        found("fixed", limits.fixed_us, disk.fixed.0 as f64 / 1e3, 0.002);
        found("stream", limits.stream_mbps, disk.rate.mbps(), 0.002);
        assert_eq!(limits.ceiling_mbps.is_some(), bytes, "{constants}: {limits:?}");
        assert_eq!(limits.ceiling_iops.is_some(), requests, "{constants}: {limits:?}");
        if bytes {
            found("ceiling", limits.ceiling_mbps, disk.shared.unwrap().mbps(), 0.002);
        }
        if requests {
            found("requests", limits.ceiling_iops, disk.iops.unwrap(), 0.002);
        }
        let single = disk.shared.is_none() && disk.iops.is_none() && disk.disks < 32;
        if single {
            near("parallelism", limits.parallelism.unwrap(), f64::from(disk.disks), 0.01);
        }
    }
}

#[test]
fn half_power_sizes_are_exactly_those_computed() {
    for (constants, ..) in SYSTEMS {
        let question = question();
        let (disk, findings) = findings(constants, &question);
        assert_eq!(findings.curves.len(), question.iodepth.len());
        for curve in &findings.curves {
            let (_, peak) = halfpower_model::peak(&disk, &question.bs, curve.iodepth).unwrap();
            near("peak", curve.peak_mbps, peak.mbps(), 1e-6);
            let half = halfpower_model::half_power_bs(&disk, &question.bs, curve.iodepth).unwrap();
            assert_eq!(Bytes(curve.half_power_bs_bytes), half, "{constants}, {} deep", curve.iodepth);
            assert_eq!(curve.half_power_bracketed, half > question.bs[0]);
            assert!(curve.half_power_holds, "{constants}, {} deep", curve.iodepth);
            // If a ceiling leaves fewer than two sizes, n1/2 cannot be determined.
            if let Some(n_half) = curve.n_half_bytes {
                near("n half", n_half, halfpower_model::n_half_bytes(&disk), 0.005);
            }
        }
        let alone = findings.curves.iter().find(|curve| curve.iodepth == 1).unwrap();
        assert!(alone.n_half_bytes.is_some() && alone.n_half_low_bytes.is_some(), "{constants}");
    }
}

/// One slow run of large blocks: half power no longer holds for all larger sizes.
#[test]
fn half_power_holds_where_no_larger_block_gives_less() {
    let question = question();
    let mut records = study(&disk("fixed=80us,rate=500MB/s"), &question);
    let analysed =
        |records: &[Record]| analyse(&question, &Environment::default(), records, &MeasuredCeilings::default());
    let reported = |found: &Findings| found.summary.what_to_set.half_power.len();
    let before = analysed(&records);
    let largest = question.bs.iter().max().unwrap().0;
    let slow = |record: &&mut Record| record.run.workload.bs.0 == largest / 2 && record.run.workload.iodepth == 1;
    records.iter_mut().filter(slow).for_each(|record| record.elapsed_ns *= 4);
    let after = analysed(&records);
    for curve in &after.curves {
        assert_eq!(curve.half_power_holds, curve.iodepth != 1, "{curve:?}");
    }
    assert_eq!(
        (reported(&before), reported(&after)),
        (1, 0),
        "the first screen tells it of depth 1 alone, then of none"
    );
}

#[test]
fn both_limits_alone_leave_their_crossing() {
    // A throttled volume: every depth is at one of the two limits.
    let (disk, findings) = findings("fixed=1us,rate=100GB/s,disks=64,shared=120MB/s,iops=3000", &question());
    let limits = &findings.limits[0];
    found("ceiling", limits.ceiling_mbps, 120.0, 0.002);
    found("requests", limits.ceiling_iops, 3000.0, 0.002);
    assert_eq!((limits.fixed_us, limits.stream_mbps), (None, None));
    let half = halfpower_model::half_power_bs(&disk, &question().bs, 8).unwrap();
    assert!(findings.curves.iter().all(|curve| Bytes(curve.half_power_bs_bytes) == half));
    assert!(findings.curves.iter().all(|curve| curve.n_half_bytes.is_none()));
}

/// The same, with one cell measured only twice and a stall in one of the runs.
#[test]
fn a_cell_whose_own_runs_disagree_hides_no_limit() {
    let disk = disk("fixed=1us,rate=100GB/s,disks=64,shared=42MB/s,iops=1000");
    let kib = |sizes: &[u64]| sizes.iter().map(|kib| Bytes(kib * 1024)).collect();
    let question = Question { bs: kib(&[4, 16, 32, 64, 256, 1024]), iodepth: vec![16, 32], ..question() };
    let stalled = |record: &Record| record.run.workload.bs == Bytes(16_384) && record.run.workload.iodepth == 16;
    let limits = |stall: &dyn Fn(u32) -> f64| {
        let mut records = study(&disk, &question);
        records.retain(|record| !stalled(record) || (record.run.repeat < 2 && record.run.pass == Pass::Plain));
        records.iter_mut().filter(|record| stalled(record)).for_each(|record| {
            record.elapsed_ns = (record.elapsed_ns as f64 / stall(record.run.repeat)) as u64;
        });
        analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default()).limits[0].clone()
    };
    let once = limits(&|repeat| if repeat == 1 { 0.92 } else { 1.0 });
    found("ceiling", once.ceiling_mbps, 42.0, 0.002);
    found("requests", once.ceiling_iops, 1000.0, 0.002);
    assert_eq!(limits(&|_| 0.96).ceiling_iops, None, "both its runs say that there is none");
}

/// One size alone reaches the limit of bytes, at two depths. A throttle that lets bytes through in slices gives the
/// deeper one more slices in some windows: its mean is 5% high, and its runs disagree as much.
#[test]
fn a_ceiling_stands_on_a_cell_whose_runs_disagree() {
    let disk = disk("fixed=1us,rate=100GB/s,disks=64,shared=42MB/s,iops=1000");
    let kib = |sizes: &[u64]| sizes.iter().map(|kib| Bytes(kib * 1024)).collect();
    let question = Question { bs: kib(&[4, 8, 12, 16, 20, 24, 28, 32, 256]), iodepth: vec![16, 32], ..question() };
    let mut records = study(&disk, &question);
    for record in &mut records {
        let workload = record.run.workload;
        if workload.bs == Bytes(262_144) && workload.iodepth == 32 && record.run.repeat % 2 == 1 {
            record.elapsed_ns = (record.elapsed_ns as f64 / 1.15) as u64;
        }
    }
    let limits = &analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default()).limits[0];
    found("ceiling", limits.ceiling_mbps, 42.0, 0.002);
    found("requests", limits.ceiling_iops, 1000.0, 0.002);
}

#[test]
fn both_bounds_of_cost_come_back() {
    let constants = "cpu_fixed=7us,cpu_per_kib=90ns,unseen=30%";
    let (_, findings) = findings(constants, &question());
    let of = |bound| findings.cost.iter().find(|cost| cost.bound == bound).unwrap();
    let charged = of(Bound::Charged);
    let soaker = of(Bound::Soaker);
    for (cost, share) in [(charged, 0.7), (soaker, 1.0)] {
        near("fixed", cost.fixed_us.value, 7.0 * share, 0.001);
        near("marginal", cost.marginal_us_per_kib.value, 0.09 * share, 0.001);
        let small_us = (7.0 + 0.09 * 4.0) * share;
        near("saturation", cost.core_saturates_mbps[0], 4096.0 / small_us, 0.001);
        near("saturation in requests", cost.core_saturates_iops, 1e6 / small_us, 0.001);
        near("ms per MB", cost.ms_per_mb[0], small_us * 1e3 / 4096.0, 0.001);
    }
    assert_eq!((charged.pattern, charged.rw, charged.cache), (Pattern::Sequential, Direction::Read, Cache::Device));
    assert_eq!((charged.iodepth, charged.cells), (None, 54));
}

/// Random reads as a study measures them: every cell with requests in flight when the window closed, the soaker beside
/// three sizes at 32 deep; `charge` and `soaker` disturb each run, the soaker by a share of its time.
fn billed(charge: &mut dyn FnMut() -> f64, soaker: &mut dyn FnMut() -> f64) -> Findings {
    let question = Question { experiments: vec![Experiment::Random], ..question() };
    let disk = disk("fixed=80us,rate=500MB/s,noise=3%,cpu_fixed=5us,cpu_per_kib=50ns,unseen=25%");
    let mut records = study(&disk, &question);
    records.retain(|record| {
        let workload = record.run.workload;
        let soaked = workload.iodepth == 32 && [4, 64, 1024].contains(&(workload.bs.0 >> 10));
        record.run.pass == Pass::Plain || soaked
    });
    for record in &mut records {
        let ios = record.cpu.ios;
        let drained = u64::from(record.run.workload.iodepth);
        let paid = (ios + drained) as f64 / ios as f64;
        record.cpu.ios += drained;
        let charge = charge() * paid;
        let cpu = &mut record.cpu;
        [&mut cpu.user_ns, &mut cpu.system_ns].into_iter().for_each(|ns| *ns = (*ns as f64 * charge) as u64);
        let stray_ns = soaker() * cpu.span_ns as f64;
        let lost = |ns: u64| (ns as f64 * paid + stray_ns).max(0.0) as u64;
        cpu.soaker.iter_mut().for_each(|soaker| soaker.lost_ns = lost(soaker.lost_ns));
    }
    analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default())
}

#[test]
fn both_bounds_come_back_from_all_cells_and_from_three() {
    let findings = billed(&mut || 1.0, &mut || 0.0);
    for (cost, share, cells) in [(&findings.cost[0], 0.75, 54), (&findings.cost[1], 1.0, 3)] {
        assert_eq!((cost.pattern, cost.iodepth, cost.cells), (Pattern::Random, None, cells));
        near("fixed", cost.fixed_us.value, 5.0 * share, 0.002);
        near("marginal", cost.marginal_us_per_kib.value, 0.05 * share, 0.002);
    }
}

/// 3% of noise in the charge of each run, 0.5% of the time in what the soaker lost: 40 studies.
#[test]
fn noise_leaves_the_bounds_where_they_are_and_in_order() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut other = Xoshiro256PlusPlus::seed_from_u64(6);
    let mut covered = [0; 2];
    for _ in 0..40 {
        let findings = billed(&mut || 1.0 + 0.03 * normal(&mut random), &mut || 0.005 * normal(&mut other));
        let [charged, soaker] = &findings.cost[..] else { panic!("{:?}", findings.cost) };
        near("charged fixed", charged.fixed_us.value, 3.75, 0.03);
        near("charged marginal", charged.marginal_us_per_kib.value, 0.0375, 0.03);
        for (count, interval, truth) in [(0, soaker.fixed_us, 5.0), (1, soaker.marginal_us_per_kib, 0.05)] {
            covered[count] += u32::from(interval.low <= truth && truth <= interval.high);
        }
        assert!((0..2).all(|end| soaker.ms_per_mb[end] >= charged.ms_per_mb[end]));
    }
    // 95% of 40 is 38; below 34 is less likely than one in a hundred.
    assert!(covered.iter().all(|count| *count >= 34), "covered {covered:?} of 40");
}

#[test]
fn where_depth_changes_the_cost_one_depth_stands_for_the_path() {
    let question = question();
    let mut records = study(&disk("cpu_fixed=12us"), &question);
    for record in &mut records {
        // Batches: the requests of a depth share the cost of a submission.
        let depth = u64::from(record.run.workload.iodepth);
        record.cpu.user_ns /= depth;
        record.cpu.system_ns /= depth;
    }
    let findings = analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default());
    assert_eq!((findings.cost[0].pattern, findings.cost[0].iodepth), (Pattern::Sequential, Some(32)));
    assert_eq!(findings.cost[0].cells, 9);
    near("fixed", findings.cost[0].fixed_us.value, 12.0 * 0.75 / 32.0, 0.01);
}

/// 3% between runs, three runs a cell, 40 seeds: the constants stay close and the intervals cover the truth.
#[test]
fn noise_from_run_to_run_does_not_bend_the_constants() {
    let question = question();
    let seeds = 40;
    let mut covered = [0; 3];
    let mut ceilings = 0;
    let mut worst = [0.0f64; 3];
    for seed in 1..=seeds {
        let constants = format!("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s,noise=3%,seed={seed}");
        let (_, findings) = findings(&constants, &question);
        let limits = &findings.limits[0];
        ceilings += i32::from(limits.ceiling_mbps.is_some());
        let truths = [(limits.fixed_us, 80.0), (limits.stream_mbps, 500.0), (limits.ceiling_mbps, 1200.0)];
        for (place, (interval, truth)) in truths.into_iter().enumerate() {
            let Some(interval) = interval else { continue };
            covered[place] += i32::from(interval.low <= truth && truth <= interval.high);
            worst[place] = worst[place].max((interval.value / truth - 1.0).abs());
        }
    }
    assert_eq!(ceilings, seeds);
    assert!(worst[0] < 0.04 && worst[1] < 0.04 && worst[2] < 0.02, "worst errors {worst:?}");
    // 95% of 40 is 38; below 34 is less likely than one in a hundred.
    assert!(covered.iter().all(|count| *count >= 34), "covered {covered:?} of {seeds}");
}

#[test]
fn a_coarse_grid_is_enough() {
    let question = Question {
        bs: [4, 32, 128, 256, 1024].map(|kib| Bytes(kib << 10)).to_vec(),
        iodepth: vec![1, 8, 32],
        ..question()
    };
    for (constants, bytes, _) in SYSTEMS.into_iter().filter(|system| !system.2) {
        let (disk, findings) = findings(constants, &question);
        let limits = &findings.limits[0];
        found("fixed", limits.fixed_us, disk.fixed.0 as f64 / 1e3, 0.002);
        found("stream", limits.stream_mbps, disk.rate.mbps(), 0.002);
        if bytes {
            found("ceiling", limits.ceiling_mbps, disk.shared.unwrap().mbps(), 0.02);
        }
    }
}

/// The same noise on systems with at most one ceiling: no further one is found.
#[test]
fn noise_from_run_to_run_invents_no_ceiling() {
    let question = question();
    let mut invented = Vec::new();
    for system in ["disks=1", "disks=4", "disks=64", "fixed=8ms,rate=150MB/s", "disks=4,shared=1200MB/s"] {
        for seed in 1..=20 {
            let (disk, findings) = findings(&format!("{system},noise=3%,seed={seed}"), &question);
            let limits = &findings.limits[0];
            if limits.ceiling_iops.is_some() || (limits.ceiling_mbps.is_some() && disk.shared.is_none()) {
                invented.push((system, seed, limits.ceiling_mbps, limits.ceiling_iops));
            }
        }
    }
    assert!(invented.len() <= 2, "{} of 100: {invented:#?}", invented.len());
}
