//! Makes findings and a record for output tests: a made-up disk behind a link, measured on four paths.
#![allow(dead_code, reason = "each test file takes what it needs")]

use halfpower_analyse::{
    Advice, Bottleneck, Bound, CellFinding, CellSettings, Cost, Curve, DirectionStop, FastestCell, Findings, Interval,
    KnownLimit, LatencySummary, LevelFinding, LevelId, LevelKind, LevelSource, NextLimit, NextLimitBy, NoiseFinding,
    PathSettings, StoppedBy, StudyState, Summary, Warning, how_fast,
};
use halfpower_record::{Cpu, CpuTimes, Device, Environment, FileSystem, Latency, Machine, Record, Series};
use halfpower_spec::{Bytes, Cache, Direction, EngineName, Nanos, Pass, Pattern, Run, Rw, Workload};

pub type Way = (Pattern, Direction, Cache);

pub const WAYS: [Way; 4] = [
    (Pattern::Sequential, Direction::Read, Cache::Device),
    (Pattern::Sequential, Direction::Read, Cache::Both),
    (Pattern::Sequential, Direction::Write, Cache::Device),
    (Pattern::Random, Direction::Read, Cache::Device),
];

pub fn interval(value: f64, half: f64) -> Interval {
    Interval { value, low: value - half, high: value + half }
}

pub fn machine() -> Machine {
    Machine { kernel: "6.1.0".into(), cpu_model: "Atlas 10K".into(), cpus: 2, ..Machine::default() }
}

/// Findings of a study without runs.
pub fn empty() -> Findings {
    Findings {
        target: "/data".into(),
        machine: machine(),
        filesystem: None,
        device: None,
        started_unix_ms: 0,
        runs: 0,
        seconds: 0.0,
        summary: Summary { state: StudyState::Unfinished { share: 0.0 }, ..Summary::default() },
        headline: vec![],
        levels: vec![],
        bottleneck: Bottleneck {
            level: None,
            fastest: None,
            stopped_by: StoppedBy::NothingMeasured,
            next: None,
            request_ceiling: None,
        },
        curves: vec![],
        limits: vec![],
        cost: vec![],
        advice: vec![],
        far_end: None,
        fleet: None,
        attribution: vec![],
        threads: vec![],
        warnings: vec![],
        cells: vec![],
        harness_ns_per_io: Some(0.0),
        checks: None,
        imported: vec![],
        beside: vec![],
    }
}

/// Throughput of the made-up disk: 60 us per request plus 1 ns per byte, up to 4 requests in parallel, behind a link of
/// 1,800 MB/s.
fn mbps(bs_bytes: u64, depth: u32) -> f64 {
    let request_us = 60.0 + bs_bytes as f64 / 1000.0;
    (f64::from(depth.min(4)) * bs_bytes as f64 / request_us).min(1800.0)
}

pub fn cell((pattern, rw, cache): Way, iodepth: u32, bs_bytes: u64) -> CellFinding {
    let mbps = mbps(bs_bytes, iodepth);
    let iops = mbps * 1e6 / bs_bytes as f64;
    let mean = f64::from(iodepth) / iops * 1e6;
    let ns = (mean * 1e3) as u64;
    CellFinding {
        settings: CellSettings { pattern, rw, cache, iodepth, bs_bytes, threads: 1 },
        issuing: None,
        engine: EngineName::IoUring,
        runs: 3,
        chosen_mbps: None,
        mbps: interval(mbps, mbps * 0.02),
        iops,
        latency_ns: LatencySummary {
            min: Some(ns),
            p50: Some(ns),
            p90: Some(ns),
            p99: Some(ns),
            p999: Some(ns),
            max: Some(ns),
            mean: Some(mean * 1e3),
            p50_interval: None,
            p99_interval: None,
        },
        achieved_depth: Some(f64::from(iodepth)),
        charged_us: Some(3.0),
        soaker_us: Some(4.0),
        core_share: Some(0.2),
        waited_share: 0.0,
        busiest: None,
        errors: 0,
        short_transfers: 0,
        cached: false,
        series_mbps: vec![mbps; 3],
        far_end: None,
        client_mbps: None,
        prediction: None,
        buffer_segments: None,
        tcp: None,
        delayed_share: None,
        series_step_ns: 100_000_000,
        run_mbps: vec![mbps * 0.99, mbps, mbps * 1.01],
        run_charged_us: vec![3.0; 3],
        steady: true,
        unsteady: None,
        trimmed_share: 0.0,
        burst_mbps: None,
        sustained_mbps: None,
        within_5_percent: true,
        within_run_reach: Some(0.01),
        memory_mbps: None,
        flush_share: None,
        noise: NoiseFinding::default(),
        unseen_us: None,
    }
}

fn curve((pattern, rw, cache): Way, iodepth: u32, sizes: &[u64]) -> Curve {
    let peak_bs_bytes = *sizes.last().unwrap();
    let peak_mbps = mbps(peak_bs_bytes, iodepth);
    let half = sizes.iter().position(|bs| mbps(*bs, iodepth) >= peak_mbps / 2.0).unwrap();
    Curve {
        path: PathSettings { pattern, rw, cache },
        iodepth,
        peak_mbps,
        peak_bs_bytes,
        half_power_bs_bytes: sizes[half],
        half_power_bracketed: half > 0 && cache == Cache::Device,
        half_power_holds: true,
        n_half_bytes: Some(60_000.0),
        n_half_low_bytes: Some(58_000.0),
        n_half_high_bytes: Some(62_000.0),
        rap_over_pap: Some(peak_mbps / 1970.0),
        rap_over_pap_low: Some(peak_mbps * 0.98 / 1970.0),
        rap_over_pap_high: Some(peak_mbps * 1.02 / 1970.0),
    }
}

pub fn cost((pattern, rw, cache): Way, bound: Bound, fixed_us: f64) -> Cost {
    Cost {
        path: PathSettings { pattern, rw, cache },
        iodepth: None,
        bound,
        fixed_us: interval(fixed_us, 0.2),
        marginal_us_per_kib: interval(0.021, 0.003),
        core_saturates_mbps: [1300.0, 41_000.0],
        core_saturates_iops: 317_000.0,
        ms_per_mb: [0.76, 0.024],
        cells: 9,
    }
}

pub fn level(name: &str, pap_mbps: Option<f64>, rap_mbps: Option<f64>) -> LevelFinding {
    let source = pap_mbps.map_or("nothing advertises it", |_| "PCIe 3.0 x2 by sysfs").to_string();
    let id = LevelId::named(name, None);
    let source = LevelSource::Environment(source);
    LevelFinding { id, pap_mbps, pap_iops: None, rap_mbps, source, narrowest: false }
}

fn advice(rw: Direction, pattern: Pattern) -> Advice {
    Advice {
        rw,
        pattern,
        settings: Workload { rw: Rw::of(pattern, rw), bs: Bytes(262_144), iodepth: 4, ..Workload::default() },
        mbps: 1750.0,
        share_of_peak: 0.97,
        cpu_ms_per_mb: Some(0.024),
        latency_ns_p99: Some(640_000),
        best: fastest(),
        is_best: false,
    }
}

/// The fastest cell of the made-up disk.
fn fastest() -> FastestCell {
    let (pattern, rw, cache) = WAYS[0];
    FastestCell { cell: CellSettings { pattern, rw, cache, iodepth: 8, bs_bytes: 1 << 20, threads: 1 }, mbps: 1800.0 }
}

/// The link, of which 90% was reached.
fn bottleneck(source: LevelSource) -> Bottleneck {
    let device = LevelId::of(LevelKind::Device);
    Bottleneck {
        level: Some(LevelId::named("link", None)),
        fastest: Some(fastest()),
        stopped_by: StoppedBy::KnownRate {
            limit: KnownLimit::Advertised,
            limit_mbps: 1970.0,
            share: 1800.0 / 1970.0,
            source,
        },
        next: Some(NextLimit::Level { level: device, mbps: 2400.0, by: NextLimitBy::LargeBlocks }),
        request_ceiling: None,
    }
}

/// The summary for the made-up disk: its rates, and its link as the limit of both directions.
fn summary(cells: &[CellFinding], bottleneck: &Bottleneck) -> Summary {
    let stop = |rw| DirectionStop { rw, bottleneck: bottleneck.clone(), doubt: None, test: None, explained: None };
    let stops = [Direction::Read, Direction::Write].map(stop).into();
    Summary { how_fast: how_fast(cells, 0.5), stops, ..Summary::default() }
}

/// A warning with this text.
pub fn warning(words: impl Into<String>) -> Warning {
    Warning::Environment { note: words.into() }
}

/// Findings of a complete study.
pub fn full() -> Findings {
    let sizes: Vec<u64> = (12..=20).map(|power| 1 << power).collect();
    let depths = [1, 8];
    let each = || WAYS.iter().flat_map(|way| depths.map(|depth| (*way, depth)));
    let mut cells: Vec<CellFinding> =
        each().flat_map(|(way, depth)| sizes.iter().map(move |bs| cell(way, depth, *bs)).collect::<Vec<_>>()).collect();
    // One cell answered by a cache, and one that was never measured.
    cells.iter_mut().filter(|cell| cell.cache == Cache::Both && cell.bs_bytes == 4096).for_each(|cell| {
        cell.cached = true;
        cell.mbps = interval(5200.0, 10.0);
    });
    cells.retain(|cell| !(cell.pattern == Pattern::Random && cell.bs_bytes == 8192));
    let mut levels = vec![
        level("memory", None, None),
        level("link", Some(1970.0), Some(1800.0)),
        level("device", None, Some(1800.0)),
    ];
    levels[1].narrowest = true;
    Findings {
        filesystem: Some(FileSystem { kind: "ext4".into(), ..FileSystem::default() }),
        device: Some(Device { name: "nvme0n1".into(), ..Device::default() }),
        runs: 216,
        seconds: 118.4,
        summary: summary(&cells, &bottleneck(levels[1].source.clone())),
        headline: halfpower_analyse::headlines(&Environment::default(), &cells, 0.5),
        bottleneck: bottleneck(levels[1].source.clone()),
        levels,
        curves: each().map(|(way, depth)| curve(way, depth, &sizes)).collect(),
        cost: WAYS
            .iter()
            .flat_map(|way| [cost(*way, Bound::Charged, 3.1), cost(*way, Bound::Soaker, 4.4)])
            .filter(|cost| !(cost.bound == Bound::Soaker && cost.cache == Cache::Both))
            .collect(),
        advice: vec![
            advice(Direction::Read, Pattern::Sequential),
            advice(Direction::Read, Pattern::Random),
            advice(Direction::Write, Pattern::Sequential),
        ],
        warnings: (1..=5)
            .map(|number| warning(format!("Warning {number}: a sentence that a reader should know.")))
            .collect(),
        cells,
        harness_ns_per_io: Some(31.0),
        ..empty()
    }
}

/// A record with round figures: 1,000 requests of 4 KiB in 0.1 s.
pub fn record() -> Record {
    let mut latency = Latency::default();
    // Their mean is what 3.96 requests in flight take at 10,000 a second.
    (1..=1000).for_each(|step| latency.add(step * 791));
    let run = Run {
        experiment: None,
        workload: Workload { rw: Rw::Randread, bs: Bytes(4096), iodepth: 4, ..Workload::default() },
        repeat: 0,
        pass: Pass::Plain,
        runtime: Nanos(100_000_000),
        seed: 7,
    };
    Record {
        span_bytes: 1 << 30,
        started_unix_ms: 1_795_298_078_000,
        spent_ns: 120_000_000,
        elapsed_ns: 100_000_000,
        bytes: 4_096_000,
        ios: 1000,
        read_ios: 1000,
        achieved_depth: 3.96,
        latency,
        cpu: Cpu {
            span_ns: 100_000_000,
            ios: 1000,
            user_ns: 2_000_000,
            system_ns: 5_000_000,
            machine: vec![CpuTimes { user_ns: 10_000_000, softirq_ns: 20_000_000, ..CpuTimes::default() }; 2],
            ..Cpu::default()
        },
        series: Series { step_ns: 10_000_000, bytes: vec![409_600; 10] },
        harness_ns_per_io: 31.5,
        ..Record::empty(run, EngineName::IoUring)
    }
}

pub fn environment() -> Environment {
    Environment { machine: machine(), ..Environment::default() }
}
