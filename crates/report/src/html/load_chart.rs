//! Draws latency against the rate of an open loop, with the bound on latency and the highest rate below it.
//!
//! The chart is SVG and text placed by percent, like the other charts of the first screen.

use halfpower_analyse::Interval;
use halfpower_experiments::StudyFindings;
use halfpower_experiments::load::{LoadRow, LoadVerdict, MostLoad};
use halfpower_spec::format::{size, thousands, time_ns};
use halfpower_spec::{Direction, LatencyBound, Percentile};
use maud::{Markup, html};

use crate::html::knee_chart::{ground, percent};
use crate::html::scale::{LinearScale, LogScale};
use crate::words::most_load::{found, is_known};
use crate::words::settings::count;

/// Least number of rates that make a line.
const RATES: usize = 2;

/// The rates of one kind and size of requests.
pub(crate) struct LoadChart<'a> {
    bound: LatencyBound,
    most: &'a MostLoad,
    /// Those that the target keeps up with, rising.
    rows: Vec<&'a LoadRow>,
    rate: LinearScale,
    latency: LogScale,
}

impl<'a> LoadChart<'a> {
    /// A chart for each kind and size whose rates make a line; none if nobody asked for the most load.
    pub fn all(study: &'a StudyFindings) -> Vec<Self> {
        let Some(answer) = found(study) else { return Vec::new() };
        answer.found.iter().filter_map(|most| Self::of(study, answer.bound, most)).collect()
    }

    fn of(study: &'a StudyFindings, bound: LatencyBound, most: &'a MostLoad) -> Option<Self> {
        let is_shown = |row: &&LoadRow| {
            let is_of_it = (row.rw, row.bs_bytes, row.write_percent) == (most.rw, most.bs_bytes, 0);
            is_of_it && row.keeps_up && row.latency_ns.value > 0.0 && row.latency_ns_p50 > 0
        };
        let rows: Vec<&LoadRow> = study.rows.load.load.iter().filter(is_shown).collect();
        if rows.len() < RATES {
            return None;
        }
        let times = rows.iter().flat_map(|row| [row.latency_ns.value, row.latency_ns_p50 as f64]);
        let times: Vec<f64> = times.chain([bound.most.0.max(1) as f64]).collect();
        let rates = rows.iter().map(|row| row.asked_iops as f64);
        let highest = rates.chain(most.iops.map(|iops| iops.high)).fold(0.0, f64::max);
        Some(Self { bound, most, rows, rate: LinearScale::up_to(highest), latency: LogScale::over(&times) })
    }

    /// Its anchor, such as `load-randread-4096`.
    pub fn id(&self) -> String {
        format!("load-{}-{}", self.most.rw, self.most.bs_bytes)
    }

    /// What it shows, in short.
    pub fn name(&self) -> String {
        let rw = self.most.rw.direction().unwrap_or(Direction::Read);
        format!("Most load of {} {rw}s", size(self.most.bs_bytes as f64))
    }

    /// The highest rate below the bound, if there is one.
    fn knee(&self) -> Option<Interval> {
        self.most.iops.filter(|_| self.most.verdict == LoadVerdict::Knee)
    }

    /// Horizontal position of a rate, in percent.
    fn x(&self, iops: f64) -> f64 {
        100.0 - self.rate.percent(iops)
    }

    fn line(&self, at: impl Fn(&LoadRow) -> f64) -> String {
        let place = |row: &&LoadRow| {
            let x = self.x(row.asked_iops as f64);
            format!("{:.0},{:.0}", 10.0 * x, 10.0 * self.latency.percent(at(row)))
        };
        self.rows.iter().map(place).collect::<Vec<_>>().join(" ")
    }
}

/// The chart, as a panel of the first screen.
pub(crate) fn load_chart(chart: &LoadChart) -> Markup {
    let percentile = chart.bound.percentile;
    html! {
        div.panel.{ "panel-" (chart.id()) } {
            p.says {
                "Requests that come whether or not earlier ones are done: " (percentile.name())
                @if percentile != Percentile::P50 { ", and dotted the median" } "."
            }
            div.stage.rates-across {
                div.unit { "Latency" }
                (ground(chart.rate, chart.latency))
                div.plane {
                    svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true" {
                        @if let Some(iops) = chart.knee() { polygon.ribbon points=(band(chart, iops)) {} }
                        @if percentile != Percentile::P50 {
                            polyline.line.tail points=(chart.line(|row| row.latency_ns_p50 as f64)) {}
                        }
                        polyline.line.middle points=(chart.line(|row| row.latency_ns.value)) {}
                    }
                    (rules(chart))
                    (marks(chart))
                }
            }
        }
    }
}

/// The interval of the highest rate, from top to bottom.
fn band(chart: &LoadChart, iops: Interval) -> String {
    let [low, high] = [iops.low, iops.high].map(|iops| 10.0 * chart.x(iops));
    format!("{low:.0},0 {high:.0},0 {high:.0},1000 {low:.0},1000")
}

/// The bound, and the highest rate below it, if that is known.
fn rules(chart: &LoadChart) -> Markup {
    let bound_ns = chart.bound.most.0.max(1) as f64;
    html! {
        div.half style={ "top:" (percent(chart.latency.percent(bound_ns))) } {
            span { (chart.bound.percentile.name()) " below " (time_ns(bound_ns)) }
        }
        @if let Some(iops) = chart.knee().filter(is_known) {
            div.upright style={ "left:" (percent(chart.x(iops.value))) } {
                span { "up to " (thousands(iops.value)) " a second" }
            }
        }
    }
}

fn marks(chart: &LoadChart) -> Markup {
    html! {
        @for row in &chart.rows {
            @let x = chart.x(row.asked_iops as f64);
            @let y = chart.latency.percent(row.latency_ns.value);
            i.mark.open[row.runs < 2] style={ "left:" (percent(x)) ";top:" (percent(y)) } title=(told(chart.bound, row)) {}
        }
    }
}

/// A rate in one line of text.
fn told(bound: LatencyBound, row: &LoadRow) -> String {
    let rate = thousands(row.asked_iops as f64);
    let latency = time_ns(row.latency_ns.value);
    let p50 = time_ns(row.latency_ns_p50 as f64);
    let runs = count(row.runs, "run");
    format!("{rate} a second: {} {latency}, median {p50}, {runs}", bound.percentile.name())
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Nanos, Rw};

    use super::*;

    #[test]
    fn a_rate_that_is_not_known_has_no_rule() {
        let ruled = |low: f64, high: f64| {
            let most = MostLoad {
                rw: Rw::Randread,
                bs_bytes: 4096,
                verdict: LoadVerdict::Knee,
                unknown: None,
                iops: Some(Interval { value: 41_200.0, low, high }),
                decided: true,
                takes_iops: 50_000.0,
                at: None,
                beside_writes: Vec::new(),
                began_faster: false,
            };
            let bound = LatencyBound { percentile: Percentile::P99, most: Nanos(1_000_000) };
            let rate = LinearScale::up_to(50_000.0);
            let latency = LogScale::over(&[1e5, 1e6]);
            let chart = LoadChart { bound, most: &most, rows: Vec::new(), rate, latency };
            rules(&chart).into_string()
        };
        assert!(ruled(39_500.0, 42_800.0).contains("up to 41,200 a second"));
        assert!(!ruled(9_000.0, 70_000.0).contains("up to"), "its interval is drawn, and no figure");
    }
}
