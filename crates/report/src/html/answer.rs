//! Shows the answer: the verdict's sentences, four key figures, and how far to trust them.

use halfpower_analyse::{Bound, CellFinding, Cost, Curve, Findings};
use halfpower_experiments::StudyFindings;
use halfpower_spec::Direction;
use maud::{Markup, html};

use crate::html::format::{UNKNOWN, date, mbps, number, path_words, size};
use crate::words;
use crate::words::settings::cost_path;

/// Longest sentence, in characters, that is still read as a headline.
const HEADLINE: usize = 80;

/// The top of the page: what was measured, the verdict and the key figures.
pub fn answer(findings: &StudyFindings) -> Markup {
    html! {
        section #answer {
            p.eyebrow { (subject(findings)) }
            h1 { code { (findings.target) } }
            div.verdict {
                @for sentence in words::verdict::verdict(findings) { p.long[sentence.chars().count() > HEADLINE] { (sentence) } }
            }
            @if !findings.cells.is_empty() { p.confidence { (confidence(findings)) } }
            // A study of other experiments alone has no such figures; their sections have their own.
            @if !findings.cells.is_empty() || findings.experiments.is_empty() {
                div.tiles {
                    (peak_tile(findings, Direction::Read))
                    (peak_tile(findings, Direction::Write))
                    (half_power_tile(findings))
                    (cost_tile(findings))
                }
            }
        }
    }
}

/// How far to trust the answer, in one sentence with a link to the reservations.
fn confidence(findings: &Findings) -> Markup {
    let cells = findings.cells.len();
    let share = |fits: fn(&CellFinding) -> bool| findings.cells.iter().filter(|cell| fits(cell)).count();
    let (steady, sharp) = (share(|cell| cell.steady), share(|cell| cell.within_5_percent));
    let reservations = match findings.warnings.len() {
        0 => "no reservations".to_string(),
        1 => "one reservation".to_string(),
        count => format!("{count} reservations"),
    };
    html! {
        "How far to trust it: of " (cells) " cells " (steady) " were " a href="#def-steady" { "steady" } " and "
        (sharp) " are known to within 5%; " a href="#trust" { (reservations) } "."
    }
}

/// The device, the runs and the day, as far as they are known.
fn subject(findings: &Findings) -> String {
    let device = findings.device.as_ref().map(|device| device.model.clone().unwrap_or_else(|| device.name.clone()));
    let runs = format!("{} runs in {} s", number_of(findings.runs), number(findings.seconds));
    let day = (findings.started_unix_ms > 0).then(|| date(findings.started_unix_ms));
    [device, Some(runs), day].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn number_of(count: usize) -> String {
    if count < 100 { count.to_string() } else { number(count as f64) }
}

/// A figure: what it is, its value and unit, and what it holds for.
pub(crate) fn tile(what: &str, value: &str, unit: &str, about: &str) -> Markup {
    html! {
        div.tile {
            p.what { (what) }
            p.value { (value) @if !unit.is_empty() { " " span { (unit) } } }
            p.about { (about) }
        }
    }
}

fn peak_tile(findings: &Findings, rw: Direction) -> Markup {
    let what = if rw == Direction::Read { "Peak read" } else { "Peak write" };
    let about = |c: &CellFinding| {
        format!("{}, {} blocks, depth {}", path_words(c.pattern, c.cache, c.rw), size(c.bs_bytes as f64), c.iodepth)
    };
    match halfpower_analyse::peak(&findings.cells, rw) {
        Some(cell) => tile(what, &number(cell.mbps.value), "MB/s", &about(cell)),
        None => tile(what, UNKNOWN, "", "not measured"),
    }
}

/// The smallest block size at half of a curve's peak; an upper bound where no smaller one was measured below it.
pub fn half_power_size(curve: &Curve) -> String {
    let bound = if curve.half_power_bracketed { "" } else { "≤ " };
    format!("{bound}{}", size(curve.half_power_bs_bytes as f64))
}

/// The curve that the key figure tells of: of those about as fast as the fastest, one whose size is bracketed.
fn headline_curve(findings: &Findings, rw: Direction) -> Option<&Curve> {
    let direct = findings.curves.iter().any(|curve| curve.cache.direct());
    let fitting = || findings.curves.iter().filter(|curve| curve.rw == rw && (curve.cache.direct() || !direct));
    let peak_mbps = fitting().map(|curve| curve.peak_mbps).reduce(f64::max)?;
    let about_as_fast = fitting().filter(|curve| curve.peak_mbps >= 0.95 * peak_mbps);
    about_as_fast
        .max_by(|a, b| a.half_power_bracketed.cmp(&b.half_power_bracketed).then(a.peak_mbps.total_cmp(&b.peak_mbps)))
}

fn half_power_tile(findings: &Findings) -> Markup {
    let best = headline_curve(findings, Direction::Read).or_else(|| headline_curve(findings, Direction::Write));
    let Some(best) = best else { return tile("Half power from", UNKNOWN, "", "not measured") };
    let path = |c: &Curve| (c.pattern, c.cache, c.rw);
    let alone = findings.curves.iter().find(|c| path(c) == path(best) && c.iodepth == 1 && best.iodepth != 1);
    let alone = alone.map_or_else(String::new, |curve| format!("; {} at depth 1", half_power_size(curve)));
    let about = format!("{} at depth {}{alone}", path_words(best.pattern, best.cache, best.rw), best.iodepth);
    let whole = half_power_size(best);
    let (value, unit) = whole.rsplit_once(' ').unwrap_or((&whole, ""));
    tile("Half power from", value, unit, &about)
}

/// The charged cost of the first path, reads and direct ones before others, and what the soaker makes of it.
fn cost_tile(findings: &Findings) -> Markup {
    let charged = findings.cost.iter().filter(|cost| cost.bound == Bound::Charged);
    let Some(cost) = charged.min_by_key(|cost| (!cost.cache.direct(), cost.rw, cost.pattern)) else {
        return tile("Processor cost", UNKNOWN, "", "not measured");
    };
    let path = |c: &Cost| (c.pattern, c.cache, c.rw);
    let soaker = findings.cost.iter().find(|other| other.bound == Bound::Soaker && path(other) == path(cost));
    let above = soaker.map_or_else(String::new, |soaker| {
        let (fixed, marginal) = (soaker.fixed_us.value, soaker.marginal_us_per_kib.value);
        format!("; all the machine spent: {} + {} a KiB", number(fixed), number(marginal))
    });
    let unit = format!("µs + {} a KiB", number(cost.marginal_us_per_kib.value));
    tile("Processor cost", &number(cost.fixed_us.value), &unit, &format!("a request, {}{above}", cost_path(cost)))
}

/// How far to trust the numbers; left out where there is nothing to say.
pub fn warnings(findings: &Findings) -> Markup {
    html! {
        section #trust {
            h2 { "How far to trust it" }
            @if findings.warnings.is_empty() {
                p.lead { "The analysis has no reservations about these numbers." }
            } @else {
                ul.warnings { @for warning in &findings.warnings { li { (words::warnings::sentence(warning)) } } }
            }
            @if findings.harness_ns_per_io > 0.0 {
                p.lead {
                    "halfpower itself takes " (number(findings.harness_ns_per_io)) " ns of a request on this machine: \
                     that much of every latency and cost is the instrument's."
                }
            }
        }
    }
}

/// The share of a peak in words.
pub fn share(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// A throughput that may not be known.
pub fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_string(), mbps)
}
