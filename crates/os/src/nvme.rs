//! Sends commands to the controller of an NVMe disk, and reads what a drive tells of itself.
//!
//! The commands and the layouts of their answers are those of the NVM Express base specification 2.0.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::device;

/// Admin commands.
pub(crate) const GET_LOG_PAGE: u8 = 0x02;
pub(crate) const IDENTIFY: u8 = 0x06;
pub(crate) const SET_FEATURES: u8 = 0x09;
pub(crate) const GET_FEATURES: u8 = 0x0a;
/// Commands of a namespace.
pub(crate) const FLUSH: u8 = 0x00;
pub(crate) const WRITE: u8 = 0x01;
pub(crate) const READ: u8 = 0x02;
/// The bit of a write's word 12 that lets it complete only once it is on the medium (Force Unit Access).
pub(crate) const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// The numbers of the `ioctl`s that send a command of the administrator, and one of a namespace.
const ADMINISTRATOR: u8 = 0x41;
const OF_A_NAMESPACE: u8 = 0x43;
/// The number by which io_uring sends a command of a namespace (`NVME_URING_CMD_IO`).
pub(crate) const URING_IO: u32 = 0xc048_4e80;
/// Bytes of a command, as the kernel takes it.
pub(crate) const COMMAND_BYTES: usize = 72;
/// What Identify is asked for: this namespace, or the controller.
const NAMESPACE: u32 = 0;
pub(crate) const CONTROLLER: u32 = 1;
/// Bytes of an Identify answer.
pub(crate) const IDENTITY_BYTES: usize = 4096;
/// The log page with the drive's health, and its bytes.
const HEALTH: u32 = 0x02;
const HEALTH_BYTES: usize = 512;
/// All namespaces of a controller.
const EVERY_NAMESPACE: u32 = u32::MAX;
/// Features: power management; autonomous power state transitions, with the bytes of their table.
const POWER_STATE: u32 = 0x02;
const SLEEP: u32 = 0x0c;
const SLEEP_BYTES: usize = 256;

/// What a drive can be asked for; every answer is read, and none changes the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NvmePage {
    /// Identify Controller: 4,096 bytes.
    Controller,
    /// Identify Namespace: 4,096 bytes.
    Namespace,
    /// The log page SMART / Health Information: 512 bytes.
    Health,
    /// The feature Power Management: the result, 4 bytes.
    PowerState,
    /// The feature Autonomous Power State Transition: the result, 4 bytes, and its table, 256 bytes.
    Sleep,
}

impl NvmePage {
    /// A word for it, such as `smart-log`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Controller => "id-ctrl",
            Self::Namespace => "id-ns",
            Self::Health => "smart-log",
            Self::PowerState => "power-state",
            Self::Sleep => "apst",
        }
    }
}

/// Asks the drive of the NVMe disk in this sysfs folder.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if it is no NVMe disk, or has no node in `/dev`; [`io::ErrorKind::PermissionDenied`] for
/// other users than root; else what the kernel or the drive refuses.
pub fn page(folder: &Path, page: NvmePage) -> io::Result<Vec<u8>> {
    let controller = Controller::of(folder).unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))?;
    let namespace = if page == NvmePage::Namespace { controller.namespace()? } else { 0 };
    ask(&|command| controller.send(command), page, namespace)
}

/// The kernel's `struct nvme_passthru_cmd` (`linux/nvme_ioctl.h`), and its `struct nvme_uring_cmd`, where the last word is
/// reserved.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub opcode: u8,
    pub flags: u8,
    pub reserved: u16,
    pub namespace: u32,
    pub words_2_3: [u32; 2],
    pub metadata: u64,
    pub address: u64,
    pub metadata_bytes: u32,
    pub data_bytes: u32,
    pub words_10_15: [u32; 6],
    pub timeout_ms: u32,
    pub result: u32,
}

impl Command {
    /// A command without data; its word 10 and 11 say what is meant.
    pub fn new(opcode: u8, word_10: u32, word_11: u32) -> Self {
        Self { opcode, words_10_15: [word_10, word_11, 0, 0, 0, 0], ..Self::default() }
    }

    /// The command with a buffer for its answer, which has to live as long.
    pub fn into_buffer(self, buffer: &mut [u8]) -> Self {
        Self { address: buffer.as_mut_ptr() as u64, data_bytes: buffer.len() as u32, ..self }
    }

    /// Its bytes, as the kernel takes them.
    #[inline]
    pub fn bytes(self) -> [u8; COMMAND_BYTES] {
        // SAFETY: the structure has no bytes between its fields, so that each byte of it has a value.
        unsafe { std::mem::transmute::<Self, [u8; COMMAND_BYTES]>(self) }
    }
}

/// How a command is sent.
pub(crate) type Send<'a> = &'a dyn Fn(&mut Command) -> io::Result<()>;

/// A controller, opened through one of its namespaces.
#[derive(Debug)]
pub(crate) struct Controller {
    file: File,
}

impl Controller {
    /// The controller of the NVMe disk in this sysfs folder; `None` for any other disk.
    pub fn of(folder: &Path) -> Option<io::Result<Self>> {
        if !folder.file_name()?.to_str()?.starts_with("nvme") {
            return None;
        }
        Some(device::opened(folder)?.map(|file| Self { file }))
    }

    /// Sends a command of the administrator.
    pub fn send(&self, command: &mut Command) -> io::Result<()> {
        sent(&self.file, ADMINISTRATOR, command)
    }

    /// The number of the namespace through which it was opened.
    fn namespace(&self) -> io::Result<u32> {
        namespace_of(&self.file)
    }
}

/// The number of the namespace that a disk or its generic device is (`NVME_IOCTL_ID`).
pub(crate) fn namespace_of(file: &File) -> io::Result<u32> {
    let request = rustix::ioctl::opcode::none(b'N', 0x40);
    // SAFETY: the call takes no argument.
    let number = unsafe { libc::ioctl(file.as_raw_fd(), request as _) };
    u32::try_from(number).map_err(|_| io::Error::last_os_error())
}

/// What Identify says of the namespace with this number, which a disk or its generic device is.
pub(crate) fn identity_of(file: &File, namespace: u32) -> io::Result<Vec<u8>> {
    identify(&|command| sent(file, ADMINISTRATOR, command), NAMESPACE, namespace)
}

/// Makes everything written to a namespace durable.
pub(crate) fn flush(file: &File, namespace: u32) -> io::Result<()> {
    sent(file, OF_A_NAMESPACE, &mut Command { namespace, ..Command::new(FLUSH, 0, 0) })
}

/// Sends a command by the `ioctl` of this number, and waits for it.
fn sent(file: &File, number: u8, command: &mut Command) -> io::Result<()> {
    let request = rustix::ioctl::opcode::read_write::<Command>(b'N', number);
    // SAFETY: the structure has the kernel's layout, and the address in it, where there is one, is of a buffer of the
    // caller's with as many bytes as it says; both live through the call.
    match unsafe { libc::ioctl(file.as_raw_fd(), request as _, &raw mut *command) } {
        0 => Ok(()),
        status if status > 0 => Err(io::Error::other(format!("the controller refuses it with status {status:#x}"))),
        _ => Err(io::Error::last_os_error()),
    }
}

fn ask(send: Send<'_>, page: NvmePage, namespace: u32) -> io::Result<Vec<u8>> {
    match page {
        NvmePage::Controller => identify(send, CONTROLLER, 0),
        NvmePage::Namespace => identify(send, NAMESPACE, namespace),
        NvmePage::Health => {
            let words = (HEALTH_BYTES / 4 - 1) as u32;
            let command = Command::new(GET_LOG_PAGE, HEALTH | words << 16, 0);
            answer(send, Command { namespace: EVERY_NAMESPACE, ..command }, HEALTH_BYTES).map(|(_, bytes)| bytes)
        }
        NvmePage::PowerState => feature(send, POWER_STATE, 0),
        NvmePage::Sleep => feature(send, SLEEP, SLEEP_BYTES),
    }
}

/// What Identify answers.
pub(crate) fn identify(send: Send<'_>, what: u32, namespace: u32) -> io::Result<Vec<u8>> {
    let command = Command { namespace, ..Command::new(IDENTIFY, what, 0) };
    answer(send, command, IDENTITY_BYTES).map(|(_, bytes)| bytes)
}

/// The result of a feature, and behind it the data that it has.
fn feature(send: Send<'_>, number: u32, data_bytes: usize) -> io::Result<Vec<u8>> {
    let (result, data) = answer(send, Command::new(GET_FEATURES, number, 0), data_bytes)?;
    Ok([&result.to_le_bytes()[..], &data].concat())
}

/// The result of a command, and the bytes that it gives.
fn answer(send: Send<'_>, command: Command, data_bytes: usize) -> io::Result<(u32, Vec<u8>)> {
    let mut data = vec![0_u8; data_bytes];
    let mut command = if data.is_empty() { command } else { command.into_buffer(&mut data) };
    send(&mut command)?;
    Ok((command.result, data))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!(size_of::<Command>(), COMMAND_BYTES);
        assert_eq!(std::mem::offset_of!(Command, words_10_15), 40);
        assert_eq!(std::mem::offset_of!(Command, result), 68);
        assert_eq!(std::mem::offset_of!(Command, data_bytes), 36);
        let number = rustix::ioctl::opcode::read_write::<Command>(b'N', 0x80);
        assert_eq!(number as u64 & 0xffff_ffff, u64::from(URING_IO), "_IOWR('N', 0x80, struct nvme_uring_cmd)");
    }

    #[test]
    fn the_bytes_of_a_command_are_those_of_the_structure() {
        let command = Command { namespace: 0x0102_0304, data_bytes: 4096, ..Command::new(READ, 7, 8) };
        let bytes = command.bytes();
        assert_eq!(bytes[0], 2);
        assert_eq!(bytes[4..8], 0x0102_0304_u32.to_ne_bytes());
        assert_eq!(bytes[36..40], 4096_u32.to_ne_bytes());
        assert_eq!(bytes[40..48], [7_u32.to_ne_bytes(), 8_u32.to_ne_bytes()].concat());
        assert_eq!(bytes[48..], [0; 24]);
    }

    #[test]
    fn each_page_is_asked_for_by_its_command_and_nothing_is_set() {
        let sent = RefCell::new(Vec::new());
        let send = |command: &mut Command| -> io::Result<()> {
            sent.borrow_mut().push((
                command.opcode,
                command.words_10_15[0],
                command.namespace,
                command.data_bytes,
                command.address != 0,
            ));
            command.result = 0x0102_0304;
            Ok(())
        };
        let lengths =
            [NvmePage::Controller, NvmePage::Namespace, NvmePage::Health, NvmePage::PowerState, NvmePage::Sleep]
                .map(|page| ask(&send, page, 7).unwrap().len());
        assert_eq!(lengths, [4096, 4096, 512, 4, 260]);
        assert_eq!(
            *sent.borrow(),
            [
                (IDENTIFY, 1, 0, 4096, true),
                (IDENTIFY, 0, 7, 4096, true),
                (GET_LOG_PAGE, 0x7f_0002, u32::MAX, 512, true),
                (GET_FEATURES, 2, 0, 0, false),
                (GET_FEATURES, 12, 0, 256, true),
            ]
        );
        assert_eq!(ask(&send, NvmePage::PowerState, 0).unwrap(), [4, 3, 2, 1]);
    }

    #[test]
    fn a_disk_that_is_no_nvme_has_no_controller_here() {
        let folder = tempfile::tempdir().unwrap();
        for (name, number) in [("sda", "8:0\n"), ("nvme9n9", "")] {
            let disk = folder.path().join(name);
            std::fs::create_dir(&disk).unwrap();
            std::fs::write(disk.join("dev"), number).unwrap();
            assert!(Controller::of(&disk).is_none(), "{name}");
            assert_eq!(page(&disk, NvmePage::Health).unwrap_err().kind(), io::ErrorKind::NotFound, "{name}");
        }
    }
}
