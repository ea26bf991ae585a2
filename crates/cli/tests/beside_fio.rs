//! Runs lines of fio by fio itself and by this program, and compares what was moved: requests and bytes of each direction.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::{command, folder, of, skip};

/// Lines that end with an amount, and by how much their requests and bytes may differ: where dice decide the mix, the dice
/// of the two are others.
const LINES: [(&str, f64); 15] = [
    ("--rw=read --bs=64k --size=16m --direct=1", 0.0),
    ("--rw=write --bs=4k --size=4m", 0.0),
    ("--rw=randread --bs=4k --size=8m --ioengine=libaio --iodepth=8 --direct=1", 0.0),
    ("--rw=randwrite --bs=16k --size=8m --ioengine=libaio --iodepth=4 --direct=1", 0.0),
    ("--rw=randread --bs=4k --size=8m --numjobs=2 --group_reporting --direct=1", 0.0),
    ("--rw=read --bs=128k --size=16m --io_size=32m --direct=1", 0.0),
    ("--rw=randread --bs=4k --size=16m --number_ios=500 --direct=1", 0.0),
    ("--rw=randwrite --bs=8k --size=4m --fdatasync=8", 0.0),
    ("--rw=write --bs=1m --size=16m --loops=2", 0.0),
    ("--rw=read --bs=4k --size=50% --direct=1", 0.0),
    ("--rw=randread --bs=4k --size=8m --offset=4m --direct=1 --norandommap", 0.0),
    ("--rw=randrw --rwmixread=70 --bs=4k --size=16m --direct=1", 0.2),
    ("--rw=rw --rwmixwrite=25 --bs=4k,8k --size=16m --direct=1", 0.2),
    ("--rw=randread --bssplit=4k/50:16k/50 --size=16m --direct=1 --norandommap", 0.2),
    ("--rw=randread --bssplit=4k/100,32m/100 --size=16m --direct=1", 0.0),
];

/// Bytes and requests of reads, then of writes, of all jobs of fio's JSON.
fn moved(line: &str, output: &Output) -> [f64; 4] {
    assert!(output.status.success(), "{line}: {output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    // fio warns on the same stream.
    let document: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let jobs = document["jobs"].as_array().unwrap();
    [("read", "io_bytes"), ("read", "total_ios"), ("write", "io_bytes"), ("write", "total_ios")]
        .map(|(direction, key)| jobs.iter().map(|job| job[direction][key].as_f64().unwrap()).sum())
}

#[test]
#[ignore = "gate: runs fio itself"]
fn lines_move_what_fio_itself_moves() {
    let here = folder();
    if of("fio", here.path(), &["--version"]).output().is_err() {
        return skip("fio is not installed");
    }
    for (line, apart) in LINES {
        let words: Vec<&str> =
            ["--name=a", "--filename=data", "--output-format=json"].into_iter().chain(line.split(' ')).collect();
        let data = |path: &Path| std::fs::write(path.join("data"), vec![7; 16 << 20]).unwrap();
        data(here.path());
        let fios = moved(line, &of("fio", here.path(), &words).output().unwrap());
        data(here.path());
        let words = [&["run", "--overwrite"][..], &words].concat();
        let ours = moved(line, &command(here.path(), &words).output().unwrap());
        let is_alike = |(fio, our): (&f64, &f64)| (fio - our).abs() <= fio * apart;
        assert!(fios.iter().zip(&ours).all(is_alike), "{line}: fio moves {fios:?}, and this program {ours:?}");
        assert!(ours.iter().sum::<f64>() > 0.0, "{line}");
    }
}
