//! Starts fio on a disk of its own, behind limits and beside neighbours, and watches it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use halfpower_record::{Captured, Watched, read_capture, read_watch};
use serde_json::Value;
use tempfile::TempDir;

use crate::throttled::{Limit, Loop, MIB, Throttle};

/// Bytes of a disk.
pub const DISK: u64 = 128 * MIB;
/// How long an application runs before it is watched.
const RAMP: Duration = Duration::from_millis(1500);

/// A process that ends with this value.
pub struct Running(Option<Child>);

impl Running {
    fn begin(command: &mut Command) -> Self {
        Self(Some(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()))
    }

    /// Its process ID.
    pub fn id(&self) -> u32 {
        self.0.as_ref().expect("it was not waited for").id()
    }

    /// Waits for its end, which must be a success.
    pub fn ended(mut self) {
        let output = self.0.take().expect("it was not waited for").wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    /// Waits for its end; what it printed as JSON.
    pub fn result(mut self) -> Value {
        let output = self.0.take().expect("it was not waited for").wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // fio writes notes before its JSON.
        let json = text.find('{').map(|at| &text[at..]).unwrap_or_default();
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A quota of processor time.
pub struct Quota {
    group: PathBuf,
}

impl Quota {
    /// A group that may use this share of one processor.
    pub fn new(share: f64) -> Result<Self, String> {
        let first = Path::new("/sys/fs/cgroup/cpu");
        let is_first = first.is_dir();
        let root = if is_first { first } else { Path::new("/sys/fs/cgroup") };
        if !is_first {
            let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
        }
        let quota = Self { group: root.join(format!("halfpower-lab-{}-quota", std::process::id())) };
        fs::create_dir(&quota.group).map_err(|error| format!("{}: {error}", quota.group.display()))?;
        let us = (100_000.0 * share) as u64;
        let lines = if is_first {
            [("cpu.cfs_period_us", "100000".to_string()), ("cpu.cfs_quota_us", us.to_string())]
        } else {
            [("cpu.max", format!("{us} 100000")), ("cpu.max", format!("{us} 100000"))]
        };
        let write = |(file, line)| fs::write(quota.group.join(file), line).map_err(|error| format!("{file}: {error}"));
        lines.into_iter().try_for_each(write)?;
        Ok(quota)
    }

    fn within(&self) -> String {
        format!("echo $$ > '{}/cgroup.procs' && exec", self.group.display())
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}

/// A file system that is unmounted with this value.
struct Mounted(TempDir);

impl Drop for Mounted {
    fn drop(&mut self) {
        let umount = |how: &[&str]| {
            let status = Command::new("umount").args(how).arg(self.0.path()).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        let _ = umount(&[]) || umount(&["--lazy"]);
    }
}

/// A disk, and the limits for whoever is watched. What uses it is dropped before it.
pub struct Site {
    throttle: Option<Throttle>,
    quota: Option<Quota>,
    mounted: Option<Mounted>,
    disk: Loop,
    tools: TempDir,
}

impl Site {
    /// A disk without a file system and without limits.
    ///
    /// # Errors
    /// What is missing here.
    pub fn bare() -> Result<Self, String> {
        let there = Command::new("fio").arg("--version").stdout(Stdio::null()).status();
        there.map_err(|error| format!("fio: {error}"))?;
        let tools = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Ok(Self { throttle: None, quota: None, mounted: None, disk: Loop::new(DISK)?, tools })
    }

    /// A disk with ext4 on it, and a file of 32 MiB that is in the page cache.
    ///
    /// # Errors
    /// What is missing here.
    pub fn mounted() -> Result<Self, String> {
        let mut site = Self::bare()?;
        let point = tempfile::tempdir().unwrap();
        done(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&site.disk.device))?;
        done(Command::new("mount").arg(&site.disk.device).arg(point.path()))?;
        let bytes: Vec<u8> = (0..32 * MIB).map(|at| (at % 251) as u8).collect();
        fs::write(point.path().join("data"), bytes).map_err(|error| error.to_string())?;
        done(Command::new("sync").arg("-f").arg(point.path()))?;
        site.mounted = Some(Mounted(point));
        Ok(site)
    }

    /// The same with limits of a control group: bytes and requests a second, reading and writing.
    ///
    /// # Errors
    /// What is missing here.
    pub fn limited(mut self, [bps, iops, write_bps, write_iops]: [Option<u64>; 4]) -> Result<Self, String> {
        let limit = Limit { device: &self.disk, bps, iops, write_bps, write_iops };
        self.throttle = Some(Throttle::new("watch", &[limit])?);
        Ok(self)
    }

    /// The same with a share of one processor.
    ///
    /// # Errors
    /// What is missing here.
    pub fn with_quota(mut self, share: f64) -> Result<Self, String> {
        self.quota = Some(Quota::new(share)?);
        Ok(self)
    }

    /// fio behind the limits. DISK in its words is the disk, and DIR the folder on it.
    pub fn fio(&self, words: &str, seconds: u32) -> Running {
        let throttled = self.throttle.as_ref().map(Throttle::within);
        let within = throttled.or_else(|| self.quota.as_ref().map(Quota::within)).unwrap_or("exec".to_string());
        self.begin(&within, "fio", words, seconds)
    }

    /// fio without limits, as a program of another name.
    pub fn neighbour(&self, words: &str, seconds: u32) -> Running {
        let program = self.tools.path().join("neighbour");
        if !program.exists() {
            symlink(found("fio"), &program).unwrap();
        }
        self.begin("exec", &program.display().to_string(), words, seconds)
    }

    fn begin(&self, within: &str, program: &str, words: &str, seconds: u32) -> Running {
        let folder = self.mounted.as_ref().map_or(self.tools.path(), |mounted| mounted.0.path());
        let words = words.replace("DISK", &self.disk.device.display().to_string());
        let words = words.replace("DIR", &folder.display().to_string());
        let usual =
            format!("--name=a --thread --time_based --runtime={seconds} --output-format=json --allow_file_create=1");
        let line = format!("{within} {program} {usual} {words}");
        Running::begin(Command::new("sh").arg("-c").arg(line).current_dir(self.tools.path()))
    }

    /// Watches a process for so long, beside whoever called.
    pub fn watch(&self, process: u32, seconds: u32) -> Running {
        let mut watch = Command::new(env!("CARGO_BIN_EXE_halfpower"));
        watch.args(["watch", "--pid", &process.to_string(), "--for", &format!("{seconds}s")]);
        Running::begin(watch.stderr(Stdio::null()))
    }

    /// What `halfpower watch` sees of a process, some time after it began.
    pub fn watched(&self, process: u32, seconds: u32) -> Watched {
        read_watch(&self.kept(process, seconds, "-o", "app.watch.json")).unwrap()
    }

    /// What `halfpower watch` keeps of the operations of a process, some time after it began.
    pub fn recorded(&self, process: u32, seconds: u32) -> Captured {
        read_capture(&self.kept(process, seconds, "--record", "app.halfpower")).unwrap()
    }

    fn kept(&self, process: u32, seconds: u32, flag: &str, name: &str) -> PathBuf {
        std::thread::sleep(RAMP);
        let file = self.tools.path().join(name);
        let _ = fs::remove_file(&file);
        let mut watch = Command::new(env!("CARGO_BIN_EXE_halfpower"));
        watch.args(["watch", "--pid", &process.to_string(), "--for", &format!("{seconds}s"), flag]).arg(&file);
        let output = watch.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        println!("{}", String::from_utf8_lossy(&output.stdout));
        file
    }
}

/// Processes that keep all processors busy.
pub fn burners(count: usize) -> Vec<Running> {
    (0..count).map(|_| Running::begin(Command::new("sh").args(["-c", "while :; do :; done"]))).collect()
}

/// A process that does nothing.
pub fn idle() -> Running {
    Running::begin(Command::new("sleep").arg("60"))
}

fn done(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_string()) }
}

/// Where a program is.
fn found(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    places.find(|place| place.is_file()).unwrap_or_else(|| panic!("{program} is in the search path"))
}
