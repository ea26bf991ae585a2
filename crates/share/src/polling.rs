//! Waits for sockets.

use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};

/// Waits for one of these sockets, for at most `time` and at most one second.
pub(crate) fn poll_for(sockets: &mut [PollFd<'_>], time: Option<Duration>) -> std::io::Result<()> {
    let time = time.unwrap_or(Duration::from_secs(1)).min(Duration::from_secs(1));
    let limit = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    match poll(sockets, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
