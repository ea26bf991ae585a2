//! Runs requests on a simulated disk that injects faults, verifies its contents, and counts the faults that
//! verification found.
//!
//! The underlying [`Simulated`] engine knows no faults. A fault changes a request's result, its completion time, or
//! what the medium holds afterwards.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halfpower_model::{FaultSequence, RequestFault};
use halfpower_spec::{Nanos, SimulatedDisk};

use crate::check::{Check, Verified};
use crate::errno::Errno;
use crate::medium::SimulatedContents;
use crate::simulated::{ProcessorAccount, Simulated, operation};
use crate::unit::UNIT_BYTES;
use crate::{Completion, Engine, EngineError, Operation, Request};

/// A kind of fault, named as in the options of a simulated disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// A request that failed.
    Errors,
    /// A request that moved fewer bytes than asked.
    Short,
    /// A completion that came too late.
    Stall,
    /// A read that returned a flipped bit.
    Flip,
    /// A write of which only the beginning reached the medium.
    Torn,
    /// A write that never reached the medium.
    Lost,
    /// A write that reached another place.
    Misdirect,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Errors => "errors",
            Self::Short => "short",
            Self::Stall => "stall",
            Self::Flip => "flip",
            Self::Torn => "torn",
            Self::Lost => "lost",
            Self::Misdirect => "misdirect",
        })
    }
}

/// Faults of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultCount {
    /// Faults injected.
    pub injected: u64,
    /// Faults injected in data that was read later. Data overwritten before it was read does not count.
    pub met: u64,
    /// Faults met by a read that verification judged wrong.
    pub found: u64,
}

/// The faults of one target so far; clones share the same log.
#[derive(Debug, Clone, Default)]
pub struct FaultLog(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    counts: BTreeMap<FaultKind, FaultCount>,
    /// Faults in data, by their index.
    data: Vec<DataFault>,
    wrong_reads: u64,
    false_alarms: u64,
}

#[derive(Debug)]
struct DataFault {
    kind: FaultKind,
    met: bool,
    found: bool,
}

impl FaultLog {
    /// The counts by kind; kinds that never occurred are left out.
    pub fn counts(&self) -> BTreeMap<FaultKind, FaultCount> {
        self.entries().counts.clone()
    }

    /// Reads that verification judged wrong.
    pub fn wrong_reads(&self) -> u64 {
        self.entries().wrong_reads
    }

    /// Wrong reads that met no injected fault.
    pub fn false_alarms(&self) -> u64 {
        self.entries().false_alarms
    }

    /// Counts a fault that the completion itself shows.
    pub(crate) fn add(&self, kind: FaultKind) {
        self.entries().counts.entry(kind).or_default().injected += 1;
    }

    /// Counts a fault in data and returns its index.
    pub(crate) fn add_in_data(&self, kind: FaultKind) -> usize {
        let mut entries = self.entries();
        entries.counts.entry(kind).or_default().injected += 1;
        entries.data.push(DataFault { kind, met: false, found: false });
        entries.data.len() - 1
    }

    /// Records a read: the faults that it met, if any, and whether it was judged wrong.
    pub(crate) fn read(&self, faults: &[usize], judged_wrong: bool) {
        let mut entries = self.entries();
        let Entries { counts, data, wrong_reads, false_alarms } = &mut *entries;
        *wrong_reads += u64::from(judged_wrong);
        *false_alarms += u64::from(judged_wrong && faults.is_empty());
        for number in faults {
            let fault = &mut data[*number];
            let count = counts.entry(fault.kind).or_default();
            count.met += u64::from(!fault.met);
            count.found += u64::from(judged_wrong && !fault.found);
            (fault.met, fault.found) = (true, fault.found || judged_wrong);
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A late completion: its time, its order among late completions, its slot and its result.
type Late = (Nanos, u64, u32, Result<u32, Errno>);

/// A simulated disk with faults, for one run.
pub struct FaultyDisk {
    engine: Simulated,
    fates: FaultSequence,
    log: FaultLog,
    contents: Option<(SimulatedContents, Arc<Check>)>,
    /// The request in each slot, and what will happen to it.
    issued: Vec<Option<(Request, RequestFault)>>,
    /// Late completions, the earliest on top.
    late: BinaryHeap<Reverse<Late>>,
    due: u64,
    came: Vec<Completion>,
}

impl FaultyDisk {
    /// The idle disk, for at most `slots` requests in flight; its clock begins at `start`. Faults are counted in `log`.
    /// The contents are not verified.
    pub fn new(disk: &SimulatedDisk, slots: u32, run_seed: u64, start: Nanos, log: FaultLog) -> Self {
        Self {
            engine: Simulated::new(disk, slots, run_seed, start),
            fates: FaultSequence::new(disk.faults, disk.seed, run_seed),
            log,
            contents: None,
            issued: vec![None; slots as usize],
            late: BinaryHeap::new(),
            due: 0,
            came: Vec::with_capacity(slots as usize),
        }
    }

    /// A handle that reads the processor time, even while the engine is owned elsewhere.
    pub fn processor_time(&self) -> ProcessorAccount {
        self.engine.processor_time()
    }

    /// The same disk over `contents`, with every request of at most `most_bytes` verified.
    pub fn verified(self, contents: &SimulatedContents, most_bytes: u64) -> Box<dyn Engine> {
        let slots = self.issued.len() as u32;
        let check = Arc::new(Check::new(Arc::clone(contents.ledger()), slots, most_bytes, 0..slots));
        let disk = Self { contents: Some((contents.clone(), Arc::clone(&check))), ..self };
        Box::new(Verified::new(Box::new(disk), check, slots))
    }

    /// Takes the disk's completions: hands out those on time and keeps back the late ones.
    fn take(&mut self, done: &mut Vec<Completion>) {
        let mut came = std::mem::take(&mut self.came);
        for Completion { slot, result } in came.drain(..) {
            let issued = self.issued[slot as usize].take();
            let (result, late_by) = match (issued, result) {
                (Some((request, request_fault)), Ok(bytes)) => {
                    (self.end(&request, request_fault, bytes), delay(request_fault))
                }
                (_, result) => (result, Nanos(0)),
            };
            if late_by > Nanos(0) {
                self.late.push(Reverse((Nanos(self.engine.now().0 + late_by.0), self.due, slot, result)));
                self.due += 1;
            } else {
                done.push(Completion { slot, result });
            }
        }
        self.came = came;
    }

    /// Hands out late completions whose time has come.
    fn take_late(&mut self, done: &mut Vec<Completion>) {
        while let Some(Reverse((at, _, slot, result))) = self.late.peek().copied()
            && at <= self.engine.now()
        {
            self.late.pop();
            done.push(Completion { slot, result });
        }
    }

    /// Applies the fate of a request for which the disk has moved `bytes`.
    fn end(&mut self, request: &Request, request_fault: RequestFault, bytes: u32) -> Result<u32, Errno> {
        match request_fault {
            RequestFault::Whole => self.transfer(request, bytes),
            RequestFault::Failed { written } => {
                self.log.add(FaultKind::Errors);
                if written {
                    self.write(request, bytes);
                }
                Err(EIO)
            }
            RequestFault::Short(moved) => {
                let result = self.transfer(request, moved.min(bytes));
                // A short read of bad data shows as bad data.
                if result.is_ok() {
                    self.log.add(FaultKind::Short);
                }
                result
            }
            RequestFault::Stalled(_) => {
                self.log.add(FaultKind::Stall);
                self.transfer(request, bytes)
            }
            RequestFault::Flipped { bit } => self.read(request, bytes, Some(bit)),
            RequestFault::Torn(_) | RequestFault::Lost | RequestFault::Misdirected(_) => {
                self.miswrite(request, request_fault);
                Ok(bytes)
            }
        }
    }

    fn transfer(&self, request: &Request, bytes: u32) -> Result<u32, Errno> {
        match request.operation {
            Operation::Read => return self.read(request, bytes, None),
            Operation::Write => self.write(request, bytes),
            Operation::Flush | Operation::Trim => {}
        }
        Ok(bytes)
    }

    fn write(&self, request: &Request, bytes: u32) {
        if let Some((contents, check)) = &self.contents {
            contents.medium().write(check.headers(request.slot), bytes);
        }
    }

    /// Carries out a write that reports success but goes wrong.
    fn miswrite(&self, request: &Request, request_fault: RequestFault) {
        let Some((contents, check)) = &self.contents else { return };
        let mut medium = contents.medium();
        let headers = check.headers(request.slot);
        match request_fault {
            RequestFault::Torn(bytes) => medium.tear(headers, bytes, self.log.add_in_data(FaultKind::Torn)),
            RequestFault::Misdirected(lot) => {
                medium.misdirect(headers, lot, self.log.add_in_data(FaultKind::Misdirect))
            }
            _ => medium.tear(headers, 0, self.log.add_in_data(FaultKind::Lost)),
        }
    }

    /// Verifies what a read returns, with `flipped_bit` flipped on the way if it is given.
    fn read(&self, request: &Request, bytes: u32, flipped_bit: Option<u64>) -> Result<u32, Errno> {
        let Some((contents, check)) = &self.contents else { return Ok(bytes) };
        let unit_bits = UNIT_BYTES as u64 * 8;
        let first = request.offset / UNIT_BYTES as u64;
        let units = first..first + u64::from(bytes) / UNIT_BYTES as u64;
        let flipped = flipped_bit.map(|bit| (first + bit / unit_bits, (bit % unit_bits) as usize));
        let flipped = flipped.filter(|(unit, _)| units.contains(unit));
        let medium = &*contents.medium();
        let mut faults = medium.faults(units.clone());
        faults.extend(flipped.map(|_| self.log.add_in_data(FaultKind::Flip)));
        let judged = check.judge(
            request.slot,
            bytes,
            units.map(|unit| {
                move |expected| match flipped {
                    Some((in_unit, bit)) if in_unit == unit => medium.found_flipped(unit, bit, expected),
                    _ => medium.found(unit, expected),
                }
            }),
        );
        self.log.read(&faults, judged.is_err());
        judged
    }
}

/// The result of a failed request.
const EIO: Errno = Errno(5);

fn delay(request_fault: RequestFault) -> Nanos {
    match request_fault {
        RequestFault::Stalled(time) => time,
        _ => Nanos(0),
    }
}

impl Engine for FaultyDisk {
    fn now(&self) -> Nanos {
        self.engine.now()
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            let request_fault = self.fates.draw(operation(request.operation), request.length);
            self.issued[request.slot as usize] = Some((*request, request_fault));
        }
        self.engine.submit(batch)
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let wanted = done.len() + least;
        loop {
            let lacking = wanted.saturating_sub(done.len());
            match self.late.peek() {
                Some(Reverse((at, ..))) if lacking > 0 => self.engine.reap_until(*at, &mut self.came)?,
                _ => self.engine.reap(lacking, &mut self.came)?,
            }
            self.take(done);
            self.take_late(done);
            if done.len() >= wanted {
                return Ok(());
            }
        }
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        loop {
            let next = self.late.peek().map_or(until, |Reverse((at, ..))| until.min(*at));
            self.engine.reap_until(next, &mut self.came)?;
            self.take(done);
            self.take_late(done);
            if done.len() > before || self.engine.now() >= until {
                return Ok(());
            }
        }
    }
}
