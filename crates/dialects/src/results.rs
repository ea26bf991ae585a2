//! Reads results of other tools, and finds out by its content what kind a file is: results, or single operations.
//!
//! [`Results`] hold a record for each result, in which missing values are marked as unknown, and a sentence for each
//! result that no record can hold. [`gathered`] combines the results of several files for a study file. A file that is
//! broken anywhere gives no results.

mod gathered;

use halfpower_record::{ImportedFile, Tool};

use crate::captures::CaptureText;
use crate::foreign_run::{FileError, Found};
use crate::{diskspd, elbencho, fio, ior, sqlio};

pub use gathered::{ImportedStudy, Results, ResultsError, gathered};

/// What a file of another tool holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Foreign {
    /// Results, which become records of a study.
    Results(Results),
    /// Single operations, which become a capture.
    Capture(CaptureText),
}

/// Reads the bytes of the file `file`, and detects its format. Single operations are not taken apart yet:
/// [`captured`](crate::captured) does that, of all files of a run together.
///
/// # Errors
/// [`ResultsError`] with the line at which the file is broken.
pub fn read_foreign(file: &str, bytes: &[u8]) -> Result<Foreign, ResultsError> {
    let text = decoded(bytes).map_err(|trouble| ResultsError::of(trouble, file))?;
    // Lines of single operations look like nothing else; results may have any text beside them.
    match CaptureText::of(file, text) {
        Ok(text) => Ok(Foreign::Capture(text)),
        Err(text) => Ok(Foreign::Results(results_of(file, &text)?)),
    }
}

/// As [`read_foreign`], of a file that holds results.
///
/// # Errors
/// As [`read_foreign`], and if the file holds single operations.
pub fn read_results(file: &str, bytes: &[u8]) -> Result<Results, ResultsError> {
    match read_foreign(file, bytes)? {
        Foreign::Results(results) => Ok(results),
        Foreign::Capture(text) => {
            let message = format!("it is {}, of which `halfpower import` makes a capture; name results", text.what());
            Err(ResultsError::File { file: file.to_string(), message })
        }
    }
}

fn results_of(file: &str, text: &str) -> Result<Results, ResultsError> {
    let format = FORMATS.iter().find(|format| (format.is_it)(text)).unwrap_or(&TRACE);
    let tool = format.tool;
    let found = (format.read)(file, text);
    let Found { version, date, host, records, left_out } = found.map_err(|trouble| ResultsError::of(trouble, file))?;
    if records.is_empty() && left_out.is_empty() {
        let nothing = FileError::of_file(format!("it holds no result of {TOOLS}; name another file"));
        return Err(ResultsError::of(nothing, file));
    }
    let results = records.len();
    Ok(Results { file: ImportedFile { file: file.to_string(), tool, version, date, results }, host, records, left_out })
}

/// Decodes UTF-8, or UTF-16 with a byte order mark, as Windows' shell writes redirected output.
fn decoded(bytes: &[u8]) -> Result<String, FileError> {
    let units = |pair: fn([u8; 2]) -> u16| bytes[2..].chunks_exact(2).map(|two| pair([two[0], two[1]])).collect();
    let wide: Option<Vec<u16>> = match bytes {
        [0xff, 0xfe, ..] => Some(units(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Some(units(u16::from_be_bytes)),
        _ => None,
    };
    if let Some(units) = wide {
        return String::from_utf16(&units)
            .map_err(|_| FileError::of_file("it is not text, though it begins as UTF-16"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_string()),
        Err(error) => {
            let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            Err(FileError::at(line, format!("here is something that is no text; name a file that {TOOLS} wrote")))
        }
    }
}

/// The tools whose results are read, for errors.
const TOOLS: &str = "SQLIO, fio, diskspd, elbencho or IOR";

/// A format of results.
struct Format {
    tool: Tool,
    /// Whether a text has it, provided that it has none of those before it.
    is_it: fn(&str) -> bool,
    /// Reads the text of the file of this name.
    read: fn(&str, &str) -> Result<Found, FileError>,
}

/// All formats but traces. fio's formats may stand beside each other in one file; its JSON tells most.
const FORMATS: &[Format] = &[
    Format { tool: Tool::Diskspd, is_it: is_xml, read: diskspd::results::read_xml },
    Format { tool: Tool::Diskspd, is_it: diskspd::results::is_text, read: diskspd::results::read_text },
    Format { tool: Tool::Sqlio, is_it: sqlio::results::is_text, read: sqlio::results::read_text },
    Format { tool: Tool::Elbencho, is_it: elbencho::is_csv, read: elbencho::read_csv },
    Format { tool: Tool::Elbencho, is_it: elbencho::is_json, read: elbencho::read_json },
    Format { tool: Tool::Ior, is_it: ior::is_json, read: ior::read },
    Format { tool: Tool::Fio, is_it: opens_object, read: fio::results::read },
    Format { tool: Tool::Fio, is_it: has_terse_line, read: fio::results::terse::read },
];

/// Lines of SQLIO's trace have no mark of their own: what is none of the others is read as such, and errors name the line.
const TRACE: Format = Format { tool: Tool::Sqlio, is_it: |_| true, read: sqlio::results::read_trace_lines };

fn is_xml(text: &str) -> bool {
    text.contains("<Results>") || text.trim_start().starts_with('<')
}

fn opens_object(text: &str) -> bool {
    let opens = |line: &str| line.trim() == "{" || line.trim_start().starts_with("{\"") || line.trim() == "[";
    text.lines().any(opens)
}

fn has_terse_line(text: &str) -> bool {
    text.lines().any(fio::terse::is_terse)
}
