//! Shows the constants of each path as tables: half power, limits and processor cost, and each part of issuing.

use halfpower_analyse::{
    Attribution, Bound, CellFinding, Cost, CostLine, Curve, FarEndFinding, Findings, Interval, Limits,
};
use halfpower_experiments::{IssuingChange, StudyFindings};
use halfpower_spec::format::{precise_size, whole_percent};
use halfpower_spec::path_words;
use maud::{Markup, html};

use crate::html::fold::Fold;
use crate::html::format::{UNKNOWN, ends, heading, is_open, number, scrolling_table};
use crate::words::issuing::{HEADING, brings, costs, part, rates, work, work_of_rows};
use crate::words::settings::cost_path;

/// A column heading: its words, and the definition that it links to.
pub(crate) type Column = (&'static str, Option<&'static str>);

/// The section with the tables; `None` if all are empty.
pub fn half_power_and_cost(findings: &Findings) -> Option<Fold> {
    if findings.curves.is_empty() && findings.cost.is_empty() {
        return None;
    }
    let body = html! {
        p.lead { "In grey below a number: its 95% interval. A number that its interval leaves open by more than half is not shown." }
        (half_power(&findings.curves))
        (limits(&findings.limits))
        (cost(&findings.cost))
        (findings.far_end.as_ref().map(both_ends).unwrap_or_default())
        (network(findings))
        (attribution(&findings.attribution, &findings.cells))
    };
    Some(Fold::new("tables", "Tables", "half power, limits, processor cost", body))
}

/// The smallest block size at half of a curve's peak. It is an upper bound if no smaller size was measured below half.
/// It is unknown if larger sizes fall below half again.
fn half_power_size(curve: &Curve) -> String {
    if !curve.half_power_holds {
        return UNKNOWN.to_string();
    }
    let bound = if curve.half_power_bracketed { "" } else { "≤ " };
    format!("{bound}{}", precise_size(curve.half_power_bs_bytes as f64))
}

fn wide_table(caption: &str, columns: &[Column], body: Markup) -> Markup {
    let columns = html! {
        @for (place, (words, definition)) in columns.iter().enumerate() {
            th scope="col" .number[place > 0] {
                @match definition {
                    Some(id) => { a href={ "#def-" (id) } { (words) } },
                    None => { (words) },
                }
            }
        }
    };
    scrolling_table(caption, columns, body)
}

/// A number with its interval below it, if the interval is meaningful.
fn with_ends(interval: &Interval) -> Markup {
    html! {
        @if is_open(interval) { span.unsure title="Its 95% interval leaves it open by more than half" { "not known" } }
        @else { (number(interval.value)) @if let Some(ends) = ends(interval) { small { (ends) } } }
    }
}

fn maybe(interval: Option<&Interval>) -> Markup {
    html! { @match interval { Some(interval) => { (with_ends(interval)) }, None => { (UNKNOWN) } } }
}

fn half_power(curves: &[Curve]) -> Markup {
    let columns: [Column; 6] = [
        ("Depth", None),
        ("Peak, MB/s", Some("rap")),
        ("at block size", None),
        ("Half power from", Some("half")),
        ("n½", Some("nhalf")),
        ("RAP/PAP", Some("pap")),
    ];
    let same = |a: &Curve, b: &Curve| (a.pattern, a.cache, a.rw) == (b.pattern, b.cache, b.rw);
    let body = html! {
        @for curves in curves.chunk_by(same) {
            tbody {
                @let first = &curves[0];
                @let words = heading(&path_words(first.pattern, first.cache, first.rw));
                tr.group { th colspan="6" scope="rowgroup" { (words) } }
                @for curve in curves {
                    tr {
                        th scope="row" { (curve.iodepth) }
                        td.number { (number(curve.peak_mbps)) }
                        td.number { (precise_size(curve.peak_bs_bytes as f64)) }
                        td.number { (half_power_size(curve)) }
                        td.number { (n_half(curve)) }
                        td.number { (curve.rap_over_pap.map_or_else(|| UNKNOWN.to_string(), whole_percent)) }
                    }
                }
            }
        }
    };
    html! { @if !curves.is_empty() { (wide_table("Half power", &columns, body)) } }
}

fn n_half(curve: &Curve) -> Markup {
    let ends = curve.n_half_low_bytes.zip(curve.n_half_high_bytes).filter(|(low, high)| low < high);
    let interval = curve.n_half_bytes.zip(ends).map(|(value, (low, high))| Interval { value, low, high });
    if interval.is_some_and(|interval| is_open(&interval)) {
        return html! { span.unsure { "not known" } };
    }
    html! {
        (curve.n_half_bytes.map_or_else(|| UNKNOWN.to_string(), precise_size))
        @if let Some((low, high)) = ends { small { (precise_size(low)) " to " (precise_size(high)) } }
    }
}

fn limits(limits: &[Limits]) -> Markup {
    let columns: [Column; 6] = [
        ("Path", None),
        ("Fixed, µs a request", Some("fixed")),
        ("One stream, MB/s", Some("stream")),
        ("Side by side", Some("parallelism")),
        ("Ceiling, MB/s", Some("ceiling")),
        ("Ceiling, requests/s", Some("ceiling")),
    ];
    let body = html! {
        tbody {
            @for limit in limits {
                tr {
                    th scope="row" { (heading(&path_words(limit.pattern, limit.cache, limit.rw))) }
                    td.number { (maybe(limit.fixed_us.as_ref())) }
                    td.number { (maybe(limit.stream_mbps.as_ref())) }
                    td.number { (limit.parallelism.map_or_else(|| UNKNOWN.to_string(), number)) }
                    td.number { (maybe(limit.ceiling_mbps.as_ref())) }
                    td.number { (maybe(limit.ceiling_iops.as_ref())) }
                }
            }
        }
    };
    html! { @if !limits.is_empty() { (wide_table("What a request is up against", &columns, body)) } }
}

fn cost(costs: &[Cost]) -> Markup {
    let columns: [Column; 7] = [
        ("Path", None),
        ("Bound", Some("charged")),
        ("Fixed, µs a request", Some("cost")),
        ("Marginal, µs a KiB", Some("cost")),
        ("ms/MB, smallest to largest", Some("permb")),
        ("One core saturates, MB/s", Some("saturates")),
        ("Requests/s", Some("saturates")),
    ];
    let body = html! {
        tbody {
            @for cost in costs {
                tr {
                    th scope="row" { (heading(&cost_path(cost))) small { "from " (cost.cells) " cells" } }
                    td.number { @if cost.bound == Bound::Charged { "charged" } @else { "soaker" } }
                    td.number { (with_ends(&cost.fixed_us)) }
                    td.number { (with_ends(&cost.marginal_us_per_kib)) }
                    td.number { (range(cost.ms_per_mb)) }
                    td.number { (range(cost.core_saturates_mbps)) }
                    td.number { (number(cost.core_saturates_iops)) }
                }
            }
        }
    };
    html! { @if !costs.is_empty() { (wide_table("What it costs the processor", &columns, body)) } }
}

/// The costs at both ends side by side, as in Table 11 of the paper of 2000.
fn both_ends(far_end: &FarEndFinding) -> Markup {
    let columns: [Column; 7] = [
        ("Path", None),
        ("Fixed here, µs a request", Some("cost")),
        ("Fixed at the far end", Some("cost")),
        ("Marginal here, µs a KiB", Some("cost")),
        ("Marginal at the far end", Some("cost")),
        ("ms/MB here, smallest to largest", Some("permb")),
        ("ms/MB at the far end", Some("permb")),
    ];
    let fixed = |line: &Option<CostLine>| maybe(line.as_ref().map(|line| &line.fixed_us));
    let marginal = |line: &Option<CostLine>| maybe(line.as_ref().map(|line| &line.marginal_us_per_kib));
    let per_mb = |line: &Option<CostLine>| line.map_or_else(|| UNKNOWN.to_string(), |line| range(line.ms_per_mb));
    let body = html! {
        tbody {
            @for cost in &far_end.cost {
                tr {
                    th scope="row" { (heading(&crate::words::far_end::path(cost))) small { (crate::words::far_end::accounting(cost.by, &far_end.machine)) } }
                    td.number { (fixed(&cost.near)) }
                    td.number { (fixed(&cost.far)) }
                    td.number { (marginal(&cost.near)) }
                    td.number { (marginal(&cost.far)) }
                    td.number { (per_mb(&cost.near)) }
                    td.number { (per_mb(&cost.far)) }
                }
            }
        }
    };
    let caption = format!("Both ends' bill: this end, and {}", crate::words::far_end::whose(&far_end.machine));
    html! { @if !far_end.cost.is_empty() { (wide_table(&caption, &columns, body)) } }
}

/// TCP's figures for the representative cell of each direction.
fn network(findings: &Findings) -> Markup {
    let rows = crate::words::network::rows(findings);
    let columns = crate::words::network::HEADING.map(|words| -> Column { (words, None) });
    let body = html! {
        tbody {
            @for [name, rest @ ..] in &rows {
                tr { th scope="row" { (heading(name)) } @for figure in rest { td.number { (figure) } } }
            }
        }
    };
    html! { @if !rows.is_empty() { (wide_table("Network: TCP, and our own client", &columns, body)) } }
}

/// Who used the processors, and time charged to no process.
fn attribution(attributions: &[Attribution], cells: &[CellFinding]) -> Markup {
    let columns: [Column; 7] = [
        ("Path", None),
        ("Charged, cores", Some("charged")),
        ("Elsewhere", Some("unseen")),
        ("Interrupts", Some("unseen")),
        ("Deferred interrupts", Some("unseen")),
        ("Not attributed", Some("unseen")),
        ("Unseen, µs a request", Some("unseen")),
    ];
    let cores = |cores: Option<f64>| cores.map_or_else(|| UNKNOWN.to_string(), |cores| format!("{cores:.2}"));
    let body = html! {
        tbody {
            @for path in attributions {
                tr {
                    th scope="row" { (heading(&path_words(path.pattern, path.cache, path.rw))) small { "from " (path.cells) " cells" } }
                    td.number { (cores(Some(path.charged_cores))) }
                    td.number { (cores(Some(path.elsewhere_cores))) }
                    td.number { (cores(Some(path.irq_cores))) }
                    td.number { (cores(Some(path.softirq_cores))) }
                    td.number { (cores(path.unattributed_cores)) }
                    td.number { (unseen(path, cells)) }
                }
            }
        }
    };
    html! { @if !attributions.is_empty() { (wide_table("Where the processors' time went", &columns, body)) } }
}

/// The smallest and largest time that the soaker lost beyond the charge, over the path's cells.
fn unseen(path: &Attribution, cells: &[CellFinding]) -> String {
    let of_path = |cell: &&CellFinding| (cell.pattern, cell.cache, cell.rw) == (path.pattern, path.cache, path.rw);
    let mut all: Vec<f64> = cells.iter().filter(of_path).filter_map(|cell| cell.unseen_us).collect();
    all.sort_by(f64::total_cmp);
    match all[..] {
        [] => UNKNOWN.to_string(),
        [only] => number(only),
        [least, .., most] => range([least, most]),
    }
}

fn range([smallest, largest]: [f64; 2]) -> String {
    format!("{} to {}", number(smallest), number(largest))
}

/// The section; `None` if no part was measured.
pub(crate) fn issuing(findings: &StudyFindings) -> Option<Fold> {
    let first = findings.issuing.first()?;
    let columns: [Column; 6] = [
        ("Otherwise", None),
        ("Without it", None),
        ("With it", None),
        ("Brings", None),
        ("CPU a request without it", Some("cost")),
        ("CPU a request with it", Some("cost")),
    ];
    let row = |found: &IssuingChange| {
        let ([slow, fast], [without, with]) = (rates(found), costs(found));
        let brings = brings(found.times.as_ref());
        html! {
            tr {
                th scope="row" { (part(found)) }
                @for figure in [slow, fast, brings, without, with] { td.number { (figure) } }
            }
        }
    };
    let body = html! {
        p.lead {
            "Each row turns one part of how requests are issued through " (first.engine) ", and was measured in the same \
             rounds as the usual way. A cost goes from the charged time to all that the machine spent, where the soaker \
             saw more. A segment is a stretch of the machine's memory without a gap: a device takes a request in as many \
             as its buffer has."
        }
        (wide_table(HEADING, &columns, html! {
            @for works in findings.issuing.chunk_by(|one, other| work(one) == work(other)) {
                tbody {
                    tr.group { th colspan="6" scope="rowgroup" { (work_of_rows(works)) } }
                    @for found in works { (row(found)) }
                }
            }
        }))
    };
    Some(Fold::new("issuing", HEADING, "batches, huge pages, registration", body))
}
