//! Simulates a disk of constants.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use halfpower_engine::{Engine, FaultLog, FaultyDisk, ProcessorAccount, Simulated, SimulatedContents, SimulatedFiles};
use halfpower_model::{Buckets, DiskPath};
use halfpower_record::{Ability, Capabilities, Environment, Level, Machine, TargetKind};
use halfpower_spec::{Bytes, Nanos, Run, SimulatedDisk, VolumeLayout, Workload};

use super::subject::{Opened, Subject, unfit};
use crate::option_answers::Backend;
use crate::{MeasureError, background, read_back};

/// Abilities that a simulated disk lacks, by the name that plans ask for, with the reason.
const UNAVAILABLE: [(Ability, &str); 8] = [
    (Ability::Layouts, "a simulated disk has no file system that could lay out files"),
    (Ability::PageCache, "a simulated disk has no page cache"),
    (Ability::WriteCache, "a simulated disk has no write cache"),
    (Ability::Trace, "a simulated disk has no tracepoints"),
    (Ability::Copies, "disks of constants hold no two copies; a sim:SYSTEM may"),
    (Ability::OneProcessor, "a simulated disk's processors cannot be chosen"),
    (Ability::Interrupt, "a simulated disk's processors cannot be chosen"),
    (Ability::MemoryNodes, "a simulated disk's processors cannot be chosen"),
];

/// Why a disk without a time for flushes has no commits.
const NO_FLUSH: &str = "nobody says how long a flush of this simulated disk takes: add flush=1ms";

/// Why a disk without a time for operations on files has none.
const NO_FILE_OP: &str = "nobody says how long an operation on a file of this simulated disk takes: add file_op=20us";

/// Memory that the verified contents of a disk may take, in bytes.
const MEMORY_BYTES: u64 = 1 << 30;

pub struct ConstantsDisk {
    disk: SimulatedDisk,
    faults: FaultLog,
    /// Contents of the disk in the current run, if that is verified. Every run begins with a freshly laid out disk, so
    /// that its result does not depend on earlier runs.
    contents: RefCell<Option<SimulatedContents>>,
    /// State of its rate limits, which lasts over runs.
    limits: Arc<Mutex<Buckets>>,
}

impl ConstantsDisk {
    pub fn new(disk: SimulatedDisk) -> Self {
        let limits = Arc::new(Mutex::new(Buckets::new(&disk)));
        Self { disk, faults: FaultLog::default(), contents: RefCell::new(None), limits }
    }

    /// The engine of a run with `slots` slots, and its processor account.
    fn engine(&self, run: &Run, slots: u32, start: Nanos) -> (Box<dyn Engine>, ProcessorAccount) {
        let disk = self.used(&run.workload);
        let contents = self.contents.borrow();
        if contents.is_none() && !disk.faults.any() {
            let mut path = DiskPath::new(&disk, run.seed).issued_by(run.workload.threads);
            if disk.has_buckets() {
                path = path.keeping(Arc::clone(&self.limits));
            }
            let engine = Simulated::over(Box::new(path), slots, start);
            let account = engine.processor_time();
            return (Box::new(engine), account);
        }
        let engine = FaultyDisk::new(&disk, slots, run.seed, start, self.faults.clone());
        let account = engine.processor_time();
        let beside = run.workload.options.beside.map_or(Bytes(0), |load| load.bs);
        let most_bytes = run.workload.bs.max(background::BLOCK).max(beside).0;
        match &*contents {
            Some(contents) => (engine.verified(contents, most_bytes), account),
            None => (Box::new(engine), account),
        }
    }

    /// The part of the disk that a run uses: its first members.
    fn used(&self, workload: &Workload) -> SimulatedDisk {
        let members = workload.options.members;
        SimulatedDisk { disks: if members == 0 { self.disk.disks } else { members }, ..self.disk.clone() }
    }
}

impl Subject for ConstantsDisk {
    fn environment(&self) -> Environment {
        let machine = Machine {
            kernel: Machine::VIRTUAL.to_string(),
            cpu_model: "simulated".to_string(),
            cpus: self.disk.cpus,
            ..Machine::default()
        };
        let levels = vec![Level {
            name: "device".to_string(),
            source: "a simulated device advertises nothing".to_string(),
            ..Level::default()
        }];
        let mut unavailable = BTreeMap::from(UNAVAILABLE.map(|(ability, why)| (ability, why.to_string())));
        if self.disk.flush.is_none() {
            unavailable.insert(Ability::Commits, NO_FLUSH.to_string());
        }
        if self.disk.file_op.is_none() {
            unavailable.insert(Ability::FileOperations, NO_FILE_OP.to_string());
        }
        let capabilities = Capabilities {
            kind: TargetKind::Simulated,
            span: self.disk.size,
            spread: None,
            members: self.disk.disks,
            chunk: None,
            direct_unit: Some(Bytes(512)),
            layers: Vec::new(),
            layers_end: None,
            stripe: None,
            unavailable,
        };
        Environment { machine, levels, capabilities, ..Environment::default() }
    }

    fn span_bytes(&self) -> u64 {
        self.disk.size.0
    }

    fn cpus(&self) -> u32 {
        self.disk.cpus
    }

    fn backend(&self) -> Backend {
        Backend::Disks
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        let options = &workload.options;
        let disks = self.disk.disks;
        if options.members > disks {
            return unfit(format!("--members {}: the simulated path has {disks} (disks={disks})", options.members));
        }
        if options.volume_layout == Some(VolumeLayout::Mirror) {
            return unfit(
                "--volume-layout mirror: disks of constants hold no two copies; a sim:SYSTEM may".to_string(),
            );
        }
        if options.file_operation.is_some() && self.disk.file_op.is_none() {
            return unfit(NO_FILE_OP.to_string());
        }
        if options.file_operation.is_some() && workload.cache.durable() && self.disk.flush.is_none() {
            return unfit(NO_FLUSH.to_string());
        }
        if options.verify {
            read_back::admit(workload, 1, self.disk.size.0, MEMORY_BYTES).or_else(unfit)?;
        }
        Ok(())
    }

    fn open(&self, run: &Run, start: Nanos) -> Result<Opened, MeasureError> {
        let Workload { bs, threads, options, .. } = run.workload;
        if options.file_operation.is_some() {
            *self.contents.borrow_mut() = None;
            let engine = SimulatedFiles::new(&self.disk, &run.workload, run.seed, start);
            let account = engine.processor_time();
            let range = 0..bs.0 * u64::from(options.file_count) * u64::from(threads);
            return Ok(Opened { engine: Box::new(engine), account, depth: threads, range });
        }
        let depth = run.workload.total_depth();
        let slots = depth + run.workload.options.background_depth();
        let contents =
            run.workload.options.verify.then(|| SimulatedContents::laid_out(self.disk.size.0, self.disk.seed));
        *self.contents.borrow_mut() = contents;
        let (engine, account) = self.engine(run, slots, start);
        Ok(Opened { engine, account, depth, range: run.workload.options.reached(self.disk.size.0) })
    }

    fn read_back(
        &self,
        run: &Run,
        start: Nanos,
        stop: &AtomicBool,
    ) -> Result<(BTreeMap<String, u64>, Nanos), MeasureError> {
        let Some(contents) = self.contents.borrow().clone() else { return Ok((BTreeMap::new(), start)) };
        let depth = run.workload.total_depth();
        let Range { start: from, end } = run.workload.options.reached(self.disk.size.0);
        let blocks = (from, run.workload.bs.0 as u32, end);
        // Another seed, so that reading back meets other faults than the run itself.
        let (mut engine, account) = self.engine(&Run { seed: !run.seed, ..*run }, depth, start);
        let wrong = read_back::read_back(engine.as_mut(), contents.ledger(), blocks, depth, stop)?;
        Ok((wrong, account.now()))
    }

    fn faults(&self) -> FaultLog {
        self.faults.clone()
    }
}
