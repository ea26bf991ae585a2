//! Prints the runs of a line in fio's formats: JSON and terse lines.

use std::io::{self, Write};

use halfpower_record::{Latency, Record};

use super::export::{NamedRun, VERSION, coarse, listed_percentiles, shares_of_groups, write_fio_jobs};
use super::job_sum::{FioJob, FioSide};
use super::terse::{TerseLine, TerseSide, TerseSpan};
use crate::{Layout, Measured};

/// The formats that a line asks for; none is the normal one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Formats {
    pub normal: bool,
    pub json: bool,
    pub terse: bool,
    /// The version of terse lines; `None` is fio's usual one.
    pub terse_version: Option<u8>,
}

/// The version of terse lines where none is named.
const USUAL_TERSE: u8 = 3;

impl Formats {
    /// Parses a list such as `normal,json`.
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut formats = Self::default();
        for format in list.split(',') {
            match format.trim() {
                "normal" => formats.normal = true,
                "json" | "json+" => formats.json = true,
                "terse" => formats.terse = true,
                other => return Err(format!("`{other}`: use normal, json, json+ or terse")),
            }
        }
        Ok(formats)
    }

    /// What either asks for.
    pub fn with(self, other: Self) -> Self {
        Self {
            normal: self.normal || other.normal,
            json: self.json || other.json,
            terse: self.terse || other.terse,
            terse_version: self.terse_version.or(other.terse_version),
        }
    }

    /// Whether anything is printed as fio prints it for programs.
    pub fn for_programs(self) -> bool {
        self.json || self.terse
    }

    /// The layout; `None` if halfpower prints in its own.
    pub fn layout(self) -> Option<Box<dyn Layout>> {
        self.for_programs().then(|| Box::new(self) as Box<dyn Layout>)
    }
}

impl Layout for Formats {
    fn goes_with_ours(&self) -> bool {
        self.normal
    }

    fn holds_notes(&self) -> bool {
        self.json
    }

    fn print(&self, measured: &[Measured<'_>], out: &mut dyn Write) -> io::Result<()> {
        let named: Vec<NamedRun<'_>> = entries(measured).into_iter().flat_map(named).collect();
        if self.terse {
            let version = self.terse_version.unwrap_or(USUAL_TERSE);
            for (run, shares) in named.iter().zip(shares_of_groups(&named)) {
                writeln!(out, "{}", line(run, shares, version))?;
            }
        }
        if self.json { write_fio_jobs(&named, out) } else { out.flush() }
    }
}

/// The runs of each entry of the results: a group that is told as one, or a single run.
fn entries<'a, 'r>(measured: &'a [Measured<'r>]) -> Vec<&'a [Measured<'r>]> {
    let is_one = |one: &Measured<'_>, next: &Measured<'_>| {
        one.run.is_grouped && next.run.is_grouped && next.run.joins && one.run.group == next.run.group
    };
    measured.chunk_by(is_one).collect()
}

/// What is otherwise than in fio where each thread of a job has an entry.
pub(super) const APART: &str =
    "numjobs: the processor time in the entry of a thread is that of all threads of its job together";
/// The same where a record does not keep the latencies of each thread.
const APART_IN_PART: &str = "numjobs: of a thread's latencies its entry has the mean and the deviation; their smallest, \
                                largest, percentiles and ranges, and processor time, are those of all threads together";
/// What is otherwise where the threads of a job have one entry.
pub(super) const TOGETHER: &str = "numjobs: the threads of a job are one entry of the results, as with group_reporting, \
                                   since its record does not tell them apart";

/// The entries of the results that runs told as one, or a single run, become: that of each thread without
/// `group_reporting`.
fn named<'a>(runs: &'a [Measured<'_>]) -> Vec<NamedRun<'a>> {
    let Some(first) = runs.first() else { return Vec::new() };
    let mut notes: Vec<&str> = Vec::new();
    for note in runs.iter().flat_map(|run| &run.run.notes) {
        if !notes.contains(&note.as_str()) {
            notes.push(note);
        }
    }
    // What was said before the run is not certain.
    notes.retain(|note| ![APART, TOGETHER].contains(note));
    let has_threads = first.run.jobs > 1 && !first.run.is_grouped;
    let threads = if has_threads { FioJob::of_threads(&first.record, first.run.jobs) } else { None };
    if has_threads {
        notes.push(match &threads {
            Some(threads) if threads.iter().all(FioJob::has_own_latencies) => APART,
            Some(_) => APART_IN_PART,
            None => TOGETHER,
        });
    }
    let sums = threads.unwrap_or_else(|| {
        let records: Vec<&Record> = runs.iter().map(|run| &run.record).collect();
        FioJob::of_group(&records).into_iter().collect()
    });
    let listed = first.run.get("--percentiles").unwrap_or_default();
    let percentiles: Vec<f64> = listed.split(',').filter_map(|percent| percent.parse().ok()).collect();
    let threads: u32 = runs.iter().map(|run| run.run.jobs.max(run.record.run.workload.threads)).sum();
    let entry = |(nth, mut sum): (usize, FioJob)| {
        sum.percentiles.clone_from(&percentiles);
        sum.workload.threads = threads;
        sum.joins = first.run.joins || nth > 0;
        NamedRun { name: &first.run.name, target: targets(runs), sum, group: first.run.group, notes: notes.clone() }
    };
    sums.into_iter().enumerate().map(entry).collect()
}

/// The files as they were named, those of several runs once.
fn targets(runs: &[Measured<'_>]) -> String {
    let mut target: Vec<String> = Vec::new();
    for file in runs.iter().flat_map(|run| &run.run.files).map(|file| file.to_string_lossy().into_owned()) {
        if runs.len() == 1 || !target.contains(&file) {
            target.push(file);
        }
    }
    target.join(":")
}

/// The terse line of a run with these shares of what its group reads, writes and trims a second, in percent. What no record
/// has is 0 there, as of all that fio did not measure.
fn line(run: &NamedRun<'_>, [of_reads, of_writes, of_trims]: [f64; 3], version: u8) -> TerseLine {
    let job = &run.sum;
    let [user_percent, system_percent] = job.processor_percent();
    let by_time = coarse(&job.latency);
    let mut by_us = by_time.us;
    by_us[0] += by_time.ns.iter().sum::<f64>();
    let mut depths = [0.0; 7];
    depths[0] = if job.has_one_at_a_time() { 100.0 } else { 0.0 };
    TerseLine {
        version,
        program: VERSION.to_string(),
        jobname: if run.name.is_empty() { "fio".to_string() } else { run.name.to_string() },
        groupid: run.group.into(),
        error: 0,
        read: side(job, &job.read, of_reads),
        write: side(job, &job.write, of_writes),
        trim: side(job, &job.trim, of_trims),
        user_percent,
        system_percent,
        switches: job.switches.unwrap_or(0),
        major_faults: job.major_faults.unwrap_or(0),
        minor_faults: job.minor_faults.unwrap_or(0),
        depths,
        by_us,
        by_ms: by_time.ms,
        errors: None,
    }
}

/// One direction of a job that has this share of what its group moves that way.
fn side(job: &FioJob, side: &FioSide, aggregate_percent: f64) -> TerseSide {
    if side.ios == 0 {
        return TerseSide::default();
    }
    let seconds = job.seconds().max(1e-9);
    let rate = job.kib_a_second(side);
    let requests = job.requests_a_second(side);
    let us = |ns: u64| ns / 1000;
    let [mean_ns, deviation_ns] = side.mean_and_deviation_ns();
    let span = |latency: &Latency| TerseSpan {
        min: us(latency.min_ns()),
        max: us(latency.max_ns()),
        mean: mean_ns / 1e3,
        deviation: deviation_ns / 1e3,
    };
    let listed = listed_percentiles(&job.percentiles).iter();
    TerseSide {
        kib: side.bytes / 1024,
        kib_per_s: (side.bytes as f64 / 1024.0 / seconds) as u64,
        iops: (side.ios as f64 / seconds) as u64,
        runtime_ms: job.elapsed_ns / 1_000_000,
        submission_us: TerseSpan::default(),
        completion_us: span(&side.latency),
        percentiles: listed.map(|percent| (*percent, us(side.latency.quantile_ns(percent / 100.0)))).collect(),
        total_us: span(&side.latency),
        kib_per_s_min: rate.min as u64,
        kib_per_s_max: rate.max as u64,
        aggregate_percent,
        kib_per_s_mean: rate.mean,
        kib_per_s_deviation: rate.deviation,
        rate_samples: rate.count as u64,
        iops_min: requests.min as u64,
        iops_max: requests.max as u64,
        iops_mean: requests.mean,
        iops_deviation: requests.deviation,
        iops_samples: requests.count as u64,
    }
}
