//! The command line: words in, typed values out. What clap can check by itself is checked here, the rest by the
//! commands.

use std::path::{Path, PathBuf};

use analyse::Condition;
use clap::{Args, Parser, Subcommand, ValueEnum};
use spec::{Bytes, Cache, Direction, EngineName, Experiment, Nanos, ParseError, Rate, Switch, Target};

use crate::run_args::RunArgs;

/// How fast a storage path can go, what stops it, what each byte costs the processor, and which settings get an
/// application there.
#[derive(Debug, Parser)]
#[command(name = "halfpower", version, max_term_width = 100)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Plan, measure, analyse and report: the main job
    Study(StudyArgs),
    /// One workload, one record
    Run(RunArgs),
    /// A study's runs as commands, one a line, without measuring
    Plan(PlanArgs),
    /// How fast memory is: loops that read, write and copy it, by one thread and by all
    Memory(MemoryArgs),
    /// The levels of a path and what each advertises
    Probe(ProbeArgs),
    /// The report again, from a study file
    Report(ReportArgs),
    /// Two studies: do they differ, in what, and by how much
    Compare(CompareArgs),
    /// A study's records, for other programs
    Export(ExportArgs),
    /// A small model fitted to a study, as TOML that `study sim:FILE.toml` predicts with
    Calibrate(CalibrateArgs),
    /// Simulated machines: a list of them, one as text, or all against the figures published of the real ones
    Systems(SystemsArgs),
}

#[derive(Debug, Args)]
pub struct StudyArgs {
    #[command(flatten)]
    pub question: QuestionArgs,
    /// The study file; the report goes beside it, ending in .html
    #[arg(long, default_value = "study.halfpower")]
    pub output: PathBuf,
    /// Print the findings as JSON and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Make this study file, without records; the commands printed then append theirs to it
    #[arg(long)]
    pub output: Option<PathBuf>,
}

/// What study and plan share: everything that makes the question.
#[derive(Debug, Args)]
pub struct QuestionArgs {
    /// A folder, a file, a block device or sim:CONSTANTS
    #[arg(default_value = ".", value_parser = target)]
    pub target: Target,
    #[arg(long, value_parser = experiments, default_value = "sequential,random")]
    #[arg(help = listed("Experiments to run, by name, or all", Experiment::ALL))]
    pub experiments: std::vec::Vec<Experiment>,
    /// Directions to measure: read, write
    #[arg(long, value_delimiter = ',', value_parser = parse::<Direction>, default_value = "read,write")]
    pub rw: Vec<Direction>,
    /// Block sizes: a range of powers of two (4KiB..1MiB) or a list [default: 4KiB..1MiB; from 2KiB on, as the papers,
    /// for a simulated machine]
    #[arg(short, long, value_parser = spec::bytes_axis)]
    pub bs: Option<std::vec::Vec<Bytes>>,
    /// Depths: a range of powers of two (1..32) or a list
    #[arg(short = 'o', long, value_parser = spec::count_axis, default_value = "1..32")]
    pub iodepth: std::vec::Vec<u32>,
    /// Cache settings: device (direct), both (buffered), os (O_DSYNC), none (direct and O_DSYNC) [default:
    /// device,both; device where the target has no page cache]
    #[arg(long, value_delimiter = ',', value_parser = parse::<Cache>)]
    pub cache: Vec<Cache>,
    /// Time for the whole study [default: 2m; 120m of virtual time for a machine of the papers]
    #[arg(long, value_parser = parse::<Nanos>)]
    pub budget: Option<Nanos>,
    /// Time that each window stays open [default: the planner's choice, so that the runs fit the budget; 4s for a
    /// machine of the papers]
    #[arg(short = 'd', long, value_parser = parse::<Nanos>)]
    pub runtime: Option<Nanos>,
    /// Fewest runs of a cell
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 3)]
    pub repeats: u32,
    /// Peak advertised performance of the device, from its data sheet, such as 3.5GB/s
    #[arg(long, value_parser = parse::<Rate>)]
    pub peak: Option<Rate>,
    /// What the target costs, in any currency, for the experiment price; of several members, what each costs
    #[arg(long, value_parser = price)]
    pub price: Option<f64>,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// What study and run share.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// Change a simulated target: disks=4, array=stripe|adapter-stripe|mirror|each, buses, aligned, dynamic, pio,
    /// processors, or a constant of a part such as disk.rpm=15000; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Submitting threads
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=1024), default_value_t = 1)]
    pub threads: u32,
    #[arg(long, value_parser = parse::<EngineName>, default_value = "auto")]
    #[arg(help = listed("How requests are issued", &engines_of_storage()))]
    pub engine: EngineName,
    /// Bytes of the target to use [default: 1GiB of a folder, all of a file or a device]
    #[arg(long, value_parser = one_size)]
    pub size: Option<Bytes>,
    /// Seed of offsets, payload and order
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Drop all page caches of the machine before each run; takes root
    #[arg(long)]
    pub drop_caches: bool,
    /// Switch the device's own write cache for as long as it is measured, and put it back
    #[arg(long, value_name = "on|off", value_parser = parse::<Switch>)]
    pub write_cache: Option<Switch>,
    /// Allow writing to a file or a device that halfpower did not create; its contents are lost
    #[arg(long)]
    pub overwrite: bool,
}

#[derive(Debug, Args)]
pub struct MemoryArgs {
    /// Folder for the file that is read and written in the page cache [default: the system's for temporary files]
    pub folder: Option<PathBuf>,
    /// Threads of the threaded kernels [default: one for each processor]
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Runs of each kernel [default: at least 3, and more while a quarter of a minute lasts]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Seed of the order
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the rates as JSON and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// A folder, a file or a block device
    #[arg(default_value = ".")]
    pub target: PathBuf,
    /// Peak advertised performance of the device, from its data sheet
    #[arg(long, value_parser = parse::<Rate>)]
    pub peak: Option<Rate>,
    /// Print it as JSON
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
    /// Print the findings as JSON
    #[arg(long, conflicts_with = "html")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// The study file
    pub study: PathBuf,
    /// Write the model to this file, ending in .toml [default: print it]
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Take the ceilings that one device shows for limits that further devices would share
    #[arg(long)]
    pub shared: bool,
    /// Instead: fit each half of the cells, predict the other, and print how far off that is
    #[arg(long, conflicts_with_all = ["output", "shared"])]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The study that changes are counted from
    pub a: PathBuf,
    /// The study that is held against it
    pub b: PathBuf,
    /// Write a page with both studies' curves to this file as well
    #[arg(long)]
    pub html: Option<PathBuf>,
    /// Print the comparison as JSON and nothing else
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 if this holds, such as 'random read peak < -5%'; may be given several times
    ///
    /// A condition is [sequential|random] [read|write|all] [both|os|device|none] QUANTITY <|<=|>|>= PERCENT%, on the
    /// change from A to B in percent of A. QUANTITY is one of: peak (the best common cell of a path), throughput,
    /// cost (charged processor time a request) and p99 (of latency), each the mean over a path's common cells, and
    /// half_power (n1/2, the block size at which half of a request's time is overhead, at each depth). It is held
    /// against each path (pattern, direction and cache setting) that it names, and holds if it does on any: the
    /// estimate has to be on the side named, and where no change at all would not be, the 95% interval has to lie
    /// clear of no change, so that chance alone fails nothing. What was run once has no interval and fails nothing
    #[arg(long, value_name = "CONDITION", value_parser = parse::<Condition>, allow_hyphen_values = true)]
    pub fail_if: Vec<Condition>,
    /// Prices of A and B, for what each gives for the money: GB/$, KAPS/$ (random 8 KiB reads/s), MAPS/$ (1 MiB)
    #[arg(long, value_name = "A,B", value_parser = prices)]
    pub price: Option<[f64; 2]>,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The study file
    pub study: PathBuf,
    /// sqlio (its trace), csv (a row a record), json (everything) or fio (fio's json+)
    #[arg(long, value_enum)]
    pub format: Format,
    /// Write to this file instead of standard output; with fio, a file a cell below this folder, as fio-plot reads them
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SystemsArgs {
    /// Print this system as the TOML text that sim:FILE.toml reads
    pub name: Option<String>,
    /// Simulate everything that was measured on the real machines, and print each figure beside the published one
    #[arg(long, conflicts_with = "name")]
    pub reproduce: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Format {
    Sqlio,
    Csv,
    Json,
    Fio,
}

/// What a flag sets, and its words.
fn listed(what: &str, words: &[impl std::fmt::Display]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    format!("{what}: {}", words.join(", "))
}

/// The engines that requests to storage can be issued by; the others come with their targets.
fn engines_of_storage() -> Vec<EngineName> {
    let comes_with_its_target = [EngineName::Null, EngineName::Simulated, EngineName::Memory];
    EngineName::ALL.iter().copied().filter(|engine| !comes_with_its_target.contains(engine)).collect()
}

pub fn parse<T: std::str::FromStr<Err = ParseError>>(text: &str) -> Result<T, ParseError> {
    text.parse()
}

impl CommandLine {
    /// The command line of this process, with targets as `--set` changes them; a wrong one ends the process.
    pub fn read() -> Result<Self, ParseError> {
        let mut line = Self::parse();
        match &mut line.command {
            Command::Study(args) => args.question.settle()?,
            Command::Plan(args) => args.question.settle()?,
            Command::Run(args) => args.target = settled(&args.target, &args.common)?,
            _ => {}
        }
        Ok(line)
    }
}

impl QuestionArgs {
    fn settle(&mut self) -> Result<(), ParseError> {
        self.target = settled(&self.target, &self.common)?;
        Ok(())
    }
}

fn settled(target: &Target, common: &CommonArgs) -> Result<Target, ParseError> {
    common.set.iter().try_fold(target.clone(), |target, setting| target.with(setting))
}

pub fn target(text: &str) -> Result<Target, ParseError> {
    Target::parse(text, system_text)
}

/// The TOML of a simulated machine: a shipped one's by its name, else a file's.
fn system_text(path: &Path) -> std::io::Result<String> {
    let shipped = model::systems().iter().find(|system| Path::new(system.name) == path);
    match shipped {
        Some(system) => Ok(system.text.to_string()),
        None if path.extension().is_some_and(|ending| ending == "toml") => std::fs::read_to_string(path),
        None => Err(std::io::Error::other(
            "no machine of this name ships; `halfpower systems` lists them, a file of your own ends in .toml",
        )),
    }
}

pub fn one_size(text: &str) -> Result<Bytes, ParseError> {
    match text.parse()? {
        Bytes(0) => Err(ParseError::new(text, 0, "a size is at least one byte")),
        size => Ok(size),
    }
}

/// Experiments by name; `all` is every one of them.
fn experiments(text: &str) -> Result<Vec<Experiment>, ParseError> {
    let mut experiments = spec::list(text, |item| match item {
        "all" => Ok(Experiment::ALL.to_vec()),
        name => match name.parse() {
            Ok(experiment) => Ok(vec![experiment]),
            Err(_) => {
                let words: Vec<&str> = Experiment::ALL.iter().map(|experiment| experiment.word()).collect();
                Err(ParseError::new(name, 0, format!("no such experiment; all, or some of {}", words.join(", "))))
            }
        },
    })?;
    experiments.sort_unstable();
    experiments.dedup();
    Ok(experiments)
}

fn price(text: &str) -> Result<f64, ParseError> {
    match text.trim().parse::<f64>() {
        Ok(price) if price > 0.0 && price.is_finite() => Ok(price),
        _ => Err(ParseError::new(text, 0, "a price above 0 is wanted here, such as 209 or 534.50")),
    }
}

fn prices(text: &str) -> Result<[f64; 2], ParseError> {
    let prices = spec::list(text, |item| price(item).map(|price| vec![price]))?;
    prices.try_into().map_err(|_| ParseError::new(text, 0, "two prices are wanted, A's and B's, such as 534,209"))
}

pub fn one_count(text: &str) -> Result<u32, ParseError> {
    match spec::count_axis(text)?.as_slice() {
        [count] => Ok(*count),
        _ => Err(ParseError::new(text, 0, "one depth is wanted here; `study` takes a range")),
    }
}
