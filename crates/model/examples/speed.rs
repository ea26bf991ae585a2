//! Prints how many requests a second this machine can simulate on each kind of path.
//!
//! `cargo run --release -p halfpower-model --example speed`

use std::time::Instant;

use halfpower_model::{DiskPath, Moment, Operation, PathModel, Setting, Submission, System, SystemError, systems};
use halfpower_spec::SimulatedDisk;

const REQUESTS: u32 = 10_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths = [
        ("one disk", "fixed=80us,rate=500MB/s"),
        ("eight disks behind a limiter", "fixed=80us,rate=500MB/s,disks=8,shared=1200MB/s"),
        ("the same with jitter", "fixed=80us,rate=500MB/s,disks=8,shared=1200MB/s,jitter=10%,correlation=0.5"),
    ];
    for (name, constants) in paths {
        let disk = SimulatedDisk::from_constants(constants)?;
        for depth in [1, 32] {
            time(name, depth, Box::new(DiskPath::new(&disk, 1)));
        }
    }
    for name in ["win2k-atlas10k", "win2k-3ware5400", "nt4-ultrawide"] {
        for (kind, buffered) in [("", false), (", buffered", true)] {
            for depth in [1, 32] {
                time(&format!("{name}{kind}"), depth, stack(name, buffered)?);
            }
        }
    }
    Ok(())
}

fn stack(name: &str, buffered: bool) -> Result<Box<dyn PathModel>, SystemError> {
    let text = systems().iter().find(|system| system.name == name).map_or("", |system| system.text);
    let setting = Setting { buffered, ..Setting::default() };
    Ok(Box::new(System::from_toml(text)?.path(&setting, 1)?))
}

fn time(name: &str, depth: u32, mut path: Box<dyn PathModel>) {
    let began = Instant::now();
    drive(path.as_mut(), depth);
    let millions = f64::from(REQUESTS) / began.elapsed().as_secs_f64() / 1e6;
    println!("{name}, depth {depth}: {millions:.1} M requests/s");
}

/// Keeps `depth` sequential requests of 4 KiB in flight until all have completed.
fn drive(path: &mut dyn PathModel, depth: u32) {
    let mut next = 0;
    let mut request = |token| {
        next = (next + 4096) % (1 << 30);
        Submission { token, operation: Operation::Read, offset: next, length: 4096 }
    };
    for token in 0..depth {
        path.submit(Moment::default(), request(token));
    }
    for _ in 0..REQUESTS {
        if let Some(completed) = path.pop() {
            path.submit(completed.at, request(completed.token));
        }
    }
}
