//! Reads a condition such as `random read peak < -5%`, and holds it against a comparison.
//!
//! ```text
//! condition = { narrowing } quantity comparison percentage
//! narrowing = "sequential" | "random" | "read" | "write" | "all" | "both" | "os" | "device" | "none"
//! quantity  = "peak" | "half_power" | "cost" | "p99" | "throughput"
//! comparison = "<" | "<=" | ">" | ">="          percentage = [ "+" | "-" ] number "%"
//! ```

use std::fmt;
use std::str::FromStr;

use halfpower_spec::{Cache, Direction, ParseError, Pattern};

use super::comparison::{Change, Comparison, ConditionCase, ConditionFinding, Quantity};
use crate::PathSettings;

/// Which side of the percentage is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparator {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// A condition on the change from A to B.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    pattern: Option<Pattern>,
    rw: Option<Direction>,
    cache: Option<Cache>,
    quantity: Quantity,
    comparator: Comparator,
    percent: f64,
}

const QUANTITIES: [(&str, Quantity); 5] = [
    ("peak", Quantity::Peak),
    ("half_power", Quantity::HalfPower),
    ("cost", Quantity::Cost),
    ("p99", Quantity::P99),
    ("throughput", Quantity::Throughput),
];
/// The longer ones first, since the shorter begin them.
const COMPARATORS: [(&str, Comparator); 4] =
    [("<=", Comparator::AtMost), (">=", Comparator::AtLeast), ("<", Comparator::Below), (">", Comparator::Above)];
const WORDS: &str = "write [sequential|random] [read|write|all] [both|os|device|none] and then one of peak, half_power, \
                     cost, p99, throughput";

impl FromStr for Condition {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut rest = Rest { text, at: 0 };
        let (mut pattern, mut rw, mut cache, mut any_rw) = (None, None, None, false);
        let quantity = loop {
            let (at, word) = rest.word();
            let refused = |why: String| ParseError::new(text, at, why);
            if let Some((_, quantity)) = QUANTITIES.iter().find(|(name, _)| *name == word) {
                break *quantity;
            }
            let twice = if let Ok(named) = word.parse() {
                pattern.replace(named).is_some()
            } else if let Ok(named) = word.parse() {
                any_rw || rw.replace(named).is_some()
            } else if let Ok(named) = word.parse() {
                cache.replace(named).is_some()
            } else if word == "all" {
                std::mem::replace(&mut any_rw, true) || rw.is_some()
            } else if word.is_empty() {
                return Err(refused(format!("a quantity is missing here; {WORDS}")));
            } else {
                return Err(refused(format!("`{word}` is not known here; {WORDS}")));
            };
            if twice {
                return Err(refused(format!("`{word}` says again what was said before; name one")));
            }
        };
        let comparator = rest.comparator()?;
        let percent = rest.percent()?;
        Ok(Self { text: text.trim().to_string(), pattern, rw, cache, quantity, comparator, percent })
    }
}

/// What is left of a text.
struct Rest<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Rest<'a> {
    fn skip_space(&mut self) {
        let left = &self.text[self.at..];
        self.at += left.len() - left.trim_start().len();
    }

    /// The next run of letters, digits and `_`, or a single other sign, with its place; nothing at the end.
    fn word(&mut self) -> (usize, &'a str) {
        self.skip_space();
        let left = &self.text[self.at..];
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        let first = left.chars().next().map_or(0, char::len_utf8);
        let length = left.find(|c: char| !inside(c)).unwrap_or(left.len()).max(first);
        let (at, word) = (self.at, &left[..length]);
        self.at += length;
        (at, word)
    }

    fn comparator(&mut self) -> Result<Comparator, ParseError> {
        self.skip_space();
        let left = &self.text[self.at..];
        let found = COMPARATORS.iter().find(|(sign, _)| left.starts_with(sign));
        let (sign, comparator) =
            found.ok_or_else(|| ParseError::new(self.text, self.at, "one of < <= > >= is wanted here"))?;
        self.at += sign.len();
        Ok(*comparator)
    }

    /// The rest of the text as a percentage.
    fn percent(&mut self) -> Result<f64, ParseError> {
        self.skip_space();
        let left = self.text[self.at..].trim_end();
        let refused = |at: usize, why: &str| ParseError::new(self.text, at, why);
        let Some(number) = left.strip_suffix('%') else {
            let end = left.find(|c: char| !"+-.0123456789".contains(c)).unwrap_or(left.len());
            let why =
                if end == 0 { "a percentage such as -5% is wanted here" } else { "a % is wanted here, as in -5%" };
            return Err(refused(self.at + end, why));
        };
        match number.trim_end().parse::<f64>() {
            Ok(percent) if percent.is_finite() && percent > -100.0 => Ok(percent),
            Ok(percent) if percent.is_finite() => Err(refused(self.at, "nothing falls by 100% or more")),
            _ => Err(refused(self.at, "a percentage such as -5% is wanted here")),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// Where it holds; without a case where the studies have nothing in common that it asks about.
    pub fn check(&self, comparison: &Comparison) -> ConditionFinding {
        let quantity = self.quantity;
        let case =
            |(path, iodepth, change)| ConditionCase { quantity, path, iodepth, change, holds: self.holds(&change) };
        let cases: Vec<ConditionCase> = self.changes(comparison).into_iter().map(case).collect();
        ConditionFinding { condition: self.text.clone(), holds: cases.iter().any(|case| case.holds), cases }
    }

    /// The changes that it asks about: the path, the depth where there is one, and the change.
    fn changes(&self, comparison: &Comparison) -> Vec<(PathSettings, Option<u32>, Change)> {
        let asked = |path: PathSettings| {
            self.pattern.is_none_or(|wanted| wanted == path.pattern)
                && self.rw.is_none_or(|wanted| wanted == path.rw)
                && self.cache.is_none_or(|wanted| wanted == path.cache)
        };
        if self.quantity == Quantity::HalfPower {
            let wanted = comparison.half_power.iter().filter(|half| asked(half.settings()));
            return wanted.filter_map(|half| Some((half.settings(), Some(half.iodepth), half.n_half_bytes?))).collect();
        }
        let wanted = comparison.paths.iter().filter(|path| asked(path.settings()));
        wanted
            .filter_map(|path| {
                let change = match self.quantity {
                    Quantity::Peak => Some(path.peak_mbps),
                    Quantity::Cost => path.charged_us,
                    Quantity::P99 => path.latency_ns_p99,
                    Quantity::Throughput | Quantity::HalfPower => Some(path.throughput_mbps),
                };
                Some((path.settings(), None, change?))
            })
            .collect()
    }

    /// The estimate is on the side that is meant; where no change at all would not be, the interval has to lie
    /// clear of no change too, so that chance alone does not fulfil a condition.
    fn holds(&self, change: &Change) -> bool {
        self.fulfils(change.percent) && (self.fulfils(0.0) || change.clear_of_none())
    }

    fn fulfils(&self, percent: f64) -> bool {
        match self.comparator {
            Comparator::Below => percent < self.percent,
            Comparator::AtMost => percent <= self.percent,
            Comparator::Above => percent > self.percent,
            Comparator::AtLeast => percent >= self.percent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(percent: f64, reach: Option<f64>) -> Change {
        let ends = reach.map(|reach| (percent - reach, percent + reach));
        Change {
            a: 100.0,
            b: 100.0 + percent,
            percent,
            low_percent: ends.map(|(low, _)| low),
            high_percent: ends.map(|(_, high)| high),
            p: None,
            different: false,
        }
    }

    #[test]
    fn conditions_are_read_as_people_write_them() {
        let condition: Condition = " random  read peak<-5% ".parse().unwrap();
        assert_eq!(
            (condition.pattern, condition.rw, condition.cache),
            (Some(Pattern::Random), Some(Direction::Read), None)
        );
        assert_eq!((condition.quantity, condition.comparator), (Quantity::Peak, Comparator::Below));
        assert_eq!((condition.percent, condition.to_string().as_str()), (-5.0, "random  read peak<-5%"));
        let condition: Condition = "all throughput >= +2.5 %".parse().unwrap();
        assert_eq!((condition.rw, condition.comparator, condition.percent), (None, Comparator::AtLeast, 2.5));
        let condition: Condition = "write device half_power > 0%".parse().unwrap();
        assert_eq!((condition.cache, condition.quantity), (Some(Cache::Device), Quantity::HalfPower));
        assert!("cost <= 10%".parse::<Condition>().is_ok());
    }

    #[test]
    fn an_error_points_at_the_character() {
        let cases = [
            ("", 0, "quantity is missing"),
            ("read", 4, "quantity is missing"),
            ("read pek < -5%", 5, "`pek` is not known"),
            ("read write peak < -5%", 5, "again"),
            ("all read peak < -5%", 4, "again"),
            ("read peak -5%", 10, "one of <"),
            ("read peak = -5%", 10, "one of <"),
            ("read peak < 5", 13, "a % is wanted"),
            ("read peak < five%", 12, "a percentage"),
            ("read peak <", 11, "a percentage"),
            ("read peak < -5% or so", 14, "a % is wanted"),
            ("read peak < -100%", 12, "100%"),
            ("read µ < 1%", 5, "`µ` is not known"),
        ];
        for (text, at, message) in cases {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.at == at && error.message.contains(message), "`{text}`: {} {error}", error.at);
        }
    }

    #[test]
    fn chance_alone_fulfils_no_condition() {
        let slower: Condition = "read peak < -5%".parse().unwrap();
        assert!(slower.holds(&change(-9.0, Some(2.0))));
        assert!(!slower.holds(&change(-4.0, Some(2.0))), "not far enough");
        assert!(!slower.holds(&change(-9.0, Some(10.0))), "it may be no change at all");
        assert!(!slower.holds(&change(-9.0, None)), "a single run");
        let not_faster: Condition = "read peak < 5%".parse().unwrap();
        assert!(not_faster.holds(&change(0.0, Some(2.0))) && not_faster.holds(&change(1.0, None)));
        assert!(!not_faster.holds(&change(6.0, Some(2.0))));
    }
}
