//! Writes comparisons as JSON for the page's script.

use halfpower_analyse::{CellFinding, CellSettings, Comparison};
use halfpower_experiments::StudyFindings;
use serde_json::{Value, json};

use super::cells::common_cells;
use super::sides;
use crate::html::data::round;
use crate::json::{comparison_value, study_value};

/// The data of the page's script: the comparisons, and the curves of all studies with their intervals.
pub(super) fn data(comparisons: &[Comparison], findings: &[&StudyFindings]) -> String {
    let mut reported = study_value(findings[0]);
    reported["checks"] = Value::Null;
    for list in reported.as_object_mut().into_iter().flat_map(|keys| keys.values_mut()).filter(|value| value.is_array())
    {
        *list = json!([]);
    }
    let baseline = (&comparisons[0].a.letter, None);
    let others = comparisons.iter().map(|one| (&one.b.letter, Some(one)));
    let studies = std::iter::once(baseline).chain(others).zip(findings);
    let rows = |((letter, comparison), study): ((&String, Option<&Comparison>), &&StudyFindings)| {
        study.cells.iter().map(|cell| row(letter, comparison, cell)).collect::<Vec<_>>()
    };
    reported["curves"] = studies.flat_map(rows).collect();
    // The depths and block sizes that a reader can choose.
    reported["cells"] = common_cells(comparisons)
        .iter()
        .map(|cell| json!({ "iodepth": cell.iodepth, "bs_bytes": cell.bs_bytes }))
        .collect();
    reported["comparisons"] = comparisons.iter().map(|one| shown(one, comparisons.len() == 1)).collect();
    reported["sides"] = sides::value();
    round(&mut reported);
    let whole = json!({ "findings": reported, "runs": { "columns": [], "rows": [] } });
    whole.to_string().replace('<', "\\u003c")
}

/// A cell of a study with its throughput, and the change from the baseline if known.
fn row(letter: &str, comparison: Option<&Comparison>, cell: &CellFinding) -> Value {
    let CellFinding { settings, mbps, .. } = *cell;
    let CellSettings { pattern, rw, cache, iodepth, bs_bytes, threads } = settings;
    let settings = CellSettings { pattern, rw, cache, iodepth, bs_bytes, threads };
    let compared = comparison.and_then(|one| one.cells.iter().find(|cell| cell.settings == settings));
    let change = compared.map(|compared| compared.mbps);
    json!([
        letter,
        pattern,
        cache,
        rw,
        iodepth,
        bs_bytes,
        threads,
        mbps.value,
        mbps.low,
        mbps.high,
        change.map(|change| change.percent),
        change.and_then(|change| change.low_percent),
        change.and_then(|change| change.high_percent),
        change.is_some_and(|change| change.different)
    ])
}

/// Members of a change that no chart shows.
const NOT_SHOWN: [&str; 5] = ["p", "certain", "b_low", "b_high", "others_used_the_disk"];

/// A comparison without what no chart shows; charts of several studies show mean changes, not single cells.
fn shown(comparison: &Comparison, of_two: bool) -> Value {
    let mut value = comparison_value(comparison);
    let members = value.as_object_mut().expect("a comparison is an object");
    for key in ["notes", "half_power", "price", "only_a", "only_b", "left_out", "checks", "fail_if"] {
        members.remove(key);
    }
    if !of_two {
        members.remove("cells");
    }
    for cell in members.get_mut("cells").and_then(Value::as_array_mut).into_iter().flatten() {
        let figures = cell.as_object_mut().expect("a cell is an object");
        figures.remove("latency_ns_p50");
        for change in figures.values_mut().filter_map(Value::as_object_mut) {
            change.retain(|name, _| !NOT_SHOWN.contains(&name.as_str()));
        }
    }
    value
}
