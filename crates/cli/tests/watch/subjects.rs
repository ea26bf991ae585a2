//! Starts fio on a disk of its own, behind limits and beside neighbours, and watches who works there.

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
/// Between two looks whether something is there, or gone.
pub const PAUSE: Duration = Duration::from_millis(50);

/// A process that ends with this value, after its clients.
pub struct Running {
    child: Option<Child>,
    /// The signal that ends it; `None` for the one that nobody can refuse.
    ends_by: Option<&'static str>,
    clients: Vec<Running>,
}

impl Running {
    /// Starts a command whose output is kept.
    pub fn begin(command: &mut Command) -> Self {
        Self::of(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap(), None)
    }

    /// A process that is ended by this signal.
    pub fn of(child: Child, ends_by: Option<&'static str>) -> Self {
        Self { child: Some(child), ends_by, clients: Vec::new() }
    }

    /// The same with a client.
    pub fn with_client(mut self, client: Self) -> Self {
        self.clients.push(client);
        self
    }

    /// Its process ID.
    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it was not waited for").id()
    }

    /// Waits for its end, which must be a success.
    pub fn ended(mut self) {
        let output = self.child.take().expect("it was not waited for").wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    /// Waits for its end; what it printed as JSON.
    pub fn result(mut self) -> Value {
        let output = self.child.take().expect("it was not waited for").wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // fio writes notes before its JSON.
        let json = text.find('{').map(|at| &text[at..]).unwrap_or_default();
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.clients.clear();
        let Some(mut child) = self.child.take() else { return };
        match self.ends_by {
            Some(signal) => {
                let _ = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
            }
            None => {
                let _ = child.kill();
            }
        }
        let _ = child.wait();
    }
}

/// A control group with a limit of a controller.
struct Group {
    folder: PathBuf,
}

impl Group {
    /// A group with the values of these files: of version 1, or else of version 2.
    fn new(controller: &str, first: &[(&str, String)], second: &[(&str, String)]) -> Result<Self, String> {
        let all = Path::new("/sys/fs/cgroup");
        let is_first = all.join(controller).is_dir();
        if !is_first {
            let _ = fs::write(all.join("cgroup.subtree_control"), format!("+{controller}"));
        }
        let root = if is_first { all.join(controller) } else { all.to_path_buf() };
        let group = Self { folder: root.join(format!("halfpower-lab-{}-{controller}", std::process::id())) };
        fs::create_dir(&group.folder).map_err(|error| format!("{}: {error}", group.folder.display()))?;
        for (file, value) in if is_first { first } else { second } {
            fs::write(group.folder.join(file), value).map_err(|error| format!("{file}: {error}"))?;
        }
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// A disk in user space, of known truth: a file system that is unmounted with this value.
struct UserSpaceDisk {
    folder: TempDir,
    server: Child,
}

impl UserSpaceDisk {
    fn new(bytes: u64, fixed_us: u32, flush_us: u32) -> Result<Self, String> {
        // Below the target folder `lab/run` finds what a test that is stopped leaves.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/paced_disk.py");
        let mut server = Command::new("python3");
        server.arg(program).arg(folder.path());
        server.args([
            bytes.to_string(),
            "8".to_string(),
            fixed_us.to_string(),
            "1e9".to_string(),
            flush_us.to_string(),
        ]);
        let server = server.stdin(Stdio::null()).spawn().map_err(|error| format!("python3: {error}"))?;
        let mut disk = Self { folder, server };
        for _ in 0..100 {
            if disk.data().exists() {
                return Ok(disk);
            }
            if disk.server.try_wait().is_ok_and(|ended| ended.is_some()) {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        Err("a disk in user space does not begin (python3 and /dev/fuse are needed)".to_string())
    }

    /// Its only file.
    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

impl Drop for UserSpaceDisk {
    fn drop(&mut self) {
        // The loop device lets go of the file some time after it is detached.
        let is_gone = (0..40).any(|_| {
            let gone = unmount(self.folder.path(), &[]) || self.server.try_wait().is_ok_and(|ended| ended.is_some());
            if !gone {
                std::thread::sleep(PAUSE);
            }
            gone
        });
        if !is_gone {
            unmount(self.folder.path(), &["--lazy"]);
            let _ = self.server.kill();
        }
        let _ = self.server.wait();
    }
}

fn unmount(folder: &Path, how: &[&str]) -> bool {
    let status = Command::new("umount").args(how).arg(folder).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// A file system that is unmounted with this value.
struct Mounted(TempDir);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = unmount(self.0.path(), &[]) || unmount(self.0.path(), &["--lazy"]);
    }
}

/// A disk, and the limits for whoever is watched. What uses it is dropped before it.
pub struct Site {
    throttle: Option<Throttle>,
    groups: Vec<Group>,
    mounted: Option<Mounted>,
    disk: Loop,
    /// What lies beneath the disk, if that is not a file of a file system.
    _beneath: Option<UserSpaceDisk>,
    tools: TempDir,
}

impl Site {
    /// A disk without a file system and without limits.
    ///
    /// # Errors
    /// What is missing here.
    pub fn bare() -> Result<Self, String> {
        Self::of_size(DISK)
    }

    /// The same of another size.
    ///
    /// # Errors
    /// What is missing here.
    pub fn of_size(bytes: u64) -> Result<Self, String> {
        Self::on(Loop::new(bytes)?, None)
    }

    /// A disk in memory, whose speed no disk of others changes.
    ///
    /// # Errors
    /// What is missing here.
    pub fn in_memory() -> Result<Self, String> {
        Self::on(Loop::within(Path::new("/dev/shm"), DISK)?, None)
    }

    /// A disk in user space, each request of which takes `fixed_us` microseconds, and each flush `flush_us`.
    ///
    /// # Errors
    /// What is missing here.
    pub fn paced(bytes: u64, fixed_us: u32, flush_us: u32) -> Result<Self, String> {
        let beneath = UserSpaceDisk::new(bytes, fixed_us, flush_us)?;
        let disk = Loop::over(&beneath.data(), &[], None)?;
        Self::on(disk, Some(beneath))
    }

    fn on(disk: Loop, beneath: Option<UserSpaceDisk>) -> Result<Self, String> {
        let there = Command::new("fio").arg("--version").stdout(Stdio::null()).status();
        there.map_err(|error| format!("fio: {error}"))?;
        let tools = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Ok(Self { throttle: None, groups: Vec::new(), mounted: None, disk, _beneath: beneath, tools })
    }

    /// A disk with ext4 on it, and a file of 32 MiB that is in the page cache.
    ///
    /// # Errors
    /// What is missing here.
    pub fn mounted() -> Result<Self, String> {
        let site = Self::bare()?.formatted()?;
        let bytes: Vec<u8> = (0..32 * MIB).map(|at| (at % 251) as u8).collect();
        fs::write(site.folder().join("data"), bytes).map_err(|error| error.to_string())?;
        done(Command::new("sync").arg("-f").arg(site.folder()))?;
        Ok(site)
    }

    /// The same with an empty ext4 on it.
    ///
    /// # Errors
    /// What is missing here.
    pub fn formatted(mut self) -> Result<Self, String> {
        let point = tempfile::tempdir().unwrap();
        // What is laid out later would be a neighbour.
        let at_once = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
        done(Command::new("mkfs.ext4").args(at_once).arg(&self.disk.device))?;
        done(Command::new("mount").arg(&self.disk.device).arg(point.path()))?;
        self.mounted = Some(Mounted(point));
        Ok(self)
    }

    /// The folder on the disk, or else one of its own elsewhere.
    pub fn folder(&self) -> &Path {
        self.mounted.as_ref().map_or(self.tools.path(), |mounted| mounted.0.path())
    }

    /// Takes what lies in the folder out of the page cache.
    pub fn forget(&self) {
        let line = "sync -f . && find . -type f -exec dd if={} iflag=nocache count=0 status=none ';'";
        done(Command::new("sh").args(["-c", line]).current_dir(self.folder())).unwrap();
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

    /// Sets other limits in the place of those of [`Site::limited`].
    ///
    /// # Errors
    /// What is missing here.
    pub fn set_limits(&self, [bps, iops, write_bps, write_iops]: [Option<u64>; 4]) -> Result<(), String> {
        let limit = Limit { device: &self.disk, bps, iops, write_bps, write_iops };
        self.throttle.as_ref().map_or(Ok(()), |throttle| throttle.set(&limit))
    }

    /// The same with a share of one processor.
    ///
    /// # Errors
    /// What is missing here.
    pub fn with_quota(mut self, share: f64) -> Result<Self, String> {
        let us = (100_000.0 * share) as u64;
        let first = [("cpu.cfs_period_us", "100000".to_string()), ("cpu.cfs_quota_us", us.to_string())];
        self.groups.push(Group::new("cpu", &first, &[("cpu.max", format!("{us} 100000"))])?);
        Ok(self)
    }

    /// The same with a limit on memory in bytes.
    ///
    /// # Errors
    /// What is missing here.
    pub fn with_memory(mut self, bytes: u64) -> Result<Self, String> {
        let value = bytes.to_string();
        let first = [("memory.limit_in_bytes", value.clone())];
        self.groups.push(Group::new("memory", &first, &[("memory.max", value)])?);
        Ok(self)
    }

    /// Files of control groups, to which who is limited is written.
    fn members(&self) -> Vec<PathBuf> {
        let folders = self.throttle.iter().map(|throttle| &throttle.group);
        folders.chain(self.groups.iter().map(|group| &group.folder)).map(|at| at.join("cgroup.procs")).collect()
    }

    /// The beginning of a command of a shell that runs behind the limits.
    fn within(&self) -> String {
        let joined = self.members().into_iter().map(|file| format!("echo $$ > '{}' && ", file.display()));
        joined.chain(["exec".to_string()]).collect()
    }

    /// Puts a process and its children behind the limits.
    pub fn limit(&self, process: u32) {
        let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
        let all = std::iter::once(process.to_string()).chain(children.split_whitespace().map(str::to_string));
        let members = self.members();
        for one in all {
            for file in &members {
                // A child may have ended.
                let _ = fs::write(file, &one);
            }
        }
    }

    /// Runs a command behind the limits, in the folder, until it ends.
    pub fn done_within(&self, words: &str) {
        let line = format!("{} {words}", self.within());
        done(Command::new("sh").args(["-c", &line]).current_dir(self.folder())).unwrap();
    }

    /// fio behind the limits. DISK in its words is the disk, and DIR the folder on it.
    pub fn fio(&self, words: &str, seconds: u32) -> Running {
        self.begin(&self.within(), "fio", words, seconds)
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
        let folder = self.folder();
        let words = words.replace("DISK", &self.disk.device.display().to_string());
        let words = words.replace("DIR", &folder.display().to_string());
        let usual =
            format!("--name=a --thread --time_based --runtime={seconds} --output-format=json --allow_file_create=1");
        let line = format!("{within} {program} {usual} {words}");
        Running::begin(Command::new("sh").arg("-c").arg(line).current_dir(self.tools.path()))
    }

    /// Watches a process for so long, beside whoever called.
    pub fn watch(&self, process: u32, seconds: u32) -> Running {
        let mut watch = Command::new(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
        watch.args(["watch", "--pid", &process.to_string(), "--for", &format!("{seconds}s")]);
        Running::begin(watch.stderr(Stdio::null()))
    }

    /// What `halfpower watch` sees of a process, some time after it began.
    pub fn watched(&self, process: u32, seconds: u32) -> Watched {
        read_watch(&self.kept(process, seconds, "-o", "app.watch.json")).unwrap()
    }

    /// What `halfpower watch` keeps of the operations of a process, some time after it began.
    pub fn recorded(&self, process: u32, seconds: u32) -> Captured {
        read_capture(&self.capture(process, seconds)).unwrap()
    }

    /// The file with these operations.
    pub fn capture(&self, process: u32, seconds: u32) -> PathBuf {
        self.kept(process, seconds, "--record", "app.halfpower")
    }

    /// What `halfpower watch` prints with these words, some time after it began.
    pub fn printed(&self, words: &[&str]) -> String {
        std::thread::sleep(RAMP);
        let mut watch = Command::new(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
        let output = watch.arg("watch").args(words).env_remove("COLUMNS").stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn kept(&self, process: u32, seconds: u32, flag: &str, name: &str) -> PathBuf {
        std::thread::sleep(RAMP);
        let file = self.tools.path().join(name);
        let _ = fs::remove_file(&file);
        let mut watch = Command::new(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
        watch.args(["watch", "--pid", &process.to_string(), "--for", &format!("{seconds}s"), flag]).arg(&file);
        let output = watch.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        println!("{}", String::from_utf8_lossy(&output.stdout));
        file
    }

    /// What `halfpower run --workload --json` says of a capture that is asked again on the disk, behind the limits.
    pub fn asked_again(&self, capture: &Path) -> Value {
        let folder = self.folder();
        self.said(&format!("run --workload '{}' '{}' --json", capture.display(), folder.display()))
    }

    /// A study of the folder on the disk with these words, behind the limits.
    pub fn studied(&self, words: &str) -> PathBuf {
        let folder = self.folder();
        let file = self.tools.path().join("there.halfpower");
        self.said(&format!("study '{}' {words} --json --output '{}'", folder.display(), file.display()));
        file
    }

    /// What `halfpower predict --json` says of a capture on the path of a study.
    pub fn predicted(&self, capture: &Path, study: &Path) -> Value {
        self.said(&format!("predict '{}' --on '{}' --json", capture.display(), study.display()))
    }

    /// The JSON that halfpower prints with these words of a shell, behind the limits.
    fn said(&self, words: &str) -> Value {
        let within = self.throttle.as_ref().map_or("exec".to_string(), Throttle::within);
        let line = format!("{within} '{}' {words}", halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
        let output = Command::new("sh").arg("-c").arg(line).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Processes that keep all processors busy. They are more urgent than others, since the scheduler lets who sleeps often pass
/// burners of the same urgency; and so are their sessions, between which it shares the processors first. In a session of its own
/// Ctrl-C does not reach a burner: it ends with the thread that has started it.
pub fn burners(count: usize) -> Vec<Running> {
    let burns = "echo -10 2>/dev/null > /proc/self/autogroup; while :; do :; done";
    let words = ["-n", "-10", "setsid", "setpriv", "--pdeathsig", "KILL", "sh", "-c", burns];
    (0..count).map(|_| Running::begin(Command::new("nice").args(words))).collect()
}

/// A process that does nothing.
pub fn idle() -> Running {
    Running::begin(Command::new("sleep").arg("60"))
}

/// Runs a command until it ends, which must be a success.
pub fn done(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_string()) }
}

/// Where a program is.
fn found(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    places.find(|place| place.is_file()).unwrap_or_else(|| panic!("{program} is in the search path"))
}
