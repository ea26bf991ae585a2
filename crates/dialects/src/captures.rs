//! Reads single operations from the output of other tools, strace, blkparse and fio, as captures.

mod blkparse;
mod clock;
mod collected;
mod fio_log;
mod strace;

use halfpower_record::CaptureSource;

use crate::results::ResultsError;
use collected::{Broken, Collected, Text};

pub use collected::ImportedCapture;
pub(crate) use fio_log::{IoLogFiles, io_log_files};

/// A kind of text that tells single operations.
struct TraceFormat {
    /// What such a text is.
    what: &'static str,
    source: CaptureSource,
    is_it: fn(&str) -> bool,
    /// Reads the texts of one run.
    read: fn(&[Text<'_>], &mut Collected) -> Result<(), Broken>,
}

const FORMATS: &[TraceFormat] = &[
    TraceFormat {
        what: "what fio logged of each operation",
        source: CaptureSource::FioLog,
        is_it: fio_log::is_log,
        read: fio_log::read,
    },
    TraceFormat {
        what: "an I/O log of fio",
        source: CaptureSource::FioLog,
        is_it: fio_log::is_io_log,
        read: fio_log::read_io_logs,
    },
    TraceFormat {
        what: "what blkparse printed",
        source: CaptureSource::Blkparse,
        is_it: blkparse::is_it,
        read: blkparse::read,
    },
    TraceFormat {
        what: "what strace printed",
        source: CaptureSource::Strace,
        is_it: strace::is_it,
        read: strace::read,
    },
];

/// The text of a file that tells single operations; [`captured`] makes a capture of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureText {
    file: String,
    text: String,
    /// Index into the formats.
    format: usize,
}

impl CaptureText {
    /// The text of the file `file`, if it has one of the formats; the text itself if not.
    pub(crate) fn of(file: &str, text: String) -> Result<Self, String> {
        match FORMATS.iter().position(|format| (format.is_it)(&text)) {
            Some(format) => Ok(Self { file: file.to_string(), text, format }),
            None => Err(text),
        }
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What the file is, such as `what strace printed`.
    pub fn what(&self) -> &'static str {
        FORMATS[self.format].what
    }
}

/// Makes a capture of the texts of one run: of one, or of several that a tool wrote at the same time. Names of files are kept
/// if `with_names` says so.
///
/// # Errors
/// [`ResultsError`] with the line at which a file is broken, or if the texts are of several kinds.
pub fn captured(texts: &[CaptureText], with_names: bool) -> Result<ImportedCapture, ResultsError> {
    let Some(first) = texts.first() else {
        return Err(ResultsError::Apart("no file is named; name the output of strace, blkparse or fio".to_string()));
    };
    if let Some(other) = texts.iter().find(|text| text.format != first.format) {
        return Err(ResultsError::Apart(format!(
            "{} is {}, and {} is {}: make a capture of each",
            first.file,
            first.what(),
            other.file,
            other.what()
        )));
    }
    let format = &FORMATS[first.format];
    let given: Vec<Text<'_>> = texts.iter().map(|text| Text { file: &text.file, text: &text.text }).collect();
    let mut collected = Collected::default();
    (format.read)(&given, &mut collected).map_err(|(file, error)| ResultsError::of(error, &texts[file].file))?;
    if collected.subject.is_empty() {
        collected.subject = first.file.rsplit('/').next().unwrap_or(&first.file).to_string();
    }
    collected.finish(format.source, with_names).map_err(|error| ResultsError::of(error, &first.file))
}
