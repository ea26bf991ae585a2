//! Tests what lines of other tools become.

mod captures;
mod diskspd;
mod fio;
mod fio_export;
mod results;
#[path = "../../record/tests/sample/mod.rs"]
mod sample;
mod sqlio;
mod sqlio_trace;

use std::ffi::OsString;

use halfpower_dialects::{Refusal, Translation};

/// The words of a line, as a shell splits them.
fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// The words of `halfpower run` that each run became.
fn runs(translated: Result<Translation, Vec<Refusal>>) -> Vec<String> {
    let text = |words: &[OsString]| words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ");
    translated.unwrap().runs.iter().map(|run| text(&run.words)).collect()
}

fn refusals(translated: Result<Translation, Vec<Refusal>>) -> Vec<String> {
    translated.unwrap_err().iter().map(ToString::to_string).collect()
}
