//! Gives the program names, studies and files that somebody made to drive a terminal, a shell or the memory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

use halfpower_record::{Environment, Latency, Level, Machine, Record, StudyFile};
use halfpower_spec::{Bytes, EngineName, Experiment, Nanos, Pass, Question, Run, Rw, Workload, is_unseen};

use crate::program::{folder, run};

/// Turns a terminal red, clears it, turns the direction of writing, and hides.
const HOSTILE: &str = "x\u{1b}[31m\u{1b}[2J\u{9b}2J\u{7f}\u{202e}evil\u{2066}\u{200b}\u{feff}";

/// What the program prints, which must drive no terminal.
fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    let unseen = |c: &char| is_unseen(*c) && *c != '\n' && *c != '\t';
    let found: String = text.lines().filter(|line| line.chars().any(|c| unseen(&c))).collect();
    assert!(found.is_empty(), "{found:?}");
    text
}

/// A study with hostile texts wherever a study has texts; `target` is its target.
fn forged(path: &Path, target: &str) {
    let question = Question::about(target);
    let level = Level { name: HOSTILE.into(), source: HOSTILE.into(), ..Level::default() };
    let machine = Machine { kernel: HOSTILE.into(), cpu_model: HOSTILE.into(), cpus: 2, ..Machine::default() };
    let environment =
        Environment { machine, levels: vec![level], notes: vec![HOSTILE.into()], ..Environment::default() };
    let mut file = StudyFile::create(path, &question, &environment).unwrap();
    let record = |bs: u64, repeat: u32| {
        let workload = Workload { rw: Rw::Read, bs: Bytes(bs), ..Workload::default() };
        let experiment = Some(Experiment::Sequential);
        let runtime = Nanos(300_000_000);
        let run = Run { experiment, workload, repeat, pass: Pass::Plain, runtime, seed: 1 };
        let mut latency = Latency::default();
        (0..100).for_each(|step| latency.add(100_000 + step * 100));
        let errors = [(HOSTILE.to_string(), 1)].into();
        Record {
            latency,
            errors,
            ios: 100,
            bytes: 100 * bs,
            elapsed_ns: 300_000_000,
            span_bytes: 1 << 30,
            ..Record::empty(run, EngineName::IoUring)
        }
    };
    let records: Vec<Record> = (12..18)
        .flat_map(|power| (0..3).map(move |repeat| (1 << power, repeat)))
        .map(|(bs, repeat)| record(bs, repeat))
        .collect();
    file.append_all(&records).unwrap();
}

#[test]
fn what_is_generated_follows_no_link_and_replaces_what_was_there() {
    let here = folder();
    let pages = here.path().join("pages");
    fs::create_dir(&pages).unwrap();
    for (what, name) in [("man", "halfpower.1"), ("completions", "halfpower.bash"), ("schema", "run.json")] {
        let theirs = here.path().join(format!("{what}-of-theirs"));
        fs::write(&theirs, "theirs").unwrap();
        symlink(&theirs, pages.join(name)).unwrap();
        for _ in 0..2 {
            let output = run(here.path(), &["generate", what, "pages"]);
            assert!(output.status.success(), "{}", said(&output));
            assert!(pages.join(name).symlink_metadata().unwrap().is_file(), "{name}");
        }
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs", "{name}");
    }
}

#[test]
fn no_text_of_a_study_drives_a_terminal() {
    let folder = folder();
    let here = folder.path();
    forged(&here.join("a.halfpower"), &format!("/srv/{HOSTILE}"));
    forged(&here.join("b.halfpower"), &format!("/srv/{HOSTILE}"));
    for words in [
        &["report", "a.halfpower"][..],
        &["report", "a.halfpower", "--full"],
        &["report", "a.halfpower", "--warnings"],
        &["compare", "a.halfpower", "b.halfpower"],
        &["compare", "a.halfpower", "b.halfpower", "--markdown"],
        &["history", "a.halfpower", "b.halfpower"],
        &["history", ".", "--no-index"],
        &["calibrate", "a.halfpower"],
        &["report", HOSTILE],
        &["study", "--x", HOSTILE],
        &[HOSTILE],
    ] {
        said(&run(here, words));
    }
    for words in [&["report", "a.halfpower", "--json"][..], &["export", "a.halfpower", "--format", "json"]] {
        let text = said(&run(here, words));
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(
            json.to_string().contains(HOSTILE.split('\u{1b}').next_back().unwrap()),
            "{words:?}: the text is another"
        );
    }
    // A file that goes to another program is the same as one that is written.
    let piped = run(here, &["export", "a.halfpower", "--format", "csv"]).stdout;
    assert!(run(here, &["export", "a.halfpower", "--format", "csv", "-o", "a.csv"]).status.success());
    assert!(fs::read(here.join("a.csv")).unwrap() == piped);
}

#[test]
fn the_name_of_a_folder_drives_no_terminal() {
    let folder = folder();
    let here = folder.path();
    fs::create_dir(here.join(HOSTILE)).unwrap();
    let plan = run(here, &["plan", HOSTILE, "--bs", "4k", "--iodepth", "1", "--budget", "5s"]);
    let text = said(&plan);
    assert!(plan.status.success() && text.contains(r"/x\x1b[31m\x1b[2J"), "{text}");
    assert!(text.contains("halfpower run $'"), "the command can be copied: {text}");
    said(&run(here, &["run", HOSTILE, "--size", "1MiB", "--rw", "read", "--runtime", "0.05"]));
    said(&run(here, &["probe", HOSTILE]));
    said(&run(here, &["study", HOSTILE, "--budget", "1"]));
    let file = format!("{HOSTILE}/f");
    fs::write(here.join(&file), vec![0; 1 << 20]).unwrap();
    said(&run(here, &["run", &file, "--rw", "write", "--runtime", "0.05"]));
}

#[test]
fn what_another_tool_says_of_itself_drives_no_terminal() {
    let folder = folder();
    let here = folder.path();
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../dialects/tests/data/fio.json")).unwrap();
    let version = text.lines().find(|line| line.contains("\"fio version\"")).unwrap();
    let hostile: String = HOSTILE.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    fs::write(here.join("fio.json"), text.replace(version, &format!("\"fio version\" : \"fio-{hostile}\","))).unwrap();
    let output = run(here, &["import", "fio.json", "-o", "i.halfpower"]);
    assert!(output.status.success(), "{}", said(&output));
    said(&output);
    said(&run(here, &["report", "i.halfpower", "--full"]));
}

#[test]
fn a_target_that_looks_like_an_option_is_offered_as_none() {
    let folder = folder();
    let here = folder.path();
    forged(&here.join("-a.halfpower"), "--far-end=/evil");
    let output = run(here, &["report", "./-a.halfpower", "--html", "page.html"]);
    assert!(output.status.success(), "{}", said(&output));
    let page = fs::read_to_string(here.join("page.html")).unwrap();
    assert!(page.contains("./--far-end=/evil"), "no command is offered");
    for command in ["halfpower run --far-end", "halfpower study --far-end", "halfpower run '--far"] {
        assert!(!page.contains(command), "{command}");
    }
}

#[test]
fn a_secret_is_not_repeated() {
    let folder = folder();
    let here = folder.path();
    let text =
        said(&run(here, &["run", "null:", "--rw", "read", "--runtime", "0.05", "--far-end", "SSHPASS=geheim false"]));
    assert!(text.contains("SSHPASS=*** false") && !text.contains("geheim"), "{text}");
    for line in ["filename=smb://u:geheim@nas/s", "smb://u:geheim@nas/s", "bs=smb://u:geheim@nas/s"] {
        fs::write(here.join("job.fio"), format!("[read]\nrw=read\n{line}\n")).unwrap();
        let output = run(here, &["run", "job.fio"]);
        let text = said(&output);
        assert!(output.status.code() == Some(2) && !text.contains("geheim"), "{line}: {text}");
    }
}

#[test]
fn a_file_without_end_is_not_read_to_its_end() {
    let folder = folder();
    let here = folder.path();
    for name in ["job.fio", "system.toml", "results"] {
        symlink("/dev/zero", here.join(name)).unwrap();
    }
    for words in [
        &["run", "job.fio"][..],
        &["plan", "sim:system.toml"],
        &["import", "results", "-o", "i.halfpower"],
        &["sqlio", "-kR", "-Fresults"],
    ] {
        let output = run(here, words);
        let text = said(&output);
        assert!(output.status.code() == Some(2) && text.contains("device"), "{words:?}: {text}");
    }
}
