//! Reads fio's JSON (json and json+) as records, also that of a client with its servers.
//!
//! A file may hold text besides the JSON, since fio can print both, and several documents.

mod document;
mod options;
pub(crate) mod terse;

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{Latency, Origin, Record, Tool, Unknown};
use halfpower_spec::{Direction, EngineName, InOrder, Pattern};

use self::document::{Document, Job, Side, Span, documents};
use self::options::{Options, Settings};
use crate::foreign_run::{FileError, ForeignRun, Found, Moved, whole};

/// Reads every job of every document; entries of the same job become one result, as with group_reporting.
pub(crate) fn read(file: &str, text: &str) -> Result<Found, FileError> {
    let mut found = Found { version: None, date: None, host: None, records: Vec::new(), left_out: Vec::new() };
    let mut hosts = BTreeSet::new();
    for mut document in documents(text)? {
        document.without_sum();
        hosts.extend(document.jobs.iter().map(|job| job.hostname.clone()));
        found.version = found.version.or_else(|| Some(document.version.clone()));
        found.date = found.date.or_else(|| document.time.clone());
        take(file, &document, &mut found)?;
    }
    if hosts.len() == 1 {
        found.host = hosts.into_iter().next().flatten();
    }
    Ok(found)
}

fn take(file: &str, document: &Document, found: &mut Found) -> Result<(), FileError> {
    if document.version.starts_with("fio-2.") || document.version.starts_with("fio-1.") {
        let version = &document.version;
        return Err(FileError::of_file(format!("{version} wrote other units than fio does from 3.0 on: run it again")));
    }
    let loads = together(document);
    for load in &loads {
        let beside = loads.iter().filter(|other| other.first().groupid == load.first().groupid).count() - 1;
        match result(file, document, load, beside) {
            Ok(record) => found.records.push(record),
            Err(why) => found.left_out.push(format!("job {}: {why}", load.first().jobname)),
        }
    }
    Ok(())
}

/// The entries of one job: one, or one for each thread, on each server.
struct Load<'a> {
    entries: Vec<&'a Job>,
    options: Options<'a>,
}

impl<'a> Load<'a> {
    fn first(&self) -> &'a Job {
        self.entries[0]
    }

    /// The servers that ran it, each once; empty if fio ran it itself.
    fn servers(&self) -> BTreeSet<(&'a str, Option<i64>)> {
        self.entries.iter().filter_map(|job| Some((job.hostname.as_deref()?, job.port))).collect()
    }

    /// Whether `job` is a further thread of this job, or this job on another server. The servers of a client measure at
    /// the same time.
    fn has(&self, job: &Job, options: &Options<'_>) -> bool {
        let first = self.first();
        let server = |job: &Job| (job.hostname.clone(), job.port);
        let threads = self.entries.iter().filter(|entry| server(entry) == server(job)).count();
        threads < options.threads() as usize
            && (&first.jobname, first.groupid) == (&job.jobname, job.groupid)
            && self.options == *options
    }

    /// The files, with the servers that they are on.
    fn target(&self) -> Option<String> {
        let target = self.options.target()?;
        let hosts: BTreeSet<&str> = self.servers().into_iter().map(|(host, _)| host).collect();
        let on_each: Vec<String> = hosts.iter().map(|host| format!("{host}:{target}")).collect();
        Some(if on_each.is_empty() { target } else { on_each.join(", ") })
    }
}

/// Groups the entries of each job. Those of several servers come in any order.
fn together(document: &Document) -> Vec<Load<'_>> {
    let mut loads: Vec<Load<'_>> = Vec::new();
    for job in &document.jobs {
        let options = Options::of(document.global_options(job), &job.options);
        let nearest = if job.hostname.is_some() { loads.len() } else { 1 };
        match loads.iter_mut().rev().take(nearest).find(|load| load.has(job, &options)) {
            Some(load) => load.entries.push(job),
            None => loads.push(Load { entries: vec![job], options }),
        }
    }
    loads
}

/// Converts one job to a record, or returns why it does not fit one.
fn result(file: &str, document: &Document, load: &Load<'_>, beside: usize) -> Result<Record, String> {
    let Load { entries, options } = load;
    let servers = load.servers();
    let settings = options.settings()?.on_servers(servers.len())?;
    if entries.iter().any(|job| job.mixed.is_some()) {
        return Err("unified_rw_reporting adds reads and writes up; run it without".to_string());
    }
    let [read, write] = [Direction::Read, Direction::Write].map(|direction| side(entries, direction));
    let mut read = read?;
    let mut write = write?;
    // With `verify`, fio reads back what it wrote and lists these reads beside the writes.
    match settings.workload.rw.direction() {
        Some(Direction::Write) => read = SideOfJob::default(),
        Some(Direction::Read) => write = SideOfJob::default(),
        None => {}
    }
    if (read.moved.ios, write.moved.ios) == (0, 0) {
        let error = entries.iter().find_map(|job| job.error.filter(|error| *error != 0));
        return Err(error.map_or("it moved nothing".to_string(), |error| format!("it ended with error {error}")));
    }
    let mut origin = origin(file, load, &settings);
    if servers.len() > 1 {
        origin.settings.push(format!("{} hosts", servers.len()));
    }
    if beside > 0 {
        origin.settings.push(format!("{beside} other jobs at the same time"));
    }
    if !origin.settings.is_empty() {
        origin.unknown.insert(Unknown::Settings);
    }
    let known = Known::of_both(&read.known, &write.known);
    origin.percentiles.clone_from(&known.percentiles);
    origin.percentiles_of_sides = known.percentiles.is_some() && settings.workload.rw.direction().is_none();
    if known.after_submission {
        origin.unknown.insert(Unknown::Submission);
    }
    let mut run = ForeignRun::new(settings.workload, origin);
    run.runtime_ns = settings.runtime_ns.unwrap_or(0);
    run.span_bytes = settings.span_bytes.unwrap_or(0);
    run.elapsed_ns = read.elapsed_ns.max(write.elapsed_ns);
    // With figures of one side only, the record would look as if the other side had none.
    if known.has_latency {
        run.latency.merge(&read.moved.latency);
        run.latency.merge(&write.moved.latency);
    }
    run.short_transfers = read.short.saturating_add(write.short);
    run.errors = errors(entries);
    started(document, load.first(), &mut run);
    charged(entries, &mut run);
    run.moved(Direction::Read, read.moved);
    run.moved(Direction::Write, write.moved);
    Ok(run.into_record())
}

fn origin(file: &str, load: &Load<'_>, settings: &Settings) -> Origin {
    let unknown = [
        (Unknown::Engine, settings.workload.engine == EngineName::Unknown),
        (Unknown::Order, settings.workload.rw.pattern() == Pattern::Unknown),
        (Unknown::Span, settings.span_bytes.is_none()),
        (Unknown::Runtime, settings.runtime_ns.is_none()),
    ];
    Origin {
        tool: Tool::Fio,
        file: file.to_string(),
        result: format!("job {}", load.first().jobname),
        target: load.target(),
        unknown: unknown.into_iter().filter(|(_, is_unknown)| *is_unknown).map(|(what, _)| what).collect(),
        percentiles: None,
        percentiles_of_sides: false,
        settings: settings.special.clone(),
        line: None,
    }
}

/// One direction of a job, over all its threads; by default one in which nothing moved.
struct SideOfJob {
    moved: Moved,
    elapsed_ns: u64,
    short: u64,
    known: Known,
}

impl Default for SideOfJob {
    fn default() -> Self {
        let known = Known { has_latency: true, ..Known::default() };
        Self { moved: Moved::default(), elapsed_ns: 0, short: 0, known }
    }
}

fn side(entries: &[&Job], direction: Direction) -> Result<SideOfJob, String> {
    let mut sum = SideOfJob::default();
    for job in entries {
        let side: &Side = if direction == Direction::Read { &job.read } else { &job.write };
        let figure =
            |value: f64, name: &str| whole(value).ok_or_else(|| format!("{name} is {value}, which is no count"));
        let ios = figure(side.total_ios, "total_ios")?;
        if ios == 0 {
            continue;
        }
        let elapsed_ns = figure(side.runtime * 1e6, "runtime")?;
        if elapsed_ns == 0 {
            return Err("what moved took no time".to_string());
        }
        let (latency, of_side) = known(side, ios);
        sum.known = Known::of_both(&sum.known, &of_side);
        sum.moved.latency.merge(&latency);
        sum.moved.bytes = sum.moved.bytes.saturating_add(figure(side.io_bytes, "io_bytes")?);
        sum.moved.ios = sum.moved.ios.saturating_add(ios);
        sum.short = sum.short.saturating_add(figure(side.short_ios, "short_ios")?);
        sum.elapsed_ns = sum.elapsed_ns.max(elapsed_ns);
    }
    if !sum.known.has_latency {
        sum.moved.latency = halfpower_record::Latency::default();
    }
    Ok(sum)
}

/// Sets the start time: newer releases report it, older ones only the time of printing.
fn started(document: &Document, job: &Job, run: &mut ForeignRun) {
    // From the time of printing, the start is known only for a job after which nothing ran.
    let last = document.jobs.iter().all(|other| other.groupid == job.groupid);
    let printed = document.timestamp_ms.filter(|_| last).map(|ms| ms.saturating_sub(run.elapsed_ns / 1_000_000));
    match job.job_start.or(printed).filter(|ms| *ms > 0) {
        Some(unix_ms) => run.started_unix_ms = unix_ms,
        None => {
            run.origin.unknown.insert(Unknown::Start);
        }
    }
}

/// Sets processor time: fio reports it as a share of the time of all threads.
fn charged(entries: &[&Job], run: &mut ForeignRun) {
    let mut user_ns = 0.0;
    let mut system_ns = 0.0;
    for job in entries {
        let (Some(user), Some(system), Some(runtime_ms)) = (job.usr_cpu, job.sys_cpu, job.job_runtime) else {
            run.origin.unknown.insert(Unknown::ChargedTime);
            return;
        };
        user_ns += user / 100.0 * runtime_ms * 1e6;
        system_ns += system / 100.0 * runtime_ms * 1e6;
    }
    match (whole(user_ns), whole(system_ns)) {
        (Some(user_ns), Some(system_ns)) => (run.user_ns, run.system_ns) = (user_ns, system_ns),
        _ => drop(run.origin.unknown.insert(Unknown::ChargedTime)),
    }
}

/// Failed requests, by the number of the first error.
fn errors(entries: &[&Job]) -> BTreeMap<String, u64> {
    let mut errors = BTreeMap::new();
    for job in entries {
        let number = job.error.filter(|error| *error != 0).or(job.first_error.filter(|error| *error != 0));
        let count = job.total_err.unwrap_or(0).max(u64::from(number.is_some())).min(1 << 52);
        if count > 0 {
            let name = number.map_or("error".to_string(), |number| format!("error {number}"));
            *errors.entry(name).or_insert(0) += count;
        }
    }
    errors
}

/// What is known of the latency of some requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    /// Whether any latency is known.
    pub has_latency: bool,
    /// The known percentiles; `None` if all are known.
    pub percentiles: Option<Vec<f64>>,
    /// Whether it counts from after submission.
    pub after_submission: bool,
}

impl Known {
    /// What is known of both together.
    pub fn of_both(one: &Self, other: &Self) -> Self {
        let percentiles = match (&one.percentiles, &other.percentiles) {
            (Some(one), Some(other)) => Some(one.iter().copied().filter(|percent| other.contains(percent)).collect()),
            (one, other) => one.clone().or(other.clone()),
        };
        Self {
            has_latency: one.has_latency && other.has_latency,
            percentiles,
            after_submission: one.after_submission || other.after_submission,
        }
    }
}

/// The latencies of a side's requests: from before submission if fio lists that, else from after submission.
pub fn known(side: &Side, ios: u64) -> (Latency, Known) {
    let spans = [(side.lat_ns.as_ref(), false), (side.clat_ns.as_ref(), true)];
    let reported =
        || spans.iter().filter_map(|(span, after)| Some((span.filter(|span| span.count != Some(0.0))?, *after)));
    let listed = reported().find(|(span, _)| !span.percentile.is_empty() || !span.bins.is_empty());
    let Some((span, after_submission)) = listed.or_else(|| reported().next()) else {
        return (Latency::default(), Known::default());
    };
    let (latency, percentiles) = latency(span, ios);
    let has_latency = latency.count() > 0;
    (latency, Known { has_latency, percentiles, after_submission })
}

/// The latencies and the percentiles at which they are known; `None` means all.
fn latency(span: &Span, ios: u64) -> (Latency, Option<Vec<f64>>) {
    let (Some(min_ns), Some(max_ns)) = (whole(span.min), whole(span.max)) else {
        return (Latency::default(), None);
    };
    let by_number = |(key, value): (&String, &f64)| Some((key.parse::<f64>().ok()?, whole(*value)?));
    if !span.bins.is_empty() {
        let bins: Vec<(u64, u64)> =
            span.bins.iter().filter_map(by_number).filter_map(|(ns, count)| Some((whole(ns)?, count))).collect();
        let total = bins.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        // With an implausible total, the bins count something other than requests.
        return match whole(total as f64) {
            Some(_) => (Latency::of_bins(&bins, [min_ns, max_ns], span.mean), None),
            None => (Latency::default(), None),
        };
    }
    let mut listed: Vec<(f64, u64)> = span.percentile.iter().filter_map(by_number).collect();
    listed.retain(|(percent, _)| (0.0..=100.0).contains(percent));
    listed.order_by(|one, other| one.0.total_cmp(&other.0));
    let count = span.count.and_then(whole).unwrap_or(ios);
    let latency = Latency::of_percentiles(count, [min_ns, max_ns], span.mean, &listed);
    (latency, Some(listed.into_iter().map(|(percent, _)| percent).collect()))
}
