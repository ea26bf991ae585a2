//! Makes runs on simulated paths: keeps the account, and the clock, which goes on from run to run.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use halfpower_engine::{FaultLog, ProcessorAccount};
use halfpower_record::{Cpu, CpuTimes, Environment, LaneRole, Predicted, Soaker};
use halfpower_spec::{
    Bytes, Direction, EngineName, FileOperation, Nanos, Pass, Run, SimulatedDisk, SimulatedSystem, Switch, Workload,
};

use super::disk::ConstantsDisk;
use super::fitted::Calibrated;
use super::subject::{Opened, Subject, least_bytes, unfit};
use super::system::Machine;
use crate::MeasureError;
use crate::admission::{coherent, fits_readers, fits_zones, note_of_spread};
use crate::background::{self, Background, BackgroundAccount};
use crate::option_answers::{Backend, honours};
use crate::target_backend::{Account, ClosingFlush, Lane, Prepared, Spent, TargetBackend};

/// A simulated path; its clock goes on from run to run.
pub struct SimulatedTarget {
    subject: Box<dyn Subject>,
    environment: Environment,
    /// Time when the current run was prepared.
    run_began: Nanos,
    /// The clock and processor account of that run's engine.
    engine: Option<ProcessorAccount>,
    /// What is issued beside the run inside that engine.
    background: Option<BackgroundAccount>,
    /// Time when reading back that run's writes ended.
    read_back: Nanos,
}

impl SimulatedTarget {
    /// An idle disk of these constants.
    pub fn new(disk: SimulatedDisk) -> Self {
        Self::of(Box::new(ConstantsDisk::new(disk)))
    }

    /// An idle machine made of parts, or a device calibrated from a study. `size` is how much of its volume is used
    /// (`None`: all), `write_cache` whether its disks acknowledge writes from their buffers (`None`: they do).
    ///
    /// # Errors
    /// If its text does not describe a machine, it lacks what the setup asks for, or `size` is more than it holds.
    pub fn system(
        system: &SimulatedSystem,
        size: Option<Bytes>,
        write_cache: Option<Switch>,
    ) -> Result<Self, MeasureError> {
        if halfpower_model::Fitted::is_told_by(&system.text) {
            if let Some(switch) = write_cache {
                return unfit(format!("--write-cache {switch}: a calibrated device has no such switch; leave it out"));
            }
            return Ok(Self::of(Box::new(Calibrated::new(system, size)?)));
        }
        let write_cache = write_cache != Some(Switch::Off);
        Ok(Self::of(Box::new(Machine::new(system, size, write_cache)?)))
    }

    /// The same, with the used bytes spread in pieces over its whole capacity.
    ///
    /// # Errors
    /// If position makes no difference on it, or the bytes leave no room between the pieces.
    pub fn spread(mut self) -> Result<Self, MeasureError> {
        self.subject.spread()?;
        let whole = self.subject.spread_bytes();
        self.environment.capabilities.spread = whole.map(Bytes);
        self.environment.notes.extend(whole.map(|whole| note_of_spread(self.subject.span_bytes(), whole)));
        Ok(self)
    }

    fn of(subject: Box<dyn Subject>) -> Self {
        let environment = subject.environment();
        Self { subject, environment, run_began: Nanos(0), engine: None, background: None, read_back: Nanos(0) }
    }

    /// A log of the faults that it has injected; it grows as further ones are injected.
    pub fn faults(&self) -> FaultLog {
        self.subject.faults()
    }

    fn clock(&self) -> Nanos {
        self.engine.as_ref().map_or(self.run_began, ProcessorAccount::now).max(self.read_back)
    }
}

/// Refuses workloads that no simulated path can run.
fn refuse(workload: &Workload, backend: Backend) -> Result<(), MeasureError> {
    let Workload { engine, threads, options, .. } = workload;
    if let Some(kernel) = options.kernel {
        let what = "loops over this machine's memory, and a simulated system has none: name another target";
        return Err(MeasureError::Kernel { kernel, what });
    }
    coherent(workload)?;
    honours(backend, workload)?;
    if workload.rw.trims() {
        let what =
            format!("--rw {}: a simulated target has no blocks to give back; name a file or a device", workload.rw);
        return Err(MeasureError::Unfit { what });
    }
    if let Some(issuing) = workload.issuing.filter(|issuing| !issuing.is_default()) {
        return unfit(format!("{issuing}: a simulated target has neither memory nor system calls; leave it out"));
    }
    if matches!(engine, EngineName::Null | EngineName::Memory) || engine.is_of_a_share() {
        return unfit(format!("--engine {engine}: it reaches no target, and so no simulated one; leave it out"));
    }
    // On a disk of constants each slot can be a writer with flushes of its own.
    let are_writers = backend == Backend::Disks
        && (options.fdatasync, options.thinktime, workload.iodepth) == (1, Nanos(0), 1)
        && workload.rate.is_none()
        && workload.rw.direction() == Some(Direction::Write)
        && options.ramp_time == Nanos(0);
    if *threads > 1 && !are_writers && (options.fdatasync > 0 || options.thinktime > Nanos(0)) {
        let what = "in virtual time all threads are one, and --fdatasync or --thinktime of one would stop all of them: \
                    add --threads 1 (disks of constants take writers with --iodepth 1 --fdatasync 1)";
        return unfit(what.to_string());
    }
    Ok(())
}

/// The run with the depth that its engine would have on a real target.
fn in_turn(run: &Run) -> Run {
    let Workload { engine, iodepth, .. } = run.workload;
    let iodepth = if engine.is_in_turn() { 1 } else { iodepth };
    Run { workload: Workload { iodepth, ..run.workload }, ..*run }
}

impl TargetBackend for SimulatedTarget {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn environment_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }

    fn span_bytes(&self) -> u64 {
        self.subject.span_bytes()
    }

    fn predicted(&self, workload: &Workload) -> Option<Predicted> {
        self.subject.predicted(workload)
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        refuse(workload, self.subject.backend())?;
        let needed = least_bytes(workload);
        let reached = workload.options.reached(self.span_bytes());
        if needed > reached.end - reached.start || workload.bs.0 > u64::from(u32::MAX / 2) {
            let needed = Bytes(needed);
            let span = Bytes(reached.end - reached.start);
            return Err(MeasureError::TooSmall { workload: Box::new(*workload), needed, span });
        }
        fits_zones(workload, reached.end - reached.start)?;
        fits_readers(workload, background::BLOCK, Bytes(reached.end - reached.start))?;
        if let Some(load) = workload.load_beside() {
            coherent(&load)?;
            if least_bytes(&load) > reached.end - reached.start {
                let needed = Bytes(least_bytes(&load));
                let span = Bytes(reached.end - reached.start);
                return Err(MeasureError::TooSmall { workload: Box::new(load), needed, span });
            }
        }
        self.subject.admits(workload)
    }

    fn make_ready(&mut self, _: Option<Bytes>, _: &AtomicBool) -> Result<(), MeasureError> {
        Ok(())
    }

    /// Makes one lane of all threads: virtual time has one clock, and what threads share is simulated. The chosen
    /// engine decides how many requests are in flight, as on a real target.
    fn prepare(&mut self, run: &Run, _: &AtomicBool) -> Result<Prepared, MeasureError> {
        self.run_began = self.clock();
        let Opened { mut engine, account, depth, range } = self.subject.open(&in_turn(run), self.run_began)?;
        self.engine = Some(account);
        let cache = run.workload.cache;
        let options = &run.workload.options;
        self.background = None;
        if options.random_readers > 0 {
            let surrounded = Background::readers(engine, depth, options.random_readers, &range, run.seed);
            self.background = Some(surrounded.account());
            engine = Box::new(surrounded);
        } else if let Some(load) = run.workload.load_beside() {
            let surrounded = Background::load(engine, depth, &load, &range, run.seed);
            self.background = Some(surrounded.account());
            engine = Box::new(surrounded);
        }
        // Disks side by side have threads of their own.
        let threads = u64::from(depth / in_turn(run).workload.iodepth.max(1));
        let of_one = options.io_size.map(|size| size.of(range.end - range.start));
        let most_bytes = of_one.map(|bytes| bytes.saturating_mul(threads));
        let once = options.file_operation.is_some_and(FileOperation::is_once);
        let buffered = !cache.direct() && run.workload.rw.writes() && options.file_operation.is_none();
        Ok(Prepared {
            lanes: vec![Lane { engine, depth, range, once, most_bytes, role: LaneRole::Own, cpu: None }],
            engine: EngineName::Simulated,
            cached_bytes: None,
            buffer_segments: None,
            span_bytes: self.span_bytes(),
            spread_bytes: self.subject.spread_bytes(),
            // A run begins on an idle path, and so do the closed-form predictions.
            warms_up: None,
            flush: ClosingFlush::counts_if(buffered || options.fdatasync > 0 || options.end_flush),
            silence: None,
        })
    }

    fn read_back(&mut self, run: &Run, stop: &AtomicBool) -> Result<BTreeMap<String, u64>, MeasureError> {
        let (wrong, done) = self.subject.read_back(&in_turn(run), self.clock(), stop)?;
        self.read_back = done;
        Ok(wrong)
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let engine = self.engine.clone().expect("a run is prepared before its account is opened");
        Ok(Box::new(VirtualAccount {
            engine,
            began: self.run_began,
            pass,
            cpus: self.subject.cpus(),
            background: self.background.clone(),
        }))
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

/// The account of a simulated host: the processor time that the model computes.
struct VirtualAccount {
    engine: ProcessorAccount,
    began: Nanos,
    pass: Pass,
    cpus: u32,
    background: Option<BackgroundAccount>,
}

impl Account for VirtualAccount {
    fn begin(&mut self) -> Result<(), MeasureError> {
        // A rest before the run is no part of it.
        self.began = self.engine.now();
        Ok(())
    }

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
        let background = self.background.as_ref();
        Spent {
            cpu,
            beside: background.map(BackgroundAccount::lane),
            beside_errors: background.map(BackgroundAccount::errors).unwrap_or_default(),
            beside_short_transfers: background.map_or(0, BackgroundAccount::short_transfers),
            ..Spent::default()
        }
    }
}
