//! Starts a server as a user without privileges, and ends it, whatever happens.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::disks::Disk;

/// How often it is looked whether a server has begun or ended, and how many times.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS: u32 = 600;

/// A server that ends with this value.
pub struct Server {
    child: Child,
    log: PathBuf,
    /// The signal at which it ends in order.
    signal: &'static str,
}

impl Server {
    /// Starts these words of a shell as this user, behind the limits of the disk, and waits until it is ready.
    ///
    /// # Errors
    /// What it printed, if it does not start.
    pub fn start(
        disk: &Disk,
        user: &str,
        words: &str,
        signal: &'static str,
        is_ready: impl Fn() -> bool,
    ) -> Result<Self, String> {
        let log = disk.kept("server.log");
        let file = File::create(&log).map_err(|error| error.to_string())?;
        let mut command = disk.shell(&as_user(user, words));
        command.stdout(file.try_clone().map_err(|error| error.to_string())?).stderr(file);
        let child = command.spawn().map_err(|error| error.to_string())?;
        let mut server = Self { child, log, signal };
        for _ in 0..LOOKS {
            if is_ready() {
                return Ok(server);
            }
            if !matches!(server.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(LOOK);
        }
        Err(format!("{words}: {}", server.printed()))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn printed(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        if ended(&mut self.child) {
            return;
        }
        let _ = Command::new("kill").arg(self.signal).arg(self.id().to_string()).stderr(Stdio::null()).status();
        for _ in 0..LOOKS {
            if ended(&mut self.child) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Words of a shell that run others as this user, without any group of root.
pub fn as_user(user: &str, words: &str) -> String {
    format!("setpriv --reuid={user} --regid=\"$(id -g {user})\" --clear-groups {words}")
}
