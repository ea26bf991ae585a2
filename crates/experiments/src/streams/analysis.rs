//! `streams`: what do several sequential streams take from each other, and what random readers from one of them?

use halfpower_spec::Cache;

use super::rows::{Rows, StreamRow};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::Interval;
use halfpower_analyse::some_mean;
use halfpower_text::format;

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let cells: Vec<&ExperimentCell> = evidence.sound().collect();
    rows.streams.extend(cells.iter().map(|cell| row(cell, alone(&cells, cell))));
    rows.streams.sort_by_key(|row| (row.cache, row.iodepth, row.random_readers, row.streams));
    let scale = Scale::of(evidence.sound());
    let sentences: Vec<String> =
        [side_by_side(&cells, &scale), among_readers(&cells, &scale)].into_iter().flatten().collect();
    let answer =
        if sentences.is_empty() { "No stream was measured beside another.".into() } else { sentences.join(" ") };
    let pictures = [picture_of_streams(&rows.streams), picture_of_readers(&rows.streams)];
    Told { answer, pictures: pictures.into_iter().flatten().collect() }
}

/// The single stream alone that a cell is to be held against.
fn alone<'a>(cells: &[&'a ExperimentCell<'a>], cell: &ExperimentCell) -> Option<&'a ExperimentCell<'a>> {
    let same = |other: &&&ExperimentCell| {
        let (one, this) = (&other.workload, &cell.workload);
        (one.cache, one.iodepth, one.options.streams, one.options.random_readers) == (this.cache, this.iodepth, 1, 0)
    };
    cells.iter().find(same).copied()
}

fn row(cell: &ExperimentCell, alone: Option<&ExperimentCell>) -> StreamRow {
    let Interval { value, low, high } = cell.finding.mbps;
    StreamRow {
        cache: cell.workload.cache,
        iodepth: cell.workload.iodepth,
        streams: cell.workload.options.streams,
        random_readers: cell.workload.options.random_readers,
        mbps: value,
        low,
        high,
        of_one: alone.map(|alone| value / alone.finding.mbps.value),
        readers_iops: some_mean(cell.records.iter().filter_map(|record| record.beside_iops())),
    }
}

/// How the most streams stand to a single one, for each cache setting.
fn side_by_side(cells: &[&ExperimentCell], scale: &Scale) -> Option<String> {
    let clause = |cache: Cache| {
        let many = cells.iter().filter(|cell| cell.workload.cache == cache && cell.workload.options.streams > 1);
        let most = many.max_by_key(|cell| cell.workload.options.streams)?;
        let one = alone(cells, most)?;
        let (count, mbps) = (most.workload.options.streams, most.finding.mbps.value);
        let figures = format!("{} against {}", format::mbps(mbps), format::mbps(one.finding.mbps.value));
        let share = scale.times(&[most], &[one])?;
        let verdict = match share.is_more() || share.is_less() {
            true => format!("{} of one, {figures}", share.share()),
            false if share.is_known() => format!("no more or less than one, as far as can be told ({figures})"),
            false => format!("{figures} of one, by one run each"),
        };
        Some(format!("{count} {} streams together give {verdict}", words(cache)))
    };
    let clauses: Vec<String> = [Cache::Device, Cache::Both].into_iter().filter_map(clause).collect();
    (!clauses.is_empty()).then(|| clauses.join("; ") + ".")
}

/// What a stream keeps among the most random readers.
fn among_readers(cells: &[&ExperimentCell], scale: &Scale) -> Option<String> {
    let readers = |cell: &&&ExperimentCell| cell.workload.options.random_readers;
    let direct = cells.iter().filter(|cell| cell.workload.cache.direct() && cell.workload.options.random_readers > 0);
    let most = direct.max_by_key(readers)?;
    let share = scale.times(&[most], &[alone(cells, most)?])?;
    let kept = match share.is_more() || share.is_less() || !share.is_known() {
        true => format!("keeps {}", share.share()),
        false => "loses nothing that could be told from chance".to_string(),
    };
    let row = row(most, None);
    let gain = row
        .readers_iops
        .map_or(String::new(), |iops| format!(", while they get {} reads a second", format::number(iops)));
    Some(format!("Among {} random readers a stream {} deep {kept}{gain}.", row.random_readers, row.iodepth))
}

fn words(cache: Cache) -> &'static str {
    if cache.direct() { "direct" } else { "buffered" }
}

fn picture_of_streams(rows: &[StreamRow]) -> Option<Picture> {
    // The depth at which several streams were measured; a single one among readers has another.
    let depth = |cache| rows.iter().find(|row| row.cache == cache && row.streams > 1).map(|row| row.iodepth);
    let line = |cache: Cache| {
        let shown = rows
            .iter()
            .filter(|row| row.cache == cache && row.random_readers == 0 && Some(row.iodepth) == depth(cache));
        let point = |row: &StreamRow| Point::at(row.streams.into(), row.streams.to_string(), interval(row));
        let points: Vec<Point> = shown.map(point).collect();
        (points.len() > 1).then(|| Line { name: words(cache).to_string(), points })
    };
    picture(
        "Streams side by side",
        Axis::log("Sequential streams"),
        [Cache::Device, Cache::Both].into_iter().filter_map(line),
    )
}

fn picture_of_readers(rows: &[StreamRow]) -> Option<Picture> {
    let line = |cache: Cache| {
        let depth = rows.iter().find(|row| row.cache == cache && row.random_readers > 0)?.iodepth;
        let shown = rows.iter().filter(|row| row.cache == cache && row.streams == 1 && row.iodepth == depth);
        let point =
            |row: &StreamRow| Point::at(row.random_readers.into(), row.random_readers.to_string(), interval(row));
        let points: Vec<Point> = shown.map(point).collect();
        (points.len() > 1).then(|| Line { name: words(cache).to_string(), points })
    };
    picture(
        "One stream among random readers",
        Axis::even("Random readers"),
        [Cache::Device, Cache::Both].into_iter().filter_map(line),
    )
}

fn picture(title: &str, x: Axis, lines: impl Iterator<Item = Line>) -> Option<Picture> {
    let lines: Vec<Line> = lines.collect();
    let y = Axis::even("Streams together, MB/s");
    (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Lines, x, y, lines })
}

fn interval(row: &StreamRow) -> Interval {
    Interval { value: row.mbps, low: row.low, high: row.high }
}
