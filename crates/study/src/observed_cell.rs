//! Keeps what the runs of one cell have shown: means with their spread.

use halfpower_analyse::t95;
use halfpower_spec::Pass;

/// Runs without a byte after which a cell is given up.
const EMPTY_RUNS: u32 = 2;
/// Degrees of freedom above which t is as good as the last.
const MOST_FREEDOM: usize = 60;

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

    /// Half of the relative t interval that `count` runs of this spread have, at least as wide as `spread` makes it:
    /// a cell whose few runs agree by luck is not taken at their word.
    pub fn reach(&self, count: u32, spread: f64) -> f64 {
        if count < 2 {
            return f64::INFINITY;
        }
        quantile(count) * (self.variance().sqrt().max(spread) / f64::from(count).sqrt())
    }
}

/// A cell so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ObservedCell {
    /// MB/s of its plain runs that moved bytes.
    pub rate: Sample,
    /// Charged nanoseconds a byte of the same runs.
    pub cost: Sample,
    /// What the soaker lost, in nanoseconds a byte.
    pub soaker: Sample,
    /// MB/s of the runs that confirm it: none of those that chose it.
    pub confirmed: Sample,
    /// Plain, soaker and confirming runs so far, also those that moved nothing.
    pub runs: [u32; 3],
    /// The repeat after the highest, by pass.
    pub next_repeat: [u32; 3],
    /// A request failed: no conclusion rests on it.
    pub failed: bool,
    /// The page cache held it: it is on no advice.
    pub cached: bool,
    /// Of a plain run it is not known that the device moved the bytes.
    pub unwitnessed: bool,
    /// What its plain runs took of the budget.
    pub spent_ns: u64,
}

impl ObservedCell {
    /// Whether conclusions may rest on it.
    pub fn sound(&self) -> bool {
        self.rate.count > 0 && !self.failed
    }

    /// Whether more runs of it would be of no use.
    pub fn given_up(&self) -> bool {
        self.failed || (self.rate.count == 0 && self.runs[0] >= EMPTY_RUNS)
    }

    /// What a run of it takes, where it had any.
    pub fn run_ns(&self) -> Option<u64> {
        (self.runs[0] > 0).then(|| self.spent_ns / u64::from(self.runs[0]))
    }
}

/// Student's t for `count` runs.
fn quantile(count: u32) -> f64 {
    t95((count as usize - 1).min(MOST_FREEDOM))
}

/// The place of a pass in what is counted by pass.
pub(crate) fn by_pass(pass: Pass) -> usize {
    match pass {
        Pass::Plain | Pass::Traced => 0,
        Pass::Soaker => 1,
        Pass::Confirm => 2,
    }
}
