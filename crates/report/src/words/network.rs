//! Writes what TCP did in the cells of a share that represent each direction.

use halfpower_analyse::{CellFinding, CellSettings, Findings};
use halfpower_spec::format;

use super::settings::{cache_beside_direct, pattern_word, size_and_depth};

/// The heading of [`rows`].
pub(crate) const HEADING: [&str; 5] = ["path", "round trip", "window", "sent again", "of our client's best"];

/// TCP's figures in each direction's representative cell, and that cell's share of the client's ceiling.
pub(crate) fn rows(findings: &Findings) -> Vec<[String; 5]> {
    let cell = |settings: &CellSettings| findings.cells.iter().find(|cell| cell.settings == *settings);
    findings.headline.iter().filter_map(|headline| row(cell(&headline.cell)?)).collect()
}

fn row(cell: &CellFinding) -> Option<[String; 5]> {
    let tcp = cell.tcp.as_ref()?;
    let least = tcp.least_round_trip_us.map(|us| format!(", least {}", format::time_us(us))).unwrap_or_default();
    let client = cell.client_mbps.filter(|mbps| *mbps > 0.0).map_or("unknown".to_string(), |mbps| {
        let share = cell.mbps.value / mbps;
        let share = if share > 1.0 { "more than".to_string() } else { format!("{} of", format::percent(share)) };
        format!("{share} {}", format::mbps(mbps))
    });
    Some([
        name(&cell.settings),
        format!("{}{least}", format::time_us(tcp.round_trip_us)),
        format::size(tcp.window_bytes),
        format::percent(tcp.retransmitted_share),
        client,
    ])
}

/// The cell, such as `random read, 4 KiB, 8 deep`: no cache of this machine lies before a share.
fn name(cell: &CellSettings) -> String {
    let cache = cache_beside_direct(cell.cache).map_or(String::new(), |cache| format!("{cache} "));
    format!("{} {cache}{}, {}", pattern_word(cell.pattern), cell.rw, size_and_depth(cell))
}
