//! Finds the file systems and disks that operations go to, and answers what the fold asks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use halfpower_os::DeviceNumber;
use halfpower_os::mounts::{Mount, mount_of};
use halfpower_os::tasks::{OpenFile, open_file, task};
use halfpower_probe::{Disk, Root, disks_of_mount, mounts};
use halfpower_record::WatchedPlace;

use super::subject::{Followed, Status};
use crate::fold::{FileSeen, Files, Who};

/// Stacks of volumes are followed down to this depth.
const DEEPEST: u32 = 8;

/// The places that were seen, with what is needed to find them.
#[derive(Debug)]
pub(crate) struct Places {
    folder: PathBuf,
    root: Root,
    mounts: Vec<Mount>,
    all: Vec<WatchedPlace>,
    /// The index of each device's place.
    of_device: BTreeMap<DeviceNumber, usize>,
    /// The disks that events name, as the fold counts them.
    named: Vec<String>,
    /// The only place on each disk that was asked for; found anew when there are more places.
    only: BTreeMap<usize, Option<usize>>,
    /// If everybody on some disks is watched: these disks.
    watched: Option<Vec<String>>,
}

impl Places {
    pub(crate) fn new(folder: &Path) -> Self {
        let root = Root::at(folder);
        let mounts = mounts(&root);
        Self {
            folder: folder.to_path_buf(),
            root,
            mounts,
            all: Vec::new(),
            of_device: BTreeMap::new(),
            named: Vec::new(),
            only: BTreeMap::new(),
            watched: None,
        }
    }

    /// Counts only what goes to these disks.
    pub(crate) fn watch_only(&mut self, disks: Vec<String>) {
        self.watched = Some(disks);
    }

    /// The disks that events name, as the fold counts them.
    pub(crate) fn name(&mut self, disks: &[String]) {
        self.named = disks.to_vec();
        self.only.clear();
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    pub(crate) fn all(&self) -> &[WatchedPlace] {
        &self.all
    }

    /// The disks beneath all places.
    pub(crate) fn disks(&self) -> Vec<String> {
        let mut disks: Vec<String> = self.watched.clone().unwrap_or_default();
        for disk in self.all.iter().flat_map(|place| &place.disks) {
            if !disks.contains(disk) {
                disks.push(disk.clone());
            }
        }
        disks
    }

    /// These disks and the volumes above them: file systems name what they stand on.
    pub(crate) fn devices(&self) -> Vec<String> {
        let mut devices = self.disks();
        for volume in self.all.iter().flat_map(|place| &place.volumes) {
            if !devices.contains(volume) {
                devices.push(volume.clone());
            }
        }
        devices
    }

    /// Names of the disks beneath a device, or beneath its volume.
    pub(crate) fn beneath(&self, name: &str) -> Vec<String> {
        Disk::by_name(&self.root, name).map_or_else(Vec::new, |disk| self.below(&[disk]))
    }

    /// The disks beneath volumes. A loop device is a disk here: its own requests are seen, and its file is somebody else's.
    fn below(&self, tops: &[Disk]) -> Vec<String> {
        let mut found = Vec::new();
        let mut open: Vec<(Disk, u32)> = tops.iter().rev().map(|top| (top.clone(), 0)).collect();
        while let Some((disk, depth)) = open.pop() {
            let parts = self.root.names(disk.sys.join("slaves"));
            if parts.is_empty() || depth >= DEEPEST {
                if !found.contains(&disk.name) {
                    found.push(disk.name);
                }
                continue;
            }
            let parts = parts.iter().rev().filter_map(|part| Disk::by_name(&self.root, part));
            open.extend(parts.map(|part| (part, depth + 1)));
        }
        found
    }

    /// Finds the places of what a process has open, and of the folder that it works in.
    pub(crate) fn look_at(&mut self, pid: u32) {
        let process = self.folder.join(format!("proc/{pid}"));
        let descriptors = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let numbers: Vec<u32> =
            descriptors.filter_map(|descriptor| descriptor.file_name().to_str()?.parse().ok()).collect();
        for fd in numbers {
            if let Some(file) = open_file(&self.folder, pid, fd) {
                self.of_file(&file);
            }
        }
        let folder = fs::read_link(process.join("cwd")).ok();
        if let Some(mount) = folder.and_then(|folder| mount_of(&self.mounts, &folder, None).cloned()) {
            self.of_mount(&mount, mount.number);
        }
    }

    /// The place of an open file; `None` if no mount holds it.
    pub(crate) fn of_file(&mut self, file: &OpenFile) -> Option<usize> {
        if let Some(known) = self.of_device.get(&file.device) {
            return Some(*known);
        }
        if file.is_block_device {
            let tops: Vec<Disk> = Disk::by_number(&self.root, file.device).into_iter().collect();
            let place = self.place(file.path.display().to_string(), String::new(), &tops);
            return Some(self.add(file.device, place));
        }
        if !self.mounts.iter().any(|mount| mount.number == file.device) {
            self.mounts = mounts(&self.root);
        }
        let mount = mount_of(&self.mounts, &file.path, Some(file.device)).cloned()?;
        Some(self.of_mount(&mount, file.device))
    }

    fn of_mount(&mut self, mount: &Mount, device: DeviceNumber) -> usize {
        if let Some(known) = self.of_device.get(&device) {
            return *known;
        }
        let tops = disks_of_mount(&self.root, mount);
        let place = self.place(mount.point.display().to_string(), mount.kind.clone(), &tops);
        self.add(device, place)
    }

    fn place(&self, path: String, file_system: String, tops: &[Disk]) -> WatchedPlace {
        let disks = self.below(tops);
        let volumes = tops.iter().map(|top| top.name.clone()).filter(|top| !disks.contains(top)).collect();
        WatchedPlace { path, file_system, disks, volumes }
    }

    /// Adds a place; a file system with several numbers (subvolumes) stays one.
    fn add(&mut self, device: DeviceNumber, place: WatchedPlace) -> usize {
        let known = self.all.iter().position(|known| *known == place);
        let index = known.unwrap_or_else(|| {
            self.all.push(place);
            self.all.len() - 1
        });
        self.of_device.insert(device, index);
        self.only.clear();
        index
    }

    /// The disks of a place, a bit for each index.
    fn bits(&self, place: Option<usize>) -> u64 {
        let disks = place.and_then(|place| self.all.get(place)).map(|place| &place.disks);
        let bit = |(at, name): (usize, &String)| {
            let is_beneath = at < 64 && disks.is_some_and(|disks| disks.contains(name));
            if is_beneath { 1_u64 << at } else { 0 }
        };
        self.named.iter().enumerate().map(bit).sum()
    }

    fn seen(&mut self, pid: u32, fd: u32) -> Option<FileSeen> {
        let file = open_file(&self.folder, pid, fd)?;
        let place = self.of_file(&file);
        if let Some(watched) = &self.watched {
            let disks = &self.all.get(place?)?.disks;
            if !disks.iter().any(|disk| watched.contains(disk)) {
                return None;
            }
        }
        let link = self.folder.join(format!("proc/{pid}/fd/{fd}"));
        let bytes = fs::metadata(link).ok().map(|metadata| metadata.len()).filter(|_| !file.is_block_device);
        Some(FileSeen {
            place,
            disks: self.bits(place),
            device: rustix::fs::makedev(file.device.major, file.device.minor),
            inode: file.inode,
            direct: file.direct,
            durable: file.durable,
            append: file.append,
            position: file.position,
            bytes,
        })
    }

    fn only_on(&mut self, disk: usize) -> Option<usize> {
        if let Some(known) = self.only.get(&disk) {
            return *known;
        }
        let name = self.named.get(disk).cloned();
        let is_on = |place: &WatchedPlace| name.as_ref().is_some_and(|name| place.disks.contains(name));
        let mut found = self.all.iter().enumerate().filter(|(_, place)| is_on(place)).map(|(at, _)| at);
        let first = found.next();
        let only = if found.next().is_some() { None } else { first };
        self.only.insert(disk, only);
        only
    }
}

/// Answers the fold from what is known of the subject and of places, and else from `/proc`.
pub(crate) struct Answers<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) followed: &'a mut Followed,
    pub(crate) places: &'a mut Places,
}

impl Files for Answers<'_> {
    fn process_of(&mut self, thread: u32) -> Option<u32> {
        self.followed.process_of(thread)
    }

    fn file(&mut self, process: u32, fd: u32) -> Option<FileSeen> {
        self.places.seen(process, fd)
    }

    fn name(&mut self, process: u32, fd: u32) -> Option<String> {
        let path = fs::read_link(self.folder.join(format!("proc/{process}/fd/{fd}"))).ok()?;
        Some(path.display().to_string())
    }

    fn place_on(&mut self, disk: usize) -> Option<usize> {
        self.places.only_on(disk)
    }

    fn who(&mut self, thread: u32) -> Option<Who> {
        let status = Status::of(self.folder, thread)?;
        if status.is_kernel() {
            return Some(Who { name: status.name, pid: 0, cgroup: String::new() });
        }
        let first = task(self.folder, status.pid, status.pid);
        let (name, cgroup) = first.map_or((status.name, String::new()), |first| (first.name, first.cgroup));
        Some(Who { name, pid: status.pid, cgroup })
    }
}
