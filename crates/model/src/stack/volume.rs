//! Maps a range of a volume to pieces on disks.

use crate::system::{System, SystemError};
use crate::{Array, Operation, Setting};

const KIB: u64 = 1024;

/// A range of one disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub disk: u32,
    pub offset: u64,
    pub length: u32,
}

/// The layout of a volume on its disks under one setting.
#[derive(Debug, Clone)]
pub struct Volume {
    disks: u64,
    disk_bytes: u64,
    /// Where on each disk the volume begins.
    start: u64,
    array: Array,
    chunk: u64,
    /// Misalignment of the file to the chunks, in bytes.
    off: u64,
    mirror_turns_from: u64,
}

impl Volume {
    pub fn new(system: &System, setting: &Setting) -> Result<Self, SystemError> {
        let constants = &system.volume;
        let off_kib = match setting.array {
            Array::Separate => 0.0,
            Array::SoftwareStripe => constants.software_off_kib,
            Array::HardwareStripe => {
                constants.hardware_off_kib.ok_or(SystemError::Lacks("adapter that makes a stripe"))?
            }
            Array::Mirror => 0.0,
        };
        let mirror_turns = constants.mirror_turns_from_kib;
        if setting.array == Array::Mirror && (mirror_turns.is_none() || setting.disks != 2) {
            return Err(SystemError::Lacks("adapter that makes a mirror of this number of disks"));
        }
        let disk_bytes = (system.disk.capacity_gb * 1e9) as u64 / (64 * KIB) * (64 * KIB);
        Ok(Self {
            disks: u64::from(setting.disks.max(1)),
            disk_bytes,
            start: (disk_bytes as f64 * setting.place.clamp(0.0, 1.0)) as u64 / (64 * KIB) * (64 * KIB),
            array: setting.array,
            chunk: constants.chunk_kib * KIB,
            off: if setting.aligned { 0 } else { (off_kib * KIB as f64) as u64 },
            mirror_turns_from: mirror_turns.unwrap_or(0) * KIB,
        })
    }

    /// Capacity of the volume in bytes.
    pub fn bytes(&self) -> u64 {
        let each = self.disk_bytes - self.start;
        match self.array {
            Array::Mirror => each,
            // If files are not aligned to the chunks, the last chunk of each disk is lost.
            Array::SoftwareStripe | Array::HardwareStripe => (each - self.chunk.min(each)) * self.disks,
            Array::Separate => each * self.disks,
        }
    }

    /// Distance between the starts of separate disks, in bytes.
    pub fn stride(&self) -> u64 {
        self.disk_bytes - self.start
    }

    /// Lays a range out; `outstanding` is the number of bytes outstanding on the volume, including this range.
    pub fn lay(&self, operation: Operation, offset: u64, length: u32, outstanding: u64, pieces: &mut Vec<Piece>) {
        pieces.clear();
        match self.array {
            Array::Separate if self.disks == 1 => pieces.push(self.piece(0, offset, length)),
            Array::Separate => {
                let stride = self.stride();
                self.cut(offset, length, stride, |at, within| ((at / stride) as u32, within), pieces);
            }
            Array::SoftwareStripe | Array::HardwareStripe => {
                let chunk = self.chunk;
                let disks = self.disks;
                let place = |at: u64, within: u64| ((at / chunk % disks) as u32, at / chunk / disks * chunk + within);
                self.cut(offset + self.off, length, chunk, place, pieces);
            }
            Array::Mirror => self.mirror(operation, offset, length, outstanding, pieces),
        }
    }

    /// A mirror as 3ware's adapters do it: with at least `mirror_turns_from` bytes outstanding, reads alternate between
    /// both disks in units of that size. With fewer, the caller chooses the less busy disk (see [`Volume::either`]).
    fn mirror(&self, operation: Operation, offset: u64, length: u32, outstanding: u64, pieces: &mut Vec<Piece>) {
        let unit = self.mirror_turns_from;
        if operation == Operation::Write {
            pieces.push(self.piece(0, offset, length));
            pieces.push(self.piece(1, offset, length));
        } else if outstanding >= unit {
            self.cut(offset, length, unit, |at, _| ((at / unit % 2) as u32, at), pieces);
        } else {
            pieces.push(self.piece(0, offset, length));
        }
    }

    /// Whether a read may go to any of the disks instead of the first.
    pub fn either(&self, operation: Operation, outstanding: u64) -> bool {
        self.array == Array::Mirror && operation == Operation::Read && outstanding < self.mirror_turns_from
    }

    fn cut(
        &self,
        offset: u64,
        length: u32,
        unit: u64,
        place: impl Fn(u64, u64) -> (u32, u64),
        pieces: &mut Vec<Piece>,
    ) {
        let end = offset + u64::from(length);
        let mut at = offset;
        while at < end {
            let within = at % unit;
            let part = (unit - within).min(end - at) as u32;
            let (disk, offset) = place(at, within);
            pieces.push(self.piece(disk, offset, part));
            at += u64::from(part);
        }
    }

    fn piece(&self, disk: u32, offset: u64, length: u32) -> Piece {
        Piece { disk, offset: self.start + offset, length }
    }
}
