//! Says what `streams` asks, what it found and what the papers saw; draws concurrent streams, and one stream among
//! random readers.

use halfpower_analyse::Interval;
use halfpower_spec::Cache;
use halfpower_spec::format;

use super::analysis::{Rows, StreamAmongReaders, StreamRow, StreamsAnswer, StreamsTogether};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::share;

pub(crate) const QUESTION: &str =
    "What do several sequential streams take from each other, and what do random readers take from one of them?";
pub(crate) const PAPERS: &str = "Neither study measured it: that of 1998 left streams that share a disk to further work. Both knew why it \
    matters: a disk with an arm loses milliseconds whenever it turns from one place to another. A drive \
    without an arm has nothing to lose there but what it, or the kernel, fetches ahead.";

pub(crate) fn answer(found: &StreamsAnswer) -> Told {
    Told::of(short(found), details(found), "No stream was measured beside another.")
}

/// What many streams give together beside one, and what a stream keeps among random readers.
fn short(found: &StreamsAnswer) -> Option<ShortAnswer> {
    let among = found.among_readers.as_ref();
    let Some(together) = found.side_by_side.first() else {
        let StreamAmongReaders { random_readers, iodepth, of_alone, .. } = among?;
        let text = format!("A stream {iodepth} deep keeps that among {random_readers} random readers.");
        return Some(ShortAnswer::new(format!("{} of its rate", share(of_alone)), text));
    };
    let [all, one] = [together.mbps, together.one_mbps].map(format::mbps);
    let kept = among.filter(|among| !among.of_alone.is_undecided()).map_or(String::new(), |among| {
        let kept = format::percent(among.of_alone.interval.value);
        format!("; one among {} random readers keeps {kept}", among.random_readers)
    });
    let streams = format!("{} {} streams", together.streams, cache_name(together.cache));
    let text = format!("{streams} together give that: {all} against {one} of one alone{kept}.");
    Some(ShortAnswer::new(format!("{} of one's rate", share(&together.of_one)), text))
}

fn details(found: &StreamsAnswer) -> Vec<String> {
    let together: Vec<String> = found.side_by_side.iter().map(side_by_side).collect();
    let together = (!together.is_empty()).then(|| together.join("; ") + ".");
    let sentences = [together, found.among_readers.as_ref().map(among_readers)];
    sentences.into_iter().flatten().collect()
}

fn side_by_side(found: &StreamsTogether) -> String {
    let figures = format!("{} against {}", format::mbps(found.mbps), format::mbps(found.one_mbps));
    let ratio = &found.of_one;
    let verdict = match ratio.is_more() || ratio.is_less() {
        true => format!("{} of one, {figures}", share(ratio)),
        false if ratio.is_known() => format!("no more or less than one, as far as can be told ({figures})"),
        false => format!("{figures} of one, by one run each"),
    };
    format!("{} {} streams together give {verdict}", found.streams, cache_name(found.cache))
}

fn among_readers(found: &StreamAmongReaders) -> String {
    let StreamAmongReaders { random_readers, iodepth, of_alone: ratio, readers_iops } = found;
    let kept = match ratio.is_more() || ratio.is_less() || !ratio.is_known() {
        true => format!("keeps {}", share(ratio)),
        false => "loses nothing that could be told from chance".to_string(),
    };
    let gain =
        readers_iops.map_or(String::new(), |iops| format!(", while they get {} reads a second", format::number(iops)));
    format!("Among {random_readers} random readers a stream {iodepth} deep {kept}{gain}.")
}

/// The name of a cache setting.
pub(super) fn cache_name(cache: Cache) -> &'static str {
    if cache.direct() { "direct" } else { "buffered" }
}

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
