//! `halfpower memory`: memspeed, the speed of memory alone.

use std::sync::atomic::AtomicBool;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::{Place, RealPlace};
use record::Record;
use spec::{EngineName, Nanos, PageCache, Run};

use super::to_output;
use crate::args::MemoryArgs;

/// How often each kernel is run, and for how long: together with laying out memory a quarter of a minute.
const REPEATS: u32 = 5;
const RUNTIME: Nanos = Nanos(80_000_000);

pub fn memory(args: &MemoryArgs) -> Result<()> {
    let stop = os::interrupt::stop_flag()?;
    let mut place = open_place(args)?;
    let threads = args.threads.unwrap_or(place.environment().machine.cpus);
    let mut workloads = study::memory_workloads(threads);
    workloads.retain(|workload| match place.admits(workload) {
        Ok(()) => true,
        Err(why) => {
            eprintln!("Left out: {why}.");
            false
        }
    });
    let runs = study::memory_runs(&workloads, REPEATS, RUNTIME, args.seed);
    let records = measure_all(&mut place, &runs, args.json, &stop)?;
    let memory = analyse::memory(&records);
    to_output(None, |out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, &report::memory_json(&memory))?;
            return Ok(writeln!(out)?);
        }
        Ok(report::memory_text(&memory, analyse::loop_ns_per_kib(&records), out)?)
    })
}

fn open_place(args: &MemoryArgs) -> Result<RealPlace> {
    let wanted = measure::Wanted {
        size: None,
        writes: false,
        overwrite: false,
        page_cache: PageCache::Empty,
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

/// Measures the runs, with a line on the terminal between them.
fn measure_all(place: &mut dyn Place, runs: &[Run], quiet: bool, stop: &AtomicBool) -> Result<Vec<Record>> {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(runs.len() as u64), target);
    bar.set_style(ProgressStyle::with_template("{bar:24} {msg}").expect("the template is a constant"));
    let records = runs.iter().map(|run| {
        let kernel = run.workload.twist.kernel.map_or("", |kernel| kernel.word());
        bar.set_message(format!("{kernel}, {} threads", run.workload.threads));
        let record = measure::measure(place, run, stop)?;
        bar.inc(1);
        Ok(record)
    });
    let records = records.collect::<Result<Vec<_>>>();
    bar.finish_and_clear();
    records
}
