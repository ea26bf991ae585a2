//! Which small model does what a study measured? Findings enter, constants of a device with remarks on each leave.
//!
//! The model is [`model::Fitted`]: for each way through, the time of a request alone, how many go side by side and
//! what they come up against, and what a request costs the processor. [`check`] tells what such a model is worth:
//! fitted to one half of the cells, it predicts the other.

mod bill;
mod held_out;
mod passage;

use std::collections::BTreeMap;

use model::{Fitted, FittedDevice, FittedShared, Passage};
use spec::{Bytes, Cache, Direction, Pattern};

pub use held_out::{HeldOut, HeldOutWay, check};

use crate::compare_spread::median;
use crate::path::{Path, paths};
use crate::{CellFinding, Findings, LimitedBy, format};
use passage::Fit;

/// Why a study cannot be calibrated from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalibrateError {
    /// No walks of block size and depth.
    #[error(
        "the study has no runs of the experiments sequential and random, which show what block size and depth do: \
         measure those too (--experiments sequential,random) and calibrate again"
    )]
    NoWalks,
    /// Walks that say too little.
    #[error(
        "no way through the target can be fitted: {0}; measure more cells (a larger --budget, more of --bs and \
         --iodepth) and calibrate again"
    )]
    TooLittle(String),
}

/// Whose the ceilings are that a study of one device shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ceilings {
    /// Each further device brings another.
    #[default]
    Device,
    /// Further devices share them: a link, an adapter, a quota.
    Shared,
}

/// A fitted device, and what is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The device.
    pub fitted: Fitted,
    /// What each constant rests on, by its place in the text, for [`Fitted::to_toml`].
    pub remarks: BTreeMap<String, String>,
    /// How well each way through was met.
    pub ways: Vec<FittedWay>,
    /// What could not be fitted, a sentence each.
    pub unknown: Vec<String>,
}

/// How well one way through was met.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedWay {
    /// Its name in words, such as `random direct read`.
    pub words: String,
    /// Its constants.
    pub passage: Passage,
    /// Cells that it was fitted to.
    pub cells: usize,
    /// Half of them are predicted within this share of what was measured.
    pub half_within: f64,
    /// Nine tenths are.
    pub most_within: f64,
}

/// Fits a device to what was found; `span` is how much of the target was measured.
///
/// # Errors
/// Where nothing was measured that a constant could be fitted to.
pub fn calibrate(findings: &Findings, span: Bytes, ceilings: Ceilings) -> Result<Calibration, CalibrateError> {
    let mut unknown = Vec::new();
    let mut fits = Vec::new();
    let cells = typical(&findings.cells);
    for path in paths(&cells) {
        match passage::fit(&path) {
            Ok(fit) => fits.push((key(&path), path.words(), with_bill(fit, &path, findings))),
            Err(why) => unknown.push(format!("{}: {why}.", path.words())),
        }
    }
    if findings.cells.is_empty() {
        return Err(CalibrateError::NoWalks);
    }
    if fits.is_empty() {
        return Err(CalibrateError::TooLittle(unknown.join(" ").trim_end_matches('.').to_string()));
    }
    let name = findings.device.as_ref().map_or("device".to_string(), |device| device.name.clone());
    let mut remarks = BTreeMap::new();
    for (key, _, fit) in &mut fits {
        if ceilings == Ceilings::Shared {
            fit.remarks.remove("ceiling_mbps");
        }
        remarks.insert(format!("path.{key}"), fit.said());
        remarks.extend(fit.remarks.iter().map(|(constant, said)| (format!("path.{key}.{constant}"), said.clone())));
    }
    // As they were seen, before a ceiling is taken for what devices share.
    let ways = fits.iter().map(|(_, words, fit)| fit.way(words)).collect();
    let shared = shared(findings, ceilings, &mut fits, &mut remarks);
    unknown.extend(unseen(&fits));
    let fitted = Fitted {
        about: format!("{name} as {} runs on {} saw it", findings.runs, findings.target),
        device: FittedDevice { name, measured_mib: (span.0 >> 20).max(1), processors: findings.machine.cpus.max(1) },
        shared,
        path: fits.iter().map(|(key, _, fit)| (key.clone(), rounded(fit.passage))).collect(),
    };
    remarks.insert("device.measured_mib".to_string(), "how much of the target was measured".to_string());
    Ok(Calibration { fitted, remarks, ways, unknown })
}

/// The cells at the median of their runs: what a run beside some disturbance saw is not what the device does.
fn typical(cells: &[CellFinding]) -> Vec<CellFinding> {
    let at_median = |cell: &CellFinding| {
        let mut cell = cell.clone();
        if !cell.run_mbps.is_empty() {
            cell.mbps.value = median(cell.run_mbps.clone());
        }
        cell
    };
    cells.iter().map(at_median).collect()
}

fn key(path: &Path<'_>) -> String {
    Fitted::key(path.pattern, path.cache, path.rw)
}

/// The path as settings.
fn settings(path: &Path<'_>) -> (Pattern, Cache, Direction) {
    (path.pattern, path.cache, path.rw)
}

fn with_bill(mut fit: Fit, path: &Path<'_>, findings: &Findings) -> Fit {
    bill::add(&mut fit, path, &findings.cost);
    fit
}

/// What members side by side were seen to share; or the ceilings of a single device, where those are shared.
fn shared(
    findings: &Findings,
    ceilings: Ceilings,
    fits: &mut [(String, String, Fit)],
    remarks: &mut BTreeMap<String, String>,
) -> FittedShared {
    let mut of = |rw: Direction| {
        let place = format!("shared.{rw}_mbps");
        if ceilings == Ceilings::Shared {
            let here = fits.iter_mut().filter(|(key, ..)| key.ends_with(rw.word()));
            let ceilings: Vec<f64> = here.filter_map(|(_, _, fit)| fit.passage.ceiling_mbps.take()).collect();
            let most = ceilings.iter().copied().reduce(f64::max)?;
            let ways = if ceilings.len() == 1 { "one way".to_string() } else { format!("{} ways", ceilings.len()) };
            remarks.insert(place, format!("fitted: the most of the ceilings of {ways}, taken for what devices share"));
            return Some(significant(most));
        }
        let rows = findings.rows.scaling.iter().filter(|row| row.rw == rw && row.limited_by == LimitedBy::Shared);
        let most = rows.max_by(|one, other| one.mbps.total_cmp(&other.mbps))?;
        let said = format!("measured: {} members together ({} {rw}s)", most.n, most.pattern);
        remarks.insert(place, said);
        Some(significant(most.mbps))
    };
    let shared = FittedShared { read_mbps: of(Direction::Read), write_mbps: of(Direction::Write) };
    let missing: Vec<&str> = [(shared.read_mbps, "read_mbps"), (shared.write_mbps, "write_mbps")]
        .into_iter()
        .filter_map(|(found, name)| found.is_none().then_some(name))
        .collect();
    if !missing.is_empty() {
        let text = format!(
            "What several devices would share: {} unknown, since a single device does not show it.\n\
             Where you know it, write it here or say --set shared.read_mbps=...",
            missing.join(" and ") + if missing.len() == 1 { " is" } else { " are" }
        );
        remarks.insert("shared".to_string(), text);
    }
    shared
}

/// What of the model no cell showed.
fn unseen(fits: &[(String, String, Fit)]) -> Vec<String> {
    let named = |lacks: &dyn Fn(&Fit) -> bool| -> Option<String> {
        let words: Vec<&str> = fits.iter().filter(|(.., fit)| lacks(fit)).map(|(_, words, _)| words.as_str()).collect();
        (!words.is_empty()).then(|| words.join(", "))
    };
    let depth = named(&|fit| !fit.parallelism_seen)
        .map(|ways| format!("How many requests go side by side: no cell was bound by it ({ways})."));
    let soaker = named(&|fit| !fit.unseen_known)
        .map(|ways| format!("Processor time that nobody is charged: no run beside the soaker ({ways})."));
    [depth, soaker].into_iter().flatten().collect()
}

/// Four significant digits: more would claim more than is known.
fn significant(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn rounded(passage: Passage) -> Passage {
    Passage {
        fixed_us: significant(passage.fixed_us),
        us_per_kib: significant(passage.us_per_kib),
        side_by_side: passage.side_by_side.map(significant),
        ceiling_mbps: passage.ceiling_mbps.map(significant),
        ceiling_iops: passage.ceiling_iops.map(significant),
        charged_us: significant(passage.charged_us),
        charged_us_per_kib: significant(passage.charged_us_per_kib),
        wait_us: significant(passage.wait_us),
        unseen_us: significant(passage.unseen_us),
        unseen_us_per_kib: significant(passage.unseen_us_per_kib),
    }
}

/// A share of cells below `share` of all: the value that so many do not exceed.
fn within(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
}

/// The range of what was measured, in words.
fn range_words(cells: &[&crate::CellFinding]) -> String {
    let ends = |of: &dyn Fn(&crate::CellFinding) -> u64| {
        let values = || cells.iter().map(|cell| of(cell));
        (values().min().unwrap_or(0), values().max().unwrap_or(0))
    };
    let (least, most) = ends(&|cell| cell.bs_bytes);
    let (shallow, deep) = ends(&|cell| u64::from(cell.total_depth()));
    format!("{} to {}, {shallow} to {deep} deep", format::size(least as f64), format::size(most as f64))
}
