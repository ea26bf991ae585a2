//! Checks that a simulated path settles at the prediction and varies as much as requested.

use halfpower_model::{DiskPath, Moment, Operation, PathModel, Submission, throughput};
use halfpower_spec::{Bytes, SimulatedDisk};

const WARM_UP: usize = 1000;

fn disk(constants: &str) -> SimulatedDisk {
    SimulatedDisk::from_constants(constants).unwrap()
}

/// Keeps `depth` requests in flight and returns the moments at which they leave.
fn drive(path: &mut impl PathModel, bs: Bytes, depth: u32, requests: usize) -> Vec<Moment> {
    let request = |token| Submission { token, operation: Operation::Read, offset: 0, length: bs.0 as u32 };
    (0..depth).for_each(|token| path.submit(Moment::default(), request(token)));
    let mut left = Vec::with_capacity(requests);
    while left.len() < requests {
        let completed = path.pop().unwrap();
        left.push(completed.at);
        path.submit(completed.at, request(completed.token));
    }
    left
}

/// Bytes a second between the first and the last of `left`.
fn rate(left: &[Moment], bs: Bytes) -> f64 {
    let span_ps = left[left.len() - 1].ps() - left[0].ps();
    (left.len() - 1) as f64 * bs.0 as f64 * 1e12 / span_ps as f64
}

/// Mean, relative standard deviation and lag-1 autocorrelation.
fn moments(values: &[f64]) -> (f64, f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let lagged = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / count;
    (mean, variance.sqrt() / mean, lagged / variance)
}

#[test]
fn a_driven_path_settles_at_the_predicted_throughput() {
    for limits in ["", ",shared=1200MB/s", ",iops=20000", ",shared=300MB/s,iops=30000"] {
        for disks in [1, 2, 4, 7] {
            let disk = disk(&format!("fixed=80us,rate=500MB/s,disks={disks}{limits}"));
            for bs in [512, 4096, 65536, 1 << 20].map(Bytes) {
                for depth in [1, 2, 3, 4, 8, 32] {
                    let left = drive(&mut DiskPath::new(&disk, 1), bs, depth, 5 * WARM_UP);
                    let ratio = rate(&left[WARM_UP..], bs) / throughput(&disk, bs, depth).0;
                    assert!((ratio - 1.0).abs() < 0.005, "{disk}, {bs}, depth {depth}: {ratio}");
                }
            }
        }
    }
}

#[test]
fn noise_is_one_factor_on_the_speed_of_a_run() {
    // The disk paces depth 1 and the limiter depth 8: all of them must vary.
    for (depth, limit) in [(1, "shared=150MB/s"), (8, "shared=150MB/s"), (8, "iops=35000")] {
        let noisy = disk(&format!("fixed=80us,rate=500MB/s,disks=4,{limit},noise=5%"));
        let ratio = |run_seed| {
            let left = drive(&mut DiskPath::new(&noisy, run_seed), Bytes(4096), depth, 100 * depth as usize);
            let settled = &left[20 * depth as usize..];
            rate(settled, Bytes(4096)) / throughput(&noisy, Bytes(4096), depth).0
        };
        let ratios: Vec<f64> = (0..4000).map(ratio).collect();
        let (mean, spread, lagged) = moments(&ratios);
        let margin = 4.0 / (ratios.len() as f64).sqrt();
        assert!((mean - 1.0).abs() < 0.05 * margin, "depth {depth}: mean {mean}");
        assert!((spread / 0.05 - 1.0).abs() < margin, "depth {depth}: spread {spread}");
        assert!(lagged.abs() < margin, "depth {depth}: runs with neighbouring seeds are alike, {lagged}");
    }
}

#[test]
fn noise_is_the_same_for_all_requests_of_a_run() {
    let noisy = disk("fixed=80us,rate=500MB/s,noise=20%");
    let left = drive(&mut DiskPath::new(&noisy, 3), Bytes(4096), 1, 100);
    assert_ne!(left[0].nanos().0, 88_192);
    assert!(left.windows(2).all(|pair| pair[1].ps() - pair[0].ps() == left[0].ps()));
}

#[test]
fn jitter_and_its_correlation_are_seen_in_the_latencies() {
    let jittery = disk("fixed=80us,rate=500MB/s,jitter=10%,correlation=0.8");
    let left = drive(&mut DiskPath::new(&jittery, 1), Bytes(4096), 1, 400_000);
    let latencies: Vec<f64> = left.windows(2).map(|pair| (pair[1].ps() - pair[0].ps()) as f64 / 88_192e3).collect();
    let (mean, spread, lagged) = moments(&latencies);
    assert!((mean - 1.0).abs() < 0.002, "mean {mean}");
    assert!((spread - 0.1).abs() < 0.002, "spread {spread}");
    assert!((lagged - 0.8).abs() < 0.01, "correlation {lagged}");
}

#[test]
fn seeds_decide_everything() {
    let constants = "fixed=80us,rate=500MB/s,disks=4,shared=900MB/s,noise=3%,jitter=20%,correlation=0.5";
    let left = |disk_seed, run_seed| {
        let disk = disk(&format!("{constants},seed={disk_seed}"));
        drive(&mut DiskPath::new(&disk, run_seed), Bytes(16384), 8, 1000)
    };
    assert_eq!(left(1, 1), left(1, 1));
    assert_ne!(left(1, 1), left(1, 2));
    assert_ne!(left(1, 1), left(2, 1));
}
