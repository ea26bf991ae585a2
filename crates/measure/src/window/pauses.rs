//! Says what a lane stops for between its requests: to make durable what it wrote, and to let time pass.

use halfpower_spec::{Nanos, WorkloadOptions};

/// What a lane stops for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pauses {
    /// Writes after which all is made durable; 0 is never.
    pub fdatasync: u32,
    /// Time that passes after completions before more is submitted.
    pub thinktime: Nanos,
}

impl Pauses {
    /// Those that a workload asks for.
    pub(crate) fn of(options: &WorkloadOptions) -> Self {
        Self { fdatasync: options.fdatasync, thinktime: options.thinktime }
    }

    pub(super) fn any(self) -> bool {
        self.fdatasync > 0 || self.thinktime.0 > 0
    }

    /// Writes until the next flush.
    pub(super) fn quota(self) -> usize {
        if self.fdatasync == 0 { usize::MAX } else { self.fdatasync as usize }
    }
}
