//! Checks the shapes of the curves with several requests or several disks active at once.

use halfpower_model::Array;
use halfpower_model::reproduction::{Load, LoadOrder, run};

use crate::machines::{FIRST, Machine, SIZES_KIB, flat, machine, near, rising};

const DEPTHS: [u32; 5] = [1, 2, 3, 4, 8];
/// The file of 1998 for buffered random requests: the study of 2000 names none.
const FILE: u64 = 100_000_000;

/// Index of a size in a curve.
fn at(kib: u32) -> usize {
    SIZES_KIB.iter().position(|size| *size == kib).expect("a size that is measured")
}

/// Rates at one size, by depth.
fn by_depth(machine: &Machine, write: bool, kib: u32) -> Vec<f64> {
    DEPTHS.iter().map(|depth| machine.mbps(write, kib, *depth)).collect()
}

fn dynamic(name: &str) -> Machine {
    machine(name).with(|setting| setting.dynamic = true)
}

/// Random requests of 8 KB a second, over a file of `file_bytes` or, with 0, the whole disk.
fn random(machine: &Machine, write: bool, depth: u32, file_bytes: u64) -> f64 {
    let mut stack = machine.system.path(&machine.setting, 1).unwrap();
    let separate_disks = if machine.setting.disks > 1 { machine.setting.disks } else { 0 };
    let load = Load { order: LoadOrder::Random, write, bytes: 8192, depth, separate_disks, file_bytes };
    run(&mut stack, &load, 1000, 4000, 1).iops()
}

/// Riedel Fig. 3: writes into the disk's cache look like reads, and reach the rate of the medium at 8 KB on the newer
/// disk, at 64 KB on the older one.
#[test]
fn nt4_write_back_reaches_its_limit_at_8_kib_on_the_newer_disk_and_at_64_on_the_older() {
    let newer = machine("nt4-ultrawide").writes(1);
    let older = machine("nt4-fastwide").writes(1);
    assert!(newer[FIRST] < 0.6 * newer[9] && flat(&newer[at(8)..], 0.01), "{newer:?}");
    assert!(older[at(32)] < 0.9 * older[9] && flat(&older[at(64)..], 0.01), "{older:?}");
    let reads = machine("nt4-ultrawide").reads(1);
    assert!(newer[at(8)..].iter().zip(&reads[at(8)..]).all(|(write, read)| near(*write, *read)), "{newer:?} {reads:?}");
}

/// Riedel Fig. 6: 3-deep writes reach half power at 16 KB (ours are 5% short, see the page), 8-deep ones at 8 KB; from
/// 16 KB on, three at a time nearly reach the rate with write cache.
#[test]
fn nt4_half_power_of_write_through_takes_three_requests_of_16_kib_or_eight_of_8() {
    let machine = || machine("nt4-fastwide");
    let back = machine().writes(1);
    let half = machine().reads(1)[9] / 2.0;
    let three = machine().through().writes(3);
    let eight = machine().through().writes(8);
    assert!(eight[at(8)] > half && eight[at(4)] < 0.9 * half, "{eight:?}");
    assert!(three[at(16)] > 0.94 * half && three[at(8)] < 0.7 * half, "{three:?}");
    let shares: Vec<f64> = three.iter().zip(&back).map(|(through, back)| through / back).collect();
    assert!(shares[at(16)..].iter().all(|share| (0.75..1.2).contains(share)) && shares[FIRST] < 0.7, "{shares:?}");
}

/// Chung Fig. 7: at a depth of three or more, writes of 32 KB are as fast as with write cache; at a depth of two they
/// are not, and smaller ones are not at three.
#[test]
fn three_writes_of_32_kib_at_a_time_are_as_good_as_the_write_cache_and_two_are_not() {
    for name in ["nt4sp6-ultrawide", "win2k-ultrawide"] {
        let back = machine(name).writes(1);
        let through = machine(name).through();
        for kib in [32, 64] {
            let rates = by_depth(&through, true, kib);
            assert!(rates[2..].iter().all(|rate| near(*rate, back[at(kib)])), "{name}, {kib} KiB: {rates:?} {back:?}");
            assert!(rates[1] > 1.3 * rates[0] && rates[1] < 0.75 * rates[2], "{name}, {kib} KiB: {rates:?}");
        }
        let three = through.writes(3);
        assert!(
            three[..at(32)].iter().zip(&back).all(|(three, back)| *three < 0.75 * back),
            "{name}: {three:?} {back:?}"
        );
    }
}

/// Riedel section 4: three of the newer disks fill half of their bus with writes of 64 KB and not with smaller ones,
/// however many are outstanding.
#[test]
fn three_newer_disks_half_fill_their_bus_with_writes_of_64_kib() {
    let stripe = machine("nt4-ultrawide").disks(3, Array::SoftwareStripe).through();
    let best = |kib| by_depth(&stripe, true, kib).into_iter().fold(0.0, f64::max);
    let half = stripe.system.bus.mbps / 2.0;
    let rates = [16, 32, 64].map(best);
    assert!(rates[1] < 0.95 * half && rates[2] > half, "{rates:?}");
}

/// Riedel Fig. 6, lower part: over four disks on one bus, depth helps small reads too, and large ones fill the bus.
#[test]
fn depth_helps_small_reads_of_four_disks_and_large_ones_fill_the_bus() {
    let stripe = machine("nt4-fastwide").disks(4, Array::SoftwareStripe);
    for kib in [4, 8] {
        let rates = by_depth(&stripe, false, kib);
        assert!(rates[1..].iter().all(|rate| *rate > 1.15 * rates[0]), "{kib} KiB: {rates:?}");
    }
    let one = machine("nt4-fastwide").mbps(false, 8, 8);
    assert!(near(machine("nt4-fastwide").mbps(false, 8, 1), one), "one disk gains nothing");
    let aligned = stripe.with(|setting| setting.aligned = true);
    assert!(flat(&[64, 128, 256].map(|kib| aligned.mbps(false, kib, 8)), 0.02));
    assert!(near(aligned.mbps(false, 64, 8), 16.0));
}

/// Riedel Fig. 13: while the bus has room, misaligned files lose nothing. Once it is full, the second command of each
/// request costs throughput. With one request at a time, both pieces of it must be waited for: 15 to 20%.
#[test]
fn misalignment_costs_more_once_the_bus_is_full() {
    let gain = |name: &str, disks: u32, depth: u32| {
        let stripe = || machine(name).disks(disks, Array::SoftwareStripe);
        stripe().with(|setting| setting.aligned = true).mbps(false, 64, depth) / stripe().mbps(false, 64, depth) - 1.0
    };
    for (name, filling) in [("nt4-fastwide", 3), ("nt4-ultrawide", 4)] {
        for depth in DEPTHS {
            let gains = [filling - 1, filling].map(|disks| gain(name, disks, depth));
            assert!(gains[0].abs() < 0.01 && gains[1] > 0.03, "{name}, {depth} deep: {gains:?}");
        }
    }
    let alone = [3, 4].map(|disks| gain("nt4-fastwide", disks, 1));
    assert!(alone.iter().all(|gain| (0.15..0.21).contains(gain)), "{alone:?}");
}

/// Chung Fig. 9: on every drive but one, reads deeper than one lose nothing. (On the old hardware theirs lost 66%,
/// which the model leaves out, see the page.)
#[test]
fn reads_deeper_than_one_lose_nothing() {
    for name in ["win2k-ultrawide", "win2k-atlas10k", "win2k-fireball"] {
        let one = machine(name).reads(1);
        for depth in &DEPTHS[1..] {
            let deep = machine(name).reads(*depth);
            assert!(deep.iter().zip(&one).all(|(deep, one)| *deep > 0.99 * one), "{name}: {one:?} {deep:?}");
        }
    }
}

/// Chung Fig. 10 and 15: dynamic volumes lose a little with 2 KB requests and nothing with larger ones, and cost more
/// the smaller the request. (Theirs lose 8% and 10%, ours less, see the page.)
#[test]
fn dynamic_volumes_lose_a_little_at_2_kib_and_nothing_above() {
    for (name, least) in [("win2k-ultrawide", 0.02), ("win2k-atlas10k", 0.05)] {
        let lost = |write: bool| -> Vec<f64> {
            let curve = |machine: Machine| if write { machine.writes(1) } else { machine.reads(1) };
            curve(machine(name))
                .iter()
                .zip(curve(dynamic(name)))
                .map(|(basic, dynamic)| 1.0 - dynamic / basic)
                .collect()
        };
        let reads = lost(false);
        let writes = lost(true);
        assert!((least..0.12).contains(&reads[FIRST]), "{name}: {reads:?}");
        assert!(reads[1..].iter().chain(&writes[1..]).all(|lost| lost.abs() < 0.01), "{name}: {reads:?} {writes:?}");
    }
    let us = |machine: Machine, kib: u32| machine.outcome(LoadOrder::Sequential, false, kib, 1).us_per_request();
    let dearer = [2, 64].map(|kib| us(dynamic("win2k-ultrawide"), kib) / us(machine("win2k-ultrawide"), kib) - 1.0);
    assert!((0.05..0.25).contains(&dearer[0]) && dearer[1] < dearer[0] / 2.0, "{dearer:?}");
}

/// Chung Fig. 11: the file system's cache gives twice as many reads as unbuffered access, and about as many writes;
/// both kinds of volume are equal; disks add up.
#[test]
fn buffered_random_reads_are_twice_the_straight_ones_and_disks_add_up() {
    let straight = machine("win2k-atlas10k");
    let buffered = machine("win2k-atlas10k").buffered();
    let alone = random(&straight, false, 1, 0);
    let reads = random(&buffered, false, 1, FILE) / alone;
    assert!((1.9..2.2).contains(&reads), "{reads}");
    // The gain is not from sorting: the file is small.
    assert!(near(random(&straight, false, 1, FILE), random(&buffered, false, 1, FILE)));
    let writes = random(&buffered, true, 1, FILE) / alone;
    assert!((0.9..1.1).contains(&writes), "{writes}");
    assert!(near(random(&dynamic("win2k-atlas10k"), false, 1, 0), alone));
    for disks in 2..=4 {
        let each = random(&machine("win2k-atlas10k").disks(disks, Array::Separate), false, 1, 0);
        assert!(near(each, alone * f64::from(disks)), "{disks}: {each}");
    }
}

/// Chung Fig. 20: the Fireball's reads rise gradually beyond a depth of two, to about 100 a second at 32; depth does
/// not affect its writes, which wait in its cache anyway.
#[test]
fn fireball_random_reads_rise_gradually_to_the_rate_of_its_writes() {
    let fireball = machine("win2k-3ware5400");
    let rates = |write| -> Vec<f64> { [1, 2, 4, 8, 16, 32].map(|depth| fireball.random(write, depth)).to_vec() };
    let reads = rates(false);
    let writes = rates(true);
    assert!(near(reads[1], reads[0]) && rising(&reads[1..]) && near(reads[5], 100.0), "{reads:?}");
    assert!(near(writes[0], 92.0) && flat(&writes, 0.01), "{writes:?}");
}

/// Chung Table 10: the Fireball makes 15 accesses to a megabyte a second. What is written lies in the drive's buffer in
/// parts, which go to the medium in their order, without a turn lost between them.
#[test]
fn a_megabyte_anywhere_is_written_in_one_go_as_it_is_read() {
    let fireball = machine("win2k-3ware5400");
    let rate = |write| {
        let mut stack = fireball.system.path(&fireball.setting, 1).unwrap();
        let order = LoadOrder::Random;
        let load = Load { order, write, bytes: 1 << 20, depth: 1, separate_disks: 0, file_bytes: 1 << 30 };
        run(&mut stack, &load, 50, 400, 1).iops()
    };
    let [reads, writes] = [false, true].map(rate);
    assert!(near(reads, 15.0) && writes > 0.9 * reads && writes < reads, "{reads} {writes}");
}

/// Chung Fig. 29 and 36 to 38: a stripe made by a card is slower with small requests one at a time; a network path is
/// best at a depth of two; writes over the wire slow down at the same sizes as local ones.
#[test]
fn a_network_path_is_at_its_best_two_deep_and_its_large_writes_fall_over_the_wire_too() {
    for name in ["win2k-mapped", "win2k-unc"] {
        for write in [false, true] {
            let rates = by_depth(&machine(name), write, 16);
            assert!(rates[1] > 1.15 * rates[0] && rates[4] < 1.1 * rates[1], "{name}: {rates:?}");
        }
    }
    let gigabit = machine("win2k-gigabit").disks(3, Array::SoftwareStripe).writes(4);
    assert!(rising(&gigabit[..=at(16)]) && gigabit[at(32)] < 0.25 * gigabit[at(16)], "{gigabit:?}");
    assert!(
        gigabit[at(64)..].iter().all(|rate| *rate > gigabit[at(32)] && *rate < 0.5 * gigabit[at(16)]),
        "{gigabit:?}"
    );
    let card = machine("win2k-3ware5400").disks(2, Array::HardwareStripe).reads(1);
    assert!(card[at(32)] < 0.95 * card[at(64)] && rising(&card[..at(16)]), "{card:?}");
}
