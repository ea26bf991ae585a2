//! Combines the results of other tools' files into the contents of a study file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use halfpower_record::{Capabilities, Environment, ImportedFile, Machine, Origin, Record, TargetKind, Unknown};
use halfpower_spec::{Bytes, Cache, Direction, InOrder, Nanos, Question, masked_addresses};

use crate::foreign_run::FileError;

/// The results in one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The file and the tool that wrote it.
    pub file: ImportedFile,
    /// The machine that was measured, if the file names it.
    pub host: Option<String>,
    /// A record for each imported result.
    pub records: Vec<Record>,
    /// The reason for each skipped result, a sentence without full stop.
    pub left_out: Vec<String>,
}

/// Why a file could not be read, or files cannot be combined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultsError {
    /// The file is broken at this line.
    #[error("{file}, line {line}: {message}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be accepted.
        message: String,
    },
    /// The file has no known format, or holds no result.
    #[error("{file}: {message}")]
    File {
        /// The file.
        file: String,
        /// What is wrong, and what would be accepted.
        message: String,
    },
    /// The files do not make one study.
    #[error("{0}")]
    Apart(String),
}

impl ResultsError {
    /// What is wrong in the file `file`.
    pub(crate) fn of(trouble: FileError, file: &str) -> Self {
        let file = file.to_string();
        let message = trouble.message;
        match trouble.line {
            Some(line) => Self::Line { file, line, message },
            None => Self::File { file, message },
        }
    }
}

/// Most files that a note lists by name.
const FILES_NAMED: usize = 5;
/// Most targets or settings that a note lists by name.
const NAMED: usize = 3;

/// The contents of a study file with imported results.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedStudy {
    /// The question that the results answer.
    pub question: Question,
    /// The sources of the results, with notes for the reader.
    pub environment: Environment,
    /// A record for each result.
    pub records: Vec<Record>,
}

/// Combines the results of all files into one study of `target`, or of the target that the results name.
///
/// # Errors
/// [`ResultsError::Apart`] if there is no result, or if one cell would mix results of two targets.
pub fn gathered(all: Vec<Results>, target: Option<&str>) -> Result<ImportedStudy, ResultsError> {
    let notes: Vec<String> = notes(&all).iter().map(|note| masked_addresses(note).into_owned()).collect();
    let imported: Vec<_> = all.iter().map(|results| results.file.clone()).collect();
    let hosts: BTreeSet<String> = all.iter().filter_map(|results| results.host.clone()).collect();
    if target.is_none() {
        no_cell_of_two_targets(&all)?;
    }
    let mut records: Vec<Record> = all.into_iter().flat_map(|results| results.records).collect();
    for target in records.iter_mut().filter_map(|record| record.origin.as_mut()?.target.as_mut()) {
        *target = masked_addresses(target).into_owned();
    }
    if records.is_empty() {
        return Err(ResultsError::Apart(format!("no result can be imported: {}", notes.join("; "))));
    }
    number(&mut records);
    let question = question(
        &records,
        target.map_or_else(|| target_of(&records, &imported[0].file), |target| masked_addresses(target).into_owned()),
    );
    let hostname = hosts.first().filter(|_| hosts.len() == 1).cloned();
    let span = records.iter().map(|record| record.span_bytes).max().unwrap_or(0);
    let capabilities = Capabilities { kind: TargetKind::Imported, span: Bytes(span), ..Capabilities::default() };
    let machine = Machine { hostname, ..Machine::default() };
    let environment = Environment { machine, capabilities, notes, imported, ..Environment::default() };
    Ok(ImportedStudy { question, environment, records })
}

fn targets(records: &[Record]) -> BTreeSet<&str> {
    records.iter().filter_map(|record| record.origin.as_ref()?.target.as_deref()).collect()
}

/// The target, as far as the results name it.
fn target_of(records: &[Record], file: &str) -> String {
    let named: BTreeSet<&str> = targets(records).into_iter().flat_map(|name| name.split(", ")).collect();
    let named: Vec<&str> = named.into_iter().collect();
    match named.len() {
        0 => format!("what {file} was measured on"),
        1..=NAMED => named.join(", "),
        many => format!("{} and {} more", named[..NAMED].join(", "), many - NAMED),
    }
}

/// Checks that each cell has results of one target only, because repeats must be of the same target.
fn no_cell_of_two_targets(all: &[Results]) -> Result<(), ResultsError> {
    let mut seen: BTreeMap<(String, &[String]), Place<'_>> = BTreeMap::new();
    for results in all {
        for record in results.records.iter().filter(|record| record.may_repeat()) {
            let Some(origin) = &record.origin else { continue };
            let place = Place::of(results, origin);
            let cell = (record.run.workload.to_string(), &origin.settings[..]);
            let other = *seen.entry(cell).or_insert(place);
            if !other.may_be(place) {
                return Err(ResultsError::Apart(format!(
                    "the results are of {other} and of {place}, with the same settings: import each into a study of its \
                     own and compare them, or say --target NAME to take them for one"
                )));
            }
        }
    }
    Ok(())
}

/// Where a result was measured, as far as its file tells.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place<'a> {
    host: Option<&'a str>,
    target: ResultTarget<'a>,
}

/// What a result was measured on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ResultTarget<'a> {
    Named(&'a str),
    /// No result tells the target of this job of this file: nothing tells that another's is the same.
    OfJob {
        file: &'a str,
        job: &'a str,
    },
    /// The target of a trace, which has a line for each result and no place for a target.
    OfTrace {
        file: &'a str,
    },
}

impl<'a> Place<'a> {
    fn of(results: &'a Results, origin: &'a Origin) -> Self {
        let target = match (&origin.target, &origin.line) {
            (Some(target), _) => ResultTarget::Named(target),
            (None, Some(_)) => ResultTarget::OfTrace { file: &origin.file },
            (None, None) => ResultTarget::OfJob { file: &origin.file, job: &origin.result },
        };
        Self { host: results.host.as_deref(), target }
    }

    /// Whether nothing tells them apart. A host that is not known may be any.
    fn may_be(self, other: Self) -> bool {
        let hosts_differ = self.host.zip(other.host).is_some_and(|(one, other)| one != other);
        self.target == other.target && !hosts_differ
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            ResultTarget::Named(target) => f.write_str(target),
            ResultTarget::OfJob { file, job } => write!(f, "what {job} of {file} was measured on"),
            ResultTarget::OfTrace { file } => write!(f, "what {file} was measured on"),
        }?;
        self.host.map_or(Ok(()), |host| write!(f, " on {host}"))
    }
}

/// Renumbers the repeats of each run in the order of the files, if two have the same number.
fn number(records: &mut [Record]) {
    let mut taken: BTreeSet<(Option<&str>, String, &str, u32)> = BTreeSet::new();
    let mut next: BTreeMap<(Option<&str>, String, &str), u32> = BTreeMap::new();
    for record in records {
        let run = &record.run;
        let name =
            (run.experiment.map(|experiment| experiment.word()), run.workload.identity().to_string(), run.pass.word());
        let mut repeat = run.repeat;
        while !taken.insert((name.0, name.1.clone(), name.2, repeat)) {
            let free = next.entry(name.clone()).or_insert(0);
            repeat = *free;
            *free += 1;
        }
        record.run.repeat = repeat;
    }
}

/// The question that these results answer.
fn question(records: &[Record], target: String) -> Question {
    let workloads = || records.iter().map(|record| &record.run.workload);
    let rising = |values: BTreeSet<u64>| values.into_iter().collect::<Vec<_>>();
    let told = |setting| records.iter().filter(move |record| record.knows(setting)).map(|record| &record.run.workload);
    let caches: BTreeSet<Cache> = told(Unknown::Cache).map(|workload| workload.cache).collect();
    let reads = |direction| workloads().any(|workload| workload.rw.direction().is_none_or(|one| one == direction));
    let budget_ns = records.iter().fold(0_u64, |sum, record| sum.saturating_add(record.spent_ns));
    Question {
        directions: Direction::ALL.iter().copied().filter(|direction| reads(*direction)).collect(),
        bs: rising(told(Unknown::BlockSize).map(|workload| workload.bs.0).collect()).into_iter().map(Bytes).collect(),
        iodepth: told(Unknown::Depth).map(|workload| workload.iodepth).collect::<BTreeSet<u32>>().into_iter().collect(),
        cache: caches.into_iter().collect(),
        threads: told(Unknown::Depth).map(|workload| workload.threads).max().unwrap_or(1),
        budget: Nanos(budget_ns),
        repeats: 1,
        ..Question::about(target)
    }
}

/// Notes for the reader of these results, a sentence each.
fn notes(all: &[Results]) -> Vec<String> {
    let mut notes: Vec<String> =
        all.iter().take(FILES_NAMED).map(|results| format!("imported {}", results.file)).collect();
    if all.len() > FILES_NAMED {
        notes.push(format!("imported {} more files", all.len() - FILES_NAMED));
    }
    notes.extend(not_told(all));
    notes.extend(settings(all));
    for results in all {
        notes.extend(results.left_out.iter().map(|why| format!("{}: left out {why}", results.file.file)));
    }
    notes
}

/// The values that results lack, those that most lack first.
fn not_told(all: &[Results]) -> Option<String> {
    let origins = all.iter().flat_map(|results| &results.records).filter_map(|record| record.origin.as_ref());
    let mut counts: BTreeMap<Unknown, usize> = BTreeMap::new();
    let mut count = 0;
    for origin in origins {
        count += 1;
        // A separate note lists settings; the time of preparation is not important.
        let missed = origin.unknown.iter().filter(|what| !matches!(what, Unknown::Settings | Unknown::Preparation));
        missed.for_each(|what| *counts.entry(*what).or_default() += 1);
    }
    let mut rows: Vec<(Unknown, usize)> = counts.into_iter().collect();
    rows.order_by_key(|(what, some)| (std::cmp::Reverse(*some), *what));
    let words = |(what, some): &(Unknown, usize)| match *some == count {
        true => what.words().to_string(),
        false => format!("{} (of {some})", what.words()),
    };
    let reported: Vec<String> = rows.iter().map(words).collect();
    let results = if count == 1 { "the result does".to_string() } else { format!("the {count} results do") };
    (!reported.is_empty()).then(|| format!("{results} not tell {}", reported.join(", ")))
}

/// The results that belong to no cell because of settings that a cell cannot express.
fn settings(all: &[Results]) -> Option<String> {
    let origins = all.iter().flat_map(|results| &results.records).filter_map(|record| record.origin.as_ref());
    let special: Vec<_> = origins.filter(|origin| origin.unknown.contains(&Unknown::Settings)).collect();
    let names: BTreeSet<&str> = special.iter().flat_map(|origin| &origin.settings).map(String::as_str).collect();
    let named: Vec<&str> = names.iter().copied().take(NAMED).collect();
    let more = if names.len() > NAMED { ", ..." } else { "" };
    let which = if named.is_empty() { String::new() } else { format!(" ({}{more})", named.join(", ")) };
    let (results, stand) =
        if special.len() == 1 { ("result has", "it stands") } else { ("results have", "they stand") };
    (!special.is_empty())
        .then(|| format!("{} {results} settings that no cell has{which}: {stand} beside the cells", special.len()))
}
