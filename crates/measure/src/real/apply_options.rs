//! Applies the options that a workload sets beyond the usual axes, or refuses them; chooses the processor that lanes are
//! pinned to.

use std::collections::BTreeMap;

use halfpower_engine::{EngineError, Opened};
use halfpower_os::{Mode, PayloadData, ReadOrder, RunFile};
use halfpower_probe::{Interrupts, MemoryNodes, Root};
use halfpower_record::Ability;
use halfpower_spec::{
    Affinity, Bytes, DurableBy, Fadvise, FlushCall, IoPriority, PageCache, Processors, Workload, WorkloadOptions,
};

use super::write_cache::WriteCache;
use crate::{MeasureError, background};

/// What writes carry: what is given, or random bytes with this share of zeros.
pub(crate) fn payload(zeros_percent: u8, given: Option<&'static [u8]>) -> PayloadData {
    given.map_or(PayloadData::Random { zeros_percent }, PayloadData::Given)
}

/// The mode in which a run opens its files.
pub(crate) fn mode(workload: &Workload) -> Mode {
    let Workload { rw, cache, options, .. } = workload;
    let durable_by = match options.durable_by {
        DurableBy::Odsync => halfpower_os::DurableBy::Odsync,
        DurableBy::Osync => halfpower_os::DurableBy::Osync,
        DurableBy::RwfDsync => halfpower_os::DurableBy::RwfDsync,
    };
    let flush_by = match options.flush_by {
        FlushCall::Fdatasync => halfpower_os::FlushCall::Fdatasync,
        FlushCall::Fsync => halfpower_os::FlushCall::Fsync,
        FlushCall::SyncFileRange => halfpower_os::FlushCall::SyncFileRange,
    };
    Mode {
        direct: cache.direct(),
        durable: cache.durable(),
        durable_by,
        flush_by,
        write: rw.writes(),
        drop_pages: options.uncached,
        atomic: options.atomic,
        commands: workload.engine.sends_commands(),
    }
}

/// Abilities that these devices lack, with the reason.
pub(crate) fn unavailable(devices: &[String]) -> BTreeMap<Ability, String> {
    let first = devices.first().map(String::as_str);
    let unknown = || Err("no single device is known under the target".to_string());
    let no_switch = devices.iter().map(|device| WriteCache::can_be_set(device)).find(Result::is_err);
    let traced =
        if devices.is_empty() { unknown() } else { halfpower_os::trace::available().map_err(|why| why.to_string()) };
    let refusals = [
        (Ability::Trace, traced.err()),
        (Ability::OneProcessor, processor(Affinity::One, first).err()),
        (Ability::Interrupt, processor(Affinity::Interrupt, first).err()),
        (Ability::MemoryNodes, processor(Affinity::Far, first).and(processor(Affinity::Near, first)).err()),
        (Ability::WriteCache, no_switch.unwrap_or_else(|| if devices.is_empty() { unknown() } else { Ok(()) }).err()),
    ];
    refusals.into_iter().filter_map(|(ability, why)| Some((ability, why?))).collect()
}

/// Checks that the options of `workload` can be applied on these devices; `null:` has none. `unit` is what direct
/// requests must be multiples of.
///
/// # Errors
/// Which flag cannot be applied, why, and what to do.
pub(crate) fn admit(
    workload: &Workload,
    devices: &[String],
    is_null: bool,
    unit: Option<Bytes>,
) -> Result<(), MeasureError> {
    let Workload { cache, options, .. } = workload;
    let unfit = |what: String| Err(MeasureError::Unfit { what });
    if let Err(why) = processor(options.affinity, devices.first().map(String::as_str)) {
        return unfit(format!("--affinity {}: {why}; leave it out", options.affinity));
    }
    has_processors(options)?;
    may_have_priority(options)?;
    let caching =
        (options.fadvise, options.page_cache, options.write_cache) != (Fadvise::Normal, PageCache::Empty, None);
    if is_null && caching {
        return unfit(
            "null: has neither page cache nor device: leave --fadvise, --page-cache and --write-cache out".to_string(),
        );
    }
    if options.write_cache.is_some()
        && let Some(why) = unavailable(devices).get(&Ability::WriteCache)
    {
        return unfit(format!("--write-cache: {why}; leave it out"));
    }
    let unit = unit.filter(|_| cache.direct()).unwrap_or(Bytes(1));
    if options.random_readers > 0 && !background::BLOCK.0.is_multiple_of(unit.0) {
        let block = background::BLOCK;
        return unfit(format!(
            "--random-readers reads {block} at a time and this target takes multiples of {unit}: leave it out"
        ));
    }
    Ok(())
}

/// Checks that this process may use the processors that the options list.
///
/// # Errors
/// Which one it may not use.
pub(crate) fn has_processors(options: &WorkloadOptions) -> Result<(), MeasureError> {
    let usable = halfpower_os::processor::usable();
    let lacks = |list: &Processors| list.numbers().find(|number| !usable.contains(number));
    match options.processors.and_then(|list| Some((list, lacks(&list)?))) {
        None => Ok(()),
        Some((list, number)) => {
            let what =
                format!("--processors {list}: this process may not use processor {number}; name others (see `nproc`)");
            Err(MeasureError::Unfit { what })
        }
    }
}

/// Checks that this process may give its threads the I/O priority that the options ask for.
fn may_have_priority(options: &WorkloadOptions) -> Result<(), MeasureError> {
    let Some(priority) = options.io_priority else { return Ok(()) };
    halfpower_os::io_priority::may_have(priority.bits()).map_err(|error| {
        let what = if error.kind() == std::io::ErrorKind::PermissionDenied {
            format!(
                "--io-priority {priority}: this process may not have it (it needs CAP_SYS_NICE or CAP_SYS_ADMIN): run \
                 halfpower with sudo, or ask for best-effort:0"
            )
        } else {
            format!("--io-priority {priority}: the kernel refuses it ({error}): leave it out")
        };
        MeasureError::Unfit { what }
    })
}

/// Switches the write caches of these devices as a run asks; dropping the result restores them.
pub(crate) fn switched(options: &WorkloadOptions, devices: &[String]) -> Result<Vec<WriteCache>, MeasureError> {
    options.write_cache.map_or(Ok(Vec::new()), |to| WriteCache::set_all(devices, to))
}

/// Tells the kernel what a run expects of the order of reads.
pub(crate) fn advise(advice: Fadvise, files: &[RunFile]) -> Result<(), EngineError> {
    let order = match advice {
        Fadvise::Normal => return Ok(()),
        Fadvise::Sequential => ReadOrder::Sequential,
        Fadvise::Random => ReadOrder::Random,
    };
    let reported = files.iter().try_for_each(|file| file.expect_order(order));
    reported.map_err(|error| EngineError::Call { call: "posix_fadvise", error })
}

/// Opens an engine with its lane's I/O priority and on its processor, so that its own threads have and stay on them too.
///
/// # Errors
/// If it cannot be opened, or the kernel refuses one of them.
pub(crate) fn open_with(
    priority: Option<IoPriority>,
    cpu: Option<usize>,
    open: impl FnOnce() -> Result<Opened, MeasureError>,
) -> Result<Opened, MeasureError> {
    let Some(priority) = priority else { return open_on(cpu, open) };
    let opened = halfpower_os::io_priority::with(priority.bits(), || open_on(cpu, open));
    opened.map_err(|error| EngineError::Call { call: "ioprio_set", error })?
}

/// Opens an engine on its lane's processor, so that its own threads stay there too.
pub(crate) fn open_on(
    cpu: Option<usize>,
    open: impl FnOnce() -> Result<Opened, MeasureError>,
) -> Result<Opened, MeasureError> {
    let Some(cpu) = cpu else { return open() };
    let opened = halfpower_os::processor::on_processor(cpu, open);
    opened.map_err(|error| EngineError::Call { call: "sched_setaffinity", error })?
}

/// The processor for the lanes of a run on this device; `None` means any.
///
/// # Errors
/// Why there is no such processor, as a sentence without the full stop.
pub(crate) fn processor(affinity: Affinity, device: Option<&str>) -> Result<Option<usize>, String> {
    match affinity {
        Affinity::All => Ok(None),
        Affinity::One => Ok(several(halfpower_os::processor::usable())?.first().copied()),
        Affinity::Interrupt | Affinity::Other => {
            let interrupts = device.and_then(|device| halfpower_probe::interrupts(&Root::live(), device));
            by_interrupts(affinity, &several(halfpower_os::processor::usable())?, interrupts.as_ref())
        }
        Affinity::Near | Affinity::Far => {
            let usable = several(halfpower_os::processor::usable())?;
            let device = device.ok_or("no single device is known under the target")?;
            by_memory_node(affinity, &usable, &halfpower_probe::memory_nodes(&Root::live(), device)?).map(Some)
        }
    }
}

/// The processors that may be used, if there is one to choose.
fn several(usable: Vec<usize>) -> Result<Vec<usize>, String> {
    if usable.len() > 1 {
        Ok(usable)
    } else {
        Err("this process may use a single processor, so that there is nothing to choose".to_string())
    }
}

/// A processor of the device's memory node, or of the farthest other one. It is the last one there: the kernel gives the
/// first ones more work of its own.
fn by_memory_node(affinity: Affinity, usable: &[usize], nodes: &MemoryNodes) -> Result<usize, String> {
    let of_node = |processors: &[usize]| processors.iter().rev().copied().find(|number| usable.contains(number));
    if affinity == Affinity::Near {
        let own = nodes.nodes.iter().find(|node| node.number == nodes.own);
        let near = own.and_then(|node| of_node(&node.processors));
        return near
            .ok_or_else(|| format!("this process may use no processor of the device's memory node, {}", nodes.own));
    }
    let others = nodes.nodes.iter().filter(|node| node.number != nodes.own);
    let reached =
        others.filter_map(|node| Some((node.distance, std::cmp::Reverse(node.number), of_node(&node.processors)?)));
    let farthest = reached.max().map(|(_, _, processor)| processor);
    farthest.ok_or_else(|| "this process may use processors of the device's memory node alone".to_string())
}

/// The processor that takes most of the device's interrupts, or the one that takes fewest.
fn by_interrupts(
    affinity: Affinity,
    usable: &[usize],
    interrupts: Option<&Interrupts>,
) -> Result<Option<usize>, String> {
    let Some(interrupts) = interrupts else {
        return Err("the kernel does not tell which interrupts are the device's".to_string());
    };
    let shared = |queue: &Vec<usize>| usable.iter().filter(|processor| queue.contains(processor)).count() > 1;
    if !interrupts.queues.is_empty() && !interrupts.queues.iter().any(shared) {
        return Err(
            "every processor has a queue of the device for itself, whose interrupts follow the submitter".into()
        );
    }
    let taken = |processor: &usize| interrupts.by_processor.get(processor).copied().unwrap_or(0);
    let counts = || usable.iter().map(|processor| (taken(processor), *processor));
    // On a tie, take the first processor.
    let most = counts().max_by_key(|(count, processor)| (*count, std::cmp::Reverse(*processor)));
    let (Some(most), Some(fewest)) = (most, counts().min()) else { return Ok(None) };
    if most.0 == fewest.0 {
        return Err("the device's interrupts are spread evenly over the processors".to_string());
    }
    Ok(Some(if affinity == Affinity::Interrupt { most.1 } else { fewest.1 }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use halfpower_probe::MemoryNode;

    use super::*;

    fn interrupts(counts: &[(usize, u64)], queues: &[&[usize]]) -> Interrupts {
        let queues = queues.iter().map(|queue| queue.to_vec()).collect();
        Interrupts { by_processor: BTreeMap::from_iter(counts.iter().copied()), queues }
    }

    #[test]
    fn the_interrupts_processor_and_one_with_the_fewest() {
        let seen = interrupts(&[(0, 7), (1, 900), (2, 3), (3, 0)], &[&[0, 1, 2, 3]]);
        let choose = |affinity, usable: &[usize]| by_interrupts(affinity, usable, Some(&seen)).unwrap();
        assert_eq!(choose(Affinity::Interrupt, &[0, 1, 2]), Some(1));
        assert_eq!(choose(Affinity::Other, &[0, 1, 2]), Some(2), "3 may not be used");
        assert_eq!(choose(Affinity::Interrupt, &[0, 2]), Some(0));
    }

    #[test]
    fn where_there_is_nothing_to_choose_it_says_why() {
        let why =
            |usable: &[usize], seen: Option<&Interrupts>| by_interrupts(Affinity::Interrupt, usable, seen).unwrap_err();
        let shared = interrupts(&[(0, 7), (1, 900)], &[&[0, 1, 2, 3]]);
        assert!(several(vec![0]).unwrap_err().contains("single processor"));
        assert_eq!((several(vec![1, 2]), processor(Affinity::All, None)), (Ok(vec![1, 2]), Ok(None)));
        assert!(why(&[0, 1], None).contains("does not tell"));
        assert!(why(&[0, 1], Some(&interrupts(&[(0, 7), (1, 900)], &[&[0], &[1]]))).contains("follow the submitter"));
        assert!(why(&[2, 3], Some(&shared)).contains("evenly"));
    }

    #[test]
    fn near_is_at_the_device_and_far_is_at_the_farthest_node_that_may_be_used() {
        let node =
            |number, processors: &[usize], distance| MemoryNode { number, processors: processors.to_vec(), distance };
        let nodes = MemoryNodes {
            own: 1,
            nodes: vec![
                node(0, &[0, 1], Some(21)),
                node(1, &[2, 3], Some(10)),
                node(2, &[4, 5], Some(31)),
                node(3, &[6, 7], Some(31)),
            ],
        };
        let chosen = |affinity, usable: &[usize]| by_memory_node(affinity, usable, &nodes);
        let every: Vec<usize> = (0..8).collect();
        assert_eq!(chosen(Affinity::Near, &every), Ok(3));
        assert_eq!(chosen(Affinity::Far, &every), Ok(5), "the first of two that are as far");
        assert_eq!(chosen(Affinity::Near, &[0, 2]), Ok(2));
        assert_eq!(chosen(Affinity::Far, &[0, 2]), Ok(0), "no other may be used");
        assert!(chosen(Affinity::Near, &[0, 1]).unwrap_err().contains("no processor of the device's memory node, 1"));
        assert!(chosen(Affinity::Far, &[2, 3]).unwrap_err().contains("memory node alone"));
    }
}
