//! Finds the backing device (bdi) of a file system that stands on no single block device.

use halfpower_os::mounts::Mount;

use crate::Root;
use crate::block::btrfs_folder;

/// Its folder below /sys/class/bdi, relative to the root. NFS and FUSE name it after the number of the mount
/// (`fuse_bdi_init`, `nfs_get_tree_common`); others by their kind and a count, such as `btrfs-1` and `cifs-2`
/// (`super_setup_bdi`), which of these only btrfs tells, in sysfs. `None` if it is not told.
pub fn backing_device(root: &Root, mount: &Mount) -> Option<String> {
    let name = match mount.kind.as_str() {
        "nfs" | "nfs4" => mount.number.to_string(),
        "fuseblk" => format!("{}-fuseblk", mount.number),
        kind if kind.starts_with("fuse") => mount.number.to_string(),
        _ => {
            let device = root.resolve(format!("{}/bdi", btrfs_folder(root, mount)?))?;
            device.file_name()?.to_str()?.to_string()
        }
    };
    Some(format!("sys/class/bdi/{name}"))
}
