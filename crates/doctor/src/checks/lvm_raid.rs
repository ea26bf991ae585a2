//! Checks whether RAID volumes of LVM are whole and at rest.

use halfpower_probe::Volume;

use crate::check::Check;
use crate::outcome::{Finding, Look, only_if};
use crate::{Outcome, Place};

pub(crate) const STATE: Check = Check {
    code: "lvm-raid",
    title: "RAID volumes of LVM",
    reads: &["the mapped device's state (root)", "/sys/block/dm-N/dm/name of the devices below"],
    applies: "logical volumes of the types raid1, raid4, raid5, raid6 and raid10",
    costs: "A volume that lacks a disk computes or copies what is missing, and the next failure may lose data; a resync, \
            recovery or check reads or writes every disk. Unknown.",
    source: "https://docs.kernel.org/admin-guide/device-mapper/dm-raid.html (status output)",
    change: "`lvconvert --repair VG/LV`; wait, or `lvchange --maxrecoveryrate 10M VG/LV` and back with 0.",
    look: |place| place.each_volume(state),
};

fn state(place: &Place, volume: &Volume) -> Look {
    // Other mapped devices are not asked: their state is for root alone.
    let slaves = volume.disk.sys.join("slaves");
    let below = place.root.names(&slaves).into_iter();
    let mut names = below.filter_map(|name| place.text(slaves.join(name).join("dm/name")));
    only_if(names.any(|name| name.contains("_rimage_")))?;
    let state = place.mapping_state(&volume.disk)?;
    let line = state.iter().find(|part| part.starts_with("raid ")).ok_or(Outcome::NotApplicable)?;
    // raid, its type, the number of devices, a letter for each, what is in step, and what is being done.
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, kind, _, health, in_step, action, ..] = words[..] else {
        return Err(Outcome::untold(format!("the state of {}", volume.disk.name)));
    };
    let name = place.mapped_name(&volume.disk);
    let missing = health.bytes().filter(|letter| !b"Aa".contains(letter)).count();
    let finding = if missing > 0 {
        let what = format!("{kind} lacks {missing} of {} disks: the next failure may lose data", health.len());
        Finding::bad(&volume.disk.name, what).change("lvconvert --repair VG/LV")
    } else if action != "idle" && action != "frozen" {
        Finding::warn(&volume.disk.name, format!("a {action} is going on, {} done", share(in_step)))
            .change("wait until it is done, or lvchange --maxrecoveryrate 10M VG/LV")
            .back("lvchange --maxrecoveryrate 0 VG/LV")
    } else {
        return Ok(Outcome::Fine);
    };
    finding.saw(&format!("state of {name}"), format!("{health} {in_step} {action}")).end()
}

/// `300/1200` as a percentage.
fn share(in_step: &str) -> String {
    let figures =
        in_step.split_once('/').and_then(|(done, all)| Some((done.parse::<f64>().ok()?, all.parse::<f64>().ok()?)));
    match figures {
        Some((done, all)) if all > 0.0 => format!("{:.0}%", 100.0 * done / all),
        _ => in_step.to_string(),
    }
}
