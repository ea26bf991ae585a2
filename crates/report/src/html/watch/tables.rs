//! Shows what was counted while an application was watched as tables.

use halfpower_record::{Wait, Watched};
use halfpower_spec::format::{percent, precise_size, precise_time_us};
use maud::{Markup, html};

use super::figures::{latency_at, per_second, share_of, time};
use super::names::{WAITS, cause, issued, kind, wait};
use crate::html::format::{UNKNOWN, number, wide};

/// The operations: what, where, how many, how large, how long.
pub(super) fn operations(watched: &Watched) -> Markup {
    let place =
        |at: Option<usize>| at.and_then(|at| watched.places.get(at)).map_or(UNKNOWN, |place| place.path.as_str());
    let sizes = |sizes: &[(u64, u64)], count: u64| {
        let shown = sizes.iter().take(3).map(|(bytes, number)| {
            let size = if *bytes == 0 { "others".to_string() } else { precise_size(*bytes as f64) };
            format!("{size} {}", share_of(*number, count))
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    let rows = html! {
        @for operations in &watched.operations {
            tr {
                th scope="row" { (kind(operations.kind)) small { (issued(operations.by, operations.direct)) } }
                td { (place(operations.place)) }
                td.number { (number(per_second(operations.count, watched.traced_ns))) }
                td { (sizes(&operations.sizes, operations.count)) }
                td.number { (share_of(operations.sequential, operations.count)) }
                td.number { (share_of(operations.cached, operations.count)) }
                td.number { (number(operations.depth_while_busy)) small { "at most " (operations.deepest) } }
                td.number { (latency_at(&operations.latency, 0.5)) }
                td.number { (latency_at(&operations.latency, 0.99)) }
                td.number { (operations.threads) }
            }
        }
    };
    let columns =
        ["Operation", "Where", "a second", "Sizes", "Sequential", "Cached", "In flight", "p50", "p99", "Threads"];
    wide("Operations that began and ended while it was traced", &columns, 2, rows)
}

/// What the time of the operations was spent on: the mean of one, and its share.
pub(super) fn waits(watched: &Watched) -> Markup {
    let is_used = |kind: &&Wait| {
        watched.operations.iter().flat_map(|operations| &operations.waits).any(|(wait, ns)| wait == *kind && *ns > 0)
    };
    let used: Vec<_> = WAITS.iter().filter(is_used).collect();
    let rows = html! {
        @for operations in &watched.operations {
            @let whole = operations.waits.iter().map(|(_, ns)| *ns as f64).sum::<f64>();
            tr {
                th scope="row" { (kind(operations.kind)) small { (issued(operations.by, operations.direct)) } }
                @for kind in &used {
                    @let its = operations.waits.iter().filter(|(wait, _)| *wait == **kind);
                    @let ns = its.map(|(_, ns)| *ns as f64).sum::<f64>();
                    td.number {
                        @if ns > 0.0 {
                            (precise_time_us(ns / operations.count.max(1) as f64 / 1e3)) small { (percent(ns / whole)) }
                        } @else { (UNKNOWN) }
                    }
                }
            }
        }
    };
    let columns: Vec<&str> = std::iter::once("Operation").chain(used.iter().map(|kind| wait(**kind))).collect();
    html! { @if !used.is_empty() { (wide("Where the time of an operation goes, in the mean", &columns, 1, rows)) } }
}

/// The requests that reached the disks, by cause.
pub(super) fn requests(watched: &Watched) -> Markup {
    let whose = |own: Option<bool>| match own {
        Some(true) => "its own",
        Some(false) => "others'",
        None => "the kernel's",
    };
    let rows = html! {
        @for requests in &watched.requests {
            @let mbps = per_second(requests.bytes, watched.traced_ns) / 1e6;
            tr {
                th scope="row" {
                    (requests.disk) ", " (if requests.writes { "writes" } else { "reads" })
                    small { (cause(requests.cause)) ", " (whose(requests.own)) }
                }
                td.number { (number(per_second(requests.count, watched.traced_ns))) }
                td.number { (number(mbps)) }
                td.number { (precise_size(requests.bytes as f64 / requests.count.max(1) as f64)) }
                td.number { (share_of(requests.sequential, requests.count)) }
                td.number { (number(requests.depth)) }
                td.number { (latency_at(&requests.queue, 0.5)) small { "p99 " (latency_at(&requests.queue, 0.99)) } }
                td.number { (latency_at(&requests.device, 0.5)) small { "p99 " (latency_at(&requests.device, 0.99)) } }
            }
        }
    };
    let columns = [
        "Requests",
        "a second",
        "MB/s",
        "Mean size",
        "Sequential",
        "At the device",
        "In the queue, p50",
        "Device, p50",
    ];
    wide("Requests that completed while it was traced", &columns, 1, rows)
}

/// Other processes on the same disks.
pub(super) fn others(watched: &Watched) -> Markup {
    let mbps = |bytes: u64| number(per_second(bytes, watched.traced_ns) / 1e6);
    let rows = html! {
        @for other in &watched.others {
            tr {
                th scope="row" {
                    (other.name) @if other.pid > 0 { " (" (other.pid) ")" }
                    @if !other.cgroup.is_empty() { small { (other.cgroup) } }
                }
                td.number { (mbps(other.read_bytes)) }
                td.number { (mbps(other.written_bytes)) }
                td.number { (number(per_second(other.requests, watched.traced_ns))) }
                td.number { (number(per_second(other.syncs, watched.traced_ns))) }
                td.number { (latency_at(&other.own_during, 0.5)) small { "p99 " (latency_at(&other.own_during, 0.99)) } }
                td.number { (latency_at(&other.own_without, 0.5)) small { "p99 " (latency_at(&other.own_without, 0.99)) } }
            }
        }
    };
    let columns = [
        "Process",
        "Reads, MB/s",
        "Writes, MB/s",
        "Requests/s",
        "Syncs/s",
        "The application beside it, p50",
        "and without it, p50",
    ];
    wide("Others on the same disks, and what the application's operations took meanwhile", &columns, 1, rows)
}

/// The requests that the watch sent itself.
pub(super) fn probe(watched: &Watched) -> Markup {
    let Some(probe) = &watched.probe else { return html! {} };
    let place = watched.places.get(probe.place).map_or(UNKNOWN, |place| place.path.as_str());
    let what = if probe.of_own_file { "a file that the application has open" } else { "the disk beneath" };
    let rows = html! {
        @for (bytes, latency) in &probe.latency {
            tr {
                th scope="row" { (precise_size(*bytes as f64)) small { (place) ", " (what) } }
                td.number { (number(latency.count() as f64)) }
                td.number { (latency_at(latency, 0.5)) }
                td.number { (latency_at(latency, 0.99)) }
            }
        }
    };
    wide(
        "Single reads of the watch, each while the disk had no other request",
        &["Size", "Answered", "p50", "p99"],
        1,
        rows,
    )
}

/// Limits of control groups.
pub(super) fn limits(watched: &Watched) -> Markup {
    let rows = html! {
        @for limit in &watched.group_limits {
            tr {
                th scope="row" { (limit.limits) @if !limit.disk.is_empty() { ", " (limit.disk) } small { (limit.file) } }
                td.number { (number(limit.limit)) }
                td.number { (number(limit.used)) }
                td.number { (time(limit.held_ns)) }
            }
        }
    };
    html! {
        @if !watched.group_limits.is_empty() {
            (wide("Limits of control groups", &["Limit", "Most", "Used", "Held up"], 1, rows))
        }
    }
}

/// Time that tasks waited.
pub(super) fn pressure(watched: &Watched) -> Markup {
    let rows = html! {
        @for pressure in &watched.pressure {
            tr {
                th scope="row" { (pressure.resource) small { (pressure.of) } }
                td.number { (time(Some(pressure.some_ns))) small { (share_of(pressure.some_ns, watched.span_ns)) } }
                td.number { (time(pressure.full_ns)) }
            }
        }
    };
    html! {
        @if !watched.pressure.is_empty() {
            (wide("Pressure: time that tasks waited", &["Resource", "Some tasks", "All tasks"], 1, rows))
        }
    }
}

/// What could not be seen, and what it cost to look.
pub(super) fn unseen(watched: &Watched) -> Markup {
    let cost = &watched.cost;
    let of_span = |ns: u64| share_of(ns, watched.span_ns);
    html! {
        @if !watched.unseen.is_empty() {
            section #unseen {
                h2 { "What could not be seen" }
                ul.notes { @for source in &watched.unseen { li { (source.source) ": " (source.why) "; " (source.without) } } }
            }
        }
        section #cost {
            h2 { "What the watch cost" }
            p.lead {
                (of_span(cost.processor_ns)) " of one processor, and an estimated " (of_span(cost.recording_ns))
                " more of those who were watched for " (number(cost.events as f64)) " events"
                @if cost.lost_events > 0 { "; " (number(cost.lost_events as f64)) " events were lost" } "."
            }
        }
    }
}
