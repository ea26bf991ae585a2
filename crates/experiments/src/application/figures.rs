//! Takes the figures that formulas name from the records of a shape, with their intervals over runs.

use std::collections::BTreeMap;

use halfpower_analyse::{Interval, run_mbps};
use halfpower_record::{Latency, Record};
use halfpower_spec::{Direction, Figure, Known, Need, NeedBound, Pass};

/// Requests that must lie beyond a percentile for it to be known.
const FEWEST_BEYOND: f64 = 5.0;
/// Probability that a percentile is no less than its lower end.
const SURE: f64 = 0.975;
/// Stands for no upper end of a time in microseconds: eleven days.
const NO_END_US: f64 = 1e12;

/// The figures of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunFigures {
    values: BTreeMap<Figure, f64>,
    /// Requests behind each percentile.
    counts: BTreeMap<Figure, u64>,
    /// The lower end of each percentile, which takes few requests.
    low_ends: BTreeMap<Figure, f64>,
}

/// Why a figure of a shape is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Missing {
    /// No run has it.
    Figure,
    /// So many requests were counted, and so many are needed.
    Requests { counted: u64, needed: u64 },
}

impl RunFigures {
    /// The figures of a plain run that moved something without errors; `None` for any other.
    pub fn of(record: &Record) -> Option<Self> {
        let window_ns = record.elapsed_ns.saturating_sub(record.flush_ns);
        let counts = record.run.pass == Pass::Plain && record.ios > 0 && window_ns > 0 && record.errors.is_empty();
        if !counts {
            return None;
        }
        let mut figures = Self::default();
        // Behind a limit that hands out slices, rates count whole ones.
        let mbps = run_mbps(record);
        let as_judged = if record.mbps() > 0.0 { mbps / record.mbps() } else { 1.0 };
        let a_second = |count: u64| count as f64 * 1e9 / window_ns as f64 * as_judged;
        let workload = &record.run.workload;
        let flushes = workload.options.fdatasync;
        let each = if flushes == 1 { record.commits.count() } else { record.ios };
        figures.values.insert(Figure::PerSecond, a_second(each));
        figures.values.insert(Figure::Mbps, mbps);
        figures.values.insert(Figure::ReadsPerSecond, a_second(record.read_ios));
        figures.values.insert(Figure::WritesPerSecond, a_second(record.ios.saturating_sub(record.read_ios)));
        if let Some(beside) = record.beside_iops() {
            figures.values.insert(Figure::BesidePerSecond, beside);
        }
        let whole = [Figure::P50, Figure::P99, Figure::P999];
        if flushes > 0 {
            figures.add_times(&record.commits, &whole);
            figures.add_mean(&record.commits);
            figures.add_times(&record.syncs, &[Figure::FlushP50, Figure::FlushP99, Figure::FlushP999]);
        } else if record.knows_latency() {
            figures.add_times(&record.latency, &whole);
            figures.add_mean(&record.latency);
        }
        figures.add_sides(record);
        Some(figures)
    }

    /// The times of reads and of writes.
    fn add_sides(&mut self, record: &Record) {
        let reads = [Figure::ReadP50, Figure::ReadP99];
        let writes = [Figure::WriteP50, Figure::WriteP99];
        if !record.knows_latency() {
            return;
        }
        match (record.run.workload.rw.direction(), &record.by_direction) {
            (Some(Direction::Read), _) => self.add_times(&record.latency, &reads),
            (Some(Direction::Write), _) => self.add_times(&record.latency, &writes),
            (None, Some(sides)) => {
                self.add_times(&sides.read_latency, &reads);
                self.add_times(&sides.write_latency, &writes);
            }
            (None, None) => {}
        }
    }

    fn add_times(&mut self, times: &Latency, figures: &[Figure]) {
        if times.is_empty() {
            return;
        }
        for figure in figures {
            let Some(quantile) = figure.quantile() else { continue };
            self.values.insert(*figure, times.quantile_ns(quantile) as f64 / 1e3);
            self.counts.insert(*figure, times.count());
            if times.count() < needed(quantile) {
                // Half a rank below, so that rounding does not take the next one.
                let share = (rank_no_later(times.count(), quantile) as f64 - 0.5) / times.count() as f64;
                self.low_ends.insert(*figure, if share > 0.0 { times.quantile_ns(share) as f64 / 1e3 } else { 0.0 });
            }
        }
    }

    fn add_mean(&mut self, times: &Latency) {
        if !times.is_empty() {
            self.values.insert(Figure::Mean, times.mean_ns() / 1e3);
        }
    }
}

/// Requests that a quantile needs.
fn needed(quantile: f64) -> u64 {
    // A hair below, so that 500 requests are enough for p99 whatever the rounding.
    (FEWEST_BEYOND / (1.0 - quantile) - 1e-6).ceil() as u64
}

/// The highest rank among `count` sorted values at which the value is surely no more than the quantile; 0 if there is none.
///
/// The values up to the quantile are binomially distributed, so the value of rank k is no more than it if at least k are.
fn rank_no_later(count: u64, quantile: f64) -> u64 {
    let mut chance = quantile.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut sum = chance;
    let mut rank = count;
    while sum < SURE && rank > 0 {
        chance *= rank as f64 / (count - rank + 1) as f64 * (1.0 - quantile) / quantile;
        sum += chance;
        rank -= 1;
    }
    rank
}

/// What the figure of a need surely reaches, given the runs of each shape by its index, if that misses the need: where each of
/// twenty flushes takes longer than the 99th percentile may, five hundred of them tell nothing more.
pub(super) fn surely_missed<'a>(need: &Need, runs_of: &dyn Fn(usize) -> &'a [RunFigures]) -> Option<f64> {
    let NeedBound::Below(bound) = need.bound else { return None };
    let least = need.figure.value(&|shape, figure| at_least(runs_of(shape), figure))?.low;
    (least >= bound).then_some(least)
}

/// A figure over runs as in [`over_runs`], but a percentile of too few requests from the least of its runs' lower ends, without
/// an upper end. `None` of a single run, whose error nobody knows.
fn at_least(runs: &[RunFigures], figure: Figure) -> Option<Known> {
    match over_runs(runs, figure) {
        Ok((_, 1)) | Err(Missing::Figure) => None,
        Ok((measured, _)) => Some(known(measured)),
        Err(Missing::Requests { .. }) => {
            let low = runs.iter().filter_map(|run| run.low_ends.get(&figure).copied()).reduce(f64::min)?;
            Some(Known { value: low, low, high: NO_END_US })
        }
    }
}

/// A figure over runs: their mean with its t interval, and how many have it.
pub(super) fn over_runs(runs: &[RunFigures], figure: Figure) -> Result<(Interval, usize), Missing> {
    let values: Vec<f64> = runs.iter().filter_map(|run| run.values.get(&figure).copied()).collect();
    if values.is_empty() {
        return Err(Missing::Figure);
    }
    if let Some(quantile) = figure.quantile() {
        let counted =
            runs.iter().filter_map(|run| run.counts.get(&figure)).fold(0, |sum: u64, one| sum.saturating_add(*one));
        let needed = needed(quantile);
        if counted < needed {
            return Err(Missing::Requests { counted, needed });
        }
    }
    let Interval { value, low, high } = Interval::of_means(&values);
    // No figure is below 0, although the t interval of a few runs may be.
    Ok((Interval { value, low: low.max(0.0), high }, values.len()))
}

/// An interval as formulas compute with it.
pub(super) fn known(interval: Interval) -> Known {
    let Interval { value, low, high } = interval;
    Known { value, low, high }
}

/// The result of a formula as an interval.
pub(super) fn interval(known: Known) -> Interval {
    let Known { value, low, high } = known;
    Interval { value, low, high }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{ByDirection, LatencyCounter, Series};
    use halfpower_spec::{Bytes, Rw, Workload, WorkloadOptions};

    use super::*;
    use crate::built::{disk, record_at};

    /// So many requests of each of these times.
    fn counted(times_ns: &[u64], each: u64) -> Latency {
        let mut counter = LatencyCounter::default();
        times_ns.iter().for_each(|ns| counter.add(*ns, each));
        counter.latency()
    }

    fn near(value: Option<&f64>, truth: f64) -> bool {
        value.is_some_and(|value| (value / truth - 1.0).abs() < 0.01)
    }

    #[test]
    fn the_figures_of_a_commit_are_those_of_write_and_flush() {
        let options = WorkloadOptions { fdatasync: 1, ..WorkloadOptions::default() };
        let workload = Workload { rw: Rw::Write, bs: Bytes(2048), iodepth: 1, options, ..Workload::default() };
        let mut record = record_at(&disk(""), workload, 0, Pass::Plain, 2_048_000.0);
        record.commits = counted(&[1_000_000], 1000);
        record.syncs = counted(&[900_000], 1000);
        let figures = RunFigures::of(&record).unwrap();
        assert!(near(figures.values.get(&Figure::PerSecond), 1000.0), "{figures:?}");
        assert!(near(figures.values.get(&Figure::P99), 1000.0) && near(figures.values.get(&Figure::FlushP99), 900.0));
        assert_eq!(figures.values.get(&Figure::ReadP99), None);
        record.errors.insert("EIO".to_string(), 1);
        assert_eq!(RunFigures::of(&record), None, "what failed is no figure");
    }

    #[test]
    fn behind_a_limit_in_slices_requests_a_second_count_whole_slices_as_bytes_do() {
        let workload = Workload { rw: Rw::Randread, bs: Bytes(16_384), iodepth: 32, ..Workload::default() };
        let mut record = record_at(&disk(""), workload, 0, Pass::Plain, 1.0);
        // Ten slices a second let 48 requests pass each; 32 of the first one's went before the window.
        let requests = |step: u64| if step == 0 { 16 } else { 48 * u64::from(step.is_multiple_of(10)) };
        record.series = Series { step_ns: 10_000_000, bytes: (0..100).map(|step| requests(step) * 16_384).collect() };
        record.elapsed_ns = 1_000_000_000;
        record.ios = (0..100).map(requests).sum();
        record.read_ios = record.ios;
        record.bytes = record.ios * 16_384;
        let figures = RunFigures::of(&record).unwrap();
        for figure in [Figure::PerSecond, Figure::ReadsPerSecond] {
            assert!(near(figures.values.get(&figure), 480.0), "{} in the window: {figures:?}", record.ios);
        }
        assert!(near(figures.values.get(&Figure::Mbps), 480.0 * 0.016384), "{figures:?}");
    }

    #[test]
    fn reads_beside_writes_have_times_of_their_own() {
        let workload = Workload { rw: Rw::Randmixed, iodepth: 1, ..Workload::default() };
        let mut record = record_at(&disk(""), workload, 0, Pass::Plain, 65_536_000.0);
        record.achieved_depth = 0.0;
        record.by_direction = Some(ByDirection {
            read_bytes: 0,
            read_latency: counted(&[200_000], 1000),
            write_latency: counted(&[700_000], 1000),
        });
        let figures = RunFigures::of(&record).unwrap();
        assert!(
            near(figures.values.get(&Figure::ReadP99), 200.0) && near(figures.values.get(&Figure::WriteP50), 700.0)
        );
    }

    #[test]
    fn a_percentile_needs_requests_beyond_it() {
        let run = |count: u64| RunFigures {
            values: BTreeMap::from([(Figure::P99, 100.0)]),
            counts: BTreeMap::from([(Figure::P99, count)]),
            low_ends: BTreeMap::from([(Figure::P99, 90.0 + count as f64)]),
        };
        assert_eq!(over_runs(&[run(250), run(250)], Figure::P99), Ok((Interval::exact(100.0), 2)));
        let few = over_runs(&[run(250), run(249)], Figure::P99);
        assert_eq!(few, Err(Missing::Requests { counted: 499, needed: 500 }));
        assert_eq!(over_runs(&[run(9)], Figure::P50), Err(Missing::Figure));
        assert_eq!(at_least(&[run(20), run(9)], Figure::P99), Some(Known { value: 99.0, low: 99.0, high: NO_END_US }));
        assert_eq!(at_least(&[run(250), run(250)], Figure::P99), Some(Known::exact(100.0)));
        assert_eq!(at_least(&[run(500)], Figure::P99), None, "a single run is not sure");
    }

    #[test]
    fn the_lower_end_of_a_percentile_is_an_order_statistic() {
        // At least 19 of 20 values are below the 99th percentile with a probability of 98.3%, all 20 of them with 81.8%.
        assert_eq!([1, 2, 20, 100, 1000].map(|count| rank_no_later(count, 0.99)), [1, 2, 19, 97, 983]);
        assert_eq!((rank_no_later(3, 0.5), rank_no_later(6, 0.5)), (0, 1));
    }
}
