//! Reads SQLIO's trace and its text as records.

mod text;

use std::collections::BTreeSet;

use halfpower_record::{Origin, Tool, Unknown};
use halfpower_spec::{
    BlockSizes, Bytes, EngineName, Experiment, Pass, Pattern, Rw, UtcTime, Workload, WorkloadOptions,
};

use super::trace::{TraceError, TraceLine, UNTOLD, read_trace};
use crate::foreign_run::{FileError, Found};
use crate::foreign_run::{ForeignRun, Moved, whole};

pub(crate) use text::{is_text, read as read_text};

/// Reads every line of the trace. The format has no latency, and the order of offsets at most in the comment.
pub(crate) fn read_trace_lines(file: &str, text: &str) -> Result<Found, FileError> {
    let lines = read_trace(text)
        .map_err(|TraceError { line, field, message }| FileError::at(line, format!("{field}: {message}")))?;
    let date = lines.first().map(|(_, line)| line.time_stamp.clone()).filter(|stamp| !stamp.is_empty());
    let records = lines.into_iter().map(|(number, line)| measured(file, number, line).map(ForeignRun::into_record));
    let records = records.collect::<Result<Vec<_>, _>>()?;
    Ok(Found { version: None, date, host: None, records, left_out: Vec::new() })
}

fn measured(file: &str, number: usize, line: TraceLine) -> Result<ForeignRun, FileError> {
    let wrong = |field: &str, message: &str| FileError::at(number, format!("{field}: {message}"));
    let scaled = |value: f64, factor: f64, field: &str| {
        whole(value * factor).ok_or_else(|| wrong(field, "it is larger than anything that was ever measured"))
    };
    let comment = Comment::of(&line.comment);
    let bs = scaled(line.block_size_kib, 1024.0, "BlockSize")?;
    if bs == 0 || u32::try_from(bs).is_err() {
        return Err(wrong("BlockSize", "a request has a size, up to 4 GiB"));
    }
    if line.threads == 0 {
        return Err(wrong("NumThreads", "somebody submits: write 1 or more"));
    }
    let moved = line.iops > 0.0 || line.mib_per_s > 0.0;
    let elapsed_ns = scaled(line.clock_s, 1e9, "Clock(s)")?;
    if moved && elapsed_ns == 0 {
        return Err(wrong("Clock(s)", "what moved took its time; write the seconds that the test took"));
    }
    let bytes = scaled(line.mib_per_s * line.clock_s, 1_048_576.0, "MB/s")?;
    let ios = scaled(line.iops * line.clock_s, 1.0, "IO/s")?;
    let rw = comment.rw.filter(|rw| rw.direction().is_none_or(|one| one == line.operation));
    let rw = rw.unwrap_or_else(|| Rw::of(comment.pattern.unwrap_or(Pattern::Unknown), line.operation));
    let synchronous = line.outstanding_ios == 0;
    let bssplit = comment.bssplit.filter(|sizes| sizes.largest() == Bytes(bs));
    let workload = Workload {
        options: WorkloadOptions { bssplit, ..WorkloadOptions::default() },
        rw,
        bs: Bytes(bs),
        iodepth: line.outstanding_ios.max(1),
        threads: line.threads,
        cache: line.buffering,
        engine: comment.engine.unwrap_or(if synchronous { EngineName::Sync } else { EngineName::Unknown }),
        ..Workload::default()
    };
    let started_unix_ms = UtcTime::unix_s_of(&line.time_stamp).map(|seconds| seconds * 1000);
    let unknown = unknown(&line, &comment, &workload, started_unix_ms);
    let mut measured = ForeignRun::new(workload, origin(file, number, unknown, &comment));
    measured.experiment = comment.experiment;
    (measured.pass, measured.repeat) = (comment.pass.unwrap_or(Pass::Plain), comment.repeat.unwrap_or(0));
    measured.runtime_ns = scaled(line.time_s, 1e9, "Time")?;
    measured.span_bytes = scaled(line.file_size_kib, 1024.0, "FileSize")?;
    measured.started_unix_ms = started_unix_ms.unwrap_or(0);
    measured.elapsed_ns = elapsed_ns;
    measured.user_ns = scaled(line.user_ms.unwrap_or(0.0), 1e6, "User(ms)")?;
    measured.system_ns = scaled(line.kernel_ms.unwrap_or(0.0), 1e6, "Kernel(ms)")?;
    measured.moved(line.operation, Moved { bytes, ios, ..Moved::default() });
    measured.origin.line = Some(line.to_string());
    Ok(measured)
}

fn unknown(
    line: &TraceLine,
    comment: &Comment<'_>,
    workload: &Workload,
    started_unix_ms: Option<u64>,
) -> BTreeSet<Unknown> {
    let is_of_walks = comment.experiment.is_none_or(|experiment| experiment.pattern().is_some());
    let all = [
        (Unknown::Order, workload.rw.pattern() == Pattern::Unknown),
        (Unknown::Mix, workload.rw.direction().is_none()),
        (Unknown::Engine, workload.engine == EngineName::Unknown),
        // The trace has no fields for the settings that other experiments vary.
        (Unknown::Settings, !is_of_walks || !comment.untold.is_empty()),
        (Unknown::Latency, true),
        (Unknown::ChargedTime, line.user_ms.is_none() || line.kernel_ms.is_none()),
        (Unknown::Start, started_unix_ms.is_none()),
        (Unknown::Errors, true),
    ];
    let untold = UNTOLD.iter().filter(|(_, word)| comment.untold.contains(word)).map(|(setting, _)| *setting);
    all.into_iter().filter(|(_, is_unknown)| *is_unknown).map(|(what, _)| what).chain(untold).collect()
}

fn origin(file: &str, number: usize, unknown: BTreeSet<Unknown>, comment: &Comment<'_>) -> Origin {
    let special = comment.experiment.filter(|_| unknown.contains(&Unknown::Settings));
    Origin {
        tool: Tool::Sqlio,
        file: file.to_string(),
        result: format!("line {number}"),
        target: None,
        unknown,
        percentiles: None,
        percentiles_of_sides: false,
        settings: special.map(|experiment| format!("experiment {experiment}")).into_iter().collect(),
        line: None,
    }
}

/// Contents of a comment: halfpower's words, or any word about the order of offsets.
#[derive(Default)]
struct Comment<'a> {
    /// Words of fields that mean nothing.
    untold: Vec<&'a str>,
    rw: Option<Rw>,
    pattern: Option<Pattern>,
    experiment: Option<Experiment>,
    engine: Option<EngineName>,
    pass: Option<Pass>,
    repeat: Option<u32>,
    bssplit: Option<BlockSizes>,
}

impl<'a> Comment<'a> {
    fn of(text: &'a str) -> Self {
        let mut comment = Self::default();
        for word in text.split_whitespace() {
            match word.split_once('=') {
                Some(("rw", value)) => comment.rw = value.parse().ok(),
                Some(("pattern", value)) => comment.pattern = value.parse().ok(),
                Some(("experiment", value)) => comment.experiment = value.parse().ok(),
                Some(("engine", value)) => comment.engine = value.parse().ok(),
                Some(("pass", value)) => comment.pass = value.parse().ok(),
                Some(("repeat", value)) => comment.repeat = value.parse().ok(),
                Some(("unknown", value)) => comment.untold = value.split(';').collect(),
                Some(("bssplit", value)) => comment.bssplit = value.replace(';', ",").parse().ok(),
                _ => {}
            }
        }
        let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        let orders: BTreeSet<Pattern> = words
            .filter_map(|word| match word.as_str() {
                "random" | "rand" => Some(Pattern::Random),
                "sequential" | "seq" => Some(Pattern::Sequential),
                _ => None,
            })
            .collect();
        let said = orders.first().filter(|_| orders.len() == 1);
        comment.pattern = comment.pattern.or(said.copied());
        comment
    }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::Direction;

    use super::*;

    #[test]
    fn a_comment_tells_the_order_only_where_it_says_one() {
        let order = |text: &str| Comment::of(text).pattern;
        assert_eq!(order("atlas 10k Random 8 KB"), Some(Pattern::Random));
        assert_eq!(order("seq, warm"), Some(Pattern::Sequential));
        assert_eq!(order("random after sequential"), None);
        assert_eq!(order("randomised order of runs; squire"), None);
        let ours = Comment::of("rw=randrw pattern=random experiment=none engine=sync pass=plain repeat=3");
        assert_eq!((ours.rw, ours.repeat, ours.engine), (Some(Rw::Randmixed), Some(3), Some(EngineName::Sync)));
    }

    #[test]
    fn a_plain_line_is_known_as_far_as_it_goes() {
        let found = read_trace_lines("t.csv", "19.5,312,Read,64,0,O,1,10,102400,10.01,15.6,46.8,6/16/00 12:00,atlas\n");
        let Ok(found) = found else { panic!("it is read") };
        let record = &found.records[0];
        assert_eq!(record.run.workload.rw, Rw::UnknownRead);
        assert_eq!((record.read_ios, record.cpu.user_ns), (3123, 15_600_000));
        assert!((record.mbps() - 19.5 * 1.048_576).abs() < 1e-3);
        for what in [Unknown::Order, Unknown::Latency, Unknown::Start] {
            assert!(!record.knows(what), "{what:?}");
        }
        assert!(record.knows(Unknown::ChargedTime) && record.knows(Unknown::Span));
        assert_eq!(record.side(Direction::Write).map(|side| side.ios), None);
    }
}
