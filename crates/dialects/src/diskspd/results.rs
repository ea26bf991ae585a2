//! Reads diskspd's XML (-Rxml) as records: one per time span, or one per target if its targets differ.

mod profile;
mod tree;

use std::collections::BTreeSet;

use halfpower_record::{CpuTimes, Latency, Origin, Record, Tool, Unknown};
use halfpower_spec::{Direction, Pattern, UtcTime};

use self::profile::{Span, Target};
use self::tree::{Element, parsed};
use crate::foreign_run::{FileError, ForeignRun, Found, Moved, whole};

pub(crate) fn read(file: &str, text: &str) -> Result<Found, FileError> {
    // Warnings on the same stream may precede the results; their line ends are kept, so that line numbers stay right.
    let start = text.find("<Results").unwrap_or(0);
    let lines = text[..start].matches('\n').count();
    let end = text.rfind("</Results>").map_or(text.len(), |at| at + "</Results>".len());
    let xml = format!("{}{}", "\n".repeat(lines), &text[start..end.max(start)]);
    let document = parsed(&xml)?;
    let root = Element::root(&document);
    if root.name() != "Results" {
        let name = root.name();
        return Err(root.trouble(format!("<{name}> is not what diskspd writes, <Results>; name another file")));
    }
    let system = root.child("System");
    let version = system.and_then(|system| system.child("Tool")).and_then(|tool| tool.text("Version"));
    let host = system.and_then(|system| system.text("ComputerName")).filter(|name| !name.is_empty());
    let date = system.and_then(|system| system.text("RunTime"));
    let mut found = Found { version, date: date.clone(), host, records: Vec::new(), left_out: Vec::new() };
    let profile = root.child("Profile").ok_or_else(|| root.trouble("there is no <Profile>, which has the settings"))?;
    let asked: Vec<Element<'_>> =
        profile.child("TimeSpans").map_or_else(Vec::new, |spans| spans.children("TimeSpan").collect());
    for (number, measured) in root.children("TimeSpan").enumerate() {
        let Some(asked) = asked.get(number) else {
            return Err(measured.trouble("this <TimeSpan> has no settings in the <Profile>"));
        };
        let place = SpanOfFile { file, number: number + 1, date: date.as_deref() };
        take(&place, &Span::of(asked)?, &measured, &mut found)?;
    }
    Ok(found)
}

/// A time span and its file.
struct SpanOfFile<'a> {
    file: &'a str,
    number: usize,
    date: Option<&'a str>,
}

fn take(place: &SpanOfFile<'_>, span: &Span, measured: &Element<'_>, found: &mut Found) -> Result<(), FileError> {
    if let Some(error) = measured.text("Error") {
        found.left_out.push(format!("time span {}: {}", place.number, error.trim_end_matches('.')));
        return Ok(());
    }
    if span.targets.is_empty() {
        return Err(measured.trouble("the <Profile> names no target of this <TimeSpan>"));
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
    measured: &Element<'_>,
    all: bool,
) -> Result<Record, FileError> {
    let workload = span.workload(targets, all);
    let mut origin = origin(place, targets, all);
    let latencies = if all { latencies(measured)? } else { None };
    let percentiles = latencies.as_ref().map(|latencies| latencies.percentiles.clone());
    origin.percentiles = percentiles;
    let mut run = ForeignRun::new(workload, origin);
    run.elapsed_ns = measured.scaled("TestTimeSeconds", 1e9)?;
    run.runtime_ns = span.runtime_ns;
    if let Some(unix_ms) = place.date.and_then(unix_ms_of) {
        run.started_unix_ms = unix_ms;
    } else {
        run.origin.unknown.insert(Unknown::Start);
    }
    let [mut read, mut write] = [Moved::default(), Moved::default()];
    let mut sizes = std::collections::BTreeMap::new();
    for thread in measured.children("Thread") {
        for target in thread.children("Target") {
            let path = target.text("Path").unwrap_or_default();
            if !targets.iter().any(|one| one.path == path) {
                continue;
            }
            read.bytes = read.bytes.saturating_add(target.whole("ReadBytes")?);
            read.ios = read.ios.saturating_add(target.whole("ReadCount")?);
            write.bytes = write.bytes.saturating_add(target.whole("WriteBytes")?);
            write.ios = write.ios.saturating_add(target.whole("WriteCount")?);
            sizes.insert(path, target.whole("FileSize")?);
        }
    }
    if run.elapsed_ns == 0 && (read.ios, write.ios) != (0, 0) {
        return Err(measured.trouble("what moved took its time, and <TestTimeSeconds> is 0"));
    }
    run.span_bytes = targets
        .iter()
        .map(|target| target.span_of(sizes.get(&target.path).copied().unwrap_or(0)))
        .fold(0, u64::saturating_add);
    if run.span_bytes == 0 {
        run.origin.unknown.insert(Unknown::Span);
    }
    if let Some(latencies) = latencies {
        run.latency = latencies.total(read.ios.saturating_add(write.ios));
        read.latency = latencies.read(read.ios);
        write.latency = latencies.write(write.ios);
    }
    run.machine = processors(measured, run.elapsed_ns)?;
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

/// Time of each processor by kind, from its shares.
fn processors(measured: &Element<'_>, elapsed_ns: u64) -> Result<Vec<CpuTimes>, FileError> {
    let Some(utilization) = measured.child("CpuUtilization") else { return Ok(Vec::new()) };
    let times = |cpu: Element<'_>| {
        let share = |name: &str| -> Result<u64, FileError> {
            let percent: f64 = cpu.number(name)?;
            Ok(whole((percent / 100.0).clamp(0.0, 1.0) * elapsed_ns as f64).unwrap_or(0))
        };
        Ok(CpuTimes {
            user_ns: share("UserPercent")?,
            system_ns: share("KernelPercent")?,
            idle_ns: share("IdlePercent")?,
            ..CpuTimes::default()
        })
    };
    utilization.children("CPU").map(times).collect()
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

/// The latencies of a time span; `None` if latency was not measured.
pub fn latencies(measured: &Element<'_>) -> Result<Option<Latencies>, FileError> {
    let Some(latency) = measured.child("Latency") else { return Ok(None) };
    let percentiles = latency.children("Bucket").map(|bucket| bucket.number("Percentile")).collect::<Result<_, _>>()?;
    let listed = |mean: &'static str, name: &'static str| {
        let mut listed = Listed::default();
        if latency.child(mean).is_some() {
            listed.mean_ns = latency.number(mean)? * 1e6;
        }
        for bucket in latency.children("Bucket").filter(|bucket| bucket.child(name).is_some()) {
            listed.buckets.push((bucket.number("Percentile")?, bucket.scaled(name, 1e6)?));
        }
        Ok(listed)
    };
    Ok(Some(Latencies {
        percentiles,
        read: listed("AverageReadMilliseconds", "ReadMilliseconds")?,
        write: listed("AverageWriteMilliseconds", "WriteMilliseconds")?,
        total: listed("AverageTotalMilliseconds", "TotalMilliseconds")?,
    }))
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
