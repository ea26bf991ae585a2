//! Writes a sample report of a made-up disk; nothing in it was measured.
//!
//! `cargo run -p halfpower-report --example sample_report > sample.html`. A formula gives the cells: each request takes
//! a fixed time plus a time per byte, a few requests run in parallel, and a link limits the rate.

use std::io::{BufWriter, Write, stdout};

use halfpower_analyse::{
    Advice, Bottleneck, Bound, CellFinding, CellSettings, Cost, Curve, DirectionStop, FastestCell, Findings, Interval,
    KnownLimit, LatencySummary, LevelFinding, LevelId, LevelKind, LevelSource, Limits, NextLimit, NextLimitBy,
    NoiseFinding, PathSettings, StoppedBy, Summary, Unsteady, UnsteadyReason, Warning, how_fast,
};
use halfpower_record::{Cpu, Device, FileSystem, Latency, Machine, Record, Series};
use halfpower_spec::{Bytes, Cache, Direction, EngineName, Experiment, Nanos, Pass, Pattern, Run, Rw, Workload};

const LINK_MBPS: f64 = 1970.0;
const KIB: f64 = 1024.0;

/// One path of the made-up disk.
struct Way {
    pattern: Pattern,
    rw: Direction,
    cache: Cache,
    fixed_us: f64,
    stream_mbps: f64,
    parallelism: f64,
    ceiling_mbps: f64,
    cost_fixed_us: f64,
    cost_us_per_kib: f64,
}

#[rustfmt::skip]
const WAYS: [Way; 6] = [
    Way { pattern: Pattern::Sequential, rw: Direction::Read, cache: Cache::Device, fixed_us: 62.0, stream_mbps: 1450.0, parallelism: 14.0, ceiling_mbps: 1730.0, cost_fixed_us: 3.1, cost_us_per_kib: 0.021 },
    Way { pattern: Pattern::Sequential, rw: Direction::Read, cache: Cache::Both, fixed_us: 4.0, stream_mbps: 5200.0, parallelism: 1.6, ceiling_mbps: 1650.0, cost_fixed_us: 2.4, cost_us_per_kib: 0.31 },
    Way { pattern: Pattern::Sequential, rw: Direction::Write, cache: Cache::Device, fixed_us: 24.0, stream_mbps: 980.0, parallelism: 6.0, ceiling_mbps: 1080.0, cost_fixed_us: 3.4, cost_us_per_kib: 0.026 },
    Way { pattern: Pattern::Sequential, rw: Direction::Write, cache: Cache::Both, fixed_us: 5.0, stream_mbps: 3100.0, parallelism: 1.3, ceiling_mbps: 940.0, cost_fixed_us: 3.0, cost_us_per_kib: 0.44 },
    Way { pattern: Pattern::Random, rw: Direction::Read, cache: Cache::Device, fixed_us: 81.0, stream_mbps: 1400.0, parallelism: 22.0, ceiling_mbps: 1690.0, cost_fixed_us: 3.6, cost_us_per_kib: 0.022 },
    Way { pattern: Pattern::Random, rw: Direction::Write, cache: Cache::Device, fixed_us: 27.0, stream_mbps: 900.0, parallelism: 5.0, ceiling_mbps: 890.0, cost_fixed_us: 3.9, cost_us_per_kib: 0.027 },
];

impl Way {
    /// Request time in microseconds and throughput in MB/s for requests of `bs` bytes at `depth`.
    fn at(&self, bs: u64, depth: u32) -> (f64, f64) {
        let alone_us = self.fixed_us + bs as f64 / self.stream_mbps;
        let side_by_side = f64::from(depth).min(self.parallelism);
        let free = side_by_side * bs as f64 / alone_us;
        let mbps = (free.powi(-4) + self.ceiling_mbps.powi(-4)).powf(-0.25);
        (f64::from(depth) * bs as f64 / mbps, mbps)
    }

    /// Whether a study would have measured this cell; buffered paths have a coarser grid.
    fn measured(&self, bs: u64, depth: u32) -> bool {
        let power = bs.trailing_zeros();
        match self.cache {
            Cache::Device => !(self.pattern == Pattern::Random && (power == 13 || power == 19) && depth > 2),
            _ => power.is_multiple_of(2) && [1, 4, 32].contains(&depth),
        }
    }
}

/// A value that varies by `share`, the same for each `salt`.
fn wavering(value: f64, share: f64, salt: u64) -> f64 {
    let turn = (salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / f64::from(1 << 24);
    value * (1.0 + share * (2.0 * turn - 1.0))
}

fn about(value: f64, share: f64) -> Interval {
    Interval { value, low: value * (1.0 - share), high: value * (1.0 + share) }
}

fn cell(way: &Way, bs: u64, depth: u32) -> CellFinding {
    let salt = bs * 31 + u64::from(depth) * 7 + way.fixed_us as u64;
    let (latency_us, exact) = way.at(bs, depth);
    let mbps = wavering(exact, 0.02, salt);
    let charged_us = wavering(way.cost_fixed_us + way.cost_us_per_kib * bs as f64 / KIB, 0.05, salt + 1);
    let tail = 1.25 + 0.35 * f64::from(depth).log2();
    let ns = |factor: f64| Some((latency_us * factor * 1e3) as u64);
    CellFinding {
        settings: CellSettings {
            pattern: way.pattern,
            rw: way.rw,
            cache: way.cache,
            iodepth: depth,
            bs_bytes: bs,
            threads: 1,
        },
        issuing: None,
        engine: EngineName::IoUring,
        runs: 3,
        chosen_mbps: None,
        mbps: about(mbps, 0.012 + 0.05 / f64::from(depth + 1)),
        iops: mbps * 1e6 / bs as f64,
        latency_ns: LatencySummary {
            min: ns(0.7),
            p50: ns(0.96),
            p90: ns(tail.sqrt()),
            p99: ns(tail),
            p999: ns(tail * 1.6),
            max: ns(tail * 4.0),
            mean: Some(latency_us * 1e3),
            p50_interval: None,
            p99_interval: None,
        },
        achieved_depth: Some(f64::from(depth) * 0.985),
        charged_us: Some(charged_us),
        soaker_us: (depth == 1 || depth == 32).then(|| wavering(charged_us * 1.24 + 0.9, 0.05, salt + 2)),
        core_share: Some(charged_us * mbps / bs as f64),
        waited_share: 0.0,
        busiest: None,
        errors: 0,
        short_transfers: 0,
        cached: false,
        series_mbps: (0..8).map(|step| wavering(mbps, 0.03, salt + step)).collect(),
        far_end: None,
        client_mbps: None,
        prediction: None,
        buffer_segments: None,
        tcp: None,
        delayed_share: None,
        series_step_ns: 50_000_000,
        run_mbps: vec![mbps * 0.99, mbps, mbps * 1.01],
        run_charged_us: vec![charged_us * 1.01, charged_us, charged_us * 0.99],
        steady: true,
        unsteady: None,
        trimmed_share: 0.0,
        burst_mbps: None,
        sustained_mbps: None,
        within_5_percent: depth > 1,
        within_run_reach: Some(0.02),
        memory_mbps: None,
        flush_share: None,
        noise: NoiseFinding::default(),
        unseen_us: None,
    }
}

/// A large buffered write: fast while the cache takes it, then as fast as the disk.
fn falling(cell: CellFinding) -> CellFinding {
    let burst_mbps = cell.mbps.value * 2.4;
    let sustained_mbps = cell.mbps.value * 0.6;
    let rates = [burst_mbps * 0.3, burst_mbps, burst_mbps, sustained_mbps];
    CellFinding {
        steady: false,
        unsteady: Some(Unsteady {
            objection: UnsteadyReason::LevelChanged { from_mbps: burst_mbps, to_mbps: sustained_mbps, after_s: 0.15 },
            unsteady_runs: 3,
            runs: 3,
        }),
        trimmed_share: 0.125,
        burst_mbps: Some(burst_mbps),
        sustained_mbps: Some(sustained_mbps),
        series_mbps: (0..8).map(|step| wavering(rates[step.min(3)], 0.03, step as u64)).collect(),
        memory_mbps: Some(burst_mbps),
        flush_share: Some(0.3),
        ..cell
    }
}

fn cells() -> Vec<CellFinding> {
    let mut cells = Vec::new();
    for way in &WAYS {
        for depth in [1, 2, 4, 8, 16, 32] {
            let falls = |bs: u64| (way.cache, way.rw) == (Cache::Both, Direction::Write) && bs >= 1 << 18;
            cells.extend((12..=20).map(|power| 1 << power).filter(|bs| way.measured(*bs, depth)).map(|bs| {
                let cell = cell(way, bs, depth);
                if falls(bs) { falling(cell) } else { cell }
            }));
        }
    }
    cells
}

fn curve(cells: &[&CellFinding], way: &Way) -> Curve {
    let best = cells.iter().max_by(|a, b| a.mbps.value.total_cmp(&b.mbps.value)).expect("every depth has cells");
    let half = cells.iter().position(|c| c.mbps.value * 2.0 >= best.mbps.value).expect("the best reaches half");
    let n_half = way.fixed_us * way.stream_mbps;
    Curve {
        path: PathSettings { pattern: way.pattern, rw: way.rw, cache: way.cache },
        iodepth: best.iodepth,
        peak_mbps: best.mbps.value,
        peak_bs_bytes: best.bs_bytes,
        half_power_bs_bytes: cells[half].bs_bytes,
        half_power_bracketed: half > 0,
        half_power_holds: cells[half..].iter().all(|c| c.mbps.value * 2.0 >= best.mbps.value),
        n_half_bytes: (best.iodepth == 1).then_some(n_half),
        n_half_low_bytes: (best.iodepth == 1).then_some(n_half * 0.96),
        n_half_high_bytes: (best.iodepth == 1).then_some(n_half * 1.04),
        rap_over_pap: (way.cache == Cache::Device).then_some(best.mbps.value / LINK_MBPS),
        rap_over_pap_low: (way.cache == Cache::Device).then_some(best.mbps.low / LINK_MBPS),
        rap_over_pap_high: (way.cache == Cache::Device).then_some(best.mbps.high / LINK_MBPS),
    }
}

fn curves(cells: &[CellFinding]) -> Vec<Curve> {
    let mut curves = Vec::new();
    for way in &WAYS {
        let same = |c: &&CellFinding| (c.pattern, c.rw, c.cache) == (way.pattern, way.rw, way.cache);
        let mut depths: Vec<u32> = cells.iter().filter(same).map(|c| c.iodepth).collect();
        depths.dedup();
        for depth in depths {
            let line: Vec<&CellFinding> = cells.iter().filter(same).filter(|c| c.iodepth == depth).collect();
            curves.push(curve(&line, way));
        }
    }
    curves
}

fn cost(way: &Way, bound: Bound) -> Cost {
    let (fixed, marginal) = match bound {
        Bound::Charged => (way.cost_fixed_us, way.cost_us_per_kib),
        Bound::Soaker => (way.cost_fixed_us * 1.24 + 0.9, way.cost_us_per_kib * 1.24),
    };
    let us = [fixed + marginal * 4.0, fixed + marginal * 1024.0];
    Cost {
        path: PathSettings { pattern: way.pattern, rw: way.rw, cache: way.cache },
        iodepth: None,
        bound,
        fixed_us: about(fixed, 0.06),
        marginal_us_per_kib: about(marginal, 0.09),
        core_saturates_mbps: [4096.0 / us[0], 1048576.0 / us[1]],
        core_saturates_iops: 1e6 / us[0],
        ms_per_mb: [us[0] * 1e3 / 4096.0, us[1] * 1e3 / 1048576.0],
        cells: 54,
    }
}

fn limits(way: &Way) -> Limits {
    Limits {
        path: PathSettings { pattern: way.pattern, rw: way.rw, cache: way.cache },
        fixed_us: Some(about(way.fixed_us, 0.02)),
        stream_mbps: Some(about(way.stream_mbps, 0.03)),
        parallelism: way.cache.direct().then_some(way.parallelism),
        ceiling_mbps: Some(about(way.ceiling_mbps, 0.01)),
        ceiling_iops: None,
    }
}

fn advice(cells: &[CellFinding], pattern: Pattern, rw: Direction) -> Advice {
    let fitting: Vec<&CellFinding> =
        cells.iter().filter(|c| (c.pattern, c.rw, c.cache) == (pattern, rw, Cache::Device)).collect();
    let by_rate = |one: &&CellFinding, other: &&CellFinding| one.mbps.value.total_cmp(&other.mbps.value);
    let best = fitting.iter().copied().max_by(by_rate).expect("the disk was measured");
    let peak = best.mbps.value;
    let good = fitting.iter().copied().filter(|c| c.mbps.value >= 0.95 * peak);
    let pick = good.min_by_key(|cell| cell.latency_ns.p99).expect("the peak is near itself");
    let settings = Workload {
        rw: Rw::of(pattern, rw),
        bs: Bytes(pick.bs_bytes),
        iodepth: pick.iodepth,
        engine: EngineName::IoUring,
        ..Workload::default()
    };
    Advice {
        rw,
        pattern,
        settings,
        mbps: pick.mbps.value,
        share_of_peak: pick.mbps.value / peak,
        cpu_ms_per_mb: pick.charged_ms_per_mb(),
        latency_ns_p99: pick.latency_ns.p99,
        best: FastestCell { cell: best.settings, mbps: peak },
        is_best: std::ptr::eq(pick, best),
    }
}

fn levels() -> Vec<LevelFinding> {
    let level = |name: &str, pap: Option<f64>, rap: Option<f64>, source: &str, narrowest: bool| LevelFinding {
        id: LevelId::named(name, None),
        pap_mbps: pap,
        pap_iops: None,
        rap_mbps: rap,
        source: LevelSource::Environment(source.to_string()),
        narrowest,
    };
    vec![
        level("memory", Some(25_600.0), Some(11_200.0), "one channel of DDR4-3200", false),
        level("processor", None, Some(5_240.0), "no advertised figure; one core saturates there", false),
        level("PCIe link", Some(LINK_MBPS), Some(1_730.0), "2 lanes at 8 GT/s, 128b/130b", true),
        level("media", None, Some(1_730.0), "the device does not advertise it; give --peak from its data sheet", false),
    ]
}

fn record(cell: &CellFinding, repeat: u32) -> Record {
    let mut latency = Latency::default();
    // Nearly all near the median, so that the mean is what depth and rate make it.
    let LatencySummary { min, p50, p99, max, .. } = cell.latency_ns;
    for (ns, count) in [(min, 1), (p50, 95), (p99, 3), (max, 1)] {
        (0..count).for_each(|_| latency.add(ns.unwrap_or_default()));
    }
    let elapsed_ns = 400_000_000;
    let bytes = (cell.mbps.value * 0.4e6) as u64 / cell.bs_bytes * cell.bs_bytes;
    let ios = bytes / cell.bs_bytes;
    let charged_ns = (cell.charged_us.unwrap_or_default() * 1e3) as u64 * ios;
    let rw = Rw::of(cell.pattern, cell.rw);
    let bs = Bytes(cell.bs_bytes);
    let iodepth = cell.iodepth;
    let cache = cell.cache;
    let workload = Workload { rw, bs, iodepth, cache, ..Workload::default() };
    let experiment = Experiment::ALL.iter().copied().find(|experiment| experiment.pattern() == Some(cell.pattern));
    let run = Run { experiment, workload, repeat, pass: Pass::Plain, runtime: Nanos(elapsed_ns), seed: 1 };
    Record {
        span_bytes: 1 << 30,
        started_unix_ms: 1_790_000_000_000 + u64::from(repeat) * 60_000,
        spent_ns: elapsed_ns + 20_000_000,
        elapsed_ns,
        bytes,
        ios,
        read_ios: if cell.rw == Direction::Read { ios } else { 0 },
        latency,
        achieved_depth: cell.achieved_depth.unwrap_or_default(),
        cpu: Cpu {
            span_ns: 1_000_000_000,
            ios,
            user_ns: charged_ns / 3,
            system_ns: charged_ns * 2 / 3,
            ..Cpu::default()
        },
        series: Series { step_ns: 50_000_000, bytes: vec![bytes / 8; 8] },
        harness_ns_per_io: 118.0,
        cached_bytes: Some(0),
        ..Record::empty(run, cell.engine)
    }
}

fn machine() -> Machine {
    Machine {
        kernel: "6.12.0-sample".to_string(),
        cpu_model: "Sample Processor 8-Core".to_string(),
        cpus: 8,
        memory: Bytes(16 << 30),
        ..Machine::default()
    }
}

fn device() -> Device {
    Device {
        name: "nvme0n1".to_string(),
        model: Some("Sample SSD 512".to_string()),
        transport: Some("nvme".to_string()),
        rotational: Some(false),
        size: Bytes(512_110_190_592),
        logical_block: Bytes(512),
        physical_block: Bytes(4096),
        write_cache: Some("write back".to_string()),
        scheduler: Some("none".to_string()),
        read_ahead: Some(Bytes(128 << 10)),
        ..Device::default()
    }
}

/// The limit of the made-up disk: its link.
fn bottleneck(cells: &[CellFinding]) -> Bottleneck {
    let fastest = halfpower_analyse::peak(cells, Direction::Read).expect("the disk was measured");
    let mbps = fastest.mbps.value;
    let source = LevelSource::Environment("2 lanes at 8 GT/s, 128b/130b".to_string());
    Bottleneck {
        level: Some(LevelId::named("PCIe link", None)),
        fastest: Some(FastestCell { cell: fastest.settings, mbps }),
        stopped_by: StoppedBy::KnownRate {
            limit: KnownLimit::Advertised,
            limit_mbps: LINK_MBPS,
            share: mbps / LINK_MBPS,
            source,
        },
        next: Some(NextLimit::Level {
            level: LevelId::of(LevelKind::Processor),
            mbps: 5_240.0,
            by: NextLimitBy::ChargedTime,
        }),
        request_ceiling: None,
    }
}

/// Notes about the sample, in place of warnings.
fn warnings() -> Vec<Warning> {
    let notes = [
        "This is a sample: its numbers come from a formula, nothing was measured.",
        "The buffered paths were measured at 3 depths and 5 block sizes only.",
    ];
    notes.map(|note| Warning::Environment { note: note.to_string() }).to_vec()
}

/// The summary for the made-up disk: its link limits both directions.
fn summary(cells: &[CellFinding]) -> Summary {
    let stop = |rw| DirectionStop { rw, bottleneck: bottleneck(cells), doubt: None, test: None, explained: None };
    let stops = [Direction::Read, Direction::Write].map(stop).into();
    Summary { how_fast: how_fast(cells, 0.5), stops, ..Summary::default() }
}

/// Findings of a made-up disk, and the records behind them.
pub fn sample() -> (Findings, Vec<Record>) {
    let cells = cells();
    let records: Vec<Record> = cells.iter().flat_map(|cell| (0..3).map(|repeat| record(cell, repeat))).collect();
    let advice = [Pattern::Sequential, Pattern::Random]
        .into_iter()
        .flat_map(|pattern| [Direction::Read, Direction::Write].map(|rw| advice(&cells, pattern, rw)))
        .collect();
    let options = "rw,relatime".to_string();
    let kind = "ext4".to_string();
    let findings = Findings {
        target: "/srv/sample data".to_string(),
        machine: machine(),
        filesystem: Some(FileSystem { kind, options, block: Bytes(4096) }),
        device: Some(device()),
        started_unix_ms: 1_790_000_000_000,
        runs: records.len(),
        seconds: records.iter().map(|record| record.spent_ns as f64 / 1e9).sum(),
        summary: summary(&cells),
        headline: halfpower_analyse::headlines(&halfpower_record::Environment::default(), &cells, 0.5),
        levels: levels(),
        bottleneck: bottleneck(&cells),
        curves: curves(&cells),
        limits: WAYS.iter().map(limits).collect(),
        cost: WAYS.iter().flat_map(|way| [Bound::Charged, Bound::Soaker].map(|bound| cost(way, bound))).collect(),
        advice,
        far_end: None,
        fleet: None,
        attribution: Vec::new(),
        threads: vec![],
        warnings: warnings(),
        cells,
        harness_ns_per_io: Some(118.0),
        checks: None,
        imported: Vec::new(),
        beside: Vec::new(),
    };
    (findings, records)
}

#[allow(dead_code, reason = "the tests use the sample alone")]
fn main() -> std::io::Result<()> {
    let (findings, records) = sample();
    let mut out = BufWriter::new(stdout().lock());
    halfpower_report::html(&findings.into(), &records, "halfpower study '/srv/sample data' --budget 4m", &mut out)?;
    out.flush()
}
