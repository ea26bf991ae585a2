//! Checks the path of fitted devices against its closed form.

use std::collections::BTreeMap;

use halfpower_model::{Fitted, FittedPath, MemberLayout, Moment, Operation, PathModel, Submission};
use halfpower_spec::{Bytes, Cache, Direction, Pattern};

const TEXT: &str = "about = 'x'
[device]
name = 'x'
measured_mib = 1024
processors = 4
[shared]
read_mbps = 900
[path.random-direct-read]
fixed_us = 80
us_per_kib = 2
side_by_side = 4.4
ceiling_mbps = 1000
ceiling_iops = 40000
charged_us = 3
wait_us = 5
[path.random-direct-write]
fixed_us = 20
us_per_kib = 1
";

const REQUESTS: u32 = 40_000;

fn fitted(changes: &[(&str, &str)]) -> Fitted {
    let changes: BTreeMap<String, String> =
        changes.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Fitted::with_constants(TEXT, &changes).unwrap()
}

fn layout(devices: u32, depth: u32) -> MemberLayout {
    MemberLayout {
        devices,
        chunk: None,
        bytes: 1 << 30,
        pattern: Pattern::Random,
        cache: Cache::Device,
        depth,
        threads: 1,
    }
}

/// MB/s with `depth` requests outstanding, the slots spread over the devices in turn, after the first quarter.
fn simulated(path: &mut FittedPath, layout: MemberLayout, operation: Operation, bs: u32) -> f64 {
    let request = |token: u32| {
        let offset = u64::from(token % layout.devices) * layout.bytes;
        Submission { token, operation, offset, length: bs }
    };
    (0..layout.depth).for_each(|token| path.submit(Moment::default(), request(token)));
    let mut began = Moment::default();
    let mut now = Moment::default();
    for number in 0..REQUESTS {
        let done = path.pop().unwrap();
        assert!(done.at >= now && done.bytes == bs);
        now = done.at;
        if number == REQUESTS / 4 {
            began = now;
        }
        path.submit(now, request(done.token));
    }
    let counted = f64::from(REQUESTS - 1 - REQUESTS / 4) * f64::from(bs);
    counted / ((now.ps() - began.ps()) as f64 / 1e6)
}

#[test]
fn what_is_simulated_is_the_closed_form() {
    let fitted = fitted(&[]);
    for devices in [1, 2, 4] {
        for depth in [1, 2, 8, 32] {
            for kib in [4, 64, 1024] {
                for (operation, rw) in [(Operation::Read, Direction::Read), (Operation::Write, Direction::Write)] {
                    let bs = Bytes(kib * 1024);
                    let way = (Pattern::Random, Cache::Device, rw);
                    let expected = fitted.throughput(way, bs, depth, devices).unwrap().mbps();
                    let layout = layout(devices, depth * devices);
                    let mut path = FittedPath::new(&fitted, layout);
                    let found = simulated(&mut path, layout, operation, bs.0 as u32);
                    let off = found / expected - 1.0;
                    assert!(off.abs() < 0.02, "{rw}, {bs}, {depth} deep, {devices}: {found}, not {expected}");
                }
            }
        }
    }
}

#[test]
fn a_stripe_splits_requests_among_devices_and_waits_for_all() {
    let alone = [("path.random-direct-read.charged_us", "0"), ("path.random-direct-read.wait_us", "0")];
    let layout = MemberLayout { chunk: Some(64 << 10), ..layout(4, 1) };
    let time_us = |fitted: &Fitted, offset: u64, length: u32| {
        let mut path = FittedPath::new(fitted, layout);
        assert_eq!(path.bytes(), 4 << 30);
        path.submit(Moment::default(), Submission { token: 0, operation: Operation::Read, offset, length });
        let done = path.pop().unwrap();
        assert_eq!((done.token, done.bytes), (0, length));
        assert!(path.pop().is_none());
        done.at.ps() as f64 / 1e6
    };
    // 80 us plus 2 us a KiB, for the part on the busiest device: its chunks form one transfer.
    let wide = fitted(&[&alone[..], &[("shared.read_mbps", "1e6")]].concat());
    for (from_kib, kib, most_kib) in [(0, 64, 64), (32, 64, 32), (0, 256, 64), (32, 256, 64), (0, 1024, 256)] {
        let found = time_us(&wide, from_kib << 10, kib << 10);
        let expected = 80.0 + 2.0 * f64::from(most_kib);
        assert!((found - expected).abs() < 1.5, "{kib} KiB from {from_kib} on: {found}, not {expected}");
    }
    // Three of the four wait for the shared limit: 64 KiB each at 900 MB/s.
    let found = time_us(&fitted(&alone), 0, 256 << 10);
    assert!((found - 208.0 - 3.0 * 65_536.0 / 900.0).abs() < 0.1, "{found}");
}

#[test]
fn a_flush_waits_for_all_and_processor_time_adds_up() {
    let fitted = fitted(&[("path.random-direct-read.unseen_us", "2")]);
    let mut path = FittedPath::new(&fitted, layout(1, 2));
    let of = |token, operation, length| Submission { token, operation, offset: 0, length };
    path.submit(Moment::default(), of(0, Operation::Read, 4096));
    path.submit(Moment::default(), of(1, Operation::Read, 4096));
    path.submit(Moment::default(), of(2, Operation::Flush, 0));
    let tokens: Vec<u32> = std::iter::from_fn(|| path.pop()).map(|done| done.token).collect();
    assert_eq!(tokens, [0, 1, 2]);
    // 3 us a request, plus 5 us for a wait that both share.
    let spent = path.processor_time();
    assert_eq!((spent.charged_ns, spent.unseen_ns), (11_000, 4_000));
}

#[test]
fn requests_of_several_paths_share_the_devices() {
    let fitted = fitted(&[
        ("path.random-direct-read.charged_us", "0"),
        ("path.random-direct-read.wait_us", "0"),
        ("path.random-direct-read.side_by_side", "1"),
    ]);
    let mut path = FittedPath::new(&fitted, layout(1, 2));
    let of = |token| Submission { token, operation: Operation::Read, offset: 0, length: 4096 };
    // One at a time: 80 us plus 2 us a KiB each; a path that the study lacks takes no time.
    path.submit_by(Moment::default(), of(0), Pattern::Random, Cache::Device);
    path.submit_by(Moment::default(), of(1), Pattern::Random, Cache::Device);
    path.submit_by(Moment::default(), of(2), Pattern::Random, Cache::None);
    let done: Vec<(u32, u64)> =
        std::iter::from_fn(|| path.pop()).map(|done| (done.token, done.at.ps() / 1_000_000)).collect();
    assert_eq!(done, [(2, 0), (0, 88), (1, 176)]);
}

/// When single requests are done in microseconds, each submitted at its time in microseconds.
fn done_us(path: &mut FittedPath, requests: &[(u64, Operation)]) -> Vec<u64> {
    let submit = |(at_us, operation): &(u64, Operation)| {
        let request = Submission { token: 0, operation: *operation, offset: 0, length: 4096 };
        path.submit(Moment::from_ps(at_us * 1_000_000), request);
        path.pop().unwrap().at.ps() / 1_000_000
    };
    requests.iter().map(submit).collect()
}

#[test]
fn a_limit_of_rate_is_paid_by_what_comes_too_soon_alone() {
    let limited = |more: &[(&str, &str)]| {
        let free = [
            ("path.random-direct-read.charged_us", "0"),
            ("path.random-direct-read.wait_us", "0"),
            ("path.random-direct-read.fixed_us", "100"),
            ("path.random-direct-read.us_per_kib", "0"),
            ("path.random-direct-read.ceiling_iops", "1000"),
        ];
        FittedPath::new(&fitted(&[&free[..], more].concat()), layout(1, 1))
    };
    let read = |at_us| (at_us, Operation::Read);
    // The second comes 600 us after the first was done, and one after a long rest loses nothing and gains nothing.
    let even = done_us(&mut limited(&[]), &[read(0), read(700), read(10_000), read(10_100)]);
    assert_eq!(even, [1000, 2000, 10_100, 11_100]);
    // Three in a slice of 3 ms, at once; what the slice leaves is lost.
    let slices = [("path.random-direct-read.slice_us", "3000")];
    let reads: Vec<(u64, Operation)> = [0, 100, 200, 3000, 9000, 9100, 9200, 9300].map(read).to_vec();
    assert_eq!(done_us(&mut limited(&slices), &reads), [100, 200, 3000, 3100, 9100, 9200, 9300, 12_000]);
}
