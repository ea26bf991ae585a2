//! Writes a latency histogram in fio's form: three coarse histograms in percent, a summary, percentiles and bins.
//!
//! Each value is the middle of its bucket, whose width is at most 1/128 of the value.

use halfpower_record::Latency;
use serde_json::{Map, Value, json};

/// The percentiles that fio lists by default.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Upper ends (exclusive) of fio's coarse bins within a unit.
const EDGES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// fio's three coarse histograms: percent of all requests by nanoseconds, microseconds and milliseconds.
pub struct Bins {
    pub ns: Value,
    pub us: Value,
    pub ms: Value,
}

/// The coarse histograms of `latency`.
pub fn latency_bins(latency: &Latency) -> Bins {
    let mut counts = [[0u64; EDGES.len()]; 3];
    let mut to_two_seconds = 0;
    let mut longer = 0;
    for (low, high, count) in latency.buckets() {
        let middle_ns = low + (high - low) / 2;
        let (unit, value) = match middle_ns {
            ns if ns < 1_000 => (0, ns),
            ns if ns < 1_000_000 => (1, ns / 1_000),
            ns => (2, ns / 1_000_000),
        };
        match EDGES.iter().position(|edge| value < *edge) {
            Some(edge) => counts[unit][edge] += count,
            None if value < 2_000 => to_two_seconds += count,
            None => longer += count,
        }
    }
    let percent = |count: u64| json!(100.0 * count as f64 / latency.count().max(1) as f64);
    let coarse = |unit: usize| -> Map<String, Value> {
        EDGES.iter().zip(counts[unit]).map(|(edge, count)| (edge.to_string(), percent(count))).collect()
    };
    let mut ms = coarse(2);
    ms.insert("2000".to_string(), percent(to_two_seconds));
    ms.insert(">=2000".to_string(), percent(longer));
    Bins { ns: coarse(0).into(), us: coarse(1).into(), ms: ms.into() }
}

/// Summary, percentiles (fio's own list if `percentiles` is empty) and bins of `latency`.
pub fn latency_object(latency: &Latency, percentiles: &[f64]) -> Value {
    let middle = |low: u64, high: u64| low + (high - low) / 2;
    let mean = latency.mean_ns();
    let squares: f64 =
        latency.buckets().map(|(low, high, count)| count as f64 * (middle(low, high) as f64 - mean).powi(2)).sum();
    let listed = if percentiles.is_empty() { &PERCENTILES[..] } else { percentiles };
    let percentiles: Map<String, Value> =
        listed.iter().map(|percent| (format!("{percent:.6}"), json!(latency.quantile_ns(percent / 100.0)))).collect();
    let bins: Map<String, Value> =
        latency.buckets().map(|(low, high, count)| (middle(low, high).to_string(), json!(count))).collect();
    json!({
        "min": latency.min_ns(),
        "max": latency.max_ns(),
        "mean": mean,
        "stddev": (squares / latency.count().max(2).saturating_sub(1) as f64).sqrt(),
        "N": latency.count(),
        "percentile": percentiles,
        "bins": bins,
    })
}

/// The object for no requests.
pub fn no_latency() -> Value {
    json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 })
}
