//! Draws what `streams` measured: concurrent streams, and one stream among random readers.

use halfpower_analyse::Interval;
use halfpower_spec::Cache;

use super::rows::{Rows, StreamRow};
use super::words::cache_name;
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let pictures = [picture_of_streams(&rows.streams), picture_of_readers(&rows.streams)];
    pictures.into_iter().flatten().collect()
}

fn picture_of_streams(rows: &[StreamRow]) -> Option<Picture> {
    // The depth used for several streams; the stream among readers has another.
    let depth = |cache| rows.iter().find(|row| row.cache == cache && row.streams > 1).map(|row| row.iodepth);
    let line = |cache: Cache| {
        let shown = rows
            .iter()
            .filter(|row| row.cache == cache && row.random_readers == 0 && Some(row.iodepth) == depth(cache));
        let point = |row: &StreamRow| Point::at(row.streams.into(), row.streams.to_string(), interval(row));
        let points: Vec<Point> = shown.map(point).collect();
        (points.len() > 1).then(|| Line { name: cache_name(cache).to_string(), points })
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
        (points.len() > 1).then(|| Line { name: cache_name(cache).to_string(), points })
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
