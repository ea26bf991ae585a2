//! Describes a device by constants fitted to a study, and reads and writes them as TOML.
//!
//! The model does not describe the inside of the device. A single request takes `fixed + size x per KiB`. Requests
//! leave at least one gap apart, the largest of: that time over the requests in parallel, the size over a ceiling in
//! bytes, one over a ceiling in requests. Latency and gap are terms of LogGP (Alexandrov, Ionescu, Schauser, Scheiman,
//! 1995); `halfpower calibrate` fits them to a study.

use std::collections::BTreeMap;

use halfpower_spec::{Bytes, Cache, Direction, Pattern, Rate};
use serde::{Deserialize, Serialize};

use crate::SystemError;
use crate::fit_error::{FitError, Reach, is_false};
use crate::path_constants::{PathConstants, through};
use crate::system::{MOST, changed, constants, said};
use crate::variation;

/// Seed of likely devices: the same model always gives the same ones.
const SEED: u64 = 1998;
/// Largest size of one device in MiB (a PiB), so that the bytes of the most devices still fit an integer.
const MOST_MIB: f64 = 1_073_741_824.0;

/// A device, or a whole path, as a study measured it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// One line that says what it is.
    pub about: String,
    /// The device; a path may have several.
    pub device: FittedDevice,
    /// Limits that all devices share.
    #[serde(default)]
    pub shared: FittedShared,
    /// The paths through it, by pattern, cache setting and direction: `random-direct-read`.
    #[serde(default)]
    pub path: BTreeMap<String, PathConstants>,
    /// How far each path's predictions may be off, by the same keys; nothing is known of those that are not there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub error: BTreeMap<String, FitError>,
}

/// The device itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedDevice {
    /// Its name.
    pub name: String,
    /// Measured part of it, in MiB; nothing is known beyond.
    pub measured_mib: u64,
    /// Processors of the host.
    pub processors: u32,
    /// Whether reads and writes have ceilings of their own, as behind a control group's limits; otherwise they share them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ceilings_each_way: bool,
}

/// Limits that several devices share; `None` if not known.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedShared {
    /// Limit on reads, in MB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_mbps: Option<f64>,
    /// Limit on writes, in MB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_mbps: Option<f64>,
}

impl FittedShared {
    /// The limit on one direction, in MB/s.
    pub fn mbps(self, direction: Direction) -> Option<f64> {
        match direction {
            Direction::Read => self.read_mbps,
            Direction::Write => self.write_mbps,
        }
    }
}

impl Fitted {
    /// Whether a system's text is of this kind.
    pub fn is_told_by(text: &str) -> bool {
        toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("path") && !table.contains_key("host"))
    }

    /// The device of this text with changed constants, such as `path.random-direct-read.fixed_us` to `20`.
    ///
    /// # Errors
    /// [`SystemError::Text`] if the text is not such a device or has no such key, [`SystemError::Constant`] if a
    /// constant is not valid.
    pub fn with_constants(text: &str, changes: &BTreeMap<String, String>) -> Result<Self, SystemError> {
        let mut table: toml::Table = toml::from_str(text).map_err(|error| said(text, &error))?;
        let device = |table: toml::Table| -> Result<Self, SystemError> {
            table.try_into().map_err(|error: toml::de::Error| said("", &error))
        };
        let measured: Self = device(table.clone())?;
        changes.iter().try_for_each(|(key, value)| changed(&mut table, key, value))?;
        let mut fitted: Self = device(table)?;
        for (key, error) in &mut fitted.error {
            if let (Some(before), Some(after)) = (measured.path.get(key), fitted.path.get(key)) {
                error.follow(before, after);
            }
        }
        fitted.check()?;
        Ok(fitted)
    }

    /// The key of a path, such as `random-direct-read`.
    pub fn key(pattern: Pattern, cache: Cache, direction: Direction) -> String {
        let cache = match cache {
            Cache::Both => "buffered",
            Cache::Os => "durable-buffered",
            Cache::Device => "direct",
            Cache::None => "durable-direct",
        };
        format!("{pattern}-{cache}-{direction}")
    }

    /// The constants of the path with these settings, if known.
    pub fn passage(&self, pattern: Pattern, cache: Cache, direction: Direction) -> Option<&PathConstants> {
        self.path.get(&Self::key(pattern, cache, direction))
    }

    /// Throughput of `devices` equal devices, each with `depth` requests of `bs` outstanding; `None` if the path is not
    /// known.
    ///
    /// The minimum of what the devices give, what they share, and what one submitting thread's processor time allows.
    pub fn throughput(
        &self,
        (pattern, cache, direction): (Pattern, Cache, Direction),
        bs: Bytes,
        depth: u32,
        devices: u32,
    ) -> Option<Rate> {
        let passage = self.passage(pattern, cache, direction)?;
        Some(through(passage, self.shared.mbps(direction), bs, depth, devices))
    }

    /// Where the truth is, as factors of [`Fitted::throughput`] with the same arguments; `None` if the path or its error is
    /// not known.
    pub fn reach(
        &self,
        (pattern, cache, direction): (Pattern, Cache, Direction),
        bs: Bytes,
        depth: u32,
        devices: u32,
    ) -> Option<Reach> {
        let key = Self::key(pattern, cache, direction);
        let passage = self.path.get(&key)?;
        let error = self.error.get(&key)?;
        Some(error.reach(passage, self.shared.mbps(direction), (bs, depth, devices)))
    }

    /// The pattern and cache setting whose path serves requests of an application that reach the device, in this pattern and
    /// direction: those of the direct path if it was measured, or of the nearest one that was; `None` if none of this
    /// direction was.
    pub fn path_of(&self, pattern: Pattern, direction: Direction) -> Option<(Pattern, Cache)> {
        let other = if pattern == Pattern::Sequential { Pattern::Random } else { Pattern::Sequential };
        let caches = [Cache::Device, Cache::None, Cache::Both, Cache::Os];
        let mut all = [pattern, other].into_iter().flat_map(|pattern| caches.map(|cache| (pattern, cache)));
        all.find(|(pattern, cache)| self.passage(*pattern, *cache, direction).is_some())
    }

    /// A device that is as likely as this one, from what is known of its error: the `number`th of a fixed sequence. The range
    /// of 95% of them is where the truth is, within what was measured.
    pub fn likely(&self, number: u32) -> Self {
        let mut generator = variation::generator(SEED, u64::from(number));
        let mut likely = self.clone();
        for (key, constants) in &mut likely.path {
            if let Some(error) = self.error.get(key) {
                *constants = error.likely(constants, number as usize, &mut generator);
            }
        }
        let shared = &mut likely.shared;
        for (mbps, direction) in [(&mut shared.read_mbps, Direction::Read), (&mut shared.write_mbps, Direction::Write)]
        {
            let of = self.error.iter().filter(|(key, _)| key.ends_with(direction.word()));
            let error = of.map(|(_, error)| error.shared).fold(0.0, f64::max);
            let factor = variation::factor(error, &mut generator);
            *mbps = mbps.map(|mbps| mbps * factor);
        }
        likely
    }

    /// The same device without the numbers of requests in parallel that are only the deepest that was measured: the most that
    /// it can give deeper. `None` if each path has shown its number.
    pub fn at_most(&self) -> Option<Self> {
        let unseen = |key: &String| self.error.get(key).is_some_and(|error| !error.side_by_side_seen);
        let keys: Vec<String> = self.path.keys().filter(|key| unseen(key)).cloned().collect();
        let mut most = self.clone();
        for key in &keys {
            if let Some(constants) = most.path.get_mut(key) {
                constants.side_by_side = None;
            }
        }
        (!keys.is_empty()).then_some(most)
    }

    /// The same device with limits of rate in place of the times of requests that may be such limits: the most that it can
    /// give if they are. `None` if no path has such a time.
    pub fn limited(&self) -> Option<Self> {
        let mut limited = self.clone();
        let mut any = false;
        for (key, constants) in &mut limited.path {
            if self.error.get(key).is_some_and(|error| error.may_be_limit) {
                *constants = constants.as_limit();
                any = true;
            }
        }
        any.then_some(limited)
    }

    fn check(&self) -> Result<(), SystemError> {
        constants(
            &[("device.measured_mib", self.device.measured_mib as f64)],
            "from 1 to 1073741824, which is a PiB",
            |value| (1.0..=MOST_MIB).contains(&value),
        )?;
        constants(&[("device.processors", f64::from(self.device.processors))], "from 1 to 4096", |value| {
            (1.0..=MOST).contains(&value)
        })?;
        let shared = [
            ("shared.read_mbps", self.shared.read_mbps.unwrap_or(1.0)),
            ("shared.write_mbps", self.shared.write_mbps.unwrap_or(1.0)),
        ];
        constants(&shared, "above 0", |value| value > 0.0 && value.is_finite())?;
        let unknown = self.path.keys().chain(self.error.keys());
        let unknown = unknown.into_iter().find(|key| !Self::keys().any(|known| known == **key));
        if let Some(key) = unknown {
            return Err(SystemError::Text(format!(
                "path.{key} does not name a pattern, a cache and a direction, such as path.random-direct-read"
            )));
        }
        let within = |part: &str, key: &str, error| match error {
            SystemError::Constant { what, value, wanted } => {
                SystemError::Constant { what: format!("{part}.{key}.{what}"), value, wanted }
            }
            other => other,
        };
        self.path.iter().try_for_each(|(key, path)| path.check().map_err(|error| within("path", key, error)))?;
        self.error.iter().try_for_each(|(key, error)| error.check().map_err(|wrong| within("error", key, wrong)))
    }

    fn keys() -> impl Iterator<Item = String> {
        Pattern::ALL.iter().flat_map(|pattern| {
            Cache::ALL.iter().flat_map(|cache| Direction::ALL.iter().map(|rw| Self::key(*pattern, *cache, *rw)))
        })
    }

    /// The text of the device. `remarks` are written beside the keys (`path.random-direct-read.fixed_us`) and above the
    /// tables (`path.random-direct-read`) that they are named after.
    pub fn to_toml(&self, remarks: &BTreeMap<String, String>) -> String {
        let mut text = String::new();
        let mut table = String::new();
        for line in toml::to_string(self).unwrap_or_default().lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                table = name.to_string();
                remarks
                    .get(name)
                    .iter()
                    .for_each(|remark| text.extend(remark.lines().map(|line| format!("# {line}\n"))));
                text += &format!("{line}\n");
                continue;
            }
            let key = line.split_once(" = ").map(|(key, _)| format!("{table}.{key}"));
            match key.and_then(|key| remarks.get(&key)) {
                Some(remark) => text += &format!("{line:28}  # {remark}\n"),
                None => text += &format!("{line}\n"),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted() -> Fitted {
        let passage = PathConstants {
            fixed_us: 80.0,
            us_per_kib: 2.0,
            side_by_side: Some(4.0),
            ceiling_mbps: Some(1000.0),
            ceiling_iops: Some(40_000.0),
            charged_us: 2.0,
            wait_us: 6.0,
            ..PathConstants::default()
        };
        Fitted {
            about: "x".to_string(),
            device: FittedDevice { name: "vda".to_string(), measured_mib: 64, processors: 2, ceilings_each_way: false },
            shared: FittedShared { read_mbps: Some(1500.0), write_mbps: None },
            path: BTreeMap::from([("random-direct-read".to_string(), passage)]),
            error: BTreeMap::from([(
                "random-direct-read".to_string(),
                FitError {
                    bs_bytes: [4096, 1 << 20],
                    depths: [1, 32],
                    cells: 54,
                    freedom: 49,
                    side_by_side_seen: true,
                    may_be_limit: false,
                    misfit: 0.01,
                    shared: 0.0,
                    draws: vec![[81.0, 2.0, 4.0, f64::INFINITY, 40_000.0]],
                },
            )]),
        }
    }

    const READS: (Pattern, Cache, Direction) = (Pattern::Random, Cache::Device, Direction::Read);

    #[test]
    fn the_narrowest_of_the_limits_holds() {
        let fitted = fitted();
        let us = |kib: u64, depth, devices| {
            let bs = Bytes(kib * 1024);
            bs.0 as f64 / fitted.throughput(READS, bs, depth, devices).unwrap().mbps()
        };
        let near =
            |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
        near(us(8, 1, 1), 96.0);
        near(us(8, 2, 1), 48.0);
        near(us(8, 32, 1), 25.0);
        near(us(40, 32, 1), 40.96);
        near(us(40, 32, 4), 40.0 * 1.024 / 1.5);
        near(us(8, 32, 1000), 8.0 * 1.024 / 1.5);
        assert_eq!(fitted.throughput((Pattern::Random, Cache::Device, Direction::Write), Bytes(4096), 1, 1), None);
    }

    #[test]
    fn an_application_takes_the_nearest_path_that_was_measured() {
        let mut fitted = fitted();
        let taken = Some((Pattern::Random, Cache::Device));
        assert_eq!(fitted.path_of(Pattern::Random, Direction::Read), taken);
        assert_eq!(fitted.path_of(Pattern::Sequential, Direction::Read), taken);
        assert_eq!(fitted.path_of(Pattern::Random, Direction::Write), None);
        fitted.path.insert("sequential-buffered-read".to_string(), PathConstants::default());
        let buffered = Some((Pattern::Sequential, Cache::Both));
        assert_eq!(fitted.path_of(Pattern::Sequential, Direction::Read), buffered);
    }

    #[test]
    fn likely_devices_differ_and_the_most_has_no_limit_that_was_not_seen() {
        let mut fitted = fitted();
        let fixed_us = |fitted: &Fitted| fitted.path["random-direct-read"].fixed_us;
        assert_eq!(fitted.likely(3), fitted.likely(3));
        assert_ne!(fixed_us(&fitted.likely(3)), fixed_us(&fitted.likely(4)));
        assert_eq!(fitted.at_most(), None);
        if let Some(error) = fitted.error.get_mut("random-direct-read") {
            error.side_by_side_seen = false;
        }
        assert_eq!(fitted.at_most().map(|most| most.path["random-direct-read"].side_by_side), Some(None));
        fitted.error.clear();
        assert_eq!(fitted.likely(3), fitted);
    }

    #[test]
    fn remarks_stand_beside_their_constants_and_the_text_is_read_back() {
        let remarks = BTreeMap::from([
            ("path.random-direct-read".to_string(), "two\nlines".to_string()),
            ("path.random-direct-read.fixed_us".to_string(), "from 3 cells".to_string()),
        ]);
        let text = fitted().to_toml(&remarks);
        assert!(text.contains("# two\n# lines\n[path.random-direct-read]\nfixed_us = 80.0"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("fixed_us = 80.0") && line.ends_with("# from 3 cells")));
        assert!(Fitted::is_told_by(&text));
        assert_eq!(Fitted::with_constants(&text, &BTreeMap::new()).unwrap(), fitted());
        let change = |key: &str, value: &str| {
            Fitted::with_constants(&text, &BTreeMap::from([(key.to_string(), value.to_string())]))
        };
        let faster = change("path.random-direct-read.fixed_us", "20").unwrap();
        assert_eq!(faster.path["random-direct-read"].fixed_us, 20.0);
        assert_eq!(faster.error["random-direct-read"].draws[0][0], 81.0 / 4.0);
        assert_eq!(change("shared.write_mbps", "87").unwrap().shared.write_mbps, Some(87.0));
        for (key, value) in [("shared.write_mbps", "0"), ("path.random-direct-read.speed", "1"), ("disk.rpm", "7200")] {
            let said = change(key, value).unwrap_err().to_string();
            assert!(said.contains(key.rsplit('.').next().unwrap()), "{said}");
        }
        for (key, value) in [
            ("path.random-direct-read.fixed_us", "-1"),
            ("path.random-direct-read.side_by_side", "inf"),
            ("path.random-direct-read.ceiling_iops", "nan"),
            ("device.measured_mib", "99999999999999999"),
            ("error.random-direct-read.misfit", "-1"),
        ] {
            let said = change(key, value).unwrap_err().to_string();
            assert!(said.contains(&format!("{key} is ")), "{said}");
        }
    }
}
