//! Tests whether a host comes last too often to be chance, for any distribution of the noise.
//!
//! If all hosts are equal, each of them is equally likely to take each place among the `k` hosts of a run. The sum of a
//! host's places over its runs then has a known distribution, exact for any number of runs and hosts (Friedman 1937
//! ranks within blocks in the same way). The only assumption about the noise is that it favours no host.

/// Runs from which the normal distribution replaces the exact one: a sum of uniform draws has shorter tails than it, so
/// the probability is too large, never too small.
const EXACT_RUNS: usize = 64;

/// The probability that a host among equal ones has places that add up to `sum` or less; `hosts` has the number of
/// hosts of each run, and place 1 is the slowest. Without runs it is 1.
pub(crate) fn probability(hosts: &[u32], sum: u64) -> f64 {
    let least = hosts.len() as u64;
    if sum < least {
        return 0.0;
    }
    let beyond = sum - least;
    if hosts.len() > EXACT_RUNS { normal(hosts, sum) } else { exact(hosts, beyond) }
}

/// Whether a host that is the slowest in all these runs counts as slow at this level.
pub(crate) fn can_tell(hosts: &[u32], level: f64) -> bool {
    !hosts.is_empty() && probability(hosts, hosts.len() as u64) <= level
}

/// Adds the runs one by one to the distribution of the sum of places, each counted from 0, up to `beyond`.
fn exact(hosts: &[u32], beyond: u64) -> f64 {
    let most: u64 = hosts.iter().map(|k| u64::from(k.saturating_sub(1))).sum();
    if beyond >= most {
        return 1.0;
    }
    let mut chances = vec![0.0; beyond as usize + 1];
    chances[0] = 1.0;
    for &k in hosts {
        let k = k.max(1) as usize;
        let mut within = 0.0;
        let before = chances.clone();
        for (place, chance) in chances.iter_mut().enumerate() {
            within += before[place];
            if place >= k {
                within -= before[place - k];
            }
            *chance = within / k as f64;
        }
    }
    chances.iter().sum::<f64>().clamp(0.0, 1.0)
}

/// The normal distribution of the same mean and variance, with a continuity correction of one half.
fn normal(hosts: &[u32], sum: u64) -> f64 {
    let mean: f64 = hosts.iter().map(|k| (f64::from(*k) + 1.0) / 2.0).sum();
    let variance: f64 = hosts.iter().map(|k| (f64::from(*k).powi(2) - 1.0) / 12.0).sum();
    if variance <= 0.0 {
        return 1.0;
    }
    let standard = statrs::distribution::Normal::standard();
    statrs::distribution::ContinuousCDF::cdf(&standard, (sum as f64 + 0.5 - mean) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_runs_have_the_chances_that_can_be_counted() {
        assert_eq!(probability(&[4, 4], 2), 1.0 / 16.0);
        assert_eq!(probability(&[4, 4], 3), 3.0 / 16.0);
        assert_eq!(probability(&[2, 3], 5), 1.0);
        assert_eq!(probability(&[4, 4], 1), 0.0);
        assert_eq!(probability(&[], 0), 1.0);
        assert!((probability(&[6; 2], 7) - 21.0 / 36.0).abs() < 1e-12, "two dice");
    }

    #[test]
    fn many_runs_go_over_into_the_normal_distribution_from_above() {
        for sum in [180, 200, 220, 300] {
            let hosts = [8; EXACT_RUNS];
            let exact = exact(&hosts, sum - 64);
            let normal = normal(&hosts, sum);
            assert!(normal >= exact * 0.98 && normal < exact * 3.0 + 1e-9, "{sum}: {exact} and {normal}");
        }
    }

    #[test]
    fn so_few_runs_that_chance_alone_could_do_it_prove_nothing() {
        assert!(!can_tell(&[4; 3], 0.05 / 8.0));
        assert!(can_tell(&[4; 4], 0.05 / 8.0));
        assert!(can_tell(&[1024; 2], 0.05 / 2048.0));
    }
}
