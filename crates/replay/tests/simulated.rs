//! Asks captures of models whose answers follow in closed form.

use std::collections::BTreeMap;

use halfpower_model::{Fitted, Setting, System, systems};
use halfpower_record::{
    AwaitedSync, CaptureSource, Captured, CapturedFile, CapturedOperation, CapturedProcessors, OperationKind,
};
use halfpower_replay::{FlushBy, Pace, Processors, SimulatedPlace, SimulatedRound, simulated_round};
use halfpower_spec::{Pattern, SimulatedDisk};

/// 4 KiB take 88,192 ns and 8 KiB 96,384 ns; a flush takes 1 ms.
const DISK: &str = "fixed=80us,rate=500MB/s,disks=2,flush=1ms";

fn disk(constants: &str) -> SimulatedDisk {
    SimulatedDisk::from_constants(constants).unwrap()
}

/// An operation of a lane on file 0, at this time.
fn operation(
    lane: u32,
    kind: OperationKind,
    at_ns: u64,
    took_ns: u64,
    (offset, bytes): (u64, u64),
) -> CapturedOperation {
    CapturedOperation { slice: 0, lane, at_ns, took_ns, kind, file: 0, offset, bytes, cached: false }
}

/// Operations on a direct file 0 and a buffered file 1, over a time.
fn captured(lanes: u32, span_ns: u64, mut operations: Vec<CapturedOperation>) -> Captured {
    operations.sort_by_key(|operation| (operation.at_ns, operation.lane));
    let file = |direct| CapturedFile { bytes: 1 << 30, direct, name: None };
    Captured {
        subject: "postgres".to_string(),
        slices: vec![span_ns],
        files: vec![file(true), file(false)],
        lanes,
        operations,
        ..Captured::default()
    }
}

fn on_disk(captured: &Captured, pace: Pace, constants: &str) -> SimulatedRound {
    simulated_round(captured, pace, SimulatedPlace::disk(&disk(constants), captured, 1))
}

/// Ten reads of 4 KiB by one lane, each after a pause.
fn reads(think_ns: u64) -> Captured {
    let each_ns = think_ns + 88_192;
    let read = |turn: u64| operation(0, OperationKind::Read, turn * each_ns + think_ns, 88_192, (turn << 20, 4096));
    captured(1, 10 * each_ns, (0..10).map(read).collect())
}

/// A reader, and a writer that commits 8 KiB of a buffered file.
fn reader_and_writer() -> Captured {
    let span_ns = 10 * (50_000 + 88_192 + 1_000_000);
    let mut operations = reads(1_050_000).operations;
    for turn in 0..5 {
        let at_ns = turn * 2_000_000;
        let cached = CapturedOperation {
            file: 1,
            cached: true,
            ..operation(1, OperationKind::Write, at_ns, 3_000, (turn << 16, 8192))
        };
        operations.push(cached);
        let sync = operation(1, OperationKind::Fdatasync, at_ns + 3_000, 1_096_384, (0, 0));
        operations.push(CapturedOperation { file: 1, ..sync });
    }
    captured(2, span_ns, operations)
}

#[test]
fn a_capture_of_a_disk_comes_back_from_that_disk() {
    for before in [reads(0), reads(50_000), reader_and_writer()] {
        let round = on_disk(&before, Pace::default(), DISK);
        assert_eq!(round.captured.operations, before.operations);
        assert_eq!(round.captured.slices, before.slices);
        assert_eq!((round.captured.source, round.is_whole), (CaptureSource::Prediction, true));
        assert_eq!((round.unsynced_bytes, round.folded_bytes), (0, None));
    }
}

#[test]
fn a_disk_twice_as_fast_halves_what_is_not_thought() {
    let twice = "fixed=40us,rate=1GB/s,disks=2,flush=500us";
    for think_ns in [0, 50_000] {
        let after = on_disk(&reads(think_ns), Pace::default(), twice).captured;
        assert_eq!(after.slices, [10 * (think_ns + 44_096)]);
        assert!(after.operations.iter().all(|operation| operation.took_ns == 44_096));
    }
    let after = on_disk(&reader_and_writer(), Pace::default(), twice).captured;
    let took = |kind| after.operations.iter().find(|operation| operation.kind == kind).map(|one| one.took_ns);
    assert_eq!(took(OperationKind::Fdatasync), Some(548_192));
    assert_eq!(took(OperationKind::Write), Some(3_000));
}

#[test]
fn speed_divides_pauses_and_nothing_else() {
    let after = on_disk(&reads(50_000), Pace { speed: 2.0, ..Pace::default() }, DISK).captured;
    assert_eq!(after.slices, [10 * (25_000 + 88_192)]);
}

#[test]
fn an_open_loop_counts_from_when_an_operation_was_due() {
    let read = |turn: u64| operation(0, OperationKind::Read, turn * 10_000, 10_000, (turn << 20, 4096));
    let before = captured(1, 1_000_000, (0..3).map(read).collect());
    let after = on_disk(&before, Pace { open: true, speed: 1.0 }, DISK).captured;
    let times: Vec<(u64, u64)> = after.operations.iter().map(|one| (one.at_ns, one.took_ns)).collect();
    assert_eq!(times, [(0, 88_192), (10_000, 2 * 88_192 - 10_000), (20_000, 3 * 88_192 - 20_000)]);
    assert_eq!(after.slices, [1_000_000]);
}

#[test]
fn a_lane_that_is_done_begins_again_until_the_slowest_is() {
    // The reader waits for nothing here; the writer's flush takes ten times as long as when captured.
    let before = reader_and_writer();
    let after = on_disk(&before, Pace::default(), "fixed=80us,rate=500MB/s,disks=2,flush=10ms").captured;
    let reads = after.operations.iter().filter(|operation| operation.kind == OperationKind::Read).count();
    let writes = after.operations.iter().filter(|operation| operation.kind == OperationKind::Write).count();
    assert_eq!(writes, 5);
    assert!(reads > 40, "{reads}");
    let mut ends: Vec<u64> = after.operations.iter().map(|one| one.at_ns + one.took_ns).collect();
    ends.sort_unstable();
    assert!(ends.last() <= after.slices.first());
}

#[test]
fn dirty_pages_that_are_adjacent_go_together_and_others_wait_for_them() {
    let write = |lane, at_ns, offset| CapturedOperation {
        file: 1,
        cached: true,
        ..operation(lane, OperationKind::Write, at_ns, 1_000, (offset, 4096))
    };
    let sync =
        |lane, at_ns| CapturedOperation { file: 1, ..operation(lane, OperationKind::Fsync, at_ns, 2_000_000, (0, 0)) };
    let writes = vec![write(0, 0, 4096), write(0, 1_000, 8192), write(0, 2_000, 0), sync(0, 3_000), sync(1, 50_000)];
    let round = on_disk(&captured(2, 5_000_000, writes), Pace::default(), DISK);
    assert!(round.demands.iter().all(|demand| demand.bs_bytes == [12_288; 2]), "{:?}", round.demands);
    let syncs = round.captured.operations.iter().filter(|one| one.kind == OperationKind::Fsync);
    let took: Vec<u64> = syncs.take(2).map(|one| one.took_ns).collect();
    // 12 KiB take 80 + 24.576 us. The second sync has nothing to write, waits for the same pages, and then for the next flush.
    assert_eq!(took, [1_104_576, 1_104_576 + 1_000_000 - 47_000]);
}

#[test]
fn a_sync_of_a_range_waits_for_its_pages_and_for_no_flush() {
    let write = CapturedOperation { file: 1, cached: true, ..operation(0, OperationKind::Write, 0, 1_000, (0, 8192)) };
    let sync = |at_ns| CapturedOperation { file: 1, ..operation(0, OperationKind::OtherSync, at_ns, 5_000, (0, 0)) };
    let before = captured(1, 100_000, vec![write, sync(1_000), sync(50_000)]);
    let after = on_disk(&before, Pace::default(), DISK).captured;
    let syncs = after.operations.iter().filter(|one| one.kind == OperationKind::OtherSync);
    assert_eq!(syncs.map(|one| one.took_ns).collect::<Vec<_>>(), [96_384, 0]);
}

#[test]
fn what_nobody_syncs_is_told() {
    let write = CapturedOperation { file: 1, cached: true, ..operation(0, OperationKind::Write, 0, 1_000, (0, 5000)) };
    assert_eq!(on_disk(&captured(1, 2_000, vec![write]), Pace::default(), DISK).unsynced_bytes, 8192);
}

const FITTED: &str = "about = 'x'
[device]
name = 'x'
measured_mib = 64
processors = 8
[path.random-direct-write]
fixed_us = 100
us_per_kib = 0
side_by_side = 8
[path.sequential-direct-write]
fixed_us = 20
us_per_kib = 0
side_by_side = 8
";

fn on_fitted(captured: &Captured, flush: FlushBy) -> SimulatedRound {
    let fitted = Fitted::with_constants(FITTED, &BTreeMap::new()).unwrap();
    simulated_round(captured, Pace::default(), SimulatedPlace::fitted(&fitted, (1, None), captured, flush))
}

#[test]
fn commits_that_wait_for_a_flush_share_the_next() {
    let commit =
        |lane, at_ns| operation(lane, OperationKind::DurableWrite, at_ns, 1_000, (u64::from(lane) << 20, 4096));
    let before = captured(3, 10_000, vec![commit(0, 0), commit(1, 0), commit(2, 9_000)]);
    let took = |flush| -> Vec<u64> {
        on_fitted(&before, flush).captured.operations.iter().take(3).map(|one| one.took_ns).collect()
    };
    // The first flush begins with the first write that is done; the others are done while it is under way.
    assert_eq!(took(FlushBy::Device { ns: 1_000_000, most: 0, counted: false }), [1_100_000, 2_100_000, 2_091_000]);
    assert_eq!(took(FlushBy::Device { ns: 1_000_000, most: 1, counted: false })[..2], [1_100_000, 2_100_000]);
    assert!(took(FlushBy::Device { ns: 1_000_000, most: 1, counted: false })[2] >= 3_091_000);
    assert_eq!(took(FlushBy::Captured), [1_000, 1_000, 1_000]);
}

#[test]
fn an_operation_that_continues_another_is_sequential() {
    let write = |turn: u64| operation(0, OperationKind::Write, turn * 1_000, 1_000, (turn * 4096, 4096));
    let before = captured(1, 4_000, (0..4).map(write).collect());
    let round = on_fitted(&before, FlushBy::Captured);
    let took: Vec<u64> = round.captured.operations.iter().map(|one| one.took_ns).collect();
    assert_eq!(took, [100_000, 20_000, 20_000, 20_000]);
    let asked: Vec<(Pattern, u64)> = round.demands.iter().map(|one| (one.pattern, one.requests)).collect();
    assert_eq!(asked, [(Pattern::Sequential, 3), (Pattern::Random, 1)]);
}

#[test]
fn a_flush_of_a_machine_ends_although_others_never_rest() {
    let system = System::from_toml(systems()[0].text).unwrap();
    let place = SimulatedPlace::machine(system.path(&Setting::default(), 0).unwrap());
    let mut operations: Vec<CapturedOperation> = Vec::new();
    for lane in 0..4_u32 {
        operations.extend((0..20_u64).map(|turn| {
            let offset = (u64::from(lane) * 20 + turn) << 20;
            operation(lane, OperationKind::Read, turn * 100, 100, (offset, 8192))
        }));
    }
    operations.push(operation(4, OperationKind::Write, 0, 1_000, (900 << 20, 8192)));
    operations.push(operation(4, OperationKind::Fdatasync, 1_000, 1_000, (0, 0)));
    let round = simulated_round(&captured(5, 2_000, operations), Pace::default(), place);
    assert!(round.is_whole && round.captured.operations.len() >= 82, "{}", round.captured.operations.len());
}

#[test]
fn places_beyond_a_machine_are_folded_and_told() {
    let system = System::from_toml(systems()[0].text).unwrap();
    let place = SimulatedPlace::machine(system.path(&Setting::default(), 0).unwrap());
    let far = operation(0, OperationKind::Read, 0, 1_000, (1 << 50, 8192));
    let round = simulated_round(&captured(1, 1_000, vec![far]), Pace::default(), place);
    assert!(round.is_whole && round.folded_bytes.is_some_and(|bytes| bytes > 1 << 50));
}

#[test]
fn a_capture_that_would_go_on_for_ever_is_cut() {
    // One lane takes no time at all at this speed, and the other does.
    let cached = CapturedOperation { cached: true, ..operation(0, OperationKind::Read, 0, 0, (0, 4096)) };
    let before = captured(2, 1, vec![cached, operation(1, OperationKind::Read, 0, 1, (0, 4096))]);
    let round = on_disk(&before, Pace { speed: 100.0, ..Pace::default() }, DISK);
    assert!(!round.is_whole && round.captured.operations.len() < 200_000);
    let empty = on_disk(&captured(0, 1_000, Vec::new()), Pace::default(), DISK);
    assert!(empty.captured.operations.is_empty() && empty.demands.is_empty());
}

#[test]
fn an_open_loop_at_a_speed_divides_the_times_at_which_operations_are_due() {
    let read = |turn: u64| operation(0, OperationKind::Read, turn * 10_000, 10_000, (turn << 20, 4096));
    let before = captured(1, 1_000_000, (0..3).map(read).collect());
    let after = on_disk(&before, Pace { open: true, speed: 2.0 }, DISK).captured;
    let times: Vec<(u64, u64)> = after.operations.iter().map(|one| (one.at_ns, one.took_ns)).collect();
    // Latency counts from then, and what the disk takes is what it is.
    assert_eq!(times, [(0, 88_192), (5_000, 2 * 88_192 - 5_000), (10_000, 3 * 88_192 - 10_000)]);
    assert_eq!(after.slices, [500_000]);
    // Who begins again does so when half of the captured time is over.
    let two = vec![
        operation(0, OperationKind::Read, 0, 88_192, (0, 4096)),
        operation(1, OperationKind::Read, 900_000, 88_192, (1 << 20, 4096)),
    ];
    let after = on_disk(&captured(2, 1_000_000, two), Pace { open: true, speed: 2.0 }, DISK).captured;
    let times: Vec<(u32, u64)> = after.operations.iter().map(|one| (one.lane, one.at_ns)).collect();
    assert_eq!(times, [(0, 0), (1, 450_000), (0, 500_000)]);
}

/// Time from the end of a sync to whoever waited for it.
const HANDED_NS: u64 = 5_000;

/// Lanes behind a lock that sync a file in turns.
fn in_turns(lanes: u32, turns: u64, flush_ns: u64) -> Captured {
    let turn_ns = flush_ns + HANDED_NS;
    let sync = |turn: u64| CapturedOperation {
        file: 1,
        ..operation((turn % u64::from(lanes)) as u32, OperationKind::Fdatasync, turn * turn_ns, flush_ns, (0, 0))
    };
    captured(lanes, turns * turn_ns, (0..turns).map(sync).collect())
}

#[test]
fn who_waits_for_the_flush_of_another_waits_for_that_of_the_other_disk() {
    let before = in_turns(4, 160, 1_000_000);
    let same = on_disk(&before, Pace::default(), DISK);
    assert_eq!((same.captured.operations, same.waits), (before.operations.clone(), 159));
    for (constants, flush_ns) in
        [("fixed=80us,disks=2,flush=10ms", 10_000_000), ("fixed=80us,disks=2,flush=100us", 100_000)]
    {
        let round = on_disk(&before, Pace::default(), constants);
        let turn_ns = flush_ns + HANDED_NS;
        // Until the first lane is done and begins again.
        for (turn, sync) in (0..).zip(&round.captured.operations[..157]) {
            assert_eq!((sync.at_ns, sync.took_ns), (turn * turn_ns, flush_ns), "turn {turn} with {constants}");
        }
        if flush_ns > 1_000_000 {
            let per_second = round.captured.operations.len() as f64 * 1e9 / round.captured.slices[0] as f64;
            let truth = 1e9 / turn_ns as f64;
            assert!((per_second / truth - 1.0).abs() < 0.03, "{per_second} a second, the truth is {truth}");
        }
    }
    // At their own times, lanes wait for nobody.
    assert_eq!(on_disk(&before, Pace { open: true, speed: 1.0 }, DISK).waits, 0);
}

#[test]
fn who_follows_a_leader_gets_what_its_flushes_allow() {
    // Each lane writes its own page, the first one syncs, and all go on 20 us after that.
    let write_ns = 3_000;
    let sync_ns = 1_200_000;
    let turn_ns = write_ns + sync_ns + 20_000;
    let mut operations = Vec::new();
    for turn in 0..50 {
        let at_ns = turn * turn_ns;
        for lane in 0..4 {
            let write = operation(lane, OperationKind::Write, at_ns, write_ns, (u64::from(lane) << 20, 4096));
            operations.push(CapturedOperation { file: 1, cached: true, ..write });
        }
        let sync = operation(0, OperationKind::Fdatasync, at_ns + write_ns, sync_ns, (0, 0));
        operations.push(CapturedOperation { file: 1, ..sync });
    }
    let before = captured(4, 50 * turn_ns, operations);
    let round = on_disk(&before, Pace::default(), "fixed=80us,disks=2,flush=10ms");
    assert_eq!(round.waits, 3 * 49);
    let mut writes = [0_u64; 4];
    for one in round.captured.operations.iter().filter(|one| one.kind == OperationKind::Write) {
        writes[one.lane as usize] += 1;
    }
    assert!(writes.iter().all(|count| count.abs_diff(50) <= 1), "{writes:?}");
    assert!(round.captured.slices[0] > 50 * 10_000_000);
}

#[test]
fn lanes_that_do_not_wait_for_each_other_are_not_bound() {
    let mut state = 1_u64;
    let mut draw = move |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut operations = Vec::new();
    let mut span_ns = 0;
    for lane in 0..4 {
        let mut at_ns = 0;
        for _ in 0..50 {
            at_ns += 500_000 + draw(4_000_000);
            let sync = operation(lane, OperationKind::Fdatasync, at_ns, 1_000_000, (0, 0));
            operations.push(CapturedOperation { file: 1, ..sync });
            at_ns += 1_000_000;
        }
        span_ns = span_ns.max(at_ns);
    }
    assert_eq!(on_disk(&captured(4, span_ns, operations), Pace::default(), DISK).waits, 0);
}

/// Four lanes that think for 2 ms and commit together in pairs: while one pair syncs for 10 ms, the other one comes.
fn in_groups() -> Captured {
    const MS: u64 = 1_000_000;
    const WRITE_NS: u64 = 3_000;
    let mut operations = Vec::new();
    let mut awaited = Vec::new();
    let cycles = 40;
    for cycle in 0..cycles {
        let at_ns = cycle * 10 * MS;
        // Each of a pair leads by turns.
        let pair = (cycle % 2) as u32 * 2;
        let turn = ((cycle / 2) % 2) as u32;
        let (leader, rider) = (pair + turn, pair + 1 - turn);
        let write = operation(leader, OperationKind::Write, at_ns, WRITE_NS, (cycle << 13, 8192));
        operations.push(CapturedOperation { file: 1, cached: true, ..write });
        let sync = operation(leader, OperationKind::Fdatasync, at_ns + WRITE_NS, 10 * MS - WRITE_NS, (0, 0));
        operations.push(CapturedOperation { file: 1, ..sync });
        let came_ns = (at_ns + 2 * MS).saturating_sub(10 * MS);
        let wait = |lane, until_ns, shared| AwaitedSync {
            slice: 0,
            lane,
            at_ns: came_ns,
            took_ns: until_ns - came_ns,
            file: 1,
            shared,
        };
        if cycle > 0 {
            awaited.push(wait(leader, at_ns, false));
        }
        awaited.push(wait(rider, at_ns + 10 * MS, true));
    }
    awaited.sort_by_key(|wait| (wait.at_ns, wait.lane));
    Captured { awaited, ..captured(4, cycles * 10 * MS, operations) }
}

#[test]
fn how_many_commits_share_a_sync_follows_from_how_long_it_takes_there() {
    let before = in_groups();
    let files = before.logs_of_group_commits();
    assert_eq!(before.commits_of_a_sync(&files), Some(2.0));
    // Lanes that think for less than a sync takes wait for one and share the next; the others wait for less than one.
    for (flush, flush_ms, bounds) in [
        ("100ms", 100.0, [4.0 / 200.0, 4.0 / 200.0]),
        ("10ms", 10.0, [4.0 / 20.0, 4.0 / 20.0]),
        ("100us", 0.1, [4.0 / (2.0 + 2.0 * 0.2), 4.0 / (2.0 + 0.1)]),
    ] {
        let constants = format!("fixed=0us,rate=10GB/s,disks=8,flush={flush}");
        let round = on_disk(&before, Pace::default(), &constants);
        assert!(round.is_whole);
        let whole = round.captured.with_whole_commits(&files);
        let commits = whole.operations.iter().filter(|one| one.kind == OperationKind::Fdatasync).count() as f64;
        let per_ms = commits * 1e6 / round.captured.slices[0] as f64;
        let [least, most] = bounds;
        assert!((least * 0.95..=most * 1.03).contains(&per_ms), "{flush}: {per_ms} a millisecond, {bounds:?}");
        let syncs: Vec<_> =
            round.captured.operations.iter().filter(|one| one.kind == OperationKind::Fdatasync).collect();
        assert!(syncs.windows(2).all(|pair| pair[0].at_ns + pair[0].took_ns <= pair[1].at_ns), "one at a time");
        let shared = round.captured.commits_of_a_sync(&files).unwrap_or(1.0);
        let is_shared = if flush_ms > 2.0 { (1.9..=2.1).contains(&shared) } else { shared < 1.5 };
        assert!(is_shared, "{flush}: {shared} commits of a sync");
    }
    // At their own times, lanes wait for nobody.
    assert_eq!(on_disk(&before, Pace { open: true, speed: 1.0 }, DISK).captured.awaited, []);
}

/// What of a capture is seen in slices of this length, from `from_ns` on: operations within one, and waits that end in one.
fn in_slices(whole: &Captured, from_ns: u64, slice_ns: u64) -> Captured {
    let count = (whole.slices[0] - from_ns) / slice_ns;
    let mut seen = Captured { slices: vec![slice_ns; count as usize], ..whole.clone() };
    let place = |at_ns: u64, end_ns: u64, cut: bool| {
        let slice = end_ns.checked_sub(from_ns + 1)? / slice_ns;
        let begin_ns = from_ns + slice * slice_ns;
        (slice < count && (cut || at_ns >= begin_ns)).then(|| (slice as u32, at_ns.saturating_sub(begin_ns), begin_ns))
    };
    seen.operations = whole
        .operations
        .iter()
        .filter_map(|one| {
            let (slice, at_ns, _) = place(one.at_ns, one.at_ns + one.took_ns, false)?;
            Some(CapturedOperation { slice, at_ns, ..*one })
        })
        .collect();
    seen.awaited = whole
        .awaited
        .iter()
        .filter_map(|one| {
            let end_ns = one.at_ns + one.took_ns;
            let (slice, at_ns, begin_ns) = place(one.at_ns, end_ns, true)?;
            Some(AwaitedSync { slice, at_ns, took_ns: end_ns - begin_ns - at_ns, ..*one })
        })
        .collect();
    seen.awaited.sort_by_key(|wait| (wait.slice, wait.at_ns));
    seen
}

#[test]
fn a_wait_that_the_end_of_a_slice_cuts_is_not_thought() {
    // Each end of a slice cuts a sync, and the waits for it.
    let before = in_slices(&in_groups(), 5_000_000, 95_000_000);
    assert!(before.slices.len() == 4 && before.operations.len() > 60);
    let files = before.logs_of_group_commits();
    let round = on_disk(&before, Pace::default(), "fixed=0us,rate=10GB/s,disks=8,flush=100us");
    let whole = round.captured.with_whole_commits(&files);
    let commits = whole.operations.iter().filter(|one| one.kind == OperationKind::Fdatasync).count() as f64;
    let per_ms = commits * 1e6 / round.captured.slices[0] as f64;
    // As from a capture in one piece: they think for 2 ms.
    assert!((4.0 / 2.4 * 0.9..=4.0 / 2.1 * 1.03).contains(&per_ms), "{per_ms} a millisecond");
}

#[test]
fn syncs_that_are_made_side_by_side_are_no_group_commit() {
    let mut before = in_groups();
    let others: Vec<CapturedOperation> = before
        .operations
        .iter()
        .map(|one| CapturedOperation { lane: one.lane + 4, at_ns: one.at_ns + 1_000_000, ..*one })
        .filter(|one| one.at_ns + one.took_ns <= before.slices[0])
        .collect();
    before.operations.extend(others);
    before.operations.sort_by_key(|one| one.at_ns);
    before.lanes = 8;
    assert_eq!(on_disk(&before, Pace::default(), DISK).captured.awaited, []);
}

/// Readers that compute for this long before each read, on two processors, of which each used a part.
fn computing_readers(lanes: u32, computes_ns: u64, took_ns: u64, ready: f64) -> Captured {
    let each_ns = computes_ns + took_ns;
    let turns = 200;
    let read = |lane: u32, turn: u64| {
        operation(lane, OperationKind::Read, turn * each_ns + computes_ns, took_ns, (turn << 20, 4096))
    };
    let all = (0..lanes).flat_map(|lane| (0..turns).map(move |turn| read(lane, turn))).collect();
    // A lane computes all the time in which it does not wait for a processor.
    let waiting = f64::from(lanes) * computes_ns as f64 / each_ns as f64;
    let seen = CapturedProcessors { count: 2, own: waiting - ready, others: 0.0, quota: None, ready: Some(ready) };
    Captured { threads: lanes, processors: Some(seen), ..captured(lanes, turns * each_ns, all) }
}

fn sharing(before: &Captured, constants: &str) -> SimulatedRound {
    let processors = Processors::of(before).unwrap();
    let place = || SimulatedPlace::disk(&disk(constants), before, 1);
    processors.round(before, Pace::default(), 0.0, place)
}

fn per_second(round: &SimulatedRound) -> f64 {
    round.captured.operations.len() as f64 / (round.captured.slices[0] as f64 / 1e9)
}

/// A disk that takes this time for 4 KiB of each lane, however many there are.
fn taking(us: u64) -> String {
    format!("fixed={us}us,rate=1000GB/s,disks=64,flush=1ms")
}

#[test]
fn processors_bound_what_a_faster_disk_gives() {
    // Eight readers of 100 us and 10 ms: 0.08 of two processors. A disk of 10 us would give 72,000 a second to eight
    // processors; two that are full give 20,000.
    let before = computing_readers(8, 100_000, 10_000_000, 0.0);
    let round = sharing(&before, &taking(10));
    let alone = simulated_round(&before, Pace::default(), SimulatedPlace::disk(&disk(&taking(10)), &before, 1));
    assert!(per_second(&alone) > 65_000.0, "{}", per_second(&alone));
    assert!((19_000.0..20_050.0).contains(&per_second(&round)), "{}", per_second(&round));
    let used = round.processors.unwrap();
    assert!((1.9..2.005).contains(&used.there) && (0.07..0.09).contains(&used.before), "{used:?}");
    assert!((3.3..4.1).contains(&used.longer), "{used:?}");
}

#[test]
fn processors_that_suffice_change_nothing() {
    let before = computing_readers(2, 100_000, 1_000_000, 0.0);
    for us in [5, 100, 5000] {
        let round = sharing(&before, &taking(us));
        let alone = simulated_round(&before, Pace::default(), SimulatedPlace::disk(&disk(&taking(us)), &before, 1));
        assert_eq!(round.captured, alone.captured);
        assert_eq!(round.processors.unwrap().more, 0.0);
    }
    // On the disk where it was captured each lane waits for others as it did.
    let before = computing_readers(8, 400_000, 1_000_000, 0.8);
    let round = sharing(&before, "fixed=1000us,rate=1000GB/s,disks=64,flush=1ms");
    assert!(round.processors.unwrap().more.abs() < 0.05, "{:?}", round.processors);
}

#[test]
fn behind_a_slower_disk_nobody_waits_for_processors() {
    // Half of each pause of 400 us was a wait for a processor; behind a disk of 20 ms none is left.
    let before = computing_readers(8, 400_000, 800_000, 8.0 / 6.0);
    let round = sharing(&before, &taking(20_000));
    let truth = 8.0 / 20.2e-3;
    assert!((per_second(&round) / truth - 1.0).abs() < 2e-3, "{} of {truth}", per_second(&round));
    let used = round.processors.unwrap();
    assert!((0.49..0.55).contains(&used.longer), "{used:?}");
}

#[test]
fn without_computing_a_lane_only_waits_for_the_disk() {
    // Of each pause of 400 us a half is computing, and a half waiting for a processor.
    let before = computing_readers(8, 400_000, 800_000, 8.0 / 6.0);
    let place = SimulatedPlace::disk(&disk(&taking(10)), &before, 1);
    let round = Processors::of(&before).unwrap().round_without_computing(&before, Pace::default(), place);
    assert!((per_second(&round) / 800_000.0 - 1.0).abs() < 1e-2, "{}", per_second(&round));
}

#[test]
fn a_capture_that_does_not_tell_has_no_processors() {
    assert_eq!(Processors::of(&reads(50_000)), None);
    let before = computing_readers(4, 100_000, 100_000, 0.0);
    let used = Processors::of(&before).unwrap().in_open_loop(Pace { open: true, speed: 3.0 });
    assert!((used.there / used.before - 3.0).abs() < 1e-9 && used.more == 0.0, "{used:?}");
}
