//! Makes disks for databases: two behind the kernel's throttle, one with a slow flush, one that does one thing at a time, and the
//! machine's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::fs::{Advice, fadvise};
use serde_json::Value;
use tempfile::TempDir;

use crate::throttled::{Limit, Loop, MIB, Throttle};

/// Bytes of a disk: in memory, and in a file, where databases that change rows for minutes have room for what was before.
const DISK: u64 = 1024 * MIB;
const THROTTLED_DISK: u64 = 2 * DISK;
/// Reads or writes a second, and bytes a second either way.
const REQUESTS: u64 = 500;
const BYTES: u64 = 8_000_000;
/// Disks in user space: requests side by side, microseconds and bytes a second of each, and microseconds of a flush.
const SLOW_FLUSH: [&str; 4] = ["8", "100", "200000000", "12000"];
const ONE_AT_A_TIME: [&str; 4] = ["1", "2000", "100000000", "2000"];

/// What a disk is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// 500 reads and 500 writes a second.
    FewRequests,
    /// 8 MB/s either way.
    FewBytes,
    /// A flush takes 12 ms.
    SlowFlush,
    /// It serves one request at a time, each in 2 ms and more, and a flush takes 2 ms.
    OneAtATime,
    /// The disk of this build.
    Real,
}

impl Nature {
    /// What figures call it.
    pub fn words(self) -> &'static str {
        match self {
            Self::FewRequests => "500 requests a second",
            Self::FewBytes => "8 MB/s",
            Self::SlowFlush => "a flush of 12 ms",
            Self::OneAtATime => "one request at a time",
            Self::Real => "the real disk",
        }
    }
}

/// A device over a file of a disk in user space; both end with this value.
struct InUserSpace {
    device: Option<PathBuf>,
    server: Child,
    folder: TempDir,
}

impl InUserSpace {
    fn new([servers, fixed_us, rate, flush_us]: [&str; 4]) -> Result<Self, String> {
        // Below the target folder `lab/run` finds what a test that is stopped leaves.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut python = Command::new("python3");
        python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/paced_disk.py")).arg(folder.path());
        python.arg(DISK.to_string()).args([servers, fixed_us, rate, flush_us]).stdin(Stdio::null());
        let server = python.spawn().map_err(|error| format!("python3: {error}"))?;
        let mut disk = Self { device: None, server, folder };
        let file = disk.folder.path().join("data");
        for _ in 0..200 {
            if file.exists() || !matches!(disk.server.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        if !file.exists() {
            return Err("no disk in user space (FUSE is needed)".to_string());
        }
        let printed = done(Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(&file))?;
        disk.device = Some(printed.trim().into());
        Ok(disk)
    }
}

impl Drop for InUserSpace {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            let _ = done(Command::new("losetup").arg("--detach").arg(device));
        }
        unmounted(self.folder.path());
        // It ends when it is unmounted, unless somebody copied the mounts of this machine meanwhile.
        for _ in 0..50 {
            if !matches!(self.server.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// What a file system lies on.
enum Below {
    Throttled(Loop),
    InUserSpace(InUserSpace),
}

impl Below {
    fn device(&self) -> &Path {
        match self {
            Self::Throttled(device) => &device.device,
            Self::InUserSpace(disk) => disk.device.as_deref().expect("it was made"),
        }
    }
}

/// A file system that is unmounted with this value.
struct Mounted(TempDir);

impl Mounted {
    fn new(device: &Path) -> Result<Self, String> {
        let options = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        done(Command::new("mkfs.ext4").args(["-q", "-F", "-b", "4096", "-E", options]).arg(device))?;
        let mounted = Self(tempfile::tempdir().unwrap());
        done(Command::new("mount").arg(device).arg(mounted.0.path()))?;
        Ok(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmounted(self.0.path());
    }
}

/// A folder on a disk of known nature. What uses it ends before it.
pub struct Disk {
    pub nature: Nature,
    throttle: Option<Throttle>,
    mounted: Option<Mounted>,
    below: Option<Below>,
    /// A folder on the disk of the build; what lies here is not on the disk, unless that is the real one.
    own: TempDir,
}

impl Disk {
    /// Makes it.
    ///
    /// # Errors
    /// What is missing here.
    pub fn new(nature: Nature) -> Result<Self, String> {
        let own = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::set_permissions(own.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for folder in ["kept", "data"] {
            fs::create_dir(own.path().join(folder)).unwrap();
        }
        let mut disk = Self { nature, throttle: None, mounted: None, below: None, own };
        disk.below = match nature {
            Nature::Real => return Ok(disk),
            Nature::SlowFlush => Some(Below::InUserSpace(InUserSpace::new(SLOW_FLUSH)?)),
            Nature::OneAtATime => Some(Below::InUserSpace(InUserSpace::new(ONE_AT_A_TIME)?)),
            Nature::FewRequests | Nature::FewBytes => Some(Below::Throttled(Loop::new(THROTTLED_DISK)?)),
        };
        let below = disk.below.as_ref().expect("it was made");
        disk.mounted = Some(Mounted::new(below.device())?);
        if let Below::Throttled(device) = below {
            let (iops, bps) = if nature == Nature::FewBytes { (None, Some(BYTES)) } else { (Some(REQUESTS), None) };
            let limit = Limit { device, bps, iops, write_bps: bps, write_iops: iops };
            let name = if nature == Nature::FewBytes { "bytes" } else { "requests" };
            disk.throttle = Some(Throttle::new(name, &[limit])?);
        }
        Ok(disk)
    }

    /// The folder on the disk.
    pub fn folder(&self) -> PathBuf {
        self.mounted.as_ref().map_or_else(|| self.own.path().join("data"), |mounted| mounted.0.path().to_path_buf())
    }

    /// A place for what is kept beside the disk.
    pub fn kept(&self, name: &str) -> PathBuf {
        self.own.path().join("kept").join(name)
    }

    /// A folder on the disk that belongs to this user.
    ///
    /// # Errors
    /// That there is no such user.
    pub fn folder_of(&self, user: &str, name: &str) -> Result<PathBuf, String> {
        let folder = self.folder().join(name);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        done(Command::new("chown").arg(user).arg(&folder))?;
        Ok(folder)
    }

    /// A command of a shell, as which the program runs behind the limits of the disk.
    pub fn shell(&self, words: &str) -> Command {
        let within = self.throttle.as_ref().map_or("exec".to_string(), Throttle::within);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{within} {words}")]).current_dir(self.own.path().join("kept"));
        // Baselines and settings are those of nobody.
        command.env("XDG_DATA_HOME", self.kept("data")).env("XDG_CACHE_HOME", self.kept("cache"));
        command.stdin(Stdio::null());
        command
    }

    /// What halfpower prints as JSON with these words, in which DIR is the folder, behind the limits.
    pub fn halfpower(&self, words: &str) -> Value {
        let words = words.replace("DIR", &self.folder().display().to_string());
        let output = self
            .shell(&format!("'{}' {words} --json", halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower"))))
            .output()
            .unwrap();
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words}: {error}"))
    }

    /// The findings of a new study of the folder with these words, which is kept by this name.
    pub fn studied(&self, words: &str, name: &str) -> Value {
        let file = self.kept(name);
        let _ = fs::remove_file(&file);
        let _ = fs::remove_file(file.with_extension("html"));
        self.halfpower(&format!("study DIR {words} --output '{}'", file.display()))
    }

    /// Brings the files of the disk into the page cache, by nobody who is limited.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn read_files(&self) -> std::io::Result<()> {
        with_files(&self.folder(), &|mut file| std::io::copy(&mut file, &mut std::io::sink()).map(drop))
    }

    /// Takes the files of the disk out of the page cache, and nothing else. Nobody may have them open. To unmount a file system
    /// would not do: whoever copied the mounts of this machine meanwhile keeps it in memory.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn forget_cached(&self) -> Result<(), String> {
        let folder = self.folder();
        done(Command::new("sync").arg("-f").arg(&folder))?;
        with_files(&folder, &|file| Ok(fadvise(file, 0, None, Advice::DontNeed)?))
            .map_err(|error| format!("{}: {error}", folder.display()))
    }

    /// Bytes read so far from a disk behind a throttle; 0 from others, which are not counted.
    pub fn bytes_read(&self) -> u64 {
        match &self.below {
            Some(Below::Throttled(device)) => device.bytes_read(),
            _ => 0,
        }
    }
}

/// Does this with each file of a folder and of those in it.
fn with_files(folder: &Path, all: &dyn Fn(fs::File) -> std::io::Result<()>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            with_files(&entry.path(), all)?;
        } else if kind.is_file() {
            all(fs::File::open(entry.path())?)?;
        }
    }
    Ok(())
}

/// Runs a command; what it printed.
///
/// # Errors
/// What it complained of.
pub fn done(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{command:?}: {}", text(&output.stderr).trim()))
    }
}

fn unmounted(folder: &Path) -> bool {
    let umount = |how: &[&str]| done(Command::new("umount").args(how).arg(folder)).is_ok();
    // A process that has just ended may hold it for a moment.
    for _ in 0..20 {
        if umount(&[]) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    umount(&["--lazy"])
}
