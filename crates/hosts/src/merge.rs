//! Merges the records of two processes that made one run together.
//!
//! Counts, bytes and histograms are added. Only one process of each computer reports what concerns the whole computer,
//! so those sums, `cpu.span_ns` included, are over computers, and shares of them are means over computers.

use halfpower_record::{
    ByDirection, Cpu, CpuTimes, LaneRecord, LaneSide, Latency, Noise, Record, Series, Soaker, Tcp, Trims,
};

/// Merges both records; the length of the window is set later (`Part::whole`).
pub(crate) fn records(mut own: Record, other: Record) -> Record {
    own.latency.merge(&other.latency);
    own.syncs.merge(&other.syncs);
    for (kind, count) in other.errors {
        *own.errors.entry(kind).or_default() += count;
    }
    own.discarded.extend(other.discarded);
    Record {
        span_bytes: own.span_bytes + other.span_bytes,
        spread_bytes: own.spread_bytes.max(other.spread_bytes),
        started_unix_ms: own.started_unix_ms.min(other.started_unix_ms),
        spent_ns: own.spent_ns.max(other.spent_ns),
        elapsed_ns: own.elapsed_ns.max(other.elapsed_ns),
        flush_ns: own.flush_ns.max(other.flush_ns),
        bytes: own.bytes + other.bytes,
        ios: own.ios + other.ios,
        read_ios: own.read_ios + other.read_ios,
        short_transfers: own.short_transfers + other.short_transfers,
        overdue_ios: own.overdue_ios + other.overdue_ios,
        resubmitted_ios: own.resubmitted_ios + other.resubmitted_ios,
        achieved_depth: own.achieved_depth + other.achieved_depth,
        by_direction: both(own.by_direction, other.by_direction, by_direction),
        trims: both(own.trims, other.trims, trims),
        cpu: cpu(own.cpu, other.cpu),
        lanes: lanes(own.lanes, &other.lanes),
        series: series(own.series, &other.series),
        harness_ns_per_io: own.harness_ns_per_io.max(other.harness_ns_per_io),
        cached_bytes: own.cached_bytes.zip(other.cached_bytes).map(|(own, other)| own + other),
        buffer_segments: both(own.buffer_segments, other.buffer_segments, f64::max),
        noise: noise(own.noise, other.noise),
        client_ns_per_io: both(own.client_ns_per_io, other.client_ns_per_io, |own, other| {
            1.0 / (1.0 / own + 1.0 / other)
        }),
        tcp: both(own.tcp, other.tcp, |own, other| Box::new(tcp(*own, *other))),
        far_end: own.far_end.or(other.far_end),
        anatomy: own.anatomy.or(other.anatomy),
        ..own
    }
}

/// Joins two values; if only one is there, returns that one.
fn both<T>(own: Option<T>, other: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (own, other) {
        (Some(own), Some(other)) => Some(join(own, other)),
        (own, other) => own.or(other),
    }
}

fn merged(mut own: Latency, other: &Latency) -> Latency {
    own.merge(other);
    own
}

fn by_direction(own: ByDirection, other: ByDirection) -> ByDirection {
    ByDirection {
        read_bytes: own.read_bytes + other.read_bytes,
        read_latency: merged(own.read_latency, &other.read_latency),
        write_latency: merged(own.write_latency, &other.write_latency),
    }
}

fn trims(own: Trims, other: Trims) -> Trims {
    Trims {
        ios: own.ios + other.ios,
        bytes: own.bytes + other.bytes,
        latency: merged(own.latency, &other.latency),
        write_latency: merged(own.write_latency, &other.write_latency),
    }
}

fn cpu(own: Cpu, other: Cpu) -> Cpu {
    let spans = [own.span_ns as f64, other.span_ns as f64];
    let soaker = both(own.soaker, other.soaker, |own, other| Soaker {
        lost_ns: own.lost_ns + other.lost_ns,
        baseline_share: weighted([own.baseline_share, other.baseline_share], spans),
    });
    let mut machine = own.machine;
    machine.resize(machine.len().max(other.machine.len()), CpuTimes::default());
    for (own, other) in machine.iter_mut().zip(&other.machine) {
        *own = CpuTimes {
            user_ns: own.user_ns + other.user_ns,
            system_ns: own.system_ns + other.system_ns,
            irq_ns: own.irq_ns + other.irq_ns,
            softirq_ns: own.softirq_ns + other.softirq_ns,
            steal_ns: own.steal_ns + other.steal_ns,
            idle_ns: own.idle_ns + other.idle_ns,
        };
    }
    Cpu {
        span_ns: own.span_ns + other.span_ns,
        ios: own.ios + other.ios,
        user_ns: own.user_ns + other.user_ns,
        system_ns: own.system_ns + other.system_ns,
        waited_ns: own.waited_ns + other.waited_ns,
        machine,
        soaker,
    }
}

/// Merges the connections of both.
fn tcp(own: Tcp, other: Tcp) -> Tcp {
    let connections = [own.connections as f64, other.connections as f64];
    let mean = |of: fn(&Tcp) -> u64| weighted([of(&own) as f64, of(&other) as f64], connections) as u64;
    let least = [own.least_round_trip_ns, other.least_round_trip_ns];
    Tcp {
        connections: own.connections + other.connections,
        round_trip_ns: mean(|tcp| tcp.round_trip_ns),
        least_round_trip_ns: least.into_iter().filter(|ns| *ns > 0).min().unwrap_or(0),
        congestion_window_bytes: own.congestion_window_bytes + other.congestion_window_bytes,
        peer_window_bytes: both(own.peer_window_bytes, other.peer_window_bytes, |own, other| own + other),
        own_window_bytes: own.own_window_bytes + other.own_window_bytes,
        sent_bytes: own.sent_bytes + other.sent_bytes,
        received_bytes: own.received_bytes + other.received_bytes,
        sent_segments: own.sent_segments + other.sent_segments,
        retransmitted_segments: own.retransmitted_segments + other.retransmitted_segments,
        delivery_bytes_per_s: own.delivery_bytes_per_s + other.delivery_bytes_per_s,
        window_limited_ns: mean(|tcp| tcp.window_limited_ns),
    }
}

/// Weighted mean of two values; the plain mean if both weights are zero.
fn weighted(values: [f64; 2], weights: [f64; 2]) -> f64 {
    let sum = weights[0] + weights[1];
    if sum > 0.0 { (values[0] * weights[0] + values[1] * weights[1]) / sum } else { (values[0] + values[1]) / 2.0 }
}

/// Merges lane by lane, the first with the first; lanes that only one record has are kept.
fn lanes(own: Vec<LaneRecord>, other: &[LaneRecord]) -> Vec<LaneRecord> {
    let mut lanes = own;
    let more = lanes.len().min(other.len());
    lanes.iter_mut().zip(other).for_each(|(own, other)| *own = lane(*own, *other));
    lanes.extend_from_slice(&other[more..]);
    lanes
}

fn lane(own: LaneRecord, other: LaneRecord) -> LaneRecord {
    let side = |own: Option<LaneSide>, other: Option<LaneSide>| both(own, other, lane_side);
    LaneRecord {
        role: own.role,
        cpu: own.cpu.filter(|cpu| Some(*cpu) == other.cpu),
        elapsed_ns: own.elapsed_ns.max(other.elapsed_ns),
        bytes: own.bytes + other.bytes,
        ios: own.ios + other.ios,
        reads: side(own.reads, other.reads),
        writes: side(own.writes, other.writes),
    }
}

fn lane_side(own: LaneSide, other: LaneSide) -> LaneSide {
    let weights = [own.ios as f64, other.ios as f64];
    let mean = weighted([own.latency_ns_mean, other.latency_ns_mean], weights);
    // The variance of all requests: the variance within each side plus that of the sides' means.
    let variance = |side: LaneSide| side.latency_ns_deviation.powi(2) + (side.latency_ns_mean - mean).powi(2);
    LaneSide {
        ios: own.ios + other.ios,
        bytes: own.bytes + other.bytes,
        latency_ns_mean: mean,
        latency_ns_deviation: weighted([variance(own), variance(other)], weights).sqrt(),
    }
}

/// Adds step by step; the series ends with the shorter of the two.
fn series(own: Series, other: &Series) -> Series {
    if own.step_ns != other.step_ns {
        return Series::default();
    }
    let bytes = own.bytes.iter().zip(&other.bytes).map(|(own, other)| own + other).collect();
    Series { bytes, ..own }
}

/// Adds what both know, and takes the lower processor frequency.
fn noise(own: Noise, other: Noise) -> Noise {
    let sum = |own: Option<u64>, other: Option<u64>| own.zip(other).map(|(own, other)| own + other);
    Noise {
        pressure_io_ns: sum(own.pressure_io_ns, other.pressure_io_ns),
        pressure_cpu_ns: sum(own.pressure_cpu_ns, other.pressure_cpu_ns),
        device_bytes: sum(own.device_bytes, other.device_bytes),
        cpu_mhz: both(own.cpu_mhz, other.cpu_mhz, f64::min),
    }
}
