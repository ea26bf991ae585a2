//! Checks the page of an application that was watched: what it shows, that nothing in it becomes markup, and its charts.

use halfpower_analyse::watch_findings;
use halfpower_record::{
    Cause, DiskRequests, GroupLimit, IssuedBy, Latency, OperationKind, Operations, OtherUser, Pressure, SafeProbe,
    Subject, Unseen, Wait, WatchCost, Watched, WatchedPlace, WatchedSecond,
};
use serde_json::Value;

use crate::chromium::{Chromium, probed};

/// A name that would be markup if it were not escaped.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&<!--";

fn latency(times_ns: &[u64]) -> Latency {
    let mut latency = Latency::default();
    times_ns.iter().for_each(|ns| latency.add(*ns));
    latency
}

fn operations(kind: OperationKind, latency: Latency, wait: Wait) -> Operations {
    let count = latency.count();
    let sum_ns = u64::try_from(latency.sum_ns()).unwrap();
    Operations {
        place: Some(0),
        kind,
        by: IssuedBy::Calls,
        direct: Some(true),
        count,
        unended: 0,
        bytes: count * 8192,
        sizes: vec![(8192, count)],
        sequential: 0,
        appends: 0,
        cached: 0,
        latency,
        waits: vec![(wait, sum_ns)],
        threads: 1,
        depth_while_busy: 1.0,
        depth: 0.5,
        deepest: 2,
        shared_flushes: 0,
    }
}

fn watched() -> Watched {
    let reads = latency(&[90_000, 100_000, 110_000, 400_000]);
    let syncs = latency(&[2_000_000, 9_000_000]);
    let second = WatchedSecond {
        traced_ns: 1_000_000_000,
        reads: reads.clone(),
        syncs: syncs.clone(),
        depth: 0.7,
        own_bytes: 32_768,
        other_bytes: 4_000_000,
        ..WatchedSecond::default()
    };
    let requests = DiskRequests {
        disk: "nvme0n1".to_string(),
        cause: Cause::Operation,
        own: Some(true),
        writes: false,
        count: 4,
        bytes: 32_768,
        sequential: 0,
        queue: latency(&[4_000]),
        device: reads.clone(),
        depth: 0.4,
    };
    let other = OtherUser {
        name: format!("rsync {HOSTILE}"),
        pid: 77,
        cgroup: "/backup.slice".to_string(),
        read_bytes: 0,
        written_bytes: 4_000_000,
        requests: 4,
        syncs: 1,
        own_during: reads.clone(),
        own_without: Latency::default(),
    };
    let limit = GroupLimit {
        file: "/sys/fs/cgroup/io.max".to_string(),
        limits: "read_iops".to_string(),
        disk: "nvme0n1".to_string(),
        limit: 100.0,
        used: 4.0,
        held_ns: None,
        read_again_bytes: None,
    };
    Watched {
        subject: Subject { asked: "pid 4711".to_string(), name: HOSTILE.to_string(), ..Subject::default() },
        started_unix_ms: 1_767_225_599_000,
        span_ns: 3_000_000_000,
        traced_ns: 3_000_000_000,
        slices: 1,
        cost: WatchCost { processor_ns: 9_000_000, events: 120, ..WatchCost::default() },
        unseen: vec![Unseen { source: "events of jbd2".into(), why: "absent".into(), without: "commits".into() }],
        places: vec![WatchedPlace {
            path: "/srv".into(),
            file_system: "ext4".into(),
            disks: vec!["nvme0n1".into()],
            ..WatchedPlace::default()
        }],
        operations: vec![
            operations(OperationKind::Read, reads, Wait::Device),
            operations(OperationKind::Fdatasync, syncs, Wait::Flush),
        ],
        requests: vec![requests],
        pressure: vec![Pressure { of: "machine".into(), resource: "io".into(), some_ns: 5_000_000, full_ns: None }],
        group_limits: vec![limit],
        others: vec![other],
        seconds: vec![second.clone(), WatchedSecond::default(), second],
        ..Watched::default()
    }
}

fn page(watched: &Watched) -> String {
    let mut out = Vec::new();
    halfpower_report::watch_html(&watch_findings(watched, None), watched, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The data of the page's script.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script id=\"data\" type=\"application/json\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn all_that_was_seen_is_on_the_page_and_no_name_becomes_markup() {
    let page = page(&watched());
    for raw in ["<img", "<!--", "</script><img"] {
        assert!(!page.contains(raw), "{raw} got through");
    }
    assert_eq!(page.matches("<script").count(), 2, "data and the page's own");
    assert!(page.contains("name=\"generator\" content=\"halfpower"));
    for told in ["WHAT IT DOES", "WHAT STOPS IT", "fdatasync", "rsync", "backup.slice", "read_iops", "events of jbd2"] {
        assert!(page.contains(told), "{told} is missing");
    }
    let watch = &data(&page)["findings"]["watch"];
    assert_eq!(watch["from_s"].as_array().unwrap().len(), 3);
    assert_eq!(watch["kinds"].as_object().unwrap().keys().collect::<Vec<_>>(), ["reads", "syncs"]);
}

/// What may not be read is no zero.
#[test]
fn bytes_that_nobody_could_count_are_not_drawn() {
    let own_mbps = |page: &str| data(page)["findings"]["watch"]["own_mbps"][0].clone();
    let counted = page(&watched());
    assert!(counted.contains("data-chart=\"watch-bytes\"") && own_mbps(&counted).is_f64());
    let unseen = page(&Watched { bytes_unseen: true, ..watched() });
    assert!(!unseen.contains("data-chart=\"watch-bytes\"") && own_mbps(&unseen).is_null());
}

#[test]
fn what_one_request_alone_takes_has_a_table() {
    assert!(!page(&watched()).contains("id=\"probe\""));
    let latency = vec![(4096, latency(&[85_000; 40])), (8192, Latency::default())];
    let probe = SafeProbe { place: 0, of_own_file: true, requests: 80, latency, stopped: None };
    let page = page(&Watched { probe: Some(probe), ..watched() });
    assert!(page.contains("id=\"probe\"") && page.contains("a file that the application has open"), "it has no table");
}

#[test]
fn a_watch_that_saw_nothing_has_a_page() {
    let nothing = Watched { subject: Subject { asked: "pid 1".into(), ..Subject::default() }, ..Watched::default() };
    let page = page(&nothing);
    assert!(page.contains("pid 1") && !page.contains("data-chart="), "it has no charts");
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn every_chart_of_a_watch_is_drawn() {
    let Some(chromium) = Chromium::find() else { return };
    let probed = probed(&page(&watched()), "figure.querySelectorAll('.lines path, .map path').length > 0");
    for (width, dark) in [(1400, false), (390, true)] {
        let told = chromium.open(&probed, width, dark);
        assert!(told.unexpected.is_empty(), "{:?}", told.unexpected);
        let seen: Value = serde_json::from_str(&told.message).unwrap();
        assert_eq!((&seen["errors"], seen["error"].as_str()), (&Value::from(0), Some("")), "{seen}");
        assert_eq!(seen["charts"], 5, "latency, depth, bytes, and a map for each of two kinds: {seen}");
        let marks = seen["marks"].as_array().unwrap();
        assert!(marks.iter().all(|mark| mark[1] == true), "{seen}");
    }
}
