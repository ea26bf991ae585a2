//! Checks that operations are kept with their lanes, files and places.

use halfpower_os::trace::{Call, Happening, Step};
use halfpower_record::{Captured, CapturedFile, OperationKind};

use super::scene::{DEVICE, DIRECT, MANY, OTHER, PLAIN, PROCESS, SOCKET, Scene, THREAD, WORKER, us};
use crate::fold::capture::Capture;
use crate::fold::{FileSeen, Recording};

fn kept() -> Scene {
    Scene::kept(Capture::new(Recording::default()))
}

/// A call that begins and ends at these times.
fn call(scene: &mut Scene, [began, ended]: [u64; 2], thread: u32, call: Call, args: [u64; 4], result: i64) {
    scene.began(began, thread, call, args);
    scene.ended(ended, thread, call, result);
}

fn offsets(captured: &Captured) -> Vec<u64> {
    captured.operations.iter().map(|one| one.offset).collect()
}

#[test]
fn operations_are_kept_with_their_threads_and_files() {
    let mut scene = Scene::kept(Capture::new(Recording { names: true }));
    call(&mut scene, [10, 110], THREAD, Call::Pwrite, [DIRECT, 0, 4096, 1 << 20], 4096);
    call(&mut scene, [20, 50], THREAD + 1, Call::Pread, [PLAIN, 0, 4096, 4096], 4096);
    call(&mut scene, [60, 70], THREAD + 1, Call::Fdatasync, [DIRECT, 0, 0, 0], 0);
    // What fails, and what is no file, is no operation.
    call(&mut scene, [80, 90], THREAD + 1, Call::Read, [SOCKET, 0, 4096, 0], 100);
    call(&mut scene, [91, 92], THREAD + 1, Call::Pread, [PLAIN, 0, 4096, 8192], 0);
    // A sync of everything is none that can be asked again.
    call(&mut scene, [93, 95], THREAD + 1, Call::Sync, [0; 4], 0);
    let captured = scene.captured(200);
    let file = |bytes, direct, fd| CapturedFile { bytes, direct, name: Some(format!("/proc/{PROCESS}/fd/{fd}")) };
    assert_eq!(captured.files, [file(1 << 20, true, DIRECT), file(8192, false, PLAIN)]);
    assert_eq!((captured.slices.as_slice(), captured.lanes, captured.left_out), (&[us(200)][..], 2, 1));
    let listed: Vec<_> = captured
        .operations
        .iter()
        .map(|one| {
            (one.lane, one.at_ns / 1000, one.took_ns / 1000, one.kind, one.file, one.offset, one.bytes, one.cached)
        })
        .collect();
    assert_eq!(
        listed,
        [
            (0, 10, 100, OperationKind::Write, 0, 1 << 20, 4096, false),
            (1, 20, 30, OperationKind::Read, 1, 4096, 4096, true),
            (1, 60, 10, OperationKind::Fdatasync, 0, 0, 0, false),
        ]
    );
}

#[test]
fn a_file_that_got_the_inode_of_a_removed_one_is_another() {
    let mut scene = kept();
    call(&mut scene, [10, 20], THREAD, Call::Pwrite, [PLAIN, 0, 4096, 0], 4096);
    scene.end_slice(100);
    let plain = scene.known.files.get_mut(&(PROCESS, PLAIN as u32)).unwrap();
    *plain = FileSeen { born_ns: 9, bytes: Some(0), position: 0, ..*plain };
    scene.begin_slice(1000);
    call(&mut scene, [1010, 1020], THREAD, Call::Pwrite, [PLAIN, 0, 4096, 0], 4096);
    let captured = scene.captured(1100);
    let files: Vec<u32> = captured.operations.iter().map(|one| one.file).collect();
    let sizes: Vec<u64> = captured.files.iter().map(|file| file.bytes).collect();
    assert_eq!((files, sizes), (vec![0, 1], vec![8192, 0]), "the second one grows");
}

#[test]
fn a_call_whose_offset_stands_in_memory_is_placed_by_its_requests() {
    // Its descriptor's position stays, also when it is looked at again, once a second.
    let of = |mut scene: Scene| {
        for (round, at) in (0..24_u64).map(|round| (round, round * 100_000)) {
            scene.began(at, THREAD, Call::Sendfile, [SOCKET, PLAIN, 0x7f00, 4096]);
            scene.out(at + 8, THREAD, 2);
            scene.request([at + 5, at + 6, at + 90], THREAD, 8 * round..8 * round + 8, "R");
            scene.back(at + 91, THREAD);
            scene.ended(at + 100, THREAD, Call::Sendfile, 4096);
        }
        scene
    };
    let captured = of(kept()).captured(3_000_000);
    assert_eq!(offsets(&captured), (0..24_u64).map(|round| round * 4096).collect::<Vec<_>>());
    let watched = of(Scene::new()).watched(3_000_000);
    let [read] = &watched.operations[..] else { panic!("{:#?}", watched.operations) };
    assert_eq!((read.count, read.sequential, read.cached), (24, 23, 0));
}

#[test]
fn a_thread_with_several_operations_at_once_has_several_lanes() {
    let mut scene = kept();
    for (at, request, sector) in [(1, 0x100, 6400), (10, 0x200, 3200), (120, 0x300, 6400)] {
        scene.add(at, THREAD, Happening::RingBegan { request, ring: 7, opcode: 22 });
        scene.add(at, THREAD, Happening::RingFile { request, fd: DIRECT as u32 });
        scene.request([at + 5, at + 10, at + 60], THREAD, sector..sector + 8, "R");
    }
    for (at, request) in [(66, 0x100), (75, 0x200), (186, 0x300)] {
        scene.add(at, THREAD, Happening::RingEnded { request, result: 4096 });
    }
    let captured = scene.captured(200);
    let lanes: Vec<u32> = captured.operations.iter().map(|one| one.lane).collect();
    assert_eq!((lanes, captured.lanes), (vec![0, 1, 0], 2));
    // No event tells the offset; the sectors tell that the first and the last go to the same place, past the second.
    assert_eq!(offsets(&captured), [3200 * 512, 0, 3200 * 512]);
    assert_eq!(captured.files, [CapturedFile { bytes: 3200 * 512 + 4096, direct: true, name: None }]);
}

#[test]
fn older_asynchronous_operations_are_kept_by_their_disk() {
    let mut scene = Scene::kept(Capture::new(Recording { names: true }));
    scene.began(0, THREAD, Call::IoSubmit, [1, 2, 0, 0]);
    scene.request([5, 10, 105], THREAD, 6_400_000..6_400_008, "WS");
    scene.request([6, 11, 206], THREAD, 6_400_008..6_400_016, "WS");
    scene.ended(9, THREAD, Call::IoSubmit, 2);
    let captured = scene.captured(400);
    assert_eq!((offsets(&captured), captured.lanes, captured.left_out), (vec![0, 4096], 2, 0));
    assert_eq!(captured.files, [CapturedFile { bytes: 8192, direct: true, name: Some("vda".to_string()) }]);
    assert!(captured.operations.iter().all(|one| one.kind == OperationKind::Write && one.bytes == 4096));
}

#[test]
fn a_sync_of_older_asynchronous_io_is_carried_out_by_a_worker_and_goes_to_what_was_written() {
    let mut scene = kept();
    scene.began(0, THREAD, Call::IoSubmit, [1, 1, 0, 0]);
    scene.request([5, 10, 105], THREAD, 6400..6408, "WS");
    scene.ended(9, THREAD, Call::IoSubmit, 1);
    // A worker that syncs while nothing was handed over is somebody else's.
    let sync = |data_only| Happening::SyncBegan { device: DEVICE, inode: 9, data_only };
    scene.add(120, WORKER, sync(false));
    scene.add(130, WORKER, Happening::SyncEnded { device: DEVICE, inode: 9 });
    for (at, data_only, flushes) in [(200, true, true), (400, false, false)] {
        scene.began(at, THREAD, Call::IoSubmit, [1, 1, 0, 0]);
        scene.ended(at + 2, THREAD, Call::IoSubmit, 1);
        scene.add(at + 5, WORKER, sync(data_only));
        if flushes {
            scene.flush([at + 10, at + 20, at + 70], WORKER);
        }
        scene.add(at + 80, WORKER, Happening::SyncEnded { device: DEVICE, inode: 9 });
    }
    // Another process syncs while one is handed over.
    scene.began(600, THREAD, Call::IoSubmit, [1, 1, 0, 0]);
    scene.ended(602, THREAD, Call::IoSubmit, 1);
    scene.add(603, OTHER, sync(true));
    scene.add(690, OTHER, Happening::SyncEnded { device: DEVICE, inode: 9 });
    let captured = scene.captured(700);
    let listed: Vec<_> = captured
        .operations
        .iter()
        .map(|one| (one.kind, one.at_ns / 1000, one.took_ns / 1000, one.file, one.bytes))
        .collect();
    assert_eq!(
        listed,
        [
            (OperationKind::Write, 5, 100, 0, 4096),
            (OperationKind::Fdatasync, 200, 80, 0, 0),
            (OperationKind::Fsync, 400, 80, 0, 0),
        ]
    );
    assert_eq!((captured.files.len(), captured.lanes, captured.left_out), (1, 1, 0));
}

#[test]
fn a_sync_of_a_ring_whose_file_is_registered_goes_to_what_was_written() {
    let mut scene = kept();
    let worker = THREAD + 5;
    scene.add(0, THREAD, Happening::RingBegan { request: 0x100, ring: 7, opcode: 5 });
    scene.request([1, 2, 50], THREAD, 6400..6408, "WS");
    scene.add(55, THREAD, Happening::RingEnded { request: 0x100, result: 4096 });
    // The journal carries out the flush of the first; the second has one of its own.
    for (at, request) in [(100, 0x200), (300, 0x300)] {
        scene.add(at, THREAD, Happening::RingBegan { request, ring: 7, opcode: 3 });
        // The thread goes on to something else than the ring.
        scene.began(at + 1, THREAD, Call::Read, [SOCKET, 0, 10, 0]);
        scene.add(at + 2, worker, Happening::SyncBegan { device: DEVICE, inode: 1, data_only: at == 100 });
        if at == 300 {
            scene.flush([at + 30, at + 40, at + 70], worker);
        }
        scene.add(at + 80, worker, Happening::RingEnded { request, result: 0 });
        scene.ended(at + 90, THREAD, Call::Read, 10);
    }
    let captured = scene.captured(400);
    let listed: Vec<_> = captured.operations.iter().map(|one| (one.kind, one.at_ns / 1000, one.file)).collect();
    assert_eq!(
        listed,
        [(OperationKind::Write, 0, 0), (OperationKind::Fdatasync, 100, 0), (OperationKind::Fsync, 300, 0)]
    );
    assert_eq!((captured.files.len(), captured.left_out), (1, 0));
}

#[test]
fn a_page_fault_is_a_read_of_its_file() {
    let mut scene = kept();
    call(&mut scene, [0, 1], THREAD, Call::Pread, [PLAIN, 0, 512, 0], 512);
    for (at, sector) in [(10, 800), (110, 832)] {
        scene.add(at, THREAD, Happening::Fault { device: DEVICE, inode: 2 });
        scene.step(at + 2, THREAD, Step::Queued, sector..sector + 32, "R");
        scene.out(at + 4, THREAD, 2);
        scene.step(at + 5, THREAD, Step::Issued, sector..sector + 32, "R");
        scene.step(at + 50, 0, Step::Completed, sector..sector + 32, "R");
        scene.woken(at + 51, THREAD);
        scene.back(at + 54, THREAD);
    }
    let captured = scene.captured(300);
    let faults: Vec<_> =
        captured.operations[1..].iter().map(|one| (one.kind, one.file, one.offset, one.bytes)).collect();
    let expected = |offset| (OperationKind::Read, 0, offset, 16384);
    assert_eq!(faults, [expected(0), expected(16384)]);
    assert_eq!((captured.files.len(), captured.files[0].bytes), (1, 32768), "the file that is open too");
}

#[test]
fn calls_without_an_offset_go_on_from_the_position() {
    let mut scene = kept();
    let known = scene.known.files.get_mut(&(PROCESS, PLAIN as u32)).unwrap();
    (known.position, known.bytes) = (8192, Some(65536));
    for at in [0, 10, 20] {
        call(&mut scene, [at, at + 5], THREAD, Call::Readv, [PLAIN, 0, 2, 0], 4096);
    }
    let captured = scene.captured(100);
    assert_eq!(offsets(&captured), [8192, 12288, 16384]);
    assert_eq!(captured.files[0].bytes, 65536);
}

#[test]
fn what_is_appended_goes_to_the_end() {
    let mut scene = kept();
    scene.known.files.get_mut(&(PROCESS, PLAIN as u32)).unwrap().append = true;
    call(&mut scene, [0, 5], THREAD, Call::Write, [PLAIN, 0, 100, 0], 100);
    call(&mut scene, [10, 15], THREAD + 1, Call::Pwrite, [PLAIN, 0, 50, 0], 50);
    call(&mut scene, [20, 25], THREAD, Call::Pread, [PLAIN, 0, 8342, 0], 8342);
    let captured = scene.captured(100);
    assert_eq!(offsets(&captured), [8192, 8292, 0]);
    assert_eq!(captured.files[0].bytes, 8192, "what is read was appended before");
}

#[test]
fn where_the_position_is_set_between_calls_the_sectors_tell() {
    let mut scene = kept();
    let known = scene.known.files.get_mut(&(PROCESS, PLAIN as u32)).unwrap();
    (known.position, known.bytes) = (0, Some(8 << 20));
    let blocks = [900, 3, 700, 250, 3, 511, 900, 42];
    for (index, block) in blocks.into_iter().enumerate() {
        let at = 100 * index as u64;
        scene.began(at, THREAD, Call::Read, [PLAIN, 0, 4096, 0]);
        scene.out(at + 1, THREAD, 2);
        scene.request([at + 1, at + 2, at + 50], THREAD, 8 * block..8 * block + 8, "R");
        scene.back(at + 51, THREAD);
        scene.ended(at + 52, THREAD, Call::Read, 4096);
    }
    let offsets = offsets(&scene.captured(1000));
    assert_eq!((offsets[1], offsets[4], offsets[0] == offsets[6]), (0, 0, true));
    assert!(offsets[7] < offsets[3] && offsets[3] < offsets[5] && offsets[5] < offsets[2] && offsets[2] < offsets[0]);
}

#[test]
fn a_stream_that_is_read_again_and_again_stays_in_its_file() {
    let mut scene = kept();
    let known = scene.known.files.get_mut(&(PROCESS, PLAIN as u32)).unwrap();
    (known.position, known.bytes) = (4096, Some(16384));
    for round in 0..6_u64 {
        let at = 10 * round;
        call(&mut scene, [at, at + 5], THREAD, Call::Read, [PLAIN, 0, 4096, 0], 4096);
    }
    let captured = scene.captured(100);
    assert_eq!(offsets(&captured), [4096, 8192, 12288, 0, 4096, 8192]);
    assert_eq!(captured.files[0].bytes, 16384);
}

#[test]
fn a_stream_that_is_written_again_and_again_is_set_back_by_a_look() {
    let mut scene = kept();
    let known = scene.known.files.get_mut(&(PROCESS, PLAIN as u32)).unwrap();
    (known.position, known.bytes) = (0, Some(16384));
    for round in 0..6_u64 {
        let at = 10 * round;
        call(&mut scene, [at, at + 5], THREAD, Call::Write, [PLAIN, 0, 4096, 0], 4096);
    }
    // A second later the position is behind what was written, and the file is no longer than before.
    scene.reach(100, false);
    scene.known.files.get_mut(&(PROCESS, PLAIN as u32)).unwrap().position = 8192;
    for at in [1_100_000, 1_100_010, 1_100_020] {
        call(&mut scene, [at, at + 5], THREAD, Call::Write, [PLAIN, 0, 4096, 0], 4096);
    }
    let captured = scene.captured(1_200_000);
    assert_eq!(offsets(&captured), [0, 4096, 8192, 12288, 0, 4096, 8192, 12288, 16384]);
    assert_eq!(captured.files[0].bytes, 16384);
}

#[test]
fn what_a_slice_cuts_is_kept_where_it_began_and_slices_are_counted_from_their_beginnings() {
    let mut scene = kept();
    scene.ended(5, THREAD, Call::Pread, 4096);
    call(&mut scene, [10, 20], THREAD, Call::Pread, [DIRECT, 0, 4096, 0], 4096);
    scene.began(50, THREAD, Call::Pread, [DIRECT, 0, 4096, 0]);
    scene.end_slice(100);
    scene.begin_slice(1000);
    scene.ended(1050, THREAD, Call::Pread, 4096);
    call(&mut scene, [1060, 1070], THREAD, Call::Pread, [DIRECT, 0, 4096, 8192], 4096);
    let captured = scene.captured(1150);
    assert_eq!((captured.slices.clone(), captured.left_out, captured.cut), (vec![us(100), us(150)], 0, 1));
    let listed: Vec<_> = captured.operations.iter().map(|one| (one.slice, one.lane, one.at_ns, one.took_ns)).collect();
    // No other one took 50 us.
    assert_eq!(listed, [(0, 0, us(10), us(10)), (0, 0, us(50), us(50)), (1, 0, us(60), us(10))]);
}

#[test]
fn one_that_took_longer_stands_in_for_what_a_slice_cut() {
    let mut scene = kept();
    for (at, took) in [(0, 10), (20, 60), (90, 70), (170, 10)] {
        call(&mut scene, [at, at + took], THREAD, Call::Pread, [DIRECT, 0, 4096, 0], 4096);
    }
    // Through the page cache another one took longer.
    call(&mut scene, [190, 490], THREAD, Call::Pread, [PLAIN, 0, 4096, 0], 4096);
    scene.began(500, THREAD, Call::Pread, [DIRECT, 0, 4096, 8192]);
    scene.end_slice(530);
    scene.begin_slice(1000);
    call(&mut scene, [1005, 1015], THREAD, Call::Pread, [DIRECT, 0, 4096, 0], 4096);
    scene.began(1020, THREAD, Call::Pread, [DIRECT, 0, 4096, 0]);
    let captured = scene.captured(1050);
    let [first, last] = [5, 7].map(|at: usize| captured.operations[at]);
    assert_eq!((captured.cut, captured.lanes), (2, 1));
    // It goes on into the next slice, whose first operation follows at once in its script.
    assert_eq!((first.slice, first.at_ns, first.offset, first.took_ns), (0, us(500), 8192, us(60)));
    assert_eq!(last.took_ns, us(70), "each of the longer ones stands in as often");
    assert_eq!(captured.scripts()[0].steps[6].think_ns, 0);
    halfpower_record::write_capture(&captured, &mut Vec::new()).unwrap();
}

#[test]
fn a_slice_ends_where_events_were_lost() {
    let mut scene = kept();
    call(&mut scene, [10, 20], THREAD, Call::Pread, [DIRECT, 0, 4096, 0], 4096);
    scene.reach(100, false);
    // This one may be half of two.
    call(&mut scene, [110, 190], THREAD, Call::Pread, [DIRECT, 0, 4096, 4096], 4096);
    scene.reach(200, true);
    call(&mut scene, [210, 220], THREAD, Call::Pread, [DIRECT, 0, 4096, 8192], 4096);
    let captured = scene.captured(300);
    assert_eq!((captured.slices.clone(), captured.left_out), (vec![us(100), us(100)], 1));
    assert_eq!(offsets(&captured), [0, 8192]);
}

#[test]
fn a_capture_has_a_bound_and_the_rest_is_counted() {
    let mut scene = Scene::kept(Capture::up_to(Recording::default(), 3));
    for round in 0..5_u64 {
        let at = 100 * round;
        call(&mut scene, [at, at + 40], THREAD, Call::Pread, [DIRECT, 0, 4096, 4096 * round], 4096);
    }
    scene.end_slice(600);
    scene.begin_slice(1000);
    call(&mut scene, [1010, 1020], THREAD, Call::Pread, [DIRECT, 0, 4096, 0], 4096);
    let captured = scene.captured(1100);
    assert_eq!((captured.operations.len(), captured.left_out), (3, 3));
    assert_eq!(captured.slices, [us(240)], "it ends with the last one that is kept");
}

#[test]
fn threads_that_follow_each_other_share_lanes_where_there_are_many() {
    let mut scene = kept();
    // Each round stands for a process of its own, whose number nobody had before.
    for round in 0..1500_u64 {
        let at = 10 * round;
        let thread = MANY + 2 * round as u32;
        call(&mut scene, [at, at + 8], thread, Call::Pread, [DIRECT, 0, 4096, 0], 4096);
        call(&mut scene, [at + 1, at + 9], thread + 1, Call::Pread, [DIRECT, 0, 4096, 4096], 4096);
    }
    let captured = scene.captured(20_000);
    assert_eq!((captured.operations.len(), captured.lanes), (3000, 2));
}

/// Threads that commit; those who wait for others write the file some time, too.
const LEADER: u32 = THREAD;
const EARLY: u32 = THREAD + 1;
const LATE: u32 = THREAD + 2;

fn commit(scene: &mut Scene, thread: u32, [writes, syncs, ended]: [u64; 3]) {
    call(scene, [writes, writes + 5], thread, Call::Pwrite, [DIRECT, 0, 4096, 4096], 4096);
    call(scene, [syncs, ended], thread, Call::Fdatasync, [DIRECT, 0, 0, 0], 0);
}

fn wakes(scene: &mut Scene, at: u64, waker: u32, thread: u32) {
    scene.add(at, waker, Happening::Wakes { thread });
    scene.woken(at + 1, thread);
    scene.back(at + 2, thread);
}

/// What is kept of waits: who, from when, for how long, and whether they were made durable.
fn awaited(scene: Scene, at: u64) -> Vec<(u32, u64, u64, bool)> {
    let captured = scene.captured(at);
    captured.awaited.iter().map(|one| (one.lane, one.at_ns / 1000, one.took_ns / 1000, one.shared)).collect()
}

#[test]
fn who_waits_for_the_sync_of_another_is_kept_with_what_that_made_durable() {
    let mut scene = kept();
    let reader = THREAD + 3;
    commit(&mut scene, EARLY, [0, 6, 20]);
    commit(&mut scene, LATE, [30, 36, 50]);
    call(&mut scene, [60, 65], reader, Call::Pread, [DIRECT, 0, 4096, 0], 4096);
    scene.out(90, EARLY, 1);
    scene.out(90, reader, 1);
    commit(&mut scene, LEADER, [100, 110, 1110]);
    scene.out(105, LATE, 1);
    // It is displaced for a while between two of them.
    scene.out(1125, LEADER, 0);
    scene.back(1390, LEADER);
    for (at, thread) in [(1120, EARLY), (1400, LATE), (1410, reader)] {
        wakes(&mut scene, at, LEADER, thread);
    }
    // Who came too late is let through, and syncs itself.
    commit(&mut scene, LATE, [1450, 1460, 2160]);
    assert_eq!(awaited(scene, 3000), [(0, 90, 1030, true), (1, 105, 1295, false)]);
}

#[test]
fn who_is_woken_slowly_has_waited_too() {
    // A hypervisor interrupts a processor that rests for each of them; after a long sync all takes longer.
    for [ended, first, second] in [[1110, 1190, 1280], [20_110, 20_350, 20_600]] {
        let mut scene = kept();
        commit(&mut scene, EARLY, [0, 6, 20]);
        commit(&mut scene, LATE, [30, 36, 50]);
        scene.out(90, EARLY, 1);
        scene.out(95, LATE, 1);
        commit(&mut scene, LEADER, [100, 110, ended]);
        wakes(&mut scene, first, LEADER, EARLY);
        wakes(&mut scene, second, LEADER, LATE);
        assert_eq!(awaited(scene, 30_000), [(0, 90, first - 90, true), (1, 95, second - 95, true)]);
    }
}

#[test]
fn who_was_let_through_may_wait_for_a_processor_before_it_goes_on() {
    for (sleeps_again, waited) in [(true, (1, 105, 4905, true)), (false, (1, 105, 1025, false))] {
        let mut scene = kept();
        commit(&mut scene, EARLY, [0, 6, 20]);
        commit(&mut scene, LATE, [30, 36, 50]);
        scene.out(90, EARLY, 1);
        commit(&mut scene, LEADER, [100, 110, 1110]);
        scene.out(105, LATE, 1);
        wakes(&mut scene, 1120, LEADER, EARLY);
        scene.add(1130, LEADER, Happening::Wakes { thread: LATE });
        scene.woken(1131, LATE);
        scene.back(3500, LATE);
        if sleeps_again {
            // Another one is at work meanwhile.
            scene.out(3520, LATE, 1);
            commit(&mut scene, EARLY, [1140, 1150, 5000]);
            wakes(&mut scene, 5010, EARLY, LATE);
        } else {
            commit(&mut scene, LATE, [3510, 3520, 4000]);
        }
        assert_eq!(awaited(scene, 6000), [(0, 90, 1030, true), waited]);
    }
}

#[test]
fn who_gets_a_processor_after_another_sync_has_shared_that_unless_it_syncs_itself() {
    for (syncs, waited) in [(false, (1, 105, 1895, true)), (true, (1, 105, 1025, false))] {
        let mut scene = kept();
        commit(&mut scene, EARLY, [0, 6, 20]);
        commit(&mut scene, LATE, [30, 36, 50]);
        scene.out(90, EARLY, 1);
        commit(&mut scene, LEADER, [100, 110, 1110]);
        scene.out(105, LATE, 1);
        wakes(&mut scene, 1120, LEADER, EARLY);
        scene.add(1130, LEADER, Happening::Wakes { thread: LATE });
        scene.woken(1131, LATE);
        commit(&mut scene, EARLY, [1140, 1150, 2000]);
        scene.back(2500, LATE);
        if syncs {
            commit(&mut scene, LATE, [2510, 2520, 2900]);
        } else {
            call(&mut scene, [2600, 2610], LATE, Call::Pread, [DIRECT, 0, 4096, 0], 4096);
        }
        assert_eq!(awaited(scene, 3000), [(0, 90, 1030, true), waited]);
    }
}

#[test]
fn waits_are_kept_also_where_threads_that_follow_each_other_share_lanes() {
    let mut scene = kept();
    commit(&mut scene, EARLY, [0, 6, 20]);
    scene.out(90, EARLY, 1);
    commit(&mut scene, LEADER, [100, 110, 1110]);
    wakes(&mut scene, 1120, LEADER, EARLY);
    // Many follow each other, and the first of them comes while it waits.
    for round in 0..1500_u64 {
        let at = 200 + 10 * round;
        call(&mut scene, [at, at + 8], MANY + round as u32, Call::Pread, [DIRECT, 0, 4096, 0], 4096);
    }
    let captured = scene.captured(20_000);
    let [wait] = captured.awaited.as_slice() else { panic!("{:?}", captured.awaited) };
    assert_eq!((wait.at_ns, wait.took_ns, wait.shared), (us(90), us(1030), true));
    let within = wait.at_ns..wait.at_ns + wait.took_ns;
    let in_its_lane = captured.operations.iter().filter(|one| one.lane == wait.lane);
    assert!(in_its_lane.map(|one| one.at_ns).all(|at_ns| !within.contains(&at_ns)));
    assert_eq!(captured.lanes, 3);
}

#[test]
fn a_descriptor_by_which_files_are_written_is_looked_at_when_it_may_be_another() {
    let mut scene = kept();
    let key = (PROCESS, DIRECT as u32);
    let closes = Happening::Closes { fd: DIRECT as u32 };
    commit(&mut scene, THREAD, [0, 6, 20]);
    scene.add(30, THREAD + 1, closes.clone());
    scene.reach(35, false);
    scene.known.files.get_mut(&key).unwrap().inode = 7;
    commit(&mut scene, THREAD, [40, 46, 60]);
    // Before it is looked at again, it is gone: what it was is as good as any.
    scene.add(70, THREAD, closes);
    scene.reach(75, false);
    let mut file = scene.known.files.remove(&key).unwrap();
    commit(&mut scene, THREAD, [80, 86, 100]);
    // In a pause nobody sees that it is closed.
    scene.end_slice(200);
    file.inode = 8;
    scene.known.files.insert(key, file);
    scene.begin_slice(1000);
    commit(&mut scene, THREAD, [1040, 1046, 1060]);
    let captured = scene.captured(1200);
    let files: Vec<u32> = captured.operations.iter().map(|one| one.file).collect();
    assert_eq!(files, [0, 0, 1, 1, 1, 1, 2, 2]);
}

#[test]
fn other_wake_ups_are_no_waits_for_a_sync() {
    let mut scene = kept();
    commit(&mut scene, EARLY, [0, 6, 20]);
    // Long after a sync, after a sleep, and by somebody who has not synced.
    scene.out(30, EARLY, 1);
    commit(&mut scene, LATE, [40, 50, 60]);
    wakes(&mut scene, 200, LATE, EARLY);
    scene.out(290, EARLY, 1);
    commit(&mut scene, LATE, [310, 315, 330]);
    scene.out(331, LATE, 1);
    scene.woken(335, LATE);
    scene.back(336, LATE);
    wakes(&mut scene, 345, LATE, EARLY);
    scene.out(400, EARLY, 1);
    wakes(&mut scene, 410, THREAD + 3, EARLY);
    // A thread that is in a call.
    scene.began(500, EARLY, Call::Fdatasync, [DIRECT, 0, 0, 0]);
    scene.out(501, EARLY, 2);
    commit(&mut scene, LEADER, [510, 520, 600]);
    wakes(&mut scene, 601, LEADER, EARLY);
    scene.ended(700, EARLY, Call::Fdatasync, 0);
    // Who was let through, and syncs only later, did not wait for its turn.
    commit(&mut scene, LEADER, [1160, 1166, 1170]);
    scene.out(1165, EARLY, 1);
    wakes(&mut scene, 1171, LEADER, EARLY);
    commit(&mut scene, EARLY, [3000, 3006, 3010]);
    assert_eq!(awaited(scene, 4000), []);
}

#[test]
fn a_wait_that_began_before_its_slice_counts_where_it_ends() {
    let mut scene = kept();
    call(&mut scene, [10, 20], THREAD + 1, Call::Pwrite, [DIRECT, 0, 4096, 4096], 4096);
    assert_eq!(scene.end_slice(50), 0);
    scene.begin_slice(100);
    call(&mut scene, [110, 1110], THREAD, Call::Fdatasync, [DIRECT, 0, 0, 0], 0);
    // It went to sleep while nothing was traced.
    scene.add(1111, THREAD, Happening::Wakes { thread: THREAD + 1 });
    // A longer slice cuts less of such waits.
    assert_eq!(scene.end_slice(2000), us(1011));
    let awaited = scene.captured(2000).awaited;
    assert_eq!(
        awaited.iter().map(|one| (one.slice, one.at_ns, one.took_ns, one.shared)).collect::<Vec<_>>(),
        [(1, 0, us(1011), true)]
    );
}
