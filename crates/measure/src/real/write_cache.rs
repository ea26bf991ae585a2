//! Switches a device's own write cache for a study, and puts it back after it.
//!
//! A device's name and the setting enter. While the setting holds, a note with what was there before lies where the next
//! start finds it, also after a kill and a restart of the machine: a SCSI disk keeps what it was told.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use halfpower_os::switched::{Note, Switched, boot_identity, device_identity, write_cache_attribute};
use halfpower_spec::Switch;

use crate::MeasureError;

/// A write cache set otherwise than it was; dropped, it is put back.
#[derive(Debug)]
pub struct WriteCache {
    /// The attribute that holds the setting, and what it held.
    attribute: PathBuf,
    before: String,
    /// By which a later start puts it back after a kill.
    note: Option<Note>,
}

impl WriteCache {
    /// Switches the write cache of the device of this kernel name on or off.
    ///
    /// # Errors
    /// Where the device has no such switch, the rights are missing, or another study holds it.
    pub fn set(device: &str, to: Switch) -> Result<Self, MeasureError> {
        Self::set_under(Path::new("/sys/block"), None, device, to)
    }

    /// Whether the write cache of the device of this kernel name can be switched from here.
    ///
    /// # Errors
    /// Why not, in a sentence without its full stop.
    pub fn can_be_set(device: &str) -> Result<(), String> {
        Self::can_be_set_under(Path::new("/sys/block"), device)
    }

    fn can_be_set_under(block: &Path, device: &str) -> Result<(), String> {
        let Some(attribute) = write_cache_attribute(&block.join(device)) else {
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

    fn set_under(block: &Path, notes: Option<&Path>, device: &str, to: Switch) -> Result<Self, MeasureError> {
        let folder = block.join(device);
        let refuse = |what: String| MeasureError::Target { path: PathBuf::from(device), what };
        let Some(attribute) = write_cache_attribute(&folder) else {
            return Err(refuse("has no write cache that can be switched from here: leave --write-cache out".into()));
        };
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::WouldBlock => {
                refuse("its write cache is held by another running study: wait until that ends".into())
            }
            _ => refuse(format!("its write cache cannot be switched: {error}; leave --write-cache out")),
        };
        let before = fs::read_to_string(&attribute).map_err(failed)?.trim().to_string();
        let switched = Switched::WriteCache {
            device: device.to_string(),
            identity: device_identity(&folder),
            before: before.clone(),
            boot: boot_identity(),
        };
        let name = format!("write-cache-{device}");
        let note = match notes {
            Some(notes) => Note::write_in(notes, &name, &switched),
            None => Note::write(&name, &switched),
        };
        let held = Self { attribute, before, note: Some(note.map_err(failed)?) };
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
        let put_back = fs::write(&self.attribute, &self.before).is_ok();
        // A device that refuses every setting still has the one that it had.
        let as_before = || fs::read_to_string(&self.attribute).is_ok_and(|now| now.trim() == self.before);
        if let Some(note) = self.note.take()
            && (put_back || as_before())
        {
            note.done();
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
            WriteCache::set_under(&self.folder.path().join("block"), Some(&self.notes()), device, to)
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
        let mend = || halfpower_os::switched::mend_in(&fake.notes(), &fake.folder.path().join("block"), |_| Ok(false));
        let held = fake.set("sda", Switch::Off).unwrap();
        assert!(mend().is_empty());
        assert_eq!(fake.now(), "write through", "its owner lives");
        // A killed process drops nothing; its lock goes with it.
        let note = fs::read(fake.notes().join("write-cache-sda")).unwrap();
        drop(held);
        fs::write(fake.attribute(), "write through").unwrap();
        fs::write(fake.notes().join("write-cache-sda"), note).unwrap();
        assert_eq!(mend().len(), 1);
        assert_eq!(fake.now(), "write back");
        assert_eq!(fs::read_dir(fake.notes()).unwrap().count(), 0);
    }

    #[test]
    fn a_refused_setting_leaves_no_note() {
        // A disk that keeps its setting whatever it is told.
        let fake = Fake::new();
        fs::remove_file(fake.attribute()).unwrap();
        std::os::unix::fs::symlink("/proc/sys/kernel/ostype", fake.attribute()).unwrap();
        let refused = fake.set("sda", Switch::Off).unwrap_err().to_string();
        assert!(refused.contains("leave --write-cache out"), "{refused}");
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
