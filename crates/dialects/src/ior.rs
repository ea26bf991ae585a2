//! Reads IOR's JSON (`-O summaryFormat=JSON`): a record for each repetition of each access.
//!
//! IOR times each access from opening to closing, and so do the rates here. A task has one request at a time.

use halfpower_record::{Origin, Record, Tool, Unknown};
use halfpower_spec::{Bytes, Cache, Direction, EngineName, Pattern, Rw, Workload};
use serde_json::Value;

use crate::foreign_run::{FileError, ForeignRun, Found, Moved, whole};

/// Whether the text is such a document.
pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"Command line\"") && text.contains("\"tests\"")
}

/// Reads every test.
pub(crate) fn read(file: &str, text: &str) -> Result<Found, FileError> {
    let document: Value = serde_json::from_str(text).map_err(|error| {
        FileError::at(error.line().max(1), format!("this is no JSON of IOR, or not all of it: {error}"))
    })?;
    let word = |key: &str| document.get(key).and_then(Value::as_str).map(str::to_string);
    // `Linux node7`
    let host = word("Machine").and_then(|machine| machine.split_whitespace().nth(1).map(str::to_string));
    let version = word("Version").map(|version| format!("IOR-{version}"));
    let mut found = Found { version, date: word("Began"), host, records: Vec::new(), left_out: Vec::new() };
    let command = word("Command line").unwrap_or_default();
    for test in document.get("tests").and_then(Value::as_array).into_iter().flatten() {
        let test = Test { value: test, command: &command };
        for result in test.results() {
            match test.record(file, result) {
                Ok(record) => found.records.push(record),
                Err(why) => found.left_out.push(format!("test {}: {why}", test.id())),
            }
        }
    }
    Ok(found)
}

/// One test: its settings, and a result for each repetition of each access.
struct Test<'a> {
    value: &'a Value,
    command: &'a str,
}

impl<'a> Test<'a> {
    fn id(&self) -> u64 {
        self.value.get("TestID").and_then(Value::as_u64).unwrap_or(0)
    }

    /// The results, in lists of lists.
    fn results(&self) -> Vec<&'a Value> {
        let mut results = Vec::new();
        let mut open: Vec<&Value> = self.value.get("Results").into_iter().collect();
        while let Some(value) = open.pop() {
            match value {
                Value::Array(items) => open.extend(items.iter().rev()),
                Value::Object(keys) if keys.contains_key("access") => results.push(value),
                _ => {}
            }
        }
        results
    }

    fn parameter(&self, key: &str) -> Option<u64> {
        self.value.get("Parameters")?.get(key)?.as_u64()
    }

    fn is_set(&self, key: &str) -> bool {
        self.parameter(key).is_some_and(|value| value > 0)
    }

    fn option(&self, key: &str) -> Option<&'a Value> {
        self.value.get("Options")?.get(key)
    }

    fn word(&self, key: &str) -> Option<&'a str> {
        self.option(key)?.as_str()
    }

    /// Bytes of an access that was not ended early, over all tasks.
    fn expected_bytes(&self, tasks: u32) -> Option<u64> {
        let ends_early = self.is_set("deadlineForStonewall") || self.is_set("maxTimeDuration");
        let of_task = self.parameter("blockSize")?.checked_mul(self.parameter("segmentCount")?.max(1))?;
        whole(of_task.checked_mul(u64::from(tasks)).filter(|_| !ends_early)? as f64)
    }

    /// Settings that workloads here cannot express.
    fn special(&self) -> Vec<String> {
        let mut special = Vec::new();
        let api = self.word("api").unwrap_or("POSIX");
        if api != "POSIX" {
            special.push(format!("api {api}"));
        }
        if self.word("type") == Some("collective") {
            special.push("collective".to_string());
        }
        if self.is_set("fsyncperwrite") {
            special.push("fsync after each write".to_string());
        }
        if let Some(nodes) = self.option("nodes").and_then(Value::as_u64).filter(|nodes| *nodes > 1) {
            special.push(format!("{nodes} hosts"));
        }
        special
    }

    fn record(&self, file: &str, result: &Value) -> Result<Record, String> {
        let figure = |key: &str| {
            let number = result.get(key).and_then(Value::as_f64).filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| format!("{key} is no number"))
        };
        let direction = match result.get("access").and_then(Value::as_str) {
            Some("read") => Direction::Read,
            Some("write") => Direction::Write,
            _ => return Err("its access is neither read nor write".to_string()),
        };
        let bs = whole(figure("xferKiB")? * 1024.0).filter(|bs| *bs > 0 && u32::try_from(*bs).is_ok());
        let bs = bs.ok_or("xferKiB is no size of a request")?;
        let tasks = self.option("tasks").and_then(Value::as_u64).unwrap_or(1).max(1);
        let tasks = u32::try_from(tasks).map_err(|_| format!("{tasks} tasks are no load"))?;
        let rate = figure("bwMiB")? * 1_048_576.0;
        if rate <= 0.0 {
            return Err("it moved nothing".to_string());
        }
        // The time has four decimals; bytes that are known tell a short one better.
        let bytes = self.expected_bytes(tasks).or(whole(rate * figure("totalTime")?)).unwrap_or(0);
        let ios = bytes / bs;
        let elapsed_ns = whole(bytes as f64 / rate * 1e9).filter(|ns| *ns > 0 && ios > 0).ok_or("it moved nothing")?;
        let is_random = self.word("ordering in a file") == Some("random") || self.is_set("randomOffset");
        let workload = Workload {
            rw: Rw::of(if is_random { Pattern::Random } else { Pattern::Sequential }, direction),
            bs: Bytes(bs),
            iodepth: 1,
            threads: tasks,
            cache: if self.command.to_lowercase().contains("odirect") { Cache::Device } else { Cache::Both },
            engine: EngineName::Unknown,
            ..Workload::default()
        };
        let mut run = ForeignRun::new(workload, self.origin(file, direction));
        run.elapsed_ns = elapsed_ns;
        run.span_bytes = self.expected_bytes(tasks).unwrap_or(0);
        run.moved(direction, Moved { bytes: ios.saturating_mul(bs), ios, ..Moved::default() });
        Ok(run.into_record())
    }

    fn origin(&self, file: &str, direction: Direction) -> Origin {
        let settings = self.special();
        let tasks = self.option("tasks").and_then(Value::as_u64).and_then(|tasks| u32::try_from(tasks).ok());
        let unknown = [
            (Unknown::Engine, true),
            (Unknown::Settings, !settings.is_empty()),
            (Unknown::Latency, true),
            (Unknown::ChargedTime, true),
            (Unknown::Span, self.expected_bytes(tasks.unwrap_or(1)).is_none()),
            (Unknown::Start, true),
            (Unknown::Runtime, true),
            (Unknown::Errors, true),
        ];
        Origin {
            tool: Tool::Ior,
            file: file.to_string(),
            result: format!("{direction} of test {}", self.id()),
            target: self.word("test filename").map(str::to_string),
            unknown: unknown.into_iter().filter(|(_, is_unknown)| *is_unknown).map(|(what, _)| what).collect(),
            percentiles: None,
            percentiles_of_sides: false,
            settings,
            line: None,
        }
    }
}
