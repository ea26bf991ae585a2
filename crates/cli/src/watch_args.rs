//! Declares the flags of `halfpower watch`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use halfpower_spec::{Nanos, ParseError};

use crate::values::parse;

/// Examples and exit codes, for the end of the help text.
pub const WATCH_EXAMPLES: &str =
    "It puts no load on the machine, but for --probe, and changes nothing that is watched. As root it follows every operation through the
kernel; as any other user it counts, and says what root would see. Ctrl-C ends the watch, and not what is watched; a
command that it started ends too. docs/watch.md describes all of it.

Examples:
  halfpower watch --pid 4711                     for a minute; its children too
  halfpower watch --name postgres --study study.halfpower
  halfpower watch --cgroup postgresql.service --for 5m -o pg.watch.json -o pg.watch.html
  halfpower watch --mount /srv                   everybody on the disk beneath /srv
  halfpower watch -- pgbench -T 60 bench
  halfpower watch --name postgres --probe        what one request alone takes there, where no study tells
  halfpower watch --name postgres --record app.halfpower   ask it again: run --workload, predict
  halfpower watch --show pg.watch.json

Exit codes: 0 it was watched; 1 the command that was watched failed; 2 it could not be watched.";

/// Longest watch: what happened is kept second by second.
const LONGEST: Nanos = Nanos(86_400_000_000_000);
/// Shortest watch.
const SHORTEST: Nanos = Nanos(100_000_000);

#[derive(Debug, Args)]
pub struct WatchArgs {
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// Watch for this long [default: 60s; a command until it ends]
    ///
    /// A command that goes on after that is waited for.
    #[arg(long = "for", value_name = "TIME", value_parser = length, conflicts_with = "show")]
    pub length: Option<Nanos>,
    /// Say what share of this study's ceilings the application uses; a study of the same path
    #[arg(long, value_name = "FILE")]
    pub study: Option<PathBuf>,
    /// Write what was seen to this file: .json to show it again (--show), .html as a page; may be repeated
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Send at most 200 single reads while the disk is idle, to tell what one request alone takes; never writes
    ///
    /// At idle priority, from a file that the application has open, every other second. It ends at once if the application's
    /// reads or syncs take longer beside it. It needs root, as only the kernel's trace shows that.
    #[arg(long, conflicts_with_all = ["show", "no_trace"])]
    pub probe: bool,
    /// Keep each operation in this file, to ask it again with `run --workload`: no data, and no names of files
    ///
    /// What is kept is kind, size, place, file, thread and time of each operation that was seen whole.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["show", "no_trace"])]
    pub record: Option<PathBuf>,
    /// With --record: keep the names of files, too
    #[arg(long, requires = "record")]
    pub names: bool,
    /// Print JSON only
    #[arg(long)]
    pub json: bool,
    /// Read counters only, and trace nothing
    #[arg(long, conflicts_with = "show")]
    pub no_trace: bool,
    /// Trace no more than costs this share of one processor; what would cost more is traced in slices
    #[arg(long, value_name = "PERCENT", value_parser = share, default_value = "1%", conflicts_with = "show")]
    pub most_cost: f64,
    /// Replace a file that halfpower did not make; a study is never replaced
    #[arg(long)]
    pub force: bool,
}

/// Whom to watch: one of these.
#[derive(Debug, Args)]
#[group(id = "whom", required = true, multiple = false)]
#[command(next_help_heading = "Whom to watch")]
pub struct SubjectArgs {
    /// Watch these processes, with their children
    #[arg(short, long, value_name = "PID,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Vec<u32>,
    /// Watch all processes that run this program, with their children
    #[arg(long = "name", value_name = "PROGRAM")]
    pub program: Option<String>,
    /// Watch all processes of a control group, by its path or its last name, such as postgresql.service
    #[arg(long, value_name = "GROUP")]
    pub cgroup: Option<PathBuf>,
    /// Watch everybody on this disk
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<PathBuf>,
    /// Watch everybody on the disk beneath this folder
    #[arg(long, value_name = "FOLDER")]
    pub mount: Option<PathBuf>,
    /// Show what an earlier watch wrote with -o FILE.json
    #[arg(long, value_name = "FILE")]
    pub show: Option<PathBuf>,
    /// Start this command and watch it, with its children
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn length(text: &str) -> Result<Nanos, ParseError> {
    match parse::<Nanos>(text)? {
        length if length < SHORTEST => Err(ParseError::new(text, 0, "watch for 100ms or longer")),
        length if length > LONGEST => Err(ParseError::new(text, 0, "watch for a day (86400s) at most")),
        length => Ok(length),
    }
}

/// A share in percent, such as `1%`.
fn share(text: &str) -> Result<f64, ParseError> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    match percent.filter(|percent| *percent > 0.0 && *percent <= 100.0) {
        Some(percent) => Ok(percent / 100.0),
        None => Err(ParseError::new(text, 0, "write a share of one processor, such as 1% or 0.5%")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Command, CommandLine};

    fn parsed(line: &str) -> Result<WatchArgs, String> {
        let words = ["halfpower", "watch"].into_iter().chain(line.split_whitespace());
        match CommandLine::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Watch(args) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_subject_is_named_and_a_command_keeps_its_flags() {
        let args = parsed("--for 5s -o a.watch.json -o a.html -- fio --name=a --for").unwrap();
        assert_eq!(args.subject.command, ["fio", "--name=a", "--for"]);
        assert_eq!((args.length, args.output.len(), args.most_cost), (Some(Nanos(5_000_000_000)), 2, 0.01));
        assert_eq!(parsed("-p 1,2").unwrap().subject.pid, [1, 2]);
        for line in ["", "--pid 1 --name fio", "--pid 0", "--show a.json -- true", "fio"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn operations_are_kept_only_where_they_are_seen() {
        let args = parsed("--pid 1 --record app.halfpower --names").unwrap();
        assert_eq!((args.record, args.names), (Some("app.halfpower".into()), true));
        assert!(!parsed("--pid 1 --record app.halfpower").unwrap().names);
        for (line, why) in [
            ("--pid 1 --names", "--record"),
            ("--pid 1 --record a --no-trace", "cannot be used with"),
            ("--show a.json --record a", "cannot be used with"),
        ] {
            let said = parsed(line).unwrap_err();
            assert!(said.contains(why), "{line}: {said}");
        }
    }

    #[test]
    fn a_probe_is_sent_only_where_it_is_seen_what_it_does() {
        assert!(parsed("--pid 1 --probe").unwrap().probe && !parsed("--pid 1").unwrap().probe);
        for line in ["--pid 1 --probe --no-trace", "--show a.json --probe"] {
            let said = parsed(line).unwrap_err();
            assert!(said.contains("cannot be used with"), "{line}: {said}");
        }
    }

    #[test]
    fn times_and_shares_have_bounds() {
        assert_eq!(parsed("--pid 1 --most-cost 0.5%").unwrap().most_cost, 0.005);
        for (line, why) in [
            ("--pid 1 --for 1ms", "100ms or longer"),
            ("--pid 1 --for 90000s", "a day"),
            ("--pid 1 --most-cost 1", "such as 1%"),
            ("--pid 1 --most-cost 0%", "such as 1%"),
            ("--pid 1 --most-cost nan%", "such as 1%"),
        ] {
            let said = parsed(line).unwrap_err();
            assert!(said.contains(why), "{line}: {said}");
        }
    }
}
