//! Sums the processors' time of a cell's plain runs, by kind.

use halfpower_record::{CpuTimes, Record, Unknown};
use halfpower_spec::Pass;

/// The processors' time of a cell's plain runs, summed, in nanoseconds; and the load of the idle machine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Processors {
    pub span_ns: f64,
    pub charged_ns: f64,
    /// User and system time of the whole machine.
    pub own_kinds_ns: f64,
    pub irq_ns: f64,
    pub softirq_ns: f64,
    /// Processors that the idle machine keeps busy, from the soaker's pass.
    pub idle_cores: Option<f64>,
}

impl Processors {
    pub fn of(records: &[&Record]) -> Self {
        let mut sum = Self::default();
        let tells = |record: &&&Record| {
            let counted = !record.cpu.machine.is_empty() && record.knows(Unknown::ChargedTime);
            record.run.pass == Pass::Plain && counted
        };
        for Record { cpu, .. } in records.iter().filter(tells) {
            let all = |of: fn(&CpuTimes) -> u64| cpu.machine.iter().map(|times| of(times) as f64).sum::<f64>();
            sum.span_ns += cpu.span_ns as f64;
            sum.charged_ns += cpu.user_ns as f64 + cpu.system_ns as f64;
            sum.own_kinds_ns += all(|times| times.user_ns) + all(|times| times.system_ns);
            sum.irq_ns += all(|times| times.irq_ns);
            sum.softirq_ns += all(|times| times.softirq_ns);
        }
        let idle = |record: &&Record| {
            let soaker = record.cpu.soaker.as_ref()?;
            let busy_share = (1.0 - soaker.baseline_share).clamp(0.0, 1.0);
            (!record.cpu.machine.is_empty()).then_some(busy_share * record.cpu.machine.len() as f64)
        };
        sum.idle_cores = records.iter().find_map(idle).filter(|cores| cores.is_finite());
        sum
    }
}
