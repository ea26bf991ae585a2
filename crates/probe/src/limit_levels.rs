//! Makes levels of the limits that a control group has on the devices of a stack.
//!
//! What goes through a device obeys the device's own limit, and those of the devices beneath it together. Devices side by side
//! add their limits; a limit on one of them alone is none of the whole.

use std::collections::BTreeMap;

use halfpower_os::mounts::Mount;
use halfpower_record::{CGROUP_LIMIT, Level};
use halfpower_spec::{Direction, Rate};

use crate::Root;
use crate::block::{DEEPEST, Disk, Stack};
use crate::cgroup::{Limit, Limits, limits};

/// One of the limits on a device.
type Which = fn(&Limits) -> &Option<Limit>;

/// The control group's limits on the stack's devices; one level if reads and writes have the same limit.
pub(crate) fn limit_levels(root: &Root, mounts: &[Mount], stack: &Stack) -> Vec<Level> {
    let limited = LimitedStack::of(root, mounts, stack);
    let read = |which: Which| limited.limit(which, Direction::Read);
    let write = |which: Which| limited.limit(which, Direction::Write);
    let reads = (read(|limits| &limits.read_bps), read(|limits| &limits.read_iops));
    let writes = (write(|limits| &limits.write_bps), write(|limits| &limits.write_iops));
    let most = |limit: &Option<Limit>| limit.as_ref().map(|limit| limit.most);
    if (most(&reads.0), most(&reads.1)) == (most(&writes.0), most(&writes.1)) {
        let sources = [&reads.0, &writes.0, &reads.1, &writes.1];
        return limit_level(CGROUP_LIMIT, None, &reads, &sources).into_iter().collect();
    }
    let level = |direction, pair: &(Option<Limit>, Option<Limit>)| {
        let name = format!("{CGROUP_LIMIT}, {direction}s");
        limit_level(&name, Some(direction), pair, &[&pair.0, &pair.1])
    };
    let read = level(Direction::Read, &reads);
    let write = level(Direction::Write, &writes);
    read.into_iter().chain(write).collect()
}

/// A stack with the limits on its devices, by name.
struct LimitedStack<'a> {
    stack: &'a Stack,
    of: BTreeMap<&'a str, Limits>,
}

impl<'a> LimitedStack<'a> {
    fn of(root: &Root, mounts: &[Mount], stack: &'a Stack) -> Self {
        let known = limits(root, mounts);
        let devices = stack.volumes.iter().map(|volume| &volume.disk).chain(&stack.disks);
        let of_device = |device: &'a Disk| Some((device.name.as_str(), known.get(&device.number(root)?)?.clone()));
        Self { stack, of: devices.filter_map(of_device).collect() }
    }

    /// The limit on all that goes through the stack.
    fn limit(&self, which: Which, direction: Direction) -> Option<Limit> {
        let tops = self.stack.tops().iter().map(|top| self.through(top, which, direction, 0)).collect();
        let copies = if direction == Direction::Read { Some(1.0) } else { self.stack.copies() };
        // Volumes side by side that share a disk have its limit once.
        let disks = self.stack.disks_in_use().into_iter().map(|disk| self.own(&disk.name, which)).collect();
        [side_by_side(tops, Some(1.0)), side_by_side(disks, copies)].into_iter().flatten().min_by(tighter)
    }

    /// The limit on what goes through this device and those beneath it.
    fn through(&self, name: &str, which: Which, direction: Direction, depth: usize) -> Option<Limit> {
        let volume = self.stack.volumes.iter().find(|volume| volume.disk.name == name && depth <= DEEPEST);
        let beneath = volume.and_then(|volume| {
            let lower = volume.beneath.iter().map(|lower| self.through(lower, which, direction, depth + 1));
            let copies = if direction == Direction::Read { Some(1.0) } else { volume.copies.map(f64::from) };
            side_by_side(lower.collect(), copies)
        });
        self.own(name, which).into_iter().chain(beneath).min_by(tighter)
    }

    fn own(&self, name: &str, which: Which) -> Option<Limit> {
        self.of.get(name).and_then(|limits| which(limits).clone())
    }
}

/// The limit on what goes to these devices, each byte `copies` times to all of them together: the sum, or of a mirror's writes
/// the one that is reached first, since each device gets its share whatever the others may take.
fn side_by_side(limits: Vec<Option<Limit>>, copies: Option<f64>) -> Option<Limit> {
    let devices = limits.len() as f64;
    match copies? {
        1.0 => sum(limits),
        copies => {
            let of_all = |limit: Limit| Limit { most: limit.most * devices / copies, ..limit };
            limits.into_iter().flatten().min_by(tighter).map(of_all)
        }
    }
}

fn tighter(a: &Limit, b: &Limit) -> std::cmp::Ordering {
    a.most.total_cmp(&b.most)
}

/// Adds limits; `None` unless every device has one.
fn sum(limits: Vec<Option<Limit>>) -> Option<Limit> {
    let limits: Vec<Limit> = limits.into_iter().collect::<Option<Vec<Limit>>>()?;
    limits.into_iter().reduce(|a, b| Limit { most: a.most + b.most, source: format!("{} and {}", a.source, b.source) })
}

fn limit_level(
    name: &str,
    direction: Option<Direction>,
    (bytes, requests): &(Option<Limit>, Option<Limit>),
    sources: &[&Option<Limit>],
) -> Option<Level> {
    if bytes.is_none() && requests.is_none() {
        return None;
    }
    let mut sentences: Vec<&str> = Vec::new();
    for limit in sources.iter().copied().flatten() {
        if !sentences.contains(&limit.source.as_str()) {
            sentences.push(&limit.source);
        }
    }
    Some(Level {
        name: name.to_string(),
        pap: bytes.as_ref().map(|limit| Rate(limit.most)),
        pap_iops: requests.as_ref().map(|limit| limit.most),
        direction,
        source: sentences.join("; "),
        ..Level::default()
    })
}
