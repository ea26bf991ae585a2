//! Computes a published quantity on a simulated machine.

use crate::reproduction::bench::{Bench, Measured, Outcome};
use crate::reproduction::workload::PaperWorkload;
use crate::{Array, SystemError};

const KIB: f64 = 1024.0;
/// Ratio from which a curve counts as flat, a depth as useless, or two settings as equal.
const NEARLY: f64 = 0.95;
/// Share of half power that counts as reached: the studies repeat within 3%.
const REPEATABLE: f64 = 0.97;

/// Our figure; `None` if runs do not give the quantity.
pub type Answer = Result<Option<f64>, SystemError>;

/// Computes one quantity of one workload.
pub fn answer(bench: &mut Bench, quantity: &str, workload: &PaperWorkload) -> Answer {
    let answered = match quantity {
        "throughput" => Some(best(bench, workload, |run| run.outcome.mbps())?),
        "least_throughput" => Some(-best(bench, workload, |run| -run.outcome.mbps())?),
        "iops" | "kaps" | "maps" => Some(best(bench, workload, |run| run.outcome.iops())?),
        "ios_per_revolution" => {
            let rpm = bench.system(workload.system)?.disk.rpm;
            Some(best(bench, workload, |run| run.outcome.iops())? / (rpm / 60.0))
        }
        "service_time" => Some(1e3 / best(bench, workload, |run| run.outcome.iops())?),
        _ => None,
    };
    if answered.is_some() {
        return Ok(answered);
    }
    if let Some(found) = size_or_depth(bench, quantity, workload)? {
        return Ok(Some(found));
    }
    if let Some(found) = processor(bench, quantity, workload)? {
        return Ok(Some(found));
    }
    traffic(bench, quantity, workload)
}

/// The best of a value over the sizes and depths of a workload; the mean over its operations if it has two.
pub fn best(bench: &mut Bench, workload: &PaperWorkload, value: impl Fn(&Measured) -> f64) -> Result<f64, SystemError> {
    let mut total = 0.0;
    for &write in &workload.writes {
        let mut best = f64::NEG_INFINITY;
        for &bytes in &workload.sizes {
            for &depth in &workload.depths {
                best = best.max(value(&bench.run(workload, write, bytes, depth)?));
            }
        }
        total += best;
    }
    Ok(total / workload.writes.len() as f64)
}

/// The mean of a value over the sizes, depths and operations of a workload.
fn mean(bench: &mut Bench, workload: &PaperWorkload, value: impl Fn(&Measured) -> f64) -> Result<f64, SystemError> {
    let mut total = 0.0;
    let mut count = 0.0;
    for &write in &workload.writes {
        for &bytes in &workload.sizes {
            for &depth in &workload.depths {
                total += value(&bench.run(workload, write, bytes, depth)?);
                count += 1.0;
            }
        }
    }
    Ok(total / count)
}

/// The throughput at each size, at the best depth.
fn curve(bench: &mut Bench, workload: &PaperWorkload) -> Result<Vec<(u32, f64)>, SystemError> {
    let sizes = workload.sizes.iter().map(|&bytes| {
        let one = PaperWorkload { sizes: vec![bytes], ..workload.clone() };
        Ok((bytes, best(bench, &one, |run| run.outcome.mbps())?))
    });
    sizes.collect()
}

fn in_kib(bytes: u32) -> f64 {
    f64::from(bytes) / KIB
}

/// Quantities that are the size in KB, the depth, or the number of disks at which something begins.
fn size_or_depth(bench: &mut Bench, quantity: &str, workload: &PaperWorkload) -> Answer {
    let all_sizes = PaperWorkload { sizes: (11..=20).map(|power| 1 << power).collect(), ..workload.clone() };
    Ok(match quantity {
        "plateau_start" | "dip_end" => {
            let curve = curve(bench, &all_sizes)?;
            let top = curve.iter().map(|point| point.1).fold(0.0, f64::max);
            curve.iter().find(|point| point.1 >= NEARLY * top).map(|point| in_kib(point.0))
        }
        "dip_start" | "plateau_end" => {
            let curve = curve(bench, &all_sizes)?;
            let top = curve.iter().map(|point| point.1).fold(0.0, f64::max);
            let high = curve.iter().rposition(|point| point.1 >= NEARLY * top).unwrap_or(0);
            let at = if quantity == "dip_start" { high + 1 } else { high };
            curve.get(at).map(|point| in_kib(point.0))
        }
        "parallel_request" => {
            let two = curve(bench, &all_sizes)?;
            let one = curve(bench, &alone(&all_sizes))?;
            two.iter().zip(&one).find(|(two, one)| two.1 > 1.2 * one.1).map(|(two, _)| in_kib(two.0))
        }
        "doubling_size" => {
            let two = curve(bench, &all_sizes)?;
            let one = curve(bench, &alone(&all_sizes))?;
            two.iter().zip(&one).find(|(two, one)| two.1 > 1.9 * one.1).map(|(two, _)| in_kib(two.0))
        }
        "half_power_request" => {
            let half = half_power(bench, workload)?;
            let curve = curve(bench, &all_sizes)?;
            curve.iter().find(|point| point.1 >= REPEATABLE * half).map(|point| in_kib(point.0))
        }
        "wce_equal_request" => {
            let mut cached = all_sizes.clone();
            cached.setting.write_cache = true;
            let ours = curve(bench, &all_sizes)?;
            let cached = curve(bench, &cached)?;
            let equal = ours.iter().zip(&cached).find(|(ours, cached)| ours.1 >= 0.75 * cached.1);
            equal.map(|(ours, _)| in_kib(ours.0))
        }
        "saturating_depth" => Some(saturating_depth(bench, workload)?),
        "reorder_free_depth" => Some(reorder_free_depth(bench, workload)?),
        "disks_to_saturate" => Some(disks_to_saturate(bench, workload)?),
        "outstanding_data_start" => Some(mirror_gain_start(bench, workload)?),
        "cost_flat_start" => Some(cost_flat_start(bench, &all_sizes)?),
        "breakeven_request" => Some(break_even(bench, &all_sizes)?),
        _ => None,
    })
}

/// The workload on one disk.
pub fn alone(workload: &PaperWorkload) -> PaperWorkload {
    let mut one = workload.clone();
    one.setting.disks = 1;
    one.setting.array = Array::Separate;
    one
}

/// Half of the advertised rate: of the bus for several disks, of the medium for one.
fn half_power(bench: &mut Bench, workload: &PaperWorkload) -> Result<f64, SystemError> {
    let system = bench.system(workload.system)?;
    let peak = if workload.setting.disks > 1 { system.bus.mbps } else { system.disk.outer_mbps };
    Ok(peak / 2.0)
}

fn saturating_depth(bench: &mut Bench, workload: &PaperWorkload) -> Result<f64, SystemError> {
    let sizes = if workload.sizes.len() > 1 { vec![4096] } else { workload.sizes.clone() };
    let mut at = PaperWorkload { sizes, depths: vec![1, 2, 3, 4, 8], ..workload.clone() };
    let top = best(bench, &at, |run| run.outcome.mbps())?;
    for depth in [1, 2, 3, 4] {
        at.depths = vec![depth];
        if best(bench, &at, |run| run.outcome.mbps())? >= NEARLY * top {
            return Ok(f64::from(depth));
        }
    }
    Ok(8.0)
}

fn reorder_free_depth(bench: &mut Bench, workload: &PaperWorkload) -> Result<f64, SystemError> {
    let mut at = PaperWorkload { depths: vec![1], ..workload.clone() };
    let one = best(bench, &at, |run| run.outcome.iops())?;
    let mut free = 1;
    for depth in [2, 3, 4, 8] {
        at.depths = vec![depth];
        if best(bench, &at, |run| run.outcome.iops())? * NEARLY > one {
            break;
        }
        free = depth;
    }
    Ok(f64::from(free))
}

/// The fewest disks that give five sixths of the throughput of more disks.
fn disks_to_saturate(bench: &mut Bench, workload: &PaperWorkload) -> Result<f64, SystemError> {
    let buses = workload.setting.buses;
    let counts: Vec<u32> = if buses > 1 { vec![3, 6, 9, 12] } else { (1..=5).collect() };
    let mut rates = Vec::with_capacity(counts.len());
    for &disks in &counts {
        let mut at = PaperWorkload { depths: vec![8, 16, 32], sizes: vec![64 << 10], ..workload.clone() };
        at.setting.disks = disks;
        at.setting.aligned = true;
        at.setting.buses = if buses > 1 { disks / 3 } else { 1 };
        at.setting.array = if disks > 1 { Array::SoftwareStripe } else { Array::Separate };
        rates.push((disks, best(bench, &at, |run| run.outcome.mbps())?));
    }
    let top = rates.iter().map(|point| point.1).fold(0.0, f64::max);
    let enough = rates.iter().find(|point| point.1 >= top * 5.0 / 6.0);
    Ok(enough.map_or(f64::NAN, |point| f64::from(point.0)))
}

/// The fewest KB outstanding with which a mirror reads faster than one disk, over all combinations of size and depth.
fn mirror_gain_start(bench: &mut Bench, workload: &PaperWorkload) -> Result<f64, SystemError> {
    let mut least = f64::INFINITY;
    let single = alone(workload);
    for &bytes in &workload.sizes {
        for &depth in &workload.depths {
            let pair = bench.run(workload, false, bytes, depth)?.outcome.mbps();
            let one = bench.run(&single, false, bytes, depth)?.outcome.mbps();
            if pair > 1.1 * one {
                least = least.min(in_kib(bytes) * f64::from(depth));
            }
        }
    }
    Ok(least)
}

/// The smallest size from which on a buffered request costs more than an unbuffered one.
fn break_even(bench: &mut Bench, workload: &PaperWorkload) -> Result<f64, SystemError> {
    let mut at = PaperWorkload { depths: vec![1], ..workload.clone() };
    let mut from = f64::INFINITY;
    for &bytes in workload.sizes.iter().rev() {
        at.sizes = vec![bytes];
        at.setting.buffered = false;
        let direct = mean(bench, &at, |run| run.outcome.us_per_request())?;
        at.setting.buffered = true;
        if mean(bench, &at, |run| run.outcome.us_per_request())? <= direct {
            break;
        }
        from = in_kib(bytes);
    }
    Ok(from)
}

/// The smallest size with the cost a byte of 64 KB.
fn cost_flat_start(bench: &mut Bench, workload: &PaperWorkload) -> Result<f64, SystemError> {
    let mut at = PaperWorkload { depths: vec![1], sizes: vec![64 << 10], ..workload.clone() };
    let cost = |run: &Measured| run.outcome.us_per_request() / f64::from(run.outcome.bytes);
    let flat = mean(bench, &at, cost)?;
    for &bytes in &workload.sizes {
        at.sizes = vec![bytes];
        if mean(bench, &at, cost)? * NEARLY <= flat {
            return Ok(in_kib(bytes));
        }
    }
    Ok(f64::INFINITY)
}

/// Processor seconds that count as the cost of a workload.
fn spent(workload: &PaperWorkload, outcome: &Outcome) -> f64 {
    let time = if workload.client { outcome.client } else { outcome.processor };
    if workload.charged { time.charged } else { time.total }
}

/// Quantities of processor time.
fn processor(bench: &mut Bench, quantity: &str, workload: &PaperWorkload) -> Answer {
    let host = bench.system(workload.system)?.host.clone();
    let client = bench.system(workload.system)?.network.as_ref().map_or(1, |network| network.client_processors);
    let count = if workload.client { client } else { workload.setting.processors.unwrap_or(host.processors) };
    let us = |run: &Measured| spent(workload, &run.outcome) * 1e6 / run.outcome.ios as f64;
    let shallow = PaperWorkload { depths: workload.depths[..1].to_vec(), ..workload.clone() };
    Ok(Some(match quantity {
        "cpu_per_request" => mean(bench, &shallow, us)?,
        "cpu_per_mb" => mean(bench, &shallow, |run| us(run) / f64::from(run.outcome.bytes) * KIB * KIB / 1e3)?,
        "cpu_utilisation" => {
            best(bench, workload, |run| spent(workload, &run.outcome) / run.outcome.seconds / f64::from(count))? * 100.0
        }
        "cpu_saturation_throughput" => {
            mean(bench, &shallow, |run| f64::from(run.outcome.bytes) / us(run))? * f64::from(count)
        }
        "cpu_fixed" => line(bench, &shallow, us)?.0,
        "cpu_marginal" => line(bench, &shallow, us)?.1,
        "instructions_per_byte" => {
            mean(bench, &shallow, |run| us(run) / f64::from(run.outcome.bytes))? * host.instructions_per_us
        }
        "instructions_per_request" => mean(bench, &shallow, us)? * host.instructions_per_us,
        "clocks_per_byte" => mean(bench, &shallow, |run| us(run) / f64::from(run.outcome.bytes))? * host.clock_mhz,
        _ => return Ok(None),
    }))
}

/// Cost a request as fixed + marginal x KB, from the ends of the range 4 KB to 64 KB.
fn line(bench: &mut Bench, workload: &PaperWorkload, us: impl Fn(&Measured) -> f64) -> Result<(f64, f64), SystemError> {
    let mut at = workload.clone();
    at.sizes = vec![4 << 10];
    let small = mean(bench, &at, &us)?;
    at.sizes = vec![64 << 10];
    let large = mean(bench, &at, &us)?;
    let marginal = (large - small) / 60.0;
    Ok((small - 4.0 * marginal, marginal))
}

/// The sizes of the commands that do what the workload does.
fn command_sizes<'a>(workload: &PaperWorkload, run: &'a Measured) -> &'a [u32] {
    if workload.writes == [true] { &run.observed.write_sizes } else { &run.observed.read_sizes }
}

/// Quantities of the traffic on the disks' buses.
fn traffic(bench: &mut Bench, quantity: &str, workload: &PaperWorkload) -> Answer {
    let pap = bench.system(workload.system)?.bus.mbps;
    let disk = bench.system(workload.system)?.disk.clone();
    let mut value = |value: &dyn Fn(&Measured) -> f64| best(bench, workload, value).map(Some);
    let largest = |sizes: &[u32]| sizes.iter().max().map_or(f64::NAN, |bytes| in_kib(*bytes));
    match quantity {
        "efficiency" => value(&|run| run.outcome.mbps() / pap * 100.0),
        "pci_efficiency" => value(&|run| run.outcome.mbps() / 133.0 * 100.0),
        "bus_throughput" => value(&|run| run.outcome.mbps() * 2.0),
        "bus_utilisation" => {
            value(&|run| (run.observed.bus_setup_ps + run.observed.bus_data_ps) as f64 / run.whole_seconds / 1e10)
        }
        "bus_setup_utilisation" => value(&|run| run.observed.bus_setup_ps as f64 / run.whole_seconds / 1e10),
        "bus_data_share" => value(&|run| {
            let busy = run.observed.bus_setup_ps + run.observed.bus_data_ps;
            run.observed.bus_data_ps as f64 / busy as f64 * 100.0
        }),
        "probability" => value(&|run| {
            let work = &run.observed.disks_at_work_ps;
            work.iter().skip(2).sum::<u64>() as f64 / work.iter().skip(1).sum::<u64>() as f64
        }),
        "drives_in_use" => value(&|run| {
            let work = &run.observed.disks_at_work_ps;
            let all = work.iter().sum::<u64>() as f64;
            work.iter().rposition(|time| *time as f64 > 0.01 * all).unwrap_or(0) as f64
        }),
        "queue_depth" | "requests_outstanding" => value(&|run| run.observed.most_outstanding as f64),
        "preread_unit" => value(&|run| largest(&run.observed.read_sizes)),
        "coalesce_unit" | "prefetch_unit" | "split_unit" | "largest_piece" => {
            value(&|run| largest(command_sizes(workload, run)))
        }
        "smallest_piece" => {
            value(&|run| -command_sizes(workload, run).iter().min().map_or(f64::NAN, |bytes| in_kib(*bytes)))
                .map(|found| found.map(|kib: f64| -kib))
        }
        "disk_requests_per_request" | "writes_per_block" => {
            value(&|run| (run.observed.reads + run.observed.writes) as f64 / run.whole_ios as f64)
        }
        "io_increase" => value(&|run| run.observed.reads as f64 / run.whole_ios as f64 * 100.0),
        "media_limit_sum" => {
            let one = alone(workload);
            let each = best(bench, &one, |run| run.outcome.mbps())?;
            Ok(Some(each * f64::from(workload.setting.disks)))
        }
        "media_transfer_time" => Ok(workload.sizes.first().map(|bytes| f64::from(*bytes) / disk.outer_mbps / 1e3)),
        "rate_ratio" => Ok(Some(pap / disk.outer_mbps)),
        "overhead_fixed" => {
            // A read of bytes that the drive already holds must be small enough for the read-ahead to keep up.
            let small = PaperWorkload { sizes: vec![2048], depths: vec![1], ..workload.clone() };
            let period_us = 1e6 / best(bench, &small, |run| run.outcome.iops())?;
            Ok(Some((period_us - 2048.0 / pap) / 1e3))
        }
        _ => Ok(None),
    }
}
