//! Draws throughput against block size: a few lines of bars for the fastest reads and writes.
//!
//! Findings enter, lines leave. Each chart has four rows of bars on a scale from zero to the peak. A bar that fills the
//! second row from below has reached half power, and that row has a label.

use std::collections::BTreeMap;

use halfpower_analyse::{CellFinding, Findings};
use halfpower_spec::format::number;
use halfpower_spec::{Direction, path_words};

/// Rows of bars; the upper edge of the second row is half of the peak.
const ROWS: usize = 4;
/// Bars in eighths of a row.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of one bar, and of the gap after it.
const BAR: usize = 3;
/// Columns of the scale's labels on the left.
const SCALE: usize = 8;
/// Columns between two panels.
const BETWEEN: usize = 4;
/// A panel with fewer block sizes has no shape to show.
const FEWEST_SIZES: usize = 3;

/// One path: the best cell of each block size, at any depth.
struct Panel {
    title: String,
    /// MB/s by block size in bytes; `None` if no cell was measured.
    bars: Vec<(u64, Option<f64>)>,
}

/// A line of titles and lines of bars: reads on the left, and writes on the right if `width` has room; empty if too
/// little was measured.
pub(super) fn chart(findings: &Findings, width: usize) -> Vec<String> {
    let sizes = sizes(findings);
    let panels: Vec<Panel> = Direction::ALL.iter().filter_map(|rw| panel(findings, *rw, &sizes)).collect();
    let half = width.saturating_sub(BETWEEN) / 2;
    let both: Vec<Panel> = panels.iter().map(|panel| thinned(panel, half)).collect();
    let fits = |panel: &Panel| panel.bars.len() >= 5.min(sizes.len()) && widest(&drawn(panel)) <= half;
    if both.len() > 1 && both.iter().all(fits) {
        side_by_side(&both.iter().map(drawn).collect::<Vec<_>>())
    } else {
        panels.first().map_or_else(Vec::new, |panel| side_by_side(&[drawn(&thinned(panel, width))]))
    }
}

fn sizes(findings: &Findings) -> Vec<u64> {
    let mut sizes: Vec<u64> = findings.cells.iter().map(|cell| cell.bs_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The fastest path of a direction: direct if there is one, else buffered. Cells that a cache answered do not count.
fn panel(findings: &Findings, rw: Direction, sizes: &[u64]) -> Option<Panel> {
    let usable = |cell: &&CellFinding| cell.rw == rw && !cell.cached && cell.mbps.value > 0.0;
    let fastest = findings.cells.iter().filter(usable).max_by(|one, other| {
        let rank = |cell: &CellFinding| (cell.cache.direct(), cell.mbps.value);
        rank(one).partial_cmp(&rank(other)).expect("throughputs are numbers")
    })?;
    let mut best: BTreeMap<u64, f64> = BTreeMap::new();
    let same = |cell: &&CellFinding| (cell.pattern, cell.cache) == (fastest.pattern, fastest.cache);
    for cell in findings.cells.iter().filter(usable).filter(same) {
        let most = best.entry(cell.bs_bytes).or_default();
        *most = most.max(cell.mbps.value);
    }
    let bars = sizes.iter().map(|bs_bytes| (*bs_bytes, best.get(bs_bytes).copied())).collect();
    let title = path_words(fastest.pattern, fastest.cache, fastest.rw);
    (best.len() >= FEWEST_SIZES).then_some(Panel { title, bars })
}

/// The panel without every second bar, counted from the largest size, repeatedly until it fits `width`.
fn thinned(panel: &Panel, width: usize) -> Panel {
    let mut bars = panel.bars.clone();
    while bars.len() > FEWEST_SIZES && SCALE + bars.len() * (BAR + 1) > width {
        let parity = (bars.len() - 1) % 2;
        bars = bars.into_iter().skip(parity).step_by(2).collect();
    }
    Panel { title: panel.title.clone(), bars }
}

fn drawn(panel: &Panel) -> Vec<String> {
    let peak = panel.bars.iter().filter_map(|(_, mbps)| *mbps).fold(0.0, f64::max);
    let mut lines = vec![format!("{}, MB/s", panel.title)];
    for row in (0..ROWS).rev() {
        let label = match row {
            top if top == ROWS - 1 => number(peak),
            half if half == ROWS / 2 - 1 => format!("½ {}", number(peak / 2.0)),
            _ => String::new(),
        };
        let bars: String = panel.bars.iter().map(|(_, mbps)| bar(mbps.map(|mbps| mbps / peak), row)).collect();
        lines.push(format!("{label:>width$}▕{bars}", width = SCALE - 1));
    }
    let sizes: String = panel.bars.iter().map(|(bs_bytes, _)| format!("{:>BAR$} ", label(*bs_bytes))).collect();
    lines.push(format!("{:>width$} {sizes}", "KiB", width = SCALE - 1));
    lines
}

/// The part of a bar within one row; a dot in the bottom row if nothing was measured.
fn bar(share: Option<f64>, row: usize) -> String {
    let Some(share) = share else { return if row == 0 { " ·  " } else { "    " }.to_string() };
    // Rounded down, so that a row is full only if its upper edge was reached.
    let eighths = (share * 8.0 * ROWS as f64).floor() as usize;
    // At least one eighth, so that every measured rate is visible.
    let eighths = eighths.max(1).saturating_sub(row * 8).min(8);
    format!("{} ", EIGHTHS[eighths].to_string().repeat(BAR))
}

/// A block size in at most three characters: KiB, or `1M`.
fn label(bs_bytes: u64) -> String {
    match bs_bytes {
        mib if mib >= 1 << 20 => format!("{}M", mib >> 20),
        kib if kib >= 1024 => (kib >> 10).to_string(),
        bytes => format!("{:.1}", bytes as f64 / 1024.0).trim_start_matches('0').to_string(),
    }
}

pub(super) fn widest(lines: &[String]) -> usize {
    lines.iter().map(|line| line.trim_end().chars().count()).max().unwrap_or(0)
}

fn side_by_side(panels: &[Vec<String>]) -> Vec<String> {
    let Some(first) = panels.first() else { return Vec::new() };
    let column = widest(first) + BETWEEN;
    (0..first.len())
        .map(|row| {
            let second = panels.get(1).map_or("", |lines| lines[row].as_str());
            format!("{:<column$}{second}", first[row].trim_end()).trim_end().to_string()
        })
        .collect()
}
