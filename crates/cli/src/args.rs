//! Declares the command line: its commands, flags and help texts.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use halfpower_analyse::Condition;
use halfpower_record::Severity;
use halfpower_spec::{
    Bytes, Cache, Direction, Endpoint, EngineName, Experiment, Issuing, LatencyBound, Nanos, ParseError, Percentile,
    Rate, ShareAddress, Switch, Target, cache_named,
};

use crate::duet_args::DuetArgs;
use crate::measuring_args::{CommonArgs, FioCacheArgs};
use crate::predict_args::{PREDICT_EXAMPLES, PredictArgs};
use crate::run_args::RunArgs;
use crate::values::{
    FailIf, NamedStudy, Prices, Tried, experiments, listed, named_study, one_target, parse, price, prices, rate,
    reached, settled, severity, share, target_words, tried,
};
use crate::watch_args::{WATCH_EXAMPLES, WatchArgs};

/// The formats of values, for the end of a help text.
pub const VALUES: &str = "Values:
  size   512, 4k, 4kb, 4KiB, 1m, 1MiB (binary); 4kB, 1MB (decimal)
  time   80us, 5ms, 2s, 2m, 2min; a bare number is seconds
  rate   500MB/s, 3.5GB/s (decimal); 500MiB/s, 500m (binary)
  range  4k-1m or 4KiB..1MiB: powers of two from the first to the last value
  list   4k,64k,1m; may contain ranges

A flag that is named like an option of fio has its meaning, such as --rw,
--bs, --iodepth and --runtime. Not so --output, --overwrite and --timeout;
--ioengine and --iomem have values of their own, and --verify has none.
docs/habits.md lists all options of fio with the flags that they become.";

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("HALFPOWER_COMMIT"), ")");

const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit:   ",
    env!("HALFPOWER_COMMIT"),
    "\nfeatures: ",
    env!("HALFPOWER_FEATURES"),
    "\nbuilt:    ",
    env!("HALFPOWER_TARGET"),
    ", ",
    env!("HALFPOWER_PROFILE")
);

/// Examples and exit codes, for the end of `halfpower --help`.
const EXAMPLES: &str = "Examples:
  halfpower study /srv/data                      the main job, two minutes
  halfpower run /srv/data --rw randread --bs 4k --iodepth 32
  halfpower run job.fio                          a fio job file
  halfpower sqlio -kR -s10 -frandom -b8 -o8 -t2 -LS /srv/data/file
  halfpower diskspd -b4K -d10 -o32 -t2 -r -w30 -L -Sh /srv/data/file
  halfpower study sim:win2k-atlas10k             a machine of the 2000 study, in seconds
  halfpower watch --name postgres                what limits a program that runs
  halfpower predict app.halfpower --on other.halfpower     what it would get on another path
  halfpower compare before.halfpower after.halfpower --fail-if 'random read iops < -5%'

Exit codes: 0 all is well; 1 something to look at: a --fail-if condition holds, no depth keeps --latency-target, wrong
data was read, requests failed, or a command that was watched did; 2 it could not be done.";

const MORE: &str = "--help shows all flags, values and examples.";

const STUDY_EXAMPLES: &str = "Examples:
  halfpower study                                this folder, two minutes
  halfpower study /srv/data --budget 10m --experiments all
  halfpower study /dev/sdb --overwrite -b 4k-1m -o 1..64
  halfpower study /mnt/a /mnt/b                  both at once
  halfpower study /srv/pg --for postgres         what PostgreSQL gets here, and its lines to set
  halfpower study --sessions 5 --every 1h        how much it differs from hour to hour

";

const WITNESS_EXAMPLES: &str = "The witness answers requests, one per line, until its input ends. It acts
only on request and opens no port. With --local or --share it also measures
runs at its own end, on a file that it lays out there; without them it writes
no file. docs/witness.md describes what it reports.

Examples:
  halfpower study /mnt/share --far-end 'ssh server halfpower witness'
  halfpower run /mnt/share --far-end 'ssh server halfpower witness --processes smbd'
  halfpower study smb://server/share --experiments network --far-end \\
    'ssh server halfpower witness --local /srv/share --share smb://localhost/share'";

const IMPORT_EXAMPLES: &str = "A value that a result lacks stays unknown in the study. Results that do not
fit a record are listed. If a file is broken, nothing is written.

Examples:
  halfpower import fio-*.json -o before.halfpower
  halfpower import 2019.csv diskspd.xml -o years.halfpower --target 'array A'
  halfpower import strace.txt -o app.halfpower     (output of strace -f -y -ttt -T)
  halfpower report before.halfpower
  halfpower compare before.halfpower study.halfpower";

const RUN_EXAMPLES: &str = "Examples:
  halfpower run /srv/data --rw randread --bs 4k --iodepth 32
  halfpower run /srv/data --rw randrw --rwmixread 70 --bs 8k --threads 4 --percentiles 99.9,99.99
  halfpower run --filename data --rw randread --bs 4k --size 1G --runtime 5 --time_based
  halfpower run job.fio                          docs/habits.md lists all fio options
  halfpower run --workload app.halfpower /mnt/new    what an application asked, asked again (docs/replay.md)

";

/// Measures how fast a storage path can go, what limits it, what each byte costs the processor, and which settings to
/// use.
#[derive(Debug, Parser)]
#[command(name = "halfpower", max_term_width = 100, version = VERSION, long_version = LONG_VERSION)]
#[command(after_help = "`halfpower COMMAND -h` is short, `--help` has everything.", after_long_help = EXAMPLES)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Plan, measure, analyse and report on a target
    #[command(after_help = MORE, after_long_help = [STUDY_EXAMPLES, VALUES].concat())]
    Study(StudyArgs),
    /// Measure one workload once
    #[command(after_help = MORE, after_long_help = [RUN_EXAMPLES, VALUES].concat())]
    Run(Box<RunArgs>),
    /// Run an SQLIO command line and print the result in SQLIO's layout
    #[command(disable_help_flag = true)]
    Sqlio(DialectArgs),
    /// Run a diskspd command line and print the result in diskspd's layout
    #[command(disable_help_flag = true)]
    Diskspd(DialectArgs),
    /// Print the runs of a study as commands, without measuring
    #[command(after_help = MORE, after_long_help = VALUES)]
    Plan(PlanArgs),
    /// Measure how fast the processors read, write and copy memory
    Memory(MemoryArgs),
    /// Look for settings and states of a storage path that cost performance, and say how each is changed
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Say what limits an application that runs, without any load
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(WatchArgs),
    /// Say what an application would get on another path, from a capture of it and a study or a simulated system
    #[command(after_help = PREDICT_EXAMPLES)]
    Predict(PredictArgs),
    /// Show the levels of a storage path, what each advertises, and what checks of settings found there
    Probe(ProbeArgs),
    /// Report on a study file
    Report(ReportArgs),
    /// Compare study files with a baseline, or two targets in turns (--live)
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Follow one target over many studies: what changed when, and what changed beside it
    #[command(after_help = HISTORY_EXAMPLES)]
    History(HistoryArgs),
    /// Export the records of a study file for other programs
    Export(ExportArgs),
    /// Read results of SQLIO, fio, diskspd, elbencho or IOR into a study file, or a trace of strace, blkparse or fio into a
    /// capture
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Fit a model to a study file; `study sim:FILE.toml` predicts with it
    Calibrate(CalibrateArgs),
    /// Report this machine's resource use to another halfpower (--far-end), over standard input and output
    #[command(after_help = WITNESS_EXAMPLES)]
    Witness(WitnessArgs),
    /// Write completions for shells, or man pages, into a folder
    #[command(hide = true)]
    Generate(GenerateArgs),
    /// List simulated machines, print one, or compare all with published figures
    Systems(SystemsArgs),
}

#[derive(Debug, Args)]
pub struct StudyArgs {
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Write the study to this file, and the report beside it, with the ending .html in place of .halfpower
    #[arg(long, default_value = "study.halfpower")]
    pub output: PathBuf,
    /// Print the findings as JSON only
    #[arg(long)]
    pub json: bool,
    /// Measure again even if the study file exists, into a new file beside it
    #[arg(long)]
    pub again: bool,
    /// Begin a session this long after the one before it, such as 1h, until all --sessions are measured
    ///
    /// The program waits meanwhile; Ctrl-C ends it, and the same command goes on with the next session. Each session is a
    /// process of its own.
    #[arg(long, value_name = "TIME", requires = "sessions", conflicts_with = "again", value_parser = parse::<Nanos>)]
    pub every: Option<Nanos>,
    /// Replace the report even if halfpower did not make it; a study is never replaced
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct WitnessArgs {
    /// Report the processor time of processes with these names, such as smbd or nfsd
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub processes: Vec<String>,
    /// Measure in this folder on request, bypassing the share; name the folder that the share serves
    ///
    /// halfpower lays out a file of the study's size there. It has no name, so nothing is left behind.
    #[arg(long, value_name = "FOLDER")]
    pub local: Option<PathBuf>,
    /// Measure through this share of this machine on request, such as smb://localhost/share
    #[arg(long, value_name = "ADDRESS", value_parser = share)]
    pub share: Option<ShareAddress>,
    /// Read user, password and domain of that share from this file; see `halfpower run --help`
    #[arg(long, value_name = "FILE", requires = "share")]
    pub credentials: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// What to write: completions (bash, zsh, fish), man (a page for each command) or schema (JSON schemas of --json
    /// output)
    #[arg(value_enum)]
    pub what: Generated,
    /// Folder to write to; created if missing
    pub folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Generated {
    Completions,
    Man,
    Schema,
}

#[derive(Debug, Args)]
pub struct DialectArgs {
    /// The tool's own arguments, as typed after its name; without any, list its options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Create this study file; the printed commands then append their records to it
    #[arg(long)]
    pub output: Option<PathBuf>,
}

/// The flags of study and plan: everything that makes the question.
#[derive(Debug, Args)]
#[command(next_help_heading = "Question")]
pub struct QuestionArgs {
    /// Folder, file, block device, share (smb://..., nfs://... or s3://...) or simulated target (sim:...); several
    /// paths are measured at once [default: .]
    #[arg(value_name = "TARGET", help_heading = "Arguments", num_args = 0.., value_parser = target_words())]
    pub targets: Vec<Target>,
    /// Measure what this application issues, and say whether its needs are met and which lines to set: a built-in profile
    /// (`list` prints them), or a file of your own that ends in .toml (docs/applications.md)
    #[arg(long = "for", value_name = "NAME|FILE.toml")]
    pub application: Option<PathBuf>,
    #[arg(long, value_parser = experiments)]
    #[arg(help = listed("Run these experiments, or all", Experiment::ALL) + "; application takes --for [default: sequential,random, and commits where writes are measured in a folder, a file or a device; under mpirun hosts instead]")]
    pub experiments: Option<std::vec::Vec<Experiment>>,
    /// Measure these directions
    #[arg(long, value_delimiter = ',', value_parser = parse::<Direction>, default_value = "read,write")]
    pub rw: Vec<Direction>,
    /// Measure these block sizes, a range or a list [default: 4k-1m; 2k-1m for a simulated machine]
    #[arg(short, long, visible_alias = "blocksize", value_parser = halfpower_spec::bytes_axis)]
    pub bs: Option<std::vec::Vec<Bytes>>,
    /// Measure these depths (outstanding requests per thread), a range or a list
    #[arg(short = 'o', long, value_parser = halfpower_spec::count_axis, default_value = "1..32")]
    pub iodepth: std::vec::Vec<u32>,
    /// Measure with these caches in use (SQLIO's Y, S, H and N)
    ///
    /// device (or direct): O_DIRECT, uses only the device's cache. both (or buffered): plain buffered I/O.
    /// os: buffered with O_DSYNC. none: O_DIRECT with O_DSYNC, so every write is durable; this is SQLIO's N, while
    /// QEMU's cache=none is `device` here.
    /// [default: device,both; device if the target has no page cache]
    #[arg(long, value_delimiter = ',', value_parser = cache_named, conflicts_with_all = ["direct", "sync"])]
    pub cache: Vec<Cache>,
    #[command(flatten)]
    pub fio_cache: FioCacheArgs,
    /// Spend this much time on the whole study [default: 2m; 120m of virtual time for a simulated machine]
    #[arg(long, value_parser = parse::<Nanos>)]
    pub budget: Option<Nanos>,
    /// Measure for this long in each run [default: chosen to fit the budget; 4s for a simulated machine]
    #[arg(short = 'd', long, value_parser = parse::<Nanos>)]
    pub runtime: Option<Nanos>,
    /// Repeat each cell at least this often
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 3)]
    pub repeats: u32,
    /// Measure in this many sessions; the interval of what is reported is then over sessions, not within one
    ///
    /// The first session is the ordinary study. Each further one measures the cells of its first screen again, with a fresh
    /// layout and in a process of its own, within a quarter of --budget. Each start of the same command measures one session
    /// and ends, as in the crontab line `0 * * * * cd /srv/data && halfpower study --sessions 5`; with --every, one start
    /// measures them all. An ordinary study that is finished goes on with its second session.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub sessions: Option<u32>,
    /// Set the device's peak advertised performance, from its data sheet, such as 3.5GB/s
    #[arg(long, value_parser = rate)]
    pub peak: Option<Rate>,
    /// Set the price of the target (or of each of its members) in any currency, for the experiment `price`
    #[arg(long, value_parser = price)]
    pub price: Option<f64>,
    /// Let the experiment `sustain` write at most this much; without it, it is left out
    ///
    /// It writes without a pause until what takes writes first is full, and after rests again. A file of 1 GiB is gone over
    /// as often as that takes; a larger one is laid out with --size.
    #[arg(long, value_name = "BYTES", value_parser = parse::<Bytes>)]
    pub sustain_bytes: Option<Bytes>,
    #[command(flatten)]
    pub bound: BoundArgs,
    /// Switch the device's write cache on or off for the study, and restore it afterwards
    #[arg(long, value_name = "on|off", value_parser = parse::<Switch>)]
    pub write_cache: Option<Switch>,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// The bound on latency under which a study looks for the most load; one at most.
#[derive(Debug, Args)]
pub struct BoundArgs {
    /// Find the most load with the median latency below this time (adds the experiment `load`)
    ///
    /// It looks for the highest rate of an open loop, in requests a second that come whether or not earlier ones are
    /// done, at which the percentile stays below the bound: of random reads of 4 KiB, or of the sizes of --bs, or of
    /// writes with --rw write. The answer comes first on the screen, and its curve is the page's first chart.
    #[arg(long, value_name = "TIME", group = "latency_bound", value_parser = parse::<Nanos>)]
    pub p50: Option<Nanos>,
    /// The same with the 99th percentile, such as --p99 1ms
    #[arg(long, value_name = "TIME", group = "latency_bound", value_parser = parse::<Nanos>)]
    pub p99: Option<Nanos>,
    /// The same with the 99.9th percentile
    #[arg(long, value_name = "TIME", group = "latency_bound", value_parser = parse::<Nanos>)]
    pub p999: Option<Nanos>,
}

impl BoundArgs {
    /// The bound that was given.
    pub fn bound(&self) -> Option<LatencyBound> {
        let given = [(Percentile::P50, self.p50), (Percentile::P99, self.p99), (Percentile::P999, self.p999)];
        given.into_iter().find_map(|(percentile, most)| Some(LatencyBound { percentile, most: most? }))
    }
}

#[derive(Debug, Args)]
pub struct MemoryArgs {
    /// Folder for the file that is read and written in the page cache [default: the system's temporary folder]
    pub folder: Option<PathBuf>,
    /// Run the threaded kernels with this many threads [default: one for each processor]
    #[arg(short, long, visible_alias = "numjobs", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Repeat each kernel this often [default: 3 to 7 times, as fits into about 15 seconds]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Seed the order of runs
    #[arg(long, visible_alias = "randseed", default_value_t = 1)]
    pub seed: u64,
    /// Print the rates as JSON only
    #[arg(long)]
    pub json: bool,
}

const DOCTOR_EXAMPLES: &str = "Without --try it only reads, and needs no root; what only root may read is named.
docs/doctor.md lists every check with its source.

Examples:
  halfpower doctor /srv/data
  halfpower doctor /dev/nvme0n1 --all
  halfpower doctor /srv/data --json --fail-if warn     for monitoring
  halfpower doctor /srv/data --try                     what findings cost here
  halfpower doctor /dev/sdb --try=scheduler,read-ahead";

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Folder, file or block device of this machine, or several of them (each:A,B)
    #[arg(default_value = ".", value_parser = target_words())]
    pub target: Target,
    /// Also show notes, the way back, and the checks that found nothing, could not read, or do not apply
    #[arg(long)]
    pub all: bool,
    /// Print JSON only
    #[arg(long)]
    pub json: bool,
    /// Print Markdown, for an issue or a wiki
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Exit with code 1 if there is a finding of this severity or worse
    #[arg(long, value_name = "SEVERITY", value_parser = severity())]
    pub fail_if: Option<Severity>,
    /// Switch settings and back, and measure what each gives (root): those of findings, all, or these
    ///
    /// A name is that of a check or the kernel's, such as scheduler,read-ahead or nr_requests@sda for one device. Each value
    /// is measured in turns with the old one until the pairs decide. Nothing that could lose data is tried, and the old
    /// setting is put back also after a kill, by the next start of any command but witness.
    #[arg(long = "try", value_name = "NAME,...", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "found", value_parser = tried)]
    pub tries: Option<Tried>,
    /// Spend at most this much time on all tries, without laying out a file [default: 60s]
    #[arg(long, value_name = "TIME", requires = "tries", value_parser = parse::<Nanos>)]
    pub budget: Option<Nanos>,
}

#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Folder, file, block device, several of them, share (smb://..., nfs://... or s3://...) or simulated target
    /// (sim:...)
    #[arg(default_value = ".", value_parser = target_words())]
    pub target: Target,
    /// Set the device's peak advertised performance, from its data sheet
    #[arg(long, value_parser = rate)]
    pub peak: Option<Rate>,
    /// Read user, password and domain for SMB, or keys for S3, from this file; its mode must be 0600
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
    /// Use this server for s3://BUCKET/PREFIX, such as http://server:9000
    #[arg(long, value_name = "URL", value_parser = parse::<Endpoint>)]
    pub endpoint: Option<Endpoint>,
    /// Print JSON only
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The study file
    pub study: PathBuf,
    /// Write the HTML report to this file instead of printing
    #[arg(long)]
    pub html: Option<PathBuf>,
    /// Print the findings as JSON only
    #[arg(long, conflicts_with = "html")]
    pub json: bool,
    /// Print everything: the path, all advice, charts, half power, cost, experiments, warnings
    #[arg(long, conflicts_with_all = ["html", "json"])]
    pub full: bool,
    /// Print all warnings, the most harmful first
    #[arg(long, conflicts_with_all = ["html", "json", "full"])]
    pub warnings: bool,
    /// Replace a file that halfpower did not make; a study is never replaced
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// The study file
    pub study: PathBuf,
    /// Write the model to this file, whose name ends in .toml [default: print it]
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Treat this device's throughput ceilings as limits shared by all devices
    #[arg(long)]
    pub shared: bool,
    /// Fit each half of the cells, predict the other half, and print the errors
    #[arg(long, conflicts_with_all = ["output", "shared"])]
    pub check: bool,
    /// Replace a file that halfpower did not make; a study is never replaced
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The study file
    pub study: PathBuf,
    /// Choose the format: sqlio (SQLIO's trace), csv (one row per record), json (everything), fio (fio's json+)
    #[arg(long, value_enum)]
    pub format: Format,
    /// Write to this file instead of standard output (-); for fio, to a folder with one file per cell, for fio-plot
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Replace a file that halfpower did not make; a study is never replaced, and nothing in a folder (fio)
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Result files: SQLIO traces and text, fio JSON and terse lines, diskspd XML and text, elbencho CSV and JSON, IOR JSON;
    /// or the traces of one run: output of strace or blkparse, fio latency, bandwidth and I/O logs. The format is detected
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write the study, or the capture, to this file; a study is never replaced
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Keep the names of files in a capture
    #[arg(long)]
    pub names: bool,
    /// Name the target of all results [default: the target that the results name]
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
}

#[derive(Debug, Args)]
pub struct SystemsArgs {
    /// Print this machine as TOML; edit a copy and study it with sim:FILE.toml
    pub name: Option<String>,
    /// Simulate the papers' measurements and print each figure beside the published one
    #[arg(long, conflicts_with = "name")]
    pub reproduce: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Sqlio,
    Csv,
    Json,
    Fio,
}

impl CommandLine {
    /// Parses these words. If they are invalid, prints the error with a tip and ends the process.
    pub fn read(words: &[OsString]) -> Self {
        let refused = |error| crate::misread::taught(crate::misread::with_escaped_words(error), words).exit();
        Self::try_parse_from(words).unwrap_or_else(refused)
    }

    /// Parses the `halfpower run` words that another tool's line was translated to; invalid ones end the process.
    pub fn of_run(words: &[OsString]) -> RunArgs {
        let front: [OsString; 2] = ["halfpower".into(), "run".into()];
        let words: Vec<OsString> = front.iter().chain(words).cloned().collect();
        match Self::read(&words).command {
            Command::Run(args) => *args,
            _ => unreachable!("the words begin with run"),
        }
    }
}

impl CommonArgs {
    /// How requests to `target` are handed to the kernel; `None` if no kernel is involved and no flag asks.
    pub fn issuing(&self, target: &Target) -> Option<Issuing> {
        let has_kernel = match target {
            Target::Path(_) | Target::Several(_) => self.engine != EngineName::Memory,
            Target::Null => self.engine.is_io_uring(),
            Target::Share(_) | Target::Simulated(_) | Target::System(_) => false,
        };
        let usual = Issuing::default().by(self.engine);
        let asked = self.iomem.is_some() || self.iodepth_batch.is_some();
        (has_kernel || asked).then(|| Issuing {
            iomem: self.iomem.unwrap_or(usual.iomem),
            iodepth_batch: self.iodepth_batch.unwrap_or(usual.iodepth_batch),
        })
    }
}

impl QuestionArgs {
    /// The target, with `--set` applied.
    ///
    /// # Errors
    /// If a setting or the endpoint does not fit the target, or several targets cannot be combined.
    pub fn target(&self) -> Result<Target, ParseError> {
        reached(settled(one_target(&self.targets)?, &self.common.set)?, self.common.endpoint.as_ref())
    }
}

pub const COMPARE_EXAMPLES: &str = "Examples:
  halfpower compare before.halfpower after.halfpower
  halfpower compare fleet/      which of many alike machines is unlike the others
  halfpower compare fleet/ --html fleet.html --fail-if unlike
  halfpower compare old=a.halfpower new=b.halfpower tuned=c.halfpower --markdown
  halfpower compare study.halfpower --save main      keeps a copy as the baseline `main`
  halfpower compare study.halfpower --save main --force      in the place of the one before
  halfpower compare --baseline main study.halfpower --fail-if 'random read iops < -5%' \\
    --fail-if 'random read bs=4k iodepth=1 p99 > +10%'
  halfpower compare --baseline main study.halfpower --fail-if 'bs=4k iodepth=1 p99 > 1ms'
  halfpower compare --live /srv/old /srv/new         both now, in turns
  halfpower compare --live /dev/sdb /dev/sdc --cell '--rw randread --bs 8k --iodepth 16'";

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The baseline, then the studies to compare with it; NAME= gives a file a shorter name
    ///
    /// A folder holds one study of each of many alike machines, 8 or more, in files that end in .halfpower:
    /// then it is said which machine is unlike the others, and where.
    #[arg(required_unless_present = "live", value_name = "[NAME=]STUDY", value_parser = named_study())]
    pub studies: Vec<NamedStudy>,
    /// Compare with the baseline that --save kept under this name
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Keep a copy of the study as a baseline of this name, in ~/.local/share/halfpower/baselines
    ///
    /// With --force it replaces an older baseline of this name, unless a condition of --fail-if holds.
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    /// Print everything: each cell with its intervals, each depth, each figure that a condition holds for
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub full: bool,
    /// Also write an HTML page with the curves of all studies to this file; of a folder, a map of machines and figures
    #[arg(long)]
    pub html: Option<PathBuf>,
    /// Print the comparison as JSON only
    #[arg(long)]
    pub json: bool,
    /// Print the comparison as Markdown, for a pull request or an issue
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Exit with code 1 if this condition holds, such as 'random read iops < -5%'; may be repeated
    ///
    /// A condition is [sequential|random] [read|write|all] [both|os|device|none] [bs=SIZE] [iodepth=N] QUANTITY
    /// <|<=|>|>= LIMIT.
    ///
    /// LIMIT is a change from A to B in percent of A (-5%), a signed difference B minus A (+200us, -100MB/s), or an
    /// unsigned figure of B itself (50k, 2GB/s, 1.5ms).
    ///
    /// QUANTITY is one of: iops (of the cell with the most in both studies); p99 (99th percentile of latency),
    /// throughput and cost (charged processor time per request), each the mean over a path's common cells; half_power
    /// (n1/2, the block size at which half of a request's time is overhead, at each depth); peak (throughput of a
    /// path's best common cell: bandwidth at the largest blocks, in which a regression of latency does not show). With
    /// bs= or iodepth=, QUANTITY is that of each cell they name. p50 needs bs= or iodepth=; so do throughput, cost and
    /// p99 if LIMIT is not in percent.
    ///
    /// The condition is checked on every path (pattern, direction and cache setting), or cell, that it names, and holds
    /// if one of them meets it: its estimate satisfies the condition beyond chance, unless no change at all satisfies it
    /// too. Chance is corrected for all that the conditions of the command test: equal systems meet any of them in at most
    /// 5% of comparisons. Cells with a single run have no confidence interval and never meet it.
    ///
    /// Of a folder of alike machines the condition is `unlike`: one of them is unlike the others.
    #[arg(long, value_name = "CONDITION", value_parser = parse::<FailIf>, allow_hyphen_values = true)]
    pub fail_if: Vec<FailIf>,
    /// Set the price of each study's system, to compare GB/$, KAPS/$ (random 8 KiB reads/s) and MAPS/$ (1 MiB reads/s)
    #[arg(long, value_name = "A,B,...", value_parser = prices)]
    pub price: Option<Prices>,
    /// Replace the baseline that --save names, and with --html a file that halfpower did not make
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub duet: DuetArgs,
}

pub const HISTORY_EXAMPLES: &str = "What is read of a study is remembered in ~/.cache/halfpower/history.sqlite.
docs/history.md says how changes are found.

Examples:
  halfpower history nightly/
  halfpower history nightly/ --target /srv/data -o history.html
  halfpower history *.halfpower --fail-if 'random read iops < -5%'";

#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Study files, and folders with files that end in .halfpower, at any depth
    #[arg(required = true, value_name = "FOLDER|STUDY")]
    pub files: Vec<PathBuf>,
    /// Follow this target, by its number in the list or by its name or a part of it
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Also write an HTML page with a line for each figure to this file
    #[arg(short, long, value_name = "PAGE")]
    pub output: Option<PathBuf>,
    /// Print the history as JSON only
    #[arg(long)]
    pub json: bool,
    /// Exit with code 1 if this condition holds for the last level against the one before; may be repeated
    ///
    /// Conditions are those of `halfpower compare`. A level is a stretch of studies between two changes; each path has its
    /// own last change. half_power is not known here.
    #[arg(long, value_name = "CONDITION", value_parser = parse::<Condition>, allow_hyphen_values = true)]
    pub fail_if: Vec<Condition>,
    /// Read all studies, and remember nothing
    #[arg(long)]
    pub no_index: bool,
    /// With --output, replace a file that halfpower did not make; a study is never replaced
    #[arg(long)]
    pub force: bool,
}
