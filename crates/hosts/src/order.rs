//! Defines what process 0 asks of the others.

use halfpower_spec::{Bytes, Run};
use serde::{Deserialize, Serialize};

/// What process 0 asks of the others; they wait for nothing else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Open the target, as this says; who asks knows what it means.
    Meet(serde_json::Value),
    /// Lay out what has to be there before the first run.
    MakeReady {
        /// Exactly the size of an earlier time.
        span: Option<Bytes>,
    },
    /// Make a run.
    Run {
        /// Which, as the study asks for it.
        run: Box<Run>,
        /// Whether windows open at one time on all clocks; not in virtual time.
        in_step: bool,
    },
    /// There is no more to be done.
    End,
}
