//! Draws latency against rate for random requests of one size: what more depth buys, and what it costs.
//!
//! The chart is SVG and text placed by percent, like the other charts of the first screen.

use halfpower_analyse::CellFinding;
use halfpower_experiments::StudyFindings;
use halfpower_spec::format::{size, thousands, time_ns};
use halfpower_spec::{Direction, InOrder, Pattern};
use maud::{Markup, html};

use crate::html::scale::{LinearScale, LogScale};

/// Least number of depths that show where a knee is.
const DEPTHS: usize = 3;
/// An advertised peak up to this multiple of the highest rate still fits on the scale.
const PAP_IN_SIGHT: f64 = 2.0;
/// Least distance between two labels of depths, in percent of the width and of the height.
const LABEL_ROOM: (f64, f64) = (8.0, 6.0);

/// The depths of random requests of one size, in one direction.
pub(crate) struct KneeChart<'a> {
    pub rw: Direction,
    bs_bytes: u64,
    /// By depth.
    points: Vec<KneePoint<'a>>,
    rate: LinearScale,
    latency: LogScale,
    pap_iops: Option<f64>,
}

/// One depth.
struct KneePoint<'a> {
    cell: &'a CellFinding,
    p50_ns: f64,
    p99_ns: Option<f64>,
}

impl<'a> KneePoint<'a> {
    /// `None` if its latency is not known, or if it tells nothing of the device.
    fn of(cell: &'a CellFinding) -> Option<Self> {
        let p50_ns = cell.latency_ns.p50.filter(|ns| *ns > 0)? as f64;
        let p99_ns = cell.latency_ns.p99.filter(|ns| *ns > 0).map(|ns| ns as f64);
        cell.usable().then_some(Self { cell, p50_ns, p99_ns })
    }

    /// Kleinrock's power: rate by latency. It is highest at the knee.
    fn power(&self) -> f64 {
        self.cell.iops / self.p50_ns
    }
}

impl<'a> KneeChart<'a> {
    /// The depths of the small random requests of the first screen; `None` if too few were measured.
    pub fn of(study: &'a StudyFindings, rw: Direction) -> Option<Self> {
        let rows = &study.summary.how_fast;
        let small =
            rows.iter().find(|row| row.cell.rw == rw && row.cell.pattern == Pattern::Random && row.role.is_small())?;
        let same = |cell: &&CellFinding| {
            let of_path = cell.settings.path() == small.cell.path() && cell.threads == small.cell.threads;
            of_path && cell.bs_bytes == small.cell.bs_bytes
        };
        let mut points: Vec<KneePoint> = study.cells.iter().filter(same).filter_map(KneePoint::of).collect();
        points.order_by_key(|point| point.cell.iodepth);
        points.dedup_by_key(|point| point.cell.iodepth);
        if points.len() < DEPTHS {
            return None;
        }
        let bs_bytes = small.cell.bs_bytes;
        let of_path = |curve: &&halfpower_analyse::Curve| curve.path == small.cell.path();
        let pap_iops = study.curves.iter().filter(of_path).find_map(|curve| {
            let share = curve.rap_over_pap.filter(|share| *share > 0.0)?;
            Some(curve.peak_mbps / share * 1e6 / bs_bytes as f64)
        });
        let highest = points.iter().map(|point| point.cell.iops).fold(0.0, f64::max);
        let in_sight = pap_iops.filter(|pap| *pap <= PAP_IN_SIGHT * highest).unwrap_or(0.0);
        let times: Vec<f64> = points.iter().flat_map(|point| [Some(point.p50_ns), point.p99_ns]).flatten().collect();
        let rate = LinearScale::up_to(highest.max(in_sight));
        Some(Self { rw, bs_bytes, points, rate, latency: LogScale::over(&times), pap_iops })
    }

    /// What it shows, in short.
    pub fn name(&self) -> String {
        format!("Latency of {} {}s", size(self.bs_bytes as f64), self.rw)
    }

    /// Horizontal position of a rate, in percent.
    fn x(&self, iops: f64) -> f64 {
        100.0 - self.rate.percent(iops)
    }

    fn line(&self, at: impl Fn(&KneePoint) -> Option<f64>) -> String {
        let place = |point: &KneePoint| {
            let y = self.latency.percent(at(point)?);
            Some(format!("{:.0},{:.0}", 10.0 * self.x(point.cell.iops), 10.0 * y))
        };
        self.points.iter().filter_map(place).collect::<Vec<_>>().join(" ")
    }

    fn knee(&self) -> &KneePoint<'a> {
        let highest = self.points.iter().max_by(|one, other| one.power().total_cmp(&other.power()));
        highest.expect("a chart has points")
    }

    /// Half of the highest rate.
    fn half_iops(&self) -> f64 {
        self.points.iter().map(|point| point.cell.iops).fold(0.0, f64::max) / 2.0
    }
}

/// The chart, as a panel of the first screen.
pub(crate) fn knee_chart(chart: &KneeChart) -> Markup {
    html! {
        div.panel.{ "panel-knee-" (chart.rw) } {
            p.says {
                "Random, more depth to the right: the median, and dotted p99. The knee is at " (chart.knee().cell.iodepth) " deep."
            }
            div.stage.rates-across {
                div.unit { "Latency" }
                (ground(chart.rate, chart.latency))
                div.plane {
                    svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true" {
                        polyline.line.tail points=(chart.line(|point| point.p99_ns)) {}
                        polyline.line.middle points=(chart.line(|point| Some(point.p50_ns))) {}
                    }
                    (rules(chart))
                    (marks(chart))
                }
            }
        }
    }
}

/// The grid, with times on the left and rates below, every other of which a narrow page leaves out.
pub(crate) fn ground(rate: LinearScale, latency: LogScale) -> Markup {
    let ticks = rate.ticks();
    html! {
        div.ground aria-hidden="true" {
            @for tick in latency.ticks() {
                div.rule style={ "top:" (percent(latency.percent(tick))) } { span { (time_ns(tick)) } }
            }
            @for (place, tick) in ticks.iter().enumerate() {
                @let is_spare = (ticks.len() - place).is_multiple_of(2);
                div.size.spare[is_spare] style={ "left:" (percent(100.0 - rate.percent(*tick))) } { (thousands(*tick)) @if place + 1 == ticks.len() { " IOPS" } }
            }
        }
    }
}

/// Half of the highest rate, and the narrowest advertised peak.
fn rules(chart: &KneeChart) -> Markup {
    let half = chart.half_iops();
    html! {
        @if let Some(pap) = chart.pap_iops {
            @let words = format!("PAP {} IOPS", thousands(pap));
            @if chart.rate.is_beyond(pap) {
                p.beyond-right { (words) ", beyond this scale" }
            } @else {
                div.upright.of-pap style={ "left:" (percent(chart.x(pap))) } { span { (words) } }
            }
        }
        div.upright.of-half style={ "left:" (percent(chart.x(half))) } { span { "half power: " (thousands(half)) " IOPS" } }
    }
}

/// The depths, with their numbers where there is room.
fn marks(chart: &KneeChart) -> Markup {
    let knee = chart.knee().cell.iodepth;
    let mut labelled: Option<(f64, f64)> = None;
    let mut has_room = |x: f64, y: f64| {
        let is_free =
            labelled.is_none_or(|(left, top)| (x - left).abs() >= LABEL_ROOM.0 || (y - top).abs() >= LABEL_ROOM.1);
        if is_free {
            labelled = Some((x, y));
        }
        is_free
    };
    let placed: Vec<(&KneePoint, f64, f64, bool)> = chart
        .points
        .iter()
        .map(|point| (point, chart.x(point.cell.iops), chart.latency.percent(point.p50_ns)))
        .map(|(point, x, y)| (point, x, y, has_room(x, y)))
        .collect();
    html! {
        @for (point, x, y, is_labelled) in &placed {
            i.mark.open[point.cell.runs < 2 || !point.cell.steady].knee[point.cell.iodepth == knee]
                style={ "left:" (percent(*x)) ";top:" (percent(*y)) } title=(told(point)) {}
            @if *is_labelled {
                span.depth.under.before[*x > 80.0] aria-hidden="true" style={ "left:" (percent(*x)) ";top:" (percent(*y)) } {
                    (point.cell.iodepth) " deep"
                }
            }
        }
    }
}

/// A depth in one line of text.
fn told(point: &KneePoint) -> String {
    let p99 = point.p99_ns.map_or_else(String::new, |ns| format!(", p99 {}", time_ns(ns)));
    let runs = crate::words::settings::count(point.cell.runs, "run");
    let iops = thousands(point.cell.iops);
    format!("{} deep: {iops} IOPS, p50 {}{p99}, {runs}", point.cell.iodepth, time_ns(point.p50_ns))
}

pub(crate) fn percent(value: f64) -> String {
    format!("{value:.2}%")
}
