//! Reads what disks behind the kernel's SCSI layer keep of their own health: SMART data of ATA disks, log pages of others.
//!
//! The commands are ATA PASS-THROUGH (16) with SMART READ DATA (SAT-4, 12.2.2; ATA/ATAPI Command Set 3, 7.48.6) and LOG
//! SENSE (SPC-5, 6.8). They change nothing on the disk.

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::device;

/// The `ioctl` that sends a SCSI command (`scsi/sg.h`), and the direction of its data: from the device.
const SG_IO: libc::c_ulong = 0x2285;
const FROM_DEVICE: i32 = -3;
/// Bytes of an answer, and of what the device says of a command that failed.
const DATA_BYTES: usize = 512;
const SENSE_BYTES: usize = 32;
/// A disk that sleeps takes so long to wake up; the kernel resets a link whose command takes longer.
const TIMEOUT_MS: u32 = 30_000;
/// LOG SENSE, and what is asked for: the sums so far.
const LOG_SENSE: u8 = 0x4d;
const SUMS: u8 = 1 << 6;
/// ATA PASS-THROUGH (16).
const PASS_THROUGH: u8 = 0x85;
/// PIO data-in; one block in the count, of 512 bytes, from the device.
const PROTOCOL: u8 = 4 << 1;
const TRANSFER: u8 = 0b0000_1110;
/// SMART, its READ DATA, and the two bytes without which a disk refuses it.
const SMART: u8 = 0xb0;
const READ_DATA: u8 = 0xd0;
const SIGNATURE: [u8; 2] = [0x4f, 0xc2];

/// The kernel's `struct sg_io_hdr`.
#[repr(C)]
struct Request {
    interface: i32,
    direction: i32,
    command_bytes: u8,
    sense_most: u8,
    pieces: u16,
    data_bytes: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    id: i32,
    own: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_bytes: u8,
    host_status: u16,
    driver_status: u16,
    left_bytes: i32,
    duration_ms: u32,
    info: u32,
}

/// The SMART data of the ATA disk in this sysfs folder, 512 bytes.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if it has no node in `/dev`; [`io::ErrorKind::PermissionDenied`] for other users than
/// root; else what the kernel, a bridge or the disk refuses.
pub fn smart_data(folder: &Path) -> io::Result<Vec<u8>> {
    let data = answer(folder, &smart_command())?;
    if data.len() == DATA_BYTES { Ok(data) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A log page of the SCSI disk in this sysfs folder, 512 bytes of it at most.
///
/// # Errors
/// As of [`smart_data`]; many disks have few pages, and refuse the others.
pub fn log_page(folder: &Path, page: u8) -> io::Result<Vec<u8>> {
    answer(folder, &log_command(page))
}

/// Sends a command that reads, and returns what came.
fn answer(folder: &Path, command: &[u8]) -> io::Result<Vec<u8>> {
    let disk = device::opened(folder).unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))?;
    let mut data = vec![0_u8; DATA_BYTES];
    let mut sense = [0_u8; SENSE_BYTES];
    let mut request = Request {
        interface: i32::from(b'S'),
        direction: FROM_DEVICE,
        command_bytes: command.len() as u8,
        sense_most: SENSE_BYTES as u8,
        pieces: 0,
        data_bytes: DATA_BYTES as u32,
        data: data.as_mut_ptr(),
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: TIMEOUT_MS,
        flags: 0,
        id: 0,
        own: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_bytes: 0,
        host_status: 0,
        driver_status: 0,
        left_bytes: 0,
        duration_ms: 0,
        info: 0,
    };
    // SAFETY: the structure has the kernel's layout; the three addresses in it are of buffers with as many bytes as it
    // says, and all of them live through the call.
    if unsafe { libc::ioctl(disk.as_raw_fd(), SG_IO as _, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if request.status != 0 || request.host_status != 0 {
        return Err(io::Error::other(format!(
            "the disk, or the bridge before it, refuses it with status {:#x}",
            request.status
        )));
    }
    data.truncate(DATA_BYTES.saturating_sub(usize::try_from(request.left_bytes).unwrap_or(0)));
    Ok(data)
}

/// Operation, protocol, transfer, and then features, count and address, each with its upper byte first.
fn smart_command() -> [u8; 16] {
    let [middle, high] = SIGNATURE;
    [PASS_THROUGH, PROTOCOL, TRANSFER, 0, READ_DATA, 0, 1, 0, 0, 0, middle, 0, high, 0, SMART, 0]
}

/// Operation, page, and the bytes that the answer may have.
fn log_command(page: u8) -> [u8; 10] {
    let [high, low] = (DATA_BYTES as u16).to_be_bytes();
    [LOG_SENSE, 0, SUMS | page, 0, 0, 0, 0, high, low, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        if cfg!(target_pointer_width = "64") {
            assert_eq!(size_of::<Request>(), 88);
            assert_eq!(std::mem::offset_of!(Request, data), 16);
            assert_eq!(std::mem::offset_of!(Request, status), 64);
            assert_eq!(std::mem::offset_of!(Request, left_bytes), 72);
        }
    }

    #[test]
    fn the_command_reads_one_block() {
        let command = smart_command();
        assert_eq!((command[0], command[14], command[4]), (0x85, 0xb0, 0xd0));
        assert_eq!((command[6], command[10], command[12]), (1, 0x4f, 0xc2));
        // From the device, and no condition of its registers is asked for.
        assert_eq!((command[1] >> 1, command[2] & 0b10_1000), (4, 0b1000));
        assert_eq!(log_command(0x2f), [0x4d, 0, 0x6f, 0, 0, 0, 0, 2, 0, 0]);
    }

    #[test]
    fn what_has_no_node_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(smart_data(folder.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(log_page(folder.path(), 0x2f).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
