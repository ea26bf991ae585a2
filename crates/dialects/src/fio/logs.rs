//! Writes fio's logs of rate and latency over time from a record's samples.
//!
//! A line is fio's: time in milliseconds, value, direction (0 reads, 1 writes, 2 trims), block size and priority; the last
//! two are 0 where values are averages. Values are KiB a second, requests a second, or nanoseconds.

use std::ffi::OsString;
use std::io::{self, Write};

use halfpower_record::{Record, Sample};
use halfpower_spec::{Direction, Rw};

/// The logs that a job asks for.
#[derive(Debug, Clone, Default)]
pub struct LogOptions {
    /// For each kind that is asked for, the beginning of its file's name; empty is the job's name.
    asked: Vec<(LogKind, OsString)>,
    every_ms: Option<u64>,
    /// Whether the name of a file has no number of the job.
    is_unnumbered: bool,
}

/// What a log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// KiB a second.
    Bandwidth,
    /// Requests a second.
    Requests,
    /// Mean latency in nanoseconds.
    Latency,
}

/// A log file of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioLog {
    /// Its path.
    pub path: OsString,
    /// What it has.
    pub kind: LogKind,
    /// Least time between two values.
    pub every_ms: u64,
}

impl LogKind {
    /// The parts of file names. Latency is one span, from before submission to reaping, so that the log of completion
    /// latency is the same and there is none of submission.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Bandwidth => &["bw"],
            Self::Requests => &["iops"],
            Self::Latency => &["lat", "clat"],
        }
    }
}

/// The time between two values where the line names none: that of fio's own samples of rates.
const USUAL_MS: u64 = 500;

impl LogOptions {
    /// Asks for a log of this kind.
    pub fn ask(&mut self, kind: LogKind, name: OsString) {
        self.asked.retain(|(known, _)| *known != kind);
        self.asked.push((kind, name));
    }

    /// Whether a log is asked for without a time between its values: fio would log each request.
    pub fn wants_each_request(&self) -> bool {
        !self.asked.is_empty() && self.every_ms.is_none()
    }

    /// Sets the time between two values; 0 is each request.
    pub fn set_every_ms(&mut self, every_ms: u64) {
        self.every_ms = Some(every_ms).filter(|ms| *ms > 0);
    }

    /// Sets whether files have the job's number in their name.
    pub fn set_numbered(&mut self, is_numbered: bool) {
        self.is_unnumbered = !is_numbered;
    }

    /// The files of the job `job` whose first thread has this number, from 1.
    pub fn files(&self, job: &str, number: u32) -> Vec<FioLog> {
        let every_ms = self.every_ms.unwrap_or(USUAL_MS);
        let job = if job.is_empty() { "fio" } else { job };
        let path = |name: &OsString, part: &str| {
            let mut path = if name.is_empty() { OsString::from(job) } else { name.clone() };
            path.push(if self.is_unnumbered { format!("_{part}.log") } else { format!("_{part}.{number}.log") });
            path
        };
        let of_kind = |(kind, name): &(LogKind, OsString)| {
            kind.names().iter().map(|part| FioLog { path: path(name, part), kind: *kind, every_ms }).collect::<Vec<_>>()
        };
        self.asked.iter().flat_map(of_kind).collect()
    }
}

impl FioLog {
    /// Writes the log of a record.
    ///
    /// # Errors
    /// The error of `out` if it takes no more.
    pub fn write(&self, record: &Record, out: &mut dyn Write) -> io::Result<()> {
        let step_ns = record.samples.step_ns.max(1);
        let steps = (self.every_ms.saturating_mul(1_000_000)).div_ceil(step_ns).max(1);
        let steps = usize::try_from(steps).unwrap_or(usize::MAX);
        let sides = sides(record);
        for (nth, from) in (0..record.samples.reads.len()).step_by(steps).enumerate() {
            for (direction, samples) in &sides {
                let part = &samples[from..samples.len().min(from.saturating_add(steps))];
                let sum = part.iter().fold(Sample::default(), |sum, sample| sum.with(*sample));
                let end_ms = (nth * steps + part.len()) as f64 * step_ns as f64 / 1e6;
                let seconds = part.len() as f64 * step_ns as f64 / 1e9;
                if let Some(value) = self.value(sum, seconds) {
                    writeln!(out, "{end_ms:.0}, {value:.0}, {direction}, 0, 0")?;
                }
            }
        }
        Ok(())
    }

    /// The value of a stretch; `None` for the latency of no request.
    fn value(&self, sum: Sample, seconds: f64) -> Option<f64> {
        match self.kind {
            LogKind::Bandwidth => Some(sum.bytes as f64 / 1024.0 / seconds),
            LogKind::Requests => Some(sum.ios as f64 / seconds),
            LogKind::Latency => (sum.ios > 0).then(|| sum.latency_ns as f64 / sum.ios as f64),
        }
    }
}

/// The directions of a run by fio's number, each with its samples.
fn sides(record: &Record) -> Vec<(u8, Vec<Sample>)> {
    let rw = record.run.workload.rw;
    let samples = &record.samples;
    let both = || samples.reads.iter().zip(&samples.writes).map(|(read, write)| read.with(*write)).collect();
    match (rw.trims(), rw.direction()) {
        (true, _) if rw == Rw::Trimwrite => vec![(1, samples.writes.clone()), (2, samples.reads.clone())],
        (true, _) => vec![(2, both())],
        (false, Some(Direction::Read)) => vec![(0, both())],
        (false, Some(Direction::Write)) => vec![(1, both())],
        (false, None) => vec![(0, samples.reads.clone()), (1, samples.writes.clone())],
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::Samples;
    use halfpower_spec::{EngineName, Nanos, Pass, Run, Workload};

    use super::*;

    fn record(rw: Rw) -> Record {
        let workload = Workload { rw, ..Workload::default() };
        let run =
            Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(500_000_000), seed: 1 };
        let sample = |ios| Sample { ios, bytes: 65_536 * ios, latency_ns: 2_000 * ios };
        let reads = [10, 20, 30, 0, 5].map(sample).to_vec();
        let writes = vec![Sample::default(); 5];
        let samples = Samples { step_ns: 100_000_000, reads, writes };
        Record { samples, ..Record::empty(run, EngineName::Sync) }
    }

    fn written(kind: LogKind, every_ms: u64, rw: Rw) -> String {
        let mut out = Vec::new();
        FioLog { path: OsString::new(), kind, every_ms }.write(&record(rw), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_value_is_the_mean_of_its_stretch() {
        assert_eq!(
            written(LogKind::Requests, 200, Rw::Read),
            "200, 150, 0, 0, 0\n400, 150, 0, 0, 0\n500, 50, 0, 0, 0\n"
        );
        assert_eq!(written(LogKind::Bandwidth, 500, Rw::Read), "500, 8320, 0, 0, 0\n");
        // A stretch without requests has no latency, and a direction without any no line.
        assert_eq!(written(LogKind::Latency, 100, Rw::Mixed).lines().count(), 4);
        assert!(written(LogKind::Latency, 100, Rw::Mixed).starts_with("100, 2000, 0, 0, 0\n"));
    }

    #[test]
    fn files_have_the_names_that_fio_gives_them() {
        let mut options = LogOptions::default();
        options.ask(LogKind::Bandwidth, "out/x".into());
        options.ask(LogKind::Latency, OsString::new());
        assert!(options.wants_each_request());
        options.set_every_ms(1000);
        let names = |options: &LogOptions| options.files("job", 3).into_iter().map(|log| log.path).collect::<Vec<_>>();
        assert_eq!(names(&options), ["out/x_bw.3.log", "job_lat.3.log", "job_clat.3.log"]);
        options.set_numbered(false);
        assert_eq!(names(&options)[0], "out/x_bw.log");
    }
}
