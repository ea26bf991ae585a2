//! Asks the device mapper which parts a mapped device has, and in what state they are.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;

use crate::DeviceNumber;

/// Where the device mapper takes commands.
const CONTROL: &str = "/dev/mapper/control";
/// `DM_TABLE_STATUS`, and the flag that asks for the table instead of its state (`linux/dm-ioctl.h`).
const TABLE_STATUS: u8 = 12;
const THE_TABLE: u32 = 1 << 4;
/// The answer did not fit into the buffer.
const BUFFER_FULL: u32 = 1 << 8;
/// Bytes of the answer's buffer; a table of a thousand parts fits.
const BUFFER_BYTES: usize = 1 << 17;

/// The kernel's `struct dm_ioctl`.
#[repr(C)]
struct Head {
    version: [u32; 3],
    data_bytes: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
}

const HEAD_BYTES: usize = size_of::<Head>();
/// Fields of the kernel's `struct dm_target_spec`: offset of the next entry, type, and length of the whole.
const NEXT: usize = 20;
const KIND: std::ops::Range<usize> = 24..40;
const SPEC_BYTES: usize = 40;

/// The parts of the mapped device with this number, one on each line: the mapping type and its parameters, as `dmsetup
/// table` prints them after start and length.
///
/// # Errors
/// The error that the system reports; only root may ask.
pub fn table(number: DeviceNumber) -> io::Result<Vec<String>> {
    ask(number, THE_TABLE)
}

/// The state of the same parts, as `dmsetup status` prints it after start and length.
///
/// # Errors
/// As of [`table`].
pub fn state(number: DeviceNumber) -> io::Result<Vec<String>> {
    ask(number, 0)
}

fn ask(number: DeviceNumber, flags: u32) -> io::Result<Vec<String>> {
    let control = OpenOptions::new().read(true).write(true).open(CONTROL)?;
    // 64-bit words, so that the structure at the beginning is aligned.
    let mut buffer = vec![0_u64; BUFFER_BYTES / 8];
    let head = Head {
        version: [4, 0, 0],
        data_bytes: BUFFER_BYTES as u32,
        data_start: HEAD_BYTES as u32,
        target_count: 0,
        open_count: 0,
        flags,
        event: 0,
        padding: 0,
        device: in_ioctls(number),
        name: [0; 128],
        uuid: [0; 129],
        data: [0; 7],
    };
    let place = buffer.as_mut_ptr().cast::<Head>();
    // SAFETY: the buffer is longer than the structure, aligned for it, and nothing else refers to it.
    unsafe { place.write(head) };
    let request = rustix::ioctl::opcode::read_write::<Head>(0xfd, TABLE_STATUS);
    // SAFETY: the structure has the kernel's layout and says how long the buffer is that it begins; both live through
    // the call.
    if unsafe { libc::ioctl(control.as_raw_fd(), request as _, place) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has filled in the structure, of whose fields any value is valid.
    let (start, count, flags) = unsafe { ((*place).data_start, (*place).target_count, (*place).flags) };
    if flags & BUFFER_FULL != 0 {
        return Err(io::Error::other("its table is too long"));
    }
    let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
    Ok(parts(bytes.get(start as usize..).unwrap_or_default(), count))
}

/// The number as the device mapper expects it (`huge_encode_dev`).
fn in_ioctls(number: DeviceNumber) -> u64 {
    let major = u64::from(number.major);
    let minor = u64::from(number.minor);
    minor & 0xff | major << 8 | (minor & !0xff) << 12
}

/// Parses `count` parts of an answer; each holds the offset of the next from the answer's beginning.
fn parts(answer: &[u8], count: u32) -> Vec<String> {
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let mut lines = Vec::new();
    let mut at = 0_usize;
    for _ in 0..count {
        let Some(part) = answer.get(at..).filter(|part| part.len() >= SPEC_BYTES) else { break };
        lines.push(format!("{} {}", text(&part[KIND]), text(&part[SPEC_BYTES..])).trim_end().to_string());
        let next = u32::from_ne_bytes([part[NEXT], part[NEXT + 1], part[NEXT + 2], part[NEXT + 3]]) as usize;
        if next <= at {
            break;
        }
        at = next;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!(HEAD_BYTES, 312);
        assert_eq!(in_ioctls(DeviceNumber { major: 253, minor: 1 }), 0xfd01);
        assert_eq!(in_ioctls(DeviceNumber { major: 253, minor: 0x123 }), 0x10_fd23);
    }

    #[test]
    fn each_part_of_an_answer_is_a_line() {
        let part = |next: u32, kind: &str, parameters: &str| {
            let mut bytes = vec![0; 64];
            bytes[NEXT..NEXT + 4].copy_from_slice(&next.to_ne_bytes());
            bytes[KIND.start..KIND.start + kind.len()].copy_from_slice(kind.as_bytes());
            bytes[SPEC_BYTES..SPEC_BYTES + parameters.len()].copy_from_slice(parameters.as_bytes());
            bytes
        };
        let answer = [part(64, "linear", "8:0 2048"), part(128, "zero", "")].concat();
        assert_eq!(parts(&answer, 2), ["linear 8:0 2048", "zero"]);
        assert_eq!(parts(&answer, 7).len(), 2, "what is said to follow is not there");
        assert_eq!(parts(&answer[..30], 1).len(), 0);
    }
}
