//! Sums up the runs of a cell as one job of fio.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::{
    DepthSearch, DeviceRequests, DeviceUse, LaneLatencies, LaneRecord, LaneRole, LaneSide, Latency, Record, Side,
    Unknown,
};
use halfpower_spec::{Direction, EngineName, Pass, Workload};

/// The sum of all plain runs of one workload with one engine, or one thread of a run.
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
    /// How its depth was found, if it was looked for.
    pub depth_search: Option<DepthSearch>,
    /// Whether it was measured at once with the job before it.
    pub joins: bool,
    /// Whether runs at once hand their requests to the kernel in different ways.
    pub is_handed_differently: bool,
    /// Whether it is one thread of a run; processor time and counts of faults are then those of all threads.
    pub is_thread: bool,
}

/// One direction of a cell.
#[derive(Default)]
pub struct FioSide {
    pub ios: u64,
    pub bytes: u64,
    /// The latencies; of a thread whose record does not keep them, those of all threads together.
    pub latency: Latency,
    /// What is known of the latencies of such a thread alone.
    pub of_thread: Option<LaneSide>,
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

    /// Leaves what one thread moved, and its latencies if they are known.
    fn keep(&mut self, thread: LaneSide, own: Option<&Latency>) {
        self.ios = thread.ios;
        self.bytes = thread.bytes;
        match own {
            Some(own) => self.latency.clone_from(own),
            None => self.of_thread = Some(thread),
        }
    }

    /// Mean and standard deviation of the latencies, in nanoseconds.
    pub fn mean_and_deviation_ns(&self) -> [f64; 2] {
        match self.of_thread {
            Some(LaneSide { latency_ns_mean, latency_ns_deviation, .. }) => [latency_ns_mean, latency_ns_deviation],
            None => [self.latency.mean_ns(), self.latency.deviation_ns()],
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
            depth_search: record.depth_search.as_deref().cloned(),
            joins: false,
            is_handed_differently: false,
            is_thread: false,
        }
    }

    /// Each thread of a run as a job of its own, as fio has it without `group_reporting`; `None` if the record does not tell
    /// what each of `jobs` threads did.
    pub fn of_threads(record: &Record, jobs: u32) -> Option<Vec<Self>> {
        let lanes: Vec<&LaneRecord> = record.lanes.iter().filter(|lane| lane.role == LaneRole::Own).collect();
        // A lane of several hosts is a thread of each.
        if lanes.len() != jobs as usize || !record.hosts.is_empty() {
            return None;
        }
        let own = Some(&record.lane_latencies).filter(|own| own.len() == lanes.len());
        let thread = |(nth, lane): (usize, &LaneRecord)| Self::of_thread(record, lane, own.map(|own| &own[nth]));
        lanes.into_iter().enumerate().map(thread).collect()
    }

    fn of_thread(record: &Record, lane: &LaneRecord, own: Option<&LaneLatencies>) -> Option<Self> {
        // A lane that trims tells neither.
        let reads = lane.reads?;
        let writes = lane.writes?;
        let mut thread = Self::new(record);
        thread.add(record);
        thread.is_thread = true;
        thread.read.keep(reads, own.map(|own| &own.reads));
        thread.write.keep(writes, own.map(|own| &own.writes));
        if let Some(LaneLatencies { reads, writes }) = own {
            thread.latency.clone_from(reads);
            thread.latency.merge(writes);
        }
        let part = lane.bytes as f64 / record.bytes.max(1) as f64;
        thread.samples.iter_mut().for_each(|rate| *rate *= part);
        thread.elapsed_ns = lane.elapsed_ns;
        thread.bytes = lane.bytes;
        thread.ios = lane.ios;
        thread.switches = None;
        thread.major_faults = None;
        thread.minor_faults = None;
        Some(thread)
    }

    /// Whether its latencies are its own, and not those of all threads of its run.
    pub fn has_own_latencies(&self) -> bool {
        [&self.read, &self.write].into_iter().all(|side| side.of_thread.is_none())
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
        let is_handed_alike = self.engine == other.engine && self.workload.issuing == other.workload.issuing;
        self.is_handed_differently |= !is_handed_alike;
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
        self.cpu_span_ns += record.charged_span_ns();
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

    /// Whether each request is done before the next begins, whatever the depth.
    fn is_in_turn(&self) -> bool {
        self.engine.is_in_turn() && !self.is_handed_differently
    }

    /// Whether each thread had one request in flight at a time, so that the depth of each is known.
    pub fn has_one_at_a_time(&self) -> bool {
        let has_depth_1 = self.workload.iodepth == 1 && !self.unknown.contains(&Unknown::Depth);
        self.is_in_turn() || has_depth_1 && self.workload.rate.is_none()
    }

    /// Whether a thread never has more than `count` requests in flight, and so takes no more from the kernel at once.
    pub fn reaps_at_most(&self, count: u32) -> bool {
        self.is_in_turn() || self.workload.iodepth <= count && !self.unknown.contains(&Unknown::Depth)
    }

    /// Whether no call submits more than `count` requests.
    pub fn submits_at_most(&self, count: u32) -> bool {
        let has_calls =
            self.engine.is_for_storage() && self.engine != EngineName::Sqpoll && !self.is_handed_differently;
        let batch = self.workload.issuing.filter(|_| has_calls).map_or(0, |issuing| issuing.iodepth_batch);
        self.reaps_at_most(count) || (1..=count).contains(&batch)
    }

    /// A direction's part of all bytes, from 0 to 1: the samples are bytes.
    fn share(&self, side: &FioSide) -> f64 {
        if self.bytes > 0 { side.bytes as f64 / self.bytes as f64 } else { 0.0 }
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
        // Sizes may be drawn, and those of runs at once may differ.
        let mean_bytes = side.bytes.max(1) as f64 / side.ios.max(1) as f64;
        Spread::of(self.samples.iter().map(|sample| sample * share / mean_bytes))
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
    use halfpower_record::{ByDirection, Series};
    use halfpower_spec::{Bytes, Issuing, Nanos, Run, Rw};

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
    fn rates_over_time_of_a_direction_are_those_of_its_own_sizes() {
        let mut run = record(100, 1_000_000_000, 1);
        run.run.workload.rw = Rw::Randmixed;
        run.run.workload.bs = Bytes(65536);
        run.read_ios = 50;
        run.bytes = 50 * 4096 + 50 * 65536;
        run.by_direction = Some(ByDirection { read_bytes: 50 * 4096, ..ByDirection::default() });
        run.series = Series { step_ns: 500_000_000, bytes: vec![run.bytes / 2; 2] };
        let sum = FioJob::of_group(&[&run]).unwrap();
        let means = |side: &FioSide| [sum.kib_a_second(side).mean.round(), sum.requests_a_second(side).mean.round()];
        assert_eq!([means(&sum.read), means(&sum.write)], [[200.0, 50.0], [3200.0, 50.0]]);
        assert_eq!(means(&sum.trim), [0.0, 0.0]);
    }

    #[test]
    fn a_thread_has_what_it_moved_and_when_it_ended() {
        let mut run = record(100, 2_000_000_000, 2);
        let lane = |ios: u64, elapsed_ns: u64| {
            let reads = LaneSide { ios, bytes: ios * 4096, latency_ns_mean: 500.0, latency_ns_deviation: 7.0 };
            LaneRecord {
                role: LaneRole::Own,
                cpu: None,
                elapsed_ns,
                bytes: ios * 4096,
                ios,
                reads: Some(reads),
                writes: Some(LaneSide::default()),
            }
        };
        run.lanes = vec![lane(75, 2_000_000_000), lane(25, 1_000_000_000)];
        run.lanes.push(LaneRecord { role: LaneRole::Random, ..lane(9, 1) });
        let threads = FioJob::of_threads(&run, 2).unwrap();
        let moved = |thread: &FioJob| (thread.ios, thread.read.ios, thread.read.bytes, thread.elapsed_ns);
        assert_eq!(moved(&threads[0]), (75, 75, 75 * 4096, 2_000_000_000));
        assert_eq!(moved(&threads[1]), (25, 25, 25 * 4096, 1_000_000_000));
        assert_eq!(threads[1].read.mean_and_deviation_ns(), [500.0, 7.0]);
        assert!(!threads[1].has_own_latencies());
        assert_eq!(threads[0].processor_percent(), FioJob::of_group(&[&run]).unwrap().processor_percent());
        assert!(FioJob::of_threads(&run, 3).is_none(), "in virtual time one lane stands for all threads");
        let of_lane = |ns: u64| {
            let mut latencies = LaneLatencies::default();
            latencies.reads.add(ns);
            latencies
        };
        run.lane_latencies = vec![of_lane(100), of_lane(200)];
        let apart = FioJob::of_threads(&run, 2).unwrap();
        let longest =
            |thread: &FioJob| [thread.read.latency.max_ns(), thread.latency.max_ns(), thread.write.latency.max_ns()];
        assert_eq!([longest(&apart[0]), longest(&apart[1])], [[100, 100, 0], [200, 200, 0]]);
        assert!(apart.iter().all(FioJob::has_own_latencies) && moved(&apart[1]) == moved(&threads[1]));
        run.lanes[1].reads = None;
        assert!(FioJob::of_threads(&run, 2).is_none(), "it does not say what it moved");
    }

    #[test]
    fn what_is_known_of_depths_follows_from_engine_depth_and_calls() {
        let known = |engine, iodepth, iodepth_batch| {
            let mut run = record(10, 1_000_000_000, 1);
            run.engine = engine;
            run.run.workload.iodepth = iodepth;
            run.run.workload.issuing = Some(Issuing { iodepth_batch, ..Issuing::default() });
            let job = FioJob::of_group(&[&run]).unwrap();
            (job.has_one_at_a_time(), job.submits_at_most(4), job.reaps_at_most(4))
        };
        assert_eq!(known(EngineName::Sync, 32, 1), (true, true, true), "in turn, whatever the depth");
        assert_eq!(known(EngineName::IoUring, 1, 1), (true, true, true));
        assert_eq!(known(EngineName::IoUring, 4, 0), (false, true, true));
        assert_eq!(known(EngineName::IoUring, 32, 1), (false, true, false), "a call for each");
        assert_eq!(known(EngineName::IoUring, 32, 0), (false, false, false));
        assert_eq!(known(EngineName::Sqpoll, 32, 1), (false, false, false), "it makes no calls");
        let deep = |engine| {
            let mut run = record(10, 1_000_000_000, 1);
            (run.engine, run.run.workload.iodepth) = (engine, 32);
            run
        };
        let both = FioJob::of_group(&[&deep(EngineName::Sync), &deep(EngineName::IoUring)]).unwrap();
        assert!(!both.has_one_at_a_time() && !both.reaps_at_most(4));
    }

    #[test]
    fn rates_at_once_are_added_step_by_step() {
        assert_eq!(side_by_side(vec![1.0, 2.0], &[10.0, 20.0]), [11.0, 22.0]);
        assert_eq!(side_by_side(vec![1.0, 2.0], &[10.0, 20.0, 30.0, 50.0]), [16.0, 42.0]);
        assert_eq!((side_by_side(vec![], &[3.0]), side_by_side(vec![3.0], &[])), (vec![3.0], vec![3.0]));
    }
}
