//! Records how often each unit of a target was written, and judges the result of a read from that.
//!
//! All lanes of a run share the ledger, and it is kept from run to run. For each unit it holds the *generation* that is
//! certainly on the target, the latest generation begun, and the number of writes in flight. Overlapping writes may
//! land in any order. After them a read may find any generation begun since the last certain one, or a mixture, until a
//! write that overlaps no other succeeds.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::unit::{BlockHeader, UNIT_BYTES, UnitState};

/// The state of every unit of a target.
#[derive(Debug)]
pub struct Ledger {
    units: Vec<AtomicU64>,
    /// Epoch that each written unit carries.
    epoch: u64,
}

/// The state of a unit: all fields in one word, so that it changes atomically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State(u64);

/// The state of a unit when a read began; one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObservedState(pub u64);

impl ObservedState {
    /// The oldest generation that the read may find.
    pub fn oldest(self) -> u32 {
        State(self.0).settled()
    }
}

/// The verdict on a unit that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Nothing is known of the unit, or it was being written.
    Unknown,
    /// A generation that the read may find.
    Fresh,
    /// An older generation or nothing: a write was lost.
    Stale,
    /// Parts of two writes.
    Torn,
    /// The bytes of another unit.
    Misdirected,
    /// Not a valid unit.
    Damaged,
}

/// Generations are counted modulo this.
const GENERATIONS: u32 = 1 << 24;
/// The generation of a unit that was written once.
pub(crate) const LAID_OUT: u32 = 1;
/// Most writes in flight to one unit.
pub const MOST_UNDER_WAY: u32 = (1 << 13) - 1;
/// At least one write has succeeded.
const KNOWN: u64 = 1 << 61;
/// Writes in flight have overlapped.
const OVERLAPPED: u64 = 1 << 62;
/// Written since it was last read back.
const UNREAD: u64 = 1 << 63;

impl State {
    fn settled(self) -> u32 {
        self.0 as u32 & (GENERATIONS - 1)
    }

    fn begun(self) -> u32 {
        (self.0 >> 24) as u32 & (GENERATIONS - 1)
    }

    fn under_way(self) -> u32 {
        (self.0 >> 48) as u32 & MOST_UNDER_WAY
    }

    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    fn with(self, settled: u32, begun: u32, under_way: u32) -> Self {
        let flags = self.0 & (KNOWN | OVERLAPPED | UNREAD);
        Self(flags | u64::from(settled) | u64::from(begun) << 24 | u64::from(under_way) << 48)
    }

    fn flagged(self, flag: u64, set: bool) -> Self {
        Self(if set { self.0 | flag } else { self.0 & !flag })
    }

    fn write_begun(self) -> Self {
        let overlaps = self.has(OVERLAPPED) || self.under_way() > 0;
        self.with(self.settled(), (self.begun() + 1) % GENERATIONS, self.under_way() + 1)
            .flagged(OVERLAPPED, overlaps)
            .flagged(UNREAD, true)
    }

    fn write_ended(self, generation: u32, succeeded: bool) -> Self {
        let under_way = self.under_way() - 1;
        let alone = !self.has(OVERLAPPED) && self.begun() == generation;
        let settled = if succeeded && alone { generation } else { self.settled() };
        self.with(settled, self.begun(), under_way)
            .flagged(OVERLAPPED, self.has(OVERLAPPED) && under_way > 0)
            .flagged(KNOWN, self.has(KNOWN) || succeeded)
    }
}

impl Ledger {
    /// A ledger for a target of `bytes` bytes with unknown contents; writes to it will carry `epoch`.
    pub fn new(bytes: u64, epoch: u64) -> Self {
        let count = bytes.div_ceil(UNIT_BYTES as u64);
        Self { units: (0..count).map(|_| AtomicU64::new(0)).collect(), epoch }
    }

    /// A ledger for a target of `bytes` bytes on which each unit was written once with `epoch` and has been read back.
    pub fn laid_out(bytes: u64, epoch: u64) -> Self {
        let once = State(KNOWN).with(LAID_OUT, LAID_OUT, 0);
        Self { units: (0..bytes.div_ceil(UNIT_BYTES as u64)).map(|_| AtomicU64::new(once.0)).collect(), epoch }
    }

    /// Bytes of memory that the ledger of a target of `bytes` bytes takes.
    pub fn memory_bytes(bytes: u64) -> u64 {
        bytes.div_ceil(UNIT_BYTES as u64) * 8
    }

    fn state(&self, unit: u64) -> State {
        State(self.units[unit as usize].load(Ordering::Acquire))
    }

    fn change(&self, unit: u64, change: impl Fn(State) -> State) -> State {
        let update = |state| Some(change(State(state)).0);
        let cell = &self.units[unit as usize];
        State(cell.fetch_update(Ordering::AcqRel, Ordering::Acquire, update).unwrap_or_else(|state| state))
    }

    /// Begins a write to a unit and returns its generation.
    pub(crate) fn begin_write(&self, unit: u64) -> u32 {
        self.change(unit, State::write_begun).write_begun().begun()
    }

    /// Ends that write.
    pub(crate) fn end_write(&self, unit: u64, generation: u32, succeeded: bool) {
        self.change(unit, |state| state.write_ended(generation, succeeded));
    }

    /// The state of a unit now, for a read that begins.
    pub(crate) fn observe(&self, unit: u64) -> ObservedState {
        ObservedState(self.units[unit as usize].load(Ordering::Acquire))
    }

    /// Judges what a read that began in state `then` has found.
    pub(crate) fn judge(&self, unit: u64, then: ObservedState, found: UnitState) -> Judgement {
        let then = State(then.0);
        let now = self.state(unit);
        if !then.has(KNOWN) {
            return Judgement::Unknown;
        }
        let after = |later: u32| later.wrapping_sub(then.settled()) % GENERATIONS;
        let admits = |generation: u32| generation < GENERATIONS && after(generation) <= after(now.begun());
        // A write in flight may be found half done. Writes that overlapped may leave a mixture (a mapping stores word
        // by word) until a write that overlaps no other succeeds.
        let in_motion = then.under_way() > 0 || then.begun() != now.begun() || then.settled() != then.begun();
        match found {
            UnitState::Whole(header) if header.epoch != self.epoch => Judgement::Stale,
            UnitState::Whole(header) if header.number != unit => Judgement::Misdirected,
            UnitState::Whole(header) if admits(header.generation) => Judgement::Fresh,
            UnitState::Whole(_) | UnitState::Zeros => Judgement::Stale,
            UnitState::Torn | UnitState::Damaged if in_motion => Judgement::Unknown,
            UnitState::Torn => Judgement::Torn,
            UnitState::Damaged => Judgement::Damaged,
        }
    }

    /// The header of a unit in the given generation.
    pub(crate) fn header(&self, unit: u64, generation: u32) -> BlockHeader {
        BlockHeader { number: unit, epoch: self.epoch, generation }
    }

    /// Whether any unit in these bytes was written since it was last passed to [`Ledger::was_read_back`].
    pub fn is_unread(&self, bytes: Range<u64>) -> bool {
        self.units_of(bytes).any(|unit| self.state(unit).has(UNREAD))
    }

    /// Marks these bytes as read back.
    pub fn was_read_back(&self, bytes: Range<u64>) {
        for unit in self.units_of(bytes) {
            self.change(unit, |state| state.flagged(UNREAD, false));
        }
    }

    /// The units in these bytes, up to the end of the target.
    fn units_of(&self, bytes: Range<u64>) -> Range<u64> {
        let unit = UNIT_BYTES as u64;
        bytes.start / unit..bytes.end.div_ceil(unit).min(self.units.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(generation: u32) -> UnitState {
        UnitState::Whole(BlockHeader { number: 0, epoch: 1, generation })
    }

    fn admitted(ledger: &Ledger) -> Vec<u32> {
        let fresh = |generation: &u32| ledger.judge(0, ledger.observe(0), whole(*generation)) == Judgement::Fresh;
        (0..10).filter(fresh).collect()
    }

    #[test]
    fn one_write_after_the_other_leaves_the_last() {
        let ledger = Ledger::new(512, 1);
        assert_eq!(admitted(&ledger), [0u32; 0]);
        for wanted in 1..4 {
            let generation = ledger.begin_write(0);
            assert_eq!(generation, wanted);
            ledger.end_write(0, generation, true);
            assert_eq!(admitted(&ledger), [wanted]);
        }
    }

    #[test]
    fn writes_side_by_side_may_land_in_any_order_until_one_comes_alone() {
        let ledger = Ledger::new(512, 1);
        let first = ledger.begin_write(0);
        ledger.end_write(0, first, true);
        let second = ledger.begin_write(0);
        let third = ledger.begin_write(0);
        assert_eq!(admitted(&ledger), [1, 2, 3], "both are under way");
        ledger.end_write(0, third, true);
        ledger.end_write(0, second, true);
        assert_eq!(admitted(&ledger), [1, 2, 3], "nobody knows which came last");
        let found = |found: UnitState| ledger.judge(0, ledger.observe(0), found);
        assert_eq!(
            (found(UnitState::Damaged), found(UnitState::Torn)),
            (Judgement::Unknown, Judgement::Unknown),
            "or some of each"
        );
        let fourth = ledger.begin_write(0);
        ledger.end_write(0, fourth, true);
        assert_eq!(admitted(&ledger), [4]);
        assert_eq!((found(UnitState::Damaged), found(UnitState::Torn)), (Judgement::Damaged, Judgement::Torn));
    }

    #[test]
    fn the_very_first_writes_may_overlap_too() {
        let ledger = Ledger::new(512, 1);
        let first = ledger.begin_write(0);
        let second = ledger.begin_write(0);
        ledger.end_write(0, second, true);
        ledger.end_write(0, first, true);
        assert!(admitted(&ledger).contains(&first) && admitted(&ledger).contains(&second));
    }

    #[test]
    fn a_failed_write_may_have_happened_or_not() {
        let ledger = Ledger::new(512, 1);
        for succeeded in [true, false] {
            let generation = ledger.begin_write(0);
            ledger.end_write(0, generation, succeeded);
        }
        assert_eq!(admitted(&ledger), [1, 2]);
    }

    #[test]
    fn a_read_may_find_what_was_there_when_it_began() {
        let ledger = Ledger::new(512, 1);
        let first = ledger.begin_write(0);
        ledger.end_write(0, first, true);
        let before = ledger.observe(0);
        let second = ledger.begin_write(0);
        ledger.end_write(0, second, true);
        for generation in [first, second] {
            assert_eq!(ledger.judge(0, before, whole(generation)), Judgement::Fresh);
        }
        assert_eq!(ledger.judge(0, before, UnitState::Damaged), Judgement::Unknown, "it was being written");
        assert_eq!(ledger.judge(0, ledger.observe(0), whole(first)), Judgement::Stale);
        assert_eq!(ledger.judge(0, ledger.observe(0), UnitState::Damaged), Judgement::Damaged);
    }

    #[test]
    fn generations_go_round() {
        let ledger = Ledger::new(512, 1);
        let state = State(KNOWN).with(GENERATIONS - 1, GENERATIONS - 1, 0);
        ledger.units[0].store(state.0, Ordering::Relaxed);
        let generation = ledger.begin_write(0);
        assert_eq!(generation, 0);
        assert_eq!(admitted(&ledger), [0], "and the last of the round before");
        ledger.end_write(0, generation, true);
        assert_eq!(admitted(&ledger), [0]);
    }

    #[test]
    fn what_was_read_back_is_remembered() {
        let ledger = Ledger::new(4096, 1);
        let generation = ledger.begin_write(3);
        ledger.end_write(3, generation, true);
        assert!(ledger.is_unread(1024..2048) && !ledger.is_unread(2048..1 << 20));
        ledger.was_read_back(0..4096);
        assert!(!ledger.is_unread(0..4096) && ledger.observe(3).oldest() == 1);
    }
}
