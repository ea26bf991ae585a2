//! Checks whether a cache of another device answers in place of the disk.

use halfpower_probe::Volume;

use crate::check::Check;
use crate::outcome::{Finding, Look, only_if};
use crate::place::short;
use crate::{Outcome, Place};

pub(crate) const CACHE: Check = Check {
    code: "block-cache",
    title: "Cache in front of a disk",
    reads: &["the mapped device's table (root)", "/sys/block/bcacheN/bcache/cache_mode"],
    applies: "volumes of dm-cache, dm-writecache and bcache",
    costs: "What is in the cache is as fast as the cache, all else as slow as the disk: figures hold for what was \
            measured. Unknown; a note.",
    source: "https://docs.kernel.org/admin-guide/device-mapper/cache.html; \
            https://docs.kernel.org/admin-guide/bcache.html",
    change: "`lvconvert --uncache VG/LV`; for bcache `echo none > .../cache_mode`.",
    look: |place| place.each_volume(cache),
};

fn cache(place: &Place, volume: &Volume) -> Look {
    let name = &volume.disk.name;
    if name.starts_with("bcache") {
        let file = format!("{}/bcache/cache_mode", short(&volume.disk));
        let mode = place.text(&file).unwrap_or_default();
        return Finding::note(name, "a cache answers in front of the disk (bcache)").saw(&file, mode).end();
    }
    only_if(place.root.exists(volume.disk.sys.join("dm")))?;
    let parts = place.mapping(&volume.disk).map_err(|_| Outcome::NotApplicable)?;
    match parts
        .iter()
        .find_map(|part| part.split_whitespace().next().filter(|kind| ["cache", "writecache"].contains(kind)))
    {
        Some(kind) => Finding::note(name, format!("a cache answers in front of the disk (dm-{kind})"))
            .saw(&format!("table of {}", place.mapped_name(&volume.disk)), kind)
            .end(),
        None => Ok(Outcome::Fine),
    }
}
