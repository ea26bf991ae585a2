//! Says what `memory` asks, what it found and what the papers saw; draws the rate of each kernel.

use halfpower_analyse::Interval;
use halfpower_spec::format;

use super::analysis::{MemoryAnswer, MemoryRow, Rows};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::{decided, with_interval};

pub(crate) const QUESTION: &str =
    "How fast do the processors read, write and copy memory, before any storage comes into it?";
pub(crate) const PAPERS: &str = "In 2000 memspeed read Rambus memory of 1,600 MB/s at 975 MB/s (61%), wrote it at 550 (34%) and copied at \
    327: five times the reads and three times the writes of the Intel machines before. What is the same: an \
    ordinary store first fetches the line that it overwrites, so that writes and copies move more than they \
    count, and each buffered byte pays for a copy. What is not: stores past the caches, and memory so fast \
    that one thread may not fill it.";

/// Share of the several-thread copy rate from which one thread is said to copy as much.
const AS_MUCH: f64 = 0.9;

pub(crate) fn answer(found: &MemoryAnswer) -> Told {
    Told::of(short(found), details(found), "No kernel moved anything.")
}

/// How fast memory is copied, or what else of it was measured.
fn short(found: &MemoryAnswer) -> Option<ShortAnswer> {
    let of_copy = found.one_thread_share.map_or(String::new(), |share| match share < AS_MUCH {
        true => format!("; one thread alone copies {} of it", format::percent(share)),
        false => "; one thread alone copies as much".to_string(),
    });
    let kinds = [
        ("Memory is copied", found.copy, ", and each buffered byte is copied", of_copy.as_str()),
        ("Memory is read", found.read, "", ""),
        ("Memory is written", found.write, "", ""),
        ("A cached file is read", found.file_read, "", ""),
        ("A cached file is written", found.file_write, "", ""),
    ];
    let (what, row, so, more) = kinds.into_iter().find_map(|(what, row, so, more)| Some((what, row?, so, more)))?;
    let MemoryRow { kernel, threads: count, mbps: value, low, high } = row;
    let text = format!("{what} at that rate ({kernel}, {}){so}{more}.", threads(count));
    Some(ShortAnswer::new(with_interval(Interval { value, low, high }, "MB/s"), text))
}

fn details(found: &MemoryAnswer) -> Vec<String> {
    let memory = [rate("read", &found.read), rate("written", &found.write), rate("copied", &found.copy)];
    let file = [rate("read", &found.file_read), rate("written", &found.file_write), None];
    let sentences = [rates("Memory", memory), found.one_thread_share.map(one_thread), rates("A cached file", file)];
    sentences.into_iter().flatten().collect()
}

fn rate(verb: &str, row: &Option<MemoryRow>) -> Option<String> {
    let MemoryRow { kernel, threads: count, mbps: value, low, high } = (*row)?;
    let rate = decided(Interval { value, low, high }, format::mbps);
    Some(format!("{verb} at {rate} ({kernel}, {})", threads(count)))
}

fn rates(subject: &str, parts: [Option<String>; 3]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let (last, others) = parts.split_last()?;
    let others = if others.is_empty() { String::new() } else { format!("{} and ", others.join(", ")) };
    Some(format!("{subject} is {others}{last}."))
}

fn one_thread(share: f64) -> String {
    match share < AS_MUCH {
        true => format!("One thread alone copies {} of what all do together.", format::percent(share)),
        false => "One thread alone copies as much as all together.".to_string(),
    }
}

/// A thread count in words, such as `2 threads`.
pub(super) fn threads(count: u32) -> String {
    if count == 1 { "1 thread".to_string() } else { format!("{count} threads") }
}

/// Bars by kernel, one colour per thread count.
pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let rows = &rows.memory;
    let mut counts: Vec<u32> = rows.iter().map(|row| row.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    let line = |count: &u32| {
        let of = rows.iter().filter(|row| row.threads == *count);
        let point = |row: &MemoryRow| {
            let MemoryRow { mbps: value, low, high, .. } = *row;
            Point::named(row.kernel.word(), Interval { value, low, high })
        };
        Line { name: threads(*count), points: of.map(point).collect() }
    };
    vec![Picture {
        title: "Rate of each kernel".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Kernel"),
        y: Axis::even("MB/s"),
        lines: counts.iter().map(line).collect(),
    }]
}
