//! Weighs what was seen whole for what the ends of slices cut.
//!
//! Of an operation that was in progress when tracing stopped, it is known when it began, and that it took longer than until
//! then. The longer operations take, the more of them are cut: what is seen whole alone tells of too few, and of too short
//! ones. So each operation that began in a slice counts, and one that was cut is shared out evenly to all that were in
//! progress for longer, whole ones and cut ones: Efron's redistribution to the right ("The two sample problem with censored
//! data", 1967), which is the estimate of Kaplan and Meier (1958).

/// The class of a latency: eight for each power of two.
pub(crate) fn class_of(latency_ns: u64) -> u64 {
    const STEPS: u32 = 3;
    let power = (latency_ns | ((2 << STEPS) - 1)).ilog2() - STEPS;
    (u64::from(power) << STEPS) + (latency_ns >> power)
}

/// What a class of latencies has: operations seen whole, and those cut after such a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WholeAndCut {
    pub(crate) whole: u64,
    pub(crate) cut: u64,
}

/// What each whole operation of a class stands for: itself, and a part of those that were cut earlier. Classes come with the
/// shortest latencies first. All add up to all operations, but for those cut last, of which none longer is known.
pub(crate) fn weights(classes: &[WholeAndCut]) -> Vec<f64> {
    let mut longer: u64 = classes.iter().map(|class| class.whole + class.cut).sum();
    let mut weight = 1.0;
    let one = |class: &WholeAndCut| {
        let of_this = weight;
        longer -= class.whole + class.cut;
        if longer > 0 {
            weight += weight * class.cut as f64 / longer as f64;
        }
        of_this
    };
    classes.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights_of(classes: &[(u64, u64)]) -> Vec<f64> {
        let classes: Vec<_> = classes.iter().map(|(whole, cut)| WholeAndCut { whole: *whole, cut: *cut }).collect();
        weights(&classes)
    }

    #[test]
    fn what_was_cut_is_shared_out_to_all_that_took_longer() {
        assert_eq!(weights_of(&[(5, 0), (3, 0)]), [1.0, 1.0]);
        // Two of four that went on after the first class were cut at once: each of the two others stands for two.
        assert_eq!(weights_of(&[(6, 2), (2, 0)]), [1.0, 2.0]);
        // What was cut last stays where it is, with what it got of others.
        assert_eq!(weights_of(&[(6, 1), (1, 0), (0, 1)]), [1.0, 1.5, 1.5]);
        assert!(weights_of(&[]).is_empty());
    }

    #[test]
    fn classes_rise_with_latencies_in_even_steps() {
        let latencies = [0, 7, 8, 9, 15, 16, 17, 18, 31, 32, 1000, 1_000_000, u64::MAX];
        let classes = latencies.map(class_of);
        assert!(classes.is_sorted(), "{classes:?}");
        assert_eq!([15, 16, 17, 18].map(class_of), [15, 16, 16, 17]);
        let per_power = (1024..2048).map(class_of).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(per_power.len(), 8);
    }

    /// Latencies that are known, seen through slices that begin at random: means and rates come out, which those of whole ones
    /// alone do not.
    #[test]
    fn slices_of_a_load_whose_long_operations_are_rare_tell_its_rate_and_mean() {
        // Each 100 ms, one of 75 ms and 39 of 0.1 ms, one after the other and half a millisecond apart.
        let period: Vec<(u64, u64)> =
            std::iter::once((0, 75_000)).chain((0..39).map(|step| (75_500 + 600 * step, 100))).collect();
        let (rate, mean) = (40.0 / 0.1, (75_000.0 + 39.0 * 100.0) / 40.0);
        let slice = 170_000_u64;
        let mut classes = std::collections::BTreeMap::new();
        let mut whole = (0_u64, 0_u64);
        let slices = 1000_u64;
        for number in 0..slices {
            // Slices begin everywhere in a period alike.
            let from = number * 1_000_000 + number * 100_000 / slices;
            let to = from + slice;
            for at in from / 100_000..=to / 100_000 {
                for (begin, took) in period.iter().map(|(begin, took)| (at * 100_000 + begin, *took)) {
                    if !(from..to).contains(&begin) {
                        continue;
                    }
                    let is_whole = begin + took <= to;
                    let seen = took.min(to - begin);
                    let class: &mut (WholeAndCut, u64) =
                        classes.entry(class_of(seen)).or_insert((WholeAndCut { whole: 0, cut: 0 }, 0));
                    if is_whole {
                        class.0.whole += 1;
                        class.1 += seen;
                        whole = (whole.0 + 1, whole.1 + seen);
                    } else {
                        class.0.cut += 1;
                    }
                }
            }
        }
        let traced = slices as f64 * slice as f64 / 1e6;
        let all: Vec<WholeAndCut> = classes.values().map(|(class, _)| *class).collect();
        let weighed: f64 =
            weights(&all).iter().zip(classes.values()).map(|(weight, (_, sum))| weight * *sum as f64).sum();
        let count: u64 = all.iter().map(|class| class.whole + class.cut).sum();
        assert!((count as f64 / traced / rate - 1.0).abs() < 0.002, "{}", count as f64 / traced);
        assert!((weighed / count as f64 / mean - 1.0).abs() < 0.02, "{} of {mean}", weighed / count as f64);
        // What docs/method/watch.md says of those that were seen whole.
        let alone = [whole.0 as f64 / traced / rate, whole.1 as f64 / whole.0 as f64 / mean];
        assert!((alone[0] - 0.99).abs() < 0.005 && (alone[1] - 0.59).abs() < 0.01, "{alone:?}");
    }
}
