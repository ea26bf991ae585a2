//! Parses a simulated machine into a checked [`System`], and lists the systems included in the crate.
//!
//! A system is a TOML file with one table for each part that a request passes; each constant has its unit in its name.
//! The included files state where each constant comes from or which figure it was fitted to.

mod ladder;
mod parts;

pub use ladder::Rung;
pub use parts::{
    Adapter, Bus, BusLayout, Cost, Disk, FileCache, Gather, Host, Network, Pci, PublishedFigures, Relay, Reorder,
    System, Volume,
};

use std::collections::BTreeMap;

/// Why a system cannot be built or used.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// The text is not a system: wrong TOML, an unknown or a missing key, a value of the wrong kind.
    #[error("the machine's TOML cannot be read: {0}; `halfpower systems` lists machines to start from")]
    Text(String),
    /// A constant is not valid.
    #[error("the machine's {what} is {value}; it must be {wanted}")]
    Constant {
        /// Its place in the text, such as `disk.rpm`.
        what: String,
        /// Its value.
        value: f64,
        /// The valid values.
        wanted: &'static str,
    },
    /// The setting needs a part that the system lacks.
    #[error("the machine has no {0}; choose a setting without it, or add the part to its TOML")]
    Lacks(&'static str),
}

impl System {
    /// The system of this text.
    ///
    /// # Errors
    /// [`SystemError::Text`] if the text is not a system, [`SystemError::Constant`] if a constant is not valid.
    pub fn from_toml(text: &str) -> Result<Self, SystemError> {
        let system: Self = toml::from_str(text).map_err(|error| said(text, &error))?;
        system.check()?;
        Ok(system)
    }

    /// The system of this text with changed constants, such as `disk.rpm` to `15000`.
    ///
    /// # Errors
    /// As [`Self::from_toml`], and [`SystemError::Text`] for a key that no part has.
    pub fn with_constants(text: &str, constants: &BTreeMap<String, String>) -> Result<Self, SystemError> {
        if constants.is_empty() {
            return Self::from_toml(text);
        }
        let mut table: toml::Table = toml::from_str(text).map_err(|error| said(text, &error))?;
        constants.iter().try_for_each(|(key, value)| changed(&mut table, key, value))?;
        let system: Self = table.try_into().map_err(|error: toml::de::Error| said("", &error))?;
        system.check()?;
        Ok(system)
    }

    /// Refuses numbers of parts that would fill the memory.
    fn check_counts(&self) -> Result<(), SystemError> {
        let counts = [
            ("host.processors", self.host.processors),
            ("disk.bands", self.disk.bands),
            ("disk.heads", self.disk.heads),
            ("disk.write_segments", self.disk.write_segments),
            ("network.client_processors", self.network.as_ref().map_or(1, |network| network.client_processors)),
        ];
        constants(&counts.map(|(what, count)| (what, f64::from(count))), "from 1 to 4096", |value| {
            (1.0..=MOST).contains(&value)
        })
    }

    /// Refuses sizes that overflow their counters.
    fn check_sizes(&self) -> Result<(), SystemError> {
        let cache = &self.cache;
        let volume = &self.volume;
        let disk = &self.disk;
        let network = |of: fn(&Network) -> Option<u64>| self.network.as_ref().and_then(of).unwrap_or(0);
        let sizes = [
            ("cache.unit_kib", cache.unit_kib),
            ("cache.page_kib", cache.page_kib),
            ("cache.ahead_kib", cache.ahead_kib),
            ("cache.dirty_kib", cache.dirty_kib),
            ("cache.grow_every_kib", cache.grow_every_kib.unwrap_or(0)),
            ("cache.faulty_above_kib", cache.faulty_above_kib.unwrap_or(0)),
            ("volume.split_kib", volume.split_kib),
            ("volume.chunk_kib", volume.chunk_kib),
            ("volume.mirror_turns_from_kib", volume.mirror_turns_from_kib.unwrap_or(0)),
            ("disk.read_ahead_kib", disk.read_ahead_kib),
            ("disk.write_buffer_kib", disk.write_buffer_kib),
            ("disk.write_merge_kib", u64::from(disk.write_merge_kib)),
            ("disk.write_batch_kib", disk.write_batch_kib),
            ("network.write_stalls_above_kib", network(|network| network.write_stalls_above_kib)),
            ("network.read_stalls_from_kib", network(|network| network.read_stalls_from_kib)),
        ];
        constants(&sizes.map(|(what, kib)| (what, kib as f64)), "below 4194304 (4 GiB)", |value| value < MOST_KIB)?;
        let offsets = [
            ("volume.software_off_kib", volume.software_off_kib),
            ("volume.hardware_off_kib", volume.hardware_off_kib.unwrap_or(0.0)),
        ];
        constants(&offsets, "from 0 to below 4194304 (4 GiB)", |value| (0.0..MOST_KIB).contains(&value))?;
        let capacity = [("disk.capacity_gb", self.disk.capacity_gb)];
        constants(&capacity, "at most 1000000", |value| value <= 1e6)
    }

    /// Refuses rates and divisors that are not above 0.
    fn check_above_0(&self) -> Result<(), SystemError> {
        let network = |of: fn(&Network) -> Option<f64>| self.network.as_ref().and_then(of).unwrap_or(1.0);
        let above_0 = [
            ("host.processors", f64::from(self.host.processors)),
            ("host.clock_mhz", self.host.clock_mhz),
            ("host.instructions_per_us", self.host.instructions_per_us),
            ("bus.mbps", self.bus.mbps),
            ("bus.advertised_mbps", self.bus.advertised_mbps.unwrap_or(1.0)),
            ("pci.read_mbps", self.pci.read_mbps),
            ("pci.write_mbps", self.pci.write_mbps),
            ("pci.advertised_mbps", self.pci.advertised_mbps.unwrap_or(1.0)),
            ("adapter.read_mbps", self.adapter.read_mbps.unwrap_or(1.0)),
            ("adapter.write_mbps", self.adapter.write_mbps.unwrap_or(1.0)),
            ("disk.rpm", self.disk.rpm),
            ("disk.capacity_gb", self.disk.capacity_gb),
            ("disk.advertised_mbps", self.disk.advertised_mbps.unwrap_or(1.0)),
            ("disk.outer_mbps", self.disk.outer_mbps),
            ("disk.inner_mbps", self.disk.inner_mbps),
            ("disk.bands", f64::from(self.disk.bands)),
            ("disk.heads", f64::from(self.disk.heads)),
            ("disk.write_pace", self.disk.write_pace),
            ("disk.write_segments", f64::from(self.disk.write_segments)),
            ("volume.chunk_kib", self.volume.chunk_kib as f64),
            ("volume.split_kib", self.volume.split_kib as f64),
            ("volume.mirror_turns_from_kib", self.volume.mirror_turns_from_kib.unwrap_or(1) as f64),
            ("cache.unit_kib", self.cache.unit_kib as f64),
            ("cache.page_kib", self.cache.page_kib as f64),
            ("network.wire_mbps", network(|network| network.wire_mbps)),
            ("network.advertised_mbps", network(|network| network.advertised_mbps)),
        ];
        constants(&above_0, "above 0", |value| value > 0.0 && value.is_finite())
    }

    /// Refuses times that run backwards or never end.
    fn check_times(&self) -> Result<(), SystemError> {
        let network = |of: fn(&Network) -> f64| self.network.as_ref().map_or(0.0, of);
        let times = [
            ("disk.track_to_track_ms", self.disk.track_to_track_ms),
            ("disk.settle_ms", self.disk.settle_ms),
            ("disk.overhead_us", self.disk.overhead_us),
            ("disk.turnaround_us", self.disk.turnaround_us),
            ("disk.patience_ms", self.disk.patience_ms),
            ("disk.write_lead_ms", self.disk.write_lead_ms),
            ("bus.setup_us", self.bus.setup_us),
            ("bus.contention_us_per_kib", self.bus.contention_us_per_kib),
            ("adapter.command_us", self.adapter.command_us),
            ("adapter.list_us_per_page", self.adapter.list_us_per_page),
            ("adapter.rest_us", self.adapter.rest_us),
            ("cache.call_us", self.cache.call_us),
            ("cache.read_copy_us_per_kib", self.cache.read_copy_us_per_kib),
            ("cache.write_copy_us_per_kib", self.cache.write_copy_us_per_kib),
            ("cache.map_us", self.cache.map_us),
            ("host.lookup_us", self.host.lookup_us),
            ("host.unseen_read_us", self.host.unseen_read_us),
            ("host.unseen_write_us", self.host.unseen_write_us),
            ("host.pio_clocks_per_byte", self.host.pio_clocks_per_byte.unwrap_or(0.0)),
            ("network.latency_us", network(|network| network.latency_us)),
            ("network.packet_us", network(|network| network.packet_us)),
            ("network.write_handshake_us", network(|network| network.write_handshake_us)),
            ("network.write_stall_ms", network(|network| network.write_stall_ms)),
            ("network.write_stall_more_ms", network(|network| network.write_stall_more_ms)),
            ("network.read_stall_ms", network(|network| network.read_stall_ms)),
        ];
        constants(&times, "0 or more", |value| value >= 0.0 && value.is_finite())
    }

    /// Refuses costs of requests that are below 0, alone or with what is added to them.
    fn check_costs(&self) -> Result<(), SystemError> {
        let host = &self.host;
        let nothing = Cost { fixed_us: 0.0, us_per_kib: 0.0 };
        let network = |of: fn(&Network) -> Cost| self.network.as_ref().map_or(nothing, of);
        let costs = [
            ("host.read", host.read, nothing),
            ("host.write", host.write, nothing),
            ("host.dynamic_read", host.dynamic_read, host.read),
            ("host.dynamic_write", host.dynamic_write, host.write),
            ("host.striped_read", host.striped_read, host.read),
            ("host.striped_write", host.striped_write, host.write),
            ("host.mirrored_read", host.mirrored_read, host.read),
            ("host.mirrored_write", host.mirrored_write, host.write),
            ("network.client_read", network(|network| network.client_read), nothing),
            ("network.client_write", network(|network| network.client_write), nothing),
            ("network.server_read", network(|network| network.server_read), host.read),
            ("network.server_write", network(|network| network.server_write), host.write),
        ];
        for (what, cost, added_to) in costs {
            let parts =
                [("fixed_us", cost.fixed_us, added_to.fixed_us), ("us_per_kib", cost.us_per_kib, added_to.us_per_kib)];
            for (part, value, other) in parts {
                let sum = value + other;
                if !sum.is_finite() || sum < 0.0 {
                    let what = format!("{what}.{part}");
                    return Err(SystemError::Constant { what, value, wanted: "0 or more, with what it is added to" });
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), SystemError> {
        self.check_above_0()?;
        self.check_counts()?;
        self.check_sizes()?;
        self.check_times()?;
        self.check_costs()?;
        let shares = [
            ("host.issue_share", self.host.issue_share),
            ("host.charged_share", self.host.charged_share),
            ("cache.resident_share", self.cache.resident_share),
        ];
        constants(&shares, "from 0 to 1", |value| (0.0..=1.0).contains(&value))?;
        let average = [("disk.average_seek_ms", self.disk.average_seek_ms)];
        let least = self.disk.track_to_track_ms;
        constants(&average, "at least disk.track_to_track_ms", |value| value >= least && value.is_finite())
    }
}

/// Most parts of any kind in a machine: each has an entry in memory.
pub(crate) const MOST: f64 = 4096.0;

/// Sizes must stay below this number of KiB: their bytes are counted in 32 bits.
const MOST_KIB: f64 = 4_194_304.0;

/// Changes a constant, `part.constant`, in a table that has the part.
pub(crate) fn changed(table: &mut toml::Table, key: &str, value: &str) -> Result<(), SystemError> {
    let (part, constant) = key.rsplit_once('.').unwrap_or(("", key));
    let mut inner = table;
    for name in part.split('.') {
        let Some(toml::Value::Table(next)) = inner.get_mut(name) else {
            return Err(SystemError::Text(format!("it has no constant {key}")));
        };
        inner = next;
    }
    inner.insert(constant.to_string(), constant_of(value));
    Ok(())
}

/// The error of the TOML parser, on one line.
pub(crate) fn said(text: &str, error: &toml::de::Error) -> SystemError {
    let message = error.message().replace('\n', ", ");
    SystemError::Text(match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.lines().count().max(1)),
        None => message,
    })
}

/// A value as TOML: a number or boolean if it looks like one, otherwise text.
fn constant_of(text: &str) -> toml::Value {
    let whole = || text.parse().map(toml::Value::Integer);
    let number = || text.parse().map(toml::Value::Float);
    let position = || text.parse().map(toml::Value::Boolean);
    whole().or_else(|_| number()).or_else(|_| position()).unwrap_or_else(|_| toml::Value::String(text.to_string()))
}

pub(crate) fn constants(
    all: &[(&'static str, f64)],
    wanted: &'static str,
    holds: impl Fn(f64) -> bool,
) -> Result<(), SystemError> {
    match all.iter().find(|(_, value)| !holds(*value)) {
        Some(&(what, value)) => Err(SystemError::Constant { what: what.to_string(), value, wanted }),
        None => Ok(()),
    }
}

/// A system included in the crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name, as in `sim:NAME`.
    pub name: &'static str,
    /// Its TOML text, for [`crate::System::from_toml`] or for editing.
    pub text: &'static str,
}

impl Shipped {
    /// The line that describes it.
    pub fn about(&self) -> &'static str {
        let line = self.text.lines().find_map(|line| line.strip_prefix("about = \""));
        line.map_or("", |line| line.trim_end_matches('"'))
    }
}

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../systems/", $name, ".toml")) }),+]
    };
}

/// Every system included in the crate, older ones first.
pub fn systems() -> &'static [Shipped] {
    shipped![
        "nt4-fastwide",
        "nt4-ultrawide",
        "nt4sp6-ultrawide",
        "win2k-ultrawide",
        "win2k-atlas10k",
        "win2k-fireball",
        "win2k-3ware5400",
        "win2k-3ware6800",
        "win2k-maxtor",
        "win2k-unc",
        "win2k-mapped",
        "win2k-gigabit",
    ]
}
