//! Reads diskspd's XML (-Rxml) and its text as records: one per time span, or one per target if its targets differ.

mod profile;
mod text;
mod tree;
mod xml;

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{CpuTimes, Latency, Origin, Record, Tool, Unknown};
use halfpower_spec::{Direction, EngineName, Pattern, UtcTime};

use self::profile::{Span, Target};
use crate::foreign_run::{FileError, ForeignRun, Found, Moved, whole};

pub(crate) use text::{is_text, read as read_text};
pub(crate) use xml::read as read_xml;

/// A time span and its file.
struct SpanOfFile<'a> {
    file: &'a str,
    number: usize,
    date: Option<&'a str>,
}

/// What a time span gave.
struct Measured {
    /// Its line in the file.
    line: usize,
    elapsed_ns: u64,
    /// A row for each thread and target.
    rows: Vec<Row>,
    /// Over all targets; `None` if latency was not measured.
    latencies: Option<Latencies>,
    /// Time of each processor.
    machine: Vec<CpuTimes>,
}

/// What one thread moved on one target.
#[derive(Debug, Clone, Default)]
struct Row {
    path: String,
    /// Bytes of the target; `None` if that is not told exactly.
    size: Option<u64>,
    read: Amount,
    write: Amount,
}

#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    bytes: u64,
    ios: u64,
}

/// The shares of one processor's time, in percent.
struct Shares {
    user: f64,
    kernel: f64,
    idle: f64,
}

impl Shares {
    fn times(&self, elapsed_ns: u64) -> CpuTimes {
        let share = |percent: f64| whole((percent / 100.0).clamp(0.0, 1.0) * elapsed_ns as f64).unwrap_or(0);
        let [user_ns, system_ns, idle_ns] = [self.user, self.kernel, self.idle].map(share);
        CpuTimes { user_ns, system_ns, idle_ns, ..CpuTimes::default() }
    }
}

/// Adds a record for each group of targets with the same settings.
fn take(place: &SpanOfFile<'_>, span: &Span, measured: &Measured, found: &mut Found) -> Result<(), FileError> {
    if span.targets.is_empty() {
        return Err(FileError::at(measured.line, "nothing names a target of this time span"));
    }
    let alike = span.targets.iter().all(|target| target.is_like(&span.targets[0]));
    let groups: Vec<Vec<&Target>> = match alike {
        true => vec![span.targets.iter().collect()],
        false => span.targets.iter().map(|target| vec![target]).collect(),
    };
    for targets in &groups {
        let record = record(place, span, targets, measured, alike)?;
        match record.ios {
            0 => found.left_out.push(format!("time span {}: it moved nothing", place.number)),
            _ => found.records.push(record),
        }
    }
    Ok(())
}

/// The record of a time span's targets with the same settings. diskspd reports latency only over all targets.
fn record(
    place: &SpanOfFile<'_>,
    span: &Span,
    targets: &[&Target],
    measured: &Measured,
    all: bool,
) -> Result<Record, FileError> {
    let workload = span.workload(targets, all);
    let mut origin = origin(place, targets, all);
    if workload.engine != EngineName::Unknown {
        origin.unknown.remove(&Unknown::Engine);
    }
    let latencies = measured.latencies.as_ref().filter(|_| all);
    origin.percentiles = latencies.map(|latencies| latencies.percentiles.clone());
    let mut run = ForeignRun::new(workload, origin);
    run.elapsed_ns = measured.elapsed_ns;
    run.runtime_ns = span.runtime_ns;
    if let Some(unix_ms) = place.date.and_then(unix_ms_of) {
        run.started_unix_ms = unix_ms;
    } else {
        run.origin.unknown.insert(Unknown::Start);
    }
    let [mut read, mut write] = [Moved::default(), Moved::default()];
    let mut sizes = BTreeMap::new();
    for row in measured.rows.iter().filter(|row| targets.iter().any(|one| one.path == row.path)) {
        for (moved, amount) in [(&mut read, row.read), (&mut write, row.write)] {
            moved.bytes = moved.bytes.saturating_add(amount.bytes);
            moved.ios = moved.ios.saturating_add(amount.ios);
        }
        sizes.insert(&row.path, row.size);
    }
    if run.elapsed_ns == 0 && (read.ios, write.ios) != (0, 0) {
        return Err(FileError::at(measured.line, "what moved took its time, and the time of this span is 0"));
    }
    let span_bytes: Option<u64> = targets
        .iter()
        .map(|target| Some(target.span_of(sizes.get(&target.path).copied().flatten()?)))
        .try_fold(0, |sum: u64, bytes| Some(sum.saturating_add(bytes?)));
    run.span_bytes = span_bytes.unwrap_or(0);
    if run.span_bytes == 0 {
        run.origin.unknown.insert(Unknown::Span);
    }
    if let Some(latencies) = latencies {
        run.latency = latencies.total(read.ios.saturating_add(write.ios));
        read.latency = latencies.read(read.ios);
        write.latency = latencies.write(write.ios);
    }
    run.machine.clone_from(&measured.machine);
    run.moved(Direction::Read, read);
    run.moved(Direction::Write, write);
    Ok(run.into_record())
}

fn origin(place: &SpanOfFile<'_>, targets: &[&Target], all: bool) -> Origin {
    let mut settings: Vec<String> = targets[0].special.clone();
    if !all {
        settings.push("other targets at the same time".to_string());
    }
    let mut unknown = BTreeSet::from([Unknown::Engine, Unknown::ChargedTime, Unknown::Errors]);
    if !settings.is_empty() {
        unknown.insert(Unknown::Settings);
    }
    if targets[0].rw.pattern() == Pattern::Unknown {
        unknown.insert(Unknown::Order);
    }
    let paths: Vec<&str> = targets.iter().map(|target| target.path.as_str()).collect();
    Origin {
        tool: Tool::Diskspd,
        file: place.file.to_string(),
        result: format!("time span {}", place.number),
        target: Some(paths.join(", ")),
        unknown,
        percentiles: None,
        percentiles_of_sides: false,
        settings,
        line: None,
    }
}

/// `2026/11/22 10:00:00 UTC`, in milliseconds of Unix time; `None` for any other format.
fn unix_ms_of(date: &str) -> Option<u64> {
    let in_utc = date.trim().trim_end_matches("UTC").trim_end_matches("GMT").trim();
    (in_utc.len() < date.trim().len()).then(|| UtcTime::unix_s_of(&in_utc.replace('/', "-")))?.map(|s| s * 1000)
}

/// Latencies of a time span.
pub struct Latencies {
    /// The listed percentiles, including minimum and maximum.
    pub percentiles: Vec<f64>,
    read: Listed,
    write: Listed,
    total: Listed,
}

/// One column: its mean and its buckets' values, in nanoseconds.
#[derive(Default)]
struct Listed {
    mean_ns: f64,
    buckets: Vec<(f64, u64)>,
}

impl Latencies {
    pub fn read(&self, ios: u64) -> Latency {
        self.read.of(ios)
    }

    pub fn write(&self, ios: u64) -> Latency {
        self.write.of(ios)
    }

    pub fn total(&self, ios: u64) -> Latency {
        self.total.of(ios)
    }
}

impl Listed {
    fn of(&self, ios: u64) -> Latency {
        let (Some((_, min_ns)), Some((_, max_ns))) = (self.buckets.first(), self.buckets.last()) else {
            return Latency::default();
        };
        // Values are rounded to microseconds, so the mean may lie beyond minimum or maximum.
        let mean_ns = whole(self.mean_ns).unwrap_or(0) as f64;
        Latency::of_percentiles(ios, [*min_ns, *max_ns], mean_ns, &self.buckets)
    }
}
