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

/// Most bytes of a file that is one thread's own and written before the run, if they hold a block for each of its
/// streams: laying out all of them takes time.
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
        let Workload { threads, options, .. } = run.workload;
        if options.layout == Layout::Written && !options.own_files {
            return Ok(Vec::new());
        }
        let free = halfpower_os::data_file::free_bytes(&member.scratch)?;
        let span = member.span_bytes;
        let bytes = bytes(run, span, member.layout_rate, free)
            .map_err(|least| MeasureError::Target { path: member.scratch.clone(), what: no_room(least, span, free) })?;
        if !options.own_files {
            return Ok(vec![Self::made(run, member, bytes, seed, stop)?]);
        }
        let each = bytes_of_each(&run.workload, bytes);
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

/// Bytes for the files of `run` together: what its window can write at `rate` behind where its requests begin, but at most
/// `span` (the size of the target) and a quarter of the free space.
///
/// # Errors
/// The minimum size, if that does not fit.
fn bytes(run: &Run, span: u64, rate: Option<f64>, free: u64) -> Result<u64, u64> {
    let Workload { bs, threads, cache, options, .. } = run.workload;
    let most = span.min(free / 4);
    // Threads' own files that are written before are written again and again, however small they are.
    let own = OWN_BYTES.saturating_mul(u64::from(threads));
    let reached = options.reached(span);
    let least = match options.layout {
        Layout::Written => own.min(layout::LEAST_BYTES),
        // As much behind the beginning of a region, as far as that goes.
        _ => layout::LEAST_BYTES.max(reached.end.min(reached.start.saturating_add(layout::LEAST_BYTES))),
    };
    let least = least.max(needed(&run.workload, span));
    if most < least {
        return Err(least);
    }
    let room = if cache.direct() { ROOM } else { ROOM_BUFFERED };
    let window = rate.map_or(most as f64, |rate| rate * room * run.runtime.0 as f64 / 1e9);
    // A run that ends by its bytes needs no more than these.
    let ends = options.most_bytes(span).map_or(u64::MAX, |each| each.saturating_mul(u64::from(threads)));
    let bytes = reached.start.saturating_add((window as u64).min(ends)).clamp(least, most);
    Ok(whole_blocks(bytes, reached.start, bs))
}

/// Bytes of one thread's own file, of `bytes` for all threads together.
fn bytes_of_each(workload: &Workload, bytes: u64) -> u64 {
    let Workload { bs, threads, options, .. } = *workload;
    let needed = of_one(workload);
    let each = bytes / u64::from(threads.max(1));
    let each = if options.layout == Layout::Written { each.min(OWN_BYTES) } else { each };
    whole_blocks(each.max(needed), options.misalign.0, bs)
}

/// As much of a file of `bytes` as ends with a whole block, if blocks are counted from `begin` on.
fn whole_blocks(bytes: u64, begin: u64, bs: Bytes) -> u64 {
    bytes - (bytes - begin) % bs.0
}

/// Bytes that the files of `workload` must hold, all together: a block for each stream of each thread, behind where its
/// requests begin in a file. If threads share one, a target of `span` bytes that admits the workload has as many.
fn needed(workload: &Workload, span: u64) -> u64 {
    let Workload { threads, options, .. } = *workload;
    if options.own_files {
        return of_one(workload).saturating_mul(u64::from(threads));
    }
    options.reached(span).start.saturating_add(of_streams(workload).saturating_mul(u64::from(threads)))
}

/// Bytes that a file of one thread's own must hold.
fn of_one(workload: &Workload) -> u64 {
    workload.options.misalign.0.saturating_add(of_streams(workload))
}

/// Bytes of one block for each stream of a thread.
fn of_streams(workload: &Workload) -> u64 {
    workload.bs.0.saturating_mul(u64::from(workload.options.streams.max(1)))
}

/// Why files of `least` bytes have no room beside a target of `span` bytes, and what to do.
fn no_room(least: u64, span: u64, free: u64) -> String {
    let least = Bytes(least);
    if least.0 > span {
        let span = Bytes(span);
        return format!("{span} of it are used, and what this run writes needs {least}: ask for a larger --size");
    }
    let free = Bytes(free);
    format!(
        "a quarter of its {free} that are free has no room for a second file of {least}: free some, or name another \
         folder"
    )
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
        _ if workload.options.own_files && workload.options.region.is_some() => {
            Some("each thread writes to all of its own file: leave --region out")
        }
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

    /// A run with blocks of 1 MiB in this layout, whose options differ by `change`.
    fn with(layout: Layout, change: fn(&mut WorkloadOptions)) -> Run {
        let mut run = run(layout);
        change(&mut run.workload.options);
        run.workload.bs = Bytes(1 << 20);
        run
    }

    #[test]
    fn it_has_a_block_for_each_stream_however_short_the_window() {
        let (mib, gib) = (1 << 20, 1 << 30);
        let of = |run: Run, span| bytes(&run, span, Some(1e6), 100 * gib);
        let streams = with(Layout::New, |options| options.streams = 200);
        assert_eq!(of(streams, gib), Ok(200 * mib));
        let threads = Workload { threads: 4, ..streams.workload };
        assert_eq!(of(Run { workload: threads, ..streams }, gib), Ok(800 * mib));
        let shifted = with(Layout::New, |options| (options.streams, options.misalign) = (64, Bytes(4096)));
        assert_eq!(of(shifted, gib), Ok(64 * mib + 4096), "whole blocks are counted from where requests begin");
    }

    #[test]
    fn it_reaches_beyond_where_a_region_begins() {
        let (mib, gib) = (1 << 20, 1 << 30);
        let far = with(Layout::New, |options| options.region = "512MiB+256MiB".parse().ok());
        let of = |run: Run, rate| bytes(&run, gib, Some(rate), 100 * gib);
        assert_eq!(of(far, 1e6), Ok((512 + 64) * mib), "as much as of any other");
        assert_eq!(of(far, 128e6), Ok((512 + 122) * mib), "what the window writes, in whole blocks");
        assert_eq!(bytes(&far, gib, None, gib), Err((512 + 64) * mib), "and it is refused where it has no room");
        let small = with(Layout::New, |options| options.region = "512MiB+3MiB".parse().ok());
        assert_eq!(of(small, 1e6), Ok(515 * mib), "all of a small one");
    }

    #[test]
    fn files_of_threads_have_a_block_for_each_stream_too() {
        let mib = 1 << 20;
        let each = |change: fn(&mut WorkloadOptions), layout, threads, all| {
            let workload = Workload { threads, ..with(layout, change).workload };
            bytes_of_each(&workload, all)
        };
        let usual: fn(&mut WorkloadOptions) = |options| options.own_files = true;
        assert_eq!(each(usual, Layout::Written, 2, 64 * mib), 4 * mib);
        assert_eq!(each(usual, Layout::New, 2, 65 * mib), 32 * mib);
        let streams: fn(&mut WorkloadOptions) = |options| (options.own_files, options.streams) = (true, 8);
        assert_eq!(each(streams, Layout::Written, 1, 64 * mib), 8 * mib);
        let run = |threads| {
            let run = with(Layout::Written, |options| (options.own_files, options.streams) = (true, 8));
            Run { workload: Workload { threads, ..run.workload }, ..run }
        };
        assert_eq!(bytes(&run(9), 1024 * mib, Some(1e6), 1 << 40), Ok(72 * mib), "9 files of 8 MiB");
        assert_eq!(bytes(&run(9), 71 * mib, Some(1e6), 1 << 40), Err(72 * mib));
        assert!(no_room(72 * mib, 71 * mib, 1 << 40).contains("a larger --size"));
        assert!(no_room(72 * mib, 1024 * mib, 100 * mib).contains("100MiB that are free"));
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
        let far = with(Layout::New, |options| options.region = "512MiB+64MiB".parse().ok()).workload;
        assert_eq!(refusal(&far), None, "one file holds the region");
        let own = WorkloadOptions { own_files: true, ..far.options };
        let refused = [Layout::Written, Layout::New].map(|layout| WorkloadOptions { layout, ..own });
        for options in refused {
            assert!(refusal(&Workload { options, ..far }).is_some_and(|why| why.contains("leave --region out")));
        }
    }
}
