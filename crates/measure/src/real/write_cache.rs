//! Switches a device's own write cache for a run, and restores it afterwards.
//!
//! While the cache is switched, a note on disk holds the setting from before. If the process is killed, the next start
//! finds the note and restores the setting, even after a reboot: a SCSI disk keeps its setting.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use halfpower_os::cache_switch::{CacheSwitch, WRITE_BACK, WRITE_THROUGH};
use halfpower_os::switched::{Note, Switched, boot_identity, device_identity};
use halfpower_spec::Switch;

use crate::MeasureError;

/// A write cache that was switched; dropping this restores it.
#[derive(Debug)]
pub struct WriteCache {
    /// Kernel name of the device.
    device: String,
    /// The switch, and the setting from before.
    switch: CacheSwitch,
    before: String,
    /// The note from which the next start restores the setting if this process is killed.
    note: Option<Note>,
}

impl WriteCache {
    /// Switches the write cache of the device of this kernel name on or off.
    ///
    /// # Errors
    /// If the device has no such switch, the rights are missing, or another study holds it.
    pub fn set(device: &str, to: Switch) -> Result<Self, MeasureError> {
        Ok(Self::set_all(&[device.to_string()], to)?.remove(0))
    }

    /// Switches the write caches of several devices. Saves all settings before switching the first, because two devices
    /// may be paths to one disk.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn set_all(devices: &[String], to: Switch) -> Result<Vec<Self>, MeasureError> {
        Self::set_all_under(Path::new("/sys/block"), None, devices, to)
    }

    /// As [`Self::set_all`], of devices in this folder and with notes in that one.
    pub(super) fn set_all_under(
        block: &Path,
        notes: Option<&Path>,
        devices: &[String],
        to: Switch,
    ) -> Result<Vec<Self>, MeasureError> {
        let held = devices.iter().map(|device| Self::hold(block, notes, device));
        let held = held.collect::<Result<Vec<Self>, MeasureError>>()?;
        held.iter().try_for_each(|held| held.turn(to))?;
        Ok(held)
    }

    /// Notes the setting of a device's write cache and leaves it as it is; [`Self::turn`] switches it.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn held(device: &str) -> Result<Self, MeasureError> {
        Self::hold(Path::new("/sys/block"), None, device)
    }

    /// Checks that the write cache of the device of this kernel name can be switched from here.
    ///
    /// # Errors
    /// Why not, as a sentence without the full stop.
    pub fn can_be_set(device: &str) -> Result<(), String> {
        Self::can_be_set_under(Path::new("/sys/block"), device)
    }

    fn can_be_set_under(block: &Path, device: &str) -> Result<(), String> {
        let Some(switch) = CacheSwitch::of(&block.join(device)) else {
            return Err(format!("{device} has no write cache that can be switched from here"));
        };
        switch.can_be_set().map_err(|error| match error.kind() {
            ErrorKind::ReadOnlyFilesystem => format!("{device} does not let its write cache be switched"),
            ErrorKind::Other => format!("the write cache of {device} cannot be switched: {error}"),
            _ => format!("the write cache of {device} cannot be switched ({error}); run as root"),
        })
    }

    /// Saves the setting of a device's write cache in a note, before it is switched.
    fn hold(block: &Path, notes: Option<&Path>, device: &str) -> Result<Self, MeasureError> {
        let folder = block.join(device);
        let Some(switch) = CacheSwitch::of(&folder) else {
            let what = "has no write cache that can be switched from here: leave --write-cache out";
            return Err(refusal(device, what.to_string()));
        };
        let failed = |error: io::Error| not_switched(device, &error);
        let before = switch.setting().map_err(failed)?;
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
        // From here on dropping restores the setting, even if the device then refuses to switch.
        Ok(Self { device: device.to_string(), switch, before, note: Some(note.map_err(failed)?) })
    }

    /// Switches it on or off. Before it is off, the device writes down what it holds: from then on the kernel may send it no
    /// flushes, also for what others made durable before.
    ///
    /// # Errors
    /// If the device refuses, or keeps another setting.
    pub fn turn(&self, to: Switch) -> Result<(), MeasureError> {
        let setting = Self::setting(to);
        if to == Switch::Off {
            flush(&self.device).map_err(|error| not_switched(&self.device, &error))?;
        }
        self.switch.set(setting).map_err(|error| not_switched(&self.device, &error))?;
        match self.switch.setting() {
            Ok(now) if now == setting => Ok(()),
            _ => Err(refusal(&self.device, format!("did not take the setting `{setting}`: leave --write-cache out"))),
        }
    }

    /// The kernel's word for this setting.
    pub fn setting(to: Switch) -> &'static str {
        match to {
            Switch::On => WRITE_BACK,
            Switch::Off => WRITE_THROUGH,
        }
    }
}

/// Makes a device write down its cache. One that has no node here cannot be asked.
fn flush(device: &str) -> io::Result<()> {
    match File::open(Path::new("/dev").join(device)) {
        Ok(node) => node.sync_all(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn refusal(device: &str, what: String) -> MeasureError {
    MeasureError::Target { path: PathBuf::from(device), what }
}

fn not_switched(device: &str, error: &io::Error) -> MeasureError {
    let what = match error.kind() {
        ErrorKind::WouldBlock => "its write cache is held by another running study: wait until that ends".to_string(),
        _ => format!("its write cache cannot be switched: {error}; leave --write-cache out"),
    };
    refusal(device, what)
}

impl Drop for WriteCache {
    fn drop(&mut self) {
        let put_back = self.switch.set(&self.before).is_ok();
        // A device that refuses every setting still has the old one.
        let as_before = || self.switch.setting().is_ok_and(|now| now == self.before);
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
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
            let devices = [device.to_string()];
            let block = self.folder.path().join("block");
            Ok(WriteCache::set_all_under(&block, Some(&self.notes()), &devices, to)?.remove(0))
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
        // A killed process runs no destructors, and the kernel releases its lock.
        let note = fs::read(fake.notes().join("write-cache-sda")).unwrap();
        drop(held);
        fs::write(fake.attribute(), "write through").unwrap();
        fs::write(fake.notes().join("write-cache-sda"), note).unwrap();
        assert_eq!(mend().len(), 1);
        assert_eq!(fake.now(), "write back");
        assert_eq!(fs::read_dir(fake.notes()).unwrap().count(), 0);
    }

    #[test]
    fn two_paths_to_one_disk_are_put_back_as_both_were() {
        let fake = Fake::new();
        let block = fake.folder.path().join("block");
        fs::create_dir_all(block.join("sdb/device/scsi_disk/1:0:0:0")).unwrap();
        // Switching through one path may show through the other.
        std::os::unix::fs::symlink(fake.attribute(), block.join("sdb/device/scsi_disk/1:0:0:0/cache_type")).unwrap();
        let paths = ["sda".to_string(), "sdb".to_string()];
        let held = WriteCache::set_all_under(&block, Some(&fake.notes()), &paths, Switch::Off).unwrap();
        assert_eq!((fake.now().as_str(), fs::read_dir(fake.notes()).unwrap().count()), ("write through", 2));
        drop(held);
        assert_eq!((fake.now().as_str(), fs::read_dir(fake.notes()).unwrap().count()), ("write back", 0));
    }

    #[test]
    fn a_refused_setting_leaves_no_note() {
        // A disk that ignores new settings.
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
