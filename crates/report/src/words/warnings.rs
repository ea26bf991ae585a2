//! Writes the warnings, a line and a text for each, the worst problems of a study, and why a cell was not steady.

use halfpower_analyse::{FaultFinding, FaultKind, StudyState, Unsteady, UnsteadyReason, Warning};
use halfpower_experiments::StudyFindings;
use halfpower_spec::format::{self, mbps, percent, size, thousands, time_us, whole_percent};

use super::settings::{cell, count, path, size_and_depth};
use super::state;

/// The words of one warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WarningWords {
    /// In one line, without the cell that shows it most, and without a full stop.
    pub line: String,
    /// In one or two sentences, with that cell.
    pub sentence: String,
}

/// A warning in words. A new kind of warning does not compile without both.
pub(crate) fn words(warning: &Warning) -> WarningWords {
    let (line, sentence) = match warning {
        Warning::Environment { note } => (note.trim_end_matches('.').to_string(), note.clone()),
        Warning::RequestsFailed { cells, errors, worst, failed_ios } => {
            let cells = count(*cells, "cell");
            let errors = errors.join(", ");
            (
                format!("requests failed in {cells} ({errors})"),
                format!(
                    "Requests failed in {cells} ({errors}); most in {}: {}. Failed requests are not counted as I/O, and \
                     these cells bear no conclusion.",
                    cell(worst),
                    thousands(*failed_ios as f64)
                ),
            )
        }
        Warning::ShortTransfers { cells, worst, short_transfers } => {
            let cells = count(*cells, "cell");
            (
                format!("requests moved fewer bytes than asked in {cells}"),
                format!(
                    "Requests moved fewer bytes than asked in {cells}; most in {}: {}. They count with the bytes they \
                     moved.",
                    cell(worst),
                    thousands(*short_transfers as f64)
                ),
            )
        }
        Warning::OpenedCached { cells, worst, share } => (
            format!("{} began with bytes in the page cache", count(*cells, "cell")),
            format!(
                "{} opened with bytes of the target already in the page cache; most in {}: {} of the span.",
                count(*cells, "buffered cell"),
                cell(worst),
                percent(*share)
            ),
        ),
        Warning::AboveAdvertised { cells, fastest, mbps: reached, advertised_mbps } => {
            let advertised = mbps(*advertised_mbps);
            (
                format!("{} above the {advertised} that is advertised: a cache's, not counted", count(*cells, "cell")),
                format!(
                    "{} above the {advertised} that the path advertises, up to {} ({}): a cache or a credit answered, or \
                     the advertised figure is not this path's; they are not used for any conclusion.",
                    cells_are(*cells),
                    mbps(*reached),
                    cell(fastest)
                ),
            )
        }
        Warning::ExperimentAboveKnown { experiment, cells, of_cells, worst, mbps: reached, known_mbps } => {
            let known = mbps(*known_mbps);
            (
                format!("{experiment}: {} above the known {known}, not counted", count(*cells, "cell")),
                format!(
                    "Experiment {experiment}: {} of {of_cells} cells {} above what the path is known to let through, \
                     most in {}: {} of {known}. A cache or a credit answered, or the known limit is another path's; \
                     they take no part in its answer.",
                    thousands(*cells as f64),
                    is_or_are(*cells),
                    cell(worst),
                    mbps(*reached)
                ),
            )
        }
        Warning::SmallSpan { span_bytes, device_bytes, rotational } => {
            let used = size(*span_bytes as f64);
            let device = size(*device_bytes as f64);
            let (why, spread) = match rotational {
                true => ("heads move less than over all of it, and outer tracks are faster", ", there with --spread,"),
                false => ("a cache of its own may hold much of it", ","),
            };
            (
                format!("only {used} of the device's {device} were used"),
                format!(
                    "Only {used} of the {device} of the device were used: {why}. A larger --size, or the device itself \
                     as target{spread} tells more."
                ),
            )
        }
        Warning::PageCacheAnswered { cells, fastest, mbps: reached } => (
            format!("the page cache answered {}, which are not counted", count(*cells, "cell")),
            format!(
                "{cells} buffered cell{} faster than the device can be believed to be, or began with cached bytes, up \
                 to {} ({}): the page cache answered; not used for any conclusion.",
                if *cells == 1 { " is" } else { "s are" },
                mbps(*reached),
                cell(fastest)
            ),
        ),
        Warning::ShallowQueue { path: of_path, cells, of_cells, below_share, worst, achieved_depth } => {
            let of_path = path(*of_path);
            let below = percent(*below_share);
            (
                format!("{cells} of {of_cells} {of_path} cells kept less than {below} of their depth"),
                format!(
                    "{cells} of {of_cells} {of_path} cells deeper than 1 kept less than {below} of the depth asked for; \
                     least at {}: {achieved_depth:.1} in flight.",
                    size_and_depth(worst)
                ),
            )
        }
        Warning::NotSteady { cells, of_cells, fastest, unsteady } => (
            format!("{cells} of {of_cells} cells were not steady, and are not advised"),
            format!(
                "{cells} of {} not steady, and never advised; the fastest of them is {}: {}.",
                cells_are(*of_cells),
                cell(fastest),
                unsteady.as_ref().map_or("its rate changed".to_string(), why_unsteady)
            ),
        ),
        Warning::BeganFaster { cells, worst, burst_mbps, sustained_mbps } => {
            let burst = mbps(*burst_mbps);
            let sustained = mbps(*sustained_mbps);
            let each = if *cells == 1 { "" } else { "Each of " };
            let cells = count(*cells, "cell");
            (
                format!("{cells} began faster than they went on, such as {burst}, then {sustained}"),
                format!(
                    "{each}{cells} began faster than it went on, as where a cache fills up or a credit is spent; most in \
                     {}: {burst} at first, {sustained} sustained.",
                    cell(worst)
                ),
            )
        }
        Warning::HypervisorTookTime { share, worst, worst_share } => {
            let share = percent(*share);
            (
                format!("the hypervisor took {share} of the processors' time"),
                format!(
                    "The hypervisor took {share} of the processors' time while this was measured, most in {}: {}. \
                     Throughput is lower and latency higher than on a machine of one's own.",
                    cell(worst),
                    percent(*worst_share)
                ),
            )
        }
        Warning::OthersUsedTheDisk { cells, of_cells, above_share, worst, share } => (
            format!("others used the disk in {cells} of {of_cells} cells; repeat when idle"),
            format!(
                "The device moved over {} more bytes than were asked of it in {}; most in {}: {} more. Somebody else used \
                 it, or the file system wrote for itself.",
                percent(*above_share),
                count(*cells, "cell"),
                cell(worst),
                percent(*share)
            ),
        ),
        Warning::NeverReachedTheDisk { cells, of_cells, above_share, worst, share } => (
            format!("a cache answered part of {cells} of {of_cells} cells before the disk"),
            format!(
                "The device moved over {} fewer bytes than were asked for in {} of direct I/O; most in {}: {} fewer. A \
                 cache or the file system answered them, and they never reached the device.",
                percent(*above_share),
                count(*cells, "cell"),
                cell(worst),
                percent(*share)
            ),
        ),
        Warning::FewRuns { cells, of_cells, wanted_runs } => (
            format!("{cells} of {of_cells} cells that decide have fewer than {wanted_runs} runs: the time ended"),
            format!(
                "{cells} of {} that decide have fewer than {wanted_runs} runs, because the budget or the study ended; one \
                 run alone has no interval.",
                count(*of_cells, "cell")
            ),
        ),
        Warning::WideInterval { cells, of_cells, above_share, worst, mbps: mean, share } => {
            let above = whole_percent(*above_share);
            (
                format!(
                    "{cells} of {of_cells} cells that decide are not known within {above}; a larger --budget helps"
                ),
                format!(
                    "The 95% interval is wider than ±{above} in {cells} of {} that decide, where the budget ended \
                     first; widest in {}: {} ±{}.",
                    count(*of_cells, "cell"),
                    cell(worst),
                    mbps(*mean),
                    percent(*share)
                ),
            )
        }
        Warning::RepeatsDiffer { cells, of_cells, above_share, worst, low_mbps, high_mbps } => {
            let above = whole_percent(*above_share);
            (
                format!("repeated runs differ by more than {above} in {cells} of {of_cells} cells of experiments"),
                format!(
                    "Repeated runs of the same settings differ by more than {above} (standard deviation) in {cells} of {} \
                     of experiments; most in {}: from {} to {}. Others may have been at work: repeat when idle.",
                    count(*of_cells, "cell"),
                    cell(worst),
                    mbps(*low_mbps),
                    mbps(*high_mbps)
                ),
            )
        }
        Warning::BeyondCalibration { cells, of_cells, worst, low_mbps, high_mbps } => (
            format!("{cells} of {of_cells} cells lie beyond what the calibration saw: bounds alone hold"),
            format!(
                "The calibration saw no such block size or depth as those of {cells} of {}: a limit may stand there that it \
                 could not show, so only bounds are known; farthest apart in {}: from {} to {}. Measuring that cell on the \
                 target decides.",
                count(*of_cells, "cell"),
                cell(worst),
                mbps(*low_mbps),
                mbps(*high_mbps)
            ),
        ),
        Warning::RestlessRuns { cells, of_cells, above_share, worst, share } => (
            format!("single runs are restless in {cells} of {of_cells} cells that decide; --budget helps"),
            format!(
                "A single run leaves more than ±{} open in {cells} of {} that decide, by its own five parts; most in {}: \
                 ±{}. Longer runs, so a larger --budget, would help.",
                percent(*above_share),
                count(*of_cells, "cell"),
                cell(worst),
                percent(*share)
            ),
        ),
        Warning::HarnessShare { harness_ns_per_io, cells, above_share, worst, share } => {
            let own = time_us(harness_ns_per_io / 1e3);
            let above = whole_percent(*above_share);
            let cells = count(*cells, "cell");
            (
                format!("halfpower's own {own} a request are over {above} of the latency in {cells}"),
                format!(
                    "halfpower's own {own} a request are more than {above} of the latency in {cells}; most in {}: {}.",
                    cell(worst),
                    percent(*share)
                ),
            )
        }
        Warning::SlowHosts { hosts, of_hosts, worst, of_peers } => {
            let are = is_or_are(*hosts);
            let rate = percent(*of_peers);
            // A line has no room for a longer name.
            let begin: String = worst.chars().take(24).collect();
            (
                format!("{hosts} of {of_hosts} hosts {are} slow; {begin} most, at {rate} of its peers"),
                format!(
                    "{hosts} of {of_hosts} hosts {are} slower than their peers by more than chance; {worst} most, at \
                     {rate} of their rate. Rates of all hosts together hold what they lack."
                ),
            )
        }
        Warning::DelayedAcks { cells, worst, share } => {
            let share = percent(*share);
            (
                format!("Nagle's algorithm against delayed acknowledgements: up to {share} of requests took 40 ms"),
                format!(
                    "Requests took about 40 ms, apart from all others, in {}; most in {}: {share} of them. One side \
                     holds back the end of a message (Nagle's algorithm) until the other, which delays it, acknowledges \
                     what came before. halfpower sends at once; set TCP_NODELAY at the server.",
                    count(*cells, "cell"),
                    cell(worst)
                ),
            )
        }
        Warning::NoSoaker => (
            "no run beside the soaker: the cost is known from below alone".to_string(),
            "No run beside the soaker: the cost is known from below alone, without interrupts and kernel threads that \
             nobody is charged for."
                .to_string(),
        ),
        Warning::SoakerBelowCharged { cells, of_cells, paths } => (
            format!("the soaker lost less than was charged in {cells} of {of_cells} cells"),
            format!(
                "The soaker lost less than the process was charged in {cells} of {} ({}): the machine was not idle when \
                 its baseline was taken, or the runs are short; its bound of cost is held at the charged one there.",
                count(*of_cells, "cell"),
                paths.iter().copied().map(path).collect::<Vec<_>>().join(", ")
            ),
        ),
        Warning::MixedRuns { runs } => (
            format!("{} runs that read and write are on no curve", thousands(*runs as f64)),
            format!("{} that both read and write are in the file, but on no curve.", count(*runs, "run")),
        ),
    };
    WarningWords { line, sentence }
}

/// Such as `1 cell is`, `12 cells are`.
fn cells_are(cells: usize) -> String {
    format!("{} {}", count(cells, "cell"), is_or_are(cells))
}

fn is_or_are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// All problems of a study, worst first: wrong data and failed requests, the meaning of the state, and the warnings.
/// Warnings that repeat the state are left out.
pub(crate) fn alerts(study: &StudyFindings) -> Vec<String> {
    alerts_of(study, |_| true)
}

/// As [`alerts`], while the study measures: without what its further runs will mend.
pub(crate) fn alerts_so_far(study: &StudyFindings) -> Vec<String> {
    let is_mended = |warning: &Warning| {
        matches!(
            warning,
            Warning::FewRuns { .. }
                | Warning::WideInterval { .. }
                | Warning::RestlessRuns { .. }
                | Warning::RepeatsDiffer { .. }
                | Warning::NoSoaker
        )
    };
    alerts_of(study, |warning| !is_mended(warning))
}

fn alerts_of(study: &StudyFindings, is_shown: impl Fn(&Warning) -> bool) -> Vec<String> {
    let state = &study.summary.state;
    let of_state = match state {
        StudyState::Quiet | StudyState::Noisy { .. } => None,
        state => Some(state::meaning(state)),
    };
    let is_told = |warning: &&Warning| {
        matches!(warning, Warning::RequestsFailed { .. } | Warning::ShortTransfers { .. }) && !study.faults.is_empty()
    };
    let faults = alike(&study.faults);
    let shown = study.warnings.iter().filter(|warning| is_shown(warning) && !is_told(warning));
    let warnings = shown.map(|warning| words(warning).line);
    faults.iter().map(fault).chain(of_state).chain(warnings).collect()
}

/// Merges the faults of all experiments by kind and name.
fn alike(faults: &[FaultFinding]) -> Vec<FaultFinding> {
    let mut together: Vec<FaultFinding> = Vec::new();
    for fault in faults {
        match together.iter_mut().find(|one| (one.kind, &one.error) == (fault.kind, &fault.error)) {
            Some(one) => {
                one.requests = one.requests.saturating_add(fault.requests);
                (one.runs, one.of_runs) = (one.runs + fault.runs, one.of_runs + fault.of_runs);
            }
            None => together.push(fault.clone()),
        }
    }
    together
}

fn fault(fault: &FaultFinding) -> String {
    let FaultFinding { kind, error, requests, runs, of_runs, .. } = fault;
    let requests = count(usize::try_from(*requests).unwrap_or(usize::MAX), "request");
    let what = match (kind, error.as_str()) {
        (FaultKind::WrongData, _) => format!("{requests} read WRONG DATA"),
        (FaultKind::Failed, "unanswered") => format!("{requests} never answered"),
        (FaultKind::Failed, "EOF") => format!("{requests} moved nothing: the target ended before"),
        (FaultKind::Failed, error) => format!("{requests} failed with {error}"),
        (FaultKind::Short, _) => format!("{requests} moved fewer bytes than asked"),
    };
    format!("{what}, in {runs} of {of_runs} runs")
}

/// The end of a sentence: `in 2 of 3 runs, such as: the rate fell from 980 MB/s to 410 MB/s after 0.25 s`.
pub(crate) fn why_unsteady(unsteady: &Unsteady) -> String {
    let Unsteady { objection, unsteady_runs, runs } = unsteady;
    let shown = objection_words(objection);
    let alike = if *unsteady_runs > 1 { "such as: " } else { "" };
    match runs {
        1 => format!("in its only run {shown}"),
        runs => format!("in {unsteady_runs} of {runs} runs, {alike}{shown}"),
    }
}

fn objection_words(objection: &UnsteadyReason) -> String {
    let turned = |fell: bool| if fell { "fell" } else { "rose" };
    match *objection {
        UnsteadyReason::LevelChanged { from_mbps, to_mbps, after_s } => {
            let [from, to] = [from_mbps, to_mbps].map(format::mbps);
            format!("the rate {} from {from} to {to} after {after_s:.2} s", turned(to_mbps < from_mbps))
        }
        UnsteadyReason::Slope { gain } => {
            format!("the rate {} by {} over the window", turned(gain < 0.0), format::percent(gain.abs()))
        }
        UnsteadyReason::LastThird { gain } => {
            let how = if gain < 0.0 { "slower" } else { "faster" };
            format!("its last third was {} {how} than its middle third", format::percent(gain.abs()))
        }
        UnsteadyReason::Spread { low_mbps, high_mbps } => {
            format!("parts of it ran between {} and {}", format::mbps(low_mbps), format::mbps(high_mbps))
        }
        UnsteadyReason::CutsWaves { period_s } => {
            format!("the window held too few of the waves that come every {}", format::time_us(period_s * 1e6))
        }
    }
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::{CellSettings, PathSettings, Unsteady, UnsteadyReason};
    use halfpower_spec::{Cache, Direction, Experiment, Pattern};

    use super::*;

    #[test]
    fn a_warning_names_the_cell_that_shows_it_most() {
        let pattern = Pattern::Random;
        let rw = Direction::Read;
        let cache = Cache::Device;
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
            assert_eq!(words(&warning).sentence, text);
        }
    }

    #[test]
    fn every_warning_is_a_line_that_fits_eighty_columns() {
        let pattern = Pattern::Sequential;
        let rw = Direction::Write;
        let cache = Cache::Device;
        let worst = CellSettings { pattern, rw, cache, iodepth: 8, bs_bytes: 4096, threads: 1 };
        let path = PathSettings { pattern, rw, cache };
        let share = 0.5;
        let cells = 114;
        let of_cells = 1274;
        let all = [
            Warning::RequestsFailed { cells, errors: vec!["EIO".into()], worst, failed_ios: 9 },
            Warning::ShortTransfers { cells, worst, short_transfers: 3 },
            Warning::OpenedCached { cells, worst, share },
            Warning::AboveAdvertised { cells, fastest: worst, mbps: 4000.0, advertised_mbps: 1250.0 },
            Warning::ExperimentAboveKnown {
                experiment: Experiment::Durability,
                cells,
                of_cells,
                worst,
                mbps: 4000.0,
                known_mbps: 1250.0,
            },
            Warning::SmallSpan { span_bytes: 1 << 30, device_bytes: 1 << 44, rotational: true },
            Warning::PageCacheAnswered { cells, fastest: worst, mbps: 4000.0 },
            Warning::ShallowQueue { path, cells, of_cells, below_share: 0.8, worst, achieved_depth: 3.0 },
            Warning::NotSteady { cells, of_cells, fastest: worst, unsteady: None },
            Warning::BeganFaster { cells, worst, burst_mbps: 2900.0, sustained_mbps: 310.0 },
            Warning::HypervisorTookTime { share, worst, worst_share: share },
            Warning::OthersUsedTheDisk { cells, of_cells, above_share: 0.01, worst, share },
            Warning::NeverReachedTheDisk { cells, of_cells, above_share: 0.01, worst, share },
            Warning::FewRuns { cells, of_cells, wanted_runs: 3 },
            Warning::WideInterval { cells: 12, of_cells: 16, above_share: 0.05, worst, mbps: 50.0, share },
            Warning::RestlessRuns { cells: 12, of_cells: 16, above_share: 0.2, worst, share },
            Warning::RepeatsDiffer { cells: 12, of_cells: 16, above_share: 0.2, worst, low_mbps: 5.0, high_mbps: 9.0 },
            Warning::BeyondCalibration { cells: 12, of_cells: 16, worst, low_mbps: 5.0, high_mbps: 9.0 },
            Warning::HarnessShare { harness_ns_per_io: 950.0, cells, above_share: 0.05, worst, share },
            Warning::SlowHosts {
                hosts: 12,
                of_hosts: 1000,
                worst: "a-rather-long-name-of-a-host".into(),
                of_peers: share,
            },
            Warning::NoSoaker,
            Warning::SoakerBelowCharged { cells: 12, of_cells: 16, paths: vec![path] },
            Warning::MixedRuns { runs: 3 },
        ];
        for warning in all {
            let text = words(&warning).line;
            assert!(text.chars().count() <= 78 && !text.contains('{'), "{} columns: {text}", text.chars().count());
        }
    }
}
