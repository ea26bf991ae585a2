//! Checks how NVMe drives save power: the state in which they are held, and those into which they go by themselves.

use std::path::Path;

use halfpower_probe::{Disk, NvmeController, NvmePage, nvme_power_state, nvme_sleep};

use crate::blocks_below::controllers;
use crate::check::Check;
use crate::drive::{page, source};
use crate::outcome::{Finding, Look, all, delay};
use crate::place::named;
use crate::{Outcome, Place};

pub(crate) const SLEEP: Check = Check {
    code: "nvme-power",
    title: "NVMe power saving (APST)",
    reads: &[
        "/sys/class/nvme/nvmeN/power/pm_qos_latency_tolerance_us",
        "the drive's feature 12 and its power states (root)",
    ],
    applies: "NVMe drives that save power by themselves",
    costs: "After a pause the drive sleeps in states that take long to leave: the first request after a pause waits. \
            The drive tells how long; without root the tolerance is the bound. A note: the usual tolerance is 100 ms.",
    source: "https://docs.kernel.org/admin-guide/kernel-parameters.html (nvme_core.default_ps_max_latency_us); NVM \
             Express base specification 2.0, 8.15.2",
    change: "`echo 0 > /sys/class/nvme/nvmeN/power/pm_qos_latency_tolerance_us`, and back with the old figure.",
    look: |place| {
        place
            .real_disks()
            .flat_map(|disk| all(controllers(&place.root, disk).iter().map(|it| sleep(place, disk, it))))
            .collect()
    },
};

fn sleep(place: &Place, disk: &Disk, controller: &Path) -> Look {
    let at = named(controller);
    let file = format!("sys/class/nvme/{at}/power/pm_qos_latency_tolerance_us");
    let text = place.fact(controller.join("power/pm_qos_latency_tolerance_us"))?;
    let Ok(us) = text.parse::<f64>() else { return Err(Outcome::NotApplicable) };
    if us <= 0.0 {
        return Ok(Outcome::Fine);
    }
    let states = page(place, disk, NvmePage::Sleep, nvme_sleep);
    if states.as_ref().is_ok_and(Vec::is_empty) {
        return Ok(Outcome::Fine);
    }
    let what = "the drive sleeps between requests (APST)";
    let finding = Finding::note(&at, what).saw(&file, &text);
    let deepest = states.ok().and_then(|states| deepest(place, disk, &states));
    let waits = "the first request after a pause";
    let finding = match deepest {
        Some((number, idle_ms, exit_us)) => finding
            .saw(&source(disk, NvmePage::Sleep), format!("state {number} after {idle_ms} ms"))
            .costs(delay(exit_us * 1e3, waits, format!("the exit latency of its power state {number}"))),
        None => finding.costs(delay(us * 1e3, waits, "the tolerance")),
    };
    finding.try_set(&file, "0", &text).end()
}

/// The state that takes longest to leave: its number, the idle time before it, and its exit latency in microseconds.
fn deepest(place: &Place, disk: &Disk, states: &[(usize, u32)]) -> Option<(usize, u32, f64)> {
    let controller = page(place, disk, NvmePage::Controller, NvmeController::of).ok()?;
    let told = states.iter().filter_map(|(number, idle_ms)| {
        let exit_us = controller.power_states.get(*number)?.exit_us;
        (exit_us > 0).then_some((exit_us, *number, *idle_ms))
    });
    told.max().map(|(exit_us, number, idle_ms)| (number, idle_ms, f64::from(exit_us)))
}

pub(crate) const HELD: Check = Check {
    code: "nvme-power-state",
    title: "Power state of NVMe drives",
    reads: &["the drive's feature 2 and its power states (root)"],
    applies: "NVMe drives",
    costs: "In another state than 0 a drive takes less power, and most are slower for it. Unknown. A state in which it \
            serves nothing is sleep: see nvme-power.",
    source: "NVM Express base specification 2.0, 5.27.1.2 and 8.15",
    change: "`nvme set-feature -f 2 -V 0 DEVICE`, and back with the old number.",
    look: |place| place.each_disk(held),
};

fn held(place: &Place, disk: &Disk) -> Look {
    let now = page(place, disk, NvmePage::PowerState, nvme_power_state)?;
    if now == 0 {
        return Ok(Outcome::Fine);
    }
    let states = page(place, disk, NvmePage::Controller, NvmeController::of)?.power_states;
    let Some(state) = states.get(now) else {
        return Err(Outcome::untold(format!("{}: state {now} is none of its own", source(disk, NvmePage::PowerState))));
    };
    if !state.is_operational {
        return Ok(Outcome::Fine);
    }
    let watts = |centiwatts: u32| format!("{:.1} W", f64::from(centiwatts) / 100.0);
    let beside = match states.first().map(|first| first.centiwatts) {
        Some(most) if most > 0 && state.centiwatts > 0 => {
            format!(": {} at most in place of {}", watts(state.centiwatts), watts(most))
        }
        _ => String::new(),
    };
    Finding::warn(&disk.name, format!("the drive is held in power state {now}{beside}"))
        .saw(&source(disk, NvmePage::PowerState), now)
        .change(format!("nvme set-feature -f 2 -V 0 /dev/{}", disk.name))
        .back(format!("nvme set-feature -f 2 -V {now} /dev/{}", disk.name))
        .end()
}
