//! Declares the flags of `halfpower run`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use halfpower_spec::{
    Affinity, Arrival, Arrivals, BlockSizes, Bytes, Cache, Experiment, Fadvise, Hosts, Kernel, Layout, Nanos,
    PageCache, ParseError, Pass, RandomDistribution, Rate, Region, Rw, Switch, Target, VolumeLayout, Way, Workload,
    WorkloadOptions,
};

use crate::cache_args::{FioCacheArgs, cache};
use crate::measuring_args::CommonArgs;
use crate::values::{microseconds, one_count, one_size, one_target, parse, percentile, reached, settled, target_words};

/// The most requests a second that a rate may ask of a thread.
const MOST_IOPS: u64 = 1_000_000_000;

#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct RunArgs {
    /// Folder, file, block device, share (smb://..., nfs://... or s3://...), simulated target (sim:...) or null:; several paths are measured at once
    #[arg(value_name = "TARGET", help_heading = "Arguments", required = true, num_args = 1.., value_parser = target_words())]
    pub targets: Vec<Target>,
    /// Set the access pattern: read, write, randread, randwrite, rw, randrw, trim, randtrim, trimwrite
    ///
    /// Trims give blocks back: a device discards them, a file gets holes. trimwrite trims each block and then writes it.
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
    /// Measure for this long
    #[arg(short = 'd', long, value_parser = parse::<Nanos>, default_value = "3s")]
    pub runtime: Nanos,
    /// Choose the caches that take part (SQLIO's Y, S, H and N): both, os, device, none
    ///
    /// device: O_DIRECT, only the device's cache takes part (direct is another word for it).
    /// both: plain buffered I/O (or buffered). os: buffered and O_DSYNC. none: O_DIRECT and O_DSYNC, so that every
    /// write is durable; this is SQLIO's N, while QEMU's cache=none is `device` here.
    #[arg(long, value_parser = cache, default_value = "device", conflicts_with_all = ["direct", "sync"])]
    pub cache: Cache,
    #[command(flatten)]
    pub fio_cache: FioCacheArgs,
    /// Issue this many bytes a second in each thread, without waiting for earlier requests (open loop)
    ///
    /// The rate is converted to whole requests a second: the rate divided by the block size, or by the mean of --bssplit.
    /// Latency counts from the time at which a request was due.
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
    pub options: WorkloadOptionArgs,
    #[command(flatten)]
    pub place: PlaceInStudyArgs,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// The workload's options: everything beside the usual axes.
#[derive(Debug, Args)]
#[command(next_help_heading = "More of the workload")]
pub struct WorkloadOptionArgs {
    /// Prepare the file this way before the run: written, new, append, last-first, fallocated, truncated
    #[arg(hide_short_help = true, long, value_parser = parse::<Layout>, default_value = "written")]
    layout: Layout,
    /// Shift each request by this many bytes off a multiple of its size
    #[arg(hide_short_help = true, long, value_parser = parse::<Bytes>, default_value = "0")]
    misalign: Bytes,
    /// Use only a part of the target, given by its first byte and its length, such as 1GiB+64MiB
    #[arg(hide_short_help = true, long, value_name = "FROM+LENGTH", value_parser = parse::<Region>)]
    region: Option<Region>,
    /// Call fdatasync after this many writes of a thread; 0 flushes only at the end
    #[arg(hide_short_help = true, long, value_name = "WRITES", default_value_t = 0)]
    fdatasync: u32,
    /// Wait this long after completions before submitting again; without a unit it is microseconds, as in fio
    #[arg(hide_short_help = true, long, value_parser = microseconds, default_value = "0")]
    thinktime: Nanos,
    /// Let requests go out for this long before the window opens
    #[arg(hide_short_help = true, long, alias = "ramp_time", value_parser = parse::<Nanos>, default_value = "0")]
    ramp_time: Nanos,
    /// Draw each request's size: sizes with their shares in percent, such as 4k/60:64k/40; --bs is then the largest
    ///
    /// Sizes without a share have the rest in equal parts. A second list is for writes: 4k/60:64k/40,8k. Random requests
    /// begin at multiples of the smallest size, sequential ones where the one before ends.
    #[arg(hide_short_help = true, long, value_name = "SIZE/PERCENT:...", value_parser = parse::<BlockSizes>)]
    bssplit: Option<BlockSizes>,
    /// Let random requests fall on some blocks more often: random (evenly), zipf:S, pareto:H
    ///
    /// zipf:1.2 lets the k-th block come as often as 1 / k^1.2 says. pareto:0.2 sends 80% of the requests to 20% of the
    /// blocks. Frequent blocks lie anywhere in the target.
    #[arg(hide_short_help = true, long, alias = "random_distribution", value_parser = parse::<RandomDistribution>, default_value = "random")]
    random_distribution: RandomDistribution,
    /// Submit from these processors: all, one, interrupt (the one that takes the device's interrupts), other (any but
    /// that one)
    #[arg(hide_short_help = true, long, value_parser = parse::<Affinity>, default_value = "all")]
    affinity: Affinity,
    /// Issue this many sequential streams in turn from each thread
    #[arg(hide_short_help = true, long, value_parser = clap::value_parser!(u32).range(1..=1024), default_value_t = 1)]
    streams: u32,
    /// Add this many threads that read 8 KiB blocks at random; their requests are counted separately
    #[arg(hide_short_help = true, long, value_parser = clap::value_parser!(u32).range(0..=1024), default_value_t = 0)]
    random_readers: u32,
    /// Begin a buffered run with the target's pages in this state: empty (each block is read once) or warm (all
    /// blocks are cached and read repeatedly, which measures the page cache itself)
    #[arg(hide_short_help = true, long, value_parser = parse::<PageCache>, default_value = "empty")]
    page_cache: PageCache,
    /// Advise the kernel on the order of reads: normal, sequential, random
    #[arg(hide_short_help = true, long, value_parser = parse::<Fadvise>, default_value = "normal")]
    fadvise: Fadvise,
    /// Switch the device's write cache on or off for this run, and restore it afterwards
    #[arg(hide_short_help = true, long, value_name = "on|off", value_parser = parse::<Switch>)]
    write_cache: Option<Switch>,
    /// Use only this many members of the target, the first ones; 0 uses all
    #[arg(hide_short_help = true, long, default_value_t = 0)]
    members: u32,
    /// Combine the members as each, stripe or mirror, whatever the target's name says
    #[arg(hide_short_help = true, long, value_parser = parse::<VolumeLayout>)]
    volume_layout: Option<VolumeLayout>,
    /// Choose the memory kernel, for --engine memory
    #[arg(hide_short_help = true, long, value_parser = parse::<Kernel>)]
    kernel: Option<Kernel>,
    /// Measure from here (wire), or at the far end, as a witness there offers it: past the share (local), or through it
    /// (same-machine)
    #[arg(hide_short_help = true, long, value_parser = parse::<Way>, default_value = "wire")]
    way: Way,
    /// Let only these processes of a run on many hosts take part, by their ranks, such as 0-3, or 5
    #[arg(hide_short_help = true, long, value_name = "RANKS", value_parser = parse::<Hosts>)]
    hosts: Option<Hosts>,
    /// Write blocks with their number, the seed and a checksum, and verify every block that is read
    #[arg(hide_short_help = true, long)]
    verify: bool,
}

/// Where the record belongs.
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
    /// Choose the pass: plain, soaker (with soaker threads), traced (with tracepoints on)
    #[arg(long, conflicts_with = "soaker", value_parser = parse::<Pass>, default_value = "plain")]
    pub pass: Pass,
}

impl WorkloadOptionArgs {
    fn options(&self, common: &CommonArgs) -> WorkloadOptions {
        let CommonArgs { connections, sealing, .. } = *common;
        let Self { layout, misalign, region, fdatasync, thinktime, affinity, streams, random_readers, fadvise, .. } =
            *self;
        let Self { page_cache, write_cache, members, volume_layout, kernel, verify, .. } = *self;
        let Self { random_distribution, ramp_time, bssplit, way, hosts, .. } = *self;
        WorkloadOptions {
            layout,
            misalign,
            region,
            fdatasync,
            thinktime,
            affinity,
            streams,
            random_readers,
            page_cache,
            fadvise,
            write_cache,
            members,
            volume_layout,
            kernel,
            verify,
            random_distribution,
            ramp_time,
            bssplit,
            connections,
            sealing,
            way,
            hosts,
        }
    }
}

impl RunArgs {
    /// The target, with `--set` applied.
    ///
    /// # Errors
    /// Where a setting cannot be, or several targets do not go together.
    pub fn target(&self) -> Result<Target, ParseError> {
        reached(settled(one_target(&self.targets)?, &self.common.set)?, self.common.endpoint.as_ref())
    }

    /// The workload that was asked for.
    ///
    /// # Errors
    /// Where `--direct` and `--sync` do not combine, or `--rate` is less than a request a second.
    pub fn workload(&self) -> Result<Workload> {
        let workload = Workload {
            rw: self.rw,
            rwmixread: self.rwmixread,
            bs: self.options.bssplit.map_or(self.bs, |sizes| sizes.largest()),
            iodepth: self.iodepth,
            threads: self.common.threads,
            cache: self.fio_cache.cache()?.unwrap_or(self.cache),
            engine: self.common.engine,
            issuing: self.common.issuing(&self.target()?),
            rate: None,
            options: self.options.options(&self.common),
        };
        let iops = self.iops(workload.mean_bytes())?;
        Ok(Workload { rate: iops.map(|iops| Arrival { iops, arrivals: self.arrivals }), ..workload })
    }

    /// Requests a second of each thread in an open loop, of `mean_bytes` each on the average.
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

/// A rate with its unit, or fio's form without one: `100m` is 100 MiB/s.
fn rate(text: &str) -> Result<Rate, ParseError> {
    text.parse().or_else(|error| match text.parse() {
        Ok(Bytes(bytes)) if bytes > 0 => Ok(Rate(bytes as f64)),
        _ => Err(error),
    })
}
