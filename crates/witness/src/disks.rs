//! Reads what each whole block device has done, from /proc/diskstats.

use std::collections::BTreeMap;
use std::path::Path;

use halfpower_record::DiskUse;

use crate::noise::SECTOR_BYTES;

/// The counters of one device since it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskCounters {
    sectors_read: u64,
    sectors_written: u64,
    busy_ms: u64,
}

/// The counters of all devices, by their names.
pub(crate) type Disks = BTreeMap<String, DiskCounters>;

/// Those of the running system; a partition's work is its device's too, so partitions are left out.
pub(crate) fn read() -> Disks {
    let mut all = parse(&std::fs::read_to_string("/proc/diskstats").unwrap_or_default());
    all.retain(|name, _| Path::new("/sys/block").join(name.replace('/', "!")).exists());
    all
}

/// Fields as in the kernel's Documentation/admin-guide/iostats.rst, after major, minor and name.
fn parse(text: &str) -> Disks {
    let device = |line: &str| {
        let mut words = line.split_whitespace().skip(2);
        let name = words.next()?.to_string();
        let fields: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let (sectors_read, sectors_written, busy_ms) = (*fields.get(2)?, *fields.get(6)?, *fields.get(9)?);
        Some((name, DiskCounters { sectors_read, sectors_written, busy_ms }))
    };
    text.lines().filter_map(device).collect()
}

/// What the devices did between two readings; those that did nothing, or were not there before, are left out.
pub(crate) fn between(then: &Disks, now: &Disks) -> Vec<DiskUse> {
    let used = |(name, now): (&String, &DiskCounters)| {
        let then = then.get(name)?;
        let bytes = |now: u64, then: u64| now.saturating_sub(then).saturating_mul(SECTOR_BYTES);
        let used = DiskUse {
            name: name.clone(),
            read_bytes: bytes(now.sectors_read, then.sectors_read),
            written_bytes: bytes(now.sectors_written, then.sectors_written),
            busy_ns: now.busy_ms.saturating_sub(then.busy_ms).saturating_mul(1_000_000),
        };
        (now != then).then_some(used)
    };
    now.iter().filter_map(used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_did_is_the_difference() {
        let then =
            parse("   8       0 sda 10 0 100 5 20 0 200 6 0 7 8\n 254 0 vda 1 0 8 0 0 0 0 0 0 1 1 0 0 0 0\nodd 1\n");
        let now = parse("   8       0 sda 11 0 108 5 22 0 232 6 0 57 8\n 254 0 vda 1 0 8 0 0 0 0 0 0 1 1 0 0 0 0\n");
        let disks = between(&then, &now);
        let sda = DiskUse { name: "sda".into(), read_bytes: 8 * 512, written_bytes: 32 * 512, busy_ns: 50_000_000 };
        assert_eq!(disks, [sda], "a disk at rest is left out");
        assert!(between(&Disks::new(), &now).is_empty(), "nothing is known of what was not there before");
    }

    #[test]
    fn partitions_are_left_out() {
        let partition = |name: &String| !Path::new("/sys/block").join(name.replace('/', "!")).exists();
        assert!(!read().keys().any(partition));
    }
}
