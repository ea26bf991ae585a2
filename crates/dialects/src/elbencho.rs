//! Reads elbencho's results: its CSV (`--csvfile`) and its JSON (`--jsonfile`).
//!
//! A row or an object is one phase, as elbencho's "CSV Results File" describes it. The figures are those at the moment
//! when the last thread was done. With a mix of reads and writes, the plain figures are those of the writes.

use halfpower_record::{Latency, Origin, Record, Tool, Unknown};
use halfpower_spec::{Bytes, Cache, Direction, EngineName, Pattern, Rw, UtcTime, Workload};
use serde_json::Value;

use crate::foreign_run::{FileError, ForeignRun, Found, Moved, whole};

/// Columns that every such CSV has.
const COLUMNS: [&str; 4] = ["ISO date", "operation", "block size", "MiB/s [last]"];

/// Options whose value is a path that is no target.
const OF_FILES: [&str; 9] = [
    "--csvfile",
    "--jsonfile",
    "--resfile",
    "--livecsv",
    "--configfile",
    "--treefile",
    "--hostsfile",
    "--opslog",
    "-c",
];

/// Whether a text has the heading of elbencho's CSV.
pub(crate) fn is_csv(text: &str) -> bool {
    text.lines().any(is_heading)
}

fn is_heading(line: &str) -> bool {
    let names: Vec<&str> = line.split(',').map(str::trim).collect();
    COLUMNS.iter().all(|column| names.contains(column))
}

/// Whether a text has an object of elbencho's JSON.
pub(crate) fn is_json(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with('{') && line.contains("\"phase_type\""))
}

/// One phase.
struct Phase {
    line: usize,
    operation: String,
    date: String,
    label: String,
    hosts: u32,
    threads: u32,
    depth: u32,
    bs: u64,
    is_direct: bool,
    is_random: bool,
    is_aligned: bool,
    elapsed_ms: u64,
    /// All requests, or the writes of a mix.
    moved: Told,
    /// The reads of a mix.
    mixed_reads: Told,
    version: String,
    command: String,
}

/// The figures of one direction.
#[derive(Default)]
struct Told {
    /// Bytes in all, exact or in whole MiB.
    bytes: u64,
    iops: u64,
    /// Shortest, mean and longest latency in microseconds; `None` if it was not measured.
    latency_us: Option<[u64; 3]>,
}

/// Reads every row below a heading.
pub(crate) fn read_csv(file: &str, text: &str) -> Result<Found, FileError> {
    let mut columns: Vec<&str> = Vec::new();
    let mut phases = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if is_heading(line) {
            columns = line.split(',').map(str::trim).collect();
            continue;
        }
        if columns.is_empty() || line.trim().is_empty() {
            continue;
        }
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let line = index + 1;
        if fields.len() != columns.len() {
            let has = fields.len();
            let needs = columns.len();
            return Err(FileError::at(
                line,
                format!("the row has {has} fields and the heading {needs}; the file is cut"),
            ));
        }
        phases.push(of_row(&Row { line, columns: &columns, fields })?);
    }
    gathered(file, phases)
}

/// A row of the CSV.
struct Row<'a> {
    line: usize,
    columns: &'a [&'a str],
    fields: Vec<&'a str>,
}

impl Row<'_> {
    /// The field of this name; empty if the release has no such column.
    fn text(&self, name: &str) -> &str {
        self.columns.iter().position(|column| *column == name).map_or("", |at| self.fields[at])
    }

    /// The number of this name; 0 for an empty field.
    fn number(&self, name: &str) -> Result<u64, FileError> {
        number(self.text(name), name, self.line)
    }

    fn latency_us(&self, name: &str) -> Result<Option<[u64; 3]>, FileError> {
        if self.text(&format!("{name} [avg]")).is_empty() {
            return Ok(None);
        }
        let part = |part: &str| self.number(&format!("{name} [{part}]"));
        Ok(Some([part("min")?, part("avg")?, part("max")?]))
    }

    fn told(&self, prefix: &str) -> Result<Told, FileError> {
        let mib = self.number(&format!("{prefix}MiB [last]"))?;
        let most = || FileError::at(self.line, format!("{prefix}MiB [last]: {mib} is more than anybody measures"));
        Ok(Told {
            bytes: whole(mib as f64 * 1_048_576.0).ok_or_else(most)?,
            iops: self.number(&format!("{prefix}IOPS [last]"))?,
            latency_us: self.latency_us(&format!("{prefix}IO lat us"))?,
        })
    }
}

fn number(text: &str, name: &str, line: usize) -> Result<u64, FileError> {
    if text.is_empty() {
        return Ok(0);
    }
    let number = text.parse::<f64>().ok().and_then(whole);
    number.ok_or_else(|| FileError::at(line, format!("{name}: `{text}` is not a number")))
}

fn small(number: u64, name: &str, line: usize) -> Result<u32, FileError> {
    u32::try_from(number).map_err(|_| FileError::at(line, format!("{name}: {number} is more than anybody sets")))
}

fn of_row(row: &Row<'_>) -> Result<Phase, FileError> {
    let line = row.line;
    let count = |name: &str| small(row.number(name)?, name, line);
    Ok(Phase {
        line,
        operation: row.text("operation").to_string(),
        date: row.text("ISO date").to_string(),
        label: row.text("label").to_string(),
        hosts: count("hosts")?,
        threads: count("threads")?,
        depth: count("IO depth")?,
        bs: row.number("block size")?,
        is_direct: row.text("direct IO") == "1",
        is_random: row.text("random") == "1",
        is_aligned: row.text("random aligned") != "0",
        elapsed_ms: row.number("time ms [last]")?,
        moved: row.told("")?,
        mixed_reads: row.told("rwmix read ")?,
        version: row.text("version").to_string(),
        command: row.text("command").to_string(),
    })
}

/// Reads every object; elbencho writes one a line, and all values as text.
pub(crate) fn read_json(file: &str, text: &str) -> Result<Found, FileError> {
    let mut phases = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with('{')) {
        let value: Value = serde_json::from_str(line)
            .map_err(|error| FileError::at(index + 1, format!("this is no object of elbencho: {error}")))?;
        phases.push(of_object(&Object { line: index + 1, value: &value })?);
    }
    gathered(file, phases)
}

/// An object of the JSON.
struct Object<'a> {
    line: usize,
    value: &'a Value,
}

impl Object<'_> {
    /// The value at these keys as text; empty if there is none.
    fn text(&self, keys: &[&str]) -> String {
        let found = keys.iter().try_fold(self.value, |value, key| value.get(*key));
        found.map_or_else(String::new, |value| value.as_str().map_or_else(|| value.to_string(), str::to_string))
    }

    fn number(&self, keys: &[&str]) -> Result<u64, FileError> {
        number(&self.text(keys), keys.last().unwrap_or(&""), self.line)
    }

    fn is_true(&self, keys: &[&str]) -> bool {
        matches!(self.text(keys).as_str(), "true" | "1")
    }

    fn told(&self, done: &[&str], latency: &[&str]) -> Result<Told, FileError> {
        let of = |keys: &[&str], key: &'static str| self.number(&[keys, &[key]].concat());
        let has_latency = !self.text(&[latency, &["avg_us"]].concat()).is_empty();
        let latency_us = match has_latency {
            true => Some([of(latency, "min_us")?, of(latency, "avg_us")?, of(latency, "max_us")?]),
            false => None,
        };
        Ok(Told { bytes: of(done, "bytes")?, iops: of(done, "iops")?, latency_us })
    }
}

fn of_object(object: &Object<'_>) -> Result<Phase, FileError> {
    let line = object.line;
    let count = |name: &str| small(object.number(&["config", name])?, name, line);
    Ok(Phase {
        line,
        operation: object.text(&["phase_type"]),
        date: object.text(&["iso_start_date"]),
        label: object.text(&["label"]),
        hosts: count("hosts")?,
        threads: count("threads")?,
        depth: count("io_depth")?,
        bs: object.number(&["config", "block_size"])?,
        is_direct: object.is_true(&["config", "direct_io"]),
        is_random: object.is_true(&["config", "random_offsets"]),
        is_aligned: object.text(&["config", "random_aligned"]) != "false",
        elapsed_ms: object.number(&["last_done", "elapsed_time_ms"])?,
        moved: object.told(&["last_done"], &["last_done", "latency", "IO"])?,
        mixed_reads: object.told(&["last_done", "rwmix_read"], &["last_done", "latency", "IO", "rwmix_read"])?,
        version: object.text(&["config", "version"]),
        command: object.text(&["config", "command"]),
    })
}

fn gathered(file: &str, phases: Vec<Phase>) -> Result<Found, FileError> {
    let mut found = Found { version: None, date: None, host: None, records: Vec::new(), left_out: Vec::new() };
    for phase in phases {
        found.version.get_or_insert_with(|| phase.version.clone());
        found.date.get_or_insert_with(|| phase.date.clone());
        match record(file, &phase)? {
            Some(record) => found.records.push(record),
            None => found.left_out.push(format!("{} of line {}: it moved no bytes", phase.operation, phase.line)),
        }
    }
    Ok(found)
}

/// The record of a phase; `None` if it moved nothing, as those that make folders do.
fn record(file: &str, phase: &Phase) -> Result<Option<Record>, FileError> {
    let wrong = |message: &str| FileError::at(phase.line, message);
    let is_mixed = phase.mixed_reads.bytes > 0 || phase.mixed_reads.iops > 0;
    let direction = match phase.operation.as_str() {
        name if name.starts_with("READ") => Direction::Read,
        name if name.starts_with("WRITE") || name.starts_with("RWMIX") => Direction::Write,
        _ => return Ok(None),
    };
    if phase.moved.iops == 0 && phase.moved.bytes == 0 && !is_mixed {
        return Ok(None);
    }
    if phase.bs == 0 || u32::try_from(phase.bs).is_err() {
        return Err(wrong("block size: a request has a size, up to 4 GiB"));
    }
    if phase.elapsed_ms == 0 {
        return Err(wrong("what moved took its time, and the time of this phase is 0 ms"));
    }
    let pattern = if phase.is_random { Pattern::Random } else { Pattern::Sequential };
    let moved = moved(phase, &phase.moved);
    let reads = moved_reads(phase, is_mixed);
    let ios = moved.ios.saturating_add(reads.ios);
    let rw = match (is_mixed, pattern) {
        (true, Pattern::Random) => Rw::Randmixed,
        (true, _) => Rw::Mixed,
        (false, _) => Rw::of(pattern, direction),
    };
    let threads = phase.threads.max(1).checked_mul(phase.hosts.max(1));
    let depth = phase.depth.max(1);
    let threads = threads.filter(|threads| threads.checked_mul(depth).is_some());
    let workload = Workload {
        rw,
        rwmixread: (100 * reads.ios / ios.max(1)).min(100) as u8,
        bs: Bytes(phase.bs),
        iodepth: depth,
        threads: threads.ok_or_else(|| wrong("so many threads on so many hosts are no load"))?,
        cache: if phase.is_direct { Cache::Device } else { Cache::Both },
        engine: EngineName::Unknown,
        ..Workload::default()
    };
    let mut run = ForeignRun::new(workload, origin(file, phase));
    run.elapsed_ns = whole(phase.elapsed_ms as f64 * 1e6).ok_or_else(|| wrong("nobody measures for that long"))?;
    match unix_ms_of(&phase.date) {
        Some(unix_ms) => run.started_unix_ms = unix_ms,
        None => drop(run.origin.unknown.insert(Unknown::Start)),
    }
    let both_known = moved.latency.count() > 0 && (!is_mixed || reads.latency.count() > 0);
    if both_known {
        run.latency.merge(&moved.latency);
        run.latency.merge(&reads.latency);
        // Shortest, mean and longest are told, and nothing between them.
        run.origin.percentiles = Some(Vec::new());
    }
    if is_mixed {
        run.moved(Direction::Read, reads);
    }
    run.moved(direction, moved);
    Ok(Some(run.into_record()))
}

fn moved_reads(phase: &Phase, is_mixed: bool) -> Moved {
    if is_mixed { moved(phase, &phase.mixed_reads) } else { Moved::default() }
}

/// Bytes and requests of one direction. Whole MiB and whole requests a second are rounded: bytes are told better by the
/// one of which there are more.
fn moved(phase: &Phase, told: &Told) -> Moved {
    let of_rate = whole(told.iops as f64 * phase.elapsed_ms as f64 / 1000.0).unwrap_or(0);
    let of_bytes = told.bytes / phase.bs.max(1);
    let tolerance = of_rate / told.iops.max(1) + (1 << 20) / phase.bs.max(1) + 1;
    // Files that end within a block have more requests than whole blocks.
    let ios = if of_bytes > 0 && of_bytes.abs_diff(of_rate) <= tolerance { of_bytes } else { of_rate };
    let bytes = if told.bytes > 0 { told.bytes } else { ios.saturating_mul(phase.bs) };
    let ns = |us: u64| whole(us as f64 * 1000.0);
    let known = told.latency_us.filter(|[_, mean, _]| *mean > 0);
    let spans = known.and_then(|[min, mean, max]| Some((ns(min)?, ns(mean)?, ns(max)?)));
    let latency = spans
        .map_or_else(Latency::default, |(min, mean, max)| Latency::of_percentiles(ios, [min, max], mean as f64, &[]));
    Moved { bytes, ios, latency }
}

fn origin(file: &str, phase: &Phase) -> Origin {
    let mut settings = Vec::new();
    if phase.hosts > 1 {
        settings.push(format!("{} hosts", phase.hosts));
    }
    if phase.is_random && !phase.is_aligned {
        settings.push("random offsets that are not aligned".to_string());
    }
    let unknown = [
        (Unknown::Engine, true),
        (Unknown::Settings, !settings.is_empty()),
        (Unknown::ChargedTime, true),
        (Unknown::Span, true),
        (Unknown::Runtime, true),
        (Unknown::Errors, true),
    ];
    let label = if phase.label.is_empty() { String::new() } else { format!(" ({})", phase.label) };
    Origin {
        tool: Tool::Elbencho,
        file: file.to_string(),
        result: format!("{}{label} of line {}", phase.operation, phase.line),
        target: target(&phase.command),
        unknown: unknown.into_iter().filter(|(_, is_unknown)| *is_unknown).map(|(what, _)| what).collect(),
        percentiles: None,
        percentiles_of_sides: false,
        settings,
        line: None,
    }
}

/// The paths at the end of the command, each between quotation marks; `None` if it does not end with any.
fn target(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split('"').map(str::trim).filter(|word| !word.is_empty()).collect();
    let is_path = |word: &&&str| word.contains('/') && !word.starts_with('-');
    let paths = words.iter().skip(1).rev().take_while(is_path).count();
    let mut paths = &words[words.len() - paths..];
    let before = words.len().checked_sub(paths.len() + 1).map(|at| words[at]);
    if before.is_some_and(|option| OF_FILES.contains(&option)) {
        paths = paths.get(1..).unwrap_or_default();
    }
    (!paths.is_empty()).then(|| paths.join(", "))
}

/// `2026-11-22T10:00:00.250+0100`, in milliseconds of Unix time; `None` for any other form.
fn unix_ms_of(date: &str) -> Option<u64> {
    let seconds = UtcTime::unix_s_of(&date.get(..19)?.replace('T', " "))?;
    let rest = date.get(19..)?;
    let at = rest.find(['+', '-'])?;
    let millis: u64 = rest.get(..at)?.trim_start_matches('.').parse().unwrap_or(0);
    let offset = rest.get(at + 1..at + 5)?;
    let ahead_s = offset.get(..2)?.parse::<u64>().ok()? * 3600 + offset.get(2..)?.parse::<u64>().ok()? * 60;
    let in_utc =
        if rest.as_bytes().get(at) == Some(&b'+') { seconds.checked_sub(ahead_s) } else { Some(seconds + ahead_s) };
    Some(in_utc? * 1000 + millis.min(999))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_end_a_command_and_dates_have_an_offset() {
        assert_eq!(target(r#""elbencho" "-w" "-t" "4" "/mnt/a" "/mnt/b" "#).as_deref(), Some("/mnt/a, /mnt/b"));
        assert_eq!(target(r#""./elbencho" "-r" "/dev/sdb""#).as_deref(), Some("/dev/sdb"));
        assert_eq!(target(r#""elbencho" "/mnt/a" "--csvfile" "/tmp/x.csv""#), None);
        assert_eq!(target(r#""/usr/bin/elbencho" "--version""#), None);
        assert_eq!(unix_ms_of("2026-11-22T11:00:00.250+0100"), Some(1_795_341_600_250));
        assert_eq!(unix_ms_of("2026-11-22T07:30:00.000-0230"), Some(1_795_341_600_000));
        assert_eq!((unix_ms_of("2026-11-22"), unix_ms_of("")), (None, None));
    }
}
