//! Reads a job file: sections, globals, comments and variables, in UTF-8 or Latin-1.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use halfpower_record::input;

use super::job::Job;
use super::keywords;
use super::options::named;
use crate::{Refusal, Value};

/// Returns the jobs of a file, each with `shared` and the preceding globals.
///
/// # Errors
/// Every key that is refused, with its line.
pub(super) fn read(path: &Path, shared: &Job) -> Result<Vec<Job>, Vec<Refusal>> {
    let wrong = |line: usize, option: &str, why: String| Refusal {
        place: if line == 0 { path.display().to_string() } else { format!("{}, line {line}", path.display()) },
        option: option.to_string(),
        why,
    };
    let bytes = input::read(path, input::MOST_OF_A_TEXT).map_err(|error| {
        vec![wrong(
            0,
            "",
            format!("cannot be read ({error}): name a job file that is there, or write its keys as flags"),
        )]
    })?;
    let mut globals = shared.clone();
    let mut jobs: Vec<Job> = Vec::new();
    // The open section: a job, the globals, or one that was not selected.
    let mut open = Section::None;
    let mut refusals = Vec::new();
    for (number, line) in lines(&bytes).enumerate().map(|(index, line)| (index + 1, without_comment(line))) {
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")) {
            let name = text(name);
            open = Section::of(&name, shared);
            if open == Section::Job {
                let mut job = globals.clone();
                job.run.name = name.into_owned();
                jobs.push(job);
            }
            continue;
        }
        let (key, value) = match line.iter().position(|byte| *byte == b'=') {
            Some(at) => (line[..at].trim_ascii(), Some(line[at + 1..].trim_ascii())),
            None => (line, None),
        };
        let key = text(key);
        let job = match open {
            Section::Global => &mut globals,
            Section::Job => jobs.last_mut().expect("a section was pushed"),
            Section::Passed => continue,
            Section::None => {
                refusals.push(wrong(number, &key, "stands before the first section, such as [global]".to_string()));
                continue;
            }
        };
        let replaced = value.map(keywords::replaced).transpose();
        if let Err(why) = replaced.and_then(|value| take(job, &key, value)) {
            refusals.push(wrong(number, &key, why));
        }
    }
    if jobs.is_empty() && refusals.is_empty() {
        refusals.push(wrong(0, "", "has no job; a job begins with a line such as [read]".to_string()));
    }
    if refusals.is_empty() { Ok(jobs) } else { Err(refusals) }
}

/// Whether the first line that holds something opens a section.
pub(super) fn begins_with_section(bytes: &[u8]) -> bool {
    let mut written = lines(bytes).map(without_comment).filter(|line| !line.is_empty());
    written.next().is_some_and(|line| line.starts_with(b"[") && line.ends_with(b"]"))
}

/// The lines of a file, without the mark of UTF-8 (byte order mark) that some editors put before them.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).split(|byte| *byte == b'\n')
}

/// UTF-8, or else Latin-1, in which each byte is a character.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// The section that lines belong to.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    None,
    Global,
    Job,
    /// A section that `--section` leaves out.
    Passed,
}

impl Section {
    fn of(name: &str, shared: &Job) -> Self {
        let wanted = &shared.wants_sections;
        match name {
            "global" => Self::Global,
            name if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) => Self::Job,
            _ => Self::Passed,
        }
    }
}

/// The line without its comment, which begins with `;` or `#`.
fn without_comment(line: &[u8]) -> &[u8] {
    line.split(|byte| matches!(byte, b';' | b'#')).next().unwrap_or_default().trim_ascii()
}

fn take(job: &mut Job, key: &str, value: Option<OsString>) -> Result<(), String> {
    let Some(row) = named(key) else {
        return Err("is no option of fio that halfpower knows; take the line out".to_string());
    };
    match value {
        None if row.value == Value::Needed => Err("write it as key=value".to_string()),
        value => row.apply(job, &value.unwrap_or_default()),
    }
}
