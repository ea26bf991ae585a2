//! Implements `halfpower run`: measures one workload and prints or appends its record.

use anyhow::Result;
use halfpower_record::{Environment, StudyFile};
use halfpower_spec::{Pass, Run};

use super::{Purpose, backend, outcome, switched_write_cache, to_output};
use crate::run_args::{PlaceInStudyArgs, RunArgs};

pub fn run(args: &RunArgs) -> Result<()> {
    let stop = halfpower_os::interrupt::stop_flag()?;
    let workload = args.workload()?;
    if args.runtime.0 == 0 {
        anyhow::bail!("--runtime 0 measures nothing; give a time such as 3s");
    }
    let writes = workload.rw.writes() || workload.options.verify;
    let PlaceInStudyArgs { output, experiment, repeat, pass } = &args.place;
    let mut file = output.as_deref().map(StudyFile::open_to_append).transpose()?;
    let write_cache = file.as_ref().and_then(|file| file.question().write_cache);
    let purpose = Purpose::of_run(&args.common, writes, write_cache);
    let mut backend = backend(&args.target, &args.common, &purpose)?;
    backend.admits(&workload)?;
    let _write_cache = switched_write_cache(backend.as_mut(), write_cache)?;
    backend.make_ready(None, &stop)?;
    let seed = args.common.seed;
    let run = Run { experiment: *experiment, workload, repeat: *repeat, pass: *pass, runtime: args.runtime, seed };
    let mut record = halfpower_measure::measure(backend.as_mut(), &run, &stop)?;
    if args.soaker {
        let beside_soaker = halfpower_measure::measure(backend.as_mut(), &Run { pass: Pass::Soaker, ..run }, &stop)?;
        record.cpu.soaker = beside_soaker.cpu.soaker_for(record.cpu.ios);
    }
    if let Some(file) = &mut file {
        let Environment { capabilities, left_out, .. } = file.environment().clone();
        file.go_on_in(&Environment { capabilities, left_out, ..backend.environment().clone() })?;
        file.append(&record)?;
    }
    to_output(|out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, &halfpower_report::run_json(&record, backend.environment()))?;
            writeln!(out)?;
        } else {
            halfpower_report::run_text(&record, out)?;
        }
        Ok(())
    })?;
    outcome::of(std::slice::from_ref(&record))
}
