//! Measures `files`: many small files created, looked at, listed, renamed and removed, by threads and folders.
//!
//! The plan: every operation by one thread and by more, each in a folder of its own and all in one; by one thread in a
//! small folder; and creations that are durable one by one. All threads together have the same number of files.

mod analysis;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{
    Bytes, Cache, Direction, EngineName, FileOperation, Folders, Issuing, Pattern, Rw, Workload, WorkloadOptions,
};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::FilesAnswer as Answer;
pub use analysis::*;

/// Size of each file.
const BYTES: Bytes = Bytes(4 << 10);
/// Most threads.
const MOST_THREADS: u32 = 64;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let capabilities = ask.capabilities();
    capabilities.can(&Ability::FileOperations)?;
    match capabilities.kind {
        TargetKind::Folder if capabilities.members <= 1 => {}
        TargetKind::Simulated => {}
        TargetKind::Folder
        | TargetKind::File
        | TargetKind::Device
        | TargetKind::Share
        | TargetKind::Nothing
        | TargetKind::Imported => {
            return Err("files are made in a folder: name one, of a file system that is mounted".to_string());
        }
    }
    if ask.environment.hosts.len() > 1 {
        return Err("each host would be alone with its files: start it on one host".to_string());
    }
    let counts = thread_counts(ask);
    let mut cells = Vec::new();
    for operation in FileOperation::ALL.iter().copied() {
        for threads in counts.iter().copied() {
            cells.push(cell(operation, threads, Folders::Own, FILES));
            if threads > 1 {
                cells.push(cell(operation, threads, Folders::Shared, FILES));
            }
        }
        cells.push(cell(operation, 1, Folders::Own, FEW_FILES));
    }
    // Without a time for flushes a simulated disk makes nothing durable.
    if capabilities.can(&Ability::Commits).is_ok() {
        let ends = [1, counts.last().copied().unwrap_or(1)];
        let durable =
            |threads| Workload { cache: Cache::Os, ..cell(FileOperation::Create, threads, Folders::Own, FILES) };
        cells.extend(ends.map(durable));
    }
    // Files have no buffers for requests, whatever the question says of those.
    let issuing = ask.question.issuing.map(|_| Issuing::default());
    Ok(Plan::of(cells.into_iter().map(|cell| PlannedCell::plain(Workload { issuing, ..cell }))))
}

/// One thread, two, half of the most, and the most: those of the question, or one for each processor, and at least two.
fn thread_counts(ask: &PlanRequest) -> Vec<u32> {
    let asked = ask.question.threads;
    let most = if asked > 1 { asked } else { ask.environment.machine.cpus.max(2) }.min(MOST_THREADS);
    let mut counts = vec![1, 2, most / 2, most];
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// An operation by so many threads, which have `files` of them together.
fn cell(operation: FileOperation, threads: u32, folders: Folders, files: u32) -> Workload {
    let direction = if operation.changes() { Direction::Write } else { Direction::Read };
    Workload {
        rw: Rw::of(Pattern::Sequential, direction),
        bs: BYTES,
        iodepth: 1,
        threads,
        cache: Cache::Both,
        engine: EngineName::Sync,
        options: WorkloadOptions {
            file_operation: Some(operation),
            folders,
            file_count: files / threads,
            ..WorkloadOptions::default()
        },
        ..Workload::default()
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment, Machine};
    use halfpower_spec::{Experiment, Question};

    use super::*;
    use crate::built_study::folder_without;

    fn planned(threads: u32, cpus: u32, capabilities: Capabilities) -> Result<Vec<Workload>, String> {
        let question = Question { experiments: vec![Experiment::Files], threads, ..Question::about("d") };
        let machine = Machine { cpus, ..Machine::default() };
        let environment = Environment { machine, capabilities, ..Environment::default() };
        let plan = plan(&PlanRequest { question: &question, environment: &environment })?;
        Ok(plan.cells.iter().map(|cell| cell.workload).collect())
    }

    #[test]
    fn every_operation_is_planned_alone_and_together_and_the_files_are_bounded() {
        for (threads, cpus, most) in [(1, 1, 2), (1, 8, 8), (16, 2, 16), (1000, 2, 64)] {
            let cells = planned(threads, cpus, folder_without(None, &[], "")).unwrap();
            let of = |operation, threads, folders| {
                let options = |cell: &Workload| (cell.options.file_operation, cell.options.folders);
                let fits = |cell: &&Workload| cell.threads == threads && options(cell) == (Some(operation), folders);
                cells.iter().filter(fits).count()
            };
            for operation in FileOperation::ALL.iter().copied() {
                let durable = usize::from(operation == FileOperation::Create);
                assert_eq!(of(operation, 1, Folders::Own), 2 + durable);
                assert_eq!(of(operation, 1, Folders::Shared), 0);
                assert_eq!(of(operation, most, Folders::Own), 1 + durable);
                assert_eq!(of(operation, most, Folders::Shared), 1);
            }
            assert!(cells.iter().all(|cell| cell.threads * cell.options.file_count <= FILES && !cell.cache.direct()));
            let mut once = cells.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), cells.len(), "no cell comes twice");
        }
    }

    #[test]
    fn a_target_without_files_says_why_not() {
        let lacks = folder_without(None, &[Ability::FileOperations], "it has no files");
        assert_eq!(planned(1, 2, lacks), Err("it has no files".to_string()));
        let device = Capabilities { kind: TargetKind::Device, ..folder_without(None, &[], "") };
        assert!(planned(1, 2, device).unwrap_err().contains("name one"));
        let without_flush = folder_without(None, &[Ability::Commits], "it has no flush");
        assert!(planned(1, 2, without_flush).unwrap().iter().all(|cell| !cell.cache.durable()));
    }
}
