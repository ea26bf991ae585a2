//! Says what `engines` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "Which way of issuing requests is fastest, and which costs the processor least, at equal work?";
pub(super) const PAPERS: &str = "sqlio2, the tool of the 2000 study, was made for several \"personalities\", each a different way of doing \
    disk IO; the study itself kept to one. It did see what polling costs: with PIO, where the processor \
    itself moves each word, a disk read 64 KiB requests at 4.3 MB/s for 50% of two processors, with DMA and \
    an interrupt at the end at 19 MB/s for 3%: 85 times the time a byte. The bytes are the device's work \
    in both of today's ways; what polls today is the queue (io_uring_sqpoll) or the completion \
    (io_uring_iopoll), for the sake of latency.";
