//! Runs on a share of a file server: lays out our own file, opens connections for each run, and keeps the account.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use halfpower_probe::{Root, ServedShare};
use halfpower_record::{Ability, Capabilities, Environment, TargetKind};
use halfpower_share::{Access, Purpose, Share};
use halfpower_spec::{Bytes, EngineName, Nanos, Pass, Run, Sealing, ShareAddress, ShareProtocol, Workload};

use super::account::machine_account;
use super::client_ceiling::ClientCeilings;
use super::instruments::Instruments;
use super::ledgers::Ledgers;
use super::memory_budget::MemoryBudget;
use super::options::RealTargetOptions;
use super::run_volume::RunVolume;
use super::share_account::ShareAccount;
use super::share_lanes::ReachedShare;
use super::{apply_options, layout, member, share_admits};
use crate::MeasureError;
use crate::read_back::read_back;
use crate::target_backend::{Account, Prepared, TargetBackend};

/// A flush may take this many times as long as any other request before the run is given up.
const FLUSH_TIMES: u64 = 11;

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
        share_admits::admits(workload, self.protocol, (self.span_bytes, self.share.limits()), self.budget)
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
        let flush = self.protocol.has_flush() && (rw.writes() && !cache.durable() || options.fdatasync > 0);
        Ok(Prepared {
            lanes,
            engine: self.protocol.engine(),
            span_bytes: self.span_bytes,
            spread_bytes: None,
            cached_bytes: None,
            buffer_segments: None,
            warms_up: !flush && rate.is_none() && options.thinktime == Nanos(0),
            flush,
            silence: Some(Nanos(self.wanted.silence.0.saturating_mul(FLUSH_TIMES))),
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
