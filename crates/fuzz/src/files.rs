//! Feeds bytes to the readers of study files, of their JSON, of files of watches, of SQLIO's traces, of other tools'
//! results and single operations, and of the kernel's trace pages.

use std::fmt::Write;
use std::io;

use halfpower_dialects::fio::write_fio;
use halfpower_dialects::sqlio::read_trace;
use halfpower_dialects::{Foreign, captured, gathered, read_foreign, read_results};
use halfpower_experiments::analyse;
use halfpower_record::{Environment, Record, StudyFile, read_capture, read_watch, write_capture, write_watch};
use halfpower_report::Style;
use halfpower_spec::Question;

/// Feeds a study file; a file that opens is analysed and reported.
///
/// # Panics
/// If a temporary file cannot be created.
pub(crate) fn study_file(bytes: &[u8]) {
    let folder = crate::folder();
    let path = folder.path().join("fuzzed.halfpower");
    std::fs::write(&path, bytes).expect("a temporary file");
    if let Ok(file) = StudyFile::open(&path)
        && let Ok(records) = file.records()
    {
        tell(file.question(), file.environment(), &records);
    }
    // Resuming a study reads more of the file than reporting.
    if let Ok(file) = StudyFile::open_to_append(&path) {
        drop(file.records());
    }
}

/// Feeds records as JSON, one per line, as a study file keeps them; valid ones are analysed and reported.
pub(crate) fn records(bytes: &[u8]) {
    let records: Vec<Record> =
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    if !records.is_empty() {
        tell(&Question::about("/fuzzed"), &Environment::default(), &records);
    }
    let _ = serde_json::from_slice::<Question>(bytes);
    let _ = serde_json::from_slice::<Environment>(bytes);
}

/// Feeds a file of a watch; what is read is written and read back.
///
/// # Panics
/// If the written form does not read back the same, or a temporary file cannot be created.
pub(crate) fn watch_file(bytes: &[u8]) {
    let folder = crate::folder();
    let path = folder.path().join("fuzzed.watch.json");
    std::fs::write(&path, bytes).expect("a temporary file");
    let Ok(watched) = read_watch(&path) else { return };
    let mut written = Vec::new();
    write_watch(&watched, &mut written).expect("memory takes everything");
    std::fs::write(&path, written).expect("a temporary file");
    assert_eq!(read_watch(&path).ok(), Some(watched));
}

fn tell(question: &Question, environment: &Environment, records: &[Record]) {
    let findings = analyse(question, environment, records);
    let reported = halfpower_report::terminal(&findings, None, &Style { width: 80, colour: true }, &mut io::sink())
        .and_then(|()| halfpower_report::json(&findings, &mut io::sink()));
    reported.expect("a sink takes everything");
}

/// Feeds results of fio.
pub(crate) fn fio_results(bytes: &[u8]) {
    results(bytes);
}

/// Feeds results of diskspd.
pub(crate) fn diskspd_results(bytes: &[u8]) {
    results(bytes);
}

/// Feeds results of SQLIO.
pub(crate) fn sqlio_results(bytes: &[u8]) {
    results(bytes);
}

/// Feeds results of elbencho.
pub(crate) fn elbencho_results(bytes: &[u8]) {
    results(bytes);
}

/// Feeds results of IOR.
pub(crate) fn ior_results(bytes: &[u8]) {
    results(bytes);
}

/// Feeds results of another tool in any format; valid ones are gathered, analysed, reported and exported.
///
/// # Panics
/// If a record that was read cannot be kept in a study file and read back.
fn results(bytes: &[u8]) {
    let Ok(results) = read_results("fuzzed", bytes) else { return };
    let Ok(gathered) = gathered(vec![results.clone(), results], Some("fuzzed")) else { return };
    for record in &gathered.records {
        let text = serde_json::to_string(record).expect("a record is plain data");
        let again: Record = serde_json::from_str(&text).expect("what was read can be kept");
        assert_eq!(&again, record);
    }
    let placed = gathered.records.iter().map(|record| (record, &gathered.environment));
    halfpower_record::write_csv(placed, "fuzzed", io::sink()).expect("a sink takes everything");
    write_fio(&gathered.records, "fuzzed", io::sink()).expect("a sink takes everything");
    tell(&gathered.question, &gathered.environment, &gathered.records);
}

/// Feeds output of strace.
pub(crate) fn strace_output(bytes: &[u8]) {
    operations(bytes);
}

/// Feeds output of blkparse.
pub(crate) fn blkparse_output(bytes: &[u8]) {
    operations(bytes);
}

/// Feeds logs of fio.
pub(crate) fn fio_logs(bytes: &[u8]) {
    operations(bytes);
}

/// Feeds single operations that another tool listed, in any format; a capture of valid ones is written and read back.
///
/// # Panics
/// If the written form does not read back the same, or a temporary file cannot be created.
fn operations(bytes: &[u8]) {
    let Ok(Foreign::Capture(text)) = read_foreign("fuzzed", bytes) else { return };
    let _ = captured(&[text.clone(), text.clone()], false);
    let Ok(imported) = captured(&[text], true) else { return };
    let scripts = imported.captured.scripts();
    let steps: usize = scripts.iter().map(|script| script.steps.len()).sum();
    assert_eq!(steps, imported.captured.operations.len());
    let folder = crate::folder();
    let path = folder.path().join("fuzzed.halfpower");
    let mut written = Vec::new();
    write_capture(&imported.captured, &mut written).expect("memory takes everything");
    std::fs::write(&path, written).expect("a temporary file");
    assert_eq!(read_capture(&path).ok(), Some(imported.captured));
}

/// Feeds an SQLIO trace; a valid one is written and read back.
///
/// # Panics
/// If the written form does not read back the same.
pub(crate) fn sqlio_trace(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(lines) = read_trace(text) else { return };
    let mut written = String::new();
    for (_, line) in &lines {
        writeln!(written, "{line}").expect("a string takes everything");
    }
    let again = read_trace(&written);
    assert_eq!(again.map(|again| again.len()).ok(), Some(lines.len()), "{written}");
}

/// The disk that [`trace_page`] looks for, by the device number in the kernel's events.
pub(crate) const TRACED_DISK: u64 = 254 << 20;

/// Feeds the text of `header_page`, the `format` files of events, and a page, separated by NUL bytes.
pub(crate) fn trace_page(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let mut text = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let (header, formats) = (text(), text());
    // Each file begins with the event's name.
    let starts: Vec<usize> = formats.match_indices("name: ").map(|(at, _)| at).chain([formats.len()]).collect();
    let formats: Vec<&str> = starts.windows(2).map(|ends| &formats[ends[0]..ends[1]]).collect();
    let page = parts.next().unwrap_or_default();
    halfpower_os::trace::events_of_page(&header, &formats, &[TRACED_DISK], page);
    halfpower_os::trace::seen_in_page(&header, &formats, &[TRACED_DISK], page);
}
