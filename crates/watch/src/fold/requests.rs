//! Follows requests through the block layer, by disk and sector, through splits and merges.
//!
//! What somebody queues is a part. Parts may share a request of the device, and a part may be split over several. An empty
//! request that flushes has no sectors: all that wait for a flush when the device gets one wait for that one.

use std::collections::BTreeMap;
use std::ops::Range;

use halfpower_os::trace::{Rwbs, Step};
use halfpower_record::Cause;

use super::operations::OpKey;

/// Size of a sector in the block layer, whatever the device's own sector size is.
pub(crate) const SECTOR_BYTES: u64 = 512;
/// A durable write (FUA) to a device that has none is followed by a flush of its own, at once.
const FOLLOWS_NS: u64 = 200_000;

/// Whose part it is, and why it is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    /// The operation that waits for it, as far as one is known.
    pub(crate) owner: Option<OpKey>,
    /// The thread that queued it.
    pub(crate) thread: u32,
    /// The journal that it belongs to, if its thread commits one.
    pub(crate) journal: Option<usize>,
    pub(crate) cause: Cause,
    /// Whether it is the subject's; `None` if the kernel acts for all.
    pub(crate) own: Option<bool>,
    /// Index of the other process that it belongs to.
    pub(crate) user: Option<u32>,
    pub(crate) writes: bool,
    /// Whether it moves its sectors' data: a discard does not.
    pub(crate) moves: bool,
    pub(crate) fua: bool,
}

/// The times of a part.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    queued_ns: u64,
    granted_ns: Option<u64>,
    inserted_ns: Option<u64>,
    issued_ns: Option<u64>,
}

/// A part in flight.
#[derive(Debug, Clone, Copy)]
struct Part {
    end: u64,
    origin: Origin,
    times: Times,
    /// Whether it is the first of its request.
    is_head: bool,
    sequential: bool,
}

/// Somebody who waits for a flush.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    origin: Origin,
    queued_ns: u64,
    issued_ns: Option<u64>,
    /// Whether it follows a durable write, if the device gets it at all.
    follows: bool,
}

/// What is kept of each disk.
#[derive(Debug)]
struct Disk {
    /// Where the last request ended.
    end: u64,
    waiting: Vec<Waiting>,
    /// Whether the kernel's own flush requests are seen to complete, beside those of whoever asked for one.
    sees_flushes: bool,
}

impl Default for Disk {
    fn default() -> Self {
        Self { end: u64::MAX, waiting: Vec::new(), sees_flushes: false }
    }
}

/// A part, or a flush, that is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) origin: Origin,
    pub(crate) disk: usize,
    pub(crate) bytes: u64,
    pub(crate) queued_ns: u64,
    pub(crate) issued_ns: u64,
    pub(crate) at_ns: u64,
    /// Whether it is the first of its request, which then counts by it.
    pub(crate) is_head: bool,
    pub(crate) sequential: bool,
    /// Whether nothing of it is left in flight.
    pub(crate) is_whole: bool,
    pub(crate) is_flush: bool,
    /// Other operations in the same flush.
    pub(crate) flushed_with: u64,
}

/// Key of a part: its disk, its first sector, and a serial number, since several parts may name the same sector.
type PartKey = (usize, u64, u64);

/// Everything in flight.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    parts: BTreeMap<PartKey, Part>,
    disks: Vec<Disk>,
    serial: u64,
    moved: Vec<PartKey>,
    /// What was done by the last step.
    pub(crate) done: Vec<Done>,
}

impl Requests {
    fn disk(&mut self, disk: usize) -> &mut Disk {
        if self.disks.len() <= disk {
            self.disks.resize_with(disk + 1, Disk::default);
        }
        &mut self.disks[disk]
    }

    /// A part with these sectors enters the block layer.
    pub(crate) fn queue(&mut self, at_ns: u64, disk: usize, sectors: &Range<u64>, origin: Origin) {
        let times = Times { queued_ns: at_ns, ..Times::default() };
        let part = Part { end: sectors.end, origin, times, is_head: false, sequential: false };
        self.add(disk, sectors.start, part);
    }

    /// Somebody waits for a flush of the disk.
    pub(crate) fn queue_flush(&mut self, at_ns: u64, disk: usize, origin: Origin) {
        let origin = Origin { cause: Cause::Flush, own: None, writes: true, ..origin };
        self.disk(disk).waiting.push(Waiting { origin, queued_ns: at_ns, issued_ns: None, follows: false });
    }

    fn add(&mut self, disk: usize, start: u64, part: Part) {
        self.serial += 1;
        self.parts.insert((disk, start, self.serial), part);
    }

    /// The part that begins at `from` is split at `at`; whose it is, if there is one.
    pub(crate) fn split(&mut self, disk: usize, from: u64, at: u64) -> Option<Origin> {
        let mut there = self.parts.range_mut((disk, from, 0)..=(disk, from, u64::MAX));
        let (_, part) = there.find(|(_, part)| part.times.granted_ns.is_none() && from < at && at < part.end)?;
        let rest = *part;
        part.end = at;
        self.add(disk, at, rest);
        Some(rest.origin)
    }

    /// A request that was not seen to be queued reaches the device.
    pub(crate) fn appear(&mut self, at_ns: u64, disk: usize, sectors: &Range<u64>, origin: Origin) {
        let times =
            Times { queued_ns: at_ns, granted_ns: Some(at_ns), inserted_ns: Some(at_ns), issued_ns: Some(at_ns) };
        self.add(disk, sectors.start, Part { end: sectors.end, origin, times, is_head: true, sequential: false });
    }

    /// A step of every part in `sectors` that can take it now; at the same place, only of the older part. What is done is
    /// then in `done`. False if nothing is known there.
    pub(crate) fn step(&mut self, at_ns: u64, step: Step, disk: usize, sectors: &Range<u64>, rwbs: Rwbs) -> bool {
        self.done.clear();
        if sectors.is_empty() {
            match step {
                Step::Issued if rwbs.flush => self.flush_issued(at_ns, disk),
                Step::Completed if rwbs.flush => self.flush_done(at_ns, disk, sectors.start, rwbs),
                _ => {}
            }
            return true;
        }
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        for (place, part) in self.parts.range((disk, sectors.start, 0)..(disk, sectors.end, 0)) {
            if may(step, &part.times) && moved.last().is_none_or(|last| last.1 != place.1) {
                moved.push(*place);
            }
        }
        let sequential = matches!(step, Step::Issued) && {
            let known = self.disk(disk);
            let follows = known.end == sectors.start;
            known.end = sectors.end;
            follows
        };
        for (index, place) in moved.iter().enumerate() {
            match step {
                Step::Completed => self.complete(at_ns, *place, sectors.end),
                Step::Merged => self.merge(at_ns, *place),
                _ => {
                    let Some(part) = self.parts.get_mut(place) else { continue };
                    let times = &mut part.times;
                    match step {
                        Step::Granted => times.granted_ns = Some(at_ns),
                        // Block requests are joined when the scheduler has inserted one of them.
                        Step::Inserted | Step::Joined => times.inserted_ns = times.inserted_ns.or(Some(at_ns)),
                        Step::Requeued => times.issued_ns = None,
                        _ => {
                            times.issued_ns = Some(at_ns);
                            part.is_head = index == 0;
                            part.sequential = sequential;
                        }
                    }
                }
            }
        }
        let is_known = !moved.is_empty();
        self.moved = moved;
        is_known
    }

    /// A part was merged into a neighbour; if the scheduler has that one already, it has the part too.
    fn merge(&mut self, at_ns: u64, place: PartKey) {
        let Some(end) = self.parts.get(&place).map(|part| part.end) else { return };
        let (disk, start, _) = place;
        let before = self.parts.range((disk, 0, 0)..(disk, start, 0)).next_back().filter(|(_, part)| part.end == start);
        let after = self.parts.range((disk, end, 0)..=(disk, end, u64::MAX)).next();
        let inserted = [before, after].into_iter().flatten().any(|(_, part)| {
            part.times.granted_ns.is_some() && part.times.inserted_ns.is_some() && part.times.issued_ns.is_none()
        });
        let Some(part) = self.parts.get_mut(&place) else { return };
        part.times.granted_ns = Some(at_ns);
        part.times.inserted_ns = inserted.then_some(at_ns);
    }

    /// The sectors of a part up to `end` are done; the rest stays in flight under its own first sector.
    fn complete(&mut self, at_ns: u64, place: PartKey, end: u64) {
        let Some(part) = self.parts.remove(&place) else { return };
        let (disk, start, serial) = place;
        if end < part.end {
            self.parts.insert((disk, end, serial), Part { is_head: false, ..part });
        }
        let origin = part.origin;
        // What is left of it is done for its owner with its end.
        let is_whole = end >= part.end;
        let done = Done {
            origin: if is_whole { origin } else { Origin { owner: None, user: None, journal: None, ..origin } },
            disk,
            bytes: if origin.moves { (end.min(part.end) - start) * SECTOR_BYTES } else { 0 },
            queued_ns: part.times.queued_ns,
            issued_ns: part.times.issued_ns.unwrap_or(at_ns),
            at_ns,
            is_head: part.is_head,
            sequential: part.sequential,
            is_whole,
            is_flush: false,
            flushed_with: 0,
        };
        self.done.push(done);
        if origin.fua && is_whole {
            let origin = Origin { cause: Cause::Flush, own: None, user: None, ..origin };
            self.disk(disk).waiting.push(Waiting { origin, queued_ns: at_ns, issued_ns: None, follows: true });
        }
    }

    fn flush_issued(&mut self, at_ns: u64, disk: usize) {
        let waiting = &mut self.disk(disk).waiting;
        waiting
            .retain(|one| !one.follows || one.issued_ns.is_some() || at_ns.saturating_sub(one.queued_ns) <= FOLLOWS_NS);
        for one in waiting.iter_mut().filter(|one| one.issued_ns.is_none()) {
            one.issued_ns = Some(at_ns);
        }
    }

    /// A flush is done. The kernel's own request has no place (-1), and flushes instead of writing.
    fn flush_done(&mut self, at_ns: u64, disk: usize, place: u64, rwbs: Rwbs) {
        let is_the_kernels = !rwbs.writes || place == u64::MAX;
        let known = self.disk(disk);
        known.sees_flushes |= is_the_kernels;
        if known.sees_flushes && !is_the_kernels {
            return;
        }
        let served = || known.waiting.iter().filter(|one| one.issued_ns.is_some());
        let operations = served().filter(|one| one.origin.owner.is_some()).count() as u64;
        let oldest_ns = served().map(|one| one.queued_ns).min();
        let mut is_head = true;
        let mut done = Vec::new();
        known.waiting.retain(|one| {
            let Some(issued_ns) = one.issued_ns else { return true };
            done.push(Done {
                origin: one.origin,
                disk,
                bytes: 0,
                queued_ns: if is_head { oldest_ns.unwrap_or(one.queued_ns) } else { one.queued_ns },
                issued_ns,
                at_ns,
                is_head,
                sequential: false,
                is_whole: true,
                is_flush: true,
                flushed_with: operations.saturating_sub(1),
            });
            is_head = false;
            false
        });
        self.done = done;
    }

    /// Forgets what is in flight.
    pub(crate) fn cut(&mut self) {
        self.parts.clear();
        self.disks.clear();
    }
}

/// Whether a part with these times can take this step now.
fn may(step: Step, times: &Times) -> bool {
    match step {
        Step::Queued => false,
        Step::Granted | Step::Merged => times.granted_ns.is_none(),
        Step::Inserted => times.inserted_ns.is_none() && times.issued_ns.is_none(),
        Step::Issued | Step::Joined => times.issued_ns.is_none(),
        Step::Requeued | Step::Completed => times.issued_ns.is_some(),
    }
}
