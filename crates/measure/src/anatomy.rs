//! Computes from the events of a trace the mean time that requests spent in each phase.
//!
//! A request of a ring begins when the kernel takes it off the ring and ends with its completion. What its thread
//! queues in the block layer in between are its parts. They are followed by disk and sector, through splits and merges.
//! The part that is done last gives the request its times. Requests without a ring are followed from the block layer's
//! queue on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use halfpower_os::trace::{RingEntry, Step, Trace, TraceEvent, What};
use halfpower_record::{Anatomy, Phase, PhaseTime};

/// Size of a sector in the block layer, whatever the device's own sector size is.
const SECTOR_BYTES: u64 = 512;

/// The anatomy of the requests that these threads submitted.
pub(crate) fn anatomy(trace: &Trace, own: &BTreeSet<u32>) -> Anatomy {
    let events = trace.events.iter().filter(|event| event.at_ns >= trace.whole_from_ns);
    let by_ring = events.clone().any(|event| matches!(event.what, What::Submitted(_)) && own.contains(&event.thread));
    let lines = interrupt_lines(events.clone());
    let mut followed = Followed { by_ring, ..Followed::new(own, lines) };
    for event in events {
        followed.follow(event);
    }
    followed.finish(trace)
}

/// For each processor, the interrupt line that most often precedes the completions reported there.
fn interrupt_lines<'a>(events: impl Iterator<Item = &'a TraceEvent>) -> HashMap<u32, u32> {
    let mut last: HashMap<u32, u32> = HashMap::new();
    let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for event in events {
        match &event.what {
            What::Interrupt { number } => {
                last.insert(event.cpu, *number);
            }
            What::Block { step: Step::Completed, .. } if event.in_interrupt => {
                if let Some(line) = last.get(&event.cpu) {
                    *counts.entry((event.cpu, *line)).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    let mut lines: HashMap<u32, (u32, u64)> = HashMap::new();
    for ((cpu, line), count) in counts {
        let best = lines.entry(cpu).or_insert((line, count));
        if count > best.1 {
            *best = (line, count);
        }
    }
    lines.into_iter().map(|(cpu, (line, _))| (cpu, line)).collect()
}

/// The times of one part of a request.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    queued_ns: u64,
    granted_ns: Option<u64>,
    inserted_ns: Option<u64>,
    issued_ns: Option<u64>,
    interrupt_ns: Option<u64>,
    completed_ns: u64,
}

/// The request that a part belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PartOwner {
    /// An entry of a ring.
    Ring(RingEntry),
    /// A request without a ring, by a serial number.
    Plain(u64),
}

/// A part in flight.
#[derive(Debug, Clone, Copy)]
struct RequestPart {
    owner: PartOwner,
    end: u64,
    times: Times,
}

/// A request in flight.
#[derive(Debug, Clone, Default)]
struct AskedRequest {
    submitted_ns: Option<u64>,
    bytes: u64,
    parts: u64,
    open: u64,
    last: Option<Times>,
    /// Its parts are a kernel worker's, which may have been another's.
    guessed: bool,
}

/// Key of a part: its disk, its first sector, and a serial number, since several requests may name the same sector.
type PartKey = (usize, u64, u64);

/// Everything in flight, and the counts so far.
struct Followed<'a> {
    own: &'a BTreeSet<u32>,
    by_ring: bool,
    /// The last entry that each thread submitted.
    current: HashMap<u32, RingEntry>,
    asked: BTreeMap<PartOwner, AskedRequest>,
    parts: BTreeMap<PartKey, RequestPart>,
    serial: u64,
    /// The disks' interrupt line on each processor, and the time of its last interrupt.
    lines: HashMap<u32, u32>,
    called_ns: HashMap<u32, u64>,
    /// Sum of nanoseconds and number of requests, by phase.
    sums: [(u64, u64); Phase::ALL.len()],
    counted: Anatomy,
}

impl<'a> Followed<'a> {
    fn new(own: &'a BTreeSet<u32>, lines: HashMap<u32, u32>) -> Self {
        Self {
            own,
            by_ring: false,
            current: HashMap::new(),
            asked: BTreeMap::new(),
            parts: BTreeMap::new(),
            serial: 0,
            lines,
            called_ns: HashMap::new(),
            sums: Default::default(),
            counted: Anatomy::default(),
        }
    }

    fn follow(&mut self, event: &TraceEvent) {
        match &event.what {
            What::Submitted(entry) if self.own.contains(&event.thread) => self.submit(event, *entry),
            What::Submitted(_) => {}
            What::Answered(entry) => self.answer(event.at_ns, *entry),
            What::Interrupt { number } => {
                if self.lines.get(&event.cpu) == Some(number) {
                    self.called_ns.insert(event.cpu, event.at_ns);
                }
            }
            What::Split { disk, from, at } => self.split(*disk, *from, *at),
            What::Block { step: Step::Queued, disk, sectors } => self.queue(event, *disk, sectors),
            What::Block { step, disk, sectors } => self.step(event, *step, *disk, sectors),
        }
    }

    fn submit(&mut self, event: &TraceEvent, entry: RingEntry) {
        let asked = AskedRequest { submitted_ns: Some(event.at_ns), bytes: entry.bytes(), ..AskedRequest::default() };
        let owner = PartOwner::Ring(entry);
        self.current.insert(event.thread, entry);
        if self.asked.insert(owner, asked).is_some_and(|before| before.open > 0) {
            self.forget_parts(owner);
        }
    }

    /// Drops the parts of a slot's last request, so that they do not count for the next request in the slot.
    fn forget_parts(&mut self, owner: PartOwner) {
        self.parts.retain(|_, part| part.owner != owner);
    }

    /// Records a part that enters the block layer. It belongs to the last request of its thread. If a kernel worker
    /// submits it later, it belongs to the oldest request of that length that has no part yet; if the thread then queues
    /// that request itself, the worker's part was another's.
    fn queue(&mut self, event: &TraceEvent, disk: usize, sectors: &Range<u64>) {
        if sectors.is_empty() {
            return;
        }
        let current = self.current.get(&event.thread).map(|entry| PartOwner::Ring(*entry));
        let current = current.filter(|owner| self.asked.contains_key(owner));
        let guessed = current.is_none() && self.by_ring;
        let owner = match current {
            Some(owner) => {
                self.forget_guess(owner);
                owner
            }
            None if !event.is_worker && !self.own.contains(&event.thread) => return,
            None if self.by_ring => match self.held_back((sectors.end - sectors.start) * SECTOR_BYTES) {
                Some(owner) => owner,
                None => return,
            },
            None if event.is_worker => return,
            None => {
                self.serial += 1;
                PartOwner::Plain(self.serial)
            }
        };
        let asked = self.asked.entry(owner).or_default();
        asked.guessed = guessed;
        asked.parts += 1;
        asked.open += 1;
        let times = Times { queued_ns: event.at_ns, ..Times::default() };
        self.add(disk, sectors.start, RequestPart { owner, end: sectors.end, times });
    }

    /// Drops the parts that a worker seemed to queue for this request.
    fn forget_guess(&mut self, owner: PartOwner) {
        let Some(asked) = self.asked.get_mut(&owner).filter(|asked| asked.guessed) else { return };
        (asked.parts, asked.open, asked.last) = (0, 0, None);
        self.forget_parts(owner);
    }

    fn held_back(&self, bytes: u64) -> Option<PartOwner> {
        let waiting = self.asked.iter().filter(|(_, asked)| asked.parts == 0 && asked.bytes == bytes);
        waiting.min_by_key(|(_, asked)| asked.submitted_ns).map(|(owner, _)| *owner)
    }

    fn add(&mut self, disk: usize, start: u64, part: RequestPart) {
        self.serial += 1;
        self.parts.insert((disk, start, self.serial), part);
    }

    fn split(&mut self, disk: usize, from: u64, at: u64) {
        let mut there = self.parts.range_mut((disk, from, 0)..=(disk, from, u64::MAX));
        let cut = there.find(|(_, part)| part.times.granted_ns.is_none() && (from + 1..part.end).contains(&at));
        let Some((_, part)) = cut else { return };
        let rest = *part;
        part.end = at;
        self.add(disk, at, rest);
        let asked = self.asked.entry(rest.owner).or_default();
        asked.parts += 1;
        asked.open += 1;
        self.counted.splits += 1;
    }

    /// Records a step of every part in `sectors` that can take it now; at the same place, only of the older part.
    fn step(&mut self, event: &TraceEvent, step: Step, disk: usize, sectors: &Range<u64>) {
        let mut moved: Vec<PartKey> = Vec::new();
        let there = self.parts.range((disk, sectors.start, 0)..(disk, sectors.end, 0));
        for (place, part) in there {
            if may(step, &part.times) && moved.last().is_none_or(|last| last.1 != place.1) {
                moved.push(*place);
            }
        }
        match step {
            Step::Issued => self.counted.block_requests += u64::from(!moved.is_empty()),
            Step::Requeued => self.counted.requeues += u64::from(!moved.is_empty()),
            Step::Merged | Step::Joined => self.counted.merges += u64::from(!moved.is_empty()),
            _ => {}
        }
        for place in moved {
            match step {
                Step::Completed => self.complete(event, place, sectors.end),
                Step::Merged => self.merge(event.at_ns, place),
                _ => {
                    let Some(RequestPart { times, .. }) = self.parts.get_mut(&place) else { continue };
                    match step {
                        Step::Granted => times.granted_ns = Some(event.at_ns),
                        // Block requests are joined when the scheduler has inserted one of them.
                        Step::Inserted | Step::Joined => times.inserted_ns = times.inserted_ns.or(Some(event.at_ns)),
                        Step::Requeued => times.issued_ns = None,
                        _ => times.issued_ns = Some(event.at_ns),
                    }
                }
            }
        }
    }

    /// Records that a part was merged into a neighbour; if the scheduler has that one already, it has the part too.
    fn merge(&mut self, at_ns: u64, place: PartKey) {
        let Some(end) = self.parts.get(&place).map(|part| part.end) else { return };
        let (disk, start, _) = place;
        let before = self.parts.range((disk, 0, 0)..(disk, start, 0)).rev().find(|(_, part)| part.end == start);
        let after = self.parts.range((disk, end, 0)..=(disk, end, u64::MAX)).next();
        let neighbours = [before, after];
        let inserted = neighbours.into_iter().flatten().any(|(_, part)| {
            part.times.granted_ns.is_some() && part.times.inserted_ns.is_some() && part.times.issued_ns.is_none()
        });
        let Some(part) = self.parts.get_mut(&place) else { return };
        part.times.granted_ns = Some(at_ns);
        part.times.inserted_ns = inserted.then_some(at_ns);
    }

    /// Records that the sectors of a part up to `end` are done; the rest stays in flight under its own first sector.
    fn complete(&mut self, event: &TraceEvent, place: PartKey, end: u64) {
        let Some(mut part) = self.parts.remove(&place) else { return };
        if end < part.end {
            self.parts.insert((place.0, end, place.2), part);
            return;
        }
        let called = self.called_ns.get(&event.cpu).copied().filter(|_| event.in_interrupt);
        part.times.interrupt_ns = called.filter(|at_ns| part.times.issued_ns.is_some_and(|issued| *at_ns >= issued));
        part.times.completed_ns = event.at_ns;
        let Some(asked) = self.asked.get_mut(&part.owner) else { return };
        asked.open -= 1;
        asked.last = Some(part.times);
        if asked.open == 0 && matches!(part.owner, PartOwner::Plain(_)) {
            self.asked.remove(&part.owner);
            self.count(None, &part.times, None);
        }
    }

    fn answer(&mut self, at_ns: u64, entry: RingEntry) {
        let Some(asked) = self.asked.remove(&PartOwner::Ring(entry)) else { return };
        match asked.last.filter(|_| asked.open == 0) {
            Some(last) => self.count(asked.submitted_ns, &last, Some(at_ns)),
            None => {
                self.counted.unseen += 1;
                self.forget_parts(PartOwner::Ring(entry));
            }
        }
    }

    /// Adds the phases of a finished request to the sums.
    fn count(&mut self, submitted_ns: Option<u64>, times: &Times, answered_ns: Option<u64>) {
        let Some(issued_ns) = times.issued_ns else {
            self.counted.unseen += 1;
            return;
        };
        self.counted.requests += 1;
        let granted_ns = times.granted_ns.unwrap_or(times.queued_ns);
        let stretches = [
            (Phase::Submit, submitted_ns, Some(times.queued_ns)),
            (Phase::Queue, Some(times.queued_ns), times.granted_ns),
            (Phase::Plug, Some(granted_ns), times.inserted_ns.or(Some(issued_ns))),
            (Phase::Scheduler, times.inserted_ns, Some(issued_ns)),
            (Phase::Device, Some(issued_ns), times.interrupt_ns.or(Some(times.completed_ns))),
            (Phase::Interrupt, times.interrupt_ns, Some(times.completed_ns)),
            (Phase::Completion, Some(times.completed_ns), answered_ns),
        ];
        for (phase, from_ns, to_ns) in stretches {
            let Some((from_ns, to_ns)) = from_ns.zip(to_ns) else { continue };
            let (sum_ns, requests) = &mut self.sums[phase as usize];
            *sum_ns += to_ns.saturating_sub(from_ns);
            *requests += 1;
        }
    }

    fn finish(self, trace: &Trace) -> Anatomy {
        let all = self.counted.requests.max(1) as f64;
        let timed = Phase::ALL.into_iter().zip(self.sums).filter(|(_, (_, requests))| *requests > 0);
        let phases =
            timed.map(|(phase, (sum_ns, requests))| PhaseTime { phase, mean_ns: sum_ns as f64 / all, requests });
        Anatomy {
            phases: phases.collect(),
            unseen: self.counted.unseen + self.asked.len() as u64,
            lost_events: trace.lost,
            overwritten_events: trace.overwritten,
            ..self.counted
        }
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

#[cfg(test)]
mod tests;
