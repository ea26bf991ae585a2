//! Switches tracepoints in a private instance of tracefs, invisible to other tracing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::format::{Kind, Layouts, WantedEvent};
use super::page::PageLayout;
use crate::OsError;
use crate::switched::{Note, Switched};

/// Usual mount points of tracefs, newer one first.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Prefix of our instances' names; the process ID and a serial number follow.
const PREFIX: &str = "halfpower-";

/// Names that are tried for an instance.
const TRIES: u32 = 16;
/// Most bytes read of a file's text.
const MOST_TEXT: usize = 1 << 16;

/// Where the kernel tells the PID namespace of this process, and what it calls that of the machine (`PROC_PID_INIT_INO` of
/// include/linux/proc_ns.h).
const NAMESPACE: &str = "/proc/self/ns/pid";
const OF_THE_MACHINE: &str = "pid:[4026531836]";

/// Serial numbers of the instances of this process.
static SERIAL: AtomicU32 = AtomicU32::new(0);

/// The tracing file system, mounted for everyone or, if it was not, privately.
#[derive(Debug)]
pub(crate) struct TraceFs {
    folder: PathBuf,
    /// Keeps a private mount alive, which is in no folder and ends with this value.
    _mount: Option<OwnedFd>,
}

fn refused(why: impl Into<String>) -> OsError {
    OsError::Tracing { why: why.into() }
}

/// What is said where the buffer of a processor cannot be read.
pub(crate) fn unreadable(cpu: u32, error: &io::Error) -> OsError {
    refused(format!("the buffer of processor {cpu} cannot be read ({error})"))
}

/// Memory of an instance's buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferSize {
    /// Of all processors together, unless the others forbid it.
    pub(crate) all_kib: usize,
    /// Least of each processor.
    pub(crate) least_kib: usize,
    /// Most of each processor.
    pub(crate) most_kib: usize,
}

/// Refuses where processes have other numbers than those by which events name them, as in most containers: what others do would
/// count as somebody's here who has such a number.
///
/// # Errors
/// [`OsError::Tracing`], which says what to do.
pub(crate) fn numbers_are_the_machines() -> Result<(), OsError> {
    if tells_the_machine(fs::read_link(NAMESPACE).ok().as_deref()) {
        return Ok(());
    }
    let why = "processes have numbers of their own in this container, and events name those of the machine: start it with \
               --pid=host (`hostPID: true` in Kubernetes)";
    Err(refused(why))
}

/// Whether a namespace is the machine's; where nothing tells, it is taken for that.
fn tells_the_machine(namespace: Option<&Path>) -> bool {
    namespace.is_none_or(|namespace| namespace == Path::new(OF_THE_MACHINE))
}

impl TraceFs {
    /// Finds tracefs, or mounts it where no other process sees it.
    ///
    /// # Errors
    /// [`OsError::Tracing`] if the kernel has no tracefs, or permission is missing.
    pub(crate) fn find() -> Result<Self, OsError> {
        if !rustix::process::geteuid().is_root() {
            return Err(refused("that takes root, so start halfpower as root"));
        }
        let there = PLACES.iter().map(PathBuf::from).find(|folder| folder.join("events").is_dir());
        let found = match there {
            Some(folder) => Self { folder, _mount: None },
            None => Self::mount().map_err(|error| {
                refused(format!("tracefs is not mounted and cannot be ({error}); it takes root and CONFIG_TRACING"))
            })?,
        };
        match found.folder.join("events/block/block_rq_issue").is_dir() {
            true => Ok(found),
            false => Err(refused("this kernel was built without them (CONFIG_BLK_DEV_IO_TRACE)")),
        }
    }

    fn mount() -> rustix::io::Result<Self> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
        Ok(Self { folder: format!("/proc/self/fd/{}", mount.as_raw_fd()).into(), _mount: Some(mount) })
    }

    /// The text of one of its files, read with one call, because some files return nothing to a second one.
    fn text(&self, path: impl AsRef<Path>) -> io::Result<String> {
        let mut bytes = vec![0; MOST_TEXT];
        let count = File::open(self.folder.join(path))?.read(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes[..count]).into_owned())
    }

    /// Removes the instance `name`; `false` if it does not exist.
    ///
    /// # Errors
    /// The error that the system reports, usually that the instance is in use.
    fn remove(&self, name: &str) -> io::Result<bool> {
        match fs::remove_dir(self.folder.join("instances").join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Makes an instance with a name of its own, and a note of it. In another PID namespace a process may have, or have had, the
    /// number of this one: what that left is removed, which the kernel refuses while it is in use.
    fn made(&self) -> io::Result<(PathBuf, Option<Note>)> {
        for _ in 0..TRIES {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{}-{serial}", std::process::id());
            let folder = self.folder.join("instances").join(&name);
            let note = Note::write(&format!("tracing-{name}"), &Switched::Tracing { instance: name.clone() }).ok();
            let made = fs::create_dir(&folder);
            let Err(error) = made else { return Ok((folder, note)) };
            if let Some(note) = note {
                note.done();
            }
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            let _ = self.remove(&name);
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Removes instances of processes that have ended.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(self.folder.join("instances")) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// Removes the instance `name` that a process left; `false` if it does not exist.
///
/// # Errors
/// If an instance may exist but cannot be removed.
pub(crate) fn remove_instance(name: &str) -> io::Result<bool> {
    if !name.starts_with(PREFIX) || name.contains('/') {
        return Ok(false);
    }
    TraceFs::find().map_err(io::Error::other)?.remove(name)
}

/// Our tracefs instance. It traces nothing before [`Instance::switch`].
#[derive(Debug)]
pub(crate) struct Instance {
    tracefs: TraceFs,
    folder: PathBuf,
    /// Kept open, so that switching takes one call and nobody can remove the instance while we use it.
    on: Option<File>,
    /// The folders of the events that were enabled.
    events: Vec<String>,
    /// Lets a later start find the instance after a kill; `None` if no note could be written.
    note: Option<Note>,
}

impl Instance {
    /// Creates an instance with buffers of this size, whose events can be switched on; also the layout of its pages.
    ///
    /// # Errors
    /// [`OsError::Tracing`] if an instance cannot be created or set up.
    pub(crate) fn ready(buffers: BufferSize) -> Result<(Self, PageLayout), OsError> {
        let tracefs = TraceFs::find()?;
        numbers_are_the_machines()?;
        let instance = Self::new(tracefs)?;
        let page = instance.tracefs.text("events/header_page").ok().and_then(|text| PageLayout::parse(&text));
        let page = page.ok_or_else(|| refused("header_page of tracefs is not understood"))?;
        // One clock for all processors, so that steps on different processors are ordered correctly.
        instance.set("trace_clock", "mono")?;
        instance.set("options/overwrite", "1")?;
        let share_kib = buffers.all_kib / instance.cpus().len().max(1);
        let size = |kib: usize| instance.set("buffer_size_kb", &kib.to_string());
        size(share_kib.clamp(buffers.least_kib, buffers.most_kib)).or_else(|_| size(buffers.least_kib))?;
        Ok((instance, page))
    }

    /// Creates an instance, after removing those of processes that have ended.
    ///
    /// # Errors
    /// [`OsError::Tracing`] if an instance cannot be created.
    fn new(tracefs: TraceFs) -> Result<Self, OsError> {
        tracefs.sweep();
        let (folder, note) =
            tracefs.made().map_err(|error| refused(format!("no instance of tracefs can be made ({error})")))?;
        let mut instance = Self { tracefs, folder, on: None, events: Vec::new(), note };
        instance.set("tracing_on", "0")?;
        let on = OpenOptions::new().write(true).open(instance.folder.join("tracing_on"));
        instance.on = Some(on.map_err(|error| refused(format!("tracing_on cannot be opened ({error})")))?);
        Ok(instance)
    }

    /// Writes a setting.
    ///
    /// # Errors
    /// [`OsError::Tracing`], which names the file.
    pub(crate) fn set(&self, path: &str, value: &str) -> Result<(), OsError> {
        let written = OpenOptions::new().write(true).open(self.folder.join(path));
        let written = written.and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(|error| refused(format!("{path} in tracefs cannot be set to {value} ({error})")))
    }

    /// Empties a list of the kernel's.
    ///
    /// # Errors
    /// The error that the system reports.
    pub(crate) fn empty(&self, path: &str) -> io::Result<()> {
        OpenOptions::new().write(true).truncate(true).open(self.folder.join(path)).map(drop)
    }

    /// Switches an event on that this kernel has in the usual form, so that `layouts` can read it; `false` if it has not.
    /// Only events that pass the filter are recorded.
    ///
    /// # Errors
    /// [`OsError::Tracing`] if it is there and cannot be switched on.
    pub(crate) fn enable<K: Kind>(
        &mut self,
        wanted: WantedEvent<K>,
        filter: Option<&str>,
        layouts: &mut Layouts<K>,
    ) -> Result<bool, OsError> {
        for name in wanted.names() {
            let event = format!("events/{}/{name}", wanted.group);
            let format = self.tracefs.text(format!("{event}/format")).unwrap_or_default();
            if !layouts.learn(wanted.kind, &format) {
                continue;
            }
            if let Some(filter) = filter {
                self.set(&format!("{event}/filter"), filter)?;
            }
            self.set(&format!("{event}/enable"), "1")?;
            self.events.push(event);
            return Ok(true);
        }
        Ok(false)
    }

    /// Switches tracing on or off.
    pub(crate) fn switch(&self, on: bool) -> io::Result<()> {
        self.on.as_ref().map_or(Ok(()), |mut file| file.write_all(if on { b"1" } else { b"0" }))
    }

    /// Takes the probes of all its events out of the kernel, or puts them back. Also while tracing is off, whoever comes
    /// by a probe pays for it: of system calls all processes of the machine.
    ///
    /// # Errors
    /// The error that the system reports.
    pub(crate) fn arm(&self, armed: bool) -> io::Result<()> {
        let word: &[u8] = if armed { b"1" } else { b"0" };
        self.events.iter().try_for_each(|event| {
            let mut file = OpenOptions::new().write(true).open(self.folder.join(event).join("enable"))?;
            file.write_all(word)
        })
    }

    /// Folder of the instance.
    #[cfg(test)]
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The processors that have a buffer.
    pub(crate) fn cpus(&self) -> Vec<u32> {
        let entries = fs::read_dir(self.folder.join("per_cpu")).into_iter().flatten().flatten();
        let number = |name: String| name.strip_prefix("cpu")?.parse().ok();
        let mut cpus: Vec<u32> = entries.filter_map(|entry| number(entry.file_name().into_string().ok()?)).collect();
        cpus.sort_unstable();
        cpus
    }

    /// Where the buffer of a processor is read.
    pub(crate) fn pipe(&self, cpu: u32) -> Pipe {
        Pipe { cpu, path: self.folder.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw")), kept: None }
    }

    /// A processor's counts of missing events: those lost, and older ones that were overwritten.
    pub(crate) fn missing(&self, cpu: u32) -> io::Result<(u64, u64)> {
        Ok(counts(&fs::read_to_string(self.folder.join(format!("per_cpu/cpu{cpu}/stats")))?))
    }
}

/// Where the buffer of a processor is read.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) cpu: u32,
    path: PathBuf,
    kept: Option<File>,
}

impl Pipe {
    /// Keeps the file open between readings, which saves time. The kernel removes the instance only after this value is gone.
    pub(crate) fn keep_open(&mut self) -> io::Result<()> {
        self.kept = Some(self.opened()?);
        Ok(())
    }

    fn opened(&self) -> io::Result<File> {
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&self.path)
    }

    /// Hands each page of the buffer to `take`, oldest first, and so empties the buffer; stops early if `take` says `false`.
    /// `page` has the size of a page.
    pub(crate) fn drain(&self, page: &mut [u8], mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        let opened;
        let mut pipe = match &self.kept {
            Some(kept) => kept,
            None => {
                opened = self.opened()?;
                &opened
            }
        };
        loop {
            match pipe.read(page) {
                Ok(0) => return Ok(()),
                Ok(bytes) => {
                    if !take(&page[..bytes]) {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Events lost and events overwritten, from a `stats` file.
fn counts(stats: &str) -> (u64, u64) {
    let count = |name: &str| -> u64 {
        stats.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0)
    };
    (count("dropped events:") + count("commit overrun:"), count("overrun:"))
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.switch(false);
        // The kernel removes an instance only if none of its files is open.
        self.on = None;
        let removed = fs::remove_dir(&self.folder);
        if let Some(note) = self.note.take()
            && (removed.is_ok() || !self.folder.exists())
        {
            note.done();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_container_are_not_the_machines() {
        let is_the_machines = |namespace: Option<&str>| tells_the_machine(namespace.map(Path::new));
        assert!(is_the_machines(Some("pid:[4026531836]")) && is_the_machines(None));
        assert!(!is_the_machines(Some("pid:[4026532201]")));
    }

    #[test]
    fn what_is_missing_is_counted_by_kind() {
        let stats = "entries: 15989\noverrun: 394049\ncommit overrun: 2\nbytes: 4\ndropped events: 40\n";
        assert_eq!(counts(stats), (42, 394_049));
        assert_eq!(counts(""), (0, 0));
    }

    #[test]
    fn leftovers_of_processes_that_are_gone_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let instances = folder.path().join("instances");
        let own = format!("halfpower-{}-0", std::process::id());
        // No process has the ID 2^22 + 1: the kernel's limit is 2^22.
        for name in ["halfpower-4194305-3", "halfpower-4194305", &own, "somebody", "halfpower-x"] {
            fs::create_dir_all(instances.join(name)).unwrap();
        }
        TraceFs { folder: folder.path().to_path_buf(), _mount: None }.sweep();
        let mut left: Vec<_> = fs::read_dir(&instances).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort_unstable();
        assert_eq!(left, [own.as_str(), "halfpower-x", "somebody"]);
    }
}
