//! Makes the files of one run: for writes to blocks that are not laid out yet, and for threads with files of their own.
//!
//! The files have no name, lie in the target's folder, and are removed with the run.

use std::sync::atomic::AtomicBool;

use halfpower_engine::{EngineSettings, Volume};
use halfpower_os::{DataFile, Kind, Mode, OsError, RunFile};
use halfpower_spec::{Bytes, Direction, Layout, PageCache, Pattern, Run, Workload, WorkloadOptions};

use super::layout;
use super::member::Member;
use crate::MeasureError;

/// Size of the file as a multiple of what the window writes at the layout's rate, so that the window ends by time and
/// not for lack of bytes.
const ROOM: f64 = 2.0;
/// The same for buffered writes, whose closing flush is part of the run.
const ROOM_BUFFERED: f64 = 1.0;

/// Most bytes of a file that is one thread's own and written before the run: laying out all of them takes time.
const OWN_BYTES: u64 = 4 << 20;

/// A file for one run.
pub(super) struct ScratchFile {
    data: DataFile,
    layout: Layout,
    /// Bytes that it may grow to.
    pub bytes: u64,
}

impl ScratchFile {
    /// Makes the files that `run` needs: one, or with `--own-files` one for each thread; none if it uses the member's laid
    /// out file.
    ///
    /// # Errors
    /// If there is no room, or the file system does not support the layout.
    pub fn of(run: &Run, member: &Member, seed: u64, stop: &AtomicBool) -> Result<Vec<Self>, MeasureError> {
        let Workload { bs, threads, options, .. } = run.workload;
        if options.layout == Layout::Written && !options.own_files {
            return Ok(Vec::new());
        }
        let free = halfpower_os::data_file::free_bytes(&member.scratch)?;
        let bytes = bytes(run, member.span_bytes, member.layout_rate, free).map_err(|least| {
            let what = format!(
                "a quarter of its {} that are free has no room for a second file of {}: free some, or name another \
                 folder",
                Bytes(free),
                Bytes(least)
            );
            MeasureError::Target { path: member.scratch.clone(), what }
        })?;
        if !options.own_files {
            return Ok(vec![Self::made(run, member, bytes, seed, stop)?]);
        }
        let each = bytes / u64::from(threads.max(1));
        let each = if options.layout == Layout::Written { each.min(OWN_BYTES) } else { each };
        let each = (each - each % bs.0).max(bs.0);
        (0..threads).map(|_| Self::made(run, member, each, seed, stop)).collect()
    }

    /// A file of `bytes` bytes in the state that `run` asks for.
    fn made(run: &Run, member: &Member, bytes: u64, seed: u64, stop: &AtomicBool) -> Result<Self, MeasureError> {
        let layout = run.workload.options.layout;
        let direct = run.workload.cache.direct();
        let data = DataFile::unnamed_in(&member.scratch)?;
        let settings = || layout::settings(seed, member.budget);
        match layout {
            Layout::New | Layout::Append | Layout::LastFirst => {}
            Layout::Fallocated => data.reserve(bytes)?,
            Layout::Written => write((&data, direct), bytes, run, settings(), stop)?,
            Layout::Truncated => {
                write((&data, direct), bytes, run, settings(), stop)?;
                data.truncate()?;
            }
        }
        data.sync()?;
        Ok(Self { data, layout, bytes })
    }

    /// Whether all its blocks were written before the run, so that they can be written again and again.
    pub fn is_written(&self) -> bool {
        self.layout == Layout::Written
    }

    /// Opens the file again, for one lane.
    ///
    /// # Errors
    /// As [`DataFile::reopen`].
    pub fn reopen(&self, mode: Mode) -> Result<RunFile, OsError> {
        if self.layout == Layout::Append { self.data.reopen_to_append(mode) } else { self.data.reopen(mode) }
    }
}

/// Writes as much as the window can write.
fn write(
    (data, direct): (&DataFile, bool),
    bytes: u64,
    run: &Run,
    settings: EngineSettings,
    stop: &AtomicBool,
) -> Result<(), MeasureError> {
    let open = || {
        let volume = Volume::of(Some(data.reopen(layout::mode(direct))?));
        Ok(halfpower_engine::open_volume(volume, settings)?)
    };
    layout::lay_out(data.path(), bytes, settings, run.runtime, stop, open)?;
    Ok(())
}

/// Bytes for a file of `run`: what its window can write at `rate`, but at most `span` (the size of the target) and a
/// quarter of the free space.
///
/// # Errors
/// The minimum size, if that does not fit.
fn bytes(run: &Run, span: u64, rate: Option<f64>, free: u64) -> Result<u64, u64> {
    let Workload { bs, threads, cache, options, .. } = run.workload;
    let most = span.min(free / 4);
    // Threads' own files that are written before are written again and again, however small they are.
    let own = OWN_BYTES.saturating_mul(u64::from(threads));
    let least = if options.layout == Layout::Written { own.min(layout::LEAST_BYTES) } else { layout::LEAST_BYTES };
    let least = least.max(bs.0 * u64::from(threads));
    if most < least {
        return Err(least);
    }
    let room = if cache.direct() { ROOM } else { ROOM_BUFFERED };
    let window = rate.map_or(most as f64, |rate| rate * room * run.runtime.0 as f64 / 1e9);
    // A run that ends by its bytes needs no more than these.
    let ends = options.most_bytes(span).map_or(u64::MAX, |each| each.saturating_mul(u64::from(threads)));
    let bytes = (window as u64).min(ends).clamp(least, most);
    Ok(bytes - bytes % bs.0)
}

/// Checks that `workload` can have its scratch file on `members`.
///
/// # Errors
/// Why not, in a sentence.
pub(super) fn admit(workload: &Workload, members: &[Member]) -> Result<(), MeasureError> {
    let WorkloadOptions { layout, own_files, .. } = workload.options;
    let is_usual = layout == Layout::Written && !own_files;
    let foreign = !is_usual && members.iter().any(|member| member.kind != Kind::Folder);
    let why = match refusal(workload) {
        None if is_usual => return Ok(()),
        None if foreign || members.is_empty() => "files are laid out in folders alone: name one",
        None if members.len() > 1 => "it is about a single file: add --members 1",
        None => return Ok(()),
        Some(why) => why,
    };
    let flag = if own_files { "--own-files".to_string() } else { format!("--layout {layout}") };
    Err(MeasureError::Unfit { what: format!("{flag}: {why}") })
}

/// Why the workload's options do not work with its layout, on any target.
fn refusal(workload: &Workload) -> Option<&'static str> {
    match workload.options.layout {
        Layout::Written if !workload.options.own_files => None,
        _ if workload.rw.direction() != Some(Direction::Write) => Some("it is about writes: take --rw write"),
        _ if workload.options.random_readers > 0 => {
            Some("nothing else is to be read in it: leave --random-readers out")
        }
        _ if workload.options.page_cache == PageCache::Warm => {
            Some("no cache can hold it before: leave --page-cache out")
        }
        _ if workload.options.verify => Some("its file is gone with the run, so leave --verify out"),
        Layout::Append | Layout::LastFirst if workload.rw.pattern() == Pattern::Random => {
            Some("its order is given: take --rw write")
        }
        Layout::LastFirst if workload.threads > 1 => Some("a file has one last block: take --threads 1"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_spec::{Nanos, Pass};

    fn run(layout: Layout) -> Run {
        let workload = Workload { rw: halfpower_spec::Rw::Write, ..Workload::default() };
        let workload = Workload { options: halfpower_spec::WorkloadOptions { layout, ..workload.options }, ..workload };
        Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(500_000_000), seed: 1 }
    }

    #[test]
    fn it_is_as_large_as_its_window_wants_and_the_place_allows() {
        let of = |span, rate, free| bytes(&run(Layout::New), span, rate, free);
        let gib = 1 << 30;
        assert_eq!(of(gib, None, 100 * gib), Ok(gib));
        assert_eq!(of(gib, Some(256e6), 100 * gib), Ok(256_000_000 / 65_536 * 65_536));
        assert_eq!(of(gib, Some(1e6), 100 * gib), Ok(layout::LEAST_BYTES));
        assert_eq!(of(gib, Some(9e9), gib), Ok(gib / 4));
        assert_eq!(of(gib, None, layout::LEAST_BYTES), Err(layout::LEAST_BYTES));
    }

    #[test]
    fn files_of_threads_that_are_written_before_need_little_room() {
        let of = |threads, span, free| {
            let run = run(Layout::Written);
            bytes(&Run { workload: Workload { threads, ..run.workload }, ..run }, span, None, free)
        };
        let mib = 1 << 20;
        assert_eq!(of(1, 64 * mib, 16 * mib), Ok(4 * mib));
        assert_eq!(of(1, 64 * mib, 15 * mib), Err(4 * mib));
        // Many threads share what one file would need.
        assert_eq!(of(64, 64 * mib, 1024 * mib), Ok(64 * mib));
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        let of = |layout, rw| refusal(&Workload { rw, ..run(layout).workload });
        assert_eq!(of(Layout::Append, halfpower_spec::Rw::Write), None);
        assert_eq!(of(Layout::Written, halfpower_spec::Rw::Read), None);
        assert!(of(Layout::New, halfpower_spec::Rw::Read).is_some());
        assert!(of(Layout::Append, halfpower_spec::Rw::Randwrite).is_some());
        assert_eq!(of(Layout::Fallocated, halfpower_spec::Rw::Randwrite), None);
        let own = |rw| {
            let Workload { options, .. } = run(Layout::Written).workload;
            refusal(&Workload { rw, options: WorkloadOptions { own_files: true, ..options }, ..Workload::default() })
        };
        assert!(own(halfpower_spec::Rw::Read).is_some() && own(halfpower_spec::Rw::Write).is_none());
    }
}
