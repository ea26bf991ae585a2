//! Checks what can be tried on machines of known shape, and that it is switched and put back there.

use halfpower_doctor::{Candidate, Place, Switchable, TRIES, candidates, diagnose, tried_as};
use halfpower_os::{HeldSetting, Setting};

use crate::machines::SHAPES;
use crate::parts::usual;
use crate::tree::Tree;

fn laid_out(name: &str, faulty: bool) -> (Tree, Place) {
    let shape = SHAPES.iter().find(|shape| shape.name == name).expect("a shape of that name");
    let tree = if shape.is_guest { Tree::guest() } else { Tree::bare_metal() };
    usual(&tree);
    let target = (shape.build)(&tree, faulty);
    let place = Place::of(&tree.root(), &target);
    (tree, place)
}

fn of(place: &Place, name: &str) -> Vec<Candidate> {
    candidates(tried_as(name).expect("a setting of that name"), place)
}

/// Device and value of each.
fn values(place: &Place, name: &str) -> Vec<String> {
    of(place, name).iter().map(|candidate| format!("{} {}", candidate.subject, candidate.to)).collect()
}

#[test]
fn other_values_than_the_present_one_are_tried() {
    let (_tree, laptop) = laid_out("laptop with NVMe", true);
    assert_eq!(values(&laptop, "scheduler"), ["nvme0n1 none"]);
    assert_eq!(values(&laptop, "read-ahead"), ["nvme0n1 128", "nvme0n1 4096"]);
    assert_eq!(values(&laptop, "wbt"), ["nvme0n1 0"]);
    assert_eq!(values(&laptop, "rq_affinity"), ["nvme0n1 0", "nvme0n1 2"]);
    assert_eq!(values(&laptop, "nomerges"), ["nvme0n1 2"]);
    assert_eq!(values(&laptop, "nr_requests"), ["nvme0n1 64", "nvme0n1 256"]);
    assert_eq!(values(&laptop, "max_sectors_kb"), ["nvme0n1 128"]);
    assert_eq!(
        (values(&laptop, "iostats"), values(&laptop, "add_random")),
        (vec!["nvme0n1 0".into()], vec!["nvme0n1 1".into()])
    );
    for none in ["command-queueing", "write-cache", "loop-buffered", "io.max"] {
        assert!(of(&laptop, none).is_empty(), "{none}");
    }
    let (_tree, ssd) = laid_out("SATA SSD on AHCI", false);
    assert_eq!(values(&ssd, "scheduler"), ["sda none", "sda kyber", "sda bfq"]);
    assert_eq!(values(&ssd, "ncq"), ["sda 1"]);
}

#[test]
fn a_write_cache_is_only_ever_switched_off_and_a_zoned_disk_keeps_its_scheduler() {
    let (_tree, on) = laid_out("SATA SSD on AHCI", false);
    let cache = of(&on, "write-cache");
    assert_eq!(cache.len(), 1);
    assert_eq!((&cache[0].switch, cache[0].to.as_str()), (&Switchable::WriteCache("sda".to_string()), "write through"));
    assert!(cache[0].change().starts_with("echo 'write through' > /sys/class/block/sda/device/scsi_disk/"));
    let (_tree, off) = laid_out("SATA SSD on AHCI", true);
    assert!(of(&off, "write-cache").is_empty());
    let (_tree, array) = laid_out("multipath over Fibre Channel", false);
    assert!(of(&array, "write-cache").is_empty(), "an array's is not switched");
    for faulty in [false, true] {
        let (_tree, zoned) = laid_out("zoned disk", faulty);
        assert!(of(&zoned, "scheduler").is_empty());
    }
}

#[test]
fn a_limit_of_a_control_group_is_tried_by_name_alone() {
    let (_tree, container) = laid_out("container with limits", true);
    let limits = of(&container, "cgroup-io-limit");
    assert_eq!(limits.len(), 1);
    assert_eq!((limits[0].subject.as_str(), limits[0].shown.as_str()), ("/pod/box", "/sys/fs/cgroup/pod/box/io.max"));
    assert_eq!(
        limits[0].change(),
        "echo '259:0 rbps=max wbps=max riops=max wiops=max' > /sys/fs/cgroup/pod/box/io.max"
    );
    assert!(tried_as("io.max").is_some_and(|row| row.by_name_only));
    let (_tree, healthy) = laid_out("container with limits", false);
    assert!(of(&healthy, "cgroup-io-limit").is_empty());
}

#[test]
fn the_change_of_a_finding_that_may_be_tried_is_among_what_is_tried() {
    let mut seen = 0;
    for shape in SHAPES {
        let (_tree, place) = laid_out(shape.name, true);
        for check in diagnose(&place).checks {
            let Some(row) = TRIES.iter().find(|row| row.code == check.code) else { continue };
            let changes: Vec<String> = candidates(row, &place).iter().map(Candidate::change).collect();
            for finding in check.findings.iter().filter(|finding| finding.may_try) {
                let change = finding.change.as_ref().expect("what may be tried has a command");
                assert!(changes.contains(change), "{}: {change} is not among {changes:?}", shape.name);
                seen += 1;
            }
        }
    }
    assert!(seen > 8, "{seen} findings of all machines can be tried");
}

#[test]
fn everything_that_is_tried_is_put_back() {
    for shape in SHAPES {
        let (_tree, place) = laid_out(shape.name, true);
        let notes = tempfile::tempdir().unwrap();
        for candidate in TRIES.iter().flat_map(|row| candidates(row, &place)) {
            let Switchable::Setting { setting, followers } = candidate.switch.clone() else { continue };
            // The text of a laid-out file is replaced whole, and a loop device is no file.
            if !matches!(setting, Setting::File(_)) {
                continue;
            }
            let Ok(before) = setting.read() else { continue };
            let device = candidate.device.as_deref();
            let held = HeldSetting::take_in(Some(notes.path()), "setting", setting.clone(), followers, device).unwrap();
            held.switch(&candidate.to).unwrap();
            assert_eq!(setting.read().unwrap(), candidate.to, "{candidate:?}");
            drop(held);
            assert_eq!(setting.read().unwrap(), before, "{candidate:?}");
        }
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
    }
}
