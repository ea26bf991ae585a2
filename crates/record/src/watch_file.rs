//! Writes what was seen of an application to a file, and reads it again.
//!
//! The file is one JSON object: `watch_by` (which marks the file as halfpower's), `schema` (its layout) and `watched`.
//! Whoever wrote it may be anybody: it is read up to a limit, and numbers whose sums would not fit are refused.

use std::fmt;
use std::io::Write;
use std::path::Path;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::output::WATCH_MARK;
use crate::{RecordError, Watched, input};

/// Layout of the file; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 1;
/// Most that all whole numbers of a file may add up to, so that no sum of some of them overflows.
const MOST_TOGETHER: u64 = i64::MAX as u64;

#[derive(Serialize)]
struct Whole<'a> {
    watch_by: &'a str,
    schema: u32,
    watched: &'a Watched,
}

#[derive(Deserialize)]
struct Head {
    schema: u32,
}

#[derive(Deserialize)]
struct Stored {
    watched: Watched,
}

/// Writes what was seen.
///
/// # Errors
/// [`RecordError::Stream`] if `out` takes no more.
pub fn write_watch(watched: &Watched, mut out: impl Write) -> Result<(), RecordError> {
    let watch_by = concat!("halfpower ", env!("CARGO_PKG_VERSION"));
    serde_json::to_writer(&mut out, &Whole { watch_by, schema: SCHEMA, watched })?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Reads what [`write_watch`] wrote.
///
/// # Errors
/// [`RecordError::Unreadable`], [`RecordError::NotAWatch`] or [`RecordError::Newer`].
pub fn read_watch(path: &Path) -> Result<Watched, RecordError> {
    let text = input::read_text(path, input::MOST_OF_RESULTS)
        .map_err(|error| RecordError::Unreadable { path: path.to_path_buf(), reason: error.to_string() })?;
    let refused = |reason: String| RecordError::NotAWatch { path: path.to_path_buf(), reason };
    if !text.starts_with(WATCH_MARK) {
        return Err(refused("it begins otherwise".to_string()));
    }
    let head: Head = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    if head.schema > SCHEMA {
        return Err(RecordError::Newer { path: path.to_path_buf(), found: head.schema, known: SCHEMA });
    }
    let Together(together) = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    if together > MOST_TOGETHER {
        return Err(refused("its numbers are larger than any watch has".to_string()));
    }
    let Stored { watched } = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    let places = watched.places.len();
    if watched.operations.iter().filter_map(|operations| operations.place).any(|place| place >= places) {
        return Err(refused("operations are on a place that it does not list".to_string()));
    }
    if watched.probe.as_ref().is_some_and(|probe| probe.place >= places) {
        return Err(refused("its probe is on a place that it does not list".to_string()));
    }
    Ok(watched)
}

/// The sum of all whole numbers of a JSON text, whatever they mean.
struct Together(u64);

impl<'de> Deserialize<'de> for Together {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Adding)
    }
}

struct Adding;

impl<'de> Visitor<'de> for Adding {
    type Value = Together;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Together, E> {
        Ok(Together(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Together, E> {
        Ok(Together(value.unsigned_abs()))
    }

    // What is not whole is not added up as such.
    fn visit_f64<E>(self, _: f64) -> Result<Together, E> {
        Ok(Together(0))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Together, E> {
        Ok(Together(0))
    }

    fn visit_str<E>(self, _: &str) -> Result<Together, E> {
        Ok(Together(0))
    }

    fn visit_unit<E>(self) -> Result<Together, E> {
        Ok(Together(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Together, A::Error> {
        let mut sum = 0_u64;
        while let Some(Together(item)) = items.next_element()? {
            sum = sum.saturating_add(item);
        }
        Ok(Together(sum))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Together, A::Error> {
        let mut sum = 0_u64;
        while let Some((IgnoredAny, Together(member))) = members.next_entry()? {
            sum = sum.saturating_add(member);
        }
        Ok(Together(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        IssuedBy, Latency, OperationKind, Operations, ProbeStop, SafeProbe, Subject, Wait, WatchedPlace, WatchedSecond,
    };

    fn watched() -> Watched {
        let mut latency = Latency::default();
        [90_000, 110_000, 5_000_000].into_iter().for_each(|ns| latency.add(ns));
        Watched {
            subject: Subject { asked: "pid 4711".to_string(), name: "postgres".to_string(), ..Subject::default() },
            span_ns: 2_000_000_000,
            traced_ns: 2_000_000_000,
            slices: 1,
            places: vec![WatchedPlace { path: "/srv".to_string(), ..WatchedPlace::default() }],
            operations: vec![Operations {
                place: Some(0),
                kind: OperationKind::Read,
                by: IssuedBy::Calls,
                direct: Some(true),
                count: 3,
                unended: 0,
                bytes: 3 * 8192,
                sizes: vec![(8192, 3)],
                sequential: 0,
                appends: 0,
                cached: 0,
                latency: latency.clone(),
                waits: vec![(Wait::Device, 5_200_000)],
                threads: 1,
                depth_while_busy: 1.0,
                depth: 0.1,
                deepest: 1,
                shared_flushes: 0,
            }],
            seconds: vec![WatchedSecond { reads: latency, ..WatchedSecond::default() }, WatchedSecond::default()],
            ..Watched::default()
        }
    }

    /// What reading this text says.
    fn read(text: &str) -> Result<Watched, RecordError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.watch.json");
        std::fs::write(&path, text).unwrap();
        read_watch(&path)
    }

    fn written() -> String {
        let mut text = Vec::new();
        write_watch(&watched(), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_was_written_is_read_again() {
        let text = written();
        assert!(text.starts_with(WATCH_MARK), "{text}");
        assert_eq!(read(&text).unwrap(), watched());
    }

    #[test]
    fn a_probe_is_kept_and_a_watch_without_one_is_as_it_was() {
        assert!(!written().contains("\"probe\""));
        let mut probed = watched();
        let latency = probed.operations[0].latency.clone();
        let latency = vec![(4096, latency), (8192, Latency::default())];
        let stopped = Some(ProbeStop::ReadsSlower);
        probed.probe = Some(SafeProbe { place: 0, of_own_file: true, requests: 7, latency, stopped });
        let mut text = Vec::new();
        write_watch(&probed, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(read(&text).unwrap(), probed);
        let elsewhere = text.replace("\"probe\":{\"place\":0", "\"probe\":{\"place\":1");
        assert!(read(&elsewhere).unwrap_err().to_string().contains("its probe is on a place that it does not list"));
    }

    #[test]
    fn what_no_watch_has_is_refused() {
        let text = written();
        for (other, why) in [
            ("{}".to_string(), "begins otherwise"),
            ("[\n{\"generator\":\"halfpower 1\"}]".to_string(), "begins otherwise"),
            (text[..text.len() / 2].to_string(), "EOF"),
            (text.replacen("\"schema\":1", "\"schema\":2", 1), "newer halfpower"),
            (text.replacen("\"place\":0", "\"place\":1", 1), "does not list"),
            (text.replacen("\"bytes\":24576", "\"bytes\":18446744073709551615", 1), "larger than any"),
        ] {
            assert_ne!(other, text);
            let said = read(&other).unwrap_err().to_string();
            assert!(said.contains(why), "{why}: {said}");
        }
    }

    #[test]
    fn no_text_of_it_is_read_without_end() {
        assert!(matches!(read_watch(Path::new("/dev/zero")), Err(RecordError::Unreadable { .. })));
        // Brackets without end are refused, and take no stack.
        let deep = format!("{WATCH_MARK}1\",\"schema\":1,\"watched\":{}", "[".repeat(1 << 20));
        assert!(matches!(read(&deep), Err(RecordError::NotAWatch { .. })));
    }
}
