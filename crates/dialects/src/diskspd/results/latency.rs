//! Reads diskspd's latency percentiles of reads, of writes and of both.

use halfpower_record::Latency;

use super::tree::Element;
use crate::foreign_run::whole;
use crate::found::FileError;

/// Latencies of a time span.
pub struct Latencies {
    /// The listed percentiles, including minimum and maximum.
    pub percentiles: Vec<f64>,
    read: Listed,
    write: Listed,
    total: Listed,
}

/// One column: its mean and its buckets' values, in nanoseconds.
#[derive(Default)]
struct Listed {
    mean_ns: f64,
    buckets: Vec<(f64, u64)>,
}

/// The latencies of a time span; `None` if latency was not measured.
pub fn latencies(measured: &Element<'_>) -> Result<Option<Latencies>, FileError> {
    let Some(latency) = measured.child("Latency") else { return Ok(None) };
    let percentiles = latency.children("Bucket").map(|bucket| bucket.number("Percentile")).collect::<Result<_, _>>()?;
    let listed = |mean: &'static str, name: &'static str| {
        let mut listed = Listed::default();
        if latency.child(mean).is_some() {
            listed.mean_ns = latency.number(mean)? * 1e6;
        }
        for bucket in latency.children("Bucket").filter(|bucket| bucket.child(name).is_some()) {
            listed.buckets.push((bucket.number("Percentile")?, bucket.scaled(name, 1e6)?));
        }
        Ok(listed)
    };
    Ok(Some(Latencies {
        percentiles,
        read: listed("AverageReadMilliseconds", "ReadMilliseconds")?,
        write: listed("AverageWriteMilliseconds", "WriteMilliseconds")?,
        total: listed("AverageTotalMilliseconds", "TotalMilliseconds")?,
    }))
}

impl Latencies {
    pub fn read(&self, ios: u64) -> Latency {
        self.read.of(ios)
    }

    pub fn write(&self, ios: u64) -> Latency {
        self.write.of(ios)
    }

    pub fn total(&self, ios: u64) -> Latency {
        self.total.of(ios)
    }
}

impl Listed {
    fn of(&self, ios: u64) -> Latency {
        let (Some((_, min_ns)), Some((_, max_ns))) = (self.buckets.first(), self.buckets.last()) else {
            return Latency::default();
        };
        // Values are rounded to microseconds, so the mean may lie beyond minimum or maximum.
        let mean_ns = whole(self.mean_ns).unwrap_or(0) as f64;
        Latency::of_percentiles(ios, [*min_ns, *max_ns], mean_ns, &self.buckets)
    }
}
