//! Waits for the next session of a study, and begins it as a process of its own.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use halfpower_record::{StudyFile, TargetKind};
use halfpower_spec::Nanos;

use crate::tell::tell;

/// Time between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(100);
/// This program, also after another file has taken its name.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// The turn of a session that is to begin later.
pub struct Turn {
    /// When it begins, in milliseconds of Unix time.
    due_ms: u64,
    every_ms: u64,
    /// How many sessions are measured, in words.
    measured: String,
}

impl Turn {
    /// That of the study's next session: `every` after the one before it began. `None` if there is nothing to wait for: before
    /// the first session, within one that was interrupted, in virtual time, and if that time has come.
    pub fn of(file: &StudyFile, sessions: u32, every: Nanos) -> Result<Option<Self>> {
        let so_far = halfpower_study::sessions_so_far(file, sessions)?;
        let is_virtual = file.environment().capabilities.kind == TargetKind::Simulated;
        let Some(since_ms) = so_far.waits_since_unix_ms.filter(|_| !is_virtual) else { return Ok(None) };
        let every_ms = every.0 / 1_000_000;
        let due_ms = since_ms.saturating_add(every_ms);
        let turn = Self { due_ms, every_ms, measured: measured(so_far.complete, sessions) };
        Ok((turn.left_ms() > 0).then_some(turn))
    }

    /// Time until it begins; no longer than the interval, also after the clock was set back.
    fn left_ms(&self) -> u64 {
        self.due_ms.saturating_sub(now_unix_ms()).min(self.every_ms)
    }

    /// Waits until it begins.
    ///
    /// # Errors
    /// If the user has asked to stop meanwhile.
    pub fn wait(&self, output: &Path, stop: &AtomicBool) -> Result<()> {
        let Self { due_ms, measured, .. } = self;
        tell!(
            "halfpower: {measured}; the next begins on {}. Ctrl-C ends it, and the same command goes on.",
            halfpower_report::date(*due_ms)
        );
        while self.left_ms() > 0 {
            if stop.load(Ordering::Relaxed) {
                bail!("interrupted; {measured} into {}, and the same command goes on with the next", output.display());
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// How many of all sessions are measured.
pub fn measured(complete: u32, sessions: u32) -> String {
    format!("{complete} of {sessions} sessions {} measured", if complete == 1 { "is" } else { "are" })
}

/// Begins the same command again in the place of this process, which keeps its number and its terminal.
pub fn begin_next() -> Result<()> {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    let error = Command::new(THIS_PROGRAM).arg0(name).args(words).exec();
    Err(error).context("the next session did not begin as a process of its own; the same command goes on with it")
}

fn now_unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
