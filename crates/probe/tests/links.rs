//! Checks that every link on the way to a disk gets the figure of its specification.

use crate::tree::{Tree, assert_pap, level, names};
use halfpower_spec::Bytes;

const NVME: &str = "sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0/nvme0n1";
const NVME_PORT: &str = "sys/devices/pci0000:00/0000:00:1d.0";
const NVME_FUNCTION: &str = "sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0";
const SATA: &str = "sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";

fn nvme(tree: &Tree) {
    tree.disk(NVME, "259:0");
    tree.partition(&format!("{NVME}/nvme0n1p2"), "259:2");
    tree.file(&format!("{NVME_FUNCTION}/nvme/nvme0/model"), "Fast Drive 990\n");
    tree.file(&format!("{NVME_FUNCTION}/nvme/nvme0/firmware_rev"), "4B2QGXA7\n");
    tree.pcie(NVME_PORT, "16.0 GT/s PCIe", "4");
    tree.pcie(NVME_FUNCTION, "16.0 GT/s PCIe", "4");
    tree.mount("259:2", "/", "ext4", "/dev/nvme0n1p2", "rw,discard");
}

#[test]
fn a_partition_on_nvme_leads_to_the_drive_and_its_pcie_link() {
    let tree = Tree::bare_metal();
    nvme(&tree);
    let seen = tree.folder("/home/me", "259:2");
    assert_eq!(names(&seen), ["memory", "processor", "PCIe link", "device"]);
    assert_pap(&seen, "PCIe link", 16e9 * 4.0 * 128.0 / 130.0 / 8.0);
    assert!(level(&seen, "PCIe link").source.contains("16 GT/s x4 at 0000:01:00.0"));
    assert!(!level(&seen, "PCIe link").half_duplex, "it has lanes for each way");
    assert_eq!(level(&seen, "device").pap, None);
    assert!(level(&seen, "device").source.contains("nvme0n1: an NVMe drive advertises no speed"));

    let device = seen.device.expect("a device");
    assert_eq!((device.name.as_str(), device.transport.as_deref()), ("nvme0n1", Some("nvme")));
    assert_eq!((device.model.as_deref(), device.firmware.as_deref()), (Some("Fast Drive 990"), Some("4B2QGXA7")));
    assert_eq!((device.size, device.logical_block, device.physical_block), (Bytes(1 << 30), Bytes(512), Bytes(4096)));
    assert_eq!((device.rotational, device.read_ahead), (Some(false), Some(Bytes(128 << 10))));
    assert_eq!((device.write_cache.as_deref(), device.scheduler.as_deref()), (Some("write back"), Some("mq-deadline")));

    let filesystem = seen.filesystem.expect("a file system");
    assert_eq!((filesystem.kind.as_str(), filesystem.options.as_str()), ("ext4", "rw,relatime,discard"));
    assert_eq!(filesystem.block, Bytes(4096));
    assert_eq!((seen.machine.cpus, seen.machine.memory), (2, Bytes(16384000 << 10)));
    assert_eq!((seen.machine.kernel.as_str(), seen.machine.virtualised), ("6.9.1-test", None));
}

/// As podman mounts /sys: its folders of devices by number are covered by an empty one.
#[test]
fn a_container_that_hides_devices_by_number_shows_them_by_name() {
    let tree = Tree::bare_metal();
    nvme(&tree);
    std::fs::remove_dir_all(tree.root().absolute("sys/dev/block")).unwrap();
    let seen = tree.folder("/home/me", "259:2");
    assert_eq!(names(&seen), ["memory", "processor", "PCIe link", "device"]);
    assert_eq!(seen.device.expect("a device").name, "nvme0n1");
}

#[test]
fn what_a_devices_queues_hold_is_told() {
    let tree = Tree::bare_metal();
    nvme(&tree);
    tree.disk(SATA, "8:0");
    let queue = |path: &str, number: &str| {
        let device = tree.device(path, number).device.expect("a device");
        (device.queue_requests, device.queues)
    };
    tree.file(&format!("{NVME}/queue/nr_requests"), "1023\n");
    assert_eq!(queue("/dev/nvme0n1", "259:0"), (None, None), "a device without queues of its own");
    for number in 0..4 {
        tree.file(&format!("{NVME}/mq/{number}/nr_tags"), "1023\n");
    }
    assert_eq!(queue("/dev/nvme0n1", "259:0"), (Some(1023), Some(4)));
    for number in 0..2 {
        tree.file(&format!("{SATA}/mq/{number}/nr_tags"), "32\n");
    }
    tree.file(&format!("{SATA}/queue/nr_requests"), "64\n");
    let of_disk = SATA.replace("/block/sda", "/queue_depth");
    tree.file(&of_disk, "31\n");
    tree.link(&format!("{SATA}/device"), SATA.trim_end_matches("/block/sda"));
    assert_eq!(queue("/dev/sda", "8:0"), (Some(31), Some(1)), "a disk's depth holds for all of its queues");
}

#[test]
fn a_block_device_has_no_file_system() {
    let tree = Tree::bare_metal();
    nvme(&tree);
    let seen = tree.device("/dev/nvme0n1", "259:0");
    assert_eq!(seen.filesystem, None);
    assert_eq!(names(&seen), ["memory", "processor", "PCIe link", "device"]);
}

#[test]
fn a_link_below_what_the_device_could_do_says_so() {
    let tree = Tree::bare_metal();
    nvme(&tree);
    tree.pcie(NVME_FUNCTION, "8.0 GT/s PCIe", "2");
    tree.file(&format!("{NVME_FUNCTION}/max_link_speed"), "16.0 GT/s PCIe\n");
    tree.file(&format!("{NVME_FUNCTION}/max_link_width"), "4\n");
    let seen = tree.folder("/", "259:2");
    assert_pap(&seen, "PCIe link", 8e9 * 2.0 * 128.0 / 130.0 / 8.0);
    assert!(level(&seen, "PCIe link").source.ends_with("the device could do 16 GT/s x4"));
}

#[test]
fn a_narrow_link_before_the_last_is_a_level_of_its_own() {
    let tree = Tree::bare_metal();
    nvme(&tree);
    tree.pcie(NVME_PORT, "8.0 GT/s PCIe", "1");
    let seen = tree.folder("/", "259:2");
    assert_eq!(names(&seen), ["memory", "processor", "PCIe uplink", "PCIe link", "device"]);
    assert_pap(&seen, "PCIe uplink", 8e9 * 128.0 / 130.0 / 8.0);
}

/// The ports of a tunnel through Thunderbolt or USB4 name PCIe 1.0, whatever the cable carries.
#[test]
fn the_port_of_a_tunnel_is_no_narrow_link() {
    let behind_a_tunnel = || {
        let tree = Tree::bare_metal();
        nvme(&tree);
        tree.pcie(NVME_PORT, "2.5 GT/s PCIe", "4");
        tree.file(&format!("{NVME_PORT}/max_link_speed"), "2.5 GT/s PCIe\n");
        tree.pcie(NVME_FUNCTION, "8.0 GT/s PCIe", "4");
        tree
    };
    let uplink = |tree: &Tree| level(&tree.folder("/", "259:2"), "PCIe uplink").clone();
    assert_pap(&behind_a_tunnel().folder("/", "259:2"), "PCIe uplink", 1e9);
    let tree = behind_a_tunnel();
    tree.file(&format!("{NVME_FUNCTION}/removable"), "removable\n");
    assert_eq!(uplink(&tree).pap, None);
    assert!(uplink(&tree).source.contains("0000:00:1d.0 may be a tunnel through Thunderbolt or USB4"));
    assert_pap(&tree.folder("/", "259:2"), "PCIe link", 8e9 * 4.0 * 128.0 / 130.0 / 8.0);
    let tree = behind_a_tunnel();
    tree.file("sys/bus/thunderbolt/devices/0-1/device_name", "Box\n");
    assert_eq!(uplink(&tree).pap, None, "a kernel that does not tell what is removable");
    tree.pcie(NVME_PORT, "8.0 GT/s PCIe", "1");
    tree.file(&format!("{NVME_PORT}/max_link_speed"), "8.0 GT/s PCIe\n");
    assert_pap(&tree.folder("/", "259:2"), "PCIe uplink", 8e9 * 128.0 / 130.0 / 8.0);
}

/// As of a USB controller in a dock.
#[test]
fn a_controller_at_the_end_of_a_tunnel_has_no_figure() {
    let tree = Tree::bare_metal();
    nvme(&tree);
    tree.pcie(NVME_FUNCTION, "2.5 GT/s PCIe", "4");
    tree.file(&format!("{NVME_FUNCTION}/removable"), "removable\n");
    let seen = tree.folder("/", "259:2");
    assert_eq!(names(&seen), ["memory", "processor", "PCIe link", "device"]);
    assert_eq!(level(&seen, "PCIe link").pap, None);
}

#[test]
fn an_nvme_subsystem_leads_to_its_controllers() {
    let tree = Tree::bare_metal();
    let head = "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme3n1";
    tree.disk(head, "259:0");
    for (controller, bus) in [("nvme3", "0000:05:00.0"), ("nvme4", "0000:06:00.0")] {
        let function = format!("sys/devices/pci0000:00/{bus}");
        tree.pcie(&function, "5.0 GT/s PCIe", "2");
        tree.link(
            &format!("sys/devices/virtual/nvme-subsystem/nvme-subsys0/{controller}"),
            &format!("{function}/nvme/{controller}"),
        );
    }
    let seen = tree.device("/dev/nvme3n1", "259:0");
    assert_pap(&seen, "PCIe link", 2.0 * 5e9 * 2.0 * 0.8 / 8.0);
    assert!(level(&seen, "PCIe link").source.starts_with("2 together"));
}

#[test]
fn a_sata_disk_has_its_link_of_eight_bits_in_ten() {
    let tree = Tree::bare_metal();
    tree.disk(SATA, "8:0");
    tree.file("sys/devices/pci0000:00/0000:00:17.0/ata3/link3/ata_link/link3/sata_spd", "6.0 Gbps\n");
    tree.file(&format!("{SATA}/queue/rotational"), "1\n");
    tree.link(&format!("{SATA}/device"), "sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0");
    tree.file(&format!("{SATA}/device/vendor"), "ATA     \n");
    tree.file(&format!("{SATA}/device/model"), "WDC WD40EFRX-68N\n");
    let seen = tree.device("/dev/sda", "8:0");
    assert_eq!(names(&seen), ["memory", "processor", "SATA link", "device"]);
    assert_pap(&seen, "SATA link", 6e9 * 0.8 / 8.0);
    assert!(level(&seen, "SATA link").half_duplex, "reads and writes share it");
    let device = seen.device.expect("a device");
    assert_eq!((device.model.as_deref(), device.rotational), (Some("WDC WD40EFRX-68N"), Some(true)));
    assert_eq!(device.transport.as_deref(), Some("sata"));
}

#[test]
fn usb_and_sas_and_fibre_channel() {
    let tree = Tree::bare_metal();
    let usb = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1.4";
    tree.disk(&format!("{usb}/2-1.4:1.0/host6/target6:0:0/6:0:0:0/block/sdb"), "8:16");
    tree.file(&format!("{usb}/speed"), "5000\n");
    tree.file("sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/speed", "10000\n");
    let seen = tree.device("/dev/sdb", "8:16");
    assert_pap(&seen, "USB link", 5e9 * 0.8 / 8.0);
    assert_eq!(seen.device.and_then(|device| device.transport).as_deref(), Some("usb"));

    let port = "sys/devices/pci0000:00/0000:02:00.0/host0/port-0:0";
    tree.disk(&format!("{port}/end_device-0:0/target0:0:0/0:0:0:0/block/sdc"), "8:32");
    for phy in ["phy-0:0", "phy-0:1"] {
        tree.link(&format!("{port}/{phy}"), &format!("sys/devices/{phy}"));
        tree.file(&format!("sys/class/sas_phy/{phy}/negotiated_linkrate"), "12.0 Gbit\n");
    }
    let seen = tree.device("/dev/sdc", "8:32");
    assert_pap(&seen, "SAS link", 2.0 * 12e9 * 0.8 / 8.0);

    let host = "sys/devices/pci0000:00/0000:03:00.0/host4";
    tree.disk(&format!("{host}/rport-4:0-1/target4:0:0/4:0:0:0/block/sdd"), "8:48");
    tree.file("sys/class/fc_host/host4/speed", "16 Gbit\n");
    assert_pap(&tree.device("/dev/sdd", "8:48"), "Fibre Channel link", 1600e6);
}

#[test]
fn in_a_virtual_machine_no_figure_of_a_link_is_believed() {
    let tree = Tree::guest();
    nvme(&tree);
    let seen = tree.folder("/", "259:2");
    assert_eq!(seen.machine.virtualised.as_deref(), Some("virtual machine (KVM)"));
    assert_eq!(level(&seen, "PCIe link").pap, None);
    assert!(level(&seen, "PCIe link").source.contains("16 GT/s x4"));

    tree.disk("sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda", "254:0");
    let seen = tree.device("/dev/vda", "254:0");
    assert_eq!(names(&seen), ["memory", "processor", "device"]);
    assert!(level(&seen, "device").source.contains("a virtio disk advertises no speed"));
    let device = seen.device.expect("a device");
    assert_eq!((device.transport.as_deref(), device.rotational), (Some("virtio"), None));
}

#[test]
fn bare_metal_of_a_cloud_is_no_guest() {
    let tree = Tree::bare_metal();
    tree.file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    tree.file("sys/class/dmi/id/product_name", "m5.metal\n");
    assert_eq!(halfpower_probe::probe_machine(&tree.root()).virtualised, None);
    tree.file("proc/cpuinfo", "processor : 0\nCPU implementer : 0x41\n");
    assert_eq!(halfpower_probe::probe_machine(&tree.root()).virtualised, None);
    tree.file("sys/class/dmi/id/product_name", "m6g.large\n");
    let guest = halfpower_probe::probe_machine(&tree.root()).virtualised;
    assert_eq!(guest.as_deref(), Some("virtual machine (Amazon EC2)"));
}

/// Of ARM there is no flag that tells it.
#[test]
fn a_guest_on_arm_is_known_by_its_names_or_by_what_only_hypervisors_provide() {
    let arm = || {
        let tree = Tree::bare_metal();
        tree.file("proc/cpuinfo", "processor : 0\nCPU implementer : 0x61\n");
        tree
    };
    let guest = |tree: &Tree| halfpower_probe::probe_machine(&tree.root()).virtualised;
    let named = |vendor: &str, product: &str| {
        let tree = arm();
        tree.file("sys/class/dmi/id/sys_vendor", format!("{vendor}\n"));
        tree.file("sys/class/dmi/id/product_name", format!("{product}\n"));
        guest(&tree)
    };
    let apple = named("Apple Inc.", "Apple Virtualization Generic Platform");
    assert_eq!(apple.as_deref(), Some("virtual machine (Apple Virtualization)"));
    let parallels = named("Parallels International GmbH.", "Parallels ARM Virtual Machine");
    assert_eq!(parallels.as_deref(), Some("virtual machine (Parallels)"));
    assert_eq!(named("Ampere", "Mt. Jade"), None);

    let tree = arm();
    assert_eq!(guest(&tree), None, "no names at all");
    tree.file("sys/devices/platform/remoteproc/virtio0/device", "0x0007\n");
    tree.link("sys/bus/virtio/devices/virtio0", "sys/devices/platform/remoteproc/virtio0");
    assert_eq!(guest(&tree), None, "messages to another processor of the chip");
    tree.file("sys/devices/pci0000:00/vdpa0/virtio1/device", "0x0001\n");
    tree.link("sys/bus/virtio/devices/virtio1", "sys/devices/pci0000:00/vdpa0/virtio1");
    assert_eq!(guest(&tree), None, "a card that speaks virtio");
    tree.file("sys/devices/platform/a000000.virtio_mmio/virtio2/device", "0x0002\n");
    tree.link("sys/bus/virtio/devices/virtio2", "sys/devices/platform/a000000.virtio_mmio/virtio2");
    assert_eq!(guest(&tree).as_deref(), Some("virtual machine"));
    let tree = arm();
    tree.file("proc/device-tree/hypervisor/compatible", "linux,kvm\n");
    assert_eq!(guest(&tree).as_deref(), Some("virtual machine"));
}

#[test]
fn what_is_damaged_or_missing_is_unknown() {
    let garbage: [&[u8]; 6] =
        [b"", b"\n", b"Unknown\n", b"-1\n", b"\xff\xfe\x00", b"99999999999999999999999 nan inf\n"];
    for text in garbage {
        let tree = Tree::bare_metal();
        nvme(&tree);
        tree.disk(SATA, "8:0");
        for file in ["current_link_speed", "current_link_width", "max_link_speed"] {
            tree.file(&format!("{NVME_FUNCTION}/{file}"), text);
        }
        for file in ["size", "queue/scheduler", "queue/read_ahead_kb", "queue/rotational", "queue/logical_block_size"] {
            tree.file(&format!("{NVME}/{file}"), text);
        }
        for file in ["proc/cpuinfo", "proc/meminfo", "proc/self/status", "proc/self/cgroup", "proc/1/environ"] {
            tree.file(file, text);
        }
        tree.file("sys/devices/pci0000:00/0000:00:17.0/ata3/link3/ata_link/link3/sata_spd", text);
        let seen = tree.folder("/", "259:2");
        assert_eq!(level(&seen, "PCIe link").pap, None, "{text:?}");
        assert!(level(&seen, "PCIe link").source.contains("does not tell"));
        assert_eq!(seen.device.expect("a device").read_ahead, None);
        assert_eq!(seen.machine.memory, Bytes(0));
        let seen = tree.device("/dev/sda", "8:0");
        assert_eq!(level(&seen, "SATA link").pap, None, "{text:?}");

        tree.file("proc/self/mountinfo", text);
        let seen = tree.folder("/", "259:2");
        assert_eq!(seen.filesystem, None);
        assert_eq!(seen.device.expect("still found by its number").name, "nvme0n1");
    }
}

#[test]
fn an_empty_system_is_all_unknown() {
    let tree = Tree::bare_metal();
    let seen = tree.folder("/data", "8:1");
    assert_eq!((seen.filesystem.is_none(), seen.device.is_none()), (true, true));
    assert_eq!(names(&seen), ["memory", "processor", "device"]);
    assert_eq!(seen.notes, ["no block device 8:1 is known for /data"]);
}
