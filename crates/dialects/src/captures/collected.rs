//! Collects the operations that a trace tells, and makes a capture of them.

use std::collections::{BTreeMap, HashMap};

use halfpower_record::{CaptureSource, Captured, CapturedFile, CapturedOperation, Lanes, OperationKind};
use halfpower_spec::format::{thousands, time_ns};

use crate::foreign_run::FileError;

/// Most operations that a capture keeps, as those of `halfpower watch`.
const MOST_OPERATIONS: usize = 400_000;
/// Longest file that is believed.
const MOST_BYTES: u64 = 1 << 50;
/// Most bytes of all files, and longest time in nanoseconds, that a capture may have.
const MOST: u64 = 1 << 59;

const BEYOND: &str = "operations beyond the end of any file";
const DOUBTFUL: &str =
    "reads and writes of what was open before the trace and may be a socket or a pipe; `strace -y` names it";

/// The text of one file.
pub(crate) struct Text<'a> {
    /// The file's name.
    pub file: &'a str,
    pub text: &'a str,
}

/// The file of several that is broken, by its place among them, and what is wrong in it.
pub(crate) type Broken = (usize, FileError);

/// A capture that was made from the output of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedCapture {
    /// What was asked.
    pub captured: Captured,
    /// Notes for the reader, a sentence each, without full stop.
    pub notes: Vec<String>,
}

/// An operation that a trace tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Who issued it; a thread in most traces.
    pub who: u64,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub kind: OperationKind,
    /// Index of its file, by [`Collected::file`].
    pub file: u32,
    pub offset: u64,
    pub bytes: u64,
    pub cached: bool,
}

/// What is known of a file.
#[derive(Debug, Default)]
struct KnownFile {
    name: String,
    direct: bool,
    /// Its size when its first operation began.
    bytes: u64,
    /// Where it ends now, as far as known.
    reach: u64,
    /// Whether `bytes` was told, so that a write beyond it makes the file longer.
    is_exact: bool,
    /// Whether an operation went to it.
    is_used: bool,
    /// Whether it may be no file at all.
    is_doubtful: bool,
}

/// The operations of a trace so far.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub subject: String,
    pub started_unix_ms: u64,
    /// Sentences that the reader of the capture needs, without full stop.
    pub notes: Vec<String>,
    files: Vec<KnownFile>,
    by_name: HashMap<(String, bool), u32>,
    operations: Vec<Seen>,
    left_out: BTreeMap<&'static str, u64>,
}

impl Collected {
    /// The file of this name, with or without the page cache.
    pub fn file(&mut self, name: &str, direct: bool) -> u32 {
        let next = self.files.len() as u32;
        let file = *self.by_name.entry((name.to_string(), direct)).or_insert(next);
        if file == next {
            self.files.push(KnownFile { name: name.to_string(), direct, ..KnownFile::default() });
        }
        file
    }

    /// Whether operations on this file pass the page cache by.
    pub fn is_direct(&self, file: u32) -> bool {
        self.files[file as usize].direct
    }

    /// Where this file ends now, as far as known.
    pub fn reach(&self, file: u32) -> u64 {
        self.files[file as usize].reach
    }

    /// Notes that this may be no file, unless [`Self::prove`] says otherwise.
    pub fn doubt(&mut self, file: u32) {
        self.files[file as usize].is_doubtful = true;
    }

    /// Notes that this is a file.
    pub fn prove(&mut self, file: u32) {
        self.files[file as usize].is_doubtful = false;
    }

    /// Notes the size that a file has now.
    pub fn sized(&mut self, file: u32, bytes: u64) {
        let known = &mut self.files[file as usize];
        known.reach = bytes.min(MOST_BYTES);
        if !known.is_used {
            known.bytes = known.reach;
            known.is_exact = true;
        }
    }

    /// Notes that a file has at least this size now.
    pub fn grown(&mut self, file: u32, bytes: u64) {
        let known = &mut self.files[file as usize];
        known.reach = known.reach.max(bytes.min(MOST_BYTES));
        if !known.is_used {
            known.bytes = known.bytes.max(known.reach);
        }
    }

    /// Notes that what was read or written of a file was there from the beginning, as of a device.
    pub fn never_grows(&mut self, file: u32) {
        let known = &mut self.files[file as usize];
        known.bytes = known.bytes.max(known.reach);
    }

    /// Notes an operation. Whoever reads further than was written so far reads what was there before; whoever writes beyond
    /// the known end writes into a file that was at least as long, unless its size was told.
    pub fn add(&mut self, seen: Seen) {
        let Some(end) = seen.offset.checked_add(seen.bytes).filter(|end| *end <= MOST_BYTES) else {
            return self.leave_out(BEYOND, 1);
        };
        let known = &mut self.files[seen.file as usize];
        match seen.kind {
            OperationKind::Read | OperationKind::FaultRead if end > known.reach => known.bytes = known.bytes.max(end),
            OperationKind::Write | OperationKind::DurableWrite if seen.offset > known.reach && !known.is_exact => {
                known.bytes = known.bytes.max(seen.offset);
            }
            _ => {}
        }
        known.reach = known.reach.max(end);
        known.is_used = true;
        self.operations.push(seen);
    }

    /// Counts operations that are not in the capture.
    pub fn leave_out(&mut self, why: &'static str, count: u64) {
        let so_far = self.left_out.entry(why).or_default();
        *so_far = so_far.saturating_add(count);
    }

    /// Leaves out the operations on these files.
    pub fn leave_out_files(&mut self, files: &[u32], why: &'static str) {
        let before = self.operations.len();
        self.operations.retain(|seen| !files.contains(&seen.file));
        let left = before - self.operations.len();
        if left > 0 {
            self.leave_out(why, left as u64);
        }
    }

    /// The capture, as one slice from the first operation's beginning to the last one's end.
    pub fn finish(mut self, source: CaptureSource, with_names: bool) -> Result<ImportedCapture, FileError> {
        self.leave_out_doubtful();
        self.operations.sort_by_key(|seen| (seen.begin_ns, seen.end_ns));
        let from_ns = self.operations.first().map_or(0, |first| first.begin_ns);
        let until_ns = self.cut();
        let left_out: Vec<String> =
            self.left_out.iter().map(|(why, count)| format!("left out {}: {why}", thousands(*count as f64))).collect();
        if self.operations.is_empty() {
            let words: Vec<String> = left_out.iter().map(|words| format!("; {words}")).collect();
            return Err(FileError::of_file(format!("it has no operation on a file{}", words.concat())));
        }
        let span_ns = until_ns.saturating_sub(from_ns).max(1);
        if span_ns > MOST {
            return Err(FileError::of_file("its times lie more than 18 years apart; name a trace of one run"));
        }
        let mut places: Vec<Option<u32>> = vec![None; self.files.len()];
        let mut files = Vec::new();
        let mut lanes = Lanes::new();
        let mut operations = Vec::with_capacity(self.operations.len());
        for seen in &self.operations {
            let file = *places[seen.file as usize].get_or_insert_with(|| {
                files.push(self.files[seen.file as usize].captured(with_names));
                files.len() as u32 - 1
            });
            operations.push(CapturedOperation {
                slice: 0,
                lane: lanes.lane(seen.who, seen.begin_ns, seen.end_ns),
                at_ns: seen.begin_ns - from_ns,
                took_ns: seen.end_ns.saturating_sub(seen.begin_ns),
                kind: seen.kind,
                file,
                offset: seen.offset,
                bytes: seen.bytes,
                cached: seen.cached,
            });
        }
        if files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes)) > MOST {
            return Err(FileError::of_file("its files together are longer than any disk"));
        }
        let mut notes = self.notes;
        notes.extend(left_out);
        let left_out = self.left_out.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        let captured = Captured {
            subject: self.subject,
            source,
            started_unix_ms: self.started_unix_ms,
            slices: vec![span_ns],
            left_out,
            files,
            lanes: lanes.count(),
            operations,
            ..Captured::default()
        };
        Ok(ImportedCapture { captured, notes })
    }

    fn leave_out_doubtful(&mut self) {
        let files = &self.files;
        let before = self.operations.len();
        self.operations.retain(|seen| !files[seen.file as usize].is_doubtful);
        let left = before - self.operations.len();
        if left > 0 {
            self.leave_out(DOUBTFUL, left as u64);
        }
    }

    /// Leaves out what is too much, from some time on; the end of the rest.
    fn cut(&mut self) -> u64 {
        let last_ns = self.operations.iter().map(|seen| seen.end_ns).max().unwrap_or(0);
        let Some(first_left) = self.operations.get(MOST_OPERATIONS) else { return last_ns };
        let until_ns = first_left.begin_ns;
        let before = self.operations.len();
        self.operations.truncate(MOST_OPERATIONS);
        // What goes on then is not seen whole.
        self.operations.retain(|seen| seen.end_ns <= until_ns);
        let from_ns = self.operations.first().map_or(until_ns, |first| first.begin_ns);
        let kept = time_ns(until_ns.saturating_sub(from_ns) as f64);
        let room = thousands(MOST_OPERATIONS as f64);
        self.notes.push(format!("kept the first {kept}: there is room for {room} operations"));
        self.leave_out("operations after that", (before - self.operations.len()) as u64);
        until_ns
    }
}

impl KnownFile {
    fn captured(&self, with_name: bool) -> CapturedFile {
        CapturedFile { bytes: self.bytes, direct: self.direct, name: with_name.then(|| self.name.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(who: u64, begin_ns: u64, end_ns: u64, offset: u64) -> Seen {
        Seen { who, begin_ns, end_ns, kind: OperationKind::Write, file: 0, offset, bytes: 512, cached: false }
    }

    #[test]
    fn a_write_beyond_the_known_end_shows_how_long_a_file_was() {
        let grows = |is_told: bool| {
            let mut collected = Collected::default();
            let file = collected.file("/data", false);
            if is_told {
                collected.sized(file, 0);
            }
            for (at, offset) in [0, 512, 4096].into_iter().enumerate() {
                collected.add(seen(1, at as u64 * 10, at as u64 * 10 + 5, offset));
            }
            collected.finish(CaptureSource::Strace, true).ok().unwrap().captured
        };
        assert_eq!(grows(false).files, [CapturedFile { bytes: 4096, direct: false, name: Some("/data".to_string()) }]);
        assert_eq!(grows(true).files[0].bytes, 0);
        assert_eq!((grows(true).slices, grows(true).lanes), (vec![25], 1));
    }

    #[test]
    fn what_is_too_much_ends_the_capture_and_is_counted() {
        let mut collected = Collected::default();
        collected.file("/data", false);
        collected.add(seen(2, 0, 10_000_000, 0));
        for at in 0..MOST_OPERATIONS as u64 + 9 {
            collected.add(seen(1, at * 10 + 1, at * 10 + 5, at * 512));
        }
        let ImportedCapture { captured, notes } = collected.finish(CaptureSource::Strace, false).ok().unwrap();
        assert_eq!(captured.operations.len(), MOST_OPERATIONS - 1);
        assert_eq!((captured.left_out, captured.files[0].name.clone()), (11, None));
        assert!(captured.operations.iter().all(|operation| operation.at_ns + operation.took_ns <= captured.slices[0]));
        assert!(notes[0].contains("400,000") && notes[1].contains("left out 11"), "{notes:?}");
    }

    #[test]
    fn what_may_be_a_socket_is_left_out() {
        let mut collected = Collected::default();
        let socket = collected.file("fd:7", false);
        let file = collected.file("fd:8", false);
        collected.doubt(socket);
        collected.doubt(file);
        collected.add(Seen { file: socket, ..seen(1, 0, 5, 0) });
        collected.add(Seen { file, ..seen(1, 10, 15, 0) });
        collected.prove(file);
        let ImportedCapture { captured, notes } = collected.finish(CaptureSource::Strace, false).ok().unwrap();
        assert_eq!((captured.operations.len(), captured.files.len(), captured.left_out), (1, 1, 1));
        assert!(notes[0].contains("strace -y"), "{notes:?}");
    }
}
