//! Builds the detail sections: the path, all advice, charts, half power and cost, slow hosts, the experiments.

use halfpower_analyse::{
    Advice, Bound, CellFinding, Cost, CostLine, Curve, EndsCost, Findings, Interval, LevelFinding, path_peak,
};
use halfpower_experiments::{ExperimentSection, IssuingChange, StudyFindings};
use halfpower_record::{CheckFinding, Severity};
use halfpower_spec::format::{number, percent, size, thousands, time_ns, two_digits};
use halfpower_spec::{InOrder, Workload, path_words};

use super::screen::{Item, Section, Tone};
use crate::columns::{Column, lines};
use crate::words::{self, far_end, fleet, levels};

/// All sections, in the order in which they are printed.
pub(super) fn all(findings: &StudyFindings, width: usize) -> Vec<Section> {
    vec![
        path(findings, width),
        advice(findings, width),
        chart(findings, width),
        paths(findings, width),
        both_ends(findings, width),
        hosts(findings, width),
        network(findings, width),
        issuing(findings, width),
        experiments(findings, width),
        checks(findings, width),
    ]
}

/// The answer of each experiment and what it could not measure; experiments that were not run share one line.
fn experiments(findings: &StudyFindings, width: usize) -> Section {
    let ran = findings.experiments.iter().filter(|experiment| experiment.ran);
    let reported = |experiment: &ExperimentSection| {
        let lead = format!("  {:<11} ", experiment.experiment.word());
        let answer = Item::sentence(&lead, &experiment.brief(), width, Tone::Plain);
        let lead = format!("{:<14}- ", "");
        let told = experiment.details.iter().chain(&experiment.notes);
        let told = told.map(|text| Item::sentence(&lead, text, width, Tone::Plain));
        std::iter::once(answer).chain(told).collect::<Vec<Item>>()
    };
    let mut items: Vec<Item> = ran.flat_map(reported).collect();
    let not: Vec<&str> =
        findings.experiments.iter().filter(|experiment| !experiment.ran).map(|e| e.experiment.word()).collect();
    if !not.is_empty() {
        let text = format!("{} (the page says why)", not.join(", "));
        items.push(Item::sentence("  not run     ", &text, width, Tone::Plain));
    }
    Section::new(Some("EXPERIMENTS".to_string()), items)
}

/// What the checks of settings found; empty if nobody looked.
fn checks(findings: &Findings, width: usize) -> Section {
    let Some(seen) = &findings.checks else { return Section::new(None, Vec::new()) };
    let item = |found: &CheckFinding| match found.severity {
        Severity::Note => Item::sentence("  ", &words::checks::line(found), width, Tone::Plain),
        Severity::Warn | Severity::Bad => Item::sentence("  ! ", &words::checks::line(found), width, Tone::Alert),
    };
    let mut items: Vec<Item> =
        words::checks::all_findings(&seen.before).into_iter().map(|(_, found)| item(found)).collect();
    items.push(Item::sentence("  ", &words::checks::counts(&seen.before), width, Tone::Plain));
    for found in &seen.changed {
        let text = words::checks::difference(found, words::checks::BEFORE_AND_AFTER);
        items.push(Item::sentence("  changed: ", &text, width, Tone::Plain));
    }
    Section::new(Some("WHAT THE CHECKS OF SETTINGS FOUND".to_string()), items)
}

/// TCP's figures; empty without a connection of halfpower's own client.
fn network(findings: &Findings, width: usize) -> Section {
    let rows: Vec<Vec<String>> = words::network::rows(findings)
        .into_iter()
        .map(|[name, rest @ ..]| std::iter::once(format!("  {name}")).chain(rest).collect())
        .collect();
    if rows.is_empty() {
        return Section::new(None, Vec::new());
    }
    let mut heading = words::network::HEADING;
    heading[0] = "NETWORK";
    let lines = table(&heading, &rows, &[0, 0, 0, RIGHT, 0], width);
    Section::new(Some(lines[0].clone()), lines[1..].iter().map(|line| Item::line(line, Tone::Plain)).collect())
}

fn path(findings: &Findings, width: usize) -> Section {
    let silent = |level: &LevelFinding| level.pap_mbps.is_none() && !level.narrowest;
    // Neighbours that advertise nothing share a line.
    let alike =
        |one: &LevelFinding, other: &LevelFinding| silent(one) && silent(other) && one.rap_mbps == other.rap_mbps;
    let groups: Vec<&[LevelFinding]> = findings.levels.chunk_by(alike).collect();
    let rows: Vec<Vec<String>> = groups.iter().copied().map(path_row).collect();
    // The column of sources is cut rather than dropped.
    let lines = table(&["THE PATH", "PAP", "(RAP)", ""], &rows, &[0, RIGHT, RIGHT, 0], width);
    let narrowest = |group: &&[LevelFinding]| group.iter().any(|level| level.narrowest);
    let tone = |group| if narrowest(group) { Tone::Alert } else { Tone::Plain };
    let tones = groups.iter().map(tone);
    let mut items: Vec<Item> = lines[1..].iter().zip(tones).map(|(line, tone)| Item::line(line, tone)).collect();
    let next = findings.bottleneck.next.as_ref().filter(|_| !items.is_empty() && findings.doubt().is_none());
    items.extend(next.map(|next| {
        let next = words::bottleneck::next_limit(next);
        Item::sentence("  ", &format!("Next, were that lifted: {next}."), width, Tone::Plain)
    }));
    Section::new(Some(lines[0].clone()), items)
}

/// A level, or several that advertise nothing, as one line of the path.
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

/// The advice, one line each; its full sentence is on the page.
fn advice(findings: &Findings, width: usize) -> Section {
    let row = |advice: &Advice| {
        let Workload { bs, iodepth, threads, cache, .. } = advice.settings;
        let direct = if cache.direct() { "direct" } else { "buffered" };
        let threads = if threads > 1 { format!(", {threads} threads") } else { String::new() };
        vec![
            format!("  {} {}s", advice.pattern, advice.rw),
            format!("{direct}, {}, {iodepth} deep{threads}", size(bs.0 as f64)),
            number(advice.mbps),
            percent(advice.share_of_peak),
            advice.cpu_ms_per_mb.map_or(UNKNOWN.to_string(), two_digits),
            advice.latency_ns_p99.map_or(UNKNOWN.to_string(), |ns| time_ns(ns as f64)),
        ]
    };
    let heading = ["THE CHEAPEST SETTINGS", "", "MB/s", "of best", "CPU ms a MB", "p99"];
    let rows: Vec<Vec<String>> = findings.advice.iter().map(row).collect();
    let lines = table(&heading, &rows, &[0, 0, RIGHT, RIGHT + 2, RIGHT + 3, RIGHT + 1], width);
    let items = lines[1..].iter().map(|line| Item::line(line, Tone::Plain)).collect();
    Section::new(Some(lines[0].clone()), items)
}

/// The effect and cost of each part of issuing, by kind of work.
fn issuing(findings: &StudyFindings, width: usize) -> Section {
    let row = |found: &IssuingChange| {
        let ([slow, fast], [without, with]) = (words::issuing::rates(found), words::issuing::costs(found));
        vec![
            format!("    {}", words::issuing::part(found)),
            slow,
            fast,
            words::issuing::brings(found.times.as_ref()),
            without,
            with,
        ]
    };
    let works: Vec<&[IssuingChange]> =
        findings.issuing.chunk_by(|one, other| words::issuing::work(one) == words::issuing::work(other)).collect();
    let rows: Vec<Vec<String>> = findings.issuing.iter().map(row).collect();
    let heading = ["WHAT ISSUING COSTS AND BRINGS", "without", "with", "brings", "CPU a request", "with it"];
    let lines = table(&heading, &rows, &[0, RIGHT + 3, RIGHT + 2, 0, 1, 1], width);
    let mut items = Vec::new();
    let mut place = 1;
    for work in works {
        items.push(Item::line(format!("  {}", words::issuing::work_of_rows(work)), Tone::Plain));
        items.extend(lines[place..place + work.len()].iter().map(|line| Item::line(line, Tone::Plain)));
        place += work.len();
    }
    Section::new(Some(lines[0].clone()), items)
}

fn chart(findings: &Findings, width: usize) -> Section {
    let lines = super::chart::chart(findings, width);
    let Some((titles, bars)) = lines.split_first() else { return Section::new(None, vec![]) };
    let items = vec![Item { lines: bars.to_vec(), tone: Tone::Chart, strong: None, is_whole: false }];
    Section::new(Some(titles.clone()), items)
}

/// The confirmed cell that represents how fast the path of a curve is: what the answer and the advice tell of that
/// path. `None` if no cell of it was confirmed, or if it has more threads than curves have.
fn confirmed<'a>(findings: &'a Findings, curve: &Curve) -> Option<&'a CellFinding> {
    let best = path_peak(&findings.cells, curve.path)?;
    let fewest = findings.cells.iter().filter(|cell| cell.path() == curve.path).map(|cell| cell.threads).min();
    (best.chosen_mbps.is_some() && Some(best.threads) == fewest).then_some(best)
}

/// For each pattern, direction and cache setting, the curve with the highest peak, or that of the depth whose cell was
/// confirmed, in the order of the findings.
fn best_curves(findings: &Findings) -> Vec<&Curve> {
    let rank = |curve: &Curve| {
        let is_told = confirmed(findings, curve).is_some_and(|cell| cell.iodepth == curve.iodepth);
        (is_told, curve.peak_mbps)
    };
    let mut best: Vec<&Curve> = Vec::new();
    for curve in &findings.curves {
        let same = |one: &&mut &Curve| (one.pattern, one.rw, one.cache) == (curve.pattern, curve.rw, curve.cache);
        match best.iter_mut().find(same) {
            Some(one) if rank(curve) > rank(one) => *one = curve,
            Some(_) => {}
            None => best.push(curve),
        }
    }
    best.order_by_key(|curve| !curve.cache.direct());
    best
}

/// Half power and cost, one line per path; on a narrow screen, cost has no intervals.
fn paths(findings: &Findings, width: usize) -> Section {
    let whole = path_lines(findings, true, usize::MAX);
    let lines = if super::chart::widest(&whole) <= width { whole } else { path_lines(findings, false, width) };
    let items = lines[1..].iter().map(|line| Item::line(line, Tone::Plain)).collect();
    Section::new(Some(lines[0].clone()), items)
}

fn path_lines(findings: &Findings, intervals: bool, width: usize) -> Vec<String> {
    let bill = |cost: Option<&Cost>| match cost {
        Some(cost) => {
            format!("{} + {}", term(&cost.fixed_us, intervals), term(&cost.marginal_us_per_kib, intervals))
        }
        None => "-".to_string(),
    };
    let row = |curve: &&Curve| {
        let of = |bound| findings.cost.iter().find(|cost| cost.bound == bound && same_path(cost, curve));
        let charged = of(Bound::Charged);
        let soaker = of(Bound::Soaker);
        let at_most = if curve.half_power_bracketed { "" } else { "<= " };
        let told = confirmed(findings, curve).map(|cell| (cell.mbps.value, cell.bs_bytes, cell.iodepth));
        let (peak_mbps, bs_bytes, iodepth) = told.unwrap_or((curve.peak_mbps, curve.peak_bs_bytes, curve.iodepth));
        let half_from = || format!("{at_most}{}", size(curve.half_power_bs_bytes as f64));
        let one_core = |cost: &Cost| full(cost.core_saturates_iops, cost.core_saturates_mbps[1]);
        vec![
            format!("  {}", path_words(curve.pattern, curve.cache, curve.rw)),
            number(peak_mbps),
            format!("{} x {}", size(bs_bytes as f64), iodepth),
            if curve.half_power_holds { half_from() } else { "-".to_string() },
            bill(charged),
            bill(soaker),
            charged.or(soaker).map_or(String::new(), one_core),
        ]
    };
    let heading = ["HALF POWER, us + us a KiB", "peak", "at", "half from", "charged", "all spent", "one core full at"];
    let rows: Vec<Vec<String>> = best_curves(findings).iter().map(row).collect();
    table(&heading, &rows, &[0, RIGHT, 1, RIGHT, 2, 3, 4], width)
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

/// The section; empty if a single process measured.
fn hosts(findings: &Findings, width: usize) -> Section {
    let Some(found) = &findings.fleet else { return Section::new(None, Vec::new()) };
    let mut items = vec![Item::sentence("  ", &fleet::gist(found), width, Tone::Plain)];
    let slow = found.stragglers.iter().map(fleet::straggler);
    items.extend(slow.map(|text| Item::sentence("  ! ", &text, width, Tone::Alert)));
    Section::new(Some("HOSTS".to_string()), items)
}

/// The section; empty without a witness at the far end.
fn both_ends(findings: &Findings, width: usize) -> Section {
    let Some(end) = findings.far_end.as_ref().filter(|end| !end.cost.is_empty()) else {
        return Section::new(None, Vec::new());
    };
    let row = |cost: &EndsCost| {
        vec![
            format!("  {}", far_end::path(cost)),
            far_end::accounting(cost.by, &end.machine),
            bill(cost.near.as_ref()),
            bill(cost.far.as_ref()),
            per_mb(cost.near.as_ref()),
            per_mb(cost.far.as_ref()),
        ]
    };
    let heading = ["BOTH ENDS, us + us a KiB", "by", "this end", "far end", "ms a MB here", "there"];
    let rows: Vec<Vec<String>> = end.cost.iter().map(row).collect();
    let lines = table(&heading, &rows, &[0, 0, 0, 0, RIGHT + 1, RIGHT + 1], width);
    let whose = format!("The far end is {}.", far_end::whose(&end.machine));
    let mut items: Vec<Item> = lines[1..].iter().map(|line| Item::line(line, Tone::Plain)).collect();
    items.push(Item::sentence("  ", &whose, width, Tone::Plain));
    Section::new(Some(lines[0].clone()), items)
}

/// A cost as fixed plus marginal part: `12 ±1 + 0.31 ±0.02`.
fn bill(line: Option<&CostLine>) -> String {
    line.map_or(UNKNOWN.to_string(), |line| {
        format!("{} + {}", term(&line.fixed_us, true), term(&line.marginal_us_per_kib, true))
    })
}

fn per_mb(line: Option<&CostLine>) -> String {
    line.map_or(UNKNOWN.to_string(), |line| range(line.ms_per_mb))
}

/// Added to the rank of a right-aligned column.
const RIGHT: u8 = 10;
/// Replaces an unknown figure.
pub(super) const UNKNOWN: &str = "unknown";

/// A figure such as `3.1` or `3.1 ±0.2`, both with the same number of decimals.
pub(super) fn term(interval: &Interval, with_interval: bool) -> String {
    let value = two_digits(interval.value);
    let half = (interval.high - interval.value).max(interval.value - interval.low);
    if !with_interval || !half.is_finite() || half <= 0.0 {
        return value;
    }
    if half > interval.value.abs() / 2.0 {
        // The interval is too wide for the value to have a meaningful digit.
        return format!("{value} \u{b1}?");
    }
    let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{value} ±{half:.decimals$}")
}

/// A range from the smallest block size to the largest, such as `9.1 to 1.2`.
pub(super) fn range([smallest, largest]: [f64; 2]) -> String {
    format!("{} to {}", two_digits(smallest), two_digits(largest))
}

/// A heading line and one line per row. If the width is too small, the column with the highest of `ranks` is dropped
/// first. A column whose rank has [`RIGHT`] added is right-aligned.
pub(super) fn table(heading: &[&str], rows: &[Vec<String>], ranks: &[u8], width: usize) -> Vec<String> {
    let column = |(place, rank): (usize, &u8)| {
        let cells: Vec<String> = rows.iter().map(|row| row[place].clone()).collect();
        match rank {
            right @ RIGHT.. => Column::right(heading[place], right - RIGHT, cells),
            left => Column::left(heading[place], *left, cells),
        }
    };
    lines(ranks.iter().enumerate().map(column).collect(), width)
}
