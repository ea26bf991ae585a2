//! Simulates the file system's cache: the copies and transfers for buffered requests.
//!
//! The application is one thread, so requests are handled in order, one copy at a time. Sequential reads use data that
//! read-ahead has brought, one unit at a time; other reads find their bytes with some probability, or wait for them.
//! Writes complete when copied; one writer behind them sends whole units of a sequential stream, or scattered pages in
//! order of their offsets. At most one transfer of each kind is in flight.

use std::collections::{BTreeMap, VecDeque};

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::system::FileCache as Constants;
use crate::{Allocation, Operation};

const KIB: u64 = 1024;
const PS_PER_US: f64 = 1e6;

/// Why the cache sends a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Read-ahead for the application.
    Ahead,
    /// The current request waits for it.
    Demand,
    /// Written data go to the disk.
    Behind,
    /// The file has grown, and the file system writes its metadata.
    Note,
}

/// A transfer that the cache requests.
#[derive(Debug, Clone, Copy)]
pub struct PageTransfer {
    pub purpose: Purpose,
    pub operation: Operation,
    pub offset: u64,
    pub length: u32,
    /// Whether the disk may read ahead after it.
    pub ahead: bool,
}

/// What a request waits for before it can be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Nothing,
    /// The read-ahead must reach the end of the request.
    Stretch,
    /// These bytes must be read for it.
    Bytes(u64, u64),
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    request: u32,
    operation: Operation,
    offset: u64,
    length: u64,
    need: Need,
    elsewhere: bool,
}

impl Asked {
    fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// The cache of one volume with one file.
#[derive(Debug, Clone)]
pub struct FileCache {
    constants: Constants,
    allocation: Allocation,
    volume: u64,
    generator: Xoshiro256PlusPlus,
    waiting: VecDeque<Asked>,
    copying: Option<Asked>,
    /// End of the sequential requests so far, of the data read for them, and of the data being read.
    read_next: Option<u64>,
    read_to: u64,
    reading_to: u64,
    faulty: bool,
    /// Whether the application reads sequentially.
    sequential: bool,
    /// Whether the transfer that the first request waits for has been sent.
    demand_sent: bool,
    reading: bool,
    /// The page or unit last read for a write, as offset and length.
    frame: Option<(u64, u64)>,
    write_next: Option<u64>,
    stretch: (u64, u64),
    scattered: BTreeMap<u64, u64>,
    scattered_bytes: u64,
    writing: bool,
    hand: u64,
    grown: u64,
    flushing: bool,
}

impl FileCache {
    pub fn new(constants: &Constants, allocation: Allocation, volume: u64, generator: Xoshiro256PlusPlus) -> Self {
        Self {
            constants: constants.clone(),
            allocation,
            volume,
            generator,
            waiting: VecDeque::new(),
            copying: None,
            read_next: None,
            read_to: 0,
            reading_to: 0,
            faulty: false,
            sequential: false,
            demand_sent: false,
            reading: false,
            frame: None,
            write_next: None,
            stretch: (0, 0),
            scattered: BTreeMap::new(),
            scattered_bytes: 0,
            writing: false,
            hand: 0,
            grown: 0,
            flushing: false,
        }
    }

    pub fn ask(&mut self, request: u32, operation: Operation, offset: u64, length: u32) {
        let length = u64::from(length);
        let mut asked = Asked { request, operation, offset, length, need: Need::Nothing, elsewhere: false };
        if operation == Operation::Write {
            self.classify_write(&mut asked);
        } else {
            self.classify_read(&mut asked);
        }
        self.waiting.push_back(asked);
    }

    fn classify_read(&mut self, asked: &mut Asked) {
        self.faulty = self.constants.faulty_above_kib.is_some_and(|above| asked.length > above * KIB);
        if self.read_next == Some(asked.offset) {
            asked.need = Need::Stretch;
            self.sequential = true;
        } else {
            self.sequential = asked.offset == 0;
            asked.elsewhere = self.read_next.is_some();
            // The start of the file is read ahead at once; other places only after a second sequential request.
            if asked.offset == 0 || !self.lucky() {
                asked.need = Need::Bytes(asked.offset, asked.length);
            }
            // A request that waits for the old stream has its bytes already, or reads them separately.
            for waiting in self.waiting.iter_mut().filter(|waiting| waiting.need == Need::Stretch) {
                let at_hand = waiting.end() <= self.read_to;
                waiting.need = if at_hand { Need::Nothing } else { Need::Bytes(waiting.offset, waiting.length) };
            }
            (self.read_to, self.reading_to) = (asked.end(), asked.end());
        }
        self.read_next = Some(asked.end());
    }

    fn classify_write(&mut self, asked: &mut Asked) {
        let page = self.constants.page_kib * KIB;
        let unit = self.constants.unit_kib * KIB;
        let follows = self.write_next.is_none_or(|next| next == asked.offset);
        asked.elsewhere = !follows;
        self.write_next = Some(asked.end());
        if self.allocation != Allocation::Existing {
            return;
        }
        let frame = if follows { (asked.offset / page * page, page) } else { (asked.offset / unit * unit, unit) };
        let whole = follows && asked.offset.is_multiple_of(page) && asked.length >= page;
        if whole || self.frame == Some(frame) {
            return;
        }
        if follows || !self.lucky() {
            asked.need = Need::Bytes(frame.0, frame.1);
            self.frame = Some(frame);
        }
    }

    fn lucky(&mut self) -> bool {
        let draw = (self.generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        draw < self.constants.resident_share
    }

    /// The next copy to make: its request and its processor time in picoseconds.
    pub fn next_copy(&mut self) -> Option<(u32, f64)> {
        if self.copying.is_some() {
            return None;
        }
        let first = self.waiting.front()?;
        let at_hand = match first.need {
            Need::Nothing => true,
            Need::Stretch => self.read_to >= first.end(),
            Need::Bytes(..) => false,
        };
        let is_write = first.operation == Operation::Write;
        if !at_hand || self.waits_for_room(first) {
            return None;
        }
        let first = self.waiting.pop_front()?;
        let constants = &self.constants;
        let per_kib = if is_write { constants.write_copy_us_per_kib } else { constants.read_copy_us_per_kib };
        let map_us = if first.elsewhere { constants.map_us } else { 0.0 };
        let span_us = constants.call_us + map_us + first.length as f64 / KIB as f64 * per_kib;
        self.copying = Some(first);
        Some((first.request, span_us * PS_PER_US))
    }

    /// Whether it is a write that has to wait until written data have been sent.
    fn waits_for_room(&self, asked: &Asked) -> bool {
        let dirty = self.dirty_bytes();
        asked.operation == Operation::Write && dirty > 0 && dirty + asked.length > self.constants.dirty_kib * KIB
    }

    /// The current copy is complete.
    pub fn copied(&mut self) {
        let Some(copied) = self.copying.take() else { return };
        if copied.operation != Operation::Write {
            return;
        }
        if copied.elsewhere {
            self.scatter(copied.offset, copied.length);
        } else if self.stretch.1 == copied.offset || self.stretch.0 == self.stretch.1 {
            let begin = if self.stretch.1 == copied.offset { self.stretch.0 } else { copied.offset };
            self.stretch = (begin, copied.end());
        } else {
            let (from, to) = std::mem::replace(&mut self.stretch, (copied.offset, copied.end()));
            self.scatter(from, to - from);
        }
    }

    /// Notes bytes that are still to be sent. Where others begin at the same place, the longer of them count.
    fn scatter(&mut self, offset: u64, length: u64) {
        let before = self.scattered.get(&offset).copied().unwrap_or(0);
        let length = length.max(before);
        self.scattered.insert(offset, length);
        self.scattered_bytes += length - before;
    }

    pub fn dirty_bytes(&self) -> u64 {
        self.stretch.1 - self.stretch.0 + self.scattered_bytes
    }

    /// Sends all written data until none is left.
    pub fn flush(&mut self) {
        self.flushing = true;
    }

    /// Ends the flush: later writes gather again.
    pub fn end_flush(&mut self) {
        self.flushing = false;
    }

    /// Whether all written data have been sent.
    pub fn is_clean(&self) -> bool {
        self.dirty_bytes() == 0 && !self.writing && self.copying.is_none()
    }

    /// The next transfer to send.
    pub fn next_wanted(&mut self) -> Option<PageTransfer> {
        if let Some(wanted) = self.next_read() {
            self.reading = true;
            return Some(wanted);
        }
        let wanted = self.next_write()?;
        self.writing = true;
        Some(wanted)
    }

    fn next_read(&mut self) -> Option<PageTransfer> {
        if self.reading {
            return None;
        }
        let read = Operation::Read;
        if let Some(first) = self.waiting.front()
            && let Need::Bytes(offset, length) = first.need
            && !self.demand_sent
        {
            self.demand_sent = true;
            let length = length.min(self.volume.saturating_sub(offset)) as u32;
            return Some(PageTransfer {
                purpose: Purpose::Demand,
                operation: read,
                offset,
                length,
                ahead: !self.faulty,
            });
        }
        let needed = self.waiting.iter().rev().find(|asked| asked.need == Need::Stretch).map(Asked::end);
        let next =
            self.read_next.filter(|_| self.sequential && !(self.waiting.is_empty() && self.copying.is_none()))?;
        let ahead = if self.faulty { 0 } else { self.constants.ahead_kib * KIB };
        let to = needed.unwrap_or(0).max(next + ahead).min(self.volume);
        if self.reading_to >= to || needed.is_none() && self.faulty {
            return None;
        }
        let offset = self.reading_to;
        let unit = self.constants.unit_kib * KIB;
        let length = (unit - offset % unit).min(self.volume - offset) as u32;
        self.reading_to = offset + u64::from(length);
        Some(PageTransfer { purpose: Purpose::Ahead, operation: read, offset, length, ahead: !self.faulty })
    }

    fn next_write(&mut self) -> Option<PageTransfer> {
        if self.writing {
            return None;
        }
        let operation = Operation::Write;
        let unit = self.constants.unit_kib * KIB;
        if self.grown >= self.constants.grow_every_kib.unwrap_or(u64::MAX / KIB) * KIB {
            self.grown = 0;
            let offset = self.volume / 2;
            let length = self.constants.page_kib as u32 * KIB as u32;
            return Some(PageTransfer { purpose: Purpose::Note, operation, offset, length, ahead: true });
        }
        let (from, to) = self.stretch;
        let waits = self.waiting.front().is_some_and(|first| self.waits_for_room(first));
        let many = self.constants.dirty_kib * KIB / 2;
        let sends_rest = self.flushing || waits && self.scattered_bytes == 0;
        let sent = if to - from >= unit || sends_rest && to > from {
            self.stretch.0 += unit.min(to - from);
            (from, unit.min(to - from))
        } else if self.scattered_bytes > many || (self.flushing || waits) && self.scattered_bytes > 0 {
            let next = self.scattered.range(self.hand..).next().or_else(|| self.scattered.iter().next());
            let (&offset, &length) = next?;
            let sent = length.min(unit);
            self.scattered.remove(&offset);
            self.scattered_bytes -= length;
            if length > sent {
                self.scatter(offset + sent, length - sent);
            }
            self.hand = offset + sent;
            (offset, sent)
        } else {
            return None;
        };
        if self.allocation != Allocation::Existing {
            self.grown += sent.1;
        }
        Some(PageTransfer { purpose: Purpose::Behind, operation, offset: sent.0, length: sent.1 as u32, ahead: true })
    }

    /// A transfer is complete.
    pub fn finished(&mut self, purpose: Purpose, offset: u64, length: u32) {
        match purpose {
            Purpose::Ahead => {
                self.reading = false;
                // Read-ahead of an abandoned stream is of no use to the current one.
                if offset + u64::from(length) == self.reading_to {
                    self.read_to = self.reading_to;
                }
            }
            Purpose::Demand => {
                self.reading = false;
                self.demand_sent = false;
                if let Some(first) = self.waiting.front_mut() {
                    first.need = Need::Nothing;
                }
            }
            Purpose::Behind | Purpose::Note => self.writing = false,
        }
    }
}
