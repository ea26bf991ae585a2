//! Names a path and a cell by their settings.

use halfpower_spec::{Cache, Direction, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// A path: one pattern, direction and cache setting, with any depth and block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct PathSettings {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Cache setting.
    pub cache: Cache,
}

/// The settings of a cell; the engine is not one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct CellSettings {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Cache setting.
    pub cache: Cache,
    /// Depth asked for.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Submitting threads.
    pub threads: u32,
}

impl CellSettings {
    /// The path that the cell lies on.
    pub fn path(&self) -> PathSettings {
        PathSettings { pattern: self.pattern, rw: self.rw, cache: self.cache }
    }

    /// The settings without the threads, equal for cells that differ only in their threads.
    pub(crate) fn but_for_threads(self) -> Self {
        Self { threads: 0, ..self }
    }
}
