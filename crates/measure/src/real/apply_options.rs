//! Applies the options that a workload sets beyond the usual axes, or refuses them.

use std::collections::BTreeMap;

use halfpower_engine::{EngineError, Opened};
use halfpower_os::{ReadOrder, RunFile};
use halfpower_record::Ability;
use halfpower_spec::{Affinity, Bytes, Fadvise, PageCache, Workload, WorkloadOptions};

use super::write_cache::WriteCache;
use crate::affinity::processor;
use crate::{MeasureError, background_readers};

/// Abilities that these devices lack, with the reason.
pub(crate) fn unavailable(devices: &[String]) -> BTreeMap<Ability, String> {
    let first = devices.first().map(String::as_str);
    let unknown = || Err("no device is known under the target".to_string());
    let no_switch = devices.iter().map(|device| WriteCache::can_be_set(device)).find(Result::is_err);
    let traced =
        if devices.is_empty() { unknown() } else { halfpower_os::trace::available().map_err(|why| why.to_string()) };
    let refusals = [
        (Ability::Trace, traced.err()),
        (Ability::OneProcessor, processor(Affinity::One, first).err()),
        (Ability::Interrupt, processor(Affinity::Interrupt, first).err()),
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
    if options.random_readers > 0 && !background_readers::BLOCK.0.is_multiple_of(unit.0) {
        let block = background_readers::BLOCK;
        return unfit(format!(
            "--random-readers reads {block} at a time and this target takes multiples of {unit}: leave it out"
        ));
    }
    Ok(())
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

/// Opens an engine on its lane's processor, so that its own threads stay there too.
pub(crate) fn open_on(
    cpu: Option<usize>,
    open: impl FnOnce() -> Result<Opened, MeasureError>,
) -> Result<Opened, MeasureError> {
    let Some(cpu) = cpu else { return open() };
    let opened = halfpower_os::processor::on_processor(cpu, open);
    opened.map_err(|error| EngineError::Call { call: "sched_setaffinity", error })?
}
