//! Judges what stops the path from going faster.
//!
//! The candidates, in this order: a known limit that the best result nearly reaches; a full queue of the device; a full
//! processor; what a far end or the way to it shows; a ceiling seen in the results that nothing advertises; a device
//! that serves no more requests in parallel; otherwise the time of each request, so more depth would still help. The
//! report writes the sentences.

use halfpower_record::{Device, Environment, Machine};
use halfpower_spec::{Direction, EngineName, Pattern};

use crate::half_power::depth_line;
use crate::headline::is_in_memory;
use crate::ladder::{AT_PEAK, ladder, medium};
use crate::path::{MeasuredPath, peak, peak_of, peak_of_both};
use crate::policy::FULL_CORE;
use crate::regime::{Regime, Regimes};
use crate::stopped_by::{
    Bottleneck, Ceiling, DepthGain, FastestCell, InFlight, KnownLimit, NextLimit, NextLimitBy, ProcessorsOf,
    RequestCeiling, RequestTime, StoppedBy,
};
use crate::{
    BusiestProcessor, CellFinding, FarDiskLimit, Interval, LevelFinding, LevelId, LevelKind, LevelSource, PathLevel,
    PathSettings,
};

/// Share of a measured ceiling from which a cell counts as at the ceiling.
const AT_CEILING: f64 = 0.95;
/// Share of a measured ceiling above which it does not stop a cell.
const ABOVE_CEILING: f64 = 1.1;
/// Gain below which more depth counts as useless.
const NO_GAIN: f64 = 0.03;
/// Gain below which more threads count as useless if the intervals of the runs overlap.
const SMALL_GAIN: f64 = 0.1;
/// Busy share from which a disk at the far end counts as always busy.
const BUSY_DISK: f64 = 0.95;
/// Busy share from which one processor at the far end counts as always busy: a server that serves a connection with one
/// thread cannot use another.
const BUSY_PROCESSOR: f64 = 0.95;
/// Share of a core from which this end's threads may be what keeps a processor busy.
const OURS: f64 = 0.5;
/// Share of what comes of a full queue and the time of a request alone from which the queue counts as full; above the
/// range, it does not hold these requests.
const FULL_QUEUE: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Relative distance within which rates count as one, and the same if their intervals overlap.
const ONE_RATE: f64 = 0.05;
const ONE_RATE_IN_NOISE: f64 = 0.1;
/// The probe's name for this machine's own link.
const NETWORK: &str = "network";
/// Share of a core below which the charged time is too small to extrapolate to a full core.
const TELLING_SHARE: f64 = 0.02;

/// Input of the judgement.
pub(crate) struct JudgedStudy<'a> {
    pub levels: &'a [PathLevel],
    pub cells: &'a [CellFinding],
    pub paths: &'a [(MeasuredPath<'a>, Regimes<'a>)],
    /// Processors whose time may be used at once; 0 if not known.
    pub cpus: f64,
    /// The same of all computers that measure together: what their soakers lost is added up, too.
    pub cpus_of_all: f64,
    /// Whether a control group allows fewer processors than the machine has; `cpus` is then what it allows.
    pub has_quota: bool,
    /// Whether a hypervisor or container lies between the machine and its devices.
    pub virtualised: bool,
    /// Whether the file system lies in main memory.
    pub in_memory: bool,
    /// Whether the far end, if known, is this machine.
    pub ends_are_one: bool,
    /// The queue of the one device below, if known.
    pub queue: Option<DeviceQueue>,
}

/// The queue of a device, as the kernel tells it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceQueue {
    /// Requests that one queue holds at once.
    requests: u32,
    /// Number of queues; each processor uses one of them.
    queues: u32,
}

impl DeviceQueue {
    /// Of the single device below a target with one member.
    fn of(environment: &Environment) -> Option<Self> {
        let is_single = |device: &&Device| environment.capabilities.members <= 1 && device.is_alone();
        let device = environment.device.as_ref().filter(is_single)?;
        let requests = device.queue_requests.filter(|requests| *requests > 0)?;
        Some(Self { requests, queues: device.queues.unwrap_or(1).max(1) })
    }

    /// Requests that it holds at once for so many threads.
    fn held(self, threads: u32) -> u32 {
        self.requests.saturating_mul(self.queues.min(threads.max(1)))
    }
}

/// The ladder with the narrowest level marked, and the reason.
pub(crate) struct Judgement {
    pub ladder: Vec<LevelFinding>,
    pub bottleneck: Bottleneck,
}

/// What stops the path.
pub(crate) fn judge(study: &JudgedStudy<'_>) -> Judgement {
    let mut ladder = ladder(study.levels, study.cells);
    let Some((path, regimes, cell)) = study.best() else {
        return without_a_cell(study, ladder);
    };
    let bottleneck = judge_cell(study, path, regimes, cell);
    bottleneck.level.iter().for_each(|level| mark(&mut ladder, level, &bottleneck.stopped_by, cell));
    Judgement { ladder, bottleneck }
}

/// What stops the cell that represents one direction; `None` if no cell allows a conclusion.
pub(crate) fn judge_direction(study: &JudgedStudy<'_>, rw: Direction) -> Option<Bottleneck> {
    let cell = peak(study.cells, rw)?;
    let (path, regimes) = study.paths.iter().find(|(path, _)| path.settings == cell.path())?;
    let request_ceiling = request_ceiling(study, |of| of.rw == rw);
    Some(Bottleneck { request_ceiling, ..judge_cell(study, path, regimes, cell) })
}

fn judge_cell(
    study: &JudgedStudy<'_>,
    path: &MeasuredPath<'_>,
    regimes: &Regimes<'_>,
    cell: &CellFinding,
) -> Bottleneck {
    let (level, stopped_by) = at_known_limit(study, path, cell)
        .or_else(|| at_device_queue(study, path, regimes, cell))
        .or_else(|| at_enough_threads(study, cell))
        .or_else(|| at_full_processor(study, cell))
        .or_else(|| at_interrupts(study, cell))
        .or_else(|| at_far_end(study, cell))
        .or_else(|| at_window(cell))
        .or_else(|| at_client(cell))
        .or_else(|| at_one_rate(study, cell))
        .or_else(|| at_unnamed_ceiling(study, regimes, cell))
        .or_else(|| at_full_device(path, regimes, cell))
        .unwrap_or_else(|| at_request_time(path, regimes, cell));
    // If the levels of the path have names, report the device under its own.
    let level = match level == device() {
        true if study.in_memory => LevelId::of(LevelKind::Memory),
        true => medium(study.levels, path.settings.rw),
        false => level,
    };
    Bottleneck {
        next: next(study, regimes, cell, &level),
        level: Some(level),
        fastest: Some(FastestCell { cell: cell.settings, mbps: cell.mbps.value }),
        stopped_by,
        request_ceiling: request_ceiling(study, |_| true),
    }
}

/// The judgement if no cell allows a conclusion: the level that parallel members share, if known.
fn without_a_cell(study: &JudgedStudy<'_>, mut ladder: Vec<LevelFinding>) -> Judgement {
    let is_shared = |level: &&PathLevel| level.id.kind == LevelKind::SharedPath && level.attainable.is_none();
    let (level, stopped_by, next) = match study.levels.iter().find(is_shared) {
        Some(shared) => {
            let source = shared.source.clone();
            (Some(shared.id.clone()), StoppedBy::SharedPath { source }, Some(NextLimit::Members))
        }
        None => (None, nothing_to_judge(study.cells), None),
    };
    ladder.iter_mut().filter(|known| level.as_ref() == Some(&known.id)).for_each(|known| known.narrowest = true);
    let bottleneck = Bottleneck { level, fastest: None, stopped_by, next, request_ceiling: None };
    Judgement { ladder, bottleneck }
}

fn nothing_to_judge(cells: &[CellFinding]) -> StoppedBy {
    if cells.is_empty() {
        StoppedBy::NothingMeasured
    } else if cells.iter().any(|cell| cell.cached) {
        StoppedBy::OnlyCached
    } else {
        StoppedBy::NothingMoved
    }
}

impl<'a> JudgedStudy<'a> {
    /// Adds the facts in `environment` to the levels and cells.
    pub fn of(
        environment: &Environment,
        levels: &'a [PathLevel],
        cells: &'a [CellFinding],
        paths: &'a [(MeasuredPath<'a>, Regimes<'a>)],
    ) -> Self {
        let cpus = environment.machine.usable_cpus();
        let of_each: Vec<f64> = environment.computers().into_iter().map(Machine::usable_cpus).collect();
        let cpus_of_all = if of_each.contains(&0.0) { 0.0 } else { of_each.iter().sum() };
        let has_quota = environment.machine.cpu_quota.is_some_and(|quota| quota <= cpus);
        let virtualised = environment.machine.virtualised.is_some();
        let ends_are_one = environment.far_end.as_ref().is_some_and(|end| end.is_this_machine);
        let queue = DeviceQueue::of(environment);
        let in_memory = is_in_memory(environment);
        Self { levels, cells, paths, cpus, cpus_of_all, has_quota, virtualised, in_memory, ends_are_one, queue }
    }

    /// The cell that represents the faster direction, with its path: the one that the headline tells.
    fn best(&self) -> Option<(&MeasuredPath<'a>, &Regimes<'a>, &CellFinding)> {
        let best = peak_of_both(self.cells.iter().filter(|cell| cell.usable()))?;
        self.paths.iter().find(|(path, _)| path.settings == best.path()).map(|(path, regimes)| (path, regimes, best))
    }
}

fn device() -> LevelId {
    LevelId::of(LevelKind::Device)
}

fn at_known_limit(
    study: &JudgedStudy<'_>,
    path: &MeasuredPath<'_>,
    cell: &CellFinding,
) -> Option<(LevelId, StoppedBy)> {
    let rw = path.settings.rw;
    let of_path = study.levels.iter().filter(|level| !level.id.kind.is_of_the_host());
    let rates = of_path.clone().filter_map(|level| Some((level, level.limit_mbps(rw)?)));
    let narrowest = rates.reduce(|low, next| if next.1 < low.1 { next } else { low });
    if let Some((level, limit_mbps)) = narrowest.filter(|(_, limit)| cell.mbps.value >= AT_PEAK * limit) {
        let limit = match (level.attainable, level.id.kind) {
            (Some(_), _) => KnownLimit::Attainable,
            (None, LevelKind::SharedPath) => KnownLimit::SeenOnSharedPath,
            (None, _) => KnownLimit::Advertised,
        };
        let share = cell.mbps.value / limit_mbps;
        let source = level.source.clone();
        return Some((level.id.clone(), StoppedBy::KnownRate { limit, limit_mbps, share, source }));
    }
    let requests = |level: &&PathLevel| {
        level.pap_iops.is_some_and(|pap| level.id.holds_for(rw) && pap > 0.0 && cell.iops >= AT_PEAK * pap)
    };
    let level = of_path.into_iter().find(requests)?;
    let limit_iops = level.pap_iops?;
    let iops = cell.iops;
    let share = cell.iops / limit_iops;
    let source = level.source.clone();
    Some((level.id.clone(), StoppedBy::KnownRequests { iops, limit_iops, share, source }))
}

/// A full queue of the device, in which each request takes no longer than one alone: a larger queue would give more, a
/// device that is itself at its limit would make them wait. The processor stops the cell rather if it is fuller.
fn at_device_queue(
    study: &JudgedStudy<'_>,
    path: &MeasuredPath<'_>,
    regimes: &Regimes<'_>,
    cell: &CellFinding,
) -> Option<(LevelId, StoppedBy)> {
    let queue_requests = study.queue?.held(cell.threads);
    // A queue of one cannot be told from a device that serves one at a time.
    if queue_requests == 1 || !cell.cache.direct() || cell.total_depth() < queue_requests {
        return None;
    }
    let is_alone = |other: &&CellFinding| other.total_depth() == 1 && other.bs_bytes == cell.bs_bytes;
    let measured = path.usable().find(is_alone).map(CellFinding::time_per_request_us);
    let fitted = || {
        let line = regimes.line.filter(|_| regimes.base_depth == 1)?;
        Some(line.intercept + line.slope * cell.bs_bytes as f64)
    };
    let alone_us = measured.or_else(fitted).filter(|us| *us > 0.0)?;
    let limit_iops = f64::from(queue_requests) * 1e6 / alone_us;
    let share = cell.iops / limit_iops;
    let of_processors = cell.core_share.map_or(0.0, |busy| busy / usable_cpus(cell, study.cpus));
    let is_full = FULL_QUEUE.contains(&share) && share > of_processors;
    is_full.then_some((device(), StoppedBy::DeviceQueue { queue_requests, alone_us, limit_iops, share }))
}

/// Processors that can issue the run's requests.
fn usable_cpus(cell: &CellFinding, cpus: f64) -> f64 {
    let issuing = if cell.engine == EngineName::Pool { cell.total_depth() } else { cell.threads };
    let issuing = f64::from(issuing.max(1));
    if cpus > 0.0 { issuing.min(cpus) } else { issuing }
}

fn at_full_processor(study: &JudgedStudy<'_>, cell: &CellFinding) -> Option<(LevelId, StoppedBy)> {
    let usable = usable_cpus(cell, study.cpus);
    let machine = cell.soaker_us.map(|us| us * cell.iops / 1e6);
    let wanted = cell.wanted_processors();
    let (processors_of, processors, of_processors, busy, waited) = if wanted >= FULL_CORE * usable {
        // A thread for each allowed processor, or more: the quota ends before the threads do.
        let is_quota = study.has_quota && usable >= study.cpus;
        let whose = if is_quota { ProcessorsOf::Quota } else { ProcessorsOf::Threads };
        (whose, usable, study.cpus, cell.core_share.unwrap_or(0.0), cell.waited_share)
    } else {
        let cpus = study.cpus_of_all;
        let busy = machine.filter(|busy| cpus > 0.0 && *busy >= FULL_CORE * cpus)?;
        (ProcessorsOf::Machine, cpus, cpus, busy, 0.0)
    };
    let share = (busy / processors).min(1.0);
    let waited_share = (waited / processors).min(1.0 - share);
    // On a file share, the threads are full because of our client.
    let client = at_client(cell).filter(|_| processors_of == ProcessorsOf::Threads);
    if client.is_some() {
        return client;
    }
    let more = next_more_threads(study, cell).map(|more| (more.threads, more.mbps.value));
    let (more_threads, more_mbps) = more.unzip();
    let stopped_by = StoppedBy::FullProcessor {
        processors_of,
        processors,
        of_processors,
        share,
        waited_share,
        more_threads,
        more_mbps,
    };
    Some((LevelId::of(LevelKind::Processor), stopped_by))
}

/// One processor is full, interrupts included: completions wait for it.
fn at_interrupts(study: &JudgedStudy<'_>, cell: &CellFinding) -> Option<(LevelId, StoppedBy)> {
    let busiest = cell.busiest.filter(BusiestProcessor::is_full_of_interrupts)?;
    let of_processors = study.cpus;
    Some((LevelId::of(LevelKind::Processor), StoppedBy::FullOfInterrupts { of_processors, busiest }))
}

/// Stops at the far end: its processors are full, or one of its disks is.
fn at_far_end(study: &JudgedStudy<'_>, cell: &CellFinding) -> Option<(LevelId, StoppedBy)> {
    let far = cell.far_end.as_ref()?;
    if let Some(limit) = far.disk_limit.as_ref().filter(|limit| limit.is_reached()) {
        let FarDiskLimit { name: disk, mbps, limit_mbps, share, group } = limit.clone();
        let stopped_by = StoppedBy::FarDiskLimit { disk, mbps, limit_mbps, share, group };
        return Some((LevelId::of(LevelKind::FarDisk), stopped_by));
    }
    let of_processors = far.processors;
    let are_full = far.busy_share + far.steal_share >= FULL_CORE;
    // If both ends are one machine, this end may be what fills the processor.
    let may_be_ours = study.ends_are_one && cell.core_share.is_none_or(|share| share >= OURS);
    if are_full || far.busiest_share >= BUSY_PROCESSOR && !may_be_ours {
        let (processors, share, steal_share) =
            if are_full { (of_processors, far.busy_share, far.steal_share) } else { (1, far.busiest_share, 0.0) };
        let stopped_by = StoppedBy::FarProcessors { processors, of_processors, share, steal_share };
        return Some((LevelId::of(LevelKind::FarProcessors), stopped_by));
    }
    let disk = far.disk.as_ref().filter(|disk| disk.busy_share >= BUSY_DISK)?;
    let (disk, share) = (disk.name.clone(), disk.busy_share);
    Some((LevelId::of(LevelKind::FarDisk), StoppedBy::FarDisk { disk, share }))
}

/// More threads give no gain: the device is the limit, however busy the threads are.
fn at_enough_threads(study: &JudgedStudy<'_>, cell: &CellFinding) -> Option<(LevelId, StoppedBy)> {
    let more = next_more_threads(study, cell)?;
    let brings_none = gain(cell, more) < NO_GAIN || more.mbps.low <= cell.mbps.high && gain(cell, more) < SMALL_GAIN;
    let threads = cell.threads;
    let more_threads = more.threads;
    let more_mbps = more.mbps.value;
    brings_none.then_some((device(), StoppedBy::NoGainFromThreads { threads, more_threads, more_mbps }))
}

/// The same cell with the next larger number of threads that was measured.
fn next_more_threads<'a>(study: &JudgedStudy<'a>, cell: &CellFinding) -> Option<&'a CellFinding> {
    let alike = study.cells.iter().filter(|other| other.usable() && is_threaded_alike(other, cell));
    alike.filter(|other| other.threads > cell.threads).min_by_key(|other| other.threads)
}

/// Whether two cells differ only in their threads.
fn is_threaded_alike(one: &CellFinding, other: &CellFinding) -> bool {
    one.settings.but_for_threads() == other.settings.but_for_threads()
}

/// Reads and writes of a file server, random and sequential, that end at one rate. Disks, caches and processors of a
/// server hardly treat all of them alike; a wire does.
fn at_one_rate(study: &JudgedStudy<'_>, cell: &CellFinding) -> Option<(LevelId, StoppedBy)> {
    if medium(study.levels, cell.rw).kind != LevelKind::FileServer {
        return None;
    }
    let same = study.paths.iter().filter(|(path, _)| path.settings.cache == cell.cache);
    let peaks: Vec<&CellFinding> = same.filter_map(|(path, _)| peak_of(path.usable(), path.settings.rw)).collect();
    let has = |pattern| peaks.iter().any(|peak| peak.pattern == pattern);
    let most = |rw| peaks.iter().filter(|peak| peak.rw == rw).map(|peak| peak.mbps.value).reduce(f64::max);
    let (reads_mbps, writes_mbps) = most(Direction::Read).zip(most(Direction::Write))?;
    let all_alike = peaks.iter().all(|peak| are_alike(&peak.mbps, &cell.mbps));
    let is_one = all_alike && has(Pattern::Random) && has(Pattern::Sequential);
    let link = study.levels.iter().find(|level| level.id.name.as_deref() == Some(NETWORK));
    let link_mbps = link.and_then(|level| level.pap_mbps(cell.rw));
    is_one.then_some((LevelId::of(LevelKind::Wire), StoppedBy::OneRate { reads_mbps, writes_mbps, link_mbps }))
}

/// Whether two rates are one: within 5%, or within their noise if that is not wide.
fn are_alike(one: &Interval, other: &Interval) -> bool {
    let apart = (one.value / other.value - 1.0).abs();
    let overlap = one.low <= other.high && other.low <= one.high;
    apart <= ONE_RATE || (overlap && apart <= ONE_RATE_IN_NOISE)
}

/// A ceiling that the cells agree on. It does not stop the best cell if that cell lies well above it.
fn at_unnamed_ceiling(
    study: &JudgedStudy<'_>,
    regimes: &Regimes<'_>,
    cell: &CellFinding,
) -> Option<(LevelId, StoppedBy)> {
    let rate_mbps = |cell: &CellFinding| cell.mbps.value;
    let rate_iops = |cell: &CellFinding| 1e6 / cell.time_per_request_us();
    let stands = |ceiling: &Interval, rate: f64| rate >= AT_CEILING * ceiling.value;
    let is_stopped = |ceiling: &Interval, rate: f64| stands(ceiling, rate) && rate <= ABOVE_CEILING * ceiling.value;
    let bytes = regimes.ceiling_mbps.filter(|ceiling| is_stopped(ceiling, rate_mbps(cell)));
    let requests = regimes.ceiling_iops.filter(|ceiling| is_stopped(ceiling, rate_iops(cell)));
    let on = |regime, of: &dyn Fn(&CellFinding) -> f64, ceiling: &Interval| -> Vec<&CellFinding> {
        let bound = regimes.cells.iter().filter(|(_, bound)| *bound == regime);
        bound.map(|(cell, _)| *cell).filter(|cell| stands(ceiling, of(cell))).collect()
    };
    let (ceiling, rate, on) = match (bytes, requests) {
        (Some(ceiling), _) => (Ceiling::Bytes, ceiling.value, on(Regime::Bandwidth, &rate_mbps, &ceiling)),
        (None, Some(ceiling)) => (Ceiling::Requests, ceiling.value, on(Regime::Requests, &rate_iops, &ceiling)),
        (None, None) => return None,
    };
    let (from_iodepth, from_bs_bytes) = on.iter().map(|cell| (cell.iodepth, cell.bs_bytes)).min()?;
    let cells = on.len();
    let virtualised = study.virtualised;
    let stopped_by = StoppedBy::Ceiling { ceiling, rate, cells, from_bs_bytes, from_iodepth, virtualised };
    let of_a_share = Some(medium(study.levels, cell.rw)).filter(|level| level.kind == LevelKind::FileServer);
    Some((of_a_share.unwrap_or(LevelId::of(LevelKind::UnnamedCeiling)), stopped_by))
}

/// More depth gives no gain at the best cell's block size, so the device is the limit; with the number of requests that
/// it serves in parallel, if the cells agree on one.
fn at_full_device(path: &MeasuredPath<'_>, regimes: &Regimes<'_>, cell: &CellFinding) -> Option<(LevelId, StoppedBy)> {
    if let Some(side_by_side) = regimes.parallelism.filter(|most| f64::from(cell.total_depth()) >= AT_CEILING * most) {
        // Measured larger blocks count more than the extrapolation of the fit.
        let is_largest = path.usable().all(|other| other.bs_bytes <= cell.bs_bytes);
        let larger_blocks_mbps = device_mbps(regimes).filter(|mbps| is_largest && *mbps > cell.mbps.value);
        return Some((device(), StoppedBy::Parallelism { side_by_side, larger_blocks_mbps }));
    }
    let (fewer, more) = match around(path, cell) {
        // A confirmed cell can be slower than a deeper one that was not confirmed.
        [_, Some(deeper)] if gain(cell, deeper) < NO_GAIN || deeper.mbps.low <= cell.mbps.high => (cell, deeper),
        [Some(shallower), None] if gain(shallower, cell) < NO_GAIN => (shallower, cell),
        _ => return None,
    };
    let deeper_iodepth = more.iodepth;
    let deeper_mbps = more.mbps.value;
    Some((device(), StoppedBy::NoGainFromDepth { iodepth: fewer.iodepth, deeper_iodepth, deeper_mbps }))
}

fn at_request_time(path: &MeasuredPath<'_>, regimes: &Regimes<'_>, cell: &CellFinding) -> (LevelId, StoppedBy) {
    let parts = regimes.line.or(depth_line(regimes, cell.iodepth)).map(|line| RequestTime {
        iodepth: regimes.base_depth,
        fixed_us: line.intercept,
        us_per_kib: line.slope * 1024.0,
    });
    let [before, _] = around(path, cell);
    // A confirmed cell can be slower than a shallower one that was not confirmed; that is no gain.
    let gained = before.filter(|before| gain(before, cell) > 0.0);
    let deeper = gained.map(|before| DepthGain { from_iodepth: before.iodepth, gain: gain(before, cell) });
    (device(), StoppedBy::RequestTime { parts, deeper })
}

/// The usable cells next to `cell` in depth, at its block size and threads: the shallower and the deeper.
fn around<'a>(path: &'a MeasuredPath<'_>, cell: &CellFinding) -> [Option<&'a CellFinding>; 2] {
    let alike: Vec<&CellFinding> =
        path.usable().filter(|other| (other.bs_bytes, other.threads) == (cell.bs_bytes, cell.threads)).collect();
    let shallower = alike.iter().copied().filter(|other| other.iodepth < cell.iodepth);
    let deeper = alike.iter().copied().filter(|other| other.iodepth > cell.iodepth);
    [shallower.max_by_key(|other| other.iodepth), deeper.min_by_key(|other| other.iodepth)]
}

fn gain(before: &CellFinding, after: &CellFinding) -> f64 {
    after.mbps.value / before.mbps.value - 1.0
}

/// Throughput of very large blocks with the most requests in parallel, in MB/s.
fn device_mbps(regimes: &Regimes<'_>) -> Option<f64> {
    let line = regimes.line.filter(|line| line.slope > 0.0)?;
    let side_by_side = regimes.parallelism? / f64::from(regimes.base_depth.max(1));
    Some(side_by_side / line.slope).filter(|mbps| mbps.is_finite())
}

/// The lowest of the limits that the best result has not met.
fn next(study: &JudgedStudy<'_>, regimes: &Regimes<'_>, cell: &CellFinding, narrowest: &LevelId) -> Option<NextLimit> {
    let of_level = |level: &PathLevel| {
        let by = if level.attainable.is_some() { NextLimitBy::Attainable } else { NextLimitBy::Advertised };
        Some((level.id.clone(), level.limit_mbps(cell.rw)?, by))
    };
    // Direct transfers pass none of the host's levels.
    let on_the_way = study.levels.iter().filter(|level| !(cell.cache.direct() && level.id.kind.is_of_the_host()));
    let advertised = on_the_way.filter_map(of_level);
    let cores = usable_cpus(cell, study.cpus);
    let telling = cell.core_share.filter(|share| *share >= TELLING_SHARE);
    let full = telling.map(|share| cell.mbps.value * cores / share);
    let processor = full.map(|mbps| (LevelId::of(LevelKind::Processor), mbps, NextLimitBy::ChargedTime));
    let device = device_mbps(regimes).map(|mbps| (device(), mbps, NextLimitBy::LargeBlocks));
    let (level, mbps, by) = advertised
        .chain(processor)
        .chain(device)
        .filter(|(level, mbps, _)| level != narrowest && mbps.is_finite() && *mbps > cell.mbps.value)
        .reduce(|low, next| if next.1 < low.1 { next } else { low })?;
    Some(NextLimit::Level { level, mbps, by })
}

/// The lowest limit on requests a second of all paths that `counts` selects.
fn request_ceiling(study: &JudgedStudy<'_>, counts: impl Fn(&PathSettings) -> bool) -> Option<RequestCeiling> {
    let of_path = |(path, regimes): &(MeasuredPath<'_>, Regimes<'_>)| {
        let iops = regimes.ceiling_iops?.value;
        // If more threads exceed it, the limit was a full core, not a ceiling.
        let is_beyond = |cell: &CellFinding| cell.usable() && cell.iops > ABOVE_CEILING * iops;
        let beyond = study.cells.iter().any(|cell| cell.path() == path.settings && is_beyond(cell));
        (!beyond).then_some(RequestCeiling { path: path.settings, iops })
    };
    let ceilings = study.paths.iter().filter(|(path, _)| counts(&path.settings)).filter_map(of_path);
    ceilings.reduce(|low, next| if next.iops < low.iops { next } else { low })
}

/// Marks the narrowest level; inserts it at its place if the ladder lacks it.
fn mark(ladder: &mut Vec<LevelFinding>, narrowest: &LevelId, stopped_by: &StoppedBy, best: &CellFinding) {
    let place = ladder.iter().position(|level| level.id == *narrowest).unwrap_or_else(|| {
        let device = || ladder.iter().position(|level| level.id == device());
        let server = || ladder.iter().position(|level| level.id.kind == LevelKind::FileServer);
        let (place, source) = match narrowest.kind {
            LevelKind::Processor => (0, LevelSource::Unadvertised),
            _ if matches!(stopped_by, StoppedBy::OwnClient { .. }) => (0, LevelSource::SeenInResults),
            LevelKind::Wire => (server().unwrap_or(ladder.len()), LevelSource::SeenInResults),
            LevelKind::UnnamedCeiling => (device().unwrap_or(ladder.len()), LevelSource::SeenInResults),
            _ => (ladder.len(), LevelSource::Unadvertised),
        };
        let id = narrowest.clone();
        let rap_mbps = Some(best.mbps.value);
        ladder.insert(place, LevelFinding { id, pap_mbps: None, pap_iops: None, rap_mbps, source, narrowest: false });
        place
    });
    ladder[place].narrowest = true;
}

/// Relative distance from the client's own ceiling within which a rate counts as at that ceiling.
const NEAR_CLIENT: f64 = 0.2;
/// Relative distance from bytes in flight over round trip within which a rate counts as explained by them.
const NEAR_WINDOW: f64 = 0.1;
/// Relative distance below TCP's window over the round trip within which a rate counts as explained: the window is a
/// mean of samples, and busy processors make round trips longer than the shortest.
const BELOW_TCP_WINDOW: f64 = 0.15;

/// Whether the cell reaches about our client's rate against a server in memory, over loopback: server and network could
/// then add little.
fn at_client(cell: &CellFinding) -> Option<(LevelId, StoppedBy)> {
    let limit_mbps = cell.client_mbps.filter(|mbps| *mbps > 0.0)?;
    let share = cell.mbps.value / limit_mbps;
    let protocol = match cell.engine {
        EngineName::Smb => "SMB",
        EngineName::Nfs => "NFS",
        EngineName::S3 => "S3",
        _ => return None,
    };
    let level = LevelId { name: Some(protocol.to_string()), ..LevelId::of(LevelKind::OurClient) };
    let stopped_by = StoppedBy::OwnClient { limit_mbps, share };
    ((1.0 - NEAR_CLIENT..=1.0 + NEAR_CLIENT).contains(&share)).then_some((level, stopped_by))
}

/// Whether the rate equals the bytes in flight (the requests, or the part that TCP admits) over the shortest round
/// trip: each byte then waits for the network's round trip only. A queue before a full wire lengthens the mean round
/// trip but not the shortest, so a full wire never looks like a window.
fn at_window(cell: &CellFinding) -> Option<(LevelId, StoppedBy)> {
    let tcp = cell.tcp.as_ref()?;
    let round_trip_us = tcp.least_round_trip_us?;
    let asked = f64::from(cell.total_depth()) * cell.bs_bytes as f64;
    let (in_flight, bytes) =
        if tcp.window_bytes < asked { (InFlight::TcpWindow, tcp.window_bytes) } else { (InFlight::Requests, asked) };
    // A byte a microsecond is a decimal MB/s.
    let limit_mbps = bytes / round_trip_us;
    let share = cell.mbps.value / limit_mbps;
    let stopped_by = StoppedBy::Window { in_flight, bytes, round_trip_us, limit_mbps, share };
    let below = if in_flight == InFlight::TcpWindow { BELOW_TCP_WINDOW } else { NEAR_WINDOW };
    let is_explained = (1.0 - below..=1.0 + NEAR_WINDOW).contains(&share);
    is_explained.then_some((LevelId::of(LevelKind::RoundTrip), stopped_by))
}
