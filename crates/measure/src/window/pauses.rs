//! Says what a lane stops for between requests: flushes, and time that passes.

use halfpower_spec::{Nanos, ThinktimeFrom, WorkloadOptions};

/// What a lane stops for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pauses {
    /// Writes after which all is made durable; 0 is never.
    pub fdatasync: u32,
    /// Time that passes after completions, or bursts, before more is submitted.
    pub thinktime: Nanos,
    /// What goes out between two such times; `None` is what has room after completions.
    pub burst: Option<Burst>,
}

/// Requests that go out as fast as they can, before a lane thinks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Burst {
    /// How many.
    pub requests: usize,
    /// From when the lane thinks.
    pub from: ThinktimeFrom,
}

impl Burst {
    /// Whether the time is counted from when the last of them went out.
    pub(super) fn counts_from_sending(self) -> bool {
        self.from == ThinktimeFrom::Issued
    }
}

impl Pauses {
    /// Those that a workload asks for.
    pub(crate) fn of(options: &WorkloadOptions) -> Self {
        let WorkloadOptions { fdatasync, thinktime, thinktime_blocks, thinktime_from, .. } = *options;
        let comes_in_bursts = thinktime_blocks > 1 || thinktime_from != ThinktimeFrom::Done;
        let burst = Burst { requests: thinktime_blocks as usize, from: thinktime_from };
        Self { fdatasync, thinktime, burst: comes_in_bursts.then_some(burst) }
    }

    /// Those of a lane that stands for so many threads, which pause together.
    pub(crate) fn of_threads(self, threads: u32) -> Self {
        let of_all = |burst: Burst| Burst { requests: burst.requests.saturating_mul(threads as usize), ..burst };
        Self { burst: self.burst.map(of_all), ..self }
    }

    pub(super) fn any(self) -> bool {
        self.fdatasync > 0 || self.thinktime.0 > 0
    }

    /// Writes until the next flush.
    pub(super) fn quota(self) -> usize {
        if self.fdatasync == 0 { usize::MAX } else { self.fdatasync as usize }
    }
}
