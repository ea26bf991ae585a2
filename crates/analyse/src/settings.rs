//! Names a path and a cell by their settings.

use halfpower_spec::{Cache, Direction, Pattern};
use serde::Serialize;

/// A path: one pattern, direction and cache setting, whatever the depth and block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PathSettings {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Cache setting.
    pub cache: Cache,
}

/// The settings of a cell; the engine that carried it is not one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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
}
