//! Joins several files to one target.

use std::sync::Arc;

use halfpower_os::RunFile;
use halfpower_spec::Bytes;

use crate::check::Check;
use crate::config::EngineConfig;
use crate::mirror::Mirror;
use crate::pieces::SlotLayout;
use crate::stripe::Stripe;
use crate::verified::Verified;
use crate::{Engine, EngineError, EngineSettings, Ledger};

/// What requests reach: the files of the members, how they make one range of bytes, and who remembers what was written.
pub struct Volume {
    /// The members' files; none for the target that is nothing.
    pub files: Vec<RunFile>,
    /// How they are joined.
    pub address_map: AddressMap,
    /// What the units of the target hold, where that is to be verified.
    pub ledger: Option<Arc<Ledger>>,
}

/// How files make one range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressMap {
    /// There is at most one.
    Single,
    /// Chunks lie on them in turn.
    Stripe {
        /// Bytes of a chunk.
        chunk: Bytes,
    },
    /// Both of two hold everything.
    Mirror {
        /// The only one that reads go to; `None` leaves it to the mirror.
        only: Option<u32>,
    },
}

impl Volume {
    /// One file, or nothing.
    pub fn of(file: Option<RunFile>) -> Self {
        Self { files: file.into_iter().collect(), address_map: AddressMap::Single, ledger: None }
    }

    /// The engine with these settings, over the one that `bare` makes of its configuration.
    pub(crate) fn open(
        self,
        settings: EngineSettings,
        bare: impl FnOnce(EngineConfig) -> Result<Box<dyn Engine>, EngineError>,
    ) -> Result<Box<dyn Engine>, EngineError> {
        let EngineSettings { depth, bs, issuing, seed, memory, echoes, by_workers, .. } = settings;
        let (slot_layout, slot_bytes) = self.slot_layout(depth, bs);
        let check = self.ledger.map(|ledger| Arc::new(Check::new(ledger, depth, bs.0, slot_layout.owners())));
        let config = EngineConfig {
            writes: self.files.iter().any(|file| file.mode().write),
            files: self.files,
            slots: slot_layout.count(),
            slot_bytes: slot_bytes.0 as usize,
            seed,
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
