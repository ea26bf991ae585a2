//! Where did the processors' time go that nobody was charged for? Cells enter, a share of each kind a path leaves.
//!
//! The kernel's account of the machine is in whole ticks, so a cell's own is coarse and only a path's is said. The
//! soaker ran in a pass of its own at another rate; its time a request is brought to the rate of the plain runs.

use record::{CpuTimes, Record};
use spec::Pass;

use crate::Attribution;
use crate::cells::{Gathered, quotient};
use crate::path::Path;

/// The processors' time of a cell's plain runs, summed, in nanoseconds; and what the idle machine spends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Processors {
    span_ns: f64,
    charged_ns: f64,
    own_kinds_ns: f64,
    irq_ns: f64,
    softirq_ns: f64,
    /// Processors that the idle machine keeps busy, from the soaker's pass.
    idle_cores: Option<f64>,
}

impl Processors {
    pub fn of(records: &[&Record]) -> Self {
        let mut sum = Self::default();
        let tells = |record: &&&Record| record.run.pass == Pass::Plain && !record.cpu.machine.is_empty();
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

/// One for each path whose plain runs have the machine's account.
pub(crate) fn attribution(gathered: &[Gathered], paths: &[Path<'_>]) -> Vec<Attribution> {
    let of_path = |path: &Path<'_>| {
        let same = |cell: &&Gathered| {
            let finding = &cell.finding;
            (finding.pattern, finding.rw, finding.cache) == (path.pattern, path.rw, path.cache) && finding.usable()
        };
        let told: Vec<&Gathered> = gathered.iter().filter(same).filter(|cell| cell.processors.span_ns > 0.0).collect();
        // Where the soaker had its pass, both bounds are said of the same cells.
        let soaked: Vec<&Gathered> = told.iter().copied().filter(|cell| cell.finding.unseen_us.is_some()).collect();
        attribute(path, if soaked.is_empty() { &told } else { &soaked })
    };
    paths.iter().filter_map(of_path).collect()
}

fn attribute(path: &Path<'_>, cells: &[&Gathered]) -> Option<Attribution> {
    let sum = |of: &dyn Fn(&Gathered) -> f64| cells.iter().map(|cell| of(cell)).sum::<f64>();
    let span_ns = sum(&|cell| cell.processors.span_ns);
    let cores = |of: fn(&Processors) -> f64| quotient(sum(&|cell| of(&cell.processors)), span_ns);
    let idle = quotient(sum(&|cell| cell.processors.idle_cores.unwrap_or(0.0) * cell.processors.span_ns), span_ns);
    let (charged, irq, softirq) = (cores(|p| p.charged_ns), cores(|p| p.irq_ns), cores(|p| p.softirq_ns));
    let elsewhere = (cores(|p| p.own_kinds_ns) - charged - idle).max(0.0);
    let unseen_ns = |cell: &Gathered| {
        let a_second = cell.finding.unseen_us.unwrap_or(0.0) * cell.finding.iops / 1e6;
        a_second * cell.processors.span_ns
    };
    let soaked = cells.iter().any(|cell| cell.finding.unseen_us.is_some());
    let soaker = soaked.then(|| charged + quotient(sum(&unseen_ns).max(0.0), span_ns));
    let known = charged + elsewhere + irq + softirq;
    (!cells.is_empty() && known.is_finite()).then(|| Attribution {
        path: path.words(),
        rw: path.rw,
        pattern: path.pattern,
        cache: path.cache,
        charged_cores: charged,
        elsewhere_cores: elsewhere,
        irq_cores: irq,
        softirq_cores: softirq,
        unattributed_cores: soaker.map(|soaker| (soaker - known).max(0.0)),
        soaker_cores: soaker,
        cells: cells.len(),
    })
}
