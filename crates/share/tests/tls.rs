//! Checks requests in flight to a bucket in memory over TLS, and that untrusted servers are refused.
//!
//! The trusted certificates are read once from the environment, so each case starts this program again.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use halfpower_share::{Access, Op, PipelineSource, Share, ShareError};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::carrying::{Slots, carry, lane, orders};
use crate::memory_s3::{BUCKET, KEY, MemoryS3, SECRET};
use crate::s3::{address, credentials, lay_out};

/// Environment variable with the folder of the certificate, in a process that was started for a case.
const FOLDER: &str = "HALFPOWER_TLS_FOLDER";
const BYTES: usize = 8 << 20;

/// Makes a self-signed certificate for `name`.
fn certificate(folder: &Path, name: &str) {
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=lab"]);
    openssl.args(["-addext", &format!("subjectAltName={name}"), "-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(folder.join("key")).arg("-out").arg(folder.join("certificate"));
    assert!(openssl.stderr(Stdio::null()).status().expect("openssl").success());
}

/// Serves the bucket over TLS with the certificate in `folder`; returns the port.
fn serve(server: &MemoryS3, folder: &Path) -> u16 {
    let chain = CertificateDer::pem_file_iter(folder.join("certificate")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(folder.join("key")).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(builder.with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = server.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = server.clone();
            let session = ServerConnection::new(config.clone()).unwrap();
            std::thread::spawn(move || server.serve(StreamOwned::new(session, stream)));
        }
    });
    port
}

fn connect(port: u16) -> Result<Share, ShareError> {
    let access =
        Access { credentials: credentials(KEY, SECRET), timeout: Duration::from_secs(5), stop: Arc::default() };
    Share::connect(&address(&format!("s3://{BUCKET}?endpoint=https://127.0.0.1:{port}")), &access)
}

/// Starts this program again for one of the cases below, with `bundle` as the only trusted certificates.
fn again(case: &str, folder: &Path, bundle: &Path) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", case, "--nocapture"]).env(FOLDER, folder).env("AWS_CA_BUNDLE", bundle);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_bucket_over_tls_is_one_with_a_server_that_is_trusted() {
    let [ours, others, elsewhere] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    certificate(ours.path(), "IP:127.0.0.1");
    certificate(others.path(), "IP:127.0.0.1");
    certificate(elsewhere.path(), "IP:127.0.0.2");
    again("tls::case_of_one_who_is_trusted", ours.path(), &ours.path().join("certificate"));
    again("tls::case_of_one_who_is_not", ours.path(), &others.path().join("certificate"));
    again("tls::case_of_one_who_is_not", elsewhere.path(), &elsewhere.path().join("certificate"));
}

#[test]
fn case_of_one_who_is_trusted() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let server = MemoryS3::start();
    let share = connect(serve(&server, Path::new(&folder))).unwrap();
    assert!(share.facts().contains("encrypted") && !share.facts().contains("not encrypted"), "{}", share.facts());
    lay_out(&share, BYTES);
    for length in [4096, 4099, 1 << 20] {
        let mut pipeline = share.pipeline(lane(false, 4, length)).unwrap();
        let mut slots = Slots(vec![vec![0; length as usize]; 4]);
        let done = carry(&mut pipeline, &mut slots, &orders(Op::Read, 4, length, 777)).unwrap();
        assert!(done.iter().all(|done| done.result == Ok(length)), "{done:?}");
        let there: Vec<u8> = slots.0.concat();
        assert!((777..).zip(&there).all(|(at, byte)| usize::from(*byte) == at % 251), "{length}");
        let done = carry(&mut pipeline, &mut slots, &orders(Op::Write, 4, length, 0)).unwrap();
        assert!(done.iter().all(|done| done.result == Ok(length)), "{done:?}");
        let store = server.store.lock().unwrap();
        let put = store.objects.iter().filter(|(key, _)| key.contains("/blocks/"));
        assert!(put.filter(|(_, bytes)| slots.0.contains(bytes)).count() == 4, "{length}");
    }
    drop(share);
    assert!(server.store.lock().unwrap().objects.is_empty(), "nothing is left");
}

#[test]
fn case_of_one_who_is_not() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let server = MemoryS3::start();
    let said = connect(serve(&server, Path::new(&folder))).err().unwrap().to_string();
    assert!(said.contains("127.0.0.1 is not trusted") && said.contains("AWS_CA_BUNDLE"), "{said}");
    assert!(server.store.lock().unwrap().uploads.is_empty(), "nothing was asked of it");
}
