//! Is a steady disk called steady, and an unsteady one not? Runs of simulated disks as short as a study makes them.

mod built;

use analyse::{Steadiness, judge};
use built::{disk, run, workload};
use spec::{Cache, Rw};

/// Settings of a run: constants of the disk, block size in KiB, depth, window in milliseconds.
type Setting = (&'static str, u64, u32, u64);

/// From a request a millisecond to hundreds a step, from one to 32 in flight.
const SETTINGS: [Setting; 7] = [
    ("fixed=80us,rate=1GB/s", 1024, 1, 150),
    ("fixed=80us,rate=1GB/s", 1024, 1, 500),
    ("fixed=80us,rate=1GB/s,disks=4", 1024, 32, 150),
    ("fixed=80us,rate=500MB/s", 4, 1, 150),
    ("fixed=80us,rate=500MB/s,disks=32", 16, 32, 300),
    ("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s", 256, 8, 300),
    ("fixed=8ms,rate=150MB/s", 4, 8, 5_000),
];

fn judged(setting: Setting, noise: &str, seed: u64, speed: &dyn Fn(f64) -> f64) -> Steadiness {
    let (constants, bs_kib, depth, ms) = setting;
    let disk = disk(&format!("{constants},{noise}"));
    let run = run(&disk, workload(Rw::Read, Cache::Device, bs_kib, depth), ms * 1_000_000, seed, speed);
    judge(&run.series)
}

fn share(runs: u64, mut is: impl FnMut(u64) -> bool) -> f64 {
    (1..=runs).filter(|seed| is(*seed)).count() as f64 / runs as f64
}

/// Called not steady, of so many runs of each setting at this jitter.
fn alarms(noise: &str, runs: u64) -> Vec<f64> {
    SETTINGS.iter().map(|setting| share(runs, |seed| !judged(*setting, noise, seed, &|_| 1.0).steady)).collect()
}

#[test]
#[ignore = "a table of many runs, for docs/method.md"]
fn table() {
    for jitter in ["jitter=0", "jitter=10%", "jitter=30%"] {
        for correlation in ["0", "0.5", "0.8"] {
            let noise = format!("{jitter},correlation={correlation}");
            let caught = |speed: &dyn Fn(f64) -> f64| -> Vec<f64> {
                let not_steady = |setting: &Setting| {
                    share(100, |seed| {
                        let found = judged(*setting, &noise, seed, speed);
                        !found.steady || found.burst.is_some()
                    })
                };
                SETTINGS.iter().map(not_steady).collect()
            };
            println!("{noise}\n  steady  {:?}", alarms(&noise, 400));
            println!("  halves  {:?}", caught(&|at| if at < 0.5 { 1.0 } else { 0.5 }));
            println!("  ramp    {:?}", caught(&|at| 0.85 + 0.3 * at));
            println!("  burst   {:?}", caught(&|at| if at < 0.3 { 2.0 } else { 1.0 }));
        }
    }
}
