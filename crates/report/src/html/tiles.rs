//! Shows rates as tiles: small requests and highest throughput, reads and writes separately.

use halfpower_analyse::{BesideRow, CellRate, RateRole, RateRow, Sureness};
use halfpower_experiments::StudyFindings;
use halfpower_spec::format::{number, size, thousands, time_ns};
use halfpower_spec::{Direction, Pattern};
use maud::{Markup, html};

use crate::html::format::heading;
use crate::words::{doubt, first_screen, sessions, settings::count};

/// One tile: its name, value and unit, and the settings that it holds for.
pub(crate) fn tile(what: &str, value: &str, unit: &str, about: &str) -> Markup {
    html! {
        div.tile {
            p.what { (what) }
            p.value { (value) @if !unit.is_empty() { " " span { (unit) } } }
            p.about { (about) }
        }
    }
}

/// The tiles of the first screen; figures that were not measured have no tile.
pub(crate) fn tiles(study: &StudyFindings) -> Markup {
    let rows = &study.summary.how_fast;
    let of = |rw: Direction, role: RateRole| rows.iter().find(|row| row.cell.rw == rw && row.role == role);
    let small = Direction::ALL.iter().filter_map(|rw| {
        let alone = of(*rw, RateRole::SmallAlone);
        let shown = of(*rw, RateRole::SmallDeep).or(alone)?;
        Some(small_tile(shown, alone.filter(|alone| alone.cell != shown.cell)))
    });
    let best = Direction::ALL.iter().filter_map(|rw| of(*rw, RateRole::Best)).map(|row| best_tile(row, "Fastest"));
    let unsure =
        Direction::ALL.iter().filter_map(|rw| of(*rw, RateRole::Unsure)).map(|row| best_tile(row, "Perhaps faster"));
    let all: Vec<Markup> = small.chain(best).chain(unsure).collect();
    let rates = || rows.iter().flat_map(|row| std::iter::once(&row.rate).chain(&row.durable));
    let alone = rates().any(|rate| rate.sureness == Sureness::SingleRun);
    html! {
        @if !all.is_empty() { div.tiles.rates { @for tile in &all { (tile) } } }
        @if let Some(missing) = missing(study) { p.missing { (missing) } }
        @if study.summary.sessions.is_some() { p.missing { (heading(&sessions::scope(&study.summary))) "." } }
        @for note in sessions::notes(&study.summary) { p.missing { (heading(&note)) "." } }
        @if let Some(witness) = first_screen::witness(&study.headline) { p.missing { (heading(&witness)) "." } }
        @for row in rows.iter().filter(|row| row.rate.read_ahead) {
            p.missing { (heading(&first_screen::read_ahead(&row.cell, &row.rate))) "." }
        }
        @if rates().any(|rate| rate.sureness.is_known() && rate.latency_ns_p50.is_none()) {
            p.missing { (heading(first_screen::no_latency(study))) "." }
        }
        @if alone { p.missing { "\u{b1}? a single run: nothing tells how far it is off." } }
    }
}

/// Names the directions without a tile, and why they have none.
fn missing(study: &StudyFindings) -> Option<String> {
    let has_tile = |rw: &Direction| study.summary.how_fast.iter().any(|row| row.cell.rw == *rw);
    let without: Vec<Direction> = Direction::ALL.iter().copied().filter(|rw| !has_tile(rw)).collect();
    match without[..] {
        [] => None,
        [rw] => Some(format!("{}.", why_missing(study, rw))),
        [..] => Some(format!("How fast is not known: {}.", first_screen::no_rates(study))),
    }
}

/// Why this direction has no rate.
fn why_missing(study: &StudyFindings, rw: Direction) -> String {
    let is_of_it = |row: &BesideRow| row.workload.rw.direction().is_none_or(|direction| direction == rw);
    let name = heading(&format!("{rw}s"));
    if study.cells.iter().any(|cell| cell.rw == rw) {
        format!("{name}: no run moved bytes without errors and without a cache")
    } else if study.beside.iter().any(is_of_it) {
        format!("{name} stand beside the cells")
    } else {
        format!("{name} were not measured")
    }
}

fn small_tile(row: &RateRow, alone: Option<&RateRow>) -> Markup {
    let iops = |rate: &CellRate| (thousands(rate.iops.value), "IOPS");
    let pattern = if row.cell.pattern == Pattern::Random { "Random" } else { "Sequential" };
    let what = format!("{pattern} {}s, {}", row.cell.rw, size(row.cell.bs_bytes as f64));
    let more = html! {
        @if let Some(alone) = alone {
            p { (first_screen::depth(&alone.cell)) ": " (brief(&alone.rate, &iops)) ", " (latency(&alone.rate)) }
        }
        @if let Some(durable) = &row.durable { p { "each durable: " (brief(durable, &iops)) ", " (latency(durable)) } }
    };
    rate_tile(&what, row, &iops, &first_screen::depth(&row.cell), more)
}

fn best_tile(row: &RateRow, which: &str) -> Markup {
    let mbps = |rate: &CellRate| (number(rate.mbps.value), "MB/s");
    let what = format!("{which} {}s, {}", row.cell.rw, size(row.cell.bs_bytes as f64));
    let path = heading(&first_screen::whole_row_name(&row.cell));
    let settings = format!("{path}, {}", first_screen::depth(&row.cell));
    let more = html! {
        @if let Some(durable) = &row.durable {
            p { "accepted; each durable: " b { (brief(durable, &mbps)) } }
        }
    };
    rate_tile(&what, row, &mbps, &settings, more)
}

/// Value and unit of a rate.
type Figure<'a> = &'a dyn Fn(&CellRate) -> (String, &'static str);

fn rate_tile(what: &str, row: &RateRow, figure: Figure, settings: &str, more: Markup) -> Markup {
    let (value, unit) = figure(&row.rate);
    html! {
        div.tile {
            p.what { (what) }
            @if row.rate.sureness.is_known() {
                p.value { (value) " " span { (unit) " " (first_screen::reach(&row.rate.sureness)) } }
            } @else {
                p.value.unknown { "not known" }
            }
            div.about {
                p { b { (latency(&row.rate)) } }
                p { (settings) ", " (count(row.rate.runs, "run")) (doubt(&row.rate)) }
                (more)
            }
        }
    }
}

/// A rate such as `18,804 IOPS ±26%`.
fn brief(rate: &CellRate, figure: Figure) -> String {
    if !rate.sureness.is_known() {
        return "not known".to_string();
    }
    let (value, unit) = figure(rate);
    format!("{value} {unit} {}", first_screen::reach(&rate.sureness))
}

fn latency(rate: &CellRate) -> String {
    let reported = |ns: Option<u64>, interval| {
        let within = first_screen::latency_reach(interval);
        ns.map_or("not known".to_string(), |ns| format!("{} {within}", time_ns(ns as f64)).trim_end().to_string())
    };
    let p50 = reported(rate.latency_ns_p50, rate.latency_ns_p50_interval);
    let p99 = reported(rate.latency_ns_p99, rate.latency_ns_p99_interval);
    format!("p50 {p50}, p99 {p99}")
}

/// The doubts about a rate, to follow its settings.
fn doubt(rate: &CellRate) -> String {
    let unsteady = if rate.steady { "" } else { "; not steady within them" };
    match rate.sureness {
        Sureness::Unknown { more_seconds: Some(seconds) } => {
            let runs = first_screen::runs_between(rate);
            format!("{runs}{unsteady}; needs about {} more", doubt::about(seconds))
        }
        Sureness::Unknown { more_seconds: None } => {
            format!("{}{unsteady}; they differ too much", first_screen::runs_between(rate))
        }
        Sureness::SingleRun | Sureness::Within { .. } => unsteady.to_string(),
    }
}
