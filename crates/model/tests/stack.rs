//! Checks that a stack keeps the contract of a path, with any parts and any setting.

use std::collections::HashSet;

use halfpower_model::{
    Allocation, Array, Completed, Moment, Operation, PathModel, Setting, Stack, Submission, System, systems,
};

fn system(name: &str) -> System {
    let text = systems().iter().find(|system| system.name == name).expect("a shipped system").text;
    System::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every setting that a system supports.
fn settings(system: &System) -> Vec<Setting> {
    let mut settings = Vec::new();
    for buffered in [false, true] {
        for write_cache in [false, true] {
            for allocation in [Allocation::Existing, Allocation::Growing, Allocation::Zeroing] {
                for (array, disks) in [
                    (Array::Separate, 1),
                    (Array::Separate, 3),
                    (Array::SoftwareStripe, 3),
                    (Array::HardwareStripe, 2),
                    (Array::Mirror, 2),
                ] {
                    let setting = Setting { buffered, write_cache, allocation, array, disks, ..Setting::default() };
                    if system.path(&setting, 1).is_ok() {
                        settings.push(setting);
                    }
                }
            }
        }
    }
    settings
}

const REQUESTS: u64 = 150;

/// Reads of a file that start again at its beginning when they reach its end.
const DEEP_READS: u64 = 9;

/// A seeded stream of requests that jumps, wraps and mixes operations.
fn request(token: u32, number: u64, span: u64, kind: u64) -> Submission {
    if kind == DEEP_READS {
        return Submission { token, operation: Operation::Read, offset: number * 4096 % (1 << 18), length: 4096 };
    }
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let length: u32 = [2048, 4096, 8192, 65_536, 131_072, 1 << 20, 3000][(mixed % 7) as usize];
    let length = if kind.is_multiple_of(2) { 4096 } else { length };
    let sequential = number * 4096 % (1 << 20);
    let offset = if kind.is_multiple_of(3) { sequential } else { mixed % (span - u64::from(length)) / 512 * 512 };
    let operation = if kind % 4 < 2 && mixed.is_multiple_of(3) { Operation::Write } else { Operation::Read };
    Submission { token, operation, offset, length }
}

fn drive(stack: &mut Stack, depth: u32, count: u64, kind: u64) -> Vec<Completed> {
    let span = stack.bytes().min(1 << 25);
    let mut number = 0;
    let mut left = Vec::new();
    for token in 0..depth {
        stack.submit(Moment::default(), request(token, number, span, kind));
        number += 1;
    }
    while let Some(completed) = stack.pop() {
        left.push(completed);
        if number < count {
            stack.submit(completed.at, request(completed.token, number, span, kind));
            number += 1;
        }
    }
    left
}

#[test]
fn every_request_leaves_once_in_order_of_time_and_the_same_on_every_run() {
    for shipped in systems() {
        let system = system(shipped.name);
        for setting in settings(&system) {
            for (kind, depth) in [(0, 1), (1, 7), (3, 4), (4, 2), (DEEP_READS, 32)] {
                let run = || drive(&mut system.path(&setting, 5).unwrap(), depth, REQUESTS, kind);
                let left = run();
                let context = format!("{}, {setting:?}, kind {kind}, depth {depth}", shipped.name);
                assert_eq!(left.len() as u64, REQUESTS, "{context}");
                assert!(left.windows(2).all(|pair| pair[0].at <= pair[1].at), "{context}");
                assert_eq!(left, run(), "{context}");
            }
        }
    }
}

/// Writes, then a flush; returns the completions and the stack as it was when the flush had left.
fn write_and_flush(name: &str, setting: &Setting, writes: impl Iterator<Item = (u64, u32)>) -> (Vec<Completed>, Stack) {
    let mut stack = system(name).path(setting, 1).unwrap();
    let mut submit = |token, operation, offset, length| {
        stack.submit(Moment::default(), Submission { token, operation, offset, length });
    };
    for (token, (offset, length)) in writes.enumerate() {
        submit(token as u32, Operation::Write, offset, length);
    }
    submit(99, Operation::Flush, 0, 0);
    let left = std::iter::from_fn(|| stack.pop()).collect();
    (left, stack)
}

#[test]
fn a_flush_leaves_after_all_that_was_written() {
    for shipped in systems() {
        for (buffered, write_cache) in [(false, false), (false, true), (true, false), (true, true)] {
            let setting = Setting { buffered, write_cache, ..Setting::default() };
            let (left, stack) = write_and_flush(shipped.name, &setting, (0..20).map(|token| (token * 8192, 8192)));
            let tokens: HashSet<u32> = left.iter().map(|completed| completed.token).collect();
            assert_eq!((left.len(), tokens.len()), (21, 21), "{}", shipped.name);
            assert_eq!(left[20].token, 99, "{}", shipped.name);
            let written = stack.observed().written_bytes;
            assert!(written >= 20 * 8192, "{}: {written} bytes were written before the flush left", shipped.name);
        }
    }
}

#[test]
fn a_flush_does_not_wait_for_reads_that_come_after_it() {
    for buffered in [false, true] {
        let setting = Setting { buffered, ..Setting::default() };
        let mut stack = system("win2k-atlas10k").path(&setting, 1).unwrap();
        let read = |token: u32, place: u64| Submission {
            token,
            operation: Operation::Read,
            offset: (place % 8) << 30,
            length: 8192,
        };
        let write = Submission { token: 0, operation: Operation::Write, offset: 0, length: 65_536 };
        let flush = Submission { token: 99, operation: Operation::Flush, offset: 0, length: 0 };
        for request in [write, read(1, 1), read(2, 2), flush] {
            stack.submit(Moment::default(), request);
        }
        let mut place = 2;
        // Each read is followed by another one at once.
        let left = (0..2_000).any(|_| {
            let completed = stack.pop().expect("reads are in flight");
            if matches!(completed.token, 1 | 2) {
                place += 1;
                stack.submit(completed.at, read(completed.token, place));
            }
            completed.token == flush.token
        });
        assert!(left, "buffered {buffered}: the flush never leaves");
    }
}

#[test]
fn writes_of_several_sizes_at_the_same_places_all_reach_the_disk() {
    let setting = Setting { buffered: true, ..Setting::default() };
    for places in [
        [(0, 65_536), (1 << 20, 4096), (0, 4096), (1 << 20, 65_536)],
        [(65_536, 4096), (0, 131_072), (1 << 20, 4096), (65_536, 8192)],
    ] {
        let (left, _) = write_and_flush("win2k-atlas10k", &setting, places.into_iter().cycle().take(80));
        assert_eq!((left.len(), left.last().map(|last| last.token)), (81, Some(99)), "{places:?}");
    }
}

#[test]
fn a_write_that_has_to_wait_for_room_gets_it() {
    let text = systems().iter().find(|system| system.name == "win2k-atlas10k").unwrap().text;
    let little = System::from_toml(&text.replace("dirty_kib = 8192", "dirty_kib = 64")).unwrap();
    let mut stack = little.path(&Setting { buffered: true, ..Setting::default() }, 1).unwrap();
    for token in 0..6 {
        let offset = u64::from(token) << 20;
        let length = if token == 5 { 1 << 20 } else { 49_152 };
        stack.submit(Moment::default(), Submission { token, operation: Operation::Write, offset, length });
    }
    assert_eq!(std::iter::from_fn(|| stack.pop()).count(), 6);
}

#[test]
fn a_flush_waits_for_the_medium_also_where_the_drive_acknowledges_early() {
    let flushed = |write_cache| {
        let setting = Setting { write_cache, ..Setting::default() };
        let (left, _) = write_and_flush("win2k-atlas10k", &setting, (0..8).map(|token| (token << 30, 8192)));
        (left[7].at.ps() as f64 / 1e9, left[8].at.ps() as f64 / 1e9)
    };
    // Eight places need eight seeks; the drive's buffer accepts them at once, and the medium has them as late as
    // without it.
    let through = flushed(false);
    let back = flushed(true);
    assert!(through.0 > 30.0 && back.0 < 5.0, "{through:?} ms {back:?} ms");
    assert!(back.1 > 30.0 && back.1 < 1.5 * through.1, "{through:?} ms {back:?} ms");
}

#[test]
fn scattered_writes_larger_than_a_unit_are_written_whole() {
    let setting = Setting { buffered: true, ..Setting::default() };
    let writes = (0..16).map(|token| ((token * 7 % 16) << 28, 300 << 10));
    let (_, stack) = write_and_flush("win2k-atlas10k", &setting, writes);
    assert_eq!(stack.observed().written_bytes, 16 * (300 << 10));
}

#[test]
fn a_path_is_carried_no_further_than_asked() {
    let mut stack = system("win2k-atlas10k").path(&Setting::default(), 1).unwrap();
    let read = |token, offset| Submission { token, operation: Operation::Read, offset, length: 4096 };
    stack.submit(Moment::default(), read(0, 1 << 30));
    let early = Moment::from_ps(1_000_000);
    assert_eq!(stack.next_by(early), None);
    stack.submit(early, read(1, 2 << 30));
    let first = stack.next_by(Moment::END).unwrap();
    assert_eq!(stack.pop().map(|completed| (completed.token, completed.at)), Some((0, first)));
    assert_eq!(stack.next_by(first), None);
    assert!(stack.next_completion().unwrap() > first);
    assert_eq!(stack.pop().unwrap().token, 1);
    assert_eq!((stack.pop(), stack.next_completion()), (None, None));
}

/// Twenty seconds of a stream (four reads of 64 KiB at a time) beside four random readers: the stream's MB/s, and the
/// time of each random read in ms.
fn stream_among_readers(patience_ms: f64) -> (f64, Vec<f64>) {
    const DEPTH: u32 = 4;
    let mut atlas = system("win2k-atlas10k");
    atlas.disk.patience_ms = patience_ms;
    let mut stack = atlas.path(&Setting::default(), 1).unwrap();
    let end = Moment::from_ps(20_000_000_000_000);
    let mut since = [Moment::default(); 2 * DEPTH as usize];
    let mut next = 0;
    let mut streamed = 0;
    let mut waits = Vec::new();
    let mut random = 1u64;
    let mut submit = |stack: &mut Stack, at: Moment, token: u32| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let length = if token < DEPTH { 65536 } else { 8192 };
        let offset = if token < DEPTH { next } else { (random >> 20) % stack.bytes() / 8192 * 8192 };
        next += if token < DEPTH { 65536 } else { 0 };
        stack.submit(at, Submission { token, operation: Operation::Read, offset, length });
    };
    (0..2 * DEPTH).for_each(|token| submit(&mut stack, Moment::default(), token));
    while let Some(Completed { token, bytes, at }) = stack.pop().filter(|completed| completed.at < end) {
        if token < DEPTH {
            streamed += u64::from(bytes);
        } else {
            waits.push((at.ps() - since[token as usize].ps()) as f64 / 1e9);
        }
        since[token as usize] = at;
        submit(&mut stack, at, token);
    }
    (streamed as f64 / 20e6, waits)
}

#[test]
fn a_stream_does_not_shut_random_readers_out_for_ever() {
    let (alone, shut_out) = stream_among_readers(1e9);
    assert!(near(alone, 23.7) && shut_out.len() <= 4, "{alone} MB/s, {shut_out:?}");
    let (stream, waits) = stream_among_readers(2400.0);
    // Each of the four waits for its turn, and then for the others that are due too. While the arm is away from the
    // stream, their next requests are as near as the stream's.
    let longest = waits.iter().copied().fold(0.0, f64::max);
    assert!((2400.0..2500.0).contains(&longest), "{waits:?}");
    let long = waits.iter().filter(|wait| **wait > 2000.0).count();
    assert!((28..=33).contains(&long) && waits.len() < 5 * long, "{waits:?}");
    assert!((0.9..0.99).contains(&(stream / alone)), "{stream} of {alone} MB/s");
    // Without patience the requests are served in order, so a stream of four among four gets the same number as the
    // others.
    let (stream, waits) = stream_among_readers(0.0);
    let reads = stream * 20e6 / 65536.0;
    assert!((0.9..1.1).contains(&(waits.len() as f64 / reads)), "{} and {reads}", waits.len());
}

/// With two processors a later request could leave the host before the first one, which must look up its place first;
/// the disk would then read ahead from the later one and never return.
#[test]
fn the_requests_of_a_stream_are_served_in_order_wherever_it_begins() {
    const MIB: u64 = 1 << 20;
    for start in [0, MIB, 5000 * MIB] {
        let mut stack = system("win2k-atlas10k").path(&Setting::default(), 1).unwrap();
        let read = |place: u64| {
            let token = (place % 4) as u32;
            let offset = start + place * MIB;
            Submission { token, operation: Operation::Read, offset, length: MIB as u32 }
        };
        (0..4).for_each(|place| stack.submit(Moment::default(), read(place)));
        for place in 0..60 {
            let completed = stack.pop().unwrap();
            assert_eq!(completed.token, (place % 4) as u32, "from {start} on, the request number {place}");
            stack.submit(completed.at, read(place + 4));
        }
    }
}

fn near(ours: f64, theirs: f64) -> bool {
    (ours / theirs - 1.0).abs() < 0.05
}

#[test]
fn what_lies_beyond_the_end_is_not_moved() {
    let mut stack = system("win2k-fireball").path(&Setting::default(), 1).unwrap();
    let offset = stack.bytes() - 1024;
    stack.submit(Moment::default(), Submission { token: 0, operation: Operation::Read, offset, length: 4096 });
    assert_eq!(stack.pop().unwrap().bytes, 1024);
}

#[test]
fn wrong_text_and_impossible_settings_are_refused_in_a_sentence() {
    let text = systems()[0].text;
    let refused = |text: &str| System::from_toml(text).unwrap_err().to_string();
    assert!(refused("about = 'nothing'").contains("missing field"));
    assert!(refused(&text.replace("rpm = 7200", "rpm = 0")).contains("disk.rpm is 0; it must be above 0"));
    assert!(refused(&text.replace("rpm = 7200", "revs = 7200")).contains("revs"));
    assert!(refused(&text.replace("issue_share = 0.6", "issue_share = 1.6")).contains("from 0 to 1"));
    let fireball = system("win2k-fireball");
    let mirror = Setting { array: Array::Mirror, disks: 2, ..Setting::default() };
    let error = fireball.path(&mirror, 1).unwrap_err().to_string();
    assert!(error.contains("the machine has no adapter that makes a mirror"), "{error}");
    let pio = Setting { pio: true, ..Setting::default() };
    assert!(system("win2k-atlas10k").path(&pio, 1).is_err());
}

#[test]
fn every_constant_that_would_stop_time_or_lie_is_refused_by_its_name() {
    let text = systems().iter().find(|system| system.name == "win2k-gigabit").unwrap().text;
    let with = |key: &str, value: &str| System::with_constants(text, &[(key.to_string(), value.to_string())].into());
    for (key, values) in [
        ("volume.mirror_turns_from_kib", ["0", "1099511627776"]),
        ("volume.software_off_kib", ["1e30", "-1"]),
        ("volume.hardware_off_kib", ["1e30", "nan"]),
        ("host.read.fixed_us", ["-100", "nan"]),
        ("host.dynamic_read.us_per_kib", ["-100", "inf"]),
        ("network.client_write.fixed_us", ["-1", "nan"]),
        ("network.server_write.us_per_kib", ["-100", "nan"]),
        ("cache.call_us", ["-1", "nan"]),
        ("cache.map_us", ["-1", "inf"]),
        ("host.lookup_us", ["-1", "nan"]),
        ("host.unseen_write_us", ["-1", "nan"]),
        ("host.instructions_per_us", ["0", "nan"]),
        ("adapter.rest_us", ["-1", "nan"]),
        ("network.wire_mbps", ["0", "-1"]),
        ("network.latency_us", ["-1", "nan"]),
        ("network.read_stall_ms", ["-1", "nan"]),
    ] {
        for value in values {
            let error = with(key, value).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("must be "), "{key} = {value}: {error}");
        }
    }
}

#[test]
fn each_shipped_system_says_what_it_is_in_a_line() {
    for shipped in systems() {
        assert_eq!(shipped.about(), system(shipped.name).about);
        assert!(shipped.about().len() > 20 && shipped.about().len() < 110, "{}", shipped.about());
    }
}

#[test]
fn numbers_of_parts_that_would_fill_the_memory_are_refused() {
    let keys = ["host.processors", "disk.bands", "disk.heads", "disk.write_segments", "network.client_processors"];
    let text = systems().iter().find(|system| system.name == "win2k-gigabit").unwrap().text;
    for key in keys {
        let with = |value: &str| System::with_constants(text, &[(key.to_string(), value.to_string())].into());
        assert!(with("2").is_ok(), "{key}");
        for value in ["0", "1000000000"] {
            let error = with(value).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("must be "), "{key} = {value}: {error}");
        }
    }
}
