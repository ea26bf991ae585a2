//! Reads conditions such as `random read iops < -5%`, and checks them against comparisons.
//!
//! All conditions of a command are one family of tests, corrected by Holm's method: two studies of one system fulfil any of
//! them by chance in at most one of twenty comparisons.
//!
//! ```text
//! condition  = { narrowing } quantity comparison limit
//! narrowing  = "sequential" | "random" | "read" | "write" | "all" | "both" | "os" | "device" | "none"
//!            | "bs=" size | "iodepth=" number
//! quantity   = "peak" | "half_power" | "cost" | "p50" | "p99" | "throughput" | "iops"
//! comparison = "<" | "<=" | ">" | ">="
//! limit      = [ sign ] number "%"     the change from A to B
//!            | sign number unit        B minus A
//!            | number unit             the figure in B
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use halfpower_spec::{Bytes, Cache, Direction, Nanos, ParseError, Pattern, Rate};

use super::change::ERROR;
use super::comparison::{
    CellComparison, Change, Comparison, ConditionCase, ConditionFinding, ConditionLimit, Quantity,
};
use super::spread::holm;
use crate::PathSettings;

/// Comparison operator of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparator {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Selection of cells or paths; `None` selects all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Narrowing {
    pattern: Option<Pattern>,
    rw: Option<Direction>,
    cache: Option<Cache>,
    bs_bytes: Option<u64>,
    iodepth: Option<u32>,
}

/// A condition on the change from A to B, or on the figure in B.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    narrowing: Narrowing,
    quantity: Quantity,
    comparator: Comparator,
    limit: ConditionLimit,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Narrowing {
    fn names(&self, path: PathSettings) -> bool {
        self.pattern.is_none_or(|wanted| wanted == path.pattern)
            && self.rw.is_none_or(|wanted| wanted == path.rw)
            && self.cache.is_none_or(|wanted| wanted == path.cache)
    }

    fn names_cell(&self, cell: &CellComparison) -> bool {
        self.names(cell.settings.path())
            && self.bs_bytes.is_none_or(|wanted| wanted == cell.settings.bs_bytes)
            && self.iodepth.is_none_or(|wanted| wanted == cell.settings.iodepth)
    }

    /// Whether it selects single cells of a path.
    fn is_of_cells(&self) -> bool {
        self.bs_bytes.is_some() || self.iodepth.is_some()
    }
}

/// Checks the conditions of one command against all its comparisons: for each comparison, one finding for each condition. A
/// finding has no case if the studies share nothing that its condition asks about.
pub fn check_conditions(conditions: &[Condition], comparisons: &[Comparison]) -> Vec<Vec<ConditionFinding>> {
    let unjudged = |one: &Comparison| -> Vec<ConditionFinding> {
        conditions.iter().map(|condition| condition.unjudged(one)).collect()
    };
    let mut checked: Vec<Vec<ConditionFinding>> = comparisons.iter().map(unjudged).collect();
    correct(&mut checked);
    for (finding, condition) in checked.iter_mut().flat_map(|findings| findings.iter_mut().zip(conditions)) {
        finding.cases.iter_mut().for_each(|case| case.holds = condition.holds(case));
        finding.holds = finding.cases.iter().any(|case| case.holds);
    }
    checked
}

/// Corrects the chances of all cases for the number of tests. One figure held against no change is one test, however many
/// conditions name it.
fn correct(checked: &mut [Vec<ConditionFinding>]) {
    let of_figure = |limit: ConditionLimit| match limit {
        ConditionLimit::Figure(figure) => Some(figure.to_bits()),
        ConditionLimit::Percent(_) | ConditionLimit::Difference(_) => None,
    };
    let test = |at: usize, limit: ConditionLimit, case: &ConditionCase| {
        case.p.map(|p| (at, case.change.percent.to_bits(), p.to_bits(), of_figure(limit)))
    };
    let mut chances = BTreeMap::new();
    for (at, finding) in checked.iter().enumerate().flat_map(|(at, all)| all.iter().map(move |one| (at, one))) {
        chances.extend(finding.cases.iter().filter_map(|case| Some((test(at, finding.limit, case)?, case.p?))));
    }
    let corrected = holm(&chances.values().copied().collect::<Vec<_>>());
    chances.values_mut().zip(corrected).for_each(|(chance, corrected)| *chance = corrected);
    for (at, finding) in checked.iter_mut().enumerate().flat_map(|(at, all)| all.iter_mut().map(move |one| (at, one))) {
        finding.tests = chances.len();
        for case in &mut finding.cases {
            case.p = test(at, finding.limit, case).and_then(|test| chances.get(&test).copied());
        }
    }
}

impl Condition {
    /// Everything that it asks about, with the chance of each case before any correction.
    fn unjudged(&self, comparison: &Comparison) -> ConditionFinding {
        let cases = match self.quantity {
            Quantity::HalfPower => self.half_powers(comparison),
            Quantity::Iops if !self.narrowing.is_of_cells() => self.busiest_cells(comparison),
            _ if self.narrowing.is_of_cells() => self.cells(comparison).filter_map(|cell| self.of_cell(cell)).collect(),
            _ => self.paths(comparison),
        };
        ConditionFinding { condition: self.text.clone(), limit: self.limit, holds: false, tests: 0, cases }
    }

    fn case(&self, path: PathSettings, cell: (Option<u32>, Option<u64>), change: Change) -> ConditionCase {
        let (iodepth, bs_bytes) = cell;
        let value = match self.limit {
            ConditionLimit::Percent(_) => change.percent,
            ConditionLimit::Difference(_) => change.b - change.a,
            ConditionLimit::Figure(_) => change.b,
        };
        let p = match self.limit {
            ConditionLimit::Figure(limit) => change.chance_at(limit),
            _ if self.is_fulfilled_by(0.0) => None,
            _ => change.chance(),
        };
        let fulfilled = self.is_fulfilled_by(value);
        ConditionCase { quantity: self.quantity, path, iodepth, bs_bytes, change, p, fulfilled, holds: false }
    }

    fn half_powers(&self, comparison: &Comparison) -> Vec<ConditionCase> {
        let depth = self.narrowing.iodepth;
        let wanted = comparison.half_power.iter().filter(|half| self.narrowing.names(half.path));
        let wanted = wanted.filter(|half| depth.is_none_or(|wanted| wanted == half.iodepth));
        wanted.filter_map(|half| Some(self.case(half.path, (Some(half.iodepth), None), half.n_half_bytes?))).collect()
    }

    fn paths(&self, comparison: &Comparison) -> Vec<ConditionCase> {
        let wanted = comparison.paths.iter().filter(|path| self.narrowing.names(path.path));
        wanted
            .filter_map(|path| {
                let change = match self.quantity {
                    Quantity::Peak => Some(path.peak_mbps),
                    Quantity::Cost => path.charged_us,
                    Quantity::P99 => path.latency_ns_p99,
                    _ => Some(path.throughput_mbps),
                };
                Some(self.case(path.path, (None, None), change?))
            })
            .collect()
    }

    fn cells<'a>(&self, comparison: &'a Comparison) -> impl Iterator<Item = &'a CellComparison> {
        comparison.cells.iter().filter(|cell| self.narrowing.names_cell(cell))
    }

    /// The cell with most requests a second in both studies, for each path. The best cell of one study alone is the best
    /// of its noise, so that the other study would seem slower.
    fn busiest_cells(&self, comparison: &Comparison) -> Vec<ConditionCase> {
        let log_iops = |cell: &CellComparison| {
            let [of_a, of_b] = [cell.runs_a, cell.runs_b].map(|runs| runs as f64);
            let log_mbps = (of_a * cell.mbps.a.ln() + of_b * cell.mbps.b.ln()) / (of_a + of_b);
            log_mbps - (cell.settings.bs_bytes as f64).ln()
        };
        let of_path = |settings: PathSettings| {
            let own = self.cells(comparison).filter(|cell| cell.settings.path() == settings);
            own.max_by(|one, other| log_iops(one).total_cmp(&log_iops(other)))
        };
        let paths = comparison.paths.iter().filter_map(|path| of_path(path.path));
        paths.filter_map(|cell| self.of_cell(cell)).collect()
    }

    fn of_cell(&self, cell: &CellComparison) -> Option<ConditionCase> {
        let change = match self.quantity {
            Quantity::Cost => cell.charged_us?,
            Quantity::P50 => cell.latency_ns_p50?,
            Quantity::P99 => cell.latency_ns_p99?,
            Quantity::Iops => cell.mbps.times(1e6 / cell.settings.bs_bytes as f64),
            Quantity::Throughput | Quantity::Peak | Quantity::HalfPower => cell.mbps,
        };
        let CellComparison { settings, .. } = cell;
        Some(self.case(settings.path(), (Some(settings.iodepth), Some(settings.bs_bytes)), change))
    }

    /// Whether a figure is on the required side beyond chance. A change is that if it is certain, or if no change at all
    /// would be on that side too.
    fn holds(&self, case: &ConditionCase) -> bool {
        let beyond_chance = case.p.is_some_and(|p| p < ERROR);
        let is_proven = match self.limit {
            ConditionLimit::Figure(_) => beyond_chance,
            ConditionLimit::Percent(_) | ConditionLimit::Difference(_) => {
                (beyond_chance && !case.change.others_used_the_disk) || self.is_fulfilled_by(0.0)
            }
        };
        case.fulfilled && is_proven
    }

    fn is_fulfilled_by(&self, value: f64) -> bool {
        let (ConditionLimit::Percent(limit) | ConditionLimit::Difference(limit) | ConditionLimit::Figure(limit)) =
            self.limit;
        match self.comparator {
            Comparator::Below => value < limit,
            Comparator::AtMost => value <= limit,
            Comparator::Above => value > limit,
            Comparator::AtLeast => value >= limit,
        }
    }
}

impl ConditionFinding {
    /// Whether any case has an interval; without one, nothing can be decided.
    pub fn can_be_decided(&self) -> bool {
        let interval = |case: &ConditionCase| match self.limit {
            ConditionLimit::Figure(_) => case.change.b_low.is_some(),
            _ => case.change.interval().is_some(),
        };
        self.cases.iter().any(interval)
    }
}

const QUANTITIES: [(&str, Quantity); 7] = [
    ("peak", Quantity::Peak),
    ("half_power", Quantity::HalfPower),
    ("cost", Quantity::Cost),
    ("p50", Quantity::P50),
    ("p99", Quantity::P99),
    ("throughput", Quantity::Throughput),
    ("iops", Quantity::Iops),
];
/// Longer ones first, because the shorter ones are their prefixes.
const COMPARATORS: [(&str, Comparator); 4] =
    [("<=", Comparator::AtMost), (">=", Comparator::AtLeast), ("<", Comparator::Below), (">", Comparator::Above)];
const WORDS: &str = "write [sequential|random] [read|write|all] [both|os|device|none] [bs=SIZE] [iodepth=N] and then one \
                     of peak, half_power, cost, p50, p99, throughput, iops";

impl FromStr for Condition {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut rest = Rest { text, at: 0 };
        let mut narrowing = Narrowing::default();
        let mut any_rw = false;
        let (at, quantity) = loop {
            let (at, word) = rest.word();
            if let Some((_, quantity)) = QUANTITIES.iter().find(|(name, _)| *name == word) {
                break (at, *quantity);
            }
            narrow(&mut narrowing, &mut any_rw, word).map_err(|why| ParseError::new(text, at, why))?;
        };
        let comparator = rest.comparator()?;
        let limit = rest.limit(quantity)?;
        let condition = Self { text: text.trim().to_string(), narrowing, quantity, comparator, limit };
        condition.suits().map_err(|why| ParseError::new(text, at, why))?;
        Ok(condition)
    }
}

/// Applies one word that selects paths or cells.
fn narrow(narrowing: &mut Narrowing, any_rw: &mut bool, word: &str) -> Result<(), String> {
    let twice = if let Ok(named) = word.parse() {
        narrowing.pattern.replace(named).is_some()
    } else if let Ok(named) = word.parse() {
        *any_rw || narrowing.rw.replace(named).is_some()
    } else if let Ok(named) = word.parse() {
        narrowing.cache.replace(named).is_some()
    } else if word == "all" {
        std::mem::replace(any_rw, true) || narrowing.rw.is_some()
    } else if let Some(size) = word.strip_prefix("bs=") {
        let size: Bytes = size.parse().map_err(|error: ParseError| error.message)?;
        narrowing.bs_bytes.replace(size.0).is_some()
    } else if let Some(depth) = word.strip_prefix("iodepth=") {
        let depth = depth.parse().ok().filter(|depth| *depth > 0);
        let depth = depth.ok_or_else(|| "a depth is a whole number such as iodepth=32".to_string())?;
        narrowing.iodepth.replace(depth).is_some()
    } else if word.is_empty() {
        return Err(format!("a quantity is missing here; {WORDS}"));
    } else {
        return Err(format!("`{word}` is not known here; {WORDS}"));
    };
    if twice { Err(format!("`{word}` says again what was said before; name one")) } else { Ok(()) }
}

impl Condition {
    /// Whether quantity, selection and limit go together.
    fn suits(&self) -> Result<(), String> {
        let Self { narrowing, quantity, limit, .. } = self;
        let name = QUANTITIES.iter().find(|(_, known)| known == quantity).map_or("", |(name, _)| *name);
        match quantity {
            Quantity::Peak if narrowing.is_of_cells() => {
                Err("peak is of a whole path: leave bs= and iodepth= out, or ask for throughput".to_string())
            }
            Quantity::HalfPower if narrowing.bs_bytes.is_some() => {
                Err("half_power is a block size itself: leave bs= out".to_string())
            }
            Quantity::Peak | Quantity::HalfPower | Quantity::Iops => Ok(()),
            _ if narrowing.is_of_cells() => Ok(()),
            Quantity::Throughput | Quantity::Cost | Quantity::P99 if matches!(limit, ConditionLimit::Percent(_)) => {
                Ok(())
            }
            _ => Err(format!("{name} differs from cell to cell: name bs= or iodepth= before it")),
        }
    }
}

/// The unread rest of a text.
struct Rest<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Rest<'a> {
    fn skip_space(&mut self) {
        let left = &self.text[self.at..];
        self.at += left.len() - left.trim_start().len();
    }

    /// The next run of letters, digits, `_`, `=` and `.`, or a single other character, with its position; empty at the
    /// end.
    fn word(&mut self) -> (usize, &'a str) {
        self.skip_space();
        let left = &self.text[self.at..];
        let inside = |c: char| c.is_alphanumeric() || "_=.".contains(c);
        let first = left.chars().next().map_or(0, char::len_utf8);
        let length = left.find(|c: char| !inside(c)).unwrap_or(left.len()).max(first);
        let at = self.at;
        let word = &left[..length];
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

    /// The rest of the text as a limit of this quantity.
    fn limit(&mut self, quantity: Quantity) -> Result<ConditionLimit, ParseError> {
        self.skip_space();
        let left = self.text[self.at..].trim_end();
        let refused = |why: String| ParseError::new(self.text, self.at, why);
        let wanted =
            || refused(format!("a change such as -5%, or a figure such as {}, is wanted here", example(quantity)));
        if let Some(number) = left.strip_suffix('%') {
            return match number.trim_end().parse::<f64>() {
                Ok(percent) if percent.is_finite() && percent > -100.0 => Ok(ConditionLimit::Percent(percent)),
                Ok(percent) if percent.is_finite() => Err(refused("nothing falls by 100% or more".to_string())),
                _ => Err(wanted()),
            };
        }
        let (sign, size) = match left.strip_prefix('-') {
            Some(size) => (Some(-1.0), size),
            None => left.strip_prefix('+').map_or((None, left), |size| (Some(1.0), size)),
        };
        let figure = figure(quantity, size.trim_start()).ok_or_else(wanted)?;
        Ok(sign.map_or(ConditionLimit::Figure(figure), |sign| ConditionLimit::Difference(sign * figure)))
    }
}

/// A figure of this quantity, with its unit, in the unit that comparisons use.
fn figure(quantity: Quantity, text: &str) -> Option<f64> {
    let with_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    match quantity {
        Quantity::Peak | Quantity::Throughput => text.parse().ok().map(|rate: Rate| rate.mbps()),
        Quantity::HalfPower => text.parse().ok().map(|size: Bytes| size.0 as f64),
        Quantity::P50 | Quantity::P99 if with_unit => text.parse().ok().map(|time: Nanos| time.0 as f64),
        Quantity::Cost if with_unit => text.parse().ok().map(|time: Nanos| time.0 as f64 / 1e3),
        Quantity::P50 | Quantity::P99 | Quantity::Cost => None,
        Quantity::Iops => {
            let (number, scale) = text.strip_suffix('k').map_or((text, 1.0), |number| (number, 1e3));
            number.parse().ok().map(|iops: f64| iops * scale).filter(|iops| iops.is_finite() && *iops >= 0.0)
        }
    }
}

fn example(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Peak | Quantity::Throughput => "500MB/s",
        Quantity::HalfPower => "64KiB",
        Quantity::P50 | Quantity::P99 => "2ms",
        Quantity::Cost => "8us",
        Quantity::Iops => "50k",
    }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Cache, Direction, Pattern};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::super::comparison::PathComparison;
    use super::super::spread::Estimate;
    use super::*;
    use crate::CellSettings;
    use crate::interval::tests::normal;

    const PATH: PathSettings = PathSettings { pattern: Pattern::Random, rw: Direction::Read, cache: Cache::Device };

    fn change(percent: f64, reach: Option<f64>) -> Change {
        let ends = reach.map(|reach| (percent - reach, percent + reach));
        Change {
            a: 100.0,
            b: 100.0 + percent,
            percent,
            low_percent: ends.map(|(low, _)| low),
            high_percent: ends.map(|(_, high)| high),
            b_low: ends.map(|(low, _)| 100.0 + low),
            b_high: ends.map(|(_, high)| 100.0 + high),
            p: None,
            others_used_the_disk: false,
            certain: false,
            different: false,
            freedom: f64::INFINITY,
            freedom_of_b: f64::INFINITY,
        }
    }

    /// Whether a single condition holds for a single figure.
    fn holds(condition: &Condition, change: Change) -> bool {
        condition.holds(&condition.case(PATH, (None, None), change))
    }

    fn condition(text: &str) -> Condition {
        text.parse().unwrap()
    }

    #[test]
    fn chance_alone_fulfils_no_condition() {
        let slower = condition("read peak < -5%");
        assert!(holds(&slower, change(-9.0, Some(2.0))));
        assert!(!holds(&slower, change(-4.0, Some(2.0))), "not far enough");
        assert!(!holds(&slower, change(-9.0, Some(10.0))), "it may be no change at all");
        assert!(!holds(&slower, change(-9.0, None)), "a single run");
        let not_faster = condition("read peak < 5%");
        assert!(holds(&not_faster, change(0.0, Some(2.0))) && holds(&not_faster, change(1.0, None)));
        assert!(!holds(&not_faster, change(6.0, Some(2.0))));
    }

    #[test]
    fn what_others_may_have_done_fulfils_no_condition() {
        let beside_others = Change { others_used_the_disk: true, ..change(-9.0, Some(2.0)) };
        assert!(!holds(&condition("read peak < -5%"), beside_others));
        assert!(!holds(&condition("read peak < -5MB/s"), beside_others));
    }

    #[test]
    fn a_figure_has_to_lie_on_its_side_with_its_whole_interval() {
        let below = condition("read peak < 95MB/s");
        assert!(holds(&below, change(-9.0, Some(2.0))));
        assert!(!holds(&below, change(-9.0, Some(5.0))), "it reaches 96");
        assert!(!holds(&below, change(-9.0, None)), "a single run");
        let above = condition("bs=4k p99 >= 90ns");
        assert!(holds(&above, change(-5.0, Some(4.9))) && !holds(&above, change(-5.0, Some(6.0))));
    }

    #[test]
    fn a_difference_is_counted_in_the_unit_of_the_figure() {
        let grown = condition("bs=4k iodepth=1 p99 > +8ns");
        assert!(holds(&grown, change(9.0, Some(2.0))));
        assert!(!holds(&grown, change(7.0, Some(2.0))), "not far enough");
        assert!(!holds(&grown, change(9.0, Some(10.0))), "it may be no difference at all");
    }

    #[test]
    fn conditions_are_read_as_people_write_them() {
        let condition: Condition = " random  read peak<-5% ".parse().unwrap();
        let Narrowing { pattern, rw, cache, .. } = condition.narrowing;
        assert_eq!((pattern, rw, cache), (Some(Pattern::Random), Some(Direction::Read), None));
        assert_eq!((condition.quantity, condition.comparator), (Quantity::Peak, Comparator::Below));
        assert_eq!(
            (condition.limit, condition.to_string().as_str()),
            (ConditionLimit::Percent(-5.0), "random  read peak<-5%")
        );
        let condition: Condition = "all throughput >= +2.5 %".parse().unwrap();
        assert_eq!((condition.narrowing.rw, condition.comparator), (None, Comparator::AtLeast));
        assert_eq!(condition.limit, ConditionLimit::Percent(2.5));
        let condition: Condition = "write device half_power > 0%".parse().unwrap();
        assert_eq!((condition.narrowing.cache, condition.quantity), (Some(Cache::Device), Quantity::HalfPower));
        assert!("cost <= 10%".parse::<Condition>().is_ok());
    }

    #[test]
    fn a_limit_without_a_sign_is_a_figure_and_with_one_a_difference() {
        use ConditionLimit::{Difference, Figure};
        let limits = [
            ("read peak < 1.5GB/s", Figure(1500.0)),
            ("read peak < -100MB/s", Difference(-100.0)),
            ("random read iops < 50k", Figure(50_000.0)),
            ("random read iops < 50000", Figure(50_000.0)),
            ("random read bs=4k iodepth=32 p99 > 1.5ms", Figure(1_500_000.0)),
            ("iodepth=1 p50 > + 20us", Difference(20_000.0)),
            ("bs=64KiB cost > 8us", Figure(8.0)),
            ("half_power > 64KiB", Figure(65_536.0)),
        ];
        for (text, limit) in limits {
            assert_eq!(text.parse::<Condition>().unwrap().limit, limit, "{text}");
        }
        let narrowing = "random bs=8k iodepth=4 iops > 0".parse::<Condition>().unwrap().narrowing;
        assert_eq!((narrowing.bs_bytes, narrowing.iodepth), (Some(8192), Some(4)));
    }

    #[test]
    fn an_error_points_at_the_character() {
        let cases = [
            ("", 0, "quantity is missing"),
            ("read", 4, "quantity is missing"),
            ("read pek < -5%", 5, "`pek` is not known"),
            ("read write peak < -5%", 5, "again"),
            ("all read peak < -5%", 4, "again"),
            ("bs=4k bs=8k iops > 1", 6, "again"),
            ("bs=4x iops > 1", 0, "no unit `x`"),
            ("iodepth=0 iops > 1", 0, "a depth is a whole number"),
            ("read peak -5%", 10, "one of <"),
            ("read peak = -5%", 10, "one of <"),
            ("read peak < 5", 12, "such as 500MB/s"),
            ("read peak < five%", 12, "a change such as -5%"),
            ("read peak <", 11, "a change such as -5%"),
            ("read peak < -5% or so", 12, "a change such as -5%"),
            ("bs=4k p99 > 5", 12, "such as 2ms"),
            ("read peak < -100%", 12, "100%"),
            ("read p99 > 5ms", 5, "name bs= or iodepth="),
            ("read p50 > 5%", 5, "name bs= or iodepth="),
            ("bs=4k peak < 5%", 6, "of a whole path"),
            ("bs=4k half_power < 5%", 6, "leave bs= out"),
            ("read µ < 1%", 5, "`µ` is not known"),
        ];
        for (text, at, message) in cases {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.at == at && error.message.contains(message), "`{text}`: {} {error}", error.at);
        }
    }

    /// A figure in four runs of each study, which vary by 3%; in B it is e^shift times that in A.
    fn figure(shift: f64, random: &mut Xoshiro256PlusPlus) -> (Change, Estimate) {
        let groups = [0.0, shift].map(|shift| [0.0; 4].map(|_: f64| 5.0 + shift + 0.03 * normal(random)));
        let means = groups.map(|group| group.iter().sum::<f64>() / 4.0);
        let squares = [0, 1].map(|at| groups[at].iter().map(|log| (log - means[at]).powi(2)).sum::<f64>());
        let error = ((squares[0] + squares[1]) / 6.0 / 2.0).sqrt();
        let estimate = Estimate { log_ratio: means[1] - means[0], error, freedom: 6.0 };
        let of_b = Estimate { log_ratio: means[1], error: (squares[1] / 3.0 / 4.0).sqrt(), freedom: 3.0 };
        (Change::of_logs(means[0], means[1], Some(estimate)).with_estimate_of_b(Some(of_b)), estimate)
    }

    /// Twelve cells of random reads, all of them e^shift times as fast in B, and the mean of their throughput.
    fn cells(shift: f64, random: &mut Xoshiro256PlusPlus) -> (Vec<CellComparison>, Estimate) {
        let mut cells = Vec::new();
        let mut estimates = Vec::new();
        let places = [1, 4, 16, 64].into_iter().flat_map(|depth| [4096, 65_536, 1 << 20].map(|size| (depth, size)));
        for (iodepth, bs_bytes) in places {
            let PathSettings { pattern, rw, cache } = PATH;
            let (mbps, estimate) = figure(shift, random);
            let (p99, _) = figure(-shift, random);
            estimates.push(estimate);
            cells.push(CellComparison {
                settings: CellSettings { pattern, rw, cache, iodepth, bs_bytes, threads: 1 },
                runs_a: 4,
                runs_b: 4,
                steady: true,
                mbps,
                latency_ns_p50: None,
                latency_ns_p99: Some(p99),
                charged_us: None,
            });
        }
        (cells, Estimate::mean(&estimates, &[]))
    }

    /// A comparison of these cells.
    fn comparison(shift: f64, random: &mut Xoshiro256PlusPlus) -> Comparison {
        let (cells, mean) = cells(shift, random);
        let path = PathComparison {
            path: PATH,
            cells: cells.len(),
            cells_different: 0,
            throughput_mbps: Change::of_logs(5.0, 5.0 + mean.log_ratio, Some(mean)),
            latency_ns_p99: None,
            charged_us: None,
            charged_kilocycles: None,
            peak_mbps: cells[0].mbps,
            peak_at_a: cells[0].settings,
            peak_at_b: cells[0].settings,
        };
        Comparison::of_figures(["A", "B"], cells, vec![path])
    }

    fn line(conditions: &[&str]) -> Vec<Condition> {
        conditions.iter().map(|text| condition(text)).collect()
    }

    /// Of 400 comparisons, how many fulfil any condition of the line.
    fn alarms(conditions: &[&str], shift: f64) -> usize {
        let conditions = line(conditions);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(35);
        let alarms = (0..400).filter(|_| {
            let checked = check_conditions(&conditions, &[comparison(shift, &mut random)]);
            checked[0].iter().any(|finding| finding.holds)
        });
        alarms.count()
    }

    /// The binomial margin of 5% of 400 is 2.2%: 29 of them.
    #[test]
    fn equal_systems_fulfil_a_line_of_conditions_as_often_as_said() {
        let lines: [&[&str]; 4] = [
            &["random read iops < 0%"],
            &["random read iops < 0%", "random read iops > 0%"],
            &["bs=4k iops < 0%", "bs=4k p99 > 0%", "bs=64k throughput < 0%", "random read throughput < 0%"],
            &["iodepth=1 p99 > 0%", "iodepth=4 p99 < 0%", "iodepth=16 iops < +0", "bs=1m iops > +0", "peak > 0%"],
        ];
        for line in lines {
            let mistaken = alarms(line, 0.0);
            assert!(mistaken <= 29, "{line:?}: {mistaken} of 400 comparisons of one system");
        }
        let found = alarms(&["random read iops < 0%", "bs=4k p99 > 0%", "throughput < -5%"], 0.9f64.ln());
        assert!(found >= 396, "a tenth less is found in {found} of 400 comparisons");
    }

    #[test]
    fn a_figure_counts_once_however_many_conditions_name_it() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let comparisons = [comparison(0.0, &mut random), comparison(0.0, &mut random)];
        let tests = |conditions: &[&str]| {
            let checked = check_conditions(&line(conditions), &comparisons);
            let tests: Vec<usize> = checked.iter().flatten().map(|finding| finding.tests).collect();
            assert!(tests.iter().all(|one| *one == tests[0]), "{tests:?}");
            tests[0]
        };
        assert_eq!(tests(&["bs=4k iodepth=1 iops < -5%"]), 2, "one in each comparison");
        assert_eq!(tests(&["bs=4k iops < -5%", "bs=4k throughput < -10%", "bs=4k throughput < -1MB/s"]), 8);
        assert_eq!(
            tests(&["bs=4k iops < -5%", "bs=4k iops < 1k", "bs=4k iops < 2k"]),
            24,
            "a figure has its own limit"
        );
        assert_eq!(tests(&["throughput < +5%"]), 0, "no change at all fulfils it: nothing has to be proven");
    }

    #[test]
    fn the_busiest_cell_is_that_of_both_studies() {
        let mut one = comparison(0.0, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        // The first cell has most in A, by far, and least in B.
        one.cells[0].mbps = Change::of_logs(5.3, 4.0, None);
        let checked = check_conditions(&line(&["random read iops < -5%"]), &[one]);
        let case = &checked[0][0].cases[0];
        assert!(case.bs_bytes == Some(4096) && case.iodepth != Some(1), "{case:?}");
    }
}
