//! Implements `halfpower memory`: measures how fast the processors move memory.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Result;
use halfpower_measure::{RealTarget, TargetBackend};
use halfpower_record::Record;
use halfpower_spec::{EngineName, Experiment, Nanos, Question, Run};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::to_output;
use crate::args::MemoryArgs;

/// Fewest and most rounds over all kernels, and the time after which no further round begins.
const ROUNDS: (u32, u32) = (3, 7);
const LAST_ROUND_BEGINS: Duration = Duration::from_secs(11);
/// Length of each window.
const RUNTIME: Nanos = Nanos(80_000_000);
/// A budget so large that the clock here ends the rounds, and not the plan.
const NO_BUDGET: Nanos = Nanos(3_600_000_000_000);

pub fn memory(args: &MemoryArgs) -> Result<()> {
    let stop = halfpower_os::interrupt::stop_flag()?;
    let mut backend = open_target(args)?;
    let runs = plan(args, &backend);
    let least = args.repeats.unwrap_or(ROUNDS.0);
    let records = measure_all(&mut backend, &runs, least, args.json, &stop)?;
    let memory = halfpower_experiments::memory(&records);
    to_output(|out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, &halfpower_report::memory_json(&memory))?;
            return Ok(writeln!(out)?);
        }
        Ok(halfpower_report::memory_text(&memory, halfpower_experiments::loop_ns_per_kib(&records), out)?)
    })
}

/// The runs of the experiment `memory`, without those that this machine cannot run.
fn plan(args: &MemoryArgs, backend: &RealTarget) -> Vec<Run> {
    let question = Question {
        experiments: vec![Experiment::Memory],
        threads: args.threads.unwrap_or(1),
        runtime: Some(RUNTIME),
        repeats: args.repeats.unwrap_or(ROUNDS.1),
        budget: NO_BUDGET,
        seed: args.seed,
        ..Question::about("null:")
    };
    let mut runs = halfpower_study::fixed_runs(&question, backend.environment());
    // The plan treats one thread as the default and adds more; `--threads 1` must limit them here.
    runs.retain(|run| run.workload.threads <= args.threads.unwrap_or(u32::MAX));
    let mut refused = BTreeSet::new();
    runs.retain(|run| match backend.admits(&run.workload) {
        Ok(()) => true,
        Err(why) => {
            if refused.insert(why.to_string()) {
                crate::tell::tell!("Left out: {why}.");
            }
            false
        }
    });
    runs
}

fn open_target(args: &MemoryArgs) -> Result<RealTarget> {
    let wanted = halfpower_measure::RealTargetOptions {
        engine: EngineName::Memory,
        seed: args.seed,
        layout_limit: Nanos(0),
        ..halfpower_measure::RealTargetOptions::default()
    };
    Ok(match &args.folder {
        Some(folder) => RealTarget::open(folder, &wanted)?,
        None => RealTarget::null(&wanted)?,
    })
}

/// Measures round after round: at least `least` rounds, and more while there is time. Updates a line on the terminal
/// between runs.
fn measure_all(
    backend: &mut dyn TargetBackend,
    runs: &[Run],
    least: u32,
    quiet: bool,
    stop: &AtomicBool,
) -> Result<Vec<Record>> {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(runs.len() as u64), target);
    bar.set_style(ProgressStyle::with_template("{bar:24} {msg}").expect("the template is a constant"));
    let began = Instant::now();
    let mut records = Vec::with_capacity(runs.len());
    for round in runs.chunk_by(|one, next| one.repeat == next.repeat) {
        if round[0].repeat >= least && began.elapsed() > LAST_ROUND_BEGINS {
            break;
        }
        for run in round {
            let kernel = run.workload.options.kernel.map_or("", |kernel| kernel.word());
            bar.set_message(format!("round {}: {kernel}, threads: {}", run.repeat + 1, run.workload.threads));
            records.push(halfpower_measure::measure(backend, run, stop)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(records)
}
