//! Sums up what a cell's records say of others at work while it was measured.

use halfpower_record::{CpuTimes, Record};

use crate::NoiseFinding;
use crate::mean::{quotient, some_mean};

/// What the records of a cell's runs tell, each share over those runs that tell it.
pub(crate) fn noise(records: &[&Record]) -> NoiseFinding {
    NoiseFinding {
        steal_share: share(records, |r| Some((steal_ns(r)?, machine_ns(r)))),
        pressure_io_share: share(records, |r| Some((r.noise.pressure_io_ns? as f64, r.cpu.span_ns as f64))),
        pressure_cpu_share: share(records, |r| Some((r.noise.pressure_cpu_ns? as f64, r.cpu.span_ns as f64))),
        foreign_share: share(records, |r| Some((r.foreign_bytes()? as f64, r.submitted_bytes()))),
        cpu_mhz: some_mean(records.iter().filter_map(|r| r.noise.cpu_mhz)),
    }
}

/// Sums of a part over sums of the whole; `None` where no record tells the part or there is no whole.
fn share(records: &[&Record], of: impl Fn(&Record) -> Option<(f64, f64)>) -> Option<f64> {
    let told: Vec<(f64, f64)> = records.iter().filter_map(|record| of(record)).collect();
    let (part, whole) = told.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (whole > 0.0).then(|| quotient(part, whole)).filter(|share| share.is_finite())
}

fn machine_ns(record: &Record) -> f64 {
    record.cpu.span_ns as f64 * record.cpu.machine.len() as f64
}

fn steal_ns(record: &Record) -> Option<f64> {
    let of = |times: &CpuTimes| times.steal_ns as f64;
    // Other tools' systems do not tell it.
    (!record.cpu.machine.is_empty() && record.origin.is_none()).then(|| record.cpu.machine.iter().map(of).sum())
}
