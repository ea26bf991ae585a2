//! Implements `halfpower study`: plans, measures, analyses and reports.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail};
use halfpower_measure::TargetBackend;
use halfpower_record::output::{Destination, Form};
use halfpower_record::{RecordError, StudyFile, TargetKind};
use halfpower_spec::{Application, Bytes, Experiment, Nanos, Question, Target, shell_operand};
use halfpower_study::Ending;

use super::applications::listed;
use super::looked_at::{NOT_IN_TIME, looked_at};
use super::question::{asked, check_cells, open_target, question, without_direct, without_what_commands_lack};
use super::report::{Analysed, style};
use super::{destination, line, outcome, sessions, switched_write_cache, to_styled_output, with_far_end};
use crate::args::StudyArgs;
use crate::hosts::{Processes, join_processes};
use crate::live::Live;

/// Ending of a report.
const REPORT: &str = "html";

pub fn study(args: &StudyArgs) -> Result<()> {
    match measured_session(args)? {
        Then::Ends => Ok(()),
        // All that this process held is dropped.
        Then::GoesOn => sessions::begin_next(),
    }
}

/// What follows a session.
enum Then {
    Ends,
    /// The next session, in a process of its own.
    GoesOn,
}

/// Measures a session of the study; an ordinary study is one.
fn measured_session(args: &StudyArgs) -> Result<Then> {
    if listed(&args.question)? {
        return Ok(Then::Ends);
    }
    let stop = halfpower_os::interrupt::stop_flag()?;
    let Some(join_processes) = join_processes(&[asked(&args.question)?], &stop)? else { return Ok(Then::Ends) };
    let output = if args.again { beside(&args.output) } else { args.output.clone() };
    let question = with_hosts(question(&args.question)?, args, &join_processes);
    let mut question = as_begun(question, args, &output, &join_processes)?;
    let report = report_beside(args, &output)?;
    let every = interval(args, &join_processes)?;
    let mut backend = open_target(&args.question, &question, &join_processes)?;
    without_direct(&args.question, &mut question, backend.as_ref());
    without_what_commands_lack(&args.question, &mut question, backend.as_ref());
    check_cells(backend.as_ref(), &question)?;
    if let Some(turn) = turn(&output, &question, backend.as_ref(), every)? {
        // Each session has a layout of its own.
        drop(backend);
        turn.wait(&output, &stop)?;
        backend = open_target(&args.question, &question, &join_processes)?;
    }
    let earlier =
        if output.exists() { Some(StudyFile::resume(&output, &question, backend.environment())?) } else { None };
    if let Some(file) = &earlier
        && let Some(began_unix_ms) = halfpower_study::finished(file)?
    {
        let repeated = AlreadyFinished::of(file, began_unix_ms);
        return tell(args, file, &report, Some(repeated)).map(|()| Then::Ends);
    }
    let mut backend = with_far_end(backend, &args.question.common)?;
    let began_ns = backend.clock_ns();
    let _write_cache = switched_write_cache(backend.as_mut(), question.write_cache)?;
    let target = args.question.target()?;
    look_first(&target, backend.as_mut());
    let mut file = match earlier {
        Some(file) => resumed(file, backend.as_mut(), &stop)?,
        None => begun(&output, &question, backend.as_mut(), &stop)?,
    };
    if backend.environment().capabilities.kind == TargetKind::Simulated {
        file.spare_the_disk()?;
    }
    let mut live = Live::new(&question, &file, &stop, args.json)?;
    let conducted = halfpower_study::conduct(&question, backend.as_mut(), &mut file, &mut live, (began_ns, &stop));
    drop(live);
    let ending = match conducted {
        Ok(ending) => ending,
        Err(error) => {
            // A study without a run would only refuse the question that the error advises.
            let _ = file.withdraw_if_empty();
            return Err(error.into());
        }
    };
    look_again(&target, backend.as_mut(), &mut file)?;
    if ending == Ending::Interrupted {
        if !args.json {
            to_styled_output(&style(), |out| Analysed::of(&file)?.write_text(out))?;
        }
        let same = same_command(args, &output);
        bail!("interrupted; the records so far are in {}, and {same} continues the study", output.display());
    }
    drop(backend);
    if ending == Ending::SessionEnded {
        return session_ended(args, &file, &report, &stop);
    }
    tell(args, &file, &report, None).map(|()| Then::Ends)
}

/// Reports after a session that another one follows: with `--every` on the page alone, since the last one prints all.
fn session_ended(args: &StudyArgs, file: &StudyFile, report: &Destination, stop: &AtomicBool) -> Result<Then> {
    let sessions = file.question().sessions;
    let so_far = halfpower_study::sessions_so_far(file, sessions)?;
    let measured = sessions::measured(so_far.complete, sessions);
    let same = same_command(args, file.path());
    if args.every.is_none() {
        crate::tell::tell!("halfpower: {measured}; {same} measures the next.");
        return tell(args, file, report, None).map(|()| Then::Ends);
    }
    let analysed = Analysed::of(file)?;
    report.write(|out| analysed.write_html(out))?;
    // A new process would not know that the user has asked to stop.
    if stop.load(Ordering::Relaxed) {
        bail!("interrupted; {measured} into {}, and {same} goes on with the next", file.path().display());
    }
    crate::tell::tell!("halfpower: {measured}.");
    Ok(Then::GoesOn)
}

/// The command that goes on with the study, in words.
fn same_command(args: &StudyArgs, output: &Path) -> String {
    let again = || format!("the same command with --output {} for --again", shell_operand(output));
    if args.again { again() } else { "the same command".to_string() }
}

/// The time from the beginning of one session to that of the next, if they come in intervals.
fn interval(args: &StudyArgs, join_processes: &Processes) -> Result<Option<Nanos>> {
    if let Some(every) = args.every.filter(|_| !matches!(join_processes, Processes::Alone)) {
        bail!(
            "--every {every} begins sessions as processes of its own, which mpirun does not know: leave it out, and start \
             each session with the same command"
        );
    }
    Ok(args.every)
}

/// The turn of the next session of the study at `output`, if it has to be waited for.
///
/// # Errors
/// If the study does not go on with this question and target: that is not waited for.
fn turn(
    output: &Path,
    question: &Question,
    backend: &dyn TargetBackend,
    every: Option<Nanos>,
) -> Result<Option<sessions::Turn>> {
    let Some(every) = every.filter(|_| output.exists()) else { return Ok(None) };
    let file = StudyFile::open_mended(output)?;
    file.goes_on(question, backend.environment())?;
    sessions::Turn::of(&file, question.sessions, every)
}

/// A study that was already finished, so that nothing was measured now.
struct AlreadyFinished {
    /// Start of its last run, or in virtual time the last write of its file, in milliseconds of Unix time.
    finished_unix_ms: u64,
}

impl AlreadyFinished {
    fn of(file: &StudyFile, began_unix_ms: u64) -> Self {
        let written = file.path().metadata().and_then(|metadata| metadata.modified()).ok();
        let written = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let written_unix_ms = written.map_or(0, |time| time.as_millis() as u64);
        Self { finished_unix_ms: if began_unix_ms > 0 { began_unix_ms } else { written_unix_ms } }
    }

    fn sentence(&self, file: &StudyFile) -> String {
        format!(
            "{} was finished on {}, and nothing was measured now; --again measures anew, into {}.",
            file.path().display(),
            halfpower_report::date(self.finished_unix_ms),
            beside(file.path()).display()
        )
    }
}

/// Writes the report and prints the findings.
fn tell(args: &StudyArgs, file: &StudyFile, report: &Destination, repeated: Option<AlreadyFinished>) -> Result<()> {
    let analysed = Analysed::of(file)?;
    // What was measured is told, also where its page cannot be written.
    let page = report.write(|out| analysed.write_html(out));
    if let Some(repeated) = &repeated {
        crate::tell::tell!("halfpower: {}", repeated.sentence(file));
    }
    to_styled_output(&style(), |out| {
        match &repeated {
            Some(repeated) if args.json => {
                let finished_unix_ms = repeated.finished_unix_ms;
                return Ok(halfpower_report::repeated_json(&analysed.findings, finished_unix_ms, out)?);
            }
            None if args.json => return analysed.write_json(out),
            Some(repeated) => line(out, &repeated.sentence(file)).and_then(|()| writeln!(out))?,
            None => {}
        }
        analysed.write_text(out)?;
        writeln!(out)?;
        let written = if page.is_ok() { format!("Report: {}   ", report.path().display()) } else { String::new() };
        Ok(line(out, &format!("{written}Study file: {}", file.path().display()))?)
    })?;
    page?;
    outcome::of(&analysed.records)
}

/// The place of a study's report: its own, with the ending .html in the place of .halfpower, or after any other name.
fn report_of(study: &Path) -> PathBuf {
    if study.extension().is_some_and(|ending| ending == "halfpower") {
        return study.with_extension(REPORT);
    }
    let mut name = study.as_os_str().to_os_string();
    name.push(format!(".{REPORT}"));
    name.into()
}

/// `path` if neither a study nor a report has this name, or else the first unused name with a number appended.
fn beside(path: &Path) -> PathBuf {
    let taken = |path: &PathBuf| [path.clone(), report_of(path)].iter().any(|path| path.symlink_metadata().is_ok());
    let numbered = |number: u32| {
        let mut name = path.file_stem().unwrap_or_default().to_os_string();
        name.push(format!("-{number}"));
        if let Some(ending) = path.extension() {
            name.push(".");
            name.push(ending);
        }
        path.with_file_name(name)
    };
    let mut names = std::iter::once(path.to_path_buf()).chain((2..).map(numbered));
    names.find(|path| !taken(path)).expect("numbers do not end before names do")
}

/// Checks the destination of the report, beside the study file, before anything is measured.
fn report_beside(args: &StudyArgs, study: &Path) -> Result<Destination> {
    if study.extension().is_some_and(|ending| ending == REPORT) {
        bail!("--output {} is the name of a report; give the study file another name", study.display());
    }
    if study.as_os_str().as_bytes().ends_with(b"/") {
        bail!("--output {} is a folder; name a file in it", study.display());
    }
    if !study.parent().is_none_or(|folder| folder == Path::new("") || folder.is_dir()) {
        bail!("--output {}: the folder does not exist; create it, or name another file", study.display());
    }
    let asked = args.question.target()?;
    let target = match &asked {
        Target::Path(path) => std::slice::from_ref(path),
        Target::Several(several) => &several.members,
        _ => &[],
    };
    destination(&report_of(study), Form::Page, args.force)
        .and_then(|report| report.apart_from(target.iter().map(|path| path.as_path())))
        .with_context(|| format!("the report of --output {} goes beside it", study.display()))
}

/// Replaces the experiment `commits`, which is about one host, by `hosts` if several hosts measure and the user chose no
/// experiments.
fn with_hosts(mut question: Question, args: &StudyArgs, join_processes: &Processes) -> Question {
    let chose = args.question.experiments.is_some() || args.question.application.is_some();
    if !chose && matches!(join_processes, Processes::Leads(_)) {
        question.experiments.retain(|experiment| *experiment != Experiment::Commits);
        question.experiments.push(Experiment::Hosts);
    }
    question
}

/// Adapts the question to the study file that it continues: studies of the first releases keep their way of issuing,
/// studies begun by another release, or by one host or many, with other usual experiments keep theirs, and so do studies for an
/// application whose built-in profile has changed since.
fn as_begun(question: Question, args: &StudyArgs, output: &Path, join_processes: &Processes) -> Result<Question> {
    let common = &args.question.common;
    let asks_issuing = common.iomem.is_some() || common.iodepth_batch.is_some() || question.issuing.is_none();
    let asks_experiments = args.question.experiments.is_some();
    let is_alone = matches!(join_processes, Processes::Alone);
    if (asks_issuing && asks_experiments && !is_alone) || !output.exists() {
        return Ok(question);
    }
    let file = StudyFile::open_mended(output)?;
    let begun = file.question();
    let issuing = if asks_issuing { question.issuing } else { begun.issuing.and(question.issuing) };
    let added = [Experiment::Hosts, Experiment::Commits];
    let walks = |of: &Question| of.experiments.iter().copied().filter(|one| !added.contains(one)).collect::<Vec<_>>();
    let has_others = !file.is_of_this_release() || file.environment().hosts.is_empty() != is_alone;
    let is_same = !asks_experiments && has_others && walks(begun) == walks(&question);
    let experiments = if is_same { begun.experiments.clone() } else { question.experiments };
    // A single process does not divide the target, so keep the file's layout.
    let host_files = if is_alone { begun.host_files } else { question.host_files };
    let is_kept = |begun: &Application, asked: &Application| begun.name == asked.name && !asked.is_of_a_file();
    let application = match (&begun.application, question.application) {
        (Some(begun), Some(asked)) if is_kept(begun, &asked) => Some(begun.clone()),
        (_, asked) => asked,
    };
    let sessions = args.question.sessions.unwrap_or(begun.sessions);
    Ok(Question { issuing, experiments, host_files, application, sessions, ..question })
}

/// Creates a new study file, once the target is ready.
fn begun(path: &Path, question: &Question, backend: &mut dyn TargetBackend, stop: &AtomicBool) -> Result<StudyFile> {
    backend.make_ready(None, stop)?;
    let left_out = halfpower_experiments::left_out(question, backend.environment());
    backend.environment_mut().left_out = left_out;
    match StudyFile::create(path, question, backend.environment()) {
        // Another study of the same name began meanwhile: it runs, or it can be continued.
        Err(RecordError::Exists { path: taken }) if taken == path && StudyFile::is_at(path) => {
            Ok(StudyFile::resume(path, question, backend.environment())?)
        }
        begun => Ok(begun?),
    }
}

/// Prepares the target again with its earlier span, and returns the study file ready for more records.
fn resumed(mut file: StudyFile, backend: &mut dyn TargetBackend, stop: &AtomicBool) -> Result<StudyFile> {
    let span = span(&file)?;
    backend.make_ready(span, stop)?;
    // Keep the capabilities with which the plan was made; take only the machine's present state.
    let began = file.environment();
    note_of_hosts(began.hosts.len(), backend);
    let capabilities = began.capabilities.clone();
    let left_out = began.left_out.clone();
    (backend.environment_mut().capabilities, backend.environment_mut().left_out) = (capabilities, left_out);
    file.go_on_in(backend.environment())?;
    Ok(file)
}

/// Runs the checks of settings before the first run.
fn look_first(target: &Target, backend: &mut dyn TargetBackend) {
    match looked_at(target) {
        Some(found) => backend.environment_mut().diagnoses = found,
        None => backend.note(NOT_IN_TIME),
    }
}

/// Keeps what the checks of settings find after the last run, where they find something else than before the first.
fn look_again(target: &Target, backend: &mut dyn TargetBackend, file: &mut StudyFile) -> Result<()> {
    if let Some(found) = looked_at(target).filter(|found| !found.is_empty()) {
        backend.environment_mut().diagnoses = found;
        file.go_on_in(backend.environment())?;
    }
    Ok(())
}

/// Adds a note if a study continues with a different number of processes.
fn note_of_hosts(began_with: usize, backend: &mut dyn TargetBackend) {
    let words =
        |processes: usize| if processes < 2 { "one process".to_string() } else { format!("{processes} processes") };
    let now = backend.environment().hosts.len();
    if now.max(1) != began_with.max(1) {
        backend.note(&format!(
            "the study began with {} and went on with {}; what all had measured together before is left out, and --again \
             measures everything anew",
            words(began_with),
            words(now)
        ));
    }
}

/// Bytes of each member that the study uses. Files of early releases do not store this; then it comes from a record of
/// the walks, because other experiments may use memory or only a part.
fn span(file: &StudyFile) -> Result<Option<Bytes>> {
    let reported = file.environment().capabilities.span;
    if reported > Bytes(0) {
        return Ok(Some(reported));
    }
    Ok(file.records()?.iter().find(|record| record.run.walks()).map(|record| Bytes(record.span_bytes)))
}
