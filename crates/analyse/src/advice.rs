//! Which settings get an application there for the least? Cells enter, for each order and direction the
//! cheapest settings within 5% of the best leave, in one sentence with the numbers that make the case.

use spec::{Bytes, Direction, Pattern, Rw, Workload};

use crate::path::{best, cache_word, settings_words};
use crate::{Advice, CellFinding, format};

/// Share of the best throughput that advised settings reach.
pub(crate) const NEAR_BEST: f64 = 0.95;
/// Costs that differ by less are equal: accounting knows them no better.
const SAME_COST: f64 = 0.05;

/// The cheapest settings within 5% of the best, for each pattern and direction that has steady, usable cells.
///
/// Cheapest is the least charged processor time a megabyte. Of equals (within 5%) the smallest depth is taken,
/// then the smallest block: they ask the least of an application. A cell with errors, out of a cache, not steady
/// or without a run that moved bytes is never advised.
pub fn advice(cells: &[CellFinding]) -> Vec<Advice> {
    let kinds = Pattern::ALL.iter().flat_map(|pattern| Direction::ALL.iter().map(move |rw| (*pattern, *rw)));
    kinds.filter_map(|(pattern, rw)| advise(pattern, rw, cells)).collect()
}

fn advise(pattern: Pattern, rw: Direction, cells: &[CellFinding]) -> Option<Advice> {
    let of_kind = cells.iter().filter(|cell| cell.pattern == pattern && cell.rw == rw && cell.trusted());
    let peak = best(of_kind.clone())?;
    let near: Vec<&CellFinding> = of_kind.filter(|cell| cell.mbps.value >= NEAR_BEST * peak.mbps.value).collect();
    let cheapest = near.iter().map(|cell| cell.charged_ms_per_mb()).reduce(f64::min)?;
    let affordable = near.into_iter().filter(|cell| cell.charged_ms_per_mb() <= cheapest * (1.0 + SAME_COST));
    let ease = |cell: &&CellFinding| (cell.total_depth(), cell.bs_bytes, cell.cache);
    let chosen = affordable.min_by_key(ease)?;
    Some(Advice {
        rw,
        pattern,
        settings: Workload {
            rw: Rw::of(pattern, rw),
            bs: Bytes(chosen.bs_bytes),
            iodepth: chosen.iodepth,
            threads: chosen.threads,
            cache: chosen.cache,
            engine: chosen.engine,
            ..Workload::default()
        },
        mbps: chosen.mbps.value,
        share_of_peak: chosen.mbps.value / peak.mbps.value,
        cpu_ms_per_mb: chosen.charged_ms_per_mb(),
        p99_us: chosen.latency_us.p99,
        sentence: sentence(chosen, peak),
    })
}

fn sentence(chosen: &CellFinding, peak: &CellFinding) -> String {
    let threads = if chosen.threads > 1 { format!(", {} threads", chosen.threads) } else { String::new() };
    let share = if std::ptr::eq(chosen, peak) {
        "the best measured".to_string()
    } else {
        let elsewhere =
            if chosen.cache == peak.cache { String::new() } else { format!("{}, ", cache_word(peak.cache)) };
        format!(
            "{} of the best ({} at {elsewhere}{})",
            format::percent(chosen.mbps.value / peak.mbps.value),
            format::mbps(peak.mbps.value),
            settings_words(peak)
        )
    };
    format!(
        "For {} {}s: {} I/O, {} blocks, {} deep{threads}: {}, {share}, for {} ms of processor a megabyte, p99 {}.",
        chosen.pattern,
        chosen.rw,
        cache_word(chosen.cache),
        format::size(chosen.bs_bytes as f64),
        chosen.iodepth,
        format::mbps(chosen.mbps.value),
        format::two_digits(chosen.charged_ms_per_mb()),
        format::time_us(chosen.latency_us.p99),
    )
}
