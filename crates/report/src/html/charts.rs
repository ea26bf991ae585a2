//! Gives each chart a place in the page, in which the page's script draws it, and a table of its data.
//!
//! A *path* is one pattern, cache setting and direction; every kind of chart has one small multiple per path.

use std::collections::BTreeSet;
use std::fmt::Write;

use halfpower_analyse::{Bound, CellFinding, Cost, Findings};
use halfpower_spec::format::{precise_size, precise_time_us};
use halfpower_spec::{Cache, Direction, InOrder, Pattern, path_words};
use maud::{Markup, html};

use crate::html::fold::Fold;
use crate::html::format::{UNKNOWN, heading, number, scrolling_table};
use crate::html::percentiles::{PercentileRow, percentiles};
use crate::words::settings::{cost_path, count};

/// One pattern, cache setting and direction: each small multiple shows one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChartedPath {
    pub pattern: Pattern,
    pub cache: Cache,
    pub rw: Direction,
}

impl ChartedPath {
    fn of(cell: &CellFinding) -> Self {
        Self { pattern: cell.pattern, cache: cell.cache, rw: cell.rw }
    }

    /// The key by which the page's script finds the path's cells.
    pub fn key(self) -> String {
        format!("{} {} {}", self.pattern, self.cache, self.rw)
    }

    pub fn words(self) -> String {
        path_words(self.pattern, self.cache, self.rw)
    }
}

/// All measured paths, direct before buffered, so that the device's charts stay together.
pub fn paths(findings: &Findings) -> Vec<ChartedPath> {
    let distinct: BTreeSet<ChartedPath> = findings.cells.iter().map(ChartedPath::of).collect();
    let mut paths: Vec<ChartedPath> = distinct.into_iter().collect();
    paths.order_by_key(|path| (!path.cache.direct(), path.pattern, path.rw, path.cache));
    paths
}

/// The cells of one path, with their block sizes and depths.
struct Grid<'a> {
    path: ChartedPath,
    cells: Vec<&'a CellFinding>,
    sizes: Vec<u64>,
    depths: Vec<u32>,
}

impl<'a> Grid<'a> {
    fn of(findings: &'a Findings, path: ChartedPath) -> Self {
        let cells: Vec<&CellFinding> = findings.cells.iter().filter(|cell| ChartedPath::of(cell) == path).collect();
        let sizes: BTreeSet<u64> = cells.iter().map(|cell| cell.bs_bytes).collect();
        let depths: BTreeSet<u32> = cells.iter().map(|cell| cell.iodepth).collect();
        Self { path, cells, sizes: sizes.into_iter().collect(), depths: depths.into_iter().collect() }
    }

    /// A cell's share of the path's best; 0 if nothing moved at all.
    fn share(&self, cell: &CellFinding) -> f64 {
        let best = self.cells.iter().map(|cell| cell.mbps.value).fold(0.0, f64::max);
        if best > 0.0 { cell.mbps.value / best } else { 0.0 }
    }

    /// A table with block sizes as rows and depths as columns; `say` writes one cell.
    fn table(&self, caption: &str, say: impl Fn(&CellFinding) -> String) -> Markup {
        let at = |bs: u64, depth: u32| self.cells.iter().find(|cell| cell.bs_bytes == bs && cell.iodepth == depth);
        let columns = html! {
            th scope="col" { "Block size" }
            @for depth in &self.depths { th.number scope="col" { "depth " (depth) } }
        };
        let rows = html! {
            tbody {
                @for bs in &self.sizes {
                    tr {
                        th scope="row" { (precise_size(*bs as f64)) }
                        @for depth in &self.depths {
                            @let said = at(*bs, *depth).map(|cell| say(cell));
                            td.number { (said.unwrap_or_else(|| UNKNOWN.to_string())) }
                        }
                    }
                }
            }
        };
        scrolling_table(caption, columns, rows)
    }
}

/// Keyboard help, read out with every chart.
const KEYS: &str = "Arrow keys walk through the points, Enter pins one, plus and minus zoom, 0 shows all. The numbers \
                    are in the table that follows.";

/// The place for a chart of one kind and path, with its table.
fn figure(kind: &str, grid: &Grid, what: &str, table: Markup) -> Markup {
    let words = heading(&grid.path.words());
    html! {
        figure.chart data-chart=(kind) data-path=(grid.path.key()) {
            figcaption { (words) }
            div.plot role="group" aria-label={ (words) ": " (what) ". " (KEYS) } {
                p.pending { "This chart is drawn by the page's script." }
            }
            p.said aria-live="polite" {}
            details { summary { "Numbers" } (table) }
        }
    }
}

/// The sections of charts; empty without cells. `curves` are the percentiles of latency.
pub(crate) fn charts(findings: &Findings, curves: &[PercentileRow]) -> Vec<Fold> {
    let all = paths(findings).into_iter().map(|path| Grid::of(findings, path));
    let (grids, alone): (Vec<Grid>, Vec<Grid>) = all.partition(|grid| grid.cells.len() > 1);
    if grids.is_empty() && alone.is_empty() {
        return Vec::new();
    }
    vec![throughput(findings, &grids, &alone), heat(&grids), latency(&grids, curves), cost(findings, &grids)]
}

/// One line for each path with a single cell, which has no curve.
fn single_cells(alone: &[Grid]) -> Markup {
    let reported = |grid: &Grid| {
        let cell = grid.cells[0];
        let at = format!("{}, {} deep", precise_size(cell.bs_bytes as f64), cell.iodepth);
        format!("{} was measured in one cell: {at}, {} MB/s.", heading(&grid.path.words()), number(cell.mbps.value))
    };
    html! { @for grid in alone { p.lead { (reported(grid)) } } }
}

/// The note in each of these sections for readers without JavaScript.
fn without_script() -> Markup {
    html! { noscript { p.lead { "These charts need JavaScript; the tables below them do not." } } }
}

fn throughput(findings: &Findings, grids: &[Grid], alone: &[Grid]) -> Fold {
    let pap = findings.curves.iter().any(|curve| curve.rap_over_pap.is_some());
    let body = html! {
        (without_script())
        p.lead {
            "A line for each depth; the chosen one has the 95% " a href="#def-interval" { "interval" } " of its run \
             means. Each chart has a scale of its own; a triangle is a value above it. A ring marks where the line \
             first reaches half of its own peak, its " a href="#def-half" { "half-power size" } "."
            @if pap { " The dashed rule is the narrowest advertised peak." }
            " Dots join sizes with unmeasured ones between them; open marks are single runs, which nothing joins, and \
             cells that are not " a href="#def-steady" { "steady" } "."
        }
        p.lead.screen {
            "Point at a mark to see its record, click to pin it below its chart, drag to zoom, double-click to see \
             all again. By keyboard: arrows walk, Enter pins, + and \u{2212} zoom, 0 shows all."
        }
        div.depths role="group" aria-label="The chosen depth" {}
        div.multiples {
            @for grid in grids {
                (figure("throughput", grid, "throughput against block size, a line for each depth",
                    grid.table("Throughput in MB/s", |cell| number(cell.mbps.value))))
            }
        }
        (single_cells(alone))
    };
    let gist =
        format!("throughput of {}, {}", count(grids.len() + alone.len(), "path"), count(findings.cells.len(), "cell"));
    Fold::new("throughput", "All paths", gist, body).printed()
}

fn heat(grids: &[Grid]) -> Fold {
    let body = html! {
        (without_script())
        p.lead {
            "MB/s in each cell; the colour is its share of the best of its chart. What was not measured is blank. \
             The dotted line parts the cells of at least half of the best from those below, the solid one those \
             of 95%. A box marks the advised settings, hatching what is not " a href="#def-steady" { "steady" } "."
        }
        div.multiples {
            @for grid in grids {
                (figure("heat", grid, "a map of throughput over block size and depth",
                    grid.table("Share of the best, in percent", |cell| {
                        format!("{:.0}", 100.0 * grid.share(cell))
                    })))
            }
        }
    };
    Fold::new("heat", "Heat maps", "block size and depth together", body).printed()
}

fn latency(grids: &[Grid], curves: &[PercentileRow]) -> Fold {
    let body = html! {
        (percentiles(curves))
        div.screen {
        h3 { "Throughput against latency" }
        (without_script())
        p.lead {
            "What more depth buys and what it costs: each line runs through the depths of one block size, from \
             the depth at its beginning to that at its end. Solid is the median, dotted the 99th percentile. \
             Where a line turns upwards, depth no longer adds throughput, only waiting; a ring marks its "
            a href="#def-knee" { "knee" } "."
        }
        div.multiples {
            @for grid in grids {
                (figure("latency", grid, "throughput against median and 99th percentile latency, by depth",
                    grid.table("Latency, p50 / p99", |cell| {
                        let at = |ns: Option<u64>| ns.map_or(UNKNOWN.to_string(), |ns| precise_time_us(ns as f64 / 1e3));
                        format!("{} / {}", at(cell.latency_ns.p50), at(cell.latency_ns.p99))
                    })))
            }
        }
        }
    };
    Fold::new("latency", "Latency", "percentiles to p99.99, and what depth costs", body).printed()
}

fn cost(findings: &Findings, grids: &[Grid]) -> Fold {
    let body = html! {
        (without_script())
        p.lead {
            "Microseconds of processor time a request against block size, with the fit fixed + marginal × KiB. \
             The band lies between what the process was " a href="#def-charged" { "charged" } " (solid, dots) \
             and all that the machine spent, from the " a href="#def-soaker" { "soaker" } " (dashed, rings)."
        }
        div.multiples {
            @for grid in grids {
                (figure("cost", grid, &cost_words(findings, grid.path),
                    grid.table("Microseconds a request, charged / soaker", |cell| {
                        let soaker = cell.soaker_us.map_or_else(|| UNKNOWN.to_string(), number);
                        let charged = cell.charged_us.map_or_else(|| UNKNOWN.to_string(), number);
                        format!("{charged} / {soaker}")
                    })))
            }
        }
        div.multiples.alone { (gigabyte(findings)) }
    };
    Fold::new("cost", "Processor cost", "what a request costs the processor", body)
}

/// The place for the chart of all paths' processor time per gigabyte, with its table of fits.
fn gigabyte(findings: &Findings) -> Markup {
    html! {
        figure.chart.wide data-chart="gigabyte" data-path="all" {
            figcaption { "Processor seconds a gigabyte, all paths" }
            div.plot role="group" aria-label={ "Processor seconds a gigabyte against block size. " (KEYS) } {
                p.pending { "This chart is drawn by the page's script." }
            }
            p.said aria-live="polite" {}
            details {
                summary { "Numbers" }
                (gigabyte_table(findings))
            }
        }
    }
}

fn gigabyte_table(findings: &Findings) -> Markup {
    let charged = findings.cost.iter().filter(|cost| cost.bound == Bound::Charged);
    let columns = html! {
        th scope="col" { "Path" }
        th.number scope="col" { "at the smallest block" }
        th.number scope="col" { "at the largest" }
    };
    let body = html! {
        tbody {
            @for cost in charged {
                tr {
                    th scope="row" { (heading(&cost_path(cost))) }
                    // Milliseconds per megabyte equal seconds per gigabyte.
                    @for seconds in cost.ms_per_mb { td.number { (number(seconds)) } }
                }
            }
        }
    };
    scrolling_table("Charged processor seconds a gigabyte, by the fit", columns, body)
}

/// The fits of one path in words, for readers who do not see the chart.
fn cost_words(findings: &Findings, path: ChartedPath) -> String {
    let same = |cost: &&Cost| (cost.pattern, cost.cache, cost.rw) == (path.pattern, path.cache, path.rw);
    let mut words = "processor time a request against block size".to_string();
    for cost in findings.cost.iter().filter(same) {
        let bound = if cost.bound == Bound::Charged { "charged" } else { "soaker" };
        let fixed = cost.fixed_us.value;
        let marginal = cost.marginal_us_per_kib.value;
        let _ = write!(words, "; {bound} {} µs and {} a KiB", number(fixed), number(marginal));
    }
    words
}
