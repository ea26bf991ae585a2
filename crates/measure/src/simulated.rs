//! Runs on a simulated path, in virtual time.

use std::sync::atomic::AtomicBool;

use engine::{Engine, ProcessorAccount, Simulated};
use record::{Cpu, CpuTimes, Environment, LaneRole, Level, Machine, Soaker, Surroundings, TargetKind};
use spec::{Affinity, Bytes, EngineName, Fadvise, Layout, Nanos, PageCache, Pass, Run, SimulatedDisk, Workload};

use crate::MeasureError;
use crate::admission::coherent;
use crate::aside::Surrounded;
use crate::place::{Account, Lane, Place, Prepared, Spent};
use crate::seat;

/// What a simulated disk does not have, by the words that plans ask with.
const CANNOT: [(&str, &str); 6] = [
    ("layouts", "a simulated disk has no file system that could lay out files"),
    ("page cache", "a simulated disk has no page cache"),
    ("write cache", "a simulated disk has no write cache"),
    ("trace", "a simulated disk has no tracepoints"),
    (seat::ONE, "a simulated disk's processors cannot be chosen"),
    (seat::INTERRUPT, "a simulated disk's processors cannot be chosen"),
];

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
            cannot: CANNOT.iter().map(|(ability, why)| (ability.to_string(), why.to_string())).collect(),
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
        coherent(workload)?;
        admits_twist(workload)?;
        let streams = u64::from(workload.threads).saturating_mul(u64::from(workload.twist.streams));
        let needed = workload.bs.0.saturating_mul(streams);
        let used = workload.twist.reached(self.disk.size.0);
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
        let (depth, twist) = (run.workload.total_depth(), &run.workload.twist);
        self.run_began = self.clock();
        let engine = Simulated::new(&self.disk, depth + twist.randoms, run.seed, self.run_began);
        self.engine = Some(engine.processor_time());
        let mut engine: Box<dyn Engine> = Box::new(engine);
        let mut readers = None;
        if twist.randoms > 0 {
            let surrounded = Surrounded::new(engine, depth, twist.randoms, self.disk.size.0, run.seed);
            readers = Some(surrounded.account());
            engine = Box::new(surrounded);
        }
        let range = twist.reached(self.disk.size.0);
        Ok(Prepared {
            lanes: vec![Lane { engine, depth, range, role: LaneRole::Own, cpu: None }],
            readers,
            engine: EngineName::Simulated,
            cached_bytes: None,
            once: false,
            flush: (!run.workload.cache.direct() && run.workload.rw.writes()) || twist.fdatasync > 0,
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

/// Whether what is turned beside the usual axes means something in virtual time.
fn admits_twist(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { threads, twist, .. } = workload;
    let absent = [
        ("--affinity", seat::ONE, twist.affinity != Affinity::All),
        ("--page-cache", "page cache", twist.page_cache != PageCache::Empty),
        ("--fadvise", "page cache", twist.fadvise != Fadvise::Normal),
        ("--wce", "write cache", twist.wce.is_some()),
        ("--layout", "layouts", twist.layout != Layout::Written),
    ];
    let refused = absent.iter().find(|(_, _, turned)| *turned);
    if let Some((flag, missing, _)) = refused {
        let why = CANNOT.iter().find(|(ability, _)| ability == missing).map_or("", |(_, why)| why);
        return Err(MeasureError::Unfit { what: format!("{flag}: {why}; leave it out") });
    }
    if *threads > 1 && (twist.fdatasync > 0 || twist.thinktime > Nanos(0)) {
        let what = "in virtual time all threads are one, and --fdatasync or --thinktime of one would stop all of them: \
                    add --threads 1";
        return Err(MeasureError::Unfit { what: what.to_string() });
    }
    Ok(())
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
