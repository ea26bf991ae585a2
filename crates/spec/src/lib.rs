//! Parses and prints quantities, targets, workloads and the question of a study.
//!
//! [`format`](mod@format) writes numbers as short text for people; experiments and the report use it, and the analysis does not.
//!
//! What leaves as text for people passes here too: [`escaped`] and [`Shown`] for terminals, [`shell_word`] for commands,
//! [`masked`] for what holds secrets.
//!
//! Nothing here reads the machine. A text that cannot be parsed gives a [`ParseError`] that points at the character.

mod application;
mod beside;
mod block_sizes;
mod decides;
mod endpoint;
mod error;
mod experiment;
pub mod format;
mod formula;
mod hosts;
mod in_order;
mod io_priority;
mod io_size;
mod issuing;
mod jump;
mod latency_bound;
mod processors;
mod quantity;
mod question;
mod random_distribution;
mod region;
mod secrets;
mod share_address;
mod shell;
mod shown;
mod simulated;
mod spread;
mod steady_state;
mod system;
mod target;
mod utc_time;
mod words;
mod workload;
mod workload_options;
mod workload_words;
mod zones;

#[cfg(not(feature = "schema"))]
pub use halfpower_schema::JsonSchema;
#[cfg(feature = "schema")]
pub use schemars::JsonSchema;

pub use application::{Application, Need, NeedBound, PROFILES, Profile, ProfileError, Setting, SettingValues, Shape};
pub use beside::Beside;
pub use block_sizes::BlockSizes;
pub use decides::Decides;
pub use endpoint::Endpoint;
pub use endpoint::without_password;
pub use error::ParseError;
pub use experiment::Experiment;
pub use formula::{Figure, Formula, Known};
pub use hosts::{HostFiles, HostLayout, Hosts};
pub use in_order::InOrder;
pub use io_priority::IoPriority;
pub use io_size::IoSize;
pub use issuing::{IoMem, Issuing};
pub use jump::Jump;
pub use latency_bound::{LatencyBound, Percentile};
pub use processors::Processors;
pub use quantity::{Bytes, Nanos, Rate};
pub use quantity::{bytes_axis, count_axis, list, microseconds};
pub use question::Question;
pub use random_distribution::RandomDistribution;
pub use region::Region;
pub use secrets::{masked, masked_addresses};
pub use share_address::{ShareAddress, ShareProtocol};
pub use shell::{shell_operand, shell_word};
pub use shown::{Shown, escaped, is_unseen};
pub use simulated::Faults;
pub use simulated::SimulatedDisk;
pub use spread::Spread;
pub use steady_state::{SteadyFigure, SteadyState};
pub use system::{DiskArray, Setup, SimulatedSystem};
pub use target::{Several, Target};
pub use utc_time::UtcTime;
pub use words::{
    Affinity, Arrivals, Cache, Direction, DurableBy, EngineName, Fadvise, FileOperation, FlushCall, Folders, Kernel,
    Layout, PageCache, Pass, Pattern, Rw, Sealing, Switch, ThinktimeFrom, VolumeLayout, Way,
};
pub use words::{cache_named, cache_word, path_words};
pub use workload::{Arrival, Run, Workload};
pub use workload_options::{MOST_PAYLOAD, OPTIONS, OptionRow, WorkloadOption, WorkloadOptions};
pub use workload_words::workload_of_words;
pub use zones::Zones;
