//! Splits the time of an operation by what it was spent on; the parts add up to the whole.

use halfpower_record::{OperationKind, Wait};

use super::journal::Journals;
use super::operations::{Op, Stretch};
use super::spans::{Layers, Span};
use super::writeback::Writeback;

/// All kinds of waits, in the order in which they are listed.
pub(crate) const WAITS: [Wait; 9] = [
    Wait::Processor,
    Wait::RunQueue,
    Wait::Throttle,
    Wait::Journal,
    Wait::Writeback,
    Wait::BlockQueue,
    Wait::Device,
    Wait::Flush,
    Wait::Other,
];

/// Nanoseconds of each kind, in the order of [`WAITS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Split([u64; WAITS.len()]);

impl Split {
    pub(crate) fn add(&mut self, wait: Wait, ns: u64) {
        self.0[wait as usize] += ns;
    }

    pub(crate) fn of(&self, wait: Wait) -> u64 {
        self.0[wait as usize]
    }

    /// Of all kinds together.
    pub(crate) fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Lets all together be this long, each in proportion.
    pub(crate) fn stretch_to(&mut self, all_ns: u64) {
        let before = u128::from(self.all());
        if before == 0 {
            return;
        }
        for ns in &mut self.0 {
            *ns = (u128::from(*ns) * u128::from(all_ns) / before) as u64;
        }
        // What rounding lost.
        let lost_ns = all_ns - self.all();
        if let Some(longest) = self.0.iter_mut().max() {
            *longest += lost_ns;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (sum, ns) in self.0.iter_mut().zip(other.0) {
            *sum += ns;
        }
    }

    /// Those that are not zero.
    pub(crate) fn listed(&self) -> Vec<(Wait, u64)> {
        WAITS.into_iter().zip(self.0).filter(|(_, ns)| *ns > 0).collect()
    }
}

/// What an operation's own stretches are laid over its waiting in; the first that covers a moment has it.
const OWN: [Wait; 5] = [Wait::Device, Wait::Flush, Wait::BlockQueue, Wait::Throttle, Wait::Processor];

/// Splits the time of operations.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    layers: Layers,
}

impl Splitter {
    /// Splits the time of an operation that has ended.
    pub(crate) fn split(&mut self, op: &Op, journals: &Journals, writeback: &Writeback) -> Split {
        let mut split = Split::default();
        split.add(Wait::Processor, op.running_ns);
        split.add(Wait::RunQueue, op.ready_ns);
        let (Some(first), Some(last)) = (op.blocked.first(), op.blocked.last()) else { return split };
        let whole = Span::new(first.from_ns, last.to_ns);
        self.layers.begin(&op.blocked);
        if !op.own.is_empty() {
            for wait in OWN {
                self.lay(&mut split, wait, &op.own);
            }
        }
        if !matches!(op.begun.kind, OperationKind::Read | OperationKind::FaultRead) {
            for commit in op.begun.device.into_iter().flat_map(|device| journals.during(device, whole)) {
                self.lay(&mut split, Wait::Device, &commit.own);
                self.lay(&mut split, Wait::Flush, &commit.own);
                let journal_ns = self.layers.take(std::iter::once(commit.span()));
                split.add(Wait::Journal, journal_ns);
            }
            let written_ns = self.layers.take(writeback.during(op.begun.disks, whole));
            split.add(Wait::Writeback, written_ns);
        }
        split.add(Wait::Other, self.layers.left_ns());
        split
    }

    fn lay(&mut self, split: &mut Split, wait: Wait, stretches: &[Stretch]) {
        let fitting = stretches.iter().filter(|stretch| stretch.wait == wait).map(|stretch| stretch.span);
        let taken_ns = self.layers.take(fitting);
        split.add(wait, taken_ns);
    }
}
