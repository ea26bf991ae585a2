//! Decides from a command's records whether it succeeded.

use anyhow::{Result, bail};
use halfpower_record::Record;

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

/// Checks the records of a command.
///
/// # Errors
/// [`WrongData`] if reads found wrong data; a sentence if there is no run, or if no request of any run succeeded.
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
