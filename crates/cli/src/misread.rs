//! Mends what clap says of a flag that it does not know: a suggestion that is far off is dropped, and a flag of fio named.

use std::ffi::OsString;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Letters that may differ between a flag and what is suggested for it.
const MOST_EDITS: usize = 2;

/// The error with what helps.
pub fn taught(mut error: Error, words: &[OsString]) -> Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg).cloned() else { return error };
    if let Some(ContextValue::String(suggested)) = error.get(ContextKind::SuggestedArg)
        && edits(&flag, suggested) > MOST_EDITS
    {
        error.remove(ContextKind::SuggestedArg);
    }
    let is_of_run = words.get(1).is_some_and(|command| command == "run");
    if !is_of_run && halfpower_dialects::fio::speaks(&[OsString::from(&flag)]) {
        let tip = format!("'{flag}' is an option of fio, which `halfpower run` takes; --help lists the flags here");
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedCommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Letters to put in, take out or change to make one word of the other.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (done, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], done + 1);
        for (at, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::CommandLine;

    #[test]
    fn words_are_as_far_apart_as_their_letters() {
        assert_eq!(
            (edits("--bs", "--bs"), edits("--rutime", "--runtime"), edits("--output-format", "--output")),
            (0, 1, 7)
        );
    }

    #[test]
    fn a_suggestion_that_is_far_off_is_dropped_and_a_near_one_stays() {
        let said = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            taught(CommandLine::try_parse_from(&words).unwrap_err(), &words).to_string()
        };
        let far = said("halfpower study sim: --output-format json");
        assert!(!far.contains("'--output'") && far.contains("an option of fio"), "{far}");
        let near = said("halfpower study sim: --rutime 3");
        assert!(near.contains("--runtime"), "{near}");
    }
}
