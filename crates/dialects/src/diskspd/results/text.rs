//! Reads diskspd's text, and what halfpower prints in its layout.
//!
//! A file may hold the texts of several runs, and other lines around them. The layouts of diskspd 2.0 to 2.2 are read.
//! Sizes that are printed with a fraction, such as `1.50GiB`, are rounded there, so the size of such a target is unknown.

use std::collections::BTreeSet;

use halfpower_record::CpuTimes;
use halfpower_spec::{Cache, EngineName, Pattern, Rw};

use super::profile::{Span, Target, cache_of, rw_of};
use super::{Amount, Latencies, Listed, Measured, Row, Shares, SpanOfFile, take};
use crate::foreign_run::{FileError, Found, whole};

/// What begins the text of a run.
const BEGINS: &str = "Command Line:";
/// What begins its settings.
const SETTINGS: &str = "Input parameters:";
/// What begins the results of a time span.
const RESULTS: &str = "Results for timespan ";

/// Whether the text holds such results.
pub(crate) fn is_text(text: &str) -> bool {
    let has = |begin: &str| text.lines().any(|line| line.starts_with(begin));
    has(BEGINS) && has(SETTINGS)
}

/// Reads the results of every run.
pub(crate) fn read(file: &str, text: &str) -> Result<Found, FileError> {
    let mut found = Found { version: None, date: None, host: None, records: Vec::new(), left_out: Vec::new() };
    let mut hosts = BTreeSet::new();
    let mut number = 0;
    let lines: Vec<Line<'_>> =
        text.lines().enumerate().map(|(index, text)| Line { number: index + 1, text: text.trim_end() }).collect();
    let starts: Vec<usize> = places(&lines, BEGINS).chain([lines.len()]).collect();
    for run in starts.windows(2).map(|ends| &lines[ends[0]..ends[1]]) {
        let named = |name: &str| run.iter().find_map(|line| line.after(name)).map(str::to_string);
        let date = named("start time:");
        hosts.insert(named("computer name:").filter(|name| !name.is_empty() && name != "unknown"));
        let begun = places(run, RESULTS).next().unwrap_or(run.len());
        let asked = settings(&run[..begun])?;
        let results: Vec<usize> = places(run, RESULTS).chain([run.len()]).collect();
        for (index, span) in results.windows(2).map(|ends| &run[ends[0]..ends[1]]).enumerate() {
            let line = span[0].number;
            let Some(asked) = asked.get(index) else {
                return Err(FileError::at(line, format!("the {SETTINGS:?} of this run have no such time span")));
            };
            number += 1;
            let place = SpanOfFile { file, number, date: date.as_deref() };
            match measured(span)? {
                Some(measured) => take(&place, asked, &measured, &mut found)?,
                None => found.left_out.push(format!("time span {number}: it ended before it was measured")),
            }
        }
        found.date = found.date.or(date);
    }
    found.host = hosts.pop_first().flatten().filter(|_| hosts.is_empty());
    Ok(found)
}

/// A line of the file.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    /// What stands after `name`, if the line begins with it.
    fn after(&self, name: &str) -> Option<&'a str> {
        self.text.trim_start().strip_prefix(name).map(str::trim)
    }

    fn trouble(&self, message: impl Into<String>) -> FileError {
        FileError::at(self.number, message)
    }

    /// The number that begins `text`.
    fn number(&self, text: &str) -> Result<f64, FileError> {
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let number = text[..end].parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.trouble(format!("`{text}` does not begin with a number")))
    }

    fn count(&self, text: &str) -> Result<u32, FileError> {
        let number = self.number(text)?;
        let most = f64::from(u32::MAX);
        if number <= most {
            Ok(number as u32)
        } else {
            Err(self.trouble(format!("{number} is more than anybody sets")))
        }
    }

    /// A size that must be exact.
    fn bytes(&self, text: &str) -> Result<u64, FileError> {
        size(text).ok_or_else(|| self.trouble(format!("`{text}` is no size such as 64KiB")))
    }
}

/// The places of the lines that begin with `begin`.
fn places<'a>(lines: &'a [Line<'_>], begin: &'a str) -> impl Iterator<Item = usize> + 'a {
    lines.iter().enumerate().filter(move |(_, line)| line.text.starts_with(begin)).map(|(at, _)| at)
}

/// A size as diskspd prints it: `64KiB`, `1GiB`, `512`; `None` for a rounded one.
fn size(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shift = match unit.trim() {
        "" | "B" => 0,
        "KiB" | "K" | "KB" => 10,
        "MiB" | "M" | "MB" => 20,
        "GiB" | "G" | "GB" => 30,
        "TiB" | "T" | "TB" => 40,
        _ => return None,
    };
    let bytes = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    whole(bytes as f64)
}

/// The settings of each time span.
fn settings(lines: &[Line<'_>]) -> Result<Vec<Span>, FileError> {
    let mut spans: Vec<Span> = Vec::new();
    for line in lines {
        if line.after("timespan:").is_some() {
            spans.push(Span::default());
        }
        let Some(span) = spans.last_mut() else { continue };
        if let Some(path) = line.after("path:") {
            let path = path.strip_prefix("template target").map_or(path, str::trim);
            span.targets.push(target(path.trim_matches('\'')));
        } else if let Some(target) = span.targets.last_mut() {
            of_target(line, target)?;
        } else {
            of_span(line, span)?;
        }
    }
    spans.iter_mut().flat_map(|span| &mut span.targets).for_each(|target| {
        target.rw = rw_of(target.rw.pattern(), target.write_percent);
    });
    Ok(spans)
}

/// A target with diskspd's defaults.
fn target(path: &str) -> Target {
    Target {
        path: path.to_string(),
        rw: Rw::Read,
        write_percent: 0,
        bs: 64 << 10,
        base_offset: 0,
        max_size: 0,
        requests: 2,
        threads: 1,
        cache: Cache::Both,
        engine: EngineName::Unknown,
        special: Vec::new(),
    }
}

fn of_span(line: &Line<'_>, span: &mut Span) -> Result<(), FileError> {
    if let Some(time) = line.after("duration:") {
        let number = line.number(time)?;
        span.runtime_ns = whole(number * 1e9).ok_or_else(|| line.trouble("nobody waits that long"))?;
    } else if let Some(threads) = line.after("thread pool with") {
        span.threads = line.count(threads)?;
    } else if let Some(requests) = outstanding(line) {
        span.requests = line.count(requests)?;
    }
    Ok(())
}

/// `number of outstanding I/O operations per thread: 8`; early releases leave out `per thread`.
fn outstanding<'a>(line: &Line<'a>) -> Option<&'a str> {
    line.after("number of outstanding I/O operations")?.split_once(':').map(|(_, requests)| requests.trim())
}

/// Settings that workloads here cannot express, by the beginnings of their lines.
const SPECIAL: [&str; 7] = [
    "memory mapped I/O enabled",
    "using parallel async I/O",
    "using interlocked sequential I/O",
    "local software cache disabled",
    "throughput rate-limited to",
    "thread stride size:",
    "IO Distribution:",
];

fn of_target(line: &Line<'_>, target: &mut Target) -> Result<(), FileError> {
    let text = line.text.trim();
    if SPECIAL.iter().any(|begin| text.starts_with(begin)) {
        target.special.push(text.trim_end_matches(':').to_string());
    }
    for name in ["think time:", "burst size:"] {
        if let Some(value) = line.after(name).filter(|value| !value.trim_end_matches("ms").trim_matches('0').is_empty())
        {
            target.special.push(format!("{name} {value}"));
        }
    }
    caches(text, target);
    pattern(line, target)?;
    if let Some(bytes) = line.after("block size:") {
        target.bs = line.bytes(bytes)?;
        if target.bs == 0 || u32::try_from(target.bs).is_err() {
            return Err(line.trouble(format!("block size: {bytes} is no size of a request")));
        }
    } else if let Some(requests) = outstanding(line) {
        target.requests = line.count(requests)?;
    } else if let Some(threads) = line.after("threads per file:") {
        target.threads = line.count(threads)?;
    } else if let Some(bytes) = line.after("base file offset:") {
        target.base_offset = line.bytes(bytes)?;
    } else if let Some(bytes) = line.after("max file size:") {
        target.max_size = line.bytes(bytes)?;
    } else if let Some((engine, _)) = line.after("using the engine").and_then(|rest| rest.split_once(" of halfpower")) {
        target.engine = engine.parse().unwrap_or(EngineName::Unknown);
    }
    Ok(())
}

/// The lines of both caches; early releases have one line for both.
fn caches(text: &str, target: &mut Target) {
    let is_direct = target.cache.direct();
    let is_durable = target.cache.durable();
    target.cache = match text {
        "software cache disabled" => cache_of(true, is_durable),
        "using software cache" => cache_of(false, is_durable),
        "using software and hardware caches" => cache_of(false, false),
        "hardware and software caches disabled" | "software and hardware caches disabled" => cache_of(true, true),
        text if text.ends_with("writethrough on") => cache_of(is_direct, true),
        text if text.ends_with("writethrough off") => cache_of(is_direct, false),
        _ => return,
    };
}

/// The order of offsets, and the share of writes.
fn pattern(line: &Line<'_>, target: &mut Target) -> Result<(), FileError> {
    let text = line.text.trim();
    if let Some(what) = line.after("performing") {
        target.write_percent = match what {
            "read test" => 0,
            "write test" => 100,
            mix => {
                let share = mix.rsplit_once('/').map(|(_, writes)| line.count(writes)).transpose()?;
                share.filter(|share| *share <= 100).ok_or_else(|| line.trouble(format!("`{mix}` is no mix")))? as u8
            }
        };
        return Ok(());
    }
    let order = match text {
        text if text.starts_with("using random I/O") => Pattern::Random,
        text if text.starts_with("using mixed random/sequential I/O") => Pattern::Unknown,
        text if text.starts_with("using sequential I/O") || text.starts_with("using interlocked sequential I/O") => {
            Pattern::Sequential
        }
        _ => return Ok(()),
    };
    target.rw = rw_of(order, 0);
    if order == Pattern::Unknown {
        target.special.push(text.to_string());
    }
    let distance = text.rsplit_once(": ").map(|(_, distance)| distance.trim_end_matches(')'));
    if let Some(distance) = distance.filter(|distance| size(distance) != Some(target.bs)) {
        let name = if order == Pattern::Sequential { "stride" } else { "alignment" };
        target.special.push(format!("{name} {distance}"));
    }
    Ok(())
}

/// The results of a time span; `None` if it ended before it was measured.
fn measured(lines: &[Line<'_>]) -> Result<Option<Measured>, FileError> {
    let first = lines[0];
    if lines.iter().any(|line| line.text.starts_with("The test was interrupted before")) {
        return Ok(None);
    }
    let time = lines.iter().find_map(|line| Some((line, line.after("actual test time:")?)));
    let Some((line, time)) = time else {
        return Err(first.trouble("this time span has no `actual test time`; the file is cut, or of another release"));
    };
    let elapsed_ns = whole(line.number(time)? * 1e9).ok_or_else(|| line.trouble("nobody waits that long"))?;
    let [total, read, write] = ["Total IO", "Read IO", "Write IO"].map(|heading| Table::of(lines, heading));
    let [total, read, write] = [total?, read?, write?];
    let mut rows = Vec::new();
    for (index, row) in read.rows.iter().enumerate() {
        let writes = write.rows.get(index).filter(|other| other.path == row.path);
        let Some(writes) = writes else {
            return Err(first.trouble(format!("thread {index} has reads of {} and no row of writes", row.path)));
        };
        rows.push(Row { path: row.path.clone(), size: row.size, read: row.amount, write: writes.amount });
    }
    let latencies = latencies(lines, [read.mean_ms, write.mean_ms, total.mean_ms])?;
    Ok(Some(Measured { line: first.number, elapsed_ns, rows, latencies, machine: processors(lines, elapsed_ns)? }))
}

/// One of the three tables of a time span.
struct Table {
    rows: Vec<TableRow>,
    /// Mean latency of all threads; `None` if it was not measured or nothing moved.
    mean_ms: Option<f64>,
}

struct TableRow {
    path: String,
    size: Option<u64>,
    amount: Amount,
}

impl Table {
    fn of(lines: &[Line<'_>], heading: &str) -> Result<Self, FileError> {
        let missing = || lines[0].trouble(format!("this time span has no table `{heading}`; the file is cut"));
        let begin = places(lines, heading).next().ok_or_else(missing)?;
        let head = lines.get(begin + 1).ok_or_else(missing)?;
        let mean_at = head.text.split('|').position(|name| name.trim() == "AvgLat");
        let mut table = Self { rows: Vec::new(), mean_ms: None };
        for line in &lines[begin + 2..] {
            let fields: Vec<&str> = line.text.split('|').map(str::trim).collect();
            if line.text.starts_with("total:") {
                // The first value of this line stands behind its name, where the others have a column for the thread.
                let mean = mean_at.and_then(|at| fields.get(at - 1)).and_then(|text| text.parse::<f64>().ok());
                table.mean_ms = mean.filter(|ms| ms.is_finite() && *ms >= 0.0);
                return Ok(table);
            }
            if let [thread, bytes, ios, .., place] = &fields[..]
                && thread.parse::<u32>().is_ok()
            {
                let (path, size) = file_and_size(place);
                let amount = Amount { bytes: amount(line, bytes)?, ios: amount(line, ios)? };
                table.rows.push(TableRow { path, size, amount });
            }
        }
        Err(missing())
    }
}

fn amount(line: &Line<'_>, text: &str) -> Result<u64, FileError> {
    let wrong = || line.trouble(format!("`{text}` is not a whole number"));
    text.parse::<u64>().ok().and_then(|amount| whole(amount as f64)).ok_or_else(wrong)
}

/// `d:\data (1GiB)`: the path and the size of the target.
fn file_and_size(place: &str) -> (String, Option<u64>) {
    match place.strip_suffix(')').and_then(|place| place.rsplit_once(" (")) {
        Some((path, bytes)) => (path.to_string(), size(bytes)),
        None => (place.to_string(), None),
    }
}

/// The last distribution of a time span, which is that of all its targets; `None` if latency was not measured.
fn latencies(lines: &[Line<'_>], means_ms: [Option<f64>; 3]) -> Result<Option<Latencies>, FileError> {
    let is_head = |line: &Line<'_>| line.text.trim_start().starts_with("%-ile");
    let Some(head) = lines.iter().rposition(is_head) else { return Ok(None) };
    let mut percentiles = Vec::new();
    let mut columns = means_ms.map(|mean| Listed { mean_ns: mean.unwrap_or(0.0) * 1e6, buckets: Vec::new() });
    for line in &lines[head + 1..] {
        let fields: Vec<&str> = line.text.split('|').map(str::trim).collect();
        let [name, values @ ..] = &fields[..] else { continue };
        let Some(percent) = percent(name) else { continue };
        percentiles.push(percent);
        for (column, value) in columns.iter_mut().zip(values).filter(|(_, value)| **value != "N/A") {
            let ms: f64 = value.parse().map_err(|_| line.trouble(format!("`{value}` is no latency")))?;
            let ns = whole(ms * 1e6).ok_or_else(|| line.trouble(format!("`{value}` is no latency")))?;
            column.buckets.push((percent, ns));
        }
        if *name == "max" {
            break;
        }
    }
    let [read, write, total] = columns;
    Ok(Some(Latencies { percentiles, read, write, total }))
}

/// The percentile of a row: `min`, `25th`, `3-nines`, `max`.
fn percent(name: &str) -> Option<f64> {
    match name {
        "min" => Some(0.0),
        "max" => Some(100.0),
        name => match (name.strip_suffix("th"), name.strip_suffix("-nines")) {
            (Some(percent), _) => percent.parse::<u32>().ok().filter(|percent| *percent <= 100).map(f64::from),
            (_, Some(nines)) => {
                let nines: usize = nines.parse().ok().filter(|nines| (3..=9).contains(nines))?;
                format!("99.{}", "9".repeat(nines - 2)).parse().ok()
            }
            _ => None,
        },
    }
}

/// The rows of the table of processors: the last four columns are shares, whatever stands before them.
fn processors(lines: &[Line<'_>], elapsed_ns: u64) -> Result<Vec<CpuTimes>, FileError> {
    let is_head = |line: &Line<'_>| line.text.contains("Usage |") && line.text.contains("Idle");
    let Some(head) = lines.iter().position(is_head) else { return Ok(Vec::new()) };
    let mut machine = Vec::new();
    for line in &lines[head + 1..] {
        let fields: Vec<&str> = line.text.split('|').map(str::trim).collect();
        match &fields[..] {
            ["avg.", ..] => break,
            [.., number, _, user, kernel, idle] if number.parse::<u32>().is_ok() => {
                let share = |text: &str| line.number(text);
                let shares = Shares { user: share(user)?, kernel: share(kernel)?, idle: share(idle)? };
                machine.push(shares.times(elapsed_ns));
            }
            _ => {}
        }
    }
    Ok(machine)
}
