//! Watches commands and processes by counters alone, and checks what is told, written and refused.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::program::{command, folder, run};

/// The headings that each screen has.
const HEADINGS: [&str; 6] =
    ["WHAT IT DOES", "WHERE IT WAITS", "WHAT IT USES", "WHAT STOPS IT", "WHO ELSE", "WHAT TO SET"];
const FOREIGN: &str = "what somebody else wrote\n";

fn watch(folder: &Path, words: &[&str]) -> Output {
    run(folder, &[&["watch"], words].concat())
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A process that ends with this value.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a process handles Ctrl-C: until then it would end by it at once.
fn until_it_handles_signals(process: u32) {
    let handles = || {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
        u64::from_str_radix(caught.trim(), 16).is_ok_and(|caught| caught & 0b10 != 0)
    };
    while !handles() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn nobody_who_is_not_there_is_watched() {
    let here = folder();
    for (words, why) in [
        (&[][..], "required"),
        (&["--pid", "1", "--name", "x"], "cannot be used with"),
        (&["--pid", "999999999"], "there is no process 999999999"),
        (&["--name", "no-such-program-here"], "no process runs no-such-program-here"),
        (&["--cgroup", "no-such-group-here"], "--cgroup no-such-group-here"),
        (&["--device", "/dev/no-such-disk"], "/dev/no-such-disk: there is no such block device"),
        (&["--device", "."], "is no block device; --mount"),
        (&["--mount", "/no/such/folder"], "/no/such/folder: name a folder that is there"),
        (&["--mount", "/proc"], "beneath which no disk is known"),
        (&["--no-trace", "--", "/no/such/program"], "/no/such/program: it cannot be started"),
        (&["--pid", "1", "-o", "app.txt"], "app.txt: its name does not say what to write"),
        (&["--show", "no.watch.json"], "no.watch.json cannot be read"),
        (&["--pid", "1", "--names"], "--record"),
        (&["--no-trace", "--pid", "1", "--record", "app.halfpower"], "cannot be used with"),
        (&["--pid", "1", "--record", "a.json", "-o", "a.json"], "--record a.json: -o names the same file"),
    ] {
        let output = watch(here.path(), words);
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""), "{words:?}: {}", told(&output));
        assert!(told(&output).contains(why), "{words:?}: {}", told(&output));
    }
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 0);
}

#[test]
fn a_command_is_watched_to_its_end_and_its_streams_are_its_own() {
    let here = folder();
    let script = "cat; echo complaint >&2; exit 3";
    let mut child = command(here.path(), &["watch", "--no-trace", "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"what it reads\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let screen = out(&output);
    assert!(screen.starts_with("what it reads\n"), "{screen}");
    for heading in HEADINGS {
        assert!(screen.lines().any(|line| line.starts_with(heading)), "{heading}: {screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    assert!(told(&output).lines().any(|line| line == "complaint"), "{}", told(&output));
    assert!(told(&output).contains("ended with exit code 3"), "{}", told(&output));
    assert_eq!(watch(here.path(), &["--no-trace", "--", "true"]).status.code(), Some(0));
}

#[test]
fn a_command_is_waited_for_though_its_watch_cannot_be_told() {
    let here = folder();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let script = "sleep 1; : > ended";
    let mut watching = command(here.path(), &["watch", "--no-trace", "--for", "100ms", "--", "sh", "-c", script]);
    let output = watching.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("standard output cannot be written"), "{}", told(&output));
    assert!(here.path().join("ended").exists(), "it was left behind: {}", told(&output));
}

#[test]
fn what_was_watched_is_told_though_a_file_of_it_cannot_be_written() {
    let here = folder();
    std::os::unix::fs::symlink("/dev/full", here.path().join("full.html")).unwrap();
    let output = watch(here.path(), &["--no-trace", "-o", "full.html", "-o", "app.watch.json", "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("full.html cannot be written: No space left"), "{}", told(&output));
    assert!(told(&output).contains("Written: app.watch.json"), "{}", told(&output));
    let screen = out(&output);
    assert!(HEADINGS.iter().all(|heading| screen.contains(heading)), "{screen}");
    assert_eq!(watch(here.path(), &["--show", "app.watch.json"]).status.code(), Some(0));
}

#[test]
fn a_command_with_an_address_is_watched_and_its_password_is_kept_nowhere() {
    let here = folder();
    let address = "postgresql://ann:hush@server/data";
    let output = watch(here.path(), &["--no-trace", "-o", "seen.json", "--", "true", address]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let kept = fs::read_to_string(here.path().join("seen.json")).unwrap();
    assert!(kept.contains("postgresql://ann:***@server/data") && !kept.contains("hush"), "{kept}");
    assert!(!out(&output).contains("hush") && !told(&output).contains("hush"), "{}", out(&output));
    // Words of its own are looked at.
    let refused = watch(here.path(), &["--mount", "smb://ann:hush@server/data", "--no-trace"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        told(&refused).contains("must not hold a password") && !told(&refused).contains("hush"),
        "{}",
        told(&refused)
    );
}

#[test]
fn a_watch_that_ends_before_its_command_waits_for_it() {
    let here = folder();
    let words = ["watch", "--no-trace", "--for", "100ms", "--", "sh", "-c", "read line; echo late; exit 4"];
    let mut child = command(here.path(), &words);
    let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("WHAT TO SET") {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "the answer comes before the command's end");
    }
    child.stdin.take().unwrap().write_all(b"now\n").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(rest.ends_with("late\n"), "{rest}");
    assert!(told(&output).contains("sh (process ") && told(&output).contains("exit code 4"), "{}", told(&output));
}

#[test]
fn bytes_are_counted_without_events_also_of_children_that_have_ended() {
    let here = folder();
    let line = "dd if=/dev/zero of=data bs=1M count=8 conv=fsync 2>dd.txt";
    let began = std::time::Instant::now();
    let output = watch(here.path(), &["--no-trace", "--json", "--", "sh", "-c", line]);
    assert!(output.status.success(), "{}", told(&output));
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let counters = &findings["counters"];
    // The watch took no longer than this: the megabytes count, however fast they were.
    let most_s = began.elapsed().as_secs_f64();
    assert!(counters["own_mbps"]["value"].as_f64().is_some_and(|mbps| mbps * most_s > 7.0), "{counters:#}");
    assert!(counters["processors"].as_f64().is_some_and(|busy| busy > 0.0), "{counters:#}");
}

#[test]
fn what_was_seen_is_written_and_shown_again() {
    let here = folder();
    let here = here.path();
    let files = ["-o", "app.watch.json", "-o", "app.watch.html"];
    let output = watch(here, &[&["--no-trace"], &files[..], &["--", "sh", "-c", "true"]].concat());
    assert!(output.status.success(), "{}", told(&output));
    assert!(fs::read_to_string(here.join("app.watch.html")).unwrap().starts_with("<!DOCTYPE html>"));
    let again = watch(here, &["--show", "app.watch.json"]);
    assert_eq!((again.status.code(), out(&again)), (Some(0), out(&output)), "{}", told(&again));
    let json = watch(here, &["--show", "app.watch.json", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["subject"]["ended"], "exit code 0");
    let written = watch(here, &["--show", "app.watch.json", "-o", "-"]);
    assert_eq!(written.stdout, fs::read(here.join("app.watch.json")).unwrap());
    let both = watch(here, &["--show", "app.watch.json", "-o", "-", "--json"]);
    assert!(both.status.code() == Some(2) && told(&both).contains("only one can go there"), "{}", told(&both));
    let page = watch(here, &["--show", "app.watch.json", "-o", "other.html"]);
    assert!(page.status.success(), "{}", told(&page));
    assert_eq!(fs::read(here.join("other.html")).unwrap(), fs::read(here.join("app.watch.html")).unwrap());
}

#[test]
fn no_foreign_file_is_replaced_and_nothing_is_started_before_that_is_known() {
    let here = folder();
    let here = here.path();
    for name in ["app.json", "app.html"] {
        fs::write(here.join(name), FOREIGN).unwrap();
        let words = ["--no-trace", "-o", name, "--", "touch", "started"];
        let refused = watch(here, &words);
        assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
        assert!(told(&refused).contains(name) && told(&refused).contains("--force"), "{}", told(&refused));
        assert_eq!(fs::read_to_string(here.join(name)).unwrap(), FOREIGN);
        assert!(!here.join("started").exists());
        // With --force it is replaced, and then it is our own.
        assert!(watch(here, &[&["--force"], &words[..]].concat()).status.success());
        assert_ne!(fs::read_to_string(here.join(name)).unwrap(), FOREIGN);
        assert!(watch(here, &words).status.success());
        fs::remove_file(here.join("started")).unwrap();
    }
    fs::write(here.join("app.halfpower"), FOREIGN).unwrap();
    let refused = watch(here, &["--record", "app.halfpower", "--", "touch", "started"]);
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
    assert!(told(&refused).contains("is not a capture that halfpower made"), "{}", told(&refused));
    assert!(!here.join("started").exists());
    let own = ["--show", "app.json", "-o", "app.json"];
    assert!(told(&watch(here, &own)).contains("the same file as app.json"));
}

#[test]
fn operations_are_kept_or_it_is_said_before_why_not() {
    let here = folder();
    let here = here.path();
    // The second one replaces the first one's file.
    for _ in 0..2 {
        let output = watch(here, &["--record", "app.halfpower", "--", "sh", "-c", "echo data > started"]);
        if halfpower_os::trace::available().is_err() {
            assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""), "{}", told(&output));
            assert!(told(&output).contains("--record: ") && told(&output).contains("strace -f"), "{}", told(&output));
            assert_eq!(fs::read_dir(here).unwrap().count(), 0, "nothing was started");
            continue;
        }
        assert!(output.status.success(), "{}", told(&output));
        assert!(told(&output).contains("Kept in app.halfpower: "), "{}", told(&output));
        let captured = halfpower_record::read_capture(&here.join("app.halfpower")).unwrap();
        assert!(captured.files.iter().all(|file| file.name.is_none()), "{captured:?}");
    }
}

#[test]
fn a_file_of_somebody_else_drives_no_terminal() {
    let here = folder();
    let here = here.path();
    assert!(watch(here, &["--no-trace", "-o", "app.json", "--", "true"]).status.success());
    let text = fs::read_to_string(here.join("app.json")).unwrap();
    let at = text.find("\"asked\":\"").unwrap() + "\"asked\":\"".len();
    let end = at + text[at..].find('"').unwrap();
    let hostile = format!("{}\\u001b[2Jx\\u202e{}", &text[..at], &text[end..]);
    let hostile = hostile.replacen("\"name\":\"", "\"name\":\"\\u001b[31m", 1);
    fs::write(here.join("hostile.json"), hostile).unwrap();
    for more in [&[][..], &["--json"]] {
        let output = watch(here, &[&["--show", "hostile.json"], more].concat());
        assert!(output.status.success(), "{}", told(&output));
        assert!(!out(&output).contains(['\u{1b}', '\u{202e}']), "{}", out(&output));
    }
    fs::write(here.join("foreign.json"), FOREIGN).unwrap();
    let output = watch(here, &["--show", "foreign.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("foreign.json is not a file of `halfpower watch`"), "{}", told(&output));
}

#[test]
fn ctrl_c_ends_the_watch_and_not_whom_it_watches() {
    let here = folder();
    let mut sleeper = Sleeper::new();
    let id = sleeper.0.id().to_string();
    let mut child = command(here.path(), &["watch", "--no-trace", "--pid", &id, "--for", "600s"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_it_handles_signals(child.id());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert!(out(&output).contains("WHAT STOPS IT"), "{}", out(&output));
    assert!(sleeper.0.try_wait().unwrap().is_none(), "it goes on");
}

#[test]
fn ctrl_c_ends_a_command_with_its_watch() {
    let here = folder();
    let words = ["watch", "--no-trace", "--", "sh", "-c", "echo $$; exec sleep 600"];
    let mut child = command(here.path(), &words);
    // A terminal sends Ctrl-C to all processes of the group.
    let mut child = child.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    let mut screen = String::new();
    stdout.read_to_string(&mut screen).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert!(screen.contains("WHAT STOPS IT"), "{screen}");
    assert!(!Path::new(&format!("/proc/{}", line.trim())).exists(), "the command has ended");
}
