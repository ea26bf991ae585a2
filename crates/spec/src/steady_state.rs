//! Describes a steady state that ends a run: what is to be steady, how much, and over which time.

use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Nanos, ParseError};

const SECOND_NS: u64 = 1_000_000_000;
/// Longest time of a window, of what passes before it, and of an interval, in seconds.
const LONGEST_S: u64 = 7 * 86_400;
/// Most intervals of a window.
const MOST_INTERVALS: u32 = 86_400;
/// Limits are kept in thousandths.
const PARTS: f64 = 1000.0;
/// Largest limit.
const MOST_LIMIT: f64 = 1e15;

words! {
    /// What is to be steady: the largest deviation from the mean, or the slope, of figures of intervals.
    SteadyFigure, "figure that can be steady":
    /// Requests a second, none of which is further from their mean than the limit.
    Iops = "iops",
    /// The slope of requests a second.
    IopsSlope = "iops_slope",
    /// Bytes a second, likewise.
    Bw = "bw",
    /// The slope of bytes a second.
    BwSlope = "bw_slope",
    /// The mean latency in nanoseconds, likewise.
    Lat = "lat",
    /// The slope of the mean latency.
    LatSlope = "lat_slope",
}

impl SteadyFigure {
    /// Whether its slope is judged, and not its largest deviation.
    pub fn is_slope(self) -> bool {
        matches!(self, Self::IopsSlope | Self::BwSlope | Self::LatSlope)
    }
}

/// A steady state, at which a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct SteadyState {
    figure: SteadyFigure,
    /// In thousandths of the figure's unit, or of a percent of its mean.
    limit_parts: u64,
    in_percent: bool,
    over_s: u32,
    after_s: u32,
    every_s: u32,
}

impl SteadyState {
    /// What is to be steady.
    pub fn figure(self) -> SteadyFigure {
        self.figure
    }

    /// Below what its deviation or slope is to be: in percent of the mean if [`Self::is_in_percent`], else in its unit; of a
    /// slope, an interval.
    pub fn limit(self) -> f64 {
        self.limit_parts as f64 / PARTS
    }

    /// Whether the limit is in percent of the mean.
    pub fn is_in_percent(self) -> bool {
        self.in_percent
    }

    /// Over how many intervals, from 2 on.
    pub fn intervals(self) -> u32 {
        self.over_s / self.every_s
    }

    /// Seconds that pass before the first interval.
    pub fn after_s(self) -> u32 {
        self.after_s
    }

    /// Seconds of an interval.
    pub fn every_s(self) -> u32 {
        self.every_s
    }
}

/// `iops:10%:30s`, with what passes before and with another interval than a second: `lat:5%:300s:60s:10s`.
impl FromStr for SteadyState {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |at: usize, what: &str| ParseError::new(text, at, what);
        let mut at = 0;
        let mut next = text.split(':').map(|part| {
            let begin = at;
            at += part.len() + 1;
            (begin, part)
        });
        let (Some((_, figure)), Some((limit_at, limit)), Some(over)) = (next.next(), next.next(), next.next()) else {
            return Err(wrong(0, "write what is to be steady, how much, and over which time, such as iops:10%:30s"));
        };
        let seconds = |(begin, part): (usize, &str)| -> Result<u32, ParseError> {
            let Nanos(time_ns) = part.parse().map_err(|error: ParseError| error.within(text, begin))?;
            if time_ns % SECOND_NS != 0 || time_ns / SECOND_NS > LONGEST_S {
                return Err(wrong(begin, "write whole seconds, of a week at most"));
            }
            Ok((time_ns / SECOND_NS) as u32)
        };
        let over_s = seconds(over)?;
        let after_s = next.next().map_or(Ok(0), seconds)?;
        let every_s = next.next().map_or(Ok(1), seconds)?;
        if let Some((begin, _)) = next.next() {
            return Err(wrong(begin, "nothing follows the interval"));
        }
        if every_s == 0 || over_s / every_s < 2 || over_s / every_s > MOST_INTERVALS {
            return Err(wrong(over.0, "the time has from two intervals (of a second) to 86400"));
        }
        let number = limit.strip_suffix('%').unwrap_or(limit);
        let limit_parts = (number.parse().unwrap_or(f64::NAN) * PARTS).round();
        if !(1.0..=MOST_LIMIT * PARTS).contains(&limit_parts) {
            return Err(wrong(limit_at, "write a limit above 0, such as 10% of the mean, or a number of its unit"));
        }
        Ok(Self {
            figure: figure.parse().map_err(|error: ParseError| error.within(text, 0))?,
            limit_parts: limit_parts as u64,
            in_percent: number.len() < limit.len(),
            over_s,
            after_s,
            every_s,
        })
    }
}

impl fmt::Display for SteadyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, over_s, after_s, every_s, .. } = self;
        let unit = if self.in_percent { "%" } else { "" };
        write!(f, "{figure}:{}{unit}:{over_s}s", self.limit())?;
        match (after_s, every_s) {
            (0, 1) => Ok(()),
            (after_s, 1) => write!(f, ":{after_s}s"),
            (after_s, every_s) => write!(f, ":{after_s}s:{every_s}s"),
        }
    }
}

impl TryFrom<String> for SteadyState {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<SteadyState> for String {
    fn from(state: SteadyState) -> Self {
        state.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_states_are_read_back() {
        for (text, canonical) in [
            ("iops:10%:30s", "iops:10%:30s"),
            ("iops_slope:0.3%:60", "iops_slope:0.3%:60s"),
            ("bw:1000000:1m:10s", "bw:1000000:60s:10s"),
            ("lat:5%:300s:60s:10s", "lat:5%:300s:60s:10s"),
            ("lat_slope:5%:300s:0s:10s", "lat_slope:5%:300s:0s:10s"),
        ] {
            let state: SteadyState = text.parse().unwrap();
            assert_eq!(state.to_string(), canonical, "{text}");
            assert_eq!(canonical.parse(), Ok(state));
        }
        let state: SteadyState = "lat:5%:300s:60s:10s".parse().unwrap();
        assert_eq!((state.intervals(), state.after_s(), state.every_s(), state.limit()), (30, 60, 10, 5.0));
        assert!(state.is_in_percent() && !state.figure().is_slope());
        for (text, at) in [
            ("iops:10%", 0),
            ("iops:x%:30s", 5),
            ("iops:0%:30s", 5),
            ("iops:10%:1s", 9),
            ("iops:10%:1500ms", 9),
            ("mbps:10%:30s", 0),
            ("iops:10%:30s:0s:20s", 9),
            ("iops:10%:30s:0s:1s:1s", 19),
        ] {
            assert_eq!(text.parse::<SteadyState>().unwrap_err().at, at, "{text}");
        }
    }
}
