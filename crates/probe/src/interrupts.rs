//! Counts a device's interrupts on each processor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::Root;
use crate::block::{Disk, Stack};
use crate::root::mounts;
use crate::sysfs_path::{name, numbered, ways};

/// The interrupts of a device, or of the devices beneath it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interrupts {
    /// Interrupts taken by each processor.
    pub by_processor: BTreeMap<usize, u64>,
    /// The processors of each queue; a queue with one processor interrupts that processor.
    pub queues: Vec<Vec<usize>>,
}

/// The interrupts of the device with this kernel name; `None` if it has none or they are unknown, as for a loop device.
pub fn interrupts(root: &Root, device: &str) -> Option<Interrupts> {
    let stack = Stack::below(root, &mounts(root), &[Disk::by_name(root, device)?]);
    let counts = root.text("proc/interrupts")?;
    let disks = stack.disks_in_use();
    let mut found = Interrupts::default();
    for (processor, count) in lines_of(root, &disks).iter().flat_map(|line| taken(&counts, line)) {
        *found.by_processor.entry(processor).or_default() += count;
    }
    for disk in disks {
        for folder in ways(root, disk).iter().map(|way| on_way(root, disk, way).join("mq")) {
            let processors = |queue: String| root.text(folder.join(queue).join("cpu_list"));
            let numbers = |list: String| list.split(',').filter_map(|number| number.trim().parse().ok()).collect();
            found.queues.extend(root.names(&folder).into_iter().filter_map(processors).map(numbers));
        }
    }
    (found.by_processor.values().sum::<u64>() > 0).then_some(found)
}

/// The folder of a disk on one of its ways; of an NVMe namespace in a subsystem that of the path, such as `nvme0c1n1`.
fn on_way(root: &Root, disk: &Disk, way: &Path) -> PathBuf {
    let of_path = || -> Option<PathBuf> {
        let (subsystem, namespace) = disk.name.strip_prefix("nvme")?.split_once('n')?;
        let controller = way.parent()?;
        let number = name(controller).strip_prefix("nvme")?;
        Some(controller.join(format!("nvme{subsystem}c{number}n{namespace}")))
    };
    of_path().filter(|path| root.exists(path)).unwrap_or_else(|| way.to_path_buf())
}

/// How to find the lines of a disk's interrupts.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Number(String),
    /// By the beginning of the name at the end of the line.
    Name(String),
}

/// The lines of these disks, each once: disks of one controller share its interrupts.
fn lines_of(root: &Root, disks: &[&Disk]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for line in disks.iter().flat_map(|disk| ways(root, disk)).flat_map(|way| lines_on(root, &way)) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The lines of the innermost folder on a way that has interrupts, else of the virtio device on it.
fn lines_on(root: &Root, way: &Path) -> Vec<Line> {
    let folders = || way.ancestors().skip(1);
    let vectors = folders().map(|folder| root.names(folder.join("msi_irqs"))).find(|names| !names.is_empty());
    if let Some(vectors) = vectors {
        let unique: BTreeSet<String> = vectors.into_iter().collect();
        return unique.into_iter().map(Line::Number).collect();
    }
    let single = folders().find_map(|folder| root.text(folder.join("irq"))).filter(|number| number != "0");
    if let Some(number) = single {
        return vec![Line::Number(number)];
    }
    let virtio = folders().map(name).find(|name| numbered(name, "virtio"));
    virtio.into_iter().map(|name| Line::Name(name.to_string())).collect()
}

/// An interrupt of a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// Its number.
    pub number: String,
    /// The name at the end of its line in `/proc/interrupts`, such as `nvme0q1`.
    pub name: String,
}

/// The interrupts of a disk, in the order of `/proc/interrupts`; empty if they are unknown.
pub fn vectors(root: &Root, disk: &Disk) -> Vec<Vector> {
    let counts = root.text("proc/interrupts").unwrap_or_default();
    let lines = lines_of(root, &[disk]);
    let vector = |text: &str| {
        let (number, rest) = text.trim_start().split_once(':')?;
        let name = rest.split_whitespace().last()?;
        lines.iter().any(|line| belongs(text, line)).then(|| Vector { number: number.into(), name: name.into() })
    };
    counts.lines().skip(1).filter_map(vector).collect()
}

/// The counts of a line of `/proc/interrupts`, in the order of the processors in its heading.
fn taken(text: &str, line: &Line) -> Vec<(usize, u64)> {
    let Some((heading, rest)) = text.split_once('\n') else { return Vec::new() };
    let processors: Vec<usize> =
        heading.split_whitespace().filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let lines = rest.lines().filter(|text| belongs(text, line)).filter_map(|text| text.split_once(':'));
    lines
        .flat_map(|(_, counts)| {
            let counts = counts.split_whitespace().map_while(|word| word.parse::<u64>().ok());
            processors.iter().copied().zip(counts).collect::<Vec<_>>()
        })
        .collect()
}

fn belongs(text: &str, line: &Line) -> bool {
    let Some((number, rest)) = text.trim_start().split_once(':') else { return false };
    match line {
        Line::Number(wanted) => number == wanted,
        Line::Name(wanted) => rest.split_whitespace().last().is_some_and(|name| is_of(name, wanted)),
    }
}

/// `virtio1` and `virtio1-req.0` belong to `virtio1`, `virtio12` does not.
fn is_of(name: &str, device: &str) -> bool {
    name.strip_prefix(device).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}
