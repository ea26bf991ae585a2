//! Writes the worst problems of a study in one line each, for the top of a screen.

use halfpower_analyse::{FaultFinding, FaultKind, StudyState, Warning};
use halfpower_experiments::StudyFindings;

use super::settings::count;
use super::{state, warnings};

/// All problems of a study, worst first: wrong data and failed requests, the meaning of the state, and the warnings.
/// Warnings that repeat the state are left out.
pub(crate) fn alerts(study: &StudyFindings) -> Vec<String> {
    let state = &study.summary.state;
    let of_state = match state {
        StudyState::Quiet | StudyState::Noisy { .. } => None,
        state => Some(state::meaning(state)),
    };
    let is_told = |warning: &&Warning| {
        matches!(warning, Warning::RequestsFailed { .. } | Warning::ShortTransfers { .. }) && !study.faults.is_empty()
    };
    let faults = alike(&study.faults);
    let warnings =
        study.warnings.iter().filter(|warning| !is_told(warning)).map(|warning| warnings::words(warning).line);
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
