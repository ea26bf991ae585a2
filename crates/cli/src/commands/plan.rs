//! Implements `halfpower plan`: prints the runs of a study as commands.
//!
//! `sequential` and `random` are printed as their whole grid, because a study chooses from it while it measures. All
//! other experiments are printed run by run, as the study makes them.

use std::io::Write;

use anyhow::Result;
use halfpower_record::StudyFile;
use halfpower_spec::{Experiment, Nanos, Question, Run, shell_operand, shell_word};

use super::applications::listed;
use super::question::{check_cells, open_target, question, refuse_untyped, without_direct, without_what_commands_lack};
use super::{line, to_output};
use crate::args::PlanArgs;
use crate::hosts::Processes;

pub fn plan(args: &PlanArgs) -> Result<()> {
    if listed(&args.question)? {
        return Ok(());
    }
    let mut question = question(&args.question)?;
    refuse_untyped(&args.question, &question)?;
    let mut backend = open_target(&args.question, &question, &Processes::Alone)?;
    without_direct(&args.question, &mut question, backend.as_ref());
    without_what_commands_lack(&args.question, &mut question, backend.as_ref());
    check_cells(backend.as_ref(), &question)?;
    let left_out = halfpower_experiments::left_out(&question, backend.environment());
    backend.environment_mut().left_out = left_out.clone();
    if let Some(path) = &args.output {
        StudyFile::create(path, &question, backend.environment())?;
    }
    let suffix = suffix(args);
    to_output(|out| {
        for left in &left_out {
            line(out, &format!("# {}: {}", left.experiment, left.why))?;
        }
        let walked = halfpower_study::grid_runs(&question);
        let fixed = halfpower_study::fixed_runs(&question, backend.environment());
        for run in walked.iter().chain(&fixed) {
            writeln!(out, "{}{}{suffix}", command(&question, run, args.output.is_some()), write_cache(args, run))?;
        }
        summary(&question, &walked, &fixed, out)
    })
}

/// Prints the number of runs and their measuring time, as shell comments.
fn summary(question: &Question, walked: &[Run], fixed: &[Run], out: &mut dyn Write) -> Result<()> {
    let seconds = |runs: &[Run]| runs.iter().map(|run| run.runtime.seconds()).sum::<f64>();
    let time = |runs: &[Run]| Nanos::from_seconds(seconds(runs).round());
    let all = walked.len() + fixed.len();
    writeln!(out, "# {all} runs, {} of measuring, and the preparation of each.", time(&[walked, fixed].concat()))?;
    if !walked.is_empty() {
        let names: Vec<&str> = question.patterns().map(|pattern| Experiment::walking(pattern).word()).collect();
        writeln!(
            out,
            "# {} of them ({}) are the whole grid of {}: within its budget of {} a study chooses from these as it measures.",
            walked.len(),
            time(walked),
            names.join(" and "),
            question.budget
        )?;
    }
    if !fixed.is_empty() {
        writeln!(
            out,
            "# {} of them ({}) belong to the other experiments, which a study runs as they stand.",
            fixed.len(),
            time(fixed)
        )?;
    }
    Ok(())
}

/// The command for one run; as part of a study, it also names experiment and repeat.
fn command(question: &Question, run: &Run, in_study: bool) -> String {
    let Run { workload, repeat, pass, runtime, seed, .. } = run;
    let membership = match (run.experiment, in_study) {
        (Some(experiment), true) => format!(" --experiment {experiment} --repeat {repeat}"),
        _ => String::new(),
    };
    let target = shell_operand(&question.target);
    format!("halfpower run {target} {workload} --runtime {runtime} --seed {seed} --pass {pass}{membership}")
}

/// The flag for the study's write cache, for a run outside a study file; other runs read it from the file.
fn write_cache(args: &PlanArgs, run: &Run) -> String {
    let own = run.workload.options.write_cache.is_some() || args.output.is_some();
    args.question.write_cache.filter(|_| !own).map_or(String::new(), |position| format!(" --write-cache {position}"))
}

/// The flags at the end of every command of a study.
fn suffix(args: &PlanArgs) -> String {
    let common = &args.question.common;
    let mut suffix = String::new();
    common.size.iter().for_each(|size| suffix += &format!(" --size {size}"));
    common.far_end.iter().for_each(|command| suffix += &format!(" --far-end {}", shell_word(command)));
    suffix += if common.spread { " --spread" } else { "" };
    args.output.iter().for_each(|path| suffix += &format!(" --output {}", shell_operand(path)));
    common.timeout.iter().for_each(|timeout| suffix += &format!(" --timeout {timeout}"));
    common.credentials.iter().for_each(|path| suffix += &format!(" --credentials {}", shell_operand(path)));
    common.may_write.given().for_each(|flag| suffix += &format!(" {flag}"));
    suffix += if common.drop_caches { " --drop-caches" } else { "" };
    suffix
}
