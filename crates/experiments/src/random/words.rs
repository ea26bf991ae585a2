//! Says what `random` asks and what the papers saw.

pub(super) const QUESTION: &str = "How fast is access to random places, by block size and depth?";
pub(super) const PAPERS: &str = "Both studies read and wrote blocks of 8 KB at random. A disk with an arm spends most of such a request on the \
    way to its place, so that its size hardly matters and depth helps.";
