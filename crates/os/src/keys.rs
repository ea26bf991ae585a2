//! Hears the key `q` on the terminal of standard input while something runs, and leaves the terminal as it was.
//!
//! Keys come one by one only if the terminal neither waits for whole lines nor echoes. Its settings are given back when
//! the [`Keys`] are dropped, at the first signal that ends the process, and before the process stops (Ctrl-Z); after it
//! has continued, they are taken again. Nothing is touched unless the process is in front: elsewhere the terminal belongs to
//! somebody else.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, SpecialCodeIndex, Termios, tcgetpgrp};
use signal_hook::consts::SIGCONT;

use crate::terminal_settings::{Unread, are_held, give_back, give_back_at_signals, hold, is_in_front, set};

/// Pause before standard input is looked at again where it has something that is not for this process.
const NOT_OURS: Duration = Duration::from_millis(500);

/// Hears `q` while it lives.
pub struct Keys {
    stop: Arc<AtomicBool>,
    continued: Arc<AtomicBool>,
    listening: Once,
}

impl Keys {
    /// Prepares to set `stop` at the key `q`; [`Self::hold`] begins.
    ///
    /// # Errors
    /// If the kernel refuses a signal handler.
    pub fn new(stop: &Arc<AtomicBool>) -> io::Result<Self> {
        let continued = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGCONT, Arc::clone(&continued))?;
        give_back_at_signals()?;
        Ok(Self { stop: Arc::clone(stop), continued, listening: Once::new() })
    }

    /// Lets keys come one by one, if standard input is a terminal, this process is in front, and nobody has asked it to
    /// stop. Returns whether `q` is heard.
    pub fn hold(&self) -> bool {
        if are_held() {
            return true;
        }
        let may_hold = !self.stop.load(Ordering::SeqCst) && is_in_front(terminal());
        if !may_hold || !hold(terminal(), one_by_one, Unread::Stays) {
            return false;
        }
        self.listening.call_once(|| listen(&self.stop));
        true
    }

    /// Whether the process has been stopped and continued since the last call. If it could not give the terminal back
    /// before (SIGSTOP), a shell may have changed the settings meanwhile: they are taken again.
    pub fn was_continued(&self) -> bool {
        let was_continued = self.continued.swap(false, Ordering::SeqCst);
        if was_continued && are_held() && is_in_front(terminal()) {
            set(terminal(), one_by_one);
        }
        was_continued
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        give_back();
    }
}

/// Whether standard error is this process's terminal, but another process is in front.
pub fn is_behind() -> bool {
    // SAFETY: the descriptor is only asked, and is open for as long as the process lives.
    let shown = unsafe { BorrowedFd::borrow_raw(libc::STDERR_FILENO) };
    tcgetpgrp(shown).is_ok_and(|front| front != getpgrp())
}

fn terminal() -> BorrowedFd<'static> {
    // SAFETY: Rust opens the three standard descriptors if they are closed, and nothing here closes them.
    unsafe { BorrowedFd::borrow_raw(libc::STDIN_FILENO) }
}

/// Sets that keys come one by one and unseen.
fn one_by_one(settings: &mut Termios) {
    settings.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
}

/// Starts the thread that waits for keys, asleep until one comes. Without it, `q` does nothing, and Ctrl-C still ends.
fn listen(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    let hear = move || {
        while !is_q_pressed() {}
        give_back();
        stop.store(true, Ordering::SeqCst);
    };
    std::thread::Builder::new().name("keys".to_string()).spawn(hear).ok();
}

/// Waits for a key; returns whether it was `q`. Never returns if no more keys will come.
fn is_q_pressed() -> bool {
    let input = terminal();
    let mut waited = [PollFd::new(&input, PollFlags::IN)];
    match poll(&mut waited, None) {
        Ok(_) => {}
        Err(Errno::INTR) => return false,
        Err(_) => wait_forever(),
    }
    if !are_held() || !is_in_front(input) {
        std::thread::sleep(NOT_OURS);
        return false;
    }
    let mut keys = [0u8; 16];
    match rustix::io::read(input, &mut keys) {
        // The terminal is gone.
        Ok(0) => wait_forever(),
        Ok(count) => keys[..count].iter().any(|key| key.eq_ignore_ascii_case(&b'q')),
        Err(Errno::INTR | Errno::AGAIN) => false,
        Err(_) => wait_forever(),
    }
}

fn wait_forever() -> ! {
    loop {
        std::thread::park();
    }
}
