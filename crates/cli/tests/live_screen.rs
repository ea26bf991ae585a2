//! Checks on a terminal of its own that a running study shows its screen in place, that `q` ends it with what is known,
//! and that the terminal is then as it was.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, SpecialCodeIndex, Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::program::{folder, of, skip};

/// A pseudoterminal: the side of the person before it, the side of programs, and what they wrote.
struct Terminal {
    person: File,
    programs: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn new() -> Self {
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
        Self { person, programs, shown }
    }

    fn settings(&self) -> (LocalModes, [u8; 2]) {
        let settings: Termios = tcgetattr(&self.programs).unwrap();
        let codes = [SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME].map(|code| settings.special_codes[code]);
        (settings.local_modes, codes)
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits until programs have written this.
    fn await_text(&self, text: &str, child: &mut Child) {
        while !self.shown().contains(text) {
            assert!(child.try_wait().unwrap().is_none(), "ended before it showed {text}: {}", self.shown());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

/// A study in virtual time that lasts for minutes of ours, as the leader of a session on this terminal.
fn study_on(terminal: &Terminal, here: &Path) -> Child {
    let words = ["--ctty", "--wait", env!("CARGO_BIN_EXE_halfpower"), "study"];
    let disk =
        ["sim:fixed=20us,rate=1GB/s,disks=8,noise=3%,jitter=10%", "--bs", "64KiB,256KiB,1MiB", "--budget", "600m"];
    let mut command = of("setsid", here, &[words.as_slice(), disk.as_slice()].concat());
    command.env("TERM", "xterm").env_remove("NO_COLOR").stdout(Stdio::piped());
    command.stdin(terminal.programs.try_clone().unwrap()).stderr(terminal.programs.try_clone().unwrap());
    command.spawn().unwrap()
}

#[test]
fn q_ends_a_study_with_what_is_known_and_the_terminal_is_as_it_was() {
    if !Path::new("/usr/bin/setsid").exists() {
        return skip("setsid is missing, which gives a terminal to a program");
    }
    let terminal = Terminal::new();
    let before = terminal.settings();
    let here = folder();
    let mut child = study_on(&terminal, here.path());
    terminal.await_text("HOW FAST", &mut child);
    let (modes, _) = terminal.settings();
    assert!(!modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO), "keys come one by one, unseen");
    assert!(modes.contains(LocalModes::ISIG), "Ctrl-C still ends it");
    assert!(terminal.shown().contains("q ends it") && terminal.shown().contains("why: "), "{}", terminal.shown());
    (&terminal.person).write_all(b"xq").unwrap();
    let ended = child.wait_with_output().unwrap();
    let (said, told) = (terminal.shown(), String::from_utf8_lossy(&ended.stdout).into_owned());
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(told.contains("UNFINISHED") && told.contains("HOW FAST") && !told.contains('\u{1b}'), "{told}");
    assert!(here.path().join("study.halfpower").exists() && !here.path().join("study.html").exists());
    assert_eq!(terminal.settings(), before);
}

#[test]
fn ctrl_c_gives_the_terminal_back_too() {
    if !Path::new("/usr/bin/setsid").exists() {
        return skip("setsid is missing, which gives a terminal to a program");
    }
    let terminal = Terminal::new();
    let before = terminal.settings();
    let here = folder();
    let mut child = study_on(&terminal, here.path());
    terminal.await_text("q ends it", &mut child);
    (&terminal.person).write_all(b"\x03").unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{}", terminal.shown());
    assert_eq!(terminal.settings(), before);
}
