//! Translates SQLIO's command lines and parameter files, and prints records in SQLIO's layout.
//!
//! The options are those of SQLIO 1.5; the layout of its text is made again from printed examples of it.

mod asked;
mod layout;
mod options;
mod parameter_file;
mod shown;

use std::ffi::{OsStr, OsString};

pub use asked::Asked;
pub(crate) use options::OPTIONS;

use crate::table::attached;
use crate::{Refusal, RunWords, Translation};

/// Translates the words after `halfpower sqlio`.
///
/// # Errors
/// Every option that is not taken.
pub fn translate(words: &[OsString]) -> Result<Translation, Vec<Refusal>> {
    let mut asked = Asked::default();
    let mut refusals = Vec::new();
    for word in words {
        let text = word.to_str().unwrap_or_default();
        if !text.starts_with('-') {
            asked.run.files.push(word.clone());
        } else if text.starts_with("--") {
            asked.run.own.push(word.clone());
        } else if let Some((row, value)) = attached(OPTIONS, text) {
            if let Err(why) = row.apply(&mut asked, OsStr::new(value)) {
                refusals.push(Refusal::of(text, why));
            }
        } else {
            refusals
                .push(Refusal::of(text, "is no option of SQLIO that halfpower knows; `halfpower sqlio` lists them"));
        }
    }
    let shown = asked.shown.clone();
    match asked.finished() {
        Ok(run) if refusals.is_empty() => Ok(Translation { runs: vec![run], layout: Some(Box::new(shown)) }),
        Ok(_) => Err(refusals),
        Err(why) => {
            refusals.push(Refusal::of("", why));
            Err(refusals)
        }
    }
}

/// The file that SQLIO works on where none is named.
const USUAL_FILE: &str = "testfile.dat";

impl Asked {
    /// The run, with SQLIO's defaults for what was left out.
    fn finished(self) -> Result<RunWords, String> {
        let Self { mut run, writes, random, synchronous, .. } = self;
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
