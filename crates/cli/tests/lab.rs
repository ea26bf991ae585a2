//! Does a study of a real device return what the device was given? Loop devices behind the kernel's own throttle,
//! with a known byte rate, a known I/O rate, and both.
//!
//! Needs root, loop devices and the blkio controller (either version of control groups); says aloud what is missing.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

const MIB: u64 = 1 << 20;
/// How far the rates that a study returns may be from those that the device was given.
const TOLERANCE: f64 = 0.02;
const BLOCK_SIZES: [u64; 7] = [4096, 8192, 16384, 32768, 65536, 262_144, 1_048_576];

/// A loop device over a file of random bytes.
struct Loop {
    device: PathBuf,
    _folder: tempfile::TempDir,
}

impl Loop {
    fn new(bytes: u64) -> Result<Self, String> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = folder.path().join("disk");
        let mut written = fs::File::create(&file).unwrap();
        std::io::copy(&mut fs::File::open("/dev/urandom").unwrap().take(bytes), &mut written).unwrap();
        written.sync_all().unwrap();
        let output = Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(&file).output();
        let output = output.map_err(|error| format!("losetup: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
        }
        Ok(Self { device: String::from_utf8(output.stdout).unwrap().trim().into(), _folder: folder })
    }

    /// Its number, MAJOR:MINOR.
    fn number(&self) -> String {
        let name = self.device.file_name().unwrap();
        fs::read_to_string(Path::new("/sys/block").join(name).join("dev")).unwrap().trim().to_string()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

/// A control group that throttles reads.
struct Throttle {
    group: PathBuf,
}

impl Throttle {
    fn new(name: &str, number: &str, bps: Option<u64>, iops: Option<u64>) -> Result<Self, String> {
        let group = format!("halfpower-lab-{}-{name}", std::process::id());
        let version_1 = Path::new("/sys/fs/cgroup/blkio");
        let (root, files): (&Path, Vec<(&str, String)>) = if version_1.is_dir() {
            let bps = bps.map(|bps| ("blkio.throttle.read_bps_device", format!("{number} {bps}")));
            let iops = iops.map(|iops| ("blkio.throttle.read_iops_device", format!("{number} {iops}")));
            (version_1, [bps, iops].into_iter().flatten().collect())
        } else {
            let limit = |limit: Option<u64>| limit.map_or("max".to_string(), |limit| limit.to_string());
            let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+io");
            let line = format!("{number} rbps={} riops={}", limit(bps), limit(iops));
            (Path::new("/sys/fs/cgroup"), vec![("io.max", line)])
        };
        let throttle = Self { group: root.join(group) };
        fs::create_dir(&throttle.group).map_err(|error| format!("{}: {error}", throttle.group.display()))?;
        for (file, line) in files {
            fs::write(throttle.group.join(file), line).map_err(|error| format!("{file}: {error}"))?;
        }
        Ok(throttle)
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}

/// A throttled device, and a study of it that is under way.
struct Case {
    bps: Option<u64>,
    iops: Option<u64>,
    throttle: Throttle,
    device: Loop,
    folder: tempfile::TempDir,
}

impl Case {
    fn new(name: &str, bps: Option<u64>, iops: Option<u64>) -> Result<Self, String> {
        let device = Loop::new(64 * MIB)?;
        let throttle = Throttle::new(name, &device.number(), bps, iops)?;
        Ok(Self { bps, iops, throttle, device, folder: tempfile::tempdir().unwrap() })
    }

    fn start(&self) -> std::process::Child {
        let sizes: Vec<String> = BLOCK_SIZES.iter().map(u64::to_string).collect();
        let words = "study \"$2\" --json --experiments random --rw read --cache device --iodepth 16,32 --bs";
        Command::new("sh")
            .arg("-c")
            .arg(format!(
                "echo $$ > \"$1/cgroup.procs\" && exec \"$0\" {words} {} --runtime 3s --budget 150s",
                sizes.join(",")
            ))
            .arg(env!("CARGO_BIN_EXE_halfpower"))
            .arg(&self.throttle.group)
            .arg(&self.device.device)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Throughput of a block size under both limits, in bytes a second.
    fn rate(&self, bs: u64) -> f64 {
        let by_bytes = self.bps.map_or(f64::INFINITY, |bps| bps as f64);
        by_bytes.min(self.iops.map_or(f64::INFINITY, |iops| (iops * bs) as f64))
    }

    fn check(&self, findings: &Value) {
        let limits = &findings["limits"][0];
        for cell in findings["cells"].as_array().unwrap() {
            let (iodepth, bs, mbps) = (&cell["iodepth"], &cell["bs_bytes"], &cell["mbps"]["value"]);
            println!("{iodepth:>3} deep, {bs:>8} bytes: {mbps} MB/s in {} runs", cell["runs"]);
        }
        let close = |key: &str, expected: f64| {
            let found = limits[key]["value"].as_f64().unwrap_or_else(|| panic!("no {key} was seen: {limits}"));
            println!("{key}: given {expected:.2}, found {found:.2}, {:+.2}%", (found / expected - 1.0) * 100.0);
            assert!((found / expected - 1.0).abs() <= TOLERANCE, "{key}: {found}, given {expected}");
        };
        self.bps.iter().for_each(|bps| close("ceiling_mbps", *bps as f64 / 1e6));
        self.iops.iter().for_each(|iops| close("ceiling_iops", *iops as f64));
        let peak = BLOCK_SIZES.iter().map(|bs| self.rate(*bs)).fold(0.0, f64::max);
        let half = BLOCK_SIZES.iter().find(|bs| self.rate(**bs) >= peak / 2.0).unwrap();
        for curve in findings["curves"].as_array().unwrap() {
            println!("{} deep: half power computed {half}, found {}", curve["iodepth"], curve["half_power_bs_bytes"]);
            assert_eq!(curve["half_power_bs_bytes"], *half);
        }
        let level = findings["bottleneck"]["level"].as_str().unwrap();
        assert!(level.contains("cgroup"), "the narrowest level is {level}");
    }
}

fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}

#[test]
fn the_rates_and_the_half_power_size_of_throttled_devices_are_found() {
    // Half of the peak lies at BPS / (2 x IOPS) where both limits hold: 20,971 bytes.
    let wanted =
        [("bytes", Some(40 * MIB), None), ("requests", None, Some(1_000)), ("both", Some(40 * MIB), Some(1_000))];
    let cases: Result<Vec<Case>, String> =
        wanted.into_iter().map(|(name, bps, iops)| Case::new(name, bps, iops)).collect();
    let cases = match cases {
        Ok(cases) => cases,
        Err(why) => return skip(&format!("no throttled loop devices here (root is needed): {why}")),
    };
    // Side by side: the limits are far below what the disk beneath can do.
    let studies: Vec<_> = cases.iter().map(Case::start).collect();
    let outputs: Vec<_> = studies.into_iter().map(|study| study.wait_with_output().unwrap()).collect();
    for (case, output) in cases.iter().zip(outputs) {
        assert!(output.status.success());
        case.check(&serde_json::from_slice(&output.stdout).unwrap());
    }
}
