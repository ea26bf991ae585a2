//! Analyses `files`: files a second of each operation, what more threads and folders of their own bring, and what stops
//! each.
//!
//! A listing counts all files of its folder. A stop is named only if runs show it: the lock of a folder by threads that are
//! faster in folders of their own, the processors by the time that threads had for nothing else, the file system where
//! neither explains that more threads bring nothing.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{FileOperation, Folders, InOrder, JsonSchema, Workload};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{ALIKE, RatioFinding, Scale};

/// Files of all threads together, at one time.
pub const FILES: u32 = 8_192;
/// Files of a small folder.
pub const FEW_FILES: u32 = 1_024;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Operations on small files, by threads and folders.
    pub files: Vec<FileRow>,
}

/// One operation on small files, by so many threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FileRow {
    /// The operation.
    pub operation: FileOperation,
    /// Threads, each with one operation at a time.
    pub threads: u32,
    /// Whether each thread has a folder of its own.
    pub folders: Folders,
    /// Files in a folder: at most, where they are created or removed.
    pub files: u32,
    /// Bytes of each file.
    pub file_bytes: u64,
    /// Whether each change was durable, file and folder, before the next one.
    pub is_durable: bool,
    /// Runs.
    pub runs: usize,
    /// Files a second of all threads; a listing counts each file of its folder.
    pub per_second: Interval,
    /// Median time of an operation in nanoseconds; `null` if not known.
    pub latency_ns_p50: Option<u64>,
    /// Time that 99% of the operations did not exceed; `null` if not known.
    pub latency_ns_p99: Option<u64>,
    /// Share of the threads' time for which they computed or waited for a processor; `null` if not known.
    pub processor_share: Option<f64>,
}

/// The answer: each operation, and creations that are durable.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct FilesAnswer {
    /// Each operation that was measured.
    pub operations: Vec<OperationAnswer>,
    /// Creations that are durable one by one; `null` if not known.
    pub durable: Option<DurableCreation>,
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct OperationAnswer {
    /// The operation.
    pub operation: FileOperation,
    /// Files a second of one thread.
    pub alone: Interval,
    /// Most threads that were measured; 1 if there were no more.
    pub threads: u32,
    /// Files a second of these, each in a folder of its own; `null` if not known.
    pub together: Option<Interval>,
    /// Their files a second over those of one thread; `null` if not known.
    pub gain: Option<RatioFinding>,
    /// Their files a second over those of as many threads in one folder; `null` if not known.
    pub own_folders: Option<RatioFinding>,
    /// Files a second of one thread in a folder of 8,192 files over those in one of 1,024; `null` if not known.
    pub large_folder: Option<RatioFinding>,
    /// What stops these threads in folders of their own; `null` with one thread.
    pub stop: Option<FileStop>,
    /// What stops them in one folder; `null` if that was not measured.
    pub stop_in_one_folder: Option<FileStop>,
}

/// Creations that are durable one by one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DurableCreation {
    /// Files a second of one thread.
    pub alone: Interval,
    /// These over creations that nothing makes durable; `null` if not known.
    pub of_plain: Option<RatioFinding>,
    /// Most threads that were measured.
    pub threads: u32,
    /// Files a second of these; `null` if not known.
    pub together: Option<Interval>,
    /// Their files a second over those of one thread: they share what makes files durable; `null` if not known.
    pub gain: Option<RatioFinding>,
    /// Whether the file system keeps a journal, which these wait for beside the device's flush; `null` if not known.
    pub has_journal: Option<bool>,
}

/// What stops threads that work on small files.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum FileStop {
    /// The lock of the folder: in folders of their own the threads are faster.
    FolderLock {
        /// How many times as fast.
        own_folders: RatioFinding,
    },
    /// The processors: the threads had no time for anything else.
    Processors {
        /// Share of their time for which they computed or waited for a processor.
        share: f64,
    },
    /// Something that all folders of the file system share, such as its journal or a lock: more threads bring nothing,
    /// and the processors have time.
    FileSystem {
        /// Files a second of all threads over those of one.
        gain: RatioFinding,
    },
    /// Nothing yet: more threads bring more.
    MoreThreads,
    /// No evidence tells.
    Unknown,
}

/// Share of the threads' time from which processors are what they wait for.
const BUSY: f64 = 0.9;
/// File systems with a journal of metadata.
const JOURNALS: [&str; 6] = ["ext3", "ext4", "xfs", "jfs", "reiserfs", "ocfs2"];

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, FilesAnswer) {
    let files = FileCells::of(data);
    let cpus = data.environment.machine.cpus;
    let kind = data.environment.filesystem.as_ref().map(|filesystem| filesystem.kind.as_str());
    let answer = FilesAnswer {
        operations: FileOperation::ALL.iter().filter_map(|operation| files.operation(*operation, cpus)).collect(),
        durable: files.durable(kind.map(|kind| JOURNALS.contains(&kind))),
    };
    (Rows { files: files.cells.iter().filter_map(|cell| row(cell)).collect() }, answer)
}

/// Files in the folder of each thread.
fn in_folder(workload: &Workload) -> u32 {
    let files = workload.options.file_count;
    if workload.options.folders == Folders::Own { files } else { files.saturating_mul(workload.threads) }
}

/// Files that one request counts.
fn of_request(workload: &Workload) -> f64 {
    let lists = workload.options.file_operation == Some(FileOperation::List);
    if lists { f64::from(in_folder(workload)) } else { 1.0 }
}

fn per_second(cell: &ExperimentCell) -> Interval {
    let of_mbps = 1e6 / cell.workload.bs.0.max(1) as f64 * of_request(&cell.workload);
    scaled(cell.finding.mbps, of_mbps)
}

fn scaled(Interval { value, low, high }: Interval, by: f64) -> Interval {
    Interval { value: value * by, low: low * by, high: high * by }
}

/// Share of the threads' time for which they computed or waited for a processor.
fn processor_share(cell: &ExperimentCell) -> Option<f64> {
    let charged = cell.finding.core_share?;
    Some((charged + cell.finding.waited_share) / f64::from(cell.workload.threads.max(1)))
}

fn row(cell: &ExperimentCell) -> Option<FileRow> {
    let workload = &cell.workload;
    Some(FileRow {
        operation: workload.options.file_operation?,
        threads: workload.threads,
        folders: workload.options.folders,
        files: in_folder(workload),
        file_bytes: workload.bs.0,
        is_durable: workload.cache.durable(),
        runs: cell.finding.runs,
        per_second: per_second(cell),
        latency_ns_p50: cell.finding.latency_ns.p50,
        latency_ns_p99: cell.finding.latency_ns.p99,
        processor_share: processor_share(cell),
    })
}

/// The cells, and how their runs scatter.
struct FileCells<'a> {
    scale: Scale,
    cells: Vec<&'a ExperimentCell<'a>>,
}

impl<'a> FileCells<'a> {
    fn of(data: &'a ExperimentData) -> Self {
        let mut cells: Vec<&ExperimentCell> = data.sound().collect();
        cells.order_by_key(|cell| {
            let Workload { cache, threads, options, .. } = cell.workload;
            (options.file_operation, cache.durable(), options.folders, threads, options.file_count)
        });
        Self { scale: Scale::of(cells.iter().copied()), cells }
    }

    /// The cells of an operation, durable or not, with this choice of folders and all files.
    fn like(
        &self,
        operation: FileOperation,
        is_durable: bool,
        folders: Folders,
    ) -> impl Iterator<Item = &'a ExperimentCell<'a>> {
        let fits = move |cell: &&ExperimentCell| {
            let Workload { cache, threads, options, .. } = cell.workload;
            (options.file_operation, cache.durable(), options.folders) == (Some(operation), is_durable, folders)
                && options.file_count == FILES / threads.max(1)
        };
        self.cells.iter().copied().filter(fits)
    }

    /// The cell of one thread, and that of the most threads.
    fn ends(
        &self,
        operation: FileOperation,
        is_durable: bool,
    ) -> Option<(&'a ExperimentCell<'a>, Option<&'a ExperimentCell<'a>>)> {
        let alone = self.like(operation, is_durable, Folders::Own).find(|cell| cell.workload.threads == 1)?;
        let most = self.like(operation, is_durable, Folders::Own).max_by_key(|cell| cell.workload.threads);
        Some((alone, most.filter(|most| most.workload.threads > 1)))
    }

    /// Files a second of one cell over those of another.
    fn ratio(&self, over: &ExperimentCell, under: &ExperimentCell) -> Option<RatioFinding> {
        let requests = self.scale.times(&[over], &[under])?;
        let files = of_request(&over.workload) / of_request(&under.workload);
        Some(RatioFinding::of(scaled(requests.interval, files), requests.is_known()))
    }

    fn operation(&self, operation: FileOperation, cpus: u32) -> Option<OperationAnswer> {
        let (alone, most) = self.ends(operation, false)?;
        let threads = most.map_or(1, |most| most.workload.threads);
        let shared = self.like(operation, false, Folders::Shared).find(|cell| cell.workload.threads == threads);
        let is_few = |cell: &&&ExperimentCell| {
            let Workload { cache, threads, options, .. } = cell.workload;
            let is_it = options.file_operation == Some(operation) && !cache.durable();
            is_it && threads == 1 && options.file_count == FEW_FILES
        };
        let few = self.cells.iter().find(is_few).copied();
        let gain = most.and_then(|most| self.ratio(most, alone));
        let own_folders = most.zip(shared).and_then(|(most, shared)| self.ratio(most, shared));
        let large_folder = few.and_then(|few| self.ratio(alone, few));
        // The one folder of all threads has more files than theirs, which may be slower by itself: at worst by this much.
        let by_size = large_folder.filter(RatioFinding::is_known).map(|large| large.interval.low.min(1.0));
        let is_locked =
            |own: &RatioFinding| own.is_known() && by_size.is_some_and(|by_size| own.interval.low * by_size > ALIKE);
        Some(OperationAnswer {
            operation,
            alone: per_second(alone),
            threads,
            together: most.map(per_second),
            gain,
            own_folders,
            large_folder,
            stop: most.map(|most| stop(most, gain, cpus)),
            stop_in_one_folder: shared.map(|shared| match own_folders.filter(is_locked) {
                Some(own_folders) => FileStop::FolderLock { own_folders },
                None => stop(shared, self.ratio(shared, alone), cpus),
            }),
        })
    }

    fn durable(&self, has_journal: Option<bool>) -> Option<DurableCreation> {
        let (alone, most) = self.ends(FileOperation::Create, true)?;
        let plain = self.ends(FileOperation::Create, false).map(|(plain, _)| plain);
        Some(DurableCreation {
            alone: per_second(alone),
            of_plain: plain.and_then(|plain| self.ratio(alone, plain)),
            threads: most.map_or(1, |most| most.workload.threads),
            together: most.map(per_second),
            gain: most.and_then(|most| self.ratio(most, alone)),
            has_journal,
        })
    }
}

/// What stops the threads of a cell, which have so many times the files a second of one thread.
fn stop(cell: &ExperimentCell, gain: Option<RatioFinding>, cpus: u32) -> FileStop {
    let brings_more = gain.is_some_and(|gain| gain.is_known() && gain.interval.low > ALIKE);
    let has_processors_left = cell.workload.threads < cpus;
    match (processor_share(cell), gain) {
        (Some(share), _) if share >= BUSY && !(brings_more && has_processors_left) => FileStop::Processors { share },
        _ if brings_more => FileStop::MoreThreads,
        (Some(_), Some(gain)) if gain.is_known() && gain.interval.high <= ALIKE => FileStop::FileSystem { gain },
        _ => FileStop::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Environment, FileSystem, Machine, Record};
    use halfpower_spec::{Cache, Experiment, Pass, Question};

    use super::super::cell;
    use super::*;
    use crate::built::{disk, normal, record_at};
    use crate::study_findings::analyse;
    use crate::table::ExperimentAnswer;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const THREADS: u32 = 8;

    /// The answer to cells with so many requests a second, whose threads had so much to compute.
    fn answered(cells: &[(Workload, f64)], processor_share: f64) -> (FilesAnswer, String) {
        answered_by(cells, processor_share, 0.01)
    }

    /// The same, where runs scatter by so much.
    fn answered_by(cells: &[(Workload, f64)], processor_share: f64, scatter: f64) -> (FilesAnswer, String) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let disk = disk("fixed=80us,rate=500MB/s");
        let mut records: Vec<Record> = Vec::new();
        for (workload, requests) in cells {
            for repeat in 0..4 {
                let rate = requests * workload.bs.0 as f64 * (1.0 + scatter * normal(&mut random));
                let mut record = record_at(&disk, *workload, repeat, Pass::Plain, rate);
                record.run.experiment = Some(Experiment::Files);
                let computed = record.cpu.span_ns as f64 * f64::from(workload.threads) * processor_share;
                record.cpu.user_ns = 0;
                record.cpu.system_ns = computed as u64;
                records.push(record);
            }
        }
        let question = Question { experiments: vec![Experiment::Files], ..Question::about("d") };
        let filesystem = Some(FileSystem { kind: "ext4".to_string(), ..FileSystem::default() });
        let machine = Machine { cpus: THREADS, ..Machine::default() };
        let environment = Environment { filesystem, machine, ..Environment::default() };
        let mut findings = analyse(&question, &environment, &records);
        let section = findings.experiments.remove(0);
        let Some(ExperimentAnswer::Files(found)) = section.found else { panic!("{}", section.answer) };
        (found, section.answer)
    }

    /// Creations of one thread, of all in their own folders, and of all in one.
    fn creations(own: f64, shared: f64, processor_share: f64) -> (OperationAnswer, String) {
        let of = |threads, folders| cell(FileOperation::Create, threads, folders, FILES);
        let few = cell(FileOperation::Create, 1, Folders::Own, FEW_FILES);
        let cells = [
            (few, 20_000.0),
            (of(1, Folders::Own), 20_000.0),
            (of(THREADS, Folders::Own), own),
            (of(THREADS, Folders::Shared), shared),
        ];
        let (found, text) = answered(&cells, processor_share);
        (found.operations[0], text)
    }

    #[test]
    fn what_stops_the_threads_is_named_by_what_the_runs_show() {
        let (found, text) = creations(150_000.0, 60_000.0, 0.4);
        assert!(matches!(found.stop_in_one_folder, Some(FileStop::FolderLock { .. })), "{found:?}");
        assert_eq!(found.stop, Some(FileStop::MoreThreads));
        assert!((found.gain.unwrap().interval.value / 7.5 - 1.0).abs() < 0.05, "{found:?}");
        assert!(text.contains("the lock of the folder"), "{text}");
        let (found, text) = creations(60_000.0, 60_000.0, 0.97);
        assert!(matches!(found.stop, Some(FileStop::Processors { .. })), "{found:?}");
        assert!(matches!(found.stop_in_one_folder, Some(FileStop::Processors { .. })), "{found:?}");
        assert!(text.contains("processor"), "{text}");
        let (found, _) = creations(20_200.0, 20_100.0, 0.3);
        assert!(matches!(found.stop, Some(FileStop::FileSystem { .. })), "{found:?}");
        let (found, _) = creations(20_200.0, 15_000.0, 0.3);
        assert!(matches!(found.stop_in_one_folder, Some(FileStop::FolderLock { .. })), "{found:?}");
    }

    #[test]
    fn a_folder_that_is_slow_for_its_size_is_not_called_locked() {
        let of = |threads, folders, files| cell(FileOperation::Stat, threads, folders, files);
        let cells = [
            (of(1, Folders::Own, FILES), 50_000.0),
            (of(1, Folders::Own, FEW_FILES), 100_000.0),
            (of(THREADS, Folders::Own, FILES), 800_000.0),
            (of(THREADS, Folders::Shared, FILES), 400_000.0),
        ];
        let (found, text) = answered(&cells, 0.5);
        assert_eq!(found.operations[0].stop_in_one_folder, Some(FileStop::MoreThreads), "{text}");
        assert!(text.contains("of the rate in one of 1,024"), "{text}");
    }

    #[test]
    fn no_lock_is_named_where_it_is_not_known_what_the_size_of_a_folder_costs() {
        let of = |threads, folders, files| cell(FileOperation::Stat, threads, folders, files);
        let few = (of(1, Folders::Own, FEW_FILES), 50_000.0);
        let others = [
            (of(1, Folders::Own, FILES), 50_000.0),
            (of(THREADS, Folders::Own, FILES), 400_000.0),
            (of(THREADS, Folders::Shared, FILES), 200_000.0),
        ];
        let is_locked =
            |found: &FilesAnswer| matches!(found.operations[0].stop_in_one_folder, Some(FileStop::FolderLock { .. }));
        let all = [&others[..], &[few]].concat();
        assert!(is_locked(&answered(&all, 0.5).0), "a folder is as fast with more files in it");
        assert!(!is_locked(&answered(&others, 0.5).0), "nobody knows what more files cost");
        let [alone, own, shared] = others.map(|(workload, _)| workload);
        let close = [few, (alone, 46_500.0), (own, 240_000.0), (shared, 200_000.0)];
        let (found, _) = answered_by(&close, 0.5, 0.03);
        let [own, large] = [found.operations[0].own_folders, found.operations[0].large_folder].map(Option::unwrap);
        assert!(own.interval.low * large.interval.value.min(1.0) > ALIKE, "by the estimate: {own:?}, {large:?}");
        assert!(!is_locked(&found), "it may be slow by its size: {own:?}, {large:?}");
    }

    #[test]
    fn a_listing_counts_the_files_of_its_folder() {
        let of = |threads, folders, files| cell(FileOperation::List, threads, folders, files);
        let (found, _) = answered(
            &[
                (of(1, Folders::Own, FILES), 100.0),
                (of(1, Folders::Own, FEW_FILES), 800.0),
                (of(THREADS, Folders::Own, FILES), 6_400.0),
                (of(THREADS, Folders::Shared, FILES), 800.0),
            ],
            0.5,
        );
        let found = found.operations[0];
        assert!((found.alone.value / (100.0 * f64::from(FILES)) - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.gain.unwrap().interval.value / 8.0 - 1.0).abs() < 0.05, "{found:?}");
        for ratio in [found.own_folders.unwrap(), found.large_folder.unwrap()] {
            assert!(ratio.is_alike(), "{ratio:?}");
        }
    }

    #[test]
    fn durable_creations_are_held_against_plain_ones() {
        let plain = cell(FileOperation::Create, 1, Folders::Own, FILES);
        let durable =
            |threads| Workload { cache: Cache::Os, ..cell(FileOperation::Create, threads, Folders::Own, FILES) };
        let (found, text) = answered(&[(plain, 20_000.0), (durable(1), 500.0), (durable(THREADS), 2_500.0)], 0.1);
        let found = found.durable.unwrap();
        assert!((found.of_plain.unwrap().interval.value / 0.025 - 1.0).abs() < 0.05, "{found:?}");
        assert!((found.gain.unwrap().interval.value / 5.0 - 1.0).abs() < 0.05, "{found:?}");
        assert_eq!((found.threads, found.has_journal), (THREADS, Some(true)));
        assert!(text.contains("journal") && text.contains("durable"), "{text}");
    }
}
