//! What stands on the screen, in which order? Findings enter, sections leave, the most urgent first.

use analyse::format::{number, thousands, two_digits};
use analyse::{Bound, CellFinding, Cost, Curve, Findings, Interval, LevelFinding};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use spec::{Bytes, Cache, Direction, Pattern};

use super::{Item, Section, Tone};

/// Stands where something is not known.
const UNKNOWN: &str = "unknown";
/// Characters of a target that may be long, as that of a simulated system is.
const TARGET: usize = 48;
/// Warnings that are shown before `and more`.
const WARNINGS: usize = 3;

/// Every section, in the order of the screen; the last ones give way first.
pub(super) fn all(findings: &Findings, width: usize) -> Vec<Section> {
    vec![
        answer(findings, width),
        path(findings, width),
        advice(findings, width),
        throughput(findings, width),
        cost(findings, width),
        warnings(findings, width),
    ]
}

fn answer(findings: &Findings, width: usize) -> Section {
    let sentences = findings.verdict.iter().map(|text| Item::sentence("", text, width, Tone::Plain));
    let mut items: Vec<Item> = sentences.collect();
    if findings.runs == 0 {
        items.push(Item::line("No run is finished yet.", Tone::Plain));
    }
    Section::new(Some(headline(findings)), "sentences", items, usize::MAX, usize::MAX)
}

/// Such as `/data: 42 runs in 118 s; 2 x EPYC, Linux 6.1; ext4 on nvme0n1`.
fn headline(findings: &Findings) -> String {
    let machine = &findings.machine;
    let runs = if findings.runs == 1 { "run" } else { "runs" };
    let target = super::cut(&findings.target, TARGET);
    let mut text = format!("{target}: {} {runs} in {} s", findings.runs, number(findings.seconds));
    if !machine.cpu_model.is_empty() {
        text += &format!("; {} x {}", machine.cpus, machine.cpu_model);
    }
    if !machine.kernel.is_empty() {
        text += &format!(", Linux {}", machine.kernel);
    }
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
    let rate = |mbps: Option<f64>| mbps.map_or(UNKNOWN.to_string(), |mbps| format!("{} MB/s", number(mbps)));
    let row = |level: &LevelFinding| {
        let mark = if level.narrowest { "> " } else { "  " };
        let rap = level.rap_mbps.map_or("(not measured)".to_string(), |_| format!("({})", rate(level.rap_mbps)));
        let source = if level.narrowest { format!("narrowest; {}", level.source) } else { level.source.clone() };
        vec![format!("{mark}{}", level.level), rate(level.pap_mbps), rap, source]
    };
    let heading = ["The path", "PAP", "(RAP)", ""].map(str::to_string).to_vec();
    let lines = table(heading, findings.levels.iter().map(row).collect(), &[1, 2]);
    let tones = findings.levels.iter().map(|level| if level.narrowest { Tone::Alert } else { Tone::Plain });
    let mut items: Vec<Item> = lines[1..].iter().zip(tones).map(|(line, tone)| Item::line(line, tone)).collect();
    let next = findings.bottleneck.next.trim_end_matches('.');
    if !items.is_empty() && !next.is_empty() && !next.starts_with(UNKNOWN) {
        // The last line to give way: it is of use only with the levels above it.
        items.push(Item::sentence("  ", &format!("Next, were that lifted: {next}."), width, Tone::Plain));
    }
    Section::new(Some(lines[0].clone()), "lines of the path", items, usize::MAX, 2)
}

fn advice(findings: &Findings, width: usize) -> Section {
    let items =
        findings.advice.iter().map(|advice| Item::sentence("  ", &advice.sentence, width, Tone::Plain)).collect();
    Section::new(Some("Advice".to_string()), "pieces of advice", items, usize::MAX, 2)
}

fn warnings(findings: &Findings, width: usize) -> Section {
    let items = findings.warnings.iter().map(|text| Item::sentence("  ! ", text, width, Tone::Alert)).collect();
    Section::new(Some("Before you believe it".to_string()), "warnings", items, WARNINGS, 1)
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
    best
}

/// The cell of a curve at one block size; the fastest, where several numbers of threads were measured.
fn cell_at<'a>(findings: &'a Findings, curve: &Curve, bs_bytes: u64) -> Option<&'a CellFinding> {
    let on = |cell: &&CellFinding| {
        (cell.pattern, cell.rw, cell.cache, cell.iodepth, cell.bs_bytes)
            == (curve.pattern, curve.rw, curve.cache, curve.iodepth, bs_bytes)
    };
    findings.cells.iter().filter(on).max_by(|one, other| one.mbps.value.total_cmp(&other.mbps.value))
}

fn throughput(findings: &Findings, width: usize) -> Section {
    let curves = best_curves(findings);
    let mut sizes: Vec<u64> = findings.cells.iter().map(|cell| cell.bs_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.retain(|bs_bytes| curves.iter().any(|curve| cell_at(findings, curve, *bs_bytes).is_some()));
    let mut lines = throughput_lines(findings, &curves, &sizes);
    while sizes.len() > 3 && widest(&lines) > width {
        // Every second size, counted from the largest, which holds the peak more often than not.
        let parity = (sizes.len() - 1) % 2;
        sizes = sizes.iter().copied().skip(parity).step_by(2).collect();
        lines = throughput_lines(findings, &curves, &sizes);
    }
    let mut items: Vec<Item> = lines[1..].iter().map(|line| Item::line(line, Tone::Plain)).collect();
    let cached = |curve: &&Curve| sizes.iter().any(|bs| cell_at(findings, curve, *bs).is_some_and(|cell| cell.cached));
    if curves.iter().any(cached) {
        items.push(Item::line("  c: a cache answered", Tone::Plain));
    }
    Section::new(Some(lines[0].clone()), "lines of throughput", items, usize::MAX, 2)
}

fn throughput_lines(findings: &Findings, curves: &[&Curve], sizes: &[u64]) -> Vec<String> {
    let mut heading = vec!["MB/s by KiB a request".to_string(), "depth".to_string()];
    heading.extend(sizes.iter().map(|bs_bytes| Bytes(*bs_bytes).kib().to_string()));
    heading.push("half from".to_string());
    let row = |curve: &&Curve| {
        let mut row = vec![format!("  {}", words(curve.pattern, curve.cache, curve.rw)), curve.iodepth.to_string()];
        row.extend(sizes.iter().map(|bs_bytes| match cell_at(findings, curve, *bs_bytes) {
            // Without separators, nine columns fit into a hundred characters.
            Some(cell) => format!("{}{}", number(cell.mbps.value), if cell.cached { "c" } else { "" }).replace(',', ""),
            None => "-".to_string(),
        }));
        let at_most = if curve.half_power_bracketed { "" } else { "<= " };
        row.push(format!("{at_most}{}", Bytes(curve.half_power_bs_bytes)));
        row
    };
    let right: Vec<usize> = (1..sizes.len() + 3).collect();
    table(heading, curves.iter().map(row).collect(), &right)
}

fn cost(findings: &Findings, width: usize) -> Section {
    let mut lines = cost_lines(&findings.cost, true);
    if widest(&lines) > width {
        lines = cost_lines(&findings.cost, false);
    }
    let items = lines[1..].iter().map(|line| Item::line(line, Tone::Plain)).collect();
    Section::new(Some(lines[0].clone()), "paths", items, usize::MAX, 2)
}

fn cost_lines(costs: &[Cost], intervals: bool) -> Vec<String> {
    let mut paths: Vec<&str> = Vec::new();
    for cost in costs {
        if !paths.contains(&cost.path.as_str()) {
            paths.push(&cost.path);
        }
    }
    let of = |path: &str, bound| costs.iter().find(|cost| cost.path == path && cost.bound == bound);
    let bill = |cost: Option<&Cost>| match cost {
        Some(cost) => {
            format!("{} + {}", term(&cost.fixed_us, intervals), term(&cost.marginal_us_per_kib, intervals))
        }
        None => "-".to_string(),
    };
    let row = |path: &&str| {
        let (charged, soaker) = (of(path, Bound::Charged), of(path, Bound::Soaker));
        let one_core = charged
            .or(soaker)
            .map_or(String::new(), |cost| full(cost.core_saturates_iops, cost.core_saturates_mbps[1]));
        vec![format!("  {path}"), bill(charged), bill(soaker), one_core]
    };
    let heading = ["cost: us a request + KiB", "charged", "soaker (at most)", "one core is full at"];
    table(heading.map(str::to_string).to_vec(), paths.iter().map(row).collect(), &[])
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

/// A path in words, as costs name theirs.
fn words(pattern: Pattern, cache: Cache, rw: Direction) -> String {
    let cache = match cache {
        Cache::Both => "buffered",
        Cache::Os => "durable buffered",
        Cache::Device => "direct",
        Cache::None => "durable direct",
    };
    format!("{pattern} {cache} {rw}")
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
