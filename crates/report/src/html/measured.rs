//! Shows how the study was measured: the place, the settings, the command, the raw numbers, and the definitions.

use std::collections::BTreeSet;

use halfpower_analyse::Findings;
use halfpower_record::Record;
use halfpower_spec::Bytes;
use halfpower_spec::format::precise_size;
use maud::{Markup, html};

use crate::html::advice::to_copy;
use crate::html::fold::Fold;
use crate::html::format::{date, number};
use crate::words::settings::count;

/// A property of the place and its value.
type Fact = (&'static str, Option<String>);

/// The section on machine, kernel, file system, device, settings and command.
pub fn measured(findings: &Findings, records: &[Record], command: &str) -> Fold {
    let body = html! {
        @if !command.is_empty() { (to_copy(title(command), command)) }
        div.facts {
            (facts("Machine", &machine(findings)))
            (facts("File system", &filesystem(findings)))
            (facts("Device", &device(findings)))
            (facts("Runs", &settings(findings, records)))
            (facts("Imported", &imported(findings)))
        }
    };
    Fold::new("measured", "How it was measured", "machine, file system, device, runs", body).printed()
}

/// The title above the command, which says whether something in it is hidden.
fn title(command: &str) -> &'static str {
    if command.contains("***") { "The command; write what is secret instead of ***" } else { "The command" }
}

/// A short table of the known facts; empty without any.
fn facts(title: &str, facts: &[Fact]) -> Markup {
    html! {
        @if facts.iter().any(|(_, value)| value.is_some()) {
            div {
                h3 { (title) }
                dl {
                    @for (name, value) in facts {
                        @if let Some(value) = value { div { dt { (name) } dd { (value) } } }
                    }
                }
            }
        }
    }
}

fn written(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

fn sized(bytes: Bytes) -> Option<String> {
    (bytes.0 > 0).then(|| precise_size(bytes.0 as f64))
}

fn machine(findings: &Findings) -> Vec<Fact> {
    let machine = &findings.machine;
    vec![
        ("Processor", written(&machine.cpu_model)),
        ("Processors usable", (machine.cpus > 0).then(|| machine.cpus.to_string())),
        ("Memory", sized(machine.memory)),
        ("Kernel", written(&machine.kernel)),
        ("Virtualised", machine.virtualised.clone()),
    ]
}

fn filesystem(findings: &Findings) -> Vec<Fact> {
    findings.filesystem.as_ref().map_or_else(Vec::new, |filesystem| {
        vec![
            ("Kind", written(&filesystem.kind)),
            ("Options", written(&filesystem.options)),
            ("Block", sized(filesystem.block)),
        ]
    })
}

fn device(findings: &Findings) -> Vec<Fact> {
    let Some(device) = &findings.device else { return Vec::new() };
    let read_ahead = device.read_ahead_of(findings.filesystem.as_ref());
    let turns = device.rotational.map(|turns| if turns { "yes" } else { "no" }.to_string());
    let blocks = [device.logical_block, device.physical_block].map(|block| sized(block).unwrap_or_default());
    vec![
        ("Name", written(&device.name)),
        ("Model", device.model.clone()),
        ("Firmware", device.firmware.clone()),
        ("Attached by", device.transport.clone()),
        ("Turns", turns),
        ("Capacity", sized(device.size)),
        ("Block, logical / physical", (device.logical_block.0 > 0).then(|| blocks.join(" / "))),
        ("Write cache", device.write_cache.clone()),
        ("Scheduler", device.scheduler.clone()),
        ("Read-ahead", read_ahead.map(|bytes| precise_size(bytes.0 as f64))),
    ]
}

fn settings(findings: &Findings, records: &[Record]) -> Vec<Fact> {
    let engines: BTreeSet<&str> = findings.cells.iter().map(|cell| cell.engine.word()).collect();
    let experiments: BTreeSet<&str> =
        records.iter().filter_map(|record| record.run.experiment).map(|experiment| experiment.word()).collect();
    let most = findings.cells.iter().map(|cell| cell.runs).max();
    let least = findings.cells.iter().map(|cell| cell.runs).min();
    let each = least
        .zip(most)
        .map(|(least, most)| if least == most { most.to_string() } else { format!("{least} to {most}") });
    let span_bytes = records.iter().map(|record| record.span_bytes).max();
    vec![
        ("Began", (findings.started_unix_ms > 0).then(|| date(findings.started_unix_ms))),
        ("Took", findings.imported.is_empty().then(|| format!("{} s", number(findings.seconds)))),
        ("Runs", Some(findings.runs.to_string())),
        ("Cells", Some(findings.cells.len().to_string())),
        ("Runs a cell", each),
        ("Windows", windows(records)),
        ("Experiments", written(&joined(experiments))),
        ("Engine", written(&joined(engines))),
        ("Bytes used of the target", span_bytes.map(|bytes| precise_size(bytes as f64))),
        ("Harness", findings.harness_ns_per_io.map(|ns| format!("{} ns a request", number(ns)))),
    ]
}

fn imported(findings: &Findings) -> Vec<Fact> {
    findings.imported.iter().map(|file| ("From", Some(file.to_string()))).collect()
}

fn joined(words: BTreeSet<&str>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}

/// The shortest and the longest measured window.
fn windows(records: &[Record]) -> Option<String> {
    let lengths = || records.iter().map(|record| record.elapsed_ns as f64 / 1e9);
    let (shortest, longest) = lengths().reduce(f64::min).zip(lengths().reduce(f64::max))?;
    let same = shortest * 1.01 > longest;
    Some(if same { format!("{} s", number(longest)) } else { format!("{} to {} s", number(shortest), number(longest)) })
}

/// The section that the page's script fills from the embedded findings and runs; `None` without cells.
pub fn raw_numbers(findings: &Findings, runs_left_out: usize) -> Option<Fold> {
    let body = html! {
        div.downloads {
            button type="button" data-csv="cells" { "Cells as CSV" }
            button type="button" data-csv="runs" { "Runs as CSV" }
        }
        @if runs_left_out > 0 {
            p.lead {
                "The last " (runs_left_out) " runs found no room in this page; `halfpower export STUDY \
                 --format csv` writes all of them."
            }
        }
        details #cells {
            summary { "All " (findings.cells.len()) " cells" }
            div.cells {}
        }
        noscript { p.lead { "The list of all cells needs JavaScript; `halfpower export STUDY --format csv` writes it." } }
    };
    let gist = count(findings.cells.len(), "cell");
    (!findings.cells.is_empty()).then(|| Fold::new("raw", "Raw numbers", gist, body))
}

/// The definitions: anchor, word, and a sentence or two.
const WORDS: [(&str, &str, &str); 19] = [
    (
        "pap",
        "PAP, peak advertised performance",
        "What a level of the path is said to be capable of: the rate of a link, a configured limit, a figure from a \
         data sheet. RAP/PAP is taken against the narrowest that is known.",
    ),
    (
        "rap",
        "RAP, real application performance",
        "The best throughput that this program got through a level, over all settings measured.",
    ),
    (
        "half",
        "Half power",
        "Reached where RAP is at least half of PAP; on a curve, the smallest block size measured that reaches half of \
         the curve's own peak. The sign ≤ says that no smaller size was measured below half.",
    ),
    (
        "nhalf",
        "n½",
        "a/b of the fit time = a + b × size: the block size whose transfer takes as long as the fixed part, so that \
         half of a request's time is overhead.",
    ),
    ("fixed", "Fixed time", "a of that fit at depth 1: what a request takes whatever its size."),
    ("stream", "One stream", "1/b of that fit: the rate at which a single request's bytes move once it has begun."),
    (
        "parallelism",
        "Side by side",
        "How many requests make progress at once, where depth stops helping before a ceiling does.",
    ),
    (
        "ceiling",
        "Ceiling",
        "A rate that neither larger (or, in requests a second, smaller) blocks nor more depth get past.",
    ),
    ("cost", "Cost", "Processor time a request, fitted over block sizes as fixed + marginal × KiB."),
    (
        "charged",
        "Charged",
        "The bound on cost from below: user and system time that the kernel charged to this process.",
    ),
    (
        "soaker",
        "Soaker",
        "The bound on cost from above: idle-priority threads, one a processor, whose lost time against an idle \
         baseline is all that the machine spent, interrupts and kernel threads included. Measured in runs of its own.",
    ),
    (
        "unseen",
        "Unseen",
        "Processor time that nobody was charged for, or somebody else: interrupts and deferred interrupts as the \
         kernel's ticks tell them, kernel threads and other processes (elsewhere), and what the soaker lost beyond all \
         that (not attributed). 1 is one processor full.",
    ),
    ("saturates", "One core saturates", "Throughput at which the cost of its requests fills one processor."),
    (
        "permb",
        "ms/MB",
        "Processor milliseconds for a decimal megabyte, or seconds for a gigabyte, at the smallest and the largest \
         block size measured.",
    ),
    (
        "latency",
        "Latency",
        "From just before a request is submitted until its completion is reaped; p99 is what 99% of requests stay at \
         or below.",
    ),
    (
        "steady",
        "Steady",
        "A cell is steady where the rate within its runs neither falls nor wanders beyond what chance explains. A cell \
         that is not is marked wherever it is shown, and never advised.",
    ),
    (
        "trimmed",
        "Trimmed",
        "The beginning of a run that is left out of its rate, because it is no part of what follows: it is cut where \
         the rest then has the smallest standard error (MSER-5).",
    ),
    (
        "knee",
        "Knee",
        "The depth at which throughput divided by median latency is largest: below it depth buys more than it costs, \
         above it waiting grows faster than throughput.",
    ),
    ("interval", "Interval", "A 95% t interval over the means of a cell's runs, not over the requests within one."),
];

/// The definitions that the table headings and the text link to.
pub fn definitions() -> Fold {
    let body = html! {
        dl.words {
            @for (id, word, meaning) in WORDS {
                div id={ "def-" (id) } { dt { (word) } dd { (meaning) } }
            }
        }
        p.lead {
            "Sizes are binary (1 KiB is 1024 bytes), rates decimal (1 MB/s is a million bytes a second). The \
             method is that of Riedel, van Ingen and Gray (1998) and Chung, Gray, Worthington and Horst (2000)."
        }
    };
    Fold::new("words", "What the words mean", "", body)
}
