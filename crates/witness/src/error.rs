//! Defines why a far end has no witness, in one sentence each.

use std::io;
use std::time::Duration;

use crate::PROTOCOL;

/// Why there is no witness, or no longer one.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// The command cannot be started.
    #[error("--far-end: /bin/sh cannot be started: {0}")]
    NotStarted(io::Error),
    /// The command ended.
    #[error("--far-end: `{command}` ended{how}; it must start `halfpower witness` and stay")]
    Ended {
        /// The command.
        command: String,
        /// How, such as ` with exit status 127`.
        how: String,
    },
    /// The connection to the witness was lost earlier.
    #[error("--far-end: `{command}` was lost, and is not asked again")]
    Lost {
        /// The command.
        command: String,
    },
    /// No answer came in time.
    #[error("--far-end: `{command}` did not answer within {} s", patience.as_secs_f64())]
    Silent {
        /// The command.
        command: String,
        /// How long the caller waited.
        patience: Duration,
    },
    /// An answer is not a reply of a witness.
    #[error(
        "--far-end: `{command}` answered `{said}`, which is no reply of a witness; it must start `halfpower witness` \
         and print nothing else"
    )]
    Garbage {
        /// The command.
        command: String,
        /// The beginning of the answer.
        said: String,
    },
    /// The witness belongs to a release with another protocol version.
    #[error(
        "--far-end: the witness of halfpower {program} speaks version {protocol}, and this halfpower {} speaks \
         {PROTOCOL}; install one release at both ends",
        env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// The witness's protocol version.
        protocol: u32,
        /// The witness's release.
        program: String,
    },
    /// The user interrupted the program (SIGINT, SIGTERM).
    #[error("interrupted")]
    Interrupted,
    /// The witness could not do what was asked.
    #[error("--far-end: the witness says: {said}")]
    Refused {
        /// Why.
        said: String,
    },
}

/// Characters shown of an answer.
const SHOWN: usize = 80;
/// Characters shown of a reason.
const SHOWN_OF_REASON: usize = 500;

/// The beginning of an answer, in printable characters.
pub(crate) fn shown(said: &[u8]) -> String {
    begins(&String::from_utf8_lossy(said), SHOWN)
}

/// A reason, in printable characters.
pub(crate) fn shown_whole(said: &str) -> String {
    begins(said, SHOWN_OF_REASON)
}

fn begins(text: &str, most: usize) -> String {
    let dots = if text.chars().count() > most { "..." } else { "" };
    let begins: String = text.chars().take(most).collect();
    format!("{}{dots}", begins.escape_debug())
}
