//! Declares the flags of `halfpower run --workload`, which asks again what an application asked.

use std::path::PathBuf;

use clap::{Args, Parser};
use halfpower_replay::Pace;
use halfpower_spec::{Cache, Nanos, ParseError, cache_named};

use crate::measuring_args::MayWriteArgs;
use crate::values::{parse, speed};

/// Examples and exit codes, for the end of the help text.
const REPLAY_EXAMPLES: &str =
    "The capture comes from `halfpower watch --record` or `halfpower import`. Its files are laid out in the folder, as our
own and without names; no others are touched. A file or device that is named itself is used, and written to with --overwrite
alone. docs/replay.md describes all of it.

Examples:
  halfpower watch --name postgres --record app.halfpower
  halfpower run --workload app.halfpower /mnt/new
  halfpower run --workload app.halfpower /mnt/new --runtime 60s --speed 2x -o again.halfpower
  halfpower run --workload app.halfpower /mnt/new --html app.html
  halfpower run --workload fio.iolog /dev/sdb --open --overwrite

Exit codes: 0 it was asked again; 1 requests failed; 2 it could not be asked again.";

/// Longest replay.
const LONGEST: Nanos = Nanos(86_400_000_000_000);
/// Shortest replay.
const SHORTEST: Nanos = Nanos(10_000_000);

/// How fast a capture is asked again.
#[derive(Debug, Clone, Copy, Args)]
pub struct SpeedArgs {
    /// Ask a capture again at this speed: pauses between operations are divided by it
    #[arg(long, value_name = "FACTOR", value_parser = speed, default_value = "1x")]
    pub speed: f64,
    /// Ask for each operation of a capture at its time, however long others take (open loop)
    #[arg(long)]
    pub open: bool,
}

impl SpeedArgs {
    /// How a capture is asked again.
    pub fn pace(self) -> Pace {
        Pace { open: self.open, speed: self.speed }
    }
}

/// The flag with which `run` asks a capture again, for the help text of `run`: [`ReplayArgs`] are then its flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload of an application")]
pub struct ReplayFlag {
    /// Ask again what an application asked, as `halfpower watch --record` or `import` kept it, of files laid out in a
    /// folder; `halfpower run --workload FILE --help` has its flags
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
}

/// Ask again what an application asked, of files laid out in a folder or of one that is there, and compare
#[derive(Debug, Parser)]
#[command(name = "halfpower run", max_term_width = 100, after_help = REPLAY_EXAMPLES)]
pub struct ReplayArgs {
    /// Folder on the path, in which the files of the capture are laid out; or, for a capture of a single one, a file or block
    /// device that is there
    #[arg(value_name = "FOLDER|FILE|DEVICE")]
    pub place: PathBuf,
    /// Ask this capture again; or what strace, blkparse and fio's logs tell, as `halfpower import` reads it
    #[arg(long, value_name = "FILE")]
    pub workload: PathBuf,
    #[command(flatten)]
    pub speed: SpeedArgs,
    /// Ask for each operation as soon as the one before it in its lane has ended, without the pauses of the capture
    #[arg(long, conflicts_with_all = ["open", "speed"])]
    pub no_pauses: bool,
    /// Let up to so many operations of one of fio's logs, which do not tell who issued them, be in progress at once
    #[arg(long, value_name = "OPERATIONS", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub iodepth: Option<u32>,
    /// Let all operations use the page cache (both) or pass it by (device), whatever the capture says
    #[arg(long, value_parser = cache_named)]
    pub cache: Option<Cache>,
    #[command(flatten)]
    pub may_write: MayWriteArgs,
    /// Ask for this long, round after round [default: one round, at least 10s]
    #[arg(short = 'd', long, visible_alias = "time", value_parser = length)]
    pub runtime: Option<Nanos>,
    /// Seed what is written
    #[arg(long, visible_alias = "randseed", default_value_t = 1)]
    pub seed: u64,
    /// Write what came of the last round to this file, as a capture
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write a page to this file: both sides as figures, by percentile, and over time
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print JSON only
    #[arg(long)]
    pub json: bool,
    /// Replace a file that halfpower did not make; a study is never replaced
    #[arg(long)]
    pub force: bool,
}

fn length(text: &str) -> Result<Nanos, ParseError> {
    match parse::<Nanos>(text)? {
        length if length < SHORTEST => Err(ParseError::new(text, 0, "ask for 10ms or longer")),
        length if length > LONGEST => Err(ParseError::new(text, 0, "ask for a day (86400s) at most")),
        length => Ok(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<ReplayArgs, String> {
        let words = ["halfpower run"].into_iter().chain(line.split_whitespace());
        ReplayArgs::try_parse_from(words).map_err(|error| error.to_string())
    }

    #[test]
    fn a_capture_and_a_folder_are_named() {
        let args =
            parsed("--workload app.halfpower /mnt/new --time 30s --speed 2x --open -o again.halfpower --html a.html")
                .unwrap();
        assert_eq!(args.html, Some(PathBuf::from("a.html")));
        assert_eq!((args.speed.speed, args.speed.open, args.runtime), (2.0, true, Some(Nanos(30_000_000_000))));
        assert_eq!(args.output, Some(PathBuf::from("again.halfpower")));
        let usual = parsed("/mnt/new --workload=app.halfpower").unwrap();
        assert_eq!((usual.speed.speed, usual.speed.open, usual.runtime, usual.seed), (1.0, false, None, 1));
        let log = parsed("/dev/sdb --workload fio.iolog --no-pauses --iodepth 8 --cache device --overwrite").unwrap();
        assert!(log.no_pauses && log.may_write.given().eq(["--overwrite"]));
        assert_eq!((log.iodepth, log.cache), (Some(8), Some(Cache::Device)));
        for (line, why) in [
            ("--workload a b --no-pauses --open", "cannot be used with"),
            ("--workload a b --iodepth 0", "1..=1024"),
            ("--workload app.halfpower", "FOLDER"),
            ("/mnt/new", "--workload"),
            ("--workload a b c", "unexpected argument 'c'"),
            ("--workload a b --speed 0", "such as 2x"),
            ("--workload a b --speed nanx", "such as 2x"),
            ("--workload a b -d 1ms", "10ms or longer"),
        ] {
            let said = parsed(line).unwrap_err();
            assert!(said.contains(why), "{line}: {said}");
        }
    }
}
