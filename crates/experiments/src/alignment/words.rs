//! Says what `alignment` asks, what it found and what the papers saw.

use halfpower_spec::path_words;

use super::answer::{AlignmentAnswer, ShiftedKind};
use crate::words::{sentence, share, size};

pub(crate) const QUESTION: &str = "What do requests lose that do not begin where chunks, pages and blocks do?";
pub(crate) const PAPERS: &str = "In 1998 files lay off the chunks of a stripe, so that a request of 64 KB was one of 12 and one of 52 KB on \
    two drives, and both had to be waited for; aligned ones were 15 to 20% faster (Figure 13). What is the \
    same: a request over a chunk's end is two. What is new: devices whose blocks of 4 KiB are larger than the \
    sectors they take requests in, and file systems that write a part of a block only while nobody else does.";

/// Number of losses that the answer names; the report's table has all of them.
const NAMED: usize = 3;

pub(crate) fn answer(found: &AlignmentAnswer) -> String {
    let AlignmentAnswer { kinds, lose, alike, faster, unclear } = found;
    if *kinds == 0 {
        return "No request could be set beside an aligned one.".to_string();
    }
    let mut clauses = Vec::new();
    if !lose.is_empty() {
        let named: Vec<String> = lose.iter().take(NAMED).map(loss).collect();
        let more = lose.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("; {more} more kinds lose less than these") } else { String::new() };
        clauses.push(named.join("; ") + &more);
    }
    if *faster > 0 {
        clauses.push(format!("{faster} of {kinds} kinds of shifted requests are faster than aligned ones"));
    }
    if alike + unclear > 0 || *faster == 0 {
        clauses.push(rest(*kinds, *alike, *unclear));
    }
    sentence(&clauses.join("; "))
}

/// Describes the kinds that do not lose.
fn rest(kinds: usize, alike: usize, unclear: usize) -> String {
    match (alike, unclear) {
        (0, 0) => "no kind of shifted requests comes within 10% of aligned ones".to_string(),
        (alike, 0) => format!("{alike} of {kinds} kinds of shifted requests come within 10% of aligned ones"),
        (0, unclear) if unclear == kinds => {
            format!("these runs cannot tell whether any of {kinds} kinds of shifted requests loses")
        }
        (0, unclear) => format!("of {unclear} of {kinds} kinds of shifted requests these runs cannot tell"),
        (alike, unclear) => format!(
            "{alike} of {kinds} kinds of shifted requests come within 10% of aligned ones, and of {unclear} these runs \
             cannot tell"
        ),
    }
}

/// Describes the loss of one kind.
fn loss(kind: &ShiftedKind) -> String {
    let path = path_words(kind.pattern, kind.cache, kind.rw);
    let (of, by, kept) = (size(kind.bs_bytes), size(kind.shift_bytes), share(&kind.of_aligned));
    format!("{path}s of {of}, {} deep, keep {kept} of their rate when they begin {by} later", kind.iodepth)
}
