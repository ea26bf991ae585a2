//! Implements `halfpower history`: follows one target over many studies, and checks conditions on its last change.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};
use halfpower_analyse::{History, Measured, Neighbours, StudyDigest, StudyInHistory, Surroundings, UnreadStudy};
use halfpower_experiments::{ExperimentAnswer, ExperimentSection};
use halfpower_record::output::Form;
use halfpower_record::{FileStamp, StudyFile, StudyIndex};
use halfpower_spec::InOrder;

use super::compare::{ConditionHolds, holding};
use super::report::{Analysed, style};
use super::{destination, opened, refuse_beside_json, shut_out, to_output, to_styled_output};
use crate::args::HistoryArgs;
use crate::progress::Line;

/// What an index was made by: another release may make other figures of a study.
const MAKER: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("HALFPOWER_COMMIT"), " history 2");
/// Ending of the files that are taken from a folder.
const ENDING: &str = "halfpower";
/// Levels of folders that are looked into.
const DEEPEST: usize = 16;
/// Files that cannot be read, of which each is told.
const TOLD: usize = 5;
/// Studies that are read before they are remembered.
const BATCH: usize = 64;
/// Texts of the index that are held at once.
const TEXTS: usize = 1024;

/// A study file with what was made of it.
struct Read {
    name: String,
    stamp: FileStamp,
    digest: StudyDigest,
    /// The surroundings, if the study was read now.
    surroundings: Option<Surroundings>,
}

/// A file that is there, before it is read.
struct Candidate {
    path: PathBuf,
    stamp: FileStamp,
}

/// Prints the history of a target.
///
/// # Errors
/// [`ConditionHolds`] if a condition of `--fail-if` holds; if the studies are of several targets, and none is named; all
/// errors of writing.
pub fn history(args: &HistoryArgs) -> Result<()> {
    let page = args.output.as_deref().map(|path| destination(path, Form::Page, args.force)).transpose()?;
    refuse_beside_json(args.json, &page)?;
    let Gathered { studies, index, unread } = gathered(&args.files, args.no_index, args.output.as_deref());
    let mut studies = of_one_target(studies, args.target.as_deref())?;
    studies.sort_by_cached_key(|one| (one.in_history().at_unix_ms(), one.name.clone()));
    let mut history = followed(args, &studies, index.as_ref())?;
    history.unread = unread;
    if let Some(page) = &page {
        page.write(|out| -> Result<()> { Ok(halfpower_report::history_html(&history, out)?) })?;
        if page.is_standard_output() {
            return answer(&history);
        }
    }
    match args.json {
        true => to_output(|out| Ok(halfpower_report::history_json(&history, out)?))?,
        false => {
            let style = style();
            to_styled_output(&style, |out| Ok(halfpower_report::history_text(&history, &style, out)?))?;
        }
    }
    answer(&history)
}

/// The digests of all studies that are named or lie in folders that are named, with their files' names, sorted by these, and
/// what cannot be read, which is told. `output` is a file that is written afterwards.
pub fn digests(named: &[PathBuf], output: Option<&Path>) -> (Vec<(String, StudyDigest)>, Vec<UnreadStudy>) {
    let Gathered { studies, unread, .. } = gathered(named, false, output);
    let mut digests: Vec<(String, StudyDigest)> = studies.into_iter().map(|one| (one.name, one.digest)).collect();
    digests.order_by(|one, other| one.0.cmp(&other.0));
    (digests, unread)
}

/// Studies, what remembers them, and the files that are left out.
struct Gathered {
    studies: Vec<Read>,
    index: Option<StudyIndex>,
    unread: Vec<UnreadStudy>,
}

/// Reads all studies that are named or lie in folders that are named, and tells what cannot be read.
fn gathered(named: &[PathBuf], no_index: bool, output: Option<&Path>) -> Gathered {
    let place = if no_index { None } else { index_place() };
    let mut index = place.as_deref().and_then(|place| StudyIndex::open(place, MAKER));
    let mut unread = Vec::new();
    let candidates = candidates(named, &mut unread);
    let (mut studies, unknown) = remembered(candidates, index.as_ref());
    // What is remembered needs no file; the others may come from anybody.
    let outputs = output.into_iter().chain(place.as_deref().filter(|_| index.is_some()));
    shut_out(unknown.iter().map(|one| one.path.as_path()), outputs);
    let line = Line::new(unknown.len() <= BATCH);
    // A batch is remembered before the next: whoever interrupts the first history of thousands of studies keeps what was read.
    for (at, batch) in unknown.chunks(BATCH).enumerate() {
        line.show(&format!("{} of {} new studies read", at * BATCH, unknown.len()));
        let fresh = read_all(batch, &mut unread);
        if let Some(index) = &mut index {
            remember(index, &fresh);
        }
        studies.extend(fresh);
    }
    drop(line);
    for one in unread.iter().take(TOLD) {
        crate::tell::tell!("halfpower: left out: {}", one.why);
    }
    if unread.len() > TOLD {
        crate::tell::tell!("halfpower: {} more files are left out", unread.len() - TOLD);
    }
    Gathered { studies, index, unread }
}

impl Read {
    fn in_history(&self) -> StudyInHistory<'_> {
        let Self { name, stamp, digest, .. } = self;
        StudyInHistory { name, written_unix_ms: stamp.modified_unix_ms(), digest }
    }
}

/// The index in the user's cache (XDG Base Directory Specification); `None` if no variable names a place.
fn index_place() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("halfpower/history.sqlite"))
}

/// All files that are named, and all studies in folders that are named. Links to folders are not followed within these.
fn candidates(named: &[PathBuf], unread: &mut Vec<UnreadStudy>) -> Vec<Candidate> {
    let mut paths = Vec::new();
    for path in named {
        match path.is_dir() {
            true => within(path, 0, &mut paths, unread),
            false => paths.push(path.clone()),
        }
    }
    paths.sort();
    paths.dedup();
    let candidate = |path: PathBuf| match FileStamp::of(&path) {
        Ok(stamp) => Some(Candidate { path, stamp }),
        Err(error) => {
            unread.push(unreadable(&path, &error));
            None
        }
    };
    paths.into_iter().filter_map(candidate).collect()
}

fn unreadable(path: &Path, error: &io::Error) -> UnreadStudy {
    let name = path.display().to_string();
    let why = format!("{name} cannot be read: {error}; check the name and the permissions");
    UnreadStudy { name, why }
}

/// Adds the studies in a folder, by their ending. A folder that cannot be read may hold some, but for that in which a
/// check of the file system puts what has lost its name.
fn within(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>, unread: &mut Vec<UnreadStudy>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(_) if folder.ends_with("lost+found") => return,
        Err(error) => return unread.push(unreadable(folder, &error)),
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_study = path.extension().is_some_and(|ending| ending == ENDING);
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEEPEST => within(&path, depth + 1, paths, unread),
            Ok(kind) if is_study && !kind.is_dir() => paths.push(path),
            _ => {}
        }
    }
}

/// The studies that the index knows, and the files that are to be read.
fn remembered(candidates: Vec<Candidate>, index: Option<&StudyIndex>) -> (Vec<Read>, Vec<Candidate>) {
    let Some(index) = index else { return (Vec::new(), candidates) };
    let mut known = Vec::new();
    let mut unknown = Vec::new();
    let mut candidates = candidates.into_iter().peekable();
    while candidates.peek().is_some() {
        let batch: Vec<Candidate> = candidates.by_ref().take(TEXTS).collect();
        let texts: Vec<Option<String>> = batch.iter().map(|one| index.figures(&one.stamp)).collect();
        let digests =
            side_by_side(&texts, |text| serde_json::from_str(text.as_deref()?).ok().filter(StudyDigest::is_sound));
        for (candidate, digest) in batch.into_iter().zip(digests) {
            match digest {
                Some(digest) => {
                    let name = candidate.path.display().to_string();
                    known.push(Read { name, stamp: candidate.stamp, digest, surroundings: None });
                }
                None => unknown.push(candidate),
            }
        }
    }
    (known, unknown)
}

/// What `work` makes of each of these, as many at once as there are processors.
fn side_by_side<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(all.len().max(1));
    let next = AtomicUsize::new(0);
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let share = || {
            let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
            let own = numbers.map_while(|at| Some((at, all.get(at)?)));
            own.map(|(at, one)| (at, work(one))).collect::<Vec<_>>()
        };
        let started: Vec<_> = (0..workers).map(|_| scope.spawn(share)).collect();
        started.into_iter().flat_map(|worker| worker.join().expect("reading a study does not panic")).collect()
    });
    results.order_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Reads studies, as many at once as there are processors.
fn read_all(files: &[Candidate], unread: &mut Vec<UnreadStudy>) -> Vec<Read> {
    let mut all = Vec::new();
    for result in side_by_side(files, read) {
        match result {
            Ok(one) => all.push(one),
            Err(one) => unread.push(one),
        }
    }
    all
}

fn read(file: &Candidate) -> Result<Read, UnreadStudy> {
    let name = file.path.display().to_string();
    let digest = || -> Result<(StudyDigest, Surroundings)> {
        let study = opened(&file.path)?;
        let analysed = Analysed::of(&study)?;
        Ok(digest_of(&study, &analysed))
    };
    match digest() {
        Ok((digest, surroundings)) => {
            Ok(Read { name, stamp: file.stamp.clone(), digest, surroundings: Some(surroundings) })
        }
        Err(error) => Err(UnreadStudy { name, why: format!("{error:#}") }),
    }
}

fn digest_of(study: &StudyFile, analysed: &Analysed) -> (StudyDigest, Surroundings) {
    let commits = |section: &ExperimentSection| match &section.found {
        Some(ExperimentAnswer::Commits(answer)) => Measured::of(&answer.rates.alone?.per_second),
        _ => None,
    };
    let commits = analysed.findings.experiments.iter().find_map(commits);
    let environment = study.environment();
    // The first environment in which somebody looked has the diagnoses.
    let diagnoses = analysed.findings.checks.as_ref().map(|checks| checks.before.clone()).unwrap_or_default();
    let surroundings = Surroundings { diagnoses, ..Surroundings::of(&analysed.findings, environment) };
    let neighbours = Neighbours::of(&analysed.records);
    (StudyDigest::of(&analysed.findings, environment, commits, neighbours), surroundings)
}

fn remember(index: &mut StudyIndex, fresh: &[Read]) {
    let text = |one: &Read| {
        let figures = serde_json::to_string(&one.digest).ok()?;
        Some((figures, serde_json::to_string(one.surroundings.as_ref()?).ok()?))
    };
    // A file that was changed while it was read is read again the next time.
    let is_same = |one: &&Read| FileStamp::of(Path::new(&one.name)).is_ok_and(|now| now == one.stamp);
    let texts: Vec<(&FileStamp, (String, String))> =
        fresh.iter().filter(is_same).filter_map(|one| Some((&one.stamp, text(one)?))).collect();
    index.remember(texts.iter().map(|(stamp, (figures, around))| (*stamp, figures.as_str(), around.as_str())));
}

/// The studies of the target that is named by its number or a part of its name, or of the only one there is.
fn of_one_target(studies: Vec<Read>, named: Option<&str>) -> Result<Vec<Read>> {
    let mut targets: BTreeMap<String, Vec<Read>> = BTreeMap::new();
    for study in studies {
        targets.entry(study.digest.identity.clone()).or_default().push(study);
    }
    let mut targets: Vec<Vec<Read>> = targets.into_values().collect();
    // The one with the most studies has the first number.
    targets.order_by_key(|studies| std::cmp::Reverse(studies.len()));
    let number = named.and_then(|named| named.parse::<usize>().ok());
    let fitting: Vec<usize> = match (named, number) {
        (None, _) => (0..targets.len()).collect(),
        (_, Some(number)) => number.checked_sub(1).filter(|at| *at < targets.len()).into_iter().collect(),
        (Some(named), None) => {
            let exact = |at: &usize| name_of(&targets[*at]) == named;
            let all = 0..targets.len();
            match all.clone().filter(exact).count() {
                0 => all.filter(|at| name_of(&targets[*at]).contains(named)).collect(),
                _ => all.filter(exact).collect(),
            }
        }
    };
    match (fitting.as_slice(), named) {
        ([one], _) => Ok(targets.swap_remove(*one)),
        ([], Some(named)) if !targets.is_empty() => {
            tell_of(&targets);
            bail!("--target {named}: no target has this number or name; name one of the list")
        }
        ([], _) => bail!(
            "there is no study that could be read; name study files, or a folder with files that end in .{ENDING}"
        ),
        (several, _) => {
            tell_of(&targets);
            bail!("these studies are of {} targets: name one of the list with --target", several.len())
        }
    }
}

/// The name of a target: that of its last study.
fn name_of(studies: &[Read]) -> &str {
    studies.last().map_or("", |study| study.digest.target.as_str())
}

/// Tells of all targets with their numbers.
fn tell_of(targets: &[Vec<Read>]) {
    for (at, studies) in targets.iter().enumerate() {
        let count = if studies.len() == 1 { "1 study".to_string() } else { format!("{} studies", studies.len()) };
        crate::tell::tell!("{:>3}  {count:>12}  {}", at + 1, name_of(studies));
    }
}

fn followed(args: &HistoryArgs, studies: &[Read], index: Option<&StudyIndex>) -> Result<History> {
    let listed: Vec<StudyInHistory<'_>> = studies.iter().map(Read::in_history).collect();
    let surroundings = |at: usize| {
        let study: &Read = studies.get(at)?;
        match &study.surroundings {
            Some(known) => Some(known.clone()),
            None => serde_json::from_str(&index?.surroundings(&study.stamp)?).ok(),
        }
    };
    let mut history = halfpower_analyse::history(&listed, surroundings);
    history.fail_if = halfpower_analyse::check_history(&args.fail_if, &listed, &history);
    match history.fail_if.iter().find(|finding| finding.cases.is_empty()) {
        Some(finding) => bail!(
            "--fail-if `{}`: no cell that the condition names was measured before and after the last change; measure it, \
             or leave the condition out",
            finding.condition
        ),
        None => Ok(history),
    }
}

/// Returns the conditions that hold as an error.
fn answer(history: &History) -> Result<()> {
    for finding in history.fail_if.iter().filter(|finding| !finding.holds && !finding.can_be_decided()) {
        crate::tell::tell!("halfpower: `{}` cannot be decided: a level has one study", finding.condition);
    }
    let holding: Vec<String> =
        history.fail_if.iter().filter(|finding| finding.holds).map(|finding| holding(finding, "")).collect();
    if holding.is_empty() { Ok(()) } else { Err(ConditionHolds::of(holding.join("; ")).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_read_is_told() {
        let (mut paths, mut unread) = (Vec::new(), Vec::new());
        // Root reads every folder, but no file as one.
        within(Path::new("/proc/version"), 0, &mut paths, &mut unread);
        let told: Vec<&str> = unread.iter().map(|one| one.why.as_str()).collect();
        assert!(paths.is_empty() && told.len() == 1, "{told:?}");
        assert!(told[0].starts_with("/proc/version cannot be read: "), "{told:?}");
        within(Path::new("/no/such/lost+found"), 0, &mut paths, &mut unread);
        assert_eq!(unread.len(), 1);
    }
}
