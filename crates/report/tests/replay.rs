//! Checks the screen and the JSON of an application that was asked again.

use halfpower_analyse::replay_findings;
use halfpower_record::{Captured, CapturedFile, CapturedOperation, OperationKind};
use halfpower_report::{ReplayAsked, ReplayHead, replay_json, replay_table, replay_text};
use serde_json::Value;

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
        speed: 1.0,
        span_ns: 12_000_000_000,
        laid_out_bytes: 3 << 20,
        failed: 0,
        short_reads: 0,
        not_direct_files: 1,
        widened: 0,
        full: false,
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
        "so 0.67 slower 1.33 higher 2.00 slower 2.00 slower",
        "fdatasync captured 2,500 0.25 100 µs 100 µs",
        "so 0.67 slower 0.67 lower the same the same",
        "All of it was asked in 3 rounds",
    ] {
        assert!(has(line), "{line} in\n{text}");
    }
    let joined = words.concat().join(" ");
    assert!(joined.starts_with("postgres, asked again in /mnt/new: 3,333 operations a second, 0.67 times"), "{text}");
    assert!(joined.contains("as many as when it was captured, slower"), "{text}");
    assert!(joined.contains("1 file was used with O_DIRECT"), "{text}");
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
    assert!(value["notes"].as_array().is_some_and(|notes| notes.len() == 2), "{value}");
}
