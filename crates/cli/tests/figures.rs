//! Checks that figures are what they say, or are said to be unknown: latencies, flushes, stops, exit codes and budgets.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::program::{command, folder, run, skip};

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn output(folder: &Path, line: &str) -> Output {
    run(folder, &words(line))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The printed text of a command that succeeds.
fn printed(folder: &Path, line: &str) -> String {
    let output = output(folder, line);
    assert!(output.status.success(), "{line}: {}{}", text(&output), stderr(&output));
    text(&output)
}

fn json(folder: &Path, line: &str) -> Value {
    serde_json::from_str(&printed(folder, line)).unwrap()
}

/// 32 requests of 1 MiB take 2.8 s at 11.8 MB/s: in a window of one second only those at the front of the queue complete.
#[test]
fn latencies_of_a_window_that_is_too_short_for_its_queue_are_not_known() {
    let here = folder();
    let line = "run sim:fixed=500us,rate=11.8MB/s,disks=1 --rw write --bs 1MiB --iodepth 32";
    let short = printed(here.path(), &format!("{line} --runtime 1s"));
    assert!(short.contains("latency     not known: the window is too short for its queue"), "{short}");
    assert!(short.contains("(Little's law)") && short.contains("--runtime"), "{short}");
    assert_eq!(json(here.path(), &format!("{line} --runtime 1s --json"))["latency_ns"], Value::Null);
    let long = json(here.path(), &format!("{line} --runtime 60s --json"));
    let p50_s = long["latency_ns"]["p50"].as_f64().unwrap() / 1e9;
    assert!((p50_s - 2.86).abs() < 0.05, "{p50_s}");
    let study = "study sim:fixed=500us,rate=11.8MB/s,disks=1,noise=5% --budget 20s --output s.halfpower";
    let first = printed(here.path(), study);
    assert!(first.contains("- latency not known: the windows are too short"), "{first}");
    let report = json(here.path(), "report s.halfpower --json");
    for cell in report["cells"].as_array().unwrap() {
        // No latency is told that contradicts rate and depth by more than half.
        let Some(mean_ns) = cell["latency_ns"]["mean"].as_f64() else { continue };
        let in_flight = cell["iops"].as_f64().unwrap() * mean_ns / 1e9;
        let depth = cell["iodepth"].as_f64().unwrap();
        assert!((in_flight / depth - 1.0).abs() < 0.5, "{in_flight} of {depth}: {cell}");
    }
}

/// What a line prints with the first of these times that has what is looked for: on a slow disk no flush may end in a short one.
fn with_flushes(folder: &Path, line: &str, times: [&str; 3], has: impl Fn(&str) -> bool) -> String {
    let mut shown = times.into_iter().map(|time| printed(folder, &line.replace("TIME", time)));
    shown.find(|shown| has(shown)).unwrap_or_else(|| panic!("no flush ended: {line}"))
}

#[test]
fn flushes_between_writes_have_their_own_times() {
    let here = folder();
    let line = "run . --size 4MiB --rw write --bs 4k --engine sync --cache both --fdatasync 1 --runtime TIME";
    let times = ["300ms", "3s", "60s"];
    with_flushes(here.path(), line, times, |shown| {
        let flushes = shown.lines().find(|line| line.starts_with("  flushes     "));
        flushes.is_some_and(|flushes| flushes.contains(" a second: ") && flushes.contains("p99.9 "))
    });
    with_flushes(here.path(), &format!("{line} --json"), times, |record| {
        let sync = &serde_json::from_str::<Value>(record).unwrap()["sync"];
        sync["count"].as_u64() > Some(0) && sync["latency_ns"]["p99"].as_u64() > Some(0)
    });
    assert_eq!(json(here.path(), "run . --size 4MiB --rw read --bs 4k --runtime 50ms --json")["sync"], Value::Null);
    let of_fio = "run --name=etcd --rw=write --ioengine=sync --fdatasync=1 --size=4m --bs=2300 --directory=. --runtime=TIME \
                  --time_based --output-format=json";
    with_flushes(here.path(), of_fio, ["1", "6", "60"], |shown| {
        let sync = &serde_json::from_str::<Value>(shown).unwrap()["jobs"][0]["sync"];
        sync["total_ios"].as_u64() > Some(0) && sync["lat_ns"]["percentile"]["99.000000"].as_u64() > Some(0)
    });
}

/// The system calls that a run makes.
fn traced(folder: &Path, line: &str) -> Option<String> {
    let program = env!("CARGO_BIN_EXE_halfpower");
    let calls = "trace=openat,fsync,fdatasync,sync_file_range,pwritev2,pwrite64";
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-e", calls, "-o", "calls", program]).args(words(line)).current_dir(folder);
    let ended = strace.stdin(Stdio::null()).output();
    let may_trace = |ended: &Output| ended.status.success() || !stderr(ended).contains("ptrace");
    let Some(ended) = ended.ok().filter(may_trace) else {
        skip("strace is not there, or may not trace");
        return None;
    };
    assert!(ended.status.success(), "{line}: {}", stderr(&ended));
    Some(std::fs::read_to_string(folder.join("calls")).unwrap())
}

#[test]
fn each_means_of_making_writes_durable_is_the_call_that_was_asked_for() {
    let here = folder();
    let line = "run . --size 4MiB --rw write --bs 4k --runtime 50ms --engine sync";
    for (flags, call, not) in [
        ("--cache both --fdatasync 1", "fdatasync(", " fsync("),
        ("--cache both --fdatasync 1 --flush-by fsync", " fsync(", "pwritev2("),
        ("--cache both --fdatasync 1 --flush-by sync_file_range", "sync_file_range(", " fsync("),
        ("--cache os", "O_DSYNC", "pwritev2("),
        ("--cache os --durable-by o_sync", "O_SYNC", "pwritev2("),
        ("--cache os --durable-by rwf_dsync", "RWF_DSYNC", "O_DSYNC"),
    ] {
        let Some(calls) = traced(here.path(), &format!("{line} {flags}")) else { return };
        assert!(calls.contains(call), "{flags}: no {call}");
        assert!(!calls.contains(not), "{flags}: {not}");
    }
    for engine in ["io_uring", "io_uring_plain", "libaio", "pool"] {
        let line = format!("run . --size 4MiB --rw write --bs 4k --runtime 50ms --engine {engine}");
        for flags in ["--cache none --durable-by rwf_dsync", "--cache device --fdatasync 4 --flush-by fsync"] {
            printed(here.path(), &format!("{line} {flags}"));
        }
    }
    for (flags, why) in [
        ("--cache device --flush-by fsync", "nothing is flushed"),
        ("--cache both --durable-by o_sync", "no write of this run is durable by itself"),
        ("--cache device --engine libaio --fdatasync 1 --flush-by sync_file_range", "libaio has no such call"),
    ] {
        let refused = output(here.path(), &format!("run . --size 4MiB --rw write --bs 4k --runtime 50ms {flags}"));
        assert_eq!(refused.status.code(), Some(2), "{flags}");
        assert!(stderr(&refused).contains(why), "{flags}: {}", stderr(&refused));
    }
    let simulated = output(here.path(), "run sim: --rw write --runtime 50ms --fdatasync 1 --flush-by fsync");
    assert!(stderr(&simulated).contains("a simulated system has one way to flush"), "{}", stderr(&simulated));
}

#[test]
fn what_cannot_run_says_why_and_is_not_called_unfinished() {
    let here = folder();
    let none = output(here.path(), "study sim:fixed=500us,rate=100MB/s --experiments durability --output s.halfpower");
    let shown = text(&none);
    assert!(shown.contains("NOT RUN") && !shown.contains("UNFINISHED") && !shown.contains("goes on"), "{shown}");
    assert!(shown.contains("durability  not run: "), "{shown}");
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
}

#[test]
fn a_larger_budget_goes_on_with_the_same_study() {
    let here = folder();
    let study = |budget: &str| {
        let line =
            format!("study sim:noise=5% --rw read --bs 4KiB..64KiB --budget {budget} --output s.halfpower --json");
        json(here.path(), &line)["runs"].as_u64().unwrap()
    };
    let [short, long] = [study("3s"), study("6s")];
    assert!(long > short, "{short} and {long} runs");
    let smaller = output(here.path(), "study sim:noise=5% --rw read --bs 4KiB..64KiB --budget 3s --output s.halfpower");
    assert!(stderr(&smaller).contains("the budget is 6s there and 3s here"), "{}", stderr(&smaller));
}

#[test]
fn a_run_whose_process_was_stopped_says_so() {
    // On a busy machine a run may still begin, or be over, when it is to be stopped: a longer one does not.
    let mut shown = [1, 6, 30].into_iter().map(stopped_run);
    let says = "  STOPPED     halfpower or the machine was stopped for ";
    assert!(shown.any(|shown| shown.contains(says)), "no run says that it was stopped");
}

/// What a run of so many times three seconds prints that was stopped for three, so many times 0.3 s after its lane began.
fn stopped_run(times: u32) -> String {
    let here = folder();
    let mut child = command(here.path(), &words(&format!("run null: --engine null --runtime {}s", 3 * times)));
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let id = child.id().to_string();
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill").args([name, &id]).status().unwrap();
        assert!(sent.success());
    };
    // The window is open soon after its lane has begun.
    let tasks = format!("/proc/{id}/task");
    let has_lane = || {
        let names = std::fs::read_dir(&tasks).into_iter().flatten().flatten().map(|task| task.path().join("comm"));
        names.into_iter().any(|comm| std::fs::read_to_string(comm).is_ok_and(|name| name.starts_with("lane ")))
    };
    while !has_lane() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300) * times);
    if child.try_wait().unwrap().is_none() {
        signal("-STOP");
        std::thread::sleep(Duration::from_secs(3));
        signal("-CONT");
    }
    text(&child.wait_with_output().unwrap())
}

#[test]
fn an_output_that_takes_nothing_is_named() {
    let here = folder();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = command(here.path(), &words("run null: --engine null --runtime 10ms")).stdout(full).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let said = stderr(&ended);
    assert!(said.contains("standard output cannot be written") && said.contains("No space left"), "{said}");
}

#[test]
fn a_closed_standard_output_is_no_success() {
    let here = folder();
    let line = format!("exec '{}' run null: --engine null --runtime 10ms >&-", env!("CARGO_BIN_EXE_halfpower"));
    let ended = std::process::Command::new("sh").arg("-c").arg(line).current_dir(here.path()).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("standard output cannot be written"), "{}", stderr(&ended));
}

/// Two names that differ in a byte which is no text are two targets.
#[test]
fn targets_are_told_apart_by_their_bytes() {
    use std::os::unix::ffi::OsStringExt;
    let here = folder();
    let name = |byte: u8| std::ffi::OsString::from_vec(vec![b'a', byte]);
    for byte in [0xfe, 0xff] {
        std::fs::write(here.path().join(name(byte)), vec![0; 1 << 20]).unwrap();
    }
    let of = |line: &str, byte: u8| {
        let mut command = command(here.path(), &words(line));
        command.arg(name(byte)).output().unwrap()
    };
    let study = of("study --rw read --bs 64KiB --iodepth 1 --cache both --budget 1s --output n.halfpower", 0xff);
    assert!(study.status.success(), "{}", stderr(&study));
    let other = of("run --rw read --bs 64KiB --cache both --runtime 20ms --output n.halfpower", 0xfe);
    assert_eq!(other.status.code(), Some(2), "{}", text(&other));
    assert!(stderr(&other).contains("is a study of"), "{}", stderr(&other));
    let same = of("run --rw read --bs 64KiB --cache both --runtime 20ms --output n.halfpower", 0xff);
    assert!(same.status.success(), "{}", stderr(&same));
}
