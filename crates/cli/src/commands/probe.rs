//! `halfpower probe`: the levels of a path and what each advertises.

use anyhow::Result;
use probe::Root;

use super::to_output;
use crate::args::ProbeArgs;

pub fn probe(args: &ProbeArgs) -> Result<()> {
    let mut environment = probe::probe_path(&Root::live(), &args.target)?;
    if let Some(peak) = args.peak {
        probe::with_peak(&mut environment.levels, peak);
    }
    to_output(None, |out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, &environment)?;
            writeln!(out)?;
        } else {
            report::environment_text(&environment, &mut &mut *out)?;
        }
        Ok(())
    })
}
