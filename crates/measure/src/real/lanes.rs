//! Opens the engines of a run on a real target, one for each lane.

use std::ops::Range;
use std::sync::Arc;

use halfpower_engine::{AddressMap, BufferState, EngineSettings, Opened, Places, SpreadOver, Volume};
use halfpower_os::Mode;
use halfpower_record::LaneRole;
use halfpower_spec::{EngineName, Pattern, Run, Workload};

use super::apply_options::{self, processor};
use super::commands;
use super::layers::OpenedLayer;
use super::ledgers::Ledgers;
use super::members::Members;
use super::run_volume::RunVolume;
use super::scratch_file::ScratchFile;
use crate::target_backend::Lane;
use crate::{MeasureError, background};

/// What the lanes of a run are opened on.
#[derive(Clone, Copy)]
pub(super) struct Reached<'a> {
    pub members: &'a Members,
    /// The device beneath the members that is read in place of them; `None` if they are used.
    pub layer: Option<&'a OpenedLayer>,
    /// The run's own scratch file; `None` if the run uses the members.
    pub scratch: Option<&'a ScratchFile>,
    /// The files of single threads; empty if threads share files.
    pub own_files: &'a [ScratchFile],
    pub ledgers: Option<&'a Ledgers>,
    pub volume: RunVolume,
    /// Seed of the payload.
    pub seed: u64,
    /// What writes carry, again and again; `None` is random bytes.
    pub payload: Option<&'static [u8]>,
    /// Whether io_uring passes every request to kernel workers at once.
    pub by_workers: bool,
}

/// The lanes of a run.
pub(super) struct OpenedLanes {
    /// Those of the workload first, then those beside it.
    pub lanes: Vec<Lane>,
    /// The engine of the workload's lanes.
    pub engine: EngineName,
    /// The state of the buffers of the workload's lanes.
    pub buffers: BufferState,
}

impl Reached<'_> {
    /// Bytes that offsets are drawn from.
    pub fn span_bytes(&self) -> u64 {
        match (self.layer, self.scratch) {
            (Some(layer), _) => layer.places.span_bytes(),
            (None, Some(scratch)) => scratch.bytes,
            (None, None) => self.volume.span_bytes(self.members.span_bytes),
        }
    }

    /// The files that one lane reaches, as a volume.
    ///
    /// # Errors
    /// If a file cannot be opened in this mode.
    pub fn volume_of(&self, lane: usize, address_map: AddressMap, mode: Mode) -> Result<Volume, MeasureError> {
        let lanes = self.volume.lanes();
        let files = lanes[lane].iter().map(|member| match (self.layer, self.scratch) {
            (Some(layer), _) => layer.data.reopen(mode),
            (None, Some(scratch)) => scratch.reopen(mode),
            (None, None) => self.members.each[*member].reached().reopen(mode),
        });
        let ledger = self.ledgers.and_then(|ledgers| ledgers.each.get(lane).map(Arc::clone));
        Ok(Volume { files: files.collect::<Result<_, _>>()?, address_map, ledger })
    }

    /// The engine of one lane of `workload`.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_lane(
        &self,
        workload: &Workload,
        (lane, seed): (usize, u64),
        address_map: AddressMap,
    ) -> Result<Opened, MeasureError> {
        let workload = &commands::settled(workload, self.members.command_paths());
        let Workload { rw, bs, iodepth: depth, threads, engine: name, issuing, options, .. } = *workload;
        let mode = apply_options::mode(workload);
        let volume = self.volume_of(lane, address_map, mode)?;
        apply_options::advise(options.fadvise, &volume.files)?;
        let ledger = volume.ledger.filter(|_| options.verify);
        let lanes = self.volume.lanes().len() as u64 * u64::from(threads)
            + u64::from(options.random_readers + options.beside.map_or(0, |load| load.threads));
        let memory = self.members.budget.of_lane(lanes);
        // Trims are system calls of their own: neither io_uring nor libaio issues them.
        let has_file = !self.members.each.is_empty();
        let name = match name {
            name if !has_file => name,
            EngineName::Auto if rw.trims() && depth > 1 => EngineName::Pool,
            EngineName::Auto if rw.trims() => EngineName::Sync,
            name => name,
        };
        let by_workers = self.by_workers;
        let usual = EngineSettings::new(name, depth, bs, self.seed ^ seed);
        let data = apply_options::payload(options.compressible, self.payload);
        let settings = EngineSettings { issuing, memory, by_workers, data, ..usual };
        let opened = halfpower_engine::open_volume(Volume { ledger, ..volume }, settings)?;
        // A scratch file is never spread.
        let spread = if self.scratch.is_some() { None } else { self.members.spread(self.volume)? };
        let places = match self.layer {
            Some(layer) => Some(Places::Listed(layer.places.clone())),
            None => spread.map(Places::Even),
        };
        Ok(match places {
            Some(places) => Opened { engine: Box::new(SpreadOver::new(opened.engine, places, depth)), ..opened },
            None => opened,
        })
    }

    /// Opens all lanes of a run. With `once`, each block is used only once.
    ///
    /// # Errors
    /// If one cannot be opened.
    pub fn open_lanes(&self, run: &Run, once: bool) -> Result<OpenedLanes, MeasureError> {
        let Workload { threads, options, .. } = run.workload;
        let used = options.reached(self.span_bytes());
        let device = self.members.devices.first().and_then(Option::as_deref);
        let any = processor(options.affinity, device).unwrap_or(None);
        let reader = background::reader(&run.workload);
        let load = run.workload.load_beside();
        let volumes = self.volume.lanes().len();
        let of_each = |threads: u32, role: LaneRole| {
            (0..volumes).flat_map(move |volume| (0..threads).map(move |thread| (volume, Some(thread), role)))
        };
        let own = of_each(threads, LaneRole::Own);
        let readers = (0..options.random_readers as usize).map(|reader| (reader % volumes, None, LaneRole::Random));
        let of_load = of_each(load.map_or(0, |load| load.threads), LaneRole::Beside);
        let mut lanes = Vec::new();
        let mut name = run.workload.engine;
        let mut buffers: Option<BufferState> = None;
        for (volume, thread, role) in own.chain(readers).chain(of_load) {
            let is_of_load = role == LaneRole::Beside;
            let workload = match role {
                LaneRole::Own => &run.workload,
                LaneRole::Random => &reader,
                LaneRole::Beside => load.as_ref().unwrap_or(&reader),
            };
            let seed = run.seed.rotate_left(lanes.len() as u32);
            let cpu = options.processors.map_or(any, |list| Some(list.of_thread(lanes.len())));
            let own_file = thread.filter(|_| !is_of_load).and_then(|thread| self.own_files.get(thread as usize));
            // A load beside a file of the run's own reaches what is laid out.
            let scratch = if is_of_load { None } else { own_file.or(self.scratch) };
            let reached = Reached { scratch, ..*self };
            let used = if is_of_load { options.reached(reached.span_bytes()) } else { used.clone() };
            let open = || reached.open_lane(workload, (volume, seed), self.volume.address_map());
            let opened = apply_options::open_with(workload.options.io_priority, cpu, open)?;
            if role == LaneRole::Own {
                name = opened.name;
                buffers = Some(buffers.map_or(opened.buffers, |before| before.joined(opened.buffers)));
            }
            let once = once && !is_of_load;
            let range = if own_file.is_some() { used.clone() } else { range(workload, &used, thread, once) };
            // A sync engine holds one request at a time: more slots would only wait, and would count as depth.
            let most_bytes = workload.options.most_bytes(self.span_bytes());
            lanes.push(Lane {
                engine: opened.engine,
                depth: opened.most_in_flight,
                range,
                once,
                most_bytes,
                role,
                cpu,
            });
        }
        Ok(OpenedLanes { lanes, engine: name, buffers: buffers.unwrap_or_default() })
    }
}

/// The part of `used` that a thread of `workload` reaches: its own part if sequential, or if each block is to come `once`
/// in the whole run; else all of it. A lane that is none of the threads reaches all of it too.
pub(super) fn range(workload: &Workload, used: &Range<u64>, thread: Option<u32>, once: bool) -> Range<u64> {
    let share = (used.end - used.start) / u64::from(workload.threads);
    let share = share - share % workload.bs.0;
    match (workload.rw.pattern(), thread.map(u64::from)) {
        (Pattern::Sequential, thread) => {
            let thread = thread.unwrap_or(0);
            used.start + share * thread..used.start + share * (thread + 1)
        }
        (Pattern::Random, Some(thread)) if once => blocks_of(workload, used, thread),
        (Pattern::Random | Pattern::Unknown, _) => used.clone(),
    }
}

/// The blocks of `used` that are this thread's alone: as many as any other thread has, or one more. The last part ends
/// where `used` does.
fn blocks_of(workload: &Workload, used: &Range<u64>, thread: u64) -> Range<u64> {
    let threads = u64::from(workload.threads);
    let blocks = (used.end - used.start) / workload.bs.0;
    // Whole shares and the rest apart, so that no product is larger than the target.
    let first = |thread: u64| blocks / threads * thread + blocks % threads * thread / threads;
    let begin = |thread: u64| used.start + first(thread) * workload.bs.0;
    begin(thread)..if thread + 1 == threads { used.end } else { begin(thread + 1) }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Bytes, Rw};

    use super::*;

    const BS: u64 = 4096;

    fn parts(rw: Rw, threads: u32, used: &Range<u64>, once: bool) -> Vec<Range<u64>> {
        let workload = Workload { rw, bs: Bytes(BS), threads, ..Workload::default() };
        (0..threads).map(|thread| range(&workload, used, Some(thread), once)).collect()
    }

    #[test]
    fn where_a_block_comes_once_no_two_threads_have_it_and_none_is_left_out() {
        for (rw, threads, blocks) in
            [(Rw::Randread, 1, 7), (Rw::Randread, 3, 7), (Rw::Randtrim, 4, 4), (Rw::Randmixed, 8, 15)]
        {
            let used = 8192..8192 + blocks * BS + 100;
            let parts = parts(rw, threads, &used, true);
            assert_eq!((parts[0].start, parts.last().map(|part| part.end)), (used.start, Some(used.end)));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start), "{rw}: {parts:?}");
            let counts = || parts.iter().map(|part| (part.end - part.start) / BS);
            assert_eq!(counts().sum::<u64>(), blocks, "{rw}: {parts:?}");
            assert!(
                counts().all(|count| count == blocks / u64::from(threads) || count == blocks / u64::from(threads) + 1)
            );
        }
    }

    #[test]
    fn where_blocks_come_again_random_threads_reach_all_and_so_do_readers_beside() {
        let used = 0..7 * BS;
        assert_eq!(parts(Rw::Randwrite, 2, &used, false), [used.clone(), used.clone()]);
        let reader = Workload { rw: Rw::Randread, bs: Bytes(BS), ..Workload::default() };
        assert_eq!(range(&reader, &used, None, true), used);
        for once in [false, true] {
            assert_eq!(parts(Rw::Read, 2, &used, once), [0..3 * BS, 3 * BS..6 * BS], "sequential parts are equal");
        }
    }
}
