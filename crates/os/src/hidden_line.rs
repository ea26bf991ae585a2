//! Asks on the terminal for a line that is not shown while it is typed, such as a password.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, QueueSelector, Termios, tcflush, tcgetattr};

use crate::interrupt::handed_out;
use crate::terminal_settings::{Unread, are_held, give_back, give_back_at_signals, hold, set};

/// Most bytes that the kernel's terminal makes one line of (N_TTY_BUF_SIZE of Linux).
const MOST: usize = 4096;
/// Time between two looks at whether the user wants the process to end.
const LOOKS: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Asks on the terminal of the process, and returns the line without its end; `None` without a terminal, or without an answer.
/// Where the process is in the background, it stops until it is in front. The terminal is then as it was, also after a signal
/// that ends the process, and while it is stopped.
///
/// # Errors
/// [`io::ErrorKind::Interrupted`] if the user asks the process to end meanwhile.
pub fn ask(prompt: &str) -> io::Result<Option<String>> {
    // Reading must not wait where a signal has taken back what was there to read.
    let flags = libc::O_NOCTTY | libc::O_NONBLOCK;
    let Ok(terminal) = File::options().read(true).write(true).custom_flags(flags).open("/dev/tty") else {
        return Ok(None);
    };
    if give_back_at_signals().is_err() {
        return Ok(None);
    }
    let answer = answer(&terminal, prompt, &handed_out());
    give_back();
    // The end of the line was not shown either.
    let _ = (&terminal).write_all(b"\n");
    answer
}

fn answer(terminal: &File, prompt: &str, stop: &AtomicBool) -> io::Result<Option<String>> {
    let asked_to_end = || stop.load(Ordering::SeqCst);
    let mut line = [0; MOST];
    loop {
        let hides = asked_to_end() || is_unseen(terminal) || takes(terminal, prompt);
        // A signal may have come meanwhile, and has then given the settings back.
        if asked_to_end() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if !hides {
            return Ok(None);
        }
        let mut waited = [PollFd::new(terminal, PollFlags::IN)];
        match poll(&mut waited, Some(&LOOKS)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return Ok(None),
        }
        match rustix::io::read(terminal, &mut line) {
            Ok(count) => return Ok(text_of(&line[..count])),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Ok(None),
        }
    }
}

/// The line without its end; `None` at the end of input, and for bytes that are no text.
fn text_of(line: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(line).ok().filter(|text| !text.is_empty())?;
    Some(text.trim_end_matches(['\n', '\r']).to_string())
}

/// Whether what is typed stays unseen. After the process was stopped and continued, it does not.
fn is_unseen(terminal: &File) -> bool {
    are_held() && tcgetattr(terminal).is_ok_and(|settings| !settings.local_modes.contains(LocalModes::ECHO))
}

/// Lets what is typed be unseen, and shows the prompt; returns whether the terminal took it.
fn takes(terminal: &File, prompt: &str) -> bool {
    // What was typed before is no answer. In the background, the kernel stops the process at this call until it is in front,
    // so that the settings that are kept are not those of a shell.
    let takes = tcflush(terminal, QueueSelector::IFlush).is_ok()
        && match are_held() {
            true => set(terminal.as_fd(), unseen),
            false => hold(terminal.as_fd(), unseen, Unread::IsDiscarded),
        };
    if takes {
        let mut shown = terminal;
        let _ = shown.write_all(prompt.as_bytes());
    }
    takes
}

fn unseen(settings: &mut Termios) {
    settings.local_modes.remove(LocalModes::ECHO);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_line_without_its_end() {
        for (line, told) in [
            (&b"secret\n"[..], Some("secret")),
            (b" se cret \r\n", Some(" se cret ")),
            (b"\n", Some("")),
            (b"secret", Some("secret")),
            (b"", None),
            (b"\xff\n", None),
        ] {
            assert_eq!(text_of(line).as_deref(), told, "{line:?}");
        }
    }
}
