//! How do several files make one target? Their files and how they are joined enter; the engine that cuts requests for
//! them leaves, over one that carries the pieces.

use std::sync::Arc;

use os::RunFile;
use spec::Bytes;

use crate::check::Check;
use crate::mirror::Mirror;
use crate::outfit::Outfit;
use crate::pieces::Places;
use crate::stripe::Stripe;
use crate::verified::Verified;
use crate::{Engine, EngineError, Ledger};

/// What requests reach: the files of the members, how they make one range of bytes, and who remembers what was written.
pub struct Volume {
    /// The members' files; none for the target that is nothing.
    pub files: Vec<RunFile>,
    /// How they are joined.
    pub joint: Joint,
    /// What the units of the target hold, where that is to be verified.
    pub ledger: Option<Arc<Ledger>>,
}

/// How files make one range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
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
        Self { files: file.into_iter().collect(), joint: Joint::Single, ledger: None }
    }

    /// The engine for `depth` requests of at most `bs` bytes, over the one that `bare` makes of an outfit.
    pub(crate) fn open(
        self,
        depth: u32,
        bs: Bytes,
        seed: u64,
        bare: impl FnOnce(Outfit) -> Result<Box<dyn Engine>, EngineError>,
    ) -> Result<Box<dyn Engine>, EngineError> {
        let (places, slot_bytes) = self.places(depth, bs);
        let check = self.ledger.map(|ledger| Arc::new(Check::new(ledger, depth, bs.0, places.owners())));
        let outfit = Outfit {
            files: self.files,
            slots: places.count(),
            slot_bytes: slot_bytes.0 as usize,
            seed,
            check: check.clone(),
        };
        let bare = bare(outfit)?;
        let joined: Box<dyn Engine> = match self.joint {
            Joint::Single => bare,
            Joint::Stripe { chunk } => Box::new(Stripe::new(bare, places, chunk, check.clone())),
            Joint::Mirror { only } => Box::new(Mirror::new(bare, places, bs, only, check.clone())),
        };
        Ok(match check {
            None => joined,
            Some(check) => Box::new(Verified::new(joined, check, depth)),
        })
    }

    fn places(&self, depth: u32, bs: Bytes) -> (Places, Bytes) {
        match self.joint {
            Joint::Single => (Places { depth, members: 1, each: 1 }, bs),
            Joint::Stripe { chunk } => Stripe::places(depth, bs, chunk, self.files.len() as u32),
            Joint::Mirror { .. } => (Mirror::places(depth, bs), bs),
        }
    }
}
