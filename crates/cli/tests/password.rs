//! Checks that the question for a password can be answered and left, and that the terminal is then as it was.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::LocalModes;

use crate::program::folder;
use crate::terminal::Terminal;

/// A server that nobody runs: the question comes before it is asked for anything.
const SHARE: &str = "smb://ann@127.0.0.1:9/share";
const QUESTION: &str = "Password of ann for smb://127.0.0.1:9/share: ";

/// A command that has asked for the password.
fn asked_by(terminal: &Terminal, here: &Path, words: &[&str]) -> Child {
    let mut command = terminal.leader(here, words);
    command.env_remove("HALFPOWER_SMB_PASSWORD").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    terminal.await_text(QUESTION, &mut child);
    let (modes, _) = terminal.settings();
    assert!(!modes.contains(LocalModes::ECHO) && modes.contains(LocalModes::ICANON | LocalModes::ISIG), "{modes:?}");
    child
}

/// Its exit code, and what it said of its end.
fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_password_is_taken_unseen() {
    let Some(terminal) = Terminal::new() else { return };
    let before = terminal.settings();
    let here = folder();
    let child = asked_by(&terminal, here.path(), &["run", SHARE, "--size", "1MiB"]);
    (&terminal.person).write_all(b"hushed\n").unwrap();
    let (code, said) = ended(child);
    // It was tried, and nobody was there.
    assert!(code == Some(2) && said.contains("127.0.0.1") && !said.contains("password"), "{said}");
    assert!(!terminal.shown().contains("hushed"), "{}", terminal.shown());
    assert_eq!(terminal.settings(), before);
}

#[test]
fn one_ctrl_c_leaves_the_question_and_the_terminal_is_as_it_was() {
    // A probe has no measurement to end: the signal ends it.
    for (words, code) in [(&["run", SHARE, "--size", "1MiB"][..], Some(2)), (&["probe", SHARE], None)] {
        for typed in ["\x03", "hush\x03", "\x1a\x03"] {
            let Some(terminal) = Terminal::new() else { return };
            let before = terminal.settings();
            let here = folder();
            let child = asked_by(&terminal, here.path(), words);
            (&terminal.person).write_all(typed.as_bytes()).unwrap();
            let (ended_by, said) = ended(child);
            assert_eq!(terminal.settings(), before, "{words:?}, {typed:?}");
            assert_eq!(ended_by, code, "{words:?}, {typed:?}: {said}");
            assert_eq!(said.contains("no password was given for ann"), code.is_some(), "{words:?}, {typed:?}: {said}");
            assert!(!terminal.shown().contains("hush"), "{}", terminal.shown());
        }
    }
}

#[test]
fn other_signals_give_the_terminal_back_too() {
    for signal in [Signal::TERM, Signal::HUP] {
        let Some(terminal) = Terminal::new() else { return };
        let before = terminal.settings();
        let here = folder();
        let child = asked_by(&terminal, here.path(), &["run", SHARE, "--size", "1MiB"]);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let (code, said) = ended(child);
        assert_eq!(code, Some(2), "{signal:?}: {said}");
        assert_eq!(terminal.settings(), before, "{signal:?}");
    }
}
