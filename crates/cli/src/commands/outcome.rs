//! Decides from a command's records whether it succeeded.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use halfpower_record::Record;
use halfpower_spec::format::thousands;

/// Reads found wrong data. The command completed, but the target cannot be trusted.
#[derive(Debug)]
pub struct WrongData(u64);

impl std::fmt::Display for WrongData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if self.0 == 1 { "1 read found" } else { &format!("{} reads found", self.0) };
        write!(f, "{what} wrong data: do not trust this target")
    }
}

impl std::error::Error for WrongData {}

/// Some requests failed. The command completed, and its figures are those of the others.
#[derive(Debug)]
pub struct FailedRequests {
    count: u64,
    /// The kinds of error, with how many of each.
    kinds: String,
}

impl std::fmt::Display for FailedRequests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { count, kinds } = self;
        let count = thousands(*count as f64);
        write!(f, "requests failed: {count} ({kinds}); the figures are of those that succeeded")
    }
}

impl std::error::Error for FailedRequests {}

/// No depth keeps latencies within the bound that was asked for. The command completed, at depth 1.
#[derive(Debug)]
pub struct NoDepthHolds(String);

impl std::fmt::Display for NoDepthHolds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "--latency-target: {}", self.0)
    }
}

impl std::error::Error for NoDepthHolds {}

/// Checks the records of a command.
///
/// # Errors
/// [`WrongData`] if reads found wrong data, [`FailedRequests`] if some requests failed, [`NoDepthHolds`] if a depth was
/// looked for and none holds; a sentence if there is no run, or if no request of any run succeeded.
pub fn of(records: &[Record]) -> Result<()> {
    let wrong: u64 = records.iter().map(Record::wrong_data).sum();
    if wrong > 0 {
        return Err(WrongData(wrong).into());
    }
    if records.is_empty() {
        bail!("nothing was measured: no run could be made on this target within the budget, as the lines above say");
    }
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in records.iter().flat_map(Record::all_errors) {
        let sum = kinds.entry(name).or_default();
        *sum = sum.saturating_add(count);
    }
    if records.iter().all(Record::failed_whole) {
        let names: Vec<&str> = kinds.into_keys().collect();
        bail!("every request failed ({}), so nothing was measured", names.join(", "));
    }
    of_failed(&kinds)?;
    let found_none = |record: &&Record| record.depth_search.as_ref().is_some_and(|search| search.found().is_none());
    match records.iter().find(found_none).and_then(halfpower_report::searched_text) {
        Some(why) => Err(NoDepthHolds(why).into()),
        None => Ok(()),
    }
}

/// Checks which requests failed: kinds of error, with how many of each.
///
/// # Errors
/// [`FailedRequests`] if there are some.
pub fn of_failed(kinds: &BTreeMap<impl std::fmt::Display, u64>) -> Result<()> {
    let count = kinds.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    if count > 0 {
        let shown = kinds.iter().map(|(name, count)| format!("{name} {}", thousands(*count as f64)));
        return Err(FailedRequests { count, kinds: shown.collect::<Vec<_>>().join(", ") }.into());
    }
    Ok(())
}
