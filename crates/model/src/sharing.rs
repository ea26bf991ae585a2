//! Says how much longer computing takes where several share processors: the finite-source queue (machine repair model).
//!
//! Each of `n` customers rests for a time that is exponential, then computes, in turns with others, and rests again. Those that
//! compute have one processor each, while there are as many. The steady state follows from births and deaths: Kleinrock,
//! *Queueing Systems*, volume 1, chapter 3.8.

/// More customers than this queue as this many do.
const MOST: u32 = 4096;
/// Halvings of the logarithm of the load that gives a use.
const HALVINGS: u32 = 60;
/// Least and largest logarithm of computing over resting of a customer alone.
const LOADS: (f64, f64) = (-30.0, 30.0);

/// How many times as long computing takes as alone, where `customers` use `used` of `processors`, which need not be a whole
/// number. At least 1; where all processors are used, or more is asked for than they give, as if nobody rested.
pub fn lengthened(customers: u32, processors: f64, used: f64) -> f64 {
    let customers = customers.clamp(1, MOST);
    // One has no more than one processor.
    let most = processors.max(f64::MIN_POSITIVE).min(f64::from(customers));
    let all = f64::from(customers) / most;
    if used <= 0.0 || f64::from(customers) <= processors {
        return 1.0;
    }
    if used >= most {
        return all;
    }
    let (mut low, mut high) = LOADS;
    for _ in 0..HALVINGS {
        let load = f64::midpoint(low, high);
        if steady(customers, processors, load).0 < used { low = load } else { high = load }
    }
    let (used, computing) = steady(customers, processors, f64::midpoint(low, high));
    (computing / used).clamp(1.0, all)
}

/// Processors in use, and customers that compute or wait to, where the logarithm of a customer's computing over its resting
/// is `load`.
fn steady(customers: u32, processors: f64, load: f64) -> (f64, f64) {
    // Weights by their logarithms: they span more than a number does.
    let mut weight = 0.0_f64;
    let mut weights = vec![0.0];
    for computing in 1..=customers {
        let arrive = f64::from(customers - computing + 1).ln() + load;
        weight += arrive - f64::from(computing).min(processors).ln();
        weights.push(weight);
    }
    let top = weights.iter().copied().fold(f64::MIN, f64::max);
    let (mut sum, mut used, mut computing) = (0.0, 0.0, 0.0);
    for (count, weight) in (0_u32..).zip(weights) {
        let part = (weight - top).exp();
        sum += part;
        used += part * f64::from(count).min(processors);
        computing += part * f64::from(count);
    }
    (used / sum, computing / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, truth: f64) -> bool {
        (value / truth - 1.0).abs() < 1e-6
    }

    #[test]
    fn who_has_a_processor_of_its_own_waits_for_none() {
        for used in [0.0, 0.5, 1.0, 2.0, 9.0] {
            assert_eq!(lengthened(2, 2.0, used), 1.0);
            assert_eq!(lengthened(1, 1.5, used), 1.0);
        }
        assert_eq!(lengthened(64, 2.0, 0.0), 1.0);
    }

    #[test]
    fn two_share_one_processor_as_the_closed_form_says() {
        // Two customers, one processor, z = computing over resting: weights 1, 2z, 2z^2.
        for z in [0.1_f64, 0.5, 1.0, 4.0] {
            let sum = 1.0 + 2.0 * z + 2.0 * z * z;
            let used = (2.0 * z + 2.0 * z * z) / sum;
            let computing = (2.0 * z + 4.0 * z * z) / sum;
            let found = lengthened(2, 1.0, used);
            assert!(near(found, computing / used), "{z}: {found}");
        }
    }

    #[test]
    fn many_are_as_the_open_queue_and_a_full_machine_holds_all() {
        // M/M/1 at half load: twice as long; of 4,096 customers a little less.
        let found = lengthened(4096, 1.0, 0.5);
        assert!((1.99..2.0).contains(&found), "{found}");
        // M/M/2 with both half used: 1 / (1 - 0.25).
        let found = lengthened(4096, 2.0, 1.0);
        assert!((1.325..1.334).contains(&found), "{found}");
        assert_eq!(lengthened(8, 2.0, 2.0), 4.0);
        assert!((3.5..4.0).contains(&lengthened(8, 2.0, 1.999_999)));
        assert_eq!(lengthened(8, 2.0, 5.0), 4.0);
    }

    #[test]
    fn more_use_takes_longer_and_more_processors_take_less() {
        let of = |processors: f64, used: f64| lengthened(16, processors, used);
        for used in [0.2, 0.8, 1.4] {
            assert!(of(1.5, used) > of(2.0, used) && of(2.0, used) > of(2.5, used));
            assert!(of(2.0, used) < of(2.0, used + 0.1));
        }
    }
}
