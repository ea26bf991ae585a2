//! Checks that runs on simulated machines give the results that their parts imply, in virtual time.

use std::sync::atomic::AtomicBool;

use halfpower_measure::{MeasureError, SimulatedTarget, TargetBackend, measure};
use halfpower_record::Record;
use halfpower_spec::{
    Affinity, Bytes, Cache, Direction, EngineName, Fadvise, Layout, Nanos, Pass, Region, Run, Rw, SimulatedSystem,
    Switch, VolumeLayout, Workload, WorkloadOptions,
};

fn system(name: &str, settings: &[(&str, &str)]) -> SimulatedSystem {
    let shipped = halfpower_model::systems().iter().find(|system| system.name == name).expect("a shipped system");
    let mut system = SimulatedSystem::new(name, shipped.text);
    settings.iter().for_each(|(key, value)| system.set(key, value).unwrap());
    system
}

fn backend(name: &str, settings: &[(&str, &str)]) -> SimulatedTarget {
    SimulatedTarget::system(&system(name, settings), None, None).unwrap()
}

fn run(backend: &mut SimulatedTarget, workload: Workload) -> Record {
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(5_000_000_000), seed: 1 };
    measure(backend, &run, &AtomicBool::new(false)).unwrap()
}

fn workload(rw: Rw, kib: u64, iodepth: u32) -> Workload {
    Workload { rw, bs: Bytes(kib << 10), iodepth, ..Workload::default() }
}

fn twisted(rw: Rw, kib: u64, iodepth: u32, options: WorkloadOptions) -> Workload {
    Workload { options, ..workload(rw, kib, iodepth) }
}

fn mbps(backend: &mut SimulatedTarget, workload: Workload) -> f64 {
    let record = run(backend, workload);
    assert_eq!((record.error_count(), record.short_transfers), (0, 0), "{workload}");
    record.mbps()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found}, expected {expected}");
}

#[test]
fn a_run_gives_what_the_model_gives_to_the_same_load() {
    use halfpower_model::reproduction::{Load, LoadOrder, run as closed_loop};
    let cases = [
        (workload(Rw::Read, 64, 2), LoadOrder::Sequential),
        (workload(Rw::Write, 8, 3), LoadOrder::Sequential),
        (workload(Rw::Randread, 8, 4), LoadOrder::Random),
        (Workload { cache: Cache::None, ..workload(Rw::Write, 64, 1) }, LoadOrder::Sequential),
        (Workload { cache: Cache::Both, ..workload(Rw::Read, 2, 1) }, LoadOrder::Sequential),
    ];
    for (workload, order) in cases {
        let setting = halfpower_model::Setting {
            buffered: !workload.cache.direct(),
            write_cache: workload.cache != Cache::None,
            ..halfpower_model::Setting::default()
        };
        let machine = halfpower_model::System::from_toml(&system("win2k-atlas10k", &[]).text).unwrap();
        let load = Load {
            order,
            write: workload.rw.writes(),
            bytes: workload.bs.0 as u32,
            depth: workload.iodepth,
            separate_disks: 0,
            file_bytes: 0,
        };
        let outcome = closed_loop(&mut machine.path(&setting, 1).unwrap(), &load, 400, 1500, 1);
        let record = run(&mut backend("win2k-atlas10k", &[]), workload);
        close(record.mbps(), outcome.mbps(), 0.06);
        let charged_us = record.cpu.us_per_io(record.cpu.charged_ns()).unwrap();
        let counted = outcome.processor.charged * 1e6 / outcome.ios as f64;
        close(charged_us, counted, 0.06);
    }
}

#[test]
fn regions_lie_on_bands_of_the_disk() {
    let mut backend = backend("win2k-atlas10k", &[]);
    let span = backend.span_bytes();
    let at = |share: f64| {
        let from = Bytes((span as f64 * share) as u64 / 512 * 512);
        let region = Some(Region { from, bytes: Bytes(128 << 20) });
        twisted(Rw::Read, 1024, 2, WorkloadOptions { region, ..WorkloadOptions::default() })
    };
    close(mbps(&mut backend, at(0.0)), 23.7, 0.02);
    close(mbps(&mut backend, at(0.99)), 16.0, 0.02);
}

#[test]
fn the_same_few_blocks_again_come_at_the_rate_of_what_is_before_the_disks() {
    let mut backend = backend("win2k-atlas10k", &[("disks", "4"), ("array", "each")]);
    let region = Some(Region { from: Bytes(0), bytes: Bytes(128 << 10) });
    let again = |kib| twisted(Rw::Read, kib, 2, WorkloadOptions { region, ..WorkloadOptions::default() });
    let plain = mbps(&mut backend, workload(Rw::Read, 64, 2));
    // The study gives 83.6 MB/s for requests of 64 KB from the drives' caches.
    close(mbps(&mut backend, again(64)), 83.6, 0.05);
    assert!(plain < 95.0);
    let mut alone = self::backend("win2k-atlas10k", &[]);
    assert!(mbps(&mut alone, again(64)) > 2.0 * mbps(&mut alone, workload(Rw::Read, 64, 2)));
}

#[test]
fn members_are_driven_each_as_a_stripe_or_as_a_mirror() {
    let mut backend = backend("win2k-3ware5400", &[("disks", "4"), ("array", "adapter-stripe")]);
    let mut random = |members, volume_layout| {
        let options = WorkloadOptions { members, volume_layout: Some(volume_layout), ..WorkloadOptions::default() };
        run(&mut backend, twisted(Rw::Randread, 8, if volume_layout == VolumeLayout::Each { 1 } else { 2 }, options))
            .iops()
    };
    let one = random(1, VolumeLayout::Each);
    close(random(4, VolumeLayout::Each), 4.0 * one, 0.05);
    // In half of all cases, two random requests on a stripe of two disks go to the same disk; a mirror can use both.
    let stripe = random(2, VolumeLayout::Stripe);
    let mirror = random(2, VolumeLayout::Mirror);
    assert!(stripe > 1.3 * one && stripe < 1.55 * one, "{one} {stripe}");
    assert!(mirror > 1.1 * stripe && mirror < 2.05 * one, "{one} {stripe} {mirror}");
    // Every disk is read at its own rate.
    let mut rate = |members| {
        let options =
            WorkloadOptions { members, volume_layout: Some(VolumeLayout::Each), ..WorkloadOptions::default() };
        mbps(&mut backend, twisted(Rw::Read, 64, 2, options))
    };
    let single = rate(1);
    close(rate(2), 2.0 * single, 0.05);
    assert!(rate(4) < 3.3 * single, "the card lets 58.9 MB/s through");
}

#[test]
fn each_thread_of_each_disk_moves_what_is_asked_for() {
    let moved = |array: &str, members, threads, io_size: &str| {
        let mut backend = backend("win2k-atlas10k", &[("disks", "2"), ("array", array)]);
        let region = Some(Region { from: Bytes(0), bytes: Bytes(1 << 20) });
        let options = WorkloadOptions { members, region, io_size: io_size.parse().ok(), ..WorkloadOptions::default() };
        run(&mut backend, Workload { threads, ..twisted(Rw::Read, 64, 1, options) }).bytes
    };
    assert_eq!(moved("each", 0, 1, "512KiB"), 1 << 20);
    assert_eq!(moved("each", 0, 2, "100%"), 4 << 20);
    assert_eq!(moved("each", 1, 1, "100%"), 1 << 20);
    assert_eq!(moved("stripe", 0, 2, "512KiB"), 1 << 20);
}

#[test]
fn readers_beside_a_workload_on_a_few_members_reach_these_alone() {
    let mut backend = backend("win2k-3ware5400", &[("disks", "4"), ("array", "adapter-stripe")]);
    let options = WorkloadOptions { members: 1, random_readers: 2, ..WorkloadOptions::default() };
    let record = run(&mut backend, twisted(Rw::Randread, 8, 1, options));
    assert_eq!((record.error_count(), record.short_transfers), (0, 0), "nothing is read beyond the one disk");
    assert_eq!(record.lanes[1].bytes, 8192 * record.lanes[1].ios);
}

#[test]
fn extending_a_file_takes_away_what_depth_gives() {
    let mut backend = SimulatedTarget::system(&system("win2k-atlas10k", &[]), None, Some(Switch::Off)).unwrap();
    let mut rate = |layout, iodepth| {
        mbps(&mut backend, twisted(Rw::Write, 64, iodepth, WorkloadOptions { layout, ..WorkloadOptions::default() }))
    };
    let shallow = rate(Layout::Written, 1);
    for layout in [Layout::New, Layout::Append, Layout::Truncated] {
        close(rate(layout, 8), shallow, 0.02);
    }
    assert!(rate(Layout::Written, 8) > 0.9 * shallow, "depth takes nothing away from a file that is there");
}

#[test]
fn the_caches_that_a_write_may_stay_in() {
    let mut backend = backend("win2k-atlas10k", &[]);
    let mut rate = |cache| mbps(&mut backend, Workload { cache, ..workload(Rw::Write, 4, 1) });
    let neither = rate(Cache::None);
    let device = rate(Cache::Device);
    let both = rate(Cache::Both);
    assert!(neither < 0.2 * device && both > 0.9 * device, "{neither} {device} {both}");
    let refused = backend.admits(&Workload { cache: Cache::Os, ..workload(Rw::Write, 4, 1) }).unwrap_err();
    assert!(refused.to_string().contains("--cache os"), "{refused}");
    assert!(backend.admits(&Workload { cache: Cache::Os, ..workload(Rw::Read, 4, 1) }).is_ok());
}

#[test]
fn requests_off_the_chunks_of_a_stripe_cost_more() {
    let mut aligned = backend("nt4-ultrawide", &[("disks", "4"), ("aligned", "on")]);
    // By default, files on this machine are not aligned to chunks.
    let mut habit = backend("nt4-ultrawide", &[("disks", "4")]);
    let reading = workload(Rw::Read, 64, 8);
    assert!(mbps(&mut habit, reading) < 0.97 * mbps(&mut aligned, reading));
}

#[test]
fn processors_and_reading_ahead_are_the_machines_own() {
    let buffered = |fadvise, affinity| Workload {
        cache: Cache::Both,
        ..twisted(Rw::Read, 8, 1, WorkloadOptions { fadvise, affinity, ..WorkloadOptions::default() })
    };
    // On a disk as fast as its bus, read-ahead matters: without it, copying waits for reading.
    let mut backend = backend("nt4-ultrawide", &[("disk.outer_mbps", "40"), ("disk.inner_mbps", "30")]);
    let ahead = mbps(&mut backend, buffered(Fadvise::Normal, Affinity::All));
    assert!(mbps(&mut backend, buffered(Fadvise::Random, Affinity::All)) < 0.9 * ahead);
    close(mbps(&mut backend, buffered(Fadvise::Normal, Affinity::One)), ahead, 0.01);
}

#[test]
fn a_file_whose_last_block_was_written_first_is_written_twice() {
    let mut backend = backend("win2k-atlas10k", &[]);
    let layout = |layout| twisted(Rw::Write, 64, 8, WorkloadOptions { layout, ..WorkloadOptions::default() });
    let written = mbps(&mut backend, layout(Layout::Written));
    close(mbps(&mut backend, layout(Layout::Append)), written, 0.02);
    // Each block is zeroed and then written: half the speed (Chung, Figure 3), less a little for seeking back.
    close(mbps(&mut backend, layout(Layout::LastFirst)), written / 2.0, 0.1);
    let elsewhere = Workload { rw: Rw::Randwrite, ..layout(Layout::LastFirst) };
    assert!(backend.admits(&elsewhere).unwrap_err().to_string().contains("--layout last-first"));
}

#[test]
fn what_no_part_can_do_is_refused_in_a_sentence() {
    let usual = WorkloadOptions::default();
    let backend = backend("win2k-atlas10k", &[("disks", "3")]);
    let cases = [
        ("--members", WorkloadOptions { members: 4, ..usual }),
        ("--volume-layout", WorkloadOptions { volume_layout: Some(VolumeLayout::Mirror), ..usual }),
        (
            "adapter that makes a mirror",
            WorkloadOptions { members: 2, volume_layout: Some(VolumeLayout::Mirror), ..usual },
        ),
        ("--affinity", WorkloadOptions { affinity: Affinity::Interrupt, ..usual }),
        ("--layout", WorkloadOptions { layout: Layout::Fallocated, ..usual }),
        (
            "add --members 1",
            WorkloadOptions { layout: Layout::LastFirst, volume_layout: Some(VolumeLayout::Each), ..usual },
        ),
        ("--verify", WorkloadOptions { verify: true, ..usual }),
        ("holds", WorkloadOptions { region: Some(Region { from: Bytes(1 << 50), bytes: Bytes(1 << 20) }), ..usual }),
    ];
    for (word, options) in cases {
        let refused = backend.admits(&twisted(Rw::Write, 4, 1, options)).unwrap_err().to_string();
        assert!(refused.contains(word) && !refused.contains('\n'), "{options}: {refused}");
    }
    let null = Workload { engine: EngineName::Null, ..Workload::default() };
    assert!(backend.admits(&null).unwrap_err().to_string().contains("--engine null"));
    let exceptions = Workload { bs: Bytes(1000), ..Workload::default() };
    assert!(matches!(backend.admits(&exceptions), Err(MeasureError::Unaligned { .. })));
}

#[test]
fn a_machine_that_cannot_be_is_refused_before_anything_is_measured() {
    let refused = |settings: &[(&str, &str)], size| {
        SimulatedTarget::system(&system("win2k-fireball", settings), size, None).err().expect("a refusal").to_string()
    };
    assert!(refused(&[("array", "mirror"), ("disks", "2")], None).contains("mirror"));
    assert!(refused(&[("array", "mirror"), ("disks", "3")], None).contains("mirror"));
    assert!(refused(&[("disk.wings", "2")], None).contains("wings"));
    assert!(refused(&[("wings.number", "2")], None).contains("wings.number"));
    assert!(refused(&[("disk.rpm", "0")], None).contains("disk.rpm is 0"));
    assert!(refused(&[], Some(Bytes(1 << 50))).contains("--size"));
    let pio = SimulatedTarget::system(&system("win2k-atlas10k", &[("pio", "on")]), None, None);
    assert!(pio.err().unwrap().to_string().contains("programmed input"));
}

#[test]
fn constants_can_be_other_than_the_text_says() {
    let turning = |rpm: &str| {
        let mut backend = backend("win2k-atlas10k", &[("disk.rpm", rpm)]);
        run(&mut backend, workload(Rw::Randread, 8, 1)).iops()
    };
    // The mean rotational delay is half a turn: 3 ms become 1.5 ms.
    let slow = turning("10000");
    let fast = turning("20000");
    close(1e3 / slow - 1e3 / fast, 1.5, 0.25);
}

#[test]
fn the_ladder_is_made_of_the_machines_parts() {
    let backend = backend("win2k-3ware5400", &[("disks", "4"), ("array", "adapter-stripe")]);
    let levels = &backend.environment().levels;
    let limit = |name: &str, direction: Option<Direction>| {
        let level = levels.iter().find(|level| level.name == name && level.direction == direction);
        let level = level.unwrap_or_else(|| panic!("{name} of {levels:?}"));
        (level.pap.map(|rate| rate.mbps()), level.attainable.map(|rate| rate.mbps()).unwrap())
    };
    assert_eq!(limit("PCI", None), (Some(133.0), 98.7));
    close(limit("3ware 3W-5400", Some(Direction::Read)).1, 58.9, 0.01);
    close(limit("3ware 3W-5400", Some(Direction::Write)).1, 40.0, 0.01);
    assert_eq!(limit("4 x Fireball lct08", Some(Direction::Read)).0, Some(128.0));
    // Fast-Wide SCSI carries 16 of 20 MB/s with several disks, as the study measured.
    let fast_wide = self::backend("nt4-fastwide", &[("disks", "4")]);
    let bus = fast_wide.environment().levels.iter().find(|level| level.name == "Fast-Wide SCSI").unwrap().clone();
    close(bus.attainable.unwrap().mbps(), 16.0, 0.02);
}

#[test]
fn over_a_network_the_application_pays_at_its_own_end() {
    let cost = |name, settings: &[(&str, &str)]| {
        let record = run(&mut backend(name, settings), workload(Rw::Read, 2, 4));
        (record.cpu.machine_busy_ns() as f64 / record.bytes as f64, record.mbps())
    };
    let local = cost("win2k-atlas10k", &[]);
    let mapped = cost("win2k-mapped", &[]);
    assert!(mapped.0 > 3.0 * local.0, "{mapped:?} {local:?}");
    assert!(cost("win2k-gigabit", &[("disks", "3")]).1 > 10.0);
}
