//! Finds the processes, the control group or the disk that the user names.

use std::path::{Component, Path};

use anyhow::{Result, bail};
use halfpower_os::mounts::mount_of;
use halfpower_probe::{Disk, Root, TargetIdentity, disks_of_mount, mounts};
use halfpower_watch::Asked;

use super::groups;
use super::offered::offered;
use crate::watch_args::SubjectArgs;

/// The kernel's flag for its own threads (PF_KTHREAD).
const OF_KERNEL: u64 = 0x0020_0000;
/// Most bytes of a program's name that the kernel keeps.
const KEPT_OF_A_NAME: usize = 15;

/// Whom to watch.
///
/// # Errors
/// A sentence that says who is not there, and who is.
pub(super) fn asked(subject: &SubjectArgs, root: &Root) -> Result<Asked> {
    match subject {
        SubjectArgs { program: Some(program), .. } => of_program(root, program),
        SubjectArgs { cgroup: Some(group), .. } => {
            let found = groups::find(root, group)?;
            Ok(Asked::Group { asked: format!("cgroup {}", found.path), folder: found.folder })
        }
        SubjectArgs { device: Some(device), .. } => of_device(root, device),
        SubjectArgs { mount: Some(folder), .. } => of_folder(root, folder),
        SubjectArgs { pid, .. } => of_processes(root, pid),
    }
}

/// A process, as `/proc` tells of it.
struct Process {
    /// What the kernel calls it.
    name: String,
    /// The first word of its command line, without folders.
    program: String,
    /// The process that this is a thread of; itself if it is none.
    leader: u32,
    is_of_kernel: bool,
    has_ended: bool,
}

impl Process {
    fn of(root: &Root, id: u32) -> Option<Self> {
        let stat = root.text(format!("proc/{id}/stat"))?;
        // The name stands in parentheses, and may hold some.
        let (front, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let flags: u64 = fields.nth(5)?.parse().ok()?;
        let status = root.text(format!("proc/{id}/status")).unwrap_or_default();
        let leader = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
        let words = root.text(format!("proc/{id}/cmdline")).unwrap_or_default();
        let first = words.split(['\0', ' ']).next().unwrap_or_default();
        Some(Self {
            name: front.split_once('(')?.1.to_string(),
            program: first.rsplit('/').next().unwrap_or_default().to_string(),
            leader: leader.unwrap_or(id),
            is_of_kernel: flags & OF_KERNEL != 0,
            has_ended: matches!(state, "Z" | "X"),
        })
    }

    fn is_called(&self, program: &str) -> bool {
        let kept = program.get(..KEPT_OF_A_NAME).unwrap_or(program);
        self.program == program || (self.name == kept && !self.is_of_kernel)
    }
}

fn of_processes(root: &Root, ids: &[u32]) -> Result<Asked> {
    let mut pids: Vec<u32> = Vec::new();
    for id in ids {
        let Some(process) = Process::of(root, *id) else {
            bail!(
                "there is no process {id}: it may have ended, or belong to another container; `ps -e` lists those that run"
            );
        };
        if process.is_of_kernel {
            bail!(
                "process {id} is {}, a thread of the kernel, which works for others: watch the disk that it works on, \
                 --device or --mount",
                process.name
            );
        }
        if process.leader != *id {
            bail!("{id} is a thread of process {0}: watch that, --pid {0}", process.leader);
        }
        if process.has_ended {
            bail!("process {id} ({}) has ended, and its parent has not noticed yet; name one that runs", process.name);
        }
        if *id == std::process::id() {
            bail!("process {id} is this watch itself; name another");
        }
        if !pids.contains(id) {
            pids.push(*id);
        }
    }
    let named: Vec<String> = pids.iter().map(u32::to_string).collect();
    Ok(Asked::Processes { asked: format!("pid {}", named.join(", ")), pids, with_children: true })
}

/// All processes that run this program.
fn of_program(root: &Root, asked: &str) -> Result<Asked> {
    let program = asked.rsplit('/').next().unwrap_or(asked);
    if program.is_empty() {
        bail!("--name '{asked}': name a program, such as postgres");
    }
    let ids = root.names("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let others = ids.filter(|id| *id != std::process::id());
    let all: Vec<(u32, Process)> =
        others.filter_map(|id| Some((id, Process::of(root, id)?))).filter(|(_, process)| !process.has_ended).collect();
    let pids: Vec<u32> = all.iter().filter(|(_, process)| process.is_called(program)).map(|(id, _)| *id).collect();
    if !pids.is_empty() {
        return Ok(Asked::Processes { asked: format!("name {program}"), pids, with_children: true });
    }
    if all.iter().any(|(_, process)| process.is_of_kernel && process.name == program) {
        bail!(
            "{program} is a thread of the kernel, which works for others: watch the disk that it works on, --device or --mount"
        );
    }
    let names = all.iter().filter(|(_, process)| !process.is_of_kernel).map(|(_, process)| process.name.clone());
    bail!("no process runs {program}; {}", offered(program, names.collect(), "`ps -e` lists those that run"))
}

/// Everybody on a disk, named by its path or its kernel name.
fn of_device(root: &Root, device: &Path) -> Result<Asked> {
    let is_name = matches!(device.components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
    let by_name = if is_name { device.to_str().and_then(|name| Disk::by_name(root, name)) } else { None };
    let disk = match by_name {
        Some(disk) => Some(disk),
        None if device.exists() => {
            let identity = TargetIdentity::of(device)?;
            if !identity.is_device {
                bail!("{} is no block device; --mount {0} watches the disk beneath it", device.display());
            }
            Disk::by_number(root, identity.number)
        }
        None => None,
    };
    match disk {
        Some(disk) => Ok(Asked::Disk { asked: format!("device {}", disk.name), device: disk.name }),
        None => {
            let has_size =
                |name: &String| root.number(format!("sys/block/{name}/size")).is_some_and(|size: u64| size > 0);
            let there: Vec<String> = root.names("sys/block").into_iter().filter(has_size).collect();
            bail!("{}: there is no such block device; there are {}", device.display(), there.join(", "))
        }
    }
}

/// Everybody on the disk beneath a folder.
fn of_folder(root: &Root, folder: &Path) -> Result<Asked> {
    if !folder.exists() {
        bail!("{}: name a folder that is there", folder.display());
    }
    let identity = TargetIdentity::of(folder)?;
    if identity.is_device {
        return of_device(root, folder);
    }
    let mounts = mounts(root);
    let Some(mount) = mount_of(&mounts, &identity.path, Some(identity.number)) else {
        bail!("{}: where it is mounted is not known; watch the disk, --device", folder.display());
    };
    let point = mount.point.display();
    match disks_of_mount(root, mount).as_slice() {
        [disk] => Ok(Asked::Disk { asked: format!("mount {point}"), device: disk.name.clone() }),
        [] => bail!(
            "{} is on {} ({point}), beneath which no disk is known; watch a process instead, --pid or --name",
            folder.display(),
            mount.kind
        ),
        several => {
            let names: Vec<&str> = several.iter().map(|disk| disk.name.as_str()).collect();
            bail!("{} is on several disks: name one of them, --device {}", folder.display(), names.join(" or "))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A tree with these processes: ID, name, process that it belongs to, state, flags, command line.
    fn tree(processes: &[(u32, &str, u32, &str, u64, &str)]) -> (tempfile::TempDir, Root) {
        let base = tempfile::tempdir().unwrap();
        for (id, name, leader, state, flags, line) in processes {
            let folder = base.path().join(format!("proc/{id}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stat"), format!("{id} ({name}) {state} 1 1 1 0 -1 {flags} 0 0")).unwrap();
            fs::write(folder.join("status"), format!("Name:\t{name}\nTgid:\t{leader}\n")).unwrap();
            fs::write(folder.join("cmdline"), line.replace(' ', "\0")).unwrap();
        }
        let root = Root::at(base.path());
        (base, root)
    }

    fn some() -> (tempfile::TempDir, Root) {
        tree(&[
            (2, "kthreadd", 2, "S", OF_KERNEL, ""),
            (40, "postgres", 40, "S", 0, "/usr/lib/postgresql/postgres -D /srv/pg"),
            (41, "postgres", 41, "S", 0, "postgres: checkpointer"),
            (42, "postgres", 42, "Z", 0, ""),
            (50, "odd) name", 50, "R", 0, "/opt/odd"),
            (51, "odd) name", 50, "R", 0, "/opt/odd"),
            (60, "a-very-long-pro", 60, "S", 0, "/opt/a-very-long-program --x"),
        ])
    }

    fn pids(asked: Asked) -> Vec<u32> {
        match asked {
            Asked::Processes { pids, with_children: true, .. } => pids,
            _ => panic!("processes with their children"),
        }
    }

    #[test]
    fn all_processes_of_a_program_are_watched() {
        let (_base, root) = some();
        assert_eq!(pids(of_program(&root, "postgres").unwrap()), [40, 41]);
        assert_eq!(pids(of_program(&root, "/opt/odd").unwrap()), [50, 51]);
        assert_eq!(pids(of_program(&root, "a-very-long-program").unwrap()), [60]);
        for (name, why) in
            [("postgers", "there are postgres"), ("kthreadd", "a thread of the kernel"), ("nobody", "`ps -e`")]
        {
            let said = of_program(&root, name).unwrap_err().to_string();
            assert!(said.contains(why), "{name}: {said}");
        }
    }

    #[test]
    fn a_process_that_cannot_be_watched_is_refused_for_its_reason() {
        let (_base, root) = some();
        assert_eq!(pids(of_processes(&root, &[40, 50, 40]).unwrap()), [40, 50]);
        for (id, why) in [
            (4711, "there is no process 4711"),
            (2, "kthreadd, a thread of the kernel"),
            (51, "a thread of process 50: watch that, --pid 50"),
            (42, "has ended"),
        ] {
            let said = of_processes(&root, &[40, id]).unwrap_err().to_string();
            assert!(said.contains(why), "{id}: {said}");
        }
    }

    #[test]
    fn a_disk_that_is_not_there_is_refused_with_those_that_are() {
        let (base, root) = tree(&[]);
        for (name, size) in [("sda", "100"), ("loop0", "0")] {
            fs::create_dir_all(base.path().join(format!("sys/block/{name}"))).unwrap();
            fs::write(base.path().join(format!("sys/block/{name}/size")), size).unwrap();
        }
        for device in ["/nowhere/sdx", "nowhere-sdx"] {
            let said = of_device(&root, Path::new(device)).unwrap_err().to_string();
            assert!(said.contains("no such block device; there are sda") && !said.contains("loop0"), "{said}");
        }
        assert!(of_device(&root, base.path()).unwrap_err().to_string().contains("--mount"));
        assert!(of_folder(&root, Path::new("/nowhere/at/all")).is_err());
    }
}
