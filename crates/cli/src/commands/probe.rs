//! Implements `halfpower probe`: shows the levels of a path, the peak that each advertises, and what checks found there.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use halfpower_measure::{SimulatedTarget, TargetBackend};
use halfpower_probe::Root;
use halfpower_record::Environment;
use halfpower_spec::Target;

use super::looked_at::{NOT_IN_TIME, looked_at};
use super::{SILENCE_OF_A_SERVER, access, line, refuse_credentials, to_output};
use crate::args::ProbeArgs;
use crate::values::reached;

pub fn probe(args: &ProbeArgs) -> Result<()> {
    let mut environments = environments(args)?;
    if let Some(peak) = args.peak {
        environments.iter_mut().for_each(|(_, environment)| halfpower_probe::with_peak(&mut environment.levels, peak));
    }
    let is_single = environments.len() == 1;
    to_output(|out| {
        if args.json {
            match &environments[..] {
                [(_, environment)] => serde_json::to_writer_pretty(&mut *out, environment)?,
                several => {
                    let all: BTreeMap<_, _> = several.iter().map(|(name, environment)| (name, environment)).collect();
                    serde_json::to_writer_pretty(&mut *out, &all)?;
                }
            }
            return Ok(writeln!(out)?);
        }
        for (name, environment) in &environments {
            if !is_single {
                line(out, name)?;
            }
            halfpower_report::environment_text(environment, &mut *out)?;
        }
        Ok(())
    })
}

/// The environment of the target, or of each of its members, with its name.
fn environments(args: &ProbeArgs) -> Result<Vec<(String, Environment)>> {
    let target = &reached(args.target.clone(), args.endpoint.as_ref())?;
    refuse_credentials(args.credentials.as_deref(), target)?;
    let of_path = |path: &Path| -> Result<(String, Environment)> {
        let there = path.canonicalize();
        there.with_context(|| format!("{}: name an existing folder, file or device", path.display()))?;
        let mut environment = halfpower_probe::probe_path(&Root::live(), path)?;
        match looked_at(&Target::Path(path.to_path_buf())) {
            Some(diagnoses) => environment.diagnoses = diagnoses,
            None => environment.notes.push(NOT_IN_TIME.to_string()),
        }
        Ok((path.display().to_string(), environment))
    };
    let simulated = |backend: SimulatedTarget| vec![(target.to_string(), backend.environment().clone())];
    Ok(match target {
        Target::Path(path) => vec![of_path(path)?],
        Target::Several(several) => several.members.iter().map(|path| of_path(path)).collect::<Result<_>>()?,
        Target::Simulated(disk) => simulated(SimulatedTarget::new(disk.clone())),
        Target::System(system) => simulated(SimulatedTarget::system(system, None, None)?),
        Target::Share(address) => {
            let access = access(address, args.credentials.as_deref(), SILENCE_OF_A_SERVER)?;
            vec![(target.to_string(), halfpower_measure::probe_share(address, &access)?)]
        }
        Target::Null => {
            let machine = halfpower_probe::probe_machine(&Root::live());
            vec![(target.to_string(), Environment { machine, ..Environment::default() })]
        }
    })
}
