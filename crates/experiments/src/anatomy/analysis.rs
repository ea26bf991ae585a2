//! Divides the time of requests into the phases between the kernel's tracepoints.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_record::{Anatomy, Phase, Record};
use halfpower_spec::{InOrder, JsonSchema};
use serde::Serialize;

use crate::data::ExperimentData;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The phases of a request's time, one row each.
    pub anatomy: Vec<AnatomyRow>,
}

/// Time that requests of one kind spend in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AnatomyRow {
    /// The phase, by the word of [`halfpower_record::Phase`]; `outside` is time that no tracepoint sees.
    pub phase: &'static str,
    /// Block size.
    pub bs_bytes: u64,
    /// Depth.
    pub iodepth: u32,
    /// Members of the target that take part.
    pub n: u32,
    /// Share of the mean latency.
    pub share: f64,
    /// Mean time in the phase, in nanoseconds.
    pub ns: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Where requests spend their time below the system call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct AnatomyAnswer {
    /// Why no request was traced; `null` if some were.
    pub untraced: Option<Untraced>,
    /// Each kind of request on the fewest members, by depth and block size.
    pub requests: Vec<RequestTime>,
    /// The first kind of request that the device cuts.
    pub cut: Option<CutRequests>,
    /// The deepest kind of request that a full driver returns.
    pub full: Option<ReturnedRequests>,
}

/// Why no request was traced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Untraced {
    /// No traced run was finished.
    NoRun,
    /// No request was traced on its whole way.
    NoWholeRequest,
    /// The kernel's tracing failed.
    Failed {
        /// The error message.
        why: String,
    },
}

/// The time of requests of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RequestTime {
    /// Depth.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Mean latency in nanoseconds, as the sum of the phases.
    pub latency_ns_mean: f64,
    /// Share of it spent in the device.
    pub device_share: f64,
    /// The longest of the other phases, and its share.
    pub next: Option<PhaseShare>,
}

/// A phase and its share of the latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PhaseShare {
    /// Name of the phase, as in the rows.
    pub phase: &'static str,
    /// Its share.
    pub share: f64,
}

/// Requests that the device takes in several parts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CutRequests {
    /// Block size.
    pub bs_bytes: u64,
    /// Cuts per request.
    pub share: f64,
}

/// Requests that a full driver returns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ReturnedRequests {
    /// Depth.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// How many times a request is returned, on average.
    pub times: f64,
}

/// Events are reported above this share of the requests: cut requests, and requests that a full driver returns.
const WORTH_SAYING: f64 = 0.01;
/// The phase that no tracepoint sees: latency before the first tracepoint and after the last.
pub(super) const OUTSIDE: &str = "outside";

/// A cell and the figures of its traced runs.
pub(super) struct Column<'a> {
    pub cell: &'a ExperimentCell<'a>,
    pub n: u32,
    /// Mean latency in nanoseconds and anatomy of each run.
    runs: Vec<(f64, &'a Anatomy)>,
    pub rows: Vec<AnatomyRow>,
}

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, AnatomyAnswer) {
    let columns = columns(data);
    if columns.is_empty() {
        let untraced = data.cells.iter().flat_map(|cell| &cell.records).find_map(|record| untraced(record));
        let answer = AnatomyAnswer { untraced: Some(untraced.unwrap_or(Untraced::NoRun)), ..AnatomyAnswer::default() };
        return (Rows::default(), answer);
    }
    (Rows { anatomy: columns.iter().flat_map(|column| column.rows.clone()).collect() }, answer(&columns))
}

/// The traced cells, sorted by members, depth and block size.
pub(super) fn columns<'a>(data: &'a ExperimentData) -> Vec<Column<'a>> {
    let mut columns: Vec<Column> = data.sound().filter_map(|cell| column(data, cell)).collect();
    columns.order_by_key(|column| (column.n, column.cell.workload.iodepth, column.cell.workload.bs));
    columns
}

fn untraced(record: &Record) -> Option<Untraced> {
    let trouble = record.anatomy.as_ref()?.trouble.clone();
    Some(trouble.map_or(Untraced::NoWholeRequest, |why| Untraced::Failed { why }))
}

fn column<'a>(data: &ExperimentData, cell: &'a ExperimentCell<'a>) -> Option<Column<'a>> {
    let seen = |record: &&'a Record| {
        let anatomy = record.anatomy.as_ref().filter(|anatomy| anatomy.requests > 0)?;
        (record.ios > 0).then(|| (record.latency.sum_ns() as f64 / record.latency.count() as f64, anatomy))
    };
    let runs: Vec<(f64, &Anatomy)> = cell.records.iter().filter_map(seen).collect();
    if runs.is_empty() {
        return None;
    }
    let n = match cell.workload.options.members {
        0 => data.environment.capabilities.members.max(1),
        members => members,
    };
    let mut rows = Vec::new();
    let mut add = |phase: &'static str, of: &dyn Fn(&(f64, &Anatomy)) -> f64| {
        let means: Vec<f64> = runs.iter().map(of).collect();
        let ns = Interval::of_means(&means);
        let bs_bytes = cell.workload.bs.0;
        let iodepth = cell.workload.iodepth;
        let low = ns.low.max(0.0);
        let high = ns.high;
        rows.push(AnatomyRow { phase, bs_bytes, iodepth, n, share: 0.0, ns: ns.value, low, high });
    };
    for phase in Phase::ALL {
        if runs.iter().any(|(_, anatomy)| anatomy.phases.iter().any(|time| time.phase == phase)) {
            add(phase.word(), &|(_, anatomy)| anatomy.mean_ns(phase));
        }
    }
    add(OUTSIDE, &|(latency_ns, anatomy)| (latency_ns - anatomy.total_ns()).max(0.0));
    let total_ns: f64 = rows.iter().map(|row| row.ns).sum();
    rows.iter_mut().for_each(|row| row.share = if total_ns > 0.0 { row.ns / total_ns } else { 0.0 });
    Some(Column { cell, n, runs, rows })
}

impl Column<'_> {
    fn total_ns(&self) -> f64 {
        self.rows.iter().map(|row| row.ns).sum()
    }

    pub fn share(&self, phase: &str) -> f64 {
        self.rows.iter().find(|row| row.phase == phase).map_or(0.0, |row| row.share)
    }

    fn request(&self) -> RequestTime {
        let others = self.rows.iter().filter(|row| row.phase != Phase::Device.word());
        let next = others.max_by(|one, other| one.share.total_cmp(&other.share));
        RequestTime {
            iodepth: self.cell.workload.iodepth,
            bs_bytes: self.cell.workload.bs.0,
            latency_ns_mean: self.total_ns(),
            device_share: self.share(Phase::Device.word()),
            next: next.map(|row| PhaseShare { phase: row.phase, share: row.share }),
        }
    }

    /// Mean number of events per request.
    fn each(&self, count: impl Fn(&Anatomy) -> u64) -> f64 {
        let all: f64 = self.runs.iter().map(|(_, anatomy)| anatomy.requests as f64).sum();
        self.runs.iter().map(|(_, anatomy)| count(anatomy) as f64).sum::<f64>() / all.max(1.0)
    }

    fn cut(&self) -> Option<CutRequests> {
        let share = self.each(|anatomy| anatomy.splits);
        (share > WORTH_SAYING).then_some(CutRequests { bs_bytes: self.cell.workload.bs.0, share })
    }

    fn full(&self) -> Option<ReturnedRequests> {
        let times = self.each(|anatomy| anatomy.requeues);
        let iodepth = self.cell.workload.iodepth;
        let bs_bytes = self.cell.workload.bs.0;
        (times > WORTH_SAYING).then_some(ReturnedRequests { iodepth, bs_bytes, times })
    }
}

fn answer(columns: &[Column]) -> AnatomyAnswer {
    let on_fewest = columns.iter().filter(|column| column.n == columns[0].n);
    AnatomyAnswer {
        untraced: None,
        requests: on_fewest.map(Column::request).collect(),
        cut: columns.iter().find_map(Column::cut),
        full: columns.iter().rev().find_map(Column::full),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Anatomy, Capabilities, Environment, Latency, Phase, PhaseTime, Record};
    use halfpower_spec::{Experiment, Pass, Question, Rw, Workload};

    use super::AnatomyRow;
    use crate::study_findings::{StudyFindings, analyse};

    /// Mean nanoseconds in each phase, for a single request; the latency has 2,000 more.
    const ALONE: [f64; 7] = [2000.0, 1000.0, 1000.0, 1000.0, 30_000.0, 1000.0, 2000.0];

    fn question() -> Question {
        Question { experiments: vec![Experiment::Anatomy], ..Question::about("d") }
    }

    fn anatomy(means: [f64; 7], scale: f64) -> Anatomy {
        let times = Phase::ALL.into_iter().zip(means);
        let phases = times.map(|(phase, mean_ns)| PhaseTime { phase, mean_ns: mean_ns * scale, requests: 1000 });
        Anatomy { requests: 1000, phases: phases.collect(), block_requests: 1000, ..Anatomy::default() }
    }

    fn record(workload: Workload, pass: Pass, repeat: u32, anatomy: Option<Anatomy>) -> Record {
        let mut latency = Latency::default();
        let total_ns = anatomy.as_ref().map_or(38_000.0, Anatomy::total_ns);
        (0..1000).for_each(|_| latency.add(total_ns as u64 + 2000));
        let disk = crate::built::disk("fixed=38us,rate=2GB/s");
        let mut record = crate::built::record(&disk, workload, repeat, pass, 1.0);
        record.run.experiment = Some(Experiment::Anatomy);
        Record { ios: 1000, latency, anatomy, ..record }
    }

    fn workload(bs_kib: u64, iodepth: u32, members: u32) -> Workload {
        let mut workload = crate::built::workload(Rw::Randread, halfpower_spec::Cache::Device, bs_kib, iodepth);
        workload.options.members = members;
        workload
    }

    /// A study of these workloads, three runs each; `of` gives the anatomy of a run.
    fn found(workloads: &[Workload], of: impl Fn(&Workload, u32) -> Option<Anatomy>) -> StudyFindings {
        let mut records = Vec::new();
        for workload in workloads {
            for repeat in 0..3 {
                records.push(record(*workload, Pass::Plain, repeat, None));
                records.push(record(*workload, Pass::Traced, repeat, of(workload, repeat)));
            }
        }
        let capabilities = Capabilities { members: 2, ..Capabilities::default() };
        analyse(&question(), &Environment { capabilities, ..Environment::default() }, &records)
    }

    #[track_caller]
    fn row(findings: &StudyFindings, phase: &str, iodepth: u32, n: u32) -> AnatomyRow {
        let rows = &findings.rows.anatomy.anatomy;
        *rows.iter().find(|row| (row.phase, row.iodepth, row.n) == (phase, iodepth, n)).expect("there is such a row")
    }

    #[test]
    fn known_phases_come_back_with_their_shares_and_intervals() {
        let scales = [0.99, 1.0, 1.01];
        let findings = found(&[workload(4, 1, 1), workload(4, 16, 0)], |workload, repeat| {
            let scale = scales[repeat as usize] * f64::from(workload.iodepth);
            Some(anatomy(ALONE, scale))
        });
        assert_eq!(findings.rows.anatomy.anatomy.len(), 2 * 8);
        for (phase, mean_ns) in Phase::ALL.into_iter().zip(ALONE) {
            let found = row(&findings, phase.word(), 1, 1);
            assert!((found.ns / mean_ns - 1.0).abs() < 1e-6, "{found:?}");
            assert!(found.low < found.ns && found.ns < found.high, "{found:?}");
            assert!((found.share - mean_ns / 40_000.0).abs() < 1e-3, "{found:?}");
        }
        assert!((row(&findings, "device", 16, 2).ns / 1e3 - 480.0).abs() < 1e-6, "0 members are all of them");
        let outside = row(&findings, "outside", 1, 1);
        assert!((outside.ns / 1e3 - 2.0).abs() < 0.1, "{outside:?}");
        for columns in findings.rows.anatomy.anatomy.chunks(8) {
            assert!((columns.iter().map(|row| row.share).sum::<f64>() - 1.0).abs() < 1e-9);
        }
        let reported = &findings.experiments[0];
        assert!(
            reported.answer.starts_with("One at a time, a request of 4 KiB takes 40 µs (75% in the device"),
            "{reported:?}"
        );
        let short = reported.short.as_ref().unwrap();
        assert_eq!(short.figure, "75% in the device");
        assert!(short.sentence.starts_with("One at a time, a request of 4 KiB takes 40 µs, "), "{short:?}");
        assert_eq!(reported.pictures[0].lines.len(), 8);
    }

    #[test]
    fn cuts_and_a_full_driver_are_told() {
        let findings = found(&[workload(1024, 16, 0)], |_, _| {
            Some(Anatomy { splits: 400, requeues: 300, block_requests: 1400, ..anatomy(ALONE, 1.0) })
        });
        let answer = &findings.experiments[0].answer;
        assert!(answer.contains("less than 1 MiB at once: 40% are cut"), "{answer}");
        assert!(answer.contains("the driver is full"), "{answer}");
        let quarters = found(&[workload(1024, 16, 0)], |_, _| {
            Some(Anatomy { splits: 3000, block_requests: 4000, ..anatomy(ALONE, 1.0) })
        });
        let answer = &quarters.experiments[0].answer;
        assert!(answer.contains("less than 1 MiB at once: a request is cut 3.0 times on the average"), "{answer}");
    }

    #[test]
    fn a_phase_that_was_not_passed_is_no_row() {
        let without_ring = |_: &Workload, _| {
            let mut anatomy = anatomy(ALONE, 1.0);
            anatomy.phases.retain(|time| ![Phase::Submit, Phase::Completion].contains(&time.phase));
            Some(anatomy)
        };
        let findings = found(&[workload(4, 1, 0)], without_ring);
        let phases: Vec<&str> = findings.rows.anatomy.anatomy.iter().map(|row| row.phase).collect();
        assert_eq!(phases, ["queue", "plug", "scheduler", "device", "interrupt", "outside"]);
    }

    #[test]
    fn a_trace_that_could_not_be_read_is_said() {
        let findings = found(&[workload(4, 1, 0)], |_, _| {
            Some(Anatomy { trouble: Some("the buffer of processor 1 cannot be read".into()), ..Anatomy::default() })
        });
        assert!(findings.rows.anatomy.anatomy.is_empty());
        assert!(findings.experiments[0].answer.contains("processor 1"), "{}", findings.experiments[0].answer);
        let nothing = found(&[workload(4, 1, 0)], |_, _| None);
        assert!(nothing.experiments[0].answer.contains("no traced run"), "{}", nothing.experiments[0].answer);
    }
}
