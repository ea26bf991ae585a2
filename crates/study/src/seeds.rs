//! Computes the seeds of runs and the order of equally urgent runs: pseudorandom, but the same for the same study.

use halfpower_spec::{Pass, Workload};

/// A hash of the arguments (FNV-1a over the text, finished as in SplitMix64). It is the same on every machine and in
/// every release, so that a resumed study continues as it would have.
pub(crate) fn seeded(seed: u64, workload: &Workload, pass: Pass, repeat: u32) -> u64 {
    let text = format!("{seed} {} {pass} {repeat}", workload.identity());
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    // Keep 48 bits: SQLite and JSON readers hold at most 63, and people read and type seeds.
    mixed(hash) >> 16
}

/// Mixes the bits, so that each result bit depends on every input bit (the finish of SplitMix64).
pub(crate) fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_by_every_argument() {
        let workload = Workload::default();
        let deeper = Workload { iodepth: 9, ..workload };
        let seeds = [
            seeded(1, &workload, Pass::Plain, 0),
            seeded(2, &workload, Pass::Plain, 0),
            seeded(1, &deeper, Pass::Plain, 0),
            seeded(1, &workload, Pass::Soaker, 0),
            seeded(1, &workload, Pass::Plain, 1),
        ];
        for (index, seed) in seeds.iter().enumerate() {
            assert!(!seeds[..index].contains(seed));
        }
    }
}
