//! Measures `commits`: small writes that are made durable one by one, by one writer and by many.
//!
//! The plan begins with what the first screen tells: one writer and many, with fdatasync after each write. Then follow
//! more writers, other means, other sizes, files of their own and files that grow, in the order of their use.

mod analysis;
mod flush;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{
    Bytes, Cache, Direction, DurableBy, EngineName, FlushCall, Layout, Pattern, Workload, WorkloadOptions,
};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::CommitsAnswer as Answer;
pub use analysis::*;
pub use flush::{FlushAlone, flush_alone};

/// Number of cells at the beginning of the plan that the first screen tells of.
pub const CHIEF_CELLS: usize = 2;
/// Further numbers of writers, and further sizes.
const WRITERS: [u32; 5] = [2, 4, 8, 32, 64];
const SIZES: [Bytes; 4] = [Bytes(512), Bytes(4 << 10), Bytes(16 << 10), Bytes(64 << 10)];
/// Files that grow, and files whose blocks were only reserved.
const LAYOUTS: [Layout; 2] = [Layout::Append, Layout::Fallocated];

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let capabilities = ask.capabilities();
    capabilities.can(&Ability::Commits)?;
    match capabilities.kind {
        TargetKind::Nothing | TargetKind::Imported => {
            return Err("there is no storage here that could keep anything".to_string());
        }
        TargetKind::Share => {
            return Err(
                "commits to a share are not planned: mount it, or take `halfpower run --fdatasync 1`".to_string()
            );
        }
        TargetKind::Folder | TargetKind::File | TargetKind::Device | TargetKind::Simulated => {}
    }
    let usual = if ask.page_cache().is_ok() { Cache::Both } else { Cache::Device };
    let commit = |bs, writers| write(ask, (usual, bs), writers, by_call(FlushCall::Fdatasync));
    let mut cells: Vec<PlannedCell> = [1, TOGETHER].map(|writers| commit(BLOCK, writers)).to_vec();
    cells.extend(WRITERS.map(|writers| commit(BLOCK, writers)));
    // Direct, because writes that stay in the page cache are not in flight.
    let beside = WorkloadOptions { flushing_threads: 1, ..by_call(FlushCall::Fdatasync) };
    if capabilities.direct_unit.is_some() {
        cells.push(write(ask, (Cache::Device, BLOCK), TOGETHER, beside));
    }
    if capabilities.kind != TargetKind::Simulated {
        cells.extend(means(ask));
    }
    cells.extend(SIZES.map(|bs| commit(bs, 1)));
    cells.push(commit(SIZES[SIZES.len() - 1], TOGETHER));
    // Files of their own lie in folders alone, on a single member.
    let makes_files = capabilities.kind == TargetKind::Folder && capabilities.members <= 1;
    if makes_files && capabilities.can(&Ability::Layouts).is_ok() {
        let own = WorkloadOptions { own_files: true, ..by_call(FlushCall::Fdatasync) };
        cells.push(write(ask, (usual, BLOCK), TOGETHER, own));
        for layout in LAYOUTS {
            let options = WorkloadOptions { layout, ..by_call(FlushCall::Fdatasync) };
            cells.extend([1, TOGETHER].map(|writers| write(ask, (usual, BLOCK), writers, options)));
        }
    }
    let unit = capabilities.direct_unit.map_or(1, |unit| unit.0.max(1));
    cells.retain(|cell| !cell.workload.cache.direct() || cell.workload.bs.0.is_multiple_of(unit));
    Ok(Plan::of(cells))
}

/// The same commits by other calls and flags than fdatasync through the page cache.
fn means(ask: &PlanRequest) -> Vec<PlannedCell> {
    let usual = WorkloadOptions::default();
    let [fdatasync, fsync] = [FlushCall::Fdatasync, FlushCall::Fsync].map(by_call);
    let by_flag = |durable_by| WorkloadOptions { durable_by, ..usual };
    let [odsync, rwf_dsync] = [DurableBy::Odsync, DurableBy::RwfDsync].map(by_flag);
    let of_one = [
        (Cache::Both, fsync),
        (Cache::Os, odsync),
        (Cache::Os, rwf_dsync),
        (Cache::Device, fdatasync),
        (Cache::None, odsync),
        (Cache::None, rwf_dsync),
        (Cache::Both, by_call(FlushCall::SyncFileRange)),
    ];
    let of_many = [(Cache::Os, odsync), (Cache::Device, fdatasync), (Cache::None, odsync)];
    let can = |cache: Cache| match cache {
        Cache::Both => ask.page_cache().is_ok(),
        Cache::Os => ask.page_cache().is_ok() && ask.capabilities().can(&Ability::DurableBufferedWrites).is_ok(),
        Cache::Device | Cache::None => ask.capabilities().direct_unit.is_some(),
    };
    let all = of_one.map(|means| (1, means)).into_iter().chain(of_many.map(|means| (TOGETHER, means)));
    let possible = all.filter(|(_, (cache, _))| can(*cache));
    possible.map(|(writers, (cache, options))| write(ask, (cache, BLOCK), writers, options)).collect()
}

/// A flush by this call after each write.
fn by_call(flush_by: FlushCall) -> WorkloadOptions {
    WorkloadOptions { fdatasync: 1, flush_by, ..WorkloadOptions::default() }
}

/// Writers that each write one block at a time, one after the other in their own part of the target; with plain calls,
/// unless the question names another engine.
fn write(ask: &PlanRequest, (cache, bs): (Cache, Bytes), writers: u32, options: WorkloadOptions) -> PlannedCell {
    let usual = ask.workload(Pattern::Sequential, Direction::Write, bs, 1);
    let engine = if usual.engine == EngineName::Auto { EngineName::Sync } else { usual.engine };
    PlannedCell::plain(Workload { cache, threads: writers, engine, options, ..usual })
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment};
    use halfpower_spec::{Experiment, Question};

    use super::*;
    use crate::built_study::folder_without;

    fn planned(kind: TargetKind, unit: Option<Bytes>, lacks: &[Ability]) -> Result<Vec<Workload>, String> {
        let capabilities = Capabilities { kind, ..folder_without(unit, lacks, "it lacks that") };
        let question = Question { experiments: vec![Experiment::Commits], ..Question::about("d") };
        let environment = Environment { capabilities, ..Environment::default() };
        let plan = plan(&PlanRequest { question: &question, environment: &environment })?;
        Ok(plan.cells.iter().map(|cell| cell.workload).collect())
    }

    #[test]
    fn what_the_first_screen_tells_comes_first() {
        let cells = planned(TargetKind::Folder, Some(Bytes(512)), &[]).unwrap();
        for (cell, writers) in cells[..CHIEF_CELLS].iter().zip([1, TOGETHER]) {
            assert_eq!((cell.bs, cell.threads, cell.cache), (BLOCK, writers, Cache::Both));
            assert_eq!(cell.options, by_call(FlushCall::Fdatasync));
        }
        assert!(cells.iter().all(|cell| cell.rw.writes() && cell.iodepth == 1 && cell.engine == EngineName::Sync));
        let is_durable = |cell: &&Workload| cell.cache.durable() || cell.options.fdatasync == 1;
        assert_eq!(cells.iter().filter(is_durable).count(), cells.len());
        let mut once = cells.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), cells.len(), "no cell comes twice");
        assert!(cells.iter().any(|cell| cell.options.own_files) && cells.iter().any(|cell| cell.cache == Cache::None));
    }

    #[test]
    fn what_a_target_lacks_is_not_planned() {
        let cells = planned(TargetKind::Device, Some(Bytes(4096)), &[Ability::DurableBufferedWrites]).unwrap();
        assert!(cells.iter().all(|cell| cell.cache != Cache::Os && !cell.options.own_files));
        assert!(cells.iter().all(|cell| cell.options.layout == Layout::Written));
        let cells = planned(TargetKind::Simulated, Some(Bytes(4096)), &[Ability::PageCache]).unwrap();
        assert!(cells.iter().all(|cell| cell.cache == Cache::Device && cell.bs >= Bytes(4096)));
        assert_eq!(planned(TargetKind::Simulated, None, &[Ability::Commits]), Err("it lacks that".to_string()));
        assert!(planned(TargetKind::Share, None, &[]).unwrap_err().contains("mount it"));
    }
}
