//! Checks the screen, the JSON and the page of an application that was asked again.

use halfpower_analyse::{
    PredictBasis, PredictedProcessors, predict_findings, prediction_course, replay_course, replay_findings,
};
use halfpower_record::{AwaitedSync, Captured, CapturedFile, CapturedOperation, OperationKind};
use halfpower_report::{ReplayAsked, ReplayHead, predict_html, replay_html, replay_json, replay_table, replay_text};
use serde_json::Value;

use crate::chromium::{Chromium, probed};

/// A thousand direct reads of 8 KiB that take `read_ns`, each with a pause of a tenth of a millisecond, and a sync.
fn captured(read_ns: u64) -> Captured {
    let operation = |at_ns, took_ns, kind, file, bytes| CapturedOperation {
        slice: 0,
        lane: 0,
        at_ns,
        took_ns,
        kind,
        file,
        offset: 0,
        bytes,
        cached: false,
    };
    let mut operations = Vec::new();
    for number in 0..1000 {
        let at_ns = number * (read_ns + 200_000);
        operations.push(operation(at_ns, read_ns, OperationKind::Read, 0, 8192));
        operations.push(operation(at_ns + read_ns, 100_000, OperationKind::Fdatasync, 1, 0));
    }
    Captured {
        subject: "postgres".to_string(),
        slices: vec![1000 * (read_ns + 200_000)],
        files: vec![
            CapturedFile { bytes: 1 << 20, direct: true, name: None },
            CapturedFile { bytes: 1 << 20, direct: false, name: None },
        ],
        lanes: 1,
        operations,
        ..Captured::default()
    }
}

fn asked() -> ReplayAsked {
    ReplayAsked {
        target: "/mnt/new".to_string(),
        open: false,
        pauses: true,
        speed: 1.0,
        span_ns: 12_000_000_000,
        laid_out_bytes: 3 << 20,
        failed: 0,
        short_reads: 0,
        not_direct_files: 1,
        widened: 0,
        full: false,
        waits: 1200,
    }
}

#[test]
fn each_kind_has_both_sides_and_what_differs() {
    let before = captured(200_000);
    let after = captured(400_000);
    let text = replay_text(&replay_findings(&before, &[after.clone(), after.clone(), after]), &before, &asked(), 80);
    let words: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let has = |line: &str| words.iter().any(|words| words.join(" ") == line);
    for line in [
        "a second in flight p50 p99",
        "direct read 8 KiB captured 2,500 0.50 200 µs 200 µs",
        "here 1,667 0.67 400 µs 400 µs",
        "so 0.67 times 1.33 times 2.00 times 2.00 times",
        "fdatasync captured 2,500 0.25 100 µs 100 µs",
        "so 0.67 times 0.67 times the same the same",
        "All of it was asked in 3 rounds",
    ] {
        assert!(has(line), "{line} in\n{text}");
    }
    let joined = words.concat().join(" ");
    assert!(joined.starts_with("postgres, asked again in /mnt/new: 3,333 operations a second, 0.67 times"), "{text}");
    assert!(joined.contains("as many as when it was captured, slower"), "{text}");
    assert!(joined.contains("1 file was used with O_DIRECT"), "{text}");
    assert!(joined.contains("1,200 pauses were waits for another lane's sync"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_part_is_called_one() {
    let before = captured(200_000);
    let mut part = captured(200_000);
    part.operations.truncate(500);
    part.slices = vec![100_000_000];
    let text = replay_text(&replay_findings(&before, &[part]), &before, &asked(), 80);
    assert!(text.contains("The time was over before all of it was asked"), "{text}");
}

#[test]
fn the_table_stands_by_itself_and_drives_no_terminal() {
    let before = captured(200_000);
    let head = ReplayHead {
        subject: "postgres",
        place: "other.halfpower",
        lines: vec!["a note\u{1b}[2J".to_string()],
        first: "captured",
        second: "there",
    };
    let text = replay_table(&replay_findings(&before, std::slice::from_ref(&before)), &head);
    assert!(text.contains("there") && text.contains("the same") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn the_json_has_both_sides() {
    let before = captured(200_000);
    let mut out = Vec::new();
    replay_json(&replay_findings(&before, &[captured(400_000)]), &before, &asked(), &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&value["schema"], &value["subject"], &value["rounds"]), (&1.into(), &"postgres".into(), &1.into()));
    assert_eq!(value["rows"][0]["kind"], "read");
    assert_eq!(value["rows"][0]["p50"]["verdict"], "slower");
    assert_eq!(value["rows"][1]["p50"]["verdict"], "same");
    assert_eq!(value["whole"]["kind"], Value::Null);
    assert_eq!(value["asked"]["target"], "/mnt/new");
    assert!(value["notes"].as_array().is_some_and(|notes| notes.len() == 3), "{value}");
}

/// A name that would be markup if it were not escaped.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&<!--";

fn page(before: &Captured, after: &[Captured]) -> String {
    let asked = ReplayAsked { target: format!("/mnt/{HOSTILE}"), ..asked() };
    let mut out = Vec::new();
    replay_html(&replay_findings(before, after), &replay_course(before, after), before, &asked, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The data of the page's script.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script id=\"data\" type=\"application/json\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_page_has_both_sides_as_figures_curves_and_over_time() {
    let before = Captured { subject: HOSTILE.to_string(), ..captured(200_000) };
    let after = captured(400_000);
    let page = page(&before, &[after.clone(), after]);
    for raw in ["<img", "<!--", "</script><img"] {
        assert!(!page.contains(raw), "{raw} got through");
    }
    assert_eq!(page.matches("<script").count(), 2, "data and the page's own");
    for told in [
        "times as many",
        "3,333 here, 5,000 when captured",
        "direct read 8 KiB",
        "fdatasync",
        "1 file was used with O_DIRECT",
        "data-chart=\"percentiles\" data-path=\"0\"",
        "data-chart=\"replay-latency\"",
    ] {
        assert!(page.contains(told), "{told} is missing");
    }
    let data = data(&page);
    let names: Vec<(&str, &str)> = data["percentiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|curve| (curve["rw"].as_str().unwrap(), curve["name"].as_str().unwrap()))
        .collect();
    assert_eq!(
        names,
        [
            ("0", "direct read 8 KiB, captured"),
            ("0", "direct read 8 KiB, here"),
            ("1", "fdatasync, captured"),
            ("1", "fdatasync, here")
        ]
    );
    let [first, second] = [0_usize, 1].map(|side| &data["findings"]["replay"]["sides"][side]);
    assert_eq!((&first["name"], &second["name"]), (&"captured".into(), &"here".into()));
    // Two rounds of 600 ms follow each other, in steps of 10 ms.
    assert_eq!(data["findings"]["replay"]["step_s"], 0.01);
    assert_eq!([first, second].map(|side| side["from_s"].as_array().unwrap().len()), [40, 120]);
}

#[test]
fn a_prediction_has_the_same_page() {
    let wait =
        |number: u64| AwaitedSync { slice: 0, lane: 0, at_ns: 300_000 + number, took_ns: 10, file: 1, shared: true };
    let before = Captured { awaited: (0..10).map(wait).collect(), ..captured(200_000) };
    let there = captured(100_000);
    let free = captured(20_000);
    let basis = PredictBasis {
        flush_of_system: true,
        fitted: None,
        demands: &[],
        at_most: None,
        if_limited: None,
        flush_ns: None,
        unsynced_bytes: 4096,
        folded_bytes: None,
        is_whole: true,
        waits: 1200,
        processors: Some(PredictedProcessors { before: 0.5, there: 1.9, usable: 2.0, longer: 3.1 }),
        without_computing: Some(&free),
    };
    let findings = predict_findings(&before, std::slice::from_ref(&there), &basis);
    let mut out = Vec::new();
    predict_html(&findings, &prediction_course(&before, &there), &before, "other.halfpower", &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    for told in [
        "predicted on",
        "other.halfpower",
        "times as many as when it was captured",
        "there",
        "not synced",
        "1,200 pauses",
        "would use 1.90 of the 2.00 that it can have. There, what it computes takes 3.10 times as long.",
        "with no computing at all there would be",
        "(group commit): 1.01 when it was captured, 1.00 there",
    ] {
        assert!(page.contains(told), "{told} is missing");
    }
    assert_eq!(data(&page)["percentiles"][1]["name"], "direct read 8 KiB, there");
}

#[test]
fn a_capture_that_came_to_nothing_has_a_page() {
    let page = page(&captured(200_000), &[]);
    assert!(page.contains("too few operations to compare"), "it says why there is no figure");
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn every_chart_of_a_replay_is_drawn_with_both_sides() {
    let Some(chromium) = Chromium::find() else { return };
    let after = captured(400_000);
    let probed = probed(&page(&captured(200_000), &[after]), "figure.querySelectorAll('.lines path').length > 1");
    for (width, dark) in [(1400, false), (390, true)] {
        let told = chromium.open(&probed, width, dark);
        assert!(told.unexpected.is_empty(), "{:?}", told.unexpected);
        let seen: Value = serde_json::from_str(&told.message).unwrap();
        assert_eq!((&seen["errors"], seen["error"].as_str()), (&Value::from(0), Some("")), "{seen}");
        assert_eq!(seen["charts"], 5, "latency by percentile of two kinds, and three over time: {seen}");
        let marks = seen["marks"].as_array().unwrap();
        assert!(marks.iter().all(|mark| mark[1] == true), "{seen}");
    }
}
