//! Finds the processors of NUMA nodes, as the kernel lists them.

use std::path::Path;

use halfpower_spec::Processors;

/// Where the kernel describes processors and nodes.
const SYSTEM: &str = "/sys/devices/system";

/// The processors of the nodes in a list such as `0-1,3`; `None` for all nodes.
pub(super) fn processors(list: &str) -> Result<Option<Processors>, String> {
    if list == "all" { Ok(None) } else { of_nodes(Path::new(SYSTEM), list).map(Some) }
}

fn of_nodes(system: &Path, list: &str) -> Result<Processors, String> {
    let wrong = || format!("`{list}` is no list of NUMA nodes; write one like 0-1,3, or all");
    // Nodes are listed as processors are.
    let nodes: Processors = list.parse().map_err(|_| wrong())?;
    let mut numbers = Vec::new();
    for node in nodes.numbers() {
        numbers.extend(of_node(system, node)?.numbers());
    }
    Processors::of(numbers).ok_or_else(wrong)
}

fn of_node(system: &Path, node: usize) -> Result<Processors, String> {
    let nodes = system.join("node");
    // A kernel without NUMA lists no nodes: all processors are of the first.
    let is_only_one = node == 0 && !nodes.exists();
    let path = if is_only_one { system.join("cpu/online") } else { nodes.join(format!("node{node}/cpulist")) };
    let listed = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
    listed.ok_or_else(|| format!("`{node}` is no NUMA node with processors here; `lscpu` lists those that are"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_their_processors() {
        let system = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = system.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let of = |list: &str| of_nodes(system.path(), list).map(|processors| processors.to_string());
        write("cpu/online", "0-7\n");
        assert_eq!((of("0"), of("1").is_err()), (Ok("0-7".to_string()), true), "a kernel without NUMA");
        write("node/node0/cpulist", "0-1,4\n");
        write("node/node1/cpulist", "2-3\n");
        write("node/node2/cpulist", "\n");
        assert_eq!((of("0"), of("0-1")), (Ok("0-1,4".to_string()), Ok("0-4".to_string())));
        assert!(of("2").is_err_and(|why| why.contains("no NUMA node with processors")), "it has memory alone");
        assert!(of("1,x").is_err_and(|why| why.contains("no list of NUMA nodes")));
        assert_eq!(processors("all"), Ok(None));
    }
}
