//! Describes the I/O priority of threads: a class, a level within it, and a hint for the device.

use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ParseError;

/// Lowest level of a class; 0 is the highest.
const LOWEST: u8 = 7;
/// Largest hint, as the kernel takes it.
const MOST_HINT: u16 = 1023;
/// The level of a thread that has set none.
const USUAL_LEVEL: u8 = 4;

/// The I/O priority of a thread (`ioprio_set`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct IoPriority {
    class: Class,
    /// From 0, the highest, to 7.
    level: u8,
    /// What the device is told besides, such as the number of a limit on its time; 0 is nothing.
    hint: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Class {
    Realtime,
    BestEffort,
    Idle,
}

impl IoPriority {
    /// The priority of the class with this number (`IOPRIO_CLASS_*`): 1 realtime, 2 best effort, 3 idle.
    ///
    /// # Errors
    /// Which number there is not, without full stop.
    pub fn of_numbers(class: u32, level: u32, hint: u32) -> Result<Self, String> {
        let class = match class {
            1 => Class::Realtime,
            2 => Class::BestEffort,
            3 => Class::Idle,
            other => return Err(format!("there is no class {other}; write 1 (realtime), 2 (best effort) or 3 (idle)")),
        };
        let no_level = || format!("there is no level {level}; write 0, the highest, to {LOWEST}");
        let level = u8::try_from(level).ok().filter(|level| *level <= LOWEST).ok_or_else(no_level)?;
        let no_hint = || format!("there is no hint {hint}; write 0 to {MOST_HINT}");
        let hint = u16::try_from(hint).ok().filter(|hint| *hint <= MOST_HINT).ok_or_else(no_hint)?;
        Ok(Self { class, level: if class == Class::Idle { 0 } else { level }, hint })
    }

    /// The number of its class.
    pub fn class(self) -> u32 {
        match self.class {
            Class::Realtime => 1,
            Class::BestEffort => 2,
            Class::Idle => 3,
        }
    }

    /// Its level within the class, from 0, the highest, to 7; 0 for the idle class, which has none.
    pub fn level(self) -> u32 {
        self.level.into()
    }

    /// What the device is told besides; 0 is nothing.
    pub fn hint(self) -> u32 {
        self.hint.into()
    }

    /// As the kernel takes it: the class from bit 13 on, the hint from bit 3 on, and the level.
    pub fn bits(self) -> i32 {
        (self.class() << 13 | self.hint() << 3 | self.level()) as i32
    }
}

/// `idle`, `best-effort`, `best-effort:4`, `realtime:0`, and with a hint `best-effort:4:1`.
impl FromStr for IoPriority {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new(text, 0, "write idle, best-effort:4 or realtime:0, with a level from 0 to 7");
        let mut parts = text.split(':');
        let class = match parts.next() {
            Some("realtime") => 1,
            Some("best-effort") => 2,
            Some("idle") => 3,
            _ => return Err(wrong()),
        };
        let mut number = |usual: u32| parts.next().map_or(Ok(usual), |part| part.parse().map_err(|_| wrong()));
        let level = number(u32::from(USUAL_LEVEL))?;
        let hint = number(0)?;
        if parts.next().is_some() {
            return Err(wrong());
        }
        Self::of_numbers(class, level, hint).map_err(|what| ParseError::new(text, 0, what))
    }
}

impl fmt::Display for IoPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { class, level, hint } = self;
        match class {
            Class::Idle => f.write_str("idle")?,
            Class::BestEffort => write!(f, "best-effort:{level}")?,
            Class::Realtime => write!(f, "realtime:{level}")?,
        }
        match (class, hint) {
            (_, 0) => Ok(()),
            (Class::Idle, hint) => write!(f, ":0:{hint}"),
            (_, hint) => write!(f, ":{hint}"),
        }
    }
}

impl TryFrom<String> for IoPriority {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<IoPriority> for String {
    fn from(priority: IoPriority) -> Self {
        priority.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_read_back_and_are_what_the_kernel_takes() {
        for (text, bits) in [
            ("idle", 3 << 13),
            ("best-effort:4", 2 << 13 | 4),
            ("realtime:0", 1 << 13),
            ("best-effort:7:1", 2 << 13 | 1 << 3 | 7),
            ("idle:0:2", 3 << 13 | 2 << 3),
        ] {
            let priority: IoPriority = text.parse().unwrap();
            assert_eq!((priority.to_string().as_str(), priority.bits()), (text, bits));
        }
        assert_eq!("best-effort".parse::<IoPriority>(), "best-effort:4".parse());
        for text in ["", "none", "realtime:8", "best-effort:x", "best-effort:4:1024", "idle:0:0:0", "realtime:"] {
            assert!(text.parse::<IoPriority>().is_err(), "{text}");
        }
        assert!(IoPriority::of_numbers(0, 0, 0).unwrap_err().contains("no class 0"));
    }
}
