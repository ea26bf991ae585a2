//! Provides the valid texts and files from which fuzzers and tests start.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use halfpower_dialects::sqlio::write_trace;
use halfpower_measure::{SimulatedTarget, TargetBackend, measure};
use halfpower_record::{
    Cause, DiskRequests, Environment, IssuedBy, Latency, OperationKind, Operations, Record, StudyFile, Subject, Wait,
    Watched, WatchedPlace, WatchedSecond, write_watch,
};
use halfpower_spec::{Bytes, Nanos, Pass, Question, Run, Rw, SimulatedDisk, Workload};

/// Message for creating seeds, which never fails.
const SOUND: &str = "a sound seed";

fn bytes(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub(crate) fn targets() -> Vec<Vec<u8>> {
    bytes(&[
        "/data/file",
        "null:",
        "stripe:chunk=64KiB,/dev/sdb,/dev/sdc",
        "mirror:/a,/b",
        "each:/a,/b,/c",
        "smb://server/share",
        "s3://bucket/a%20b?endpoint=http://server:9000",
        "sim:",
        "sim:fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s,iops=5000,noise=3%,jitter=0.1,correlation=0.5",
        "sim:cpu_fixed=5us,cpu_per_kib=50ns,unseen=25%,cpus=2,size=1GiB,seed=7",
        "sim:errors=1%,short=1%,stall=1%:100ms,flip=1%,torn=1%,lost=1%,misdirect=1%",
        "sim:win2k-atlas10k,disks=4,array=stripe,disk.rpm=15000",
        "sim:win2k-3ware6800,disks=2,array=mirror,buses=2,aligned=on,dynamic=on,processors=1",
        "sim:win2k-gigabit,network.wire_mbps=100,network.client_processors=4",
    ])
}

pub(crate) fn quantities() -> Vec<Vec<u8>> {
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

pub(crate) fn systems() -> Vec<Vec<u8>> {
    let mut seeds = bytes(&[
        "fixed='80us'\nrate='500MB/s'\ndisks=4\nshared='1200MB/s'\nnoise='3%'\nseed=7\n",
        include_str!("calibrated.toml"),
    ]);
    seeds.extend(halfpower_model::systems().iter().map(|system| system.text.as_bytes().to_vec()));
    seeds
}

pub(crate) fn profiles() -> Vec<Vec<u8>> {
    halfpower_spec::PROFILES.iter().map(|(_, text)| text.as_bytes().to_vec()).collect()
}

fn records() -> &'static (Question, Environment, Vec<Record>) {
    static RECORDS: OnceLock<(Question, Environment, Vec<Record>)> = OnceLock::new();
    RECORDS.get_or_init(|| {
        let disk = SimulatedDisk::from_constants("noise=5%,jitter=0.2,errors=1%").expect(SOUND);
        let question = Question::about(format!("sim:{disk}"));
        let mut target = SimulatedTarget::new(disk);
        let runs =
            [(Rw::Read, 4096, Pass::Plain), (Rw::Randwrite, 65536, Pass::Soaker), (Rw::Randmixed, 8192, Pass::Plain)];
        let records = runs.into_iter().enumerate().map(|(index, (rw, bs, pass))| {
            let workload = Workload { rw, bs: Bytes(bs), ..Workload::default() };
            let experiment = Some(question.experiments[index % 2]);
            let run = Run { experiment, workload, repeat: 0, pass, runtime: Nanos(20_000_000), seed: 3 };
            measure(&mut target, &run, &AtomicBool::new(false)).expect(SOUND)
        });
        let records = records.collect();
        (question.clone(), target.environment().clone(), records)
    })
}

pub(crate) fn traces() -> Vec<Vec<u8>> {
    let mut trace = Vec::new();
    write_trace(&records().2, &mut trace).expect(SOUND);
    let line = trace.split_inclusive(|byte| *byte == b'\n').next().expect(SOUND).to_vec();
    vec![trace, line]
}

pub(crate) fn results_of_fio() -> Vec<Vec<u8>> {
    bytes(&[
        include_str!("../../dialects/tests/data/fio.json"),
        include_str!("../../dialects/tests/data/fio-plus.json"),
        include_str!("../../dialects/tests/data/fio-terse.txt"),
    ])
}

pub(crate) fn results_of_diskspd() -> Vec<Vec<u8>> {
    bytes(&[
        include_str!("../../dialects/tests/data/diskspd.xml"),
        include_str!("../../dialects/tests/data/diskspd.txt"),
    ])
}

pub(crate) fn results_of_sqlio() -> Vec<Vec<u8>> {
    let mut seeds = traces();
    seeds.extend(bytes(&[include_str!("../../dialects/tests/data/sqlio.txt")]));
    seeds
}

pub(crate) fn results_of_elbencho() -> Vec<Vec<u8>> {
    bytes(&[
        include_str!("../../dialects/tests/data/elbencho.csv"),
        include_str!("../../dialects/tests/data/elbencho.json"),
    ])
}

pub(crate) fn results_of_ior() -> Vec<Vec<u8>> {
    bytes(&[include_str!("../../dialects/tests/data/ior.json")])
}

pub(crate) fn outputs_of_strace() -> Vec<Vec<u8>> {
    bytes(&[
        include_str!("../../dialects/tests/data/strace.txt"),
        include_str!("../../dialects/tests/data/strace-y.txt"),
    ])
}

pub(crate) fn outputs_of_blkparse() -> Vec<Vec<u8>> {
    bytes(&[include_str!("../../dialects/tests/data/blkparse.txt")])
}

pub(crate) fn logs_of_fio() -> Vec<Vec<u8>> {
    bytes(&[
        include_str!("../../dialects/tests/data/fio-lat-log.txt"),
        include_str!("../../dialects/tests/data/fio-io-log.txt"),
        "fio version 2 iolog\nf add\nf write 0 4096\nf wait 500 0\nf read 0 4096\nf datasync 0 0\nf close\n",
        "0, 300000, 1, 4096, 0, 0, 5000000\n0, 300000, 1, 4096, 0, 0, 5400000\n",
    ])
}

pub(crate) fn study_files() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect(SOUND);
    let path = folder.path().join("seed.halfpower");
    let (question, environment, records) = records();
    let mut file = StudyFile::create(&path, question, environment).expect(SOUND);
    file.append_all(records).expect(SOUND);
    drop(file);
    vec![std::fs::read(&path).expect(SOUND)]
}

pub(crate) fn watches() -> Vec<Vec<u8>> {
    let latency = Latency::of_percentiles(100, [80_000, 900_000], 110_000.0, &[(50.0, 100_000), (99.0, 400_000)]);
    let operations = Operations {
        place: Some(0),
        kind: OperationKind::Read,
        by: IssuedBy::Calls,
        direct: Some(true),
        count: 100,
        unended: 2,
        bytes: 819_200,
        sizes: vec![(8192, 100)],
        sequential: 3,
        appends: 0,
        cached: 1,
        latency: latency.clone(),
        waits: vec![(Wait::Device, 10_000_000), (Wait::RunQueue, 1_000_000)],
        threads: 2,
        depth_while_busy: 1.3,
        depth: 0.011,
        deepest: 2,
        shared_flushes: 0,
    };
    let requests = DiskRequests {
        disk: "nvme0n1".to_string(),
        cause: Cause::Operation,
        own: Some(true),
        writes: false,
        count: 99,
        bytes: 811_008,
        sequential: 2,
        queue: Latency::default(),
        device: latency.clone(),
        depth: 0.01,
    };
    let watched = Watched {
        subject: Subject { asked: "pid 4711".to_string(), name: "postgres".to_string(), ..Subject::default() },
        span_ns: 1_000_000_000,
        traced_ns: 1_000_000_000,
        slices: 1,
        places: vec![WatchedPlace { path: "/srv".to_string(), ..WatchedPlace::default() }],
        operations: vec![operations],
        requests: vec![requests],
        seconds: vec![WatchedSecond { traced_ns: 1_000_000_000, reads: latency, ..WatchedSecond::default() }],
        ..Watched::default()
    };
    let mut text = Vec::new();
    write_watch(&watched, &mut text).expect(SOUND);
    vec![text]
}

pub(crate) fn study_json() -> Vec<Vec<u8>> {
    let (question, environment, records) = records();
    let lines: Vec<String> = records.iter().map(|record| serde_json::to_string(record).expect(SOUND)).collect();
    let mut seeds =
        bytes(&[&serde_json::to_string(question).expect(SOUND), &serde_json::to_string(environment).expect(SOUND)]);
    seeds.extend(lines.iter().map(|line| line.as_bytes().to_vec()));
    seeds.push(lines.join("\n").into_bytes());
    seeds
}

pub(crate) fn trees() -> Vec<Vec<u8>> {
    bytes(&[crate::NVME])
}

/// The kernel's format of a page, that of an event, and a page with one event, separated by NUL bytes.
pub(crate) fn trace_pages() -> Vec<Vec<u8>> {
    let mut page = 1000u64.to_ne_bytes().to_vec();
    let payload: Vec<u8> = [
        1083u16.to_ne_bytes().to_vec(),
        vec![0x10, 0],
        42u32.to_ne_bytes().to_vec(),
        (crate::TRACED_DISK as u32).to_ne_bytes().to_vec(),
        vec![0; 4],
        4096u64.to_ne_bytes().to_vec(),
        8u32.to_ne_bytes().to_vec(),
        vec![0; 32],
    ]
    .concat();
    page.extend((payload.len() as u64 + 4).to_ne_bytes());
    page.extend(((payload.len() as u32 / 4) | (7 << 5)).to_ne_bytes());
    page.extend(payload);
    let texts = [include_str!("header_page"), include_str!("block_rq_issue")];
    vec![[texts[0].as_bytes(), b"\0", texts[1].as_bytes(), b"\0", &page].concat()]
}

pub(crate) fn command_lines() -> Vec<Vec<u8>> {
    bytes(&[
        "study\n/data\n-b\n4KiB..1MiB\n-o\n1,4,16\n--budget\n2m\n--experiments\nall",
        "plan\nsim:win2k-atlas10k\n--set\ndisks=4\n--price\n534\n--peak\n500MB/s",
        "run\nsim:\n--rw=randmixed\n--bs\n4k\n--threads\n2\n--rate-iops\n100\n--verify\n--region\n0+1MiB\n--iomem=huge",
        "--filename=sim:\n--rw\nrandrw\n--rwmixread\n70\n--bs\n4k\n--iodepth\n32\n--direct\n1\n--ioengine\nlibaio",
        "--name=a\n--random_distribution=zipf:1.2\n--percentile_list=50:99\n--ramp_time=1\n--stonewall\n--name=b",
        "-kR\n-s10\n-frandom\n-b8\n-o8\n-t2\n-LS\n-BH\nfile.dat",
        "-b4K\n-d10\n-o32\n-t2\n-r\n-w30\n-L\n-Sh\n-c1G\nfile.dat",
    ])
}

pub(crate) fn job_files() -> Vec<Vec<u8>> {
    bytes(&[
        include_str!("../../../examples/fio/database.fio"),
        include_str!("../../../examples/fio/log-writer.fio"),
        include_str!("../../../examples/fio/hot-blocks.fio"),
    ])
}

pub(crate) fn profiles_of_diskspd() -> Vec<Vec<u8>> {
    bytes(&[include_str!("../../dialects/tests/data/diskspd-profile.xml")])
}

/// The replies of a witness to every request.
pub(crate) fn replies() -> Vec<Vec<u8>> {
    let asked = "{\"id\":0,\"do\":\"hello\"}\n{\"id\":1,\"do\":\"time\"}\n{\"id\":2,\"do\":\"begin\",\"soaker\":false}\n\
                 {\"id\":3,\"do\":\"end\"}\n{\"id\":4,\"do\":\"end\"}\nnothing\n";
    let mut said = Vec::new();
    halfpower_witness::serve(asked.as_bytes(), &mut said, &["init".to_string()], &mut halfpower_witness::NoWays)
        .expect(SOUND);
    let soaked = b"{\"id\":9,\"soaking\":0.99}\n{\"id\":9,\"bill\":{\"span_ns\":9,\"machine\":[{\"user_ns\":1,\"system_ns\":2,\
        \"irq_ns\":3,\"softirq_ns\":4,\"steal_ns\":5,\"idle_ns\":6}],\"soaker\":{\"lost_ns\":7,\"baseline_share\":0.98},\
        \"processes\":[{\"name\":\"smbd\",\"processes\":2,\"charged_ns\":8}],\"disks\":[{\"name\":\"sda\",\"read_bytes\":9,\
        \"written_bytes\":10,\"busy_ns\":11,\"limit\":{\"read_bytes_per_s\":30000000,\"write_bytes_per_s\":null,\"group\":\"io.max\"}}],\"interfaces\":[{\"name\":\"eth0\",\"received_bytes\":12,\"sent_bytes\":13}],\
        \"noise\":{\"pressure_io_ns\":1,\"pressure_cpu_ns\":null,\"device_bytes\":null,\"cpu_mhz\":2400.5}}}\n";
    let text = serde_json::to_string(&records().2[0]).expect(SOUND);
    let measured = serde_json::json!({ "id": 9, "record": text }).to_string();
    vec![said, soaked.to_vec(), measured.into_bytes()]
}
