//! Turns signals into what the program can act on: a flag that asks for an end, and errors in place of a kill.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// A flag that becomes true at the first SIGINT, SIGTERM, SIGHUP or SIGQUIT; a second one ends the process at once.
///
/// # Errors
/// Where the kernel refuses a signal handler.
pub fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// From here on a write beyond the process's limit on file sizes (`ulimit -f`) is an error, as one without room is, and
/// no longer the end of the process.
///
/// # Errors
/// Where the kernel refuses a signal handler.
pub fn refuse_large_files_by_error() -> io::Result<()> {
    // Any handler will do: the write then fails with EFBIG.
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}
