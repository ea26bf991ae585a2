//! Measures `processors`: the same work on one processor and on all.
//!
//! The plan: the same reads on one processor and on all, on the interrupts' processor and on another, and on one of the
//! device's memory node and of another node.

mod analysis;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{Affinity, Bytes, Cache, Direction, EngineName, Pattern, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::ProcessorsAnswer as Answer;
pub use analysis::*;

/// Size of a small direct request, and how many are in flight over all threads: enough to keep processors busy.
const SMALL: Bytes = Bytes(4 << 10);
const DEPTH: u32 = 32;
/// Size of a buffered request; its copy keeps a processor busy.
const COPIED: Bytes = Bytes(64 << 10);

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let capabilities = ask.capabilities();
    if capabilities.kind == TargetKind::Nothing {
        return Err("there is no storage here whose requests processors could share".to_string());
    }
    capabilities.can(&Ability::OneProcessor)?;
    // Each thread has its own part of the target, and at least one request.
    let threads = ask.environment.machine.cpus.clamp(2, DEPTH);
    let usual = [Affinity::All, Affinity::One];
    let mut seats = usual.to_vec();
    if capabilities.can(&Ability::Interrupt).is_ok() {
        seats.extend([Affinity::Interrupt, Affinity::Other]);
    }
    // Most machines have a single node: what they lack is not said.
    if capabilities.can(&Ability::MemoryNodes).is_ok() {
        seats.extend([Affinity::Near, Affinity::Far]);
    }
    let mut workloads = Vec::new();
    if let Some(unit) = capabilities.direct_unit {
        let bs = Bytes(SMALL.0.max(unit.0));
        let reads = |threads: u32| {
            let usual = ask.workload(Pattern::Random, Direction::Read, bs, DEPTH / threads);
            Workload { threads, ..usual }
        };
        workloads.extend(seats.iter().map(|seat| seated(reads(1), *seat)));
        workloads.extend(usual.map(|seat| seated(reads(threads), seat)));
    }
    if ask.page_cache().is_ok() {
        let usual_read = ask.workload(Pattern::Sequential, Direction::Read, COPIED, 1);
        let engine = if usual_read.engine == EngineName::Auto { EngineName::Sync } else { usual_read.engine };
        let reads = Workload { threads, cache: Cache::Both, engine, ..usual_read };
        workloads.extend(usual.map(|seat| seated(reads, seat)));
    }
    if workloads.is_empty() {
        return Err("there is neither direct I/O nor a page cache to keep processors busy with".to_string());
    }
    let plain = workloads.into_iter().map(PlannedCell::plain);
    let cells = plain.flat_map(|cell| [cell, cell.beside_soaker()]);
    Ok(Plan { cells: cells.collect(), missing: missing(ask) })
}

/// Why the interrupts' processor is not compared with another.
fn missing(ask: &PlanRequest) -> Vec<String> {
    let why = ask.capabilities().can(&Ability::Interrupt).err();
    why.into_iter().map(|why| format!("the interrupts' processor is not set against another: {why}")).collect()
}

fn seated(workload: Workload, affinity: Affinity) -> Workload {
    Workload { options: WorkloadOptions { affinity, ..WorkloadOptions::default() }, ..workload }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Environment, Machine};
    use halfpower_spec::{Experiment, Question};

    use super::*;
    use crate::built_study::folder_without;

    fn cells(cpus: u32, unavailable: &[Ability]) -> Result<Vec<Workload>, String> {
        let capabilities = folder_without(Some(Bytes(512)), unavailable, "it cannot");
        let machine = Machine { cpus, ..Machine::default() };
        let environment = Environment { capabilities, machine, ..Environment::default() };
        let question = Question { experiments: vec![Experiment::Processors], ..Question::about("d") };
        let cells = plan(&PlanRequest { question: &question, environment: &environment })?.cells;
        Ok(cells.iter().map(|cell| cell.workload).collect())
    }

    #[test]
    fn the_work_is_the_same_on_every_seat() {
        for cpus in [2, 4, 64] {
            let cells = cells(cpus, &[]).unwrap();
            let direct = cells.iter().filter(|cell| cell.cache.direct());
            assert!(direct.clone().all(|cell| cell.total_depth() == DEPTH), "{cpus}");
            for affinity in Affinity::ALL {
                assert!(direct.clone().any(|cell| cell.options.affinity == *affinity), "{cpus} {affinity}");
            }
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_measured() {
        let seats = |lacking: &[Ability]| {
            let mut seats: Vec<Affinity> =
                cells(2, lacking).unwrap().iter().map(|cell| cell.options.affinity).collect();
            seats.sort_unstable();
            seats.dedup();
            seats
        };
        assert_eq!(seats(&[Ability::Interrupt, Ability::MemoryNodes]), [Affinity::All, Affinity::One]);
        assert_eq!(seats(&[Ability::Interrupt]), [Affinity::All, Affinity::One, Affinity::Near, Affinity::Far]);
        assert_eq!(cells(1, &[Ability::OneProcessor]), Err("it cannot".to_string()));
    }
}
