//! Changes settings of a terminal for a while, and gives them back: when told to, at the first signal that ends the process, and
//! before the process stops (Ctrl-Z).
//!
//! Only the four settings that [`packed`] keeps are put back, and nothing is while another process is in front: then the
//! terminal belongs to somebody else.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetpgrp, tcsetattr,
};
use signal_hook::low_level::emulate_default_handler;

use crate::interrupt::{asks_to_end, has_handed_out};

/// The settings before they were changed, as [`packed`] makes them; 0 while they are not changed.
static CHANGED: AtomicU32 = AtomicU32::new(0);
/// The descriptor of the terminal whose settings these are.
static TERMINAL: AtomicI32 = AtomicI32::new(libc::STDIN_FILENO);
const IS_CHANGED: u32 = 1 << 31;
const CANONICAL: u32 = 1 << 16;
const ECHOING: u32 = 1 << 17;
const DISCARDS: u32 = 1 << 18;

/// A change of settings: of the local modes ICANON and ECHO, and of the codes VMIN and VTIME alone.
pub(crate) type Change = fn(&mut Termios);

/// What becomes of what was typed and not read, when the settings are given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The next reader of the terminal gets it.
    Stays,
    /// Nobody gets it.
    IsDiscarded,
}

/// Lets each signal that asks the process to end give the settings back first. Where no flag is to be told of it, the process
/// then ends, as it would have.
///
/// # Errors
/// If the kernel refuses a signal handler.
pub(crate) fn give_back_at_signals() -> io::Result<()> {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if REGISTERED.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    for signal in asks_to_end() {
        let end = move || {
            give_back();
            if !has_handed_out() {
                let _ = emulate_default_handler(signal);
            }
        };
        // SAFETY: the action reads atomics and makes system calls alone, which a signal handler may.
        let registered = unsafe { signal_hook::low_level::register(signal, end) };
        registered?;
    }
    Ok(())
}

/// Changes the settings of this terminal until [`give_back`]; it has to stay open until then. Returns whether the terminal took
/// the change, and no signal has taken it back meanwhile.
pub(crate) fn hold(terminal: BorrowedFd<'_>, change: Change, unread: Unread) -> bool {
    let Ok(settings) = tcgetattr(terminal) else { return false };
    let discards = if unread == Unread::IsDiscarded { DISCARDS } else { 0 };
    let before = packed(&settings) | discards;
    TERMINAL.store(terminal.as_raw_fd(), Ordering::SeqCst);
    CHANGED.store(before, Ordering::SeqCst);
    if !set(terminal, change) {
        CHANGED.store(0, Ordering::SeqCst);
        return false;
    }
    handle_stops(true);
    if CHANGED.load(Ordering::SeqCst) == 0 {
        // A signal that came in between has given back what was not yet taken.
        put_back(before);
        return false;
    }
    true
}

/// Changes the settings again, which somebody else may have set while they were held; returns whether the terminal took it.
pub(crate) fn set(terminal: BorrowedFd<'_>, change: Change) -> bool {
    let Ok(mut settings) = tcgetattr(terminal) else { return false };
    change(&mut settings);
    tcsetattr(terminal, OptionalActions::Now, &settings).is_ok()
}

/// Whether settings are held.
pub(crate) fn are_held() -> bool {
    CHANGED.load(Ordering::SeqCst) != 0
}

/// Whether this is the process's terminal, and the process is in front.
pub(crate) fn is_in_front(terminal: BorrowedFd<'_>) -> bool {
    tcgetpgrp(terminal).is_ok_and(|front| front == getpgrp())
}

/// Gives the terminal back, once. A signal handler may call it.
pub(crate) fn give_back() {
    let before = CHANGED.swap(0, Ordering::SeqCst);
    if before != 0 {
        handle_stops(false);
        if is_in_front(held()) {
            put_back(before);
        }
    }
}

fn held() -> BorrowedFd<'static> {
    // SAFETY: standard input is open, and who holds another terminal gives it back before it is closed.
    unsafe { BorrowedFd::borrow_raw(TERMINAL.load(Ordering::SeqCst)) }
}

fn put_back(before: u32) {
    if before & DISCARDS != 0 {
        let _ = tcflush(held(), QueueSelector::IFlush);
    }
    if let Ok(mut settings) = tcgetattr(held()) {
        unpack(before, &mut settings);
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(held(), OptionalActions::Now, &settings);
    }
}

/// The settings that a [`Change`] changes.
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
