//! Stores the contents of a simulated disk: the header of each unit, or its bytes if a fault mixed two writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ledger::{LAID_OUT, Ledger};
use crate::unit::{self, BlockHeader, UNIT_BYTES, UnitState};

/// The contents of a simulated disk and the ledger of what they should be; clones share one disk.
#[derive(Clone)]
pub struct SimulatedContents {
    ledger: Arc<Ledger>,
    medium: Arc<Mutex<Medium>>,
}

impl SimulatedContents {
    /// A disk of `bytes` bytes on which each unit was written once, with `epoch`.
    pub fn laid_out(bytes: u64, epoch: u64) -> Self {
        let units = bytes / UNIT_BYTES as u64;
        let medium = Medium { epoch, units, changed: HashMap::new(), wrong: HashMap::new() };
        Self { ledger: Arc::new(Ledger::laid_out(bytes, epoch)), medium: Arc::new(Mutex::new(medium)) }
    }

    /// The ledger of what each unit should hold.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    pub(crate) fn medium(&self) -> MutexGuard<'_, Medium> {
        self.medium.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of the units.
pub(crate) struct Medium {
    epoch: u64,
    units: u64,
    /// Units that no longer hold what the layout wrote.
    changed: HashMap<u64, Content>,
    /// Units that do not hold their last write, with the index of the fault that caused it.
    wrong: HashMap<u64, usize>,
}

/// What a unit holds.
#[derive(Clone)]
enum Content {
    /// The unit of one write.
    Sealed(BlockHeader),
    /// Parts of two writes.
    Bytes(Box<[u8; UNIT_BYTES]>),
}

impl Content {
    fn bytes(&self) -> [u8; UNIT_BYTES] {
        match self {
            Self::Bytes(bytes) => **bytes,
            Self::Sealed(header) => {
                let mut bytes = [0; UNIT_BYTES];
                unit::write(&mut bytes, *header);
                bytes
            }
        }
    }

    fn found(&self, expected: BlockHeader) -> UnitState {
        match self {
            Self::Sealed(header) => UnitState::Whole(*header),
            Self::Bytes(bytes) => unit::verify(&bytes[..], expected),
        }
    }
}

impl Medium {
    fn content(&self, unit: u64) -> Content {
        let laid_out = || Content::Sealed(BlockHeader { number: unit, epoch: self.epoch, generation: LAID_OUT });
        self.changed.get(&unit).cloned().unwrap_or_else(laid_out)
    }

    /// The state that a reader finds in a unit that should carry `expected`.
    pub fn found(&self, unit: u64, expected: BlockHeader) -> UnitState {
        self.content(unit).found(expected)
    }

    /// As `found`, with bit `bit` of the unit flipped on the way.
    pub fn found_flipped(&self, unit: u64, bit: usize, expected: BlockHeader) -> UnitState {
        let mut bytes = self.content(unit).bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        unit::verify(&bytes, expected)
    }

    /// The faults in these units, each once.
    pub fn faults(&self, units: std::ops::Range<u64>) -> Vec<usize> {
        if self.wrong.is_empty() {
            return Vec::new();
        }
        let mut faults: Vec<usize> = units.filter_map(|unit| self.wrong.get(&unit).copied()).collect();
        faults.sort_unstable();
        faults.dedup();
        faults
    }

    /// Stores the first `bytes` of a write; a partly covered unit stays unchanged.
    pub fn write(&mut self, headers: impl Iterator<Item = BlockHeader>, bytes: u32) {
        for header in headers.take(bytes as usize / UNIT_BYTES) {
            self.changed.insert(header.number, Content::Sealed(header));
            self.wrong.remove(&header.number);
        }
    }

    /// Stores the first `bytes` of a write, including part of a unit; fault `number` stopped the rest.
    pub fn tear(&mut self, headers: impl Iterator<Item = BlockHeader>, bytes: u32, number: usize) {
        let whole = bytes as usize / UNIT_BYTES;
        let part = bytes as usize % UNIT_BYTES;
        for (index, header) in headers.enumerate() {
            if index < whole {
                self.write(std::iter::once(header), UNIT_BYTES as u32);
                continue;
            }
            if index == whole && part > 0 {
                let mut torn = self.content(header.number).bytes();
                torn[..part].copy_from_slice(&Content::Sealed(header).bytes()[..part]);
                self.changed.insert(header.number, Content::Bytes(Box::new(torn)));
            }
            self.wrong.insert(header.number, number);
        }
    }

    /// Stores a write at a wrong place, a multiple of its own length that `lot` chooses. If there is no other place,
    /// the write is lost.
    pub fn misdirect(&mut self, headers: impl Iterator<Item = BlockHeader>, lot: u64, number: usize) {
        let headers: Vec<BlockHeader> = headers.collect();
        let own = headers.first().map_or(0, |header| header.number);
        let length = headers.len().max(1) as u64;
        let places = self.units / length;
        let place = lot % places.max(1);
        let place = if place == own / length { (place + 1) % places.max(1) } else { place };
        for (unit, header) in (place * length..).zip(&headers) {
            if place != own / length {
                self.changed.insert(unit, Content::Sealed(*header));
                self.wrong.insert(unit, number);
            }
            self.wrong.insert(header.number, number);
        }
    }
}
