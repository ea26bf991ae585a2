//! Reads a job file: sections, globals, comments and environment variables.

use std::ffi::OsStr;
use std::path::Path;

use halfpower_record::input;

use super::job::Job;
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
    let text = input::read_text(path, input::MOST_OF_A_TEXT).map_err(|error| {
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
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, without_comment(line))) {
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            open = Section::of(name, shared);
            if open == Section::Job {
                let mut job = globals.clone();
                job.run.name = name.to_string();
                jobs.push(job);
            }
            continue;
        }
        let (key, value) = line.split_once('=').map_or((line, None), |(key, value)| (key.trim(), Some(value.trim())));
        let job = match open {
            Section::Global => &mut globals,
            Section::Job => jobs.last_mut().expect("a section was pushed"),
            Section::Passed => continue,
            Section::None => {
                refusals.push(wrong(number, key, "stands before the first section, such as [global]".to_string()));
                continue;
            }
        };
        if let Err(why) = value.map(expanded).transpose().and_then(|value| take(job, key, value)) {
            refusals.push(wrong(number, key, why));
        }
    }
    if jobs.is_empty() && refusals.is_empty() {
        refusals.push(wrong(0, "", "has no job; a job begins with a line such as [read]".to_string()));
    }
    if refusals.is_empty() { Ok(jobs) } else { Err(refusals) }
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
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

fn take(job: &mut Job, key: &str, value: Option<String>) -> Result<(), String> {
    let Some(row) = named(key) else {
        return Err("is no option of fio that halfpower knows; take the line out".to_string());
    };
    match value {
        None if row.value == Value::Needed => Err("write it as key=value".to_string()),
        value => row.apply(job, OsStr::new(&value.unwrap_or_default())),
    }
}

/// Replaces `${NAME}` in the value from the environment.
fn expanded(value: &str) -> Result<String, String> {
    let Some((before, rest)) = value.split_once("${") else { return Ok(value.to_string()) };
    let Some((name, after)) = rest.split_once('}') else { return Err(format!("`{value}` has no closing brace")) };
    let content = std::env::var(name).map_err(|_| format!("the variable {name} is not set in the environment"))?;
    Ok(format!("{before}{content}{}", expanded(after)?))
}
