//! Runs on a simulated path, in virtual time.
//!
//! What is simulated is a [`Subject`]: a disk of constants, a machine made of parts, or a device as a study saw it. It says what can be asked of it
//! and opens an engine for each run; the place keeps the clock, which goes on from run to run, and the account.

mod disk;
mod each;
mod fitted;
mod system;

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use engine::{Engine, ProcessorAccount};
use record::{Cpu, CpuTimes, Environment, LaneRole, Soaker};
use spec::{Bytes, EngineName, Nanos, Pass, Run, SimulatedDisk, SimulatedSystem, Switch, Workload};

use crate::MeasureError;
use crate::admission::coherent;
use crate::aside::Surrounded;
use crate::place::{Account, Lane, Place, Prepared, Spent};
use disk::ConstantsDisk;
use fitted::Calibrated;
use system::Machine;

/// What is simulated.
trait Subject {
    /// What it is, as a study keeps it.
    fn environment(&self) -> Environment;
    /// Bytes that offsets are drawn from.
    fn span_bytes(&self) -> u64;
    /// Processors of the machine that the account is about.
    fn cpus(&self) -> u32;
    /// Whether `workload` can be asked of it, beyond what every simulated path is asked.
    fn admits(&self, workload: &Workload) -> Result<(), MeasureError>;
    /// An engine for a run that begins at `start`, with everything at rest.
    fn open(&self, run: &Run, start: Nanos) -> Result<Opened, MeasureError>;
}

/// What a run is made on.
struct Opened {
    /// With slots for `depth` requests and for those of the readers beside.
    engine: Box<dyn Engine>,
    account: ProcessorAccount,
    depth: u32,
    range: Range<u64>,
}

/// A simulated path; its clock goes on from run to run.
pub struct SimulatedPlace {
    subject: Box<dyn Subject>,
    environment: Environment,
    /// The clock when the run in progress was prepared.
    run_began: Nanos,
    /// The engine of that run, as far as it can be seen from here.
    engine: Option<ProcessorAccount>,
}

impl SimulatedPlace {
    /// A disk of these constants, at rest.
    pub fn new(disk: SimulatedDisk) -> Self {
        Self::of(Box::new(ConstantsDisk(disk)))
    }

    /// A machine made of parts, or a device calibrated from a study, at rest; `size` is how much of its volume is used (`None`: all), `write_cache` whether
    /// its disks acknowledge writes from their buffers (`None`: they do).
    ///
    /// # Errors
    /// Where its text is no machine, it lacks what the setup asks for, or `size` is more than it holds.
    pub fn system(
        system: &SimulatedSystem,
        size: Option<Bytes>,
        write_cache: Option<Switch>,
    ) -> Result<Self, MeasureError> {
        if model::Fitted::is_told_by(&system.text) {
            if let Some(switch) = write_cache {
                return unfit(format!("--write-cache {switch}: a calibrated device has no such switch; leave it out"));
            }
            return Ok(Self::of(Box::new(Calibrated::new(system, size)?)));
        }
        let write_cache = write_cache != Some(Switch::Off);
        Ok(Self::of(Box::new(Machine::new(system, size, write_cache)?)))
    }

    fn of(subject: Box<dyn Subject>) -> Self {
        let environment = subject.environment();
        Self { subject, environment, run_began: Nanos(0), engine: None }
    }

    fn clock(&self) -> Nanos {
        self.engine.as_ref().map_or(self.run_began, ProcessorAccount::now)
    }
}

/// What no simulated path can be asked.
fn refuse(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { engine, threads, twist, .. } = workload;
    if let Some(kernel) = twist.kernel {
        let what = "loops over this machine's memory, and a simulated system has none: name another target";
        return Err(MeasureError::Kernel { kernel, what });
    }
    coherent(workload)?;
    if twist.verify {
        return unfit("--verify: a simulated target moves no data that could be checked; leave it out".to_string());
    }
    if matches!(engine, EngineName::Null | EngineName::Memory) {
        return unfit(format!("--engine {engine}: it reaches no target, and so no simulated one; leave it out"));
    }
    if *threads > 1 && (twist.fdatasync > 0 || twist.thinktime > Nanos(0)) {
        let what = "in virtual time all threads are one, and --fdatasync or --thinktime of one would stop all of them: \
                    add --threads 1";
        return unfit(what.to_string());
    }
    Ok(())
}

/// The run with the requests under way that its engine would have on a real target.
fn in_turn(run: &Run) -> Run {
    let Workload { engine, iodepth, .. } = run.workload;
    let iodepth = if engine.is_in_turn() { 1 } else { iodepth };
    Run { workload: Workload { iodepth, ..run.workload }, ..*run }
}

fn unfit<T>(what: String) -> Result<T, MeasureError> {
    Err(MeasureError::Unfit { what })
}

/// A block of every stream.
fn least_bytes(workload: &Workload) -> u64 {
    let streams = u64::from(workload.threads).saturating_mul(u64::from(workload.twist.streams.max(1)));
    workload.bs.0.saturating_mul(streams)
}

impl Place for SimulatedPlace {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn environment_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }

    fn span_bytes(&self) -> u64 {
        self.subject.span_bytes()
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        refuse(workload)?;
        let needed = least_bytes(workload);
        let reached = workload.twist.reached(self.span_bytes());
        if needed > reached.end - reached.start || workload.bs.0 > u64::from(u32::MAX / 2) {
            let (needed, span) = (Bytes(needed), Bytes(reached.end - reached.start));
            return Err(MeasureError::TooSmall { workload: Box::new(*workload), needed, span });
        }
        self.subject.admits(workload)
    }

    fn make_ready(&mut self, _: Option<Bytes>, _: &AtomicBool) -> Result<(), MeasureError> {
        Ok(())
    }

    /// All threads together are one lane: what they share is simulated, and virtual time has one clock. The engine
    /// asked for decides how many requests are under way, as it does on a real target.
    fn prepare(&mut self, run: &Run) -> Result<Prepared, MeasureError> {
        self.run_began = self.clock();
        let Opened { mut engine, account, depth, range } = self.subject.open(&in_turn(run), self.run_began)?;
        self.engine = Some(account);
        let (cache, twist) = (run.workload.cache, &run.workload.twist);
        let mut readers = None;
        if twist.randoms > 0 {
            let surrounded = Surrounded::new(engine, depth, twist.randoms, self.span_bytes(), run.seed);
            readers = Some(surrounded.account());
            engine = Box::new(surrounded);
        }
        Ok(Prepared {
            lanes: vec![Lane { engine, depth, range, role: LaneRole::Own, cpu: None }],
            readers,
            engine: EngineName::Simulated,
            cached_bytes: None,
            once: false,
            flush: (!cache.direct() && run.workload.rw.writes()) || twist.fdatasync > 0,
        })
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let engine = self.engine.clone().expect("a run is prepared before its account is opened");
        Ok(Box::new(VirtualAccount { engine, began: self.run_began, pass, cpus: self.subject.cpus() }))
    }

    fn harness_ns_per_io(&mut self, _: u32) -> f64 {
        0.0
    }

    fn clock_ns(&self) -> u64 {
        self.clock().0
    }

    fn unix_ms(&self) -> u64 {
        0
    }
}

/// The account of a simulated host: what its model says that its processors spent.
struct VirtualAccount {
    engine: ProcessorAccount,
    began: Nanos,
    pass: Pass,
    cpus: u32,
}

impl Account for VirtualAccount {
    fn begin(&mut self) {}

    fn end(&mut self) -> Spent {
        let spent = self.engine.read();
        let busy_ns = spent.charged_ns + spent.unseen_ns;
        let elapsed_ns = self.engine.now().0 - self.began.0;
        let cpus = u64::from(self.cpus);
        let each = CpuTimes {
            system_ns: spent.charged_ns / cpus,
            softirq_ns: spent.unseen_ns / cpus,
            idle_ns: elapsed_ns.saturating_sub(busy_ns / cpus),
            ..CpuTimes::default()
        };
        let cpu = Cpu {
            span_ns: elapsed_ns,
            user_ns: 0,
            system_ns: spent.charged_ns,
            machine: vec![each; self.cpus as usize],
            soaker: (self.pass == Pass::Soaker).then_some(Soaker { lost_ns: busy_ns, baseline_share: 1.0 }),
            ..Cpu::default()
        };
        Spent { cpu, ..Spent::default() }
    }
}
