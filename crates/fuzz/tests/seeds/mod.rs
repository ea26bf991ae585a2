//! Gives the well-formed texts and files that the tests mangle.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use halfpower_measure::{SimulatedTarget, TargetBackend, measure};
use halfpower_record::{Environment, Record, StudyFile, write_trace};
use halfpower_spec::{Bytes, Nanos, Pass, Question, Run, Rw, SimulatedDisk, Workload};

fn bytes(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub fn targets() -> Vec<Vec<u8>> {
    bytes(&[
        "/data/file",
        "null:",
        "stripe:chunk=64KiB,/dev/sdb,/dev/sdc",
        "mirror:/a,/b",
        "each:/a,/b,/c",
        "smb://server/share",
        "sim:",
        "sim:fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s,iops=5000,noise=3%,jitter=0.1,correlation=0.5",
        "sim:cpu_fixed=5us,cpu_per_kib=50ns,unseen=25%,cpus=2,size=1GiB,seed=7",
        "sim:errors=1%,short=1%,stall=1%:100ms,flip=1%,torn=1%,lost=1%,misdirect=1%",
        "sim:win2k-atlas10k,disks=4,array=stripe,disk.rpm=15000",
        "sim:win2k-3ware6800,disks=2,array=mirror,buses=2,aligned=on,dynamic=on,processors=1",
        "sim:win2k-gigabit,network.wire_mbps=100,network.client_processors=4",
    ])
}

pub fn quantities() -> Vec<Vec<u8>> {
    bytes(&[
        "4096",
        "4KiB",
        "1.5MiB",
        "64kB",
        "80us",
        "2.5ms",
        "2m",
        "0.25",
        "500MB/s",
        "3.5GiB/s",
        "4KiB..1MiB",
        "4k-1m",
        "1..32",
        "1,4,16,64",
        "0+4KiB",
        "1GiB+64MiB",
    ])
}

pub fn systems() -> Vec<Vec<u8>> {
    let mut seeds = bytes(&[
        "fixed='80us'\nrate='500MB/s'\ndisks=4\nshared='1200MB/s'\nnoise='3%'\nseed=7\n",
        include_str!("calibrated.toml"),
    ]);
    seeds.extend(halfpower_model::systems().iter().map(|system| system.text.as_bytes().to_vec()));
    seeds
}

fn records() -> &'static (Question, Environment, Vec<Record>) {
    static RECORDS: OnceLock<(Question, Environment, Vec<Record>)> = OnceLock::new();
    RECORDS.get_or_init(|| {
        let disk = SimulatedDisk::from_constants("noise=5%,jitter=0.2,errors=1%").unwrap();
        let question = Question::about(format!("sim:{disk}"));
        let mut target = SimulatedTarget::new(disk);
        let runs =
            [(Rw::Read, 4096, Pass::Plain), (Rw::Randwrite, 65536, Pass::Soaker), (Rw::Randmixed, 8192, Pass::Plain)];
        let records = runs.into_iter().enumerate().map(|(index, (rw, bs, pass))| {
            let workload = Workload { rw, bs: Bytes(bs), ..Workload::default() };
            let experiment = Some(question.experiments[index % 2]);
            let run = Run { experiment, workload, repeat: 0, pass, runtime: Nanos(20_000_000), seed: 3 };
            measure(&mut target, &run, &AtomicBool::new(false)).unwrap()
        });
        let records = records.collect();
        (question.clone(), target.environment().clone(), records)
    })
}

pub fn traces() -> Vec<Vec<u8>> {
    let mut trace = Vec::new();
    write_trace(&records().2, &mut trace).unwrap();
    let line = trace.split_inclusive(|byte| *byte == b'\n').next().unwrap().to_vec();
    vec![trace, line]
}

pub fn study_files() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seed.halfpower");
    let (question, environment, records) = records();
    let mut file = StudyFile::create(&path, question, environment).unwrap();
    file.append_all(records).unwrap();
    drop(file);
    vec![std::fs::read(&path).unwrap()]
}

pub fn study_json() -> Vec<Vec<u8>> {
    let (question, environment, records) = records();
    let lines: Vec<String> = records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    let mut seeds = bytes(&[&serde_json::to_string(question).unwrap(), &serde_json::to_string(environment).unwrap()]);
    seeds.extend(lines.iter().map(|line| line.as_bytes().to_vec()));
    seeds.push(lines.join("\n").into_bytes());
    seeds
}

pub fn trees() -> Vec<Vec<u8>> {
    bytes(&[halfpower_fuzz::NVME])
}
