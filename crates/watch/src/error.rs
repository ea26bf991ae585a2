//! Defines why nothing can be watched, in one sentence each.

/// Why a watch cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Of the processes that were named none is there.
    #[error("{asked}: there is no such process; `ps -e` lists those that run")]
    NoProcess {
        /// What was asked for.
        asked: String,
    },
    /// The control group is not there.
    #[error("{asked}: there is no such control group; `systemd-cgls` or `ls /sys/fs/cgroup` lists them")]
    NoGroup {
        /// What was asked for.
        asked: String,
    },
    /// There is no such disk.
    #[error("{asked}: there is no such block device; `lsblk` lists them")]
    NoDisk {
        /// What was asked for.
        asked: String,
    },
    /// The kernel's trace can no longer be read.
    #[error("{asked} can no longer be watched: {error}")]
    Trace {
        /// What was asked for.
        asked: String,
        /// What the system refused.
        error: halfpower_os::OsError,
    },
}
