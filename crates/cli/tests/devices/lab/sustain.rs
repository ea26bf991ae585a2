//! Compares what `sustain` says of a device whose writes become slow after some bytes with where and how they did.

use std::thread::sleep;
use std::time::{Duration, Instant};

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use crate::throttled::{Begun, Limit, Loop, MIB, Throttle, skip};

/// Rates of writes in bytes a second, at first and after that many bytes.
const FAST: u64 = 20_000_000;
const SLOW: u64 = 5_000_000;
const GIVEN_FAST: u64 = 40_000_000;
/// Bytes of the device.
const SIZE: u64 = 64 * MIB;
/// Largest relative error of the rate, and of the place: 30 parts of the first run's bytes are told apart.
const TOLERANCE: f64 = 0.03;
const PLACE_TOLERANCE: f64 = 0.15;
/// Time without writes after which the rest before the first run has begun.
const QUIET: Duration = Duration::from_secs(2);

/// A device that takes writes fast at first, and slowly after that.
struct Filling {
    throttle: Throttle,
    device: Loop,
    folder: tempfile::TempDir,
    /// Bytes written at the last look, when that changed, and when the writes of the first run began.
    written: u64,
    changed: Instant,
    before: Option<u64>,
    /// Bytes of the first run at which its writes became slow.
    given: Option<u64>,
}

impl Filling {
    fn new() -> Result<Self, String> {
        let device = Loop::new(SIZE)?;
        let throttle = Throttle::new("filling", &[Limit::of_writes(&device, Some(FAST))])?;
        let folder = tempfile::tempdir().unwrap();
        let written = device.bytes_written();
        Ok(Self { throttle, device, folder, written, changed: Instant::now(), before: None, given: None })
    }

    fn begin_study(&self) -> Begun {
        let target = self.device.device.to_str().unwrap();
        // In huge pages 1 MiB is one request of the device. In others it is two, and the kernel counts its bytes twice.
        let words = "--experiments sustain --sustain-bytes 256m --rw write --overwrite --cache device --iomem huge --budget 60s";
        self.throttle.begin(self.folder.path(), target, words)
    }

    /// Lowers the limit once the first run has written enough after its rest.
    fn watch(&mut self) {
        let written = self.device.bytes_written();
        if written == self.written {
            if self.changed.elapsed() >= QUIET {
                self.before = Some(written);
            }
            return;
        }
        self.written = written;
        self.changed = Instant::now();
        let moved = self.before.map_or(0, |before| written - before);
        if moved >= GIVEN_FAST {
            self.throttle.set(&Limit::of_writes(&self.device, Some(SLOW))).unwrap();
            self.given = Some(moved);
        }
    }
}

#[test]
#[ignore = "lab: minutes on a throttled device"]
fn a_planted_cliff_is_found_where_it_was_planted() {
    let figures = vec![
        Figure::near("a planted cliff at 40 MB: found over given", 1.0, "", PLACE_TOLERANCE),
        Figure::near("a planted cliff at 40 MB: the rate after it", SLOW as f64 / 1e6, "MB/s", TOLERANCE),
    ];
    judge("devices", figures, || {
        let mut device = match Filling::new() {
            Ok(device) => device,
            Err(why) => {
                skip(&format!("no throttled loop devices here (root is needed): {why}"));
                return None;
            }
        };
        let study = device.begin_study();
        let patience = Instant::now() + Duration::from_secs(60);
        while device.given.is_none() && Instant::now() < patience {
            device.watch();
            sleep(Duration::from_millis(2));
        }
        let findings: Value = study.findings();
        println!("{}", findings["experiments"][0]["answer"]);
        let found = &findings["experiments"][0]["found"];
        let place = found["fast"]["bytes"]["value"].as_f64().unwrap_or(0.0);
        let given = device.given.expect("the first run wrote less than its fast part") as f64;
        Some(vec![place / given, found["mbps"]["value"].as_f64().unwrap_or(0.0)])
    });
}
