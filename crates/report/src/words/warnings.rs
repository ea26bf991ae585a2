//! Writes the warnings, one or two sentences each.

use halfpower_analyse::{CellSettings, PathSettings, Unsteady, Warning};
use halfpower_spec::Experiment;
use halfpower_spec::format::{self, mbps, percent, thousands, time_us};

use super::settings::{cell, count, path, size_and_depth};
use super::{fleet, unsteady};

/// A warning as the report shows it. Each kind needs its own words; a new kind does not compile without them.
pub(crate) fn sentence(warning: &Warning) -> String {
    match warning {
        Warning::Environment { note } => note.clone(),
        Warning::RequestsFailed { cells, errors, worst, failed_ios } => {
            requests_failed(*cells, errors, worst, *failed_ios)
        }
        Warning::ShortTransfers { cells, worst, short_transfers: ios } => short_transfers(*cells, worst, *ios),
        Warning::OpenedCached { cells, worst, share } => opened_cached(*cells, worst, *share),
        Warning::AboveAdvertised { cells, fastest, mbps: reached, advertised_mbps } => {
            above_advertised(*cells, fastest, *reached, *advertised_mbps)
        }
        Warning::ExperimentAboveKnown { experiment, cells, of_cells, worst, mbps: reached, known_mbps } => {
            experiment_above_known(*experiment, (*cells, *of_cells), worst, *reached, *known_mbps)
        }
        Warning::SmallSpan { span_bytes, device_bytes, rotational } => {
            small_span(*span_bytes, *device_bytes, *rotational)
        }
        Warning::PageCacheAnswered { cells, fastest, mbps: reached } => page_cache_answered(*cells, fastest, *reached),
        Warning::ShallowQueue { path: of_path, cells, of_cells, below_share, worst, achieved_depth } => {
            shallow_queue(*of_path, *cells, *of_cells, *below_share, worst, *achieved_depth)
        }
        Warning::NotSteady { cells, of_cells, fastest, unsteady } => {
            not_steady(*cells, *of_cells, fastest, unsteady.as_ref())
        }
        Warning::BeganFaster { cells, worst, burst_mbps, sustained_mbps } => {
            began_faster(*cells, worst, *burst_mbps, *sustained_mbps)
        }
        Warning::FewRuns { cells, of_cells, wanted_runs } => few_runs(*cells, *of_cells, *wanted_runs),
        Warning::WideInterval { cells, of_cells, above_share, worst, mbps: mean, share } => {
            wide_interval(*cells, *of_cells, *above_share, worst, *mean, *share)
        }
        Warning::RestlessRuns { cells, of_cells, above_share, worst, share } => {
            restless_runs(*cells, *of_cells, *above_share, worst, *share)
        }
        Warning::HypervisorTookTime { share, worst, worst_share } => hypervisor_took_time(*share, worst, *worst_share),
        Warning::OthersUsedTheDisk { cells, above_share, worst, share, .. } => {
            others_used_the_disk(*cells, *above_share, worst, *share)
        }
        Warning::NeverReachedTheDisk { cells, above_share, worst, share, .. } => {
            never_reached_the_disk(*cells, *above_share, worst, *share)
        }
        Warning::HarnessShare { harness_ns_per_io, cells, above_share, worst, share } => {
            harness_share(*harness_ns_per_io, *cells, *above_share, worst, *share)
        }
        Warning::SlowHosts { hosts, of_hosts, worst, of_peers } => fleet::warning(*hosts, *of_hosts, worst, *of_peers),
        Warning::DelayedAcks { cells, worst, share } => delayed_acks(*cells, worst, *share),
        Warning::NoSoaker => no_soaker(),
        Warning::SoakerBelowCharged { cells, of_cells, paths } => soaker_below_charged(*cells, *of_cells, paths),
        Warning::MixedRuns { runs } => mixed_runs(*runs),
    }
}

fn requests_failed(cells: usize, errors: &[String], worst: &CellSettings, failed_ios: u64) -> String {
    format!(
        "Requests failed in {} ({}); most in {}: {}. Failed requests are not counted as I/O, and these cells \
         bear no conclusion.",
        count(cells, "cell"),
        errors.join(", "),
        cell(worst),
        thousands(failed_ios as f64)
    )
}

fn short_transfers(cells: usize, worst: &CellSettings, ios: u64) -> String {
    format!(
        "Requests moved fewer bytes than asked in {}; most in {}: {}. They count with the bytes they moved.",
        count(cells, "cell"),
        cell(worst),
        thousands(ios as f64)
    )
}

fn opened_cached(cells: usize, worst: &CellSettings, share: f64) -> String {
    format!(
        "{} opened with bytes of the target already in the page cache; most in {}: {} of the span.",
        count(cells, "buffered cell"),
        cell(worst),
        percent(share)
    )
}

fn above_advertised(cells: usize, fastest: &CellSettings, reached: f64, advertised_mbps: f64) -> String {
    format!(
        "{} above the {} that the path advertises, up to {} ({}): a cache or a credit answered, or the advertised figure is \
         not this path's; they are not used for any conclusion.",
        cells_are(cells),
        mbps(advertised_mbps),
        mbps(reached),
        cell(fastest)
    )
}

fn experiment_above_known(
    experiment: Experiment,
    (cells, of_cells): (usize, usize),
    worst: &CellSettings,
    reached: f64,
    known_mbps: f64,
) -> String {
    format!(
        "Experiment {experiment}: {} of {of_cells} cells {} above what the path is known to let through, most in {}: {} \
         of {}. A cache or a credit answered, or the known limit is another path's; they take no part in its answer.",
        thousands(cells as f64),
        if cells == 1 { "is" } else { "are" },
        cell(worst),
        mbps(reached),
        mbps(known_mbps)
    )
}

fn small_span(span_bytes: u64, device_bytes: u64, rotational: bool) -> String {
    let (why, more) = match rotational {
        true => (
            "heads move less than over all of it, and outer tracks are faster",
            "A larger --size, or the device itself as target, there with --spread, tells more",
        ),
        false => {
            ("a cache of its own may hold much of it", "A larger --size, or the device itself as target, tells more")
        }
    };
    format!(
        "Only {} of the {} of the device were used: {why}. {more}.",
        format::size(span_bytes as f64),
        format::size(device_bytes as f64)
    )
}

fn page_cache_answered(cells: usize, fastest: &CellSettings, reached: f64) -> String {
    format!(
        "{} faster than the device can be believed to be, or began with cached bytes, up to {} ({}): the page \
         cache answered; not used for any conclusion.",
        if cells == 1 { "1 buffered cell is".to_string() } else { format!("{cells} buffered cells are") },
        mbps(reached),
        cell(fastest)
    )
}

fn shallow_queue(
    of_path: PathSettings,
    cells: usize,
    of_cells: usize,
    below_share: f64,
    worst: &CellSettings,
    achieved_depth: f64,
) -> String {
    format!(
        "{cells} of {of_cells} {} cells deeper than 1 kept less than {} of the depth asked for; least at {}: \
         {achieved_depth:.1} in flight.",
        path(of_path),
        percent(below_share),
        size_and_depth(worst)
    )
}

fn not_steady(cells: usize, of_cells: usize, fastest: &CellSettings, unsteady: Option<&Unsteady>) -> String {
    format!(
        "{cells} of {} not steady, and never advised; the fastest of them is {}: {}.",
        cells_are(of_cells),
        cell(fastest),
        unsteady.map_or("its rate changed".to_string(), unsteady::why)
    )
}

fn began_faster(cells: usize, worst: &CellSettings, burst_mbps: f64, sustained_mbps: f64) -> String {
    format!(
        "{} began faster than it went on, as where a cache fills up or a credit is spent; most in {}: {} at first, \
         {} sustained.",
        if cells == 1 { "1 cell".to_string() } else { format!("Each of {}", count(cells, "cell")) },
        cell(worst),
        mbps(burst_mbps),
        mbps(sustained_mbps)
    )
}

fn few_runs(cells: usize, of_cells: usize, wanted_runs: usize) -> String {
    format!(
        "{cells} of {} have fewer than {wanted_runs} runs, because the budget or the study ended; one run alone has no \
         interval.",
        count(of_cells, "cell")
    )
}

fn wide_interval(
    cells: usize,
    of_cells: usize,
    above_share: f64,
    worst: &CellSettings,
    mean: f64,
    share: f64,
) -> String {
    format!(
        "The 95% interval is wider than ±{} in {cells} of {} that decide, where the budget ended first; widest in {}: \
         {} ±{}.",
        whole_percent(above_share),
        count(of_cells, "cell"),
        cell(worst),
        mbps(mean),
        percent(share)
    )
}

fn restless_runs(cells: usize, of_cells: usize, above_share: f64, worst: &CellSettings, share: f64) -> String {
    format!(
        "A single run leaves more than ±{} open in {cells} of {} that decide, by its own five parts; most in {}: ±{}. \
         Longer runs, so a larger --budget, would help.",
        percent(above_share),
        count(of_cells, "cell"),
        cell(worst),
        percent(share)
    )
}

fn hypervisor_took_time(share: f64, worst: &CellSettings, worst_share: f64) -> String {
    format!(
        "The hypervisor took {} of the processors' time while this was measured, most in {}: {}. Throughput is lower \
         and latency higher than on a machine of one's own.",
        percent(share),
        cell(worst),
        percent(worst_share)
    )
}

fn others_used_the_disk(cells: usize, above_share: f64, worst: &CellSettings, share: f64) -> String {
    format!(
        "The device moved over {} more bytes than were asked of it in {}; most in {}: {} more. Somebody else used it, \
         or the file system wrote for itself.",
        percent(above_share),
        count(cells, "cell"),
        cell(worst),
        percent(share)
    )
}

fn never_reached_the_disk(cells: usize, above_share: f64, worst: &CellSettings, share: f64) -> String {
    format!(
        "The device moved over {} fewer bytes than were asked for in {} of direct I/O; most in {}: {} fewer. A cache or \
         the file system answered them, and they never reached the device.",
        percent(above_share),
        count(cells, "cell"),
        cell(worst),
        percent(share)
    )
}

fn harness_share(harness_ns_per_io: f64, cells: usize, above_share: f64, worst: &CellSettings, share: f64) -> String {
    format!(
        "halfpower's own {} a request are more than {} of the latency in {}; most in {}: {}.",
        time_us(harness_ns_per_io / 1e3),
        whole_percent(above_share),
        count(cells, "cell"),
        cell(worst),
        percent(share)
    )
}

fn delayed_acks(cells: usize, worst: &CellSettings, share: f64) -> String {
    format!(
        "Requests took about 40 ms, apart from all others, in {}; most in {}: {} of them. One side holds back the end of a \
         message (Nagle's algorithm) until the other, which delays it, acknowledges what came before. halfpower sends at \
         once; set TCP_NODELAY at the server.",
        count(cells, "cell"),
        cell(worst),
        percent(share)
    )
}

fn no_soaker() -> String {
    "No run beside the soaker: the cost is known from below alone, without interrupts and \
                              kernel threads that nobody is charged for."
        .to_string()
}

fn soaker_below_charged(cells: usize, of_cells: usize, paths: &[PathSettings]) -> String {
    format!(
        "The soaker lost less than the process was charged in {cells} of {} ({}): the machine was not idle when its \
         baseline was taken, or the runs are short; its bound of cost is held at the charged one there.",
        count(of_cells, "cell"),
        paths.iter().copied().map(path).collect::<Vec<_>>().join(", ")
    )
}

fn mixed_runs(runs: usize) -> String {
    format!("{} that both read and write are in the file, but on no curve.", count(runs, "run"))
}

fn cells_are(cells: usize) -> String {
    if cells == 1 { "1 cell is".to_string() } else { format!("{} are", count(cells, "cell")) }
}

fn whole_percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::UnsteadyReason;
    use halfpower_spec::{Cache, Direction, Pattern};

    use super::*;

    #[test]
    fn a_warning_names_the_cell_that_shows_it_most() {
        let (pattern, rw, cache) = (Pattern::Random, Direction::Read, Cache::Device);
        let worst = CellSettings { pattern, rw, cache, iodepth: 8, bs_bytes: 4096, threads: 1 };
        let cases = [
            (
                Warning::OthersUsedTheDisk { cells: 9, of_cells: 20, above_share: 0.01, worst, share: 0.05 },
                "The device moved over 1.0% more bytes than were asked of it in 9 cells; most in random direct read, 4 \
                 KiB, 8 deep: 5.0% more. Somebody else used it, or the file system wrote for itself.",
            ),
            (
                Warning::WideInterval { cells: 1, of_cells: 2, above_share: 0.05, worst, mbps: 50.0, share: 0.12 },
                "The 95% interval is wider than ±5% in 1 of 2 cells that decide, where the budget ended first; widest \
                 in random direct read, 4 KiB, 8 deep: 50.0 MB/s ±12%.",
            ),
            (
                Warning::NotSteady {
                    cells: 1,
                    of_cells: 2,
                    fastest: worst,
                    unsteady: Some(Unsteady {
                        objection: UnsteadyReason::LevelChanged { from_mbps: 980.0, to_mbps: 410.0, after_s: 0.25 },
                        unsteady_runs: 2,
                        runs: 3,
                    }),
                },
                "1 of 2 cells are not steady, and never advised; the fastest of them is random direct read, 4 KiB, 8 \
                 deep: in 2 of 3 runs, such as: the rate fell from 980 MB/s to 410 MB/s after 0.25 s.",
            ),
            (
                Warning::HarnessShare { harness_ns_per_io: 9000.0, cells: 3, above_share: 0.05, worst, share: 0.11 },
                "halfpower's own 9.0 µs a request are more than 5% of the latency in 3 cells; most in random direct \
                 read, 4 KiB, 8 deep: 11%.",
            ),
        ];
        for (warning, text) in cases {
            assert_eq!(sentence(&warning), text);
        }
    }
}
