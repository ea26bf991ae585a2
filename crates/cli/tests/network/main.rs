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

/// Reads and durable writes of both shares over a wire of so many Mbit/s.
///
/// Whoever else uses the processors makes a run slower and never faster: no run gives more than the wire has, and the best
/// of a few gives it.
fn over_a_wire(megabits: f64) {
    let script = format!(
        "wire {megabits}mbit; for share in $SMB $NFS; do for how in 'read device' 'write none'; do set -- $how; \
         $HP run $share --size 64MiB --rw $1 --cache $2 --bs 1MiB --iodepth 8 --runtime 3s; done; done"
    );
    let wanted = megabits / 8.0 * PAYLOAD;
    let mut best = [0.0; 4];
    for _ in 0..TRIES {
        let Some(text) = lab_alone(&script) else { return };
        let rates = rates(&text);
        assert_eq!(rates.len(), best.len(), "{text}");
        println!("{rates:?} of {wanted:.1} MB/s");
        assert!(rates.iter().all(|rate| rate / wanted <= 1.0 + WITHIN), "{rates:?} of {wanted:.1} MB/s\n{text}");
        best.iter_mut().zip(&rates).for_each(|(best, rate)| *best = rate.max(*best));
        if best.iter().all(|rate| rate / wanted >= 1.0 - WITHIN) {
            return;
        }
    }
    panic!("{best:?} instead of {wanted:.1} MB/s at best");
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
