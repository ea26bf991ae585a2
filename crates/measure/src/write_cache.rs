//! The device's own write cache, switched for a study and put back after it, also after a kill by the next start.
//!
//! A device's name and the setting enter. While the setting holds, a note with what was there before lies in a
//! folder that survives the process but not the machine's restart, as the device's setting does; the note is locked
//! as long as its owner lives, so that whoever starts next can tell a note that was left behind.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use spec::Switch;

use crate::MeasureError;

/// Where notes lie.
const NOTES: &str = "/run/halfpower";

/// A write cache set otherwise than it was; dropped, it is put back.
#[derive(Debug)]
pub struct WriteCache {
    /// The attribute that holds the setting, and what it held.
    attribute: PathBuf,
    before: String,
    note: PathBuf,
    /// Locked as long as the setting holds.
    _claim: File,
}

impl WriteCache {
    /// Switches the write cache of the device of this kernel name on or off.
    ///
    /// # Errors
    /// Where the device has no such switch, the rights are missing, or another study holds it.
    pub fn set(device: &str, to: Switch) -> Result<Self, MeasureError> {
        Self::set_under(Path::new("/sys/block"), Path::new(NOTES), device, to)
    }

    /// Whether the write cache of the device of this kernel name can be switched from here.
    ///
    /// # Errors
    /// Why not, in a sentence without its full stop.
    pub fn can_be_set(device: &str) -> Result<(), String> {
        Self::can_be_set_under(Path::new("/sys/block"), device)
    }

    fn can_be_set_under(block: &Path, device: &str) -> Result<(), String> {
        let Some(attribute) = switch(&block.join(device)) else {
            return Err(format!("{device} has no write cache that can be switched from here"));
        };
        let mode = fs::metadata(&attribute).map_or(0, |metadata| metadata.permissions().mode());
        if mode & 0o222 == 0 {
            return Err(format!("{device} does not let its write cache be switched"));
        }
        let opened = OpenOptions::new().write(true).open(&attribute);
        opened
            .map(drop)
            .map_err(|error| format!("the write cache of {device} cannot be switched ({error}); run as root"))
    }

    /// Puts back every write cache whose owner is gone.
    pub fn put_back_stale() {
        put_back_stale_under(Path::new(NOTES));
    }

    fn set_under(block: &Path, notes: &Path, device: &str, to: Switch) -> Result<Self, MeasureError> {
        let folder = block.join(device);
        let refuse = |what: String| MeasureError::Target { path: PathBuf::from(device), what };
        let Some(attribute) = switch(&folder) else {
            return Err(refuse("has no write cache that can be switched from here: leave --write-cache out".into()));
        };
        let failed = |error: std::io::Error| refuse(format!("its write cache cannot be switched: {error}"));
        let before = fs::read_to_string(&attribute).map_err(failed)?.trim().to_string();
        fs::create_dir_all(notes).map_err(failed)?;
        let note = notes.join(format!("write-cache-{device}"));
        let mut claim =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&note).map_err(failed)?;
        if claim.try_lock().is_err() {
            return Err(refuse("its write cache is held by another running study: wait until that ends".into()));
        }
        claim.set_len(0).map_err(failed)?;
        write!(claim, "{}\n{before}\n", attribute.display()).and_then(|()| claim.sync_all()).map_err(failed)?;
        let held = Self { attribute, before, note, _claim: claim };
        let setting = Self::setting(to);
        // From here on, dropping puts back; also where the device refuses.
        fs::write(&held.attribute, setting).map_err(failed)?;
        match fs::read_to_string(&held.attribute) {
            Ok(now) if now.trim() == setting => Ok(held),
            _ => Err(refuse(format!("did not take the setting `{setting}`: leave --write-cache out"))),
        }
    }

    /// The setting in the kernel's words while it holds.
    pub fn setting(to: Switch) -> &'static str {
        match to {
            Switch::On => "write back",
            Switch::Off => "write through",
        }
    }
}

impl Drop for WriteCache {
    fn drop(&mut self) {
        // What cannot be put back stays noted for the next start.
        if fs::write(&self.attribute, &self.before).is_ok() {
            let _ = fs::remove_file(&self.note);
        }
    }
}

/// The attribute by which a device is told, not only the kernel's picture of it: virtio's own, or the SCSI disk's.
fn switch(folder: &Path) -> Option<PathBuf> {
    let scsi = fs::read_dir(folder.join("device/scsi_disk")).ok();
    let scsi = scsi.and_then(|mut disks| Some(disks.next()?.ok()?.path().join("cache_type")));
    [Some(folder.join("cache_type")), scsi].into_iter().flatten().find(|attribute| attribute.is_file())
}

fn put_back_stale_under(notes: &Path) {
    let Ok(entries) = fs::read_dir(notes) else { return };
    for note in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Ok(mut claim) = OpenOptions::new().read(true).write(true).open(&note) else { continue };
        let mut text = String::new();
        if claim.try_lock().is_err() || claim.read_to_string(&mut text).is_err() {
            continue;
        }
        let mut lines = text.lines();
        let put_back = match (lines.next(), lines.next()) {
            (Some(attribute), Some(before)) => fs::write(attribute, before).is_ok(),
            // Killed before the note was whole, so before anything was set.
            _ => true,
        };
        if put_back {
            let _ = fs::remove_file(&note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake {
        folder: tempfile::TempDir,
    }

    impl Fake {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join("block/sda/device/scsi_disk/0:0:0:0")).unwrap();
            fs::create_dir_all(folder.path().join("block/nvme0n1")).unwrap();
            let fake = Self { folder };
            fs::write(fake.attribute(), "write back\n").unwrap();
            fake
        }

        fn attribute(&self) -> PathBuf {
            self.folder.path().join("block/sda/device/scsi_disk/0:0:0:0/cache_type")
        }

        fn notes(&self) -> PathBuf {
            self.folder.path().join("notes")
        }

        fn set(&self, device: &str, to: Switch) -> Result<WriteCache, MeasureError> {
            WriteCache::set_under(&self.folder.path().join("block"), &self.notes(), device, to)
        }

        fn now(&self) -> String {
            fs::read_to_string(self.attribute()).unwrap().trim().to_string()
        }
    }

    #[test]
    fn it_is_set_and_put_back() {
        let fake = Fake::new();
        let held = fake.set("sda", Switch::Off).unwrap();
        assert_eq!(fake.now(), "write through");
        assert!(fake.set("sda", Switch::On).unwrap_err().to_string().contains("another running study"));
        drop(held);
        assert_eq!(fake.now(), "write back");
        assert_eq!(fs::read_dir(fake.notes()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_study_left_is_put_back_and_what_a_living_one_holds_is_not() {
        let fake = Fake::new();
        let held = fake.set("sda", Switch::Off).unwrap();
        put_back_stale_under(&fake.notes());
        assert_eq!(fake.now(), "write through", "its owner lives");
        // A killed process drops nothing; its lock goes with it.
        let note = fs::read(fake.notes().join("write-cache-sda")).unwrap();
        drop(held);
        fs::write(fake.attribute(), "write through").unwrap();
        fs::write(fake.notes().join("write-cache-sda"), note).unwrap();
        put_back_stale_under(&fake.notes());
        assert_eq!(fake.now(), "write back");
        assert_eq!(fs::read_dir(fake.notes()).unwrap().count(), 0);
    }

    #[test]
    fn a_device_without_a_switch_says_so() {
        let fake = Fake::new();
        let block = fake.folder.path().join("block");
        assert_eq!(WriteCache::can_be_set_under(&block, "sda"), Ok(()));
        assert!(WriteCache::can_be_set_under(&block, "nvme0n1").unwrap_err().contains("nvme0n1 has no write cache"));
        fs::set_permissions(fake.attribute(), fs::Permissions::from_mode(0o444)).unwrap();
        assert!(WriteCache::can_be_set_under(&block, "sda").unwrap_err().contains("does not let"));
        let error = fake.set("nvme0n1", Switch::Off).unwrap_err().to_string();
        assert!(error.contains("nvme0n1") && error.contains("--write-cache"), "{error}");
    }
}
