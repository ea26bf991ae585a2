//! Reads the activity of each whole block device from /proc/diskstats.

use std::collections::BTreeMap;
use std::path::Path;

use halfpower_probe::DeviceNumber;
use halfpower_record::{DiskLimit, DiskUse};

use crate::devices::grown_ms;
use crate::noise::SECTOR_BYTES;

/// The counters of one device since it appeared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskCounters {
    number: DeviceNumber,
    sectors_read: u64,
    sectors_written: u64,
    busy_ms: u64,
}

/// The counters of all devices by name.
pub(crate) type Disks = BTreeMap<String, DiskCounters>;

/// Reads the counters of the running system. Partitions are left out: their work is already counted for their device.
pub(crate) fn read() -> Disks {
    let mut all = parse(&std::fs::read_to_string("/proc/diskstats").unwrap_or_default());
    all.retain(|name, _| Path::new("/sys/block").join(name.replace('/', "!")).exists());
    all
}

/// The fields follow the kernel's Documentation/admin-guide/iostats.rst, after major, minor and name.
fn parse(text: &str) -> Disks {
    let device = |line: &str| {
        let mut words = line.split_whitespace();
        let mut part = || words.next()?.parse::<u32>().ok();
        let number = DeviceNumber { major: part()?, minor: part()? };
        let name = words.next()?.to_string();
        let fields: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let sectors_read = *fields.get(2)?;
        let sectors_written = *fields.get(6)?;
        let busy_ms = *fields.get(9)?;
        Some((name, DiskCounters { number, sectors_read, sectors_written, busy_ms }))
    };
    text.lines().filter_map(device).collect()
}

/// The activity of devices between two readings. Idle devices and devices that were new in the second reading are left
/// out. `limits` are the limits of the server's processes.
pub(crate) fn between(then: &Disks, now: &Disks, limits: &BTreeMap<DeviceNumber, DiskLimit>) -> Vec<DiskUse> {
    let used = |(name, now): (&String, &DiskCounters)| {
        let then = then.get(name)?;
        let bytes = |now: u64, then: u64| now.saturating_sub(then).saturating_mul(SECTOR_BYTES);
        let used = DiskUse {
            name: name.clone(),
            read_bytes: bytes(now.sectors_read, then.sectors_read),
            written_bytes: bytes(now.sectors_written, then.sectors_written),
            busy_ns: grown_ms(then.busy_ms, now.busy_ms).saturating_mul(1_000_000),
            limit: limits.get(&now.number).cloned().map(Box::new),
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
        let limit = DiskLimit { read_bytes_per_s: Some(30_000_000), ..DiskLimit::default() };
        let limits = BTreeMap::from([(DeviceNumber { major: 8, minor: 0 }, limit.clone())]);
        let read_bytes = 8 * 512;
        let written_bytes = 32 * 512;
        let limit = Some(Box::new(limit));
        let sda = DiskUse { name: "sda".into(), read_bytes, written_bytes, busy_ns: 50_000_000, limit };
        assert_eq!(between(&then, &now, &limits), [sda], "a disk at rest is left out");
        assert!(between(&Disks::new(), &now, &limits).is_empty(), "nothing is known of what was not there before");
    }

    #[test]
    fn a_time_that_begins_again_at_0_has_grown() {
        let at = |busy_ms: u32, sectors: u32| parse(&format!("8 0 sda 10 0 {sectors} 5 0 0 0 0 0 {busy_ms} 8\n"));
        let used = between(&at(u32::MAX - 5, 100), &at(10, 108), &BTreeMap::new());
        assert_eq!(used.iter().map(|disk| disk.busy_ns).collect::<Vec<_>>(), [16_000_000]);
    }

    #[test]
    fn partitions_are_left_out() {
        // What is in no folder may be a device that somebody has removed meanwhile.
        let folder = |name: &String| Path::new("/sys/class/block").join(name.replace('/', "!"));
        assert!(!read().keys().any(|name| folder(name).join("partition").exists()));
    }
}
