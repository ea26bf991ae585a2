//! Feeds bytes to the readers of study files, of their JSON and of SQLIO's traces.

use std::fmt::Write;
use std::io;

use halfpower_experiments::analyse;
use halfpower_record::{Environment, Record, StudyFile, read_trace};
use halfpower_report::Style;
use halfpower_spec::Question;

/// A study file; one that opens is analysed and told.
///
/// # Panics
/// Where there is no place for a temporary file.
pub fn study_file(bytes: &[u8]) {
    let folder = crate::folder();
    let path = folder.path().join("fuzzed.halfpower");
    std::fs::write(&path, bytes).expect("a temporary file");
    if let Ok(file) = StudyFile::open(&path)
        && let Ok(records) = file.records()
    {
        tell(file.question(), file.environment(), &records);
    }
    // A resumed study reads more of the file than one that is looked at.
    if let Ok(file) = StudyFile::open_to_append(&path) {
        drop(file.records());
    }
}

/// The JSON of a record a line, as a study file keeps them; what can be read is analysed and told.
pub fn records(bytes: &[u8]) {
    let records: Vec<Record> =
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    if !records.is_empty() {
        tell(&Question::about("/fuzzed"), &Environment::default(), &records);
    }
    let _ = serde_json::from_slice::<Question>(bytes);
    let _ = serde_json::from_slice::<Environment>(bytes);
}

fn tell(question: &Question, environment: &Environment, records: &[Record]) {
    let findings = analyse(question, environment, records);
    let told = halfpower_report::terminal(&findings, None, &Style { width: 80, colour: true }, &mut io::sink())
        .and_then(|()| halfpower_report::json(&findings, &mut io::sink()));
    told.expect("a sink takes everything");
}

/// A trace; one that is understood is written and read again.
///
/// # Panics
/// Where what is written of it is not read as the same.
pub fn sqlio_trace(bytes: &[u8]) {
    let Ok(lines) = read_trace(bytes) else { return };
    let mut written = String::new();
    for line in &lines {
        writeln!(written, "{line}").expect("a string takes everything");
    }
    let again = read_trace(written.as_bytes());
    assert_eq!(again.map(|again| again.len()).ok(), Some(lines.len()), "{written}");
}
