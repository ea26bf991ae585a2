//! Prints a record as SQLIO printed its results.

use std::io::{self, Write};

use halfpower_record::{Latency, Record};
use halfpower_spec::{Cache, Direction, EngineName, Pattern};

use super::options::Shown;
use crate::{Layout, Measured};

/// Columns of the histogram, in milliseconds; the last column counts all longer latencies.
const COLUMNS_MS: u64 = 24;

impl Layout for Shown {
    fn print(&self, measured: &[Measured<'_>], out: &mut dyn Write) -> io::Result<()> {
        measured.iter().try_for_each(|run| print(self, run, out))
    }
}

/// Prints one run.
fn print(shown: &Shown, measured: &Measured<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Measured { run, record, .. } = measured;
    let workload = &record.run.workload;
    let names: Vec<String> = run.files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
    let all_files = if names.len() == 1 { "file" } else { "files" };
    let all_names = names.join(" and ");
    writeln!(out, "sqlio (halfpower {})", env!("CARGO_PKG_VERSION"))?;
    if shown.latency {
        writeln!(out, "using system counter for latency timings, 1000000000 counts per second")?;
    }
    let threads = workload.threads as usize;
    let all_threads = threads * names.len().max(1);
    if let Some(path) = &shown.parameter_file {
        writeln!(out, "parameter file used: {path}")?;
        for (nth, name) in names.iter().enumerate() {
            let first = nth * threads;
            let last = (first + threads).saturating_sub(1);
            let word = plural(threads);
            writeln!(out, "\tfile {name} with {threads} thread{word} ({first}-{last}) using mask 0x0 (0)")?;
        }
    }
    let (doing, preposition) = match workload.rw.direction() {
        Some(Direction::Read) => ("reading", "from"),
        _ => ("writing", "to"),
    };
    let seconds = record.run.runtime.seconds();
    let word = plural(all_threads);
    writeln!(out, "{all_threads} thread{word} {doing} for {seconds} secs {preposition} {all_files} {all_names}")?;
    let order = if workload.rw.pattern() == Pattern::Random { "random" } else { "sequential" };
    writeln!(out, "\tusing {}KB {order} IOs", workload.bs.kib())?;
    if record.engine != EngineName::Sync {
        writeln!(out, "\tenabling multiple I/Os per thread with {} outstanding", workload.iodepth)?;
    }
    writeln!(out, "\t{}", buffering(workload.cache))?;
    let (kind, mib) = match shown.size_mib {
        Some(mib) => ("specified", mib),
        None => ("current", record.span_bytes >> 20),
    };
    for name in &names {
        writeln!(out, "using {kind} size: {mib} MB for file: {name}")?;
    }
    writeln!(out, "initialization done")?;
    figures(shown, record, out)
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn buffering(cache: Cache) -> &'static str {
    match cache {
        Cache::None => "buffering set to not use file nor disk caches (as is SQL Server)",
        Cache::Both => "buffering set to use both file and disk caches",
        Cache::Device => "buffering set to use hardware disk cache (but not file cache)",
        Cache::Os => "buffering set to use software file cache (but not disk cache)",
    }
}

fn figures(shown: &Shown, record: &Record, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "CUMULATIVE DATA:")?;
    writeln!(out, "throughput metrics:")?;
    writeln!(out, "IOs/sec: {:8.2}", record.iops())?;
    writeln!(out, "MBs/sec: {:8.2}", record.mbps() * 1e6 / 1_048_576.0)?;
    if record.error_count() > 0 {
        writeln!(out, "errors: {}", record.error_count())?;
    }
    if !shown.latency {
        return Ok(());
    }
    let latency = &record.latency;
    let ms = |ns: f64| (ns / 1e6) as u64;
    writeln!(out, "latency metrics:")?;
    writeln!(out, "Min_Latency(ms): {}", ms(latency.min_ns() as f64))?;
    writeln!(out, "Avg_Latency(ms): {}", ms(latency.mean_ns()))?;
    writeln!(out, "Max_Latency(ms): {}", ms(latency.max_ns() as f64))?;
    histogram(latency, out)
}

/// Percent of all requests by whole milliseconds.
fn histogram(latency: &Latency, out: &mut dyn Write) -> io::Result<()> {
    let mut counts = [0u64; COLUMNS_MS as usize + 1];
    for (low, high, count) in latency.buckets() {
        let ms = (low + (high - low) / 2) / 1_000_000;
        counts[ms.min(COLUMNS_MS) as usize] += count;
    }
    let total = latency.count().max(1);
    let heads: Vec<String> = (0..=COLUMNS_MS).map(|ms| format!("{ms:2}")).collect();
    let shares: Vec<String> = counts.iter().map(|count| format!("{:2}", (count * 100 + total / 2) / total)).collect();
    writeln!(out, "histogram:")?;
    writeln!(out, "ms:{}+", heads.join(" "))?;
    writeln!(out, "%: {}", shares.join(" "))
}
