//! Writes the worst problems of a study in one line each, for the top of a screen.

use halfpower_analyse::{FaultFinding, FaultKind, StudyState, Warning};
use halfpower_experiments::StudyFindings;
use halfpower_spec::format::{mbps, percent, size, thousands, time_us};

use super::settings::{count, path};
use super::state;

/// All problems of a study, worst first: wrong data and failed requests, the meaning of the state, and the warnings.
/// Warnings that repeat the state are left out.
pub(crate) fn alerts(study: &StudyFindings) -> Vec<String> {
    let state = &study.summary.state;
    let of_state = match state {
        StudyState::Quiet | StudyState::Noisy { .. } => None,
        state => Some(state::sentence(state).trim_end_matches('.').to_string()),
    };
    let is_told = |warning: &&Warning| {
        matches!(warning, Warning::RequestsFailed { .. } | Warning::ShortTransfers { .. }) && !study.faults.is_empty()
    };
    let faults = alike(&study.faults);
    let warnings = study.warnings.iter().filter(|warning| !is_told(warning)).map(line);
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

/// A warning in one line, without the cell that shows it most clearly.
pub(crate) fn line(warning: &Warning) -> String {
    of_results(warning).unwrap_or_else(|| of_runs(warning))
}

/// Warnings about the results of requests, and about other activity.
fn of_results(warning: &Warning) -> Option<String> {
    let cells = warning.cells().map_or(String::new(), |cells| count(cells, "cell"));
    Some(match warning {
        Warning::Environment { note } => note.trim_end_matches('.').to_string(),
        Warning::RequestsFailed { errors, .. } => format!("requests failed in {cells} ({})", errors.join(", ")),
        Warning::ShortTransfers { .. } => format!("requests moved fewer bytes than asked in {cells}"),
        Warning::OpenedCached { .. } => format!("{cells} began with bytes in the page cache"),
        Warning::AboveAdvertised { advertised_mbps, .. } => {
            format!("{cells} above the {} that is advertised: a cache's, not counted", mbps(*advertised_mbps))
        }
        Warning::ExperimentAboveKnown { experiment, known_mbps, .. } => {
            format!("{experiment}: {cells} above the known {}, not counted", mbps(*known_mbps))
        }
        Warning::SmallSpan { span_bytes, device_bytes, .. } => {
            format!("only {} of the device's {} were used", size(*span_bytes as f64), size(*device_bytes as f64))
        }
        Warning::PageCacheAnswered { .. } => format!("the page cache answered {cells}, which are not counted"),
        Warning::ShallowQueue { path: of, cells, of_cells, below_share, .. } => {
            format!("{cells} of {of_cells} {} cells kept less than {} of their depth", path(*of), percent(*below_share))
        }
        Warning::HypervisorTookTime { share, .. } => {
            format!("the hypervisor took {} of the processors' time", percent(*share))
        }
        Warning::OthersUsedTheDisk { cells, of_cells, .. } => {
            format!("others used the disk in {cells} of {of_cells} cells; repeat when idle")
        }
        Warning::DelayedAcks { share, .. } => {
            format!(
                "Nagle's algorithm against delayed acknowledgements: up to {} of requests took 40 ms",
                percent(*share)
            )
        }
        Warning::NeverReachedTheDisk { cells, of_cells, .. } => {
            format!("a cache answered part of {cells} of {of_cells} cells before the disk")
        }
        _ => return None,
    })
}

/// Warnings about the course, number and cost of runs.
fn of_runs(warning: &Warning) -> String {
    match warning {
        Warning::NotSteady { cells, of_cells, .. } => {
            format!("{cells} of {of_cells} cells were not steady, and are not advised")
        }
        Warning::BeganFaster { burst_mbps, sustained_mbps, cells, .. } => format!(
            "{} began faster than they went on, such as {}, then {}",
            count(*cells, "cell"),
            mbps(*burst_mbps),
            mbps(*sustained_mbps)
        ),
        Warning::FewRuns { cells, of_cells, wanted_runs } => {
            format!("{cells} of {of_cells} cells have fewer than {wanted_runs} runs: the budget or the study ended")
        }
        Warning::WideInterval { cells, of_cells, above_share, .. } => format!(
            "{cells} of {of_cells} cells that decide are not known within {:.0}%; a larger --budget helps",
            100.0 * above_share
        ),
        Warning::RestlessRuns { cells, of_cells, .. } => {
            format!("single runs are restless in {cells} of {of_cells} cells that decide; --budget helps")
        }
        Warning::HarnessShare { harness_ns_per_io, above_share, cells, .. } => format!(
            "halfpower's own {} a request are over {:.0}% of the latency in {}",
            time_us(harness_ns_per_io / 1e3),
            100.0 * above_share,
            count(*cells, "cell")
        ),
        Warning::SlowHosts { hosts, of_hosts, worst, of_peers } => {
            super::fleet::alert(*hosts, *of_hosts, worst, *of_peers)
        }
        Warning::NoSoaker => "no run beside the soaker: the cost is known from below alone".to_string(),
        Warning::SoakerBelowCharged { cells, of_cells, .. } => {
            format!("the soaker lost less than was charged in {cells} of {of_cells} cells")
        }
        Warning::MixedRuns { runs } => format!("{} runs that read and write are on no curve", thousands(*runs as f64)),
        Warning::Environment { .. }
        | Warning::RequestsFailed { .. }
        | Warning::ShortTransfers { .. }
        | Warning::OpenedCached { .. }
        | Warning::AboveAdvertised { .. }
        | Warning::ExperimentAboveKnown { .. }
        | Warning::SmallSpan { .. }
        | Warning::PageCacheAnswered { .. }
        | Warning::ShallowQueue { .. }
        | Warning::HypervisorTookTime { .. }
        | Warning::OthersUsedTheDisk { .. }
        | Warning::DelayedAcks { .. }
        | Warning::NeverReachedTheDisk { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::{CellSettings, Harm, PathSettings};
    use halfpower_spec::{Cache, Direction, Experiment, Pattern};

    use super::*;

    #[test]
    fn every_warning_is_a_line_that_fits_eighty_columns() {
        let (pattern, rw, cache) = (Pattern::Sequential, Direction::Write, Cache::Device);
        let worst = CellSettings { pattern, rw, cache, iodepth: 8, bs_bytes: 4096, threads: 1 };
        let (path, share, cells, of_cells) = (PathSettings { pattern, rw, cache }, 0.5, 114, 1274);
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
            let text = line(&warning);
            assert!(text.chars().count() <= 78 && !text.contains('{'), "{} columns: {text}", text.chars().count());
            assert!(warning.harm() <= Harm::Slight);
        }
    }
}
