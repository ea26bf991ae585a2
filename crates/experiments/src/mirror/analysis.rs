//! Compares a mirror with a stripe of the same two members and with one of them.

use halfpower_analyse::{ExperimentCell, Interval, Requests, has_settings};
use halfpower_spec::{Direction, InOrder, JsonSchema, Pattern, VolumeLayout};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Two members as a mirror, as a stripe, and one of them.
    pub mirror: Vec<MirrorRow>,
}

/// One layout of two members, with one set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MirrorRow {
    /// Its requests.
    #[serde(flatten)]
    pub requests: Requests,
    /// `mirror` or `stripe` of two members; `each` is a single member.
    pub volume_layout: VolumeLayout,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Throughput in MB/s; data written to both copies counts once.
    pub mbps: f64,
    /// Requests a second.
    pub iops: f64,
    /// Lower end of the 95% interval of `mbps`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Throughput of two copies.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct MirrorAnswer {
    /// Sequential reads at the largest depth.
    pub sequential: Option<SequentialReads>,
    /// Random reads, two deep.
    pub random: Option<RandomReads>,
    /// Writes at the largest depth, by order of offsets.
    pub writes: Vec<MirrorWrites>,
    /// The result of reading both copies back; `null` if they were not read back.
    pub verified: Option<VerifiedCopies>,
}

/// Sequential reads of a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SequentialReads {
    /// Depth.
    pub iodepth: u32,
    /// Rate of the mirror over one member's.
    pub mirror: RatioFinding,
    /// Rate of the stripe over one member's, at the same depth.
    pub stripe: Option<RatioFinding>,
    /// Where the second copy brings a gain.
    pub gain: SecondCopyGain,
    /// Bytes outstanding from which it does.
    pub from_outstanding_bytes: Option<u64>,
}

/// Where the second copy brings a gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecondCopyGain {
    /// From a certain number of outstanding bytes up.
    FromThere,
    /// At some numbers of outstanding bytes, but not at the largest.
    OnlyThere,
    /// Nowhere, as far as the runs can tell.
    Nowhere,
}

/// Random reads of a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RandomReads {
    /// Depth.
    pub iodepth: u32,
    /// Requests a second.
    pub iops: f64,
    /// Rate of the mirror over one member's.
    pub mirror: RatioFinding,
    /// Rate of the stripe over one member's.
    pub stripe: Option<RatioFinding>,
}

/// Writes to both copies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MirrorWrites {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Rate of the mirror over one member's.
    pub mirror: RatioFinding,
}

/// The result of reading both copies back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifiedCopies {
    /// Blocks with wrong data.
    pub wrong_blocks: u64,
}

/// Depth at which random reads just keep both copies busy.
const TWO_DEEP: u32 = 2;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, MirrorAnswer) {
    let mut mirror: Vec<MirrorRow> = data.sound().filter(|cell| !cell.workload.options.verify).map(row).collect();
    mirror.order_by_key(|row| (row.pattern, row.rw, row.volume_layout, row.iodepth));
    let ways = Ways::of(data);
    let answer = MirrorAnswer {
        sequential: ways.sequential(),
        random: ways.random(),
        writes: ways.writes(),
        verified: verified(data),
    };
    (Rows { mirror }, answer)
}

fn row(cell: &ExperimentCell) -> MirrorRow {
    let finding = &cell.finding;
    let Interval { value: mbps, low, high } = finding.mbps;
    MirrorRow {
        volume_layout: cell.workload.options.volume_layout.unwrap_or(VolumeLayout::Each),
        requests: finding.requests(),
        pattern: finding.pattern,
        mbps,
        iops: finding.iops,
        low,
        high,
    }
}

/// The layouts of two members, to be compared with a single member.
struct Ways<'a> {
    cells: Vec<&'a ExperimentCell<'a>>,
    scale: Scale,
}

impl<'a> Ways<'a> {
    fn of(data: &'a ExperimentData) -> Self {
        let timed = || data.sound().filter(|cell| !cell.workload.options.verify);
        let mut cells: Vec<&ExperimentCell> = timed().collect();
        cells.order_by_key(|cell| cell.workload.iodepth);
        Self { cells, scale: Scale::of(timed()) }
    }

    /// A layout's rate as a multiple of one member's, at each depth measured for both.
    fn times_one(
        &self,
        pattern: Pattern,
        rw: Direction,
        volume_layout: VolumeLayout,
    ) -> Vec<(&'a ExperimentCell<'a>, RatioFinding)> {
        let of = |volume_layout| {
            let is = move |cell: &&&ExperimentCell| {
                let asked = (
                    cell.finding.pattern,
                    cell.finding.rw,
                    cell.workload.options.volume_layout.unwrap_or(VolumeLayout::Each),
                );
                asked == (pattern, rw, volume_layout)
            };
            self.cells.iter().filter(is)
        };
        let against = |cell: &&'a ExperimentCell<'a>| {
            let one = of(VolumeLayout::Each).find(|one| one.workload.iodepth == cell.workload.iodepth)?;
            Some((*cell, self.scale.times(&[cell], &[one])?))
        };
        of(volume_layout).filter_map(against).collect()
    }

    fn sequential(&self) -> Option<SequentialReads> {
        let mirror = self.times_one(Pattern::Sequential, Direction::Read, VolumeLayout::Mirror);
        let (deepest, times) = mirror.last()?;
        let iodepth = deepest.finding.iodepth;
        let stripe = self.times_one(Pattern::Sequential, Direction::Read, VolumeLayout::Stripe);
        let stripe = stripe.iter().find(|(cell, _)| cell.finding.iodepth == iodepth).map(|(_, times)| *times);
        let outstanding = |cell: &ExperimentCell| cell.finding.bs_bytes * u64::from(cell.finding.iodepth);
        let gains = |one: &&(&ExperimentCell, RatioFinding)| one.1.is_more();
        let (gain, from) = match (mirror.iter().rev().take_while(gains).last(), mirror.iter().find(gains)) {
            (Some((cell, _)), _) => (SecondCopyGain::FromThere, Some(outstanding(cell))),
            (None, Some((cell, _))) => (SecondCopyGain::OnlyThere, Some(outstanding(cell))),
            (None, None) => (SecondCopyGain::Nowhere, None),
        };
        Some(SequentialReads { iodepth, mirror: *times, stripe, gain, from_outstanding_bytes: from })
    }

    fn random(&self) -> Option<RandomReads> {
        let at_two = |volume_layout| {
            let all = self.times_one(Pattern::Random, Direction::Read, volume_layout);
            all.into_iter().find(|(cell, _)| cell.finding.iodepth == TWO_DEEP)
        };
        let (cell, mirror) = at_two(VolumeLayout::Mirror)?;
        let stripe = at_two(VolumeLayout::Stripe).map(|(_, times)| times);
        Some(RandomReads { iodepth: TWO_DEEP, iops: cell.finding.iops, mirror, stripe })
    }

    fn writes(&self) -> Vec<MirrorWrites> {
        let deepest = |pattern: &Pattern| {
            let (_, mirror) = self.times_one(*pattern, Direction::Write, VolumeLayout::Mirror).pop()?;
            Some(MirrorWrites { pattern: *pattern, mirror })
        };
        Pattern::ALL.iter().filter_map(deepest).collect()
    }
}

/// The result of reading both copies back. A request that failed is no wrong block: it compared nothing, and without it
/// the copies are not known to be right either.
fn verified(data: &ExperimentData) -> Option<VerifiedCopies> {
    let verified: Vec<&ExperimentCell> = data.cells.iter().filter(|cell| cell.workload.options.verify).collect();
    let wrong = verified.iter().flat_map(|cell| &cell.records).map(|record| record.wrong_data());
    let wrong_blocks = wrong.fold(0, u64::saturating_add);
    let moved = verified.iter().any(|cell| cell.finding.mbps.value > 0.0);
    let is_whole = moved && verified.iter().all(|cell| cell.finding.errors == 0);
    (wrong_blocks > 0 || is_whole).then_some(VerifiedCopies { wrong_blocks })
}

has_settings!(MirrorRow, requests: Requests);

#[cfg(test)]
mod tests {
    use halfpower_record::{Environment, Record};
    use halfpower_spec::{Cache, Experiment, Pass, Question, Rw, VolumeLayout, Workload, WorkloadOptions};

    use crate::built::{disk, record_at};
    use crate::study_findings::analyse;

    fn runs(rw: Rw, options: WorkloadOptions, depth: u32, mbps: f64) -> Vec<Record> {
        let workload = Workload { options, ..crate::built::workload(rw, Cache::Device, 64, depth) };
        let run = |repeat: u32| {
            let rate = mbps * 1e6 * (1.0 + 0.01 * (f64::from(repeat) - 1.0));
            let mut record = record_at(&disk(""), workload, repeat, Pass::Plain, rate);
            record.run.experiment = Some(Experiment::Mirror);
            record
        };
        (0..3).map(run).collect()
    }

    fn mirror() -> WorkloadOptions {
        WorkloadOptions { members: 2, volume_layout: Some(VolumeLayout::Mirror), ..WorkloadOptions::default() }
    }

    fn answer(records: &[Vec<Record>]) -> String {
        let question = Question { experiments: vec![Experiment::Mirror], ..Question::about("d") };
        analyse(&question, &Environment::default(), &records.concat()).experiments[0].answer.clone()
    }

    /// Sequential reads of one member at 100 MB/s, and of a mirror at these rates at depths 1, 2, 4, ...
    fn reads(rates: &[f64]) -> Vec<Vec<Record>> {
        let one = WorkloadOptions { members: 1, ..WorkloadOptions::default() };
        let depths = (0..rates.len()).map(|power| 1 << power);
        let both =
            |(depth, mbps): (u32, &f64)| [runs(Rw::Read, one, depth, 100.0), runs(Rw::Read, mirror(), depth, *mbps)];
        depths.zip(rates).flat_map(both).collect()
    }

    #[test]
    fn a_gain_from_a_depth_on_is_one_at_every_depth_from_there() {
        let from = answer(&reads(&[100.0, 100.0, 150.0, 180.0]));
        assert!(from.contains("with 256 KiB outstanding and more; 8 deep they run at 1.80 times"), "{from}");
        let dips = answer(&reads(&[120.0, 100.0, 150.0, 180.0]));
        assert!(dips.contains("with 256 KiB outstanding and more"), "{dips}");
        let lost = answer(&reads(&[100.0, 150.0, 150.0, 100.0]));
        assert!(lost.contains("with 128 KiB outstanding, and not with most"), "{lost}");
        let none = answer(&reads(&[100.0, 100.0]));
        assert!(none.contains("gain nothing that runs could tell"), "{none}");
    }

    /// What the details say of sequential reads, the first screen does not deny.
    #[test]
    fn a_gain_at_some_depths_alone_is_told_at_first_too() {
        let random = |options, mbps| runs(Rw::Randread, options, 2, mbps);
        let one = WorkloadOptions { members: 1, ..WorkloadOptions::default() };
        let mut records = reads(&[100.0, 150.0, 150.0, 100.0]);
        records.extend([random(one, 100.0), random(mirror(), 180.0)]);
        let question = Question { experiments: vec![Experiment::Mirror], ..Question::about("d") };
        let found = analyse(&question, &Environment::default(), &records.concat());
        let short = found.experiments[0].short.as_ref().unwrap();
        assert!(short.sentence.contains("; sequential ones gain with 128 KiB outstanding, and not"), "{short:?}");
    }

    /// A stripe that was not measured at the mirror's depth is not compared with it.
    #[test]
    fn a_stripe_is_told_at_the_depth_of_the_mirror() {
        let stripe = WorkloadOptions { volume_layout: Some(VolumeLayout::Stripe), ..mirror() };
        let mut records = reads(&[100.0, 150.0]);
        records.push(runs(Rw::Read, stripe, 1, 190.0));
        assert!(!answer(&records).contains("a stripe at"), "{}", answer(&records));
        records.push(runs(Rw::Read, stripe, 2, 170.0));
        assert!(answer(&records).contains("; a stripe at 1.70 times"), "{}", answer(&records));
    }

    #[test]
    fn copies_are_called_right_only_where_something_was_read_back() {
        let verified = runs(Rw::Randwrite, WorkloadOptions { verify: true, ..mirror() }, 8, 50.0);
        assert!(answer(std::slice::from_ref(&verified)).contains("each block of them is right"));
        let mut nothing = verified.clone();
        nothing.iter_mut().for_each(|record| (record.bytes, record.ios) = (0, 0));
        assert_eq!(answer(&[nothing]), "No copy could be read or written.");
        let mut wrong = verified.clone();
        wrong[0].errors.insert("corrupt".to_string(), 3);
        wrong[1].errors.insert("EIO".to_string(), 40);
        assert!(answer(&[wrong]).contains("3 BLOCKS WERE WRONG"));
        let mut failed = verified;
        failed[0].errors.insert("EIO".to_string(), 40);
        let said = answer(&[failed]);
        assert!(!said.contains("WRONG") && !said.contains("is right"), "{said}");
    }
}
