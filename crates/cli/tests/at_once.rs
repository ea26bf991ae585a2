//! Runs jobs of fio that are measured at the same time, and checks what each tells.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::{folder, run};

/// Runs a job file of this text in `folder`, with results as fio's JSON.
fn conducted(folder: &Path, jobs: &str, words: &[&str]) -> Output {
    std::fs::write(folder.join("jobs.fio"), jobs).unwrap();
    run(folder, &[&["run", "jobs.fio"][..], words].concat())
}

fn document(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

const JSON: &[&str] = &["--output-format=json"];

/// The first job would take ten minutes, and ends with the second.
#[test]
fn jobs_at_once_have_a_window_in_common_and_each_its_own_figures() {
    let here = folder();
    let jobs = "[global]\nsize=4m\nbs=4k\ndirect=1\nexitall\n[long]\nrw=randread\ntime_based\nruntime=600\n[short]\nrw=write\nbs=64k\n";
    // The short job may be over before the long one has had a processor.
    let has_read = |told: &Value| told["jobs"][0]["read"]["total_ios"].as_u64() > Some(0);
    let mut tried = (0..20).map(|_| document(&conducted(here.path(), jobs, JSON)));
    let told = tried.find(has_read).expect("reads of the long job");
    let [long, short] = &told["jobs"].as_array().unwrap()[..] else { panic!("two entries: {told}") };
    assert_eq!((&long["jobname"], &short["jobname"]), (&Value::from("long"), &Value::from("short")));
    assert_eq!((&long["groupid"], &short["groupid"]), (&Value::from(0), &Value::from(0)));
    assert_eq!(short["write"]["io_bytes"], Value::from(4 << 20), "it ends by what it has moved");
    assert_eq!((&short["read"]["total_ios"], &long["write"]["total_ios"]), (&Value::from(0), &Value::from(0)));
    assert!(long["job_runtime"].as_u64().unwrap() < 600_000, "{long}");
    let left: Vec<_> = std::fs::read_dir(here.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["jobs.fio"], "nothing is left behind");
}

#[test]
fn a_group_is_one_entry_where_its_report_is_asked_for() {
    let here = folder();
    let jobs = "[global]\nioengine=null\nsize=1m\nbs=4k\ndirect=1\ngroup_reporting\n[a]\nrw=read\n[b]\nrw=write\n[c]\nstonewall\nrw=read\n";
    let told = document(&conducted(here.path(), jobs, JSON));
    let [both, alone] = &told["jobs"].as_array().unwrap()[..] else { panic!("two entries: {told}") };
    assert_eq!((&both["jobname"], &alone["jobname"]), (&Value::from("a"), &Value::from("c")));
    assert_eq!((&both["groupid"], &alone["groupid"]), (&Value::from(0), &Value::from(1)));
    assert_eq!((&both["read"]["io_bytes"], &both["write"]["io_bytes"]), (&Value::from(1 << 20), &Value::from(1 << 20)));
    let lines = conducted(here.path(), jobs, &["--minimal"]);
    assert_eq!(String::from_utf8_lossy(&lines.stdout).lines().count(), 2, "{lines:?}");
}

#[test]
fn a_job_that_cannot_be_measured_keeps_those_beside_it_from_beginning() {
    let here = folder();
    std::fs::write(here.path().join("mine"), vec![1; 1 << 20]).unwrap();
    let jobs = "[a]\nioengine=null\ndirect=1\nruntime=600\ntime_based\n[b]\nfilename=mine\nrw=write\n";
    let refused = conducted(here.path(), jobs, &[]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said.contains("--overwrite") && said.contains("[b] could not be measured"), "{said}");
    assert!(refused.stdout.is_empty(), "{refused:?}");
    assert!(std::fs::read(here.path().join("mine")).unwrap().iter().all(|byte| *byte == 1));
}

#[test]
fn jobs_at_once_write_to_one_file_as_in_fio() {
    let here = folder();
    std::fs::write(here.path().join("ours"), vec![1; 1 << 20]).unwrap();
    let jobs = "[global]\nfilename=ours\nrw=randwrite\nbs=4k\n[a]\n[b]\n";
    let told = document(&conducted(here.path(), jobs, &["--overwrite", "--output-format=json"]));
    for job in told["jobs"].as_array().unwrap() {
        assert_eq!(job["write"]["io_bytes"], Value::from(1 << 20), "{job}");
    }
}

#[test]
fn what_is_of_a_job_alone_is_refused_for_jobs_at_once() {
    let here = folder();
    let jobs = "[global]\nioengine=null\nsize=1m\n[a]\n[b]\n";
    for flags in [&["--output", "s.halfpower"][..], &["--soaker"], &["--far-end", "true"]] {
        let refused = conducted(here.path(), jobs, flags);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("{} is for a job alone", flags[0])), "{said}");
    }
    let shown = conducted(here.path(), jobs, &["--parse-only"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert_eq!((shown.lines().count(), shown.matches("halfpower run ").count()), (1, 2), "{shown}");
    assert!(shown.trim_end().ends_with("& wait"), "{shown}");
}
