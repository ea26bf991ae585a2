//! Checks how logical volumes are laid over disks.

use std::collections::BTreeSet;

use halfpower_probe::{DeviceNumber, Disk, Volume};
use halfpower_spec::Bytes;

use crate::check::Check;
use crate::outcome::{Finding, Look, only_if};
use crate::{Outcome, Place};

pub(crate) const LAYOUT: Check = Check {
    code: "volume-layout",
    title: "Layout of a logical volume",
    reads: &["the mapped device's table (root)"],
    applies: "volumes of the device mapper on several disks",
    costs: "Parts one after the other: a sequential stream uses one disk at a time. Stripes below 64 KiB: a request \
            of that size needs several disks. Unknown; the first is a note.",
    source: "https://docs.kernel.org/admin-guide/device-mapper/striped.html",
    change: "`lvcreate --stripes N --stripesize 256k`, and move the data.",
    look: |place| place.each_volume(layout),
};

fn layout(place: &Place, volume: &Volume) -> Look {
    only_if(place.root.exists(volume.disk.sys.join("dm")) && volume.beneath.len() > 1)?;
    let parts = place.mapping(&volume.disk)?;
    let name = place.mapped_name(&volume.disk);
    let words = |part: &str| part.split_whitespace().map(str::to_string).collect::<Vec<String>>();
    let on = |part: &Vec<String>| (part.first()? == "linear").then(|| part.get(1).cloned())?;
    let disks: BTreeSet<String> = parts.iter().map(|part| words(part)).filter_map(|part| on(&part)).collect();
    let physical = |number: &String| {
        let disk = DeviceNumber::parse(number).and_then(|number| Disk::by_number(&place.root, number));
        disk.map_or(number.clone(), |disk| disk.name)
    };
    let disks: BTreeSet<String> = disks.iter().map(physical).collect();
    if disks.len() > 1 {
        let what = format!("its parts lie one after the other on {} devices: a stream uses one at a time", disks.len());
        let devices = disks.into_iter().collect::<Vec<_>>().join(", ");
        return Finding::note(&volume.disk.name, what)
            .saw(&format!("table of {name}"), format!("linear on {devices}"))
            .end();
    }
    // striped, number of stripes, sectors of a chunk.
    let stripe = parts.iter().map(|part| words(part)).find(|part| part.first().is_some_and(|kind| kind == "striped"));
    let chunk = stripe.and_then(|part| part.get(2)?.parse::<u64>().ok()).map(|sectors| sectors.saturating_mul(512));
    match chunk {
        Some(bytes @ 1..0x1_0000) => Finding::warn(&volume.disk.name, format!("stripes of {}", Bytes(bytes)))
            .saw(&format!("table of {name}"), format!("striped, chunk {bytes}"))
            .change("lvcreate --stripesize 256k, and move the data")
            .end(),
        _ => Ok(Outcome::Fine),
    }
}
