//! Keeps what processes other than 0 learnt of their own places, for the notes of the report.

use serde::{Deserialize, Serialize};

/// How many different notes are told of one run; the others are counted.
const TOLD: usize = 4;
/// Characters of a note that are told.
const LONGEST: usize = 600;

/// Notes of some processes that process 0 has not heard yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Notes {
    /// Different ones, in the order of the first rank that has them.
    told: Vec<ToldNote>,
    /// Further ones, which differ from all of these.
    untold: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ToldNote {
    rank: u32,
    host: String,
    note: String,
    /// Processes with the same note, this one too.
    processes: u32,
}

impl Notes {
    /// Those of one process.
    pub fn of(rank: u32, host: &str, notes: &[String]) -> Self {
        let told = |note: &String| {
            let note = note.chars().take(LONGEST).collect();
            ToldNote { rank, host: host.to_string(), note, processes: 1 }
        };
        Self::default().with(Self { told: notes.iter().map(told).collect(), untold: 0 })
    }

    /// Both.
    pub fn with(self, other: Self) -> Self {
        let mut both = Self { told: self.told, untold: self.untold + other.untold };
        for new in other.told {
            match both.told.iter_mut().find(|known| known.note == new.note) {
                Some(known) if known.rank <= new.rank => known.processes += new.processes,
                Some(known) => *known = ToldNote { processes: known.processes + new.processes, ..new },
                None => both.told.push(new),
            }
        }
        both.told.sort_by_key(|told| told.rank);
        both.untold += both.told.split_off(both.told.len().min(TOLD)).len() as u32;
        both
    }

    /// What is said of them where these notes are known.
    pub fn sentences(self, known: &[String]) -> Vec<String> {
        let is_new = |told: &ToldNote| !known.iter().any(|known| known.chars().take(LONGEST).eq(told.note.chars()));
        let said = self.told.into_iter().filter(is_new).map(|ToldNote { rank, host, note, processes }| {
            let others = if processes > 1 { format!(" (and {} more processes)", processes - 1) } else { String::new() };
            format!("rank {rank} on {host}{others}: {note}")
        });
        let mut said: Vec<String> = said.collect();
        if self.untold > 0 {
            said.push(format!("other processes have {} more notes that differ from each other", self.untold));
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
        assert_eq!(said.len(), TOLD + 1);
        assert!(said[TOLD].contains("996 more notes"), "{said:?}");
    }
}
