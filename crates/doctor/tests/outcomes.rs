//! Checks costs, commands and what is said of files that cannot be read.

use halfpower_doctor::{Place, diagnose};
use halfpower_record::{Basis, CheckFinding, CheckResult, CheckState, Cost, Diagnosis};

use crate::machines::SHAPES;
use crate::parts::usual;
use crate::tree::Tree;

fn of_shape(name: &str, change: impl Fn(&Tree)) -> Diagnosis {
    let shape = SHAPES.iter().find(|shape| shape.name == name).expect("a shape of that name");
    let tree = Tree::bare_metal();
    usual(&tree);
    let target = (shape.build)(&tree, true);
    change(&tree);
    diagnose(&Place::of(&tree.root(), &target))
}

fn check<'a>(seen: &'a Diagnosis, code: &str) -> &'a CheckResult {
    seen.checks.iter().find(|check| check.code == code).expect("a check of that name")
}

fn finding<'a>(seen: &'a Diagnosis, code: &str) -> &'a CheckFinding {
    &check(seen, code).findings[0]
}

/// Asserts a lost share, and whether it was computed here.
#[track_caller]
fn assert_share(finding: &CheckFinding, expected: (f64, f64), is_computed: bool) {
    let Cost::Share { least, most, basis, .. } = &finding.cost else { panic!("{finding:?} has no share") };
    assert!((least - expected.0).abs() < 0.005 && (most - expected.1).abs() < 0.005, "{finding:?}");
    assert_eq!(matches!(basis, Basis::Computed(_)), is_computed);
}

#[test]
fn costs_are_computed_from_what_was_read_or_published() {
    let laptop = of_shape("laptop with NVMe", |_| {});
    assert_share(finding(&laptop, "pcie-link"), (0.0, 0.5), true);
    assert_share(finding(&laptop, "iommu-strict"), (0.0, 0.83), false);
    assert_eq!(finding(&laptop, "pcie-power").cost, Cost::Unknown);
    let bfq = &finding(&laptop, "scheduler").cost;
    assert!(
        matches!(bfq, Cost::Ceiling { requests_per_s: Some(400_000.0), basis: Basis::Published(_), .. }),
        "{bfq:?}"
    );
    let array = of_shape("md RAID5 on NVMe", |_| {});
    assert_share(finding(&array, "md-degraded"), (0.5, 0.5), true);
    let hard_disk = of_shape("hard disk on AHCI", |_| {});
    assert_share(finding(&hard_disk, "sata-link"), (0.0, 0.5), true);
    assert_share(finding(&hard_disk, "governor"), (0.0, 0.75), true);
    assert_share(finding(&of_shape("USB disk", |_| {}), "usb-speed"), (0.0, 0.89), true);
    let container = of_shape("container with limits", |_| {});
    let limits = &check(&container, "cgroup-io-limit").findings;
    assert!(limits.iter().any(|it| matches!(it.cost, Cost::Ceiling { bytes_per_s: Some(25e6), .. })), "{limits:?}");
    assert!(limits.iter().any(|it| matches!(it.cost, Cost::Ceiling { requests_per_s: Some(500.0), .. })), "{limits:?}");
    assert_share(finding(&container, "cgroup-processors"), (0.0, 0.75), true);
}

#[test]
fn a_setting_has_the_command_there_and_back() {
    let laptop = of_shape("laptop with NVMe", |_| {});
    let scheduler = finding(&laptop, "scheduler");
    assert_eq!(scheduler.subject, "nvme0n1");
    assert_eq!(scheduler.change.as_deref(), Some("echo none > /sys/class/block/nvme0n1/queue/scheduler"));
    assert_eq!(scheduler.change_back.as_deref(), Some("echo bfq > /sys/class/block/nvme0n1/queue/scheduler"));
    assert!(scheduler.may_try);
    let evidence = &scheduler.evidence[0];
    assert_eq!((evidence.file.as_str(), evidence.value.as_str()), ("/sys/class/block/nvme0n1/queue/scheduler", "bfq"));
    let ssd = of_shape("SATA SSD on AHCI", |_| {});
    let cache = finding(&ssd, "write-cache");
    assert!(!cache.may_try, "a write cache is never tried");
    assert!(cache.change.as_deref().is_some_and(|change| change.starts_with("echo 'write back' > ")), "{cache:?}");
    let array = of_shape("md RAID5 on NVMe", |_| {});
    let sync = finding(&array, "md-sync");
    assert_eq!(sync.what, "a recover is going on, 31% done, 184 MB/s of each disk");
    assert!(sync.change.as_deref().is_some_and(|change| change.starts_with("wait about 32 min")), "{sync:?}");
}

#[test]
fn what_only_root_may_read_is_unread_and_not_fine() {
    let seen = of_shape("dm-crypt on NVMe", |tree| tree.remove("mapping/252:0"));
    for code in ["crypt-queues", "crypt-sector", "crypt-instructions"] {
        let check = check(&seen, code);
        assert_eq!((check.state, check.needs_root), (CheckState::Unread, true), "{check:?}");
        assert_eq!(check.unread, ["table of the mapped device dm-0"]);
    }
}

#[test]
fn a_file_that_gives_an_error_is_unread_and_not_fine() {
    // A folder in place of the file.
    let seen = of_shape("laptop with NVMe", |tree| {
        tree.remove("proc/sys/vm/zone_reclaim_mode");
        tree.file("proc/sys/vm/zone_reclaim_mode/x", "");
    });
    let check = check(&seen, "zone-reclaim");
    assert_eq!((check.state, check.needs_root), (CheckState::Unread, false), "{check:?}");
    assert!(check.unread[0].starts_with("/proc/sys/vm/zone_reclaim_mode: "), "{check:?}");
}

#[test]
fn an_empty_machine_has_no_finding() {
    let tree = Tree::bare_metal();
    let seen = diagnose(&Place::of(&tree.root(), &Tree::target("/data", "8:0", false)));
    assert!(seen.checks.iter().all(|check| check.findings.is_empty()), "{seen:#?}");
    assert_eq!(seen.path, "a device that is not known here");
}

#[test]
fn the_place_is_told_from_the_file_system_to_the_disks() {
    let seen = of_shape("md RAID5 on NVMe", |_| {});
    assert_eq!(
        (seen.target.as_str(), seen.path.as_str()),
        ("/data", "xfs on md0 (md raid5) on nvme0n1, nvme1n1, nvme2n1")
    );
    let seen = of_shape("NFS mount", |_| {});
    assert_eq!(seen.path, "nfs4 of server:/export, reached by eth0");
}

#[test]
fn kernels_that_do_not_tell_strict_from_lazy_are_not_accused() {
    let seen = of_shape("laptop with NVMe", |tree| tree.file("proc/sys/kernel/osrelease", "5.10.0-9-amd64\n"));
    assert_eq!(check(&seen, "iommu-strict").state, CheckState::Unread);
}
