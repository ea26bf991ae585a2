//! Says what `durability` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "What does it cost to have writes on the medium before they are done, and how many can share that cost?";
pub(super) const PAPERS: &str = "Both studies switched the disk's write cache (WCE): with it, buffered sequential writes about doubled in \
    1998, and unbuffered ones reached the disk's speed from 8 KB on, which without it took 128 KB for half of \
    it; in 2000 an Atlas without it stayed at 10 MB/s of 22, since each write waited for the platter. Today \
    the cache stays on and a program asks for durability where it needs it, by O_DSYNC or fdatasync, which \
    flush that cache: the wait is the same, and so is the cure, to let many writes share one.";
