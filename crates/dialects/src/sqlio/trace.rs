//! Writes and reads SQLIO's trace of fourteen comma-separated fields.
//!
//! The fields, their order, names and units are Table 8 of Chung, Gray, Worthington, Horst (2000), "Windows 2000 Disk
//! IO Performance". This file defines what the table leaves open:
//!
//! - one line per record, without heading, quotes or spaces after commas; a line ends in `\n`. The reader also accepts
//!   a heading line, empty lines, spaces around fields and `\r\n`;
//! - MB is 2^20 bytes and KB 2^10, as in SQLIO, so `MB/s` = `IO/s` x `BlockSize` / 1024 up to rounding, unless a
//!   transfer was short;
//! - `MB/s`, `IO/s` and the processor times have three decimals, `Clock(s)` has six; sizes and `Time` have as many
//!   as they need (512 bytes are 0.5 KB);
//! - `Operation` of a mixed workload is the direction of most requests; the comment says `rw=randrw`;
//! - `OutstandingIOs` is per thread, and 0 for the sync engine;
//! - `Buffering` is written Y, S, H or N; `0` and `O` are read as Y;
//! - `Time` is in seconds, as is `Clock(s)`; `FileSize` is the span that offsets were drawn from;
//! - `Time Stamp` is `2000-06-16 12:00:00`, in UTC; any other format is read and kept unchanged;
//! - `User(ms)` and `Kernel(ms)` are empty if another tool's results lack them;
//! - a record that was read from a trace is written as its original line;
//! - `Comment` has words of the form `name=value`: rw, pattern, experiment, engine, pass, repeat, and if sizes are
//!   drawn bssplit, with `;` between the sizes of reads and of writes; `unknown=depth;cache` lists fields that mean
//!   nothing, because another tool did not tell these settings.

use std::io::Write;

use halfpower_record::{Record, RecordError, Unknown};
use halfpower_spec::{Cache, Direction, EngineName, UtcTime};

/// The names of the fields, as Table 8 prints them.
pub const TRACE_FIELDS: [&str; 14] = [
    "MB/s",
    "IO/s",
    "Operation",
    "BlockSize",
    "OutstandingIOs",
    "Buffering",
    "NumThreads",
    "Time",
    "FileSize",
    "Clock(s)",
    "User(ms)",
    "Kernel(ms)",
    "Time Stamp",
    "Comment",
];

/// One line of a trace: one test.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceLine {
    /// Throughput in units of 2^20 bytes a second.
    pub mib_per_s: f64,
    /// Requests a second.
    pub iops: f64,
    /// Direction of most requests.
    pub operation: Direction,
    /// Request size in KiB; the largest if sizes are drawn (the comment lists them).
    pub block_size_kib: f64,
    /// Requests kept outstanding by each thread; 0 is synchronous.
    pub outstanding_ios: u32,
    /// The caches in use.
    pub buffering: Cache,
    /// Number of threads.
    pub threads: u32,
    /// Time asked for, in seconds.
    pub time_s: f64,
    /// Size of the file, in KiB.
    pub file_size_kib: f64,
    /// Time taken, in seconds.
    pub clock_s: f64,
    /// User mode processor time charged, in milliseconds; `None` if unknown.
    pub user_ms: Option<f64>,
    /// Kernel mode processor time charged, in milliseconds; `None` if unknown.
    pub kernel_ms: Option<f64>,
    /// When the test was run.
    pub time_stamp: String,
    /// Anything else, without commas.
    pub comment: String,
}

/// A line of a trace that does not have the fourteen fields.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the trace, {field}: {message}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// The field by its name in the trace.
    pub field: &'static str,
    /// What is wrong, and what would be accepted.
    pub message: String,
}

/// Writes one line for each record.
///
/// # Errors
/// [`RecordError::Stream`] if `out` takes no more.
pub fn write_trace<'a>(records: impl IntoIterator<Item = &'a Record>, mut out: impl Write) -> Result<(), RecordError> {
    for record in records {
        writeln!(out, "{}", TraceLine::of(record))?;
    }
    Ok(out.flush()?)
}

/// Reads every line of a trace, each with its number from 1.
///
/// # Errors
/// The line and the field that does not fit.
pub fn read_trace(text: &str) -> Result<Vec<(usize, TraceLine)>, TraceError> {
    let mut lines = Vec::new();
    for (index, text) in text.lines().enumerate() {
        if text.trim().is_empty() || (lines.is_empty() && is_heading(text)) {
            continue;
        }
        lines.push((index + 1, TraceLine::parse(text, index + 1)?));
    }
    Ok(lines)
}

fn is_heading(text: &str) -> bool {
    text.split(',').next().is_some_and(|first| first.trim() == TRACE_FIELDS[0])
}

impl TraceLine {
    /// Converts a record; one that was read from a trace gives its original line.
    pub fn of(record: &Record) -> Self {
        let read_from = record.origin.as_ref().and_then(|origin| origin.line.as_ref());
        if let Some(line) = read_from.and_then(|text| Self::parse(text, 1).ok()) {
            return line;
        }
        let charged = |ns: u64| record.knows(Unknown::ChargedTime).then_some(ns as f64 / 1e6);
        let workload = &record.run.workload;
        let reads = record.read_ios * 2 >= record.ios;
        let synchronous = record.engine == EngineName::Sync && workload.iodepth == 1;
        Self {
            mib_per_s: record.mbps() * 1e6 / 1_048_576.0,
            iops: record.iops(),
            operation: workload.rw.direction().unwrap_or(if reads { Direction::Read } else { Direction::Write }),
            block_size_kib: workload.bs.kib(),
            outstanding_ios: if synchronous { 0 } else { workload.iodepth },
            buffering: workload.cache,
            threads: workload.threads,
            time_s: record.run.runtime.seconds(),
            file_size_kib: record.span_bytes as f64 / 1024.0,
            clock_s: record.seconds(),
            user_ms: charged(record.cpu.user_ns),
            kernel_ms: charged(record.cpu.system_ns),
            time_stamp: UtcTime::of_unix_s(record.started_unix_ms / 1000).to_string(),
            comment: comment(record),
        }
    }

    /// Parses line number `line` of a trace.
    fn parse(text: &str, line: usize) -> Result<Self, TraceError> {
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let wrong = |field: usize, message: String| TraceError { line, field: TRACE_FIELDS[field], message };
        if fields.len() < 14 {
            return Err(wrong(fields.len(), "the line ends before this field; a line has fourteen fields".to_string()));
        }
        if fields.len() > 14 {
            return Err(wrong(13, "the comment must not contain a comma; a line has fourteen fields".to_string()));
        }
        let number = |at: usize| match fields[at].parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            _ => Err(wrong(at, format!("`{}` is not a number; write it like 12.5", fields[at]))),
        };
        let known = |at: usize| if fields[at].is_empty() { Ok(None) } else { number(at).map(Some) };
        let count = |at: usize| {
            fields[at]
                .parse()
                .map_err(|_| wrong(at, format!("`{}` is not a whole number; write it like 8", fields[at])))
        };
        Ok(Self {
            mib_per_s: number(0)?,
            iops: number(1)?,
            operation: fields[2]
                .to_lowercase()
                .parse()
                .map_err(|_| wrong(2, format!("`{}` is not an operation; write read or write", fields[2])))?,
            block_size_kib: number(3)?,
            outstanding_ios: count(4)?,
            buffering: buffering(fields[5])
                .ok_or_else(|| wrong(5, format!("`{}` is not a setting; write Y, S, H or N", fields[5])))?,
            threads: count(6)?,
            time_s: number(7)?,
            file_size_kib: number(8)?,
            clock_s: number(9)?,
            user_ms: known(10)?,
            kernel_ms: known(11)?,
            time_stamp: fields[12].to_string(),
            comment: fields[13].to_string(),
        })
    }
}

impl std::fmt::Display for TraceLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3},{:.3},{},", self.mib_per_s, self.iops, self.operation)?;
        write!(f, "{},{},", self.block_size_kib, self.outstanding_ios)?;
        write!(f, "{},{},", self.buffering.sqlio_letter(), self.threads)?;
        write!(f, "{},{},{:.6},", self.time_s, self.file_size_kib, self.clock_s)?;
        for spent_ms in [self.user_ms, self.kernel_ms] {
            spent_ms.map_or(Ok(()), |ms| write!(f, "{ms:.3}"))?;
            f.write_str(",")?;
        }
        write!(f, "{},{}", without_commas(&self.time_stamp), without_commas(&self.comment))
    }
}

fn without_commas(text: &str) -> String {
    text.replace(',', ";").replace(['\n', '\r'], " ").trim().to_string()
}

fn buffering(letter: &str) -> Option<Cache> {
    match letter {
        "0" | "O" | "o" => Some(Cache::Both),
        _ => Cache::ALL.iter().copied().find(|cache| letter.eq_ignore_ascii_case(&cache.sqlio_letter().to_string())),
    }
}

fn comment(record: &Record) -> String {
    let run = &record.run;
    let experiment = run.experiment.map_or("none", |experiment| experiment.word());
    // The size field holds only the largest size, and a comment must not contain commas.
    let sizes = run.workload.options.bssplit.map(|sizes| format!(" bssplit={}", sizes.to_string().replace(',', ";")));
    // The fields of what another tool did not tell must hold something.
    let untold = UNTOLD.iter().filter(|(setting, _)| !record.knows(*setting)).map(|(_, word)| *word);
    let untold = untold.collect::<Vec<_>>().join(";");
    format!(
        "rw={} pattern={} experiment={experiment} engine={} pass={} repeat={}{}{}",
        run.workload.rw,
        run.workload.rw.pattern(),
        record.engine,
        run.pass,
        run.repeat,
        sizes.unwrap_or_default(),
        if untold.is_empty() { String::new() } else { format!(" unknown={untold}") }
    )
}

/// Settings that have a field, and their words in a comment where the field means nothing.
pub(super) const UNTOLD: [(Unknown, &str); 3] =
    [(Unknown::BlockSize, "bs"), (Unknown::Depth, "depth"), (Unknown::Cache, "cache")];
