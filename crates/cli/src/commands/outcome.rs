//! Decides from the records of a command whether it ends well.

use anyhow::{Result, bail};
use halfpower_record::Record;

/// Data were wrong: the command did its work, and its answer is bad.
#[derive(Debug)]
pub struct WrongData(u64);

impl std::fmt::Display for WrongData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if self.0 == 1 { "1 read found" } else { &format!("{} reads found", self.0) };
        write!(f, "{what} wrong data: do not trust this target")
    }
}

impl std::error::Error for WrongData {}

/// What `records` mean for the command that made them.
///
/// # Errors
/// [`WrongData`] where reads found wrong data; a sentence where there is no run, or no request of any run succeeded.
pub fn of(records: &[Record]) -> Result<()> {
    let wrong: u64 = records.iter().map(Record::wrong_data).sum();
    if wrong > 0 {
        return Err(WrongData(wrong).into());
    }
    if records.is_empty() {
        bail!("nothing was measured: no run could be made on this target within the budget, as the lines above say");
    }
    if records.iter().all(Record::failed_whole) {
        let mut names: Vec<&str> = records.iter().flat_map(|record| record.errors.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        bail!("every request failed ({}), so nothing was measured", names.join(", "));
    }
    Ok(())
}
