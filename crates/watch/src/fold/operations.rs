//! Holds the operations in progress.

use halfpower_os::trace::Call;
use halfpower_record::{IssuedBy, OperationKind, Wait};

use super::aims::Aim;
use super::spans::Span;

/// Names an operation in progress; of one that has ended it names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpKey {
    slot: u32,
    generation: u32,
}

/// A part of an operation's time of which it is known what it was spent on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) wait: Wait,
    pub(crate) span: Span,
}

/// What is known of an operation when it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    pub(crate) at_ns: u64,
    pub(crate) thread: u32,
    pub(crate) process: u32,
    pub(crate) kind: OperationKind,
    pub(crate) by: IssuedBy,
    /// The call that it is, if it is one.
    pub(crate) call: Option<Call>,
    /// Index of its file in the fold's list.
    pub(crate) file: Option<u32>,
    pub(crate) place: Option<usize>,
    /// The disks beneath its place, a bit each.
    pub(crate) disks: u64,
    /// The device of its file system; `None` if not known.
    pub(crate) device: Option<u64>,
    pub(crate) direct: Option<bool>,
    /// Bytes that it asks for; `None` if not known.
    pub(crate) asked: Option<u64>,
    /// Where it begins in its file; `None` if not known.
    pub(crate) offset: Option<u64>,
    /// Whether it is a call whose offset no event tells.
    pub(crate) elsewhere: bool,
    pub(crate) sequential: bool,
    /// Whether a write certainly makes its file longer.
    pub(crate) appends: bool,
    /// Where it goes, if operations are kept.
    pub(crate) aim: Option<Aim>,
}

impl Begun {
    /// What is known of an operation that no call names.
    pub(crate) fn unnamed(at_ns: u64, thread: u32, process: u32, kind: OperationKind, by: IssuedBy) -> Self {
        Self {
            at_ns,
            thread,
            process,
            kind,
            by,
            call: None,
            file: None,
            place: None,
            disks: u64::MAX,
            device: None,
            direct: None,
            asked: None,
            offset: None,
            elsewhere: false,
            sequential: false,
            appends: false,
            aim: None,
        }
    }
}

/// An operation in progress.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) begun: Begun,
    /// Its thread ran.
    pub(crate) running_ns: u64,
    /// Its thread was ready, and another ran.
    pub(crate) ready_ns: u64,
    /// Its thread slept, or there is none that waits.
    pub(crate) blocked: Vec<Span>,
    /// Its own requests, and what else is known to be its own wait.
    pub(crate) own: Vec<Stretch>,
    /// Parts that it sent to the block layer, and those of them that are not done.
    pub(crate) parts: u32,
    pub(crate) open: u32,
    /// Bytes of these parts.
    pub(crate) sent: u64,
    /// The disk of the first part, and the first sector of the first one that has data.
    pub(crate) disk: Option<usize>,
    pub(crate) sector: Option<u64>,
    /// Operations of other threads in the same flush of the device.
    pub(crate) flushed_with: u64,
    generation: u32,
    is_live: bool,
}

/// The operations in progress, in slots whose memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    slots: Vec<Op>,
    free: Vec<u32>,
}

impl Slots {
    pub(crate) fn open(&mut self, begun: Begun) -> OpKey {
        let Some(slot) = self.free.pop() else {
            let slot = self.slots.len() as u32;
            self.slots.push(Op {
                begun,
                running_ns: 0,
                ready_ns: 0,
                blocked: Vec::new(),
                own: Vec::new(),
                parts: 0,
                open: 0,
                sent: 0,
                disk: None,
                sector: None,
                flushed_with: 0,
                generation: 0,
                is_live: true,
            });
            return OpKey { slot, generation: 0 };
        };
        let op = &mut self.slots[slot as usize];
        op.begun = begun;
        op.running_ns = 0;
        op.ready_ns = 0;
        op.blocked.clear();
        op.own.clear();
        op.parts = 0;
        op.open = 0;
        op.sent = 0;
        op.disk = None;
        op.sector = None;
        op.flushed_with = 0;
        op.generation = op.generation.wrapping_add(1);
        op.is_live = true;
        OpKey { slot, generation: op.generation }
    }

    pub(crate) fn get(&self, key: OpKey) -> Option<&Op> {
        self.slots.get(key.slot as usize).filter(|op| op.is_live && op.generation == key.generation)
    }

    pub(crate) fn get_mut(&mut self, key: OpKey) -> Option<&mut Op> {
        self.slots.get_mut(key.slot as usize).filter(|op| op.is_live && op.generation == key.generation)
    }

    /// Ends an operation; what is known of it can be read until the next one begins.
    pub(crate) fn close(&mut self, key: OpKey) -> Option<&Op> {
        let op = self.slots.get_mut(key.slot as usize)?;
        if !op.is_live || op.generation != key.generation {
            return None;
        }
        op.is_live = false;
        self.free.push(key.slot);
        Some(&*op)
    }

    /// Ends all.
    pub(crate) fn close_all(&mut self) {
        for (slot, op) in self.slots.iter_mut().enumerate().filter(|(_, op)| op.is_live) {
            op.is_live = false;
            self.free.push(slot as u32);
        }
    }

    /// All in progress.
    pub(crate) fn live(&self) -> impl Iterator<Item = (OpKey, &Op)> {
        let live = self.slots.iter().enumerate().filter(|(_, op)| op.is_live);
        live.map(|(slot, op)| (OpKey { slot: slot as u32, generation: op.generation }, op))
    }

    /// The oldest in progress that is as asked.
    pub(crate) fn oldest(&self, is_as_asked: impl Fn(&Op) -> bool) -> Option<OpKey> {
        let fitting = self.live().filter(|(_, op)| is_as_asked(op));
        fitting.min_by_key(|(_, op)| op.begun.at_ns).map(|(key, _)| key)
    }

    /// When the oldest began.
    pub(crate) fn oldest_ns(&self) -> Option<u64> {
        self.live().map(|(_, op)| op.begun.at_ns).min()
    }
}

impl Op {
    /// Adds a known stretch of its time.
    pub(crate) fn add(&mut self, wait: Wait, from_ns: u64, to_ns: u64) {
        if to_ns > from_ns {
            self.own.push(Stretch { wait, span: Span::new(from_ns, to_ns) });
        }
    }

    /// Whether requests of this direction may be its own.
    pub(crate) fn may_send(&self, writes: bool) -> bool {
        match self.begun.kind {
            OperationKind::Read | OperationKind::FaultRead => !writes,
            _ => writes,
        }
    }
}
