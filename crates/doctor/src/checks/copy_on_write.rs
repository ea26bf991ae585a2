//! Checks whether writes are copied for snapshots of the device mapper.

use halfpower_probe::Volume;

use crate::check::Check;
use crate::outcome::{Finding, Look, computed, only_if};
use crate::{Outcome, Place};

const SNAPSHOT: &str = "https://docs.kernel.org/admin-guide/device-mapper/snapshot.html";

pub(crate) const SNAPSHOTS: Check = Check {
    code: "snapshots",
    title: "Snapshots of a volume",
    reads: &["the mapped device's table and state (root)", "/sys/block/dm-N/dm/name of the devices below"],
    applies: "volumes of the device mapper",
    costs: "The first write to each part of a volume with a snapshot (LVM's old kind) reads the part and writes it \
            to the snapshot before: three accesses for one, computed. A snapshot that is full is lost.",
    source: SNAPSHOT,
    change: "`lvremove VG/SNAPSHOT`. It cannot be taken back.",
    look: |place| place.each_volume(snapshots),
};

fn snapshots(place: &Place, volume: &Volume) -> Look {
    only_if(place.root.exists(volume.disk.sys.join("dm")))?;
    let name = place.mapped_name(&volume.disk);
    // LVM names the parts below: NAME-real of what has a snapshot, NAME-cow of the snapshot's own.
    let below = place.stack.volumes.iter().filter(|lower| volume.beneath.contains(&lower.disk.name));
    let by_name = below.map(|lower| place.mapped_name(&lower.disk)).find(|lower| lower.ends_with("-real"));
    let kind = match place.mapping(&volume.disk) {
        Ok(parts) => {
            parts.iter().find_map(|part| part.split_whitespace().next().map(str::to_string)).unwrap_or_default()
        }
        Err(_) if by_name.is_some() => "snapshot-origin".to_string(),
        // What LVM manages would show in the names.
        Err(Outcome::Unread { .. }) if volume.what.starts_with("logical") => return Ok(Outcome::Fine),
        Err(early) => return Err(early),
    };
    match kind.as_str() {
        "snapshot-origin" => {
            Finding::warn(&volume.disk.name, "it has a snapshot: each part is copied before its first write")
                .saw(&format!("table of {name}"), by_name.unwrap_or(kind))
                .costs(computed(0.0, 2.0 / 3.0, "first writes", "a read and two writes for one"))
                .change("lvremove VG/SNAPSHOT, which cannot be taken back")
                .end()
        }
        "snapshot" => of_snapshot(place, volume, &name),
        _ => Ok(Outcome::Fine),
    }
}

fn of_snapshot(place: &Place, volume: &Volume, name: &str) -> Look {
    let state = place.mapping_state(&volume.disk)?;
    let used = state.first().and_then(|line| line.split_whitespace().nth(1)).unwrap_or_default().to_string();
    let share = used.split_once('/').and_then(|(used, all)| Some(used.parse::<f64>().ok()? / all.parse::<f64>().ok()?));
    let what = match share {
        Some(share) => format!("it is a snapshot, {:.0}% full; when it is full it is lost", share * 100.0),
        None => "it is a snapshot".to_string(),
    };
    let finding = match share {
        Some(share) if share >= 0.8 => Finding::bad(&volume.disk.name, what),
        _ => Finding::warn(&volume.disk.name, what),
    };
    finding
        .saw(&format!("state of {name}"), used)
        .costs(computed(0.0, 2.0 / 3.0, "first writes", "a read and two writes for one"))
        .change("lvextend -L +SIZE VG/SNAPSHOT")
        .end()
}
