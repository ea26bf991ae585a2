//! Tells the memory node (NUMA) that a device is at, and how far the processors of each node are from it.

use std::collections::BTreeSet;

use halfpower_spec::Processors;

use crate::Root;
use crate::block::{Disk, Stack};
use crate::root::mounts;
use crate::sysfs_path::ways;

const NODES: &str = "sys/devices/system/node";

/// The memory nodes of a machine with processors at several, and the one that a device is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryNodes {
    /// The device's node.
    pub own: u32,
    /// The nodes that have processors, by number.
    pub nodes: Vec<MemoryNode>,
}

/// A memory node with its processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryNode {
    /// Its number.
    pub number: u32,
    /// Its processors, ascending.
    pub processors: Vec<usize>,
    /// Its distance from the device's node, as the firmware tells it: 10 for a node itself; `None` if it does not.
    pub distance: Option<u32>,
}

/// The memory nodes, as the device with this kernel name, or all devices beneath it, see them.
///
/// # Errors
/// Why nothing can be told of distances, as a sentence without the full stop.
pub fn memory_nodes(root: &Root, device: &str) -> Result<MemoryNodes, String> {
    let nodes = with_processors(root);
    if nodes.len() < 2 {
        return Err("processors are at a single memory node".to_string());
    }
    let untold = || "the kernel does not tell which memory node the device is at".to_string();
    let disk = Disk::by_name(root, device).ok_or_else(untold)?;
    let stack = Stack::below(root, &mounts(root), &[disk]);
    let all_ways = stack.disks_in_use().into_iter().flat_map(|disk| ways(root, disk));
    let own: BTreeSet<Option<u32>> = all_ways.map(|way| node_of(root, &way)).collect();
    let own = match own.into_iter().collect::<Vec<_>>()[..] {
        [Some(own)] => own,
        [_, _, ..] => return Err("the devices beneath the target are at several memory nodes".to_string()),
        _ => return Err(untold()),
    };
    let distances = root.text(format!("{NODES}/node{own}/distance")).unwrap_or_default();
    // One for each node that is there, in their order, whether it has processors or memory alone.
    let distances = all(root).into_iter().zip(distances.split_whitespace().map(str::parse));
    let distances: Vec<(u32, u32)> = distances.filter_map(|(node, distance)| Some((node, distance.ok()?))).collect();
    let distance_of = |number: u32| distances.iter().find(|(node, _)| *node == number).map(|(_, distance)| *distance);
    let node = |(number, processors)| MemoryNode { number, processors, distance: distance_of(number) };
    Ok(MemoryNodes { own, nodes: nodes.into_iter().map(node).collect() })
}

/// Numbers of all nodes, ascending.
fn all(root: &Root) -> BTreeSet<u32> {
    root.names(NODES).iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect()
}

/// The nodes that have processors, and those.
fn with_processors(root: &Root) -> Vec<(u32, Vec<usize>)> {
    let processors = |node: u32| -> Option<Vec<usize>> {
        let listed: Processors = root.text(format!("{NODES}/node{node}/cpulist"))?.trim().parse().ok()?;
        Some(listed.numbers().collect())
    };
    all(root).into_iter().filter_map(|node| Some((node, processors(node)?))).collect()
}

/// The node of the innermost folder on a way that tells one; -1 is none.
fn node_of(root: &Root, way: &std::path::Path) -> Option<u32> {
    way.ancestors().find_map(|folder| root.number(folder.join("numa_node")))
}
