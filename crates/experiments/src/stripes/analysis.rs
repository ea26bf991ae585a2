//! Compares writes of full stripes with writes of a chunk, of a part of one, and with stripes that begin later.

use halfpower_analyse::ExperimentCell;
use halfpower_record::StripePlace;
use halfpower_spec::{InOrder, JsonSchema};
use serde::Serialize;

use crate::cell_figures::CellFigures;
use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Writes of parts of chunks, chunks and full stripes.
    pub stripes: Vec<StripeRow>,
}

/// What a write covers of a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Covers {
    /// A part of a chunk.
    Part,
    /// One chunk.
    Chunk,
    /// A full stripe.
    Full,
    /// As many bytes as a full stripe has, from a block after its beginning on.
    Shifted,
}

/// Writes of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StripeRow {
    /// What a write covers.
    pub covers: Covers,
    /// Block size.
    pub bs_bytes: u64,
    /// Bytes by which each write begins later than a full stripe.
    pub shift_bytes: u64,
    /// Depth.
    pub iodepth: u32,
    /// What its runs came to.
    #[serde(flatten)]
    pub figures: CellFigures,
}

/// What full stripes bring, by depth.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct StripesAnswer {
    /// What the array is, such as `md raid5`.
    pub array: String,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Bytes of data in a full stripe.
    pub full_bytes: u64,
    /// Where the first full stripe begins in the target.
    pub first_byte: u64,
    /// Each depth, the smallest first.
    pub depths: Vec<StripeDepth>,
}

/// What full stripes bring at one depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StripeDepth {
    /// Depth.
    pub iodepth: u32,
    /// Throughput of full stripes, in MB/s.
    pub full_mbps: f64,
    /// Bytes a second of full stripes over those of single chunks.
    pub over_chunk: Option<RatioFinding>,
    /// The same over those of a part of a chunk.
    pub over_part: Option<RatioFinding>,
    /// Share of that rate which stripes keep that begin a block later.
    pub shifted: Option<RatioFinding>,
}

impl StripesAnswer {
    /// What full stripes bring at the largest depth.
    pub fn deepest(&self) -> Option<&StripeDepth> {
        self.depths.last()
    }
}

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, StripesAnswer) {
    let place = data.environment.capabilities.stripe.clone().unwrap_or_default();
    let scale = Scale::of(data.sound());
    let mut cells: Vec<&ExperimentCell> = data.sound().collect();
    cells.order_by_key(|cell| (cell.workload.iodepth, covers(cell, &place)));
    let rows = Rows { stripes: cells.iter().map(|cell| row(cell, &place)).collect() };
    let mut depths: Vec<u32> = cells.iter().map(|cell| cell.workload.iodepth).collect();
    depths.dedup();
    let at = |depth: u32| {
        let of = |what| cells.iter().find(|cell| cell.workload.iodepth == depth && covers(cell, &place) == what);
        let full = of(Covers::Full)?;
        let over = |what| scale.times(&[full], &[of(what)?]);
        Some(StripeDepth {
            iodepth: depth,
            full_mbps: full.finding.mbps.value,
            over_chunk: over(Covers::Chunk),
            over_part: over(Covers::Part),
            shifted: of(Covers::Shifted).and_then(|shifted| scale.times(&[shifted], &[full])),
        })
    };
    let answer = StripesAnswer {
        depths: depths.into_iter().filter_map(at).collect(),
        chunk_bytes: place.chunk.0,
        full_bytes: place.full.0,
        first_byte: place.part.map_or(0, |part| part.from.0),
        array: place.what,
    };
    (rows, answer)
}

fn covers(cell: &ExperimentCell, place: &StripePlace) -> Covers {
    let workload = &cell.workload;
    match workload.bs {
        bs if bs == place.full && workload.options.misalign.0 > 0 => Covers::Shifted,
        bs if bs == place.full => Covers::Full,
        bs if bs == place.chunk => Covers::Chunk,
        _ => Covers::Part,
    }
}

fn row(cell: &ExperimentCell, place: &StripePlace) -> StripeRow {
    StripeRow {
        covers: covers(cell, place),
        bs_bytes: cell.workload.bs.0,
        shift_bytes: cell.workload.options.misalign.0,
        iodepth: cell.workload.iodepth,
        figures: CellFigures::of(&cell.finding),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::Interval;
    use halfpower_record::{Capabilities, Environment, Record};
    use halfpower_spec::{Bytes, Cache, Experiment, Pass, Question, Region, Rw, Workload, WorkloadOptions};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::built::{disk, normal, record_at};
    use crate::study_findings::{StudyFindings, analyse};
    use crate::words::NOT_DECIDED;

    const CHUNK: u64 = 64 << 10;
    const FULL: u64 = 3 * CHUNK;

    /// Rates in MB/s of a part, a chunk, a full stripe and a shifted one, with this noise.
    fn findings(mbps: [f64; 4], noise: f64) -> StudyFindings {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut records: Vec<Record> = Vec::new();
        for (iodepth, times) in [(1, 1.0), (8, 2.0)] {
            for ((bs, shift), mbps) in [(4096, 0), (CHUNK, 0), (FULL, 0), (FULL, 4096)].into_iter().zip(mbps) {
                let options = WorkloadOptions { misalign: Bytes(shift), ..WorkloadOptions::default() };
                let (rw, cache) = (Rw::Randwrite, Cache::Device);
                let workload = Workload { rw, cache, bs: Bytes(bs), iodepth, options, ..Workload::default() };
                for repeat in 0..3 {
                    let rate = mbps * times * 1e6 * (1.0 + noise * normal(&mut random));
                    let mut record = record_at(&disk("fixed=80us,rate=500MB/s"), workload, repeat, Pass::Plain, rate);
                    record.run.experiment = Some(Experiment::Stripes);
                    records.push(record);
                }
            }
        }
        let part = Some(Region { from: Bytes(8192), bytes: Bytes(FULL * 1000) });
        let stripe = StripePlace { what: "md raid5".to_string(), chunk: Bytes(CHUNK), full: Bytes(FULL), part };
        let capabilities = Capabilities { stripe: Some(stripe), ..Capabilities::default() };
        let question = Question { experiments: vec![Experiment::Stripes], ..Question::about("d") };
        analyse(&question, &Environment { capabilities, ..Environment::default() }, &records)
    }

    #[test]
    fn what_full_stripes_bring_comes_back_by_depth() {
        let reported = findings([5.0, 40.0, 120.0, 60.0], 0.01);
        let Some(crate::ExperimentAnswer::Stripes(found)) = &reported.experiments[0].found else { panic!() };
        assert_eq!(found.depths.iter().map(|depth| depth.iodepth).collect::<Vec<_>>(), [1, 8]);
        let deepest = found.deepest().unwrap();
        let holds = |ratio: Option<RatioFinding>, truth: f64| {
            let Interval { low, high, .. } = ratio.unwrap().interval;
            low <= truth && truth <= high && high / low < 1.2
        };
        assert!(holds(deepest.over_chunk, 3.0) && holds(deepest.over_part, 24.0) && holds(deepest.shifted, 0.5));
        let brief = reported.experiments[0].brief();
        assert!(brief.starts_with('3') || brief.starts_with("2.9"), "{brief}");
        assert!(brief.contains("192 KiB") && brief.contains("64 KiB") && brief.contains("8 deep"), "{brief}");
        let answer = &reported.experiments[0].answer;
        assert!(answer.contains("keep 5") && answer.contains("begins 8 KiB"), "{answer}");
        let rows = &reported.rows.stripes.stripes;
        assert_eq!(
            rows.iter().map(|row| row.covers).take(4).collect::<Vec<_>>(),
            [Covers::Part, Covers::Chunk, Covers::Full, Covers::Shifted]
        );
    }

    #[test]
    fn where_full_stripes_bring_nothing_none_is_advised() {
        let alike = findings([40.0, 40.0, 40.0, 40.0], 0.005);
        assert!(alike.experiments[0].brief().starts_with("no more"), "{}", alike.experiments[0].brief());
        let unsure = findings([5.0, 40.0, 60.0, 40.0], 0.5);
        let brief = unsure.experiments[0].brief();
        assert!(brief.starts_with(NOT_DECIDED) && !brief.contains("write them"), "{brief}");
    }
}
