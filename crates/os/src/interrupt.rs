//! Holds the flag that SIGINT, SIGTERM, SIGHUP and SIGQUIT set, and that the window looks at.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
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
