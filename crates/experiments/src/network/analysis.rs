//! Finds the rates of a share, its half-power points, round trips per request, and the effect of more connections and
//! of sealing.

use halfpower_analyse::{ExperimentCell, Interval, Requests, has_settings};
use halfpower_spec::{Direction, InOrder, JsonSchema, Sealing, Way, Workload};
use serde::Serialize;

use super::sealed::{SealingCost, sealing_costs};
use super::ways::{WayRate, way_rates};
use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Results of a share.
    pub network: Vec<NetworkRow>,
}

/// Sequential requests to a share, or to the folder behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct NetworkRow {
    /// Its requests.
    #[serde(flatten)]
    pub requests: Requests,
    /// Number of connections.
    pub connections: u32,
    /// Whether messages were signed or encrypted.
    pub sealing: Sealing,
    /// The way that requests took.
    pub way: Way,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Requests a second.
    pub iops: f64,
    /// Median latency in nanoseconds; `None` if not known.
    pub latency_ns_p50: Option<u64>,
    /// The network's shortest round trip in microseconds; `null` if TCP does not tell.
    pub round_trip_us: Option<f64>,
    /// Processor time per request charged at this end, in microseconds.
    pub charged_us: Option<f64>,
    /// Processor time per request by the soaker at this end, in microseconds; `null` without a soaker pass.
    pub soaker_us: Option<f64>,
    /// Processor time of the whole far end per request, in microseconds; `null` without a witness there.
    pub far_us: Option<f64>,
}

/// The performance of a share.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct NetworkAnswer {
    /// One entry per measured direction.
    pub directions: Vec<ShareRate>,
    /// The gain from more connections, by direction.
    pub connections: Vec<MoreConnections>,
    /// The cost of signing and encryption by direction, large blocks first.
    pub sealing: Vec<SealingCost>,
    /// The rate of each way by direction, nearest to the disk first; empty if only the wire was measured.
    pub ways: Vec<WayRate>,
}

/// One direction of a share over one connection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShareRate {
    /// Its requests.
    #[serde(flatten)]
    pub requests: Requests,
    /// The best rate in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// At each depth, the smallest block size that gives half of the best rate; depths without one are left out.
    pub half_power: Vec<HalfPowerAt>,
    /// Median latency of the smallest request at depth 1, in round trips of the network; `null` if the round trip is
    /// not known.
    pub round_trips: Option<f64>,
    /// Block size of that request.
    pub smallest_bs_bytes: u64,
    /// Processor time at this end per decimal megabyte at the best rate, in milliseconds.
    pub ms_per_mb: Option<f64>,
    /// Processor time of the whole far end per decimal megabyte at the best rate, in milliseconds, including what it
    /// spends at rest; `null` without a witness there.
    pub far_ms_per_mb: Option<f64>,
}

/// The half-power block size at one depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HalfPowerAt {
    /// The depth.
    pub iodepth: u32,
    /// The smallest block size from which all larger ones give at least half of the best rate.
    pub bs_bytes: u64,
}

/// The gain from more connections for the same number of requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MoreConnections {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Requests in flight over all connections.
    pub iodepth: u32,
    /// Number of connections.
    pub connections: u32,
    /// Rate as a multiple of that over one connection.
    pub times: RatioFinding,
}

/// The half-power point: at least half of the best rate.
const HALF: f64 = 0.5;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, NetworkAnswer) {
    let mut network: Vec<NetworkRow> = data.sound().map(row).collect();
    network.order_by_key(|row| (row.rw, row.way, row.sealing, row.connections, row.iodepth, row.bs_bytes));
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
    let finding = &cell.finding;
    let options = &cell.workload.options;
    let Interval { value: mbps, low, high } = finding.mbps;
    NetworkRow {
        requests: finding.requests(),
        connections: options.connections,
        sealing: options.sealing,
        way: options.way,
        mbps,
        low,
        high,
        iops: finding.iops,
        latency_ns_p50: finding.latency_ns.p50,
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
        Some(row.latency_ns_p50? as f64 / 1e3 / round_trip_us)
    });
    let soaked_us = best.soaker_us.map(|us| us.max(best.charged_us.unwrap_or(0.0)));
    // 1 us per byte is 1,000 ms per decimal megabyte.
    let per_mb = |us: Option<f64>| us.map(|us| us * 1e3 / best.bs_bytes as f64);
    Some(ShareRate {
        requests: best.requests,
        mbps: best.mbps,
        low: best.low,
        high: best.high,
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

has_settings!(ShareRate, requests: Requests);
has_settings!(NetworkRow, requests: Requests);

#[cfg(test)]
mod tests {
    use halfpower_record::{
        Ability, CpuTimes, Environment, FarBill, FarEnd, FarEndMachine, Latency, Record, Soaker, Tcp,
    };
    use halfpower_spec::{
        Bytes, Direction, EngineName, Experiment, Pass, Question, Rw, Sealing, Way, Workload, WorkloadOptions,
    };

    use super::NetworkAnswer;
    use crate::built::{disk, record_at};
    use crate::network::sealed::Sealed;
    use crate::section::ExperimentSection;
    use crate::study_findings::analyse;
    use crate::table::ExperimentAnswer;

    /// Round trip, and the server's time per request, in microseconds.
    const ROUND_TRIP_US: f64 = 100.0;
    const SERVER_US: f64 = 50.0;
    /// Rate of the wire in MB/s.
    const WIRE_MBPS: f64 = 112.0;
    /// Processor time of the far end per byte, in nanoseconds.
    const FAR_NS: f64 = 2.0;
    /// For plain, signed and encrypted messages: share of the plain rate, and factor on the processor time at both ends.
    const LEFT: [f64; 3] = [1.0, 0.8, 0.5];
    const TIMES: [f64; 3] = [1.0, 1.5, 3.0];
    /// Processor time charged at this end per plain byte, in nanoseconds.
    const NEAR_NS: f64 = 1.0;

    fn runs(rw: Rw, bs: u64, iodepth: u32, connections: u32) -> Vec<Record> {
        sealed_runs(rw, (bs, iodepth), connections, Sealing::AsAsked)
    }

    fn sealed_runs(rw: Rw, (bs, iodepth): (u64, u32), connections: u32, sealing: Sealing) -> Vec<Record> {
        let options = WorkloadOptions { connections, sealing, ..WorkloadOptions::default() };
        let left = LEFT[sealing as usize];
        let times = TIMES[sealing as usize];
        let workload = Workload { rw, bs: Bytes(bs), iodepth, options, ..Workload::default() };
        let run = |repeat: u32| {
            let alone = ROUND_TRIP_US + SERVER_US;
            let mbps = left * WIRE_MBPS.min(f64::from(iodepth) * bs as f64 / alone) * (1.0 + 0.002 * f64::from(repeat));
            let mut record = record_at(&disk(""), workload, repeat, Pass::Plain, mbps * 1e6);
            record.engine = EngineName::Smb;
            record.run.experiment = Some(Experiment::Network);
            record.latency = Latency::default();
            (0..10).for_each(|_| record.latency.add((alone * 1e3) as u64));
            let least_round_trip_ns = (ROUND_TRIP_US * 1e3) as u64;
            record.tcp = Some(Box::new(Tcp { connections: connections.into(), least_round_trip_ns, ..Tcp::default() }));
            (record.cpu.user_ns, record.cpu.system_ns) = (0, (times * NEAR_NS * record.bytes as f64) as u64);
            let cpu = CpuTimes { system_ns: (times * FAR_NS * record.bytes as f64) as u64, ..CpuTimes::default() };
            let bill = FarBill { span_ns: record.elapsed_ns, machine: vec![cpu; 1], ..FarBill::default() };
            record.far_end = Some(Box::new(FarEnd { bill, ..FarEnd::default() }));
            record
        };
        (0..3).map(run).collect()
    }

    #[test]
    fn rates_half_power_round_trips_and_bills_are_recovered() {
        let mut records = Vec::new();
        for rw in [Rw::Read, Rw::Write] {
            for bs in [2 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20] {
                records.extend([1, 8].into_iter().flat_map(|depth| runs(rw, bs, depth, 1)));
            }
        }
        for connections in [1, 4] {
            records.extend(runs(Rw::Read, 64 << 10, 32, connections));
        }
        let question = Question { experiments: vec![Experiment::Network], ..Question::about("d") };
        let found = analyse(&question, &Environment::default(), &records);
        let section = &found.experiments[0];
        let Some(ExperimentAnswer::Network(answer)) = &section.found else { panic!("{section:?}") };
        let read = answer.directions.iter().find(|direction| direction.rw == Direction::Read).unwrap();
        assert!((read.mbps / WIRE_MBPS - 1.0).abs() < 0.01, "{read:?}");
        let halves: Vec<(u32, u64)> = read.half_power.iter().map(|half| (half.iodepth, half.bs_bytes)).collect();
        // 16 KiB per 150 us is 109 MB/s, and so is 2 KiB at depth 8.
        assert_eq!(halves, [(1, 16 << 10), (8, 2 << 10)]);
        assert!((read.round_trips.unwrap() - 1.5).abs() < 0.02, "{read:?}");
        assert!((read.far_ms_per_mb.unwrap() - FAR_NS).abs() < 0.05, "{read:?}");
        assert!(answer.connections[0].times.is_alike(), "{answer:?}");
        assert!(
            section.answer.contains("Reads reach 112 MB/s") && section.answer.contains("1.5 round trips"),
            "{section:?}"
        );
        assert!(
            section.answer.contains("32 reads in flight over 4 connections are as fast as over one"),
            "{section:?}"
        );
        assert_eq!((found.rows.network.network.len(), section.pictures.len()), (26, 2));
    }

    /// The section for 1 MiB and 4 KiB requests: default, signed and encrypted. `unavailable` lists what the server
    /// refuses.
    fn sealed_section(unavailable: &[Ability]) -> (ExperimentSection, NetworkAnswer) {
        let mut records = Vec::new();
        for (shape, sealing) in
            [(1 << 20, 8), (4 << 10, 1)].into_iter().flat_map(|shape| Sealing::ALL.iter().map(move |of| (shape, *of)))
        {
            records.extend(sealed_runs(Rw::Read, shape, 1, sealing));
        }
        let question = Question { experiments: vec![Experiment::Network], ..Question::about("d") };
        let mut environment = Environment::default();
        let reasons = unavailable.iter().map(|ability| (ability.clone(), "so it is".to_string()));
        environment.capabilities.unavailable = reasons.collect();
        let section = analyse(&question, &environment, &records).experiments.remove(0);
        let Some(ExperimentAnswer::Network(answer)) = section.found.clone() else { panic!("{section:?}") };
        (section, answer)
    }

    #[test]
    fn what_signing_and_encryption_cost_is_recovered() {
        let (section, answer) = sealed_section(&[]);
        assert_eq!(answer.sealing.len(), 4, "{answer:?}");
        for cost in &answer.sealing {
            let which = if cost.sealed == Sealed::Signed { 1 } else { 2 };
            assert_eq!(cost.than, Sealed::Plain);
            assert!((cost.times.interval.value / LEFT[which] - 1.0).abs() < 0.01 && cost.times.is_less(), "{cost:?}");
            let near = cost.near.unwrap();
            let far = cost.far.unwrap();
            assert!((near.ms / near.than_ms / TIMES[which] - 1.0).abs() < 0.02, "{cost:?}");
            assert!((far.than_ms - FAR_NS).abs() < 0.05 && (far.ms - TIMES[which] * FAR_NS).abs() < 0.1, "{cost:?}");
        }
        for words in [
            "Encrypted reads have 0.50 times (0.50 to 0.50) the rate of plain ones with 1 MiB 8 deep, 0.50 times",
            "a MB in 1 MiB costs 3.0 instead of 1.0 ms of processor time here, 6.0 instead of 2.0 there.",
        ] {
            assert!(section.answer.contains(words), "{}", section.answer);
        }
        let titles: Vec<&str> = section.pictures.iter().map(|picture| picture.title.as_str()).collect();
        assert!(titles.contains(&"Throughput by sealing"), "{titles:?}");
        // The share's rates come from unsealed messages only.
        assert!((answer.directions[0].mbps / WIRE_MBPS - 1.0).abs() < 0.01, "{answer:?}");
    }

    #[test]
    fn where_signatures_are_required_encryption_is_held_against_them() {
        let (section, answer) = sealed_section(&[Ability::PlainMessages]);
        assert!(answer.sealing.iter().all(|cost| (cost.sealed, cost.than) == (Sealed::Encrypted, Sealed::Signed)));
        assert_eq!(answer.sealing.len(), 2);
        assert!(section.answer.contains("the rate of signed ones") && !section.answer.contains("plain"), "{section:?}");
    }

    #[test]
    fn the_three_ways_are_told_with_what_a_byte_costs_by_each() {
        // For each way: rate over that of the wire, and the soaker's loss per byte at the sending machine, in nanoseconds.
        let truth = [(Way::Local, 10.0, 1.2), (Way::SameMachine, 4.0, 1.5), (Way::Wire, 1.0, 1.3)];
        let mut records = Vec::new();
        for (way, times, near_ns) in truth {
            for bs in [64 << 10, 1 << 20] {
                for mut record in runs(Rw::Read, bs, 8, 1) {
                    record.run.workload.options.way = way;
                    record.elapsed_ns = (record.elapsed_ns as f64 / times) as u64;
                    if way != Way::Wire {
                        (record.far_end, record.tcp) = (None, None);
                    }
                    let mut soaked = record.clone();
                    soaked.run.pass = Pass::Soaker;
                    let lost_ns = (near_ns * record.bytes as f64) as u64;
                    soaked.cpu.soaker = Some(Soaker { lost_ns, baseline_share: 1.0 });
                    records.extend([record, soaked]);
                }
            }
        }
        let question = Question { experiments: vec![Experiment::Network], ..Question::about("d") };
        let far_end = Some(FarEndMachine { ways: vec![Way::Local, Way::SameMachine], ..FarEndMachine::default() });
        let environment = Environment { far_end, ..Environment::default() };
        let section = analyse(&question, &environment, &records).experiments.remove(0);
        let Some(ExperimentAnswer::Network(answer)) = &section.found else { panic!("{section:?}") };
        assert_eq!(answer.ways.len(), 3, "{answer:?}");
        for (found, (way, times, near_ns)) in answer.ways.iter().zip(truth) {
            assert_eq!((found.rw, found.way), (Direction::Read, way));
            assert!((found.mbps / (times * WIRE_MBPS) - 1.0).abs() < 0.01, "{found:?}");
            let bill = found.bill.unwrap();
            assert!((bill.ms_per_mb - near_ns).abs() < 0.02, "{found:?}");
            assert_eq!(bill.far_ms_per_mb.is_some(), way == Way::Wire);
            assert!(bill.far_ms_per_mb.is_none_or(|far| (far - FAR_NS).abs() < 0.05), "{found:?}");
        }
        assert!(
            (answer.directions[0].mbps / WIRE_MBPS - 1.0).abs() < 0.01,
            "the share's rate is over the wire: {answer:?}"
        );
        assert!(section.answer.contains("MB/s locally at the server, "), "{}", section.answer);
        assert!(
            section.answer.contains("112 MB/s over the wire; a MB costs, in ms of processor time, 1.2 locally"),
            "{}",
            section.answer
        );
        assert!(section.pictures.iter().any(|picture| picture.title.contains("by way")));
    }
}
