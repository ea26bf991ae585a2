//! Checks runs and studies of a bucket on a third-party S3 server, over HTTP and over TLS.
//!
//! `HALFPOWER_S3RVER` names s3rver's program (npm). It checks the access key, but not Version 4 signatures, which the
//! tests of `share` check. TLS needs the feature `s3`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::program;

const KEY: &str = "S3RVER";

struct Server {
    child: Child,
    folder: tempfile::TempDir,
    endpoint: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts a server with the bucket `lab`; over TLS it uses a certificate in its folder.
    fn start(is_tls: bool) -> Option<Self> {
        let program = named("HALFPOWER_S3RVER", "s3rver's program (npm install s3rver)")?;
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let mut command = Command::new(program);
        command.arg("-d").arg(&data).args(["-a", "127.0.0.1", "-p", "0", "--configure-bucket", "lab"]);
        if is_tls {
            certificate(folder.path());
            command.arg("--key").arg(folder.path().join("key")).arg("--cert").arg(folder.path().join("certificate"));
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let number = line.trim_end().rsplit(':').next()?.trim_end_matches('/').parse::<u16>().ok()?;
            line.contains("listening").then_some(number)
        });
        // The server blocks unless its log is read.
        std::thread::spawn(move || lines.for_each(drop));
        let scheme = if is_tls { "https" } else { "http" };
        let endpoint = format!("{scheme}://127.0.0.1:{}", port.expect("it says where it listens"));
        Some(Self { child, folder, endpoint })
    }

    fn run(&self, program: &Path, words: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).args(words).args(["--endpoint", &self.endpoint]);
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", KEY).env_remove("AWS_SESSION_TOKEN");
        command.env_remove("AWS_REGION").env_remove("AWS_DEFAULT_REGION").env("HOME", self.folder.path());
        if self.endpoint.starts_with("https") {
            command.env("AWS_CA_BUNDLE", self.folder.path().join("certificate"));
        }
        command.output().unwrap()
    }

    /// Number of objects in the bucket.
    fn objects(&self) -> usize {
        let mut folders = vec![self.folder.path().join("data/lab")];
        let mut count = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                } else {
                    count += usize::from(entry.to_string_lossy().ends_with("_object"));
                }
            }
        }
        count
    }
}

fn named(variable: &str, what: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        let why = format!("{variable} names no program: {what}");
        assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "{why}");
        eprintln!("skipped: {why}");
    }
    path
}

/// Creates a self-signed certificate for this machine's address.
fn certificate(folder: &Path) {
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=lab"]);
    openssl.args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(folder.join("key")).arg("-out").arg(folder.join("certificate"));
    assert!(openssl.stderr(Stdio::null()).status().unwrap().success());
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

fn measures(server: &Server, program: &Path) {
    for words in [
        &["--rw", "randread", "--bs", "64k", "--iodepth", "8", "--verify"][..],
        &["--rw", "write", "--bs", "16k", "--iodepth", "4", "--verify"],
        &["--rw", "randrw", "--bs", "4k", "--threads", "2"],
        &["--rw", "read", "--bs", "9MiB"],
    ] {
        let usual = ["run", "s3://lab/a%20b+c", "--size", "20MiB", "--runtime", "300ms"];
        let output = server.run(program, &[&usual[..], words].concat());
        assert!(output.status.success() && said(&output).contains("errors      none"), "{}", said(&output));
    }
    assert_eq!(server.objects(), 0, "nothing is left");
}

#[test]
#[ignore = "gate: a server of S3 is started"]
fn a_server_of_others_is_measured_and_verified() {
    let Some(server) = Server::start(false) else { return };
    let program = Path::new(env!("CARGO_BIN_EXE_halfpower"));
    measures(&server, program);
    let study = ["study", "s3://lab", "--size", "64MiB", "--budget", "4s", "--bs", "64k,1m", "--iodepth", "1,8"];
    let output = server.run(program, &study);
    assert!(output.status.success() && said(&output).contains("64 KiB"), "{}", said(&output));
    assert_eq!(server.objects(), 0, "nothing is left");
    let wrong = server.run(program, &["run", "s3://nowhere"]);
    assert!(wrong.status.code() == Some(2) && said(&wrong).contains("there is no bucket nowhere"), "{}", said(&wrong));
}

#[test]
#[ignore = "gate: a server of S3 is started"]
fn a_server_of_others_is_measured_over_tls() {
    let Some(server) = Server::start(true) else { return };
    if let Some(without) = program::without_features() {
        let output = server.run(&without, &["run", "s3://lab"]);
        assert!(said(&output).contains("cargo build --release --features s3"), "{}", said(&output));
    }
    if !cfg!(feature = "s3") {
        return program::skip("this program has no TLS: cargo test --features halfpower/s3");
    }
    let program = Path::new(env!("CARGO_BIN_EXE_halfpower"));
    measures(&server, program);
    fs::write(server.folder.path().join("certificate"), "").unwrap();
    let output = server.run(program, &["run", "s3://lab"]);
    assert!(output.status.code() == Some(2) && said(&output).contains("AWS_CA_BUNDLE"), "{}", said(&output));
}
