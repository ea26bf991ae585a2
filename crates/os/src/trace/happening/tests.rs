//! Tests what payloads of a real kernel's events are decoded to.

use super::*;

/// What all events begin with, as Linux 6.18 describes it.
const COMMON: &str = "format:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

const PREAD_ENTER: &str = "name: sys_enter_pread64\nID: 838\nformat:\n\
    \tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\
    \tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:char * buf;\toffset:24;\tsize:8;\tsigned:0;\n\
    \tfield:size_t count;\toffset:32;\tsize:8;\tsigned:0;\n\
    \tfield:loff_t pos;\toffset:40;\tsize:8;\tsigned:0;\n";
const PREAD_EXIT: &str = "name: sys_exit_pread64\nID: 837\nformat:\n\
    \tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\
    \tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n";
const CLOSE_ENTER: &str = "name: sys_enter_close\nID: 771\nformat:\n\
    \tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\
    \tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n";
const SYNC_ENTER: &str = "name: sys_enter_sync\nID: 1025\nformat:\n\
    \tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n";
const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
    \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
    \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
    \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n";
const WAKEUP: &str = "name: sched_wakeup\nID: 374\nformat:\n\
    \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";
const WAKING: &str = "name: sched_waking\nID: 375\nformat:\n\
    \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";
const RING_SUBMIT: &str = "name: io_uring_submit_req\nID: 2140\nformat:\n\
    \tfield:void * ctx;\toffset:8;\tsize:8;\tsigned:0;\n\
    \tfield:void * req;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:unsigned long long user_data;\toffset:24;\tsize:8;\tsigned:0;\n\
    \tfield:u8 opcode;\toffset:32;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned long long flags;\toffset:40;\tsize:8;\tsigned:0;\n\
    \tfield:bool sq_thread;\toffset:48;\tsize:1;\tsigned:0;\n\
    \tfield:__data_loc char[] op_str;\toffset:52;\tsize:4;\tsigned:0;\n";
const RING_FILE: &str = "name: io_uring_file_get\nID: 2147\nformat:\n\
    \tfield:void * ctx;\toffset:8;\tsize:8;\tsigned:0;\n\
    \tfield:void * req;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:u64 user_data;\toffset:24;\tsize:8;\tsigned:0;\n\
    \tfield:int fd;\toffset:32;\tsize:4;\tsigned:1;\n";
const RING_COMPLETE: &str = "name: io_uring_complete\nID: 2141\nformat:\n\
    \tfield:void * ctx;\toffset:8;\tsize:8;\tsigned:0;\n\
    \tfield:void * req;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:u64 user_data;\toffset:24;\tsize:8;\tsigned:0;\n\
    \tfield:int res;\toffset:32;\tsize:4;\tsigned:1;\n\
    \tfield:unsigned cflags;\toffset:36;\tsize:4;\tsigned:0;\n\
    \tfield:u64 extra1;\toffset:40;\tsize:8;\tsigned:0;\n\
    \tfield:u64 extra2;\toffset:48;\tsize:8;\tsigned:0;\n";
const BIO_QUEUE: &str = "name: block_bio_queue\nID: 2097\nformat:\n\
    \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
    \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
    \tfield:char rwbs[10];\toffset:28;\tsize:10;\tsigned:0;\n\
    \tfield:char comm[16];\toffset:38;\tsize:16;\tsigned:0;\n";
const COMPLETE: &str = "name: block_rq_complete\nID: 2107\nformat:\n\
    \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
    \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
    \tfield:int error;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:unsigned short ioprio;\toffset:32;\tsize:2;\tsigned:0;\n\
    \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
    \tfield:__data_loc char[] cmd;\toffset:44;\tsize:4;\tsigned:0;\n";
const SPLIT: &str = "name: block_split\nID: 2092\nformat:\n\
    \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
    \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:sector_t new_sector;\toffset:24;\tsize:8;\tsigned:0;\n\
    \tfield:char rwbs[10];\toffset:32;\tsize:10;\tsigned:0;\n\
    \tfield:char comm[16];\toffset:42;\tsize:16;\tsigned:0;\n";
const EXT4_ENTER: &str = "name: ext4_sync_file_enter\nID: 1232\nformat:\n\
    \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
    \tfield:ino_t ino;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:ino_t parent;\toffset:24;\tsize:8;\tsigned:0;\n\
    \tfield:int datasync;\toffset:32;\tsize:4;\tsigned:1;\n";
const EXT4_EXIT: &str = "name: ext4_sync_file_exit\nID: 1231\nformat:\n\
    \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
    \tfield:ino_t ino;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:int ret;\toffset:24;\tsize:4;\tsigned:1;\n";
const COMMIT_LOGGING: &str = "name: jbd2_commit_logging\nID: 1282\nformat:\n\
    \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
    \tfield:char sync_commit;\toffset:12;\tsize:1;\tsigned:0;\n\
    \tfield:tid_t transaction;\toffset:16;\tsize:4;\tsigned:0;\n";
const COMMIT_END: &str = "name: jbd2_end_commit\nID: 1280\nformat:\n\
    \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
    \tfield:char sync_commit;\toffset:12;\tsize:1;\tsigned:0;\n\
    \tfield:tid_t transaction;\toffset:16;\tsize:4;\tsigned:0;\n\
    \tfield:tid_t head;\toffset:20;\tsize:4;\tsigned:0;\n";
const BALANCE: &str = "name: balance_dirty_pages\nID: 985\nformat:\n\
    \tfield:char bdi[32];\toffset:8;\tsize:32;\tsigned:0;\n\
    \tfield:unsigned long paused;\toffset:104;\tsize:8;\tsigned:0;\n\
    \tfield:long pause;\toffset:112;\tsize:8;\tsigned:1;\n\
    \tfield:unsigned long period;\toffset:120;\tsize:8;\tsigned:0;\n";
const READ_AHEAD: &str = "name: page_cache_ra_unbounded\nID: 619\nformat:\n\
    \tfield:unsigned long i_ino;\toffset:8;\tsize:8;\tsigned:0;\n\
    \tfield:dev_t s_dev;\toffset:16;\tsize:4;\tsigned:0;\n\
    \tfield:unsigned long index;\toffset:24;\tsize:8;\tsigned:0;\n\
    \tfield:unsigned long nr_to_read;\toffset:32;\tsize:8;\tsigned:0;\n\
    \tfield:unsigned long lookahead_size;\toffset:40;\tsize:8;\tsigned:0;\n";
const FAULT: &str = "name: mm_filemap_fault\nID: 597\nformat:\n\
    \tfield:unsigned long i_ino;\toffset:8;\tsize:8;\tsigned:0;\n\
    \tfield:dev_t s_dev;\toffset:16;\tsize:4;\tsigned:0;\n\
    \tfield:unsigned long index;\toffset:24;\tsize:8;\tsigned:0;\n";

const FORMATS: [&str; 20] = [
    PREAD_ENTER,
    PREAD_EXIT,
    CLOSE_ENTER,
    SYNC_ENTER,
    SWITCH,
    WAKEUP,
    WAKING,
    RING_SUBMIT,
    RING_FILE,
    RING_COMPLETE,
    BIO_QUEUE,
    COMPLETE,
    SPLIT,
    EXT4_ENTER,
    EXT4_EXIT,
    COMMIT_LOGGING,
    COMMIT_END,
    BALANCE,
    READ_AHEAD,
    FAULT,
];

/// The disk that the decoder knows, and its partition.
const DISK: u64 = 254 << 20;
const PARTITION: u64 = DISK | 1;
/// The partition as `stat` tells it.
const IN_STAT: u64 = (254 << 8) | 1;

fn whole(format: &str) -> String {
    format.replacen("format:\n", COMMON, 1)
}

fn decoder() -> SeenDecoder {
    let mut decoder = SeenDecoder::new(&[vec![7 << 20], vec![DISK, PARTITION]]);
    let formats = FORMATS.map(whole);
    let texts: Vec<&str> = formats.iter().map(String::as_str).collect();
    decoder.layouts.learn_all(seen_events(), &texts);
    decoder
}

/// A payload of thread 42 with these bytes at these offsets.
fn payload(id: u16, parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut payload = vec![0; 160];
    payload[..2].copy_from_slice(&id.to_ne_bytes());
    payload[4..8].copy_from_slice(&42u32.to_ne_bytes());
    for (offset, bytes) in parts {
        payload[*offset..*offset + bytes.len()].copy_from_slice(bytes);
    }
    payload
}

fn long(number: u64) -> [u8; 8] {
    number.to_ne_bytes()
}

fn int(number: u32) -> [u8; 4] {
    number.to_ne_bytes()
}

/// What a payload tells, whose common part must be right.
fn told(payload: &[u8]) -> Vec<Happening> {
    let seen: Vec<Seen> = decoder().decode(5, 1, payload).collect();
    for one in &seen {
        assert_eq!((one.at_ns, one.cpu, one.thread, one.in_interrupt), (5, 1, 42, false));
    }
    seen.into_iter().map(|seen| seen.what).collect()
}

#[test]
fn calls_are_told_with_their_arguments_and_results() {
    let enter = payload(838, &[(8, &int(17)), (16, &long(3)), (24, &long(9)), (32, &long(4096)), (40, &long(1 << 40))]);
    let args = [3, 9, 4096, 1 << 40, 0, 0];
    assert_eq!(told(&enter), [Happening::CallBegan { call: Call::Pread, args }]);
    let failed = payload(837, &[(8, &int(17)), (16, &long(-5i64 as u64))]);
    assert_eq!(told(&failed), [Happening::CallEnded { call: Call::Pread, result: -5 }]);
    assert_eq!(told(&payload(1025, &[(8, &int(162))])), [Happening::CallBegan { call: Call::Sync, args: [0; 6] }]);
    assert_eq!(told(&payload(771, &[(8, &int(3)), (16, &long(5))])), [Happening::Closes { fd: 5 }]);
}

#[test]
fn a_switch_tells_of_both_threads_and_of_none_that_idles() {
    let switch = |before: u32, state: u64, after: u32| {
        told(&payload(372, &[(24, &int(before)), (32, &long(state)), (56, &int(after))]))
    };
    let out = |thread, state| Happening::SwitchedOut { thread, state };
    let into = |thread| Happening::SwitchedIn { thread };
    assert_eq!(switch(7, 2, 8), [out(7, 2), into(8)]);
    assert_eq!(switch(7, 0x100, 0), [out(7, 0)], "it was displaced, and is still ready");
    assert_eq!(switch(0, 0, 8), [into(8)]);
    assert_eq!(told(&payload(374, &[(24, &int(8))])), [Happening::Woken { thread: 8 }]);
    assert_eq!(told(&payload(375, &[(24, &int(8))])), [Happening::Wakes { thread: 8 }]);
}

#[test]
fn entries_of_a_ring_are_told_from_their_beginning_to_their_end() {
    let began = payload(2140, &[(8, &long(77)), (16, &long(99)), (32, &[22])]);
    assert_eq!(told(&began), [Happening::RingBegan { request: 99, ring: 77, opcode: 22 }]);
    let file = payload(2147, &[(16, &long(99)), (32, &int(5))]);
    assert_eq!(told(&file), [Happening::RingFile { request: 99, fd: 5 }]);
    let ended = payload(2141, &[(16, &long(99)), (32, &int(-11i32 as u32))]);
    assert_eq!(told(&ended), [Happening::RingEnded { request: 99, result: -11 }]);
    assert!(told(&payload(2141, &[(32, &int(1))])).is_empty(), "a completion of no request");
}

#[test]
fn steps_in_the_block_layer_are_told_of_the_watched_disks_alone() {
    let queue = |device: u64| {
        let device = int(device as u32);
        payload(2097, &[(8, &device), (16, &long(1000)), (24, &int(8)), (28, b"WFS\0"), (38, b"jbd2/vda-8\0")])
    };
    let rwbs = Rwbs { writes: true, fua: true, sync: true, ..Rwbs::default() };
    let block = |step, rwbs, name| Happening::Block { step, disk: 1, sectors: 1000..1008, rwbs, name };
    assert_eq!(told(&queue(PARTITION)), [block(Step::Queued, rwbs, *b"jbd2/vda-8\0\0\0\0\0\0")]);
    assert!(told(&queue(8 << 20)).is_empty(), "another disk");
    let complete = payload(2107, &[(8, &int(DISK as u32)), (16, &long(1000)), (24, &int(8)), (34, b"RA\0")]);
    let rwbs = Rwbs { reads: true, ahead: true, ..Rwbs::default() };
    assert_eq!(told(&complete), [block(Step::Completed, rwbs, [0; 16])], "it has no name");
    let split = payload(2092, &[(8, &int(DISK as u32)), (16, &long(10)), (24, &long(14))]);
    assert_eq!(told(&split), [Happening::Split { disk: 1, from: 10, at: 14 }]);
    let mut in_interrupt = complete;
    in_interrupt[2] = 0x08;
    assert!(decoder().decode(5, 1, &in_interrupt).any(|seen| seen.in_interrupt));
}

#[test]
fn what_file_systems_do_is_told_with_the_device_as_stat_names_it() {
    assert_eq!(DeviceNumber::of(IN_STAT), DeviceNumber { major: 254, minor: 1 });
    let of_device = int(PARTITION as u32);
    let sync = payload(1232, &[(8, &of_device), (16, &long(12)), (24, &long(2)), (32, &int(1))]);
    assert_eq!(told(&sync), [Happening::SyncBegan { device: IN_STAT, inode: 12, data_only: true }]);
    let synced = payload(1231, &[(8, &of_device), (16, &long(12))]);
    assert_eq!(told(&synced), [Happening::SyncEnded { device: IN_STAT, inode: 12 }]);
    for (id, step) in [(1282, CommitStep::Logging), (1280, CommitStep::Ended)] {
        let commit = payload(id, &[(8, &of_device), (12, &[1]), (16, &int(555))]);
        assert_eq!(told(&commit), [Happening::Commit { device: IN_STAT, step, transaction: 555 }]);
    }
    let ahead = payload(619, &[(8, &long(12)), (16, &of_device), (32, &long(32))]);
    assert_eq!(told(&ahead), [Happening::ReadAhead { device: IN_STAT, inode: 12, pages: 32 }]);
    let fault = payload(597, &[(8, &long(12)), (16, &of_device)]);
    assert_eq!(told(&fault), [Happening::Fault { device: IN_STAT, inode: 12 }]);
    let paused = |pause: i64| told(&payload(985, &[(112, &long(pause as u64))]));
    assert_eq!(paused(8), [Happening::Throttled { pause_ms: 8 }]);
    assert_eq!((paused(0), paused(-3)), (Vec::new(), Vec::new()), "it did not wait");
}

#[test]
fn the_letters_of_a_request_are_read_as_the_kernel_writes_them() {
    let none = Rwbs::default();
    let reads = Rwbs { reads: true, ..none };
    let writes = Rwbs { writes: true, ..none };
    let cases = [
        ("R", reads),
        ("RA", Rwbs { ahead: true, ..reads }),
        ("RM", Rwbs { meta: true, ..reads }),
        ("RSM", Rwbs { sync: true, meta: true, ..reads }),
        ("W", writes),
        ("WS", Rwbs { sync: true, ..writes }),
        ("WFS", Rwbs { fua: true, sync: true, ..writes }),
        ("WSM", Rwbs { sync: true, meta: true, ..writes }),
        ("FF", Rwbs { flush: true, ..none }),
        ("FWS", Rwbs { flush: true, sync: true, ..writes }),
        ("FWFSM", Rwbs { flush: true, fua: true, sync: true, meta: true, ..writes }),
        ("D", Rwbs { discard: true, ..none }),
        ("DS", Rwbs { discard: true, sync: true, ..none }),
        ("DE", Rwbs { discard: true, ..none }),
        ("N", none),
        ("ZA", writes),
        ("ZRA", none),
        ("", none),
    ];
    for (letters, rwbs) in cases {
        assert_eq!(Rwbs::of_letters(letters.as_bytes()), rwbs, "{letters}");
        assert_eq!(Rwbs::of_letters(format!("{letters}\0WFAMS").as_bytes()), rwbs, "{letters} ends at NUL");
    }
}

#[test]
fn a_format_without_a_needed_field_is_not_learned_and_no_payload_makes_it_stumble() {
    let mut layouts = Layouts::default();
    assert!(!layouts.learn(SeenKind::RingBegan, &whole(RING_SUBMIT).replace(" req;", " request;")));
    assert!(layouts.learn(SeenKind::RingBegan, &whole(RING_SUBMIT)));
    let decoder = decoder();
    for id in [838, 837, 1025, 372, 374, 2140, 2147, 2141, 2097, 2107, 2092, 1232, 1231, 1282, 985, 619, 597] {
        for length in 0..160 {
            let strange = vec![0xff; length];
            let mut payload = payload(id, &[(8, &strange[..length.min(152)])]);
            payload.truncate(length);
            assert!(decoder.decode(0, 0, &payload).count() <= 2);
        }
    }
}

#[test]
fn each_event_is_named_once() {
    let names: Vec<&str> = seen_events().flat_map(WantedEvent::names).collect();
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), names.len());
    assert!(names.contains(&"sys_exit_sendfile64") && names.contains(&"io_uring_submit_sqe"));
}
