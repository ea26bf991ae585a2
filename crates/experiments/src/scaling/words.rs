//! Says what `scaling` asks and what the papers saw.

pub(super) const QUESTION: &str = "What does each added member bring, and where does a path that they share take over?";
pub(super) const PAPERS: &str = "In 2000 three Quantum Atlas 10K disks of 25 MB/s scaled on one SCSI bus (73 MB/s), and the PCI bus \
    stopped the fourth at 87 MB/s; the third and fourth brought writes 2.5 and 2.8 MB/s more (Figure 18). Four \
    Fireballs, each driven on its own, gave four times the random requests of one. In 1998 four disks \
    saturated an Ultra-Wide bus at 32 of its 40 MB/s. A stripe cost the processor next to nothing.";
