//! Finds the rates of a share, its half-power points, round trips per request, and the effect of more connections and
//! of sealing.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Direction, Sealing, Way, Workload};

use super::answer::{HalfPowerAt, MoreConnections, NetworkAnswer, ShareRate};
use super::rows::{NetworkRow, Rows};
use super::sealed::sealing_costs;
use super::ways::way_rates;
use crate::data::ExperimentData;
use crate::ratio::Scale;

/// The half-power point: at least half of the best rate.
const HALF: f64 = 0.5;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, NetworkAnswer) {
    let mut network: Vec<NetworkRow> = data.sound().map(row).collect();
    network.sort_by_key(|row| (row.rw, row.way, row.sealing, row.connections, row.iodepth, row.bs_bytes));
    let walked: Vec<NetworkRow> = walked(&network, data.question.sealing).copied().collect();
    let directions = Direction::ALL.iter().filter_map(|rw| rate(&walked, *rw)).collect();
    let connections = Direction::ALL.iter().filter_map(|rw| more_connections(data, *rw)).collect();
    (Rows { network }, NetworkAnswer { directions, connections, sealing: sealing_costs(data), ways: way_rates(data) })
}

/// The rows of the walk over block size, depth and connections.
pub(super) fn walked(rows: &[NetworkRow], sealing: Sealing) -> impl Iterator<Item = &NetworkRow> {
    rows.iter().filter(move |row| row.sealing == sealing && row.way == Way::Wire)
}

fn row(cell: &ExperimentCell) -> NetworkRow {
    let (finding, Workload { bs, iodepth, options, .. }) = (&cell.finding, cell.workload);
    let Interval { value: mbps, low, high } = finding.mbps;
    NetworkRow {
        rw: finding.rw,
        bs_bytes: bs.0,
        iodepth,
        connections: options.connections,
        sealing: options.sealing,
        way: options.way,
        mbps,
        low,
        high,
        iops: finding.iops,
        latency_ns_p50: finding.latency_ns.p50.unwrap_or_default(),
        round_trip_us: finding.tcp.as_ref().and_then(|tcp| tcp.least_round_trip_us),
        charged_us: finding.charged_us,
        soaker_us: finding.soaker_us,
        far_us: finding.far_end.as_ref().map(|far| far.machine_us),
    }
}

fn rate(rows: &[NetworkRow], rw: Direction) -> Option<ShareRate> {
    let of_one: Vec<&NetworkRow> = rows.iter().filter(|row| row.rw == rw && row.connections == 1).collect();
    let best = of_one.iter().copied().reduce(|best, row| if row.mbps > best.mbps { row } else { best })?;
    let mut depths: Vec<u32> = of_one.iter().map(|row| row.iodepth).collect();
    depths.dedup();
    let half_power = depths.into_iter().filter_map(|iodepth| {
        let alike = of_one.iter().rev().filter(|row| row.iodepth == iodepth);
        // A single block size shows nothing about others.
        alike.clone().nth(1)?;
        let fast = alike.take_while(|row| row.mbps >= HALF * best.mbps);
        Some(HalfPowerAt { iodepth, bs_bytes: fast.last()?.bs_bytes })
    });
    let half_power: Vec<HalfPowerAt> = half_power.collect();
    let alone = of_one.iter().filter(|row| row.iodepth == 1).min_by_key(|row| row.bs_bytes);
    let round_trips = alone.and_then(|row| {
        let round_trip_us = row.round_trip_us.filter(|us| *us > 0.0)?;
        (row.latency_ns_p50 > 0).then(|| row.latency_ns_p50 as f64 / 1e3 / round_trip_us)
    });
    let soaked_us = best.soaker_us.map(|us| us.max(best.charged_us.unwrap_or(0.0)));
    // 1 us per byte is 1,000 ms per decimal megabyte.
    let per_mb = |us: Option<f64>| us.map(|us| us * 1e3 / best.bs_bytes as f64);
    Some(ShareRate {
        rw,
        mbps: best.mbps,
        bs_bytes: best.bs_bytes,
        iodepth: best.iodepth,
        half_power,
        round_trips,
        smallest_bs_bytes: alone.map_or(0, |row| row.bs_bytes),
        ms_per_mb: per_mb(soaked_us.or(best.charged_us)),
        far_ms_per_mb: per_mb(best.far_us),
    })
}

/// Compares the most connections, at the largest depth, with one.
fn more_connections(data: &ExperimentData, rw: Direction) -> Option<MoreConnections> {
    let cells: Vec<&ExperimentCell> = data.sound().filter(|cell| cell.finding.rw == rw).collect();
    let most = cells.iter().filter(|cell| cell.workload.options.connections > 1);
    let most = most.max_by_key(|cell| (cell.workload.iodepth, cell.workload.options.connections))?;
    let mut of_one = most.workload;
    of_one.options.connections = 1;
    let one = cells.iter().find(|cell| cell.workload == of_one)?;
    let times = Scale::of(cells.iter().copied()).times(&[most], &[one])?;
    let Workload { iodepth, options, .. } = most.workload;
    Some(MoreConnections { rw, iodepth, connections: options.connections, times })
}
