//! Names our own files on a share, and tells from a name whether its owner is gone.
//!
//! A name is `.halfpower-HOME-PID-NUMBER-RANDOM`. HOME stands for this machine and its numbering of processes. A file of
//! another home is only given up when it is old, since its owner cannot be looked up here.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use sha2::{Digest, Sha256};

/// How every name begins.
pub(crate) const PREFIX: &str = ".halfpower-";
/// Age from which a file that no run has written to belongs to nobody, whoever made it: no study lasts as long.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// A name that no other process has.
pub(crate) fn new_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // Process IDs alone are not unique among machines.
    let random = u32::from_le_bytes(crate::smb::random());
    format!("{PREFIX}{}-{}-{number}-{random:08x}", home(), std::process::id())
}

/// Whether a file of this name is one of ours whose owner is gone. `age` is the time since it was last changed.
pub(crate) fn is_left_over(name: &str, age: Duration) -> bool {
    let Some(parts) = name.strip_prefix(PREFIX) else { return false };
    let parts: Vec<&str> = parts.split('-').collect();
    let are_hexadecimal = |part: &str| part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    match parts[..] {
        [its_home, pid, number, random] if are_hexadecimal(its_home) && are_hexadecimal(random) => {
            let (Ok(pid), Ok(_)) = (pid.parse::<u32>(), number.parse::<u32>()) else { return false };
            age >= OLD || its_home == home() && is_gone(pid)
        }
        // Earlier versions named no home.
        [pid, number, random] if are_hexadecimal(random) => {
            pid.parse::<u32>().is_ok() && number.parse::<u32>().is_ok() && age >= OLD
        }
        _ => false,
    }
}

/// Whether there is no such process; `/proc` may hide those of other users.
fn is_gone(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// Stands for this machine and the namespace that numbers its processes.
fn home() -> String {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let all = [text("/etc/machine-id"), text("/proc/sys/kernel/hostname"), text("/proc/sys/kernel/random/boot_id")];
    let digest = Sha256::new().chain_update(all.concat()).chain_update(namespace.as_os_str().as_encoded_bytes());
    digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const YOUNG: Duration = Duration::from_secs(60);

    #[test]
    fn what_a_process_that_lives_has_made_is_no_left_over() {
        assert!(!is_left_over(&new_name(), YOUNG));
        assert!(is_left_over(&format!(".halfpower-{}-{}-0-01234567", home(), u32::MAX / 2), YOUNG), "no such process");
        assert!(
            !is_left_over(&format!(".halfpower-0badf00d-{}-0-01234567", u32::MAX / 2), YOUNG),
            "of another machine"
        );
        assert!(is_left_over(&format!(".halfpower-0badf00d-{}-0-01234567", u32::MAX / 2), OLD), "and old");
        assert!(is_left_over(".halfpower-77-0-01234567", OLD) && !is_left_over(".halfpower-77-0-01234567", YOUNG));
    }

    #[test]
    fn other_names_are_nobodys_business() {
        for name in ["theirs", ".halfpower-", ".halfpower-notes", ".halfpower-1-2-3", ".halfpower-a-b-c-01234567"] {
            assert!(!is_left_over(name, 10 * OLD), "{name}");
        }
    }
}
