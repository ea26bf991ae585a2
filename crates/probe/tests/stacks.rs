//! Checks that probing follows a path through volumes and file systems and finds the limits on the way.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::tree::{Tree, assert_pap, level, names};
use halfpower_probe::{TargetIdentity, probe, with_peak};
use halfpower_spec::{Bytes, Direction, Rate};

/// A SATA disk at 6 Gbit/s on a port of its own.
fn sata(tree: &Tree, port: u32, name: &str, number: &str) -> String {
    let ata = format!("sys/devices/pci0000:00/0000:00:17.0/ata{port}");
    tree.file(&format!("{ata}/link{port}/ata_link/link{port}/sata_spd"), "6.0 Gbps\n");
    let sys = format!("{ata}/host{port}/target{port}:0:0/{port}:0:0:0/block/{name}");
    tree.disk(&sys, number);
    sys
}

fn raid(tree: &Tree, level: &str) {
    let first = sata(tree, 1, "sda", "8:0");
    let second = sata(tree, 2, "sdb", "8:16");
    tree.partition(&format!("{first}/sda1"), "8:1");
    tree.partition(&format!("{second}/sdb1"), "8:17");
    let md = "sys/devices/virtual/block/md0";
    tree.disk(md, "9:0");
    tree.file(&format!("{md}/md/level"), format!("{level}\n"));
    tree.stands_on(md, &format!("{first}/sda1"));
    tree.stands_on(md, &format!("{second}/sdb1"));
    tree.mount("9:0", "/data", "xfs", "/dev/md0", "rw");
}

#[test]
fn the_firmware_of_a_volume_is_that_of_its_disks_each_once() {
    let tree = Tree::bare_metal();
    raid(&tree, "raid1");
    let firmware = || tree.folder("/data", "9:0").device.expect("a device").firmware;
    assert_eq!(firmware(), None);
    for (port, name) in [(1, "sda"), (2, "sdb")] {
        let address = format!("sys/devices/pci0000:00/0000:00:17.0/ata{port}/host{port}/target{port}:0:0/{port}:0:0:0");
        tree.file(&format!("{address}/rev"), "SN05\n");
        tree.link(&format!("{address}/block/{name}/device"), &address);
    }
    assert_eq!(firmware().as_deref(), Some("SN05"));
    tree.file("sys/devices/pci0000:00/0000:00:17.0/ata2/host2/target2:0:0/2:0:0:0/rev", "SN06\n");
    assert_eq!(firmware().as_deref(), Some("SN05, SN06"));
}

#[test]
fn what_control_groups_allow_of_processors_and_memory_is_found() {
    let tree = Tree::bare_metal();
    tree.mount("0:30", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw");
    tree.file("proc/self/cgroup", "0::/pod/box\n");
    tree.file("sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
    tree.file("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
    tree.file("sys/fs/cgroup/pod/box/memory.max", "268435456\n");
    tree.file("sys/fs/cgroup/pod/memory.max", "max\n");
    let machine = halfpower_probe::probe_machine(&tree.root());
    assert_eq!((machine.cpus, machine.cpu_quota, machine.usable_cpus()), (2, Some(1.5), 1.5), "the tightest above");
    assert_eq!(machine.usable_memory(), Bytes(256 << 20));
    let seen = tree.folder("/sys", "0:30");
    assert!(level(&seen, "processor").source.ends_with("a control group allows 1.50 of them at once"));
    assert!(level(&seen, "memory").source.ends_with("a control group allows 256MiB of it"));
}

#[test]
fn version_1_of_control_groups_is_read_too_and_its_endless_numbers_are_no_limit() {
    let tree = Tree::bare_metal();
    tree.mount("0:30", "/sys/fs/cgroup/cpu,cpuacct", "cgroup", "cgroup", "rw,cpu,cpuacct");
    tree.mount("0:31", "/sys/fs/cgroup/memory", "cgroup", "cgroup", "rw,memory");
    tree.file("proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n");
    tree.file("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "50000\n");
    tree.file("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    tree.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    tree.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    tree.file("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
    let machine = halfpower_probe::probe_machine(&tree.root());
    assert_eq!((machine.usable_cpus(), machine.memory_limit), (0.5, None));
}

#[test]
fn direct_requests_of_an_old_zfs_are_not_direct() {
    let tree = Tree::bare_metal();
    let why = |kind: &str| halfpower_probe::not_direct(&tree.root(), kind);
    assert!(why("zfs").unwrap().contains("unknown release"));
    tree.file("sys/module/zfs/version", "2.2.4-1\n");
    assert!(why("zfs").unwrap().starts_with("ZFS 2.2.4-1 serves direct requests from its cache"));
    for release in ["2.3.0-1\n", "2.10.1\n", "3.0\n"] {
        tree.file("sys/module/zfs/version", release);
        assert_eq!(why("zfs"), None, "{release}");
    }
    tree.file("sys/module/zfs/parameters/zfs_dio_enabled", "0\n");
    assert!(why("zfs").unwrap().contains("from its cache (zfs_dio_enabled is 0)"));
    tree.file("sys/module/zfs/parameters/zfs_dio_enabled", "1\n");
    assert_eq!((why("zfs"), why("ext4")), (None, None));
}

#[test]
fn a_stripe_of_two_adds_their_links() {
    let tree = Tree::bare_metal();
    raid(&tree, "raid0");
    let seen = tree.folder("/data", "9:0");
    assert_eq!(names(&seen), ["memory", "processor", "volume md0", "SATA link", "device"]);
    assert_pap(&seen, "SATA link", 2.0 * 600e6);
    assert!(level(&seen, "volume md0").source.starts_with("md raid0 on sda and sdb"));
    assert!(level(&seen, "device").source.starts_with("sda, sdb: a SATA disk"));
    assert_eq!(seen.device.expect("the volume").name, "md0");
}

#[test]
fn a_mirror_adds_them_for_reads_alone() {
    let tree = Tree::bare_metal();
    raid(&tree, "raid1");
    let seen = tree.folder("/data", "9:0");
    assert_pap(&seen, "SATA link, reads", 1200e6);
    assert_pap(&seen, "SATA link, writes", 600e6);
    assert_eq!(level(&seen, "SATA link, writes").direction, Some(Direction::Write));
}

#[test]
fn a_shared_uplink_narrower_than_the_sum_is_a_level() {
    let tree = Tree::bare_metal();
    let port = "sys/devices/pci0000:00/0000:00:01.0";
    tree.pcie(port, "8.0 GT/s PCIe", "4");
    let md = "sys/devices/virtual/block/md0";
    tree.disk(md, "9:0");
    for (index, bus) in ["0000:03:00.0", "0000:04:00.0"].iter().enumerate() {
        let function = format!("{port}/{bus}");
        tree.pcie(&function, "8.0 GT/s PCIe", "4");
        let sys = format!("{function}/nvme/nvme{index}/nvme{index}n1");
        tree.disk(&sys, &format!("259:{index}"));
        tree.stands_on(md, &sys);
    }
    let one = 8e9 * 4.0 * 128.0 / 130.0 / 8.0;
    let seen = tree.device("/dev/md0", "9:0");
    assert_eq!(names(&seen), ["memory", "processor", "volume md0", "PCIe uplink", "PCIe link", "device"]);
    assert_pap(&seen, "PCIe uplink", one);
    assert_pap(&seen, "PCIe link", 2.0 * one);
}

#[test]
fn a_loop_device_leads_to_the_disk_of_its_file() {
    let tree = Tree::bare_metal();
    sata(&tree, 1, "sda", "8:0");
    tree.mount("8:0", "/", "ext4", "/dev/sda", "rw");
    let image = "sys/devices/virtual/block/loop3";
    tree.disk(image, "7:3");
    tree.file(&format!("{image}/loop/backing_file"), "/var/disk.img\n");
    let seen = tree.device("/dev/loop3", "7:3");
    assert_eq!(names(&seen), ["memory", "processor", "volume loop3", "SATA link", "device"]);
    assert!(level(&seen, "volume loop3").source.starts_with("loop device on the file /var/disk.img"));
    assert_eq!(seen.device.and_then(|device| device.transport).as_deref(), Some("loop"));
}

#[test]
fn an_encrypted_logical_volume_is_two_volumes() {
    let tree = Tree::bare_metal();
    let disk = sata(&tree, 1, "sda", "8:0");
    let home = "sys/devices/virtual/block/dm-1";
    let crypt = "sys/devices/virtual/block/dm-0";
    for (sys, number, name, uuid) in [(crypt, "253:0", "luks", "CRYPT-LUKS2-1"), (home, "253:1", "vg-home", "LVM-2")] {
        tree.disk(sys, number);
        tree.file(&format!("{sys}/dm/name"), format!("{name}\n"));
        tree.file(&format!("{sys}/dm/uuid"), format!("{uuid}\n"));
    }
    tree.stands_on(home, crypt);
    tree.stands_on(crypt, &disk);
    tree.mount("0:31", "/home", "btrfs", "/dev/mapper/vg-home", "rw,subvol=/home");
    // A subvolume's number is neither the mount's nor any device's.
    let seen = tree.folder("/home/me", "0:57");
    assert_eq!(names(&seen), ["memory", "processor", "volume dm-1", "volume dm-0", "SATA link", "device"]);
    assert!(level(&seen, "volume dm-1").source.starts_with("logical volume vg-home on dm-0"));
    assert!(level(&seen, "volume dm-0").source.starts_with("encrypted volume luks on sda"));
    assert_eq!(seen.filesystem.expect("btrfs").kind, "btrfs");
}

#[test]
fn devices_that_stand_on_themselves_come_to_an_end() {
    let tree = Tree::bare_metal();
    let a = "sys/devices/virtual/block/dm-0";
    let b = "sys/devices/virtual/block/dm-1";
    tree.disk(a, "253:0");
    tree.disk(b, "253:1");
    tree.stands_on(a, b);
    tree.stands_on(b, a);
    assert_eq!(names(&tree.device("/dev/dm-0", "253:0"))[2..], ["volume dm-0", "volume dm-1", "device"]);
}

#[test]
fn btrfs_over_two_disks_adds_their_links() {
    let tree = Tree::bare_metal();
    for (port, name, number) in [(1, "sda", "8:0"), (2, "sdb", "8:16")] {
        let sys = sata(&tree, port, name, number);
        tree.link(&format!("sys/fs/btrfs/1234-abcd/devices/{name}"), &sys);
    }
    tree.mount("0:31", "/pool", "btrfs", "/dev/sda", "rw");
    let seen = tree.folder("/pool", "0:31");
    assert_pap(&seen, "SATA link", 1200e6);
    assert_eq!(seen.notes, ["the file system spans sda, sdb; only the first is described"]);
    let device = seen.device.expect("the first");
    assert_eq!((device.name.as_str(), device.others.as_slice()), ("sda", ["sdb".to_string()].as_slice()));
    assert_eq!((device.is_alone(), device.capacity_gb()), (false, None), "half of the capacity is not told as all");
}

/// A SATA disk and an NVMe drive, which have no kind of link in common.
fn sata_and_nvme(tree: &Tree) -> [String; 2] {
    let function = "sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0";
    tree.pcie(function, "8.0 GT/s PCIe", "4");
    let nvme = format!("{function}/nvme/nvme0/nvme0n1");
    tree.disk(&nvme, "259:0");
    [sata(tree, 1, "sda", "8:0"), nvme]
}

const PCIE_3: f64 = 8e9 * 4.0 * 128.0 / 130.0 / 8.0;

#[test]
fn a_link_that_not_every_byte_passes_is_no_ceiling() {
    let volume = |level: &str| {
        let tree = Tree::bare_metal();
        let md = "sys/devices/virtual/block/md0";
        tree.disk(md, "9:0");
        tree.file(&format!("{md}/md/level"), format!("{level}\n"));
        sata_and_nvme(&tree).iter().for_each(|disk| tree.stands_on(md, disk));
        tree.device("/dev/md0", "9:0")
    };
    let pools = || {
        let tree = Tree::bare_metal();
        for (name, sys) in ["sda", "nvme0n1"].iter().zip(sata_and_nvme(&tree)) {
            tree.link(&format!("sys/fs/btrfs/1234-abcd/devices/{name}"), &sys);
        }
        tree.mount("0:31", "/pool", "btrfs", "/dev/sda", "rw");
        tree.folder("/pool", "0:31")
    };
    for seen in [volume("raid0"), volume("linear"), pools()] {
        assert_eq!((level(&seen, "SATA link").pap, level(&seen, "PCIe link").pap), (None, None));
        assert!(level(&seen, "SATA link").source.contains("no ceiling, since other disks of the volume"));
    }
    let mirror = volume("raid1");
    assert_eq!((level(&mirror, "SATA link, reads").pap, level(&mirror, "PCIe link, reads").pap), (None, None));
    assert_pap(&mirror, "SATA link, writes", 600e6);
    assert_pap(&mirror, "PCIe link, writes", PCIE_3);
}

#[test]
fn each_link_of_a_mirror_carries_the_writes_of_the_disks_behind_it() {
    let tree = Tree::bare_metal();
    let md = "sys/devices/virtual/block/md0";
    tree.disk(md, "9:0");
    tree.file(&format!("{md}/md/level"), "raid1\n");
    let card = "sys/devices/pci0000:00/0000:00:1c.0/0000:02:00.0";
    tree.pcie(card, "8.0 GT/s PCIe", "8");
    for (place, name) in [(0, "sdb"), (1, "sdc")] {
        let sys = format!("{card}/host5/port-5:{place}/target5:0:{place}/5:0:{place}:0/block/{name}");
        tree.disk(&sys, &format!("8:{}", 16 * (place + 1)));
        tree.stands_on(md, &sys);
    }
    tree.stands_on(md, &sata_and_nvme(&tree)[1]);
    let seen = tree.device("/dev/md0", "9:0");
    assert_pap(&seen, "PCIe link, reads", 3.0 * PCIE_3);
    assert_pap(&seen, "PCIe link, writes", PCIE_3);
    tree.pcie(card, "8.0 GT/s PCIe", "4");
    assert_pap(&tree.device("/dev/md0", "9:0"), "PCIe link, writes", PCIE_3 / 2.0);
}

#[test]
fn an_uplink_of_some_of_the_disks_is_no_ceiling() {
    let tree = Tree::bare_metal();
    let switch = "sys/devices/pci0000:00/0000:00:01.0";
    tree.pcie(switch, "8.0 GT/s PCIe", "4");
    let md = "sys/devices/virtual/block/md0";
    tree.disk(md, "9:0");
    let functions = [format!("{switch}/0000:03:00.0"), format!("{switch}/0000:04:00.0")];
    for (index, function) in functions.into_iter().chain(["sys/devices/pci0000:00/0000:05:00.0".into()]).enumerate() {
        tree.pcie(&function, "8.0 GT/s PCIe", "4");
        let sys = format!("{function}/nvme/nvme{index}/nvme{index}n1");
        tree.disk(&sys, &format!("259:{index}"));
        tree.stands_on(md, &sys);
    }
    let seen = tree.device("/dev/md0", "9:0");
    assert_eq!(level(&seen, "PCIe uplink").pap, None);
    assert!(level(&seen, "PCIe uplink").source.ends_with("since not all disks of the volume are behind it"));
    assert_pap(&seen, "PCIe link", 3.0 * PCIE_3);
}

#[test]
fn memory_overlay_and_server() {
    let tree = Tree::bare_metal();
    tree.mount("0:40", "/tmp", "tmpfs", "tmpfs", "rw");
    tree.mount("0:41", "/", "overlay", "overlay", "rw,lowerdir=/l,upperdir=/u");
    tree.mount("0:42", "/net", "nfs4", "server:/export", "rw,addr=10.0.0.2");
    tree.file("sys/class/net/eth0/speed", "10000\n");
    tree.file("sys/class/net/eth0/operstate", "up\n");
    tree.file("sys/class/net/eth0/device/vendor", "0x8086\n");
    tree.file("sys/class/net/veth9/speed", "100000\n");
    tree.file("sys/class/net/veth9/operstate", "up\n");

    let seen = tree.folder("/tmp/x", "0:40");
    assert_eq!((names(&seen), &seen.device), (vec!["processor", "memory"], &None));
    let seen = tree.folder("/home", "0:41");
    assert_eq!(names(&seen), ["memory", "processor", "device"]);
    assert!(seen.notes[0].contains("/home is on an overlay"), "{:?}", seen.notes);
    let seen = tree.folder("/net/x", "0:42");
    assert_eq!(names(&seen), ["memory", "processor", "network", "server"]);
    assert_eq!(level(&seen, "network").pap, None, "the traffic may take another card");
    assert!(level(&seen, "network").source.contains("eth0 at 10000 Mbit/s (the fastest card that is up; no ceiling"));
}

/// As of `qemu-nbd` on the same machine: no card carries these bytes.
#[test]
fn a_card_is_no_ceiling_of_a_disk_whose_way_is_not_known() {
    let tree = Tree::bare_metal();
    tree.file("sys/class/net/eth0/speed", "1000\n");
    tree.file("sys/class/net/eth0/operstate", "up\n");
    tree.file("sys/class/net/eth0/device/vendor", "0x8086\n");
    tree.disk("sys/devices/virtual/block/nbd0", "43:0");
    let seen = tree.device("/dev/nbd0", "43:0");
    assert_eq!(names(&seen), ["memory", "processor", "network", "device"]);
    assert!(seen.levels.iter().all(|level| level.pap.is_none()), "{:?}", seen.levels);
}

#[test]
fn the_tightest_io_max_of_all_groups_above_holds() {
    let tree = Tree::bare_metal();
    let disk = sata(&tree, 1, "sda", "8:0");
    tree.partition(&format!("{disk}/sda1"), "8:1");
    tree.mount("8:1", "/", "ext4", "/dev/sda1", "rw");
    tree.mount("0:26", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw");
    tree.file("proc/self/cgroup", "0::/user.slice/job.scope\n");
    let group = "sys/fs/cgroup/user.slice";
    tree.file(&format!("{group}/io.max"), "8:0 rbps=40000000 wbps=max riops=2000 wiops=max\n8:16 rbps=1\n");
    tree.file(&format!("{group}/job.scope/io.max"), "8:0 rbps=90000000 wbps=30000000 riops=max wiops=max\n");
    let seen = tree.folder("/x", "8:1");
    let expected = ["memory", "processor", "cgroup limit, reads", "cgroup limit, writes", "SATA link", "device"];
    assert_eq!(names(&seen), expected);
    let reads = level(&seen, "cgroup limit, reads");
    assert_eq!((reads.pap, reads.pap_iops), (Some(Rate(40e6)), Some(2000.0)));
    assert_eq!(reads.direction, Some(Direction::Read));
    assert_eq!(reads.source, "io.max of the control group /user.slice for 8:0");
    let writes = level(&seen, "cgroup limit, writes");
    assert_eq!((writes.pap, writes.pap_iops), (Some(Rate(30e6)), None));
    assert!(writes.source.contains("/user.slice/job.scope"));
}

#[test]
fn the_model_of_io_cost_holds_for_all_groups_but_the_root() {
    let tree = Tree::bare_metal();
    sata(&tree, 1, "sda", "8:0");
    tree.mount("0:26", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw");
    tree.file("proc/self/cgroup", "0::/job\n");
    let top = "sys/fs/cgroup";
    tree.file(&format!("{top}/io.cost.qos"), "8:0 enable=1 ctrl=user rpct=0.00 min=50.00 max=80.00\n8:16 enable=0\n");
    let rates = "rbps=50000000 rseqiops=2000 rrandiops=1000 wbps=50000000 wseqiops=2000 wrandiops=9";
    let model = format!("ctrl=user model=linear {rates}");
    tree.file(&format!("{top}/io.cost.model"), format!("8:0 {model}\n8:16 {model}\n"));
    let seen = tree.device("/dev/sda", "8:0");
    let limit = level(&seen, "cgroup limit");
    assert_eq!((limit.pap, limit.pap_iops), (Some(Rate(40e6)), Some(1600.0)));
    assert_eq!(limit.source, "the model of io.cost for 8:0, which holds for all control groups together");
    tree.file(&format!("{top}/job/io.max"), "8:0 rbps=10000000 wbps=10000000 riops=max wiops=max\n");
    assert_pap(&tree.device("/dev/sda", "8:0"), "cgroup limit", 10e6);
    tree.file("proc/self/cgroup", "0::/\n");
    assert!(!names(&tree.device("/dev/sda", "8:0")).contains(&"cgroup limit"));
}

#[test]
fn a_group_mounted_as_a_containers_own_is_found() {
    let tree = Tree::bare_metal();
    sata(&tree, 1, "sda", "8:0");
    tree.file("proc/self/mountinfo", "31 1 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    // Lies where a path of `..` would lead beside the mount.
    tree.file("sys/fs/other/io.max", "8:0 rbps=1 wbps=1\n");
    for own in ["0::/docker/abc\n", "0::/\n", "0::/../other\n"] {
        tree.file("proc/self/cgroup", own);
        tree.file("sys/fs/cgroup/io.max", "8:0 rbps=5000000 wbps=5000000 riops=max wiops=max\n");
        let seen = tree.device("/dev/sda", "8:0");
        assert_pap(&seen, "cgroup limit", 5e6);
        assert_eq!(level(&seen, "cgroup limit").direction, None);
    }
}

#[test]
fn version_one_throttles_the_own_group_alone() {
    let tree = Tree::bare_metal();
    sata(&tree, 1, "sda", "8:0");
    tree.mount("0:35", "/sys/fs/cgroup/blkio", "cgroup", "cgroup", "rw,blkio");
    tree.file("proc/self/cgroup", "7:blkio:/lab/disk\n4:memory:/elsewhere\n0::/\n");
    let group = "sys/fs/cgroup/blkio/lab";
    tree.file(&format!("{group}/blkio.throttle.read_bps_device"), "8:0 1000\n");
    tree.file(&format!("{group}/disk/blkio.throttle.read_bps_device"), "7:0 1\n8:0 26214400\n");
    tree.file(&format!("{group}/disk/blkio.throttle.write_iops_device"), "8:0 500\n");
    let seen = tree.device("/dev/sda", "8:0");
    assert_pap(&seen, "cgroup limit, reads", 25.0 * 1048576.0);
    let writes = level(&seen, "cgroup limit, writes");
    assert_eq!((writes.pap, writes.pap_iops), (None, Some(500.0)));
    assert!(writes.source.ends_with("writes back by itself"), "{}", writes.source);
}

/// The queue's setting is none of its files.
#[test]
fn a_btrfs_reads_ahead_by_its_own_backing_device() {
    let tree = Tree::bare_metal();
    let sys = sata(&tree, 1, "sda", "8:0");
    tree.link("sys/fs/btrfs/1234-abcd/devices/sda", &sys);
    tree.mount("0:31", "/pool", "btrfs", "/dev/sda", "rw");
    let read_ahead = || tree.folder("/pool", "0:31").device.map(|device| (device.read_ahead, device.backing_device));
    assert_eq!(read_ahead(), Some((None, None)), "which device is its own is not told");
    tree.link("sys/fs/btrfs/1234-abcd/bdi", "sys/devices/virtual/bdi/btrfs-1");
    tree.link("sys/class/bdi/btrfs-1", "sys/devices/virtual/bdi/btrfs-1");
    tree.file("sys/devices/virtual/bdi/btrfs-1/read_ahead_kb", "4096\n");
    assert_eq!(read_ahead(), Some((Some(Bytes(4 << 20)), Some("btrfs-1".to_string()))));
    tree.mount("8:0", "/data", "ext4", "/dev/sda", "rw");
    let of_ext4 = tree.folder("/data", "8:0").device.expect("a device");
    assert_eq!((of_ext4.read_ahead, of_ext4.backing_device), (Some(Bytes(128 << 10)), None));
}

#[test]
fn limits_of_striped_disks_add_and_of_a_volume_do_not() {
    let tree = Tree::bare_metal();
    raid(&tree, "raid0");
    tree.mount("0:26", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw");
    tree.file("proc/self/cgroup", "0::/job\n");
    tree.file("sys/fs/cgroup/job/io.max", "8:0 rbps=10000000\n8:16 rbps=15000000\n");
    assert_pap(&tree.folder("/data", "9:0"), "cgroup limit, reads", 25e6);
    tree.file("sys/fs/cgroup/job/io.max", "8:0 rbps=10000000\n8:16 rbps=15000000\n9:0 rbps=20000000\n");
    assert_pap(&tree.folder("/data", "9:0"), "cgroup limit, reads", 20e6);
    tree.file("sys/fs/cgroup/job/io.max", "8:0 rbps=10000000\n");
    assert!(!names(&tree.folder("/data", "9:0")).contains(&"cgroup limit, reads"));
}

/// Two encrypted disks under a btrfs or an array.
#[test]
fn limits_of_volumes_side_by_side_add_too() {
    let tree = Tree::bare_metal();
    for (minor, name) in [(0, "sda"), (1, "sdb")] {
        let disk = sata(&tree, minor + 1, name, &format!("8:{}", 16 * minor));
        let crypt = format!("sys/devices/virtual/block/dm-{minor}");
        tree.disk(&crypt, &format!("253:{minor}"));
        tree.file(&format!("{crypt}/dm/uuid"), "CRYPT-LUKS2-1\n");
        tree.stands_on(&crypt, &disk);
        tree.link(&format!("sys/fs/btrfs/1234-abcd/devices/dm-{minor}"), &crypt);
    }
    tree.mount("0:31", "/pool", "btrfs", "/dev/dm-0", "rw");
    tree.mount("0:26", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw");
    tree.file("proc/self/cgroup", "0::/job\n");
    let limits = |lines: &str| tree.file("sys/fs/cgroup/job/io.max", lines);
    limits("253:0 rbps=100000000\n253:1 rbps=100000000\n");
    assert_pap(&tree.folder("/pool", "0:31"), "cgroup limit, reads", 200e6);
    limits("253:0 rbps=100000000\n");
    assert!(!names(&tree.folder("/pool", "0:31")).contains(&"cgroup limit, reads"), "a limit on one of two");
    limits("253:0 rbps=100000000\n8:16 rbps=50000000\n");
    assert_pap(&tree.folder("/pool", "0:31"), "cgroup limit, reads", 150e6);

    let md = "sys/devices/virtual/block/md0";
    tree.disk(md, "9:0");
    tree.file(&format!("{md}/md/level"), "raid1\n");
    tree.stands_on(md, "sys/devices/virtual/block/dm-0");
    tree.stands_on(md, "sys/devices/virtual/block/dm-1");
    limits("253:0 wbps=100000000\n");
    assert_pap(&tree.device("/dev/md0", "9:0"), "cgroup limit, writes", 100e6);
    limits("253:0 wbps=100000000\n9:0 wbps=30000000\n");
    assert_pap(&tree.device("/dev/md0", "9:0"), "cgroup limit, writes", 30e6);
}

#[test]
fn the_data_sheets_figure_goes_on_the_medium() {
    let tree = Tree::bare_metal();
    sata(&tree, 1, "sda", "8:0");
    let mut seen = tree.device("/dev/sda", "8:0");
    with_peak(&mut seen.levels, Rate(210e6));
    assert_pap(&seen, "device", 210e6);
    assert_eq!(level(&seen, "device").source, "given by --peak");
    assert_pap(&seen, "SATA link", 600e6);
    with_peak(&mut [], Rate(1.0));
}

/// A channel of parallel ATA with places for two disks, one of them `name`.
fn ide(tree: &Tree, driver: &str, place: u32, name: &str, mode: &str) -> String {
    let function = "sys/devices/pci0000:00/0000:00:1f.1";
    if !tree.root_has(&format!("{function}/driver")) {
        tree.link(&format!("{function}/driver"), &format!("sys/bus/pci/drivers/{driver}"));
    }
    let ata = format!("{function}/ata1");
    tree.file(&format!("{ata}/link1/ata_link/link1/sata_spd"), "<unknown>\n");
    for device in 0..2 {
        let folder = format!("{ata}/link1/dev1.{device}/ata_device/dev1.{device}");
        let mode = if device == place { mode } else { "XFER_PIO_SLOW" };
        tree.file(&format!("{folder}/xfer_mode"), format!("{mode}\n"));
    }
    let sys = format!("{ata}/host0/target0:0:{place}/0:0:{place}:0/block/{name}");
    tree.disk(&sys, &format!("8:{}", 16 * place));
    sys
}

#[test]
fn an_ide_disk_is_no_sata_disk_and_carries_what_its_mode_does() {
    let modes = [("XFER_PIO_4", 16.7), ("XFER_MW_DMA_2", 16.7), ("XFER_UDMA_2", 33.3), ("XFER_UDMA_6", 133.3)];
    for (place, (mode, mbps)) in modes.into_iter().enumerate() {
        let tree = Tree::bare_metal();
        let place = place as u32 % 2;
        ide(&tree, "ata_piix", place, "sda", mode);
        let seen = tree.device("/dev/sda", &format!("8:{}", 16 * place));
        assert_eq!(names(&seen), ["memory", "processor", "IDE channel", "device"]);
        assert_pap(&seen, "IDE channel", mbps * 1e6);
        let reported = mode.trim_start_matches("XFER_").replace('_', " ");
        assert_eq!(level(&seen, "IDE channel").source, format!("IDE (parallel ATA) at ata1 in the mode {reported}"));
        assert!(level(&seen, "device").source.starts_with("sda: an IDE disk (parallel ATA)"));
        assert_eq!(seen.device.and_then(|device| device.transport).as_deref(), Some("pata"));
    }
    let tree = Tree::bare_metal();
    ide(&tree, "pata_atiixp", 0, "sda", "XFER_UNHEARD_OF");
    let seen = tree.device("/dev/sda", "8:0");
    assert_eq!(level(&seen, "IDE channel").pap, None);
    assert!(level(&seen, "IDE channel").source.contains("does not tell the mode"));
}

#[test]
fn a_sata_port_of_the_same_driver_is_none_of_ide() {
    let tree = Tree::bare_metal();
    tree.link("sys/devices/pci0000:00/0000:00:17.0/driver", "sys/bus/pci/drivers/ata_piix");
    sata(&tree, 1, "sda", "8:0");
    let seen = tree.device("/dev/sda", "8:0");
    assert_pap(&seen, "SATA link", 600e6);
    assert_eq!(seen.device.and_then(|device| device.transport).as_deref(), Some("sata"));
}

/// Four disks of 600 MB/s under a volume.
fn four(tree: &Tree, sys: &str, number: &str) {
    tree.disk(sys, number);
    for (port, name) in (1..).zip(["sda", "sdb", "sdc", "sdd"]) {
        let disk = sata(tree, port, name, &format!("8:{}", 16 * (port - 1)));
        tree.stands_on(sys, &disk);
    }
}

#[test]
fn a_raid10_writes_each_byte_as_often_as_its_layout_says() {
    // Two near copies, two far copies, three near copies.
    for (layout, copies) in [("258", 2.0), ("513", 2.0), ("259", 3.0)] {
        let tree = Tree::bare_metal();
        let md = "sys/devices/virtual/block/md0";
        four(&tree, md, "9:0");
        tree.file(&format!("{md}/md/level"), "raid10\n");
        tree.file(&format!("{md}/md/layout"), format!("{layout}\n"));
        tree.mount("0:26", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw");
        tree.file("proc/self/cgroup", "0::/job\n");
        tree.file("sys/fs/cgroup/job/io.max", "8:0 wbps=10000000 rbps=max\n");
        let seen = tree.device("/dev/md0", "9:0");
        assert_pap(&seen, "SATA link, reads", 2400e6);
        assert_pap(&seen, "SATA link, writes", 2400e6 / copies);
        assert_pap(&seen, "cgroup limit, writes", 40e6 / copies);
        let source = format!("each byte is written {copies} times; the slowest of 4 decides");
        assert_eq!(level(&seen, "SATA link, writes").source, source);
    }
}

#[test]
fn a_mount_point_whose_name_is_no_text_is_found() {
    let tree = Tree::bare_metal();
    sata(&tree, 1, "sda", "8:0");
    sata(&tree, 2, "sdb", "8:16");
    let table = b"1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 8:16 / /mnt/caf\xe9 rw - xfs /dev/sdb rw\n";
    tree.file("proc/self/mountinfo", table);
    let path = PathBuf::from(OsStr::from_bytes(b"/mnt/caf\xe9/data"));
    let seen = probe(&tree.root(), &TargetIdentity { path, ..Tree::target("/", "8:16", false) });
    assert_eq!(seen.filesystem.map(|found| found.kind).as_deref(), Some("xfs"));
    assert_eq!(seen.device.map(|device| device.name).as_deref(), Some("sdb"));
}

#[test]
fn equal_shares_of_many_disks_are_whole_copies() {
    for disks in [6, 7, 10] {
        let tree = Tree::bare_metal();
        let md = "sys/devices/virtual/block/md0";
        tree.disk(md, "9:0");
        for port in 1..=disks {
            let disk = sata(&tree, port, &format!("sd{port}"), &format!("8:{}", 16 * port));
            tree.stands_on(md, &disk);
        }
        tree.file(&format!("{md}/md/layout"), "258\n");
        tree.mount("0:26", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw");
        tree.file("proc/self/cgroup", "0::/job\n");
        tree.file("sys/fs/cgroup/job/io.max", "8:16 wbps=10000000\n");
        let seen = |kind: &str| {
            tree.file(&format!("{md}/md/level"), format!("{kind}\n"));
            tree.device("/dev/md0", "9:0")
        };
        let parity = seen("raid6");
        assert_pap(&parity, "SATA link", f64::from(disks) * 600e6);
        assert!(level(&parity, "SATA link").half_duplex);
        assert!(!names(&parity).contains(&"cgroup limit, writes"), "one of {disks} is limited");
        let source = format!("each byte is written 2 times; the slowest of {disks} decides");
        assert_eq!(level(&seen("raid10"), "SATA link, writes").source, source);
    }
}

#[test]
fn a_disk_without_a_place_in_an_array_carries_nothing_of_it() {
    let tree = Tree::bare_metal();
    let md = "sys/devices/virtual/block/md0";
    four(&tree, md, "9:0");
    tree.file(&format!("{md}/md/level"), "raid5\n");
    tree.mount("0:26", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw");
    tree.file("proc/self/cgroup", "0::/job\n");
    tree.file("sys/fs/cgroup/job/io.max", "8:0 rbps=10000000\n8:16 rbps=10000000\n8:32 rbps=10000000\n");
    let seen = |slot: &str| {
        tree.file(&format!("{md}/md/dev-sdd/slot"), slot);
        tree.device("/dev/md0", "9:0")
    };
    let active = seen("3\n");
    assert_pap(&active, "SATA link", 2400e6);
    assert!(!names(&active).contains(&"cgroup limit, reads"), "one of four is not limited");
    assert_pap(&seen("journal\n"), "SATA link", 1800e6);
    let spare = seen("none\n");
    assert_pap(&spare, "SATA link", 1800e6);
    assert_pap(&spare, "cgroup limit, reads", 30e6);
    let source = "md raid5 on sda and sdb and sdc; it advertises no speed of its own";
    assert_eq!(level(&spare, "volume md0").source, source);
    assert!(level(&spare, "device").source.starts_with("sda, sdb, sdc: "));
}

#[test]
fn the_metadata_of_a_thin_pool_are_none_of_its_data() {
    let tree = Tree::bare_metal();
    let volume = |minor: u32, name: &str, beneath: &[&str]| -> String {
        let sys = format!("sys/devices/virtual/block/dm-{minor}");
        tree.disk(&sys, &format!("253:{minor}"));
        tree.file(&format!("{sys}/dm/name"), format!("{name}\n"));
        tree.file(&format!("{sys}/dm/uuid"), "LVM-abc\n");
        beneath.iter().for_each(|lower| tree.stands_on(&sys, lower));
        sys
    };
    let [first, second] = [sata(&tree, 1, "sda", "8:0"), sata(&tree, 2, "sdb", "8:16")];
    let data = volume(0, "vg-pool_tdata", &[first.as_str()]);
    let metadata = volume(1, "vg-pool_tmeta", &[second.as_str()]);
    let pool = volume(2, "vg-pool-tpool", &[data.as_str(), metadata.as_str()]);
    volume(3, "vg-thin", &[pool.as_str()]);
    let seen = tree.device("/dev/dm-3", "253:3");
    assert_pap(&seen, "SATA link", 600e6);
    assert!(level(&seen, "device").source.starts_with("sda: "));
    // A mirror beneath the data alone: each byte is written twice.
    let mirror = "sys/devices/virtual/block/md0";
    tree.disk(mirror, "9:0");
    tree.file(&format!("{mirror}/md/level"), "raid1\n");
    tree.stands_on(mirror, &sata(&tree, 3, "sdc", "8:32"));
    tree.stands_on(mirror, &sata(&tree, 4, "sdd", "8:48"));
    let data = volume(4, "vg-two_tdata", &[mirror]);
    volume(5, "vg-two-tpool", &[data.as_str(), metadata.as_str()]);
    let source = "every write goes to each of 2 disks; the slowest of 2 decides";
    assert_eq!(level(&tree.device("/dev/dm-5", "253:5"), "SATA link, writes").source, source);
}

#[test]
fn a_stripe_over_two_mirrors_writes_twice() {
    let tree = Tree::bare_metal();
    let [top, left, right] = [0, 1, 2].map(|minor| format!("sys/devices/virtual/block/md{minor}"));
    tree.disk(&top, "9:0");
    tree.file(&format!("{top}/md/level"), "raid0\n");
    for (mirror, number, ports) in [(&left, "9:1", [1, 2]), (&right, "9:2", [3, 4])] {
        tree.disk(mirror, number);
        tree.file(&format!("{mirror}/md/level"), "raid1\n");
        tree.stands_on(&top, mirror);
        for port in ports {
            let disk =
                sata(&tree, port, ["sda", "sdb", "sdc", "sdd"][port as usize - 1], &format!("8:{}", 16 * (port - 1)));
            tree.stands_on(mirror, &disk);
        }
    }
    let seen = tree.device("/dev/md0", "9:0");
    assert_pap(&seen, "SATA link, reads", 2400e6);
    assert_pap(&seen, "SATA link, writes", 1200e6);
}

/// An LVM volume over two disks through parts with these names; the first holds metadata.
fn logical(tree: &Tree, parts: [&str; 2]) -> &'static str {
    let top = "sys/devices/virtual/block/dm-9";
    let called = |sys: &str, name: &str| {
        tree.file(&format!("{sys}/dm/name"), format!("{name}\n"));
        tree.file(&format!("{sys}/dm/uuid"), "LVM-abc\n");
    };
    tree.disk(top, "253:9");
    called(top, "vg-lv");
    for (index, disk) in ["sda", "sdb"].into_iter().enumerate() {
        let below = sata(tree, index as u32 + 1, disk, &format!("8:{}", 16 * index));
        for (nth, part) in parts.iter().enumerate() {
            let minor = 2 * index + nth;
            let sys = format!("sys/devices/virtual/block/dm-{minor}");
            tree.disk(&sys, &format!("253:{minor}"));
            called(&sys, &format!("vg-lv_{part}_{index}"));
            tree.stands_on(&sys, &below);
            tree.stands_on(top, &sys);
        }
    }
    "/dev/dm-9"
}

#[test]
fn a_mirror_of_lvm_adds_its_disks_for_reads_alone() {
    let tables = [
        ("raid raid1 3 0 region_size 4096 2 253:0 253:1 253:2 253:3", Some(600e6)),
        ("raid raid10_near 5 0 raid10_copies 2 region_size 4096 2 253:0 253:1 253:2 253:3", Some(600e6)),
        ("mirror core 1 1024 2 253:1 0 253:3 0 1 handle_errors", Some(600e6)),
        ("raid raid0 1 128 2 - 253:1 - 253:3", None),
        ("linear 253:1 0\nlinear 253:3 0", None),
    ];
    for (table, writes) in tables {
        let tree = Tree::bare_metal();
        let device = logical(&tree, ["rmeta", "rimage"]);
        tree.file("mapping/253:9", format!("{table}\n"));
        for part in 0..4 {
            tree.file(&format!("mapping/253:{part}"), "linear 8:0 2048\n");
        }
        let seen = tree.device(device, "253:9");
        match writes {
            Some(writes) => {
                assert_pap(&seen, "SATA link, reads", 1200e6);
                assert_pap(&seen, "SATA link, writes", writes);
            }
            None => assert_pap(&seen, "SATA link", 1200e6),
        }
        assert!(level(&seen, "volume dm-9").source.contains("on dm-1 and dm-3"), "the notes hold no data");
    }
}

#[test]
fn where_only_root_is_told_the_names_of_its_parts_say_what_is_known() {
    let tree = Tree::bare_metal();
    let seen = tree.device(logical(&tree, ["rmeta", "rimage"]), "253:9");
    let writes = level(&seen, "SATA link, writes");
    assert_eq!((writes.pap, writes.direction), (None, Some(Direction::Write)));
    assert!(writes.source.contains("told to root alone"), "{}", writes.source);
    assert_pap(&seen, "SATA link, reads", 1200e6);
    let tree = Tree::bare_metal();
    let seen = tree.device(logical(&tree, ["mlog", "mimage"]), "253:9");
    assert!(names(&seen).contains(&"SATA link, writes"));
}
