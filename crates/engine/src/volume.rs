//! Joins several files to one target.

use std::sync::Arc;

use halfpower_os::RunFile;
use halfpower_spec::Bytes;

use crate::check::{Check, Verified};
use crate::config::EngineConfig;
use crate::mirror::Mirror;
use crate::pieces::SlotLayout;
use crate::stripe::Stripe;
use crate::{Engine, EngineError, EngineSettings, Ledger};

/// The target of requests: the members' files, how they form one range of bytes, and the ledger of what was written.
pub struct Volume {
    /// The members' files; empty for the target `null:`.
    pub files: Vec<RunFile>,
    /// How they are joined.
    pub address_map: AddressMap,
    /// The ledger of the target's units; `None` if the run does not verify.
    pub ledger: Option<Arc<Ledger>>,
}

/// How files form one range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressMap {
    /// At most one file.
    Single,
    /// The files hold chunks in turn.
    Stripe {
        /// Bytes of a chunk.
        chunk: Bytes,
    },
    /// Each of two files holds everything.
    Mirror {
        /// The only member to read from; `None` lets the mirror choose.
        only: Option<u32>,
    },
}

impl Volume {
    /// A volume of one file or none.
    pub fn of(file: Option<RunFile>) -> Self {
        Self { files: file.into_iter().collect(), address_map: AddressMap::Single, ledger: None }
    }

    /// Opens the engine with these settings; `bare` makes the bottom engine from its configuration.
    pub(crate) fn open(
        self,
        settings: EngineSettings,
        bare: impl FnOnce(EngineConfig) -> Result<Box<dyn Engine>, EngineError>,
    ) -> Result<Box<dyn Engine>, EngineError> {
        let EngineSettings { depth, bs, issuing, seed, data, memory, echoes, by_workers, .. } = settings;
        let (slot_layout, slot_bytes) = self.slot_layout(depth, bs);
        let check = self.ledger.map(|ledger| Arc::new(Check::new(ledger, depth, bs.0, slot_layout.owners())));
        let config = EngineConfig {
            writes: self.files.iter().any(|file| file.mode().write),
            files: self.files,
            slots: slot_layout.count(),
            slot_bytes: slot_bytes.0 as usize,
            seed,
            data,
            issuing,
            lane_memory: memory,
            echoes,
            by_workers,
            check: check.clone(),
        };
        let bare = bare(config)?;
        let joined: Box<dyn Engine> = match self.address_map {
            AddressMap::Single => bare,
            AddressMap::Stripe { chunk } => Box::new(Stripe::new(bare, slot_layout, chunk, check.clone())),
            AddressMap::Mirror { only } => Box::new(Mirror::new(bare, slot_layout, bs, only, check.clone())),
        };
        Ok(match check {
            None => joined,
            Some(check) => Box::new(Verified::new(joined, check, depth)),
        })
    }

    fn slot_layout(&self, depth: u32, bs: Bytes) -> (SlotLayout, Bytes) {
        match self.address_map {
            AddressMap::Single => (SlotLayout { depth, members: 1, each: 1 }, bs),
            AddressMap::Stripe { chunk } => Stripe::slot_layout(depth, bs, chunk, self.files.len() as u32),
            AddressMap::Mirror { .. } => (Mirror::slot_layout(depth, bs), bs),
        }
    }
}
