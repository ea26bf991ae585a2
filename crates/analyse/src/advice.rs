//! Finds the cheapest settings within 5% of the best, for each pattern and direction.

use halfpower_spec::{Bytes, Direction, EngineName, Pattern, Rw, Workload};

use crate::path::{best, chosen as confirmed_choice};
use crate::policy::{self, Contender};
use crate::{Advice, CellFinding, FastestCell};

/// The cheapest settings within 5% of the best, for each pattern and direction with steady, usable cells.
///
/// Cheapest means the least charged processor time a megabyte. Among equals (within 5%) the smallest depth wins, then
/// the smallest block: they ask the least of an application. Cells with errors, cells that a cache answered, unsteady
/// cells and cells without a run that moved bytes are never advised.
pub fn advice(cells: &[CellFinding]) -> Vec<Advice> {
    let kinds = Pattern::ALL.iter().flat_map(|pattern| Direction::ALL.iter().map(move |rw| (*pattern, *rw)));
    kinds.filter_map(|(pattern, rw)| advise(pattern, rw, cells)).collect()
}

fn advise(pattern: Pattern, rw: Direction, cells: &[CellFinding]) -> Option<Advice> {
    let of_kind = cells.iter().filter(|cell| cell.pattern == pattern && cell.rw == rw && cell.trusted());
    let confirmed = confirmed_choice(of_kind.clone());
    let peak = confirmed.or_else(|| best(of_kind.clone()))?;
    let admitted = of_kind.filter(|cell| cell.chosen_mbps.is_some() || confirmed.is_none());
    // If the charge of any cell is unknown, cost does not decide.
    let priced = admitted.clone().all(|cell| cell.charged_us.is_some());
    let contender = |cell: &CellFinding| Contender {
        log_rate: cell.mbps.value.ln(),
        log_cost: cell.charged_ms_per_mb().filter(|_| priced).map_or(0.0, f64::ln),
        ease: (cell.total_depth(), Bytes(cell.bs_bytes), cell.cache),
    };
    let place = policy::advised(admitted.clone().map(contender), peak.mbps.value.ln())?;
    let chosen = admitted.clone().nth(place)?;
    Some(Advice {
        rw,
        pattern,
        settings: Workload {
            rw: Rw::of(pattern, rw),
            bs: Bytes(chosen.bs_bytes),
            iodepth: chosen.iodepth,
            threads: chosen.threads,
            cache: chosen.cache,
            engine: if chosen.engine == EngineName::Unknown { EngineName::Auto } else { chosen.engine },
            issuing: chosen.issuing,
            ..Workload::default()
        },
        mbps: chosen.mbps.value,
        // In the confirming runs, the advised cell may be the faster one by chance; the best remains what was chosen.
        share_of_peak: (chosen.mbps.value / peak.mbps.value).min(1.0),
        cpu_ms_per_mb: chosen.charged_ms_per_mb(),
        latency_ns_p99: chosen.latency_ns.p99,
        best: FastestCell { cell: peak.settings, mbps: peak.mbps.value },
        is_best: std::ptr::eq(chosen, peak),
    })
}
