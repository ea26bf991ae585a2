//! Checks that a plan's commands, one by one, make the records that the study makes.

use std::path::Path;
use std::process::Command;

use halfpower_record::{Record, StudyFile};
use tempfile::TempDir;

fn halfpower(folder: &Path, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_halfpower")).current_dir(folder).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn records(file: &Path) -> Vec<Record> {
    let mut records = StudyFile::open(file).unwrap().records().unwrap();
    records.sort_by_key(|record| (record.run.workload, record.run.pass, record.run.repeat));
    records
}

const QUESTION: [&str; 8] =
    ["sim:fixed=80us,rate=500MB/s,noise=3%", "--experiments", "zones", "--rw", "read", "--budget", "20s", "--output"];

#[test]
fn the_commands_of_a_plan_make_the_records_of_the_study() {
    let folder = TempDir::new().unwrap();
    let with = |command: &'static str, file: &'static str| [&[command], &QUESTION[..], &[file]].concat();
    halfpower(folder.path(), &with("study", "whole.halfpower"));
    let plan = halfpower(folder.path(), &with("plan", "parts.halfpower"));
    assert!(plan.lines().count() > 60, "{plan}");
    for line in plan.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        halfpower(folder.path(), &words);
    }
    let [whole, parts] = ["whole.halfpower", "parts.halfpower"].map(|name| records(&folder.path().join(name)));
    assert_eq!(whole, parts);
    // With nothing left to measure, the study only reports.
    let again = halfpower(folder.path(), &with("study", "parts.halfpower"));
    assert!(again.contains("zones"), "{again}");
    assert_eq!(records(&folder.path().join("parts.halfpower")).len(), whole.len());
}

#[test]
fn the_walks_are_planned_as_their_whole_grid() {
    let folder = TempDir::new().unwrap();
    let words = ["plan", "sim:", "--bs", "4KiB..64KiB", "--iodepth", "1..8", "--rw", "read", "--repeats", "2"];
    let plan = halfpower(folder.path(), &words);
    let (comments, plan): (Vec<&str>, Vec<&str>) = plan.lines().partition(|line| line.starts_with('#'));
    assert!(
        comments[0].starts_with("# 80 runs, ") && comments[1].contains("a study chooses from these"),
        "{comments:?}"
    );
    assert_eq!(plan.len(), 2 * 5 * 4 * 2, "{plan:?}");
    assert!(plan.iter().all(|line| line.starts_with("halfpower run sim:") && line.contains(" --runtime ")));
}

#[test]
fn the_help_names_every_experiment_and_engine_that_a_study_takes() {
    let folder = TempDir::new().unwrap();
    let help = halfpower(folder.path(), &["study", "--help"]);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let of = |flag: &str| help.split(flag).nth(1).unwrap().split("[default").next().unwrap();
    for experiment in halfpower_spec::Experiment::ALL {
        assert!(of("--experiments <").contains(experiment.word()), "{experiment}: {help}");
    }
    for engine in
        ["auto", "sync", "pool", "io_uring", "io_uring_sqpoll", "io_uring_iopoll", "io_uring_hybrid", "libaio", "mmap"]
    {
        assert!(of("--engine <").contains(engine), "{engine}: {help}");
    }
}

#[test]
fn the_commands_of_a_plan_of_small_files_make_its_cells() {
    let folder = TempDir::new().unwrap();
    let words = ["plan", ".", "--experiments", "files", "--runtime", "20ms", "--repeats", "1", "--size", "64MiB"];
    let plan = halfpower(folder.path(), &words);
    let line = plan.lines().find(|line| line.contains("--file-operation rename --folders shared"));
    let line = line.unwrap_or_else(|| panic!("{plan}"));
    let words: Vec<&str> = line.split_whitespace().skip(1).chain(["--json"]).collect();
    let run: serde_json::Value = serde_json::from_str(&halfpower(folder.path(), &words)).unwrap();
    assert_eq!((run["engine"].as_str(), run["errors"].as_u64()), (Some("sync"), Some(0)), "{run}");
    assert!(run["ios"].as_u64().unwrap() > 0, "{run}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn no_command_is_printed_for_a_target_that_it_would_not_name() {
    use std::os::unix::ffi::OsStrExt;

    let folder = TempDir::new().unwrap();
    let [comma, plain] = ["one,two", "three"].map(|name| folder.path().join(name));
    let bytes = folder.path().join(std::ffi::OsStr::from_bytes(b"no-utf8-\xff"));
    [&comma, &plain, &bytes].iter().for_each(|name| std::fs::create_dir(name).unwrap());
    for targets in [&[&comma, &plain][..], &[&bytes], &[&plain, &bytes]] {
        let mut plan = Command::new(env!("CARGO_BIN_EXE_halfpower"));
        let output = plan.arg("plan").args(targets).args(["--size", "16MiB", "--bs", "4k"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{targets:?}: {said}");
        assert!(said.contains("no command can name this target"), "{targets:?}: {said}");
    }
    let plan = halfpower(folder.path(), &["plan", "one,two", "--size", "16MiB", "--bs", "4k", "--iodepth", "1"]);
    assert!(plan.contains("one,two"), "alone it is named: {plan}");
}
