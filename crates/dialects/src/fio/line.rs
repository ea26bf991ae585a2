//! Parses a command line that mixes fio's options with flags of `halfpower run`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::job::Job;
use super::job_file;
use super::options::named;
use crate::{Refusal, Translation, Value};

/// fio's options that are also flags of `halfpower run` with the same meaning; they do not make a line fio's.
const SHARED: [&str; 19] = [
    "rw",
    "rwmixread",
    "bs",
    "blocksize",
    "iodepth",
    "numjobs",
    "ioengine",
    "direct",
    "sync",
    "rate",
    "rate_iops",
    "runtime",
    "size",
    "randseed",
    "fdatasync",
    "thinktime",
    "iodepth_batch",
    "iomem",
    "verify",
];

/// Whether the words after `halfpower run` are fio's.
pub fn speaks(words: &[OsString]) -> bool {
    words.iter().any(|word| match key(word) {
        Some((key, _)) => {
            let plain = key.replace('-', "_");
            let is_ours = SHARED.contains(&plain.as_str()) || plain == "overwrite" || plain == "timeout";
            !is_ours && named(&key).is_some()
        }
        None => is_job_file(Path::new(word)),
    })
}

/// Whether the file is a job file: its name ends in .fio, or its first meaningful line opens a section.
fn is_job_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "fio")
        || path.metadata().is_ok_and(|data| data.is_file() && data.len() < 1 << 20) && {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let mut lines =
                text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
            lines.next().is_some_and(|line| line.starts_with('[') && line.ends_with(']'))
        }
}

/// The key of a long option, and its attached value. fio's options may also have a single dash; halfpower's own short
/// flags have one letter.
fn key(word: &OsStr) -> Option<(String, Option<OsString>)> {
    if let Some(bytes) = word.as_bytes().strip_prefix(b"--") {
        return key_of(bytes);
    }
    let (key, value) = key_of(word.as_bytes().strip_prefix(b"-")?)?;
    let is_long = key.len() > 1 && (value.is_some() || !key.ends_with(|letter: char| letter.is_ascii_digit()));
    (is_long && named(&key).is_some()).then_some((key, value))
}

fn key_of(bytes: &[u8]) -> Option<(String, Option<OsString>)> {
    let end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
    let key = std::str::from_utf8(&bytes[..end]).ok().filter(|key| !key.is_empty())?.to_string();
    Some((key, bytes.get(end + 1..).map(|value| OsString::from_vec(value.to_vec()))))
}

/// The options collected from a line.
#[derive(Default)]
struct Line {
    /// Options common to all jobs.
    shared: Job,
    jobs: Vec<Job>,
    /// Whether options go to what all jobs to come have in common, after `--name=global`.
    is_global: bool,
    files: Vec<OsString>,
    refusals: Vec<Refusal>,
}

impl Line {
    /// The job that the next option belongs to.
    fn job(&mut self) -> &mut Job {
        match self.jobs.last_mut() {
            Some(job) if !self.is_global => job,
            _ => &mut self.shared,
        }
    }

    /// Takes an option; returns whether it used `next`.
    fn option(&mut self, word: &OsStr, key: &str, attached: Option<OsString>, next: Option<&OsString>) -> bool {
        let row = named(key).filter(|row| {
            // Without a value, this is halfpower's own flag.
            !(row.aliases.contains(&"overwrite") && key == "overwrite" && attached.is_none())
                && key != "timeout"
                && !(row.name == "verify"
                    && attached.is_none()
                    && next.is_none_or(|next| next.as_bytes().starts_with(b"-")))
        });
        let names_study = |value: &OsString| Path::new(value).extension().is_some_and(|ending| ending == "halfpower");
        if key == "output" && !attached.as_ref().or(next).is_some_and(names_study) {
            let why = "results go to standard output: write > FILE; a study that the record goes to ends in .halfpower";
            self.refusals.push(Refusal::of("--output", why));
            return attached.is_none();
        }
        let Some(row) = row else {
            self.job().run.own.push(word.to_os_string());
            return false;
        };
        let takes_next = attached.is_none() && row.value == Value::Needed;
        // Most of fio's switches need a value of 0 or 1.
        let switch = next.filter(|next| attached.is_none() && !takes_next && (*next == "0" || *next == "1"));
        let value = match (&attached, takes_next) {
            (Some(value), _) => Some(value.clone()),
            (None, true) => next.cloned(),
            (None, false) => Some(switch.cloned().unwrap_or_default()),
        };
        if row.name == "name" {
            self.is_global = value.as_ref().is_some_and(|name| name == "global");
            if self.is_global {
                self.shared.has_fio_defaults = true;
                return takes_next;
            }
            self.jobs.push(self.shared.clone());
        }
        let outcome = match value {
            Some(value) => row.apply(self.job(), &value),
            None => Err("write a value after it".to_string()),
        };
        if let Err(why) = outcome {
            self.refusals.push(Refusal::of(format!("--{key}"), why));
        }
        takes_next || switch.is_some()
    }
}

/// Translates the words after `halfpower run`.
///
/// # Errors
/// Every option that is refused, with its place.
pub fn translate(words: &[OsString]) -> Result<Translation, Vec<Refusal>> {
    let mut line = Line::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        match key(word) {
            Some((key, attached)) => {
                if line.option(word, &key, attached, words.get(at)) {
                    at += 1;
                }
            }
            None if is_job_file(Path::new(word)) => line.files.push(word.clone()),
            None => line.job().run.own.push(word.clone()),
        }
    }
    let Line { mut shared, mut jobs, files, mut refusals, .. } = line;
    let formats = jobs.iter().fold(shared.formats, |all, job| all.with(job.formats));
    for file in &files {
        shared.has_fio_defaults = true;
        match job_file::read(Path::new(file), &shared) {
            Ok(sections) => jobs.extend(sections),
            Err(more) => refusals.extend(more),
        }
    }
    if jobs.is_empty() {
        jobs.push(shared);
    }
    let mut runs = Vec::new();
    let mut first_thread = 1_u32;
    for (index, job) in jobs.into_iter().enumerate() {
        let name = job.run.name.clone();
        if index > 0 && !job.waits {
            let before = "fio runs this job and the one before it at once, and halfpower one after the other; add stonewall \
                          to it, or --stonewall to the line for all";
            refusals.push(Refusal::of(format!("[{name}]"), before));
        }
        let logs = job.logs.files(&name, first_thread);
        let threads = job.run.get("--threads").and_then(|threads| threads.parse().ok()).unwrap_or(1);
        first_thread = first_thread.saturating_add(threads);
        match job.finished() {
            Ok(mut run) => {
                run.logs = logs;
                runs.push(run);
            }
            Err(why) => refusals.push(Refusal { place: format!("[{name}]"), option: String::new(), why }),
        }
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    Ok(Translation { runs, layout: formats.layout() })
}
