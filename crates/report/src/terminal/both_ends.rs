//! Prints the costs at both ends side by side, one line for each path and way of accounting.

use halfpower_analyse::{CostLine, EndsCost, Findings};

use super::screen::{Item, Section, Tone};
use super::table::{RIGHT, UNKNOWN, range, table, term};
use crate::words::far_end;

/// The section; empty without a witness at the far end.
pub(super) fn section(findings: &Findings, width: usize) -> Section {
    let Some(end) = findings.far_end.as_ref().filter(|end| !end.cost.is_empty()) else {
        return Section::new(None, Vec::new());
    };
    let row = |cost: &EndsCost| {
        vec![
            format!("  {}", far_end::path(cost)),
            far_end::accounting(cost.by, &end.machine),
            bill(cost.near.as_ref()),
            bill(cost.far.as_ref()),
            per_mb(cost.near.as_ref()),
            per_mb(cost.far.as_ref()),
        ]
    };
    let heading = ["BOTH ENDS, us + us a KiB", "by", "this end", "far end", "ms a MB here", "there"];
    let rows: Vec<Vec<String>> = end.cost.iter().map(row).collect();
    let lines = table(&heading, &rows, &[0, 0, 0, 0, RIGHT + 1, RIGHT + 1], width);
    let whose = format!("The far end is {}.", far_end::whose(&end.machine));
    let mut items: Vec<Item> = lines[1..].iter().map(|line| Item::line(line, Tone::Plain)).collect();
    items.push(Item::sentence("  ", &whose, width, Tone::Plain));
    Section::new(Some(lines[0].clone()), items)
}

/// A cost as fixed plus marginal part: `12 ±1 + 0.31 ±0.02`.
fn bill(line: Option<&CostLine>) -> String {
    line.map_or(UNKNOWN.to_string(), |line| {
        format!("{} + {}", term(&line.fixed_us, true), term(&line.marginal_us_per_kib, true))
    })
}

fn per_mb(line: Option<&CostLine>) -> String {
    line.map_or(UNKNOWN.to_string(), |line| range(line.ms_per_mb))
}
