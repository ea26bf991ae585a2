//! `mirror`: what do two copies give, against a stripe of the same two members and against one of them?

use halfpower_spec::{Direction, Pattern, VolumeLayout};

use super::rows::{MirrorRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::{Ratio, Scale};
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::Interval;
use halfpower_text::format;

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let timed = evidence.sound().filter(|cell| !cell.workload.options.verify);
    rows.mirror = timed.map(row).collect();
    rows.mirror.sort_by_key(|row| (row.pattern, row.rw, row.volume_layout, row.iodepth));
    let rows = &rows.mirror;
    let ways = Ways::of(evidence);
    let parts = [ways.sequential(), ways.random(), ways.writes(), copies(evidence)];
    let answer = crate::section::answer(parts, "No copy could be read or written.");
    let pictures = [
        picture(rows, Pattern::Sequential, "MB/s", |row| interval(row, 1.0)),
        picture(rows, Pattern::Random, "Requests a second", |row| interval(row, row.iops / row.mbps)),
        written(rows),
    ];
    Told { answer, pictures: pictures.into_iter().flatten().collect() }
}

fn row(cell: &ExperimentCell) -> MirrorRow {
    let finding = &cell.finding;
    let Interval { value: mbps, low, high } = finding.mbps;
    MirrorRow {
        volume_layout: cell.workload.options.volume_layout.unwrap_or(VolumeLayout::Each),
        rw: finding.rw,
        pattern: finding.pattern,
        bs_bytes: finding.bs_bytes,
        iodepth: finding.iodepth,
        mbps,
        iops: finding.iops,
        low,
        high,
    }
}

fn interval(row: &MirrorRow, scale: f64) -> Interval {
    Interval { value: row.mbps * scale, low: row.low * scale, high: row.high * scale }
}

/// The rows of one kind and way, rising in depth.
fn of(rows: &[MirrorRow], pattern: Pattern, rw: Direction, volume_layout: VolumeLayout) -> Vec<&MirrorRow> {
    rows.iter().filter(|row| (row.pattern, row.rw, row.volume_layout) == (pattern, rw, volume_layout)).collect()
}

/// The ways of using two members, to be held against one of them.
struct Ways<'a> {
    cells: Vec<&'a ExperimentCell<'a>>,
    scale: Scale,
}

impl<'a> Ways<'a> {
    fn of(evidence: &'a ExperimentData) -> Self {
        let timed = || evidence.sound().filter(|cell| !cell.workload.options.verify);
        let mut cells: Vec<&ExperimentCell> = timed().collect();
        cells.sort_by_key(|cell| cell.workload.iodepth);
        Self { cells, scale: Scale::of(timed()) }
    }

    /// How many times one member a way is, at each depth that both were measured at.
    fn times_one(
        &self,
        pattern: Pattern,
        rw: Direction,
        volume_layout: VolumeLayout,
    ) -> Vec<(&'a ExperimentCell<'a>, Ratio)> {
        let of = |volume_layout| {
            let is = move |cell: &&&ExperimentCell| {
                let asked = (
                    cell.finding.pattern,
                    cell.finding.rw,
                    cell.workload.options.volume_layout.unwrap_or(VolumeLayout::Each),
                );
                asked == (pattern, rw, volume_layout)
            };
            self.cells.iter().filter(is)
        };
        let against = |cell: &&'a ExperimentCell<'a>| {
            let one = of(VolumeLayout::Each).find(|one| one.workload.iodepth == cell.workload.iodepth)?;
            Some((*cell, self.scale.times(&[cell], &[one])?))
        };
        of(volume_layout).filter_map(against).collect()
    }

    fn sequential(&self) -> Option<String> {
        let mirror = self.times_one(Pattern::Sequential, Direction::Read, VolumeLayout::Mirror);
        let (deepest, gain) = mirror.last()?;
        let stripe = self.times_one(Pattern::Sequential, Direction::Read, VolumeLayout::Stripe);
        let depth = deepest.finding.iodepth;
        let stripe = stripe.iter().find(|(cell, _)| cell.finding.iodepth == depth);
        let stripe = stripe.map_or(String::new(), |(_, gain)| format!("; a stripe at {}", gain.times()));
        let outstanding =
            |cell: &ExperimentCell| format::size((cell.finding.bs_bytes * u64::from(cell.finding.iodepth)) as f64);
        let gains = |one: &&(&ExperimentCell, Ratio)| one.1.is_more();
        let from = match (mirror.iter().rev().take_while(gains).last(), mirror.iter().find(gains)) {
            (Some((cell, _)), _) => {
                format!("gain from the second copy with {} outstanding and more", outstanding(cell))
            }
            (None, Some((cell, _))) => {
                format!("gain from the second copy with {} outstanding, and not with most", outstanding(cell))
            }
            (None, None) => "gain nothing that runs could tell from the second copy".to_string(),
        };
        Some(format!("Sequential reads {from}; {depth} deep they run at {} one member{stripe}.", gain.times()))
    }

    fn random(&self) -> Option<String> {
        let at_two = |volume_layout| {
            let all = self.times_one(Pattern::Random, Direction::Read, volume_layout);
            all.into_iter().find(|(cell, _)| cell.finding.iodepth == 2)
        };
        let (cell, gain) = at_two(VolumeLayout::Mirror)?;
        let stripe =
            at_two(VolumeLayout::Stripe).map_or(String::new(), |(_, gain)| format!("; a stripe at {}", gain.times()));
        let iops = format::iops(cell.finding.iops);
        Some(format!("Random reads two deep run at {} one member, {iops}{stripe}.", gain.times()))
    }

    fn writes(&self) -> Option<String> {
        let all = Pattern::ALL.iter().filter_map(|pattern| {
            let (_, times) = self.times_one(*pattern, Direction::Write, VolumeLayout::Mirror).pop()?;
            Some(format!("{}, {pattern}", times.times()))
        });
        let all: Vec<String> = all.collect();
        (!all.is_empty()).then(|| format!("Writes to both copies run at so many times one member: {}.", all.join("; ")))
    }
}

/// What reading both copies back has shown.
fn copies(evidence: &ExperimentData) -> Option<String> {
    let verified: Vec<&ExperimentCell> = evidence.cells.iter().filter(|cell| cell.workload.options.verify).collect();
    let wrong: u64 = verified.iter().map(|cell| cell.finding.errors).sum();
    let moved = verified.iter().any(|cell| cell.finding.mbps.value > 0.0);
    match (wrong, moved) {
        (0, false) => None,
        (0, true) => Some("Both copies were read back after writing, and each block of them is right.".to_string()),
        (wrong, _) => Some(format!("{wrong} BLOCKS WERE WRONG when both copies were read back: do not trust it.")),
    }
}

/// What a way of using the members is called.
fn name(volume_layout: VolumeLayout) -> &'static str {
    match volume_layout {
        VolumeLayout::Each => "one member",
        VolumeLayout::Stripe => "stripe of two",
        VolumeLayout::Mirror => "mirror of two",
    }
}

fn picture(rows: &[MirrorRow], pattern: Pattern, unit: &str, of_row: fn(&MirrorRow) -> Interval) -> Option<Picture> {
    let line = |volume_layout: &VolumeLayout| {
        let point = |row: &MirrorRow| Point::at(f64::from(row.iodepth), row.iodepth.to_string(), of_row(row));
        let points: Vec<Point> = of(rows, pattern, Direction::Read, *volume_layout).into_iter().map(point).collect();
        (!points.is_empty()).then(|| Line { name: name(*volume_layout).to_string(), points })
    };
    let lines: Vec<Line> = VolumeLayout::ALL.iter().filter_map(line).collect();
    let bs = of(rows, pattern, Direction::Read, VolumeLayout::Mirror).first()?.bs_bytes;
    Some(Picture {
        title: format!("{pattern} reads of {} by requests outstanding", format::size(bs as f64)),
        kind: PictureKind::Lines,
        x: Axis::log("Requests outstanding"),
        y: Axis::even(unit),
        lines,
    })
}

fn written(rows: &[MirrorRow]) -> Option<Picture> {
    let line = |volume_layout: &VolumeLayout| {
        let point = |pattern: &Pattern| {
            let row = of(rows, *pattern, Direction::Write, *volume_layout).pop()?;
            Some(Point::named(format!("{pattern}, {}", format::size(row.bs_bytes as f64)), interval(row, 1.0)))
        };
        let points: Vec<Point> = Pattern::ALL.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Line { name: name(*volume_layout).to_string(), points })
    };
    let lines: Vec<Line> = VolumeLayout::ALL.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| Picture {
        title: "Writes".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Requests"),
        y: Axis::even("MB/s"),
        lines,
    })
}
