//! Lists fio's options of what is printed and logged.

use super::job::Job;
use super::logs::LogKind;
use super::printed::Formats;
use super::take::{count, on};
use crate::OptionRow;

type Row = OptionRow<Job>;

const NO_LOG: &str =
    "logs have averages of each direction: use write_bw_log, write_iops_log and write_lat_log with log_avg_msec";

/// fio's options of output and logs.
pub(super) const OUTPUT_OPTIONS: &[Row] = &[
    Row::taken(
        "output_format",
        "json and json+ print fio's JSON, with all bins; terse its lines; normal as `halfpower run` does; or a list of these",
        |job, value| {
            let version = job.formats.terse_version;
            job.formats = Formats { terse_version: version, ..Formats::parse(value)? };
            Ok(())
        },
    ),
    Row::taken("minimal", "--output-format terse", |job, value| {
        if on(value)? {
            job.formats = Formats { terse: true, terse_version: job.formats.terse_version, ..Formats::default() };
        }
        Ok(())
    })
    .optional(),
    Row::taken("append_terse", "terse lines beside the other formats", |job, value| {
        if on(value)? {
            job.formats.normal |= !job.formats.for_programs();
            job.formats.terse = true;
        }
        Ok(())
    })
    .optional(),
    Row::taken("terse_version", "3, 4 or 5", |job, value| match value {
        "3" | "4" | "5" => {
            job.formats.terse_version = value.parse().ok();
            Ok(())
        }
        other => Err(format!("`{other}`: use 3, 4 or 5")),
    }),
    Row::taken(
        "group_reporting",
        "the jobs of a group are one entry of the results; without it, each thread of a job has one",
        |job, value| {
            job.is_grouped = on(value)?;
            Ok(())
        },
    )
    .optional(),
    log("write_bw_log", "a log of KiB a second, NAME_bw.N.log", |job, value| {
        job.logs.ask(LogKind::Bandwidth, value.into());
        Ok(())
    }),
    log("write_iops_log", "a log of requests a second, NAME_iops.N.log", |job, value| {
        job.logs.ask(LogKind::Requests, value.into());
        Ok(())
    }),
    log("write_lat_log", "logs of mean latency, NAME_lat.N.log and NAME_clat.N.log", |job, value| {
        job.logs.ask(LogKind::Latency, value.into());
        job.run.note(
            "write_lat_log: latency is one span, from before submission to the reaping: the log of completion latency has \
             the same values, and there is none of submission",
        );
        Ok(())
    }),
    Row::taken("log_avg_msec", "the time between two values of a log, at least 100 ms", |job, value| {
        job.logs.set_every_ms(count(value)?.into());
        Ok(())
    }),
    Row::taken("per_job_logs", "whether the name of a log has the number of the job's first thread", |job, value| {
        job.logs.set_numbered(on(value)?);
        Ok(())
    })
    .optional(),
    Row::refused("write_hist_log", NO_LOG)
        .or(&[
            "log_hist_msec",
            "log_hist_coarseness",
            "log_max_value",
            "log_window_value",
            "log_offset",
            "log_prio",
            "log_issue_time",
            "log_compression",
            "log_compression_cpus",
            "log_store_compressed",
            "bandwidth_log",
            "bwavgtime",
            "iopsavgtime",
        ])
        .optional(),
];

/// An option that asks for a log.
const fn log(name: &'static str, says: &'static str, take: crate::table::Take<Job>) -> Row {
    Row::taken(name, says, take).optional()
}
