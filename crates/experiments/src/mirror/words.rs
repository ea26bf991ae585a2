//! Says what `mirror` asks, what it found and what the papers saw.

use halfpower_spec::format;

use super::answer::{MirrorAnswer, MirrorWrites, RandomReads, SecondCopyGain, SequentialReads, VerifiedCopies};
use crate::ratio_finding::RatioFinding;
use crate::words::{sentences, size, times};

pub(crate) const QUESTION: &str =
    "What do two copies give when they are read, and what do they take when they are written?";
pub(crate) const PAPERS: &str = "In 2000 a 3ware TwinStor mirror read one 8 KiB request at random with each arm: 119 a second two deep, \
    where a stripe gave 99 and one disk 66, since two requests to a stripe meet on one disk half of the time. \
    Sequential reads gained from 256 KiB outstanding on, and writes ran slightly below one disk (Figures 33 \
    and 34). This mirror follows the same rule; which copy is nearer it does not know.";

pub(crate) fn answer(found: &MirrorAnswer) -> String {
    let clauses = [
        found.sequential.as_ref().map(sequential),
        found.random.as_ref().map(random),
        writes(&found.writes),
        found.verified.as_ref().map(verified),
    ];
    sentences(clauses, "No copy could be read or written.")
}

fn stripe(ratio: Option<&RatioFinding>) -> String {
    ratio.map_or(String::new(), |ratio| format!("; a stripe at {}", times(ratio)))
}

fn sequential(found: &SequentialReads) -> String {
    let outstanding = found.from_outstanding_bytes.map(size).unwrap_or_default();
    let gain = match found.gain {
        SecondCopyGain::FromThere => format!("gain from the second copy with {outstanding} outstanding and more"),
        SecondCopyGain::OnlyThere => {
            format!("gain from the second copy with {outstanding} outstanding, and not with most")
        }
        SecondCopyGain::Nowhere => "gain nothing that runs could tell from the second copy".to_string(),
    };
    let (depth, times, stripe) = (found.iodepth, times(&found.mirror), stripe(found.stripe.as_ref()));
    format!("Sequential reads {gain}; {depth} deep they run at {times} one member{stripe}.")
}

fn random(found: &RandomReads) -> String {
    let (times, iops, stripe) = (times(&found.mirror), format::iops(found.iops), stripe(found.stripe.as_ref()));
    format!("Random reads two deep run at {times} one member, {iops}{stripe}.")
}

fn writes(found: &[MirrorWrites]) -> Option<String> {
    let all: Vec<String> = found.iter().map(|one| format!("{}, {}", times(&one.mirror), one.pattern)).collect();
    (!all.is_empty()).then(|| format!("Writes to both copies run at so many times one member: {}.", all.join("; ")))
}

fn verified(found: &VerifiedCopies) -> String {
    match found.wrong_blocks {
        0 => "Both copies were read back after writing, and each block of them is right.".to_string(),
        wrong => format!("{wrong} BLOCKS WERE WRONG when both copies were read back: do not trust it."),
    }
}
