//! Checks that a watched application's planted limit is named, and that none is invented on a healthy one.

use crate::built::{disk, study};
use crate::watched_built::{
    SPAN_NS, beside, in_bursts, latency, limit, operations, pressure, probed, single_reads, untraced, watched,
};
use halfpower_analyse::{
    AloneReading, Findings, MeasuredCeilings, OperationGroup, TestChange, WatchAdvice, WatchAlone, WatchStop,
    WatchUnknown, analyse, watch_findings,
};
use halfpower_record::{
    Cause, CpuTimes, DeviceRequests, DiskRequests, Environment, GroupLimit, OperationKind, Operations, OtherUser,
    ProbeStop, Wait, Watched,
};
use halfpower_spec::{Bytes, Cache, Direction, Experiment, Question};

/// What stops the group with most time.
fn stop(watched: &Watched) -> WatchStop {
    watch_findings(watched, None).groups[0].stop.clone()
}

#[track_caller]
fn named(watched: &Watched, code: &str) -> WatchStop {
    let stop = stop(watched);
    assert_eq!(serde_json::to_value(&stop).unwrap()["code"], code, "{stop:?}");
    stop
}

#[track_caller]
fn no_limit(watched: &Watched, code: &str) {
    let findings = watch_findings(watched, None);
    for group in &findings.groups {
        assert!(!group.stop.is_limit(), "{:?}", group.stop);
    }
    named(watched, code);
}

/// Random direct reads on a disk that serves eight at once, 8 KiB each in 96 µs.
fn path() -> Findings {
    let question = Question {
        experiments: vec![Experiment::Random],
        directions: vec![Direction::Read],
        cache: vec![Cache::Device],
        bs: [4, 8, 64].map(|kib| Bytes(kib << 10)).into(),
        iodepth: vec![1, 4, 16, 32],
        ..Question::about("sim:")
    };
    let records = study(&disk("fixed=80us,rate=500MB/s,disks=8"), &question);
    analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default())
}

fn commits(wait: Wait, share: f64) -> Operations {
    let shares = [(wait, share), (Wait::Device, 0.9 - share), (Wait::Processor, 0.1)];
    operations(OperationKind::Fdatasync, 450, 2_000_000, 1.0, &shares)
}

/// All processors of the machine without an idle moment.
fn full(mut watched: Watched) -> Watched {
    watched.processors.machine = vec![CpuTimes { user_ns: SPAN_NS, ..CpuTimes::default() }; 4];
    watched
}

#[test]
fn its_own_depth_is_named_without_a_study_and_how_much_more_is_left_open() {
    let seen = watched(vec![single_reads()]);
    let WatchStop::OwnDepth { depth, device_share, idle_share, gain, .. } = named(&seen, "own-depth") else { panic!() };
    assert!((depth - 1.0).abs() < 0.01 && (device_share.unwrap() - 0.9).abs() < 0.01 && idle_share.unwrap() < 0.1);
    assert_eq!(gain, None);
    let group = &watch_findings(&seen, None).groups[0];
    assert!(group.advice.contains(&WatchAdvice::Study), "{:?}", group.advice);
    let test = group.falsified_by.as_ref().unwrap();
    assert_eq!((&test.change, test.at_least), (&TestChange::Depth { iodepth: 2 }, true));
    assert!((1.5..2.0).contains(&test.factor), "{test:?}");
}

#[test]
fn with_a_study_the_gain_of_depth_has_an_interval() {
    let findings = watch_findings(&watched(vec![single_reads()]), Some(&path()));
    let group = &findings.groups[0];
    let WatchStop::OwnDepth { best_iodepth, gain, .. } = &group.stop else { panic!("{:?}", group.stop) };
    let gain = gain.unwrap();
    assert!((7.5..8.5).contains(&gain.value) && gain.low <= gain.value && gain.value <= gain.high, "{gain:?}");
    assert_eq!(*best_iodepth, Some(16));
    let uses = group.uses.as_ref().unwrap();
    assert!((0.8..0.95).contains(&uses.share_at_depth.value), "9,000 of 10,373 a second: {uses:?}");
    assert!((0.1..0.12).contains(&uses.share_of_best.value), "{uses:?}");
    let test = group.falsified_by.as_ref().unwrap();
    assert_eq!(test.change, TestChange::Depth { iodepth: 4 });
    assert!((2.8..3.6).contains(&test.factor), "four at once promise four times: {test:?}");
}

#[test]
fn the_device_is_named_with_a_study_where_its_ceiling_is_reached() {
    let shares = [(Wait::Device, 0.97), (Wait::Processor, 0.03)];
    let deep = operations(OperationKind::Read, 78_000, 192_000, 16.0, &shares);
    let findings = watch_findings(&watched(vec![deep]), Some(&path()));
    let WatchStop::Device { share_of_best, .. } = &findings.groups[0].stop else {
        panic!("{:?}", findings.groups[0].stop)
    };
    assert!(share_of_best.unwrap().value > 0.85);
}

#[test]
fn the_device_is_named_without_a_study_where_requests_wait_for_it() {
    let shares = [(Wait::BlockQueue, 0.5), (Wait::Device, 0.45), (Wait::Processor, 0.05)];
    named(&watched(vec![operations(OperationKind::Read, 9000, 1_650_000, 16.0, &shares)]), "device");
    // Within the device: a tenth takes a quarter of the mean.
    let shares = [(Wait::Device, 0.97), (Wait::Processor, 0.03)];
    let mut inside = watched(vec![operations(OperationKind::Read, 9000, 820_000, 8.0, &shares)]);
    let mut device = latency(150_000, 54_000);
    device.merge(&latency(820_000, 486_000));
    inside.requests[0].device = device;
    let WatchStop::Device { slower_inside, .. } = named(&inside, "device") else { panic!() };
    assert!(slower_inside.unwrap() > 4.0);
}

#[test]
fn many_at_once_without_a_study_are_not_judged() {
    let shares = [(Wait::Device, 0.97), (Wait::Processor, 0.03)];
    let seen = watched(vec![operations(OperationKind::Read, 90_000, 160_000, 16.0, &shares)]);
    let WatchStop::NotKnown { why } = named(&seen, "not-known") else { panic!() };
    assert!(matches!(why, WatchUnknown::NeedsStudy { .. }), "{why:?}");
    assert_eq!(watch_findings(&seen, None).groups[0].falsified_by, None);
}

#[test]
fn a_limit_of_the_control_group_is_named_though_nothing_shows_the_wait() {
    let shares = [(Wait::Other, 0.85), (Wait::Device, 0.1), (Wait::Processor, 0.05)];
    let mut seen = watched(vec![operations(OperationKind::Read, 497, 1_900_000, 1.0, &shares)]);
    seen.group_limits = vec![limit("write_iops", 500.0, 2.0, None), limit("read_iops", 500.0, 497.0, None)];
    let WatchStop::GroupLimit { limits, share, .. } = named(&seen, "group-limit") else { panic!() };
    assert!(limits == "read_iops" && share > 0.99);
    // Operations that take longer than a slice are hardly ever seen whole: counters tell of the limit.
    let mut few = seen.clone();
    (few.operations[0].count, few.operations[0].latency) = (12, latency(160_000_000, 12));
    let WatchStop::GroupLimit { limits, .. } = named(&few, "group-limit") else { panic!() };
    assert_eq!(limits, "read_iops");
    // Writes have a limit of their own.
    let shares = [(Wait::Throttle, 0.7), (Wait::Device, 0.25), (Wait::Processor, 0.05)];
    let mut writes = watched(vec![operations(OperationKind::DurableWrite, 1200, 780_000, 1.0, &shares)]);
    writes.group_limits = vec![limit("write_bps", 10e6, 9.83e6, None)];
    named(&writes, "group-limit");
    // A limit that is not used up holds nobody.
    seen.group_limits[1].limit = 1000.0;
    let WatchStop::NotKnown { why } = named(&seen, "not-known") else { panic!() };
    assert!(matches!(why, WatchUnknown::Unseen { .. }), "{why:?}");
}

#[test]
fn a_processor_quota_is_named_while_it_thinks_and_while_it_reads() {
    let mut thinking = watched(vec![operations(OperationKind::Read, 3000, 92_000, 1.0, &[(Wait::Device, 1.0)])]);
    thinking.group_limits = vec![limit("cpu_quota", 0.25, 0.25, Some(SPAN_NS * 2 / 3))];
    let WatchStop::ProcessorQuota { held_share, .. } = named(&thinking, "processor-quota") else { panic!() };
    assert!((held_share.unwrap() - 2.0 / 3.0).abs() < 0.01);
    let shares = [(Wait::RunQueue, 0.8), (Wait::Device, 0.15), (Wait::Processor, 0.05)];
    let mut reading = watched(vec![operations(OperationKind::Read, 450, 1_900_000, 1.0, &shares)]);
    reading.group_limits = vec![limit("cpu_quota", 0.1, 0.099, Some(SPAN_NS / 5))];
    named(&reading, "processor-quota");
}

#[test]
fn full_processors_are_told_apart() {
    let shares = [(Wait::Processor, 0.96), (Wait::Device, 0.04)];
    let mut cached = operations(OperationKind::Read, 90_000, 10_000, 1.0, &shares);
    cached.cached = cached.count;
    let mut one = watched(vec![cached]);
    one.processors.busiest_thread_ns = SPAN_NS / 100 * 99;
    named(&one, "one-processor");
    let shares = [(Wait::RunQueue, 0.6), (Wait::Processor, 0.3), (Wait::Device, 0.1)];
    let all = full(watched(vec![operations(OperationKind::Read, 9000, 95_000, 1.0, &shares)]));
    let WatchStop::Processors { full, of, waited_share } = named(&all, "processors") else { panic!() };
    assert!((full, of) == (4, 4) && (waited_share - 0.6).abs() < 0.01);
    // Threads that wait although others are idle are bound to something that is not seen.
    let bound = watched(vec![operations(OperationKind::Read, 9000, 95_000, 1.0, &shares)]);
    named(&bound, "not-known");
}

#[test]
fn what_a_commit_waits_for_is_named() {
    let WatchStop::Flush { share, mean_ns, gain_of_four, together, .. } =
        named(&watched(vec![commits(Wait::Flush, 0.76)]), "flush")
    else {
        panic!()
    };
    assert!((share - 0.76).abs() < 0.01 && (mean_ns - 1_611_000.0).abs() < 10_000.0, "{share} {mean_ns}");
    assert!((gain_of_four - 3.08).abs() < 0.02 && together == 1.0, "{gain_of_four}");
    let asks_for_another_device = |share| {
        watch_findings(&watched(vec![commits(Wait::Flush, share)]), None).groups[0]
            .advice
            .contains(&WatchAdvice::FasterFlush)
    };
    assert!(
        asks_for_another_device(0.76) && !asks_for_another_device(0.4),
        "without its flush a commit takes 60% of its time"
    );
    named(&watched(vec![commits(Wait::Journal, 0.8)]), "journal");
    // A disk that writes and flushes in the same time, and one where neither reaches what makes a cause.
    let WatchStop::Flush { write_ns, mean_ns, gain_of_four, .. } =
        named(&watched(vec![commits(Wait::Flush, 0.4)]), "flush")
    else {
        panic!()
    };
    assert!((write_ns / mean_ns - 1.25).abs() < 0.01 && (gain_of_four - 3.08).abs() < 0.02, "{write_ns} {mean_ns}");
    let shares = [(Wait::Device, 0.33), (Wait::Flush, 0.3), (Wait::Processor, 0.2), (Wait::Other, 0.17)];
    named(&watched(vec![operations(OperationKind::Fdatasync, 450, 2_000_000, 1.0, &shares)]), "flush");
    let shares = [(Wait::Device, 0.4), (Wait::Journal, 0.3), (Wait::Flush, 0.1), (Wait::Processor, 0.2)];
    named(&watched(vec![operations(OperationKind::Fsync, 450, 2_000_000, 1.0, &shares)]), "journal");
    // A write that is durable by itself (FUA) flushes nothing: more of them at once is what helps.
    let shares = [(Wait::Device, 0.85), (Wait::Flush, 0.05), (Wait::Processor, 0.1)];
    named(&watched(vec![operations(OperationKind::DurableWrite, 450, 2_000_000, 1.0, &shares)]), "own-depth");
    named(&watched(vec![commits(Wait::Writeback, 0.8)]), "writeback");
    let shares = [(Wait::Throttle, 0.8), (Wait::Processor, 0.2)];
    let mut writes = operations(OperationKind::Write, 9000, 95_000, 1.0, &shares);
    (writes.direct, writes.cached) = (Some(false), writes.count);
    let WatchStop::DirtyPages { mbps, .. } = named(&watched(vec![writes]), "dirty-pages") else { panic!() };
    assert!((mbps - 73.7).abs() < 0.1, "9,000 of 8 KiB a second: {mbps}");
}

#[test]
fn a_neighbour_is_named_by_its_bursts() {
    let seen = in_bursts(beside(watched(vec![single_reads()]), 0.61, 300_000, 100_000), 300_000, 100_000);
    let WatchStop::Neighbour { name, bytes_share, slowdown, excess_share, .. } = named(&seen, "neighbour") else {
        panic!()
    };
    assert!(name == "rsync" && (bytes_share - 0.61).abs() < 0.01);
    let slowdown = slowdown.unwrap();
    assert!(slowdown.low > 2.8 && slowdown.high < 3.2, "{slowdown:?}");
    assert!((excess_share.unwrap() - 0.5).abs() < 0.02, "{excess_share:?}");
    let advice = &watch_findings(&seen, None).groups[0].advice;
    assert!(matches!(&advice[0], WatchAdvice::LimitNeighbour { cgroup, .. } if cgroup == "/backup.slice"));
}

#[test]
fn a_neighbour_that_syncs_is_named_by_its_syncs() {
    let mut seen = beside(watched(vec![commits(Wait::Flush, 0.8)]), 0.05, 6_000_000, 1_500_000);
    // Few bytes: most of what is written is the kernel's, for everybody.
    (seen.requests[0].own, seen.others[0].written_bytes, seen.others[0].syncs) = (None, 1 << 20, 80_000);
    let WatchStop::Neighbour { syncs_share, bytes_share, .. } = named(&seen, "neighbour") else { panic!() };
    assert!(syncs_share > 0.7 && bytes_share < 0.05);
}

#[test]
fn a_neighbour_that_never_pauses_is_named_where_requests_wait_behind_its_own() {
    let shares = [(Wait::BlockQueue, 0.6), (Wait::Device, 0.35), (Wait::Processor, 0.05)];
    let mut seen = beside(watched(vec![operations(OperationKind::Read, 450, 2_000_000, 1.0, &shares)]), 0.8, 1, 1);
    (seen.others[0].own_during, seen.others[0].own_without) = (latency(2_000_000, 27_000), latency(2_000_000, 3));
    seen.disks[0].busy_ms = 59_800;
    let WatchStop::Neighbour { slowdown, .. } = named(&seen, "neighbour") else { panic!() };
    assert_eq!(slowdown, None);
}

/// Commits that wait for their write on the device, in its queue and for its flush, beside others that sync without a pause.
fn commits_beside_syncs(write_ns: [u64; 2], in_queue: u64) -> Watched {
    let shares = [(Wait::Device, 0.32), (Wait::BlockQueue, 0.2), (Wait::Flush, 0.38), (Wait::Processor, 0.1)];
    let mut seen = beside(watched(vec![operations(OperationKind::Fdatasync, 160, 6_000_000, 1.0, &shares)]), 0.9, 1, 1);
    (seen.others[0].own_during, seen.others[0].own_without) = (latency(6_000_000, 9_000), latency(6_000_000, 3));
    // Fewer than half of all syncs.
    seen.others[0].syncs = 8_000;
    let mut device = latency(write_ns[0], 1_000);
    device.merge(&latency(write_ns[1], 8_000));
    seen.requests.push(DiskRequests {
        own: Some(true),
        bytes: 9_000 << 17,
        count: 9_000,
        device,
        ..seen.requests[0].clone()
    });
    (seen.disks[0].busy_ms, seen.disks[0].in_queue_ms) = (59_800, in_queue * 59_800);
    seen
}

#[test]
fn a_neighbour_that_never_pauses_is_named_where_waits_in_queue_and_device_add_up() {
    const ALIKE: [u64; 2] = [1_900_000, 2_000_000];
    const SLOWER: [u64; 2] = [100_000, 2_000_000];
    let WatchStop::Neighbour { syncs_share, .. } = named(&commits_beside_syncs(SLOWER, 3), "neighbour") else {
        panic!()
    };
    assert!(syncs_share < 0.5, "{syncs_share}");
    // The same requests where the disk works on hardly anything else, or where they never take less.
    named(&commits_beside_syncs(SLOWER, 1), "not-known");
    named(&commits_beside_syncs(ALIKE, 3), "not-known");
}

/// Reads of 8 KiB that the device takes this long for, beside others' writes of 128 KiB that take it 4 ms and never pause.
fn reads_beside_large_writes(device_ns: u64) -> Watched {
    let shares = [(Wait::Device, 0.95), (Wait::Processor, 0.05)];
    let mut seen = beside(
        watched(vec![operations(OperationKind::Read, 940_000_000 / device_ns, device_ns, 1.0, &shares)]),
        0.9,
        1,
        1,
    );
    (seen.others[0].own_during, seen.others[0].own_without) = (latency(device_ns, 14_000), latency(device_ns, 3));
    (seen.requests[0].device, seen.requests[1].device) = (latency(device_ns, 14_000), latency(4_000_000, 14_000));
    (seen.disks[0].busy_ms, seen.disks[0].in_queue_ms) = (59_800, 480_000);
    seen
}

#[test]
fn a_neighbour_that_never_pauses_is_named_where_small_requests_take_as_long_as_its_large_ones() {
    let WatchStop::Neighbour { slowdown, .. } = named(&reads_beside_large_writes(3_900_000), "neighbour") else {
        panic!()
    };
    assert_eq!(slowdown, None);
    // Beneath a loop device the kernel moves the same bytes again: half of all are the neighbour's.
    let mut seen = reads_beside_large_writes(3_900_000);
    let kernel = OtherUser { name: "the kernel".into(), pid: 0, written_bytes: 0, syncs: 0, ..seen.others[0].clone() };
    seen.others.push(OtherUser { read_bytes: seen.others[0].written_bytes, ..kernel });
    named(&seen, "neighbour");
}

#[test]
fn own_depth_is_not_the_limit_of_a_device_that_others_fill() {
    // Eight in flight, one of them the application's, which takes its usual time.
    let stop = &watch_findings(&reads_beside_large_writes(400_000), None).groups[0].stop;
    let WatchStop::NotKnown { why: WatchUnknown::NeedsStudy { depth, .. } } = stop else { panic!("{stop:?}") };
    assert!((*depth - 8.0).abs() < 0.1, "{depth}");
}

#[test]
fn slices_that_are_spread_over_a_watch_are_enough_with_some_operations() {
    let of = |slices: u64, count: u64| {
        let mut seen = watched(vec![single_reads()]);
        (seen.traced_ns, seen.slices) = (300_000_000, slices);
        seen.operations[0].count = count;
        seen.operations[0].latency = latency(100_000, count);
        matches!(watch_findings(&seen, None).groups[0].stop, WatchStop::NotKnown { why: WatchUnknown::TooFew { .. } })
    };
    assert_eq!([of(4, 200), of(2, 5000), of(6, 12), of(6, 9)], [false, true, false, true]);
}

#[test]
fn a_neighbour_that_never_pauses_is_named_where_commits_wait_for_its_flushes() {
    // Of 2 ms each commit waits 1.6 ms for flushes, and for the journal where it takes part.
    let of = |flush_ns: u64, syncs: u64, journal: f64| {
        let shares =
            [(Wait::Flush, 0.8 - journal), (Wait::Journal, journal), (Wait::Device, 0.1), (Wait::Processor, 0.1)];
        let commits = operations(OperationKind::Fdatasync, 450, 2_000_000, 1.0, &shares);
        let mut seen = beside(watched(vec![commits]), 0.05, 1, 1);
        (seen.others[0].own_during, seen.others[0].own_without) = (latency(2_000_000, 27_000), latency(2_000_000, 3));
        seen.others[0].syncs = syncs;
        let flush = DiskRequests {
            cause: Cause::Flush,
            own: None,
            bytes: 0,
            device: latency(flush_ns, 50_000),
            ..seen.requests[0].clone()
        };
        seen.requests.push(flush);
        seen
    };
    for (flush_ns, journal) in [(400_000, 0.1), (800_000, 0.0)] {
        let named = named(&of(flush_ns, 80_000, journal), "neighbour");
        let WatchStop::Neighbour { syncs_share, slowdown, .. } = named else { panic!() };
        assert!(syncs_share > 0.7 && slowdown.is_none());
    }
    // Two flushes are its own with the journal, and one without; and few syncs of others accuse nobody.
    named(&of(800_000, 80_000, 0.1), "flush");
    named(&of(1_500_000, 80_000, 0.0), "flush");
    named(&of(400_000, 3_000, 0.1), "flush");
}

#[test]
fn reads_of_what_had_to_leave_a_full_memory_are_named() {
    let of = |again: f64, change: fn(&mut Operations)| {
        let mut reads = single_reads();
        (reads.direct, reads.cached) = (Some(false), reads.count / 2);
        change(&mut reads);
        let mut seen = watched(vec![reads]);
        let mut full = limit("memory", 1e9, 0.99e9, None);
        full.read_again_bytes = Some((again * seen.requests[0].bytes as f64) as u64);
        seen.group_limits = vec![full];
        seen
    };
    let seen = of(0.8, |_| ());
    let WatchStop::Memory { read_again_share, pressure_share, file, .. } = named(&seen, "memory") else { panic!() };
    assert!((read_again_share.unwrap() - 0.8).abs() < 0.01 && pressure_share == 0.0 && file.is_some());
    // A pass over a large file, reads that hardly ever find anything, few that come again, and a limit that is far.
    let is_memory = |seen: &Watched| matches!(stop(seen), WatchStop::Memory { .. });
    assert!(!is_memory(&of(0.8, |reads| reads.sequential = reads.count)));
    assert!(!is_memory(&of(0.8, |reads| reads.cached = 0)));
    assert!(!is_memory(&of(0.1, |_| ())));
    let mut far = seen;
    far.group_limits[0].used = 0.5e9;
    assert!(!is_memory(&far));
}

#[test]
fn too_little_memory_and_a_hypervisor_are_named() {
    let mut seen = watched(vec![single_reads()]);
    seen.pressure = vec![pressure("memory", 0.23)];
    seen.group_limits = vec![limit("memory", 1e9, 0.99e9, None)];
    let WatchStop::Memory { pressure_share, file, .. } = named(&seen, "memory") else { panic!() };
    assert!((pressure_share - 0.23).abs() < 0.01 && file.unwrap().ends_with("memory.max"));
    let mut stolen = watched(vec![operations(OperationKind::Read, 900, 90_000, 1.0, &[(Wait::Device, 1.0)])]);
    let taken = CpuTimes { user_ns: SPAN_NS / 2, steal_ns: SPAN_NS / 4, idle_ns: SPAN_NS / 4, ..CpuTimes::default() };
    stolen.processors.machine = vec![taken; 2];
    named(&stolen, "steal");
}

#[test]
fn counters_alone_give_the_best_answer_that_they_can() {
    let base = || untraced(watched(vec![single_reads()]));
    let mut limited = base();
    limited.group_limits = vec![limit("read_bps", 74e6, 73.7e6, None)];
    named(&limited, "group-limit");
    let mut quota = base();
    quota.group_limits = vec![limit("cpu_quota", 0.5, 0.5, Some(SPAN_NS / 2))];
    named(&quota, "processor-quota");
    let mut alone = base();
    alone.pressure = vec![pressure("io", 0.85)];
    alone.disks[0].reads = DeviceRequests { ios: 540_000, ..DeviceRequests::default() };
    alone.disks[0].in_queue_ms = alone.disks[0].busy_ms;
    named(&alone, "own-depth");
    // With writes beside them, a flush may be what the disk does.
    alone.disks[0].writes = DeviceRequests { ios: 270_000, ..DeviceRequests::default() };
    let WatchStop::NotKnown { why } = named(&alone, "not-known") else { panic!() };
    assert!(matches!(why, WatchUnknown::NotTraced { busy_share: Some(_) }), "{why:?}");
    assert_eq!(watch_findings(&alone, None).groups[0].advice, [WatchAdvice::AsRoot]);
    let mut little = base();
    little.pressure = vec![pressure("io", 0.03)];
    no_limit(&little, "itself");
    // Who waits for requests of libaio counts as waiting for I/O nowhere, while the disk reads for it all the time.
    let mut of_libaio = little.clone();
    of_libaio.disks[0].reads = DeviceRequests { ios: 540_000, ..DeviceRequests::default() };
    let WatchStop::NotKnown { why } = named(&of_libaio, "not-known") else { panic!() };
    assert!(matches!(why, WatchUnknown::NotTraced { busy_share: Some(_) }), "{why:?}");
    // Writes may be those of the page cache, which it does not wait for.
    of_libaio.disks[0].writes = DeviceRequests { ios: 5_400_000, ..DeviceRequests::default() };
    no_limit(&of_libaio, "itself");
    // The last second is cut by the end of the watch.
    let mut cut = little.clone();
    cut.span_ns -= 500_000_000;
    let rate = |watched: &Watched| watch_findings(watched, None).counters.own_mbps.unwrap().value;
    assert!((rate(&cut) / rate(&little) - SPAN_NS as f64 / cut.span_ns as f64).abs() < 1e-9);
    // What may not be read is no zero.
    assert!(watch_findings(&little, None).counters.own_mbps.is_some());
    little.bytes_unseen = true;
    assert_eq!(watch_findings(&little, None).counters.own_mbps, None);
}

#[test]
fn a_disk_that_nobody_counts_is_not_an_idle_one() {
    let mut seen = watched(vec![single_reads()]);
    seen.disks.clear();
    let WatchStop::OwnDepth { idle_share, .. } = named(&seen, "own-depth") else { panic!() };
    assert_eq!(idle_share, None);
    // Others may keep it busy between the requests of the application.
    let heavy = beside(seen.clone(), 0.5, 100_000, 100_000);
    let WatchStop::NotKnown { why } = named(&heavy, "not-known") else { panic!() };
    assert!(matches!(why, WatchUnknown::NeedsStudy { busy_share: None, .. }), "{why:?}");
    let counted = watch_findings(&untraced(seen), None);
    assert_eq!((counted.others_bytes_share, counted.counters.other_mbps), (None, None));
    assert!(counted.counters.own_mbps.is_some(), "its own are counted elsewhere");
}

#[test]
fn bytes_are_of_the_time_that_was_traced() {
    let mut sliced = watched(vec![single_reads()]);
    let whole = watch_findings(&sliced, None).counters.own_mbps.unwrap().value;
    // Every third second is traced, for a tenth of it.
    for (at, second) in sliced.seconds.iter_mut().enumerate() {
        let part = u64::from(at % 3 == 0);
        (second.traced_ns, second.own_bytes) = (second.traced_ns / 10 * part, second.own_bytes / 10 * part);
    }
    let found = watch_findings(&sliced, None).counters.own_mbps.unwrap().value;
    assert!((found / whole - 1.0).abs() < 0.01, "{found} {whole}");
}

#[test]
fn a_limit_of_a_volume_is_that_of_the_disks_beneath() {
    let shares = [(Wait::Throttle, 0.85), (Wait::Device, 0.1), (Wait::Processor, 0.05)];
    let mut seen = watched(vec![operations(OperationKind::Read, 497, 1_900_000, 1.0, &shares)]);
    let on_volume = GroupLimit { disk: "dm-0".into(), ..limit("read_iops", 500.0, 497.0, None) };
    seen.group_limits = vec![on_volume];
    assert!(!matches!(stop(&seen), WatchStop::GroupLimit { .. }), "it is of another disk");
    seen.places[0].volumes = vec!["dm-0".into()];
    named(&seen, "group-limit");
}

#[test]
fn no_limit_is_invented_on_a_healthy_application() {
    let reads = |a_second: u64| operations(OperationKind::Read, a_second, 90_000, 1.0, &[(Wait::Device, 1.0)]);
    // It asks seldom; and it asks at a rate of its own, more often.
    no_limit(&watched(vec![reads(900)]), "itself");
    no_limit(&watched(vec![reads(6500)]), "itself");
    // Memory answers, reads and writes.
    let shares = [(Wait::Processor, 0.95), (Wait::RunQueue, 0.05)];
    for kind in [OperationKind::Read, OperationKind::Write] {
        let mut cached = operations(kind, 90_000, 7_000, 1.0, &shares);
        (cached.direct, cached.cached) = (Some(false), cached.count);
        no_limit(&watched(vec![cached]), "page-cache");
    }
    // Limits that are far, and a quota that hardly ever held it.
    let mut far = watched(vec![reads(2500)]);
    far.group_limits = vec![
        limit("read_iops", 6000.0, 2500.0, None),
        limit("cpu_quota", 2.0, 0.3, Some(SPAN_NS / 100)),
        limit("memory", 1e9, 0.99e9, None),
    ];
    far.pressure = vec![pressure("memory", 0.005), pressure("io", 0.2)];
    no_limit(&far, "itself");
    // A neighbour that moves much and does no harm.
    no_limit(&in_bursts(beside(watched(vec![reads(3000)]), 0.6, 101_000, 100_000), 90_500, 90_000), "itself");
    // A machine that others fill, while it waits for nobody.
    no_limit(&full(watched(vec![reads(900)])), "itself");
}

#[test]
fn long_operations_that_meet_a_neighbour_more_often_do_not_accuse_it() {
    // Commits of 2 ms beside reads of 100 µs: the few requests of the neighbour meet mostly the long ones.
    let reads = operations(OperationKind::Read, 2000, 100_000, 1.0, &[(Wait::Device, 0.9), (Wait::Processor, 0.1)]);
    let mut seen = beside(watched(vec![commits(Wait::Flush, 0.8), reads]), 0.25, 1_900_000, 400_000);
    for (at, second) in seen.seconds.iter_mut().enumerate() {
        second.other_bytes = if at % 6 < 3 { 10_000_000 } else { 0 };
    }
    assert_eq!(watch_findings(&seen, None).groups[0].group, OperationGroup::Commits);
    named(&seen, "flush");
}

/// What a probe tells of the reads.
fn alone(watched: &Watched) -> Option<WatchAlone> {
    watch_findings(watched, None).groups[0].alone
}

#[test]
fn reads_that_take_what_one_request_alone_takes_are_the_devices_time() {
    let seen = probed(watched(vec![single_reads()]), 95_000, 100);
    let found = alone(&seen).unwrap();
    assert_eq!((found.size_bytes, found.requests, found.reading), (8192, 100, AloneReading::Alike), "{found:?}");
    assert!((found.times.value - 100.0 / 95.0).abs() < 0.02 && found.times.low <= found.times.value, "{found:?}");
    named(&seen, "own-depth");
    // Beside another one they are the device's time too.
    named(&probed(beside(watched(vec![single_reads()]), 0.61, 100_000, 100_000), 95_000, 100), "own-depth");
}

#[test]
fn reads_that_take_much_longer_than_one_alone_wait_behind_who_else_is_there() {
    let shared = || beside(watched(vec![single_reads()]), 0.61, 100_000, 100_000);
    named(&shared(), "own-depth");
    let seen = probed(shared(), 25_000, 100);
    let stop = named(&seen, "shared-device");
    let WatchStop::SharedDevice { name, bytes_share, times, alone_ns, own_ns, .. } = stop else { panic!() };
    assert!(name == "rsync" && (bytes_share - 0.61).abs() < 0.01 && times.low > 3.0 && own_ns > 3.0 * alone_ns);
    let group = &watch_findings(&seen, None).groups[0];
    assert!(matches!(&group.advice[..], [WatchAdvice::LimitNeighbour { name, .. }] if name == "rsync"));
    let test = group.falsified_by.as_ref().unwrap();
    assert!(test.at_least && test.factor > 1.1 && test.factor < 2.0, "{test:?}");
    // Where requests wait before the device, which was not known before.
    let shares = [(Wait::BlockQueue, 0.5), (Wait::Device, 0.45), (Wait::Processor, 0.05)];
    let queued =
        || beside(watched(vec![operations(OperationKind::Read, 9000, 100_000, 1.0, &shares)]), 0.61, 100_000, 100_000);
    named(&queued(), "not-known");
    named(&probed(queued(), 25_000, 100), "shared-device");
}

#[test]
fn a_probe_names_nobody_where_its_evidence_does_not_reach() {
    let nobody_else = probed(watched(vec![single_reads()]), 25_000, 100);
    assert_eq!(alone(&nobody_else).unwrap().reading, AloneReading::Above);
    named(&nobody_else, "own-depth");
    let shares = [(Wait::Device, 0.97), (Wait::Processor, 0.03)];
    let deep = beside(watched(vec![operations(OperationKind::Read, 90_000, 160_000, 16.0, &shares)]), 0.3, 1, 1);
    named(&probed(deep, 25_000, 100), "not-known");
    let mut of_the_disk = probed(beside(watched(vec![single_reads()]), 0.61, 100_000, 100_000), 25_000, 100);
    of_the_disk.probe.as_mut().unwrap().of_own_file = false;
    assert_eq!(alone(&of_the_disk).unwrap().reading, AloneReading::Open);
    named(&of_the_disk, "own-depth");
}

#[test]
fn reads_are_held_against_requests_of_their_kind_alone() {
    let seen = || probed(watched(vec![single_reads()]), 95_000, 100);
    assert_eq!(alone(&probed(watched(vec![single_reads()]), 95_000, 20)), None, "too few");
    let mut elsewhere = seen();
    elsewhere.operations[0].place = None;
    let mut in_order = seen();
    in_order.operations[0].sequential = in_order.operations[0].count;
    let mut large = seen();
    large.operations[0].sizes = vec![(65536, large.operations[0].count)];
    for (other, why) in [(elsewhere, "place"), (in_order, "order"), (large, "size")] {
        assert_eq!(alone(&other), None, "{why}");
    }
    // What memory answers is the shortest, and does not count.
    let mut cached = seen();
    let count = cached.operations[0].count;
    let mut both = latency(2_000, count * 2 / 5);
    both.merge(&latency(100_000, count * 3 / 5));
    (cached.operations[0].latency, cached.operations[0].cached) = (both, count * 2 / 5);
    let own_ns = alone(&cached).unwrap().own_ns_p50;
    assert!((99_000..=102_000).contains(&own_ns), "{own_ns}");
    // A study tells more.
    let group = &watch_findings(&seen(), Some(&path())).groups[0];
    assert!(group.uses.is_some() && group.alone.is_none());
    let mut ended = seen();
    ended.probe.as_mut().unwrap().stopped = Some(ProbeStop::ReadsSlower);
    let told = watch_findings(&ended, None).probe.unwrap();
    assert_eq!((told.requests, told.sizes[1].count, told.stopped), (200, 100, Some(ProbeStop::ReadsSlower)));
}

#[test]
fn what_is_too_little_to_judge_is_not_judged() {
    let mut few = watched(vec![single_reads()]);
    few.operations[0].count = 8;
    named(&few, "not-known");
    let mut short = watched(vec![single_reads()]);
    short.traced_ns = 500_000_000;
    named(&short, "not-known");
    let mut lost = watched(vec![single_reads()]);
    lost.cost.lost_events = 60_000;
    let WatchStop::NotKnown { why } = named(&lost, "not-known") else { panic!() };
    assert!(matches!(why, WatchUnknown::LostEvents { share } if share > 0.25), "{why:?}");
    let nothing = watch_findings(&Watched::default(), None);
    assert!(!nothing.groups[0].stop.is_limit() && nothing.activities.is_empty());
    no_limit(&watched(Vec::new()), "not-known");
}

#[test]
fn groups_come_by_their_time_and_small_ones_are_left_out() {
    let writes = operations(OperationKind::Write, 100, 5_000, 1.0, &[(Wait::Processor, 1.0)]);
    let reads = operations(OperationKind::Read, 5000, 100_000, 1.0, &[(Wait::Device, 1.0)]);
    let findings = watch_findings(&watched(vec![reads, commits(Wait::Flush, 0.8), writes]), None);
    let groups: Vec<OperationGroup> = findings.groups.iter().map(|group| group.group).collect();
    assert_eq!(groups, [OperationGroup::Commits, OperationGroup::Reads]);
    assert_eq!(findings.activities.len(), 3, "they are still part of what it does");
    let share: f64 = findings.groups.iter().map(|group| group.time_share.unwrap().value).sum();
    assert!((0.99..=1.0).contains(&share), "{share}");
    let rate = findings.groups[1].rate.unwrap();
    assert!((rate.value - 5000.0).abs() < 1.0 && rate.low <= rate.value, "{rate:?}");
}
