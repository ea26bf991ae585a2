//! Runs on a simulated path, in virtual time.

use engine::{ProcessorAccount, Simulated};
use record::{Cpu, CpuTimes, Environment, Level, Machine, Soaker, Surroundings, TargetKind};
use spec::{Bytes, EngineName, Nanos, Pass, Run, SimulatedDisk, Workload};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::MeasureError;
use crate::place::{Account, Lane, Place, Prepared, Spent};

/// A simulated path; its clock goes on from run to run.
pub struct SimulatedPlace {
    disk: SimulatedDisk,
    environment: Environment,
    /// The clock when the run in progress was prepared.
    run_began: Nanos,
    /// The engine of that run, as far as it can be seen from here.
    engine: Option<ProcessorAccount>,
}

impl SimulatedPlace {
    /// A path of these constants, at rest.
    pub fn new(disk: SimulatedDisk) -> Self {
        let machine = Machine {
            kernel: "virtual time".to_string(),
            cpu_model: "simulated".to_string(),
            cpus: disk.cpus,
            ..Machine::default()
        };
        let levels = vec![Level {
            name: "device".to_string(),
            pap: None,
            pap_iops: None,
            direction: None,
            source: "a simulated device advertises nothing".to_string(),
        }];
        let surroundings = Surroundings {
            kind: TargetKind::Simulated,
            span: disk.size,
            members: disk.disks,
            direct_unit: Some(Bytes(512)),
            cannot: BTreeMap::from([
                ("page cache".to_string(), "a simulated disk has no page cache".to_string()),
                ("trace".to_string(), "a simulated disk has no tracepoints".to_string()),
            ]),
        };
        let environment = Environment { machine, levels, surroundings, ..Environment::default() };
        Self { disk, environment, run_began: Nanos(0), engine: None }
    }

    fn clock(&self) -> Nanos {
        self.engine.as_ref().map_or(self.run_began, ProcessorAccount::now)
    }
}

impl Place for SimulatedPlace {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn environment_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }

    fn span_bytes(&self) -> u64 {
        self.disk.size.0
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        if let Some(kernel) = workload.twist.kernel {
            let what = "loops over this machine's memory, and a simulated system has none: name another target";
            return Err(MeasureError::Kernel { kernel, what });
        }
        let needed = workload.bs.0.saturating_mul(u64::from(workload.threads));
        let used = workload.twist.used(self.disk.size.0);
        if needed > used.end - used.start {
            let (needed, span) = (Bytes(needed), Bytes(used.end - used.start));
            return Err(MeasureError::TooSmall { workload: Box::new(*workload), needed, span });
        }
        Ok(())
    }

    fn make_ready(&mut self, _: Option<Bytes>, _: &AtomicBool) -> Result<(), MeasureError> {
        Ok(())
    }

    /// All threads together are one lane: what they share is simulated, and virtual time has one clock.
    fn prepare(&mut self, run: &Run) -> Result<Prepared, MeasureError> {
        let depth = run.workload.total_depth();
        self.run_began = self.clock();
        let engine = Simulated::new(&self.disk, depth, run.seed, self.run_began);
        self.engine = Some(engine.processor_time());
        let lane = Lane { engine: Box::new(engine), depth, range: run.workload.twist.used(self.disk.size.0) };
        Ok(Prepared {
            lanes: vec![lane],
            engine: EngineName::Simulated,
            cached_bytes: None,
            once: false,
            flush: !run.workload.cache.direct() && run.workload.rw.writes(),
        })
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let engine = self.engine.clone().expect("a run is prepared before its account is opened");
        Ok(Box::new(VirtualAccount { engine, began: self.run_began, pass, cpus: self.disk.cpus }))
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
