//! Writes the findings of one study as one JSON object.

use std::io::{self, Write};

use halfpower_analyse::{
    Advice, Attribution, BesideRow, Bottleneck, CellFinding, Cost, Curve, DirectionStop, FarEndFinding, FaultFinding,
    FleetFinding, Harm, Headline, LevelFinding, LevelKind, Limits, NextLimit, RateRow, StopDoubt, StopTest, StoppedBy,
    StudyState, ThreadScaling, Warning, WhatToSet,
};
use halfpower_experiments::{ExperimentRows, ExperimentSection, IssuingChange, StudyFindings};
use halfpower_record::{Device, FileSystem, ImportedFile, Machine};
use halfpower_spec::Direction;
use halfpower_text::path_words;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::words::{advice, alerts, bottleneck, first_screen, levels, settings, state, unsteady, verdict, warnings};

/// Version of the layout of this object; it rises where a key goes away or changes its meaning.
const SCHEMA: u32 = 2;

/// What `halfpower report --json` prints.
///
/// Rates are decimal MB/s, sizes bytes, times as each name says. What is not known is `null`. Codes and kinds are for
/// programs and stay; texts are for people and may be reworded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StudyDocument<'a> {
    /// Only where `halfpower study` measured nothing, since the study was finished before: when.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeated: Option<Repeated>,
    /// Version of this layout.
    schema: u32,
    /// What was measured, in its canonical text.
    target: &'a str,
    /// The computer.
    machine: &'a Machine,
    /// The file system under the target.
    filesystem: &'a Option<FileSystem>,
    /// The device under the target.
    device: &'a Option<Device>,
    /// When the first run began, in milliseconds of Unix time; 0 in virtual time.
    started_unix_ms: u64,
    /// Runs that the findings rest on.
    runs: usize,
    /// Time they took with their preparation, in seconds.
    seconds: f64,
    /// The answer in three sentences: how fast, what stops it and how that is known, what to set.
    verdict: Vec<String>,
    /// How far the study can be believed, in a word.
    state: StateDocument<'a>,
    /// The rows of the first screen: small requests and the best, reads first.
    how_fast: &'a [RateRow],
    /// What stops reads, and what stops writes.
    stops: Vec<StopDocument<'a>>,
    /// What to set, by use, and where half power lies.
    what_to_set: &'a WhatToSet,
    /// How fast each direction is, how sure that is, and what may be wrong with it.
    headline: &'a [Headline],
    /// The path from the application to the medium.
    levels: Vec<LevelDocument<'a>>,
    /// The narrowest of them.
    bottleneck: BottleneckDocument<'a>,
    /// Throughput against block size, one for each pattern, direction, cache setting and depth measured.
    curves: &'a [Curve],
    /// What the device does to a request, one for each pattern, direction and cache setting.
    limits: &'a [Limits],
    /// What a request costs the processor.
    cost: Vec<CostDocument<'a>>,
    /// What the far end spent, and both ends' bills; `null` without a witness there.
    far_end: &'a Option<FarEndFinding>,
    /// Hosts that measured together; `null` where one process measured.
    fleet: &'a Option<FleetFinding>,
    /// Where the processors' time went, one for each pattern, direction and cache setting whose records tell.
    attribution: Vec<AttributionDocument<'a>>,
    /// How many threads it takes, for cells that went on with more of them.
    threads: &'a [ThreadScaling],
    /// What each part of issuing brings and costs, at the cells that decide.
    issuing: &'a [IssuingChange],
    /// What to set.
    advice: Vec<AdviceDocument<'a>>,
    /// What a reader should know before believing a number.
    warnings: Vec<WarningDocument<'a>>,
    /// Every cell that was measured, by pattern, direction, cache setting, depth and block size.
    cells: Vec<CellDocument<'a>>,
    /// What the null engine takes a request: the harness's own share.
    harness_ns_per_io: Option<f64>,
    /// Files of other tools that the runs come from.
    imported: &'a [ImportedFile],
    /// Runs that stand in no cell.
    beside: &'a [BesideRow],
    /// Requests that failed, came short or found wrong data, in all experiments.
    faults: &'a [FaultFinding],
    /// The experiments beside the walks of block size and depth, a section each.
    experiments: &'a [ExperimentSection],
    /// Their figures, a list each.
    #[serde(flatten)]
    rows: &'a ExperimentRows,
}

/// That a study was finished before.
#[derive(Debug, Serialize, JsonSchema)]
struct Repeated {
    /// When, in milliseconds of Unix time.
    finished_unix_ms: u64,
}

/// How far a study can be believed.
#[derive(Debug, Serialize, JsonSchema)]
struct StateDocument<'a> {
    #[serde(flatten)]
    state: &'a StudyState,
    /// The word that stands on top.
    word: String,
    /// What it means.
    text: String,
}

/// What stops one direction.
#[derive(Debug, Serialize, JsonSchema)]
struct StopDocument<'a> {
    /// Which way the bytes go.
    rw: Direction,
    /// In words.
    text: String,
    /// The level; `null` where it is not known.
    kind: Option<LevelKind>,
    /// What the fastest cell of this direction shows, as a code with its evidence.
    stopped_by: &'a StoppedBy,
    /// Why that is not believed.
    doubt: &'a Option<StopDoubt>,
    /// What would tell more.
    test: &'a Option<StopTest>,
}

/// One level: what it promises and what was got through it.
#[derive(Debug, Serialize, JsonSchema)]
struct LevelDocument<'a> {
    /// Its name.
    level: String,
    /// Which it is.
    kind: LevelKind,
    /// Peak advertised performance in MB/s.
    pap_mbps: &'a Option<f64>,
    /// Real application performance in MB/s: the best that was measured through it.
    rap_mbps: &'a Option<f64>,
    /// Where the advertised figure comes from, or why there is none.
    source: String,
    /// Whether this is the narrowest.
    narrowest: bool,
}

/// What stops the path from going faster.
#[derive(Debug, Serialize, JsonSchema)]
struct BottleneckDocument<'a> {
    /// The level's name.
    level: String,
    /// Which it is; `null` where it is not known.
    kind: Option<LevelKind>,
    /// How that is known: which measurement against which ceiling.
    why: String,
    /// The same as a code with its evidence.
    stopped_by: &'a StoppedBy,
    /// What would stop it next, were this lifted.
    next: String,
    /// Which level that is, where it is one.
    next_kind: Option<LevelKind>,
    /// The limit of that level in MB/s.
    next_mbps: Option<f64>,
    /// What one would have to see for it to be something else; empty where nothing is known to stop it.
    falsified_by: String,
}

/// What a request costs the processor.
#[derive(Debug, Serialize, JsonSchema)]
struct CostDocument<'a> {
    /// The path in words, such as `random direct read`.
    path: String,
    #[serde(flatten)]
    cost: &'a Cost,
}

/// Where the processors' time went.
#[derive(Debug, Serialize, JsonSchema)]
struct AttributionDocument<'a> {
    /// The path in words, such as `random direct read`.
    path: String,
    #[serde(flatten)]
    attribution: &'a Attribution,
}

/// What to set.
#[derive(Debug, Serialize, JsonSchema)]
struct AdviceDocument<'a> {
    #[serde(flatten)]
    advice: &'a Advice,
    /// All of it in one sentence.
    sentence: String,
}

/// A doubt, in words and as a code with its evidence.
#[derive(Debug, Serialize, JsonSchema)]
struct WarningDocument<'a> {
    #[serde(flatten)]
    warning: &'a Warning,
    /// What it does to the figures.
    harm: Harm,
    /// In a line.
    brief: String,
    /// In words.
    text: String,
}

/// One cell: all runs of one workload together.
#[derive(Debug, Serialize, JsonSchema)]
struct CellDocument<'a> {
    #[serde(flatten)]
    cell: &'a CellFinding,
    /// Why it was not steady, as the end of a sentence.
    unsteady_why: Option<String>,
}

impl<'a> StudyDocument<'a> {
    fn of(study: &'a StudyFindings) -> Self {
        let findings = &study.findings;
        Self {
            repeated: None,
            schema: SCHEMA,
            target: &findings.target,
            machine: &findings.machine,
            filesystem: &findings.filesystem,
            device: &findings.device,
            started_unix_ms: findings.started_unix_ms,
            runs: findings.runs,
            seconds: findings.seconds,
            verdict: verdict::verdict(study),
            state: state_document(&findings.summary.state),
            how_fast: &findings.summary.how_fast,
            stops: findings.summary.stops.iter().map(|one| stop(one, &study.issuing)).collect(),
            what_to_set: &findings.summary.what_to_set,
            headline: &findings.headline,
            levels: findings.levels.iter().map(level).collect(),
            bottleneck: bottleneck_document(&findings.bottleneck),
            curves: &findings.curves,
            limits: &findings.limits,
            cost: findings.cost.iter().map(|cost| CostDocument { path: settings::cost_path(cost), cost }).collect(),
            far_end: &findings.far_end,
            fleet: &findings.fleet,
            attribution: findings.attribution.iter().map(attribution).collect(),
            threads: &findings.threads,
            issuing: &study.issuing,
            advice: findings
                .advice
                .iter()
                .map(|one| AdviceDocument { advice: one, sentence: advice::sentence(one) })
                .collect(),
            warnings: findings.warnings.iter().map(warning).collect(),
            cells: findings.cells.iter().map(cell).collect(),
            harness_ns_per_io: findings.harness_ns_per_io,
            imported: &findings.imported,
            beside: &findings.beside,
            faults: &study.faults,
            experiments: &study.experiments,
            rows: &study.rows,
        }
    }
}

fn state_document(state: &StudyState) -> StateDocument<'_> {
    StateDocument { state, word: state::word(state), text: state::sentence(state) }
}

fn stop<'a>(stop: &'a DirectionStop, found: &[IssuingChange]) -> StopDocument<'a> {
    let kind = stop.bottleneck.level.as_ref().filter(|_| stop.doubt.is_none()).map(|level| level.kind);
    StopDocument {
        rw: stop.rw,
        text: first_screen::stop(stop, found),
        kind,
        stopped_by: &stop.bottleneck.stopped_by,
        doubt: &stop.doubt,
        test: &stop.test,
    }
}

fn level(level: &LevelFinding) -> LevelDocument<'_> {
    LevelDocument {
        level: levels::name(&level.id),
        kind: level.id.kind,
        pap_mbps: &level.pap_mbps,
        rap_mbps: &level.rap_mbps,
        source: levels::source(&level.source),
        narrowest: level.narrowest,
    }
}

fn bottleneck_document(found: &Bottleneck) -> BottleneckDocument<'_> {
    let words = bottleneck::words(found);
    let (next_kind, next_mbps) = match &found.next {
        Some(NextLimit::Level { level, mbps, .. }) => (Some(level.kind), Some(*mbps)),
        _ => (None, None),
    };
    BottleneckDocument {
        level: words.level,
        kind: found.level.as_ref().map(|level| level.kind),
        why: words.why,
        stopped_by: &found.stopped_by,
        next: words.next,
        next_kind,
        next_mbps,
        falsified_by: words.falsified_by,
    }
}

fn attribution(attribution: &Attribution) -> AttributionDocument<'_> {
    let path = path_words(attribution.pattern, attribution.cache, attribution.rw);
    AttributionDocument { path, attribution }
}

fn warning(warning: &Warning) -> WarningDocument<'_> {
    let (harm, brief) = (warning.harm(), alerts::line(warning));
    WarningDocument { warning, harm, brief, text: warnings::sentence(warning) }
}

fn cell(cell: &CellFinding) -> CellDocument<'_> {
    CellDocument { cell, unsteady_why: cell.unsteady.as_ref().map(unsteady::why) }
}

/// Writes the findings, indented, with a line end after the last brace. A number that is none becomes `null`.
///
/// # Errors
/// Those of `out`.
pub fn json(study: &StudyFindings, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &StudyDocument::of(study))?;
    writeln!(out)
}

/// The findings of a study that was finished at this time, in milliseconds of Unix time, and was asked for again: the
/// object begins with `repeated`, which says so.
///
/// # Errors
/// Those of `out`.
pub fn repeated_json(study: &StudyFindings, finished_unix_ms: u64, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let repeated = Some(Repeated { finished_unix_ms });
    serde_json::to_writer_pretty(&mut *out, &StudyDocument { repeated, ..StudyDocument::of(study) })?;
    writeln!(out)
}

/// The same as a value, for the page's script.
pub(crate) fn study_value(study: &StudyFindings) -> Value {
    serde_json::to_value(StudyDocument::of(study)).expect("findings are plain data")
}
