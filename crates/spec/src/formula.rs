//! Parses and computes formulas over the figures of a profile's shapes, such as `max(100, 5 * log.flush_p99_us / 1000)`.
//!
//! A formula has numbers, figures (`SHAPE.FIGURE`), `+ - * /`, parentheses, `min`, `max`, `round`, and `if(a < b, x, y)`. It
//! computes with intervals: the result holds every value that figures within their intervals can give. It has no loops, no
//! names of its own and a bounded depth, so that a formula of anybody always ends.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::words::words;

words! {
    /// A figure of a shape, as formulas name it. The times of a shape with `--fdatasync` last until its writes are durable.
    Figure, "figure":
    /// Requests a second; commits a second of a shape with `--fdatasync 1`.
    PerSecond = "per_second",
    /// Throughput in decimal MB/s.
    Mbps = "mbps",
    /// Reads a second.
    ReadsPerSecond = "reads_per_second",
    /// Writes a second.
    WritesPerSecond = "writes_per_second",
    /// Requests a second of all additional random readers.
    BesidePerSecond = "beside_per_second",
    /// Mean time of a request in microseconds.
    Mean = "mean_us",
    /// Median time of a request.
    P50 = "p50_us",
    /// 99th percentile of that time.
    P99 = "p99_us",
    /// 99.9th percentile of that time.
    P999 = "p999_us",
    /// Median time of the flush alone.
    FlushP50 = "flush_p50_us",
    /// 99th percentile of that time.
    FlushP99 = "flush_p99_us",
    /// 99.9th percentile of that time.
    FlushP999 = "flush_p999_us",
    /// Median time of a read.
    ReadP50 = "read_p50_us",
    /// 99th percentile of that time.
    ReadP99 = "read_p99_us",
    /// Median time of a write.
    WriteP50 = "write_p50_us",
    /// 99th percentile of that time.
    WriteP99 = "write_p99_us",
}

impl Figure {
    /// The share of requests whose time it is, from 0 to 1; `None` for what is no percentile.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::P50 | Self::FlushP50 | Self::ReadP50 | Self::WriteP50 => Some(0.5),
            Self::P99 | Self::FlushP99 | Self::ReadP99 | Self::WriteP99 => Some(0.99),
            Self::P999 | Self::FlushP999 => Some(0.999),
            Self::PerSecond
            | Self::Mbps
            | Self::ReadsPerSecond
            | Self::WritesPerSecond
            | Self::BesidePerSecond
            | Self::Mean => None,
        }
    }

    /// Its unit, with a space before it.
    pub fn unit(self) -> &'static str {
        match self {
            Self::PerSecond | Self::ReadsPerSecond | Self::WritesPerSecond | Self::BesidePerSecond => " a second",
            Self::Mbps => " MB/s",
            _ => " \u{b5}s",
        }
    }
}

/// A number with the interval in which it is known to lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// The best estimate.
    pub value: f64,
    /// It is at least this.
    pub low: f64,
    /// It is at most this.
    pub high: f64,
}

impl Known {
    /// A number that is known exactly.
    pub fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// The operation on all pairs of ends; right where it rises or falls all the way in each number.
    fn with(self, other: Self, of: fn(f64, f64) -> f64) -> Self {
        let ends =
            [of(self.low, other.low), of(self.low, other.high), of(self.high, other.low), of(self.high, other.high)];
        let low = ends.into_iter().fold(f64::INFINITY, f64::min);
        let high = ends.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Self { value: of(self.value, other.value), low, high }
    }

    /// This value, with an interval that holds both.
    fn or(self, other: Self) -> Self {
        Self { value: self.value, low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn is_finite(self) -> bool {
        self.value.is_finite() && self.low.is_finite() && self.high.is_finite()
    }
}

/// A formula over the figures of a profile's shapes.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    text: String,
    root: Node,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Number(f64),
    /// A figure of the shape of this index.
    Figure(usize, Figure),
    Pair(Operation, Box<[Node; 2]>),
    Round(Box<Node>),
    /// Two sides, and the values where the comparison holds and where not.
    If(Comparison, Box<[Node; 4]>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operation {
    Sum,
    Difference,
    Product,
    Quotient,
    Least,
    Most,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Most characters of a formula, and most parentheses within each other.
const MOST_CHARACTERS: usize = 400;
const MOST_DEPTH: u32 = 32;
/// Characters of a longer one that an error shows.
const SHOWN: usize = 20;
/// What may stand where a value is expected.
const VALUE: &str = "write a number, a figure such as log.p99_us, or min, max, round or if with (...)";

impl Formula {
    /// The formula of this text over the figures of shapes of these names.
    ///
    /// # Errors
    /// If it is no formula, or names a shape or a figure that does not exist; the error points at the character.
    pub fn parse(text: &str, shapes: &[&str]) -> Result<Self, ParseError> {
        if text.chars().count() > MOST_CHARACTERS {
            let begins: String = text.chars().take(SHOWN).collect();
            let message = format!("a formula has at most {MOST_CHARACTERS} characters");
            return Err(ParseError::new(&format!("{begins}..."), 0, message));
        }
        let mut reader = Reader { text, at: 0, depth: 0, shapes };
        let root = reader.sum()?;
        reader.skip_spaces();
        if reader.at < text.len() {
            return reader.wrong("write + - * / here, or end the formula");
        }
        Ok(Self { text: text.to_string(), root })
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value, from the figure of each shape by its index. `None` if a figure that it needs is unknown, or if it divides by
    /// what may be 0.
    pub fn value(&self, figure: &dyn Fn(usize, Figure) -> Option<Known>) -> Option<Known> {
        self.root.value(figure).filter(|known| known.is_finite())
    }

    /// Whether the figures leave open which value an `if` takes, so that the formula's value may be a choice that they do not
    /// tell from another one.
    pub fn is_open(&self, figure: &dyn Fn(usize, Figure) -> Option<Known>) -> bool {
        self.root.is_open(figure)
    }

    /// The figures that it names, each with the index of its shape, in their order.
    pub fn figures(&self) -> Vec<(usize, Figure)> {
        let mut found = Vec::new();
        self.root.figures(&mut found);
        found
    }
}

impl Node {
    fn value(&self, figure: &dyn Fn(usize, Figure) -> Option<Known>) -> Option<Known> {
        match self {
            Self::Number(number) => Some(Known::exact(*number)),
            Self::Figure(shape, of) => figure(*shape, *of),
            Self::Round(node) => {
                let Known { value, low, high } = node.value(figure)?;
                Some(Known { value: value.round(), low: low.round(), high: high.round() })
            }
            Self::Pair(operation, sides) => {
                let [left, right] = sides.as_ref();
                operation.of(left.value(figure)?, right.value(figure)?)
            }
            Self::If(comparison, parts) => {
                let [left, right, then, otherwise] = parts.as_ref();
                let (left, right) = (left.value(figure)?, right.value(figure)?);
                match comparison.is_certain(left, right) {
                    Some(true) => then.value(figure),
                    Some(false) => otherwise.value(figure),
                    None if comparison.holds(left.value, right.value) => {
                        Some(then.value(figure)?.or(otherwise.value(figure)?))
                    }
                    None => Some(otherwise.value(figure)?.or(then.value(figure)?)),
                }
            }
        }
    }

    /// Whether a comparison that decides about the value holds for some values in the intervals and not for others.
    fn is_open(&self, figure: &dyn Fn(usize, Figure) -> Option<Known>) -> bool {
        match self {
            Self::Number(_) | Self::Figure(..) => false,
            Self::Round(node) => node.is_open(figure),
            Self::Pair(_, sides) => sides.iter().any(|side| side.is_open(figure)),
            Self::If(comparison, parts) => {
                let [left, right, then, otherwise] = parts.as_ref();
                let Some((left, right)) = left.value(figure).zip(right.value(figure)) else { return false };
                match comparison.is_certain(left, right) {
                    Some(true) => then.is_open(figure),
                    Some(false) => otherwise.is_open(figure),
                    None => true,
                }
            }
        }
    }

    fn figures(&self, found: &mut Vec<(usize, Figure)>) {
        match self {
            Self::Number(_) => {}
            Self::Figure(shape, figure) => {
                if !found.contains(&(*shape, *figure)) {
                    found.push((*shape, *figure));
                }
            }
            Self::Round(node) => node.figures(found),
            Self::Pair(_, sides) => sides.iter().for_each(|side| side.figures(found)),
            Self::If(_, parts) => parts.iter().for_each(|part| part.figures(found)),
        }
    }
}

impl Operation {
    /// `None` for a division by what may be 0.
    fn of(self, left: Known, right: Known) -> Option<Known> {
        let of: fn(f64, f64) -> f64 = match self {
            Self::Sum => |left, right| left + right,
            Self::Difference => |left, right| left - right,
            Self::Product => |left, right| left * right,
            Self::Quotient if right.low <= 0.0 && right.high >= 0.0 => return None,
            Self::Quotient => |left, right| left / right,
            Self::Least => f64::min,
            Self::Most => f64::max,
        };
        Some(left.with(right, of))
    }
}

impl Comparison {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::More => left > right,
            Self::AtLeast => left >= right,
        }
    }

    /// Whether it holds for all values in the intervals, or for none; `None` if for some.
    fn is_certain(self, left: Known, right: Known) -> Option<bool> {
        let corners = [self.holds(left.low, right.high), self.holds(left.high, right.low)];
        (corners[0] == corners[1]).then_some(corners[0])
    }
}

/// Reads a formula from left to right.
struct Reader<'a> {
    text: &'a str,
    /// Byte offset of the next character.
    at: usize,
    depth: u32,
    shapes: &'a [&'a str],
}

impl<'a> Reader<'a> {
    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError::new(self.text, self.at, what))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Passes this sign if it comes next.
    fn takes(&mut self, sign: &str) -> bool {
        self.skip_spaces();
        let is_next = self.rest().starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    fn needs(&mut self, sign: &str) -> Result<(), ParseError> {
        if self.takes(sign) { Ok(()) } else { self.wrong(format!("write {sign} here")) }
    }

    /// The characters that belong together from here on.
    fn run(&mut self, is_part: fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let run = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        self.at += run.len();
        run
    }

    fn sum(&mut self) -> Result<Node, ParseError> {
        let mut left = self.product()?;
        loop {
            let operation = match () {
                () if self.takes("+") => Operation::Sum,
                () if self.takes("-") => Operation::Difference,
                () => return Ok(left),
            };
            left = Node::Pair(operation, Box::new([left, self.product()?]));
        }
    }

    fn product(&mut self) -> Result<Node, ParseError> {
        let mut left = self.value()?;
        loop {
            let operation = match () {
                () if self.takes("*") => Operation::Product,
                () if self.takes("/") => Operation::Quotient,
                () => return Ok(left),
            };
            left = Node::Pair(operation, Box::new([left, self.value()?]));
        }
    }

    fn value(&mut self) -> Result<Node, ParseError> {
        if self.depth == MOST_DEPTH {
            return self.wrong(format!("at most {MOST_DEPTH} parentheses may stand within each other"));
        }
        self.depth += 1;
        let value = self.value_within()?;
        self.depth -= 1;
        Ok(value)
    }

    fn value_within(&mut self) -> Result<Node, ParseError> {
        if self.takes("(") {
            let inner = self.sum()?;
            return self.needs(")").map(|()| inner);
        }
        if self.takes("-") {
            return Ok(Node::Pair(Operation::Difference, Box::new([Node::Number(0.0), self.value()?])));
        }
        match self.rest().chars().next() {
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.named(),
            _ => self.wrong(VALUE),
        }
    }

    fn number(&mut self) -> Result<Node, ParseError> {
        let begins = self.at;
        let digits = self.run(|c| c.is_ascii_digit() || c == '.');
        match digits.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Node::Number(number)),
            _ => Err(ParseError::new(self.text, begins, "write a number such as 2 or 0.5")),
        }
    }

    /// A figure or a function.
    fn named(&mut self) -> Result<Node, ParseError> {
        let begins = self.at;
        let name = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.takes("(") {
            let call = self.call(name, begins)?;
            return self.needs(")").map(|()| call);
        }
        let Some(shape) = self.shapes.iter().position(|shape| *shape == name) else {
            let message = format!("there is no shape of this name; the shapes are {}", self.shapes.join(", "));
            return Err(ParseError::new(self.text, begins, message));
        };
        if !self.takes(".") {
            return self.wrong("write . and a figure after the name of a shape, such as .p99_us");
        }
        let begins = self.at;
        let figure = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
        let figure = figure.parse::<Figure>().map_err(|error| ParseError::new(self.text, begins, error.message))?;
        Ok(Node::Figure(shape, figure))
    }

    fn call(&mut self, name: &str, begins: usize) -> Result<Node, ParseError> {
        match name {
            "min" => self.folded(Operation::Least),
            "max" => self.folded(Operation::Most),
            "round" => Ok(Node::Round(Box::new(self.sum()?))),
            "if" => self.choice(),
            _ => Err(ParseError::new(self.text, begins, "there is no such function; write min, max, round or if")),
        }
    }

    /// Two values or more.
    fn folded(&mut self, operation: Operation) -> Result<Node, ParseError> {
        let mut left = self.sum()?;
        self.needs(",")?;
        loop {
            left = Node::Pair(operation, Box::new([left, self.sum()?]));
            if !self.takes(",") {
                return Ok(left);
            }
        }
    }

    fn choice(&mut self) -> Result<Node, ParseError> {
        let left = self.sum()?;
        let comparison = match () {
            () if self.takes("<=") => Comparison::AtMost,
            () if self.takes("<") => Comparison::Less,
            () if self.takes(">=") => Comparison::AtLeast,
            () if self.takes(">") => Comparison::More,
            () => return self.wrong("compare here, by < <= > or >="),
        };
        let right = self.sum()?;
        self.needs(",")?;
        let then = self.sum()?;
        self.needs(",")?;
        let otherwise = self.sum()?;
        Ok(Node::If(comparison, Box::new([left, right, then, otherwise])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [&str; 2] = ["log", "read"];

    /// Every figure of `log` is 200 (180 to 220), of `read` 50 (exactly).
    fn figure(shape: usize, _: Figure) -> Option<Known> {
        match shape {
            0 => Some(Known { value: 200.0, low: 180.0, high: 220.0 }),
            _ => Some(Known::exact(50.0)),
        }
    }

    fn value(text: &str) -> Option<Known> {
        Formula::parse(text, &SHAPES).unwrap().value(&figure)
    }

    #[test]
    fn a_choice_is_open_where_the_intervals_do_not_decide_it() {
        for (text, is_open) in [
            ("log.p50_us", false),
            ("if(log.p50_us < 210, 1, 2)", true),
            ("if(log.p50_us < 300, 1, 2)", false),
            ("read.mbps / if(log.p50_us > 4 * read.p50_us, 4, 2)", true),
            ("if(read.p50_us > 40, round(if(log.p50_us < 210, 1, 2)), 3)", true),
            ("if(read.p50_us > 60, if(log.p50_us < 210, 1, 2), 3)", false),
            // The comparison holds for either value of the inner choice.
            ("if(if(log.p50_us < 210, 1, 2) < 3, 5, 6)", false),
        ] {
            assert_eq!(Formula::parse(text, &SHAPES).unwrap().is_open(&figure), is_open, "{text}");
        }
    }

    #[test]
    fn formulas_compute_as_usual() {
        for (text, truth) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("10 - 4 - 3", 3.0),
            ("12 / 4 / 3", 1.0),
            ("-2 * -3", 6.0),
            ("max(1, 5, 3)", 5.0),
            ("min(4, 2)+1", 3.0),
            ("round(2.5)", 3.0),
            ("if(1 < 2, 10, 20)", 10.0),
            ("if(2 <= 1, 10, 20)", 20.0),
            ("if(read.p99_us >= 50, 1, 0)", 1.0),
            ("read.per_second / 2", 25.0),
        ] {
            assert_eq!(value(text), Some(Known::exact(truth)), "{text}");
        }
    }

    #[test]
    fn a_result_holds_what_the_intervals_allow() {
        let of = |text| value(text).map(|known| (known.value, known.low, known.high));
        assert_eq!(of("log.flush_p99_us / 1000"), Some((0.2, 0.18, 0.22)));
        assert_eq!(of("1000 - log.p50_us"), Some((800.0, 780.0, 820.0)));
        assert_eq!(of("9000 / log.p50_us * 2"), Some((90.0, 2.0 * 9000.0 / 220.0, 100.0)));
        assert_eq!(of("max(190, log.p50_us)"), Some((200.0, 190.0, 220.0)));
        // Which of both holds is open, so both are possible.
        assert_eq!(of("if(log.p50_us < 210, 1, 2)"), Some((1.0, 1.0, 2.0)));
        assert_eq!(of("if(log.p50_us > 210, 1, 2)"), Some((2.0, 1.0, 2.0)));
        assert_eq!(of("if(log.p50_us < 300, 1, 2)"), Some((1.0, 1.0, 1.0)));
        assert_eq!(of("1 / (log.p50_us - 200)"), None, "the divisor may be 0");
        assert_eq!(of("1 / 0"), None);
    }

    #[test]
    fn an_unknown_figure_has_no_value_unless_nothing_depends_on_it() {
        let formula = Formula::parse("if(log.p50_us < 1, read.p50_us, 3)", &SHAPES).unwrap();
        assert_eq!(formula.figures(), [(0, Figure::P50), (1, Figure::P50)]);
        let of_log = |shape: usize, _: Figure| (shape == 0).then_some(Known::exact(2.0));
        assert_eq!(formula.value(&of_log), Some(Known::exact(3.0)));
        assert_eq!(formula.value(&|_, _| None), None);
    }

    #[test]
    fn what_is_no_formula_is_refused_at_its_character() {
        for (text, at, what) in [
            ("", 0, "write a number"),
            ("1 +", 3, "write a number"),
            ("1 2", 2, "end the formula"),
            ("wal.p99_us", 0, "the shapes are log, read"),
            ("log.p98_us", 4, "flush_p99_us"),
            ("log + 1", 4, "write . and a figure"),
            ("sqrt(2)", 0, "no such function"),
            ("max(1)", 5, "write ,"),
            ("if(1, 2, 3)", 4, "compare here"),
            ("(1 + 2", 6, "write )"),
            ("1.2.3", 0, "write a number such as"),
            ("2 * \u{e9}", 4, "write a number"),
        ] {
            let error = Formula::parse(text, &SHAPES).unwrap_err();
            assert!(error.at == at && error.message.contains(what), "{text}: {error:?}");
        }
        let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
        assert!(Formula::parse(&deep, &SHAPES).unwrap_err().message.contains("parentheses"));
        assert!(Formula::parse(&"1+".repeat(300), &SHAPES).unwrap_err().message.contains("400 characters"));
    }

    #[test]
    fn every_figure_is_read_by_its_word_and_percentiles_say_which() {
        for figure in Figure::ALL {
            assert_eq!(figure.word().parse(), Ok(*figure));
            let is_percentile = figure.word().contains("p50") || figure.word().contains("p99");
            assert_eq!(figure.quantile().is_some(), is_percentile, "{figure}");
        }
    }
}
