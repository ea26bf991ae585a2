//! Writes what an application asked to a file, and reads it again.
//!
//! The file is one JSON object: `capture_by` (which marks the file as halfpower's), `schema` (its layout) and `captured`.
//! Whoever wrote it may be anybody: it is read up to a limit, and a file whose parts contradict each other is refused.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::output::CAPTURE_MARK;
use crate::{AwaitedSync, Captured, RecordError, input};

/// Layout of the file; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 1;
/// Most that a file may be long, be it bytes of a file, or nanoseconds of a slice.
const MOST: u64 = 1 << 60;
/// Most lanes that a file may have without operations of theirs. A capture that was asked again has the lanes of the first
/// one, also those that had not begun when it ended; no capture of ours has more operations, and so lanes, than 400,000.
const MOST_LANES: usize = 1 << 19;

#[derive(Serialize)]
struct Whole<'a> {
    capture_by: &'a str,
    schema: u32,
    captured: &'a Captured,
}

#[derive(Deserialize)]
struct Head {
    schema: u32,
}

#[derive(Deserialize)]
struct Stored {
    captured: Captured,
}

/// Writes a capture.
///
/// # Errors
/// [`RecordError::Stream`] if `out` takes no more.
pub fn write_capture(captured: &Captured, mut out: impl Write) -> Result<(), RecordError> {
    let capture_by = concat!("halfpower ", env!("CARGO_PKG_VERSION"));
    serde_json::to_writer(&mut out, &Whole { capture_by, schema: SCHEMA, captured })?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Reads what [`write_capture`] wrote.
///
/// # Errors
/// [`RecordError::Unreadable`], [`RecordError::NotACapture`] or [`RecordError::Newer`].
pub fn read_capture(path: &Path) -> Result<Captured, RecordError> {
    let text = input::read_text(path, input::MOST_OF_RESULTS)
        .map_err(|error| RecordError::Unreadable { path: path.to_path_buf(), reason: error.to_string() })?;
    let refused = |reason: String| RecordError::NotACapture { path: path.to_path_buf(), reason };
    if !text.starts_with(CAPTURE_MARK) {
        return Err(refused("it begins otherwise".to_string()));
    }
    let head: Head = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    if head.schema > SCHEMA {
        return Err(RecordError::Newer { path: path.to_path_buf(), found: head.schema, known: SCHEMA });
    }
    let Stored { captured } = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    match contradiction(&captured) {
        Some(reason) => Err(refused(reason.to_string())),
        None => Ok(captured),
    }
}

/// What cannot be so.
fn contradiction(captured: &Captured) -> Option<&'static str> {
    let within = |sum: Option<u64>| sum.is_some_and(|sum| sum <= MOST);
    if captured.lanes as usize > captured.operations.len().max(MOST_LANES) {
        return Some("it has more lanes than any");
    }
    if !within(captured.slices.iter().try_fold(0_u64, |sum, slice| sum.checked_add(*slice)))
        || !within(captured.files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.bytes)))
    {
        return Some("its times or files are longer than any");
    }
    for operation in &captured.operations {
        let Some(slice) = captured.slices.get(operation.slice as usize) else {
            return Some("an operation is in a slice that it does not list");
        };
        if operation.lane >= captured.lanes {
            return Some("an operation is in a lane that it does not have");
        }
        if operation.file as usize >= captured.files.len() {
            return Some("an operation is on a file that it does not list");
        }
        if operation.at_ns > *slice {
            return Some("an operation begins after its slice");
        }
        if !within(operation.at_ns.checked_add(operation.took_ns)) {
            return Some("an operation takes longer than any");
        }
        if !within(operation.offset.checked_add(operation.bytes)) {
            return Some("an operation is beyond the end of any file");
        }
    }
    if captured.processors.is_some_and(|processors| !processors.is_possible()) {
        return Some("more processors were used than it has");
    }
    let known = |wait: &AwaitedSync| {
        let ends = wait.at_ns.checked_add(wait.took_ns);
        let slice = captured.slices.get(wait.slice as usize);
        ends.zip(slice).is_some_and(|(end, slice)| end <= *slice)
            && wait.lane < captured.lanes
            && (wait.file as usize) < captured.files.len()
    };
    if !captured.awaited.iter().all(known) {
        return Some("a wait is in a slice or lane, or for a file, that it does not have");
    }
    let keys = captured.operations.iter().map(|operation| (operation.slice, operation.at_ns));
    let waits = captured.awaited.iter().map(|wait| (wait.slice, wait.at_ns));
    if keys.is_sorted() && waits.is_sorted() { None } else { Some("what it lists is not in order of time") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CapturedProcessors;
    use crate::captured::tests::captured;

    fn read(text: &str) -> Result<Captured, RecordError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.halfpower");
        std::fs::write(&path, text).unwrap();
        read_capture(&path)
    }

    fn written(captured: &Captured) -> String {
        let mut text = Vec::new();
        write_capture(captured, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_was_written_is_read_again() {
        let text = written(&captured());
        assert!(text.starts_with(CAPTURE_MARK), "{text}");
        assert!(text.contains(r#"[0,0,300000,400000,"fdatasync",0,0,0,false]"#), "{text}");
        assert_eq!(read(&text).unwrap(), captured());
        let waits = Captured { awaited: vec![waited()], ..captured() };
        assert_eq!(read(&written(&waits)).unwrap(), waits);
        let mut cut = Captured { lanes: 64, ..captured() };
        cut.operations.truncate(1);
        assert_eq!(read(&written(&cut)).unwrap(), cut, "most lanes had not begun");
    }

    fn waited() -> AwaitedSync {
        AwaitedSync { slice: 0, lane: 1, at_ns: 600_000, took_ns: 100_000, file: 0, shared: true }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (why, broken) in [
            ("a lane that it does not have", Captured { lanes: 1, ..captured() }),
            ("more lanes than any", Captured { lanes: 1 << 20, ..captured() }),
            ("a slice that it does not list", Captured { slices: vec![1_000_000], ..captured() }),
            ("after its slice", Captured { slices: vec![400_000, 1_000_000], ..captured() }),
            ("takes longer than any", {
                let mut broken = captured();
                broken.operations[1].took_ns = u64::MAX;
                broken
            }),
            ("a file that it does not list", Captured { files: Vec::new(), ..captured() }),
            ("longer than any", Captured { slices: vec![u64::MAX, u64::MAX], ..captured() }),
            ("not in order", {
                let mut broken = captured();
                broken.operations.swap(0, 3);
                broken
            }),
            ("more processors", {
                let seen = CapturedProcessors { count: 2, own: 2.5, others: 0.0, quota: None, ready: None };
                Captured { processors: Some(seen), ..captured() }
            }),
            ("a wait", Captured { awaited: vec![AwaitedSync { took_ns: 2_000_000, ..waited() }], ..captured() }),
            ("a wait", Captured { awaited: vec![AwaitedSync { lane: 2, ..waited() }], ..captured() }),
            ("a wait", Captured { awaited: vec![AwaitedSync { file: 1, ..waited() }], ..captured() }),
        ] {
            let said = read(&written(&broken)).unwrap_err().to_string();
            assert!(said.contains(why), "{why}: {said}");
        }
        let newer = written(&captured()).replacen("\"schema\":1", "\"schema\":2", 1);
        assert!(read(&newer).unwrap_err().to_string().contains("newer halfpower"));
        assert!(read("{}").unwrap_err().to_string().contains("begins otherwise"));
        assert!(matches!(read_capture(Path::new("/dev/zero")), Err(RecordError::Unreadable { .. })));
    }
}
