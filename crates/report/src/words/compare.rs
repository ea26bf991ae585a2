//! Says whether two studies differ, where, and by how much.

use halfpower_analyse::{
    CellComparison, Change, Comparison, ConditionCase, ConditionFinding, ConditionLimit, Outcome, PRACTICAL_PERCENT,
    PathComparison, Quantity,
};
use halfpower_spec::format::{mbps, number, size, time_ns, time_us, two_digits};

use super::settings::{cell, path};

/// Figures of conditions that the verdict names.
const ASKED: usize = 3;

/// The answer in a few sentences. What the tables mark and what conditions find is said here too.
pub(crate) fn verdict(comparison: &Comparison) -> Vec<String> {
    match comparison.outcome {
        Outcome::SameRecords => vec!["No difference: both studies hold the same records.".to_string()],
        Outcome::ChanceUnknown => vec![
            "Nothing can be told apart: no cell was run more than once in both studies, so chance is unknown; measure \
             again with a longer --budget."
                .to_string(),
        ],
        Outcome::NothingInCommon => {
            let prices = if comparison.price.is_some() { " Prices are." } else { "" };
            let a = &comparison.a.letter;
            let b = &comparison.b.letter;
            vec![format!("Throughput, latency and cost are not compared: {a} and {b} have no cell in common.{prices}")]
        }
        Outcome::NoDifference => {
            let said = [asked(comparison), Some(no_difference(comparison)), small(comparison)];
            said.into_iter().flatten().chain([range_of_means(comparison)]).collect()
        }
        Outcome::Different => {
            let of_cells = [cells(comparison), others(comparison)];
            let said = [asked(comparison), Some(throughput(comparison)), small(comparison)];
            said.into_iter().chain(of_cells).flatten().collect()
        }
    }
}

/// What conditions find certain and the tests over everything do not, because those are more.
fn asked(comparison: &Comparison) -> Option<String> {
    let of_change = |finding: &&ConditionFinding| !matches!(finding.limit, ConditionLimit::Figure(_));
    let cases = comparison.fail_if.iter().filter(of_change).flat_map(|finding| &finding.cases);
    let cases = cases.filter(|case| case.holds && case.p.is_some() && !case.change.certain);
    let mut found: Vec<String> = Vec::new();
    for said in cases.map(|one| format!("{} ({})", case(one), signed(one.change.percent))) {
        if !found.contains(&said) {
            found.push(said);
        }
    }
    let more = found.len().saturating_sub(ASKED);
    found.truncate(ASKED);
    found.extend((more > 0).then(|| format!("{more} more")));
    (!found.is_empty()).then(|| format!("Certain as the conditions ask: {}.", joined(&found)))
}

/// A figure of a path, with its name.
type Mean = (&'static str, fn(&PathComparison) -> Option<Change>);

const MEANS: [Mean; 3] = [
    ("throughput", |path| Some(path.throughput_mbps)),
    ("p99 latency", |path| path.latency_ns_p99),
    ("processor time a request", |path| path.charged_us),
];

/// What is certain and smaller than the practical threshold.
fn small(comparison: &Comparison) -> Option<String> {
    let of_mean = |(what, of): &Mean| {
        let changes = comparison.paths.iter().filter_map(|one| Some((one.path, of(one)?)));
        let small = changes.filter(|(_, change)| change.is_certain_but_small());
        let named: Vec<String> =
            small.map(|(own, change)| format!("{}s ({})", path(own), signed(change.percent))).collect();
        (!named.is_empty()).then(|| format!("{what} of {}", joined(&named)))
    };
    let mut parts: Vec<String> = MEANS.iter().filter_map(of_mean).collect();
    let cells = comparison.cells.iter().filter(|cell| cell.differs_by_little()).count();
    match cells {
        0 => {}
        1 => parts.push("1 common cell".to_string()),
        _ => parts.push(format!("{cells} common cells")),
    }
    (!parts.is_empty())
        .then(|| format!("Certain, but below the threshold of {}: {}.", threshold(comparison), parts.join("; ")))
}

/// The practical threshold: that of a mean, and that of a cell where it is another one.
fn threshold(comparison: &Comparison) -> String {
    let of_cell = comparison.practical.throughput.threshold_percent;
    let is_higher = of_cell > PRACTICAL_PERCENT && comparison.cells.iter().any(CellComparison::differs_by_little);
    let in_a_cell = if is_higher { format!(" ({}% in a cell)", two_digits(of_cell)) } else { String::new() };
    format!("{PRACTICAL_PERCENT}%{in_a_cell}")
}

/// The figure that a condition was checked against: `peak of sequential direct reads`.
pub fn case(case: &ConditionCase) -> String {
    let quantity = match case.quantity {
        Quantity::Peak => "peak",
        Quantity::HalfPower => "half_power",
        Quantity::Cost => "cost",
        Quantity::P99 => "p99",
        Quantity::Throughput => "throughput",
        Quantity::Iops => "iops",
        Quantity::P50 => "p50",
    };
    let of_size = case.bs_bytes.map_or(String::new(), |bytes| format!(" of {}", size(bytes as f64)));
    let deep = case.iodepth.map_or(String::new(), |depth| format!(" {depth} deep"));
    format!("{quantity} of {}s{of_size}{deep}", path(case.path))
}

/// The result for the figure that a condition bounds: `-9.1%`; for an absolute bound, the figure in both studies as
/// well.
pub fn case_figures(limit: ConditionLimit, case: &ConditionCase) -> String {
    let percent = signed(case.change.percent);
    if matches!(limit, ConditionLimit::Percent(_)) {
        return percent;
    }
    let say: fn(f64) -> String = match case.quantity {
        Quantity::Peak | Quantity::Throughput => mbps,
        Quantity::HalfPower => size,
        Quantity::P50 | Quantity::P99 => time_ns,
        Quantity::Cost => time_us,
        Quantity::Iops => |iops| format!("{} IOPS", number(iops)),
    };
    format!("{} to {} ({percent})", say(case.change.a), say(case.change.b))
}

/// A condition with its answer, and the figures for which it holds.
pub(crate) fn answered(finding: &ConditionFinding) -> String {
    let answer = if finding.holds { "holds" } else { "does not hold" };
    let holding = finding.cases.iter().filter(|case| case.holds);
    let cases: Vec<String> = holding.map(|one| format!("{} {}", case(one), case_figures(finding.limit, one))).collect();
    let cases = if cases.is_empty() { String::new() } else { format!(": {}", cases.join(", ")) };
    format!("`{}` {answer}{cases}", finding.condition)
}

/// Says of a condition that figures are on its side and not beyond chance.
pub(crate) fn by_chance(finding: &ConditionFinding) -> Option<String> {
    let mut open = finding.cases.iter().filter(|case| case.fulfilled && !case.holds && case.p.is_some());
    let first = open.next()?;
    let more = match open.count() {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    let cause = if first.change.others_used_the_disk { "others who used the disk, or chance," } else { "chance" };
    let figures = case_figures(finding.limit, first);
    Some(format!("not certain: {} {figures}{more}; {cause} may do that", case(first)))
}

/// Says how often conditions hold by chance, if they tested anything.
pub(crate) fn false_alarms(comparison: &Comparison) -> Option<String> {
    let tests = comparison.fail_if.first().map(|finding| finding.tests).filter(|tests| *tests > 0)?;
    let figures =
        if tests == 1 { "1 figure was tested".to_string() } else { format!("{tests} figures were tested together") };
    Some(format!("{figures}: equal systems fulfil any condition by chance in at most 5% of comparisons"))
}

/// The result of several comparisons with one baseline: the studies that differ from it.
pub(crate) fn verdict_of_all(comparisons: &[Comparison]) -> String {
    let baseline = &comparisons[0].a.letter;
    let differ: Vec<String> =
        comparisons.iter().filter(|one| one.outcome == Outcome::Different).map(|one| one.b.letter.clone()).collect();
    match differ.len() {
        0 => format!("No study is seen to differ from {baseline}, the baseline."),
        1 => format!("{} differs from {baseline}, the baseline.", differ[0]),
        _ => format!("{} differ from {baseline}, the baseline.", joined(&differ)),
    }
}

/// The result of one comparison among several; begins with its study's letter.
pub(crate) fn verdict_among_several(comparison: &Comparison) -> String {
    let said = verdict(comparison).join(" ");
    let names_the_study = said.starts_with(&format!("{} is ", comparison.b.letter));
    if names_the_study { said } else { format!("{}: {said}", comparison.b.letter) }
}

/// Says that there is no difference, as far as the noise allows: none above 5% if cells are known well enough, else how
/// large an undetected one could be.
fn no_difference(comparison: &Comparison) -> String {
    let floor = &comparison.practical.throughput;
    let of_all = match comparison.cells.len() {
        1 => "the one common cell does not differ".to_string(),
        count => format!("none of {count} common cells differs"),
    };
    let threshold = two_digits(floor.threshold_percent);
    let none = if asked(comparison).is_some() { "No other difference" } else { "No difference" };
    if floor.noise_percent.is_some_and(|noise| noise < floor.threshold_percent) {
        let none = if small(comparison).is_some() { format!("{none} that counts") } else { none.to_string() };
        return format!(
            "{none}: {of_all} by more than {threshold}% and beyond chance, in throughput, tail latency or cost."
        );
    }
    format!(
        "{none} beyond the noise: {of_all} beyond chance, but a single cell has to differ by {threshold}% in \
         throughput to stand out of it."
    )
}

fn range_of_means(comparison: &Comparison) -> String {
    let percents = || comparison.paths.iter().map(|path| path.throughput_mbps.percent);
    let low = percents().fold(f64::INFINITY, f64::min);
    let high = percents().fold(f64::NEG_INFINITY, f64::max);
    match comparison.paths.as_slice() {
        [one] => {
            format!("On average over its cells, throughput of {}s changes by {}.", path(one.path), signed(low))
        }
        _ => format!("On average over a path's cells, throughput changes by {} to {}.", signed(low), signed(high)),
    }
}

/// Whether throughput changes on a path.
fn is_changed_on_average(comparison: &Comparison) -> bool {
    comparison.paths.iter().any(|path| path.throughput_mbps.different)
}

/// Such as `B is slower at random direct reads (-9.1%) and faster at ...`.
fn throughput(comparison: &Comparison) -> String {
    let b = &comparison.b.letter;
    let changed: Vec<&PathComparison> = comparison.paths.iter().filter(|path| path.throughput_mbps.different).collect();
    let (slower, faster): (Vec<&PathComparison>, Vec<_>) =
        changed.iter().partition(|path| path.throughput_mbps.percent < 0.0);
    let all = comparison.paths.len();
    if !is_changed_on_average(comparison) {
        return unchanged_on_average(comparison);
    }
    for (paths, word) in [(&slower, "slower"), (&faster, "faster")] {
        if paths.len() == all && all > 1 {
            let percents = || paths.iter().map(|path| path.throughput_mbps.percent);
            let low = percents().min_by(|one, other| one.abs().total_cmp(&other.abs())).unwrap_or(0.0);
            let high = percents().max_by(|one, other| one.abs().total_cmp(&other.abs())).unwrap_or(0.0);
            return format!("{b} is {word} on every path: throughput {} to {} on average.", signed(low), signed(high));
        }
    }
    let list = |paths: &[&PathComparison], word: &str| {
        let named = |of: &&PathComparison| format!("{}s ({})", path(of.path), signed(of.throughput_mbps.percent));
        (!paths.is_empty()).then(|| format!("{word} at {}", joined(&paths.iter().map(named).collect::<Vec<_>>())))
    };
    let parts: Vec<String> = [list(&slower, "slower"), list(&faster, "faster")].into_iter().flatten().collect();
    let small = comparison.paths.iter().filter(|path| path.throughput_mbps.is_certain_but_small()).count();
    let open = match all - changed.len() - small {
        0 => String::new(),
        1 => "; on one other path no difference is certain".to_string(),
        rest => format!("; on {rest} other paths no difference is certain"),
    };
    format!("{b} is {} on average{open}.", parts.join(", "))
}

/// What is said of throughput where no mean over a path differs: single cells, or peaks.
fn unchanged_on_average(comparison: &Comparison) -> String {
    let b = &comparison.b.letter;
    let is_small = comparison.paths.iter().any(|path| path.throughput_mbps.is_certain_but_small());
    let on_average = match is_small {
        true => format!("on average throughput changes by less than {PRACTICAL_PERCENT}%"),
        false => "on average no difference in throughput is certain".to_string(),
    };
    let cells = |is_slower: bool| {
        let different = comparison.cells.iter().filter(|cell| cell.mbps.different);
        different.filter(|cell| (cell.mbps.percent < 0.0) == is_slower).count()
    };
    let peaks = comparison.paths.iter().filter(|path| path.peak_mbps.different);
    let peaks: Vec<String> = peaks.map(|of| format!("{}s ({})", path(of.path), signed(of.peak_mbps.percent))).collect();
    let of_all = format!("of {} common cells", comparison.cells.len());
    match (cells(true), cells(false)) {
        (0, 0) if !peaks.is_empty() => format!("The peak of {} changes; {on_average}.", joined(&peaks)),
        (0, 0) if is_small => format!("Throughput changes by less than {PRACTICAL_PERCENT}%."),
        (0, 0) => "No difference in throughput is certain.".to_string(),
        (slower, 0) => format!("{b} is slower in {slower} {of_all}; {on_average}."),
        (0, faster) => format!("{b} is faster in {faster} {of_all}; {on_average}."),
        (slower, faster) => {
            format!("{b} is slower in {slower} and faster in {faster} {of_all}; {on_average}.")
        }
    }
}

/// The number of cells that differ, and the typical one.
fn cells(comparison: &Comparison) -> Option<String> {
    let typical = comparison.typical()?;
    let count = comparison.cells.iter().filter(|cell| cell.different()).count();
    let common = comparison.cells.len();
    let (verb, which) = if count == 1 { ("differs", "") } else { ("differ", "typically ") };
    Some(format!(
        "{count} of {common} common cells {verb}, {which}{}: {}.",
        cell(&typical.settings),
        leading_words(typical)
    ))
}

/// The change of a cell that comes first, with both figures: `throughput 120 MB/s to 100 MB/s (-17%)`.
fn leading_words(cell: &CellComparison) -> String {
    let leading = cell.leading();
    let is = |change: Option<Change>| change.is_some() && change == leading;
    let (name, say): (&str, fn(f64) -> String) = match cell {
        cell if is(Some(cell.mbps)) => ("throughput", mbps),
        cell if is(cell.latency_ns_p99) => ("p99 latency", time_ns),
        _ => ("cost a request", time_us),
    };
    leading.map_or(String::new(), |change| {
        format!("{name} {} to {} ({})", say(change.a), say(change.b), signed(change.percent))
    })
}

/// Changes of cost and tail latency, for the paths on which they differ.
fn others(comparison: &Comparison) -> Option<String> {
    let part = |what: &str, of: fn(&PathComparison) -> Option<Change>| {
        let different = |one: &PathComparison| of(one).filter(|change| change.different).map(|c| (path(one.path), c));
        let all: Vec<(String, Change)> = comparison.paths.iter().filter_map(different).collect();
        let named: Vec<String> = all.iter().map(|(path, c)| format!("{} for {path}s", signed(c.percent))).collect();
        let least = all.iter().map(|(_, c)| c.percent).reduce(|a, b| if a.abs() < b.abs() { a } else { b })?;
        let most = all.iter().map(|(_, c)| c.percent).reduce(|a, b| if a.abs() > b.abs() { a } else { b })?;
        Some(match named.len() {
            count if count == comparison.paths.len() && count > 1 => {
                format!("{what} changes by {} to {} on every path", signed(least), signed(most))
            }
            _ => format!("{what} changes by {}", joined(&named)),
        })
    };
    let parts: Vec<String> =
        [part("processor time a request", |path| path.charged_us), part("p99 latency", |path| path.latency_ns_p99)]
            .into_iter()
            .flatten()
            .collect();
    if parts.is_empty() {
        return None;
    }
    let mut sentence = parts.join("; ");
    sentence[..1].make_ascii_uppercase();
    Some(format!("{sentence}."))
}

/// A change in percent with its sign: `-9.1%`, `+120%`, `0.0%`.
pub fn signed(percent: f64) -> String {
    format!("{}%", signed_number(percent))
}

/// The same without the percent sign.
pub(crate) fn signed_number(percent: f64) -> String {
    match percent.abs() {
        size if size < 0.05 => "0.0".to_string(),
        size if size < 99.95 => format!("{percent:+.1}"),
        _ => format!("{percent:+.0}"),
    }
}

/// `one`, `one and another`, `one, another and a third`.
pub(super) fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
