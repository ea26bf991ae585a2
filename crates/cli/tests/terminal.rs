//! Makes a terminal of its own for a program, with a person before it.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, SpecialCodeIndex, Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::program::{of, skip};

/// A pseudoterminal: the side of the person before it, the side of programs, and what they wrote.
pub struct Terminal {
    pub person: File,
    programs: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// A new one; `None`, said as skipped, without the program that gives it to others.
    pub fn new() -> Option<Self> {
        if !Path::new("/usr/bin/setsid").exists() {
            skip("setsid is missing, which gives a terminal to a program");
            return None;
        }
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let name = ptsname(&person, Vec::<u8>::new()).unwrap();
        let name = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let programs = File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(name).unwrap();
        tcsetwinsize(&programs, Winsize { ws_row: 40, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let person = File::from(person);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut from, into) = (person.try_clone().unwrap(), Arc::clone(&shown));
        // Reading ends with an error when nobody has the other side open.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = from.read(&mut bytes) {
                into.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Some(Self { person, programs, shown })
    }

    /// A command for halfpower as the leader of a session on this terminal.
    pub fn leader(&self, here: &Path, words: &[&str]) -> Command {
        let begun = ["--ctty", "--wait", env!("CARGO_BIN_EXE_halfpower")];
        let mut command = of("setsid", here, &[&begun[..], words].concat());
        command.stdin(self.programs.try_clone().unwrap()).stderr(self.programs.try_clone().unwrap());
        command
    }

    /// Its local modes, and how many bytes a reader waits for, and how long.
    pub fn settings(&self) -> (LocalModes, [u8; 2]) {
        let settings: Termios = tcgetattr(&self.programs).unwrap();
        let codes = [SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME].map(|code| settings.special_codes[code]);
        (settings.local_modes, codes)
    }

    /// All that programs have written.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits until programs have written this.
    pub fn await_text(&self, text: &str, child: &mut Child) {
        while !self.shown().contains(text) {
            assert!(child.try_wait().unwrap().is_none(), "ended before it showed {text}: {}", self.shown());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
