//! `scaling`: how many members does the path carry, and what does each added one bring?

use halfpower_spec::{Direction, Pattern, VolumeLayout};

use super::rows::{LimitedBy, Rows, ScalingRow};
use crate::data::ExperimentData;
use crate::ratio::{Ratio, Scale};
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::{Interval, SharedCeiling};
use halfpower_text::format;

/// Share of so many times a single member from which on each member is thought to bring all that it has.
const SCALES: f64 = 0.95;

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    for (pattern, rw) in kinds() {
        rows.scaling.extend(rows_of(evidence, pattern, rw));
    }
    if rows.scaling.is_empty() {
        return Told { answer: "No member could be measured alone.".to_string(), pictures: Vec::new() };
    }
    let costs: Vec<Cost> = Direction::ALL.iter().flat_map(|rw| costs(evidence, *rw)).collect();
    let pictures = kinds().filter_map(|(pattern, rw)| picture(&rows.scaling, pattern, rw)).chain(price(&costs));
    Told { answer: answer(&rows.scaling, &costs), pictures: pictures.collect() }
}

fn kinds() -> impl Iterator<Item = (Pattern, Direction)> {
    Pattern::ALL.iter().flat_map(|pattern| Direction::ALL.iter().map(|rw| (*pattern, *rw)))
}

fn is_of(cell: &ExperimentCell, pattern: Pattern, rw: Direction) -> bool {
    (cell.finding.pattern, cell.finding.rw) == (pattern, rw)
}

fn rows_of(evidence: &ExperimentData, pattern: Pattern, rw: Direction) -> Vec<ScalingRow> {
    let cells: Vec<&ExperimentCell> = evidence.sound().filter(|cell| is_of(cell, pattern, rw)).collect();
    let Some(single) = cells.iter().find(|cell| cell.workload.options.members == 1) else { return Vec::new() };
    let scale = Scale::of(cells.iter().copied());
    let row = |cell: &&ExperimentCell| {
        let Interval { value, low, high } = cell.finding.mbps;
        let n = cell.workload.options.members.max(1);
        let of_ideal = value / f64::from(n) / single.finding.mbps.value;
        // Below it by more than runs differ, and by enough to matter.
        let is_surely_less = |times: Ratio| times.is_known() && times.interval().high < f64::from(n);
        let falls_short = of_ideal < SCALES && scale.times(&[cell], &[single]).is_some_and(is_surely_less);
        let limited_by = if falls_short { LimitedBy::Shared } else { LimitedBy::Device };
        let volume_layout = cell.workload.options.volume_layout.unwrap_or(VolumeLayout::Each);
        ScalingRow { n, rw, pattern, volume_layout, mbps: value, of_ideal, limited_by, low, high }
    };
    let mut rows: Vec<ScalingRow> = cells.iter().map(row).collect();
    rows.sort_by_key(|row| (row.volume_layout, row.n));
    // A stripe alone that falls short does not keep its members busy: what they share carries them one by one.
    let shared: Vec<u32> =
        rows.iter().filter(|row| is_shared(row) && row.volume_layout == VolumeLayout::Each).map(|row| row.n).collect();
    for row in rows.iter_mut().filter(|row| !shared.contains(&row.n)) {
        row.limited_by = LimitedBy::Device;
    }
    rows
}

fn is_shared(row: &ScalingRow) -> bool {
    row.limited_by == LimitedBy::Shared
}

/// Rows of members on their own, by pattern and direction.
fn alone(rows: &[ScalingRow], pattern: Pattern, rw: Direction) -> Vec<&ScalingRow> {
    rows.iter().filter(|row| (row.pattern, row.rw, row.volume_layout) == (pattern, rw, VolumeLayout::Each)).collect()
}

/// What members side by side have shown that they share: the most that came through it in one direction.
pub(crate) fn shared_ceiling(rows: &[ScalingRow], rw: Direction) -> Option<SharedCeiling> {
    let shared = rows.iter().filter(|row| is_shared(row) && row.rw == rw);
    let most = shared.max_by(|one, other| one.mbps.total_cmp(&other.mbps))?;
    let ScalingRow { n, pattern, mbps, of_ideal, .. } = *most;
    Some(SharedCeiling { rw, pattern, members: n, mbps, alone_mbps: mbps / of_ideal / f64::from(n) })
}

fn answer(rows: &[ScalingRow], costs: &[Cost]) -> String {
    let sentences = kinds().filter_map(|(pattern, rw)| sentence(&alone(rows, pattern, rw)));
    let stripe = stripe(rows);
    sentences.chain(stripe).chain(dearer(costs)).collect::<Vec<_>>().join(" ")
}

fn sentence(alone: &[&ScalingRow]) -> Option<String> {
    let (first, last) = (alone.first()?, alone.last().filter(|row| row.n > 1)?);
    let what = format!("{} {}s", first.pattern, first.rw);
    let what = what[..1].to_uppercase() + &what[1..];
    let Some(stopped) = alone.iter().find(|row| is_shared(row)) else {
        let (from, to) = (format::mbps(first.mbps), format::mbps(last.mbps));
        // Not surely stopped is not the same as surely scaling.
        return Some(match last.of_ideal >= SCALES {
            true => format!("{what}: all {} members scale, from {from} to {to}.", last.n),
            false => format!("{what}: these runs cannot tell whether {} members scale, from {from} to {to}.", last.n),
        });
    };
    let before = alone.iter().rev().find(|row| row.n < stopped.n)?;
    let scale = if before.n == 1 { "one member".to_string() } else { format!("{} members still scale", before.n) };
    let all = match last.n > stopped.n {
        true => format!(", and all {} reach {}", last.n, format::mbps(last.mbps)),
        false => String::new(),
    };
    let brings = (stopped.mbps - before.mbps) / f64::from(stopped.n - before.n) / first.mbps;
    Some(format!(
        "{what}: {scale} ({}), and a shared path stops number {} at {}: it brings {} of what one gives{all}.",
        format::mbps(before.mbps),
        stopped.n,
        format::mbps(stopped.mbps),
        format::percent(brings.max(0.0))
    ))
}

/// How the widest stripe compares with the same members on their own.
fn stripe(rows: &[ScalingRow]) -> Option<String> {
    let shares: Vec<f64> = kinds()
        .filter_map(|(pattern, rw)| {
            let each = alone(rows, pattern, rw).last().map(|row| (row.n, row.mbps))?;
            let same = |row: &&ScalingRow| {
                (row.pattern, row.rw, row.volume_layout, row.n) == (pattern, rw, VolumeLayout::Stripe, each.0)
            };
            Some(rows.iter().find(same)?.mbps / each.1)
        })
        .collect();
    let (least, most) = (shares.iter().copied().reduce(f64::min)?, shares.iter().copied().reduce(f64::max)?);
    Some(if most - least < 0.02 {
        format!("A stripe of them gives {} of that.", format::percent(least))
    } else {
        format!("A stripe of them gives {} to {} of that.", format::percent(least), format::percent(most))
    })
}

/// What a request costs the processor with so many members on their own.
struct Cost {
    rw: Direction,
    n: u32,
    /// Whatever its size, and for each KiB of it, in microseconds.
    fixed_us: f64,
    per_kib_us: f64,
}

/// The line through the two sizes that were measured.
fn costs(evidence: &ExperimentData, rw: Direction) -> Vec<Cost> {
    let of = |pattern| {
        let on_their_own = move |cell: &&ExperimentCell| {
            is_of(cell, pattern, rw)
                && cell.workload.options.volume_layout.is_none_or(|volume_layout| volume_layout == VolumeLayout::Each)
        };
        evidence.sound().filter(on_their_own)
    };
    let line = |large: &ExperimentCell| {
        let n = large.workload.options.members;
        let small = of(Pattern::Random).find(|cell| cell.workload.options.members == n)?;
        let kib = |cell: &ExperimentCell| cell.finding.bs_bytes as f64 / 1024.0;
        let per_kib_us = (large.finding.charged_us - small.finding.charged_us) / (kib(large) - kib(small));
        let fixed_us = small.finding.charged_us - per_kib_us * kib(small);
        (kib(large) > kib(small) && small.finding.charged_us > 0.0 && per_kib_us >= 0.0).then_some(Cost {
            rw,
            n,
            fixed_us,
            per_kib_us,
        })
    };
    let mut costs: Vec<Cost> = of(Pattern::Sequential).filter_map(line).collect();
    costs.sort_by_key(|cost| cost.n);
    costs
}

fn dearer(costs: &[Cost]) -> Option<String> {
    let of = |rw| costs.iter().filter(move |cost: &&Cost| cost.rw == rw);
    let rw = Direction::ALL.iter().copied().find(|rw| of(*rw).count() > 1)?;
    let (one, all) = (of(rw).next()?, of(rw).next_back()?);
    Some(format!(
        "A {rw} costs the processor {} and {} a KiB with one member, {} and {} with {}.",
        format::time_us(one.fixed_us),
        format::time_us(one.per_kib_us),
        format::time_us(all.fixed_us),
        format::time_us(all.per_kib_us),
        all.n
    ))
}

fn picture(rows: &[ScalingRow], pattern: Pattern, rw: Direction) -> Option<Picture> {
    let alone = alone(rows, pattern, rw);
    let single = alone.first()?.mbps;
    let at = |row: &ScalingRow| {
        let Interval { value, low, high } = Interval { value: row.mbps, low: row.low, high: row.high };
        Point { label: row.n.to_string(), x: f64::from(row.n), y: value, low, high }
    };
    let of_stripe =
        |row: &&ScalingRow| (row.pattern, row.rw) == (pattern, rw) && (row.volume_layout == VolumeLayout::Stripe);
    let ideal =
        |row: &&ScalingRow| Point::at(f64::from(row.n), row.n.to_string(), Interval::exact(single * f64::from(row.n)));
    Some(Picture {
        title: format!("{pattern} {rw}s by members at work"),
        kind: PictureKind::Lines,
        x: Axis::even("Members"),
        y: Axis::even("MB/s"),
        lines: vec![
            Line { name: "each on its own".to_string(), points: alone.iter().map(|row| at(row)).collect() },
            Line { name: "as a stripe".to_string(), points: rows.iter().filter(of_stripe).map(at).collect() },
            Line { name: "so many times one".to_string(), points: alone.iter().map(ideal).collect() },
        ],
    })
}

fn price(costs: &[Cost]) -> Option<Picture> {
    let line = |rw: Direction, what: &str, of: fn(&Cost) -> f64| {
        let point = |cost: &Cost| Point::at(f64::from(cost.n), cost.n.to_string(), Interval::exact(of(cost)));
        let points = costs.iter().filter(|cost| cost.rw == rw).map(point).collect();
        Line { name: format!("{rw}, {what}"), points }
    };
    let lines = Direction::ALL.iter().flat_map(|rw| {
        [line(*rw, "fixed", |cost| cost.fixed_us), line(*rw, "64 KiB more", |cost| cost.per_kib_us * 64.0)]
    });
    let lines: Vec<Line> = lines.filter(|line| !line.points.is_empty()).collect();
    (!lines.is_empty()).then(|| Picture {
        title: "Processor time of a request by members at work".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Members"),
        y: Axis::even("Charged, µs a request"),
        lines,
    })
}
