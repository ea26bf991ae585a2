//! Checks the options of NFS mounts.

use halfpower_os::mounts::Mount;
use halfpower_probe::{has_option, mount_option, nfs_transports, option_size};

use super::line::{FAST_MBIT, speed_of};
use crate::check::Check;
use crate::outcome::{Finding, Look, all, only_if};
use crate::{Outcome, Place};

const NFS: &str = "https://man7.org/linux/man-pages/man5/nfs.5.html";
const MOUNTINFO: &str = "proc/self/mountinfo";

fn mount(place: &Place) -> Result<&Mount, Outcome> {
    place.mounted_as(&["nfs", "nfs4"])
}

fn anew(finding: Finding, mount: &Mount, option: &str, new: &str) -> Finding {
    finding
        .saw(MOUNTINFO, option)
        .change(format!("unmount {0} and mount it with -o {new}", mount.point.display()))
        .back(format!("mount it with -o {option}"))
}

pub(crate) const MESSAGES: Check = Check {
    code: "nfs-message-size",
    title: "Size of NFS messages",
    reads: &["/proc/self/mountinfo (rsize, wsize)"],
    applies: "NFS mounts",
    costs: "Larger requests become several messages, each with its own answer. Below 64 KiB: unknown. Below 1 MiB, \
            which Linux servers offer, it is a note.",
    source: NFS,
    change: "Mount with `-o rsize=1048576,wsize=1048576`, and back with the old figures. The server may offer less.",
    look: |place| all([messages(place)]),
};

fn messages(place: &Place) -> Look {
    const SMALL: u64 = 64 << 10;
    const USUAL: u64 = 1 << 20;
    let mount = mount(place)?;
    let sizes = ["rsize", "wsize"].into_iter().filter_map(|name| Some((option_size(mount, name)?.0, name)));
    let (bytes, name) = sizes.min().ok_or(Outcome::NotApplicable)?;
    let what = format!("a request of 1 MiB becomes {} messages", USUAL.div_ceil(bytes));
    let finding = match bytes {
        ..SMALL => Finding::warn(&mount.point.display().to_string(), what),
        SMALL..USUAL => Finding::note(&mount.point.display().to_string(), what),
        _ => return Ok(Outcome::Fine),
    };
    anew(finding, mount, &format!("{name}={bytes}"), "rsize=1048576,wsize=1048576").end()
}

pub(crate) const CONNECTIONS: Check = Check {
    code: "nfs-connections",
    title: "Connections of NFS",
    reads: &["/proc/self/mountinfo (nconnect)", "/proc/self/mountstats (xprt)", "/sys/class/net/INTERFACE/speed"],
    applies: "NFS mounts over TCP",
    costs: "One connection is served by one processor at a time on each end. On a line of 10 Gbit/s or more it may \
            be the limit: unknown. On slower lines a note.",
    source: "https://man7.org/linux/man-pages/man5/nfs.5.html (nconnect)",
    change: "Mount with `-o nconnect=8` (Linux 5.3), after all mounts of that server are gone; back without it.",
    look: |place| all([connections(place)]),
};

fn connections(place: &Place) -> Look {
    let mount = mount(place)?;
    only_if(!mount_option(mount, "proto").is_some_and(|proto| proto.starts_with("udp") || proto.starts_with("rdma")))?;
    let stats = place.text("proc/self/mountstats").unwrap_or_default();
    let seen = nfs_transports(&stats, mount).map(|(_, count)| count);
    let asked = mount_option(mount, "nconnect").and_then(|count| count.parse().ok());
    let count = seen.or(asked).unwrap_or(1);
    if count > 1 {
        return Ok(Outcome::Fine);
    }
    let fast = speed_of(place).is_some_and(|mbit| mbit >= FAST_MBIT);
    let subject = mount.point.display().to_string();
    let what = "one connection carries everything";
    let finding = if fast { Finding::warn(&subject, what) } else { Finding::note(&subject, what) };
    finding
        .saw(MOUNTINFO, "without nconnect")
        .change("unmount all of that server, and mount with -o nconnect=8")
        .back("mount without nconnect")
        .end()
}

pub(crate) const CACHING: Check = Check {
    code: "nfs-caching",
    title: "Caching of attributes",
    reads: &["/proc/self/mountinfo (noac, actimeo, lookupcache)"],
    applies: "NFS mounts",
    costs: "With noac or times of 0 each access asks the server first, and noac makes every write synchronous; \
            lookupcache=none asks for each part of a path. Unknown: a round trip each.",
    source: NFS,
    change: "Mount without them, and back with them.",
    look: |place| all([caching(place)]),
};

fn caching(place: &Place) -> Look {
    let mount = mount(place)?;
    let options = ["noac", "actimeo=0", "acregmax=0", "lookupcache=none"];
    match options.into_iter().find(|option| has_option(mount, option)) {
        Some(option) => Finding::warn(&mount.point.display().to_string(), "each access asks the server first")
            .saw(MOUNTINFO, option)
            .change(format!("mount without {option}"))
            .back(format!("mount with -o {option}"))
            .end(),
        None => Ok(Outcome::Fine),
    }
}

pub(crate) const VERSION: Check = Check {
    code: "nfs-version",
    title: "Version and transport of NFS",
    reads: &["/proc/self/mountinfo (vers, proto)"],
    applies: "NFS mounts",
    costs: "Over UDP a lost packet costs the whole message, and version 2 writes synchronously 8 KiB at a time: \
            unknown. Version 3 is a note: locks and attributes take messages of their own.",
    source: NFS,
    change: "Mount with `-o vers=4.2,proto=tcp`, and back with the old words.",
    look: |place| all([version(place)]),
};

fn version(place: &Place) -> Look {
    let mount = mount(place)?;
    let proto = mount_option(mount, "proto").unwrap_or("tcp");
    let version = mount_option(mount, "vers").unwrap_or("4");
    let subject = mount.point.display().to_string();
    if proto.starts_with("udp") || version == "2" {
        let finding = Finding::warn(&subject, format!("NFS {version} over {proto}"));
        return anew(finding, mount, &format!("vers={version},proto={proto}"), "vers=4.2,proto=tcp").end();
    }
    match version {
        "3" => anew(Finding::note(&subject, "NFS 3"), mount, "vers=3", "vers=4.2").end(),
        _ => Ok(Outcome::Fine),
    }
}
