//! Tests that no command line makes the program panic.

use proptest::prelude::*;

use super::*;

fn words_of(texts: &[String]) -> Vec<OsString> {
    texts.iter().map(OsString::from).collect()
}

const COMMANDS: [&str; 11] =
    ["study", "run", "plan", "memory", "probe", "report", "compare", "history", "export", "calibrate", "systems"];

const FLAGS: [&str; 44] = [
    "-b",
    "-o",
    "-t",
    "-d",
    "--bs",
    "--iodepth",
    "--threads",
    "--runtime",
    "--rw",
    "--rwmixread",
    "--cache",
    "--direct",
    "--sync",
    "--engine",
    "--size",
    "--seed",
    "--experiments",
    "--budget",
    "--repeats",
    "--output",
    "--peak",
    "--price",
    "--set",
    "--write-cache",
    "--rate",
    "--rate-iops",
    "--arrivals",
    "--misalign",
    "--region",
    "--random-readers",
    "--streams",
    "--fdatasync",
    "--thinktime",
    "--members",
    "--volume-layout",
    "--kernel",
    "--verify",
    "--page-cache",
    "--fadvise",
    "--layout",
    "--affinity",
    "--iomem",
    "--iodepth-batch",
    "--json",
];

const VALUES: [&str; 48] = [
    "sim:",
    "sim:fixed=80us,rate=500MB/s",
    "sim:win2k-atlas10k",
    "sim:nt4",
    "sim:errors=1%,stall=1%:1ms",
    "/data",
    "null:",
    "mirror:/a,/b",
    "4KiB",
    "4k-1m",
    "4KiB..1MiB",
    "1..32",
    "1,4",
    "0",
    "-1",
    "1",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "1e308",
    "NaN",
    "inf",
    "0.5",
    "50%",
    "101%",
    "2m",
    "80us",
    "1ns",
    "30h",
    "500MB/s",
    "read",
    "write",
    "randrw",
    "both",
    "device",
    "none",
    "all",
    "sequential,random",
    "mirror",
    "off",
    "on",
    "disks=4",
    "disks=0",
    "0+4KiB",
    "1GiB+64MiB",
    "memcpy",
    "",
    "é\0",
];

fn word() -> impl Strategy<Value = String> {
    let mut known: Vec<&str> = FLAGS.to_vec();
    known.extend(VALUES);
    prop_oneof![
        8 => prop::sample::select(known.clone()).prop_map(str::to_string),
        4 => (prop::sample::select(&FLAGS[..]), prop::sample::select(&VALUES[..])).prop_map(|(f, v)| format!("{f}={v}")),
        1 => ".{0,12}",
    ]
}

/// Words of other tools that halfpower itself lacks.
const THEIRS: [&str; 47] = [
    "--filename=sim:",
    "--name",
    "--time_based",
    "--bssplit=4k/50:8k/50",
    "--ramp_time",
    "--percentile_list=50:99",
    "--offset=1m",
    "--size=50%",
    "--bsrange=4k-64k,1k-3k",
    "--bs=4k,,8k",
    "--rate_iops=1,2",
    "--rw=randrw:8",
    "--loops=4294967295",
    "--nrfiles=9",
    "--output-format=json",
    "--group_reporting",
    "--random_distribution=zipf:1.2",
    "--ioengine=libaio",
    "--stonewall",
    "job.fio",
    "-kR",
    "-kW",
    "-s1",
    "-s1e308",
    "-frandom",
    "-f64",
    "-b8",
    "-b99999999999999999999",
    "-o0",
    "-o8",
    "-t2",
    "-LS",
    "-BH",
    "-S9",
    "-Fparam.txt",
    "-b4K",
    "-b",
    "-c18446744073709551615G",
    "-w30",
    "-w101",
    "-r",
    "-r8K",
    "-Sh",
    "-Suwb",
    "-W0",
    "-g1",
    "-z",
];

#[test]
fn no_line_of_another_tool_makes_it_stumble() {
    let config = ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() };
    let words = prop::collection::vec(
        prop_oneof![2 => prop::sample::select(&THEIRS[..]).prop_map(str::to_string), 1 => word()],
        0..10,
    );
    proptest!(config, |(words in words)| understand(&words_of(&words)));
}

fn feed(cases: u32) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let lines = (prop::sample::select(&COMMANDS[..]), prop::collection::vec(word(), 0..10));
    proptest!(config, |((command, words) in lines)| {
        let line: Vec<String> = [command.to_string()].into_iter().chain(words).collect();
        understand(&words_of(&line));
    });
}

#[test]
fn no_command_line_makes_it_stumble() {
    feed(3000);
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    #[test]
    #[ignore = "lab: as many cases as HALFPOWER_FUZZ_CASES says"]
    fn no_command_line_makes_it_stumble() {
        feed(std::env::var("HALFPOWER_FUZZ_CASES").map_or(20_000, |cases| cases.parse().unwrap()));
    }
}
