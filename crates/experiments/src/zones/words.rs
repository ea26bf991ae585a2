//! Says what `zones` asks, what it found and what the papers saw.

use halfpower_spec::format;

use super::answer::ZonesAnswer;

pub(crate) const QUESTION: &str =
    "Is every part of the target as fast as every other, from its first byte to its last?";
pub(crate) const PAPERS: &str = "In 2000 the inner band of a Quantum Atlas 10K gave 35% less than its outer one (17 against 24 MB/s), and \
    that of a Quantum Fireball 40% less. A drive without tracks has no such bands: where it shows some, they \
    speak of caches, of what was written when, or of several devices behind one name.";

pub(crate) fn answer(found: &ZonesAnswer) -> String {
    match *found {
        ZonesAnswer::Unread => "No part of the target could be read.".to_string(),
        ZonesAnswer::Even { mbps } => format!("Yes: {} everywhere.", format::mbps(mbps)),
        ZonesAnswer::Nearly { least_mbps, most_mbps } => {
            format!("Nearly: from {} to {}, whatever the place.", format::mbps(least_mbps), format::mbps(most_mbps))
        }
        ZonesAnswer::Bands { bands, first_mbps, last_mbps } => format!(
            "No: it falls into {bands} bands, from {} at the beginning to {} at the end ({} of it).",
            format::mbps(first_mbps),
            format::mbps(last_mbps),
            format::percent(last_mbps / first_mbps),
        ),
    }
}
