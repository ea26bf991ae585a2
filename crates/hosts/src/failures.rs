//! Collects failures of many hosts and puts them into one sentence.

use halfpower_measure::MeasureError;
use halfpower_spec::InOrder;
use serde::{Deserialize, Serialize};

/// Number of failures kept with their text; further ones are only counted.
const MAX_LISTED: usize = 3;

/// Failures of some processes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Failures {
    /// Those with the lowest ranks, in the order of ranks.
    listed: Vec<Failure>,
    /// Number of all failures.
    count: u32,
    /// Whether one of the processes was interrupted.
    interrupted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Failure {
    rank: u32,
    host: String,
    what: String,
}

impl Failures {
    /// The failure of one process.
    pub fn of(rank: u32, host: &str, error: &MeasureError) -> Self {
        let interrupted = matches!(error, MeasureError::Interrupted);
        let failure = Failure { rank, host: host.to_string(), what: error.to_string() };
        Self { listed: vec![failure], count: 1, interrupted }
    }

    /// Merges both.
    pub fn with(mut self, other: Self) -> Self {
        self.listed.extend(other.listed);
        self.listed.order_by_key(|failure| failure.rank);
        self.listed.truncate(MAX_LISTED);
        Self { count: self.count + other.count, interrupted: self.interrupted || other.interrupted, ..self }
    }

    /// Succeeds if no process failed.
    ///
    /// # Errors
    /// [`MeasureError::Interrupted`] if a process was interrupted, otherwise a sentence with the failed processes.
    pub fn outcome(&self) -> Result<(), MeasureError> {
        if self.count == 0 {
            return Ok(());
        }
        if self.interrupted {
            return Err(MeasureError::Interrupted);
        }
        let mut phrases: Vec<String> = Vec::new();
        for Failure { rank, host, what } in &self.listed {
            // The same failure on several hosts makes one phrase.
            match phrases.iter_mut().find(|phrase| phrase.ends_with(&format!(": {what}"))) {
                Some(same) => *same = format!("rank {rank} on {host} and {same}"),
                None => phrases.push(format!("rank {rank} on {host}: {what}")),
            }
        }
        let others = self.count as usize - self.listed.len();
        if others > 0 {
            phrases.push(format!("and {others} more processes failed"));
        }
        Err(MeasureError::Elsewhere { what: phrases.join("; ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(rank: u32, what: &str) -> Failures {
        Failures::of(rank, &format!("node{rank}"), &MeasureError::Unfit { what: what.to_string() })
    }

    #[test]
    fn each_host_that_failed_is_named_with_its_reason() {
        assert!(Failures::default().outcome().is_ok());
        let two = failed(3, "/mnt is full").with(failed(1, "/mnt does not exist"));
        let sentence = two.outcome().unwrap_err().to_string();
        assert_eq!(sentence, "rank 1 on node1: /mnt does not exist; rank 3 on node3: /mnt is full");
        let many = (0..9).map(|rank| failed(rank, "no")).reduce(Failures::with).unwrap();
        let sentence = many.outcome().unwrap_err().to_string();
        assert_eq!(
            sentence,
            "rank 2 on node2 and rank 1 on node1 and rank 0 on node0: no; and 6 more processes failed"
        );
        let stopped = failed(1, "no").with(Failures::of(2, "node2", &MeasureError::Interrupted));
        assert!(matches!(stopped.outcome(), Err(MeasureError::Interrupted)));
    }
}
