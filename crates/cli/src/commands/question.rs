//! Turns the flags of study and plan into a question, and a question back into a command.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use halfpower_measure::TargetBackend;
use halfpower_record::Ability;
use halfpower_spec::{
    Bytes, Cache, Direction, EngineName, Experiment, Issuing, LatencyBound, Nanos, ParseError, Question, Rw, Several,
    Target, Workload, masked, shell_operand,
};

use super::applications::application;
use super::{Purpose, TargetRequest};
use crate::args::QuestionArgs;
use crate::hosts::Processes;

/// Shortest useful budget of a study.
const LEAST_BUDGET: Nanos = Nanos(1_000_000_000);
const USUAL_BUDGET: Nanos = Nanos(120_000_000_000);
/// Defaults for the papers' machines: virtual time is free, and rotating disks need long runs for hundreds of accesses.
const BUDGET_OF_A_MACHINE: Nanos = Nanos(7_200_000_000_000);
const WINDOW_OF_A_MACHINE: Nanos = Nanos(4_000_000_000);

/// How a path begins that is written byte by byte.
const BY_BYTES: &str = "b\"";

/// The walks of block size and depth.
const WALKS: [Experiment; 2] = [Experiment::Sequential, Experiment::Random];

/// Builds the question from the flags.
pub fn question(args: &QuestionArgs) -> Result<Question> {
    let asked_target = args.target()?;
    let machine = is_of_a_paper(&asked_target);
    let budget = args.budget.unwrap_or(if machine { BUDGET_OF_A_MACHINE } else { USUAL_BUDGET });
    if budget < LEAST_BUDGET {
        bail!("--budget {budget} is too short to measure anything; give at least {LEAST_BUDGET}");
    }
    match args.runtime {
        Some(Nanos(0)) => bail!("--runtime 0 measures nothing; give a time such as 1s"),
        Some(runtime) if runtime > budget => {
            bail!(
                "--runtime {runtime} is longer than --budget {budget}: give a larger --budget, or a shorter --runtime"
            )
        }
        Some(_) | None => {}
    }
    refuse_null(args.common.engine, &asked_target)?;
    let target = canonical(&asked_target)?;
    let application = args.application.as_deref().map(application).transpose()?;
    let directions = directions(args, &asked_target)?;
    let mut experiments = experiments(args, application.is_some(), || usual_experiments(&asked_target, &directions))?;
    let latency_bound = args.bound.bound();
    check_load(&mut experiments, latency_bound)?;
    refuse_flags_of_others(args, &experiments)?;
    let sessions = sessions(args, &experiments)?;
    Ok(Question {
        experiments,
        directions,
        bs: args.bs.clone().unwrap_or_else(|| usual_sizes(&asked_target)),
        iodepth: args.iodepth.clone(),
        cache: caches(args, &asked_target)?,
        threads: args.common.threads,
        connections: args.common.connections,
        sealing: args.common.sealing,
        host_files: args.common.host_files(),
        engine: args.common.engine,
        issuing: args.common.issuing(&asked_target),
        size: args.common.size,
        spread: args.common.spread,
        budget,
        runtime: args.runtime.or(machine.then_some(WINDOW_OF_A_MACHINE)),
        repeats: args.repeats,
        peak: args.peak,
        seed: args.common.seed,
        write_cache: args.write_cache,
        price: args.price,
        sustain_bytes: args.sustain_bytes,
        application,
        latency_bound,
        sessions,
        target,
    })
}

/// The experiments that are named, with that of an application if one is named; without any, `usual`.
fn experiments(
    args: &QuestionArgs,
    is_for_an_application: bool,
    usual: impl FnOnce() -> Vec<Experiment>,
) -> Result<Vec<Experiment>> {
    let of_application = is_for_an_application.then_some(Experiment::Application);
    let Some(named) = &args.experiments else {
        return Ok(of_application.map_or_else(usual, |experiment| vec![experiment]));
    };
    if named.contains(&Experiment::Application) && of_application.is_none() {
        bail!("--experiments application: name the application with --for; `halfpower study --for list` prints them");
    }
    let all: Vec<Experiment> = named.iter().copied().chain(of_application).collect();
    Ok(once_each(&all))
}

/// Refuses the flags of experiments that are not asked for.
fn refuse_flags_of_others(args: &QuestionArgs, experiments: &[Experiment]) -> Result<()> {
    if let Some(bytes) = args.sustain_bytes.filter(|_| !experiments.contains(&Experiment::Sustain)) {
        bail!("--sustain-bytes {bytes} bounds what the experiment sustain writes: add --experiments sustain");
    }
    if let Some(price) = args.price.filter(|_| !experiments.contains(&Experiment::Price)) {
        bail!("--price {price} is for the experiment price: add --experiments price");
    }
    Ok(())
}

/// Refuses to tell of a path what the null engine makes, which sends no request to it.
fn refuse_null(engine: EngineName, target: &Target) -> Result<()> {
    if engine == EngineName::Null && matches!(target, Target::Path(_) | Target::Several(_)) {
        bail!("--engine null sends no request to {target}, so no figure would be of it: leave it out, or study null:");
    }
    Ok(())
}

/// The number of sessions; more than one have cells of walks to measure again.
fn sessions(args: &QuestionArgs, experiments: &[Experiment]) -> Result<u32> {
    let sessions = args.sessions.unwrap_or(1);
    if sessions > 1 && experiments.iter().all(|experiment| experiment.pattern().is_none()) {
        bail!("--sessions {sessions} measures cells of sequential and random again: name one of them in --experiments");
    }
    Ok(sessions)
}

/// Adds `load` where there is a bound on latency. Without one, a study of nothing else is refused; among others it is left
/// out with the reason.
fn check_load(experiments: &mut Vec<Experiment>, bound: Option<LatencyBound>) -> Result<()> {
    match bound {
        Some(bound) if bound.most == Nanos(0) => {
            bail!("{bound}: no request takes no time; give a time above 0, such as --p99 1ms")
        }
        Some(_) if !experiments.contains(&Experiment::Load) => experiments.push(Experiment::Load),
        None if *experiments == [Experiment::Load] => {
            bail!(
                "--experiments load finds the most load under a latency: say which, as in --p99 1ms (or --p50, --p999)"
            )
        }
        Some(_) | None => {}
    }
    Ok(())
}

/// The experiments of a study that names none: the walks, and commits where something is written that a flush makes
/// durable.
fn usual_experiments(target: &Target, directions: &[Direction]) -> Vec<Experiment> {
    let flushes = match target {
        Target::Path(_) => true,
        Target::Simulated(disk) => disk.flush.is_some(),
        Target::Several(_) | Target::Share(_) | Target::System(_) | Target::Null => false,
    };
    let commits = (flushes && directions.contains(&Direction::Write)).then_some(Experiment::Commits);
    WALKS.into_iter().chain(commits).collect()
}

/// The target with absolute paths, without links.
fn whole(target: &Target) -> Result<Target> {
    let whole = |path: &PathBuf| {
        path.canonicalize().with_context(|| format!("{}: name an existing folder, file or device", path.display()))
    };
    Ok(match target {
        Target::Path(path) => Target::Path(whole(path)?),
        Target::Several(several) => {
            let members: Vec<PathBuf> = several.members.iter().map(whole).collect::<Result<_>>()?;
            Target::Several(Several { members, ..several.clone() })
        }
        other => other.clone(),
    })
}

/// The target's canonical text in a study, with absolute paths.
pub fn canonical(target: &Target) -> Result<String> {
    Ok(match whole(target)? {
        Target::Path(path) => text_of(&path),
        Target::Several(several) => {
            let not_text = several.members.iter().filter(|path| path.to_str().is_none());
            let apart: Vec<String> = not_text.map(|path| text_of(path)).collect();
            if apart.is_empty() { several.to_string() } else { format!("{several} ({})", apart.join(", ")) }
        }
        other => other.to_string(),
    })
}

/// Refuses to print commands for a target whose text, as a word of a command, would name another one.
///
/// # Errors
/// A sentence that says what such names are.
pub fn refuse_untyped(args: &QuestionArgs, question: &Question) -> Result<()> {
    let target = whole(&args.target()?)?;
    let is_path = matches!(target, Target::Path(_) | Target::Several(_));
    if is_path && parsed(&question.target) != Ok(target) {
        bail!(
            "{}: no command can name this target: a name in it is no UTF-8, or that of a member has a comma; name it by a link",
            question.target
        );
    }
    Ok(())
}

/// What a question's text names as a word of a command. It may be a stranger's, so it opens no file.
fn parsed(target: &str) -> Result<Target, ParseError> {
    Target::parse(target, |_| Err(std::io::Error::other("no file is read here")))
}

/// Whether a question's text, as a word of a command, may name another target than the study's: a path byte by byte, members
/// that are shown in other characters, and what a comma has parted, since members of a study are absolute paths.
fn may_mislead(target: &Target) -> bool {
    let is_odd = |path: &PathBuf| !path.is_absolute() || path.to_string_lossy().contains(char::REPLACEMENT_CHARACTER);
    match target {
        Target::Path(path) => path.to_string_lossy().starts_with(BY_BYTES),
        Target::Several(several) => several.members.iter().any(is_odd),
        Target::Share(_) | Target::Simulated(_) | Target::System(_) | Target::Null => false,
    }
}

/// A path as text that no other path has: one that is no UTF-8 is written byte by byte, in quotation marks.
fn text_of(path: &Path) -> String {
    let by_bytes = || format!("{BY_BYTES}{}\"", path.as_os_str().as_bytes().escape_ascii());
    path.to_str().map_or_else(by_bytes, str::to_string)
}

/// Removes direct I/O from the question if the target has none and the user did not ask for it; returns whether it did.
pub fn without_direct(args: &QuestionArgs, question: &mut Question, backend: &dyn TargetBackend) -> bool {
    let asked = !args.cache.is_empty() || args.fio_cache.is_given();
    let is_real = matches!(args.target(), Ok(Target::Path(_) | Target::Several(_)));
    let refused = backend.environment().capabilities.direct_unit.is_none();
    let has_direct = question.cache.iter().any(|cache| cache.direct());
    if asked || !is_real || !refused || !has_direct {
        return false;
    }
    question.cache.retain(|cache| !cache.direct());
    crate::tell::tell!(
        "halfpower: {} takes no direct I/O; the study goes on buffered (--cache both).",
        question.target
    );
    true
}

/// Removes from the question what NVMe commands do not carry and the user did not ask for, if the target gets nothing but
/// commands: requests through the page cache, and sizes beyond a command.
pub fn without_what_commands_lack(args: &QuestionArgs, question: &mut Question, backend: &dyn TargetBackend) {
    let is_real = matches!(args.target(), Ok(Target::Path(_) | Target::Several(_)));
    if !is_real || backend.environment().capabilities.can(&Ability::PageCache).is_ok() {
        return;
    }
    if args.cache.is_empty() && !args.fio_cache.is_given() {
        question.cache.retain(|cache| cache.direct());
    }
    let Question { threads, engine, issuing, .. } = *question;
    let fits = |bs: &Bytes| {
        let workload =
            Workload { bs: *bs, iodepth: 1, threads, engine, issuing, cache: Cache::Device, ..Workload::default() };
        backend.admits(&workload).is_ok()
    };
    // Where none fits, the reason is told of the first.
    if args.bs.is_none() && question.bs.iter().any(fits) {
        question.bs.retain(fits);
    }
}

/// Whether the target is a machine simulated from parts, like the papers' machines, and not a model fitted to a study.
fn is_of_a_paper(target: &Target) -> bool {
    matches!(target, Target::System(system) if !halfpower_model::Fitted::is_told_by(&system.text))
}

/// The default block sizes: powers of two from 4 KiB to 1 MiB; from 2 KiB for a paper's machine, as in the papers.
fn usual_sizes(target: &Target) -> Vec<Bytes> {
    (if is_of_a_paper(target) { 11 } else { 12 }..=20).map(|power| Bytes(1 << power)).collect()
}

fn once_each<T: Copy + Ord>(words: &[T]) -> Vec<T> {
    let mut words = words.to_vec();
    words.sort_unstable();
    words.dedup();
    words
}

/// The directions asked for; a target that halfpower did not create is only read, unless `--overwrite` is given.
fn directions(args: &QuestionArgs, target: &Target) -> Result<Vec<Direction>> {
    let mut directions = once_each(&args.rw);
    let ours = match target {
        Target::Path(path) => path.is_dir(),
        Target::Several(several) => several.members.iter().all(|path| path.is_dir()),
        _ => true,
    };
    if ours || args.common.may_write.overwrite || !directions.contains(&Direction::Write) {
        return Ok(directions);
    }
    directions.retain(|direction| *direction == Direction::Read);
    if directions.is_empty() {
        bail!(
            "{target} was not created by halfpower and would be overwritten; add --overwrite if its contents may be lost"
        );
    }
    crate::tell::tell!(
        "Only reads are measured: halfpower did not create {target} (--overwrite measures writes and destroys its contents)."
    );
    Ok(directions)
}

fn caches(args: &QuestionArgs, target: &Target) -> Result<Vec<Cache>> {
    let has_page_cache = matches!(target, Target::Path(_) | Target::Several(_) | Target::System(_));
    let given = args.fio_cache.given().unwrap_or("--cache");
    let asked: Vec<Cache> = args.fio_cache.cache()?.map_or_else(|| args.cache.clone(), |cache| vec![cache]);
    if !has_page_cache && asked.iter().any(|cache| !cache.direct()) {
        bail!("{target} has no page cache; leave {given} out, which means --cache device here");
    }
    Ok(match (asked.is_empty(), has_page_cache) {
        (false, _) => once_each(&asked),
        (true, true) => vec![Cache::Device, Cache::Both],
        (true, false) => vec![Cache::Device],
    })
}

/// Opens the target of a study on all hosts that measure it.
pub fn open_target(
    args: &QuestionArgs,
    question: &Question,
    join_processes: &Processes,
) -> Result<Box<dyn TargetBackend>> {
    let purpose = Purpose {
        writes: question.directions.contains(&Direction::Write),
        size: question.size,
        spread: question.spread,
        layout_limit: Nanos(question.budget.0 / 4),
        write_cache: question.write_cache,
    };
    let mut backend = join_processes.open(0, &asked(args)?, purpose)?;
    if let Some(peak) = question.peak {
        halfpower_probe::with_peak(&mut backend.environment_mut().levels, peak);
    }
    Ok(backend)
}

/// The target that the flags name.
pub fn asked(args: &QuestionArgs) -> Result<TargetRequest<'_>> {
    Ok(TargetRequest { target: args.target()?, common: &args.common, payload: None })
}

/// Refuses a study with a cell that the target cannot measure, before anything is measured.
pub fn check_cells(backend: &dyn TargetBackend, question: &Question) -> Result<()> {
    let largest_depth = question.iodepth.last().copied().unwrap_or(1);
    let ways = question.patterns().flat_map(|pattern| question.directions.iter().map(move |rw| Rw::of(pattern, *rw)));
    for rw in ways {
        for cache in &question.cache {
            for bs in &question.bs {
                let workload = Workload {
                    rw,
                    bs: *bs,
                    iodepth: largest_depth,
                    threads: question.threads,
                    cache: *cache,
                    engine: question.engine,
                    issuing: question.issuing,
                    options: question.options(),
                    ..Workload::default()
                };
                backend.admits(&workload)?;
            }
        }
    }
    Ok(())
}

/// The command that asks `question`, with the flags that differ from the default; empty if no command names its target.
pub fn command_of(question: &Question) -> String {
    let usual = Question::about("");
    // A machine's file would not change the answer.
    let target = parsed(&question.target);
    if target.as_ref().is_ok_and(may_mislead) {
        return String::new();
    }
    let usual_here =
        || target.map_or_else(|_| WALKS.to_vec(), |target| usual_experiments(&target, &question.directions));
    let experiments = if question.application.is_some() { vec![Experiment::Application] } else { usual_here() };
    let mut words = vec![format!("halfpower study {}", shell_operand(&question.target))];
    let mut add = |differs: bool, word: String| {
        if differs {
            words.push(word)
        }
    };
    question.application.iter().for_each(|one| add(true, format!("--for {}", shell_operand(&one.name))));
    add(question.experiments != experiments, format!("--experiments {}", listed(&question.experiments)));
    add(question.directions != usual.directions, format!("--rw {}", listed(&question.directions)));
    add(question.bs != usual.bs, format!("--bs {}", listed(&question.bs)));
    add(question.iodepth != usual.iodepth, format!("--iodepth {}", listed(&question.iodepth)));
    add(question.cache != usual.cache, format!("--cache {}", listed(&question.cache)));
    add(question.threads != usual.threads, format!("--threads {}", question.threads));
    add(question.connections != usual.connections, format!("--connections {}", question.connections));
    add(question.sealing != usual.sealing, format!("--sealing {}", question.sealing));
    add(!question.host_files.is_usual(), question.host_files.to_string());
    add(question.engine != usual.engine, format!("--engine {}", question.engine));
    question.issuing.iter().for_each(|issuing| add(*issuing != Issuing::default(), issuing.to_string()));
    add(question.budget != usual.budget, format!("--budget {}", question.budget));
    add(question.repeats != usual.repeats, format!("--repeats {}", question.repeats));
    add(question.sessions != usual.sessions, format!("--sessions {}", question.sessions));
    add(question.seed != usual.seed, format!("--seed {}", question.seed));
    question.runtime.iter().for_each(|runtime| add(true, format!("--runtime {runtime}")));
    question.write_cache.iter().for_each(|position| add(true, format!("--write-cache {position}")));
    question.size.iter().for_each(|size| add(true, format!("--size {size}")));
    add(question.spread, "--spread".to_string());
    question.price.iter().for_each(|price| add(true, format!("--price {price}")));
    question.sustain_bytes.iter().for_each(|bytes| add(true, format!("--sustain-bytes {bytes}")));
    question.latency_bound.iter().for_each(|bound| add(true, bound.to_string()));
    question.peak.iter().for_each(|peak| add(true, format!("--peak {peak}")));
    masked(&words.join(" ")).into_owned()
}

fn listed<T: std::fmt::Display>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_where_it_names_the_target() {
        let of = |target: &str| command_of(&Question::about(target));
        assert!(of("/srv/a,b").starts_with("halfpower study /srv/a,b"), "{}", of("/srv/a,b"));
        assert!(of("each:/srv/a,/srv/b").starts_with("halfpower study each:/srv/a,/srv/b"));
        assert!(of("sim:fixed=80us").starts_with("halfpower study sim:fixed=80us"));
        for odd in ["each:/srv/a,b,/srv/c", "b\"/srv/\\xff\"", "each:/srv/\u{fffd},/srv/c (b\"/srv/\\xff\")"] {
            assert_eq!(of(odd), "", "{odd}");
        }
    }
}
