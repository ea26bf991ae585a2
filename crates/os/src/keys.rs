//! Hears the key `q` on the terminal of standard input while something runs, and leaves the terminal as it was.
//!
//! Keys come one by one only if the terminal neither waits for whole lines nor echoes. Its settings are given back when
//! the [`Keys`] are dropped, at the first signal that ends the process, and before the process stops (Ctrl-Z); after it
//! has continued, they are taken again. Only the four settings that were changed are put back. Nothing is touched unless
//! the process is in front: elsewhere the terminal belongs to somebody else.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use signal_hook::consts::SIGCONT;

use crate::interrupt::asks_to_end;

/// The settings before they were changed, as [`packed`] makes them; 0 while they are not changed.
static CHANGED: AtomicU32 = AtomicU32::new(0);
const IS_CHANGED: u32 = 1 << 31;
const CANONICAL: u32 = 1 << 16;
const ECHOING: u32 = 1 << 17;

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
        for signal in asks_to_end() {
            // SAFETY: `give_back` reads atomics and makes system calls alone, which a signal handler may.
            let registered = unsafe { signal_hook::low_level::register(signal, give_back) };
            registered?;
        }
        Ok(Self { stop: Arc::clone(stop), continued, listening: Once::new() })
    }

    /// Lets keys come one by one, if standard input is a terminal, this process is in front, and nobody has asked it to
    /// stop. Returns whether `q` is heard.
    pub fn hold(&self) -> bool {
        if CHANGED.load(Ordering::SeqCst) != 0 {
            return true;
        }
        if self.stop.load(Ordering::SeqCst) || !is_in_front() {
            return false;
        }
        let Ok(mut settings) = tcgetattr(terminal()) else { return false };
        let before = packed(&settings);
        CHANGED.store(before, Ordering::SeqCst);
        if !take(&mut settings) {
            CHANGED.store(0, Ordering::SeqCst);
            return false;
        }
        handle_stops(true);
        if CHANGED.load(Ordering::SeqCst) == 0 {
            // A signal that came in between has given back what was not yet taken.
            put_back(before);
            return false;
        }
        self.listening.call_once(|| listen(&self.stop));
        true
    }

    /// Whether the process has been stopped and continued since the last call. If it could not give the terminal back
    /// before (SIGSTOP), a shell may have changed the settings meanwhile: they are taken again.
    pub fn was_continued(&self) -> bool {
        let was_continued = self.continued.swap(false, Ordering::SeqCst);
        if was_continued && CHANGED.load(Ordering::SeqCst) != 0 && is_in_front() {
            let _ = tcgetattr(terminal()).map(|mut settings| take(&mut settings));
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

/// Whether standard input is this process's terminal, and this process is in front.
fn is_in_front() -> bool {
    tcgetpgrp(terminal()).is_ok_and(|front| front == getpgrp())
}

fn terminal() -> BorrowedFd<'static> {
    // SAFETY: Rust opens the three standard descriptors if they are closed, and nothing here closes them.
    unsafe { BorrowedFd::borrow_raw(libc::STDIN_FILENO) }
}

/// Sets that keys come one by one and unseen; returns whether the terminal took it.
fn take(settings: &mut Termios) -> bool {
    settings.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(terminal(), OptionalActions::Now, settings).is_ok()
}

/// The settings that [`take`] changes.
fn packed(settings: &Termios) -> u32 {
    let code = |index: SpecialCodeIndex| settings.special_codes[index];
    let has = |mode: LocalModes, bit: u32| if settings.local_modes.contains(mode) { bit } else { 0 };
    let codes = u32::from_le_bytes([code(SpecialCodeIndex::VTIME), code(SpecialCodeIndex::VMIN), 0, 0]);
    IS_CHANGED | has(LocalModes::ICANON, CANONICAL) | has(LocalModes::ECHO, ECHOING) | codes
}

/// Sets the settings that [`packed`] has kept.
fn unpack(before: u32, settings: &mut Termios) {
    let [wait, least, ..] = before.to_le_bytes();
    settings.local_modes.set(LocalModes::ICANON, before & CANONICAL != 0);
    settings.local_modes.set(LocalModes::ECHO, before & ECHOING != 0);
    settings.special_codes[SpecialCodeIndex::VMIN] = least;
    settings.special_codes[SpecialCodeIndex::VTIME] = wait;
}

/// Gives the terminal back, once. A signal handler may call it.
fn give_back() {
    let before = CHANGED.swap(0, Ordering::SeqCst);
    if before != 0 {
        handle_stops(false);
        if is_in_front() {
            put_back(before);
        }
    }
}

fn put_back(before: u32) {
    if let Ok(mut settings) = tcgetattr(terminal()) {
        unpack(before, &mut settings);
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(terminal(), OptionalActions::Now, &settings);
    }
}

/// Gives the terminal back before the process stops, as its default action then does.
extern "C" fn on_stop(_signal: libc::c_int) {
    give_back();
    // SAFETY: a signal handler may call it. The signal is blocked until this handler returns; then it stops the process,
    // or is lost where nobody could continue it.
    unsafe { libc::raise(libc::SIGTSTP) };
}

/// Sets [`on_stop`] in the place of the default action at SIGTSTP, or removes it. An action that somebody else has set, or
/// that SIGTSTP is ignored, stays.
fn handle_stops(is_ours: bool) {
    let own = on_stop as extern "C" fn(libc::c_int) as *const () as libc::sighandler_t;
    let [expected, wanted] = if is_ours { [libc::SIG_DFL, own] } else { [own, libc::SIG_DFL] };
    // SAFETY: zeroed, both are valid values of the C structure; the calls read and write these alone, the handler is a
    // function of the right type, and signal handlers may make the calls.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGTSTP, std::ptr::null(), &raw mut now) != 0 || now.sa_sigaction != expected {
            return;
        }
        let mut then: libc::sigaction = std::mem::zeroed();
        then.sa_sigaction = wanted;
        then.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGTSTP, &raw const then, std::ptr::null_mut());
    }
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
    if CHANGED.load(Ordering::SeqCst) == 0 || !is_in_front() {
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
