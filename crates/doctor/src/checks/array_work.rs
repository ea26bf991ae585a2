//! Checks whether arrays of md are whole and at rest.

use halfpower_probe::Volume;
use halfpower_record::Cost;

use super::array::{level, md};
use crate::check::Check;
use crate::outcome::{Finding, Look, computed};
use crate::place::short;
use crate::{Outcome, Place};

const MD: &str = "https://docs.kernel.org/admin-guide/md.html";

pub(crate) const DEGRADED: Check = Check {
    code: "md-degraded",
    title: "Array that lacks a disk",
    reads: &["/sys/block/mdN/md/{degraded,raid_disks,level}"],
    applies: "arrays of md with redundancy",
    costs: "Random reads, where all disks are busy, computed: of raid1 the share of the missing disks; of raid5 \
            half, since what the missing disk had is computed from all others; of raid6 nearly half; of raid10 half, \
            since one disk serves what two did.",
    source: MD,
    change: "`mdadm /dev/mdN --add DEVICE`.",
    look: |place| place.each_volume(degraded),
};

/// Share of random reads that an array loses without some of its disks, each disk being as busy as it can be.
///
/// With parity a read of the missing disk becomes one read of each disk that is needed to compute it. Of n disks with
/// one missing, a request costs (n-1)/n + k/n reads, k being n-1 for raid5 and n-2 for raid6, and n-1 disks serve them.
fn lost(level: &str, disks: f64, missing: f64) -> Option<(f64, f64)> {
    let left = disks - missing;
    if disks < 2.0 || left < 1.0 {
        return None;
    }
    match level {
        "raid1" => Some((missing / disks, missing / disks)),
        "raid5" | "raid4" if missing <= 1.0 => {
            let reads = left / disks + left / disks;
            Some((1.0 - left / reads / disks, 1.0 - left / reads / disks))
        }
        "raid6" if missing <= 1.0 => {
            let reads = left / disks + (disks - 2.0) / disks;
            Some((1.0 - left / reads / disks, 1.0 - left / reads / disks))
        }
        "raid10" => Some((0.0, 0.5)),
        _ => None,
    }
}

fn degraded(place: &Place, volume: &Volume) -> Look {
    let level = level(place, volume)?;
    let file = md(&volume.disk, "degraded");
    let missing: u32 = place.figure(&file)?;
    if missing == 0 {
        return Ok(Outcome::Fine);
    }
    let disks: u32 = place.number(md(&volume.disk, "raid_disks")).unwrap_or(0);
    let share = lost(&level, f64::from(disks), f64::from(missing));
    let how = || format!("{level} with {missing} of {disks} disks missing, all disks busy");
    let cost = share.map_or(Cost::Unknown, |(least, most)| computed(least, most, "random reads", how()));
    let what = format!("{level} lacks {missing} of {disks} disks: the next failure may lose data");
    Finding::bad(&volume.disk.name, what)
        .saw(&file, missing)
        .costs(cost)
        .change(format!("mdadm /dev/{} --add DEVICE", volume.disk.name))
        .end()
}

pub(crate) const SYNC: Check = Check {
    code: "md-sync",
    title: "Array at work",
    reads: &["/sys/block/mdN/md/{sync_action,sync_completed,sync_speed}", "/proc/mdstat"],
    applies: "arrays of md with redundancy",
    costs: "A resync, recovery, check or repair reads or writes every disk, at the speed that is shown. What it \
            takes from others is unknown: it gives way to them down to its least speed.",
    source: MD,
    change: "Wait, or `echo 10000 > /sys/block/mdN/md/sync_speed_max` (KiB/s) and back with `system`; `echo idle > \
             .../sync_action` ends a check.",
    look: |place| place.each_volume(sync),
};

fn sync(place: &Place, volume: &Volume) -> Look {
    level(place, volume)?;
    let file = md(&volume.disk, "sync_action");
    let action = place.fact(&file)?;
    if action == "idle" || action == "frozen" {
        return Ok(Outcome::Fine);
    }
    let completed = place.text(md(&volume.disk, "sync_completed")).unwrap_or_default();
    let sectors: Vec<f64> = completed.split('/').filter_map(|part| part.trim().parse().ok()).collect();
    let kib_per_s: f64 = place.number(md(&volume.disk, "sync_speed")).unwrap_or(0.0);
    let mut what = format!("a {action} is going on");
    let mut wait = "wait until it is done".to_string();
    if let [done, all] = sectors[..]
        && all > 0.0
    {
        what += &format!(", {:.0}% done", done / all * 100.0);
        if kib_per_s > 0.0 {
            wait = format!("wait about {}", hours((all - done) / 2.0 / kib_per_s));
        }
    }
    if kib_per_s > 0.0 {
        what += &format!(", {:.0} MB/s of each disk", kib_per_s * 1024.0 / 1e6);
    }
    let limit = md(&volume.disk, "sync_speed_max");
    Finding::warn(&volume.disk.name, what)
        .saw(&file, &action)
        .change(format!("{wait}, or echo 10000 > /{limit}"))
        .back(format!("echo system > /{limit}"))
        .end()
}

fn hours(seconds: f64) -> String {
    match seconds {
        short if short < 90.0 => format!("{short:.0} s"),
        minutes if minutes < 5400.0 => format!("{:.0} min", minutes / 60.0),
        long => format!("{:.0} h", long / 3600.0),
    }
}

pub(crate) const MEMBERS: Check = Check {
    code: "md-members",
    title: "Members of an array",
    reads: &["/sys/block/mdN/md/dev-*/{state,errors}"],
    applies: "arrays of md",
    costs: "A member with read errors makes the array compute or read what it could not give, each time: unknown. \
            write_error and want_replacement name a disk that should go.",
    source: MD,
    change: "Replace it: `mdadm /dev/mdN --add NEW --replace OLD`.",
    look: |place| place.each_volume(members),
};

fn members(place: &Place, volume: &Volume) -> Look {
    level(place, volume)?;
    let folder = format!("{}/md", short(&volume.disk));
    let names: Vec<String> = place.root.names(&folder).into_iter().filter(|name| name.starts_with("dev-")).collect();
    for name in names {
        let state_at = format!("{folder}/{name}/state");
        let state = place.text(&state_at).unwrap_or_default();
        let errors: u64 = place.number(format!("{folder}/{name}/errors")).unwrap_or(0);
        let member = name.trim_start_matches("dev-");
        let replace = format!("mdadm /dev/{} --add NEW --replace /dev/{member}", volume.disk.name);
        if let Some(word) = ["faulty", "write_error", "want_replacement", "blocked"]
            .iter()
            .find(|word| state.split(',').any(|said| said == **word))
        {
            return Finding::bad(member, format!("the array says {word} of it"))
                .saw(&state_at, &state)
                .change(replace)
                .end();
        }
        if errors > 0 {
            let what = format!("{errors} read errors were put right by the array");
            return Finding::warn(member, what).saw(&format!("{folder}/{name}/errors"), errors).change(replace).end();
        }
    }
    Ok(Outcome::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_disk_costs_what_the_others_read_for_it() {
        let most = |level, disks, missing| lost(level, disks, missing).map(|(_, most)| (most * 1000.0).round());
        assert_eq!(most("raid1", 2.0, 1.0), Some(500.0));
        assert_eq!((most("raid5", 3.0, 1.0), most("raid5", 8.0, 1.0)), (Some(500.0), Some(500.0)));
        assert_eq!(most("raid6", 4.0, 1.0), Some(400.0));
        assert_eq!((most("raid0", 2.0, 1.0), most("raid1", 0.0, 1.0)), (None, None));
    }
}
