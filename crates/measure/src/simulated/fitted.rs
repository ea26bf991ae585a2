//! Simulates a device that was fitted to the measurements of a study.

use std::collections::BTreeMap;
use std::ops::Range;

use halfpower_engine::Simulated;
use halfpower_model::{Fitted, FittedPath, MemberLayout};
use halfpower_probe::DEVICE;
use halfpower_record::{Ability, Capabilities, Device, Environment, Level, Machine as Computer, Predicted, TargetKind};
use halfpower_spec::{
    Bytes, Direction, DiskArray, Nanos, Pattern, Rate, Run, Setup, SimulatedSystem, VolumeLayout, Workload,
};

use super::each::EachMember;
use super::subject::{Opened, Subject, unfit};
use crate::MeasureError;
use crate::option_answers::{Backend, NO_FILES};

/// Direct requests must be multiples of this.
const SECTOR: Bytes = Bytes(512);
/// Chunk size of a stripe: that of both studies (1998 and 2000).
const CHUNK: u64 = 64 << 10;
const MIB: u64 = 1 << 20;

/// Abilities that a fitted device lacks, by the name that plans ask for, with the reason.
const UNAVAILABLE: [(Ability, &str); 15] = [
    (Ability::Layouts, "a calibrated device has no file system that could lay out files"),
    (Ability::PageCache, "a calibrated device has no page cache beyond what its study saw"),
    (Ability::WriteCache, "a calibrated device has no write cache that could be switched"),
    (Ability::Trace, "a calibrated device has no tracepoints"),
    (Ability::OneProcessor, "a calibrated device's processors cannot be chosen"),
    (Ability::Interrupt, "a calibrated device's processors cannot be chosen"),
    (Ability::MemoryNodes, "a calibrated device's processors cannot be chosen"),
    (
        Ability::SameBlocks,
        "a calibrated device answers blocks that it gave before like any others, since its study never asked for them",
    ),
    (
        Ability::Places,
        "a calibrated device is the same everywhere, since what was fitted to its study tells no places apart",
    ),
    (
        Ability::Shifts,
        "a calibrated device does not care where a request begins, since its study saw none off its blocks",
    ),
    (Ability::Streams, "a calibrated device was seen with one stream and no readers beside"),
    (Ability::Copies, "a calibrated device tells nothing of copies, since its study made none"),
    (Ability::Engines, "a calibrated device issues requests in one way, whatever the engine"),
    (Ability::Commits, "a calibrated device tells nothing of flushes, since its study had none between writes"),
    (Ability::FileOperations, NO_FILES),
];

fn level(name: &str, mbps: Option<f64>, direction: Option<Direction>, source: String) -> Level {
    let attainable = mbps.map(|mbps| Rate(mbps * 1e6));
    Level { name: name.to_string(), attainable, direction, source, ..Level::default() }
}

/// One fitted device, or several alike.
pub struct Calibrated {
    name: String,
    fitted: Fitted,
    setup: Setup,
    span_bytes: u64,
}

impl Calibrated {
    pub fn new(described: &SimulatedSystem, size: Option<Bytes>) -> Result<Self, MeasureError> {
        let SimulatedSystem { name, text, setup, constants } = described;
        let usual = Setup { disks: setup.disks, array: setup.array, ..Setup::default() };
        if *setup != usual {
            return unfit(format!(
                "sim:{name} is calibrated from a study, which tells no buses, alignment, volumes or processors: \
                 set disks, array or a constant of it"
            ));
        }
        if matches!(setup.array, Some(DiskArray::AdapterStripe | DiskArray::Mirror)) {
            return unfit(format!("sim:{name} is calibrated from a study: its array is stripe or each"));
        }
        let fitted = Fitted::with_constants(text, constants)?;
        let mut calibrated = Self { name: name.clone(), fitted, setup: *setup, span_bytes: 0 };
        let whole = calibrated.bytes() * u64::from(if Self::are_each(setup) { 1 } else { setup.disks });
        if let Some(size) = size.filter(|size| size.0 > whole) {
            let whole = Bytes(whole);
            return unfit(format!("--size {size}: the study behind sim:{name} saw {whole}; ask for less"));
        }
        calibrated.span_bytes = size.map_or(whole, |size| size.0);
        Ok(calibrated)
    }

    /// The device, how many of them there are, and the chunk in which they are striped, if they are.
    pub fn into_devices(self) -> (Fitted, u32, Option<u64>) {
        let Setup { disks, .. } = self.setup;
        let is_stripe = disks > 1 && !Self::are_each(&self.setup);
        (self.fitted, disks, is_stripe.then_some(CHUNK))
    }

    fn are_each(setup: &Setup) -> bool {
        setup.array == Some(DiskArray::Each)
    }

    /// Bytes of one device.
    fn bytes(&self) -> u64 {
        self.fitted.device.measured_mib * MIB
    }

    /// How many devices a workload uses, and whether each is driven independently.
    fn used(&self, workload: &Workload) -> Result<(u32, bool), MeasureError> {
        let name = &self.name;
        let disks = self.setup.disks;
        let devices = match workload.options.members {
            0 => disks,
            members if members <= disks => members,
            members => {
                return unfit(format!(
                    "--members {members} cannot be asked of sim:{name}: {disks} in use (disks={disks})"
                ));
            }
        };
        let each = match workload.options.volume_layout {
            Some(VolumeLayout::Mirror) => {
                return unfit(format!(
                    "--volume-layout mirror cannot be asked of sim:{name}: its study tells nothing of copies"
                ));
            }
            volume_layout => {
                volume_layout == Some(VolumeLayout::Each) || volume_layout.is_none() && Self::are_each(&self.setup)
            }
        };
        Ok((devices, each && devices > 1))
    }

    fn levels(&self) -> Vec<Level> {
        let shared = Direction::ALL.iter().filter_map(|direction| {
            let mbps = self.fitted.shared.mbps(*direction)?;
            let source = format!("what devices share lets {mbps} MB/s of {direction}s through");
            Some(level("shared path", Some(mbps), Some(*direction), source))
        });
        let most = |direction: Direction| {
            let of = self.fitted.path.iter().filter(|(key, _)| key.ends_with(direction.word()));
            let mbps = of.filter_map(|(_, passage)| passage.ceiling_mbps).reduce(f64::max);
            mbps.map(|mbps| mbps * f64::from(self.setup.disks))
        };
        let device = |mbps, direction| level(DEVICE, mbps, direction, format!("{} as its study saw it", self.called()));
        let [read, write] = [Direction::Read, Direction::Write];
        let devices = match (most(read), most(write)) {
            (None, None) => vec![device(None, None)],
            (reads, writes) => vec![device(reads, Some(read)), device(writes, Some(write))],
        };
        shared.chain(devices).collect()
    }

    fn called(&self) -> String {
        match self.setup.disks {
            1 => self.fitted.device.name.clone(),
            disks => format!("{disks} x {}", self.fitted.device.name),
        }
    }

    fn range(&self, workload: &Workload, devices: u32, each: bool) -> Range<u64> {
        let holds = if each { self.bytes() } else { self.bytes() * u64::from(devices) };
        workload.options.reached(self.span_bytes.min(holds))
    }

    /// Refuses a combination of pattern, cache and direction that the study did not measure.
    fn knows(&self, workload: &Workload) -> Result<(), MeasureError> {
        let pattern = workload.rw.pattern();
        let directions = workload.rw.direction().map_or(Direction::ALL.to_vec(), |direction| vec![direction]);
        let missing = directions.into_iter().find(|rw| self.fitted.passage(pattern, workload.cache, *rw).is_none());
        match missing {
            None => Ok(()),
            Some(rw) => unfit(format!(
                "sim:{} knows nothing of {}: it has {}; ask for those with --experiments, --rw and --cache, or calibrate \
                 it from a study that has both",
                self.name,
                Fitted::key(pattern, workload.cache, rw),
                self.fitted.path.keys().cloned().collect::<Vec<_>>().join(", ")
            )),
        }
    }
}

impl Subject for Calibrated {
    fn environment(&self) -> Environment {
        let machine = Computer {
            kernel: Computer::VIRTUAL.to_string(),
            cpu_model: "simulated".to_string(),
            cpus: self.fitted.device.processors,
            ..Computer::default()
        };
        let device = Device {
            name: self.called(),
            size: Bytes(self.bytes()),
            logical_block: SECTOR,
            physical_block: SECTOR,
            ..Device::default()
        };
        let capabilities = Capabilities {
            kind: TargetKind::Simulated,
            span: Bytes(self.span_bytes),
            spread: None,
            members: self.setup.disks,
            chunk: (self.setup.disks > 1).then_some(Bytes(CHUNK)),
            direct_unit: Some(SECTOR),
            layers: Vec::new(),
            layers_end: None,
            stripe: None,
            unavailable: BTreeMap::from(UNAVAILABLE.map(|(ability, why)| (ability, why.to_string()))),
        };
        Environment {
            machine,
            device: Some(device),
            levels: self.levels(),
            notes: vec![format!("Predicted from a calibration: {}.", self.fitted.about)],
            capabilities,
            ..Environment::default()
        }
    }

    fn span_bytes(&self) -> u64 {
        self.span_bytes
    }

    fn cpus(&self) -> u32 {
        self.fitted.device.processors
    }

    fn backend(&self) -> Backend {
        Backend::Calibrated
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        let unaligned = |bytes: Bytes| !bytes.0.is_multiple_of(SECTOR.0);
        let misalign = workload.options.misalign;
        let off = workload.sizes().find(|size| unaligned(*size)).or(unaligned(misalign).then_some(workload.bs));
        if let Some(bs) = off.filter(|_| workload.cache.direct()) {
            return Err(MeasureError::Unaligned { bs, unit: SECTOR });
        }
        // A stripe of several devices can take it: it splits requests at chunk boundaries.
        if misalign > Bytes(0) && self.setup.disks == 1 {
            return unfit(format!(
                "--misalign cannot be asked of sim:{}, a calibrated device: its study saw no request off its blocks; leave \
                 it out",
                self.name
            ));
        }
        self.used(workload)?;
        self.knows(workload)
    }

    fn predicted(&self, workload: &Workload) -> Option<Predicted> {
        // A mix of both directions has no path of its own.
        let direction = workload.rw.direction()?;
        let way = (workload.rw.pattern(), workload.cache, direction);
        let (devices, each) = self.used(workload).ok()?;
        let depth = if each { workload.total_depth() } else { workload.total_depth().div_ceil(devices.max(1)) };
        let reach = self.fitted.reach(way, workload.bs, depth, devices)?;
        Some(Predicted { low: reach.low, high: reach.high, beyond: reach.beyond })
    }

    fn open(&self, run: &Run, start: Nanos) -> Result<Opened, MeasureError> {
        let workload = &run.workload;
        let (devices, each) = self.used(workload)?;
        self.knows(workload)?;
        let range = self.range(workload, devices, each);
        let depth = workload.total_depth() * if each { devices } else { 1 };
        let arrangement = MemberLayout {
            devices,
            chunk: (!each && devices > 1).then_some(CHUNK),
            bytes: self.bytes(),
            pattern: workload.rw.pattern(),
            cache: workload.cache,
            depth,
            // Devices that are driven independently have their own threads.
            threads: workload.threads * if each { devices } else { 1 },
        };
        let path = FittedPath::new(&self.fitted, arrangement);
        let engine = Simulated::over(Box::new(path), depth, start);
        let account = engine.processor_time();
        if !each {
            return Ok(Opened { engine: Box::new(engine), account, depth, range });
        }
        let engine = EachMember::new(engine, devices, self.bytes());
        let in_streams = workload.rw.pattern() == Pattern::Sequential;
        let step = workload.options.stride.0;
        let engine = if in_streams { engine.streaming(depth, range.clone(), step) } else { engine };
        Ok(Opened { engine: Box::new(engine), account, depth, range })
    }
}
