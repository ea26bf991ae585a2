//! Checks whether disks are so hot that they slow down.

use std::path::PathBuf;

use halfpower_probe::{Disk, NvmeController, NvmePage};

use crate::blocks_below::controllers;
use crate::check::Check;
use crate::drive::{health, page, source};
use crate::outcome::{Finding, Look, all, only_if};
use crate::{Outcome, Place};

pub(crate) const TEMPERATURE: Check = Check {
    code: "temperature",
    title: "Temperature of disks",
    reads: &[
        "hwmonN/temp1_{input,max,crit,alarm} below the NVMe controller or the SATA disk (drivetemp)",
        "without it, the health and the limits of the NVMe drive (root)",
    ],
    applies: "disks that report a temperature",
    costs: "At its upper limit a drive slows down until it is cooler. Unknown: how much, the drive decides.",
    source: "https://docs.kernel.org/hwmon/drivetemp.html; https://docs.kernel.org/hwmon/sysfs-interface.html",
    change: "Cool it: air, a heat sink, another slot.",
    look: |place| place.real_disks().flat_map(|disk| of_disk(place, disk)).collect(),
};

fn of_disk(place: &Place, disk: &Disk) -> Vec<Outcome> {
    let parents = controllers(&place.root, disk).into_iter().chain([disk.sys.join("device")]);
    let folders: Vec<PathBuf> = parents
        .flat_map(|parent| [parent.clone(), parent.join("hwmon")])
        .flat_map(|parent| {
            let names = place.root.names(&parent).into_iter();
            names
                .filter(|name| name.starts_with("hwmon") && name != "hwmon")
                .map(move |name| parent.join(name))
                .collect::<Vec<_>>()
        })
        .filter(|folder| place.root.exists(folder.join("temp1_input")))
        .collect();
    if folders.is_empty() && disk.name.starts_with("nvme") {
        return all([of_drive(place, disk)]);
    }
    // A disk of its own and its controller are one folder by two ways.
    all(folders.into_iter().take(1).map(|folder| heat(place, disk, &folder)))
}

/// What the drive itself tells, where the kernel has no sensor of it.
fn of_drive(place: &Place, disk: &Disk) -> Look {
    let now = health(place, disk)?.celsius.ok_or(Outcome::NotApplicable)?;
    let limits = page(place, disk, NvmePage::Controller, NvmeController::of)?;
    let given = [limits.hot_celsius, limits.warm_celsius].into_iter().flatten().filter(|limit| *limit > 0);
    let given: Vec<i32> = given.collect();
    only_if(!given.is_empty())?;
    match given.into_iter().find(|limit| now >= *limit) {
        Some(limit) => Finding::bad(&disk.name, format!("{now} degrees Celsius, its limit is {limit}"))
            .saw(&source(disk, NvmePage::Health), format!("temperature {now}"))
            .change("cool it: air, a heat sink, another slot")
            .end(),
        None => Ok(Outcome::Fine),
    }
}

fn heat(place: &Place, disk: &Disk, folder: &std::path::Path) -> Look {
    let degrees = |file: &str| place.number::<f64>(folder.join(file)).map(|milli| milli / 1e3);
    let now = place.figure::<f64>(folder.join("temp1_input"))? / 1e3;
    let plausible = |limit: &f64| *limit > 0.0 && *limit < 200.0;
    let upper = degrees("temp1_max").filter(plausible);
    let critical = degrees("temp1_crit").filter(plausible);
    let alarm = place.number::<u32>(folder.join("temp1_alarm")) == Some(1);
    only_if(upper.is_some() || critical.is_some() || alarm)?;
    let at_least = |limit: Option<f64>| limit.is_some_and(|limit| now >= limit);
    let limit = critical.filter(|_| at_least(critical)).or(upper);
    let beside = limit.map_or(String::new(), |limit| format!(", its limit is {limit:.0}"));
    let what = format!("{now:.0} degrees Celsius{beside}");
    if !at_least(critical) && !at_least(upper) && !alarm {
        return Ok(Outcome::Fine);
    }
    let finding = Finding::bad(&disk.name, what);
    finding
        .saw(&folder.join("temp1_input").display().to_string(), format!("{:.0}", now * 1e3))
        .change("cool it: air, a heat sink, another slot")
        .end()
}
