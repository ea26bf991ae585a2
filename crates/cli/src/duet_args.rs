//! Declares the flags of `halfpower compare --live`, which measures two targets in turns.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use halfpower_spec::{Bytes, Nanos, Target};

use crate::values::{one_size, parse, reached, target_words};

/// Length of a slice if the user names none.
const USUAL_SLICE: Nanos = Nanos(500_000_000);
/// Shortest and longest slice.
const SLICES: [Nanos; 2] = [Nanos(100_000_000), Nanos(1_000_000_000)];
/// Longest time of all slices if the user names none.
const USUAL_BUDGET: Nanos = Nanos(120_000_000_000);

/// The flags of `compare --live`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Two targets in turns")]
pub struct DuetArgs {
    /// Measure two targets now, in turns of a fraction of a second, so that whatever disturbs the machine falls on both
    ///
    /// A folder (halfpower lays out a file of its own there and removes it), a file, a block device, a share, or a simulated
    /// target; the same one twice shows what chance does here. The turns are A B, B A, and so on. Each cell ends when
    /// its pairs decide that B is faster, slower, or within 2% of A, at 5% error over all cells together, however often
    /// they are looked at. docs/method/compare.md has the formulas.
    #[arg(long, num_args = 2, value_names = ["A", "B"], value_parser = target_words())]
    #[arg(conflicts_with_all = ["studies", "baseline", "save", "full", "html", "markdown", "price", "force"])]
    pub live: Option<Vec<Target>>,
    /// Measure this cell, in the words of `halfpower run`, such as '--rw randread --bs 8k --iodepth 16'; may be repeated
    ///
    /// [default: random reads of 4 KiB, 1 and 32 deep; random writes of 4 KiB, 32 deep; sequential reads and writes of
    /// 1 MiB, 4 deep; all direct]
    #[arg(long = "cell", value_name = "WORDS", requires = "live", allow_hyphen_values = true)]
    pub cells: Vec<String>,
    /// Spend at most this much time, without laying out files [default: 2m]
    #[arg(long, value_name = "TIME", requires = "live", value_parser = parse::<Nanos>)]
    pub budget: Option<Nanos>,
    /// Measure for this long in each turn, from 100ms to 1s [default: 500ms]
    #[arg(long, value_name = "TIME", requires = "live", value_parser = parse::<Nanos>)]
    pub slice: Option<Nanos>,
    /// Use this many bytes of each target [default: 1GiB in a folder, all of a file or a device]
    #[arg(long, requires = "live", value_parser = one_size)]
    pub size: Option<Bytes>,
    /// Seed the offsets and the payload [default: 1]
    #[arg(long, requires = "live")]
    pub seed: Option<u64>,
    /// Allow writing to files and devices that halfpower did not create; their contents are lost
    #[arg(long, requires = "live")]
    pub overwrite: bool,
    /// Read user, password and domain for SMB, or keys for S3, from this file; its mode must be 0600
    #[arg(long, value_name = "FILE", requires = "live")]
    pub credentials: Option<PathBuf>,
}

impl DuetArgs {
    /// Refuses flags that are of `--live` alone.
    ///
    /// # Errors
    /// If one was given without it: it is required where studies are named, too, of which `--live` takes none.
    pub fn refuse_alone(&self) -> Result<()> {
        let Self { live: _, cells, budget, slice, size, seed, overwrite, credentials } = self;
        let given = [
            ("--cell", !cells.is_empty()),
            ("--budget", budget.is_some()),
            ("--slice", slice.is_some()),
            ("--size", size.is_some()),
            ("--seed", seed.is_some()),
            ("--overwrite", *overwrite),
            ("--credentials", credentials.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => bail!("{flag} is of --live, which measures: halfpower compare --live A B {flag} ..."),
            None => Ok(()),
        }
    }

    /// Both targets.
    ///
    /// # Errors
    /// If `--live` was given twice, or the environment holds an invalid server of a bucket.
    pub fn targets(&self) -> Result<[Target; 2]> {
        match self.live.as_deref() {
            Some([a, b]) => Ok([reached(a.clone(), None)?, reached(b.clone(), None)?]),
            _ => bail!("--live takes two targets: halfpower compare --live A B"),
        }
    }

    /// Length of a slice.
    ///
    /// # Errors
    /// If it is too short or too long to take turns.
    pub fn slice(&self) -> Result<Nanos> {
        let slice = self.slice.unwrap_or(USUAL_SLICE);
        if slice < SLICES[0] || slice > SLICES[1] {
            bail!("--slice {slice}: give a time from {} to {}", SLICES[0], SLICES[1]);
        }
        Ok(slice)
    }

    /// Longest time of all slices.
    pub fn budget(&self) -> Nanos {
        self.budget.unwrap_or(USUAL_BUDGET)
    }

    /// Seed of the offsets and of the payload.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}
