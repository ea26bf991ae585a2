//! Simulates a machine made of parts.

use std::collections::BTreeMap;
use std::ops::Range;

use halfpower_engine::{Engine, Simulated, SpreadOver};
use halfpower_model::{
    Allocation, Array, Completed, Moment, Operation, PathModel, ProcessorTime, Setting, Stack, Submission, System,
};
use halfpower_record::{Ability, Capabilities, Device, Environment, Level, Machine as Computer, TargetKind};
use halfpower_spec::{
    Affinity, Bytes, Cache, Direction, DiskArray, Fadvise, Layout, Nanos, PageCache, Pattern, Rate, Run, Setup,
    SimulatedSystem, Spread, Switch, VolumeLayout, Workload,
};

use super::each::EachMember;
use super::subject::{Opened, Subject, least_bytes, unfit};
use crate::MeasureError;
use crate::admission::fits_pieces;
use crate::option_answers::{Backend, NO_FILES};

/// Sector size of a disk; direct requests must be multiples of it.
const SECTOR: Bytes = Bytes(512);
/// Why no buffered write is durable at its completion.
const WRITES_BEHIND: &str = "its file cache holds every write back";
/// Why no processor is nearer to a disk than another.
const NO_NODES: &str = "its processors share one memory";
/// Why no run can begin with its target in the file cache.
const KEEPS_NOTHING: &str = "its file cache keeps nothing from one run to the next";

/// A machine with the setup of a study.
pub struct Machine {
    name: String,
    system: System,
    setup: Setup,
    write_cache: bool,
    span_bytes: u64,
    /// Whether these bytes are spread in pieces over the whole capacity.
    is_spread: bool,
}

/// How a run uses the machine.
struct Use {
    setting: Setting,
    /// Whether each disk is driven independently.
    each: bool,
    system: System,
}

impl Machine {
    pub fn new(described: &SimulatedSystem, size: Option<Bytes>, write_cache: bool) -> Result<Self, MeasureError> {
        let SimulatedSystem { name, text, setup, constants } = described;
        let system = System::with_constants(text, constants)?;
        let mut machine =
            Self { name: name.clone(), system, setup: *setup, write_cache, span_bytes: 0, is_spread: false };
        let whole = machine.whole_bytes()?;
        if size.is_some_and(|size| size.0 > whole) {
            let asked = size.unwrap_or_default();
            let holds = Bytes(whole);
            return unfit(format!("--size {asked}: the simulated volume holds {holds}; ask for less"));
        }
        machine.span_bytes = size.map_or(whole, |size| size.0);
        Ok(machine)
    }

    /// Bytes of the volume that the setup makes; bytes of one disk if each is driven independently.
    fn whole_bytes(&self) -> Result<u64, MeasureError> {
        let Use { setting, each, system } = self.used(&Workload::default())?;
        let stack = system.path(&setting, 0)?;
        Ok(if each { stack.disk_bytes() } else { stack.bytes() })
    }

    /// Its idle path past the file cache.
    pub fn path(&self) -> Result<Stack, MeasureError> {
        let Use { setting, system, .. } = self.used(&Workload { cache: Cache::Device, ..Workload::default() })?;
        Ok(system.path(&setting, 0)?)
    }

    /// How `workload` uses the machine.
    fn used(&self, workload: &Workload) -> Result<Use, MeasureError> {
        let setup = &self.setup;
        let options = &workload.options;
        let disks = match options.members {
            0 => setup.disks,
            members if members <= setup.disks => members,
            members => {
                return Err(self.refused("members", members, &format!("it has {} in use (disks=...)", setup.disks)));
            }
        };
        let array = self.array(disks, options.volume_layout)?;
        let writes = workload.rw.writes();
        let mut system = self.system.clone();
        match options.fadvise {
            Fadvise::Normal => {}
            Fadvise::Sequential => system.cache.ahead_kib *= 2,
            Fadvise::Random => system.cache.ahead_kib = 0,
        }
        let processors = match options.affinity {
            Affinity::All => setup.processors,
            Affinity::One => Some(1),
            other @ (Affinity::Interrupt | Affinity::Other) => {
                return Err(self.refused("affinity", other, "it does not tell which processor interrupts come to"));
            }
            other @ (Affinity::Near | Affinity::Far) => return Err(self.refused("affinity", other, NO_NODES)),
        };
        let setting = Setting {
            buffered: !workload.cache.direct(),
            write_cache: options.write_cache.map_or(self.write_cache, |write_cache| write_cache == Switch::On)
                && !workload.cache.durable(),
            allocation: if writes { self.allocation(workload)? } else { Allocation::Existing },
            disks,
            array: array.unwrap_or_default(),
            buses: setup.buses.min(disks),
            aligned: setup.aligned,
            dynamic: setup.dynamic,
            place: 0.0,
            pio: setup.pio,
            processors,
        };
        Ok(Use { setting, each: array.is_none(), system })
    }

    /// How `disks` make one volume; `None` if each is driven independently.
    fn array(&self, disks: u32, volume_layout: Option<VolumeLayout>) -> Result<Option<Array>, MeasureError> {
        let made = match self.setup.array {
            Some(DiskArray::AdapterStripe) => Array::HardwareStripe,
            _ => Array::SoftwareStripe,
        };
        let wanted = match (volume_layout, self.setup.array) {
            (Some(VolumeLayout::Each), _) | (None, Some(DiskArray::Each)) => None,
            (Some(VolumeLayout::Mirror), _) | (None, Some(DiskArray::Mirror)) => Some(Array::Mirror),
            (Some(VolumeLayout::Stripe), _) | (None, _) => Some(made),
        };
        match (wanted, disks) {
            (Some(Array::Mirror), 2) => Ok(wanted),
            (Some(Array::Mirror), _) if volume_layout.is_some() => {
                Err(self.refused("volume-layout", "mirror", "a mirror has two disks: add --members 2"))
            }
            // With one member, a run uses a plain disk, whatever array the target is.
            (_, 1) => Ok(Some(Array::Separate)),
            (wanted, _) => Ok(wanted),
        }
    }

    fn allocation(&self, workload: &Workload) -> Result<Allocation, MeasureError> {
        let layout = workload.options.layout;
        match layout {
            Layout::Written => Ok(Allocation::Existing),
            Layout::New | Layout::Append | Layout::Truncated => Ok(Allocation::Growing),
            Layout::LastFirst if workload.rw.pattern() == Pattern::Random => {
                Err(self.refused("layout", layout, "its order is given: take --rw write"))
            }
            Layout::LastFirst if workload.threads > 1 => {
                Err(self.refused("layout", layout, "a file has one last block: take --threads 1"))
            }
            Layout::LastFirst => Ok(Allocation::Zeroing),
            Layout::Fallocated => {
                Err(self.refused("layout", layout, "its file system has no blocks that are there and unwritten"))
            }
        }
    }

    fn refused(&self, flag: &str, value: impl std::fmt::Display, why: &str) -> MeasureError {
        MeasureError::Unfit { what: format!("--{flag} {value} cannot be asked of sim:{}: {why}", self.name) }
    }

    fn levels(&self) -> Result<Vec<Level>, MeasureError> {
        let Use { setting, system, .. } = self.used(&Workload::default())?;
        let host = Level {
            name: "processor".to_string(),
            source: format!("{} x {} MHz advertise no rate", system.host.processors, system.host.clock_mhz),
            ..Level::default()
        };
        let rate = |mbps: f64| Rate(mbps * 1e6);
        let level = |rung: halfpower_model::Rung| Level {
            name: rung.name,
            pap: rung.advertised_mbps.map(rate),
            attainable: rung.attainable_mbps.map(rate),
            pap_iops: None,
            half_duplex: rung.half_duplex && rung.operation.is_none(),
            direction: rung.operation.map(|operation| match operation {
                Operation::Write => Direction::Write,
                _ => Direction::Read,
            }),
            source: rung.source,
            ..Level::default()
        };
        Ok(std::iter::once(host).chain(system.ladder(&setting).into_iter().map(level)).collect())
    }

    fn device(&self) -> Device {
        let disk = &self.system.disk;
        Device {
            name: match self.setup.disks {
                1 => disk.name.clone(),
                disks => format!("{disks} x {}", disk.name),
            },
            model: Some(disk.name.clone()),
            transport: Some(self.system.bus.name.clone()),
            rotational: Some(true),
            size: Bytes((disk.capacity_gb * 1e9) as u64),
            logical_block: SECTOR,
            physical_block: SECTOR,
            write_cache: Some(if self.write_cache { "write back" } else { "write through" }.to_string()),
            ..Device::default()
        }
    }

    /// Chunk size of a stripe of its disks; `None` if it cannot have one.
    fn chunk(&self) -> Option<Bytes> {
        let is_stripe = self.setup.disks > 1 && self.array(self.setup.disks, Some(VolumeLayout::Stripe)).is_ok();
        is_stripe.then_some(Bytes(self.system.volume.chunk_kib << 10))
    }

    /// Abilities that the machine lacks, with the reason.
    fn unavailable(&self) -> BTreeMap<Ability, String> {
        let mut unavailable = BTreeMap::new();
        let mut add = |ability, why: &str| drop(unavailable.insert(ability, why.to_string()));
        add(Ability::Trace, "a simulated machine has no tracepoints");
        add(Ability::WarmPageCache, KEEPS_NOTHING);
        add(Ability::DurableBufferedWrites, WRITES_BEHIND);
        add(Ability::Engines, "a simulated machine issues requests in one way, whatever the engine");
        add(Ability::Interrupt, "a simulated machine does not tell which processor interrupts come to");
        add(Ability::MemoryNodes, NO_NODES);
        add(Ability::Commits, "a simulated machine has no writers that flush one by one");
        add(Ability::FileOperations, NO_FILES);
        if self.cpus() == 1 {
            add(Ability::OneProcessor, "the machine has a single processor");
        }
        unavailable
    }

    /// The part of `stack` that a workload uses; the part of each disk if each is driven independently.
    fn range(&self, stack: &Stack, each: bool, workload: &Workload) -> Range<u64> {
        let holds = if each { stack.disk_bytes() } else { stack.bytes() };
        workload.options.reached(self.span_bytes.min(holds))
    }

    /// Where the pieces of a workload's span lie; `None` if it is contiguous.
    fn spread_over(&self, stack: &Stack, each: bool) -> Result<Option<Spread>, MeasureError> {
        let holds = if each { stack.disk_bytes() } else { stack.bytes() };
        let spread = self.is_spread.then(|| Spread::over(self.span_bytes.min(holds), holds)).transpose();
        spread.or_else(|why| unfit(format!("--spread: sim:{} {why}", self.name)))
    }

    /// Whether requests come over a network, so that the application does not run on the machine with the disks.
    fn is_remote(&self) -> bool {
        self.system.network.as_ref().is_some_and(|network| network.wire_mbps.is_some())
    }
}

impl Subject for Machine {
    fn environment(&self) -> Environment {
        let machine = Computer {
            kernel: Computer::VIRTUAL.to_string(),
            cpu_model: format!("simulated {} MHz processor", self.system.host.clock_mhz),
            cpu_mhz: Some(self.system.host.clock_mhz),
            cpus: self.cpus(),
            ..Computer::default()
        };
        let capabilities = Capabilities {
            kind: TargetKind::Simulated,
            span: Bytes(self.span_bytes),
            spread: None,
            members: self.setup.disks,
            chunk: self.chunk(),
            direct_unit: Some(SECTOR),
            layers: Vec::new(),
            layers_end: None,
            stripe: None,
            unavailable: self.unavailable(),
        };
        Environment {
            machine,
            device: Some(self.device()),
            levels: self.levels().unwrap_or_default(),
            notes: vec![format!("Simulated: {}.", self.system.about)],
            capabilities,
            ..Environment::default()
        }
    }

    fn span_bytes(&self) -> u64 {
        self.span_bytes
    }

    fn spread_bytes(&self) -> Option<u64> {
        self.is_spread.then(|| self.whole_bytes().unwrap_or(self.span_bytes))
    }

    fn spread(&mut self) -> Result<(), MeasureError> {
        self.is_spread = true;
        let Use { setting, each, system } = self.used(&Workload::default())?;
        self.spread_over(&system.path(&setting, 0)?, each).map(drop)
    }

    fn cpus(&self) -> u32 {
        match &self.system.network {
            Some(network) if self.is_remote() => network.client_processors,
            _ => self.setup.processors.unwrap_or(self.system.host.processors),
        }
    }

    fn backend(&self) -> Backend {
        Backend::Machine
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        let unaligned = |bytes: Bytes| !bytes.0.is_multiple_of(SECTOR.0);
        let misalign = workload.options.misalign;
        let off = workload.sizes().find(|size| unaligned(*size)).or(unaligned(misalign).then_some(workload.bs));
        if let Some(bs) = off.filter(|_| workload.cache.direct()) {
            return Err(MeasureError::Unaligned { bs, unit: SECTOR });
        }
        if workload.cache == Cache::Os && workload.rw.writes() {
            return Err(self.refused("cache", "os", WRITES_BEHIND));
        }
        if workload.options.page_cache == PageCache::Warm {
            return Err(self.refused("page-cache", "warm", KEEPS_NOTHING));
        }
        let Use { setting, each, system } = self.used(workload)?;
        if each && workload.options.streams > 1 {
            return Err(self.refused(
                "streams",
                workload.options.streams,
                "each of its disks is given a stream of its own",
            ));
        }
        if each && workload.options.layout == Layout::LastFirst {
            let why = "each of its disks is written from its first block on: add --members 1";
            return Err(self.refused("layout", Layout::LastFirst, why));
        }
        let stack = system.path(&setting, 0)?;
        let range = self.range(&stack, each, workload);
        fits_pieces(workload, self.spread_over(&stack, each)?, range.end)?;
        let needed = least_bytes(workload);
        if needed > range.end - range.start {
            let needed = Bytes(needed);
            let span = Bytes(range.end - range.start);
            return Err(MeasureError::TooSmall { workload: Box::new(*workload), needed, span });
        }
        Ok(())
    }

    fn open(&self, run: &Run, start: Nanos) -> Result<Opened, MeasureError> {
        let Use { setting, each, system } = self.used(&run.workload)?;
        let stack = system.path(&setting, run.seed)?;
        let stride = stack.disk_bytes();
        let range = self.range(&stack, each, &run.workload);
        let spread = self.spread_over(&stack, each)?;
        let members = if each { setting.disks } else { 1 };
        let depth = run.workload.total_depth() * members;
        let slots = depth + run.workload.options.background_depth();
        let engine = match &system.network {
            Some(_) => Simulated::over(Box::new(AtClient { stack, remote: self.is_remote() }), slots, start),
            None => Simulated::over(Box::new(stack), slots, start),
        };
        let account = engine.processor_time();
        if !each {
            let engine: Box<dyn Engine> = match spread {
                Some(spread) => Box::new(SpreadOver::new(Box::new(engine), spread, slots)),
                None => Box::new(engine),
            };
            return Ok(Opened { engine, account, depth, range });
        }
        let streams = run.workload.rw.pattern() == Pattern::Sequential;
        let engine = EachMember::new(engine, members, stride).spread(spread);
        let step = run.workload.options.stride.0;
        let engine = if streams { engine.streaming(depth, range.clone(), step) } else { engine };
        let engine = Box::new(engine);
        Ok(Opened { engine, account, depth, range })
    }
}

/// A stack behind a network, with the processor time of the application's machine; if both ends are one machine, with
/// that of both.
struct AtClient {
    stack: Stack,
    remote: bool,
}

impl PathModel for AtClient {
    fn submit(&mut self, now: Moment, request: Submission) {
        self.stack.submit(now, request);
    }

    fn next_completion(&self) -> Option<Moment> {
        self.stack.next_completion()
    }

    fn next_by(&mut self, until: Moment) -> Option<Moment> {
        self.stack.next_by(until)
    }

    fn pop(&mut self) -> Option<Completed> {
        self.stack.pop()
    }

    fn processor_time(&self) -> ProcessorTime {
        let client = self.stack.client_time();
        let host = self.stack.processor_time();
        if self.remote {
            return client;
        }
        ProcessorTime { charged_ns: client.charged_ns + host.charged_ns, unseen_ns: client.unseen_ns + host.unseen_ns }
    }
}
