//! Calls the program as programs that call fio do, bench-fio and cdmpy, with the job files that these write.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::program::{folder, of, said_of_its_own};

/// The program under the name `fio`.
fn fio(folder: &Path) -> PathBuf {
    let link = folder.join("fio");
    symlink(env!("CARGO_BIN_EXE_halfpower"), &link).unwrap();
    link
}

/// A job file as bench-fio 1.1.21 writes it: its settings in their order, then the target and the logs.
fn of_bench_fio(settings: &str, target: &str, mode: &str, iodepth: u32, numjobs: u32) -> String {
    let log = format!("out/{mode}-iodepth-{iodepth}-numjobs-{numjobs}");
    let logs = ["write_bw_log", "write_lat_log", "write_iops_log"].map(|kind| format!("{kind}={log}\n")).concat();
    format!(
        "[FIOJOB]\nioengine=libaio\nrw={mode}\niodepth={iodepth}\nnumjobs={numjobs}\nruntime=60\nloops=1\ndirect=1\n\
         log_avg_msec=1000\ninvalidate=1\n{settings}{target}\n{logs}\n"
    )
}

/// The first job of the results of a call.
fn called(here: &Path, fio: &Path, job: &str, words: &[&str]) -> Value {
    jobs_of_call(here, fio, job, words).remove(0)
}

/// The jobs of the results of a call as bench-fio makes it. It takes anything on standard error for a failure.
fn jobs_of_call(here: &Path, fio: &Path, job: &str, words: &[&str]) -> Vec<Value> {
    std::fs::create_dir_all(here.join("out")).unwrap();
    std::fs::write(here.join("data-tmpjobfile.fio"), job).unwrap();
    let line = [&["--output-format=json", "--output=out/result.json", "data-tmpjobfile.fio"][..], words].concat();
    let done = of(fio, here, &line).output().unwrap();
    assert!(done.status.success() && said_of_its_own(&done).is_empty(), "{job}\n{done:?}");
    let text = std::fs::read(here.join("out/result.json")).unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    document["jobs"].as_array().unwrap().clone()
}

#[test]
fn every_kind_of_job_file_of_bench_fio_is_measured() {
    let here = folder();
    let fio = fio(here.path());
    std::fs::write(here.path().join("data"), vec![7; 4 << 20]).unwrap();
    let of_file = of_bench_fio("size=4M\nbs=4k\n", "filename=data", "randread", 4, 2);
    let both = jobs_of_call(here.path(), &fio, &of_file, &[]);
    assert_eq!(both.len(), 2, "bench-fio adds up the entries of all jobs");
    for read in &both {
        assert_eq!(read["read"]["io_bytes"], Value::from(4 << 20), "each of two jobs reads all of it: {read}");
        assert!(read["read"]["lat_ns"]["mean"].as_f64().unwrap() > 0.0, "{read}");
        for key in ["iodepth", "numjobs", "bs", "rw"] {
            assert!(read["job options"][key].is_string(), "{key}");
        }
    }
    let in_folder = of_bench_fio("size=4M\nbs=64k\n", "directory=.", "write", 1, 1);
    assert_eq!(called(here.path(), &fio, &in_folder, &[])["write"]["io_bytes"], Value::from(4 << 20));
    let mixed = of_bench_fio("size=4M\nbs=4k\nrwmixread=75\n", "directory=.", "randrw", 4, 1);
    let mix = called(here.path(), &fio, &mixed, &[]);
    let [reads, writes] = ["read", "write"].map(|side| mix[side]["io_bytes"].as_u64().unwrap());
    assert!(reads > writes && reads + writes == 4 << 20, "{mix}");
    assert!(here.path().join("out/randrw-iodepth-4-numjobs-1_bw.1.log").exists());
    // Before a device is measured, all of it is written: bench-fio doubles the percent sign.
    let whole =
        "name=precondition\nbs=1m\nbuffered=0\nsize=100%%\nloops=2\nrandrepeat=0\nnorandommap=1\nrefill_buffers=1\n";
    let precondition = of_bench_fio(whole, "filename=data", "write", 4, 1);
    let written = called(here.path(), &fio, &precondition, &["--overwrite"]);
    assert_eq!(written["write"]["io_bytes"], Value::from(8 << 20), "{written}");
    assert_eq!(written["jobname"], "precondition");
}

#[test]
fn a_version_is_told_beside_a_word_that_lets_files_be_written() {
    let here = folder();
    let told: Output = of(fio(here.path()), here.path(), &["--overwrite", "--version"]).output().unwrap();
    assert!(String::from_utf8_lossy(&told.stdout).starts_with("fio-3."), "{told:?}");
}

/// The job file of cdmpy 0.3.2, which reads results by the names of jobs.
#[test]
fn the_job_file_of_cdmpy_is_measured() {
    let here = folder();
    let global = "[global]\nioengine=posixaio\nfilename=.fio_testmark\ndirectory=.\nsize=4194304.0\ndirect=1\nruntime=5\n\
                  refill_buffers\nnorandommap\nrandrepeat=0\nallrandrepeat=0\ngroup_reporting\nzero_buffers\n\n";
    let mut text = global.to_string();
    let mut names = Vec::new();
    for (kind, bs, depth, threads) in
        [("seq", "1m", 8, 1), ("seq", "1m", 1, 1), ("rnd", "4k", 32, 2), ("rnd", "4k", 1, 1)]
    {
        for way in ["read", "write", "rw"] {
            let rw = if kind == "seq" { way.to_string() } else { format!("rand{way}") };
            let name = format!("{kind}-{way}-{bs}-q{depth}-t{threads}");
            text += &format!(
                "[{name}]\nrw={rw}\nbs={bs}\nrwmixread=70\niodepth={depth}\nnumjobs={threads}\nloops=1\nstonewall\n\n"
            );
            names.push(name);
        }
    }
    std::fs::write(here.path().join("tmp1234.jobfile"), text).unwrap();
    let line = ["--ioengine", "posixaio", "--max-jobs=1", "--output-format", "json", "tmp1234.jobfile"];
    let done = of(fio(here.path()), here.path(), &line).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    let jobs = document["jobs"].as_array().unwrap();
    assert_eq!(jobs.iter().map(|job| job["jobname"].as_str().unwrap()).collect::<Vec<_>>(), names);
    for (job, name) in jobs.iter().zip(&names) {
        let sides: &[&str] = match name.split('-').nth(1) {
            Some("rw") => &["read", "write"],
            Some("write") => &["write"],
            _ => &["read"],
        };
        // Of the few large requests of a mix, all may go the same way.
        let moved = |side: &&&str| job[**side]["bw_bytes"].as_u64().unwrap() > 0;
        assert!(sides.iter().any(|side| moved(&side)), "{name}: {job}");
        for side in sides.iter().filter(moved) {
            let side = &job[*side];
            assert!(side["iops"].as_f64().unwrap() > 0.0, "{name}: {side}");
            assert!(side["lat_ns"]["mean"].as_f64().unwrap() > 0.0, "{name}: {side}");
        }
    }
    let left: Vec<_> = std::fs::read_dir(here.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the link and the job file: {left:?}");
}
