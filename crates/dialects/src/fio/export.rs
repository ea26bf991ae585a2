//! Exports records in fio's json+ form, so that programs that read fio's results can read ours.
//!
//! Each cell becomes one job, either in one document with all jobs ([`write_fio`]) or in one document per cell
//! ([`fio_documents`]). fio-plot needs the latter: it takes a file's first job and adds the others to it. The plain
//! runs of a cell make one job: counts are summed, and rates are over the summed time. fio separates submission from
//! completion; our latency is one span, from before submission to reaping, so it is in `lat_ns` and `clat_ns`, and
//! `slat_ns` is 0.

use std::collections::BTreeMap;
use std::io::{self, Write};

use halfpower_record::{DeviceUse, Latency, Record, RecordError, Unknown};
use halfpower_spec::{
    Arrival, DurableBy, EngineName, FlushCall, IoMem, Issuing, OptionRow, RandomDistribution, UtcTime, Workload,
    WorkloadOption, WorkloadOptions,
};
use serde_json::{Map, Value, json};

use super::job_sum::{FioJob, FioSide, cells};

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
    // Jobs of one fio group run at the same time; the runs of a study are sequential.
    let jobs = cells.iter().enumerate().map(|(number, cell)| numbered(job(cell, target), number)).collect();
    serde_json::to_writer_pretty(&mut out, &document(&cells.iter().collect::<Vec<_>>(), jobs))?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// A run with the name that a job file gave it, a group of such runs that is told as one, or a thread of a run.
pub(super) struct NamedRun<'a> {
    /// The job's name, of a group that of the first.
    pub name: &'a str,
    /// The files, as they were named.
    pub target: String,
    /// The sum of its records.
    pub sum: FioJob,
    /// The number of its group.
    pub group: u32,
    /// What is otherwise than in fio, a sentence each.
    pub notes: Vec<&'a str>,
}

/// Writes one document with a job for each run, by its name.
///
/// # Errors
/// The error of `out` if it takes no more.
pub(super) fn write_fio_jobs(runs: &[NamedRun<'_>], mut out: impl Write) -> io::Result<()> {
    let mut jobs = Vec::new();
    for run in runs {
        let mut job = job(&run.sum, &run.target);
        job["groupid"] = json!(run.group);
        if !run.name.is_empty() {
            job["jobname"] = json!(run.name);
            job["job options"]["name"] = json!(run.name);
        }
        if !run.notes.is_empty() {
            job["halfpower_notes"] = json!(run.notes);
        }
        jobs.push(job);
    }
    for (job, share) in jobs.iter_mut().zip(shares_of_groups(runs)) {
        for (side, percent) in ["read", "write", "trim"].into_iter().zip(share) {
            job[side]["bw_agg"] = json!(percent);
        }
    }
    let cells: Vec<&FioJob> = runs.iter().map(|run| &run.sum).collect();
    serde_json::to_writer_pretty(&mut out, &document(&cells, jobs))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The percentage that each run has of what its group reads, writes and trims a second.
pub(super) fn shares_of_groups(runs: &[NamedRun<'_>]) -> Vec<[f64; 3]> {
    let rates = |run: &NamedRun<'_>| {
        let FioJob { read, write, trim, .. } = &run.sum;
        [read, write, trim].map(|side| side.bytes as f64 / run.sum.seconds().max(1e-9))
    };
    let of_group = |group: u32, side: usize| -> f64 {
        runs.iter().filter(|run| run.group == group).map(|run| rates(run)[side]).sum()
    };
    let share = |run: &NamedRun<'_>, side: usize| {
        let own = rates(run)[side];
        if own > 0.0 { 100.0 * own / of_group(run.group, side) } else { 0.0 }
    };
    runs.iter().map(|run| [0, 1, 2].map(|side| share(run, side))).collect()
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
        let json = document(&[cell], vec![numbered(job(cell, target), 0)]);
        documents.push(FioDocument { folder, file, json });
    }
    documents
}

fn numbered(mut job: Value, group: usize) -> Value {
    job["groupid"] = json!(group);
    job
}

fn document(cells: &[&FioJob], jobs: Vec<Value>) -> Value {
    // fio's time is that of printing, when all jobs have ended.
    let ended_unix_ms = cells.iter().map(|cell| cell.ended_unix_ms).max().unwrap_or(0);
    let mut document = json!({
        "fio version": VERSION,
        "timestamp": ended_unix_ms / 1000,
        "timestamp_ms": ended_unix_ms,
        "jobs": jobs,
    });
    if ended_unix_ms > 0 {
        document["time"] = json!(printed_time(ended_unix_ms / 1000));
    }
    let devices = device_uses(cells);
    if !devices.is_empty() {
        document["disk_util"] = devices.values().map(|uses| disk(uses)).collect();
    }
    document
}

/// What each device did, once for cells that were measured at once: each of them counted all of it.
fn device_uses<'a>(cells: &[&'a FioJob]) -> BTreeMap<&'a str, Vec<&'a DeviceUse>> {
    let mut turns: Vec<BTreeMap<&str, &DeviceUse>> = Vec::new();
    for cell in cells {
        if !cell.joins || turns.is_empty() {
            turns.push(BTreeMap::new());
        }
        let Some(turn) = turns.last_mut() else { continue };
        for (name, device) in &cell.devices {
            let known = turn.entry(name.as_str()).or_insert(device);
            if device.span_ns > known.span_ns {
                *known = device;
            }
        }
    }
    let mut devices: BTreeMap<&str, Vec<&DeviceUse>> = BTreeMap::new();
    for (name, device) in turns.into_iter().flatten() {
        devices.entry(name).or_default().push(device);
    }
    devices
}

/// What stands for fio's version.
pub(super) const VERSION: &str = concat!("halfpower-", env!("CARGO_PKG_VERSION"));

/// A time as C's `ctime` prints it, `Thu Nov 26 03:42:33 2026`; in UTC.
fn printed_time(unix_s: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let UtcTime { year, month, day, hour, minute, second } = UtcTime::of_unix_s(unix_s);
    let month = MONTHS[usize::from(month.clamp(1, 12)) - 1];
    // The first day of Unix time was a Thursday.
    let weekday = DAYS[(unix_s / 86_400 % 7) as usize];
    format!("{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year}")
}

/// What a block device did in all jobs.
fn disk(uses: &[&DeviceUse]) -> Value {
    let sum = |of: fn(&DeviceUse) -> u64| uses.iter().map(|device| of(device)).fold(0, u64::saturating_add);
    let busy_ms = sum(|device| device.busy_ms);
    let span_ns = sum(|device| device.span_ns);
    let whole = DeviceUse { busy_ms, span_ns, ..DeviceUse::default() };
    json!({
        "name": uses.first().map_or("", |device| device.name.as_str()),
        "read_ios": sum(|device| device.reads.ios),
        "write_ios": sum(|device| device.writes.ios),
        "read_sectors": sum(|device| device.reads.sectors),
        "write_sectors": sum(|device| device.writes.sectors),
        "read_merges": sum(|device| device.reads.merges),
        "write_merges": sum(|device| device.writes.merges),
        "read_ticks": sum(|device| device.reads.ms),
        "write_ticks": sum(|device| device.writes.ms),
        "in_queue": sum(|device| device.in_queue_ms),
        "util": 100.0 * whole.busy_share(),
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

/// What is known of a thread and of a whole job. What is not known of a thread alone is left out.
fn job(cell: &FioJob, target: &str) -> Value {
    let workload = &cell.workload;
    let name = format!("{}-{}-{}", workload.rw, block_size(workload.bs.0), workload.cache);
    let [user_percent, system_percent] = cell.processor_percent();
    let bins = latency_bins(&cell.latency);
    // fio sums the time of all threads.
    let threads = if cell.is_thread { 1 } else { u64::from(workload.threads.max(1)) };
    // fio has these figures if it looks for no depth.
    let (most_ns, percent, window_us) = match &cell.depth_search {
        Some(search) => (search.most_ns, search.percent, search.window_ns / 1_000),
        None => (0, 100.0, 0),
    };
    let syncs = if cell.syncs.count() > 0 { latency_object(&cell.syncs, &cell.percentiles) } else { no_latency() };
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
        "sync": of_whole(cell, cell.syncs.count()).map(|count| json!({ "total_ios": count, "lat_ns": syncs })),
        "job_runtime": cell.elapsed_ns / 1_000_000 * threads,
        "usr_cpu": user_percent,
        "sys_cpu": system_percent,
        "ctx": cell.switches,
        "majf": cell.major_faults,
        "minf": cell.minor_faults,
        "latency_ns": bins.ns,
        "latency_us": bins.us,
        "latency_ms": bins.ms,
        "latency_depth": workload.iodepth,
        "latency_target": most_ns,
        "latency_target_ns": most_ns,
        "latency_percentile": percent,
        "latency_window": window_us,
        "latency_window_us": window_us,
        "total_err": of_whole(cell, cell.errors),
        "halfpower_runs": cell.runs,
    });
    let object = job.as_object_mut().expect("a job is an object");
    if cell.started_unix_ms > 0 && !cell.unknown.contains(&Unknown::Start) {
        object.insert("job_start".to_string(), json!(cell.started_unix_ms));
    }
    object.extend(known_depths(cell).map(|(key, depths)| (key.to_string(), depths)));
    let left_out: [(Unknown, &[&str]); 3] = [
        (Unknown::ChargedTime, &["usr_cpu", "sys_cpu"]),
        (Unknown::Latency, &["latency_ns", "latency_us", "latency_ms"]),
        (Unknown::Depth, &["latency_depth"]),
    ];
    for (what, keys) in left_out {
        keys.iter().filter(|_| cell.unknown.contains(&what)).for_each(|key| drop(object.remove(*key)));
    }
    object.retain(|_, value| !value.is_null());
    job
}

/// A count of a job; of a thread only if it is 0, since which thread it belongs to is not known.
fn of_whole(cell: &FioJob, count: u64) -> Option<u64> {
    (!cell.is_thread || count == 0).then_some(count)
}

/// Percent of the requests by the number in flight, of the calls by the number that they submitted, and of the reapings by
/// the number that was reaped; null where it is not known. A record has the mean depth and not how often each occurred, so
/// that only what follows from engine, depth and `iodepth_batch` is known.
fn known_depths(cell: &FioJob) -> [(&'static str, Value); 3] {
    let in_flight = ["1", "2", "4", "8", "16", "32", ">=64"];
    // From 1 to 4 are counted as 4.
    let at_once = ["0", "4", "8", "16", "32", "64", ">=64"];
    let all_in = |is_known: bool, names: [&str; 7], filled: &str| -> Value {
        if !is_known {
            return Value::Null;
        }
        let percent = |name: &str| if name == filled { 100.0 } else { 0.0 };
        names.iter().map(|name| ((*name).to_string(), json!(percent(name)))).collect::<Map<_, _>>().into()
    };
    [
        ("iodepth_level", all_in(cell.has_one_at_a_time(), in_flight, "1")),
        ("iodepth_submit", all_in(cell.submits_at_most(4), at_once, "4")),
        ("iodepth_complete", all_in(cell.reaps_at_most(4), at_once, "4")),
    ]
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
        "bs" => !cell.unknown.contains(&Unknown::BlockSize),
        "iodepth" | "numjobs" => !cell.unknown.contains(&Unknown::Depth),
        "direct" => !cell.unknown.contains(&Unknown::Cache),
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
    for (key, value) in asked_of_the_kernel(&workload.options).into_iter().chain(others(workload)) {
        options.insert(key.to_string(), json!(value));
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

/// What single requests and threads ask the kernel for, in fio's words.
fn asked_of_the_kernel(options: &WorkloadOptions) -> Vec<(&'static str, String)> {
    let flags = [("uncached", options.uncached), ("atomic", options.atomic)];
    let mut asked: Vec<_> =
        flags.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| (key, "1".to_string())).collect();
    if let Some(priority) = options.io_priority {
        asked.extend([("prioclass", priority.class().to_string()), ("prio", priority.level().to_string())]);
    }
    asked
}

/// Options that stand there by fio's names, and those with which a result is the same cell all the same.
const TOLD: [WorkloadOption; 13] = [
    WorkloadOption::Fdatasync,
    WorkloadOption::FlushBy,
    WorkloadOption::DurableBy,
    WorkloadOption::Bssplit,
    WorkloadOption::Uncached,
    WorkloadOption::Atomic,
    WorkloadOption::IoPriority,
    WorkloadOption::IoSize,
    WorkloadOption::EndFlush,
    WorkloadOption::RampTime,
    WorkloadOption::Fadvise,
    WorkloadOption::Connections,
    WorkloadOption::Sealing,
];

/// All else that a run was asked for, as flags of `halfpower run`: whoever reads the results must not take it for one
/// that was not asked for that. `None` without any.
fn others(workload: &Workload) -> Option<(&'static str, String)> {
    let is_other = |row: &OptionRow| match row.option {
        // Without norandommap, fio's random requests come in this order.
        WorkloadOption::RandomDistribution => workload.options.random_distribution != RandomDistribution::Shuffled,
        // From the first byte on, it is the size.
        WorkloadOption::Region => workload.options.region.is_some_and(|region| region.from.0 > 0),
        option => !TOLD.contains(&option),
    };
    let given = workload.options.given().filter(|(row, _)| is_other(row));
    let mut flags: Vec<String> =
        given.map(|(row, value)| format!("--{} {value}", row.flag).trim_end().to_string()).collect();
    if let Some(Arrival { iops, arrivals }) = workload.rate {
        flags.push(format!("--rate-iops {iops} --arrivals {}", arrivals.word()));
    }
    (!flags.is_empty()).then(|| ("halfpower_options", flags.join(" ")))
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
    let FioSide { ios, bytes, ref latency, of_thread } = *side;
    let a_second = |amount: f64| if cell.elapsed_ns > 0 { amount / cell.seconds() } else { 0.0 };
    let rate = cell.kib_a_second(side);
    let requests = cell.requests_a_second(side);
    let known = ios > 0 && !cell.unknown.contains(&Unknown::Latency);
    let mut latency = if known { latency_object(latency, &cell.percentiles) } else { no_latency() };
    let object = latency.as_object_mut().expect("latency is an object");
    if cell.only_percentiles || of_thread.is_some() {
        object.remove("bins");
    }
    if known && of_thread.is_some() {
        let [mean, deviation] = side.mean_and_deviation_ns();
        object.insert("mean".to_string(), json!(mean));
        object.insert("stddev".to_string(), json!(deviation));
        object.insert("N".to_string(), json!(ios));
    }
    let whole = |value: f64| value.round() as u64;
    let mut direction = json!({
        "io_bytes": bytes,
        "io_kbytes": bytes / 1024,
        "bw_bytes": whole(a_second(bytes as f64)),
        "bw": whole(a_second(bytes as f64) / 1024.0),
        "iops": a_second(ios as f64),
        "runtime": if ios > 0 { cell.elapsed_ns / 1_000_000 } else { 0 },
        "total_ios": ios,
        "short_ios": if ios > 0 { of_whole(cell, cell.short_transfers) } else { Some(0) },
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
    });
    direction.as_object_mut().expect("a direction is an object").retain(|_, value| !value.is_null());
    direction
}

/// The percentiles that fio lists by default.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Upper ends (exclusive) of fio's coarse bins within a unit.
const EDGES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// fio's three coarse histograms: percent of all requests by nanoseconds, microseconds and milliseconds.
pub(super) struct Coarse {
    pub ns: [f64; 10],
    pub us: [f64; 10],
    /// Then up to two seconds, and above.
    pub ms: [f64; 12],
}

/// The coarse histograms of `latency`.
pub(super) fn coarse(latency: &Latency) -> Coarse {
    let total = latency.count().max(1) as f64;
    let mut coarse = Coarse { ns: [0.0; 10], us: [0.0; 10], ms: [0.0; 12] };
    for (low, high, count) in latency.buckets() {
        let percent = 100.0 * count as f64 / total;
        let middle_ns = low + (high - low) / 2;
        let bin = |value: u64| EDGES.iter().position(|edge| value < *edge);
        match middle_ns {
            ns if ns < 1_000 => coarse.ns[bin(ns).unwrap_or(EDGES.len() - 1)] += percent,
            ns if ns < 1_000_000 => coarse.us[bin(ns / 1_000).unwrap_or(EDGES.len() - 1)] += percent,
            ns if ns < 2_000_000_000 => coarse.ms[bin(ns / 1_000_000).unwrap_or(EDGES.len())] += percent,
            _ => coarse.ms[EDGES.len() + 1] += percent,
        }
    }
    coarse
}

/// The coarse histograms as fio names their bins.
struct Bins {
    ns: Value,
    us: Value,
    ms: Value,
}

fn latency_bins(latency: &Latency) -> Bins {
    let Coarse { ns, us, ms } = coarse(latency);
    let named = |percents: &[f64]| -> Map<String, Value> {
        EDGES.iter().zip(percents).map(|(edge, percent)| (edge.to_string(), json!(percent))).collect()
    };
    let mut of_ms = named(&ms);
    of_ms.insert("2000".to_string(), json!(ms[EDGES.len()]));
    of_ms.insert(">=2000".to_string(), json!(ms[EDGES.len() + 1]));
    Bins { ns: named(&ns).into(), us: named(&us).into(), ms: of_ms.into() }
}

/// The percentiles to list: fio's own list if `percentiles` is empty.
pub(super) fn listed_percentiles(percentiles: &[f64]) -> &[f64] {
    if percentiles.is_empty() { &PERCENTILES } else { percentiles }
}

/// Summary, percentiles (fio's own list if `percentiles` is empty) and bins of `latency`.
///
/// Each value is the middle of its bucket, whose width is at most 1/128 of the value.
pub fn latency_object(latency: &Latency, percentiles: &[f64]) -> Value {
    let middle = |low: u64, high: u64| low + (high - low) / 2;
    let mean = latency.mean_ns();
    let squares: f64 =
        latency.buckets().map(|(low, high, count)| count as f64 * (middle(low, high) as f64 - mean).powi(2)).sum();
    let listed = listed_percentiles(percentiles);
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
