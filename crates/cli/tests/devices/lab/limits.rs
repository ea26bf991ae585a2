//! Studies devices with known limits on bytes, on requests, and on both, and compares the findings with these.

use std::path::Path;

use halfpower_lab::Figure;
use serde_json::Value;

use super::{Case, judge_all, right};
use crate::throttled::{Begun, Limit, Loop, MIB, Throttle};

/// Largest relative error of a study's rates against the device's limits.
const TOLERANCE: f64 = 0.02;
/// Block sizes up to the largest that is always one request of the device; 1 MiB of scattered pages would be three.
const BLOCK_SIZES: [u64; 6] = [4096, 8192, 16384, 32768, 65536, 262_144];

/// A throttled device, and a running study of it.
struct Device {
    name: &'static str,
    /// The limited direction: reads or writes.
    rw: &'static str,
    bps: Option<u64>,
    iops: Option<u64>,
    throttle: Throttle,
    device: Loop,
    folder: tempfile::TempDir,
}

impl Device {
    fn new(name: &'static str, rw: &'static str, bps: Option<u64>, iops: Option<u64>) -> Result<Self, String> {
        let device = Loop::new(64 * MIB)?;
        let limit = match rw {
            "read" => Limit::of_reads(&device, bps, iops),
            _ => Limit { device: &device, bps: None, iops: None, write_bps: bps, write_iops: iops },
        };
        let throttle = Throttle::new(name, &[limit])?;
        Ok(Self { name, rw, bps, iops, throttle, device, folder: tempfile::tempdir().unwrap() })
    }

    /// Throughput of a block size under both limits, in bytes a second.
    fn rate(&self, bs: u64) -> f64 {
        let by_bytes = self.bps.map_or(f64::INFINITY, |bps| bps as f64);
        by_bytes.min(self.iops.map_or(f64::INFINITY, |iops| (iops * bs) as f64))
    }
}

impl Case for Device {
    fn begin(&self) -> Begun {
        let sizes: Vec<String> = BLOCK_SIZES.iter().map(u64::to_string).collect();
        // losetup of another test may open the device meanwhile.
        let rw = if self.rw == "read" { "read" } else { "write --overwrite --force-in-use" };
        let words = "--experiments random --cache device --iodepth 16,32 --runtime 2s --budget 100s --bs";
        let target = self.device.device.to_str().unwrap();
        self.throttle.begin(self.folder.path(), target, &format!("--rw {rw} {words} {}", sizes.join(",")))
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The judged figures: ceilings, half power, and the name of the narrowest level.
    fn figures(&self) -> Vec<Figure> {
        let ceilings = [(self.bps.map(|bps| bps as f64 / 1e6), "MB/s"), (self.iops.map(|iops| iops as f64), "IOPS")];
        let near = |(given, unit): (Option<f64>, &'static str)| {
            Some(Figure::near(format!("limit of {}: ceiling", self.name), given?, unit, TOLERANCE))
        };
        let sayings = ["block size of half power", "narrowest level"];
        let sayings = sayings.map(|what| Figure::saying(format!("limit of {}: {what}", self.name)));
        ceilings.into_iter().filter_map(near).chain(sayings).collect()
    }

    /// The same figures, as the study found them.
    fn found(&self, findings: &Value) -> Vec<f64> {
        println!("{}: {}s, {:?} bytes and {:?} requests a second", self.name, self.rw, self.bps, self.iops);
        for cell in findings["cells"].as_array().unwrap() {
            let iodepth = &cell["iodepth"];
            let bs = &cell["bs_bytes"];
            let mbps = &cell["mbps"]["value"];
            println!("{iodepth:>3} deep, {bs:>8} bytes: {mbps} MB/s in {} runs", cell["runs"]);
        }
        let limits = &findings["limits"][0];
        let ceiling = |key: &str| limits[key]["value"].as_f64().unwrap_or(0.0);
        let ceilings = [(self.bps.is_some(), "ceiling_mbps"), (self.iops.is_some(), "ceiling_iops")];
        let mut found: Vec<f64> = ceilings.iter().filter(|(is, _)| *is).map(|(_, key)| ceiling(key)).collect();
        let peak = BLOCK_SIZES.iter().map(|bs| self.rate(*bs)).fold(0.0, f64::max);
        let half = BLOCK_SIZES.iter().find(|bs| self.rate(**bs) >= peak / 2.0).unwrap();
        // Durable writes are only measured at the peak.
        let curves = findings["curves"].as_array().unwrap().iter().filter(|curve| curve["cache"] == "device");
        let halves: Vec<&Value> = curves.map(|curve| &curve["half_power_bs_bytes"]).collect();
        let level = findings["bottleneck"]["level"].as_str().unwrap();
        println!("half power computed {half}, found {halves:?}; the narrowest level is {level}");
        found.push(right(!halves.is_empty() && halves.iter().all(|found| **found == *half)));
        found.push(right(level.contains("cgroup")));
        found
    }
}

#[test]
#[ignore = "lab: minutes on throttled devices"]
fn the_rates_and_the_half_power_size_of_throttled_devices_are_found() {
    // With both limits, half power is at BPS / (2 x IOPS) = 20,971 bytes.
    let wanted = [
        ("bytes", "read", Some(40 * MIB), None),
        ("requests", "read", None, Some(1_000)),
        ("both", "read", Some(40 * MIB), Some(1_000)),
        ("writes", "write", Some(40 * MIB), Some(1_000)),
    ];
    judge_all(wanted.into_iter().map(|(name, rw, bps, iops)| Device::new(name, rw, bps, iops)).collect());
}
