//! Makes what was seen of applications whose limit is known: a minute each, on one disk with four processors.
#![allow(dead_code)] // Each test file uses its own part.

use halfpower_record::{
    Cause, CpuTimes, DeviceUse, DiskRequests, GroupLimit, IssuedBy, Latency, LatencyCounter, OperationKind, Operations,
    OtherUser, Pressure, SafeProbe, Subject, Wait, WatchCost, Watched, WatchedPlace, WatchedProcessors, WatchedSecond,
};

/// Seconds of a watch.
pub const SECONDS: u64 = 60;
/// Its length in nanoseconds.
pub const SPAN_NS: u64 = SECONDS * 1_000_000_000;

/// So many latencies of about this length: one in fifty takes four times as long.
pub fn latency(ns: u64, count: u64) -> Latency {
    let mut counter = LatencyCounter::default();
    let long = count / 50;
    if count > long {
        counter.add(ns, count - long);
    }
    if long > 0 {
        counter.add(4 * ns, long);
    }
    counter.latency()
}

/// Operations that take about `ns` each, so many a second, `depth` of them in progress while any is; `shares` says what
/// their time is spent on.
pub fn operations(kind: OperationKind, a_second: u64, ns: u64, depth: f64, shares: &[(Wait, f64)]) -> Operations {
    let count = a_second * SECONDS;
    let latency = latency(ns, count);
    let sum_ns = latency.sum_ns() as f64;
    let moves = !matches!(kind, OperationKind::Fdatasync | OperationKind::Fsync | OperationKind::OtherSync);
    Operations {
        place: Some(0),
        kind,
        by: IssuedBy::Calls,
        direct: Some(true),
        count,
        unended: 0,
        bytes: if moves { count * 8192 } else { 0 },
        sizes: if moves { vec![(8192, count)] } else { Vec::new() },
        sequential: 0,
        appends: 0,
        cached: 0,
        latency,
        waits: shares.iter().map(|(wait, share)| (*wait, (share * sum_ns) as u64)).collect(),
        threads: depth.ceil() as u64,
        depth_while_busy: depth,
        depth: sum_ns / SPAN_NS as f64,
        deepest: depth.ceil() as u32,
        shared_flushes: 0,
    }
}

/// Direct random reads of 8 KiB, one at a time, that the device works on: nine tenths of the time.
pub fn single_reads() -> Operations {
    let shares = [(Wait::Device, 0.9), (Wait::Processor, 0.07), (Wait::RunQueue, 0.03)];
    operations(OperationKind::Read, 9000, 100_000, 1.0, &shares)
}

/// A minute of these operations on an ext4 of `vda`, with nothing else to be seen.
pub fn watched(operations: Vec<Operations>) -> Watched {
    let busy: f64 = operations.iter().map(|one| one.depth / one.depth_while_busy).sum();
    let second = |_| second(&operations);
    let seconds: Vec<WatchedSecond> = (0..SECONDS).map(second).collect();
    let requests = operations.iter().filter(|one| one.bytes > 0).map(requests).collect();
    let busy_ms = (busy.min(1.0) * 0.97 * SECONDS as f64 * 1e3) as u64;
    let depth: f64 = operations.iter().map(|one| one.depth).sum();
    let processor = CpuTimes { user_ns: SPAN_NS / 5, idle_ns: SPAN_NS * 4 / 5, ..CpuTimes::default() };
    Watched {
        subject: Subject {
            asked: "pid 4711".into(),
            name: "postgres".into(),
            processes: 12,
            threads: 12,
            ..Subject::default()
        },
        span_ns: SPAN_NS,
        traced_ns: SPAN_NS,
        slices: 1,
        cost: WatchCost { processor_ns: 120_000_000, events: 150_000, recording_ns: 60_000_000, lost_events: 0 },
        places: vec![WatchedPlace {
            path: "/srv/pg".into(),
            file_system: "ext4".into(),
            disks: vec!["vda".into()],
            ..WatchedPlace::default()
        }],
        requests,
        processors: WatchedProcessors {
            own_ns: SPAN_NS / 10,
            run_queue_ns: Some(SPAN_NS / 100),
            block_io_ns: None,
            busiest_thread_ns: SPAN_NS / 10,
            machine: vec![processor; 4],
        },
        disks: vec![DeviceUse {
            name: "vda".into(),
            busy_ms,
            in_queue_ms: (depth * SECONDS as f64 * 1e3) as u64,
            span_ns: SPAN_NS,
            ..DeviceUse::default()
        }],
        seconds,
        operations,
        ..Watched::default()
    }
}

/// One second of these operations.
fn second(operations: &[Operations]) -> WatchedSecond {
    let mut second = WatchedSecond { traced_ns: 1_000_000_000, ..WatchedSecond::default() };
    for one in operations {
        let part = latency(one.latency.quantile_ns(0.5), one.count / SECONDS);
        second.depth += one.depth;
        second.own_bytes += one.bytes / SECONDS;
        match one.kind {
            OperationKind::Read | OperationKind::FaultRead => second.reads.merge(&part),
            OperationKind::Write => second.writes.merge(&part),
            _ => second.syncs.merge(&part),
        }
    }
    second
}

fn requests(one: &Operations) -> DiskRequests {
    let reads = matches!(one.kind, OperationKind::Read | OperationKind::FaultRead);
    DiskRequests {
        disk: "vda".into(),
        cause: Cause::Operation,
        own: Some(true),
        writes: !reads,
        count: one.count,
        bytes: one.bytes,
        sequential: one.sequential,
        queue: latency(2_000, one.count),
        device: one.latency.clone(),
        depth: one.depth,
    }
}

/// The same with another process that moves this share of all bytes; the application's operations take these times beside
/// it and without it.
pub fn beside(mut watched: Watched, bytes_share: f64, during_ns: u64, without_ns: u64) -> Watched {
    let own: u64 = watched.requests.iter().map(|one| one.bytes).sum();
    let bytes = (own.max(1 << 30) as f64 * bytes_share / (1.0 - bytes_share)) as u64;
    watched.requests.push(DiskRequests {
        disk: "vda".into(),
        cause: Cause::Operation,
        own: Some(false),
        writes: true,
        count: bytes >> 17,
        bytes,
        sequential: 0,
        queue: Latency::default(),
        device: latency(500_000, bytes >> 17),
        depth: 1.0,
    });
    watched.others.push(OtherUser {
        name: "rsync".into(),
        pid: 99,
        cgroup: "/backup.slice".into(),
        read_bytes: 0,
        written_bytes: bytes,
        requests: bytes >> 17,
        syncs: 0,
        own_during: latency(during_ns, 20_000),
        own_without: latency(without_ns, 20_000),
    });
    watched
}

/// The same with bytes of others in the first three of each six seconds, in which reads take `during_ns` and else
/// `without_ns`.
pub fn in_bursts(mut watched: Watched, during_ns: u64, without_ns: u64) -> Watched {
    for (at, second) in watched.seconds.iter_mut().enumerate() {
        let burst = at % 6 < 3;
        second.other_bytes = if burst { 80_000_000 } else { 0 };
        let ns = if burst { during_ns } else { without_ns };
        second.reads = latency(ns + 10 * at as u64, 2000);
    }
    watched
}

/// The same with so many single requests of 8 KiB of the watch itself, each of about this length.
pub fn probed(watched: Watched, ns: u64, count: u64) -> Watched {
    let latency = vec![(4096, latency(ns / 2, count)), (8192, latency(ns, count))];
    let probe = SafeProbe { place: 0, of_own_file: true, requests: 2 * count, latency, stopped: None };
    Watched { probe: Some(probe), ..watched }
}

/// A limit of the control group `/app`.
pub fn limit(limits: &str, limit: f64, used: f64, held_ns: Option<u64>) -> GroupLimit {
    let file = match limits {
        "cpu_quota" => "/sys/fs/cgroup/app/cpu.max",
        "memory" => "/sys/fs/cgroup/app/memory.max",
        _ => "/sys/fs/cgroup/app/io.max",
    };
    let disk = if limits.ends_with("ps") { "vda" } else { "" };
    GroupLimit {
        file: file.into(),
        limits: limits.into(),
        disk: disk.into(),
        limit,
        used,
        held_ns,
        read_again_bytes: None,
    }
}

/// Pressure on a resource for this share of the watch, in the control group `/app`.
pub fn pressure(resource: &str, share: f64) -> Pressure {
    let some_ns = (share * SPAN_NS as f64) as u64;
    Pressure { of: "/app".into(), resource: resource.into(), some_ns, full_ns: None }
}

/// What counters alone tell of it: nothing was traced.
pub fn untraced(watched: Watched) -> Watched {
    let counted = |second: &WatchedSecond| WatchedSecond {
        own_bytes: second.own_bytes,
        other_bytes: second.other_bytes,
        ..WatchedSecond::default()
    };
    let seconds: Vec<WatchedSecond> = watched.seconds.iter().map(counted).collect();
    Watched {
        traced_ns: 0,
        slices: 0,
        operations: Vec::new(),
        requests: Vec::new(),
        others: Vec::new(),
        seconds,
        ..watched
    }
}
