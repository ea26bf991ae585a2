//! Measures `durability`: the cost of writes that are on the medium when they complete.
//!
//! The plan: writes that are each durable, by each call and flag of the kernel; writes that share a flush; atomic writes;
//! plain writes.

mod analysis;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{
    Bytes, Cache, Direction, DurableBy, EngineName, FlushCall, Pattern, Switch, Workload, WorkloadOptions,
};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::DurabilityAnswer as Answer;
pub use analysis::*;

/// A page, as a log writes it, and the write size of both papers' systems.
const SIZES: [Bytes; 2] = [Bytes(4 << 10), Bytes(64 << 10)];
/// Writes per flush.
const INTERVALS: [u32; 5] = [1, 4, 16, 64, 256];
/// Concurrent durable writes: shows whether they can share a flush.
const DEPTH: u32 = 16;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let capabilities = ask.capabilities();
    match capabilities.kind {
        TargetKind::Nothing | TargetKind::Imported => {
            return Err("there is no storage here that could keep anything".to_string());
        }
        // A simulated disk needs a file system or a cache: without either, every write is durable when it completes.
        TargetKind::Simulated => capabilities.can(&Ability::WriteCache)?,
        TargetKind::Folder | TargetKind::File | TargetKind::Device | TargetKind::Share => {}
    }
    let caches: Vec<Cache> = Cache::ALL.iter().copied().filter(|cache| can(ask, *cache)).collect();
    let sizes = SIZES.map(|bs| Bytes(bs.0.max(capabilities.direct_unit.map_or(0, |unit| unit.0))));
    let mut cells = Vec::new();
    for bs in sizes {
        cells.extend(caches.iter().map(|cache| write(ask, *cache, bs, 1, WorkloadOptions::default())));
    }
    for cache in caches.iter().filter(|cache| cache.direct()) {
        cells.push(write(ask, *cache, sizes[0], DEPTH, WorkloadOptions::default()));
    }
    for cache in caches.iter().filter(|cache| !cache.durable()) {
        let flushing =
            |fdatasync| write(ask, *cache, sizes[0], 1, WorkloadOptions { fdatasync, ..WorkloadOptions::default() });
        cells.extend(INTERVALS.map(flushing));
    }
    if has_calls(capabilities.kind) {
        cells.extend(means(ask, &caches, sizes[0]));
    }
    if writes_atomically(ask).is_some_and(|can| can.is_ok()) {
        let options = WorkloadOptions { atomic: true, ..WorkloadOptions::default() };
        let direct = caches.iter().filter(|cache| cache.direct());
        cells.extend(direct.map(|cache| write(ask, *cache, sizes[0], 1, options)));
    }
    if capabilities.can(&Ability::WriteCache).is_ok() {
        let shown = [(Cache::Device, sizes[0]), (Cache::Device, sizes[1]), (Cache::Both, sizes[1])];
        for (cache, bs) in shown.into_iter().filter(|(cache, _)| can(ask, *cache)) {
            let switched = |write_cache| {
                write(
                    ask,
                    cache,
                    bs,
                    1,
                    WorkloadOptions { write_cache: Some(write_cache), ..WorkloadOptions::default() },
                )
            };
            cells.extend([Switch::On, Switch::Off].map(switched));
        }
    }
    Ok(Plan { cells, missing: missing(ask) })
}

/// Whether requests are calls of this machine's kernel, which has several that make writes durable.
fn has_calls(kind: TargetKind) -> bool {
    matches!(kind, TargetKind::Folder | TargetKind::File | TargetKind::Device)
}

/// One write at a time, made durable by other calls and flags than the usual ones.
fn means(ask: &PlanRequest, caches: &[Cache], bs: Bytes) -> Vec<PlannedCell> {
    let usual = WorkloadOptions::default();
    let calls = FlushCall::ALL.iter().filter(|call| **call != usual.flush_by);
    let flags = DurableBy::ALL.iter().filter(|flag| **flag != usual.durable_by);
    let by_call = calls.map(|call| (false, WorkloadOptions { fdatasync: 1, flush_by: *call, ..usual }));
    let by_flag = flags.map(|flag| (true, WorkloadOptions { durable_by: *flag, ..usual }));
    let all: Vec<(bool, WorkloadOptions)> = by_call.chain(by_flag).collect();
    let of_cache = |cache: &Cache| {
        let fitting = all.iter().filter(|(durable, _)| *durable == cache.durable());
        fitting.map(|(_, options)| write(ask, *cache, bs, 1, *options)).collect::<Vec<_>>()
    };
    caches.iter().flat_map(of_cache).collect()
}

/// Whether direct writes can be atomic, or why not; `None` if there are none, or if they are no calls of this machine's
/// kernel.
fn writes_atomically(ask: &PlanRequest) -> Option<Result<(), String>> {
    let capabilities = ask.capabilities();
    let are_calls = has_calls(capabilities.kind) && capabilities.direct_unit.is_some();
    are_calls.then(|| capabilities.can(&Ability::AtomicWrites))
}

/// The settings that are not available here.
fn missing(ask: &PlanRequest) -> Vec<String> {
    let capabilities = ask.capabilities();
    let direct = if capabilities.direct_unit.is_some() { Ok(()) } else { Err("the target takes none".to_string()) };
    let settings = [
        ("direct writes are not measured", direct),
        ("durable buffered writes (--cache os) are not measured", capabilities.can(&Ability::DurableBufferedWrites)),
        ("the device's write cache is left as it is", capabilities.can(&Ability::WriteCache)),
        ("atomic writes are not measured", writes_atomically(ask).unwrap_or(Ok(()))),
    ];
    settings.into_iter().filter_map(|(what, can)| Some(format!("{what}: {}", can.err()?))).collect()
}

fn can(ask: &PlanRequest, cache: Cache) -> bool {
    match cache {
        Cache::Both => ask.page_cache().is_ok(),
        Cache::Os => ask.page_cache().is_ok() && ask.capabilities().can(&Ability::DurableBufferedWrites).is_ok(),
        Cache::Device | Cache::None => ask.capabilities().direct_unit.is_some(),
    }
}

/// A sequential write of one thread; at depth 1 with plain calls, unless the question names another engine.
fn write(ask: &PlanRequest, cache: Cache, bs: Bytes, iodepth: u32, options: WorkloadOptions) -> PlannedCell {
    let usual = ask.workload(Pattern::Sequential, Direction::Write, bs, iodepth);
    let engine = match (usual.engine, iodepth) {
        (EngineName::Auto, 1) => EngineName::Sync,
        (engine, _) => engine,
    };
    PlannedCell::plain(Workload { cache, threads: 1, engine, options, ..usual })
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment};
    use halfpower_spec::{Experiment, Question};

    use super::*;
    use crate::built_study::folder_without;

    fn ask(kind: TargetKind, unavailable: &[Ability]) -> (Question, Environment) {
        let capabilities = Capabilities { kind, ..folder_without(Some(Bytes(512)), unavailable, "it lacks that") };
        let question = Question { experiments: vec![Experiment::Durability], ..Question::about("d") };
        (question, Environment { capabilities, ..Environment::default() })
    }

    #[test]
    fn what_cannot_be_had_is_left_out_and_named() {
        let (question, environment) = ask(TargetKind::Folder, &[Ability::WriteCache, Ability::DurableBufferedWrites]);
        let ask = PlanRequest { question: &question, environment: &environment };
        let cells = plan(&ask).unwrap().cells;
        assert!(
            cells.iter().all(|cell| cell.workload.cache != Cache::Os && cell.workload.options.write_cache.is_none())
        );
        assert!(cells.iter().all(|cell| cell.workload.rw.writes()));
        let missing = missing(&ask);
        assert!(missing.len() == 2 && missing[1] == "the device's write cache is left as it is: it lacks that");
    }

    #[test]
    fn atomic_writes_are_measured_where_the_target_offers_them() {
        let atomic = |kind, unavailable: &[Ability]| {
            let (question, environment) = ask(kind, unavailable);
            let plan = plan(&PlanRequest { question: &question, environment: &environment }).unwrap();
            let atomic = plan.cells.iter().filter(|cell| cell.workload.options.atomic);
            assert!(atomic.clone().all(|cell| cell.workload.cache.direct()));
            (atomic.count(), plan.missing.iter().any(|why| why == "atomic writes are not measured: it lacks that"))
        };
        assert_eq!(atomic(TargetKind::Folder, &[]), (2, false));
        assert_eq!(atomic(TargetKind::Folder, &[Ability::AtomicWrites]), (0, true));
        assert_eq!(atomic(TargetKind::Simulated, &[]), (0, false), "nothing can be torn there");
    }

    #[test]
    fn a_simulated_target_without_a_cache_has_nothing_to_measure() {
        let (question, environment) = ask(TargetKind::Simulated, &[Ability::WriteCache]);
        assert_eq!(
            plan(&PlanRequest { question: &question, environment: &environment }),
            Err("it lacks that".to_string())
        );
    }
}
