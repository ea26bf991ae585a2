//! Opens a model of a storage path for the requests of an application.

use halfpower_model::{
    Completed, DiskPath, Fitted, FittedPath, MemberLayout, Moment, Operation, PathModel, Stack, Submission,
};
use halfpower_record::Captured;
use halfpower_spec::{Bytes, Cache, Direction, Pattern, SimulatedDisk};

use super::address::Address;

/// Most bytes of a calibrated device, so that those of many devices fit an integer.
const MOST_OF_A_DEVICE: u64 = 1 << 50;
/// Bytes of a stripe's chunk, or else the alignment of devices.
const WHOLE: u64 = 1 << 20;

/// Who makes written data durable, and how long that takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushBy {
    /// The model's path knows flushes.
    Path,
    /// The device flushes once at a time, and each flush serves those that wait when it begins.
    Device {
        /// Time of a flush in nanoseconds.
        ns: u64,
        /// Most that one serves; 0 is all.
        most: u32,
        /// Whether the path's limit of write requests counts a flush as one.
        counted: bool,
    },
    /// Nobody knows: syncs, and writes that are durable by themselves, take the time that was captured.
    Captured,
}

/// A model of a storage path, idle, where a capture can be asked.
pub struct SimulatedPlace {
    pub(super) path: Path,
    /// Bytes that it holds.
    pub(super) capacity: u64,
    pub(super) flush: FlushBy,
    /// Whether operations take the time that was captured, and ask nothing of the path.
    pub(super) as_captured: bool,
}

/// A model, told how a request goes to it.
pub(super) enum Path {
    Disk(Box<DiskPath>),
    /// A machine made of parts, whose flush waits until nothing is left to be written.
    Machine(Box<Stack>),
    /// A calibrated device, and which of its paths serves a pattern and a direction, by [`way`].
    Fitted(Box<FittedPath>, [(Pattern, Cache); 4]),
}

fn way(pattern: Pattern, direction: Direction) -> usize {
    usize::from(pattern != Pattern::Sequential) * 2 + usize::from(direction == Direction::Write)
}

impl SimulatedPlace {
    /// A disk of constants that is large enough for all files of `captured`; `seed` determines its noise. Whether it says how
    /// long a flush takes decides who makes data durable.
    pub fn disk(disk: &SimulatedDisk, captured: &Captured, seed: u64) -> Self {
        let capacity = Address::of(captured).bytes.max(disk.size.0);
        let disk = SimulatedDisk { size: Bytes(capacity), ..disk.clone() };
        let path = DiskPath::new(&disk, seed).issued_by(captured.lanes.max(1));
        let flush = if disk.flush.is_some() { FlushBy::Path } else { FlushBy::Captured };
        Self { path: Path::Disk(Box::new(path)), capacity, flush, as_captured: false }
    }

    /// The path where it was captured: each operation takes the time that it took.
    pub(super) fn as_captured() -> Self {
        let path = Path::Disk(Box::new(DiskPath::new(&SimulatedDisk::default(), 0)));
        Self { path, capacity: u64::MAX, flush: FlushBy::Captured, as_captured: true }
    }

    /// A machine made of parts.
    pub fn machine(stack: Stack) -> Self {
        let capacity = stack.bytes();
        Self { path: Path::Machine(Box::new(stack)), capacity, flush: FlushBy::Path, as_captured: false }
    }

    /// `disks` calibrated devices, striped in chunks of these bytes, or else one after the other, and large enough for all
    /// files of `captured`. A device takes requests whose path it lacks in no time: look at [`Fitted::path_of`] first.
    pub fn fitted(fitted: &Fitted, (disks, chunk): (u32, Option<u64>), captured: &Captured, flush: FlushBy) -> Self {
        let each = Address::of(captured).bytes.div_ceil(u64::from(disks.max(1)));
        let measured = fitted.device.measured_mib.saturating_mul(WHOLE);
        let each = each.max(measured).min(MOST_OF_A_DEVICE - WHOLE).next_multiple_of(WHOLE);
        let lanes = captured.lanes.max(1);
        let layout = MemberLayout {
            devices: disks,
            chunk,
            bytes: each,
            pattern: Pattern::Random,
            cache: Cache::Device,
            depth: lanes,
            threads: lanes,
        };
        let mut ways = [(Pattern::Random, Cache::Device); 4];
        for pattern in Pattern::ALL {
            for direction in Direction::ALL {
                if let Some(path) = fitted.path_of(*pattern, *direction) {
                    ways[way(*pattern, *direction)] = path;
                }
            }
        }
        let path = FittedPath::new(fitted, layout);
        let capacity = path.bytes();
        Self { path: Path::Fitted(Box::new(path), ways), capacity, flush, as_captured: false }
    }
}

impl Path {
    /// Whether a flush waits until nothing is left to be written, by later requests neither.
    pub fn drains(&self) -> bool {
        matches!(self, Self::Machine(_))
    }

    pub fn submit(&mut self, now: Moment, request: Submission, pattern: Pattern) {
        match self {
            Self::Disk(path) => path.submit(now, request),
            Self::Machine(path) => path.submit(now, request),
            Self::Fitted(path, ways) => {
                let direction = if request.operation == Operation::Write { Direction::Write } else { Direction::Read };
                let (pattern, cache) = ways[way(pattern, direction)];
                path.submit_by(now, request, pattern, cache);
            }
        }
    }

    /// When a flush of the device has passed the path's limit of write requests.
    pub fn pass_flush(&mut self, now: Moment) -> Moment {
        match self {
            Self::Disk(_) | Self::Machine(_) => now,
            Self::Fitted(path, ways) => {
                let (pattern, cache) = ways[way(Pattern::Random, Direction::Write)];
                path.pass_flush(now, pattern, cache)
            }
        }
    }

    pub fn next_by(&mut self, until: Moment) -> Option<Moment> {
        self.model().next_by(until)
    }

    pub fn pop(&mut self) -> Option<Completed> {
        self.model().pop()
    }

    fn model(&mut self) -> &mut dyn PathModel {
        match self {
            Self::Disk(path) => &mut **path,
            Self::Machine(path) => &mut **path,
            Self::Fitted(path, _) => &mut **path,
        }
    }
}
