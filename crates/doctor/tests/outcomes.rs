//! Checks costs, commands and what is said of files that cannot be read.

use halfpower_doctor::{Place, diagnose};
use halfpower_record::{Basis, CheckFinding, CheckResult, CheckState, Cost, Diagnosis, Severity};

use crate::drives::DRIVES;
use crate::machines::SHAPES;
use crate::parts::{scsi, usual};
use crate::raw::log_pages;
use crate::tree::Tree;

fn of_shape(name: &str, change: impl Fn(&Tree)) -> Diagnosis {
    let shape = SHAPES.iter().chain(DRIVES).find(|shape| shape.name == name).expect("a shape of that name");
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
fn direct_requests_that_zfs_was_told_to_cache_have_the_switch_back() {
    let switch = "sys/module/zfs/parameters/zfs_dio_enabled";
    let zfs = |dio: &'static str| {
        of_shape("ZFS", move |tree| {
            tree.file("sys/module/zfs/version", "2.3.1-1\n");
            tree.file(switch, dio);
        })
    };
    let off = zfs("0\n");
    assert_eq!(finding(&off, "zfs-direct").change.as_deref(), Some(&*format!("echo 1 > /{switch}")));
    assert!(check(&zfs("1\n"), "zfs-direct").findings.is_empty());
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
fn drives_are_asked_by_root_alone() {
    let seen = of_shape("NVMe drive at its end", |tree| tree.remove("dev/nvme0n1.smart-log"));
    for code in ["nvme-warnings", "nvme-wear", "nvme-media-errors", "nvme-heat", "temperature"] {
        let check = check(&seen, code);
        assert_eq!((check.state, check.needs_root), (CheckState::Unread, true), "{check:?}");
        assert_eq!(check.unread, ["smart-log of nvme0n1"]);
    }
    assert_eq!(check(&seen, "nvme-power-state").state, CheckState::Found);
    let seen = of_shape("hard disk at its end", |tree| tree.remove("dev/sda.smart"));
    assert_eq!(
        (check(&seen, "smart-sectors").state, check(&seen, "smart-sectors").needs_root),
        (CheckState::Unread, true)
    );
    // An answer that is cut makes no sense, and is no health.
    let seen = of_shape("NVMe drive at its end", |tree| tree.file("dev/nvme0n1.smart-log", [0_u8; 100]));
    let wear = check(&seen, "nvme-wear");
    assert_eq!((wear.state, wear.needs_root), (CheckState::Unread, false), "{wear:?}");
}

#[test]
fn drives_and_drivers_are_told_in_figures() {
    let worn = of_shape("NVMe drive at its end", |_| {});
    for (code, what) in [
        ("nvme-warnings", "the drive warns: its spare blocks are below the limit; it is not reliable any more"),
        ("nvme-wear", "5% of the spare blocks are left, its limit is 10%"),
        ("nvme-media-errors", "12 times the drive found data not to be intact"),
        ("nvme-heat", "it was at its upper limit for 900 minutes of 1000 hours, and slowed down 7 times"),
        ("nvme-power-state", "the drive is held in power state 1: 3.0 W at most in place of 8.0 W"),
        ("nvme-format", "blocks of 512 B; the drive calls 4 KiB faster"),
        ("temperature", "81 degrees Celsius, its limit is 80"),
        ("nvme-power", "the drive sleeps between requests (APST)"),
    ] {
        assert_eq!(finding(&worn, code).what, what, "{code}");
    }
    let sleep = finding(&worn, "nvme-power");
    assert!(matches!(&sleep.cost, Cost::Delay { ns: 45e6, .. }), "{sleep:?}");
    assert_eq!(sleep.evidence[1].value, "state 2 after 2000 ms");
    let disk = of_shape("hard disk at its end", |_| {});
    assert_eq!(finding(&disk, "smart-sectors").what, "3 sectors wait to be replaced");
    assert_eq!(finding(&disk, "smart-link-errors").what, "4000 transfers arrived damaged at the disk");
    let sas = of_shape("SAS disk at its end", |_| {});
    assert_eq!(finding(&sas, "scsi-logs").what, "the disk foresees its failure (code 5d 10)");
    let sas = of_shape("SAS disk at its end", |tree| log_pages(tree, "sda", [0, 0], 4, 93));
    assert_eq!(finding(&sas, "scsi-logs").what, "4 times the disk could not read");
    let ide = of_shape("IDE disk", |_| {});
    assert_eq!(finding(&ide, "transfer-mode").what, "the processor moves every word itself (PIO 4)");
    assert!(matches!(finding(&ide, "transfer-mode").cost, Cost::Ceiling { bytes_per_s: Some(16.7e6), .. }));
    let file = of_shape("file of a database", |_| {});
    assert_eq!(finding(&file, "fragmentation").what, "the file lies in 40000 pieces of 26.2 KiB on average");
    let raid = of_shape("RAID of LVM", |_| {});
    assert_eq!(finding(&raid, "lvm-raid").what, "raid5_ls lacks 1 of 3 disks: the next failure may lose data");
    let resync = of_shape("RAID of LVM", |tree| {
        tree.file("state/252:0", "raid raid5_ls 3 AAa 30/120 recover 0 0 -\n");
    });
    assert_eq!(finding(&resync, "lvm-raid").what, "a recover is going on, 25% done");
    let bond = of_shape("NFS over a bond", |_| {});
    let line = "the line runs at 1000 of 10000 Mbit/s: the other end offers 1000";
    assert_eq!(finding(&bond, "line-negotiation").what, line);
    assert_eq!(finding(&bond, "line-mtu").what, "it sends frames of 1500 bytes over eth1, which takes 1400");
    let offloads = finding(&bond, "line-offloads");
    assert_eq!(offloads.what, "off: generic-receive-offload");
    assert_eq!(offloads.change.as_deref(), Some("ethtool -K eth0 gro on"));
    assert_eq!(offloads.change_back.as_deref(), Some("ethtool -K eth0 gro off"));
}

#[test]
fn a_write_cache_that_others_keep_is_noted_and_not_to_be_switched() {
    let behind_pci = "pci0000:00/0000:00:03.0/host0/target0:0:0/0:0:0:0";
    for (way, is_guest, begins) in [
        ("pci0000:00/0000:00:03.0/host1/rport-1:0-0/target1:0:0/1:0:0:0", false, "the array "),
        ("platform/host2/session1/target2:0:0/2:0:0:0", false, "the array "),
        ("platform/host2/session1/target2:0:0/2:0:0:0", true, "the array "),
        ("LNXSYSTM:00/VMBUS:00/fd1d2cbd/host0/target0:0:0/0:0:0:0", true, "the host "),
        ("pci0000:00/0000:00:05.0/virtio2/host0/target0:0:0/0:0:0:0", true, "the host "),
        (behind_pci, true, "the host "),
        (behind_pci, false, "its RAID card "),
        ("pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0", false, "the write cache of the disk is off"),
    ] {
        let tree = if is_guest { Tree::guest() } else { Tree::bare_metal() };
        let device = format!("sys/devices/{way}");
        let sys = format!("{device}/block/sda");
        tree.disk(&sys, "8:0");
        tree.link(&format!("{sys}/device"), &device);
        scsi(&tree, &device, "32");
        tree.file(&format!("{device}/scsi_disk/0:0:0:0/cache_type"), "write through\n");
        tree.file(&format!("{sys}/queue/write_cache"), "write through\n");
        let seen = diagnose(&Place::of(&tree.root(), &Tree::target("/dev/sda", "8:0", true)));
        let cache = finding(&seen, "write-cache");
        assert!(cache.what.starts_with(begins), "{way}: {cache:?}");
        assert_eq!(cache.severity > Severity::Note, begins.contains("off"), "{way}: {cache:?}");
        let is_of_others = begins.starts_with("the array") || begins.starts_with("the host");
        assert_eq!(cache.change.is_none() && cache.change_back.is_none(), is_of_others, "{way}: {cache:?}");
    }
}

#[test]
fn a_link_whose_lanes_are_not_told_is_unread() {
    let end = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/max_link_width";
    let seen = of_shape("laptop with NVMe", |tree| tree.file(end, "255\n"));
    let link = check(&seen, "pcie-link");
    assert_eq!((link.state, link.needs_root), (CheckState::Unread, false), "{link:?}");
    assert_eq!(link.unread, ["speed and width of the PCIe link at 0000:01:00.0"]);
}

#[test]
fn the_port_of_a_tunnel_is_no_narrow_slot() {
    let port = "sys/devices/pci0000:00/0000:00:01.0";
    let behind_port_of_2_5 = |is_removable: bool| {
        let seen = of_shape("laptop with NVMe", |tree| {
            tree.pcie(port, "2.5 GT/s PCIe", "1");
            tree.file(&format!("{port}/max_link_speed"), "2.5 GT/s PCIe\n");
            tree.file(&format!("{port}/max_link_width"), "1\n");
            if is_removable {
                tree.file(&format!("{port}/0000:01:00.0/removable"), "removable\n");
            }
        });
        check(&seen, "pcie-link").state
    };
    assert_eq!(behind_port_of_2_5(true), CheckState::NotApplicable, "it may be Thunderbolt or USB4");
    assert_eq!(behind_port_of_2_5(false), CheckState::Found, "a slot of PCIe 1.0");
}

#[test]
fn read_ahead_is_that_of_the_file_system_s_own_device() {
    let pool = of_shape("btrfs over two disks", |_| {});
    let found = finding(&pool, "read-ahead");
    assert_eq!(found.subject, "/pool");
    assert_eq!(found.change.as_deref(), Some("echo 128 > /sys/class/bdi/btrfs-1/read_ahead_kb"));
    let old = of_shape("btrfs over two disks", |tree| tree.remove("sys/fs/btrfs/1234-abcd/bdi"));
    for (seen, what) in [(old, "btrfs on /pool"), (of_shape("CIFS mount", |_| {}), "cifs on /share")] {
        let read_ahead = check(&seen, "read-ahead");
        assert_eq!((read_ahead.state, read_ahead.needs_root), (CheckState::Unread, false), "{read_ahead:?}");
        assert_eq!(read_ahead.unread, [format!("which device of /sys/class/bdi is that of {what}")]);
    }
}

#[test]
fn a_folder_has_no_pieces() {
    let seen = of_shape("SATA SSD on AHCI", |tree| tree.file("layouts", "/other 1073741824 1073741824 0 40000\n"));
    for code in ["fragmentation", "unwritten-parts"] {
        assert_eq!(check(&seen, code).state, CheckState::NotApplicable);
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
