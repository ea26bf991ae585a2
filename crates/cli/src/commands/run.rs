//! Implements `halfpower run`: measures one workload and prints or appends its record.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use halfpower_measure::{LatenciesOf, TargetBackend};
use halfpower_record::{DepthSearch, Environment, Record, StudyFile};
use halfpower_spec::{Pass, Run, Switch, Target, Way, Workload};

use super::question::canonical;
use super::{Purpose, TargetRequest, outcome, switched_write_cache, to_output, with_far_end};
use crate::hosts::{Processes, join_processes};
use crate::measuring_args::CommonArgs;
use crate::progress::{Line, RunProgress};
use crate::run_args::{PlaceInStudyArgs, RunArgs};

pub fn run(args: &RunArgs) -> Result<()> {
    let stop = halfpower_os::interrupt::stop_flag()?;
    let Some(join_processes) = join_processes(&[asked(args)?], &stop)? else { return Ok(()) };
    let (record, environment) = measured(args, (0, &join_processes), LatenciesOf::AllLanes, &stop)?;
    tell_depth(&record);
    to_output(|out| print(args, &record, &environment, out))?;
    outcome::of(std::slice::from_ref(&record))
}

/// Says on standard error which depth was found for a run, if it was looked for; that none was is an error of the command.
pub fn tell_depth(record: &Record) {
    let is_found = record.depth_search.as_ref().is_some_and(|search| search.found().is_some());
    if let Some(found) = halfpower_report::searched_text(record).filter(|_| is_found) {
        crate::tell::tell!("halfpower: {found}");
    }
}

/// The target that the flags name.
pub fn asked(args: &RunArgs) -> Result<TargetRequest<'_>> {
    Ok(TargetRequest { target: args.target()?, common: &args.common, payload: Some(&args.payload) })
}

/// Prints a record as the flags say.
pub fn print(args: &RunArgs, record: &Record, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    if args.json {
        halfpower_report::run_json(record, environment, &args.percentiles, out)?;
    } else {
        halfpower_report::run_text(record, &args.percentiles, out)?;
        halfpower_report::limit_text(record, &environment.levels, out)?;
    }
    Ok(())
}

/// Opens the study file that gets this run, which has to be of this target and over the same part of it.
fn opened_to_append(path: &Path, target: &Target, common: &CommonArgs) -> Result<StudyFile> {
    if matches!(path.try_exists(), Ok(false)) {
        let name = path.display();
        anyhow::bail!(
            "{name} does not exist: `halfpower plan TARGET --output {name}` creates it, and runs are added to it"
        );
    }
    let file = StudyFile::open_to_append(path)?;
    belongs(&file, target)?;
    file.check_span(common.size, common.spread)?;
    Ok(file)
}

/// Checks that the study file is of this target.
fn belongs(file: &StudyFile, target: &Target) -> Result<()> {
    let theirs = &file.question().target;
    let ours = canonical(target)?;
    if *theirs != ours {
        anyhow::bail!(
            "{} is a study of {theirs}, and this run is of {ours}; name another --output, or that target",
            file.path().display()
        );
    }
    Ok(())
}

/// The workload that the flags ask for, if it can be measured by itself.
pub fn checked(args: &RunArgs) -> Result<Workload> {
    if args.replay.workload.is_some() {
        anyhow::bail!("--workload asks a capture again and nothing else: `halfpower run --workload FILE FOLDER`");
    }
    let workload = args.workload()?;
    if args.longest().0 == 0 {
        anyhow::bail!("--runtime 0 measures nothing; give a time such as 3s");
    }
    if workload.rw.trims() && args.place.output.is_some() {
        anyhow::bail!(
            "--output: a study tells of reads and writes, and --rw {} trims; leave --output out, and keep --json",
            workload.rw
        );
    }
    args.depth.search(&workload)?;
    args.payload.suits(&workload, &args.target()?)?;
    if args.payload.note().is_some() && args.place.output.is_some() {
        anyhow::bail!("--payload: runs of a study write random bytes: leave --output out, and keep --json");
    }
    Ok(workload)
}

/// Opens the target of the command's `nth` run, and gives the run to measure on it; `write_cache` is the setting of its
/// study.
pub fn opened(
    args: &RunArgs,
    workload: Workload,
    (nth, join_processes): (usize, &Processes),
    write_cache: Option<Switch>,
) -> Result<(Box<dyn TargetBackend>, Run)> {
    let writes = workload.writes() || workload.options.verify;
    let purpose = Purpose::of_run(&args.common, writes, write_cache);
    let backend = join_processes.open(nth, &asked(args)?, purpose)?;
    if workload.options.way == Way::Wire || args.common.far_end.is_none() {
        backend.admits(&workload)?;
    }
    let mut backend = with_far_end(backend, &args.common)?;
    backend.admits(&workload)?;
    args.payload.note().iter().for_each(|note| backend.note(note));
    let PlaceInStudyArgs { experiment, repeat, pass, .. } = &args.place;
    let seed = args.common.seed;
    let run = Run { experiment: *experiment, workload, repeat: *repeat, pass: *pass, runtime: args.longest(), seed };
    Ok((backend, run))
}

/// Measures the command's `nth` run, and appends its record to the study that the flags name, if any.
pub fn measured(
    args: &RunArgs,
    place: (usize, &Processes),
    kept: LatenciesOf,
    stop: &AtomicBool,
) -> Result<(Record, Environment)> {
    let target = args.target()?;
    let workload = checked(args)?;
    let output = args.place.output.as_deref();
    let mut file = output.map(|path| opened_to_append(path, &target, &args.common)).transpose()?;
    let write_cache = file.as_ref().and_then(|file| file.question().write_cache);
    let (mut backend, run) = opened(args, workload, place, write_cache)?;
    file.iter().try_for_each(|file| file.check_place(&backend.environment().place))?;
    let _write_cache = switched_write_cache(backend.as_mut(), write_cache)?;
    backend.make_ready(None, stop)?;
    let (run, depth_search) = at_depth_found(args, backend.as_mut(), run, stop)?;
    let progress = RunProgress::of(&run.workload, args.known_runtime(), args.json);
    let mut record = halfpower_measure::measure_keeping(backend.as_mut(), &run, kept, stop)?;
    record.depth_search = depth_search;
    drop(progress);
    if stop.load(Ordering::Relaxed) {
        return cut_short(args, &record, backend.environment());
    }
    if args.soaker {
        let beside_soaker = halfpower_measure::measure(backend.as_mut(), &Run { pass: Pass::Soaker, ..run }, stop)?;
        record.cpu.soaker = beside_soaker.cpu.soaker_for(record.cpu.ios);
        if let Some(far_end) = &mut record.far_end {
            far_end.bill.soaker = beside_soaker.far_soaker_for(record.cpu.ios);
        }
    }
    if let Some(file) = &mut file {
        let Environment { capabilities, left_out, .. } = file.environment().clone();
        file.go_on_in(&Environment { capabilities, left_out, ..backend.environment().clone() })?;
        file.append(&record)?;
    }
    Ok((record, backend.environment().clone()))
}

/// The run at the depth that is found for it, or at depth 1 if none is; as it is if its depth is given.
fn at_depth_found(
    args: &RunArgs,
    backend: &mut dyn TargetBackend,
    run: Run,
    stop: &AtomicBool,
) -> Result<(Run, Option<Box<DepthSearch>>)> {
    let Some(search) = args.depth.search(&run.workload)? else { return Ok((run, None)) };
    let line = Line::new(args.json);
    let most = search.most_depth;
    let mut told = |depth: u32| line.show(&format!("looking for a depth up to {most}: {depth}"));
    let search = halfpower_measure::find_depth(backend, &run, search, &mut told, stop)?;
    let workload = Workload { iodepth: search.found().unwrap_or(1), ..run.workload };
    Ok((Run { workload, ..run }, Some(Box::new(search))))
}

/// Prints the record of a run that the user interrupted, and returns an error; the record is not stored.
fn cut_short(args: &RunArgs, record: &Record, environment: &Environment) -> Result<(Record, Environment)> {
    to_output(|out| print(args, record, environment, out))?;
    let kept = if args.place.output.is_some() { ", and nothing was kept in the study" } else { "" };
    let whole = args.known_runtime().map_or(String::new(), |runtime| format!(" of {:.0} s", runtime.seconds()));
    anyhow::bail!("interrupted after {:.1} s{whole}; the figures are of that time{kept}", record.seconds())
}
