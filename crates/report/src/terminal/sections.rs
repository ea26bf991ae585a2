//! Puts the sections of the screen together, the most urgent first.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use halfpower_analyse::{Advice, Bound, Cost, Curve, Findings, Interval, LevelFinding};
use halfpower_experiments::{ExperimentSection, StudyFindings};
use halfpower_spec::Workload;
use halfpower_text::format::{number, percent, size, thousands, time_ns, two_digits};
use halfpower_text::path_words;

use super::screen::{Item, Noun, Section, Tone, cut};
use crate::words::{self, levels};

const CHARTS: Noun = Noun("chart", "charts");

/// Stands where something is not known.
const UNKNOWN: &str = "unknown";
/// Characters of a target that may be long, as that of a simulated system is.
const TARGET: usize = 48;
/// Faults that are shown before `and more`.
const FAULTS: usize = 4;
/// Warnings that are shown before `and more`.
const WARNINGS: usize = 2;

/// Every section, in the order of the screen; the last ones give way first.
pub(super) fn all(findings: &StudyFindings, width: usize) -> Vec<Section> {
    vec![
        answer(findings, width),
        faults(findings, width),
        path(findings, width),
        advice(findings),
        chart(findings, width),
        experiments(findings, width),
        paths(findings, width),
        warnings(findings, width),
    ]
}

fn answer(findings: &StudyFindings, width: usize) -> Section {
    let verdict = words::verdict::verdict(findings);
    let sentences = verdict.iter().map(|text| Item::sentence("", text, width, Tone::Plain));
    let mut items: Vec<Item> = sentences.collect();
    if findings.runs == 0 {
        items.push(Item::line("No run is finished yet.", Tone::Plain));
    }
    Section::new(Some(headline(findings)), Noun("sentence", "sentences"), items, usize::MAX, usize::MAX)
}

/// What went wrong, a line for each kind of fault; nothing where nothing did.
fn faults(findings: &StudyFindings, width: usize) -> Section {
    let sentence = |fault| Item::sentence("  ! ", &crate::words::faults::sentence(fault), width, Tone::Alert);
    let items = findings.faults.iter().map(sentence).collect();
    Section::new(Some("Faults".to_string()), Noun("fault", "faults"), items, FAULTS, 1)
}

/// What each experiment answered, a line each; those that were not run, in one.
fn experiments(findings: &StudyFindings, width: usize) -> Section {
    let ran = findings.experiments.iter().filter(|experiment| experiment.ran);
    let told = |experiment: &ExperimentSection| {
        let lead = format!("  {:<11} ", experiment.experiment.word());
        Item::sentence(&lead, &experiment.answer, width, Tone::Plain)
    };
    let mut items: Vec<Item> = ran.map(told).collect();
    let not: Vec<&str> =
        findings.experiments.iter().filter(|experiment| !experiment.ran).map(|e| e.experiment.word()).collect();
    if !not.is_empty() {
        let text = format!("{} (the report says why)", not.join(", "));
        items.push(Item::sentence("  not run     ", &text, width, Tone::Plain));
    }
    Section::new(Some("Experiments".to_string()), Noun("experiment", "experiments"), items, usize::MAX, usize::MAX)
}

/// Such as `/data: 42 runs in 118 s; 2 x EPYC, Linux 6.1; ext4 on nvme0n1`.
fn headline(findings: &Findings) -> String {
    let machine = &findings.machine;
    let runs = if findings.runs == 1 { "run" } else { "runs" };
    let target = cut(&findings.target, TARGET);
    let mut text = format!("{target}: {} {runs} in {} s", findings.runs, number(findings.seconds));
    if !machine.cpu_model.is_empty() {
        text += &format!("; {} x {}", machine.cpus, machine.cpu_model);
    }
    machine.system().iter().for_each(|system| text += &format!(", {system}"));
    let filesystem = findings.filesystem.as_ref().map(|filesystem| filesystem.kind.as_str());
    let device = findings.device.as_ref().map(|device| device.name.as_str());
    match (filesystem, device) {
        (Some(filesystem), Some(device)) => text += &format!("; {filesystem} on {device}"),
        (Some(one), None) | (None, Some(one)) => text += &format!("; {one}"),
        (None, None) => {}
    }
    text
}

fn path(findings: &Findings, width: usize) -> Section {
    let silent = |level: &LevelFinding| level.pap_mbps.is_none() && !level.narrowest;
    // Neighbours that advertise nothing have nothing to say apart.
    let alike =
        |one: &LevelFinding, other: &LevelFinding| silent(one) && silent(other) && one.rap_mbps == other.rap_mbps;
    let groups: Vec<&[LevelFinding]> = findings.levels.chunk_by(alike).collect();
    let heading = ["The path", "PAP", "(RAP)", ""].map(str::to_string).to_vec();
    let lines = table(heading, groups.iter().copied().map(path_row).collect(), &[1, 2]);
    let narrowest = |group: &&[LevelFinding]| group.iter().any(|level| level.narrowest);
    let tone = |group| if narrowest(group) { Tone::Alert } else { Tone::Plain };
    let tones = groups.iter().map(tone);
    let mut items: Vec<Item> = lines[1..].iter().zip(tones).map(|(line, tone)| Item::line(line, tone)).collect();
    let least = groups.iter().position(narrowest).map_or(2, |place| place + 1);
    let narrowest_level = words::bottleneck::words(&findings.bottleneck);
    let next = narrowest_level.next.trim_end_matches('.');
    if !items.is_empty() && !next.is_empty() && !next.starts_with(UNKNOWN) {
        // The last line to give way: it is of use only with the levels above it.
        items.push(Item::sentence("  ", &format!("Next, were that lifted: {next}."), width, Tone::Plain));
    }
    Section::new(Some(lines[0].clone()), Noun("line of the path", "lines of the path"), items, usize::MAX, least)
}

/// A level, or several that advertise nothing, as a line of the path.
fn path_row(group: &[LevelFinding]) -> Vec<String> {
    let rate = |mbps: Option<f64>| mbps.map_or(UNKNOWN.to_string(), |mbps| format!("{} MB/s", number(mbps)));
    let level = &group[0];
    let names: Vec<String> = group.iter().map(|level| levels::name(&level.id)).collect();
    let mark = if level.narrowest { "> " } else { "  " };
    let rap = level.rap_mbps.map_or("(not measured)".to_string(), |_| format!("({})", rate(level.rap_mbps)));
    let source = match (level.narrowest, group.len()) {
        (true, _) => format!("narrowest; {}", levels::source(&level.source)),
        (false, 1) => levels::source(&level.source),
        (false, _) => "nothing advertises them".to_string(),
    };
    vec![format!("{mark}{}", names.join(", ")), rate(level.pap_mbps), rap, source]
}

/// What to set, a line a piece of advice: its sentence is on the page.
fn advice(findings: &Findings) -> Section {
    let row = |advice: &Advice| {
        let Workload { bs, iodepth, threads, cache, .. } = advice.settings;
        let direct = if cache.direct() { "direct" } else { "buffered" };
        let threads = if threads > 1 { format!(", {threads} threads") } else { String::new() };
        vec![
            format!("  {} {}s", advice.pattern, advice.rw),
            format!("{direct}, {}, {iodepth} deep{threads}", size(bs.0 as f64)),
            number(advice.mbps),
            percent(advice.share_of_peak),
            two_digits(advice.cpu_ms_per_mb),
            time_ns(advice.latency_ns_p99 as f64),
        ]
    };
    let heading = ["What to set", "", "MB/s", "of the best", "CPU ms a MB", "p99"].map(str::to_string).to_vec();
    let lines = table(heading, findings.advice.iter().map(row).collect(), &[2, 3, 4, 5]);
    let items = lines[1..].iter().map(|line| Item::line(line, Tone::Plain)).collect();
    Section::new(Some(lines[0].clone()), Noun("piece of advice", "pieces of advice"), items, usize::MAX, 4)
}

fn chart(findings: &Findings, width: usize) -> Section {
    let lines = super::chart::chart(findings, width);
    let Some((titles, bars)) = lines.split_first() else { return Section::new(None, CHARTS, vec![], 0, 0) };
    let items = vec![Item { lines: bars.to_vec(), tone: Tone::Chart }];
    Section::new(Some(titles.clone()), CHARTS, items, 1, 1)
}

fn warnings(findings: &Findings, width: usize) -> Section {
    let texts = findings.warnings.iter().map(words::warnings::sentence);
    let items = texts.map(|text| Item::sentence("  ! ", &text, width, Tone::Alert)).collect();
    Section::new(Some("Before you believe it".to_string()), Noun("warning", "warnings"), items, WARNINGS, 1)
}

/// The curve with the highest peak of each pattern, direction and cache setting, in the order of the findings.
fn best_curves(findings: &Findings) -> Vec<&Curve> {
    let mut best: Vec<&Curve> = Vec::new();
    for curve in &findings.curves {
        let same = |one: &&mut &Curve| (one.pattern, one.rw, one.cache) == (curve.pattern, curve.rw, curve.cache);
        match best.iter_mut().find(same) {
            Some(one) if curve.peak_mbps > one.peak_mbps => *one = curve,
            Some(_) => {}
            None => best.push(curve),
        }
    }
    best.sort_by_key(|curve| !curve.cache.direct());
    best
}

/// Half power and cost, a line a path; in narrower forms until it fits.
fn paths(findings: &Findings, width: usize) -> Section {
    let forms = [(true, true), (false, true), (false, false)];
    let written = forms.map(|(intervals, full)| path_lines(findings, intervals, full));
    let lines = written.iter().find(|lines| widest(lines) <= width).unwrap_or(&written[2]);
    let items = lines[1..].iter().map(|line| Item::line(line, Tone::Plain)).collect();
    Section::new(Some(lines[0].clone()), Noun("path", "paths"), items, usize::MAX, 2)
}

fn path_lines(findings: &Findings, intervals: bool, with_full: bool) -> Vec<String> {
    let curves = best_curves(findings);
    let bill = |cost: Option<&Cost>| match cost {
        Some(cost) => {
            format!("{} + {}", term(&cost.fixed_us, intervals), term(&cost.marginal_us_per_kib, intervals))
        }
        None => "-".to_string(),
    };
    let row = |curve: &&Curve| {
        let of = |bound| findings.cost.iter().find(|cost| cost.bound == bound && same_path(cost, curve));
        let (charged, soaker) = (of(Bound::Charged), of(Bound::Soaker));
        let at_most = if curve.half_power_bracketed { "" } else { "<= " };
        let mut row = vec![
            format!("  {}", path_words(curve.pattern, curve.cache, curve.rw)),
            number(curve.peak_mbps),
            format!("{} x {}", size(curve.peak_bs_bytes as f64), curve.iodepth),
            format!("{at_most}{}", size(curve.half_power_bs_bytes as f64)),
            bill(charged),
            bill(soaker),
        ];
        let one_core = |cost: &Cost| full(cost.core_saturates_iops, cost.core_saturates_mbps[1]);
        row.extend(with_full.then(|| charged.or(soaker).map_or(String::new(), one_core)));
        row
    };
    let mut heading = vec!["Half power, us a request + KiB", "peak", "at", "half from", "charged", "all spent"];
    heading.extend(with_full.then_some("one core full at"));
    let heading = heading.into_iter().map(str::to_string).collect();
    table(heading, curves.iter().map(row).collect(), &[1, 3])
}

fn same_path(cost: &Cost, curve: &Curve) -> bool {
    (cost.pattern, cost.rw, cost.cache) == (curve.pattern, curve.rw, curve.cache)
}

/// Such as `317k/s, 41.0 GB/s`: requests at the smallest block size, bytes at the largest.
fn full(iops: f64, mbps: f64) -> String {
    let requests = if iops >= 9999.5 { format!("{}k", thousands(iops / 1e3)) } else { thousands(iops) };
    let bytes = if mbps >= 9999.5 { format!("{} GB/s", number(mbps / 1e3)) } else { format!("{} MB/s", number(mbps)) };
    format!("{requests}/s, {bytes}")
}

/// Such as `3.1` or `3.1 ±0.2`, both to the same decimal.
fn term(interval: &Interval, with_interval: bool) -> String {
    let value = two_digits(interval.value);
    let half = (interval.high - interval.value).max(interval.value - interval.low);
    if !with_interval || !half.is_finite() || half <= 0.0 {
        return value;
    }
    let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{value} ±{half:.decimals$}")
}

/// A heading line and a line for each row, in columns two spaces apart.
fn table(heading: Vec<String>, rows: Vec<Vec<String>>, right: &[usize]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).force_no_tty();
    table.add_row(heading);
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_string()).collect()
}

fn widest(lines: &[String]) -> usize {
    lines.iter().map(|line| line.chars().count()).max().unwrap_or(0)
}
