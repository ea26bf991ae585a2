//! Says what `files` asks, what it found and what the papers saw; draws files a second by threads, and by size of the
//! folder.

use halfpower_analyse::Interval;
use halfpower_spec::{FileOperation, Folders, InOrder, format};

use super::analysis::{DurableCreation, FEW_FILES, FILES, FileRow, FileStop, FilesAnswer, OperationAnswer, Rows};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::is_undecided;
use crate::words::{decided, each_sentence, sentence, share, times, with_interval};

pub(crate) const QUESTION: &str =
    "How many small files a second can be created, looked at, listed, renamed and removed, and what stops that?";
pub(crate) const PAPERS: &str = "The studies of 1998 and 2000 read and wrote one large file, and met what each new cluster of it costs. \
    Many small files move few bytes: names, inodes and the journal are the work, and mdtest has been the measure of file \
    servers since. Where all threads use one folder, they take turns at its lock.";

pub(crate) fn answer(found: &FilesAnswer) -> Told {
    let otherwise = "No operation on files was measured in time: give the study a larger budget.";
    Told::of(short(found), details(found), otherwise)
}

/// Creations of one thread, those of many, and the lock of their folder if it stops them; another operation's if none
/// were measured.
fn short(found: &FilesAnswer) -> Option<ShortAnswer> {
    let is_creation = |one: &&OperationAnswer| one.operation == FileOperation::Create;
    let first = found.operations.iter().find(is_creation).or(found.operations.first())?;
    let together = first.together.filter(|together| !is_undecided(together)).map_or(String::new(), |together| {
        let count = format::number(together.value);
        let stop = match (first.stop_in_one_folder, first.stop) {
            (Some(FileStop::FolderLock { own_folders }), _) => {
                format!(", {} those in one folder, whose lock stops them", times(&own_folders))
            }
            (_, Some(FileStop::Processors { .. })) => ", where the processors stop them".to_string(),
            (_, Some(FileStop::FileSystem { .. })) => ", where the file system stops them".to_string(),
            (_, Some(FileStop::MoreThreads)) => ", and more bring more".to_string(),
            (_, Some(FileStop::FolderLock { .. } | FileStop::Unknown) | None) => String::new(),
        };
        format!("; {count} by {} threads in own folders{stop}", first.threads)
    });
    let text = format!("{} by one thread{together}", done(first.operation));
    Some(ShortAnswer::new(with_interval(first.alone, "files a second"), sentence(&text)))
}

fn details(found: &FilesAnswer) -> Vec<String> {
    let operations = found.operations.iter().map(|operation| Some(one(operation)));
    let durable = found.durable.as_ref().map(durable);
    let clauses = operations.chain([durable]);
    each_sentence(clauses)
}

/// What is done with files, as the subject of a sentence.
fn done(operation: FileOperation) -> &'static str {
    match operation {
        FileOperation::Create => "Created",
        FileOperation::Stat => "Looked at",
        FileOperation::List => "Listed",
        FileOperation::Rename => "Renamed",
        FileOperation::Remove => "Removed",
    }
}

fn one(found: &OperationAnswer) -> String {
    let mut text = format!("{}: {} files a second by one thread", done(found.operation), rate(found.alone));
    if let Some(together) = found.together {
        let gain = found.gain.map_or(String::new(), |gain| format!(", {} as many", times(&gain)));
        text += &format!(", {} by {} threads in folders of their own{gain}", rate(together), found.threads);
    }
    if let Some(stop) = &found.stop {
        text += &format!("; {}", stopped(stop));
    }
    // What stops them in any folder was said.
    let is_another = found.stop_in_one_folder.filter(|stop| matches!(stop, FileStop::FolderLock { .. }));
    if let Some(stop) = &is_another {
        text += &format!("; in one folder, {}", stopped(stop));
    }
    if let Some(large) = found.large_folder.filter(|large| large.is_less() || large.is_more()) {
        text += &format!(
            "; a folder of {} files gives {} of the rate in one of {}",
            format::thousands(f64::from(FILES)),
            share(&large),
            format::thousands(f64::from(FEW_FILES))
        );
    }
    text
}

fn stopped(stop: &FileStop) -> String {
    match stop {
        FileStop::FolderLock { own_folders } => {
            format!("the lock of the folder stops them: in folders of their own they get {} as many", times(own_folders))
        }
        FileStop::Processors { share } => {
            format!("the processors stop them, which they compute on or wait for {} of the time", format::percent(*share))
        }
        FileStop::FileSystem { .. } => {
            "something that all folders share stops them, such as the journal or a lock of the file system: more threads \
             bring nothing, and the processors have time"
                .to_string()
        }
        FileStop::MoreThreads => "nothing stops them yet: more threads bring more".to_string(),
        FileStop::Unknown => "no evidence tells what stops them".to_string(),
    }
}

fn durable(found: &DurableCreation) -> String {
    let of_plain = found.of_plain.map_or(String::new(), |of_plain| format!(", {} of the plain rate", share(&of_plain)));
    let waits = match found.has_journal {
        Some(true) => "; each waits for the journal and for the device's flush",
        Some(false) | None => "; each waits until file and folder are on the medium",
    };
    let together = match (found.together, found.gain) {
        (Some(together), Some(gain)) => {
            format!("; {} threads together create {}, {} as many", found.threads, rate(together), times(&gain))
        }
        (Some(together), None) => format!("; {} threads together create {}", found.threads, rate(together)),
        (None, _) => String::new(),
    };
    format!(
        "where each file is made durable, {} a second are created by one thread{of_plain}{waits}{together}",
        rate(found.alone)
    )
}

/// `48,000 (47,100 to 48,900)`; a rate without an interval stands alone, and the interval alone if it is too wide.
fn rate(rate: Interval) -> String {
    let [low, high] = [rate.low, rate.high].map(format::number);
    let is_alone = low == high || is_undecided(&rate);
    let shown = decided(rate, format::number);
    if is_alone { shown } else { format!("{shown} ({low} to {high})") }
}

pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    [by_threads(&rows.files), by_folder(&rows.files)].into_iter().flatten().collect()
}

/// Files a second by threads, a line for each operation and choice of folders.
fn by_threads(rows: &[FileRow]) -> Option<Picture> {
    let line = |operation: FileOperation, is_durable: bool, folders: Folders| {
        let fits = |row: &&FileRow| {
            let all = if row.folders == Folders::Own { FILES / row.threads.max(1) } else { row.files };
            (row.operation, row.is_durable, row.files) == (operation, is_durable, all)
                && (row.folders == folders || row.threads == 1)
        };
        let point = |row: &FileRow| Point::at(row.threads.into(), row.threads.to_string(), row.per_second);
        let mut these: Vec<&FileRow> = rows.iter().filter(fits).collect();
        these.order_by_key(|row| row.threads);
        let points: Vec<Point> = these.into_iter().map(point).collect();
        let durably = if is_durable { ", durable" } else { "" };
        let place = if folders == Folders::Own { "own folders" } else { "one folder" };
        (points.len() > 1).then(|| Line { name: format!("{operation}{durably}, {place}"), points })
    };
    let kinds = [(false, Folders::Own), (false, Folders::Shared), (true, Folders::Own)];
    let of_operation = |operation: &FileOperation| {
        let operation = *operation;
        kinds
            .into_iter()
            .filter_map(move |(is_durable, folders)| line(operation, is_durable, folders))
            .collect::<Vec<_>>()
    };
    let lines: Vec<Line> = FileOperation::ALL.iter().flat_map(of_operation).collect();
    let x = Axis::log("Threads");
    let y = Axis::log("Files a second");
    let title = "Small files a second by threads".to_string();
    (!lines.is_empty()).then_some(Picture { title, kind: PictureKind::Lines, x, y, lines })
}

/// Files a second of one thread by the size of its folder.
fn by_folder(rows: &[FileRow]) -> Option<Picture> {
    let line = |files: u32| {
        let fits = |row: &&FileRow| row.threads == 1 && !row.is_durable && row.files == files;
        let point = |row: &FileRow| Point::named(row.operation.word(), row.per_second);
        let points: Vec<Point> = rows.iter().filter(fits).map(point).collect();
        let name = format!("{} files in the folder", format::thousands(f64::from(files)));
        (!points.is_empty()).then_some(Line { name, points })
    };
    let lines: Vec<Line> = [FEW_FILES, FILES].into_iter().filter_map(line).collect();
    let x = Axis::even("Operation");
    let y = Axis::even("Files a second");
    let title = "Small files a second of one thread".to_string();
    (!lines.is_empty()).then_some(Picture { title, kind: PictureKind::Bars, x, y, lines })
}
