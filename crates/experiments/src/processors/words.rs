//! Says what `processors` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "What do several processors bring, and does it matter on which one requests are submitted?";
pub(super) const PAPERS: &str = "In 2000 two processors gave no more throughput than one, since the disks were the limit, at a little more \
    processor time for keeping them in step, and Windows let one adapter run a single deferred interrupt at a \
    time. Disks without arms can be faster than one processor, and queues of their own take each processor's \
    interrupts to where its requests came from; where a device has one queue, the processor that takes its \
    interrupts still does work for all.";
