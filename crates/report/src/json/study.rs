//! Writes the findings of one study as one JSON object.

use std::io::{self, Write};

use halfpower_analyse::{
    Advice, Attribution, BesideRow, Bottleneck, CellFinding, Cost, Curve, DirectionStop, FarEndFinding, FaultFinding,
    FleetFinding, Harm, Headline, LevelFinding, LevelKind, Limits, NextLimit, RateRow, SessionsFinding, StopDoubt,
    StopExplanation, StopTest, StoppedBy, StudyChecks, StudyState, ThreadScaling, Warning, WhatToSet,
};
use halfpower_experiments::load::MostLoad;
use halfpower_experiments::{ExperimentRows, ExperimentSection, IssuingChange, StudyFindings};
use halfpower_record::{Device, FileSystem, ImportedFile, Machine};
use halfpower_spec::{Direction, JsonSchema, LatencyBound, path_words};
use serde::Serialize;
use serde_json::Value;

use crate::words::{advice, bottleneck, first_screen, levels, most_load, settings, state, verdict, warnings};

/// Version of this object's layout; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 2;

/// The output of `halfpower report --json`.
///
/// Rates are decimal MB/s, sizes are bytes, and each name of a time has its unit. Unknown values are `null`. Codes and
/// kinds are for programs and stay stable; texts are for people and may be reworded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StudyDocument<'a> {
    /// Present only if `halfpower study` measured nothing because the study was already finished: when that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeated: Option<Repeated>,
    /// Version of this layout.
    schema: u32,
    /// The target in its canonical text.
    target: &'a str,
    /// The machine.
    machine: &'a Machine,
    /// The file system under the target.
    filesystem: &'a Option<FileSystem>,
    /// The device under the target.
    device: &'a Option<Device>,
    /// Start of the first run in milliseconds of Unix time; 0 in virtual time.
    started_unix_ms: u64,
    /// Runs that the findings rest on.
    runs: usize,
    /// Total time of these runs with their preparation, in seconds.
    seconds: f64,
    /// The answer in three sentences: how fast, what stops it and how that is known, what to set.
    verdict: Vec<String>,
    /// How far to trust the study, in one word.
    state: StateDocument<'a>,
    /// The most load under a latency; absent if nobody asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    most_load: Option<MostLoadDocument<'a>>,
    /// The rows of the first screen: small requests and the best, reads first.
    how_fast: &'a [RateRow],
    /// The sessions behind these rates; absent for an ordinary study, which is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<&'a SessionsFinding>,
    /// What stops reads, and what stops writes.
    stops: Vec<StopDocument<'a>>,
    /// Advice by use, and the block sizes at half power.
    what_to_set: &'a WhatToSet,
    /// Rate of each direction, its uncertainty, and the doubts about it.
    headline: &'a [Headline],
    /// The levels of the path, from the application to the medium.
    levels: Vec<LevelDocument<'a>>,
    /// The narrowest level.
    bottleneck: BottleneckDocument<'a>,
    /// Throughput against block size, one for each pattern, direction, cache setting and depth measured.
    curves: &'a [Curve],
    /// Request time and limits of the device, one for each pattern, direction and cache setting.
    limits: &'a [Limits],
    /// Processor cost per request.
    cost: Vec<CostDocument<'a>>,
    /// Cost at both ends; `null` without a witness at the far end.
    far_end: &'a Option<FarEndFinding>,
    /// Hosts that measured together; `null` where one process measured.
    fleet: &'a Option<FleetFinding>,
    /// Attribution of processor time, one for each pattern, direction and cache setting with the data for it.
    attribution: Vec<AttributionDocument<'a>>,
    /// Number of threads needed, for cells that were continued with more threads.
    threads: &'a [ThreadScaling],
    /// Effect and cost of each part of issuing, at the cells that decide.
    issuing: &'a [IssuingChange],
    /// The advice.
    advice: Vec<AdviceDocument<'a>>,
    /// Warnings that affect how far to trust the numbers.
    warnings: Vec<WarningDocument<'a>>,
    /// Every cell that was measured, by pattern, direction, cache setting, depth and block size.
    cells: Vec<CellDocument<'a>>,
    /// Time per request of the null engine in nanoseconds: the harness's own share.
    harness_ns_per_io: Option<f64>,
    /// What the checks of settings found before the first run and after the last; `null` if nobody looked, which does not
    /// mean that all is fine.
    checks: &'a Option<StudyChecks>,
    /// Files of other tools that runs were imported from.
    imported: &'a [ImportedFile],
    /// Runs that belong to no cell.
    beside: &'a [BesideRow],
    /// Requests in all experiments that failed, were short, or found wrong data.
    faults: &'a [FaultFinding],
    /// One section for each experiment except the walks.
    experiments: &'a [ExperimentSection],
    /// The rows of the experiments.
    #[serde(flatten)]
    rows: &'a ExperimentRows,
}

/// Says that the study was already finished.
#[derive(Debug, Serialize, JsonSchema)]
struct Repeated {
    /// End of the study, in milliseconds of Unix time.
    finished_unix_ms: u64,
}

/// How far to trust a study.
#[derive(Debug, Serialize, JsonSchema)]
struct StateDocument<'a> {
    #[serde(flatten)]
    state: &'a StudyState,
    /// The word at the top of the report.
    word: String,
    /// What it means.
    text: String,
}

/// The most load under a latency, as the first screen tells it.
#[derive(Debug, Serialize, JsonSchema)]
struct MostLoadDocument<'a> {
    /// The bound on latency.
    bound: LatencyBound,
    /// What was found for each kind and size of requests that was asked for; empty if nothing was measured.
    found: &'a [MostLoad],
    /// The lines of the first screen, each with its reason where something is not known.
    text: Vec<String>,
}

/// What stops one direction.
#[derive(Debug, Serialize, JsonSchema)]
struct StopDocument<'a> {
    /// Which way the bytes go.
    rw: Direction,
    /// The text.
    text: String,
    /// The level; `null` if it is not known.
    kind: Option<LevelKind>,
    /// Evidence from the fastest cell of this direction, as a code with its figures.
    stopped_by: &'a StoppedBy,
    /// Why that is in doubt.
    doubt: &'a Option<StopDoubt>,
    /// A test that would tell more.
    test: &'a Option<StopTest>,
    /// What a check of a setting found, if it explains this.
    explained: &'a Option<StopExplanation>,
}

/// One level of the path: its advertised and its real performance.
#[derive(Debug, Serialize, JsonSchema)]
struct LevelDocument<'a> {
    /// Its name.
    level: String,
    /// Kind of level.
    kind: LevelKind,
    /// Peak advertised performance in MB/s.
    pap_mbps: &'a Option<f64>,
    /// Real application performance in MB/s: the best measured through it.
    rap_mbps: &'a Option<f64>,
    /// Source of the advertised figure, or why it is missing.
    source: String,
    /// Whether this is the narrowest level.
    narrowest: bool,
}

/// What limits the throughput of the path.
#[derive(Debug, Serialize, JsonSchema)]
struct BottleneckDocument<'a> {
    /// Name of the level.
    level: String,
    /// Kind of level; `null` if it is not known.
    kind: Option<LevelKind>,
    /// Why the evidence is not believed; `null` if it is.
    doubt: Option<&'a StopDoubt>,
    /// How that is known: the measurement and the ceiling that it meets.
    why: String,
    /// The evidence as a code with its figures.
    stopped_by: &'a StoppedBy,
    /// What would be the limit next, without this one.
    next: String,
    /// Kind of that level, if it is a level.
    next_kind: Option<LevelKind>,
    /// Limit of that level in MB/s.
    next_mbps: Option<f64>,
    /// The observation that would disprove this; empty if no limit is known.
    falsified_by: String,
}

/// Processor cost per request.
#[derive(Debug, Serialize, JsonSchema)]
struct CostDocument<'a> {
    /// The path in words, such as `random direct read`.
    path: String,
    #[serde(flatten)]
    cost: &'a Cost,
}

/// Attribution of processor time.
#[derive(Debug, Serialize, JsonSchema)]
struct AttributionDocument<'a> {
    /// The path in words, such as `random direct read`.
    path: String,
    #[serde(flatten)]
    attribution: &'a Attribution,
}

/// One piece of advice.
#[derive(Debug, Serialize, JsonSchema)]
struct AdviceDocument<'a> {
    #[serde(flatten)]
    advice: &'a Advice,
    /// The whole advice in one sentence.
    sentence: String,
}

/// A warning, as text and as a code with its evidence.
#[derive(Debug, Serialize, JsonSchema)]
struct WarningDocument<'a> {
    #[serde(flatten)]
    warning: &'a Warning,
    /// What it affects in the figures.
    harm: Harm,
    /// In one line.
    brief: String,
    /// The full text.
    text: String,
}

/// One cell: all runs of one workload.
#[derive(Debug, Serialize, JsonSchema)]
struct CellDocument<'a> {
    #[serde(flatten)]
    cell: &'a CellFinding,
    /// Why the cell was not steady, as the end of a sentence.
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
            most_load: most_load_document(study),
            how_fast: &findings.summary.how_fast,
            sessions: findings.summary.sessions.as_ref(),
            stops: findings.summary.stops.iter().map(|one| stop(one, &study.issuing)).collect(),
            what_to_set: &findings.summary.what_to_set,
            headline: &findings.headline,
            levels: findings.levels.iter().map(level).collect(),
            bottleneck: bottleneck_document(&findings.bottleneck, findings.doubt()),
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
            checks: &findings.checks,
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

fn most_load_document(study: &StudyFindings) -> Option<MostLoadDocument<'_>> {
    let lines = most_load::lines(study, false);
    let text = lines.iter().map(|line| format!("{}: {}", line.of.trim_start(), line.text));
    let text: Vec<String> = text.chain(most_load::notes(study).iter().cloned()).collect();
    let found = most_load::found(study).map_or(&[][..], |answer| answer.found.as_slice());
    study.latency_bound.filter(|_| !text.is_empty()).map(|bound| MostLoadDocument { bound, found, text })
}

fn stop<'a>(stop: &'a DirectionStop, found: &[IssuingChange]) -> StopDocument<'a> {
    let kind = stop.bottleneck.level.as_ref().filter(|_| stop.doubt.is_none()).map(|level| level.kind);
    StopDocument {
        rw: stop.rw,
        text: first_screen::stop(stop, found).to_string(),
        kind,
        stopped_by: &stop.bottleneck.stopped_by,
        doubt: &stop.doubt,
        test: &stop.test,
        explained: &stop.explained,
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

fn bottleneck_document<'a>(found: &'a Bottleneck, doubt: Option<&'a StopDoubt>) -> BottleneckDocument<'a> {
    let words = bottleneck::words(found, doubt);
    let (next_kind, next_mbps) = match &found.next {
        _ if doubt.is_some() => (None, None),
        Some(NextLimit::Level { level, mbps, .. }) => (Some(level.kind), Some(*mbps)),
        _ => (None, None),
    };
    BottleneckDocument {
        level: words.level,
        kind: found.level.as_ref().filter(|_| doubt.is_none()).map(|level| level.kind),
        doubt,
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
    let words = warnings::words(warning);
    WarningDocument { warning, harm: warning.harm(), brief: words.line, text: words.sentence }
}

fn cell(cell: &CellFinding) -> CellDocument<'_> {
    CellDocument { cell, unsteady_why: cell.unsteady.as_ref().map(warnings::why_unsteady) }
}

/// Writes the findings, indented and with a final newline. Numbers that are not finite become `null`.
///
/// # Errors
/// Those of `out`.
pub fn json(study: &StudyFindings, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &StudyDocument::of(study))?;
    writeln!(out)
}

/// Writes the findings of a study that was asked for again although it was finished at this time, in milliseconds of
/// Unix time. The object begins with `repeated`, which says so.
///
/// # Errors
/// Those of `out`.
pub fn repeated_json(study: &StudyFindings, finished_unix_ms: u64, out: &mut dyn Write) -> io::Result<()> {
    let repeated = Some(Repeated { finished_unix_ms });
    serde_json::to_writer_pretty(&mut *out, &StudyDocument { repeated, ..StudyDocument::of(study) })?;
    writeln!(out)
}

/// The findings as a value, for the page's script.
pub(crate) fn study_value(study: &StudyFindings) -> Value {
    super::value_of(|text| json(study, text))
}
