//! Checks pools of thin volumes: how full they are, and whether they write zeros first.

use halfpower_probe::Volume;

use crate::check::Check;
use crate::outcome::{Finding, Look, only_if};
use crate::{Outcome, Place};

const THIN: &str = "https://docs.kernel.org/admin-guide/device-mapper/thin-provisioning.html";

/// The table of a pool of thin volumes.
fn pool(place: &Place, volume: &Volume) -> Result<String, Outcome> {
    let parts = place.mapping(&volume.disk).map_err(|early| match early {
        // Without the table, the name that LVM gives to pools tells what it would say.
        Outcome::Unread { .. } if !place.mapped_name(&volume.disk).ends_with("tpool") => Outcome::NotApplicable,
        other => other,
    })?;
    parts.into_iter().find(|part| part.starts_with("thin-pool ")).ok_or(Outcome::NotApplicable)
}

pub(crate) const FULL: Check = Check {
    code: "thin-pool-full",
    title: "Space in a thin pool",
    reads: &["the mapped device's table and state (root)"],
    applies: "volumes from a pool of thin volumes",
    costs: "A pool that is full stops all writes to all its volumes, and a full metadata device makes it read-only. \
            Named from 80% on, bad from 95% on.",
    source: THIN,
    change: "`lvextend -L +SIZE VG/POOL`, `lvextend --poolmetadatasize +SIZE VG/POOL`.",
    look: |place| place.each_volume(full),
};

fn full(place: &Place, volume: &Volume) -> Look {
    pool(place, volume)?;
    let state = place.mapping_state(&volume.disk)?;
    // thin-pool, transaction, used/total metadata, used/total data.
    let line = state.iter().find(|part| part.starts_with("thin-pool ")).ok_or(Outcome::NotApplicable)?;
    let share = |word: Option<&str>| {
        let (used, total) = word?.split_once('/')?;
        Some(used.parse::<f64>().ok()? / total.parse::<f64>().ok().filter(|total| *total > 0.0)?)
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let metadata = share(words.get(2).copied());
    let data =
        share(words.get(3).copied()).ok_or_else(|| Outcome::untold(format!("the state of {}", volume.disk.name)))?;
    let name = place.mapped_name(&volume.disk);
    let (which, most) = match metadata {
        Some(metadata) if metadata > data => ("metadata", metadata),
        _ => ("data", data),
    };
    let what = format!("the thin pool {name} is {:.0}% full of {which}", most * 100.0);
    let finding = match most {
        room if room < 0.8 => return Ok(Outcome::Fine),
        little if little < 0.95 => Finding::warn(&volume.disk.name, what),
        _ => Finding::bad(&volume.disk.name, what),
    };
    let by = if which == "data" { "-L +SIZE" } else { "--poolmetadatasize +SIZE" };
    finding
        .saw(&format!("state of {name}"), words[2..words.len().min(4)].join(" "))
        .change(format!("lvextend {by} VG/POOL"))
        .end()
}

pub(crate) const ZEROING: Check = Check {
    code: "thin-pool-zeroing",
    title: "Zeros before data in a thin pool",
    reads: &["the mapped device's table (root)"],
    applies: "volumes from a pool of thin volumes",
    costs: "Each first write to a part of a volume is preceded by zeros over the rest of it. A note: it is the usual \
            setting, and keeps one volume's old data from another's owner.",
    source: THIN,
    change: "`lvchange --zero n VG/POOL`, and back with `--zero y`.",
    look: |place| place.each_volume(zeroing),
};

fn zeroing(place: &Place, volume: &Volume) -> Look {
    let table = pool(place, volume)?;
    only_if(!table.is_empty())?;
    if table.split_whitespace().any(|word| word == "skip_block_zeroing") {
        return Ok(Outcome::Fine);
    }
    Finding::note(&volume.disk.name, "each first write to a part of a thin volume writes zeros over the rest")
        .saw(&format!("table of {}", place.mapped_name(&volume.disk)), "without skip_block_zeroing")
        .change("lvchange --zero n VG/POOL")
        .back("lvchange --zero y VG/POOL")
        .end()
}
