//! Measures where the machine turns against it: few descriptors, a process that is stopped, frozen or killed for its memory,
//! a target that is moved or cut, a folder that goes, a study file that two want or that is replaced.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::program::{command, folder, run, skip};

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn begin(folder: &Path, line: &str) -> Child {
    command(folder, &words(line)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn all(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}

/// Waits until something holds, or the process has ended by itself.
fn until(child: &mut Child, mut holds: impl FnMut() -> bool) {
    while !holds() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn few_descriptors_are_a_sentence_or_enough() {
    let here = folder();
    fs::write(here.path().join("data"), vec![1; 1 << 20]).unwrap();
    let mut refused = 0;
    for line in ["run data --runtime 10ms --threads 2", "study data --bs 4KiB --iodepth 1 --budget 500ms --output s"] {
        for most in 4..=20 {
            let _ = fs::remove_file(here.path().join("s"));
            let shell = format!("ulimit -n {most}; exec '{}' {line}", env!("CARGO_BIN_EXE_halfpower"));
            let ended = Command::new("sh").arg("-c").arg(shell).current_dir(here.path()).output().unwrap();
            let said = all(&ended);
            assert!(matches!(ended.status.code(), Some(0 | 2)) && !said.contains("panicked"), "{most}: {said}");
            if ended.status.code() == Some(2) {
                refused += 1;
                let error = String::from_utf8_lossy(&ended.stderr);
                assert!(error.lines().any(|line| line.starts_with("halfpower: ")), "{most}: {error}");
            }
        }
    }
    assert!(refused > 0, "four are too few");
}

#[test]
fn a_target_that_is_renamed_is_the_same_and_one_that_is_cut_is_an_error() {
    let here = folder();
    let data = here.path().canonicalize().unwrap().join("data");
    let moved = here.path().join("moved");
    let measured = |runtime: &str, then: &dyn Fn()| {
        fs::write(&data, vec![1; 8 << 20]).unwrap();
        let line = format!("run data --rw randread --bs 4k --runtime {runtime} --json");
        let mut child = begin(here.path(), &line);
        let descriptors = format!("/proc/{}/fd", child.id());
        until(&mut child, || {
            let open = fs::read_dir(&descriptors).into_iter().flatten().flatten();
            open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|path| path == data)
        });
        then();
        child.wait_with_output().unwrap()
    };
    let renamed = measured("400ms", &|| fs::rename(&data, &moved).unwrap());
    assert!(renamed.status.success(), "{}", all(&renamed));
    // On a busy machine a run may be over before its target is cut: a longer one is not.
    let cut_short = || fs::File::options().write(true).open(&data).unwrap().set_len(4096).unwrap();
    let mut runs = ["400ms", "4s", "40s"].into_iter().map(|runtime| measured(runtime, &cut_short));
    let cut = runs.find(|ended| ended.status.code() != Some(0)).expect("a run whose target was cut");
    assert!(matches!(cut.status.code(), Some(1 | 2)), "requests failed: {}", all(&cut));
    assert!(all(&cut).contains("EOF") || all(&cut).contains("halfpower: "), "{}", all(&cut));
}

#[test]
fn a_study_file_that_another_study_writes_to_is_refused() {
    let here = folder();
    fs::create_dir(here.path().join("data")).unwrap();
    let line = "study data --size 16MiB --bs 4KiB,64KiB --budget 4s --output s.halfpower";
    let mut first = begin(here.path(), line);
    until(&mut first, || here.path().join("s.halfpower").exists());
    let second = run(here.path(), &words(line));
    let both = [first.wait_with_output().unwrap(), second];
    // Whichever has the file first; the other may also have come only after that one was done.
    assert!(both.iter().any(|study| study.status.success()), "{}{}", all(&both[0]), all(&both[1]));
    for study in &both {
        let said = all(study);
        assert!(study.status.success() || said.contains("in use by another study"), "{said}");
    }
    assert!(run(here.path(), &["report", "s.halfpower"]).status.success());
}

#[test]
fn a_study_whose_folder_goes_ends_with_a_sentence() {
    let here = folder();
    let place = here.path().join("place");
    fs::create_dir(&place).unwrap();
    let line = "study sim:fixed=80us,rate=500MB/s --budget 100000s --repeats 90 --output place/s.halfpower";
    let mut child = begin(here.path(), line);
    until(&mut child, || place.join("s.halfpower").metadata().is_ok_and(|file| file.len() > 0));
    let is_removed = fs::remove_dir_all(&place).is_ok() || fs::remove_dir_all(&place).is_ok();
    let ended = child.wait_with_output().unwrap();
    let said = all(&ended);
    assert!(!said.contains("panicked"), "{said}");
    if is_removed {
        assert!(ended.status.code() == Some(2) && said.contains("s.halfpower"), "{said}");
        assert!(!place.exists(), "it makes nothing anew");
    }
}

#[test]
fn a_study_whose_file_is_replaced_ends_with_a_sentence_and_writes_to_neither() {
    let here = folder();
    let file = here.path().join("s.halfpower");
    let line = "study sim:fixed=80us,rate=500MB/s --budget 100000s --repeats 90 --output s.halfpower";
    let mut child = begin(here.path(), line);
    // With some records in it, the study has opened it for the last time.
    until(&mut child, || file.metadata().is_ok_and(|file| file.len() > 100_000));
    fs::write(here.path().join("other"), b"somebody else's").unwrap();
    fs::rename(here.path().join("other"), &file).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = all(&ended);
    assert!(ended.status.code() == Some(2) && said.contains("was removed or replaced"), "{said}");
    assert_eq!(fs::read(&file).unwrap(), b"somebody else's");
}

#[test]
#[ignore = "gate: a process stands still for five seconds"]
fn a_run_that_was_stopped_for_five_seconds_has_them_in_its_record() {
    // On a busy machine a run may still begin, or be over, when it is to be stopped: a longer one does not.
    let (at, length) = (Duration::from_millis(1_500), Duration::from_secs(5));
    let mut stops = [1, 6, 30].into_iter().map(|times| stopped_in_a_run(times, at, length));
    assert!(stops.any(|stopped_ns| stopped_ns > 4_000_000_000), "no record has the stop");
}

/// Stops a run of three seconds at this moment for this long, both the run and the moment so many times as late; returns
/// what its record says of that, in nanoseconds.
fn stopped_in_a_run(times: u32, at: Duration, length: Duration) -> u64 {
    let here = folder();
    fs::write(here.path().join("data"), vec![1; 8 << 20]).unwrap();
    let child = begin(here.path(), &format!("run data --rw randread --bs 4k --runtime {}s --json", 3 * times));
    let signal = |signal: &str| {
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    };
    std::thread::sleep(at * times);
    signal("-STOP");
    std::thread::sleep(length);
    signal("-CONT");
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", all(&ended));
    let run: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    run["stopped_ns"].as_u64().expect("a time")
}

/// A group of processes that may have so much memory and no swap, of either version of control groups.
struct Memory {
    group: std::path::PathBuf,
}

impl Memory {
    fn new(bytes: u64) -> Option<Self> {
        let name = format!("halfpower-memory-{}", std::process::id());
        // Groups of version 2 have what their parent hands down.
        let handed_down = fs::File::options().write(true).open("/sys/fs/cgroup/cgroup.subtree_control");
        let _ = handed_down.and_then(|mut file| file.write_all(b"+memory"));
        let kinds = [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes),
            ("/sys/fs/cgroup", "memory.max", "memory.swap.max", 0),
        ];
        kinds.into_iter().find_map(|(root, limit, of_swap, swap_bytes)| {
            let group = Path::new(root).join(&name);
            fs::create_dir(&group).ok()?;
            let memory = Self { group };
            let limit = memory.group.join(limit);
            if !limit.exists() {
                return None;
            }
            fs::write(limit, bytes.to_string()).ok()?;
            // A machine without swap may lack this.
            let _ = fs::write(memory.group.join(of_swap), swap_bytes.to_string());
            Some(memory)
        })
    }

    /// Begins a shell script in the group.
    fn begin(&self, folder: &Path, script: &str) -> Child {
        let script = format!("echo $$ >{}/cgroup.procs && {script}", self.group.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(folder).stdin(Stdio::null());
        shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // The kernel lets a group go a moment after its last process.
        for _ in 0..100 {
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
#[ignore = "gate: takes root and a control group"]
fn a_study_that_the_kernel_kills_for_its_memory_loses_nothing_and_goes_on() {
    let Some(memory) = Memory::new(400 << 20) else {
        return skip("no control group of memory, or no rights to make one");
    };
    // On a busy machine a short study may be over before there is too little memory.
    assert!(["8s", "40s", "200s"].into_iter().any(|budget| killed_for_its_memory(&memory, budget)), "none was killed");
}

/// Whether a study with this budget was killed when the group had no memory left; it goes on then and keeps all it had.
fn killed_for_its_memory(memory: &Memory, budget: &str) -> bool {
    use std::os::unix::process::ExitStatusExt;

    let here = folder();
    let data = here.path().join("data");
    let file = here.path().join("s.halfpower");
    fs::create_dir(&data).unwrap();
    let line = format!("study data --size 16MiB --bs 4KiB,64KiB --iodepth 1,8 --budget {budget} --output s.halfpower");
    let program = env!("CARGO_BIN_EXE_halfpower");
    let mut study =
        memory.begin(here.path(), &format!("echo 1000 >/proc/self/oom_score_adj && exec '{program}' {line}"));
    until(&mut study, || file.metadata().is_ok_and(|file| file.len() > 0));
    // A neighbour in the group takes more than there is; the kernel ends the study first, then the neighbour.
    let mut neighbour = memory.begin(here.path(), "exec python3 -c 'taken = bytearray(b\"x\") * (800 << 20)'");
    neighbour.wait().unwrap();
    let ended = study.wait().unwrap();
    if ended.success() {
        return false;
    }
    assert_eq!(ended.signal(), Some(9), "{ended:?}");
    let kept = halfpower_record::StudyFile::open_mended(&file).unwrap().records().unwrap();
    let next = run(here.path(), &words(&line));
    assert!(next.status.success(), "{}", all(&next));
    let records = halfpower_record::StudyFile::open(&file).unwrap().records().unwrap();
    assert!(records.len() > kept.len() && records.starts_with(&kept), "{} of {}", kept.len(), records.len());
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0, "nothing is left");
    true
}

/// A group of processes that can be frozen, of either version of control groups.
struct Freezer {
    group: std::path::PathBuf,
    switch: (&'static str, [&'static str; 2]),
}

impl Freezer {
    fn new() -> Option<Self> {
        let name = format!("halfpower-adverse-{}", std::process::id());
        let kinds = [
            ("/sys/fs/cgroup/freezer", ("freezer.state", ["FROZEN", "THAWED"])),
            ("/sys/fs/cgroup", ("cgroup.freeze", ["1", "0"])),
        ];
        kinds.into_iter().find_map(|(root, switch)| {
            let group = Path::new(root).join(&name);
            fs::create_dir(&group).ok()?;
            let freezer = Self { group, switch };
            freezer.group.join(switch.0).exists().then_some(freezer)
        })
    }

    fn freeze(&self, is_frozen: bool) {
        let (file, [frozen, thawed]) = self.switch;
        fs::write(self.group.join(file), if is_frozen { frozen } else { thawed }).unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        // The processes of the group have ended.
        let _ = fs::remove_dir(&self.group);
    }
}

#[test]
#[ignore = "gate: takes root"]
fn a_run_that_was_frozen_says_that_it_was_stopped() {
    let Some(freezer) = Freezer::new() else { return skip("no control group that freezes, or no rights to make one") };
    // On a busy machine a run may still begin, or be over, when it is frozen: a longer one does not.
    let mut said = [1, 6, 30].into_iter().map(|times| frozen_run(&freezer, times));
    assert!(said.any(|said| said.contains("STOPPED")), "no run says that it was stopped");
}

/// What a run says that was frozen for three seconds after so many times 0.8 s of so many times three.
fn frozen_run(freezer: &Freezer, times: u32) -> String {
    let here = folder();
    fs::write(here.path().join("data"), vec![1; 8 << 20]).unwrap();
    let child = begin(here.path(), &format!("run data --rw randread --bs 4k --runtime {}s", 3 * times));
    // A run that is over cannot be moved.
    let _ = fs::write(freezer.group.join("cgroup.procs"), child.id().to_string());
    std::thread::sleep(Duration::from_millis(800) * times);
    freezer.freeze(true);
    std::thread::sleep(Duration::from_secs(3));
    freezer.freeze(false);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", all(&ended));
    all(&ended)
}

/// Tests for the laboratory.
mod lab {
    use halfpower_lab::Campaign;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Number of runs that are stopped.
    const STOPS: u32 = 100;

    #[test]
    #[ignore = "lab: stops a hundred runs for a second or more"]
    fn stops_at_any_moment_of_a_window_are_in_the_record() {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut campaign = Campaign::new("a process that is stopped");
        for _ in 0..STOPS {
            let at = Duration::from_millis(dice.random_range(1_200..2_500));
            let length = Duration::from_millis(dice.random_range(800..2_500));
            campaign.add_reported(stopped_in_a_run(1, at, length) > 0);
        }
        campaign.judge("faults");
    }

    /// Number of runs whose target is swapped.
    const SWAPS: u32 = 200;

    /// A loop device with a file system of its own, which goes when it is dropped.
    struct Device(String);

    impl Device {
        fn over(image: &Path) -> Option<Self> {
            fs::File::create(image).unwrap().set_len(8 << 20).unwrap();
            Command::new("mkfs.ext4").args(["-q", "-F"]).arg(image).status().ok().filter(|status| status.success())?;
            let made = Command::new("losetup").args(["--find", "--show"]).arg(image).output().ok()?;
            made.status.success().then(|| Self(String::from_utf8_lossy(&made.stdout).trim().to_string()))
        }
    }

    impl Drop for Device {
        fn drop(&mut self) {
            let _ = Command::new("losetup").args(["--detach", &self.0]).status();
        }
    }

    #[test]
    #[ignore = "lab: swaps the targets of hundreds of runs"]
    fn a_target_that_turns_into_a_link_to_a_device_at_any_moment_leaves_the_device_as_it_was() {
        use std::sync::atomic::{AtomicBool, Ordering};

        let here = folder();
        let at = |name: &str| here.path().join(name);
        let Some(device) = Device::over(&at("image")) else { return skip("no loop device with a file system") };
        let before = fs::read(&device.0).unwrap();
        fs::write(at("plain"), vec![1; 1 << 20]).unwrap();
        fs::hard_link(at("plain"), at("target")).unwrap();
        let is_over = AtomicBool::new(false);
        let mut campaign = Campaign::new("a target that turns into a link to a device");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::os::unix::fs::symlink(&device.0, at("link")).unwrap();
                    fs::rename(at("link"), at("target")).unwrap();
                    fs::hard_link(at("plain"), at("again")).unwrap();
                    fs::rename(at("again"), at("target")).unwrap();
                }
            });
            for _ in 0..SWAPS {
                let ended = run(here.path(), &words("run target --overwrite --rw write --bs 4k --runtime 10ms"));
                let is_sound = matches!(ended.status.code(), Some(0..=2)) && !all(&ended).contains("panicked");
                campaign.add(is_sound && fs::read(&device.0).unwrap() == before);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        campaign.judge("faults");
    }
}
