//! Opens the engines of a run on a share, one for each lane, each with its own connections.

use halfpower_engine::{EngineSettings, Opened, ShareLane, open_share};
use halfpower_record::LaneRole;
use halfpower_share::{Purpose, Share};
use halfpower_spec::{Bytes, Run, Sealing, ShareProtocol, Workload};

use super::lanes::range;
use super::ledgers::Ledgers;
use super::memory_budget::MemoryBudget;
use super::{apply_options, layout};
use crate::affinity::processor;
use crate::target_backend::Lane;
use crate::{MeasureError, background_readers};

/// Most parts of an upload in flight while the file is laid out.
const PARTS: u64 = 4;

/// What the lanes of a run are opened on.
#[derive(Clone, Copy)]
pub(super) struct ReachedShare<'a> {
    pub share: &'a Share,
    pub protocol: ShareProtocol,
    pub ledgers: Option<&'a Ledgers>,
    pub budget: MemoryBudget,
    pub span_bytes: u64,
    /// Seed of the payload.
    pub seed: u64,
}

impl ReachedShare<'_> {
    /// The engine of one lane of `workload`.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_lane(&self, workload: &Workload, purpose: Purpose, seed: u64) -> Result<Opened, MeasureError> {
        let Workload { rw, bs, iodepth: depth, threads, cache, engine: name, issuing, options, .. } = *workload;
        let memory = self.budget.of_lane(u64::from(threads) + u64::from(options.random_readers));
        let settings = EngineSettings { issuing, memory, ..EngineSettings::new(name, depth, bs, self.seed ^ seed) };
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
        let cpu = processor(options.affinity, None).unwrap_or(None);
        let reader = background_readers::reader(&run.workload);
        let own = (0..threads).map(Some);
        let beside = (0..options.random_readers).map(|_| None);
        let lane = |(at, thread): (u32, Option<u32>)| {
            let role = if thread.is_some() { LaneRole::Own } else { LaneRole::Random };
            let workload = if thread.is_some() { &run.workload } else { &reader };
            let opened =
                apply_options::open_on(cpu, || self.open_lane(workload, Purpose::Measure, run.seed.rotate_left(at)))?;
            let range = range(workload, &used, thread);
            Ok(Lane { engine: opened.engine, depth: opened.most_in_flight, range, once: false, role, cpu })
        };
        (0..).zip(own.chain(beside)).map(lane).collect()
    }
}
