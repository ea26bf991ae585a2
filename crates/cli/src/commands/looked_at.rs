//! Runs the checks of settings at the target of a study or a probe, in limited time and without ever failing.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use halfpower_doctor::{Place, diagnose};
use halfpower_probe::{Root, TargetIdentity};
use halfpower_record::Diagnosis;
use halfpower_spec::Target;

/// Longest time for all checks. They take a fraction of a second, but a server that does not answer could hold them up
/// without end.
const LONGEST: Duration = Duration::from_secs(2);
/// What is noted where they did not end in time: nothing found is not all well then.
pub const NOT_IN_TIME: &str =
    "the checks of settings did not end in time, so that nothing is known of what they look at";

/// What the checks find at each folder, file or device of a target; empty if it has none on this machine, `None` if the
/// checks did not end in time.
pub fn looked_at(target: &Target) -> Option<Vec<Diagnosis>> {
    let paths = match target {
        Target::Path(path) => vec![path.clone()],
        Target::Several(several) => several.members.clone(),
        Target::Simulated(_) | Target::System(_) | Target::Share(_) | Target::Null => return Some(Vec::new()),
    };
    let (send, receive) = mpsc::channel();
    let look = move || {
        let seen: Option<Vec<Diagnosis>> = paths.iter().map(|path| of_path(path)).collect();
        // Nobody receives what comes too late.
        let _ = send.send(seen.unwrap_or_default());
    };
    // A thread of its own: what hangs or panics in it does not end the study.
    match thread::Builder::new().name("checks".to_string()).spawn(look) {
        Ok(_) => receive.recv_timeout(LONGEST).ok(),
        Err(_) => None,
    }
}

fn of_path(path: &Path) -> Option<Diagnosis> {
    let identity = TargetIdentity::of(path).ok()?;
    Some(diagnose(&Place::of(&Root::live(), &identity)))
}
