//! Converts fio's percentiles or bins to latencies.

use halfpower_record::Latency;

use super::document::{Side, Span};
use crate::foreign_run::whole;

/// What is known of the latency of some requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    /// Whether any latency is known.
    pub has_latency: bool,
    /// The known percentiles; `None` if all are known.
    pub percentiles: Option<Vec<f64>>,
    /// Whether it counts from after submission.
    pub after_submission: bool,
}

impl Known {
    /// What is known of both together.
    pub fn of_both(one: &Self, other: &Self) -> Self {
        let percentiles = match (&one.percentiles, &other.percentiles) {
            (Some(one), Some(other)) => Some(one.iter().copied().filter(|percent| other.contains(percent)).collect()),
            (one, other) => one.clone().or(other.clone()),
        };
        Self {
            has_latency: one.has_latency && other.has_latency,
            percentiles,
            after_submission: one.after_submission || other.after_submission,
        }
    }
}

/// The latencies of a side's requests: from before submission if fio lists that, else from after submission.
pub fn known(side: &Side, ios: u64) -> (Latency, Known) {
    let spans = [(side.lat_ns.as_ref(), false), (side.clat_ns.as_ref(), true)];
    let reported =
        || spans.iter().filter_map(|(span, after)| Some((span.filter(|span| span.count != Some(0.0))?, *after)));
    let listed = reported().find(|(span, _)| !span.percentile.is_empty() || !span.bins.is_empty());
    let Some((span, after_submission)) = listed.or_else(|| reported().next()) else {
        return (Latency::default(), Known::default());
    };
    let (latency, percentiles) = latency(span, ios);
    let has_latency = latency.count() > 0;
    (latency, Known { has_latency, percentiles, after_submission })
}

/// The latencies and the percentiles at which they are known; `None` means all.
fn latency(span: &Span, ios: u64) -> (Latency, Option<Vec<f64>>) {
    let (Some(min_ns), Some(max_ns)) = (whole(span.min), whole(span.max)) else {
        return (Latency::default(), None);
    };
    let by_number = |(key, value): (&String, &f64)| Some((key.parse::<f64>().ok()?, whole(*value)?));
    if !span.bins.is_empty() {
        let bins: Vec<(u64, u64)> =
            span.bins.iter().filter_map(by_number).filter_map(|(ns, count)| Some((whole(ns)?, count))).collect();
        let total = bins.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        // With an implausible total, the bins count something other than requests.
        return match whole(total as f64) {
            Some(_) => (Latency::of_bins(&bins, [min_ns, max_ns], span.mean), None),
            None => (Latency::default(), None),
        };
    }
    let mut listed: Vec<(f64, u64)> = span.percentile.iter().filter_map(by_number).collect();
    listed.retain(|(percent, _)| (0.0..=100.0).contains(percent));
    listed.sort_by(|one, other| one.0.total_cmp(&other.0));
    let count = span.count.and_then(whole).unwrap_or(ios);
    let latency = Latency::of_percentiles(count, [min_ns, max_ns], span.mean, &listed);
    (latency, Some(listed.into_iter().map(|(percent, _)| percent).collect()))
}
