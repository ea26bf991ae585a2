//! Creates the lab's devices: loop devices over files of random bytes, and control groups that throttle them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub const MIB: u64 = 1 << 20;
/// Folder of the controller in version 1 of control groups.
const VERSION_1: &str = "/sys/fs/cgroup/blkio";

/// A loop device.
pub struct Loop {
    pub device: PathBuf,
    /// Folder of its file, if it has its own.
    _folder: Option<TempDir>,
}

impl Loop {
    /// Creates one over a file of `bytes` random bytes.
    pub fn new(bytes: u64) -> Result<Self, String> {
        Self::within(Path::new(env!("CARGO_TARGET_TMPDIR")), bytes)
    }

    /// Creates one over a file in this folder.
    pub fn within(folder: &Path, bytes: u64) -> Result<Self, String> {
        let folder = tempfile::tempdir_in(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let file = folder.path().join("disk");
        let mut written = fs::File::create(&file).unwrap();
        std::io::copy(&mut fs::File::open("/dev/urandom").unwrap().take(bytes), &mut written).unwrap();
        written.sync_all().unwrap();
        Self::over(&file, &[], Some(folder))
    }

    /// Creates one over a part of another.
    pub fn part(of: &Self, from: u64, bytes: u64) -> Result<Self, String> {
        Self::over(&of.device, &[format!("--offset={from}"), format!("--sizelimit={bytes}")], None)
    }

    /// Creates one over a file, with further flags for losetup; the folder is removed with it.
    pub fn over(file: &Path, flags: &[String], folder: Option<TempDir>) -> Result<Self, String> {
        let mut losetup = Command::new("losetup");
        losetup.args(["--find", "--show", "--direct-io=on"]).args(flags).arg(file);
        let output = losetup.output().map_err(|error| format!("losetup: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
        }
        Ok(Self { device: String::from_utf8(output.stdout).unwrap().trim().into(), _folder: folder })
    }

    /// Its kernel name.
    pub fn name(&self) -> &str {
        self.device.file_name().unwrap().to_str().unwrap()
    }

    /// A file of its folder in sysfs.
    pub fn setting(&self, file: &str) -> String {
        fs::read_to_string(Path::new("/sys/block").join(self.name()).join(file)).unwrap().trim().to_string()
    }

    /// Bytes read from it so far.
    pub fn bytes_read(&self) -> u64 {
        512 * self.counter(2)
    }

    /// Bytes written to it so far.
    pub fn bytes_written(&self) -> u64 {
        512 * self.counter(6)
    }

    /// A counter of the kernel, by its place in the device's `stat`.
    fn counter(&self, place: usize) -> u64 {
        let stat = Path::new("/sys/block").join(self.device.file_name().unwrap()).join("stat");
        let stat = fs::read_to_string(stat).unwrap();
        stat.split_whitespace().nth(place).unwrap().parse().unwrap()
    }

    /// Its device number, MAJOR:MINOR.
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
pub struct Throttle {
    pub group: PathBuf,
}

/// A running study, which ends with this value.
pub struct Begun(Option<Child>);

/// Limits of a device in the group, in bytes and in requests a second.
pub struct Limit<'a> {
    pub device: &'a Loop,
    pub bps: Option<u64>,
    pub iops: Option<u64>,
    pub write_bps: Option<u64>,
    pub write_iops: Option<u64>,
}

impl Throttle {
    pub fn new(name: &str, limits: &[Limit]) -> Result<Self, String> {
        let version_1 = Path::new(VERSION_1);
        let is_version_1 = version_1.is_dir();
        let root = if is_version_1 { version_1 } else { Path::new("/sys/fs/cgroup") };
        if !is_version_1 {
            let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+io");
        }
        let throttle = Self { group: root.join(format!("halfpower-lab-{}-{name}", std::process::id())) };
        fs::create_dir(&throttle.group).map_err(|error| format!("{}: {error}", throttle.group.display()))?;
        limits.iter().try_for_each(|limit| throttle.set(limit))?;
        Ok(throttle)
    }

    /// Sets a limit.
    pub fn set(&self, limit: &Limit) -> Result<(), String> {
        let is_version_1 = Path::new(VERSION_1).is_dir();
        let lines = if is_version_1 { limit.of_version_1() } else { vec![limit.of_version_2()] };
        let write = |(file, line)| fs::write(self.group.join(file), line).map_err(|error| format!("{file}: {error}"));
        lines.into_iter().try_for_each(write)
    }

    /// Begins a study in the group. Several may run in parallel, because the limits are far below the disk's own rate.
    pub fn begin(&self, folder: &Path, target: &str, words: &str) -> Begun {
        let study = Command::new("sh")
            .arg("-c")
            .arg(format!("{} \"$0\" study \"$1\" --json {words}", self.within()))
            .args([halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")), target])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        Begun(Some(study.unwrap()))
    }

    /// A shell command that runs the command after it in the group.
    pub fn within(&self) -> String {
        format!("echo $$ > '{}/cgroup.procs' && exec", self.group.display())
    }
}

impl Begun {
    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.0.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// Waits for its end, and returns its findings.
    pub fn findings(mut self) -> Value {
        let output = self.0.take().expect("it was not waited for").wait_with_output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Begun {
    /// Where another study of the test has failed, this one would go on, and hold its control group.
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl<'a> Limit<'a> {
    /// A limit on reads only.
    pub fn of_reads(device: &'a Loop, bps: Option<u64>, iops: Option<u64>) -> Self {
        Self { device, bps, iops, write_bps: None, write_iops: None }
    }

    /// A limit on writes only.
    pub fn of_writes(device: &'a Loop, bps: Option<u64>) -> Self {
        Self { device, bps: None, iops: None, write_bps: bps, write_iops: None }
    }

    fn of_version_1(&self) -> Vec<(&'static str, String)> {
        let number = self.device.number();
        let files = [
            ("blkio.throttle.read_bps_device", self.bps),
            ("blkio.throttle.read_iops_device", self.iops),
            ("blkio.throttle.write_bps_device", self.write_bps),
            ("blkio.throttle.write_iops_device", self.write_iops),
        ];
        files.into_iter().filter_map(|(file, most)| Some((file, format!("{number} {}", most?)))).collect()
    }

    fn of_version_2(&self) -> (&'static str, String) {
        let limit = |limit: Option<u64>| limit.map_or("max".to_string(), |limit| limit.to_string());
        let limits = [self.bps, self.iops, self.write_bps, self.write_iops].map(limit);
        let [rbps, riops, wbps, wiops] = limits;
        let number = self.device.number();
        ("io.max", format!("{number} rbps={rbps} riops={riops} wbps={wbps} wiops={wiops}"))
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}

/// Prints that a test is skipped; fails if tests must not be skipped.
pub fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}
