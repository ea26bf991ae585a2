//! Kills a watch: its instance of tracefs and its note are gone after the next start of any command.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::program::skip;
use crate::subjects::{Running, idle};

/// Folder of the notes about changed settings.
const NOTES: &str = "/var/lib/halfpower";

/// The tracing file system, where a test can see it.
pub struct Tracing(TempDir);

impl Tracing {
    /// Mounts it.
    ///
    /// # Errors
    /// What is missing here.
    pub fn new() -> Result<Self, String> {
        // Below the target folder `lab/run` finds what a test that is stopped leaves.
        let point = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let output = Command::new("mount").args(["-t", "tracefs", "nodev"]).arg(point.path()).output();
        let output = output.map_err(|error| format!("mount: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
        }
        Ok(Self(point))
    }

    /// Instances and notes of a process.
    pub fn left_by(&self, process: u32) -> Vec<String> {
        let names = |folder: &Path| -> Vec<String> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
        };
        let mut all = names(&self.0.path().join("instances"));
        all.extend(names(Path::new(NOTES)));
        let its = format!("halfpower-{process}-");
        all.retain(|name| name.contains(&its));
        all
    }

    /// What is left of a process after further starts; another test's start may have taken it away before.
    pub fn left_after_a_start(&self, process: u32) -> Vec<String> {
        for _ in 0..100 {
            let status = Command::new(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")))
                .arg("systems")
                .stdout(Stdio::null())
                .status();
            assert!(status.unwrap().success());
            if self.left_by(process).is_empty() {
                return Vec::new();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.left_by(process)
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// A watch of this process, which goes on for long.
pub fn watch(subject: &Running) -> Child {
    let mut command = Command::new(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
    command.args(["watch", "--for", "60s", "--pid", &subject.id().to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
#[ignore = "gate: traces the kernel, and is killed"]
fn a_watch_that_is_killed_leaves_no_tracing_on() {
    let tracing = match Tracing::new() {
        Ok(tracing) => tracing,
        Err(why) => return skip(&format!("nothing can be traced here (root is needed): {why}")),
    };
    let subject = idle();
    let mut watch = watch(&subject);
    while tracing.left_by(watch.id()).is_empty() {
        assert!(watch.try_wait().unwrap().is_none(), "it goes on for long, and traces");
        std::thread::sleep(Duration::from_millis(5));
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert_eq!(tracing.left_after_a_start(watch.id()), [""; 0]);
}
