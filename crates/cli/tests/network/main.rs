//! Measures shares of Samba and NFS-Ganesha over a link of known rate, and causes faults there.

mod functional;
mod lab;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

/// Prints what is skipped and why; fails if tests must not be skipped.
fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}

/// Tests that measure use the processors alone; tests that only observe behaviour share them.
static PROCESSORS: RwLock<()> = RwLock::new(());

/// Like [`lab`], with exclusive use of the processors, so that rates are undisturbed.
fn lab_alone(script: &str) -> Option<String> {
    let _alone = PROCESSORS.write().unwrap_or_else(PoisonError::into_inner);
    lab(script)
}

/// Like [`lab`], in parallel with other such scripts.
fn lab_beside(script: &str) -> Option<String> {
    let _shared = PROCESSORS.read().unwrap_or_else(PoisonError::into_inner);
    lab(script)
}

/// Output of `script` in the lab, with its errors; `None` if the lab is not available.
fn lab(script: &str) -> Option<String> {
    let needed = ["unshare", "ip", "tc", "smbd", "smbpasswd", "ganesha.nfsd", "rpcbind"];
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let is_there = |word: &&str| path.split(':').any(|folder| Path::new(folder).join(word).exists());
    if let Some(missing) = needed.iter().find(|word| !is_there(word)) {
        skip(&format!("{missing} is not installed"));
        return None;
    }
    let script_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/network/lab.sh");
    let output = Command::new("bash")
        .arg(script_file)
        .arg(format!("exec 2>&1\n{script}"))
        .env("HP", halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")))
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    if text.is_empty() && (errors.contains("not permitted") || errors.contains("denied")) {
        skip(&format!("the lab takes root: {errors}"));
        return None;
    }
    assert!(!text.contains("lab-secret"), "{text}");
    Some(text)
}

/// The JSON documents in the lab's output, each on separate lines.
fn documents(text: &str) -> Vec<Value> {
    let text = format!("\n{text}");
    let from = |at: usize| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok();
    text.match_indices("\n{\n").filter_map(|(at, _)| from(at + 1)).collect()
}

/// The throughputs that runs printed, in MB/s.
fn rates(text: &str) -> Vec<f64> {
    let line = |line: &str| -> Option<f64> {
        let rest = line.trim().strip_prefix("throughput")?;
        rest.split_whitespace().next()?.replace(',', "").parse().ok()
    };
    text.lines().filter_map(line).collect()
}
