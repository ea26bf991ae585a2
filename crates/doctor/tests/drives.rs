//! Builds machines whose faults are told by drives, drivers and extents, and not by the kernel's files alone.

use halfpower_probe::TargetIdentity;

use crate::machines::Shape;
use crate::parts::{card, either, mapped, nvme, queue, sata, scsi};
use crate::raw::{Answers, WELL, log_pages, nvme_pages, smart};
use crate::tree::Tree;

/// All of them.
pub const DRIVES: &[Shape] = &[
    Shape {
        name: "NVMe drive at its end",
        build: worn,
        is_guest: false,
        faults: &[
            "nvme-format",
            "nvme-heat",
            "nvme-media-errors",
            "nvme-power-state",
            "nvme-warnings",
            "nvme-wear",
            "temperature",
        ],
    },
    Shape {
        name: "hard disk at its end",
        build: ageing,
        is_guest: false,
        faults: &["smart-link-errors", "smart-sectors"],
    },
    Shape { name: "SAS disk at its end", build: sas, is_guest: false, faults: &["scsi-logs"] },
    Shape { name: "IDE disk", build: ide, is_guest: false, faults: &["scheduler", "transfer-mode"] },
    Shape { name: "file of a database", build: database, is_guest: false, faults: &["fragmentation"] },
    Shape { name: "dm-crypt with plain code", build: plain_code, is_guest: false, faults: &["crypt-code"] },
    Shape { name: "RAID of LVM", build: lvm_raid, is_guest: false, faults: &["lvm-raid"] },
    Shape { name: "ext4 with its journal elsewhere", build: journal, is_guest: false, faults: &["log-device"] },
    Shape {
        name: "NFS over a bond",
        build: bond,
        is_guest: false,
        faults: &["line-mtu", "line-negotiation", "line-offloads"],
    },
];

fn worn(tree: &Tree, faulty: bool) -> TargetIdentity {
    let (_, controller, _) = nvme(tree, 0);
    // The kernel has no sensor of it.
    tree.remove(&format!("{controller}/hwmon1/temp1_input"));
    let worn = Answers {
        warnings: 0b101,
        celsius: 81,
        spare_percent: 5,
        used_percent: 104,
        media_errors: 12,
        warm_minutes: 900,
        throttled: 7,
        power_state: 1,
        ranks: [2, 0],
    };
    nvme_pages(tree, "nvme0n1", if faulty { &worn } else { &WELL });
    tree.mount("259:0", "/data", "xfs", "/dev/nvme0n1", "rw");
    Tree::target("/data", "259:0", false)
}

fn ageing(tree: &Tree, faulty: bool) -> TargetIdentity {
    sata(tree, 1, true);
    smart(tree, "sda", if faulty { [8, 3, 2, 4000] } else { [0, 0, 0, 3] });
    tree.mount("8:0", "/data", "ext4", "/dev/sda", "rw");
    Tree::target("/data", "8:0", false)
}

fn sas(tree: &Tree, faulty: bool) -> TargetIdentity {
    let port = "sys/devices/pci0000:00/0000:00:03.0/host0/port-0:0/end_device-0:0";
    let device = format!("{port}/target0:0:0/0:0:0:0");
    let sys = format!("{device}/block/sda");
    tree.disk(&sys, "8:0");
    queue(tree, &sys, "none [mq-deadline]");
    tree.link(&format!("{sys}/device"), &device);
    scsi(tree, &device, "254");
    let (forecast, lost) = if faulty { ([0x5d, 0x10], 4) } else { ([0, 0], 0) };
    // That much of a life is a note.
    log_pages(tree, "sda", forecast, lost, 93);
    tree.mount("8:0", "/data", "xfs", "/dev/sda", "rw");
    Tree::target("/data", "8:0", false)
}

fn ide(tree: &Tree, faulty: bool) -> TargetIdentity {
    let port = "sys/devices/pci0000:00/0000:00:01.1/ata1";
    let device = format!("{port}/host0/target0:0:0/0:0:0:0");
    let sys = format!("{device}/block/sda");
    tree.disk(&sys, "8:0");
    queue(tree, &sys, "none [mq-deadline] bfq");
    tree.link(&format!("{sys}/device"), &device);
    scsi(tree, &device, "1");
    let mode = |place: u32| format!("{port}/link1/dev1.{place}/ata_device/dev1.{place}/xfer_mode");
    either(tree, faulty, &mode(0), "XFER_UDMA_5", "XFER_PIO_4");
    tree.file(&mode(1), "unknown\n");
    either(tree, faulty, &format!("{sys}/queue/scheduler"), "none [mq-deadline] bfq", "none mq-deadline [bfq]");
    smart(tree, "sda", [0; 4]);
    tree.mount("8:0", "/data", "ext4", "/dev/sda", "rw");
    Tree::target("/data", "8:0", false)
}

fn database(tree: &Tree, faulty: bool) -> TargetIdentity {
    sata(tree, 1, false);
    tree.mount("8:0", "/data", "xfs", "/dev/sda", "rw");
    // Half of the healthy one is a hole, which is a note.
    either(tree, faulty, "layouts", "/data/db 1073741824 536870912 0 4", "/data/db 1073741824 1073741824 0 40000");
    Tree::target("/data/db", "8:0", false)
}

fn plain_code(tree: &Tree, faulty: bool) -> TargetIdentity {
    let (disk, ..) = nvme(tree, 0);
    let table = "crypt aes-xts-plain64 :64:logon:cryptsetup:0123 0 259:0 32768 3 no_read_workqueue no_write_workqueue \
                 sector_size:4096";
    mapped(tree, 0, "secret", "CRYPT-LUKS2-1-secret", table, &[&disk]);
    tree.mount("252:0", "/data", "xfs", "/dev/mapper/secret", "rw");
    let cpu = |number: u32| format!("processor\t: {number}\nmodel name\t: Test CPU\nflags\t\t: fpu sse2 aes\n\n");
    tree.file("proc/cpuinfo", cpu(0) + &cpu(1));
    let plain = "name         : xts(aes)\ndriver       : xts(ecb(aes-generic))\npriority     : 100\n\n";
    let fast = "name         : xts(aes)\ndriver       : xts-aes-aesni\npriority     : 401\n";
    tree.file("proc/crypto", if faulty { plain.to_string() } else { format!("{plain}{fast}") });
    Tree::target("/data", "252:0", false)
}

fn lvm_raid(tree: &Tree, faulty: bool) -> TargetIdentity {
    let images: Vec<String> = (1..=3)
        .map(|port| {
            let disk = sata(tree, port, false);
            let name = format!("vg-data_rimage_{}", port - 1);
            let table = format!("linear 8:{} 8192", 16 * (port - 1));
            mapped(tree, port, &name, &format!("LVM-{port}"), &table, &[&disk])
        })
        .collect();
    let below: Vec<&str> = images.iter().map(String::as_str).collect();
    let table = "raid raid5_ls 3 1024 region_size 1024 3 - 252:1 - 252:2 - 252:3";
    mapped(tree, 0, "vg-data", "LVM-0", table, &below);
    either(
        tree,
        faulty,
        "state/252:0",
        "raid raid5_ls 3 AAA 100/100 idle 0 0 -",
        "raid raid5_ls 3 AAD 90/100 idle 0 0 -",
    );
    tree.mount("252:0", "/data", "ext4", "/dev/mapper/vg-data", "rw");
    Tree::target("/data", "252:0", false)
}

fn journal(tree: &Tree, faulty: bool) -> TargetIdentity {
    sata(tree, 1, false);
    sata(tree, 2, faulty);
    tree.mount("8:0", "/data", "ext4", "/dev/sda", "rw");
    tree.file("sys/fs/ext4/sda/journal_task", "77\n");
    tree.file("proc/77/comm", "jbd2/sdb\n");
    // Much is reserved for root, which is a note.
    tree.file("space", "/data 100000000000 60000000000 40000000000\n");
    Tree::target("/data", "8:0", false)
}

fn bond(tree: &Tree, faulty: bool) -> TargetIdentity {
    card(tree, if faulty { "1000" } else { "10000" }, "full", "1500");
    either(tree, faulty, "sys/class/net/eth1/mtu", "1500", "1400");
    tree.link("sys/class/net/eth0/lower_eth1", "sys/class/net/eth1");
    let receive = if faulty { "off" } else { "on" };
    let partner = if faulty { "1000" } else { "1000 10000" };
    tree.file(
        "ethtool/eth0",
        format!(
            "generic-receive-offload: {receive}\ngeneric-segmentation-offload: on\ntcp-segmentation-offload: on\n\
             negotiated: on\nsupported: 1000 10000\nadvertised: 1000 10000\npartner: {partner}\n"
        ),
    );
    let options = "rw,vers=4.2,proto=tcp,rsize=1048576,wsize=1048576,nconnect=8,addr=10.0.0.2";
    tree.mount("0:50", "/net", "nfs4", "server:/export", options);
    tree.file("sys/class/bdi/0:50/read_ahead_kb", "128\n");
    Tree::target("/net/x", "0:50", false)
}
