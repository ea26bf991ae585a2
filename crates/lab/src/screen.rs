//! Counts which figures on the first screen of a study are true, from the JSON of its report.
//!
//! A figure that is told with an interval is right if the interval holds the truth; one of a single run, if it is near
//! it. What is said to be not known counts neither way.

use std::ops::RangeInclusive;

use serde_json::Value;

/// Distance within which a figure without an interval is right.
const OF_ONE_RUN: f64 = 0.09;

/// What a row of the first screen is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AskedRow {
    /// Bytes of a request.
    pub bs_bytes: f64,
    /// Requests in flight, of all threads.
    pub depth: f64,
}

/// What is true of a row. A truth is a range: as well as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct RowTruth {
    /// Rate in MB/s.
    pub mbps: RangeInclusive<f64>,
    /// Median latency in nanoseconds.
    pub p50_ns: RangeInclusive<f64>,
    /// 99th percentile of latency in nanoseconds.
    pub p99_ns: RangeInclusive<f64>,
}

/// Figures of one kind: how many are right, of how many that are told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    right: usize,
    all: usize,
}

impl Told {
    fn add(&mut self, is_right: bool) {
        self.all += 1;
        self.right += usize::from(is_right);
    }

    /// The share that is right; NaN where nothing was told.
    pub fn share(self) -> f64 {
        self.right as f64 / self.all as f64
    }
}

/// The figures on the first screens of some studies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Screens {
    rates: Told,
    medians: Told,
    p99s: Told,
    /// Figures that are said to be not known.
    unknown: usize,
}

impl Screens {
    /// What [`Screens::shares`] are of, in that order: the ends of names of figures.
    pub const SHARES: [&str; 3] = ["rates that are right", "medians that are right", "99th percentiles that are right"];

    /// Adds the rows of `report`, durable writes too; prints what is not right.
    pub fn add(&mut self, name: &str, report: &Value, truth: impl Fn(AskedRow) -> RowTruth) {
        for row in report["how_fast"].as_array().into_iter().flatten() {
            let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
            let asked = AskedRow { bs_bytes: number("bs_bytes"), depth: number("iodepth") * number("threads") };
            let truth = truth(asked);
            let of_row = format!("{name}, {} {}, {asked:?}", row["pattern"], row["rw"]);
            self.add_rate(&of_row, row, &truth);
            if !row["durable"].is_null() {
                self.add_rate(&format!("{of_row}, durable"), &row["durable"], &truth);
            }
        }
    }

    fn add_rate(&mut self, of_row: &str, rate: &Value, truth: &RowTruth) {
        let is_known = rate["sureness"]["code"] != "unknown";
        let mbps = rate["mbps"]["value"].as_f64().filter(|_| is_known);
        let figures = [
            ("MB/s", mbps, &rate["mbps"], &truth.mbps, &mut self.rates),
            (
                "p50",
                rate["latency_ns_p50"].as_f64(),
                &rate["latency_ns_p50_interval"],
                &truth.p50_ns,
                &mut self.medians,
            ),
            ("p99", rate["latency_ns_p99"].as_f64(), &rate["latency_ns_p99_interval"], &truth.p99_ns, &mut self.p99s),
        ];
        for (what, value, interval, truth, told) in figures {
            let Some(value) = value else {
                self.unknown += 1;
                continue;
            };
            let is_right = holds(interval, value, truth);
            told.add(is_right);
            if !is_right {
                println!("{of_row}: {what} {value} {interval}, which is {truth:?}");
            }
        }
    }

    /// The shares of rates, medians and 99th percentiles that are right; NaN where none was told.
    pub fn shares(self) -> [f64; 3] {
        [self.rates, self.medians, self.p99s].map(Told::share)
    }
}

/// Whether what was told holds the truth: some of the range that it lies in.
fn holds(interval: &Value, value: f64, truth: &RangeInclusive<f64>) -> bool {
    let ends = interval["low"].as_f64().zip(interval["high"].as_f64());
    let of_one_run = (value * (1.0 - OF_ONE_RUN), value * (1.0 + OF_ONE_RUN));
    let (low, high) = ends.filter(|(low, high)| high > low).unwrap_or(of_one_run);
    low <= *truth.end() && high >= *truth.start()
}

/// Whether the state of a study may stand over a path that gives all requests the same, that nobody else uses, and in
/// which no cache answers. That its own runs differ, or that a hypervisor took time, may be true.
pub fn is_state_of_a_path_alone(report: &Value) -> bool {
    let state = &report["state"];
    match state["code"].as_str() {
        Some("quiet") => true,
        Some("noisy") => state["by"] != "others-used-the-disk",
        _ => false,
    }
}

/// Whether a direction's stop is said to be not known because it was measured too little. That its bytes may be a cache's
/// is a verdict.
pub fn is_stop_unknown(stop: &Value) -> bool {
    matches!(stop["doubt"]["code"].as_str(), Some("rate-unknown" | "one-depth"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A report of one row: a rate and a median with intervals, and no 99th percentile.
    fn report(mbps: [f64; 3], p50_ns: [f64; 3], sureness: &str) -> Value {
        let interval = |[value, low, high]: [f64; 3]| json!({ "value": value, "low": low, "high": high });
        json!({ "how_fast": [{
            "pattern": "random", "rw": "read", "bs_bytes": 4096, "iodepth": 8, "threads": 2,
            "mbps": interval(mbps), "sureness": { "code": sureness }, "latency_ns_p50": p50_ns[0],
            "latency_ns_p50_interval": interval(p50_ns), "latency_ns_p99": null, "latency_ns_p99_interval": null,
            "durable": null,
        }] })
    }

    fn counted(report: &Value) -> Screens {
        let mut screens = Screens::default();
        screens.add("a disk", report, |asked| {
            assert_eq!(asked, AskedRow { bs_bytes: 4096.0, depth: 16.0 });
            RowTruth { mbps: 100.0..=101.0, p50_ns: 5e5..=5.1e5, p99_ns: 6e5..=7e5 }
        });
        screens
    }

    #[test]
    fn what_is_told_is_right_if_its_interval_holds_the_truth() {
        let screens = counted(&report([99.0, 98.0, 100.5], [4e5, 3.9e5, 4.1e5], "within"));
        assert_eq!(screens.rates, Told { right: 1, all: 1 });
        assert_eq!(screens.medians, Told { right: 0, all: 1 });
        assert_eq!((screens.p99s, screens.unknown), (Told::default(), 1));
        let [rates, medians, p99s] = screens.shares();
        assert!((rates - 1.0).abs() < 1e-9 && medians.abs() < 1e-9 && p99s.is_nan());
    }

    #[test]
    fn a_single_run_is_right_near_the_truth_and_what_is_not_known_counts_neither_way() {
        let of_one = counted(&report([95.0, 95.0, 95.0], [6e5, 6e5, 6e5], "single-run"));
        assert_eq!((of_one.rates.right, of_one.medians.right), (1, 0));
        let unknown = counted(&report([95.0, 10.0, 180.0], [5e5, 4e5, 6e5], "unknown"));
        assert_eq!((unknown.rates, unknown.medians.right, unknown.unknown), (Told::default(), 1, 2));
    }

    #[test]
    fn a_state_that_speaks_of_others_or_of_a_cache_is_not_of_a_path_alone() {
        let is_right = |state: Value| is_state_of_a_path_alone(&json!({ "state": state }));
        assert!(is_right(json!({ "code": "quiet" })) && is_right(json!({ "code": "noisy", "by": "runs-differ" })));
        assert!(!is_right(json!({ "code": "noisy", "by": "others-used-the-disk" })));
        let is_unknown = |doubt: Value| is_stop_unknown(&json!({ "doubt": doubt }));
        assert!(is_unknown(json!({ "code": "rate-unknown" })) && !is_unknown(json!({ "code": "contradicted" })));
        assert!(!is_unknown(Value::Null));
        assert!(!is_right(json!({ "code": "cached" })) && !is_right(json!({ "code": "unfinished", "share": 0.5 })));
    }
}
