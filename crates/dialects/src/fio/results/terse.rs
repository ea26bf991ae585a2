//! Reads fio's terse lines as records.
//!
//! A line names no settings. The direction is that in which something moved, and the block size follows from bytes,
//! requests a second and time if only one size gives these figures. The depth is told where it is 1. All else is
//! unknown, so that no other result is a repeat of such a line.

use halfpower_record::{Latency, Origin, Record, Tool, Unknown};
use halfpower_spec::{Bytes, Cache, Direction, EngineName, Pattern, Rw, Workload};

use crate::fio::terse::{TerseLine, TerseSide, is_terse};
use crate::foreign_run::{FileError, ForeignRun, Found, Moved, whole};

/// Reads every terse line of a file, which may hold other text.
pub(crate) fn read(file: &str, text: &str) -> Result<Found, FileError> {
    let mut found = Found { version: None, date: None, host: None, records: Vec::new(), left_out: Vec::new() };
    for (number, line) in text.lines().enumerate().filter(|(_, line)| is_terse(line)) {
        let line = TerseLine::parse(line, number + 1)?;
        found.version.get_or_insert_with(|| line.program.clone());
        match record(file, number + 1, &line) {
            Ok(record) => found.records.push(record),
            Err(why) => found.left_out.push(format!("job {} of line {}: {why}", line.jobname, number + 1)),
        }
    }
    Ok(found)
}

/// Converts a line to a record, or returns why it does not fit one.
fn record(file: &str, number: usize, line: &TerseLine) -> Result<Record, String> {
    let reads = line.read.kib > 0;
    let writes = line.write.kib > 0;
    if line.trim.kib > 0 {
        return Err("it discards blocks, and no record has discards".to_string());
    }
    if !reads && !writes {
        let ended = (line.error != 0).then(|| format!("it ended with error {}", line.error));
        return Err(ended.unwrap_or_else(|| "it moved nothing".to_string()));
    }
    let sizes = [&line.read, &line.write].map(size);
    let known_size = match (reads, writes) {
        (true, false) => sizes[0],
        (false, _) => sizes[1],
        (true, true) => sizes[0].filter(|_| sizes[0] == sizes[1]),
    };
    let [read, write] = [(&line.read, sizes[0]), (&line.write, sizes[1])].map(|(side, size)| moved(side, size));
    let [read, write] = [read?, write?];
    let ios = read.ios.saturating_add(write.ios);
    let bytes = read.bytes.saturating_add(write.bytes);
    let bs = known_size.unwrap_or_else(|| (bytes / ios.max(1)).clamp(1, u64::from(u32::MAX)));
    let rw = match (reads, writes) {
        (true, true) => Rw::UnknownMixed,
        (true, false) => Rw::of(Pattern::Unknown, Direction::Read),
        _ => Rw::of(Pattern::Unknown, Direction::Write),
    };
    let rwmixread = whole(100.0 * read.ios as f64 / ios.max(1) as f64).unwrap_or(50).min(100) as u8;
    // One request at a time is told; of more, only a range is.
    let one_at_a_time = line.depths[0] >= 100.0;
    let workload = Workload {
        rw,
        rwmixread,
        bs: Bytes(bs),
        iodepth: 1,
        threads: 1,
        cache: Cache::Both,
        engine: EngineName::Unknown,
        ..Workload::default()
    };
    let mut run = ForeignRun::new(workload, origin(file, number, line, [known_size.is_some(), one_at_a_time]));
    let runtime_ms = line.read.runtime_ms.max(line.write.runtime_ms);
    run.elapsed_ns = whole(runtime_ms as f64 * 1e6).ok_or("nobody measures for that long")?;
    run.latency.merge(&read.latency);
    run.latency.merge(&write.latency);
    if (reads && read.latency.count() == 0) || (writes && write.latency.count() == 0) {
        run.latency = Latency::default();
    }
    run.origin.percentiles = listed(&line.read, &line.write);
    run.origin.percentiles_of_sides = reads && writes;
    if let Some((count, first)) = line.errors.filter(|(count, _)| *count > 0) {
        run.errors.insert(format!("error {first}"), count);
    }
    run.moved(Direction::Read, read);
    run.moved(Direction::Write, write);
    Ok(run.into_record())
}

fn origin(file: &str, number: usize, line: &TerseLine, [knows_size, one_at_a_time]: [bool; 2]) -> Origin {
    let unknown = [
        (Unknown::Order, true),
        (Unknown::BlockSize, !knows_size),
        // Even with one request at a time, the threads may be many.
        (Unknown::Depth, true),
        (Unknown::Cache, true),
        (Unknown::Engine, true),
        (Unknown::Settings, true),
        (Unknown::Submission, true),
        // Processor time is a share of the time of all threads, and their number is not told.
        (Unknown::ChargedTime, true),
        (Unknown::Span, true),
        (Unknown::Start, true),
        (Unknown::Runtime, true),
        (Unknown::Errors, line.errors.is_none()),
    ];
    let mut settings = vec![format!("job {}", line.jobname)];
    settings.extend(one_at_a_time.then(|| "one request at a time in each thread".to_string()));
    Origin {
        tool: Tool::Fio,
        file: file.to_string(),
        result: format!("job {} of line {number}", line.jobname),
        target: None,
        unknown: unknown.into_iter().filter(|(_, is_unknown)| *is_unknown).map(|(what, _)| what).collect(),
        percentiles: None,
        percentiles_of_sides: false,
        settings,
        line: None,
    }
}

/// The block size, if it is the only power of two with which as many bytes make as many requests a second.
fn size(side: &TerseSide) -> Option<u64> {
    let bytes = side.kib.checked_mul(1024)?;
    let gives_rate = |bs: &u64| {
        // fio cuts off the rest of a KiB and what follows the point of the rate.
        let rate = |bytes: u64| (bytes / bs).saturating_mul(1000).checked_div(side.runtime_ms);
        rate(bytes).zip(rate(bytes + 1023)).is_some_and(|(low, high)| (low..=high).contains(&side.iops))
    };
    let mut fitting = (9..=30).map(|power| 1_u64 << power).filter(gives_rate);
    // A rate of a few requests a second fits almost any size.
    fitting.next().filter(|_| fitting.next().is_none() && side.iops >= LEAST_IOPS)
}

/// Least rate at which no other size is likely to give the same figures.
const LEAST_IOPS: u64 = 10;

fn moved(side: &TerseSide, size: Option<u64>) -> Result<Moved, String> {
    if side.kib == 0 {
        return Ok(Moved::default());
    }
    if side.runtime_ms == 0 {
        return Err("what moved took no time".to_string());
    }
    let bytes = whole(side.kib as f64 * 1024.0).ok_or("nobody measures so many bytes")?;
    let ios = match size {
        Some(size) => bytes / size,
        None => whole(side.iops as f64 * side.runtime_ms as f64 / 1000.0).unwrap_or(0),
    };
    if ios == 0 {
        return Err("its rate is below one request a second, and a terse line has no number of requests".to_string());
    }
    Ok(Moved { bytes, ios, latency: latency(side, ios) })
}

/// The latencies of a side; from after submission, as the percentiles are by default.
fn latency(side: &TerseSide, ios: u64) -> Latency {
    let ns = |us: u64| whole(us as f64 * 1000.0);
    let span = if side.completion_us.max > 0 { side.completion_us } else { side.total_us };
    if span.max == 0 {
        return Latency::default();
    }
    let percentiles: Option<Vec<(f64, u64)>> =
        side.percentiles.iter().map(|(percent, us)| Some((*percent, ns(*us)?))).collect();
    match (ns(span.min), ns(span.max), whole(span.mean * 1000.0), percentiles) {
        (Some(min), Some(max), Some(mean), Some(percentiles)) => {
            Latency::of_percentiles(ios, [min, max], mean as f64, &percentiles)
        }
        _ => Latency::default(),
    }
}

/// The percentiles that all directions in use list.
fn listed(read: &TerseSide, write: &TerseSide) -> Option<Vec<f64>> {
    let percents = |side: &TerseSide| side.percentiles.iter().map(|(percent, _)| *percent).collect::<Vec<f64>>();
    Some(match (read.kib > 0, write.kib > 0) {
        (true, true) => {
            let of_write = percents(write);
            percents(read).into_iter().filter(|percent| of_write.contains(percent)).collect()
        }
        (true, false) => percents(read),
        _ => percents(write),
    })
}
