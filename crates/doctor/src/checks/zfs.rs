//! Checks ZFS: the pool's state, its cache, prefetching, and what the kernel does not tell.

use halfpower_probe::not_direct;
use halfpower_spec::Bytes;

use crate::check::Check;
use crate::outcome::{Finding, Look, all};
use crate::{Outcome, Place};

const PARAMETERS: &str = "sys/module/zfs/parameters";
const DOCS: &str = "https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/Module%20Parameters.html";

/// Name of the pool of a ZFS mount.
fn pool(place: &Place) -> Result<&str, Outcome> {
    Ok(place.mounted_as(&["zfs"])?.source.split('/').next().unwrap_or_default())
}

pub(crate) const STATE: Check = Check {
    code: "zfs-pool",
    title: "State of the pool",
    reads: &["/proc/spl/kstat/zfs/POOL/state"],
    applies: "ZFS",
    costs: "A degraded pool computes or copies what is missing; a suspended one serves nothing. Unknown.",
    source: "https://openzfs.github.io/openzfs-docs/man/master/7/zpoolconcepts.7.html",
    change: "`zpool status POOL`, `zpool replace POOL OLD NEW`.",
    look: |place| all([state(place)]),
};

fn state(place: &Place) -> Look {
    let pool = pool(place)?;
    let file = format!("proc/spl/kstat/zfs/{pool}/state");
    match place.fact(&file)?.as_str() {
        "ONLINE" => Ok(Outcome::Fine),
        other => Finding::bad(pool, format!("the pool is {other}"))
            .saw(&file, other)
            .change(format!("zpool status {pool}"))
            .end(),
    }
}

pub(crate) const CACHE: Check = Check {
    code: "zfs-cache",
    title: "Size of ZFS's cache",
    reads: &["/proc/spl/kstat/zfs/arcstats (c_max)", "/sys/module/zfs/parameters/zfs_arc_max"],
    applies: "ZFS",
    costs: "A cache (ARC) that may take less than a sixteenth of memory: more reads go to the disks. Unknown.",
    source: DOCS,
    change: "`echo 0 > /sys/module/zfs/parameters/zfs_arc_max` (the usual size), and back with the old figure.",
    look: |place| all([cache(place)]),
};

fn cache(place: &Place) -> Look {
    pool(place)?;
    let stats = place.fact("proc/spl/kstat/zfs/arcstats")?;
    let most = stats.lines().find(|line| line.split_whitespace().next() == Some("c_max"));
    let most: u64 = most
        .and_then(|line| line.split_whitespace().nth(2)?.parse().ok())
        .ok_or_else(|| Outcome::untold("/proc/spl/kstat/zfs/arcstats has no c_max"))?;
    if most >= place.machine.memory.0 / 16 {
        return Ok(Outcome::Fine);
    }
    let file = format!("{PARAMETERS}/zfs_arc_max");
    let old = place.text(&file).unwrap_or_else(|| most.to_string());
    Finding::warn("", format!("ZFS may cache {} of {} memory", Bytes(most), place.machine.memory))
        .saw("proc/spl/kstat/zfs/arcstats", format!("c_max {most}"))
        .try_set(&file, "0", &old)
        .end()
}

pub(crate) const PREFETCH: Check = Check {
    code: "zfs-prefetch",
    title: "Prefetching of ZFS",
    reads: &["/sys/module/zfs/parameters/zfs_prefetch_disable"],
    applies: "ZFS",
    costs: "Without prefetching each sequential read waits for the disk. Unknown.",
    source: DOCS,
    change: "`echo 0 > /sys/module/zfs/parameters/zfs_prefetch_disable`, and back with 1.",
    look: |place| all([prefetch(place)]),
};

fn prefetch(place: &Place) -> Look {
    pool(place)?;
    let file = format!("{PARAMETERS}/zfs_prefetch_disable");
    match place.figure::<u32>(&file)? {
        0 => Ok(Outcome::Fine),
        off => Finding::warn("", "ZFS reads nothing ahead").saw(&file, off).try_set(&file, "0", &off.to_string()).end(),
    }
}

pub(crate) const FLUSHES: Check = Check {
    code: "zfs-flushes",
    title: "Flushes of ZFS",
    reads: &["/sys/module/zfs/parameters/zfs_nocacheflush"],
    applies: "ZFS",
    costs: "With 1 no flushes are sent: durable writes are faster, and lost with the power unless every disk keeps \
            its cache. Bad for the data, not for the speed.",
    source: DOCS,
    change: "`echo 0 > /sys/module/zfs/parameters/zfs_nocacheflush`, and back with 1.",
    look: |place| all([flushes(place)]),
};

fn flushes(place: &Place) -> Look {
    pool(place)?;
    let file = format!("{PARAMETERS}/zfs_nocacheflush");
    match place.figure::<u32>(&file)? {
        0 => Ok(Outcome::Fine),
        on => Finding::bad("", "ZFS sends no flushes: what was written durably may be lost with the power")
            .saw(&file, on)
            .set(&file, "0", &on.to_string())
            .end(),
    }
}

pub(crate) const DIRECT: Check = Check {
    code: "zfs-direct",
    title: "Direct I/O on ZFS",
    reads: &["/sys/module/zfs/version", "/sys/module/zfs/parameters/zfs_dio_enabled"],
    applies: "ZFS",
    costs: "Before ZFS 2.3, and with 0, direct requests are served from its cache: figures of reads may be the cache's. A note.",
    source: "https://github.com/openzfs/zfs/releases/tag/zfs-2.3.0",
    change: "Update ZFS, or `echo 1 > /sys/module/zfs/parameters/zfs_dio_enabled`, and back with 0.",
    look: |place| all([direct(place)]),
};

fn direct(place: &Place) -> Look {
    let pool = pool(place)?;
    if not_direct(&place.root, "zfs").is_none() {
        return Ok(Outcome::Fine);
    }
    let version = place.text("sys/module/zfs/version").unwrap_or_default();
    let found =
        Finding::note(pool, "direct requests are served from ZFS's cache").saw("sys/module/zfs/version", version);
    let switch = format!("{PARAMETERS}/zfs_dio_enabled");
    match place.text(&switch).map(|text| text.trim() == "0") {
        Some(true) => found.saw(&switch, 0).set(&switch, "1", "0").end(),
        _ => found.change("update ZFS to 2.3").end(),
    }
}

pub(crate) const PROPERTIES: Check = Check {
    code: "zfs-properties",
    title: "Properties of a data set",
    reads: &["nothing: the kernel does not tell them"],
    applies: "ZFS",
    costs: "A recordsize far from the size of requests makes ZFS read and write more than was asked; sync=always \
            makes every write durable; compression and dedup take processor time and memory; direct=disabled \
            serves direct requests from the cache. Unread.",
    source: "https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/Workload%20Tuning.html",
    change: "`zfs set recordsize=16K DATASET` for new files, and back with the old size.",
    look: |place| all([properties(place)]),
};

fn properties(place: &Place) -> Look {
    let source = &place.mounted_as(&["zfs"])?.source;
    let ask = format!("zfs get recordsize,sync,compression,dedup,primarycache,direct {source}");
    Err(Outcome::untold(format!("the properties of {source}: {ask} shows them")))
}
