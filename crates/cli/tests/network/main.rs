//! Measures shares of Samba and NFS-Ganesha at the other end of a wire of known rate, and brings faults about there.

use std::path::Path;
use std::process::{Command, Stdio};

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
        let Some(text) = lab(&script) else { return };
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

#[test]
#[ignore = "long: a server of its own"]
fn a_link_that_is_down_for_five_seconds_costs_these_and_nothing_else() {
    let run = "$HP run $share --size 64MiB --rw read --bs 64k --runtime 8s";
    let script = format!("for share in $SMB $NFS; do (sleep 3; link down; sleep 5; link up) & {run}; wait; done");
    let Some(text) = lab(&script.replace("; wait", "; sleep 3")) else { return };
    assert_eq!((rates(&text).len(), text.matches("errors      none").count()), (2, 2), "{text}");
}

#[test]
#[ignore = "long: a server of its own"]
fn a_server_that_is_killed_ends_a_study_that_goes_on_when_it_is_back() {
    let script = "study() { $HP study $1 --size 64MiB --budget 8s --bs 64k,1MiB --iodepth 1,8 --output $2; echo \"code $?\"; }\n\
                  for kind in smb nfs; do share=$SMB; [ $kind = nfs ] && share=$NFS\n\
                  (sleep 4; server stop) & study $share $kind.study; sleep 1; server start; study $share $kind.study; done\n\
                  grep -c lab-secret *.study *.html; ls -A ../data; echo end";
    let Some(text) = lab(script) else { return };
    let codes: Vec<&str> = text.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, ["code 2", "code 0", "code 2", "code 0"], "{text}");
    assert_eq!(text.matches("the connection to the server was lost").count(), 2, "{text}");
    assert!(!text.lines().any(|line| line.ends_with(":1")), "no file holds the password: {text}");
}

#[test]
#[ignore = "long: a server of its own"]
fn what_a_server_refuses_is_said_in_a_sentence() {
    let script = "HALFPOWER_SMB_PASSWORD=wrong $HP run $SMB; echo \"code $?\"\n\
                  for share in smb://root@10.77.1.2/nowhere $SMB/nowhere smb://root@10.77.1.2/closed nfs://10.77.1.2/nowhere; do\n\
                  $HP run $share; echo \"code $?\"; done\n\
                  $HP run $FULL --size 200MiB; echo \"code $?\"; server stop; $HP run $SMB; echo \"code $?\"";
    let Some(text) = lab(script) else { return };
    for words in [
        "does not let the user root in",
        "has no share nowhere",
        "no such folder",
        "/closed: the user root has no rights",
        "does not give /nowhere",
        "--size 200MiB is more",
        "takes no connection",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(text.matches("code 2").count(), 7, "{text}");
}

#[test]
#[ignore = "long: a server of its own"]
fn encrypted_shares_are_verified_and_a_kill_leaves_no_file_on_smb() {
    let script = "$HP run smb://root@10.77.1.2/signed --size 64MiB --rw write --verify --bs 64k --runtime 1s\n\
                  $HP run $SMB --size 64MiB --runtime 60s & sleep 4; ls -A ../data; kill -9 $!; sleep 1; ls -A ../data; echo end";
    let Some(text) = lab(script) else { return };
    assert!(text.contains("no data were wrong") && text.contains("errors      none"), "{text}");
    assert_eq!(text.matches(".halfpower-").count(), 1, "gone with the kill: {text}");
}
