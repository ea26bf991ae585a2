//! Checks that `scaling` finds where a shared path becomes the limit: devices on parts of one device, each behind its
//! own limit, and all behind the limit of the underlying device.

use std::path::Path;

use halfpower_lab::Figure;
use serde_json::Value;

use super::{Case, judge_all, right};
use crate::throttled::{Begun, Limit, Loop, MIB, Throttle};

/// Bytes of each device.
const PART: u64 = 64 * MIB;

/// Devices behind one shared limit, and a running study of them.
struct Device {
    name: &'static str,
    /// Limit of each device and of all together, in bytes a second.
    each: u64,
    shared: u64,
    throttle: Throttle,
    devices: Vec<Loop>,
    _beneath: Loop,
    folder: tempfile::TempDir,
}

impl Device {
    fn new(name: &'static str, members: u64, each: u64, shared: u64) -> Result<Self, String> {
        let beneath = Loop::new(members * PART)?;
        let devices: Result<Vec<Loop>, String> =
            (0..members).map(|member| Loop::part(&beneath, member * PART, PART)).collect();
        let devices = devices?;
        let limit = |device, bps| Limit::of_reads(device, Some(bps), None);
        let mut limits: Vec<Limit> = devices.iter().map(|device| limit(device, each)).collect();
        limits.push(limit(&beneath, shared));
        let throttle = Throttle::new(name, &limits)?;
        Ok(Self { name, each, shared, throttle, devices, _beneath: beneath, folder: tempfile::tempdir().unwrap() })
    }
}

impl Case for Device {
    fn begin(&self) -> Begun {
        let names: Vec<String> = self.devices.iter().map(|device| device.device.display().to_string()).collect();
        let words = "--experiments scaling --rw read --cache device --runtime 1s --repeats 5 --budget 100s";
        self.throttle.begin(self.folder.path(), &format!("each:{}", names.join(",")), words)
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn figures(&self) -> Vec<Figure> {
        let sayings = ["what limits each number of devices", "where the shared path takes over"];
        sayings.map(|what| Figure::saying(format!("{} devices: {what}", self.name))).to_vec()
    }

    /// Whether the study names the right limit for each number of devices, and where the limit changes.
    fn found(&self, findings: &Value) -> Vec<f64> {
        let section = &findings["experiments"][0];
        let answer = section["answer"].as_str().unwrap();
        println!("{answer}");
        let still_scale = self.shared / self.each;
        let rows: Vec<&Value> =
            findings["scaling"].as_array().unwrap().iter().filter(|row| row["volume_layout"] == "each").collect();
        // One row per number of members and pattern.
        let mut are_named = rows.len() == 2 * self.devices.len();
        for row in rows {
            let n = row["n"].as_u64().unwrap();
            let given = (n * self.each).min(self.shared) as f64 / 1e6;
            let found = row["mbps"].as_f64().unwrap();
            println!(
                "{n} {}: given {given:.1}, found {found:.1} MB/s, {:+.1}%, {:.3} of ideal: {}",
                row["pattern"],
                (found / given - 1.0) * 100.0,
                row["of_ideal"].as_f64().unwrap(),
                row["limited_by"]
            );
            are_named &= row["limited_by"] == if n <= still_scale { "device" } else { "shared" };
        }
        let says = format!("{still_scale} members still scale");
        let stops = format!("a shared path stops number {}", still_scale + 1);
        vec![right(are_named), right(answer.contains(&says) && answer.contains(&stops))]
    }
}

/// The same devices, judged by the rates of each number of them, in windows that the study chooses.
struct Rates(Device);

/// Largest relative error of these rates.
const OF_RATES: f64 = 0.015;

impl Rates {
    /// What so many devices give together, in MB/s.
    fn given(&self, members: u64) -> f64 {
        (members * self.0.each).min(self.0.shared) as f64 / 1e6
    }

    fn members(&self) -> impl Iterator<Item = u64> {
        1..=self.0.devices.len() as u64
    }
}

impl Case for Rates {
    fn begin(&self) -> Begun {
        let names: Vec<String> = self.0.devices.iter().map(|device| device.device.display().to_string()).collect();
        let words = "--experiments scaling --rw read --cache device --budget 60s";
        self.0.throttle.begin(self.folder(), &format!("each:{}", names.join(",")), words)
    }

    fn folder(&self) -> &Path {
        self.0.folder()
    }

    fn figures(&self) -> Vec<Figure> {
        let near = |members| {
            let name = format!("scaling behind slices, {} devices: {members} together", self.0.name);
            Figure::near(name, self.given(members), "MB/s", OF_RATES)
        };
        self.members().map(near).collect()
    }

    fn found(&self, findings: &Value) -> Vec<f64> {
        let rows = findings["scaling"].as_array().unwrap();
        let of = |members: u64| {
            let is_it =
                |row: &&Value| row["n"] == members && row["volume_layout"] == "each" && row["pattern"] == "sequential";
            rows.iter().find(is_it).and_then(|row| row["mbps"].as_f64()).unwrap_or(f64::NAN)
        };
        self.members().map(of).collect()
    }
}

#[test]
#[ignore = "lab: minutes on throttled devices"]
fn members_behind_slices_give_what_the_limits_let_through() {
    let device = Device::new("slices", 4, 31_000_000, 76_000_000);
    judge_all(device.map(|device| vec![Rates(device)]));
}

#[test]
#[ignore = "lab: minutes on throttled devices"]
fn the_device_at_which_a_shared_limit_takes_over_is_found() {
    // The figures of 2000: three disks of 25 MB/s scale, and a path of 87 MB/s limits the fourth; and another case.
    let wanted = [("four", 4, 25 * MIB, 87 * MIB), ("three", 3, 20 * MIB, 46 * MIB)];
    judge_all(
        wanted.into_iter().map(|(name, members, each, shared)| Device::new(name, members, each, shared)).collect(),
    );
}
