//! Compares the simulated machines of the two studies with the published figures of the real ones, row by row and in
//! total.

mod answers;
mod arithmetic;
mod bench;
mod figures;
mod workload;

pub use bench::{Bench, Load, LoadOrder, Measured, Outcome, ProcessorSeconds, run};
pub use figures::{Figure, Judgement, Kind, Reading, Relation, figures, kinds, readings};
pub use workload::{PaperPattern, PaperWorkload};

use std::collections::HashMap;
use std::fmt;

use crate::SystemError;
use arithmetic::answer;
use figures::{Remark, mechanism, remarks};

/// Largest distance of a figure that counts as met, as a share of it.
const MET: f64 = 0.10;
/// Largest distance of a figure that counts as near.
const NEAR: f64 = 0.25;

/// How our figure agrees with the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agreement {
    /// A prediction within 10%.
    Within10,
    /// A prediction within 25%.
    Within25,
    /// A prediction with a larger error.
    Beyond,
    /// The studies contradict each other here; we take the other side.
    OtherSide,
    /// A constant of the system comes from this figure, or was fitted to it.
    NotPredicted,
    /// No system gives this figure.
    Open,
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Within10 => "within 10%",
            Self::Within25 => "within 25%",
            Self::Beyond => "beyond 25%",
            Self::OtherSide => "other side",
            Self::NotPredicted => "not predicted",
            Self::Open => "open",
        })
    }
}

/// Our figure: one, or one for each direction if the published one holds for reads and for writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ours {
    /// Of one direction, or the mean of both.
    Single(f64),
    /// Of reads and of writes.
    Apart {
        /// Of reads.
        reads: f64,
        /// Of writes.
        writes: f64,
    },
}

impl Ours {
    /// The one of them that is farther off.
    fn farther(self, off: impl Fn(f64) -> f64) -> f64 {
        match self {
            Self::Single(value) => value,
            Self::Apart { reads, writes } if off(writes) > off(reads) => writes,
            Self::Apart { reads, .. } => reads,
        }
    }
}

/// Three significant digits; reads / writes unless they look the same.
impl fmt::Display for Ours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Single(value) => f.pad(&short(value)),
            Self::Apart { reads, writes } if short(reads) == short(writes) => f.pad(&short(reads)),
            Self::Apart { reads, writes } => f.pad(&format!("{} / {}", short(reads), short(writes))),
        }
    }
}

/// Three significant digits.
fn short(value: f64) -> String {
    let value = if value.abs() < 5e-5 { 0.0 } else { value };
    let digits = if value == 0.0 { 0 } else { 2 - value.abs().log10().floor() as i32 };
    format!("{value:.*}", digits.clamp(0, 4) as usize)
}

/// A published figure and ours.
#[derive(Debug, Clone)]
pub struct Row {
    /// The figure.
    pub figure: Figure,
    /// What it proves if ours agrees.
    pub kind: Kind,
    /// The figures that a derived or repeated one follows from.
    pub of: Vec<String>,
    /// Ours, in the same unit.
    pub ours: Option<Ours>,
    /// The one of ours that is judged: of reads and writes, the one that is farther off.
    pub judged: Option<f64>,
    /// Its distance from what the figure allows, as a share of the figure.
    pub off: Option<f64>,
    /// The agreement.
    pub verdict: Agreement,
    /// Which part of the model gives our figure, and how; empty without one.
    pub mechanism: &'static str,
    /// Why it is off, open or on the other side; or which system gives it instead.
    pub remark: String,
    /// Whether the remark was written for this row rather than derived from its verdict.
    pub explained: bool,
}

/// All rows.
#[derive(Debug, Clone)]
pub struct Reproduction {
    /// One for each published figure.
    pub rows: Vec<Row>,
    /// Requests simulated for them.
    pub requests: u64,
}

/// The figures that constants of the systems come from.
#[derive(Default)]
struct Evidence {
    given: Vec<String>,
    fitted: Vec<String>,
}

/// Runs every published figure that a system can give.
///
/// # Errors
/// If an included system cannot be read, or lacks a part that a figure needs.
pub fn reproduce() -> Result<Reproduction, SystemError> {
    let mut bench = Bench::default();
    let readings: HashMap<String, Reading> = readings().into_iter().map(|row| (row.id.clone(), row)).collect();
    let remarks: HashMap<String, Remark> = remarks().into_iter().map(|row| (row.id.clone(), row)).collect();
    let judgements: HashMap<String, Judgement> = kinds().into_iter().map(|row| (row.id.clone(), row)).collect();
    let mut evidence = Evidence::default();
    for shipped in crate::systems() {
        let system = bench.system(shipped.name)?;
        evidence.given.extend(system.evidence.given.iter().cloned());
        evidence.fitted.extend(system.evidence.fitted.iter().cloned());
    }
    let mut rows = Vec::new();
    let all = figures();
    for figure in all.clone() {
        let Asked { ours, system, mechanism } = ask(&mut bench, &figure, readings.get(&figure.id))?;
        let end = range_end(&all, &figure);
        let judgement = judgements.get(&figure.id);
        let kind = kind(&evidence, judgement, &figure, end);
        let judged = ours.map(|ours| ours.farther(|value| off(&figure, value, end)));
        let off = judged.map(|value| off(&figure, value, end));
        let remark = remarks.get(&figure.id);
        let verdict = verdict(kind, off, remark);
        let explained = remark.is_some();
        let remark = remark.map_or_else(|| why(verdict, &figure, system), |remark| remark.text.clone());
        let of = judgement.map(|row| row.of.split_whitespace().map(str::to_string).collect()).unwrap_or_default();
        rows.push(Row { figure, kind, of, ours, judged, off, verdict, mechanism, remark, explained });
    }
    Ok(Reproduction { rows, requests: bench.requests() })
}

/// The kind of a figure: what a constant comes from first, then what was judged by hand, then what its relation says.
fn kind(evidence: &Evidence, judgement: Option<&Judgement>, figure: &Figure, range_end: Option<f64>) -> Kind {
    match judgement {
        _ if evidence.given.contains(&figure.id) => Kind::Given,
        _ if evidence.fitted.contains(&figure.id) => Kind::Fitted,
        Some(judgement) => judgement.kind,
        None if range_end.is_none() && bound(figure) != Bound::Both => Kind::OneSided,
        None => Kind::Independent,
    }
}

fn verdict(kind: Kind, off: Option<f64>, remark: Option<&Remark>) -> Agreement {
    match off {
        None => Agreement::Open,
        Some(_) if matches!(kind, Kind::Given | Kind::Fitted) => Agreement::NotPredicted,
        Some(off) if off <= MET => Agreement::Within10,
        Some(_) if remark.is_some_and(|remark| remark.kind == "contradiction") => Agreement::OtherSide,
        Some(off) if off <= NEAR => Agreement::Within25,
        Some(_) => Agreement::Beyond,
    }
}

/// The remark for a row without a written one.
fn why(verdict: Agreement, figure: &Figure, system: &str) -> String {
    if verdict != Agreement::Open {
        return system.to_string();
    }
    let quantity = figure.quantity.as_str();
    let priced = ["price", "dollar"].iter().any(|word| quantity.contains(word));
    let stated = figure.workload == "none";
    let text = match () {
        () if priced => "a price",
        () if stated => "a property that is stated, not measured",
        () if figure.workload.contains("target=memory") => "memory, which the systems do not model",
        () if figure.system == "market-2000" => "of the market, not of a machine",
        () => "no system measures this",
    };
    text.to_string()
}

/// Our figure, the system that gave it, and the mechanism.
#[derive(Default)]
struct Asked {
    ours: Option<Ours>,
    system: &'static str,
    mechanism: &'static str,
}

fn ask(bench: &mut Bench, figure: &Figure, reading: Option<&Reading>) -> Result<Asked, SystemError> {
    let parsed = |text: &str| match text.split_once(": ") {
        Some((system, words)) => PaperWorkload::parse(system, words),
        None if text.is_empty() => PaperWorkload::parse(&figure.system, &figure.workload),
        None => PaperWorkload::parse(&figure.system, text),
    };
    let asked = reading.map_or("", |reading| reading.quantity.as_str());
    let quantity = if asked.is_empty() { figure.quantity.as_str() } else { asked };
    let Some(workload) = parsed(reading.map_or("", |reading| reading.ours.as_str())) else {
        return Ok(Asked::default());
    };
    let against = reading.map_or("", |reading| reading.against.as_str());
    let other = if against.is_empty() { None } else { parsed(against) };
    if !against.is_empty() && other.is_none() {
        return Ok(Asked::default());
    }
    let both_ways = workload.is_both_ways() || other.as_ref().is_some_and(PaperWorkload::is_both_ways);
    let mut one_way = |write: bool| -> Result<Option<f64>, SystemError> {
        let value = answer(bench, quantity, &workload.one_way(write))?;
        let Some(other) = &other else { return Ok(value) };
        let base = answer(bench, quantity, &other.one_way(write))?;
        Ok(value.zip(base).and_then(|(value, base)| compare(&figure.quantity, value, base)))
    };
    let first = one_way(false)?;
    let ours = if both_ways {
        first.zip(one_way(true)?).map(|(reads, writes)| Ours::Apart { reads, writes })
    } else {
        first.map(Ours::Single)
    };
    let mechanism = if ours.is_some() { mechanism(quantity, &workload.one_way(false)) } else { "" };
    Ok(Asked { ours, system: workload.system, mechanism })
}

/// Compares two of our figures as the quantity's name requires.
fn compare(quantity: &str, ours: f64, base: f64) -> Option<f64> {
    let kind = quantity.rsplit('_').next()?;
    Some(match kind {
        _ if quantity == "bus_handshake_increase" => (ours / base - 2.0) * 100.0,
        "ratio" => ours / base,
        "gain" | "increase" => (ours / base - 1.0) * 100.0,
        "loss" | "saving" | "deficit" => (1.0 - ours / base) * 100.0,
        "added" => ours - base,
        "drop" => base - ours,
        _ => return None,
    })
}

/// The other end of the range that a figure is one end of.
fn range_end(all: &[Figure], figure: &Figure) -> Option<f64> {
    let low = figure.id.strip_suffix("-low").map(|id| format!("{id}-high"));
    let other = low.or_else(|| figure.id.strip_suffix("-high").map(|id| format!("{id}-low")))?;
    all.iter().find(|row| row.id == other).map(|row| row.value)
}

/// The sides on which a figure bounds the quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// It has to be met from both sides.
    Both,
    /// It is the least.
    Least,
    /// It is the most.
    Most,
}

/// How a figure is judged that is not the end of a range.
fn bound(figure: &Figure) -> Bound {
    let is_rate = figure.quantity == "throughput";
    match figure.relation {
        Relation::Equals | Relation::About => Bound::Both,
        Relation::AtLeast if figure.quantity == "plateau_start" => Bound::Both,
        Relation::AtMost if is_rate => Bound::Both,
        Relation::LessThan if is_rate && figure.quote.contains("slightly") => Bound::Both,
        Relation::AtLeast | Relation::RangeLow => Bound::Least,
        Relation::AtMost | Relation::LessThan | Relation::RangeHigh => Bound::Most,
    }
}

/// Distance of ours from what the figure allows, as a share of the figure; outside a range, from its nearer end.
fn off(figure: &Figure, ours: f64, other_end: Option<f64>) -> f64 {
    let over = ours / figure.value - 1.0;
    if over.is_nan() {
        return f64::INFINITY;
    }
    if let Some(other) = other_end {
        let low = other.min(figure.value);
        let high = other.max(figure.value);
        return (1.0 - ours / low).max(ours / high - 1.0).max(0.0);
    }
    match bound(figure) {
        Bound::Both => over.abs(),
        Bound::Least => (-over).max(0.0),
        Bound::Most => over.max(0.0),
    }
}

/// How the answered rows of one kind agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Rows within 10%.
    pub within_10: usize,
    /// Rows within 25%, but not within 10%.
    pub within_25: usize,
    /// Rows that are farther off.
    pub beyond: usize,
    /// Rows that another one contradicts, whose side we take.
    pub other_side: usize,
}

impl Tally {
    /// Rows that count: all but those on the other side.
    pub fn judged(&self) -> usize {
        self.within_10 + self.within_25 + self.beyond
    }

    /// Rows within 10%, as a share of those that count.
    pub fn share_within_10(&self) -> f64 {
        self.within_10 as f64 / self.judged() as f64
    }
}

impl Reproduction {
    /// Number of rows with this verdict.
    pub fn count(&self, verdict: Agreement) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// The answered rows of a kind, by agreement; given and fitted ones too, which are no predictions.
    pub fn tally(&self, kind: Kind) -> Tally {
        let mut tally = Tally::default();
        for row in self.rows.iter().filter(|row| row.kind == kind) {
            let counted = match (row.verdict, row.off) {
                (Agreement::OtherSide, _) => &mut tally.other_side,
                (_, Some(off)) if off <= MET => &mut tally.within_10,
                (_, Some(off)) if off <= NEAR => &mut tally.within_25,
                (_, Some(_)) => &mut tally.beyond,
                (_, None) => continue,
            };
            *counted += 1;
        }
        tally
    }

    /// The independent predictions: the rows that prove the model.
    pub fn headline(&self) -> Tally {
        self.tally(Kind::Independent)
    }

    /// Predictions within 10%, as a share of all predictions.
    pub fn share_within_10(&self) -> f64 {
        self.count(Agreement::Within10) as f64 / self.predictions() as f64
    }

    /// The same if contradicted rows were predictions.
    pub fn share_with_contradictions(&self) -> f64 {
        self.count(Agreement::Within10) as f64 / (self.predictions() + self.count(Agreement::OtherSide)) as f64
    }

    /// Rows that a system predicts.
    pub fn predictions(&self) -> usize {
        self.count(Agreement::Within10) + self.count(Agreement::Within25) + self.count(Agreement::Beyond)
    }
}
