//! Turns records into findings: numbers and enums with the evidence for them, and no prose.
//!
//! Pure: the same records always give the same findings. [`analyse`] computes all of them. The planner of the next run
//! uses the pieces: [`cells`] groups records, [`curves`] finds half power, [`limits`] and [`costs`] fit, [`advice`]
//! recommends. `docs/method` defines every number; `crates/report` writes every sentence.

mod advice;
mod alike;
mod attribution;
mod beside;
mod bottleneck;
mod busiest;
mod calibrate;
mod cells;
mod change;
mod checks;
mod compare;
mod cost;
mod direction_stop;
mod duet;
mod experiment_cells;
mod explained;
mod far_cell;
mod far_end;
mod faults;
mod findings;
pub mod fit;
mod fleet;
mod half_power;
mod headline;
mod history;
mod how_fast;
mod interval;
mod judged;
mod ladder;
mod levels;
mod limits;
mod mean;
mod met_limit;
mod order;
mod path;
mod path_model;
mod percentiles;
pub mod policy;
mod predicted;
mod regime;
mod replayed;
mod session_cell;
mod sessions;
mod settings;
mod steady;
mod stopped_by;
mod study_findings;
mod summary;
mod surroundings;
mod tcp_cell;
mod thread_scaling;
mod to_change;
mod trial;
mod warnings;
mod watched;
mod waves;
mod weather;
mod what_to_set;

use halfpower_record::{Environment, Record};
use halfpower_spec::{Question, Way};

pub use advice::advice;
pub use alike::{
    AlikeMachines, LEAST_MACHINES, MachineLevel, MachineLevels, UnlikeFigure, UnlikeMachine, alike_machines,
};
pub use beside::BesideRow;
pub use busiest::BusiestProcessor;
pub use calibrate::{
    CalibrateError, Calibration, Ceilings, FittedPath, HeldOut, HeldOutPath, MeasuredRange, NotFitted, Remark,
    Unfittable, calibrate, check,
};
pub use cells::{cells, cells_within};
pub use change::change_point;
pub use checks::{CheckChange, CheckDifference, ChecksComparison, StudyChecks};
pub use compare::{
    Accesses, CellComparison, Change, Comparison, Condition, ConditionCase, ConditionFinding, ConditionLimit,
    CostComparison, CostTerm, Estimate, Flaw, Floor, HalfPowerComparison, InStudy, KILOBYTES, LeftOut, MEGABYTES,
    MissingFigure, Note, Outcome, PRACTICAL_PERCENT, PathComparison, Practical, PriceRow, PriceTable, Prior, Quantity,
    StudyFacts, StudyRecords, check_conditions, compare, compare_all, price, price_row,
};
pub use cost::costs;
pub use direction_stop::{DirectionStop, StopDoubt, StopTest};
pub use duet::{Duet, DuetCell, DuetDoubt, DuetFigure, DuetLeftOut, DuetOutcome, asked_in_vain, check_duet};
pub use experiment_cells::{ExperimentCell, experiment_cells, experiment_limit};
pub use explained::StopExplanation;
pub use far_cell::{FarCell, FarDisk, FarDiskLimit};
pub use far_end::{Accounting, CostLine, EndsCost, FarEndFinding};
pub use faults::{FaultFinding, FaultKind, faults};
pub use findings::{
    Advice, Attribution, Bound, CellFinding, Cost, Curve, Headline, HeadlineDoubt, Interval, LatencySummary, Limits,
    NoiseFinding, Prediction, Unsteady, UnsteadyReason,
};
pub use fleet::{FleetFinding, FleetHost, FleetRun, HostEvidence, Straggler};
pub use half_power::curves;
pub use headline::headlines;
pub use history::{
    CellDigest, FigureChange, FigureHistory, FigureLevel, FigurePoint, History, HistoryChange, HistoryFigure,
    HistoryStudy, Measured, StudyDigest, StudyInHistory, TwoSpeeds, UnreadStudy, check_history, history,
};
pub use how_fast::{CellRate, RateRole, RateRow, how_fast};
pub use interval::{Sureness, t95};
pub use judged::{cut_waves, run_mbps};
pub use ladder::levels;
pub use levels::{
    LevelFinding, LevelId, LevelKind, LevelSource, LinkCeiling, MeasuredCeilings, MemoryCopy, PathLevel, SharedBy,
    SharedCeiling, SustainedLimit,
};
pub use limits::limits;
pub use mean::{mean, median, some_mean};
pub use met_limit::{MetLimit, Most, met_limit};
pub use path::{path_peak, peak};
pub use percentiles::{Percentiles, is_borne, percentiles};
pub use predicted::{
    PredictBasis, PredictFindings, PredictNote, PredictedFlush, PredictedProcessors, WithoutComputing, predict_findings,
};
pub use replayed::{
    ReplayChange, ReplayCourse, ReplayFindings, ReplayLatencies, ReplayRow, ReplaySide, ReplayStep, ReplayVerdict,
    prediction_course, prediction_findings, replay_course, replay_findings,
};
pub use session_cell::{SessionCell, SessionSpeeds, SessionsFinding};
pub use sessions::first_session;
pub use settings::{Access, CellSettings, PathSettings, Requests};
pub use steady::{Burst, Steadiness, judge};
pub use stopped_by::{
    Bottleneck, Ceiling, DepthGain, FastestCell, InFlight, KnownLimit, NextLimit, NextLimitBy, ProcessorsOf,
    RequestCeiling, RequestTime, StoppedBy,
};
pub use study_findings::Findings;
pub use summary::{NoisySign, StudyState, Summary};
pub use surroundings::{Neighbours, SurroundingAspect, SurroundingChange, Surroundings};
pub use tcp_cell::TcpCell;
pub use thread_scaling::{ThreadLimit, ThreadScaling, ThreadStep};
pub use to_change::SettingToChange;
pub use trial::{Looks, PairedFigure, TrialPairs};
pub use warnings::{Harm, Warning};
pub use watched::{
    AloneReading, OperationGroup, TestChange, WaitPart, WatchActivity, WatchAdvice, WatchAlone, WatchCounters,
    WatchDisk, WatchFindings, WatchGroup, WatchOther, WatchProbe, WatchProbed, WatchStop, WatchTest, WatchUnknown,
    WatchUse, watch_findings,
};
pub use waves::{Waves, waves};
pub use weather::OCCASION_NS;
pub use what_to_set::{HalfPowerSize, NoUse, Use, UseAdvice, UseRate, WhatToSet};

use bottleneck::{JudgedStudy, Judgement};
use path::{MeasuredPath, paths};
use regime::{Regimes, regimes};
use summary::summary;
use warnings::{WarningInputs, warnings};

/// All findings from `records`, which were taken in `environment` to answer `question`.
///
/// The records may be in any order; the study may be interrupted, its runs may have failed, and there may be no record
/// at all. What the records do not show is `None` or left out, and a warning says so. `measured` holds the ceilings of
/// the path that experiments measured. Of several sessions, the figures are over all, and all else is of the first.
pub fn analyse(
    question: &Question,
    environment: &Environment,
    records: &[Record],
    measured: &MeasuredCeilings,
) -> Findings {
    let first = analyse_session(question, environment, &first_session(records), measured);
    let levels = ladder::with_experiments(&levels(question, environment), measured);
    let (seconds, _) = seconds_of(environment, records);
    sessions::over_sessions(first, question.sessions, &levels, records, seconds)
}

/// All findings from the records of one session.
fn analyse_session(
    question: &Question,
    environment: &Environment,
    records: &[Record],
    measured: &MeasuredCeilings,
) -> Findings {
    let advertised = levels(question, environment);
    let levels = ladder::with_experiments(&advertised, measured);
    let gathered = cells::gather(&levels, records);
    let cells: Vec<CellFinding> = gathered.iter().map(|cell| cell.finding.clone()).collect();
    let walked = with_fewest_threads(&cells);
    let paths = paths(&walked);
    let fitted = fitted(&paths);
    let curves = curves_of(question, &levels, &fitted);
    let known = ladder::with_measured(&levels, measured);
    let judged = JudgedStudy::of(environment, &known, &cells, &fitted);
    let mut judgement = judgement(&judged, measured);
    let fleet = fleet::fleet(environment, records);
    let costs = costs(&walked);
    let advice = advice(&cells);
    let harness_ns_per_io = harness_ns_per_io(records);
    let warnings = warnings(&WarningInputs {
        question,
        environment,
        levels: &levels,
        advertised: &advertised,
        records,
        gathered: &gathered,
        cells: &cells,
        paths: &paths,
        advice: &advice,
        harness_ns_per_io,
        fleet: fleet.as_ref(),
    });
    let (seconds, seconds_a_run) = seconds_of(environment, records);
    let headline = headlines(environment, &cells, seconds_a_run);
    let summary = summary(environment, &judged, &headline, &curves, &advice, &warnings, (records.len(), seconds_a_run));
    if summary.doubt_of(&judgement.bottleneck).is_some() {
        judgement.ladder.iter_mut().for_each(|level| level.narrowest = false);
    }
    Findings {
        target: question.target.clone(),
        machine: environment.machine.clone(),
        filesystem: environment.filesystem.clone(),
        device: environment.device.clone(),
        started_unix_ms: records.iter().map(|record| record.started_unix_ms).min().unwrap_or(0),
        runs: records.len(),
        seconds,
        summary,
        headline,
        levels: judgement.ladder,
        bottleneck: judgement.bottleneck,
        curves,
        limits: fitted.iter().map(|(path, regimes)| limits::limits_of(path, regimes)).collect(),
        far_end: far_end::far_end(environment, &walked, &costs, records),
        fleet,
        cost: costs,
        attribution: attribution::attribution(&gathered, &paths),
        advice,
        warnings,
        harness_ns_per_io,
        threads: thread_scaling::thread_scaling(&cells, judged.cpus),
        checks: StudyChecks::of(&environment.diagnoses),
        imported: environment.imported.clone(),
        beside: beside::beside(records),
        cells,
    }
}

/// What stops the path, and the ladder with the rates that experiments measured on its levels.
fn judgement(judged: &JudgedStudy<'_>, measured: &MeasuredCeilings) -> Judgement {
    let mut judgement = bottleneck::judge(judged);
    ladder::with_measured_rate(&mut judgement.ladder, measured);
    judgement
}

/// Pairs each path with what bounds its cells.
fn fitted<'a>(paths: &'a [MeasuredPath<'a>]) -> Vec<(MeasuredPath<'a>, Regimes<'a>)> {
    paths.iter().map(|path| (path.clone(), regimes(path.usable()))).collect()
}

/// The curve of each depth of each path.
fn curves_of(question: &Question, levels: &[PathLevel], fitted: &[(MeasuredPath<'_>, Regimes<'_>)]) -> Vec<Curve> {
    fitted.iter().flat_map(|(path, regimes)| half_power::curves_of(question, levels, path, regimes)).collect()
}

/// Time of all runs with their preparation, and mean time of one run, in seconds. The mean is infinite for results of
/// another tool, because nobody adds runs to them here.
fn seconds_of(environment: &Environment, records: &[Record]) -> (f64, f64) {
    let seconds = records.iter().map(|record| u128::from(record.of_budget_ns())).sum::<u128>() as f64 / 1e9;
    let goes_on = environment.imported.is_empty();
    (seconds, if goes_on { seconds / records.len().max(1) as f64 } else { f64::INFINITY })
}

/// The cells without those that repeat another cell with more threads: curves and fits use the fewest threads only.
fn with_fewest_threads(cells: &[CellFinding]) -> Vec<CellFinding> {
    let alone = |cell: &CellFinding| cell.settings.but_for_threads();
    let fewer =
        |cell: &&CellFinding| !cells.iter().any(|other| other.threads < cell.threads && alone(other) == alone(cell));
    cells.iter().filter(fewer).cloned().collect()
}

/// Median of the records' harness time, so that one disturbed calibration has no effect; `None` if no record has it.
fn harness_ns_per_io(records: &[Record]) -> Option<f64> {
    // Runs measured at the far end carry the harness time of that machine.
    let is_ours = |record: &&Record| record.origin.is_none() && record.run.workload.options.way == Way::Wire;
    let mut all: Vec<f64> = records.iter().filter(is_ours).map(|record| record.harness_ns_per_io).collect();
    all.retain(|ns| ns.is_finite() && *ns >= 0.0);
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}
