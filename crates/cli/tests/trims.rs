//! Trims blocks of files and devices, and checks the counts, the result and the permissions.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::program::skip;

const MIB: u64 = 1 << 20;

fn output(folder: &Path, line: &str) -> Output {
    let words = line.split_whitespace();
    let mut program = Command::new(env!("CARGO_BIN_EXE_halfpower"));
    program.args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn refused(folder: &Path, line: &str) -> String {
    let output = output(folder, line);
    assert_eq!(output.status.code(), Some(2), "{line}");
    String::from_utf8(output.stderr).unwrap()
}

fn json(folder: &Path, line: &str) -> Value {
    let output = output(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A folder on the build's disk.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// What a line prints with the first of these times that is enough: on a slow disk little ends within a short one.
fn of_enough(folder: &Path, line: &str, times: [&str; 3], is_enough: impl Fn(&Value) -> bool) -> Value {
    let mut records = times.into_iter().map(|time| json(folder, &line.replace("TIME", time)));
    records.find(is_enough).unwrap_or_else(|| panic!("too little came of it: {line}"))
}

fn blocks_bytes(file: &Path) -> u64 {
    fs::metadata(file).unwrap().blocks() * 512
}

#[test]
fn a_file_gives_each_block_back_once() {
    let here = folder();
    for rw in ["trim", "randtrim"] {
        let record = json(here.path(), &format!("run . --rw {rw} --bs 64k --size 4m --iodepth 4 --runtime 10m --json"));
        assert_eq!((&record["trim"]["ios"], &record["trim"]["bytes"]), (&64.into(), &(4 * MIB).into()), "{rw}");
        assert_eq!(
            (&record["read"], &record["write"], &record["direction"]),
            (&Value::Null, &Value::Null, &Value::Null)
        );
        assert!(record["trim"]["latency_ns"]["p50"].as_u64() > Some(0), "{record}");
        assert_eq!((&record["engine"], &record["errors"]), (&"pool".into(), &0.into()));
    }
    let shown = output(here.path(), "run . --rw trim --bs 64k --size 4m --iodepth 1 --runtime 10m");
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("each block came once") && shown.contains("engine sync"), "{shown}");
}

#[test]
fn what_is_trimmed_is_written_again_where_that_is_asked() {
    let here = folder();
    let file = here.path().join("F");
    fs::write(&file, vec![1; 4 << 20]).unwrap();
    let line = "run F --rw trimwrite --bs 64k --iodepth 2 --runtime TIME --overwrite --json";
    let has_writes = |record: &Value| record["write"]["ios"].as_u64() > Some(0);
    let record = of_enough(here.path(), line, ["100ms", "2s", "60s"], has_writes);
    let figure = |of: &str, key: &str| record[of][key].as_u64().unwrap();
    let trims = figure("trim", "ios");
    let writes = figure("write", "ios");
    assert!(writes.abs_diff(trims) <= 4, "{trims} trims, {writes} writes");
    assert_eq!(figure("write", "bytes"), writes * 65536);
    assert_eq!(record["ios"], trims + writes);
    assert_eq!(record["read"], Value::Null);
    assert!(blocks_bytes(&file) >= 4 * MIB - 2 * 65536, "only what was in flight at the end may be a hole");
    let line = "run --filename=F --rw=trimwrite --bs=64k --size=4m --overwrite --runtime=TIME --time_based \
                --output-format=json";
    let has_both = |told: &Value| {
        let keys = ["trim", "write"].map(|side| &told["jobs"][0][side]);
        keys.iter().all(|side| side["total_ios"].as_u64() > Some(0) && side["clat_ns"]["N"].as_u64() > Some(0))
    };
    let job = &of_enough(here.path(), line, ["50ms", "2s", "60s"], has_both)["jobs"][0];
    assert_eq!((&job["read"]["total_ios"], &job["job options"]["rw"]), (&0.into(), &"trimwrite".into()));
}

#[test]
fn a_file_of_others_is_trimmed_only_where_it_may_be_written_to() {
    let here = folder();
    let file = here.path().join("F");
    fs::write(&file, vec![7; 4 << 20]).unwrap();
    let said = refused(here.path(), "run F --rw trim --bs 64k");
    assert!(said.contains("--overwrite"), "{said}");
    assert!(fs::read(&file).unwrap().iter().all(|byte| *byte == 7), "nothing was given back");
    let line = "run --filename=F --rw=randtrim --bs=64k --iodepth=4 --ioengine=libaio --direct=1 --overwrite \
                --output-format=json";
    let given = output(here.path(), line);
    assert!(String::from_utf8_lossy(&given.stderr).contains("a pool of threads makes them, not libaio"));
    let job: Value = serde_json::from_slice(&given.stdout).unwrap();
    assert_eq!(job["jobs"][0]["trim"]["io_bytes"], 4 * MIB);
    assert_eq!((blocks_bytes(&file), file.metadata().unwrap().len()), (0, 4 * MIB), "all is a hole, as long as before");
    // Reading holes needs no disk, so files with holes are refused or filled.
    let said = refused(here.path(), "run F --rw read --runtime 20ms");
    assert!(said.contains("were never written"), "{said}");
    json(here.path(), "run F --rw read --runtime 20ms --overwrite --json");
    assert!(blocks_bytes(&file) >= 4 * MIB);
}

#[test]
fn a_device_discards_and_only_where_it_may_be_written_to() {
    let here = folder();
    let image = here.path().join("image");
    fs::write(&image, vec![9; 8 << 20]).unwrap();
    let made = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        return skip("a loop device needs root and losetup");
    };
    let device = String::from_utf8(made.stdout).unwrap().trim().to_string();
    let tried = std::panic::catch_unwind(|| {
        let said = refused(here.path(), &format!("run {device} --rw trim"));
        assert!(said.contains("--overwrite"), "{said}");
        assert!(fs::read(&image).unwrap().iter().all(|byte| *byte == 9), "nothing was discarded");
        let line = format!("run {device} --rw trim --bs 256k --iodepth 4 --runtime TIME --overwrite --json");
        let has_trims = |record: &Value| record["trim"]["ios"].as_u64() > Some(0);
        let record = of_enough(here.path(), &line, ["300ms", "3s", "60s"], has_trims);
        assert_eq!(record["errors"], 0, "{record}");
    });
    Command::new("losetup").args(["--detach", &device]).status().unwrap();
    tried.unwrap();
    assert!(blocks_bytes(&image) < 8 * MIB, "the blocks are gone from what the device stands on");
}

#[test]
fn what_cannot_trim_says_so_before_anything_is_done() {
    let here = folder();
    for (line, why) in [
        ("run . --rw trim --engine io_uring", "take --engine pool or sync"),
        ("run . --rw trim --verify", "leave --verify out"),
        ("run . --rw randtrim --bssplit 4k:8k", "leave it out"),
        ("run . --rw trim --fdatasync 4", "--fdatasync has nothing to make durable"),
        ("run . --rw trim --random-readers 1", "would read what --rw trim has given back"),
        ("run . --rw randtrim --random-distribution zipf:1.2", "leaves none there"),
        ("run . --rw trim --layout new", "needs one that is there"),
        ("run sim: --rw trim", "a simulated target has no blocks to give back"),
        ("run sim: --rw trim --output s.halfpower", "a study tells of reads and writes"),
        ("run --filename=F --rw=trimread --bs=4k", "there is no such access pattern"),
    ] {
        let said = refused(here.path(), line);
        assert!(said.contains(why), "{line}: {said}");
    }
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 0, "nothing is left behind");
}
