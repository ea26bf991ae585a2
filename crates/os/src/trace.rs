//! Traces the requests to some disks through the block layer, io_uring and interrupts.
//!
//! `instance` switches tracepoints in a private tracefs instance, `page` reads the kernel's ring buffers, `format` learns
//! where an event's fields lie. For a run, `events` decodes what this file's [`Tracer`] records; to watch others, `happening`
//! decodes what the [`Watcher`] records.
//!
//! The kernel writes events into its own buffers. The tracer reads them after the traced time, so reading does not disturb
//! it. A full buffer loses its oldest events: of a long run the last part is kept, and [`Trace::whole_from_ns`] is the time
//! from which the trace is complete.

mod block;
mod call;
mod disks;
mod event_cost;
mod events;
mod format;
mod happening;
mod instance;
mod page;
mod watcher;

pub(crate) use instance::remove_instance;

pub use block::Step;
pub use call::{Call, Moves};
pub use event_cost::EventCost;
pub use events::{RingEntry, TraceEvent, What, events_of_page};
pub use happening::{CommitStep, Happening, Rwbs, Seen, seen_in_page};
pub use watcher::{MissingEvent, WatchedEvents, Watcher};

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use disks::{DisksUnder, filter_of};
use events::{Decoder, wanted_events};
use instance::{BufferSize, Instance, TraceFs, numbers_are_the_machines, unreadable};
use page::PageLayout;

use crate::OsError;
use crate::processes::ids_in;

/// An event takes about 70 bytes, and a request has about nine events.
const BUFFERS: BufferSize = BufferSize { all_kib: 64 << 10, least_kib: 512, most_kib: 16 << 10 };

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
    TraceFs::find()?;
    numbers_are_the_machines()
}

/// The current threads of this process, including those that the kernel runs for it.
pub fn own_threads() -> BTreeSet<u32> {
    ids_in(Path::new("/proc/self/task")).collect()
}

impl Tracer {
    /// Prepares to trace the disks under these block devices (kernel names): the devices themselves, or for volumes the
    /// devices beneath.
    ///
    /// # Errors
    /// [`OsError::Tracing`] if the tracepoints or the devices are not available.
    pub fn new<'a>(devices: impl IntoIterator<Item = &'a str>) -> Result<Self, OsError> {
        let disks = DisksUnder::here(devices);
        if disks.names.is_empty() {
            return Err(OsError::Tracing { why: "no block device is known under the target".to_string() });
        }
        let (mut instance, page) = Instance::ready(BUFFERS)?;
        let mut decoder = Decoder::new(&disks.numbers);
        let of_disks = filter_of(disks.numbers.iter().flatten());
        for wanted in wanted_events() {
            let filter = Some(of_disks.as_str()).filter(|_| wanted.group == "block");
            if !instance.enable(wanted, filter, &mut decoder.layouts)? && wanted.needed {
                return Err(OsError::Tracing { why: format!("this kernel has no {} of the usual form", wanted.name) });
            }
        }
        Ok(Self { instance, decoder, page })
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
            self.read_one(cpu, &mut trace).map_err(|error| unreadable(cpu, &error))?;
        }
        trace.events.sort_by_key(|event| event.at_ns);
        Ok(trace)
    }

    fn read_one(&self, cpu: u32, trace: &mut Trace) -> io::Result<()> {
        let (lost, overwritten) = self.instance.missing(cpu)?;
        let mut first_ns = None;
        let Self { instance, decoder, page } = self;
        instance.pipe(cpu).drain(&mut vec![0u8; page.bytes], |bytes| {
            first_ns = first_ns.or_else(|| page.first_ns(bytes));
            page.read(bytes, |at_ns, payload| trace.events.extend(decoder.decode(at_ns, cpu, payload)));
            true
        })?;
        if overwritten > 0 {
            trace.whole_from_ns = trace.whole_from_ns.max(first_ns.unwrap_or(0));
        }
        trace.lost += lost;
        trace.overwritten += overwritten;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

    use super::*;
    use crate::DeviceNumber;

    /// The kernel name of the disk that holds `file`; `None` if the file system has no single device.
    fn disk_of(file: &File) -> Option<String> {
        let device = DeviceNumber::of(file.metadata().unwrap().dev());
        let folder = fs::canonicalize(device.sysfs()).ok()?;
        Some(folder.file_name()?.to_str()?.to_string())
    }

    /// A file that was opened for direct reading, in a folder that goes with it, and the disk on which it lies; `None`, with
    /// a printed reason, if it cannot be traced.
    pub(super) fn traceable_file() -> Option<(tempfile::TempDir, File, String)> {
        if let Err(why) = available() {
            crate::skip(&why.to_string());
            return None;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("data");
        fs::write(&path, vec![7; 1 << 20]).unwrap();
        let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path);
        let Some((file, disk)) = file.ok().and_then(|file| disk_of(&file).map(|disk| (file, disk))) else {
            crate::skip("the sources are not on a disk with direct I/O");
            return None;
        };
        file.sync_all().unwrap();
        Some((folder, file, disk))
    }

    #[test]
    fn direct_reads_are_seen_from_the_queue_to_the_end() {
        let Some((_folder, file, disk)) = traceable_file() else { return };
        // What others do on the disk may fill the buffers before they are read.
        let traced = |_: u32| {
            let tracer = Tracer::new([disk.as_str()]).unwrap();
            let buffers = crate::Buffers::new(1, 4096, 1).unwrap();
            tracer.start().unwrap();
            read_direct(&file, buffers);
            tracer.stop().unwrap();
            let trace = tracer.read().unwrap();
            ((trace.lost, trace.whole_from_ns) == (0, 0)).then_some((tracer, trace))
        };
        let (tracer, trace) = (0..50).find_map(traced).expect("one of 50 traces is whole");
        // Checks only this thread: other tests of the process may still be reading when the trace ends.
        let this = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        assert!(own_threads().contains(&this));
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
