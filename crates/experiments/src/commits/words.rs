//! Says what `commits` asks, what it found and what the papers saw; draws commits and their times by writers, means and
//! size.

use halfpower_analyse::{Interval, Sureness, is_borne};
use halfpower_spec::{FlushCall, InOrder, Layout, cache_word, format};

use super::analysis::{
    BLOCK, CommitMeans, CommitRates, CommitRow, CommitStop, Commits, CommitsAnswer, FlushBesideOthers, GroupCommit,
    GrowingCommits, MeansRate, Rows, TOGETHER,
};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::is_undecided;
use crate::words::{NOT_DECIDED, each_sentence, share, size, times};

pub(crate) const QUESTION: &str =
    "How many small writes a second can be made durable one by one, and how many writers share a flush?";
pub(crate) const PAPERS: &str = "The studies of 1998 and 2000 switched the disk's write cache and made no write durable \
    otherwise; without that cache, each small write waited for the platter, 90 to 120 times a second. A database \
    commits as often as its log can be flushed; since then group commit lets those that wait share a flush.";

pub(crate) fn answer(found: &CommitsAnswer) -> Told {
    let otherwise = "No write was made durable in time: give the study a larger budget.";
    Told::of(short(found), details(found), otherwise)
}

/// How often one writer commits, or many if one was not measured, and what stops that.
fn short(found: &CommitsAnswer) -> Option<ShortAnswer> {
    let CommitRates { alone, together } = &found.rates;
    let row = alone.as_ref().or(together.as_ref())?;
    let stop = if alone.is_some() { &found.stops_alone } else { &found.stops_together };
    let figure = match is_known(row) {
        true => format!("{} commits a second", format::number(row.per_second.value)),
        false => NOT_DECIDED.to_string(),
    };
    let who = if row.writers == 1 { "one writer".to_string() } else { format!("{} writers together", row.writers) };
    let stop = stop.as_ref().map_or(String::new(), |stop| format!("; {}", stopped(stop)));
    Some(ShortAnswer::new(figure, format!("By {who}, {} each{stop}.", size(row.bs_bytes))))
}

/// Whether the runs of a row tell how often commits are made.
fn is_known(row: &CommitRow) -> bool {
    Sureness::of(&row.per_second, row.runs, None).is_known() && !is_undecided(&row.per_second)
}

fn details(found: &CommitsAnswer) -> Vec<String> {
    let clauses = [
        found.stops_alone.as_ref().map(|stop| format!("one at a time, {}", stopped(stop))),
        (found.rates.alone.is_some() && found.stops_alone.is_none())
            .then(|| "what stops one writer was not measured: give the study a larger budget".to_string()),
        found.group.as_ref().map(group),
        found.stops_together.as_ref().filter(|stop| found.stops_alone.as_ref() != Some(*stop)).map(together),
        found.rates.alone.as_ref().map(rate),
        found.rates.together.as_ref().map(rate),
        (found.rates.alone.is_some() && found.rates.together.is_none())
            .then(|| format!("what {TOGETHER} together reach was not measured: give the study a larger budget")),
        means(&found.means),
        found.beside_others.as_ref().map(beside_others),
        growing(&found.growing),
    ];
    each_sentence(clauses)
}

fn stopped(stop: &CommitStop) -> String {
    match stop {
        CommitStop::DeviceFlush { share, write_share } => {
            format!("the device's {}", write_and_flush(*share, *write_share, ""))
        }
        CommitStop::VirtualDisk { share, write_share } => {
            format!("the virtual disk's {}", write_and_flush(*share, *write_share, ", which its host answers,"))
        }
        CommitStop::FileLock { own_files } => {
            format!(
                "the file's lock stops commits: writers with files of their own commit {} as often",
                times(own_files)
            )
        }
        CommitStop::MoreWriters => "nothing stops commits yet: more writers commit more often".to_string(),
        CommitStop::Unknown => {
            "what stops commits is unknown: no write and flush past the page cache explain their time".to_string()
        }
    }
}

/// `flush stops commits: it is 80% of one`, or the same of the write before it and the flush.
fn write_and_flush(share: f64, write_share: Option<f64>, whose: &str) -> String {
    let flush = format::percent(share);
    match write_share {
        None => format!("flush{whose} stops commits: it is {flush} of one"),
        Some(write_share) => {
            let both = format::percent(share + write_share);
            format!("write and flush{whose} stop commits: they are {both} of one, the flush {flush}")
        }
    }
}

fn together(stop: &CommitStop) -> String {
    format!("with {TOGETHER} writers {}", stopped(stop))
}

fn group(found: &GroupCommit) -> String {
    let GroupCommit { writers, slower, times: gain, share_a_flush, .. } = *found;
    let sharing = format!("about {} share a flush", format::two_digits(share_a_flush.max(1.0)));
    let who = match (writers, slower) {
        (1, Some(slower)) => return format!("{slower} writers at once more than double the time of a commit"),
        // The numbers of the plan are powers of two.
        (_, Some(slower)) if slower <= 2 * writers => format!("up to {writers} writers"),
        (_, Some(slower)) => format!("up to {writers} writers, of those tried (the next were {slower}),"),
        (_, None) => format!("{writers} writers, the most tried,"),
    };
    format!("{who} commit within twice the time of one, {} as often: {sharing}", times(&gain))
}

/// A row's rate and times: `8 KiB, 1 at a time: 5,669 commits a second (p50 176 µs, p99 240 µs, p99.9 1.2 ms)`; of few
/// commits without the last, which would be their longest.
fn rate(row: &CommitRow) -> String {
    let CommitRow { writers, bs_bytes, commit_ns_p50, commit_ns_p99, commit_ns_p999, .. } = row;
    let [p50, p99, p999] = [*commit_ns_p50, *commit_ns_p99, *commit_ns_p999].map(|ns| format::time_ns(ns as f64));
    let rarest = if is_borne(row.commits, 0.999) { format!(", p99.9 {p999}") } else { String::new() };
    let how = if *writers == 1 { "1 at a time".to_string() } else { format!("{writers} together") };
    let Interval { value, low, high } = row.per_second;
    let [value, low, high] = [value, low.max(0.0), high].map(format::number);
    let commits = if is_known(row) { value } else { format!("{NOT_DECIDED}, {low} to {high}") };
    format!("{}, {how}: {commits} commits a second (p50 {p50}, p99 {p99}{rarest})", size(*bs_bytes))
}

/// A means as programs write it: `direct O_DSYNC`, `buffered fdatasync`.
fn name(means: CommitMeans) -> String {
    let flag = means.durable_by.map(|flag| flag.word().to_uppercase());
    let by = means.flush_by.map(|call| call.word().to_string()).or(flag).unwrap_or_default();
    let way = if means.cache.direct() { "direct" } else { "buffered" };
    format!("{way} {by}")
}

/// Times of one writer's commit, by means; `None` if one was measured alone.
fn means(found: &[MeansRate]) -> Option<String> {
    let cheapest = found.first().filter(|one| one.is_durable)?;
    let each = |one: &MeansRate| format!("{} {}", name(one.means), format::time_ns(one.ns_each));
    let (durable, others): (Vec<&MeansRate>, Vec<&MeansRate>) = found.iter().partition(|one| one.is_durable);
    let times: Vec<String> = durable.into_iter().map(each).collect();
    let promises: Vec<String> = others.into_iter().map(|one| format!("; {} promises nothing", each(one))).collect();
    let is_clear = cheapest.of_usual.is_some_and(|times| times.is_more());
    let lead = if is_clear {
        format!("the cheapest durable way is {}", name(cheapest.means))
    } else {
        "no way to a durable write is surely cheaper than fdatasync".to_string()
    };
    Some(format!("{lead} (one write of {}: {}{})", size(BLOCK.0), times.join(", "), promises.concat()))
}

fn beside_others(found: &FlushBesideOthers) -> String {
    let FlushBesideOthers { others, alone_ns, beside_ns, times: ratio } = found;
    let [alone, beside] = [*alone_ns, *beside_ns].map(format::time_ns);
    if ratio.is_alike() {
        return format!("a flush takes as long with {others} other writes in flight as alone, {alone}");
    }
    format!("a flush takes {beside} with {others} other writes in flight and {alone} alone, {}", times(ratio))
}

fn growing(found: &[GrowingCommits]) -> Option<String> {
    let clause = |one: &GrowingCommits| {
        let file = match one.layout {
            Layout::Fallocated => "a file whose blocks were only reserved",
            _ => "a growing file",
        };
        let writers = if one.writers == 1 { "one writer".to_string() } else { format!("{} writers", one.writers) };
        let why = match (one.of_written.is_less(), one.has_journal) {
            (true, true) => ": the journal comes on top",
            (true, false) => ": the file system's own records come on top",
            (false, _) => "",
        };
        format!("in {file} {writers} commit {} as often as into written blocks{why}", share(&one.of_written))
    };
    let clauses: Vec<String> = found.iter().map(clause).collect();
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let commits = Commits::of(data);
    let all = [by_writers(rows), times_by_writers(&commits.by_writers()), by_means(rows), by_size(rows)];
    all.into_iter().flatten().collect()
}

/// Whether the row is of 8 KiB into a file that all writers share and that was written before, with nothing beside.
fn is_plain(row: &&CommitRow) -> bool {
    row.bs_bytes == BLOCK.0 && row.layout == Layout::Written && !row.own_files && row.beside_writers == 0
}

/// Commits a second by writers, one line for each means that several numbers of writers used.
fn by_writers(rows: &Rows) -> Option<Picture> {
    let plain: Vec<&CommitRow> = rows.commits.iter().filter(is_plain).collect();
    let mut all: Vec<CommitMeans> = Vec::new();
    for row in &plain {
        if !all.contains(&row.means) {
            all.push(row.means);
        }
    }
    let line = |means: &CommitMeans| {
        let of_means = plain.iter().filter(|row| row.means == *means);
        let point = |row: &&CommitRow| Point::at(row.writers.into(), row.writers.to_string(), row.per_second);
        let points: Vec<Point> = of_means.map(point).collect();
        (points.len() > 1).then(|| Line { name: name(*means), points })
    };
    let lines: Vec<Line> = all.iter().filter_map(line).collect();
    let title = format!("Commits of {} by writers", size(BLOCK.0));
    picture(title, PictureKind::Lines, (Axis::log("Writers"), Axis::log("Commits a second")), lines)
}

/// Percentiles of the usual means' commits by writers, the highest where enough commits bear it.
fn times_by_writers(rows: &[CommitRow]) -> Option<Picture> {
    let line = |name: &str, rows: &[CommitRow], of: fn(&CommitRow) -> u64| {
        let us = |row: &CommitRow| Interval::exact(of(row) as f64 / 1e3);
        let point = |row: &CommitRow| Point::at(row.writers.into(), row.writers.to_string(), us(row));
        Line { name: name.to_string(), points: rows.iter().map(point).collect() }
    };
    let enough: Vec<CommitRow> = rows.iter().filter(|row| is_borne(row.commits, 0.999)).copied().collect();
    let lines = match rows.len() {
        0 | 1 => Vec::new(),
        _ => vec![
            line("p50", rows, |row| row.commit_ns_p50),
            line("p99", rows, |row| row.commit_ns_p99),
            line("p99.9", &enough, |row| row.commit_ns_p999),
        ],
    };
    let lines = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    let title = "Time of a commit by writers".to_string();
    picture(title, PictureKind::Lines, (Axis::log("Writers"), Axis::log("µs")), lines)
}

/// Commits of one writer by means.
fn by_means(rows: &Rows) -> Option<Picture> {
    let of_one = |row: &&CommitRow| is_plain(row) && row.writers == 1;
    let point = |row: &CommitRow| Point::named(name(row.means), row.per_second);
    let points: Vec<Point> = rows.commits.iter().filter(of_one).map(point).collect();
    let lines = if points.len() > 1 { vec![Line { name: "one writer".to_string(), points }] } else { Vec::new() };
    let title = format!("Commits of {} by what makes them durable", size(BLOCK.0));
    picture(title, PictureKind::Bars, (Axis::even("Means"), Axis::even("Commits a second")), lines)
}

/// Commits of one writer by size, with fdatasync.
fn by_size(rows: &Rows) -> Option<Picture> {
    let is_usual = |row: &&CommitRow| {
        let of_file = (row.layout, row.own_files, row.beside_writers) == (Layout::Written, false, 0);
        of_file && row.writers == 1 && row.means.flush_by == Some(FlushCall::Fdatasync)
    };
    let line = |is_direct: bool| {
        let mut these: Vec<&CommitRow> =
            rows.commits.iter().filter(is_usual).filter(|row| row.means.cache.direct() == is_direct).collect();
        these.order_by_key(|row| row.bs_bytes);
        let point = |row: &&CommitRow| Point::at(row.bs_bytes as f64, size(row.bs_bytes), row.per_second);
        let name = these.first().map_or(String::new(), |row| cache_word(row.means.cache).to_string());
        (these.len() > 1).then(|| Line { name, points: these.iter().map(point).collect() })
    };
    let lines: Vec<Line> = [false, true].into_iter().filter_map(line).collect();
    let title = "Commits of one writer by size".to_string();
    picture(title, PictureKind::Lines, (Axis::log("Bytes a write"), Axis::log("Commits a second")), lines)
}

/// `None` without lines.
fn picture(title: String, kind: PictureKind, (x, y): (Axis, Axis), lines: Vec<Line>) -> Option<Picture> {
    (!lines.is_empty()).then_some(Picture { title, kind, x, y, lines })
}
