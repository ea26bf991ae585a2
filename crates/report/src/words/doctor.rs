//! Words of what settings cost.

use halfpower_record::{Basis, Cost};
use halfpower_spec::format::{thousands, time_ns};

/// What a finding costs, such as `up to half of reads`.
pub(crate) fn cost(cost: &Cost) -> String {
    match cost {
        Cost::Share { most, basis: Basis::Measured(_), .. } if *most <= 0.0 => "nothing (measured)".to_string(),
        Cost::Share { least, most, of, basis: Basis::Measured(_) } => {
            format!("{} of {of} (measured)", measured(*least, *most))
        }
        Cost::Share { least, most, of, basis } => format!("{} of {of}{}", share(*least, *most), elsewhere(basis)),
        Cost::Ceiling { bytes_per_s: Some(bytes), of, basis, .. } => {
            format!("all {of} above {} MB/s{}", thousands((bytes / 1e6).round()), elsewhere(basis))
        }
        Cost::Ceiling { requests_per_s: Some(requests), of, basis, .. } => {
            format!("all {of} above {} a second{}", thousands(requests.round()), elsewhere(basis))
        }
        Cost::Delay { ns, of, basis } => format!("up to {} for {of}{}", time_ns(*ns), elsewhere(basis)),
        Cost::Ceiling { .. } | Cost::Unknown => "unknown".to_string(),
    }
}

fn elsewhere(basis: &Basis) -> &'static str {
    match basis {
        Basis::Computed(_) => "",
        Basis::Published(_) => ", elsewhere",
        Basis::Measured(_) => " (measured)",
    }
}

/// The middle of an interval with its reach, such as `14% ±3`.
fn measured(least: f64, most: f64) -> String {
    if least <= 0.0 {
        return format!("at most {}%", (most * 100.0).ceil());
    }
    format!("{}% ±{}", figure((least + most) / 2.0), figure((most - least) / 2.0))
}

/// A share in percent without its sign; small ones have one more digit.
pub(crate) fn figure(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

fn share(least: f64, most: f64) -> String {
    let percent = |share: f64| match share * 100.0 {
        half if (half - 50.0).abs() < 0.5 => "half".to_string(),
        little if little < 1.0 => format!("{little:.1}%"),
        more => format!("{more:.0}%"),
    };
    match least {
        all if (all - most).abs() < 0.005 => percent(most),
        none if none < 0.005 => format!("up to {}", percent(most)),
        some => format!("{} to {}", percent(some), percent(most)),
    }
}

/// A number with its noun, such as `1 check` and `2 checks`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_short() {
        let computed = || Basis::Computed(String::new());
        let of = |least, most| Cost::Share { least, most, of: "reads".into(), basis: computed() };
        assert_eq!(cost(&of(0.0, 0.5)), "up to half of reads");
        assert_eq!(cost(&of(0.5, 0.5)), "half of reads");
        assert_eq!(cost(&of(0.5, 0.75)), "half to 75% of reads");
        let published =
            Cost::Share { least: 0.0, most: 0.83, of: "IOPS".into(), basis: Basis::Published(String::new()) };
        assert_eq!(cost(&published), "up to 83% of IOPS, elsewhere");
        let ceiling = |bytes_per_s, requests_per_s| Cost::Ceiling {
            bytes_per_s,
            requests_per_s,
            of: "writes".into(),
            basis: computed(),
        };
        assert_eq!(cost(&ceiling(Some(25e6), None)), "all writes above 25 MB/s");
        assert_eq!(cost(&ceiling(None, Some(2000.0))), "all writes above 2,000 a second");
        let delay = Cost::Delay { ns: 133e3, of: "a request that wakes a processor".into(), basis: computed() };
        assert_eq!(cost(&delay), "up to 133 µs for a request that wakes a processor");
        assert_eq!(cost(&Cost::Unknown), "unknown");
        let tried =
            |least, most| Cost::Share { least, most, of: "reads".into(), basis: Basis::Measured(String::new()) };
        assert_eq!(cost(&tried(0.12, 0.16)), "14% ±2.0 of reads (measured)");
        assert_eq!(cost(&tried(0.0, 0.012)), "at most 2% of reads (measured)");
        assert_eq!(cost(&tried(0.0, 0.0)), "nothing (measured)");
    }
}
