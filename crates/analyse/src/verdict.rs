//! How fast, what stops it, what to set? The findings enter, three plain sentences leave.

use spec::Direction;

use crate::path::{cache_word, peak, settings_words};
use crate::{Advice, CellFinding, Curve, ExperimentFinding, format};

/// The answer in three sentences: how fast, what stops it and how that is known, what to set.
pub(crate) fn verdict(cells: &[CellFinding], curves: &[Curve], what_stops: String, advice: &[Advice]) -> Vec<String> {
    vec![how_fast(cells, curves), what_stops, what_to_set(advice)]
}

/// Where nothing was walked, the answers of the experiments, the first three of them.
pub(crate) fn of_experiments(experiments: &[ExperimentFinding]) -> Vec<String> {
    let answers = experiments.iter().filter(|experiment| experiment.ran);
    let told: Vec<String> = answers.take(3).map(|e| format!("{} {}", e.asks, e.answer)).collect();
    if told.is_empty() { vec!["None of the experiments could be run; each says why.".to_string()] } else { told }
}

fn how_fast(cells: &[CellFinding], curves: &[Curve]) -> String {
    let parts: Vec<String> = Direction::ALL.iter().filter_map(|rw| fastest(*rw, cells, curves)).collect();
    match parts.is_empty() {
        true => "How fast is not known: no run moved bytes without errors and without a cache.".to_string(),
        false => format!("How fast: {}.", parts.join("; ")),
    }
}

fn fastest(rw: Direction, cells: &[CellFinding], curves: &[Curve]) -> Option<String> {
    let best = peak(cells, rw)?;
    let same = |curve: &&Curve| {
        (curve.pattern, curve.rw, curve.cache, curve.iodepth) == (best.pattern, rw, best.cache, best.iodepth)
    };
    let half = curves.iter().find(same).map_or(String::new(), |curve| {
        let or_less = if curve.half_power_bracketed { "" } else { " or less" };
        format!(", half of it from {}{or_less}", format::size(curve.half_power_bs_bytes as f64))
    });
    let unsteady = if best.steady { "" } else { ", but not steadily" };
    Some(format!(
        "{rw}s reach {}{unsteady} ({} {}, {}{half})",
        format::mbps(best.mbps.value),
        best.pattern,
        cache_word(best.cache),
        settings_words(best)
    ))
}

fn what_to_set(advice: &[Advice]) -> String {
    let of = |rw| {
        let fastest = |one: &&Advice, other: &&Advice| one.mbps.total_cmp(&other.mbps);
        advice.iter().filter(|advice| advice.rw == rw).max_by(fastest)
    };
    let parts: Vec<String> = Direction::ALL
        .iter()
        .filter_map(|rw| of(*rw))
        .map(|advice| {
            let set = &advice.settings;
            format!(
                "for {}s {} I/O, {} blocks, {} deep ({} of the best, for {} ms of processor time a megabyte)",
                advice.rw,
                cache_word(set.cache),
                format::size(set.bs.0 as f64),
                set.iodepth,
                format::percent(advice.share_of_peak),
                format::two_digits(advice.cpu_ms_per_mb)
            )
        })
        .collect();
    match parts.is_empty() {
        true => "What to set: nothing can be advised from these runs.".to_string(),
        false => format!("What to set: {}.", parts.join("; ")),
    }
}
