//! `halfpower run`: one workload, one record, as SQLIO did.

use anyhow::Result;
use record::{Environment, StudyFile};
use spec::{Pass, Run};

use super::{Purpose, place, switched_write_cache, to_output};
use crate::run_args::{PlaceInStudyArgs, RunArgs};

pub fn run(args: &RunArgs) -> Result<()> {
    let stop = os::interrupt::stop_flag()?;
    let workload = args.workload();
    if args.runtime.0 == 0 {
        anyhow::bail!("--runtime 0 measures nothing; give it a time such as 3s");
    }
    let writes = workload.rw.writes() || workload.twist.verify;
    let purpose = Purpose::of_run(&args.common, writes);
    let mut place = place(&args.target, &args.common, &purpose)?;
    place.admits(&workload)?;
    let _write_cache = switched_write_cache(place.as_mut(), &args.common)?;
    place.make_ready(None, &stop)?;
    let seed = args.common.seed;
    let PlaceInStudyArgs { output, experiment, repeat, pass } = &args.place;
    let run = Run { experiment: *experiment, workload, repeat: *repeat, pass: *pass, runtime: args.runtime, seed };
    let mut file = output.as_deref().map(StudyFile::open_to_append).transpose()?;
    let mut record = measure::measure(place.as_mut(), &run, &stop)?;
    if args.soaker {
        let beside_soaker = measure::measure(place.as_mut(), &Run { pass: Pass::Soaker, ..run }, &stop)?;
        record.cpu.soaker = beside_soaker.cpu.soaker_for(record.cpu.ios);
    }
    if let Some(file) = &mut file {
        let Environment { surroundings, left_out, .. } = file.environment().clone();
        file.go_on_in(&Environment { surroundings, left_out, ..place.environment().clone() })?;
        file.append(&record)?;
    }
    to_output(None, |out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, &report::run_json(&record, place.environment()))?;
            writeln!(out)?;
        } else {
            report::run_text(&record, out)?;
        }
        Ok(())
    })
}
