//! Implements `halfpower predict`: asks what an application asked of a model of another path, in virtual time.

use std::path::Path;

use anyhow::{Context, Result, bail};
use halfpower_analyse::{
    Ceilings, Interval, PredictBasis, PredictFindings, PredictedProcessors, predict_findings, prediction_course,
};
use halfpower_experiments::commits::{FlushAlone, flush_alone};
use halfpower_measure::{SimulatedPath, simulated_path};
use halfpower_model::{Demand, Fitted, PathConstants, likely_factor};
use halfpower_record::{Captured, read_capture};
use halfpower_replay::{FlushBy, Pace, Processors, SimulatedPlace, SimulatedRound, UsedProcessors, simulated_round};
use halfpower_spec::{Bytes, Direction, Pattern, SimulatedDisk, SimulatedSystem, Target, format};

use super::again::Outputs;
use super::calibrate::calibrated;
use super::report::{Analysed, style_without_a_terminal};
use super::{opened, shut_out, to_output, to_styled_output};
use crate::predict_args::PredictArgs;

/// Width without a terminal: rows have several figures.
const WITHOUT_A_TERMINAL: usize = 100;
/// Fewest and most likely states of a path that a capture is asked of.
const DRAWS: (u64, u64) = (8, 40);
/// Operations of all of them together, about.
const OPERATIONS: u64 = 2_000_000;
/// Standard errors from the middle to an end of a 95% interval.
const NORMAL: f64 = 1.96;

/// Predicts what the application of a capture would get.
///
/// # Errors
/// A sentence if a file cannot be read or written, or the study tells nothing of what the application asks.
pub fn predict(args: &PredictArgs) -> Result<()> {
    let study = match &args.on.target {
        Target::Path(path) => Some(path.as_path()),
        _ => None,
    };
    let inputs = || [Some(args.capture.as_path()), study].into_iter().flatten();
    let outputs = Outputs::of([args.output.as_deref(), args.html.as_deref()], args.force, args.json, inputs())?;
    shut_out(inputs(), [args.output.as_deref(), args.html.as_deref()].into_iter().flatten());
    let captured = read_capture(&args.capture)?;
    if captured.operations.is_empty() {
        bail!("{}: it holds no operation, so nothing can be predicted; capture a longer time", args.capture.display());
    }
    let asked = Asked::of(&captured, args.speed.pace());
    let predicted = match &args.on.target {
        Target::Simulated(disk) => on_disk(disk, &asked),
        Target::System(system) => on_system(system, &asked, &args.on.words)?,
        Target::Path(path) => on_study(path, &asked)?,
        Target::Several(_) | Target::Share(_) | Target::Null => bail!("{}: name a study of it", args.on.words),
    };
    let findings = predicted.findings(&asked);
    let place = match &predicted.device {
        Some(device) => format!("{} ({device})", args.on.words),
        None => args.on.words.clone(),
    };
    let written = outputs.write(Some(&predicted.round.captured), |out| {
        let course = prediction_course(&captured, &predicted.round.captured);
        halfpower_report::predict_html(&findings, &course, &captured, &place, out)
    });
    if outputs.take_standard_output() {
        return written.all();
    }
    if args.json {
        to_output(|out| Ok(halfpower_report::predict_json(&findings, &captured, &place, out)?))?;
        return written.all();
    }
    let style = style_without_a_terminal(WITHOUT_A_TERMINAL);
    let text = halfpower_report::predict_text(&findings, &captured, &place, style.width);
    to_styled_output(&style, |out| Ok(out.write_all(text.as_bytes())?))?;
    written.told()
}

/// What is asked of a model.
struct Asked<'a> {
    captured: &'a Captured,
    pace: Pace,
    /// The processors that lanes share, if the capture tells.
    processors: Option<Processors>,
}

impl<'a> Asked<'a> {
    fn of(captured: &'a Captured, pace: Pace) -> Self {
        // Without pauses nothing is known of what is computed.
        let processors = if pace.has_pauses() { Processors::of(captured) } else { None };
        Self { captured, pace, processors }
    }

    /// A round of places that are alike; `near` is another such round, from which it is found sooner.
    fn round(&self, near: Option<&SimulatedRound>, place: impl Fn() -> SimulatedPlace) -> SimulatedRound {
        match &self.processors {
            Some(processors) if !self.pace.open => {
                let more = near.and_then(|near| near.processors).map_or(0.0, |near| near.more);
                processors.round(self.captured, self.pace, more, place)
            }
            _ => simulated_round(self.captured, self.pace, place()),
        }
    }

    /// A round where computing takes no time, if the capture tells how much it computes.
    fn without_computing(&self, place: impl Fn() -> SimulatedPlace) -> Option<Captured> {
        let processors = self.processors.filter(|_| !self.pace.open)?;
        Some(processors.round_without_computing(self.captured, self.pace, place()).captured)
    }

    /// What processors do in a round, or would have to do.
    fn used(&self, round: &SimulatedRound) -> Option<PredictedProcessors> {
        let in_open_loop = || Some(self.processors?.in_open_loop(self.pace));
        let UsedProcessors { before, there, usable, longer, .. } = round.processors.or_else(in_open_loop)?;
        Some(PredictedProcessors { before, there, usable, longer })
    }
}

/// What a model says.
struct Predicted {
    /// What it says of the path as it is known.
    round: SimulatedRound,
    /// What it says of likely states of the path; empty if only one is known.
    draws: Vec<Captured>,
    /// What it says without limits that no study has seen.
    at_most: Option<Captured>,
    /// What it says if times that may be limits of rate are such.
    if_limited: Option<Captured>,
    /// What it says if computing takes no time.
    without_computing: Option<Captured>,
    /// The model, if it was fitted to a study.
    fitted: Option<Fitted>,
    /// Time of a flush in nanoseconds, if a study tells it.
    flush_ns: Option<Interval>,
    /// Name of the device, if a study tells it.
    device: Option<String>,
}

impl Predicted {
    fn findings(&self, asked: &Asked<'_>) -> PredictFindings {
        let basis = PredictBasis {
            fitted: self.fitted.as_ref(),
            demands: &self.round.demands,
            at_most: self.at_most.as_ref(),
            if_limited: self.if_limited.as_ref(),
            flush_of_system: self.round.path_flushes,
            flush_ns: self.flush_ns,
            unsynced_bytes: self.round.unsynced_bytes,
            folded_bytes: self.round.folded_bytes,
            is_whole: self.round.is_whole,
            waits: self.round.waits,
            processors: asked.used(&self.round),
            without_computing: self.without_computing.as_ref(),
        };
        let known = std::slice::from_ref(&self.round.captured);
        predict_findings(asked.captured, if self.draws.is_empty() { known } else { &self.draws }, &basis)
    }
}

/// How many likely states of a path a capture is asked of: many operations tell much by themselves, and take their time.
fn draws(captured: &Captured) -> u32 {
    (OPERATIONS / captured.operations.len().max(1) as u64).clamp(DRAWS.0, DRAWS.1) as u32
}

fn on_disk(disk: &SimulatedDisk, asked: &Asked<'_>) -> Predicted {
    let round = |seed, near| asked.round(near, || SimulatedPlace::disk(disk, asked.captured, seed));
    let varies = disk.noise > 0.0 || disk.jitter > 0.0;
    let count = if varies { draws(asked.captured) } else { 0 };
    let known = round(0, None);
    Predicted {
        draws: (1..=u64::from(count)).map(|seed| round(seed, Some(&known)).captured).collect(),
        round: known,
        at_most: None,
        if_limited: None,
        without_computing: asked.without_computing(|| SimulatedPlace::disk(disk, asked.captured, 0)),
        fitted: None,
        flush_ns: None,
        device: None,
    }
}

fn on_system(system: &SimulatedSystem, asked: &Asked<'_>, words: &str) -> Result<Predicted> {
    match simulated_path(system)? {
        SimulatedPath::Machine(stack) => Ok(Predicted {
            round: asked.round(None, || SimulatedPlace::machine((*stack).clone())),
            draws: Vec::new(),
            at_most: None,
            if_limited: None,
            without_computing: asked.without_computing(|| SimulatedPlace::machine((*stack).clone())),
            fitted: None,
            flush_ns: None,
            device: None,
        }),
        SimulatedPath::Calibrated { fitted, disks, chunk } => {
            let on = Devices { fitted, layout: (disks, chunk), flush: None };
            on.predicted(asked).with_context(|| words.to_string())
        }
    }
}

fn on_study(study: &Path, asked: &Asked<'_>) -> Result<Predicted> {
    let name = || study.display().to_string();
    let analysed = Analysed::of(&opened(study)?)?;
    let fitted = calibrated(&analysed, Ceilings::Device).with_context(name)?.fitted;
    let flush = flush_alone(&analysed.findings.rows.commits.commits).map(|flush| DeviceFlush::of(flush, &fitted));
    let device = analysed.findings.device.as_ref().map(|device| device.name.clone());
    let on = Devices { fitted, layout: (1, None), flush };
    let predicted = on.predicted(asked).with_context(name)?;
    Ok(Predicted { device, ..predicted })
}

/// A flush of a device that was studied.
#[derive(Debug, Clone, Copy)]
struct DeviceFlush {
    /// Its time in nanoseconds.
    ns: Interval,
    /// The most that it serves; 0 is all.
    most: u32,
    /// Whether the limit of write requests counts it.
    counted: bool,
}

impl DeviceFlush {
    fn of(flush: FlushAlone, fitted: &Fitted) -> Self {
        let path = fitted.path_of(Pattern::Sequential, Direction::Write);
        let writes = path.and_then(|(pattern, cache)| fitted.passage(pattern, cache, Direction::Write));
        let counted = writes.and_then(|writes| writes.ceiling_iops).is_some_and(|iops| flush.counts(iops));
        Self { ns: without_its_write(flush, writes), most: flush.most, counted }
    }
}

/// The time of a flush without that of what was written back within it.
fn without_its_write(flush: FlushAlone, writes: Option<&PathConstants>) -> Interval {
    let writes = writes.filter(|_| flush.written_bytes > 0);
    let write_ns = writes.map_or(0.0, |writes| writes.alone_us(Bytes(flush.written_bytes)) * 1e3);
    let Interval { value, low, high } = flush.ns;
    let [value, low, high] = [value, low, high].map(|ns| (ns - write_ns).max(0.0));
    Interval { value, low, high }
}

/// Calibrated devices.
struct Devices {
    fitted: Fitted,
    /// How many, and the chunk of their stripe.
    layout: (u32, Option<u64>),
    /// Their flush, if known.
    flush: Option<DeviceFlush>,
}

impl Devices {
    fn predicted(self, asked: &Asked<'_>) -> Result<Predicted> {
        let flush = |factor: f64| match self.flush {
            Some(DeviceFlush { ns, most, counted }) => {
                FlushBy::Device { ns: (ns.value * factor).round() as u64, most, counted }
            }
            None => FlushBy::Captured,
        };
        let flush_ns = self.flush.map(|flush| flush.ns);
        let round = |fitted: &Fitted, factor: f64, near: Option<&SimulatedRound>| {
            asked.round(near, || SimulatedPlace::fitted(fitted, self.layout, asked.captured, flush(factor)))
        };
        let known = round(&self.fitted, 1.0, None);
        let near = Some(&known);
        if let Some(missing) = known.demands.iter().find(|demand| self.lacks(demand)) {
            let direction = missing.direction;
            bail!(
                "it tells nothing of {direction}s, and the application makes {} of them; a study with --rw read,write does",
                format::thousands(missing.requests as f64)
            );
        }
        let deviation = flush_ns.map_or(0.0, |ns| ns.relative_reach() / NORMAL);
        let varies = !self.fitted.error.is_empty() || deviation > 0.0;
        let count = if varies { draws(asked.captured) } else { 0 };
        let likely = |number: u32| round(&self.fitted.likely(number), likely_factor(deviation, number), near).captured;
        let draws = (1..=count).map(likely).collect();
        let at_most = self.fitted.at_most().map(|most| round(&most, 1.0, near).captured);
        let if_limited = self.fitted.limited().map(|limited| round(&limited, 1.0, near).captured);
        let without_computing =
            asked.without_computing(|| SimulatedPlace::fitted(&self.fitted, self.layout, asked.captured, flush(1.0)));
        Ok(Predicted {
            round: known,
            draws,
            at_most,
            if_limited,
            without_computing,
            flush_ns,
            device: None,
            fitted: Some(self.fitted),
        })
    }

    fn lacks(&self, demand: &Demand) -> bool {
        self.fitted.path_of(demand.pattern, demand.direction).is_none()
    }
}
