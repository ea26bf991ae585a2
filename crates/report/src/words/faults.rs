//! Writes the faults in a study, one sentence for each kind.

use halfpower_analyse::{FaultFinding, FaultKind};
use halfpower_spec::format::thousands;

/// The sentence of one fault.
pub(crate) fn sentence(fault: &FaultFinding) -> String {
    let FaultFinding { kind, error, experiment, requests, runs, of_runs, workload } = fault;
    let place = experiment.map_or_else(|| "single runs".to_string(), |experiment| experiment.word().to_string());
    let count = thousands(*requests as f64);
    let one = *requests == 1;
    let what = match (kind, error.as_str()) {
        (FaultKind::WrongData, error) => {
            format!("{count} {} WRONG DATA ({error})", if one { "read found" } else { "reads found" })
        }
        (FaultKind::Failed, "unanswered") => {
            format!("{count} {} never answered", if one { "request was" } else { "requests were" })
        }
        (FaultKind::Failed, "EOF") => {
            format!("{count} {} nothing: the target ended before", if one { "request moved" } else { "requests moved" })
        }
        (FaultKind::Failed, error) => {
            format!("{count} {} failed with {error}", if one { "request" } else { "requests" })
        }
        (FaultKind::Short, _) => {
            format!("{count} {} fewer bytes than asked", if one { "request moved" } else { "requests moved" })
        }
    };
    format!("{place}: {what}, in {runs} of {of_runs} runs, first in `{workload}`.")
}
