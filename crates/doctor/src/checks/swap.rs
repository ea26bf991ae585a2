//! Checks whether swap space lies on the disks of the path.

use std::path::Path;

use halfpower_os::mounts::mount_of;
use halfpower_probe::{Disk, Stack, disks_of_mount};
use halfpower_spec::Bytes;

use crate::check::Check;
use crate::outcome::{Finding, Look, all};
use crate::{Outcome, Place};

pub(crate) const SHARED: Check = Check {
    code: "swap-on-disk",
    title: "Swap on the same disk",
    reads: &["/proc/swaps"],
    applies: "places with a disk",
    costs: "Swapping takes requests of the same disk. Unknown; where nothing is swapped out, it is a note.",
    source: "https://man7.org/linux/man-pages/man8/swapon.8.html",
    change: "`swapoff DEVICE` where memory suffices, and back with `swapon DEVICE`; or swap space on another disk.",
    look: shared,
};

fn shared(place: &Place) -> Vec<Outcome> {
    let text = match place.fact("proc/swaps") {
        Ok(text) if !place.stack.disks.is_empty() => text,
        Ok(_) => return vec![Outcome::NotApplicable],
        Err(early) => return vec![early],
    };
    let mut outcomes = all(text.lines().skip(1).map(|line| area(place, line)));
    outcomes.push(Outcome::Fine);
    outcomes
}

fn area(place: &Place, line: &str) -> Look {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [path, kind, _, used, ..] = words[..] else { return Err(Outcome::NotApplicable) };
    let tops = match kind {
        "file" => mount_of(&place.mounts, Path::new(path), None).map(|mount| disks_of_mount(&place.root, mount)),
        _ => path.strip_prefix("/dev/").and_then(|name| Disk::by_name(&place.root, name)).map(|disk| vec![disk]),
    };
    let below = Stack::below(&place.root, &place.mounts, &tops.unwrap_or_default());
    let on: Vec<&str> = below
        .disks
        .iter()
        .filter(|disk| place.real_disks().any(|own| own == *disk))
        .map(|disk| disk.name.as_str())
        .collect();
    if on.is_empty() {
        return Ok(Outcome::Fine);
    }
    let used = used.parse::<u64>().unwrap_or(0).saturating_mul(1024);
    let what = format!("swap space {path} lies on it, {} in use", Bytes(used));
    let finding = if used > 0 { Finding::warn(&on.join(", "), what) } else { Finding::note(&on.join(", "), what) };
    finding
        .saw("proc/swaps", line.split_whitespace().collect::<Vec<_>>().join(" "))
        .change(format!("swapoff {path}"))
        .back(format!("swapon {path}"))
        .end()
}
