//! Keeps what the planner of the walks needs of a record, and the results of one cell's runs: means with their spread.

use halfpower_analyse::{policy, t95};
use halfpower_record::Record;
use halfpower_spec::{Pass, Question, Run};

/// Runs without a byte after which a cell is given up.
const EMPTY_RUNS: u32 = 2;
/// Degrees of freedom above which t hardly changes.
const MOST_FREEDOM: usize = 60;
/// Half of the 95% interval, as a share of the mean, at which a cell is known well enough.
pub(crate) const SHARP: f64 = 0.05;
/// Runs of a deciding cell: the peak, the half-power bracket, the advised cell.
pub(crate) const DECIDING_RUNS: u32 = 5;

/// Means and squares of repeated values (B. Welford, 1962).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sample {
    pub count: u32,
    pub mean: f64,
    squares: f64,
}

impl Sample {
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / f64::from(self.count);
        self.squares += off * (value - self.mean);
    }

    /// Relative variance from run to run; 0 for fewer than two runs.
    pub fn variance(&self) -> f64 {
        if self.count < 2 { 0.0 } else { self.squares / f64::from(self.count - 1) / (self.mean * self.mean) }
    }

    /// Half of the relative t interval of `count` runs, with at least the spread `spread`, because a few runs may agree
    /// by luck.
    pub fn reach(&self, count: u32, spread: f64) -> f64 {
        if count < 2 {
            return f64::INFINITY;
        }
        quantile(count) * (self.variance().sqrt().max(spread) / f64::from(count).sqrt())
    }

    /// How much one run after `count` narrows half of that interval; infinite as long as there is none.
    pub fn narrows(&self, count: u32, spread: f64) -> f64 {
        if count < 2 { f64::INFINITY } else { self.reach(count, spread) - self.reach(count + 1, spread) }
    }
}

/// The results of a cell so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ObservedCell {
    /// MB/s of its plain runs that moved bytes.
    pub rate: Sample,
    /// Charged nanoseconds per byte of the same runs.
    pub cost: Sample,
    /// Time that the soaker lost, in nanoseconds per byte.
    pub soaker: Sample,
    /// MB/s of its confirming runs; these are never the runs that chose it.
    pub confirmed: Sample,
    /// Number of plain, soaker and confirming runs so far, including those that moved nothing.
    pub runs: [u32; 3],
    /// Next repeat number, by pass.
    pub next_repeat: [u32; 3],
    /// A request failed, so the cell supports no conclusion.
    pub failed: bool,
    /// The page cache held its data, so the cell supports no advice.
    pub cached: bool,
    /// In some plain run it is unknown whether the device moved the bytes.
    pub unwitnessed: bool,
    /// Time that its plain runs took of the budget.
    pub spent_ns: u64,
    /// What the study had spent when its last plain run ended.
    pub last_ns: u64,
}

impl ObservedCell {
    /// Whether it supports conclusions.
    pub fn sound(&self) -> bool {
        self.rate.count > 0 && !self.failed
    }

    /// Whether further runs would be useless.
    pub fn given_up(&self) -> bool {
        self.failed || (self.rate.count == 0 && self.runs[0] >= EMPTY_RUNS)
    }

    /// Mean time of its plain runs; `None` without one.
    pub fn run_ns(&self) -> Option<u64> {
        (self.runs[0] > 0).then(|| self.spent_ns / u64::from(self.runs[0]))
    }
}

/// Student's t for `count` runs.
fn quantile(count: u32) -> f64 {
    t95((count as usize - 1).min(MOST_FREEDOM))
}

/// Index of a pass in arrays by pass.
pub(crate) fn by_pass(pass: Pass) -> usize {
    match pass {
        Pass::Plain | Pass::Traced => 0,
        Pass::Soaker => 1,
        Pass::Confirm => 2,
    }
}

/// Runs of a deciding cell: five, or two more than `--repeats` if that is small.
pub(crate) fn deciding_runs(question: &Question) -> u32 {
    question.repeats.max(DECIDING_RUNS.min(question.repeats + 2))
}

/// What the planner keeps of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The run.
    pub run: Run,
    /// Throughput in MB/s as the analysis counts it, without a trimmed start; 0 if nothing moved.
    pub mbps: f64,
    /// Charged processor time per byte, in nanoseconds.
    pub charged_ns_per_byte: f64,
    /// Time that the soaker lost per byte, in nanoseconds; `None` if the soaker did not run.
    pub soaker_ns_per_byte: Option<f64>,
    /// Whether a request failed; such a run supports no conclusion.
    pub failed: bool,
    /// Whether it read data that the page cache already held; such a run supports no advice.
    pub cached: bool,
    /// Whether the device moved the bytes, by its own counter.
    pub from_device: bool,
    /// Period of the waves in which its requests completed, if they were periodic.
    pub wave_ns: Option<u64>,
    /// Time that it took of the budget.
    pub spent_ns: u64,
}

impl From<&Record> for Observation {
    fn from(record: &Record) -> Self {
        let workload = record.run.workload;
        let bytes = record.cpu.ios.max(1) as f64 * record.request_bytes();
        let cached_share = record.cached_bytes.map(|bytes| bytes as f64 / record.span_bytes.max(1) as f64);
        let measured_memory = |rw| policy::measured_memory(workload.cache, rw, cached_share);
        Self {
            run: record.run,
            mbps: halfpower_analyse::run_mbps(record),
            charged_ns_per_byte: record.cpu.charged_ns() as f64 / bytes,
            soaker_ns_per_byte: record.cpu.soaker.as_ref().map(|soaker| soaker.lost_ns as f64 / bytes),
            failed: !record.errors.is_empty(),
            cached: workload.rw.direction().is_some_and(measured_memory),
            from_device: policy::is_from_device(record.device_share()),
            wave_ns: halfpower_analyse::waves(record).filter(|waves| waves.regular).map(|waves| waves.period_ns),
            spent_ns: record.spent_ns,
        }
    }
}
