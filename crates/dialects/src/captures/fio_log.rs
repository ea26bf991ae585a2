//! Reads fio's logs of single operations: those of latency and bandwidth with offsets, and its I/O logs.
//!
//! A log of latency or bandwidth tells when an operation ended, in milliseconds, and how long it took. When it began follows
//! within that millisecond from what its job can have had in progress: a job that waits for each operation has one at a time.
//! An I/O log tells when an operation began, and not when it ended.

use std::collections::BTreeSet;

use halfpower_record::OperationKind;

use crate::captures::collected::{Broken, Collected, Seen, Text};
use crate::foreign_run::FileError;

/// Longest latency and latest time that is believed, in nanoseconds; sums of several do not overflow.
const LATEST_NS: u64 = 1 << 62;
const MILLISECOND_NS: u64 = 1_000_000;
/// Latest end of an operation after the millisecond that is told of it: what was placed late delays those after it a little.
const LATEST_END_NS: u64 = 2 * MILLISECOND_NS - 1;
/// Since 2001: times before it are not Unix time.
const UNIX_TIME_MS: u64 = 1_000_000_000_000;
/// Time between operations of an I/O log that tells none, so that their order is kept.
const ORDER_NS: u64 = 1_000;

const OTHERS: &str = "operations that neither read, write nor sync";
const WITH_OFFSETS: &str =
    "let fio log each operation with its place: write_lat_log=NAME, log_offset=1, no log_avg_msec";
const NO_ENDS: &str = "an I/O log does not tell how long its operations took: ask them again with --open, as fio does";
const NO_TIMES: &str = "an I/O log of version 2 tells no times but waits: what follows another follows it at once";
const IS_DIRECT: &str = "fio's logs do not tell whether the page cache was passed by: the files are taken as direct";

/// How the first line of an I/O log begins; its version follows.
const IO_LOG: &str = "fio version ";

/// Whether a text is one of fio's logs of latency, bandwidth or requests.
pub(crate) fn is_log(text: &str) -> bool {
    first_line(text).is_some_and(|line| fields(line).is_some())
}

/// Whether a text is an I/O log of fio.
pub(crate) fn is_io_log(text: &str) -> bool {
    first_line(text).is_some_and(|line| line.starts_with(IO_LOG) && line.ends_with(" iolog"))
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// The numbers of a line, 4 to 7; `None` if it is no line of a log.
fn fields(line: &str) -> Option<Vec<u64>> {
    let number = |field: &str| match field.trim().strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok(),
        None => field.trim().parse().ok(),
    };
    let fields: Vec<u64> = line.split(',').map(number).collect::<Option<_>>()?;
    (4..=7).contains(&fields.len()).then_some(fields)
}

/// What the value of a line is.
#[derive(Clone, Copy)]
enum Value {
    /// Nanoseconds.
    Latency,
    /// Thousands of bytes a second.
    Bandwidth,
}

/// Where the fields are that some logs lack.
struct Columns {
    offset: usize,
    /// When an operation was issued, in nanoseconds.
    issued: Option<usize>,
}

/// Reads the logs of the jobs of one run, a job each.
pub(crate) fn read(texts: &[Text<'_>], collected: &mut Collected) -> Result<(), Broken> {
    collected.subject = "fio".to_string();
    collected.notes.push(IS_DIRECT.to_string());
    for (job, text) in texts.iter().enumerate() {
        read_log(job as u64, text, collected).map_err(|error| (job, error))?;
    }
    Ok(())
}

fn read_log(job: u64, text: &Text<'_>, collected: &mut Collected) -> Result<(), FileError> {
    let mut lines: Vec<(usize, Vec<u64>)> = Vec::new();
    for (number, line) in text.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let found = fields(line).filter(|found| lines.first().is_none_or(|(_, first)| first.len() == found.len()));
        let wrong = "this is no line of the log: each has its time, value, direction, block size and offset";
        lines.push((number + 1, found.ok_or_else(|| FileError::at(number + 1, wrong))?));
    }
    let columns = columns(&lines).map_err(FileError::of_file)?;
    let value = value(text.file).map_err(FileError::of_file)?;
    let name = text.file.rsplit('/').next().unwrap_or(text.file);
    let file = collected.file(name, true);
    let mut job = Job { number: job, file, free_ns: BTreeSet::new() };
    for (number, fields) in &lines {
        let seen = job.operation(fields, &columns, value).map_err(|message| FileError::at(*number, message))?;
        if collected.started_unix_ms == 0 && fields[0] > UNIX_TIME_MS {
            collected.started_unix_ms = fields[0];
        }
        match seen {
            Some(seen) => collected.add(seen),
            None => collected.leave_out(OTHERS, 1),
        }
    }
    collected.never_grows(file);
    Ok(())
}

/// What the values of a log are, by the name that fio gives it.
fn value(file: &str) -> Result<Value, String> {
    let name = file.rsplit('/').next().unwrap_or(file);
    if name.contains("_iops.") {
        return Err(format!("a log of rates does not tell how long operations took; {WITH_OFFSETS}"));
    }
    if name.contains("_slat.") {
        return Err(format!("a log of submission does not tell when operations ended; {WITH_OFFSETS}"));
    }
    Ok(if name.contains("_bw.") { Value::Bandwidth } else { Value::Latency })
}

/// Where offsets and times of issue are. Lines end with a priority of 0 or 1, as older fio's do not.
fn columns(lines: &[(usize, Vec<u64>)]) -> Result<Columns, String> {
    let is_small = |at: usize| lines.iter().all(|(_, fields)| fields[at] <= 1);
    let columns = match lines.first().map_or(0, |(_, fields)| fields.len()) {
        5 if !is_small(4) => Some(Columns { offset: 4, issued: None }),
        6 if is_small(5) || !is_small(4) => Some(Columns { offset: 4, issued: None }),
        7 => Some(Columns { offset: 4, issued: Some(6) }),
        _ => None,
    };
    if lines.iter().any(|(_, fields)| fields[3] == 0) {
        return Err(format!("its lines are averages over time; {WITH_OFFSETS}"));
    }
    columns.ok_or_else(|| format!("its lines have no offsets; {WITH_OFFSETS}"))
}

/// A job, whose operations are told in the order of their ends.
struct Job {
    number: u64,
    file: u32,
    /// When each of those who issue its operations was free again, told apart by a number.
    free_ns: BTreeSet<(u64, usize)>,
}

impl Job {
    /// An operation; `None` if it moves no data.
    fn operation(&mut self, fields: &[u64], columns: &Columns, value: Value) -> Result<Option<Seen>, String> {
        let kind = match fields[2] {
            0 => OperationKind::Read,
            1 => OperationKind::Write,
            _ => return Ok(None),
        };
        let bytes = fields[3];
        let took_ns = match value {
            Value::Latency => fields[1],
            // fio divides bytes by their time.
            Value::Bandwidth => bytes.saturating_mul(1_000_000).checked_div(fields[1]).unwrap_or(0),
        };
        let ended_ns = fields[0].checked_mul(MILLISECOND_NS).filter(|ended_ns| *ended_ns < LATEST_NS);
        let (Some(ended_ns), true) = (ended_ns, took_ns < LATEST_NS) else {
            return Err("nothing takes that long, or begins that late".to_string());
        };
        let begin_ns = match columns.issued {
            Some(at) if fields[at] < LATEST_NS => fields[at],
            Some(_) => return Err("nothing is issued that late".to_string()),
            None => self.begin(ended_ns, took_ns),
        };
        Ok(Some(Seen {
            who: self.number,
            begin_ns,
            end_ns: begin_ns + took_ns,
            kind,
            file: self.file,
            offset: fields[columns.offset],
            bytes,
            cached: false,
        }))
    }

    /// When an operation began that ended within the millisecond from `ended_ns` on, or soon after: as early as can be, by one
    /// who can have been free. Somebody else has issued it only if nobody can have been.
    fn begin(&mut self, ended_ns: u64, took_ns: u64) -> u64 {
        let earliest_ns = ended_ns.saturating_sub(took_ns);
        let latest_ns = (ended_ns + LATEST_END_NS).saturating_sub(took_ns);
        let before = self.free_ns.range(..=(earliest_ns, usize::MAX)).next_back();
        let during = || self.free_ns.range((earliest_ns, usize::MAX)..=(latest_ns, usize::MAX)).next();
        let free = before.or_else(during).copied();
        let issuer = free.map_or(self.free_ns.len(), |(_, issuer)| issuer);
        if let Some(free) = free {
            self.free_ns.remove(&free);
        }
        let begin_ns = free.map_or(earliest_ns, |(free_ns, _)| free_ns.max(earliest_ns));
        self.free_ns.insert((begin_ns + took_ns, issuer));
        begin_ns
    }
}

/// Reads the I/O logs of the jobs of one run, a job each.
pub(crate) fn read_io_logs(texts: &[Text<'_>], collected: &mut Collected) -> Result<(), Broken> {
    collected.subject = "fio".to_string();
    collected.notes.push(IS_DIRECT.to_string());
    collected.notes.push(NO_ENDS.to_string());
    let mut tells_no_times = false;
    for (job, text) in texts.iter().enumerate() {
        let wrong = || (job, FileError::at(1, "it is no I/O log of version 2 or 3, which are read"));
        let has_times = has_times(text.text).ok_or_else(wrong)?;
        tells_no_times |= !has_times;
        read_io_log(job as u64, text, has_times, collected).map_err(|error| (job, error))?;
    }
    if tells_no_times {
        collected.notes.push(NO_TIMES.to_string());
    }
    Ok(())
}

/// Whether the lines of an I/O log begin with times; `None` of a version that is not read, and of other texts.
fn has_times(text: &str) -> Option<bool> {
    match first_line(text)?.strip_prefix(IO_LOG)?.strip_suffix(" iolog")? {
        "3" => Some(true),
        "2" => Some(false),
        _ => None,
    }
}

/// What an I/O log tells of its files.
pub(crate) struct IoLogFiles {
    /// Their names, in the order in which they first come.
    pub names: Vec<String>,
    /// Whether any is written to.
    pub writes: bool,
}

/// The files of an I/O log; `None` of a version that is not read, and of other texts.
pub(crate) fn io_log_files(text: &str) -> Option<IoLogFiles> {
    let before = usize::from(has_times(text)?);
    let mut files = IoLogFiles { names: Vec::new(), writes: false };
    for line in text.lines().filter(|line| !line.trim().starts_with(IO_LOG)) {
        let mut words = line.split_whitespace().skip(before);
        let (Some(name), Some(action)) = (words.next(), words.next()) else { continue };
        files.writes |= action == "write";
        if !files.names.iter().any(|known| known == name) {
            files.names.push(name.to_string());
        }
    }
    Some(files)
}

fn read_io_log(job: u64, text: &Text<'_>, has_times: bool, collected: &mut Collected) -> Result<(), FileError> {
    let mut now_ns = 0_u64;
    let mut waited_ns = 0_u64;
    for (number, line) in text.text.lines().enumerate() {
        let wrong = |what: &str| FileError::at(number + 1, what);
        let mut words = line.split_whitespace();
        if line.trim().is_empty() || line.trim().starts_with(IO_LOG) {
            continue;
        }
        if has_times {
            let told_us = words.next().and_then(|time| time.parse::<u64>().ok());
            let told_ns = told_us.and_then(|time| time.checked_mul(1_000)).filter(|time| *time < LATEST_NS);
            now_ns = told_ns.ok_or_else(|| wrong("a line of version 3 begins with its time in microseconds"))?;
        }
        let (Some(name), Some(action)) = (words.next(), words.next()) else {
            return Err(wrong("a line names a file and what happens to it"));
        };
        if ["add", "open", "close", "unlink"].contains(&action) {
            continue;
        }
        let mut next = || words.next().and_then(|word| word.parse::<u64>().ok());
        let (Some(offset), Some(bytes)) = (next(), next()) else {
            return Err(wrong("an operation has an offset and a length in bytes"));
        };
        let kind = match action {
            "read" => OperationKind::Read,
            "write" => OperationKind::Write,
            "sync" => OperationKind::Fsync,
            "datasync" => OperationKind::Fdatasync,
            "sync_file_range" => OperationKind::OtherSync,
            "trim" => {
                collected.leave_out(OTHERS, 1);
                continue;
            }
            "wait" if !has_times => {
                // In microseconds after the last wait.
                waited_ns = offset.checked_mul(1_000).and_then(|wait| wait.checked_add(waited_ns)).unwrap_or(LATEST_NS);
                now_ns = now_ns.max(waited_ns);
                if now_ns >= LATEST_NS {
                    return Err(wrong("nothing waits that long"));
                }
                continue;
            }
            _ => return Err(wrong("this is no operation of fio's I/O logs")),
        };
        let moves = matches!(kind, OperationKind::Read | OperationKind::Write);
        let (offset, bytes) = if moves { (offset, bytes) } else { (0, 0) };
        let file = collected.file(name, true);
        collected.add(Seen { who: job, begin_ns: now_ns, end_ns: now_ns, kind, file, offset, bytes, cached: false });
        collected.never_grows(file);
        now_ns += if has_times { 0 } else { ORDER_NS };
    }
    Ok(())
}
