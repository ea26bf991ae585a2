//! What can be asked of a disk of constants? Its members; and where on it requests fall makes no difference.

use engine::Simulated;
use record::{Environment, Level, Machine, Surroundings, TargetKind};
use spec::{Affinity, Bytes, Fadvise, Join, Layout, Nanos, PageCache, Run, SimulatedDisk, Workload};

use super::{Opened, Subject, unfit};
use crate::{MeasureError, seat};

/// What a simulated disk does not have, by the words that plans ask with.
const CANNOT: [(&str, &str); 7] = [
    ("layouts", "a simulated disk has no file system that could lay out files"),
    ("page cache", "a simulated disk has no page cache"),
    ("write cache", "a simulated disk has no write cache"),
    ("trace", "a simulated disk has no tracepoints"),
    ("copies", "disks of constants hold no two copies; a sim:SYSTEM may"),
    (seat::ONE, "a simulated disk's processors cannot be chosen"),
    (seat::INTERRUPT, "a simulated disk's processors cannot be chosen"),
];

pub struct ConstantsDisk(pub SimulatedDisk);

impl ConstantsDisk {
    /// The disk of a run: the first so many of its disks.
    fn used(&self, workload: &Workload) -> SimulatedDisk {
        let members = workload.twist.members;
        SimulatedDisk { disks: if members == 0 { self.0.disks } else { members }, ..self.0.clone() }
    }
}

impl Subject for ConstantsDisk {
    fn environment(&self) -> Environment {
        let machine = Machine {
            kernel: Machine::VIRTUAL.to_string(),
            cpu_model: "simulated".to_string(),
            cpus: self.0.cpus,
            ..Machine::default()
        };
        let levels = vec![Level {
            name: "device".to_string(),
            source: "a simulated device advertises nothing".to_string(),
            ..Level::default()
        }];
        let surroundings = Surroundings {
            kind: TargetKind::Simulated,
            span: self.0.size,
            members: self.0.disks,
            chunk: None,
            direct_unit: Some(Bytes(512)),
            cannot: CANNOT.iter().map(|(ability, why)| (ability.to_string(), why.to_string())).collect(),
        };
        Environment { machine, levels, surroundings, ..Environment::default() }
    }

    fn span_bytes(&self) -> u64 {
        self.0.size.0
    }

    fn cpus(&self) -> u32 {
        self.0.cpus
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        let twist = &workload.twist;
        let disks = self.0.disks;
        if twist.members > disks {
            return unfit(format!("--members {}: the simulated path has {disks} (disks={disks})", twist.members));
        }
        if twist.join == Some(Join::Mirror) {
            return unfit("--join mirror: disks of constants hold no two copies; a sim:SYSTEM may".to_string());
        }
        if twist.layout != Layout::Written {
            return unfit("--layout: a simulated disk has no file system; leave it out".to_string());
        }
        let absent = [
            ("--affinity", seat::ONE, twist.affinity != Affinity::All),
            ("--page-cache", "page cache", twist.page_cache != PageCache::Empty),
            ("--fadvise", "page cache", twist.fadvise != Fadvise::Normal),
            ("--wce", "write cache", twist.wce.is_some()),
        ];
        match absent.iter().find(|(_, _, turned)| *turned) {
            Some((flag, missing, _)) => {
                let why = CANNOT.iter().find(|(ability, _)| ability == missing).map_or("", |(_, why)| why);
                unfit(format!("{flag}: {why}; leave it out"))
            }
            None => Ok(()),
        }
    }

    fn open(&self, run: &Run, start: Nanos) -> Result<Opened, MeasureError> {
        let depth = run.workload.total_depth();
        let slots = depth + run.workload.twist.randoms;
        let engine = Simulated::new(&self.used(&run.workload), slots, run.seed, start);
        let account = engine.processor_time();
        Ok(Opened { engine: Box::new(engine), account, depth, range: run.workload.twist.reached(self.0.size.0) })
    }
}
