//! Starts the command that is to be watched: it waits until the watch has begun, and is waited for.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use halfpower_os::HeldCommand;
use halfpower_spec::{masked, shell_word};
use halfpower_watch::Asked;

/// How long a command may take to end by itself, after the user asked for an end, before it is asked again.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The command that was watched failed. This is not an error of the watch, but gives its own exit code.
#[derive(Debug)]
pub struct CommandFailed(String);

impl CommandFailed {
    pub(super) fn new(status: ExitStatus) -> Self {
        Self(how(status))
    }
}

impl fmt::Display for CommandFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the command that was watched ended with {}", self.0)
    }
}

impl std::error::Error for CommandFailed {}

/// How a process ended, such as `exit code 0`.
pub(super) fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown state".to_string(),
    }
}

/// A command that the watch has started.
pub(super) struct Started {
    /// Its words as a shell takes them, without secrets.
    shown: String,
    id: u32,
    state: State,
}

enum State {
    Held(HeldCommand),
    Runs(Child),
    Ended(ExitStatus),
    /// It could not be let go.
    Gone,
}

impl Started {
    /// Starts the command, which waits before its first instruction. Its input and outputs are ours.
    pub fn held(words: &[OsString]) -> Result<Self> {
        let (program, arguments) = words.split_first().expect("the parser asks for one word");
        if program.is_empty() {
            bail!("the command has no name; write it after --, such as -- pgbench -T 60");
        }
        let words: Vec<String> = words.iter().map(shell_word).collect();
        let shown = masked(&words.join(" ")).into_owned();
        let mut command = Command::new(program);
        command.args(arguments);
        let held = HeldCommand::start(command).with_context(|| format!("{shown}: it cannot be started"))?;
        Ok(Self { shown, id: held.id(), state: State::Held(held) })
    }

    /// It and all that it will start.
    pub fn asked(&self) -> Asked {
        Asked::Processes { asked: self.shown.clone(), pids: vec![self.id], with_children: true }
    }

    /// Lets it begin.
    pub fn let_go(&mut self) -> Result<()> {
        if let State::Held(held) = std::mem::replace(&mut self.state, State::Gone) {
            let child = held.let_go().with_context(|| format!("{}: it cannot be started", self.shown))?;
            self.state = State::Runs(child);
        }
        Ok(())
    }

    /// Whether it has ended. It is not waited for: until then the kernel tells the watch what it used.
    pub fn has_ended(&self) -> Result<bool> {
        Ok(match &self.state {
            State::Runs(child) => halfpower_os::has_ended(child)?,
            State::Ended(_) => true,
            State::Held(_) | State::Gone => false,
        })
    }

    /// How it ended; `None` while it runs.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let ended = match &mut self.state {
            State::Runs(child) => child.try_wait()?,
            State::Ended(status) => return Ok(Some(*status)),
            State::Held(_) | State::Gone => None,
        };
        if let Some(status) = ended {
            self.state = State::Ended(status);
        }
        Ok(ended)
    }

    /// Waits for its end. Once the user wishes to stop, it is asked to end if it does not by itself: a terminal sends Ctrl-C
    /// to it as well, and other signals reach the watch alone.
    pub fn wait(&mut self, stop: &AtomicBool) -> Result<ExitStatus> {
        let mut asked_to_end = None;
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            let State::Runs(child) = &self.state else { bail!("{}: it was not started", self.shown) };
            if stop.load(Ordering::Relaxed) {
                let since = *asked_to_end.get_or_insert_with(Instant::now);
                if since.elapsed() >= PATIENCE {
                    halfpower_os::ask_to_end(child)?;
                    asked_to_end = Some(Instant::now());
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Says that the watch is over and the command is not.
    pub fn tell_that_it_goes_on(&self) {
        crate::tell::tell!(
            "halfpower: the watch is over; {} (process {}) goes on and is waited for, Ctrl-C ends it",
            name(&self.shown),
            self.id
        );
    }
}

/// The name of its program.
fn name(shown: &str) -> &str {
    let program = shown.split(' ').next().unwrap_or(shown);
    Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(words: &[&str]) -> Started {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        Started::held(&words).unwrap()
    }

    #[test]
    fn it_begins_when_it_is_let_go_and_its_end_is_told() {
        let mut started = started(&["sh", "-c", "exit 3"]);
        let id = started.id;
        assert!(matches!(started.asked(), Asked::Processes { pids, with_children: true, .. } if pids == [id]));
        assert_eq!(started.ended().unwrap(), None);
        started.let_go().unwrap();
        let status = started.wait(&AtomicBool::new(false)).unwrap();
        assert_eq!(how(status), "exit code 3");
        assert_eq!(started.ended().unwrap(), Some(status));
        assert_eq!(CommandFailed::new(status).to_string(), "the command that was watched ended with exit code 3");
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        let mut started = started(&["/nowhere/program", "--password", "x"]);
        let said = format!("{:#}", started.let_go().unwrap_err());
        assert!(said.starts_with("/nowhere/program") && said.contains("cannot be started"), "{said}");
        assert!(started.wait(&AtomicBool::new(false)).is_err());
        assert_eq!(name("/usr/bin/sh -c 'exit 3'"), "sh");
    }
}
