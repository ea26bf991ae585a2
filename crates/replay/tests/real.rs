//! Asks captures made by hand again, of files in a folder of the build's disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use halfpower_os::DataFile;
use halfpower_record::{AwaitedSync, CaptureSource, Captured, CapturedFile, CapturedOperation, OperationKind};
use halfpower_replay::{Pace, ReplayError, ReplaySettings, Replayed, laid_out_bytes, replay};
use tempfile::TempDir;

const MS: u64 = 1_000_000;

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn operation(lane: u32, at_ns: u64, kind: OperationKind, (file, offset, bytes): (u32, u64, u64)) -> CapturedOperation {
    CapturedOperation { slice: 0, lane, at_ns, took_ns: MS / 10, kind, file, offset, bytes, cached: false }
}

/// A lane that appends and commits, and one that reads, directly and through the cache, in places that are no blocks.
fn captured() -> Captured {
    use OperationKind::{DurableWrite, Fdatasync, Fsync, OtherSync, Read, Write};
    Captured {
        subject: "postgres".to_string(),
        slices: vec![2 * MS, 2 * MS],
        files: vec![
            CapturedFile { bytes: 4 << 20, direct: true, name: None },
            CapturedFile { bytes: 10_000, direct: false, name: None },
            CapturedFile { bytes: 1 << 20, direct: false, name: None },
        ],
        lanes: 2,
        operations: vec![
            operation(0, 0, Write, (1, 10_000, 4096)),
            operation(1, 0, Read, (0, 512, 512)),
            operation(0, MS / 5, Fdatasync, (1, 0, 0)),
            operation(1, MS / 5, Read, (0, 3 << 20, 65_536)),
            operation(0, MS / 2, DurableWrite, (1, 14_096, 100)),
            operation(1, MS / 2, Read, (2, 8192, 8192)),
            operation(0, MS, Fsync, (1, 0, 0)),
            operation(0, 3 * MS / 2, OtherSync, (1, 0, 0)),
        ],
        ..Captured::default()
    }
}

fn asked_again(captured: &Captured, settings: &ReplaySettings) -> Replayed {
    let folder = folder();
    let replayed = replay(captured, folder.path(), settings, &AtomicBool::new(false)).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "its files have no names");
    replayed
}

/// Asks again, for longer and longer until there is enough to look at: how much comes in a time is for the disk and the
/// machine to say.
fn asked_until(is_enough: impl Fn(&Replayed) -> bool, captured: &Captured, settings: &ReplaySettings) -> Replayed {
    const MOST: Duration = Duration::from_secs(120);
    let mut settings = *settings;
    loop {
        let replayed = asked_again(captured, &settings);
        let time = settings.time.expect("tests set it");
        if is_enough(&replayed) || time >= MOST {
            return replayed;
        }
        settings.time = Some((time * 6).min(MOST));
    }
}

/// Number of operations.
fn done(replayed: &Replayed) -> usize {
    replayed.rounds.iter().map(|round| round.operations.len()).sum()
}

fn has_any(replayed: &Replayed) -> bool {
    done(replayed) > 0
}

fn settings(ms: u64) -> ReplaySettings {
    ReplaySettings { time: Some(Duration::from_millis(ms)), pace: Pace::default(), seed: 1 }
}

/// What a lane did, in order of time.
fn kinds(captured: &Captured, lane: u32) -> Vec<OperationKind> {
    captured.operations.iter().filter(|operation| operation.lane == lane).map(|operation| operation.kind).collect()
}

#[test]
fn each_lane_does_its_operations_in_their_order_again_and_again() {
    let before = captured();
    for open in [false, true] {
        let at_pace = ReplaySettings { pace: Pace { open, ..Pace::default() }, ..settings(150) };
        let replayed = asked_until(has_any, &before, &at_pace);
        assert!(replayed.failed.is_empty() && !replayed.full, "{:?}", replayed.failed);
        assert_eq!((replayed.short, replayed.laid_out_bytes), (0, laid_out_bytes(&before)));
        assert!(!replayed.rounds.is_empty() && replayed.span_ns() > 0);
        for round in &replayed.rounds {
            assert_eq!((round.source, round.lanes, round.slices.len()), (CaptureSource::Replay, 2, 1));
            assert!(round.operations.is_sorted_by_key(|operation| operation.at_ns));
            for lane in 0..2 {
                let script = kinds(&before, lane);
                let done = kinds(round, lane);
                let expected: Vec<_> = script.iter().copied().cycle().take(done.len()).collect();
                assert_eq!(done, expected, "lane {lane}");
            }
            let fits = |operation: &CapturedOperation| operation.at_ns + operation.took_ns <= round.slices[0];
            assert!(round.operations.iter().all(fits));
        }
        let last = replayed.last().unwrap();
        assert!(replayed.whole_rounds == 0 || last.operations.len() >= before.operations.len());
    }
}

#[test]
fn an_open_loop_counts_from_when_an_operation_was_due_though_its_lane_was_busy() {
    let mut before = captured();
    before.lanes = 1;
    before.slices = vec![100 * MS];
    // Two are due while the first writes and syncs 64 KiB, which takes far longer.
    before.operations =
        [0, 1, 2].map(|at_ns| operation(0, at_ns, OperationKind::DurableWrite, (2, 0, 65_536))).to_vec();
    let open = ReplaySettings { pace: Pace { open: true, speed: 1.0 }, ..settings(50) };
    let replayed = asked_until(|replayed| done(replayed) >= 3, &before, &open);
    let [first, second, third] = replayed.rounds[0].operations[..3] else { panic!("{:?}", replayed.rounds[0]) };
    assert_eq!((second.at_ns, third.at_ns), (1, 2));
    assert!(third.took_ns > second.took_ns && second.took_ns > first.took_ns, "each waited for those before it");
}

#[test]
fn what_is_asked_again_can_be_kept_and_read() {
    let replayed = asked_until(has_any, &captured(), &settings(50));
    let folder = folder();
    let path = folder.path().join("again.halfpower");
    halfpower_record::write_capture(replayed.last().unwrap(), fs::File::create(&path).unwrap()).unwrap();
    assert_eq!(halfpower_record::read_capture(&path).unwrap(), *replayed.last().unwrap());
}

#[test]
fn what_ended_before_each_lane_began_can_be_kept_and_read() {
    let mut before = captured();
    before.lanes = 8;
    before.slices = vec![80_000 * MS];
    // The second lane begins ten seconds after the first.
    let of = |lane: u32| operation(lane, u64::from(lane) * 10_000 * MS, OperationKind::Write, (2, 0, 4096));
    before.operations = (0..8).map(of).collect();
    let replayed = asked_until(has_any, &before, &settings(50));
    let last = replayed.last().unwrap();
    assert!(last.operations.len() < last.lanes as usize, "{last:?}");
    let folder = folder();
    let path = folder.path().join("again.halfpower");
    halfpower_record::write_capture(last, fs::File::create(&path).unwrap()).unwrap();
    assert_eq!(halfpower_record::read_capture(&path).unwrap(), *last);
}

#[test]
fn pauses_are_as_long_as_they_were_and_half_as_long_at_twice_the_speed() {
    let mut before = captured();
    before.slices = vec![40 * MS];
    before.operations = vec![operation(0, 20 * MS, OperationKind::Read, (2, 0, 4096))];
    before.lanes = 1;
    for (speed, least_ns) in [(1.0, 19 * MS), (2.0, 9 * MS)] {
        let at_speed = ReplaySettings { pace: Pace { speed, ..Pace::default() }, ..settings(200) };
        let replayed = asked_until(has_any, &before, &at_speed);
        // A machine may be late, and wakes nobody early; what it was late by before may shorten a pause by a millisecond.
        let first_ns = replayed.rounds[0].operations[0].at_ns;
        assert!(first_ns >= least_ns, "{first_ns} ns at speed {speed}");
    }
}

#[test]
fn reads_beyond_the_end_are_told() {
    let mut before = captured();
    before.operations = vec![operation(0, 0, OperationKind::Read, (1, 9_000, 4096))];
    before.lanes = 1;
    let replayed = asked_until(has_any, &before, &settings(20));
    let done = done(&replayed);
    assert!(done > 0 && replayed.short == done as u64, "{} of {done}", replayed.short);
}

#[test]
fn what_cannot_be_asked_again_is_refused_before_anything_is_written() {
    let folder = folder();
    let refused = |captured: &Captured, at: &Path| {
        let refused: ReplayError = replay(captured, at, &settings(10), &AtomicBool::new(false)).unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        refused.to_string()
    };
    let file = folder.path().join("file");
    fs::write(&file, "somebody's").unwrap();
    assert!(refused(&captured(), &file).contains("name a folder"));
    assert!(refused(&captured(), &folder.path().join("none")).contains("does not exist"));
    assert!(refused(&Captured::default(), folder.path()).contains("no operations"));
    let mut large = captured();
    large.files[2].bytes = 1 << 51;
    large.operations[5].bytes = 1 << 50;
    let said = refused(&large, folder.path());
    assert!(said.contains("has no room") && said.contains("are free"), "{said}");
    let mut wide = captured();
    wide.lanes = 2000;
    wide.operations = (0..2000).map(|lane| operation(lane, 0, OperationKind::Read, (2, 0, 4096))).collect();
    assert!(refused(&wide, folder.path()).contains("2,000 lanes"));
    assert_eq!(fs::read(&file).unwrap(), b"somebody's");
}

#[test]
fn a_file_that_is_there_never_becomes_longer() {
    let folder = folder();
    let path = folder.path().join("data");
    let held = vec![7_u8; 10_000];
    fs::write(&path, &held).unwrap();
    let mut before = captured();
    before.operations = vec![operation(0, 0, OperationKind::Write, (0, 9_000, 1_000))];
    before.lanes = 1;
    let data = DataFile::open(&path, true).unwrap();
    let asked = replay(&before, data, &settings(20), &AtomicBool::new(false));
    // Without direct I/O nothing is widened.
    assert!(asked.is_ok_and(|replayed| replayed.not_direct == 1) || fs::read(&path).unwrap() == held);
    assert_eq!(fs::metadata(&path).unwrap().len(), 10_000);
}

#[test]
fn who_wishes_to_stop_is_heard_while_files_are_laid_out() {
    let folder = folder();
    let refused = replay(&captured(), folder.path(), &settings(10), &AtomicBool::new(true)).unwrap_err();
    assert!(matches!(refused, ReplayError::Interrupted), "{refused}");
}

#[test]
fn who_waited_for_the_sync_of_another_waits_for_it_here() {
    const STEPS: usize = 12;
    let sync = |turn: u64| CapturedOperation {
        took_ns: MS,
        ..operation((turn % 2) as u32, turn * (MS + 5_000), OperationKind::Fdatasync, (1, 0, 0))
    };
    let before = Captured {
        slices: vec![2 * STEPS as u64 * (MS + 5_000)],
        operations: (0..2 * STEPS as u64).map(sync).collect(),
        ..captured()
    };
    let has_both = |replayed: &Replayed| replayed.rounds.iter().any(|round| !kinds(round, 1).is_empty());
    let replayed = asked_until(has_both, &before, &settings(300));
    assert_eq!(replayed.waits, 2 * STEPS as u64 - 1);
    let mut compared = 0;
    for round in &replayed.rounds {
        let of = |lane: u32| round.operations.iter().filter(move |one| one.lane == lane).collect::<Vec<_>>();
        let [first, second] = [of(0), of(1)];
        let end = |one: &CapturedOperation| one.at_ns + one.took_ns;
        for (index, one) in second.iter().enumerate() {
            assert!(
                first.get(index).is_some_and(|awaited| one.at_ns >= end(awaited)),
                "step {index} of the second lane"
            );
            compared += 1;
        }
        // Nothing comes before a lane's first step.
        for (index, one) in first.iter().enumerate().filter(|(index, _)| index % STEPS != 0) {
            assert!(
                second.get(index - 1).is_some_and(|awaited| one.at_ns >= end(awaited)),
                "step {index} of the first"
            );
        }
    }
    assert!(compared > 0);
}

/// When each write of file 1 began, and its sync ended. A thread may be stopped between them: their order tells what belongs
/// together.
fn commits_of_file_1(round: &Captured) -> Vec<(u64, u64)> {
    let mut writes = BTreeMap::new();
    let mut spans = Vec::new();
    for one in round.operations.iter().filter(|one| one.file == 1) {
        match one.kind {
            OperationKind::Write => {
                assert_eq!(writes.insert(one.lane, one.at_ns), None, "two writes, no sync: {one:?}")
            }
            _ => spans.push((writes.remove(&one.lane).expect("a write comes first"), one.at_ns + one.took_ns)),
        }
    }
    spans
}

/// Two lanes that commit file 1 by turns, and a third one that comes during each commit and shares the next one.
fn shared() -> Captured {
    const TURNS: u64 = 20;
    const TURN_NS: u64 = 1_100_000;
    let mut operations = Vec::new();
    let mut awaited = Vec::new();
    for turn in 0..TURNS {
        let lane = (turn % 2) as u32;
        let at_ns = turn * TURN_NS;
        let write = operation(lane, at_ns, OperationKind::Write, (1, 0, 4096));
        operations.push(CapturedOperation { cached: true, took_ns: 50_000, ..write });
        let sync = operation(lane, at_ns + 50_000, OperationKind::Fdatasync, (1, 0, 0));
        operations.push(CapturedOperation { took_ns: 950_000, ..sync });
        let wait = |lane, at_ns, until_ns, shared| AwaitedSync {
            slice: 0,
            lane,
            at_ns,
            took_ns: until_ns - at_ns,
            file: 1,
            shared,
        };
        if turn > 0 {
            awaited.push(wait(lane, at_ns - 300_000, at_ns - 90_000, false));
            awaited.push(wait(2, at_ns - 50_000, at_ns + 1_000_000, true));
        }
    }
    // It reads once, or it would be no lane.
    operations.insert(2, operation(2, 500_000, OperationKind::Read, (2, 0, 4096)));
    awaited.sort_by_key(|wait| wait.at_ns);
    Captured { slices: vec![TURNS * TURN_NS], lanes: 3, operations, awaited, ..captured() }
}

#[test]
fn a_commit_that_several_lanes_may_do_is_widened_once() {
    let mut before = shared();
    before.files[1].direct = true;
    before.operations.iter_mut().filter(|one| one.kind == OperationKind::Write).for_each(|one| one.bytes = 100);
    let replayed = asked_again(&before, &settings(50));
    let expected = if replayed.not_direct > 0 { 0 } else { 20 };
    assert_eq!(replayed.widened, expected);
}

#[test]
fn lanes_that_share_syncs_write_and_sync_one_at_a_time() {
    let before = shared();
    let files = before.logs_of_group_commits();
    let commits = |captured: &Captured, lane| {
        let whole = captured.with_whole_commits(&files);
        whole.operations.iter().filter(|one| one.lane == lane && one.kind == OperationKind::Fdatasync).count()
    };
    let has_commits = |replayed: &Replayed| replayed.rounds.iter().any(|round| !commits_of_file_1(round).is_empty());
    let replayed = asked_until(has_commits, &before, &settings(1000));
    let mut made = 0;
    for round in &replayed.rounds {
        let spans = commits_of_file_1(round);
        assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
        made += spans.len();
    }
    assert!(made > 0);
    // A slow disk may not come to the end of a round.
    for round in &replayed.rounds[..replayed.whole_rounds] {
        for lane in 0..3 {
            let [captured, here] = [&before, round].map(|of| commits(of, lane));
            assert!(here >= captured, "lane {lane}: {here} commits of {captured}");
        }
    }
    // At their own times, lanes wait for nobody.
    let open = ReplaySettings { pace: Pace { open: true, speed: 1.0 }, ..settings(50) };
    assert!(asked_again(&before, &open).rounds.iter().all(|round| round.awaited.is_empty()));
}
