//! Writes the answer in three sentences: how fast, what stops it, what to set.

use halfpower_analyse::{Advice, Findings, Headline, HeadlineDoubt, peak};
use halfpower_experiments::StudyFindings;
use halfpower_spec::{Direction, cache_word, format};

use super::bottleneck;
use super::checks::explained_bottleneck;
use super::first_screen;
use super::settings::{self, size_and_depth};

/// Relative half width of an interval from which a rate counts as not known.
const MOST_REACH: f64 = 0.5;

/// The answer of a study; without walks, the answers of the first three experiments.
pub(crate) fn verdict(study: &StudyFindings) -> Vec<String> {
    if study.walked {
        return of_walks(study);
    }
    let answers = study.experiments.iter().filter(|experiment| experiment.ran);
    let reported: Vec<String> = answers.take(3).map(|e| format!("{} {}", e.asks, e.brief())).collect();
    if reported.is_empty() {
        vec!["None of the experiments could be run; each says why.".to_string()]
    } else {
        reported
    }
}

fn of_walks(study: &StudyFindings) -> Vec<String> {
    let what_stops = bottleneck::sentence(&study.bottleneck, study.doubt()) + &explained_bottleneck(study);
    vec![how_fast(study), what_stops, what_to_set(study)]
}

fn how_fast(findings: &StudyFindings) -> String {
    let parts: Vec<String> = findings.headline.iter().map(|headline| fastest(headline, findings)).collect();
    if parts.is_empty() {
        return format!("How fast is not known: {}.", first_screen::no_rates(findings));
    }
    let doubts: Vec<String> = findings.headline.iter().flat_map(doubts).collect();
    format!("How fast: {}.{}", parts.join("; "), doubts.concat())
}

fn fastest(headline: &Headline, findings: &Findings) -> String {
    let Headline { rw, cell, .. } = headline;
    let same = |curve: &&halfpower_analyse::Curve| {
        (curve.pattern, curve.rw, curve.cache, curve.iodepth) == (cell.pattern, *rw, cell.cache, cell.iodepth)
    };
    // Curves are those of the fewest threads.
    let has_fewest_threads =
        findings.cells.iter().all(|other| other.path() != cell.path() || other.threads >= cell.threads);
    let half =
        findings.curves.iter().find(same).filter(|_| has_fewest_threads).filter(|curve| curve.half_power_holds).map_or(
            String::new(),
            |curve| {
                let or_less = if curve.half_power_bracketed { "" } else { " or less" };
                format!(", half of it from {}{or_less}", format::size(curve.half_power_bs_bytes as f64))
            },
        );
    let is_unsteady = peak(&findings.cells, *rw).is_some_and(|cell| !cell.steady);
    let unsteady = if is_unsteady { ", but not steadily" } else { "" };
    let pattern = cell.pattern;
    let cache = cache_word(cell.cache);
    let settings = size_and_depth(cell);
    format!("{rw}s reach {}{unsteady} ({pattern} {cache}, {settings}{half})", rate(headline))
}

/// A rate such as `2,829 MB/s ±9%`; for writes, also the durable rate.
pub(crate) fn rate(headline: &Headline) -> String {
    let Headline { mbps, runs, durable_mbps, .. } = headline;
    let reach = mbps.relative_reach();
    let sure = match runs {
        0 | 1 => " in a single run".to_string(),
        _ if reach > MOST_REACH => ", not known to better than half".to_string(),
        _ => format!(" \u{b1}{}", format::percent(reach.max(0.01))),
    };
    let unwitnessed = headline.doubts.iter().any(|doubt| matches!(doubt, HeadlineDoubt::NoWitness));
    let whose = if unwitnessed { ", may be a cache's" } else { "" };
    let rate = format!("{}{sure}{whose}", format::mbps(mbps.value));
    match durable_mbps {
        Some(durable) => format!("{rate} accepted, {} durable", format::mbps(durable.value)),
        None => rate,
    }
}

/// Caveats about one rate, each a sentence after a space.
fn doubts(headline: &Headline) -> Vec<String> {
    let rw = headline.rw;
    let reported = headline.doubts.iter().map(|doubt| match doubt {
        HeadlineDoubt::NoWitness => {
            format!(" No device counter confirms the {rw}s: a cache may have answered.")
        }
        HeadlineDoubt::GuestsHost => {
            format!(" This machine is a guest: the memory of its host may have answered the {rw}s.")
        }
        HeadlineDoubt::Contradicted { device_share } => format!(
            " The device moved only {} of the bytes of these {rw}s: a cache answered the rest.",
            format::percent(*device_share)
        ),
        HeadlineDoubt::FasterThanReads => {
            " Writes are faster than reads: the memory of a device or a host may have taken them.".to_string()
        }
    });
    let more = headline.more_seconds.map(|seconds| {
        let time =
            if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", (seconds / 60.0).ceil()) };
        format!(" To know the {rw}s within 5% takes about {time} more.")
    });
    reported.chain(more).collect()
}

fn what_to_set(study: &StudyFindings) -> String {
    let parts: Vec<String> = Direction::ALL.iter().filter_map(|rw| set_for(study, *rw)).collect();
    match parts.is_empty() {
        true => "What to set: nothing can be advised from these runs.".to_string(),
        false => format!("What to set: {}.", parts.join("; ")),
    }
}

/// What to set for a direction: `for reads direct I/O, 256 KiB blocks, 8 deep (97% of the best)`.
fn set_for(study: &StudyFindings, rw: Direction) -> Option<String> {
    let cost = |ms: Option<f64>| {
        ms.map_or(String::new(), |ms| format!(", for {} ms of processor time a megabyte", format::two_digits(ms)))
    };
    // Where other memory of the buffers brings more than all that the walks tried, it is what is set.
    let from_memory = study.summary.what_to_set.uses.iter().filter(|advice| advice.cell.rw == rw).find_map(|advice| {
        let (iomem, gave) = (advice.iomem?, advice.measured?);
        let way = format!("{} I/O in {}", cache_word(advice.cell.cache), settings::pages(iomem));
        Some(format!(
            "for {rw}s {way}, {} blocks, {} ({}{})",
            format::size(advice.cell.bs_bytes as f64),
            first_screen::depth(&advice.cell),
            format::mbps(gave.mbps),
            cost(gave.cpu_s_per_gb)
        ))
    });
    let fastest = |one: &&Advice, other: &&Advice| one.mbps.total_cmp(&other.mbps);
    let of_walks = || {
        study.advice.iter().filter(|advice| advice.rw == rw).max_by(fastest).map(|advice| {
            let set = &advice.settings;
            format!(
                "for {rw}s {} I/O, {} blocks, {} ({} of the best{})",
                cache_word(set.cache),
                format::size(set.bs.0 as f64),
                first_screen::depth_of(set.threads, set.iodepth),
                format::percent(advice.share_of_peak),
                cost(advice.cpu_ms_per_mb)
            )
        })
    };
    from_memory.or_else(of_walks)
}
