//! Declares the flags of `halfpower run` about what is written, and reads the file that they name.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use halfpower_spec::{Bytes, MOST_PAYLOAD, Rw, Target, Workload, WorkloadOptions};

use crate::values::one_size;

/// What is written, if it does not come from halfpower.
#[derive(Debug, Args)]
pub struct PayloadArgs {
    /// Write what this file holds, from its beginning and again, and not random bytes
    ///
    /// Each block of the target has its own part of it, if it is long enough. Devices and file systems may compress what they
    /// get, and store what is equal once: as they would do with such data. A file that halfpower lays out is random first.
    #[arg(long, help_heading = "More of the workload", hide_short_help = true, value_name = "FILE")]
    pub payload: Option<PathBuf>,
    /// Take only the first so many bytes of --payload, up to 16MiB
    #[arg(long, help_heading = "More of the workload", hide_short_help = true, value_name = "SIZE")]
    #[arg(requires = "payload", value_parser = one_size, default_value_t = MOST_PAYLOAD)]
    pub payload_size: Bytes,
}

impl PayloadArgs {
    /// Checks that the workload writes what the flags name.
    ///
    /// # Errors
    /// What it has instead, and what to do.
    pub fn suits(&self, workload: &Workload, target: &Target) -> Result<()> {
        if self.payload.is_none() {
            return Ok(());
        }
        let WorkloadOptions { verify, compressible, file_operation, .. } = workload.options;
        let rw = workload.rw;
        if !rw.writes() || matches!(rw, Rw::Trim | Rw::Randtrim) {
            bail!("--payload: --rw {rw} writes nothing: leave it out");
        }
        if self.payload_size == Bytes(0) || self.payload_size > MOST_PAYLOAD {
            bail!("--payload-size {}: write a size from 1 byte to {MOST_PAYLOAD}", self.payload_size);
        }
        let others = [
            (verify, "--verify writes data of its own"),
            (compressible > 0, "--compressible says what is written, too"),
            (file_operation.is_some(), "small files hold random bytes"),
            (matches!(target, Target::Simulated(_) | Target::System(_)), "a simulated system moves no data"),
        ];
        match others.into_iter().find(|(is_there, _)| *is_there) {
            Some((_, why)) => bail!("--payload: {why}: leave one of them out"),
            None => Ok(()),
        }
    }

    /// The bytes that writes carry; `None` if they are random. They stay for the process.
    ///
    /// # Errors
    /// If the file cannot be read, or is empty.
    pub fn given(&self) -> Result<Option<&'static [u8]>> {
        let Some(path) = &self.payload else { return Ok(None) };
        let name = path.display();
        let mut bytes = Vec::new();
        let read = File::open(path)
            .and_then(|file| file.take(self.payload_size.0.min(MOST_PAYLOAD.0)).read_to_end(&mut bytes));
        read.with_context(|| format!("--payload {name} cannot be read"))?;
        if bytes.is_empty() {
            bail!("--payload {name} is empty: name a file that holds what is to be written");
        }
        let given: &'static [u8] = bytes.leak();
        Ok(Some(given))
    }

    /// What a record says of it; `None` if the bytes are random.
    pub fn note(&self) -> Option<String> {
        let path = self.payload.as_ref()?;
        Some(format!("What was written is what {} holds, up to {}, again and again", path.display(), self.payload_size))
    }
}
