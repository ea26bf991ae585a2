//! Checks whether a device can be polled for completions.

use std::fs;
use std::path::Path;

use crate::device_mapper::table;
use crate::{Action, Buffers, DeviceNumber, OsError, Ring, RingForm, RunFile, Transfer};

/// Largest alignment that direct requests need on any usual device.
const BLOCK_BYTES: u32 = 4096;

/// Checks whether reads of `file` can be polled for (`IORING_SETUP_IOPOLL`) by a ring of this form.
///
/// # Errors
/// [`OsError::IoUring`] with the reason and what would help.
pub fn available(file: &RunFile, form: RingForm) -> Result<(), OsError> {
    let refusal = |why: &str| OsError::IoUring { why: why.to_string() };
    if !file.mode().direct {
        return Err(refusal("only direct I/O can be polled for: use --cache device or none"));
    }
    let refused = "the device has no queues to poll (queue/io_poll in sysfs is 0); NVMe has some after \
                   nvme.poll_queues=N at boot, virtio disks after virtio_blk.poll_queues=N";
    let unpolled =
        "this kernel does not poll for NVMe commands (it does from Linux 6.1 on): take --engine io_uring_cmd";
    if said_by_sysfs(file.device()) == Some(false) {
        return Err(refusal(refused));
    }
    if let Some(why) = file.device().and_then(|device| kept_from_polls(&device.sysfs())) {
        return Err(refusal(&why));
    }
    // A command moves whole blocks of its namespace.
    let bytes = file.namespace().map_or(BLOCK_BYTES, |namespace| BLOCK_BYTES.max(namespace.block_bytes() as u32));
    let mut ring = Ring::new(
        form,
        Buffers::new(1, bytes as usize, 0)?,
        Some(file.try_clone().map_err(|error| refusal(&error.to_string()))?),
    )?;
    ring.push([Transfer { slot: 0, action: Action::Read, offset: 0, length: bytes }]);
    let mut outcome = Ok(0);
    while ring.in_flight() > 0 {
        ring.submit_and_wait(1).map_err(|error| refusal(&error.to_string()))?;
        ring.reap(|reaped| outcome = reaped.result);
    }
    match outcome {
        Err(libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL) if form.sends_commands() => Err(refusal(unpolled)),
        Err(libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL) => Err(refusal(refused)),
        // Any other error belongs to that read and will show in the run.
        _ => Ok(()),
    }
}

/// Why polled requests to the device in this folder of sysfs would not come back; `None` if all volumes on the way down hand
/// requests on as they are. Those that send requests of their own, as encryption does, pass the mark of polled ones on, and
/// nobody polls for these: seen on Linux 6.12, they wait until the device's driver gives them up, or for ever.
fn kept_from_polls(sys: &Path) -> Option<String> {
    // What a partition lies on is its disk's.
    let sys = if sys.join("partition").exists() { sys.parent()? } else { sys };
    let text = |file: &str| fs::read_to_string(sys.join(file)).ok().map(|text| text.trim().to_string());
    let named = |what: &str| {
        let name = sys.file_name().unwrap_or_default().to_string_lossy();
        Some(format!("what is polled for would not come back from {name}, which is {what}: take --engine io_uring"))
    };
    if let Some(level) = text("md/level").filter(|level| !matches!(level.as_str(), "raid0" | "linear")) {
        return named(&format!("an array ({level})"));
    }
    if let Some(number) = text("dev").filter(|_| sys.join("dm").exists()) {
        let Some(Ok(parts)) = DeviceNumber::parse(&number).map(table) else {
            return named("a volume whose parts are told to root alone");
        };
        if let Some(kind) = parts.iter().find_map(|part| sends_its_own(part)) {
            return named(&format!("a volume of the device mapper's {kind}"));
        }
    }
    let beneath = fs::read_dir(sys.join("slaves")).ok()?.flatten();
    beneath.filter_map(|one| fs::canonicalize(one.path()).ok()).find_map(|one| kept_from_polls(&one))
}

/// The kind of a part of a volume, a line of its table, if it sends requests of its own.
fn sends_its_own(part: &str) -> Option<&str> {
    let kind = part.split_whitespace().next()?;
    (!matches!(kind, "linear" | "striped")).then_some(kind)
}

/// The value of `queue/io_poll`; `None` without such a file, as for a file system over several devices.
fn said_by_sysfs(device: Option<DeviceNumber>) -> Option<bool> {
    let folder = device?.sysfs();
    // A partition has no queue; its disk's folder is the one above.
    let texts = ["queue/io_poll", "../queue/io_poll"].map(|path| fs::read_to_string(folder.join(path)));
    texts.into_iter().find_map(Result::ok).map(|text| text.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_that_send_requests_of_their_own_are_not_polled() {
        assert_eq!(sends_its_own("linear 259:0 2048"), None);
        assert_eq!(sends_its_own("striped 2 128 259:0 0 259:1 0"), None);
        assert_eq!(sends_its_own("crypt aes-xts-plain64 :64:logon:key 0 259:0 32768"), Some("crypt"));
        assert_eq!(sends_its_own("thin 253:2 1"), Some("thin"));
    }

    #[test]
    fn arrays_that_send_requests_of_their_own_are_not_polled_at_any_depth() {
        let root = tempfile::tempdir().unwrap();
        let device = |name: &str, level: Option<&str>, beneath: &[&str]| {
            let sys = root.path().join(name);
            fs::create_dir_all(sys.join("slaves")).unwrap();
            if let Some(level) = level {
                fs::create_dir(sys.join("md")).unwrap();
                fs::write(sys.join("md/level"), format!("{level}\n")).unwrap();
            }
            for one in beneath {
                std::os::unix::fs::symlink(root.path().join(one), sys.join("slaves").join(one)).unwrap();
            }
            sys
        };
        let disk = device("nvme0n1", None, &[]);
        let mirror = device("md1", Some("raid1"), &["nvme0n1"]);
        let stripe = device("md0", Some("raid0"), &["nvme0n1"]);
        let above = device("md2", Some("linear"), &["md0", "md1"]);
        assert_eq!([&disk, &stripe].map(|sys| kept_from_polls(sys)), [None, None]);
        let part = device("md1/md1p1", None, &[]);
        fs::write(part.join("partition"), "1").unwrap();
        for sys in [mirror, above, part] {
            let why = kept_from_polls(&sys).unwrap();
            assert!(why.contains("from md1, which is an array (raid1)"), "{why}");
        }
    }
}
