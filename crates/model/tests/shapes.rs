//! Checks the shapes of the curves: where they level off, which sizes dip, where depth and disks stop helping.

use halfpower_model::reproduction::LoadOrder;
use halfpower_model::{Allocation, Array};

use crate::machines::{FIRST, Machine, SIZES_KIB, flat, machine, near, rising};

#[test]
fn nt4_sp3_buffered_reads_are_level_to_64_kib_and_half_above() {
    let curve = machine("nt4-ultrawide").buffered().reads(1);
    assert!(flat(&curve[..6], 0.02), "{curve:?}");
    assert!(curve[6..].iter().all(|rate| *rate < 0.55 * curve[5] && *rate > 0.4 * curve[5]), "{curve:?}");
    let repaired = machine("nt4sp6-ultrawide").buffered().reads(1);
    assert!(flat(&repaired, 0.02), "{repaired:?}");
}

#[test]
fn nt4_buffered_writes_are_level_from_4_kib_low_at_2_and_doubled_by_the_write_cache() {
    let through = machine("nt4-ultrawide").buffered().through().writes(1);
    let back = machine("nt4-ultrawide").buffered().writes(1);
    for curve in [&through, &back] {
        assert!(flat(&curve[1..], 0.05) && curve[FIRST] < 0.75 * curve[1], "{curve:?}");
    }
    assert!((1.9..2.3).contains(&(back[5] / through[5])), "{back:?} {through:?}");
}

#[test]
fn nt4_unbuffered_reads_reach_the_medium_early_and_stay_there() {
    let new = machine("nt4-ultrawide").reads(1);
    let old = machine("nt4-fastwide").reads(1);
    assert!(new[FIRST] < 0.9 * new[1] && flat(&new[1..], 0.01), "{new:?}");
    assert!(old[1] < 0.9 * old[2] && flat(&old[2..], 0.01), "{old:?}");
}

#[test]
fn nt4_write_through_climbs_all_the_way_and_is_halved_at_128_kib() {
    let machine = machine("nt4-ultrawide").through();
    let curve = machine.writes(1);
    assert!(rising(&curve), "{curve:?}");
    let half = machine.system.disk.outer_mbps / 2.0;
    assert!(curve[5] < half && curve[6] >= half, "{curve:?}");
}

#[test]
fn depth_helps_write_through_and_not_reads() {
    let fast_wide = machine("nt4-fastwide").through();
    let reads: Vec<f64> = [1, 2, 4, 8].iter().map(|depth| fast_wide.mbps(false, 8, *depth)).collect();
    let writes: Vec<f64> = [1, 2, 3, 4, 8].iter().map(|depth| fast_wide.mbps(true, 8, *depth)).collect();
    assert!(flat(&reads, 0.02) && rising(&writes), "{reads:?} {writes:?}");
    assert!((3.7..4.5).contains(&(writes[4] / writes[FIRST])), "{writes:?}");
    let later = machine("nt4sp6-ultrawide").through();
    // At 32 KB three are enough (Chung Fig. 7), so the fourth is of use below.
    let small: Vec<f64> = [1, 2, 3, 4, 8].iter().map(|depth| later.mbps(true, 16, *depth)).collect();
    assert!(rising(&small[..4]) && near(small[4], small[3]), "gains end at four deep: {small:?}");
}

#[test]
fn a_growing_file_takes_one_write_at_a_time() {
    let machine = machine("nt4-ultrawide").through().with(|setting| setting.allocation = Allocation::Growing);
    let depths: Vec<f64> = [1, 2, 4, 8].iter().map(|depth| machine.mbps(true, 64, *depth)).collect();
    assert!(flat(&depths, 0.02), "{depths:?}");
}

#[test]
fn aligned_stripes_beat_misaligned_ones() {
    let stripe = || machine("nt4-fastwide").disks(4, Array::SoftwareStripe);
    let aligned = stripe().with(|setting| setting.aligned = true).mbps(false, 64, 8);
    assert!(aligned > 1.05 * stripe().mbps(false, 64, 8));
}

#[test]
fn three_disks_fill_a_scsi_bus_and_nine_a_peripheral_bus() {
    let rate = |name: &str, disks: u32, buses: u32| {
        let array = if disks == 1 { Array::Separate } else { Array::SoftwareStripe };
        let machine = machine(name).disks(disks, array);
        machine.with(|setting| (setting.buses, setting.aligned) = (buses, true)).mbps(false, 64, 32)
    };
    let bus: Vec<f64> = (1..=5).map(|disks| rate("nt4-fastwide", disks, 1)).collect();
    assert!(near(bus[1], 2.0 * bus[0]) && bus[2] > 1.15 * bus[1] && bus[3] < 1.05 * bus[2], "{bus:?}");
    let pci: Vec<f64> = [3, 6, 9, 12].iter().map(|disks| rate("nt4-ultrawide", *disks, disks / 3)).collect();
    assert!(near(pci[1], 2.0 * pci[0]) && pci[2] > 1.3 * pci[1] && near(pci[3], pci[2]), "{pci:?}");
}

#[test]
fn sp6_and_windows_2000_run_2_kib_requests_at_disk_speed() {
    for name in ["nt4sp6-ultrawide", "win2k-ultrawide"] {
        assert!(flat(&machine(name).reads(1), 0.05) && flat(&machine(name).writes(1), 0.05), "{name}");
    }
}

#[test]
fn atlas_random_rate_is_the_same_at_one_and_two_deep_and_rises_after() {
    let machine = machine("win2k-atlas10k");
    let rates: Vec<f64> = [1, 2, 3, 4, 8, 16, 32].iter().map(|depth| machine.random(false, *depth)).collect();
    assert!(near(rates[1], rates[0]) && rising(&rates[1..]), "{rates:?}");
    let buffered = machine.with(|setting| setting.buffered = true);
    let depths: Vec<f64> = [1, 4, 16].iter().map(|depth| buffered.random(true, *depth)).collect();
    assert!(flat(&depths, 0.03), "the cache keeps one request outstanding: {depths:?}");
}

#[test]
fn atlas_buffered_runs_at_disk_speed_but_for_2_kib_writes_and_depth_is_of_no_use() {
    let machine = machine("win2k-atlas10k").buffered();
    let reads = machine.reads(1);
    let writes = machine.writes(1);
    assert!(flat(&reads, 0.02) && flat(&writes[1..], 0.02) && writes[FIRST] < 0.55 * writes[1], "{reads:?} {writes:?}");
    let deep = machine.writes(8);
    assert!(writes.iter().zip(&deep).all(|(one, eight)| near(*eight, *one)), "{writes:?} {deep:?}");
    let through = machine.through();
    assert!(flat(&through.writes(1)[1..], 0.05));
    assert!(through.mbps(true, 4, 1) < 0.5 * writes[1]);
}

#[test]
fn atlas_write_through_levels_off_at_64_kib_whatever_the_depth() {
    let machine = machine("win2k-atlas10k").through();
    let one = machine.writes(1);
    assert!(rising(&one[..6]) && flat(&one[5..], 0.1), "{one:?}");
    let deep = machine.writes(8);
    assert!(flat(&deep[5..], 0.02) && near(deep[9], one[9]), "{deep:?}");
}

#[test]
fn atlas_2_kib_reads_gain_from_the_second_request_and_none_after() {
    let machine = machine("win2k-atlas10k");
    let depths: Vec<f64> = [1, 2, 3, 4, 8].iter().map(|depth| machine.mbps(false, 2, *depth)).collect();
    assert!(depths[1] > 1.25 * depths[0] && flat(&depths[1..], 0.01), "{depths:?}");
    let writes: Vec<f64> = [1, 2, 4, 8].iter().map(|depth| machine.mbps(true, 64, *depth)).collect();
    assert!(flat(&writes, 0.01), "{writes:?}");
}

#[test]
fn three_to_four_atlas_fill_the_peripheral_bus_and_writes_stop_at_the_adapter() {
    let rate = |disks, write| machine("win2k-atlas10k").disks(disks, Array::SoftwareStripe).mbps(write, 64, 8);
    let reads: Vec<f64> = (2..=5).map(|disks| rate(disks, false)).collect();
    assert!(near(reads[1], 1.5 * reads[0]) && reads[2] < 1.25 * reads[1] && near(reads[3], reads[2]), "{reads:?}");
    assert!(near(rate(3, true), 50.0) && near(rate(4, true), 50.0));
}

#[test]
fn fireball_random_writes_are_sorted_in_the_drive_and_drives_add_up() {
    let machine = machine("win2k-3ware5400");
    assert!(near(machine.random(false, 2), machine.random(false, 1)));
    assert!(machine.random(true, 1) > 1.3 * machine.random(false, 1));
    let stripe = |array| machine_pair(array).random(false, 2);
    let striped = stripe(Array::HardwareStripe);
    let mirrored = stripe(Array::Mirror);
    let single = machine.random(false, 1);
    assert!(striped < 1.6 * single && mirrored > 1.75 * single, "{single} {striped} {mirrored}");
    let writes = machine_pair(Array::Mirror).random(true, 1) / machine.random(true, 1);
    assert!((0.85..1.02).contains(&writes), "{writes}");
}

fn machine_pair(array: Array) -> Machine {
    machine("win2k-3ware5400").disks(2, array)
}

#[test]
fn card_and_motherboard_differ_where_the_study_saw_it() {
    let card = machine("win2k-3ware5400");
    let reads = card.reads(1);
    let writes = card.writes(1);
    assert!(reads[2] < 0.95 * reads[9] && flat(&reads[3..], 0.05), "one-deep reads level off at 16 KiB: {reads:?}");
    assert!(writes[4] < 0.95 * writes[9] && flat(&writes[5..], 0.05), "one-deep writes at 64 KiB: {writes:?}");
    let two = card.reads(2);
    assert!(two[FIRST] < 0.7 * two[2] && flat(&two[2..], 0.05), "2 KiB reads dip on the card: {two:?}");
    let board = machine("win2k-fireball");
    assert!(flat(&board.reads(2), 0.05), "two-deep reads are at disk speed at all sizes");
    assert!(flat(&board.writes(1)[2..], 0.05), "one-deep writes are from 8 KiB on");
}

#[test]
fn two_fireballs_one_deep_differ_by_who_stripes() {
    let software = machine_pair(Array::SoftwareStripe);
    let hardware = machine_pair(Array::HardwareStripe);
    assert!(near(software.mbps(false, 64, 1), 20.0) && near(hardware.mbps(false, 64, 1), 30.0));
    assert!(software.mbps(false, 128, 1) > 1.4 * software.mbps(false, 64, 1), "above 64 KiB both drives are at work");
    assert!(near(software.mbps(false, 64, 8), hardware.mbps(false, 64, 8)));
    assert!(near(software.buffered().mbps(false, 8, 1), 20.0) && near(hardware.buffered().mbps(false, 8, 1), 30.0));
}

#[test]
fn the_card_stops_three_and_four_fireballs() {
    let rate = |disks, write| machine("win2k-3ware5400").disks(disks, Array::HardwareStripe).mbps(write, 64, 8);
    assert!(near(rate(3, true), 40.0) && near(rate(4, true), 40.0));
    assert!(rate(3, false) > 1.35 * rate(2, false) && rate(4, false) < 1.1 * rate(3, false));
}

#[test]
fn a_twin_store_reads_as_one_disk_until_256_kib_are_outstanding() {
    let single = machine("win2k-3ware5400");
    let twin = machine_pair(Array::Mirror);
    for (kib, depth) in [(8, 1), (8, 8), (64, 1), (64, 3)] {
        assert!(near(twin.mbps(false, kib, depth), single.mbps(false, kib, depth)), "{kib} KiB, {depth} deep");
    }
    assert!(twin.mbps(false, 256, 4) > 1.3 * single.mbps(false, 256, 4));
    let writes = twin.mbps(true, 64, 8) / single.mbps(true, 64, 8);
    assert!((0.85..=1.01).contains(&writes), "{writes}");
}

#[test]
fn writes_over_cifs_fall_at_32_kib_and_recover_to_a_quarter() {
    for name in ["win2k-unc", "win2k-mapped"] {
        let curve = machine(name).writes(2);
        assert!(rising(&curve[..4]) && curve[4] < 0.12 * curve[3], "{name}: {curve:?}");
        assert!(curve[5..].iter().all(|rate| (3.5..6.5).contains(rate)), "{name}: {curve:?}");
    }
    let unc = machine("win2k-unc").reads(2);
    let mapped = machine("win2k-mapped").reads(2);
    assert!(unc[5] < 0.1 * mapped[5] && unc[7] < unc[5], "{unc:?} {mapped:?}");
}

#[test]
fn cost_a_megabyte_falls_with_size_and_is_the_same_for_one_and_three_disks() {
    let cost = |machine: &Machine, kib: u32| {
        let outcome = machine.outcome(LoadOrder::Sequential, false, kib, 4);
        outcome.processor.total / (outcome.ios as f64 * f64::from(outcome.bytes))
    };
    let one = machine("win2k-atlas10k");
    let three = machine("win2k-atlas10k").disks(3, Array::SoftwareStripe);
    let costs: Vec<f64> = SIZES_KIB.iter().map(|kib| cost(&one, *kib)).collect();
    assert!(costs.windows(2).all(|pair| pair[1] < pair[0]), "{costs:?}");
    assert!(SIZES_KIB.iter().all(|kib| near(cost(&three, *kib), cost(&one, *kib))));
    let buffered = machine("win2k-atlas10k").buffered().outcome(LoadOrder::Sequential, false, 64, 1).processor;
    assert!(buffered.charged < 0.9 * buffered.total, "the reading ahead is charged to nobody: {buffered:?}");
}
