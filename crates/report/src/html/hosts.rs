//! Shows hosts that measured together: a map of hosts and runs, and a part for each of the slowest.

use halfpower_analyse::{Findings, FleetFinding, FleetHost, Straggler};
use halfpower_spec::InOrder;
use maud::{Markup, html};

use crate::html::fold::Fold;
use crate::html::format::{UNKNOWN, scrolling_table};
use crate::words::fleet;

/// Number of slow hosts that get a part.
const PARTS: usize = 3;
/// Most hosts in the table; of more, it has those that differ most from their peers.
const LISTED: usize = 32;

/// The section; `None` if a single process measured.
pub(crate) fn hosts(findings: &Findings) -> Option<Fold> {
    let found = findings.fleet.as_ref()?;
    let parts = slowest(found);
    let body = html! {
        p.lead { (fleet::gist(found)) }
        @if !found.map.is_empty() { (map(found)) }
        @for (rank, slow) in &parts { (part(found, *rank, slow)) }
        @if found.slow_hosts() > PARTS {
            ul.notes { @for slow in found.stragglers.iter().filter(|slow| !is_told(&parts, slow)) { li { (fleet::straggler(slow)) } } }
        }
        (table(found))
    };
    Some(Fold::new("hosts-at-once", "Hosts", fleet::gist(found), body).printed())
}

/// The slowest hosts, each with its directions.
fn slowest(found: &FleetFinding) -> Vec<(u32, Vec<&Straggler>)> {
    let mut parts: Vec<(u32, Vec<&Straggler>)> = Vec::new();
    for slow in &found.stragglers {
        match parts.iter().position(|(rank, _)| *rank == slow.rank) {
            Some(place) => parts[place].1.push(slow),
            None if parts.len() < PARTS => parts.push((slow.rank, vec![slow])),
            None => {}
        }
    }
    parts
}

fn is_told(parts: &[(u32, Vec<&Straggler>)], slow: &Straggler) -> bool {
    parts.iter().any(|(rank, _)| *rank == slow.rank)
}

fn part(found: &FleetFinding, rank: u32, slow: &[&Straggler]) -> Markup {
    let runs = found.map.iter().filter_map(|run| {
        let place = found.hosts.iter().position(|host| host.rank == rank)?;
        Some((run, (*run.percent_of_peers.get(place)?)?))
    });
    let columns = html! {
        th scope="col" { "Run" }
        th.number scope="col" { "Of its peers' rate" }
    };
    let body = html! {
        tbody {
            @for (run, percent) in runs {
                tr { th scope="row" { (run.workload) } td.number { (percent) "%" } }
            }
        }
    };
    html! {
        section.host {
            h3 { (slow[0].name) }
            ul.notes { @for slow in slow { li { (fleet::straggler(slow)) } } }
            details { summary { "Its runs" } (scrolling_table(&format!("{}, run by run", slow[0].name), columns, body)) }
        }
    }
}

fn map(found: &FleetFinding) -> Markup {
    let title = "Each host's rate, of the median of the others in the same run";
    html! {
        figure.chart.wide data-chart="hosts" data-path="hosts" {
            figcaption { (title) }
            div.plot role="group" aria-label={ (title) ", a row for each host and a column for each run. The table that follows has each host." } {
                p.pending { "This chart is drawn by the page's script." }
            }
            p.said aria-live="polite" {}
            @if found.map.len() < found.runs {
                p.soft { (found.map.len()) " of " (found.runs) " runs are shown, evenly among all." }
            }
        }
    }
}

fn table(found: &FleetFinding) -> Markup {
    let mut listed: Vec<&FleetHost> = found.hosts.iter().collect();
    let far = |host: &FleetHost| host.of_peers.map_or(-1.0, |of_peers| (of_peers - 1.0).abs());
    if listed.len() > LISTED {
        listed.order_by(|one, other| far(other).total_cmp(&far(one)));
        listed.truncate(LISTED);
        listed.order_by_key(|host| host.rank);
    }
    let caption = match found.hosts.len() {
        hosts if hosts > LISTED => format!("The {LISTED} of {hosts} hosts that differ most from their peers"),
        _ => "Each host, of the median of the others in the same runs".to_string(),
    };
    let columns = html! {
        th scope="col" { "Host" }
        th.number scope="col" { "Rank" }
        th.number scope="col" { "Of its peers' rate" }
    };
    let share = |host: &FleetHost| host.of_peers.map_or(UNKNOWN.to_string(), halfpower_spec::format::percent);
    let body = html! {
        tbody {
            @for host in listed {
                tr { th scope="row" { (host.name) } td.number { (host.rank) } td.number { (share(host)) } }
            }
        }
    };
    scrolling_table(&caption, columns, body)
}
