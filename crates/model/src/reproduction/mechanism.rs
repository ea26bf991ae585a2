//! Names the mechanism of the model behind a figure.

use crate::reproduction::workload::{PaperPattern, PaperWorkload};
use crate::{Allocation, Array};

/// Quantities of the traffic on the disks' buses, by the start of their names.
const TRAFFIC: [&str; 6] = ["split_unit", "largest_piece", "smallest_piece", "probability", "drives_in_use", "disk_"];
const CACHE_TRAFFIC: [&str; 5] = ["coalesce", "prefetch", "preread", "queue_depth", "requests_outstanding"];

/// The main mechanism behind a quantity of a workload.
pub fn mechanism(quantity: &str, workload: &PaperWorkload) -> &'static str {
    let begins = |words: &[&str]| words.iter().any(|word| quantity.starts_with(word));
    if begins(&["cpu_", "instructions_", "clocks_", "breakeven_", "cost_"]) {
        return cost(workload);
    }
    match () {
        () if begins(&CACHE_TRAFFIC) && workload.setting.buffered => "file cache: units of 64 KB, one at a time",
        () if begins(&TRAFFIC) => "volume: pieces and chunks",
        () if begins(&["bus_"]) => "bus: a command's set-up, its data, reselection",
        () => rate(workload),
    }
}

fn cost(workload: &PaperWorkload) -> &'static str {
    match () {
        () if over_network(workload) => "network: both ends' cost of a request and of a byte",
        () if workload.setting.pio => "host: the processor moves each byte itself",
        () if workload.setting.buffered => "file cache: call, copy and the transfers behind",
        () => "host: cost of a request and of a byte",
    }
}

fn over_network(workload: &PaperWorkload) -> bool {
    ["win2k-unc", "win2k-mapped", "win2k-gigabit"].contains(&workload.system)
}

/// What determines a throughput or a rate of requests.
fn rate(workload: &PaperWorkload) -> &'static str {
    let setting = &workload.setting;
    let writes = workload.writes.contains(&true);
    let random = workload.pattern == PaperPattern::Random;
    match () {
        () if over_network(workload) => "network: handshakes, stalls and one bus crossed twice",
        () if workload.pattern == PaperPattern::CacheHit => "adapter and peripheral bus: the drives' buffers answer",
        () if writes && setting.allocation != Allocation::Existing => "extension: one write at a time, zeroes first",
        () if setting.buffered && random => "file cache: one unit for each request",
        () if setting.buffered => "file cache: reading ahead and writing behind",
        () if setting.array == Array::Mirror => "mirror: both disks from 256 KB outstanding on",
        () if random => "arm: a seek and half a turn, the nearest first",
        () if setting.disks > 1 => "volume, bus and adapter: what disks share",
        () if setting.place > 0.0 => "disk: bands",
        () if writes && !setting.write_cache => "disk: a turn lost between writes",
        () if writes => "disk: writes gathered in its buffer",
        () => "disk: reading ahead at the rate of the medium",
    }
}
