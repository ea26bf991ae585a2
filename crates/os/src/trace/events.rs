//! Decodes traced events, as the kernel's `format` files describe them.

use std::ops::Range;

use super::block::{BLOCK_EVENTS, BlockEvent, DiskNumbers, NAME, Step};
use super::format::{Field, Fields, Kind, Layouts, Payload, WantedEvent, named, wanted};
use super::page::PageLayout;
use crate::ring::length_in;

/// One step of a request, or another event during it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time in nanoseconds of the monotonic clock.
    pub at_ns: u64,
    /// The processor on which it happened.
    pub cpu: u32,
    /// The thread that was running there.
    pub thread: u32,
    /// Whether it happened in an interrupt or in work deferred from one.
    pub in_interrupt: bool,
    /// Whether the thread is a kernel worker, which carries out deferred work; known for steps in the block layer up to
    /// issuing.
    pub is_worker: bool,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The kernel took up an entry of a ring.
    Submitted(RingEntry),
    /// The kernel completed an entry of a ring.
    Answered(RingEntry),
    /// A request, or the part of it in a bio, took a step in the block layer.
    Block {
        /// The step.
        step: Step,
        /// The disk, as an index into the tracer's list.
        disk: usize,
        /// Its sectors of 512 bytes, counted on the whole disk.
        sectors: Range<u64>,
    },
    /// The range that began at `from` was split at `at` because the device takes no more at once.
    Split {
        /// The disk, as an index into the tracer's list.
        disk: usize,
        /// First sector of the first part.
        from: u64,
        /// First sector of the second part.
        at: u64,
    },
    /// A device raised an interrupt.
    Interrupt {
        /// The interrupt's number.
        number: u32,
    },
}

/// An entry of a ring, identified by values that stay the same from submission to completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RingEntry {
    /// The kernel's address of the ring.
    pub ring: u64,
    /// The `user_data` that the application gave it.
    pub mark: u64,
}

impl RingEntry {
    /// Bytes that the entry should move, if its ring is a [`crate::Ring`].
    pub fn bytes(self) -> u64 {
        u64::from(length_in(self.mark))
    }
}

/// How a kernel event is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TracedKind {
    Submitted,
    Answered,
    Block(BlockEvent),
    Interrupt,
}

impl Kind for TracedKind {
    fn places(self, fields: &Fields) -> Option<Vec<Field>> {
        match self {
            Self::Submitted | Self::Answered => named(fields, &["ctx", "user_data"]),
            Self::Block(event) => event.places(fields),
            Self::Interrupt => named(fields, &["irq"]),
        }
    }
}

/// What is read beside the block layer.
const OTHER_EVENTS: [WantedEvent<TracedKind>; 3] = [
    wanted("io_uring", "io_uring_submit_req", false, TracedKind::Submitted).before("io_uring_submit_sqe"),
    wanted("io_uring", "io_uring_complete", false, TracedKind::Answered),
    wanted("irq", "irq_handler_entry", false, TracedKind::Interrupt),
];

/// All events that are read.
pub(crate) fn wanted_events() -> impl Iterator<Item = WantedEvent<TracedKind>> {
    BLOCK_EVENTS.into_iter().map(|event| event.made(TracedKind::Block)).chain(OTHER_EVENTS)
}

/// Prefix of the names of kernel workers.
const WORKER: &[u8] = b"kworker/";

/// Decodes payloads into events.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decoder {
    /// The events that it knows.
    pub(crate) layouts: Layouts<TracedKind>,
    disks: DiskNumbers,
}

impl Decoder {
    /// Makes a decoder for these disks, given all numbers by which events may name each.
    pub(crate) fn new(disks: &[Vec<u64>]) -> Self {
        Self { layouts: Layouts::default(), disks: DiskNumbers::new(disks) }
    }

    /// Decodes a payload; `None` if the event is not wanted or belongs to another disk.
    pub(crate) fn decode(&self, at_ns: u64, cpu: u32, payload: &[u8]) -> Option<TraceEvent> {
        let payload = self.layouts.open(payload)?;
        let entry = || Some(RingEntry { ring: payload.number(0)?, mark: payload.number(1)? });
        let mut is_worker = false;
        let what = match payload.kind() {
            TracedKind::Submitted => What::Submitted(entry()?),
            TracedKind::Answered => What::Answered(entry()?),
            TracedKind::Block(event) => {
                is_worker = payload.bytes(NAME)?.starts_with(WORKER);
                self.of_disk(event, payload)?
            }
            TracedKind::Interrupt => What::Interrupt { number: payload.number(0)? as u32 },
        };
        let thread = payload.thread()?;
        Some(TraceEvent { at_ns, cpu, thread, in_interrupt: payload.in_interrupt()?, is_worker, what })
    }

    fn of_disk(&self, event: BlockEvent, payload: Payload<'_, TracedKind>) -> Option<What> {
        let disk = self.disks.disk(payload.number(0)?)?;
        let from = payload.number(1)?;
        let last = payload.number(2)?;
        Some(match event {
            BlockEvent::Step(step) => What::Block { step, disk, sectors: from..from.saturating_add(last) },
            BlockEvent::Split => What::Split { disk, from, at: last },
        })
    }
}

/// The events of one page of a ring buffer, as tracefs returns it. `header_page` is the text of `events/header_page`,
/// `formats` are the `format` files of the events that may occur, and `disk` lists all numbers of the disk that events
/// may name. Anything not understood gives no event.
pub fn events_of_page(header_page: &str, formats: &[&str], disk: &[u64], page: &[u8]) -> Vec<TraceEvent> {
    let mut events = Vec::new();
    let Some(layout) = PageLayout::parse(header_page) else { return events };
    let mut decoder = Decoder::new(&[disk.to_vec()]);
    decoder.layouts.learn_all(wanted_events(), formats);
    layout.read(page, |at_ns, payload| events.extend(decoder.decode(at_ns, 0, payload)));
    events
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As a current kernel writes it.
    pub(crate) const ISSUE: &str = "name: block_rq_issue\nID: 1083\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:char comm[16];\toffset:44;\tsize:16;\tsigned:0;\n\nprint fmt: \"%d\", REC->dev\n";

    const ISSUED: TracedKind = TracedKind::Block(BlockEvent::Step(Step::Issued));

    pub(crate) fn decoder() -> Decoder {
        let mut decoder = Decoder::new(&[vec![(7 << 20) | 3], vec![(254 << 20), (254 << 20) | 1]]);
        assert!(decoder.layouts.learn(ISSUED, ISSUE));
        decoder
    }

    /// A payload of `block_rq_issue`.
    pub(crate) fn issue(dev: u32, sector: u64, sectors: u32) -> Vec<u8> {
        let mut payload = Vec::new();
        payload.extend(1083u16.to_ne_bytes());
        payload.extend([0x10, 0]);
        payload.extend(42u32.to_ne_bytes());
        payload.extend(dev.to_ne_bytes());
        payload.extend([0; 4]);
        payload.extend(sector.to_ne_bytes());
        payload.extend(sectors.to_ne_bytes());
        payload.extend([0; 16]);
        payload.extend(*b"kworker/1:0\0\0\0\0\0");
        payload
    }

    #[test]
    fn a_payload_becomes_an_event_of_its_disk() {
        let decoder = decoder();
        let event = decoder.decode(5, 1, &issue((254 << 20) | 1, 1000, 8)).unwrap();
        let what = What::Block { step: Step::Issued, disk: 1, sectors: 1000..1008 };
        assert_eq!(event, TraceEvent { at_ns: 5, cpu: 1, thread: 42, in_interrupt: true, is_worker: true, what });
    }

    #[test]
    fn what_is_not_wanted_or_not_whole_is_passed_over() {
        let decoder = decoder();
        let good = issue(254 << 20, 1000, 8);
        assert!(decoder.decode(0, 0, &good).is_some());
        assert_eq!(decoder.decode(0, 0, &issue(8 << 20, 1000, 8)), None, "another disk");
        assert_eq!(decoder.decode(0, 0, &good[..20]), None, "cut short");
        assert_eq!(decoder.decode(0, 0, &[9, 9, 0, 0]), None, "an unknown event");
        assert!(!Layouts::default().learn(ISSUED, "ID: 3\n\tfield:int dev;\toffset:x;\tsize:4;\n"));
    }
}
