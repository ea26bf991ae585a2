//! Counts the faults that a simulated disk has injected, and how many of them verification has found.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A kind of fault, as the keys of a simulated disk call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// A request that failed.
    Errors,
    /// A request that moved fewer bytes than asked.
    Short,
    /// A completion that came late.
    Stall,
    /// A read that brought a flipped bit.
    Flip,
    /// A write of which the beginning alone reached the medium.
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
    /// That were injected.
    pub injected: u64,
    /// Of these, those in data that a read has come upon. What was overwritten before it was read is not among them.
    pub met: u64,
    /// Of the met, those on which such a read was judged wrong.
    pub found: u64,
}

/// The faults of one target so far; the clones of one log all show the same.
#[derive(Debug, Clone, Default)]
pub struct FaultLog(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    counts: BTreeMap<FaultKind, FaultCount>,
    /// Faults in data, by their number.
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
    /// What was injected, by kind; kinds that never came are left out.
    pub fn counts(&self) -> BTreeMap<FaultKind, FaultCount> {
        self.entries().counts.clone()
    }

    /// Reads that verification has judged wrong.
    pub fn wrong_reads(&self) -> u64 {
        self.entries().wrong_reads
    }

    /// Of these, those that had come upon no fault.
    pub fn false_alarms(&self) -> u64 {
        self.entries().false_alarms
    }

    /// A fault that the completion shows by itself.
    pub(crate) fn add(&self, kind: FaultKind) {
        self.entries().counts.entry(kind).or_default().injected += 1;
    }

    /// A fault in data; gives its number.
    pub(crate) fn add_in_data(&self, kind: FaultKind) -> usize {
        let mut entries = self.entries();
        entries.counts.entry(kind).or_default().injected += 1;
        entries.data.push(DataFault { kind, met: false, found: false });
        entries.data.len() - 1
    }

    /// A read has come upon these faults, if any, and was judged wrong or right.
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
