//! Reads how much memory this process may lock.

use std::fs;

use rustix::process::{Resource, geteuid, getrlimit};

/// The bit of the capability that lifts the limit (`CAP_IPC_LOCK`, <linux/capability.h>).
const IPC_LOCK: u32 = 14;

/// Bytes that this process may lock (`ulimit -l`); `None` means no limit. Registered buffers of a ring are locked and
/// count together for all rings of a user.
pub fn limit_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    // Root without that capability, as in most containers, has the ordinary limit.
    let is_exempt = has_right(&status, IPC_LOCK).unwrap_or_else(|| geteuid().is_root());
    getrlimit(Resource::Memlock).current.filter(|_| !is_exempt)
}

/// Whether the process of this `/proc/PID/status` has a capability; `None` if the file does not say.
fn has_right(status: &str, bit: u32) -> Option<bool> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let rights = u64::from_str_radix(line.trim(), 16).ok()?;
    Some(rights >> bit & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_is_one_bit_of_those_in_effect() {
        let status = "CapPrm:\t000001ffffffffff\nCapEff:\t00000000a80425fb\nCapBnd:\t000001ffffffffff\n";
        assert_eq!(has_right(status, IPC_LOCK), Some(false), "root in a container of the usual kind");
        assert_eq!(has_right("CapEff:\t0000000000004000\n", IPC_LOCK), Some(true));
        assert_eq!(has_right("", IPC_LOCK), None);
    }
}
