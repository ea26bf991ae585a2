//! Records evidence of other activity on the machine while a run was measured.
//!
//! It takes the paths of kernel statistics and returns the difference between two readings. A figure that the kernel
//! does not report is `None`, which is a normal result.

use std::fs;
use std::path::PathBuf;

use halfpower_record::Noise;

use crate::devices::is_counted;

/// Sector size of the kernel's block statistics, whatever the device's own sector size.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// The statistics files to read.
#[derive(Debug, Clone)]
pub struct NoiseProbe {
    /// The statistics of the devices under the target.
    devices: Vec<PathBuf>,
    pressure: PathBuf,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoiseSnapshot {
    pressure_io_ns: Option<u64>,
    pressure_cpu_ns: Option<u64>,
    device_bytes: Option<u64>,
}

impl NoiseProbe {
    /// A probe over the whole devices with these kernel names; their counts are added up.
    pub fn of(devices: &[String]) -> Self {
        Self {
            devices: devices.iter().map(|name| PathBuf::from("/sys/block").join(name).join("stat")).collect(),
            pressure: PathBuf::from("/proc/pressure"),
        }
    }

    /// Reads the counters now.
    pub fn look(&self) -> NoiseSnapshot {
        let pressure = |kind| fs::read_to_string(self.pressure.join(kind)).ok().and_then(|text| some_stalled_ns(&text));
        let moved = self.devices.iter().map(|stat| {
            let moved = moved_bytes(&fs::read_to_string(stat).ok()?);
            moved.filter(|_| stat.parent().is_none_or(is_counted))
        });
        let moved: Option<Vec<u64>> = moved.collect();
        NoiseSnapshot {
            pressure_io_ns: pressure("io"),
            pressure_cpu_ns: pressure("cpu"),
            device_bytes: moved.filter(|moved| !moved.is_empty()).map(|moved| moved.iter().sum()),
        }
    }

    /// The noise between two snapshots.
    pub fn between(&self, then: &NoiseSnapshot, now: &NoiseSnapshot) -> Noise {
        let grown = |then: Option<u64>, now: Option<u64>| Some(now?.saturating_sub(then?));
        Noise {
            pressure_io_ns: grown(then.pressure_io_ns, now.pressure_io_ns),
            pressure_cpu_ns: grown(then.pressure_cpu_ns, now.pressure_cpu_ns),
            // Counters that have never moved tell nothing, as those of some drivers do not.
            device_bytes: grown(then.device_bytes, now.device_bytes).filter(|_| now.device_bytes > Some(0)),
            cpu_mhz: frequency_mhz(),
        }
    }
}

/// The total of the line `some avg10=0.00 ... total=123`, which the kernel gives in microseconds.
fn some_stalled_ns(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let total = line.split_whitespace().find_map(|field| field.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1_000)
}

/// Sectors read (third field) and written (seventh field), in bytes.
fn moved_bytes(text: &str) -> Option<u64> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    Some((fields.get(2)? + fields.get(6)?) * SECTOR_BYTES)
}

/// The mean frequency of the processors that report one.
fn frequency_mhz() -> Option<f64> {
    let frequency = |cpu: usize| -> Option<f64> {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
        fs::read_to_string(file).ok()?.trim().parse::<f64>().ok().map(|khz| khz / 1e3)
    };
    let known: Vec<f64> = halfpower_os::processor::usable().into_iter().filter_map(frequency).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_read() {
        let pressure = "some avg10=0.00 avg60=0.10 avg300=0.00 total=413218\nfull avg10=0.00 total=7\n";
        assert_eq!(some_stalled_ns(pressure), Some(413_218_000));
        assert_eq!(moved_bytes("  10 0 100 5 20 0 200 6 0 7 8\n"), Some(300 * 512));
        assert_eq!((some_stalled_ns("nothing"), moved_bytes("1 2")), (None, None));
    }

    #[test]
    fn what_happened_is_the_difference_and_unknown_stays_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let stat = folder.path().join("stat");
        let witness = NoiseProbe { devices: vec![stat.clone()], pressure: folder.path().to_path_buf() };
        fs::write(&stat, "0 0 100 0 0 0 0 0").unwrap();
        let then = witness.look();
        fs::write(&stat, "0 0 130 0 0 0 8 0").unwrap();
        let noise = witness.between(&then, &witness.look());
        assert_eq!((noise.device_bytes, noise.pressure_io_ns), (Some(38 * 512), None));
        fs::create_dir(folder.path().join("queue")).unwrap();
        fs::write(folder.path().join("queue/iostats"), "0\n").unwrap();
        assert_eq!(witness.between(&then, &witness.look()).device_bytes, None, "they are switched off");
        fs::remove_dir_all(folder.path().join("queue")).unwrap();
        fs::write(&stat, "0 0 0 0 0 0 0 0").unwrap();
        assert_eq!(witness.between(&witness.look(), &witness.look()).device_bytes, None, "they have never moved");
    }
}
