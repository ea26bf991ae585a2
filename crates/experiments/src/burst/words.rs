//! Says what `burst` asks and what the papers saw.

pub(super) const QUESTION: &str = "What do controller and link let through where no medium has to be waited for, and what does each request \
    cost in time?";
pub(super) const PAPERS: &str = "In 2000 blocks read again and again from the disks' own caches, two deep, brought a PCI bus of 133 MB/s to \
    98.5 MB/s with 1 MB requests and 83.6 with 64 KB, and a 3ware card to 58.9. In 1998 a request had about \
    0.58 ms of fixed time on older Barracuda disks and 0.3 ms on a newer one (Table 3), and a block that had \
    been prefetched came sooner than one that had just been read: some drives did not see that they had it. \
    What is the same: a fixed time that small requests pay in full. What is not: a drive without an arm may \
    keep no blocks at all, since its medium is nearly as fast as its link.";
