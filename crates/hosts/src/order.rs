//! Defines the orders that process 0 gives the others.

use halfpower_spec::{Bytes, Run};
use serde::{Deserialize, Serialize};

/// An order of process 0 to the others, which wait for nothing else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Meet and open the target; the value goes to the caller's `Opening` unread.
    Meet(serde_json::Value),
    /// Lay out what the first run needs.
    MakeReady {
        /// The size that an earlier start used, if it must be the same.
        span: Option<Bytes>,
    },
    /// Make a run.
    Run {
        /// The run, as the study asks for it.
        run: Box<Run>,
        /// Whether windows open at one instant everywhere; false in virtual time.
        in_step: bool,
    },
    /// End.
    End,
}
