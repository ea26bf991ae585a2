//! Computes what follows by arithmetic from our rates, from a machine's constants and from the published prices.

use crate::reproduction::answers::{self, Answer, alone, best};
use crate::reproduction::bench::Bench;
use crate::reproduction::figures::figures;
use crate::reproduction::workload::PaperWorkload;

const KIB: f64 = 1024.0;
/// The disks with a price, each with the figure that states it in dollars.
const PRICES: [(&str, &str); 2] =
    [("win2k-atlas10k", "chung-t2-price-atlas"), ("win2k-3ware5400", "chung-t2-price-fireball")];
/// The disk for whose price the study buys several cheaper ones.
const DEAR: &str = "win2k-atlas10k";
/// Disks on one bus that are enough to fill it.
const ENOUGH_DISKS: u32 = 4;

/// Computes one quantity of one workload, by arithmetic or by runs alone.
pub fn answer(bench: &mut Bench, quantity: &str, workload: &PaperWorkload) -> Answer {
    if let Some(found) = of_constants(bench, quantity, workload)? {
        return Ok(Some(found));
    }
    if let Some(found) = of_rates(bench, quantity, workload)? {
        return Ok(Some(found));
    }
    if let Some(found) = of_prices(bench, quantity, workload)? {
        return Ok(Some(found));
    }
    answers::answer(bench, quantity, workload)
}

/// Quantities of a machine's constants and a workload's numbers.
fn of_constants(bench: &mut Bench, quantity: &str, workload: &PaperWorkload) -> Answer {
    let system = bench.system(workload.system)?;
    let size = workload.sizes.first().map(|bytes| f64::from(*bytes));
    let depth = workload.depths.first().map(|depth| f64::from(*depth));
    Ok(match quantity {
        "capacity" => Some(system.disk.capacity_gb),
        "bus_rate" => Some(system.bus.mbps),
        "requests_per_chunk" => size.map(|bytes| system.volume.chunk_kib as f64 * KIB / bytes),
        "depth_per_disk" => depth.map(|depth| depth / f64::from(workload.setting.disks)),
        _ => None,
    })
}

/// Quantities of several rates.
fn of_rates(bench: &mut Bench, quantity: &str, workload: &PaperWorkload) -> Answer {
    Ok(match quantity {
        "bus_limit_sum" => {
            let mut one = workload.clone();
            one.setting.buses = 1;
            one.setting.disks = ENOUGH_DISKS;
            let each = best(bench, &one, |run| run.outcome.mbps())?;
            Some(each * f64::from(workload.setting.buses))
        }
        "disks_supported" => {
            let all = best(bench, workload, |run| run.outcome.iops())?;
            let one = PaperWorkload { depths: vec![1], ..alone(workload) };
            Some(all / best(bench, &one, |run| run.outcome.iops())?)
        }
        _ => None,
    })
}

/// Quantities of a rate or a capacity and of the price of the disk.
fn of_prices(bench: &mut Bench, quantity: &str, workload: &PaperWorkload) -> Answer {
    let bought = match quantity {
        "mb_per_dollar" => bench.system(workload.system)?.disk.capacity_gb * 1e3,
        "throughput_per_price" => best(bench, workload, |run| run.outcome.mbps())?,
        "price_per_kaps" | "kaps_per_dollar" | "maps_per_dollar" | "iops_per_price" | "iops_at_equal_price" => {
            best(bench, workload, |run| run.outcome.iops())?
        }
        _ => return Ok(None),
    };
    let Some(price) = disk_price(workload.system) else { return Ok(None) };
    Ok(match quantity {
        "price_per_kaps" => Some(price / bought),
        "iops_at_equal_price" => disk_price(DEAR).map(|dear| bought * dear / price),
        _ => Some(bought / price),
    })
}

/// The published price of a system's disk, in dollars.
fn disk_price(system: &str) -> Option<f64> {
    let (_, id) = PRICES.iter().find(|(priced, _)| *priced == system)?;
    figures().into_iter().find(|figure| figure.id == *id).map(|figure| figure.value)
}
