//! Finds whether requests complete in waves, their rate between waves, and which runs were too short for it.
//!
//! A throttle that hands out slices of time (the kernel's control groups do so, ten a second), or a drive that empties
//! its queue at once, completes many requests together and then none. A window that opens and closes at arbitrary times
//! cuts such waves: its rate is wrong by up to a wave at either end, and by the credit saved before the first wave. The
//! rate is therefore counted from one wave to another, so that each wave has its full period.
//!
//! A limit that hands out slices makes completions come in regular waves. A window with only a few waves is wrong by up
//! to one of them, so a cell uses only longer windows if it has any.
//!
//! Members side by side have a limit each, whose slices begin when they like, and a queue that hardly exceeds a limit
//! leaves no gaps: the waves do not show. Behind a limit that other runs show, such a run is counted over whole slices.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{Record, Series};
use halfpower_spec::{Direction, JsonSchema, Pass};
use serde::Serialize;

use crate::fit::fit_line_to_scale;
use crate::mean::{mean, median, some_mean};
use crate::policy::CONFIRMING_RUNS;

/// Minimum share of empty steps if requests complete in waves.
const EMPTY: f64 = 1.0 / 3.0;
/// Minimum requests in a wave, for irregular and for regular waves; fewer only mean a slow device.
const REQUESTS: f64 = 4.0;
const REQUESTS_REGULAR: f64 = 1.5;
/// Fewest whole waves: to detect irregular waves, and to compute a rate from regular ones.
const FEWEST: usize = 9;
const FEWEST_REGULAR: usize = 4;
/// Fewest requests in the waves for a rate: the whole window is accurate to one request.
const FEWEST_REQUESTS: f64 = 24.0;
/// Fewest whole waves to detect regular waves.
const FEWEST_SEEN: usize = 3;
/// Relative deviation of the time between waves up to which they count as regular.
const REGULAR: f64 = 0.2;
/// Share of the window in which credit saved before it may show.
const SAVED_UP: f64 = 0.1;
/// Longest gaps that are ignored as possible stalls; half of the next longest gap separates waves.
const STALLS: usize = 2;
/// Minimum steps of the longest gaps for detecting all waves: a gap of less than two steps may contain no empty step,
/// so waves would run into each other.
const APART: usize = 2;
/// Longest step for a rate, as a share of the time between the first and the last wave.
const COARSEST: f64 = 0.02;
/// Variance of a time known to one step, in steps squared: uniform within the step.
const STEP_VARIANCE: f64 = 1.0 / 12.0;
/// Standard errors of a line's slope that it may be off by.
const ERRORS: f64 = 2.0;

/// Requests that complete together in repeated waves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Waves {
    /// Time from one wave to the next, in nanoseconds.
    pub period_ns: u64,
    /// Mean bytes of a wave.
    pub bytes: f64,
    /// Whether they are regular, as with a limit that hands out slices.
    pub regular: bool,
    /// The rate between the first and the last wave in MB/s; `None` with too few waves or too long steps.
    pub mbps: Option<f64>,
    /// What that rate may be off by, as a share of it: two standard errors of the line through the waves. `None` without a rate.
    pub mbps_reach: Option<f64>,
    /// Time from the first to the last wave, in nanoseconds.
    pub lasts_ns: u64,
}

impl Waves {
    /// The rate between the first and the last wave; `None` with too few waves or too long steps.
    pub(crate) fn rate(&self) -> Option<RunRate> {
        Some(RunRate { mbps: self.mbps?, reach: self.mbps_reach?, lasts_ns: self.lasts_ns as f64 })
    }
}

/// The rate of a run over a part of its window that no edge cuts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RunRate {
    pub mbps: f64,
    /// What it may be off by, as a share of it.
    pub reach: f64,
    /// The time in nanoseconds that it was counted over.
    pub lasts_ns: f64,
}

/// The waves in which a run's requests complete; `None` if they complete evenly, or if too few waves or too long steps
/// do not allow a judgement.
pub fn waves(record: &Record) -> Option<Waves> {
    waves_after(&record.series, 0, record.run.workload.bs.0)
}

/// Bytes of all steps; as a float, because numbers in a file may add up to more than an integer holds.
fn sum(steps: &[u64]) -> f64 {
    steps.iter().map(|bytes| *bytes as f64).sum()
}

/// One wave.
struct Wave {
    /// Its first step.
    from: usize,
    /// Its middle, in steps: the mean position of its bytes.
    at: f64,
    /// Bytes up to its end.
    moved: f64,
}

/// The waves of requests of `block_bytes` after the first `cut` steps.
pub(crate) fn waves_after(series: &Series, cut: usize, block_bytes: u64) -> Option<Waves> {
    let steps = &series.bytes;
    let filled: Vec<usize> = (0..steps.len()).filter(|step| steps[*step] > 0).collect();
    if filled.len() as f64 > (1.0 - EMPTY) * steps.len() as f64 {
        return None;
    }
    let gap = usual_gap(&filled);
    if gap < APART {
        return None;
    }
    let all = apart(steps, &filled, gap.div_ceil(2));
    let together = sum(steps) / all.len().max(1) as f64 / block_bytes.max(1) as f64;
    let opens = ((SAVED_UP * steps.len() as f64) as usize).max(cut);
    // The end of the window may have cut the last wave.
    let (_, all_but_last) = all.split_last()?;
    let whole: Vec<&Wave> = all_but_last.iter().filter(|wave| wave.from >= opens).collect();
    let first = whole.first()?.at;
    let last = whole.last()?.at;
    let regular = is_regular(&whole);
    let (waves, requests) = if regular { (FEWEST_SEEN, REQUESTS_REGULAR) } else { (FEWEST, REQUESTS) };
    if whole.len() < waves || together < requests {
        return None;
    }
    let points: Vec<(f64, f64)> = whole.iter().map(|wave| (wave.at, wave.moved)).collect();
    let Gain { each: bytes_per_step, reach } = gain(&points)?;
    let lasts_ns = ((last - first) * series.step_ns as f64) as u64;
    let period_ns = lasts_ns / (whole.len() as u64 - 1);
    let many = whole.len() >= FEWEST_REGULAR && whole.len() as f64 * together >= FEWEST_REQUESTS;
    let mbps = (many && COARSEST * (last - first) >= 1.0).then_some(bytes_per_step * 1e3 / series.step_ns as f64);
    let bytes = bytes_per_step * period_ns as f64 / series.step_ns as f64;
    Some(Waves { period_ns, bytes, regular, mbps, mbps_reach: mbps.map(|_| reach), lasts_ns })
}

/// Steps of the usual gap between waves: the longest ones, without possible stalls.
fn usual_gap(filled: &[usize]) -> usize {
    let mut gaps: Vec<usize> = filled.windows(2).map(|pair| pair[1] - pair[0] - 1).filter(|gap| *gap > 0).collect();
    gaps.sort_unstable_by(|one, other| other.cmp(one));
    gaps.get(STALLS).or(gaps.last()).copied().unwrap_or(1)
}

/// The waves separated by gaps of at least `gap` steps: shorter gaps are holes within a wave.
fn apart(steps: &[u64], filled: &[usize], gap: usize) -> Vec<Wave> {
    let mut moved = 0.0;
    let wave = |of: &[usize]| {
        let bytes: f64 = of.iter().map(|step| steps[*step] as f64).sum();
        let weighted: f64 = of.iter().map(|step| *step as f64 * steps[*step] as f64).sum();
        moved += bytes;
        Wave { from: of[0], at: weighted / bytes, moved }
    };
    filled.chunk_by(|one, next| next - one <= gap).map(wave).collect()
}

/// Whether the waves come at regular intervals, apart from the error of timing by steps.
fn is_regular(waves: &[&Wave]) -> bool {
    let times: Vec<f64> = waves.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    let Some(usual) = some_mean(times.iter().copied()) else { return false };
    let square = mean(&times.iter().map(|time| (time - usual).powi(2)).collect::<Vec<_>>());
    (square - 2.0 * STEP_VARIANCE).max(0.0).sqrt() <= REGULAR * usual
}

/// What one unit of time adds to the bytes moved.
struct Gain {
    /// Bytes a unit.
    each: f64,
    /// What it may be off by, as a share of it.
    reach: f64,
}

/// The slope of the least-squares line through the bytes moved up to each time; `None` if it is not above 0.
///
/// All waves count, not just the first and the last: each time is known to one step, and many of them reduce the error. Where
/// they are not alike, how far they are off the line tells how far its slope may be off.
fn gain(moved_at: &[(f64, f64)]) -> Option<Gain> {
    let (each, error) = fit_line_to_scale(moved_at, &vec![1.0; moved_at.len()])?.free_slope();
    (each > 0.0).then(|| Gain { each, reach: ERRORS * error / each })
}

/// Periods that a window must contain for a rate from whole waves.
const PERIODS: f64 = 5.5;
/// Turnovers of the queue that a window must contain: behind such a limit the whole queue may complete at once.
const TURNOVERS: f64 = 3.0;
/// Share of the slowest rate seen in waves above which a run counts as limited too.
const NEAR: f64 = 0.5;
/// Relative distance of wave periods from the median within which they count as equal.
const ALIKE: f64 = 0.15;
/// Fewest whole slices for a rate over them, and moments of a slice from which they are counted.
const FEWEST_SLICES: f64 = 3.0;
/// Slices after the first with which a member that paused gets its credit in parts, at most (seen behind blk-throttle of
/// Linux 6.18).
const CREDITED: usize = 6;
/// Largest difference of slices that count as level, as a share of their mean.
const LEVEL: f64 = 0.04;
const PHASES: u32 = 32;
/// Share of runs in waves, among those near the limit, from which the limit counts as real.
const SEEN_IN: f64 = 0.25;

/// A limit that hands out slices of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Paced {
    /// Time from one slice to the next, in nanoseconds.
    pub period_ns: u64,
    /// The slowest rate seen in waves, in MB/s; something else limits slower runs.
    least_mbps: f64,
}

impl Paced {
    /// The limit on these runs; `None` if too few of them complete in waves, or if only requests of one size do: disks
    /// in lockstep complete together too, but their period depends on the size.
    fn of(records: &[&Record]) -> Option<Self> {
        let regular = |record: &Record| waves(record).filter(|waves| waves.regular);
        let seen: Vec<(Waves, &Record)> =
            records.iter().filter_map(|record| Some((regular(record)?, *record))).collect();
        let period_ns = median(seen.iter().map(|(waves, _)| waves.period_ns as f64).collect());
        let alike = |(waves, _): &&(Waves, &Record)| (waves.period_ns as f64 / period_ns - 1.0).abs() <= ALIKE;
        let alike: Vec<&(Waves, &Record)> = seen.iter().filter(alike).collect();
        let sizes: BTreeSet<u64> = alike.iter().map(|(_, record)| record.run.workload.bs.0).collect();
        let least_mbps = alike.iter().map(|(_, record)| record.mbps()).reduce(f64::min)?;
        let paced = Self { period_ns: period_ns as u64, least_mbps };
        // How many members work at once decides whether waves show.
        let members = |record: &Record| record.run.workload.options.members;
        let showing: BTreeSet<u32> = alike.iter().map(|(_, record)| members(record)).collect();
        let could_show =
            |record: &&&Record| showing.contains(&members(record)) && paced.is_near(record) && !paced.is_short(record);
        let near = records.iter().filter(could_show).count();
        (sizes.len() > 1 && alike.len() as f64 >= SEEN_IN * near as f64).then_some(paced)
    }

    fn is_near(&self, record: &Record) -> bool {
        record.mbps() >= NEAR * self.least_mbps
    }

    fn is_short(&self, record: &Record) -> bool {
        let queue_bytes = record.run.workload.bs.0 as f64 * f64::from(record.run.workload.total_depth());
        let turnover_ns = queue_bytes * 1e3 / record.mbps().max(f64::MIN_POSITIVE);
        (record.elapsed_ns as f64) < (PERIODS * self.period_ns as f64).max(TURNOVERS * turnover_ns)
    }

    /// Whether the run's window cuts waves, so that its rate is not valid.
    pub fn cuts(&self, record: &Record) -> bool {
        self.is_short(record) && self.is_near(record)
    }

    /// The throughput of a run near this limit; `None` if the window is too short, its requests are too few or its steps are
    /// too long for it.
    ///
    /// The bytes of as many whole slices as the window holds are counted from every moment of the second slice on, and
    /// averaged: whatever the phases of the slices, each counts in full, and what was saved up before the window does
    /// not count, neither what comes with the first slice nor what is spread over several. The rate is the slope of the
    /// line through the bytes up to each slice's end: of slices that are not alike, the last one weighs no more than its share.
    pub fn over_whole_slices(&self, record: &Record) -> Option<RunRate> {
        let Series { step_ns, bytes } = &record.series;
        let steps = bytes.len().min((record.elapsed_ns / (*step_ns).max(1)) as usize);
        let slice = self.period_ns as f64 / *step_ns as f64;
        let slices = (steps as f64 / slice).floor() - 2.0;
        let is_fine = slice.is_finite() && slice >= APART as f64 && slices >= FEWEST_SLICES;
        if !is_fine || self.is_short(record) || !self.is_near(record) || record.flush_ns > 0 {
            return None;
        }
        let mut moved = vec![0.0];
        let mut sum = 0.0;
        for step in &bytes[..steps] {
            sum += *step as f64;
            moved.push(sum);
        }
        let each: Vec<f64> = (0..slices as u32).map(|number| mean_slice(&moved, slice, 1 + number)).collect();
        let by_members = match record.run.workload.options.members {
            2.. if each.len() >= 2 * CREDITED => CREDITED,
            _ => 0,
        };
        let each = &each[credited(&each).max(by_members)..];
        let lasts_ns = each.len() as f64 * self.period_ns as f64;
        let mut ends = vec![(0.0, 0.0)];
        let mut bytes = 0.0;
        for (number, slice) in (1..).zip(each) {
            bytes += slice;
            ends.push((f64::from(number), bytes));
        }
        let requests = bytes / record.run.workload.bs.0.max(1) as f64;
        let Gain { each, reach } = gain(&ends).filter(|_| requests >= FEWEST_REQUESTS)?;
        Some(RunRate { mbps: each * 1e3 / self.period_ns as f64, reach, lasts_ns })
    }
}

/// The bytes of the slice of this number, from 0 on, of `slice` steps: the mean over all moments at which it may begin.
fn mean_slice(moved: &[f64], slice: f64, number: u32) -> f64 {
    let begins = (0..PHASES).map(|phase| slice * (f64::from(number) + f64::from(phase) / f64::from(PHASES)));
    mean(&begins.map(|from| moved_at(moved, from + slice) - moved_at(moved, from)).collect::<Vec<_>>())
}

/// Number of slices at the start in which credit is spent: each has more than those after it, which are level. 0 if all
/// are level, or if none are.
///
/// Of a window that is long enough, [`CREDITED`] slices of several members are left out in any case: slices that differ more
/// do not show the credit.
fn credited(slices: &[f64]) -> usize {
    let is_level = |from: usize| {
        let rest = &slices[from..];
        let usual = mean(rest);
        let most = rest.iter().copied().fold(f64::MIN, f64::max);
        let least = rest.iter().copied().fold(f64::MAX, f64::min);
        let before = &slices[..from];
        most - least <= LEVEL * usual && before.iter().all(|bytes| *bytes > (1.0 + LEVEL / 2.0) * usual)
    };
    (0..slices.len().saturating_sub(FEWEST_SLICES as usize - 1)).find(|from| is_level(*from)).unwrap_or(0)
}

/// Bytes moved up to a moment in steps; `moved` has those up to each step, and within a step they come evenly.
fn moved_at(moved: &[f64], at: f64) -> f64 {
    let step = (at as usize).min(moved.len() - 1);
    let next = (step + 1).min(moved.len() - 1);
    moved[step] + (moved[next] - moved[step]) * (at - step as f64)
}

/// The slice limit of each direction that has one. The requests of an open loop come at times of their own, which tell
/// nothing of slices.
pub(crate) fn paced<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeMap<Direction, Paced> {
    let mut directions: BTreeMap<Direction, Vec<&Record>> = BTreeMap::new();
    let is_closed = |record: &&Record| record.run.workload.rate.is_none() && record.run.workload.cache.direct();
    for record in records.filter(is_closed) {
        if let Some(direction) = record.run.workload.rw.direction() {
            directions.entry(direction).or_default().push(record);
        }
    }
    directions.into_iter().filter_map(|(direction, of)| Some((direction, Paced::of(&of)?))).collect()
}

/// The slice limit on the runs of one cell, if its direction has one; none applies to the page cache.
pub(crate) fn paced_cell(paced: &BTreeMap<Direction, Paced>, runs: &[&Record]) -> Option<Paced> {
    let workload = &runs.first()?.run.workload;
    paced.get(&workload.rw.direction()?).copied().filter(|_| workload.cache.direct())
}

/// Removes the runs of a cell whose windows cut waves, if others remain to report it by; returns the limit if none do.
pub(crate) fn keep_whole_waves(paced: &BTreeMap<Direction, Paced>, runs: &mut Vec<&Record>) -> Option<Paced> {
    let direction = runs.first().and_then(|record| record.run.workload.rw.direction())?;
    let paced = *paced.get(&direction)?;
    let whole = |pass| runs.iter().filter(|record| record.run.pass == pass && !paced.cuts(record)).count();
    let (plain, confirming) = (whole(Pass::Plain), whole(Pass::Confirm));
    let has_others = |pass| match pass {
        Pass::Plain | Pass::Traced => plain > 0,
        Pass::Confirm => plain > 0 || confirming >= CONFIRMING_RUNS,
        Pass::Soaker => false,
    };
    runs.retain(|record| !(paced.cuts(record) && has_others(record.run.pass)));
    let is_reported_whole = plain > 0 || confirming >= CONFIRMING_RUNS;
    (!is_reported_whole && runs.iter().any(|record| paced.cuts(record))).then_some(paced)
}

#[cfg(test)]
pub(crate) mod tests {
    use halfpower_spec::{Bytes, Cache, EngineName, Nanos, Run, Rw, Workload, WorkloadOptions};

    use super::*;

    const STEP_NS: u64 = 30_000_000;
    const WAVE: u64 = 4_194_304;

    /// Three seconds of waves, a tenth of a second apart, the first of them after `phase` seconds and with the bytes of
    /// `saved_up` more waves.
    fn waves_of(phase: f64, saved_up: u64) -> Series {
        let mut bytes = vec![0; 100];
        for wave in 0..30 {
            let step = ((phase + 0.1 * f64::from(wave)) * 1e9 / STEP_NS as f64) as usize;
            if let Some(bytes) = bytes.get_mut(step) {
                *bytes += WAVE * if wave == 0 { 1 + saved_up } else { 1 };
            }
        }
        Series { step_ns: STEP_NS, bytes }
    }

    #[test]
    fn neither_the_edges_of_the_window_nor_what_was_saved_up_count() {
        let truth = WAVE as f64 * 10.0 / 1e6;
        for (phase, saved_up) in [(0.0, 0), (0.0, 1), (0.005, 2), (0.05, 0), (0.099, 1)] {
            let series = waves_of(phase, saved_up);
            let plain = series.bytes.iter().sum::<u64>() as f64 / 3e6;
            let found = waves_after(&series, 0, 65_536).unwrap();
            let mbps = found.mbps.unwrap();
            assert!((mbps / truth - 1.0).abs() < 0.003, "{phase}, {saved_up}: {found:?}, plainly {plain}");
            assert!(found.regular && found.period_ns.abs_diff(100_000_000) < 2_000_000, "{found:?}");
        }
    }

    #[test]
    fn an_even_flow_and_a_slow_device_have_no_waves() {
        let even = Series { step_ns: STEP_NS, bytes: vec![WAVE; 100] };
        assert_eq!(waves_after(&even, 0, 65_536), None);
        assert_eq!(waves_after(&waves_of(0.0, 0), 0, WAVE), None, "single requests");
        assert_eq!(waves_after(&Series::default(), 0, 4096), None);
    }

    /// A window of `window_ns` nanoseconds in a hundred steps.
    fn short(window_ns: u64, phase_ns: u64, saved_up: u64) -> Series {
        let mut series = Series { step_ns: window_ns / 100, bytes: vec![0; 100] };
        for (number, at_ns) in (phase_ns..window_ns).step_by(100_000_000).enumerate() {
            series.bytes[(at_ns / series.step_ns) as usize] += WAVE * if number == 0 { 1 + saved_up } else { 1 };
        }
        series
    }

    #[test]
    fn seven_waves_tell_the_rate_and_four_that_there_are_waves() {
        let truth = WAVE as f64 * 10.0 / 1e6;
        for phase_ns in [0, 30_000_000, 90_000_000] {
            let series = short(700_000_000, phase_ns, 1);
            let found = waves_after(&series, 0, 65_536).unwrap();
            assert!((found.mbps.unwrap() / truth - 1.0).abs() < 0.02, "{phase_ns}: {found:?}");
        }
        let few = waves_after(&short(450_000_000, 40_000_000, 0), 0, 65_536).unwrap();
        assert!(few.regular && few.mbps.is_none(), "{few:?}");
        assert_eq!(waves_after(&short(200_000_000, 0, 0), 0, 65_536), None, "two waves may be anything");
    }

    #[test]
    fn a_hole_within_a_wave_ends_none() {
        let mut series = short(700_000_000, 0, 0);
        for step in (0..98).rev().filter(|step| series.bytes[*step] > 0).collect::<Vec<_>>() {
            series.bytes[step] /= 2;
            series.bytes[step + 2] += WAVE / 2;
        }
        let found = waves_after(&series, 0, 65_536).unwrap();
        assert!(found.regular && found.period_ns.abs_diff(100_000_000) < 2_000_000, "{found:?}");
    }

    /// Steps of `step_ms` ms of waves that last `lasts_ms` ms and come every 100 ms from `phase_ms` on. Waves of 5 ms
    /// or more have a hole.
    fn lasting(steps: usize, step_ms: f64, lasts_ms: f64, phase_ms: f64) -> Series {
        const PIECES: u32 = 64;
        let mut series = Series { step_ns: (step_ms * 1e6) as u64, bytes: vec![0; steps] };
        for wave in -1..(steps as f64 * step_ms / 100.0) as i32 + 1 {
            for piece in 0..PIECES {
                let part = (f64::from(piece) + 0.5) / f64::from(PIECES);
                let holed = if lasts_ms < 5.0 || part < 0.5 { part * 0.8 } else { part * 0.8 + 0.2 };
                let step = ((phase_ms + 100.0 * f64::from(wave) + holed * lasts_ms) / step_ms).floor();
                if step >= 0.0 && (step as usize) < steps {
                    series.bytes[step as usize] += WAVE / u64::from(PIECES);
                }
            }
        }
        series
    }

    #[test]
    fn whatever_the_step_a_rate_is_right_or_not_told_and_no_period_is_that_of_others() {
        let truth = WAVE as f64 * 10.0 / 1e6;
        let mut reported = 0;
        for (window_ms, step_ms) in
            [500.0, 700.0, 3000.0, 12_000.0].iter().flat_map(|of| (1..=60).map(move |step| (*of, f64::from(step))))
        {
            for lasts_ms in [1.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0] {
                // The golden section spreads the phases evenly for any number of them.
                for phase_ms in (0..20).map(|number| f64::from(number) * 61.803_398_9 % 100.0) {
                    let series = lasting((window_ms / step_ms) as usize, step_ms, lasts_ms, phase_ms);
                    let Some(found) = waves_after(&series, 0, 65_536) else { continue };
                    let case = format!("{window_ms} of {step_ms}, {lasts_ms} from {phase_ms} ms: {found:?}");
                    let off = found.mbps.map_or(0.0, |mbps| mbps / truth - 1.0);
                    assert!(off.abs() < 0.02, "{case}");
                    assert!(!found.regular || found.period_ns.abs_diff(100_000_000) < 20_000_000, "{case}");
                    reported += u32::from(found.mbps.is_some() && step_ms <= 10.0);
                }
            }
        }
        assert!(reported > 4_300, "{reported} of 5,600 with steps of up to 10 ms");
    }

    /// A run of `window_ms` in steps of 9 ms by members whose slices of 31 MB/s begin every 100 ms at these phases and
    /// last for 40 ms each; with the first of each comes what was saved up: another whole slice.
    fn side_by_side(window_ms: f64, phases_ms: &[f64]) -> Record {
        credited_in_parts(window_ms, phases_ms, 1, 2.0)
    }

    /// The same, where the first `slices` slices of the first member have `times` the bytes of the others; of the others
    /// it is the first slice that has twice.
    fn credited_in_parts(window_ms: f64, phases_ms: &[f64], slices: u32, times: f64) -> Record {
        const STEP_MS: f64 = 9.0;
        const PIECES: u32 = 48;
        const SLICE: u64 = 3_100_000;
        let mut bytes = vec![0; (window_ms / STEP_MS) as usize];
        for phase_ms in phases_ms {
            for slice in 0..(window_ms / 100.0) as u32 + 1 {
                for piece in 0..PIECES {
                    let at_ms = phase_ms + 100.0 * f64::from(slice) + 40.0 * f64::from(piece) / f64::from(PIECES);
                    let is_first = *phase_ms == phases_ms[0];
                    let more = match slice < if is_first { slices } else { 1 } {
                        true if is_first => times,
                        true => 2.0,
                        false => 1.0,
                    };
                    if let Some(step) = bytes.get_mut((at_ms / STEP_MS) as usize) {
                        *step += ((SLICE / u64::from(PIECES)) as f64 * more) as u64;
                    }
                }
            }
        }
        let members = phases_ms.len() as u32;
        let options = WorkloadOptions { members, ..WorkloadOptions::default() };
        let workload = Workload { bs: Bytes(65_536), iodepth: 8, options, ..Workload::default() };
        reading(workload, (window_ms * 1e6) as u64, Series { step_ns: (STEP_MS * 1e6) as u64, bytes })
    }

    /// A run of direct reads of this workload that moved these bytes.
    fn reading(workload: Workload, window_ns: u64, series: Series) -> Record {
        let workload = Workload { rw: Rw::Read, cache: Cache::Device, ..workload };
        let runtime = Nanos(window_ns);
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 1 };
        let bytes = series.bytes.iter().sum();
        Record { elapsed_ns: window_ns, bytes, series, ..Record::empty(run, EngineName::Simulated) }
    }

    /// Requests of 256 KiB, 32 deep, behind 41.9 MB/s of a control group of Linux 6.12: how many of them each slice of a tenth
    /// of a second let pass, over and over.
    pub(crate) const UNEVEN: [u64; 6] = [7, 27, 0, 37, 0, 25];

    /// A run of `window_ms` behind those slices, of which the first is that of this number. A slice lets its requests pass within
    /// 20 ms.
    pub(crate) fn uneven(window_ms: u64, first: usize) -> Record {
        const STEP_MS: u64 = 10;
        const BLOCK: u64 = 262_144;
        let mut bytes = vec![0; (window_ms / STEP_MS) as usize];
        for (slice, begins_ms) in (0..window_ms).step_by(100).enumerate() {
            let requests = UNEVEN[(first + slice) % UNEVEN.len()];
            let step = (begins_ms / STEP_MS) as usize;
            bytes[step] += requests.div_ceil(2) * BLOCK;
            bytes[step + 1] += requests / 2 * BLOCK;
        }
        let workload = Workload { bs: Bytes(BLOCK), iodepth: 32, ..Workload::default() };
        reading(workload, window_ms * 1_000_000, Series { step_ns: STEP_MS * 1_000_000, bytes })
    }

    /// What those slices let pass, in MB/s.
    pub(crate) const UNEVEN_MBPS: f64 = 96.0 / 6.0 * 262_144.0 * 10.0 / 1e6;

    pub(crate) const BEHIND_UNEVEN: Paced = Paced { period_ns: 100_000_000, least_mbps: UNEVEN_MBPS };

    #[test]
    fn slices_that_are_not_alike_tell_how_far_their_rate_may_be_off() {
        let mut counted = 0;
        for window_ms in (900..=4000).step_by(100) {
            for first in 0..UNEVEN.len() {
                let record = uneven(window_ms, first);
                let waves = waves_after(&record.series, 0, 262_144).and_then(|waves| waves.rate());
                for rate in [waves, BEHIND_UNEVEN.over_whole_slices(&record)].into_iter().flatten() {
                    let off = rate.mbps / UNEVEN_MBPS - 1.0;
                    assert!(
                        off.abs() < rate.reach && off.abs() < 0.1,
                        "{window_ms} ms from {first}: {rate:?}, off by {off}"
                    );
                    counted += 1;
                }
            }
        }
        assert!(counted > 300, "{counted}");
    }

    #[test]
    fn members_whose_slices_do_not_align_are_counted_over_whole_slices() {
        let paced = Paced { period_ns: 100_500_000, least_mbps: 31.0 };
        for window_ms in [650.0, 860.0, 900.0, 1000.0] {
            for phases_ms in [&[0.0, 47.0][..], &[10.0, 61.0], &[0.0, 35.0, 70.0], &[5.0, 30.0, 52.0]] {
                let record = side_by_side(window_ms, phases_ms);
                let truth = 31.0 * phases_ms.len() as f64;
                let case = format!("{window_ms} ms, {phases_ms:?}");
                assert!(record.mbps() > 1.03 * truth, "{case}: the whole window gives {}", record.mbps());
                let RunRate { mbps, lasts_ns, .. } = paced.over_whole_slices(&record).unwrap();
                assert!((mbps / truth - 1.0).abs() < 0.015, "{case}: {mbps} of {truth}");
                assert!(lasts_ns < window_ms * 1e6, "{case}");
            }
        }
        assert_eq!(paced.over_whole_slices(&side_by_side(400.0, &[0.0, 47.0])), None, "too short");
        let slow = Paced { least_mbps: 1000.0, ..paced };
        assert_eq!(slow.over_whole_slices(&side_by_side(900.0, &[0.0, 47.0])), None, "far below the limit");
    }

    #[test]
    fn credit_that_comes_in_parts_does_not_count() {
        let paced = Paced { period_ns: 100_500_000, least_mbps: 31.0 };
        for (window_ms, slices) in [(1050.0, 5), (1800.0, 5), (1800.0, 6), (1800.0, 0)] {
            for phases_ms in [&[0.0, 47.0][..], &[10.0, 12.0], &[0.0, 35.0, 70.0]] {
                let record = credited_in_parts(window_ms, phases_ms, slices, 1.47);
                let truth = 31.0 * phases_ms.len() as f64;
                let RunRate { mbps, .. } = paced.over_whole_slices(&record).unwrap();
                assert!(
                    (mbps / truth - 1.0).abs() < 0.015,
                    "{window_ms} ms, {slices}, {phases_ms:?}: {mbps} of {truth}"
                );
            }
        }
    }

    #[test]
    fn that_waves_are_known_to_a_step_alone_makes_them_no_less_regular() {
        // The next wave is two or three steps later: this looks like a variation of a fifth of the period.
        for step_ms in [40.0, 41.0, 42.0, 43.0, 44.0] {
            for phase_ms in (0..50).map(|number| f64::from(number) * 2.0) {
                let found = waves_after(&lasting(80, step_ms, 1.0, phase_ms), 0, 65_536).unwrap();
                assert!(found.regular, "{step_ms} from {phase_ms} ms: {found:?}");
            }
        }
    }

    #[test]
    fn steps_that_are_too_long_for_the_gaps_tell_no_waves() {
        // Every second gap contains no empty step, so two waves look like one: as if they came every 200 ms.
        assert_eq!(waves_after(&lasting(100, 66.0, 1.0, 10.0), 0, 65_536), None);
    }
}
