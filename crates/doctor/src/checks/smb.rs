//! Checks the options of SMB mounts.

use halfpower_os::mounts::Mount;
use halfpower_probe::{has_option, mount_option, option_size};

use super::line::{FAST_MBIT, speed_of};
use crate::check::Check;
use crate::outcome::{Finding, Look, all};
use crate::{Outcome, Place};

const SMB: &str = "https://docs.kernel.org/admin-guide/cifs/usage.html";
const MOUNTINFO: &str = "proc/self/mountinfo";

fn mount(place: &Place) -> Result<&Mount, Outcome> {
    place.mounted_as(&["cifs", "smb3"])
}

fn anew(finding: Finding, mount: &Mount, option: &str, new: &str) -> Finding {
    let point = mount.point.display();
    finding
        .saw(MOUNTINFO, option)
        .change(format!("unmount {point} and mount it with -o {new}"))
        .back(format!("mount it with -o {option}"))
}

pub(crate) const CACHE: Check = Check {
    code: "smb-cache",
    title: "Caching of an SMB mount",
    reads: &["/proc/self/mountinfo (cache, actimeo)"],
    applies: "SMB mounts",
    costs: "With cache=none every read and write is a message of its own, nothing is read ahead or gathered. \
            actimeo=0 asks for attributes at each access. Unknown: a round trip each.",
    source: SMB,
    change: "Mount with `-o cache=strict`, and back with cache=none.",
    look: |place| all([cache(place)]),
};

fn cache(place: &Place) -> Look {
    let mount = mount(place)?;
    let subject = mount.point.display().to_string();
    if mount_option(mount, "cache") == Some("none") {
        let what = "nothing is cached: each read and write is a message";
        return anew(Finding::bad(&subject, what), mount, "cache=none", "cache=strict").end();
    }
    match mount_option(mount, "actimeo") {
        Some("0") => {
            anew(Finding::warn(&subject, "each access asks for attributes"), mount, "actimeo=0", "actimeo=1").end()
        }
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const DIALECT: Check = Check {
    code: "smb-dialect",
    title: "Dialect of SMB",
    reads: &["/proc/self/mountinfo (vers)"],
    applies: "SMB mounts",
    costs: "Before 3.0 there are no several connections and no faster encryption; before 2.1 messages carry at most \
            64 KiB. Unknown.",
    source: SMB,
    change: "Mount with `-o vers=3.1.1`, and back with the old version.",
    look: |place| all([dialect(place)]),
};

fn dialect(place: &Place) -> Look {
    let mount = mount(place)?;
    match mount_option(mount, "vers") {
        Some(old @ ("1.0" | "2.0" | "2.1")) => {
            let finding = Finding::warn(&mount.point.display().to_string(), format!("the old dialect SMB {old}"));
            anew(finding, mount, &format!("vers={old}"), "vers=3.1.1").end()
        }
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const PROTECTION: Check = Check {
    code: "smb-protection",
    title: "Signing and encryption of SMB",
    reads: &["/proc/self/mountinfo (seal, sign, sec)"],
    applies: "SMB mounts",
    costs: "seal encrypts and sign signs each message, on both ends. Unknown: `halfpower study smb://... \
            --experiments network` measures it. Signing is a note, since many servers demand it.",
    source: SMB,
    change: "Mount without seal, where the network can be trusted, and back with it.",
    look: |place| all([protection(place)]),
};

fn protection(place: &Place) -> Look {
    let mount = mount(place)?;
    let subject = mount.point.display().to_string();
    if has_option(mount, "seal") {
        return Finding::warn(&subject, "each message is encrypted")
            .saw(MOUNTINFO, "seal")
            .change("where the network can be trusted, mount without seal")
            .back("mount with -o seal")
            .end();
    }
    let signs = has_option(mount, "sign") || mount_option(mount, "sec").is_some_and(|kind| kind.ends_with('i'));
    match signs {
        true => Finding::note(&subject, "each message is signed").saw(MOUNTINFO, "sign").end(),
        false => Ok(Outcome::Fine),
    }
}

pub(crate) const MESSAGES: Check = Check {
    code: "smb-message-size",
    title: "Size and connections of SMB",
    reads: &["/proc/self/mountinfo (rsize, wsize, multichannel, max_channels)", "/sys/class/net/INTERFACE/speed"],
    applies: "SMB mounts",
    costs: "Messages below 256 KiB: larger requests become several. One connection on a line of 10 Gbit/s or more (a \
            note) is served by one processor at a time. Unknown.",
    source: SMB,
    change: "Mount with `-o rsize=4194304,wsize=4194304`, `-o multichannel,max_channels=4`; back without.",
    look: |place| all([messages(place)]),
};

fn messages(place: &Place) -> Look {
    const SMALL: u64 = 256 << 10;
    let mount = mount(place)?;
    let subject = mount.point.display().to_string();
    let sizes = ["rsize", "wsize"].into_iter().filter_map(|name| Some((option_size(mount, name)?.0, name)));
    if let Some((bytes @ 1..SMALL, name)) = sizes.min() {
        let what = format!("a request of 1 MiB becomes {} messages", (1_u64 << 20).div_ceil(bytes));
        return anew(Finding::warn(&subject, what), mount, &format!("{name}={bytes}"), "rsize=4194304,wsize=4194304")
            .end();
    }
    let fast = speed_of(place).is_some_and(|mbit| mbit >= FAST_MBIT);
    if fast && !has_option(mount, "multichannel") {
        return Finding::note(&subject, "one connection carries everything")
            .saw(MOUNTINFO, "without multichannel")
            .change("mount it with -o multichannel,max_channels=4")
            .back("mount it without multichannel")
            .end();
    }
    Ok(Outcome::Fine)
}
