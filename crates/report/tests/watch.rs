//! Checks the screen and the JSON of a watched application.

use std::collections::BTreeSet;

use halfpower_analyse::watch_findings;
use halfpower_record::{DeviceRequests, OperationKind, ProbeStop, Unseen, Wait, Watched};
use halfpower_report::{watch_json, watch_text};
use serde_json::Value;

use crate::watched_built::{beside, in_bursts, operations, pressure, probed, single_reads, untraced, watched};

const HEADINGS: [&str; 8] = [
    "WHAT IT DOES",
    "WHERE IT WAITS",
    "WHAT IT USES",
    "WHAT STOPS IT",
    "WHO ELSE",
    "WHAT TO SET",
    "FALSIFIED BY",
    "UNSEEN",
];

fn screen(watched: &Watched, width: usize) -> String {
    watch_text(&watch_findings(watched, None), watched, width)
}

/// What stands beside a heading, as one line; empty without it.
fn section(text: &str, heading: &str) -> String {
    let begins = |line: &str| HEADINGS.iter().any(|heading| line.starts_with(heading));
    let mut lines = text.lines().skip_while(|line| !line.starts_with(heading));
    let Some(first) = lines.next() else { return String::new() };
    let rest = lines.take_while(|line| !begins(line));
    let words = first[heading.len()..].split_whitespace().chain(rest.flat_map(str::split_whitespace));
    words.collect::<Vec<&str>>().join(" ")
}

#[track_caller]
fn assert_sections(text: &str, expected: &[(&str, &str)]) {
    for (heading, says) in expected {
        assert_eq!(section(text, heading), *says, "{heading} of\n{text}");
    }
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 80, "{widest} columns:\n{text}");
}

fn not_traced() -> Watched {
    let mut seen = untraced(watched(vec![single_reads()]));
    seen.pressure = vec![pressure("io", 0.85)];
    seen.disks[0].reads = DeviceRequests { ios: 540_000, ..DeviceRequests::default() };
    seen.disks[0].writes = DeviceRequests { ios: 270_000, ..DeviceRequests::default() };
    seen.unseen = vec![Unseen {
        source: "events of the kernel".into(),
        why: "only root may trace".into(),
        without: "operations and their waits".into(),
    }];
    seen
}

#[test]
fn its_own_depth_in_words() {
    let text = screen(&watched(vec![single_reads()]), 80);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("postgres (12 processes)  /srv/pg  ext4 on vda"), "{text}");
    assert!(text.contains("60 s, costs 0.3% of one processor"), "{text}");
    assert_sections(
        &text,
        &[
            ("WHAT IT DOES", "random read 8 KiB 9,000/s, 1.0 deep p50 100 µs p99 400 µs"),
            ("WHERE IT WAITS", "reads 100%: device 95 µs, processor 7.4 µs, run queue 3.2 µs"),
            (
                "WHAT STOPS IT",
                "reads: its own depth: 1.0 in flight, 90% of its time at the device, which is idle 7.5% of the time. How \
                 much more the device would give, a study tells",
            ),
            ("WHO ELSE", "nobody moved 1% of the bytes"),
            (
                "WHAT TO SET",
                "more requests in flight (threads, iodepth, effective_io_concurrency) to know more: halfpower study of \
                 this path, then watch --study FILE",
            ),
            (
                "FALSIFIED BY",
                "raise depth to 2: if the rate of reads does not rise by 1.6 times or more, this is wrong",
            ),
            ("UNSEEN", ""),
        ],
    );
}

/// A hundredth may be longer than slices show: the percentile that falls on it is a lower bound.
#[test]
fn what_slices_cut_last_makes_a_percentile_a_lower_bound() {
    let unended = |share: f64| {
        let mut reads = single_reads();
        reads.unended = (reads.count as f64 * share) as u64;
        section(&screen(&watched(vec![reads]), 100), "WHAT IT DOES")
    };
    assert_eq!(unended(0.02), "random read 8 KiB 9,000/s, 1.0 deep p50 100 µs p99 over 400 µs");
    assert_eq!(unended(0.009), "random read 8 KiB 9,000/s, 1.0 deep p50 100 µs p99 400 µs");
    assert_eq!(unended(0.6), "random read 8 KiB 9,000/s, 1.0 deep p50 over 100 µs p99 over 400 µs");
}

#[test]
fn a_neighbour_in_words() {
    let seen = in_bursts(beside(watched(vec![single_reads()]), 0.61, 300_000, 100_000), 300_000, 100_000);
    assert_sections(
        &screen(&seen, 80),
        &[
            (
                "WHAT STOPS IT",
                "reads: a neighbour, rsync (cgroup backup.slice), with 61% of the bytes: operations take 3.0 times as \
                 long beside it",
            ),
            (
                "WHO ELSE",
                "rsync (cgroup backup.slice) takes 100% of the writes; beside its requests operations take 3.0 times as \
                 long, p99 3.0 times",
            ),
            ("WHAT TO SET", "io.max or the idle class for backup.slice"),
            (
                "FALSIFIED BY",
                "stop rsync for a minute: if the rate of reads does not rise by 1.6 times or more, this is wrong",
            ),
        ],
    );
}

#[test]
fn one_request_alone_in_words() {
    let alike = screen(&probed(watched(vec![single_reads()]), 95_000, 100), 80);
    let uses = section(&alike, "WHAT IT USES");
    assert!(
        uses.starts_with("reads: one request of 8 KiB alone takes 95 µs here (p50), the application's take 10"),
        "{uses}"
    );
    assert!(
        uses.contains(", so the time is the device's own") && uses.contains("a study tells: --study FILE"),
        "{uses}"
    );
    let mut seen = probed(beside(watched(vec![single_reads()]), 0.61, 100_000, 100_000), 25_000, 100);
    let stops = section(&screen(&seen, 80), "WHAT STOPS IT");
    assert!(
        stops.starts_with("reads: the device, vda, is shared: one request alone takes 25 µs, the application's 10"),
        "{stops}"
    );
    assert!(stops.ends_with("beside rsync (cgroup backup.slice) with 61% of the bytes"), "{stops}");
    // Where nothing can be compared, what it gave is said, and why it ended.
    seen.operations[0].place = None;
    let probe = seen.probe.as_mut().unwrap();
    (probe.requests, probe.stopped) = (37, Some(ProbeStop::ReadsSlower));
    let uses = section(&screen(&seen, 80), "WHAT IT USES");
    assert!(uses.contains("one request of 4 KiB alone takes 13 µs here (p50 of 100); one request of 8 KiB"), "{uses}");
    assert!(
        uses.contains("the probe ended after 37 requests: the application's reads took longer beside it"),
        "{uses}"
    );
}

#[test]
fn what_counters_alone_say_in_words() {
    assert_sections(
        &screen(&not_traced(), 80),
        &[
            ("WHAT IT DOES", "73.7 MB/s by itself, 0.00 MB/s by others; 0.10 processors"),
            ("WHERE IT WAITS", "by counters: some task waits for I/O 85% of the time"),
            (
                "WHAT STOPS IT",
                "not known: the disk is busy 93% of the time; which wait it is, tracing tells, for which the watch must \
                 run as root",
            ),
            ("WHO ELSE", "nobody moved 1% of the bytes"),
            ("WHAT TO SET", "to know more: watch as root"),
            ("FALSIFIED BY", ""),
            ("UNSEEN", "events of the kernel (only root may trace): operations and their waits"),
        ],
    );
}

#[test]
fn a_healthy_application_in_words() {
    let reads = operations(OperationKind::Read, 900, 90_000, 1.0, &[(Wait::Device, 1.0)]);
    assert_sections(
        &screen(&watched(vec![reads]), 80),
        &[
            (
                "WHAT STOPS IT",
                "reads: not storage: operations are in progress at most 8.6% of the time, and without them it would be \
                 at most 1.09 times as fast",
            ),
            ("WHAT TO SET", "nothing that was found here"),
            (
                "FALSIFIED BY",
                "put its data into memory (tmpfs): if the rate of reads rises by more than 1.1 times, this is wrong",
            ),
        ],
    );
}

#[test]
fn names_of_others_drive_no_terminal() {
    let mut seen = beside(watched(vec![single_reads()]), 0.61, 300_000, 100_000);
    let name = "a\u{1b}[2J\nb";
    seen.subject.name = name.into();
    seen.places[0].path = format!("/srv/{name}");
    (seen.others[0].name, seen.others[0].cgroup) = (name.into(), format!("/{name}"));
    let text = screen(&seen, 80);
    assert!(!text.contains('\u{1b}') && text.contains("a\\u001b[2J\\nb"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with('b')), "{text}");
}

/// Every name of a property in a schema.
fn properties(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            let named = members.get("properties").and_then(Value::as_object);
            found.extend(named.into_iter().flat_map(|named| named.keys().cloned()));
            members.values().for_each(|member| properties(member, found));
        }
        Value::Array(values) => values.iter().for_each(|value| properties(value, found)),
        _ => {}
    }
}

/// Every key of a document.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            found.insert(key.clone());
            keys(value, found);
        }),
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn the_json_has_the_promised_keys_and_each_is_in_its_schema() {
    let traced = in_bursts(beside(watched(vec![single_reads()]), 0.61, 300_000, 100_000), 300_000, 100_000);
    let mut promised = BTreeSet::new();
    let schema = include_str!("../../../docs/schema/watch.json");
    properties(&serde_json::from_str(schema).unwrap(), &mut promised);
    let shared = probed(beside(watched(vec![single_reads()]), 0.61, 100_000, 100_000), 25_000, 100);
    for (seen, code) in [(&traced, "neighbour"), (&not_traced(), "not-known"), (&shared, "shared-device")] {
        let mut out = Vec::new();
        watch_json(&watch_findings(seen, None), seen, &mut out).unwrap();
        assert!(out.ends_with(b"}\n"));
        let value: Value = serde_json::from_slice(&out).unwrap();
        let group = &value["groups"][0];
        assert_eq!((&value["schema"], &group["stop"]["code"]), (&1.into(), &code.into()));
        assert_eq!(value["subject"]["processes"], 12);
        assert!(group["stop_text"].as_str().is_some_and(|text| text.len() > 20), "{group}");
        let mut printed = BTreeSet::new();
        keys(&value, &mut printed);
        let unknown: Vec<&String> = printed.difference(&promised).collect();
        assert!(unknown.is_empty(), "not in the schema: {unknown:?}");
    }
}
