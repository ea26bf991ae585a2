//! Reads files of others whole, up to a limit, so that no file fills the memory.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Most bytes of a text that people write: a job file, a parameter file, a simulated machine.
pub const MOST_OF_A_TEXT: u64 = 4 << 20;
/// Most bytes of another tool's results.
pub const MOST_OF_RESULTS: u64 = 128 << 20;

/// The bytes of a file or of a pipe, at most `most`.
///
/// # Errors
/// The system's; a sentence if the file is larger, or is a device.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_block_device() || (kind.is_char_device() && !file.is_terminal()) {
        return Err(io::Error::other("it is a device and no file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let text = format!("it is larger than {} MiB, the most that is read of such a file", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// As [`read`], for a text in UTF-8.
///
/// # Errors
/// As [`read`], and if it is no text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("it is no text in UTF-8: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "a text").unwrap();
        assert_eq!(read_text(&path, 6).unwrap(), "a text");
        let error = read(&path, 5).unwrap_err().to_string();
        assert!(error.contains("larger than"), "{error}");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(read_text(&path, 6).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn what_never_ends_is_not_read() {
        assert!(read(Path::new("/dev/zero"), 1 << 20).unwrap_err().to_string().contains("a device"));
        assert!(read(Path::new("/proc"), 1 << 20).is_err());
    }
}
