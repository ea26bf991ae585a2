//! Defines the steps of requests in the block layer, and the events that tell them.

use std::collections::BTreeMap;

use super::format::{Field, Fields, Kind, WantedEvent, named, wanted};

/// Steps in the block layer, in the order in which a request takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It entered the block layer.
    Queued,
    /// It got its own request, with a tag.
    Granted,
    /// It was merged into an existing request.
    Merged,
    /// Its request was merged with a neighbouring request.
    Joined,
    /// It entered the scheduler.
    Inserted,
    /// It was passed to the driver.
    Issued,
    /// The driver returned it because it was full.
    Requeued,
    /// The driver completed it.
    Completed,
}

/// What an event of the block layer tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockEvent {
    /// A request, or a part of one, took a step. Its numbers: device, first sector, sectors.
    Step(Step),
    /// A range was split. Its numbers: device, first sector of the first part, and of the second.
    Split,
}

/// Where the name of the running thread and the letters of the request's kind stand, after the three numbers.
pub(crate) const NAME: usize = 3;
pub(crate) const LETTERS: usize = 4;

impl Kind for BlockEvent {
    fn places(self, fields: &Fields) -> Option<Vec<Field>> {
        let last = match self {
            Self::Step(_) => "nr_sector",
            Self::Split => "new_sector",
        };
        let mut places = named(fields, &["dev", "sector", last])?;
        // Events in interrupts have no name, since the thread there is any.
        places.extend(["comm", "rwbs"].map(|name| fields.get(name).copied().unwrap_or(Field::ABSENT)));
        Some(places)
    }
}

/// All that is read of the block layer.
pub(crate) const BLOCK_EVENTS: [WantedEvent<BlockEvent>; 10] = [
    wanted("block", "block_bio_queue", true, BlockEvent::Step(Step::Queued)),
    wanted("block", "block_split", false, BlockEvent::Split),
    wanted("block", "block_getrq", false, BlockEvent::Step(Step::Granted)),
    wanted("block", "block_bio_backmerge", false, BlockEvent::Step(Step::Merged)),
    wanted("block", "block_bio_frontmerge", false, BlockEvent::Step(Step::Merged)),
    wanted("block", "block_rq_merge", false, BlockEvent::Step(Step::Joined)),
    wanted("block", "block_rq_insert", false, BlockEvent::Step(Step::Inserted)),
    wanted("block", "block_rq_issue", true, BlockEvent::Step(Step::Issued)),
    wanted("block", "block_rq_requeue", false, BlockEvent::Step(Step::Requeued)),
    wanted("block", "block_rq_complete", true, BlockEvent::Step(Step::Completed)),
];

/// The disks, by the numbers with which the kernel names them and their partitions in events.
#[derive(Debug, Clone, Default)]
pub(crate) struct DiskNumbers(BTreeMap<u64, usize>);

impl DiskNumbers {
    /// Takes all numbers of each disk.
    pub(crate) fn new(disks: &[Vec<u64>]) -> Self {
        let numbered = disks.iter().enumerate();
        Self(numbered.flat_map(|(disk, numbers)| numbers.iter().map(move |number| (*number, disk))).collect())
    }

    /// The disk of a number; `None` if it is none of these.
    pub(crate) fn disk(&self, number: u64) -> Option<usize> {
        self.0.get(&number).copied()
    }
}
