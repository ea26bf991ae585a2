//! Parses and prints a simulated machine and its settings: `win2k-atlas10k,disks=4,array=stripe,disk.rpm=15000`.
//!
//! The crate `model` defines the parts and what they do.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{ParseError, Switch};

words! {
    /// How a simulated machine's disks make one volume.
    DiskArray, "disk array":
    /// One disk after the other (concatenated).
    Each = "each",
    /// A stripe made by the host.
    Stripe = "stripe",
    /// A stripe made by the adapter.
    AdapterStripe = "adapter-stripe",
    /// A mirror of two disks made by the adapter.
    Mirror = "mirror",
}

/// A simulated machine and its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedSystem {
    /// The name after `sim:`: that of a shipped machine, or of a file that ends in `.toml`.
    pub name: String,
    /// Its TOML.
    pub text: String,
    /// Its settings.
    pub setup: Setup,
    /// Constants of its parts that override its TOML: `disk.rpm` to `15000`.
    pub constants: BTreeMap<String, String>,
}

/// Settings that an administrator would choose before measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Disks in use.
    pub disks: u32,
    /// How the disks make one volume; `None` is a stripe by the host if there are several.
    pub array: Option<DiskArray>,
    /// Adapters, each with its own bus, over which the disks are spread.
    pub buses: u32,
    /// Whether files are aligned to the chunks of a stripe, whatever the machine's default.
    pub aligned: bool,
    /// Whether the volume is a dynamic disk.
    pub dynamic: bool,
    /// Whether the processor moves the data (programmed I/O).
    pub pio: bool,
    /// Processors in use; `None` for all.
    pub processors: Option<u32>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { disks: 1, array: None, buses: 1, aligned: false, dynamic: false, pio: false, processors: None }
    }
}

/// The keys, as an error lists them.
const KEYS: &str = "disks, array, buses, aligned, dynamic, pio, processors, or a constant such as disk.rpm";

impl SimulatedSystem {
    /// The machine `name` with this TOML and default settings.
    pub fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_string(), text: text.to_string(), setup: Setup::default(), constants: BTreeMap::new() }
    }

    /// Changes one setting.
    ///
    /// # Errors
    /// If the key does not exist or the value is invalid; for `text`, if the TOML has changed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ParseError> {
        let setup = &mut self.setup;
        match key {
            "disks" => setup.disks = count(value)?,
            "array" => setup.array = Some(value.parse()?),
            "buses" => setup.buses = count(value)?,
            "aligned" => setup.aligned = switch(value)?,
            "dynamic" => setup.dynamic = switch(value)?,
            "pio" => setup.pio = switch(value)?,
            "processors" => setup.processors = Some(count(value)?),
            "text" if value == self.digest() => {}
            "text" => {
                let message = format!("{} has changed since; leave `text` out to take it as it is", self.name);
                return Err(ParseError::new(value, 0, message));
            }
            _ if key.contains('.') && !value.is_empty() => {
                self.constants.insert(key.to_string(), value.to_string());
            }
            _ => return Err(ParseError::new(key, 0, format!("there is no such setting; the settings are {KEYS}"))),
        }
        Ok(())
    }

    /// Whether a file defines the machine; its contents may change.
    fn is_of_a_file(&self) -> bool {
        self.name.ends_with(".toml")
    }

    /// The 32-bit FNV-1a checksum of the TOML (Fowler, Noll, Vo), in hexadecimal.
    fn digest(&self) -> String {
        let hash =
            self.text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        format!("{hash:08x}")
    }
}

fn count(text: &str) -> Result<u32, ParseError> {
    match text.parse() {
        Ok(count @ 1..=1024) => Ok(count),
        _ => Err(ParseError::new(text, 0, "write a number from 1 to 1024")),
    }
}

fn switch(text: &str) -> Result<bool, ParseError> {
    Switch::from_str(text).map(|position| position == Switch::On)
}

/// The text after `sim:`: the name, then the settings that differ from the defaults.
impl fmt::Display for SimulatedSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.is_of_a_file() {
            write!(f, ",text={}", self.digest())?;
        }
        let Setup { disks, array, buses, aligned, dynamic, pio, processors } = self.setup;
        let usual = Setup::default();
        if disks != usual.disks {
            write!(f, ",disks={disks}")?;
        }
        array.iter().try_for_each(|array| write!(f, ",array={array}"))?;
        if buses != usual.buses {
            write!(f, ",buses={buses}")?;
        }
        for (on, key) in [(aligned, "aligned"), (dynamic, "dynamic"), (pio, "pio")] {
            if on {
                write!(f, ",{key}=on")?;
            }
        }
        processors.iter().try_for_each(|processors| write!(f, ",processors={processors}"))?;
        self.constants.iter().try_for_each(|(key, value)| write!(f, ",{key}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(name: &str, settings: &[(&str, &str)]) -> Result<SimulatedSystem, ParseError> {
        let mut system = SimulatedSystem::new(name, "about = 'x'");
        settings.iter().try_for_each(|(key, value)| system.set(key, value)).map(|()| system)
    }

    #[test]
    fn what_differs_from_the_usual_is_written() {
        assert_eq!(system("pc", &[("disks", "1"), ("aligned", "off")]).unwrap().to_string(), "pc");
        let settings = [("disk.rpm", "15000"), ("pio", "on"), ("array", "stripe"), ("disks", "4")];
        assert_eq!(system("pc", &settings).unwrap().to_string(), "pc,disks=4,array=stripe,pio=on,disk.rpm=15000");
    }

    #[test]
    fn a_file_is_told_by_its_contents_too() {
        let reported = system("pc.toml", &[]).unwrap().to_string();
        let (_, digest) = reported.split_once("text=").unwrap();
        assert!(system("pc.toml", &[("text", digest)]).is_ok());
        let changed = system("pc.toml", &[("text", "00000000")]).unwrap_err();
        assert!(changed.to_string().contains("has changed"), "{changed}");
    }

    #[test]
    fn wrong_settings_are_refused() {
        for (key, value) in [("disks", "0"), ("disks", "many"), ("array", "heap"), ("pio", "yes"), ("speed", "1")] {
            assert!(system("pc", &[(key, value)]).is_err(), "{key}={value}");
        }
    }
}
