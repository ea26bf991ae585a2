//! `halfpower memory`: memspeed, the speed of memory alone.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::{Place, RealPlace};
use record::Record;
use spec::{EngineName, Experiment, Nanos, Question, Run};

use super::to_output;
use crate::args::MemoryArgs;

/// Fewest and most rounds over all kernels, and the time after which no further round is begun.
const ROUNDS: (u32, u32) = (3, 7);
const LAST_ROUND_BEGINS: Duration = Duration::from_secs(11);
/// How long each window stays open.
const RUNTIME: Nanos = Nanos(80_000_000);
/// So much that it is the clock here, and not the plan, that ends the rounds.
const NO_BUDGET: Nanos = Nanos(3_600_000_000_000);

pub fn memory(args: &MemoryArgs) -> Result<()> {
    let stop = os::interrupt::stop_flag()?;
    let mut place = open_place(args)?;
    let runs = plan(args, &place);
    let least = args.repeats.unwrap_or(ROUNDS.0);
    let records = measure_all(&mut place, &runs, least, args.json, &stop)?;
    let memory = analyse::memory(&records);
    to_output(None, |out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, &report::memory_json(&memory))?;
            return Ok(writeln!(out)?);
        }
        Ok(report::memory_text(&memory, analyse::loop_ns_per_kib(&records), out)?)
    })
}

/// The runs of the experiment `memory`, without what this machine cannot run.
fn plan(args: &MemoryArgs, place: &RealPlace) -> Vec<Run> {
    let question = Question {
        experiments: vec![Experiment::Memory],
        threads: args.threads.unwrap_or(1),
        runtime: Some(RUNTIME),
        repeats: args.repeats.unwrap_or(ROUNDS.1),
        budget: NO_BUDGET,
        seed: args.seed,
        ..Question::about("null:")
    };
    let mut runs = study::fixed_runs(&question, place.environment());
    // To the plan one thread is no wish; here it may be one.
    runs.retain(|run| run.workload.threads <= args.threads.unwrap_or(u32::MAX));
    let mut refused = BTreeSet::new();
    runs.retain(|run| match place.admits(&run.workload) {
        Ok(()) => true,
        Err(why) => {
            if refused.insert(why.to_string()) {
                eprintln!("Left out: {why}.");
            }
            false
        }
    });
    runs
}

fn open_place(args: &MemoryArgs) -> Result<RealPlace> {
    let wanted = measure::Wanted {
        size: None,
        writes: false,
        overwrite: false,
        drop_caches: false,
        engine: EngineName::Memory,
        seed: args.seed,
        layout_limit: Nanos(0),
    };
    Ok(match &args.folder {
        Some(folder) => RealPlace::open(folder, &wanted)?,
        None => RealPlace::null(&wanted)?,
    })
}

/// Measures round after round, the first `least` in any case and more while there is time, with a line on the terminal
/// between runs.
fn measure_all(place: &mut dyn Place, runs: &[Run], least: u32, quiet: bool, stop: &AtomicBool) -> Result<Vec<Record>> {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(runs.len() as u64), target);
    bar.set_style(ProgressStyle::with_template("{bar:24} {msg}").expect("the template is a constant"));
    let (began, mut records) = (Instant::now(), Vec::with_capacity(runs.len()));
    for round in runs.chunk_by(|one, next| one.repeat == next.repeat) {
        if round[0].repeat >= least && began.elapsed() > LAST_ROUND_BEGINS {
            break;
        }
        for run in round {
            let kernel = run.workload.twist.kernel.map_or("", |kernel| kernel.word());
            bar.set_message(format!("round {}: {kernel}, threads: {}", run.repeat + 1, run.workload.threads));
            records.push(measure::measure(place, run, stop)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(records)
}
