//! Turns the runs of a profile's shapes into verdicts on its needs and into values of its settings, or says what is missing.

use halfpower_analyse::{ExperimentCell, Interval, policy};
use halfpower_record::Record;
use halfpower_spec::{
    Direction, Figure, Formula, JsonSchema, Known, Layout, Nanos, Need, NeedBound, Pass, Pattern, Profile, Setting,
    SettingValues, Workload, WorkloadOptions,
};
use serde::Serialize;

use super::figures::{Missing, RunFigures, interval, known, over_runs, surely_missed};
use super::shapes;
use crate::data::ExperimentData;
use crate::plan::PlanRequest;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The shapes of the application's load, as they were measured here.
    pub application: Vec<ShapeRow>,
}

/// A shape of an application's load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShapeRow {
    /// Its name in the profile.
    pub shape: String,
    /// What of the application it stands for.
    pub stands_for: String,
    /// The shape that was measured at the same time; `null` if it was alone.
    pub beside: Option<String>,
    /// The workload as flags of `halfpower run`; empty if it cannot run here.
    pub workload: String,
    /// Runs behind it.
    pub runs: usize,
    /// Requests a second; commits a second with `--fdatasync 1`.
    pub per_second: Option<Interval>,
    /// Throughput in MB/s.
    pub mbps: Option<Interval>,
    /// Median time of a request in microseconds, with `--fdatasync` until its writes are durable.
    pub p50_us: Option<Interval>,
    /// 99th percentile of that time.
    pub p99_us: Option<Interval>,
    /// 99.9th percentile of that time.
    pub p999_us: Option<Interval>,
    /// 99th percentile of the time of a flush alone, in microseconds.
    pub flush_p99_us: Option<Interval>,
    /// What speaks against its figures.
    pub doubts: Vec<Doubt>,
}

/// What speaks against a figure. With any but `single-run` nothing is said from it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Doubt {
    /// The shape was not measured: it cannot run here, or the time ended before it.
    NotMeasured {
        /// The shape.
        shape: String,
    },
    /// Requests of the shape failed.
    Failed {
        /// The shape.
        shape: String,
    },
    /// A cache answered.
    Cache {
        /// The shape.
        shape: String,
    },
    /// It began faster than it went on: a credit was spent, or a cache filled up.
    Credit {
        /// The shape.
        shape: String,
    },
    /// Others used the disk at the same time.
    OthersUsedTheDisk {
        /// The shape.
        shape: String,
        /// Bytes of others as a share of its own.
        share: f64,
    },
    /// The hypervisor took processor time.
    HypervisorTookTime {
        /// The shape.
        shape: String,
        /// Share of the processors' time.
        share: f64,
    },
    /// Its runs differ so much that their mean says nothing.
    RunsDiffer {
        /// The shape.
        shape: String,
    },
    /// Too few requests were counted for a percentile.
    FewRequests {
        /// The shape.
        shape: String,
        /// The percentile.
        figure: Figure,
        /// Requests counted.
        counted: u64,
        /// Requests needed.
        needed: u64,
    },
    /// The shape's runs do not have this figure.
    NoFigure {
        /// The shape.
        shape: String,
        /// The figure.
        figure: Figure,
    },
    /// The formula has no value: it divides by what may be 0.
    NoValue,
    /// A single run tells nothing of its own error.
    SingleRun {
        /// The shape.
        shape: String,
    },
}

impl Doubt {
    /// Whether a figure with this doubt decides nothing.
    fn forbids(&self) -> bool {
        !matches!(self, Self::SingleRun { .. })
    }
}

/// Whether a need is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval meets it.
    Pass,
    /// The whole interval misses it.
    Fail,
    /// The interval holds the bound, or there is none.
    NotDecided,
    /// A doubt forbids to say.
    Refused,
}

/// A need, and whether it is met.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NeedFinding {
    /// What is compared.
    pub what: String,
    /// The figure, as the profile computes it.
    pub figure: String,
    /// The measured figure; `null` if it is not known.
    pub measured: Option<Interval>,
    /// What the figure surely reaches where too few requests were counted to know it, if that decides; else `null`.
    pub at_least: Option<f64>,
    /// What it is compared with.
    pub bound: NeedBound,
    /// The unit of both.
    pub unit: String,
    /// Whether it is met.
    pub verdict: Verdict,
    /// What speaks against the figure.
    pub doubts: Vec<Doubt>,
    /// Who says that the application needs it.
    pub source: String,
}

/// A setting that follows from the figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SettingFinding {
    /// Its name.
    pub name: String,
    /// The line to paste; `null` if a doubt forbids it.
    pub line: Option<String>,
    /// The value before rounding and limits, or the index of the word; `null` if it is not known.
    pub value: Option<Interval>,
    /// Unit of the value.
    pub unit: String,
    /// Whether the figures tell the choices apart: words, or the values of an `if`.
    pub is_clear: bool,
    /// Whether the line has the usual word, since the figures do not tell the words apart.
    pub is_usual: bool,
    /// The figures that it rests on.
    pub rests_on: Vec<RestingFigure>,
    /// What speaks against them.
    pub doubts: Vec<Doubt>,
    /// Who says what the setting means.
    pub source: String,
}

/// A figure that a setting rests on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RestingFigure {
    /// The shape.
    pub shape: String,
    /// Which figure of it.
    pub figure: Figure,
    /// Its value.
    pub measured: Interval,
}

/// A shape alone, and beside another at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AtOnceFinding {
    /// The shape alone.
    pub shape: String,
    /// The shape that was at work at the same time.
    pub beside: String,
    /// What is compared: throughput of a stream, else the 99th percentile of the time of a request.
    pub figure: Figure,
    /// The figure alone; `null` if it is not known.
    pub alone: Option<Interval>,
    /// The figure beside the other shape; `null` if it is not known.
    pub together: Option<Interval>,
    /// What speaks against either.
    pub doubts: Vec<Doubt>,
}

/// The answer: which needs are met, and what to set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ApplicationAnswer {
    /// Name of the profile, without folders and ending.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// Why the profile cannot be read; `null` if it can.
    pub unreadable: Option<String>,
    /// Whether all this was measured in a virtual machine, whose host may hold what the disk seems to give.
    pub in_virtual_machine: bool,
    /// The needs, in the profile's order.
    pub needs: Vec<NeedFinding>,
    /// What shapes at the same time do to each other, in the profile's order.
    pub at_once: Vec<AtOnceFinding>,
    /// The settings, in the profile's order.
    pub settings: Vec<SettingFinding>,
}

/// Share of the device's bytes by which it moved fewer than direct requests asked for, from which a cache answered; and by
/// which it moved more, from which others used it.
const OTHER_BYTES: f64 = 0.1;
/// Share of the processors' time taken by the hypervisor from which nothing is said, as for the state of a study.
const MUCH_STEAL: f64 = 0.05;
/// Half of a rate's interval, as a share of it, from which its runs differ too much.
const MOST_REACH: f64 = 0.5;
/// Factor by which the first run exceeds the others, and by which these differ at most, if a credit was spent between.
const SPENT: f64 = 1.3;
const ALIKE: f64 = 1.15;
/// File systems in main memory.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "hugetlbfs"];
/// The probe's word for a virtual machine.
const VIRTUAL_MACHINE: &str = "virtual machine";

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, ApplicationAnswer) {
    let name = data.question.application.as_ref().map_or("", |application| application.short_name()).to_string();
    let profile = match shapes::profile(data.question) {
        Ok(profile) => profile,
        Err(why) => return (Rows::default(), ApplicationAnswer { name, unreadable: Some(why), ..Default::default() }),
    };
    let measured = measured_shapes(data, &profile);
    let virtualised = data.environment.machine.virtualised.as_deref();
    let rotates = data.environment.device.as_ref().and_then(|device| device.rotational);
    let is_guest = virtualised.is_some_and(|what| what.contains(VIRTUAL_MACHINE));
    let answer = ApplicationAnswer {
        name,
        about: profile.about.clone(),
        unreadable: None,
        in_virtual_machine: is_guest && data.environment.capabilities.kind.is_hardware(),
        needs: profile.needs.iter().map(|need| need_finding(need, &measured)).collect(),
        at_once: measured.iter().filter_map(|shape| at_once_finding(shape, &measured)).collect(),
        settings: profile.settings.iter().map(|setting| setting_finding(setting, &measured, rotates)).collect(),
    };
    (Rows { application: measured.iter().map(MeasuredShape::row).collect() }, answer)
}

/// A shape with the figures of its runs.
struct MeasuredShape {
    name: String,
    stands_for: String,
    beside: Option<String>,
    workload: Option<Workload>,
    runs: Vec<RunFigures>,
    doubts: Vec<Doubt>,
}

fn measured_shapes(data: &ExperimentData, profile: &Profile) -> Vec<MeasuredShape> {
    let ask = PlanRequest { question: data.question, environment: data.environment };
    let filesystem = data.environment.filesystem.as_ref();
    let is_in_memory = filesystem.is_some_and(|filesystem| IN_MEMORY.contains(&filesystem.kind.as_str()));
    let suited = shapes::suited_shapes(&ask, profile);
    let measured = |(nth, (shape, suited)): (usize, (&halfpower_spec::Shape, Result<shapes::SuitedShape, String>))| {
        let name = shape.name.clone();
        let beside = shape.beside.map(|beside| profile.shapes[beside].name.clone());
        let workload = suited.ok().map(|suited| suited.workload);
        let cell = workload.and_then(|workload| data.cells.iter().find(|cell| cell.workload == workload));
        let runs = cell.map_or_else(Vec::new, |cell| {
            cell.records.iter().filter_map(|record| RunFigures::of(record)).collect::<Vec<_>>()
        });
        let mut doubts = cell.map_or_else(Vec::new, |cell| doubts_of(cell, &name, is_in_memory));
        if runs.is_empty() && doubts.is_empty() && !profile.is_only_beside(nth) {
            doubts.push(Doubt::NotMeasured { shape: name.clone() });
        }
        MeasuredShape { name, stands_for: shape.stands_for.clone(), beside, workload, runs, doubts }
    };
    profile.shapes.iter().zip(suited).enumerate().map(measured).collect()
}

/// What speaks against the figures of a shape's cell.
fn doubts_of(cell: &ExperimentCell, name: &str, is_in_memory: bool) -> Vec<Doubt> {
    let shape = || name.to_string();
    let finding = &cell.finding;
    let mut doubts = Vec::new();
    if finding.errors > 0 {
        doubts.push(Doubt::Failed { shape: shape() });
    }
    let foreign_share = finding.noise.foreign_share.unwrap_or(0.0);
    let was_held = cell.records.iter().any(|record| record.run.pass == Pass::Plain && was_cached(record));
    if is_in_memory || finding.cached || foreign_share < -OTHER_BYTES || was_held {
        doubts.push(Doubt::Cache { shape: shape() });
    }
    let is_burst = finding.burst_mbps.is_some() && !is_written_back(&cell.workload);
    if is_burst || is_spent(&finding.run_mbps) {
        doubts.push(Doubt::Credit { shape: shape() });
    }
    if foreign_share > OTHER_BYTES && is_alone_on_the_disk(&cell.workload) {
        doubts.push(Doubt::OthersUsedTheDisk { shape: shape(), share: foreign_share });
    }
    if let Some(share) = finding.noise.steal_share.filter(|share| *share >= MUCH_STEAL) {
        doubts.push(Doubt::HypervisorTookTime { shape: shape(), share });
    }
    if finding.run_mbps.len() > 2 && finding.mbps.relative_reach() > MOST_REACH {
        doubts.push(Doubt::RunsDiffer { shape: shape() });
    }
    doubts
}

/// Whether the page cache held what a run read when it began.
fn was_cached(record: &Record) -> bool {
    let workload = &record.run.workload;
    let cached_share = record.cached_bytes.map(|bytes| bytes as f64 / record.span_bytes.max(1) as f64);
    let reads = workload.rw.direction() == Some(Direction::Read);
    reads && policy::measured_memory(workload.cache, Direction::Read, cached_share)
}

/// Whether its writes stay in the page cache until the end of the run, so that the beginning is always faster.
fn is_written_back(workload: &Workload) -> bool {
    let is_durable = workload.cache.durable() || workload.options.fdatasync > 0;
    workload.rw.writes() && !workload.cache.direct() && !is_durable
}

/// Whether the device should move the bytes of the requests and no others: no journal's and no page cache's.
fn is_alone_on_the_disk(workload: &Workload) -> bool {
    let makes_journal = workload.options.fdatasync > 0 || workload.cache.durable();
    let is_alone = workload.options.background_depth() == 0;
    is_alone && workload.cache.direct() && !makes_journal && workload.options.layout == Layout::Written
}

/// Whether the first run was faster than all others, which are alike: what a rest had saved up was spent in it.
fn is_spent(run_mbps: &[f64]) -> bool {
    let Some((first, others)) = run_mbps.split_first().filter(|(_, others)| others.len() > 1) else { return false };
    let least = others.iter().copied().fold(f64::INFINITY, f64::min);
    let most = others.iter().copied().fold(0.0, f64::max);
    *first > SPENT * most && most <= ALIKE * least
}

impl MeasuredShape {
    fn row(&self) -> ShapeRow {
        let of = |figure| over_runs(&self.runs, figure).ok().map(|(measured, _)| measured);
        ShapeRow {
            shape: self.name.clone(),
            stands_for: self.stands_for.clone(),
            beside: self.beside.clone(),
            workload: self.workload.map_or(String::new(), |workload| workload.to_string()),
            runs: self.runs.len(),
            per_second: of(Figure::PerSecond),
            mbps: of(Figure::Mbps),
            p50_us: of(Figure::P50),
            p99_us: of(Figure::P99),
            p999_us: of(Figure::P999),
            flush_p99_us: of(Figure::FlushP99),
            doubts: self.doubts.clone(),
        }
    }
}

/// What speaks against these figures, each doubt once.
fn against<'a>(figures: impl IntoIterator<Item = (&'a MeasuredShape, Figure)>) -> Vec<Doubt> {
    let mut doubts: Vec<Doubt> = Vec::new();
    let mut add = |doubt: Doubt| {
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    };
    for (shape, figure) in figures {
        shape.doubts.iter().cloned().for_each(&mut add);
        let name = || shape.name.clone();
        match over_runs(&shape.runs, figure) {
            Ok((_, 1)) => add(Doubt::SingleRun { shape: name() }),
            Ok(_) => {}
            Err(Missing::Figure) if shape.runs.is_empty() => {}
            Err(Missing::Figure) => add(Doubt::NoFigure { shape: name(), figure }),
            Err(Missing::Requests { counted, needed }) => {
                add(Doubt::FewRequests { shape: name(), figure, counted, needed });
            }
        }
    }
    doubts
}

/// This shape and the one with the same workload alone, perhaps without pauses; `None` if it goes beside none, or nothing like
/// it was alone.
fn at_once_finding(shape: &MeasuredShape, shapes: &[MeasuredShape]) -> Option<AtOnceFinding> {
    let beside = shape.beside.clone()?;
    let workload = shape.workload?;
    let without_pauses = WorkloadOptions { thinktime: Nanos(0), ..workload.alone().options };
    let alike = [workload.alone(), Workload { options: without_pauses, ..workload }];
    let is_alike = |other: &&MeasuredShape| other.workload.is_some_and(|other| alike.contains(&other));
    let alone = shapes.iter().filter(|other| other.beside.is_none()).find(is_alike)?;
    let is_stream = workload.rw.pattern() == Pattern::Sequential && workload.options.fdatasync == 0;
    let figure = if is_stream { Figure::Mbps } else { Figure::P99 };
    let of = |shape: &MeasuredShape| over_runs(&shape.runs, figure).ok().map(|(measured, _)| measured);
    let doubts = against([(alone, figure), (shape, figure)]);
    Some(AtOnceFinding { shape: alone.name.clone(), beside, figure, alone: of(alone), together: of(shape), doubts })
}

/// A figure of a shape, by its index, as formulas compute with it.
fn figure_of(shapes: &[MeasuredShape]) -> impl Fn(usize, Figure) -> Option<Known> {
    move |shape, figure| over_runs(&shapes[shape].runs, figure).ok().map(|(measured, _)| known(measured))
}

/// The value of a formula, with what speaks against the figures in it.
fn evaluated(formula: &Formula, shapes: &[MeasuredShape]) -> (Option<Interval>, Vec<Doubt>) {
    let figures = formula.figures().into_iter().map(|(shape, figure)| (&shapes[shape], figure));
    let mut doubts = against(figures);
    let value = formula.value(&figure_of(shapes)).map(interval);
    if value.is_none() && !doubts.iter().any(Doubt::forbids) {
        doubts.push(Doubt::NoValue);
    }
    (value, doubts)
}

fn need_finding(need: &Need, shapes: &[MeasuredShape]) -> NeedFinding {
    let (measured, doubts) = evaluated(&need.figure, shapes);
    let mut forbidding = doubts.iter().filter(|doubt| doubt.forbids());
    let are_few = measured.is_none() && forbidding.all(|doubt| matches!(doubt, Doubt::FewRequests { .. }));
    let at_least = if are_few { surely_missed(need, &|shape| &shapes[shape].runs) } else { None };
    NeedFinding {
        what: need.what.clone(),
        figure: need.figure.text().to_string(),
        measured,
        at_least,
        bound: need.bound,
        unit: need.unit.clone(),
        verdict: if at_least.is_some() { Verdict::Fail } else { verdict(need.bound, measured, &doubts) },
        doubts,
        source: need.source.clone(),
    }
}

fn verdict(bound: NeedBound, measured: Option<Interval>, doubts: &[Doubt]) -> Verdict {
    let Some(Interval { low, high, .. }) = measured.filter(|_| !doubts.iter().any(Doubt::forbids)) else {
        return Verdict::Refused;
    };
    let (meets, misses) = match bound {
        NeedBound::Below(bound) => (high < bound, low >= bound),
        NeedBound::AtLeast(bound) => (low >= bound, high < bound),
    };
    match (doubts.is_empty(), meets, misses) {
        (true, true, _) => Verdict::Pass,
        (true, _, true) => Verdict::Fail,
        _ => Verdict::NotDecided,
    }
}

/// What follows for a setting, on a disk that rotates or not.
fn setting_finding(setting: &Setting, shapes: &[MeasuredShape], rotates: Option<bool>) -> SettingFinding {
    let (value, doubts) = evaluated(&setting.value, shapes);
    let resting = |(shape, figure): (usize, Figure)| {
        let shape = &shapes[shape];
        let (measured, _) = over_runs(&shape.runs, figure).ok()?;
        Some(RestingFigure { shape: shape.name.clone(), figure, measured })
    };
    let usable = value.filter(|_| !doubts.iter().any(Doubt::forbids));
    let has_words = matches!(setting.values, SettingValues::Words(_));
    // A number whose interval is wide is no choice between two, unless an `if` makes it one.
    let is_choice = has_words || setting.value.is_open(&figure_of(shapes));
    let is_clear = usable.is_some_and(|known| !is_choice || setting.fitted(known.low) == setting.fitted(known.high));
    // The first word is the usual one: nothing else is advised that the figures do not tell apart from it.
    let is_usual = has_words && usable.is_some() && !is_clear;
    let chosen = usable.map(|known| setting.fitted(if is_usual { known.low } else { known.value }));
    SettingFinding {
        name: setting.name.clone(),
        line: chosen.map(|fitted| setting.line_with(fitted, rotates)),
        value,
        unit: setting.unit.clone(),
        is_clear,
        is_usual,
        rests_on: setting.value.figures().into_iter().filter_map(resting).collect(),
        doubts,
        source: setting.source.clone(),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Device, Environment, FileSystem, LatencyCounter};
    use halfpower_spec::{Application, Bytes, Experiment, Question};

    use super::*;
    use crate::application::rests_on;
    use crate::built::{disk, record_at};
    use crate::built_study::folder_without;
    use crate::study_findings::{StudyFindings, analyse};
    use crate::table::{ExperimentAnswer, plan};

    /// A log that needs p99 of its flush below 10 ms, and two settings that follow from it.
    const PROFILE: &str = r#"about = "a log"
[[shape]]
name = "log"
run = "--rw write --bs 4k --iodepth 1 --cache direct --fdatasync 1"
stands_for = "appends"
[[need]]
what = "p99 of a flush"
figure = "log.flush_p99_us / 1000"
below = 10
unit = "ms"
source = "https://example.org"
[[setting]]
name = "interval"
value = "10 * log.flush_p99_us / 1000"
least = 50
unit = "ms"
line = "interval: {}"
source = "https://example.org"
[[setting]]
name = "way"
value = "if(log.per_second > 80, 1, 0)"
words = ["calm", "fast"]
unit = ""
line = "way: {}"
source = "https://example.org"
[[setting]]
name = "threads"
value = "if(log.per_second > 80, 4, 16)"
unit = ""
line = "{medium}_threads: {}"
source = "https://example.org"
"#;

    fn question() -> Question {
        let application = Application { name: "./log.toml".to_string(), text: PROFILE.to_string() };
        let experiments = vec![Experiment::Application];
        Question { experiments, application: Some(application), ..Question::about("d") }
    }

    fn folder() -> Environment {
        Environment { capabilities: folder_without(Some(Bytes(512)), &[], ""), ..Environment::default() }
    }

    /// The same on a disk of which the kernel says whether it rotates.
    fn on_disk(rotational: Option<bool>) -> Environment {
        Environment { device: Some(Device { rotational, ..Device::default() }), ..folder() }
    }

    /// A study of runs of 1,000 commits, whose flushes take so long in milliseconds.
    fn study(flush_ms: &[f64], environment: &Environment, change: impl Fn(&mut Record)) -> StudyFindings {
        let question = question();
        let ask = PlanRequest { question: &question, environment };
        let workload = plan(Experiment::Application, &ask).unwrap()[0].workload;
        let counted = |ms: f64| {
            let mut counter = LatencyCounter::default();
            counter.add((ms * 1e6) as u64, 1000);
            counter.latency()
        };
        let run = |(repeat, ms): (usize, &f64)| {
            let mut record = record_at(&disk(""), workload, repeat as u32, Pass::Plain, 4096.0 * 1000.0 / ms);
            record.run.experiment = Some(Experiment::Application);
            record.ios = 1000;
            record.bytes = 4_096_000;
            record.elapsed_ns = (ms * 1e9) as u64;
            (record.commits, record.syncs) = (counted(*ms), counted(*ms));
            change(&mut record);
            record
        };
        let records: Vec<Record> = flush_ms.iter().enumerate().map(run).collect();
        analyse(&question, environment, &records)
    }

    fn found(study: &StudyFindings) -> &ApplicationAnswer {
        match &study.experiments[0].found {
            Some(ExperimentAnswer::Application(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_interval_on_one_side_of_the_bound_decides_and_one_that_holds_it_does_not() {
        for (flush_ms, truth) in [
            (&[1.9, 2.0, 2.1][..], Verdict::Pass),
            (&[19.0, 20.0, 21.0][..], Verdict::Fail),
            (&[9.0, 10.0, 10.5][..], Verdict::NotDecided),
            (&[2.0][..], Verdict::NotDecided),
        ] {
            let study = study(flush_ms, &folder(), |_| {});
            let need = &found(&study).needs[0];
            assert_eq!(need.verdict, truth, "{flush_ms:?}: {need:?}");
            let mean = flush_ms.iter().sum::<f64>() / flush_ms.len() as f64;
            assert!((need.measured.unwrap().value / mean - 1.0).abs() < 0.01, "{need:?}");
        }
        let single = study(&[2.0], &folder(), |_| {});
        assert_eq!(found(&single).needs[0].doubts, [Doubt::SingleRun { shape: "log".to_string() }]);
    }

    #[test]
    fn settings_follow_from_the_figures_and_the_usual_word_stands_where_they_do_not_decide() {
        let study = study(&[9.9, 10.0, 10.1], &folder(), |_| {});
        let [interval, way, _] = &found(&study).settings[..] else { panic!("three settings") };
        assert_eq!((interval.line.as_deref(), interval.rests_on.len()), (Some("interval: 100"), 1));
        assert_eq!((way.line.as_deref(), way.is_clear), (Some("way: fast"), true));
    }

    #[test]
    fn words_that_the_figures_do_not_tell_apart_are_the_usual_ones() {
        let study = study(&[12.0, 12.5, 13.0], &folder(), |_| {});
        let way = &found(&study).settings[1];
        assert_eq!((way.line.as_deref(), way.is_clear), (Some("way: calm"), false), "{way:?}");
    }

    #[test]
    fn numbers_that_the_figures_do_not_tell_apart_are_said_to_be_so() {
        let told = |flush_ms: &[f64]| {
            let study = study(flush_ms, &on_disk(Some(false)), |_| {});
            let threads = found(&study).settings[2].clone();
            (threads.line.clone().unwrap(), threads.is_clear, rests_on(&threads))
        };
        let (line, is_clear, why) = told(&[12.0, 12.4, 12.8]);
        assert_eq!((line.as_str(), is_clear), ("ssd_threads: 4", false));
        assert!(why.ends_with("; they do not tell the choices apart, so this is the likelier one"), "{why}");
        let (line, is_clear, why) = told(&[9.9, 10.0, 10.1]);
        assert_eq!((line.as_str(), is_clear), ("ssd_threads: 4", true));
        assert!(!why.contains("apart"), "{why}");
    }

    #[test]
    fn a_line_is_for_the_kind_of_disk_or_names_both() {
        let threads = |rotates| found(&study(&[9.9, 10.0, 10.1], &on_disk(rotates), |_| {})).settings[2].line.clone();
        assert_eq!(threads(Some(true)).as_deref(), Some("hdd_threads: 4"));
        assert_eq!(threads(Some(false)).as_deref(), Some("ssd_threads: 4"));
        assert_eq!(threads(None).as_deref(), Some("[hdd|ssd]_threads: 4"));
    }

    #[test]
    fn nothing_is_said_from_failed_requests_a_memory_file_system_or_a_credit() {
        let refused = |study: &StudyFindings, code: &str| {
            let answer = found(study);
            assert_eq!((answer.needs[0].verdict, answer.settings[0].line.as_deref()), (Verdict::Refused, None));
            let doubts = serde_json::to_string(&answer.needs[0].doubts).unwrap();
            assert!(doubts.contains(code), "{code}: {doubts}");
        };
        let failing = |record: &mut Record| {
            record.errors.insert("EIO".to_string(), 3);
        };
        refused(&study(&[2.0; 3], &folder(), failing), "failed");
        let filesystem = Some(FileSystem { kind: "tmpfs".to_string(), ..FileSystem::default() });
        refused(&study(&[2.0; 3], &Environment { filesystem, ..folder() }, |_| {}), "cache");
        refused(&study(&[1.0, 4.0, 4.0, 4.0], &folder(), |_| {}), "credit");
        refused(&study(&[1.0, 9.0, 2.0, 30.0], &folder(), |_| {}), "runs-differ");
    }

    #[test]
    fn a_percentile_of_too_few_requests_is_none() {
        let few = |record: &mut Record| {
            let mut counter = LatencyCounter::default();
            counter.add(2_000_000, 100);
            record.syncs = counter.latency();
        };
        let study = study(&[2.0; 3], &folder(), few);
        let need = &found(&study).needs[0];
        let figure = Figure::FlushP99;
        assert_eq!(need.doubts, [Doubt::FewRequests { shape: "log".to_string(), figure, counted: 300, needed: 500 }]);
        assert_eq!((need.verdict, need.measured, need.at_least), (Verdict::Refused, None, None));
    }

    #[test]
    fn few_requests_are_enough_for_a_need_that_all_of_them_miss() {
        let few = |ns: [u64; 2]| {
            move |record: &mut Record| {
                let mut counter = LatencyCounter::default();
                counter.add(ns[0], 17);
                counter.add(ns[1], 3);
                record.syncs = counter.latency();
            }
        };
        let slow = study(&[2.0; 3], &folder(), few([25_000_000, 26_000_000]));
        let need = &found(&slow).needs[0];
        let least = need.at_least.unwrap();
        assert_eq!((need.verdict, need.measured, need.doubts.len()), (Verdict::Fail, None, 1));
        assert!((25.0..=26.5).contains(&least), "{least}");
        // 3 of 20 are more than the one in a hundred that may be slower.
        let some = study(&[2.0; 3], &folder(), few([2_000_000, 26_000_000]));
        assert_eq!(found(&some).needs[0].verdict, Verdict::Fail);
        let fast = study(&[2.0; 3], &folder(), few([2_000_000, 2_100_000]));
        assert_eq!(
            found(&fast).needs[0].verdict,
            Verdict::Refused,
            "that few slow ones are rare, few requests cannot show"
        );
    }

    /// One server of 100 us a request: alone a read takes 100 us, and beside three requests of another load 400 us.
    #[test]
    fn a_shape_is_told_alone_and_beside_another() {
        let text = r#"about = "reads beside writes"
[[shape]]
name = "get"
run = "--rw randread --bs 4k --iodepth 1"
stands_for = "lookups"
[[shape]]
name = "get_in_flush"
run = "--rw randread --bs 4k --iodepth 1"
beside = "flush"
stands_for = "lookups while pages are written"
[[shape]]
name = "flush"
run = "--rw randwrite --bs 4k --iodepth 3"
stands_for = "pages that are written"
[[setting]]
name = "limit"
value = "get_in_flush.p99_us / get.p99_us"
unit = ""
line = "limit = {}"
source = "https://example.org"
"#;
        let application = Application { name: "./mine.toml".to_string(), text: text.to_string() };
        let question = Question { application: Some(application), ..question() };
        let environment = folder();
        let ask = PlanRequest { question: &question, environment: &environment };
        let cells = plan(Experiment::Application, &ask).unwrap();
        assert_eq!(cells.len(), 2, "what stands only beside another is not measured alone");
        let run = |(nth, repeat): (usize, u32)| {
            let workload = cells[nth].workload;
            let took_us = if workload.options.beside.is_some() { 400.0 } else { 100.0 };
            let mut record = record_at(&disk(""), workload, repeat, Pass::Plain, 4096.0 * 1e6 / took_us);
            let mut counter = LatencyCounter::default();
            counter.add((took_us * 1e3) as u64, record.ios.max(1000));
            record.run.experiment = Some(Experiment::Application);
            record.achieved_depth = 0.0;
            record.latency = counter.latency();
            record
        };
        let records: Vec<Record> = (0..3).flat_map(|repeat| [(0, repeat), (1, repeat)]).map(run).collect();
        let study = analyse(&question, &environment, &records);
        let answer = found(&study);
        let [at_once] = &answer.at_once[..] else { panic!("{:?}", answer.at_once) };
        assert_eq!((at_once.shape.as_str(), at_once.beside.as_str(), at_once.figure), ("get", "flush", Figure::P99));
        let [alone, together] = [at_once.alone, at_once.together].map(|measured| measured.unwrap().value);
        assert!((alone / 100.0 - 1.0).abs() < 0.01 && (together / 400.0 - 1.0).abs() < 0.01, "{at_once:?}");
        assert!(at_once.doubts.is_empty(), "{at_once:?}");
        assert_eq!(answer.settings[0].line.as_deref(), Some("limit = 4"));
    }

    #[test]
    fn a_profile_that_cannot_be_read_says_why() {
        let text = "about = 7".to_string();
        let application = Some(Application { name: "x.toml".to_string(), text });
        let data = ExperimentData {
            question: &Question { application, ..question() },
            environment: &folder(),
            cells: Vec::new(),
        };
        let (rows, answer) = super::analyse(&data);
        assert!(rows.application.is_empty() && answer.unreadable.unwrap().contains("line 1"));
    }
}
