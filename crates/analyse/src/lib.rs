//! What do the records say? Records in, findings out; pure, so that the same records always say the same.
//!
//! [`analyse`] says everything at once. The pieces are there for whoever plans the next run: [`cells`] groups,
//! [`curves`] finds half power, [`limits`] and [`costs`] fit, [`advice`] recommends. Every number's definition
//! stands in `docs/method.md`.

mod advice;
mod attribution;
mod bottleneck;
mod calibrate;
mod cells;
mod change;
mod compare;
mod compare_cells;
mod compare_condition;
mod compare_findings;
mod compare_notes;
mod compare_paths;
mod compare_price;
mod compare_spread;
mod compare_verdict;
mod cost;
mod experiments;
mod findings;
pub mod fit;
pub mod format;
mod half_power;
mod interval;
mod judged;
mod ladder;
mod limits;
mod path;
mod regime;
mod resample;
mod scatter;
mod shape;
mod steady;
mod verdict;
mod warm_up;
mod warnings;
mod waves;
mod witness;

use record::{Environment, Record};
use spec::Question;

pub use advice::advice;
pub use calibrate::{CalibrateError, Calibration, Ceilings, FittedWay, HeldOut, HeldOutWay, calibrate, check};
pub use cells::{cells, cells_within};
pub use compare::{Study, compare, compare_apart};
pub use compare_condition::{Condition, Quantity};
pub use compare_findings::{
    Accesses, CellComparison, CellSettings, Change, Comparison, ConditionCase, ConditionFinding, CostComparison,
    CostTerm, Floor, HalfPowerComparison, LeftOut, PathComparison, Practical, PriceRow, PriceTable, StudyFacts,
};
pub use compare_price::price;
pub use compare_verdict::{cell_words, signed};
pub use cost::costs;
pub use experiments::{
    AlignmentRow, AllocationRow, AnatomyRow, Axis, BufferedCostRow, BufferedRow, BurstRow, Cheaper, DurabilityRow,
    EngineRow, ExperimentFinding, Hit, HitRow, LimitedBy, Line, MemoryRow, MirrorRow, OverheadRow, Picture,
    PictureKind, Point, ProcessorRow, Rows, ScalingRow, StreamRow, ZoneRow, loop_ns_per_kib, memory,
};
pub use findings::{
    Advice, Attribution, Bottleneck, Bound, CellFinding, Cost, Curve, Findings, Interval, LatencySummary, LevelFinding,
    Limits, NoiseFinding,
};
pub use half_power::curves;
pub use interval::t95;
pub use judged::run_mbps;
pub use ladder::levels;
pub use limits::limits;
pub use path::peak;
pub use steady::{Burst, Steadiness, judge};

use bottleneck::Evidence;
use path::{Path, paths};
use regime::{Regimes, regimes};
use warnings::{Grounds, warnings};

/// Everything that `records`, taken in `environment` to answer `question`, have to say.
///
/// Any records will do, in any order: of an interrupted study, of runs that failed, of none at all. What they
/// do not tell is `None` or left out, and a warning says so.
pub fn analyse(question: &Question, environment: &Environment, records: &[Record]) -> Findings {
    let (experiments, rows) = experiments::tell(question, environment, records);
    let mut levels = levels(question, environment);
    experiments::with_measured_memory(&mut levels, &rows.memory);
    let gathered = cells::gather(&levels, records);
    let cells: Vec<CellFinding> = gathered.iter().map(|cell| cell.finding.clone()).collect();
    let paths = paths(&cells);
    let fitted: Vec<(Path<'_>, Regimes<'_>)> =
        paths.iter().map(|path| (path.clone(), regimes(path.usable()))).collect();
    let curves: Vec<Curve> =
        fitted.iter().flat_map(|(path, regimes)| half_power::curves_of(question, &levels, path, regimes)).collect();
    let limits = fitted.iter().map(|(path, regimes)| limits::limits_of(path, regimes)).collect();
    let cpus = environment.machine.cpus;
    let virtualised = environment.machine.virtualised.is_some();
    let known = ladder::with_measured(&levels, &rows);
    let mut judgement =
        bottleneck::judge(&Evidence { levels: &known, cells: &cells, paths: &fitted, cpus, virtualised });
    experiments::burst::with_measured_rate(&mut judgement.ladder, &rows);
    let (costs, advice) = (costs(&cells), advice(&cells));
    let harness_ns_per_io = harness_ns_per_io(records);
    let warnings = warnings(&Grounds {
        question,
        environment,
        levels: &levels,
        records,
        gathered: &gathered,
        cells: &cells,
        paths: &paths,
        advice: &advice,
        harness_ns_per_io,
    });
    Findings {
        target: question.target.clone(),
        machine: environment.machine.clone(),
        filesystem: environment.filesystem.clone(),
        device: environment.device.clone(),
        started_unix_ms: records.iter().map(|record| record.started_unix_ms).min().unwrap_or(0),
        runs: records.len(),
        seconds: records.iter().map(|record| u128::from(record.spent_ns)).sum::<u128>() as f64 / 1e9,
        verdict: match question.patterns().next() {
            Some(_) => verdict::verdict(&cells, &curves, judgement.sentence, &advice),
            None => verdict::of_experiments(&experiments),
        },
        levels: judgement.ladder,
        bottleneck: judgement.bottleneck,
        curves,
        limits,
        cost: costs,
        attribution: attribution::attribution(&gathered, &paths),
        advice,
        warnings,
        harness_ns_per_io,
        cells,
        experiments,
        rows,
    }
}

/// The median of what the records say, so that one disturbed calibration does not matter; 0 where none does.
fn harness_ns_per_io(records: &[Record]) -> f64 {
    let mut all: Vec<f64> = records.iter().map(|record| record.harness_ns_per_io).collect();
    all.retain(|ns| ns.is_finite() && *ns >= 0.0);
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}
