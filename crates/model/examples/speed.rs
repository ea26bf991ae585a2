//! How many requests a second can be simulated on this machine? Prints a line for each kind of path.
//!
//! `cargo run --release -p halfpower-model --example speed`

use std::time::Instant;

use model::{DiskPath, Moment, Operation, Path, Submission};
use spec::{ParseError, SimulatedDisk};

const REQUESTS: u32 = 10_000_000;

fn main() -> Result<(), ParseError> {
    let paths = [
        ("one disk", "fixed=80us,rate=500MB/s"),
        ("eight disks behind a limiter", "fixed=80us,rate=500MB/s,disks=8,shared=1200MB/s"),
        ("the same with jitter", "fixed=80us,rate=500MB/s,disks=8,shared=1200MB/s,jitter=10%,correlation=0.5"),
    ];
    for (name, constants) in paths {
        let disk = SimulatedDisk::from_constants(constants)?;
        for depth in [1, 32] {
            let mut path: Box<dyn Path> = Box::new(DiskPath::new(&disk, 1));
            let began = Instant::now();
            drive(path.as_mut(), depth);
            let millions = f64::from(REQUESTS) / began.elapsed().as_secs_f64() / 1e6;
            println!("{name}, depth {depth}: {millions:.1} M requests/s");
        }
    }
    Ok(())
}

/// Keeps `depth` requests of 4 KiB in flight until all have been taken.
fn drive(path: &mut dyn Path, depth: u32) {
    let request = |token| Submission { token, operation: Operation::Read, offset: 0, length: 4096 };
    (0..depth).for_each(|token| path.submit(Moment::default(), request(token)));
    for _ in 0..REQUESTS {
        if let Some(completed) = path.pop() {
            path.submit(completed.at, request(completed.token));
        }
    }
}
