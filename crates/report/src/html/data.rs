//! Writes findings and runs as JSON for the page's script.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_analyse::Findings;
use halfpower_experiments::StudyFindings;
use halfpower_record::{Latency, Record, Unknown};
use serde_json::{Value, json};

use crate::html::charts::paths;
use crate::html::percentiles::{self, PercentileRow};
use crate::html::trust::{drawn_series, flagged};
use crate::json::study_value;

/// The embedded JSON.
pub struct Data {
    /// An object with `findings`, whose cells are `columns` and `rows`, `percentiles` and `runs` (`columns` and `rows`),
    /// without the character `<`.
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
const NOT_DRAWN: [&str; 13] = [
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
    "waited_share",
];

/// Members of the findings that the page's script reads.
const READ: [&str; 7] = ["target", "cells", "curves", "cost", "advice", "fleet", "experiments"];
/// Members of an experiment that it reads; the rest of it is text of the page.
const READ_OF_EXPERIMENT: [&str; 2] = ["experiment", "pictures"];
/// Members of a host that it reads, and of the fleet.
const READ_OF_HOST: [&str; 1] = ["name"];
const READ_OF_FLEET: [&str; 2] = ["hosts", "map"];

/// Leaves the members of each object that are among `names`.
fn retain<'a>(objects: impl IntoIterator<Item = &'a mut Value>, names: &[&str]) {
    for members in objects.into_iter().filter_map(Value::as_object_mut) {
        members.retain(|name, _| names.contains(&name.as_str()));
    }
}

/// Leaves what charts and the list of cells show. Of cells that leaves out series that are not drawn, and figures that the
/// rows of runs repeat.
fn keep_what_is_drawn(reported: &mut Value, findings: &Findings) {
    retain([&mut *reported], &READ);
    retain(reported["experiments"].as_array_mut().into_iter().flatten(), &READ_OF_EXPERIMENT);
    retain(reported.pointer_mut("/fleet"), &READ_OF_FLEET);
    let hosts = reported.pointer_mut("/fleet/hosts").and_then(Value::as_array_mut);
    retain(hosts.into_iter().flatten(), &READ_OF_HOST);
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
    let rows = in_rows(reported["cells"].as_array().map(Vec::as_slice).unwrap_or_default());
    reported["cells"] = rows;
}

/// Objects of the same members as rows of columns, because their names are more than half of them. The member of a member
/// is a column with both names.
fn in_rows(objects: &[Value]) -> Value {
    let flat: Vec<BTreeMap<String, &Value>> = objects.iter().map(columns).collect();
    let names: BTreeSet<&String> = flat.iter().flat_map(BTreeMap::keys).collect();
    let of = |row: &BTreeMap<String, &Value>| -> Vec<Value> {
        names.iter().map(|name| row.get(*name).copied().cloned().unwrap_or_default()).collect()
    };
    let rows: Vec<Vec<Value>> = flat.iter().map(of).collect();
    json!({ "columns": names, "rows": rows })
}

/// The members of an object, and the members of each member that is an object.
fn columns(object: &Value) -> BTreeMap<String, &Value> {
    let mut all = BTreeMap::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        if let Some(inner) = value.as_object() {
            all.extend(inner.iter().map(|(own, value)| (format!("{name} {own}"), value)));
        } else {
            all.insert(name.clone(), value);
        }
    }
    all
}

/// One row of the runs, by column.
fn run(record: &Record) -> Vec<(&'static str, Value)> {
    let workload = &record.run.workload;
    let latency = record.known_latency();
    let ms = |ns: u64| json!(ns as f64 / 1e6);
    let known = |what, figure: Value| if record.knows(what) { figure } else { Value::Null };
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
        ("latency_ns_min", json!(latency.map(Latency::min_ns))),
        ("latency_ns_p50", json!(record.latency_ns_at(0.5))),
        ("latency_ns_p99", json!(record.latency_ns_at(0.99))),
        ("latency_ns_max", json!(latency.map(Latency::max_ns))),
        ("latency_ns_mean", json!(latency.map(Latency::mean_ns))),
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
