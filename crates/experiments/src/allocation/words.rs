//! Says what `allocation` asks, what it found and what the papers saw; draws throughput by file layout.

use halfpower_analyse::Interval;
use halfpower_spec::Cache;
use halfpower_spec::{cache_word, format};

use super::analysis::{AllocationAnswer, AllocationRow, DepthGain, Extension, GrowingFiles, ReservedBlocks, Rows};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::RatioFinding;
use crate::words::{sentence, share, times};

pub(crate) const QUESTION: &str =
    "What does it cost to write where a file has no blocks yet, and do many requests at once help then?";
pub(crate) const PAPERS: &str = "In 1998 a write that made its file longer allowed NT no second request to the volume, so that depth brought \
    nothing; in 2000 extension halved what unbuffered writes gave, and a file whose last block was written \
    first took every block twice, since Windows zeroed it before. Linux leaves holes and marks blocks as \
    unwritten instead of zeroing them, so nothing is written twice; but a file system that locks a file while \
    it grows still takes its writes one at a time.";

pub(crate) fn answer(found: &AllocationAnswer) -> Told {
    let otherwise = "No case could be set beside a file whose blocks were written before.";
    Told::of(short(found), details(found), otherwise)
}

/// What a growing file gets of the rate of written blocks.
fn short(found: &AllocationAnswer) -> Option<ShortAnswer> {
    let grown = found.direct.as_ref().or(found.buffered.as_ref())?;
    let ratio = &grown.of_written;
    let so = match ratio {
        _ if ratio.is_undecided() => ": too uncertain to tell what growing costs",
        _ if ratio.is_alike() => ": growing costs next to nothing",
        _ if ratio.is_less() && found.fallocated.is_some_and(|reserved| reserved.helps) => {
            ": reserve blocks with fallocate"
        }
        _ if ratio.is_less() => ": write it once before it is used",
        _ => "",
    };
    let rate = format::mbps(grown.written_mbps);
    let what = format!("{}, a growing file gets that beside one whose blocks were written before ({rate})", way(grown));
    Some(ShortAnswer::new(format!("{} of the rate", share(ratio)), sentence(&(what + so))))
}

fn details(found: &AllocationAnswer) -> Vec<String> {
    let clauses = [
        found.direct.as_ref().map(growing),
        found.last_first_of_written.as_ref().map(last_first),
        found.deepening.as_ref().map(deepening),
        found.fallocated.as_ref().map(reserved),
        found.buffered.as_ref().map(growing),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    if clauses.is_empty() { Vec::new() } else { vec![sentence(&clauses.join("; "))] }
}

/// How files grow, such as `direct and 8 deep`.
fn way(found: &GrowingFiles) -> String {
    let kind = cache_word(found.cache);
    found.iodepth.map_or(kind.to_string(), |depth| format!("{kind} and {depth} deep"))
}

fn growing(found: &GrowingFiles) -> String {
    let ratio = &found.of_written;
    let share = share(ratio);
    let rate = format::mbps(found.written_mbps);
    let where_at = way(found);
    match ratio {
        _ if ratio.is_alike() => {
            format!("{where_at}, growing costs next to nothing: {share} of the {rate} of written blocks")
        }
        _ if ratio.is_less() => {
            format!("{where_at}, a growing file gets {share} of the {rate} that written blocks get")
        }
        _ if ratio.is_more() => format!("{where_at}, a growing file gets more than written blocks, {share} of {rate}"),
        _ => {
            format!("{where_at}, these runs cannot tell what growing costs: {share} of the {rate} of written blocks")
        }
    }
}

fn last_first(of_written: &RatioFinding) -> String {
    format!("one whose last block was written first gets {} of it", share(of_written))
}

fn deepening(found: &DepthGain) -> String {
    let depth = found.iodepth;
    let written = times(&found.written);
    let growing = times(&found.growing);
    let so = match found.extension {
        Extension::NotShown => "which tells nothing of whether they are carried out side by side",
        Extension::SideBySide => "so both are carried out side by side",
        Extension::Unclear => "too uncertain to tell more",
        Extension::Partly => "so extension lets only some of them go side by side",
        Extension::OneAtATime => "so extension takes one write at a time",
    };
    format!("{depth} requests at once bring {written} to written blocks and {growing} to growing files, {so}")
}

fn reserved(found: &ReservedBlocks) -> String {
    let better = if found.helps { ", so that fallocate helps" } else { "" };
    format!("blocks that fallocate reserved get {} of written ones{better}", share(&found.of_written))
}

/// Bars by layout, one colour per cache setting and depth.
pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let mut groups: Vec<(Cache, u32)> = rows.allocation.iter().map(|row| (row.cache, row.iodepth)).collect();
    groups.dedup();
    let line = |(cache, iodepth): &(Cache, u32)| {
        let of_group = |row: &&AllocationRow| (row.cache, row.iodepth) == (*cache, *iodepth);
        let point = |row: &AllocationRow| {
            Point::named(row.case.word(), Interval { value: row.mbps, low: row.low, high: row.high })
        };
        let points = rows.allocation.iter().filter(of_group).map(point).collect();
        Line { name: format!("{}, {iodepth} deep", cache_word(*cache)), points }
    };
    vec![Picture {
        title: "Sequential writes of 64 KiB by how the file is there".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("How the file is there when they begin"),
        y: Axis::even("MB/s"),
        lines: groups.iter().map(line).collect(),
    }]
}
