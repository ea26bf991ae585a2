//! The figures of each experiment, as `halfpower report --json` gives them: one list an experiment, empty where it was
//! not run.

use serde::Serialize;
use spec::{Cache, EngineName, Kernel, Layout, Pattern};

use super::buffered_cost::BufferedCostRow;
use super::{
    AlignmentRow, BufferedRow, BurstRow, DurabilityRow, HitRow, MirrorRow, OverheadRow, ProcessorRow, ScalingRow,
    StreamRow,
};
use crate::PriceRow;

/// All lists; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Rows {
    /// What each engine gave at equal work.
    pub engines: Vec<EngineRow>,
    /// So many members together, on their own and as a stripe.
    pub scaling: Vec<ScalingRow>,
    /// Two members as a mirror, as a stripe, and one of them.
    pub mirror: Vec<MirrorRow>,
    /// Requests through the page cache and past it, by block size.
    pub buffered: Vec<BufferedRow>,
    /// What a buffered request costs the processor, term by term.
    pub buffered_cost: Vec<BufferedCostRow>,
    /// Writes under different promises of durability.
    pub durability: Vec<DurabilityRow>,
    /// Sequential writes into files that are there in different ways.
    pub allocation: Vec<AllocationRow>,
    /// Requests that begin off the boundaries of blocks and chunks.
    pub alignment: Vec<AlignmentRow>,
    /// Parts of the target that are equally fast, from its first byte to its last.
    pub zones: Vec<ZoneRow>,
    /// The same few blocks again and again, by so many members.
    pub burst: Vec<BurstRow>,
    /// What a request for the same block again costs in time; one row, or none.
    pub overhead: Vec<OverheadRow>,
    /// Requests after a pause: of the block before, of the one that follows it, of any.
    pub hits: Vec<HitRow>,
    /// The same work on one processor and on all, on the interrupts' and on another.
    pub processors: Vec<ProcessorRow>,
    /// Sequential streams side by side, and one among random readers.
    pub streams: Vec<StreamRow>,
    /// The speed of memory, kernel by kernel.
    pub memory: Vec<MemoryRow>,
    /// Where a request's time goes, a row a phase.
    pub anatomy: Vec<AnatomyRow>,
    /// What the money buys; one row, or none.
    pub price: Vec<PriceRow>,
}

/// The rate of one memory kernel by so many threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MemoryRow {
    /// Which loop.
    pub kernel: Kernel,
    /// Threads that ran it at once, each over memory of its own.
    pub threads: u32,
    /// Bytes that all threads read, wrote or copied in a second, in MB/s, the loop's own time taken off. A byte copied
    /// counts once, as in memspeed; STREAM counts it twice, as read and as written.
    pub mbps: f64,
    /// Lower end of the 95% t interval over run means.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A part of the target in which throughput is the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ZoneRow {
    /// Its first byte.
    pub from_bytes: u64,
    /// The byte after its last.
    pub to_bytes: u64,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What one phase takes of requests of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AnatomyRow {
    /// The stretch of the way, by the word of [`record::Phase`]; `outside` is what no tracepoint sees.
    pub phase: &'static str,
    /// Block size.
    pub bs_bytes: u64,
    /// Depth.
    pub iodepth: u32,
    /// Members of the target that take part.
    pub n: u32,
    /// Its share of the mean latency.
    pub share: f64,
    /// Mean time in it, in microseconds.
    pub us: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Writes into a file that is there in one way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AllocationRow {
    /// How the file is there when they begin.
    pub case: Layout,
    /// Cache setting.
    pub cache: Cache,
    /// Depth asked for.
    pub iodepth: u32,
    /// Mean throughput in MB/s, with the closing flush where it is buffered.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One engine at one kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EngineRow {
    /// The engine that was asked for.
    pub engine: EngineName,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Block size.
    pub bs_bytes: u64,
    /// Depth asked for.
    pub iodepth: u32,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Requests a second.
    pub iops: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the latency.
    pub p99_us: f64,
    /// Processor time a request charged to the process, in microseconds.
    pub charged_us: f64,
    /// The same by the soaker, so with interrupts and kernel threads; `null` without its pass.
    pub soaker_us: Option<f64>,
}
