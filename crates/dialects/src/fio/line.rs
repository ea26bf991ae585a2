//! Parses a command line that mixes fio's options with flags of `halfpower run`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use halfpower_record::input;

use super::job::Job;
use super::options::named;
use super::turns::{Place, Turns};
use super::{job_file, turns};
use crate::{Ends, Output, Refusal, RunWords, Translation, Value};

/// fio's options that are also flags of `halfpower run` with the same meaning; they do not make a line fio's.
const SHARED: [&str; 24] = [
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
    "thinktime_blocks",
    "iodepth_batch",
    "iomem",
    "verify",
    "io_size",
    "latency_target",
    "latency_percentile",
    "latency_window",
];

/// Most bytes of a file that may be a job file by what it holds; a larger one is a target.
const MOST_OF_A_JOB_FILE: u64 = 1 << 20;

/// Whether the words after `halfpower run` are fio's.
pub fn speaks(words: &[OsString]) -> bool {
    words.iter().any(|word| match key(word) {
        Some((key, _)) => {
            let plain = key.replace('-', "_");
            let is_ours =
                SHARED.contains(&plain.as_str()) || ["overwrite", "timeout", "output"].contains(&plain.as_str());
            !is_ours && named(&key).is_some()
        }
        None => is_job_file(Path::new(word)),
    })
}

/// Whether the file is a job file: its name ends in .fio, or its first meaningful line opens a section.
fn is_job_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "fio")
        || path.metadata().is_ok_and(|data| data.is_file() && data.len() <= MOST_OF_A_JOB_FILE) && {
            input::read(path, MOST_OF_A_JOB_FILE).is_ok_and(|bytes| job_file::begins_with_section(&bytes))
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
    /// The file that results go to, and whether it may replace a foreign one.
    output: Option<PathBuf>,
    force: bool,
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
        if key == "output" {
            let is_attached = attached.is_some();
            match attached.or_else(|| next.cloned()) {
                None => self.refusals.push(Refusal::of("--output", "write the name of a file after it")),
                // halfpower's own: the study that the record is added to.
                Some(study) if names_study(&study) => self.job().run.own.extend(["--output".into(), study]),
                Some(file) => self.output = Some(file.into()),
            }
            return !is_attached;
        }
        if key == "force" && attached.is_none() {
            self.force = true;
            return false;
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
    let Line { mut shared, mut jobs, files, output, force, mut refusals, .. } = line;
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
    let only_shows = jobs.iter().any(|job| job.only_shows);
    let runs = finished(jobs, &mut refusals);
    if !refusals.is_empty() {
        return Err(for_their_engine(refusals));
    }
    let output = output.map(|path| Output { path, force });
    Ok(Translation { output, only_shows, ..Translation::of(runs, formats.layout()) })
}

/// The runs of jobs, each in its turn; adds why a job is refused.
fn finished(jobs: Vec<Job>, refusals: &mut Vec<Refusal>) -> Vec<RunWords> {
    let of_job = |name: &str, why: String| Refusal { place: format!("[{name}]"), option: String::new(), why };
    let ends_others = jobs.iter().any(|job| job.switches.ends_others);
    let mut places = Turns::default();
    let mut runs: Vec<RunWords> = Vec::new();
    let mut first_thread = 1_u32;
    for job in jobs {
        let name = job.run.name.clone();
        let placed = places.place(&job);
        let logs = job.logs.files(&name, first_thread);
        let threads = job.run.get("--threads").and_then(|threads| threads.parse().ok()).unwrap_or(1);
        first_thread = first_thread.saturating_add(threads);
        let ends = match (ends_others, job.ends) {
            (false, _) => Ends::Itself,
            (true, Ends::Itself) => Ends::Group,
            (true, ends) => ends,
        };
        let is_grouped = job.is_grouped;
        match (placed, job.finished()) {
            (Ok(Place { joins, group }), Ok(mut run)) => {
                run.logs = logs;
                run.joins = joins;
                run.ends = ends;
                run.group = group;
                run.is_grouped = is_grouped;
                runs.push(run);
            }
            (placed, run) => {
                let why = [placed.err(), run.err()];
                refusals.extend(why.into_iter().flatten().map(|why| of_job(&name, why)));
            }
        }
    }
    let twice = turns::simulated_twice(&runs).map(|run| of_job(&run.name, turns::SIMULATED_TWICE.to_string()));
    refusals.extend(twice);
    runs
}

/// Only what is refused for its engine, if anything is: options that go with a foreign engine are no reason.
fn for_their_engine(refusals: Vec<Refusal>) -> Vec<Refusal> {
    let is_for_engine = |refusal: &Refusal| refusal.option.trim_start_matches('-') == "ioengine";
    if !refusals.iter().any(is_for_engine) {
        return refusals;
    }
    refusals.into_iter().filter(is_for_engine).collect()
}
