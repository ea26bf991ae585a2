//! Defines why a run could not be measured: each error says what, where and what to do.

use std::io;
use std::path::PathBuf;

use halfpower_engine::EngineError;
use halfpower_os::OsError;
use halfpower_share::ShareError;
use halfpower_spec::{Bytes, Kernel, Workload};

/// Why a target cannot be prepared, or a run is lost.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The user asked to stop (SIGINT, SIGTERM): the current run is dropped.
    #[error("interrupted")]
    Interrupted,
    /// The engine failed.
    #[error(transparent)]
    Engine(EngineError),
    /// A file server, or the connection to it, failed.
    #[error(transparent)]
    Share(ShareError),
    /// A system call on the target failed.
    #[error(transparent)]
    Os(halfpower_os::OsError),
    /// The target cannot be used as asked.
    #[error("{}: {what}", path.display())]
    Target {
        /// The target's path.
        path: PathBuf,
        /// What is wrong and what to do.
        what: String,
    },
    /// A block size that direct I/O on this target cannot take.
    #[error(
        "--bs {bs} does not fit direct I/O on this target: block sizes must be a multiple of {unit}; \
         choose such a one, or measure buffered with --cache both"
    )]
    Unaligned {
        /// What the user asked for.
        bs: Bytes,
        /// The unit of direct I/O on this target.
        unit: Bytes,
    },
    /// The target is too small for the workload.
    #[error(
        "`{workload}` needs {needed} and the target holds {span}: \
         choose a smaller --bs or fewer --threads, or a larger --size"
    )]
    TooSmall {
        /// What the user asked for.
        workload: Box<Workload>,
        /// Bytes that its threads need.
        needed: Bytes,
        /// Bytes that it can reach.
        span: Bytes,
    },
    /// A memory kernel that cannot run with these settings.
    #[error("--kernel {kernel} {what}")]
    Kernel {
        /// The kernel.
        kernel: Kernel,
        /// Why, and what to do.
        what: &'static str,
    },
    /// Settings that do not fit together, or that this target does not support.
    #[error("{what}")]
    Unfit {
        /// Which, why, and what to do.
        what: String,
    },
    /// A simulated system that cannot be built, or lacks what is asked of it.
    #[error(transparent)]
    System(#[from] halfpower_model::SystemError),
    /// A measuring thread could not be started, or panicked.
    #[error("a measuring thread {what}")]
    Thread {
        /// What happened to it.
        what: String,
    },
    /// An error in another process that makes the same run, or on the way to it.
    #[error("{what}")]
    Elsewhere {
        /// Which, where, and what to do.
        what: String,
    },
    /// The soaker could not be started.
    #[error("the soaker's threads cannot be started: {0}; measure without it")]
    Account(io::Error),
}

impl From<ShareError> for MeasureError {
    /// Waiting that the user has ended becomes [`MeasureError::Interrupted`].
    fn from(error: ShareError) -> Self {
        if matches!(error, ShareError::Interrupted) { Self::Interrupted } else { Self::Share(error) }
    }
}

impl From<EngineError> for MeasureError {
    /// As for an error of the share below.
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Share(ShareError::Interrupted) => Self::Interrupted,
            other => Self::Engine(other),
        }
    }
}

impl From<OsError> for MeasureError {
    /// A call that a signal cut short (EINTR) becomes [`MeasureError::Interrupted`]: it is reported only if the user
    /// asked to stop.
    fn from(error: OsError) -> Self {
        match error {
            OsError::Call { error, .. } if error.kind() == io::ErrorKind::Interrupted => Self::Interrupted,
            other => Self::Os(other),
        }
    }
}
