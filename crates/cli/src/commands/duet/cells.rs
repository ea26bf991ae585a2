//! Chooses the cells of a duet: the usual ones, or those that the user wrote in the words of `halfpower run`.

use anyhow::{Result, anyhow, bail};
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches};
use halfpower_spec::{Bytes, Cache, OPTIONS, Rw, Workload};

use crate::args::CommandLine;
use crate::run_args::RunArgs;

/// Arguments of `run` that describe a workload, beside the rows of the table of options.
const OF_A_WORKLOAD: [&str; 16] = [
    "rw",
    "rwmixread",
    "bs",
    "iodepth",
    "cache",
    "direct",
    "sync",
    "rate",
    "rate_iops",
    "arrivals",
    "threads",
    "connections",
    "sealing",
    "engine",
    "iomem",
    "iodepth_batch",
];

/// The cells if the user names none: the usual ones of a first screen.
pub fn usual() -> Vec<Workload> {
    let of = |rw, kib: u64, iodepth| Workload {
        rw,
        bs: Bytes(kib << 10),
        iodepth,
        cache: Cache::Device,
        ..Workload::default()
    };
    vec![
        of(Rw::Randread, 4, 1),
        of(Rw::Randread, 4, 32),
        of(Rw::Randwrite, 4, 32),
        of(Rw::Read, 1024, 4),
        of(Rw::Write, 1024, 4),
    ]
}

/// The workload of words of `halfpower run`.
///
/// # Errors
/// If the words are none, or say more than a workload.
pub fn workload_of(words: &str) -> Result<Workload> {
    let line = ["halfpower", "run", "null:"].into_iter().chain(words.split_whitespace());
    let command = CommandLine::command();
    let matches = command.clone().try_get_matches_from(line).map_err(|error| misread(words, &error))?;
    let of_run = matches.subcommand_matches("run").expect("the words begin with run");
    let run = command.find_subcommand("run").expect("there is such a command");
    let is_given = |id: &str| of_run.value_source(id) == Some(ValueSource::CommandLine);
    let describes = |id: &str| OF_A_WORKLOAD.contains(&id) || OPTIONS.iter().any(|row| row.flag == id);
    let mut ids = run.get_arguments().map(|argument| argument.get_id().as_str()).filter(|id| *id != "targets");
    if let Some(foreign) = ids.find(|id| is_given(id) && !describes(id)) {
        bail!(
            "--cell '{words}': --{} is no part of a workload; leave it out, or give it beside --cell",
            foreign.replace('_', "-")
        );
    }
    let args = RunArgs::from_arg_matches(of_run).map_err(|error| misread(words, &error))?;
    match args.targets.as_slice() {
        [_] => args.workload(),
        _ => bail!("--cell '{words}': write flags of `halfpower run` alone; the targets stand after --live"),
    }
}

/// The first line of an error of the parser, with the words that it is about.
fn misread(words: &str, error: &clap::Error) -> anyhow::Error {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    anyhow!("--cell '{words}': {}", line.strip_prefix("error: ").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_written_in_the_words_of_run() {
        let cell = workload_of("--rw randread --bs 8k -o 16 --direct 0").unwrap();
        assert_eq!((cell.rw, cell.bs, cell.iodepth, cell.cache), (Rw::Randread, Bytes(8192), 16, Cache::Both));
        let usual = workload_of("").unwrap();
        assert_eq!(usual, Workload::default());
        let written = "--rw randwrite --bs 4KiB --iodepth 1 --threads 1 --cache device --engine auto --fdatasync 1";
        assert_eq!(workload_of(written).unwrap().to_string(), written, "as JSON prints it");
    }

    #[test]
    fn what_is_no_workload_is_refused_and_named() {
        let why = |words: &str| workload_of(words).unwrap_err().to_string();
        assert!(why("--rw randread --size 1g").contains("--size is no part of a workload"), "{}", why("--size 1g"));
        assert!(why("--runtime 3s").contains("--runtime"), "{}", why("--runtime 3s"));
        assert!(why("/data --rw read").contains("after --live"), "{}", why("/data --rw read"));
        assert!(why("--rw randread --bs huge").starts_with("--cell '--rw randread --bs huge': "));
    }
}
