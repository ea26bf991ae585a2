//! Traces the requests to some disks through the block layer, io_uring and interrupts.
//!
//! `instance` switches tracepoints in a private tracefs instance, `page` reads the kernel's ring buffers, `events`
//! decodes their contents, and this file combines the three for a run.
//!
//! The kernel writes events into its own buffers. They are read after the traced time, so reading does not disturb it.
//! A full buffer loses its oldest events: of a long run the last part is kept, and [`Trace::whole_from_ns`] is the time
//! from which the trace is complete.

mod events;
mod instance;
mod page;

pub(crate) use instance::remove_instance;

pub use events::{RingEntry, Step, TraceEvent, What};
pub use page::events_of_page;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use events::{Decoder, WANTED_EVENTS};
use instance::{Instance, TraceFs};
use page::PageLayout;

use crate::device::partitions;
use crate::{DeviceNumber, OsError};

/// Memory of all buffers together, in KiB; an event takes about 70 bytes, and a request has about nine events.
const BUFFERS_KIB: usize = 64 << 10;
/// Least and most KiB of each processor's buffer.
const SHARE_KIB: (usize, usize) = (512, 16 << 10);
/// Stacks of volumes are followed down to this depth.
const DEEPEST: u32 = 8;

/// A recorded trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// All events in order of time.
    pub events: Vec<TraceEvent>,
    /// No event after this time was overwritten; 0 if none was.
    pub whole_from_ns: u64,
    /// Events that the kernel could not record.
    pub lost: u64,
    /// Events before `whole_from_ns` that later ones overwrote.
    pub overwritten: u64,
}

/// A prepared trace; dropping it switches tracing off and removes the instance.
#[derive(Debug)]
pub struct Tracer {
    instance: Instance,
    decoder: Decoder,
    page: PageLayout,
}

/// Checks whether requests can be traced here.
///
/// # Errors
/// [`OsError::Tracing`], which says why not.
pub fn available() -> Result<(), OsError> {
    TraceFs::find().map(drop)
}

/// The current threads of this process, including those that the kernel runs for it.
pub fn own_threads() -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

impl Tracer {
    /// Prepares to trace the disks under these block devices (kernel names): the devices themselves, or for volumes the
    /// devices beneath.
    ///
    /// # Errors
    /// [`OsError::Tracing`] if the tracepoints or the devices are not available.
    pub fn new<'a>(devices: impl IntoIterator<Item = &'a str>) -> Result<Self, OsError> {
        let disks = disks_under(Path::new("/sys/block"), devices);
        if disks.is_empty() {
            return Err(OsError::Tracing { why: "no block device is known under the target".to_string() });
        }
        let instance = Instance::new(TraceFs::find()?)?;
        let page = instance.tracefs.text("events/header_page").ok().and_then(|text| PageLayout::parse(&text));
        let page = page.ok_or_else(|| OsError::Tracing { why: "header_page of tracefs is not understood".into() })?;
        let mut tracer = Self { instance, decoder: Decoder::new(&disks), page };
        tracer.set_up(&disks)?;
        Ok(tracer)
    }

    fn set_up(&mut self, disks: &[Vec<u64>]) -> Result<(), OsError> {
        let instance = &self.instance;
        // One clock for all processors, so that steps on different processors are ordered correctly.
        instance.set("trace_clock", "mono")?;
        instance.set("options/overwrite", "1")?;
        let share = (BUFFERS_KIB / instance.cpus().len().max(1)).clamp(SHARE_KIB.0, SHARE_KIB.1);
        let size = |kib: usize| instance.set("buffer_size_kb", &kib.to_string());
        size(share).or_else(|_| size(SHARE_KIB.0))?;
        let numbers = disks.iter().flatten();
        let filter: Vec<String> = numbers.map(|number| format!("dev == {number}")).collect();
        for wanted in &WANTED_EVENTS {
            let event = format!("events/{}/{}", wanted.group, wanted.name);
            let format = self.instance.tracefs.text(format!("{event}/format")).unwrap_or_default();
            if !self.decoder.learn(wanted, &format) {
                if wanted.needed {
                    return Err(OsError::Tracing {
                        why: format!("this kernel has no {} of the usual form", wanted.name),
                    });
                }
                continue;
            }
            if wanted.group == "block" {
                self.instance.set(&format!("{event}/filter"), &filter.join(" || "))?;
            }
            self.instance.set(&format!("{event}/enable"), "1")?;
        }
        Ok(())
    }

    /// Starts tracing.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn start(&self) -> io::Result<()> {
        self.instance.switch(true)
    }

    /// Stops tracing; the events so far can then be read.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn stop(&self) -> io::Result<()> {
        self.instance.switch(false)
    }

    /// Reads and removes the traced events.
    ///
    /// # Errors
    /// [`OsError::Tracing`] if a buffer cannot be read.
    pub fn read(&self) -> Result<Trace, OsError> {
        let mut trace = Trace::default();
        for cpu in self.instance.cpus() {
            self.read_one(cpu, &mut trace).map_err(|error| OsError::Tracing {
                why: format!("the buffer of processor {cpu} cannot be read ({error})"),
            })?;
        }
        trace.events.sort_by_key(|event| event.at_ns);
        Ok(trace)
    }

    fn read_one(&self, cpu: u32, trace: &mut Trace) -> io::Result<()> {
        let (lost, overwritten) = self.instance.missing(cpu)?;
        let mut first_ns = None;
        let Self { instance, decoder, page } = self;
        instance.drain(cpu, page.bytes, |bytes| {
            first_ns = first_ns.or_else(|| page.first_ns(bytes));
            page.read(bytes, cpu, decoder, &mut trace.events);
        })?;
        if overwritten > 0 {
            trace.whole_from_ns = trace.whole_from_ns.max(first_ns.unwrap_or(0));
        }
        trace.lost += lost;
        trace.overwritten += overwritten;
        Ok(())
    }
}

/// For each disk under the devices, the numbers by which events may name it: its own and its partitions'.
fn disks_under<'a>(blocks: &Path, devices: impl IntoIterator<Item = &'a str>) -> Vec<Vec<u64>> {
    let mut folders = Vec::new();
    for device in devices {
        descend(blocks, device, 0, &mut folders);
    }
    let numbers = |folder: PathBuf| -> Vec<u64> {
        let own = DeviceNumber::in_folder(&folder).into_iter();
        own.chain(partitions(&folder)).map(DeviceNumber::in_events).collect()
    };
    folders.into_iter().map(numbers).filter(|numbers| !numbers.is_empty()).collect()
}

/// Adds the folders of the devices beneath a device, or its own folder if there are none.
fn descend(blocks: &Path, device: &str, depth: u32, folders: &mut Vec<PathBuf>) {
    let name = whole(blocks, device);
    let folder = blocks.join(&name);
    let slaves: Vec<String> = fs::read_dir(folder.join("slaves"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    if slaves.is_empty() || depth >= DEEPEST {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
        return;
    }
    for slave in slaves {
        descend(blocks, &slave, depth + 1, folders);
    }
}

/// The whole device of a partition; a whole device stays itself.
fn whole(blocks: &Path, device: &str) -> String {
    let device = device.replace('/', "!");
    if blocks.join(&device).exists() {
        return device;
    }
    let entries = fs::read_dir(blocks).into_iter().flatten().flatten();
    let parent = entries.map(|entry| entry.path()).find(|folder| folder.join(&device).join("partition").exists());
    parent.and_then(|folder| folder.file_name()?.to_str().map(str::to_string)).unwrap_or(device)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

    use super::*;
    use crate::trace::{Step, What};

    fn lay_out(blocks: &Path, device: &str, number: &str, partitions: &[(&str, &str)], slaves: &[&str]) {
        let folder = blocks.join(device);
        fs::create_dir_all(folder.join("slaves")).unwrap();
        fs::write(folder.join("dev"), number).unwrap();
        for (name, number) in partitions {
            fs::create_dir(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("dev"), number).unwrap();
            fs::write(folder.join(name).join("partition"), "1\n").unwrap();
        }
        for slave in slaves {
            fs::create_dir(folder.join("slaves").join(slave)).unwrap();
        }
    }

    #[test]
    fn disks_are_found_under_volumes_with_their_partitions() {
        let blocks = tempfile::tempdir().unwrap();
        let blocks = blocks.path();
        lay_out(blocks, "sda", "8:0\n", &[("sda1", "8:1\n")], &[]);
        lay_out(blocks, "sdb", "8:16\n", &[], &[]);
        lay_out(blocks, "md0", "9:0\n", &[], &["sda1", "sdb"]);
        lay_out(blocks, "dm-0", "252:0\n", &[], &["md0"]);
        let a = vec![8 << 20, (8 << 20) | 1];
        let b = vec![(8 << 20) | 16];
        let mut under = disks_under(blocks, ["dm-0"]);
        under.sort_unstable();
        assert_eq!(under, [a.clone(), b.clone()]);
        assert_eq!(disks_under(blocks, ["sda1", "sda"]), [a]);
        assert_eq!(disks_under(blocks, ["nowhere"]), Vec::<Vec<u64>>::new());
    }

    /// The kernel name of the disk that holds `file`; `None` if the file system has no single device.
    fn disk_of(file: &File) -> Option<String> {
        let device = DeviceNumber::of(file.metadata().unwrap().dev());
        let folder = fs::canonicalize(device.sysfs()).ok()?;
        Some(folder.file_name()?.to_str()?.to_string())
    }

    #[test]
    fn direct_reads_are_seen_from_the_queue_to_the_end() {
        if let Err(why) = available() {
            return crate::skip(&why.to_string());
        }
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("data");
        fs::write(&path, vec![7; 1 << 20]).unwrap();
        let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path);
        let Some((file, disk)) = file.ok().and_then(|file| disk_of(&file).map(|disk| (file, disk))) else {
            return crate::skip("the sources are not on a disk with direct I/O");
        };
        file.sync_all().unwrap();
        let tracer = Tracer::new([disk.as_str()]).unwrap();
        let buffers = crate::Buffers::new(1, 4096, 1).unwrap();
        tracer.start().unwrap();
        read_direct(&file, buffers);
        tracer.stop().unwrap();
        // Checks only this thread: other tests of the process may still be reading when the trace ends.
        let this = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        assert!(own_threads().contains(&this));
        let trace = tracer.read().unwrap();
        assert_eq!((trace.lost, trace.whole_from_ns), (0, 0));
        assert!(trace.events.is_sorted_by_key(|event| event.at_ns));
        let mut taken: Vec<(Step, u64)> = Vec::new();
        let mut queued = Vec::new();
        for event in &trace.events {
            if let What::Block { step, disk: 0, sectors } = &event.what {
                taken.push((*step, sectors.start));
                if *step == Step::Queued && event.thread == this && sectors.end - sectors.start == 8 {
                    queued.push(sectors.start);
                }
            }
        }
        assert!(queued.len() >= READS as usize, "{queued:?}");
        for step in [Step::Issued, Step::Completed] {
            assert!(queued.iter().all(|sector| taken.contains(&(step, *sector))), "{step:?}");
        }
        let folder = tracer.instance.folder().to_path_buf();
        assert!(folder.is_dir());
        drop(tracer);
        assert!(!folder.exists());
    }

    const READS: u64 = 10;

    fn read_direct(file: &File, mut buffers: crate::Buffers) {
        for block in 0..READS {
            assert_eq!(file.read_at(buffers.slot_mut(0), block * 8192).unwrap(), 4096);
        }
    }
}
