//! Checks how arrays of md are laid out and kept consistent.

use halfpower_probe::{Disk, Volume};
use halfpower_spec::Bytes;

use crate::check::Check;
use crate::outcome::{Finding, Look, only_if, published};
use crate::place::short;
use crate::{Outcome, Place};

const MD: &str = "https://docs.kernel.org/admin-guide/md.html";
/// What was measured of the partial parity log: https://docs.kernel.org/driver-api/md/raid5-ppl.html.
const PPL_SOURCE: &str = "the kernel's page on PPL: writes reduced by up to 30% to 40%";

/// A file of an array, relative to the root.
pub(crate) fn md(disk: &Disk, file: &str) -> String {
    format!("{}/md/{file}", short(disk))
}

/// The level of an array, such as `raid5`.
pub(crate) fn level(place: &Place, volume: &Volume) -> Result<String, Outcome> {
    place.fact(md(&volume.disk, "level"))
}

fn has_parity(level: &str) -> bool {
    ["raid4", "raid5", "raid6"].contains(&level)
}

pub(crate) const CHUNK: Check = Check {
    code: "md-chunk",
    title: "Chunk of an array",
    reads: &["/sys/block/mdN/md/{chunk_size,level}"],
    applies: "arrays of md with stripes",
    costs: "A chunk below 64 KiB cuts requests of that size over several disks: each is as slow as the slowest of \
            them. Unknown.",
    source: MD,
    change: "`mdadm --grow /dev/mdN --chunk=512`, which rewrites the whole array, and back with the old figure.",
    look: |place| place.each_volume(chunk),
};

fn chunk(place: &Place, volume: &Volume) -> Look {
    level(place, volume)?;
    let file = md(&volume.disk, "chunk_size");
    match place.figure::<u64>(&file)? {
        0 => Err(Outcome::NotApplicable),
        bytes @ 1..0x1_0000 => Finding::warn(&volume.disk.name, format!("chunks of {}", Bytes(bytes)))
            .saw(&file, bytes)
            .change(format!("mdadm --grow /dev/{} --chunk=512, which rewrites the array", volume.disk.name))
            .end(),
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const STRIPES: Check = Check {
    code: "md-stripe-cache",
    title: "Stripe cache of an array",
    reads: &["/sys/block/mdN/md/{stripe_cache_size,chunk_size,raid_disks}"],
    applies: "arrays of md with parity",
    costs: "Each entry holds 4 KiB of every disk. With fewer entries than two rows of chunks need, rows are written \
            before they are complete, and what is missing is read first. Unknown. The usual 256 is a note: it holds \
            two rows of chunks of 512 KiB.",
    source: MD,
    change: "`echo 4096 > /sys/block/mdN/md/stripe_cache_size`, and back with the old figure. It takes 4 KiB a disk \
            and entry.",
    look: |place| place.each_volume(stripes),
};

fn stripes(place: &Place, volume: &Volume) -> Look {
    const PAGE: u64 = 4096;
    /// The kernel's own figure.
    const USUAL: u64 = 256;
    only_if(has_parity(&level(place, volume)?))?;
    let file = md(&volume.disk, "stripe_cache_size");
    let entries: u64 = place.figure(&file)?;
    let chunk: u64 = place.figure(md(&volume.disk, "chunk_size"))?;
    let row = chunk.div_ceil(PAGE).max(1);
    let what = format!("the stripe cache holds {:.1} rows of chunks", entries as f64 / row as f64);
    let finding = match entries {
        few if few < 2 * row => Finding::warn(&volume.disk.name, what),
        ..=USUAL => Finding::note(&volume.disk.name, what),
        _ => return Ok(Outcome::Fine),
    };
    let wanted = (8 * row).clamp(1024, 32_768);
    finding
        .saw(&file, entries)
        .saw(&md(&volume.disk, "chunk_size"), chunk)
        .try_set(&file, &wanted.to_string(), &entries.to_string())
        .end()
}

pub(crate) const THREADS: Check = Check {
    code: "md-threads",
    title: "Threads of an array",
    reads: &["/sys/block/mdN/md/group_thread_cnt"],
    applies: "arrays of md with parity",
    costs: "One kernel thread computes parity for the whole array; on solid-state disks it may be the limit. \
            Unknown; a note, since 0 is the usual figure.",
    source: "Linux, drivers/md/raid5.c (group_thread_cnt)",
    change: "`echo 4 > /sys/block/mdN/md/group_thread_cnt`, and back with 0.",
    look: |place| place.each_volume(threads),
};

fn threads(place: &Place, volume: &Volume) -> Look {
    only_if(has_parity(&level(place, volume)?))?;
    let file = md(&volume.disk, "group_thread_cnt");
    match place.figure::<u32>(&file)? {
        0 => Finding::note(&volume.disk.name, "one thread computes all parity")
            .saw(&file, 0)
            .try_set(&file, "4", "0")
            .end(),
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const BITMAP: Check = Check {
    code: "md-bitmap",
    title: "Bitmap of an array",
    reads: &["/sys/block/mdN/md/bitmap/{location,chunksize}"],
    applies: "arrays of md with redundancy",
    costs: "Each first write to a part of the array also writes the bitmap. With parts below 4 MiB that comes often: \
            unknown. Without a bitmap (a note), a crash is followed by a resync of everything.",
    source: "https://docs.kernel.org/admin-guide/md.html; https://man7.org/linux/man-pages/man4/md.4.html",
    change: "`mdadm --grow /dev/mdN --bitmap=none`, then `--bitmap=internal --bitmap-chunk=64M`; back with the old \
            figure.",
    look: |place| place.each_volume(bitmap),
};

fn bitmap(place: &Place, volume: &Volume) -> Look {
    /// A smaller part is begun every few writes.
    const SMALL: u64 = 4 << 20;
    level(place, volume)?;
    let location = place.fact(md(&volume.disk, "bitmap/location"))?;
    let name = &volume.disk.name;
    if location == "none" {
        let what = "no bitmap: a crash is followed by a resync of everything";
        return Finding::note(name, what).saw(&md(&volume.disk, "bitmap/location"), location).end();
    }
    let file = md(&volume.disk, "bitmap/chunksize");
    match place.figure::<u64>(&file)? {
        bytes @ 1..SMALL => Finding::warn(name, format!("the bitmap is written once for each {}", Bytes(bytes)))
            .saw(&file, bytes)
            .change(format!("mdadm --grow /dev/{name} --bitmap=none, then --bitmap=internal --bitmap-chunk=64M"))
            .end(),
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const JOURNAL: Check = Check {
    code: "md-journal",
    title: "Journal of an array",
    reads: &["/sys/block/mdN/md/{consistency_policy,journal_mode}"],
    applies: "arrays of md with parity",
    costs: "With ppl each write first writes its parity: up to 40% of writes (published). With journal each write \
            goes to the journal's disk first, so that disk bounds all writes: a note.",
    source: "https://docs.kernel.org/driver-api/md/raid5-ppl.html; \
            https://docs.kernel.org/driver-api/md/raid5-cache.html",
    change: "`mdadm --grow /dev/mdN --consistency-policy=resync`, and back with ppl. It gives up what ppl protects \
            from.",
    look: |place| place.each_volume(journal),
};

fn journal(place: &Place, volume: &Volume) -> Look {
    only_if(has_parity(&level(place, volume)?))?;
    let file = md(&volume.disk, "consistency_policy");
    let policy = place.fact(&file)?;
    let name = &volume.disk.name;
    match policy.as_str() {
        "ppl" => Finding::warn(name, "each write first writes its parity (ppl)")
            .saw(&file, &policy)
            .costs(published(0.0, 0.4, "writes", PPL_SOURCE))
            .change(format!("mdadm --grow /dev/{name} --consistency-policy=resync, which gives up that protection"))
            .back(format!("mdadm --grow /dev/{name} --consistency-policy=ppl"))
            .end(),
        "journal" => Finding::note(name, "each write goes to the journal's disk first").saw(&file, &policy).end(),
        _ => Ok(Outcome::Fine),
    }
}
