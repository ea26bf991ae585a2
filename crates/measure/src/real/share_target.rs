//! Runs on a share of a file server: checks whether a workload can run there, lays out our own file, opens connections
//! for each run, and keeps the account.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use halfpower_engine::{EngineSettings, Opened, ShareLane, open_share};
use halfpower_probe::{Root, ServedShare};
use halfpower_record::{Ability, Capabilities, Environment, LaneRole, TargetKind};
use halfpower_share::{Access, Limits, Purpose, Share};
use halfpower_spec::{Bytes, EngineName, Issuing, Nanos, Pass, Run, Sealing, ShareAddress, ShareProtocol, Workload};

use super::account::machine_account;
use super::admits::fits_span;
use super::apply_options::{self, processor};
use super::client_ceiling::ClientCeilings;
use super::instruments::Instruments;
use super::lanes::range;
use super::ledgers::Ledgers;
use super::memory_budget::MemoryBudget;
use super::options::RealTargetOptions;
use super::run_volume::RunVolume;
use super::share_account::ShareAccount;
use super::{layout, member};
use crate::admission::coherent;
use crate::option_answers::{Backend, honours};
use crate::read_back::read_back;
use crate::silence::{Silence, WriteBack};
use crate::target_backend::{Account, ClosingFlush, Lane, Prepared, TargetBackend};
use crate::{MeasureError, background, read_back};

/// The part of a window's length, and the most, for which the path is busy before it opens: what shapes a wire lets some bytes
/// through at once after each pause, and TCP begins slowly.
const BUSY_BEFORE: u64 = 4;
const MOST_BUSY_BEFORE_NS: u64 = 100_000_000;
/// A flush may take this many times as long as any other request before the run is given up.
const FLUSH_TIMES: u64 = 11;
/// Most parts of an upload in flight while the file is laid out.
const PARTS: u64 = 4;
/// Upper bound of the files that a study has open besides its connections.
const OTHER_FILES: u64 = 64;

/// A share of a file server.
pub struct ShareTarget {
    wanted: RealTargetOptions,
    protocol: ShareProtocol,
    share: Share,
    span_bytes: u64,
    budget: MemoryBudget,
    /// Ledgers of what was laid out for verification, until something else is written.
    ledgers: Option<Ledgers>,
    /// Ledgers of the objects that the current run writes, for verification.
    ledgers_of_objects: Option<Ledgers>,
    environment: Environment,
    instruments: Instruments,
    client_ceilings: ClientCeilings,
}

impl ShareTarget {
    /// Connects to a share and creates our own file there. Writes no data yet.
    ///
    /// # Errors
    /// If the server cannot be reached, does not let the user in, or has no room.
    pub fn open(address: &ShareAddress, access: &Access, wanted: &RealTargetOptions) -> Result<Self, MeasureError> {
        if wanted.spread {
            let what = "--spread: a share's file holds no more than --size; leave it out".to_string();
            return Err(MeasureError::Unfit { what });
        }
        let mut share = Share::connect(address, access)?;
        let free = share.free_bytes()?;
        let refuse = |what| MeasureError::Target { path: PathBuf::from(share.address()), what };
        let span_bytes = member::room(wanted.size, free, u64::MAX).map_err(refuse)?;
        let protocol = address.protocol;
        let capabilities = capabilities(&share, span_bytes, protocol);
        let environment = Environment { capabilities, ..around(&share, protocol) };
        Ok(Self {
            wanted: wanted.clone(),
            protocol,
            share,
            span_bytes,
            budget: MemoryBudget::of_this_process(),
            ledgers: None,
            ledgers_of_objects: None,
            environment,
            instruments: Instruments::new(),
            client_ceilings: ClientCeilings::default(),
        })
    }

    fn reached(&self) -> ReachedShare<'_> {
        let Self { share, protocol, budget, span_bytes, wanted, .. } = self;
        ReachedShare {
            share,
            protocol: *protocol,
            ledgers: self.ledgers_of_objects.as_ref().or(self.ledgers.as_ref()),
            budget: *budget,
            span_bytes: *span_bytes,
            seed: wanted.seed,
            payload: wanted.payload,
        }
    }

    /// Writes the first `bytes`, or fewer if that takes longer than `limit`; returns the number of bytes written.
    fn lay_out(
        &self,
        reached: ReachedShare<'_>,
        bytes: u64,
        limit: Nanos,
        stop: &AtomicBool,
    ) -> Result<u64, MeasureError> {
        let settings = reached.layout_settings(self.share.begin_layout(bytes)?);
        let path = PathBuf::from(self.share.address());
        let written = layout::lay_out(&path, bytes, settings, limit, stop, || reached.open_to_lay_out(settings))?;
        self.share.end_layout()?;
        Ok(written)
    }

    /// Lays out verifiable blocks if the run verifies and there are none; drops the ledgers if the run overwrites such
    /// blocks.
    fn keep_ledgers(&mut self, workload: &Workload, stop: &AtomicBool) -> Result<(), MeasureError> {
        let to_objects = self.protocol.writes_objects() && workload.rw.writes();
        let has_objects = to_objects && workload.options.verify;
        self.ledgers_of_objects = has_objects.then(|| Ledgers::new(RunVolume::ALONE, self.span_bytes));
        if to_objects {
            return Ok(());
        }
        let kept = self.ledgers.take();
        self.ledgers = if !workload.options.verify {
            kept.filter(|_| !workload.rw.writes())
        } else if kept.is_some() {
            kept
        } else {
            let ledgers = Ledgers::new(RunVolume::ALONE, self.span_bytes);
            let reached = ReachedShare { ledgers: Some(&ledgers), ..self.reached() };
            self.lay_out(reached, self.span_bytes, Nanos(u64::MAX / 2), stop)?;
            ledgers.each.iter().for_each(|ledger| ledger.was_read_back(0..self.span_bytes));
            Some(ledgers)
        };
        Ok(())
    }
}

/// Probes the environment of a share. Only creates an empty file there, and removes it.
///
/// # Errors
/// If the server cannot be reached, or does not let the user in.
pub fn probe_share(address: &ShareAddress, access: &Access) -> Result<Environment, MeasureError> {
    Ok(around(&Share::connect(address, access)?, address.protocol))
}

fn around(share: &Share, protocol: ShareProtocol) -> Environment {
    let served = ServedShare {
        address: share.address().to_string(),
        protocol: protocol.name(),
        server: share.server(),
        facts: share.facts(),
    };
    halfpower_probe::probe_share(&Root::live(), &served)
}

/// What experiments can do on a share.
fn capabilities(share: &Share, span_bytes: u64, protocol: ShareProtocol) -> Capabilities {
    let mut unavailable = apply_options::unavailable(&[]);
    let for_files = EngineName::ALL.iter().filter(|name| name.is_for_storage());
    let why = "it reaches files of this machine, and a share is spoken to without a mount".to_string();
    unavailable.extend(for_files.map(|name| (Ability::Engine(*name), why.clone())));
    let lacking = [
        (Ability::PageCache, "no page cache of this machine lies before a share that is spoken to without a mount"),
        (Ability::Places, "a file of a share does not tell where on the server's disks it lies"),
    ];
    unavailable.extend(lacking.map(|(ability, why)| (ability, why.to_string())));
    let sealings =
        [Sealing::Signed, Sealing::Encrypted].map(|sealing| (Ability::Sealing(sealing), share.offers(sealing)));
    unavailable.extend(sealings.into_iter().filter_map(|(ability, offer)| Some((ability, offer.err()?))));
    if !share.is_plain() {
        let why = "the server does not take messages that are neither signed nor encrypted";
        unavailable.insert(Ability::PlainMessages, why.to_string());
    }
    if protocol.is_one_at_a_time() {
        let why = "each request in flight has a connection of its own here, so that depth counts connections";
        unavailable.insert(Ability::Connections, why.to_string());
    }
    Capabilities {
        kind: TargetKind::Share,
        span: Bytes(span_bytes),
        members: 1,
        direct_unit: Some(Bytes(1)),
        unavailable,
        ..Capabilities::default()
    }
}

impl TargetBackend for ShareTarget {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn environment_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }

    fn span_bytes(&self) -> u64 {
        self.span_bytes
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        let sealing = workload.options.sealing;
        let refusal = |why| MeasureError::Unfit { what: format!("--sealing {sealing}: {why}") };
        self.share.offers(sealing).map_err(refusal)?;
        admits(workload, self.protocol, (self.span_bytes, self.share.limits()), self.budget)
    }

    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        let limit = if span.is_some() { Nanos(u64::MAX / 2) } else { self.wanted.layout_limit };
        let asked = span.map_or(self.span_bytes, |span| span.0);
        self.span_bytes = self.lay_out(self.reached(), asked, limit, stop)?;
        self.environment.notes.extend(member::note_of_size(self.span_bytes, asked, self.wanted.size));
        self.environment.capabilities.span = Bytes(self.span_bytes);
        Ok(())
    }

    fn prepare(&mut self, run: &Run, stop: &AtomicBool) -> Result<Prepared, MeasureError> {
        let Workload { rw, cache, rate, options, .. } = run.workload;
        self.keep_ledgers(&run.workload, stop)?;
        // Connections of the layout and of checks do not belong to the run.
        drop(self.share.take_connections());
        let lanes = self.reached().open_lanes(run)?;
        // A server may hold much in memory: a flush within the run makes that durable.
        let flush = match self.protocol.has_flush() {
            true if options.fdatasync > 0 || options.end_flush => ClosingFlush::Counts,
            true if rw.writes() && !cache.durable() => ClosingFlush::CountsBeyondAnswer,
            _ => ClosingFlush::None,
        };
        let is_whole = flush == ClosingFlush::Counts || options.io_size.is_some();
        let warms_up = !is_whole && rate.is_none() && options.thinktime == Nanos(0);
        let longest = Nanos(self.wanted.silence.0.saturating_mul(FLUSH_TIMES));
        Ok(Prepared {
            lanes,
            engine: self.protocol.engine(),
            span_bytes: self.span_bytes,
            spread_bytes: None,
            cached_bytes: None,
            buffer_segments: None,
            warms_up: warms_up.then(|| Nanos((run.runtime.0 / BUSY_BEFORE).min(MOST_BUSY_BEFORE_NS))),
            flush,
            // No page cache of this machine takes part.
            silence: Some(Silence { longest, write_back: WriteBack::Nothing }),
        })
    }

    fn read_back(&mut self, run: &Run, stop: &AtomicBool) -> Result<BTreeMap<String, u64>, MeasureError> {
        let Workload { rw, bs, options, .. } = run.workload;
        let Some(ledger) = self.reached().ledgers.and_then(|ledgers| ledgers.each.first()).map(Arc::clone) else {
            return Ok(BTreeMap::new());
        };
        if !options.verify || !rw.writes() {
            return Ok(BTreeMap::new());
        }
        let part = options.reached(self.span_bytes);
        let mut opened = self.reached().open_lane(&run.workload, Purpose::ReadBack, run.seed)?;
        let depth = opened.most_in_flight;
        let wrong = read_back(opened.engine.as_mut(), &ledger, (part.start, bs.0 as u32, part.end), depth, stop)?;
        ledger.was_read_back(part);
        Ok(wrong)
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let (account, note) = machine_account(pass, &[], &[])?;
        note.iter().for_each(|note| self.note(note));
        Ok(Box::new(ShareAccount::new(account, self.share.take_connections())))
    }

    fn client_ns_per_io(&mut self, workload: &Workload) -> Option<f64> {
        let Self { share, protocol, client_ceilings, .. } = self;
        client_ceilings.ns_per_io(*protocol, |sealing| share.rehearsal(sealing), workload)
    }

    fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
        self.instruments.harness_ns_per_io(depth)
    }

    fn clock_ns(&self) -> u64 {
        self.instruments.clock_ns()
    }

    fn unix_ms(&self) -> u64 {
        self.instruments.unix_ms()
    }
}

/// What the lanes of a run are opened on.
#[derive(Clone, Copy)]
struct ReachedShare<'a> {
    pub share: &'a Share,
    pub protocol: ShareProtocol,
    pub ledgers: Option<&'a Ledgers>,
    pub budget: MemoryBudget,
    pub span_bytes: u64,
    /// Seed of the payload.
    pub seed: u64,
    /// What writes carry, again and again; `None` is random bytes.
    pub payload: Option<&'static [u8]>,
}

impl ReachedShare<'_> {
    /// The engine of one lane of `workload`.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_lane(&self, workload: &Workload, purpose: Purpose, seed: u64) -> Result<Opened, MeasureError> {
        let Workload { rw, bs, iodepth: depth, threads, cache, engine: name, issuing, options, .. } = *workload;
        let memory = self.budget.of_lane(u64::from(threads) + u64::from(options.random_readers));
        let usual = EngineSettings::new(name, depth, bs, self.seed ^ seed);
        let data = apply_options::payload(options.compressible, self.payload);
        let settings = EngineSettings { issuing, memory, data, ..usual };
        let ledger = self.ledgers.and_then(|ledgers| ledgers.each.first()).filter(|_| options.verify);
        let writes = rw.writes();
        let durable = cache.durable();
        let connections = options.connections;
        let sealing = options.sealing;
        let share = self.share;
        let protocol = self.protocol;
        let lane = ShareLane { share, protocol, connections, sealing, writes, durable, purpose, ledger };
        Ok(open_share(lane, settings)?)
    }

    /// The engine that lays out the file; it enters what it writes in the ledgers, if there are any.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_to_lay_out(&self, settings: EngineSettings) -> Result<Opened, MeasureError> {
        let ledger = self.ledgers.and_then(|ledgers| ledgers.each.first());
        let share = self.share;
        let protocol = self.protocol;
        let connections = 1;
        let sealing = Sealing::AsAsked;
        let writes = true;
        let durable = false;
        let purpose = Purpose::LayOut;
        let lane = ShareLane { share, protocol, connections, sealing, writes, durable, purpose, ledger };
        Ok(open_share(lane, settings)?)
    }

    /// Settings for laying out the file: blocks that the server accepts, of exactly `part_bytes` if given.
    pub fn layout_settings(&self, part_bytes: Option<u64>) -> EngineSettings {
        let usual = layout::settings(self.seed, self.budget);
        let most = Bytes(u64::from(self.share.limits().write_bytes) & !511);
        match part_bytes {
            None => EngineSettings { bs: usual.bs.min(most), ..usual },
            Some(bytes) => {
                let fit = self.budget.most_bytes().map_or(PARTS, |most| most / bytes);
                EngineSettings { bs: Bytes(bytes), depth: fit.clamp(1, PARTS) as u32, ..usual }
            }
        }
    }

    /// All lanes of a run, the workload's first.
    ///
    /// # Errors
    /// If one cannot be opened.
    pub fn open_lanes(&self, run: &Run) -> Result<Vec<Lane>, MeasureError> {
        let Workload { threads, options, .. } = run.workload;
        let used = options.reached(self.span_bytes);
        let any = processor(options.affinity, None).unwrap_or(None);
        let reader = background::reader(&run.workload);
        let own = (0..threads).map(Some);
        let beside = (0..options.random_readers).map(|_| None);
        let lane = |(at, thread): (u32, Option<u32>)| {
            let role = if thread.is_some() { LaneRole::Own } else { LaneRole::Random };
            let workload = if thread.is_some() { &run.workload } else { &reader };
            let cpu = options.processors.map_or(any, |list| Some(list.of_thread(at as usize)));
            let opened =
                apply_options::open_on(cpu, || self.open_lane(workload, Purpose::Measure, run.seed.rotate_left(at)))?;
            let range = range(workload, &used, thread, false);
            let most_bytes = workload.options.most_bytes(self.span_bytes);
            Ok(Lane { engine: opened.engine, depth: opened.most_in_flight, range, once: false, most_bytes, role, cpu })
        };
        (0..).zip(own.chain(beside)).map(lane).collect()
    }
}

/// Checks that `workload` can run on `span` bytes of a share that speaks `protocol`.
///
/// # Errors
/// A sentence that says why not.
fn admits(
    workload: &Workload,
    protocol: ShareProtocol,
    (span, limits): (u64, Limits),
    budget: MemoryBudget,
) -> Result<(), MeasureError> {
    coherent(workload)?;
    honours(if protocol == ShareProtocol::S3 { Backend::Objects } else { Backend::Share }, workload)?;
    let refused = refusal(workload, protocol.engine()).or_else(|| of_objects(workload, protocol));
    if let Some(what) = refused.or_else(|| too_large(workload, limits)) {
        return Err(MeasureError::Unfit { what });
    }
    apply_options::has_processors(&workload.options)?;
    budget.admits(workload, 1)?;
    fits_span(workload, span)?;
    if workload.options.verify {
        read_back::admit(workload, 1, span, budget.usable_bytes).map_err(|what| MeasureError::Unfit { what })?;
    }
    Ok(())
}

/// Refuses settings that do not apply to a share.
fn refusal(workload: &Workload, engine: EngineName) -> Option<String> {
    let Workload { rw, cache, engine: asked, issuing, .. } = workload;
    Some(match () {
        _ if *asked == EngineName::Memory => {
            "the kernels of memory reach no share: take `halfpower memory`".to_string()
        }
        _ if *asked != EngineName::Auto && *asked != engine => {
            format!(
                "--engine {asked} reaches files of this machine, and a share goes through the engine {engine}: leave \
                     it out"
            )
        }
        _ if rw.trims() => {
            format!("--rw {rw}: blocks cannot be given back through a share; name a file or a device of this machine")
        }
        _ if !cache.direct() => format!(
            "--cache {cache}: no page cache of this machine lies before a share that is spoken to without a mount; take \
             --cache device (the server may cache) or --cache none (each write is on the server's disk)"
        ),
        _ if issuing.is_some_and(|issuing| issuing.iodepth_batch != Issuing::default().iodepth_batch) => {
            "--iodepth-batch counts system calls, and what goes to a share is cut by TCP: leave it out".to_string()
        }
        _ => return None,
    })
}

/// Refuses settings that do not apply to S3: there each write makes an object, and each request has a connection.
fn of_objects(workload: &Workload, protocol: ShareProtocol) -> Option<String> {
    let Workload { rw, options, .. } = workload;
    let files = halfpower_os::open_files::most();
    // Each connection takes two descriptors: one for requests, one for its TCP statistics.
    let needed = u64::from(workload.total_depth()).saturating_mul(2).saturating_add(OTHER_FILES);
    Some(match options {
        _ if protocol != ShareProtocol::S3 => return None,
        _ if options.verify && rw.writes() && rw.direction().is_none() => format!(
            "--rw {rw}: --verify cannot check both over S3, where a write is an object of its own and a read is of \
             another; take --rw read or --rw write"
        ),
        _ if needed > files => format!(
            "{} requests in flight are as many connections over S3, and this process may open {files} files: allow more \
             (ulimit -n), or ask for less depth",
            workload.total_depth()
        ),
        _ => return None,
    })
}

/// Refuses a block size that is too large for one request to the server.
fn too_large(workload: &Workload, limits: Limits) -> Option<String> {
    let reads = workload.rw.direction() != Some(halfpower_spec::Direction::Write) || workload.options.verify;
    let most = match (reads, workload.rw.writes()) {
        (true, true) => limits.read_bytes.min(limits.write_bytes),
        (true, false) => limits.read_bytes,
        _ => limits.write_bytes,
    };
    let bs = workload.bs;
    let most = Bytes(most.into());
    (bs > most).then(|| {
        format!("--bs {bs} is more than the server takes in one request, which is {most}: choose a smaller --bs")
    })
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Affinity, Cache, Layout, Rw, WorkloadOptions};

    use super::*;

    const LIMITS: Limits = Limits { read_bytes: 1 << 20, write_bytes: 1 << 16 };

    fn said(workload: Workload) -> Result<(), String> {
        said_of(ShareProtocol::Smb, workload)
    }

    fn said_of(protocol: ShareProtocol, workload: Workload) -> Result<(), String> {
        let budget = MemoryBudget { usable_bytes: 0, locked_bytes: None };
        admits(&workload, protocol, (1 << 30, LIMITS), budget).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn what_objects_cannot_be_asked_is_refused_by_its_flag() {
        let usual = Workload::default();
        let options = WorkloadOptions::default();
        assert_eq!(said_of(ShareProtocol::S3, usual), Ok(()));
        assert_eq!(said_of(ShareProtocol::S3, Workload { cache: Cache::None, rw: Rw::Randmixed, ..usual }), Ok(()));
        for (rw, options, iodepth, word) in [
            (Rw::Read, WorkloadOptions { connections: 2, ..options }, 1, "--connections 2"),
            (Rw::Write, WorkloadOptions { fdatasync: 8, ..options }, 1, "--fdatasync 8"),
            (Rw::Randmixed, WorkloadOptions { verify: true, ..options }, 1, "--verify"),
            (Rw::Read, options, 1 << 30, "ulimit -n"),
        ] {
            let workload = Workload { rw, options, iodepth, ..usual };
            let refusal = said_of(ShareProtocol::S3, workload).unwrap_err();
            assert!(refusal.contains(word), "{word}: {refusal}");
        }
    }

    #[test]
    fn what_a_share_cannot_be_asked_is_refused_by_its_flag() {
        let usual = Workload::default();
        assert_eq!(said(usual), Ok(()));
        assert_eq!(said(Workload { engine: EngineName::Smb, cache: Cache::None, ..usual }), Ok(()));
        let with = |options| Workload { options, ..usual };
        let options = WorkloadOptions::default();
        for (workload, word) in [
            (Workload { cache: Cache::Both, ..usual }, "--cache both"),
            (Workload { engine: EngineName::IoUring, ..usual }, "--engine io_uring"),
            (Workload { rw: Rw::Randtrim, ..usual }, "--rw randtrim"),
            (Workload { engine: EngineName::Nfs, ..usual }, "--engine nfs"),
            (with(WorkloadOptions { layout: Layout::New, ..options }), "--layout new"),
            (with(WorkloadOptions { affinity: Affinity::Interrupt, ..options }), "--affinity interrupt"),
            (with(WorkloadOptions { members: 2, ..options }), "--members"),
            (Workload { bs: Bytes(2 << 20), ..usual }, "--bs 2MiB"),
            (Workload { bs: Bytes(1 << 17), rw: Rw::Write, ..usual }, "64KiB"),
        ] {
            let refusal = said(workload).unwrap_err();
            assert!(refusal.contains(word), "{word}: {refusal}");
        }
    }
}
