//! Starts processes of one computer by mpirun, and checks what they say together.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use halfpower_record::{Record, StudyFile};
use serde_json::Value;

use crate::alone;
use crate::throttled::{Limit, Loop, MIB, Throttle, judge, skip};

/// Simulated: every figure follows from its constants.
pub const DISK: &str = "sim:fixed=100us,rate=400MB/s,disks=2";

/// The program with MPI, where it was built and there is an mpirun.
pub fn program() -> Option<PathBuf> {
    let Some(program) = std::env::var_os("HALFPOWER_MPI").map(PathBuf::from) else {
        skip("HALFPOWER_MPI names no program: cargo build -p halfpower --features mpi --target-dir target/mpi");
        return None;
    };
    if Command::new("mpirun").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip("mpirun is not installed");
        return None;
    }
    Some(program)
}

/// A command without what a launcher around this test may have set.
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

/// mpirun of so many processes of the program.
pub fn mpirun(program: &Path, folder: &Path, processes: u32, words: &[&str]) -> Command {
    let mut command = plain("mpirun");
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command.args(["--oversubscribe", "-n", &processes.to_string()]).arg(program).args(words).current_dir(folder);
    command
}

fn together(program: &Path, folder: &Path, processes: u32, words: &[&str]) -> Output {
    mpirun(program, folder, processes, words).output().unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

fn records(path: &Path) -> Vec<Record> {
    StudyFile::open(path).unwrap().records().unwrap()
}

#[test]
#[ignore = "long: mpirun"]
fn one_process_gives_the_records_of_none() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let folder = folder();
    let words = |name| ["study", DISK, "--budget", "20s", "--output", name, "--json"];
    assert!(plain(&program).args(words("alone")).current_dir(folder.path()).output().unwrap().status.success());
    assert!(together(&program, folder.path(), 1, &words("one")).status.success());
    let (alone, one) = (records(&folder.path().join("alone")), records(&folder.path().join("one")));
    // The harness's own time is measured for real.
    let known = |records: &[Record]| -> Vec<Record> {
        records.iter().map(|record| Record { harness_ns_per_io: 0.0, ..record.clone() }).collect()
    };
    assert!(alone.len() > 20 && known(&alone) == known(&one), "{} and {} records", alone.len(), one.len());
}

#[test]
#[ignore = "long: mpirun"]
fn a_study_of_three_processes_has_thrice_the_rates_and_one_report() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let folder = folder();
    // Of several, a study asks for `hosts` too, which makes other runs of it.
    let words = |name| ["study", DISK, "--experiments", "sequential,random", "--budget", "20s", "--output", name];
    assert!(plain(&program).args(words("alone")).current_dir(folder.path()).output().unwrap().status.success());
    let output = together(&program, folder.path(), 3, &words("three"));
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output).matches("HOW FAST").count(), 1, "one process prints");
    let (alone, three) = (records(&folder.path().join("alone")), records(&folder.path().join("three")));
    assert_eq!(alone[0].run, three[0].run);
    for record in &three {
        assert_eq!(record.hosts.len(), 3);
        assert_eq!(record.hosts.iter().map(|host| host.bytes).sum::<u64>(), record.bytes);
    }
    // Without noise each process's disk gives the same.
    assert_eq!(three[0].bytes, 3 * alone[0].bytes);
    assert_eq!(three[0].elapsed_ns, alone[0].elapsed_ns);
    let file = StudyFile::open(&folder.path().join("three")).unwrap();
    assert_eq!(file.environment().hosts.iter().map(|host| host.rank).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
#[ignore = "long: mpirun"]
fn layouts_of_files_leave_nothing_and_reorder_reads_the_next_ones() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let folder = folder();
    let (here, data) = (folder.path(), folder.path().join("data"));
    fs::create_dir(&data).unwrap();
    for layout in [
        "",
        "--reorder",
        "--host-layout shared",
        "--host-layout shared --reorder",
        "--host-layout shared --interleave 1MiB --reorder",
    ] {
        for rw in ["read", "randread", "write", "randrw"] {
            let words = format!("run data --size 8MiB --rw {rw} -b 64k -o 4 -d 300ms --json {layout}");
            let words: Vec<&str> = words.split_whitespace().collect();
            let output = together(&program, here, 3, &words);
            assert!(output.status.success(), "{words:?}: {}", said(&output));
            let run = json(&output);
            assert!(run["bytes"].as_u64().unwrap() > 0 && run["errors"].as_u64() == Some(0), "{words:?}: {run}");
            assert_eq!(fs::read_dir(&data).unwrap().count(), 0, "{words:?}");
        }
    }
    // What one host cannot do is said, and nothing is left.
    let output = together(&program, here, 2, &["run", "data", "--size", "4000TiB", "-d", "1s"]);
    assert!(said(&output).contains("rank 0 on ") && said(&output).contains("4000TiB is more"), "{}", said(&output));
    let output = together(&program, here, 2, &["run", "data", "--size", "8MiB", "--hosts", "1-2", "-d", "1s"]);
    assert!(said(&output).contains("there are 2 processes, 0 to 1"), "{}", said(&output));
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
}

#[test]
#[ignore = "long: mpirun on a throttled device"]
fn processes_share_what_a_throttled_device_gives() {
    let _alone = alone();
    let Some(program) = program() else { return };
    judge(|| {
        let limit = 60 * MIB;
        let there = Loop::new(64 * MIB).and_then(|device| {
            let throttle = Throttle::new("hosts", &[Limit::of_reads(&device, Some(limit), None)])?;
            Ok((throttle, device))
        });
        let (throttle, device) = match there {
            Ok(there) => there,
            Err(why) => return skip(&format!("no throttled loop devices here (root is needed): {why}")),
        };
        let folder = folder();
        let name = device.device.display().to_string();
        let words = ["run", &name, "--host-layout", "shared", "-b", "64KiB", "-o", "8", "-d", "5s", "--json"];
        // Limits of control groups charge larger requests twice, where the device splits them.
        let within = mpirun(&program, folder.path(), 4, &words);
        let mut command = plain("sh");
        command.args(["-c", &format!("{} \"$0\" \"$@\"", throttle.within()), "mpirun"]);
        command.args(within.get_args()).current_dir(folder.path());
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let run = json(&output);
        let (given, found) = (limit as f64 / 1e6, run["mbps"].as_f64().unwrap());
        println!("given {given:.1}, found {found:.1} MB/s, {:+.1}%", (found / given - 1.0) * 100.0);
        assert!((found / given - 1.0).abs() < 0.03, "{run}");
    });
}
