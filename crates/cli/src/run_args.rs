//! Declares the flags of `halfpower run`, one of them for each row of the table of options.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::{StringValueParser, TypedValueParser as _};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use halfpower_record::DepthSearch;
use halfpower_spec::{
    Arrival, Arrivals, Bytes, Cache, Experiment, Nanos, OPTIONS, OptionRow, ParseError, Pass, Rate, Rw, Target,
    Workload, WorkloadOption, WorkloadOptions, cache_named, microseconds,
};

use crate::measuring_args::{CommonArgs, FioCacheArgs};
use crate::payload_args::PayloadArgs;
use crate::replay_args::ReplayFlag;
use crate::values::{
    one_count, one_size, one_target, parse, percentile, rate, reached, settled, share_of_requests, target_words,
};

/// Length of a run if neither a time nor an amount is given.
const USUAL_RUNTIME: Nanos = Nanos(3_000_000_000);
/// Longest time of a run that ends by what it has moved: a day.
const UNTIL_MOVED: Nanos = Nanos(86_400_000_000_000);

/// Highest request rate of a thread, in requests a second.
const MOST_IOPS: u64 = 1_000_000_000;

#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct RunArgs {
    /// Folder, file, block device, share (smb://..., nfs://... or s3://...), simulated target (sim:...) or null:;
    /// several paths are measured at once
    #[arg(value_name = "TARGET", help_heading = "Arguments", required = true, num_args = 1.., value_parser = target_words())]
    pub targets: Vec<Target>,
    /// Set the access pattern: read, write, randread, randwrite, rw, randrw, trim, randtrim, trimwrite
    ///
    /// Trims give blocks back: a device discards them, a file gets holes. trimwrite trims each block and then writes
    /// it.
    #[arg(long, value_parser = parse::<Rw>, default_value = "read")]
    pub rw: Rw,
    /// Set the share of reads in percent, for rw and randrw
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=100), default_value_t = 50)]
    pub rwmixread: u8,
    /// Set the block size
    #[arg(short, long, visible_alias = "blocksize", value_parser = one_size, default_value = "64KiB")]
    pub bs: Bytes,
    /// Keep this many requests outstanding in each thread
    #[arg(short = 'o', long, value_parser = one_count, default_value = "8")]
    pub iodepth: u32,
    /// Measure for this long [default: 3s; with --io-size, until that much has been moved]
    #[arg(short = 'd', long, value_parser = parse::<Nanos>)]
    pub runtime: Option<Nanos>,
    /// Choose the caches in use (SQLIO's Y, S, H and N): both, os, device, none
    ///
    /// device (or direct): O_DIRECT, uses only the device's cache. both (or buffered): plain buffered I/O.
    /// os: buffered with O_DSYNC. none: O_DIRECT with O_DSYNC, so every write is durable; this is SQLIO's N, while
    /// QEMU's cache=none is `device` here.
    #[arg(long, value_parser = cache_named, default_value = "device", conflicts_with_all = ["direct", "sync"])]
    pub cache: Cache,
    #[command(flatten)]
    pub fio_cache: FioCacheArgs,
    /// Issue this many bytes a second in each thread, without waiting for earlier requests (open loop)
    ///
    /// The rate is converted to whole requests a second: the rate divided by the block size, or by the mean of
    /// --bssplit. Latency counts from the time when a request was due.
    #[arg(long, value_name = "RATE", group = "open_loop", value_parser = rate)]
    pub rate: Option<Rate>,
    /// Issue this many requests a second in each thread, without waiting for earlier ones (open loop)
    #[arg(long, value_name = "IOPS", alias = "rate_iops", group = "open_loop")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MOST_IOPS))]
    pub rate_iops: Option<u64>,
    /// Space the requests of an open loop: fixed (equal distances) or poisson (exponential distances)
    #[arg(long, requires = "open_loop", value_parser = parse::<Arrivals>, default_value = "fixed")]
    pub arrivals: Arrivals,
    /// Measure a second time with idle-priority soaker threads, to see all processor time that the machine spends
    #[arg(long, help_heading = "Output")]
    pub soaker: bool,
    /// Print these percentiles of latency as well, such as 50,99.9,99.99
    #[arg(long, help_heading = "Output", value_name = "LIST", value_delimiter = ',', value_parser = percentile)]
    pub percentiles: Vec<f64>,
    /// Print the record as JSON only
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub depth: DepthSearchArgs,
    #[command(flatten)]
    pub payload: PayloadArgs,
    #[command(flatten)]
    pub options: WorkloadOptionArgs,
    #[command(flatten)]
    pub replay: ReplayFlag,
    #[command(flatten)]
    pub place: PlaceInStudyArgs,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// The bound on latency for which a depth is looked for.
#[derive(Debug, Args)]
pub struct DepthSearchArgs {
    /// Find the greatest depth, up to --iodepth, at which latencies stay within this time, and measure there
    ///
    /// Depths are tried by halving, each in a window of its own, before the run. A bare number is microseconds, as in fio.
    /// If not even depth 1 keeps it, the run has depth 1, and the exit code is 1.
    #[arg(long, help_heading = "Workload", value_name = "TIME", alias = "latency_target", value_parser = microseconds)]
    pub latency_target: Option<Nanos>,
    /// Let this share of the requests stay within --latency-target, in percent
    #[arg(
        long,
        help_heading = "Workload",
        hide_short_help = true,
        value_name = "PERCENT",
        alias = "latency_percentile"
    )]
    #[arg(requires = "latency_target", value_parser = share_of_requests, default_value = "100")]
    pub latency_percentile: f64,
    /// Try each depth for this long; a bare number is microseconds
    #[arg(long, help_heading = "Workload", hide_short_help = true, value_name = "TIME", alias = "latency_window")]
    #[arg(requires = "latency_target", value_parser = microseconds, default_value_t = DepthSearch::USUAL_WINDOW)]
    pub latency_window: Nanos,
}

impl DepthSearchArgs {
    /// The search that is asked for, before anything was tried; `None` if the depth is given.
    ///
    /// # Errors
    /// If the times contradict each other, or the workload has no depth to look for.
    pub fn search(&self, workload: &Workload) -> Result<Option<DepthSearch>> {
        let Some(most) = self.latency_target else { return Ok(None) };
        let window = self.latency_window;
        if most == Nanos(0) {
            bail!("--latency-target {most}: every request takes time; give one such as 10ms");
        }
        if window <= most {
            bail!(
                "--latency-window {window} is too short to see requests that take longer than --latency-target {most}: give \
                 a longer one, such as {}",
                Nanos(most.0.saturating_mul(100))
            );
        }
        let options = workload.options;
        let why = [
            (workload.rate.is_some(), "with a rate, requests come at their times whatever the depth"),
            (options.verify, "--verify checks data, and each depth would check them"),
            (options.file_operation.is_some(), "small files are made and removed, and each depth would need others"),
            (options.kernel.is_some(), "a memory kernel has no requests"),
        ];
        if let Some((_, why)) = why.into_iter().find(|(is_asked, _)| *is_asked) {
            bail!("--latency-target {most} looks for a depth, and {why}: leave one of them out");
        }
        Ok(Some(DepthSearch {
            most_ns: most.0,
            percent: self.latency_percentile,
            window_ns: window.0,
            most_depth: workload.iodepth,
            tried: Vec::new(),
        }))
    }
}

/// The study, experiment and repetition that the record belongs to.
#[derive(Debug, Args)]
#[command(next_help_heading = "Part of a study")]
pub struct PlaceInStudyArgs {
    /// Append the record to this study file, which `halfpower plan --output` creates
    #[arg(long)]
    pub output: Option<PathBuf>,
    /// Record the run as part of this experiment
    #[arg(long, requires = "output", value_parser = parse::<Experiment>)]
    pub experiment: Option<Experiment>,
    /// Record the run as this repetition of its cell, from 0
    #[arg(long, requires = "output", default_value_t = 0)]
    pub repeat: u32,
    /// Choose the pass: plain, soaker (with soaker threads), traced (with tracepoints on), confirm (a chosen cell again)
    #[arg(long, conflicts_with = "soaker", value_parser = parse::<Pass>, default_value = "plain")]
    pub pass: Pass,
}

impl RunArgs {
    /// The target, with `--set` applied.
    ///
    /// # Errors
    /// If a setting or the endpoint does not fit the target, or several targets cannot be combined.
    pub fn target(&self) -> Result<Target, ParseError> {
        reached(settled(one_target(&self.targets)?, &self.common.set)?, self.common.endpoint.as_ref())
    }

    /// The workload that was asked for.
    ///
    /// # Errors
    /// If `--sync sync` is given, or `--rate` is out of range in requests a second.
    pub fn workload(&self) -> Result<Workload> {
        let CommonArgs { connections, sealing, .. } = self.common;
        let workload = Workload {
            rw: self.rw,
            rwmixread: self.rwmixread,
            bs: self.bs,
            iodepth: self.iodepth,
            threads: self.common.threads,
            cache: self.fio_cache.cache()?.unwrap_or(self.cache),
            engine: self.common.engine,
            issuing: self.common.issuing(&self.target()?),
            rate: None,
            options: WorkloadOptions { connections, sealing, ..self.options.0 },
        };
        let workload = workload.with_sizes_in_use();
        let iops = self.iops(workload.mean_bytes())?;
        Ok(Workload { rate: iops.map(|iops| Arrival { iops, arrivals: self.arrivals }), ..workload })
    }

    /// The longest time of the run.
    pub fn longest(&self) -> Nanos {
        self.runtime.unwrap_or(if self.ends_by_itself() { UNTIL_MOVED } else { USUAL_RUNTIME })
    }

    /// The time that the run is known to take; `None` if it ends by what it has moved, or when it is steady.
    pub fn known_runtime(&self) -> Option<Nanos> {
        if self.ends_by_itself() { self.runtime } else { Some(self.longest()) }
    }

    /// Whether something else than its time ends the run.
    fn ends_by_itself(&self) -> bool {
        self.options.0.io_size.is_some() || self.options.0.steady_state.is_some()
    }

    /// Requests a second of each thread in an open loop, with `mean_bytes` per request on average.
    fn iops(&self, mean_bytes: f64) -> Result<Option<u64>> {
        let Some(rate) = self.rate else { return Ok(self.rate_iops) };
        let iops = rate.0 / mean_bytes;
        if !(0.5..=MOST_IOPS as f64).contains(&iops) {
            bail!(
                "--rate {rate} is {iops:.2} requests of {} a second; give a rate from 1 to {MOST_IOPS} requests a \
                 second, or use --rate-iops",
                Bytes(mean_bytes as u64)
            );
        }
        Ok(Some(iops.round() as u64))
    }
}

/// The workload's options beyond the usual axes.
#[derive(Debug)]
pub struct WorkloadOptionArgs(pub WorkloadOptions);

/// The options that are flags of `run` only; flags common to several commands are declared in `CommonArgs`.
fn rows() -> impl Iterator<Item = &'static OptionRow> {
    OPTIONS.iter().filter(|row| !matches!(row.option, WorkloadOption::Connections | WorkloadOption::Sealing))
}

fn flag(row: &'static OptionRow) -> Arg {
    let short = row.help.split("\n\n").next().unwrap_or_default();
    let mut flag =
        Arg::new(row.flag).long(row.flag).help(short).help_heading("More of the workload").hide_short_help(true);
    if short != row.help {
        flag = flag.long_help(row.help);
    }
    if let Some(alias) = row.alias {
        flag = flag.alias(alias);
    }
    if row.is_switch {
        return flag.action(ArgAction::SetTrue);
    }
    if let Some(name) = row.value_name {
        flag = flag.value_name(name);
    }
    if let Some(usual) = row.usual() {
        flag = flag.default_value(usual);
    }
    // Parsed here so that the error names the flag, and again when all flags are known.
    flag.value_parser(StringValueParser::new().try_map(move |text| {
        row.read(&mut WorkloadOptions::default(), &text)?;
        Ok::<String, ParseError>(text)
    }))
}

impl Args for WorkloadOptionArgs {
    fn augment_args(command: Command) -> Command {
        command.args(rows().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for WorkloadOptionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut all = Self(WorkloadOptions::default());
        all.update_from_arg_matches(matches)?;
        Ok(all)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for row in rows() {
            let text = if row.is_switch {
                matches.get_flag(row.flag).then(String::new)
            } else {
                matches.get_one::<String>(row.flag).cloned()
            };
            if let Some(text) = text {
                row.read(&mut self.0, &text).map_err(|error| Error::raw(ErrorKind::ValueValidation, error))?;
            }
        }
        Ok(())
    }
}
