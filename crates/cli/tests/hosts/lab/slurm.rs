//! Starts processes with srun under a private Slurm, and with MPICH's launcher.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use halfpower_record::StudyFile;

use crate::alone;
use crate::processes::{DISK, plain, program, said};
use crate::throttled::skip;

/// Longest time until the daemons answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Slurm's two daemons with one node; dropping this ends them.
struct Slurm {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    /// Starts them; `None` if Slurm is not installed, or without root.
    fn start() -> Option<Self> {
        let is_there = |name: &str| Path::new("/usr/sbin").join(name).exists();
        if !is_there("slurmctld") || !is_there("slurmd") || fs::metadata("/proc/self").unwrap().uid() != 0 {
            skip("slurmctld and slurmd are not installed, or this is not root");
            return None;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let node = host.trim().split('.').next().unwrap().to_string();
        let here = folder.path().display();
        fs::create_dir(folder.path().join("state")).unwrap();
        fs::create_dir(folder.path().join("spool")).unwrap();
        let settings = format!(
            "ClusterName=lab\nSlurmctldHost={node}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/none\nCredType=cred/none\nSlurmctldPort={}\nSlurmdPort={}\n\
             StateSaveLocation={here}/state\nSlurmdSpoolDir={here}/spool\n\
             SlurmctldPidFile={here}/slurmctld.pid\nSlurmdPidFile={here}/slurmd.pid\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSchedulerType=sched/builtin\nSelectType=select/linear\n\
             ReturnToService=2\nSlurmdParameters=config_overrides\n\
             NodeName={node} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN\nPartitionName=all Nodes={node} Default=YES State=UP\n",
            port(),
            port()
        );
        fs::write(folder.path().join("slurm.conf"), settings).unwrap();
        let mut slurm = Self { folder, daemons: Vec::new() };
        for name in ["slurmctld", "slurmd"] {
            let mut daemon = slurm.command(&format!("/usr/sbin/{name}"));
            let log = fs::File::create(slurm.folder.path().join(name)).unwrap();
            daemon.arg("-D").stdout(Stdio::null()).stderr(log);
            slurm.daemons.push(daemon.spawn().unwrap());
        }
        let since = Instant::now();
        while !slurm.is_idle() {
            assert!(since.elapsed() < PATIENCE, "Slurm does not answer: {}", slurm.log());
            std::thread::sleep(Duration::from_millis(200));
        }
        Some(slurm)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = plain(program);
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf")).current_dir(self.folder.path());
        command
    }

    fn is_idle(&self) -> bool {
        let reported = self.command("sinfo").args(["-h", "-o", "%T"]).output().unwrap();
        String::from_utf8_lossy(&reported.stdout).trim() == "idle"
    }

    fn log(&self) -> String {
        ["slurmctld", "slurmd"]
            .map(|name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default())
            .concat()
    }

    fn srun(&self, program: &Path, processes: u32, words: &[&str]) -> Output {
        let mut command = self.command("srun");
        // Debian's Open MPI and Slurm communicate through PMIx. A job that cannot start ends within a minute.
        command.args(["--mpi=pmix", "--immediate=60", "-n", &processes.to_string()]);
        command.arg(program.canonicalize().unwrap()).args(words).output().unwrap()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Asserts that three processes printed and wrote one study of three processes.
fn is_one_study_of_three(output: &Output, folder: &Path) {
    assert!(output.status.success(), "{}", said(output));
    assert_eq!(said(output).matches("HOW FAST").count(), 1, "one process prints: {}", said(output));
    let file = StudyFile::open(&folder.join("three")).unwrap();
    assert_eq!(file.environment().hosts.iter().map(|host| host.rank).collect::<Vec<_>>(), [0, 1, 2]);
    let records = file.records().unwrap();
    assert!(records.len() > 20 && records.iter().all(|record| record.hosts.len() == 3));
}

/// Command of a short study.
const STUDY: [&str; 8] = ["study", DISK, "--experiments", "sequential,random", "--budget", "20s", "--output", "three"];

#[test]
#[ignore = "lab: a Slurm of its own"]
fn srun_makes_one_study_of_three_processes() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let Some(slurm) = Slurm::start() else { return };
    is_one_study_of_three(&slurm.srun(&program, 3, &STUDY), slurm.folder.path());
    let Some(without) = std::env::var_os("HALFPOWER_DEFAULT").map(PathBuf::from) else {
        return skip("HALFPOWER_DEFAULT names no program without MPI: cargo build --release");
    };
    // A program without MPI says so, and none of its processes begins a study.
    let output = slurm.srun(&without, 2, &["study", DISK, "--output", "none"]);
    assert!(!output.status.success() && said(&output).contains("--features mpi"), "{}", said(&output));
    assert!(!slurm.folder.path().join("none").exists());
}

#[test]
#[ignore = "lab: mpirun of MPICH"]
fn mpich_makes_one_study_of_three_processes() {
    let _alone = alone();
    let Some(program) = std::env::var_os("HALFPOWER_MPICH").map(PathBuf::from) else {
        return skip("HALFPOWER_MPICH names no program that was built with MPICC=mpicc.mpich");
    };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = plain("mpirun.mpich");
    command.args(["-n", "3"]).arg(program.canonicalize().unwrap()).args(STUDY).current_dir(folder.path());
    is_one_study_of_three(&command.output().unwrap(), folder.path());
}
