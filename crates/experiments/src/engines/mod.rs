//! Measures `engines`: the same work through every engine and way of issuing.
//!
//! The plan: direct requests through every engine, some of them issued in other ways, and buffered requests.

mod analysis;
pub mod issuing;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{Bytes, Cache, Direction, EngineName, IoMem, Issuing, Pattern, Workload};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::EnginesAnswer as Answer;
pub use analysis::*;

/// Block size and depth of the direct requests that compare engines.
const DIRECT: [(Bytes, u32); 3] = [(Bytes(4 << 10), 1), (Bytes(4 << 10), 32), (Bytes(64 << 10), 32)];
/// Requests that compare ways of issuing: small, larger, and large enough that only huge pages hold a buffer in one
/// piece.
const ISSUED: [(Bytes, u32); 4] = [DIRECT[1], DIRECT[2], (Bytes(1 << 20), 1), (Bytes(1 << 20), 8)];
/// Batch sizes besides the usual one: a few, and 0 for all that can be submitted.
const BATCHES: [u32; 2] = [8, 0];
/// Block sizes of the sequential buffered requests at depth 1. Random ones would not be equal work: each page fault of
/// a mapping also reads neighbours, which later requests would find.
const BUFFERED: [Bytes; 2] = [Bytes(4 << 10), Bytes(64 << 10)];
/// Engines that differ in how they use the page cache: a call per request, or a page fault.
const THROUGH_THE_CACHE: [EngineName; 2] = [EngineName::Sync, EngineName::Mmap];

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.capabilities().kind == TargetKind::Nothing {
        return Err("there is no storage here to compare engines by".to_string());
    }
    ask.capabilities().can(&Ability::Engines)?;
    let can = |name: &EngineName| ask.capabilities().can(&Ability::Engine(*name)).is_ok();
    let names = || compared(ask).filter(can);
    let mut workloads = Vec::new();
    if let Some(unit) = ask.capabilities().direct_unit {
        let direct = |name: &EngineName| *name != EngineName::Mmap;
        for (bs, iodepth) in DIRECT.into_iter().filter(|(bs, _)| bs.0.is_multiple_of(unit.0)) {
            let names = names().filter(direct).filter(|name| iodepth == 1 || !name.is_in_turn());
            let reading = |engine| Workload {
                engine,
                cache: Cache::Device,
                ..ask.workload(Pattern::Random, Direction::Read, bs, iodepth)
            };
            workloads.extend(names.map(reading));
        }
    }
    workloads.extend(ways_of_issuing(ask));
    if ask.page_cache().is_ok() {
        for bs in BUFFERED {
            let names = THROUGH_THE_CACHE.into_iter().filter(can);
            let reading = |engine| Workload {
                engine,
                cache: Cache::Both,
                ..ask.workload(Pattern::Sequential, Direction::Read, bs, 1)
            };
            workloads.extend(names.map(reading));
        }
    }
    if workloads.is_empty() {
        return Err("there is neither direct I/O nor a page cache to compare engines by".to_string());
    }
    let plain = workloads.into_iter().map(PlannedCell::plain);
    let cells = plain.flat_map(|cell| [cell, cell.beside_soaker()]);
    Ok(Plan { cells: cells.collect(), missing: missing(ask) })
}

/// Direct requests through io_uring by memory and batch, each changed alone from what most applications use.
fn ways_of_issuing(ask: &PlanRequest) -> Vec<Workload> {
    let (Some(usual), Some(unit)) = (ask.question.issuing, ask.capabilities().direct_unit) else { return Vec::new() };
    if ask.capabilities().can(&Ability::Engine(EngineName::IoUring)).is_err() {
        return Vec::new();
    }
    let mut workloads = Vec::new();
    for (bs, iodepth) in ISSUED.into_iter().filter(|(bs, _)| bs.0.is_multiple_of(unit.0)) {
        let reading = |issuing| Workload {
            engine: EngineName::IoUring,
            issuing: Some(issuing),
            cache: Cache::Device,
            ..ask.workload(Pattern::Random, Direction::Read, bs, iodepth)
        };
        // A single request at a time shares no call.
        let batches: &[u32] = if iodepth > 1 { &BATCHES } else { &[] };
        let turned = batches.iter().map(|batch| Issuing { iodepth_batch: *batch, ..usual });
        let all = [usual, Issuing { iomem: IoMem::Huge, ..usual }].into_iter().chain(turned).map(reading);
        let is_new = |workload: &Workload| workload.issuing != Some(usual) || !DIRECT.contains(&(bs, iodepth));
        workloads.extend(all.filter(is_new));
    }
    workloads.dedup();
    workloads
}

/// Why some engines are left out of the comparison.
fn missing(ask: &PlanRequest) -> Vec<String> {
    let why = |name: &EngineName| Some(format!("{name}: {}", ask.capabilities().can(&Ability::Engine(*name)).err()?));
    compared(ask).filter_map(|name| why(&name)).collect()
}

/// Engines that a target of this kind may have. A simulated one has no queues that differ, and stays with the engines of its
/// first studies.
fn compared(ask: &PlanRequest) -> impl Iterator<Item = EngineName> {
    let is_simulated = ask.capabilities().kind == TargetKind::Simulated;
    let is_new = |name: &EngineName| *name == EngineName::Hybrid || name.sends_commands();
    let names = EngineName::ALL.iter().copied().filter(|name| name.is_for_storage());
    names.filter(move |name| !(is_simulated && is_new(name)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use halfpower_record::{Capabilities, Environment};
    use halfpower_spec::{Experiment, Pass, Question};

    use super::*;

    fn environment(direct_unit: Option<Bytes>, unavailable: &[(Ability, &str)]) -> Environment {
        let unavailable: BTreeMap<_, _> =
            unavailable.iter().map(|(ability, why)| (ability.clone(), why.to_string())).collect();
        let kind = TargetKind::Folder;
        let capabilities = Capabilities {
            kind,
            span: Bytes(1 << 30),
            spread: None,
            members: 1,
            chunk: None,
            direct_unit,
            unavailable,
            ..Capabilities::default()
        };
        Environment { capabilities, ..Environment::default() }
    }

    fn cells(environment: &Environment) -> Vec<Workload> {
        let question = Question { experiments: vec![Experiment::Engines], ..Question::about("d") };
        plan(&PlanRequest { question: &question, environment })
            .unwrap()
            .cells
            .iter()
            .map(|cell| cell.workload)
            .collect()
    }

    #[test]
    fn engines_are_compared_at_equal_work() {
        let all = cells(&environment(Some(Bytes(512)), &[]));
        let asked = |bs: u64, depth, cache| {
            let alike = |cell: &&Workload| (cell.bs.0, cell.iodepth, cell.cache) == (bs, depth, cache);
            all.iter().filter(alike).map(|cell| cell.engine).step_by(2).collect::<Vec<_>>()
        };
        use EngineName::{Commands, Hybrid, IoUring, Iopoll, Libaio, Mmap, Plain, PolledCommands, Pool, Sqpoll, Sync};
        let rings = [IoUring, Plain, Sqpoll, Iopoll, Hybrid, Commands, PolledCommands];
        assert_eq!(asked(4096, 1, Cache::Device), [&[Sync, Pool][..], &rings, &[Libaio]].concat());
        assert_eq!(asked(4096, 32, Cache::Device), [&[Pool][..], &rings, &[Libaio]].concat());
        assert_eq!(asked(65536, 1, Cache::Both), [Sync, Mmap]);
        assert!(all.iter().all(|cell| !cell.rw.writes()));
    }

    #[test]
    fn memory_and_batch_are_turned_one_by_one() {
        let environment = environment(Some(Bytes(512)), &[]);
        let experiments = vec![Experiment::Engines];
        let issuing = Some(Issuing::default());
        let question = Question { experiments, issuing, ..Question::about("d") };
        let plan = plan(&PlanRequest { question: &question, environment: &environment }).unwrap();
        let small = |cell: &&PlannedCell| {
            let Workload { bs, iodepth, engine, .. } = cell.workload;
            (bs.0, iodepth, engine) == (4096, 32, EngineName::IoUring) && cell.passes == [Pass::Plain]
        };
        let ways: Vec<String> =
            plan.cells.iter().filter(small).map(|cell| cell.workload.issuing.unwrap().to_string()).collect();
        assert_eq!(
            ways,
            [
                "--iomem pages --iodepth-batch 1",
                "--iomem huge --iodepth-batch 1",
                "--iomem pages --iodepth-batch 8",
                "--iomem pages --iodepth-batch 0"
            ]
        );
        let large = plan.cells.iter().filter(|cell| cell.workload.bs.0 == 1 << 20).count();
        assert_eq!(large, 2 * (2 + 4), "both passes of one and of eight at a time");
        assert!(cells(&environment).iter().all(|cell| cell.issuing.is_none()), "virtual time has none of it");
    }

    #[test]
    fn what_cannot_be_had_is_left_out_with_its_reason() {
        let environment = environment(Some(Bytes(512)), &[(Ability::Engine(EngineName::Iopoll), "no queues to poll")]);
        assert!(cells(&environment).iter().all(|cell| cell.engine != EngineName::Iopoll));
        let question = Question { experiments: vec![Experiment::Engines], ..Question::about("d") };
        assert_eq!(
            missing(&PlanRequest { question: &question, environment: &environment }),
            ["io_uring_iopoll: no queues to poll"]
        );
    }

    #[test]
    fn commands_have_a_row_where_the_target_takes_them_and_a_reason_elsewhere() {
        let why = [(Ability::Engine(EngineName::Commands), "it is no NVMe namespace")];
        let question = Question { experiments: vec![Experiment::Engines], ..Question::about("d") };
        let planned = |environment: &Environment| plan(&PlanRequest { question: &question, environment }).unwrap();
        let by_commands = |plan: &Plan| {
            plan.cells
                .iter()
                .filter(|cell| cell.workload.engine == EngineName::Commands && cell.workload.cache.direct())
                .count()
        };
        let here = planned(&environment(Some(Bytes(512)), &[]));
        assert_eq!((by_commands(&here), here.missing), (DIRECT.len() * 2, vec![]), "plain and beside the soaker");
        let elsewhere = planned(&environment(Some(Bytes(512)), &why));
        assert_eq!(
            (by_commands(&elsewhere), elsewhere.missing),
            (0, vec!["io_uring_cmd: it is no NVMe namespace".to_string()])
        );
        let mut simulated = environment(Some(Bytes(512)), &why);
        simulated.capabilities.kind = TargetKind::Simulated;
        let simulated = planned(&simulated);
        assert_eq!((by_commands(&simulated), simulated.missing), (0, vec![]), "as in its first studies");
    }

    #[test]
    fn without_direct_requests_the_page_cache_is_left() {
        let all = cells(&environment(None, &[]));
        assert!(!all.is_empty() && all.iter().all(|cell| cell.cache == Cache::Both));
    }
}
