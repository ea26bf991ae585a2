//! Finds the device number of a target.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use halfpower_spec::Bytes;

use halfpower_os::DeviceNumber;

/// A target cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Neither the path nor any folder above it can be reached.
    #[error("{} cannot be opened: {error}; name a path that exists and can be read", path.display())]
    Unreachable {
        /// The path that was given.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
}

/// A path and the device behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetIdentity {
    /// The path, absolute and without symbolic links.
    pub path: PathBuf,
    /// The device that holds the path, or is the path.
    pub number: DeviceNumber,
    /// Whether the path is a block device and not something on one.
    pub is_device: bool,
    /// Block size of the file system that holds it; 0 for a device or if unknown.
    pub block: Bytes,
    /// The UUID of the file system that holds it, or a substitute; `None` for a device.
    pub filesystem: Option<String>,
}

impl TargetIdentity {
    /// Examines `path`, or if it does not exist, the nearest folder above it.
    ///
    /// # Errors
    /// [`ProbeError::Unreachable`] if neither the path nor any folder above it can be reached.
    pub fn of(path: &Path) -> Result<Self, ProbeError> {
        let unreachable = |error| ProbeError::Unreachable { path: path.to_path_buf(), error };
        let absolute = std::path::absolute(path).map_err(unreachable)?;
        let nearest = absolute.ancestors().find(|above| fs::symlink_metadata(above).is_ok());
        let real = fs::canonicalize(nearest.unwrap_or(&absolute)).map_err(unreachable)?;
        let metadata = fs::metadata(&real).map_err(unreachable)?;
        let is_device = metadata.file_type().is_block_device();
        let number = if is_device { metadata.rdev() } else { metadata.dev() };
        let statistics = rustix::fs::statvfs(&real).ok().filter(|_| !is_device);
        Ok(Self {
            filesystem: (!is_device).then(|| halfpower_os::filesystem::identity(&real)).flatten(),
            path: real,
            number: DeviceNumber::of(number),
            is_device,
            block: Bytes(statistics.map_or(0, |statistics| statistics.f_frsize)),
        })
    }
}
