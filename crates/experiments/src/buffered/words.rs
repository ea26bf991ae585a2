//! Says what `buffered` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "What does the page cache give to requests of each size, and what does it cost the processor?";
pub(super) const PAPERS: &str = "In 1998 and 2000 buffered requests ran at the disk's speed from 4 KB on, since the cache read ahead and \
    wrote behind 64 KB at a time; smaller writes first read their page, which more than doubled the load. In \
    2000 a buffered request cost 12 µs for the call, about 6 µs a KB for the copy and 45 µs for each 64 KB \
    written behind, so that unbuffered ones were cheaper from 8 KB on. The three phases of a write (memory's \
    speed, the disk's, the flush) and the page that is read first are the same today. What is not: a cache of \
    gigabytes takes all of a short run at memory's speed, so that the flush is the second half of the story, \
    and on a fast device large direct requests outrun the copy.";
