//! Says what a reader should know before believing a number: one sentence or two a warning.

use halfpower_analyse::Warning;
use halfpower_text::format::{mbps, percent, thousands, time_us};

use super::settings::{cell, count, path, size_and_depth};
use super::unsteady;

/// A warning as the report shows it.
pub(crate) fn sentence(warning: &Warning) -> String {
    of_results(warning)
        .or_else(|| of_steadiness(warning))
        .or_else(|| of_others(warning))
        .unwrap_or_else(|| of_cost(warning))
}

/// Doubts about what the requests gave.
fn of_results(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::Environment { note } => note.clone(),
        Warning::RequestsFailed { cells, errors, worst, failed_ios } => format!(
            "Requests failed in {} ({}); most in {}: {}. Failed requests are not counted as I/O, and these cells \
             bear no conclusion.",
            count(*cells, "cell"),
            errors.join(", "),
            cell(worst),
            thousands(*failed_ios as f64)
        ),
        Warning::ShortTransfers { cells, worst, short_transfers } => format!(
            "Requests moved fewer bytes than asked in {}; most in {}: {}. They count with the bytes they moved.",
            count(*cells, "cell"),
            cell(worst),
            thousands(*short_transfers as f64)
        ),
        Warning::OpenedCached { cells, worst, share } => format!(
            "{} opened with bytes of the target already in the page cache; most in {}: {} of the span.",
            count(*cells, "buffered cell"),
            cell(worst),
            percent(*share)
        ),
        Warning::AboveAdvertised { cells, fastest, mbps: reached, advertised_mbps } => format!(
            "{} above the {} that the path advertises, up to {} ({}): a cache answered, or the advertised figure is \
             not this path's; they are not used for any conclusion.",
            cells_are(*cells),
            mbps(*advertised_mbps),
            mbps(*reached),
            cell(fastest)
        ),
        Warning::PageCacheAnswered { cells, fastest, mbps: reached } => format!(
            "{} faster than the device can be believed to be, or began with cached bytes, up to {} ({}): the page \
             cache answered; not used for any conclusion.",
            if *cells == 1 { "1 buffered cell is".to_string() } else { format!("{cells} buffered cells are") },
            mbps(*reached),
            cell(fastest)
        ),
        Warning::ShallowQueue { path: of_path, cells, of_cells, below_share, worst, achieved_depth } => format!(
            "{cells} of {of_cells} {} cells deeper than 1 kept less than {} of the depth asked for; least at {}: \
             {achieved_depth:.1} in flight.",
            path(*of_path),
            percent(*below_share),
            size_and_depth(worst)
        ),
        _ => return None,
    })
}

/// Doubts about how runs went on, and how many there are.
fn of_steadiness(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::NotSteady { cells, of_cells, fastest, unsteady } => format!(
            "{cells} of {} not steady, and never advised; the fastest of them is {}: {}.",
            cells_are(*of_cells),
            cell(fastest),
            unsteady.as_ref().map_or("its rate changed".to_string(), unsteady::why)
        ),
        Warning::BeganFaster { cells, worst, burst_mbps, sustained_mbps } => format!(
            "{} began faster than it went on, as where a cache fills up or a credit is spent; most in {}: {} at first, \
             {} sustained.",
            if *cells == 1 { "1 cell".to_string() } else { format!("Each of {}", count(*cells, "cell")) },
            cell(worst),
            mbps(*burst_mbps),
            mbps(*sustained_mbps)
        ),
        Warning::FewRuns { cells, of_cells, wanted_runs } => format!(
            "{cells} of {} have fewer than {wanted_runs} runs, because the budget or the study ended; one run alone has no \
             interval.",
            count(*of_cells, "cell")
        ),
        Warning::WideInterval { cells, of_cells, above_share, worst, mbps: mean, share } => format!(
            "The 95% interval is wider than ±{} in {cells} of {} that decide, where the budget ended first; widest in {}: \
             {} ±{}.",
            whole_percent(*above_share),
            count(*of_cells, "cell"),
            cell(worst),
            mbps(*mean),
            percent(*share)
        ),
        Warning::RestlessRuns { cells, of_cells, above_share, worst, share } => format!(
            "A single run leaves more than ±{} open in {cells} of {} that decide, by its own five parts; most in {}: ±{}. \
             Longer runs, so a larger --budget, would help.",
            percent(*above_share),
            count(*of_cells, "cell"),
            cell(worst),
            percent(*share)
        ),
        _ => return None,
    })
}

/// Doubts about others at work.
fn of_others(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::HypervisorTookTime { share, worst, worst_share } => format!(
            "The hypervisor took {} of the processors' time while this was measured, most in {}: {}. Throughput is lower \
             and latency higher than on a machine of one's own.",
            percent(*share),
            cell(worst),
            percent(*worst_share)
        ),
        Warning::OthersUsedTheDisk { cells, above_share, worst, share } => format!(
            "The device moved over {} more bytes than were asked of it in {}; most in {}: {} more. Somebody else used it, \
             or the file system wrote for itself.",
            percent(*above_share),
            count(*cells, "cell"),
            cell(worst),
            percent(*share)
        ),
        Warning::NeverReachedTheDisk { cells, above_share, worst, share } => format!(
            "The device moved over {} fewer bytes than were asked for in {} of direct I/O; most in {}: {} fewer. A cache or \
             the file system answered them, and they never reached the device.",
            percent(*above_share),
            count(*cells, "cell"),
            cell(worst),
            percent(*share)
        ),
        _ => return None,
    })
}

/// Doubts about the processor's cost, and about the harness.
fn of_cost(warning: &Warning) -> String {
    match warning {
        Warning::HarnessShare { harness_ns_per_io, cells, above_share, worst, share } => format!(
            "halfpower's own {} a request are more than {} of the latency in {}; most in {}: {}.",
            time_us(harness_ns_per_io / 1e3),
            whole_percent(*above_share),
            count(*cells, "cell"),
            cell(worst),
            percent(*share)
        ),
        Warning::NoSoaker => "No run beside the soaker: the cost is known from below alone, without interrupts and \
                              kernel threads that nobody is charged for."
            .to_string(),
        Warning::SoakerBelowCharged { cells, of_cells, paths } => format!(
            "The soaker lost less than the process was charged in {cells} of {} ({}): the machine was not idle when its \
             baseline was taken, or the runs are short; its bound of cost is held at the charged one there.",
            count(*of_cells, "cell"),
            paths.iter().copied().map(path).collect::<Vec<_>>().join(", ")
        ),
        Warning::MixedRuns { runs } => {
            format!("{} that both read and write are in the file, but on no curve.", count(*runs, "run"))
        }
        other => format!("{other:?}"),
    }
}

fn cells_are(cells: usize) -> String {
    if cells == 1 { "1 cell is".to_string() } else { format!("{} are", count(cells, "cell")) }
}

fn whole_percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::{CellSettings, Objection, Unsteady};
    use halfpower_spec::{Cache, Direction, Pattern};

    use super::*;

    #[test]
    fn a_warning_names_the_cell_that_shows_it_most() {
        let (pattern, rw, cache) = (Pattern::Random, Direction::Read, Cache::Device);
        let worst = CellSettings { pattern, rw, cache, iodepth: 8, bs_bytes: 4096, threads: 1 };
        let cases = [
            (
                Warning::OthersUsedTheDisk { cells: 9, above_share: 0.01, worst, share: 0.05 },
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
                        objection: Objection::LevelChanged { from_mbps: 980.0, to_mbps: 410.0, after_s: 0.25 },
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
