//! Says why processes cannot make runs together, in one sentence each.

use halfpower_measure::MeasureError;

/// What keeps processes from making runs together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    /// Started many times over by a program that was built without MPI.
    #[error(
        "{launcher} started this {how_often}, and this halfpower was built without MPI: build it with `cargo build --release \
         --features mpi` to make one study of many hosts, or start it once"
    )]
    NoMpi {
        /// The variable by which that is known.
        launcher: &'static str,
        /// How often, such as `4 times`.
        how_often: String,
    },
    /// The launcher and the MPI library do not know each other.
    #[error(
        "{launcher} counts {told} processes and MPI finds {found}: start halfpower with the mpirun of the MPI that it was \
         built with"
    )]
    OtherMpi {
        /// The variable by which the launcher tells.
        launcher: &'static str,
        /// Processes that it tells of.
        told: u32,
        /// Processes that MPI finds.
        found: u32,
    },
    /// MPI does not start.
    #[error("MPI cannot be started: {0}")]
    NotStarted(String),
    /// A process that takes part is gone.
    #[error("the process of rank {rank} is gone; start again to go on with the study")]
    Lost {
        /// Which.
        rank: u32,
    },
    /// Who started this process is gone.
    #[error("the launcher of this process is gone; start again to go on with the study")]
    LauncherLost,
    /// A message that no version of this program sends.
    #[error("rank {rank} sent what cannot be read ({why}): start the same program on all hosts")]
    Unread {
        /// Whose it was.
        rank: u32,
        /// What is wrong with it.
        why: String,
    },
}

impl From<HostsError> for MeasureError {
    fn from(error: HostsError) -> Self {
        Self::Elsewhere { what: error.to_string() }
    }
}
