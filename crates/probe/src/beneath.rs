//! Follows the bytes of a target down its stack of block devices: which devices they lie on, and where on each.
//!
//! It takes a device and the pieces of it that a target uses, and returns a [`Descent`]. Of devices side by side, as in a
//! stripe, the first is followed. It stops where the kernel does not tell where bytes lie.

use std::ops::Range;
use std::path::{Path, PathBuf};

use halfpower_os::extents::Piece;
use halfpower_os::mounts::Mount;
use halfpower_os::{DataFile, DeviceNumber};

use crate::block::{DEEPEST, volume_kind};
use crate::{Root, TargetIdentity};
use halfpower_spec::InOrder;

/// Unit of the device mapper's tables, and of sizes in sysfs.
const SECTOR_BYTES: u64 = 512;

/// A block device that holds bytes of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Kernel name.
    pub name: String,
    /// What it is, such as `encrypted volume home` or `partition`.
    pub what: String,
    /// Devices side by side at this place of the stack; this is the first of them.
    pub side_by_side: u32,
    /// Where on it the target's bytes lie. Below devices side by side, `at` of a piece has no meaning.
    pub pieces: Vec<Piece>,
    /// Its full stripes, if it is an array with parity.
    pub parity: Option<ParityArray>,
}

/// An array that keeps parity of each row of chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParityArray {
    /// Such as `md raid5`.
    pub what: String,
    /// Bytes on one disk before the next.
    pub chunk_bytes: u64,
    /// Chunks of data in a full stripe.
    pub data_disks: u64,
}

impl ParityArray {
    /// Bytes of data in a full stripe.
    pub fn row_bytes(&self) -> u64 {
        self.chunk_bytes * self.data_disks
    }
}

/// The devices of a stack, from the target down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descent {
    /// The devices, each beneath the one before.
    pub layers: Vec<Layer>,
    /// Why it goes no further although there is more, a sentence without its full stop.
    pub ends: Option<String>,
}

/// Tells where the bytes of a file's ranges lie, and the device that they lie on; `None` if that is unknown.
pub type FilePlaces<'a> = &'a dyn Fn(&Path, &[Piece]) -> Option<(DeviceNumber, Vec<Piece>)>;

/// Where the bytes of one device lie on what is beneath it.
enum Step {
    /// On this device (its sysfs folder), so many bytes further.
    Moved(PathBuf, u64),
    /// On devices side by side, of which this is the first.
    Striped { first: PathBuf, rows: Rows, side_by_side: u32, from: u64 },
    /// In a file.
    File(PathBuf, u64),
    /// There is nothing beneath.
    End,
}

/// How chunks lie in rows over devices side by side.
#[derive(Debug, Clone, Copy)]
struct Rows {
    chunk_bytes: u64,
    /// Chunks of a row, without those of parity.
    chunks: u64,
    /// How often each chunk stands there, one copy after the other.
    copies: u64,
    /// Chunks of a device from the beginning of a row to that of the next: the row itself, and further copies of it.
    apart: u64,
}

/// Follows `pieces` of the device with this number down.
pub fn descend(root: &Root, number: DeviceNumber, pieces: Vec<Piece>, places: FilePlaces) -> Descent {
    let mut descent = Descent::default();
    let mut next = root.block_device(number).map(|sys| (sys, pieces, 1));
    while let Some((sys, pieces, side_by_side)) = next.take() {
        let Some(name) = sys.file_name().and_then(|name| name.to_str()).map(str::to_string) else { break };
        if descent.layers.len() >= DEEPEST {
            break;
        }
        let what = kind(root, &sys);
        let step = step(root, &sys, &name);
        descent.layers.push(Layer { name, what, side_by_side, pieces: pieces.clone(), parity: parity(root, &sys) });
        next = match step {
            Ok(Step::End) => None,
            Ok(Step::Moved(sys, by)) => Some((sys, moved(pieces, by), side_by_side)),
            Ok(Step::Striped { first, rows, side_by_side: beside, from }) => {
                Some((first, rows.of_device(&pieces, from), side_by_side * beside))
            }
            Ok(Step::File(file, from)) => match places(&file, &moved(pieces, from)) {
                Some((number, pieces)) => root.block_device(number).map(|sys| (sys, pieces, side_by_side)),
                None => {
                    descent.ends = Some(format!("the file system does not tell where {} lies", file.display()));
                    None
                }
            },
            Err(why) => {
                descent.ends = Some(why);
                None
            }
        };
    }
    descent
}

fn kind(root: &Root, sys: &Path) -> String {
    let is_volume = ["md/level", "dm/uuid", "loop/backing_file"].iter().any(|file| root.exists(sys.join(file)));
    match () {
        () if root.exists(sys.join("partition")) => "partition".to_string(),
        () if is_volume => volume_kind(root, sys),
        () => "disk".to_string(),
    }
}

/// The full stripes of an array with parity.
fn parity(root: &Root, sys: &Path) -> Option<ParityArray> {
    let Some(level) = root.text(sys.join("md/level")) else { return mapped_parity(root, sys) };
    let of_parity = parity_disks(&level)?;
    let disks: u64 = root.number(sys.join("md/raid_disks"))?;
    let chunk_bytes: u64 = root.number(sys.join("md/chunk_size")).filter(|bytes| *bytes > 0)?;
    let data_disks = disks.checked_sub(of_parity).filter(|disks| *disks > 1)?;
    Some(ParityArray { what: format!("md {level}"), chunk_bytes, data_disks })
}

/// The same of a mapped device, as LVM makes them (admin-guide/device-mapper/dm-raid.rst).
fn mapped_parity(root: &Root, sys: &Path) -> Option<ParityArray> {
    let parts =
        root.mapping(DeviceNumber::parse(&root.text(sys.join("dev")).filter(|_| root.exists(sys.join("dm")))?)?)?;
    let [part] = parts.as_slice() else { return None };
    let words: Vec<&str> = part.split_whitespace().collect();
    let number = |place: usize| words.get(place)?.parse::<u64>().ok();
    let level = words.get(1).filter(|_| words.first() == Some(&"raid"))?;
    let of_parity = parity_disks(level)?;
    // After the level come the number of parameters, the parameters, of which the first is the chunk, and the devices.
    let chunk_bytes = number(3)?.checked_mul(SECTOR_BYTES).filter(|bytes| *bytes > 0)?;
    let disks = number(usize::try_from(number(2)?).ok()?.checked_add(3)?)?;
    let data_disks = disks.checked_sub(of_parity).filter(|disks| *disks > 1)?;
    Some(ParityArray { what: format!("LVM {}", level.split('_').next().unwrap_or(level)), chunk_bytes, data_disks })
}

fn parity_disks(level: &str) -> Option<u64> {
    match level.split('_').next() {
        Some("raid4" | "raid5") => Some(1),
        Some("raid6") => Some(2),
        _ => None,
    }
}

fn step(root: &Root, sys: &Path, name: &str) -> Result<Step, String> {
    if root.exists(sys.join("partition")) {
        let disk = sys.parent().map(Path::to_path_buf).ok_or_else(|| format!("nothing is known above {name}"))?;
        return Ok(Step::Moved(disk, sectors(root, sys.join("start"))));
    }
    if let Some(file) = root.text(sys.join("loop/backing_file")) {
        return Ok(Step::File(PathBuf::from(file), root.number(sys.join("loop/offset")).unwrap_or(0)));
    }
    if let Some(level) = root.text(sys.join("md/level")) {
        return of_md(root, sys, &level).ok_or_else(|| format!("md does not tell where the bytes of {name} lie"));
    }
    if root.exists(sys.join("dm")) {
        return mapped(root, sys, name);
    }
    if root.names(sys.join("slaves")).is_empty() { Ok(Step::End) } else { Err(format!("{name} stands on more")) }
}

fn sectors(root: &Root, file: PathBuf) -> u64 {
    root.number::<u64>(file).unwrap_or(0).saturating_mul(SECTOR_BYTES)
}

/// An array of md, on its first disk (Documentation/admin-guide/md.rst).
fn of_md(root: &Root, sys: &Path, level: &str) -> Option<Step> {
    let disks: u64 = root.number(sys.join("md/raid_disks"))?;
    let first = (0..disks).find(|disk| root.exists(sys.join(format!("md/rd{disk}/block"))))?;
    let member = sys.join(format!("md/rd{first}"));
    let device = root.resolve(member.join("block"))?;
    let from = sectors(root, member.join("offset"));
    let (chunks, copies, apart) = match level {
        "raid1" => return Some(Step::Moved(device, from)),
        "raid0" => (disks, 1, 1),
        "raid10" => {
            let layout: u64 = root.number(sys.join("md/layout"))?;
            // Near copies lie side by side. Far ones lie in a part of their own, or, where the bit above says so, in the rows
            // that follow (drivers/md/raid10.c, `setup_geo`).
            let [near, far] = [layout & 0xff, layout >> 8 & 0xff].map(|copies| copies.max(1));
            (disks, near, if layout >> 16 & 1 == 1 { far } else { 1 })
        }
        level => (disks.checked_sub(parity_disks(level)?)?, 1, 1),
    };
    let chunk_bytes: u64 = root.number(sys.join("md/chunk_size")).filter(|bytes| *bytes > 0)?;
    let side_by_side = u32::try_from(disks).ok()?;
    Some(Step::Striped { first: device, rows: Rows { chunk_bytes, chunks, copies, apart }, side_by_side, from })
}

/// A device of the device mapper with a single part, whose table tells where it lies (admin-guide/device-mapper).
fn mapped(root: &Root, sys: &Path, name: &str) -> Result<Step, String> {
    let number = root.text(sys.join("dev")).and_then(|text| DeviceNumber::parse(&text));
    let Some(parts) = number.and_then(|number| root.mapping(number)) else {
        return Err(format!("where the bytes of {name} lie is told to root alone"));
    };
    let [part] = parts.as_slice() else { return Err(format!("{name} has several parts")) };
    let words: Vec<&str> = part.split_whitespace().collect();
    let at = |place: usize| -> Option<(PathBuf, u64)> {
        let number = DeviceNumber::parse(words.get(place)?)?;
        let sector: u64 = words.get(place + 1)?.parse().ok()?;
        Some((root.block_device(number)?, sector.saturating_mul(SECTOR_BYTES)))
    };
    let step = match words.first().copied() {
        Some("linear" | "delay" | "flakey") => at(1).map(|(device, by)| Step::Moved(device, by)),
        Some("crypt") => at(4).map(|(device, by)| Step::Moved(device, by)),
        Some("striped") => at(3).and_then(|(first, from)| {
            let number = |place: usize| words.get(place)?.parse::<u64>().ok().filter(|number| *number > 0);
            let (chunks, chunk_bytes) = (number(1)?, number(2)?.checked_mul(SECTOR_BYTES)?);
            let side_by_side = u32::try_from(chunks).ok()?;
            let rows = Rows { chunk_bytes, chunks, copies: 1, apart: 1 };
            Some(Step::Striped { first, rows, side_by_side, from })
        }),
        _ => None,
    };
    let kind = words.first().unwrap_or(&"unknown");
    step.ok_or_else(|| format!("the device mapper's {kind} does not tell where the bytes of {name} lie"))
}

fn moved(mut pieces: Vec<Piece>, by: u64) -> Vec<Piece> {
    pieces.iter_mut().for_each(|Piece { on, .. }| *on = on.start.saturating_add(by)..on.end.saturating_add(by));
    pieces
}

impl Rows {
    /// The part of each device that holds the rows which the pieces touch, each once; the first row begins at `from`.
    fn of_device(self, pieces: &[Piece], from: u64) -> Vec<Piece> {
        let [chunk_bytes, chunks] = [self.chunk_bytes, self.chunks].map(|number| number.max(1));
        let place = |row: u64| from.saturating_add(row.saturating_mul(self.apart).saturating_mul(chunk_bytes));
        let rows = pieces.iter().map(|piece| {
            let first = (piece.on.start / chunk_bytes).saturating_mul(self.copies);
            let end = piece.on.end.div_ceil(chunk_bytes).saturating_mul(self.copies);
            first / chunks..end.div_ceil(chunks)
        });
        let mut ranges: Vec<Range<u64>> = rows.map(|rows| place(rows.start)..place(rows.end)).collect();
        ranges.order_by_key(|range| range.start);
        let mut joined: Vec<Piece> = Vec::new();
        for on in ranges {
            match joined.last_mut() {
                Some(last) if last.on.end >= on.start => last.on.end = last.on.end.max(on.end),
                _ => joined.push(Piece { at: 0, on }),
            }
        }
        joined
    }
}

/// Where the bytes of the files of this machine lie, for [`descend`].
pub fn live_places(mounts: &[Mount]) -> impl Fn(&Path, &[Piece]) -> Option<(DeviceNumber, Vec<Piece>)> + use<'_> {
    |path, wanted| {
        let number = TargetIdentity::of(path).ok()?.number;
        let data = DataFile::open(path, false).ok()?;
        Some((number, places_of(&data, number, mounts, wanted)?))
    }
}

/// Where these pieces of a file lie on the device with this number; `None` if its file system has several devices, or does
/// not tell.
pub fn places_of(data: &DataFile, number: DeviceNumber, mounts: &[Mount], wanted: &[Piece]) -> Option<Vec<Piece>> {
    // What spans devices tells places of its own, which are on none of them.
    let is_single = mounts.iter().any(|mount| mount.number == number) && number.major != 0;
    let mut found = Vec::new();
    for piece in wanted.iter().filter(|_| is_single) {
        let of_file = data.pieces(piece.on.clone()).ok().flatten()?;
        found.extend(of_file.into_iter().map(|inner| Piece { at: piece.at + (inner.at - piece.on.start), ..inner }));
    }
    is_single.then_some(found)
}
