//! Recognises files that halfpower made by the mark that each form carries.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// "HPow", the application id in the header of each study file.
pub const STUDY_APPLICATION_ID: u32 = 0x4850_6f77;

/// Bytes at the beginning of a file that contain its mark.
const HEAD_BYTES: usize = 4096;

/// The contents of a file that halfpower writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A report or a comparison, as an HTML page.
    Page,
    /// Records as CSV.
    Csv,
    /// Records as JSON.
    Json,
    /// Records in fio's form, as JSON or as terse lines.
    Fio,
    /// Records as SQLIO's trace.
    Trace,
    /// A model that was fitted to a study.
    Model,
    /// What a run prints.
    Text,
    /// Averages over time, as fio logs them.
    FioLog,
    /// What was seen while an application was watched.
    Watch,
    /// What an application asked of its files, to be asked again.
    Capture,
}

/// How a file of [`Form::Watch`] begins: its generator, whose version follows.
pub(crate) const WATCH_MARK: &str = r#"{"watch_by":"halfpower "#;

/// How a file of [`Form::Capture`] begins: its generator, whose version follows.
pub(crate) const CAPTURE_MARK: &str = r#"{"capture_by":"halfpower "#;

/// How a file of [`Form::Text`] begins.
pub const TEXT_MARK: &str = "# Measured by halfpower ";

impl Form {
    /// Whether halfpower made the file that begins with `head`, in this form.
    fn marks(self, head: &str) -> bool {
        match self {
            Self::Page => head.contains(r#"<meta name="generator" content="halfpower"#),
            Self::Csv => head.starts_with("experiment,workload,rw,pattern,direction,"),
            Self::Json => head == "[]\n" || head.starts_with("[\n{\"generator\":\"halfpower "),
            Self::Fio => {
                let is_document =
                    head.contains(r#""fio version": "halfpower-"#) || head.contains(r#""fio version":"halfpower-"#);
                is_document || head.lines().next().is_some_and(is_line_of_terse)
            }
            Self::Trace => head.lines().next().is_some_and(is_line_of_trace),
            Self::Model => head.starts_with("# Fitted by `halfpower calibrate`"),
            Self::Text => head.starts_with(TEXT_MARK) || is_document_of_run(head),
            Self::FioLog => head.lines().next().is_some_and(is_line_of_log),
            Self::Watch => head.starts_with(WATCH_MARK),
            Self::Capture => head.starts_with(CAPTURE_MARK),
        }
    }
}

/// Whether a line is a terse one of fio's form with halfpower as the program.
fn is_line_of_terse(line: &str) -> bool {
    let mut fields = line.split(';');
    let version = fields.next().is_some_and(|version| version.parse::<u8>().is_ok());
    version && fields.next().is_some_and(|program| program.starts_with("halfpower-"))
}

/// Whether this is how the document of a run begins (`halfpower run --json`): with its layout, and soon a figure that no other
/// tool has.
fn is_document_of_run(head: &str) -> bool {
    head.starts_with("{\n  \"schema\": ") && head.contains("\n  \"harness_ns_per_io\": ")
}

/// Whether a line has fourteen fields and a comment in halfpower's words.
fn is_line_of_trace(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').collect();
    let ours = |comment: &str| ["rw=", "engine=", "pass=", "repeat="].iter().all(|word| comment.contains(word));
    fields.len() == 14 && ours(fields[13])
}

/// Whether a line is one of a log of averages: fio's own is the same, and fio replaces it as well.
fn is_line_of_log(line: &str) -> bool {
    let fields: Vec<&str> = line.split(", ").collect();
    fields.len() == 5 && fields.iter().all(|field| field.parse::<u64>().is_ok()) && fields[3..] == ["0", "0"]
}

impl Form {
    /// Why a file of this form may have no mark though halfpower made it; empty if each has one.
    pub(crate) fn unmarked(self) -> &'static str {
        match self {
            Self::Trace => " (what was imported from a trace is written as it was, so nothing tells who wrote it)",
            _ => "",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Page => "a report",
            Self::Csv => "a CSV file",
            Self::Json => "a JSON file",
            Self::Fio => "a file in fio's form",
            Self::Trace => "an SQLIO trace",
            Self::Model => "a model",
            Self::Text => "what a run printed",
            Self::FioLog => "a log in fio's form",
            Self::Watch => "a watch",
            Self::Capture => "a capture",
        })
    }
}

/// What a file holds, judged by its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Nothing is in it.
    Empty,
    /// A study.
    Study,
    /// A file that halfpower made, of the expected form.
    Ours,
    /// Anything else.
    Foreign,
}

/// What `file` holds; `form` is the expected form.
pub(crate) fn content(file: &File, form: Option<Form>) -> io::Result<Content> {
    let mut head = [0; HEAD_BYTES];
    let mut filled = 0;
    while filled < head.len() {
        match file.read_at(&mut head[filled..], filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    let head = &head[..filled];
    let text = String::from_utf8_lossy(head);
    Ok(match form {
        _ if head.is_empty() => Content::Empty,
        _ if is_study(head) => Content::Study,
        Some(form) if form.marks(&text) => Content::Ours,
        _ => Content::Foreign,
    })
}

/// Whether a file that begins with `head` is a study: SQLite's header, with our application id at byte 68.
fn is_study(head: &[u8]) -> bool {
    head.starts_with(b"SQLite format 3\0") && head.get(68..72) == Some(&STUDY_APPLICATION_ID.to_be_bytes()[..])
}
