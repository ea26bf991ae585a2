//! Checks that what is written comes from the file that is named, and when that is refused.

use crate::program::{folder, run};

/// Bytes of the file, and how many of them are used.
const HELD: usize = 3000;
const USED: usize = 1000;

#[test]
fn what_a_file_holds_is_written_again_and_again() {
    let here = folder();
    let held: Vec<u8> = (0..HELD).map(|at| (at % 251) as u8).collect();
    std::fs::write(here.path().join("data.bin"), &held).unwrap();
    std::fs::write(here.path().join("target"), vec![0; 1 << 20]).unwrap();
    let line = "run target --overwrite --rw write --bs 4k --cache both --io-size 100% --payload data.bin --payload-size 1000 \
                --json";
    let output = run(here.path(), &line.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written = std::fs::read(here.path().join("target")).unwrap();
    let wrong = written.iter().enumerate().find(|(at, byte)| **byte != held[at % USED]);
    assert_eq!(wrong, None, "each byte is the next one of the first {USED}");
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let notes = record["environment"]["notes"].to_string();
    assert!(notes.contains("what data.bin holds, up to 1000"), "{notes}");
}

#[test]
fn a_payload_that_is_not_written_is_refused() {
    let here = folder();
    std::fs::write(here.path().join("empty"), "").unwrap();
    for (with, why) in [
        (". --rw read --payload empty", "--rw read writes nothing"),
        (". --rw write --payload empty", "is empty"),
        (". --rw write --payload missing", "missing cannot be read"),
        (". --rw write --payload empty --payload-size 17MiB", "--payload-size 17MiB"),
        (". --rw write --payload empty --compressible 50", "--compressible"),
        (". --rw write --payload empty --verify", "--verify"),
        ("sim: --rw write --payload empty", "moves no data"),
        (". --rw write --payload-size 1k", "--payload"),
    ] {
        let words: Vec<&str> = ["run"].into_iter().chain(with.split_whitespace()).collect();
        let output = run(here.path(), &words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{with}: {said}");
        assert!(said.contains(why), "{with}: {said}");
    }
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 1, "nothing was laid out");
}
