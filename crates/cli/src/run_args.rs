//! The flags of `halfpower run`: a workload, what is turned in it, and where its record belongs.

use std::path::PathBuf;

use clap::Args;
use spec::{
    Affinity, Arrival, Arrivals, Bytes, Cache, Experiment, Fadvise, Join, Kernel, Layout, Nanos, PageCache, Pass,
    Region, Rw, Switch, Target, Twist, Workload,
};

use crate::args::{CommonArgs, one_count, one_size, parse, target};

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A folder, a file, a block device, sim:CONSTANTS or null:
    #[arg(value_parser = target)]
    pub target: Target,
    /// Access pattern: read, write, randread, randwrite, rw, randrw
    #[arg(long, value_parser = parse::<Rw>, default_value = "read")]
    pub rw: Rw,
    /// Share of reads in percent, for rw and randrw
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=100), default_value_t = 50)]
    pub rwmixread: u8,
    /// Block size
    #[arg(short, long, value_parser = one_size, default_value = "64KiB")]
    pub bs: Bytes,
    /// Requests kept outstanding by each thread
    #[arg(short = 'o', long, value_parser = one_count, default_value = "8")]
    pub iodepth: u32,
    /// Time that the window stays open
    #[arg(short = 'd', long, value_parser = parse::<Nanos>, default_value = "3s")]
    pub runtime: Nanos,
    /// Cache setting: device (direct), both (buffered), os (O_DSYNC), none (direct and O_DSYNC)
    #[arg(long, value_parser = parse::<Cache>, default_value = "device")]
    pub cache: Cache,
    /// Requests a second that come to each thread, done or not (open loop); latency counts from when they should
    /// have been issued
    #[arg(long, value_name = "IOPS", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub rate: Option<u64>,
    /// Distances of such requests: fixed or poisson
    #[arg(long, requires = "rate", value_parser = parse::<Arrivals>, default_value = "fixed")]
    pub arrivals: Arrivals,
    /// Measure once more beside the soaker: idle-priority threads whose lost time is all that the machine spent
    #[arg(long)]
    pub soaker: bool,
    /// Print the record as one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub twist: TwistArgs,
    #[command(flatten)]
    pub place: PlaceInStudyArgs,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// What is turned beside the usual axes.
#[derive(Debug, Args)]
pub struct TwistArgs {
    /// How the file is there when the run begins: written, new, append, last-first, fallocated, truncated
    #[arg(long, value_parser = parse::<Layout>, default_value = "written")]
    layout: Layout,
    /// Begin each request so many bytes after a multiple of its size
    #[arg(long, value_parser = parse::<Bytes>, default_value = "0")]
    shift: Bytes,
    /// Use a part of the target: its first byte and its length, such as 1GiB+64MiB
    #[arg(long, value_name = "FROM+LENGTH", value_parser = parse::<Region>)]
    region: Option<Region>,
    /// Make everything durable after so many writes of a thread, and wait for it; 0 is at the end alone
    #[arg(long, value_name = "WRITES", default_value_t = 0)]
    fdatasync: u32,
    /// Let so much time pass after completions before submitting again
    #[arg(long, value_parser = parse::<Nanos>, default_value = "0")]
    thinktime: Nanos,
    /// Processors that submit: all, one, interrupt (the device's), other (than that)
    #[arg(long, value_parser = parse::<Affinity>, default_value = "all")]
    affinity: Affinity,
    /// Sequential streams that each thread takes in turn
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024), default_value_t = 1)]
    streams: u32,
    /// Threads beside these that read at random, counted apart
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=1024), default_value_t = 0)]
    randoms: u32,
    /// What the page cache holds of the target when a buffered run begins: empty (each block is read once), or warm
    /// (all of it, and blocks are read again and again: measures the page cache itself)
    #[arg(long, value_parser = parse::<PageCache>, default_value = "empty")]
    page_cache: PageCache,
    /// What the kernel is told of the order of reads: normal, sequential, random
    #[arg(long, value_parser = parse::<Fadvise>, default_value = "normal")]
    fadvise: Fadvise,
    /// Switch the device's own write cache on or off for this run (WCE), and back after it
    #[arg(long, value_parser = parse::<Switch>)]
    wce: Option<Switch>,
    /// Use the first so many members of the target; 0 is all
    #[arg(long, default_value_t = 0)]
    members: u32,
    /// How members make one target, other than its name says: each, stripe, mirror
    #[arg(long, value_parser = parse::<Join>)]
    join: Option<Join>,
    /// The loop over memory, for --engine memory
    #[arg(long, value_parser = parse::<Kernel>)]
    kernel: Option<Kernel>,
    /// Write blocks that carry their number, the seed and a checksum, and check what is read
    #[arg(long)]
    verify: bool,
}

/// Where the record belongs.
#[derive(Debug, Args)]
pub struct PlaceInStudyArgs {
    /// Append the record to this study file, which `halfpower plan --output` has made
    #[arg(long)]
    pub output: Option<PathBuf>,
    /// The experiment that it belongs to
    #[arg(long, requires = "output", value_parser = parse::<Experiment>)]
    pub experiment: Option<Experiment>,
    /// Which repetition of its cell it is, from 0
    #[arg(long, requires = "output", default_value_t = 0)]
    pub repeat: u32,
    /// What it is measured for: plain, soaker, traced
    #[arg(long, conflicts_with = "soaker", value_parser = parse::<Pass>, default_value = "plain")]
    pub pass: Pass,
}

impl TwistArgs {
    fn twist(&self) -> Twist {
        let Self { layout, shift, region, fdatasync, thinktime, affinity, streams, randoms, fadvise, .. } = *self;
        let Self { page_cache, wce, members, join, kernel, verify, .. } = *self;
        Twist {
            layout,
            shift,
            region,
            fdatasync,
            thinktime,
            affinity,
            streams,
            randoms,
            page_cache,
            fadvise,
            wce,
            members,
            join,
            kernel,
            verify,
        }
    }
}

impl RunArgs {
    /// The workload that was asked for.
    pub fn workload(&self) -> Workload {
        Workload {
            rw: self.rw,
            rwmixread: self.rwmixread,
            bs: self.bs,
            iodepth: self.iodepth,
            threads: self.common.threads,
            cache: self.cache,
            engine: self.common.engine,
            rate: self.rate.map(|iops| Arrival { iops, arrivals: self.arrivals }),
            twist: self.twist.twist(),
        }
    }
}
