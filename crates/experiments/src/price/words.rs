//! Says what `price` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "What does the money buy: how many bytes, and how many accesses a second to kilobytes and to megabytes?";
pub(super) const PAPERS: &str = "In 2000 a Quantum Atlas 10K of $534 read 105 blocks of 8 KB a second at random, $5.09 each, and a Quantum \
    Fireball of $209 read 66, $3.17 each (Table 9); in MB/$ they had 34 and 124, in MAPS/$ 0.04 and 0.07 \
    (Table 10). Two and a half Fireballs cost as much as one Atlas and did 57% more. What is the same: the \
    fast device has to be worth its price by the access or by the byte. What is not: without an arm a device \
    gives many times more to many requests at once than to one, so that one deep is only half of it.";
