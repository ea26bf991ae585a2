//! Starts a command that waits before its first instruction, so that it can be watched from its beginning.

use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::{self, JoinHandle};

/// A started command that waits to be let go. Dropping it ends the process, which then has done nothing.
#[derive(Debug)]
pub struct HeldCommand {
    id: u32,
    go: PipeWriter,
    started: JoinHandle<io::Result<Child>>,
}

impl HeldCommand {
    /// Starts a process for `command`, which waits before it becomes that program. It has the input and the outputs that
    /// `command` names.
    ///
    /// # Errors
    /// If no process can be started.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let (mut told, tell) = io::pipe()?;
        let (wait, go) = io::pipe()?;
        let ends = Ends { tell: tell.as_raw_fd(), wait: wait.as_raw_fd(), go: go.as_raw_fd() };
        // SAFETY: between fork and exec, `held` makes system calls alone: it allocates nothing and takes no lock. The
        // descriptors stay open in this process until the child was forked.
        unsafe {
            command.pre_exec(move || held(ends));
        }
        // `spawn` returns only once the child has become the program.
        let spawn = move || {
            let child = command.spawn();
            drop((tell, wait));
            child
        };
        let started = thread::Builder::new().name("command".to_string()).spawn(spawn)?;
        let mut id = [0; 4];
        match told.read_exact(&mut id) {
            Ok(()) => Ok(Self { id: u32::from_ne_bytes(id), go, started }),
            // Nobody tells anything if no child was forked.
            Err(error) => {
                drop(go);
                Err(joined(started).err().unwrap_or(error))
            }
        }
    }

    /// Its process ID, which stays the same.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Lets it become the program.
    ///
    /// # Errors
    /// If the program cannot be executed.
    pub fn let_go(mut self) -> io::Result<Child> {
        let gone = self.go.write_all(&[1]);
        let child = joined(self.started)?;
        gone.map(|()| child)
    }
}

/// Whether a child of this process has ended. It is not waited for, so that the kernel still tells what it used.
///
/// # Errors
/// If it was waited for already.
pub fn has_ended(child: &Child) -> io::Result<bool> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), look)?.is_some())
}

/// Asks a child of this process to end (SIGTERM).
///
/// # Errors
/// If it has ended and was waited for.
pub fn ask_to_end(child: &Child) -> io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    Ok(kill_process(Pid::from_child(child), Signal::TERM)?)
}

/// The descriptors of both pipes that the child uses.
#[derive(Debug, Clone, Copy)]
struct Ends {
    tell: RawFd,
    wait: RawFd,
    go: RawFd,
}

/// Tells the process ID, and waits for a byte. The end of the pipe without one is an error, which ends the child.
fn held(ends: Ends) -> io::Result<()> {
    let id = std::process::id().to_ne_bytes();
    let mut word = 0_u8;
    // SAFETY: the descriptors are this process's copies of open ones, and `id` and `word` are as long as is said.
    unsafe {
        // With this end open, the parent's death would not be seen.
        libc::close(ends.go);
        if libc::write(ends.tell, id.as_ptr().cast(), id.len()) != id.len() as isize {
            return Err(io::Error::last_os_error());
        }
        loop {
            match libc::read(ends.wait, (&raw mut word).cast(), 1) {
                1 => return Ok(()),
                0 => return Err(io::Error::from_raw_os_error(libc::ECANCELED)),
                _ => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
    }
}

fn joined(started: JoinHandle<io::Result<Child>>) -> io::Result<Child> {
    started.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts the command has panicked")))
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    #[test]
    fn it_does_nothing_before_it_is_let_go_and_keeps_its_process() {
        let held = HeldCommand::start(shell("echo $$")).unwrap();
        let id = held.id();
        let program = std::fs::read_link(format!("/proc/{id}/exe")).unwrap();
        assert_eq!(program, std::env::current_exe().unwrap(), "it is still a copy of this process");
        let output = held.let_go().unwrap().wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), id.to_string());
    }

    #[test]
    fn what_is_not_let_go_ends_without_having_run() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        let HeldCommand { go, started, .. } = HeldCommand::start(shell(&format!("echo > {}", mark.display()))).unwrap();
        drop(go);
        assert_eq!(joined(started).unwrap_err().raw_os_error(), Some(libc::ECANCELED));
        assert!(!mark.exists());
    }

    #[test]
    fn it_ends_when_it_is_asked_to() {
        use std::os::unix::process::ExitStatusExt;
        let mut child = HeldCommand::start(shell("exec sleep 60")).unwrap().let_go().unwrap();
        assert!(!has_ended(&child).unwrap());
        ask_to_end(&child).unwrap();
        while !has_ended(&child).unwrap() {
            thread::yield_now();
        }
        assert!(has_ended(&child).unwrap(), "it was not waited for");
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let held = HeldCommand::start(Command::new("/nowhere/program")).unwrap();
        assert_eq!(held.let_go().unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
