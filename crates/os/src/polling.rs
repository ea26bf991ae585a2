//! Checks whether a device can be polled for completions.

use std::fs;

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

/// The value of `queue/io_poll`; `None` without such a file, as for a file system over several devices.
fn said_by_sysfs(device: Option<DeviceNumber>) -> Option<bool> {
    let folder = device?.sysfs();
    // A partition has no queue; its disk's folder is the one above.
    let texts = ["queue/io_poll", "../queue/io_poll"].map(|path| fs::read_to_string(folder.join(path)));
    texts.into_iter().find_map(Result::ok).map(|text| text.trim() != "0")
}
