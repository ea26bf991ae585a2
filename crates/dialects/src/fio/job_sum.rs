//! Sums up the runs of a cell as one job of fio.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{DeviceRequests, DeviceUse, Latency, Record, Side, Unknown};
use halfpower_spec::{Direction, EngineName, Pass, Workload};

/// The sum of all plain runs of one workload with one engine.
pub struct FioJob {
    pub workload: Workload,
    pub engine: EngineName,
    pub runs: u32,
    pub span_bytes: u64,
    pub started_unix_ms: u64,
    pub elapsed_ns: u64,
    pub bytes: u64,
    pub ios: u64,
    pub short_transfers: u64,
    pub errors: u64,
    pub latency: Latency,
    pub read: FioSide,
    pub write: FioSide,
    pub trim: FioSide,
    /// The flushes between requests.
    pub syncs: Latency,
    pub cpu_span_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    /// Context switches, major and minor page faults, as far as all runs tell them.
    pub switches: Option<u64>,
    pub major_faults: Option<u64>,
    pub minor_faults: Option<u64>,
    /// What the block devices under the target did, by name.
    pub devices: BTreeMap<String, DeviceUse>,
    /// When the last run ended, in milliseconds of Unix time; 0 in virtual time.
    pub ended_unix_ms: u64,
    /// Bytes a second in each step of each run.
    pub samples: Vec<f64>,
    /// Percentiles to list; fio's own list if empty.
    pub percentiles: Vec<f64>,
    /// Values missing from any of the runs, if another tool measured them.
    pub unknown: BTreeSet<Unknown>,
    /// Whether latency is known only at those percentiles.
    pub only_percentiles: bool,
    /// Whether it was measured at once with the job before it.
    pub joins: bool,
}

/// One direction of a cell.
#[derive(Default)]
pub struct FioSide {
    pub ios: u64,
    pub bytes: u64,
    pub latency: Latency,
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
    pub fn new(record: &Record) -> Self {
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
            switches: Some(0),
            major_faults: Some(0),
            minor_faults: Some(0),
            devices: BTreeMap::new(),
            ended_unix_ms: 0,
            samples: Vec::new(),
            percentiles: Vec::new(),
            unknown: BTreeSet::new(),
            only_percentiles: false,
            joins: false,
        }
    }

    /// The sum of runs that were measured at once, as fio's `group_reporting` has it: what they moved, in the longest of
    /// their times.
    pub fn of_group(records: &[&Record]) -> Option<Self> {
        let (first, others) = records.split_first()?;
        let mut sum = Self::new(first);
        sum.add(first);
        others.iter().for_each(|record| sum.add_beside(record));
        Some(sum)
    }

    /// Adds a run that was measured at once with what is added up so far.
    fn add_beside(&mut self, record: &Record) {
        let mut other = Self::new(record);
        other.add(record);
        // Each account has all that a device did in its time: it is not of one run.
        let devices = std::mem::take(&mut self.devices);
        let samples = side_by_side(std::mem::take(&mut self.samples), &other.samples);
        let elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        let cpu_span_ns = self.cpu_span_ns.max(other.cpu_span_ns);
        self.add(record);
        self.runs -= 1;
        self.elapsed_ns = elapsed_ns;
        self.cpu_span_ns = cpu_span_ns;
        self.samples = samples;
        self.devices = longest(devices, other.devices);
        self.span_bytes = self.span_bytes.saturating_add(other.span_bytes);
        self.started_unix_ms = self.started_unix_ms.min(other.started_unix_ms);
        self.workload.threads = self.workload.threads.saturating_add(other.workload.threads);
        self.workload.iodepth = self.workload.iodepth.max(other.workload.iodepth);
    }

    pub fn add(&mut self, record: &Record) {
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
        let sum = |own: Option<u64>, more: Option<u64>| Some(own?.saturating_add(more?));
        self.switches = sum(self.switches, record.cpu.switches);
        self.major_faults = sum(self.major_faults, record.cpu.major_faults);
        self.minor_faults = sum(self.minor_faults, record.cpu.minor_faults);
        record.devices.iter().for_each(|device| self.add_device(device));
        if record.started_unix_ms > 0 {
            self.ended_unix_ms = self.ended_unix_ms.max(record.started_unix_ms + record.elapsed_ns / 1_000_000);
        }
        let step_s = record.series.step_ns as f64 / 1e9;
        if step_s > 0.0 {
            self.samples.extend(record.series.bytes.iter().map(|bytes| *bytes as f64 / step_s));
        }
    }

    fn add_device(&mut self, device: &DeviceUse) {
        let add = |own: &mut DeviceRequests, more: DeviceRequests| {
            own.ios += more.ios;
            own.merges += more.merges;
            own.sectors += more.sectors;
            own.ms += more.ms;
        };
        let sum = self.devices.entry(device.name.clone()).or_default();
        sum.name.clone_from(&device.name);
        add(&mut sum.reads, device.reads);
        add(&mut sum.writes, device.writes);
        sum.busy_ms += device.busy_ms;
        sum.in_queue_ms += device.in_queue_ms;
        sum.span_ns += device.span_ns;
    }

    /// Whether each thread had one request in flight at a time, so that the depth of each is known.
    pub fn has_one_at_a_time(&self) -> bool {
        self.workload.iodepth == 1 && self.workload.rate.is_none() && !self.unknown.contains(&Unknown::Depth)
    }

    /// A direction's part of all requests, from 0 to 1.
    pub fn share(&self, side: &FioSide) -> f64 {
        if self.ios > 0 { side.ios as f64 / self.ios as f64 } else { 0.0 }
    }

    /// Shares of processor time, user and system, in percent; fio charges a job's threads against the sum of their times.
    pub fn processor_percent(&self) -> [f64; 2] {
        let available_ns = self.cpu_span_ns as f64 * f64::from(self.workload.threads.max(1));
        let percent = |spent_ns: u64| if available_ns > 0.0 { 100.0 * spent_ns as f64 / available_ns } else { 0.0 };
        [percent(self.user_ns), percent(self.system_ns)]
    }

    /// The spread of the rate of one direction over time, in KiB a second: its share of the job's.
    pub fn kib_a_second(&self, side: &FioSide) -> Spread {
        let share = self.share(side);
        Spread::of(self.samples.iter().map(|sample| sample * share / 1024.0))
    }

    /// The same in requests a second.
    pub fn requests_a_second(&self, side: &FioSide) -> Spread {
        let share = self.share(side);
        Spread::of(self.samples.iter().map(|sample| sample * share / self.workload.bs.0.max(1) as f64))
    }

    pub fn seconds(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }
}

/// The rates over time of two runs at once, added. If one has more values, those that it has for one value of the other
/// are averaged.
fn side_by_side(own: Vec<f64>, other: &[f64]) -> Vec<f64> {
    if own.is_empty() || other.is_empty() {
        return if own.is_empty() { other.to_vec() } else { own };
    }
    let count = own.len().min(other.len());
    let mean = |values: &[f64], nth: usize| {
        let from = nth * values.len() / count;
        let part = &values[from..(nth + 1) * values.len() / count];
        part.iter().sum::<f64>() / part.len().max(1) as f64
    };
    (0..count).map(|nth| mean(&own, nth) + mean(other, nth)).collect()
}

/// What each device did in the longest of the times in which runs at once counted it.
fn longest(own: BTreeMap<String, DeviceUse>, others: BTreeMap<String, DeviceUse>) -> BTreeMap<String, DeviceUse> {
    let mut longest = own;
    for (name, other) in others {
        if longest.get(&name).is_none_or(|known| known.span_ns < other.span_ns) {
            longest.insert(name, other);
        }
    }
    longest
}

/// The cells of `records`, each from its plain runs, in order of first occurrence.
pub fn cells<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<FioJob> {
    let mut cells: Vec<FioJob> = Vec::new();
    let mut place = std::collections::HashMap::new();
    for (number, record) in records.into_iter().filter(|record| record.run.pass == Pass::Plain).enumerate() {
        let alone = (!record.may_repeat()).then_some(number);
        let at = *place.entry((record.run.workload, record.engine, alone)).or_insert(cells.len());
        if at == cells.len() {
            cells.push(FioJob::new(record));
        }
        cells[at].add(record);
    }
    cells
}

/// The spread of values: fio's five figures of a rate over time.
#[derive(Default)]
pub struct Spread {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub deviation: f64,
    pub count: usize,
}

impl Spread {
    /// All 0 if there is no value, or nothing moved in this direction.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
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

#[cfg(test)]
mod tests {
    use halfpower_spec::{Nanos, Run};

    use super::*;

    fn record(ios: u64, elapsed_ns: u64, threads: u32) -> Record {
        let workload = Workload { threads, ..Workload::default() };
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(elapsed_ns), seed: 1 };
        let mut record = Record::empty(run, EngineName::Sync);
        record.ios = ios;
        record.bytes = ios * 4096;
        record.read_ios = ios;
        record.elapsed_ns = elapsed_ns;
        record.cpu.span_ns = elapsed_ns;
        record.cpu.user_ns = elapsed_ns / 4;
        record.devices =
            vec![DeviceUse { name: "sda".to_string(), span_ns: elapsed_ns, busy_ms: ios, ..DeviceUse::default() }];
        record
    }

    #[test]
    fn a_group_moves_what_all_move_in_the_longest_of_their_times() {
        let long = record(100, 2_000_000_000, 1);
        let short = record(40, 1_000_000_000, 3);
        let sum = FioJob::of_group(&[&short, &long]).unwrap();
        assert_eq!((sum.ios, sum.read.ios, sum.elapsed_ns, sum.runs), (140, 140, 2_000_000_000, 1));
        assert_eq!((sum.workload.threads, sum.user_ns), (4, 750_000_000));
        assert_eq!(sum.devices["sda"].busy_ms, 100, "each run counted all that the device did");
        assert!(FioJob::of_group(&[]).is_none());
    }

    #[test]
    fn rates_at_once_are_added_step_by_step() {
        assert_eq!(side_by_side(vec![1.0, 2.0], &[10.0, 20.0]), [11.0, 22.0]);
        assert_eq!(side_by_side(vec![1.0, 2.0], &[10.0, 20.0, 30.0, 50.0]), [16.0, 42.0]);
        assert_eq!((side_by_side(vec![], &[3.0]), side_by_side(vec![3.0], &[])), (vec![3.0], vec![3.0]));
    }
}
