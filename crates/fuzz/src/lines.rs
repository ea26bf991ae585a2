//! Feeds command lines, job files and a witness's replies to their readers.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use halfpower_record::CpuTimes;
use halfpower_witness::Reply;

/// Feeds a command line without the program's name, one word per line.
pub(crate) fn command_line(bytes: &[u8]) {
    let words: Vec<OsString> = bytes.split(|byte| *byte == b'\n').map(|word| OsStr::from_bytes(word).into()).collect();
    halfpower::understand(&words);
}

/// Feeds a fio job file.
///
/// # Panics
/// If a temporary file cannot be created.
pub(crate) fn job_file(bytes: &[u8]) {
    let folder = crate::folder();
    let path = folder.path().join("fuzzed.fio");
    std::fs::write(&path, bytes).expect("a temporary file");
    halfpower::understand(&[path.into_os_string()]);
}

/// Feeds an XML profile of diskspd.
///
/// # Panics
/// If a temporary file cannot be created.
pub(crate) fn diskspd_profile(bytes: &[u8]) {
    let folder = crate::folder();
    let path = folder.path().join("fuzzed.xml");
    std::fs::write(&path, bytes).expect("a temporary file");
    let mut word = OsString::from("-X");
    word.push(path);
    halfpower::understand(&[word, "sim:".into()]);
}

/// Feeds replies of a witness, one per line.
///
/// # Panics
/// If a valid reply does not read back the same.
pub(crate) fn witness_replies(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(reply) = Reply::read(line) else { continue };
        let written = serde_json::to_vec(&reply).expect("a reply is plain data");
        assert_eq!(Reply::read(&written).as_ref(), Some(&reply));
        if let Some(record) = reply.record() {
            let _ = (record.mbps(), record.iops(), record.latency_ns_at(0.99));
        }
        if let Some(bill) = reply.bill() {
            let _ = (bill.machine_ns(CpuTimes::busy_ns), bill.processes_ns());
            assert!(bill.busiest_disk().is_none_or(|(_, share)| (0.0..=1.0).contains(&share)));
        }
    }
}
