//! Finds the processor that has least time left, and what fills it: one full processor may stop a path while others idle.

use std::collections::BTreeSet;

use halfpower_record::{CpuTimes, Record, Unknown};
use halfpower_spec::{JsonSchema, Pass};
use serde::Serialize;

use crate::mean::quotient;

/// Share of its time from which one processor counts as full. The kernel counts in whole ticks.
const FULL: f64 = 0.95;
/// Share of its time in interrupts from which these, and not other programs, are what fills it.
const BY_INTERRUPTS: f64 = 0.25;

/// Accounts of the processors of one machine, of this end or of the far one: the span of each, and every processor's
/// times.
pub(crate) struct ProcessorAccounts<'a> {
    accounts: Vec<(u64, &'a [CpuTimes])>,
}

impl<'a> ProcessorAccounts<'a> {
    pub fn of(accounts: impl Iterator<Item = (u64, &'a [CpuTimes])>) -> Self {
        Self { accounts: accounts.collect() }
    }

    /// The number of processors; `None` without an account.
    pub fn processors(&self) -> Option<usize> {
        self.accounts.iter().map(|(_, machine)| machine.len()).max()
    }

    /// Their numbers: those of processors that are offline are left out.
    fn numbers(&self) -> BTreeSet<usize> {
        let of = |(_, machine): &(u64, &'a [CpuTimes])| {
            machine.iter().enumerate().map(|(place, times)| times.number_at(place)).collect::<Vec<_>>()
        };
        self.accounts.iter().flat_map(of).collect()
    }

    /// Time of the processor with this number as a share of all spans.
    pub fn share(&self, processor: usize, of: fn(&CpuTimes) -> u64) -> f64 {
        let span_ns: f64 = self.accounts.iter().map(|(span_ns, _)| *span_ns as f64).sum();
        let times = self.accounts.iter().filter_map(|(_, machine)| numbered(machine, processor));
        quotient(times.map(|times| of(times) as f64).sum(), span_ns).min(1.0)
    }

    /// The largest share of its time that a processor was busy or taken by a hypervisor.
    pub fn busiest_share(&self) -> f64 {
        let taken = |processor| self.share(processor, |times| times.busy_ns() + times.steal_ns);
        self.numbers().into_iter().map(taken).fold(0.0, f64::max)
    }
}

/// The times of the processor with this number, which mostly is its place.
fn numbered(machine: &[CpuTimes], number: usize) -> Option<&CpuTimes> {
    let at_its_place = machine.get(number).filter(|times| times.number_at(number) == number);
    at_its_place.or_else(|| {
        let mut all = machine.iter().enumerate();
        all.find(|(place, times)| times.number_at(*place) == number).map(|(_, times)| times)
    })
}

/// The processor that had least time left over a cell's plain runs, as shares of its time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BusiestProcessor {
    /// Its number.
    pub processor: usize,
    /// Share in user mode.
    pub user_share: f64,
    /// Share in kernel mode, interrupts left out.
    pub system_share: f64,
    /// Share in hardware interrupts.
    pub irq_share: f64,
    /// Share in deferred interrupts.
    pub softirq_share: f64,
    /// Share that a hypervisor took.
    pub steal_share: f64,
}

impl BusiestProcessor {
    /// Of the plain runs of one cell; `None` if none tells the time of each processor.
    pub(crate) fn of(records: &[&Record]) -> Option<Self> {
        let is_plain = |record: &Record| matches!(record.run.pass, Pass::Plain | Pass::Confirm);
        let tells = |record: &Record| is_plain(record) && record.knows(Unknown::ChargedTime) && record.origin.is_none();
        let telling = records.iter().filter(|record| tells(record)).map(|record| &record.cpu);
        let accounts = ProcessorAccounts::of(telling.map(|cpu| (cpu.span_ns, cpu.machine.as_slice())));
        let each = accounts.numbers().into_iter().map(|processor| Self {
            processor,
            user_share: accounts.share(processor, |times| times.user_ns),
            system_share: accounts.share(processor, |times| times.system_ns),
            irq_share: accounts.share(processor, |times| times.irq_ns),
            softirq_share: accounts.share(processor, |times| times.softirq_ns),
            steal_share: accounts.share(processor, |times| times.steal_ns),
        });
        each.max_by(|one, other| one.taken_share().total_cmp(&other.taken_share()))
    }

    /// Share of its time that is gone: busy, or taken by a hypervisor.
    pub fn taken_share(&self) -> f64 {
        (self.user_share + self.system_share + self.interrupt_share() + self.steal_share).min(1.0)
    }

    /// Share in interrupts, deferred ones included.
    pub fn interrupt_share(&self) -> f64 {
        self.irq_share + self.softirq_share
    }

    /// Whether it is full and interrupts are a large part of that, so that the run's own completions wait for it. A
    /// processor that other programs fill tells nothing of the path.
    pub(crate) fn is_full_of_interrupts(&self) -> bool {
        self.taken_share() >= FULL && self.interrupt_share() >= BY_INTERRUPTS
    }
}
