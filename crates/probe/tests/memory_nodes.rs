//! Checks at which memory node a device is told to be, on trees that imitate other machines.

use crate::tree::Tree;
use halfpower_probe::{MemoryNode, MemoryNodes, memory_nodes};

const FUNCTION: &str = "sys/devices/pci0000:80/0000:80:01.0";
const NODES: &str = "sys/devices/system/node";

/// A machine of two nodes with processors and one with memory alone between them, and an NVMe disk at `node`.
fn machine(node: &str) -> Tree {
    let tree = Tree::bare_metal();
    tree.file(&format!("{NODES}/node0/cpulist"), "0-1,4\n");
    tree.file(&format!("{NODES}/node1/cpulist"), "\n");
    tree.file(&format!("{NODES}/node2/cpulist"), "2-3\n");
    tree.file(&format!("{NODES}/node2/distance"), "21 17 10\n");
    tree.file(&format!("{FUNCTION}/numa_node"), node);
    tree.disk(&format!("{FUNCTION}/nvme/nvme0/nvme0n1"), "259:0");
    tree
}

fn told(tree: &Tree, device: &str) -> Result<MemoryNodes, String> {
    memory_nodes(&tree.root(), device)
}

#[test]
fn a_device_is_at_the_node_of_its_function() {
    let node = |number, processors: &[usize], distance| MemoryNode {
        number,
        processors: processors.to_vec(),
        distance: Some(distance),
    };
    let nodes = vec![node(0, &[0, 1, 4], 21), node(2, &[2, 3], 10)];
    assert_eq!(told(&machine("2\n"), "nvme0n1"), Ok(MemoryNodes { own: 2, nodes }));
}

#[test]
fn a_volume_is_at_the_node_of_all_its_disks_if_there_is_one() {
    let tree = machine("2\n");
    let volume = "sys/devices/virtual/block/md0";
    tree.disk(volume, "9:0");
    tree.stands_on(volume, &format!("{FUNCTION}/nvme/nvme0/nvme0n1"));
    assert_eq!(told(&tree, "md0").map(|nodes| nodes.own), Ok(2));
    let other = "sys/devices/pci0000:00/0000:00:01.0";
    tree.file(&format!("{other}/numa_node"), "0\n");
    tree.disk(&format!("{other}/nvme/nvme1/nvme1n1"), "259:1");
    tree.stands_on(volume, &format!("{other}/nvme/nvme1/nvme1n1"));
    assert!(told(&tree, "md0").unwrap_err().contains("at several memory nodes"));
}

#[test]
fn where_nothing_can_be_told_it_says_why() {
    assert!(told(&machine("-1\n"), "nvme0n1").unwrap_err().contains("does not tell"));
    assert!(told(&machine("2\n"), "sda").unwrap_err().contains("does not tell"), "no such device");
    let single = machine("0\n");
    single.remove(&format!("{NODES}/node2/cpulist"));
    assert!(told(&single, "nvme0n1").unwrap_err().contains("a single memory node"));
}
