//! Defines the errors that keep processes from making runs together.

use halfpower_measure::MeasureError;

/// What keeps processes from making runs together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    /// A launcher started several processes, and this program was built without MPI.
    #[error(
        "{launcher} started this {how_often}, and this halfpower was built without MPI: build it with `cargo build --release \
         --features mpi` to make one study of many hosts, or start it once"
    )]
    NoMpi {
        /// The environment variable that shows it.
        launcher: &'static str,
        /// How many times it was started, such as `4 times`.
        how_often: String,
    },
    /// The launcher and the MPI library count different numbers of processes.
    #[error(
        "{launcher} counts {listed} processes and MPI finds {found}: start halfpower with the mpirun of the MPI that it was \
         built with"
    )]
    OtherMpi {
        /// The environment variable that the launcher sets.
        launcher: &'static str,
        /// Number of processes according to the launcher.
        listed: u32,
        /// Number of processes according to MPI.
        found: u32,
    },
    /// MPI cannot be started.
    #[error("MPI cannot be started: {0}")]
    NotStarted(String),
    /// A process of the study is gone.
    #[error("the process of rank {rank} is gone; start again to go on with the study")]
    Lost {
        /// Its rank.
        rank: u32,
    },
    /// The program that started this process is gone.
    #[error("the launcher of this process is gone; start again to go on with the study")]
    LauncherLost,
    /// A message that no version of this program sends.
    #[error("rank {rank} sent what cannot be read ({why}): start the same program on all hosts")]
    Unread {
        /// The rank that sent it.
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
