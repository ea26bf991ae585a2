//! Says what `alignment` asks and what the papers saw.

pub(super) const QUESTION: &str = "What do requests lose that do not begin where chunks, pages and blocks do?";
pub(super) const PAPERS: &str = "In 1998 files lay off the chunks of a stripe, so that a request of 64 KB was one of 12 and one of 52 KB on \
    two drives, and both had to be waited for; aligned ones were 15 to 20% faster (Figure 13). What is the \
    same: a request over a chunk's end is two. What is new: devices whose blocks of 4 KiB are larger than the \
    sectors they take requests in, and file systems that write a part of a block only while nobody else does.";
