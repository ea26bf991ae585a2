//! Decodes traced events, as the kernel's `format` files describe them.

use std::collections::BTreeMap;
use std::ops::Range;

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

/// How a kernel event is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Submitted,
    Answered,
    Block(Step),
    Split,
    Interrupt,
}

/// An event to read: folder, name, and whether tracing is impossible without it.
pub(crate) struct WantedEvent {
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) needed: bool,
    kind: Kind,
}

const fn wanted(group: &'static str, name: &'static str, needed: bool, kind: Kind) -> WantedEvent {
    WantedEvent { group, name, needed, kind }
}

/// Kernels before 6.0 have `io_uring_submit_sqe` instead of `io_uring_submit_req`.
pub(crate) const WANTED_EVENTS: [WantedEvent; 14] = [
    wanted("block", "block_bio_queue", true, Kind::Block(Step::Queued)),
    wanted("block", "block_split", false, Kind::Split),
    wanted("block", "block_getrq", false, Kind::Block(Step::Granted)),
    wanted("block", "block_bio_backmerge", false, Kind::Block(Step::Merged)),
    wanted("block", "block_bio_frontmerge", false, Kind::Block(Step::Merged)),
    wanted("block", "block_rq_merge", false, Kind::Block(Step::Joined)),
    wanted("block", "block_rq_insert", false, Kind::Block(Step::Inserted)),
    wanted("block", "block_rq_issue", true, Kind::Block(Step::Issued)),
    wanted("block", "block_rq_requeue", false, Kind::Block(Step::Requeued)),
    wanted("block", "block_rq_complete", true, Kind::Block(Step::Completed)),
    wanted("io_uring", "io_uring_submit_req", false, Kind::Submitted),
    wanted("io_uring", "io_uring_submit_sqe", false, Kind::Submitted),
    wanted("io_uring", "io_uring_complete", false, Kind::Answered),
    wanted("irq", "irq_handler_entry", false, Kind::Interrupt),
];

/// The bits of `common_flags` that mean an interrupt (enum trace_flag_type in include/linux/trace_events.h).
const IN_INTERRUPT: u64 = 0x08 | 0x10;

/// Prefix of the names of kernel workers.
const WORKER: &[u8] = b"kworker/";

/// Position of a field in a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

impl Field {
    /// The field's value, unsigned; `None` if the payload is too short, or the field is not a number.
    pub(crate) fn of(self, payload: &[u8]) -> Option<u64> {
        let bytes = payload.get(self.offset..self.offset.checked_add(self.size)?)?;
        Some(match self.size {
            1 => u64::from(bytes[0]),
            2 => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            4 => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            8 => u64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }
}

/// Parses the fields of a `format` file, or of `header_page`, by name.
pub(crate) fn fields(text: &str) -> BTreeMap<String, Field> {
    text.lines().filter_map(field).collect()
}

/// Parses a line such as `field:char rwbs[10]; offset:28; size:10; signed:0;`.
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let name = declared.split_whitespace().last()?.split('[').next()?.to_string();
    let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
    Some((name, Field { offset: number("offset:")?, size: number("size:")? }))
}

/// The kernel's ID of an event, from its `format` file.
fn id(text: &str) -> Option<u16> {
    text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok())
}

/// How to read the payloads of one event.
#[derive(Debug, Clone)]
struct Layout {
    kind: Kind,
    thread: Field,
    flags: Field,
    name: Option<Field>,
    /// The fields of the kind, in the order in which `decode` takes them.
    fields: [Field; 3],
}

/// Decodes payloads into events.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decoder {
    layouts: BTreeMap<u16, Layout>,
    /// The disks' numbers, including those of their partitions, as the kernel encodes them in events.
    disks: BTreeMap<u64, usize>,
}

impl Decoder {
    /// Makes a decoder for these disks, given all numbers by which events may name each.
    pub(crate) fn new(disks: &[Vec<u64>]) -> Self {
        let numbered = disks.iter().enumerate();
        let disks = numbered.flat_map(|(disk, numbers)| numbers.iter().map(move |number| (*number, disk))).collect();
        Self { layouts: BTreeMap::new(), disks }
    }

    /// Adds an event from its `format` file; false if the file is not as expected.
    pub(crate) fn learn(&mut self, wanted: &WantedEvent, format: &str) -> bool {
        let all = fields(format);
        let named = |names: [&str; 3]| {
            let found: Option<Vec<Field>> = names.iter().map(|name| all.get(*name).copied()).collect();
            <[Field; 3]>::try_from(found?).ok()
        };
        let fields = named(match wanted.kind {
            Kind::Submitted | Kind::Answered => ["ctx", "user_data", "user_data"],
            Kind::Block(_) => ["dev", "sector", "nr_sector"],
            Kind::Split => ["dev", "sector", "new_sector"],
            Kind::Interrupt => ["irq", "irq", "irq"],
        });
        let shared = all.get("common_pid").copied().zip(all.get("common_flags").copied());
        let (Some(id), Some((thread, flags)), Some(fields)) = (id(format), shared, fields) else {
            return false;
        };
        self.layouts.insert(id, Layout { kind: wanted.kind, thread, flags, name: all.get("comm").copied(), fields });
        true
    }

    /// Decodes a payload; `None` if the event is not wanted or belongs to another disk.
    pub(crate) fn decode(&self, at_ns: u64, cpu: u32, payload: &[u8]) -> Option<TraceEvent> {
        let id = u16::from_ne_bytes(payload.get(..2)?.try_into().ok()?);
        let Layout { kind, thread, flags, name, fields } = self.layouts.get(&id)?;
        let value = |place: usize| fields[place].of(payload);
        let first = value(0)?;
        let second = value(1)?;
        let third = value(2)?;
        let disk = || self.disks.get(&first).copied();
        let what = match kind {
            Kind::Submitted => What::Submitted(RingEntry { ring: first, mark: second }),
            Kind::Answered => What::Answered(RingEntry { ring: first, mark: second }),
            Kind::Block(step) => {
                What::Block { step: *step, disk: disk()?, sectors: second..second.saturating_add(third) }
            }
            Kind::Split => What::Split { disk: disk()?, from: second, at: third },
            Kind::Interrupt => What::Interrupt { number: first as u32 },
        };
        let in_interrupt = flags.of(payload)? & IN_INTERRUPT != 0;
        let named = name.and_then(|name| payload.get(name.offset..));
        let is_worker = named.is_some_and(|name| name.starts_with(WORKER));
        Some(TraceEvent { at_ns, cpu, thread: thread.of(payload)? as u32, in_interrupt, is_worker, what })
    }
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

    pub(crate) fn decoder() -> Decoder {
        let mut decoder = Decoder::new(&[vec![(7 << 20) | 3], vec![(254 << 20), (254 << 20) | 1]]);
        assert!(decoder.learn(&WANTED_EVENTS[7], ISSUE));
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
    fn fields_are_found_where_the_kernel_says() {
        let fields = fields(ISSUE);
        assert_eq!(fields["sector"], Field { offset: 16, size: 8 });
        assert_eq!(fields["rwbs"], Field { offset: 34, size: 10 });
        let page = super::fields("\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n");
        assert_eq!(page["commit"], Field { offset: 8, size: 8 });
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
        assert!(!Decoder::new(&[]).learn(&WANTED_EVENTS[7], "ID: 3\n\tfield:int dev;\toffset:x;\tsize:4;\n"));
    }
}
