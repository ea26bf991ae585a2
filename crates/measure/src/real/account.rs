//! Accounts for the processor time of a run: charged to the process, spent by the machine, and lost by the soaker.

use std::collections::BTreeSet;
use std::time::Instant;

use halfpower_os::processor::{self, Charged, Times};
use halfpower_os::trace::{self, Tracer};
use halfpower_record::{Anatomy, Cpu};
use halfpower_spec::Pass;
use halfpower_witness::{DeviceCounters, NoiseProbe, NoiseSnapshot, Soaking, processors_since};

use crate::target_backend::{Account, Spent};
use crate::{MeasureError, anatomy};

/// The account of a real machine.
pub(crate) struct MachineAccount {
    begun: Instant,
    charged: Charged,
    machine: Vec<Times>,
    soaking: Option<Soaking>,
    tracing: Option<Tracing>,
    witness: NoiseProbe,
    sight: NoiseSnapshot,
    /// Kernel names of the devices that are watched, and their counters when the account began.
    watched: Vec<String>,
    counters: DeviceCounters,
}

/// Takes the soaker's threads, which make no system calls, out of what the process was charged, its user and system time. The
/// kernel samples by ticks how a time is shared between the two, and only their sum is exact: what the soaker spent beyond the
/// user time stands in the system time.
fn without((user_ns, system_ns): (u64, u64), soaker_ns: u64) -> (u64, u64) {
    let beyond_ns = soaker_ns.saturating_sub(user_ns);
    (user_ns.saturating_sub(soaker_ns), system_ns.saturating_sub(beyond_ns))
}

/// Makes an account for a run of this pass, as [`MachineAccount::new`]. If the soaker cannot be started, the run goes
/// on without it, and a note says that its cost is only a lower bound.
///
/// # Errors
/// If tracing is not available.
pub(crate) fn machine_account(
    pass: Pass,
    witnessed: &[String],
    devices: &[&str],
) -> Result<(MachineAccount, Option<String>), MeasureError> {
    let threads = trace::own_threads().len();
    let account = |pass| MachineAccount::new(pass, witnessed, devices.iter().copied());
    match account(pass) {
        Err(MeasureError::Account(why)) => {
            processor::await_threads(threads);
            let note = format!("the soaker could not be started ({why}): costs are known from below alone");
            Ok((account(Pass::Plain)?, Some(note)))
        }
        account => Ok((account?, None)),
    }
}

/// The tracer of an account.
struct Tracing {
    tracer: Tracer,
    /// The threads that may submit: those that existed when the run began, or when it ended.
    threads: BTreeSet<u32>,
}

impl MachineAccount {
    /// Makes an account for a run of this pass. It watches what others do on the devices `witnessed`, and the tracing
    /// pass traces `devices` (both are kernel names). In the soaker's pass this waits for the soaker's baseline.
    ///
    /// # Errors
    /// If the soaker's threads cannot be started, or tracing is not available.
    pub(crate) fn new<'a>(
        pass: Pass,
        witnessed: &[String],
        devices: impl Iterator<Item = &'a str>,
    ) -> Result<Self, MeasureError> {
        let mut soaking = None;
        let mut tracing = None;
        match pass {
            Pass::Plain | Pass::Confirm => {}
            Pass::Soaker => soaking = Some(Soaking::new().map_err(MeasureError::Account)?),
            Pass::Traced => tracing = Some(Tracing { tracer: Tracer::new(devices)?, threads: BTreeSet::new() }),
        }
        let begun = Instant::now();
        let charged = Charged::default();
        let sight = NoiseSnapshot::default();
        let witness = NoiseProbe::of(witnessed);
        let watched = witnessed.to_vec();
        let counters = DeviceCounters::default();
        Ok(Self { begun, charged, machine: Vec::new(), soaking, tracing, witness, sight, watched, counters })
    }
}

impl Tracing {
    fn begin(&mut self) {
        self.threads = trace::own_threads();
        // If that fails, the trace is empty, and the anatomy says so.
        let _ = self.tracer.start();
    }

    fn end(&mut self) {
        let _ = self.tracer.stop();
        self.threads.append(&mut trace::own_threads());
    }

    fn anatomy(&self) -> Anatomy {
        match self.tracer.read() {
            Ok(trace) => anatomy::anatomy(&trace, &self.threads),
            Err(why) => Anatomy { trouble: Some(why.to_string()), ..Anatomy::default() },
        }
    }
}

impl Account for MachineAccount {
    fn begin(&mut self) -> Result<(), MeasureError> {
        self.sight = self.witness.look();
        self.counters = DeviceCounters::of(&self.watched);
        self.machine = processor::machine();
        if let Some(soaking) = &mut self.soaking {
            soaking.begin();
        }
        if let Some(tracing) = &mut self.tracing {
            tracing.begin();
        }
        self.begun = Instant::now();
        self.charged = processor::charged();
        Ok(())
    }

    fn end(&mut self) -> Spent {
        let charged = processor::charged();
        let span_ns = self.begun.elapsed().as_nanos() as u64;
        if let Some(tracing) = &mut self.tracing {
            tracing.end();
        }
        let soaked = self.soaking.as_ref().map(Soaking::lost);
        let machine = processor::machine();
        let spent = (charged.user_ns - self.charged.user_ns, charged.system_ns - self.charged.system_ns);
        let (user_ns, system_ns) = without(spent, soaked.as_ref().map_or(0, |(_, threads_ns)| *threads_ns));
        let cpu = Cpu {
            span_ns,
            user_ns,
            system_ns,
            switches: Some(charged.switches - self.charged.switches),
            major_faults: Some(charged.major_faults - self.charged.major_faults),
            minor_faults: Some(charged.minor_faults - self.charged.minor_faults),
            machine: processors_since(&machine, &self.machine),
            // A soaker that lost nothing beside work that was charged saw nothing of it: it bounds no cost.
            soaker: soaked.map(|(account, _)| account).filter(|account| account.lost_ns > 0),
            ..Cpu::default()
        };
        let noise = self.witness.between(&self.sight, &self.witness.look());
        let devices = DeviceCounters::of(&self.watched).since(&self.counters, span_ns);
        Spent { cpu, noise, devices, anatomy: self.tracing.as_ref().map(Tracing::anatomy), ..Spent::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soaker_is_taken_out_of_the_sum_of_user_and_system_time() {
        assert_eq!(without((100, 30), 0), (100, 30));
        assert_eq!(without((100, 30), 90), (10, 30));
        assert_eq!(without((90, 30), 100), (0, 20));
        assert_eq!(without((90, 30), 130), (0, 0));
    }
}
