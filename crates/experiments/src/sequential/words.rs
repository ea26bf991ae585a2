//! Says what `sequential` asks and what the papers saw.

pub(super) const QUESTION: &str = "How fast is sequential access, by block size and depth, and from which block size on is it half as fast as it gets?";
pub(super) const PAPERS: &str = "Both studies walk block size and depth first. Their yardstick is the half-power point: the block size at which \
    an application gets half of the peak that the hardware advertises.";
