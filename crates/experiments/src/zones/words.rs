//! Says what `zones` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "Is every part of the target as fast as every other, from its first byte to its last?";
pub(super) const PAPERS: &str = "In 2000 the inner band of a Quantum Atlas 10K gave 35% less than its outer one (17 against 24 MB/s), and \
    that of a Quantum Fireball 40% less. A drive without tracks has no such bands: where it shows some, they \
    speak of caches, of what was written when, or of several devices behind one name.";
