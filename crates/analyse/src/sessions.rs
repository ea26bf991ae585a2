//! Says how sure the figures of a study are that was measured in several sessions.
//!
//! Runs of one session share its layout, its process and its hour, so their interval is about that session alone. Over
//! sessions, the unit is the mean of a session, and the interval is Student's t over these means: it is of the highest
//! level that varies (T. Kalibera, R. Jones, Rigorous benchmarking in reasonable time, 2013). All else that a study says,
//! such as which cell is the best and what stops it, rests on its first session.

use std::borrow::Cow;
use std::collections::BTreeMap;

use halfpower_record::Record;
use halfpower_spec::Cache;

use crate::cells::{WITHIN, cells_after, gather};
use crate::mean::quotient;
use crate::{
    CellFinding, CellRate, CellSettings, Findings, Interval, LatencySummary, PathLevel, SessionCell, SessionsFinding,
    Sureness, UseRate,
};

/// The records of the first session: all of an ordinary study.
pub fn first_session(records: &[Record]) -> Cow<'_, [Record]> {
    if records.iter().all(|record| record.session == 0) {
        return Cow::Borrowed(records);
    }
    Cow::Owned(records.iter().filter(|record| record.session == 0).cloned().collect())
}

/// The findings of a first session, with the figures of `records` of all `asked` sessions where a cell has several.
pub(crate) fn over_sessions(
    mut findings: Findings,
    asked: u32,
    levels: &[PathLevel],
    records: &[Record],
    seconds: f64,
) -> Findings {
    let mut further: BTreeMap<u32, Vec<Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.session > 0) {
        further.entry(record.session).or_default().push(record.clone());
    }
    if asked < 2 && further.is_empty() {
        return findings;
    }
    let first = first_session(records);
    let sessions: Vec<Vec<CellFinding>> = further.values().map(|own| cells_after(levels, &first, own)).collect();
    let usual_mbps: BTreeMap<_, f64> = gather(levels, &first)
        .into_iter()
        .map(|cell| ((cell.finding.settings, cell.finding.engine), cell.usual_mbps))
        .collect();
    let of_sessions = |cell: &CellFinding| {
        let usual_mbps = *usual_mbps.get(&(cell.settings, cell.engine))?;
        SessionCell::of(cell, usual_mbps, &sessions)
    };
    let cells: Vec<SessionCell> = findings.cells.iter().filter_map(of_sessions).collect();
    for cell in &cells {
        cell.tell(&mut findings);
    }
    (findings.runs, findings.seconds) = (records.len(), seconds);
    let begun = usize::from(records.iter().any(|record| record.session == 0)) + further.len();
    findings.summary.sessions = Some(SessionsFinding { asked, begun, cells });
    findings
}

impl SessionCell {
    /// Puts its figures in the place of the first session's.
    fn tell(&self, findings: &mut Findings) {
        let is_it = |settings: &CellSettings| *settings == self.cell;
        for cell in findings.cells.iter_mut().filter(|cell| is_it(&cell.settings)) {
            self.tell_cell(cell);
        }
        let durable = |settings: &CellSettings| CellSettings { cache: Cache::None, ..*settings } == self.cell;
        for headline in &mut findings.headline {
            if is_it(&headline.cell) {
                (headline.mbps, headline.runs, headline.more_seconds) = (self.mbps, self.runs, None);
            }
            if durable(&headline.cell) && headline.durable_mbps.is_some() {
                headline.durable_mbps = Some(self.mbps);
            }
        }
        for row in &mut findings.summary.how_fast {
            if is_it(&row.cell) {
                self.tell_rate(&mut row.rate);
            }
            if durable(&row.cell) {
                row.durable.iter_mut().for_each(|rate| self.tell_rate(rate));
            }
        }
        for advice in findings.summary.what_to_set.uses.iter_mut().filter(|advice| is_it(&advice.cell)) {
            advice.measured.iter_mut().for_each(|rate| self.tell_use(rate));
        }
    }

    fn tell_cell(&self, cell: &mut CellFinding) {
        cell.iops = self.iops(cell.iops, cell.mbps.value).value;
        cell.mbps = self.mbps;
        cell.run_mbps.clone_from(&self.session_mbps);
        cell.within_5_percent = self.mbps.relative_reach() <= WITHIN;
        cell.runs = self.runs;
        let LatencySummary { p50, p99, p50_interval, p99_interval, .. } = cell.latency_ns;
        let (p50, p50_interval) = told(&self.session_latency_ns_p50, (p50, p50_interval));
        let (p99, p99_interval) = told(&self.session_latency_ns_p99, (p99, p99_interval));
        cell.latency_ns = LatencySummary { p50, p99, p50_interval, p99_interval, ..self.latency_ns };
    }

    fn tell_rate(&self, rate: &mut CellRate) {
        rate.iops = self.iops(rate.iops.value, rate.mbps.value);
        rate.mbps = self.mbps;
        rate.sureness = self.sureness();
        (rate.runs, rate.least_mbps, rate.most_mbps) = (self.runs, self.least_mbps, self.most_mbps);
        let p50 = (rate.latency_ns_p50, rate.latency_ns_p50_interval);
        let p99 = (rate.latency_ns_p99, rate.latency_ns_p99_interval);
        (rate.latency_ns_p50, rate.latency_ns_p50_interval) = told(&self.session_latency_ns_p50, p50);
        (rate.latency_ns_p99, rate.latency_ns_p99_interval) = told(&self.session_latency_ns_p99, p99);
    }

    fn tell_use(&self, rate: &mut UseRate) {
        rate.iops = self.iops(rate.iops, rate.mbps).value;
        rate.mbps = self.mbps.value;
        rate.sureness = self.sureness();
        (rate.latency_ns_p99, _) = told(&self.session_latency_ns_p99, (rate.latency_ns_p99, None));
    }

    fn sureness(&self) -> Sureness {
        Sureness::Within { share: self.mbps.relative_reach() }
    }

    /// Its rate in requests a second, from those and the MB/s of the first session: both count the same requests.
    fn iops(&self, first_iops: f64, first_mbps: f64) -> Interval {
        let scale = quotient(first_iops, first_mbps);
        let Interval { value, low, high } = self.mbps;
        Interval { value: value * scale, low: low * scale, high: high * scale }
    }
}

/// A latency over sessions with its interval; that of the first session, which is given, where not all sessions know it.
fn told(session_ns: &[f64], first: (Option<u64>, Option<Interval>)) -> (Option<u64>, Option<Interval>) {
    if session_ns.is_empty() {
        return first;
    }
    let interval = Interval::of_means(session_ns);
    (Some(interval.value.round() as u64), Some(interval))
}
