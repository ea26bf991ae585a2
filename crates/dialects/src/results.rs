//! Reads what other tools have measured: SQLIO's traces, fio's JSON, diskspd's XML.
//!
//! The bytes of a file enter, [`Results`] leave: a record for each result, in which what the tool does not tell is marked
//! as unknown, and a sentence for each result that no record can hold. [`gathered`] puts the results of several files
//! together into what a study file needs. Nothing is read of a file that is broken anywhere.

mod file_results;
mod gathered;
mod text;

use halfpower_record::{ImportedFile, Tool};

pub use file_results::{Results, ResultsError};
pub use gathered::{Gathered, gathered};

use crate::found::{Found, Trouble};
use crate::{diskspd, fio, sqlio};

/// Reads the bytes of a file that is named `file`; which format it has is seen in its beginning.
///
/// # Errors
/// [`ResultsError`] with the line where the file is broken.
pub fn read_results(file: &str, bytes: &[u8]) -> Result<Results, ResultsError> {
    let text = text::decoded(bytes).map_err(|trouble| of(trouble, file))?;
    let (tool, found) = match text::tool_of(&text) {
        Tool::Fio => (Tool::Fio, fio::results::read(file, &text)),
        Tool::Diskspd => (Tool::Diskspd, diskspd::results::read(file, &text)),
        Tool::Sqlio => (Tool::Sqlio, sqlio::results::read(file, &text)),
    };
    let Found { version, date, host, records, left_out } = found.map_err(|trouble| of(trouble, file))?;
    if records.is_empty() && left_out.is_empty() {
        return Err(of(Trouble::of_file("it holds no result of SQLIO, fio or diskspd; name another file"), file));
    }
    let results = records.len();
    Ok(Results { file: ImportedFile { file: file.to_string(), tool, version, date, results }, host, records, left_out })
}

fn of(trouble: Trouble, file: &str) -> ResultsError {
    let (file, message) = (file.to_string(), trouble.message);
    match trouble.line {
        Some(line) => ResultsError::Line { file, line, message },
        None => ResultsError::File { file, message },
    }
}
