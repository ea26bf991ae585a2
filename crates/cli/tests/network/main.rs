//! Measures shares of Samba and NFS-Ganesha at the other end of a wire of known rate, and brings faults about there.

mod faults;
mod limits;
mod sealing;
mod ways;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{PoisonError, RwLock};

/// Of a frame of 1514 bytes, as the wire's limit counts them, so many are payload of TCP.
const PAYLOAD: f64 = 1448.0 / 1514.0;
/// Times that runs are made at most.
const TRIES: usize = 5;
/// How far a rate may be off.
const WITHIN: f64 = 0.03;

/// Says what is left out and why; a failure where nothing may be left out.
fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}

/// Of those who measure each has the processors alone; those who only look at what happens share them with each other.
static PROCESSORS: RwLock<()> = RwLock::new(());

/// What `script` prints in a lab that has the processors alone, so that its rates are its own; otherwise like [`lab`].
fn lab_alone(script: &str) -> Option<String> {
    let _alone = PROCESSORS.write().unwrap_or_else(PoisonError::into_inner);
    lab(script)
}

/// Runs `script` alone until what it prints is good, a few times at most.
///
/// Whoever else uses the processors makes a run slower, or is the limit himself: one good try tells what the path gives.
fn tried(script: &str, mut is_good: impl FnMut(&str) -> bool) {
    for _ in 0..TRIES {
        let Some(text) = lab_alone(script) else { return };
        if is_good(&text) {
            return;
        }
    }
    panic!("not once in {TRIES} tries");
}

/// What `script` prints in a lab with others like it beside; otherwise like [`lab`].
fn lab_beside(script: &str) -> Option<String> {
    let _shared = PROCESSORS.read().unwrap_or_else(PoisonError::into_inner);
    lab(script)
}

/// What `script` prints in the lab, with its errors; `None` where the lab cannot be had.
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
        .env("HP", env!("CARGO_BIN_EXE_halfpower"))
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

/// The throughputs in MB/s that runs printed.
fn rates(text: &str) -> Vec<f64> {
    let line = |line: &str| -> Option<f64> {
        let rest = line.trim().strip_prefix("throughput")?;
        rest.split_whitespace().next()?.replace(',', "").parse().ok()
    };
    text.lines().filter_map(line).collect()
}

/// The best of a few tries is within 3% of the rates in MB/s that are known, and none is above them.
fn gives(script: &str, wanted: &[f64]) {
    let mut best = vec![0.0; wanted.len()];
    tried(script, |text| {
        let rates = rates(text);
        assert_eq!(rates.len(), wanted.len(), "{text}");
        println!("{rates:.4?} of {wanted:.4?} MB/s");
        for ((best, rate), wanted) in best.iter_mut().zip(&rates).zip(wanted) {
            assert!(rate / wanted <= 1.0 + WITHIN, "{rates:?} of {wanted:?} MB/s\n{text}");
            *best = rate.max(*best);
        }
        best.iter().zip(wanted).all(|(best, wanted)| best / wanted >= 1.0 - WITHIN)
    });
}

/// Reads and durable writes of both shares over a wire of so many Mbit/s.
fn over_a_wire(megabits: f64) {
    let script = format!(
        "wire {megabits}mbit; for share in $SMB $NFS; do for how in 'read device' 'write none'; do set -- $how; \
         $HP run $share --size 64MiB --rw $1 --cache $2 --bs 1MiB --iodepth 8 --runtime 3s; done; done"
    );
    gives(&script, &[megabits / 8.0 * PAYLOAD; 4]);
}

#[test]
#[ignore = "long: a server and a wire of its own"]
fn a_wire_of_100_megabits_gives_its_payload() {
    over_a_wire(100.0);
}

#[test]
#[ignore = "long: a server and a wire of its own"]
fn a_wire_of_a_gigabit_gives_its_payload() {
    over_a_wire(1000.0);
}
