//! Starts several processes on one machine with mpirun, and checks their joint results.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use halfpower_record::{Record, StudyFile};
use serde_json::Value;

use crate::alone;
use crate::throttled::skip;

/// A simulated disk, so that every figure follows from its constants.
pub const DISK: &str = "sim:fixed=100us,rate=400MB/s,disks=2";

/// The program, if it was built with MPI and mpirun exists.
pub fn program() -> Option<PathBuf> {
    let program = PathBuf::from(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
    if !cfg!(feature = "mpi") {
        skip("this program has no MPI: cargo test --features halfpower/mpi");
        return None;
    }
    if Command::new("mpirun").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip("mpirun is not installed");
        return None;
    }
    Some(program)
}

/// A command without environment variables that a launcher of this test may have set.
pub fn plain(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars() {
        if ["OMPI_", "PMI", "SLURM_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// A command that starts `processes` processes of the program with mpirun.
pub fn mpirun(program: &Path, folder: &Path, processes: u32, words: &[&str]) -> Command {
    let mut command = plain("mpirun");
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command.args(["--oversubscribe", "-n", &processes.to_string()]).arg(program).args(words).current_dir(folder);
    command
}

pub fn together(program: &Path, folder: &Path, processes: u32, words: &[&str]) -> Output {
    mpirun(program, folder, processes, words).output().unwrap()
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

pub fn records(path: &Path) -> Vec<Record> {
    StudyFile::open(path).unwrap().records().unwrap()
}

#[test]
#[ignore = "gate: mpirun"]
fn one_process_gives_the_records_of_none() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let folder = folder();
    let words = |name| ["study", DISK, "--budget", "20s", "--output", name, "--json"];
    assert!(plain(&program).args(words("alone")).current_dir(folder.path()).output().unwrap().status.success());
    assert!(together(&program, folder.path(), 1, &words("one")).status.success());
    let alone = records(&folder.path().join("alone"));
    let one = records(&folder.path().join("one"));
    // The harness's own time is measured in real time, so it differs.
    let known = |records: &[Record]| -> Vec<Record> {
        records.iter().map(|record| Record { harness_ns_per_io: 0.0, ..record.clone() }).collect()
    };
    assert!(alone.len() > 20 && known(&alone) == known(&one), "{} and {} records", alone.len(), one.len());
}

#[test]
#[ignore = "gate: mpirun"]
fn a_study_of_three_processes_has_thrice_the_rates_and_one_report() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let folder = folder();
    // With several processes, a study would also run `hosts`, so name the experiments.
    let words = |name| ["study", DISK, "--experiments", "sequential,random", "--budget", "20s", "--output", name];
    assert!(plain(&program).args(words("alone")).current_dir(folder.path()).output().unwrap().status.success());
    let output = together(&program, folder.path(), 3, &words("three"));
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output).matches("HOW FAST").count(), 1, "one process prints");
    let alone = records(&folder.path().join("alone"));
    let three = records(&folder.path().join("three"));
    assert_eq!(alone[0].run, three[0].run);
    for record in &three {
        assert_eq!(record.hosts.len(), 3);
        assert_eq!(record.hosts.iter().map(|host| host.bytes).sum::<u64>(), record.bytes);
    }
    // Without noise, each process's disk gives the same.
    assert_eq!(three[0].bytes, 3 * alone[0].bytes);
    assert_eq!(three[0].elapsed_ns, alone[0].elapsed_ns);
    let file = StudyFile::open(&folder.path().join("three")).unwrap();
    assert_eq!(file.environment().hosts.iter().map(|host| host.rank).collect::<Vec<_>>(), [0, 1, 2]);
}
