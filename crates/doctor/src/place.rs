//! Gathers the facts that many checks need: the mount, the devices below it, the machine, the interface to a server.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use halfpower_os::mounts::{Mount, mount_of};
use halfpower_probe::{
    Disk, IN_MEMORY, Layout, Missing, ON_SERVERS, Root, Stack, TargetIdentity, Volume, disks_of_mount, link_to, mounts,
    pci_functions, probe_machine, server_address, transport, virtual_machine, ways,
};
use halfpower_record::Machine;

use crate::Outcome;
use crate::blocks_below::{Partition, name, partitions};
use crate::outcome::{Look, all, only_if};

/// Transports of disks that a hypervisor's host has.
pub(crate) const OF_HOSTS: [&str; 3] = ["virtio", "xen", "hyperv"];

/// The folder, file or device that checks look at, with what it stands on.
pub struct Place {
    pub(crate) root: Root,
    target: TargetIdentity,
    pub(crate) mounts: Vec<Mount>,
    /// The file system of the target; `None` for a device.
    pub(crate) mount: Option<Mount>,
    /// The devices directly below.
    pub(crate) tops: Vec<Disk>,
    /// All devices below.
    pub(crate) stack: Stack,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) machine: Machine,
    /// The hypervisor, if this is a virtual machine.
    pub(crate) guest: Option<String>,
    /// The interface to the server of the files.
    pub(crate) interface: Option<String>,
}

impl Place {
    /// Gathers the facts of a target below a root.
    pub fn of(root: &Root, target: &TargetIdentity) -> Self {
        let mounts = mounts(root);
        let mount = mount_of(&mounts, &target.path, Some(target.number)).filter(|_| !target.is_device).cloned();
        let tops = match &mount {
            Some(mount) => disks_of_mount(root, mount),
            None => Disk::by_number(root, target.number).into_iter().collect(),
        };
        let stack = Stack::below(root, &mounts, &tops);
        let partitions = partitions(root, target.number, mount.as_ref(), &stack);
        let server = mount.as_ref().filter(|mount| ON_SERVERS.contains(&mount.kind.as_str())).and_then(server_address);
        let interface = server.and_then(|address| link_to(root, address)).map(|link| link.interface);
        Self {
            machine: probe_machine(root),
            guest: virtual_machine(root),
            root: root.clone(),
            target: target.clone(),
            mounts,
            mount,
            tops,
            stack,
            partitions,
            interface,
        }
    }

    /// The target as a path.
    pub(crate) fn target_text(&self) -> String {
        self.target.path.display().to_string()
    }

    /// Block size of the file system; 0 if unknown.
    pub(crate) fn file_system_block(&self) -> u64 {
        self.target.block.0
    }

    /// What the place stands on, such as `ext4 on dm-0 (logical volume vg-data) on nvme0n1`.
    pub(crate) fn words(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if let Some(mount) = &self.mount {
            parts.push(mount.kind.clone());
            if ON_SERVERS.contains(&mount.kind.as_str()) {
                let by = self.interface.as_ref().map_or(String::new(), |name| format!(", reached by {name}"));
                return format!("{} of {}{by}", mount.kind, mount.source);
            }
        }
        parts.extend(self.stack.volumes.iter().map(|volume| format!("{} ({})", volume.disk.name, volume.what)));
        let disks: Vec<String> = self.stack.disks.iter().map(|disk| self.with_transport(disk)).collect();
        if !disks.is_empty() {
            parts.push(disks.join(", "));
        }
        match &parts[..] {
            [] => "a device that is not known here".to_string(),
            [kind] if self.mount.is_some() && IN_MEMORY.contains(&kind.as_str()) => format!("{kind}, in memory"),
            [kind] if self.mount.is_some() => format!("{kind}; the device beneath cannot be told"),
            parts => parts.join(" on "),
        }
    }

    fn with_transport(&self, disk: &Disk) -> String {
        let said = self.transport(disk).filter(|said| !disk.name.starts_with(said.as_str()));
        said.map_or(disk.name.clone(), |said| format!("{} ({said})", disk.name))
    }

    /// Kind of the file system.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.mount.as_ref().map(|mount| mount.kind.as_str())
    }

    /// The mount, if its file system is of one of these kinds.
    pub(crate) fn mounted_as(&self, kinds: &[&str]) -> Result<&Mount, Outcome> {
        self.mount.as_ref().filter(|mount| kinds.contains(&mount.kind.as_str())).ok_or(Outcome::NotApplicable)
    }

    /// The mount, unless it is in memory or on a server.
    pub(crate) fn mounted_on_disk(&self) -> Result<&Mount, Outcome> {
        let on_disk = |mount: &&Mount| !self.stack.disks.is_empty() || mount.kind == "zfs";
        self.mount.as_ref().filter(on_disk).ok_or(Outcome::NotApplicable)
    }

    /// Whether requests end in memory alone.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.kind().is_some_and(|kind| IN_MEMORY.contains(&kind))
    }

    /// Whether the files are on a server.
    pub(crate) fn is_on_server(&self) -> bool {
        self.kind().is_some_and(|kind| ON_SERVERS.contains(&kind))
    }

    /// One look a physical disk; disks that are memory are left out.
    pub(crate) fn each_disk(&self, look: impl Fn(&Self, &Disk) -> Look) -> Vec<Outcome> {
        all(self.real_disks().map(|disk| look(self, disk)))
    }

    /// The disks, without those that are memory.
    pub(crate) fn real_disks(&self) -> impl Iterator<Item = &Disk> {
        let is_memory = |disk: &Disk| matches!(self.transport(disk).as_deref(), Some("zram" | "ram" | "null"));
        self.stack.disks.iter().filter(move |disk| !is_memory(disk))
    }

    /// One look a volume of the stack.
    pub(crate) fn each_volume(&self, look: impl Fn(&Self, &Volume) -> Look) -> Vec<Outcome> {
        all(self.stack.volumes.iter().map(|volume| look(self, volume)))
    }

    /// How a disk is attached.
    pub(crate) fn transport(&self, disk: &Disk) -> Option<String> {
        transport(&self.root, disk)
    }

    /// Whether a disk is attached in one of these ways.
    pub(crate) fn is_by(&self, disk: &Disk, ways: &[&str]) -> bool {
        self.transport(disk).is_some_and(|transport| ways.contains(&transport.as_str()))
    }

    /// Whether a disk turns; `None` if nobody knows, as for a disk of a hypervisor.
    pub(crate) fn turns(&self, disk: &Disk) -> Option<bool> {
        if self.is_by(disk, &OF_HOSTS) {
            return None;
        }
        self.number::<u8>(queue(disk, "rotational")).map(|turns| turns == 1)
    }

    /// The folders of the PCI functions on the ways to a disk, each way from the processor outwards.
    pub(crate) fn functions(&self, disk: &Disk) -> Vec<Vec<PathBuf>> {
        ways(&self.root, disk).iter().map(|way| pci_functions(way)).collect()
    }

    /// The text of a file.
    ///
    /// # Errors
    /// Not applicable if there is no such file; unread if it cannot be read.
    pub(crate) fn fact(&self, path: impl AsRef<Path>) -> Result<String, Outcome> {
        let path = path.as_ref();
        self.root.read(path).map_err(|missing| missed(&missing, path, Outcome::NotApplicable))
    }

    /// The first word of a file, parsed.
    ///
    /// # Errors
    /// As of `fact`; a text of another form is unread.
    pub(crate) fn figure<T: FromStr>(&self, path: impl AsRef<Path>) -> Result<T, Outcome> {
        let path = path.as_ref();
        let text = self.fact(path)?;
        let word = text.split_whitespace().next().and_then(|word| word.parse().ok());
        word.ok_or_else(|| Outcome::untold(format!("/{} is not a number", path.display())))
    }

    /// How the file that is looked at lies on its disks.
    ///
    /// # Errors
    /// Not applicable to folders, devices and files that are on no disk, and if the file system does not tell; unread if
    /// the file may not be opened.
    pub(crate) fn layout(&self) -> Result<Layout, Outcome> {
        only_if(!self.target.is_device)?;
        self.mounted_on_disk()?;
        let path = &self.target.path;
        let shown = path.strip_prefix("/").unwrap_or(path);
        self.root.layout(path).map_err(|missing| missed(&missing, shown, Outcome::NotApplicable))
    }

    /// The text of a file, if it can be read.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        self.root.text(path)
    }

    /// The first word of a file as a number, if it can be read.
    pub(crate) fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.root.number(path)
    }

    /// The numbers of the processors that this process may use.
    pub(crate) fn allowed_processors(&self) -> Vec<usize> {
        let status = self.text("proc/self/status").unwrap_or_default();
        crate::parsed::list(crate::parsed::field(&status, "Cpus_allowed_list").unwrap_or_default())
    }

    /// The parts of a mapped device; `None` if the volume is none.
    ///
    /// # Errors
    /// Unread for other users than root.
    pub(crate) fn mapping(&self, disk: &Disk) -> Result<Vec<String>, Outcome> {
        self.mapped(disk, "table", |number| self.root.mapping_or_why(number))
    }

    /// The state of those parts.
    ///
    /// # Errors
    /// As of `mapping`.
    pub(crate) fn mapping_state(&self, disk: &Disk) -> Result<Vec<String>, Outcome> {
        self.mapped(disk, "state", |number| self.root.mapping_state(number))
    }

    fn mapped(
        &self,
        disk: &Disk,
        what: &str,
        ask: impl Fn(halfpower_probe::DeviceNumber) -> Result<Vec<String>, Missing>,
    ) -> Result<Vec<String>, Outcome> {
        let is_mapped = self.root.exists(disk.sys.join("dm"));
        let number = disk.number(&self.root).filter(|_| is_mapped).ok_or(Outcome::NotApplicable)?;
        let what = format!("{what} of the mapped device {}", disk.name);
        ask(number).map_err(|missing| match missing {
            Missing::RootOnly => Outcome::Unread { what, root_can: true },
            Missing::Absent => Outcome::untold(format!("{what}: there is no /dev/mapper/control")),
            Missing::Refused(error) => Outcome::untold(format!("{what}: {error}")),
        })
    }

    /// The name that the device mapper has for a device, or its kernel name.
    pub(crate) fn mapped_name(&self, disk: &Disk) -> String {
        self.text(disk.sys.join("dm/name")).unwrap_or_else(|| disk.name.clone())
    }

    /// Files in folders such as `cpu0`, `cpu1`, which the names of `folder` that begin with `prefix` and a digit give,
    /// by number.
    pub(crate) fn numbered(&self, folder: &str, prefix: &str) -> Vec<String> {
        let number = |name: &String| name.strip_prefix(prefix)?.parse::<u64>().ok();
        let mut names: Vec<(u64, String)> =
            self.root.names(folder).into_iter().filter_map(|name| Some((number(&name)?, name))).collect();
        names.sort();
        names.into_iter().map(|(_, name)| format!("{folder}/{name}")).collect()
    }
}

/// The outcome for a file that gave no text.
pub(crate) fn missed(missing: &Missing, path: &Path, absent: Outcome) -> Outcome {
    let path = path.display();
    match missing {
        Missing::Absent => absent,
        Missing::RootOnly => Outcome::Unread { what: format!("/{path}"), root_can: true },
        Missing::Refused(error) => Outcome::untold(format!("/{path}: {error}")),
    }
}

/// A file of a disk's queue, relative to the root, by the short way.
pub(crate) fn queue(disk: &Disk, file: &str) -> String {
    format!("{}/queue/{file}", short(disk))
}

/// A disk's folder, relative to the root, by the short way.
pub(crate) fn short(disk: &Disk) -> String {
    format!("sys/class/block/{}", disk.name)
}

/// The last part of a path, for a subject.
pub(crate) fn named(folder: &Path) -> String {
    name(folder).to_string()
}
