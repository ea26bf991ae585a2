//! Simulates limits on bytes and requests a second that save a credit while idle and may hand out slices.
//!
//! A token bucket as virtual scheduling (the generic cell rate algorithm, ITU-T I.371): a limit is used up to a moment.
//! Each request extends that moment by its own time, and passes once the result is no later than now plus the credit's
//! time. With slices, all of a slice may pass when it begins.

use halfpower_spec::SimulatedDisk;

use crate::Moment;

const PS_PER_NS: u64 = 1000;
const PS_PER_S: f64 = 1e12;

/// One limit.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// Moment up to which the limit is used; a request may pass `credit_ps` before it.
    used: Moment,
    /// Time that the credit takes to fill.
    credit_ps: u64,
}

/// The limits of a path, and how far they are used.
#[derive(Debug, Clone, Copy, Default)]
pub struct Buckets {
    bytes: Bucket,
    requests: Bucket,
    slice_ps: u64,
}

/// Time that a request uses of each limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Use {
    pub bytes_ps: u64,
    pub requests_ps: u64,
}

impl Buckets {
    /// The limits of `disk`, with full credit.
    pub fn new(disk: &SimulatedDisk) -> Self {
        let time = |credit: f64, rate: Option<f64>| rate.map_or(0, |rate| (credit / rate * PS_PER_S) as u64);
        let of = |credit_ps| Bucket { used: Moment::default(), credit_ps };
        Self {
            bytes: of(time(disk.credit.0 as f64, disk.shared.map(|shared| shared.0))),
            requests: of(time(disk.credit_ios as f64, disk.iops)),
            slice_ps: disk.slice.0.saturating_mul(PS_PER_NS),
        }
    }

    /// When a request that arrives at `at` passes.
    pub(crate) fn passes(&self, at: Moment, takes: Use) -> Moment {
        let of = |bucket: &Bucket, span_ps: u64| {
            let due_ps = bucket.used.ps().saturating_add(span_ps).saturating_sub(bucket.credit_ps);
            self.slice_of(Moment::from_ps(due_ps))
        };
        at.max(of(&self.bytes, takes.bytes_ps)).max(of(&self.requests, takes.requests_ps))
    }

    /// Records a request that passed at `at`.
    pub(crate) fn pass(&mut self, at: Moment, takes: Use) {
        let begun = self.slice_of(at);
        self.bytes.used = self.bytes.used.after_ps(takes.bytes_ps).max(begun);
        self.requests.used = self.requests.used.after_ps(takes.requests_ps).max(begun);
    }

    /// The start of the slice that contains a moment.
    fn slice_of(&self, moment: Moment) -> Moment {
        match self.slice_ps {
            0 => moment,
            slice_ps => Moment::from_ps(moment.ps() - moment.ps() % slice_ps),
        }
    }
}

impl Use {
    /// Whether it uses any limit.
    pub fn any(&self) -> bool {
        self.bytes_ps > 0 || self.requests_ps > 0
    }
}
