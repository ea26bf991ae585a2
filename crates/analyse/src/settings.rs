//! Names a path and a cell by their settings.

use halfpower_record::Record;
use halfpower_spec::{Cache, Direction, JsonSchema, Pattern, Workload};
use serde::Serialize;

/// Lets the settings that a finding holds in a field be read as fields of its own.
#[macro_export]
#[doc(hidden)]
macro_rules! has_settings {
    ($finding:ty, $field:ident: $settings:ty) => {
        impl std::ops::Deref for $finding {
            type Target = $settings;

            fn deref(&self) -> &$settings {
                &self.$field
            }
        }
    };
}

pub(crate) use has_settings;

/// Order of offsets, and which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Access {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
}

/// Requests of one direction, size and depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Requests {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests kept outstanding.
    pub iodepth: u32,
}

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
    /// The cell that a run of the walks belongs to; `None` for another run, and for one that reads and writes.
    pub fn of_record(record: &Record) -> Option<Self> {
        if record.walks() { Self::of_workload(&record.run.workload) } else { None }
    }

    /// The settings of a workload as those of a cell; `None` if it both reads and writes.
    pub fn of_workload(workload: &Workload) -> Option<Self> {
        Some(Self {
            pattern: workload.rw.pattern(),
            rw: workload.rw.direction()?,
            cache: workload.cache,
            iodepth: workload.iodepth,
            bs_bytes: workload.bs.0,
            threads: workload.threads,
        })
    }

    /// The path that the cell lies on.
    pub fn path(&self) -> PathSettings {
        PathSettings { pattern: self.pattern, rw: self.rw, cache: self.cache }
    }

    /// Order and direction of its requests.
    pub fn access(&self) -> Access {
        Access { pattern: self.pattern, rw: self.rw }
    }

    /// Direction, size and depth of its requests.
    pub fn requests(&self) -> Requests {
        Requests { rw: self.rw, bs_bytes: self.bs_bytes, iodepth: self.iodepth }
    }

    /// The settings without the threads, equal for cells that differ only in their threads.
    pub(crate) fn but_for_threads(self) -> Self {
        Self { threads: 0, ..self }
    }
}
