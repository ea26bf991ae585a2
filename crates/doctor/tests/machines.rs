//! Builds machines of many shapes, each healthy, or with planted faults.

use halfpower_probe::TargetIdentity;

use crate::parts::{array, card, either, mapped, nvme, nvme_at, partition, queue, sata, scsi, usb_disk};
use crate::tree::Tree;

/// A shape: how it is built, and the checks that have to find something in its faulty twin.
pub struct Shape {
    pub name: &'static str,
    /// Builds it healthy, or with its faults.
    pub build: fn(&Tree, bool) -> TargetIdentity,
    pub is_guest: bool,
    /// Codes of the checks with findings, sorted.
    pub faults: &'static [&'static str],
}

/// All shapes.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "laptop with NVMe",
        build: laptop,
        is_guest: false,
        faults: &[
            "energy-preference",
            "iommu-strict",
            "pcie-link",
            "pcie-power",
            "read-ahead",
            "scheduler",
            "temperature",
        ],
    },
    Shape { name: "NVMe behind VMD", build: vmd, is_guest: false, faults: &["pcie-link"] },
    Shape {
        name: "SATA SSD on AHCI",
        build: sata_ssd,
        is_guest: false,
        faults: &["command-queueing", "discard", "link-power", "rotational", "sata-link", "write-cache"],
    },
    Shape {
        name: "hard disk on AHCI",
        build: hard_disk,
        is_guest: false,
        faults: &[
            "file-system-block",
            "governor",
            "memory-pressure",
            "merges",
            "sata-link",
            "scsi-errors",
            "write-throttling",
        ],
    },
    Shape {
        name: "hardware RAID",
        build: raid_card,
        is_guest: false,
        faults: &["pcie-link", "queue-requests", "raid-card", "stripe-alignment"],
    },
    Shape {
        name: "md RAID5 on NVMe",
        build: raid5,
        is_guest: false,
        faults: &["md-chunk", "md-degraded", "md-journal", "md-members", "md-stripe-cache", "md-sync", "pcie-errors"],
    },
    Shape {
        name: "md RAID10 on hard disks",
        build: raid10,
        is_guest: false,
        faults: &["md-bitmap", "md-sync", "partition-alignment", "swap-on-disk"],
    },
    Shape {
        name: "LVM with a thin pool",
        build: lvm_thin,
        is_guest: false,
        faults: &["nearly-full", "thin-pool-full"],
    },
    Shape {
        name: "LVM with stripes and a snapshot",
        build: lvm_stripes,
        is_guest: false,
        faults: &["data-journal", "snapshots", "volume-layout"],
    },
    Shape {
        name: "dm-crypt on NVMe",
        build: encrypted,
        is_guest: false,
        faults: &["crypt-instructions", "crypt-queues", "crypt-sector", "mitigations"],
    },
    Shape {
        name: "multipath over Fibre Channel",
        build: multipath,
        is_guest: false,
        faults: &["multipath-paths", "multipath-policy", "scsi-state"],
    },
    Shape {
        name: "NVMe over a network with two paths",
        build: nvme_paths,
        is_guest: false,
        faults: &["nvme-path-policy"],
    },
    Shape {
        name: "NVMe over a network with a lost path",
        build: nvme_lost_path,
        is_guest: false,
        faults: &["nvme-paths", "nvme-state"],
    },
    Shape {
        name: "virtual machine with virtio",
        build: virtio,
        is_guest: true,
        faults: &["clock-source", "hardware-queues", "request-size", "scheduler", "steal-time"],
    },
    Shape {
        name: "cloud instance with NVMe",
        build: cloud,
        is_guest: true,
        faults: &["add-random", "bounce-buffers", "interrupt-spread", "rq-affinity", "write-cache"],
    },
    Shape {
        name: "server with two memory nodes",
        build: two_nodes,
        is_guest: false,
        faults: &["frequency-limit", "kernel-debugging", "memory-node", "zone-reclaim"],
    },
    Shape {
        name: "container with limits",
        build: container,
        is_guest: false,
        faults: &["cgroup-io-limit", "cgroup-io-weight", "cgroup-memory", "cgroup-processors", "locked-memory"],
    },
    Shape {
        name: "NFS mount",
        build: nfs,
        is_guest: false,
        faults: &[
            "line-errors",
            "line-frames",
            "nfs-caching",
            "nfs-connections",
            "nfs-message-size",
            "nfs-version",
            "synchronous-mount",
            "tcp-windows",
        ],
    },
    Shape {
        name: "CIFS mount",
        build: cifs,
        is_guest: false,
        faults: &["line-duplex", "line-speed", "smb-cache", "smb-dialect", "smb-message-size", "smb-protection"],
    },
    Shape { name: "USB disk", build: usb, is_guest: false, faults: &["access-times", "discard", "usb-speed"] },
    Shape { name: "fast USB disk", build: usb_fast, is_guest: false, faults: &["usb-driver"] },
    Shape { name: "zoned disk", build: zoned, is_guest: false, faults: &["dirty-limits", "request-size", "scheduler"] },
    Shape {
        name: "ZFS",
        build: zfs,
        is_guest: false,
        faults: &["zfs-cache", "zfs-flushes", "zfs-pool", "zfs-prefetch"],
    },
    Shape {
        name: "btrfs over two disks",
        build: btrfs,
        is_guest: false,
        faults: &["btrfs-compression", "btrfs-devices", "btrfs-options", "btrfs-work", "read-ahead"],
    },
    Shape { name: "ext4 with odd options", build: ext4, is_guest: false, faults: &["barriers", "delayed-allocation"] },
    Shape { name: "xfs with its log elsewhere", build: xfs, is_guest: false, faults: &["log-device"] },
    Shape { name: "loop device", build: loop_device, is_guest: false, faults: &["loop-buffered"] },
    Shape { name: "FUSE", build: fuse, is_guest: false, faults: &["fuse-requests"] },
    // What has notes only, in both twins.
    Shape { name: "overlay in a container", build: overlay, is_guest: false, faults: &[] },
    Shape { name: "persistent memory", build: persistent, is_guest: false, faults: &[] },
    Shape { name: "bcache", build: bcache, is_guest: false, faults: &[] },
];

fn laptop(tree: &Tree, faulty: bool) -> TargetIdentity {
    let (sys, controller, function) = nvme(tree, 0);
    partition(tree, &format!("{sys}/nvme0n1p2"), "259:2", "1050624");
    tree.mount("259:2", "/", "ext4", "/dev/nvme0n1p2", "rw");
    either(tree, faulty, &format!("{function}/current_link_width"), "4", "2");
    either(tree, faulty, "sys/module/pcie_aspm/parameters/policy", "[default] powersave", "default [powersave]");
    either(tree, faulty, "sys/kernel/iommu_groups/0/type", "DMA-FQ", "DMA");
    either(tree, faulty, &format!("{controller}/hwmon1/temp1_input"), "41850", "82850");
    either(tree, faulty, &format!("{sys}/queue/scheduler"), "[none] bfq", "none [bfq]");
    either(tree, faulty, &format!("{sys}/queue/read_ahead_kb"), "128", "0");
    for cpu in 0..2 {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
        tree.file(&format!("{folder}/scaling_driver"), "intel_pstate\n");
        tree.file(&format!("{folder}/scaling_governor"), "powersave\n");
        either(tree, faulty, &format!("{folder}/energy_performance_preference"), "balance_performance", "power");
    }
    // Deep idle states are a note.
    tree.file("sys/devices/system/cpu/cpu0/cpuidle/state3/name", "C8\n");
    tree.file("sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "200\n");
    Tree::target("/home/me", "259:2", false)
}

/// A drive of PCIe 3 in a slot of PCIe 4, behind Intel's Volume Management Device, which is integrated into the processor: it
/// has the files of a link, and no link.
fn vmd(tree: &Tree, faulty: bool) -> TargetIdentity {
    let integrated = "sys/devices/pci0000:00/0000:00:0e.0";
    tree.pcie(integrated, "Unknown", "0");
    tree.file(&format!("{integrated}/max_link_speed"), "Unknown\n");
    tree.file(&format!("{integrated}/max_link_width"), "255\n");
    let port = format!("{integrated}/pci10000:e0/10000:e0:06.0");
    let function = format!("{port}/10000:e1:00.0");
    nvme_at(tree, 0, [&port, &function]);
    tree.pcie(&port, "8.0 GT/s PCIe", "4");
    tree.pcie(&function, "8.0 GT/s PCIe", "4");
    tree.file(&format!("{function}/max_link_speed"), "8.0 GT/s PCIe\n");
    either(tree, faulty, &format!("{function}/current_link_width"), "4", "2");
    tree.mount("259:0", "/data", "xfs", "/dev/nvme0n1", "rw");
    Tree::target("/data", "259:0", false)
}

fn sata_ssd(tree: &Tree, faulty: bool) -> TargetIdentity {
    let sys = sata(tree, 1, false);
    partition(tree, &format!("{sys}/sda1"), "8:1", "2048");
    tree.mount("8:1", "/data", "ext4", "/dev/sda1", if faulty { "rw,discard" } else { "rw" });
    tree.file(&format!("{sys}/queue/fua"), "0\n");
    tree.file(&format!("{sys}/device/model"), "Some SSD 870\n");
    either(tree, faulty, "sys/class/ata_link/link1/sata_spd", "6.0 Gbps", "1.5 Gbps");
    either(tree, faulty, "sys/class/ata_link/link1/sata_spd_limit", "<unknown>", "1.5 Gbps");
    either(tree, faulty, "sys/class/scsi_host/host1/link_power_management_policy", "med_power_with_dipm", "min_power");
    either(tree, faulty, &format!("{sys}/device/queue_depth"), "32", "1");
    either(tree, faulty, &format!("{sys}/device/scsi_disk/0:0:0:0/cache_type"), "write back", "write through");
    either(tree, faulty, &format!("{sys}/queue/rotational"), "0", "1");
    either(tree, faulty, &format!("{sys}/queue/wbt_lat_usec"), "2000", "75000");
    Tree::target("/data", "8:1", false)
}

fn hard_disk(tree: &Tree, faulty: bool) -> TargetIdentity {
    let sys = sata(tree, 1, true);
    tree.mount("8:0", "/data", "ext4", "/dev/sda", "rw");
    tree.file(&format!("{sys}/queue/add_random"), "1\n");
    either(tree, faulty, "sys/class/ata_link/link1/hw_sata_spd_limit", "6.0 Gbps", "3.0 Gbps");
    either(tree, faulty, "sys/class/ata_link/link1/sata_spd", "6.0 Gbps", "3.0 Gbps");
    either(tree, faulty, &format!("{sys}/queue/wbt_lat_usec"), "75000", "100");
    either(tree, faulty, &format!("{sys}/queue/nomerges"), "0", "2");
    either(tree, faulty, &format!("{sys}/device/iotmo_cnt"), "0x0", "0x3");
    either(tree, faulty, "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil", "powersave");
    either(tree, faulty, "proc/pressure/memory", "some avg10=0.00 avg60=0.00", "some avg10=9.00 avg60=31.50");
    let target = Tree::target("/data", "8:0", false);
    let block = halfpower_spec::Bytes(if faulty { 1024 } else { 4096 });
    TargetIdentity { block, ..target }
}

fn raid_card(tree: &Tree, faulty: bool) -> TargetIdentity {
    let port = "sys/devices/pci0000:00/0000:00:03.0";
    let function = format!("{port}/0000:03:00.0");
    for end in [port, &function] {
        tree.pcie(end, if faulty { "8.0 GT/s PCIe" } else { "16.0 GT/s PCIe" }, "8");
        tree.file(&format!("{end}/max_link_speed"), "16.0 GT/s PCIe\n");
        tree.file(&format!("{end}/max_link_width"), "8\n");
    }
    let device = format!("{function}/host0/target0:2:0/0:2:0:0");
    let sys = format!("{device}/block/sda");
    tree.disk(&sys, "8:0");
    queue(tree, &sys, "none [mq-deadline]");
    tree.link(&format!("{sys}/device"), &device);
    scsi(tree, &device, "256");
    // A card that keeps its cache reports it as off.
    tree.file(&format!("{device}/scsi_disk/0:0:0:0/cache_type"), "write through\n");
    tree.file(&format!("{sys}/queue/write_cache"), "write through\n");
    tree.file(&format!("{sys}/queue/optimal_io_size"), "327680\n");
    either(tree, faulty, &format!("{sys}/queue/nr_requests"), "256", "32");
    either(tree, faulty, "sys/class/raid_devices/0:2:0:0/state", "active", "degraded");
    partition(tree, &format!("{sys}/sda1"), "8:1", if faulty { "2048" } else { "10240" });
    tree.mount("8:1", "/data", "xfs", "/dev/sda1", "rw");
    Tree::target("/data", "8:1", false)
}

fn raid5(tree: &Tree, faulty: bool) -> TargetIdentity {
    let drives: Vec<(String, String, String)> = (0..3).map(|index| nvme(tree, index)).collect();
    let members: Vec<String> = drives.iter().map(|(sys, ..)| sys.clone()).collect();
    let sys = array(tree, "raid5", &members);
    tree.mount("9:0", "/data", "xfs", "/dev/md0", "rw");
    either(tree, faulty, &format!("{sys}/md/degraded"), "0", "1");
    either(tree, faulty, &format!("{sys}/md/sync_action"), "idle", "recover");
    tree.file(&format!("{sys}/md/sync_completed"), if faulty { "310000000 / 1000000000\n" } else { "none\n" });
    tree.file(&format!("{sys}/md/sync_speed"), if faulty { "180000\n" } else { "none\n" });
    either(tree, faulty, &format!("{sys}/md/stripe_cache_size"), "4096", "17");
    either(tree, faulty, &format!("{sys}/md/chunk_size"), "524288", "49152");
    either(tree, faulty, &format!("{sys}/md/group_thread_cnt"), "4", "0");
    either(tree, faulty, &format!("{sys}/md/consistency_policy"), "resync", "ppl");
    either(tree, faulty, &format!("{sys}/md/dev-nvme1n1/state"), "in_sync", "in_sync,write_error");
    either(tree, faulty, &format!("{}/aer_dev_correctable", drives[2].2), "TOTAL_ERR_COR 0", "TOTAL_ERR_COR 4711");
    Tree::target("/data", "9:0", false)
}

fn raid10(tree: &Tree, faulty: bool) -> TargetIdentity {
    let members: Vec<String> = (1..=4)
        .map(|port| {
            let sys = sata(tree, port, true);
            let part = format!("{sys}/{}1", sys.rsplit('/').next().unwrap());
            partition(
                tree,
                &part,
                &format!("8:{}", 16 * (port - 1) + 1),
                if faulty && port == 3 { "63" } else { "2048" },
            );
            part
        })
        .collect();
    let sys = array(tree, "raid10", &members);
    tree.file(&format!("{sys}/md/layout"), "258\n");
    tree.mount("9:0", "/data", "ext4", "/dev/md0", "rw");
    either(tree, faulty, &format!("{sys}/md/bitmap/chunksize"), "67108864", "65536");
    either(tree, faulty, &format!("{sys}/md/sync_action"), "idle", "check");
    let swap = if faulty {
        "Filename Type Size Used Priority\n/dev/sdb2 partition 8388604 262144 -2"
    } else {
        "Filename Type"
    };
    partition(
        tree,
        "sys/devices/pci0000:00/0000:00:17.0/ata2/host2/target2:0:0/2:0:0:0/block/sdb/sdb2",
        "8:18",
        "4096",
    );
    tree.file("proc/swaps", format!("{swap}\n"));
    Tree::target("/data", "9:0", false)
}

fn lvm_thin(tree: &Tree, faulty: bool) -> TargetIdentity {
    let disk = sata(tree, 1, false);
    let part = format!("{disk}/sda1");
    partition(tree, &part, "8:1", "2048");
    let metadata = mapped(tree, 1, "vg-pool_tmeta", "LVM-1-tmeta", "linear 8:1 2048", &[&part]);
    let data = mapped(tree, 2, "vg-pool_tdata", "LVM-2-tdata", "linear 8:1 4096", &[&part]);
    let options = if faulty { "0" } else { "1 skip_block_zeroing" };
    let table = format!("thin-pool 252:1 252:2 128 0 {options}");
    let pool = mapped(tree, 3, "vg-pool-tpool", "LVM-3-tpool", &table, &[&metadata, &data]);
    mapped(tree, 4, "vg-data", "LVM-4", "thin 252:3 1", &[&pool]);
    either(tree, faulty, "state/252:3", "thin-pool 1 90/1024 4000/8000 - rw", "thin-pool 1 90/1024 7900/8000 - rw");
    tree.file("space", if faulty { "/data 1000000 20000 10000\n" } else { "/data 1000000 550000 500000\n" });
    tree.mount("252:4", "/data", "ext4", "/dev/mapper/vg-data", "rw");
    Tree::target("/data", "252:4", false)
}

fn lvm_stripes(tree: &Tree, faulty: bool) -> TargetIdentity {
    let disks = [sata(tree, 1, false), sata(tree, 2, false)];
    let chunk = if faulty { 16 } else { 512 };
    let table = format!("striped 2 {chunk} 8:0 2048 8:16 2048");
    let options = if faulty { "rw,data=journal" } else { "rw" };
    tree.mount("252:0", "/data", "ext4", "/dev/mapper/vg-data", options);
    if faulty {
        let real = mapped(tree, 1, "vg-data-real", "LVM-1-real", &table, &[&disks[0], &disks[1]]);
        mapped(tree, 0, "vg-data", "LVM-0", "snapshot-origin 252:1", &[&real]);
    } else {
        mapped(tree, 0, "vg-data", "LVM-0", &table, &[&disks[0], &disks[1]]);
    }
    Tree::target("/data", "252:0", false)
}

fn encrypted(tree: &Tree, faulty: bool) -> TargetIdentity {
    let (disk, ..) = nvme(tree, 0);
    let table = "crypt aes-xts-plain64 :64:logon:cryptsetup:0123 0 259:0 32768";
    let fast = format!("{table} 3 no_read_workqueue no_write_workqueue sector_size:4096");
    mapped(tree, 0, "secret", "CRYPT-LUKS2-1-secret", if faulty { table } else { &fast }, &[&disk]);
    tree.mount("252:0", "/data", "xfs", "/dev/mapper/secret", "rw");
    let flags = if faulty { "fpu sse2" } else { "fpu sse2 aes" };
    tree.file(
        "proc/cpuinfo",
        format!("processor\t: 0\nmodel name\t: Test CPU\nflags\t\t: {flags}\n\nprocessor\t: 1\nflags\t\t: {flags}\n"),
    );
    let planted = "Mitigation: untrained return thunk; SMT enabled with STIBP protection";
    either(tree, faulty, "sys/devices/system/cpu/vulnerabilities/retbleed", "Not affected", planted);
    Tree::target("/data", "252:0", false)
}

fn multipath(tree: &Tree, faulty: bool) -> TargetIdentity {
    let mut paths = Vec::new();
    for (index, name) in ["sda", "sdb", "sdc", "sdd"].iter().enumerate() {
        let host = 1 + index / 2;
        let device = format!(
            "sys/devices/pci0000:00/0000:00:0{host}.0/host{host}/rport-{host}:0-{index}/target{host}:0:{index}/{host}:0:{index}:0"
        );
        let sys = format!("{device}/block/{name}");
        tree.disk(&sys, &format!("8:{}", 16 * index));
        queue(tree, &sys, "[none] mq-deadline");
        tree.link(&format!("{sys}/device"), &device);
        scsi(tree, &device, "64");
        paths.push(sys);
    }
    either(tree, faulty, &format!("{}/device/state", paths[3]), "running", "offline");
    let table = if faulty {
        "multipath 1 queue_if_no_path 0 2 1 service-time 0 2 1 8:0 1 8:16 1 service-time 0 2 1 8:32 1 8:48 1"
    } else {
        "multipath 1 queue_if_no_path 0 1 1 service-time 0 4 1 8:0 1 8:16 1 8:32 1 8:48 1"
    };
    let below: Vec<&str> = paths.iter().map(String::as_str).collect();
    mapped(tree, 0, "mpatha", "mpath-3600a", table, &below);
    Tree::target("/dev/dm-0", "252:0", true)
}

/// A drive with two controllers over a network.
fn fabric(tree: &Tree, states: [&str; 2], lives: [&str; 2]) -> TargetIdentity {
    let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
    let sys = format!("{subsystem}/nvme0n1");
    tree.disk(&sys, "259:0");
    queue(tree, &sys, "none");
    for index in 0..2 {
        let controller = format!("sys/devices/virtual/nvme-fabrics/ctl/nvme{index}");
        tree.file(&format!("{controller}/state"), format!("{}\n", lives[index]));
        tree.file(&format!("{controller}/transport"), "tcp\n");
        tree.file(&format!("{controller}/nvme0c{index}n1/ana_state"), format!("{}\n", states[index]));
        tree.link(&format!("{subsystem}/nvme{index}"), &controller);
    }
    Tree::target("/dev/nvme0n1", "259:0", true)
}

fn nvme_paths(tree: &Tree, faulty: bool) -> TargetIdentity {
    let target = fabric(tree, ["optimized", "optimized"], ["live", "live"]);
    either(tree, faulty, "sys/devices/virtual/nvme-subsystem/nvme-subsys0/iopolicy", "round-robin", "numa");
    target
}

fn nvme_lost_path(tree: &Tree, faulty: bool) -> TargetIdentity {
    tree.file("sys/devices/virtual/nvme-subsystem/nvme-subsys0/iopolicy", "numa\n");
    match faulty {
        true => fabric(tree, ["optimized", "inaccessible"], ["live", "connecting"]),
        // One of two controllers of the array is always slower.
        false => fabric(tree, ["optimized", "non-optimized"], ["live", "live"]),
    }
}

fn virtio(tree: &Tree, faulty: bool) -> TargetIdentity {
    let sys = "sys/devices/pci0000:00/0000:00:04.0/virtio1/block/vda";
    tree.disk(sys, "254:0");
    queue(tree, sys, if faulty { "none mq-deadline [bfq]" } else { "[none] mq-deadline bfq" });
    tree.file(&format!("{sys}/queue/rotational"), "1\n");
    tree.file(&format!("{sys}/queue/nr_requests"), "256\n");
    tree.file(&format!("{sys}/cache_type"), "write back\n");
    either(tree, faulty, &format!("{sys}/queue/max_sectors_kb"), "1280", "64");
    for queue in 0..if faulty { 1 } else { 2 } {
        tree.file(&format!("{sys}/mq/{queue}/cpu_list"), format!("{queue}\n"));
    }
    let cpu = |number: u32| format!("processor\t: {number}\nmodel name\t: Test CPU\nflags\t\t: fpu hypervisor\n\n");
    tree.file("proc/cpuinfo", cpu(0) + &cpu(1));
    either(tree, faulty, "proc/stat", "cpu  1000 0 1000 9000 0 0 0 20 0 0", "cpu  1000 0 1000 9000 0 0 0 900 0 0");
    either(tree, faulty, "sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock", "hpet");
    tree.mount("254:0", "/", "ext4", "/dev/vda", "rw,discard");
    Tree::target("/srv", "254:0", false)
}

fn cloud(tree: &Tree, faulty: bool) -> TargetIdentity {
    let (sys, _, function) = nvme(tree, 0);
    // A guest's port may name any width.
    tree.file(&format!("{function}/current_link_width"), "1\n");
    tree.mount("259:0", "/data", "xfs", "/dev/nvme0n1", "rw");
    either(tree, faulty, &format!("{sys}/queue/add_random"), "0", "1");
    either(tree, faulty, &format!("{sys}/queue/rq_affinity"), "2", "0");
    tree.file(&format!("{sys}/queue/write_cache"), "write through\n");
    either(tree, faulty, "cache/nvme0n1", "none", "write through");
    either(tree, faulty, "proc/cmdline", "ro swiotlb=noforce", "ro swiotlb=force");
    let counts = "           CPU0       CPU1\n 30:         10          0  PCI-MSIX nvme0q0\n 31:      50000          0  PCI-MSIX nvme0q1\n \
                  32:      60000          0  PCI-MSIX nvme0q2\n";
    tree.file("proc/interrupts", counts);
    for (number, healthy) in [("30", "0"), ("31", "0"), ("32", "1")] {
        tree.file(&format!("{function}/msi_irqs/{number}"), "msix\n");
        either(tree, faulty, &format!("proc/irq/{number}/smp_affinity_list"), healthy, "0");
    }
    Tree::target("/data", "259:0", false)
}

fn two_nodes(tree: &Tree, faulty: bool) -> TargetIdentity {
    let (_, _, function) = nvme(tree, 0);
    tree.mount("259:0", "/data", "xfs", "/dev/nvme0n1", "rw");
    tree.file(&format!("{function}/numa_node"), "1\n");
    tree.file("sys/devices/system/node/node0/cpulist", "0-7\n");
    tree.file("sys/devices/system/node/node1/cpulist", "8-15\n");
    let allowed = if faulty { "0-1" } else { "0-15" };
    tree.file("proc/self/status", format!("Name:\tx\nCapEff:\t0000000000000000\nCpus_allowed_list:\t{allowed}\n"));
    either(tree, faulty, "proc/sys/vm/zone_reclaim_mode", "0", "1");
    either(tree, faulty, "proc/cmdline", "ro quiet", "ro quiet slub_debug=FZPU");
    either(tree, faulty, "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "3200000", "1600000");
    Tree::target("/data", "259:0", false)
}

fn container(tree: &Tree, faulty: bool) -> TargetIdentity {
    nvme(tree, 0);
    tree.mount("259:0", "/data", "ext4", "/dev/nvme0n1", "rw");
    tree.mount("0:26", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw");
    tree.file("proc/self/cgroup", "0::/pod/box\n");
    let group = "sys/fs/cgroup/pod/box";
    either(tree, faulty, &format!("{group}/io.max"), "", "259:0 rbps=25000000 wbps=max riops=max wiops=500");
    either(tree, faulty, &format!("{group}/io.weight"), "default 100", "default 10");
    either(tree, faulty, &format!("{group}/memory.max"), "max", "268435456");
    either(tree, faulty, &format!("{group}/memory.high"), "max", "201326592");
    either(tree, faulty, &format!("{group}/cpu.max"), "max 100000", "50000 100000");
    let locked = if faulty { "65536" } else { "8388608" };
    tree.file(
        "proc/self/limits",
        format!("Max locked memory         {locked}                {locked}                bytes\n"),
    );
    Tree::target("/data", "259:0", false)
}

fn nfs(tree: &Tree, faulty: bool) -> TargetIdentity {
    card(tree, "25000", "full", if faulty { "1400" } else { "9000" });
    let options = match faulty {
        true => "rw,sync,vers=2,proto=tcp,rsize=8192,wsize=8192,noac,addr=10.0.0.2",
        false => "rw,vers=4.2,proto=tcp,rsize=1048576,wsize=1048576,nconnect=8,addr=10.0.0.2",
    };
    tree.mount("0:50", "/net", "nfs4", "server:/export", options);
    tree.file("sys/class/bdi/0:50/read_ahead_kb", "128\n");
    either(tree, faulty, "sys/class/net/eth0/statistics/rx_dropped", "0", "5000");
    either(tree, faulty, "proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456", "4096 16384 65536");
    Tree::target("/net/x", "0:50", false)
}

fn cifs(tree: &Tree, faulty: bool) -> TargetIdentity {
    card(tree, if faulty { "100" } else { "1000" }, if faulty { "half" } else { "full" }, "1500");
    let options = match faulty {
        true => "rw,vers=2.1,cache=none,seal,rsize=65536,wsize=65536,addr=10.0.0.2",
        false => "rw,vers=3.1.1,cache=strict,rsize=4194304,wsize=4194304,addr=10.0.0.2",
    };
    tree.mount("0:51", "/share", "cifs", "//server/share", options);
    Tree::target("/share", "0:51", false)
}

fn usb(tree: &Tree, faulty: bool) -> TargetIdentity {
    let (mbit, version) = if faulty { ("480", "2.10") } else { ("5000", "3.20") };
    usb_disk(tree, mbit, version, "uas");
    let line = if faulty { "rw" } else { "rw,relatime" };
    let options = if faulty { "rw,discard" } else { "rw" };
    tree.file("proc/self/mountinfo", format!("30 1 8:16 / /mnt/usb {line} shared:1 - ext4 /dev/sdb {options}\n"));
    Tree::target("/mnt/usb", "8:16", false)
}

fn usb_fast(tree: &Tree, faulty: bool) -> TargetIdentity {
    let sys = usb_disk(tree, "5000", "3.20", if faulty { "usb-storage" } else { "uas" });
    tree.file(&format!("{sys}/device/queue_depth"), "1\n");
    Tree::target("/dev/sdb", "8:16", true)
}

fn zoned(tree: &Tree, faulty: bool) -> TargetIdentity {
    let sys = sata(tree, 1, true);
    tree.file(&format!("{sys}/queue/zoned"), "host-managed\n");
    tree.file(&format!("{sys}/queue/chunk_sectors"), "524288\n");
    either(tree, faulty, &format!("{sys}/queue/scheduler"), "none [mq-deadline]", "[none] mq-deadline");
    either(tree, faulty, &format!("{sys}/queue/max_sectors_kb"), "1280", "128");
    either(tree, faulty, "proc/sys/vm/dirty_bytes", "0", "1048576");
    tree.mount("8:0", "/data", "f2fs", "/dev/sda", "rw");
    Tree::target("/data", "8:0", false)
}

fn zfs(tree: &Tree, faulty: bool) -> TargetIdentity {
    tree.mount("0:60", "/tank/data", "zfs", "tank/data", "rw,xattr");
    tree.file("sys/module/zfs/version", "2.2.4-1\n");
    either(tree, faulty, "proc/spl/kstat/zfs/tank/state", "ONLINE", "DEGRADED");
    let most: u64 = if faulty { 64 << 20 } else { 8 << 30 };
    tree.file("proc/spl/kstat/zfs/arcstats", format!("13 1 0x01\nname type data\nc_min 4 1\nc_max 4 {most}\n"));
    tree.file("sys/module/zfs/parameters/zfs_arc_max", "0\n");
    either(tree, faulty, "sys/module/zfs/parameters/zfs_prefetch_disable", "0", "1");
    either(tree, faulty, "sys/module/zfs/parameters/zfs_nocacheflush", "0", "1");
    Tree::target("/tank/data", "0:60", false)
}

fn btrfs(tree: &Tree, faulty: bool) -> TargetIdentity {
    let disks = [sata(tree, 1, false), sata(tree, 2, false)];
    for (part, number, start) in [("sda1", "8:1", "2048"), ("sda2", "8:2", "1050624")] {
        partition(tree, &format!("{}/{part}", disks[0]), number, start);
    }
    // Another one on a partition of the same disk, which is not well.
    tree.link("sys/fs/btrfs/0123-4567/devices/sda1", &format!("{}/sda1", disks[0]));
    tree.file("sys/fs/btrfs/0123-4567/exclusive_operation", "device remove\n");
    tree.file("sys/fs/btrfs/0123-4567/devinfo/1/missing", "1\n");
    tree.link("sys/fs/btrfs/1234-abcd/devices/sda2", &format!("{}/sda2", disks[0]));
    tree.link("sys/fs/btrfs/1234-abcd/devices/sdb", &disks[1]);
    for port in 1..=2 {
        let info = format!("sys/fs/btrfs/1234-abcd/devinfo/{port}");
        tree.file(&format!("{info}/missing"), "0\n");
        let errors = |count: u32| format!("write_errs {count}\nread_errs 0\nflush_errs 0\ncorruption_errs 0\n");
        tree.file(&format!("{info}/error_stats"), errors(if faulty && port == 2 { 12 } else { 0 }));
    }
    either(tree, faulty, "sys/fs/btrfs/1234-abcd/exclusive_operation", "none", "balance");
    let options = match faulty {
        true => "rw,compress-force=zstd:3,autodefrag,space_cache=v2",
        false => "rw,compress=zstd:1,discard=async,space_cache=v2",
    };
    tree.mount("0:31", "/pool", "btrfs", "/dev/sda2", options);
    let device = "sys/devices/virtual/bdi/btrfs-1";
    tree.link("sys/fs/btrfs/1234-abcd/bdi", device);
    tree.link("sys/class/bdi/btrfs-1", device);
    either(tree, faulty, &format!("{device}/read_ahead_kb"), "4096", "0");
    Tree::target("/pool", "0:31", false)
}

fn ext4(tree: &Tree, faulty: bool) -> TargetIdentity {
    sata(tree, 1, true);
    tree.mount("8:0", "/data", "ext4", "/dev/sda", if faulty { "rw,nobarrier,nodelalloc" } else { "rw,commit=30" });
    Tree::target("/data", "8:0", false)
}

fn xfs(tree: &Tree, faulty: bool) -> TargetIdentity {
    sata(tree, 1, false);
    sata(tree, 2, faulty);
    tree.mount("8:0", "/data", "xfs", "/dev/sda", "rw,logdev=/dev/sdb");
    Tree::target("/data", "8:0", false)
}

fn loop_device(tree: &Tree, faulty: bool) -> TargetIdentity {
    nvme(tree, 0);
    tree.mount("259:0", "/", "ext4", "/dev/nvme0n1", "rw");
    let sys = "sys/devices/virtual/block/loop0";
    tree.disk(sys, "7:0");
    tree.file(&format!("{sys}/loop/backing_file"), "/images/disk.img\n");
    either(tree, faulty, &format!("{sys}/loop/dio"), "1", "0");
    Tree::target("/dev/loop0", "7:0", true)
}

fn fuse(tree: &Tree, faulty: bool) -> TargetIdentity {
    let options = if faulty { "rw,user_id=0,max_read=4096" } else { "rw,user_id=0,max_read=131072" };
    tree.mount("0:55", "/mnt/fuse", "fuse.sshfs", "host:", options);
    tree.file("sys/class/bdi/0:55/read_ahead_kb", "128\n");
    tree.file("sys/class/bdi/0:55/max_ratio", "1\n");
    Tree::target("/mnt/fuse", "0:55", false)
}

fn overlay(tree: &Tree, _: bool) -> TargetIdentity {
    tree.mount("0:41", "/", "overlay", "overlay", "rw,lowerdir=/l,upperdir=/u");
    Tree::target("/home", "0:41", false)
}

fn persistent(tree: &Tree, _: bool) -> TargetIdentity {
    tree.disk("sys/devices/LNXSYSTM:00/ndbus0/region0/namespace0.0/block/pmem0", "259:0");
    tree.mount("259:0", "/data", "xfs", "/dev/pmem0", "rw,dax=always");
    tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    tree.file("proc/sys/vm/swappiness", "100\n");
    tree.file("proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 8388604 0 -2\n");
    Tree::target("/data", "259:0", false)
}

fn bcache(tree: &Tree, _: bool) -> TargetIdentity {
    let disk = sata(tree, 1, true);
    let sys = "sys/devices/virtual/block/bcache0";
    tree.disk(sys, "251:0");
    tree.file(&format!("{sys}/bcache/cache_mode"), "writethrough [writeback] writearound none\n");
    tree.stands_on(sys, &disk);
    Tree::target("/dev/bcache0", "251:0", true)
}
