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

/// Waits until a session of the study at `output` may begin: `every` after the one before it began. There is nothing to
/// wait for before the first session, within one that was interrupted, and in virtual time.
pub fn wait(output: &Path, sessions: u32, every: Nanos, stop: &AtomicBool) -> Result<()> {
    if !output.exists() {
        return Ok(());
    }
    let file = StudyFile::open_mended(output)?;
    let so_far = halfpower_study::sessions_so_far(&file, sessions)?;
    let is_virtual = file.environment().capabilities.kind == TargetKind::Simulated;
    drop(file);
    let Some(since_ms) = so_far.waits_since_unix_ms.filter(|_| !is_virtual) else { return Ok(()) };
    let every_ms = every.0 / 1_000_000;
    let due_ms = since_ms.saturating_add(every_ms);
    // No longer than that, also after the clock was set back.
    let left_ms = || due_ms.saturating_sub(now_unix_ms()).min(every_ms);
    let measured = measured(so_far.complete, sessions);
    if left_ms() > 0 {
        tell!(
            "halfpower: {measured}; the next begins on {}. Ctrl-C ends it, and the same command goes on.",
            halfpower_report::date(due_ms)
        );
    }
    while left_ms() > 0 {
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted; {measured} into {}, and the same command goes on with the next", output.display());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
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
