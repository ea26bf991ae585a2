//! Draws what `processors` measured: rates and both bounds of the cost, by affinity.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Affinity, Workload};

use super::analysis::AffinityCells;
use super::rows::Rows;
use super::words::reads;
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(data: &ExperimentData, _: &Rows) -> Vec<Picture> {
    let seats = AffinityCells::of(data);
    let rate = |work: &Workload, cell: &ExperimentCell| {
        let affinity = cell.workload.options.affinity;
        let Interval { value, low, high } = seats.rate(work, affinity, Affinity::All)?.interval;
        let [value, low, high] = [value, low, high].map(|share| share * 100.0);
        // The reference is 100% by definition, so it has no error.
        Some(if affinity == Affinity::All { Interval::exact(100.0) } else { Interval { value, low, high } })
    };
    let charged = |_: &Workload, cell: &ExperimentCell| Some(Interval::of_means(&cell.finding.run_charged_us));
    let soaker = |_: &Workload, cell: &ExperimentCell| cell.finding.soaker_us.map(Interval::exact);
    let pictures = [
        bars(&seats, "Rate by where requests are submitted", "% of the rate on all", &rate),
        bars(&seats, "Processor time a request, charged", "µs", &charged),
        bars(&seats, "Processor time a request, by the soaker", "µs", &soaker),
    ];
    pictures.into_iter().flatten().collect()
}

/// Bars by affinity, one colour per kind of work.
fn bars(
    seats: &AffinityCells,
    title: &str,
    unit: &str,
    value: &dyn Fn(&Workload, &ExperimentCell) -> Option<Interval>,
) -> Option<Picture> {
    let line = |work: &Workload| {
        let point = |seat: &Affinity| Some(Point::named(seat.word(), value(work, seats.on(work, *seat)?)?));
        let points: Vec<Point> = Affinity::ALL.iter().filter_map(point).collect();
        (!points.is_empty())
            .then(|| Line { name: reads(work.rw.pattern(), work.cache, work.bs.0, work.threads), points })
    };
    let lines: Vec<Line> = seats.work().iter().filter_map(line).collect();
    let (x, y) = (Axis::even("Processors that submit"), Axis::even(unit));
    (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Bars, x, y, lines })
}
