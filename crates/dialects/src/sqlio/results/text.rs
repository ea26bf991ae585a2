//! Reads the text that SQLIO prints, and that halfpower prints in its layout.
//!
//! A file may hold the texts of many runs, such as a log of a batch file. SQLIO prints requests and MiB a second and the
//! time asked for, so that counts follow from these. It prints latencies in whole milliseconds, cut off: the disks of
//! today answer in less than one, so latency is unknown.

use std::collections::BTreeSet;

use halfpower_record::{Origin, Tool, Unknown};
use halfpower_spec::{Bytes, Cache, Direction, EngineName, Pattern, Rw, Workload};

use crate::foreign_run::{FileError, ForeignRun, Found, Moved, whole};

/// What stands above the figures of each run.
const FIGURES: &str = "CUMULATIVE DATA:";

/// Whether the text holds such results.
pub(crate) fn is_text(text: &str) -> bool {
    let has = |wanted: &str| text.lines().any(|line| line.trim() == wanted);
    has(FIGURES) || has("throughput metrics:")
}

/// Reads the results of every run.
pub(crate) fn read(file: &str, text: &str) -> Result<Found, FileError> {
    let mut found = Found { version: None, date: None, host: None, records: Vec::new(), left_out: Vec::new() };
    let mut run: Option<TextRun> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        if let Some(version) = line.strip_prefix("sqlio ") {
            found.version.get_or_insert_with(|| version.trim_start_matches('v').trim_matches(['(', ')']).to_string());
        }
        if let Some(begun) = TextRun::begun(line, number)? {
            take(file, run.replace(begun), &mut found)?;
        } else if let Some(run) = &mut run {
            run.read(line, number)?;
        }
    }
    take(file, run, &mut found)?;
    Ok(found)
}

fn take(file: &str, run: Option<TextRun>, found: &mut Found) -> Result<(), FileError> {
    let Some(run) = run else { return Ok(()) };
    let line = run.line;
    match run.finished(file)? {
        Some(run) => found.records.push(run.into_record()),
        None => found.left_out.push(format!("the run of line {line}: it moved nothing, or did not end")),
    }
    Ok(())
}

/// What the lines of one run told so far.
struct TextRun {
    line: usize,
    threads: u32,
    direction: Direction,
    seconds: f64,
    target: String,
    bs: Option<u64>,
    pattern: Pattern,
    depth: Option<u32>,
    cache: Option<Cache>,
    span_bytes: Option<u64>,
    iops: Option<f64>,
    mib_per_s: Option<f64>,
    errors: u64,
    special: Vec<String>,
}

/// The number that begins a text.
fn number(text: &str, line: usize) -> Result<f64, FileError> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let number = text[..end].parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| FileError::at(line, format!("`{text}` does not begin with a number")))
}

fn scaled(number: f64, factor: f64, line: usize) -> Result<u64, FileError> {
    whole(number * factor).ok_or_else(|| FileError::at(line, format!("{number} is larger than anything measured")))
}

impl TextRun {
    /// `2 threads reading for 30 secs from file d:\data`, the line that begins a run; `None` for any other.
    fn begun(text: &str, line: usize) -> Result<Option<Self>, FileError> {
        let words: Vec<&str> = text.splitn(8, ' ').collect();
        let [threads, "thread" | "threads", doing, "for", seconds, "sec" | "secs", "from" | "to", files] = words[..]
        else {
            return Ok(None);
        };
        let direction = match doing {
            "reading" => Direction::Read,
            "writing" => Direction::Write,
            _ => return Ok(None),
        };
        let threads = number(threads, line)? as u32;
        if threads == 0 {
            return Err(FileError::at(line, "somebody submits: threads are 1 or more"));
        }
        let files = files.strip_prefix("files ").or(files.strip_prefix("file ")).unwrap_or(files);
        let target = files.replace(" and ", ", ");
        Ok(Some(Self {
            line,
            threads,
            direction,
            seconds: number(seconds, line)?,
            target,
            bs: None,
            pattern: Pattern::Unknown,
            depth: None,
            cache: None,
            span_bytes: None,
            iops: None,
            mib_per_s: None,
            errors: 0,
            special: Vec::new(),
        }))
    }

    /// Reads a further line of the run; what is no figure or setting is passed over.
    fn read(&mut self, text: &str, line: usize) -> Result<(), FileError> {
        if let Some(rest) = text.strip_prefix("using ") {
            self.of_using(rest, line)?;
        } else if let Some(rest) = text.strip_prefix("enabling multiple I/Os per thread with ") {
            self.depth = Some(number(rest, line)? as u32);
        } else if text.starts_with("enabling multibuffered I/Os") {
            self.special.push(text.to_string());
        } else if let Some(rest) = text.strip_prefix("buffering set to ") {
            self.cache = cache(rest);
        } else if let Some(rest) = text.strip_prefix("IOs/sec:") {
            self.iops = Some(number(rest, line)?);
        } else if let Some(rest) = text.strip_prefix("MBs/sec:") {
            self.mib_per_s = Some(number(rest, line)?);
        } else if let Some(rest) = text.strip_prefix("errors:") {
            self.errors = scaled(number(rest, line)?, 1.0, line)?;
        }
        Ok(())
    }

    /// `8KB random IOs`, or `specified size: 1024 MB for file: d:\data`.
    fn of_using(&mut self, rest: &str, line: usize) -> Result<(), FileError> {
        if let Some(size) = rest.strip_prefix("specified size:").or(rest.strip_prefix("current size:")) {
            let bytes = scaled(number(size, line)?, 1_048_576.0, line)?;
            self.span_bytes = Some(self.span_bytes.unwrap_or(0).saturating_add(bytes));
            return Ok(());
        }
        let Some((size, order)) = rest.split_once("KB ") else { return Ok(()) };
        let bytes = scaled(number(size, line)?, 1024.0, line)?;
        if bytes == 0 || u32::try_from(bytes).is_err() {
            return Err(FileError::at(line, format!("`{size}KB` is no size of a request")));
        }
        self.bs = Some(bytes);
        self.pattern = match order.trim_end_matches("IOs").trim() {
            "random" => Pattern::Random,
            "sequential" => Pattern::Sequential,
            other => {
                self.special.push(other.to_string());
                Pattern::Unknown
            }
        };
        Ok(())
    }

    /// The result; `None` if it moved nothing or has no figures.
    fn finished(self, file: &str) -> Result<Option<ForeignRun>, FileError> {
        let line = self.line;
        let Some(iops) = self.iops.filter(|iops| *iops > 0.0) else { return Ok(None) };
        let Some(bs) = self.bs else {
            return Err(FileError::at(line, "this run has no line `using ...KB random IOs`; the file is cut"));
        };
        if self.seconds <= 0.0 {
            return Err(FileError::at(line, "what moved took its time; the run has 0 secs"));
        }
        let elapsed_ns = scaled(self.seconds, 1e9, line)?;
        let ios = scaled(iops * self.seconds, 1.0, line)?;
        let of_rate = self.mib_per_s.map(|rate| scaled(rate * self.seconds, 1_048_576.0, line)).transpose()?;
        // The rate in MiB has two decimals, so that requests tell bytes better, unless some transfers were short.
        let of_ios = ios.saturating_mul(bs);
        let agrees = |bytes: u64| bytes.abs_diff(of_ios) as f64 <= 0.01 * self.seconds * 1_048_576.0 + bs as f64;
        let bytes = of_rate.filter(|bytes| !agrees(*bytes)).unwrap_or(of_ios);
        let workload = Workload {
            rw: Rw::of(self.pattern, self.direction),
            bs: Bytes(bs),
            iodepth: self.depth.unwrap_or(1).max(1),
            threads: self.threads,
            cache: self.cache.unwrap_or(Cache::None),
            engine: if self.depth.is_none() { EngineName::Sync } else { EngineName::Unknown },
            ..Workload::default()
        };
        if workload.iodepth.checked_mul(workload.threads).is_none() {
            return Err(FileError::at(line, format!("{} x {} is no depth", workload.threads, workload.iodepth)));
        }
        let mut run = ForeignRun::new(workload, self.origin(file, &workload));
        run.runtime_ns = elapsed_ns;
        run.elapsed_ns = elapsed_ns;
        run.span_bytes = self.span_bytes.unwrap_or(0);
        if self.errors > 0 {
            run.errors.insert("error".to_string(), self.errors);
        }
        run.moved(self.direction, Moved { bytes, ios, ..Moved::default() });
        Ok(Some(run))
    }

    fn origin(&self, file: &str, workload: &Workload) -> Origin {
        let unknown = [
            (Unknown::Order, self.pattern == Pattern::Unknown),
            (Unknown::Cache, self.cache.is_none()),
            (Unknown::Engine, workload.engine == EngineName::Unknown),
            (Unknown::Settings, !self.special.is_empty() || self.cache.is_none()),
            (Unknown::Latency, true),
            (Unknown::ChargedTime, true),
            (Unknown::Span, self.span_bytes.is_none()),
            (Unknown::Start, true),
            (Unknown::Errors, self.errors == 0),
        ];
        let unknown: BTreeSet<Unknown> =
            unknown.into_iter().filter(|(_, is_unknown)| *is_unknown).map(|(what, _)| what).collect();
        Origin {
            tool: Tool::Sqlio,
            file: file.to_string(),
            result: format!("the run of line {}", self.line),
            target: Some(self.target.clone()),
            unknown,
            percentiles: None,
            percentiles_of_sides: false,
            settings: self.special.clone(),
            line: None,
        }
    }
}

/// The caches that the line of buffering names.
fn cache(text: &str) -> Option<Cache> {
    let all = [
        ("not use file nor disk caches", Cache::None),
        ("use both file and disk caches", Cache::Both),
        ("use hardware disk cache", Cache::Device),
        ("use software file cache", Cache::Os),
    ];
    all.into_iter().find(|(begin, _)| text.starts_with(begin)).map(|(_, cache)| cache)
}
