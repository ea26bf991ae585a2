//! Writes a comparison as JSON for the page's script.

use halfpower_analyse::Comparison;
use halfpower_experiments::StudyFindings;
use serde_json::{Value, json};

use crate::html::data::round;
use crate::json::{comparison_value, study_value};

/// What the page's script reads: the comparison, and the curves of both studies with their own intervals.
pub(super) fn data(comparison: &Comparison, findings: [&StudyFindings; 2]) -> String {
    let mut told = study_value(findings[0]);
    for list in told.as_object_mut().into_iter().flat_map(|keys| keys.values_mut()).filter(|value| value.is_array()) {
        *list = json!([]);
    }
    let row = |study: &str, cell: &halfpower_analyse::CellFinding| {
        json!([
            study,
            cell.pattern,
            cell.cache,
            cell.rw,
            cell.iodepth,
            cell.bs_bytes,
            cell.threads,
            cell.mbps.value,
            cell.mbps.low,
            cell.mbps.high
        ])
    };
    let of = |study: &'static str, findings: &StudyFindings| -> Vec<Value> {
        findings.cells.iter().map(|cell| row(study, cell)).collect()
    };
    told["curves"] = Value::Array([of("A", findings[0]), of("B", findings[1])].concat());
    told["comparison"] = comparison_value(comparison);
    round(&mut told);
    let whole = json!({ "findings": told, "runs": { "columns": [], "rows": [] } });
    whole.to_string().replace('<', "\\u003c")
}
