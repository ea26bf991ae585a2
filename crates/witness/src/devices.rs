//! Reads what the block devices under a target did during a run.

use std::fs;
use std::path::Path;

use halfpower_record::{DeviceRequests, DeviceUse};

/// The counters of block devices at one moment, by name; a device whose counters are missing or switched off is left out.
#[derive(Debug, Clone, Default)]
pub struct DeviceCounters(Vec<DeviceUse>);

impl DeviceCounters {
    /// Reads the counters of the whole devices with these kernel names.
    pub fn of(devices: &[String]) -> Self {
        Self::within(Path::new("/sys/block"), devices)
    }

    /// Whether the counters of each of these devices are told.
    pub fn are_told(devices: &[String]) -> bool {
        Self::of(devices).0.len() == devices.len()
    }

    fn within(folder: &Path, devices: &[String]) -> Self {
        let read = |name: &String| {
            let device = folder.join(name);
            let text = fs::read_to_string(device.join("stat")).ok()?;
            counters(name, &text).filter(|_| is_counted(&device))
        };
        Self(devices.iter().filter_map(read).collect())
    }

    /// Sectors that they have written, all together.
    pub fn written_sectors(&self) -> u64 {
        self.0.iter().map(|device| device.writes.sectors).sum()
    }

    /// What each device did since `then`, over `span_ns`. Counters that have never moved tell nothing, as those of some
    /// drivers do not: such a device is left out.
    pub fn since(&self, then: &Self, span_ns: u64) -> Vec<DeviceUse> {
        let grown = |now: &DeviceUse| {
            let then = then.0.iter().find(|then| then.name == now.name)?;
            let has_moved = now.reads != DeviceRequests::default() || now.writes != DeviceRequests::default();
            if !has_moved {
                return None;
            }
            let requests = |now: DeviceRequests, then: DeviceRequests| DeviceRequests {
                ios: now.ios.saturating_sub(then.ios),
                merges: now.merges.saturating_sub(then.merges),
                sectors: now.sectors.saturating_sub(then.sectors),
                ms: grown_ms(then.ms, now.ms),
            };
            Some(DeviceUse {
                name: now.name.clone(),
                reads: requests(now.reads, then.reads),
                writes: requests(now.writes, then.writes),
                busy_ms: grown_ms(then.busy_ms, now.busy_ms),
                in_queue_ms: grown_ms(then.in_queue_ms, now.in_queue_ms),
                span_ns,
            })
        };
        self.0.iter().filter_map(grown).collect()
    }
}

/// Whether the kernel counts what the device with this folder does (`queue/iostats`); without the file it does.
pub(crate) fn is_counted(device: &Path) -> bool {
    fs::read_to_string(device.join("queue/iostats")).map_or(true, |text| text.trim() != "0")
}

/// What a time of the kernel's block statistics has grown by. It is printed in 32 bits and begins again at 0 after 49.7 days. What
/// went back by less than half of that was a device that came anew: 0.
pub(crate) fn grown_ms(then: u64, now: u64) -> u64 {
    let grown = now.wrapping_sub(then) & u64::from(u32::MAX);
    if grown <= u64::from(u32::MAX / 2) { grown } else { 0 }
}

/// The fields of a device's `stat`, in the order of the kernel's Documentation/block/stat.rst.
fn counters(name: &str, text: &str) -> Option<DeviceUse> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let requests = |from: usize| {
        let [ios, merges, sectors, ms] = *fields.get(from..from + 4)? else { return None };
        Some(DeviceRequests { ios, merges, sectors, ms })
    };
    Some(DeviceUse {
        name: name.to_string(),
        reads: requests(0)?,
        writes: requests(4)?,
        busy_ms: *fields.get(9)?,
        in_queue_ms: *fields.get(10)?,
        span_ns: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_begin_again_at_0_have_grown() {
        assert_eq!([(4_294_967_290, 10), (100, 350), (7, 7)].map(|(then, now)| grown_ms(then, now)), [16, 250, 0]);
        assert_eq!(grown_ms(5_000, 20), 0, "a device that was taken away and came back");
        let then =
            DeviceCounters(counters("sda", "10 0 80 4294967290 0 0 0 0 0 4294967295 4294967000").into_iter().collect());
        let now = DeviceCounters(counters("sda", "15 0 120 10 0 0 0 0 0 99 704").into_iter().collect());
        let done = &now.since(&then, 100_000_000)[0];
        assert_eq!((done.reads.ms, done.busy_ms, done.in_queue_ms), (16, 100, 1000));
    }

    #[test]
    fn what_a_device_did_is_the_difference_of_its_counters() {
        let then = DeviceCounters(counters("sda", "10 1 800 5 20 2 1600 9 0 7 14 0 0 0 0").into_iter().collect());
        let now = DeviceCounters(counters("sda", "15 1 840 9 22 3 1700 19 1 57 34 0 0 0 0").into_iter().collect());
        let done = now.since(&then, 100_000_000);
        assert_eq!((then.written_sectors(), now.written_sectors()), (1600, 1700));
        assert_eq!(done[0].reads, DeviceRequests { ios: 5, merges: 0, sectors: 40, ms: 4 });
        assert_eq!(done[0].writes, DeviceRequests { ios: 2, merges: 1, sectors: 100, ms: 10 });
        assert_eq!((done[0].busy_ms, done[0].in_queue_ms), (50, 20));
        assert!((done[0].busy_share() - 0.5).abs() < 1e-9);
        assert!(counters("sda", "10 1 800").is_none() && now.since(&DeviceCounters::default(), 1).is_empty());
    }

    #[test]
    fn counters_that_are_switched_off_or_never_move_are_not_those_of_an_idle_device() {
        let folder = tempfile::tempdir().unwrap();
        let lay = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let idle = "10 1 800 5 20 2 1600 9 0 7 14 0 0 0 0";
        lay("idle/stat", idle);
        lay("on/stat", idle);
        lay("on/queue/iostats", "1\n");
        lay("off/stat", idle);
        lay("off/queue/iostats", "0\n");
        lay("never/stat", "0 0 0 0 0 0 0 0 0 0 0");
        let look = || DeviceCounters::within(folder.path(), &["idle", "on", "off", "never", "gone"].map(String::from));
        let told = look().since(&look(), 1);
        assert_eq!(told.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["idle", "on"]);
    }
}
