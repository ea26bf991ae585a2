//! Compares captures made by hand: what is the same, slower, faster, and what few operations leave open.

use halfpower_analyse::{ReplayVerdict, prediction_findings, replay_course, replay_findings};
use halfpower_record::{CaptureSource, Captured, CapturedFile, CapturedOperation, OperationKind};

/// A lane that reads directly and thinks, and one that writes, syncs and thinks, over some seconds.
fn captured(seconds: u64, read_ns: u64, sync_ns: u64) -> Captured {
    let span_ns = seconds * 1_000_000_000;
    let mut operations = Vec::new();
    let lane = |lane, kind, file, bytes, at_ns, took_ns| CapturedOperation {
        slice: 0,
        lane,
        at_ns,
        took_ns,
        kind,
        file,
        offset: 0,
        bytes,
        cached: false,
    };
    let mut at_ns = 0;
    // A pause follows each read.
    while at_ns + read_ns + 100_000 <= span_ns {
        // The middle is exact, and the rest a little around it.
        let varied = read_ns + at_ns % 7 * 10 - 30;
        operations.push(lane(0, OperationKind::Read, 0, 8192, at_ns, varied));
        at_ns += read_ns + 100_000;
    }
    at_ns = 0;
    while at_ns + 2 * sync_ns <= span_ns {
        operations.push(lane(1, OperationKind::Write, 1, 4096, at_ns, 5_000));
        operations.push(lane(1, OperationKind::Fdatasync, 1, 0, at_ns + 5_000, sync_ns));
        at_ns += 4 * sync_ns;
    }
    operations.sort_by_key(|operation| operation.at_ns);
    Captured {
        subject: "postgres".to_string(),
        source: CaptureSource::Watch,
        slices: vec![span_ns],
        files: vec![
            CapturedFile { bytes: 1 << 20, direct: true, name: None },
            CapturedFile { bytes: 1 << 20, direct: false, name: None },
        ],
        lanes: 2,
        operations,
        ..Captured::default()
    }
}

#[test]
fn what_is_asked_again_with_the_same_result_is_the_same() {
    let before = captured(1, 100_000, 1_000_000);
    let found = replay_findings(&before, &[before.clone(), before.clone(), before.clone()]);
    assert_eq!((found.rounds, found.part), (3, false));
    for row in [&found.whole].into_iter().chain(&found.rows) {
        assert_eq!((row.rate.verdict, row.depth.verdict), (ReplayVerdict::Same, ReplayVerdict::Same), "{row:?}");
        assert_eq!(row.p50.verdict, ReplayVerdict::Same, "{row:?}");
    }
    let kinds: Vec<_> = found.rows.iter().map(|row| (row.kind, row.direct, row.bytes)).collect();
    assert_eq!(
        kinds,
        [
            (Some(OperationKind::Read), Some(true), 8192),
            (Some(OperationKind::Fdatasync), Some(false), 0),
            // Hardly any time, but some of the operations.
            (Some(OperationKind::Write), Some(false), 4096),
        ]
    );
    let reads = &found.rows[0];
    assert_eq!((reads.before.operations, reads.after.operations), (5000, 15000));
    assert!((reads.before.per_second.value - 5000.0).abs() < 1e-6 && (reads.before.depth.value - 0.5).abs() < 0.01);
    assert!((reads.before.bytes_per_second.value - 5000.0 * 8192.0).abs() < 1.0);
}

#[test]
fn slower_syncs_are_slower_and_the_rest_is_told_by_itself() {
    let before = captured(1, 100_000, 1_000_000);
    let found = replay_findings(&before, &[captured(2, 100_000, 2_000_000)]);
    assert_eq!((found.rounds, found.part), (1, false));
    let sync = found.rows.iter().find(|row| row.kind == Some(OperationKind::Fdatasync)).unwrap();
    assert_eq!((sync.rate.verdict, sync.p50.verdict), (ReplayVerdict::Slower, ReplayVerdict::Slower));
    assert!((sync.p50.ratio.unwrap().value - 2.0).abs() < 1e-9, "{:?}", sync.p50);
    let read = found.rows.iter().find(|row| row.kind == Some(OperationKind::Read)).unwrap();
    assert_eq!((read.rate.verdict, read.p50.verdict), (ReplayVerdict::Same, ReplayVerdict::Same));
    let faster = replay_findings(&captured(1, 400_000, 1_000_000), &[captured(1, 100_000, 1_000_000)]);
    assert_eq!(faster.rows[0].rate.verdict, ReplayVerdict::Faster);
}

#[test]
fn a_part_is_held_against_the_same_part() {
    let before = captured(1, 100_000, 1_000_000);
    let mut part = captured(2, 300_000, 1_000_000);
    // It ended after half a second; until then its reads took three times as long.
    part.slices = vec![500_000_000];
    part.operations.retain(|operation| operation.at_ns + operation.took_ns <= 500_000_000);
    let found = replay_findings(&before, &[part]);
    assert!(found.part);
    let read = found.rows.iter().find(|row| row.kind == Some(OperationKind::Read)).unwrap();
    assert_eq!(read.before.operations, read.after.operations);
    assert!((read.before.per_second.value - 5000.0).abs() < 10.0, "{:?}", read.before);
    assert!((read.rate.ratio.unwrap().value - 0.5).abs() < 0.01, "{:?}", read.rate);
    assert!((read.p50.ratio.unwrap().value - 3.0).abs() < 0.01, "{:?}", read.p50);
}

#[test]
fn what_few_operations_cannot_tell_is_not_decided() {
    let mut before = captured(1, 100_000, 1_000_000);
    before.operations.retain(|operation| operation.kind == OperationKind::Fdatasync);
    before.operations.truncate(20);
    let found = replay_findings(&before, &[before.clone()]);
    assert_eq!((found.whole.p99.ratio, found.whole.p99.verdict), (None, ReplayVerdict::NotDecided));
    assert_eq!(found.whole.p50.verdict, ReplayVerdict::Same);
    let nothing = replay_findings(&before, &[]);
    assert_eq!((nothing.rounds, nothing.whole.rate.ratio), (0, None));
    assert_eq!(replay_findings(&Captured::default(), &[Captured::default()]).rows.len(), 0);
}

#[test]
fn draws_that_differ_give_an_interval_as_wide() {
    let before = captured(1, 200_000, 1_000_000);
    let draws: Vec<Captured> = (0..40).map(|draw| captured(1, 100_000 + draw * 5_000, 1_000_000)).collect();
    let found = prediction_findings(&before, &draws);
    let p50_ns = found.rows[0].after.p50_ns;
    assert_eq!(found.rounds, 40);
    assert!((p50_ns.value - 197_500.0).abs() < 3_000.0 && (p50_ns.low - 105_000.0).abs() < 3_000.0, "{p50_ns:?}");
    assert!((p50_ns.high - 290_000.0).abs() < 3_000.0, "{p50_ns:?}");
    assert_eq!(found.rows[0].p50.verdict, ReplayVerdict::NotDecided);
}

#[test]
fn what_is_drawn_is_of_what_is_compared() {
    let before = captured(2, 100_000, 1_000_000);
    let after = captured(1, 200_000, 1_000_000);
    let course = replay_course(&before, &[after.clone(), after.clone()]);
    let found = replay_findings(&before, &[after.clone(), after]);
    assert_eq!(course.latencies.len(), found.rows.len());
    for (row, latencies) in found.rows.iter().zip(&course.latencies) {
        assert_eq!((row.kind, row.direct), (Some(latencies.kind), Some(latencies.direct)));
        assert_eq!(
            (row.before.operations, row.after.operations),
            (latencies.before.requests, latencies.after.requests)
        );
    }
    // Two rounds of a second follow each other.
    assert_eq!((course.step_ns, course.before.len(), course.after.len()), (20_000_000, 100, 100));
}
