//! What does the page's script read? Findings and runs as JSON that may stand inside a script element.

use std::collections::BTreeMap;

use analyse::Findings;
use record::Record;
use serde_json::{Value, json};

use crate::html_trust::flagged;

/// Most bytes of JSON that a page takes, so that with plotly.js it stays below 2.5 MB.
const MOST_BYTES: usize = 460_000;

/// The embedded JSON.
pub struct Data {
    /// An object with `findings` and `runs` (`columns` and `rows`), free of the character `<`.
    pub json: String,
    /// Runs that found no room; the study file holds them all.
    pub runs_left_out: usize,
}

/// Findings and runs for the page.
pub fn data(findings: &Findings, records: &[Record]) -> Data {
    let mut told = serde_json::to_value(findings).expect("findings are plain data");
    round(&mut told);
    leave_out_series(&mut told, &flagged(findings));
    let room = MOST_BYTES.saturating_sub(told.to_string().len());
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
    let whole = json!({ "findings": told, "runs": { "columns": columns, "rows": rows } });
    Data { json: whole.to_string().replace('<', "\\u003c"), runs_left_out }
}

/// Six significant digits are more than any measurement here has; sixteen would double the page's data.
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

/// Keeps the series of the cells that have a chart over time.
fn leave_out_series(findings: &mut Value, charted: &[usize]) {
    for (place, cell) in findings["cells"].as_array_mut().into_iter().flatten().enumerate() {
        if !charted.contains(&place) {
            cell["series_mbps"] = json!([]);
        }
    }
}

/// One row of the runs, by column.
fn run(record: &Record) -> Vec<(&'static str, Value)> {
    let workload = &record.run.workload;
    let latency = &record.latency;
    let us = |ns: u64| json!(ns as f64 / 1e3);
    let ms = |ns: u64| json!(ns as f64 / 1e6);
    vec![
        ("experiment", json!(record.run.experiment)),
        ("pass", json!(record.run.pass)),
        ("rw", json!(workload.rw)),
        ("bs_bytes", json!(workload.bs.0)),
        ("iodepth", json!(workload.iodepth)),
        ("threads", json!(workload.threads)),
        ("cache", json!(workload.cache)),
        ("engine", json!(record.engine)),
        ("repeat", json!(record.run.repeat)),
        ("started_unix_ms", json!(record.started_unix_ms)),
        ("seconds", json!(record.seconds())),
        ("bytes", json!(record.bytes)),
        ("ios", json!(record.ios)),
        ("errors", json!(errors(&record.errors))),
        ("short_transfers", json!(record.short_transfers)),
        ("mbps", json!(record.mbps())),
        ("iops", json!(record.iops())),
        ("latency_us_min", us(latency.min_ns())),
        ("latency_us_p50", us(latency.quantile_ns(0.5))),
        ("latency_us_p99", us(latency.quantile_ns(0.99))),
        ("latency_us_max", us(latency.max_ns())),
        ("latency_us_mean", json!(latency.mean_ns() / 1e3)),
        ("achieved_depth", json!(record.achieved_depth)),
        ("user_ms", ms(record.cpu.user_ns)),
        ("system_ms", ms(record.cpu.system_ns)),
        ("machine_busy_ms", ms(record.cpu.machine_busy_ns())),
        ("soaker_lost_ms", record.cpu.soaker.as_ref().map_or(Value::Null, |soaker| ms(soaker.lost_ns))),
    ]
}

/// Errors by kind as one text, `EIO 3; ENOSPC 1`; nothing where there were none.
fn errors(errors: &BTreeMap<String, u64>) -> String {
    errors.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join("; ")
}
