//! Sums up the records' evidence of other activity while a cell was measured.

use halfpower_record::{CpuTimes, Record};

use crate::NoiseFinding;
use crate::mean::{quotient, some_mean};

/// Noise of a cell from the records of its runs; each share covers the runs that report it.
pub(crate) fn noise(records: &[&Record]) -> NoiseFinding {
    NoiseFinding {
        steal_share: share(records, |r| Some((steal_ns(r)?, machine_ns(r)))),
        pressure_io_share: share(records, |r| Some((r.noise.pressure_io_ns? as f64, r.cpu.span_ns as f64))),
        pressure_cpu_share: share(records, |r| Some((r.noise.pressure_cpu_ns? as f64, r.cpu.span_ns as f64))),
        foreign_share: share(records, |r| Some((r.foreign_bytes()? as f64, r.submitted_bytes()))),
        cpu_mhz: some_mean(records.iter().filter_map(|r| r.noise.cpu_mhz)),
    }
}

/// Sum of the part over sum of the whole; `None` if no record has the part, or if the whole is 0.
fn share(records: &[&Record], of: impl Fn(&Record) -> Option<(f64, f64)>) -> Option<f64> {
    let reported: Vec<(f64, f64)> = records.iter().filter_map(|record| of(record)).collect();
    let (part, whole) = reported.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (whole > 0.0).then(|| quotient(part, whole)).filter(|share| share.is_finite())
}

fn machine_ns(record: &Record) -> f64 {
    record.cpu.span_ns as f64 * record.cpu.machine.len() as f64
}

fn steal_ns(record: &Record) -> Option<f64> {
    let of = |times: &CpuTimes| times.steal_ns as f64;
    // Results of other tools do not have it.
    (!record.cpu.machine.is_empty() && record.origin.is_none()).then(|| record.cpu.machine.iter().map(of).sum())
}
