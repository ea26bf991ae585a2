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
/// Environment variable with words of the sentence that it must give.
const WORDS: &str = "HALFPOWER_TLS_WORDS";
const BYTES: usize = 8 << 20;

/// Makes a self-signed certificate for `name`.
fn certificate(folder: &Path, name: &str) {
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=lab"]);
    openssl.args(["-addext", &format!("subjectAltName={name}"), "-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(folder.join("key")).arg("-out").arg(folder.join("certificate"));
    assert!(openssl.stderr(Stdio::null()).status().expect("openssl").success());
}

/// Configuration with which openssl signs a request with its own key, for any time.
const AUTHORITY: &str = "[ca]\ndefault_ca = own\n[own]\ndatabase = index\nnew_certs_dir = .\nrand_serial = yes\n\
                         default_md = sha256\npolicy = any\ncopy_extensions = copy\n[any]\ncommonName = supplied\n";

/// Makes a self-signed certificate that expired in 2020.
fn expired_certificate(folder: &Path) {
    std::fs::write(folder.join("authority"), AUTHORITY).unwrap();
    std::fs::write(folder.join("index"), "").unwrap();
    let request = "req -newkey rsa:2048 -nodes -subj /CN=lab -addext subjectAltName=IP:127.0.0.1 \
                   -addext basicConstraints=critical,CA:FALSE -keyout key -out request";
    let signature = "ca -selfsign -batch -notext -config authority -in request -keyfile key -out certificate \
                     -startdate 20200101000000Z -enddate 20200102000000Z";
    for words in [request, signature] {
        let mut openssl = Command::new("openssl");
        openssl.current_dir(folder).args(words.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(openssl.status().expect("openssl").success(), "{words}");
    }
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
        Access { credentials: credentials(KEY, SECRET), timeout: Duration::from_secs(120), stop: Arc::default() };
    Share::connect(&address(&format!("s3://{BUCKET}?endpoint=https://127.0.0.1:{port}")), &access)
}

/// Starts this program again for one of the cases below, with `bundle` as the only trusted certificates.
fn again(case: &str, folder: &Path, bundle: &Path, words: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", case, "--nocapture"]).env(FOLDER, folder).env("AWS_CA_BUNDLE", bundle).env(WORDS, words);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_bucket_over_tls_is_one_with_a_server_that_is_trusted() {
    let [ours, others, elsewhere, late] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    certificate(ours.path(), "IP:127.0.0.1");
    certificate(others.path(), "IP:127.0.0.1");
    certificate(elsewhere.path(), "IP:127.0.0.2");
    expired_certificate(late.path());
    let own = |folder: &tempfile::TempDir| folder.path().join("certificate");
    again("tls::case_of_one_who_is_trusted", ours.path(), &own(&ours), "");
    let refused = "tls::case_of_one_who_is_not";
    again(refused, ours.path(), &own(&others), "signed by itself, or by nobody whom this machine trusts");
    again(refused, elsewhere.path(), &own(&elsewhere), "another server's");
    again(refused, late.path(), &own(&late), "has expired");
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
    let words = std::env::var(WORDS).unwrap();
    assert!(said.contains("127.0.0.1 is not trusted: its certificate") && said.contains(&words), "{said}");
    assert!(!words.contains("nobody") || said.contains("AWS_CA_BUNDLE"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(server.store.lock().unwrap().uploads.is_empty(), "nothing was asked of it");
}
