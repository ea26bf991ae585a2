//! Converts signals into events that the program can handle: a stop flag, calls that resume after other signals, and
//! errors instead of a kill.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// The first flag that was handed out.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The signals that ask this process to end: those of SIGINT, SIGTERM, SIGHUP and SIGQUIT that are not ignored. `nohup` lets
/// SIGHUP be ignored, and a shell without job control SIGINT and SIGQUIT for what it runs in the background; that stays so.
pub(crate) fn asks_to_end() -> impl Iterator<Item = i32> {
    [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|signal| !is_ignored(*signal))
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: zeroed, the C structure is a valid value; the call only writes the present action to it.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Returns a flag that becomes true at the first SIGINT, SIGTERM, SIGHUP or SIGQUIT; a second one ends the process at
/// once. One that was ignored when the process began stays so.
///
/// # Errors
/// If the kernel refuses a signal handler.
pub fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in asks_to_end() {
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    let _ = STOP.set(Arc::clone(&stop));
    Ok(stop)
}

/// The flag that [`stop_flag`] handed out first; if it has handed out none, one that stays false.
pub fn handed_out() -> Arc<AtomicBool> {
    STOP.get().map(Arc::clone).unwrap_or_default()
}

/// Whether [`stop_flag`] has handed out a flag. A signal handler may call it.
pub(crate) fn has_handed_out() -> bool {
    STOP.get().is_some()
}

/// Repeats a call that was interrupted (EINTR) by a signal, by a stop and continue of the process, or by the kernel's
/// work for a ring of this thread. Returns EINTR only if the user has asked to stop meanwhile.
///
/// # Errors
/// Any error of the call.
pub fn resumed<T, E: Into<io::Error>>(call: impl FnMut() -> Result<T, E>) -> io::Result<T> {
    resumed_unless(call, || STOP.get().is_some_and(|stop| stop.load(Ordering::Relaxed)))
}

fn resumed_unless<T, E: Into<io::Error>>(
    mut call: impl FnMut() -> Result<T, E>,
    stops: impl Fn() -> bool,
) -> io::Result<T> {
    loop {
        match call().map_err(Into::into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted && !stops() => {}
            other => return other,
        }
    }
}

/// Makes a write beyond the process's file size limit (`ulimit -f`) fail with an error, as a full disk does, instead of
/// killing the process.
///
/// # Errors
/// If the kernel refuses a signal handler.
pub fn refuse_large_files_by_error() -> io::Result<()> {
    // Any handler suffices: the write then fails with EFBIG.
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn an_interrupted_call_is_made_again_until_it_is_done_or_the_user_has_enough() {
        let calls = std::cell::Cell::new(0);
        let interrupted_until = |last: u32, outcome: Result<u32, Errno>| {
            calls.set(0);
            let calls = &calls;
            move || {
                calls.set(calls.get() + 1);
                if calls.get() < last { Err(Errno::INTR) } else { outcome }
            }
        };
        assert_eq!(resumed(interrupted_until(4, Ok(7))).unwrap(), 7);
        assert_eq!(calls.get(), 4);
        let failed = resumed(interrupted_until(3, Err(Errno::NOSPC))).unwrap_err();
        assert_eq!((failed.raw_os_error(), calls.get()), (Some(libc::ENOSPC), 3));
        let stopped = resumed_unless(interrupted_until(u32::MAX, Ok(7)), || calls.get() == 2).unwrap_err();
        assert_eq!((stopped.raw_os_error(), calls.get()), (Some(libc::EINTR), 2));
    }
}
