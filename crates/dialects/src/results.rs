//! Reads results of other tools: SQLIO's traces, fio's JSON, diskspd's XML.
//!
//! [`Results`] hold a record for each result, in which missing values are marked as unknown, and a sentence for each
//! result that no record can hold. [`gathered`] combines the results of several files for a study file. A file that is
//! broken anywhere gives no results.

mod gathered;

use halfpower_record::{ImportedFile, Tool};

use crate::foreign_run::{FileError, Found};
use crate::{diskspd, fio, sqlio};

pub use gathered::{ImportedStudy, Results, ResultsError, gathered};

/// Reads the bytes of the file `file`, and detects its format.
///
/// # Errors
/// [`ResultsError`] with the line at which the file is broken.
pub fn read_results(file: &str, bytes: &[u8]) -> Result<Results, ResultsError> {
    let text = decoded(bytes).map_err(|trouble| of(trouble, file))?;
    let (tool, found) = match tool_of(&text) {
        Tool::Fio => (Tool::Fio, fio::results::read(file, &text)),
        Tool::Diskspd => (Tool::Diskspd, diskspd::results::read(file, &text)),
        Tool::Sqlio => (Tool::Sqlio, sqlio::results::read(file, &text)),
    };
    let Found { version, date, host, records, left_out } = found.map_err(|trouble| of(trouble, file))?;
    if records.is_empty() && left_out.is_empty() {
        return Err(of(FileError::of_file("it holds no result of SQLIO, fio or diskspd; name another file"), file));
    }
    let results = records.len();
    Ok(Results { file: ImportedFile { file: file.to_string(), tool, version, date, results }, host, records, left_out })
}

fn of(trouble: FileError, file: &str) -> ResultsError {
    let file = file.to_string();
    let message = trouble.message;
    match trouble.line {
        Some(line) => ResultsError::Line { file, line, message },
        None => ResultsError::File { file, message },
    }
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
            Err(FileError::at(line, "here is something that is no text; name a file that SQLIO, fio or diskspd wrote"))
        }
    }
}

/// The tool that wrote the text: fio's JSON has a line that opens an object, diskspd's XML has a `Results` element.
fn tool_of(text: &str) -> Tool {
    let opens = |line: &str| line.trim() == "{" || line.trim_start().starts_with("{\"") || line.trim() == "[";
    if text.contains("<Results>") || text.trim_start().starts_with('<') {
        Tool::Diskspd
    } else if text.lines().any(opens) {
        Tool::Fio
    } else {
        Tool::Sqlio
    }
}
