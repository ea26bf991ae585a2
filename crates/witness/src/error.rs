//! Says why a far end has no witness, in one sentence each.

use std::io;
use std::time::Duration;

use crate::PROTOCOL;

/// Why there is no witness, or none any more.
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
    /// It was lost before.
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
        /// How long that was waited for.
        patience: Duration,
    },
    /// An answer is none.
    #[error(
        "--far-end: `{command}` answered `{said}`, which is no reply of a witness; it must start `halfpower witness` \
         and print nothing else"
    )]
    Garbage {
        /// The command.
        command: String,
        /// How that begins.
        said: String,
    },
    /// The witness is of a release that speaks otherwise.
    #[error(
        "--far-end: the witness of halfpower {program} speaks version {protocol}, and this halfpower {} speaks \
         {PROTOCOL}; install one release at both ends",
        env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// What it speaks.
        protocol: u32,
        /// Its release.
        program: String,
    },
    /// Somebody asked for an end (SIGINT, SIGTERM).
    #[error("interrupted")]
    Interrupted,
    /// The witness could not do what was asked.
    #[error("--far-end: the witness says: {said}")]
    Refused {
        /// Why.
        said: String,
    },
}

/// How many characters of an answer are shown.
const SHOWN: usize = 80;
/// How many characters of a reason.
const SHOWN_OF_REASON: usize = 500;

/// How an answer begins, printable.
pub(crate) fn shown(said: &[u8]) -> String {
    begins(&String::from_utf8_lossy(said), SHOWN)
}

/// A reason, printable.
pub(crate) fn shown_whole(said: &str) -> String {
    begins(said, SHOWN_OF_REASON)
}

fn begins(text: &str, most: usize) -> String {
    let dots = if text.chars().count() > most { "..." } else { "" };
    let begins: String = text.chars().take(most).collect();
    format!("{}{dots}", begins.escape_debug())
}
