//! Collects notes of processes other than 0 about their own hosts, for the notes of the report.

use halfpower_spec::InOrder;
use serde::{Deserialize, Serialize};

/// Number of different notes kept for one run; further ones are only counted.
const MAX_LISTED: usize = 4;
/// Length at which a note is cut, in characters.
const LONGEST: usize = 600;

/// Notes of some processes that process 0 does not have yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Notes {
    /// Different notes, in the order of the first rank that has each.
    listed: Vec<ListedNote>,
    /// Number of further notes, which differ from all of these.
    unlisted: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ListedNote {
    rank: u32,
    host: String,
    note: String,
    /// Number of processes with the same note, this one included.
    processes: u32,
}

impl Notes {
    /// The notes of one process.
    pub fn of(rank: u32, host: &str, notes: &[String]) -> Self {
        let listed = |note: &String| {
            let note = note.chars().take(LONGEST).collect();
            ListedNote { rank, host: host.to_string(), note, processes: 1 }
        };
        Self::default().with(Self { listed: notes.iter().map(listed).collect(), unlisted: 0 })
    }

    /// Merges both.
    pub fn with(self, other: Self) -> Self {
        let mut both = Self { listed: self.listed, unlisted: self.unlisted + other.unlisted };
        for new in other.listed {
            match both.listed.iter_mut().find(|known| known.note == new.note) {
                Some(known) if known.rank <= new.rank => known.processes += new.processes,
                Some(known) => *known = ListedNote { processes: known.processes + new.processes, ..new },
                None => both.listed.push(new),
            }
        }
        both.listed.order_by_key(|listed| listed.rank);
        both.unlisted += both.listed.split_off(both.listed.len().min(MAX_LISTED)).len() as u32;
        both
    }

    /// The notes as sentences, without those that are in `known`.
    pub fn sentences(self, known: &[String]) -> Vec<String> {
        let is_new =
            |listed: &ListedNote| !known.iter().any(|known| known.chars().take(LONGEST).eq(listed.note.chars()));
        let said = self.listed.into_iter().filter(is_new).map(|ListedNote { rank, host, note, processes }| {
            let others = if processes > 1 { format!(" (and {} more processes)", processes - 1) } else { String::new() };
            format!("rank {rank} on {host}{others}: {note}")
        });
        let mut said: Vec<String> = said.collect();
        if self.unlisted > 0 {
            said.push(format!("other processes have {} more notes that differ from each other", self.unlisted));
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rank: u32, notes: &[&str]) -> Notes {
        let notes: Vec<String> = notes.iter().map(|note| note.to_string()).collect();
        Notes::of(rank, &format!("node{rank}"), &notes)
    }

    #[test]
    fn notes_of_others_are_told_once_with_who_has_them() {
        let all = of(3, &["no soaker"]).with(of(1, &["no soaker", "a cache of 8 GiB"])).with(of(2, &["known"]));
        let known = ["known".to_string()];
        let said = all.sentences(&known);
        assert_eq!(said, ["rank 1 on node1 (and 1 more processes): no soaker", "rank 1 on node1: a cache of 8 GiB"]);
        assert_eq!(Notes::default().sentences(&known), [] as [String; 0]);
    }

    #[test]
    fn a_thousand_hosts_that_each_say_something_else_are_counted() {
        let all = (0..1000).map(|rank| of(rank, &[&format!("note {rank}: {}", "x".repeat(2000))]));
        let all = all.reduce(Notes::with).unwrap();
        let bytes = serde_json::to_vec(&all).unwrap().len();
        assert!(bytes < 4096, "{bytes}");
        let said = all.sentences(&[]);
        assert_eq!(said.len(), MAX_LISTED + 1);
        assert!(said[MAX_LISTED].contains("996 more notes"), "{said:?}");
    }
}
