//! Defines records of runs, the environment in which they were made, and the files that keep them.
//!
//! A [`Record`] is one run with everything that was observed. Nothing here interprets: intervals, fits and advice
//! belong to `analyse`. Files: [`StudyFile`] (SQLite), CSV and JSON;
//! [`output`] writes every file of halfpower.

mod ability;
mod anatomy;
mod by_direction;
mod difference;
mod discarded;
mod environment;
mod error;
mod export;
mod far_end;
mod faults;
mod figure_row;
mod figures;
mod flat_figures;
mod hosts;
mod joined;
mod known;
mod lane;
mod latency;
mod machine;
mod noise;
mod origin;
pub mod output;
mod place_identity;
mod processor_time;
mod run_record;
mod side;
mod study_file;
mod tcp;
mod total;
mod trims;

pub use ability::Ability;
pub use anatomy::{Anatomy, Phase, PhaseTime};
pub use by_direction::ByDirection;
pub use discarded::{DiscardReason, DiscardedWindow};
pub use environment::{Capabilities, Device, Environment, FileSystem, LeftOut, Level, TargetKind};
pub use error::RecordError;
pub use export::{write_csv, write_json};
pub use far_end::{DiskLimit, DiskUse, FarBill, FarEnd, FarEndMachine, InterfaceUse, ProcessTime};
pub use faults::is_wrong_data;
pub use figure_row::Column;
pub use figures::columns;
pub use flat_figures::FlatFigures;
pub use hosts::{HostLink, HostPlace, HostShare, LEAST_OVERLAP, overlap};
pub use joined::Join;
pub use lane::{LaneRecord, LaneRole, LaneSide};
pub use latency::{Latency, LatencyCounter};
pub use machine::Machine;
pub use noise::Noise;
pub use origin::{ImportedFile, Origin, Tool, Unknown};
pub use place_identity::{MemberIdentity, PlaceIdentity};
pub use processor_time::{CpuTimes, Soaker};
pub use run_record::{Cpu, Record, Series};
pub use side::Side;
pub use study_file::{Entry, StudyFile};
pub use tcp::Tcp;
pub use total::total;
pub use trims::Trims;
