//! Writes the effect and cost of each part of issuing, as cells of a table.

use halfpower_analyse::Interval;
use halfpower_experiments::{IssuingChange, IssuingPart, RatioFinding, RatioVerdict, issuing_part};
use halfpower_spec::{Bytes, Cache, Direction, format, path_words};

use crate::words::settings::capitalised;

/// Heading of the table.
pub(crate) const HEADING: &str = "What issuing costs and brings";

/// The largest block size whose rate is given in requests a second.
const SMALL: Bytes = Bytes(16 << 10);

/// The kind of request: `Random direct read, 4 KiB, 32 deep`.
pub(crate) fn work(found: &IssuingChange) -> String {
    capitalised(&requests(found))
}

fn requests(found: &IssuingChange) -> String {
    let path = path_words(found.pattern, Cache::Device, found.rw);
    format!("{path}, {}, {} deep", format::size(found.bs_bytes as f64), found.iodepth)
}

/// The changed part.
pub(crate) fn part(found: &IssuingChange) -> String {
    match found.change {
        IssuingPart::Batch(0) => "all in one call".to_string(),
        part => issuing_part(part),
    }
}

/// The kind of request that these rows share, and its memory segments if the pages of buffers are compared.
pub(crate) fn work_of_rows(rows: &[IssuingChange]) -> String {
    let turned = |row: &IssuingChange| {
        let memory = matches!(row.change, IssuingPart::HugePages | IssuingPart::OrdinaryPages);
        let (without, with) = row.without_segments.zip(row.with_segments).filter(|_| memory)?;
        let pages = if row.change == IssuingPart::HugePages { "huge" } else { "ordinary" };
        Some(format!(", in {}, in {pages} pages in {}", segments(without), number_of(with)))
    };
    let lie = rows.iter().find_map(turned).unwrap_or_default();
    rows.first().map(|row| work(row) + &lie).unwrap_or_default()
}

/// The number of physical memory segments of a request's buffer: `8.0 segments`.
pub(crate) fn segments(count: f64) -> String {
    match number_of(count).as_str() {
        "1" => "1 segment".to_string(),
        count => format!("{count} segments"),
    }
}

fn number_of(segments: f64) -> String {
    if segments == 1.0 { "1".to_string() } else { format::two_digits(segments) }
}

/// The gain from other buffer pages for direct requests, if it is large.
pub(crate) struct OtherPages {
    /// The pages that the buffers are in now: `ordinary`.
    pub(crate) own: &'static str,
    /// The other pages and their flag: `huge pages (--iomem huge)`.
    pub(crate) other: &'static str,
    /// The rate from the other pages and from these: `5,494 MB/s instead of 1,108 MB/s`.
    pub(crate) change: String,
    /// The throughput from the other pages, in MB/s.
    pub(crate) mbps: f64,
    /// `in huge pages (--iomem huge) 5,494 MB/s instead of 1,108 MB/s (sequential direct read, 256 KiB, 8 deep; each in 1
    /// segment of memory instead of 64)`.
    pub(crate) reported: String,
}

/// The gain from other pages for the direct requests of a direction; `None` if it is not large.
pub(crate) fn other_pages(found: &[IssuingChange], rw: Direction) -> Option<OtherPages> {
    let row = halfpower_experiments::other_pages(found, rw)?;
    let [without, with] = rates(row);
    let (own, other) = match row.change {
        IssuingPart::HugePages => ("ordinary", "huge pages (--iomem huge)"),
        _ => ("huge", "ordinary pages (--iomem pages)"),
    };
    let both = row.with_segments.zip(row.without_segments);
    let lie =
        both.map(|(with, without)| format!("; each in {} of memory instead of {}", segments(with), number_of(without)));
    let of = format!("{}{}", requests(row), lie.unwrap_or_default());
    Some(OtherPages {
        own,
        other,
        change: format!("{with} instead of {without}"),
        mbps: row.with_mbps.value,
        reported: format!("in {other} {with} instead of {without} ({of})"),
    })
}

/// The rate without the change and with it.
pub(crate) fn rates(found: &IssuingChange) -> [String; 2] {
    let rate = |iops: &Interval, mbps: &Interval| match Bytes(found.bs_bytes) <= SMALL {
        true => format::iops(iops.value),
        false => format::mbps(mbps.value),
    };
    [rate(&found.without_iops, &found.without_mbps), rate(&found.with_iops, &found.with_mbps)]
}

/// The effect, such as `+12% ±3%`, or that it is not decided, or that chance and effect cannot be told apart.
pub(crate) fn brings(times: Option<&RatioFinding>) -> String {
    let Some(times) = times else { return "unknown".to_string() };
    let RatioFinding { interval, verdict } = times;
    let percent = |factor: f64| format!("{:+.0}%", (factor - 1.0) * 100.0);
    if times.is_undecided() {
        return format!("not decided ({} to {})", percent(interval.low), percent(interval.high));
    }
    let change = percent(interval.value);
    let half = (interval.high - interval.low) / 2.0 * 100.0;
    match verdict {
        RatioVerdict::SingleRuns => format!("{change} (one run)"),
        RatioVerdict::Unclear => format!("unclear (±{half:.0}%)"),
        RatioVerdict::Alike | RatioVerdict::More | RatioVerdict::Less => format!("{change} ±{half:.0}%"),
    }
}

/// The cost per request without the change and with it, by both bounds: `4.6 to 9.1 µs`.
pub(crate) fn costs(found: &IssuingChange) -> [String; 2] {
    [found.without_us, found.with_us].map(|(charged_us, soaker_us)| match soaker_us {
        Some(soaker_us) if soaker_us > charged_us => {
            format!("{} to {} µs", format::two_digits(charged_us), format::two_digits(soaker_us))
        }
        _ => format!("{} µs", format::two_digits(charged_us)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_whose_interval_spans_a_factor_of_four_is_not_decided() {
        let of = |value: f64, low: f64, high: f64, verdict: RatioVerdict| {
            brings(Some(&RatioFinding { interval: Interval { value, low, high }, verdict }))
        };
        assert_eq!(of(1.12, 1.09, 1.15, RatioVerdict::More), "+12% ±3%");
        assert_eq!(of(25.0, 6.2, 98.0, RatioVerdict::More), "not decided (+520% to +9700%)");
        assert_eq!(of(1.5, 1.5, 1.5, RatioVerdict::SingleRuns), "+50% (one run)");
        assert_eq!(brings(None), "unknown");
    }
}
