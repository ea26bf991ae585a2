//! Reads fio's distributions of random requests.

use halfpower_spec::{ParseError, RandomDistribution};

use super::take::{same_for_all, size};

/// Parses a `random_distribution`, such as `zipf:1.2` or `zoned_abs:60/20g:40/100g`.
///
/// # Errors
/// What of it halfpower does not have, and what to write.
pub(super) fn parse(value: &str) -> Result<RandomDistribution, String> {
    let ours = match value.split_once(':') {
        Some(("zoned", zones)) => format!("zoned:{}", same_for_all(zones)?),
        Some(("zoned_abs", zones)) => {
            let entries = same_for_all(zones)?.split(':').map(|entry| match entry.split_once('/') {
                Some((share, length)) => Ok(format!("{}/{}", share.trim(), size(length.trim())?.0)),
                None => Err(format!("`{entry}`: a zone has a share of the requests and a size, such as 60/20g")),
            });
            format!("zoned_abs:{}", entries.collect::<Result<Vec<_>, _>>()?.join(":"))
        }
        _ => value.to_string(),
    };
    ours.parse().map_err(|error: ParseError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_fio_s_sizes_and_are_those_of_all_directions() {
        let ours = |value: &str| parse(value).map(|distribution| distribution.to_string());
        assert_eq!(ours("zoned:60/10:30/20:8/30:2/40").as_deref(), Ok("zoned:60/10:30/20:8/30:2/40"));
        assert_eq!(ours("zoned:50/5:30/15:20/").as_deref(), Ok("zoned:50/5:30/15:20/80"));
        assert_eq!(
            ours("zoned_abs:60/20G:30/100GB:10/500g").as_deref(),
            Ok("zoned_abs:60/20GiB:30/100GiB:10/500GiB"),
            "fio's GB is a GiB"
        );
        assert_eq!(ours("zipf:1.2").as_deref(), Ok("zipf:1.2"));
        for (wrong, why) in [
            ("zoned:90/10:10/90,50/50:50/50", "reads and writes"),
            ("zoned:90/10", "make 100%"),
            ("zoned_abs:100", "60/20g"),
            ("normal:5", "normal is not built"),
        ] {
            assert!(ours(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }
}
