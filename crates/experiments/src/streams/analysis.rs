//! Compares several sequential streams with one alone, and one alone with one among random readers.

use halfpower_analyse::{ExperimentCell, Interval, some_mean};
use halfpower_spec::{Cache, InOrder, JsonSchema};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Concurrent sequential streams, and one stream among random readers.
    pub streams: Vec<StreamRow>,
}

/// Concurrent sequential streams, or one stream among random readers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StreamRow {
    /// Whether the page cache took part.
    pub cache: Cache,
    /// Requests in flight over all streams together.
    pub iodepth: u32,
    /// Number of sequential streams.
    pub streams: u32,
    /// Number of random readers beside them.
    pub random_readers: u32,
    /// Throughput of all streams together in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Throughput as a share of that of a single stream alone; `null` if that is not known.
    pub of_one: Option<f64>,
    /// Requests of 8 KiB a second that all random readers got.
    pub readers_iops: Option<f64>,
}

/// How streams and random readers slow each other.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct StreamsAnswer {
    /// The most concurrent streams compared with one, by cache setting.
    pub side_by_side: Vec<StreamsTogether>,
    /// One direct stream among the most random readers.
    pub among_readers: Option<StreamAmongReaders>,
}

/// Concurrent streams.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StreamsTogether {
    /// Whether the page cache took part.
    pub cache: Cache,
    /// Number of streams.
    pub streams: u32,
    /// Total throughput in MB/s.
    pub mbps: f64,
    /// Throughput of one stream alone in MB/s.
    pub one_mbps: f64,
    /// `mbps` as a share of `one_mbps`.
    pub of_one: RatioFinding,
}

/// One stream among random readers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StreamAmongReaders {
    /// Number of random readers.
    pub random_readers: u32,
    /// Requests that the stream keeps in flight.
    pub iodepth: u32,
    /// The stream's throughput as a share of that alone.
    pub of_alone: RatioFinding,
    /// Requests of 8 KiB a second that all random readers got.
    pub readers_iops: Option<f64>,
}

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, StreamsAnswer) {
    let cells: Vec<&ExperimentCell> = data.sound().collect();
    let mut streams: Vec<StreamRow> = cells.iter().map(|cell| row(cell, alone(&cells, cell))).collect();
    streams.order_by_key(|row| (row.cache, row.iodepth, row.random_readers, row.streams));
    let scale = Scale::of(data.sound());
    let together = |cache| side_by_side(&cells, &scale, cache);
    let answer = StreamsAnswer {
        side_by_side: [Cache::Device, Cache::Both].into_iter().filter_map(together).collect(),
        among_readers: among_readers(&cells, &scale),
    };
    (Rows { streams }, answer)
}

/// The cell of a single stream alone, for comparison with `cell`.
fn alone<'a>(cells: &[&'a ExperimentCell<'a>], cell: &ExperimentCell) -> Option<&'a ExperimentCell<'a>> {
    let same = |other: &&&ExperimentCell| {
        let one = &other.workload;
        let this = &cell.workload;
        (one.cache, one.iodepth, one.options.streams, one.options.random_readers) == (this.cache, this.iodepth, 1, 0)
    };
    cells.iter().find(same).copied()
}

fn row(cell: &ExperimentCell, alone: Option<&ExperimentCell>) -> StreamRow {
    let Interval { value, low, high } = cell.finding.mbps;
    StreamRow {
        cache: cell.workload.cache,
        iodepth: cell.workload.iodepth,
        streams: cell.workload.options.streams,
        random_readers: cell.workload.options.random_readers,
        mbps: value,
        low,
        high,
        of_one: alone.map(|alone| value / alone.finding.mbps.value),
        readers_iops: some_mean(cell.records.iter().filter_map(|record| record.beside_iops())),
    }
}

/// Compares the most streams with a single one.
fn side_by_side(cells: &[&ExperimentCell], scale: &Scale, cache: Cache) -> Option<StreamsTogether> {
    let many = cells.iter().filter(|cell| cell.workload.cache == cache && cell.workload.options.streams > 1);
    let most = many.max_by_key(|cell| cell.workload.options.streams)?;
    let one = alone(cells, most)?;
    Some(StreamsTogether {
        cache,
        streams: most.workload.options.streams,
        mbps: most.finding.mbps.value,
        one_mbps: one.finding.mbps.value,
        of_one: scale.times(&[most], &[one])?,
    })
}

/// The share of its rate that a stream keeps among the most random readers.
fn among_readers(cells: &[&ExperimentCell], scale: &Scale) -> Option<StreamAmongReaders> {
    let readers = |cell: &&&ExperimentCell| cell.workload.options.random_readers;
    let direct = cells.iter().filter(|cell| cell.workload.cache.direct() && cell.workload.options.random_readers > 0);
    let most = direct.max_by_key(readers)?;
    let of_alone = scale.times(&[most], &[alone(cells, most)?])?;
    let StreamRow { random_readers, iodepth, readers_iops, .. } = row(most, None);
    Some(StreamAmongReaders { random_readers, iodepth, of_alone, readers_iops })
}
