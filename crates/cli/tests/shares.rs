//! Measures a share of an in-memory server, and checks that the password is in nothing printed or written.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::memory_nfs::{MemoryNfs, Mood};
use crate::memory_s3::{KEY, MemoryS3, Mood as MoodOfS3, SECRET};

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
        // Only silence takes as long as a timeout: a busy machine is slow to give the other answers.
        let output = run(&server, if words == "has not answered" { &["--timeout", "300ms"] } else { &[] });
        assert!(output.status.code() == Some(2) && said(&output).contains(words), "{}", said(&output));
    }
    server.be(Mood::Well);
    let folder = tempfile::tempdir().unwrap();
    let address = server.address();
    let study = |seconds| {
        let words = ["study", &address, "--size", "64MiB", "--budget", seconds, "--bs", "64k", "--iodepth", "1,4"];
        let more = ["--output", "s.halfpower", "--experiments", "sequential"];
        halfpower(folder.path(), &[&words[..], &more].concat())
    };
    let output = study("2s");
    let text = fs::read(folder.path().join("s.halfpower")).unwrap();
    assert!(output.status.success() && said(&output).contains("may be a cache's"), "{}", said(&output));
    let probed = said(&halfpower(folder.path(), &["probe", &address]));
    assert!(probed.contains("network or file server") && !probed.contains("device"), "{probed}");
    assert!(!text.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes()));
    assert!(said(&study("2s")).contains("was finished"));
}

#[test]
fn a_password_is_shown_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    // Accepts connections and closes them.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let file = folder.path().join("credentials");
    fs::write(&file, format!("username=ann\npassword={PASSWORD}\n")).unwrap();
    let plain = format!("smb://ann@127.0.0.1:{port}/share");
    let held = format!("smb://ann:{PASSWORD}@127.0.0.1:{port}/share");
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

fn s3(folder: &Path, server: &MemoryS3, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfpower"));
    command.current_dir(folder).args(words).args(["--endpoint", &server.endpoint()]).env("HOME", folder);
    for name in ["AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"] {
        command.env_remove(name);
    }
    command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET).output().unwrap()
}

#[test]
fn runs_of_a_bucket_read_write_and_verify() {
    let server = MemoryS3::start();
    let folder = tempfile::tempdir().unwrap();
    for words in [
        &["--rw", "randread", "--bs", "64k", "--iodepth", "8"][..],
        &["--rw", "write", "--bs", "4k", "--cache", "none", "--iodepth", "3"],
        &["--rw", "randrw", "--bs", "4k", "--threads", "2"],
        &["--rw", "randwrite", "--bs", "16k", "--verify", "--iodepth", "6"],
        &["--rw", "read", "--bs", "64k", "--verify"],
        &["--rw", "read", "--bs", "4k", "--rate", "1MB/s"],
    ] {
        let usual = ["run", "s3://bucket/a%20folder", "--size", "20MiB", "--runtime", "100ms"];
        let output = s3(folder.path(), &server, &[&usual[..], words].concat());
        let text = said(&output);
        assert!(output.status.success() && text.contains("engine s3") && text.contains("errors      none"), "{text}");
        assert!(!words.contains(&"--verify") || text.contains("no data were wrong") || words[1] == "read", "{text}");
        assert!(!words.contains(&"8") || text.contains("8 connections"), "{text}");
    }
    let store = server.store.lock().unwrap();
    assert!(store.objects.is_empty() && store.uploads.is_empty(), "nothing is left");
}

/// A witness has its own environment, and no `--endpoint`.
#[test]
fn a_witness_finds_the_server_of_a_bucket_where_its_own_environment_names_it() {
    let server = MemoryS3::start();
    let far = MemoryS3::start();
    let folder = tempfile::tempdir().unwrap();
    let hp = env!("CARGO_BIN_EXE_halfpower");
    let endpoint = far.endpoint();
    let far_end = format!("AWS_ENDPOINT_URL={endpoint} '{hp}' witness --share s3://bucket/far");
    let words = ["run", "s3://bucket", "--size", "16MiB", "--runtime", "100ms", "--way", "same-machine"];
    let output = s3(folder.path(), &server, &[&words[..], &["--far-end", &far_end]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let [near, far] = [&server, &far].map(|server| server.store.lock().unwrap());
    // Two parts are laid out, and at least one request is measured.
    assert!(far.requests > 2, "the far end's own server is asked: {}", far.requests);
    assert!(near.requests <= 2, "this end lays out two parts and measures nothing: {}", near.requests);
    assert!(near.objects.is_empty() && far.objects.is_empty(), "nothing is left");
}

#[test]
fn a_bucket_that_refuses_requests_is_data_and_one_that_is_lost_a_sentence() {
    let server = MemoryS3::start();
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let usual = ["run", "s3://bucket", "--size", "16MiB", "--runtime", "100ms"];
        s3(folder.path(), &server, &[&usual[..], words].concat())
    };
    server.be(MoodOfS3::SlowDown);
    let text = said(&run(&["--rw", "read", "--bs", "4k"]));
    assert!(text.contains("EBUSY"), "{text}");
    for (mood, words) in [
        (MoodOfS3::Silent, "has not answered"),
        (MoodOfS3::Gone, "was lost"),
        (MoodOfS3::Garbage, "no answer of S3"),
        (MoodOfS3::ReadOnly, "no object may be made there"),
        (MoodOfS3::Busy(u64::MAX), "the server has too much to do"),
    ] {
        server.be(mood);
        // Only silence takes as long as a timeout: a busy machine is slow to give the other answers.
        let output = run(if words == "has not answered" { &["--timeout", "700ms"] } else { &[] });
        assert!(output.status.code() == Some(2) && said(&output).contains(words), "{mood:?}: {}", said(&output));
        assert!(!said(&output).contains(SECRET), "{}", said(&output));
    }
    server.be(MoodOfS3::Well);
    for (words, word) in [
        (&["--connections", "4"][..], "--connections 4"),
        (&["--fdatasync", "8", "--rw", "write"], "--fdatasync 8"),
        (&["--cache", "both"], "--cache both"),
        (&["--rw", "randrw", "--verify"], "--verify"),
    ] {
        let output = run(words);
        assert!(output.status.code() == Some(2) && said(&output).contains(word), "{}", said(&output));
    }
    let output = s3(folder.path(), &server, &["run", "null:"]);
    assert!(output.status.code() == Some(2) && said(&output).contains("--endpoint"), "{}", said(&output));
}

#[test]
fn a_list_of_a_bucket_that_never_ends_is_given_up_with_a_sentence() {
    let server = MemoryS3::start();
    let folder = tempfile::tempdir().unwrap();
    server.be(MoodOfS3::ListsWithoutEnd);
    let words = ["run", "s3://bucket", "--size", "16MiB", "--rw", "read", "--bs", "4k", "--runtime", "100ms"];
    let output = s3(folder.path(), &server, &words);
    let text = said(&output);
    assert!(output.status.success() && text.contains("lists more objects than were made"), "{text}");
    assert!(text.contains("remove what begins with .halfpower-"), "{text}");
}

#[test]
fn what_stays_of_a_share_is_told_with_what_to_do() {
    let server = MemoryS3::start();
    server.store.lock().unwrap().versioning = Some("Enabled");
    server.be(MoodOfS3::HidesVersions);
    let folder = tempfile::tempdir().unwrap();
    let words = ["run", "s3://bucket", "--size", "16MiB", "--rw", "read", "--bs", "4k", "--runtime", "100ms"];
    let output = s3(folder.path(), &server, &words);
    let text = said(&output);
    assert!(output.status.success() && text.contains("the bucket keeps versions, and their list is refused"), "{text}");
    assert!(text.contains("remove what begins with .halfpower-") && text.contains(", with all versions"), "{text}");
    let server = MemoryNfs::start();
    server.be(Mood::Keeps(13));
    let output = run(&server, &["--rw", "read", "--bs", "4k"]);
    let text = said(&output);
    assert!(output.status.success() && text.contains("could not be removed; remove it there"), "{text}");
}

#[test]
fn reads_of_a_share_that_bring_nothing_are_failed_requests() {
    let server = MemoryNfs::start();
    server.be(Mood::Empty);
    let output = run(&server, &["--rw", "read", "--bs", "4k"]);
    assert!(
        output.status.code() == Some(2) && said(&output).contains("every request failed (EOF)"),
        "{}",
        said(&output)
    );
    let server = MemoryS3::start();
    server.be(MoodOfS3::Empty);
    let folder = tempfile::tempdir().unwrap();
    let words = ["run", "s3://bucket", "--size", "16MiB", "--rw", "read", "--bs", "4k", "--runtime", "100ms"];
    let output = s3(folder.path(), &server, &words);
    assert!(
        output.status.code() == Some(2) && said(&output).contains("every request failed (EOF)"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_run_of_a_bucket_that_is_interrupted_leaves_nothing() {
    let server = MemoryS3::start();
    let folder = tempfile::tempdir().unwrap();
    let address = server.address();
    let words = ["run", &address, "--size", "16MiB", "--rw", "write", "--bs", "4k", "--runtime", "600s"];
    let mut command = crate::program::command(folder.path(), &words);
    command.stdout(std::process::Stdio::null());
    command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET).env("HOME", folder.path());
    let mut child = command.env_remove("AWS_SESSION_TOKEN").spawn().unwrap();
    let writes = || server.store.lock().unwrap().objects.keys().filter(|key| key.contains("/blocks/")).count();
    while writes() < 10 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    child.wait().unwrap();
    let store = server.store.lock().unwrap();
    assert!(store.objects.is_empty() && store.uploads.is_empty(), "{} are left", store.objects.len());
}

#[test]
fn a_study_of_a_bucket_belongs_to_its_server_and_holds_no_key() {
    let server = MemoryS3::start();
    let folder = tempfile::tempdir().unwrap();
    let study = |words: &[&str]| {
        let usual = ["study", "s3://bucket/x", "--size", "64MiB", "--budget", "2s", "--bs", "64k", "--iodepth", "1,4"];
        let more = ["--output", "s.halfpower", "--experiments", "sequential"];
        s3(folder.path(), &server, &[&usual[..], &more, words].concat())
    };
    let output = study(&[]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&study(&[])).contains("was finished"));
    for name in ["s.halfpower", "s.html"] {
        let written = fs::read(folder.path().join(name)).unwrap();
        let holds = |word: &str| written.windows(word.len()).any(|part| part == word.as_bytes());
        assert!(!holds(SECRET) && !holds(KEY) && holds(&server.endpoint()), "{name}");
    }
    let other = MemoryS3::start();
    let output = s3(
        folder.path(),
        &other,
        &["study", "s3://bucket/x", "--size", "64MiB", "--budget", "2s", "--output", "s.halfpower"],
    );
    assert_eq!(output.status.code(), Some(2), "another server is another place: {}", said(&output));
    let plan = said(&s3(folder.path(), &server, &["plan", "s3://bucket/x", "--budget", "2s", "--size", "64MiB"]));
    assert!(plan.contains("endpoint=") && plan.contains(&server.endpoint()) && !plan.contains(SECRET), "{plan}");
    let network = ["plan", "s3://bucket/x", "--experiments", "network", "--size", "64MiB"];
    let network = said(&s3(folder.path(), &server, &network));
    assert!(network.contains("halfpower run") && !network.contains("--connections"), "{network}");
}
