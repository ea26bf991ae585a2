//! Defines why a capture cannot be asked again on a real target, in one sentence each.

use std::io;
use std::path::PathBuf;

use halfpower_os::OsError;
use halfpower_spec::format::{size, thousands};

/// Why a capture cannot be asked again on a real target.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The target is no folder.
    #[error("{}: a replay lays out files of its own and touches no others; name a folder on the path", path.display())]
    NotAFolder {
        /// What was named.
        path: PathBuf,
    },
    /// The target is one file or device, and the capture is of several.
    #[error(
        "{} is one file or device, and the capture is of {}: name a folder on the path, in which files of our own are laid \
         out",
        path.display(),
        thousands(*files as f64)
    )]
    SeveralFiles {
        /// What was named.
        path: PathBuf,
        /// Files that operations are on.
        files: usize,
    },
    /// The target is shorter than what the capture reaches.
    #[error(
        "{} ends at {}, and what is asked of it reaches {}: name a file or device that is as long, or a folder",
        path.display(),
        size(*bytes as f64),
        size(*reached_bytes as f64)
    )]
    BeyondTheEnd {
        /// What was named.
        path: PathBuf,
        /// Where the last operation ends.
        reached_bytes: u64,
        /// Where the target ends.
        bytes: u64,
    },
    /// The capture has no operations.
    #[error("the capture holds no operations, so there is nothing to ask again")]
    Nothing,
    /// More lanes than threads are started.
    #[error(
        "the capture has {} lanes, and at most {} are asked again at once; capture fewer processes",
        thousands(*lanes as f64),
        thousands(*most as f64)
    )]
    TooManyLanes {
        /// Lanes with operations.
        lanes: usize,
        /// Most that are asked at once.
        most: usize,
    },
    /// More files than the process may open.
    #[error(
        "the capture needs {} open files, and this process may have {} (`ulimit -n`); raise that limit",
        thousands(*files as f64),
        thousands(*most as f64)
    )]
    TooManyFiles {
        /// Files and handles of them.
        files: u64,
        /// The limit.
        most: u64,
    },
    /// The files do not fit.
    #[error(
        "{} has no room for the files of the capture: {} are needed, {} are free; free some, or name another folder",
        path.display(),
        size(*wanted_bytes as f64),
        size(*free_bytes as f64)
    )]
    NoRoom {
        /// The folder.
        path: PathBuf,
        /// Bytes of the files, once they have grown.
        wanted_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
    },
    /// A file could not be written before the first round.
    #[error("{}: a file could not be laid out: {error}; name another folder", path.display())]
    LayOut {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The system refused something else.
    #[error(transparent)]
    Os(#[from] OsError),
    /// A thread could not be started.
    #[error("no thread can be started for each lane: {0}; allow more (`ulimit -u`)")]
    Thread(io::Error),
    /// The user ended it before the first round.
    #[error("interrupted while the files were laid out; nothing was measured")]
    Interrupted,
}
