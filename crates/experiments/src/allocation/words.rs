//! Says what `allocation` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "What does it cost to write where a file has no blocks yet, and do many requests at once help then?";
pub(super) const PAPERS: &str = "In 1998 a write that made its file longer allowed NT no second request to the volume, so that depth brought \
    nothing; in 2000 extension halved what unbuffered writes gave, and a file whose last block was written \
    first took every block twice, since Windows zeroed it before. Linux leaves holes and marks blocks as \
    unwritten instead of zeroing them, so nothing is written twice; but a file system that locks a file while \
    it grows still takes its writes one at a time.";
