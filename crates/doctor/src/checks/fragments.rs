//! Checks how a file lies on its disks: in how many pieces, and which parts were never written.

use halfpower_spec::format::precise_size;

use crate::check::Check;
use crate::outcome::{Finding, Look, all, only_if};
use crate::{Outcome, Place};

const FIEMAP: &str = "https://docs.kernel.org/filesystems/fiemap.html";
const READS: &[&str] = &["the extents of the file (FIEMAP)"];
/// Pieces of less bytes cut requests that streams make: the usual read-ahead.
const LEAST_BYTES: u64 = 128 << 10;
/// A smaller file is read at once, in however many pieces.
const SMALL_FILE_BYTES: u64 = 16 << 20;

fn size(bytes: u64) -> String {
    precise_size(bytes as f64)
}

pub(crate) const PIECES: Check = Check {
    code: "fragmentation",
    title: "Pieces of the file",
    reads: READS,
    applies: "files of 16 MiB or more on local file systems; not those that are compressed",
    costs: "Pieces of less than 128 KiB on average (the usual read-ahead): a large request becomes several, and on a hard \
            disk each piece is a seek. Unknown: compare it with a file that halfpower lays out itself.",
    source: FIEMAP,
    change: "Write it anew with its size reserved (`fallocate`), or `e4defrag FILE` (ext4), `xfs_fsr FILE` (xfs), `btrfs \
            filesystem defragment FILE`.",
    look: |place| all([pieces(place)]),
};

fn pieces(place: &Place) -> Look {
    let seen = place.layout()?;
    only_if(seen.placed_bytes >= SMALL_FILE_BYTES && !seen.is_encoded)?;
    let mean = seen.placed_bytes / seen.pieces.max(1);
    if seen.pieces < 2 || mean >= LEAST_BYTES {
        return Ok(Outcome::Fine);
    }
    let what = format!("the file lies in {} pieces of {} on average", seen.pieces, size(mean));
    let change = match place.kind() {
        Some("ext4") => "e4defrag FILE, or write it anew",
        Some("xfs") => "xfs_fsr FILE, or write it anew",
        Some("btrfs") => "btrfs filesystem defragment FILE, or write it anew",
        _ => "write it anew, with its size reserved",
    };
    Finding::warn(&place.target_text(), what)
        .saw("FIEMAP", format!("{} extents apart, {}", seen.pieces, size(seen.placed_bytes)))
        .change(change)
        .end()
}

pub(crate) const UNWRITTEN: Check = Check {
    code: "unwritten-parts",
    title: "Parts that were never written",
    reads: READS,
    applies: "files on local file systems",
    costs: "Reads of holes and of parts that were reserved and never written reach no disk, so figures of this file are \
            too good; a first write there changes metadata too. Unknown; a note.",
    source: FIEMAP,
    change: "Write all of it once before it is measured.",
    look: |place| all([unwritten(place)]),
};

fn unwritten(place: &Place) -> Look {
    let seen = place.layout()?;
    only_if(seen.bytes > 0)?;
    let holes = seen.bytes.saturating_sub(seen.placed_bytes);
    let share = holes.saturating_add(seen.unwritten_bytes) as f64 / seen.bytes as f64;
    if share < 0.01 {
        return Ok(Outcome::Fine);
    }
    let what = format!("{:.0}% of the file was never written: reads there reach no disk", share.min(1.0) * 100.0);
    Finding::note(&place.target_text(), what)
        .saw("FIEMAP", format!("holes {}, unwritten {}", size(holes), size(seen.unwritten_bytes)))
        .change("write all of it once before it is measured")
        .end()
}
