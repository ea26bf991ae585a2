//! Gives the charts of a comparison their places in the page, with tables of their data.

use halfpower_analyse::{CellComparison, Change, Comparison, PathSettings};
use halfpower_spec::InOrder;
use halfpower_spec::format::precise_size;
use halfpower_spec::path_words;
use maud::{Markup, html};

use super::tables::common_paths;
use super::terminal::change_words;
use crate::html::format::{UNKNOWN, heading, number, wide};

/// The noscript line and all charts: for two studies, each figure cell by cell; for several, one line per study.
pub(super) fn charts(comparisons: &[Comparison]) -> Markup {
    html! {
        noscript { p.lead { "The charts need JavaScript; the tables below them do not." } }
        @match comparisons {
            [comparison] => (of_two(comparison)),
            several => (of_several(several)),
        }
    }
}

/// The paths in the order of the page: direct ones first.
fn ordered_paths(comparisons: &[Comparison]) -> Vec<PathSettings> {
    let mut ordered = common_paths(comparisons);
    ordered.order_by_key(|path| (!path.cache.direct(), path.pattern, path.rw, path.cache));
    ordered
}

/// The name of a path for the page's script and for the reader.
fn key_and_words(path: PathSettings) -> (String, String) {
    let key = format!("{} {} {}", path.pattern, path.cache, path.rw);
    (key, heading(&path_words(path.pattern, path.cache, path.rw)))
}

fn of_several(comparisons: &[Comparison]) -> Markup {
    let paths = ordered_paths(comparisons);
    let figures = |kind: &str, what: &str| {
        html! {
            div.multiples {
                @for path in &paths {
                    @let (key, words) = key_and_words(*path);
                    (chart(kind, &key, &words, &format!("{what}. The numbers are in the tables below the charts"), html! {}))
                }
            }
        }
    };
    html! {
        section #throughput {
            h2 { "Throughput against block size" }
            p.lead {
                "A line for each study, with 95% intervals, at the depth that you choose; without a choice at that of the \
                 baseline's peak."
            }
            div.depths role="group" aria-label="The chosen depth" {}
            (figures("beside", "throughput of all studies against block size"))
        }
        section #changes {
            h2 { "What changes from the baseline" }
            p.lead {
                "The mean change over common cells in percent, with 95% intervals; filled where it is beyond chance and \
                 beyond the practical threshold."
            }
            (figures("means", "mean changes of throughput, p99 latency and processor time a request from the baseline"))
        }
    }
}

/// The common cells of one path, with its key for the page's script.
struct ComparedPath<'a> {
    key: String,
    words: String,
    cells: Vec<&'a CellComparison>,
}

fn compared_paths(comparison: &Comparison) -> Vec<ComparedPath<'_>> {
    let of = |path: PathSettings| {
        let (key, words) = key_and_words(path);
        ComparedPath {
            key,
            words,
            cells: comparison.cells.iter().filter(|cell| cell.settings.path() == path).collect(),
        }
    };
    ordered_paths(std::slice::from_ref(comparison)).into_iter().map(of).collect()
}

fn of_two(comparison: &Comparison) -> Markup {
    let paths = compared_paths(comparison);
    let throughput = |cell: &CellComparison| Some(cell.mbps);
    html! {
        section #throughput {
            h2 { "Throughput against block size" }
            p.lead {
                "A is solid, B dashed, with 95% intervals; at the least, the middle and the greatest depth that both \
                 have, each with a mark of its own."
            }
            (multiples(&paths, "overlay", "throughput of both studies against block size", throughput))
        }
        section #changes {
            h2 { "Where it changes" }
            p.lead {
                "The change of throughput from A to B in percent, in each common cell; the colour deepens with it. A \
                 box marks what is beyond chance and beyond the practical threshold."
            }
            (multiples(&paths, "change", "the change of throughput over block size and depth", throughput))
        }
        section #cost {
            h2 { "What a request costs the processor" }
            p.lead {
                "Charged microseconds a request against block size, in all cells: A filled, B open; the lines are the \
                 fits of both studies."
            }
            (multiples(&paths, "costs", "processor time a request in both studies", |cell| cell.charged_us))
        }
        section #tail {
            h2 { "How the slowest requests change" }
            p.lead { "The change of the 99th percentile of latency in percent, drawn as that of throughput." }
            (multiples(&paths, "tail", "the change of p99 latency over block size and depth", |cell| cell.latency_ns_p99))
        }
    }
}

fn multiples(
    paths: &[ComparedPath<'_>],
    kind: &str,
    what: &str,
    of: impl Fn(&CellComparison) -> Option<Change>,
) -> Markup {
    html! {
        div.multiples {
            @for path in paths {
                @let numbers = html! { details { summary { "Numbers" } (numbers(path, what, &of)) } };
                (chart(kind, &path.key, &path.words, &format!("{what}. The numbers are in the table that follows"), numbers))
            }
        }
    }
}

/// The place of one chart, and what follows it.
fn chart(kind: &str, key: &str, words: &str, what: &str, after: Markup) -> Markup {
    html! {
        figure.chart data-chart=(kind) data-path=(key) {
            figcaption { (words) }
            div.plot role="group" aria-label={ (words) ": " (what) "." } {
                p.pending { "This chart is drawn by the page's script." }
            }
            (after)
        }
    }
}

fn numbers(path: &ComparedPath<'_>, what: &str, of: &impl Fn(&CellComparison) -> Option<Change>) -> Markup {
    let rows = html! {
        @for cell in &path.cells {
            tr {
                th scope="row" { (precise_size(cell.settings.bs_bytes as f64)) ", " (cell.settings.iodepth) " deep" }
                @match of(cell) {
                    Some(change) => {
                        td.number { (number(change.a)) }
                        td.number { (number(change.b)) }
                        td.number { (change_words(&change)) }
                    }
                    None => { td.number { (UNKNOWN) } td.number { (UNKNOWN) } td.number { (UNKNOWN) } }
                }
            }
        }
    };
    wide(&heading(what), &["Cell", "A", "B", "Change (95%)"], 1, rows)
}
