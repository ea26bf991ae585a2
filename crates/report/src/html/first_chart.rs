//! Draws the charts of the first screen: latency against the rate of an open loop where the most load under a latency was
//! asked for (`load_chart.rs`), latency against rate of small random requests (`knee_chart.rs`), then throughput against
//! block size on a linear scale, with a choice of depths.
//!
//! The chart is SVG and text placed by percent, so it appears at once, without script and at any width. The line of the
//! chosen depth shows its 95% interval, half power and figures; the lines of other depths are in the background.

use std::collections::BTreeSet;
use std::fmt::Write;

use halfpower_analyse::{CellFinding, Curve, Interval, RateRole, RateRow, Sureness};
use halfpower_experiments::StudyFindings;
use halfpower_spec::format::{number, size};
use halfpower_spec::{Direction, InOrder, path_words};
use maud::{Markup, html};

use crate::html::format::heading;
use crate::html::knee_chart::{KneeChart, knee_chart};
use crate::html::load_chart::{LoadChart, load_chart};
use crate::html::scale::LinearScale;

/// Values above this multiple of the fastest believed cell are cut off.
const CLIP: f64 = 1.3;
/// An advertised peak up to this multiple of that cell still fits on the scale.
const PAP_IN_SIGHT: f64 = 2.0;
/// Free share of the width at either side.
const MARGIN: f64 = 0.04;
/// Least distance between the labels of two lines, in percent of the height.
const LABEL_GAP: f64 = 5.5;
/// Most axis labels on a narrow screen.
const NARROW_LABELS: usize = 5;

/// The lines of one path.
struct PathChart<'a> {
    rw: Direction,
    words: String,
    /// Depth that is chosen at first.
    iodepth: u32,
    lines: Vec<DepthLine<'a>>,
    sizes: Vec<u64>,
    scale: LinearScale,
    pap_mbps: Option<f64>,
}

/// The cells of one depth, by block size.
struct DepthLine<'a> {
    iodepth: u32,
    cells: Vec<&'a CellFinding>,
    curve: Option<&'a Curve>,
}

/// The charts, and the styles that show the chosen one and its lines; both empty if neither depths nor block sizes were
/// walked, and no rates were tried.
pub(crate) fn first_chart(study: &StudyFindings) -> (Markup, String) {
    let charts: Vec<PathChart> = Direction::ALL.iter().filter_map(|rw| path_chart(study, *rw)).collect();
    let knees: Vec<KneeChart> = Direction::ALL.iter().filter_map(|rw| KneeChart::of(study, *rw)).collect();
    let loads = LoadChart::all(study);
    let of_loads = loads.iter().map(|load| (load.id(), load.name()));
    let of_knees = knees.iter().map(|knee| (format!("knee-{}", knee.rw), knee.name()));
    let of_paths = charts.iter().map(|chart| (chart.rw.to_string(), format!("{}s", heading(&chart.words))));
    let ways: Vec<(String, String)> = of_loads.chain(of_knees).chain(of_paths).collect();
    if ways.is_empty() {
        return (html! {}, String::new());
    }
    let markup = html! {
        figure.first-chart {
            figcaption { (caption(&loads, &knees, &charts)) }
            @for (place, (id, _)) in ways.iter().enumerate() {
                input.way.shut type="radio" name="way" id={ "way-" (id) } checked[place == 0];
            }
            div.ways.shut[ways.len() == 1] {
                @for (id, name) in &ways { label for={ "way-" (id) } { (name) } }
            }
            @for load in &loads { (load_chart(load)) }
            @for knee in &knees { (knee_chart(knee)) }
            @for chart in &charts { (panel(chart)) }
        }
    };
    let of_ways: String = ways.iter().map(|(id, _)| way_styles(id)).collect();
    (markup, of_ways + &charts.iter().map(styles).collect::<String>())
}

fn caption(loads: &[LoadChart], knees: &[KneeChart], charts: &[PathChart]) -> String {
    match (loads, knees, charts) {
        ([], [], [chart]) => format!("Throughput by block size, {}s", chart.words),
        ([], [], _) => "Throughput by block size".to_string(),
        ([load], [], []) => load.name(),
        ([], [knee], []) => knee.name(),
        (_, _, []) => "Latency against rate".to_string(),
        _ => "Latency against rate, and throughput by block size".to_string(),
    }
}

/// The styles that show the panel of a choice.
fn way_styles(id: &str) -> String {
    format!(
        "#way-{id}:checked~.panel-{id}{{display:block}}#way-{id}:checked~.ways [for=way-{id}]{{{CHOSEN}}}\
         #way-{id}:focus-visible~.ways [for=way-{id}]{{{FOCUS}}}"
    )
}

/// The row of a direction's fastest cell.
fn fastest_row(study: &StudyFindings, rw: Direction) -> Option<&RateRow> {
    study.summary.how_fast.iter().rfind(|row| row.cell.rw == rw && row.role != RateRole::Unsure)
}

/// The path of a direction's fastest cell, at its number of threads.
fn path_chart(study: &StudyFindings, rw: Direction) -> Option<PathChart<'_>> {
    let fastest = fastest_row(study, rw)?.cell;
    let is_shown = |cell: &&CellFinding| {
        cell.settings.path() == fastest.path() && cell.threads == fastest.threads && cell.mbps.value > 0.0
    };
    let cells: Vec<&CellFinding> = study.cells.iter().filter(is_shown).collect();
    let sizes: BTreeSet<u64> = cells.iter().map(|cell| cell.bs_bytes).collect();
    if sizes.len() < 2 {
        return None;
    }
    let curve_at = |iodepth: u32| {
        study.curves.iter().find(|curve| {
            (curve.pattern, curve.rw, curve.cache, curve.iodepth) == (fastest.pattern, rw, fastest.cache, iodepth)
        })
    };
    let depths: BTreeSet<u32> = cells.iter().map(|cell| cell.iodepth).collect();
    let line = |iodepth: u32| {
        let mut own: Vec<&CellFinding> = cells.iter().copied().filter(|cell| cell.iodepth == iodepth).collect();
        own.order_by_key(|cell| cell.bs_bytes);
        own.dedup_by_key(|cell| cell.bs_bytes);
        DepthLine { iodepth, cells: own, curve: curve_at(iodepth) }
    };
    let lines: Vec<DepthLine> = depths.into_iter().map(line).collect();
    let pap_mbps = lines
        .iter()
        .filter_map(|line| line.curve)
        .find_map(|c| Some(c.peak_mbps / c.rap_over_pap.filter(|r| *r > 0.0)?));
    Some(PathChart {
        rw,
        words: path_words(fastest.pattern, fastest.cache, rw),
        iodepth: fastest.iodepth,
        scale: scale(&cells, pap_mbps),
        sizes: sizes.into_iter().collect(),
        lines,
        pap_mbps,
    })
}

/// The axis. It holds values that are not far above the fastest believed cell, and an advertised peak that is not far
/// above it.
fn scale(cells: &[&CellFinding], pap_mbps: Option<f64>) -> LinearScale {
    let highest = |some: &dyn Fn(&CellFinding) -> bool| {
        cells.iter().filter(|cell| some(cell)).map(|cell| cell.mbps.value).fold(0.0, f64::max)
    };
    let believed = highest(&|cell| cell.usable() && cell.run_mbps.len() > 1 && is_known(cell));
    let limit = if believed > 0.0 { believed * CLIP } else { f64::INFINITY };
    let shown = highest(&|cell| cell.mbps.value <= limit);
    let pap = pap_mbps.filter(|pap| *pap <= PAP_IN_SIGHT * shown).unwrap_or(0.0);
    LinearScale::up_to(shown.max(pap))
}

fn is_known(cell: &CellFinding) -> bool {
    Sureness::of(&cell.mbps, cell.run_mbps.len(), None).is_known()
}

impl PathChart<'_> {
    /// Horizontal position of a block size, in percent.
    fn x(&self, bs_bytes: u64) -> f64 {
        let at = |bytes: u64| (bytes as f64).log2();
        let first = at(self.sizes[0]);
        let last = at(self.sizes[self.sizes.len() - 1]);
        100.0 * (MARGIN + (1.0 - 2.0 * MARGIN) * (at(bs_bytes) - first) / (last - first))
    }

    fn chosen(&self) -> usize {
        self.lines.iter().position(|line| line.iodepth == self.iodepth).unwrap_or(0)
    }
}

/// The styles that show the chosen line of a panel.
fn styles(chart: &PathChart) -> String {
    let rw = chart.rw;
    let mut css = String::new();
    for line in &chart.lines {
        let id = format!("{rw}-{}", line.iodepth);
        let _ = write!(
            css,
            "#{id}:checked~.stage .of-{id}{{display:block}}#{id}:checked~.stage .line-{id}{{{LINE}}}\
             #{id}:checked~.picks [for={id}]{{{CHOSEN}}}#{id}:focus-visible~.picks [for={id}]{{{FOCUS}}}"
        );
    }
    css
}

const CHOSEN: &str = "color:var(--card);background:var(--accent);border-color:var(--accent)";
const FOCUS: &str = "outline:2px solid var(--accent);outline-offset:2px";
const LINE: &str = "stroke:var(--accent);stroke-width:2.5;opacity:1";

fn panel(chart: &PathChart) -> Markup {
    let rw = chart.rw;
    let chosen = chart.chosen();
    let id = |line: &DepthLine| format!("{rw}-{}", line.iodepth);
    html! {
        fieldset.panel.{ "panel-" (rw) } {
            legend.shut { "Depth of " (chart.words) "s" }
            @for (place, line) in chart.lines.iter().enumerate() {
                input.pick.shut type="radio" name={ "depth-" (rw) } id=(id(line)) checked[place == chosen];
            }
            div.picks {
                span { "Depth" }
                @for line in &chart.lines { label for=(id(line)) { (line.iodepth) } }
            }
            div.stage {
                div.unit { "MB/s" }
                (ground(chart))
                div.plane {
                    svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true" {
                        @for line in &chart.lines { (ribbon(chart, line, &id(line))) }
                        @for line in &chart.lines {
                            @for cells in stretches(chart, line) {
                                polyline.line.{ "line-" (id(line)) } points=(points(chart, cells)) {}
                            }
                        }
                    }
                    @if let Some(pap) = chart.pap_mbps { (pap_rule(chart, pap)) }
                    (depth_labels(chart))
                    @for line in &chart.lines { (marks(chart, line, &id(line))) }
                }
            }
        }
    }
}

/// The grid, the figures on the left and the block sizes below.
fn ground(chart: &PathChart) -> Markup {
    let every = chart.sizes.len().div_ceil(NARROW_LABELS);
    html! {
        div.ground aria-hidden="true" {
            @for tick in chart.scale.ticks() {
                div.rule style={ "top:" (percent(chart.scale.percent(tick))) } {
                    span { @if tick == 0.0 { "0" } @else if tick < 10.0 { (tick) } @else { (halfpower_spec::format::thousands(tick)) } }
                }
            }
            @for (place, bs) in chart.sizes.iter().enumerate() {
                div.size.spare[place % every > 0] style={ "left:" (percent(chart.x(*bs))) } { (size(*bs as f64)) }
            }
        }
    }
}

fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

/// A point on the plane of 1,000 by 1,000.
fn place(chart: &PathChart, bs_bytes: u64, mbps: f64) -> String {
    format!("{:.0},{:.0}", 10.0 * chart.x(bs_bytes), 10.0 * chart.scale.percent(mbps))
}

fn points(chart: &PathChart, cells: &[&CellFinding]) -> String {
    cells.iter().map(|cell| place(chart, cell.bs_bytes, cell.mbps.value)).collect::<Vec<_>>().join(" ")
}

/// The parts of a line that are joined. A single run joins nothing, unless there are only single runs.
fn stretches<'l, 'a>(chart: &PathChart, line: &'l DepthLine<'a>) -> Vec<&'l [&'a CellFinding]> {
    let single_runs_only = chart.lines.iter().all(|line| line.cells.iter().all(|cell| cell.runs < 2));
    let is_joined = |cell: &CellFinding| single_runs_only || cell.runs > 1;
    let parts = line.cells.chunk_by(|one, other| is_joined(one) == is_joined(other));
    parts.filter(|cells| is_joined(cells[0])).collect()
}

/// The depths beside their lines, at the block size where most of them have room.
fn depth_labels(chart: &PathChart) -> Markup {
    let labels_at = |bs_bytes: u64| {
        let of_line = |line: &DepthLine| {
            let cell = line.cells.iter().find(|cell| cell.bs_bytes == bs_bytes)?;
            (!chart.scale.is_beyond(cell.mbps.value)).then(|| (line.iodepth, chart.scale.percent(cell.mbps.value)))
        };
        let mut labels: Vec<(u32, f64)> = chart.lines.iter().filter_map(of_line).collect();
        labels.order_by(|one, other| one.1.total_cmp(&other.1));
        let mut end = f64::NEG_INFINITY;
        labels.retain(|(_, y)| {
            let fits = y - end >= LABEL_GAP;
            end = if fits { *y } else { end };
            fits
        });
        labels
    };
    let all = chart.sizes.iter().map(|bs| (*bs, labels_at(*bs)));
    let most = all.max_by_key(|(_, labels)| labels.len()).filter(|(_, labels)| labels.len() > 1);
    html! {
        @if let Some((bs, labels)) = most {
            @let x = chart.x(bs);
            @for (rank, (iodepth, y)) in labels.iter().enumerate() {
                span.depth.before[x > 50.0] aria-hidden="true" style={ "left:" (percent(x)) ";top:" (percent(*y)) } {
                    (iodepth) @if rank == 0 { " deep" }
                }
            }
        }
    }
}

/// The 95% intervals along a line, between neighbours that both have a meaningful one.
fn ribbon(chart: &PathChart, line: &DepthLine, id: &str) -> Markup {
    let stretches = line.cells.chunk_by(|one, other| is_known(one) == is_known(other));
    let around = |cells: &[&CellFinding]| {
        let edge = |cell: &CellFinding, end: fn(&Interval) -> f64| place(chart, cell.bs_bytes, end(&cell.mbps));
        let upper = cells.iter().map(|cell| edge(cell, |mbps| mbps.high));
        let lower = cells.iter().rev().map(|cell| edge(cell, |mbps| mbps.low));
        upper.chain(lower).collect::<Vec<_>>().join(" ")
    };
    html! {
        @for cells in stretches.filter(|cells| is_known(cells[0])) {
            // A cell between two without an interval gets a bar.
            polygon.ribbon.chosen.alone[cells.len() == 1].{ "of-" (id) } points=(around(cells)) {}
        }
    }
}

/// The narrowest advertised peak: a line, or if it is far above the scale, a label at the top.
fn pap_rule(chart: &PathChart, pap: f64) -> Markup {
    let beyond = chart.scale.is_beyond(pap);
    let words = format!("PAP {} MB/s{}", number(pap), if beyond { ", above this scale" } else { "" });
    html! { div.pap.beyond[beyond] style={ "top:" (percent(chart.scale.percent(pap))) } { span { (words) } } }
}

/// Marks on the chosen line: each cell, the peak, and half power.
fn marks(chart: &PathChart, line: &DepthLine, id: &str) -> Markup {
    let clipped: Vec<String> = line
        .cells
        .iter()
        .filter(|cell| chart.scale.is_beyond(cell.mbps.value))
        .map(|cell| format!("{} at {}", rate(cell), size(cell.bs_bytes as f64)))
        .collect();
    html! {
        div.marks.chosen.{ "of-" (id) } {
            @if let Some(curve) = line.curve { (half_power(chart, curve)) }
            @for cell in &line.cells {
                @let (x, y) = (chart.x(cell.bs_bytes), chart.scale.percent(cell.mbps.value));
                i.mark.clipped[chart.scale.is_beyond(cell.mbps.value)].open[!cell.steady || cell.cached || cell.runs < 2]
                    style={ "left:" (percent(x)) ";top:" (percent(y)) } title=(reported(cell)) {}
            }
            @if !clipped.is_empty() { p.cut { "\u{25b2} above the scale: " (clipped.join(", ")) } }
        }
    }
}

fn half_power(chart: &PathChart, curve: &Curve) -> Markup {
    let half = curve.peak_mbps / 2.0;
    let x = chart.x(curve.half_power_bs_bytes);
    let y = chart.scale.percent(half);
    let from = size(curve.half_power_bs_bytes as f64);
    let or_less = if curve.half_power_bracketed { "" } else { " or less" };
    html! {
        @if chart.sizes.first().is_some_and(|first| curve.half_power_bs_bytes >= *first) {
            div.half style={ "top:" (percent(y)) } {
                span {
                    "half power: " (number(half)) " MB/s"
                    @if curve.half_power_holds { span.spare { " from " (from) (or_less) } }
                }
            }
            @if curve.half_power_bracketed && curve.half_power_holds { div.drop style={ "left:" (percent(x)) ";top:" (percent(y)) } {} }
        }
    }
}

fn rate(cell: &CellFinding) -> String {
    format!("{} MB/s", number(cell.mbps.value))
}

/// A cell in one line of text.
fn reported(cell: &CellFinding) -> String {
    let sureness = Sureness::of(&cell.mbps, cell.run_mbps.len(), None);
    let reach = match sureness {
        Sureness::Unknown { .. } => ", runs differ too much".to_string(),
        known => format!(" {}", crate::words::first_screen::reach(&known)),
    };
    let steady = if cell.steady { "" } else { ", not steady" };
    let cached = if cell.cached { ", answered by a cache" } else { "" };
    let runs = crate::words::settings::count(cell.runs, "run");
    format!("{}, {} deep: {}{reach}, {runs}{steady}{cached}", size(cell.bs_bytes as f64), cell.iodepth, rate(cell))
}
