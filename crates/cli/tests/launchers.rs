//! Tests that a program without MPI, started several times by a launcher, says how to get MPI.

use std::path::Path;

use crate::program;

/// Exit code and error output of one of several processes, and the number of files it wrote.
fn started_by(program: &Path, variables: &[(&str, &str)], words: &[&str]) -> (Option<i32>, String, usize) {
    let folder = program::folder();
    let output = program::of(program, folder.path(), words).envs(variables.iter().copied()).output().unwrap();
    let written =
        std::fs::read_dir(folder.path()).unwrap().filter(|entry| entry.as_ref().unwrap().file_name() != ".data");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &program::said_of_its_own(&output);
    (output.status.code(), text, written.count())
}

const STUDY: [&str; 4] = ["study", "sim:fixed=80us,rate=500MB/s", "--budget", "5s"];

#[test]
fn several_processes_without_mpi_say_how_to_get_it_and_write_nothing() {
    let Some(program) = program::without_features() else { return };
    for variables in [
        [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "1")],
        [("PMI_SIZE", "4"), ("PMI_RANK", "0")],
        [("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_PROCID", "3")],
    ] {
        for words in [STUDY.as_slice(), &["run", "null:", "-d", "100ms"]] {
            let (code, text, written) = started_by(&program, &variables, words);
            assert_eq!((code, written), (Some(2), 0), "{text}");
            assert!(text.contains("4 times") && text.contains("--features mpi"), "{text}");
            assert_eq!(text.lines().count(), 1, "one sentence: {text}");
        }
    }
}

#[test]
fn one_process_of_a_launcher_is_like_none() {
    let Some(program) = program::without_features() else { return };
    let one = [("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0"), ("PMIX_RANK", "0")];
    let (code, text, _) = started_by(&program, &one, &STUDY);
    assert_eq!(code, Some(0), "{text}");
    let (code, text, _) = started_by(&program, &[], &["run", "null:", "--host-layout", "shared"]);
    assert!(code == Some(2) && text.contains("this process is alone"), "{text}");
    let (code, text, _) = started_by(&program, &[], &["run", "null:", "--hosts", "0-1"]);
    assert!(code == Some(2) && text.contains("--hosts 0-1"), "{text}");
}

#[test]
fn what_does_not_measure_needs_no_mpi() {
    let Some(program) = program::without_features() else { return };
    let (code, text, _) =
        started_by(&program, &[("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "1")], &["systems"]);
    assert!(code == Some(0) && text.contains("win2k-atlas10k"), "{text}");
}
