//! Checks the shapes of the processor cost curves, and of parallel disks and machines.

use halfpower_model::Array;
use halfpower_model::reproduction::{Load, LoadOrder, Outcome, run};

use crate::machines::{FIRST, Machine, SIZES_KIB, flat, machine, near};

/// Milliseconds of processor time a megabyte of 10^6 bytes.
fn ms_per_mb(outcome: &Outcome) -> f64 {
    outcome.processor.total * 1e9 / (outcome.ios as f64 * f64::from(outcome.bytes))
}

/// The same at every size, one request deep.
fn costs(machine: &Machine, write: bool) -> Vec<f64> {
    SIZES_KIB.iter().map(|kib| ms_per_mb(&machine.outcome(LoadOrder::Sequential, write, *kib, 1))).collect()
}

fn falling(curve: &[f64]) -> bool {
    curve.windows(2).all(|pair| pair[1] < pair[0])
}

#[test]
fn nt4_unbuffered_requests_cost_alike_whichever_way_they_go_and_wherever() {
    // The study counted what its process was charged.
    let charged = |machine: &Machine, write| -> Vec<f64> {
        let outcome = |kib: &u32| machine.outcome(LoadOrder::Sequential, write, *kib, 1);
        let cost = |outcome: Outcome| outcome.processor.charged * 1e9 / (outcome.ios as f64 * f64::from(outcome.bytes));
        SIZES_KIB.iter().map(outcome).map(cost).collect()
    };
    let new = machine("nt4-ultrawide");
    let old = machine("nt4-fastwide");
    let reads = charged(&new, false);
    assert!(falling(&reads), "{reads:?}");
    for (what, other) in [("writes", charged(&new, true)), ("the older disk", charged(&old, false))] {
        assert!(reads.iter().zip(&other).all(|(one, other)| near(*other, *one)), "{what}: {other:?}, reads {reads:?}");
    }
    // A request up to 64 KiB costs the same time; above that, each piece has its own cost.
    let us = |kib: u32| new.outcome(LoadOrder::Sequential, false, kib, 1).us_per_request();
    assert!(us(64) < 1.1 * us(2) && us(256) > 1.1 * us(64), "{} {} {}", us(2), us(64), us(256));
    // Small reads load the processor more than small write-through requests only because they are faster.
    let busy = |write| {
        let outcome = machine("nt4-ultrawide").through().outcome(LoadOrder::Sequential, write, 4, 1);
        outcome.processor.total / outcome.seconds
    };
    assert!(busy(false) > 2.0 * busy(true), "{} {}", busy(false), busy(true));
}

#[test]
fn buffered_cost_is_level_but_for_2_kib_writes() {
    let atlas = machine("win2k-atlas10k").buffered();
    let reads = costs(&atlas, false);
    let writes = costs(&atlas, true);
    assert!(flat(&reads[3..], 0.15), "{reads:?}");
    assert!(writes[FIRST] > 2.0 * writes[3], "2 KiB writes read a page each: {writes:?}");
    assert!(writes.iter().zip(&reads).all(|(write, read)| write > read), "{writes:?} {reads:?}");
    // A multiple of the cost of an unbuffered request.
    let straight = costs(&machine("win2k-atlas10k"), false);
    assert!(reads[9] > 8.0 * straight[9], "{reads:?} {straight:?}");
    let old = machine("nt4sp6-ultrawide").buffered();
    let reads = costs(&old, false);
    let writes = costs(&old, true);
    assert!(flat(&reads[3..], 0.15) && writes[5] > reads[5] * 0.99, "{reads:?} {writes:?}");
}

#[test]
fn dynamic_volumes_cost_a_little_more_where_requests_are_small() {
    let basic = costs(&machine("win2k-atlas10k"), false);
    let dynamic = costs(&machine("win2k-atlas10k").with(|setting| setting.dynamic = true), false);
    let more: Vec<f64> = dynamic.iter().zip(&basic).map(|(dynamic, basic)| dynamic / basic - 1.0).collect();
    assert!((0.1..0.25).contains(&more[FIRST]) && more[9].abs() < 0.1, "{more:?}");
    assert!(more.windows(2).all(|pair| pair[1] <= pair[0] + 0.01), "they converge: {more:?}");
}

#[test]
fn random_requests_cost_the_same_on_one_disk_and_four_and_more_through_the_cache() {
    let cost = |disks: u32, buffered: bool, write: bool| {
        let array = if disks == 1 { Array::Separate } else { Array::SoftwareStripe };
        let machine = machine("win2k-atlas10k").disks(disks, array).with(|setting| setting.buffered = buffered);
        let mut stack = machine.system.path(&machine.setting, 1).unwrap();
        let load =
            Load { order: LoadOrder::Random, write, bytes: 8192, depth: 4, separate_disks: 0, file_bytes: 100_000_000 };
        ms_per_mb(&run(&mut stack, &load, 500, 4000, 1))
    };
    assert!(near(cost(4, false, false), cost(1, false, false)));
    assert!(cost(1, true, false) > 2.0 * cost(1, false, false), "buffered reads more than twice");
    assert!(cost(1, true, true) > 3.5 * cost(1, false, true), "buffered writes about four times");
}

#[test]
fn buffered_random_reads_gain_nothing_from_depth() {
    let machine = machine("win2k-atlas10k").buffered();
    let rate = |depth| {
        let mut stack = machine.system.path(&machine.setting, 1).unwrap();
        let load = Load {
            order: LoadOrder::Random,
            write: false,
            bytes: 8192,
            depth,
            separate_disks: 0,
            file_bytes: 100_000_000,
        };
        run(&mut stack, &load, 500, 4000, 1).iops()
    };
    let buffered: Vec<f64> = [1, 4, 16].iter().map(|depth| rate(*depth)).collect();
    assert!(flat(&buffered, 0.03), "{buffered:?}");
}

#[test]
fn two_atlas_double_one_above_4_kib_three_deep_and_small_requests_need_depth() {
    let one = machine("win2k-atlas10k");
    let two = machine("win2k-atlas10k").disks(2, Array::SoftwareStripe);
    for kib in [8, 16, 64, 256] {
        let gain = two.mbps(false, kib, 3) / one.mbps(false, kib, 3);
        assert!((1.9..2.05).contains(&gain), "{kib} KiB: {gain}");
    }
    assert!(two.mbps(false, 2, 1) < 1.3 * one.mbps(false, 2, 1));
}

#[test]
fn fireballs_each_for_itself_add_up_and_a_stripe_of_them_stays_below() {
    let fireball = machine("win2k-3ware5400");
    let each = |disks: u32, write: bool| {
        let machine = machine("win2k-3ware5400").disks(disks, Array::Separate);
        let mut stack = machine.system.path(&machine.setting, 1).unwrap();
        let load =
            Load { order: LoadOrder::Random, write, bytes: 8192, depth: 1, separate_disks: disks, file_bytes: 0 };
        run(&mut stack, &load, 500, 4000, 1).iops()
    };
    for write in [false, true] {
        assert!(
            near(each(4, write), 4.0 * fireball.random(write, 1)),
            "{} {}",
            each(4, write),
            fireball.random(write, 1)
        );
    }
    let stripe = machine("win2k-3ware5400").disks(4, Array::HardwareStripe).random(false, 4);
    assert!(stripe < 0.9 * each(4, false), "{stripe} {}", each(4, false));
}

#[test]
fn windows_2000_equals_nt4_and_basic_volumes_equal_dynamic_ones() {
    let nt4 = machine("nt4sp6-ultrawide");
    let win2k = machine("win2k-ultrawide");
    let dynamic = machine("win2k-ultrawide").with(|setting| setting.dynamic = true);
    for write in [false, true] {
        let curve = |machine: &Machine| if write { machine.writes(2) } else { machine.reads(2) };
        let old = curve(&nt4);
        let new = curve(&win2k);
        let dynamic = curve(&dynamic);
        assert!(old.iter().zip(&new).all(|(old, new)| near(*old, *new)), "{old:?} {new:?}");
        assert!(new.iter().zip(&dynamic).all(|(new, dynamic)| near(*new, *dynamic)), "{new:?} {dynamic:?}");
    }
}

#[test]
fn ide_runs_at_four_fifths_of_scsi_at_a_like_cost() {
    let scsi = machine("win2k-atlas10k").buffered();
    let ide = machine("win2k-3ware5400").buffered();
    let share = ide.mbps(false, 64, 1) / scsi.mbps(false, 64, 1);
    assert!((0.7..0.9).contains(&share), "{share}");
    assert!(ide.mbps(true, 2, 1) < 0.5 * ide.mbps(true, 4, 1), "2 KiB writes stand out");
    let of = |name: &str| costs(&machine(name), false);
    assert!(of("win2k-atlas10k").iter().zip(of("win2k-3ware5400")).all(|(scsi, ide)| (ide / scsi - 1.0).abs() < 0.2));
}

#[test]
fn network_paths_cost_many_times_a_local_one_and_unc_the_less_of_the_two() {
    let local = machine("win2k-atlas10k");
    let unc = machine("win2k-unc");
    let mapped = machine("win2k-mapped");
    let cost = |machine: &Machine, kib| {
        let outcome = machine.outcome(LoadOrder::Sequential, true, kib, 1);
        (outcome.processor.total + outcome.client.total) * 1e9 / (outcome.ios as f64 * f64::from(outcome.bytes))
    };
    assert!(cost(&unc, 2) < 0.9 * cost(&mapped, 2) && cost(&unc, 2) > 7.0 * cost(&local, 2));
    assert!((cost(&unc, 256) / cost(&mapped, 256) - 1.0).abs() < 0.1, "{} {}", cost(&unc, 256), cost(&mapped, 256));
}

#[test]
fn over_gigabit_writes_give_less_than_half_of_reads() {
    let gigabit = machine("win2k-gigabit").disks(3, Array::SoftwareStripe);
    let best = |curve: Vec<f64>| curve.into_iter().fold(0.0, f64::max);
    let reads = best(gigabit.reads(4));
    let writes = best(gigabit.writes(4));
    assert!(near(reads, 37.5) || (37.0..41.0).contains(&reads), "{reads}");
    assert!(writes < 0.5 * reads, "{writes} of {reads}");
}
