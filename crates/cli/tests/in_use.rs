//! Tries to overwrite files and devices in use.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::program::skip;

const BYTES: u64 = 16 << 20;

/// A folder with a foreign file `img`.
fn image() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let image = folder.path().join("img");
    fs::write(&image, vec![7; BYTES as usize]).unwrap();
    (folder, image)
}

fn output(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfpower"));
    command.current_dir(folder).args(words).stdin(Stdio::null()).output().unwrap()
}

/// A run that writes to the target.
fn writes<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", target, "--overwrite", "--rw", "write", "-b", "64KiB", "-d", "100ms", "--engine", "sync"], more].concat()
}

fn refused(folder: &Path, words: &[&str], expected: &str) {
    let output = output(folder, words);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    assert!(said.contains(expected) && said.contains("--force-in-use"), "{words:?}: {said}");
}

fn done(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_string()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
    }
}

/// A loop device.
struct Loop(String);

impl Loop {
    fn over(file: &Path) -> Result<Self, String> {
        Self::with(file, &[])
    }

    fn with(file: &Path, flags: &[&str]) -> Result<Self, String> {
        done(Command::new("losetup").args(["--find", "--show"]).args(flags).arg(file)).map(Self)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = done(Command::new("losetup").args(["--detach", &self.0]));
        // The kernel detaches the device after the last close; another test's mount namespace may hold a copy of the
        // mount until then.
        let attached = Path::new("/sys/block").join(self.0.trim_start_matches("/dev/")).join("loop");
        let given_up = Instant::now() + Duration::from_secs(60);
        while attached.exists() && Instant::now() < given_up {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A mounted device.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = done(Command::new("umount").arg(&self.0));
    }
}

#[test]
fn the_file_of_a_mounted_loop_device_is_refused_until_it_is_let_go() {
    let (folder, image) = image();
    let here = folder.path();
    if let Err(why) = done(Command::new("mkfs.ext4").args(["-q", "-F", "-E", "nodiscard"]).arg(&image)) {
        return skip(&format!("no file system can be made here: {why}"));
    }
    let device = match Loop::over(&image) {
        Ok(device) => device,
        Err(why) => return skip(&format!("no loop device can be had here: {why}")),
    };
    fs::create_dir(here.join("mounted")).unwrap();
    let before = fs::read(&image).unwrap();
    // An attached device counts as in use, because mounts in other namespaces are invisible.
    refused(here, &writes("img", &[]), &format!("holds the data of the loop device {}", device.0));
    assert!(fs::read(&image).unwrap() == before);
    if let Err(why) = done(Command::new("mount").arg(&device.0).arg(here.join("mounted"))) {
        return skip(&format!("nothing can be mounted here: {why}"));
    }
    let mounted = Mounted(here.join("mounted"));
    fs::write(here.join("mounted/letter"), "dear").unwrap();
    fs::hard_link(&image, here.join("other-name")).unwrap();
    for name in ["img", "other-name"] {
        refused(here, &writes(name, &[]), "is mounted at");
        refused(here, &["study", name, "--overwrite", "--budget", "5s"], "is mounted at");
    }
    // A second loop device on the same file is refused too.
    let second = Loop::over(&image).unwrap();
    refused(here, &writes(&second.0, &[]), "is mounted at");
    drop(second);
    assert_eq!(fs::read_to_string(here.join("mounted/letter")).unwrap(), "dear");
    // Reading is allowed.
    let read = output(here, &["run", "img", "--rw", "read", "-d", "100ms", "--engine", "sync"]);
    let said = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success() || said.contains("never written"), "{said}");
    drop(mounted);
    drop(device);
    let written = output(here, &writes("img", &[]));
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
}

#[test]
fn a_device_that_holds_something_is_spared_unless_that_may_be_lost() {
    let (folder, image) = image();
    let here = folder.path();
    let mut bytes = vec![0; BYTES as usize];
    // What makes an ext4: its magic, extents, a label.
    bytes[1080..1082].copy_from_slice(&[0x53, 0xef]);
    bytes[1120] = 0x40;
    bytes[1144..1151].copy_from_slice(b"letters");
    fs::write(&image, &bytes).unwrap();
    let device = match Loop::over(&image) {
        Ok(device) => device,
        Err(why) => return skip(&format!("no loop device can be had here: {why}")),
    };
    // losetup of another test may open the device meanwhile.
    let all = writes(&device.0, &["--force-in-use"]);
    let said = output(here, &all);
    let text = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(2), "{text}");
    assert!(text.contains("a file system (ext4) with the label") && text.contains("letters"), "{text}");
    assert!(text.contains("--force-content") && text.contains("16MiB"), "{text}");
    let study = [&["study"][..], &all[1..3], &["--budget", "5s", "--force-in-use"]].concat();
    assert_eq!(output(here, &study).status.code(), Some(2));
    assert!(fs::read(&image).unwrap() == bytes, "not a byte was written");
    let read = output(here, &["run", &device.0, "--rw", "read", "-d", "50ms", "--engine", "sync"]);
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let forced = output(here, &writes(&device.0, &["--force-in-use", "--force-content"]));
    assert!(forced.status.success(), "{}", String::from_utf8_lossy(&forced.stderr));
}

#[test]
fn a_device_that_is_read_only_is_refused_before_anything_is_done() {
    let (folder, image) = image();
    let device = match Loop::with(&image, &["--read-only"]) {
        Ok(device) => device,
        Err(why) => return skip(&format!("no loop device can be had here: {why}")),
    };
    let said = output(folder.path(), &writes(&device.0, &[]));
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.code() == Some(2) && text.contains("is read-only for the kernel"), "{text}");
    assert!(text.contains("--setrw") && !text.contains("EPERM"), "{text}");
}

#[test]
fn members_that_are_one_and_the_same_data_are_refused() {
    let (folder, image) = image();
    let here = folder.path();
    fs::hard_link(&image, here.join("hard")).unwrap();
    std::os::unix::fs::symlink("img", here.join("soft")).unwrap();
    for target in ["mirror:img,hard", "stripe:hard,img"] {
        refused(here, &writes(target, &[]), "is the same data as");
        refused(here, &["run", target, "--rw", "read", "-d", "100ms"], "is the same data as");
    }
    assert_eq!(output(here, &writes("mirror:img,soft", &[])).status.code(), Some(2));
    let devices = match (Loop::over(&image), Loop::over(&image)) {
        (Ok(one), Ok(two)) => [one, two],
        (Err(why), _) | (_, Err(why)) => return skip(&format!("no loop device can be had here: {why}")),
    };
    for target in [format!("mirror:{},{}", devices[0].0, devices[1].0), format!("stripe:img,{}", devices[0].0)] {
        refused(here, &writes(&target, &[]), "is the same data as");
    }
    assert!(fs::read(&image).unwrap().iter().all(|byte| *byte == 7));
}

#[test]
fn a_swap_file_is_refused() {
    let (folder, image) = image();
    fs::set_permissions(&image, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let on = done(Command::new("mkswap").arg(&image)).and_then(|_| done(Command::new("swapon").arg(&image)));
    if let Err(why) = on {
        return skip(&format!("nothing can be swapped to here: {why}"));
    }
    let output = output(folder.path(), &writes("img", &[]));
    done(Command::new("swapoff").arg(&image)).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("is swapped to"), "{said}");
}

#[test]
fn a_file_that_another_process_locks_or_writes_is_refused() {
    let (folder, image) = image();
    let here = folder.path();
    for (script, expected) in
        [("exec 9<img; flock 9; echo; read x", "is locked"), ("exec 9<>img; echo; read x", "is open for writing")]
    {
        let mut shell = Command::new("sh");
        shell.current_dir(here).args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        refused(here, &writes("img", &[]), expected);
        assert!(fs::read(&image).unwrap().iter().all(|byte| *byte == 7));
        let forced = output(here, &writes("img", &["--force-in-use"]));
        assert!(forced.status.success(), "{}", String::from_utf8_lossy(&forced.stderr));
        child.kill().unwrap();
        child.wait().unwrap();
        fs::write(&image, vec![7; BYTES as usize]).unwrap();
    }
}

#[test]
fn a_study_is_no_target_to_be_written_to() {
    let (folder, _) = image();
    let here = folder.path();
    let small = ["--bs", "4KiB", "--iodepth", "1", "--budget", "5s", "--output", "s.halfpower"];
    let made = output(here, &[&["study", "sim:fixed=80us,rate=500MB/s"][..], &small].concat());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let study = fs::read(here.join("s.halfpower")).unwrap();
    refused(here, &writes("s.halfpower", &[]), "is a study file");
    assert!(fs::read(here.join("s.halfpower")).unwrap() == study);
}
