//! Ends a run as soon as what its lanes tell each second is as steady as was asked for.
//!
//! The figures are those of fio's `steadystate`: the largest deviation of an interval from the mean of all, or the slope of
//! the least squares, below a limit.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use halfpower_record::Sample;
use halfpower_spec::{SteadyFigure, SteadyState};

const SECOND_NS: u64 = 1_000_000_000;
/// What a lane may have told and nobody has taken: the watching thread looks many times a second.
const UNTAKEN: usize = 16;

/// What a lane has counted since its window opened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Told {
    lane: usize,
    since_ns: u64,
    all: Sample,
}

/// Tells what one lane has counted, about once a second.
pub(crate) struct Teller {
    to: SyncSender<Told>,
    lane: usize,
    next_ns: u64,
}

impl Teller {
    /// Of the lane with this number.
    pub(crate) fn of(to: &SyncSender<Told>, lane: usize) -> Self {
        Self { to: to.clone(), lane, next_ns: SECOND_NS }
    }

    /// How long the window has been open when it is to tell next.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Tells what was counted in the first `since_ns` of the window, if a second is over.
    pub(crate) fn tell(&mut self, since_ns: u64, all: Sample) {
        if since_ns >= self.next_ns {
            self.next_ns = (since_ns / SECOND_NS + 1) * SECOND_NS;
            // Where nobody takes it, the run has ended.
            let _ = self.to.try_send(Told { lane: self.lane, since_ns, all });
        }
    }
}

/// What a lane did in an interval, a second.
#[derive(Debug, Clone, Copy, Default)]
struct Rates {
    iops: f64,
    bytes: f64,
    /// Sum of latencies, in nanoseconds.
    latency_ns: f64,
}

/// What one lane has told.
#[derive(Debug, Default)]
struct LaneTold {
    /// At the end of the interval before.
    before: Told,
    /// Whole seconds of the window up to then.
    until_s: u64,
    /// Intervals that not all other lanes have told yet.
    intervals: VecDeque<Rates>,
}

/// Judges what the lanes tell.
pub(crate) struct SteadyEnd {
    asked: SteadyState,
    told: Receiver<Told>,
    lanes: BTreeMap<usize, LaneTold>,
    /// The figures of the last intervals, as many as are judged at most.
    figures: VecDeque<f64>,
    /// Seconds of the window that intervals told of.
    seconds: u64,
    /// After how many seconds it was steady, and how far off.
    reached: Option<(u64, f64)>,
}

impl SteadyEnd {
    /// A judge of the lanes with these numbers, and where they tell.
    pub(crate) fn new(asked: SteadyState, lanes: impl Iterator<Item = usize>) -> (SyncSender<Told>, Self) {
        let lanes: BTreeMap<usize, LaneTold> = lanes.map(|lane| (lane, LaneTold::default())).collect();
        let (to, told) = sync_channel(lanes.len().max(1) * UNTAKEN);
        (to, Self { asked, told, lanes, figures: VecDeque::new(), seconds: 0, reached: None })
    }

    /// Takes in what was told, and sets `stop` if it is steady.
    pub(crate) fn look(&mut self, stop: &AtomicBool) {
        while let Ok(told) = self.told.try_recv() {
            self.take(told);
        }
        if self.reached.is_some() {
            stop.store(true, Ordering::Relaxed);
        }
    }

    fn take(&mut self, told: Told) {
        let every_s = self.asked.every_s();
        if let Some(lane) = self.lanes.get_mut(&told.lane) {
            lane.take(told, every_s);
        }
        while self.reached.is_none() && self.lanes.values().all(|lane| !lane.intervals.is_empty()) {
            let of_lanes = self.lanes.values_mut().filter_map(|lane| lane.intervals.pop_front());
            let all = of_lanes.fold(Rates::default(), |all, one| Rates {
                iops: all.iops + one.iops,
                bytes: all.bytes + one.bytes,
                latency_ns: all.latency_ns + one.latency_ns,
            });
            self.seconds += u64::from(every_s);
            if self.seconds > u64::from(self.asked.after_s()) {
                self.judge(all);
            }
        }
    }

    /// Judges the last intervals, of which `last` is one.
    fn judge(&mut self, last: Rates) {
        let intervals = self.asked.intervals() as usize;
        if self.figures.len() == intervals {
            self.figures.pop_front();
        }
        self.figures.push_back(match self.asked.figure() {
            SteadyFigure::Iops | SteadyFigure::IopsSlope => last.iops,
            SteadyFigure::Bw | SteadyFigure::BwSlope => last.bytes,
            SteadyFigure::Lat | SteadyFigure::LatSlope if last.iops > 0.0 => last.latency_ns / last.iops,
            SteadyFigure::Lat | SteadyFigure::LatSlope => 0.0,
        });
        if self.figures.len() < intervals {
            return;
        }
        let off = off(self.figures.make_contiguous(), self.asked);
        if off < self.asked.limit() {
            self.reached = Some((self.seconds, off));
        }
    }

    /// What is said of it, as a note of the run.
    pub(crate) fn note(&self) -> String {
        let asked = self.asked;
        let what = if asked.figure().is_slope() { "slope" } else { "largest deviation from the mean" };
        let unit = if asked.is_in_percent() { "%" } else { "" };
        match self.reached {
            Some((seconds, off)) => format!(
                "the run ended by itself after {seconds} s, when it was steady (--steady-state {asked}): {what} {off:.3}{unit}"
            ),
            None => format!("the run was not steady before its end (--steady-state {asked})"),
        }
    }
}

impl LaneTold {
    /// Takes what a lane told, and ends each interval of so many seconds that is over by then. A lane whose requests take
    /// longer than a second tells less often, and did as much in each interval since.
    fn take(&mut self, told: Told, every_s: u32) {
        let every_s = u64::from(every_s);
        let over = (told.since_ns / SECOND_NS).saturating_sub(self.until_s) / every_s;
        if over == 0 {
            return;
        }
        let seconds = told.since_ns.saturating_sub(self.before.since_ns).max(1) as f64 / SECOND_NS as f64;
        let more = told.all.since(self.before.all);
        let rates = Rates {
            iops: more.ios as f64 / seconds,
            bytes: more.bytes as f64 / seconds,
            latency_ns: more.latency_ns as f64 / seconds,
        };
        self.intervals.extend((0..over).map(|_| rates));
        self.until_s += over * every_s;
        self.before = told;
    }
}

/// How far from steady these figures are, as fio's steadystate counts it: in percent of their mean if the limit is.
fn off(figures: &[f64], asked: SteadyState) -> f64 {
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / count;
    let deviation = if asked.figure().is_slope() {
        let middle = (count - 1.0) / 2.0;
        let places = (0..figures.len()).map(|place| place as f64 - middle);
        let covariance: f64 = places.clone().zip(figures).map(|(place, figure)| place * (figure - mean)).sum();
        (covariance / places.map(|place| place * place).sum::<f64>()).abs()
    } else {
        figures.iter().map(|figure| (figure - mean).abs()).fold(0.0, f64::max)
    };
    match (asked.is_in_percent(), mean > 0.0) {
        (false, _) => deviation,
        (true, true) => 100.0 * deviation / mean,
        // Nothing was done: that is no steady state.
        (true, false) => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets two lanes tell these requests of each second, the second lane three times as many; gives when it was steady.
    fn steady_after(asked: &str, seconds: &[u64]) -> Option<u64> {
        let (to, mut judge) = SteadyEnd::new(asked.parse().unwrap(), [0, 3].into_iter());
        let stop = AtomicBool::new(false);
        let mut tellers = [Teller::of(&to, 0), Teller::of(&to, 3)];
        let mut sum = 0;
        for (second, ios) in (1..).zip(seconds) {
            sum += ios;
            for (teller, factor) in tellers.iter_mut().zip([1, 3]) {
                let ios = sum * factor;
                // A lane looks often, and a little late; it tells once a second.
                for late_ns in [0, 10_000_000, 20_000_000] {
                    let ns = second * SECOND_NS + late_ns;
                    let share = ios + ios * late_ns / ns;
                    teller.tell(ns, Sample { ios: share, bytes: 4096 * share, latency_ns: 500 * share });
                }
            }
            judge.look(&stop);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        assert_eq!(judge.note().contains("ended by itself"), stop.load(Ordering::Relaxed), "{}", judge.note());
        judge.reached.map(|(seconds, _)| seconds)
    }

    #[test]
    fn a_run_is_steady_when_all_intervals_are_near_their_mean() {
        let falling = [900, 500, 300, 101, 100, 99, 100, 100];
        assert_eq!(steady_after("iops:2%:3s", &falling), Some(6));
        assert_eq!(steady_after("bw:2%:4s", &falling), Some(7));
        assert_eq!(steady_after("iops:5:3s", &falling), Some(6), "4 of 400 requests");
        assert_eq!(steady_after("iops:0.1%:3s", &falling), None);
        assert_eq!(steady_after("iops:2%:3s:5s", &falling), Some(8), "the first seconds are not looked at");
        assert_eq!(steady_after("lat:1%:2s", &falling), Some(2), "the mean latency is the same all the time");
    }

    #[test]
    fn a_lane_whose_requests_take_seconds_tells_of_the_same_time_as_the_others() {
        let (to, mut judge) = SteadyEnd::new("iops:2%:3s".parse().unwrap(), [0, 1].into_iter());
        let stop = AtomicBool::new(false);
        let [mut quick, mut slow] = [0, 1].map(|lane| Teller::of(&to, lane));
        let mut sum = 0;
        for (second, ios) in (1..).zip([900, 500, 300, 101, 100, 99, 100, 100, 100]) {
            sum += ios;
            let sample = |ios| Sample { ios, bytes: 4096 * ios, latency_ns: 500 * ios };
            quick.tell(second * SECOND_NS, sample(sum));
            if second % 3 == 0 {
                slow.tell(second * SECOND_NS, sample(second / 3));
            }
            judge.look(&stop);
        }
        assert_eq!(judge.reached.map(|(seconds, _)| seconds), Some(6), "not after as many requests of the slow lane");
    }

    #[test]
    fn a_slope_is_judged_over_the_window_and_intervals_may_be_longer() {
        let waves = [100, 200, 100, 200, 100, 200, 100, 200];
        assert_eq!(steady_after("iops:10%:4s", &waves), None);
        assert_eq!(steady_after("iops:10%:4s:0s:2s", &waves), Some(4), "two intervals of 300 each");
        assert_eq!(steady_after("iops_slope:15%:4s", &waves), Some(4), "20 requests an interval, of 150");
        assert_eq!(steady_after("iops_slope:10%:4s", &waves), None);
        assert_eq!(steady_after("iops:10%:2s", &[0, 0, 0]), None, "who does nothing is not steady");
    }
}
