//! Counts the faults that a simulated disk has injected, and how many of them verification found.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
