//! Says what `mirror` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "What do two copies give when they are read, and what do they take when they are written?";
pub(super) const PAPERS: &str = "In 2000 a 3ware TwinStor mirror read one 8 KiB request at random with each arm: 119 a second two deep, \
    where a stripe gave 99 and one disk 66, since two requests to a stripe meet on one disk half of the time. \
    Sequential reads gained from 256 KiB outstanding on, and writes ran slightly below one disk (Figures 33 \
    and 34). This mirror follows the same rule; which copy is nearer it does not know.";
