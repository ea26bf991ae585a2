//! Reads the published figures, their interpretations, kinds and remarks from `data`, and names the mechanism of the
//! model behind a figure.

use std::fmt;

use serde::Deserialize;

use crate::reproduction::workload::{PaperPattern, PaperWorkload};
use crate::{Allocation, Array};

const FIGURES: &str = include_str!("../../data/paper-figures.csv");
const READINGS: &str = include_str!("../../data/readings.csv");
const KINDS: &str = include_str!("../../data/kinds.csv");
const REMARKS: &str = include_str!("../../data/remarks.csv");

/// How a published figure bounds the quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Relation {
    /// It is the figure.
    #[serde(rename = "equals")]
    Equals,
    /// It is about the figure.
    #[serde(rename = "about")]
    About,
    /// It is at least the figure.
    #[serde(rename = "at least")]
    AtLeast,
    /// It is at most the figure; for a throughput, the figure is the peak reached.
    #[serde(rename = "at most")]
    AtMost,
    /// It is below the figure; for a throughput, slightly below.
    #[serde(rename = "less than")]
    LessThan,
    /// The figure is the lower end of a range.
    #[serde(rename = "range-low")]
    RangeLow,
    /// The figure is the upper end of a range.
    #[serde(rename = "range-high")]
    RangeHigh,
}

/// A published figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Figure {
    /// Its unique name.
    pub id: String,
    /// The study.
    pub source: String,
    /// Its place in the study.
    pub place: String,
    /// What was measured, in the table's own words.
    pub system: String,
    /// The workload, in the table's own words.
    pub workload: String,
    /// The quantity.
    pub quantity: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// How it bounds the quantity.
    pub relation: Relation,
    /// The study's words for it.
    pub quote: String,
}

/// What a figure proves if ours agrees with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It follows from no other figure, and agrees only within two bounds.
    Independent,
    /// It follows by arithmetic from other figures.
    Derived,
    /// Another row says it too.
    Repeated,
    /// It is met on one side whatever ours is.
    OneSided,
    /// It states a constant of a system.
    Given,
    /// A constant of a system was fitted to it.
    Fitted,
}

impl Kind {
    /// Every kind, the one that proves most first.
    pub const ALL: [Self; 6] =
        [Self::Independent, Self::Derived, Self::Repeated, Self::OneSided, Self::Given, Self::Fitted];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Independent => "independent",
            Self::Derived => "derived",
            Self::Repeated => "repeated",
            Self::OneSided => "one-sided",
            Self::Given => "given",
            Self::Fitted => "fitted",
        })
    }
}

/// The kind of a figure if neither its relation nor a system tells.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Judgement {
    /// The figure.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// The figures that it follows from or repeats, with spaces between them.
    pub of: String,
    /// Why.
    pub note: String,
}

/// How to interpret a figure if its own words leave the workload or the comparison open.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Reading {
    /// The figure.
    pub id: String,
    /// The quantity to use; empty for the figure's own.
    pub quantity: String,
    /// System and workload, `system: workload`; empty for the figure's own.
    pub ours: String,
    /// The system and workload to compare with, in the same form; empty for no comparison.
    pub against: String,
    /// Why it is not run in the directions that the figure's own words ask for; empty if it is.
    pub direction: String,
}

/// A remark on a figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Remark {
    /// The figure.
    pub id: String,
    /// `contradiction` (the studies disagree), `miss` (our figure is wrong), or `open` (no system gives it).
    pub kind: String,
    /// The remark: which side is taken, or the reason.
    pub text: String,
}

fn rows<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Vec<T> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Result<Vec<T>, csv::Error> = reader.deserialize().collect();
    rows.unwrap_or_else(|error| panic!("{name}, which ships with the crate, cannot be read: {error}"))
}

/// Every published figure, in the order of the studies.
pub fn figures() -> Vec<Figure> {
    rows("paper-figures.csv", FIGURES)
}

/// The interpretations of some figures.
pub fn readings() -> Vec<Reading> {
    rows("readings.csv", READINGS)
}

/// The kinds of some figures.
pub fn kinds() -> Vec<Judgement> {
    rows("kinds.csv", KINDS)
}

/// The remarks on some figures.
pub fn remarks() -> Vec<Remark> {
    rows("remarks.csv", REMARKS)
}

/// Quantities of the traffic on the disks' buses, by the start of their names.
const TRAFFIC: [&str; 6] = ["split_unit", "largest_piece", "smallest_piece", "probability", "drives_in_use", "disk_"];
const CACHE_TRAFFIC: [&str; 5] = ["coalesce", "prefetch", "preread", "queue_depth", "requests_outstanding"];

/// Quantities of a rate and a price, and of constants alone.
const OF_PRICES: [&str; 6] = ["price_", "kaps_per_", "maps_per_", "mb_per_", "iops_", "throughput_per_"];
const OF_CONSTANTS: [&str; 4] = ["capacity", "bus_rate", "requests_per_", "depth_per_"];

/// The main mechanism behind a quantity of a workload.
pub fn mechanism(quantity: &str, workload: &PaperWorkload) -> &'static str {
    let begins = |words: &[&str]| words.iter().any(|word| quantity.starts_with(word));
    if begins(&OF_PRICES) {
        return "arithmetic: our rate or capacity, and the published price";
    }
    if begins(&OF_CONSTANTS) {
        return "arithmetic: constants of the machine";
    }
    if begins(&["cpu_", "instructions_", "clocks_", "breakeven_", "cost_"]) {
        return cost(workload);
    }
    match () {
        () if begins(&CACHE_TRAFFIC) && workload.setting.buffered => "file cache: units of 64 KB, one at a time",
        () if begins(&TRAFFIC) => "volume: pieces and chunks",
        () if begins(&["bus_"]) => "bus: a command's set-up, its data, reselection",
        () => rate(workload),
    }
}

fn cost(workload: &PaperWorkload) -> &'static str {
    match () {
        () if over_network(workload) => "network: both ends' cost of a request and of a byte",
        () if workload.setting.pio => "host: the processor moves each byte itself",
        () if workload.setting.buffered => "file cache: call, copy and the transfers behind",
        () => "host: cost of a request and of a byte",
    }
}

fn over_network(workload: &PaperWorkload) -> bool {
    ["win2k-unc", "win2k-mapped", "win2k-gigabit"].contains(&workload.system)
}

/// What determines a throughput or a rate of requests.
fn rate(workload: &PaperWorkload) -> &'static str {
    let setting = &workload.setting;
    let writes = workload.writes.contains(&true);
    let random = workload.pattern == PaperPattern::Random;
    match () {
        () if over_network(workload) => "network: handshakes, stalls and one bus crossed twice",
        () if workload.pattern == PaperPattern::CacheHit => "adapter and peripheral bus: the drives' buffers answer",
        () if writes && setting.allocation != Allocation::Existing => "extension: one write at a time, zeroes first",
        () if setting.buffered && random => "file cache: one unit for each request",
        () if setting.buffered => "file cache: reading ahead and writing behind",
        () if setting.array == Array::Mirror => "mirror: both disks from 256 KB outstanding on",
        () if random => "arm: a seek and half a turn, the nearest first",
        () if setting.disks > 1 => "volume, bus and adapter: what disks share",
        () if setting.place > 0.0 => "disk: bands",
        () if writes && !setting.write_cache => "disk: a turn lost between writes",
        () if writes => "disk: writes gathered in its buffer",
        () => "disk: reading ahead at the rate of the medium",
    }
}
