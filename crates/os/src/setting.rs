//! Reads and changes a setting of the kernel: a file of sysfs, a line of a control group's file, direct I/O of a loop device.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::DeviceNumber;

/// The `ioctl` that switches direct I/O of a loop device (`linux/loop.h`). The kernel writes back the pages of its file first.
const LOOP_SET_DIRECT_IO: libc::c_ulong = 0x4C08;

/// Where a setting is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A file that holds the setting alone, or several words with the chosen one in brackets.
    File(PathBuf),
    /// The line of one device in a file that has a line for each.
    Line {
        /// The file.
        file: PathBuf,
        /// The first word of the line.
        key: String,
        /// What it is if there is no such line.
        absent: String,
    },
    /// Whether a loop device bypasses the page cache for its file (`1`) or not (`0`), by its folder in sysfs.
    LoopDirect(PathBuf),
}

/// Whether this process may change settings of the kernel: whether it is root's.
pub fn may_change() -> bool {
    rustix::process::geteuid().is_root()
}

impl Setting {
    /// The setting now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self) -> io::Result<String> {
        match self {
            Self::File(file) => Ok(chosen(&fs::read_to_string(file)?).to_string()),
            Self::Line { file, key, absent } => {
                let text = fs::read_to_string(file)?;
                let of_line = |line: &str| Some(line.strip_prefix(key.as_str())?.strip_prefix(' ')?.trim().to_string());
                Ok(text.lines().find_map(of_line).unwrap_or_else(|| absent.clone()))
            }
            Self::LoopDirect(folder) => Ok(fs::read_to_string(folder.join("loop/dio"))?.trim().to_string()),
        }
    }

    /// Changes the setting.
    ///
    /// # Errors
    /// If the kernel refuses the value, or permission is missing.
    pub fn write(&self, value: &str) -> io::Result<()> {
        match self {
            Self::File(file) => write_file(file, value),
            Self::Line { file, key, .. } => write_file(file, &format!("{key} {value}")),
            Self::LoopDirect(folder) => set_loop_direct(&loop_device(folder)?, value == "1"),
        }
    }

    /// Its kind and its path, for a note.
    pub(crate) fn as_lines(&self) -> [String; 2] {
        let (kind, path) = match self {
            Self::File(file) => ("file".to_string(), file),
            Self::Line { file, key, .. } => (format!("line {key}"), file),
            Self::LoopDirect(folder) => ("loop-direct".to_string(), folder),
        };
        [kind, path.display().to_string()]
    }

    /// The setting of which a note tells.
    pub(crate) fn of_lines(kind: &str, path: &str) -> Option<Self> {
        let path = PathBuf::from(path);
        Some(match kind.split_once(' ') {
            None if kind == "file" => Self::File(path),
            None if kind == "loop-direct" => Self::LoopDirect(path),
            Some(("line", key)) => Self::Line { file: path, key: key.to_string(), absent: String::new() },
            _ => return None,
        })
    }
}

/// Puts settings back as they were: the first always, and each of the others if it differs now.
///
/// # Errors
/// The first error; all others are tried all the same.
pub(crate) fn put_back(before: &[(Setting, String)]) -> io::Result<()> {
    let Some(((first, value), others)) = before.split_first() else { return Ok(()) };
    let mut outcome = first.write(value);
    for (setting, value) in others {
        if setting.read().ok().as_ref() != Some(value) {
            outcome = outcome.and(setting.write(value));
        }
    }
    outcome
}

/// The word in brackets of `none [mq-deadline] kyber`, or the whole text.
fn chosen(text: &str) -> &str {
    let within = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    within.map_or(text.trim(), |(word, _)| word)
}

/// Writes a file that is there; it is never made.
fn write_file(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(file)?.write_all(text.as_bytes())
}

/// Opens the loop device with this folder in sysfs, only to be asked.
fn loop_device(folder: &Path) -> io::Result<File> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let number = DeviceNumber::in_folder(folder).ok_or_else(missing)?;
    let file = File::open(Path::new("/dev").join(folder.file_name().ok_or_else(missing)?))?;
    let metadata = file.metadata()?;
    let is_it = metadata.file_type().is_block_device() && DeviceNumber::of(metadata.rdev()) == number;
    if is_it { Ok(file) } else { Err(missing()) }
}

fn set_loop_direct(device: &File, direct: bool) -> io::Result<()> {
    // SAFETY: the argument is a number, and the kernel takes it as one.
    let refused = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_SET_DIRECT_IO as _, libc::c_ulong::from(direct)) } != 0;
    if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_word_is_read_and_a_file_is_never_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scheduler");
        let setting = Setting::File(file.clone());
        assert_eq!(setting.write("none").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!file.exists());
        fs::write(&file, "none [mq-deadline] kyber\n").unwrap();
        assert_eq!(setting.read().unwrap(), "mq-deadline");
        setting.write("none").unwrap();
        assert_eq!(setting.read().unwrap(), "none");
    }

    #[test]
    fn a_line_is_the_devices_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("io.max");
        fs::write(&file, "8:0 rbps=1 wbps=max riops=max wiops=max\n8:16 rbps=2 wbps=max riops=max wiops=max\n")
            .unwrap();
        let of = |key: &str| Setting::Line { file: file.clone(), key: key.to_string(), absent: "rbps=max".to_string() };
        assert_eq!(of("8:16").read().unwrap(), "rbps=2 wbps=max riops=max wiops=max");
        assert_eq!(of("8:1").read().unwrap(), "rbps=max");
    }

    #[test]
    fn a_note_tells_the_place_again() {
        let path = PathBuf::from("/sys/fs/cgroup/a b/io.max");
        for setting in [
            Setting::File(path.clone()),
            Setting::LoopDirect(path.clone()),
            Setting::Line { file: path.clone(), key: "8:0".to_string(), absent: String::new() },
        ] {
            let [kind, place] = setting.as_lines();
            assert_eq!(Setting::of_lines(&kind, &place), Some(setting));
        }
        assert_eq!(Setting::of_lines("what", "/"), None);
    }
}
