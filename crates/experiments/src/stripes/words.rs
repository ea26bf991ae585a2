//! Says what `stripes` asks, what it found and what the papers saw; draws rates by what a write covers.

use super::analysis::{Covers, Rows, StripeDepth, StripeRow, StripesAnswer};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::{sentence, share, size, times};

pub(crate) const QUESTION: &str = "What do writes of full stripes bring on an array with parity?";
pub(crate) const PAPERS: &str = "The papers had stripes and mirrors, and no parity. What is the same: in 2000 a buffered write of 2 KB made the \
    system read a page of 4 KB first, which more than doubled its cost; a write of less than a stripe makes the array \
    read what it lacks of the parity first.";

pub(crate) fn answer(found: &StripesAnswer) -> Told {
    Told::of(short(found), details(found), "No write of a full stripe could be set against one of a chunk.")
}

/// What full stripes move over chunks at the largest depth.
fn short(found: &StripesAnswer) -> Option<ShortAnswer> {
    let StripesAnswer { full_bytes, chunk_bytes, .. } = *found;
    let [full, chunk] = [full_bytes, chunk_bytes].map(size);
    let deepest = found.deepest()?;
    let ratio = deepest.over_chunk.as_ref()?;
    let depth = deepest.iodepth;
    let compared = format!("those of a chunk ({chunk}), {depth} deep");
    let writes = format!("writes of a full stripe ({full}), aligned");
    Some(match ratio {
        ratio if ratio.is_undecided() => ShortAnswer::new(
            times(ratio),
            sentence(&format!("{writes}, move that over {compared}: give the study a larger budget")),
        ),
        ratio if ratio.is_alike() || ratio.is_less() => {
            ShortAnswer::new("no more bytes", sentence(&format!("{writes}, move no more than {compared}")))
        }
        ratio if ratio.is_more() => ShortAnswer::new(
            format!("{} the bytes", times(ratio)),
            sentence(&format!("{writes}, move that over {compared}: write them")),
        ),
        ratio => ShortAnswer::new(
            format!("{} the bytes", times(ratio)),
            sentence(&format!("{writes}, show no sure difference to {compared}")),
        ),
    })
}

fn details(found: &StripesAnswer) -> Vec<String> {
    if found.depths.is_empty() {
        return Vec::new();
    }
    let full = size(found.full_bytes);
    let mut sentences: Vec<String> = found.depths.iter().filter_map(|depth| of_depth(found, depth)).collect();
    let begins = match found.first_byte {
        0 => String::new(),
        byte => format!("; the first begins {} into the target", size(byte)),
    };
    sentences.push(sentence(&format!("a full stripe of this {} holds {full} of data{begins}", found.array)));
    sentences
}

fn of_depth(found: &StripesAnswer, depth: &StripeDepth) -> Option<String> {
    let over = [(&depth.over_chunk, "writes of a chunk"), (&depth.over_part, "writes of a part of one")];
    let over: Vec<String> =
        over.iter().filter_map(|(ratio, of)| Some(format!("{} the bytes of {of}", times(ratio.as_ref()?)))).collect();
    let shifted = depth.shifted.as_ref().map(|ratio| match ratio {
        ratio if ratio.is_alike() => "they keep their rate when they begin a block later".to_string(),
        ratio => format!("they keep {} of that rate when they begin a block later", share(ratio)),
    });
    let moved = (!over.is_empty()).then(|| {
        format!("{} deep, aligned writes of {} move {}", depth.iodepth, size(found.full_bytes), over.join(" and "))
    });
    let clauses: Vec<String> = [moved, shifted].into_iter().flatten().collect();
    (!clauses.is_empty()).then(|| sentence(&clauses.join("; ")))
}

pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let rows = &rows.stripes;
    let mut depths: Vec<u32> = rows.iter().map(|row| row.iodepth).collect();
    depths.sort_unstable();
    depths.dedup();
    let point = |row: &StripeRow| Point::named(label(row), row.figures.rate());
    let line = |depth: &u32| Line {
        name: format!("{depth} deep"),
        points: rows.iter().filter(|row| row.iodepth == *depth).map(point).collect(),
    };
    let picture = Picture {
        title: "Throughput by what a write covers of a stripe".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("A write covers"),
        y: Axis::even("MB/s"),
        lines: depths.iter().map(line).collect(),
    };
    if rows.is_empty() { Vec::new() } else { vec![picture] }
}

fn label(row: &StripeRow) -> String {
    let what = match row.covers {
        Covers::Part => "part of a chunk",
        Covers::Chunk => "chunk",
        Covers::Full => "full stripe",
        Covers::Shifted => "full stripe, a block later",
    };
    format!("{what}, {}", size(row.bs_bytes))
}
