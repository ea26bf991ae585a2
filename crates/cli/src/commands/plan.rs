//! `halfpower plan`: a study's runs as commands, one a line, as cmdgen did.
//!
//! The walks of block size and depth appear as their whole grid, since what a study measures of it depends on what
//! it sees; all other experiments appear run by run as the study would make them.

use anyhow::Result;
use record::StudyFile;
use spec::{Question, Run};

use super::question::{check_cells, open_place, question, quoted};
use super::to_output;
use crate::args::PlanArgs;

pub fn plan(args: &PlanArgs) -> Result<()> {
    let question = question(&args.question)?;
    let mut place = open_place(&args.question, &question)?;
    check_cells(place.as_ref(), &question)?;
    let left_out = study::left_out(&question, place.environment());
    place.environment_mut().left_out = left_out.clone();
    if let Some(path) = &args.output {
        StudyFile::create(path, &question, place.environment())?;
    }
    let suffix = suffix(args);
    to_output(None, |out| {
        for left in &left_out {
            writeln!(out, "# {}: {}", left.experiment, left.why)?;
        }
        for run in study::grid_runs(&question).iter().chain(&study::fixed_runs(&question, place.environment())) {
            writeln!(out, "{}{suffix}", command(&question, run, args.output.is_some()))?;
        }
        Ok(())
    })
}

/// The command that makes one run; as part of a study it also says which run it is.
fn command(question: &Question, run: &Run, in_study: bool) -> String {
    let Run { workload, repeat, pass, runtime, seed, .. } = run;
    let place = match (run.experiment, in_study) {
        (Some(experiment), true) => format!(" --experiment {experiment} --repeat {repeat}"),
        _ => String::new(),
    };
    let target = quoted(&question.target);
    format!("halfpower run {target} {workload} --runtime {runtime} --seed {seed} --pass {pass}{place}")
}

/// What every command of a study ends with.
fn suffix(args: &PlanArgs) -> String {
    let common = &args.question.common;
    let mut suffix = String::new();
    common.size.iter().for_each(|size| suffix += &format!(" --size {size}"));
    common.write_cache.iter().for_each(|position| suffix += &format!(" --write-cache {position}"));
    args.output.iter().for_each(|path| suffix += &format!(" --output {}", quoted(&path.display().to_string())));
    for (set, flag) in [(common.overwrite, " --overwrite"), (common.drop_caches, " --drop-caches")] {
        suffix += if set { flag } else { "" };
    }
    suffix
}
