//! Records settings that were changed on this machine, and restores those that a killed process left changed.
//!
//! Before changing a setting, a process writes a [`Note`]; it removes the note after restoring the setting. A note is
//! locked while its owner lives and survives a reboot, so every later start can find a leftover note and `mend` it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::cache_switch::CacheSwitch;
use crate::setting::{Setting, put_back};

/// Folders for notes; the first writable one is used. A reboot clears the second.
const FOLDERS: [&str; 2] = ["/var/lib/halfpower", "/run/halfpower"];
/// Prefixes of identifiers that are unique to a disk (`wwid` of SCSI and NVMe in sysfs).
const WORLD_WIDE: [&str; 5] = ["naa.", "eui.", "uuid.", "nvme.", "t10."];
/// What the names of virtio disks begin with; many of them have no identifier.
const VIRTIO: &str = "vd";
/// Where sysfs describes block devices.
const BLOCK: &str = "/sys/block";

/// A changed setting, and its value before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Switched {
    /// A device's write cache.
    WriteCache {
        /// Kernel name of the device.
        device: String,
        /// Identifies the device after a reboot.
        identity: Option<String>,
        /// The setting before, as the kernel spells it.
        before: String,
        /// Identifies the boot.
        boot: String,
    },
    /// An instance of tracefs.
    Tracing {
        /// Its name.
        instance: String,
    },
    /// Settings that the kernel forgets when it restarts.
    Settings {
        /// Identifies the boot.
        boot: String,
        /// The folder in sysfs of the device that has them; `None` if they are of no device.
        device: Option<PathBuf>,
        /// Identifies that device.
        identity: Option<String>,
        /// The setting that was switched, then those that follow it, each with its value before.
        before: Vec<(Setting, String)>,
    },
}

/// A note of a changed setting; it stays behind unless [`Note::done`] is called.
#[derive(Debug)]
pub struct Note {
    path: PathBuf,
    /// Locked while the note is ours.
    _claim: File,
}

impl Note {
    /// Writes a note in the machine's folder, before the setting is changed.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process holds a note with this name, else the system's error.
    pub fn write(name: &str, switched: &Switched) -> io::Result<Self> {
        let first = Self::write_in(Path::new(FOLDERS[0]), name, switched);
        match first {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                Self::write_in(Path::new(FOLDERS[1]), name, switched).map_err(|_| error)
            }
            other => other,
        }
    }

    /// As [`Note::write`], in the given folder.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_in(folder: &Path, name: &str, switched: &Switched) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(name);
        let (mut claim, text) = loop {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            if let Some(claimed) = claimed(file, &path)? {
                break claimed;
            }
        };
        if Switched::parse(&text).is_some() {
            return Err(io::Error::other(format!("an earlier halfpower left it switched, see {}", path.display())));
        }
        claim.set_len(0)?;
        // What an earlier, incomplete note had was read up to its end.
        claim.rewind()?;
        claim.write_all(switched.text().as_bytes())?;
        claim.sync_all()?;
        // The name must survive a power failure too.
        File::open(folder)?.sync_all()?;
        Ok(Self { path, _claim: claim })
    }

    /// Removes the note after the setting was restored.
    pub fn done(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Locks a note and reads its text; `None` if it disappeared meanwhile.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if another process holds it.
fn claimed(mut file: File, path: &Path) -> io::Result<Option<(File, String)>> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    let ours = file.metadata()?;
    if !path.metadata().is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
        return Ok(None);
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(Some((file, text)))
}

impl Switched {
    fn text(&self) -> String {
        match self {
            Self::WriteCache { device, identity, before, boot } => {
                let identity = identity.as_deref().unwrap_or("");
                format!("write-cache\n{device}\n{identity}\n{before}\n{boot}\nend\n")
            }
            Self::Tracing { instance } => format!("tracing\n{instance}\nend\n"),
            Self::Settings { boot, device, identity, before } => {
                let device = device.as_ref().map_or(String::new(), |folder| folder.display().to_string());
                let identity = identity.as_deref().unwrap_or("");
                let mut text = format!("settings\n{boot}\n{device}\n{identity}\n");
                for (setting, value) in before {
                    let [kind, path] = setting.as_lines();
                    text += &format!("{kind}\n{path}\n{value}\n");
                }
                text + "end\n"
            }
        }
    }

    /// `None` for an incomplete note: its owner was killed before it changed anything.
    fn parse(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().collect();
        match lines.as_slice() {
            ["write-cache", device, identity, before, boot, "end"] => Some(Self::WriteCache {
                device: device.to_string(),
                identity: Some(identity.to_string()).filter(|identity| !identity.is_empty()),
                before: before.to_string(),
                boot: boot.to_string(),
            }),
            ["tracing", instance, "end"] => Some(Self::Tracing { instance: instance.to_string() }),
            ["settings", boot, device, identity, settings @ .., "end"] => {
                let of_lines = |lines: &[&str]| match lines {
                    [kind, path, value] => Some((Setting::of_lines(kind, path)?, value.to_string())),
                    _ => None,
                };
                Some(Self::Settings {
                    boot: boot.to_string(),
                    device: Some(PathBuf::from(device)).filter(|folder| !folder.as_os_str().is_empty()),
                    identity: Some(identity.to_string()).filter(|identity| !identity.is_empty()),
                    before: settings.chunks(3).map(of_lines).collect::<Option<_>>()?,
                })
            }
            _ => None,
        }
    }
}

/// Removes a trace instance by name; returns whether an instance of ours with that name existed.
pub type Remove = fn(&str) -> io::Result<bool>;

/// Restores settings that killed processes left changed; returns one sentence for each.
///
/// `remove` removes a trace instance by its name.
pub(crate) fn mend(remove: Remove) -> Vec<String> {
    FOLDERS.iter().flat_map(|folder| mend_in(Path::new(folder), Path::new(BLOCK), remove)).collect()
}

/// As `mend`, for notes in `notes` and devices described in `block`.
pub fn mend_in(notes: &Path, block: &Path, remove: Remove) -> Vec<String> {
    let Ok(entries) = fs::read_dir(notes) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().filter_map(|path| mend_one(path, block, remove)).collect()
}

fn mend_one(path: &Path, block: &Path, remove: Remove) -> Option<String> {
    let file = File::open(path).ok()?;
    let (_claim, text) = claimed(file, path).ok()??;
    let outcome = match Switched::parse(&text) {
        None => Outcome::Nothing,
        Some(Switched::WriteCache { device, identity, before, boot }) => {
            write_cache_back(block, path, &device, identity.as_deref(), &before, &boot)
        }
        Some(Switched::Settings { boot, device, identity, before }) => {
            settings_back(&boot, device.as_deref(), identity.as_deref(), &before)
        }
        Some(Switched::Tracing { instance }) => match remove(&instance) {
            Ok(true) => {
                Outcome::Mended(format!("the trace instance {instance} is removed, which a killed halfpower left"))
            }
            Ok(false) => Outcome::Nothing,
            Err(error) => Outcome::Left(format!(
                "the trace instance {instance}, which a killed halfpower left, cannot be removed ({error}); start any \
                 command of halfpower as root"
            )),
        },
    };
    let sentence = match outcome {
        Outcome::Left(sentence) => return Some(sentence),
        Outcome::Mended(sentence) => Some(sentence),
        Outcome::Nothing => None,
    };
    let _ = fs::remove_file(path);
    sentence
}

/// The outcome of mending a note.
enum Outcome {
    /// The setting was restored; a sentence that says so.
    Mended(String),
    /// There was nothing to restore.
    Nothing,
    /// The note must stay; why, and what to do.
    Left(String),
}

/// Puts a write cache back; `note` tells of it.
fn write_cache_back(
    block: &Path,
    note: &Path,
    device: &str,
    identity: Option<&str>,
    before: &str,
    boot: &str,
) -> Outcome {
    let left = |what: String| {
        Outcome::Left(format!(
            "a killed halfpower left the write cache of {device} switched (it was `{before}`): {what}"
        ))
    };
    let restarted = boot != boot_identity();
    let found = match identity {
        Some(identity) => device_of(block, identity, device),
        // A start resets a virtio disk, whose cache is then as its host has it.
        None if restarted && device.starts_with(VIRTIO) => return Outcome::Nothing,
        None => Some(device.to_string()).filter(|_| !restarted),
    };
    let Some(found) = found else {
        return left(match identity {
            Some(identity) => format!("no device {identity} is here now; connect it and start halfpower again"),
            None => format!(
                "after a restart it cannot be told which device that was; put it back by hand, and remove {}",
                note.display()
            ),
        });
    };
    let Some(switch) = CacheSwitch::of(&block.join(&found)) else {
        return left("it is not here now; connect it and start halfpower again".to_string());
    };
    match switch.set(before) {
        Ok(()) => Outcome::Mended(format!(
            "the write cache of {found} is `{before}` again, as before a halfpower that was killed"
        )),
        Err(error) => left(format!("that cannot be put back ({error}); start any command of halfpower as root")),
    }
}

/// Puts back settings that a restart would have undone; those of another boot or of a device that is gone are gone too.
fn settings_back(boot: &str, device: Option<&Path>, identity: Option<&str>, before: &[(Setting, String)]) -> Outcome {
    let is_another = device.is_some_and(|folder| block_identity(folder).as_deref() != identity);
    let Some((setting, value)) = before.first().filter(|_| boot == boot_identity() && !is_another) else {
        return Outcome::Nothing;
    };
    let [_, path] = setting.as_lines();
    match put_back(before) {
        Ok(()) => Outcome::Mended(format!("{path} is `{value}` again, as before a halfpower that was killed")),
        Err(_) if setting.read().is_ok_and(|now| now == *value) => Outcome::Nothing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Outcome::Nothing,
        Err(error) => Outcome::Left(format!(
            "a killed halfpower left {path} switched (it was `{value}`), and that cannot be put back ({error}); start any \
             command of halfpower as root"
        )),
    }
}

/// The world-wide name or serial number in a device's folder, which identifies it under any name.
pub fn device_identity(folder: &Path) -> Option<String> {
    let read = |file: &&str| fs::read_to_string(folder.join(file)).ok().map(|text| text.trim().to_string());
    let files = ["wwid", "device/wwid", "serial", "device/serial"];
    files.iter().filter_map(read).find(|text| !text.is_empty())
}

/// As `device_identity`; of a volume, what it stands on or its own identifier.
pub(crate) fn block_identity(folder: &Path) -> Option<String> {
    let read = |file: &&str| fs::read_to_string(folder.join(file)).ok().map(|text| text.trim().to_string());
    let of_volume = || ["loop/backing_file", "dm/uuid", "md/uuid"].iter().find_map(read);
    device_identity(folder).or_else(of_volume)
}

/// The device that has this identity now. If several have it, the one called `name`: each path of a multipath device
/// may have its own note. `None` if none is certain to be that device.
fn device_of(block: &Path, identity: &str, name: &str) -> Option<String> {
    let entries = fs::read_dir(block).ok()?.flatten();
    let same = entries.filter(|entry| device_identity(&entry.path()).as_deref() == Some(identity));
    let mut names: Vec<String> = same.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    // A world-wide name belongs to one disk, however many paths lead to it, and each path leads to its cache. Serial
    // numbers may be shared by several disks.
    let is_of_one = names.len() == 1 || WORLD_WIDE.iter().any(|kind| identity.starts_with(kind));
    match names.iter().position(|own| own == name) {
        Some(own) => Some(names.swap_remove(own)),
        None => names.into_iter().next().filter(|_| is_of_one),
    }
}

/// Identifies the current boot.
pub fn boot_identity() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| "unknown".to_string(), |id| id.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        folder: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            let machine = Self { folder: tempfile::tempdir().unwrap() };
            machine.disk("sda", "naa.1");
            machine
        }

        fn disk(&self, name: &str, wwid: &str) {
            let folder = self.block().join(name).join("device/scsi_disk/0:0:0:0");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cache_type"), "write through\n").unwrap();
            fs::write(self.block().join(name).join("device/wwid"), wwid).unwrap();
        }

        fn block(&self) -> PathBuf {
            self.folder.path().join("block")
        }

        fn notes(&self) -> PathBuf {
            self.folder.path().join("notes")
        }

        fn cache(&self, name: &str) -> String {
            CacheSwitch::of(&self.block().join(name)).unwrap().setting().unwrap()
        }

        /// A leftover note of a killed process: a note without a lock.
        fn left(&self, identity: Option<&str>, boot: &str) -> PathBuf {
            let switched = Switched::WriteCache {
                device: "sda".to_string(),
                identity: identity.map(str::to_string),
                before: "write back".to_string(),
                boot: boot.to_string(),
            };
            drop(Note::write_in(&self.notes(), "write-cache-sda", &switched).unwrap());
            self.notes().join("write-cache-sda")
        }

        fn mend(&self) -> String {
            mend_in(&self.notes(), &self.block(), |_| Ok(false)).join("; ")
        }
    }

    #[test]
    fn a_setting_is_put_back_after_a_kill_and_said() {
        let machine = Machine::new();
        for identity in [Some("naa.1"), None] {
            machine.disk("sda", "naa.1");
            let note = machine.left(identity, &boot_identity());
            assert_eq!(
                machine.mend(),
                "the write cache of sda is `write back` again, as before a halfpower that was killed"
            );
            assert_eq!(machine.cache("sda"), "write back");
            assert!(!note.exists());
            assert_eq!(machine.mend(), "");
        }
    }

    #[test]
    fn a_note_replaces_one_that_was_never_finished() {
        let machine = Machine::new();
        fs::create_dir_all(machine.notes()).unwrap();
        fs::write(machine.notes().join("write-cache-sda"), "write-cache\nsda\nnaa.1\nwri").unwrap();
        machine.left(Some("naa.1"), &boot_identity());
        assert!(machine.mend().contains("`write back` again"), "it can be read");
    }

    #[test]
    fn after_a_restart_the_device_is_known_by_its_number_and_not_by_its_name() {
        let machine = Machine::new();
        machine.disk("sda", "naa.2");
        machine.disk("sdb", "naa.1");
        let note = machine.left(Some("naa.1"), "an earlier start");
        assert!(machine.mend().contains("the write cache of sdb is `write back` again"));
        assert_eq!((machine.cache("sda").as_str(), machine.cache("sdb").as_str()), ("write through", "write back"));
        assert!(!note.exists());
        for identity in [Some("naa.7"), None] {
            let note = machine.left(identity, "an earlier start");
            assert!(machine.mend().contains("left the write cache of sda switched (it was `write back`)"));
            assert_eq!(machine.cache("sda").trim(), "write through", "it is another disk");
            fs::remove_file(note).unwrap();
        }
    }

    #[test]
    fn what_a_restart_has_put_back_is_not_said_and_what_cannot_be_told_says_how_it_ends() {
        let machine = Machine::new();
        let left = |device: &str| {
            let switched = Switched::WriteCache {
                device: device.to_string(),
                identity: None,
                before: "write back".to_string(),
                boot: "an earlier start".to_string(),
            };
            let name = format!("write-cache-{device}");
            drop(Note::write_in(&machine.notes(), &name, &switched).unwrap());
            machine.notes().join(name)
        };
        let virtio = left("vda");
        assert_eq!(machine.mend(), "", "its start has reset it");
        assert!(!virtio.exists());
        let other = left("sda");
        let said = machine.mend();
        assert!(said.ends_with(&format!("put it back by hand, and remove {}", other.display())), "{said}");
        assert!(other.exists());
    }

    #[test]
    fn each_path_of_one_disk_is_put_back_by_its_own_note() {
        let machine = Machine::new();
        machine.disk("sdb", "naa.1");
        let left = |device: &str, before: &str| {
            let switched = Switched::WriteCache {
                device: device.to_string(),
                identity: Some("naa.1".to_string()),
                before: before.to_string(),
                boot: boot_identity(),
            };
            drop(Note::write_in(&machine.notes(), &format!("write-cache-{device}"), &switched).unwrap());
        };
        left("sda", "write back");
        left("sdb", "write back");
        assert_eq!(machine.mend().matches("is `write back` again").count(), 2);
        assert_eq!((machine.cache("sda"), machine.cache("sdb")), ("write back".into(), "write back".into()));
        assert_eq!(fs::read_dir(machine.notes()).unwrap().count(), 0);
        // After a reboot the paths of a disk have other names, and any of them leads to it. Two disks may share a
        // serial number.
        left("sdx", "write around");
        assert!(machine.mend().contains("the write cache of sda is `write around` again"));
        machine.disk("sdc", "123456");
        machine.disk("sdd", "123456");
        machine.left(Some("123456"), "an earlier start");
        assert!(machine.mend().contains("no device 123456 is here now"));
    }

    #[test]
    fn a_note_whose_owner_lives_is_left_alone_and_one_that_is_not_whole_goes() {
        let machine = Machine::new();
        let switched = Switched::Tracing { instance: "halfpower-4194305-0".to_string() };
        let note = Note::write_in(&machine.notes(), "a", &switched).unwrap();
        assert_eq!(machine.mend(), "");
        let again = Note::write_in(&machine.notes(), "a", &switched);
        assert_eq!(again.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        note.done();
        fs::write(machine.notes().join("b"), "write-cache\nsda\n").unwrap();
        assert_eq!(machine.mend(), "");
        assert_eq!(fs::read_dir(machine.notes()).unwrap().count(), 0);
    }

    #[test]
    fn a_note_that_could_not_be_mended_is_not_written_over() {
        let machine = Machine::new();
        machine.left(Some("naa.7"), "an earlier start");
        let switched = Switched::Tracing { instance: "x".to_string() };
        let again = Note::write_in(&machine.notes(), "write-cache-sda", &switched);
        assert!(again.unwrap_err().to_string().contains("left it switched"));
    }
}
