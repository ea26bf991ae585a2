//! Measures a share of a server in memory, and looks for the password in everything that is printed and written.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::memory_nfs::{MemoryNfs, Mood};

const PASSWORD: &str = "hidden-word-17";

fn halfpower(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfpower"));
    command.current_dir(folder).args(words).env("HALFPOWER_SMB_PASSWORD", PASSWORD).env_remove("HALFPOWER_SMB_USER");
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

fn run(server: &MemoryNfs, words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let address = server.address();
    let all: Vec<&str> =
        ["run", &address, "--size", "64MiB", "--runtime", "100ms"].iter().chain(words).copied().collect();
    halfpower(folder.path(), &all)
}

#[test]
fn runs_of_a_share_read_write_and_verify() {
    let server = MemoryNfs::start();
    for words in [
        &["--rw", "read", "--bs", "64k"][..],
        &["--rw", "randwrite", "--bs", "4k", "--cache", "none"],
        &["--rw", "randrw", "--bs", "4k", "--iodepth", "32", "--connections", "3"],
        &["--rw", "write", "--bs", "16k", "--verify", "--threads", "2"],
        &["--rw", "read", "--bs", "4k", "--rate", "1MB/s"],
    ] {
        let output = run(&server, words);
        let text = said(&output);
        assert!(output.status.success() && text.contains("engine nfs") && text.contains("errors      none"), "{text}");
    }
    assert!(server.files.lock().unwrap().is_empty(), "nothing is left");
}

#[test]
fn what_makes_no_sense_on_a_share_is_refused_by_its_flag() {
    let server = MemoryNfs::start();
    for (words, word) in [
        (&["--engine", "io_uring"][..], "--engine io_uring"),
        (&["--cache", "both"], "--cache both"),
        (&["--layout", "new", "--rw", "write"], "--layout new"),
        (&["--bs", "2MiB"], "--bs 2MiB"),
        (&["--sealing", "encrypted"], "--sealing encrypted: messages of NFS"),
    ] {
        let output = run(&server, words);
        assert!(output.status.code() == Some(2) && said(&output).contains(word), "{}", said(&output));
    }
    let folder = tempfile::tempdir().unwrap();
    for words in [["--connections", "2"], ["--sealing", "signed"]] {
        let output = halfpower(folder.path(), &["run", "null:", words[0], words[1]]);
        assert!(said(&output).contains(&words.join(" ")), "{}", said(&output));
    }
}

#[test]
fn a_share_that_fails_ends_the_run_with_a_sentence_and_a_study_goes_on_later() {
    let server = MemoryNfs::start();
    server.be(Mood::Full);
    let output = run(&server, &[]);
    assert!(output.status.code() == Some(2) && said(&output).contains("ENOSPC"), "{}", said(&output));
    for (mood, words) in
        [(Mood::Silent, "has not answered"), (Mood::Gone, "was lost"), (Mood::Garbage, "no answer of NFSv3")]
    {
        server.be(mood);
        let output = run(&server, &["--timeout", "300ms"]);
        assert!(output.status.code() == Some(2) && said(&output).contains(words), "{}", said(&output));
    }
    server.be(Mood::Well);
    let (folder, address) = (tempfile::tempdir().unwrap(), server.address());
    let study = |seconds| {
        let words = ["study", &address, "--size", "64MiB", "--budget", seconds, "--bs", "64k", "--iodepth", "1,4"];
        let more = ["--output", "s.halfpower", "--experiments", "sequential"];
        halfpower(folder.path(), &[&words[..], &more].concat())
    };
    let (output, text) = (study("2s"), fs::read(folder.path().join("s.halfpower")).unwrap());
    assert!(output.status.success() && said(&output).contains("may be a cache's"), "{}", said(&output));
    let probed = said(&halfpower(folder.path(), &["probe", &address]));
    assert!(probed.contains("network or file server") && !probed.contains("device"), "{probed}");
    assert!(!text.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes()));
    assert!(said(&study("2s")).contains("was finished"));
}

#[test]
fn a_password_is_shown_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    // Takes connections, and ends them.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let file = folder.path().join("credentials");
    fs::write(&file, format!("username=ann\npassword={PASSWORD}\n")).unwrap();
    let (plain, held) =
        (format!("smb://ann@127.0.0.1:{port}/share"), format!("smb://ann:{PASSWORD}@127.0.0.1:{port}/share"));
    for mode in [0o644, 0o600] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        for command in ["run", "study", "plan", "probe"] {
            for words in
                [&[command, plain.as_str()][..], &[command, &held], &[command, &plain, "--credentials", "credentials"]]
            {
                let output = halfpower(folder.path(), words);
                let text = said(&output);
                assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
                assert!(text.starts_with("halfpower: ") && !text.contains(PASSWORD), "{text}");
            }
        }
        let output = halfpower(folder.path(), &["run", &plain, "--credentials", "credentials"]);
        assert_eq!(said(&output).contains("chmod 600"), mode == 0o644, "{}", said(&output));
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["credentials"]);
}
