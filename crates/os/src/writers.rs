//! Finds processes that can write to a file or a device: through descriptors of any of their threads, or through memory
//! into which they have mapped it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::processes::ids;

/// File systems of this machine (`linux/magic.h`): ext4, XFS, btrfs, F2FS, bcachefs, tmpfs, overlayfs, ZFS.
const LOCAL: [u32; 8] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1];

/// A process that can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Writer {
    pub process: u32,
    /// The name of the process.
    pub name: String,
    /// Whether it has no descriptor for it, only a mapping.
    pub is_mapped: bool,
}

/// Another process that can write to the file or device with this metadata, as far as this process can see.
pub(crate) fn writer(metadata: &Metadata) -> Option<Writer> {
    let own = std::process::id();
    ids().filter(|process| *process != own).find_map(|process| writer_in(process, metadata))
}

/// Whether this process itself can.
pub(crate) fn we_write(metadata: &Metadata) -> bool {
    writer_in(std::process::id(), metadata).is_some()
}

fn writer_in(process: u32, metadata: &Metadata) -> Option<Writer> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let is_open = tables(process, &folder).any(|table| holds(&table, metadata));
    let is_mapped = !is_open && maps(&folder, metadata);
    (is_open || is_mapped).then(|| {
        let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
        Writer { process, name: name.trim().to_string(), is_mapped }
    })
}

/// A folder of a process or thread for each of its tables of descriptors. Nearly always all threads have the same one.
fn tables(process: u32, folder: &Path) -> impl Iterator<Item = PathBuf> {
    let tasks = fs::read_dir(folder.join("task")).into_iter().flatten().flatten();
    let threads = tasks.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let folder = folder.to_path_buf();
    let of_threads = {
        let folder = folder.clone();
        threads
            .filter(move |thread| *thread != process && !have_same_table(process, *thread))
            .map(move |thread| folder.join(format!("task/{thread}")))
    };
    std::iter::once(folder).chain(of_threads)
}

/// Whether two threads have the same table of descriptors; `false` if the kernel does not say.
fn have_same_table(one: u32, other: u32) -> bool {
    /// KCMP_FILES of `linux/kcmp.h`.
    const FILES: libc::c_long = 2;
    const NONE: libc::c_long = 0;
    let threads = [one, other].map(|id| id as libc::c_long);
    // SAFETY: the call takes numbers alone.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, threads[0], threads[1], FILES, NONE, NONE) };
    order == 0
}

/// Whether a table of descriptors has one through which the file can be written.
fn holds(table: &Path, metadata: &Metadata) -> bool {
    let open = fs::read_dir(table.join("fd")).into_iter().flatten().flatten();
    open.into_iter().any(|link| {
        fs::metadata(link.path()).is_ok_and(|other| is_same(metadata, &other)) && writes(table, &link.file_name())
    })
}

fn is_same(metadata: &Metadata, other: &Metadata) -> bool {
    match metadata.file_type().is_block_device() {
        true => other.file_type().is_block_device() && other.rdev() == metadata.rdev(),
        false => (other.dev(), other.ino()) == (metadata.dev(), metadata.ino()),
    }
}

/// Whether a descriptor permits writing.
fn writes(table: &Path, descriptor: &OsStr) -> bool {
    let reported = fs::read_to_string(table.join("fdinfo").join(descriptor)).unwrap_or_default();
    let flags = reported.lines().find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

/// Whether a process has mapped the file so that what it stores there goes to the file.
fn maps(folder: &Path, metadata: &Metadata) -> bool {
    let Ok(table) = fs::read(folder.join("maps")) else { return false };
    let mut tried = BTreeSet::new();
    table.split(|byte| *byte == b'\n').filter_map(shared_mapping).any(|mapping| {
        // The table shows the device of the file system's superblock, which is not always that of the file; and of a
        // device its node. So the inode chooses what is looked at.
        let is_device = metadata.file_type().is_block_device();
        let may_be = is_device || mapping.inode == metadata.ino();
        if !may_be || !tried.insert((mapping.device.to_vec(), mapping.inode)) {
            return false;
        }
        let mapped = folder.join("map_files").join(&mapping.range);
        match fs::metadata(mapped) {
            Ok(other) => is_same(metadata, &other),
            // Only a process with rights over the kernel may follow that link.
            Err(_) => mapping.inode == metadata.ino() && mapping.device == shown(metadata.dev()).as_bytes(),
        }
    })
}

/// A line of a table of mappings.
struct Mapping<'a> {
    /// The range of addresses, as its link is named.
    range: String,
    device: &'a [u8],
    inode: u64,
}

/// A mapping of a file that is shared and may be written; `None` for any other.
fn shared_mapping(line: &[u8]) -> Option<Mapping<'_>> {
    let mut fields = line.split(|byte| *byte == b' ');
    let (first, last) = std::str::from_utf8(fields.next()?).ok()?.split_once('-')?;
    let address = |text: &str| u64::from_str_radix(text, 16).ok();
    let range = format!("{:x}-{:x}", address(first)?, address(last)?);
    let rights = fields.next()?;
    if rights.get(1) != Some(&b'w') || rights.get(3) != Some(&b's') {
        return None;
    }
    fields.next()?;
    let device = fields.next()?;
    let inode = std::str::from_utf8(fields.next()?).ok()?.parse().ok().filter(|inode| *inode > 0)?;
    Some(Mapping { range, device, inode })
}

/// A device number as the table of mappings shows it.
fn shown(device: u64) -> String {
    format!("{:02x}:{:02x}", rustix::fs::major(device), rustix::fs::minor(device))
}

/// Whether a regular file is open for writing anywhere, also where this process cannot look: in other namespaces, in
/// messages on their way, in rings. The kernel grants a read lease only on a file that is not. `None` if it does not
/// say.
pub(crate) fn is_open_for_writing(path: &Path, metadata: &Metadata) -> Option<bool> {
    if !metadata.is_file() {
        return None;
    }
    ignore_lease_breaks()?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path).ok()?;
    let lease = |kind: libc::c_int| {
        // SAFETY: the call takes numbers alone.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) == 0 }
    };
    if lease(libc::F_RDLCK) {
        lease(libc::F_UNLCK);
        return Some(false);
    }
    let is_refused = std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN);
    // Clients of file servers refuse leases for reasons of their own.
    let kind = rustix::fs::fstatfs(&file).ok()?.f_type;
    (is_refused && LOCAL.contains(&(kind as u32))).then_some(true)
}

/// Whoever opens the file for writing in the moment of our lease makes the kernel send us a signal that would end us.
fn ignore_lease_breaks() -> Option<()> {
    use std::sync::OnceLock;
    static IGNORED: OnceLock<bool> = OnceLock::new();
    let ignored = IGNORED.get_or_init(|| signal_hook::flag::register(libc::SIGIO, std::sync::Arc::default()).is_ok());
    ignored.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_mappings_is_read() {
        let line = b"00007f0a-00007f0b rw-s 00001000 fe:01 1234                       /data/a b";
        let mapping = shared_mapping(line).unwrap();
        assert_eq!((mapping.range.as_str(), mapping.device, mapping.inode), ("7f0a-7f0b", &b"fe:01"[..], 1234));
        for other in
            ["7f0a-7f0b rw-p 0 fe:01 1234 /x", "7f0a-7f0b r--s 0 fe:01 1234 /x", "7f0a-7f0b rw-s 0 00:00 0", ""]
        {
            assert!(shared_mapping(other.as_bytes()).is_none(), "{other}");
        }
        assert_eq!(shown(rustix::fs::makedev(254, 1)), "fe:01");
    }

    #[test]
    fn threads_of_one_process_share_their_descriptors() {
        let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let own = std::process::id();
        // A sandbox may forbid the question; then every thread is looked at.
        let reported = have_same_table(own, me);
        assert!(reported || !have_same_table(own, own), "{own} {me}");
    }

    #[test]
    fn a_file_that_is_open_for_writing_gets_no_lease() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::write(&path, "data").unwrap();
        let metadata = path.metadata().unwrap();
        let said = || is_open_for_writing(&path, &metadata);
        if said().is_none() {
            return crate::skip("the file system of the temporary folder has no leases");
        }
        let is_free = || said() == Some(false) && !we_write(&metadata);
        assert!(crate::in_time(is_free));
        let open = OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!((said(), we_write(&metadata)), (Some(true), true));
        drop(open);
        assert!(crate::in_time(is_free));
    }
}
