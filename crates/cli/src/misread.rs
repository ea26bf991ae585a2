//! Improves clap's errors: escapes the words that they repeat; for an unknown flag, drops far-off suggestions and recognises
//! flags of other tools.

use std::ffi::OsString;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use halfpower_spec::{escaped, is_unseen};

/// Most letters that may differ between a flag and clap's suggestion for it.
const MOST_EDITS: usize = 2;

/// Flags of elbencho, hyperfine and others (separated by spaces), and what does the same here.
const OF_OTHERS: &[(&str, &str)] = &[
    (
        "--read --write --randread --randwrite",
        "the direction and the order are one flag: --rw read, write, randread, randwrite, rw or randrw",
    ),
    (
        "--rand --random --sequential",
        "the order is part of --rw: `halfpower run --rw randread`; a study has --experiments random or sequential",
    ),
    ("--warmup --warm-up", "a study finds and leaves out the warm-up by itself; `halfpower run` has --ramp-time 2s"),
    (
        "--runs --repeat --repeats --iterations",
        "`halfpower study` repeats runs until they are sure; --budget says how long",
    ),
    ("--export-json --jsonfile", "`--json` of study, run, report and compare prints JSON; write it to a file with >"),
    ("--export-csv --csvfile", "`halfpower export STUDY --format csv` prints CSV"),
    ("--export-markdown", "`halfpower compare A B --markdown` prints Markdown"),
    ("--block --block-size --blocks", "the block size is --bs 4k"),
    ("--timelimit --duration --time", "the time is --runtime 10s of run, --budget 2min of study"),
    (
        "--dry --dry-run",
        "`halfpower plan` prints the runs of a study without measuring, and --parse-only what a line of fio's becomes",
    ),
    ("--hosts", "to measure from many hosts, start halfpower with mpirun (docs/many-hosts.md)"),
];

/// Returns the error with its words escaped: clap prints them itself, and a shell may have made them of names of files.
pub fn with_escaped_words(mut error: Error) -> Error {
    let shown = |text: &String| escaped(text).into_owned();
    let foreign = error.context().filter_map(|(kind, value)| match value {
        ContextValue::String(text) if text.contains(is_unseen) => Some((kind, ContextValue::String(shown(text)))),
        ContextValue::Strings(texts) if texts.iter().any(|text| text.contains(is_unseen)) => {
            Some((kind, ContextValue::Strings(texts.iter().map(shown).collect())))
        }
        _ => None,
    });
    for (kind, value) in foreign.collect::<Vec<_>>() {
        error.insert(kind, value);
    }
    error
}

/// Words that are no commands here, with the one that was meant.
const NO_COMMANDS: &[(&str, &str)] = &[
    ("benchmark bench test measure", "`halfpower study` measures this folder, and `halfpower run TARGET` one workload"),
    ("list ls devices", "`lsblk` lists devices, and `halfpower systems` the machines that can be simulated"),
    ("fio", "`halfpower run` takes fio's options and job files"),
    ("info show", "`halfpower probe TARGET` tells what a path is, and `halfpower report STUDY` what a study found"),
];

/// Returns the error with a more helpful tip.
pub fn taught(mut error: Error, words: &[OsString]) -> Error {
    if error.kind() == ErrorKind::InvalidSubcommand {
        if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand).cloned()
            && let Some((_, tip)) =
                NO_COMMANDS.iter().find(|(theirs, _)| theirs.split(' ').any(|theirs| theirs == word))
        {
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*tip).into()]));
        }
        return error;
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg).cloned() else { return error };
    if let Some(ContextValue::String(suggested)) = error.get(ContextKind::SuggestedArg)
        && edits(&flag, suggested) > MOST_EDITS
    {
        error.remove(ContextKind::SuggestedArg);
    }
    // clap's tip about `--` does not help with a misspelt flag.
    let trailing = |tips: &ContextValue| matches!(tips, ContextValue::StyledStrs(tips) if tips.iter().any(|tip| tip.to_string().contains("as a value")));
    if error.get(ContextKind::Suggested).is_some_and(trailing) {
        error.remove(ContextKind::Suggested);
    }
    if let Some((_, tip)) = OF_OTHERS.iter().find(|(theirs, _)| theirs.split(' ').any(|theirs| theirs == flag)) {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedCommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*tip).into()]));
        return error;
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

/// Levenshtein distance: letters to insert, delete or change to turn one word into the other.
pub fn edits(a: &str, b: &str) -> usize {
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
    fn a_word_that_is_repeated_drives_no_terminal() {
        for line in [
            "halfpower study --x\u{1b}[2J",
            "halfpower \u{202e}x",
            "halfpower run a --b\u{9b}2J",
            "halfpower run --rw \u{1b}c a",
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let error = taught(with_escaped_words(CommandLine::try_parse_from(&words).unwrap_err()), &words);
            let said = error.to_string();
            assert!(!said.contains(|c: char| is_unseen(c) && c != '\n'), "{said:?}");
        }
    }

    #[test]
    fn a_suggestion_that_is_far_off_is_dropped_and_a_near_one_stays() {
        let said = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            taught(CommandLine::try_parse_from(&words).unwrap_err(), &words).to_string()
        };
        let far = said("halfpower study sim: --output-format json");
        assert!(!far.contains("'--output'") && far.contains("an option of fio"), "{far}");
        let other = said("halfpower study sim: --export-json x");
        assert!(other.contains("prints JSON") && !other.contains("similar"), "{other}");
        assert!(!said("halfpower study sim: --nothing-like-it").contains("as a value"));
        let no_command = said("halfpower benchmark");
        assert!(no_command.contains("halfpower study") && said("halfpower list").contains("lsblk"), "{no_command}");
        let near = said("halfpower study sim: --rutime 3");
        assert!(near.contains("--runtime"), "{near}");
    }
}
