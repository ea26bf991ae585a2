//! Turns the runs of `commits` into commits a second and their times, and finds how many share a flush, what is
//! cheapest and what stops them.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_record::{Environment, Latency, Record};
use halfpower_spec::{
    Bytes, Cache, DurableBy, FlushCall, InOrder, JsonSchema, Layout, Pass, Workload, WorkloadOptions,
};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{ALIKE, RatioFinding, Scale};

/// Block size of the commits that the first screen tells of: a page of a database's log.
pub const BLOCK: Bytes = Bytes(8 << 10);
/// Writers of these beside a single one.
pub const TOGETHER: u32 = 16;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Commits by one means, of one size, by so many writers.
    pub commits: Vec<CommitRow>,
}

/// Commits by one means, of one size, by so many writers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CommitRow {
    /// What makes them durable.
    #[serde(flatten)]
    pub means: CommitMeans,
    /// Writers at once that commit, each with one write at a time.
    pub writers: u32,
    /// Further writers at once, whose writes nothing makes durable.
    pub beside_writers: u32,
    /// Whether each writer has a file of its own; otherwise all write to one file.
    pub own_files: bool,
    /// State of the file when the run begins.
    pub layout: Layout,
    /// Block size.
    pub bs_bytes: u64,
    /// Commits a second of all writers together.
    pub per_second: Interval,
    /// Median time of a commit in nanoseconds, from the submission of the write until it is durable.
    pub commit_ns_p50: u64,
    /// 99th percentile of that time.
    pub commit_ns_p99: u64,
    /// 99.9th percentile of that time.
    pub commit_ns_p999: u64,
    /// Commits behind these percentiles.
    #[serde(skip)]
    pub commits: u64,
    /// Median time of the flush alone, as the mean over runs; `null` if the write itself is durable.
    pub flush_ns_p50: Option<f64>,
    /// Runs behind it.
    pub runs: usize,
}

/// A way to make a write durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommitMeans {
    /// Cache setting: `both` and `os` write through the page cache; with `os` and `none` the write itself is durable.
    pub cache: Cache,
    /// The call after each write; `null` if the write itself is durable.
    pub flush_by: Option<FlushCall>,
    /// What makes the write itself durable; `null` if a call follows it.
    pub durable_by: Option<DurableBy>,
}

impl CommitMeans {
    fn of(workload: &Workload) -> Self {
        let Workload { cache, options, .. } = *workload;
        let by_call = options.fdatasync > 0;
        Self {
            cache,
            flush_by: by_call.then_some(options.flush_by),
            durable_by: (!by_call && cache.durable()).then_some(options.durable_by),
        }
    }

    /// Whether a write is durable then; after `sync_file_range` nothing promises that.
    pub fn is_durable(self) -> bool {
        self.flush_by != Some(FlushCall::SyncFileRange)
    }
}

/// How often writes can be made durable, and what limits that.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct CommitRates {
    /// One writer; `null` if not known.
    pub alone: Option<CommitRow>,
    /// 16 writers; `null` if not known.
    pub together: Option<CommitRow>,
}

/// The answer: rates, group commit, means, and what stops commits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct CommitsAnswer {
    /// Commits of 8 KiB by `fdatasync`, one at a time and 16 together.
    pub rates: CommitRates,
    /// How many writers share flushes before a commit takes twice as long.
    pub group: Option<GroupCommit>,
    /// What stops a single writer; `null` if a direct write and its flush, which tell of it, were not measured.
    pub stops_alone: Option<CommitStop>,
    /// What stops many writers; `null` likewise, unless something else tells.
    pub stops_together: Option<CommitStop>,
    /// A flush while other writes are in flight.
    pub beside_others: Option<FlushBesideOthers>,
    /// Commits of one writer by each means, the fastest first; those that promise nothing come last.
    pub means: Vec<MeansRate>,
    /// Commits in files that grow, or whose blocks were only reserved.
    pub growing: Vec<GrowingCommits>,
}

/// Writers that share flushes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GroupCommit {
    /// Most writers, of the numbers measured, whose median commit takes at most twice that of a single writer.
    pub writers: u32,
    /// Whether more writers were measured and took longer, so that this is the target's end and not the plan's.
    pub is_bounded: bool,
    /// The next number measured, whose commits take longer; not every number between them need have been measured.
    #[serde(skip)]
    pub slower: Option<u32>,
    /// Their commits a second over those of one writer.
    pub times: RatioFinding,
    /// Commits in the time of a single writer's flush: about so many share one.
    pub share_a_flush: f64,
}

/// What stops commits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum CommitStop {
    /// The device's flush: with nothing but it to wait for, it is most of a commit, by itself or with the write before it.
    DeviceFlush {
        /// Its share of the median commit.
        share: f64,
        /// Share of the write before it, where only both are most of a commit.
        write_share: Option<f64>,
    },
    /// The same in a virtual machine, where the host answers both.
    VirtualDisk {
        /// Share of the flush in the median commit.
        share: f64,
        /// Share of the write before it, where only both are most of a commit.
        write_share: Option<f64>,
    },
    /// The lock of a file: writers with files of their own commit more often.
    FileLock {
        /// Their commits over those of writers to one file.
        own_files: RatioFinding,
    },
    /// Nothing yet: more writers commit more often.
    MoreWriters,
    /// No evidence tells.
    Unknown,
}

/// The flush of a writer past the page cache, alone and while others write without flushing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FlushBesideOthers {
    /// The others, each with one write in flight.
    pub others: u32,
    /// Median time of the flush alone in nanoseconds.
    pub alone_ns: f64,
    /// Median time of the flush beside them in nanoseconds.
    pub beside_ns: f64,
    /// Time of the flush beside them over that alone.
    pub times: RatioFinding,
}

/// Commits of one writer by one means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MeansRate {
    /// The means.
    #[serde(flatten)]
    pub means: CommitMeans,
    /// Whether it promises that the write is durable.
    pub is_durable: bool,
    /// Commits a second.
    pub per_second: Interval,
    /// Mean time of a commit in nanoseconds.
    pub ns_each: f64,
    /// Its commits over those of `fdatasync` through the page cache; `null` for that itself.
    pub of_usual: Option<RatioFinding>,
}

/// Commits in files that grow, or whose blocks were only reserved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GrowingCommits {
    /// State of the file when the run begins.
    pub layout: Layout,
    /// Writers at once.
    pub writers: u32,
    /// Their commits over those into blocks that were written before.
    pub of_written: RatioFinding,
    /// Whether the file system keeps a journal, which such commits wait for and others do not.
    pub has_journal: bool,
}

/// Times of a single writer's commit at which commits count as slowed by each other.
const TWICE: f64 = 2.0;
/// Share of a commit from which its flush, or its write and flush, are what it waits for.
const MOST_OF_IT: f64 = 0.5;
/// File systems with a journal of metadata.
const JOURNALS: [&str; 6] = ["ext3", "ext4", "xfs", "jfs", "reiserfs", "ocfs2"];
/// The probe's word for a virtual machine.
const VIRTUAL_MACHINE: &str = "virtual machine";

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, CommitsAnswer) {
    let commits = Commits::of(data);
    let rows = Rows { commits: commits.cells.iter().map(CommitCell::row).collect() };
    let answer = CommitsAnswer {
        rates: CommitRates {
            alone: commits.usual(1).map(CommitCell::row),
            together: commits.usual(TOGETHER).map(CommitCell::row),
        },
        group: commits.group(),
        stops_alone: commits.stop_alone(data.environment),
        stops_together: commits.stop_together(data.environment),
        beside_others: commits.beside_others(),
        means: commits.means(),
        growing: commits.growing(data.environment),
    };
    (rows, answer)
}

/// A cell with the commits of its runs.
pub(super) struct CommitCell {
    workload: Workload,
    /// Commits a second of each run.
    rates: Vec<f64>,
    /// Times of all commits.
    times: Latency,
    /// Median flush of each run, in nanoseconds.
    flushes_ns: Vec<f64>,
    /// Processor time charged for a request in each run, in nanoseconds.
    charged_ns: Vec<f64>,
}

/// What a run's writes waited until they were durable.
fn commit_times(record: &Record) -> &Latency {
    if record.run.workload.options.fdatasync > 0 { &record.commits } else { &record.latency }
}

/// Commits a second in the window of a run, without its closing flush.
fn per_second(record: &Record) -> f64 {
    let window_ns = record.elapsed_ns.saturating_sub(record.flush_ns).max(1);
    commit_times(record).count() as f64 * 1e9 / window_ns as f64
}

impl CommitCell {
    /// `None` if no commit was made.
    fn of(cell: &ExperimentCell) -> Option<Self> {
        let is_plain = |record: &&&Record| record.run.pass == Pass::Plain && !commit_times(record).is_empty();
        let records: Vec<&Record> = cell.records.iter().filter(is_plain).copied().collect();
        let mut times = Latency::default();
        records.iter().for_each(|record| times.merge(commit_times(record)));
        let flushed = records.iter().filter(|record| !record.syncs.is_empty());
        let flushes_ns = flushed.map(|record| record.syncs.quantile_ns(0.5) as f64).collect();
        let rates: Vec<f64> = records.iter().map(|record| per_second(record)).collect();
        let charged_ns = records.iter().filter_map(|record| record.cpu.us_per_io(record.cpu.charged_ns()));
        let charged_ns = charged_ns.map(|us| us * 1e3).collect();
        (!rates.is_empty()).then_some(Self { workload: cell.workload, rates, times, flushes_ns, charged_ns })
    }

    fn row(&self) -> CommitRow {
        let Workload { bs, threads, options, .. } = self.workload;
        let writers = if options.flushing_threads == 0 { threads } else { options.flushing_threads.min(threads) };
        CommitRow {
            means: CommitMeans::of(&self.workload),
            writers,
            beside_writers: threads - writers,
            own_files: options.own_files,
            layout: options.layout,
            bs_bytes: bs.0,
            per_second: Interval::of_means(&self.rates),
            commit_ns_p50: self.times.quantile_ns(0.5),
            commit_ns_p99: self.times.quantile_ns(0.99),
            commit_ns_p999: self.times.quantile_ns(0.999),
            commits: self.times.count(),
            flush_ns_p50: self.flush_ns(),
            runs: self.rates.len(),
        }
    }

    fn flush_ns(&self) -> Option<f64> {
        (!self.flushes_ns.is_empty()).then(|| Interval::of_means(&self.flushes_ns).value)
    }

    fn median_ns(&self) -> f64 {
        self.times.quantile_ns(0.5) as f64
    }
}

/// The cells, by size, writers and means.
pub(super) struct Commits {
    scale: Scale,
    pub cells: Vec<CommitCell>,
    /// Cache setting of the usual means, `fdatasync` through the page cache if there is one.
    usual: Cache,
}

impl Commits {
    pub fn of(data: &ExperimentData) -> Self {
        let mut cells: Vec<CommitCell> = data.sound().filter_map(CommitCell::of).collect();
        cells.order_by_key(|cell| {
            let Workload { bs, threads, cache, options, .. } = cell.workload;
            (options.layout, options.own_files, cache, options.flush_by, options.durable_by, bs, threads)
        });
        let is_buffered = cells.iter().any(|cell| cell.workload.cache == Cache::Both);
        let usual = if is_buffered { Cache::Both } else { Cache::Device };
        Self { scale: Scale::of_means(cells.iter().map(|cell| cell.rates.as_slice())), cells, usual }
    }

    /// The cell of 8 KiB with this cache setting, number of writers and options.
    fn cell(&self, cache: Cache, writers: u32, options: WorkloadOptions) -> Option<&CommitCell> {
        self.cells.iter().find(|cell| {
            let workload = &cell.workload;
            (workload.cache, workload.bs, workload.threads) == (cache, BLOCK, writers) && workload.options == options
        })
    }

    /// So many writers with `fdatasync` after each write of 8 KiB into one file that was written before.
    fn usual(&self, writers: u32) -> Option<&CommitCell> {
        self.cell(self.usual, writers, fdatasync())
    }

    /// The cells of the usual means, the fewest writers first.
    pub fn by_writers(&self) -> Vec<CommitRow> {
        let is_usual = |cell: &&CommitCell| {
            let Workload { cache, bs, options, .. } = cell.workload;
            (cache, bs) == (self.usual, BLOCK) && options == fdatasync()
        };
        let mut rows: Vec<CommitRow> = self.cells.iter().filter(is_usual).map(CommitCell::row).collect();
        rows.order_by_key(|row| row.writers);
        rows
    }

    /// Commits of one cell over those of another.
    fn ratio(&self, over: &CommitCell, under: &CommitCell) -> Option<RatioFinding> {
        self.scale.times_means(&over.rates, &under.rates)
    }

    fn group(&self) -> Option<GroupCommit> {
        let alone = self.usual(1)?;
        let rows = self.by_writers();
        let is_within = |row: &&CommitRow| row.commit_ns_p50 as f64 <= TWICE * alone.median_ns();
        let within = rows.iter().take_while(is_within).count();
        let most = rows[..within].last()?;
        if rows.len() < 2 {
            return None;
        }
        let flush_ns = alone.flush_ns().unwrap_or(alone.median_ns());
        Some(GroupCommit {
            writers: most.writers,
            is_bounded: rows.iter().any(|row| row.writers > most.writers),
            slower: rows.get(within).map(|row| row.writers),
            times: self.ratio(self.usual(most.writers)?, alone)?,
            share_a_flush: most.per_second.value * flush_ns / 1e9,
        })
    }

    /// The time of the device's flush alone and of the write before it: of a direct write into written blocks, which leaves
    /// nothing else to write. What the processor does about them is not in the write's time.
    fn device_times_ns(&self) -> Option<[f64; 2]> {
        let direct = self.cell(Cache::Device, 1, fdatasync())?;
        let flush_ns = direct.flush_ns()?;
        let charged_ns = direct.charged_ns.iter().sum::<f64>() / direct.charged_ns.len().max(1) as f64;
        Some([flush_ns, (direct.median_ns() - flush_ns - charged_ns).max(0.0)])
    }

    /// Shares of a lone writer's commit: of the flush, and of the write before it.
    fn device_shares(&self) -> Option<[f64; 2]> {
        let commit_ns = self.usual(1)?.median_ns().max(1.0);
        let [share, write_share] = self.device_times_ns()?.map(|ns| (ns / commit_ns).min(1.0));
        Some([share, write_share.min(1.0 - share)])
    }

    fn stop_alone(&self, environment: &Environment) -> Option<CommitStop> {
        let [share, write_share] = self.device_shares()?;
        let is_guest = environment.machine.virtualised.as_deref().is_some_and(|what| what.contains(VIRTUAL_MACHINE));
        let is_of_guest = is_guest && environment.capabilities.kind.is_hardware();
        let write_share = (share < MOST_OF_IT).then_some(write_share);
        Some(if share + write_share.unwrap_or_default() < MOST_OF_IT {
            CommitStop::Unknown
        } else if is_of_guest {
            CommitStop::VirtualDisk { share, write_share }
        } else {
            CommitStop::DeviceFlush { share, write_share }
        })
    }

    /// What stops many: a lock if files of their own help, nothing if more writers do, and else what stops one.
    fn stop_together(&self, environment: &Environment) -> Option<CommitStop> {
        let together = self.usual(TOGETHER)?;
        let own = self.cell(self.usual, TOGETHER, WorkloadOptions { own_files: true, ..fdatasync() });
        let own_files = own.and_then(|own| self.ratio(own, together));
        if let Some(own_files) = own_files.filter(|times| times.is_known() && times.interval.low > ALIKE) {
            return Some(CommitStop::FileLock { own_files });
        }
        let most = self.by_writers().last().map(|row| row.writers).filter(|writers| *writers > TOGETHER);
        let with_most = most.and_then(|writers| self.ratio(self.usual(writers)?, together));
        if with_most.is_some_and(|times| times.is_known() && times.interval.low > ALIKE) {
            return Some(CommitStop::MoreWriters);
        }
        self.stop_alone(environment)
    }

    fn beside_others(&self) -> Option<FlushBesideOthers> {
        let alone = self.cell(Cache::Device, 1, fdatasync())?;
        let beside = self.cell(Cache::Device, TOGETHER, WorkloadOptions { flushing_threads: 1, ..fdatasync() })?;
        let flushes = [&beside.flushes_ns, &alone.flushes_ns].map(Vec::as_slice);
        let [over, under] = flushes;
        Some(FlushBesideOthers {
            others: TOGETHER - 1,
            alone_ns: alone.flush_ns()?,
            beside_ns: beside.flush_ns()?,
            times: Scale::of_means(flushes.into_iter()).times_means(over, under)?,
        })
    }

    /// Commits of one writer by each means, into a file that was written before; empty if only one was measured.
    fn means(&self) -> Vec<MeansRate> {
        let usual = self.usual(1);
        let is_one = |cell: &&CommitCell| {
            let Workload { bs, threads, options, .. } = cell.workload;
            (bs, threads, options.layout, options.own_files) == (BLOCK, 1, Layout::Written, false)
        };
        let rate = |cell: &CommitCell| {
            let means = CommitMeans::of(&cell.workload);
            let per_second = Interval::of_means(&cell.rates);
            let is_usual = usual.is_some_and(|usual| usual.workload == cell.workload);
            MeansRate {
                means,
                is_durable: means.is_durable(),
                per_second,
                ns_each: if per_second.value > 0.0 { 1e9 / per_second.value } else { 0.0 },
                of_usual: usual.filter(|_| !is_usual).and_then(|usual| self.ratio(cell, usual)),
            }
        };
        let mut all: Vec<MeansRate> = self.cells.iter().filter(is_one).map(rate).collect();
        all.order_by(|one, other| {
            (!one.is_durable).cmp(&!other.is_durable).then(other.per_second.value.total_cmp(&one.per_second.value))
        });
        if all.len() > 1 { all } else { Vec::new() }
    }

    fn growing(&self, environment: &Environment) -> Vec<GrowingCommits> {
        let kind = environment.filesystem.as_ref().map(|filesystem| filesystem.kind.as_str());
        let has_journal = kind.is_some_and(|kind| JOURNALS.contains(&kind));
        let grows = |cell: &&CommitCell| cell.workload.options.layout != Layout::Written;
        let row = |cell: &CommitCell| {
            let Workload { threads, options, .. } = cell.workload;
            let of_written = self.ratio(cell, self.usual(threads)?)?;
            Some(GrowingCommits { layout: options.layout, writers: threads, of_written, has_journal })
        };
        self.cells.iter().filter(grows).filter_map(row).collect()
    }
}

/// The options of the usual means.
fn fdatasync() -> WorkloadOptions {
    WorkloadOptions { fdatasync: 1, ..WorkloadOptions::default() }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Environment, FileSystem, LatencyCounter, Machine, Record};
    use halfpower_spec::{Cache, Experiment, Layout, Pass, Question, Rw, Workload, WorkloadOptions};

    use super::{BLOCK, CommitStop, CommitsAnswer, fdatasync};
    use crate::built::{disk, record_at};
    use crate::study_findings::{StudyFindings, analyse};
    use crate::table::ExperimentAnswer;

    const FLUSH_NS: u64 = 900_000;

    /// Three runs of so many writers that commit `per_second` times in all, each in its share of the time.
    fn runs(cache: Cache, writers: u32, options: WorkloadOptions, per_second: f64) -> Vec<Record> {
        let workload =
            Workload { rw: Rw::Write, cache, bs: BLOCK, iodepth: 1, threads: writers, options, ..Workload::default() };
        let run = |repeat: u32| {
            let rate = per_second * (1.0 + 0.01 * (f64::from(repeat) - 1.0));
            let bytes = rate * BLOCK.0 as f64;
            let mut record = record_at(&disk("fixed=80us,rate=500MB/s"), workload, repeat, Pass::Plain, bytes);
            record.run.experiment = Some(Experiment::Commits);
            let counted = |ns: u64| {
                let mut counter = LatencyCounter::default();
                counter.add(ns, rate as u64);
                counter.latency()
            };
            let each_ns = (f64::from(writers) / rate * 1e9) as u64;
            if options.fdatasync > 0 {
                record.commits = counted(each_ns);
                record.syncs = counted(FLUSH_NS.min(each_ns));
            } else {
                record.latency = counted(each_ns);
            }
            record
        };
        (0..3).map(run).collect()
    }

    fn findings(environment: &Environment, records: &[Vec<Record>]) -> StudyFindings {
        let question = Question { experiments: vec![Experiment::Commits], ..Question::about("d") };
        analyse(&question, environment, &records.concat())
    }

    fn answer(findings: &StudyFindings) -> &CommitsAnswer {
        match &findings.experiments[0].found {
            Some(ExperimentAnswer::Commits(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn writers_that_share_flushes_are_counted_until_a_commit_takes_twice_as_long() {
        let usual = |writers, per_second| runs(Cache::Device, writers, fdatasync(), per_second);
        let records = [usual(1, 1_000.0), usual(4, 2_500.0), usual(16, 8_200.0), usual(64, 8_200.0)];
        let findings = findings(&Environment::default(), &records);
        let found = answer(&findings);
        let group = found.group.unwrap();
        assert_eq!((group.writers, group.is_bounded), (16, true));
        assert!((group.share_a_flush / 7.38 - 1.0).abs() < 0.02, "{group:?}");
        assert!((group.times.interval.value / 8.2 - 1.0).abs() < 0.02, "{group:?}");
        assert!(
            matches!(found.stops_alone, Some(CommitStop::DeviceFlush { share, write_share: None }) if (share - 0.9).abs() < 0.02)
        );
        assert_eq!(found.stops_together, found.stops_alone, "64 commit no more often than 16");
        let [alone, together] = [found.rates.alone, found.rates.together].map(Option::unwrap);
        assert!((alone.per_second.value / 1_000.0 - 1.0).abs() < 0.01 && alone.runs == 3, "{alone:?}");
        assert!((together.commit_ns_p50 as f64 / 1.951e6 - 1.0).abs() < 0.02, "{together:?}");
        assert_eq!(findings.rows.commits.commits.len(), 4);
        let said = &findings.experiments[0].answer;
        assert!(
            said.contains("16 writers, of those tried (the next were 64), commit within twice the time of one"),
            "{said}"
        );
        assert!(said.contains("8 KiB, 1 at a time: 1,000 commits a second"), "{said}");
        let short = findings.experiments[0].short.as_ref().unwrap();
        assert_eq!(short.figure, "1,000 commits a second");
        assert!(short.sentence.starts_with("By one writer, 8 KiB each; the device's flush stops commits"), "{short:?}");
        assert!(findings.experiments[0].pictures.iter().any(|picture| picture.title.contains("by writers")));
    }

    /// Where only 1 and 16 writers were measured, nothing is known of 2.
    #[test]
    fn the_writers_whose_commits_take_longer_are_those_that_were_measured() {
        let usual = |writers, per_second| runs(Cache::Device, writers, fdatasync(), per_second);
        let said = |records: &[Vec<Record>]| findings(&Environment::default(), records).experiments[0].answer.clone();
        let chief = said(&[usual(1, 1_000.0), usual(16, 4_000.0)]);
        assert!(chief.contains("16 writers at once more than double the time of a commit"), "{chief}");
        let more = said(&[usual(1, 1_000.0), usual(2, 1_500.0), usual(16, 4_000.0)]);
        assert!(more.contains("to 2 writers, of those tried (the next were 16), commit within twice"), "{more}");
        let all = said(&[usual(1, 1_000.0), usual(2, 1_500.0), usual(4, 1_500.0)]);
        assert!(all.contains("to 2 writers commit within twice"), "{all}");
    }

    #[test]
    fn files_of_their_own_show_the_lock_and_a_virtual_machine_its_host() {
        let own = WorkloadOptions { own_files: true, ..fdatasync() };
        let growing = WorkloadOptions { layout: Layout::Append, ..fdatasync() };
        let records = [
            runs(Cache::Both, 1, fdatasync(), 1_000.0),
            runs(Cache::Both, 16, fdatasync(), 3_000.0),
            runs(Cache::Both, 16, own, 6_000.0),
            runs(Cache::Device, 1, fdatasync(), 1_050.0),
            runs(Cache::Device, 16, WorkloadOptions { flushing_threads: 1, ..fdatasync() }, 16.0 * 500.0),
            runs(Cache::None, 1, WorkloadOptions::default(), 1_500.0),
            runs(Cache::Both, 1, growing, 500.0),
        ];
        let mut environment = Environment {
            machine: Machine { virtualised: Some("virtual machine (KVM)".to_string()), ..Machine::default() },
            filesystem: Some(FileSystem { kind: "ext4".to_string(), ..FileSystem::default() }),
            ..Environment::default()
        };
        environment.capabilities.kind = halfpower_record::TargetKind::Folder;
        let findings = findings(&environment, &records);
        let found = answer(&findings);
        assert!(matches!(found.stops_alone, Some(CommitStop::VirtualDisk { .. })), "{found:?}");
        assert!(matches!(found.stops_together, Some(CommitStop::FileLock { .. })), "{found:?}");
        let beside = found.beside_others.unwrap();
        assert_eq!(beside.others, 15);
        assert!((beside.alone_ns - FLUSH_NS as f64).abs() < 0.01 * FLUSH_NS as f64, "{beside:?}");
        let is_beside = |row: &&super::CommitRow| row.beside_writers > 0;
        let rows: Vec<_> = findings.rows.commits.commits.iter().filter(is_beside).collect();
        assert_eq!((rows.len(), rows[0].writers, rows[0].beside_writers), (1, 1, 15));
        let cheapest = found.means[0];
        assert_eq!((cheapest.means.cache, cheapest.is_durable), (Cache::None, true));
        assert!(found.growing[0].of_written.is_less() && found.growing[0].has_journal);
        let said = &findings.experiments[0].answer;
        assert!(said.contains("cheapest durable way is direct O_DSYNC"), "{said}");
        assert!(said.contains("the journal comes on top"), "{said}");
        assert!(!said.contains("was not measured"), "{said}");
    }

    #[test]
    fn a_write_that_takes_as_long_as_its_flush_stops_commits_with_it() {
        // A flush of 900 µs; with the direct write before it 2 ms, and 2.5 ms through the page cache.
        let usual = runs(Cache::Both, 1, fdatasync(), 400.0);
        let stop = |direct: Vec<Record>| {
            let findings = findings(&Environment::default(), &[usual.clone(), direct]);
            (answer(&findings).stops_alone.unwrap(), findings.experiments[0].answer.clone())
        };
        let mut direct = runs(Cache::Device, 1, fdatasync(), 500.0);
        let (stopped, said) = stop(direct.clone());
        let CommitStop::DeviceFlush { share, write_share: Some(write_share) } = stopped else { panic!("{stopped:?}") };
        assert!((share - 0.36).abs() < 0.01 && (write_share - 0.44).abs() < 0.01, "{stopped:?}");
        assert!(said.contains("the device's write and flush stop commits: they are 80% of one"), "{said}");
        // What the processor does for the write is not the device's.
        for record in &mut direct {
            record.cpu.user_ns = record.cpu.ios * 1_000_000;
        }
        assert_eq!(stop(direct).0, CommitStop::Unknown);
        // Without direct writes nothing is known, and nothing is said to be unexplained.
        let findings = findings(&Environment::default(), &[usual.clone(), runs(Cache::Both, 16, fdatasync(), 800.0)]);
        assert_eq!((answer(&findings).stops_alone, answer(&findings).stops_together), (None, None));
        let said = &findings.experiments[0].answer;
        assert!(said.contains("What stops one writer was not measured: give the study a larger budget"), "{said}");
        assert!(!findings.experiments[0].short.as_ref().unwrap().sentence.contains("unknown"));
    }

    /// Of 300 commits, the longest would be both their 99.9th percentile and no more than one commit.
    #[test]
    fn the_rarest_commits_are_told_only_of_enough_of_them() {
        let usual = |writers, per_second| runs(Cache::Device, writers, fdatasync(), per_second);
        let found = findings(&Environment::default(), &[usual(1, 100.0), usual(16, 8_200.0)]);
        let said = &found.experiments[0].answer;
        let (alone, together) = said.split_once("16 together: ").unwrap();
        assert!(alone.contains("p99 ") && !alone.contains("p99.9"), "{said}");
        assert!(together.contains("p99.9 "), "{said}");
        let picture = found.experiments[0].pictures.iter().find(|one| one.title.starts_with("Time of a commit"));
        let points: Vec<usize> = picture.unwrap().lines.iter().map(|line| line.points.len()).collect();
        assert_eq!(points, [2, 2, 1]);
    }

    #[test]
    fn what_was_not_measured_in_time_is_said() {
        let findings = findings(&Environment::default(), &[runs(Cache::Device, 1, fdatasync(), 1_000.0)]);
        let said = &findings.experiments[0].answer;
        assert!(said.contains("16 together reach was not measured: give the study a larger budget"), "{said}");
        assert!(answer(&findings).group.is_none());
    }
}
