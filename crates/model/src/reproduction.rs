//! Compares the simulated machines of the two studies with the published figures of the real ones, row by row and in
//! total.

mod answers;
mod bench;
mod figures;
mod workload;

pub use bench::{Bench, Load, LoadOrder, Measured, Outcome, ProcessorSeconds, run};
pub use figures::{Figure, Relation, figures};
pub use workload::{PaperPattern, PaperWorkload};

use std::collections::HashMap;
use std::fmt;

use crate::SystemError;
use answers::answer;
use figures::{Reading, Remark, mechanism, readings, remarks};

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

/// A published figure and ours.
#[derive(Debug, Clone)]
pub struct Row {
    /// The figure.
    pub figure: Figure,
    /// Ours, in the same unit.
    pub ours: Option<f64>,
    /// Distance of ours from what the figure allows, as a share of the figure.
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

/// Runs every published figure that a system can give.
///
/// # Errors
/// If an included system cannot be read, or lacks a part that a figure needs.
pub fn reproduce() -> Result<Reproduction, SystemError> {
    let mut bench = Bench::default();
    let readings: HashMap<String, Reading> = readings().into_iter().map(|row| (row.id.clone(), row)).collect();
    let remarks: HashMap<String, Remark> = remarks().into_iter().map(|row| (row.id.clone(), row)).collect();
    let mut evidence = Vec::new();
    for shipped in crate::systems() {
        let system = bench.system(shipped.name)?;
        evidence.extend(system.evidence.given.iter().chain(&system.evidence.fitted).cloned());
    }
    let mut rows = Vec::new();
    let all = figures();
    for figure in all.clone() {
        let Ours { value: ours, system, mechanism } = ask(&mut bench, &figure, readings.get(&figure.id))?;
        let off = ours.map(|ours| off(&figure, ours, range_end(&all, &figure)));
        let remark = remarks.get(&figure.id);
        let verdict = match off {
            None => Agreement::Open,
            Some(_) if evidence.contains(&figure.id) => Agreement::NotPredicted,
            Some(off) if off <= 0.10 => Agreement::Within10,
            Some(_) if remark.is_some_and(|remark| remark.kind == "contradiction") => Agreement::OtherSide,
            Some(off) if off <= 0.25 => Agreement::Within25,
            Some(_) => Agreement::Beyond,
        };
        let explained = remark.is_some();
        let remark = remark.map_or_else(|| why(verdict, &figure, system), |remark| remark.text.clone());
        rows.push(Row { figure, ours, off, verdict, mechanism, remark, explained });
    }
    Ok(Reproduction { rows, requests: bench.requests() })
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
struct Ours {
    value: Option<f64>,
    system: &'static str,
    mechanism: &'static str,
}

fn ask(bench: &mut Bench, figure: &Figure, reading: Option<&Reading>) -> Result<Ours, SystemError> {
    let own = || PaperWorkload::parse(&figure.system, &figure.workload);
    let ours = |value: Option<f64>, quantity: &str, workload: &PaperWorkload| Ours {
        value,
        system: workload.system,
        mechanism: if value.is_some() { mechanism(quantity, workload) } else { "" },
    };
    let Some(reading) = reading else {
        let Some(workload) = own() else { return Ok(Ours::default()) };
        return Ok(ours(answer(bench, &figure.quantity, &workload)?, &figure.quantity, &workload));
    };
    let quantity = if reading.quantity.is_empty() { &figure.quantity } else { &reading.quantity };
    let parsed = |text: &str| match text.split_once(": ") {
        Some((system, words)) => PaperWorkload::parse(system, words),
        None if text.is_empty() => own(),
        None => PaperWorkload::parse(&figure.system, text),
    };
    let Some(workload) = parsed(&reading.ours) else { return Ok(Ours::default()) };
    let Some(value) = answer(bench, quantity, &workload)? else { return Ok(Ours::default()) };
    if reading.against.is_empty() {
        return Ok(ours(Some(value), quantity, &workload));
    }
    let Some(other) = parsed(&reading.against) else { return Ok(Ours::default()) };
    let Some(base) = answer(bench, quantity, &other)? else { return Ok(Ours::default()) };
    Ok(ours(compare(&figure.quantity, value, base), quantity, &workload))
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

/// Distance of ours from what the figure allows, as a share of the figure; outside a range, from its nearer end.
fn off(figure: &Figure, ours: f64, other_end: Option<f64>) -> f64 {
    let over = ours / figure.value - 1.0;
    if let Some(other) = other_end {
        let low = other.min(figure.value);
        let high = other.max(figure.value);
        return (1.0 - ours / low).max(ours / high - 1.0).max(0.0);
    }
    let is_rate = figure.quantity == "throughput";
    let off = match figure.relation {
        Relation::Equals | Relation::About => over.abs(),
        Relation::AtLeast if figure.quantity == "plateau_start" => over.abs(),
        Relation::AtMost if is_rate => over.abs(),
        Relation::LessThan if is_rate && figure.quote.contains("slightly") => over.abs(),
        Relation::AtLeast | Relation::RangeLow => (-over).max(0.0),
        Relation::AtMost | Relation::LessThan | Relation::RangeHigh => over.max(0.0),
    };
    if off.is_nan() { f64::INFINITY } else { off }
}

impl Reproduction {
    /// Number of rows with this verdict.
    pub fn count(&self, verdict: Agreement) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Predictions within 10%, as a share of all predictions.
    pub fn share_within_10(&self) -> f64 {
        let all = self.count(Agreement::Within10) + self.count(Agreement::Within25) + self.count(Agreement::Beyond);
        self.count(Agreement::Within10) as f64 / all as f64
    }
}
