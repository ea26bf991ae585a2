//! Translates SQLIO's command lines and parameter files, and prints records in SQLIO's layout and as its trace.
//!
//! The options are those of SQLIO 1.5; the layout follows printed examples.

mod layout;
mod options;
pub(crate) mod results;
mod trace;

use std::ffi::{OsStr, OsString};

pub(crate) use options::OPTIONS;
pub use options::ParsedOptions;
pub use trace::{TRACE_FIELDS, TraceError, TraceLine, read_trace, write_trace};

use halfpower_spec::Bytes;

use crate::attached::{self, AttachedLine};
use crate::{OptionRow, Refusal, RunWords, Translation};

/// Translates the words after `halfpower sqlio`.
///
/// # Errors
/// Every option that is refused.
pub fn translate(words: &[OsString]) -> Result<Translation, Vec<Refusal>> {
    attached::translate(ParsedOptions::default(), words)
}

/// SQLIO's default file.
const USUAL_FILE: &str = "testfile.dat";

impl AttachedLine for ParsedOptions {
    const TOOL: &'static str = "SQLIO";
    const COMMAND: &'static str = "sqlio";
    const OPTIONS: &'static [OptionRow<Self>] = OPTIONS;

    fn take_file(&mut self, word: &OsStr) {
        self.run.files.push(word.into());
    }

    fn take_own(&mut self, word: &OsStr) {
        self.run.own.push(word.into());
    }

    fn finished(self) -> Result<Translation, String> {
        let shown = self.shown.clone();
        Ok(Translation::of(vec![self.run()?], Some(Box::new(shown))))
    }
}

impl ParsedOptions {
    /// The run, with SQLIO's defaults for missing options.
    fn run(self) -> Result<RunWords, String> {
        let Self { mut run, writes, random, synchronous, base, file_bytes, .. } = self;
        run.use_part(Bytes(base), file_bytes.map(Bytes)).map_err(|why| format!("-S: {why}; write a smaller block"))?;
        if run.files.is_empty() {
            run.files.push(USUAL_FILE.into());
        }
        run.set(
            "--rw",
            match (random, writes) {
                (false, false) => "read",
                (false, true) => "write",
                (true, false) => "randread",
                (true, true) => "randwrite",
            },
        );
        for (flag, value) in [("--bs", "2KiB"), ("--iodepth", "1"), ("--runtime", "30s"), ("--cache", "none")] {
            run.unless_set(flag, value);
        }
        if synchronous {
            run.set("--engine", "sync");
        }
        let threads = run.get("--threads").unwrap_or("1") != "1";
        if !random && threads {
            run.note("-t: sequential threads each go through a part of the file of their own");
        }
        if run.files.len() > 1 {
            run.note("several files: each has the threads and the depth for itself, as in SQLIO");
        }
        run.finish()?;
        Ok(run)
    }
}
