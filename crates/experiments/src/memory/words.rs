//! Says what `memory` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "How fast do the processors read, write and copy memory, before any storage comes into it?";
pub(super) const PAPERS: &str = "In 2000 memspeed read Rambus memory of 1,600 MB/s at 975 MB/s (61%), wrote it at 550 (34%) and copied at \
    327: five times the reads and three times the writes of the Intel machines before. What is the same: an \
    ordinary store first fetches the line that it overwrites, so that writes and copies move more than they \
    count, and each buffered byte pays for a copy. What is not: stores past the caches, and memory so fast \
    that one thread may not fill it.";
