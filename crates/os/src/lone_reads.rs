//! Reads a file or a device that others use, one request at a time and past the page cache, and changes nothing of it.

use std::fs;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{FileType, Mode, OFlags, SeekFrom, StatVfsMountFlags};
use rustix::io::{Errno, ReadWriteFlags};

use crate::{Buffers, OsError};

/// The nice value of work that everybody else's goes before.
const LAST: i32 = 19;

/// A file or a block device, open for reading alone.
///
/// A read neither waits for a lock nor carries what others wrote to the disk (`RWF_NOWAIT`): where it would have to, it is
/// left out. The time of the last access stays as it is.
pub struct LoneReads {
    file: OwnedFd,
    path: PathBuf,
    buffer: Buffers,
    size_bytes: u64,
}

impl LoneReads {
    /// Opens what is at a path, also a link of `/proc/PID/fd`, for requests of at most this many bytes.
    ///
    /// # Errors
    /// [`OsError::NotData`] for anything but a file or a block device, [`OsError::NoDirect`] if it cannot be read past the
    /// page cache, [`OsError::Denied`] also if reading would change the time of its last access; else the system's error.
    ///
    /// # Panics
    /// If `longest_bytes` is 0.
    pub fn open(path: &Path, longest_bytes: usize) -> Result<Self, OsError> {
        let refused = |error: Errno| OsError::of("open", "read", path, error);
        // It is looked at before it is opened: to open a pipe, or some devices, does something.
        let seen = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(refused)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&seen).map_err(refused)?.st_mode);
        if kind != FileType::RegularFile && kind != FileType::BlockDevice {
            return Err(OsError::NotData { path: path.to_path_buf() });
        }
        let file = match opened(&seen) {
            Err(Errno::INVAL) => return Err(OsError::NoDirect { path: path.to_path_buf() }),
            other => other.map_err(refused)?,
        };
        let size_bytes = rustix::fs::seek(&file, SeekFrom::End(0)).map_err(refused)?;
        let buffer = Buffers::new(1, longest_bytes, 0)?;
        Ok(Self { file, path: path.to_path_buf(), buffer, size_bytes })
    }

    /// Its size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Reads so many bytes at an offset; both must be multiples of the device's block. Returns how long that took, in
    /// nanoseconds; `None` if no disk was asked (a hole, or a file system that reads otherwise), if the read would have had to
    /// wait for others' locks or writes, or if the kernel does not count what this thread reads.
    ///
    /// # Errors
    /// If it cannot be read so, or the device failed.
    ///
    /// # Panics
    /// If there are more bytes than [`LoneReads::open`] was told.
    pub fn read(&mut self, bytes: usize, offset: u64) -> Result<Option<u64>, OsError> {
        let before = read_by_this_thread();
        let mut parts = [IoSliceMut::new(&mut self.buffer.slot_mut(0)[..bytes])];
        let began = Instant::now();
        let came = rustix::io::preadv2(&self.file, &mut parts, offset, ReadWriteFlags::NOWAIT);
        let took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        match came {
            Ok(came) => {
                let asked = read_by_this_thread().zip(before).map_or(0, |(now, before)| now.saturating_sub(before));
                Ok((came == bytes && asked >= bytes as u64).then_some(took_ns))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(OsError::of("preadv2", "read", &self.path, error)),
        }
    }
}

/// Opens it once more, for reading alone.
fn opened(seen: &OwnedFd) -> Result<OwnedFd, Errno> {
    let path = format!("/proc/self/fd/{}", seen.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(&path, flags | OFlags::NOATIME, Mode::empty()) {
        // Only its owner may ask for this; some mounts leave that time alone by themselves.
        Err(Errno::PERM) => {
            let file = rustix::fs::open(&path, flags, Mode::empty())?;
            let leaves_it = StatVfsMountFlags::NOATIME | StatVfsMountFlags::RDONLY;
            let mount = rustix::fs::fstatvfs(&file)?;
            if mount.f_flag.intersects(leaves_it) { Ok(file) } else { Err(Errno::PERM) }
        }
        other => other,
    }
}

/// Bytes that this thread made disks read; `None` if the kernel does not count them.
fn read_by_this_thread() -> Option<u64> {
    let told = fs::read_to_string("/proc/thread-self/io").ok()?;
    told.lines().find_map(|line| line.strip_prefix("read_bytes:")?.trim().parse().ok())
}

/// Puts the calling thread behind everybody else: its requests are of the idle class, its nice value is 19. It cannot be taken
/// back without rights.
///
/// # Errors
/// If the kernel refuses.
pub fn go_last() -> io::Result<()> {
    // `linux/ioprio.h`: whose priority it is (a thread's; 0 is the calling one), and the idle class.
    const WHO_PROCESS: libc::c_long = 1;
    const CALLING: libc::c_long = 0;
    const CLASS_IDLE: libc::c_long = 3 << 13;
    // SAFETY: the call takes numbers alone.
    let refused = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, CALLING, CLASS_IDLE) };
    if refused != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(rustix::process::setpriority_process(None, LAST)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::skip;

    /// Where direct I/O is most likely to work.
    const HERE: &str = env!("CARGO_MANIFEST_DIR");

    #[test]
    fn reads_change_nothing_of_the_file() {
        let folder = tempfile::tempdir_in(HERE).unwrap();
        let path = folder.path().join("data");
        let bytes: Vec<u8> = (0..1_u32 << 20).map(|at| (at % 251) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        let told = |path: &Path| {
            let seen = fs::metadata(path).unwrap();
            (
                seen.mtime(),
                seen.mtime_nsec(),
                seen.ctime(),
                seen.ctime_nsec(),
                seen.atime(),
                seen.atime_nsec(),
                seen.len(),
            )
        };
        let before = told(&path);
        let mut reads = match LoneReads::open(&path, 8192) {
            Ok(reads) => reads,
            Err(OsError::NoDirect { .. }) => return skip("the source folder's file system takes no direct I/O"),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(reads.size_bytes(), 1 << 20);
        for (length, offset) in [(4096, 0), (8192, 40_960), (4096, (1 << 20) - 4096)] {
            match reads.read(length, offset) {
                Ok(Some(took_ns)) => {
                    assert!(took_ns > 0);
                    assert_eq!(reads.buffer.slot(0)[..length], bytes[offset as usize..offset as usize + length]);
                }
                // A file system that keeps all in memory, or reads in a thread of its own.
                Ok(None) => {}
                Err(error) => return skip(&error.to_string()),
            }
        }
        assert_eq!(told(&path), before, "times and size stay");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn nothing_but_files_and_block_devices_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        for path in [folder.path(), Path::new("/dev/null"), &socket] {
            assert!(matches!(LoneReads::open(path, 4096), Err(OsError::NotData { .. })), "{}", path.display());
        }
        let missing = folder.path().join("missing");
        assert!(matches!(LoneReads::open(&missing, 4096), Err(OsError::Missing { .. })));
    }

    #[test]
    fn a_thread_that_goes_last_is_in_the_idle_class() {
        let own = || rustix::process::getpriority_process(None).unwrap();
        let before = own();
        let told = std::thread::spawn(|| {
            go_last().unwrap();
            const OF: [libc::c_long; 2] = [1, 0];
            // SAFETY: the call takes numbers alone.
            let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, OF[0], OF[1]) };
            (priority >> 13, rustix::process::getpriority_process(None).unwrap())
        });
        assert_eq!(told.join().unwrap(), (3, 19));
        assert_eq!(own(), before, "other threads stay where they were");
    }
}
