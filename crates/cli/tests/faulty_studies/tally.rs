//! Counts faults and their effects over many studies.

use std::collections::BTreeMap;
use std::fmt;

use halfpower_engine::{FaultCount, FaultKind, FaultLog};
use halfpower_record::Record;

#[derive(Default)]
pub struct Tally {
    pub studies: u64,
    pub resumed: u64,
    pub runs: u64,
    faults: BTreeMap<FaultKind, FaultCount>,
    /// Errors in records by name, including short transfers.
    recorded: BTreeMap<String, u64>,
    wrong_reads: u64,
    false_alarms: u64,
}

/// Names of wrong data in records.
const WRONG: [&str; 4] = ["corrupt", "torn", "lost", "misdirected"];

impl Tally {
    /// Adds a study; checks that each visible fault is counted once, and that no correct data was called wrong.
    pub fn add(&mut self, name: &str, records: &[Record], faults: &FaultLog) {
        let mut recorded: BTreeMap<String, u64> = BTreeMap::new();
        for record in records {
            *recorded.entry("short".to_string()).or_default() += record.short_transfers;
            record.errors.iter().for_each(|(kind, count)| *recorded.entry(kind.clone()).or_default() += count);
        }
        let counts = faults.counts();
        let injected = |kind| counts.get(&kind).map_or(0, |count: &FaultCount| count.injected);
        let in_records = |kind: &str| recorded.get(kind).copied().unwrap_or(0);
        assert_eq!(in_records("EIO"), injected(FaultKind::Errors), "{name}: errors");
        // A transfer cut to nothing failed.
        assert_eq!(in_records("short") + in_records("EOF"), injected(FaultKind::Short), "{name}: short transfers");
        let wrong: u64 = WRONG.into_iter().map(in_records).sum();
        assert_eq!((wrong, faults.false_alarms()), (faults.wrong_reads(), 0), "{name}: wrong reads");
        let known = |kind: &String| ["EIO", "EOF", "short"].contains(&kind.as_str()) || WRONG.contains(&kind.as_str());
        assert!(recorded.keys().all(known), "{name}: {recorded:?}");

        self.studies += 1;
        self.runs += records.len() as u64;
        self.wrong_reads += wrong;
        self.false_alarms += faults.false_alarms();
        for (kind, count) in counts {
            let sum = self.faults.entry(kind).or_default();
            sum.injected += count.injected;
            sum.met += count.met;
            sum.found += count.found;
        }
        recorded.into_iter().for_each(|(kind, count)| *self.recorded.entry(kind).or_default() += count);
    }

    /// Asserts that every kind of fault occurred, and that wrong data of every kind was found.
    pub fn assert_all_kinds(&self) {
        if self.studies > 1 {
            assert_eq!(self.faults.len(), 7, "{self}");
            let in_data = [FaultKind::Flip, FaultKind::Torn, FaultKind::Lost, FaultKind::Misdirect];
            assert!(in_data.iter().all(|kind| self.faults[kind].found > 0), "{self}");
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { studies, resumed, runs, wrong_reads, false_alarms, .. } = self;
        writeln!(f, "{studies} studies of {runs} runs, {resumed} interrupted and resumed with the same records")?;
        writeln!(f, "{:<10} {:>12} {:>12} {:>12} {:>12}", "fault", "injected", "met by reads", "found", "missed")?;
        for (kind, FaultCount { injected, met, found }) in &self.faults {
            let missed = met - found;
            writeln!(f, "{:<10} {injected:>12} {met:>12} {found:>12} {missed:>12}", kind.to_string())?;
        }
        writeln!(f, "wrong reads {wrong_reads}, false alarms {false_alarms}; in the records:")?;
        self.recorded.iter().try_for_each(|(kind, count)| writeln!(f, "  {kind}: {count}"))
    }
}
