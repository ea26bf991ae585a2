//! Parses and prints fio's terse lines: one line a job, values between semicolons.
//!
//! The order, names and units of the values are those of fio's documentation ("Terse output"); versions 3, 4 and 5 are
//! read and printed. Latencies are whole microseconds, and so are those of the percentiles.

use std::fmt;

use crate::foreign_run::{FileError, whole};

/// Places for percentiles in a line; those that fio does not fill are `0%=0`.
const PERCENTILES: usize = 20;

/// One line of terse output: one job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TerseLine {
    /// The version of the layout: 3, 4 or 5.
    pub version: u8,
    /// What wrote it, such as `fio-3.33`.
    pub program: String,
    pub jobname: String,
    pub groupid: i64,
    /// The number of the error that ended the job; 0 without one.
    pub error: i64,
    pub read: TerseSide,
    pub write: TerseSide,
    /// Only in versions 4 and 5.
    pub trim: TerseSide,
    /// Share of the time of all threads, in percent.
    pub user_percent: f64,
    pub system_percent: f64,
    pub switches: u64,
    pub major_faults: u64,
    pub minor_faults: u64,
    /// Percent of requests by the number in flight: 1, 2, 4, 8, 16, 32, 64 and more.
    pub depths: [f64; 7],
    /// Percent of requests by microseconds: up to 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000.
    pub by_us: [f64; 10],
    /// Percent of requests by milliseconds: as before, then up to 2000 and above.
    pub by_ms: [f64; 12],
    /// Failed requests and the number of the first error, with continue_on_error.
    pub errors: Option<(u64, i64)>,
}

/// One direction of a line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TerseSide {
    pub kib: u64,
    pub kib_per_s: u64,
    /// Requests a second, without what follows the point.
    pub iops: u64,
    pub runtime_ms: u64,
    pub submission_us: TerseSpan,
    pub completion_us: TerseSpan,
    /// Percent, and whole microseconds.
    pub percentiles: Vec<(f64, u64)>,
    pub total_us: TerseSpan,
    /// Over the samples of the rate.
    pub kib_per_s_min: u64,
    pub kib_per_s_max: u64,
    pub aggregate_percent: f64,
    pub kib_per_s_mean: f64,
    pub kib_per_s_deviation: f64,
    /// This and what follows only in version 5.
    pub rate_samples: u64,
    pub iops_min: u64,
    pub iops_max: u64,
    pub iops_mean: f64,
    pub iops_deviation: f64,
    pub iops_samples: u64,
}

/// Latencies in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TerseSpan {
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    pub deviation: f64,
}

/// Whether the line is one of terse output.
pub fn is_terse(line: &str) -> bool {
    let mut fields = line.splitn(3, ';');
    let version = fields.next().is_some_and(|version| matches!(version, "3" | "4" | "5"));
    version && fields.next().is_some_and(|program| program.starts_with("fio-") || program.starts_with("halfpower-"))
}

/// The values of a line that are still to be read.
struct Fields<'a> {
    line: usize,
    at: usize,
    left: std::str::Split<'a, char>,
}

impl<'a> Fields<'a> {
    fn text(&mut self, name: &str) -> Result<&'a str, FileError> {
        self.at += 1;
        let line = self.line;
        self.left.next().ok_or_else(|| FileError::at(line, format!("{name}: the line ends before this value")))
    }

    /// A number that is not negative; a percent sign at its end is passed over.
    fn number(&mut self, name: &str) -> Result<f64, FileError> {
        let text = self.text(name)?;
        let number = text.trim().trim_end_matches('%').parse::<f64>().ok();
        number.filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(|| self.trouble(name, text))
    }

    fn whole(&mut self, name: &str) -> Result<u64, FileError> {
        let number = self.number(name)?;
        whole(number).ok_or_else(|| self.trouble(name, "so much"))
    }

    fn integer(&mut self, name: &str) -> Result<i64, FileError> {
        let text = self.text(name)?;
        text.trim().parse().map_err(|_| self.trouble(name, text))
    }

    fn trouble(&self, name: &str, text: &str) -> FileError {
        FileError::at(self.line, format!("value {} of fio's terse line, {name}: `{text}` is not a number", self.at))
    }

    fn many<const N: usize>(&mut self, name: &str) -> Result<[f64; N], FileError> {
        let mut all = [0.0; N];
        all.iter_mut().try_for_each(|one| self.number(name).map(|number| *one = number))?;
        Ok(all)
    }

    fn span(&mut self, name: &str) -> Result<TerseSpan, FileError> {
        Ok(TerseSpan {
            min: self.whole(name)?,
            max: self.whole(name)?,
            mean: self.number(name)?,
            deviation: self.number(name)?,
        })
    }

    /// `99.000000%=1234`; `None` for a place that is not filled.
    fn percentile(&mut self) -> Result<Option<(f64, u64)>, FileError> {
        let text = self.text("a percentile")?;
        let read = || {
            let (percent, us) = text.split_once("%=")?;
            let percent = percent.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent))?;
            Some((percent, us.parse::<f64>().ok().and_then(whole)?))
        };
        let found = read().ok_or_else(|| self.trouble("a percentile", text))?;
        Ok((found.0 > 0.0).then_some(found))
    }

    fn side(&mut self, version: u8) -> Result<TerseSide, FileError> {
        let mut side = TerseSide {
            kib: self.whole("total KiB")?,
            kib_per_s: self.whole("KiB/s")?,
            iops: self.whole("IOPS")?,
            runtime_ms: self.whole("runtime")?,
            submission_us: self.span("submission latency")?,
            completion_us: self.span("completion latency")?,
            ..TerseSide::default()
        };
        for _ in 0..PERCENTILES {
            side.percentiles.extend(self.percentile()?);
        }
        side.total_us = self.span("total latency")?;
        side.kib_per_s_min = self.whole("least KiB/s")?;
        side.kib_per_s_max = self.whole("most KiB/s")?;
        side.aggregate_percent = self.number("share of the group")?;
        side.kib_per_s_mean = self.number("mean KiB/s")?;
        side.kib_per_s_deviation = self.number("deviation of KiB/s")?;
        if version == 5 {
            side.rate_samples = self.whole("samples of KiB/s")?;
            side.iops_min = self.whole("least IOPS")?;
            side.iops_max = self.whole("most IOPS")?;
            side.iops_mean = self.number("mean IOPS")?;
            side.iops_deviation = self.number("deviation of IOPS")?;
            side.iops_samples = self.whole("samples of IOPS")?;
        }
        Ok(side)
    }
}

impl TerseLine {
    /// Parses line number `line` of a file.
    ///
    /// # Errors
    /// The value that is no number, or that is missing.
    pub fn parse(text: &str, line: usize) -> Result<Self, FileError> {
        let mut fields = Fields { line, at: 0, left: text.trim_end().split(';') };
        let version = fields.whole("version")? as u8;
        let mut found = Self {
            version,
            program: fields.text("program")?.to_string(),
            jobname: fields.text("job")?.to_string(),
            groupid: fields.integer("group")?,
            error: fields.integer("error")?,
            read: fields.side(version)?,
            write: fields.side(version)?,
            ..Self::default()
        };
        if version > 3 {
            found.trim = fields.side(version)?;
        }
        found.user_percent = fields.number("user time")?;
        found.system_percent = fields.number("system time")?;
        found.switches = fields.whole("context switches")?;
        found.major_faults = fields.whole("major faults")?;
        found.minor_faults = fields.whole("minor faults")?;
        found.depths = fields.many("depths")?;
        found.by_us = fields.many("latencies by microseconds")?;
        found.by_ms = fields.many("latencies by milliseconds")?;
        found.errors = errors(&fields.left.collect::<Vec<&str>>());
        Ok(found)
    }
}

/// The errors behind the disks of a line: a disk has nine values, the last in percent. A description may follow.
fn errors(tail: &[&str]) -> Option<(u64, i64)> {
    const DISK: usize = 9;
    let is_disk = |values: &&[&str]| values.len() == DISK && values[DISK - 1].ends_with('%');
    let disks = tail.chunks(DISK).take_while(is_disk).count();
    match &tail[disks * DISK..] {
        [count, first, ..] => Some((count.parse().ok()?, first.parse().ok()?)),
        _ => None,
    }
}

impl fmt::Display for TerseSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ";{};{};{:.6};{:.6}", self.min, self.max, self.mean, self.deviation)
    }
}

impl TerseSide {
    fn write(&self, version: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kib, kib_per_s, iops, runtime_ms, submission_us, completion_us, .. } = self;
        write!(f, ";{kib};{kib_per_s};{iops};{runtime_ms}{submission_us}{completion_us}")?;
        let listed = self.percentiles.iter().take(PERCENTILES);
        for (percent, us) in listed.clone() {
            write!(f, ";{percent:.6}%={us}")?;
        }
        (listed.count()..PERCENTILES).try_for_each(|_| f.write_str(";0%=0"))?;
        write!(f, "{};{};{}", self.total_us, self.kib_per_s_min, self.kib_per_s_max)?;
        write!(f, ";{:.6}%;{:.6};{:.6}", self.aggregate_percent, self.kib_per_s_mean, self.kib_per_s_deviation)?;
        if version == 5 {
            write!(f, ";{};{};{}", self.rate_samples, self.iops_min, self.iops_max)?;
            write!(f, ";{:.6};{:.6};{}", self.iops_mean, self.iops_deviation, self.iops_samples)?;
        }
        Ok(())
    }
}

impl fmt::Display for TerseLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version;
        write!(f, "{version};{};{};{};{}", self.program, self.jobname.replace(';', ","), self.groupid, self.error)?;
        self.read.write(version, f)?;
        self.write.write(version, f)?;
        if version > 3 {
            self.trim.write(version, f)?;
        }
        write!(f, ";{:.6}%;{:.6}%", self.user_percent, self.system_percent)?;
        write!(f, ";{};{};{}", self.switches, self.major_faults, self.minor_faults)?;
        self.depths.iter().try_for_each(|percent| write!(f, ";{percent:3.1}%"))?;
        self.by_us.iter().chain(&self.by_ms).try_for_each(|percent| write!(f, ";{percent:3.2}%"))?;
        self.errors.map_or(Ok(()), |(count, first)| write!(f, ";{count};{first}"))
    }
}
