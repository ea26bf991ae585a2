//! Compares a mirror with a stripe of the same two members and with one of them.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Direction, Pattern, VolumeLayout};

use super::answer::{MirrorAnswer, MirrorWrites, RandomReads, SecondCopyGain, SequentialReads, VerifiedCopies};
use super::rows::{MirrorRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::ratio_finding::RatioFinding;

/// Depth at which random reads just keep both copies busy.
const TWO_DEEP: u32 = 2;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, MirrorAnswer) {
    let mut mirror: Vec<MirrorRow> = data.sound().filter(|cell| !cell.workload.options.verify).map(row).collect();
    mirror.sort_by_key(|row| (row.pattern, row.rw, row.volume_layout, row.iodepth));
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
        rw: finding.rw,
        pattern: finding.pattern,
        bs_bytes: finding.bs_bytes,
        iodepth: finding.iodepth,
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
        cells.sort_by_key(|cell| cell.workload.iodepth);
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

/// The result of reading both copies back.
fn verified(data: &ExperimentData) -> Option<VerifiedCopies> {
    let verified: Vec<&ExperimentCell> = data.cells.iter().filter(|cell| cell.workload.options.verify).collect();
    let wrong_blocks: u64 = verified.iter().map(|cell| cell.finding.errors).sum();
    let moved = verified.iter().any(|cell| cell.finding.mbps.value > 0.0);
    (wrong_blocks > 0 || moved).then_some(VerifiedCopies { wrong_blocks })
}
