//! Translates diskspd's command lines, and prints records in diskspd's text and XML.
//!
//! The options are those of diskspd 2.0 to 2.2; the layouts follow public descriptions and examples.

mod layout;
mod options;
mod profile_line;
pub(crate) mod results;
mod xml;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(crate) use options::OPTIONS;
pub use options::ParsedOptions;
use options::Shown;

use halfpower_spec::{Bytes, MOST_PAYLOAD};

use crate::attached::{self, AttachedLine};
use crate::{Layout, Measured, OptionRow, Refusal, RunWords, Translation};

/// Translates the words after `halfpower diskspd`.
///
/// # Errors
/// Every option that is refused.
pub fn translate(words: &[OsString]) -> Result<Translation, Vec<Refusal>> {
    let mut asked = ParsedOptions::new();
    let typed: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    asked.shown.line = typed.join(" ");
    let names_profile = |word: &&OsString| word.len() > 2 && word.as_bytes().starts_with(b"-X");
    let Some(profile) = words.iter().find(names_profile) else { return attached::translate(asked, words) };
    let beside: Vec<OsString> = words.iter().filter(|word| *word != profile).cloned().collect();
    let file = Path::new(OsStr::from_bytes(&profile.as_bytes()[2..]));
    let refused = |why: String| vec![Refusal::of(profile.to_string_lossy(), why)];
    attached::translate(asked, &profile_line::words(file, &beside).map_err(refused)?)
}

impl AttachedLine for ParsedOptions {
    const TOOL: &'static str = "diskspd";
    const COMMAND: &'static str = "diskspd";
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
    /// The run, with diskspd's defaults for missing options.
    fn run(mut self) -> Result<RunWords, String> {
        let mut run = std::mem::take(&mut self.run);
        let Self { writes_percent, random, block_bytes, .. } = self;
        if run.files.is_empty() {
            return Err("name a target: a file, a folder or a block device".to_string());
        }
        let end = self.end.into_iter().chain(self.file_bytes).min();
        run.use_part(Bytes(self.base), end.map(Bytes))
            .map_err(|why| format!("-B, -f, -c: {why}; write a larger end"))?;
        set_stride(&mut run, self.stride.filter(|bytes| !random && *bytes != block_bytes), block_bytes)?;
        run.set(
            "--rw",
            match (random, writes_percent) {
                (false, 0) => "read",
                (false, 100) => "write",
                (false, _) => "rw",
                (true, 0) => "randread",
                (true, 100) => "randwrite",
                (true, _) => "randrw",
            },
        );
        if !matches!(writes_percent, 0 | 100) {
            run.set("--rwmixread", 100 - writes_percent);
        }
        set_all_threads(&mut run, self.total_threads)?;
        if random {
            self.set_places(&mut run)?;
        }
        if writes_percent > 0 {
            self.set_content(&mut run);
        }
        set_bursts(&mut run, self.burst, self.pause_ms)?;
        set_mapping(&mut run, self.mapped, self.flushes_view, writes_percent > 0)?;
        for (flag, value) in [("--iodepth", "2"), ("--runtime", "10s"), ("--cache", "both"), ("--seed", "0")] {
            run.unless_set(flag, value);
        }
        run.set("--bs", Bytes(block_bytes));
        if self.shown.warm_up_s > 0 {
            run.set("--ramp-time", format!("{}s", self.shown.warm_up_s));
        }
        if run.get("--cache").is_none_or(|cache| cache == "device" || cache == "none") {
            run.unset("--fadvise");
        }
        if !random {
            self.go_through_in_order(&mut run)?;
        }
        if run.get("--rate").is_some() || run.get("--rate-iops").is_some() {
            run.note("-g: requests come at this rate whether or not earlier ones are done; latency counts from when one was due");
        }
        run.finish()?;
        Ok(run)
    }

    /// Says what is written, if it is neither random nor diskspd's pattern.
    fn set_content(&self, run: &mut RunWords) {
        if self.zeros {
            run.set("--compressible", 100);
        }
        let Some((file, bytes)) = &self.source else { return };
        run.unset("--compressible");
        run.set("--payload", file);
        run.set("--payload-size", Bytes(*bytes).min(MOST_PAYLOAD));
        if Bytes(*bytes) > MOST_PAYLOAD {
            run.note(format!("-Z: the first {MOST_PAYLOAD} of {file} are written, and not more"));
        }
    }

    /// Says which places random requests reach, and how often.
    fn set_places(&self, run: &mut RunWords) -> Result<(), String> {
        if let Some(share) = self.random_percent {
            run.set("--jump", format!("{share}%"));
        }
        if let Some(zones) = &self.zones {
            run.set("--random-distribution", zones);
        }
        let Some(bytes) = self.random_align.filter(|bytes| *bytes != self.block_bytes) else { return Ok(()) };
        if self.random_percent.is_some() {
            return Err(format!(
                "-r{bytes}: requests that follow the one before have no other alignment; write -rs alone"
            ));
        }
        run.set("--blockalign", Bytes(bytes));
        Ok(())
    }

    /// What sequential threads of one target go through: with `-si` the same blocks, in one thread here; with `-p` each
    /// request of a thread all blocks of the thread.
    fn go_through_in_order(&self, run: &mut RunWords) -> Result<(), String> {
        let Self { interlocked, parallel, backwards, apart, .. } = *self;
        if parallel && (interlocked || backwards) {
            let other = if backwards { "-sb" } else { "-si" };
            return Err(format!("-p and {other} are two orders of offsets: leave one of them out"));
        }
        if parallel {
            run.set("--same-blocks", "");
        }
        if backwards {
            run.set("--backwards", "");
        }
        let threads = run.get("--threads").and_then(|threads| threads.parse().ok()).unwrap_or(1_u32);
        if interlocked && threads > 1 {
            let depth = run.get("--iodepth").and_then(|depth| depth.parse().ok()).unwrap_or(2_u32);
            run.set("--threads", 1);
            run.set("--iodepth", depth.saturating_mul(threads));
            run.note(format!(
                "-si: one thread has the {} requests of all {threads}, since threads share no sequence of blocks",
                depth.saturating_mul(threads)
            ));
        } else if threads > 1 {
            let distance = if apart { "whatever distance -T gives" } else { "as with -T" };
            run.note(format!("-t: sequential threads each go through a part of the target of their own, {distance}"));
        }
        Ok(())
    }
}

/// Sets the threads of all targets together, of which there may be one then.
fn set_all_threads(run: &mut RunWords, threads: Option<u32>) -> Result<(), String> {
    let Some(threads) = threads else { return Ok(()) };
    if run.files.len() > 1 {
        return Err(format!("-F{threads}: threads belong to a target each; use -t"));
    }
    run.set("--threads", threads);
    Ok(())
}

/// Lets requests come in bursts, each so long after the one before went out.
fn set_bursts(run: &mut RunWords, requests: Option<u32>, pause_ms: Option<u32>) -> Result<(), String> {
    match (requests, pause_ms) {
        (None, None) => Ok(()),
        (Some(requests @ 1..), Some(pause_ms @ 1..)) => {
            if run.get("--rate").is_some() || run.get("--rate-iops").is_some() {
                return Err("-i and -j say when requests come, and so does -g: leave one of them out".to_string());
            }
            run.set("--thinktime", format!("{pause_ms}ms"));
            run.set("--thinktime-blocks", requests);
            run.set("--thinktime-from", "issued");
            Ok(())
        }
        _ => Err(
            "bursts have a number of requests, -i, and milliseconds between them, -j: write both, such as -i10 -j100"
                .to_string(),
        ),
    }
}

/// Maps the target into memory, and flushes each write there, if that is asked for.
fn set_mapping(run: &mut RunWords, mapped: bool, flushes: bool, writes: bool) -> Result<(), String> {
    if !mapped {
        return if flushes { Err("-N flushes memory that is mapped: add -Sm".to_string()) } else { Ok(()) };
    }
    run.set("--engine", "mmap");
    if flushes && writes {
        run.set("--fdatasync", 1);
        run.set("--flush-by", "sync_file_range");
        run.note("-Nv: each flush is of all pages of the file, also those that other threads have written");
    }
    Ok(())
}

/// Sets the distance between sequential requests, if one is named.
fn set_stride(run: &mut RunWords, stride: Option<u64>, block_bytes: u64) -> Result<(), String> {
    let Some(bytes) = stride else { return Ok(()) };
    if bytes == 0 || !bytes.is_multiple_of(block_bytes) {
        return Err(format!(
            "-s{bytes}: requests begin at multiples of their size, {block_bytes} bytes; write such a distance, or -s alone"
        ));
    }
    run.set("--stride", Bytes(bytes));
    Ok(())
}

impl Layout for Shown {
    fn print(&self, measured: &[Measured<'_>], out: &mut dyn Write) -> io::Result<()> {
        let print = if self.xml { xml::print } else { layout::print };
        measured.iter().try_for_each(|run| print(self, run, out))
    }
}
