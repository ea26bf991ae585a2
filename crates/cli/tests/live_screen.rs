//! Checks on a terminal of its own that a running study shows its screen in place, that `q` ends it with what is known,
//! and that the terminal is then as it was.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::termios::LocalModes;

use crate::program::folder;
use crate::terminal::Terminal;

/// A study in virtual time that lasts for minutes of ours, as the leader of a session on this terminal.
fn study_on(terminal: &Terminal, here: &Path) -> Child {
    let disk = "sim:fixed=20us,rate=1GB/s,disks=8,noise=3%,jitter=10%";
    let words = ["study", disk, "--bs", "64KiB,256KiB,1MiB", "--budget", "600m"];
    let mut command = terminal.leader(here, &words);
    command.env("TERM", "xterm").env_remove("NO_COLOR").stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn q_ends_a_study_with_what_is_known_and_the_terminal_is_as_it_was() {
    let Some(terminal) = Terminal::new() else { return };
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
    let Some(terminal) = Terminal::new() else { return };
    let before = terminal.settings();
    let here = folder();
    let mut child = study_on(&terminal, here.path());
    terminal.await_text("q ends it", &mut child);
    (&terminal.person).write_all(b"\x03").unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{}", terminal.shown());
    assert_eq!(terminal.settings(), before);
}
