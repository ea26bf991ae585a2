//! Writes findings and runs as JSON for the page's script.

use std::collections::BTreeMap;

use halfpower_analyse::Findings;
use halfpower_experiments::StudyFindings;
use halfpower_record::{Record, Unknown};
use serde_json::{Value, json};

use crate::html::charts::paths;
use crate::html::percentiles::{self, PercentileRow};
use crate::html::trust::{drawn_series, flagged};
use crate::json::study_value;

/// The embedded JSON.
pub struct Data {
    /// An object with `findings`, `percentiles` and `runs` (`columns` and `rows`), without the character `<`.
    pub json: String,
    /// Number of runs left out for lack of room; the study file has all of them.
    pub runs_left_out: usize,
}

/// Findings, percentile curves and runs for the page, in about `most_bytes` at most; runs that do not fit are left out.
pub(crate) fn data(findings: &StudyFindings, records: &[Record], curves: &[PercentileRow], most_bytes: usize) -> Data {
    let mut reported = study_value(findings);
    keep_what_is_drawn(&mut reported, findings);
    let names: BTreeMap<String, String> = paths(findings).into_iter().map(|path| (path.key(), path.words())).collect();
    reported["names"] = json!(names);
    round(&mut reported);
    let room = most_bytes.saturating_sub(reported.to_string().len());
    let mut used = 0;
    let mut rows = Vec::new();
    for record in records {
        let mut row = Value::Array(run(record).into_iter().map(|(_, value)| value).collect());
        round(&mut row);
        used += row.to_string().len() + 1;
        if used > room {
            break;
        }
        rows.push(row);
    }
    let columns: Vec<&str> =
        records.first().map_or_else(Vec::new, |record| run(record).into_iter().map(|(name, _)| name).collect());
    let runs_left_out = records.len() - rows.len();
    let whole = json!({ "findings": reported, "percentiles": percentiles::value(curves), "runs": { "columns": columns, "rows": rows } });
    Data { json: whole.to_string().replace('<', "\\u003c"), runs_left_out }
}

/// Six significant digits exceed the precision of any measurement here; sixteen would double the page's data.
pub(crate) fn round(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let exact = number.as_f64().unwrap_or_default();
            *value = json!(format!("{exact:.5e}").parse::<f64>().unwrap_or(exact));
        }
        Value::Array(items) => items.iter_mut().for_each(round),
        Value::Object(members) => members.values_mut().for_each(round),
        _ => {}
    }
}

/// Keys of a cell that neither a chart nor the list of cells shows.
const NOT_DRAWN: [&str; 12] = [
    "run_mbps",
    "run_charged_us",
    "noise",
    "unsteady",
    "unsteady_why",
    "issuing",
    "chosen_mbps",
    "within_5_percent",
    "within_run_reach",
    "memory_mbps",
    "flush_share",
    "unseen_us",
];

/// Removes what the checks found, which no chart needs, and from each cell: series that are not drawn, and figures that the
/// rows of runs repeat.
fn keep_what_is_drawn(reported: &mut Value, findings: &Findings) {
    reported["checks"] = Value::Null;
    let charted = flagged(findings);
    for (place, cell) in reported["cells"].as_array_mut().into_iter().flatten().enumerate() {
        let series = if charted.contains(&place) { drawn_series(&findings.cells[place]) } else { (Vec::new(), 0.0) };
        cell["series_mbps"] = json!(series.0);
        cell["series_step_ns"] = json!(series.1 * 1e6);
        let members = cell.as_object_mut().expect("a cell is an object");
        for name in NOT_DRAWN {
            members.remove(name);
        }
        if let Some(latency) = members.get_mut("latency_ns").and_then(Value::as_object_mut) {
            latency.retain(|name, _| !name.ends_with("_interval"));
        }
    }
}

/// One row of the runs, by column.
fn run(record: &Record) -> Vec<(&'static str, Value)> {
    let workload = &record.run.workload;
    let latency = &record.latency;
    let ms = |ns: u64| json!(ns as f64 / 1e6);
    let known = |what, figure: Value| if record.knows(what) { figure } else { Value::Null };
    let latency_known = |figure: Value| if record.knows_latency() { figure } else { Value::Null };
    let counted = record.origin.is_none() || !record.cpu.machine.is_empty();
    let busy = counted.then(|| record.cpu.machine_busy_ns());
    vec![
        ("experiment", json!(record.run.experiment)),
        ("pass", json!(record.run.pass)),
        ("rw", json!(workload.rw)),
        ("bs_bytes", known(Unknown::BlockSize, json!(workload.bs.0))),
        ("iodepth", known(Unknown::Depth, json!(workload.iodepth))),
        ("threads", known(Unknown::Depth, json!(workload.threads))),
        ("cache", known(Unknown::Cache, json!(workload.cache))),
        ("engine", json!(record.engine)),
        ("repeat", json!(record.run.repeat)),
        ("started_unix_ms", known(Unknown::Start, json!(record.started_unix_ms))),
        ("seconds", json!(record.seconds())),
        ("bytes", json!(record.bytes)),
        ("ios", json!(record.ios)),
        ("errors", json!(errors(&record.errors))),
        ("short_transfers", json!(record.short_transfers)),
        ("mbps", json!(record.mbps())),
        ("iops", json!(record.iops())),
        ("latency_ns_min", latency_known(json!(latency.min_ns()))),
        ("latency_ns_p50", json!(record.latency_ns_at(0.5))),
        ("latency_ns_p99", json!(record.latency_ns_at(0.99))),
        ("latency_ns_max", latency_known(json!(latency.max_ns()))),
        ("latency_ns_mean", latency_known(json!(latency.mean_ns()))),
        ("achieved_depth", json!(record.known_depth())),
        ("user_ms", known(Unknown::ChargedTime, ms(record.cpu.user_ns))),
        ("system_ms", known(Unknown::ChargedTime, ms(record.cpu.system_ns))),
        ("machine_busy_ms", busy.map_or(Value::Null, ms)),
        ("soaker_lost_ms", record.cpu.soaker.as_ref().map_or(Value::Null, |soaker| ms(soaker.lost_ns))),
    ]
}

/// Errors by kind as one text, such as `EIO 3; ENOSPC 1`; empty without errors.
fn errors(errors: &BTreeMap<String, u64>) -> String {
    errors.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join("; ")
}
