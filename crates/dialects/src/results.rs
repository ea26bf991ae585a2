//! Reads results of other tools: SQLIO's traces, fio's JSON, diskspd's XML.
//!
//! [`Results`] hold a record for each result, in which missing values are marked as unknown, and a sentence for each
//! result that no record can hold. [`gathered`] combines the results of several files for a study file. A file that is
//! broken anywhere gives no results.

mod file_results;
mod gathered;
mod text;

use halfpower_record::{ImportedFile, Tool};

pub use file_results::{Results, ResultsError};
pub use gathered::{ImportedStudy, gathered};

use crate::found::{FileError, Found};
use crate::{diskspd, fio, sqlio};

/// Reads the bytes of the file `file`, and detects its format.
///
/// # Errors
/// [`ResultsError`] with the line at which the file is broken.
pub fn read_results(file: &str, bytes: &[u8]) -> Result<Results, ResultsError> {
    let text = text::decoded(bytes).map_err(|trouble| of(trouble, file))?;
    let (tool, found) = match text::tool_of(&text) {
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
