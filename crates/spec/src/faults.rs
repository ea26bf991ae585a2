//! Describes the faults that a simulated disk injects, as text: `errors=1%,short=1%,stall=0.1%:100ms,lost=1%`.

use std::fmt;

use crate::quantity::share;
use crate::{Nanos, ParseError};

/// Shares of requests with each kind of fault; a request has at most one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faults {
    /// Requests that fail with EIO.
    pub errors: f64,
    /// Reads and writes that move fewer bytes than asked.
    pub short: f64,
    /// Requests that complete late.
    pub stall: f64,
    /// Delay of a late completion.
    pub stall_time: Nanos,
    /// Reads that return one flipped bit.
    pub flip: f64,
    /// Writes that report success, although only their beginning reaches the medium.
    pub torn: f64,
    /// Writes that report success, although nothing reaches the medium.
    pub lost: f64,
    /// Writes that reach another place of the medium.
    pub misdirect: f64,
}

/// Longest allowed delay of a completion.
const LONGEST_STALL: Nanos = Nanos(60_000_000_000);

impl Default for Faults {
    fn default() -> Self {
        Self {
            errors: 0.0,
            short: 0.0,
            stall: 0.0,
            stall_time: Nanos(100_000_000),
            flip: 0.0,
            torn: 0.0,
            lost: 0.0,
            misdirect: 0.0,
        }
    }
}

impl Faults {
    /// The keys, as an error lists them.
    pub(crate) const KEYS: &str = "errors, short, stall, flip, torn, lost, misdirect";

    /// Whether any fault is ever injected.
    pub fn any(&self) -> bool {
        self.shares().iter().any(|(_, share)| *share > 0.0)
    }

    fn shares(&self) -> [(&'static str, f64); 7] {
        let Self { errors, short, stall, flip, torn, lost, misdirect, .. } = *self;
        [
            ("errors", errors),
            ("short", short),
            ("stall", stall),
            ("flip", flip),
            ("torn", torn),
            ("lost", lost),
            ("misdirect", misdirect),
        ]
    }

    /// Changes one share; `false` if `key` is not the key of a fault.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<bool, ParseError> {
        let place = match key {
            "errors" => &mut self.errors,
            "short" => &mut self.short,
            "stall" => return self.set_stall(value).map(|()| true),
            "flip" => &mut self.flip,
            "torn" => &mut self.torn,
            "lost" => &mut self.lost,
            "misdirect" => &mut self.misdirect,
            _ => return Ok(false),
        };
        *place = share(value)?;
        Ok(true)
    }

    /// Reads `SHARE` or `SHARE:TIME`.
    fn set_stall(&mut self, value: &str) -> Result<(), ParseError> {
        let (text, time) = value.split_once(':').map_or((value, None), |(text, time)| (text, Some(time)));
        self.stall = share(text).map_err(|error| error.within(value, 0))?;
        let Some(time) = time else { return Ok(()) };
        let at = text.len() + 1;
        let time: Nanos = time.parse().map_err(|error: ParseError| error.within(value, at))?;
        if time == Nanos(0) || time > LONGEST_STALL {
            return Err(ParseError::new(value, at, format!("a stall takes up to {LONGEST_STALL}, and some time")));
        }
        // Without stalls the time has no meaning, and Display does not write it.
        if self.stall > 0.0 {
            self.stall_time = time;
        }
        Ok(())
    }

    /// What is wrong with the shares as a whole; `None` if nothing is.
    pub(crate) fn complaint(&self) -> Option<&'static str> {
        let sum: f64 = self.shares().iter().map(|(_, share)| share).sum();
        (sum > 1.0).then_some("a request meets one fault at most: let the shares of all faults add up to 100% or less")
    }
}

/// The faults with a share, each after a comma.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, share) in self.shares().into_iter().filter(|(_, share)| *share > 0.0) {
            write!(f, ",{key}={share}")?;
            if key == "stall" {
                write!(f, ":{}", self.stall_time)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimulatedDisk;

    #[test]
    fn faults_are_read_and_written_back() {
        let disk = SimulatedDisk::from_constants("errors=1%,stall=0.5%:20ms,lost=0.25,seed=3").unwrap();
        let faults = disk.faults;
        assert_eq!((faults.errors, faults.stall, faults.lost, faults.torn), (0.01, 0.005, 0.25, 0.0));
        assert_eq!(faults.stall_time, Nanos(20_000_000));
        assert!(disk.to_string().ends_with(",seed=3,errors=0.01,stall=0.005:20ms,lost=0.25"), "{disk}");
        assert_eq!(SimulatedDisk::from_constants(&disk.to_string()), Ok(disk));
        let never = SimulatedDisk::from_constants("errors=1%,stall=0%:10s").unwrap();
        assert_eq!(SimulatedDisk::from_constants(&never.to_string()), Ok(never));
        let without = SimulatedDisk::from_constants("seed=3").unwrap();
        assert!(!without.faults.any() && without.to_string().ends_with(",seed=3"), "{without}");
    }

    #[test]
    fn faults_that_cannot_be_are_refused_where_they_stand() {
        for (text, at, word) in [
            ("errors=2", 7, "share"),
            ("errors=-1%", 7, "share"),
            ("flip=NaN", 5, "share"),
            ("stall=1%:0s", 9, "some time"),
            ("stall=1%:2h", 9, "up to 60s"),
            ("stall=1%:", 9, "number"),
            ("errors=60%,short=60%", 0, "add up"),
        ] {
            let error = SimulatedDisk::from_constants(text).unwrap_err();
            assert!(error.at == at && error.message.contains(word), "{text}: {error}");
        }
    }
}
