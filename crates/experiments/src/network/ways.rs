//! Compares the ways to the same files: past the share, through it on the same machine, and over the wire.

use halfpower_analyse::{CellFinding, ExperimentCell};
use halfpower_record::FarEndMachine;
use halfpower_spec::{Direction, JsonSchema, Way};
use serde::Serialize;

use super::sealed::soaked_us;
use crate::data::ExperimentData;

/// The result of one way in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WayRate {
    /// Which way the bytes go.
    pub rw: Direction,
    /// The way that requests took.
    pub way: Way,
    /// The best rate in MB/s.
    pub mbps: f64,
    /// Block size of that rate.
    pub bs_bytes: u64,
    /// Depth of that rate.
    pub iodepth: u32,
    /// Processor time per megabyte; `null` if no soaker ran beside the requests.
    pub bill: Option<WayCost>,
}

/// Processor time of all machines involved, by the soaker.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WayCost {
    /// Block size of the requests.
    pub bs_bytes: u64,
    /// Milliseconds per decimal megabyte at the machine that sends the requests: the client over the wire, else the
    /// server.
    pub ms_per_mb: f64,
    /// Milliseconds per decimal megabyte at the server when requests come over the wire, without what it spends at
    /// rest; `null` for the other ways, and if unknown.
    pub far_ms_per_mb: Option<f64>,
}

/// Order in the report: nearest to the disk first.
const ORDER: [Way; 3] = [Way::Local, Way::SameMachine, Way::Wire];

/// The ways that were measured, by direction; empty if only the wire was.
pub(crate) fn way_rates(data: &ExperimentData) -> Vec<WayRate> {
    let mut rates = Vec::new();
    for rw in Direction::ALL.iter().copied() {
        let of_this = ORDER.into_iter().filter_map(|way| way_rate(data, rw, way));
        let ways: Vec<WayRate> = of_this.collect();
        if ways.iter().any(|rate| rate.way != Way::Wire) {
            rates.extend(ways);
        }
    }
    rates
}

fn way_rate(data: &ExperimentData, rw: Direction, way: Way) -> Option<WayRate> {
    let is_of_walk = |cell: &&ExperimentCell| {
        let options = cell.workload.options;
        let sealing = if way == Way::Wire { data.question.sealing } else { options.sealing };
        cell.finding.rw == rw && options.way == way && options.sealing == sealing && options.connections == 1
    };
    let cells: Vec<&ExperimentCell> = data.sound().filter(is_of_walk).collect();
    let best = cells
        .iter()
        .copied()
        .reduce(|best, cell| if cell.finding.mbps.value > best.finding.mbps.value { cell } else { best })?;
    let billed = cells.iter().filter(|cell| cell.finding.soaker_us.is_some()).max_by_key(|cell| cell.workload.bs);
    Some(WayRate {
        rw,
        way,
        mbps: best.finding.mbps.value,
        bs_bytes: best.workload.bs.0,
        iodepth: best.workload.iodepth,
        bill: billed.and_then(|cell| bill(&cell.finding, data.environment.far_end.as_ref())),
    })
}

fn bill(cell: &CellFinding, far_end: Option<&FarEndMachine>) -> Option<WayCost> {
    // 1 us per byte is 1,000 ms per decimal megabyte.
    let ms = |us: f64| us * 1e3 / cell.bs_bytes as f64;
    let far = cell.far_end.as_ref().zip(far_end.filter(|far_end| !far_end.is_this_machine));
    let far = far.map(|(far, machine)| {
        let at_rest_us = machine.idle_cores.unwrap_or(0.0) * far.span_us;
        far.soaker_us.unwrap_or((far.machine_us - at_rest_us).max(0.0))
    });
    Some(WayCost { bs_bytes: cell.bs_bytes, ms_per_mb: ms(soaked_us(cell)?), far_ms_per_mb: far.map(ms) })
}
