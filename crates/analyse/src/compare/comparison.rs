//! Defines what is compared of two studies, and what the analysis finds in them, as numbers and enums.
//!
//! Changes are from A to B, in percent of A. Rates are decimal MB/s, sizes are bytes, times are microseconds. `None`
//! means not known.

use halfpower_record::{Device, Environment, FileSystem, Machine, Record};
use halfpower_spec::{EngineName, JsonSchema, Question};
use serde::Serialize;

use crate::{Bound, CellSettings, ChecksComparison, Findings, Interval, PathSettings, SurroundingChange};

/// The comparison of two studies.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The baseline: changes are counted from it.
    pub a: StudyFacts,
    /// The study compared with the baseline.
    pub b: StudyFacts,
    /// Whether the studies differ, or why that is not known.
    pub outcome: Outcome,
    /// Whether anything differs: some change has `different` set.
    pub different: bool,
    /// What a reader should know before believing the result.
    pub notes: Vec<Note>,
    /// Thresholds from which a difference counts.
    pub practical: Practical,
    /// One for each pattern, direction and cache setting that both studies measured.
    pub paths: Vec<PathComparison>,
    /// One for each path and depth on which both studies have a curve.
    pub half_power: Vec<HalfPowerComparison>,
    /// One for each path and bound for which both studies have a fit.
    pub cost: Vec<CostComparison>,
    /// Price-performance, if prices were given.
    pub price: Option<PriceTable>,
    /// Every cell that both studies measured, by pattern, direction, cache setting, depth and block size.
    pub cells: Vec<CellComparison>,
    /// Cells that only A measured.
    pub only_a: Vec<CellSettings>,
    /// Cells that only B measured.
    pub only_b: Vec<CellSettings>,
    /// Cells that both measured but that allow no conclusion.
    pub left_out: Vec<LeftOut>,
    /// How the checks of settings differ; `None` if neither study has what they found.
    pub checks: Option<ChecksComparison>,
    /// Conditions that the user set, with their results.
    pub fail_if: Vec<ConditionFinding>,
}

/// One of the two studies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StudyFacts {
    /// Its name in tables: `A` is the baseline, then `B`, `C` and so on.
    pub letter: String,
    /// The user's name for it: its file, or a name given to it.
    pub name: String,
    /// What was measured, in its canonical text.
    pub target: String,
    /// The computer.
    pub machine: Machine,
    /// The file system under the target.
    pub filesystem: Option<FileSystem>,
    /// The device under the target.
    pub device: Option<Device>,
    /// Engines that ran it.
    pub engines: Vec<EngineName>,
    /// Runs that it holds.
    pub runs: usize,
    /// Their time, in seconds.
    pub seconds: f64,
    /// When the first run began, in milliseconds of Unix time; 0 in virtual time.
    pub started_unix_ms: u64,
    /// Speed of its processors in MHz: the median over its runs, or what the machine reported before them.
    pub cpu_mhz: Option<f64>,
}

/// Thresholds from which a difference of a cell counts, in percent, for each compared figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Practical {
    /// Throughput.
    pub throughput: Floor,
    /// 99th percentile of latency.
    pub p99: Floor,
    /// Charged processor time a request.
    pub cost: Floor,
}

/// The noise of one figure, and the resulting threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Floor {
    /// Largest difference of a cell between two studies of one system in 19 of 20 cases, the median over cells, in
    /// percent; `null` if no cell was measured more than once in both studies.
    pub noise_percent: Option<f64>,
    /// The larger of 5 and the noise, in percent.
    pub threshold_percent: f64,
}

/// Change of one figure from A to B.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The figure in A: the geometric mean over runs, or over cells and runs.
    pub a: f64,
    /// The figure in B.
    pub b: f64,
    /// `100 (b / a - 1)`.
    pub percent: f64,
    /// Lower end of its 95% interval; `null` if a study has a single run.
    pub low_percent: Option<f64>,
    /// Upper end.
    pub high_percent: Option<f64>,
    /// Lower end of the 95% interval of the figure in B; `null` for a single run.
    pub b_low: Option<f64>,
    /// Upper end.
    pub b_high: Option<f64>,
    /// Probability of at least this change by chance, after Holm's correction over all tests.
    pub p: Option<f64>,
    /// Whether others used the disk during the worse measurement, so that they may have caused the change.
    pub others_used_the_disk: bool,
    /// Whether it is beyond chance (`p` below 0.05), however small it is, and others cannot have caused it.
    pub certain: bool,
    /// Whether it is beyond chance (`p` below 0.05) and beyond the practical threshold, and others cannot have caused
    /// it.
    pub different: bool,
    /// Degrees of freedom of the interval of the change; infinite if its ends are those of a normal distribution.
    #[serde(skip)]
    pub(crate) freedom: f64,
    /// The same of the interval of the figure in B.
    #[serde(skip)]
    pub(crate) freedom_of_b: f64,
}

/// One cell in both studies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellComparison {
    /// Its settings.
    #[serde(flatten)]
    pub settings: CellSettings,
    /// Runs of it in A.
    pub runs_a: usize,
    /// Runs of it in B.
    pub runs_b: usize,
    /// Whether it was steady within its runs in both studies.
    pub steady: bool,
    /// Throughput.
    pub mbps: Change,
    /// Median latency in nanoseconds, of each run; `null` if a run has none. It is not tested: its change is never
    /// called different.
    pub latency_ns_p50: Option<Change>,
    /// 99th percentile of latency in nanoseconds, of each run; `null` if a run has none.
    pub latency_ns_p99: Option<Change>,
    /// Charged processor time a request; `null` if a run has none.
    pub charged_us: Option<Change>,
}

/// A cell that both studies measured and that the comparison leaves out.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Its settings.
    #[serde(flatten)]
    pub settings: CellSettings,
    /// The study with the flaw.
    pub study: InStudy,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// All common cells of one pattern, direction and cache setting.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PathComparison {
    /// The path.
    #[serde(flatten)]
    pub path: PathSettings,
    /// Number of common cells.
    pub cells: usize,
    /// Number of these with different throughput, tail latency or cost.
    pub cells_different: usize,
    /// Throughput, the geometric mean over the common cells.
    pub throughput_mbps: Change,
    /// 99th percentile of latency, the geometric mean over the common cells.
    pub latency_ns_p99: Option<Change>,
    /// Charged processor time a request, the geometric mean over the common cells.
    pub charged_us: Option<Change>,
    /// The same in thousands of processor cycles, if the speeds of both processors are known.
    pub charged_kilocycles: Option<[f64; 2]>,
    /// The best cell of each study, of those that both questions ask for; of those with several runs, if there are any.
    pub peak_mbps: Change,
    /// Settings of A's peak.
    pub peak_at_a: CellSettings,
    /// Settings of B's peak.
    pub peak_at_b: CellSettings,
}

/// Half power on one path at one depth.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HalfPowerComparison {
    /// The path.
    #[serde(flatten)]
    pub path: PathSettings,
    /// Depth asked for.
    pub iodepth: u32,
    /// Smallest block size that reaches half of A's peak at this depth; an upper bound if `bracketed_a` is false.
    pub bs_bytes_a: u64,
    /// The same in B.
    pub bs_bytes_b: u64,
    /// Whether A measured the next smaller size too.
    pub bracketed_a: bool,
    /// Whether B did.
    pub bracketed_b: bool,
    /// n1/2, the block size at which half of a request's time is overhead; its interval combines those of both studies.
    pub n_half_bytes: Option<Change>,
}

/// Processor time a request = fixed + marginal x KiB, in both studies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CostComparison {
    /// The path.
    #[serde(flatten)]
    pub path: PathSettings,
    /// Which bound.
    pub bound: Bound,
    /// Microseconds a request, independent of its size.
    pub fixed_us: CostTerm,
    /// Microseconds each KiB adds.
    pub marginal_us_per_kib: CostTerm,
}

/// One coefficient of the cost in both studies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CostTerm {
    /// In A.
    pub a: Interval,
    /// In B.
    pub b: Interval,
    /// Change from A to B; `null` if either is 0. Its interval combines those of both studies.
    pub change: Option<Change>,
    /// Both in processor cycles, if the speeds of both processors are known.
    pub cycles: Option<[f64; 2]>,
}

/// What a condition asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The best common cell of a path.
    Peak,
    /// n1/2 of a path at a depth.
    HalfPower,
    /// Charged processor time a request, the mean over a path's common cells.
    Cost,
    /// 99th percentile of latency, the mean over a path's common cells.
    P99,
    /// Throughput, the mean over a path's common cells.
    Throughput,
    /// Requests a second of a cell; of a path, of the cell with the most in both studies.
    Iops,
    /// Median latency of a cell.
    P50,
}

/// A condition that the user set, with its results.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConditionFinding {
    /// The condition as written.
    pub condition: String,
    /// What it bounds.
    pub limit: ConditionLimit,
    /// Whether it holds on any path.
    pub holds: bool,
    /// Tests that all conditions of the command made together, in all comparisons: the chances are corrected for them.
    pub tests: usize,
    /// Everything that it was checked against.
    pub cases: Vec<ConditionCase>,
}

/// One figure that a condition was checked against.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConditionCase {
    /// What the condition asks about.
    pub quantity: Quantity,
    /// The path.
    #[serde(flatten)]
    pub path: PathSettings,
    /// The depth, if the quantity has one.
    pub iodepth: Option<u32>,
    /// The block size, if the quantity has one.
    pub bs_bytes: Option<u64>,
    /// Its change.
    pub change: Change,
    /// Probability of the figure by chance, if nothing changed or if it were at the limit, after Holm's correction over
    /// all conditions; `null` without an interval, or if nothing has to be proven.
    pub p: Option<f64>,
    /// Whether its estimate is on the side that the condition names, be it by chance.
    pub fulfilled: bool,
    /// Whether the condition holds here.
    pub holds: bool,
}

/// What a condition bounds, in the quantity's unit: MB/s, requests a second, nanoseconds of latency, microseconds of
/// processor time, bytes of half power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConditionLimit {
    /// The change from A to B, in percent of A.
    Percent(f64),
    /// B minus A.
    Difference(f64),
    /// The figure in B.
    Figure(f64),
}

/// What each system gives for its price (Chung, Gray, Worthington, Horst 2000, Table 10).
#[derive(Debug, Clone, PartialEq)]
pub struct PriceTable {
    /// A's row.
    pub a: PriceRow,
    /// B's row.
    pub b: PriceRow,
    /// What is missing in the rows.
    pub missing: Vec<(InStudy, MissingFigure)>,
}

/// What a study lacks for the price table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum MissingFigure {
    /// The capacity of its device.
    Capacity,
    /// Random direct reads of this size.
    RandomReads {
        /// Block size.
        bs_bytes: u64,
    },
    /// Random direct reads of this size at depth 1; it has deeper ones.
    RandomReadsOneDeep {
        /// Block size.
        bs_bytes: u64,
    },
}

/// One system's price and what it buys.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PriceRow {
    /// Its price; both prices are in the same currency.
    pub price: f64,
    /// Capacity of the device in decimal gigabytes.
    pub gb: Option<f64>,
    /// Gigabytes per unit of money.
    pub gb_per_price: Option<f64>,
    /// One request at a time, as the paper counted.
    pub one_deep: Accesses,
    /// At the depth with the highest rate.
    pub best: Accesses,
}

/// Random direct reads a second, small and large.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Accesses {
    /// Accesses to kilobytes a second: random direct reads of 8 KiB.
    pub kaps: Option<f64>,
    /// Depth at which they were measured.
    pub kaps_iodepth: Option<u32>,
    /// Accesses to megabytes a second: random direct reads of 1 MiB.
    pub maps: Option<f64>,
    /// Depth at which they were measured.
    pub maps_iodepth: Option<u32>,
    /// KAPS per unit of money.
    pub kaps_per_price: Option<f64>,
    /// MAPS per unit of money.
    pub maps_per_price: Option<f64>,
}

/// Whether two studies differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Both contain the same records.
    SameRecords,
    /// No cell was run more than once in both, so chance is unknown.
    ChanceUnknown,
    /// They have no cell in common.
    NothingInCommon,
    /// No test found a difference.
    NoDifference,
    /// Something is different.
    Different,
}

/// A difference besides the figures, or something that prevents their comparison.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Note {
    /// They measured different targets.
    TargetsDiffer,
    /// Their surroundings differ: the place, its settings, or what others did meanwhile.
    SurroundingsDiffer(SurroundingChange),
    /// In one study the used part is spread over the whole target, or over another number of bytes than in the other.
    SpreadDiffers {
        /// Bytes over which it is spread in A; `None` if it is one contiguous part.
        a_bytes: Option<u64>,
        /// The same in B.
        b_bytes: Option<u64>,
    },
    /// Cells differ beyond chance, but others used the disk during the worse measurement, so they are not called
    /// different.
    OthersUsedTheDisk {
        /// Such cells.
        cells: usize,
    },
    /// Cells that were run once in A or in B have no interval.
    RunOnce {
        /// Such cells.
        cells: usize,
        /// All common cells.
        of_cells: usize,
    },
    /// Cells were not steady within their runs in A or in B.
    NotSteady {
        /// Such cells.
        cells: usize,
        /// All common cells.
        of_cells: usize,
    },
    /// Only one study has these cells.
    InOneAlone {
        /// Cells that only A has.
        a: usize,
        /// Cells that only B has.
        b: usize,
    },
    /// Common cells were left out.
    CellsLeftOut {
        /// Number of cells.
        cells: usize,
        /// The study with the flaw of the first of them.
        study: InStudy,
        /// The flaw.
        flaw: Flaw,
        /// Whether all of them have this flaw.
        all_alike: bool,
    },
    /// Runs vary so much that a cell must differ by more than the practical threshold to count; in percent, `None` for
    /// a figure with less noise.
    Noise {
        /// Throughput.
        throughput_percent: Option<f64>,
        /// 99th percentile of latency.
        p99_percent: Option<f64>,
        /// Charged processor time a request.
        cost_percent: Option<f64>,
    },
}

/// One of two studies, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InStudy {
    /// The baseline.
    A,
    /// The study compared with the baseline.
    B,
    /// Both.
    Both,
}

/// Why a cell allows no conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    /// Requests failed in it.
    RequestsFailed,
    /// A cache answered it.
    CacheAnswered,
    /// Nothing was moved in it.
    NothingMoved,
}

/// One of the two studies that are compared.
#[derive(Debug, Clone, Copy)]
pub struct StudyRecords<'a> {
    /// Its name: the file.
    pub name: &'a str,
    /// Its question.
    pub question: &'a Question,
    /// Where it was made.
    pub environment: &'a Environment,
    /// The analysis of it.
    pub findings: &'a Findings,
    /// Its records.
    pub records: &'a [Record],
}
