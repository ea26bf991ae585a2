//! Checks which processors take a device's interrupts, on trees that imitate other machines.

use std::collections::BTreeMap;

use crate::tree::Tree;
use halfpower_probe::interrupts;

const INTERRUPTS: &str = "           CPU0       CPU1       CPU3
 24:          1          0         0  IO-APIC   5-edge      ACPI:Ged
 35:          0          1         0  PCI-MSIX-0000:00:02.0   0-edge      virtio1-config
 36:          7     409468         2  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:        900          0         0  virtio12-req.0
LOC:     741261     763530         5  Local timer interrupts
";

fn taken(found: &halfpower_probe::Interrupts) -> Vec<(usize, u64)> {
    found.by_processor.iter().map(|(processor, count)| (*processor, *count)).collect()
}

#[test]
fn vectors_are_those_of_the_function_that_the_disk_hangs_on() {
    let tree = Tree::bare_metal();
    tree.file("proc/interrupts", INTERRUPTS);
    let disk = "sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda";
    tree.file(&format!("{disk}/mq/0/cpu_list"), "0, 1, 3\n");
    for vector in [35, 36] {
        tree.file(&format!("sys/devices/pci0000:00/0000:00:02.0/msi_irqs/{vector}"), "msix\n");
    }
    tree.link("sys/class/block/vda", disk);
    let found = interrupts(&tree.root(), "vda").unwrap();
    assert_eq!(taken(&found), [(0, 7), (1, 409_469), (3, 2)], "processors by name, not by place");
    assert_eq!(found.queues, [vec![0, 1, 3]]);
}

#[test]
fn without_vectors_the_name_tells() {
    let tree = Tree::bare_metal();
    tree.file("proc/interrupts", INTERRUPTS);
    tree.link("sys/class/block/vda", "sys/devices/platform/a.virtio_mmio/virtio1/block/vda");
    let found = interrupts(&tree.root(), "vda").unwrap();
    assert_eq!(found.by_processor, BTreeMap::from([(0, 7), (1, 409_469), (3, 2)]), "virtio12 is another");
}

#[test]
fn a_volume_has_those_of_the_disks_beneath() {
    let tree = Tree::bare_metal();
    tree.file("proc/interrupts", INTERRUPTS);
    tree.file("sys/devices/pci0000:00/0000:00:1f.2/irq", "24\n");
    tree.link("sys/class/block/sda", "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/block/sda");
    tree.link("sys/class/block/dm-0", "sys/devices/virtual/block/dm-0");
    let disk = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/block/sda";
    tree.link("sys/devices/virtual/block/dm-0/slaves/sda", disk);
    let found = interrupts(&tree.root(), "dm-0").unwrap();
    assert_eq!(taken(&found), [(0, 1), (1, 0), (3, 0)]);
}

#[test]
fn disks_of_one_controller_share_its_interrupts() {
    let tree = Tree::bare_metal();
    tree.file("proc/interrupts", INTERRUPTS);
    let controller = "sys/devices/pci0000:00/0000:00:1f.2";
    tree.file(&format!("{controller}/irq"), "24\n");
    tree.link("sys/class/block/dm-0", "sys/devices/virtual/block/dm-0");
    for name in ["sda", "sdb"] {
        let disk = format!("{controller}/ata1/host0/block/{name}");
        tree.link(&format!("sys/class/block/{name}"), &disk);
        tree.link(&format!("sys/devices/virtual/block/dm-0/slaves/{name}"), &disk);
    }
    let found = interrupts(&tree.root(), "dm-0").unwrap();
    assert_eq!(taken(&found), [(0, 1), (1, 0), (3, 0)]);
}

#[test]
fn a_namespace_in_a_subsystem_has_the_interrupts_and_the_queues_of_its_path() {
    let tree = Tree::bare_metal();
    tree.file("proc/interrupts", INTERRUPTS);
    let function = "sys/devices/pci0000:00/0000:00:02.0";
    let controller = format!("{function}/nvme/nvme3");
    for vector in [35, 36] {
        tree.file(&format!("{function}/msi_irqs/{vector}"), "msix\n");
    }
    tree.file(&format!("{controller}/nvme0c3n1/mq/0/cpu_list"), "0\n");
    tree.file(&format!("{controller}/nvme0c3n1/mq/1/cpu_list"), "1, 3\n");
    let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
    tree.link(&format!("{subsystem}/nvme3"), &controller);
    tree.link("sys/class/block/nvme0n1", &format!("{subsystem}/nvme0n1"));
    let found = interrupts(&tree.root(), "nvme0n1").unwrap();
    assert_eq!(taken(&found), [(0, 7), (1, 409_469), (3, 2)]);
    assert_eq!(found.queues, [vec![0], vec![1, 3]]);
}

#[test]
fn a_loop_device_has_none() {
    let tree = Tree::bare_metal();
    tree.file("proc/interrupts", INTERRUPTS);
    tree.link("sys/class/block/loop0", "sys/devices/virtual/block/loop0");
    assert_eq!(interrupts(&tree.root(), "loop0"), None);
}
