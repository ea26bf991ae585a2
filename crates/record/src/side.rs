//! Extracts one direction of a record: reads or writes.

use halfpower_spec::{Direction, Rw};

use crate::{ByDirection, Latency, Record, Trims};

/// One direction of a run.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Requests that succeeded.
    pub ios: u64,
    /// Bytes that they moved; for a mixed run of the first releases, estimated from the number of requests.
    pub bytes: u64,
    /// Their latencies; `None` for a mixed run of the first releases.
    pub latency: Option<&'a Latency>,
    elapsed_ns: u64,
}

impl Side<'_> {
    /// Throughput in decimal MB/s over the whole window, 0 for a window of no length.
    pub fn mbps(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.bytes as f64 * 1e3 / self.elapsed_ns as f64 }
    }

    /// Requests a second over the whole window, 0 for a window of no length.
    pub fn iops(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.ios as f64 * 1e9 / self.elapsed_ns as f64 }
    }
}

impl Record {
    /// The requests of one direction; `None` if the workload lacks it. Trims belong to neither direction.
    pub fn side(&self, direction: Direction) -> Option<Side<'_>> {
        let elapsed_ns = self.elapsed_ns;
        if let Some(trims) = &self.trims {
            return self.side_beside_trims(direction, trims);
        }
        match self.run.workload.rw.direction() {
            Some(only) if only == direction => {
                Some(Side { ios: self.ios, bytes: self.bytes, latency: Some(&self.latency), elapsed_ns })
            }
            Some(_) => None,
            None => Some(self.side_of_mixed(direction)),
        }
    }

    /// The trims; `None` if the workload does not trim.
    pub fn trimmed(&self) -> Option<Side<'_>> {
        let Trims { ios, bytes, latency, .. } = self.trims.as_ref()?;
        Some(Side { ios: *ios, bytes: *bytes, latency: Some(latency), elapsed_ns: self.elapsed_ns })
    }

    fn side_beside_trims<'a>(&self, direction: Direction, trims: &'a Trims) -> Option<Side<'a>> {
        let writes = direction == Direction::Write && self.run.workload.rw == Rw::Trimwrite;
        writes.then(|| Side {
            ios: self.ios.saturating_sub(trims.ios),
            bytes: self.bytes.saturating_sub(trims.bytes),
            latency: Some(&trims.write_latency),
            elapsed_ns: self.elapsed_ns,
        })
    }

    fn side_of_mixed(&self, direction: Direction) -> Side<'_> {
        let read_ios = self.read_ios.min(self.ios);
        let by_share = || (self.bytes as f64 * read_ios as f64 / self.ios.max(1) as f64).round() as u64;
        let read_bytes = self.by_direction.as_ref().map_or_else(by_share, |apart| apart.read_bytes);
        let latency = |of: fn(&ByDirection) -> &Latency| self.by_direction.as_ref().map(of);
        let elapsed_ns = self.elapsed_ns;
        match direction {
            Direction::Read => {
                Side { ios: read_ios, bytes: read_bytes, latency: latency(|apart| &apart.read_latency), elapsed_ns }
            }
            Direction::Write => {
                let bytes = self.bytes.saturating_sub(read_bytes);
                Side { ios: self.ios - read_ios, bytes, latency: latency(|apart| &apart.write_latency), elapsed_ns }
            }
        }
    }
}
