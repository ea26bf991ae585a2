//! Judges a campaign of faults: how many were brought about, survived, reported and missed; and stores that as one row.

use std::fmt;

use serde::Serialize;

use crate::evidence::Verdict;
use crate::results;

/// What became of all faults of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Campaign {
    /// What is done to what. `lab/run` knows the campaigns by this name.
    #[serde(skip)]
    pub name: String,
    /// Faults that were brought about.
    pub tried: u64,
    /// Those after which all that is promised held: nothing lost, nothing left, no panic, no endless wait.
    pub survived: u64,
    /// Those that the program had to report and did; `None` if there is nothing to report.
    pub found: Option<u64>,
    /// Those that the program had to report and did not, without an explanation.
    pub missed: Option<u64>,
    /// Those that nobody can report, with why.
    pub explained: Vec<(String, u64)>,
}

impl Campaign {
    /// A campaign in which nothing has been tried yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds one fault, and whether it was survived.
    pub fn add(&mut self, is_survived: bool) {
        self.tried += 1;
        self.survived += u64::from(is_survived);
    }

    /// Adds one fault that the program had to report, which it survived.
    pub fn add_reported(&mut self, is_found: bool) {
        self.add(true);
        *self.found.get_or_insert(0) += u64::from(is_found);
        *self.missed.get_or_insert(0) += u64::from(!is_found);
    }

    fn verdict(&self) -> Verdict {
        let holds = self.tried > 0 && self.survived == self.tried && self.missed.unwrap_or(0) == 0;
        if holds { Verdict::Held } else { Verdict::Missed }
    }

    /// Prints the campaign and stores it in the laboratory's results.
    ///
    /// # Panics
    /// If nothing was tried, a fault was not survived, or one was missed.
    pub fn judge(&self, lab: &str) {
        println!("{self}");
        let verdict = self.verdict();
        results::keep_row(&Row {
            lab,
            test: std::thread::current().name(),
            figure: &self.name,
            seen: self.counts(),
            campaign: self,
            verdict: verdict.word(),
        });
        assert!(verdict == Verdict::Held, "{self}");
    }

    fn counts(&self) -> String {
        let mut counts = format!("tried {}, survived {}", self.tried, self.survived);
        for (word, count) in [("found", self.found), ("missed", self.missed)] {
            counts += &count.map_or(String::new(), |count| format!(", {word} {count}"));
        }
        for (why, count) in &self.explained {
            counts += &format!(", {why} {count}");
        }
        counts
    }
}

impl fmt::Display for Campaign {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.name, self.counts())
    }
}

/// A campaign's line in the results.
#[derive(Serialize)]
struct Row<'a> {
    lab: &'a str,
    test: Option<&'a str>,
    figure: &'a str,
    seen: String,
    campaign: &'a Campaign,
    verdict: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_holds_where_all_is_survived_and_nothing_is_missed() {
        let mut campaign = Campaign::new("stops");
        assert_eq!(campaign.verdict(), Verdict::Missed, "nothing was tried");
        campaign.add_reported(true);
        campaign.explained.push(("not read".to_string(), 4));
        assert_eq!(campaign.to_string(), "stops: tried 1, survived 1, found 1, missed 0, not read 4");
        assert_eq!(campaign.verdict(), Verdict::Held);
        campaign.add_reported(false);
        assert_eq!(campaign.verdict(), Verdict::Missed);
        let mut kills = Campaign::new("kills");
        kills.add(true);
        assert_eq!((kills.to_string().as_str(), kills.verdict()), ("kills: tried 1, survived 1", Verdict::Held));
        kills.add(false);
        assert_eq!(kills.verdict(), Verdict::Missed);
    }
}
