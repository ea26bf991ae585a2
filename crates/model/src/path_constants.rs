//! Holds the constants of one path through a fitted device, and the rate that follows from them in closed form.

use halfpower_spec::{Bytes, Rate};
use serde::{Deserialize, Serialize};

use crate::SystemError;
use crate::system::constants;

const KIB: f64 = 1024.0;

/// Constants of one path through the device: of requests with one pattern, cache setting and direction.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathConstants {
    /// Time of a single request, independent of its size, in microseconds.
    pub fixed_us: f64,
    /// What each KiB adds to it, in microseconds.
    pub us_per_kib: f64,
    /// Requests served in parallel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_by_side: Option<f64>,
    /// Throughput that larger requests do not exceed, in MB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling_mbps: Option<f64>,
    /// Requests a second that smaller requests do not exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling_iops: Option<f64>,
    /// Time slice in which both ceilings let requests through, in microseconds; 0 lets them through evenly. What a slice
    /// leaves unused is lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slice_us: f64,
    /// Processor time of a request charged to the process, in microseconds.
    #[serde(default)]
    pub charged_us: f64,
    /// What each KiB adds to it, in microseconds.
    #[serde(default)]
    pub charged_us_per_kib: f64,
    /// Extra processor time of a wait for completions, in microseconds; all outstanding requests share it.
    #[serde(default)]
    pub wait_us: f64,
    /// Processor time of a request charged to no process, in microseconds.
    #[serde(default)]
    pub unseen_us: f64,
    /// What each KiB adds to it, in microseconds.
    #[serde(default)]
    pub unseen_us_per_kib: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl PathConstants {
    /// Time of a single request of `bs`, in microseconds.
    pub fn alone_us(&self, bs: Bytes) -> f64 {
        self.fixed_us + self.us_per_kib * bs.0 as f64 / KIB
    }

    /// Minimum time between two completions of one device, in microseconds.
    pub fn gap_us(&self, bs: Bytes) -> f64 {
        self.work_us(bs).max(self.limit_us(bs))
    }

    /// The part of it that is the device's work, in microseconds: the time of a single request over those in parallel.
    pub fn work_us(&self, bs: Bytes) -> f64 {
        self.side_by_side.map_or(0.0, |most| self.alone_us(bs) / most)
    }

    /// The part of it that is a limit of rate, in microseconds: what the ceilings ask between two requests. It is no part of
    /// a single request's time.
    pub fn limit_us(&self, bs: Bytes) -> f64 {
        // A MB/s is a byte a microsecond.
        let by_bytes = self.ceiling_mbps.map(|mbps| bs.0 as f64 / mbps);
        let by_requests = self.ceiling_iops.map(|iops| 1e6 / iops);
        [by_bytes, by_requests].into_iter().flatten().fold(0.0, f64::max)
    }

    /// The constants of a path whose single requests take no time, behind limits of rate that let as much through.
    pub(crate) fn as_limit(&self) -> Self {
        let limit = |us: f64, known: Option<f64>, rate: f64| {
            let told = (us > 0.0).then(|| rate / us);
            [told, known].into_iter().flatten().reduce(f64::min)
        };
        let most = self.side_by_side.unwrap_or(1.0);
        Self {
            fixed_us: 0.0,
            us_per_kib: 0.0,
            side_by_side: None,
            ceiling_mbps: limit(self.us_per_kib, self.ceiling_mbps, KIB * most),
            ceiling_iops: limit(self.fixed_us, self.ceiling_iops, 1e6 * most),
            ..*self
        }
    }

    /// Charged processor time of a request while `depth` are outstanding, in microseconds.
    pub fn charged_us(&self, bs: Bytes, depth: u32) -> f64 {
        self.charged_us + self.charged_us_per_kib * bs.0 as f64 / KIB + self.wait_us / f64::from(depth.max(1))
    }

    /// Checks that the constants are valid; an error names the constant.
    pub(crate) fn check(&self) -> Result<(), SystemError> {
        let times = [
            ("fixed_us", self.fixed_us),
            ("us_per_kib", self.us_per_kib),
            ("slice_us", self.slice_us),
            ("charged_us", self.charged_us),
            ("charged_us_per_kib", self.charged_us_per_kib),
            ("wait_us", self.wait_us),
            ("unseen_us", self.unseen_us),
            ("unseen_us_per_kib", self.unseen_us_per_kib),
        ];
        constants(&times, "0 or more", |value| value >= 0.0 && value.is_finite())?;
        let limits = [
            ("side_by_side", self.side_by_side.unwrap_or(1.0)),
            ("ceiling_mbps", self.ceiling_mbps.unwrap_or(1.0)),
            ("ceiling_iops", self.ceiling_iops.unwrap_or(1.0)),
        ];
        constants(&limits, "above 0", |value| value > 0.0 && value.is_finite())?;
        let least = [("fixed_us + us_per_kib", self.fixed_us + self.us_per_kib)];
        constants(&least, "above 0, since a request takes some time", |value| value > 0.0)
    }

    /// Mean time between two completions of one device with `depth` requests of `bs` outstanding, in microseconds.
    pub fn between_us(&self, bs: Bytes, depth: u32) -> f64 {
        (self.alone_us(bs) / f64::from(depth.max(1))).max(self.gap_us(bs))
    }
}

/// Throughput of `devices` equal devices behind a limit of `shared` MB/s, each with `depth` requests of `bs`.
pub(crate) fn through(passage: &PathConstants, shared: Option<f64>, bs: Bytes, depth: u32, devices: u32) -> Rate {
    let of_devices = passage.between_us(bs, depth) / f64::from(devices.max(1));
    let of_shared = shared.map_or(0.0, |mbps| bs.0 as f64 / mbps);
    let of_processor = passage.charged_us(bs, depth.saturating_mul(devices));
    Rate(bs.0 as f64 / of_devices.max(of_shared).max(of_processor) * 1e6)
}
