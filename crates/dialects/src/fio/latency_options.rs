//! Lists fio's options of a bound on latency, for which a depth is looked for.

use halfpower_spec::Nanos;

use super::job::Job;
use super::take::{microseconds, on};
use crate::OptionRow;

type Row = OptionRow<Job>;

/// Sets a flag to a time, in microseconds without a unit; 0 unsets it.
fn set_time(job: &mut Job, flag: &'static str, value: &str) -> Result<(), String> {
    match microseconds(value)? {
        Nanos(0) => job.run.unset(flag),
        time => job.run.set(flag, time),
    }
    Ok(())
}

/// fio's options of a bound on latency.
pub(super) const LATENCY_OPTIONS: &[Row] = &[
    Row::taken(
        "latency_target",
        "--latency-target: the greatest depth up to iodepth that keeps it is looked for, and the job is measured there",
        |job, value| set_time(job, "--latency-target", value),
    ),
    Row::taken("latency_percentile", "--latency-percentile [default: 100]", |job, value| {
        match value.parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 => job.run.set("--latency-percentile", percent),
            _ => return Err(format!("`{value}` is no share of the requests in percent; write it like 99.9")),
        }
        Ok(())
    }),
    Row::taken("latency_window", "--latency-window, the time for which each depth is tried [default: 1s]", |job, value| {
        set_time(job, "--latency-window", value)
    }),
    Row::taken(
        "latency_run",
        "with 0, a job without runtime ends with a window at the depth found; with 1, it goes on as without latency_target",
        |job, value| {
            job.switches.goes_on_at_depth = on(value)?;
            Ok(())
        },
    )
    .optional(),
    Row::refused("latency_max_queue_depth", "depths are tried up to iodepth: set that"),
    Row::refused("max_latency", "no latency ends a run: the largest one is in its results"),
];
