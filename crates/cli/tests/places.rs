//! Checks that studies resume only where they began, and that a finished study is reported without measuring.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use halfpower_record::{Environment, PlaceIdentity, StudyFile};
use serde_json::Value;

use crate::program::{command, folder, run, skip};

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Begins a study and kills it after some records; also returns its words with the budget that was enough for them.
fn begin<'a>(folder: &Path, words: &[&'a str], records: usize) -> (PathBuf, Vec<&'a str>) {
    for budget in ["3s", "12s", "60s", "300s"] {
        let words = [words, &["--budget", budget]].concat();
        if let Some(file) = begun(folder, &words, records) {
            return (file, words);
        }
        // On a slow disk, or while this process waited, the study came to its end.
        for ended in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if ended.file_stem().is_some_and(|name| name == "study") {
                fs::remove_file(ended).unwrap();
            }
        }
    }
    panic!("each study ended before it was killed");
}

/// The file of a study that was killed after some records; nothing if it ended before.
fn begun(folder: &Path, words: &[&str], records: usize) -> Option<PathBuf> {
    let mut child = command(folder, words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let file = folder.join("study.halfpower");
    loop {
        // The file's length shows its records without opening the study: what checks found takes some 50 kB before them.
        let long = fs::metadata(&file).map_or(0, |metadata| metadata.len());
        if long > 70_000 + 20_000 * records as u64 {
            break;
        }
        if let Some(ended) = child.try_wait().unwrap() {
            assert!(ended.success(), "{ended}");
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    if child.wait().unwrap().success() {
        return None;
    }
    assert!(!StudyFile::open_mended(&file).unwrap().records().unwrap().is_empty());
    Some(file)
}

const SMALL: [&str; 6] = ["--size", "64MiB", "--bs", "4KiB,64KiB", "--rw", "read"];

#[test]
fn a_finished_study_is_told_again_with_its_date_and_nothing_is_measured() {
    let folder = folder();
    let here = folder.path();
    fs::create_dir(here.join("data")).unwrap();
    let words = [&["study", "data", "--budget", "2s"][..], &SMALL].concat();
    assert!(run(here, &words).status.success());
    let before = fs::read(here.join("study.halfpower")).unwrap();
    let again = run(here, &words);
    let reported = said(&again);
    assert!(
        again.status.success() && reported.contains("was finished on 20") && reported.contains("--again"),
        "{reported}"
    );
    let json = run(here, &[&words[..], &["--json"]].concat());
    let findings: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(findings["repeated"]["finished_unix_ms"].as_u64().unwrap() > 1_600_000_000_000, "{findings}");
    assert!(findings["target"].is_string());
    assert!(String::from_utf8_lossy(&json.stderr).contains("nothing was measured now"));
    assert!(fs::read(here.join("study.halfpower")).unwrap() == before);

    let anew = run(here, &[&words[..], &["--again"]].concat());
    assert!(anew.status.success() && !said(&anew).contains("was finished on"), "{}", said(&anew));
    assert!(here.join("study-2.halfpower").exists() && here.join("study-2.html").exists());
    assert!(fs::read(here.join("study.halfpower")).unwrap() == before);
}

#[test]
fn another_machine_kernel_or_disk_is_refused_and_named() {
    let folder = folder();
    let here = folder.path();
    fs::create_dir(here.join("data")).unwrap();
    let (file, words) = begin(here, &[&["study", "data"][..], &SMALL].concat(), 1);
    let begun = StudyFile::open(&file).unwrap();
    let place = begun.environment().place.clone();
    let records = begun.records().unwrap();
    let at = |name: &str, place: PlaceIdentity| {
        let environment = Environment { place, ..begun.environment().clone() };
        StudyFile::create(&here.join(name), begun.question(), &environment).unwrap().append_all(&records).unwrap();
        let output = run(here, &[&words[..], &["--output", name]].concat());
        (output.status.code(), said(&output))
    };
    let other = || Some("other".to_string());
    let mut disk = place.clone();
    disk.members[0].device = other();
    let elsewhere = [
        (PlaceIdentity { machine: other(), ..place.clone() }, place.machine.is_some(), "the machine is other there"),
        (PlaceIdentity { kernel: other(), ..place.clone() }, true, "the kernel is other there"),
        (disk, place.members[0].device.is_some(), "is other there"),
    ];
    for (number, (place, known, expected)) in elsewhere.into_iter().enumerate() {
        let (code, reported) = at(&format!("other-{number}.halfpower"), place);
        assert!(
            !known || code == Some(2) && reported.contains(expected) && reported.contains("--output"),
            "{reported}"
        );
    }
    // An early file without a place identity still resumes; so does a file at its own place.
    assert_eq!(at("old.halfpower", PlaceIdentity::default()).0, Some(0));
    assert!(run(here, &words).status.success());
}

#[test]
fn a_single_run_is_added_only_where_the_study_was_begun_and_over_its_span() {
    let folder = folder();
    let here = folder.path();
    fs::create_dir(here.join("data")).unwrap();
    let few = ["--size", "16MiB", "--bs", "4KiB", "--iodepth", "1", "--rw", "read"];
    assert!(run(here, &[&["plan", "data"][..], &few, &["--output", "s.halfpower"]].concat()).status.success());
    let begun = StudyFile::open(&here.join("s.halfpower")).unwrap();
    let place = PlaceIdentity { kernel: Some("other".to_string()), ..begun.environment().place.clone() };
    let environment = Environment { place, ..begun.environment().clone() };
    StudyFile::create(&here.join("other.halfpower"), begun.question(), &environment).unwrap();
    drop(begun);
    let records = |name: &str| StudyFile::open(&here.join(name)).unwrap().records().unwrap().len();
    let add = |name: &str, more: &[&str]| {
        let words = ["run", "data", "--bs", "4KiB", "--cache", "both", "--runtime", "50ms", "--output", name];
        run(here, &[&words[..], more].concat())
    };
    let size = ["--size", "16MiB"];
    assert!(add("s.halfpower", &size).status.success());
    for (name, more, expected, kept) in [
        ("s.halfpower", &["--repeat", "1", "--size", "32MiB"][..], "the size is 16MiB there and 32MiB here", 1),
        ("s.halfpower", &["--repeat", "1"], "the size is 16MiB there and not set here", 1),
        ("s.halfpower", &["--repeat", "1", "--size", "16MiB", "--spread"], "in pieces here", 1),
        ("other.halfpower", &size, "the kernel is other there", 0),
    ] {
        let output = add(name, more);
        let reported = said(&output);
        assert!(output.status.code() == Some(2) && reported.contains(expected), "{more:?}: {reported}");
        assert_eq!(records(name), kept, "{more:?}");
    }
    assert!(add("s.halfpower", &["--repeat", "1", "--size", "16MiB"]).status.success());
    assert_eq!(records("s.halfpower"), 2);
}

#[test]
fn the_span_is_the_studys_and_not_that_of_its_first_record() {
    let folder = folder();
    let here = folder.path();
    fs::create_dir(here.join("data")).unwrap();
    let (file, words) = begin(here, &[&["study", "data"][..], &SMALL].concat(), 1);
    let begun = StudyFile::open(&file).unwrap();
    let mut records = begun.records().unwrap();
    // In a study of the memory experiment, the first record's span is the memory that it used.
    records[0].span_bytes = 80 << 20;
    let mut copy = StudyFile::create(&here.join("copy.halfpower"), begun.question(), begun.environment()).unwrap();
    copy.append_all(&records).unwrap();
    drop(copy);
    assert!(run(here, &[&words[..], &["--output", "copy.halfpower"]].concat()).status.success());
    let resumed = StudyFile::open(&here.join("copy.halfpower")).unwrap();
    let later = resumed.records().unwrap().split_off(records.len());
    assert!(!later.is_empty() && later.iter().all(|record| record.span_bytes == 64 << 20));
    assert!(resumed.environments().iter().all(|environment| environment.capabilities.span.0 == 64 << 20));
}

/// A separate mounted file system.
struct Mounted {
    point: PathBuf,
}

impl Mounted {
    fn new(image: &Path, point: &Path) -> Result<Self, String> {
        let done = |command: &mut Command| match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
            Err(error) => Err(error.to_string()),
        };
        if !image.exists() {
            fs::File::create(image).unwrap().set_len(96 << 20).unwrap();
            done(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(image))?;
        }
        fs::create_dir_all(point).unwrap();
        done(Command::new("mount").args(["-o", "loop"]).arg(image).arg(point))?;
        Ok(Self { point: point.to_path_buf() })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // The kernel releases a killed process's requests a moment later.
        for _ in 0..100 {
            if Command::new("umount").arg(&self.point).output().is_ok_and(|output| output.status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = Command::new("umount").arg("--lazy").arg(&self.point).status();
    }
}

#[test]
fn another_disk_on_the_same_path_is_refused() {
    let folder = folder();
    let here = folder.path();
    let point = here.join("disk");
    let first = match Mounted::new(&here.join("first"), &point) {
        Ok(mounted) => mounted,
        Err(why) => return skip(&format!("no file system can be mounted here: {why}")),
    };
    let (file, words) = begin(here, &[&["study", "disk"][..], &SMALL].concat(), 1);
    drop(first);
    let second = Mounted::new(&here.join("second"), &point).unwrap();
    let before = fs::read(&file).unwrap();
    let output = run(here, &words);
    let reported = said(&output);
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains("was measured elsewhere") && reported.contains("the file system of"), "{reported}");
    assert!(reported.contains("--output"), "{reported}");
    assert!(fs::read(&file).unwrap() == before);
    drop(second);
    let _first = Mounted::new(&here.join("first"), &point).unwrap();
    let output = run(here, &words);
    assert!(output.status.success(), "{}", said(&output));
}
