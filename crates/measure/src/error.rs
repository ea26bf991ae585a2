//! Says why a run could not be measured, in one sentence each: what, where, what to do.

use std::io;
use std::path::PathBuf;

use halfpower_engine::EngineError;
use halfpower_os::OsError;
use halfpower_spec::{Bytes, Kernel, Workload};

/// A place that cannot be prepared, or a run that is lost.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// Somebody asked for an end (SIGINT, SIGTERM): the run in progress is dropped.
    #[error("interrupted")]
    Interrupted,
    /// The engine cannot go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The file server, or the way to it, refused something.
    #[error(transparent)]
    Share(#[from] halfpower_share::ShareError),
    /// The operating system refused something about the target.
    #[error(transparent)]
    Os(halfpower_os::OsError),
    /// The target is not what it would have to be.
    #[error("{}: {what}", path.display())]
    Target {
        /// Where.
        path: PathBuf,
        /// What is wrong and what to do.
        what: String,
    },
    /// A workload that this target cannot be asked.
    #[error(
        "--bs {bs} does not fit direct I/O on this target: block sizes must be a multiple of {unit}; \
         choose such a one, or measure buffered with --cache both"
    )]
    Unaligned {
        /// What was asked.
        bs: Bytes,
        /// What it must be a multiple of.
        unit: Bytes,
    },
    /// A block that the target is too small for.
    #[error(
        "`{workload}` needs {needed} and the target holds {span}: \
         choose a smaller --bs or fewer --threads, or a larger --size"
    )]
    TooSmall {
        /// What was asked.
        workload: Box<Workload>,
        /// Bytes that its threads need at least.
        needed: Bytes,
        /// Bytes there are.
        span: Bytes,
    },
    /// A memory kernel that cannot be run so.
    #[error("--kernel {kernel} {what}")]
    Kernel {
        /// Which.
        kernel: Kernel,
        /// Why, and what to do.
        what: &'static str,
    },
    /// Settings that do not go together, or that this target has no use for.
    #[error("{what}")]
    Unfit {
        /// Which, why, and what to do.
        what: String,
    },
    /// A simulated machine that cannot be built, or lacks what is asked of it.
    #[error(transparent)]
    System(#[from] halfpower_model::SystemError),
    /// A thread of the measurement could not be started, or did not come to its end.
    #[error("a measuring thread {what}")]
    Thread {
        /// What became of it.
        what: String,
    },
    /// What another process that makes the runs too came upon, or the way to it.
    #[error("{what}")]
    Elsewhere {
        /// Which, where, and what to do.
        what: String,
    },
    /// The soaker could not be started.
    #[error("the soaker's threads cannot be started: {0}; measure without it")]
    Account(io::Error),
}

impl From<OsError> for MeasureError {
    /// A call that was cut short is only told of where the user has asked for an end.
    fn from(error: OsError) -> Self {
        match error {
            OsError::Call { error, .. } if error.kind() == io::ErrorKind::Interrupted => Self::Interrupted,
            other => Self::Os(other),
        }
    }
}
