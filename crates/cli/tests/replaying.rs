//! Asks captures again with `halfpower run --workload`, and checks what is told, written and refused.

use std::fs::{self, File};
use std::path::Path;
use std::process::Output;

use halfpower_record::{Captured, CapturedFile, CapturedOperation, OperationKind, read_capture, write_capture};
use serde_json::Value;

use crate::program::{folder, run};

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A lane that reads directly, and one that writes and syncs, as `app.halfpower` in this folder.
fn kept(folder: &Path) -> Captured {
    let operation = |lane, at_ns, kind, file, bytes| CapturedOperation {
        slice: 0,
        lane,
        at_ns,
        took_ns: 100_000,
        kind,
        file,
        offset: 8192,
        bytes,
        cached: false,
    };
    let captured = Captured {
        subject: "postgres".to_string(),
        slices: vec![2_000_000],
        files: vec![
            CapturedFile { bytes: 1 << 20, direct: true, name: None },
            CapturedFile { bytes: 8192, direct: false, name: None },
        ],
        lanes: 2,
        operations: vec![
            operation(0, 0, OperationKind::Read, 0, 4096),
            operation(1, 0, OperationKind::Write, 1, 4096),
            operation(1, 200_000, OperationKind::Fdatasync, 1, 0),
        ],
        ..Captured::default()
    };
    write_capture(&captured, File::create(folder.join("app.halfpower")).unwrap()).unwrap();
    captured
}

#[test]
fn a_capture_is_asked_again_and_leaves_only_what_was_asked_for() {
    let here = folder();
    let before = kept(here.path());
    fs::create_dir(here.path().join("new")).unwrap();
    let words = ["run", "--workload", "app.halfpower", "new", "--time", "2s", "-o", "again.halfpower"];
    let output = run(here.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = out(&output);
    assert!(text.starts_with("postgres, asked again in new: "), "{text}");
    for word in ["direct read 4 KiB", "write 4 KiB", "fdatasync", "captured", "here", "in flight"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(told(&output).contains("laying out") && told(&output).contains("Written: again.halfpower"));
    assert_eq!(fs::read_dir(here.path().join("new")).unwrap().count(), 0);
    let again = read_capture(&here.path().join("again.halfpower")).unwrap();
    let commits: Vec<OperationKind> =
        again.operations.iter().filter(|operation| operation.lane == 1).map(|operation| operation.kind).collect();
    let expected = [OperationKind::Write, OperationKind::Fdatasync];
    assert!(commits.chunks(2).all(|pair| pair == &expected[..pair.len()]), "each flush follows its write: {commits:?}");
    assert_eq!((again.subject, again.files), (before.subject, before.files));
    // What came of it can be asked again, also as JSON alone, twice as fast, each operation at its time.
    let mut values = ["1s", "20s", "60s"].into_iter().map(|time| {
        let words = ["run", "--workload=again.halfpower", "new", "-d", time, "--speed", "2x", "--open", "--json"];
        let output = run(here.path(), &[&words[..], &["--html", "a.html"]].concat());
        assert_eq!((output.status.code(), told(&output).as_str()), (Some(0), ""));
        let _ = fs::rename(here.path().join("a.html"), here.path().join("page.html"));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    });
    // On a slow disk nothing may end within a short time.
    let has_some = |value: &Value| value["whole"]["after"]["operations"].as_u64() > Some(0);
    let value = values.find(has_some).expect("operations that were asked again");
    assert_eq!(
        (&value["asked"]["speed"], &value["asked"]["open"], &value["source"]),
        (&2.0.into(), &true.into(), &"replay".into())
    );
    let page = fs::read_to_string(here.path().join("page.html")).unwrap();
    for told in ["postgres, asked again in", "direct read 4 KiB", "Operations were due 2.00 times as often"] {
        assert!(page.contains(told), "{told} is missing");
    }
}

#[test]
fn what_came_of_it_is_told_though_its_page_cannot_be_written() {
    let here = folder();
    kept(here.path());
    std::os::unix::fs::symlink("/dev/full", here.path().join("full.html")).unwrap();
    let line = "run --workload app.halfpower . -d 200ms -o again.halfpower --html full.html";
    let output = run(here.path(), &line.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(out(&output).starts_with("postgres, asked again in "), "{}", out(&output));
    assert!(told(&output).contains("full.html cannot be written: No space left"), "{}", told(&output));
    assert!(told(&output).contains("Written: again.halfpower"), "{}", told(&output));
}

#[test]
fn what_a_capture_leaves_nothing_to_say_about_is_refused_in_a_sentence() {
    let here = folder();
    kept(here.path());
    fs::write(here.path().join("other"), "somebody's").unwrap();
    let names = || fs::read_dir(here.path()).unwrap().count();
    let before = names();
    for (words, why) in [
        (&["--workload", "app.halfpower", ".", "--bs", "4k"][..], "--bs does not go with --workload"),
        (&["--workload", "app.halfpower", ".", "-b", "4k"], "-b does not go with --workload"),
        (&["--workload", "app.halfpower", ".", "--overwrite"], "--overwrite: files of our own"),
        (&["--workload", "app.halfpower", ".", "--iodepth", "4"], "the capture says who issued"),
        (&["--workload", "app.halfpower", ".", "--cache", "os"], "take both or device"),
        (&["--workload", "app.halfpower", ".", "--sped", "2x"], "--speed"),
        (&["--workload", "app.halfpower", "other"], "name a folder on the path"),
        (&["--workload", "app.halfpower", "sim:"], "halfpower predict FILE --on sim:"),
        (&["--workload", "app.halfpower", "smb://server/share"], "name a folder"),
        (&["--workload", "app.halfpower", "none"], "none does not exist"),
        (&["--workload", "other", "."], "other"),
        (&["--workload", "app.halfpower", ".", "-o", "other"], "other"),
        (&["--workload", "app.halfpower", ".", "-o", "app.halfpower"], "app.halfpower"),
        (&["--workload", "app.halfpower", ".", "--html", "other"], "other"),
        (&["--workload", "app.halfpower", ".", "--html", "app.halfpower"], "app.halfpower"),
        (&["--workload", "app.halfpower", ".", "--html", "new", "-o", "new"], "name two files"),
        (&["--workload", "app.halfpower", ".", "--speed", "0"], "such as 2x"),
    ] {
        let output = run(here.path(), &[&["run"], words].concat());
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""), "{words:?}: {}", told(&output));
        assert!(told(&output).contains(why), "{words:?}: {}", told(&output));
    }
    assert_eq!(names(), before);
    assert_eq!(fs::read(here.path().join("other")).unwrap(), b"somebody's");
}

#[test]
fn its_help_has_its_flags_and_that_of_run_leads_there() {
    let here = folder();
    let own = out(&run(here.path(), &["run", "--workload", "app.halfpower", "--help"]));
    assert!(own.contains("--speed") && own.contains("--runtime") && !own.contains("--bs "), "{own}");
    let of_run = out(&run(here.path(), &["run", "--help"]));
    assert!(of_run.contains("--workload <FILE>") && of_run.contains("--iodepth"), "{of_run}");
}

#[test]
fn a_log_of_fio_is_asked_again_of_the_file_that_is_there() {
    let here = folder();
    let data = here.path().join("data");
    fs::write(&data, vec![7; 1 << 20]).unwrap();
    let log = |action: &str, offset: u64| {
        let lines = format!(
            "fio version 2 iolog\n{0} add\n{0} open\n{0} {action} {offset} 4096\n{0} {action} 0 4096\n{0} close\n",
            data.display()
        );
        fs::write(here.path().join("log"), lines).unwrap();
    };
    let asked_for = |time: &str, more: &[&str]| {
        let words = ["run", "--workload", "log", "data", "--cache", "both", "-d", time, "--json"];
        run(here.path(), &[&words, more].concat())
    };
    let asked = |more: &[&str]| asked_for("200ms", more);
    log("read", 8192);
    let output = asked(&["--no-pauses", "--iodepth", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let document: Value = serde_json::from_str(&out(&output)).unwrap();
    assert!(document.to_string().contains("\"pauses\":false"), "{document}");
    log("write", 8192);
    let refused = asked(&["--open"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(told(&refused).contains("--overwrite"), "{}", told(&refused));
    assert!(fs::read(&data).unwrap().iter().all(|byte| *byte == 7), "nothing was written");
    // On a slow disk both writes may not come within a short time.
    let has_both = |time: &str| {
        let written = asked_for(time, &["--open", "--overwrite"]);
        assert_eq!(written.status.code(), Some(0), "{}", told(&written));
        let bytes = fs::read(&data).unwrap();
        let is_new = |from: usize| bytes[from..from + 4096].iter().any(|byte| *byte != 7);
        assert!(!is_new(4096) && bytes.len() == 1 << 20, "where the log says");
        is_new(0) && is_new(8192)
    };
    assert!(["200ms", "4s", "60s"].into_iter().any(has_both), "where the log says");
    log("read", 1 << 20);
    let beyond = asked(&["--open"]);
    assert!(beyond.status.code() == Some(2) && told(&beyond).contains("data ends at 1 MiB"), "{}", told(&beyond));
    log("read", 8192);
    let line = ["run", "--name=a", "--read_iolog=log", "--runtime=200ms", "--iodepth=2"];
    let output = run(here.path(), &line);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(
        out(&output).contains("fio, asked again in ") && told(&output).contains("read_iolog: "),
        "{}",
        out(&output)
    );
}
