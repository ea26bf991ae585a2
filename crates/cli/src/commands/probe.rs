//! Implements `halfpower probe`: shows the levels of a path and what each advertises.

use anyhow::Result;
use halfpower_probe::Root;

use super::to_output;
use crate::args::ProbeArgs;

pub fn probe(args: &ProbeArgs) -> Result<()> {
    let mut environment = halfpower_probe::probe_path(&Root::live(), &args.target)?;
    if let Some(peak) = args.peak {
        halfpower_probe::with_peak(&mut environment.levels, peak);
    }
    to_output(|out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, &environment)?;
            writeln!(out)?;
        } else {
            halfpower_report::environment_text(&environment, &mut &mut *out)?;
        }
        Ok(())
    })
}
