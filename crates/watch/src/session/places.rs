//! Finds the file systems and disks that operations go to, and answers what the fold asks.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use halfpower_os::DeviceNumber;
use halfpower_os::mounts::{Mount, mount_of, parse};
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
    /// Of overlays, the device on which their files are written.
    written_on: BTreeMap<DeviceNumber, DeviceNumber>,
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
            written_on: BTreeMap::new(),
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
                self.of_file(pid, &file);
            }
        }
        let folder = process.join("cwd");
        if let (Ok(path), Ok(metadata)) = (fs::read_link(&folder), fs::metadata(&folder)) {
            let number = DeviceNumber::of(metadata.dev());
            let is_new = !self.of_device.contains_key(&number);
            if let Some(mount) = is_new.then(|| self.mount_at(pid, &path, number)).flatten() {
                self.of_mount(&mount, number);
            }
        }
    }

    /// The place of a file that a process has open; `None` if no mount holds it.
    pub(crate) fn of_file(&mut self, pid: u32, file: &OpenFile) -> Option<usize> {
        if let Some(known) = self.of_device.get(&file.device) {
            return Some(*known);
        }
        if file.is_block_device {
            let tops: Vec<Disk> = Disk::by_number(&self.root, file.device).into_iter().collect();
            let place = self.place(file.path.display().to_string(), String::new(), &tops);
            return Some(self.add(file.device, place));
        }
        let mount = self.mount_at(pid, &file.path, file.device)?;
        Some(self.of_mount(&mount, file.device))
    }

    /// The mount that holds a path of a process, on a device of this number. A process in a container names it as it is in there,
    /// and may have mounts that this one does not see. A subvolume of btrfs has a number that no mount shows: its path decides.
    fn mount_at(&mut self, pid: u32, path: &Path, number: DeviceNumber) -> Option<Mount> {
        let of_number = |mounts: &[Mount]| {
            let nearest = mount_of(mounts, path, Some(number)).filter(|mount| mount.number == number);
            nearest.or_else(|| mounts.iter().find(|mount| mount.number == number)).cloned()
        };
        if !self.mounts.iter().any(|mount| mount.number == number) {
            self.mounts = mounts(&self.root);
        }
        of_number(&self.mounts).or_else(|| {
            let its = parse(&fs::read(self.folder.join(format!("proc/{pid}/mountinfo"))).unwrap_or_default());
            let its = if its.is_empty() { &self.mounts } else { &its };
            of_number(its).or_else(|| mount_of(its, path, None).cloned())
        })
    }

    /// The mount of the upper folder of an overlay, where its files are written. It is named as whoever mounted it sees it.
    fn upper_of(&self, mount: &Mount) -> Option<Mount> {
        let upper = mount.options.split(',').find_map(|option| option.strip_prefix("upperdir="))?;
        let beneath = mount_of(&self.mounts, Path::new(upper), None).filter(|beneath| beneath.kind != "overlay");
        beneath.filter(|_| mount.kind == "overlay").cloned()
    }

    fn of_mount(&mut self, mount: &Mount, device: DeviceNumber) -> usize {
        if let Some(known) = self.of_device.get(&device) {
            return *known;
        }
        let upper = self.upper_of(mount);
        if let Some(upper) = &upper {
            self.written_on.insert(device, upper.number);
        }
        let tops = disks_of_mount(&self.root, upper.as_ref().unwrap_or(mount));
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
        let place = self.of_file(pid, &file);
        if let Some(watched) = &self.watched {
            let disks = &self.all.get(place?)?.disks;
            if !disks.iter().any(|disk| watched.contains(disk)) {
                return None;
            }
        }
        let link = self.folder.join(format!("proc/{pid}/fd/{fd}"));
        let metadata = fs::metadata(link).ok().filter(|_| !file.is_block_device);
        let born = metadata.as_ref().and_then(|metadata| metadata.created().ok()?.duration_since(UNIX_EPOCH).ok());
        let device = self.written_on.get(&file.device).copied().unwrap_or(file.device);
        Some(FileSeen {
            place,
            disks: self.bits(place),
            device: rustix::fs::makedev(device.major, device.minor),
            inode: file.inode,
            born_ns: born.map_or(0, |born| born.as_nanos() as u64),
            direct: file.direct,
            durable: file.durable,
            append: file.append,
            position: file.position,
            bytes: metadata.map(|metadata| metadata.len()),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The host: its root on vda, a disk for volumes, and an overlay that lies on that.
    const HOST: &str = "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
        30 22 8:16 / /mnt/data rw - ext4 /dev/sdb rw\n\
        40 22 0:155 / /run/merged rw - overlay overlay rw,lowerdir=/l,upperdir=/mnt/data/x/diff,workdir=/w\n";
    /// A container: a folder of the volumes, and a disk that the host has mounted nowhere.
    const CONTAINER: &str = "50 49 0:155 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/mnt/data/x/diff\n\
        51 50 8:16 /pg /var/lib/pg rw - ext4 /dev/sdb rw\n\
        52 50 8:32 / /scratch rw - xfs /dev/sdc rw\n";

    fn open(path: &str, major: u32, minor: u32) -> OpenFile {
        OpenFile {
            path: path.into(),
            direct: false,
            durable: false,
            append: false,
            position: 0,
            device: DeviceNumber { major, minor },
            inode: 7,
            is_block_device: false,
        }
    }

    #[test]
    fn what_a_container_names_is_found_on_its_own_disk() {
        let base = tempfile::tempdir().unwrap();
        let lay = |path: &str, text: &str| {
            let path = base.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        lay("proc/self/mountinfo", HOST);
        lay("proc/7/mountinfo", CONTAINER);
        fs::create_dir_all(base.path().join("sys/dev/block")).unwrap();
        for (number, name) in [("254:0", "vda"), ("8:16", "sdb"), ("8:32", "sdc")] {
            lay(&format!("sys/devices/{name}/dev"), number);
            let link = base.path().join(format!("sys/dev/block/{number}"));
            std::os::unix::fs::symlink(format!("../../devices/{name}"), link).unwrap();
        }
        let mut places = Places::new(base.path());
        let mut of = |path: &str, major: u32, minor: u32| {
            let place = places.of_file(7, &open(path, major, minor)).unwrap();
            let WatchedPlace { path, file_system, disks, .. } = places.all()[place].clone();
            (path, file_system, disks.join(" "))
        };
        let told = |path: &str, kind: &str, disk: &str| (path.to_string(), kind.to_string(), disk.to_string());
        assert_eq!(of("/var/lib/pg/base/1", 8, 16), told("/mnt/data", "ext4", "sdb"), "not the host's root");
        assert_eq!(of("/scratch/a", 8, 32), told("/scratch", "xfs", "sdc"));
        assert_eq!(of("/tmp/a", 0, 155), told("/run/merged", "overlay", "sdb"));
        assert_eq!(of("/srv/a", 254, 0), told("/", "ext4", "vda"));
        assert_eq!(places.written_on.get(&DeviceNumber { major: 0, minor: 155 }).map(|on| on.minor), Some(16));
    }
}
