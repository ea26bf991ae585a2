//! One file a command, and what they share: the place a target stands for, and where output goes.

pub mod calibrate;
pub mod compare;
pub mod export;
pub mod memory;
pub mod plan;
pub mod probe;
pub mod question;
pub mod report;
pub mod run;
pub mod study;
pub mod systems;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use measure::{Place, RealPlace, SimulatedPlace, Wanted, WriteCache};
use record::{RecordError, TargetKind};
use spec::{Bytes, Nanos, Target};

use crate::args::CommonArgs;

/// How long laying out a file may take for a single run.
const LAYOUT_OF_A_RUN: Nanos = Nanos(60_000_000_000);

/// What a place is to be for a command.
pub struct Purpose {
    /// Whether anything will be written to it.
    pub writes: bool,
    /// Bytes to use; `None` takes the usual.
    pub size: Option<Bytes>,
    /// How long laying out its file may take.
    pub layout_limit: Nanos,
}

impl Purpose {
    /// A single run.
    pub fn of_run(common: &CommonArgs, writes: bool) -> Self {
        Self { writes, size: common.size, layout_limit: LAYOUT_OF_A_RUN }
    }
}

/// Makes the place that a target stands for.
pub fn place(target: &Target, common: &CommonArgs, purpose: &Purpose) -> Result<Box<dyn Place>> {
    let wanted = Wanted {
        size: purpose.size,
        writes: purpose.writes,
        overwrite: common.overwrite,
        drop_caches: common.drop_caches,
        engine: common.engine,
        seed: common.seed,
        layout_limit: purpose.layout_limit,
    };
    WriteCache::put_back_stale();
    Ok(match target {
        Target::Simulated(disk) => Box::new(SimulatedPlace::new(disk.clone())),
        Target::System(system) => Box::new(SimulatedPlace::system(system, purpose.size, common.write_cache)?),
        Target::Several(several) => Box::new(RealPlace::open_several(several, &wanted)?),
        Target::Null => Box::new(RealPlace::null(&wanted)?),
        Target::Path(path) => Box::new(RealPlace::open(path, &wanted)?),
    })
}

/// Switches the device's write cache where that was asked, until the value is dropped.
pub fn switched_write_cache(place: &mut dyn Place, common: &CommonArgs) -> Result<Option<WriteCache>> {
    let Some(switch) = common.write_cache else { return Ok(None) };
    let simulated = place.environment().surroundings.kind == TargetKind::Simulated;
    if simulated && place.environment().device.is_some() {
        // The machine was made with it.
        return Ok(None);
    }
    let Some(device) = &mut place.environment_mut().device else {
        bail!("--write-cache {switch}: no device is known under the target, so leave it out");
    };
    let held = WriteCache::set(&device.name, switch)?;
    device.write_cache = Some(WriteCache::setting(switch).to_string());
    Ok(Some(held))
}

/// Calls `write` on standard output, or on the file named.
pub fn to_output(file: Option<&Path>, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    match file {
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            write(&mut out)?;
            Ok(out.flush()?)
        }
        Some(path) => to_file(path, write),
    }
}

/// Calls `write` on a new file that takes the name only when it is whole.
pub fn to_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".part");
    let unfinished = Path::new(&unfinished);
    let written = || -> Result<()> {
        let mut out = BufWriter::new(std::fs::File::create(unfinished)?);
        write(&mut out)?;
        out.flush()?;
        Ok(std::fs::rename(unfinished, path)?)
    };
    written()
        .inspect_err(|_| drop(std::fs::remove_file(unfinished)))
        .with_context(|| format!("{} cannot be written; name another place, or make room", path.display()))
}

/// Whether the reader of our output has gone, as `head` does: that is no error.
pub fn output_was_closed(error: &anyhow::Error) -> bool {
    let closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(closed)
            || matches!(cause.downcast_ref::<RecordError>(), Some(RecordError::Stream { error, .. }) if closed(error))
    })
}
