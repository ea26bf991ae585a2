//! Says what `streams` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "What do several sequential streams take from each other, and what do random readers take from one of them?";
pub(super) const PAPERS: &str = "Neither study measured it: that of 1998 left streams that share a disk to further work. Both knew why it \
    matters: a disk with an arm loses milliseconds whenever it turns from one place to another. A drive \
    without an arm has nothing to lose there but what it, or the kernel, fetches ahead.";
