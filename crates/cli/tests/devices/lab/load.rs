//! Compares the most load under a latency that studies of throttled devices find with the limits of these devices.

use std::path::Path;

use halfpower_lab::Figure;
use serde_json::Value;

use super::{Case, judge_all, right};
use crate::throttled::{Begun, Limit, Loop, MIB, Throttle};

/// The bound on the 99th percentile. The throttle counts over slices of a tenth of a second, and a request that finds its
/// slice full waits for the next one: with a bound of one slice, the queue and not the slice decides.
const BOUND: &str = "100ms";
/// Found over the limit. Requests at random need some of the rate as reserve: 2.3% of it where a hundred requests fit into
/// the bound and 3.6% where it is sixty-four, by a queue of one server (M/D/1). The search knows the knee within 5%, and
/// a window sees a few percent more or fewer requests than were asked for. Nothing passes above the limit.
const SHARE: std::ops::RangeInclusive<f64> = 0.88..=1.01;
/// A rate above this multiple of the limit is surely not below the bound.
const ABOVE: f64 = 1.02;

/// A throttled device, and a running study of it.
struct Device {
    name: &'static str,
    /// The limited direction, in the words of a study.
    rw: &'static str,
    bs: u64,
    /// Requests of this size a second that the limit lets through.
    limit: f64,
    throttle: Throttle,
    device: Loop,
    folder: tempfile::TempDir,
}

impl Device {
    fn new(name: &'static str, rw: &'static str, bs: u64, bps: Option<u64>, iops: Option<u64>) -> Result<Self, String> {
        let device = Loop::new(64 * MIB)?;
        let limit = match rw {
            "read" => Limit::of_reads(&device, bps, iops),
            _ => Limit { device: &device, bps: None, iops: None, write_bps: bps, write_iops: iops },
        };
        let throttle = Throttle::new(&format!("load-{}", name.replace(' ', "-")), &[limit])?;
        let by_bytes = bps.map_or(f64::INFINITY, |bps| bps as f64 / bs as f64);
        let limit = by_bytes.min(iops.map_or(f64::INFINITY, |iops| iops as f64));
        Ok(Self { name, rw, bs, limit, throttle, device, folder: tempfile::tempdir().unwrap() })
    }

    fn figure(&self, what: &str) -> String {
        format!("most load, limit of {}: {what}", self.name)
    }
}

impl Case for Device {
    fn begin(&self) -> Begun {
        // losetup of another test may open the device meanwhile.
        let rw = if self.rw == "read" { "read" } else { "write --overwrite --force-in-use" };
        let words = format!("--experiments load --p99 {BOUND} --rw {rw} --bs {} --budget 100s", self.bs);
        self.throttle.begin(self.folder.path(), self.device.device.to_str().unwrap(), &words)
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure::between(self.figure(&format!("p99 below {BOUND} up to")), self.limit, "a second", SHARE),
            Figure::saying(self.figure("what is surely below the bound is below the limit")),
        ]
    }

    fn found(&self, findings: &Value) -> Vec<f64> {
        println!("{}: {}", self.name, findings["most_load"]["text"]);
        let most = &findings["most_load"]["found"][0];
        let iops = |end: &str| most["iops"][end].as_f64().unwrap_or(f64::NAN);
        // Where no rate is surely below the bound, nothing was said.
        let low = iops("low");
        vec![iops("value"), if low.is_nan() { f64::NAN } else { right(low <= ABOVE * self.limit) }]
    }
}

#[test]
#[ignore = "lab: minutes on throttled devices"]
fn the_most_load_of_throttled_devices_is_near_their_limits() {
    let wanted = [
        ("1,000 reads a second", "read", 4 << 10, None, Some(1_000)),
        ("1,000 writes a second", "write", 4 << 10, None, Some(1_000)),
        ("40 MiB a second", "read", 64 << 10, Some(40 * MIB), None),
    ];
    judge_all(wanted.into_iter().map(|(name, rw, bs, bps, iops)| Device::new(name, rw, bs, bps, iops)).collect());
}
