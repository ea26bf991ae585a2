//! Exports records in fio's json+ form, so that programs that read fio's results can read ours.
//!
//! Each cell becomes one job, either in one document with all jobs ([`write_fio`]) or in one document per cell
//! ([`fio_documents`]). fio-plot needs the latter: it takes a file's first job and adds the others to it. The plain
//! runs of a cell make one job: counts are summed, and rates are over the summed time. fio separates submission from
//! completion; our latency is one span, from before submission to reaping, so it is in `lat_ns` and `clat_ns`, and
//! `slat_ns` is 0.

use std::collections::BTreeSet;
use std::io::{self, Write};

use halfpower_record::{Latency, Record, RecordError, Side, Unknown};
use halfpower_spec::{Direction, DurableBy, EngineName, FlushCall, IoMem, Issuing, Pass, Workload};
use serde_json::{Map, Value, json};

use crate::{Layout, Measured};

/// A fio document with one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct FioDocument {
    /// Its folder, such as `device/4k`; cells in one folder differ only in pattern, depth and threads.
    pub folder: String,
    /// Its file name, such as `randread-16-1.json`, in the style of `bench-fio`.
    pub file: String,
    /// The document.
    pub json: Value,
}

/// The sum of all plain runs of one workload with one engine.
struct FioJob {
    workload: Workload,
    engine: EngineName,
    runs: u32,
    span_bytes: u64,
    started_unix_ms: u64,
    elapsed_ns: u64,
    bytes: u64,
    ios: u64,
    short_transfers: u64,
    errors: u64,
    latency: Latency,
    read: FioSide,
    write: FioSide,
    trim: FioSide,
    /// The flushes between requests.
    syncs: Latency,
    cpu_span_ns: u64,
    user_ns: u64,
    system_ns: u64,
    /// Bytes a second in each step of each run.
    samples: Vec<f64>,
    /// Percentiles to list; fio's own list if empty.
    percentiles: Vec<f64>,
    /// Values missing from any of the runs, if another tool measured them.
    unknown: BTreeSet<Unknown>,
    /// Whether latency is known only at those percentiles.
    only_percentiles: bool,
}

/// One direction of a cell.
#[derive(Default)]
struct FioSide {
    ios: u64,
    bytes: u64,
    latency: Latency,
}

impl FioSide {
    /// Adds one direction `side` of a run. Mixed runs of the first releases have one latency for both directions.
    fn add(&mut self, record: &Record, side: Option<Side<'_>>) {
        if let Some(side) = side {
            self.ios += side.ios;
            self.bytes += side.bytes;
            self.latency.merge(side.latency.unwrap_or(&record.latency));
        }
    }
}

impl FioJob {
    fn new(record: &Record) -> Self {
        Self {
            workload: record.run.workload,
            engine: record.engine,
            runs: 0,
            span_bytes: record.span_bytes,
            started_unix_ms: record.started_unix_ms,
            elapsed_ns: 0,
            bytes: 0,
            ios: 0,
            short_transfers: 0,
            errors: 0,
            latency: Latency::default(),
            read: FioSide::default(),
            write: FioSide::default(),
            trim: FioSide::default(),
            syncs: Latency::default(),
            cpu_span_ns: 0,
            user_ns: 0,
            system_ns: 0,
            samples: Vec::new(),
            percentiles: Vec::new(),
            unknown: BTreeSet::new(),
            only_percentiles: false,
        }
    }

    fn add(&mut self, record: &Record) {
        self.runs += 1;
        if let Some(origin) = &record.origin {
            self.unknown.extend(&origin.unknown);
            if let Some(listed) = &origin.percentiles {
                self.only_percentiles = true;
                self.percentiles.clone_from(listed);
            }
        }
        self.elapsed_ns += record.elapsed_ns;
        self.bytes += record.bytes;
        self.ios += record.ios;
        self.read.add(record, record.side(Direction::Read));
        self.write.add(record, record.side(Direction::Write));
        self.trim.add(record, record.trimmed());
        self.syncs.merge(&record.syncs);
        self.short_transfers += record.short_transfers;
        self.errors += record.error_count();
        self.latency.merge(&record.latency);
        self.cpu_span_ns += record.cpu.span_ns;
        self.user_ns += record.cpu.user_ns;
        self.system_ns += record.cpu.system_ns;
        let step_s = record.series.step_ns as f64 / 1e9;
        if step_s > 0.0 {
            self.samples.extend(record.series.bytes.iter().map(|bytes| *bytes as f64 / step_s));
        }
    }

    fn seconds(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }
}

/// The cells of `records`, each from its plain runs, in order of first occurrence.
fn cells<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<FioJob> {
    let mut cells: Vec<FioJob> = Vec::new();
    let mut place = std::collections::HashMap::new();
    for record in records.into_iter().filter(|record| record.run.pass == Pass::Plain) {
        let at = *place.entry((record.run.workload, record.engine)).or_insert(cells.len());
        if at == cells.len() {
            cells.push(FioJob::new(record));
        }
        cells[at].add(record);
    }
    cells
}

/// Writes one document with a job for each cell measured on `target`.
///
/// # Errors
/// [`RecordError::Stream`] if `out` takes no more.
pub fn write_fio<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    target: &str,
    mut out: impl Write,
) -> Result<(), RecordError> {
    let cells = cells(records);
    let jobs = cells.iter().map(|cell| job(cell, target)).collect();
    let began = cells.iter().map(|cell| cell.started_unix_ms).min().unwrap_or(0);
    serde_json::to_writer_pretty(&mut out, &document(began, jobs))?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// A run with the name that a job file gave it.
#[derive(Debug, Clone)]
pub(super) struct NamedRun<'a> {
    /// The job's name.
    pub name: &'a str,
    /// The files, as they were named.
    pub target: String,
    /// The run's record.
    pub record: &'a Record,
    /// Percentiles to list; fio's own list if empty.
    pub percentiles: Vec<f64>,
}

/// Writes one document with a job for each run, by its name.
///
/// # Errors
/// The error of `out` if it takes no more.
pub(super) fn write_fio_jobs<'a>(runs: impl IntoIterator<Item = NamedRun<'a>>, mut out: impl Write) -> io::Result<()> {
    let mut began_unix_ms = u64::MAX;
    let mut jobs = Vec::new();
    for run in runs {
        let mut cell = FioJob::new(run.record);
        cell.add(run.record);
        cell.percentiles = run.percentiles;
        began_unix_ms = began_unix_ms.min(cell.started_unix_ms);
        let mut job = job(&cell, &run.target);
        if !run.name.is_empty() {
            job["jobname"] = json!(run.name);
            job["job options"]["name"] = json!(run.name);
        }
        jobs.push(job);
    }
    let began_unix_ms = if jobs.is_empty() { 0 } else { began_unix_ms };
    serde_json::to_writer_pretty(&mut out, &document(began_unix_ms, jobs))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A document for each cell measured on `target`, each with its place in a tree of folders.
///
/// Two cells that fio-plot cannot distinguish (same settings, different engine) get different file names.
pub fn fio_documents<'a>(records: impl IntoIterator<Item = &'a Record>, target: &str) -> Vec<FioDocument> {
    let cells = cells(records);
    let mut documents: Vec<FioDocument> = Vec::with_capacity(cells.len());
    let mut taken = std::collections::HashSet::new();
    for cell in &cells {
        let workload = &cell.workload;
        let folder = format!("{}/{}", workload.cache, block_size(workload.bs.0));
        let name = format!("{}-{}-{}", workload.rw, workload.iodepth, workload.threads);
        let mut file = format!("{name}.json");
        for number in 2.. {
            if taken.insert((folder.clone(), file.clone())) {
                break;
            }
            file = format!("{name}-{}-{number}.json", cell.engine);
        }
        let json = document(cell.started_unix_ms, vec![job(cell, target)]);
        documents.push(FioDocument { folder, file, json });
    }
    documents
}

fn document(began_unix_ms: u64, mut jobs: Vec<Value>) -> Value {
    // Jobs of one fio group run at the same time; our runs are sequential.
    jobs.iter_mut().enumerate().for_each(|(number, job)| job["groupid"] = json!(number));
    json!({
        "fio version": concat!("halfpower-", env!("CARGO_PKG_VERSION")),
        "timestamp": began_unix_ms / 1000,
        "timestamp_ms": began_unix_ms,
        "jobs": jobs,
    })
}

/// A size as fio writes it: `4k`, `1m`, `512`.
fn block_size(bytes: u64) -> String {
    match bytes {
        whole if whole > 0 && whole.is_multiple_of(1 << 20) => format!("{}m", whole >> 20),
        whole if whole > 0 && whole.is_multiple_of(1 << 10) => format!("{}k", whole >> 10),
        other => other.to_string(),
    }
}

fn job(cell: &FioJob, target: &str) -> Value {
    let workload = &cell.workload;
    let name = format!("{}-{}-{}", workload.rw, block_size(workload.bs.0), workload.cache);
    // fio charges a job's threads against the sum of their times.
    let percent = |spent_ns: u64| {
        let available_ns = cell.cpu_span_ns as f64 * f64::from(workload.threads.max(1));
        if available_ns > 0.0 { 100.0 * spent_ns as f64 / available_ns } else { 0.0 }
    };
    let bins = latency_bins(&cell.latency);
    let mut job = json!({
        "jobname": name,
        "groupid": 0,
        "error": 0,
        "eta": 0,
        "elapsed": cell.seconds().ceil() as u64,
        "job options": options(cell, target, &name),
        "read": direction(cell, &cell.read),
        "write": direction(cell, &cell.write),
        "trim": direction(cell, &cell.trim),
        "sync": {
            "total_ios": cell.syncs.count(),
            "lat_ns": if cell.syncs.count() > 0 { latency_object(&cell.syncs, &cell.percentiles) } else { no_latency() },
        },
        // fio sums the time of all threads.
        "job_runtime": cell.elapsed_ns / 1_000_000 * u64::from(workload.threads.max(1)),
        "usr_cpu": percent(cell.user_ns),
        "sys_cpu": percent(cell.system_ns),
        "latency_ns": bins.ns,
        "latency_us": bins.us,
        "latency_ms": bins.ms,
        "latency_depth": workload.iodepth,
        "total_err": cell.errors,
        "halfpower_runs": cell.runs,
    });
    let object = job.as_object_mut().expect("a job is an object");
    let left_out: [(Unknown, &[&str]); 2] = [
        (Unknown::ChargedTime, &["usr_cpu", "sys_cpu"]),
        (Unknown::Latency, &["latency_ns", "latency_us", "latency_ms"]),
    ];
    for (what, keys) in left_out {
        keys.iter().filter(|_| cell.unknown.contains(&what)).for_each(|key| drop(object.remove(*key)));
    }
    job
}

/// fio's names for the settings; all values are text, as in fio's own output.
fn options(cell: &FioJob, target: &str, name: &str) -> Value {
    let workload = &cell.workload;
    let engine = match cell.engine {
        EngineName::Sync => "psync",
        EngineName::Pool => "posixaio",
        other => other.word(),
    };
    let mut options: Map<String, Value> = [
        ("name", name.to_string()),
        ("filename", target.to_string()),
        ("size", cell.span_bytes.to_string()),
        ("rw", workload.rw.to_string()),
        ("bs", block_size(workload.bs.0)),
        ("iodepth", workload.iodepth.to_string()),
        ("numjobs", workload.threads.to_string()),
        ("direct", u8::from(workload.cache.direct()).to_string()),
        ("ioengine", engine.to_string()),
    ]
    .into_iter()
    .filter(|(key, _)| match *key {
        "size" => !cell.unknown.contains(&Unknown::Span),
        "ioengine" => cell.engine != EngineName::Unknown,
        _ => true,
    })
    .map(|(key, value)| (key.to_string(), Value::String(value)))
    .collect();
    for (key, value) in workload.issuing.iter().flat_map(fio_issuing) {
        options.insert(key.to_string(), Value::String(value));
    }
    if workload.cache.durable() && workload.rw.writes() {
        let word = if workload.options.durable_by == DurableBy::Osync { "sync" } else { "dsync" };
        options.insert("sync".to_string(), json!(word));
    }
    if workload.options.fdatasync > 0 {
        let writes = workload.options.fdatasync;
        let (key, value) = match workload.options.flush_by {
            FlushCall::Fdatasync => ("fdatasync", writes.to_string()),
            FlushCall::Fsync => ("fsync", writes.to_string()),
            FlushCall::SyncFileRange => ("sync_file_range", format!("wait_before,write,wait_after:{writes}")),
        };
        options.insert(key.to_string(), json!(value));
    }
    if workload.rw.direction().is_none() && !cell.unknown.contains(&Unknown::Mix) {
        options.insert("rwmixread".to_string(), json!(workload.rwmixread.to_string()));
    }
    if let Some(sizes) = workload.options.bssplit {
        options.remove("bs");
        options.insert("bssplit".to_string(), json!(sizes.to_string().replace("iB", "")));
    }
    Value::Object(options)
}

/// How requests are handed to the kernel, as fio's options; 0 means the whole depth there too.
pub fn fio_issuing(issuing: &Issuing) -> [(&'static str, String); 2] {
    let memory = match issuing.iomem {
        IoMem::Pages => "mmap",
        // fio takes huge pages from the kernel's pool (vm.nr_hugepages); halfpower uses transparent ones.
        IoMem::Huge => "mmaphuge",
    };
    [("iomem", memory.to_string()), ("iodepth_batch_submit", issuing.iodepth_batch.to_string())]
}

/// One direction of a cell. Its rates over time are its share of the cell's rates.
fn direction(cell: &FioJob, side: &FioSide) -> Value {
    let FioSide { ios, bytes, ref latency } = *side;
    let share = if cell.ios > 0 { ios as f64 / cell.ios as f64 } else { 0.0 };
    let a_second = |amount: f64| if cell.elapsed_ns > 0 { amount / cell.seconds() } else { 0.0 };
    let rate = Spread::of(cell.samples.iter().map(|sample| sample * share / 1024.0));
    let requests = Spread::of(cell.samples.iter().map(|sample| sample * share / cell.workload.bs.0.max(1) as f64));
    let known = ios > 0 && !cell.unknown.contains(&Unknown::Latency);
    let mut latency = if known { latency_object(latency, &cell.percentiles) } else { no_latency() };
    if cell.only_percentiles {
        latency.as_object_mut().expect("latency is an object").remove("bins");
    }
    let whole = |value: f64| value.round() as u64;
    json!({
        "io_bytes": bytes,
        "io_kbytes": bytes / 1024,
        "bw_bytes": whole(a_second(bytes as f64)),
        "bw": whole(a_second(bytes as f64) / 1024.0),
        "iops": a_second(ios as f64),
        "runtime": if ios > 0 { cell.elapsed_ns / 1_000_000 } else { 0 },
        "total_ios": ios,
        "short_ios": if ios > 0 { cell.short_transfers } else { 0 },
        "drop_ios": 0,
        "slat_ns": no_latency(),
        "clat_ns": latency,
        "lat_ns": latency,
        "bw_min": whole(rate.min),
        "bw_max": whole(rate.max),
        "bw_agg": if ios > 0 { 100.0 } else { 0.0 },
        "bw_mean": rate.mean,
        "bw_dev": rate.deviation,
        "bw_samples": rate.count,
        "iops_min": whole(requests.min),
        "iops_max": whole(requests.max),
        "iops_mean": requests.mean,
        "iops_stddev": requests.deviation,
        "iops_samples": requests.count,
    })
}

/// The spread of values: fio's five figures of a rate over time.
#[derive(Default)]
struct Spread {
    min: f64,
    max: f64,
    mean: f64,
    deviation: f64,
    count: usize,
}

impl Spread {
    /// All 0 if there is no value, or nothing moved in this direction.
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count.max(1) as f64;
        if mean <= 0.0 {
            return Self::default();
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(0.0, f64::max);
        Self { min, max, mean, deviation: (squares / count.max(2).saturating_sub(1) as f64).sqrt(), count }
    }
}

/// fio's JSON.
#[derive(Debug)]
pub(super) struct FioJson;

impl Layout for FioJson {
    fn print(&self, measured: &[Measured<'_>], out: &mut dyn Write) -> io::Result<()> {
        let named = measured.iter().map(|run| {
            let target: Vec<String> = run.run.files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
            let listed = run.run.get("--percentiles").unwrap_or_default();
            NamedRun {
                name: &run.run.name,
                target: target.join(":"),
                record: &run.record,
                percentiles: listed.split(',').filter_map(|percent| percent.parse().ok()).collect(),
            }
        });
        write_fio_jobs(named, out)
    }
}

/// The percentiles that fio lists by default.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Upper ends (exclusive) of fio's coarse bins within a unit.
const EDGES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// fio's three coarse histograms: percent of all requests by nanoseconds, microseconds and milliseconds.
pub struct Bins {
    pub ns: Value,
    pub us: Value,
    pub ms: Value,
}

/// The coarse histograms of `latency`.
pub fn latency_bins(latency: &Latency) -> Bins {
    let mut counts = [[0u64; EDGES.len()]; 3];
    let mut to_two_seconds = 0;
    let mut longer = 0;
    for (low, high, count) in latency.buckets() {
        let middle_ns = low + (high - low) / 2;
        let (unit, value) = match middle_ns {
            ns if ns < 1_000 => (0, ns),
            ns if ns < 1_000_000 => (1, ns / 1_000),
            ns => (2, ns / 1_000_000),
        };
        match EDGES.iter().position(|edge| value < *edge) {
            Some(edge) => counts[unit][edge] += count,
            None if value < 2_000 => to_two_seconds += count,
            None => longer += count,
        }
    }
    let percent = |count: u64| json!(100.0 * count as f64 / latency.count().max(1) as f64);
    let coarse = |unit: usize| -> Map<String, Value> {
        EDGES.iter().zip(counts[unit]).map(|(edge, count)| (edge.to_string(), percent(count))).collect()
    };
    let mut ms = coarse(2);
    ms.insert("2000".to_string(), percent(to_two_seconds));
    ms.insert(">=2000".to_string(), percent(longer));
    Bins { ns: coarse(0).into(), us: coarse(1).into(), ms: ms.into() }
}

/// Summary, percentiles (fio's own list if `percentiles` is empty) and bins of `latency`.
///
/// Each value is the middle of its bucket, whose width is at most 1/128 of the value.
pub fn latency_object(latency: &Latency, percentiles: &[f64]) -> Value {
    let middle = |low: u64, high: u64| low + (high - low) / 2;
    let mean = latency.mean_ns();
    let squares: f64 =
        latency.buckets().map(|(low, high, count)| count as f64 * (middle(low, high) as f64 - mean).powi(2)).sum();
    let listed = if percentiles.is_empty() { &PERCENTILES[..] } else { percentiles };
    let percentiles: Map<String, Value> =
        listed.iter().map(|percent| (format!("{percent:.6}"), json!(latency.quantile_ns(percent / 100.0)))).collect();
    let bins: Map<String, Value> =
        latency.buckets().map(|(low, high, count)| (middle(low, high).to_string(), json!(count))).collect();
    json!({
        "min": latency.min_ns(),
        "max": latency.max_ns(),
        "mean": mean,
        "stddev": (squares / latency.count().max(2).saturating_sub(1) as f64).sqrt(),
        "N": latency.count(),
        "percentile": percentiles,
        "bins": bins,
    })
}

/// The object for no requests.
pub fn no_latency() -> Value {
    json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 })
}
