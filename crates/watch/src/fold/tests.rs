//! Checks what events of known truth come to.

mod any_order;
mod captured;
mod scene;

use halfpower_os::trace::{Call, CommitStep, Happening, Step};
use halfpower_record::{Cause, IssuedBy, OperationKind, Operations, Wait, Watched};

use scene::{ARRAY, DEVICE, DIRECT, ENCRYPTS, JOURNAL, OTHER, PLAIN, PROCESS, SOCKET, Scene, THREAD, WORKER, us};

/// The only operations of a kind.
fn only(watched: &Watched, kind: OperationKind) -> &Operations {
    let found: Vec<&Operations> = watched.operations.iter().filter(|one| one.kind == kind).collect();
    assert_eq!(found.len(), 1, "{kind:?}: {:#?}", watched.operations);
    found[0]
}

/// Its waits in microseconds, by the order of `Wait`; their sum is that of the latencies.
fn waits(one: &Operations) -> Vec<(Wait, u64)> {
    let sum: u64 = one.waits.iter().map(|(_, ns)| ns).sum();
    assert_eq!(u128::from(sum), one.latency.sum_ns());
    one.waits.iter().map(|(wait, ns)| (*wait, ns / 1000)).collect()
}

#[test]
fn a_direct_read_is_split_into_processor_queue_and_device() {
    let mut scene = Scene::new();
    scene.began(0, THREAD, Call::Pread, [DIRECT, 0, 4096, 8192]);
    scene.step(10, THREAD, Step::Queued, 800..808, "R");
    scene.out(15, THREAD, 2);
    scene.step(20, THREAD, Step::Issued, 800..808, "R");
    scene.step(120, 0, Step::Completed, 800..808, "R");
    scene.woken(121, THREAD);
    scene.back(125, THREAD);
    scene.ended(130, THREAD, Call::Pread, 4096);
    let watched = scene.watched(200);
    let read = only(&watched, OperationKind::Read);
    let expected =
        [(Wait::Processor, 20), (Wait::RunQueue, 4), (Wait::BlockQueue, 5), (Wait::Device, 100), (Wait::Other, 1)];
    assert_eq!(waits(read), expected);
    assert_eq!((read.place, read.by, read.direct), (Some(0), IssuedBy::Calls, Some(true)));
    assert_eq!((read.count, read.bytes, read.cached, read.threads), (1, 4096, 0, 1));
    assert_eq!(read.sizes, [(4096, 1)]);
    assert_eq!(read.latency.sum_ns(), u128::from(us(130)));
    let [request] = &watched.requests[..] else { panic!("{:#?}", watched.requests) };
    assert_eq!((request.disk.as_str(), request.cause, request.own), ("vda", Cause::Operation, Some(true)));
    assert_eq!((request.count, request.bytes, request.writes), (1, 4096, false));
    assert_eq!((request.queue.sum_ns(), request.device.sum_ns()), (us(10).into(), us(100).into()));
    assert!((request.depth - 0.5).abs() < 1e-9);
    assert_eq!((watched.traced_ns, watched.slices, watched.seconds.len()), (us(200), 1, 1));
    assert_eq!((watched.seconds[0].reads.count(), watched.seconds[0].own_bytes), (1, 4096));
}

#[test]
fn a_read_from_the_page_cache_takes_the_processor_alone() {
    let mut scene = Scene::new();
    scene.began(0, THREAD, Call::Read, [PLAIN, 0, 16384, 0]);
    scene.ended(3, THREAD, Call::Read, 16384);
    scene.began(4, THREAD, Call::Read, [PLAIN, 0, 16384, 0]);
    scene.ended(5, THREAD, Call::Read, 0);
    scene.began(6, THREAD, Call::Read, [SOCKET, 0, 16384, 0]);
    scene.ended(9, THREAD, Call::Read, 100);
    let watched = scene.watched(10);
    let read = only(&watched, OperationKind::Read);
    assert_eq!(waits(read), [(Wait::Processor, 3)]);
    assert_eq!(
        (read.count, read.cached, read.direct),
        (1, 1, Some(false)),
        "neither an end of a file nor a socket counts"
    );
}

#[test]
fn a_sync_waits_for_its_data_the_journal_and_the_flush() {
    let mut scene = Scene::new();
    scene.began(0, THREAD, Call::Write, [PLAIN, 0, 8192, 0]);
    scene.ended(5, THREAD, Call::Write, 8192);
    scene.began(10, THREAD, Call::Fdatasync, [PLAIN, 0, 0, 0]);
    scene.step(12, THREAD, Step::Queued, 100..116, "WS");
    scene.out(14, THREAD, 2);
    scene.step(15, THREAD, Step::Issued, 100..116, "WS");
    scene.step(65, 0, Step::Completed, 100..116, "WS");
    scene.commit(66, CommitStep::Started);
    scene.request([70, 75, 95], JOURNAL, 5000..5008, "WS");
    scene.flush([96, 100, 180], JOURNAL);
    scene.commit(185, CommitStep::Ended);
    scene.woken(186, THREAD);
    scene.back(188, THREAD);
    scene.ended(190, THREAD, Call::Fdatasync, 0);
    let watched = scene.watched(200);
    let write = only(&watched, OperationKind::Write);
    assert_eq!((write.count, write.cached, write.appends), (1, 1, 1), "the position is at the end");
    let sync = only(&watched, OperationKind::Fdatasync);
    let expected = [
        (Wait::Processor, 6),
        (Wait::RunQueue, 2),
        (Wait::Journal, 19),
        (Wait::BlockQueue, 1),
        (Wait::Device, 70),
        (Wait::Flush, 80),
        (Wait::Other, 2),
    ];
    assert_eq!(waits(sync), expected);
    let causes: Vec<(Cause, Option<bool>, u64)> =
        watched.requests.iter().map(|one| (one.cause, one.own, one.bytes)).collect();
    assert_eq!(causes, [(Cause::Sync, Some(true), 8192), (Cause::Journal, None, 4096), (Cause::Flush, None, 0)]);
    assert_eq!(watched.requests[2].device.sum_ns(), u128::from(us(80)));
    assert_eq!((watched.others.len(), watched.others[0].name.as_str(), watched.others[0].pid), (1, "jbd2/vda-8", 0));
}

#[test]
fn a_durable_write_has_the_flush_that_its_thread_asked_for() {
    let mut scene = Scene::new();
    scene.known.files.get_mut(&(PROCESS, DIRECT as u32)).unwrap().durable = true;
    scene.began(0, THREAD, Call::Pwrite, [DIRECT, 0, 4096, 0]);
    scene.out(1, THREAD, 2);
    scene.request([1, 2, 52], THREAD, 0..8, "WS");
    scene.flush([53, 55, 105], THREAD);
    // The request that asked for the flush completes too, without a place of its own.
    scene.step(106, 0, Step::Completed, 0..0, "FW");
    scene.back(110, THREAD);
    scene.ended(110, THREAD, Call::Pwrite, 4096);
    let watched = scene.watched(200);
    let write = only(&watched, OperationKind::DurableWrite);
    let expected =
        [(Wait::Processor, 1), (Wait::BlockQueue, 3), (Wait::Device, 50), (Wait::Flush, 50), (Wait::Other, 6)];
    assert_eq!(waits(write), expected);
    assert_eq!((write.cached, write.appends, watched.seconds[0].syncs.count()), (0, 0, 1));
}

#[test]
fn syncs_of_two_threads_share_a_commit() {
    let mut scene = Scene::new();
    for (thread, began, ended) in [(THREAD, 0, 100), (THREAD + 1, 5, 101)] {
        scene.began(began, thread, Call::Fsync, [PLAIN, 0, 0, 0]);
        scene.out(began + 1, thread, 2);
        scene.back(ended - 1, thread);
        scene.ended(ended, thread, Call::Fsync, 0);
    }
    scene.commit(10, CommitStep::Started);
    scene.commit(90, CommitStep::Ended);
    scene.began(200, THREAD, Call::Fsync, [PLAIN, 0, 0, 0]);
    scene.commit(210, CommitStep::Started);
    scene.commit(220, CommitStep::Ended);
    scene.ended(230, THREAD, Call::Fsync, 0);
    let watched = scene.watched(300);
    let sync = only(&watched, OperationKind::Fsync);
    assert_eq!((sync.count, sync.shared_flushes, sync.threads, sync.deepest), (3, 2, 2, 2));
    assert!(waits(sync).contains(&(Wait::Journal, 160)), "{:?}", waits(sync));
}

#[test]
fn syncs_of_three_threads_share_a_flush_of_the_device() {
    let mut scene = Scene::new();
    for thread in THREAD..THREAD + 3 {
        scene.began(0, thread, Call::Fdatasync, [DIRECT, 0, 0, 0]);
        scene.step(2, thread, Step::Queued, 0..0, "FW");
        scene.out(3, thread, 2);
        scene.back(100, thread);
        scene.ended(101, thread, Call::Fdatasync, 0);
    }
    scene.step(10, THREAD, Step::Issued, 0..0, "FF");
    scene.step(90, 0, Step::Completed, u64::MAX..u64::MAX, "FF");
    let watched = scene.watched(200);
    let sync = only(&watched, OperationKind::Fdatasync);
    assert_eq!((sync.count, sync.shared_flushes), (3, 6));
    assert!(waits(sync).contains(&(Wait::Flush, 240)) && waits(sync).contains(&(Wait::BlockQueue, 21)));
    let [flush] = &watched.requests[..] else { panic!("{:#?}", watched.requests) };
    assert_eq!((flush.cause, flush.count, flush.device.sum_ns()), (Cause::Flush, 1, us(80).into()));
}

#[test]
fn a_writer_that_the_kernel_throttles_waits_for_that() {
    let mut scene = Scene::new();
    scene.began(0, THREAD, Call::Write, [PLAIN, 0, 65536, 0]);
    scene.add(10, THREAD, Happening::Throttled { pause_ms: 5 });
    scene.out(11, THREAD, 2);
    scene.woken(5011, THREAD);
    scene.back(5012, THREAD);
    scene.ended(5020, THREAD, Call::Write, 65536);
    let watched = scene.watched(6000);
    let write = only(&watched, OperationKind::Write);
    let expected = [(Wait::Processor, 19), (Wait::RunQueue, 1), (Wait::Throttle, 4999), (Wait::Other, 1)];
    assert_eq!(waits(write), expected);
    assert_eq!(write.cached, 1);
}

#[test]
fn a_thread_that_is_displaced_waits_in_the_run_queue() {
    let mut scene = Scene::new();
    scene.began(0, THREAD, Call::Read, [PLAIN, 0, 512, 0]);
    scene.out(10, THREAD, 0);
    scene.back(40, THREAD);
    scene.ended(50, THREAD, Call::Read, 512);
    // A thread that is woken before it has left goes on.
    scene.began(60, THREAD, Call::Read, [PLAIN, 0, 512, 0]);
    scene.woken(61, THREAD);
    scene.ended(70, THREAD, Call::Read, 512);
    let watched = scene.watched(100);
    assert_eq!(waits(only(&watched, OperationKind::Read)), [(Wait::Processor, 30), (Wait::RunQueue, 30)]);
}

#[test]
fn the_depth_is_that_of_the_threads_that_wait_at_once() {
    let mut scene = Scene::new();
    for (index, thread) in (THREAD..THREAD + 4).enumerate() {
        let first = 1000 * index as u64;
        scene.began(0, thread, Call::Pread, [DIRECT, 0, 4096, first * 512]);
        scene.request([1, 2, 90], thread, first..first + 8, "R");
        scene.ended(100, thread, Call::Pread, 4096);
    }
    let watched = scene.watched(200);
    let read = only(&watched, OperationKind::Read);
    assert_eq!((read.count, read.threads, read.deepest), (4, 4, 4));
    assert!((read.depth_while_busy - 4.0).abs() < 1e-9 && (read.depth - 2.0).abs() < 1e-9, "{read:?}");
    assert!((watched.seconds[0].depth - 2.0).abs() < 1e-9);
}

#[test]
fn what_the_end_of_a_slice_cut_counts_where_it_began_and_what_began_before_does_not() {
    let mut scene = Scene::new();
    scene.ended(5, THREAD, Call::Pread, 4096);
    scene.began(10, THREAD, Call::Pread, [DIRECT, 0, 4096, 0]);
    scene.ended(20, THREAD, Call::Pread, 4096);
    scene.began(50, THREAD, Call::Pread, [DIRECT, 0, 4096, 0]);
    scene.step(51, THREAD, Step::Queued, 0..8, "R");
    scene.step(52, THREAD, Step::Issued, 0..8, "R");
    assert_eq!(scene.end_slice(100), us(50), "since it began");
    scene.begin_slice(1000);
    scene.ended(1050, THREAD, Call::Pread, 4096);
    scene.step(1060, 0, Step::Completed, 0..8, "R");
    scene.began(1055, THREAD, Call::Pread, [SOCKET, 0, 4096, 0]);
    assert_eq!(scene.end_slice(1058), 0, "what waits for a socket is no operation");
    scene.begin_slice(1058);
    scene.began(1060, THREAD, Call::Pread, [DIRECT, 0, 4096, 0]);
    scene.ended(1070, THREAD, Call::Pread, 4096);
    let watched = scene.watched(1100);
    let read = only(&watched, OperationKind::Read);
    // None that took longer is known: the one that was cut stands at its age.
    assert_eq!((read.count, read.unended, read.latency.sum_ns(), watched.slices), (3, 1, us(70).into(), 3));
    assert_eq!((read.latency.max_ns(), read.bytes), (us(50), 3 * 4096));
    assert_eq!(waits(read), [(Wait::Processor, 20), (Wait::Other, 50)]);
    assert_eq!((watched.traced_ns, watched.requests.len()), (us(200), 0));
    assert!((read.depth - 70.0 / 200.0).abs() < 1e-9, "{}", read.depth);
}

#[test]
fn what_took_longer_stands_for_what_the_end_of_a_slice_cut() {
    let mut scene = Scene::new();
    for (at, took) in [(0, 10), (20, 10), (40, 80), (130, 80)] {
        scene.began(at, THREAD, Call::Pread, [DIRECT, 0, 4096, 0]);
        scene.request([at + 1, at + 2, at + took - 2], THREAD, 0..8, "R");
        scene.ended(at + took, THREAD, Call::Pread, 4096);
    }
    scene.began(220, THREAD, Call::Pread, [DIRECT, 0, 4096, 0]);
    scene.step(221, THREAD, Step::Queued, 0..8, "R");
    scene.end_slice(240);
    let watched = scene.watched(240);
    let read = only(&watched, OperationKind::Read);
    assert_eq!((read.count, read.unended, read.bytes, read.sizes[0]), (5, 0, 5 * 4096, (4096, 5)));
    // Each of the two of 80 us stands for one and a half.
    assert_eq!((read.latency.sum_ns(), read.latency.count()), (us(260).into(), 5));
    assert_eq!(read.waits.iter().map(|(_, ns)| ns).sum::<u64>(), us(260));
    assert!((read.depth - 200.0 / 240.0).abs() < 1e-9, "{}", read.depth);
}

#[test]
fn requests_of_a_ring_are_operations() {
    let mut scene = Scene::new();
    scene.began(0, THREAD, Call::IoUringEnter, [9, 2, 0, 0]);
    for (at, request, fd, sector) in [(1, 0x100, DIRECT, 64), (10, 0x200, DIRECT, 72), (20, 0x300, SOCKET, 0)] {
        scene.add(at, THREAD, Happening::RingBegan { request, ring: 7, opcode: 22 });
        scene.add(at, THREAD, Happening::RingFile { request, fd: fd as u32 });
        if sector > 0 {
            scene.request([at + 5, at + 10, at + 60], THREAD, sector..sector + 8, "R");
        }
    }
    scene.ended(30, THREAD, Call::IoUringEnter, 3);
    for (at, request) in [(66, 0x100), (75, 0x200), (80, 0x300)] {
        scene.add(at, THREAD, Happening::RingEnded { request, result: 4096 });
    }
    let watched = scene.watched(100);
    let read = only(&watched, OperationKind::Read);
    let expected = [(Wait::Processor, 10), (Wait::BlockQueue, 10), (Wait::Device, 100), (Wait::Other, 10)];
    assert_eq!(waits(read), expected);
    assert_eq!((read.by, read.count, read.bytes, read.direct), (IssuedBy::IoUring, 2, 8192, Some(true)));
    assert_eq!((read.sequential, read.deepest, read.place), (1, 2, Some(0)));
}

#[test]
fn a_worker_of_a_ring_sends_what_the_ring_asked_for() {
    let mut scene = Scene::new();
    let worker = THREAD + 5;
    scene.add(0, THREAD, Happening::RingBegan { request: 0x500, ring: 7, opcode: 3 });
    scene.add(0, THREAD, Happening::RingFile { request: 0x500, fd: DIRECT as u32 });
    scene.began(1, THREAD, Call::Read, [SOCKET, 0, 10, 0]);
    scene.flush([10, 20, 70], worker);
    scene.add(80, worker, Happening::RingEnded { request: 0x500, result: 0 });
    let watched = scene.watched(100);
    let sync = only(&watched, OperationKind::Fsync);
    assert_eq!((sync.by, sync.count), (IssuedBy::IoUring, 1));
    assert!(waits(sync).contains(&(Wait::Flush, 50)), "{:?}", waits(sync));
}

#[test]
fn requests_of_a_ring_whose_ends_no_event_tells_count_from_queue_to_completion() {
    let mut scene = Scene::new();
    scene.fold.sources(super::Sources { rings: false, ..super::Sources::default() });
    scene.began(0, THREAD, Call::IoUringEnter, [9, 2, 0, 0]);
    scene.add(1, THREAD, Happening::RingBegan { request: 0x100, ring: 7, opcode: 22 });
    scene.request([5, 10, 105], THREAD, 64..72, "R");
    scene.request([6, 11, 206], THREAD, 72..80, "R");
    scene.ended(9, THREAD, Call::IoUringEnter, 2);
    let watched = scene.watched(400);
    let read = only(&watched, OperationKind::Read);
    assert_eq!((read.by, read.count, read.unended, read.bytes), (IssuedBy::IoUring, 2, 0, 8192));
    assert_eq!(waits(read), [(Wait::BlockQueue, 10), (Wait::Device, 290)]);
    assert_eq!(watched.operations.len(), 1, "no page fault: {:#?}", watched.operations);
}

#[test]
fn older_asynchronous_requests_count_from_queue_to_completion() {
    let mut scene = Scene::new();
    scene.began(0, THREAD, Call::IoSubmit, [1, 2, 0, 0]);
    scene.request([5, 10, 105], THREAD, 64..72, "WS");
    scene.request([6, 11, 206], THREAD, 72..80, "WS");
    scene.ended(9, THREAD, Call::IoSubmit, 2);
    let watched = scene.watched(400);
    let write = only(&watched, OperationKind::Write);
    assert_eq!((write.by, write.count, write.bytes, write.direct), (IssuedBy::Aio, 2, 8192, Some(true)));
    assert_eq!(waits(write), [(Wait::BlockQueue, 10), (Wait::Device, 290)]);
    assert_eq!((write.sequential, write.deepest, write.place), (1, 2, Some(0)));
}

#[test]
fn what_continues_and_what_appends_is_recognised() {
    let mut scene = Scene::new();
    let calls = [
        (Call::Pread, 0),
        (Call::Pread, 4096),
        (Call::Pread, 8192),
        (Call::Pread, 40960),
        (Call::Pwrite, 1 << 20),
        (Call::Pwrite, (1 << 20) + 4096),
        (Call::Pwrite, 4096),
    ];
    for (index, (call, offset)) in calls.into_iter().enumerate() {
        let at = 10 * index as u64;
        scene.began(at, THREAD, call, [DIRECT, 0, 4096, offset]);
        scene.ended(at + 5, THREAD, call, 4096);
    }
    for at in [100, 110, 120] {
        scene.began(at, THREAD, Call::Readv, [PLAIN, 0, 2, 0]);
        scene.ended(at + 5, THREAD, Call::Readv, 5000);
    }
    for (at, offset) in [(200, 0), (210, 700), (220, 1400)] {
        scene.began(at, THREAD + 1, Call::Preadv, [PLAIN, 0, 1, offset]);
        scene.ended(at + 5, THREAD + 1, Call::Preadv, 700);
    }
    let watched = scene.watched(300);
    let of = |kind: OperationKind, direct: bool| {
        let mut found = watched.operations.iter().filter(|one| one.kind == kind && one.direct == Some(direct));
        let one = found.next().unwrap();
        (one.count, one.sequential, one.appends)
    };
    assert_eq!(of(OperationKind::Read, true), (4, 2, 0));
    assert_eq!(of(OperationKind::Write, true), (3, 1, 2));
    assert_eq!(of(OperationKind::Read, false), (6, 4, 0), "the first of each kind continues nothing");
}

#[test]
fn what_is_read_after_another_file_was_closed_continues_nothing() {
    let mut scene = Scene::new();
    for at in [0, 100, 200] {
        for began in [at, at + 10] {
            scene.began(began, THREAD, Call::Read, [PLAIN, 0, 4096, 0]);
            scene.ended(began + 5, THREAD, Call::Read, 4096);
        }
        scene.add(at + 20, THREAD, Happening::Closes { fd: PLAIN as u32 });
    }
    let watched = scene.watched(300);
    let read = only(&watched, OperationKind::Read);
    assert_eq!((read.count, read.sequential), (6, 3));
}

#[test]
fn reads_are_slower_while_another_process_writes() {
    let mut scene = Scene::new();
    for round in 0..100_u64 {
        let at = round * 2000;
        let is_slow = round % 2 == 1;
        let ends = at + if is_slow { 1000 } else { 100 };
        scene.began(at, THREAD, Call::Pread, [DIRECT, 0, 4096, 4096 * round]);
        scene.request([at + 1, at + 2, ends - 1], THREAD, 8 * round..8 * round + 8, "R");
        scene.ended(ends, THREAD, Call::Pread, 4096);
        if is_slow {
            scene.request([at + 10, at + 11, at + 500], OTHER, 900_000..900_256, "WS");
        }
    }
    let watched = scene.watched(200_000);
    let [other] = &watched.others[..] else { panic!("{:#?}", watched.others) };
    assert_eq!((other.name.as_str(), other.pid, other.cgroup.as_str()), ("rsync", 70, "/backup"));
    assert_eq!((other.written_bytes, other.read_bytes, other.requests), (50 * 131_072, 0, 50));
    assert_eq!((other.own_during.count(), other.own_during.min_ns()), (50, us(1000)));
    assert_eq!((other.own_without.count(), other.own_without.sum_ns()), (50, us(50 * 100).into()));
    assert!(other.own_without.max_ns() < us(101), "{}", other.own_without.max_ns());
    let its = watched.requests.iter().find(|one| one.own == Some(false)).unwrap();
    assert_eq!((its.cause, its.writes, its.count), (Cause::Operation, true, 50));
    assert_eq!(watched.seconds[0].other_bytes, 50 * 131_072);
}

#[test]
fn what_is_discarded_moves_no_bytes() {
    let mut scene = Scene::new();
    scene.began(0, THREAD, Call::Pwrite, [DIRECT, 0, 4096, 0]);
    scene.request([1, 2, 52], THREAD, 0..8, "WS");
    scene.ended(53, THREAD, Call::Pwrite, 4096);
    scene.request([60, 61, 90], OTHER, 1_000_000..9_000_000, "D");
    scene.request([100, 101, 120], JOURNAL, 20_000_000..29_000_000, "D");
    let watched = scene.watched(200);
    assert_eq!((watched.seconds[0].own_bytes, watched.seconds[0].other_bytes), (4096, 0));
    assert!(watched.others.iter().all(|other| (other.written_bytes, other.requests) == (0, 1)), "{:?}", watched.others);
    let discards = watched.requests.iter().filter(|one| one.cause == Cause::Other);
    assert_eq!(discards.map(|one| (one.count, one.bytes)).collect::<Vec<_>>(), [(1, 0), (1, 0)]);
}

#[test]
fn a_sync_of_another_process_counts_once_whoever_sends_its_flush() {
    let mut scene = Scene::new();
    scene.request([0, 1, 9], OTHER, 900_000..900_008, "WS");
    for (at, flusher) in [(20, OTHER), (60, JOURNAL)] {
        scene.add(at, OTHER, Happening::SyncBegan { device: DEVICE, inode: 9, data_only: true });
        scene.flush([at + 2, at + 4, at + 20], flusher);
        scene.add(at + 21, OTHER, Happening::SyncEnded { device: DEVICE, inode: 9 });
    }
    // A flush that no sync of a file tells of is one.
    scene.flush([100, 102, 120], OTHER);
    let watched = scene.watched(200);
    let rsync = watched.others.iter().find(|other| other.name == "rsync").unwrap();
    assert_eq!(rsync.syncs, 3);
}

#[test]
fn a_sync_of_older_asynchronous_io_is_none_of_the_requests_that_a_limit_holds_back() {
    let mut scene = Scene::new();
    scene.fold.limited(true);
    for at in [0, 1000] {
        scene.began(at, THREAD, Call::IoSubmit, [1, 1, 0, 0]);
        scene.ended(at + 2, THREAD, Call::IoSubmit, 1);
        scene.add(at + 5, WORKER, Happening::SyncBegan { device: DEVICE, inode: 1, data_only: true });
        scene.flush([at + 10, at + 20, at + 70], WORKER);
        scene.add(at + 80, WORKER, Happening::SyncEnded { device: DEVICE, inode: 1 });
        scene.began(at + 500, THREAD, Call::IoSubmit, [1, 1, 0, 0]);
        scene.ended(at + 502, THREAD, Call::IoSubmit, 1);
        scene.request([at + 600, at + 601, at + 700], WORKER, 0..8, "WS");
    }
    let watched = scene.watched(3000);
    let write = only(&watched, OperationKind::Write);
    assert_eq!((write.count, write.latency.min_ns(), write.latency.max_ns()), (2, us(200), us(200)));
}

#[test]
fn what_a_limit_holds_back_waits_for_it() {
    for (is_limited, wait) in [(true, Wait::Throttle), (false, Wait::BlockQueue)] {
        let mut scene = Scene::new();
        scene.fold.limited(is_limited);
        scene.began(0, THREAD, Call::Pread, [DIRECT, 0, 4096, 0]);
        scene.out(2, THREAD, 2);
        scene.request([802, 804, 904], WORKER, 0..8, "R");
        scene.back(904, THREAD);
        scene.ended(905, THREAD, Call::Pread, 4096);
        // What the kernel writes back is nobody's.
        scene.request([905, 906, 950], WORKER, 5000..5008, "W");
        let watched = scene.watched(1000);
        let read = only(&watched, OperationKind::Read);
        let found = waits(read);
        let held = if is_limited { vec![(wait, 800), (Wait::BlockQueue, 2)] } else { vec![(wait, 802)] };
        assert!(held.iter().all(|one| found.contains(one)), "{found:?}");
        assert!(found.contains(&(Wait::Device, 100)));
        let causes: Vec<(Cause, Option<bool>)> = watched.requests.iter().map(|one| (one.cause, one.own)).collect();
        assert!(causes.contains(&(Cause::Operation, Some(true))) && causes.contains(&(Cause::Writeback, None)));
    }
}

#[test]
fn what_a_volume_carries_to_the_disk_is_of_the_operation_that_waits_for_it() {
    let mut scene = Scene::new();
    scene.began(0, THREAD, Call::Fdatasync, [PLAIN, 0, 0, 0]);
    scene.out(2, THREAD, 2);
    scene.request([40, 42, 142], ENCRYPTS, 0..8, "WS");
    scene.back(143, THREAD);
    scene.ended(144, THREAD, Call::Fdatasync, 0);
    scene.began(200, THREAD, Call::Pwrite, [DIRECT, 0, 4096, 0]);
    scene.out(202, THREAD, 2);
    scene.request([240, 242, 342], ARRAY, 8..16, "WS");
    scene.back(343, THREAD);
    scene.ended(344, THREAD, Call::Pwrite, 4096);
    // What somebody else waits for, an array's parity, and what the kernel writes back.
    scene.request([400, 401, 450], ENCRYPTS, 5000..5008, "WS");
    scene.request([460, 461, 500], ARRAY, 6000..6008, "W");
    scene.request([510, 511, 550], ENCRYPTS, 7000..7008, "W");
    let watched = scene.watched(600);
    for kind in [OperationKind::Fdatasync, OperationKind::Write] {
        let expected = [(Wait::Processor, 3), (Wait::BlockQueue, 40), (Wait::Device, 100), (Wait::Other, 1)];
        assert_eq!(waits(only(&watched, kind)), expected, "{kind:?}");
    }
    let causes: Vec<(Cause, Option<bool>, u64)> =
        watched.requests.iter().map(|one| (one.cause, one.own, one.count)).collect();
    for expected in [
        (Cause::Sync, Some(true), 1),
        (Cause::Operation, Some(true), 1),
        (Cause::Other, None, 2),
        (Cause::Writeback, None, 1),
    ] {
        assert!(causes.contains(&expected), "{expected:?}: {causes:?}");
    }
    let [kernel] = &watched.others[..] else { panic!("{:#?}", watched.others) };
    assert_eq!((kernel.name.as_str(), kernel.pid, kernel.written_bytes), ("kworker", 0, 3 * 4096));
}

#[test]
fn a_sync_that_waits_for_the_kernels_writeback_says_so() {
    let mut scene = Scene::new();
    scene.request([0, 1, 60], WORKER, 5000..5008, "W");
    scene.began(10, THREAD, Call::Fsync, [PLAIN, 0, 0, 0]);
    scene.out(12, THREAD, 2);
    scene.back(61, THREAD);
    scene.ended(62, THREAD, Call::Fsync, 0);
    let watched = scene.watched(100);
    let expected = [(Wait::Processor, 3), (Wait::Writeback, 48), (Wait::Other, 1)];
    assert_eq!(waits(only(&watched, OperationKind::Fsync)), expected);
}

#[test]
fn parts_share_a_request_and_a_part_is_split_over_two() {
    let mut scene = Scene::new();
    scene.began(0, THREAD, Call::Pread, [DIRECT, 0, 12288, 0]);
    scene.step(1, THREAD, Step::Queued, 0..8, "R");
    scene.step(2, THREAD, Step::Granted, 0..8, "R");
    scene.step(3, THREAD, Step::Queued, 8..24, "R");
    scene.add(3, THREAD, Happening::Split { disk: 0, from: 8, at: 16 });
    scene.step(4, THREAD, Step::Merged, 8..16, "R");
    scene.step(5, THREAD, Step::Granted, 16..24, "R");
    scene.out(6, THREAD, 2);
    scene.step(10, THREAD, Step::Issued, 0..16, "R");
    scene.step(11, THREAD, Step::Issued, 16..24, "R");
    scene.step(50, 0, Step::Completed, 0..16, "R");
    scene.step(70, 0, Step::Completed, 16..24, "R");
    scene.back(71, THREAD);
    scene.ended(72, THREAD, Call::Pread, 12288);
    let watched = scene.watched(100);
    let [request] = &watched.requests[..] else { panic!("{:#?}", watched.requests) };
    assert_eq!((request.count, request.bytes, request.sequential), (2, 12288, 1));
    assert_eq!(request.device.sum_ns(), u128::from(us(40 + 59)));
    let found = waits(only(&watched, OperationKind::Read));
    assert_eq!(found, [(Wait::Processor, 7), (Wait::BlockQueue, 4), (Wait::Device, 60), (Wait::Other, 1)]);
}

#[test]
fn a_page_fault_that_reads_is_an_operation_and_what_is_read_ahead_is_told_apart() {
    let mut scene = Scene::new();
    // The process is known by a call before.
    scene.began(0, THREAD, Call::Read, [SOCKET, 0, 1, 0]);
    scene.ended(1, THREAD, Call::Read, 1);
    scene.add(10, THREAD, Happening::Fault { device: scene::DEVICE, inode: 5 });
    scene.step(12, THREAD, Step::Queued, 0..32, "RA");
    scene.out(14, THREAD, 2);
    scene.step(15, THREAD, Step::Issued, 0..32, "RA");
    scene.step(60, 0, Step::Completed, 0..32, "RA");
    scene.woken(61, THREAD);
    scene.back(64, THREAD);
    // A read that finds its data, and asks for more ahead.
    scene.began(70, THREAD, Call::Read, [PLAIN, 0, 4096, 0]);
    scene.step(71, THREAD, Step::Queued, 100..356, "RA");
    scene.step(72, THREAD, Step::Issued, 100..356, "RA");
    scene.ended(75, THREAD, Call::Read, 4096);
    // The next waits for what was read ahead.
    scene.began(80, THREAD, Call::Read, [PLAIN, 0, 4096, 0]);
    scene.out(82, THREAD, 2);
    scene.step(122, 0, Step::Completed, 100..356, "RA");
    scene.back(123, THREAD);
    scene.ended(125, THREAD, Call::Read, 4096);
    let watched = scene.watched(200);
    let fault = only(&watched, OperationKind::FaultRead);
    let expected =
        [(Wait::Processor, 4), (Wait::RunQueue, 3), (Wait::BlockQueue, 1), (Wait::Device, 45), (Wait::Other, 1)];
    assert_eq!(waits(fault), expected);
    assert_eq!((fault.by, fault.bytes, fault.place), (IssuedBy::Mapping, 16384, Some(0)));
    let read = only(&watched, OperationKind::Read);
    assert_eq!((read.count, read.cached), (2, 1));
    assert_eq!(waits(read), [(Wait::Processor, 9), (Wait::Device, 40), (Wait::Other, 1)]);
    let causes: Vec<(Cause, u64)> = watched.requests.iter().map(|one| (one.cause, one.bytes)).collect();
    assert_eq!(causes, [(Cause::ReadAhead, 131_072), (Cause::Operation, 16384)]);
}

#[test]
fn without_the_schedulers_events_waits_are_told_by_requests_alone() {
    let mut scene = Scene::new();
    scene.fold.sources(super::Sources { scheduler: false, faults: false, rings: true });
    scene.began(0, THREAD, Call::Pread, [DIRECT, 0, 4096, 0]);
    scene.request([10, 20, 120], THREAD, 0..8, "R");
    scene.ended(130, THREAD, Call::Pread, 4096);
    let watched = scene.watched(200);
    let found = waits(only(&watched, OperationKind::Read));
    assert_eq!(found, [(Wait::BlockQueue, 10), (Wait::Device, 100), (Wait::Other, 20)]);
}

#[test]
fn what_is_seen_so_far_is_the_same_however_often_it_is_taken() {
    let mut at_once = Scene::new();
    let mut bit_by_bit = Scene::new();
    for scene in [&mut at_once, &mut bit_by_bit] {
        for round in 0..50_u64 {
            let at = 40 * round;
            let thread = THREAD + (round % 3) as u32;
            scene.began(at, thread, Call::Pread, [DIRECT, 0, 4096, 4096 * round]);
            scene.request([at + 1, at + 2, at + 90], thread, 8 * round..8 * round + 8, "R");
            scene.ended(at + 95, thread, Call::Pread, 4096);
        }
    }
    while bit_by_bit.take(3) {
        bit_by_bit.fold.watched(us(1));
    }
    assert_eq!(at_once.watched(3000), bit_by_bit.watched(3000));
}
